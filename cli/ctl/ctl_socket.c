/* Finds the control sockets of this user's processes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl.h"

#define FOLDERS_MAX 4
#define FOLDER_BYTES 108

struct folders {
	char paths[FOLDERS_MAX][FOLDER_BYTES];
	size_t count;
};

static void add_folder(struct folders *folders, const char *path)
{
	if (!path || path[0] != '/' || strlen(path) >= FOLDER_BYTES)
		return;
	for (size_t i = 0; i < folders->count; i++)
		if (strcmp(folders->paths[i], path) == 0)
			return;
	snprintf(folders->paths[folders->count++], FOLDER_BYTES, "%s", path);
}

static void find_folders(struct folders *folders)
{
	const char *setting = secure_getenv("EPPROF_CONTROL");
	char path[FOLDER_BYTES];

	add_folder(folders, setting);
	/* A user who names a folder means the programs that were given the same one. */
	if (folders->count)
		return;
	add_folder(folders, secure_getenv("XDG_RUNTIME_DIR"));
	snprintf(path, sizeof path, "/run/user/%u", (unsigned)geteuid());
	add_folder(folders, path);
	snprintf(path, sizeof path, "/tmp/epprof-%u", (unsigned)geteuid());
	add_folder(folders, path);
}

/* Returns true if only this user can create sockets in the folder.  Root may use the folders of other users. */
static bool is_private(const char *folder)
{
	struct stat st;

	return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_uid == geteuid() || geteuid() == 0) &&
	       !(st.st_mode & 077);
}

/* Returns true if no process listens on the socket. */
static bool is_stale(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	bool is_refused = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0 &&
	                  errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return is_refused;
}

static bool add_socket(struct ctl_sockets *sockets, const struct ctl_socket *socket)
{
	struct ctl_socket *items = reallocarray(sockets->items, sockets->count + 1, sizeof *items);

	if (!items)
		return false;
	sockets->items = items;
	items[sockets->count++] = *socket;
	return true;
}

/* Adds the sockets in a folder.  Returns false if there is no memory. */
static bool scan(const char *folder, struct ctl_sockets *sockets, bool removes)
{
	DIR *open = is_private(folder) ? opendir(folder) : NULL;
	bool has_memory = true;

	for (struct dirent *entry; open && has_memory && (entry = readdir(open));) {
		struct ctl_socket found = { .pid = 0 };
		struct stat st;
		int length = 0;
		if (sscanf(entry->d_name, "epprof-%lld.sock%n", &found.pid, &length) != 1 || length <= 0 ||
		    entry->d_name[length] ||
		    (size_t)snprintf(found.path, sizeof found.path, "%s/%s", folder, entry->d_name) >= sizeof found.path)
			continue;
		if (fstatat(dirfd(open), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(st.st_mode))
			continue;
		if (!is_stale(found.path))
			has_memory = add_socket(sockets, &found);
		else if (removes)
			unlinkat(dirfd(open), entry->d_name, 0);
	}
	if (open)
		closedir(open);
	return has_memory;
}

static int by_pid(const void *a, const void *b)
{
	const struct ctl_socket *left = a, *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

epp_status *ctl_sockets_find(struct ctl_sockets *sockets, bool removes)
{
	struct folders folders = { .count = 0 };
	bool has_memory = true;

	*sockets = (struct ctl_sockets){ 0 };
	find_folders(&folders);
	for (size_t i = 0; i < folders.count && has_memory; i++)
		has_memory = scan(folders.paths[i], sockets, removes);
	if (!has_memory) {
		ctl_sockets_deinit(sockets);
		return epp_status_no_memory();
	}
	if (sockets->count)
		qsort(sockets->items, sockets->count, sizeof *sockets->items, by_pid);
	return NULL;
}

void ctl_sockets_deinit(struct ctl_sockets *sockets)
{
	free(sockets->items);
	*sockets = (struct ctl_sockets){ 0 };
}
