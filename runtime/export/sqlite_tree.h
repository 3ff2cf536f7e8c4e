/* A table of an SQLite file whose rows come in order and are all integers: its pages, written one behind the other.
 *
 * To SQLite, a row costs as much as all else of an export together; what it would do is known beforehand, since a table in
 * order of its key is nothing but leaves filled from the first to the last, with pages above them that say which row each
 * leaf ends with (https://sqlite.org/fileformat2.html, "B-tree Pages").  The leaves wait in a file of their own while SQLite
 * fills the other tables; then they go behind its pages. */
#ifndef EPPROF_EXPORT_SQLITE_TREE_H
#define EPPROF_EXPORT_SQLITE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

#define SQLITE_TREE_PAGE_BYTES 4096u
#define SQLITE_TREE_COLUMNS_MAX 32u

struct sqlite_tree {
	int fd; /* the leaves */
	bool has_fd;
	uint8_t *pages; /* those that wait to be written, and the one that is being filled */
	size_t pages_waiting;
	uint64_t leaves_count;         /* in the file */
	unsigned cells_count, content; /* of the one that is being filled: where its cells begin */
	int64_t rows_count;
};

/* Ownership: sqlite_tree_deinit frees, also after a failure.  Errors, here and below: EPP_OUT_OF_MEMORY, EPP_IO. */
epp_status *sqlite_tree_init(struct sqlite_tree *tree) EPP_MUST_CHECK;
void sqlite_tree_deinit(struct sqlite_tree *tree);

/* Adds a row, whose key is the count of rows with it.  `values`: of the columns behind the key; bit i of `nulls`: there is
 * none. */
epp_status *sqlite_tree_add(struct sqlite_tree *tree, const int64_t *values, unsigned count, uint32_t nulls)
    EPP_MUST_CHECK;

/* Appends all to the database of a file, nobody of whose pages is in use: `root` is the table's page in it.  Whoever has
 * the database open sees that it was changed. */
epp_status *sqlite_tree_append(struct sqlite_tree *tree, int database, uint32_t root) EPP_MUST_CHECK;

#endif
