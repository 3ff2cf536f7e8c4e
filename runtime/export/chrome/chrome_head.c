/* The head of a Chrome trace event: phase, name, category, row, time.
 *
 * Most of it repeats.  The piece with the name is cached by name, the piece with the numbers by row, and both are
 * copied with a fixed length. */
#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "encoding/json.h"
#include "export/chrome/chrome.h"

#define PIECE_START ",\n{\"ph\":\"?\",\"name\":\""
#define PIECE_PHASE (sizeof ",\n{\"ph\":\"" - 1)

static void write_metadata(struct sink *sink, const struct row *row, const char *what)
{
	sink_format(sink, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{", what, row->pid, row->tid);
}

/* Without several sources the header has the label of the only process, so this writes nothing. */
static void announce_labels(const struct export_run *run, const struct rows_process *process)
{
	struct sink *sink = run->sink;
	epp_trace_source source;

	if (process->group || run->info->sources_count < 2 || !epp_trace_source_at(run->trace, process->source, &source))
		return;
	sink_format(sink, ",\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%u,\"args\":{\"labels\":\"", process->pid);
	sink_json_text(sink, source.label, strlen(source.label));
	if (source.hostname[0]) {
		sink_text(sink, source.label[0] ? " on " : "on ");
		sink_json_text(sink, source.hostname, strlen(source.hostname));
	}
	sink_text(sink, "\"}}");
}

void chrome_write_device_name(const struct export_run *run, const epp_trace_track *track)
{
	const char *plugin = epp_trace_plugin(run->trace, track);

	sink_text(run->sink, "\"");
	sink_json_text(run->sink, track->group, strlen(track->group));
	/* Most device names already contain the plugin's name. */
	if (plugin && !strstr(track->group, plugin)) {
		sink_text(run->sink, " (");
		sink_json_text(run->sink, plugin, strlen(plugin));
		sink_text(run->sink, ")");
	}
	sink_text(run->sink, "\"");
}

static void announce_process(const struct export_run *run, const struct rows_process *process, uint32_t index,
                             const epp_trace_track *track)
{
	struct sink *sink = run->sink;

	sink_format(sink, ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":", process->pid);
	if (process->group)
		chrome_write_device_name(run, track);
	else
		sink_json_string(sink, process->name);
	/* Processes come first, devices below. */
	sink_format(sink, "}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"args\":{\"sort_index\":%u}}",
	            process->pid, index + (process->group ? 100000 : 0));
	announce_labels(run, process);
}

static void announce_row(struct sink *sink, struct row *row)
{
	char lane[ROWS_LANE_BYTES];

	write_metadata(sink, row, "thread_name");
	sink_text(sink, "\"name\":\"");
	sink_json_text(sink, row->track->name, strlen(row->track->name));
	sink_text(sink, rows_lane_text(row->lane, lane));
	sink_text(sink, "\"}}");
	write_metadata(sink, row, "thread_sort_index");
	sink_format(sink, "\"sort_index\":%" PRId64 "}}", rows_sort_index(row));
	row->text_bytes = (uint8_t)snprintf(row->text, sizeof row->text, "\"pid\":%u,\"tid\":%u,\"ts\":", row->pid,
	                                    row->tid);
	row->announced = true;
}

epp_status *chrome_find_row(struct export_run *run, const epp_trace_track *track, uint32_t lane, struct row **row)
{
	struct chrome *chrome = run->state;

	EPP_TRY(rows_find(&chrome->rows, run->info, track, lane, row));
	if (!(*row)->announced) {
		struct rows_process *process = &chrome->rows.processes[(*row)->process];
		if (!process->announced)
			announce_process(run, process, (*row)->process, track);
		process->announced = true;
		announce_row(run->sink, *row);
	}
	return NULL;
}

/* Makes the piece of a name; returns NULL if it is too long to cache. */
static const struct chrome_piece *make_piece(const struct chrome *chrome, struct chrome_piece *piece,
                                             const epp_event *event, unsigned category)
{
	char escaped[JSON_ESCAPED_BYTES(sizeof piece->text)];
	const char *end = chrome->dialect->category_ends[category];

	if (!event->name_number || event->name_bytes > sizeof piece->text)
		return NULL;
	size_t escaped_bytes = (size_t)(json_escape(escaped, event->name, event->name_bytes) - escaped);
	if (strlen(PIECE_START) + escaped_bytes + strlen(end) > sizeof piece->text)
		return NULL;
	char *at = mempcpy(piece->text, PIECE_START, strlen(PIECE_START));
	at = mempcpy(at, escaped, escaped_bytes);
	at = mempcpy(at, end, strlen(end));
	piece->bytes = (uint8_t)(at - piece->text);
	piece->name = event->name_number;
	piece->category = (uint8_t)category;
	return piece;
}

static inline const struct chrome_piece *find_piece(struct chrome *chrome, const epp_event *event, unsigned category)
{
	struct chrome_piece *piece = &chrome->pieces[(event->name_number * 4 + category) % CHROME_PIECES_COUNT];

	if (piece->name == event->name_number && piece->category == category && piece->name)
		return piece;
	return make_piece(chrome, piece, event, category);
}

char *chrome_head(struct export_run *run, const epp_event *event, const struct row *row, char phase, int64_t time_ns)
{
	const struct chrome_dialect *dialect = ((const struct chrome *)run->state)->dialect;
	unsigned category = dialect->category(event);
	const struct chrome_piece *piece = find_piece(run->state, event, category);
	char *at;

	if (piece) {
		at = sink_reserve(run->sink, CHROME_HEAD_BYTES);
		memcpy(at, piece->text, sizeof piece->text);
		at[PIECE_PHASE] = phase;
		at += piece->bytes;
	} else {
		sink_format(run->sink, ",\n{\"ph\":\"%c\",\"name\":\"", phase);
		sink_json_text(run->sink, event->name, event->name_bytes);
		sink_text(run->sink, dialect->category_ends[category]);
		at = sink_reserve(run->sink, CHROME_HEAD_BYTES);
	}
	memcpy(at, row->text, sizeof row->text);
	return json_us(at + row->text_bytes, time_ns);
}
