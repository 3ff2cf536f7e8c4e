/* Adds the events of execution providers (EPs) to a recording, from the profiles that ONNX Runtime wrote.
 *
 *   append.c           the public function: imports a profile, adds the EPs' events in it to the recording
 *   causes.c           the recording's host events, and which of them caused an event
 *   provider_clocks.c  assigns events to the clocks of EPs
 *   reported_args.c    the args of an EP's event in a profile
 *   ring_limit.c       what a recording with a ring has room for
 *   multiset.c         a multiset of numbers */
#ifndef EPPROF_RUNTIME_PROVIDER_EVENTS_PROVIDER_EVENTS_H
#define EPPROF_RUNTIME_PROVIDER_EVENTS_PROVIDER_EVENTS_H

#include <stdbool.h>

#include "base/status.h"
#include "epprof/ep_push.h"
#include "epprof/timeline.h"

/* ---- multiset.c ---- */

/* A multiset of numbers.  Zero it before use. */
struct multiset {
	struct multiset_entry {
		uint64_t number;
		uint64_t count;
	} * entries;
	size_t count, room;
};

epp_status *multiset_add(struct multiset *set, uint64_t number) EPP_MUST_CHECK;
/* Sorts the numbers; call it after the last add and before the first take. */
void multiset_sort(struct multiset *set);
/* Removes one occurrence of a number; false if none is left. */
bool multiset_take(struct multiset *set, uint64_t number);
void multiset_deinit(struct multiset *set);

/* ---- causes.c ---- */

/* A host event of the recording that can have caused an EP's event. */
struct cause {
	int64_t start_us; /* Unix time, as ONNX Runtime recorded it */
	int64_t duration_us;
	int64_t profile_us; /* when its profile began */
	int64_t started_us; /* first event of a profile: when the providers were started, since profile_us; else -1 */
	uint64_t id;
	epp_name name; /* a name of the recording */
	uint32_t thread;
	uint32_t provider; /* the node's provider: an index into causes.providers, plus 1; 0: not recorded */
	uint64_t start_ticks;
};

/* What is known about an event's cause, and the times of the event. */
struct effect {
	int64_t cause_start_us;    /* unix time */
	int64_t cause_duration_us; /* -1: not recorded, as below */
	int64_t cause_thread;
	const epp_trace_arg *cause_name; /* NULL: not recorded */
	int64_t profile_us;              /* when its profile began; 0: not known */
	int64_t start_us, end_us;        /* relative to profile_us */
};

#define CAUSES_PROVIDERS_MAX 64

/* Zero it before use, except `wanted_us`. */
struct causes {
	epp_trace *recorded;  /* borrowed; names are those of this trace */
	int64_t wanted_us;    /* only events of the profile that began then; 0: of all */
	struct cause *causes; /* by start_us */
	size_t count, room;
	int64_t only_us;    /* when the only profile began; 0: there are several profiles, or none */
	int64_t bracket_us; /* an upper bound of the time that the start of the providers took */
	bool has_first;     /* the first event of a profile is among them */
	bool has_device_events;
	char *providers[CAUSES_PROVIDERS_MAX];
	uint32_t providers_count;
	struct multiset ids; /* the ids of all events that cannot be causes */
};

/* Adds the events of a recording. */
epp_status *causes_take(struct causes *causes, epp_trace *recorded) EPP_MUST_CHECK;
void causes_deinit(struct causes *causes);
/* Finds the possible causes of an effect and returns their number.  All recorded facts must match, except the profile
 * and the thread: causes that match those are only preferred.  Of causes of one thread that began together the
 * innermost counts.  `*cause` is set to the only one; if there are several, to the only one that can have contained the
 * effect, as far as its provider's clock is known (likely, not certain); else to NULL. */
size_t causes_find(const struct causes *causes, const struct effect *effect, const struct cause **cause);

/* ---- provider_clocks.c ---- */

#define PROVIDER_CLOCKS_MAX 64 /* ids of EpprofClock are below 64 */

/* Zero it before use. */
struct provider_clocks {
	bool is_one;         /* only one provider is profiled */
	uint32_t used_count; /* clocks that the account has from profiles that were added before */
	struct provider_clock {
		int32_t device;
		int64_t stream;
		uint32_t provider; /* the provider of its events' causes; 0: not known yet */
	} clocks[PROVIDER_CLOCKS_MAX];
	uint32_t count;
};

/* Returns the number of an event's clock; `provider` is that of its cause, 0: not known.  `*is_new`: it is the clock's
 * first event. */
uint32_t provider_clocks_find(struct provider_clocks *clocks, int32_t device, int64_t stream, uint32_t provider,
                              bool *is_new);

/* ---- reported_args.c ---- */

#define REPORTED_ARGS_MAX 256

/* The contents of an event's args. */
struct reported_args {
	EpprofArg args[REPORTED_ARGS_MAX];
	uint32_t count;
	bool is_hosted;   /* the collector added the event to the profile, from a plugin that it hosts */
	int64_t recorded; /* the event's id in the recording; 0: counted as lost there; -1: not pushed to the
	                     recording */
	bool is_correlated;
	int64_t correlation;
	int64_t thread;           /* the cause's thread; -1: not recorded */
	epp_trace_arg cause_name; /* key NULL: not recorded */
};

void reported_args_read(const epp_timeline *timeline, const epp_event *event, struct reported_args *reported);

/* ---- ring_limit.c ---- */

/* All kernels are added at the end of the recording, so in a ring they would overwrite the host events that caused
 * them.  Zero it before use, except `max_bytes` and `from_us`, which is INT64_MIN. */
struct ring_limit {
	uint64_t max_bytes;   /* 0: no limit; then the functions below do nothing */
	uint64_t event_bytes; /* estimated size of an event in a trace */
	int64_t from_us;      /* unix time: from then on host events and kernels fit, by estimate */
	struct ring_limit_kernels {
		int64_t time_us;
		uint64_t bytes;
	} * kernels;
	size_t count, room;
};

/* Adds the start of a kernel. */
epp_status *ring_limit_add(struct ring_limit *limit, int64_t time_us) EPP_MUST_CHECK;
/* Sets `from_us`; call it after all kernels were added.  `causes` must not be empty. */
void ring_limit_settle(struct ring_limit *limit, const struct causes *causes);
/* The same for several profiles: the kernels of a profile count as many bytes as its file has, at the time when it was
 * written. */
epp_status *ring_limit_take_profiles(struct ring_limit *limit, const struct causes *causes, const char *const *paths,
                                     size_t count) EPP_MUST_CHECK;

#endif
