/* Implements name_filter.h. */
#include "record/filter/name_filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static bool matches_any(const char *patterns, const char *text)
{
	for (; *patterns; patterns += strlen(patterns) + 1)
		if (fnmatch(patterns, text, 0) == 0)
			return true;
	return false;
}

/* Compares a new name with the patterns.  Called with the lock of names held, before any thread can use the number of
 * the name. */
static void decide(struct name_listener *listener, epp_name name, struct name_text text)
{
	struct name_filter *filter = (struct name_filter *)(void *)listener;
	if (name < EPF_NAME_FIRST_FREE || text.is_args || strncmp(text.text, OWN_PREFIX, strlen(OWN_PREFIX)) == 0)
		return;
	bool is_included = !*filter->include || matches_any(filter->include, text.text);
	if (!is_included || matches_any(filter->exclude, text.text))
		__atomic_fetch_or(&filter->left_out[name / NAME_FILTER_WORD_BITS],
		                  UINT64_C(1) << name % NAME_FILTER_WORD_BITS, __ATOMIC_RELAXED);
}

/* Copies patterns to `to`, each with a NUL behind it, and adds an empty pattern at the end.  Returns the position
 * behind the empty pattern. */
static char *split(const char *patterns, char *to)
{
	while (*patterns) {
		size_t bytes = strcspn(patterns, ";");
		memcpy(to, patterns, bytes);
		/* Empty patterns are skipped, because an empty pattern marks the end of the list. */
		to += bytes + (bytes > 0);
		patterns += bytes + (patterns[bytes] == ';');
	}
	return to + 1;
}

epp_status *name_filter_create(const char *include, const char *exclude, const char *schedule, const char *step,
                               double max_overhead, struct name_filter **filter)
{
	struct {
		struct name_filter filter;
		struct schedule schedule;
		struct throttle throttle;
		char patterns[];
	} * made;
	struct schedule parsed;
	struct throttle throttle;
	bool has_schedule, has_throttle;
	include = include ? include : "";
	exclude = exclude ? exclude : "";
	*filter = NULL;
	EPP_TRY(schedule_parse(schedule, step, &parsed, &has_schedule));
	EPP_TRY(throttle_init(&throttle, max_overhead, step, &has_throttle));
	if (has_schedule && has_throttle)
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "session options: a schedule and max_overhead exclude each other");
	if (!include[strspn(include, ";")] && !exclude[strspn(exclude, ";")] && !has_schedule && !has_throttle)
		return NULL;
	/* 2 more bytes for each list: the NUL of its last pattern and the NUL of the empty pattern. */
	made = calloc(1, sizeof(*made) + strlen(include) + 2 + strlen(exclude) + 2);
	if (!made)
		return epp_status_no_memory();
	made->schedule = parsed;
	made->filter.schedule = has_schedule ? &made->schedule : NULL;
	made->throttle = throttle;
	made->throttle.is_alone = !throttle.step && !include[strspn(include, ";")] && !exclude[strspn(exclude, ";")];
	made->filter.throttle = has_throttle ? &made->throttle : NULL;
	made->filter.include = made->patterns;
	made->filter.exclude = split(include, made->patterns);
	split(exclude, (char *)made->filter.exclude);
	made->filter.listener.added = decide;
	name_listener_add(&made->filter.listener);
	*filter = &made->filter;
	return NULL;
}

void name_filter_destroy(struct name_filter *filter)
{
	if (filter)
		name_listener_remove(&filter->listener);
	free(filter);
}

void name_filter_fork_child(struct name_filter *filter)
{
	free(filter);
}

epp_loss name_filter_loss(const struct name_filter *filter, epp_name name, uint64_t parent, uint64_t host_ticks)
{
	bool is_on = true;

	if (name_filter_leaves_out(filter, name))
		return EPP_LOSS_FILTER;
	if (!filter || parent > EPP_LEFT_OUT_ID)
		return EPP_LOSS_ENTRY_COUNT;
	if (filter->throttle)
		return parent || throttle_was_on(filter->throttle, host_ticks) ? EPP_LOSS_THROTTLED : EPP_LOSS_ENTRY_COUNT;
	if (filter->schedule)
		is_on = !parent &&
		        (host_ticks ? schedule_was_on(filter->schedule, host_ticks) : schedule_is_on(filter->schedule));
	return is_on ? EPP_LOSS_ENTRY_COUNT : EPP_LOSS_FILTER;
}
