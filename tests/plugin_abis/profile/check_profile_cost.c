/* XSpaces of a size and a content that make a loop within a loop last for minutes: the time to read a plugin's data
 * grows with their size only.  Covers profile_delivery.c. */
#include <stdio.h>
#include <sys/resource.h>

#include "plugins/profile/profile_delivery.h"
#include "tests/support/check.h"
#include "tests/support/emulated.h"
#include "tests/support/xplane_builder.h"

/* Of the processor: it does not count how busy the machine is. */
#define LIMIT_S 10

/* Sanitizers make a byte cost up to seven times as much, for which the limit is not meant. */
#ifdef __SANITIZE_ADDRESS__
#define SHARE 4
#else
#define SHARE CHECK_ONE_IN
#endif

/* Delivers an XSpace to a profiler that no session has.  Returns the number of its events. */
static uint64_t deliver(struct xbytes *space)
{
	OrtEpProfilerImpl profiler = { .ort_version_supported = 0 };
	struct profile_target target = { .profiler = &profiler, .name = "notes" };
	const struct profile_time_range window = { .oldest_ns = -1000000000, .until_ns = INT64_MAX, .counts_losses = true };
	const struct profile_data data = { .bytes = (uint8_t *)space->bytes, .count = space->count };
	const struct rlimit limit = { LIMIT_S, LIMIT_S };
	uint64_t events_count;

	ck_assert_int_eq(setrlimit(RLIMIT_CPU, &limit), 0);
	check_ok(profile_deliver_xspace(&target, &data, &window, &events_count));
	free(space->bytes);
	return events_count;
}

START_TEST(many_devices)
{
	enum { DEVICES = 1000000 / SHARE };
	struct xbytes space = { 0 };

	for (unsigned i = 0; i < DEVICES; i++) {
		struct xbytes plane = { 0 };
		char name[16];
		snprintf(name, sizeof(name), "%u", i);
		xtext(&plane, 2, name);
		xput(&space, 1, &plane);
	}
	ck_assert_uint_eq(deliver(&space), 0);
}
END_TEST

START_TEST(names_of_zero_bytes)
{
	enum { NAMES = 8, NAME_BYTES = 4096, EVENTS = 3000 / SHARE, STATS = 50 };
	static const char zeros[NAME_BYTES];
	struct xbytes space = { 0 }, plane = { 0 }, line = { 0 };

	for (uint64_t i = 1; i <= NAMES; i++) {
		struct xbytes name = { 0 }, value = { 0 }, entry = { 0 };
		xraw(&name, zeros, sizeof(zeros));
		xnumber(&value, 1, i);
		xput(&value, 2, &name);
		xnumber(&entry, 1, i);
		xput(&entry, 2, &value);
		xput(&plane, 5, &entry);
	}
	xline(&line, 1, "stream", 1000);
	for (uint64_t i = 0; i < EVENTS; i++) {
		struct xbytes event = { 0 };
		xevent(&event, 1, 1000, 1000);
		/* The names in turn, so that no copy is used twice. */
		for (int64_t stat = 0; stat < STATS; stat++)
			xstat_number(&event, 4, stat % NAMES + 1, 3, 1);
		xput(&line, 4, &event);
	}
	xput(&plane, 3, &line);
	xput(&space, 1, &plane);
	ck_assert_uint_eq(deliver(&space), EVENTS);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("profile_cost");
	TCase *tc = tcase_create("profile_cost");

	tcase_set_timeout(tc, 300);
	if (!emulated_without("it takes longer than the limit"))
		tcase_add_test(tc, many_devices);
	tcase_add_test(tc, names_of_zero_bytes);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
