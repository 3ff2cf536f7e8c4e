/* The control socket of a recording process: `epprof ctl` sends a request to it and prints the answer.
 *
 *   server.h         the thread that serves the socket, and the protocol
 *   socket_file.h    the folder of sockets, and a socket's file
 *
 * Off by default: nothing is created unless EPPROF_CONTROL is set and the process opens a session. The socket has its
 * own thread, which blocks in accept(2) and costs nothing until a client connects: the helper thread sleeps on a futex,
 * which cannot wait for a socket at the same time, and a recorder would have to write to a descriptor to wake it.
 *
 * The protocol, over a stream socket: a client sends one line of at most CONTROL_REQUEST_BYTES bytes within a second,
 * and reads until the end of the stream. The answer has lines of fields separated by tabs; a field is NAME=VALUE, and a
 * VALUE has no control characters. The first line begins with the field "ok" or, then it is the only line, with
 * "error", followed by a text.
 *
 *   status    ok, pid, program; then a line for each session: session (its number in the process), state (recording,
 *             paused, stopped, idle, ending), time_ns (CLOCK_MONOTONIC, when the figures were read), events (recorded so
 *             far, those that were lost later included), lost (a count for each epp_loss, separated by commas), bytes (of
 *             the trace, without its window), output (the path, as the process names it; empty: in memory)
 *   pause     ok, sessions (the number of sessions that were recording)
 *   resume    ok, sessions (the number of sessions that were paused)
 *   stop      ok, sessions (the number of sessions whose trace is finished)
 *
 * Only the user of the process and root are answered (SO_PEERCRED). One client is served at a time. A client that sends
 * no line, a longer one, or does not read the answer is dropped after a second. */
#ifndef EPPROF_RUNTIME_CONTROL_SERVER_H
#define EPPROF_RUNTIME_CONTROL_SERVER_H

#include <stdio.h>

/* A path of PATH_MAX bytes, and a command in front of it. */
#define CONTROL_REQUEST_BYTES 4352

/* Creates the socket and its thread if EPPROF_CONTROL asks for them and they do not exist. A failure leaves the process
 * without a socket.  Thread: [any-thread]. */
void control_start(void);

/* At the exit of the process: waits for the request that is being answered, and removes the socket. Called without
 * locks. */
void control_end(void);

/* In a forked child: closes the parent's socket. The child's first session creates another. */
void control_fork_child(void);

/* Answers a request, without its line end. Implemented by record/control/commands.c.  Thread: the server's. */
void control_answer(const char *request, FILE *answer);

#endif
