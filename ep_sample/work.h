/* The function that each sample plugin exports.  With it, a test in any framework gives work to the plugin's
 * accelerator and can predict the events. */
#ifndef EPPROF_EP_SAMPLE_WORK_H
#define EPPROF_EP_SAMPLE_WORK_H

#if defined(__GNUC__)
#define EPP_SAMPLE_EXPORT __attribute__((visibility("default")))
#else
#define EPP_SAMPLE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Gives the accelerator `count` units of work and waits until they are done and reported.  A unit is one kernel,
 * `relu`, on streams 0 and 1 in turn; it may include copies and other events that the plugin's ABI can express.
 * Returns 0, or another number if the device cannot be created.  In the plugin for ONNX Runtime the device exists only
 * while a factory exists.
 * Thread: [any-thread]. */
EPP_SAMPLE_EXPORT int epp_sample_work(int count);

#ifdef __cplusplus
}
#endif

#endif
