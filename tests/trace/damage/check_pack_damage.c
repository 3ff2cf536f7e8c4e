/* Packed files that are damaged, cut, or lie: what is damaged is told and loses itself alone, and nothing breaks; and
 * those that lie beyond 4 GiB. */
#include "codec/checksum.h"
#include "tests/support/packing.h"
#include "tests/support/recording.h"

struct told {
	uint64_t offset; /* looked for */
	unsigned errors_there;
};

static void note_told(void *user, const epp_trace_finding *finding)
{
	struct told *told = user;
	told->errors_there += finding->severity == EPP_ERROR && finding->offset == told->offset;
}

START_TEST(a_damaged_block_loses_itself_alone)
{
	struct sample sample = packed_sample(60);
	epp_trace *whole = open_image(sample.image, sample.bytes);
	uint64_t records_count = whole->reader->info.records_count, errors;

	ck_assert_uint_gt(whole->reader->blocks_count, 8);
	for (size_t i = 0; i < whole->reader->blocks_count; i++) {
		const struct reader_block *block = &whole->reader->blocks[i];
		struct told told = { .offset = block->offset };
		uint8_t *byte = &sample.image[block->offset + sizeof(struct epf_block) + random_below(block->payload_bytes)];
		*byte ^= 4;
		epp_trace *trace = open_image(sample.image, sample.bytes);
		ck_assert_uint_eq(trace->reader->findings_count, 0);
		free(see(trace->reader, 0, 0));
		ck_assert_uint_eq(trace->reader->findings_count, 1);
		ck_assert(has_finding_of(trace, EPP_ERROR, "records are lost"));
		ck_assert_uint_eq(trace->reader->findings[0].offset, block->offset);
		ck_assert_uint_eq(trace->reader->info.records_count, records_count - block->record_count);
		epp_trace_close(trace);
		trace = open_image(sample.image, sample.bytes);
		check_ok(epp_trace_validate(trace, note_told, &told, &errors));
		ck_assert_uint_gt(told.errors_there, 0);
		epp_trace_close(trace);
		*byte ^= 4;
	}
	epp_trace_close(whole);
	free(sample.image);
}
END_TEST

START_TEST(a_damaged_index_is_not_needed)
{
	struct sample sample = packed_sample(60);
	epp_trace *whole = open_image(sample.image, sample.bytes);
	struct epf_index_place place;
	struct epf_block block;
	char *all = see(whole->reader, 0, 0);

	memcpy(&place, sample.image + EPF_INDEX_PLACE_OFFSET, sizeof(place));
	memcpy(&block, sample.image + place.offset, sizeof(block));
	ck_assert_uint_eq(block.type, EPF_BLOCK_INDEX);
	for (size_t part = 0; part < 2; part++) {
		size_t begin = part ? place.offset : EPF_INDEX_PLACE_OFFSET;
		size_t end = begin + (part ? sizeof(block) + block.payload_bytes : sizeof(place));
		for (size_t at = begin; at < end; at += 1 + random_below(part ? 40 : 1)) {
			sample.image[at] ^= (uint8_t)(1u << random_below(8));
			epp_trace *trace = open_image(sample.image, sample.bytes);
			MUST(!trace->reader->summaries);
			MUST(has_finding_of(trace, EPP_WARNING, "the index cannot be used"));
			MUST(trace->reader->info.records_count == whole->reader->info.records_count);
			must_be_same(see(trace->reader, 0, 0), keep(all), "without the index");
			epp_trace_close(trace);
			memcpy(sample.image + EPF_INDEX_PLACE_OFFSET, &place, sizeof(place));
			epp_trace_close(whole);
			/* What was changed is put right from the file. */
			free(sample.image);
			char *path = keep(check_path("d.packed.epp"));
			sample.image = read_file(path, &sample.bytes);
			free(path);
			whole = open_image(sample.image, sample.bytes);
		}
	}
	free(all);
	epp_trace_close(whole);
	free(sample.image);
}
END_TEST

/* An index whose checksum is right, and which lies: nothing breaks, and validate finds it if anything is shown
 * otherwise. */
START_TEST(an_index_that_lies)
{
	struct sample sample = packed_sample(60);
	struct epf_index_place place;
	struct epf_block block;

	memcpy(&place, sample.image + EPF_INDEX_PLACE_OFFSET, sizeof(place));
	memcpy(&block, sample.image + place.offset, sizeof(block));
	uint8_t *payload = sample.image + place.offset + sizeof(block), *copy = malloc(block.payload_bytes);
	ck_assert_ptr_nonnull(copy);
	epp_trace *whole = open_image(sample.image, sample.bytes);
	char *truth = see(whole->reader, 2000, 5000);
	epp_trace_close(whole);
	memcpy(copy, payload, block.payload_bytes);
	for (uint32_t at = 0; at < block.payload_bytes; at += 1 + random_below(3 * RECORDING_SLOW)) {
		uint64_t errors;
		epp_trace *trace;
		payload[at] ^= (uint8_t)(1u << random_below(8));
		block.checksum = 0;
		block.checksum = checksum_crc32c(checksum_crc32c(0, &block, sizeof(block)), payload, block.payload_bytes);
		memcpy(sample.image + place.offset, &block, sizeof(block));
		check_ok(builder_open_image(sample.image, sample.bytes, &trace));
		char *seen = try_to_see(trace->reader, 2000, 5000);
		check_ok(epp_trace_validate(trace, NULL, NULL, &errors));
		MUST(errors || (seen && !strcmp(seen, truth)));
		free(seen);
		epp_trace_close(trace);
		memcpy(payload, copy, block.payload_bytes);
	}
	free(copy);
	free(truth);
	free(sample.image);
}
END_TEST

START_TEST(cut_anywhere)
{
	struct sample sample = packed_sample(60);
	epp_trace *whole = open_image(sample.image, sample.bytes), *trace;
	uint64_t records_count = whole->reader->info.records_count;

	for (size_t bytes = 0; bytes < sample.bytes; bytes += bytes < EPF_PAGE_BYTES ? 97 : 1 + random_below(60)) {
		epp_status *status = builder_open_image(sample.image, bytes, &trace);
		MUST(bytes >= EPF_PAGE_BYTES || status);
		epp_status_destroy(status);
		if (status)
			continue;
		MUST(trace->reader->info.records_count <= records_count);
		MUST(!trace->reader->summaries || bytes + 8 > sample.bytes);
		MUST(trace->reader->findings_count || bytes + 8 > sample.bytes);
		free(see(trace->reader, 0, 0));
		epp_trace_close(trace);
	}
	epp_trace_close(whole);
	free(sample.image);
}
END_TEST

START_TEST(changed_anywhere)
{
	struct sample sample = packed_sample(8192);
	epp_trace *trace;

	for (size_t at = 0; at < sample.bytes; at += 1 + random_below(20 * RECORDING_SLOW)) {
		uint8_t before = sample.image[at];
		uint64_t errors;
		sample.image[at] ^= (uint8_t)(1 + random_below(255));
		epp_status *status = builder_open_image(sample.image, sample.bytes, &trace);
		epp_status_destroy(status);
		if (!status) {
			status = epp_trace_validate(trace, NULL, NULL, &errors);
			epp_status_destroy(status);
			MUST(!status);
			free(try_to_see(trace->reader, 1000, 3000));
			epp_trace_close(trace);
		}
		sample.image[at] = before;
	}
	free(sample.image);
}
END_TEST

/* Moves all segments, and what says where they are. */
static void move_segments(struct sample *sample, uint64_t by)
{
	struct epf_header *header = (struct epf_header *)(void *)sample->image;
	struct epf_index_place *place = (struct epf_index_place *)(void *)(sample->image + EPF_INDEX_PLACE_OFFSET);
	struct epf_block *block = (struct epf_block *)(void *)(sample->image + place->offset);
	struct epf_index *index = (struct epf_index *)(void *)(block + 1);
	struct epf_index_entry *entries = (struct epf_index_entry *)(void *)(index + 1);

	for (uint32_t i = 0; i < index->entries_count; i++)
		entries[i].offset += by;
	block->checksum = 0;
	block->checksum = checksum_crc32c(0, block, sizeof(*block) + block->payload_bytes);
	place->offset += by;
	place->end += by;
	place->checksum = 0;
	place->checksum = checksum_crc32c(0, place, sizeof(*place));
	header->segments_offset += by;
	builder_seal_header(sample->image);
}

START_TEST(files_beyond_4_gib)
{
	const uint64_t by = 5ull << 30;
	struct sample sample = packed_sample(60);
	epp_trace *near = open_image(sample.image, sample.bytes);
	size_t segments_offset = near->reader->header.segments_offset;
	char *path = keep(check_path("far.epp"));
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	char *seen = see(near->reader, 0, 0), *time_range = see(near->reader, 2000, 5000);
	uint64_t errors = validation_errors(near);
	struct reader *scanned;

	move_segments(&sample, by);
	ck_assert(pwrite(fd, sample.image, segments_offset, 0) == (ssize_t)segments_offset);
	ck_assert(pwrite(fd, sample.image + segments_offset, sample.bytes - segments_offset,
	                 (off_t)(by + segments_offset)) == (ssize_t)(sample.bytes - segments_offset));
	close(fd);
	epp_trace *far = open_trace(path);
	ck_assert_ptr_nonnull(far->reader->summaries);
	ck_assert_uint_eq(far->reader->info.file_bytes, by + sample.bytes);
	must_be_same(see(far->reader, 2000, 5000), time_range, "a stretch");
	check_ok(reader_open_again(far->reader, &scanned));
	ck_assert_uint_eq(scanned->findings_count, 0);
	must_be_same(see(scanned, 0, 0), keep(seen), "scanned");
	must_be_same(see(far->reader, 0, 0), seen, "by the index");
	ck_assert_uint_eq(validation_errors(far), errors);
	reader_close(scanned);
	epp_trace_close(far);
	epp_trace_close(near);
	unlink(path);
	free(path);
	free(sample.image);
}
END_TEST

static Suite *pack_damage_suite(void)
{
	Suite *suite = suite_create("pack_damage");
	TCase *cases = tcase_create("all");

	tcase_add_test(cases, a_damaged_block_loses_itself_alone);
	tcase_add_test(cases, a_damaged_index_is_not_needed);
	tcase_add_test(cases, an_index_that_lies);
	tcase_add_test(cases, cut_anywhere);
	tcase_add_test(cases, changed_anywhere);
	tcase_add_test(cases, files_beyond_4_gib);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(pack_damage_suite)
