/* epprof: writes a trace without the names of its model and its machine, so that it can be given to others.
 *
 * Only data on a list of harmless parts is copied unchanged.  Names are replaced by words that depend on a secret key.
 * Values of args are kept only if their keys are on the list.  The host, the processes and the time of day are left
 * out.  Times, counts, losses, kinds of events and their nesting are kept, so that a summary, a comparison and advice
 * give the same numbers.  docs/anonymize.md lists the data that is kept, with the reasons. */
#ifndef EPPROF_ANONYMIZE_H
#define EPPROF_ANONYMIZE_H

#include "epprof/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The minimum size of a key. */
#define EPP_ANONYMIZE_KEY_BYTES_LEAST 16u

typedef struct epp_anonymize_options {
	size_t struct_size; /* a non-zero unknown tail is an error */
	/* The secret key: any bytes that others cannot guess.  All traces that are written with the same key have the
	 * same word for a name.  Required. */
	const void *key;
	size_t key_bytes;      /* at least EPP_ANONYMIZE_KEY_BYTES_LEAST */
	uint32_t keep_ops;     /* 1: if an arg states the operator, the names of ONNX's standard operators are kept */
	uint32_t round_shapes; /* 1: dimensions and sizes of tensors are rounded to powers of two */
	uint32_t overwrite;    /* 1: an existing file at the path is replaced */
	uint32_t reserved;
	const volatile int *cancel; /* may be NULL; when it becomes non-zero, the call ends with EPP_CANCELLED and leaves
	                               no file */
} epp_anonymize_options;

typedef struct epp_anonymize_counts {
	size_t struct_size; /* sizeof(epp_anonymize_counts) of the caller, who sets it */
	uint64_t records;
	uint64_t names_replaced;   /* number of different texts: names of events, threads, devices, processes; values of
	                              args */
	uint64_t numbers_replaced; /* number of different process ids, thread ids and stream handles */
	uint64_t args_kept;        /* args in records that were kept, including those whose value was replaced */
	uint64_t args_dropped;     /* args in records that were left out, because their key is unknown or their value is
	                              not allowed */
	uint64_t keys_dropped;     /* the number of different keys of the dropped args */
	uint64_t notes_dropped;    /* notes of plugins in the ledger that were left out */
} epp_anonymize_counts;

/* Writes the readable part of `trace`, as epp_trace_recover does, into the file `path`, unpacked and anonymised.
 * Before the file appears under its name, its bytes are searched for the texts of `trace`.  `receipt` is called as by
 * epp_export, with one line for each part of the data that was kept.  Memory: the names of the trace twice, and 8
 * MiB.
 * `receipt` and `counts` may be NULL.
 * Errors: EPP_INVALID_ARGUMENT (no key, or a short one), EPP_LOSSY (a text of `trace` is in the output, which is
 * discarded), EPP_CANCELLED; those of epp_trace_recover.
 * Thread: one at a time for each trace. */
EPP_EXPORT epp_status *epp_trace_anonymize(epp_trace *trace, const char *path, const epp_anonymize_options *options,
                                           epp_receipt_fn receipt, void *receipt_user, epp_anonymize_counts *counts)
    EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
