/* A session's definitions: its tracks, and the part of the process's names that its file does not have yet.
 *
 * Each new definition goes into the window's log at once (storage/window/definition_log.h); the drain moves what is new into a block and empties
 * the log.  A full log loses nothing but its protection for the moment: the drain goes by the tables, not by the log. */
#ifndef EPPROF_RUNTIME_RECORD_TRACKS_H
#define EPPROF_RUNTIME_RECORD_TRACKS_H

#include "record/session.h"

/* Adds a track; session->lock is held.  Fills in track->track and the lengths.  0: no memory or no room. */
uint32_t tracks_add(struct session *session, struct epf_track *track, const char *name, const char *group);

/* The same for a thread that records its own events: its description is not kept. */
uint32_t tracks_add_recorder(struct session *session, struct epf_track *track, const char *name);

/* The description of a track, or NULL. */
const struct epf_track *tracks_get(const struct session *session, uint32_t track);

/* Begins to follow the process's names (the log gets those there are). */
void tracks_names_begin(struct session *session);
void tracks_names_end(struct session *session);

/* Writes what is new, if anything is, as definition blocks and empties the log; the drain lock is held.  Returns 0 or
 * errno. */
int tracks_drain(struct session *session);

/* Frees the table. */
void tracks_free(struct session *session);

#endif
