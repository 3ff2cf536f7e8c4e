/* The process's names: text interned once, numbers for ever.  Among them, by the same numbers, are args that many events have
 * in common (epp_args_intern), as bytes.
 *
 * A table that only grows, in blocks that never move, so that reading a text needs no lock: a number is handed out after
 * its text is in place.  Interning takes one lock, which a session's start shares: what was interned before is copied
 * into the session's file by start, what comes after reaches its log through `name_listener`, and nothing falls between.
 */
#ifndef EPPROF_RUNTIME_BASE_NAME_H
#define EPPROF_RUNTIME_BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "epprof/session.h"
#include "format/format.h"

struct name_text {
	const char *text; /* NUL-terminated; may hold zeros */
	uint32_t bytes;
	bool is_args; /* it is struct epf_arg ... as behind a record */
};

/* Names 1 to EPF_NAME_FIRST_FREE - 1 are reserved (format/format.h); interning never gives one but "" and "(name lost)". */
struct name_text name_get(epp_name name);

/* The number of args; 0: no memory.  `slots` has at most EPF_NAME_BYTES_MAX bytes. */
epp_name name_intern_args(const void *slots, size_t bytes);

/* Fills `cut`, of EPF_NAME_BYTES_MAX bytes, with the beginning of a longer text, whole characters, and "..."; returns the
 * length. */
static inline size_t name_cut(char *cut, const char *text)
{
	size_t bytes = EPF_NAME_BYTES_MAX - 3, least = bytes - 3;

	/* A character has at most three bytes behind its first. */
	while (bytes > least && ((unsigned char)text[bytes] & 0xC0) == 0x80)
		bytes--;
	memcpy(cut, text, bytes);
	memcpy(cut + bytes, "...", 3);
	return bytes + 3;
}

/* By its low bits the table is searched. */
uint64_t name_hash(const char *text, size_t bytes);

/* One past the largest name there is. */
epp_name name_end(void);

/* Told of each new name, with the names' lock held; before that asked whether a name of so many bytes had better wait a
 * little, which it does without the lock, and not for long. */
struct name_listener {
	LIST_ENTRY(name_listener) link;
	void (*added)(struct name_listener *self, epp_name name, struct name_text text);
	bool (*waits)(struct name_listener *self, size_t bytes); /* may be NULL */
};

/* Calls `added` for every name there is, then for each new one until removed. */
void name_listener_add(struct name_listener *listener);
void name_listener_remove(struct name_listener *listener);

/* Around fork: the lock is held across it, and the child's is made anew. */
void name_fork_prepare(void);
void name_fork_parent(void);
void name_fork_child(void);

#endif
