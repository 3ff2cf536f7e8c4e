/* Sends the messages of an export to an HTTP server. */
#ifndef EPPROF_CLI_SHARED_POST_H
#define EPPROF_CLI_SHARED_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"

struct post;

/* Returns CLI_OK, or CLI_USAGE after it has reported that this system cannot send. */
int post_check(const struct cli_command *command);
/* Prepares sending; nothing is sent yet.
 * `url` is http://HOST[:PORT][/PATH]; the port is 4318 and the path /v1/traces by default.  `is_protobuf`: a message is
 * a field of protobuf, else a line of JSON.  `limit_ns`: time limit for connecting, sending and the response together,
 * for each message; looking up the name of a host is not included.
 * Errors: EPP_INVALID_ARGUMENT (the URL is of another form), EPP_OUT_OF_MEMORY.  Ownership: destroyed by the caller. */
epp_status *post_create(const char *url, bool is_protobuf, int64_t limit_ns, struct post **post) EPP_MUST_CHECK;
void post_destroy(struct post *post);

/* An epp_sink_fn, which gets the bytes of the export in pieces of any size.  Sends each message when it is complete, in
 * a connection of its own.  The first failure ends the export. */
size_t post_write(const void *bytes, size_t count, void *post);
/* Returns why a write has failed; NULL: none has failed.  Errors: EPP_IO. */
epp_status *post_status(struct post *post) EPP_MUST_CHECK;

#endif
