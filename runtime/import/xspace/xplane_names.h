/* The tables of one plane of an XSpace: the meaning of the numbers of its events and stats.
 *
 * An index of all entries is sorted by number, in bounded memory; an entry is read from the file when an event needs
 * it, and stays in a cache.  Of entries with the same number the last one is used, as in any protobuf map. */
#ifndef EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_NAMES_H
#define EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_NAMES_H

#include "import/sorter.h"
#include "import/xspace/xplane_file.h"

#define XPLANE_SLOTS 4096u
#define XPLANE_CACHE_BYTES (1u << 20)
/* The maximum size of an entry's name and of the stats that all events of that number share. */
#define XPLANE_TEXT_BYTES_MAX (64u << 10)
#define XPLANE_STATS_BYTES_MAX (16u << 10)

struct xplane_entry {
	int64_t id;
	epp_name name; /* made from the short name if there is one */
	struct protobuf_string text;
	struct protobuf_string display; /* the short name, which viewers prefer */
	const uint8_t *stats;           /* XMETADATA_STATS fields, one after the other */
	uint32_t stats_bytes;
	bool is_known; /* false: the plane has no such entry */
};

struct xplane_table {
	struct sorter index;
	bool has_stats; /* whether its entries may have stats */
	struct xplane_entry *slots[XPLANE_SLOTS];
};

struct xplane_names {
	struct import *import;
	struct xplane_window window;
	struct xplane_table events, stats;
	char *cache;
	size_t cache_used;
	uint64_t too_large; /* stats of entries that were too large and left out */
	bool no_room;       /* whether the cache had no room for a request */
};

epp_status *xplane_names_init(struct xplane_names *names, struct import *import, const struct xplane_file *file)
    EPP_MUST_CHECK;
void xplane_names_deinit(struct xplane_names *names);

/* Starts a new plane: empties the tables. */
void xplane_names_clear(struct xplane_names *names);
/* Adds an entry as it is in the file: a number and a message.  *damaged is set if it has no message. */
epp_status *xplane_names_add(struct xplane_names *names, struct xplane_table *table, struct xplane_message entry,
                             bool *damaged) EPP_MUST_CHECK;
/* Call it after all entries were added. */
epp_status *xplane_names_seal(struct xplane_names *names) EPP_MUST_CHECK;

/* Allows the cache to drop entries that were found before. */
void xplane_names_next_event(struct xplane_names *names);
/* Finds an entry; *entry is NULL if the cache has no room left for it in this event.  Ownership: valid until
 * xplane_names_next_event. */
epp_status *xplane_names_read(struct xplane_names *names, struct xplane_table *table, int64_t id,
                              const struct xplane_entry **entry) EPP_MUST_CHECK;

/* Returns a copy of a text that is valid until xplane_names_next_event; NULL: no room. */
const char *xplane_names_keep(struct xplane_names *names, const char *text, size_t bytes);

static inline epp_status *xplane_names_find(struct xplane_names *names, struct xplane_table *table, int64_t id,
                                            const struct xplane_entry **entry)
{
	*entry = table->slots[(uint64_t)id % XPLANE_SLOTS];
	return *entry && (*entry)->id == id ? NULL : xplane_names_read(names, table, id, entry);
}

#endif
