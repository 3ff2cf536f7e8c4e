/* Implements name_statistics.h. */
#include "analysis/advice/name_statistics.h"

#include <stdlib.h>
#include <string.h>

static void name_destroy(struct advice_name *name)
{
	histogram_deinit(&name->durations);
	free(name->name);
	free(name);
}

epp_status *advice_names_of(struct advice_names *names, const epp_event *event, uint32_t source, size_t bytes,
                            struct advice_name **name)
{
	uint64_t key = (uint64_t)source << 40 | (uint64_t)event->name_number << 8 | event->category;
	struct advice_name *found = hash_map_pointer(&names->map, key);

	if (!found && names->map.count < ADVICE_NAMES_MOST) {
		found = calloc(1, bytes);
		if (!found)
			return epp_status_no_memory();
		found->name = strndup(event->name, event->name_bytes);
		if (!found->name || !hash_map_add(&names->map, key, (uintptr_t)found)) {
			name_destroy(found);
			return epp_status_no_memory();
		}
	}
	*name = found;
	return NULL;
}

void advice_names_deinit(struct advice_names *names)
{
	for (size_t i = 0; i < names->map.count; i++)
		name_destroy(advice_names_at(names, i));
	hash_map_deinit(&names->map);
}
