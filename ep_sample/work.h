/* What each sample plugin exports so that a test in any framework can give its accelerator work, and knows which events
 * it must see. */
#ifndef EP_SAMPLE_WORK_H
#define EP_SAMPLE_WORK_H

#if defined(__GNUC__)
#define EPP_SAMPLE_EXPORT __attribute__((visibility("default")))
#else
#define EPP_SAMPLE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Gives the accelerator `count` units of work and waits until they are done and reported.  A unit is one kernel, `relu`,
 * on streams 0 and 1 in turn; what a plugin's ABI has beside kernels may come with it.
 * Returns 0, or another number if the device cannot be had; that of the execution provider is there as long as its factory.
 * Thread: [any-thread]. */
EPP_SAMPLE_EXPORT int epp_sample_work(int count);

#ifdef __cplusplus
}
#endif

#endif
