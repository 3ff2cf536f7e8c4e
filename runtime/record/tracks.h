/* A session's definitions: its tracks, and those of the process's names that its file does not contain yet.
 *
 * Each new definition is appended to the window's log at once (storage/window/definition_log.h). The drain writes new
 * ones into a block and empties the log. A full log only means that new definitions are not protected from a kill until
 * the next drain: the drain uses the tables, not the log. */
#ifndef EPPROF_RUNTIME_RECORD_TRACKS_H
#define EPPROF_RUNTIME_RECORD_TRACKS_H

#include "record/session.h"

/* Adds a track; session->lock is held. Fills in track->track and the lengths. 0: no memory or no room. */
uint32_t tracks_add(struct session *session, struct epf_track *track, const char *name, const char *group);

/* As tracks_add, for a thread that records its own events: its description is not kept. */
uint32_t tracks_add_recorder(struct session *session, struct epf_track *track, const char *name);

/* Returns the description of a track, or NULL. */
const struct epf_track *tracks_get(const struct session *session, uint32_t track);

/* Starts to follow the process's names; the log gets the existing ones too. */
void tracks_names_begin(struct session *session);
void tracks_names_end(struct session *session);

/* Writes new definitions, if any, as definition blocks and empties the log; the drain lock is held. Returns 0 or
 * errno. */
int tracks_drain(struct session *session);

/* Frees the table. */
void tracks_free(struct session *session);

#endif
