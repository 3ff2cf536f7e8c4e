/* For the tests of SQL over a trace: answers as text, and a trace with all that is hard to answer. */
#ifndef EPPROF_TESTS_SUPPORT_SQL_TEXT_H
#define EPPROF_TESTS_SUPPORT_SQL_TEXT_H

#include "epprof/sql.h"
#include "tests/support/epp_builder.h"

/* The rows of a query that must go well, as sqlite_text_query has them.  Ownership: malloc. */
char *sql_text_query(epp_sql *sql, const char *statement);
void sql_text_expect(epp_sql *sql, const char *statement, const char *expected);
/* How a statement ends that is read to its end; NULL: well. */
epp_status *sql_text_status(epp_sql *sql, const char *statement);

/* Several blocks a thread, equal starts, kernels, arrows, names and args of any bytes. */
struct epp_builder *sql_text_trace(unsigned events);

#endif
