/* Texts of POSIX and glibc: functions of strings, characters of UTF-8, and the locale of numbers. */
#include <ctype.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/windows/win32.h"

char *strndup(const char *text, size_t bytes)
{
	size_t length = strnlen(text, bytes);
	char *copy = malloc(length + 1);
	if (copy) {
		memcpy(copy, text, length);
		copy[length] = '\0';
	}
	return copy;
}

char *strsep(char **rest, const char *separators)
{
	char *token = *rest;
	if (!token)
		return NULL;
	char *end = token + strcspn(token, separators);
	*rest = *end ? end + 1 : NULL;
	*end = '\0';
	return token;
}

char *stpcpy(char *to, const char *from)
{
	size_t bytes = strlen(from);
	memcpy(to, from, bytes + 1);
	return to + bytes;
}

char *strcasestr(const char *text, const char *part)
{
	size_t bytes = strlen(part);
	for (; *text || !bytes; text++)
		if (_strnicmp(text, part, bytes) == 0)
			return (char *)text;
	return NULL;
}

void *memmem(const void *bytes, size_t count, const void *part, size_t part_bytes)
{
	const char *from = bytes;
	if (!part_bytes)
		return (char *)from;
	for (; count >= part_bytes; from++, count--) {
		const char *first = memchr(from, *(const char *)part, count - part_bytes + 1);
		if (!first)
			return NULL;
		count -= (size_t)(first - from);
		from = first;
		if (memcmp(from, part, part_bytes) == 0)
			return (char *)from;
	}
	return NULL;
}

void explicit_bzero(void *bytes, size_t count)
{
	SecureZeroMemory(bytes, count);
}

/* ---- characters ---- */

size_t libc_mbrtoc32(char32_t *character, const char *text, size_t bytes, mbstate_t *state)
{
	wchar_t units[2];
	unsigned char lead = bytes ? (unsigned char)*text : 0;
	size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	(void)state;
	if (length > bytes)
		return (size_t)-2;
	int count = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, (int)length, units, 2);
	bool is_pair = count == 2 && IS_SURROGATE_PAIR(units[0], units[1]);
	if (count != 1 && !is_pair)
		return (size_t)-1;
	*character = is_pair ? 0x10000u + ((units[0] & 0x3ffu) << 10 | (units[1] & 0x3ffu)) : units[0];
	return *character ? length : 0;
}

static bool has_type(char32_t character, DWORD kind, WORD type)
{
	wchar_t unit = (wchar_t)character;
	WORD types;
	return character < 0x10000 && GetStringTypeW(kind, &unit, 1, &types) && types & type;
}

int libc_iswprint(char32_t character)
{
	if (character >= 0x10000)
		return character < 0x110000 && (character & 0xfffe) != 0xfffe;
	return has_type(character, CT_CTYPE1, C1_DEFINED) && !has_type(character, CT_CTYPE1, C1_CNTRL);
}

int wcwidth(char32_t character)
{
	/* Characters that are two columns wide: those of East Asian scripts, and pictures. */
	static const struct {
		char32_t first, last;
	} wide[] = { { 0x1100, 0x115f },  { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },   { 0xa960, 0xa97c },
		     { 0xac00, 0xd7a3 },  { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },   { 0xff01, 0xff60 },
		     { 0xffe0, 0xffe6 },  { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff },
		     { 0x20000, 0x3fffd } };

	if (has_type(character, CT_CTYPE3, C3_NONSPACING))
		return 0;
	for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (character >= wide[i].first && character <= wide[i].last)
			return 2;
	return 1;
}

/* ---- the locale of numbers ---- */

/* The settings of this thread that uselocale has replaced, to be restored. */
static _Thread_local int mode_before;
static _Thread_local char numbers_before[128];

locale_t newlocale(int mask, const char *name, locale_t base)
{
	(void)mask, (void)base;
	return name;
}

/* Returns NULL, which is valid only as the argument of the next call of uselocale: that call restores the settings. */
locale_t uselocale(locale_t locale)
{
	if (locale) {
		mode_before = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
		const char *name = setlocale(LC_NUMERIC, NULL);
		snprintf(numbers_before, sizeof(numbers_before), "%s", name ? name : "C");
		setlocale(LC_NUMERIC, locale);
	} else {
		setlocale(LC_NUMERIC, numbers_before);
		_configthreadlocale(mode_before);
	}
	return NULL;
}

void freelocale(locale_t locale)
{
	(void)locale;
}
