/* Opening a trace: what its header may say, the three states, what is told about it. */
#include "trace/reader.h"

#include <errno.h>
#include <string.h>

#include "tests/trace/reader_file.h"

static void open_fails(struct file *f, size_t bytes, epp_code code, const char *part)
{
	epp_trace *trace;
	epp_status *status = builder_open_image(f->image, bytes, &trace);
	ck_assert_ptr_nonnull(status);
	ck_assert_ptr_null(trace);
	ck_assert_msg(epp_status_code(status) == code && strstr(epp_status_message(status), part), "%d: %s",
	              (int)epp_status_code(status), epp_status_message(status));
	epp_status_destroy(status);
}

static struct epf_header *header_of(struct file *f)
{
	return (struct epf_header *)(void *)f->image;
}

START_TEST(headers)
{
	struct file f = build(EPF_FINISHED);
	open_fails(&f, 0, EPP_CORRUPT, "empty");
	open_fails(&f, 5, EPP_CORRUPT, "not an .epp");
	open_fails(&f, 8, EPP_CORRUPT, "ends inside its header");
	open_fails(&f, EPF_PAGE_BYTES - 1, EPP_CORRUPT, "ends inside its header");

	header_of(&f)->version = EPF_VERSION + 1;
	open_fails(&f, f.bytes, EPP_INCOMPATIBLE, "version 3 of the format; versions 1 to 2 can be read");
	header_of(&f)->version = 0;
	open_fails(&f, f.bytes, EPP_INCOMPATIBLE, "version 0");
	header_of(&f)->version = __builtin_bswap32(1);
	header_of(&f)->byte_order = __builtin_bswap32(EPF_BYTE_ORDER);
	open_fails(&f, f.bytes, EPP_INCOMPATIBLE, "byte order");
	header_of(&f)->byte_order = 7;
	open_fails(&f, f.bytes, EPP_CORRUPT, "byte order");
	header_of(&f)->byte_order = EPF_BYTE_ORDER;
	header_of(&f)->version = EPF_VERSION_MIN;
	builder_seal_header(f.image);
	epp_trace *trace;
	check_ok(builder_open_image(f.image, f.bytes, &trace));
	epp_trace_close(trace);
	header_of(&f)->version = EPF_VERSION;
	builder_seal_header(f.image);

	header_of(&f)->policy ^= 1;
	open_fails(&f, f.bytes, EPP_CORRUPT, "checksum");
	header_of(&f)->policy ^= 1;
	header_of(&f)->features = 1ull << 20;
	builder_seal_header(f.image);
	open_fails(&f, f.bytes, EPP_INCOMPATIBLE, "features 100000");
	header_of(&f)->features = 1ull << 50;
	builder_seal_header(f.image);
	check_ok(builder_open_image(f.image, f.bytes, &trace));
	epp_trace_close(trace);
	f.image[1] ^= 1;
	open_fails(&f, f.bytes, EPP_CORRUPT, "not an .epp");
	drop(&f);
}
END_TEST

START_TEST(impossible_geometry)
{
	struct file f = build(EPF_RECORDING);
	static const struct {
		size_t offset;
		uint64_t value;
		size_t bytes;
	} lies[] = {
		{ offsetof(struct epf_header, slot_count), UINT32_MAX, 4 },
		{ offsetof(struct epf_header, slot_bytes), 0, 4 },
		{ offsetof(struct epf_header, chunk_bytes), 0, 4 },
		{ offsetof(struct epf_header, chunk_bytes), 4097, 4 },
		{ offsetof(struct epf_header, chunk_count), UINT32_MAX, 4 },
		{ offsetof(struct epf_header, log_bytes), UINT32_MAX, 4 },
		{ offsetof(struct epf_header, segment_bytes), 0, 4 },
		{ offsetof(struct epf_header, segment_bytes), 1u << 31, 4 },
		{ offsetof(struct epf_header, segments_offset), UINT64_MAX - 4095, 8 },
		{ offsetof(struct epf_header, segments_offset), 0, 8 },
		{ offsetof(struct epf_header, live_offset), 0, 8 },
		{ offsetof(struct epf_header, slots_offset), 1ull << 62, 8 },
		{ offsetof(struct epf_header, log_offset), UINT64_MAX, 8 },
		{ offsetof(struct epf_header, chunks_offset), 1, 8 },
		{ offsetof(struct epf_header, header_bytes), 0, 4 },
	};
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		struct epf_header saved = *header_of(&f);
		memcpy(f.image + lies[i].offset, &lies[i].value, lies[i].bytes);
		builder_seal_header(f.image);
		open_fails(&f, f.bytes, EPP_CORRUPT, "contradict");
		*header_of(&f) = saved;
	}
	drop(&f);
}
END_TEST

START_TEST(said_about_itself)
{
	struct file f = build(EPF_FINISHED);
	epp_trace *trace;
	check_ok(builder_open_image(f.image, f.bytes, &trace));
	const epp_trace_info *info = epp_trace_get_info(trace);
	ck_assert_ptr_null(info->path);
	ck_assert_str_eq(info->label, "built");
	ck_assert_str_eq(info->program, "test");
	ck_assert_str_eq(info->hostname, "builder");
	ck_assert_str_eq(info->file_id, "65707072"
	                                "6f662074"
	                                "65737420"
	                                "66696c65");
	ck_assert_uint_eq(info->version, EPF_VERSION);
	ck_assert_uint_eq(info->state, EPP_TRACE_FINISHED);
	ck_assert_uint_eq(info->runs_count, 1);
	ck_assert_uint_eq(info->sources_count, 1);
	ck_assert_uint_eq(info->tracks_count, 3);
	ck_assert_uint_eq(info->producers_count, 1);
	ck_assert_str_eq(info->clock, "monotonic");
	ck_assert_uint_eq(info->ticks_per_second, 1000000000);
	ck_assert_int_eq(info->epoch_unix_ns, BUILDER_REALTIME_NS);
	ck_assert_uint_eq(info->file_bytes, f.bytes);
	ck_assert_uint_eq(info->records_count, 5);
	ck_assert_uint_eq(info->recovered_records_count, 0);
	ck_assert_uint_eq(info->open_count, 0);
	ck_assert_uint_eq(info->names_count, 12 + 3);
	ck_assert_uint_eq(info->survives, 1);
	const struct reader *reader = trace->reader;
	ck_assert_uint_eq(reader->findings_count, 0);
	ck_assert_uint_eq(reader->pairs_count, 2);
	ck_assert_uint_eq(reader->pairs[0].ticks, BUILDER_START);
	ck_assert_uint_gt(reader->pairs[1].ticks, BUILDER_START);
	epp_trace_close(trace);
	drop(&f);
}
END_TEST

START_TEST(tracks_and_names)
{
	struct file f = build(EPF_RECORDING);
	epp_trace *trace;
	check_ok(builder_open_image(f.image, f.bytes, &trace));
	const epp_trace_track *track = epp_trace_track_find(trace, f.stream);
	ck_assert_ptr_nonnull(track);
	ck_assert_str_eq(track->name, "stream 1");
	ck_assert_str_eq(track->group, "Accelerator 0");
	ck_assert_uint_eq(track->kind, EPP_TRACK_DEVICE);
	ck_assert_int_eq(track->device, 0);
	ck_assert_int_eq(track->stream, 1);
	ck_assert_int_eq(track->producer, 0);
	ck_assert_ptr_eq(track, epp_trace_track_at(trace, 2));
	track = epp_trace_track_find(trace, f.worker);
	ck_assert_str_eq(track->name, "worker");
	ck_assert_str_eq(track->group, "test");
	ck_assert_uint_eq(track->thread_id, 101);
	ck_assert_uint_eq(track->pid, 0x7ffffff0);
	ck_assert_ptr_null(epp_trace_track_find(trace, 0));
	ck_assert_ptr_null(epp_trace_track_find(trace, 999));
	ck_assert_ptr_null(epp_trace_track_at(trace, 3));
	ck_assert_ptr_null(reader_track_definition(trace->reader, 999));
	ck_assert_uint_eq(reader_track_definition(trace->reader, f.stream)->track, f.stream);

	size_t bytes;
	ck_assert_str_eq(epp_trace_name(trace, f.matmul, NULL), "matmul");
	ck_assert(!memcmp(epp_trace_name(trace, f.gemm, &bytes), "ge\0mm\"", 7));
	ck_assert_uint_eq(bytes, 6);
	ck_assert_str_eq(epp_trace_name(trace, EPF_NAME_PENDING, NULL), "(pending)");
	ck_assert_str_eq(epp_trace_name(trace, 0, NULL), "(unknown)");
	ck_assert_str_eq(epp_trace_name(trace, UINT32_MAX, &bytes), "(unknown)");
	ck_assert_uint_eq(bytes, 9);
	epp_trace_close(trace);
	drop(&f);
}
END_TEST

struct failing {
	struct reader_source inner;
	uint64_t after; /* reads fail from this offset on */
	int closed;
};

static size_t failing_read(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	struct failing *failing = user;
	if (offset + bytes > failing->after) {
		errno = EIO;
		return 0;
	}
	return failing->inner.read(failing->inner.user, offset, buffer, bytes);
}

static void failing_close(void *user)
{
	struct failing *failing = user;
	failing->closed++;
	failing->inner.close(failing->inner.user);
}

/* An error of the disk is not the end of the file. */
START_TEST(failing_reads)
{
	struct file f = build(EPF_RECORDING);
	for (uint64_t after = 0; after < f.bytes; after += 2048) {
		struct failing failing = { builder_source(f.image, f.bytes), after, 0 };
		struct reader *reader;
		check_fails(EPP_IO, reader_open(&(struct reader_source){ failing_read, failing_close, &failing },
		                                "x.epp", &reader));
		ck_assert_ptr_null(reader);
		ck_assert_int_eq(failing.closed, 1);
	}
	drop(&f);
}
END_TEST

START_TEST(nothing_recorded)
{
	for (int finished = 0; finished < 2; finished++) {
		struct epp_builder *b = builder_create();
		epp_trace *trace = builder_open(b, finished ? EPF_FINISHED : EPF_RECORDING);
		ck_assert_uint_eq(trace->reader->info.records_count, 0);
		ck_assert_uint_eq(trace->reader->info.tracks_count, 0);
		ck_assert_uint_eq(trace->reader->info.runs_count, 1);
		ck_assert_uint_eq(trace->reader->findings_count, 0);
		ck_assert_uint_eq(epp_trace_ledger_count(trace), 1);
		uint64_t errors;
		check_ok(epp_trace_validate(trace, NULL, NULL, &errors));
		ck_assert_uint_eq(errors, 0);
		epp_trace_close(trace);
		builder_destroy(b);
	}
	reader_close(NULL);
	epp_trace_close(NULL);
}
END_TEST

START_TEST(several_runs)
{
	struct epp_builder *b = builder_create();
	epp_name name = builder_name(b, "x");
	uint32_t thread = builder_thread(b, "main", 1);
	builder_event(b, thread, BUILDER_START + 10, 10, 0, name, NULL, 0);
	builder_run_end(b, BUILDER_START + 1000);
	builder_run_start(b, BUILDER_START + 2000);
	builder_event(b, thread, BUILDER_START + 2010, 10, 0, name, NULL, 0);
	builder_host_pair(b, BUILDER_START + 2100, 20, 0);
	for (int finished = 0; finished < 2; finished++) {
		epp_trace *trace = builder_open(b, finished ? EPF_FINISHED : EPF_RECORDING);
		const struct reader *reader = trace->reader;
		ck_assert_uint_eq(reader->runs_count, 2);
		ck_assert_uint_eq(reader->runs[0].end.ticks, BUILDER_START + 1000);
		ck_assert_uint_eq(reader->runs[1].start.ticks, BUILDER_START + 2000);
		ck_assert(finished == (reader->runs[1].end.ticks != 0));
		ck_assert_uint_eq(reader->pairs_count, 4 + (size_t)finished);
		for (size_t i = 1; i < reader->pairs_count; i++)
			ck_assert_uint_lt(reader->pairs[i - 1].ticks, reader->pairs[i].ticks);
		ck_assert_uint_eq(reader->info.records_count, 2);
		uint64_t errors;
		check_ok(epp_trace_validate(trace, NULL, NULL, &errors));
		ck_assert_uint_eq(errors, 0);
		epp_trace_close(trace);
	}
	builder_destroy(b);
}
END_TEST

static Suite *reader_suite(void)
{
	Suite *suite = suite_create("reader");
	TCase *cases = tcase_create("all");
	tcase_add_test(cases, headers);
	tcase_add_test(cases, impossible_geometry);
	tcase_add_test(cases, said_about_itself);
	tcase_add_test(cases, tracks_and_names);
	tcase_add_test(cases, failing_reads);
	tcase_add_test(cases, nothing_recorded);
	tcase_add_test(cases, several_runs);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(reader_suite)
