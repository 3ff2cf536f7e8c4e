/* Blocks SIGXFSZ, which kills a process by default, around calls that may write beyond the file-size limit.
 *
 *   sigset_t before;
 *   limit_signal_hold(&before);
 *   int error = pwrite(...) < 0 ? errno : 0;
 *   limit_signal_let_go(&before, error); */
#ifndef EPPROF_RUNTIME_BASE_LIMIT_SIGNAL_H
#define EPPROF_RUNTIME_BASE_LIMIT_SIGNAL_H

#include <errno.h>
#include <signal.h>
#include <time.h>

static inline void limit_signal_hold(sigset_t *before)
{
	sigset_t limit;
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, before);
}

/* `error`: 0 or errno of the write. */
static inline void limit_signal_let_go(const sigset_t *before, int error)
{
	sigset_t limit;
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	if (error == EFBIG)
		sigtimedwait(&limit, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

#endif
