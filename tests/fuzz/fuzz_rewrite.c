/* Traces rewritten: recovered, then packed, anonymised, merged with another one, and amended by it.  What was written
 * must open; if the recovered trace is valid, then the packed and the anonymised one are valid too, with as many
 * events, and so are the merged and the amended one.  Anonymising may refuse a trace in which a text is an allowed one
 * and the bytes around it in the file. */
#include "epprof/anonymize.h"
#include "epprof/merge.h"
#include "epprof/trace_writer.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/epp_builder.h"

/* Returns the number of errors in a trace. */
static uint64_t inspect(const char *path, uint64_t *records_count)
{
	epp_trace *trace;
	uint64_t errors = 0;
	epp_status *status = epp_trace_open(path, &trace);

	FUZZ_MUST(!status);
	FUZZ_MUST(epp_trace_get_info(trace)->state == EPP_TRACE_FINISHED);
	*records_count = epp_trace_get_info(trace)->records_count;
	status = epp_trace_validate(trace, NULL, NULL, &errors);
	FUZZ_MUST(!status);
	epp_trace_close(trace);
	return errors;
}

static epp_status *pack(const char *from, const char *to)
{
	epp_trace *trace;
	epp_status *status = epp_trace_open(from, &trace);

	FUZZ_MUST(!status);
	status = epp_trace_pack(trace, to, 1);
	epp_trace_close(trace);
	return status;
}

static epp_status *anonymize(const char *from, const char *to)
{
	epp_anonymize_options options = { .struct_size = sizeof options,
		                          .key = "0123456789abcdef",
		                          .key_bytes = 16,
		                          .keep_ops = 1,
		                          .round_shapes = 1,
		                          .overwrite = 1 };
	epp_trace *trace;
	epp_status *status = epp_trace_open(from, &trace);

	FUZZ_MUST(!status);
	status = epp_trace_anonymize(trace, to, &options, NULL, NULL, NULL);
	epp_trace_close(trace);
	return status;
}

static epp_status *merge(const char *from, const char *to)
{
	epp_merge_options options = { .struct_size = sizeof options, .overwrite = 1 };
	epp_trace *traces[2] = { NULL, fuzz_trace_other() };
	epp_status *status = epp_trace_open(from, &traces[0]);

	FUZZ_MUST(!status);
	status = epp_trace_merge(traces, 2, to, &options, NULL, NULL, NULL);
	epp_trace_close(traces[0]);
	epp_trace_close(traces[1]);
	return status;
}

/* Adds the events of the other trace, which names events of neither.  `late`: adds those of the fuzzed trace to it. */
static epp_status *amend(const char *from, const char *to, bool late)
{
	epp_amend_options options = { .struct_size = sizeof options, .overwrite = 1 };
	epp_trace *trace, *other = fuzz_trace_other();
	epp_status *status = epp_trace_open(from, &trace);

	FUZZ_MUST(!status);
	if (late) {
		/* What is amended is a file. */
		status = epp_trace_recover(other, fuzz_path("other"), 1);
		FUZZ_MUST(!status);
		epp_trace_close(other);
		status = epp_trace_open(fuzz_path("other"), &other);
		FUZZ_MUST(!status);
	}
	status = epp_trace_amend(late ? other : trace, late ? &trace : &other, 1, to, &options, NULL, NULL, NULL);
	epp_trace_close(trace);
	epp_trace_close(other);
	return status;
}

static void run(const uint8_t *bytes, size_t count)
{
	const char *recovered = fuzz_path("recovered"), *packed = fuzz_path("packed"), *merged = fuzz_path("merged"),
		   *anonymized = fuzz_path("anonymized"), *amended = fuzz_path("amended");
	uint64_t before, after;
	epp_trace *trace;
	epp_status *status = builder_open_image(bytes, count, &trace);

	if (!status) {
		status = epp_trace_recover(trace, recovered, 1);
		epp_trace_close(trace);
	}
	if (!status) {
		bool is_valid = inspect(recovered, &before) == 0;
		status = pack(recovered, packed);
		FUZZ_MUST(!status || !is_valid);
		if (!status)
			FUZZ_MUST((inspect(packed, &after) == 0 && before == after) || !is_valid);
		epp_status_destroy(status);
		status = anonymize(recovered, anonymized);
		FUZZ_MUST(!status || !is_valid || epp_status_code(status) == EPP_LOSSY);
		if (!status)
			FUZZ_MUST((inspect(anonymized, &after) == 0 && before == after) || !is_valid);
		epp_status_destroy(status);
		status = merge(recovered, merged);
		if (!status)
			FUZZ_MUST(inspect(merged, &after) == 0 || !is_valid);
		for (unsigned late = 0; late < 2; late++) {
			epp_status_destroy(status);
			status = amend(recovered, amended, late);
			if (!status)
				FUZZ_MUST(inspect(amended, &after) == 0 || !is_valid);
		}
	}
	epp_status_destroy(status);
}

const struct fuzz_target fuzz_rewrite = { "rewrite", run, fuzz_trace_seed, fuzz_trace_mutate };
