/* Writes the report: a page with the timeline and the tables, in one file that needs no network.
 *
 * One pass over all events computes the tables.  It also collects the columns of the events, until there are more
 * events than the page can show.  In this case a second pass collects the part of the trace that html_part_choose
 * selects. */
#include "export/report/html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/os/section.h"
#include "base/status.h"
#include "export/ledger.h"

/* ---- parts ---- */

/* Chooses the part of a long trace that the page shows.  Time is divided into pieces of equal length.  When an event is
 * beyond the last piece, the length is doubled.  Only the outermost events of a lane count as busy time.  Those of a
 * lane do not overlap, so few pieces are visited for all events together. */

#define FIRST_PIECE_NS 1024

static void double_pieces(struct html_part *part)
{
	for (size_t i = 0; i < HTML_PIECES_COUNT / 2; i++) {
		uint64_t events = (uint64_t)part->events[2 * i] + part->events[2 * i + 1];
		part->events[i] = events < UINT32_MAX ? (uint32_t)events : UINT32_MAX;
		part->device_ns[i] = part->device_ns[2 * i] + part->device_ns[2 * i + 1];
		part->thread_ns[i] = part->thread_ns[2 * i] + part->thread_ns[2 * i + 1];
	}
	memset(part->events + HTML_PIECES_COUNT / 2, 0, sizeof part->events / 2);
	memset(part->device_ns + HTML_PIECES_COUNT / 2, 0, sizeof part->device_ns / 2);
	memset(part->thread_ns + HTML_PIECES_COUNT / 2, 0, sizeof part->thread_ns / 2);
	part->piece_ns *= 2;
}

/* Returns the index of the piece that contains a time, and sets *since_ns to the time since the first event.  The
 * length of the pieces is doubled until the last piece contains the time. */
static size_t piece_of(struct html_part *part, int64_t ns, uint64_t *since_ns)
{
	*since_ns = (uint64_t)ns - (uint64_t)part->first_ns;
	/* The loop ends before piece_ns overflows, because 4096 pieces then cover more than 2^64 ns. */
	while (*since_ns / (uint64_t)part->piece_ns >= HTML_PIECES_COUNT)
		double_pieces(part);
	return (size_t)(*since_ns / (uint64_t)part->piece_ns);
}

static void add_busy(struct html_part *part, const epp_event *event, bool device)
{
	int64_t *busy_ns = device ? part->device_ns : part->thread_ns;
	uint64_t at_ns, end_ns, until_ns;

	if (event->duration_ns <= 0)
		return;
	size_t last = piece_of(part, event->start_ns + event->duration_ns - 1, &end_ns);
	for (size_t piece = piece_of(part, event->start_ns, &at_ns); piece <= last; piece++, at_ns = until_ns) {
		until_ns = piece < last ? (piece + 1) * (uint64_t)part->piece_ns : end_ns + 1;
		busy_ns[piece] += (int64_t)(until_ns - at_ns);
	}
}

static void html_part_add(struct html_part *part, const epp_event *event)
{
	bool device = event->track->kind == EPP_TRACK_DEVICE;

	if (!part->any) {
		part->any = true;
		part->first_ns = event->start_ns;
		part->piece_ns = FIRST_PIECE_NS;
	}
	uint64_t since_ns;
	size_t piece = piece_of(part, event->start_ns, &since_ns);
	part->events[piece] += part->events[piece] < UINT32_MAX;
	if (event->kind != EPP_EVENT_SLICE || event->depth)
		return;
	part->any_device = part->any_device || device;
	add_busy(part, event, device);
}

/* Chooses the time range that has at most `limit` events and the longest busy time of devices, or of threads if there
 * are no devices.  If several ranges are equal, the earliest is chosen.  A range of a single piece may have more events
 * than `limit`. */
static void html_part_choose(const struct html_part *part, uint64_t limit, int64_t *from_ns, int64_t *to_ns)
{
	const int64_t *busy_ns = part->any_device ? part->device_ns : part->thread_ns;
	size_t best_first = 0, best_end = 0, first = 0;
	int64_t busy = 0, best = -1;
	uint64_t events = 0;

	for (size_t end = 1; end <= HTML_PIECES_COUNT; end++) {
		events += part->events[end - 1];
		busy += busy_ns[end - 1];
		for (; events > limit && first + 1 < end; first++) {
			events -= part->events[first];
			busy -= busy_ns[first];
		}
		if (busy <= best)
			continue;
		best = busy;
		best_first = first;
		best_end = end;
	}
	*from_ns = part->first_ns + (int64_t)best_first * part->piece_ns;
	*to_ns = best_end < HTML_PIECES_COUNT ? part->first_ns + (int64_t)best_end * part->piece_ns : INT64_MAX;
}

/* ---- page ---- */

/* Writes the page: its parts, which are files in the folder page and are embedded in the object file, with the data
 * between them. */

/* Embeds a file of the source tree, as bytes between the symbols NAME and NAME_end.  The build runs in the root of the
 * tree. */
#define EMBED(name, path) \
	__asm__(OS_CONSTANTS_BEGIN ".globl " #name "\n.globl " #name "_end\n" \
	                           ".balign 16\n" #name ":\n.incbin \"runtime/export/report/page/" path "\"\n" #name \
	                           "_end:\n.byte 0\n" OS_CONSTANTS_END); \
	extern const char name[] __attribute__((visibility("hidden"))); \
	extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(html_page, "page.html");
EMBED(html_style, "style.css");
EMBED(html_tables_style, "tables.css");
EMBED(html_data, "data.js");
EMBED(html_model, "model.js");
EMBED(html_texts, "texts.js");
EMBED(html_strips, "strips.js");
EMBED(html_draw, "draw.js");
EMBED(html_view, "view.js");
EMBED(html_saved_rows, "saved_rows.js");
EMBED(html_input, "input.js");
EMBED(html_tables, "tables.js");
EMBED(html_details, "details.js");
EMBED(html_advice, "advice.js");
EMBED(html_panels, "panels.js");
EMBED(html_main, "main.js");

static const struct {
	const char *bytes, *end;
} scripts[] = {
	{ html_data, html_data_end },
	{ html_model, html_model_end },
	{ html_texts, html_texts_end },
	{ html_strips, html_strips_end },
	{ html_draw, html_draw_end },
	{ html_view, html_view_end },
	{ html_saved_rows, html_saved_rows_end },
	{ html_input, html_input_end },
	{ html_tables, html_tables_end },
	{ html_details, html_details_end },
	{ html_advice, html_advice_end },
	{ html_panels, html_panels_end },
	{ html_main, html_main_end },
};

/* ---- the data as base64 of a zlib stream ---- */

#define PACKED_BYTES (3u << 14)

struct html_pack {
	z_stream stream;
	struct sink *sink;
	bool started;
	unsigned char packed[PACKED_BYTES];
	size_t packed_count;
};

static void html_pack_destroy(struct html_pack *pack)
{
	if (pack && pack->started)
		deflateEnd(&pack->stream);
	free(pack);
}

static char *put_triple(char *at, const unsigned char *bytes, size_t count)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned word = (unsigned)bytes[0] << 16 | (count > 1 ? (unsigned)bytes[1] << 8 : 0) | (count > 2 ? bytes[2] : 0u);

	*at++ = letters[word >> 18];
	*at++ = letters[word >> 12 & 63];
	*at++ = count > 1 ? letters[word >> 6 & 63] : '=';
	*at++ = count > 2 ? letters[word & 63] : '=';
	return at;
}

/* Writes the compressed bytes as base64.  Unless `end` is set, one or two bytes may remain for the next call, because
 * base64 encodes groups of three. */
static void write_packed(struct html_pack *pack, bool end)
{
	size_t whole = pack->packed_count / 3 * 3, at = 0;

	for (; at < whole; at += 3)
		sink_commit(pack->sink, put_triple(sink_reserve(pack->sink, 4), pack->packed + at, 3));
	if (end && at < pack->packed_count) {
		sink_commit(pack->sink,
		            put_triple(sink_reserve(pack->sink, 4), pack->packed + at, pack->packed_count - at));
		at = pack->packed_count;
	}
	memmove(pack->packed, pack->packed + at, pack->packed_count - at);
	pack->packed_count -= at;
}

static epp_status *pack_bytes(struct html_pack *pack, const void *bytes, size_t count, int flush)
{
	int result = Z_OK;

	pack->stream.next_in = (unsigned char *)(uintptr_t)bytes;
	do {
		uInt piece = count < (1u << 30) ? (uInt)count : 1u << 30;
		pack->stream.avail_in = piece;
		count -= piece;
		do {
			pack->stream.next_out = pack->packed + pack->packed_count;
			pack->stream.avail_out = (uInt)(PACKED_BYTES - pack->packed_count);
			result = deflate(&pack->stream, count ? Z_NO_FLUSH : flush);
			pack->packed_count = PACKED_BYTES - pack->stream.avail_out;
			if (result == Z_STREAM_ERROR)
				return epp_status_create(EPP_OUT_OF_MEMORY, "deflate: %s", zError(result));
			write_packed(pack, result == Z_STREAM_END);
		} while (flush == Z_FINISH && !count ? result != Z_STREAM_END : pack->stream.avail_out == 0);
	} while (count && !pack->sink->failed);
	return NULL;
}

static epp_status *pack_section(struct html_pack *pack, const void *bytes, size_t count)
{
	unsigned char head[4] = { (unsigned char)count, (unsigned char)(count >> 8), (unsigned char)(count >> 16),
		                  (unsigned char)(count >> 24) };

	if (count > UINT32_MAX)
		return epp_status_create(EPP_OUT_OF_MEMORY, "the page's data is too large");
	EPP_TRY(pack_bytes(pack, head, sizeof head, Z_NO_FLUSH));
	return count ? pack_bytes(pack, bytes, count, Z_NO_FLUSH) : NULL;
}

static epp_status *write_data(struct export_run *run, struct html *html)
{
	struct html_columns *columns = &html->columns;

	html->pack = calloc(1, sizeof *html->pack);
	if (!html->pack)
		return epp_status_no_memory();
	html->pack->sink = run->sink;
	if (deflateInit(&html->pack->stream, 6) != Z_OK)
		return epp_status_no_memory();
	html->pack->started = true;
	EPP_TRY(pack_section(html->pack, html->text.memory.bytes, html->text.memory.count));
	EPP_TRY(pack_section(html->pack, columns->names.table.bytes, columns->names.table.bytes_count));
	EPP_TRY(pack_section(html->pack, columns->args.table.bytes, columns->args.table.bytes_count));
	for (unsigned i = 0; i < HTML_COLUMNS_COUNT; i++)
		EPP_TRY(pack_section(html->pack, columns->columns[i].bytes, columns->columns[i].count));
	return pack_bytes(html->pack, "", 0, Z_FINISH);
}

/* ---- the page ---- */

static const char *title_of(const struct export_run *run)
{
	if (run->info->label && run->info->label[0])
		return run->info->label;
	return run->info->program && run->info->program[0] ? run->info->program : "trace";
}

static epp_status *write_title(struct export_run *run, struct html *html)
{
	(void)html;
	sink_xml_text(run->sink, title_of(run), strlen(title_of(run)));
	return NULL;
}

/* Writes the tables that a browser without scripts shows. */
static epp_status *write_plain(struct export_run *run, struct html *html)
{
	struct ledger_total total;

	EPP_TRY(ledger_add_up(run, &total));
	sink_format(run->sink, "%" PRIu64 " events, %" PRIu64 " lost", html->events_count, total.lost);
	return NULL;
}

static epp_status *write_style(struct export_run *run, struct html *html)
{
	(void)html;
	sink_bytes(run->sink, html_style, (size_t)(html_style_end - html_style));
	sink_bytes(run->sink, html_tables_style, (size_t)(html_tables_style_end - html_tables_style));
	return NULL;
}

static epp_status *write_scripts(struct export_run *run, struct html *html)
{
	(void)html;
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		sink_bytes(run->sink, scripts[i].bytes, (size_t)(scripts[i].end - scripts[i].bytes));
	return NULL;
}

/* The placeholders in page.html, and the text that replaces each of them. */
static const struct {
	const char *mark;
	epp_status *(*write)(struct export_run *run, struct html *html);
} marks[] = {
	{ "@title@", write_title }, { "@plain@", write_plain },     { "@style@", write_style },
	{ "@data@", write_data },   { "@scripts@", write_scripts },
};

/* Writes the page. html->text must contain the facts (html_facts_put). */
static epp_status *html_page_write(struct export_run *run, struct html *html)
{
	const char *at = html_page;

	for (const char *mark; (mark = strchr(at, '@')) != NULL;) {
		sink_bytes(run->sink, at, (size_t)(mark - at));
		at = mark;
		for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
			size_t bytes = strlen(marks[i].mark);
			if (strncmp(mark, marks[i].mark, bytes) != 0)
				continue;
			EPP_TRY(marks[i].write(run, html));
			at = mark + bytes;
			break;
		}
		if (at == mark)
			sink_bytes(run->sink, at++, 1);
	}
	sink_bytes(run->sink, at, (size_t)(html_page_end - at));
	return NULL;
}

/* ---- the format ---- */

static epp_status *html_begin(struct export_run *run)
{
	struct html *html = run->state;

	const epp_export_options *options = run->options;

	html->limit = options->events_max ? options->events_max : HTML_EVENTS_MAX;
	html->from_ns = options->show_from_ns;
	html->to_ns = options->show_to_ns ? options->show_to_ns : INT64_MAX;
	html->chosen = html->partial = options->show_from_ns || options->show_to_ns;
	if (html->to_ns <= html->from_ns)
		return epp_status_create(EPP_INVALID_ARGUMENT, "show_to_ns is not later than show_from_ns");
	return args_text_init(&html->text);
}

static bool has_room(const struct html *html)
{
	return html->columns.events_count < html->limit && html->columns.links_count < 2 * html->limit;
}

static epp_status *add_event(struct export_run *run, struct html *html, const epp_event *event)
{
	struct row *row;

	EPP_TRY(rows_find(&html->rows, run->info, event->track, event->lane, &row));
	return html_columns_add(&html->columns, &html->text, event, (uint32_t)(row - html->rows.rows));
}

static epp_status *add_up(struct html *html, const epp_event *event)
{
	if (event->kind == EPP_EVENT_FLOW)
		return NULL;
	html->events_count++;
	html_part_add(&html->part, event);
	if (!html->advice)
		EPP_TRY(advice_pass_create(NULL, &html->advice));
	EPP_TRY(advice_pass_process(html->advice, event));
	return accumulator_event(&html->accumulator, NULL, event);
}

static bool is_inside(const struct html *html, const epp_event *event)
{
	int64_t end_ns = event->start_ns + event->duration_ns;

	return event->start_ns < html->to_ns && (end_ns > html->from_ns || event->start_ns >= html->from_ns);
}

/* Adds an event of the caller's range.  When the page is full, the range ends before the event. */
static epp_status *add_event_in_range(struct export_run *run, struct html *html, const epp_event *event)
{
	if (!is_inside(html, event))
		return NULL;
	if (has_room(html))
		return add_event(run, html, event);
	html->to_ns = event->start_ns;
	return NULL;
}

static epp_status *html_event(struct export_run *run, const epp_event *event)
{
	struct html *html = run->state;

	if (!run->pass) {
		EPP_TRY(add_up(html, event));
		EPP_TRY(html_requests_add(&html->requests, run->timeline, event));
		if (html->chosen)
			return add_event_in_range(run, html, event);
		if (!html->partial && has_room(html))
			return add_event(run, html, event);
		if (!html->partial)
			html_columns_deinit(&html->columns);
		html->partial = true;
		run->again = true;
		return NULL;
	}
	if (!html->is_part_found)
		html_part_choose(&html->part, html->limit, &html->from_ns, &html->to_ns);
	html->is_part_found = true;
	bool inside = is_inside(html, event);
	if (inside && has_room(html))
		return add_event(run, html, event);
	html->cut += inside;
	return NULL;
}

static epp_status *html_end(struct export_run *run)
{
	struct html *html = run->state;

	accumulator_end(&html->accumulator);
	EPP_TRY(html_columns_link(&html->columns));
	EPP_TRY(html_facts_put(run, html));
	EPP_TRY(html_page_write(run, html));
	export_receipt(run, html->events_count - html->columns.events_count,
	               "%s event%s only in the tables: the timeline shows a part of the trace");
	export_receipt(run, html->columns.args.left_out, "the args of %s event%s left out: too many for one page");
	export_receipt(run, html->columns.names.left_out, "the names of %s event%s left out: too many for one page");
	return NULL;
}

static void html_deinit(struct export_run *run)
{
	struct html *html = run->state;

	rows_deinit(&html->rows);
	html_columns_deinit(&html->columns);
	accumulator_deinit(&html->accumulator);
	free(html->requests.lines);
	advice_pass_destroy(html->advice);
	args_text_deinit(&html->text);
	html_pack_destroy(html->pack);
}

const struct export_writer export_html = {
	.format = { "html", ".html", "a report: timeline and tables in one HTML page that works offline" },
	.state_bytes = sizeof(struct html),
	.requests = true,
	.begin = html_begin,
	.event = html_event,
	.end = html_end,
	.deinit = html_deinit,
};
