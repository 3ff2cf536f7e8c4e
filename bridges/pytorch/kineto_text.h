/* Converts texts to a form that Kineto can write: it copies names and values into its JSON almost unchanged. Used only
 * by kineto.cc. */
#ifndef EPPROF_BRIDGES_PYTORCH_KINETO_TEXT_H
#define EPPROF_BRIDGES_PYTORCH_KINETO_TEXT_H

#include <algorithm>
#include <string>

/* Returns the number of bytes of the UTF-8 character at `at`; 0: the bytes are not UTF-8. */
inline size_t character_bytes(const char *at, size_t left)
{
	auto byte = [at](size_t i) { return (unsigned char)at[i]; };
	size_t bytes = byte(0) < 0x80   ? 1
	               : byte(0) < 0xc2 ? 0
	               : byte(0) < 0xe0 ? 2
	               : byte(0) < 0xf0 ? 3
	               : byte(0) < 0xf5 ? 4
	                                : 0;
	if (bytes > left)
		return 0;
	for (size_t i = 1; i < bytes; i++)
		if ((byte(i) & 0xc0) != 0x80)
			return 0;
	bool is_bad = bytes >= 3 && ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f) ||
	                             (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f));
	return is_bad ? 0 : bytes;
}

/* Makes UTF-8 without control characters.  Kineto would replace other text by "unknown". */
inline std::string printable(const char *text, size_t bytes)
{
	std::string made;
	for (size_t i = 0; i < bytes;) {
		size_t character = character_bytes(text + i, bytes - i);
		bool is_kept = character > 1 || (character == 1 && text[i] >= ' ' && text[i] != 0x7f);
		if (is_kept)
			made.append(text + i, character);
		else
			made += character ? ' ' : '?';
		i += character ? character : 1;
	}
	return made;
}

/* Makes a name in ASCII.  Kineto would replace other names by "unknown". */
inline std::string printable_name(const char *text, size_t bytes)
{
	std::string made;
	for (char c : printable(text, bytes))
		if (((unsigned char)c & 0xc0) != 0x80)
			made += (unsigned char)c < 0x80 ? c : '?';
	return made;
}

/* Makes a JSON string with quotes.  Kineto changes backslashes to slashes in its output, so characters that need an
 * escape are replaced. */
inline std::string quoted(const char *text, size_t bytes)
{
	std::string made = printable(text, bytes);
	std::replace(made.begin(), made.end(), '"', '\'');
	std::replace(made.begin(), made.end(), '\\', '/');
	return '"' + made + '"';
}

inline std::string quoted(const std::string &text)
{
	return quoted(text.data(), text.size());
}

/* Makes a key without quotes.  Kineto adds the quotes. */
inline std::string unquoted(const std::string &text)
{
	std::string made = quoted(text);
	return made.substr(1, made.size() - 2);
}

#endif
