/* Declarations shared by the files of epprof ctl.
 *
 * A recording process listens on a socket in a folder of its user.  The protocol is in docs/control.md. */
#ifndef EPPROF_CLI_CTL_CTL_H
#define EPPROF_CLI_CTL_CTL_H

#include "cli/cli.h"

/* ---- ctl_socket.c: the sockets of recording processes ---- */

struct ctl_socket {
	char path[108];
	long long pid;
};

struct ctl_sockets {
	struct ctl_socket *items; /* sorted by pid */
	size_t count;
};

/* Finds the sockets in the folder of EPPROF_CONTROL or, if that names none, in the folders of this user: that of
 * XDG_RUNTIME_DIR, /run/user/UID and /tmp/epprof-UID.  Folders that others can write to are ignored.  Sockets of
 * processes that have ended are left out; if `removes` is set, they are deleted.  Released by ctl_sockets_deinit.
 * Errors: EPP_OUT_OF_MEMORY. */
epp_status *ctl_sockets_find(struct ctl_sockets *sockets, bool removes) EPP_MUST_CHECK;
void ctl_sockets_deinit(struct ctl_sockets *sockets);

/* ---- ctl_request.c: a request and its answer ---- */

#define CTL_FIELDS_MAX 16

/* A line of an answer; the texts belong to the answer. */
struct ctl_line {
	const char *fields[CTL_FIELDS_MAX]; /* for example "ok", or "session=1" */
	size_t count;
};

struct ctl_answer {
	char *text;
	struct ctl_line *lines; /* at least one; the first begins with "ok" */
	size_t count;
};

/* Sends a request, without its line end, and waits for the answer, at most `timeout_s`.  Released by ctl_answer_deinit,
 * also after a failure.  Errors: EPP_NOT_FOUND (no process listens), EPP_TIMEOUT, EPP_IO, EPP_WRONG_STATE (the process
 * rejects the request; the message has its reason), EPP_OUT_OF_MEMORY. */
epp_status *ctl_request(const struct ctl_socket *to, const char *request, int timeout_s, struct ctl_answer *answer)
    EPP_MUST_CHECK;
void ctl_answer_deinit(struct ctl_answer *answer);

/* Returns the value of a field NAME=VALUE; "": the line has no such field. */
const char *ctl_field(const struct ctl_line *line, const char *name);
/* As ctl_field, for a number; 0: the value is no number. */
uint64_t ctl_number(const struct ctl_line *line, const char *name);

/* ---- ctl_status.c: list and status ---- */

/* Returns the number of events that a session has recorded, without those that were lost.  `line` is the session's line
 * in the answer to the request "status". */
uint64_t ctl_kept_events(const struct ctl_line *line);

/* Print the sessions of all processes, or the figures of one session, as a table or as JSON.  Return an enum
 * cli_exit. */
int ctl_list(const struct ctl_sockets *sockets, bool is_json);
int ctl_status(const struct ctl_socket *socket, bool is_json);

/* ---- ctl_snapshot.c ---- */

struct ctl_snapshot {
	const char *output;
	int64_t last_ns;   /* INT64_MAX: the whole trace */
	long long session; /* number of the session; 0: the only session of the process that writes a file */
	bool force;
};

/* Writes the events of the last `last_ns` in the trace of a session into a new trace.  Returns an enum cli_exit. */
int ctl_snapshot(const struct ctl_socket *socket, const struct ctl_snapshot *snapshot);

#endif
