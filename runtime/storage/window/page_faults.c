/* Counts the page faults of recording threads with getrusage and /proc. */
#include "storage/window/page_faults.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/atomics.h"

static bool own(uint64_t *faults)
{
	struct rusage usage;
	if (getrusage(RUSAGE_THREAD, &usage))
		return false;
	*faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
	return true;
}

/* Reads fields 10 and 12 of stat. Field 2, a name in parentheses, may contain any characters. */
static bool of_thread(uint32_t thread_id, uint64_t *faults)
{
	char path[64], text[512];
	unsigned long minor, major;
	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", thread_id);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t bytes = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[bytes > 0 ? bytes : 0] = '\0';
	const char *name_end = strrchr(text, ')');
	if (!name_end || sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu", &minor, &major) != 2)
		return false;
	*faults = (uint64_t)minor + major;
	return true;
}

static void add(struct slots *slots, struct slot_use *use, uint64_t faults)
{
	if (faults > use->faults)
		ADD_RELAXED(&slots->window->live->faults, faults - use->faults);
	use->faults = faults;
}

void faults_begin(struct slots *slots, uint32_t index)
{
	struct slot_use *use = &slots->uses[index];
	if (own(&use->faults))
		STORE_RELEASE(&use->faults_counted, true);
}

void faults_end(struct slots *slots, uint32_t index)
{
	uint64_t faults;
	struct slot_use *use = &slots->uses[index];
	if (use->faults_counted && own(&faults))
		add(slots, use, faults);
}

void faults_look(struct slots *slots)
{
	uint64_t faults;
	for (uint32_t i = 0; i < slots->used; i++) {
		struct slot_use *use = &slots->uses[i];
		if (use->to_close && !use->is_left && LOAD_ACQUIRE(&use->faults_counted) &&
		    of_thread(slots->window->slots[i].thread_id, &faults))
			add(slots, use, faults);
	}
}
