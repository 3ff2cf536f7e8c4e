/* Measures packing, and reading a packed trace: CPU time of one thread, with the files in the page cache.
 *
 * The trace has 10 M records of 3 threads and 2 streams: an op, its launch and the kernel; 3 % of the kernels are out
 * of order.  Packing is measured from opening the trace until the packed file has its name; reading includes reads,
 * checksums and decoding; a time range is a thousandth of the trace, from opening the file to the last event of the
 * range. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_trace.h"
#include "codec/checksum.h"
#include "epprof/timeline.h"
#include "epprof/trace_writer.h"
#include "trace/columns/columns.h"

#define PACKED_A_SECOND_LEAST 40.0 /* millions */
#define READ_A_SECOND_LEAST 50.0
#define BYTES_MOST 5.0
#define REPETITIONS_MAX 5u

struct figures {
	double pack[REPETITIONS_MAX], read[REPETITIONS_MAX], time_range_us[REPETITIONS_MAX], bytes;
	uint64_t records;
};

static epp_status *pack(const struct bench_file *file, const char *path, double *ns)
{
	epp_trace *trace = NULL;
	uint64_t begin_ns = bench_thread_ns();

	epp_status *status = epp_trace_open(file->path, &trace);
	if (!status)
		status = epp_trace_pack(trace, path, 1);
	epp_trace_close(trace);
	*ns = (double)(bench_thread_ns() - begin_ns);
	return status;
}

/* ---- reading back ---- */

struct reading {
	struct columns_decoder decoder;
	struct codec_record *records;
	uint8_t *args;
	size_t args_room;
	uint64_t count;
};

/* Returns false if the trace is damaged. */
static bool read_block(struct reading *reading, const struct epf_block *block, const uint8_t *payload)
{
	struct epf_block header = *block;
	uint64_t open_ids[EPF_OPEN_MAX];
	uint32_t decoded;

	header.checksum = 0;
	if (checksum_crc32c(checksum_crc32c(0, &header, sizeof(header)), payload, block->payload_bytes) != block->checksum)
		return false;
	if (block->type != EPF_BLOCK_COLUMNS)
		return true;
	size_t bytes = columns_args_bytes(block, payload);
	if (bytes == UINT32_MAX || block->record_count > CODEC_RECORDS_MAX)
		return false;
	if (bytes > reading->args_room) {
		free(reading->args);
		reading->args = malloc(bytes);
		reading->args_room = bytes;
	}
	if ((bytes && !reading->args) || columns_decode(&reading->decoder, block, payload, open_ids, reading->records,
	                                                reading->args, &decoded) != COLUMNS_OK)
		return false;
	reading->count += decoded;
	return true;
}

/* Segment by segment. */
static epp_status *read_back(const char *path, uint64_t *count, double *ns)
{
	struct reading reading = { .records = reallocarray(NULL, CODEC_RECORDS_MAX, sizeof(struct codec_record)) };
	uint8_t *segment = malloc(EPF_SEGMENT_BYTES);
	struct epf_header header;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good = segment && reading.records && pread(fd, &header, sizeof(header), 0) == sizeof(header);
	uint64_t begin_ns = bench_thread_ns();
	ssize_t got;

	for (uint64_t offset = good ? header.segments_offset : 0;
	     good && (got = pread(fd, segment, EPF_SEGMENT_BYTES, (off_t)offset)) > 0; offset += EPF_SEGMENT_BYTES) {
		struct epf_block block = { .magic = EPF_BLOCK_MAGIC };
		for (size_t at = EPF_SEGMENT_HEADER_BYTES; good && at + sizeof(block) <= (size_t)got;) {
			memcpy(&block, segment + at, sizeof(block));
			if (block.magic != EPF_BLOCK_MAGIC)
				break;
			good = block.payload_bytes <= (size_t)got - at - sizeof(block) &&
			       read_block(&reading, &block, segment + at + sizeof(block));
			at = (at + sizeof(block) + block.payload_bytes + 7) / 8 * 8;
		}
	}
	*ns = (double)(bench_thread_ns() - begin_ns);
	*count = reading.count;
	if (fd >= 0)
		close(fd);
	columns_decoder_deinit(&reading.decoder);
	free(reading.records);
	free(reading.args);
	free(segment);
	return good ? NULL : epp_status_create(EPP_CORRUPT, "%s: a block cannot be read", path);
}

/* ---- a stretch of time ---- */

static epp_status *read_stretch(const char *path, double *us)
{
	epp_trace *trace = NULL;
	epp_timeline *timeline = NULL;
	const epp_event *event;
	epp_trace_run run = { .struct_size = sizeof(run) };
	uint64_t begin_ns = bench_thread_ns();

	epp_status *status = epp_trace_open(path, &trace);
	if (!status) {
		epp_trace_run_at(trace, 0, &run);
		int64_t middle = run.start_ns + (run.end_ns - run.start_ns) / 2;
		status = epp_timeline_create(trace,
		                             &(epp_timeline_options){ .struct_size = sizeof(epp_timeline_options),
		                                                      .from_ns = middle,
		                                                      .to_ns = middle + (run.end_ns - run.start_ns) / 1000 },
		                             &timeline);
	}
	while (!status && epp_timeline_next(timeline, &event))
		;
	if (!status)
		status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	*us = (double)(bench_thread_ns() - begin_ns) / 1e3;
	return status;
}

static epp_status *measure(const struct bench_file *file, const char *path, unsigned repetitions, uint64_t written,
                           struct figures *figures)
{
	epp_status *status = NULL;
	epp_trace *trace = NULL;
	double ns;

	for (unsigned i = 0; i < repetitions && !status; i++) {
		status = pack(file, path, &ns);
		figures->pack[i] = (double)written * 1e3 / ns;
		if (!status)
			status = read_back(path, &figures->records, &ns);
		figures->read[i] = (double)figures->records * 1e3 / ns;
		if (!status)
			status = read_stretch(path, &figures->time_range_us[i]);
	}
	if (!status)
		status = epp_trace_open(path, &trace);
	if (!status)
		figures->bytes = (double)epp_trace_get_info(trace)->file_bytes / (double)figures->records;
	epp_trace_close(trace);
	if (!status && figures->records < written)
		status = epp_status_create(EPP_CORRUPT, "%llu records came back of %llu",
		                           (unsigned long long)figures->records, (unsigned long long)written);
	return status;
}

static void report(struct bench *bench, const char *figure, const char *unit, double *samples, unsigned repetitions,
                   enum bench_bound kind, double bound, uint64_t count)
{
	double median = bench_median(samples, repetitions); /* sorts */

	bench_report(bench, &(struct bench_line){ .figure = figure,
	                                          .unit = unit,
	                                          .value = median,
	                                          .best = kind == BENCH_AT_LEAST ? samples[repetitions - 1] : samples[0],
	                                          .kind = kind,
	                                          .bound = bound,
	                                          .count = count,
	                                          .repetitions = repetitions });
}

void bench_pack(struct bench *bench)
{
	const struct bench_trace_shape shape = {
		.events_count = 10000000 / bench->divisor, .threads_count = 3, .streams_count = 2, .launching = true
	};
	unsigned repetitions = bench->repetitions < REPETITIONS_MAX ? bench->repetitions : REPETITIONS_MAX;
	struct bench_file file = { .fd = -1 };
	struct figures figures = { .bytes = 0 };
	const char *folder = getenv("TMPDIR");
	uint64_t written = 0;
	char path[256];

	snprintf(path, sizeof(path), "%s/epprof-bench-pack-%ld.epp", folder ? folder : "/tmp", (long)getpid());
	epp_status *status = bench_trace_write(&shape, &file, &written);
	if (!status)
		status = measure(&file, path, repetitions, written, &figures);
	unlink(path);
	bench_file_close(&file);
	if (status) {
		bench_fail(bench, "10 M records", status);
		return;
	}
	report(bench, "10 M records", "M/s", figures.pack, repetitions, BENCH_AT_LEAST, PACKED_A_SECOND_LEAST,
	       figures.records);
	report(bench, "a record takes", "bytes", &figures.bytes, 1, BENCH_AT_MOST, BYTES_MOST, figures.records);
	report(bench, "read back", "M/s", figures.read, repetitions, BENCH_AT_LEAST, READ_A_SECOND_LEAST, figures.records);
	report(bench, "a thousandth of the time", "us", figures.time_range_us, repetitions, BENCH_NO_BOUND, 0, 0);
}
