/* Imports a file: detects the format, calls the format's reader, which fills the trace writer, then writes the run, the
 * notes and the clock.
 *
 * The lines of the receipt are also in the trace, as the args of one instant `epprof.import` on its own track. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/os/os.h"
#include "format/format.h"
#include "import/import.h"

#define PROBE_BYTES 4096u
#define NOTES_MAX 64u

static const struct import_format *const formats[] = { &import_xspace, &import_ort, &import_chrome };
#define FORMATS_COUNT (sizeof(formats) / sizeof(*formats))

const epp_import_format *epp_import_format_at(size_t index)
{
	return index < FORMATS_COUNT ? &formats[index]->format : NULL;
}

/* ---- functions for the readers ---- */

void import_note(struct import *import, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	int bytes = vasprintf(&text, format, args);
	va_end(args);
	if (bytes < 0) {
		import->notes_lost = true;
		return;
	}
	char *notes = realloc(import->notes, import->notes_bytes + (size_t)bytes + 2);
	if (notes) {
		memcpy(notes + import->notes_bytes, text, (size_t)bytes);
		import->notes = notes;
		import->notes_bytes += (size_t)bytes;
		notes[import->notes_bytes++] = '\n';
		notes[import->notes_bytes] = 0;
	} else {
		import->notes_lost = true;
	}
	if (import->receipt)
		import->receipt(import->receipt_user, text);
	free(text);
}

void import_note_count(struct import *import, uint64_t count, const char *what)
{
	const char *plural = count == 1 ? "" : "s";
	char text[256];

	if (!count)
		return;
	snprintf(text, sizeof(text), what, plural, plural);
	import_note(import, "%llu %s", (unsigned long long)count, text);
}

void import_count_lost(struct import *import, epp_loss reason)
{
	import->counts.left_out++;
	epp_trace_writer_count_lost(import->writer, 0, reason, 1);
}

int32_t import_producer(struct import *import)
{
	int32_t *producer = &import->lanes.producer;

	if (*producer < 0)
		epp_status_destroy(epp_trace_writer_add_producer(import->writer, "execution providers", producer));
	return *producer;
}

void import_count_provider_lost(struct import *import, epp_loss reason, uint64_t count)
{
	int32_t producer = import_producer(import);

	if (producer < 0)
		epp_trace_writer_count_lost(import->writer, 0, reason, count);
	else
		epp_trace_writer_count_producer_lost(import->writer, producer, reason, count);
}

epp_status *import_check_cancel(const struct import *import)
{
	if (import->options.cancel && *import->options.cancel)
		return epp_status_create(EPP_CANCELLED, "cancelled");
	return NULL;
}

/* ---- before reading ---- */

/* Skips a UTF-8 byte order mark in the first bytes. */
static epp_status *begin_input(struct import *import)
{
	static const char mark[] = "\xEF\xBB\xBF", gzip[] = "\x1F\x8B";
	size_t count;

	EPP_TRY(input_need(&import->input, PROBE_BYTES));
	const char *bytes = input_bytes(&import->input, &count);
	if (count >= 2 && !memcmp(bytes, gzip, 2))
		return epp_status_create(EPP_CORRUPT, "%s: compressed; 'zcat FILE | epprof import -o TRACE -' reads it",
		                         import->input.path);
	if (count >= 3 && !memcmp(bytes, mark, 3))
		input_take(&import->input, 3);
	return NULL;
}

static epp_status *find_format(struct import *import)
{
	const char *name = import->options.format, *bytes;
	size_t count, at = 0;

	for (size_t i = 0; i < FORMATS_COUNT && name; i++) {
		if (strcmp(formats[i]->format.name, name) == 0)
			import->format = formats[i];
	}
	if (name)
		return import->format ? NULL : epp_status_create(EPP_NOT_FOUND, "%s: no such format", name);
	bytes = input_bytes(&import->input, &count);
	if (!count)
		return epp_status_create(EPP_CORRUPT, "%s: the file is empty", import->input.path);
	while (at < count && strchr(" \t\r\n", bytes[at]) && bytes[at])
		at++;
	for (size_t i = 0; i < FORMATS_COUNT && !import->format; i++) {
		size_t skipped = formats[i]->is_binary ? 0 : at;
		if (formats[i]->probe(bytes + skipped, count - skipped))
			import->format = formats[i];
	}
	return import->format ? NULL
	                      : epp_status_create(EPP_CORRUPT, "%s: not a JSON array, a JSON object or an XSpace",
	                                          import->input.path);
}

static epp_status *create_writer(struct import *import, const char *output)
{
	return epp_trace_writer_create(
	    &(epp_trace_writer_options){ .struct_size = sizeof(epp_trace_writer_options),
	                                 .path = output,
	                                 .label = import->options.label ? import->options.label
	                                                                : os_path_name(import->input.path),
	                                 .ticks_per_second = 1000000000u / (uint64_t)import->ns_per_tick,
	                                 .overwrite = import->options.overwrite },
	    &import->writer);
}

/* ---- after reading ---- */

/* Writes the lines of the receipt as an instant at time 0. */
static epp_status *write_notes(struct import *import, uint64_t ticks)
{
	epp_arg args[NOTES_MAX + 6];
	size_t count = 0;
	uint32_t track;
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = { { "input_bytes", import->input.bytes },
		        { "events", import->counts.events },
		        { "repaired_lines", import->counts.repaired_lines },
		        { "left_out", import->counts.left_out } };

	EPP_TRY(epp_trace_writer_add_track(
	    import->writer,
	    &(epp_trace_track){ .kind = EPP_TRACK_CUSTOM, .device = -1, .producer = -1, .name = "import" }, &track));
	const char *format = import->format->format.name;
	args[count] = (epp_arg){ .key = epp_trace_writer_intern_name(import->writer, "format", 6),
		                 .type = EPP_ARG_TEXT,
		                 .text_bytes = strlen(format) };
	args[count++].value.text = format;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const char *key = numbers[i].key;
		args[count] = (epp_arg){ .key = epp_trace_writer_intern_name(import->writer, key, strlen(key)),
			                 .type = EPP_ARG_U64 };
		args[count++].value.u64 = numbers[i].value;
	}
	epp_name note = epp_trace_writer_intern_name(import->writer, "note", 4);
	for (const char *at = import->notes; at && *at && count < sizeof(args) / sizeof(*args);) {
		const char *end = strchr(at, '\n');
		args[count] = (epp_arg){ .key = note, .type = EPP_ARG_TEXT, .text_bytes = (size_t)(end - at) };
		args[count++].value.text = at;
		at = end + 1;
	}
	return epp_trace_writer_add_record(
	    import->writer, &(epp_trace_record){ .kind = EPP_RECORD_INSTANT,
	                                         .track = track,
	                                         .start_ticks = ticks,
	                                         .id = import->next_id,
	                                         .name = epp_trace_writer_intern_name(import->writer, "epprof.import", 13),
	                                         .args = args,
	                                         .args_count = count });
}

static epp_trace_pair pair_at(const struct import *import, uint64_t ticks, uint64_t zero)
{
	int64_t since_ns = (int64_t)(ticks - zero) * import->ns_per_tick;
	int64_t half_width_ns = import->ns_per_tick == 1 && import->has_fractions ? 1 : 1000;

	return (epp_trace_pair){ .ticks = ticks,
		                 .half_width_ticks = (uint64_t)(half_width_ns / import->ns_per_tick),
		                 .monotonic_ns = since_ns + import->zero_ns,
		                 .realtime_ns = import->epoch_ns + since_ns };
}

/* Writes the run: it begins at time 0 or, if an event starts earlier, with the first event, and ends with the last
 * event.  For ONNX Runtime, only host events count for the begin, which start before time 0 only in a damaged profile;
 * device events may start earlier. */
static epp_status *finish(struct import *import)
{
	uint64_t zero = import_ticks(import, import->zero_ns), first, last;

	if (!epp_trace_writer_time_range(import->writer, &first, &last))
		first = last = zero;
	if (import->format == &import_ort)
		first = import->host_first_ticks;
	if (first < zero)
		import_note(import, "some events start before time 0: the trace's time 0 is the start of the first one");
	first = first < zero ? first : zero;
	import_note_count(import, import->counts.repaired_lines, "line%s repaired: invalid JSON");
	import_note_count(import, import->counts.left_out, "event%s or line%s left out: not understood, or too large");
	if (import->notes_lost)
		return epp_status_no_memory();
	EPP_TRY(write_notes(import, first));
	epp_trace_pair start = pair_at(import, first, zero),
		       end = pair_at(import, last > first ? last + 1 : first + 1, zero);
	return epp_trace_writer_finish(import->writer, &start, &end);
}

/* Frees the memory that is not needed after the last event.  If there are many tracks, the ledgers, which the writer
 * makes next, need about as much memory. */
static void free_reading_state(struct import *import)
{
	lanes_deinit(&import->lanes);
	open_events_deinit(&import->open_events);
	record_deinit(&import->prepared);
	sorter_deinit(&import->slices);
	temp_file_deinit(&import->providers);
}

static epp_status *run(struct import *import, const char *output)
{
	EPP_TRY(begin_input(import));
	EPP_TRY(find_format(import));
	import->ns_per_tick = import->format->ns_per_tick;
	import->epoch_ns = import->options.epoch_unix_ns;
	import->host_first_ticks = UINT64_MAX;
	import->first_id = UINT64_C(1) << 40;
	import->next_id = import->first_id;
	import->next_id_down = import->first_id - 1;
	EPP_TRY(create_writer(import, output));
	if (import->format == &import_ort)
		epp_trace_writer_describe_source(import->writer, 0, 0, "onnxruntime", NULL);
	EPP_TRY(import->format->read(import));
	/* An empty trace is allowed only if the whole input was read.  A note reports a part that was not read. */
	bool may_be_empty = import->options.allow_empty && !import->counts.left_out && !import->notes &&
	                    !import->notes_lost;
	if (!import->counts.events && !may_be_empty)
		return epp_status_create(EPP_CORRUPT, "%s: contains no events%s", import->input.path,
		                         import->counts.left_out ? " that makes sense" : "");
	free_reading_state(import);
	return finish(import);
}

epp_status *epp_import_file(const char *input, const char *output, const epp_import_options *options,
                            epp_receipt_fn receipt, void *receipt_user, epp_import_counts *counts)
{
	struct import *import;

	if (counts && !options_fill(counts, &(epp_import_counts){ 0 }, sizeof(*counts)))
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_import_counts: struct_size is not set");
	if (!input || !output)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_import_file: input or output is NULL");
	import = calloc(1, sizeof(*import));
	if (!import)
		return epp_status_no_memory();
	import->receipt = receipt;
	import->receipt_user = receipt_user;
	import->input.fd = -1;
	lanes_init(&import->lanes);
	epp_status *status = options_take(&import->options, sizeof(import->options), options, "epp_import_options");
	if (!status)
		status = input_open(&import->input, input);
	if (!status)
		status = run(import, output);
	import->counts.input_bytes = import->input.bytes;
	if (counts)
		options_fill(counts, &import->counts, sizeof(*counts));
	epp_trace_writer_destroy(import->writer);
	free_reading_state(import);
	input_close(&import->input);
	free(import->notes);
	free(import);
	return status;
}
