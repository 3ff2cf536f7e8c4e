/* Which ids a trace has: one bit each, in pages of 65,536 ids, since threads count theirs up in blocks of that many. */
#ifndef EPPROF_FILE_VALIDATE_IDS_H
#define EPPROF_FILE_VALIDATE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct validate_ids_page;

/* Zero-initialised: empty. */
struct validate_ids {
	struct validate_ids_page **places; /* open addressing */
	size_t places_count, pages_count;
	struct validate_ids_page *last; /* most ids are next to the one before */
};

/* Ids are unique within a source.  False: no memory.  `*doubled` says whether the id was there. */
bool validate_ids_add(struct validate_ids *ids, uint32_t source, uint64_t id, bool *doubled);
bool validate_ids_has(const struct validate_ids *ids, uint32_t source, uint64_t id);
void validate_ids_deinit(struct validate_ids *ids);

#endif
