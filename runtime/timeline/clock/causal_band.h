/* How far a clock is off, measured by cause and effect.
 *
 * An event begins after its cause began, and ends before what waited for it ended.  So each event whose cause is known brackets
 * the offset of its clock: the host's time minus the time that the clock claims.  A point is one such limit, at a claimed time.
 *
 *   struct causal_points points = { .most = CAUSAL_POINTS_MOST };
 *   causal_points_add(&points, &point);                     any order, any number
 *   struct causal_band band;
 *   causal_band_build(&band, &points, CAUSAL_WAIT, &sample);
 *   causal_band_at(&band, at_ns, cause_ns, &low_ns, &high_ns);
 *
 * The band is what all limits together allow a clock whose rate is CAUSAL_PPM near a common one: each limit holds around its
 * point, and loosens with the distance.  The common rate is the nominal one, unless another one contradicts fewer limits; the rate
 * may differ from it by more than CAUSAL_PPM, if that contradicts far fewer.  Where limits still contradict each other the clock
 * jumped: there the band ends, and another piece of it begins.  Pieces are told apart by the time of the cause, which a jump does
 * not move; claimed times may overlap.
 *
 * Memory: at most `most` points; above, the weaker half of each neighbourhood is dropped, which loosens the band and never
 * falsifies it.  Adding n points and building take O(n log n).
 */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_CAUSAL_BAND_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_CAUSAL_BAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

#define CAUSAL_PPM 500
#define CAUSAL_POINTS_MOST ((size_t)1 << 16)
/* Offsets are within +-this; as a limit it means that there is none. */
#define CAUSAL_NS_MAX ((int64_t)1 << 60)
#define CAUSAL_NO_CAUSE INT64_MIN

/* What an upper limit comes from. */
enum causal_level {
	CAUSAL_WAIT,    /* something waited for the event */
	CAUSAL_SESSION, /* a run of a model around the cause ended */
	CAUSAL_PARENT,  /* the cause itself ended, which an asynchronous event need not have waited for */
	CAUSAL_LEVELS
};

struct causal_point {
	int64_t cause_ns; /* when the cause began, on the host */
	int64_t at_ns;    /* the claimed time */
	int64_t low_ns, high_ns;
	uint32_t level : 2;   /* enum causal_level of high_ns */
	uint32_t weight : 30; /* below, set by causal_points_add: how many points it stands for */
	uint32_t sequence;    /* which came first, of those with one cause */
};

struct causal_points {
	struct causal_point *points;
	size_t count, room, most;
	uint32_t sequence;
};

/* Keeps a copy.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *causal_points_add(struct causal_points *points, const struct causal_point *point) EPP_MUST_CHECK;
void causal_points_deinit(struct causal_points *points);
/* For qsort: by cause_ns, then by sequence. */
int causal_by_cause(const void *a, const void *b);

/* Points that do not contradict each other, by at_ns. */
struct causal_piece {
	size_t first, count;
	int64_t first_cause_ns, last_cause_ns;
};

struct causal_band {
	struct causal_point *points; /* low_ns and high_ns are the band's, less the common rate */
	struct causal_piece *pieces;
	size_t pieces_count;
	double rate;      /* the common one: ns of offset a claimed ns */
	double rate_room; /* by so much the clock's may differ from it */
	int64_t origin_ns;
	bool is_beyond_repair; /* so many contradictions that no piece means anything: the band is all that any limit demands */
	int64_t low_ns, high_ns; /* then */
};

/* `sample`: a comparison of the two clocks before all causes; NULL: none.  Upper limits of higher levels are left out.
 * Errors: EPP_OUT_OF_MEMORY; the band is then empty. */
epp_status *causal_band_build(struct causal_band *band, const struct causal_points *points, enum causal_level level,
                              const struct causal_point *sample) EPP_MUST_CHECK;
void causal_band_deinit(struct causal_band *band);

/* The offset at a claimed time of an event whose cause began at cause_ns, or CAUSAL_NO_CAUSE: then all pieces that the time may
 * belong to count.  False: nothing is known. */
bool causal_band_at(const struct causal_band *band, int64_t at_ns, int64_t cause_ns, int64_t *low_ns, int64_t *high_ns);

#endif
