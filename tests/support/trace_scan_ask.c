/* Queries on a scanned trace (trace_scan.h). */
#include "trace_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_ID_KINDS \
	(1u << EPF_EVENT | 1u << EPF_INSTANT | 1u << EPF_COUNTER | 1u << EPF_COMPLETE | 1u << EPF_FLOW | \
	 1u << EPF_ASYNC_BEGIN)

const struct scan_record *scan_next(const struct trace_scan *scan, enum epf_kind kind, epp_name name, size_t *from)
{
	for (; *from < scan->records_count; ++*from) {
		const struct scan_record *record = &scan->records[*from];
		if (EPF_BITS_KIND(record->bits) == (unsigned)kind && (!name || record->name == name)) {
			++*from;
			return record;
		}
	}
	return NULL;
}

const struct scan_record *scan_first(const struct trace_scan *scan, enum epf_kind kind, epp_name name)
{
	size_t from = 0;
	return scan_next(scan, kind, name, &from);
}

size_t scan_count(const struct trace_scan *scan, enum epf_kind kind, epp_name name)
{
	size_t from = 0, count = 0;
	while (scan_next(scan, kind, name, &from))
		count++;
	return count;
}

const struct scan_record *scan_id(const struct trace_scan *scan, enum epf_kind kind, uint64_t id)
{
	for (size_t i = 0; i < scan->records_count; i++)
		if (scan->records[i].id == id && EPF_BITS_KIND(scan->records[i].bits) == (unsigned)kind)
			return &scan->records[i];
	return NULL;
}

const struct scan_arg *scan_arg(const struct scan_record *record, epp_name key)
{
	for (uint32_t i = 0; i < record->args_count; i++)
		if (record->args[i].key == key)
			return &record->args[i];
	return NULL;
}

bool scan_name_is(const struct trace_scan *scan, uint32_t name, const char *text)
{
	return name < scan->names_count && scan->names[name].text && scan->names[name].bytes == strlen(text) &&
	       memcmp(scan->names[name].text, text, strlen(text)) == 0;
}

const struct scan_track *scan_track(const struct trace_scan *scan, uint32_t track)
{
	return track && track < scan->tracks_count && scan->tracks[track].definition.track ? &scan->tracks[track] : NULL;
}

uint64_t scan_lost(const struct trace_scan *scan, epp_loss reason)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < scan->ledger_count; i++)
		lost += scan->ledger[i].lost[reason];
	return lost;
}

uint64_t scan_ids_taken(const struct trace_scan *scan)
{
	uint64_t taken = 0;
	for (size_t i = 0; i < scan->ledger_count; i++)
		taken += scan->ledger[i].ids_taken;
	return taken;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static const char *no_id_twice(const struct trace_scan *scan)
{
	uint64_t *ids = calloc(scan->records_count + scan->open_count + 1, sizeof(*ids));
	size_t count = 0;
	const char *wrong = NULL;
	for (size_t i = 0; i < scan->records_count; i++)
		/* The id of a flow record is that of its target. */
		if (OWN_ID_KINDS >> EPF_BITS_KIND(scan->records[i].bits) & 1 &&
		    EPF_BITS_KIND(scan->records[i].bits) != EPF_FLOW)
			ids[count++] = scan->records[i].id;
	for (size_t i = 0; i < scan->open_count; i++)
		ids[count++] = scan->open[i].id;
	qsort(ids, count, sizeof(*ids), by_value);
	for (size_t i = 1; i < count; i++)
		if (ids[i] == ids[i - 1])
			wrong = "an id stands in two records";
	free(ids);
	return wrong;
}

const char *scan_balance(const struct trace_scan *scan)
{
	static __thread char text[160];
	size_t tracks = scan->tracks_count + 1;
	uint64_t *written = calloc(tracks, sizeof(*written));
	bool *has_entry = calloc(tracks, sizeof(*has_entry));
	const char *wrong = scan->error ? scan->error : no_id_twice(scan);
	for (size_t i = 0; i < scan->records_count; i++)
		if (OWN_ID_KINDS >> EPF_BITS_KIND(scan->records[i].bits) & 1 && scan->records[i].owner < tracks)
			written[scan->records[i].owner]++;
	for (size_t i = 0; i < scan->open_count; i++)
		written[scan->open[i].track]++;
	for (size_t i = 0; i < scan->ledger_count && !wrong; i++) {
		const struct epf_ledger_entry *entry = &scan->ledger[i];
		uint64_t lost = 0;
		for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
			lost += reason == EPP_LOSS_TOO_LARGE ? 0 : entry->lost[reason];
		if (!entry->track) {
			if (entry->ids_taken || lost != entry->lost_idless)
				wrong = "the session's own entry takes ids";
			continue;
		}
		if (entry->track >= tracks || has_entry[entry->track]) {
			wrong = "two entries for one track, or an entry for none";
			continue;
		}
		has_entry[entry->track] = true;
		uint64_t known = written[entry->track] + lost - entry->lost_idless;
		if (entry->ids_taken != known) {
			snprintf(text, sizeof(text),
			         "track %u: %llu ids taken, %llu written or open, %llu lost, %llu of these without an id",
			         entry->track, (unsigned long long)entry->ids_taken,
			         (unsigned long long)written[entry->track], (unsigned long long)lost,
			         (unsigned long long)entry->lost_idless);
			wrong = text;
		}
	}
	for (size_t i = 0; i < tracks && !wrong; i++)
		if (written[i] && !has_entry[i])
			wrong = "records of a track that has no entry in the ledger";
	free(written);
	free(has_entry);
	return wrong;
}
