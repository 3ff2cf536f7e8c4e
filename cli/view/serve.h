/* A small HTTP server for one user of this machine: it serves a few files to a browser that has the token in their
 * URL.
 *
 * It listens on 127.0.0.1 only, at a port that the system chooses.  It answers GET and HEAD, one request a connection;
 * a request without the token, or with another host in its header (a DNS name that points to 127.0.0.1), gets the same
 * response as a missing file.  One thread serves all connections concurrently; each has a limit in size and time. */
#ifndef EPPROF_CLI_VIEW_SERVE_H
#define EPPROF_CLI_VIEW_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

struct served_file {
	const char *name;  /* path after the token: "" or "trace" */
	const char *type;  /* value of Content-Type */
	const char *bytes; /* the content; NULL: it is in the file `fd` */
	int fd;
	uint64_t count;     /* size of the content in bytes */
	const char *policy; /* value of Content-Security-Policy; may be NULL */
};

#define SERVER_URL_BYTES 96
#define SERVER_TOKEN_BYTES 33 /* hexadecimal digits and a NUL */

struct server {
	int fd;
	uint16_t port;
	char token[SERVER_TOKEN_BYTES];
	const char *origin; /* origin of pages that may read the files (CORS); NULL: none */
	const struct served_file *files;
	size_t files_count;
};

/* Opens the server: chooses the token and listens on a port.  Ownership: `files` and `origin` are borrowed until
 * server_close.  Errors: EPP_IO. */
epp_status *server_open(struct server *server, const struct served_file *files, size_t files_count, const char *origin)
    EPP_MUST_CHECK;
/* Writes the URL of the first file into `url`.  Returns `url`. */
const char *server_url(const struct server *server, char url[SERVER_URL_BYTES]);
/* Serves until *stop is not zero.  Errors: EPP_IO. */
epp_status *server_run(struct server *server, const volatile int *stop) EPP_MUST_CHECK;
void server_close(struct server *server);

#endif
