/* Profiling events through the tables: what is refused, and what arrives in a container. */
#include "tests/support/check.h"

#include <string.h>

#include "ort_abi/ort_event.h"
#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"

static void check_refused(OrtStatus *status, const char *part)
{
	ck_assert_ptr_nonnull(status);
	ck_assert_int_eq(ort_status_code(status), ORT_INVALID_ARGUMENT);
	ck_assert_msg(strstr(ort_status_message(status), part) != NULL, "%s", ort_status_message(status));
	ort_status_release(status);
}

#define check_done(expression) \
	do { \
		OrtStatus *ort_status_ = (expression); \
		ck_assert_msg(!ort_status_, "%s", ort_status_message(ort_status_)); \
	} while (0)

static OrtStatus *create(int category, const char *name, const char *const *keys, const char *const *values,
                         size_t count, OrtProfilingEvent **out)
{
	return ort_ep_api_CreateProfilingEvent((OrtProfilingEventCategory)category, -1, -1, name, 1, 2, keys, values,
	                                       count, out);
}

START_TEST(an_event_is_made_and_read)
{
	const char *const keys[] = { "ort_correlation_id" };
	const char *const values[] = { "17" };
	OrtProfilingEvent *event = NULL;
	OrtProfilingEventCategory category;
	const char *text;
	int64_t us;
	for (int c = 0; c < 4; c++) {
		check_done(create(c, "gemm", keys, values, 1, &event));
		check_done(ort_ep_api_ProfilingEvent_GetCategory(event, &category));
		ck_assert_int_eq((int)category, c);
		check_done(ort_ep_api_ProfilingEvent_GetName(event, &text));
		ck_assert_str_eq(text, "gemm");
		check_done(ort_ep_api_ProfilingEvent_GetTimestampUs(event, &us));
		ck_assert_int_eq(us, 1);
		check_done(ort_ep_api_ProfilingEvent_GetDurationUs(event, &us));
		ck_assert_int_eq(us, 2);
		check_done(ort_ep_api_ProfilingEvent_GetArgValue(event, "ort_correlation_id", &text));
		ck_assert_str_eq(text, "17");
		/* An unknown key is no error. */
		check_done(ort_ep_api_ProfilingEvent_GetArgValue(event, "stream", &text));
		ck_assert_ptr_null(text);
		ort_ep_api_ReleaseProfilingEvent(event);
	}
	check_done(create(0, "", NULL, NULL, 0, &event));
	ort_ep_api_ReleaseProfilingEvent(event);
	ort_ep_api_ReleaseProfilingEvent(NULL);
}
END_TEST

START_TEST(what_onnx_runtime_refuses_is_refused)
{
	const char *const keys[] = { "a", NULL };
	const char *const values[] = { NULL, "b" };
	OrtProfilingEvent *event = (OrtProfilingEvent *)&event;
	check_refused(create(4, "n", NULL, NULL, 0, &event), "category 4");
	ck_assert_ptr_null(event);
	check_refused(create(-1, "n", NULL, NULL, 0, &event), "category -1");
	check_refused(create(INT32_MAX, "n", NULL, NULL, 0, &event), "category 2147483647");
	check_refused(create(0, NULL, NULL, NULL, 0, &event), "event_name is NULL");
	check_refused(create(0, "n", NULL, values, 1, &event), "arg_keys is NULL");
	check_refused(create(0, "n", keys, NULL, 1, &event), "arg_values is NULL");
	check_refused(create(0, "n", keys, values, 1, &event), "the value of arg 0");
	check_refused(create(0, "n", keys + 1, values + 1, 1, &event), "the key of arg 0");
	check_refused(create(0, "n", NULL, NULL, 0, NULL), "out is NULL");
}
END_TEST

START_TEST(accessors_refuse_nulls)
{
	OrtProfilingEvent *event = NULL;
	OrtProfilingEventCategory category;
	const char *text;
	int64_t us;
	check_done(create(0, "n", NULL, NULL, 0, &event));
	check_refused(ort_ep_api_ProfilingEvent_GetCategory(event, NULL), "out");
	check_refused(ort_ep_api_ProfilingEvent_GetCategory(NULL, &category), "event");
	check_refused(ort_ep_api_ProfilingEvent_GetName(event, NULL), "out");
	check_refused(ort_ep_api_ProfilingEvent_GetName(NULL, &text), "event");
	check_refused(ort_ep_api_ProfilingEvent_GetTimestampUs(NULL, &us), "event");
	check_refused(ort_ep_api_ProfilingEvent_GetDurationUs(NULL, &us), "event");
	check_refused(ort_ep_api_ProfilingEvent_GetArgValue(event, NULL, &text), "key");
	ck_assert_ptr_null(text);
	check_refused(ort_ep_api_ProfilingEvent_GetArgValue(NULL, "k", &text), "event");
	check_refused(ort_ep_api_ProfilingEvent_GetArgValue(event, "k", NULL), "out");
	ort_ep_api_ReleaseProfilingEvent(event);
}
END_TEST

/* ---- the container ---- */

static OrtStatus *add(OrtProfilingEventsContainer *self, const OrtProfilingEvent *const *events, size_t count)
{
	size_t *seen = self->user;
	for (size_t i = 0; i < count; i++)
		ck_assert_str_eq(events[i]->name, "n");
	*seen += count;
	return *seen > 3 ? ort_status_create(ORT_FAIL, "full") : NULL;
}

START_TEST(events_arrive_in_the_container)
{
	size_t seen = 0;
	OrtProfilingEventsContainer container = { add, &seen };
	OrtProfilingEvent *event = NULL;
	check_done(create(0, "n", NULL, NULL, 0, &event));
	const OrtProfilingEvent *events[] = { event, event, NULL };
	check_done(ort_ep_api_ProfilingEventsContainer_AddEvents(&container, events, 2));
	check_done(ort_ep_api_ProfilingEventsContainer_AddEvents(&container, events, 1));
	ck_assert_uint_eq(seen, 3);
	/* One NULL, and nothing is added. */
	check_refused(ort_ep_api_ProfilingEventsContainer_AddEvents(&container, events, 3), "event 2 is NULL");
	ck_assert_uint_eq(seen, 3);
	check_refused(ort_ep_api_ProfilingEventsContainer_AddEvents(&container, events, 0), "num_events is 0");
	check_refused(ort_ep_api_ProfilingEventsContainer_AddEvents(&container, NULL, 1), "events is NULL");
	check_refused(ort_ep_api_ProfilingEventsContainer_AddEvents(NULL, events, 1), "events_container is NULL");
	OrtStatus *status = ort_ep_api_ProfilingEventsContainer_AddEvents(&container, events, 1);
	ck_assert_str_eq(ort_status_message(status), "full");
	ort_status_release(status);
	ort_ep_api_ReleaseProfilingEvent(event);
}
END_TEST

static Suite *ort_events_suite(void)
{
	Suite *suite = suite_create("ort_events");
	TCase *tests = tcase_create("ort_events");
	tcase_add_test(tests, an_event_is_made_and_read);
	tcase_add_test(tests, what_onnx_runtime_refuses_is_refused);
	tcase_add_test(tests, accessors_refuse_nulls);
	tcase_add_test(tests, events_arrive_in_the_container);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ort_events_suite)
