/* Counts the page faults of recording threads, as the kernel reports them for each thread. */
#include "storage/window/page_faults.h"

#include "base/atomics.h"
#include "base/os/os.h"

static void add(struct slots *slots, struct slot_use *use, uint64_t faults)
{
	if (faults > use->faults)
		ADD_RELAXED(&slots->window->live->faults, faults - use->faults);
	use->faults = faults;
}

void faults_begin(struct slots *slots, uint32_t index)
{
	struct slot_use *use = &slots->uses[index];
	if (os_thread_faults(&use->faults))
		STORE_RELEASE(&use->faults_counted, true);
}

void faults_end(struct slots *slots, uint32_t index)
{
	uint64_t faults;
	struct slot_use *use = &slots->uses[index];
	if (use->faults_counted && os_thread_faults(&faults))
		add(slots, use, faults);
}

void faults_look(struct slots *slots)
{
	uint64_t faults;
	for (uint32_t i = 0; i < slots->used; i++) {
		struct slot_use *use = &slots->uses[i];
		if (use->to_close && !use->has_exited && LOAD_ACQUIRE(&use->faults_counted) &&
		    os_thread_faults_of(slots->window->slots[i].thread_id, &faults))
			add(slots, use, faults);
	}
}
