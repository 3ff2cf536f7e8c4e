/* A value of ONNX Runtime's, a text, as an arg; and whether a text is the one that it was, since most are.
 *
 * A whole number, written as one, is kept as a number, which is smaller and comes out as the same text. */
#ifndef EPPROF_BRIDGES_ORT_VALUE_H
#define EPPROF_BRIDGES_ORT_VALUE_H

#include <string.h>

#include "ort.h"

#define USUAL(condition) __builtin_expect(!!(condition), 1)
#define NOINLINE __attribute__((noinline))

#define VALUE_BEGINNING_BYTES 16u

struct ort_value {
	char text[128];   /* with its end, if it is kept */
	uint64_t mask[2]; /* what of its beginning it fills */
	uint64_t is_lost; /* not kept: too long, or not there */
	bool is_longer;   /* than its beginning */
	bool is_present;
	uint8_t place; /* for its owner */
	epp_arg arg;   /* its text is the one here, or the one that was given if that is too long */
};

#define VALUE_PAGE_BYTES_MIN 4096u

/* False: it is not to be had.  Bytes that begin in a text and do not leave its page can be read, whatever is behind its end. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("address", "thread")))
#else
__attribute__((always_inline))
#endif
static inline bool
ort_value_beginning(const char *text, uint64_t beginning[2])
{
	if (((uintptr_t)text & (VALUE_PAGE_BYTES_MIN - 1)) > VALUE_PAGE_BYTES_MIN - VALUE_BEGINNING_BYTES)
		return false;
	__builtin_memcpy(beginning, text, VALUE_BEGINNING_BYTES);
	return true;
}

static inline __attribute__((always_inline)) bool ort_value_is(const struct ort_value *value, const char *text)
{
	uint64_t beginning[2], kept[2];
	if (!USUAL(ort_value_beginning(text, beginning)))
		return !value->is_lost && !strcmp(text, value->text);
	memcpy(kept, value->text, sizeof(kept));
	if (!USUAL(!(((beginning[0] ^ kept[0]) & value->mask[0]) | ((beginning[1] ^ kept[1]) & value->mask[1]) |
	             value->is_lost)))
		return false;
	return !value->is_longer || !strcmp(text + sizeof(beginning), value->text + sizeof(beginning));
}

/* "0" and "-17" as a number, but not "007", "+1" or what is too large to come out again.  Returns the text's bytes. */
static inline size_t ort_value_read(epp_arg *arg, const char *text)
{
	const char *digits = text + (text[0] == '-'), *at = digits;
	uint64_t value = 0;
	for (unsigned digit; (digit = (unsigned)(*at - '0')) <= 9; at++)
		value = value * 10 + digit;
	size_t count = (size_t)(at - digits);
	if (*at == 0 && count - 1 < 18 && (digits[0] != '0' || (count == 1 && digits == text))) {
		arg->type = EPP_ARG_I64;
		arg->value.i64 = digits == text ? (int64_t)value : -(int64_t)value;
		return (size_t)(at - text);
	}
	arg->type = EPP_ARG_TEXT;
	arg->value.text = text;
	return arg->text_bytes = (size_t)(at - text) + strlen(at);
}

/* There is none. */
static inline void ort_value_clear(struct ort_value *value)
{
	value->is_present = false;
	value->is_lost = true;
}

static inline void ort_value_set(struct ort_value *value, const char *text)
{
	static const uint8_t masks[2 * VALUE_BEGINNING_BYTES] = { 255, 255, 255, 255, 255, 255, 255, 255,
		                                                  255, 255, 255, 255, 255, 255, 255, 255 };
	size_t whole = ort_value_read(&value->arg, text) + 1;
	value->is_present = true;
	value->is_lost = whole > sizeof(value->text);
	if (value->is_lost)
		return;
	value->is_longer = whole > VALUE_BEGINNING_BYTES;
	memcpy(value->text, text, whole);
	if (value->arg.type == EPP_ARG_TEXT)
		value->arg.value.text = value->text;
	memcpy(value->mask, &masks[value->is_longer ? 0 : VALUE_BEGINNING_BYTES - whole], sizeof(value->mask));
}

#endif
