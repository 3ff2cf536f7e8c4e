/* Pushes the events of a profile as EpprofEvents: a plane or device becomes a group of tracks, a line or thread becomes
 * a track, stats become args.  All times are UNIX ns, which is one clock for the host.
 *
 * Events are pushed in batches of a few hundred.  Their names and keys are not terminated in the data, so they are
 * copied once for each batch; text values are pushed without a copy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "epprof/session.h"
#include "ort_abi/profiler_registry.h"
#include "plugins/profile/profile_batch.h"

/* ---- batches ---- */

void delivery_push(struct profile_target *to, EpprofBatch *batch)
{
	batch->struct_size = sizeof(*batch);
	profiler_registry_push(to->profiler, batch);
}

void profile_deliver_ledger(struct profile_target *to)
{
	const struct profile_misplaced *now = &to->misplaced, *pushed = &to->pushed;
	delivery_push(to, &(EpprofBatch){ .ledger = &to->ledger,
	                                  .early_count = now->before_start - pushed->before_start,
	                                  .late_count = now->after_end - pushed->after_end,
	                                  .negative_count = now->negative - pushed->negative });
	to->pushed = to->misplaced;
}

/* Returns by how much the system clock was set during the run, compared with the monotonic clock.  The plugin uses the
 * system clock, and the time of the change is not known, so each of its times may be wrong by this amount. */
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
	delivery_push(to, &(EpprofBatch){ .clocks = &clock, .clocks_count = 1, .pairs = &pushed, .pairs_count = 1 });
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

void delivery_flush(struct delivery *delivery)
{
	if (delivery->batch_count)
		delivery_push(delivery->to, &(EpprofBatch){ .events = delivery->events,
		                                            .events_count = delivery->batch_count,
		                                            .ledger = &delivery->to->ledger,
		                                            .ids = delivery->ids });
	for (size_t i = 0; i < delivery->batch_count; i++) {
		if (delivery->correlations[i] && delivery->ids[i])
			profile_calls_add(&delivery->calls, delivery->correlations[i], delivery->ids[i]);
	}
	delivery->batch_count = 0;
	delivery->args_count = 0;
	delivery->text_bytes = 0;
	memset(delivery->places, 0, sizeof(delivery->places));
}

const char *delivery_copy(struct delivery *delivery, struct protobuf_string text)
{
	if (!text.bytes)
		return "";
	size_t place = (size_t)((uintptr_t)text.text * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACES_BITS));
	if (delivery->places[place].from == text.text)
		return delivery->places[place].copy;
	char *at = delivery->text + delivery->text_bytes;
	size_t bytes = text.bytes < NAME_BYTES_MAX ? text.bytes : NAME_BYTES_MAX;
	/* The host reads the text up to the first NUL, so zero bytes are replaced. */
	for (size_t i = 0; i < bytes; i++)
		at[i] = text.text[i] ? text.text[i] : '?';
	at[bytes] = 0;
	delivery->text_bytes += bytes + 1;
	delivery->places[place].from = text.text;
	delivery->places[place].copy = at;
	return at;
}

EpprofEvent *delivery_begin_event(struct delivery *delivery, int64_t start_ns, int64_t end_ns, size_t text_bytes,
                                  size_t args_count)
{
	EpprofLedger *ledger = &delivery->to->ledger;
	struct profile_misplaced *misplaced = &delivery->to->misplaced;
	delivery->events_count++;
	if (start_ns < delivery->time_range->from_ns || start_ns >= delivery->time_range->until_ns) {
		bool is_late = start_ns >= delivery->time_range->until_ns,
		     is_unclaimed = is_late || start_ns < delivery->time_range->oldest_ns;
		uint64_t lost = is_unclaimed && delivery->time_range->counts_losses;
		ledger->emitted += lost;
		*(is_late ? &misplaced->after_end : &misplaced->before_start) += lost;
		return NULL;
	}
	ledger->emitted++;
	if (end_ns < start_ns) {
		misplaced->negative++;
		return NULL;
	}
	if (delivery->batch_count == BATCH_EVENTS || delivery->args_count + args_count > BATCH_ARGS ||
	    delivery->text_bytes + text_bytes > TEXT_BYTES)
		delivery_flush(delivery);
	if (text_bytes > TEXT_BYTES) {
		ledger->lost_other++;
		return NULL;
	}
	delivery->correlations[delivery->batch_count] = delivery->ids[delivery->batch_count] = 0;
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

void delivery_add_arg(struct delivery *delivery, EpprofEvent *event, EpprofArg arg)
{
	delivery->args[delivery->args_count++] = arg;
	event->args_count++;
}

void delivery_add_number(struct delivery *delivery, EpprofEvent *event, const char *key, int64_t value)
{
	delivery_add_arg(delivery, event, (EpprofArg){ .key = key, .type = EPP_ARG_I64, .number.i64 = value });
}

void delivery_add_text(struct delivery *delivery, EpprofEvent *event, const char *key, struct protobuf_string text)
{
	delivery_add_arg(
	    delivery, event,
	    (EpprofArg){ .key = key, .type = EPP_ARG_TEXT, .text = text.text, .text_bytes = (uint32_t)text.bytes });
}

/* ---- tracks ---- */

void delivery_track(struct delivery *delivery, int64_t stream, struct protobuf_string name)
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
	delivery_push(delivery->to, &(EpprofBatch){ .tracks = &described, .tracks_count = 1 });
}

/* Returns the number after the last colon of a name such as "/device:XPU:1" or "/job:a/device:GPU:0"; 0 if there is
 * none. */
static int32_t device_number(const char *name)
{
	const char *colon = strrchr(name, ':');
	char *end;
	if (!colon)
		return 0;
	long number = strtol(colon + 1, &end, 10);
	return number >= 0 && number < INT32_MAX / 2 ? (int32_t)number : 0;
}

/* Returns the first number that no device has, beginning with `number`. */
static int32_t find_free_number(const struct delivery *delivery, int32_t number)
{
	bool is_taken[DEVICES_MAX + 1] = { false }; /* one entry more than there are devices, so that one is always
                                                     * free */
	for (size_t i = 0; i < delivery->devices_count; i++) {
		int32_t offset = delivery->device_numbers[i] - number;
		if (offset >= 0 && offset < DEVICES_MAX)
			is_taken[offset] = true;
	}
	int32_t free_offset = 0;
	while (is_taken[free_offset])
		free_offset++;
	return number + free_offset;
}

bool delivery_is_host(struct protobuf_string name)
{
	char text[256];
	snprintf(text, sizeof(text), "%.*s", (int)(name.bytes < 255 ? name.bytes : 255), name.bytes ? name.text : "");
	return !strncmp(text, "/host:", 6) || strstr(text, "/device:CPU") || strstr(text, "/cpu:");
}

/* The events in planes of hosts have no device. */
void delivery_device(struct delivery *delivery, struct protobuf_string name)
{
	snprintf(delivery->group, sizeof(delivery->group), "%.*s", (int)(name.bytes < 255 ? name.bytes : 255),
	         name.bytes ? name.text : "");
	const char *group = delivery->group;
	bool is_host = delivery_is_host(name);
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
	int32_t number = find_free_number(delivery, device_number(group));
	delivery->device = number;
	char *kept = delivery->devices_count < DEVICES_MAX ? strdup(group) : NULL;
	if (!kept)
		return;
	delivery->devices[delivery->devices_count] = kept;
	delivery->device_numbers[delivery->devices_count++] = number;
}

/* ---- events of the adapter itself ---- */

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
	delivery_push(
	    to, &(EpprofBatch){
		    .tracks = &notes, .tracks_count = 1, .events = &event, .events_count = 1, .ledger = &to->ledger });
}

void profile_deliver_gap(struct profile_target *to, int64_t from_ns, int64_t until_ns)
{
	profile_deliver_note(to, "epprof.restart_gap", from_ns, until_ns, NULL);
	/* The end may be before the start, because the system clock may have been set back. */
	delivery_push(
	    to, &(EpprofBatch){ .gaps_count = 1, .gaps_ns = until_ns > from_ns ? (uint64_t)(until_ns - from_ns) : 0 });
}

/* ---- reading ---- */

struct delivery *delivery_create(struct profile_target *to, const struct profile_time_range *time_range)
{
	struct delivery *delivery = calloc(1, sizeof(*delivery));
	if (delivery) {
		delivery->to = to;
		delivery->time_range = time_range;
	}
	return delivery;
}

void delivery_destroy(struct delivery *delivery)
{
	for (size_t i = 0; i < delivery->devices_count; i++)
		free(delivery->devices[i]);
	profile_calls_deinit(&delivery->calls);
	free(delivery);
}
