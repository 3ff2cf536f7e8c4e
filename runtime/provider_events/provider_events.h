/* Adds the events of execution providers (EPs) to a recording, from the profiles that ONNX Runtime wrote.
 *
 *   import_profile.c   the public function: imports a profile, adds the EPs' events in it to the recording
 *   causes.c           the recording's host events, and which of them caused an event
 *   device_names.c     names devices after the EPs whose nodes caused their events
 *   provider_clocks.c  assigns events to the clocks of EPs
 *   reported_args.c    the args of an EP's event in a profile
 *   ring_limit.c       the events for which a recording with a ring has room
 *   multiset.c         a multiset of numbers */
#ifndef EPPROF_RUNTIME_PROVIDER_EVENTS_PROVIDER_EVENTS_H
#define EPPROF_RUNTIME_PROVIDER_EVENTS_PROVIDER_EVENTS_H

#include <stdbool.h>

#include "base/status.h"
#include "epprof/ep_push.h"
#include "epprof/timeline.h"

/* ---- multiset.c ---- */

/* A multiset of numbers.  Must be zeroed before the first use. */
struct multiset {
	struct multiset_entry {
		uint64_t number;
		uint64_t count;
	} * entries;
	size_t count, room;
};

epp_status *multiset_add(struct multiset *set, uint64_t number) EPP_MUST_CHECK;
/* Sorts the numbers.  Must be called after the last multiset_add and before the first multiset_take. */
void multiset_sort(struct multiset *set);
/* Removes one occurrence of a number.  Returns false if there is none. */
bool multiset_take(struct multiset *set, uint64_t number);
void multiset_deinit(struct multiset *set);

/* ---- causes.c ---- */

/* A host event of the recording that may have caused an EP's event. */
struct cause {
	int64_t start_us; /* Unix time, as ONNX Runtime recorded it */
	int64_t duration_us;
	int64_t profile_us; /* Unix time at which the event's profile began */
	/* only in the first event of a profile: when the providers were started, relative to profile_us; else -1 */
	int64_t started_us;
	uint64_t id;
	epp_name name; /* number of the name in the recording */
	uint32_t thread;
	uint32_t provider; /* index + 1 in causes.providers of the node's provider; 0: not recorded */
	uint64_t start_ticks;
};

/* An EP's event, and the data about its cause in its args.  -1 or NULL: not recorded. */
struct effect {
	int64_t cause_start_us;    /* Unix time at which the cause began */
	int64_t cause_duration_us; /* -1: not recorded */
	int64_t cause_thread;
	const epp_trace_arg *cause_name; /* NULL: not recorded */
	int64_t profile_us;              /* Unix time at which the profile of the cause began; 0: not known */
	int64_t start_us, end_us;        /* relative to profile_us */
};

#define CAUSES_PROVIDERS_MAX 64

/* The host events of a recording.  Must be zeroed before the first use, except `wanted_us` and `wants_parents`. */
struct causes {
	epp_trace *recorded; /* borrowed; names of causes are numbers of this trace */
	/* only events of the profile that began at this time are causes; 0: those of all profiles */
	int64_t wanted_us;
	bool wants_parents;   /* has_events is needed */
	struct cause *causes; /* sorted by start_us */
	size_t count, room;
	int64_t only_us;    /* when the only profile began; 0: there is none, or there are several */
	int64_t bracket_us; /* an upper bound of the time that the start of the providers took */
	bool has_first;     /* the first event of a profile is among the causes */
	bool has_device_events;
	char *providers[CAUSES_PROVIDERS_MAX];
	uint32_t providers_count;
	/* by index in providers: the recording has device events that nodes of the provider caused */
	bool has_events[CAUSES_PROVIDERS_MAX];
	struct multiset ids;     /* ids of all events that cannot be causes */
	struct multiset parents; /* ids of the parents of device events */
};

/* Adds the host events of a recording. */
epp_status *causes_take(struct causes *causes, epp_trace *recorded) EPP_MUST_CHECK;
void causes_deinit(struct causes *causes);
/* Finds the possible causes of an effect and returns their number.  Name and duration must match if they are recorded;
 * causes with the same profile and thread are preferred.  Of causes of one thread that began at the same time, only the
 * innermost is counted.  If there is one cause, *cause is set to it.  If there are several, *cause is set to the only
 * one that can enclose the effect within the error of the provider's clock, which is likely but not certain; otherwise
 * to NULL. */
size_t causes_find(const struct causes *causes, const struct effect *effect, const struct cause **cause);

/* ---- device_names.c ---- */

/* The devices of the events in a profile.  Must be zeroed before the first use. */
struct device_names {
	struct device_name {
		int32_t device;
		uint32_t provider; /* provider of the causes of the device's events; 0: not known yet */
		bool is_mixed;     /* the causes are nodes of several providers, or of one after which no device is
		                      named */
		bool has_unknown;  /* an event has no cause, several possible causes, or a cause without a provider */
		bool is_named;
	} * devices;
	size_t count, room;
};

/* Adds an event of a device.  `provider` is the provider of its cause; 0: not known. */
epp_status *device_names_add(struct device_names *names, const struct causes *causes, int32_t device, uint32_t provider)
    EPP_MUST_CHECK;
/* Returns the name of the provider to which all events of a device belong; NULL: not known, or it was returned
 * before. */
const char *device_names_take(struct device_names *names, const struct causes *causes, int32_t device);
void device_names_deinit(struct device_names *names);

/* ---- provider_clocks.c ---- */

#define PROVIDER_CLOCKS_MAX 64 /* ids of EpprofClock are below 64 */

/* Must be zeroed before the first use. */
struct provider_clocks {
	bool is_one;         /* only one provider is profiled */
	uint32_t used_count; /* number of clocks that the profiler has from profiles that were added before */
	struct provider_clock {
		int32_t device;
		int64_t stream;
		uint32_t provider; /* provider of the causes of the clock's events; 0: not known yet */
	} clocks[PROVIDER_CLOCKS_MAX];
	uint32_t count;
};

/* Returns the clock of an event.  `provider` is the provider of its cause; 0: not known.  *is_new is set if this is the
 * first event of the clock. */
uint32_t provider_clocks_find(struct provider_clocks *clocks, int32_t device, int64_t stream, uint32_t provider,
                              bool *is_new);

/* ---- reported_args.c ---- */

#define REPORTED_ARGS_MAX 256

/* The values of an event's args. */
struct reported_args {
	EpprofArg args[REPORTED_ARGS_MAX];
	uint32_t count;
	bool is_hosted; /* the collector added this event to the profile, from a plugin that it hosts */
	/* id of the event in the recording; 0: the recording counted it as lost; -1: it was not pushed to the
	 * recording */
	int64_t recorded;
	bool is_correlated;
	int64_t correlation;
	int64_t thread;           /* thread of the cause; -1: not recorded */
	epp_trace_arg cause_name; /* name of the cause; its key is NULL if it is not recorded */
};

void reported_args_read(const epp_timeline *timeline, const epp_event *event, struct reported_args *reported);

/* ---- ring_limit.c ---- */

/* All kernels are added at the end of the recording, so in a ring they would overwrite the host events that caused
 * them.  Must be zeroed before the first use, except that from_us must be INT64_MIN; the caller sets max_bytes. */
struct ring_limit {
	uint64_t max_bytes;   /* size limit of the recording; 0: no limit, and the functions below do nothing */
	uint64_t event_bytes; /* estimated size of an event in the recording */
	int64_t from_us;      /* Unix time from which on there is room for host events and kernels, by estimate */
	struct ring_limit_kernels {
		int64_t time_us;
		uint64_t bytes;
	} * kernels;
	size_t count, room;
};

/* Adds a kernel that starts at this time. */
epp_status *ring_limit_add(struct ring_limit *limit, int64_t time_us) EPP_MUST_CHECK;
/* Computes from_us.  Must be called after all kernels were added.  `causes` must not be empty. */
void ring_limit_settle(struct ring_limit *limit, const struct causes *causes);
/* As ring_limit_settle, for several profiles, whose kernels are not read.  The size of a profile's kernels is estimated
 * as the size of its file, and their time as the time when the file was written. */
epp_status *ring_limit_take_profiles(struct ring_limit *limit, const struct causes *causes, const char *const *paths,
                                     size_t count) EPP_MUST_CHECK;

#endif
