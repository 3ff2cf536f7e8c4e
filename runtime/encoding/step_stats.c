/* RunMetadata { step_stats = 1 } { dev_stats = 1 } { device = 1, node_stats = 2, thread_names = 3 }. A device is read
 * in three passes, because its name and its threads may follow its nodes. */
#include "encoding/step_stats.h"

enum { RUN_METADATA_STEP_STATS = 1, STEP_STATS_DEVICES = 1, DEVICE_NAME = 1, DEVICE_NODES = 2, DEVICE_THREADS = 3 };
enum {
	NODE_NAME = 1,
	NODE_START_US = 2,
	NODE_OP_START_US = 3,
	NODE_OP_END_US = 4,
	NODE_END_US = 5,
	NODE_MEMORY = 6,
	NODE_LABEL = 8,
	NODE_SCHEDULED_US = 9,
	NODE_THREAD = 10,
	NODE_START_NS = 13, /* same order as the fields in us */
	NODE_OP_START_NS = 14,
	NODE_OP_END_NS = 15,
	NODE_END_NS = 16,
	NODE_SCHEDULED_NS = 17,
	NODE_NUMBERS = 18
};
#define MEMORY_TOTAL_BYTES 2

struct reading {
	const struct step_stats_reader *reader;
	struct step_stats_account *account;
};

static void count_damage(const struct reading *reading, const struct protobuf_reader *walk)
{
	reading->account->damaged_count += walk->damaged;
}

/* Returns the time in ns or, if the node has no times in ns, the time in us. */
static int64_t time_of(const int64_t *numbers, int field_ns, int field_us, bool in_ns)
{
	int64_t ns;
	if (in_ns)
		return numbers[field_ns];
	return __builtin_mul_overflow(numbers[field_us], 1000, &ns) ? 0 : ns;
}

static int64_t memory_of(struct protobuf_reader message)
{
	struct protobuf_field field;
	int64_t bytes = 0;
	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, MEMORY_TOTAL_BYTES, PROTOBUF_VARINT))
			bytes = (int64_t)field.value;
	}
	return bytes;
}

static void node_read(const struct reading *reading, struct protobuf_reader message)
{
	struct protobuf_field field;
	struct step_stats_node node = { 0 };
	int64_t numbers[NODE_NUMBERS] = { 0 };
	uint64_t memory_bytes = 0;
	while (protobuf_next(&message, &field)) {
		if (field.type == PROTOBUF_VARINT && field.number < NODE_NUMBERS)
			numbers[field.number] = (int64_t)field.value;
		else if (protobuf_is(&field, NODE_NAME, PROTOBUF_BYTES))
			node.name = protobuf_as_string(&field);
		else if (protobuf_is(&field, NODE_LABEL, PROTOBUF_BYTES))
			node.label = protobuf_as_string(&field);
		else if (protobuf_is(&field, NODE_MEMORY, PROTOBUF_BYTES))
			memory_bytes += (uint64_t)memory_of(protobuf_reader_in(&field));
	}
	/* The times of a truncated node are unreliable. */
	if (message.damaged) {
		count_damage(reading, &message);
		return;
	}
	bool in_ns = numbers[NODE_START_NS] != 0;
	node.start_ns = time_of(numbers, NODE_START_NS, NODE_START_US, in_ns);
	node.op_start_rel_ns = time_of(numbers, NODE_OP_START_NS, NODE_OP_START_US, in_ns);
	node.op_end_rel_ns = time_of(numbers, NODE_OP_END_NS, NODE_OP_END_US, in_ns);
	node.end_rel_ns = time_of(numbers, NODE_END_NS, NODE_END_US, in_ns);
	node.scheduled_ns = time_of(numbers, NODE_SCHEDULED_NS, NODE_SCHEDULED_US, in_ns);
	node.memory_bytes = (int64_t)memory_bytes;
	node.thread_id = (uint32_t)numbers[NODE_THREAD];
	reading->account->nodes_count++;
	if (reading->reader->node)
		reading->reader->node(reading->reader->user, &node);
}

static void thread_read(const struct reading *reading, struct protobuf_reader entry)
{
	struct protobuf_field field;
	struct protobuf_string name = { 0 };
	uint32_t thread_id = 0;
	while (protobuf_next(&entry, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_VARINT))
			thread_id = (uint32_t)field.value;
		else if (protobuf_is(&field, 2, PROTOBUF_BYTES))
			name = protobuf_as_string(&field);
	}
	count_damage(reading, &entry);
	if (reading->reader->thread)
		reading->reader->thread(reading->reader->user, thread_id, name);
}

static void device_read(const struct reading *reading, const struct protobuf_reader message)
{
	struct protobuf_field field;
	struct protobuf_string name = { 0 };
	struct protobuf_reader walk = message;
	while (protobuf_next(&walk, &field)) {
		if (protobuf_is(&field, DEVICE_NAME, PROTOBUF_BYTES))
			name = protobuf_as_string(&field);
	}
	count_damage(reading, &walk);
	if (reading->reader->device)
		reading->reader->device(reading->reader->user, name);
	walk = message;
	while (protobuf_next(&walk, &field)) {
		if (protobuf_is(&field, DEVICE_THREADS, PROTOBUF_BYTES))
			thread_read(reading, protobuf_reader_in(&field));
	}
	walk = message;
	while (protobuf_next(&walk, &field)) {
		if (protobuf_is(&field, DEVICE_NODES, PROTOBUF_BYTES))
			node_read(reading, protobuf_reader_in(&field));
	}
}

epp_status *run_metadata_read(const void *bytes, size_t count, const struct step_stats_reader *reader,
                              struct step_stats_account *account)
{
	const struct reading reading = { reader, account };
	struct protobuf_reader walk = protobuf_reader_of(bytes, count);
	struct protobuf_field field;
	*account = (struct step_stats_account){ 0 };
	while (protobuf_next(&walk, &field)) {
		if (!protobuf_is(&field, RUN_METADATA_STEP_STATS, PROTOBUF_BYTES))
			continue;
		struct protobuf_reader step_stats = protobuf_reader_in(&field);
		while (protobuf_next(&step_stats, &field)) {
			if (protobuf_is(&field, STEP_STATS_DEVICES, PROTOBUF_BYTES))
				device_read(&reading, protobuf_reader_in(&field));
		}
		count_damage(&reading, &step_stats);
	}
	count_damage(&reading, &walk);
	if (!account->damaged_count)
		return NULL;
	return epp_status_create(EPP_CORRUPT, "RunMetadata: truncated messages: %llu; %llu nodes were read",
	                         (unsigned long long)account->damaged_count, (unsigned long long)account->nodes_count);
}
