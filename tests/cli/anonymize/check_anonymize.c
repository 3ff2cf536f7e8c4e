/* epprof anonymize: the numbers stay, the names go.  Covers runtime/anonymize; check_anonymize_files has traces in any
 * state, the search, and what can go wrong. */
#include "tests/cli/anonymize/anonymizing.h"

#include <bsd/string.h>

#include "anonymize/keyed_word.h"
#include "epprof/summary.h"
#include "tests/support/export_text.h"
#include "tests/support/recording.h"

/* ---- the same numbers ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

#define EVENT_ID "\"event\": "
/* Prints the numbers of a text that are in no string, sorted, because lines of equal cost have the order of their
 * names; without ids of events, and the lines that have one of `left_out`. */
static char *numbers_of(char *text, const char *const *left_out)
{
	char **numbers = calloc(strlen(text) + 1, sizeof(*numbers)), *bytes;
	size_t count = 0, size;
	FILE *sorted = open_memstream(&bytes, &size);

	for (char *line; (line = strsep(&text, "\n")) != NULL;) {
		bool is_left_out = false, in_string = false;
		for (const char *const *word = left_out; *word; word++)
			is_left_out |= strstr(line, *word) != NULL;
		for (char *at = line; *at && !is_left_out;) {
			if (!in_string && strncmp(at, EVENT_ID, strlen(EVENT_ID)) == 0) {
				at += strlen(EVENT_ID);
				at += strspn(at, "0123456789");
				continue;
			}
			size_t digits = strspn(at, "0123456789.");
			if (*at == '\\' && at[1])
				at++;
			else if (*at == '"')
				in_string = !in_string;
			else if (digits && !in_string)
				MUST(asprintf(&numbers[count++], "%.*s", (int)digits, at) > 0);
			at += digits ? digits : 1;
		}
	}
	qsort(numbers, count, sizeof(*numbers), by_text);
	for (size_t i = 0; i < count; i++) {
		fprintf(sorted, "%s\n", numbers[i]);
		free(numbers[i]);
	}
	free(numbers);
	fclose(sorted);
	return bytes;
}

static void commands_give_the_same(const char *before, const char *after)
{
	static const char *const summary[] = { "summary", "--format", "json" }, *const advise[] = { "advise", "--json" };
	static const char *const left_out[] = { "\"pid\"", "\"thread_id\"", "_unix", NULL };

	for (int i = 0; i < 2; i++) {
		struct command a = i ? command_run(NULL, advise[0], advise[1], before, NULL)
		                     : command_run(NULL, summary[0], summary[1], summary[2], before, NULL);
		struct command b = i ? command_run(NULL, advise[0], advise[1], after, NULL)
		                     : command_run(NULL, summary[0], summary[1], summary[2], after, NULL);
		ck_assert_msg(a.code == 0 && b.code == 0, "%s%s", a.err, b.err);
		must_be_same(numbers_of(a.out, left_out), numbers_of(b.out, left_out), i ? "advise" : "summary");
		command_free(&a);
		command_free(&b);
	}
}

/* A model whose names are classified by readers: copies by their direction, allocations, waits, fallbacks. */
static struct epp_builder *classified(unsigned seed)
{
	static const char *const names[] = { "MyMemcpyHtoD", "upload weights", "Copy_Out 3",       "tensor memset",
		                             "d2d transfer", "gemm_tile",      "secretAsyncAlloc", "secretStreamWait" };
	static const char *const providers[] = { "CPUExecutionProvider", "CPU of mine", "SecretEP" };
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "secret thread", 4711);
	builder_producer(b, 0, "SecretEP");
	uint32_t stream = builder_device(b, "secret stream", "Secret Device", 0, 7, EPF_TRACK_CLOCK_HOST);
	epp_name op_key = builder_name(b, "op_name"), provider_key = builder_name(b, "provider"),
		 bytes_key = builder_name(b, "bytes"), path_key = builder_name(b, "secret path");
	uint64_t at = BUILDER_START + 1000;

	for (unsigned i = 0; i < 400; i++) {
		char name[64];
		snprintf(name, sizeof(name), "/secret/layer.%u/Conv_kernel_time", i % 13);
		epp_arg args[] = { { .key = op_key, .type = EPP_ARG_TEXT, .value.text = i % 3 ? "Conv" : "SecretFusedOp" },
			           { .key = provider_key, .type = EPP_ARG_TEXT, .value.text = providers[i % 3] },
			           { .key = path_key, .type = EPP_ARG_TEXT, .value.text = "/home/secret/model.onnx" },
			           { .key = bytes_key, .type = EPP_ARG_U64, .value.u64 = 4096 * i } };
		for (int a = 0; a < 3; a++)
			args[a].text_bytes = strlen(args[a].value.text);
		uint64_t outer = builder_begin(b, thread, at, EPP_NODE, builder_name(b, name));
		builder_event(b, thread, at + 10, 20 + i * seed % 17, EPP_API, builder_name(b, names[6 + i % 2]), NULL, 0);
		for (unsigned k = 0; k < 3; k++)
			builder_complete(b, stream, at + 60 + 40 * k, 10 + i * seed * (k + 1) % 23, EPP_KERNEL,
			                 builder_name(b, names[(i + k) % 6]), outer, args + 2, 2);
		builder_end(b, thread, outer, at + 300 + i % 7 * seed, args, 4);
		at += 400;
	}
	return b;
}

START_TEST(numbers_stay)
{
	static const unsigned with[] = { WITH_ENDS_ELSEWHERE, WITH_DURATIONS, WITH_MANY_RUNS, 7 };
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	struct epp_builder *b = _i < 4    ? random_trace(with[_i], 3000 / RECORDING_SLOW)
	                        : _i == 4 ? classified(3)
	                                  : export_sample();

	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	ANONYMIZE(before, after);
	must_be_as_before(before, after);
	commands_give_the_same(before, after);
	ANONYMIZE(before, after, "--keep-ops", "--round-shapes");
	must_be_as_before(before, after);
	commands_give_the_same(before, after);
}
END_TEST

/* Replaces the texts of a CSV file, which a word may have in quotes, and sorts its lines. */
static char *lines_without_texts(char *csv)
{
	char **lines = calloc(strlen(csv) + 1, sizeof(*lines)), *bytes;
	size_t count = 0, size;
	FILE *sorted = open_memstream(&bytes, &size);

	for (char *line; (line = strsep(&csv, "\n")) != NULL;) {
		FILE *out = open_memstream(&lines[count++], &size);
		for (char *field; (field = strsep(&line, ",")) != NULL;)
			fprintf(out, "%s,", strspn(field, "0123456789.-~+") == strlen(field) ? field : "text");
		fclose(out);
	}
	qsort(lines, count, sizeof(*lines), by_text);
	for (size_t i = 0; i < count; i++) {
		fprintf(sorted, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
	fclose(sorted);
	return bytes;
}

START_TEST(a_comparison_stays)
{
	const char *before[2], *after[2];

	for (int i = 0; i < 2; i++) {
		struct epp_builder *b = classified(i ? 5 : 3);
		before[i] = check_path("before-%d.epp", i);
		after[i] = check_path("after-%d.epp", i);
		builder_write(b, EPF_FINISHED, before[i]);
		builder_destroy(b);
	}
	for (int i = 0; i < 2; i++)
		ANONYMIZE(before[i], after[i]);
	struct command a = command_run(NULL, "diff", "--format", "csv", before[0], before[1], NULL),
		       b = command_run(NULL, "diff", "--format", "csv", after[0], after[1], NULL);
	ck_assert_msg(a.code == 0 && b.code == 0, "%s%s", a.err, b.err);
	ck_assert_ptr_nonnull(strstr(a.out, "SecretFusedOp"));
	ck_assert_ptr_null(strcasestr(b.out, "secret"));
	must_be_same(lines_without_texts(a.out), lines_without_texts(b.out), "diff");
	command_free(&a);
	command_free(&b);
}
END_TEST

/* ---- words ---- */

/* Prints the names of a trace, in the order of their texts. */
static char *names_in(const char *path, const char *beginning)
{
	epp_trace *trace = open_trace(path);
	size_t count = 0, size;
	char **names = calloc(trace->reader->names_count, sizeof(*names)), *bytes;
	FILE *text = open_memstream(&bytes, &size);

	for (size_t i = 0; i < trace->reader->names_count; i++)
		if (trace->reader->names[i].text &&
		    strncmp(trace->reader->names[i].text, beginning, strlen(beginning)) == 0)
			names[count++] = (char *)(uintptr_t)trace->reader->names[i].text;
	qsort(names, count, sizeof(*names), by_text);
	for (size_t i = 0; i < count; i++)
		fprintf(text, "%s\n", names[i]);
	free(names);
	fclose(text);
	epp_trace_close(trace);
	return bytes;
}

START_TEST(a_key_gives_the_same_words_in_all_traces)
{
	const char *other_key = check_path("other key"), *first = check_path("first.epp"),
		   *second = check_path("second.epp"), *made[3] = { check_path("1"), check_path("2"), check_path("3") };
	struct epp_builder *b = builder_create(), *c = builder_create();
	uint32_t thread = builder_thread(b, "main", 1), other = builder_thread(c, "another", 2);

	builder_event(b, thread, BUILDER_START + 10, 5, EPP_NODE, builder_name(b, "shared name"), NULL, 0);
	builder_name(c, "one more");
	builder_event(c, other, BUILDER_START + 10, 5, EPP_NODE, builder_name(c, "its own name"), NULL, 0);
	builder_event(c, other, BUILDER_START + 20, 5, EPP_NODE, builder_name(c, "shared name"), NULL, 0);
	builder_write(b, EPF_FINISHED, first);
	builder_write(c, EPF_FINISHED, second);
	builder_destroy(b);
	builder_destroy(c);
	FILE *file = fopen(other_key, "w");
	MUST(file && fputs("another key of the test", file) >= 0 && fclose(file) == 0);
	ANONYMIZE(first, made[0]);
	ANONYMIZE(second, made[1]);
	struct command run = command_run(NULL, "anonymize", "--key", other_key, "-o", made[2], first, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
	char *names[3];
	for (int i = 0; i < 3; i++)
		names[i] = names_in(made[i], "node_");
	ck_assert_uint_eq(strlen(names[0]), strlen("node_") + WORD_LETTERS + 1);
	ck_assert_uint_eq(strlen(names[1]), 2 * strlen(names[0]));
	ck_assert_ptr_nonnull(strstr(names[1], names[0]));
	ck_assert_uint_eq(strlen(names[2]), strlen(names[0]));
	ck_assert_str_ne(names[2], names[0]);
	for (int i = 0; i < 3; i++)
		free(names[i]);
}
END_TEST

struct named {
	char *name[2];
	uint32_t category;
};

/* Equal names of a category have equal words, and different ones have different words. */
static void names_are_as_different(const char *before, const char *after)
{
	epp_timeline_options options = { .struct_size = sizeof(options) };
	struct named all[64];
	size_t count[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		epp_trace *trace = open_trace(i ? after : before);
		epp_timeline *timeline;
		const epp_event *event;
		check_ok(epp_timeline_create(trace, &options, &timeline));
		while (epp_timeline_next(timeline, &event)) {
			struct named *named = &all[count[i]++];
			MUST(asprintf(&named->name[i], "%zu.%.*s", event->name_bytes, (int)event->name_bytes,
			              event->name) > 0);
			named->category = event->category;
		}
		epp_timeline_destroy(timeline);
		epp_trace_close(trace);
	}
	ck_assert_uint_eq(count[0], count[1]);
	for (size_t i = 0; i < count[0]; i++)
		for (size_t j = 0; j < i; j++)
			if (all[i].category == all[j].category)
				ck_assert_msg(!strcmp(all[i].name[0], all[j].name[0]) ==
				                  !strcmp(all[i].name[1], all[j].name[1]),
				              "%s and %s, %s and %s", all[i].name[0], all[j].name[0], all[i].name[1],
				              all[j].name[1]);
	for (size_t i = 0; i < count[0]; i++) {
		free(all[i].name[0]);
		free(all[i].name[1]);
	}
}

START_TEST(names_of_any_bytes)
{
	static char long_name[EPF_NAME_BYTES_MAX];
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "a \"quoted\"\nthread", 4711);
	static const char *const names[] = { "a \"quote\"",
		                             "two\nlines",
		                             "\xff\xfe\x80 bytes",
		                             "",
		                             "\\",
		                             "a",
		                             "abcd",
		                             "node",
		                             "node_",
		                             "provider",
		                             "Input Dims",
		                             "kernel_copyin_",
		                             "thread 4711",
		                             "stream 1",
		                             "calls of",
		                             ": calls of ",
		                             "(name lost)",
		                             "model_run",
		                             "launch_ns" };
	static const char *const gone[] = { "a \"quote\"", "two\nlines",   "\xff\xfe\x80 bytes",
		                            "abcd",        "a \"quoted\"", "thread 4711",
		                            "hidden",      "aaaa",         NULL };
	epp_name key = builder_name(b, "provider");

	memset(long_name, 'a', sizeof(long_name));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		epp_arg arg = { .key = key, .type = EPP_ARG_TEXT, .value.text = names[i], .text_bytes = strlen(names[i]) };
		builder_event(b, thread, BUILDER_START + 100 * i + 10, 5, i % 4, builder_name(b, names[i]), &arg, 1);
	}
	builder_event(b, thread, BUILDER_START + 5000, 5, EPP_NODE, builder_name_bytes(b, long_name, sizeof(long_name)),
	              NULL, 0);
	builder_event(b, thread, BUILDER_START + 5010, 5, EPP_NODE, builder_name_bytes(b, "nul\0hidden", 10), NULL, 0);
	builder_event(b, thread, BUILDER_START + 5020, 5, EPP_NODE, builder_name_bytes(b, "\0\0\0\0\0\0\0\0\0", 9),
	              NULL, 0);
	builder_event(b, thread, BUILDER_START + 5030, 5, EPP_NODE, builder_name_bytes(b, "a\0\0\0\0\0\0\0\0", 9), NULL, 0);
	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	ANONYMIZE(before, after);
	must_be_as_before(before, after);
	has_none(after, gone);
	names_are_as_different(before, after);
}
END_TEST

/* ---- every text of a file ---- */

START_TEST(no_text_is_left)
{
	static const char *const gone[] = { "secret", "Secret", "SECRET", "/home", "qqqq", NULL };
	const char *before = check_path("before.epp"), *after = check_path("after.epp"), *json = check_path("out.json");
	struct epp_builder *b = builder_create();
	struct epf_header *header = builder_header(b);
	uint32_t thread = builder_thread(b, "secret thread", 4711);
	struct epf_producer *producer = builder_producer(b, 0, "SecretEP");
	uint32_t stream = builder_device(b, "secret stream", "Secret Device", 0, 7, EPF_TRACK_CLOCK_HOST);
	epp_name name = builder_name(b, "secret kernel");
	static const char *const keys[] = { "secret key", "op_name",     "provider",         "kind",       "cat",
		                            "bytes",      "output_size", "input_type_shape", "node_index", "qqqq" };

	strlcpy(producer->note, "secret note", sizeof(producer->note));
	strlcpy(header->source.hostname, "secret host", sizeof(header->source.hostname));
	strlcpy(header->source.program, "secret program", sizeof(header->source.program));
	strlcpy(header->source.label, "secret label", sizeof(header->source.label));
	/* Behind the end of a text there may be an older one. */
	strlcpy(header->source.hostname + 32, "old secret", 16);
	strlcpy(header->window_path, "/home/secret/window", sizeof(header->window_path));
	memcpy(header->source.boot_id, "secret boot id..", 16);
	memcpy(header->file_id, "secret file id..", 16);
	header->source.process_start_ns = BUILDER_REALTIME_NS;
	builder_name(b, "a secret name that no record has");
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		static const char *const values[] = { "secret value", "/home/someone", "qqqq" };
		epp_arg args[3];
		for (unsigned v = 0; v < 3; v++)
			args[v] = (epp_arg){ .key = builder_name(b, keys[i]),
				             .type = EPP_ARG_TEXT,
				             .value.text = values[v],
				             .text_bytes = strlen(values[v]) };
		uint64_t id = builder_event(b, thread, BUILDER_START + 100 * i + 10, 5, EPP_NODE, name, args, 3);
		builder_complete(b, stream, BUILDER_START + 100 * i + 12, 5, EPP_KERNEL, name, id, args, 3);
	}
	builder_counter(b, thread, BUILDER_START + 3000, builder_name(b, "secret counter"), 4);
	builder_begin(b, thread, BUILDER_START + 4000, EPP_SESSION, builder_name(b, "secret and open"));
	builder_write(b, _i ? EPF_RECORDING : EPF_FINISHED, before);
	builder_destroy(b);
	ANONYMIZE(before, after);
	has_none(after, gone);
	epp_trace *trace = open_trace(after);
	epp_trace_source source = { .struct_size = sizeof(source) };
	ck_assert(epp_trace_source_at(trace, 0, &source));
	ck_assert_uint_eq(source.pid <= 2, 1);
	ck_assert_uint_eq(strspn(source.boot_id, "0"), 32);
	ck_assert_int_eq(epp_trace_get_info(trace)->epoch_unix_ns, 0);
	ck_assert_uint_eq(trace->reader->header.created_unix_ns, 0);
	ck_assert_uint_eq(trace->reader->header.source.process_start_ns, 0);
	ck_assert_int_eq(strncmp(source.hostname, "host_", 5), 0);
	/* 1,000 s after the machine was started, 60 s remain. */
	ck_assert_uint_eq(trace->reader->runs[0].start.ticks, UINT64_C(60000000000));
	ck_assert_uint_eq(validation_errors(trace), 0);
	epp_trace_close(trace);
	struct command run = command_run(NULL, "convert", "--force", "-t", "chrome", "-o", json, after, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
	has_none(json, gone);
}
END_TEST

START_TEST(args_that_are_kept)
{
	static const struct {
		const char *key, *value, *kept, *with_ops, *rounded; /* NULL: left out */
	} args[] = {
		{ "op_name", "Conv", NULL, "Conv", NULL },
		{ "op_type", "MatMul", NULL, "MatMul", NULL },
		{ "op_name", "SecretOp", NULL, NULL, NULL },
		{ "provider", "CUDAExecutionProvider", "CUDAExecutionProvider", NULL, NULL },
		{ "kind", "memcpy_htod", "memcpy_htod", NULL, NULL },
		{ "cat", "secret_driver", "other_driver", NULL, NULL },
		{ "output_size", "1000", "1000", NULL, "1024" },
		{ "mem_in_use_peak", "1000", "1000", NULL, "1000" },
		{ "input_type_shape", "[{\"float\":[3,5]}]", "[{\"float\":[3,5]}]", NULL, "[{\"float\":[4,8]}]" },
		{ "node_index", "12", "12", NULL, "12" },
	};
	const size_t count = sizeof(args) / sizeof(*args);
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	epp_name name = builder_name(b, "/layer/Conv_12");

	for (size_t i = 0; i < count; i++) {
		epp_arg arg = { .key = builder_name(b, args[i].key),
			        .type = EPP_ARG_TEXT,
			        .value.text = args[i].value,
			        .text_bytes = strlen(args[i].value) };
		builder_event(b, thread, BUILDER_START + 100 * i + 10, 5, EPP_NODE, name, &arg, 1);
	}
	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	for (int options = 0; options < 2; options++) {
		if (options)
			ANONYMIZE(before, after, "--keep-ops", "--round-shapes");
		else
			ANONYMIZE(before, after);
		epp_trace *trace = open_trace(after);
		epp_timeline_options all = { .struct_size = sizeof(all) };
		epp_timeline *timeline;
		const epp_event *event;
		check_ok(epp_timeline_create(trace, &all, &timeline));
		for (size_t i = 0; i < count; i++) {
			const char *expected = options && args[i].with_ops  ? args[i].with_ops
			                       : options && args[i].rounded ? args[i].rounded
			                                                    : args[i].kept;
			size_t cursor = 0;
			epp_trace_arg arg;
			MUST(epp_timeline_next(timeline, &event) && epp_event_args(timeline, event, &cursor, &arg));
			ck_assert_str_eq(arg.key, args[i].key);
			char *value = strndup(arg.value.text, arg.text_bytes);
			if (expected)
				ck_assert_str_eq(value, expected);
			else
				ck_assert_msg(strncmp(value, "op_", 3) == 0, "%s", value);
			free(value);
			ck_assert_int_eq(strncmp(event->name, options ? "Conv_" : "node_", 5), 0);
		}
		epp_timeline_destroy(timeline);
		epp_trace_close(trace);
	}
}
END_TEST

/* A device that counts from a date, as a wall clock, and one whose clock wraps. */
START_TEST(device_clocks)
{
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	uint64_t origin = _i ? (UINT64_C(1) << 40) - 60000 : BUILDER_REALTIME_NS;
	uint64_t mask = _i ? (UINT64_C(1) << 40) - 1 : UINT64_MAX;
	uint32_t streams[2];

	for (int s = 0; s < 2; s++)
		streams[s] = builder_track(b,
		                           &(struct epf_track){ .kind = EPF_TRACK_DEVICE,
		                                                .clock_kind = EPF_TRACK_CLOCK_DEVICE,
		                                                .clock = 9,
		                                                .clock_bits = _i ? 40 : 64,
		                                                .ticks_per_second = 1000000000,
		                                                .stream = s ? INT64_C(0x7f0012345678) : 1,
		                                                .producer = -1 },
		                           "compute", "Device");
	epp_name name = builder_name(b, "kernel");
	for (unsigned i = 0; i < 100; i++) {
		uint64_t at = 1000 * i;
		if (i % 10 == 0)
			builder_device_pair(b, streams[0], (origin + at) & mask, BUILDER_START + at, 20);
		uint64_t id = builder_event(b, thread, BUILDER_START + at, 50, EPP_NODE, name, NULL, 0);
		builder_complete(b, streams[i % 2], (origin + at + 100) & mask, 300, EPP_KERNEL, name, id, NULL, 0);
	}
	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	ANONYMIZE(before, after);
	must_be_as_before(before, after);
	epp_trace *trace = open_trace(after);
	epp_timeline_options options = { .struct_size = sizeof(options) };
	epp_timeline *timeline;
	const epp_event *event;
	unsigned count = 0;
	check_ok(epp_timeline_create(trace, &options, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		count += event->track->kind == EPP_TRACK_DEVICE;
		ck_assert_uint_lt(event->start_ticks, UINT64_C(120000000000));
		ck_assert_int_le(event->track->stream, 65536);
	}
	ck_assert_uint_eq(count, 100);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
}
END_TEST

/* ---- a million names ---- */

#define MANY (1000000u / (RECORDING_SLOW > 1 ? 50 : 1))
#define MANY_BYTES_MAX 20u

static char *random_names(void)
{
	char *names = calloc(MANY, MANY_BYTES_MAX + 1);

	for (unsigned i = 0; i < MANY; i++) {
		unsigned bytes = 10 + random_below(MANY_BYTES_MAX - 9);
		for (unsigned j = 0; j < bytes; j++)
			names[i * (MANY_BYTES_MAX + 1) + j] = (char)('A' + random_below(26));
	}
	return names;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

START_TEST(a_million_names)
{
	const char *before = check_path("before.epp"), *after = check_path("after.epp"), *list = check_path("names");
	char *names = random_names();
	epp_trace_writer *writer;
	uint32_t track;

	check_ok(epp_trace_writer_create(
	    &(epp_trace_writer_options){ .struct_size = sizeof(epp_trace_writer_options), .path = before }, &writer));
	writer->names.count_max = TRACE_WRITER_MERGED_NAMES_MAX;
	writer->names.text_bytes_max = TRACE_WRITER_MERGED_TEXT_BYTES_MAX;
	check_ok(epp_trace_writer_add_track(
	    writer,
	    &(epp_trace_track){ .kind = EPP_TRACK_THREAD, .thread_id = 7, .device = -1, .producer = -1, .name = "main" },
	    &track));
	for (uint64_t i = 0; i < MANY; i++) {
		const char *name = names + i * (MANY_BYTES_MAX + 1);
		epp_trace_record record = { .kind = EPP_RECORD_EVENT,
			                    .category = EPP_NODE,
			                    .track = track,
			                    .id = i + 1,
			                    .start_ticks = 1000 + i * 10,
			                    .duration_ticks = 5,
			                    .name = epp_trace_writer_intern_name(writer, name, strlen(name)) };
		MUST(record.name != EPP_RECORD_NAME_LOST);
		MUST(!epp_trace_writer_add_record(writer, &record));
	}
	check_ok(epp_trace_writer_finish(writer, &(epp_trace_pair){ .ticks = 1 },
	                                 &(epp_trace_pair){ .ticks = 1000 + MANY * 10 }));
	epp_trace_writer_destroy(writer);
	ANONYMIZE(before, after);
	must_be_as_before(before, after);

	/* Any name in the output would be inside a run of capital letters. */
	size_t bytes;
	uint8_t *file = read_file(after, &bytes);
	char part[MANY_BYTES_MAX + 1];
	qsort(names, MANY, MANY_BYTES_MAX + 1, by_name);
	for (size_t at = 0; at < bytes; at++) {
		unsigned count = 0;
		while (count < MANY_BYTES_MAX && at + count < bytes && file[at + count] >= 'A' && file[at + count] <= 'Z') {
			part[count] = (char)file[at + count];
			part[++count] = 0;
			MUST(count < 10 || !bsearch(part, names, MANY, MANY_BYTES_MAX + 1, by_name));
		}
	}
	free(file);
	/* What grep finds of some of them: all in the input, none in the output. */
	FILE *some = fopen(list, "w");
	for (unsigned i = 0; i < MANY; i += MANY / 1000)
		fprintf(some, "%s\n", names + i * (MANY_BYTES_MAX + 1));
	fclose(some);
	char *command;
	MUST(asprintf(&command, "LC_ALL=C grep -q -a -F -f '%s' '%s' && ! LC_ALL=C grep -a -F -f '%s' '%s'", list,
	              before, list, after) > 0);
	ck_assert_int_eq(system(command), 0);
	free(command);
	free(names);
}
END_TEST

START_TEST(the_receipt)
{
	const char *before = check_path("before.epp"), *after = check_path("after.epp");
	struct epp_builder *b = classified(3);

	builder_write(b, EPF_FINISHED, before);
	builder_destroy(b);
	struct command run = command_run(NULL, "anonymize", "--key", key_path(), "--keep-ops", "-o", after, before, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	static const char *const lines[] = { "kept: 'op_name' of args: ", "kept: 'CPUExecutionProvider': ",
		                             "kept: the operator 'Conv'", "left out: 1,600 args with 1 key" };
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		ck_assert_msg(strstr(run.out, lines[i]) != NULL, "no '%s' in\n%s", lines[i], run.out);
	ck_assert_ptr_null(strcasestr(run.out, "secret"));
	ck_assert_ptr_null(strstr(run.out, "'node_index'"));
	command_free(&run);
}
END_TEST

/* Weights name their event by its id.  The same arg of another instant may be anything. */
START_TEST(weights_stay)
{
	char *path = strdup(check_path("weights.epp")), *out = strdup(check_path("weights.out.epp"));
	epp_session *session = recording_start(path);
	uint64_t run = epp_event_begin_text(session, EPP_NODE, "secret run");
	const epp_arg args[] = {
		{ .key = epp_name_intern("event"), .type = EPP_ARG_U64, .value.u64 = run },
		{ .key = epp_name_intern("weight"), .type = EPP_ARG_U64, .value.u64 = 5 },
	};
	epp_instant_record(session, EPP_SESSION, epp_name_intern("epprof.weight"), args, 2);
	epp_event_end(session, epp_event_begin_text(session, EPP_NODE, "secret event"), NULL, 0);
	epp_event_end(session, run, NULL, 0);
	epp_instant_record(session, EPP_SESSION, epp_name_intern("secret instant"), args, 1);
	recording_end(session);
	epp_session_destroy(session);
	ANONYMIZE(path, out);
	epp_trace *trace;
	epp_timeline *timeline;
	const epp_event *event;
	unsigned weighted = 0, args_count = 0;
	check_ok(epp_trace_open(out, &trace));
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		weighted += event->weight == 5 && event->kind == EPP_EVENT_SLICE;
		args_count += event->args_count;
	}
	ck_assert_uint_eq(weighted, 2);
	ck_assert_uint_eq(args_count, 2);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	free(path);
	free(out);
}
END_TEST

/* The steps of a budget stay, so that summary counts them.  The same keys in other instants are anything. */
START_TEST(steps_of_a_budget_stay)
{
	static const char *const names[] = { "epprof.budget", "secret instant", "epprof.budget" };
	static const char *const steps[] = { "kernels only", "runs", "secret step" };
	char *path = strdup(check_path("budget.epp")), *out = strdup(check_path("budget.out.epp"));
	epp_session *session = recording_start(path);
	for (unsigned i = 0; i < 3; i++) {
		const epp_arg args[] = {
			{ .key = epp_name_intern("step"),
			  .type = EPP_ARG_TEXT,
			  .value.text = steps[i],
			  .text_bytes = strlen(steps[i]) },
			{ .key = epp_name_intern("one_in"), .type = EPP_ARG_U64, .value.u64 = 7 },
		};
		epp_instant_record(session, EPP_SESSION, epp_name_intern(names[i]), args, 2);
	}
	recording_end(session);
	epp_session_destroy(session);
	ANONYMIZE(path, out);
	const char *const traces[] = { path, out };
	for (unsigned i = 0; i < 2; i++) {
		epp_trace *trace;
		epp_summary *summary;
		check_ok(epp_trace_open(traces[i], &trace));
		check_ok(epp_summary_create(trace, NULL, &summary));
		ck_assert_uint_eq(epp_summary_get_totals(summary)->kernels_only_count, 1);
		epp_summary_destroy(summary);
		epp_trace_close(trace);
	}
	struct export_text text;
	epp_trace *trace;
	check_ok(epp_trace_open(out, &trace));
	export_text_make(&text, trace, "ndjson", NULL);
	const char *steps_at = strstr(text.bytes, "\"step\":\"kernels only\",\"one_in\":7");
	ck_assert_msg(steps_at, "%s", text.bytes);
	ck_assert_ptr_null(strstr(text.bytes, "secret"));
	ck_assert_ptr_null(strstr(text.bytes, "runs"));
	export_text_free(&text);
	epp_trace_close(trace);
	free(path);
	free(out);
}
END_TEST

static Suite *anonymize_suite(void)
{
	Suite *suite = suite_create("anonymize");
	TCase *tests = tcase_create("anonymize");

	tcase_add_checked_fixture(tests, remove_files, NULL);
	tcase_add_loop_test(tests, numbers_stay, 0, 6);
	tcase_add_test(tests, a_comparison_stays);
	tcase_add_test(tests, a_key_gives_the_same_words_in_all_traces);
	tcase_add_test(tests, names_of_any_bytes);
	tcase_add_loop_test(tests, no_text_is_left, 0, 2);
	tcase_add_test(tests, args_that_are_kept);
	tcase_add_loop_test(tests, device_clocks, 0, 2);
	tcase_add_test(tests, a_million_names);
	tcase_add_test(tests, the_receipt);
	tcase_add_test(tests, weights_stay);
	tcase_add_test(tests, steps_of_a_budget_stay);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(anonymize_suite)
