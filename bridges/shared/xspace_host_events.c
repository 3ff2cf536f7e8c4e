/* Records the host's operations in an XSpace (of TensorFlow or JAX), with their args, as events of their threads, and
 * as the parents of the calls and device events that they launched.
 *
 * Lines of an XSpace are threads.  The system id of a thread can be found until the thread ends, and afterwards if it
 * was noted (xspace_threads.h).  Plugins report the same id with their calls.  The parent of a call is the innermost
 * operation of its thread that encloses it.  The parent of a device event is the operation of the call that has the
 * same correlation number or, without an operation, the call itself.
 *
 * The framework uses CLOCK_REALTIME for operations.  This clock is related to the trace's clock by two samples: at the
 * run's start, and when the operations are recorded.  The XSpace also contains the plugins' events, because the
 * framework collected them from the bridge.  These events have a stat that only epprof writes, and are skipped. */
#include "xspace_host_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "containers/array.h"
#include "encoding/xspace.h"
#include "epprof/timeline.h"
#include "epprof/track.h"
#include "xspace_profile.h"
#include "xspace_threads.h"

#define ARGS_MAX 250u
#define NAME_BYTES_MAX 4096u
#define BINARY_BYTES 48u
#define KNOWN_TRACKS_MAX 1024u

struct operation {
	int64_t start_ns, end_ns; /* Unix times, in ns, here and below */
	uint64_t id;
};

struct call {
	uint64_t id, number;
	uint64_t operation;   /* parent of the call; 0: none */
	int64_t operation_ns; /* start of the parent */
	int64_t start_ns, end_ns;
	int32_t producer;
	uint64_t thread; /* the thread's pthread_t, if it was noted; else the system's thread id, which is a smaller
	                    number */
	uint32_t system_thread;
	bool has_parent; /* the plugin itself has given a parent */
};

struct device_event {
	uint64_t id, number;
	int32_t producer;
};

struct host {
	epp_session *session;
	struct host_moment from, until;
	struct host_counts *counts;
	epp_status *status; /* the first failure */
	int64_t session_ns; /* start of the framework's session */

	struct call *calls;
	size_t calls_count, calls_room;
	struct device_event *events;
	size_t events_count, events_room;

	/* State of the current line. */
	int64_t line_ns;
	int64_t line_id;
	char line_name[256];
	epp_track track; /* 0: no event of the line was recorded yet */
	uint32_t thread; /* 0: unknown */
	bool has_calls, is_left_out;
	struct operation *operations; /* the operations of the line, if its thread has calls of plugins */
	size_t operations_count, operations_room;
};

/* Cache of tracks, because threads have the same tracks in all runs of a session. */
static struct {
	epp_session *session;
	size_t count;
	struct {
		uint32_t thread;
		epp_track track;
		char name[64];
	} all[KNOWN_TRACKS_MAX];
} known;

/* ---- clocks ---- */

struct host_moment host_now(void)
{
	struct host_moment best = { 0 };
	uint64_t width = UINT64_MAX;
	for (int i = 0; i < 5; i++) {
		struct timespec now;
		uint64_t before = epp_host_ticks();
		clock_gettime(CLOCK_REALTIME, &now);
		uint64_t after = epp_host_ticks();
		if (after - before >= width)
			continue;
		width = after - before;
		best.ticks = before + width / 2;
		best.unix_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	}
	return best;
}

static uint64_t ticks_at(const struct host *host, int64_t unix_ns)
{
	__int128 span_ns = host->until.unix_ns - host->from.unix_ns;
	__int128 span_ticks = (__int128)host->until.ticks - host->from.ticks;
	__int128 ticks = host->from.ticks + (unix_ns - host->from.unix_ns) * span_ticks / (span_ns > 0 ? span_ns : 1);
	return ticks < 0 ? 0 : (uint64_t)ticks;
}

/* ---- threads ---- */

static const struct call *first_call(const struct host *host, uint64_t thread)
{
	for (size_t i = 0; thread && i < host->calls_count; i++)
		if (host->calls[i].thread == thread)
			return &host->calls[i];
	return NULL;
}

static epp_status *find_track(struct host *host)
{
	if (known.session != host->session)
		known.count = 0;
	known.session = host->session;
	for (size_t i = 0; i < known.count; i++) {
		if (known.all[i].thread == host->thread && !strcmp(known.all[i].name, host->line_name)) {
			host->track = known.all[i].track;
			return NULL;
		}
	}
	EPP_TRY(epp_track_create_thread(host->session, host->thread, host->line_name, &host->track));
	size_t bytes = strlen(host->line_name) + 1;
	if (known.count == KNOWN_TRACKS_MAX || bytes > sizeof(known.all->name))
		return NULL;
	known.all[known.count].thread = host->thread;
	known.all[known.count].track = host->track;
	memcpy(known.all[known.count].name, host->line_name, bytes);
	known.count++;
	return NULL;
}

/* ---- events of plugins ---- */

static uint64_t number_of(const epp_timeline *timeline, const epp_event *event)
{
	epp_trace_arg arg;
	for (size_t cursor = 0; epp_event_args(timeline, event, &cursor, &arg);) {
		bool is_number = arg.type == EPP_ARG_U64 || arg.type == EPP_ARG_I64;
		if (is_number && (!strcmp(arg.key, "correlation") || !strcmp(arg.key, "correlation_id")))
			return arg.value.u64;
	}
	return 0;
}

static epp_status *add_call(struct host *host, const epp_event *event, uint64_t number, int64_t epoch_ns)
{
	bool has_parent = event->parent && event->placement != EPP_PLACED_INFERRED;
	uint64_t handle = xspace_thread_noted(event->track->thread_id);
	if (!array_reserve(&host->calls, &host->calls_room, host->calls_count + 1, sizeof(*host->calls)))
		return epp_status_no_memory();
	host->calls[host->calls_count++] = (struct call){ .id = event->id,
		                                          .number = number,
		                                          .operation = has_parent ? event->parent : 0,
		                                          .start_ns = epoch_ns + event->start_ns,
		                                          .end_ns = epoch_ns + event->start_ns + event->duration_ns,
		                                          .producer = event->track->producer,
		                                          .thread = handle ? handle : event->track->thread_id,
		                                          .system_thread = event->track->thread_id,
		                                          .has_parent = has_parent };
	return NULL;
}

static epp_status *add_device_event(struct host *host, const epp_event *event, uint64_t number)
{
	if (!array_reserve(&host->events, &host->events_room, host->events_count + 1, sizeof(*host->events)))
		return epp_status_no_memory();
	host->events[host->events_count++] = (struct device_event){ event->id, number, event->track->producer };
	return NULL;
}

static epp_status *read_timeline(struct host *host, epp_timeline *timeline, int64_t epoch_ns)
{
	const epp_event *event;
	while (epp_timeline_next(timeline, &event)) {
		bool is_device = event->track->kind == EPP_TRACK_DEVICE && !event->parent;
		if (event->kind != EPP_EVENT_SLICE || (!is_device && event->track->kind != EPP_TRACK_CALLS))
			continue;
		uint64_t number = number_of(timeline, event);
		EPP_TRY(is_device ? add_device_event(host, event, number) : add_call(host, event, number, epoch_ns));
	}
	return epp_timeline_status(timeline);
}

static epp_status *read_plugins(struct host *host)
{
	epp_trace *trace;
	epp_timeline *timeline;
	EPP_TRY(epp_trace_open_session(host->session, &trace));
	int64_t epoch_ns = epp_trace_get_info(trace)->epoch_unix_ns;
	const epp_timeline_options options = { .struct_size = sizeof(options),
		                               .from_ns = host->from.unix_ns - epoch_ns,
		                               .to_ns = INT64_MAX };
	epp_status *status = epp_timeline_create(trace, &options, &timeline);
	if (!status) {
		status = read_timeline(host, timeline, epoch_ns);
		epp_timeline_destroy(timeline);
	}
	epp_trace_close(trace);
	return status;
}

/* ---- the calls of a thread ---- */

static int64_t midpoint(const struct call *call)
{
	return call->start_ns + (call->end_ns - call->start_ns) / 2;
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct call *left = a, *right = b;
	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	int64_t left_ns = midpoint(left), right_ns = midpoint(right);
	return (left_ns > right_ns) - (left_ns < right_ns);
}

static int by_start(const void *a, const void *b)
{
	const struct operation *left = a, *right = b;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	if (left->end_ns != right->end_ns)
		return left->end_ns > right->end_ns ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

/* Finds the innermost operation around each call of a thread.  host->operations is sorted by start; the memory after
 * the last one is the stack of open operations. */
static void join_calls(struct host *host, uint64_t thread)
{
	const struct operation *all = host->operations;
	struct operation *stack = host->operations + host->operations_count;
	size_t next = 0, open = 0;
	for (size_t i = 0; i < host->calls_count; i++) {
		struct call *call = &host->calls[i];
		int64_t at_ns = midpoint(call);
		if (call->thread != thread)
			continue;
		for (; next < host->operations_count && all[next].start_ns <= at_ns; next++) {
			while (open && stack[open - 1].end_ns <= all[next].start_ns)
				open--;
			stack[open++] = all[next];
		}
		size_t around = open;
		while (around && (stack[around - 1].end_ns < at_ns ||
		                  stack[around - 1].end_ns - stack[around - 1].start_ns < call->end_ns - call->start_ns))
			around--;
		/* The call may already have a parent, from another line of the same thread.  Of the two operations, the
		 * one that starts later is the parent. */
		if (!around || call->has_parent || (call->operation && call->operation_ns >= stack[around - 1].start_ns))
			continue;
		call->operation = stack[around - 1].id;
		call->operation_ns = stack[around - 1].start_ns;
	}
}

static void end_line(struct host *host)
{
	size_t count = host->operations_count;
	if (count && !array_reserve(&host->operations, &host->operations_room, 2 * count, sizeof(*host->operations))) {
		host->status = host->status ? host->status : epp_status_no_memory();
	} else if (count) {
		qsort(host->operations, count, sizeof(*host->operations), by_start);
		join_calls(host, xspace_thread_handle(host->line_id));
		join_calls(host, host->thread);
	}
	host->operations_count = 0;
}

/* ---- reading ---- */

static bool starts_with(struct protobuf_string text, const char *with)
{
	return text.bytes >= strlen(with) && !memcmp(text.text, with, strlen(with));
}

static bool is_text(struct protobuf_string text, const char *what)
{
	return text.bytes == strlen(what) && starts_with(text, what);
}

static bool read_start(void *user, const struct xspace_plane *plane)
{
	struct host *host = user;
	for (size_t i = 0; i < plane->stats_count && is_text(plane->name, "Task Environment"); i++)
		if (is_text(plane->stats[i].name, "profile_start_time"))
			host->session_ns = plane->stats[i].value.i64;
	return false;
}

static bool read_plane(void *user, const struct xspace_plane *plane)
{
	(void)user;
	return !starts_with(plane->name, "/device:") && !starts_with(plane->name, "#Chip") &&
	       !starts_with(plane->name, "/custom:") && !is_text(plane->name, "Task Environment") &&
	       !is_text(plane->name, "/host:metadata");
}

static void read_line(void *user, const struct xspace_line *line)
{
	struct host *host = user;
	struct protobuf_string name = line->display_name.bytes ? line->display_name : line->name;
	end_line(host);
	host->line_ns = line->timestamp_ns < host->session_ns ? line->timestamp_ns + host->session_ns : line->timestamp_ns;
	host->line_id = line->id;
	host->track = 0;
	host->is_left_out = is_text(line->name, "_counters_");
	snprintf(host->line_name, sizeof(host->line_name), "%.*s", (int)(name.bytes < 255 ? name.bytes : 255),
	         name.bytes ? name.text : "");
}

static epp_name intern(struct protobuf_string text)
{
	char copy[NAME_BYTES_MAX + 1];
	size_t bytes = text.bytes < NAME_BYTES_MAX ? text.bytes : NAME_BYTES_MAX;
	memcpy(copy, bytes ? text.text : "", bytes);
	copy[bytes] = 0;
	return epp_name_intern(copy);
}

static void read_arg(epp_arg *arg, const struct xspace_stat *stat, char binary[BINARY_BYTES])
{
	*arg = (epp_arg){ .key = intern(stat->name), .value.u64 = stat->value.u64 };
	switch (stat->type) {
	case XSTAT_F64:
		arg->type = EPP_ARG_F64;
		break;
	case XSTAT_U64:
		arg->type = EPP_ARG_U64;
		break;
	case XSTAT_I64:
		arg->type = EPP_ARG_I64;
		break;
	case XSTAT_TEXT:
		arg->type = EPP_ARG_TEXT;
		arg->value.text = stat->value.text.text;
		arg->text_bytes = stat->value.text.bytes;
		break;
	default:
		/* A binary value is usually a whole compiled program, so only its size is recorded. */
		arg->type = EPP_ARG_TEXT;
		arg->text_bytes = (size_t)snprintf(binary, BINARY_BYTES, "(%zu bytes)", stat->value.text.bytes);
		arg->value.text = binary;
	}
}

static bool has_stat(const struct xspace_event *event, const char *key)
{
	for (size_t i = 0; i < event->stats_count; i++)
		if (is_text(event->stats[i].name, key))
			return true;
	return false;
}

static epp_category category_of(const struct xspace_event *event)
{
	if (has_stat(event, "_r"))
		return EPP_SESSION;
	return has_stat(event, "correlation_id") ? EPP_API : EPP_NODE;
}

static epp_status *begin_line(struct host *host)
{
	const struct call *noted = first_call(host, xspace_thread_handle(host->line_id));
	host->thread = xspace_thread(host->line_id);
	host->has_calls = noted || first_call(host, host->thread);
	if (!host->thread && noted)
		host->thread = noted->system_thread;
	return find_track(host);
}

static epp_status *record(struct host *host, const struct xspace_event *event, int64_t start_ns, int64_t end_ns)
{
	epp_arg args[ARGS_MAX];
	char binaries[ARGS_MAX][BINARY_BYTES];
	size_t count = 0;
	for (; count < event->stats_count && count < ARGS_MAX; count++)
		read_arg(&args[count], &event->stats[count], binaries[count]);
	uint64_t id = epp_event_record(host->session, host->track, category_of(event),
	                               intern(event->display_name.bytes ? event->display_name : event->name),
	                               ticks_at(host, start_ns), ticks_at(host, end_ns), 0, args, count);
	host->counts->operations += id != 0;
	host->counts->lost += id == 0;
	if (!id || !host->has_calls)
		return NULL;
	if (!array_reserve(&host->operations, &host->operations_room, host->operations_count + 1,
	                   sizeof(*host->operations)))
		return epp_status_no_memory();
	host->operations[host->operations_count++] = (struct operation){ start_ns, end_ns, id };
	return NULL;
}

static void read_event(void *user, const struct xspace_event *event)
{
	struct host *host = user;
	int64_t end_ps, start_ns, end_ns;
	if (host->status || host->is_left_out || event->occurrences || has_stat(event, "start_error_ns"))
		return;
	if (event->duration_ps < 0 || __builtin_add_overflow(event->offset_ps, event->duration_ps, &end_ps) ||
	    __builtin_add_overflow(host->line_ns, event->offset_ps / 1000, &start_ns) ||
	    __builtin_add_overflow(host->line_ns, end_ps / 1000, &end_ns)) {
		host->counts->lost++;
		return;
	}
	if (!host->track)
		host->status = begin_line(host);
	if (!host->status)
		host->status = record(host, event, start_ns, end_ns);
}

static epp_status *read_operations(struct host *host, const void *bytes, size_t count)
{
	const struct xspace_reader starts = { .plane = read_start, .user = host };
	const struct xspace_reader reader = { read_plane, read_line, read_event, NULL, host };
	struct xspace_account account;
	EPP_TRY(xspace_read(bytes, count, &starts, &account));
	if (!host->session_ns)
		return epp_status_create(EPP_CORRUPT, "its start time is missing");
	epp_status *status = xspace_read(bytes, count, &reader, &account);
	end_line(host);
	if (host->status) {
		epp_status_destroy(status);
		return host->status;
	}
	return status;
}

/* ---- device events ---- */

static int by_number(const void *a, const void *b)
{
	const struct call *left = a, *right = b;
	if (left->producer != right->producer)
		return left->producer < right->producer ? -1 : 1;
	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	/* If a call is nested in another one with the same number, the inner one comes second. */
	return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static const struct call *find_call(const struct host *host, const struct device_event *event)
{
	size_t low = 0, count = host->calls_count;
	const struct call key = { .producer = event->producer, .number = event->number, .start_ns = INT64_MIN };
	while (count) {
		bool before = by_number(&host->calls[low + count / 2], &key) < 0;
		low = before ? low + count / 2 + 1 : low;
		count = before ? count - count / 2 - 1 : count / 2;
	}
	const struct call *call = low < host->calls_count ? &host->calls[low] : NULL;
	return call && call->producer == event->producer && call->number == event->number ? call : NULL;
}

static void name_parents(struct host *host)
{
	for (size_t i = 0; i < host->calls_count; i++)
		if (!host->calls[i].has_parent)
			epp_event_set_parent(host->session, host->calls[i].id, host->calls[i].operation);
	qsort(host->calls, host->calls_count, sizeof(*host->calls), by_number);
	for (size_t i = 0; i < host->events_count; i++) {
		const struct device_event *event = &host->events[i];
		const struct call *call = event->number ? find_call(host, event) : NULL;
		if (call)
			epp_event_set_parent(host->session, event->id, call->operation ? call->operation : call->id);
		host->counts->joined += call != NULL;
		host->counts->alone += call == NULL;
	}
}

epp_status *host_record(epp_session *session, const struct host_moment *from, const void *bytes, size_t count,
                        struct host_counts *counts)
{
	struct host host = { .session = session, .from = *from, .until = host_now(), .counts = counts };
	*counts = (struct host_counts){ 0 };
	epp_status *status = read_plugins(&host);
	if (!status) {
		if (host.calls_count)
			qsort(host.calls, host.calls_count, sizeof(*host.calls), by_thread_and_time);
		epp_thread_set_waiting(session);
		status = read_operations(&host, bytes, count);
		name_parents(&host);
	}
	free(host.calls);
	free(host.events);
	free(host.operations);
	return status;
}
