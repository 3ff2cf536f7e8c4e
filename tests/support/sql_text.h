/* For the tests of SQL over a trace: results as text, and a trace with the difficult cases. */
#ifndef EPPROF_TESTS_SUPPORT_SQL_TEXT_H
#define EPPROF_TESTS_SUPPORT_SQL_TEXT_H

#include "epprof/sql.h"
#include "tests/support/epp_builder.h"

/* Runs a query and asserts success; returns the rows in the form of sqlite_text_query.  Ownership: malloc. */
char *sql_text_query(epp_sql *sql, const char *statement);
void sql_text_expect(epp_sql *sql, const char *statement, const char *expected);
/* Runs a statement to its end and returns its status; NULL: success. */
epp_status *sql_text_status(epp_sql *sql, const char *statement);

/* Several blocks a thread, equal starts, kernels, flows, names and args of any bytes. */
struct epp_builder *sql_text_trace(unsigned events);

#endif
