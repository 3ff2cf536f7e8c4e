/* Sorts any number of 40-byte entries in bounded memory, and searches them.
 *
 * Entries are collected in one buffer; when it is full it is sorted and written to a temporary file as a run.  Sealing
 * merges the runs; entries that fit into the buffer stay in memory.  After sealing, entries are read by position
 * through a small cache.  The largest `end` of each page is kept in memory, so that the entries around a time can be
 * found by a search backwards from it. */
#ifndef EPPROF_RUNTIME_IMPORT_SORTER_H
#define EPPROF_RUNTIME_IMPORT_SORTER_H

#include "files/temp_file.h"

struct sorter_entry {
	uint64_t key; /* primary sort key */
	uint64_t start;
	uint64_t end;
	uint64_t id;
	uint32_t track;
	uint32_t name;
};

_Static_assert(sizeof(struct sorter_entry) == 40, "sorter entry");

#define SORTER_BUFFER_ENTRIES 40960u
#define SORTER_PAGE_ENTRIES 512u
#define SORTER_CACHE_PAGES 8u

struct sorter_page {
	uint64_t first_key, first_start;
	uint64_t largest_end;
	uint64_t largest_end_so_far; /* of this page and all pages before it */
};

struct sorter {
	struct sorter_entry *buffer;
	uint32_t buffered;
	size_t buffer_room;
	int runs_fd, sorted_fd; /* -1: none; also none in a zero-initialised sorter */
	bool has_runs, sealed;
	uint32_t runs_count;
	uint64_t count;
	struct sorter_page *pages;
	size_t pages_count, pages_room;
	struct sorter_entry *cache;
	uint64_t cached[SORTER_CACHE_PAGES]; /* page + 1; 0: empty */
};

epp_status *sorter_add(struct sorter *sorter, const struct sorter_entry *entry) EPP_MUST_CHECK;
/* Sorts by key, start, longer first, id; nothing can be added afterwards. */
epp_status *sorter_seal(struct sorter *sorter) EPP_MUST_CHECK;
void sorter_deinit(struct sorter *sorter);

/* After sealing: returns the entry at a position below `count`. */
epp_status *sorter_at(struct sorter *sorter, uint64_t place, struct sorter_entry *entry) EPP_MUST_CHECK;
/* Finds the first position whose (key, start) is not below these; `count` if there is none. */
epp_status *sorter_find(struct sorter *sorter, uint64_t key, uint64_t start, uint64_t *place) EPP_MUST_CHECK;
/* Finds the innermost entry of that key around a time, with that name unless it is 0.  `*found`: whether there is
 * one. */
epp_status *sorter_containing(struct sorter *sorter, uint64_t key, uint64_t moment, uint32_t name,
                              struct sorter_entry *entry, bool *found) EPP_MUST_CHECK;
/* Finds the next outer entry, before `*place`, which is initially that of sorter_find(key, moment + 1). */
epp_status *sorter_containing_before(struct sorter *sorter, uint64_t key, uint64_t moment, uint32_t name,
                                     uint64_t *place, struct sorter_entry *entry, bool *found) EPP_MUST_CHECK;

#endif
