/* Key-value pairs, and the objects that consist of such pairs: session options (only config entries) and the
 * environment's config entries (none).  Pairs are few, so two parallel arrays in order of insertion are sufficient;
 * GetKeyValuePairs returns these arrays.  An entry without a return value cannot report that there is no memory, so the
 * pair is then missing. */
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"

struct OrtKeyValuePairs {
	size_t count;
	size_t room;
	char **keys;
	char **values;
};

struct OrtSessionOptions {
	OrtKeyValuePairs *entries;
};

static OrtStatus *no_memory(void)
{
	return ort_status_create(ORT_FAIL, "out of memory");
}

static size_t index_of(const OrtKeyValuePairs *pairs, const char *key)
{
	size_t i = 0;
	while (i < pairs->count && strcmp(pairs->keys[i], key) != 0)
		i++;
	return i;
}

static bool room_for_one(OrtKeyValuePairs *pairs)
{
	size_t room = pairs->room;

	return array_reserve(&pairs->keys, &room, pairs->count + 1, sizeof(char *)) &&
	       array_reserve(&pairs->values, &pairs->room, pairs->count + 1, sizeof(char *));
}

static bool put(OrtKeyValuePairs *pairs, const char *key, const char *value)
{
	size_t at = index_of(pairs, key);
	char *value_copy = strdup(value);
	if (!value_copy)
		return false;
	if (at < pairs->count) {
		free(pairs->values[at]);
		pairs->values[at] = value_copy;
		return true;
	}
	char *key_copy = room_for_one(pairs) ? strdup(key) : NULL;
	if (!key_copy) {
		free(value_copy);
		return false;
	}
	pairs->keys[at] = key_copy;
	pairs->values[at] = value_copy;
	pairs->count++;
	return true;
}

void ort_api_CreateKeyValuePairs(OrtKeyValuePairs **out)
{
	if (out)
		*out = calloc(1, sizeof(**out));
}

void ort_api_AddKeyValuePair(OrtKeyValuePairs *kvps, const char *key, const char *value)
{
	/* The function returns nothing, so a failed allocation is not reported. */
	if (kvps && key && value)
		(void)put(kvps, key, value);
}

const char *ort_api_GetKeyValue(const OrtKeyValuePairs *kvps, const char *key)
{
	if (!kvps || !key)
		return NULL;
	size_t at = index_of(kvps, key);
	return at < kvps->count ? kvps->values[at] : NULL;
}

void ort_api_GetKeyValuePairs(const OrtKeyValuePairs *kvps, const char *const **keys, const char *const **values,
                              size_t *num_entries)
{
	if (keys)
		*keys = kvps ? (const char *const *)kvps->keys : NULL;
	if (values)
		*values = kvps ? (const char *const *)kvps->values : NULL;
	if (num_entries)
		*num_entries = kvps ? kvps->count : 0;
}

void ort_api_RemoveKeyValuePair(OrtKeyValuePairs *kvps, const char *key)
{
	if (!kvps || !key)
		return;
	size_t at = index_of(kvps, key);
	if (at == kvps->count)
		return;
	free(kvps->keys[at]);
	free(kvps->values[at]);
	kvps->count--;
	memmove(&kvps->keys[at], &kvps->keys[at + 1], (kvps->count - at) * sizeof(*kvps->keys));
	memmove(&kvps->values[at], &kvps->values[at + 1], (kvps->count - at) * sizeof(*kvps->values));
}

void ort_api_ReleaseKeyValuePairs(OrtKeyValuePairs *kvps)
{
	if (!kvps)
		return;
	for (size_t i = 0; i < kvps->count; i++) {
		free(kvps->keys[i]);
		free(kvps->values[i]);
	}
	free(kvps->keys);
	free(kvps->values);
	free(kvps);
}

const OrtKeyValuePairs *ort_key_values_empty(void)
{
	static const OrtKeyValuePairs empty = { 0 };
	return &empty;
}

OrtKeyValuePairs *ort_key_values_copy(const OrtKeyValuePairs *pairs)
{
	OrtKeyValuePairs *copy = calloc(1, sizeof(*copy));
	for (size_t i = 0; copy && pairs && i < pairs->count; i++) {
		if (!put(copy, pairs->keys[i], pairs->values[i])) {
			ort_api_ReleaseKeyValuePairs(copy);
			copy = NULL;
		}
	}
	return copy;
}

/* ---- session options ---- */

OrtStatus *ort_api_CreateSessionOptions(OrtSessionOptions **options)
{
	if (!options)
		return ort_null_argument("CreateSessionOptions", "options");
	*options = calloc(1, sizeof(**options));
	if (*options)
		(*options)->entries = ort_key_values_copy(NULL);
	if (*options && (*options)->entries)
		return NULL;
	free(*options);
	*options = NULL;
	return no_memory();
}

void ort_api_ReleaseSessionOptions(OrtSessionOptions *options)
{
	if (options)
		ort_api_ReleaseKeyValuePairs(options->entries);
	free(options);
}

OrtStatus *ort_api_AddSessionConfigEntry(OrtSessionOptions *options, const char *config_key, const char *config_value)
{
	if (!options || !config_key || !config_value)
		return ort_null_argument("AddSessionConfigEntry", "an argument");
	return put(options->entries, config_key, config_value) ? NULL : no_memory();
}

OrtStatus *ort_ep_api_SessionOptionsGetWeightlessSourceModelBuffer(const OrtSessionOptions *options, const void **data,
                                                                   size_t *bytes)
{
	if (!options || !data || !bytes)
		return ort_null_argument("SessionOptionsGetWeightlessSourceModelBuffer", "an argument");
	*data = NULL;
	*bytes = 0;
	return NULL;
}

OrtStatus *ort_api_HasSessionConfigEntry(const OrtSessionOptions *options, const char *config_key, int *out)
{
	if (!options || !config_key || !out)
		return ort_null_argument("HasSessionConfigEntry", "an argument");
	*out = ort_api_GetKeyValue(options->entries, config_key) != NULL;
	return NULL;
}

OrtStatus *ort_api_GetSessionConfigEntry(const OrtSessionOptions *options, const char *config_key, char *config_value,
                                         size_t *size)
{
	if (!options || !config_key || !size)
		return ort_null_argument("GetSessionConfigEntry", "an argument");
	const char *value = ort_api_GetKeyValue(options->entries, config_key);
	if (!value)
		return ort_status_create(ORT_FAIL, "GetSessionConfigEntry: no such entry");
	size_t room = *size;
	*size = strlen(value) + 1;
	if (!config_value)
		return NULL;
	if (room < *size)
		return ort_status_create(ORT_INVALID_ARGUMENT,
		                         "GetSessionConfigEntry: the buffer is too small for the value");
	memcpy(config_value, value, *size);
	return NULL;
}

OrtStatus *ort_api_GetSessionOptionsConfigEntries(const OrtSessionOptions *options, OrtKeyValuePairs **out)
{
	if (!options || !out)
		return ort_null_argument("GetSessionOptionsConfigEntries", options ? "out" : "options");
	*out = ort_key_values_copy(options->entries);
	return *out ? NULL : no_memory();
}

OrtStatus *ort_ep_api_GetEnvConfigEntries(OrtKeyValuePairs **config_entries)
{
	if (!config_entries)
		return ort_null_argument("GetEnvConfigEntries", "config_entries");
	*config_entries = ort_key_values_copy(NULL);
	return *config_entries ? NULL : no_memory();
}
