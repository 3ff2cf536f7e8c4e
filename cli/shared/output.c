/* Prints statuses, texts of any bytes (also as JSON or CSV), and numbers. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uchar.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "cli/cli.h"

void cli_message(const char *text, const char *after)
{
	fputs("epprof: ", stderr);
	for (size_t bytes; *text; text += bytes) {
		bytes = strcspn(text, "\n");
		cli_print_clean(stderr, text, bytes);
		if (text[bytes]) {
			fputc('\n', stderr);
			bytes++;
		}
	}
	fprintf(stderr, "%s\n", after);
}

static int explain(epp_status *status, int code)
{
	cli_progress_end();
	cli_message(epp_status_message(status), "");
	epp_status_destroy(status);
	return code;
}

int cli_failure(epp_status *status)
{
	return explain(status, CLI_FAILURE);
}

int cli_unreadable(epp_status *status)
{
	return explain(status, epp_status_code(status) == EPP_OUT_OF_MEMORY ? CLI_FAILURE : CLI_UNREADABLE);
}

int cli_not_written(epp_status *status)
{
	if (epp_status_code(status) != EPP_EXISTS)
		return cli_failure(status);
	cli_progress_end();
	cli_message(epp_status_message(status), "; --force replaces it");
	epp_status_destroy(status);
	return CLI_FAILURE;
}

void cli_print_receipt(void *user, const char *text)
{
	bool *is_reported = user;

	if (is_reported)
		*is_reported = true;
	cli_progress_hide();
	cli_message(text, "");
}

/* Returns true if a file begins with JSON, after white space. */
static bool is_json(const char *path)
{
	struct stat about;
	char first[2] = "";

	/* Only regular files are opened, because opening a pipe may block for ever. */
	FILE *file = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "re") : NULL;
	if (!file)
		return false;
	bool any = fscanf(file, " %1[[{]", first) == 1;
	fclose(file);
	return any;
}

int cli_open(const char *path, epp_trace **trace)
{
	cli_progress_begin();
	epp_status *status = epp_trace_open(path, trace);

	if (!status)
		return CLI_OK;
	int code = cli_unreadable(status);
	if (code == CLI_UNREADABLE && is_json(path))
		fprintf(stderr, "epprof: it is JSON; 'epprof import -o FILE.epp %s' makes a trace of a profile\n", path);
	return code;
}

int cli_open_all(char *const *paths, size_t count, epp_trace ***traces)
{
	*traces = calloc(count, sizeof(**traces));
	if (!*traces)
		return cli_failure(epp_status_no_memory());
	for (size_t i = 0; i < count; i++) {
		int code = cli_open(paths[i], &(*traces)[i]);
		if (code != CLI_OK) {
			cli_close_all(*traces, i);
			*traces = NULL;
			return code;
		}
	}
	return CLI_OK;
}

void cli_close_all(epp_trace **traces, size_t count)
{
	for (size_t i = 0; i < count; i++)
		epp_trace_close(traces[i]);
	free(traces);
}

/* errno of the first flush that failed. */
static int output_error;

bool cli_flush(void)
{
	errno = 0;
	if (fflush(stdout) != 0 && !output_error)
		output_error = errno;
	return !ferror(stdout);
}

static bool memory_missing;

void cli_no_memory(void)
{
	memory_missing = true;
}

int cli_exit_code(int code)
{
	cli_progress_end();
	bool flushed = cli_flush();

	if (memory_missing)
		return cli_failure(epp_status_no_memory());
	if (flushed)
		return code;
	fprintf(stderr, "epprof: standard output: %s\n", output_error ? strerror(output_error) : "a write failed");
	return CLI_FAILURE;
}

/* ---- texts ---- */

/* Decodes the first character of a text and returns its length in bytes.  For an invalid byte and for a NUL, *character
 * is 0 and the length 1. */
static size_t next_character(const char *text, size_t bytes, char32_t *character)
{
	mbstate_t state = { 0 };
	size_t length = mbrtoc32(character, text, bytes, &state);

	if (length == 0 || length > bytes) {
		*character = 0;
		return 1;
	}
	return length;
}

/* Returns true for characters that change the direction of the text around them.  With them, a name can make a line
 * look as if it had other content. */
static bool turns_direction(char32_t character)
{
	return character == 0x61C || character == 0x200E || character == 0x200F ||
	       (character >= 0x202A && character <= 0x202E) || (character >= 0x2066 && character <= 0x2069);
}

/* Returns the first character of *text in printable form, which has *clean_bytes bytes and no NUL at its end, and
 * advances *text and *bytes behind the character.  The printable form has at most three times as many bytes. */
static const char *next_clean(const char **text, size_t *bytes, size_t *clean_bytes)
{
	static const char replacement[] = "\xEF\xBF\xBD";
	const char *clean = *text;
	char32_t character;

	*clean_bytes = next_character(*text, *bytes, &character);
	*text += *clean_bytes;
	*bytes -= *clean_bytes;
	if (character && iswprint(character) && !turns_direction(character))
		return clean;
	bool is_blank = character == '\t' || character == '\n';
	*clean_bytes = is_blank ? 1 : strlen(replacement);
	return is_blank ? " " : replacement;
}

void cli_print_clean(FILE *to, const char *text, size_t bytes)
{
	while (bytes) {
		size_t clean_bytes;
		const char *clean = next_clean(&text, &bytes, &clean_bytes);
		fwrite(clean, 1, clean_bytes, to);
	}
}

char *cli_clean(const char *text, size_t bytes)
{
	char *clean = malloc(bytes * 3 + 1), *at = clean;

	if (!clean) {
		cli_no_memory();
		return NULL;
	}
	while (bytes) {
		size_t clean_bytes;
		const char *character = next_clean(&text, &bytes, &clean_bytes);
		at = mempcpy(at, character, clean_bytes);
	}
	*at = '\0';
	return clean;
}

/* Returns how many bytes of a clean text fit into *columns columns, and sets *columns to the width of these bytes. */
static size_t measure(const char *clean, int *columns)
{
	size_t bytes = strlen(clean), fit = 0;
	int used = 0;

	while (fit < bytes) {
		char32_t character;
		size_t length = next_character(clean + fit, bytes - fit, &character);
		int width = wcwidth(character);
		if (width > *columns - used)
			break;
		used += width > 0 ? width : 0;
		fit += length;
	}
	*columns = used;
	return fit;
}

int cli_columns(const char *clean)
{
	int columns = INT_MAX;

	measure(clean, &columns);
	return columns;
}

size_t cli_fitting_bytes(const char *clean, int columns)
{
	return measure(clean, &columns);
}

void cli_json_string_to(FILE *to, const char *text, size_t bytes)
{
	char32_t character;

	putc('"', to);
	for (size_t i = 0; i < bytes;) {
		size_t length = next_character(text + i, bytes - i, &character);
		if (text[i] == '"' || text[i] == '\\')
			fprintf(to, "\\%c", text[i]);
		else if ((unsigned char)text[i] < 0x20)
			fprintf(to, "\\u%04x", (unsigned)text[i]);
		else if (!character)
			fputs("\\ufffd", to);
		else if ((character >= 0x7F && character < 0xA0) || turns_direction(character))
			fprintf(to, "\\u%04x", (unsigned)character);
		else
			fwrite(text + i, 1, length, to);
		i += length;
	}
	putc('"', to);
}

void cli_json_string(const char *text, size_t bytes)
{
	cli_json_string_to(stdout, text, bytes);
}

void cli_csv_string(const char *text, size_t bytes)
{
	putchar('"');
	/* Spreadsheets compute a cell that begins with one of these characters.  A quote before it makes it a text. */
	if (bytes && strchr("=+-@\t\r", *text) && *text)
		putchar('\'');
	while (bytes) {
		size_t clean_bytes;
		const char *clean = next_clean(&text, &bytes, &clean_bytes);
		if (*clean == '"')
			putchar('"');
		fwrite(clean, 1, clean_bytes, stdout);
	}
	putchar('"');
}

/* ---- numbers ---- */

const char *cli_duration(double ns, char text[CLI_NUMBER_BYTES])
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	unsigned unit = 0;

	while (unit < 3 && fabs(ns) >= 999.5) {
		ns /= 1000;
		unit++;
	}
	int decimals = unit == 0 || fabs(ns) >= 99.95 ? 0 : fabs(ns) >= 9.995 ? 1 : 2;
	snprintf(text, CLI_NUMBER_BYTES, "%.*f %s", decimals, ns, units[unit]);
	return text;
}

const char *cli_duration_aligned(double ns, char text[CLI_NUMBER_BYTES])
{
	size_t length = strlen(cli_duration(ns, text));

	if (text[length - 2] == ' ')
		memcpy(text + length, " ", 2);
	return text;
}

const char *cli_count(uint64_t count, char text[CLI_NUMBER_BYTES])
{
	char digits[CLI_NUMBER_BYTES];
	int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
	char *at = text;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	*at = '\0';
	return text;
}

const char *cli_counted(uint64_t count, const char *one, char text[CLI_COUNTED_BYTES])
{
	char number[CLI_NUMBER_BYTES];

	snprintf(text, CLI_COUNTED_BYTES, "%s %s%s", cli_count(count, number), one, count == 1 ? "" : "s");
	return text;
}

const char *cli_bytes(uint64_t bytes, char text[CLI_NUMBER_BYTES])
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	unsigned unit = 0;

	while (unit < 4 && value >= 1024) {
		value /= 1024;
		unit++;
	}
	snprintf(text, CLI_NUMBER_BYTES, "%.*f %s", unit && value < 99.95 ? 1 : 0, value,
	         bytes == 1 ? "byte" : units[unit]);
	return text;
}

const char *cli_state(uint32_t state)
{
	switch (state) {
	case EPP_TRACE_FINISHED:
		return "finished";
	case EPP_TRACE_RECORDING:
		return "recording";
	case EPP_TRACE_CUT_OFF:
		return "cut off";
	default:
		return "unknown";
	}
}

void cli_print_process(const epp_trace_info *info)
{
	const char *program = info->program ? info->program : "", *host = info->hostname ? info->hostname : "";

	cli_print_bytes(program, strlen(program));
	cli_print(*program ? " (pid %u)" : "process %u", info->pid);
	if (*host) {
		cli_print(" on ");
		cli_print_bytes(host, strlen(host));
	}
}

const char *cli_category(unsigned category)
{
	static const char *const names[] = { "Session", "Node", "Kernel", "Api" };

	return category < sizeof names / sizeof *names ? names[category] : "Other";
}
