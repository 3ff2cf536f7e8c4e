/* Copies a table, but nothing after the end of the mapped segment that contains the table. */
#include "ort_slots.h"

#include <link.h>

struct readable {
	uintptr_t from, to;
};

static int find_segment(struct dl_phdr_info *info, size_t bytes, void *wanted)
{
	struct readable *readable = wanted;
	(void)bytes;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type == PT_LOAD && readable->from >= begin && readable->from < begin + segment->p_memsz)
			readable->to = begin + segment->p_memsz;
	}
	return readable->to != 0;
}

/* Reads beyond the end of the table, possibly into other objects of the library, which AddressSanitizer would report.
 * This file is therefore compiled without it. */
void ort_slots_copy(epp_ort_slot *copy, const void *table, size_t count)
{
	struct readable readable = { .from = (uintptr_t)table };
	dl_iterate_phdr(find_segment, &readable);
	size_t there = readable.to ? (readable.to - readable.from) / sizeof(*copy) : count;
	const epp_ort_slot *slots = table;
	for (size_t i = 0; i < count && i < there; i++)
		copy[i] = slots[i];
}
