/* Places the events of devices.  The stored records are read twice: first to find the time at which profiling began,
 * then to write them. */
#include "import/onnxruntime/device_events.h"

#include <stdlib.h>
#include <string.h>

#include "format/format.h"

#define SAMPLES_MAX 64u
#define CANDIDATES_MAX 1024u
#define GUESSED_FROM 8u             /* number of samples for which possible parents are tried */
#define LOOKED_AT 64u               /* number of host events before, and after, a sample that are tried as its parent */
#define UNKNOWN_HALF_WIDTH 1000000u /* us; half-width if there are no host events, one second by an arbitrary choice */
#define LOOKED_AT_ANY \
	4096u                 /* number of host events that are examined for this, including those with another
                                       name */
#define STARTERS_MAX 64u      /* maximum number of threads that are examined for the parent of one event */
#define TICKS_PER_ERROR 2000u /* 500 ppm, as assumed for a clock with a single clock pair */

struct sample {
	uint64_t start;
	int64_t correlation;
	epp_name name;
};

struct guess {
	struct sample samples[SAMPLES_MAX];
	unsigned samples_count;
	int64_t candidates[CANDIDATES_MAX]; /* candidates for the Unix time, in us, of the file's time 0 */
	unsigned candidates_count;
};

epp_status *providers_store(struct import *import)
{
	size_t bytes;

	EPP_TRY(record_pack(&import->prepared, &bytes));
	return temp_file_put(&import->providers, import->prepared.packed, bytes);
}

/* ---- the start of profiling ---- */

/* Takes samples from the whole file: every n-th device event. */
static epp_status *collect_samples(struct import *import, struct guess *guess)
{
	uint64_t every = import->providers.count / SAMPLES_MAX + 1, number = 0;
	const void *piece;
	size_t bytes;

	EPP_TRY(temp_file_rewind(&import->providers));
	for (;;) {
		EPP_TRY(temp_file_get(&import->providers, &piece, &bytes));
		if (!piece || guess->samples_count == SAMPLES_MAX)
			return NULL;
		if (number++ % every)
			continue;
		record_unpack(&import->prepared, piece);
		if (import->prepared.has_correlation)
			guess->samples[guess->samples_count++] = (struct sample){ import->prepared.record.start_ticks,
				                                                  import->prepared.correlation,
				                                                  import->prepared.parent_name };
	}
}

static void add_candidate(struct guess *guess, int64_t candidate)
{
	for (unsigned i = 0; i < guess->candidates_count; i++) {
		if (guess->candidates[i] == candidate)
			return;
	}
	if (guess->candidates_count < CANDIDATES_MAX)
		guess->candidates[guess->candidates_count++] = candidate;
}

/* Adds a candidate for each of up to LOOKED_AT host events that could be the parent of a sample: from position `place`
 * on, or before it if `back` is set. */
static epp_status *add_candidates(struct import *import, struct guess *guess, const struct sample *sample,
                                  uint64_t place, bool back)
{
	struct sorter_entry entry;
	unsigned taken = 0;

	for (unsigned looked = 0; taken < LOOKED_AT && looked < LOOKED_AT_ANY; looked++) {
		if (back ? place == 0 : place >= import->slices.count)
			return NULL;
		EPP_TRY(sorter_at(&import->slices, back ? --place : place++, &entry));
		if (sample->name && entry.name != sample->name)
			continue;
		add_candidate(guess, sample->correlation - (int64_t)(entry.start - IMPORT_TICKS_AT_ZERO));
		taken++;
	}
	return NULL;
}

/* Tries as parents host events that began shortly before a sample, and after it, because a slow device clock makes
 * events appear before their parents. */
static epp_status *make_candidates(struct import *import, struct guess *guess)
{
	for (unsigned i = 0; i < guess->samples_count && i < GUESSED_FROM; i++) {
		const struct sample *sample = &guess->samples[i * guess->samples_count / GUESSED_FROM % guess->samples_count];
		uint64_t place;
		EPP_TRY(sorter_find(&import->slices, 0, sample->start + 1, &place));
		EPP_TRY(add_candidates(import, guess, sample, place, true));
		EPP_TRY(add_candidates(import, guess, sample, place, false));
	}
	return NULL;
}

/* Tests whether a host event starts at the Unix time in the sample's id, if the file's time 0 is at zero_us.  If the
 * sample has the name of its parent, the host event must have this name. */
static epp_status *matches_sample(struct import *import, const struct sample *sample, int64_t zero_us, bool *is_found)
{
	uint64_t start = IMPORT_TICKS_AT_ZERO + (uint64_t)(sample->correlation - zero_us), place;
	struct sorter_entry entry;

	*is_found = false;
	EPP_TRY(sorter_find(&import->slices, 0, start, &place));
	for (; place < import->slices.count && !*is_found; place++) {
		EPP_TRY(sorter_at(&import->slices, place, &entry));
		if (entry.start != start)
			break;
		*is_found = !sample->name || entry.name == sample->name;
	}
	return NULL;
}

/* Finds the candidate with which most samples have a parent.  *found is true if there is only one such candidate, and
 * at least 90 % of the samples have a parent with it. */
static epp_status *choose_candidate(struct import *import, const struct guess *guess, int64_t *zero_us, bool *found)
{
	unsigned best = 0, best_count = 0;

	for (unsigned i = 0; i < guess->candidates_count; i++) {
		unsigned hits = 0;
		for (unsigned j = 0; j < guess->samples_count; j++) {
			bool is_found;
			EPP_TRY(matches_sample(import, &guess->samples[j], guess->candidates[i], &is_found));
			hits += is_found;
		}
		if (hits > best) {
			best = hits;
			best_count = 0;
			*zero_us = guess->candidates[i];
		}
		best_count += hits == best && hits;
	}
	*found = best_count == 1 && best * 10 >= guess->samples_count * 9;
	return NULL;
}

/* Sets import->epoch_ns if the Unix time of the file's time 0 follows from the events. */
static epp_status *find_epoch(struct import *import)
{
	struct guess *guess = calloc(1, sizeof(*guess));
	int64_t zero_us = 0;
	bool found = false;

	if (!guess)
		return epp_status_no_memory();
	epp_status *status = collect_samples(import, guess);
	if (!status && guess->samples_count)
		status = make_candidates(import, guess);
	if (!status && guess->samples_count)
		status = choose_candidate(import, guess, &zero_us, &found);
	if (!status && guess->samples_count && !found)
		import_note(import, "the correlation ids match no host events: parents are found by containment in time");
	if (found && !__builtin_mul_overflow(zero_us, 1000, &import->epoch_ns))
		import_note(import, "profiling started at Unix time %lld us: derived from the correlation ids",
		            (long long)zero_us);
	free(guess);
	return status;
}

/* ---- parents ---- */

/* The host events that an id may mean: the innermost event of each thread that starts at the time in the id. */
struct starters {
	struct sorter_entry entries[STARTERS_MAX];
	unsigned count; /* a value above STARTERS_MAX means that there are more */
	int preference;
};

static int64_t tid_of(const struct import *import, const struct sorter_entry *entry)
{
	return import->lanes.lanes[PROVIDERS_LANE(entry->track)].tid;
}

/* Rates a host event as the parent of the prepared device event: 2 if it has the parent's name, plus 1 if it is on the
 * thread that the device event names. */
static int preference(const struct import *import, const struct sorter_entry *entry)
{
	const struct prepared *prepared = &import->prepared;
	bool is_named = prepared->parent_name && entry->name == prepared->parent_name;
	bool is_on_thread = prepared->has_cause_thread && tid_of(import, entry) == prepared->cause_thread;

	return 2 * is_named + is_on_thread;
}

static void add_starter(struct starters *starters, const struct sorter_entry *entry)
{
	for (unsigned i = 0; i < starters->count && i < STARTERS_MAX; i++) {
		if (PROVIDERS_LANE(starters->entries[i].track) == PROVIDERS_LANE(entry->track)) {
			starters->entries[i] = *entry;
			return;
		}
	}
	if (starters->count < STARTERS_MAX)
		starters->entries[starters->count] = *entry;
	starters->count++;
}

static epp_status *find_starters(struct import *import, uint64_t start, struct starters *starters)
{
	struct sorter_entry entry;
	uint64_t place;

	starters->count = 0;
	starters->preference = 0;
	EPP_TRY(sorter_find(&import->slices, 0, start, &place));
	for (; place < import->slices.count; place++) {
		EPP_TRY(sorter_at(&import->slices, place, &entry));
		if (entry.start != start)
			break;
		int preferred = preference(import, &entry);
		if (preferred < starters->preference)
			continue;
		if (preferred > starters->preference)
			starters->count = 0;
		starters->preference = preferred;
		add_starter(starters, &entry);
	}
	return NULL;
}

/* Returns the only host event of `starters` that can enclose the device event `record`; NULL if there is none, or
 * several.  The device event may be up to `early` ticks too early, and its clock may drift. */
static const struct sorter_entry *find_only_enclosing(const struct starters *starters, const epp_trace_record *record,
                                                      uint64_t early)
{
	const struct sorter_entry *found = NULL;
	uint64_t end = record->start_ticks + record->duration_ticks;
	uint64_t error = 2 + (end > IMPORT_TICKS_AT_ZERO ? (end - IMPORT_TICKS_AT_ZERO) / TICKS_PER_ERROR : 0);

	if (starters->count > STARTERS_MAX)
		return NULL;
	for (unsigned i = 0; i < starters->count; i++) {
		const struct sorter_entry *entry = &starters->entries[i];
		if (record->start_ticks + early + error < entry->start || end > entry->end + error)
			continue;
		if (found)
			return NULL;
		found = entry;
	}
	return found;
}

/* Finds the parent by the start time in the id.  *is_found is true if at least one host event starts at this time, even
 * if there are several and none is chosen. */
static epp_status *find_by_start(struct import *import, uint64_t start, uint64_t early, bool *is_found)
{
	epp_trace_record *record = &import->prepared.record;
	struct starters starters;

	EPP_TRY(find_starters(import, start, &starters));
	*is_found = starters.count;
	const struct sorter_entry *found = starters.count == 1 ? starters.entries
	                                                       : find_only_enclosing(&starters, record, early);
	if (!found) {
		record->placement = starters.count ? EPP_PLACED_AMBIGUOUS : 0;
		return NULL;
	}
	record->parent = found->id;
	if (starters.count > 1)
		record->placement = EPP_PLACED_INFERRED;
	return NULL;
}

/* Returns true if a host event can be the parent although other threads have an event at the same time.  If the device
 * event names its thread, the host event must be on this thread; otherwise it must be a node of the only execution
 * provider. */
static bool may_be_parent(const struct import *import, const struct sorter_entry *entry)
{
	const struct prepared *prepared = &import->prepared;

	return prepared->has_cause_thread ? tid_of(import, entry) == prepared->cause_thread
	                                  : (entry->track & PROVIDERS_NODE) && !import->has_more_providers;
}

/* Finds on each thread the innermost event around a time.  If `name` is not 0, the event must have this name.  Stops
 * when two events may be the parent, because the parent is ambiguous then. */
static epp_status *find_around(struct import *import, uint64_t moment, epp_name name, struct starters *around)
{
	struct sorter_entry entry;
	unsigned possible = 0;
	uint64_t place;
	bool found;

	around->count = 0;
	if (moment == UINT64_MAX)
		return NULL;
	EPP_TRY(sorter_find(&import->slices, 0, moment + 1, &place));
	while (around->count < import->slices_lanes_count && around->count < STARTERS_MAX && possible < 2) {
		bool known = false;
		EPP_TRY(sorter_containing_before(&import->slices, 0, moment, name, &place, &entry, &found));
		if (!found)
			return NULL;
		for (unsigned i = 0; i < around->count; i++)
			known |= PROVIDERS_LANE(around->entries[i].track) == PROVIDERS_LANE(entry.track);
		if (known)
			continue;
		around->entries[around->count++] = entry;
		possible += may_be_parent(import, &entry);
	}
	return NULL;
}

/* Chooses one of several enclosing host events.  NULL: more than one is possible. */
static const struct sorter_entry *likely_parent(const struct import *import, const struct starters *around)
{
	const struct sorter_entry *found = NULL;

	if (around->count == 1)
		return around->entries;
	for (unsigned i = 0; i < around->count; i++) {
		const struct sorter_entry *entry = &around->entries[i];
		if (!may_be_parent(import, entry))
			continue;
		if (found)
			return NULL;
		found = entry;
	}
	return found;
}

/* Finds the parent of an event that has no usable id: the innermost event around its start, on each thread that has
 * one. */
static epp_status *find_by_containment(struct import *import)
{
	const struct prepared *prepared = &import->prepared;
	epp_trace_record *record = &import->prepared.record;
	struct starters around = { 0 };

	if (prepared->parent_name)
		EPP_TRY(find_around(import, record->start_ticks, prepared->parent_name, &around));
	if (!around.count)
		EPP_TRY(find_around(import, record->start_ticks, 0, &around));
	if (!around.count)
		return NULL;
	const struct sorter_entry *found = likely_parent(import, &around);
	record->parent = found ? found->id : 0;
	record->placement = found ? EPP_PLACED_INFERRED : EPP_PLACED_AMBIGUOUS;
	return NULL;
}

static epp_status *find_parent(struct import *import, uint64_t early)
{
	const struct prepared *prepared = &import->prepared;
	bool is_found;

	if (prepared->has_correlation && import->epoch_ns) {
		int64_t since_us = prepared->correlation - import->epoch_ns / 1000;
		EPP_TRY(find_by_start(import, IMPORT_TICKS_AT_ZERO + (uint64_t)since_us, early, &is_found));
		if (is_found)
			return NULL;
	}
	return find_by_containment(import);
}

static void count_placement(struct import *import, const epp_trace_record *record)
{
	if (record->placement == EPP_PLACED_AMBIGUOUS)
		import->counts.ambiguous++;
	else if (!record->parent)
		import->counts.uncorrelated++;
	else if (record->placement == EPP_PLACED_INFERRED)
		import->counts.inferred++;
	else
		import->counts.correlated++;
}

/* ---- writing ---- */

/* Returns the length of the time in which profiling may have begun: from the file's time 0 to the first event of which
 * providers were notified. */
static uint64_t span_of_start(uint64_t first_start)
{
	bool known = first_start != UINT64_MAX && first_start >= IMPORT_TICKS_AT_ZERO;

	return known ? first_start - IMPORT_TICKS_AT_ZERO : UNKNOWN_HALF_WIDTH;
}

static epp_status *write_pair(struct import *import, uint32_t lane, uint64_t first_start)
{
	bool known = first_start != UINT64_MAX && first_start >= IMPORT_TICKS_AT_ZERO;
	uint64_t at = known ? first_start : IMPORT_TICKS_AT_ZERO;
	epp_trace_record pair = { .kind = EPP_RECORD_CLOCK_PAIR,
		                  .start_ticks = at,
		                  .duration_ticks = at,
		                  .id = span_of_start(first_start) + 2,
		                  .name = EPF_NAME_CLOCK_PAIR };

	EPP_TRY(lanes_track(import, lane, &pair.track));
	return epp_trace_writer_add_record(import->writer, &pair);
}

epp_status *providers_place_by_start(struct import *import, uint64_t first_start)
{
	struct prepared *prepared = &import->prepared;
	const void *piece;
	size_t bytes;
	bool paired = false;

	if (!import->providers.count)
		return NULL;
	EPP_TRY(sorter_seal(&import->slices));
	if (!import->epoch_ns)
		EPP_TRY(find_epoch(import));
	EPP_TRY(temp_file_rewind(&import->providers));
	for (;;) {
		EPP_TRY(import_check_cancel(import));
		EPP_TRY(temp_file_get(&import->providers, &piece, &bytes));
		if (!piece)
			return NULL;
		record_unpack(prepared, piece);
		prepared->args[CLAIM_PROFILE_US].value.i64 = import->epoch_ns / 1000;
		if (!paired)
			EPP_TRY(write_pair(import, prepared->lane, first_start));
		paired = true;
		EPP_TRY(find_parent(import, span_of_start(first_start)));
		count_placement(import, &prepared->record);
		EPP_TRY(record_write(import, prepared));
	}
}

epp_status *providers_place_by_key(struct import *import, struct sorter *causes)
{
	struct prepared *prepared = &import->prepared;
	const void *piece;
	size_t bytes;

	EPP_TRY(sorter_seal(causes));
	EPP_TRY(temp_file_rewind(&import->providers));
	for (;;) {
		struct sorter_entry entry;
		uint64_t place;
		EPP_TRY(import_check_cancel(import));
		EPP_TRY(temp_file_get(&import->providers, &piece, &bytes));
		if (!piece)
			return NULL;
		record_unpack(prepared, piece);
		if (prepared->has_correlation) {
			EPP_TRY(sorter_find(causes, (uint64_t)prepared->correlation, 0, &place));
			if (place < causes->count) {
				EPP_TRY(sorter_at(causes, place, &entry));
				if (entry.key == (uint64_t)prepared->correlation)
					prepared->record.parent = entry.id;
			}
		}
		count_placement(import, &prepared->record);
		EPP_TRY(record_write(import, prepared));
	}
}
