/* Finds the folder of control sockets, and creates the socket of this process there. */
#include "control/socket_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_BYTES sizeof(((struct sockaddr_un *)NULL)->sun_path)
#define CLIENTS_WAITING 16

/* True if only the user of this process can create or replace files in the folder. */
static bool is_private(const char *folder)
{
	struct stat st;
	return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077);
}

/* secure_getenv: a program with more rights than its user (setuid) gets no control socket. */
static bool find_folder(char folder[FOLDER_BYTES])
{
	const char *setting = secure_getenv("EPPROF_CONTROL");
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	if (!setting || (setting[0] != '/' && strcmp(setting, "1") != 0))
		return false;
	if (setting[0] == '/')
		return (size_t)snprintf(folder, FOLDER_BYTES, "%s", setting) < FOLDER_BYTES && is_private(folder);
	if (runtime && runtime[0] == '/' && (size_t)snprintf(folder, FOLDER_BYTES, "%s", runtime) < FOLDER_BYTES &&
	    is_private(folder))
		return true;
	snprintf(folder, FOLDER_BYTES, "/tmp/epprof-%u", (unsigned)geteuid());
	return (mkdir(folder, 0700) == 0 || errno == EEXIST) && is_private(folder);
}

/* True if no process listens on the socket any more. */
static bool is_stale(const struct socket_file *file)
{
	int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool stale = probe >= 0 && connect(probe, (const struct sockaddr *)&file->address, sizeof(file->address)) != 0 &&
	             errno == ECONNREFUSED;
	if (probe >= 0)
		close(probe);
	return stale;
}

static bool bind_to(int fd, const struct socket_file *file)
{
	const struct sockaddr *address = (const struct sockaddr *)&file->address;
	if (bind(fd, address, sizeof(file->address)) == 0)
		return true;
	return errno == EADDRINUSE && is_stale(file) && unlink(file->address.sun_path) == 0 &&
	       bind(fd, address, sizeof(file->address)) == 0;
}

int socket_file_open(struct socket_file *file)
{
	char folder[FOLDER_BYTES];
	*file = (struct socket_file){ .address.sun_family = AF_UNIX };
	if (!find_folder(folder) || (size_t)snprintf(file->address.sun_path, FOLDER_BYTES, "%s/epprof-%d.sock", folder,
	                                             (int)getpid()) >= FOLDER_BYTES)
		return -1;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* The mode that the file gets from bind(2). */
	if (fd >= 0 && fchmod(fd, 0600) == 0 && bind_to(fd, file)) {
		if (listen(fd, CLIENTS_WAITING) == 0)
			return fd;
		socket_file_remove(file);
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

void socket_file_remove(const struct socket_file *file)
{
	unlink(file->address.sun_path);
}
