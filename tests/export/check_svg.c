/* The picture: well-formed whatever names hold, bounded however long the trace, the same in every locale. */
#include <ctype.h>
#include <locale.h>
#include <string.h>

#include "encoding/utf8.h"
#include "export/svg/svg.h"
#include "tests/support/check.h"
#include "tests/support/decimal_comma.h"
#include "tests/support/export_text.h"

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;

static void setup(void)
{
	builder = builder_create();
}

static void teardown(void)
{
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(builder);
}

/* ---- XML, as far as the picture uses it ---- */

static const char *skip_name(const char *at)
{
	while (isalnum((unsigned char)*at) || *at == '-')
		at++;
	return at;
}

/* The characters from `at` to `end` may stand in text or in an attribute. */
static void check_text(const char *at, const char *end)
{
	while (at < end) {
		bool valid;
		size_t length = utf8_sequence(at, (size_t)(end - at), &valid);
		bool known_entity = false;
		if (!valid || *at == '<' || ((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t'))
			ck_abort_msg("at byte %zu: bad character", (size_t)(at - text.bytes));
		static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
		for (unsigned i = 0; *at == '&' && i < 5; i++)
			known_entity = known_entity || strncmp(at, entities[i], strlen(entities[i])) == 0;
		if (*at == '&' && !known_entity)
			ck_abort_msg("at byte %zu: bad entity", (size_t)(at - text.bytes));
		at += length;
	}
}

/* One tag; returns what is behind it. */
static const char *check_tag(const char *at, char stack[16][16], unsigned *depth)
{
	bool closing = at[1] == '/';
	const char *name = at + 1 + closing, *end = skip_name(name);
	char copy[16];

	snprintf(copy, sizeof copy, "%.*s", (int)(end - name), name);
	for (at = end; *at == ' ';) {
		const char *attribute = skip_name(at + 1);
		if (strncmp(attribute, "=\"", 2) != 0)
			ck_abort_msg("attribute of %s", copy);
		const char *close = strchr(attribute + 2, '"');
		check_text(attribute + 2, close);
		at = close + 1;
	}
	if (closing) {
		if (!*depth || strcmp(stack[--*depth], copy) != 0)
			ck_abort_msg("</%s> closes nothing", copy);
	} else if (*at == '/') {
		at++;
	} else {
		ck_assert_uint_lt(*depth, 16);
		memcpy(stack[(*depth)++], copy, sizeof copy);
	}
	if (*at != '>')
		ck_abort_msg("tag %s is not closed", copy);
	return at + 1;
}

static void is_well_formed(void)
{
	char stack[16][16];
	unsigned depth = 0;

	for (const char *at = text.bytes; *at;) {
		if (*at == '<') {
			at = check_tag(at, stack, &depth);
		} else {
			const char *next = at + strcspn(at, "<");
			check_text(at, next);
			at = next;
		}
	}
	ck_assert_uint_eq(depth, 0);
	ck_assert_uint_eq(strlen(text.bytes), text.count);
}

static unsigned count_of(const char *what)
{
	unsigned count = 0;

	for (const char *at = text.bytes; (at = strstr(at, what)) != NULL; at++)
		count++;
	return count;
}

static void draw(const epp_export_options *options)
{
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "svg", options);
	is_well_formed();
}

/* ---- the tests ---- */

START_TEST(any_name_is_drawn)
{
	static const char *const names[] = { "a <b> & \"c\" 'd'",
		                             "\x01\x02 control",
		                             "bad \xff utf8",
		                             "]]>",
		                             "<!-- -->",
		                             "\xE4\xB8\xAD\xE6\x96\x87",
		                             "" };
	uint32_t thread = builder_thread(builder, "<thread>&\xff", 10);

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		builder_event(builder, thread, BUILDER_START + i * 1000, 900, EPP_NODE, builder_name(builder, names[i]),
		              NULL, 0);
	char *long_name = malloc(60000);
	memset(long_name, '<', 60000);
	builder_event(builder, thread, BUILDER_START + 9000, 900, EPP_NODE,
	              builder_name_bytes(builder, long_name, 60000), NULL, 0);
	free(long_name);
	draw(NULL);
	ck_assert_uint_eq(count_of("<g>"), 8);
}
END_TEST

START_TEST(the_sample_is_drawn_with_arrows)
{
	builder_destroy(builder);
	builder = export_sample();
	draw(NULL);
	ck_assert_uint_eq(count_of("<g>"), 24);
	ck_assert_uint_eq(count_of("class=\"a\""), 10);
	ck_assert_uint_eq(count_of(">Accelerator 0<"), 1);
	ck_assert_ptr_nonnull(strstr(text.bytes, "none lost"));
	ck_assert_str_eq(text.receipts, "3 events left out: instants, counter values, asynchronous events\n");
}
END_TEST

START_TEST(only_the_longest_are_kept)
{
	uint32_t thread = builder_thread(builder, "main", 10);
	epp_name small = builder_name(builder, "small"), large = builder_name(builder, "large");

	for (unsigned i = 0; i < 5000; i++)
		builder_event(builder, thread, BUILDER_START + i * 1000, i % 100 ? 100 : 900, EPP_NODE,
		              i % 100 ? small : large, NULL, 0);
	draw(NULL);
	ck_assert_uint_eq(count_of("<g>"), SVG_BARS_MAX);
	ck_assert_uint_eq(count_of("<title>large\n"), 50);
	ck_assert_str_eq(text.receipts, "4400 events left out: the shortest; there are too many for one picture\n");
	ck_assert_ptr_nonnull(strstr(text.bytes, "600 events of 5000 (the longest of each row)"));
}
END_TEST

/* Short kernels are shown beside long host events: each row has its share. */
START_TEST(each_row_keeps_its_longest)
{
	uint32_t thread = builder_thread(builder, "main", 10);
	uint32_t stream = builder_device(builder, "stream", "gpu", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name host = builder_name(builder, "host"), kernel = builder_name(builder, "kernel");

	for (unsigned i = 0; i < 2000; i++)
		builder_event(builder, thread, BUILDER_START + i * 1000, 900, EPP_NODE, host, NULL, 0);
	for (unsigned i = 0; i < 2000; i++)
		builder_complete(builder, stream, BUILDER_START + i * 1000, i % 100 ? 10 : 20, EPP_KERNEL, kernel, 0,
		                 NULL, 0);
	draw(NULL);
	ck_assert_uint_eq(count_of("<title>host\n"), SVG_BARS_MAX / 2);
	ck_assert_uint_eq(count_of("<title>kernel\n"), SVG_BARS_MAX / 2);
	ck_assert_uint_eq(count_of("<title>kernel\n20\xC2\xA0ns"), 20);
}
END_TEST

START_TEST(a_window_is_drawn_alone)
{
	uint32_t thread = builder_thread(builder, "main", 10);
	epp_timeline_options window = { .struct_size = sizeof window, .from_ns = 2500, .to_ns = 4500 };
	epp_export_options options = { .struct_size = sizeof options, .timeline = &window };

	for (unsigned i = 0; i < 10; i++)
		builder_event(builder, thread, BUILDER_START + i * 1000, 900, EPP_NODE, builder_name(builder, "op"),
		              NULL, 0);
	draw(&options);
	ck_assert_uint_eq(count_of("<g>"), 3);
	ck_assert_ptr_nonnull(strstr(text.bytes, ">2.00\xC2\xA0\xC2\xB5s<"));
}
END_TEST

START_TEST(a_moment_can_be_drawn)
{
	uint32_t thread = builder_thread(builder, "main", 10);

	builder_event(builder, thread, BUILDER_START, 0, EPP_NODE, builder_name(builder, "op"), NULL, 0);
	draw(NULL);
	ck_assert_uint_eq(count_of("<g>"), 1);
	ck_assert_uint_eq(count_of("nan") + count_of("inf") - count_of("inferred"), 0);
}
END_TEST

START_TEST(ages_can_be_drawn)
{
	uint32_t thread = builder_thread(builder, "main", 10);

	builder_event(builder, thread, BUILDER_START, 86400000000000ull * 365, EPP_NODE, builder_name(builder, "op"),
	              NULL, 0);
	draw(NULL);
	ck_assert_uint_eq(count_of("nan") + count_of("inf") - count_of("inferred"), 0);
}
END_TEST

START_TEST(the_locale_changes_nothing)
{
	struct export_text plain;

	builder_destroy(builder);
	builder = export_sample();
	if (!set_decimal_comma(LC_ALL))
		return;
	draw(NULL);
	setlocale(LC_ALL, "C");
	export_text_make(&plain, trace, "svg", NULL);
	ck_assert_str_eq(text.bytes, plain.bytes);
	export_text_free(&plain);
}
END_TEST

/* Wide letters need more room than narrow ones: a cut name ends in an ellipsis within its bar. */
START_TEST(a_name_is_cut_by_the_width_of_its_letters)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	char wide[101] = "", narrow[101] = "";

	memset(wide, 'M', 100);
	memset(narrow, 'i', 100);
	builder_event(builder, thread, BUILDER_START, 500, EPP_NODE, builder_name(builder, wide), NULL, 0);
	builder_event(builder, thread, BUILDER_START + 500, 500, EPP_NODE, builder_name(builder, narrow), NULL, 0);
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "svg", NULL);
	const char *cut = strstr(text.bytes, "\">MMM");
	ck_assert_ptr_nonnull(cut);
	/* A bar of 508 pixels has 500 for its name, the ellipsis 11 of them, an M 9.57. */
	size_t letters = strspn(cut + 2, "M");
	ck_assert_uint_eq(letters, 51);
	ck_assert_int_eq(strncmp(cut + 2 + letters, "\xE2\x80\xA6</text>", 10), 0);
	ck_assert_ptr_nonnull(strstr(text.bytes, "iii</text>"));
	ck_assert_ptr_null(strstr(text.bytes, "iii\xE2"));
}
END_TEST

static Suite *svg_suite(void)
{
	Suite *suite = suite_create("svg");
	TCase *tests = tcase_create("svg");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, any_name_is_drawn);
	tcase_add_test(tests, the_sample_is_drawn_with_arrows);
	tcase_add_test(tests, only_the_longest_are_kept);
	tcase_add_test(tests, each_row_keeps_its_longest);
	tcase_add_test(tests, a_window_is_drawn_alone);
	tcase_add_test(tests, a_moment_can_be_drawn);
	tcase_add_test(tests, ages_can_be_drawn);
	tcase_add_test(tests, a_name_is_cut_by_the_width_of_its_letters);
	tcase_add_test(tests, the_locale_changes_nothing);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(svg_suite)
