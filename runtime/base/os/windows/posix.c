/* Sorting, the environment, signals and the terminal of POSIX. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/os/os.h"
#include "base/os/windows/win32.h"

/* ---- sorting and searching ---- */

/* qsort passes no `user` pointer to the comparison function, so it is kept in thread-local memory during a sort. */
static _Thread_local struct {
	int (*compare)(const void *a, const void *b, void *user);
	void *user;
} sort;

static int compare_with_user(const void *a, const void *b)
{
	return sort.compare(a, b, sort.user);
}

void qsort_r(void *base, size_t count, size_t bytes, int (*compare)(const void *a, const void *b, void *user), void *user)
{
	sort.compare = compare;
	sort.user = user;
	qsort(base, count, bytes, compare_with_user);
}

/* For tdelete: every node compares as equal, so that the root is deleted. */
static int compare_equal(const void *a, const void *b)
{
	(void)a, (void)b;
	return 0;
}

void tdestroy(void *root, void (*destroy)(void *node))
{
	while (root) {
		void *key = *(void **)root;
		tdelete(key, &root, compare_equal);
		destroy(key);
	}
}

double lgamma_r(double x, int *sign)
{
	*sign = 1;
	return lgamma(x);
}

/* ---- the environment ---- */

static char temporary_folder[MAX_PATH * 3 + 1];

static void find_temporary_folder(void)
{
	wchar_t wide[MAX_PATH + 1];
	DWORD count = GetTempPathW(MAX_PATH + 1, wide);
	if (!count || count > MAX_PATH || !windows_narrow(wide, temporary_folder, sizeof(temporary_folder)))
		temporary_folder[0] = '\0';
	for (char *at = temporary_folder; *at; at++)
		if (*at == '\\')
			*at = '/';
	size_t bytes = strlen(temporary_folder);
	if (bytes && temporary_folder[bytes - 1] == '/')
		temporary_folder[bytes - 1] = '\0';
}

const char *secure_getenv(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *value = os_variable(name);
	if ((value && *value) || strcmp(name, "TMPDIR") != 0)
		return value;
	pthread_once(&once, find_temporary_folder);
	return temporary_folder;
}

int setenv(const char *name, const char *value, int overwrite)
{
	if (!overwrite && os_variable(name))
		return 0;
	wchar_t *wide_name = windows_wide(name), *wide = wide_name ? windows_wide(value) : NULL;
	int code = wide && _wputenv_s(wide_name, wide) == 0 ? 0 : -1;
	free(wide_name);
	free(wide);
	return code;
}

int unsetenv(const char *name)
{
	return setenv(name, "", 1);
}

int gethostname(char *name, size_t bytes)
{
	return os_host_name(name, bytes) ? 0 : -1;
}

/* ---- signals and the terminal ---- */

const char *strsignal(int number)
{
	return number == SIGINT ? "Interrupt" : number == SIGBREAK ? "Hangup" : "Terminated";
}

int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	void (*replaced)(int) = signal(number, action ? action->sa_handler : SIG_GET);
	if (before)
		before->sa_handler = replaced;
	return replaced == SIG_ERR ? -1 : 0;
}

int ioctl(int fd, int what, struct winsize *size)
{
	CONSOLE_SCREEN_BUFFER_INFO about;
	(void)what;
	if (!GetConsoleScreenBufferInfo((HANDLE)_get_osfhandle(fd), &about)) {
		errno = ENOTTY;
		return -1;
	}
	size->ws_col = (unsigned short)(about.srWindow.Right - about.srWindow.Left + 1);
	return 0;
}
