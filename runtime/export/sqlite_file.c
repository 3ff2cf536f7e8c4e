/* SQLite writes where it likes in its file, so that is a temporary one; its bytes are handed to the sink at the end.  No
 * journal and no locks: nobody else sees it, and if anything fails it is thrown away. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/status.h"
#include "export/sqlite.h"
#include "file/spool.h"
#include "wire/utf8.h"

epp_status *sqlite_status(struct sqlite_file *file)
{
	int code = file->db ? sqlite3_errcode(file->db) : SQLITE_NOMEM;

	if (code == SQLITE_NOMEM)
		return epp_status_create(EPP_OUT_OF_MEMORY, "out of memory");
	return epp_status_create(EPP_IO, "the temporary database: %s", sqlite3_errmsg(file->db));
}

epp_status *sqlite_run(struct sqlite_file *file, const char *sql)
{
	return sqlite3_exec(file->db, sql, NULL, NULL, NULL) == SQLITE_OK ? NULL : sqlite_status(file);
}

epp_status *sqlite_prepare(struct sqlite_file *file, const char *sql, sqlite3_stmt **statement)
{
	if (sqlite3_prepare_v3(file->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) == SQLITE_OK)
		return NULL;
	return sqlite_status(file);
}

epp_status *sqlite_bind_text(struct sqlite_file *file, sqlite3_stmt *statement, int index, const char *text, size_t bytes)
{
	char *mended = malloc(bytes * 3 + 1);

	if (!mended)
		return epp_status_create(EPP_OUT_OF_MEMORY, "out of memory");
	size_t mended_bytes = (size_t)(utf8_mend(mended, text, bytes) - mended);
	if (sqlite3_bind_text64(statement, index, mended, mended_bytes, free, SQLITE_UTF8) == SQLITE_OK)
		return NULL;
	return sqlite_status(file);
}

void sqlite_value_of(const epp_trace_arg *arg, struct sqlite_value *value)
{
	value->type = SQLITE_TEXT;
	value->text = value->number;
	if (arg->type == EPP_ARG_TEXT) {
		value->text = arg->text_bytes ? arg->value.text : "";
		value->bytes = arg->text_bytes;
	} else if (arg->type == EPP_ARG_F64 && isfinite(arg->value.f64)) {
		value->type = SQLITE_FLOAT;
		value->real = arg->value.f64;
	} else if (arg->type == EPP_ARG_F64) {
		/* Without the quotes that JSON needs. */
		value->text = value->number + 1;
		value->bytes = (size_t)(json_f64(value->number, arg->value.f64) - value->number) - 2;
	} else if (arg->type == EPP_ARG_U64 && arg->value.u64 > INT64_MAX) {
		value->bytes = (size_t)(json_u64(value->number, arg->value.u64) - value->number);
	} else {
		value->type = SQLITE_INTEGER;
		value->integer = arg->value.i64;
	}
}

epp_status *sqlite_step(struct sqlite_file *file, sqlite3_stmt *statement)
{
	epp_status *status = sqlite3_step(statement) == SQLITE_DONE ? NULL : sqlite_status(file);

	sqlite3_reset(statement);
	return status;
}

epp_status *sqlite_file_open(struct sqlite_file *file)
{
	const char *directory = getenv("TMPDIR");
	epp_status *status = NULL;
	char *path;

	*file = (struct sqlite_file){ 0 };
	if (asprintf(&path, "%s/epprof-sqlite.XXXXXX", directory && *directory ? directory : "/tmp") < 0)
		return epp_status_create(EPP_OUT_OF_MEMORY, "out of memory");
	file->fd = mkostemp(path, O_CLOEXEC);
	file->has_fd = file->fd >= 0;
	if (!file->has_fd) {
		status = epp_status_errno(errno, "%s", path);
	} else {
		if (sqlite3_open_v2(path, &file->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix-none") != SQLITE_OK)
			status = sqlite_status(file);
		/* The first statement opens the file; then it needs no name any more. */
		if (!status)
			status = sqlite_run(file, "PRAGMA page_size=4096; PRAGMA auto_vacuum=NONE; PRAGMA journal_mode=OFF;"
			                          "PRAGMA synchronous=OFF; PRAGMA cache_size=-16384; BEGIN");
		unlink(path);
	}
	free(path);
	return status;
}

epp_status *sqlite_file_send(struct sqlite_file *file, struct sink *sink)
{
	off_t size;

	if (sqlite3_close(file->db) != SQLITE_OK)
		return sqlite_status(file);
	file->db = NULL;
	size = lseek(file->fd, 0, SEEK_END);
	for (off_t at = 0; at < size && !sink->failed;) {
		size_t piece = size - at < (off_t)SINK_RESERVE_MAX ? (size_t)(size - at) : SINK_RESERVE_MAX;
		char *to = sink_reserve(sink, piece);
		EPP_TRY(spool_read(file->fd, (uint64_t)at, to, piece));
		sink_commit(sink, to + piece);
		at += (off_t)piece;
	}
	return NULL;
}

void sqlite_file_deinit(struct sqlite_file *file)
{
	sqlite3_close(file->db);
	if (file->has_fd)
		close(file->fd);
	*file = (struct sqlite_file){ 0 };
}
