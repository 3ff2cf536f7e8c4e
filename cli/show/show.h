/* Declarations shared by the files of epprof show. */
#ifndef EPPROF_CLI_SHOW_SHOW_H
#define EPPROF_CLI_SHOW_SHOW_H

#include "cli/cli.h"

/* An event in the tree. */
struct show_node {
	epp_event event; /* `name` is the node's own copy; the args can no longer be read */
	struct show_node *parent;
	struct show_node *first, *last, *next; /* the children that are kept, linked by `next` */
	uint64_t children_count;               /* number of all children, also of those not kept; 1 above the target */
	unsigned level;                        /* number of levels below the selected event; 0 for it and those above */
};

struct show_tree {
	epp_trace *trace;
	const char *trace_id; /* below the selected event, only events of requests with this id are read; NULL: all */
	uint8_t *sources;     /* for epp_timeline_options: one byte for each process; 1: that of the selected event */
	size_t sources_count;
	size_t top;     /* the most children that a node keeps */
	unsigned depth; /* number of levels below the selected event that are kept */
	/* root: the outermost event above the selected event, or the selected event; target: the selected event */
	struct show_node *root, *target;
	char **args; /* args of the selected event: keys and values alternate */
	size_t args_count;
	uint64_t device_count; /* number of all device events below the selected event */
	int64_t device_ns;     /* sum of their durations */
};

/* Reads the event with `id` in the process `source`, and the events around it.  `start_ns` is the event's start.
 * Ownership: show_tree_deinit, also after a failure.  Errors: those of the timeline; EPP_NOT_FOUND. */
epp_status *show_tree_read(struct show_tree *tree, uint32_t source, uint64_t id, int64_t start_ns) EPP_MUST_CHECK;
void show_tree_deinit(struct show_tree *tree);

/* Prints the event, its args and its tree. */
void show_print(const struct show_tree *tree);

#endif
