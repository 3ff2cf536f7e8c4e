/* Writes the report: a page with the timeline and the tables, in one file that needs no network.
 *
 * One pass over all events computes the tables.  It also collects the columns of the events until there are more than
 * the page can show; then a second pass collects the part of the trace that html_part_choose selects. */
#include "export/report/html.h"

#include <stdlib.h>

#include "base/status.h"

static epp_status *html_begin(struct export_run *run)
{
	struct html *html = run->state;

	html->limit = run->options->events_max ? run->options->events_max : HTML_EVENTS_MAX;
	return args_text_init(&html->text);
}

static bool fits(const struct html *html)
{
	return html->columns.events_count < html->limit && html->columns.links_count < 2 * html->limit;
}

static epp_status *keep(struct export_run *run, struct html *html, const epp_event *event)
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
	return accumulator_event(&html->accumulator, NULL, event);
}

static epp_status *html_event(struct export_run *run, const epp_event *event)
{
	struct html *html = run->state;
	int64_t end_ns = event->start_ns + event->duration_ns;

	if (!run->pass) {
		EPP_TRY(add_up(html, event));
		if (!html->partial && fits(html))
			return keep(run, html, event);
		if (!html->partial)
			html_columns_deinit(&html->columns);
		html->partial = true;
		run->again = true;
		return NULL;
	}
	if (html->from_ns == html->to_ns)
		html_part_choose(&html->part, html->limit, &html->from_ns, &html->to_ns);
	bool inside = event->start_ns < html->to_ns && (end_ns > html->from_ns || event->start_ns >= html->from_ns);
	if (inside && fits(html))
		return keep(run, html, event);
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
	               "%s event%s in the tables and not in the timeline, which shows a part of the trace");
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
	args_text_deinit(&html->text);
	html_pack_destroy(html->pack);
}

const struct export_writer export_html = {
	.format = { "html", ".html", "a report: timeline and tables in one page, for any browser, without a network" },
	.state_bytes = sizeof(struct html),
	.begin = html_begin,
	.event = html_event,
	.end = html_end,
	.deinit = html_deinit,
};
