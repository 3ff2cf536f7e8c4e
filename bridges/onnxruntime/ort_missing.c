/* Finds providers whose device events are missing in a trace. Names are added under a lock and counted last, so that
 * existing names are found without the lock. */
#include "ort_missing.h"

#include <bsd/string.h>
#include <string.h>

static bool has(const struct ort_names *names, const char *name)
{
	size_t count = __atomic_load_n(&names->count, __ATOMIC_ACQUIRE);
	for (size_t i = 0; i < count; i++)
		if (!strncmp(names->names[i], name, ORT_MISSING_NAME_BYTES - 1))
			return true;
	return false;
}

static void add(struct ort_names *names, const char *name)
{
	size_t count = names->count;
	if (count == ORT_MISSING_NAMES || has(names, name))
		return;
	strlcpy(names->names[count], name, sizeof(names->names[count]));
	__atomic_store_n(&names->count, count + 1, __ATOMIC_RELEASE);
}

static void add_locked(struct ort_missing *missing, struct ort_names *names, const char *name)
{
	pthread_mutex_lock(&missing->lock);
	add(names, name);
	pthread_mutex_unlock(&missing->lock);
}

void ort_missing_init(struct ort_missing *missing)
{
	*missing = (struct ort_missing){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

void ort_missing_ran(struct ort_missing *missing, const char *provider)
{
	if (*provider && strcmp(provider, "CPUExecutionProvider") != 0 && !has(&missing->ran, provider))
		add_locked(missing, &missing->ran, provider);
}

void ort_missing_gives(struct ort_missing *missing, const char *label)
{
	add_locked(missing, &missing->gives, label);
}

void ort_missing_find(struct ort_missing *missing, struct ort_names *found)
{
	size_t others = 0;
	*found = (struct ort_names){ 0 };
	pthread_mutex_lock(&missing->lock);
	for (size_t i = 0; i < missing->ran.count; i++)
		if (!has(&missing->gives, missing->ran.names[i]))
			add(found, missing->ran.names[i]);
	for (size_t i = 0; i < missing->gives.count; i++)
		others += !has(&missing->ran, missing->gives.names[i]);
	pthread_mutex_unlock(&missing->lock);
	if (others >= found->count)
		found->count = 0;
}

bool ort_missing_is_new(const char *provider)
{
	static struct ort_missing told = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_mutex_lock(&told.lock);
	size_t before = told.ran.count;
	add(&told.ran, provider);
	bool is_new = told.ran.count > before;
	pthread_mutex_unlock(&told.lock);
	return is_new;
}
