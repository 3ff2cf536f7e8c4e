/* A set of ids, with one bit for each id, in pages of consecutive ids. */
#ifndef EPPROF_CLI_ID_SET_H
#define EPPROF_CLI_ID_SET_H

#include <stdbool.h>
#include <stdint.h>

struct cli_id_set {
	void *pages; /* tsearch tree */
};

/* Returns true if the id is in the set already, else adds it.  If there is no memory, returns false and adds nothing,
 * which cli_exit_code reports. */
bool cli_id_set_test_and_add(struct cli_id_set *set, uint64_t id);
/* Returns true if the id is in the set. */
bool cli_id_set_has(const struct cli_id_set *set, uint64_t id);
void cli_id_set_deinit(struct cli_id_set *set);

#endif
