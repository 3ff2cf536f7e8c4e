/* Level 2: the entries of an OrtEpProfilerImpl, called in unusual orders.  A case calls them directly, without a
 * session in between, and ends with a run in the usual order. */
#include "cases.h"
#include "direct.h"

static void run_as_usual(const struct conform *conform, const struct direct *direct)
{
	conform_check_ort(conform, "StartProfiling of a usual run", direct_start(direct));
	conform_check_ort(conform, "StartEvent of a usual run", direct_start_event(direct, 101));
	conform_check_ort(conform, "StopEvent of a usual run", direct_stop_event(direct, 101));
	conform_check_ort(conform, "EndProfiling of a usual run", direct_end(direct));
}

void case_order_never_started(const struct conform *conform)
{
	struct direct direct = direct_open(conform);

	direct.profiler->Release(direct.profiler);
}

void case_order_end_alone(const struct conform *conform)
{
	struct direct direct = direct_open(conform);

	conform_ignore_ort(direct_end(&direct));
	run_as_usual(conform, &direct);
}

void case_order_start_twice(const struct conform *conform)
{
	struct direct direct = direct_open(conform);

	conform_check_ort(conform, "StartProfiling", direct_start(&direct));
	conform_ignore_ort(direct_start(&direct));
	conform_check_ort(conform, "StartEvent", direct_start_event(&direct, 1));
	conform_check_ort(conform, "StopEvent", direct_stop_event(&direct, 1));
	conform_check_ort(conform, "EndProfiling", direct_end(&direct));
	run_as_usual(conform, &direct);
}

void case_order_end_twice(const struct conform *conform)
{
	struct direct direct = direct_open(conform);

	run_as_usual(conform, &direct);
	conform_ignore_ort(direct_end(&direct));
	run_as_usual(conform, &direct);
}

void case_order_events_outside(const struct conform *conform)
{
	struct direct direct = direct_open(conform);

	conform_ignore_ort(direct_start_event(&direct, 1));
	conform_ignore_ort(direct_stop_event(&direct, 1));
	run_as_usual(conform, &direct);
	conform_ignore_ort(direct_start_event(&direct, 2));
	conform_ignore_ort(direct_stop_event(&direct, 2));
	run_as_usual(conform, &direct);
}

void case_order_stop_alone(const struct conform *conform)
{
	struct direct direct = direct_open(conform);

	conform_check_ort(conform, "StartProfiling", direct_start(&direct));
	conform_ignore_ort(direct_stop_event(&direct, 1));
	conform_check_ort(conform, "EndProfiling", direct_end(&direct));
	run_as_usual(conform, &direct);
}

void case_order_open_event(const struct conform *conform)
{
	struct direct direct = direct_open(conform);

	conform_check_ort(conform, "StartProfiling", direct_start(&direct));
	conform_check_ort(conform, "StartEvent", direct_start_event(&direct, 1));
	conform_check_ort(conform, "EndProfiling", direct_end(&direct));
	conform_check_ort(conform, "StartProfiling", direct_start(&direct));
	conform_ignore_ort(direct_stop_event(&direct, 1));
	conform_check_ort(conform, "EndProfiling", direct_end(&direct));
	run_as_usual(conform, &direct);
}

void case_order_release_started(const struct conform *conform)
{
	struct direct direct = direct_open(conform);

	conform_check_ort(conform, "StartProfiling", direct_start(&direct));
	direct.profiler->Release(direct.profiler);
}
