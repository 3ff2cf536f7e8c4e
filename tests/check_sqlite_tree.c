/* Tables that are laid out by hand, as SQLite reads them: every count of leaves and levels around their limits, values of
 * every length, and the page at 1 GiB, which SQLite keeps to itself. */
#include "export/sqlite_tree.h"

#include <endian.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>

#include "tests/check.h"

#define PAGE SQLITE_TREE_PAGE_BYTES

static sqlite3 *db;
static int fd;
static struct sqlite_tree tree;

/* A database with a table of one page, and another behind it. */
static void setup(void)
{
	const char *path = check_path("tree.sqlite");

	unlink(path);
	ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix-none"), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db,
	                              "PRAGMA page_size=4096; PRAGMA journal_mode=OFF;"
	                              "CREATE TABLE t(key INTEGER PRIMARY KEY, a, b, c); CREATE TABLE u(x);"
	                              "INSERT INTO u VALUES('first')",
	                              NULL, NULL, NULL),
	                 SQLITE_OK);
	fd = open(path, O_RDWR);
	check_ok(sqlite_tree_init(&tree));
}

static void teardown(void)
{
	sqlite_tree_deinit(&tree);
	sqlite3_close(db);
	close(fd);
	unlink(check_path("tree.sqlite"));
}

static int64_t number(const char *sql)
{
	sqlite3_stmt *statement;

	ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
	ck_assert_msg(sqlite3_step(statement) == SQLITE_ROW, "%s: %s", sql, sqlite3_errmsg(db));
	int64_t value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

static void append(void)
{
	check_ok(sqlite_tree_append(&tree, fd, (uint32_t)number("SELECT rootpage FROM sqlite_schema WHERE name = 't'")));
}

static void must_be_sound(void)
{
	sqlite3_stmt *statement;

	ck_assert_int_eq(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
	ck_assert_str_eq((const char *)sqlite3_column_text(statement, 0), "ok");
	sqlite3_finalize(statement);
}

/* Rows of 12 bytes: about 290 a leaf, 271 leaves a page above. */
static const int64_t counts[] = { 0, 1, 2, 250, 300, 600, 1000, 50000, 78000, 78500, 79000, 79500, 80000, 160000, 400000 };

START_TEST(tables_of_any_length)
{
	int64_t count = counts[_i];

	for (int64_t i = 1; i <= count; i++) {
		const int64_t values[] = { i, 1, 0 };
		epp_status *status = sqlite_tree_add(&tree, values, 3, i % 3 ? 4 : 0);
		MUST(!status);
	}
	append();
	must_be_sound();
	ck_assert_int_eq(number("SELECT count(*) FROM t"), count);
	ck_assert_int_eq(number("SELECT count(*) FROM t WHERE a = key AND b = 1 AND (c IS NULL) = (key % 3 != 0)"), count);
	for (int64_t key = 1; key <= count; key = key * 3 / 2 + 1) {
		char sql[64];
		snprintf(sql, sizeof sql, "SELECT a FROM t WHERE key = %lld", (long long)key);
		ck_assert_int_eq(number(sql), key);
	}
	/* And it goes on as any table does. */
	ck_assert_int_eq(sqlite3_exec(db,
	                              "INSERT INTO t VALUES(NULL, 7, 8, 9); CREATE INDEX i ON t(a);"
	                              "INSERT INTO u VALUES('second')",
	                              NULL, NULL, NULL),
	                 SQLITE_OK);
	ck_assert_int_eq(number("SELECT max(key) FROM t"), count + 1);
	ck_assert_int_eq(number("SELECT count(*) FROM u"), 2);
	must_be_sound();
}
END_TEST

START_TEST(values_of_every_length)
{
	int64_t values[3 * 64 * 2][3];
	size_t count = 0;

	for (unsigned bit = 0; bit < 64; bit++) {
		for (int near = -1; near <= 1; near++) {
			int64_t value = (int64_t)((UINT64_C(1) << bit) + (uint64_t)near);
			for (int sign = 0; sign < 2; sign++, count++) {
				values[count][0] = sign ? (int64_t) - (uint64_t)value : value;
				values[count][1] = (int64_t)count;
				values[count][2] = INT64_MIN;
				check_ok(sqlite_tree_add(&tree, values[count], 3, 0));
			}
		}
	}
	append();
	must_be_sound();
	for (size_t i = 0; i < count; i++) {
		char sql[128];
		snprintf(sql, sizeof sql, "SELECT a FROM t WHERE key = %zu AND b = %zu", i + 1, i);
		ck_assert_int_eq(number(sql), values[i][0]);
	}
	ck_assert_int_eq(number("SELECT count(*) FROM t WHERE c = -9223372036854775807 - 1 AND typeof(a) = 'integer'"),
	                 (int64_t)count);
}
END_TEST

/* A database that reaches almost to 1 GiB, most of it a hole: pages go round the one with the byte that is locked. */
START_TEST(the_page_at_one_gigabyte_stays_free)
{
	const uint32_t lock_page = (1u << 30) / PAGE + 1;
	uint32_t pages = htobe32(lock_page - 1 - (uint32_t)_i), changes, end;
	uint8_t page[PAGE];
	static const uint8_t zeros[PAGE];

	/* As if another had grown it: a new count of changes, or SQLite keeps what it has in mind. */
	ck_assert_int_eq(ftruncate(fd, (off_t)be32toh(pages) * PAGE), 0);
	ck_assert_int_eq(pwrite(fd, &pages, 4, 28), 4);
	ck_assert_int_eq(pread(fd, &changes, 4, 24), 4);
	changes = htobe32(be32toh(changes) + 1);
	ck_assert_int_eq(pwrite(fd, &changes, 4, 24), 4);
	ck_assert_int_eq(pwrite(fd, &changes, 4, 92), 4);
	for (int64_t i = 1; i <= 200000; i++) {
		const int64_t values[] = { i, 1, 0 };
		check_ok(sqlite_tree_add(&tree, values, 3, 0));
	}
	append();
	ck_assert_int_eq(number("SELECT count(*) FROM t WHERE a = key"), 200000);
	ck_assert_int_eq(number("SELECT a FROM t WHERE key = 150000"), 150000);
	ck_assert_int_eq(pread(fd, page, PAGE, (off_t)1 << 30), PAGE);
	ck_assert_mem_eq(page, zeros, PAGE);
	ck_assert_int_eq(pread(fd, &end, 4, 28), 4);
	ck_assert_uint_gt(be32toh(end), lock_page + 600);
}
END_TEST

static Suite *sqlite_tree_suite(void)
{
	Suite *suite = suite_create("sqlite_tree");
	TCase *tests = tcase_create("sqlite_tree");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, tables_of_any_length, 0, (int)(sizeof counts / sizeof *counts));
	tcase_add_test(tests, values_of_every_length);
	tcase_add_loop_test(tests, the_page_at_one_gigabyte_stays_free, 0, 3);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(sqlite_tree_suite)
