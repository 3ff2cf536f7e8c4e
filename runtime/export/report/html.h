/* State and functions that the files of the report writer share: the collected events (html.c, html_columns.c), the
 * facts about the trace (html_facts.c, html_requests.c, html_advice.c), and the page with the part that it shows of a
 * long trace (html.c).
 *
 * The page is one file: report/page/page.html with style.css, tables.css, the scripts, and the data.  The data is text:
 * base64 of a zlib stream of sections, each a little-endian uint32_t size and that many bytes:
 *
 *   facts   one JSON object: the trace, its rows, its tables, its ledger
 *   names   JSON strings, one a line, by number
 *   args    JSON objects, one a line, by number
 *   then the columns of enum html_column, each a sequence of LEB128 numbers (VALUE: of little-endian doubles) */
#ifndef EPPROF_RUNTIME_EXPORT_REPORT_HTML_H
#define EPPROF_RUNTIME_EXPORT_REPORT_HTML_H

#include "analysis/accumulator.h"
#include "analysis/advice/advice.h"
#include "containers/string_table.h"
#include "export/args_text.h"
#include "export/rows.h"
#include "export/writer.h"

/* The maximum number of events in the page's timeline if the caller sets no limit. */
#define HTML_EVENTS_MAX 2000000u
/* The maximum size of the section of names, and of the section of args.  Further texts are left out and counted. */
#define HTML_TEXTS_BYTES_MAX (64u << 20)

enum html_column {
	HTML_START,    /* ns since the previous event; for the first event, since facts.base_ns */
	HTML_DURATION, /* in ns */
	HTML_ROW,      /* index into facts.rows */
	HTML_DEPTH,
	HTML_NAME,
	HTML_WHAT, /* kind | category << 3 | placement << 5 | flags << 8 | has a cause << 15 */
	HTML_START_ERROR,
	HTML_END_ERROR,
	HTML_ARGS,  /* number of the event's line in the section of args, plus 1; 0: no args */
	HTML_VALUE, /* for counter events only */
	/* For each event whose cause is in the page: the number of the event minus that of the previous such event, and
	 * the number of the event minus that of its cause (zigzag, because the cause may come later). */
	HTML_CAUSED,
	HTML_CAUSE,
	/* For each arrow whose two ends are in the page: the numbers of the events at the ends. */
	HTML_ARROW_FROM,
	HTML_ARROW_TO,
	/* 1 + ns from the launch of a device event to its start; 0: the event is of the host, or its launch is
	 * unknown */
	HTML_LAUNCH,
	HTML_COLUMNS_COUNT
};

struct html_bytes {
	char *bytes;
	size_t count, room;
};

/* Texts without duplicates, by number.  Each ends with a newline. */
struct html_texts {
	struct string_table table;
	uint64_t left_out;
};

/* The cause of an event, or an arrow.  After the last event, html_columns_link finds the numbers of the events with
 * these ids. */
struct html_link {
	uint64_t from; /* id of the cause, or of the event where the arrow begins */
	uint64_t to;   /* id of the event where the arrow ends; 0: this is the cause of `event` */
	uint32_t source, event;
};

struct html_columns {
	struct html_bytes columns[HTML_COLUMNS_COUNT];
	struct html_texts names, args;
	struct html_link *links;
	size_t links_count, links_room;
	struct html_end {
		uint64_t id;
		uint32_t source, event;
	} * ends; /* events to which other records refer */
	size_t ends_count, ends_room;
	struct hash_index ends_index;
	uint64_t events_count;
	int64_t base_ns, last_start_ns;
};

/* Adds the next event, in order of start; `row` is the index of its row in html.rows; `text` is used to format the
 * args.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *html_columns_add(struct html_columns *columns, struct args_text *text, const epp_event *event, uint32_t row)
    EPP_MUST_CHECK;
/* Writes the columns of causes and arrows.  Must be called after the last event. */
epp_status *html_columns_link(struct html_columns *columns) EPP_MUST_CHECK;
void html_columns_deinit(struct html_columns *columns);

/* ---- requests ---- */

/* Data about requests, by the number of the request. */
struct html_requests {
	struct html_request {
		/* from the earliest start to the latest end of the request's own event, the events that were given to
		 * it, and its device events */
		int64_t start_ns, end_ns;
		int64_t device_ns;
		uint64_t kernels; /* number of device events of the request */
		uint32_t batch;   /* the maximum number of requests that an event of this request was given to */
		bool any;
	} * lines;
	size_t room;
};

/* Must be called for each event.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *html_requests_add(struct html_requests *requests, const epp_timeline *timeline, const epp_event *event)
    EPP_MUST_CHECK;
/* Writes the member `requests` of the facts.  Errors: as html_requests_add. */
epp_status *html_requests_put(struct html_requests *requests, const epp_timeline *timeline, struct sink *sink)
    EPP_MUST_CHECK;

/* ---- the part of a trace that is shown ---- */

#define HTML_PIECES_COUNT 4096u

/* For each piece of the trace's time: the number of events that begin in it, and the busy time of devices and of
 * threads. */
struct html_part {
	int64_t first_ns, piece_ns; /* the length of a piece is doubled when an event is beyond the last piece */
	uint32_t events[HTML_PIECES_COUNT];
	int64_t device_ns[HTML_PIECES_COUNT], thread_ns[HTML_PIECES_COUNT];
	bool any, any_device;
};

/* ---- the writer's state ---- */

struct html {
	struct rows rows;
	struct html_columns columns;
	struct html_part part;
	struct accumulator accumulator;
	struct html_requests requests;
	struct advice_pass *advice; /* NULL until the first event */
	struct args_text text;
	uint64_t limit;
	bool partial; /* the page shows only the events in [from_ns, to_ns) */
	bool chosen;  /* the range is the time range of the export, which the caller gave */
	int64_t from_ns, to_ns;
	bool is_part_found;    /* html_part_choose has set from_ns and to_ns */
	uint64_t events_count; /* number of events in the trace, or in the export's time range */
	uint64_t cut;          /* number of events in [from_ns, to_ns) that were left out because of `limit` */
	struct html_pack *pack;
};

/* Writes the facts, a JSON object, into html->text. */
epp_status *html_facts_put(struct export_run *run, struct html *html) EPP_MUST_CHECK;
/* Writes the findings of the rules of advice as a member of the facts.  Writes nothing if there are no findings.  It
 * also writes nothing if events were filtered out, because rules about idle times would report the times that the
 * filter made idle. */
epp_status *html_advice_put(const struct export_run *run, struct html *html) EPP_MUST_CHECK;

#endif
