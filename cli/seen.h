/* A set of ids that were seen, with one bit for each id, in pages of consecutive ids. */
#ifndef EPPROF_CLI_SEEN_H
#define EPPROF_CLI_SEEN_H

#include <stdbool.h>
#include <stdint.h>

struct seen {
	void *pages; /* tsearch tree */
};

/* Returns true if the id is in the set already, else adds it.  If there is no memory, returns false and adds nothing,
 * which cli_finish reports. */
bool seen_before(struct seen *seen, uint64_t id);
/* Returns true if the id is in the set. */
bool seen_has(const struct seen *seen, uint64_t id);
void seen_deinit(struct seen *seen);

#endif
