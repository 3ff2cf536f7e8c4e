/* The process's names: each text is interned once and has a permanent number. Lists of args that many events share
 * (epp_args_intern) are in the same table, as bytes.
 *
 * The table only grows, in blocks that never move, and a number is returned only after its text is complete. Reading a
 * text therefore needs no lock. Interning takes one lock. A session registers its `name_listener` under the same lock:
 * the listener is called for all existing names first and then for each new one, so that no name is missed. */
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
	const char *text; /* NUL-terminated; may contain NUL bytes */
	uint32_t bytes;
	bool is_args; /* the bytes are struct epf_arg slots, with the same layout as behind a record */
};

/* Returns the text of a name. Names 1 to EPF_NAME_FIRST_FREE - 1 are reserved (format/format.h); interning returns none
 * of these except "" and "(name lost)". */
struct name_text name_get(epp_name name);

/* Interns args and returns their number; 0: no memory. `slots` has at most EPF_NAME_BYTES_MAX bytes. */
epp_name name_intern_args(const void *slots, size_t bytes);

/* Shortens a text that is longer than EPF_NAME_BYTES_MAX bytes: fills `cut`, which has EPF_NAME_BYTES_MAX bytes, with
 * the first whole characters of the text and "...". Returns the length. */
static inline size_t name_cut(char *cut, const char *text)
{
	size_t bytes = EPF_NAME_BYTES_MAX - 3, least = bytes - 3;

	/* A UTF-8 character has at most three bytes after the first. */
	while (bytes > least && ((unsigned char)text[bytes] & 0xC0) == 0x80)
		bytes--;
	memcpy(cut, text, bytes);
	memcpy(cut + bytes, "...", 3);
	return bytes + 3;
}

/* Returns a hash of the text whose low bits are well distributed, for tables that use these bits as an index. */
uint64_t name_hash(const char *text, size_t bytes);

/* Returns the largest name + 1. */
epp_name name_end(void);

/* Callbacks of a session, called with the lock of names held. `added` is called for each new name, and `is_full` before
 * it. `is_full` returns true if the session has no room for a name of `bytes` bytes; the interning thread then releases
 * the lock, waits a short time and tries again. */
struct name_listener {
	LIST_ENTRY(name_listener) link;
	void (*added)(struct name_listener *self, epp_name name, struct name_text text);
	bool (*is_full)(struct name_listener *self, size_t bytes); /* may be NULL */
};

/* Calls `added` for every existing name and then for each new one, until name_listener_remove. */
void name_listener_add(struct name_listener *listener);
void name_listener_remove(struct name_listener *listener);

/* Fork handlers. The lock is held during the fork, and released in the parent and in the child. */
void name_fork_prepare(void);
void name_fork_parent(void);
void name_fork_child(void);

#endif
