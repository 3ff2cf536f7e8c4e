/* Counts the page faults of recording threads with getrusage and /proc. */
#include "storage/window/page_faults.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/session.h"

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

static void add(struct recorder *recorder, uint64_t faults)
{
	if (faults > recorder->faults)
		ADD_RELAXED(&recorder->session->window.live->faults, faults - recorder->faults);
	recorder->faults = faults;
}

void faults_begin(struct recorder *recorder)
{
	if (own(&recorder->faults))
		STORE_RELEASE(&recorder->faults_counted, true);
}

void faults_end(struct recorder *recorder)
{
	uint64_t faults;
	if (recorder->faults_counted && own(&faults))
		add(recorder, faults);
}

void faults_look(struct session *session)
{
	struct recorder *recorder;
	uint64_t faults;
	pthread_mutex_lock(&session->lock);
	LIST_FOREACH(recorder, &session->recorders, session_link)
		if (!recorder->owner_gone && LOAD_ACQUIRE(&recorder->faults_counted) &&
		    of_thread(recorder->slot->thread_id, &faults))
			add(recorder, faults);
	pthread_mutex_unlock(&session->lock);
}
