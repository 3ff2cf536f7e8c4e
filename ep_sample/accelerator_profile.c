/* Collects the completions of the accelerator and serialises them.  Completions are in ticks of the device, the
 * serialised forms in Unix time: both clocks are read together at start and at stop, and times are converted by the
 * line through these two points.
 *
 * Each protobuf message is written twice: first without output, to compute the sizes, then into the buffer. */
#include "accelerator_profile.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accelerator.h"

__extension__ typedef __int128 int128;

#define DEVICE_NAME "/device:CUSTOM:ACCELERATOR:0"
#define COMPLETIONS_MAX 1000000
#define SIDE 64

struct moment {
	uint64_t ticks;
	int64_t unix_ns;
};

static struct {
	pthread_mutex_t making;          /* held while the device is created */
	pthread_mutex_t lock;            /* guards all below */
	accelerator *device;             /* NULL: not created */
	pid_t process;                   /* the process that created the device */
	accelerator_buffer *matrices[2]; /* one for each compute stream, because the streams run in parallel */
	unsigned clock_bits;
	bool running;
	struct moment start;
	struct moment stop;
	accelerator_completion *completions;
	size_t completions_count;
	size_t room;
	uint64_t launches_count;
} profile = { .making = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the device ---- */

static void completed(void *user, const accelerator_completion *completion)
{
	(void)user;
	pthread_mutex_lock(&profile.lock);
	if (profile.running && profile.completions_count == profile.room && profile.room < COMPLETIONS_MAX) {
		size_t room = profile.room ? profile.room * 2 : 1024;
		accelerator_completion *grown = realloc(profile.completions, room * sizeof(*grown));
		if (grown) {
			profile.completions = grown;
			profile.room = room;
		}
	}
	if (profile.running && profile.completions_count < profile.room)
		profile.completions[profile.completions_count++] = *completion;
	pthread_mutex_unlock(&profile.lock);
}

static void device_make(void)
{
	accelerator_options options = { .completed = completed };
	if (!accelerator_clock_options_read(&options.clock))
		return;
	for (int i = 0; i < 2; i++) {
		if (!profile.matrices[i] && accelerator_buffer_create(SIDE * SIDE * sizeof(float), &profile.matrices[i])) {
			profile.matrices[i] = NULL;
			return;
		}
	}
	profile.clock_bits = (unsigned)options.clock.bits;
	profile.process = getpid();
	if (accelerator_create(&options, &profile.device))
		profile.device = NULL;
}

/* Creates the device at the first call, and after a failure at the next one.  Returns whether there is one. */
static bool device_ensure(void)
{
	pthread_mutex_lock(&profile.making);
	if (!profile.device)
		device_make();
	bool is_there = profile.device != NULL;
	pthread_mutex_unlock(&profile.making);
	return is_there;
}

/* Ends the device's threads, because they run code of this library, which a host may unload.  The child of a fork does
 * not have these threads. */
__attribute__((destructor)) static void device_end(void)
{
	if (profile.process != getpid())
		return;
	accelerator_destroy(profile.device);
	accelerator_buffer_release(profile.matrices[0]);
	accelerator_buffer_release(profile.matrices[1]);
	free(profile.completions);
}

int accelerator_profile_work(int count)
{
	if (!device_ensure())
		return 1;
	for (int i = 0; i < count; i++) {
		accelerator_buffer *matrix = profile.matrices[i % 2];
		accelerator_command relu = { .op = ACCELERATOR_RELU, .a = matrix, .out = matrix, .m = SIDE, .n = SIDE };
		pthread_mutex_lock(&profile.lock);
		relu.tag = ++profile.launches_count;
		pthread_mutex_unlock(&profile.lock);
		if (accelerator_submit(profile.device, i % 2 ? ACCELERATOR_STREAM_1 : ACCELERATOR_STREAM_0, &relu, NULL))
			return 2;
	}
	return accelerator_synchronise(profile.device) ? 3 : 0;
}

static int64_t unix_ns_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Reads both clocks, several times, and returns the reading with the smallest distance, because the thread may be
 * preempted between the two. */
static struct moment moment_now(void)
{
	struct moment tightest = { 0 };
	int64_t tightest_ns = INT64_MAX;
	for (int i = 0; i < 5; i++) {
		int64_t before_ns = unix_ns_now();
		uint64_t ticks = accelerator_now(profile.device);
		int64_t width_ns = unix_ns_now() - before_ns;
		if (width_ns < tightest_ns) {
			tightest = (struct moment){ .ticks = ticks, .unix_ns = before_ns + width_ns / 2 };
			tightest_ns = width_ns;
		}
	}
	return tightest;
}

const char *accelerator_profile_start(void)
{
	if (!device_ensure())
		return "the accelerator cannot be had";
	pthread_mutex_lock(&profile.lock);
	const char *error = profile.running ? "the accelerator is profiled already" : NULL;
	if (!error) {
		profile.start = moment_now();
		profile.completions_count = 0;
		profile.running = true;
	}
	pthread_mutex_unlock(&profile.lock);
	return error;
}

const char *accelerator_profile_stop(void)
{
	if (!profile.device)
		return "the accelerator cannot be had";
	accelerator_synchronise(profile.device);
	pthread_mutex_lock(&profile.lock);
	const char *error = profile.running ? NULL : "the accelerator is not profiled";
	if (!error) {
		profile.stop = moment_now();
		profile.running = false;
	}
	pthread_mutex_unlock(&profile.lock);
	return error;
}

/* Converts ticks to Unix time.  An event may begin before the start of the profile, but none ends after its end. */
static int64_t unix_ns_of(uint64_t ticks)
{
	uint64_t mask = UINT64_MAX >> (64 - profile.clock_bits);
	int128 since = (int128)((ticks - profile.start.ticks) & mask);
	int128 all = (int128)((profile.stop.ticks - profile.start.ticks) & mask);
	if (since > all)
		since -= (int128)mask + 1;
	return profile.start.unix_ns + (int64_t)(since * (profile.stop.unix_ns - profile.start.unix_ns) / (all ? all : 1));
}

/* ---- protobuf ---- */

/* With `at` NULL it only counts the bytes. */
struct out {
	uint8_t *at;
	size_t count;
};

static void put(struct out *out, const void *bytes, size_t count)
{
	if (out->at)
		memcpy(out->at + out->count, bytes, count);
	out->count += count;
}

static void varint(struct out *out, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
		put(out, &byte, 1);
		value >>= 7;
	} while (value);
}

static void number(struct out *out, unsigned field, uint64_t value)
{
	varint(out, field << 3);
	varint(out, value);
}

static void text(struct out *out, unsigned field, const char *value)
{
	varint(out, field << 3 | 2);
	varint(out, strlen(value));
	put(out, value, strlen(value));
}

/* Writes a nested message: `write` runs twice, for the size and for the bytes. */
static void message(struct out *out, unsigned field, void (*write)(struct out *, const void *), const void *what)
{
	struct out counted = { 0 };
	write(&counted, what);
	varint(out, field << 3 | 2);
	varint(out, counted.count);
	if (out->at)
		write(out, what);
	else
		out->count += counted.count;
}

/* ---- XSpace: one plane, a line for each stream, the ops as its names ---- */

static const char *const stat_names[] = { "correlation_id", "m", "n", "flops" };
#define STATS (sizeof(stat_names) / sizeof(stat_names[0]))

struct stat {
	uint64_t id;
	uint64_t value;
};

static void write_stat(struct out *out, const void *what)
{
	const struct stat *stat = what;
	number(out, 1, stat->id);
	/* Viewers join events only by a correlation_id that is unsigned. */
	number(out, stat->id == 1 ? 3 : 4, stat->value);
}

static void write_event(struct out *out, const void *what)
{
	const accelerator_completion *done = what;
	const uint64_t values[STATS] = { done->tag, done->m, done->n, done->flops };
	int64_t start_ns = unix_ns_of(done->start_ticks);
	number(out, 1, (uint64_t)done->op + 1);
	number(out, 2, (uint64_t)(start_ns - profile.start.unix_ns) * 1000);
	number(out, 3, (uint64_t)(unix_ns_of(done->end_ticks) - start_ns) * 1000);
	for (size_t i = 0; i < STATS; i++)
		message(out, 4, write_stat, &(struct stat){ i + 1, values[i] });
}

static void write_line(struct out *out, const void *what)
{
	static const char *const names[] = { "stream 0", "stream 1", "copy engine" };
	int stream = *(const int *)what;
	number(out, 1, (uint64_t)stream + 1);
	text(out, 2, names[stream]);
	number(out, 3, (uint64_t)profile.start.unix_ns);
	for (size_t i = 0; i < profile.completions_count; i++) {
		if ((int)profile.completions[i].stream == stream)
			message(out, 4, write_event, &profile.completions[i]);
	}
}

struct name {
	uint64_t id;
	const char *text;
};

static void write_name(struct out *out, const void *what)
{
	const struct name *name = what;
	number(out, 1, name->id);
	text(out, 2, name->text);
}

static void write_name_entry(struct out *out, const void *what)
{
	number(out, 1, ((const struct name *)what)->id);
	message(out, 2, write_name, what);
}

static void write_plane(struct out *out, const void *what)
{
	static const char *const ops[] = { "gemm", "bias", "relu", "softmax", "copy_in", "copy_out", "fill" };
	_Static_assert(sizeof(ops) / sizeof(ops[0]) == ACCELERATOR_OP_COUNT, "an op without a name");
	(void)what;
	number(out, 1, 1);
	text(out, 2, DEVICE_NAME);
	for (int stream = 0; stream < ACCELERATOR_STREAM_COUNT; stream++)
		message(out, 3, write_line, &stream);
	for (uint64_t i = 0; i < ACCELERATOR_OP_COUNT; i++)
		message(out, 4, write_name_entry, &(struct name){ i + 1, ops[i] });
	for (uint64_t i = 0; i < STATS; i++)
		message(out, 5, write_name_entry, &(struct name){ i + 1, stat_names[i] });
}

/* ---- RunMetadata: one device, its executions ---- */

static void write_node(struct out *out, const void *what)
{
	const accelerator_completion *done = what;
	int64_t start_ns = unix_ns_of(done->start_ticks);
	uint64_t length_ns = (uint64_t)(unix_ns_of(done->end_ticks) - start_ns);
	text(out, 1, done->name);
	number(out, 2, (uint64_t)start_ns / 1000);
	number(out, 5, length_ns / 1000);
	number(out, 10, (uint64_t)done->stream);
	number(out, 13, (uint64_t)start_ns);
	number(out, 16, length_ns);
}

static void write_device(struct out *out, const void *what)
{
	(void)what;
	text(out, 1, DEVICE_NAME);
	for (size_t i = 0; i < profile.completions_count; i++)
		message(out, 2, write_node, &profile.completions[i]);
}

static void write_step_stats(struct out *out, const void *what)
{
	message(out, 1, write_device, what);
}

/* ---- both ---- */

static size_t serialise(uint8_t *bytes, size_t room, void (*write)(struct out *, const void *))
{
	struct out counted = { 0 }, out = { .at = bytes };
	pthread_mutex_lock(&profile.lock);
	if (!profile.running && profile.completions_count)
		message(&counted, 1, write, NULL);
	if (bytes && counted.count && counted.count <= room)
		message(&out, 1, write, NULL);
	pthread_mutex_unlock(&profile.lock);
	return counted.count;
}

size_t accelerator_profile_xspace(uint8_t *out, size_t room)
{
	return serialise(out, room, write_plane);
}

size_t accelerator_profile_run_metadata(uint8_t *out, size_t room)
{
	return serialise(out, room, write_step_stats);
}
