/* Converts a RunMetadata to events: the operations that devices executed. */
#include "encoding/step_stats.h"
#include "plugins/profile/profile_batch.h"

static void deliver_device(void *user, struct protobuf_string name)
{
	delivery_device(user, name);
}

static void deliver_thread(void *user, uint32_t thread_id, struct protobuf_string name)
{
	delivery_track(user, thread_id, name);
}

static void deliver_node(void *user, const struct step_stats_node *node)
{
	struct delivery *delivery = user;
	int64_t end_ns;
	if (__builtin_add_overflow(node->start_ns, node->end_rel_ns, &end_ns))
		end_ns = INT64_MIN;
	delivery->stream = node->thread_id;
	EpprofEvent *event = delivery_begin_event(delivery, node->start_ns, end_ns, delivery_room_for(node->name), 5);
	if (!event)
		return;
	event->name = delivery_copy(delivery, node->name);
	if (node->label.bytes)
		delivery_add_text(delivery, event, "timeline_label", node->label);
	if (node->op_end_rel_ns) {
		delivery_add_number(delivery, event, "op_start_rel_ns", node->op_start_rel_ns);
		delivery_add_number(delivery, event, "op_end_rel_ns", node->op_end_rel_ns);
	}
	if (node->scheduled_ns)
		delivery_add_number(delivery, event, "scheduled_ns", node->scheduled_ns);
	if (node->memory_bytes)
		delivery_add_number(delivery, event, "memory_bytes", node->memory_bytes);
}

epp_status *profile_deliver_run_metadata(struct profile_target *to, const struct profile_data *data,
                                         const struct profile_time_range *time_range)
{
	struct step_stats_account account;
	if (!data->count)
		return NULL;
	struct delivery *delivery = delivery_create(to, time_range);
	if (!delivery)
		return epp_status_no_memory();
	const struct step_stats_reader reader = { deliver_device, deliver_thread, deliver_node, delivery };
	epp_status *status = run_metadata_read(data->bytes, data->count, &reader, &account);
	delivery_flush(delivery);
	delivery_destroy(delivery);
	return status;
}
