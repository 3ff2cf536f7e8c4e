/* Internals shared by the files that anonymise a trace:
 *
 *   anonymize.c  the steps; everything in a trace except its records
 *   records.c    records: their names, args and times
 *   check.c      searches the output for texts of the input
 *   allowed.c    the allow-list; onnx_ops.def: the standard operators, made by packaging/onnx_ops.py
 *   words.c      words for secret texts
 *   shapes.c     shapes of tensors
 *   blake2b.c    the hash
 *
 * The trace is opened a second time, so that its definitions can be changed in memory while trace_writer_recover.c
 * writes them.  The output has rows only: its texts are stored as they are, so that a search over the bytes finds every
 * one.
 */
#ifndef EPPROF_RUNTIME_ANONYMIZE_ANONYMIZE_H
#define EPPROF_RUNTIME_ANONYMIZE_ANONYMIZE_H

#include "anonymize/allowed.h"
#include "anonymize/words.h"
#include "base/status.h"
#include "codec/codec.h"
#include "containers/hash_map.h"
#include "epprof/anonymize.h"
#include "trace/reader_private.h"
#include "trace/writer/trace_writer_private.h"

/* What a name is replaced as: the category of its event (the 4 bits that a record has), or a counter's. */
#define ANONYMIZE_COUNTER 16u
#define ANONYMIZE_KINDS 17u

/* Numbers that are replaced by their rank, which keeps their order. */
struct anonymize_ranks {
	int64_t *numbers; /* sorted, each once */
	size_t count, room;
};

/* Values of args that were replaced already.  There is room for this many different ones of each use, as for names; more
 * are left out. */
#define ANONYMIZE_VALUES_MAX TRACE_WRITER_MERGED_NAMES_MAX
#define ANONYMIZE_VALUES_BYTES_MAX TRACE_WRITER_MERGED_TEXT_BYTES_MAX
struct anonymize_value {
	const char *text; /* NULL: left out */
	uint32_t bytes;
};
struct anonymize_values {
	struct string_table from;
	struct anonymize_value *to;
	size_t to_room;
};

/* Values of args that were left out, for the search.  More are left out without being searched for. */
#define ANONYMIZE_DROPPED_BYTES_MAX (4u << 20)

struct anonymize {
	epp_anonymize_options options;
	struct reader *reader; /* of this call alone */
	struct words words;
	/* The texts in the output that are no words: from the allow-list, and what is around a word.  A text of the
	 * input that is part of one of them gives nothing away. */
	struct string_table kept;
	epp_anonymize_counts counts;

	struct reader_name *old_names; /* of the input, by number */
	size_t old_names_count;
	uint32_t *names[ANONYMIZE_KINDS]; /* by number of the input: that of the output; 0: not made yet.  NULL: none */
	struct string_table new_names;    /* number in the output = index + EPF_NAME_FIRST_FREE */
	struct hash_map made;             /* by text, kind and suffix: the number in the output */
	const struct allowed **keys;      /* by number: what becomes of an arg; NULL: left out, or not known yet */
	bool *keys_known, *keys_dropped;
	uint32_t *key_numbers;
	struct anonymize_values values[ALLOWED_USE_COUNT];
	struct string_table dropped;

	uint64_t base_ticks; /* subtracted from ticks of the host's clock */
	int64_t base_monotonic_ns, base_realtime_ns;
	struct hash_map clocks; /* by clock of a device: what is subtracted from its ticks */
	struct anonymize_ranks ids, streams, devices;
	struct hash_map ids_from; /* by source: what is subtracted from the ids of its events */

	/* of the block that is being written */
	struct epp_trace_writer *writer;
	const struct reader_decoded *from;
	struct epf_block *block;
	struct epf_arg *slots;
	struct codec_writer codec;
	uint64_t open_ids[EPF_OPEN_MAX]; /* as in the output */
	uint32_t bytes, track;
	const struct epf_track *definition; /* of `track`; NULL: none */
	uint64_t track_base;                /* of its clock */
};

/* records.c */
epp_status *anonymize_records_init(struct anonymize *anonymize) EPP_MUST_CHECK;
void anonymize_records_deinit(struct anonymize *anonymize);
/* Writes a decoded block; for trace_rewrite. */
epp_status *anonymize_block(void *user, struct epp_trace_writer *writer, const struct reader_decoded *decoded)
    EPP_MUST_CHECK;
/* Replaces the names and times of events that were open when the trace ended. */
epp_status *anonymize_open_events(struct anonymize *anonymize) EPP_MUST_CHECK;
/* Makes the id of an event count from the first one of its process. */
epp_status *anonymize_id(struct anonymize *anonymize, uint32_t source, uint64_t *id) EPP_MUST_CHECK;
/* Ticks of the host's clock in the output. */
static inline uint64_t anonymize_ticks(const struct anonymize *anonymize, uint64_t ticks)
{
	return ticks > anonymize->base_ticks ? ticks - anonymize->base_ticks : ticks != 0;
}

/* anonymize.c */
/* Makes "PREFIX_letters" of a text, and counts the first use.  Ownership: the reader's memory. */
epp_status *anonymize_word(struct anonymize *anonymize, const char *prefix, const char *text, size_t bytes,
                           const char *suffix, struct anonymize_value *word) EPP_MUST_CHECK;
/* The same for the name of a provider or plugin, which may be on the allow-list. */
epp_status *anonymize_provider(struct anonymize *anonymize, const char *text, size_t bytes, struct anonymize_value *word)
    EPP_MUST_CHECK;
/* Records that a text is in the output as it is. */
epp_status *anonymize_keep(struct anonymize *anonymize, const char *text, size_t bytes) EPP_MUST_CHECK;

/* check.c */
/* Searches the finished file for texts of the input; for trace_rewrite.  Errors: EPP_LOSSY if there is one. */
epp_status *anonymize_check(void *user, int fd, uint64_t file_bytes) EPP_MUST_CHECK;

#endif
