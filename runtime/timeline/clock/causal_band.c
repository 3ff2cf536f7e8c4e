/* Implements causal_band.h.
 *
 * A sweep visits the points in order of their causes and keeps the range of offsets that the limits so far allow: each
 * step widens the range by rate_room for each ns that it covers, and each limit narrows it.  If the range becomes
 * empty, a new piece begins.  The jump may have been earlier than the limit that proves the jump.  A sweep backwards
 * therefore finds the last points of a piece that also fit the next piece; such points are used for neither piece.  In
 * each piece the points are then sorted by claimed time, and a sweep in both directions turns them into the band. */
#include "timeline/clock/causal_band.h"

#include <math.h>
#include <stdlib.h>

#include "base/status.h"

/* ---- points ---- */

/* Collects in bounded memory the limits of a clock's offset: see causal_band.h. */

#define WEIGHT_MAX ((1u << 30) - 1)

/* For qsort: by cause_ns, then by sequence. */
static int causal_by_cause(const void *a, const void *b)
{
	const struct causal_point *left = a, *right = b;
	if (left->cause_ns != right->cause_ns)
		return left->cause_ns < right->cause_ns ? -1 : 1;
	return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

/* Thinning keeps at most KINDS_COUNT of the 2 * KINDS_COUNT points of an average group: the strongest lower limit, and
 * the strongest upper limit of each level. */
#define KINDS_COUNT ((size_t)CAUSAL_LEVELS + 1)

static bool is_stronger(const struct causal_point *point, const struct causal_point *other, size_t kind)
{
	if (kind == CAUSAL_LEVELS)
		return point->low_ns > (other ? other->low_ns : -CAUSAL_NS_MAX);
	return point->level == kind && point->high_ns < (other ? other->high_ns : CAUSAL_NS_MAX);
}

/* Moves the strongest points of [first, end) to `kept`, divides the total weight of all points among them, and returns
 * their number. */
static size_t keep_strongest(const struct causal_point *first, const struct causal_point *end, struct causal_point *kept)
{
	const struct causal_point *best[KINDS_COUNT] = { NULL };
	struct causal_point taken[KINDS_COUNT];
	uint64_t weight = 0;
	size_t count = 0;

	for (const struct causal_point *point = first; point < end; point++) {
		weight += point->weight;
		for (size_t kind = 0; kind < KINDS_COUNT; kind++)
			best[kind] = is_stronger(point, best[kind], kind) ? point : best[kind];
	}
	for (const struct causal_point *point = first; point < end; point++) {
		for (size_t kind = 0; kind < KINDS_COUNT; kind++) {
			if (best[kind] != point)
				continue;
			taken[count++] = *point;
			break;
		}
	}
	for (size_t i = 0; i < count; i++) {
		kept[i] = taken[i];
		kept[i].weight = (weight / count < WEIGHT_MAX ? weight / count : WEIGHT_MAX) & WEIGHT_MAX;
	}
	return count;
}

/* Thins groups of equal total weight.  Without weights, repeated thinning would remove most of the oldest points. */
static void thin(struct causal_points *points)
{
	struct causal_point *all = points->points;
	uint64_t total = 0, gathered = 0;
	size_t kept = 0, first = 0;

	qsort(all, points->count, sizeof(*all), causal_by_cause);
	for (size_t i = 0; i < points->count; i++)
		total += all[i].weight;
	uint64_t enough = total / (points->most / (2 * KINDS_COUNT)) + 1;
	for (size_t i = 0; i < points->count; i++) {
		gathered += all[i].weight;
		if (gathered < enough && i + 1 < points->count)
			continue;
		kept += keep_strongest(&all[first], &all[i + 1], &all[kept]);
		first = i + 1;
		gathered = 0;
	}
	points->count = kept;
}

epp_status *causal_points_add(struct causal_points *points, const struct causal_point *point)
{
	if (points->count == points->room && points->room < points->most) {
		size_t room = points->room ? points->room * 2 : 256;
		room = room < points->most ? room : points->most;
		struct causal_point *larger_one = reallocarray(points->points, room, sizeof(*larger_one));
		if (!larger_one)
			return epp_status_no_memory();
		points->points = larger_one;
		points->room = room;
	}
	if (points->count == points->room)
		thin(points);
	struct causal_point *added = &points->points[points->count++];
	*added = *point;
	added->sequence = points->sequence++;
	added->weight = 1;
	return NULL;
}

void causal_points_deinit(struct causal_points *points)
{
	free(points->points);
	*points = (struct causal_points){ .most = points->most };
}

/* ---- band ---- */

/* median_slope estimates the common rate (causal_band.rate): it divides the points into 2 to RATE_BLOCKS blocks of
 * consecutive points, and compares the strongest limits of the blocks.  A block has at least RATE_POINTS points if
 * there are enough for two such blocks. */
#define RATE_POINTS 16u
#define RATE_BLOCKS 64u
/* All pieces are rejected if there are more than PIECES_MAX of them, or more than PIECES_DOUBTED with fewer than
 * POINTS_PER_PIECE points each on average. */
#define PIECES_DOUBTED 8u
#define POINTS_PER_PIECE 4u
#define PIECES_MAX 4096u
/* With fewer points than this, the deviation of the clock from its nominal rate is assumed to be between 0 and twice
 * the estimated deviation. */
#define POINTS_OF_RATE 16u
/* Upper limit of the deviation of any clock's rate, as a fraction. */
#define RATE_MOST 0.05

static int64_t clip(double ns)
{
	return ns >= (double)CAUSAL_NS_MAX ? CAUSAL_NS_MAX : ns <= -(double)CAUSAL_NS_MAX ? -CAUSAL_NS_MAX : llrint(ns);
}

/* Adds by_ns to a limit.  A limit of +-CAUSAL_NS_MAX means that there is none, and is returned unchanged. */
static int64_t shift_limit(int64_t limit_ns, double by_ns)
{
	return limit_ns >= CAUSAL_NS_MAX || limit_ns <= -CAUSAL_NS_MAX ? limit_ns : clip((double)limit_ns + by_ns);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int by_time(const void *a, const void *b)
{
	const struct causal_point *left = a, *right = b;
	return (left->at_ns > right->at_ns) - (left->at_ns < right->at_ns);
}

/* ---- sweeps ---- */

struct sweep {
	double rate, room;
	int64_t at_ns, low_ns, high_ns;
	bool is_open;
};

/* Advances the sweep to a point.  Returns false, and leaves the sweep unchanged, if the sweep's range contradicts the
 * point's limits. */
static bool sweep_to(struct sweep *sweep, const struct causal_point *point)
{
	double distance = (double)point->at_ns - (double)sweep->at_ns;
	double move = sweep->rate * distance, room = sweep->room * fabs(distance);
	int64_t low_ns = sweep->is_open ? shift_limit(sweep->low_ns, move - room) : -CAUSAL_NS_MAX;
	int64_t high_ns = sweep->is_open ? shift_limit(sweep->high_ns, move + room) : CAUSAL_NS_MAX;

	low_ns = larger(low_ns, point->low_ns);
	high_ns = smaller(high_ns, point->high_ns);
	if (sweep->is_open && low_ns > high_ns)
		return false;
	sweep->at_ns = point->at_ns;
	sweep->low_ns = low_ns;
	sweep->high_ns = high_ns;
	sweep->is_open = true;
	return true;
}

/* Counts the pieces into which a common rate divides the points. */
static size_t count_pieces(const struct causal_point *points, size_t count, double rate, double room)
{
	struct sweep sweep = { .rate = rate, .room = room };
	size_t pieces = count > 0;

	for (size_t i = 0; i < count; i++) {
		if (sweep_to(&sweep, &points[i]))
			continue;
		pieces++;
		sweep.is_open = false;
		sweep_to(&sweep, &points[i]);
	}
	return pieces;
}

/* ---- the common rate ---- */

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

/* Returns the median slope between the strongest limits of consecutive blocks of points: the lower limits if of_lows is
 * set, else the upper ones. */
static double median_slope(const struct causal_point *points, size_t count, bool of_lows)
{
	const struct causal_point *last = NULL;
	double slopes[RATE_BLOCKS];
	size_t slopes_count = 0, blocks = count / RATE_POINTS;

	blocks = blocks < 2 ? 2 : blocks < RATE_BLOCKS ? blocks : RATE_BLOCKS;
	for (size_t block = 0; block < blocks; block++) {
		const struct causal_point *best = NULL;
		for (size_t i = block * count / blocks; i < (block + 1) * count / blocks; i++) {
			const struct causal_point *point = &points[i];
			if (of_lows ? point->low_ns <= -CAUSAL_NS_MAX : point->high_ns >= CAUSAL_NS_MAX)
				continue;
			if (!best || (of_lows ? point->low_ns > best->low_ns : point->high_ns < best->high_ns))
				best = point;
		}
		if (best && last && best->at_ns != last->at_ns) {
			double rise = of_lows ? (double)best->low_ns - (double)last->low_ns
			                      : (double)best->high_ns - (double)last->high_ns;
			slopes[slopes_count++] = rise / ((double)best->at_ns - (double)last->at_ns);
		}
		last = best ? best : last;
	}
	if (!slopes_count)
		return 0;
	qsort(slopes, slopes_count, sizeof(*slopes), by_value);
	return slopes[slopes_count / 2];
}

/* If the first and the last point contradict each other at the nominal rate, returns the smallest deviation from it at
 * which they do not; else returns 0.  This finds the rate of a clock with one limit from its sample and one from the
 * end of a run. */
static double spanning_slope(const struct causal_point *points, size_t count)
{
	int64_t distance_ns, low_ns = -CAUSAL_NS_MAX, high_ns = CAUSAL_NS_MAX;
	const struct causal_point *first = &points[0], *last = &points[count - 1];

	if (count < 2 || __builtin_sub_overflow(last->at_ns, first->at_ns, &distance_ns) || distance_ns <= 0)
		return 0;
	low_ns = last->low_ns > -CAUSAL_NS_MAX && first->high_ns < CAUSAL_NS_MAX ? last->low_ns - first->high_ns : low_ns;
	high_ns = last->high_ns < CAUSAL_NS_MAX && first->low_ns > -CAUSAL_NS_MAX ? last->high_ns - first->low_ns
	                                                                          : high_ns;
	double rise = low_ns > 0 ? (double)low_ns : high_ns < 0 ? (double)high_ns : 0;
	return rise / (double)distance_ns;
}

/* Of the nominal rate and three estimated rates, chooses the one at which the points form the fewest pieces, if the
 * clock's rate may differ from it by `room`.  An estimated rate must give fewer pieces than the nominal rate.  Returns
 * the number of pieces. */
static size_t choose_rate_within(struct causal_band *band, size_t count, double room)
{
	const struct causal_point *points = band->points;
	const double rates[] = { median_slope(points, count, true), median_slope(points, count, false),
		                 spanning_slope(points, count) };
	size_t fewest = count_pieces(points, count, 0, room);

	band->rate = 0;
	band->rate_room = room;
	for (unsigned i = 0; i < sizeof(rates) / sizeof(*rates) && fewest > 1; i++) {
		double own_room = count < POINTS_OF_RATE ? room + fabs(rates[i]) : room;
		size_t pieces = fabs(rates[i]) < RATE_MOST ? count_pieces(points, count, rates[i], own_room) : SIZE_MAX;
		if (pieces < fewest) {
			fewest = pieces;
			band->rate = rates[i];
			band->rate_room = own_room;
		}
	}
	return fewest;
}

/* Chooses the common rate and its tolerance.  A real jump divides the points at any tolerance.  If instead the clock's
 * rate varies, a larger tolerance leaves far fewer pieces. */
static void choose_rate(struct causal_band *band, size_t count)
{
	struct causal_band best = *band;

	/* NOLINTNEXTLINE(cert-flp30-c): the factor is multiplied, so the number of steps need not be exact */
	for (double room = CAUSAL_PPM / 1e6; room < RATE_MOST; room *= 4) {
		size_t pieces = choose_rate_within(band, count, room);
		if (!best.pieces_count || pieces < best.pieces_count / 2) {
			best = *band;
			best.pieces_count = pieces;
		}
		if (pieces == 1)
			break;
	}
	*band = best;
}

/* ---- pieces ---- */

/* Divides the points, which are sorted by cause, into pieces. */
static void lay_pieces(struct causal_band *band, size_t count)
{
	struct sweep sweep = { .rate = band->rate, .room = band->rate_room };
	size_t pieces = 0;

	for (size_t i = 0; i < count; i++) {
		if (sweep.is_open && sweep_to(&sweep, &band->points[i])) {
			band->pieces[pieces - 1].count++;
			continue;
		}
		sweep.is_open = false;
		sweep_to(&sweep, &band->points[i]);
		band->pieces[pieces++] = (struct causal_piece){ .first = i, .count = 1 };
	}
}

/* Removes the last points of a piece that also fit the next piece. */
static void trim_ambiguous(struct causal_band *band, struct causal_piece *piece, const struct causal_piece *next)
{
	struct sweep sweep = { .rate = band->rate, .room = band->rate_room };
	size_t i = next->first + next->count;

	while (i > next->first && sweep_to(&sweep, &band->points[i - 1]))
		i--;
	if (i > next->first)
		return;
	while (piece->count > 1 && sweep_to(&sweep, &band->points[piece->first + piece->count - 1]))
		piece->count--;
}

/* Turns the points of a piece into the band: each point gets the range of offsets that all points of the piece allow at
 * its time. */
static void make_band(const struct causal_band *band, struct causal_piece *piece)
{
	struct causal_point *points = &band->points[piece->first];

	piece->first_cause_ns = points[0].cause_ns;
	piece->last_cause_ns = points[piece->count - 1].cause_ns;
	qsort(points, piece->count, sizeof(*points), by_time);
	for (size_t i = 0; i < piece->count; i++) {
		double moved = -band->rate * ((double)points[i].at_ns - (double)band->origin_ns);
		points[i].low_ns = shift_limit(points[i].low_ns, moved);
		points[i].high_ns = shift_limit(points[i].high_ns, moved);
	}
	for (size_t i = 1; i < piece->count; i++) {
		double room = band->rate_room * ((double)points[i].at_ns - (double)points[i - 1].at_ns);
		points[i].low_ns = larger(points[i].low_ns, shift_limit(points[i - 1].low_ns, -room));
		points[i].high_ns = smaller(points[i].high_ns, shift_limit(points[i - 1].high_ns, room));
	}
	for (size_t i = piece->count; i-- > 1;) {
		double room = band->rate_room * ((double)points[i].at_ns - (double)points[i - 1].at_ns);
		points[i - 1].low_ns = larger(points[i - 1].low_ns, shift_limit(points[i].low_ns, -room));
		points[i - 1].high_ns = smaller(points[i - 1].high_ns, shift_limit(points[i].high_ns, room));
	}
}

/* Rejects all pieces.  The band becomes the range from the smallest upper limit to the largest lower limit. */
static void reject_all(struct causal_band *band, size_t count)
{
	band->is_unusable = true;
	band->low_ns = CAUSAL_NS_MAX;
	band->high_ns = -CAUSAL_NS_MAX;
	for (size_t i = 0; i < count; i++) {
		const struct causal_point *point = &band->points[i];
		if (point->low_ns > -CAUSAL_NS_MAX)
			band->high_ns = larger(band->high_ns, point->low_ns);
		if (point->high_ns < CAUSAL_NS_MAX)
			band->low_ns = smaller(band->low_ns, point->high_ns);
	}
}

static size_t take_points(struct causal_band *band, const struct causal_points *points, enum causal_level level,
                          const struct causal_point *sample)
{
	size_t count = 0;

	if (sample) {
		band->points[count] = *sample;
		band->points[count++].cause_ns = CAUSAL_NO_CAUSE;
	}
	for (size_t i = 0; i < points->count; i++) {
		struct causal_point point = points->points[i];
		if (point.level > (uint32_t)level)
			point.high_ns = CAUSAL_NS_MAX;
		if (point.low_ns > -CAUSAL_NS_MAX || point.high_ns < CAUSAL_NS_MAX)
			band->points[count++] = point;
	}
	return count;
}

epp_status *causal_band_build(struct causal_band *band, const struct causal_points *points, enum causal_level level,
                              const struct causal_point *sample)
{
	*band = (struct causal_band){ 0 };
	band->points = reallocarray(NULL, points->count + 1, sizeof(*band->points));
	if (!band->points)
		return epp_status_no_memory();
	size_t count = take_points(band, points, level, sample);
	if (!count)
		return NULL;
	qsort(band->points, count, sizeof(*band->points), causal_by_cause);
	band->origin_ns = band->points[0].at_ns;
	choose_rate(band, count);
	if (band->pieces_count > PIECES_MAX ||
	    (band->pieces_count > PIECES_DOUBTED && band->pieces_count * POINTS_PER_PIECE > count)) {
		reject_all(band, count);
		return NULL;
	}
	band->pieces = reallocarray(NULL, band->pieces_count, sizeof(*band->pieces));
	if (!band->pieces) {
		causal_band_deinit(band);
		return epp_status_no_memory();
	}
	lay_pieces(band, count);
	for (size_t i = 0; i + 1 < band->pieces_count; i++)
		trim_ambiguous(band, &band->pieces[i], &band->pieces[i + 1]);
	for (size_t i = 0; i < band->pieces_count; i++)
		make_band(band, &band->pieces[i]);
	return NULL;
}

void causal_band_deinit(struct causal_band *band)
{
	free(band->points);
	free(band->pieces);
	*band = (struct causal_band){ 0 };
}

/* ---- queries ---- */

/* Extends [*low_ns, *high_ns] by the range that a piece allows at a time. */
static void add_piece(const struct causal_band *band, const struct causal_piece *piece, int64_t at_ns, int64_t *low_ns,
                      int64_t *high_ns)
{
	const struct causal_point *points = &band->points[piece->first];
	int64_t low = -CAUSAL_NS_MAX, high = CAUSAL_NS_MAX;
	size_t first = 0, last = piece->count;

	while (first < last) {
		size_t middle = first + (last - first) / 2;
		if (points[middle].at_ns <= at_ns)
			first = middle + 1;
		else
			last = middle;
	}
	for (size_t i = first ? first - 1 : 0; i <= first && i < piece->count; i++) {
		double room = band->rate_room * fabs((double)at_ns - (double)points[i].at_ns);
		low = larger(low, shift_limit(points[i].low_ns, -room));
		high = smaller(high, shift_limit(points[i].high_ns, room));
	}
	double moved = band->rate * ((double)at_ns - (double)band->origin_ns);
	low = shift_limit(low, moved);
	high = shift_limit(high, moved);
	/* low exceeds high if limits contradict each other.  The range then reaches from high to low. */
	*low_ns = smaller(*low_ns, smaller(low, high));
	*high_ns = larger(*high_ns, larger(low, high));
}

/* Returns false if the time of an event's cause excludes that the event belongs to a piece: the cause is not after the
 * last cause of the previous piece, or not before the first cause of the next one. */
static bool may_hold_cause(const struct causal_band *band, size_t piece, int64_t cause_ns)
{
	bool behind = piece && cause_ns < band->pieces[piece].first_cause_ns &&
	              cause_ns <= band->pieces[piece - 1].last_cause_ns;
	bool before = piece + 1 < band->pieces_count && cause_ns > band->pieces[piece].last_cause_ns &&
	              cause_ns >= band->pieces[piece + 1].first_cause_ns;
	return !behind && !before;
}

/* Returns false if the time that an event's clock claims is too far from the claimed times of a piece.  If this
 * excludes all pieces, causal_band_at uses all of them. */
static bool may_hold_time(const struct causal_band *band, const struct causal_piece *piece, int64_t at_ns)
{
	const struct causal_point *points = &band->points[piece->first];
	double reach = 0;

	/* A time may be outside the piece by the larger of the gaps to the previous and to the next piece.  After the
	 * last piece there is no limit. */
	if (piece > band->pieces)
		reach = fabs((double)points[0].at_ns - (double)band->points[piece[-1].first + piece[-1].count - 1].at_ns);
	if (piece + 1 < band->pieces + band->pieces_count)
		reach = fmax(reach,
		             fabs((double)points[piece->count - 1].at_ns - (double)band->points[piece[1].first].at_ns));
	else
		return (double)at_ns >= (double)points[0].at_ns - reach;
	return (double)at_ns >= (double)points[0].at_ns - reach &&
	       (double)at_ns <= (double)points[piece->count - 1].at_ns + reach;
}

/* Returns the first piece whose last cause is at or after cause_ns. */
static size_t piece_of(const struct causal_band *band, int64_t cause_ns)
{
	size_t first = 0, last = band->pieces_count;

	while (first < last) {
		size_t middle = first + (last - first) / 2;
		if (band->pieces[middle].last_cause_ns < cause_ns)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

bool causal_band_at(const struct causal_band *band, int64_t at_ns, int64_t cause_ns, int64_t *low_ns, int64_t *high_ns)
{
	*low_ns = CAUSAL_NS_MAX;
	*high_ns = -CAUSAL_NS_MAX;
	if (band->is_unusable) {
		*low_ns = band->low_ns;
		*high_ns = band->high_ns;
		return *low_ns <= *high_ns;
	}
	if (!band->pieces_count)
		return false;
	size_t from = 0, end = band->pieces_count;
	if (cause_ns != CAUSAL_NO_CAUSE) {
		size_t piece = piece_of(band, cause_ns);
		from = piece ? piece - 1 : 0;
		end = piece + 2 < end ? piece + 2 : end;
	}
	for (size_t i = from; i < end; i++) {
		if (cause_ns == CAUSAL_NO_CAUSE ? may_hold_time(band, &band->pieces[i], at_ns)
		                                : may_hold_cause(band, i, cause_ns))
			add_piece(band, &band->pieces[i], at_ns, low_ns, high_ns);
	}
	if (*low_ns > *high_ns)
		for (size_t i = from; i < end; i++)
			add_piece(band, &band->pieces[i], at_ns, low_ns, high_ns);
	return true;
}
