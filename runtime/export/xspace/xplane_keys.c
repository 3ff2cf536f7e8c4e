/* The keys of stats: those that every plane defines, and those of args, which get the next number at their first
 * use. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "export/xspace/xplane.h"

const char *xplane_stat(uint32_t stat)
{
	/* Tools need details to recognize a kernel; this text replaces the details that a device does not provide. */
	static const char *const texts[] = {
		"correlation_id",
		"placement",
		"start_error_ns",
		"end_error_ns",
		"stream",
		"kernel_details",
		"flags",
		"category",
		"regs:0 static_shared:0 dynamic_shared:0 grid:1,1,1 block:1,1,1 occ_pct:0",
	};

	if (stat >= KNOWN_PLACEMENTS)
		return epp_placement_name(stat - KNOWN_PLACEMENTS);
	return stat < KNOWN_CATEGORIES ? texts[stat - 1] : export_category(stat - KNOWN_CATEGORIES);
}

static int compare_keys(const void *a, const void *b)
{
	const struct xplane_key *left = a, *right = b;

	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? -1 : 1;
	return memcmp(left->text, right->text, left->bytes);
}

/* Returns the number of the stat if the arg's key equals one.  Keys are repaired to UTF-8 in the document, so they may
 * have any bytes. */
static uint32_t number_of_stat(const epp_trace_arg *arg)
{
	for (uint32_t stat = KNOWN_CORRELATION; stat < KNOWN_OWN; stat++) {
		const char *text = xplane_stat(stat);
		if (strlen(text) == arg->key_bytes && memcmp(text, arg->key, arg->key_bytes) == 0)
			return stat;
	}
	return 0;
}

static epp_status *find_key(struct xplanes *xplanes, const epp_trace_arg *arg, uint32_t *number)
{
	struct xplane_key *key = malloc(sizeof *key + arg->key_bytes);
	void *found = NULL;

	*number = number_of_stat(arg);
	if (key) {
		key->bytes = arg->key_bytes;
		memcpy(key->text, arg->key, arg->key_bytes);
		found = *number ? NULL : tsearch(key, &xplanes->keys, compare_keys);
	}
	if (!found || *(struct xplane_key **)found != key) {
		free(key);
		if (found)
			*number = (*(struct xplane_key **)found)->number;
		return *number ? NULL : epp_status_no_memory();
	}
	key->number = *number = KNOWN_OWN + xplanes->keys_count++;
	xplanes->keys_bytes += XPLANE_ENTRY_BYTES + key->bytes;
	return NULL;
}

epp_status *xplane_number_of_key(struct xplanes *xplanes, const epp_trace_arg *arg, uint32_t *number)
{
	size_t slot = (size_t)(((uintptr_t)arg->key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) % XPLANE_CACHE_COUNT;

	if (xplanes->recent[slot].text != arg->key) {
		EPP_TRY(find_key(xplanes, arg, &xplanes->recent[slot].number));
		xplanes->recent[slot].text = arg->key;
	}
	*number = xplanes->recent[slot].number;
	return NULL;
}
