/* The allow-list: texts that an anonymised trace may contain unchanged, each with the reason. */
#ifndef EPPROF_RUNTIME_ANONYMIZE_ALLOWED_H
#define EPPROF_RUNTIME_ANONYMIZE_ALLOWED_H

#include <stdbool.h>
#include <stddef.h>

enum allowed_use {
	ALLOWED_NAME,  /* name of an event */
	ALLOWED_TRACK, /* name of a track */
	/* The uses from here to ALLOWED_SHAPES are keys of args, by the type of the arg's value and its replacement.  A
	 * value of another type is left out. */
	ALLOWED_NUMBER,   /* a number, which is kept */
	ALLOWED_JOIN,     /* a number that joins events: replaced if it is large */
	ALLOWED_ID,       /* in the instant that gives the weight of an event: the id of the event, replaced as other
	                     ids are */
	ALLOWED_BUDGET,   /* in the instants that a budget for overhead records: a number, which is kept */
	ALLOWED_SIZE,     /* a number that depends on shapes; rounded if shapes are rounded */
	ALLOWED_OPERATOR, /* a text: the name of a standard operator is kept, others become a word */
	ALLOWED_PROVIDER, /* a text: an ALLOWED_PROVIDER_NAME is kept, others become a word */
	ALLOWED_WORK,     /* a text: an ALLOWED_WORK_NAME is kept, "*_driver" becomes other_driver, others are left
	                     out */
	ALLOWED_STEP,   /* in the instants that a budget for overhead records: an ALLOWED_STEP_NAME is kept, others are
	                     left out */
	ALLOWED_SHAPES, /* a text that consists of numbers, signs and texts with ALLOWED_TYPE */
	ALLOWED_PROVIDER_NAME,
	ALLOWED_WORK_NAME,
	ALLOWED_STEP_NAME,
	ALLOWED_TYPE, /* type of a tensor's elements, in shapes */
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

/* Finds an entry by its text and use; NULL: it is not on the list. */
const struct allowed *allowed_find(enum allowed_use use, const char *text, size_t bytes);
/* Finds the entry of an arg's key; NULL: it is not on the list. */
const struct allowed *allowed_key(const char *text, size_t bytes);
/* Returns the standard ONNX operator with this name; NULL: there is none. */
const char *allowed_operator(const char *text, size_t bytes);

#endif
