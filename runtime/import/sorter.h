/* Entries of 40 bytes, any number of them, brought into order and then found again, in bounded memory.
 *
 * Collected in one buffer, which is sorted and goes to a temporary file when it is full; sealing merges those runs.  What
 * fits into the buffer stays there.  After sealing, entries are read by their place through a small cache, and each page
 * of them has its largest `end` in memory, so that what contains a moment is found by going back from it. */
#ifndef EPPROF_RUNTIME_IMPORT_SORTER_H
#define EPPROF_RUNTIME_IMPORT_SORTER_H

#include "files/temp_file.h"

struct sorter_entry {
	uint64_t key; /* first in the order */
	uint64_t start;
	uint64_t end;
	uint64_t id;
	uint32_t track;
	uint32_t name;
};

_Static_assert(sizeof(struct sorter_entry) == 40, "sorter entry");

#define SORTER_BUFFER_ENTRIES 49152u
#define SORTER_PAGE_ENTRIES 512u
#define SORTER_CACHE_PAGES 8u

struct sorter_page {
	uint64_t first_key, first_start;
	uint64_t largest_end;
	uint64_t largest_end_so_far; /* of this page and all before it */
};

struct sorter {
	struct sorter_entry *buffer;
	uint32_t buffered;
	size_t buffer_room;
	int runs_fd, sorted_fd; /* -1: none; a zero-initialised sorter has none either */
	bool has_runs, sealed;
	uint32_t runs_count;
	uint64_t count;
	struct sorter_page *pages;
	size_t pages_count, pages_room;
	struct sorter_entry *cache;
	uint64_t cached[SORTER_CACHE_PAGES]; /* page + 1; 0: empty */
};

epp_status *sorter_add(struct sorter *sorter, const struct sorter_entry *entry) EPP_MUST_CHECK;
/* In order of key, start, longer first, id; nothing can be added afterwards. */
epp_status *sorter_seal(struct sorter *sorter) EPP_MUST_CHECK;
void sorter_deinit(struct sorter *sorter);

/* After sealing: the entry at a place below `count`. */
epp_status *sorter_at(struct sorter *sorter, uint64_t place, struct sorter_entry *entry) EPP_MUST_CHECK;
/* The first place whose key and start are not below these; `count` if there is none. */
epp_status *sorter_find(struct sorter *sorter, uint64_t key, uint64_t start, uint64_t *place) EPP_MUST_CHECK;
/* The innermost entry of that key around a moment, and of that name unless it is 0.  `*found`: whether there is one. */
epp_status *sorter_containing(struct sorter *sorter, uint64_t key, uint64_t moment, uint32_t name,
                              struct sorter_entry *entry, bool *found) EPP_MUST_CHECK;
/* The same for the next one outwards, before `*place`, which is first that of sorter_find(key, moment + 1). */
epp_status *sorter_containing_before(struct sorter *sorter, uint64_t key, uint64_t moment, uint32_t name,
                                     uint64_t *place, struct sorter_entry *entry, bool *found) EPP_MUST_CHECK;

#endif
