/* Writes the findings of the rules of advice, with the times in the trace where they occur. */
#include <inttypes.h>
#include <string.h>

#include "export/report/html.h"

static void put_text(struct sink *sink, const char *key, const char *text)
{
	sink_format(sink, "\"%s\":\"", key);
	sink_json_text(sink, text, strlen(text));
	sink_text(sink, "\",");
}

static void put_place(struct sink *sink, const epp_advice_place *place)
{
	sink_format(sink,
	            "{\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"gain\":%" PRId64 ",\"track\":%u,\"id\":\"%" PRIu64 "\"}",
	            place->start_ns, place->end_ns, place->gain_ns, place->track->track, place->id);
}

static void put_finding(struct sink *sink, const epp_advice_finding *finding)
{
	sink_text(sink, "{");
	put_text(sink, "rule", finding->rule->name);
	put_text(sink, "title", finding->rule->title);
	put_text(sink, "text", finding->text);
	put_text(sink, "remedy", finding->rule->remedy);
	put_text(sink, "confidence", epp_confidence_name(finding->confidence));
	sink_format(sink, "\"gain\":%" PRId64 ",\"error\":%" PRId64 ",\"count\":%" PRIu64 ",\"places\":[",
	            finding->gain_ns, finding->gain_error_ns, finding->count);
	for (size_t i = 0; i < finding->places_count; i++) {
		sink_text(sink, i ? "," : "");
		put_place(sink, &finding->places[i]);
	}
	sink_text(sink, "]}");
}

epp_status *html_advice_put(const struct export_run *run, struct html *html)
{
	struct sink *sink = &html->text.sink;
	const epp_advice_finding *finding;
	const epp_advice *advice;

	if (!html->advice || run->filtered || run->options->timeline->trace_id)
		return NULL;
	EPP_TRY(advice_pass_end(html->advice, &advice));
	for (size_t i = 0; (finding = epp_advice_finding_at(advice, i)); i++) {
		sink_text(sink, i ? "," : ",\"advice\":[");
		put_finding(sink, finding);
	}
	if (epp_advice_findings_count(advice))
		sink_text(sink, "]");
	return NULL;
}
