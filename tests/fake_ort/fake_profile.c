/* A profile: what the profilers are shown, and the file that comes of it. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_ort.h"

#define US_BEFORE_PROFILERS 40
#define US_BEHIND_TWIN 20000

int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static atomic_uint profiles_count;

void begin_profile(struct profile *profile, const char *prefix)
{
	memset(profile, 0, sizeof *profile);
	pthread_mutex_init(&profile->lock, NULL);
	profile->began_us = now_us();
	profile->number = profiles_count++;
	snprintf(profile->path, sizeof profile->path, "%s_2026.json", prefix);
	for (size_t i = 0; i < fake_eps_count; i++) {
		OrtEpProfilerImpl *profiler = NULL;
		OrtStatus *status = fake_eps[i].ep->CreateProfiler
		                        ? fake_eps[i].ep->CreateProfiler(fake_eps[i].ep, &profiler)
		                        : NULL;
		api.ReleaseStatus(status);
		if (!profiler)
			continue;
		profile->profilers[profile->profilers_count++] = profiler;
		api.ReleaseStatus(profiler->StartProfiling(profiler, 1000));
	}
	/* No event begins with the profile. */
	usleep(US_BEFORE_PROFILERS);
}

static void add_line(struct profile *profile, char *line)
{
	pthread_mutex_lock(&profile->lock);
	/* Room for twice as many at each power of two. */
	if (!(profile->lines_count & (profile->lines_count - 1)))
		profile->lines = reallocarray(profile->lines, profile->lines_count * 2 + 1, sizeof *profile->lines);
	if (profile->lines_count < FAKE_LINES_MAX)
		profile->lines[profile->lines_count++] = line;
	else
		free(line);
	pthread_mutex_unlock(&profile->lock);
}

/* As the kit marks what it gave to the recording; these it did not give. */
static void add_marked(struct profile *profile)
{
	static const char *const lines[] = {
		"{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :1,\"dur\" :5,\"ts\" :50,\"ph\" : \"X\",\"name\" :\"never recorded\",\"args\" : "
		"{\"epprof.id\" : \"987654321012345\"}}",
		"{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :1,\"dur\" :5,\"ts\" :60,\"ph\" : \"X\",\"name\" :\"counted as lost\",\"args\" : "
		"{\"epprof.id\" : \"0\"}}",
		("{\"cat\" : \"Api\",\"pid\" :-1,\"tid\" :-1,\"dur\" :0,\"ts\" :9,\"ph\" : \"X\",\"name\" :\"epprof.lost\",\"args\" : "
		 "{\"ep\" : \"SampleEP\",\"emitted\" : \"90\",\"lost_no_buffer\" : \"28\",\"epprof.id\" : \"0\"}}"),
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		add_line(profile, strdup(lines[i]));
}

static void add_broken(struct profile *profile)
{
	static const char *const lines[] = {
		"{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :1,\"dur\" :5,\"ts\" :1,\"ph\" : \"X\",\"name\" :\"of a provider\",\"args\" : {}}",
		"{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :-1,\"dur\" :-5,\"ts\" :1,\"ph\" : \"X\",\"name\" :\"odd\",\"args\" : {}}",
		("{\"cat\" : \"Api\",\"pid\" :-1,\"tid\" :-1,\"dur\" :0,\"ts\" :9,\"ph\" : \"X\",\"name\" :\"epprof.lost\",\"args\" : "
		 "{\"ep\" : \"SampleEP\",\"emitted\" : \"90\",\"lost_no_buffer\" : \"28\",\"lost_refused\" : \"2\",\"texts_cut\" : \"7\"}}"),
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		add_line(profile, strdup(lines[i]));
}

void end_profile(struct profile *profile)
{
	if (word("kernels=broken"))
		add_broken(profile);
	if (word("kernels=marked"))
		add_marked(profile);
	if (word("end_fails"))
		fake_log("OrtEpProfilerImpl::EndProfiling() for SampleEP returned an error OrtStatus: it fails for a test");
	for (size_t i = 0; i < profile->profilers_count; i++) {
		OrtEpProfilerImpl *profiler = profile->profilers[i];
		api.ReleaseStatus(profiler->EndProfiling(profiler, (OrtProfilingEventsContainer *)profile));
		profiler->Release(profiler);
	}
	FILE *file = fopen(profile->path, "we");
	if (file)
		fprintf(file, "[\n");
	for (size_t i = 0; i < profile->lines_count; i++) {
		if (file)
			fprintf(file, "%s%s", profile->lines[i], i + 1 < profile->lines_count ? ",\n" : "\n");
		free(profile->lines[i]);
	}
	if (file) {
		fprintf(file, "]\n");
		fclose(file);
	}
	free(profile->lines);
}

/* Each microsecond once, so that what begins is known by it. */
static int64_t unique_us(void)
{
	static _Atomic int64_t last_us;
	int64_t last = atomic_load(&last_us), now;

	do
		now = now_us();
	while (now <= last || !atomic_compare_exchange_weak(&last_us, &last, now));
	return now;
}

static int64_t show_begin(struct profile *profile, int64_t start_us)
{
	for (size_t i = 0; i < profile->profilers_count; i++)
		api.ReleaseStatus(profile->profilers[i]->StartEvent(profile->profilers[i], (uint64_t)start_us));
	return start_us;
}

int64_t begin_event(struct profile *profile)
{
	return show_begin(profile, unique_us());
}

/* ---- twins ---- */

static pthread_barrier_t twins_begin, twins_end;
static pthread_once_t twins_once = PTHREAD_ONCE_INIT;
static _Atomic int64_t twins_us;

static void make_twins(void)
{
	pthread_barrier_init(&twins_begin, NULL, 2);
	pthread_barrier_init(&twins_end, NULL, 2);
}

int64_t begin_twin(struct profile *profile, bool *lasts)
{
	pthread_once(&twins_once, make_twins);
	*lasts = pthread_barrier_wait(&twins_begin) == PTHREAD_BARRIER_SERIAL_THREAD;
	if (*lasts)
		atomic_store(&twins_us, unique_us());
	pthread_barrier_wait(&twins_begin);
	return show_begin(profile, atomic_load(&twins_us));
}

void wait_for_twin(void)
{
	pthread_barrier_wait(&twins_end);
	usleep(US_BEHIND_TWIN);
}

void release_twin(void)
{
	pthread_barrier_wait(&twins_end);
}

void end_event(struct profile *profile, int64_t start_us, OrtProfilingEventCategory category, const char *name)
{
	static const char *const keys[] = { "op_name" };
	int64_t ts_us = start_us - profile->began_us, dur_us = now_us() - start_us;
	OrtProfilingEvent *event;
	char *line;

	if (ep_api.CreateProfilingEvent(category, getpid(), gettid(), name, ts_us, dur_us, keys, &name, 1, &event))
		abort();
	for (size_t i = 0; i < profile->profilers_count; i++)
		api.ReleaseStatus(profile->profilers[i]->StopEvent(profile->profilers[i], (uint64_t)start_us, event));
	ep_api.ReleaseProfilingEvent(event);
	if (asprintf(&line,
	             "{\"cat\" : \"%s\",\"pid\" :%d,\"tid\" :%d,\"dur\" :%" PRId64 ",\"ts\" :%" PRId64
	             ",\"ph\" : \"X\",\"name\" :\"%s\",\"args\" : {}}",
	             category == OrtProfilingEventCategory_NODE ? "Node" : "Session", getpid(), gettid(), dur_us, ts_us,
	             name) < 0)
		abort();
	add_line(profile, line);
}

void add_kernel(struct profile *profile, int64_t cause_us, int64_t late_us, const char *name)
{
	char cause[120] = "", *line;

	if (word("kernels=some") && profile->number % 5 == 4)
		return;
	if (word("end_fails") || (word("kernels=first") && profile->lines_count > 1000))
		return;
	if (word("kernels=late") || word("kernels=lost"))
		late_us = 1000000;
	if (word("kernels=alone"))
		cause[0] = '\0';
	else if (word("twins=told"))
		snprintf(cause, sizeof cause, ",\"ort_correlation_id\" : \"%" PRId64 "\",\"ort_thread_id\" : \"%d\"",
		         cause_us, (int)gettid());
	else if (!word("kernels=lost"))
		snprintf(cause, sizeof cause, ",\"ort_correlation_id\" : \"%" PRId64 "\"", cause_us);
	if (word("kernels=broken"))
		snprintf(cause + strlen(cause), sizeof cause - strlen(cause), "%s",
		         ",\"a\"b\" : \"two\nlines\",\"shape\" : {not json");
	if (asprintf(&line,
	             "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :-1,\"dur\" :1,\"ts\" :%" PRId64
	             ",\"ph\" : \"X\",\"name\" :\"kernel of %s\",\"args\" : {\"stream\" : \"3\"%s,\"%s\" : \"%s\"}}",
	             cause_us - profile->began_us + late_us, name, cause,
	             word("kernels=alone") ? "op" : "ort_event_name", name) < 0)
		abort();
	add_line(profile, line);
}
