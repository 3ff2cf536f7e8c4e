/* Results of SQLite databases as text: see sqlite_text.h. */
#include "tests/support/sqlite_text.h"

#include <string.h>

#include "tests/support/check.h"

sqlite3 *sqlite_text_open(const char *bytes, size_t count)
{
	unsigned char *copy = sqlite3_malloc64(count);
	sqlite3 *db;

	memcpy(copy, bytes, count);
	ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_deserialize(db, "main", copy, (sqlite3_int64)count, (sqlite3_int64)count,
	                                     SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY),
	                 SQLITE_OK);
	char *sound = sqlite_text_query(db, "PRAGMA integrity_check");
	ck_assert_str_eq(sound, "ok\n");
	free(sound);
	return db;
}

static void print_rows(FILE *to, sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(statement) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			const unsigned char *text = sqlite3_column_text(statement, i);
			fprintf(to, "%s%s", i ? "|" : "", text ? (const char *)text : "");
		}
		fputc('\n', to);
	}
	ck_assert_int_eq(sqlite3_finalize(statement), SQLITE_OK);
}

char *sqlite_text_query(sqlite3 *db, const char *sql)
{
	size_t bytes;
	char *text;
	FILE *to = open_memstream(&text, &bytes);

	print_rows(to, db, sql);
	fclose(to);
	return text;
}

char *sqlite_text_dump(const char *bytes, size_t count)
{
	static const char *const tables[] = { "events",      "names",       "args",       "tracks",     "flows",
		                              "start_index", "kinds",       "categories", "placements", "flag_names",
		                              "works",       "clock_pairs", "ledger",     "facts",      "runs" };
	sqlite3 *db = sqlite_text_open(bytes, count);
	size_t text_bytes;
	char *text, sql[64];
	FILE *to = open_memstream(&text, &text_bytes);

	print_rows(to, db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name");
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		fprintf(to, "-- %s\n", tables[i]);
		snprintf(sql, sizeof sql, "SELECT * FROM %s", tables[i]);
		print_rows(to, db, sql);
	}
	fclose(to);
	sqlite3_close(db);
	return text;
}
