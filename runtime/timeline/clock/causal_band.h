/* Measures by cause and effect by how much a clock is wrong, and detects its jumps.
 *
 * An event begins after its cause began, and ends before the end of a call that waited for it.  So each event with a
 * known cause limits the offset of its clock: the host's time minus the time that the clock claims.  A point is one
 * such limit, at a claimed time.
 *
 *   struct causal_points points = { .most = CAUSAL_POINTS_MOST };
 *   causal_points_add(&points, &point);                     any order, any number
 *   struct causal_band band;
 *   causal_band_build(&band, &points, CAUSAL_WAIT, &sample);
 *   causal_band_at(&band, at_ns, cause_ns, &low_ns, &high_ns);
 *
 * The band is the range of offsets that all limits together allow for a clock whose rate is within CAUSAL_PPM of a
 * common rate: each limit is exact at its point and loosens with the distance from it.  The common rate is the nominal
 * rate, unless another rate contradicts fewer limits.  The tolerance is larger than CAUSAL_PPM if a larger one
 * contradicts far fewer limits.  If limits still contradict each other, the clock jumped: the band ends there and
 * another piece begins.  An event is assigned to a piece by the time of its cause, which a jump does not move; claimed
 * times of pieces may overlap.
 *
 * Memory: at most `most` points; above that, the weaker half of each neighbourhood is dropped, which loosens the band
 * but never makes it wrong.  Adding n points and building take O(n log n). */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_CAUSAL_BAND_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_CAUSAL_BAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

#define CAUSAL_PPM 500
#define CAUSAL_POINTS_MOST ((size_t)1 << 16)
/* Offsets are within +-CAUSAL_NS_MAX.  A limit of +-CAUSAL_NS_MAX means that there is no limit. */
#define CAUSAL_NS_MAX ((int64_t)1 << 60)
#define CAUSAL_NO_CAUSE INT64_MIN

/* The source of an upper limit, from certain to uncertain. */
enum causal_level {
	CAUSAL_WAIT,    /* end of a wait for the event */
	CAUSAL_SESSION, /* end of the model run around the cause */
	CAUSAL_PARENT,  /* end of the cause itself, which need not have waited for an asynchronous event */
	CAUSAL_LEVELS
};

struct causal_point {
	int64_t cause_ns; /* start of the cause, host time */
	int64_t at_ns;    /* the time that the clock claims */
	int64_t low_ns, high_ns;
	uint32_t level : 2;   /* enum causal_level of high_ns */
	uint32_t weight : 30; /* set by causal_points_add: how many points this one represents after thinning */
	uint32_t sequence;    /* order of adding, for points with the same cause */
};

struct causal_points {
	struct causal_point *points;
	size_t count, room, most;
	uint32_t sequence;
};

/* Adds a copy.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *causal_points_add(struct causal_points *points, const struct causal_point *point) EPP_MUST_CHECK;
void causal_points_deinit(struct causal_points *points);

/* Consecutive points that do not contradict each other; sorted by at_ns once the band is built. */
struct causal_piece {
	size_t first, count;
	int64_t first_cause_ns, last_cause_ns;
};

struct causal_band {
	struct causal_point *points; /* once the band is built, low_ns and high_ns are the limits of the band at the
                                      * point, minus the offset that `rate` explains there */
	struct causal_piece *pieces;
	size_t pieces_count;
	double rate;      /* the common rate: ns of offset per claimed ns */
	double rate_room; /* the tolerance: the clock's rate may differ from `rate` by this fraction */
	int64_t origin_ns;
	/* there are too many contradictions for pieces to be meaningful, so the band is one range for all times */
	bool is_unusable;
	int64_t low_ns, high_ns; /* this range; only if is_unusable is set */
};

/* `sample`: a comparison of the two clocks that was made before all causes; NULL: none.  Upper limits with a level
 * above `level` are ignored.  Errors: EPP_OUT_OF_MEMORY; the band is then empty. */
epp_status *causal_band_build(struct causal_band *band, const struct causal_points *points, enum causal_level level,
                              const struct causal_point *sample) EPP_MUST_CHECK;
void causal_band_deinit(struct causal_band *band);

/* Computes the range of offsets at a claimed time of an event whose cause began at cause_ns.  If cause_ns is
 * CAUSAL_NO_CAUSE, all pieces that may contain the claimed time are used.  Returns false if no limit is known. */
bool causal_band_at(const struct causal_band *band, int64_t at_ns, int64_t cause_ns, int64_t *low_ns, int64_t *high_ns);

#endif
