/* Declarations shared by the files of epprof sql. */
#ifndef EPPROF_CLI_SQL_SQL_H
#define EPPROF_CLI_SQL_SQL_H

#include "cli/cli.h"
#include "epprof/sql.h"

enum sql_format { SQL_TABLE, SQL_CSV, SQL_JSON };

/* Prints all rows to standard output. */
epp_status *sql_print(epp_sql_rows *rows, enum sql_format format) EPP_MUST_CHECK;

/* Reads SQL statements and commands that begin with a dot from standard input up to its end, and prints the results of
 * each.  Returns an enum cli_exit. */
int sql_prompt(epp_sql *sql, enum sql_format format);
/* Runs all SQL statements in a text and prints their rows.  Returns false if an error was reported. */
bool sql_answer(epp_sql *sql, const char *text, enum sql_format format);
/* Runs a command that begins with a dot, for example ".schema events".  Returns false if an error was reported. */
bool sql_command(const char *text);
/* If an error message of SQLite reports an unknown column or table, returns a text that names the most similar existing
 * one, to be appended to the message; "": none is similar.  Ownership: valid until the next call. */
const char *sql_suggestion(const char *message);

#endif
