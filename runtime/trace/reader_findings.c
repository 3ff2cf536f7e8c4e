/* File offsets of data that is stored without its offset, so that findings can name where it is. */
#include <string.h>

#include "containers/array.h"
#include "trace/reader_private.h"

bool reader_said(struct reader_impl *impl, enum reader_saying_kind kind, uint64_t of, uint64_t offset)
{
	if (!array_reserve_zeroed(&impl->said, &impl->said_capacity, impl->said_count + 1, sizeof(*impl->said)))
		return false;
	impl->said[impl->said_count++] = (struct reader_saying){ .kind = kind, .of = of, .offset = offset };
	return true;
}

bool reader_said_pairs(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset)
{
	struct epf_host_pair pair;

	for (size_t at = 0; bytes - at >= sizeof(pair); at += sizeof(pair)) {
		memcpy(&pair, payload + at, sizeof(pair));
		if (!reader_said(impl, READER_SAID_PAIR, pair.ticks, offset + at))
			return false;
	}
	return true;
}

bool reader_said_accounts(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset)
{
	struct epf_ledger_entry entry;

	for (size_t at = 0; bytes - at >= sizeof(entry); at += sizeof(entry)) {
		memcpy(&entry, payload + at, sizeof(entry));
		if (!reader_said(impl, READER_SAID_ACCOUNT, entry.track, offset + at))
			return false;
	}
	return true;
}

bool reader_said_producers(struct reader_impl *impl, uint32_t first, size_t count, uint64_t offset)
{
	for (size_t i = 0; i < count; i++)
		if (!reader_said(impl, READER_SAID_PRODUCER, first + i, offset + i * sizeof(struct epf_producer)))
			return false;
	return true;
}

uint64_t reader_said_at(const struct reader_impl *impl, enum reader_saying_kind kind, uint64_t of)
{
	/* The last definition is the valid one. */
	for (size_t i = impl->said_count; i-- > 0;)
		if (impl->said[i].kind == kind && impl->said[i].of == of)
			return impl->said[i].offset;
	return UINT64_MAX;
}
