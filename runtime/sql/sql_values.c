/* Converts fields of an event to SQLite values.  If no result is set, SQLite returns null, which is the value of a
 * missing field. */
#include "encoding/utf8.h"
#include "sql/sql_events.h"

static void result_known(sqlite3_context *context, bool known, int64_t value)
{
	if (known)
		sqlite3_result_int64(context, value);
}

static void result_word(sqlite3_context *context, const char *word)
{
	sqlite3_result_text(context, word, -1, SQLITE_STATIC);
}

static void result_text(sqlite3_context *context, const char *text, size_t bytes, sqlite3_destructor_type keep)
{
	if (utf8_valid_bytes(text, bytes) == bytes) {
		sqlite3_result_text64(context, text, bytes, keep, SQLITE_UTF8);
		return;
	}
	char *mended = sqlite3_malloc64(bytes * 3 + 1);
	if (!mended)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text64(context, mended, (size_t)(utf8_repair(mended, text, bytes) - mended),
		                      sqlite3_free, SQLITE_UTF8);
}

void sql_result_text(sqlite3_context *context, const char *text, size_t bytes)
{
	result_text(context, text, bytes, SQLITE_STATIC);
}

void sql_result_copy(sqlite3_context *context, const char *text, size_t bytes)
{
	result_text(context, text, bytes, SQLITE_TRANSIENT);
}

/* Fields of the event itself. */
static void result_of_event(sqlite3_context *context, const epp_event *event, enum sql_field field)
{
	switch (field) {
	case SQL_START:
		sqlite3_result_int64(context, event->start_ns);
		break;
	case SQL_DURATION:
		sqlite3_result_int64(context, event->duration_ns);
		break;
	case SQL_NAME:
		sqlite3_result_int64(context, event->name_number);
		break;
	case SQL_LANE:
		sqlite3_result_int64(context, event->lane);
		break;
	case SQL_DEPTH:
		sqlite3_result_int64(context, event->depth);
		break;
	case SQL_ID:
		sqlite3_result_int64(context, (int64_t)event->id);
		break;
	case SQL_PARENT:
		result_known(context, event->parent, (int64_t)event->parent);
		break;
	case SQL_RUN:
		sqlite3_result_int64(context, event->run);
		break;
	case SQL_KIND:
		sqlite3_result_int64(context, event->kind);
		break;
	case SQL_CATEGORY:
		sqlite3_result_int64(context, event->category);
		break;
	case SQL_PLACEMENT:
		sqlite3_result_int64(context, event->placement);
		break;
	case SQL_START_ERROR:
		sqlite3_result_int64(context, event->start_error_ns);
		break;
	case SQL_END_ERROR:
		sqlite3_result_int64(context, event->end_error_ns);
		break;
	case SQL_WEIGHT:
		sqlite3_result_int64(context, event->weight);
		break;
	default:
		sqlite3_result_int64(context, event->flags);
		break;
	}
}

/* Fields that are words, and fields of the track. */
static void result_of_words(sqlite3_context *context, const epp_event *event, enum sql_field field)
{
	const epp_trace_track *track = event->track;

	switch (field) {
	case SQL_KIND_TEXT:
		result_word(context, export_kind(event->kind));
		break;
	case SQL_NAME_TEXT:
		sql_result_text(context, event->name, event->name_bytes);
		break;
	case SQL_CATEGORY_TEXT:
		result_word(context, export_category(event->category));
		break;
	case SQL_PLACEMENT_TEXT:
		result_word(context, epp_placement_name(event->placement));
		break;
	case SQL_FLOW_KIND:
		result_word(context, event->kind == EPP_EVENT_FLOW ? "drawn" : "launch");
		break;
	case SQL_TRACK:
		sqlite3_result_int64(context, track->track);
		break;
	case SQL_SOURCE:
		sqlite3_result_int64(context, track->source);
		break;
	case SQL_PID:
		result_known(context, track->pid, track->pid);
		break;
	case SQL_GROUP:
		sql_result_text(context, track->group, strlen(track->group));
		break;
	case SQL_THREAD:
		result_known(context, export_has_thread(track), track->thread_id);
		break;
	case SQL_TRACK_NAME:
		sql_result_text(context, track->name, strlen(track->name));
		break;
	case SQL_DEVICE:
		result_known(context, track->device >= 0, track->device);
		break;
	default:
		result_known(context, track->kind == EPP_TRACK_DEVICE, track->stream);
		break;
	}
}

void sql_result_field(sqlite3_context *context, const epp_event *event, enum sql_field field)
{
	if (field <= SQL_WEIGHT && field != SQL_TRACK)
		result_of_event(context, event, field);
	else
		result_of_words(context, event, field);
}
