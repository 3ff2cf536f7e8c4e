/* Classifies device events as kernel, copy in, copy out, copy or fill, by their args and names.  Names are reduced to
 * lower-case letters and digits, so "copy_in", "copyIn" and "Copy In" are equal. */
#include "timeline/events/work_kind.h"

#include <string.h>

/* Only this many characters of a name are compared. */
#define NAME_BYTES 256u

const char *const work_names[WORK_COUNT] = { "kernel", "copy in", "copy out", "copy", "fill", "runtime", "driver" };

static const struct {
	const char *word;
	enum work work;
} name_words[] = {
	{ "h2d", WORK_COPY_IN },       { "htod", WORK_COPY_IN },          { "hosttodevice", WORK_COPY_IN },
	{ "copyin", WORK_COPY_IN },    { "upload", WORK_COPY_IN },        { "d2h", WORK_COPY_OUT },
	{ "dtoh", WORK_COPY_OUT },     { "devicetohost", WORK_COPY_OUT }, { "copyout", WORK_COPY_OUT },
	{ "download", WORK_COPY_OUT }, { "memset", WORK_FILL },           { "copy", WORK_COPY },
	{ "memcpy", WORK_COPY },       { "transfer", WORK_COPY },
};

/* Internal value: the work is a copy, whose direction is in the event's name. */
#define WORK_NAMED_COPY ((enum work)(WORK_NONE + 1))

/* Values of the args `kind` and `cat`. */
static const struct {
	const char *word;
	enum work work;
} stated_words[] = {
	{ "kernel", WORK_KERNEL },    { "memcpy_htod", WORK_COPY_IN }, { "memcpy_dtoh", WORK_COPY_OUT },
	{ "memcpy_dtod", WORK_COPY }, { "memcpy", WORK_NAMED_COPY },   { "gpu_memcpy", WORK_NAMED_COPY },
	{ "memset", WORK_FILL },      { "gpu_memset", WORK_FILL },     { "driver", WORK_DRIVER },
};

/* Returns a letter in lower case and a digit unchanged, whatever the locale; 0 for any other character. */
static char to_lower_ascii(char letter)
{
	if (letter >= 'A' && letter <= 'Z')
		return (char)(letter - 'A' + 'a');
	return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ? letter : '\0';
}

static uint64_t letter_bit(char letter)
{
	return UINT64_C(1) << (letter & 63);
}

/* Returns false if a letter of the word is not in `letters`, the set of the text's characters (letter_bit).  The slower
 * search is then not needed. */
static bool has_letters(uint64_t letters, const char *word)
{
	while (*word && (letters & letter_bit(*word)))
		word++;
	return !*word;
}

enum work work_of_name(const char *name, size_t bytes)
{
	char text[NAME_BYTES + 1];
	size_t length = 0;
	uint64_t letters = 0; /* bit (c & 63) is set for each character c of the text; the digits share their bits with
	                         the letters p to y */

	for (size_t i = 0; i < bytes && length < NAME_BYTES; i++) {
		text[length] = to_lower_ascii(name[i]);
		letters |= letter_bit(text[length]);
		length += text[length] != '\0';
	}
	text[length] = '\0';
	for (size_t i = 0; i < sizeof(name_words) / sizeof(*name_words); i++) {
		if (has_letters(letters, name_words[i].word) && strstr(text, name_words[i].word))
			return name_words[i].work;
	}
	return WORK_KERNEL;
}

static bool is_text(const char *text, size_t bytes, const char *word)
{
	return bytes == strlen(word) && memcmp(text, word, bytes) == 0;
}

/* Returns the work that an arg states; WORK_NONE: it states none. */
static enum work work_from_arg(const epp_trace_arg *arg)
{
	static const char driver[] = "_driver";
	const char *text = arg->value.text;
	bool is_category = is_text(arg->key, arg->key_bytes, "cat");

	if (arg->type != EPP_ARG_TEXT || (!is_category && !is_text(arg->key, arg->key_bytes, "kind")))
		return WORK_NONE;
	for (size_t i = 0; i < sizeof(stated_words) / sizeof(*stated_words); i++) {
		if (is_text(text, arg->text_bytes, stated_words[i].word))
			return stated_words[i].work;
	}
	if (is_category && arg->text_bytes >= strlen(driver) &&
	    is_text(text + arg->text_bytes - strlen(driver), strlen(driver), driver))
		return WORK_DRIVER;
	return WORK_NONE;
}

enum work work_of(const epp_timeline *timeline, const epp_event *event)
{
	bool is_device = event->track->kind == EPP_TRACK_DEVICE;
	enum work stated = WORK_NONE;
	epp_trace_arg arg;

	if (!work_is_classified(event))
		return WORK_NONE;
	for (size_t cursor = 0; stated == WORK_NONE && work_next_arg(timeline, event, &cursor, &arg);) {
		stated = work_from_arg(&arg);
		if (is_device == (stated == WORK_DRIVER))
			stated = WORK_NONE;
	}
	if (!is_device)
		return stated == WORK_DRIVER ? WORK_DRIVER : WORK_RUNTIME;
	if (stated != WORK_NONE && stated != WORK_NAMED_COPY)
		return stated;
	enum work named = work_of_name(event->name, event->name_bytes);
	if (stated == WORK_NAMED_COPY)
		return named == WORK_COPY_IN || named == WORK_COPY_OUT ? named : WORK_COPY;
	return named;
}

bool work_correlation(const epp_timeline *timeline, const epp_event *event, uint64_t *number)
{
	epp_trace_arg arg;

	for (size_t cursor = 0; work_next_arg(timeline, event, &cursor, &arg);) {
		bool is_known = is_text(arg.key, arg.key_bytes, "correlation") ||
		                is_text(arg.key, arg.key_bytes, "correlation_id");
		if (!is_known || (arg.type != EPP_ARG_U64 && arg.type != EPP_ARG_I64))
			continue;
		*number = arg.value.u64;
		return *number != 0;
	}
	return false;
}

bool work_add_bytes(const epp_timeline *timeline, const epp_event *event, uint64_t *bytes)
{
	epp_trace_arg arg;

	for (size_t cursor = 0; work_next_arg(timeline, event, &cursor, &arg);) {
		if (!is_text(arg.key, arg.key_bytes, "bytes") ||
		    (arg.type != EPP_ARG_U64 && (arg.type != EPP_ARG_I64 || arg.value.i64 < 0)))
			continue;
		*bytes += arg.value.u64;
		return true;
	}
	return false;
}
