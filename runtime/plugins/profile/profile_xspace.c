/* Converts an XSpace to events.  A call is a host event with a correlation id.  It becomes the parent of the device
 * events with the same id.  Planes of hosts are therefore read before those of devices, whatever their order in the
 * data. */
#include <stdio.h>
#include <string.h>

#include "encoding/xspace.h"
#include "epprof/session.h"
#include "plugins/profile/profile_batch.h"

static void deliver_line(void *user, const struct xspace_line *line)
{
	struct delivery *delivery = user;
	delivery->line_ns = line->timestamp_ns;
	delivery_track(delivery, line->id, line->display_name.bytes ? line->display_name : line->name);
}

/* Adds picoseconds to nanoseconds, rounded down.  If the sum is no 64-bit number, returns the earliest time. */
static int64_t ns_after(int64_t base_ns, int64_t ps)
{
	int64_t ns;
	if (__builtin_add_overflow(base_ns, ps / 1000 - (ps % 1000 < 0), &ns))
		return INT64_MIN;
	return ns;
}

static void stat_add(struct delivery *delivery, EpprofEvent *event, const struct xspace_stat *stat)
{
	char size[BINARY_BYTES];
	EpprofArg arg = { .key = delivery_copy(delivery, stat->name), .number.u64 = stat->value.u64 };
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
		/* Binary data is mostly a whole program, so only its size is kept. */
		arg.type = EPP_ARG_TEXT;
		arg.text_bytes = (uint32_t)snprintf(size, sizeof(size), "(%zu bytes)", stat->value.text.bytes);
		arg.text = delivery->text + delivery->text_bytes;
		memcpy(delivery->text + delivery->text_bytes, size, arg.text_bytes + 1);
		delivery->text_bytes += arg.text_bytes + 1;
	}
	delivery_add_arg(delivery, event, arg);
}

/* Pushes the stats of a plane as properties of its device. */
static void push_properties(struct delivery *delivery, const struct xspace_plane *plane)
{
	size_t count = plane->stats_count < EVENT_ARGS_MAX ? plane->stats_count : EVENT_ARGS_MAX, text_bytes = 0;
	EpprofEvent none = { 0 };
	delivery_flush(delivery);
	for (size_t i = 0; i < count; i++)
		text_bytes += delivery_room_for(plane->stats[i].name) + BINARY_BYTES;
	if (text_bytes > TEXT_BYTES)
		return;
	for (size_t i = 0; i < count; i++)
		stat_add(delivery, &none, &plane->stats[i]);
	const EpprofDevice described = {
		.group = delivery->group, .args = delivery->args, .args_count = (uint32_t)count, .device = delivery->device
	};
	delivery_push(delivery->to, &(EpprofBatch){ .devices = &described, .devices_count = 1 });
	delivery_flush(delivery);
}

static bool deliver_plane(void *user, const struct xspace_plane *plane)
{
	struct delivery *delivery = user;
	bool is_host = delivery_is_host(plane->name);
	if (is_host != delivery->wants_host)
		return false;
	delivery_device(delivery, plane->name);
	if (!is_host && plane->stats_count)
		push_properties(delivery, plane);
	return true;
}

static uint64_t correlation_of(const struct xspace_event *event)
{
	static const char key[] = "correlation_id";
	for (size_t i = 0; i < event->stats_count; i++) {
		const struct xspace_stat *stat = &event->stats[i];
		if ((stat->type == XSTAT_U64 || stat->type == XSTAT_I64) && stat->name.bytes == sizeof(key) - 1 &&
		    !memcmp(stat->name.text, key, sizeof(key) - 1))
			return stat->value.u64;
	}
	return 0;
}

static void deliver_event(void *user, const struct xspace_event *from)
{
	struct delivery *delivery = user;
	int64_t end_ps;
	int64_t start_ns = ns_after(delivery->line_ns, from->offset_ps);
	bool backwards = __builtin_add_overflow(from->offset_ps, from->duration_ps, &end_ps);
	int64_t end_ns = backwards ? INT64_MIN : ns_after(delivery->line_ns, end_ps);
	size_t stats_count = from->stats_count < EVENT_ARGS_MAX ? from->stats_count : EVENT_ARGS_MAX;
	size_t text_bytes = delivery_room_for(from->name);
	for (size_t i = 0; i < stats_count; i++)
		text_bytes += delivery_room_for(from->stats[i].name) +
		              (from->stats[i].type == XSTAT_BYTES ? BINARY_BYTES : 0);
	EpprofEvent *event = delivery_begin_event(delivery, start_ns, end_ns, text_bytes, stats_count + 2);
	if (!event)
		return;
	event->name = delivery_copy(delivery, from->name);
	uint64_t correlation = correlation_of(from);
	if (delivery->device == NO_DEVICE)
		delivery->correlations[delivery->batch_count - 1] = correlation;
	else if (correlation)
		event->parent = profile_calls_find(&delivery->calls, correlation);
	if (from->display_name.bytes)
		delivery_add_text(delivery, event, "display_name", from->display_name);
	if (from->occurrences)
		delivery_add_number(delivery, event, "num_occurrences", from->occurrences);
	for (size_t i = 0; i < stats_count; i++)
		stat_add(delivery, event, &from->stats[i]);
}

static void deliver_message(void *user, bool is_error, struct protobuf_string text)
{
	struct delivery *delivery = user;
	int64_t now_ns = delivery->time_range->now_ns;
	profile_deliver_note(delivery->to, is_error ? "epprof.error" : "epprof.warning", now_ns, now_ns, &text);
	if (is_error && !delivery->data_error)
		delivery->data_error = epp_status_create(EPP_PLUGIN, "error in its XSpace: %.*s",
		                                         (int)(text.bytes < 1024 ? text.bytes : 1024), text.text);
}

/* Reads the planes of hosts, then the planes of devices. */
static epp_status *read_planes(struct delivery *delivery, const struct profile_data *data)
{
	const struct xspace_reader hosts = { deliver_plane, deliver_line, deliver_event, NULL, delivery };
	const struct xspace_reader devices = { deliver_plane, deliver_line, deliver_event, deliver_message, delivery };
	struct xspace_account account;
	delivery->wants_host = true;
	epp_status *status = xspace_read(data->bytes, data->count, &hosts, &account);
	delivery_flush(delivery);
	if (status && epp_status_code(status) != EPP_CORRUPT)
		return status;
	profile_calls_seal(&delivery->calls);
	delivery->wants_host = false;
	epp_status *second = xspace_read(data->bytes, data->count, &devices, &account);
	delivery_flush(delivery);
	if (second) {
		epp_status_destroy(status);
		status = second;
	}
	return status;
}

epp_status *profile_deliver_xspace(struct profile_target *to, const struct profile_data *data,
                                   const struct profile_time_range *time_range, uint64_t *events_count)
{
	*events_count = 0;
	if (!data->count)
		return NULL;
	struct delivery *delivery = delivery_create(to, time_range);
	if (!delivery)
		return epp_status_no_memory();
	epp_status *status = read_planes(delivery, data);
	*events_count = delivery->events_count;
	if (status)
		epp_status_destroy(delivery->data_error);
	else
		status = delivery->data_error;
	delivery_destroy(delivery);
	return status;
}
