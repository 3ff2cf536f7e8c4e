/* State and functions that the files of the flame graph share: stacks and their times (flame.c), the drawing
 * (flame_draw.c). */
#ifndef EPPROF_RUNTIME_EXPORT_SVG_FLAME_H
#define EPPROF_RUNTIME_EXPORT_SVG_FLAME_H

#include "containers/hash_map.h"
#include "export/writer.h"
#include "timeline/events/work.h"

/* Stacks beyond this number are added to the enclosing stack. */
#define FLAME_NODES_MAX 65536u
#define FLAME_DEPTH_MAX 64u
/* The number of host events that are remembered as possible causes. */
#define FLAME_CAUSES 262144u

/* A name within a stack of names.  There are two trees: host time, and device time below the host stacks that caused
 * it. */
struct flame_node {
	char *name;
	size_t name_bytes;
	uint32_t name_number;            /* one of the numbers of this text */
	uint32_t parent, next, children; /* indexes; 0: none */
	uint64_t count;
	int64_t total_ns; /* of its own events: in the tree of devices, of kernels only */
	int64_t below_ns; /* of all descendants */
	enum work work;   /* for kernels; else WORK_NONE */
};

struct flame {
	struct flame_node *nodes; /* 0: unused; 1, 2: the roots */
	uint32_t nodes_count;
	size_t nodes_room;
	struct hash_map found;      /* node index by parent and name number */
	struct hash_map lanes;      /* struct flame_lane by track and lane */
	struct flame_cause *causes; /* by id; a new one replaces the old one in the same slot */
	uint64_t uncaused;          /* device events whose host stack is unknown */
	uint64_t others, cut;
	bool has_copies;
};

#define FLAME_HOST 1u
#define FLAME_DEVICE 2u

/* Draws both trees.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *flame_draw(struct export_run *run, struct flame *flame) EPP_MUST_CHECK;

#endif
