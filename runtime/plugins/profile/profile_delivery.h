/* From a serialised profile, XSpace or RunMetadata, to events of a profiler: what the adapters for TensorFlow and PJRT share.
 * Used from StartProfiling until EndProfiling returns. */
#ifndef EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_DELIVERY_H
#define EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_DELIVERY_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/status.h"
#include "encoding/protobuf.h"
#include "epprof/ep_push.h"

/* Events that are not kept for their times. */
struct profile_misplaced {
	uint64_t before_start, after_end, negative;
};

/* Whose the events are. */
struct profile_target {
	OrtEpProfilerImpl *profiler;
	const char *name; /* of the track for what the adapter itself has to tell */
	EpprofLedger ledger;
	struct profile_misplaced misplaced; /* of this run; `pushed` of them the host knows */
	struct profile_misplaced pushed;
};

/* What a plugin gave. */
struct profile_data {
	uint8_t *bytes; /* NULL: nothing */
	size_t count;
	size_t mapped_bytes; /* 0: not ours */
};

/* The time of the events that a profiler gets, in UNIX ns: those that start from `from_ns` until before `until_ns`.
 * Those from `oldest_ns` on are another profiler's; what nobody has is lost to it if it `answers` for that. */
#define PROFILE_SLACK_NS \
	1000000000 /* a plugin's clock may be off by so much before its events count as of another time */
struct profile_window {
	int64_t oldest_ns; /* at most from_ns */
	int64_t from_ns;
	int64_t until_ns;
	int64_t now_ns; /* of what has no time of its own */
	bool answers;
};

/* Describes the clock of all events, UNIX ns, and relates it to the host's, at a run's start and at its end. */
void profile_deliver_clock_start(struct profile_target *to, const struct epf_host_pair *start);
void profile_deliver_clock_end(struct profile_target *to, const struct epf_host_pair *start,
                               const struct epf_host_pair *end);

/* Reads an XSpace or a RunMetadata into events for `to`, with tracks for its lines; what cannot be kept is counted.
 * `*events_count`: how many there were, for anybody.
 * Errors: of the reading, and EPP_PLUGIN for the first error that the XSpace carries. */
epp_status *profile_deliver_xspace(struct profile_target *to, const struct profile_data *data,
                                   const struct profile_window *window, uint64_t *events_count);
epp_status *profile_deliver_run_metadata(struct profile_target *to, const struct profile_data *data,
                                         const struct profile_window *window);

/* An event of the adapter's own on a track of its own: `text` may be NULL. */
void profile_deliver_note(struct profile_target *to, const char *name, int64_t from_ns, int64_t until_ns,
                          const struct protobuf_string *text);

/* The plugin was off from one time to the other, so that what came meanwhile is not in the trace: an event of the adapter's
 * own, and a restart gap in the ledger. */
void profile_deliver_gap(struct profile_target *to, int64_t from_ns, int64_t until_ns);

/* The counts as they are now. */
void profile_deliver_ledger(struct profile_target *to);

#endif
