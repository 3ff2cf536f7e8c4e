/* For the tests of `epprof anonymize`: runs it, and compares traces before and after. */
#ifndef EPPROF_TESTS_CLI_ANONYMIZE_ANONYMIZING_H
#define EPPROF_TESTS_CLI_ANONYMIZE_ANONYMIZING_H

#include <inttypes.h>

#include "tests/support/command.h"
#include "tests/support/packing.h"

static inline const char *key_path(void)
{
	static char path[512];

	if (*path)
		return path;
	snprintf(path, sizeof(path), "%s", check_path("key"));
	FILE *file = fopen(path, "w");
	MUST(file && fputs("a key of the test", file) >= 0 && fclose(file) == 0);
	return path;
}

#define ANONYMIZE(from, to, ...) \
	do { \
		struct command run_ = command_run(NULL, "anonymize", "--force", "--key", key_path(), "-o", to, from, \
		                                  ##__VA_ARGS__, NULL); \
		ck_assert_msg(run_.code == 0, "status %d: %s", run_.code, run_.err); \
		command_free(&run_); \
	} while (0)

#define FAILS(expected_code, error, ...) \
	do { \
		struct command run_ = command_run(NULL, "anonymize", __VA_ARGS__, NULL); \
		ck_assert_msg(run_.code == (expected_code), "status %d: %s", run_.code, run_.err); \
		ck_assert_msg(strstr(run_.err, error) != NULL, "told '%s', not '%s'", run_.err, error); \
		command_free(&run_); \
	} while (0)

#define SOURCES_MAX 16

/* The place of an id after the first one of its process; 0 stays 0. */
static inline int64_t id_after(uint64_t firsts[SOURCES_MAX], const epp_event *event, uint64_t id)
{
	uint64_t *first = &firsts[event->track->source % SOURCES_MAX];

	*first = *first ? *first : id;
	return id ? 1 + (int64_t)(id - *first) : 0;
}

/* Everything about the events of a timeline but texts, args, ticks, and where their ids begin. */
static inline char *numbers_of_timeline(epp_trace *trace)
{
	epp_timeline_options options = { .struct_size = sizeof(options) };
	epp_timeline *timeline;
	const epp_event *event;
	char *bytes;
	size_t count;
	FILE *text = open_memstream(&bytes, &count);
	uint64_t firsts[SOURCES_MAX] = { 0 };

	check_ok(epp_timeline_create(trace, &options, &timeline));
	while (epp_timeline_next(timeline, &event))
		fprintf(text,
		        "%" PRId64 " %" PRId64 " +-%" PRId64 " %" PRId64 " id %" PRId64 " parent %" PRId64
		        " track %u %u thread %u %" PRId64 " %" PRId64 " run %u depth %u lane %u %u %u %u %u\n",
		        event->start_ns, event->duration_ns, event->start_error_ns, event->end_error_ns,
		        id_after(firsts, event, event->id), id_after(firsts, event, event->parent), event->track->track,
		        event->parent_track ? event->parent_track->track : 0,
		        event->track->thread ? event->track->thread->track : 0, event->parent_start_ns,
		        event->parent_end_ns, event->run, event->depth, event->lane, event->kind, event->category,
		        event->placement, event->flags);
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	fclose(text);
	return bytes;
}

static inline void ledgers_are_same(epp_trace *a, epp_trace *b)
{
	epp_trace_ledger_entry x = { .struct_size = sizeof(x) }, y = { .struct_size = sizeof(y) };

	ck_assert_uint_eq(epp_trace_ledger_count(a), epp_trace_ledger_count(b));
	for (size_t i = 0; i < epp_trace_ledger_count(a); i++) {
		check_ok(epp_trace_ledger_at(a, i, &x));
		check_ok(epp_trace_ledger_at(b, i, &y));
		ck_assert(x.track == y.track && x.is_plugin == y.is_plugin && x.emitted == y.emitted &&
		          x.written == y.written && x.open == y.open && x.lost_total == y.lost_total &&
		          x.errors == y.errors && x.balanced == y.balanced && !memcmp(x.lost, y.lost, sizeof(x.lost)));
	}
}

/* `before`: a finished trace of the same events. */
static inline void must_be_as_before(const char *before, const char *after)
{
	epp_trace *a = open_trace(before), *b = open_trace(after);

	must_be_same(numbers_of_timeline(a), numbers_of_timeline(b), after);
	ledgers_are_same(a, b);
	ck_assert_uint_eq(validation_errors(b), validation_errors(a));
	epp_trace_close(a);
	epp_trace_close(b);
}

/* Asserts that none of the texts is in the file, at any byte. */
static inline void has_none(const char *path, const char *const *texts)
{
	size_t bytes;
	uint8_t *file = read_file(path, &bytes);

	for (; *texts; texts++)
		ck_assert_msg(!memmem(file, bytes, *texts, strlen(*texts)), "%s: has '%.40s'", path, *texts);
	free(file);
}

static inline void remove_files(void)
{
	static const char *const files[] = { "before.epp", "after.epp", "recovered.epp",
		                             "packed.epp", "again.epp", "link.epp" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlink(check_path("%s", files[i]));
}

#endif
