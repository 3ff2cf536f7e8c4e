/* Implements schedule.h. */
#include "record/filter/schedule.h"

#include <bsd/stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/atomics.h"
#include "format/format.h"

#define STEPS_MAX 1000000000
#define NUMBER_BYTES 12u

/* ---- the text ---- */

/* Reads one "key=number" of `bytes` bytes.  Returns a description of the error, or NULL. */
static const char *parse_key_value(struct schedule *schedule, const char *text, size_t bytes)
{
	const struct {
		const char *key;
		uint64_t *value;
	} members[] = { { "skip=", &schedule->skip },
		        { "warmup=", &schedule->warmup },
		        { "active=", &schedule->active },
		        { "repeat=", &schedule->repeat } };
	char number[NUMBER_BYTES];
	const char *problem = NULL;
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		size_t key_bytes = strlen(members[i].key);
		if (bytes <= key_bytes || memcmp(text, members[i].key, key_bytes) != 0)
			continue;
		if (bytes - key_bytes >= sizeof(number))
			return "too large";
		memcpy(number, text + key_bytes, bytes - key_bytes);
		number[bytes - key_bytes] = '\0';
		*members[i].value = (uint64_t)strtonum(number, 0, STEPS_MAX, &problem);
		return problem;
	}
	return "must be of the form skip=10,warmup=5,active=20,repeat=3";
}

epp_status *schedule_parse(const char *text, const char *step, struct schedule *schedule, bool *is_given)
{
	*schedule = (struct schedule){ 0 };
	*is_given = text && *text;
	if (!*is_given)
		return NULL;
	for (const char *at = text; *at;) {
		size_t bytes = strcspn(at, ",");
		const char *problem = parse_key_value(schedule, at, bytes);
		if (problem)
			return epp_status_create(EPP_INVALID_ARGUMENT, "schedule '%s': %s", text, problem);
		at += bytes + (at[bytes] == ',');
	}
	if (!schedule->active)
		return epp_status_create(EPP_INVALID_ARGUMENT, "schedule '%s': active must be at least 1", text);
	schedule->step = epp_name_intern(step && *step ? step : SCHEDULE_STEP_DEFAULT);
	if (schedule->step == EPF_NAME_LOST)
		return epp_status_no_memory();
	schedule->ranges[0].from = !schedule->skip && !schedule->warmup;
	return NULL;
}

/* ---- numbers ---- */

static uint64_t period(const struct schedule *schedule)
{
	return schedule->warmup + schedule->active;
}

bool schedule_includes(const struct schedule *schedule, uint64_t number)
{
	if (number < schedule->skip)
		return false;
	uint64_t at = number - schedule->skip;
	return at % period(schedule) >= schedule->warmup &&
	       (!schedule->repeat || at / period(schedule) < schedule->repeat);
}

/* Returns the cycle of a step whose number is at least `skip`.  If the schedule has no warm-up, all cycles count as
 * one. */
static uint64_t cycle_of(const struct schedule *schedule, uint64_t number)
{
	return schedule->warmup ? (number - schedule->skip) / period(schedule) : 0;
}

/* Called when the step with this number begins or, if steps are numbered at their ends, when the step before it ends.
 * If only this step, or only the one before it, is recorded, stores the time as the begin or the end of a time range of
 * recorded steps. */
static void store_change_time(struct schedule *schedule, uint64_t number, uint64_t now_ticks)
{
	bool is_active = schedule_includes(schedule, number),
	     was_active = number && schedule_includes(schedule, number - 1);
	if (is_active == was_active)
		return;
	uint64_t cycle = cycle_of(schedule, is_active ? number : number - 1);
	struct schedule_range *range = &schedule->ranges[cycle % SCHEDULE_RANGES];
	if (!is_active) {
		STORE_RELAXED(&range->to, now_ticks);
		STORE_RELEASE(&range->over, cycle + 1);
	} else if (number) {
		STORE_RELEASE(&range->from, now_ticks);
	}
}

/* Returns the number of the step that began last. If steps are numbered at their ends, returns the number of the step
 * that ends next. Before the first step, returns 0. */
static uint64_t current_step(const struct schedule *schedule)
{
	uint64_t count = LOAD_RELAXED(&schedule->count);
	return LOAD_RELAXED(&schedule->counts_ends) || !count ? count : count - 1;
}

void schedule_begin_step(struct schedule *schedule, struct schedule_step *step, epp_name name, uint64_t now_ticks)
{
	uint64_t number = name ? ADD_RELAXED(&schedule->count, 1) : current_step(schedule);
	*step = (struct schedule_step){ .id = EPP_LEFT_OUT_ID,
		                        .is_active = schedule_includes(schedule, number),
		                        .is_unnamed = !name };
	if (name)
		store_change_time(schedule, number, now_ticks);
}

void schedule_end_step(struct schedule *schedule, struct schedule_step *step, epp_name name, uint64_t now_ticks)
{
	if (step->is_unnamed && name == schedule->step) {
		STORE_RELAXED(&schedule->counts_ends, true);
		store_change_time(schedule, ADD_RELAXED(&schedule->count, 1) + 1, now_ticks);
	}
	*step = (struct schedule_step){ 0 };
}

bool schedule_is_on(const struct schedule *schedule)
{
	return schedule_includes(schedule, current_step(schedule));
}

/* Returns the number of cycles whose recorded steps have begun when the step with this number begins. */
static uint64_t count_ranges(const struct schedule *schedule, uint64_t number)
{
	if (number < schedule->skip)
		return 0;
	bool is_begun = (number - schedule->skip) % period(schedule) >= schedule->warmup;
	uint64_t count = cycle_of(schedule, number) + is_begun;
	return schedule->repeat && count > schedule->repeat ? schedule->repeat : count;
}

bool schedule_was_on(const struct schedule *schedule, uint64_t ticks)
{
	uint64_t count = count_ranges(schedule, current_step(schedule));
	for (uint64_t i = 1; i <= SCHEDULE_RANGES && i <= count; i++) {
		const struct schedule_range *range = &schedule->ranges[(count - i) % SCHEDULE_RANGES];
		uint64_t from = LOAD_ACQUIRE(&range->from), over = LOAD_ACQUIRE(&range->over);
		if (from && ticks >= from)
			return over != count - i + 1 || ticks < LOAD_RELAXED(&range->to);
	}
	return count > SCHEDULE_RANGES;
}
