/* Which ids were seen: one bit an id, in pages of neighbours. */
#ifndef EPPROF_CLI_SEEN_H
#define EPPROF_CLI_SEEN_H

#include <stdbool.h>
#include <stdint.h>

struct seen {
	void *pages; /* tsearch tree */
};

/* Whether it was seen before; from now on it is.  Without memory it was not, and cli_finish says so. */
bool seen_before(struct seen *seen, uint64_t id);
void seen_deinit(struct seen *seen);

#endif
