/* epprof: writing a trace in the formats of viewers.
 *
 * Thread, unless a function says otherwise: [any-thread], but a trace is used by one thread at a time.
 */
#ifndef EPPROF_EXPORT_H
#define EPPROF_EXPORT_H

#include "epprof/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where bytes go: returns how many it took; fewer is a failure, and errno says why. */
typedef size_t (*epp_sink_fn)(const void *bytes, size_t bytes_count, void *user);

typedef struct epp_export_format {
	const char *name;        /* "chrome", for -t */
	const char *extension;   /* ".json" */
	const char *description; /* one line, for help */
} epp_export_format;

/* The formats there are; NULL beyond the last.
 * Ownership: valid for the life of the process. */
EPP_EXPORT const epp_export_format *epp_export_format_at(size_t index);

typedef struct epp_export_options {
	size_t struct_size;
	const epp_timeline_options *timeline; /* NULL: everything */
	const volatile int *cancel; /* may be NULL; once it is not 0 the export ends with EPP_UNAVAILABLE and leaves no file
	                               behind.  A signal handler may set it. */
	uint32_t rank;              /* kineto: which of `world_size` processes of a distributed job this is */
	uint32_t world_size;        /* 0: one */
	uint32_t gpu_planes; /* xspace: 1: devices are /device:GPU:n, which more tools know, else /device:CUSTOM:NAME */
	uint32_t lossless; /* 1: what the format cannot hold is an error (EPP_INVALID_ARGUMENT), and no file appears */
	/* Filters.  What they leave out is a line of the exported ledger. */
	int64_t min_duration_ns; /* only slices and asynchronous events that last so long */
	const char *name;        /* patterns as the shell's, here and below, NULL: all; of the event's name */
	const char *track;       /* of its track's name */
	const char *process;     /* of its process's number, program, label or host, or of its device's name */
	uint32_t unix_times;     /* xspace: 1: lines carry UNIX time, as those that TensorFlow collects; their base is
	                        `timeline->from_ns`, and what began before it is cut there.  0: times are relative */
	uint32_t events_max;     /* html: how many events its timeline holds; of more it shows a part.  0: 2,000,000 */
	uint32_t partitioned; /* parquet: 1: the column of the run's number is called `session`, since `run` is a folder's */
	uint32_t part_bytes; /* xspace: how large a file may become, nearly; what is more goes into further ones.  0: 1.9 GB,
	                         which is what its readers take */
} epp_export_options;

/* What a format could not hold; texts for people, one a line ("12 flows left out").
 * Ownership: the text is borrowed for the call. */
typedef void (*epp_receipt_fn)(void *user, const char *text);

/* Writes `trace` as `format` into the sink.  The first failed write ends it.  While it runs, a thread of its own reads the
 * trace; `sink` and `receipt` are called on the caller's.
 * Errors: EPP_NOT_FOUND (format), EPP_INVALID_ARGUMENT, EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY, EPP_UNAVAILABLE
 * (cancelled).  `options` and `receipt` may be NULL. */
EPP_EXPORT epp_status *epp_export(epp_trace *trace, const char *format, const epp_export_options *options,
                                  epp_sink_fn sink, void *sink_user, epp_receipt_fn receipt, void *receipt_user)
    EPP_MUST_CHECK;

/* The same into a file that appears, complete, by rename.  An existing file is an error (EPP_UNAVAILABLE) unless
 * `overwrite`.  "-" (standard output) and other non-regular targets (a pipe, /dev/full) are written directly.
 * xspace beyond `part_bytes` goes on in NAME_part2.xplane.pb and so on, which is told; into a sink that is EPP_INVALID_ARGUMENT.
 * With `overwrite` further parts of an earlier export are removed.
 * Errors: as epp_export. */
EPP_EXPORT epp_status *epp_export_file(epp_trace *trace, const char *format, const epp_export_options *options,
                                       const char *path, int overwrite, epp_receipt_fn receipt, void *receipt_user)
    EPP_MUST_CHECK;

/* What a run's name is made of; the first is no '.'. */
#define EPP_RUN_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* Writes `trace` into DIRECTORY/run=RUN/host=HOST/part-N.parquet, a file for up to 64 processes of a host, with the small
 * tables processes, tracks, names and ledger beside them (docs/scale.md).  `run=RUN` appears when it is whole; one that
 * exists is an error (EPP_UNAVAILABLE) unless `overwrite`, which removes it first.  Of `options`, which may be NULL, the
 * timeline's `sources` and what is not of parquet are not looked at.  Filters are the events' alone.
 * Errors: as epp_export_file; EPP_INVALID_ARGUMENT (`run` is none of EPP_RUN_LETTERS). */
EPP_EXPORT epp_status *epp_export_dataset(epp_trace *trace, const char *directory, const char *run,
                                          const epp_export_options *options, int overwrite, epp_receipt_fn receipt,
                                          void *receipt_user) EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
