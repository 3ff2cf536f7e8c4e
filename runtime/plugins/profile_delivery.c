/* Events of an XSpace or a RunMetadata as EpprofEvents: a plane or device is a group of tracks, a line or thread is a
 * track, stats are args.  All are timed in UNIX ns, which is one clock for the host.
 *
 * Events are pushed by the hundred.  Their names and keys, which lie in the data unterminated, are copied once for each
 * batch; values of text are pushed from where they lie.
 */
#include "plugins/profile_delivery.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/profiler_registry.h"
#include "epprof/session.h"

#include "wire/step_stats.h"
#include "wire/xspace.h"

#define CLOCK_UNIX_NS 0
#define NO_DEVICE (-1)
#define NOTES_STREAM 0

#define BATCH_EVENTS 256u
#define BATCH_ARGS 2048u
#define EVENT_ARGS_MAX 250u
#define TEXT_BYTES 262144u
#define NAME_BYTES_MAX 4096u
#define PLACES_BITS 7
#define DEVICES_MAX 256

struct delivery {
	struct profile_target *to;
	const struct profile_window *window;
	epp_status *told; /* the first error that the data itself carries */
	uint64_t events_count;

	/* The track that events are on. */
	int32_t device;
	int64_t stream;
	uint32_t category;
	int64_t line_ns;

	/* Names of devices, so that two of the same number stay apart. */
	char *devices[DEVICES_MAX];
	int32_t device_numbers[DEVICES_MAX];
	size_t devices_count;
	char group[256];

	EpprofEvent events[BATCH_EVENTS];
	size_t batch_count;
	EpprofArg args[BATCH_ARGS];
	size_t args_count;
	char text[TEXT_BYTES];
	size_t text_bytes;
	/* Where a text of the data was copied to. */
	struct {
		const char *from;
		const char *copy;
	} places[1u << PLACES_BITS];
};

/* ---- batches ---- */

static void push(struct profile_target *to, EpprofBatch *batch)
{
	batch->struct_size = sizeof(*batch);
	profiler_registry_push(to->profiler, batch);
}

void profile_deliver_ledger(struct profile_target *to)
{
	push(to, &(EpprofBatch){ .ledger = &to->ledger });
}

/* The plugin's clock is the system's, which may be set: by how much it was, against the one that never is, nobody can
 * tell when, so every reading may be off by that. */
static uint64_t step_ticks(const struct epf_host_pair *from, const struct epf_host_pair *until)
{
	int64_t step_ns = (until->realtime_ns - from->realtime_ns) - (until->monotonic_ns - from->monotonic_ns);
	uint64_t ns = (uint64_t)(step_ns < 0 ? -step_ns : step_ns);
	return (uint64_t)((unsigned __int128)ns * clock_ticks_per_second() / 1000000000u);
}

static void deliver_pair(struct profile_target *to, const struct epf_host_pair *pair, uint64_t more_half_width_ticks)
{
	const EpprofClock clock = { .id = CLOCK_UNIX_NS, .kind = 1, .ticks_per_second = 1000000000 };
	const EpprofClockPair pushed = {
		.device_ticks = (uint64_t)pair->realtime_ns,
		.host_ticks = pair->ticks,
		.half_width_ticks = pair->half_width_ticks + more_half_width_ticks,
		.clock = CLOCK_UNIX_NS,
	};
	push(to, &(EpprofBatch){ .clocks = &clock, .clocks_count = 1, .pairs = &pushed, .pairs_count = 1 });
}

void profile_deliver_clock_start(struct profile_target *to, const struct epf_host_pair *start)
{
	deliver_pair(to, start, 0);
}

void profile_deliver_clock_end(struct profile_target *to, const struct epf_host_pair *start,
                               const struct epf_host_pair *end)
{
	deliver_pair(to, end, step_ticks(start, end));
}

static void flush(struct delivery *delivery)
{
	if (delivery->batch_count)
		push(delivery->to, &(EpprofBatch){ .events = delivery->events,
		                                   .events_count = delivery->batch_count,
		                                   .ledger = &delivery->to->ledger });
	delivery->batch_count = 0;
	delivery->args_count = 0;
	delivery->text_bytes = 0;
	memset(delivery->places, 0, sizeof(delivery->places));
}

/* A terminated copy that lives as long as the batch; `room_check` made sure of its room. */
static const char *copy(struct delivery *delivery, struct protobuf_string text)
{
	if (!text.bytes)
		return "";
	size_t place = (size_t)((uintptr_t)text.text * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACES_BITS));
	if (delivery->places[place].from == text.text)
		return delivery->places[place].copy;
	char *at = delivery->text + delivery->text_bytes;
	size_t bytes = text.bytes < NAME_BYTES_MAX ? text.bytes : NAME_BYTES_MAX;
	memcpy(at, text.text, bytes);
	/* A zero would end it for the host. */
	for (char *zero = memchr(at, 0, bytes); zero; zero = memchr(at, 0, bytes))
		*zero = '?';
	at[bytes] = 0;
	delivery->text_bytes += bytes + 1;
	delivery->places[place].from = text.text;
	delivery->places[place].copy = at;
	return at;
}

static size_t room_for(struct protobuf_string text)
{
	return (text.bytes < NAME_BYTES_MAX ? text.bytes : NAME_BYTES_MAX) + 1;
}

/* Begins an event in the batch, if its time is this profiler's; NULL: it is not.  `text_bytes` of names and keys and
 * `args_count` args will be added. */
static EpprofEvent *event_begin(struct delivery *delivery, int64_t start_ns, int64_t end_ns, size_t text_bytes,
                                size_t args_count)
{
	EpprofLedger *ledger = &delivery->to->ledger;
	delivery->events_count++;
	if (start_ns < delivery->window->from_ns || start_ns >= delivery->window->until_ns) {
		ledger->emitted += delivery->window->answers;
		ledger->lost_outside_run += delivery->window->answers;
		return NULL;
	}
	ledger->emitted++;
	if (end_ns < start_ns) {
		ledger->lost_refused++;
		return NULL;
	}
	if (delivery->batch_count == BATCH_EVENTS || delivery->args_count + args_count > BATCH_ARGS ||
	    delivery->text_bytes + text_bytes > TEXT_BYTES)
		flush(delivery);
	if (text_bytes > TEXT_BYTES) {
		ledger->lost_other++;
		return NULL;
	}
	EpprofEvent *event = &delivery->events[delivery->batch_count++];
	*event = (EpprofEvent){
		.start_ticks = (uint64_t)start_ns,
		.end_ticks = (uint64_t)end_ns,
		.args = &delivery->args[delivery->args_count],
		.category = delivery->category,
		.device = delivery->device,
		.clock = CLOCK_UNIX_NS,
		.stream = delivery->stream,
	};
	return event;
}

static void arg_add(struct delivery *delivery, EpprofEvent *event, EpprofArg arg)
{
	delivery->args[delivery->args_count++] = arg;
	event->args_count++;
}

static void arg_number(struct delivery *delivery, EpprofEvent *event, const char *key, int64_t value)
{
	arg_add(delivery, event, (EpprofArg){ .key = key, .type = EPP_ARG_I64, .number.i64 = value });
}

static void arg_text(struct delivery *delivery, EpprofEvent *event, const char *key, struct protobuf_string text)
{
	arg_add(delivery, event,
	        (EpprofArg){ .key = key, .type = EPP_ARG_TEXT, .text = text.text, .text_bytes = (uint32_t)text.bytes });
}

/* ---- tracks ---- */

static void track(struct delivery *delivery, int64_t stream, struct protobuf_string name)
{
	char text[256];
	delivery->stream = stream;
	if (name.bytes)
		snprintf(text, sizeof(text), "%.*s", (int)(name.bytes < 255 ? name.bytes : 255), name.text);
	else
		snprintf(text, sizeof(text), "stream %" PRId64, stream);
	const EpprofTrack described = {
		.name = text,
		.group = *delivery->group ? delivery->group : NULL,
		.stream = stream,
		.device = delivery->device,
		.clock = CLOCK_UNIX_NS,
	};
	push(delivery->to, &(EpprofBatch){ .tracks = &described, .tracks_count = 1 });
}

/* The number behind the last colon of "/device:XPU:1", "/job:a/device:GPU:0"; no number: 0. */
static int32_t device_number(const char *name)
{
	const char *colon = strrchr(name, ':');
	char *end;
	if (!colon)
		return 0;
	long number = strtol(colon + 1, &end, 10);
	return number >= 0 && number < INT32_MAX / 2 ? (int32_t)number : 0;
}

static bool number_taken(const struct delivery *delivery, int32_t number)
{
	for (size_t i = 0; i < delivery->devices_count; i++) {
		if (delivery->device_numbers[i] == number)
			return true;
	}
	return false;
}

/* What follows is on the device of this name, or on none, if it is a host's. */
static void device(struct delivery *delivery, struct protobuf_string name)
{
	snprintf(delivery->group, sizeof(delivery->group), "%.*s", (int)(name.bytes < 255 ? name.bytes : 255),
	         name.bytes ? name.text : "");
	const char *group = delivery->group;
	bool is_host = !strncmp(group, "/host:", 6) || strstr(group, "/device:CPU") || strstr(group, "/cpu:");
	delivery->category = is_host ? EPP_API : EPP_KERNEL;
	delivery->device = NO_DEVICE;
	if (is_host)
		return;
	for (size_t i = 0; i < delivery->devices_count; i++) {
		if (!strcmp(delivery->devices[i], group)) {
			delivery->device = delivery->device_numbers[i];
			return;
		}
	}
	int32_t number = device_number(group);
	while (number_taken(delivery, number))
		number++;
	delivery->device = number;
	char *kept = delivery->devices_count < DEVICES_MAX ? strdup(group) : NULL;
	if (!kept)
		return;
	delivery->devices[delivery->devices_count] = kept;
	delivery->device_numbers[delivery->devices_count++] = number;
}

/* ---- XSpace ---- */

static void take_plane(void *user, const struct xspace_plane *plane)
{
	device(user, plane->name);
}

static void take_line(void *user, const struct xspace_line *line)
{
	struct delivery *delivery = user;
	delivery->line_ns = line->timestamp_ns;
	track(delivery, line->id, line->display_name.bytes ? line->display_name : line->name);
}

/* Rounded down; a time that no ns can hold is the earliest. */
static int64_t ns_after(int64_t base_ns, int64_t ps)
{
	int64_t ns;
	if (__builtin_add_overflow(base_ns, ps / 1000 - (ps % 1000 < 0), &ns))
		return INT64_MIN;
	return ns;
}

static void stat_add(struct delivery *delivery, EpprofEvent *event, const struct xspace_stat *stat)
{
	char size[48];
	EpprofArg arg = { .key = copy(delivery, stat->name), .number.u64 = stat->value.u64 };
	switch (stat->type) {
	case XSTAT_F64:
		arg.type = EPP_ARG_F64;
		arg.number.f64 = stat->value.f64;
		break;
	case XSTAT_U64:
		arg.type = EPP_ARG_U64;
		break;
	case XSTAT_I64:
		arg.type = EPP_ARG_I64;
		break;
	case XSTAT_TEXT:
		arg.type = EPP_ARG_TEXT;
		arg.text = stat->value.text.text;
		arg.text_bytes = (uint32_t)stat->value.text.bytes;
		break;
	default:
		/* Binary, mostly whole programs: their size has to do. */
		arg.type = EPP_ARG_TEXT;
		arg.text_bytes = (uint32_t)snprintf(size, sizeof(size), "(%zu bytes)", stat->value.text.bytes);
		arg.text = delivery->text + delivery->text_bytes;
		memcpy(delivery->text + delivery->text_bytes, size, arg.text_bytes + 1);
		delivery->text_bytes += arg.text_bytes + 1;
	}
	arg_add(delivery, event, arg);
}

static void take_event(void *user, const struct xspace_event *from)
{
	struct delivery *delivery = user;
	int64_t end_ps;
	int64_t start_ns = ns_after(delivery->line_ns, from->offset_ps);
	bool backwards = __builtin_add_overflow(from->offset_ps, from->duration_ps, &end_ps);
	int64_t end_ns = backwards ? INT64_MIN : ns_after(delivery->line_ns, end_ps);
	size_t stats_count = from->stats_count < EVENT_ARGS_MAX ? from->stats_count : EVENT_ARGS_MAX;
	size_t text_bytes = room_for(from->name);
	for (size_t i = 0; i < stats_count; i++)
		text_bytes += room_for(from->stats[i].name) + (from->stats[i].type == XSTAT_BYTES ? 48 : 0);
	EpprofEvent *event = event_begin(delivery, start_ns, end_ns, text_bytes, stats_count + 2);
	if (!event)
		return;
	event->name = copy(delivery, from->name);
	if (from->display_name.bytes)
		arg_text(delivery, event, "display_name", from->display_name);
	if (from->occurrences)
		arg_number(delivery, event, "num_occurrences", from->occurrences);
	for (size_t i = 0; i < stats_count; i++)
		stat_add(delivery, event, &from->stats[i]);
}

void profile_deliver_note(struct profile_target *to, const char *name, int64_t from_ns, int64_t until_ns,
                          const struct protobuf_string *text)
{
	EpprofArg arg = { .key = "text", .type = EPP_ARG_TEXT };
	EpprofTrack notes = { .name = to->name, .stream = NOTES_STREAM, .device = NO_DEVICE };
	EpprofEvent event = {
		.start_ticks = (uint64_t)from_ns,
		.end_ticks = (uint64_t)until_ns,
		.name = name,
		.category = EPP_API,
		.device = NO_DEVICE,
		.clock = CLOCK_UNIX_NS,
		.stream = NOTES_STREAM,
	};
	if (text) {
		arg.text = text->text;
		arg.text_bytes = (uint32_t)text->bytes;
		event.args = &arg;
		event.args_count = 1;
	}
	to->ledger.emitted++;
	push(to, &(EpprofBatch){
		     .tracks = &notes, .tracks_count = 1, .events = &event, .events_count = 1, .ledger = &to->ledger });
}

void profile_deliver_gap(struct profile_target *to, int64_t from_ns, int64_t until_ns)
{
	profile_deliver_note(to, "epprof.restart_gap", from_ns, until_ns, NULL);
	/* The time of day may have been set meanwhile. */
	push(to, &(EpprofBatch){ .gaps_count = 1, .gaps_ns = until_ns > from_ns ? (uint64_t)(until_ns - from_ns) : 0 });
}

static void take_message(void *user, bool is_error, struct protobuf_string text)
{
	struct delivery *delivery = user;
	int64_t now_ns = delivery->window->now_ns;
	profile_deliver_note(delivery->to, is_error ? "epprof.error" : "epprof.warning", now_ns, now_ns, &text);
	if (is_error && !delivery->told)
		delivery->told = epp_status_create(EPP_PLUGIN, "it says in its XSpace: %.*s",
		                                   (int)(text.bytes < 1024 ? text.bytes : 1024), text.text);
}

static struct delivery *delivery_create(struct profile_target *to, const struct profile_window *window)
{
	struct delivery *delivery = calloc(1, sizeof(*delivery));
	if (delivery) {
		delivery->to = to;
		delivery->window = window;
	}
	return delivery;
}

static void delivery_destroy(struct delivery *delivery)
{
	for (size_t i = 0; i < delivery->devices_count; i++)
		free(delivery->devices[i]);
	free(delivery);
}

epp_status *profile_deliver_xspace(struct profile_target *to, const struct profile_data *data,
                                   const struct profile_window *window, uint64_t *events_count)
{
	struct xspace_account account;
	*events_count = 0;
	if (!data->count)
		return NULL;
	struct delivery *delivery = delivery_create(to, window);
	if (!delivery)
		return epp_status_no_memory();
	const struct xspace_reader reader = { take_plane, take_line, take_event, take_message, delivery };
	epp_status *status = xspace_read(data->bytes, data->count, &reader, &account);
	flush(delivery);
	*events_count = delivery->events_count;
	if (status)
		epp_status_release(delivery->told);
	else
		status = delivery->told;
	delivery_destroy(delivery);
	return status;
}

/* ---- RunMetadata ---- */

static void take_device(void *user, struct protobuf_string name)
{
	device(user, name);
}

static void take_thread(void *user, uint32_t thread_id, struct protobuf_string name)
{
	track(user, thread_id, name);
}

static void take_node(void *user, const struct step_stats_node *node)
{
	struct delivery *delivery = user;
	int64_t end_ns;
	if (__builtin_add_overflow(node->start_ns, node->end_rel_ns, &end_ns))
		end_ns = INT64_MIN;
	delivery->stream = node->thread_id;
	EpprofEvent *event = event_begin(delivery, node->start_ns, end_ns, room_for(node->name), 5);
	if (!event)
		return;
	event->name = copy(delivery, node->name);
	if (node->label.bytes)
		arg_text(delivery, event, "timeline_label", node->label);
	if (node->op_end_rel_ns) {
		arg_number(delivery, event, "op_start_rel_ns", node->op_start_rel_ns);
		arg_number(delivery, event, "op_end_rel_ns", node->op_end_rel_ns);
	}
	if (node->scheduled_ns)
		arg_number(delivery, event, "scheduled_ns", node->scheduled_ns);
	if (node->memory_bytes)
		arg_number(delivery, event, "memory_bytes", node->memory_bytes);
}

epp_status *profile_deliver_run_metadata(struct profile_target *to, const struct profile_data *data,
                                         const struct profile_window *window)
{
	struct step_stats_account account;
	if (!data->count)
		return NULL;
	struct delivery *delivery = delivery_create(to, window);
	if (!delivery)
		return epp_status_no_memory();
	const struct step_stats_reader reader = { take_device, take_thread, take_node, delivery };
	epp_status *status = run_metadata_read(data->bytes, data->count, &reader, &account);
	flush(delivery);
	delivery_destroy(delivery);
	return status;
}
