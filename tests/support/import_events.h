/* For the tests of importers: imports a text into a trace, and lists the events of a trace. */
#ifndef EPPROF_TESTS_SUPPORT_IMPORT_EVENTS_H
#define EPPROF_TESTS_SUPPORT_IMPORT_EVENTS_H

#include <inttypes.h>
#include <string.h>

#include "check.h"
#include "epprof/import.h"
#include "strict_json.h"

#define IMPORTED_MAX 256

struct imported_event {
	char name[128];
	int64_t start_ns, duration_ns, start_error_ns;
	uint64_t id, parent;
	unsigned kind, category, placement, flags, depth, track_kind, source;
	uint32_t pid, thread_id, lane;
	char track[64];
	char args[1024]; /* "key=value;" for each arg */
};

struct imported {
	struct imported_event events[IMPORTED_MAX];
	size_t count;
	epp_import_counts counts;
	char receipt[4096];
	uint64_t errors, warnings;
	char findings[4096];
	int64_t epoch_unix_ns;
	uint32_t sources_count;
};

static inline void imported_receipt(void *user, const char *text)
{
	struct imported *imported = user;
	size_t used = strlen(imported->receipt);

	snprintf(imported->receipt + used, sizeof imported->receipt - used, "%s\n", text);
}

static inline void imported_finding(void *user, const epp_trace_finding *finding)
{
	struct imported *imported = user;
	size_t used = strlen(imported->findings);

	imported->warnings += finding->severity == EPP_WARNING;
	snprintf(imported->findings + used, sizeof imported->findings - used, "%s\n", finding->text);
}

static inline const char *imported_write(const char *text, size_t bytes)
{
	static unsigned number;
	char *path = check_path("input-%u.json", number++);
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(text, 1, bytes, file), bytes);
	ck_assert_int_eq(fclose(file), 0);
	return path;
}

static inline void imported_args(struct imported_event *to, const epp_timeline *timeline, const epp_event *event)
{
	epp_trace_arg arg;
	size_t used = 0;

	for (size_t cursor = 0; used < sizeof to->args && epp_event_args(timeline, event, &cursor, &arg);) {
		used += (size_t)snprintf(to->args + used, sizeof to->args - used, "%s=", arg.key);
		if (used >= sizeof to->args)
			break;
		if (arg.type == EPP_ARG_TEXT)
			used += (size_t)snprintf(to->args + used, sizeof to->args - used, "%.*s;", (int)arg.text_bytes,
			                         arg.value.text);
		else if (arg.type == EPP_ARG_F64)
			used += (size_t)snprintf(to->args + used, sizeof to->args - used, "%g;", arg.value.f64);
		else
			used += (size_t)snprintf(to->args + used, sizeof to->args - used, "%" PRId64 ";", arg.value.i64);
	}
}

/* Reads a trace, checks that it is valid, and lists its events except the importer's own. */
static inline void imported_list(struct imported *imported, const char *path)
{
	epp_trace *trace;
	epp_timeline *timeline;
	const epp_event *event;

	check_ok(epp_trace_open(path, &trace));
	check_ok(epp_trace_validate(trace, imported_finding, imported, &imported->errors));
	ck_assert_msg(!imported->errors && !imported->warnings, "%s", imported->findings);
	imported->epoch_unix_ns = epp_trace_get_info(trace)->epoch_unix_ns;
	imported->sources_count = epp_trace_get_info(trace)->sources_count;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (strcmp(event->name, "epprof.import") == 0)
			continue;
		ck_assert_uint_lt(imported->count, IMPORTED_MAX);
		struct imported_event *to = &imported->events[imported->count++];
		*to = (struct imported_event){ .start_ns = event->start_ns,
			                       .duration_ns = event->duration_ns,
			                       .start_error_ns = event->start_error_ns,
			                       .id = event->id,
			                       .parent = event->parent,
			                       .kind = event->kind,
			                       .category = event->category,
			                       .placement = event->placement,
			                       .flags = event->flags,
			                       .depth = event->depth,
			                       .track_kind = event->track->kind,
			                       .source = event->track->source,
			                       .pid = event->track->pid,
			                       .thread_id = event->track->thread_id,
			                       .lane = event->lane };
		snprintf(to->name, sizeof to->name, "%s", event->name);
		snprintf(to->track, sizeof to->track, "%s", event->track->name);
		imported_args(to, timeline, event);
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
}

/* Imports a text and asserts success.  Ownership: free. */
static inline struct imported *imported_text(const char *text, size_t bytes)
{
	struct imported *imported = calloc(1, sizeof *imported);
	epp_import_options options = { .struct_size = sizeof options, .overwrite = 1 };
	char *output = check_path("out.epp");

	ck_assert_ptr_nonnull(imported);
	imported->counts.struct_size = sizeof(imported->counts);
	check_ok(epp_import_file(imported_write(text, bytes), output, &options, imported_receipt, imported,
	                         &imported->counts));
	imported_list(imported, output);
	return imported;
}

/* Imports a text and asserts that it is refused with this code and a message with `words`. */
static inline void imported_refused(const char *text, size_t bytes, epp_code code, const char *words)
{
	char *output = check_path("refused.epp");
	epp_status *status = epp_import_file(imported_write(text, bytes), output, NULL, NULL, NULL, NULL);

	ck_assert_ptr_nonnull(status);
	ck_assert_msg(epp_status_code(status) == code && strstr(epp_status_message(status), words), "code %d: %s",
	              (int)epp_status_code(status), epp_status_message(status));
	epp_status_destroy(status);
	ck_assert_int_ne(access(output, F_OK), 0);
}

static inline const struct imported_event *imported_find(const struct imported *imported, const char *name)
{
	for (size_t i = 0; i < imported->count; i++) {
		if (strcmp(imported->events[i].name, name) == 0)
			return &imported->events[i];
	}
	ck_abort_msg("no event '%s'", name);
	return NULL;
}

#endif
