/* ONNX Runtime's profiles, imported and exported again: every record is as it was, whatever providers claim of their
 * events. */
#include "tests/support/import_events.h"

#define INIT \
	"{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :8,\"dur\" :3,\"ts\" :4,\"ph\" : \"X\",\"name\" :\"session_initialization\",\"args\" : {}},\n"

static char *read_all(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "r");
	char *text = malloc(1 << 20);

	ck_assert_msg(file && text, "%s", path);
	*bytes = fread(text, 1, 1 << 20, file);
	fclose(file);
	return text;
}

static bool is_same(const struct json *a, const struct json *b)
{
	if (a->kind != b->kind || a->count != b->count || (a->text != NULL) != (b->text != NULL))
		return false;
	if (a->text && (a->text_bytes != b->text_bytes || memcmp(a->text, b->text, a->text_bytes) != 0))
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct json *other = a->kind == JSON_OBJECT ? json_get(b, a->items[i].key) : &b->items[i];
		if (!other || !is_same(&a->items[i], other))
			return false;
	}
	return true;
}

/* Imports a file and exports it again: each record is there as it was, those of providers in order of their start. */
static void comes_out_again(const char *input, uint64_t events)
{
	struct imported *imported = calloc(1, sizeof *imported);
	char *epp = check_path("again.epp"), *out = check_path("again.json");
	const epp_import_options options = { .struct_size = sizeof options, .overwrite = 1 };
	size_t in_bytes, out_bytes;
	epp_trace *trace;

	imported->counts.struct_size = sizeof(imported->counts);
	check_ok(epp_import_file(input, epp, &options, imported_receipt, imported, &imported->counts));
	ck_assert_uint_eq(imported->counts.events, events);
	ck_assert_uint_eq(imported->counts.repaired_lines, 0);
	ck_assert_uint_eq(imported->counts.left_out, 0);
	imported_list(imported, epp);
	check_ok(epp_trace_open(epp, &trace));
	check_ok(epp_export_file(trace, "ort", NULL, out, 1, NULL, NULL));
	epp_trace_close(trace);

	char *in_text = read_all(input, &in_bytes), *out_text = read_all(out, &out_bytes);
	struct json *in = json_expect(in_text, in_bytes), *exported = json_expect(out_text, out_bytes);
	/* The exporter ends with its ledger. */
	ck_assert_uint_eq(exported->count, in->count + 1);
	for (size_t i = 0; i < in->count; i++)
		ck_assert_msg(is_same(&in->items[i], &exported->items[i]), "record %zu, %s, differs", i,
		              json_text(&in->items[i], "name"));
	json_free(in);
	json_free(exported);
	free(in_text);
	free(out_text);
	free(imported);
}

START_TEST(golden_file_comes_out_again)
{
	comes_out_again(CHECK_SOURCE "/tests/golden/ort_profile_1.30.json", 16);
}
END_TEST

#define NODE(tid, dur, ts, name) \
	"{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :" tid ",\"dur\" :" dur ",\"ts\" :" ts \
	",\"ph\" : \"X\",\"name\" :\"" name "\",\"args\" : {\"node_index\" : \"0\"}},\n"
#define PROVIDED(cat, pid, tid, dur, ts, name, args) \
	"{\"cat\" : \"" cat "\",\"pid\" :" pid ",\"tid\" :" tid ",\"dur\" :" dur ",\"ts\" :" ts \
	",\"ph\" : \"X\",\"name\" :\"" name "\",\"args\" : {" args "}}"
#define ID(us) "\"ort_correlation_id\" : \"17000000000" us "\""

/* What providers claim, whether it can be or not.  `ids`: they say when profiling began. */
static void claims_come_out_again(bool ids)
{
	static const char host[] = "[\n" INIT NODE("8", "40", "100", "first") NODE("8", "20", "130", "overlaps")
	    NODE("9", "30", "150", "second");
	static const char with_ids[] =
	    PROVIDED("Kernel", "-1", "3", "2", "-20", "before all", ID("00100")) ",\n" PROVIDED("Kernel", "-1", "-1", "7", "90", "too early", ID("00150")) ",\n" PROVIDED(
		"Kernel", "-2", "-1", "2", "101", "gemm \\\"q\\\"",
		ID("00100") ",\"stream\" : \"12\"") ",\n" PROVIDED("Kernel", "-2147483648", "2147483647", "2", "102",
	                                                           "numbers",
	                                                           ID("00100") ",\"a\" : \"007\",\"b\" : \"1.50\"") ",\n" PROVIDED("Node",
	                                                                                                                           "-1",
	                                                                                                                           "4",
	                                                                                                                           "0",
	                                                                                                                           "151",
	                                                                                                                           "node",
	                                                                                                                           ID("00150") ",\"placement\" : \"p\",\"device\" : \"0\"") ",\n" PROVIDED("Session",
	                                                                                                                                                                                                   "0",
	                                                                                                                                                                                                   "0",
	                                                                                                                                                                                                   "1",
	                                                                                                                                                                                                   "152",
	                                                                                                                                                                                                   "session",
	                                                                                                                                                                                                   ID("00150") ",\"shape\" : [{\"float\":[4,64]}],\"o\" : {}");
	static const char without_ids[] = PROVIDED("Kernel", "-1", "3", "2", "-20", "before all", "") ",\n" PROVIDED(
	    "Api", "7", "8", "2", "101", "call",
	    "\"ort_event_name\" : \"second\"") ",\n" PROVIDED("Kernel", "7", "8", "900000", "500", "long",
	                                                      "\"start_error_ns\" : \"x\"");
	char *path = check_path(ids ? "ids.json" : "none.json");
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fprintf(file, "%s%s\n]\n", host, ids ? with_ids : without_ids);
	fclose(file);
	comes_out_again(path, ids ? 10 : 7);
}

START_TEST(events_of_providers_come_out_as_they_were)
{
	claims_come_out_again(true);
	claims_come_out_again(false);
}
END_TEST

static Suite *ort_round_trip_suite(void)
{
	Suite *suite = suite_create("ort_round_trip");
	TCase *tests = tcase_create("round trip");

	tcase_add_test(tests, golden_file_comes_out_again);
	tcase_add_test(tests, events_of_providers_come_out_as_they_were);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ort_round_trip_suite)
