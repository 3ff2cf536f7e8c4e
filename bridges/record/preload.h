/* Parts of libepprof_preload.so, which `epprof record` puts into LD_PRELOAD.  It only needs libc, and has no effect in
 * a program without ONNX Runtime. */
#ifndef EPPROF_BRIDGES_RECORD_PRELOAD_H
#define EPPROF_BRIDGES_RECORD_PRELOAD_H

#include <stdint.h>

#include "epprof/abi/ort_ep_profiler.h"

/* ---- preload_table.c: the tables that a program gets ---- */

/* Returns copies of the tables of `real` that profile each session.  Returns `real` itself if it is the second ONNX
 * Runtime of the process, or too old; its sessions are then not profiled, and preload_note reports this.
 * Thread: any.
 * Ownership: static. */
const OrtApiBase *preload_base(const OrtApiBase *real);

/* ---- preload_session.c: one session ---- */

/* The creation of one session, with profiled options or the program's own options. */
struct preload_session {
	const OrtApi *api;
	const OrtSessionOptions *options; /* options with which the session is created */
	OrtSessionOptions *profiled;      /* NULL: `options` are the program's own */
	OrtStatus *failure;               /* failure of the attempt with profiled options */
};

/* Makes a clone of the program's options (NULL: none) that has the collector and is profiled.  If the program attaches
 * the collector itself, or if cloning fails, there is no clone, and `options` are the program's own.  Thread: any.
 * Ownership: preload_session_failed releases the clone. */
void preload_session_begin(struct preload_session *session, const OrtApi *api, const OrtEnv *env,
                           const OrtSessionOptions *options);

/* Must be called after the attempt with profiled options.  Returns true if the attempt failed; `status` is then
 * released, and the caller must create the session with the program's own options.  So profiling never makes a program
 * fail. */
bool preload_session_failed(struct preload_session *session, OrtStatus *status);

/* Must be called after the second attempt.  Returns the status of this attempt. */
OrtStatus *preload_session_end(struct preload_session *session, OrtStatus *status);

/* Facts about session options that ONNX Runtime does not return.  They are stored as config entries of the options, so
 * clones of the options have them too. */
#define PRELOAD_PROFILED "epprof.profiled" /* the program has turned profiling on */
#define PRELOAD_SELECTS "epprof.selects"   /* the program lets ONNX Runtime select the providers */
void preload_mark(const OrtApi *api, OrtSessionOptions *options, const char *key, bool value);

/* ---- preload_note.c: lines that the user sees at the end ---- */

/* Adds a line that `epprof record` prints at the end.  Equal lines are printed once. */
void preload_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
