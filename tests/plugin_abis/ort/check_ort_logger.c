/* The plugins' logger. */
#include "tests/support/check.h"

#include <string.h>

#include "epprof/plugin.h"
#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"

static char last[2048];
static epp_blame last_blame;
static int messages;

static void keep(void *user, epp_blame blame, const char *text)
{
	ck_assert_ptr_eq(user, &messages);
	snprintf(last, sizeof(last), "%s", text);
	last_blame = blame;
	messages++;
}

static void log_message(const OrtLogger *logger, OrtLoggingLevel severity, const char *text, const char *file)
{
	OrtStatus *status = ort_api_Logger_LogMessage(logger, severity, text, file, 12, "function");
	ck_assert_msg(!status, "%s", ort_status_message(status));
}

START_TEST(warnings_reach_the_listener)
{
	OrtLogger *logger = ort_logger_create("sample");
	OrtLoggingLevel level = ORT_LOGGING_LEVEL_FATAL;
	OrtStatus *status = ort_api_Logger_GetLoggingSeverityLevel(logger, &level);
	ck_assert_ptr_null(status);
	ck_assert_int_eq((int)level, ORT_LOGGING_LEVEL_WARNING);
	/* Nobody listens: nothing happens. */
	log_message(logger, ORT_LOGGING_LEVEL_FATAL, "unheard", NULL);
	epp_plugin_set_log(keep, &messages);
	log_message(logger, ORT_LOGGING_LEVEL_INFO, "chatter", NULL);
	ck_assert_int_eq(messages, 0);
	log_message(logger, ORT_LOGGING_LEVEL_WARNING, "no clock", "/src/ep/clock.c");
	ck_assert_str_eq(last, "sample: no clock (clock.c:12)");
	ck_assert_int_eq((int)last_blame, EPP_BLAME_PLUGIN);
	log_message(logger, ORT_LOGGING_LEVEL_ERROR, "100% %s %n lost", "clock.c");
	ck_assert_str_eq(last, "sample: 100% %s %n lost (clock.c:12)");
	log_message(logger, ORT_LOGGING_LEVEL_FATAL, "dead", NULL);
	ck_assert_str_eq(last, "sample: dead");
	epp_plugin_set_log(NULL, NULL);
	log_message(logger, ORT_LOGGING_LEVEL_FATAL, "unheard", NULL);
	ck_assert_int_eq(messages, 3);
	ort_logger_destroy(logger);
}
END_TEST

START_TEST(a_long_message_is_cut)
{
	static char text[100000];
	OrtLogger *logger = ort_logger_create("sample");
	memset(text, 'x', sizeof(text) - 1);
	epp_plugin_set_log(keep, &messages);
	log_message(logger, ORT_LOGGING_LEVEL_ERROR, text, "file.c");
	ck_assert_uint_eq(strlen(last), 1023);
	epp_plugin_set_log(NULL, NULL);
	ort_logger_destroy(logger);
}
END_TEST

static Suite *ort_logger_suite(void)
{
	Suite *suite = suite_create("ort_logger");
	TCase *tests = tcase_create("ort_logger");
	tcase_add_test(tests, warnings_reach_the_listener);
	tcase_add_test(tests, a_long_message_is_cut);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(ort_logger_suite)
