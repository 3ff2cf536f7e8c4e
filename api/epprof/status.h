/* epprof: statuses, the results of calls.
 *
 * Every call that can fail returns `epp_status *`: NULL is success, anything else is an error that the caller owns and
 * destroys.  A message consists of an object and a reason ("libfoo.so: no symbol 'CreateEpFactories'"); callers put
 * context in front ("loading plugins/libfoo.so: ...").  Out of memory is a static status, so that creating an error
 * never fails.
 *
 * Thread words, used in all headers of epprof:
 *   [any-thread]      any thread, at any time, several at once
 *   [event-thread]    any thread; begin and end of one event normally come from the same one
 *   [session-thread]  any thread, but one at a time for one session (or one object)
 *   [signal-safe]     may also be called from a signal handler */
#ifndef EPPROF_STATUS_H
#define EPPROF_STATUS_H

#if defined(__GNUC__)
#define EPP_EXPORT __attribute__((visibility("default")))
#define EPP_MUST_CHECK __attribute__((warn_unused_result))
#define EPP_FORMAT(string, first) __attribute__((format(printf, string, first)))
#define EPP_NEVER_NULL __attribute__((returns_nonnull))
#else
#define EPP_EXPORT
#define EPP_MUST_CHECK
#define EPP_FORMAT(string, first)
#define EPP_NEVER_NULL
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_status epp_status;

typedef enum epp_code {
	EPP_OK = 0,
	EPP_INVALID_ARGUMENT = 1, /* the caller made a mistake: a NULL argument, a wrong size, an unknown option */
	EPP_OUT_OF_MEMORY = 2,
	EPP_IO = 3,           /* a system call failed: the message has strerror's text */
	EPP_NOT_FOUND = 4,    /* no such file, symbol, name or format */
	EPP_INCOMPATIBLE = 5, /* a version, byte order or ABI that this build does not support */
	EPP_CORRUPT = 6,      /* the bytes do not follow their format */
	EPP_UNAVAILABLE = 7,  /* the system refuses a resource, such as a thread; a later call may succeed */
	EPP_BUSY = 8,         /* the object is in use: a file that another process writes, a plugin with live
	                         profilers */
	EPP_TIMEOUT = 9,
	EPP_PLUGIN = 10,     /* a plugin misbehaved or returned an error of its own */
	EPP_LOSSY = 11,      /* the result exists but is incomplete, and the caller asked for an error in that case */
	EPP_EXISTS = 12,     /* the file to be written exists, and the caller did not ask to replace it */
	EPP_CANCELLED = 13,  /* the caller cancelled or interrupted the call; its output is removed */
	EPP_LIMIT = 14,      /* a fixed limit is reached, such as the number of profilers of a session */
	EPP_WRONG_STATE = 15 /* the object's present state does not allow the call: a second start, an attach while
	                        recording */
} epp_code;

/* Returns the code of a status; EPP_OK for NULL.
 * Thread: [any-thread]. */
EPP_EXPORT epp_code epp_status_code(const epp_status *status);

/* Returns the message of a status; "" for NULL.
 * Thread: [any-thread].  Ownership: valid until the status is destroyed. */
EPP_EXPORT const char *epp_status_message(const epp_status *status);

/* Destroys a status; NULL does nothing.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_status_destroy(epp_status *status);

/* Creates a status from a printf format.  The result is never NULL: if there is no memory, it is the static
 * out-of-memory status.
 * Thread: [any-thread].  Ownership: the caller destroys it. */
EPP_EXPORT epp_status *epp_status_create(epp_code code, const char *format, ...) EPP_FORMAT(2, 3)
    EPP_MUST_CHECK EPP_NEVER_NULL;

/* Returns the static out-of-memory status; allocates nothing.
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_status_no_memory(void) EPP_MUST_CHECK EPP_NEVER_NULL;

/* Creates a status with the message "OBJECT: strerror(error)"; OBJECT is the formatted text.  The code is EPP_NOT_FOUND
 * for ENOENT, else EPP_IO.
 * Thread: [any-thread].  Ownership: the caller destroys it. */
EPP_EXPORT epp_status *epp_status_errno(int error, const char *format, ...) EPP_FORMAT(2, 3) EPP_MUST_CHECK EPP_NEVER_NULL;

/* Puts context and ": " in front of a status's message and returns the status; NULL stays NULL.  The code is kept.
 * Thread: [any-thread].  Ownership: takes `status` and returns its replacement. */
EPP_EXPORT epp_status *epp_status_prefix(epp_status *status, const char *format, ...) EPP_FORMAT(2, 3) EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
