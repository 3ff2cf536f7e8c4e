/* The file of a control socket: FOLDER/epprof-PID.sock, with mode 0600. FOLDER is that of EPPROF_CONTROL=/FOLDER or,
 * with EPPROF_CONTROL=1, XDG_RUNTIME_DIR or else /tmp/epprof-UID, which is created. It must belong to the user of the
 * process, be no link, and give no rights to others. */
#ifndef EPPROF_RUNTIME_CONTROL_SOCKET_FILE_H
#define EPPROF_RUNTIME_CONTROL_SOCKET_FILE_H

#include <sys/un.h>

struct socket_file {
	struct sockaddr_un address;
};

/* Creates the socket of this process and listens on it. A file of the same name that nobody listens on is replaced: an
 * earlier process had the same pid. Returns the descriptor, or -1: EPPROF_CONTROL does not ask for it, or there is no
 * suitable folder. */
int socket_file_open(struct socket_file *file);

void socket_file_remove(const struct socket_file *file);

#endif
