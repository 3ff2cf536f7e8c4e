/* Which names were met before: a bit for each name of the trace, for formats that say a name once. */
#ifndef EPPROF_EXPORT_SEEN_H
#define EPPROF_EXPORT_SEEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

struct seen {
	uint64_t *words;
	size_t words_count;
};

static inline void seen_deinit(struct seen *seen)
{
	free(seen->words);
	*seen = (struct seen){ 0 };
}

static inline bool seen_before(const struct seen *seen, uint32_t number)
{
	size_t word = number / 64;

	return word < seen->words_count && seen->words[word] >> number % 64 & 1;
}

/* Sets *first if the number was not met before.  Errors: EPP_OUT_OF_MEMORY. */
static inline epp_status *seen_meet(struct seen *seen, uint32_t number, bool *first)
{
	size_t word = number / 64;

	*first = false;
	if (word >= seen->words_count) {
		size_t count = word + word / 2 + 64;
		uint64_t *larger = reallocarray(seen->words, count, sizeof *larger);
		if (!larger)
			return epp_status_no_memory();
		memset(larger + seen->words_count, 0, (count - seen->words_count) * sizeof *larger);
		seen->words = larger;
		seen->words_count = count;
	}
	*first = !seen_before(seen, number);
	seen->words[word] |= UINT64_C(1) << number % 64;
	return NULL;
}

#endif
