/* The contents of official_slots.c's library: the index of each slot in ONNX Runtime's own headers. */
#ifndef EPPROF_TESTS_PLUGINS_OFFICIAL_SLOTS_H
#define EPPROF_TESTS_PLUGINS_OFFICIAL_SLOTS_H

#include <stddef.h>

struct official_slot {
	const char *name;
	size_t slot;
};

struct official_slots {
	const struct official_slot *api;
	size_t api_count;
	size_t api_table_count; /* slots in the whole table */
	const struct official_slot *ep_api;
	size_t ep_api_count;
	size_t ep_api_table_count;
	const struct official_slot *model_editor;
	size_t model_editor_count;
	size_t model_editor_table_count;
	unsigned version;
};

#endif
