/* epprof: writes a trace in the file formats of viewers.
 *
 * Thread, unless a function says otherwise: [any-thread], but a trace is used by one thread at a time.
 */
#ifndef EPPROF_EXPORT_H
#define EPPROF_EXPORT_H

#include "epprof/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Receives the output: returns the number of bytes written; fewer than `bytes_count` is a failure, with the reason in
 * errno. */
typedef size_t (*epp_sink_fn)(const void *bytes, size_t bytes_count, void *user);

typedef struct epp_export_format {
	const char *name;        /* "chrome", for the option -t */
	const char *extension;   /* ".json" */
	const char *description; /* one line, for the help text */
} epp_export_format;

/* The export formats; NULL beyond the last.
 * Ownership: valid for the life of the process. */
EPP_EXPORT const epp_export_format *epp_export_format_at(size_t index);

typedef struct epp_export_options {
	size_t struct_size;
	const epp_timeline_options *timeline; /* NULL: everything */
	const volatile int *cancel; /* may be NULL; when it becomes non-zero, the export ends with EPP_CANCELLED
	                               and leaves no file.  A signal handler may set it. */
	uint32_t rank; /* kineto: the rank of this process among the `world_size` processes of a distributed job */
	uint32_t world_size; /* 0: one process */
	uint32_t gpu_planes; /* xspace: 1: name devices /device:GPU:n, which more tools recognise; 0:
	                        /device:CUSTOM:NAME */
	uint32_t lossless;   /* 1: data that the format cannot hold is an error (EPP_INVALID_ARGUMENT), and no file
	                        appears */
	/* Filters.  The exported ledger counts the events that they leave out. */
	int64_t min_duration_ns; /* only slices and asynchronous events with at least this duration */
	const char *name;        /* shell patterns, here and below, NULL: all; matches the event's name */
	const char *track;       /* matches the name of its track */
	const char *process;     /* matches the pid, program, label or host of its process, or the name of its device */
	uint32_t unix_times;     /* xspace: 1: lines have UNIX time, as those that TensorFlow collects; their base is
	                            `timeline->from_ns`, and events that began before it are cut there.  0: times are
	                            relative */
	uint32_t events_max;     /* html: the maximum number of events in its timeline; of more events it shows a
	                            part.  0: 2,000,000 */
	uint32_t partitioned;    /* parquet: 1: name the column of the run's number `session`, because the dataset
	                            uses `run` as a folder's key */
	uint32_t part_bytes; /* xspace: the approximate maximum size of a file; the rest goes into further files.  0:
	                        1.9 GB, which readers of the format accept */
	/* html: its timeline shows only events that overlap [show_from_ns, show_to_ns), in the times of
	 * epp_timeline_options; at most `events_max`, the earliest.  Its tables include all events.  show_to_ns 0: to
	 * the end; both 0: all, or of more than `events_max` the range in which devices (or threads) were busiest. */
	int64_t show_from_ns;
	int64_t show_to_ns;
	uint32_t kernels;    /* otlp, otlp-proto: 1: device events become spans, too */
	uint32_t gpu_stages; /* perfetto: 1: device events are GpuRenderStageEvents, for the viewer's views of GPUs; 0:
	                        slices of tracks */
} epp_export_options;

/* Receives what the format could not hold, as texts for people, one line a call ("12 flows left out").
 * Ownership: the text is borrowed for the call. */
typedef void (*epp_receipt_fn)(void *user, const char *text);

/* Writes `trace` as `format` into the sink.  The first failed write ends the export.  A separate thread reads the trace
 * during the call; `sink` and `receipt` are called on the caller's thread.
 * Errors: EPP_NOT_FOUND (format), EPP_INVALID_ARGUMENT, EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY, EPP_CANCELLED.
 * `options` and `receipt` may be NULL. */
EPP_EXPORT epp_status *epp_export(epp_trace *trace, const char *format, const epp_export_options *options,
                                  epp_sink_fn sink, void *sink_user, epp_receipt_fn receipt, void *receipt_user)
    EPP_MUST_CHECK;

/* As epp_export, into a file that appears by rename when it is complete.  An existing file is an error
 * (EPP_EXISTS) unless `overwrite`, and a symbolic link always (EPP_IO).  Its mode is that of epp_session_create.
 * Written directly are "-" (standard output), paths of descriptors of the process (/dev/stderr, /dev/fd/3), and other
 * targets that are not regular files (a pipe, /dev/full).
 * An xspace export of more than `part_bytes` continues in NAME_part2.xplane.pb and so on, and the receipt reports it;
 * into a sink it is EPP_INVALID_ARGUMENT.  With `overwrite`, further parts of an earlier export are removed.
 * Errors: as epp_export. */
EPP_EXPORT epp_status *epp_export_file(epp_trace *trace, const char *format, const epp_export_options *options,
                                       const char *path, int overwrite, epp_receipt_fn receipt, void *receipt_user)
    EPP_MUST_CHECK;

/* The characters that a run's name may have; the first one must not be '.'. */
#define EPP_RUN_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* Writes `trace` into DIRECTORY/run=RUN/host=HOST/part-N.parquet, one file for up to 64 processes of a host, with the
 * small tables processes, tracks, names and ledger in the same folder (docs/scale.md).  `run=RUN` appears when it is
 * complete; an existing one is an error (EPP_EXISTS) unless `overwrite`, which removes it first.  `options` may be
 * NULL; the timeline's `sources` and the options of other formats are ignored.  Filters apply to events only.
 * Errors: as epp_export_file; EPP_INVALID_ARGUMENT (`run` has characters that are not in EPP_RUN_LETTERS). */
EPP_EXPORT epp_status *epp_export_dataset(epp_trace *trace, const char *directory, const char *run,
                                          const epp_export_options *options, int overwrite, epp_receipt_fn receipt,
                                          void *receipt_user) EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
