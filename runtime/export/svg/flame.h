/* What the parts of the flame graph share: stacks added up (flame.c), drawn (flame_draw.c). */
#ifndef EPPROF_RUNTIME_EXPORT_SVG_FLAME_H
#define EPPROF_RUNTIME_EXPORT_SVG_FLAME_H

#include "containers/hash_map.h"
#include "export/writer.h"
#include "timeline/events/work.h"

/* Stacks beyond these are added up in the one around them. */
#define FLAME_NODES_MAX 65536u
#define FLAME_DEPTH_MAX 64u
/* How many of the host events that others name as their cause are remembered. */
#define FLAME_CAUSES 262144u

/* A name in the stack of names around it.  There are two trees: of host time, and of device time below the host stacks
 * that caused it. */
struct flame_node {
	char *name;
	size_t name_bytes;
	uint32_t name_number;            /* one of the numbers that the text has */
	uint32_t parent, next, children; /* indexes; 0: none */
	uint64_t count;
	int64_t total_ns; /* of its own events: in the tree of devices, of kernels alone */
	int64_t below_ns; /* of the children, all levels */
	enum work work;   /* of kernels; else WORK_NONE */
};

struct flame {
	struct flame_node *nodes; /* 0: unused; 1, 2: the roots */
	uint32_t nodes_count;
	size_t nodes_room;
	struct hash_map found;      /* node index by parent and name's number */
	struct hash_map lanes;      /* struct flame_lane by track and lane */
	struct flame_cause *causes; /* by id: the last one of those that share a place */
	uint64_t uncaused;          /* device events whose host stack is not known */
	uint64_t others, cut;
	bool has_copies;
};

#define FLAME_HOST 1u
#define FLAME_DEVICE 2u

/* Draws both trees.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *flame_draw(struct export_run *run, struct flame *flame) EPP_MUST_CHECK;

#endif
