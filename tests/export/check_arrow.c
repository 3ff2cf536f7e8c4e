/* The Arrow C stream: a consumer in C reads the schema and all rows, moves columns out, and meets the end, errors and
 * failed allocations.  Covers export/arrow/. */
#include "export/arrow/batch.h"

#include <errno.h>

#include "export/writer.h"

#include "tests/support/check.h"
#include "tests/support/epp_builder.h"

#define COLUMNS 23
#define EVENTS 1000

static struct epp_builder *builder;
static epp_trace *trace;
static struct ArrowArrayStream stream;
static struct ArrowSchema schema;

/* ---- allocations that fail ---- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static long allocations_left = -1; /* -1: none fails */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ALLOCATIONS_CAN_FAIL
static bool fails(void)
{
	if (allocations_left < 0)
		return false;
	if (allocations_left > 0) {
		allocations_left--;
		return false;
	}
	return true;
}

void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __libc_realloc(old, bytes);
}
#endif

/* ---- a trace with every kind of value ---- */

static void setup(void)
{
	builder = builder_create();
	uint32_t thread = builder_thread(builder, "a \"thread\"", 1234);
	uint32_t device = builder_device(builder, "stream 1", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name name = builder_name(builder, "op"), broken = builder_name_bytes(builder, "\xff", 1);
	epp_name key = builder_name(builder, "key");
	for (unsigned i = 0; i < EVENTS; i++) {
		uint64_t at = BUILDER_START + 100 + i * 100;
		epp_arg arg = { .key = key, .type = EPP_ARG_TEXT, .value.text = "a \"text\"", .text_bytes = 8 };
		uint64_t id = builder_event(builder, thread, at, 50, EPP_NODE, i % 3 ? name : broken, &arg, i % 2);
		if (i % 5 == 0)
			builder_complete(builder, device, at + 10, 20, EPP_KERNEL, name, id, NULL, 0);
	}
	trace = builder_open(builder, EPF_FINISHED);
}

static void teardown(void)
{
	allocations_left = -1;
	if (schema.release)
		schema.release(&schema);
	if (stream.release)
		stream.release(&stream);
	epp_trace_close(trace);
	builder_destroy(builder);
}

static void open_stream(uint32_t rows_max)
{
	check_ok(epp_trace_arrow_stream(
	    trace, &(epp_arrow_options){ .struct_size = sizeof(epp_arrow_options), .rows_max = rows_max }, &stream));
	ck_assert_int_eq(stream.get_schema(&stream, &schema), 0);
}

/* ---- the consumer ---- */

static size_t column_of(const char *name)
{
	for (size_t i = 0; i < (size_t)schema.n_children; i++)
		if (strcmp(schema.children[i]->name, name) == 0)
			return i;
	ck_abort_msg("there is no column %s", name);
	return 0;
}

static bool is_null(const struct ArrowArray *column, size_t row)
{
	const uint8_t *valid = column->buffers[0];
	return valid && !(valid[row / 8] >> row % 8 & 1);
}

static void must_be_integer(const struct ArrowArray *rows, const char *name, size_t row, bool has_value, int64_t value)
{
	const struct ArrowArray *column = rows->children[column_of(name)];

	ck_assert_str_eq(schema.children[column_of(name)]->format, "l");
	if (is_null(column, row) == has_value || (has_value && ((const int64_t *)column->buffers[1])[row] != value))
		ck_abort_msg("%s of row %zu", name, row);
}

static void must_be_text(const struct ArrowArray *rows, const char *name, size_t row, const char *text)
{
	const struct ArrowArray *column = rows->children[column_of(name)];
	const int32_t *offsets = column->buffers[1];
	const char *bytes = column->buffers[2];

	ck_assert_str_eq(schema.children[column_of(name)]->format, "u");
	if (!text) {
		MUST(is_null(column, row));
		return;
	}
	size_t count = (size_t)(offsets[row + 1] - offsets[row]);
	if (is_null(column, row) || count != strlen(text) || memcmp(bytes + offsets[row], text, count) != 0)
		ck_abort_msg("%s of row %zu: '%.*s', not '%s'", name, row, (int)count, bytes + offsets[row], text);
}

static void must_be_event(const struct ArrowArray *rows, size_t row, const epp_event *event)
{
	const epp_trace_track *track = event->track;

	must_be_text(rows, "kind", row, export_kind(event->kind));
	must_be_text(rows, "name", row, event->name[0] == '\xff' ? "\xEF\xBF\xBD" : event->name);
	must_be_text(rows, "category", row, export_category(event->category));
	must_be_integer(rows, "start_ns", row, true, event->start_ns);
	must_be_integer(rows, "duration_ns", row, true, event->duration_ns);
	must_be_integer(rows, "source", row, true, track->source);
	must_be_integer(rows, "tid", row, track->kind == EPP_TRACK_THREAD, track->thread_id);
	must_be_text(rows, "track_name", row, track->name);
	must_be_text(rows, "group_name", row, track->group);
	must_be_integer(rows, "device", row, track->device >= 0, track->device);
	must_be_integer(rows, "stream", row, track->kind == EPP_TRACK_DEVICE, track->stream);
	must_be_integer(rows, "id", row, true, (int64_t)event->id);
	must_be_integer(rows, "parent", row, event->parent != 0, (int64_t)event->parent);
	must_be_text(rows, "placement", row, epp_placement_name(event->placement));
	must_be_integer(rows, "end_error_ns", row, true, event->end_error_ns);
	must_be_text(rows, "args", row, event->args_count ? "{\"key\":\"a \\\"text\\\"\"}" : NULL);
}

static void must_count_nulls(const struct ArrowArray *rows)
{
	for (int64_t i = 0; i < rows->n_children; i++) {
		int64_t nulls = 0;
		for (int64_t row = 0; row < rows->length; row++)
			nulls += is_null(rows->children[i], (size_t)row);
		ck_assert_int_eq(rows->children[i]->null_count, nulls);
		ck_assert_int_eq(rows->children[i]->length, rows->length);
		MUST(!nulls || (schema.children[i]->flags & ARROW_FLAG_NULLABLE));
	}
}

/* ---- tests ---- */

START_TEST(rows_are_the_events_of_the_timeline)
{
	uint32_t rows_max = (uint32_t[]){ 0, 1, 7, EVENTS * 2 }[_i];
	epp_timeline *timeline;
	const epp_event *event;
	struct ArrowArray rows;
	size_t count = 0;

	open_stream(rows_max);
	ck_assert_str_eq(schema.format, "+s");
	ck_assert_int_eq(schema.n_children, COLUMNS);
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (stream.get_next(&stream, &rows) == 0 && rows.release) {
		MUST(rows.length && (!rows_max || rows.length <= rows_max));
		for (size_t row = 0; row < (size_t)rows.length; row++, count++) {
			MUST(epp_timeline_next(timeline, &event));
			must_be_event(&rows, row, event);
		}
		must_count_nulls(&rows);
		rows.release(&rows);
		MUST(!rows.release);
	}
	MUST(!epp_timeline_next(timeline, &event));
	epp_timeline_destroy(timeline);
	ck_assert_uint_eq(count, EVENTS + EVENTS / 5);
	ck_assert_ptr_null(stream.get_last_error(&stream));
	/* At the end again. */
	ck_assert_int_eq(stream.get_next(&stream, &rows), 0);
	MUST(!rows.release);
}
END_TEST

START_TEST(parts_outlive_what_they_came_from)
{
	struct ArrowArray rows, column;
	struct ArrowSchema field;

	open_stream(0);
	ck_assert_int_eq(stream.get_next(&stream, &rows), 0);
	stream.release(&stream);
	MUST(!stream.release);
	epp_trace_close(trace);
	trace = NULL;
	/* As the specification has it: a struct is moved by a copy, and the source marked as released. */
	size_t index = column_of("name");
	column = *rows.children[index];
	rows.children[index]->release = NULL;
	field = *schema.children[index];
	schema.children[index]->release = NULL;
	rows.release(&rows);
	schema.release(&schema);
	MUST(!schema.release);
	ck_assert_int_eq(memcmp(column.buffers[2], "\xEF\xBF\xBDop", 5), 0);
	ck_assert_str_eq(field.name, "name");
	column.release(&column);
	field.release(&field);
	MUST(!column.release && !field.release);
}
END_TEST

START_TEST(options_are_checked_and_used)
{
	epp_timeline_options timeline = { .struct_size = sizeof(timeline), .from_ns = 100, .to_ns = 101 };
	epp_arrow_options options = { .timeline = &timeline };
	struct ArrowArray rows;

	check_fails(EPP_INVALID_ARGUMENT, epp_trace_arrow_stream(trace, &options, &stream));
	MUST(!stream.release);
	options.struct_size = sizeof(options);
	timeline.to_ns = -1;
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_arrow_stream(trace, &options, &stream));
	MUST(!stream.release);
	timeline.to_ns = 101;
	options.close_trace = 1;
	check_ok(epp_trace_arrow_stream(trace, &options, &stream));
	ck_assert_int_eq(stream.get_next(&stream, &rows), 0);
	ck_assert_int_eq(rows.length, 1);
	rows.release(&rows);
	stream.release(&stream);
	trace = NULL; /* closed: a second close is for the address sanitizer to find */
}
END_TEST

#ifdef ALLOCATIONS_CAN_FAIL
/* Reads everything with the allocations from the nth on failing; returns whether none failed. */
static bool read_with_allocations(long left)
{
	struct ArrowArray rows = { .release = NULL };
	const char *error = NULL;
	int code = 0;

	allocations_left = left;
	epp_status *status = epp_trace_arrow_stream(trace, NULL, &stream);
	if (!status)
		code = stream.get_schema(&stream, &schema);
	if (!status && !code)
		code = stream.get_next(&stream, &rows);
	bool none_failed = allocations_left > 0;
	allocations_left = -1;
	if (status) {
		ck_assert_int_eq(epp_status_code(status), EPP_OUT_OF_MEMORY);
		MUST(!stream.release);
		epp_status_destroy(status);
		return none_failed;
	}
	error = stream.get_last_error(&stream);
	MUST(code ? code == ENOMEM && error && *error && !rows.release : !error);
	if (rows.release)
		rows.release(&rows);
	if (schema.release)
		schema.release(&schema);
	stream.release(&stream);
	return none_failed;
}

START_TEST(failed_allocations_are_errors)
{
	long left = 0;

	while (!read_with_allocations(left))
		left++;
	MUST(left > 50);
}
END_TEST
#endif

START_TEST(an_error_stays)
{
	static const struct batch_field field = { .name = "text", .is_text = true };
	struct ArrowArray rows;
	struct batch batch;

	/* A batch without rows is an array, too. */
	check_ok(batch_init(&batch, &field, 1, 4));
	check_ok(batch_export(&batch, &rows));
	batch_deinit(&batch);
	ck_assert_int_eq(rows.length, 0);
	MUST(rows.children[0]->buffers[2]);
	rows.release(&rows);
#ifdef ALLOCATIONS_CAN_FAIL
	open_stream(0);
	allocations_left = 0;
	int code = stream.get_next(&stream, &rows);
	allocations_left = -1;
	ck_assert_int_eq(code, ENOMEM);
	MUST(!rows.release);
	MUST(stream.get_next(&stream, &rows) != 0 && !rows.release);
	MUST(stream.get_last_error(&stream)[0]);
#endif
}
END_TEST

static Suite *arrow_suite(void)
{
	Suite *suite = suite_create("arrow");
	TCase *tests = tcase_create("stream");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, rows_are_the_events_of_the_timeline, 0, 4);
	tcase_add_test(tests, parts_outlive_what_they_came_from);
	tcase_add_test(tests, options_are_checked_and_used);
	tcase_add_test(tests, an_error_stays);
#ifdef ALLOCATIONS_CAN_FAIL
	tcase_add_test(tests, failed_allocations_are_errors);
#endif
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(arrow_suite)
