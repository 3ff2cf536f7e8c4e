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

/* Receives the output.  Returns the number of bytes written.  A number below `bytes_count` is a failure; its reason is
 * in errno. */
typedef size_t (*epp_sink_fn)(const void *bytes, size_t bytes_count, void *user);

typedef struct epp_export_format {
	const char *name;        /* the name for the option -t, for example "chrome" */
	const char *extension;   /* for example ".json" */
	const char *description; /* one line, for the help text */
} epp_export_format;

/* Returns an export format; NULL beyond the last.
 * Ownership: valid for the life of the process. */
EPP_EXPORT const epp_export_format *epp_export_format_at(size_t index);

typedef struct epp_export_options {
	size_t struct_size;
	const epp_timeline_options *timeline; /* NULL: all events */
	const volatile int *cancel; /* may be NULL; when it becomes non-zero, the export ends with EPP_CANCELLED
	                               and leaves no file.  A signal handler may set it. */
	uint32_t rank; /* kineto: the number of this process among the `world_size` processes of a distributed job */
	uint32_t world_size; /* 0: one process */
	uint32_t gpu_planes; /* xspace: 1: the names of devices are /device:GPU:n, which more tools recognise; 0:
	                        /device:CUSTOM:NAME */
	uint32_t lossless;   /* 1: if the format cannot hold some data, the export fails with EPP_INVALID_ARGUMENT, and
	                        no file appears */
	/* Filters.  The exported ledger counts the events that the filters leave out. */
	int64_t min_duration_ns; /* only slices and asynchronous events that last at least this long */
	const char *name;        /* a shell pattern that the event's name must match; NULL, here and below: all */
	const char *track;       /* a shell pattern that the name of the event's track must match */
	const char *process;     /* a shell pattern for the event's process (its pid, program, label or host) or for the
	                            name of its device */
	uint32_t unix_times;     /* xspace: 1: lines have UNIX times, as in files that TensorFlow writes; their base is
	                            `timeline->from_ns`, and events that began before it are cut there.  0: times are
	                            relative */
	uint32_t events_max;     /* html: the maximum number of events in the page's timeline; if there are more, it
	                            shows a part.  0: 2,000,000 */
	uint32_t partitioned;    /* parquet: 1: the column of the run's number is called `session`, because the dataset
	                            uses `run` as the key of a folder */
	uint32_t part_bytes; /* xspace: the approximate maximum size of a file; the rest is written to further files.
	                        0: 1.9 GB, which readers of the format accept */
	/* html: the page's timeline shows only events that overlap [show_from_ns, show_to_ns), in the times of
	 * epp_timeline_options.  If there are more than `events_max`, it shows the earliest.  The page's tables include
	 * all events.  show_to_ns 0: to the end.  Both 0: all events or, if there are more than `events_max`, those of
	 * the time range in which devices (or threads) were busiest. */
	int64_t show_from_ns;
	int64_t show_to_ns;
	uint32_t kernels;    /* otlp, otlp-proto: 1: device events become spans, too; 0: only host events do */
	uint32_t gpu_stages; /* perfetto: 1: device events become GpuRenderStageEvents, for the viewer's views of GPUs;
	                        0: they become slices of tracks */
} epp_export_options;

/* Receives a description of the data that the format could not hold, in words, one line a call ("12 flows left
 * out").
 * Ownership: the text is borrowed for the call. */
typedef void (*epp_receipt_fn)(void *user, const char *text);

/* Writes `trace` as `format` into the sink.  The first failed write ends the export.  During the call a separate thread
 * reads the trace.  `sink` and `receipt` are called on the caller's thread.
 * Errors: EPP_NOT_FOUND (format), EPP_INVALID_ARGUMENT, EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY, EPP_CANCELLED.
 * `options` and `receipt` may be NULL. */
EPP_EXPORT epp_status *epp_export(epp_trace *trace, const char *format, const epp_export_options *options,
                                  epp_sink_fn sink, void *sink_user, epp_receipt_fn receipt, void *receipt_user)
    EPP_MUST_CHECK;

/* As epp_export, into a file that appears by rename when it is complete.  If the file exists and `overwrite` is 0, the
 * call fails with EPP_EXISTS; if it is a symbolic link, the call always fails, with EPP_IO.  The file gets the mode
 * that epp_session_create gives to files.  Some targets are written directly: "-" (standard output), paths of
 * descriptors of the process (/dev/stderr, /dev/fd/3), and other targets that are not regular files (a pipe,
 * /dev/full).
 * An xspace export of more than `part_bytes` continues in NAME_part2.xplane.pb and so on, and `receipt` reports this;
 * epp_export, which has only one sink, fails with EPP_INVALID_ARGUMENT.  With `overwrite`, further parts of an earlier
 * export are removed.
 * Errors: as epp_export. */
EPP_EXPORT epp_status *epp_export_file(epp_trace *trace, const char *format, const epp_export_options *options,
                                       const char *path, int overwrite, epp_receipt_fn receipt, void *receipt_user)
    EPP_MUST_CHECK;

/* The characters that are allowed in a run's name; the first one must not be '.'. */
#define EPP_RUN_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* Writes `trace` into DIRECTORY/run=RUN/host=HOST/part-N.parquet, one file for up to 64 processes of a host, with the
 * small tables processes, tracks, names and ledger in the same folder (docs/scale.md).  `run=RUN` appears when it is
 * complete.  If it exists, the call fails with EPP_EXISTS, or removes it first if `overwrite` is set.  `options` may be
 * NULL; the timeline's `sources` and the options of other formats are ignored.  Filters apply to events only.
 * Errors: as epp_export_file; EPP_INVALID_ARGUMENT (`run` has characters that are not in EPP_RUN_LETTERS). */
EPP_EXPORT epp_status *epp_export_dataset(epp_trace *trace, const char *directory, const char *run,
                                          const epp_export_options *options, int overwrite, epp_receipt_fn receipt,
                                          void *receipt_user) EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
