/* Traces exported, each into one format, which a byte of its file id selects.  The JSON formats must be JSON. */
#include <string.h>

#include "epprof/export.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/epp_builder.h"
#include "tests/support/strict_json.h"

#define OUTPUT_BYTES (8u << 20)

static char *output;
static size_t output_bytes;

static size_t keep(const void *bytes, size_t count, void *user)
{
	(void)user;
	if (count > OUTPUT_BYTES - output_bytes)
		return 0;
	memcpy(output + output_bytes, bytes, count);
	output_bytes += count;
	return count;
}

static void run(const uint8_t *bytes, size_t count)
{
	static const char *const formats[] = { "chrome", "kineto", "ort",     "ndjson", "csv",  "perfetto",
		                               "xspace", "html",   "parquet", "svg",    "flame" };
	const char *format;
	epp_trace *trace;
	epp_status *status = builder_open_image(bytes, count, &trace);

	if (!output)
		FUZZ_MUST((output = malloc(OUTPUT_BYTES)));
	if (!status) {
		format = formats[bytes[offsetof(struct epf_header, file_id)] % (sizeof formats / sizeof *formats)];
		output_bytes = 0;
		status = epp_export(trace, format, NULL, keep, NULL, NULL, NULL);
		epp_trace_close(trace);
		if (!status && (!strcmp(format, "chrome") || !strcmp(format, "kineto") || !strcmp(format, "ort"))) {
			size_t offset;
			struct json *json = json_parse(output, output_bytes, &offset);
			FUZZ_MUST(json);
			json_free(json);
		}
	}
	epp_status_destroy(status);
}

/* Each trace once for each of the first formats. */
static size_t seed(size_t index, uint8_t *bytes)
{
	size_t count = fuzz_trace_seed(index, bytes);

	if (count) {
		bytes[offsetof(struct epf_header, file_id)] = (uint8_t)index;
		builder_seal_header(bytes);
	}
	return count;
}

const struct fuzz_target fuzz_export = { "export", run, seed, fuzz_trace_mutate };
