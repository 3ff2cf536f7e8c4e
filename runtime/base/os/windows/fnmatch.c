/* fnmatch of POSIX without flags, for patterns of bytes: * ? [a-z] [!a-z] and \ before a character. */
#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>

/* Matches a character with the set behind '['. Returns the position in the pattern behind the set; NULL: the set has no
 * end. */
static const char *match_set(const char *set, unsigned char c, bool *matches)
{
	bool is_negated = *set == '!' || *set == '^', found = false;
	set += is_negated;
	for (const char *first = set; *set != ']' || set == first;) {
		unsigned char low = (unsigned char)*set++;
		if (low == '\\' && *set)
			low = (unsigned char)*set++;
		if (!low)
			return NULL;
		unsigned char high = low;
		if (set[0] == '-' && set[1] && set[1] != ']') {
			set++;
			set += *set == '\\' && set[1];
			high = (unsigned char)*set++;
		}
		found |= low <= c && c <= high;
	}
	*matches = found != is_negated;
	return set + 1;
}

/* Matches one character with the next element of a pattern, which is not '*'. Returns the position in the pattern
 * behind this element; NULL: it does not match. */
static const char *match_one(const char *pattern, char c)
{
	bool matches;
	if (!c || !*pattern)
		return NULL;
	if (*pattern == '?')
		return pattern + 1;
	const char *behind = *pattern == '[' ? match_set(pattern + 1, (unsigned char)c, &matches) : NULL;
	if (behind)
		return matches ? behind : NULL;
	pattern += *pattern == '\\' && pattern[1];
	return *pattern == c ? pattern + 1 : NULL;
}

/* After a mismatch, the last '*' is matched with one more character. */
int fnmatch(const char *pattern, const char *text, int flags)
{
	const char *star = NULL, *star_text = NULL;
	if (flags)
		return FNM_NOMATCH;
	while (*text || *pattern) {
		if (*pattern == '*') {
			star = ++pattern;
			star_text = text;
			continue;
		}
		const char *behind = match_one(pattern, *text);
		if (behind) {
			pattern = behind;
			text++;
		} else if (star && *star_text) {
			pattern = star;
			text = ++star_text;
		} else {
			return FNM_NOMATCH;
		}
	}
	return 0;
}
