/* The texts that an anonymised trace may have as they are, each with the reason: the allow-list. */
#ifndef EPPROF_RUNTIME_ANONYMIZE_ALLOWED_H
#define EPPROF_RUNTIME_ANONYMIZE_ALLOWED_H

#include <stdbool.h>
#include <stddef.h>

enum allowed_use {
	ALLOWED_NAME,  /* of an event */
	ALLOWED_TRACK, /* of a track */
	/* Keys of args, by what becomes of the value; a value of another form is left out. */
	ALLOWED_NUMBER,   /* a number, which is kept */
	ALLOWED_JOIN,     /* a number that joins events: replaced if it is large */
	ALLOWED_ID,       /* of a weight: the id of an event, replaced as ids are */
	ALLOWED_WEIGHT,   /* the number of a weight */
	ALLOWED_SIZE,     /* a number that depends on shapes: rounded with them */
	ALLOWED_OPERATOR, /* a text: a word, or a standard operator's name */
	ALLOWED_PROVIDER, /* a text: a word, or ALLOWED_PROVIDER_NAME */
	ALLOWED_WORK,     /* a text: ALLOWED_WORK_NAME */
	ALLOWED_SHAPES,   /* a text of numbers, signs and ALLOWED_TYPE */
	ALLOWED_PROVIDER_NAME,
	ALLOWED_WORK_NAME,
	ALLOWED_TYPE, /* of elements, in shapes */
	ALLOWED_USE_COUNT
};
#define ALLOWED_IS_KEY(use) ((use) >= ALLOWED_NUMBER && (use) <= ALLOWED_SHAPES)

struct allowed {
	enum allowed_use use;
	const char *text;
	const char *reason;
};

extern const struct allowed allowed_texts[];
extern const size_t allowed_count;

/* Finds a text for a use; NULL: it is not on the list. */
const struct allowed *allowed_find(enum allowed_use use, const char *text, size_t bytes);
/* Finds a key; NULL: it is not on the list. */
const struct allowed *allowed_key(const char *text, size_t bytes);
/* Returns the standard ONNX operator with this name; NULL: there is none. */
const char *allowed_operator(const char *text, size_t bytes);

#endif
