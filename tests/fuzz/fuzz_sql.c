/* SQL text on a small trace.  Queries that run long are interrupted. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "epprof/sql.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/export_text.h"

#define ROWS_MAX 200
#define LIMIT_US 200000

static epp_sql *sql;
static size_t touched; /* makes the reads of texts observable */

static void interrupt(int number)
{
	(void)number;
	epp_sql_interrupt(sql);
}

static void open_trace(void)
{
	struct epp_builder *b = export_sample();
	epp_status *status = epp_sql_create(builder_open(b, EPF_FINISHED), &sql);

	FUZZ_MUST(!status);
	builder_destroy(b);
	signal(SIGVTALRM, interrupt);
}

static epp_status *read_rows(epp_sql_rows *rows)
{
	const epp_sql_value *values = NULL;
	epp_status *status = NULL;
	size_t columns_count = epp_sql_rows_columns_count(rows);

	for (int i = 0; i < ROWS_MAX && !(status = epp_sql_rows_next(rows, &values)) && values; i++) {
		for (size_t c = 0; c < columns_count; c++)
			touched += values[c].type == EPP_SQL_TEXT ? strlen(values[c].text) : 0;
	}
	return status;
}

static void run(const uint8_t *bytes, size_t count)
{
	char *text = malloc(count + 1);
	const char *rest = text;
	epp_status *status = NULL;
	epp_sql_rows *rows;

	if (!sql)
		open_trace();
	FUZZ_MUST(text);
	memcpy(text, bytes, count);
	text[count] = '\0';
	epp_sql_is_complete(text);
	setitimer(ITIMER_VIRTUAL, &(struct itimerval){ { 0, LIMIT_US }, { 0, LIMIT_US } }, NULL);
	for (int i = 0; i < 8 && !status && *rest && !(status = epp_sql_query(sql, rest, &rest, &rows)) && rows; i++) {
		status = read_rows(rows);
		epp_sql_rows_destroy(rows);
	}
	setitimer(ITIMER_VIRTUAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
	epp_status_destroy(status);
	free(text);
}

static size_t seed(size_t index, uint8_t *bytes)
{
	static const char *const texts[] = {
		"SELECT name, count(*) FROM events GROUP BY 1 ORDER BY 1",
		"SELECT * FROM args ORDER BY 1, 2; SELECT a.name FROM events a JOIN events b ON a.id = b.parent",
		"SELECT * FROM events WHERE start_ns BETWEEN 100 AND 2000 AND track = 1 AND id = 5 LIMIT 3",
		"SELECT * FROM tracks; SELECT * FROM processes; SELECT * FROM runs; SELECT * FROM ledger",
		"SELECT * FROM args WHERE event = 3 AND key = 'x'",
		"ATTACH 'x' AS y; PRAGMA temp_store_directory = '/'",
		"CREATE TEMP TABLE t AS SELECT load_extension('x')",
	};

	if (index >= sizeof texts / sizeof *texts)
		return 0;
	memcpy(bytes, texts[index], strlen(texts[index]));
	return strlen(texts[index]);
}

const struct fuzz_target fuzz_sql = { "sql", run, seed, NULL };
