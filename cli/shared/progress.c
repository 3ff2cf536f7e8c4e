/* Shows on standard error that a command is still working: one line, rewritten each second and erased at the end.
 *
 *   epprof: 12 s, 1.2 GiB read, 340 MiB written
 *
 * A thread draws the line, because the library's functions return only when they are done. Nothing is drawn during the
 * first two seconds, if standard error is no terminal, or with --quiet. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define FIRST_SECONDS 2

bool cli_quiet;

/* Protects the variables below, except `is_running` and `thread`, which only the main thread uses. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_t thread;
static bool is_running, is_ending, is_drawn;
static struct timespec began;

static void erase(void)
{
	if (is_drawn)
		fputs("\r\033[K", stderr);
	is_drawn = false;
}

/* Gets the number of bytes that this process has read and written so far.  Both are 0 if the system does not count
 * them. */
static void count_bytes(unsigned long long *read_bytes, unsigned long long *written_bytes)
{
	FILE *file = fopen("/proc/self/io", "re");

	*read_bytes = *written_bytes = 0;
	if (!file)
		return;
	if (fscanf(file, "rchar: %llu wchar: %llu", read_bytes, written_bytes) != 2)
		*read_bytes = *written_bytes = 0;
	fclose(file);
}

static void draw(long seconds)
{
	unsigned long long read_bytes, written_bytes;
	char text[128], size[CLI_NUMBER_BYTES];
	struct winsize window;
	int columns = 80;

	count_bytes(&read_bytes, &written_bytes);
	int used = snprintf(text, sizeof text, "epprof: %ld s", seconds);
	if (read_bytes)
		used += snprintf(text + used, sizeof text - (size_t)used, ", %s read", cli_bytes(read_bytes, size));
	if (written_bytes)
		snprintf(text + used, sizeof text - (size_t)used, ", %s written", cli_bytes(written_bytes, size));
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col)
		columns = window.ws_col;
	/* The line does not use the last column of the terminal, because there it might wrap and could not be
	 * erased. */
	fprintf(stderr, "\r\033[K%.*s", columns - 1, text);
	is_drawn = true;
}

static void *draw_each_second(void *unused)
{
	struct timespec due = began;

	(void)unused;
	pthread_mutex_lock(&lock);
	for (due.tv_sec += FIRST_SECONDS; !is_ending; due.tv_sec++) {
		while (!is_ending && pthread_cond_timedwait(&changed, &lock, &due) == 0)
			;
		if (!is_ending)
			draw((long)(due.tv_sec - began.tv_sec));
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

void cli_progress_begin(void)
{
	sigset_t all, before;
	pthread_condattr_t attributes;

	if (is_running || cli_quiet || !isatty(STDERR_FILENO))
		return;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attributes);
	pthread_condattr_destroy(&attributes);
	clock_gettime(CLOCK_MONOTONIC, &began);
	is_ending = false;
	/* All signals are blocked in the new thread, so that they are delivered to the main thread.  If the thread
	 * cannot be created, there is no progress. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	is_running = pthread_create(&thread, NULL, draw_each_second, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cli_progress_hide(void)
{
	pthread_mutex_lock(&lock);
	erase();
	pthread_mutex_unlock(&lock);
}

void cli_progress_end(void)
{
	if (!is_running)
		return;
	pthread_mutex_lock(&lock);
	is_ending = true;
	erase();
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	pthread_cond_destroy(&changed);
	is_running = false;
}
