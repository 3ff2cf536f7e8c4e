/* Detects that a file was truncated.  A truncated file is shorter than it was when it was finished, or it ends at a
 * position at which a complete file cannot end. */
#include <string.h>

#include "trace/reader_private.h"

/* If the file is shorter than it should be, finds its end by bisection with reader_read, which sets
 * reader.file_bytes. */
static epp_status *find_end(struct reader_impl *impl, bool *is_cut)
{
	uint64_t high = impl->finished_bytes;
	uint8_t byte;
	size_t got = 1;

	if (high)
		EPP_TRY(reader_read(impl, high - 1, &byte, 1, &got));
	*is_cut = !got;
	for (uint64_t low = impl->reader.file_bytes; *is_cut && low < high;) {
		uint64_t middle = low + (high - low) / 2;
		EPP_TRY(reader_read(impl, middle, &byte, 1, &got));
		if (got)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Detects that a finished file was truncated, by its recorded size, or because a finished file cannot end at this
 * position. */
static epp_status *check_end(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	bool is_cut;

	EPP_TRY(find_end(impl, &is_cut));
	if (is_cut)
		reader_find(impl, EPP_ERROR, reader->file_bytes,
		            "the file was truncated: it ends after %llu of %llu bytes",
		            (unsigned long long)reader->file_bytes, (unsigned long long)impl->finished_bytes);
	bool has_run = reader->runs_count || impl->never_started;
	if (is_cut || !has_run || (impl->stop.text && strncmp(impl->stop.text, "the file ends", 13) == 0)) {
		reader->info.state = EPP_TRACE_CUT_OFF;
		reader->info.is_truncated = 1;
		reader->info.missing_bytes = is_cut ? impl->finished_bytes - reader->file_bytes : 0;
	}
	return NULL;
}

epp_status *reader_check_end(struct reader_impl *impl, bool finished)
{
	struct reader *reader = &impl->reader;

	if (reader->file_bytes < reader->header.segments_offset &&
	    (finished || (!reader->blocks_count && !impl->has_external_window)))
		reader_find(impl, finished ? EPP_ERROR : EPP_WARNING, reader->file_bytes,
		            "the file ends inside its window, before any segment");
	else if (finished && !reader->runs_count && !impl->never_started)
		reader_find(impl, EPP_ERROR, reader->file_bytes,
		            "the file is marked as finished but contains no run: it was truncated");
	return finished ? check_end(impl) : NULL;
}
