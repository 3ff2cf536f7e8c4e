/* A value of ONNX Runtime's, a text: as an arg, and compared with one that is kept.
 *
 * A whole number, written as one, is kept as a number, which is smaller and comes out as the same text. */
#ifndef EPPROF_BRIDGES_ORT_VALUE_H
#define EPPROF_BRIDGES_ORT_VALUE_H

#include <string.h>

#include "ort.h"

#define USUAL(condition) __builtin_expect(!!(condition), 1)
#define NOINLINE __attribute__((noinline))

/* The beginning of a text that is kept, zeros behind its end, and how many bytes of it count, its own zero among them. */
#define VALUE_BEGINNING_BYTES 16u
#define VALUE_IS_LONGER 0xffu
struct ort_beginning {
	uint64_t words[2];
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

/* The lowest `count` bytes of a word. */
static inline uint64_t ort_value_mask(unsigned count)
{
	return count >= 8 ? ~0ull : ~(~0ull << count * 8);
}

/* Whether a text is the kept one, whose whole is `kept`. */
static inline __attribute__((always_inline)) bool ort_value_is(const struct ort_beginning *beginning, uint8_t bytes,
                                                               const char *kept, const char *text)
{
	uint64_t words[2];
	if (!USUAL(ort_value_beginning(text, words)))
		return !strcmp(text, kept);
	if (!USUAL(!(((words[0] ^ beginning->words[0]) & ort_value_mask(bytes)) |
	             ((words[1] ^ beginning->words[1]) & (bytes > 8 ? ort_value_mask(bytes - 8u) : 0)))))
		return false;
	return bytes != VALUE_IS_LONGER || !strcmp(text + sizeof(words), kept + sizeof(words));
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

#endif
