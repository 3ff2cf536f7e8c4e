/* An event whose JSON is as nearly all are: no text has anything escaped, and nothing is nested but its args, and
 * what is nested in them is ASCII.  Such a one is read by a scan that knows just that, several times as fast as a parser that keeps
 * its state between any two bytes; everything else is that one's. */
#ifndef EPPROF_IMPORT_JSON_PLAIN_H
#define EPPROF_IMPORT_JSON_PLAIN_H

#include "import/event.h"

#define JSON_PLAIN_MEMBERS 32

/* What stood between two values, with the key of the second. */
struct json_guess {
	uint64_t eights[2], masks[2];
	unsigned bytes; /* 0: nothing yet */
	unsigned member;
};

/* What is remembered from event to event; zeros at first. */
struct json_plain {
	struct json_guess behind[JSON_PLAIN_MEMBERS]; /* each member, by its bit's number + 1; 0: an event's beginning */
};

/* Reads the object that begins here or behind blanks, and the comma behind it; returns how many bytes that is.  0: it is not all here, or
 * not plain, or not JSON, or the last one; `event` then holds anything. */
size_t json_plain_read(struct json_plain *plain, struct event *event, const char *bytes, size_t count);

#endif
