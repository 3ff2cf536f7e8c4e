/* Finds the profile that ONNX Runtime writes among the open files of the process: see ort_profile.h. */
#include "ort_profile.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epprof/ep_push.h"
#include "ort_copies.h"

#define HEAD_BYTES (1u << 20) /* the first events of a profile are in this part of the file */
#define PART_BYTES (1 << 16)
#define RECORD_BEGINS "{\"cat\" : \""

void ort_profile_init(struct ort_profile *profile)
{
	*profile = (struct ort_profile){ 0 };
}

void ort_profile_take(struct ort_profile *profile, int64_t start_us, int64_t duration_us, int64_t unix_us)
{
	if (__atomic_load_n(&profile->times_count, __ATOMIC_RELAXED) >= ORT_PROFILE_TIMES)
		return;
	uint32_t index = __atomic_fetch_add(&profile->times_count, 1, __ATOMIC_RELAXED);
	if (index < ORT_PROFILE_TIMES)
		profile->times[index] = (struct ort_profile_times){ start_us, duration_us };
	__atomic_store_n(&profile->unix_us, unix_us, __ATOMIC_RELAXED);
}

/* ---- candidates ---- */

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t end_length = strlen(end);
	return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* Returns true if a descriptor may be that of the profile: a regular file *.json that is open for writing and has at
 * most two bytes, because ONNX Runtime has written "[\n" at most.  Other files of the process are not opened, because
 * closing a second descriptor of a file releases the locks that the process has on it. */
static bool is_candidate(int fd, const char *self)
{
	struct stat about;
	char target[4096];
	ssize_t bytes = readlink(self, target, sizeof(target));
	return bytes > 0 &&
	       (ends_with(target, (size_t)bytes, ".json") || ends_with(target, (size_t)bytes, ".json (deleted)")) &&
	       fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= 2 &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

void ort_profile_open(struct ort_profile *profile)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	profile->pid = getpid();
	while (folder && profile->fds_count < ORT_PROFILE_CANDIDATES && (entry = readdir(folder))) {
		char self[sizeof("/proc/self/fd/") + sizeof(entry->d_name)];
		snprintf(self, sizeof(self), "/proc/self/fd/%s", entry->d_name);
		if (entry->d_name[0] == '.' || !is_candidate((int)strtol(entry->d_name, NULL, 10), self))
			continue;
		int fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0)
			profile->fds[profile->fds_count++] = fd;
	}
	if (folder)
		closedir(folder);
}

void ort_profile_close(struct ort_profile *profile)
{
	for (size_t i = 0; i < profile->fds_count; i++)
		if (profile->fds[i] >= 0)
			close(profile->fds[i]);
	profile->fds_count = 0;
}

/* ---- identifying the profile ---- */

/* Reads up to `room` bytes from `offset`, and adds a NUL. */
static size_t read_part(int fd, off_t offset, char *bytes, size_t room)
{
	size_t count = 0;
	ssize_t got = 1;
	while (count < room && got > 0) {
		got = pread(fd, bytes + count, room - count, offset + (off_t)count);
		count += got > 0 ? (size_t)got : 0;
	}
	bytes[count] = 0;
	return count;
}

/* Returns true if the file's first HEAD_BYTES bytes have all events whose times are in profile->times.  ONNX Runtime
 * always writes times in the form that is searched. */
static bool is_profile(const struct ort_profile *profile, int fd, char *head)
{
	uint32_t count = profile->times_count < ORT_PROFILE_TIMES ? profile->times_count : ORT_PROFILE_TIMES;
	size_t bytes = read_part(fd, 0, head, HEAD_BYTES);
	bool is = count > 0;
	for (uint32_t i = 0; i < count && is; i++) {
		char times[96];
		int length = snprintf(times, sizeof(times),
		                      ",\"dur\" :%lld,\"ts\" :%lld,\"ph\" :", (long long)profile->times[i].duration_us,
		                      (long long)profile->times[i].start_us);
		is = memmem(head, bytes, times, (size_t)length) != NULL;
	}
	return is;
}

/* Returns true if the file ends with the end of the array. */
static bool is_complete(int fd)
{
	char end[9];
	struct stat about;
	if (fstat(fd, &about) < 0 || about.st_size < 8)
		return false;
	read_part(fd, about.st_size - 8, end, 8);
	return strstr(end, "\n]") != NULL;
}

bool ort_profile_find(const struct ort_profile *profile, char path[ORT_PROFILE_PATH_BYTES], bool *is_whole)
{
	char *head = profile->pid == getpid() ? malloc(HEAD_BYTES + 1) : NULL;
	bool found = false;
	for (size_t i = 0; i < profile->fds_count && head && !found; i++) {
		found = is_profile(profile, profile->fds[i], head);
		if (!found)
			continue;
		snprintf(path, ORT_PROFILE_PATH_BYTES, "/proc/self/fd/%d", profile->fds[i]);
		*is_whole = is_complete(profile->fds[i]);
	}
	free(head);
	return found;
}

void ort_profile_settle(struct ort_profile *profile)
{
	char *head = profile->fds_count > 1 && profile->pid == getpid() ? malloc(HEAD_BYTES + 1) : NULL;
	for (size_t i = 0; i < profile->fds_count && head; i++) {
		if (!is_profile(profile, profile->fds[i], head))
			continue;
		int fd = profile->fds[i];
		profile->fds[i] = profile->fds[0];
		profile->fds[0] = -1;
		ort_profile_close(profile);
		profile->fds[0] = fd;
		profile->fds_count = 1;
	}
	free(head);
}

/* ---- events of EPs in the profile ---- */

/* Returns true if a record is an event of an EP or of a hosted plugin. */
static bool is_of_ep(const char *record)
{
	return strstr(record, RECORD_BEGINS "Kernel\"") || strstr(record, "\",\"pid\" :-") ||
	       strstr(record, "\"ort_correlation_id\"");
}

/* Returns true if the collector has got this event from the EP or from a hosted plugin. */
static bool is_in_trace(const char *record)
{
	return strstr(record, "\"" EPPROF_RECORDED_KEY "\"") || strstr(record, "\"" ORT_HOSTED_KEY "\"");
}

/* Checks the records that begin in a part of the profile.  *has_missing: one is an event of an EP that the collector
 * did not get.  *has_others: one is an event that it did get.  A zero byte in a name ends the check. */
static void check_records(char *record, bool *has_missing, bool *has_others)
{
	for (char *next; record && !*has_missing; record = next) {
		next = strstr(record + 1, "\n" RECORD_BEGINS);
		if (next)
			*next++ = 0;
		if (is_in_trace(record))
			*has_others = true;
		else
			*has_missing = is_of_ep(record);
	}
}

bool ort_profile_has_kernels(const char *path)
{
	struct stat about;
	char *part = malloc(PART_BYTES + 1);
	int fd = part ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	off_t end = fd >= 0 && fstat(fd, &about) == 0 ? about.st_size : 0;
	bool is_found = false, has_others = true;
	/* Reads the file backwards, past events that the trace has already. */
	while (end > 0 && has_others && !is_found) {
		off_t start = end > PART_BYTES ? end - PART_BYTES : 0;
		read_part(fd, start, part, (size_t)(end - start));
		char *first = strstr(part, RECORD_BEGINS);
		/* This part may begin within a record.  The next part to read ends where the first whole record of this
		 * part begins. */
		end = start + (first ? first - part : 0);
		has_others = false;
		check_records(first, &is_found, &has_others);
	}
	if (fd >= 0)
		close(fd);
	free(part);
	return is_found;
}
