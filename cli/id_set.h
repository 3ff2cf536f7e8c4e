/* A set of ids, with one bit for each id, in pages of consecutive ids. */
#ifndef EPPROF_CLI_ID_SET_H
#define EPPROF_CLI_ID_SET_H

#include <stdbool.h>
#include <stdint.h>

struct cli_id_set {
	void *pages; /* tsearch tree */
};

/* Returns true if the id is already in the set.  Otherwise adds it and returns false.  If there is no memory, adds
 * nothing and returns false; cli_exit_code reports this. */
bool cli_id_set_test_and_add(struct cli_id_set *set, uint64_t id);
/* Returns true if the id is in the set. */
bool cli_id_set_has(const struct cli_id_set *set, uint64_t id);
void cli_id_set_deinit(struct cli_id_set *set);

#endif
