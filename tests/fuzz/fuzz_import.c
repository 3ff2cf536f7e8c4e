/* Files of other profilers, imported.  A trace that comes of it must open, and be valid. */
#include <stdio.h>

#include "epprof/import.h"
#include "epprof/trace_reader.h"
#include "tests/fuzz/fuzz.h"

static void run(const uint8_t *bytes, size_t count)
{
	const char *input = fuzz_path("input"), *output = fuzz_path("output");
	epp_import_options options = { .struct_size = sizeof options, .overwrite = 1 };
	epp_import_counts counts = { .struct_size = sizeof counts };
	epp_trace *trace;
	uint64_t errors;

	fuzz_write(input, bytes, count);
	epp_status *status = epp_import_file(input, output, &options, NULL, NULL, &counts);
	if (!status) {
		status = epp_trace_open(output, &trace);
		FUZZ_MUST(!status);
		status = epp_trace_validate(trace, NULL, NULL, &errors);
		FUZZ_MUST(!status && errors == 0);
		epp_trace_close(trace);
	}
	epp_status_destroy(status);
}

static size_t golden(const char *name, uint8_t *bytes)
{
	char path[1024];

	snprintf(path, sizeof path, "%s/tests/golden/%s", CHECK_SOURCE, name);
	return fuzz_read(path, bytes);
}

static size_t json_seed(size_t index, uint8_t *bytes)
{
	static const char *const names[] = { "sample.chrome.json", "sample.kineto.json", "sample.ort.json",
		                             "ort_profile_1.30.json" };

	return index < sizeof names / sizeof *names ? golden(names[index], bytes) : 0;
}

static size_t xspace_seed(size_t index, uint8_t *bytes)
{
	return index == 0 ? golden("sample.xplane.pb", bytes) : 0;
}

const struct fuzz_target fuzz_json = { "json", run, json_seed, NULL };
const struct fuzz_target fuzz_xspace = { "xspace", run, xspace_seed, NULL };
