/* epprof: writes a trace without the names of its model and its machine, so that it can be given to others.
 *
 * Only what is on a list of harmless parts stays as it is: names become words that depend on a secret key, values of
 * args are kept only under the keys of the list, and the host, the processes and the time of day are left out.  Times,
 * counts, losses, kinds of events and their nesting are kept, so that a summary, a comparison and advice give the same
 * numbers.  docs/anonymize.md lists what is kept, with the reasons.
 */
#ifndef EPPROF_ANONYMIZE_H
#define EPPROF_ANONYMIZE_H

#include "epprof/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The least number of bytes of a key. */
#define EPP_ANONYMIZE_KEY_BYTES_LEAST 16u

typedef struct epp_anonymize_options {
	size_t struct_size; /* a non-zero unknown tail is an error */
	/* Any bytes that others cannot guess; a name has the same word in all traces that were written with one key.
	 * Required. */
	const void *key;
	size_t key_bytes;      /* at least EPP_ANONYMIZE_KEY_BYTES_LEAST */
	uint32_t keep_ops;     /* 1: standard operator names of ONNX are kept, where an arg states the operator */
	uint32_t round_shapes; /* 1: dimensions and sizes of tensors become powers of two */
	uint32_t overwrite;    /* 1: a file at the path is replaced */
	uint32_t reserved;
	const volatile int *cancel; /* may be NULL; when it becomes non-zero, the call ends with EPP_CANCELLED and leaves
	                               no file */
} epp_anonymize_options;

typedef struct epp_anonymize_counts {
	size_t struct_size; /* sizeof(epp_anonymize_counts) of the caller, who sets it */
	uint64_t records;
	uint64_t names_replaced;   /* different texts: names of events, threads, devices, processes; values of args */
	uint64_t numbers_replaced; /* of processes and threads, and handles of streams */
	uint64_t args_kept;        /* args of records, including those whose value was replaced */
	uint64_t args_dropped;     /* args of records that were left out: their key is unknown, or their value */
	uint64_t keys_dropped;     /* the number of different keys of these */
	uint64_t notes_dropped;    /* notes in the accounts of plugins */
} epp_anonymize_counts;

/* Writes the readable part of `trace`, as epp_trace_recover does, into the file `path`, unpacked and anonymised.  Before
 * the file gets its name, its bytes are searched for the texts of `trace`.  The receipt, as epp_export's, lists what was
 * kept, one line a call.  Memory: the names of the trace twice, and 8 MiB.
 * `receipt` and `counts` may be NULL.
 * Errors: EPP_INVALID_ARGUMENT (no key, or a short one), EPP_LOSSY (a text of `trace` is in the output, which is
 * discarded), EPP_CANCELLED; as epp_trace_recover.
 * Thread: one at a time for each trace. */
EPP_EXPORT epp_status *epp_trace_anonymize(epp_trace *trace, const char *path, const epp_anonymize_options *options,
                                           epp_receipt_fn receipt, void *receipt_user, epp_anonymize_counts *counts)
    EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
