/* The state of an amendment, and its steps:
 *
 *   trace_amend_clock.c  relates the clocks of late traces to that of the amended one
 *   trace_amend_write.c  writes names, accounts, tracks and blocks
 *   trace_amend.c        reads the traces, and runs the steps */
#ifndef EPPROF_RUNTIME_MERGE_TRACE_AMEND_H
#define EPPROF_RUNTIME_MERGE_TRACE_AMEND_H

#include <stdbool.h>

#include "codec/codec.h"
#include "containers/hash_map.h"
#include "containers/string_table.h"
#include "epprof/merge.h"
#include "epprof/timeline.h"
#include "trace/reader.h"
#include "trace/writer/trace_writer_private.h"

/* The maximum error of a clock sample, in ns; larger errors are cut to it. */
#define ERROR_NS_MAX 1000000000000
/* The maximum number of slots of one record. */
#define AMEND_SLOTS_MAX (2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16)

/* The host event of the trace that has a correlation number which late events name.  If several have it, it is the
 * innermost one, or is_ambiguous is set. */
struct cause {
	uint64_t id; /* 0: none was found */
	uint64_t start_ticks, end_ticks;
	bool is_ambiguous;
};

/* How times of a late trace are converted to the clock of the amended trace. */
enum relation { BY_MONOTONIC, BY_REALTIME, UNRELATED };

struct late {
	epp_trace *trace;
	enum relation relation;
	int64_t zero_ns; /* time 0 of its timeline, on CLOCK_MONOTONIC or CLOCK_REALTIME (by `relation`) */
	int64_t zero_error_ns;
	int64_t error_ns;          /* the largest error of its events' times */
	uint32_t clock;            /* the number of its clock in the trace; the next number is the clock of its
	                              duration-only tracks */
	bool has_pairs;            /* the clock's samples were written already */
	struct hash_map tracks[2]; /* key: number of a track in the late trace; value: its number in the trace, and in
	                              the high half its account. [0]: tracks with times, [1]: duration-only tracks */
};

struct amend {
	struct reader *reader;
	const char *path; /* of the trace, for messages */
	struct epp_trace_writer *writer;
	epp_amend_options options;
	epp_amend_counts counts;
	struct late *late;
	size_t late_count;

	struct hash_map tokens;  /* ids that late events name; the value is 1 if the trace has the event */
	struct hash_map numbers; /* correlation numbers that late events have; the value is the index of a cause */
	struct cause *causes;
	struct hash_map known; /* key: hash_event of an event; value: the number of equal events that were added before,
	                          minus those that were found in the late traces so far */

	struct string_table texts; /* the texts of the names of the trace, and of new ones */
	epp_name *names;           /* the numbers of these names, by the index of the text */
	size_t names_room;
	uint32_t next_name, next_track;
	uint64_t next_id, last_ticks;
	uint32_t run;
	uint64_t *added; /* for each account, the number of late events that were added to it */

	struct epf_block *block;
	struct epf_arg *slots;
	struct codec_writer codec;
	uint32_t bytes;
	uint32_t own_track, track; /* tracks in the trace: that of the block (0: no block is begun), and that of the
	                              last record */
};

static inline const char *amend_path_of(const epp_trace *trace)
{
	return trace->reader->info.path ? trace->reader->info.path : "a session";
}

/* Returns true if only the duration of a late event is known. */
static inline bool amend_is_duration(const struct late *late, const epp_event *event)
{
	return late->relation == UNRELATED || event->placement == EPP_PLACED_DURATION;
}

/* ---- trace_amend_clock.c ---- */

/* Sets how times of a late trace are converted. */
epp_status *amend_relate(const struct amend *amend, struct late *late) EPP_MUST_CHECK;
/* Reports the relations. */
void amend_report(const struct amend *amend, epp_receipt_fn receipt, void *user);
/* Writes the host clock samples of the trace as samples of the late trace's clock.  If both traces read the same
 * counter, those of the late trace are samples, too, and are closer to its events. */
epp_status *amend_put_pairs(struct amend *amend, struct late *late, uint32_t track) EPP_MUST_CHECK;

/* ---- trace_amend_write.c ---- */

/* Lists the names of the trace, except the reserved ones: as the key of an arg, these would have their own meaning. */
epp_status *amend_list_names(struct amend *amend) EPP_MUST_CHECK;
/* Finds or adds a name. */
epp_status *amend_name_of(struct amend *amend, const char *text, size_t bytes, epp_name *name) EPP_MUST_CHECK;
/* Returns the number of elements of reader->producers, including unused ones. */
size_t amend_accounts_count(const struct reader *reader);
/* Returns the account with a label, or -1. */
int32_t amend_find_account(const struct reader *reader, const char *label);
/* Counts the added events: as many of them as possible are subtracted from the losses after the end, the others are
 * added to the emitted events.  An account that has a line in the ledger is changed there, because the ledger was read
 * before. */
void amend_settle(struct amend *amend);
/* Finds or adds the track of a late event, and its account. */
epp_status *amend_track_of(struct amend *amend, struct late *late, const epp_event *event, uint32_t *number,
                           int32_t *account) EPP_MUST_CHECK;
/* Appends a record with the slots in amend->slots. */
epp_status *amend_put(struct amend *amend, uint32_t track, const struct epf_record *record) EPP_MUST_CHECK;
epp_status *amend_end_block(struct amend *amend) EPP_MUST_CHECK;

#endif
