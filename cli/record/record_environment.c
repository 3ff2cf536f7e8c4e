/* The environment of a recorded program: the output, and what is recorded of it. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

/* Sets a variable to a text, and frees the text.  `bytes` is what asprintf returned for it; below 0: there is no
 * text. */
static epp_status *set_printed(const char *variable, char *text, int bytes)
{
	bool is_set = bytes >= 0 && setenv(variable, text, 1) == 0;

	if (bytes >= 0)
		free(text);
	return is_set ? NULL : epp_status_no_memory();
}

/* Sets EPPROF_OUTPUT to a name in the folder.  Percent signs in the path of the folder are doubled, because libepprof
 * expands placeholders such as %pid% in this variable. */
static epp_status *set_output(const char *folder)
{
	size_t bytes = strlen(folder), length = 0;
	char *escaped = malloc(2 * bytes + 1), *text = NULL;

	if (!escaped)
		return epp_status_no_memory();
	for (size_t i = 0; i <= bytes; i++) {
		if (folder[i] == '%')
			escaped[length++] = '%';
		escaped[length++] = folder[i];
	}
	int made = asprintf(&text, "%s/%%hostname%%.%%pid%%.epp", escaped);
	free(escaped);
	return set_printed("EPPROF_OUTPUT", text, made);
}

int64_t record_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Sets a variable to a time.  If `ns` is 0, removes the variable, which another epprof record may have set. */
static epp_status *set_time(const char *variable, int64_t ns)
{
	char *text = NULL;

	if (!ns)
		return unsetenv(variable) == 0 ? NULL : epp_status_no_memory();
	int made = asprintf(&text, "%lld", (long long)ns);
	return set_printed(variable, text, made);
}

static epp_status *set_time_range(struct record_options *options)
{
	int64_t from_ns = record_now_ns() + options->delay_ns;

	options->from_ns = options->delay_ns ? from_ns : 0;
	epp_status *status = set_time("EPPROF_FROM_NS", options->from_ns);
	return status ? status : set_time("EPPROF_UNTIL_NS", options->duration_ns ? from_ns + options->duration_ns : 0);
}

/* Sets EPPROF_SCHEDULE and EPPROF_STEP if the command line has a schedule, and removes EPPROF_MAX_OVERHEAD, which
 * excludes a schedule.  Otherwise the user's variables are unchanged. */
static epp_status *set_schedule(const struct record_schedule *schedule)
{
	char *text = NULL;

	if (!schedule->is_given)
		return NULL;
	if (unsetenv("EPPROF_MAX_OVERHEAD") != 0)
		return epp_status_no_memory();
	if ((schedule->step ? setenv("EPPROF_STEP", schedule->step, 1) : unsetenv("EPPROF_STEP")) != 0)
		return epp_status_no_memory();
	int made = asprintf(&text, "skip=%lld,warmup=%lld,active=%lld,repeat=%lld", (long long)schedule->skip,
	                    (long long)schedule->warmup, (long long)schedule->active, (long long)schedule->repeat);
	return set_printed("EPPROF_SCHEDULE", text, made);
}

/* Sets EPPROF_MAX_OVERHEAD and EPPROF_STEP if the command line has --max-overhead, and removes EPPROF_SCHEDULE, which
 * excludes it.  Otherwise the user's variables are unchanged. */
static epp_status *set_max_overhead(const struct record_options *options)
{
	const char *step = options->schedule.step;

	if (!options->max_overhead)
		return NULL;
	if ((step ? setenv("EPPROF_STEP", step, 1) : unsetenv("EPPROF_STEP")) != 0 ||
	    unsetenv("EPPROF_SCHEDULE") != 0 || setenv("EPPROF_MAX_OVERHEAD", options->max_overhead, 1) != 0)
		return epp_status_no_memory();
	return NULL;
}

epp_status *record_set_environment(struct record_options *options, const char *folder)
{
	char absolute[PATH_MAX];

	if (!realpath(folder, absolute))
		return epp_status_create(EPP_IO, "%s: its path cannot be resolved", folder);
	/* EPPROF_CONTROL=1 makes the program listen for `epprof ctl`.  A value that the user has set is kept. */
	if (setenv("EPPROF_RECORD", absolute, 1) != 0 || unsetenv("EPPROF_ONLY_PID") != 0 ||
	    (options->ranks ? setenv("EPPROF_RANKS", options->ranks, 1) : unsetenv("EPPROF_RANKS")) != 0 ||
	    setenv("EPPROF_CONTROL", "1", 0) != 0 ||
	    (options->start_paused ? setenv("EPPROF_START_PAUSED", "1", 1) : unsetenv("EPPROF_START_PAUSED")) != 0 ||
	    (options->policy && setenv("EPPROF_POLICY", options->policy, 1) != 0) ||
	    (options->profilers && setenv("EPPROF_PROFILERS", options->profilers, 1) != 0))
		return epp_status_no_memory();
	epp_status *status = set_output(absolute);
	if (!status)
		status = set_schedule(&options->schedule);
	if (!status)
		status = set_max_overhead(options);
	if (!status)
		status = record_set_hooks();
	return status ? status : set_time_range(options);
}
