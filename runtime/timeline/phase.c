/* Names are compared as letters and digits alone: "Memcpy HtoD", "copy_in" and "copyIn" are what they look like. */
#include "timeline/phase.h"

#include <string.h>

/* The longest part of a name that is looked at. */
#define NAME_BYTES 256u

const char *const phase_names[PHASE_COUNT] = { "submit", "queue", "copy in", "compute", "copy out", "copy" };

static const struct {
	const char *word;
	enum phase phase;
} words[] = {
	{ "h2d", PHASE_COPY_IN },
	{ "htod", PHASE_COPY_IN },
	{ "hosttodevice", PHASE_COPY_IN },
	{ "copyin", PHASE_COPY_IN },
	{ "upload", PHASE_COPY_IN },
	{ "d2h", PHASE_COPY_OUT },
	{ "dtoh", PHASE_COPY_OUT },
	{ "devicetohost", PHASE_COPY_OUT },
	{ "copyout", PHASE_COPY_OUT },
	{ "download", PHASE_COPY_OUT },
	{ "copy", PHASE_COPY },
	{ "memcpy", PHASE_COPY },
	{ "memset", PHASE_COPY },
	{ "transfer", PHASE_COPY },
};

/* Whatever the locale. */
static char plain(char letter)
{
	if (letter >= 'A' && letter <= 'Z')
		return (char)(letter - 'A' + 'a');
	return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ? letter : '\0';
}

enum phase phase_of_name(const char *name, size_t bytes)
{
	char text[NAME_BYTES + 1];
	size_t length = 0;

	for (size_t i = 0; i < bytes && length < NAME_BYTES; i++) {
		text[length] = plain(name[i]);
		length += text[length] != '\0';
	}
	text[length] = '\0';
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strstr(text, words[i].word))
			return words[i].phase;
	}
	return PHASE_COMPUTE;
}
