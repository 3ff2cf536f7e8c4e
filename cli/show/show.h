/* Declarations shared by the files of epprof show. */
#ifndef EPPROF_CLI_SHOW_SHOW_H
#define EPPROF_CLI_SHOW_SHOW_H

#include "cli/cli.h"

/* An event in the tree. */
struct show_node {
	epp_event event; /* `name` is the node's own copy; `args` is not valid */
	struct show_node *parent;
	struct show_node *first, *last, *next; /* the children that are kept, linked by `next` */
	uint64_t children_count;               /* number of all children */
	unsigned level;                        /* levels below the selected event */
};

struct show_tree {
	epp_trace *trace;
	const char *trace_id; /* only events of requests with this trace id are below the event; NULL: all */
	uint8_t *sources;     /* for epp_timeline_options: one byte for each process, 1 only for that of the event */
	size_t sources_count;
	size_t top;     /* the most children that a node keeps */
	unsigned depth; /* levels below the event that are kept */
	struct show_node *root, *target;
	char **args; /* args of the event: keys and values alternate */
	size_t args_count;
	uint64_t device_count; /* number of device events below the event, and the sum of their durations */
	int64_t device_ns;
};

/* Reads the event `id` of a process, which starts at `start_ns`, and the events around it.
 * Ownership: show_tree_deinit, also after a failure.  Errors: those of the timeline; EPP_NOT_FOUND. */
epp_status *show_tree_read(struct show_tree *tree, uint32_t source, uint64_t id, int64_t start_ns) EPP_MUST_CHECK;
void show_tree_deinit(struct show_tree *tree);

/* Prints the event, its args and its tree. */
void show_print(const struct show_tree *tree);

#endif
