/* The keys of one JSON object as they are written, so that none stands twice: args may repeat a key, or use one of ours. */
#ifndef EPPROF_EXPORT_MEMBERS_H
#define EPPROF_EXPORT_MEMBERS_H

#include "export/sink.h"

/* Keys beyond these are numbered without being compared. */
#define MEMBERS_COMPARED 256u

struct members {
	struct sink *sink;
	unsigned count;
	struct {
		const char *text;
		size_t bytes;
	} keys[MEMBERS_COMPARED];
};

/* Writes `"key"`; one that was there before gets a number behind it: `"key#2"`.
 * Ownership: `key` must stay until the object is done. */
void members_key(struct members *members, const char *key, size_t bytes);
/* The same for a key that the caller writes. */
void members_note(struct members *members, const char *key, size_t bytes);
bool members_has(const struct members *members, const char *key);

#endif
