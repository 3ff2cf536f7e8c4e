/* Profiles that plugins of TensorFlow and JAX return: delivered to a profiler, which no session has.  The first byte
 * selects XSpace or RunMetadata. */
#include <stdio.h>
#include <string.h>

#include "plugins/profile/profile_delivery.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/xplane_builder.h"

static void run(const uint8_t *bytes, size_t count)
{
	OrtEpProfilerImpl profiler = { .ort_version_supported = 0 };
	struct profile_target target = { .profiler = &profiler, .name = "notes" };
	struct profile_time_range window = { .oldest_ns = -1000000000, .until_ns = INT64_MAX, .counts_losses = true };
	uint64_t events_count;

	if (!count)
		return;
	/* Memory of the plugin, of the exact size. */
	struct profile_data data = { .bytes = malloc(count), .count = count - 1 };
	FUZZ_MUST(data.bytes);
	memcpy(data.bytes, bytes + 1, count - 1);
	epp_status_destroy(bytes[0] & 1 ? profile_deliver_run_metadata(&target, &data, &window)
	                                : profile_deliver_xspace(&target, &data, &window, &events_count));
	free(data.bytes);
}

/* More devices than there is room for. */
static void many_devices(struct xbytes *space)
{
	for (unsigned i = 0; i < 300; i++) {
		struct xbytes plane = { 0 };
		char name[16];
		snprintf(name, sizeof name, "%u", i);
		xtext(&plane, 2, name);
		xput(space, 1, &plane);
	}
}

/* An event with stats whose names have zero bytes only. */
static void names_of_zero_bytes(struct xbytes *space)
{
	static const char zeros[4096];
	struct xbytes plane = { 0 }, line = { 0 }, event = { 0 };

	for (uint64_t i = 1; i <= 2; i++) {
		struct xbytes name = { 0 }, value = { 0 }, entry = { 0 };
		xraw(&name, zeros, sizeof zeros);
		xnumber(&value, 1, i);
		xput(&value, 2, &name);
		xnumber(&entry, 1, i);
		xput(&entry, 2, &value);
		xput(&plane, 5, &entry);
	}
	xline(&line, 1, "stream", 1000);
	xevent(&event, 1, 1000, 1000);
	for (int64_t i = 0; i < 20; i++)
		xstat_number(&event, 4, i % 2 + 1, 3, 1);
	xput(&line, 4, &event);
	xput(&plane, 3, &line);
	xput(space, 1, &plane);
}

static size_t built(void (*build)(struct xbytes *), uint8_t *bytes)
{
	struct xbytes space = { 0 };
	size_t count;

	build(&space);
	count = space.count + 1;
	FUZZ_MUST(count <= FUZZ_BYTES_MAX);
	bytes[0] = 0;
	memcpy(bytes + 1, space.bytes, space.count);
	free(space.bytes);
	return count;
}

static size_t seed(size_t index, uint8_t *bytes)
{
	static const char run_metadata[] = "\1\x0a\x17\x0a\x15\x0a\x01"
					   "d\x12\x10\x0a\x06"
					   "MatMul\x10\x05\x18\x01\x20\x02";
	char path[1024];

	if (index > 3)
		return 0;
	if (index > 1)
		return built(index == 2 ? many_devices : names_of_zero_bytes, bytes);
	if (index == 1) {
		memcpy(bytes, run_metadata, sizeof run_metadata - 1);
		return sizeof run_metadata - 1;
	}
	snprintf(path, sizeof path, "%s/tests/golden/sample.xplane.pb", CHECK_SOURCE);
	size_t count = fuzz_read(path, bytes + 1);
	bytes[0] = 0;
	return count + 1;
}

const struct fuzz_target fuzz_profile = { "profile", run, seed, NULL };
