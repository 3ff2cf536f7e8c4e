/* Reads RunMetadata, the TensorFlow profile before XSpace (config.proto, step_stats.proto): its StepStats, node by
 * node. */
#ifndef EPPROF_RUNTIME_ENCODING_STEP_STATS_H
#define EPPROF_RUNTIME_ENCODING_STEP_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "encoding/protobuf.h"

/* One execution of a node. Times in ns: from the fields in ns if they are set, otherwise from those in us. */
struct step_stats_node {
	struct protobuf_string name;
	struct protobuf_string label; /* "", or a description of the call and its inputs */
	int64_t start_ns;             /* UNIX time */
	int64_t op_start_rel_ns;      /* the kernel itself, relative to start_ns */
	int64_t op_end_rel_ns;
	int64_t end_rel_ns;
	int64_t scheduled_ns; /* 0: unknown */
	int64_t memory_bytes; /* allocated by it, sum over all allocators */
	uint32_t thread_id;
};

/* Callbacks. All pointers are borrowed for the call; entries may be NULL. */
struct step_stats_reader {
	void (*device)(void *user, struct protobuf_string name);
	/* The name of a thread of the last device, before the device's nodes. */
	void (*thread)(void *user, uint32_t thread_id, struct protobuf_string name);
	void (*node)(void *user, const struct step_stats_node *node);
	void *user;
};

struct step_stats_account {
	uint64_t nodes_count;
	uint64_t damaged_count; /* messages that are truncated or invalid */
};

/* Reads a RunMetadata.
 * Errors: EPP_CORRUPT for damage, after all readable nodes were passed on. */
epp_status *run_metadata_read(const void *bytes, size_t count, const struct step_stats_reader *reader,
                              struct step_stats_account *account);

#endif
