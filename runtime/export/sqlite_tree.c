/* Leaves are filled from their end, as SQLite does.  The pages above are made while the leaves are copied: each level has
 * the children that wait for a page of it, two more than fit, so that no page is left with one child. */
#include "export/sqlite_tree.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "file/spool.h"

#define PAGE SQLITE_TREE_PAGE_BYTES
#define PAGES_AT_ONCE 64u
/* SQLite locks the byte at 1 GiB, and keeps its page free. */
#define LOCK_PAGE ((1u << 30) / PAGE + 1)

enum { LEAF = 0x0D, INTERIOR = 0x05 };
enum { LEAF_HEAD_BYTES = 8, INTERIOR_HEAD_BYTES = 12 };

/* Of the database's head: a count of changes, which stands in two places, and how many pages there are. */
enum { HEAD_BYTES = 100, CHANGES_AT = 24, PAGES_AT = 28, CHANGES_VALID_AT = 92 };

static void put16(uint8_t *at, unsigned value)
{
	uint16_t big = htobe16((uint16_t)value);

	memcpy(at, &big, sizeof big);
}

static void put32(uint8_t *at, uint32_t value)
{
	uint32_t big = htobe32(value);

	memcpy(at, &big, sizeof big);
}

static unsigned get16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* The high bits first; keys are below 2^56. */
static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	unsigned groups = (70 - (unsigned)__builtin_clzll(value | 1)) / 7;

	while (groups-- > 1)
		*at++ = (uint8_t)(0x80 | value >> 7 * groups);
	*at++ = value & 0x7F;
	return at;
}

/* ---- leaves ---- */

epp_status *sqlite_tree_init(struct sqlite_tree *tree)
{
	*tree = (struct sqlite_tree){ .content = PAGE };
	tree->pages = malloc(PAGES_AT_ONCE * PAGE);
	if (!tree->pages)
		return epp_status_no_memory();
	EPP_TRY(spool_open(&tree->fd));
	tree->has_fd = true;
	return NULL;
}

void sqlite_tree_deinit(struct sqlite_tree *tree)
{
	if (tree->has_fd)
		close(tree->fd);
	free(tree->pages);
	*tree = (struct sqlite_tree){ 0 };
}

static uint8_t *page_of(struct sqlite_tree *tree)
{
	return tree->pages + tree->pages_waiting * PAGE;
}

static epp_status *write_waiting(struct sqlite_tree *tree)
{
	EPP_TRY(spool_write(tree->fd, tree->leaves_count * PAGE, tree->pages, tree->pages_waiting * PAGE));
	tree->leaves_count += tree->pages_waiting;
	tree->pages_waiting = 0;
	return NULL;
}

static epp_status *end_leaf(struct sqlite_tree *tree)
{
	uint8_t *page = page_of(tree);
	unsigned used = LEAF_HEAD_BYTES + 2 * tree->cells_count;

	if (!tree->cells_count)
		return NULL;
	page[0] = LEAF;
	put16(page + 1, 0);
	put16(page + 3, tree->cells_count);
	put16(page + 5, tree->content);
	page[7] = 0;
	memset(page + used, 0, tree->content - used);
	tree->cells_count = 0;
	tree->content = PAGE;
	tree->pages_waiting++;
	return tree->pages_waiting == PAGES_AT_ONCE ? write_waiting(tree) : NULL;
}

/* An integer in as few of the format's lengths as hold it; 0 and 1 are said by their type alone. */
static inline uint8_t *put_value(uint8_t *at, uint8_t *type, int64_t value)
{
	static const uint8_t types[] = { 1, 1, 2, 3, 4, 5, 5, 6, 6 }, lengths[] = { 1, 1, 2, 3, 4, 6, 6, 8, 8 };
	uint64_t magnitude = (uint64_t)(value ^ value >> 63), big;

	if (magnitude <= 1 && value >= 0) {
		*type = (uint8_t)(8 + value);
		return at;
	}
	/* The bits and a sign, in bytes rounded up. */
	unsigned bytes = (64 - (unsigned)__builtin_clzll(magnitude | 1) + 8) / 8, length = lengths[bytes];
	*type = types[bytes];
	big = htobe64((uint64_t)value << (64 - 8 * length));
	memcpy(at, &big, sizeof big);
	return at + length;
}

epp_status *sqlite_tree_add(struct sqlite_tree *tree, const int64_t *values, unsigned count, uint32_t nulls)
{
	uint8_t record[1 + SQLITE_TREE_COLUMNS_MAX + 8 * SQLITE_TREE_COLUMNS_MAX + 8], head[12];
	uint8_t *end = record + 2 + count, *head_end;

	record[0] = (uint8_t)(2 + count);
	record[1] = 0; /* the key stands for itself */
	for (unsigned i = 0; i < count; i++) {
		if (nulls >> i & 1)
			record[2 + i] = 0;
		else
			end = put_value(end, &record[2 + i], values[i]);
	}
	unsigned record_bytes = (unsigned)(end - record);
	head_end = put_varint(put_varint(head, record_bytes), (uint64_t)++tree->rows_count);
	unsigned head_bytes = (unsigned)(head_end - head), bytes = head_bytes + record_bytes;
	if (LEAF_HEAD_BYTES + 2 * (tree->cells_count + 1) + bytes > tree->content)
		EPP_TRY(end_leaf(tree));
	uint8_t *page = page_of(tree);
	tree->content -= bytes;
	memcpy(page + tree->content, head, head_bytes);
	memcpy(page + tree->content + head_bytes, record, record_bytes);
	put16(page + LEAF_HEAD_BYTES + 2 * tree->cells_count++, tree->content);
	return NULL;
}

/* ---- the pages above ---- */

#define CHILDREN_MAX ((PAGE - INTERIOR_HEAD_BYTES) / (2 + 4 + 9))
#define LEVELS_MAX 8u

struct child {
	uint32_t page;
	int64_t last_row;
};

struct above {
	int database;
	uint32_t pages_count; /* of the database */
	struct {
		struct child children[CHILDREN_MAX + 2];
		size_t count;
		bool any; /* it has pages already */
	} levels[LEVELS_MAX];
};

static epp_status *write_page(struct above *above, uint32_t number, const uint8_t *page)
{
	return spool_write(above->database, (uint64_t)(number - 1) * PAGE, page, PAGE);
}

static epp_status *next_number(struct above *above, uint32_t *number)
{
	static const uint8_t zeros[PAGE];

	if (++above->pages_count == LOCK_PAGE) {
		EPP_TRY(write_page(above, above->pages_count, zeros));
		above->pages_count++;
	}
	*number = above->pages_count;
	return NULL;
}

/* All but the last child are cells, with the row that they end with. */
static void lay_out(uint8_t *page, const struct child *children, size_t count)
{
	unsigned content = PAGE;

	memset(page, 0, PAGE);
	for (size_t i = 0; i + 1 < count; i++) {
		uint8_t cell[16];
		put32(cell, children[i].page);
		unsigned bytes = (unsigned)(put_varint(cell + 4, (uint64_t)children[i].last_row) - cell);
		content -= bytes;
		memcpy(page + content, cell, bytes);
		put16(page + INTERIOR_HEAD_BYTES + 2 * i, content);
	}
	page[0] = INTERIOR;
	put16(page + 3, (unsigned)count - 1);
	put16(page + 5, content);
	put32(page + 8, children[count - 1].page);
}

static epp_status *add_child(struct above *above, unsigned level, uint32_t page, int64_t last_row);

static epp_status *write_level(struct above *above, unsigned level, size_t count)
{
	struct child *children = above->levels[level].children, last = children[count - 1];
	uint8_t page[PAGE];
	uint32_t number;

	lay_out(page, children, count);
	above->levels[level].any = true;
	above->levels[level].count -= count;
	memmove(children, children + count, above->levels[level].count * sizeof *children);
	EPP_TRY(next_number(above, &number));
	EPP_TRY(write_page(above, number, page));
	return add_child(above, level + 1, number, last.last_row);
}

static epp_status *add_child(struct above *above, unsigned level, uint32_t page, int64_t last_row)
{
	if (level == LEVELS_MAX)
		return epp_status_create(EPP_IO, "the temporary database: too large");
	above->levels[level].children[above->levels[level].count++] = (struct child){ page, last_row };
	return above->levels[level].count == CHILDREN_MAX + 2 ? write_level(above, level, CHILDREN_MAX) : NULL;
}

/* The first level that has no page yet is the root's own. */
static epp_status *write_root(struct above *above, uint32_t root)
{
	uint8_t page[PAGE];
	unsigned level = 0;

	for (; above->levels[level].any; level++)
		EPP_TRY(write_level(above, level, above->levels[level].count));
	lay_out(page, above->levels[level].children, above->levels[level].count);
	return write_page(above, root, page);
}

/* ---- behind the database ---- */

/* Together, if the page that is kept free does not stand between them. */
static epp_status *write_leaves(struct sqlite_tree *tree, struct above *above, size_t count)
{
	uint32_t first = above->pages_count + 1;

	if (first > LOCK_PAGE || first + count <= LOCK_PAGE) {
		above->pages_count += (uint32_t)count;
		return spool_write(above->database, (uint64_t)(first - 1) * PAGE, tree->pages, count * PAGE);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t number;
		EPP_TRY(next_number(above, &number));
		EPP_TRY(write_page(above, number, tree->pages + i * PAGE));
	}
	return NULL;
}

static epp_status *copy_leaves(struct sqlite_tree *tree, struct above *above)
{
	int64_t last_row = 0;

	for (uint64_t done = 0, count; done < tree->leaves_count; done += count) {
		count = tree->leaves_count - done < PAGES_AT_ONCE ? tree->leaves_count - done : PAGES_AT_ONCE;
		if (tree->leaves_count + above->pages_count > UINT32_MAX / 2)
			return epp_status_create(EPP_IO, "the temporary database: too large");
		EPP_TRY(spool_read(tree->fd, done * PAGE, tree->pages, count * PAGE));
		uint32_t number = above->pages_count;
		EPP_TRY(write_leaves(tree, above, count));
		for (uint64_t i = 0; i < count; i++) {
			number += number + 1 == LOCK_PAGE ? 2 : 1;
			last_row += get16(tree->pages + i * PAGE + 3);
			EPP_TRY(add_child(above, 0, number, last_row));
		}
	}
	return NULL;
}

static epp_status *append(struct sqlite_tree *tree, struct above *above, uint32_t root)
{
	if (tree->leaves_count == 1) {
		EPP_TRY(spool_read(tree->fd, 0, tree->pages, PAGE));
		return write_page(above, root, tree->pages);
	}
	EPP_TRY(copy_leaves(tree, above));
	return write_root(above, root);
}

epp_status *sqlite_tree_append(struct sqlite_tree *tree, int database, uint32_t root)
{
	uint8_t head[HEAD_BYTES];
	struct above *above;
	uint32_t changes;

	EPP_TRY(end_leaf(tree));
	EPP_TRY(write_waiting(tree));
	if (!tree->leaves_count)
		return NULL;
	EPP_TRY(spool_read(database, 0, head, sizeof head));
	above = calloc(1, sizeof *above);
	if (!above)
		return epp_status_no_memory();
	above->database = database;
	memcpy(&above->pages_count, head + PAGES_AT, sizeof above->pages_count);
	above->pages_count = be32toh(above->pages_count);
	epp_status *status = append(tree, above, root);
	if (!status) {
		memcpy(&changes, head + CHANGES_AT, sizeof changes);
		changes = be32toh(changes) + 1;
		put32(head + CHANGES_AT, changes);
		put32(head + CHANGES_VALID_AT, changes);
		put32(head + PAGES_AT, above->pages_count);
		status = spool_write(database, 0, head, sizeof head);
	}
	free(above);
	return status;
}
