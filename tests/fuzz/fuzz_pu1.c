/* Buffers of a PU1 library: converted to events for one profiler, which no session has. */
#include <string.h>

#include "plugins/pu1/pu1_pool.h"
#include "plugins/pu1/pu1_reading.h"
#include "tests/fuzz/fuzz.h"

#define OWNER 7u /* no library that the tests load */

/* Names and metadata are addresses; small numbers select one of these. */
static const char *const texts[] = { NULL, "", "gemm \"x\"\n", "{\"grid\": [1, 2]}", "\xff\xfe" };
#define TEXTS_COUNT (sizeof texts / sizeof *texts)

static const char *text_of(const char *number)
{
	return (uintptr_t)number < TEXTS_COUNT ? texts[(uintptr_t)number] : number;
}

static void set_texts(uint8_t *bytes, size_t count)
{
	pu1ActivityRecord record;

	for (size_t at = 0; count - at >= offsetof(pu1ActivityRecord, external_id);) {
		memcpy(&record, bytes + at, offsetof(pu1ActivityRecord, external_id));
		record.name = text_of(record.name);
		record.metadata = text_of(record.metadata);
		memcpy(bytes + at, &record, offsetof(pu1ActivityRecord, external_id));
		if (!record.struct_size || record.struct_size > count - at)
			return;
		at += record.struct_size;
	}
}

static struct pu1_library *make_library(void)
{
	static struct pu1_library library = { .number = OWNER };
	static struct pu1_profiler profiler = { .library = &library, .end_ns = UINT64_MAX };

	FUZZ_MUST(pu1_pool_setup());
	FUZZ_MUST((library.reading = pu1_reading_create()) && (library.tokens = pu1_tokens_create()));
	atomic_store(&profiler.is_on, true);
	LIST_INSERT_HEAD(&library.profilers, &profiler, link);
	return &library;
}

static void run(const uint8_t *bytes, size_t count)
{
	static struct pu1_library *library;

	if (!library)
		library = make_library();
	uint8_t *buffer = pu1_pool_take(OWNER);
	FUZZ_MUST(buffer);
	memcpy(buffer, bytes, count);
	set_texts(buffer, count);
	FUZZ_MUST(!pu1_pool_return(OWNER, buffer, count));
	LIST_FIRST(&library->profilers)->faults_count = 0;
	pu1_read(library);
	FUZZ_MUST(pu1_pool_full_count(OWNER) == 0);
}

static size_t seed(size_t index, uint8_t *bytes)
{
	pu1ActivityRecord records[5];

	if (index > 0)
		return 0;
	for (uint32_t i = 0; i < 5; i++) {
		records[i] = (pu1ActivityRecord){ .kind = PU1_KIND_CONCURRENT_KERNEL + i,
			                          .struct_size = sizeof *records,
			                          .start_time = 1000 + i,
			                          .end_time = 2000 + i,
			                          .correlation_id = 77,
			                          .name = (const char *)(uintptr_t)i,
			                          .metadata = (const char *)(uintptr_t)(i ^ 3),
			                          .flags = i & 1 ? PU1_FLAG_EXTERNAL_ID : 0,
			                          .external_id = i };
	}
	memcpy(bytes, records, sizeof records);
	return sizeof records;
}

const struct fuzz_target fuzz_pu1 = { "pu1", run, seed, NULL };
