/* Importing ONNX Runtime's profiles: a profile that is not valid JSON gives the same events as the valid one; a file
 * that cannot be read is refused with a reason, and no file is left behind.  Covers import_ort.c, device_events.c,
 * input.c. */
#include <sys/stat.h>

#include "tests/support/import_events.h"

#define HEAD "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :8,\"dur\" :5,\"ts\" :10,\"ph\" : \"X\",\"name\" :\""
#define INIT \
	"{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :8,\"dur\" :3,\"ts\" :4,\"ph\" : \"X\",\"name\" :\"session_initialization\",\"args\" : {}}"

/* ---- what ONNX Runtime does not escape ---- */

struct broken {
	const char *name; /* as ONNX Runtime writes it, and as it should be */
	const char *escaped_name;
	const char *value, *escaped_value;
};

static const struct broken broken[] = {
	{ "a\"b", "a\\\"b", "plain", "plain" },
	{ "tab\tin it", "tab\\tin it", "x", "x" },
	{ "two\nlines", "two\\nlines", "x", "x" },
	{ "control\x01\x1f", "control\\u0001\\u001f", "", "" },
	{ "plain", "plain", "a \"quoted\" value", "a \\\"quoted\\\" value" },
	{ "plain", "plain", "\"", "\\\"" },
	{ "plain", "plain", "ends\",\"like : {", "ends\\\",\\\"like : {" },
	{ "n\",\"args\" : {x", "n\\\",\\\"args\\\" : {x", "y}}z", "y}}z" },
	{ "quote at the end\"", "quote at the end\\\"", "\t", "\\t" },
};

static size_t make_file(char *text, size_t room, bool escaped)
{
	size_t used = (size_t)snprintf(text, room, "[\n" INIT);

	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
		used += (size_t)snprintf(
		    text + used, room - used,
		    ",\n" HEAD "%s\",\"args\" : {\"shape\" : [{\"float\":[4,64]}],\"k\" : \"%s\",\"n\" : \"8\"}}",
		    escaped ? broken[i].escaped_name : broken[i].name,
		    escaped ? broken[i].escaped_value : broken[i].value);
	return used + (size_t)snprintf(text + used, room - used, "\n]\n");
}

START_TEST(broken_lines_give_the_same_events)
{
	char raw[8192], valid[8192];
	size_t raw_bytes = make_file(raw, sizeof raw, false), valid_bytes = make_file(valid, sizeof valid, true);
	struct imported *from_raw = imported_text(raw, raw_bytes), *from_valid = imported_text(valid, valid_bytes);

	ck_assert_uint_eq(from_valid->counts.repaired_lines, 0);
	ck_assert_uint_eq(from_raw->counts.repaired_lines, sizeof broken / sizeof *broken);
	ck_assert_uint_eq(from_raw->counts.left_out, 0);
	ck_assert_ptr_nonnull(strstr(from_raw->receipt, "9 lines repaired: invalid JSON"));
	ck_assert_uint_eq(from_raw->count, from_valid->count);
	for (size_t i = 0; i < from_raw->count; i++) {
		const struct imported_event *a = &from_raw->events[i], *b = &from_valid->events[i];
		ck_assert_str_eq(a->name, b->name);
		ck_assert_str_eq(a->args, b->args);
		ck_assert_int_eq(a->start_ns, b->start_ns);
		ck_assert_uint_eq(a->depth, b->depth);
	}
	ck_assert_str_eq(imported_find(from_raw, "two\nlines")->args, "shape=[{\"float\":[4,64]}];k=x;n=8;");
	free(from_raw);
	free(from_valid);
}
END_TEST

START_TEST(invalid_utf8_is_kept)
{
	const char text[] = "[\n" INIT ",\n" HEAD "caf\xe9\",\"args\" : {\"k\" : \"\xff\xfe\"}}\n]\n";
	struct imported *imported = imported_text(text, sizeof text - 1);

	ck_assert_str_eq(imported_find(imported, "caf\xe9")->args, "k=\xff\xfe;");
	ck_assert_uint_eq(imported->counts.repaired_lines, 0);
	free(imported);
}
END_TEST

START_TEST(cut_anywhere_keeps_whole_lines)
{
	const char text[] = "[\n" INIT ",\n" HEAD "first\",\"args\" : {\"k\" : \"v\"}},\n" HEAD
			    "second\",\"args\" : {}}\n]\n";
	const char *second = strstr(text, HEAD "second"), *last = strstr(text, "\n]\n");

	for (const char *cut = second; cut < last; cut += 3) {
		struct imported *imported = imported_text(text, (size_t)(cut - text));
		ck_assert_uint_eq(imported->count, 2);
		ck_assert_uint_eq(imported->counts.left_out, cut > second);
		ck_assert_ptr_eq(strstr(imported->receipt, "left out") ? imported : NULL, cut > second ? imported : NULL);
		free(imported);
	}
}
END_TEST

START_TEST(what_is_no_profile_is_refused)
{
	imported_refused("", 0, EPP_CORRUPT, "empty");
	imported_refused("[", 1, EPP_CORRUPT, "no event");
	imported_refused("[\n]\n", 4, EPP_CORRUPT, "no event");
	imported_refused("hello", 5, EPP_CORRUPT, "not a JSON array, a JSON object or an XSpace");
	imported_refused("5", 1, EPP_CORRUPT, "not a JSON array, a JSON object or an XSpace");
	imported_refused("{\"a\":1}", 7, EPP_CORRUPT, "no event");
	imported_refused("[{\"ph\":\"X\",]", 12, EPP_CORRUPT, "not JSON: byte");
	imported_refused("[\n{\"cat\" : \"Node\",", 18, EPP_CORRUPT, "no event");
	check_fails(EPP_NOT_FOUND,
	            epp_import_file(check_path("nothing.json"), check_path("x.epp"), NULL, NULL, NULL, NULL));
	check_fails(EPP_IO, epp_import_file("/", check_path("x.epp"), NULL, NULL, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_import_file(NULL, check_path("x.epp"), NULL, NULL, NULL, NULL));
}
END_TEST

/* ---- events of providers ---- */

static const char correlated[] =
    "[\n" INIT ",\n"
    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :8,\"dur\" :5,\"ts\" :100,\"ph\" : \"X\",\"name\" :\"inner\",\"args\" : {}},\n"
    "{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :8,\"dur\" :9,\"ts\" :100,\"ph\" : \"X\",\"name\" :\"outer\",\"args\" : {}},\n"
    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :9,\"dur\" :30,\"ts\" :117,\"ph\" : \"X\",\"name\" :\"other\",\"args\" : {}},\n"
    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :8,\"dur\" :5,\"ts\" :131,\"ph\" : \"X\",\"name\" :\"inner\",\"args\" : {}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :101,\"ph\" : \"X\",\"name\" :\"k1\",\"args\" : {"
    "\"ort_correlation_id\" : \"1700000000000100\"}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :120,\"ph\" : \"X\",\"name\" :\"k2\",\"args\" : {"
    "\"ort_correlation_id\" : \"1700000000000117\"}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :-2,\"tid\" :-1,\"dur\" :2,\"ts\" :133,\"ph\" : \"X\",\"name\" :\"k3\",\"args\" : {"
    "\"ort_correlation_id\" : \"1700000000000131\",\"stream\" : \"12\"}},\n"
    "{\"cat\" : \"Node\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :132,\"ph\" : \"X\",\"name\" :\"by name\",\"args\" : {"
    "\"ort_event_name\" : \"other\"}},\n"
    "{\"cat\" : \"Api\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :134,\"ph\" : \"X\",\"name\" :\"by time\",\"args\" : {}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :900,\"ph\" : \"X\",\"name\" :\"alone\",\"args\" : {}}\n]\n";

START_TEST(providers_find_their_host_events)
{
	struct imported *imported = imported_text(correlated, sizeof correlated - 1);
	const struct imported_event *outer = imported_find(imported, "outer"), *inner = imported_find(imported, "inner");
	const struct imported_event *other = imported_find(imported, "other"), *k1 = imported_find(imported, "k1");

	/* Equal starts: what ended later is around the other, and the inner one is whom an id means. */
	ck_assert_uint_eq(outer->depth, 0);
	ck_assert_uint_eq(inner->depth, 1);
	ck_assert_uint_eq(inner->parent, outer->id);
	ck_assert_uint_eq(k1->parent, inner->id);
	ck_assert_uint_eq(k1->track_kind, EPP_TRACK_DEVICE);
	ck_assert_uint_eq(k1->placement, EPP_PLACED_FORMULA);
	ck_assert_uint_eq(imported_find(imported, "k2")->parent, other->id);
	ck_assert_str_eq(imported_find(imported, "k3")->track, "stream 12");
	ck_assert_uint_eq(imported_find(imported, "by name")->parent, other->id);
	ck_assert_uint_eq(imported_find(imported, "by name")->placement, EPP_PLACED_INFERRED);
	ck_assert_uint_eq(imported_find(imported, "by time")->placement, EPP_PLACED_AMBIGUOUS);
	ck_assert_uint_eq(imported_find(imported, "by time")->category, EPP_API);
	ck_assert_uint_eq(imported_find(imported, "alone")->parent, 0);
	ck_assert(imported_find(imported, "alone")->flags & EPP_FLAG_UNCORRELATED);
	ck_assert_uint_eq(imported->counts.correlated, 3);
	ck_assert_uint_eq(imported->counts.inferred, 1);
	ck_assert_uint_eq(imported->counts.ambiguous, 1);
	ck_assert_uint_eq(imported->counts.uncorrelated, 1);
	ck_assert_int_eq(imported->epoch_unix_ns, 1700000000000000000);
	free(imported);
}
END_TEST

static const char twins[] =
    "[\n" INIT ",\n"
    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :8,\"dur\" :5,\"ts\" :100,\"ph\" : \"X\",\"name\" :\"node\",\"args\" : {}},\n"
    "{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :8,\"dur\" :9,\"ts\" :100,\"ph\" : \"X\",\"name\" :\"run\",\"args\" : {}},\n"
    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :9,\"dur\" :90,\"ts\" :100,\"ph\" : \"X\",\"name\" :\"node\",\"args\" : {}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :5,\"ph\" : \"X\",\"name\" :\"first\",\"args\" : {"
    "\"ort_correlation_id\" : \"1700000000000004\"}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :150,\"ph\" : \"X\",\"name\" :\"late\",\"args\" : {"
    "\"ort_correlation_id\" : \"1700000000000100\"}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :102,\"ph\" : \"X\",\"name\" :\"early\",\"args\" : {"
    "\"ort_correlation_id\" : \"1700000000000100\",\"ort_event_name\" : \"node\"}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :101,\"ph\" : \"X\",\"name\" :\"told\",\"args\" : {"
    "\"ort_correlation_id\" : \"1700000000000100\",\"ort_thread_id\" : \"8\"}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :170,\"ph\" : \"X\",\"name\" :\"told late\",\"args\" : {"
    "\"ort_correlation_id\" : \"1700000000000100\",\"ort_thread_id\" : \"8\",\"ort_event_name\" : \"node\"}},\n"
    "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :103,\"ph\" : \"X\",\"name\" :\"named\",\"args\" : {"
    "\"ort_correlation_id\" : \"1700000000000100\",\"ort_event_name\" : \"run\"}}\n]\n";

/* Events of two threads that start in the same microsecond have the same id. */
START_TEST(an_id_of_two_threads_is_told_apart_or_believed_of_none)
{
	struct imported *imported = imported_text(twins, sizeof twins - 1);
	const struct imported_event *late = imported_find(imported, "late"), *told = imported_find(imported, "told");
	const struct imported_event *told_late = imported_find(imported, "told late");

	/* When the other had ended. */
	ck_assert_uint_ne(late->parent, 0);
	ck_assert_uint_ne(late->parent, told->parent);
	ck_assert_uint_eq(late->placement, EPP_PLACED_INFERRED);
	ck_assert_uint_eq(imported_find(imported, "early")->parent, 0);
	ck_assert_uint_ne(told->parent, 0);
	ck_assert_uint_eq(told->placement, EPP_PLACED_FORMULA);
	ck_assert_uint_eq(told_late->parent, told->parent);
	ck_assert_uint_eq(imported_find(imported, "named")->parent, imported_find(imported, "run")->id);
	ck_assert_uint_eq(imported_find(imported, "early")->placement, EPP_PLACED_AMBIGUOUS);
	ck_assert_uint_eq(imported->counts.correlated, 4);
	ck_assert_uint_eq(imported->counts.inferred, 1);
	ck_assert_uint_eq(imported->counts.ambiguous, 1);
	ck_assert_uint_eq(imported->counts.uncorrelated, 0);
	free(imported);
}
END_TEST

#define NODE(thread, start, name, args) \
	"{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :" thread ",\"dur\" :50,\"ts\" :" start \
	",\"ph\" : \"X\",\"name\" :\"" name "\",\"args\" : {" args "}},\n"
#define EVENT_OF_EP(start, name, args) \
	"{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :" start ",\"ph\" : \"X\",\"name\" :\"" name \
	"\",\"args\" : {" args "}}"
#define ON(provider) "\"provider\" : \"" provider "\""

static const char without_ids[] = "[\n" INIT ",\n" NODE("8", "100", "alone", "") NODE("8", "200", "a",
                                                                                      "") NODE("9", "210", "b", "")
    NODE("8", "300", "of the EP", ON("SampleEP")) NODE("9", "310", "of ONNX Runtime", ON("CPUExecutionProvider")) NODE(
	"8", "400", "first", ON("SampleEP")) NODE("9", "410", "second", ON("SampleEP"))
	EVENT_OF_EP("120", "in one", "") ",\n" EVENT_OF_EP("220", "in two", "") ",\n" EVENT_OF_EP("221", "told the thread", "\"ort_thread_id\" : \"8\"") ",\n" EVENT_OF_EP(
	    "222", "told the name",
	    "\"ort_event_name\" : \"b\"") ",\n" EVENT_OF_EP("320", "in one of the EP",
                                                            "") ",\n" EVENT_OF_EP("420", "in two of the EP",
                                                                                  "") ",\n" EVENT_OF_EP("900", "in none",
                                                                                                        "") "\n]\n";

/* Without an id the host events of several threads may be around an event: it belongs to none of them, unless all but
 * one are excluded. */
START_TEST(events_without_an_id_belong_to_the_only_host_event_around_them_or_to_none)
{
	static const struct {
		const char *name, *parent;
		uint8_t placement;
	} cases[] = { { "in one", "alone", EPP_PLACED_INFERRED },
		      { "in two", NULL, EPP_PLACED_AMBIGUOUS },
		      { "told the thread", "a", EPP_PLACED_INFERRED },
		      { "told the name", "b", EPP_PLACED_INFERRED },
		      { "in one of the EP", "of the EP", EPP_PLACED_INFERRED },
		      { "in two of the EP", NULL, EPP_PLACED_AMBIGUOUS },
		      { "in none", NULL, EPP_PLACED_FORMULA } };
	struct imported *imported = imported_text(without_ids, sizeof without_ids - 1);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct imported_event *event = imported_find(imported, cases[i].name);
		uint64_t parent = cases[i].parent ? imported_find(imported, cases[i].parent)->id : 0;
		ck_assert_msg(event->parent == parent && event->placement == cases[i].placement,
		              "%s: parent %llu, not %llu, placement %u", cases[i].name,
		              (unsigned long long)event->parent, (unsigned long long)parent, event->placement);
		ck_assert_int_eq(!!(event->flags & EPP_FLAG_UNCORRELATED), !parent);
	}
	ck_assert_int_ge(imported_find(imported, "in one")->start_error_ns, 6000);
	ck_assert_uint_eq(imported->counts.correlated, 0);
	ck_assert_uint_eq(imported->counts.inferred, 4);
	ck_assert_uint_eq(imported->counts.ambiguous, 2);
	ck_assert_uint_eq(imported->counts.uncorrelated, 1);
	free(imported);
}
END_TEST

/* StartProfiling lies between time 0 and the first event that providers see (4 us): times stay, that is the bound. */
START_TEST(bounds_of_providers_are_what_the_file_warrants)
{
	struct imported *imported = imported_text(correlated, sizeof correlated - 1);
	const struct imported_event *k1 = imported_find(imported, "k1");

	ck_assert_int_eq(k1->start_ns, 101000);
	ck_assert_int_eq(k1->duration_ns, 2000);
	ck_assert_int_ge(k1->start_error_ns, 6000);
	ck_assert_int_le(k1->start_error_ns, 9100);
	ck_assert_int_eq(imported_find(imported, "inner")->start_error_ns, 0);
	free(imported);
}
END_TEST

/* A host event before the profile's time 0 is in no profile that ONNX Runtime wrote; a provider's event may be. */
START_TEST(a_damaged_time_begins_the_run)
{
	static const char text[] =
	    "[\n" INIT ",\n"
	    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :8,\"dur\" :5,\"ts\" :-100,\"ph\" : \"X\",\"name\" :\"early\",\"args\" : {}},\n"
	    "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :-300,\"ph\" : \"X\",\"name\" :\"k\",\"args\" : {}}\n]\n";
	struct imported *imported = imported_text(text, sizeof text - 1);

	ck_assert_int_eq(imported_find(imported, "session_initialization")->start_ns -
	                     imported_find(imported, "early")->start_ns,
	                 104000);
	ck_assert(strstr(imported->receipt, "before time 0"));
	free(imported);
}
END_TEST

/* A device's clock that is slow shows its events before the host events that caused them. */
START_TEST(ids_of_a_slow_clock_are_found)
{
	static const unsigned starts_us[] = { 1000, 1117, 1231, 1360, 1478 };
	char text[4096];
	size_t bytes = (size_t)snprintf(text, sizeof text, "[\n" INIT);

	for (size_t i = 0; i < 5; i++)
		bytes += (size_t)snprintf(text + bytes, sizeof text - bytes,
		                          ",\n{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :8,\"dur\" :50,\"ts\" :%u,\"ph\" : \"X\","
		                          "\"name\" :\"node\",\"args\" : {}}",
		                          starts_us[i]);
	for (size_t i = 0; i < 5; i++)
		bytes += (size_t)snprintf(text + bytes, sizeof text - bytes,
		                          ",\n{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :%u,\"ph\" : \"X\","
		                          "\"name\" :\"k\",\"args\" : {\"ort_correlation_id\" : \"170000000000%u\"}}",
		                          starts_us[i] - 300, starts_us[i]);
	bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "\n]\n");
	struct imported *imported = imported_text(text, bytes);
	ck_assert_uint_eq(imported->counts.correlated, 5);
	ck_assert_int_eq(imported->epoch_unix_ns, 1700000000000000000);
	free(imported);
}
END_TEST

/* One id proves nothing: it meets any host event at some time. */
START_TEST(ids_that_meet_nothing_are_not_believed)
{
	char text[4096];
	int bytes = snprintf(text, sizeof text,
	                     "[\n" INIT ",\n" HEAD "a\",\"args\" : {}},\n"
	                     "{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :2,\"ts\" :11,\"ph\" : \"X\",\"name\" :\"k\","
	                     "\"args\" : {\"ort_correlation_id\" : \"1700000000000117\"}}\n]\n");
	struct imported *imported = imported_text(text, (size_t)bytes);

	ck_assert_uint_eq(imported_find(imported, "k")->placement, EPP_PLACED_INFERRED);
	ck_assert_uint_eq(imported_find(imported, "k")->parent, imported_find(imported, "a")->id);
	ck_assert_int_eq(imported->epoch_unix_ns, 0);
	free(imported);
}
END_TEST

/* ---- what is lost ---- */

static epp_trace_ledger_entry provided_account(const char *path)
{
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	epp_trace *trace;

	check_ok(epp_trace_open(path, &trace));
	for (size_t i = 0; i < epp_trace_ledger_count(trace) && !account.is_plugin; i++)
		check_ok(epp_trace_ledger_at(trace, i, &account));
	ck_assert(account.is_plugin && account.balanced);
	static char note[80];
	snprintf(note, sizeof note, "%s", account.note);
	account.note = note;
	epp_trace_close(trace);
	return account;
}

#define KERNEL(dur, ts, name, args) \
	"{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"dur\" :" dur ",\"ts\" :" ts \
	",\"ph\" : \"X\",\"name\" :\"" name "\",\"args\" : {" args "}}"

START_TEST(providers_losses_are_in_their_account)
{
	static const char text[] =
	    "[\n" INIT
	    ",\n" KERNEL("2", "5", "good", "") ",\n" KERNEL("2", "6", "brace", "\"k\" : {not json") ",\n" KERNEL("2", "7", "lines", "\"a\"b\" : [1,\n2\n],\"k\" : \"two\nlines\"") ",\n" KERNEL(
		"-5", "5", "negative",
		"") ",\n" KERNEL("2", "-9223372036854775808", "first",
	                         "") ",\n" KERNEL("9223372036854775807", "5", "long",
	                                          "\"k\" : {") ",\n" KERNEL("2", "9223372036854775807", "last",
	                                                                    "") ",\n{\"cat\" : \"Kernel\",\"pid\" :-1,\"tid\" :3,\"ts\" :5,\"ph\" : \"X\",\"name\" :\"no duration\",\"args\" : {}}"
										",\n{\"cat\" : \"Api\",\"pid\" :-1,\"tid\" :-1,\"dur\" :0,\"ts\" :9,\"ph\" : \"X\",\"name\" :\"epprof.lost\",\"args\" : {"
										"\"ep\" : \"TestEP\",\"emitted\" : \"90\",\"lost_no_buffer\" : \"28\",\"lost_refused\" : \"2\",\"texts_cut\" : \"7\"}}\n]\n";
	struct imported *imported = imported_text(text, sizeof text - 1);
	epp_trace_ledger_entry account = provided_account(check_path("out.epp"));

	ck_assert_uint_eq(imported->count, 4);
	ck_assert_str_eq(imported_find(imported, "brace")->args,
	                 "ort_ts_us=6;ort_dur_us=2;ort_profile_us=0;ort_pid=-1;ort_tid=3;k={not json;");
	ck_assert_str_eq(imported_find(imported, "lines")->args,
	                 "ort_ts_us=7;ort_dur_us=2;ort_profile_us=0;ort_pid=-1;ort_tid=3;a\"b=[1,\n2\n];k=two\nlines;");
	ck_assert_uint_eq(imported->counts.left_out, 5);
	ck_assert_uint_eq(account.lost[EPP_LOSS_REFUSED], 5);
	ck_assert_uint_eq(account.lost[EPP_LOSS_PLUGIN], 30);
	ck_assert_uint_eq(account.emitted, 3 + 35);
	ck_assert_str_eq(account.note, "TestEP: lost_no_buffer 28 lost_refused 2 texts_cut 7");
	ck_assert_ptr_nonnull(strstr(imported->receipt, "TestEP: lost_no_buffer 28"));
	free(imported);
}
END_TEST

/* ---- the output ---- */

START_TEST(output_is_whole_or_not_there)
{
	const char *input = CHECK_SOURCE "/tests/golden/ort_profile_1.30.json";
	char *output = check_path("once.epp");
	int cancelled = 1;
	epp_import_options options = { .struct_size = sizeof options };
	struct stat st;

	check_ok(epp_import_file(input, output, &options, NULL, NULL, NULL));
	check_fails(EPP_EXISTS, epp_import_file(input, output, &options, NULL, NULL, NULL));
	options.overwrite = 1;
	check_ok(epp_import_file(input, output, &options, NULL, NULL, NULL));
	check_fails(EPP_NOT_FOUND, epp_import_file(input, check_path("no/such/folder.epp"), &options, NULL, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_import_file(input, "/dev/full", &options, NULL, NULL, NULL));
	options.format = "nonsense";
	check_fails(EPP_NOT_FOUND, epp_import_file(input, output, &options, NULL, NULL, NULL));
	options.format = "ort";
	options.cancel = &cancelled;
	check_fails(EPP_CANCELLED, epp_import_file(input, output, &options, NULL, NULL, NULL));
	ck_assert_int_eq(stat(output, &st), 0);
	ck_assert_int_gt(st.st_size, 1000);
}
END_TEST

START_TEST(a_record_beyond_all_limits_is_cut_and_said_so)
{
	size_t room = 3 << 20, used;
	char *text = malloc(room);

	ck_assert_ptr_nonnull(text);
	used = (size_t)snprintf(text, room, "[\n" INIT ",\n" HEAD);
	memset(text + used, 'n', 70000);
	used += 70000;
	used += (size_t)snprintf(text + used, room - used, "\",\"args\" : {");
	for (int i = 0; i < 400; i++)
		used += (size_t)snprintf(text + used, room - used, "%s\"k%d\" : \"v\"", i ? "," : "", i);
	used += (size_t)snprintf(text + used, room - used, "}},\n" HEAD);
	memset(text + used, '"', 1500000);
	used += 1500000;
	used += (size_t)snprintf(text + used, room - used, "\",\"args\" : {}}\n]\n");
	struct imported *imported = imported_text(text, used);
	ck_assert_uint_eq(imported->count, 2);
	ck_assert(imported->events[1].flags & EPP_FLAG_ARGS_CUT);
	ck_assert_uint_ge(imported->counts.left_out, 1);
	free(imported);
	free(text);
}
END_TEST

static Suite *import_suite(void)
{
	Suite *suite = suite_create("import");
	TCase *tests = tcase_create("ort");

	tcase_add_test(tests, broken_lines_give_the_same_events);
	tcase_add_test(tests, invalid_utf8_is_kept);
	tcase_add_test(tests, cut_anywhere_keeps_whole_lines);
	tcase_add_test(tests, what_is_no_profile_is_refused);
	tcase_add_test(tests, providers_find_their_host_events);
	tcase_add_test(tests, events_without_an_id_belong_to_the_only_host_event_around_them_or_to_none);
	tcase_add_test(tests, an_id_of_two_threads_is_told_apart_or_believed_of_none);
	tcase_add_test(tests, bounds_of_providers_are_what_the_file_warrants);
	tcase_add_test(tests, a_damaged_time_begins_the_run);
	tcase_add_test(tests, ids_of_a_slow_clock_are_found);
	tcase_add_test(tests, ids_that_meet_nothing_are_not_believed);
	tcase_add_test(tests, providers_losses_are_in_their_account);
	tcase_add_test(tests, output_is_whole_or_not_there);
	tcase_add_test(tests, a_record_beyond_all_limits_is_cut_and_said_so);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(import_suite)
