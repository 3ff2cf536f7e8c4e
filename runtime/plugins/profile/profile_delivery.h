/* Converts a serialised profile, XSpace or RunMetadata, to events of a profiler, for the adapters of TensorFlow and
 * PJRT.  Used from StartProfiling until EndProfiling returns. */
#ifndef EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_DELIVERY_H
#define EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_DELIVERY_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/status.h"
#include "encoding/protobuf.h"
#include "epprof/ep_push.h"

/* Counts of events that are dropped because of their times. */
struct profile_misplaced {
	uint64_t before_start, after_end, negative;
};

/* The profiler that gets the events. */
struct profile_target {
	OrtEpProfilerImpl *profiler;
	const char *name; /* of the track for the adapter's own events */
	EpprofLedger ledger;
	struct profile_misplaced misplaced; /* counts of this run; `pushed`: the part already in the host's ledger */
	struct profile_misplaced pushed;
};

/* Data from a plugin. */
struct profile_data {
	uint8_t *bytes; /* NULL: none */
	size_t count;
	size_t mapped_bytes; /* 0: the memory is not a mapping of this library */
};

/* The times of the events that a profiler gets, in UNIX ns: events that start from `from_ns` until before `until_ns`.
 * Earlier events from `oldest_ns` on belong to another profiler.  Events that belong to no profiler are counted as lost
 * by this one if `answers` is set. */
#define PROFILE_SLACK_NS \
	1000000000 /* tolerance for a plugin's clock, before its events count as those of another session */
struct profile_window {
	int64_t oldest_ns; /* at most from_ns */
	int64_t from_ns;
	int64_t until_ns;
	int64_t now_ns; /* for events without a time */
	bool answers;
};

/* Describe the clock of all events, UNIX ns, and relate it to the host's clock, at a run's start and at its end. */
void profile_deliver_clock_start(struct profile_target *to, const struct epf_host_pair *start);
void profile_deliver_clock_end(struct profile_target *to, const struct epf_host_pair *start,
                               const struct epf_host_pair *end);

/* Reads an XSpace or a RunMetadata into events for `to`, with tracks for its lines; counts what cannot be kept.
 * `*events_count`: the number of all events in the data.  Errors: those of the reading, and EPP_PLUGIN for the first
 * error that the XSpace contains. */
epp_status *profile_deliver_xspace(struct profile_target *to, const struct profile_data *data,
                                   const struct profile_window *window, uint64_t *events_count);
epp_status *profile_deliver_run_metadata(struct profile_target *to, const struct profile_data *data,
                                         const struct profile_window *window);

/* Pushes an event of the adapter itself on a separate track: `text` may be NULL. */
void profile_deliver_note(struct profile_target *to, const char *name, int64_t from_ns, int64_t until_ns,
                          const struct protobuf_string *text);

/* The plugin was stopped between these times, so events in between are missing: pushes an event of the adapter itself,
 * and counts a restart gap in the ledger. */
void profile_deliver_gap(struct profile_target *to, int64_t from_ns, int64_t until_ns);

/* Pushes the current counts. */
void profile_deliver_ledger(struct profile_target *to);

#endif
