/* A trace's definitions: its tracks, and those of the process's names that its file does not contain yet.
 *
 * Each new definition is appended to the window's log at once (storage/window/definition_log.h). The drain writes new
 * ones into a block and empties the log. A full log only means that new definitions are not protected from a kill until
 * the next drain: the drain uses the tables, not the log. */
#ifndef EPPROF_RUNTIME_STORAGE_DEFINITIONS_H
#define EPPROF_RUNTIME_STORAGE_DEFINITIONS_H

#include "base/name.h"
#include "storage/window/definition_log.h"

#define DEFINITIONS_TRACKS_MAX 4096u /* without the tracks of threads */

struct storage;
struct track;

/* Under the lock of struct storage, except where stated. */
struct definitions {
	STAILQ_HEAD(, track) tracks_new; /* not in a block yet */
	struct track **tracks;  /* hash of all tracks except threads'; it only grows and is read without the lock */
	uint32_t tracks_count;  /* entries in the hash */
	uint32_t tracks_end;    /* one past the largest number */
	uint32_t clocks_end;    /* the largest number of a clock */
	epp_name names_written; /* one past the largest name that is in a block; under the drain lock, as is the next */
	bool is_due;            /* the last attempt to write definitions failed */
	struct name_listener names;
	struct definition_log log;
};

/* Starts to follow the process's names; the log of the window gets the existing ones too. The log's lock is initialized
 * already. */
void definitions_init(struct definitions *definitions, struct window *window);

/* Stops following names. Called before the window is closed. */
void definitions_end_names(struct definitions *definitions);

/* Frees the tracks. */
void definitions_deinit(struct definitions *definitions);

/* Adds a track; the lock is held. Fills in track->track and the lengths. 0: no memory or no room. */
uint32_t definitions_add_track(struct definitions *definitions, struct epf_track *track, const char *name,
                               const char *group);

/* As definitions_add_track, for a thread that records its own events: its description is not kept. */
uint32_t definitions_add_thread(struct definitions *definitions, struct epf_track *track, const char *name);

/* Returns the description of a track that definitions_add_track added, or NULL.  Thread: [any-thread]. */
const struct epf_track *definitions_track(const struct definitions *definitions, uint32_t track);

/* Writes new definitions, if any, as definition blocks and empties the log; the drain lock is held. Returns 0 or
 * errno. */
int definitions_drain(struct storage *storage);

#endif
