/* The rule imbalance: threads do the same work at the same time, and one takes longer than the others. */
#include "analysis/advice/advice.h"
#include "analysis/advice/name_statistics.h"

#define TRACKS_MOST 32u
/* A thread needs at least as many events of a name; fewer are not regular work. */
#define EVENTS_LEAST 4u

/* The outermost events of one name of a thread. */
struct share {
	epp_advice_place whole; /* from the first start to the last end; the gain is the sum of the durations */
	uint64_t count;
	int64_t error_ns;
};

struct shares {
	struct advice_name named;
	struct share shares[TRACKS_MOST]; /* if there are more threads, further ones are left out */
	unsigned count;
};

static struct share *share_of(struct shares *shares, const struct advice_event *event)
{
	for (unsigned i = 0; i < shares->count; i++)
		if (shares->shares[i].whole.track == event->event->track)
			return &shares->shares[i];
	if (shares->count == TRACKS_MOST)
		return NULL;
	shares->shares[shares->count].whole = advice_place_of(event, 0);
	return &shares->shares[shares->count++];
}

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	struct advice_name *named;

	(void)pass;
	if (event->event->track->kind != EPP_TRACK_THREAD || event->event->kind != EPP_EVENT_SLICE || event->event->depth)
		return NULL;
	EPP_TRY(advice_names_of(state, event->event, 0, sizeof(struct shares), &named));
	struct share *share = named ? share_of((struct shares *)named, event) : NULL;
	if (!share)
		return NULL;
	share->count++;
	share->whole.gain_ns += event->event->duration_ns;
	share->whole.end_ns = event->end_ns;
	share->error_ns += event->error_ns;
	return NULL;
}

/* Returns true if at least two threads have events of this name, in numbers that differ by at most 10 %, and if there
 * is a time at which all these threads worked. */
static bool is_same_work(const struct shares *shares)
{
	uint64_t most = 0, least = UINT64_MAX;
	int64_t from_ns = INT64_MIN, until_ns = INT64_MAX;

	for (unsigned i = 0; i < shares->count; i++) {
		const struct share *share = &shares->shares[i];
		most = share->count > most ? share->count : most;
		least = share->count < least ? share->count : least;
		from_ns = share->whole.start_ns > from_ns ? share->whole.start_ns : from_ns;
		until_ns = share->whole.end_ns < until_ns ? share->whole.end_ns : until_ns;
	}
	return shares->count >= 2 && least >= EVENTS_LEAST && most - least <= most / 10 && from_ns < until_ns;
}

/* Reports only the name with the largest gain. */
static epp_status *end(struct advice_pass *pass, void *state)
{
	struct advice_places most = { 0 };
	const struct shares *shares, *worst = NULL;
	char longest[ADVICE_TIME_BYTES], mean[ADVICE_TIME_BYTES];

	for (size_t i = 0; (shares = advice_names_at(state, i)); i++) {
		const struct share *slow = &shares->shares[0];
		struct advice_places places = { 0 };
		int64_t sum_ns = 0, error_ns = 0;
		for (unsigned at = 0; at < shares->count; at++) {
			sum_ns += shares->shares[at].whole.gain_ns;
			error_ns += shares->shares[at].error_ns;
			if (shares->shares[at].whole.gain_ns > slow->whole.gain_ns)
				slow = &shares->shares[at];
		}
		if (!is_same_work(shares))
			continue;
		epp_advice_place place = slow->whole;
		place.gain_ns -= sum_ns / shares->count;
		advice_places_add(&places, &place, error_ns);
		if (places.gain_ns <= most.gain_ns)
			continue;
		most = places;
		worst = shares;
		advice_time(slow->whole.gain_ns, longest);
		advice_time(sum_ns / shares->count, mean);
	}
	if (!worst)
		return NULL;
	return advice_report(pass, &advice_imbalance.rule, &most, EPP_CONFIDENCE_MEDIUM,
	                     "%s: %u threads do this work; %s takes %s of it, the mean is %s.", worst->named.name,
	                     worst->count, most.top[0].track->name, longest, mean);
}

static void deinit(void *state)
{
	advice_names_deinit(state);
}

const struct advice_rule advice_imbalance = {
	.rule = { .name = "imbalance",
	          .title = "threads that do the same work take different times",
	          .documentation = "Looks at outermost host events of one name on at least 2 threads, also of several processes of a\n"
	                           "merged trace, at the same time and in about the same number: at least 4, and no thread has more than 10 %\n"
	                           "fewer.  The gain is what the slowest thread takes beyond the mean of all threads.  Only the name with\n"
	                           "the largest gain is reported.\n",
	          .remedy = "Give each thread or process the same amount of work, or let threads take it from one queue; look "
	                    "for a slower processor or device, or for other load on it.",
	          .sql = "WITH t AS (SELECT name, track, sum(duration_ns) AS total_ns, count(*) AS events FROM timeline\n"
	                 "  WHERE thread_id IS NOT NULL AND depth = 0 AND kind = 'slice' GROUP BY name, track)\n"
	                 "SELECT cast(max(total_ns) - avg(total_ns) AS INTEGER) AS gain_ns, 1 AS places, name FROM t GROUP BY name\n"
	                 "HAVING count(*) >= 2 AND min(events) >= 4 AND max(events) - min(events) <= max(events) / 10\n"
	                 "ORDER BY 1 DESC LIMIT 1\n" },
	.state_bytes = sizeof(struct advice_names),
	.process_event = process_event,
	.end = end,
	.deinit = deinit
};
