/* Writes the page: its parts, which are files in the folder page and are embedded in the object file, with the data
 * between them. */
#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/status.h"
#include "export/ledger.h"
#include "export/report/html.h"
#include "export/svg/svg_text.h"

/* Embeds a file of the source tree between the symbols NAME and NAME_end.  The build runs in the root of the tree. */
#define EMBED(name, path) \
	__asm__(".pushsection .rodata\n" \
	        ".hidden " #name "\n.hidden " #name "_end\n.globl " #name "\n.globl " #name "_end\n" \
	        ".balign 16\n" #name ":\n.incbin \"runtime/export/report/page/" path "\"\n" #name "_end:\n.byte 0\n" \
	        ".popsection\n"); \
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
EMBED(html_input, "input.js");
EMBED(html_tables, "tables.js");
EMBED(html_details, "details.js");
EMBED(html_panels, "panels.js");
EMBED(html_main, "main.js");

static const struct {
	const char *bytes, *end;
} scripts[] = {
	{ html_data, html_data_end },     { html_model, html_model_end },   { html_texts, html_texts_end },
	{ html_strips, html_strips_end }, { html_draw, html_draw_end },     { html_view, html_view_end },
	{ html_input, html_input_end },   { html_tables, html_tables_end }, { html_details, html_details_end },
	{ html_panels, html_panels_end }, { html_main, html_main_end },
};

/* ---- base64 of a zlib stream, into the sink ---- */

#define PACKED_BYTES (3u << 14)

struct html_pack {
	z_stream stream;
	struct sink *sink;
	bool started;
	unsigned char packed[PACKED_BYTES];
	size_t packed_count;
};

void html_pack_destroy(struct html_pack *pack)
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

/* Writes the packed bytes as base64; keeps the last one or two bytes for the next call unless it is the end. */
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
	svg_write_text(run->sink, title_of(run), strlen(title_of(run)));
	return NULL;
}

/* Writes the content for a browser without scripts. */
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

/* The placeholder in page.html of each part. */
static const struct {
	const char *mark;
	epp_status *(*write)(struct export_run *run, struct html *html);
} marks[] = {
	{ "@title@", write_title }, { "@plain@", write_plain },     { "@style@", write_style },
	{ "@data@", write_data },   { "@scripts@", write_scripts },
};

epp_status *html_page_write(struct export_run *run, struct html *html)
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
