/* XSpace: what is written reads back the same, names and references are resolved wherever the tables stand, and damage
 * costs what is damaged.  Covers xspace.c. */
#include "encoding/xspace.h"

#include "tests/encoding/protobuf_reader.h"
#include "tests/encoding/xspace_write.h"

#define STRING(literal) ((struct protobuf_string){ literal, sizeof(literal) - 1 })

/* ---- writing a small one by hand ---- */

static void add_text(struct bytes *to, uint32_t field, struct protobuf_string text)
{
	to->count = (size_t)(protobuf_bytes(to->at + to->count, field, text.text, text.bytes) - to->at);
}

static void add_event(struct bytes *line, const struct xspace_event *event)
{
	struct bytes message;
	message.count = (size_t)(xspace_event_write(message.at, event) - message.at);
	ck_assert_uint_eq(message.count, xspace_event_bytes(event));
	add(line, XLINE_EVENTS, &message);
}

static void add_name(struct bytes *plane, uint32_t table, int64_t id, struct protobuf_string name)
{
	struct bytes message;
	message.count = (size_t)(xspace_metadata_write(message.at, id, name) - message.at);
	ck_assert_uint_eq(message.count, xspace_metadata_bytes(id, name));
	add(plane, table, &message);
}

static void line_of(struct bytes *line, const struct xspace_line *what)
{
	line->count = (size_t)(xspace_line_write(line->at, what) - line->at);
	ck_assert_uint_eq(line->count, xspace_line_bytes(what));
}

/* ---- what was read ---- */

static void tell_stats(const struct xspace_stat *stats, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct xspace_stat *stat = &stats[i];
		tell(" %.*s=", (int)stat->name.bytes, stat->name.bytes ? stat->name.text : "");
		if (stat->type == XSTAT_F64)
			tell("%g", stat->value.f64);
		else if (stat->type == XSTAT_U64)
			tell("%lluu", (unsigned long long)stat->value.u64);
		else if (stat->type == XSTAT_I64)
			tell("%lld", (long long)stat->value.i64);
		else if (stat->type == XSTAT_TEXT)
			tell("'%.*s'", (int)stat->value.text.bytes, stat->value.text.bytes ? stat->value.text.text : "");
		else
			tell("[%zu]", stat->value.text.bytes);
	}
	tell("\n");
}

/* With `user` a name: only that plane's lines are wanted. */
static bool tell_plane(void *user, const struct xspace_plane *plane)
{
	tell("plane %lld %.*s", (long long)plane->id, (int)plane->name.bytes, plane->name.bytes ? plane->name.text : "");
	tell_stats(plane->stats, plane->stats_count);
	return !user || !strncmp(user, plane->name.text, plane->name.bytes);
}

static void tell_line(void *user, const struct xspace_line *line)
{
	(void)user;
	tell("line %lld %.*s at %lld\n", (long long)line->id, (int)line->name.bytes,
	     line->name.bytes ? line->name.text : "", (long long)line->timestamp_ns);
}

static void tell_event(void *user, const struct xspace_event *event)
{
	(void)user;
	tell("%.*s %lld+%lld", (int)event->name.bytes, event->name.bytes ? event->name.text : "",
	     (long long)event->offset_ps, (long long)event->duration_ps);
	if (event->occurrences)
		tell(" x%lld", (long long)event->occurrences);
	tell_stats(event->stats, event->stats_count);
}

static void tell_message(void *user, bool is_error, struct protobuf_string text)
{
	(void)user;
	tell("%s: %.*s\n", is_error ? "error" : "warning", (int)text.bytes, text.text);
}

static const struct xspace_reader teller = { tell_plane, tell_line, tell_event, tell_message, NULL };
static struct xspace_account account;

static epp_status *read_message(const void *bytes, size_t count)
{
	return xspace_read(bytes, count, &teller, &account);
}

/* ---- tests ---- */

static void sample(struct bytes *space)
{
	struct bytes plane = { .count = 0 }, line, metadata = { .count = 0 }, entry = { .count = 0 }, stat;
	const struct xspace_stat stats[] = {
		{ .metadata_id = 1, .type = XSTAT_U64, .value.u64 = UINT64_MAX },
		{ .metadata_id = 2, .type = XSTAT_I64, .value.i64 = -5 },
		{ .metadata_id = 3, .type = XSTAT_F64, .value.f64 = 0.0 },
		{ .metadata_id = 4, .type = XSTAT_TEXT, .value.text = STRING("say \"hi\"") },
		{ .metadata_id = 5, .type = XSTAT_BYTES, .value.text = STRING("\0\1\2") },
		{ .metadata_id = 6, .type = XSTAT_REF, .value.u64 = 7 },
		{ .metadata_id = 99, .type = XSTAT_I64, .value.i64 = 0 },
	};
	space->count = 0;
	line_of(&line, &(struct xspace_line){ .id = 13, .timestamp_ns = 1700000000000000000 });
	add_event(&line, &(struct xspace_event){
			     .metadata_id = 1, .offset_ps = 0, .duration_ps = 1500, .stats = stats, .stats_count = 7 });
	add_event(&line, &(struct xspace_event){ .metadata_id = -2, .offset_ps = 2000 });
	add_event(&line, &(struct xspace_event){ .metadata_id = 1, .occurrences = 4, .duration_ps = 9 });
	add_event(&line, &(struct xspace_event){ .metadata_id = 77, .offset_ps = 3000 });
	/* Behind its events. */
	add_text(&line, XLINE_NAME, STRING("Stream #13"));
	add(&plane, XPLANE_LINES, &line);
	/* Behind what uses them. */
	static const struct protobuf_string names[] = { STRING("correlation_id"), STRING("delta"), STRING("share"),
		                                        STRING("details"),        STRING("proto"), STRING("kind"),
		                                        STRING("Compute"),        STRING("vendor") };
	for (int i = 0; i < 8; i++)
		add_name(&plane, XPLANE_STAT_METADATA, i + 1, names[i]);
	add_name(&plane, XPLANE_EVENT_METADATA, 1, STRING("forgotten"));
	add_name(&plane, XPLANE_EVENT_METADATA, 1, STRING("gemm"));
	/* With a stat of its own, for all its events. */
	stat.count = (size_t)(xspace_stat_write(stat.at, &stats[1]) - stat.at);
	ck_assert_uint_eq(stat.count, xspace_stat_bytes(&stats[1]));
	add_number(&metadata, XMETADATA_ID, -2);
	add_text(&metadata, XMETADATA_NAME, STRING("relu"));
	add(&metadata, XMETADATA_STATS, &stat);
	add_number(&entry, 1, -2);
	add(&entry, 2, &metadata);
	add(&plane, XPLANE_EVENT_METADATA, &entry);
	stat.count = (size_t)(xspace_stat_write(stat.at, &(struct xspace_stat){ .metadata_id = 8,
	                                                                        .type = XSTAT_TEXT,
	                                                                        .value.text = STRING("ACME") }) -
	                      stat.at);
	add(&plane, XPLANE_STATS, &stat);
	add_text(&plane, XPLANE_NAME, STRING("/device:CUSTOM:0"));
	add_number(&plane, XPLANE_ID, 3);
	add_text(space, XSPACE_WARNINGS, STRING("a warning"));
	add(space, XSPACE_PLANES, &plane);
	add_text(space, XSPACE_ERRORS, STRING("an error"));
	add_text(space, XSPACE_HOSTNAMES, STRING("host"));
}

static const char sample_told[] = "warning: a warning\n"
				  "plane 3 /device:CUSTOM:0 vendor='ACME'\n"
				  "line 13 Stream #13 at 1700000000000000000\n"
				  "gemm 0+1500 correlation_id=18446744073709551615u delta=-5 share=0 details='say \"hi\"' "
				  "proto=[3] kind='Compute' =0\n"
				  "relu 2000+0 delta=-5\n"
				  "gemm 0+9 x4\n"
				  " 3000+0\n"
				  "error: an error\n";

START_TEST(all_that_it_holds_is_handed_out)
{
	struct bytes space;
	sample(&space);
	check_ok(read_of(space.at, space.count));
	ck_assert_str_eq(told, sample_told);
	ck_assert_uint_eq(account.events_count, 4);
	ck_assert_uint_eq(account.nameless_count, 1);
	ck_assert_uint_eq(account.stats_lost_count, 0);
	/* Nobody has to listen. */
	check_ok(xspace_read(space.at, space.count, &(struct xspace_reader){ 0 }, &account));
	ck_assert_uint_eq(account.events_count, 4);
	/* Lines of a plane that is not wanted are left out. */
	char wanted[] = "/device:GPU:0";
	struct xspace_reader other = { .plane = tell_plane, .event = tell_event, .user = wanted };
	check_ok(xspace_read(space.at, space.count, &other, &account));
	ck_assert_uint_eq(account.events_count, 0);
	check_ok(read_of("", 0));
	ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(zeros_behind_it_are_no_damage)
{
	struct bytes space;
	sample(&space);
	memset(space.at + space.count, 0, 100);
	check_ok(read_of(space.at, space.count + 1));
	check_ok(read_of(space.at, space.count + 100));
	ck_assert_str_eq(told, sample_told);
	space.at[space.count + 50] = 1;
	check_fails(EPP_CORRUPT, read_of(space.at, space.count + 100));
	ck_assert_str_eq(told, sample_told);
}
END_TEST

/* Cut anywhere it says so, unless the cut is between two fields, and never hands out what was not there. */
START_TEST(every_cut_is_noticed)
{
	struct bytes space;
	unsigned clean_count = 0;
	sample(&space);
	for (size_t cut = 0; cut < space.count; cut++) {
		epp_status *status = read_of(space.at, cut);
		clean_count += !status;
		ck_assert(!strncmp(told, sample_told, strlen(told)));
		epp_status_destroy(status);
	}
	/* Nothing, and behind each of the first three fields. */
	ck_assert_uint_eq(clean_count, 4);
}
END_TEST

START_TEST(damage_inside_costs_what_is_damaged)
{
	struct bytes space = { .count = 0 }, plane = { .count = 0 }, line, bad = { .count = 0 };
	line_of(&line, &(struct xspace_line){ .id = 1,
	                                      .timestamp_ns = 5,
	                                      .name = STRING("s"),
	                                      .duration_ps = 7,
	                                      .display_id = 9,
	                                      .display_name = STRING("d") });
	add_event(&line, &(struct xspace_event){ .metadata_id = 1, .offset_ps = 1 });
	add_number(&bad, XEVENT_METADATA_ID, 1);
	bad.at[bad.count++] = 0x10; /* an offset that is not there */
	add(&line, XLINE_EVENTS, &bad);
	add_event(&line, &(struct xspace_event){ .metadata_id = 1, .offset_ps = 2 });
	add(&plane, XPLANE_LINES, &line);
	add_name(&plane, XPLANE_EVENT_METADATA, 1, STRING("ok"));
	add(&space, XSPACE_PLANES, &plane);
	check_fails(EPP_CORRUPT, read_of(space.at, space.count));
	ck_assert_str_eq(told, "plane 0 \nline 1 s at 5\nok 1+0\nok 2+0\n");
	ck_assert_uint_eq(account.damaged_count, 1);
}
END_TEST

START_TEST(stats_beyond_the_limit_are_counted)
{
	struct xspace_stat stats[300];
	struct bytes space = { .count = 0 }, plane = { .count = 0 }, line;
	for (int i = 0; i < 300; i++)
		stats[i] = (struct xspace_stat){ .metadata_id = 1, .type = XSTAT_I64, .value.i64 = i };
	line_of(&line, &(struct xspace_line){ .id = 1 });
	add_event(&line, &(struct xspace_event){ .metadata_id = 1, .stats = stats, .stats_count = 300 });
	add(&plane, XPLANE_LINES, &line);
	add(&space, XSPACE_PLANES, &plane);
	check_ok(xspace_read(space.at, space.count, &(struct xspace_reader){ 0 }, &account));
	ck_assert_uint_eq(account.stats_lost_count, 300 - XSPACE_STATS_MAX);
}
END_TEST

START_TEST(any_bytes_are_survived)
{
	struct bytes space;
	sample(&space);
	srand48(11);
	for (int round = 0; round < 20000; round++) {
		struct bytes changed = space;
		for (int i = 0; i < 1 + round % 4; i++)
			changed.at[(size_t)lrand48() % space.count] = (char)lrand48();
		void *copy = malloc(space.count);
		memcpy(copy, changed.at, space.count);
		struct xspace_account any;
		epp_status_destroy(xspace_read(copy, space.count, &(struct xspace_reader){ 0 }, &any));
		free(copy);
	}
}
END_TEST

static Suite *xspace_suite(void)
{
	Suite *suite = suite_create("xspace");
	TCase *tests = tcase_create("xspace");
	tcase_add_test(tests, all_that_it_holds_is_handed_out);
	tcase_add_test(tests, zeros_behind_it_are_no_damage);
	tcase_add_test(tests, every_cut_is_noticed);
	tcase_add_test(tests, damage_inside_costs_what_is_damaged);
	tcase_add_test(tests, stats_beyond_the_limit_are_counted);
	tcase_add_test(tests, any_bytes_are_survived);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(xspace_suite)
