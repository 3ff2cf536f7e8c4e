/* Parts of libepprof_preload.so, which `epprof record` puts into LD_PRELOAD.  It needs libc alone, and does nothing in a
 * program without ONNX Runtime. */
#ifndef EPPROF_BRIDGES_RECORD_PRELOAD_H
#define EPPROF_BRIDGES_RECORD_PRELOAD_H

#include <stdint.h>

#include "epprof/abi/ort_ep_profiler.h"

/* ---- preload_table.c: the tables that a program gets ---- */

/* Returns tables that behave as those of `real`, but profile each session.  Returns `real` itself if it is a second ONNX
 * Runtime of the process, or too old: its sessions run unprofiled, with a note.
 * Thread: any.  Ownership: static. */
const OrtApiBase *preload_base(const OrtApiBase *real);

/* ---- preload_session.c: one session ---- */

/* Creating one session, with profiled options or the program's own. */
struct preload_session {
	const OrtApi *api;
	const OrtSessionOptions *options; /* to create it with */
	OrtSessionOptions *profiled;      /* NULL: `options` are the program's own */
	OrtStatus *failure;               /* of the attempt with profiled options */
};

/* Makes a clone of the program's options (NULL: none) that has the collector and is profiled.  Without a clone, if the
 * program attaches the collector itself or the clone fails, `options` are the program's own.
 * Thread: any.  Ownership: preload_session_failed releases the clone. */
void preload_session_begin(struct preload_session *session, const OrtApi *api, const OrtEnv *env,
                           const OrtSessionOptions *options);

/* Call it after the attempt.  Returns true if the session is to be created again, with the program's own options: profiling
 * never makes a program fail.  `status` is then released. */
bool preload_session_failed(struct preload_session *session, OrtStatus *status);

/* Call it after the second attempt; returns its status. */
OrtStatus *preload_session_end(struct preload_session *session, OrtStatus *status);

/* Facts about session options that ONNX Runtime does not return; they are config entries of the options, so clones have
 * them too. */
#define PRELOAD_PROFILED "epprof.profiled" /* the program has turned profiling on */
#define PRELOAD_SELECTS "epprof.selects"   /* the program lets ONNX Runtime select the providers */
void preload_mark(const OrtApi *api, OrtSessionOptions *options, const char *key, bool value);

/* ---- preload_note.c: what the user sees at the end ---- */

/* Adds a line to what `epprof record` prints at the end; it prints equal lines once. */
void preload_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
