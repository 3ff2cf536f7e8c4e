/* Internals shared by the files that anonymise a trace:
 *
 *   anonymize.c          the steps; everything in a trace except its records
 *   anonymize_records.c  records: their names, args and times
 *   check.c              searches the output for texts of the input
 *   allowed.c            the allow-list; onnx_ops.def: the standard operators, made by packaging/onnx_ops.py
 *   keyed_word.c         words for secret texts
 *   shapes.c             shapes of tensors
 *   blake2b.c            the hash
 *
 * The trace is opened a second time, so that its definitions can be changed in memory before trace_writer_copy.c
 * writes them.  Blocks of the output are not compressed, so that a search over the bytes of the file finds every
 * text. */
#ifndef EPPROF_RUNTIME_ANONYMIZE_ANONYMIZE_H
#define EPPROF_RUNTIME_ANONYMIZE_ANONYMIZE_H

#include "anonymize/allowed.h"
#include "anonymize/keyed_word.h"
#include "base/status.h"
#include "codec/codec.h"
#include "containers/hash_map.h"
#include "epprof/anonymize.h"
#include "trace/reader_private.h"
#include "trace/writer/trace_writer_private.h"

/* The replacement of a name depends on its kind: the category of the event (4 bits), or that it is a counter's name. */
#define ANONYMIZE_COUNTER 16u
#define ANONYMIZE_KINDS 17u

/* Numbers that are replaced by their rank, so that their order is kept. */
struct anonymize_ranks {
	int64_t *numbers; /* sorted, without duplicates */
	size_t count, room;
};

/* The replacements of texts that are values of args, for one use.  Their number and size have the same limits as names;
 * further values are left out. */
#define ANONYMIZE_VALUES_MAX TRACE_WRITER_MERGED_NAMES_MAX
#define ANONYMIZE_VALUES_BYTES_MAX TRACE_WRITER_MERGED_TEXT_BYTES_MAX
struct anonymize_value {
	const char *text; /* NULL: the value is left out */
	uint32_t bytes;
};
struct anonymize_values {
	struct string_table from;
	struct anonymize_value *to;
	size_t to_room;
};

/* The maximum size of the stored texts of args that were left out.  check.c searches these texts in the output; further
 * ones are not stored and not searched. */
#define ANONYMIZE_DROPPED_BYTES_MAX (4u << 20)

struct anonymize {
	epp_anonymize_options options;
	struct reader *reader; /* a reader that only this call uses */
	struct words words;
	/* All texts in the output that are no words: texts of the allow-list, and texts that surround words.  If a text
	 * of the input is a part of one of these, finding it in the output reveals nothing. */
	struct string_table kept;
	epp_anonymize_counts counts;

	struct reader_name *old_names; /* names of the input, by number */
	size_t old_names_count;
	/* number of a name in the output, by its kind and its number in the input; 0: not assigned yet; NULL: there are
	 * no names of this kind */
	uint32_t *names[ANONYMIZE_KINDS];
	/* names of the output; the number of a name is its index + EPF_NAME_FIRST_FREE */
	struct string_table new_names;
	struct hash_map made; /* finds the number in the output by text, kind and suffix */
	/* by number of the key: the entry of the allow-list; NULL: the key is not on the list, or was not looked up
	 * yet */
	const struct allowed **keys;
	bool *keys_known, *keys_dropped;
	uint32_t *key_numbers;
	struct anonymize_values values[ALLOWED_USE_COUNT];
	struct string_table dropped;

	uint64_t base_ticks; /* subtracted from the ticks of the host's clock */
	int64_t base_monotonic_ns, base_realtime_ns;
	struct hash_map clocks; /* by clock of a device: the number that is subtracted from its ticks */
	struct anonymize_ranks ids, streams, devices;
	struct hash_map ids_from; /* by source: the number that is subtracted from the ids of its events */

	/* State for the block that is being written. */
	struct epp_trace_writer *writer;
	const struct reader_decoded *from;
	struct epf_block *block;
	struct epf_arg *slots;
	struct codec_writer codec;
	uint64_t open_ids[EPF_OPEN_MAX]; /* ids of open events, as in the output */
	uint32_t bytes, track;
	const struct epf_track *definition; /* definition of `track`; NULL: it has none */
	/* the number that is subtracted from the ticks of this track's clock; UINT64_MAX: not determined yet */
	uint64_t track_base;
};

/* anonymize_records.c */
epp_status *anonymize_records_init(struct anonymize *anonymize) EPP_MUST_CHECK;
void anonymize_records_deinit(struct anonymize *anonymize);
/* Writes a block of the input, which is decoded, to the output.  A callback of trace_rewrite. */
epp_status *anonymize_block(void *user, struct epp_trace_writer *writer, const struct reader_decoded *decoded)
    EPP_MUST_CHECK;
/* Replaces the names and times of events that were open when the trace ended. */
epp_status *anonymize_open_events(struct anonymize *anonymize) EPP_MUST_CHECK;
/* Replaces an id of an event: subtracts a number that is the same for all ids of the source, so that they begin near
 * 1. */
epp_status *anonymize_id(struct anonymize *anonymize, uint32_t source, uint64_t *id) EPP_MUST_CHECK;
/* Converts ticks of the host's clock to those of the output. */
static inline uint64_t anonymize_ticks(const struct anonymize *anonymize, uint64_t ticks)
{
	return ticks > anonymize->base_ticks ? ticks - anonymize->base_ticks : ticks != 0;
}

/* anonymize.c */
/* Makes the word "PREFIX_letters" plus `suffix` that replaces a text, and counts it at its first use.  Ownership: the
 * word belongs to the reader. */
epp_status *anonymize_word(struct anonymize *anonymize, const char *prefix, const char *text, size_t bytes,
                           const char *suffix, struct anonymize_value *word) EPP_MUST_CHECK;
/* As anonymize_word, for the name of a provider or plugin.  A name that is on the allow-list is kept. */
epp_status *anonymize_provider(struct anonymize *anonymize, const char *text, size_t bytes, struct anonymize_value *word)
    EPP_MUST_CHECK;
/* Records that the output contains this text unchanged, which check.c then permits. */
epp_status *anonymize_keep(struct anonymize *anonymize, const char *text, size_t bytes) EPP_MUST_CHECK;

/* check.c */
/* Searches the finished file for texts of the input that should have been replaced.  A callback of trace_rewrite.
 * Errors: EPP_LOSSY if it contains one. */
epp_status *anonymize_check(void *user, int fd, uint64_t file_bytes) EPP_MUST_CHECK;

#endif
