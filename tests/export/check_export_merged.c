/* Merged traces in the formats of viewers: processes whose ids and process numbers are equal stay apart. */
#include "tests/support/export_text.h"
#include "tests/support/merging.h"
#include "tests/support/sqlite_text.h"

/* A node with a kernel that it caused, and a request; the second process comes a second later. */
static const char *write_process(char file, const char *host)
{
	struct epp_builder *b = builder_create();
	struct epf_source *source = &builder_header(b)->source;
	uint64_t at = BUILDER_START + (uint64_t)(file - 'a') * 1000000000;

	memset(builder_header(b)->file_id, file, sizeof(builder_header(b)->file_id));
	snprintf(source->hostname, sizeof source->hostname, "%s", host);
	snprintf(source->label, sizeof source->label, "rank %c", file);
	uint32_t worker = builder_thread(b, "worker", 11);
	uint32_t stream = builder_device(b, "stream", "device", 0, 1, EPF_TRACK_CLOCK_HOST);
	uint64_t node = builder_event(b, worker, at + 1000000, 100000000, EPP_NODE, builder_name(b, "node"), NULL, 0);
	builder_complete(b, stream, at + 21000000, 50000000, EPP_KERNEL, builder_name(b, "kernel"), node, NULL, 0);
	uint64_t request = builder_async_begin(b, worker, at + 120000000, EPP_API, builder_name(b, "request"));
	builder_async_end(b, worker, request, at + 130000000, NULL, 0);
	const char *path = check_path("%c.epp", file);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	return path;
}

static struct export_text export_merged(const char *format, const epp_export_options *options)
{
	struct export_text text;
	const char *a = write_process('a', "alpha"), *b = write_process('b', "beta");
	epp_trace *merged = merging(check_path("m.epp"), NULL, a, b);

	export_text_make(&text, merged, format, options);
	epp_trace_close(merged);
	return text;
}

static size_t count_of(const struct export_text *text, const char *what)
{
	size_t count = 0;
	for (const char *at = text->bytes; (at = strstr(at, what)); at += strlen(what))
		count++;
	return count;
}

START_TEST(chrome_tells_processes_apart)
{
	struct export_text text = export_merged("chrome", NULL);

	ck_assert_uint_eq(count_of(&text, "\"id2\":{\"local\":\""), 4);
	ck_assert_uint_eq(count_of(&text, "\"name\":\"process_name\""), 4);
	ck_assert_uint_eq(count_of(&text, "\"labels\":\"rank a on alpha\""), 1);
	ck_assert_uint_eq(count_of(&text, "\"labels\":\"rank b on beta\""), 1);
	export_text_free(&text);
}
END_TEST

START_TEST(perfetto_names_the_hosts)
{
	struct export_text text = export_merged("perfetto", NULL);

	ck_assert_ptr_nonnull(memmem(text.bytes, text.count, "beta", 4));
	ck_assert_ptr_nonnull(memmem(text.bytes, text.count, "rank b", 6));
	export_text_free(&text);
}
END_TEST

/* An arrow to a process of the other would cross the picture. */
START_TEST(arrows_stay_in_their_process)
{
	struct export_text text = export_merged("svg", NULL);
	unsigned arrows = 0;

	for (const char *at = text.bytes; (at = strstr(at, "<path class=\"a\" d=\"M")); arrows++) {
		float x1, y1, bend[3], x2, y2;
		at += strlen("<path class=\"a\" d=\"M");
		ck_assert_int_eq(
		    sscanf(at, "%f %fC%f %f %f %f %f %f", &x1, &y1, &bend[0], &bend[1], &bend[2], &y2, &x2, &y2), 8);
		ck_assert_msg(x2 > x1 && x2 - x1 < 100, "from %f to %f", (double)x1, (double)x2);
	}
	ck_assert_uint_eq(arrows, 2);
	export_text_free(&text);
}
END_TEST

START_TEST(one_process_by_its_host_or_label)
{
	static const char *const patterns[] = { "beta", "rank b" };

	for (size_t i = 0; i < 2; i++) {
		epp_export_options options = { .struct_size = sizeof options, .process = patterns[i] };
		struct export_text text = export_merged("ndjson", &options);
		ck_assert_uint_eq(count_of(&text, "\"source\":1,"), 3);
		ck_assert_uint_eq(count_of(&text, "\"source\":0,"), 0);
		export_text_free(&text);
	}
}
END_TEST

/* Both have a thread of the same name and number: only the source tells whose account it is. */
START_TEST(accounts_say_whose_they_are)
{
	static const char *const json[] = { "chrome", "ort", "ndjson", "kineto", "xspace", "parquet" };
	static const char *const sources[] = { "\"source\":0}", "\"source\":1}" };
	struct export_text text;

	for (size_t i = 0; i < sizeof json / sizeof *json; i++) {
		text = export_merged(json[i], NULL);
		for (size_t k = 0; k < 2; k++)
			ck_assert_msg(memmem(text.bytes, text.count, sources[k], strlen(sources[k])) != NULL, "%s: %s",
			              json[i], sources[k]);
		export_text_free(&text);
	}
	text = export_merged("csv", NULL);
	ck_assert_uint_eq(count_of(&text, "\"\"source\"\":0}"), 2); /* the merge's own session, and the thread */
	ck_assert_uint_eq(count_of(&text, "\"\"source\"\":1}"), 1);
	export_text_free(&text);
	/* What filters left out is of no process. */
	epp_export_options options = { .struct_size = sizeof options, .name = "node" };
	text = export_merged("sqlite", &options);
	sqlite3 *db = sqlite_text_open(text.bytes, text.count);
	char *rows = sqlite_text_query(db, "SELECT source, producer, events FROM ledger WHERE entry = 'emitted'"
	                                   " AND (producer LIKE 'thread%' OR source IS NULL) ORDER BY source NULLS LAST");
	ck_assert_str_eq(rows, "0|thread worker (11)|2\n1|thread worker (11)|2\n|filters of this export|4\n");
	free(rows);
	sqlite3_close(db);
	export_text_free(&text);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("export_merged");
	TCase *tc = tcase_create("export_merged");

	tcase_add_test(tc, chrome_tells_processes_apart);
	tcase_add_test(tc, perfetto_names_the_hosts);
	tcase_add_test(tc, arrows_stay_in_their_process);
	tcase_add_test(tc, one_process_by_its_host_or_label);
	tcase_add_test(tc, accounts_say_whose_they_are);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
