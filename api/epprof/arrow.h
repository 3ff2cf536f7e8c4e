/* epprof: the events of a trace as an Arrow C stream, which pyarrow, polars, DuckDB, pandas, R and others read without a
 * copy: https://arrow.apache.org/docs/format/CStreamInterface.html
 *
 *   struct ArrowArrayStream stream;
 *   epp_trace_arrow_stream(trace, NULL, &stream);
 *   struct ArrowArray rows;
 *   while (stream.get_next(&stream, &rows) == 0 && rows.release) { ...; rows.release(&rows); }
 *   stream.release(&stream);
 *
 * A stream has one row for each event, in order of start, in batches.  The columns are those of the Parquet export
 * (docs/formats.md): 64-bit integers ("l") and UTF-8 texts ("u"); bytes of a text that are not UTF-8 become U+FFFD.
 * Columns that may have no value are nullable: pid, tid, device, stream, parent, args.
 *
 * Thread, unless a function states otherwise: [any-thread], but a trace and its streams are used by one thread at a
 * time.  Batches and the schema are independent of the stream and of the trace: each may be used and released alone. */
#ifndef EPPROF_ARROW_H
#define EPPROF_ARROW_H

#include "epprof/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The structs of the Arrow C data interface, copied from its specification.  Every header that declares them uses the
 * same guards. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
	const char *format;
	const char *name;
	const char *metadata;
	int64_t flags;
	int64_t n_children;
	struct ArrowSchema **children;
	struct ArrowSchema *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};

struct ArrowArray {
	int64_t length;
	int64_t null_count;
	int64_t offset;
	int64_t n_buffers;
	int64_t n_children;
	const void **buffers;
	struct ArrowArray **children;
	struct ArrowArray *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

#endif

typedef struct epp_arrow_options {
	size_t struct_size;
	const epp_timeline_options *timeline; /* NULL: all events; borrowed for the call */
	uint32_t rows_max;    /* the maximum number of rows in a batch; 0: 65,536.  A batch ends earlier if it has more
	                      than 64 MiB of text */
	uint32_t close_trace; /* 1: the stream closes the trace when it is released */
} epp_arrow_options;

/* Creates a stream of the events of a trace.  `options` may be NULL.
 * The stream's functions return 0, or an errno: ENOMEM; EIO (a failed read); EINVAL (a damaged file).
 * get_last_error returns the reason as a text, valid until the next call.  After an error of get_next the stream can
 * only be released.  At the end get_next returns 0, and the array's `release` is NULL.
 * Ownership: the caller releases the stream.  Unless options.close_trace is set, this must happen before the trace is
 * closed.  On failure `stream->release` is NULL, and the trace stays open.  Errors: as epp_timeline_create. */
EPP_EXPORT epp_status *epp_trace_arrow_stream(epp_trace *trace, const epp_arrow_options *options,
                                              struct ArrowArrayStream *stream) EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
