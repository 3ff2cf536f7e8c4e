/* For the tests of exports to SQLite: opens a database in memory and returns results as text. */
#ifndef EPPROF_TESTS_SUPPORT_SQLITE_TEXT_H
#define EPPROF_TESTS_SUPPORT_SQLITE_TEXT_H

#include <sqlite3.h>
#include <stddef.h>

/* Opens the bytes, and asserts that they are a valid database; they stay the caller's. */
sqlite3 *sqlite_text_open(const char *bytes, size_t count);
/* Returns the rows of a query, columns separated by '|', one row a line.  Ownership: malloc. */
char *sqlite_text_query(sqlite3 *db, const char *sql);
/* Returns the whole database as text: its schema, then every table.  Ownership: malloc. */
char *sqlite_text_dump(const char *bytes, size_t count);

#endif
