/* Declarations shared by the two files of the builder; tests include epp_builder.h. */
#ifndef EPPROF_TESTS_SUPPORT_EPP_BUILDER_PRIVATE_H
#define EPPROF_TESTS_SUPPORT_EPP_BUILDER_PRIVATE_H

#include "epp_builder.h"

#define MUST(condition) ((condition) ? (void)0 : builder_must(#condition, __FILE__, __LINE__))

struct bytes {
	uint8_t *at;
	size_t used, room;
};

struct region {
	bool in_block; /* for retained regions: it is also in a block */
	struct epf_region header;
	uint64_t open_ids[EPF_OPEN_MAX];
	struct bytes records;
};

struct track {
	struct epf_track definition;
	char thread_name[16];
	bool is_thread;
	uint32_t slot;
	struct region region; /* the region being filled; records.used 0: empty */
	struct epf_open open[EPF_OPEN_MAX];
	uint32_t depth;
	uint64_t id_block_first, next_id, id_blocks;
	uint64_t lost[EPF_LOSS_COUNT], lost_idless;
};

/* The segments that will follow the window. */
struct stream {
	struct bytes bytes; /* whole segments */
	size_t at;          /* the offset of the next block; 0: no segment yet */
	uint64_t number;
};

struct epp_builder {
	struct epf_header header;
	struct epf_live live;
	struct epf_producer producers[EPF_PRODUCER_COUNT];
	struct stream stream;
	struct bytes definitions; /* not in a block yet */
	struct bytes pairs;       /* not in a block yet */
	struct track *tracks;     /* track number - 1 */
	uint32_t tracks_count, threads_count;
	struct region *kept; /* regions that remain in the window's chunks */
	size_t kept_count;
	uint32_t next_name;
	uint64_t next_sequence;
	uint64_t next_device_id, next_id_block;
	uint64_t last_ticks;
	int64_t monotonic_off_ns, realtime_off_ns;
};

_Noreturn void builder_must(const char *condition, const char *file, int line);
/* Appends `more` zero bytes. */
void *builder_grow(struct bytes *bytes, size_t more);
size_t builder_padded(size_t bytes, size_t unit);
struct track *builder_find(struct epp_builder *builder, uint32_t track);
void builder_define_name(struct epp_builder *builder, uint32_t number, const char *text, size_t bytes);
void builder_append_plain(const struct epp_builder *builder, struct stream *stream, enum epf_block_type type,
                          const void *payload, size_t bytes);
void builder_append_region(const struct epp_builder *builder, struct stream *stream, const struct region *region);
/* The account of a thread in the current run. */
struct epf_ledger_entry builder_account(const struct epp_builder *builder, const struct track *track);

#endif
