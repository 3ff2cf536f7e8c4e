/* For the tests of exports to SQLite: a database in memory, its answers as text. */
#ifndef EPPROF_TESTS_SUPPORT_SQLITE_TEXT_H
#define EPPROF_TESTS_SUPPORT_SQLITE_TEXT_H

#include <sqlite3.h>
#include <stddef.h>

/* Opens the bytes, which must be a sound database; they stay the caller's. */
sqlite3 *sqlite_text_open(const char *bytes, size_t count);
/* The rows of a query, columns separated by '|', a row a line.  Ownership: malloc. */
char *sqlite_text_query(sqlite3 *db, const char *sql);
/* The whole database: its schema, then every table.  Ownership: malloc. */
char *sqlite_text_dump(const char *bytes, size_t count);

#endif
