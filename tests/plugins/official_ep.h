/* The variables of official_ep.c's library that tests read. */
#ifndef EPPROF_TESTS_PLUGINS_OFFICIAL_EP_H
#define EPPROF_TESTS_PLUGINS_OFFICIAL_EP_H

#include <stdint.h>

struct ep_notes {
	int starts;
	int start_events;
	int stop_events;
	uint64_t last_id;
	char last_stop[256]; /* "<category> <name> <op_name> <node_index> <missing>" of the last StopEvent */
	void (*push_function)(void);
};

#endif
