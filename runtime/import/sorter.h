/* Sorts any number of 40-byte entries in bounded memory, and searches them.
 *
 * Entries are collected in one buffer; when it is full it is sorted and written to a temporary file as a run.  Sealing
 * merges the runs.  If all entries fit into the buffer, they stay in memory.  After sealing, entries are read by
 * position through a small cache.  The largest `end` of each page is kept in memory, so that the entries around a time
 * can be found by a search backwards from it. */
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
	uint64_t largest_end_so_far; /* the largest `end` of this page and all pages before it */
};

struct sorter {
	struct sorter_entry *buffer;
	uint32_t buffered;
	size_t buffer_room;
	int runs_fd, sorted_fd; /* -1: no file; in a zero-initialised sorter, where they are 0, there is no file
	                           either */
	bool has_runs, sealed;
	uint32_t runs_count;
	uint64_t count;
	struct sorter_page *pages;
	size_t pages_count, pages_room;
	struct sorter_entry *cache;
	uint64_t cached[SORTER_CACHE_PAGES]; /* number of the cached page + 1; 0: the slot is empty */
};

epp_status *sorter_add(struct sorter *sorter, const struct sorter_entry *entry) EPP_MUST_CHECK;
/* Sorts the entries by key, then start, then the longer first, then id.  No entry can be added afterwards. */
epp_status *sorter_seal(struct sorter *sorter) EPP_MUST_CHECK;
void sorter_deinit(struct sorter *sorter);

/* Gets the entry at a position below `count`.  Requires sorter_seal. */
epp_status *sorter_at(struct sorter *sorter, uint64_t place, struct sorter_entry *entry) EPP_MUST_CHECK;
/* Finds the first position whose (key, start) is not smaller than these; `count` if there is none. */
epp_status *sorter_find(struct sorter *sorter, uint64_t key, uint64_t start, uint64_t *place) EPP_MUST_CHECK;
/* Finds the innermost entry of a key around a time.  If `name` is not 0, the entry must have this name.  *found is
 * false if there is none. */
epp_status *sorter_containing(struct sorter *sorter, uint64_t key, uint64_t moment, uint32_t name,
                              struct sorter_entry *entry, bool *found) EPP_MUST_CHECK;
/* Searches backwards from *place for the next entry of the key that contains the time `moment`, and moves *place to it.
 * For the innermost entry, *place must be the result of sorter_find(key, moment + 1); each further call returns the
 * next outer entry. */
epp_status *sorter_containing_before(struct sorter *sorter, uint64_t key, uint64_t moment, uint32_t name,
                                     uint64_t *place, struct sorter_entry *entry, bool *found) EPP_MUST_CHECK;

#endif
