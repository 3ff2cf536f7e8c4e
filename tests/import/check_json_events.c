/* Reading JSON in pieces: the events and the error do not depend on where the pieces are cut. */
#include <string.h>

#include "import/json_events.h"
#include "tests/support/check.h"

static const char *const documents[] = {
	("{\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":17,\"traceEvents\":[\n"
	 "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"bench\"}},\n"
	 "{\"ph\":\"X\",\"name\":\"a b\",\"cat\":\"Node\",\"pid\":1,\"tid\":-17,\"ts\":0.181,\"dur\":38.643},\n"
	 "{ \"ph\" : \"X\" , \"name\":\"caf\xc3\xa9\",\"ts\":1e3,\"dur\":-0,\"args\": { \"i\" : -5 ,\"f\":2.5E+1,\"t\":true,"
	 "\"n\":null} } ,\r\n\t{\"ph\":\"i\",\"args\":{},\"s\":\"t\",\"x\":false,\"name\":\"a name of more than eight bytes\"},\n"
	 "{\"ph\":\"X\",\"name\":\"\\u0041\\n\",\"args\":{\"a\":[1,{\"b\":\"}\"}],\"s\":\"}, {\"}},{\"id2\":{\"local\":\"0x1\"}},"
	 "{\"id\":5,\"scope\":\"q\",\"bp\":\"e\",\"args\":7,\"args\":{\"k\":1,\"k\":\"\"}},{},7,\"}\",{\"name\":\"last\"}],\"more\":[{}]}"),
	("[{\"ph\":\"X\"},{\"args\":{\"a\": [ ] ,\"b\":[ [1 , -2],{ \"k\" : { } ,\"l\":[\"/\",null]}]}},{\"args\":{\"c\":{\"d\":\"e\"}}},\n"
	 "{\"ph\":\"B\",\"ts\":1},{\"ph\":\"E\",\"ts\":2},{\"ph\":\"B\",\"pid\":\"text\",\"tid\":3},\n"),
	/* Members in the same order, in another one, twice, missing; numbers at the limits. */
	("[{\"name\":\"a\",\"ph\":\"X\",\"pid\":1,\"tid\":12,\"ts\":0.1234,\"dur\":1.5},"
	 "{\"name\":\"b\",\"ph\":\"X\",\"pid\":0,\"tid\":-3,\"ts\":3999999999999999.999,\"dur\":400000000000000.5},"
	 "{\"name\":\"c\",\"ph\":\"X\",\"pid\":18446744073709551615,\"tid\":1.5,\"ts\":4000000000000000,\"dur\":00000000000000000000},"
	 "{\"name\":\"c\",\"ph\":\"X\",\"pid\":3999999999999999,\"tid\":4000000000000000,\"ts\":1784000000000000.12,\"dur\":1e2},"
	 "{\"name\":\"d\",\"ph\":\"X\",\"pid\":10,\"ts\":2.,\"dur\":{}}, {\"name\":5,\"ph\":true,\"ts\":\"7\",\"dur\":7.25,\"dur\":8,"
	 "\"args\":{}},{\"name\" :\"e\"},{\"name\" :\"e\",\"ph\": \"X\"},{\"ph\":\"X\"},{\"name\" :\"f\",\"ph\": \"X\"},{}]"),
	"[ ]",
};

struct said {
	char *text;
	size_t bytes;
	FILE *file;
};

static void say_text(FILE *file, const struct event *event, struct event_text text)
{
	fprintf(file, "%u:", text.bytes);
	fwrite(text.bytes ? event_chars(event, text) : "", 1, text.bytes, file);
	putc(' ', file);
}

static epp_status *say(void *user, struct event *event)
{
	FILE *file = user;
	const struct event_text texts[] = { event->name,  event->cat,      event->id,
		                            event->scope, event->pid_text, event->tid_text };

	fprintf(file, "%x %d %d%d%d %u %lld %lld %lld %lld ", event->keys, event->phase, event->cut, event->id_is_local,
	        event->binds_enclosing, event->left_out, (long long)event->pid, (long long)event->tid,
	        (long long)event->ts_ns, (long long)event->dur_ns);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		say_text(file, event, texts[i]);
	for (uint32_t i = 0; i < event->args_count; i++) {
		const struct event_arg *arg = &event->args[i];
		say_text(file, event, arg->key);
		if (arg->type == EPP_ARG_TEXT)
			say_text(file, event, arg->text);
		else
			fprintf(file, "%u=%llx ", arg->type, (unsigned long long)arg->number.u64);
	}
	putc('\n', file);
	return NULL;
}

/* What a document says, given in pieces. */
static struct said read_in_pieces(const char *document, size_t bytes, size_t piece)
{
	struct said said;
	struct json_events json;
	enum json_read read = JSON_READ_ON;
	char *message = NULL;

	said.file = open_memstream(&said.text, &said.bytes);
	ck_assert_ptr_nonnull(said.file);
	json_events_init(&json, JSON_SHAPE_UNKNOWN);
	json.found = say;
	json.user = said.file;
	for (size_t at = 0; at < bytes && read == JSON_READ_ON; at += piece)
		read = json_events_read(&json, document + at, bytes - at < piece ? bytes - at : piece, &message);
	/* Why, without where: yajl stops before or behind a token, by how it came. */
	fprintf(said.file, "%d%s", read, message ? strchr(message, ':') : "");
	if (read == JSON_READ_ON)
		fprintf(said.file, "%d %d %lld %llu", json_events_end(&json), json.has_base, (long long)json.base_ns,
		        (unsigned long long)json.bytes);
	free(message);
	json_events_deinit(&json);
	fclose(said.file);
	return said;
}

static void check_pieces(const char *document, size_t bytes)
{
	struct said one = read_in_pieces(document, bytes, 1);

	for (size_t piece = bytes; piece > 1; piece = piece > 200 ? piece / 2 : piece / 7) {
		struct said said = read_in_pieces(document, bytes, piece);
		ck_assert_msg(said.bytes == one.bytes && !memcmp(said.text, one.text, one.bytes),
		              "in pieces of %zu:\n%.*s\nis\n%s\nbut should be\n%s", piece, (int)bytes, document,
		              said.text, one.text);
		free(said.text);
	}
	free(one.text);
}

START_TEST(documents_are_read_in_pieces_of_any_size)
{
	for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
		for (size_t bytes = 1; bytes <= strlen(documents[i]); bytes++)
			check_pieces(documents[i], bytes);
}
END_TEST

static uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 88172645463325252u;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * limit >> 32);
}

START_TEST(damaged_documents_are_too)
{
	static const char bytes_of_json[] = "\"\"\\{}[],,:: \n\t\x01\x0b\x7f\xff\x80-+.eE0019tfnul/";

	for (int i = 0; i < 20000 / CHECK_ONE_IN; i++) {
		const char *document = documents[random_below(3)];
		size_t bytes = strlen(document);
		char *copy = strdup(document);
		for (uint32_t left = 1 + random_below(3); left; left--) {
			size_t at = random_below((uint32_t)bytes);
			if (random_below(3))
				copy[at] = bytes_of_json[random_below(sizeof bytes_of_json - 1)];
			else
				memmove(copy + at, copy + at + 1, bytes-- - at - 1);
		}
		check_pieces(copy, bytes);
		free(copy);
	}
}
END_TEST

static Suite *json_events_suite(void)
{
	Suite *suite = suite_create("json_events");
	TCase *tests = tcase_create("json_events");

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, documents_are_read_in_pieces_of_any_size);
	tcase_add_test(tests, damaged_documents_are_too);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(json_events_suite)
