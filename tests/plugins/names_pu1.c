/* The scripted PU1 plugin, with work of its own: kernels whose names and metadata a JSON writer must escape or
 * repair. */
#include "scripted_pu1.c"

#include <string.h>

PU1_API int epp_sample_work(int count);

static const char *const texts[] = {
	"plain", "a \"quote\"",  "back\\slash \\",    "tab\tline\nend\x01", "\xff\xfe not UTF-8 \xc3",
	"",      "%s %n {} {0}", "\xc3\xa9t\xc3\xa9",
};
#define TEXTS_COUNT (sizeof(texts) / sizeof(texts[0]))

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Makes `count` rounds of one kernel for each text.  Returns the number of records for which the host had no room. */
int epp_sample_work(int count)
{
	uint8_t *buffer = NULL;
	size_t size, max_records, used = 0;
	if (!script.request)
		return 0;
	script.request(&buffer, &size, &max_records);
	if (!buffer)
		return count * (int)TEXTS_COUNT;
	for (int i = 0; i < count; i++) {
		for (size_t text = 0; text < TEXTS_COUNT; text++) {
			uint64_t start = now_ns();
			const pu1ActivityRecord record = {
				.kind = PU1_KIND_CONCURRENT_KERNEL,
				.struct_size = sizeof(record),
				.start_time = start,
				.end_time = now_ns(),
				.flags = stack.depth ? PU1_FLAG_EXTERNAL_ID : 0,
				.device_id = text % 2 ? INT32_MAX : 0,
				.stream_id = text % 2 ? INT64_MIN : (int64_t)text,
				.correlation_id = UINT64_MAX - text, /* the same each round */
				.external_id = top(),
				.name = texts[text],
				.metadata = texts[TEXTS_COUNT - 1 - text],
			};
			memcpy(buffer + used, &record, sizeof(record));
			used += sizeof(record);
		}
	}
	script.complete(buffer, size, used);
	return 0;
}
