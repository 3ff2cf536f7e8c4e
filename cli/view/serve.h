/* A small HTTP server for one reader on this machine: a few files, to a browser that knows the token in their address.
 *
 * It listens on 127.0.0.1 alone, at a port of the system's choice.  It answers GET and HEAD, one request a connection; a
 * request without the token, or addressed to another host (a name that was made to lead here), gets what a missing file
 * gets.  Connections are served side by side from one thread; each has a limit in size and time. */
#ifndef EPPROF_CLI_VIEW_SERVE_H
#define EPPROF_CLI_VIEW_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

struct served_file {
	const char *name; /* behind the token: "", "trace" */
	const char *type;
	const char *bytes; /* NULL: it is in `fd` */
	int fd;
	uint64_t count;
	const char *policy; /* Content-Security-Policy; may be NULL */
};

#define SERVER_URL_BYTES 96
#define SERVER_TOKEN_BYTES 33 /* hexadecimal */

struct server {
	int fd;
	uint16_t port;
	char token[SERVER_TOKEN_BYTES];
	const char *origin; /* of whom a browser may let in; NULL: nobody */
	const struct served_file *files;
	size_t files_count;
};

/* Ownership: the files stay the caller's.  Errors: EPP_IO. */
epp_status *server_open(struct server *server, const struct served_file *files, size_t files_count, const char *origin)
    EPP_MUST_CHECK;
/* Where the first file is.  Returns `url`. */
const char *server_url(const struct server *server, char url[SERVER_URL_BYTES]);
/* Serves until `*stop` is not 0.  Errors: EPP_IO. */
epp_status *server_run(struct server *server, const volatile int *stop) EPP_MUST_CHECK;
void server_close(struct server *server);

#endif
