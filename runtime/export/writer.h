/* The interface of a format: a struct of callbacks. formats.c has the table of formats, export.c the loop that calls a
 * writer for each event.
 *
 * A writer writes into run->sink and need not check for failed writes; it returns a status only for other errors, such
 * as out of memory.  It counts the events and args that the format cannot represent, and reports them with
 * export_receipt. */
#ifndef EPPROF_RUNTIME_EXPORT_WRITER_H
#define EPPROF_RUNTIME_EXPORT_WRITER_H

#include "epprof/export.h"
#include "export/sink/sink.h"

struct filter;

struct export_run {
	epp_trace *trace;
	const epp_trace_info *info;
	const epp_timeline *timeline; /* timeline of this pass; `end` reads its counts */
	struct sink *sink;
	struct sink_parts *parts; /* the files to which the sink writes; NULL: the sink is no file */
	void *state;              /* state of the writer, zeroed before `begin` */
	unsigned pass;            /* number of the pass, from 0 */
	bool again;               /* a writer sets it to get another pass over all events */
	int64_t from_ns, to_ns;   /* the time range of the export; INT64_MIN and INT64_MAX: all times */
	const epp_export_options *options;
	uint64_t filtered; /* number of events that the filters left out */
	bool any;          /* some event was written */
	bool *left_out;    /* set to true by export_receipt */
	epp_receipt_fn receipt;
	void *receipt_user;
};

struct export_writer {
	epp_export_format format;
	size_t state_bytes;
	bool divides;  /* the writer may divide its output into several files (export_next_part) */
	bool requests; /* the writer needs the requests of events */
	/* Does the whole export, for a format that reads the trace itself; begin, event and end are then NULL.
	 * `filter` is NULL if all events pass.  The function adds the number of events that do not pass to
	 * run->filtered. */
	epp_status *(*write)(struct export_run *run, struct filter *filter);
	/* Called before the first event. */
	epp_status *(*begin)(struct export_run *run);
	/* Called for each event, in order of start. */
	epp_status *(*event)(struct export_run *run, const epp_event *event);
	/* Called after the last event of the last pass. */
	epp_status *(*end)(struct export_run *run);
	/* Frees the members of the state.  Also called after a failure. */
	void (*deinit)(struct export_run *run);
};

extern const struct export_writer export_chrome;
extern const struct export_writer export_ort;
extern const struct export_writer export_svg;
extern const struct export_writer export_csv;
extern const struct export_writer export_ndjson;
extern const struct export_writer export_sqlite;
extern const struct export_writer export_perfetto;
extern const struct export_writer export_kineto;
extern const struct export_writer export_xspace;
extern const struct export_writer export_parquet;
extern const struct export_writer export_html;
extern const struct export_writer export_flame;
extern const struct export_writer export_otlp;
extern const struct export_writer export_otlp_proto;

/* The table of formats: that of formats.c, or in a bridge that of formats_xspace.c. */
extern const struct export_writer *const export_writers[];
extern const size_t export_writers_count;

/* Ends the current file.  Later output goes into the next one (sink_parts_next).  Errors: also those of the sink. */
epp_status *export_next_part(struct export_run *run) EPP_MUST_CHECK;

/* As epp_export_file, without the check of its arguments.  *filtered is set to the number of events that filters left
 * out. */
epp_status *export_file(epp_trace *trace, const char *format, const epp_export_options *options, const char *path,
                        int overwrite, epp_receipt_fn receipt, void *receipt_user, uint64_t *filtered) EPP_MUST_CHECK;

/* Returns true if the caller has cancelled the export. */
static inline bool export_is_cancelled(const struct export_run *run)
{
	const volatile int *cancel = run->options ? run->options->cancel : NULL;

	return cancel && *cancel;
}

/* Returns the arg `epprof.weight`, with the weight of an event: how many events it represents, if these are more than
 * one.  All formats write it.  It is written after the event's own args.  Writers get at most 255 args, so an event
 * that has 255 args of its own gets no weight. */
epp_trace_arg export_weight(const epp_event *event);

/* Returns the args of an event as an array of args_count. */
static inline const epp_trace_arg *export_args(const epp_event *event)
{
	return event->args;
}

/* Adds a line to the receipt about events that are left out or changed.  Does nothing if `count` is 0.  `format`: "%s
 * arrow%s left out", where the first %s is the number and the second, if present, the plural s. */
void export_receipt(const struct export_run *run, uint64_t count, const char *format) EPP_FORMAT(3, 0);

/* Returns the name of a category as ONNX Runtime writes it: "Session", "Node", "Kernel", "Api". */
const char *export_category(unsigned category);
/* Returns true if a track is that of a thread of the operating system. */
static inline bool export_has_thread(const epp_trace_track *track)
{
	return track->kind == EPP_TRACK_THREAD || (track->kind == EPP_TRACK_CALLS && track->thread_id);
}
/* Returns false if the time was read from the host clock without contradiction, so that there is no placement to
 * report. */
static inline bool export_has_placement(const epp_event *event)
{
	return event->track->kind == EPP_TRACK_DEVICE || event->placement != EPP_PLACED_MEASURED ||
	       (event->start_error_ns | event->end_error_ns) != 0;
}
/* Returns the name of an event kind: "slice", "instant", ... */
const char *export_kind(unsigned kind);
/* The words for the bits of epp_event_flags: "unended", "open", ... */
#define EXPORT_FLAGS_COUNT 10u
extern const char *const export_flags[EXPORT_FLAGS_COUNT];
/* Flags that only mean that another record refers to the event by its id.  Exporters write the id in their place. */
#define EXPORT_FLAGS_NAMED (unsigned)(EPP_FLAG_REFERENCED | EPP_FLAG_FLOW)
/* Writes the words of all flags that are set, with spaces between them, at most EXPORT_FLAGS_BYTES.  Returns the
 * position after them. */
#define EXPORT_FLAGS_BYTES 128u
char *export_put_flags(char *at, unsigned flags);

#endif
