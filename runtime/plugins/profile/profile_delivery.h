/* Converts a serialised profile (XSpace or RunMetadata) to events of a profiler, for the adapters of TensorFlow and
 * PJRT.  The functions may be called from StartProfiling until EndProfiling returns. */
#ifndef EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_DELIVERY_H
#define EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_DELIVERY_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/status.h"
#include "encoding/protobuf.h"
#include "epprof/ep_push.h"

/* Number of events that were dropped because of their times. */
struct profile_misplaced {
	uint64_t before_start, after_end, negative;
};

/* The profiler to which the events are pushed. */
struct profile_target {
	OrtEpProfilerImpl *profiler;
	const char *name; /* name of the track for the adapter's own events */
	EpprofLedger ledger;
	struct profile_misplaced misplaced; /* counts of this run; `pushed` is the part that the host's ledger already
                                             * has */
	struct profile_misplaced pushed;
};

/* Data from a plugin. */
struct profile_data {
	uint8_t *bytes; /* NULL: none */
	size_t count;
	size_t mapped_bytes; /* 0: the memory is not a mapping of this library */
};

/* The times, in UNIX ns, of the events that a profiler gets: those that start in [from_ns, until_ns).  Events that
 * start in [oldest_ns, from_ns) belong to another profiler.  If `counts_losses` is set, this profiler counts the events
 * that belong to no profiler as lost. */
#define PROFILE_SLACK_NS 1000000000 /* tolerance for the plugin's clock at the beginning of the oldest session */
struct profile_time_range {
	int64_t oldest_ns; /* at most from_ns */
	int64_t from_ns;
	int64_t until_ns;
	int64_t now_ns; /* start of events that have no time */
	bool counts_losses;
};

/* Describe the clock of all events (UNIX ns) and relate it to the host's clock, at the start and at the end of a
 * run. */
void profile_deliver_clock_start(struct profile_target *to, const struct epf_host_pair *start);
void profile_deliver_clock_end(struct profile_target *to, const struct epf_host_pair *start,
                               const struct epf_host_pair *end);

/* Reads an XSpace or a RunMetadata into events for `to`, with tracks for its lines; counts the events that cannot be
 * kept.  `*events_count`: the number of all events in the data.  Errors: EPP_PLUGIN if the data is damaged, or for the
 * first error that the XSpace contains. */
epp_status *profile_deliver_xspace(struct profile_target *to, const struct profile_data *data,
                                   const struct profile_time_range *time_range, uint64_t *events_count);
epp_status *profile_deliver_run_metadata(struct profile_target *to, const struct profile_data *data,
                                         const struct profile_time_range *time_range);

/* Pushes an event of the adapter itself, on a separate track.  `text` may be NULL. */
void profile_deliver_note(struct profile_target *to, const char *name, int64_t from_ns, int64_t until_ns,
                          const struct protobuf_string *text);

/* Records that the plugin was stopped between two times, so that its events in this time are missing: pushes an event
 * of the adapter itself, and counts a restart gap in the ledger. */
void profile_deliver_gap(struct profile_target *to, int64_t from_ns, int64_t until_ns);

/* Pushes the ledger with the counts so far. */
void profile_deliver_ledger(struct profile_target *to);

#endif
