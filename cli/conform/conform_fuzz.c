/* Repeats a case of random calls for a time: with one seed after the other, each in a process of its own. */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "conform.h"

/* Number of failing seeds after which the command stops. */
#define FINDINGS_MAX 20

bool conform_is_random(const struct conform_case *about)
{
	return strstr(about->name, ".random") != NULL;
}

/* Runs the cases of random calls until one is not skipped, and returns this one; NULL: all were skipped.  `result` is
 * the result of the last case that ran. */
static const struct conform_case *find_case(struct conform *conform, struct conform_result *result)
{
	for (size_t i = 0; i < conform_cases_count; i++) {
		conform->about = &conform_cases[i];
		if (!conform_is_random(conform->about))
			continue;
		conform_run_case(conform, result);
		if (result->verdict != CONFORM_SKIP)
			return conform->about;
	}
	return NULL;
}

static void print_finding(const struct conform *conform, const struct conform_result *result)
{
	printf("%-7s  seed %" PRIu64 ": ", conform_verdict_names[result->verdict], conform->seed);
	cli_print_clean(stdout, result->reason, strlen(result->reason));
	printf("\n         epprof conform --reproduce %" PRIu64 "%s%s ", conform->seed,
	       conform->work_name ? " --work " : "", conform->work_name ? conform->work_name : "");
	cli_print_clean(stdout, conform->library, strlen(conform->library));
	putchar('\n');
	cli_flush();
}

int conform_fuzz(struct conform conform, uint64_t time_ns)
{
	uint64_t end_ns = conform_now_ns() + time_ns;
	unsigned seeds_count = 0, findings_count = 0;
	struct conform_result result = { .reason = "" };

	conform.is_quick = true;
	if (!find_case(&conform, &result))
		return cli_failure(
		    epp_status_create(EPP_INCOMPATIBLE, "%s: no random calls: %s", conform.library, result.reason));
	do {
		if (seeds_count > 0)
			conform_run_case(&conform, &result);
		if (cli_signal)
			return cli_failure(epp_status_create(EPP_CANCELLED, "interrupted"));
		if (conform_is_failure(&result)) {
			print_finding(&conform, &result);
			findings_count++;
		}
		seeds_count++;
		conform.seed++;
	} while (conform_now_ns() < end_ns && findings_count < FINDINGS_MAX);
	printf("%s: %u seed%s, %u finding%s%s\n", conform.about->name, seeds_count, seeds_count == 1 ? "" : "s",
	       findings_count, findings_count == 1 ? "" : "s",
	       findings_count == FINDINGS_MAX ? "; stopped, the others are probably alike" : "");
	return findings_count ? CLI_FAILURE : CLI_OK;
}
