/* The parts of epprof record for Windows: it starts the program, quotes its arguments, and waits for its end.
 *
 * Ctrl-C goes to all processes of the console, so the program gets it by itself, and this process ignores it until the
 * program has ended. Hooks in frameworks, snapshots and the estimate do not exist here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/windows/win32.h"
#include "cli/record/record.h"
#include "cli/record/record_estimate.h"

#define COMMAND_LINE_MAX 32768 /* characters, with the NUL: the limit of Windows */

int record_check(const struct record_options *options)
{
	const char *option = options->no_follow             ? "--no-follow"
	                     : options->start_paused        ? "--start-paused"
	                     : options->profilers           ? "--profilers"
	                     : options->watch.on_signal     ? "--snapshot-on-signal"
	                     : options->watch.triggers_count ? "--snapshot-when"
	                                                    : NULL;

	return option ? cli_misuse(&cli_record, "%s: not available on Windows", option) : CLI_OK;
}

/* ---- the command line ---- */

struct command_line {
	wchar_t text[COMMAND_LINE_MAX];
	size_t count; /* COMMAND_LINE_MAX: the arguments are too long */
};

static void put(struct command_line *line, wchar_t character)
{
	if (line->count < COMMAND_LINE_MAX)
		line->text[line->count++] = character;
}

static void put_backslashes(struct command_line *line, size_t count)
{
	while (count--)
		put(line, L'\\');
}

/* Adds an argument, in quotes if it needs them, so that the C library of the program reads the same argument.
 * Backslashes are doubled before a quote only. */
static void put_argument(struct command_line *line, const wchar_t *argument)
{
	bool is_quoted = !*argument || wcspbrk(argument, L" \t\n\v\"");
	size_t backslashes = 0;

	if (line->count)
		put(line, L' ');
	if (is_quoted)
		put(line, L'"');
	for (; *argument; argument++) {
		if (*argument == L'\\') {
			backslashes++;
			continue;
		}
		put_backslashes(line, *argument == L'"' ? 2 * backslashes + 1 : backslashes);
		put(line, *argument);
		backslashes = 0;
	}
	put_backslashes(line, is_quoted ? 2 * backslashes : backslashes);
	if (is_quoted)
		put(line, L'"');
}

/* Returns 0 or an errno. */
static int make_command_line(struct command_line *line, char **program)
{
	for (line->count = 0; *program; program++) {
		wchar_t *wide = windows_wide(*program);
		if (!wide)
			return errno;
		put_argument(line, wide);
		free(wide);
	}
	put(line, L'\0');
	return line->count < COMMAND_LINE_MAX ? 0 : E2BIG;
}

/* ---- the program ---- */

/* Finds a program by its path or in PATH, with or without the ending .exe. CreateProcessW alone would search the
 * working folder first. */
static bool find_program(const char *program, wchar_t path[MAX_PATH])
{
	bool is_path = strpbrk(program, "/\\:");
	const char *folders = is_path ? "." : secure_getenv("PATH");
	wchar_t *name = windows_wide(program), *wide = folders ? windows_wide(folders) : NULL;
	DWORD count = name && wide ? SearchPathW(wide, name, L".exe", MAX_PATH, path, NULL) : 0;

	free(name);
	free(wide);
	return count && count < MAX_PATH && !(GetFileAttributesW(path) & FILE_ATTRIBUTE_DIRECTORY);
}

static bool is_batch_file(const wchar_t *path)
{
	const wchar_t *ending = wcsrchr(path, L'.');

	return ending && (!_wcsicmp(ending, L".bat") || !_wcsicmp(ending, L".cmd"));
}

static BOOL WINAPI ignore_key(DWORD event)
{
	return event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
}

static int not_started(const char *program, const char *reason)
{
	fprintf(stderr, "epprof: %s: %s\n", program, reason);
	return RECORD_NOT_EXECUTABLE;
}

int record_run_program(char **program, bool no_follow, struct record_watch *watch, struct record_estimate *estimate)
{
	static struct command_line line;
	STARTUPINFOW about = { .cb = sizeof(about) };
	PROCESS_INFORMATION process;
	wchar_t path[MAX_PATH];
	DWORD code = EXIT_FAILURE;

	(void)no_follow, (void)watch, (void)estimate;
	if (!find_program(program[0], path)) {
		not_started(program[0], strerror(ENOENT));
		return RECORD_NOT_FOUND;
	}
	/* The shell that runs a batch file reads arguments by other rules. */
	if (is_batch_file(path))
		return not_started(program[0], "a batch file: the program to record is cmd.exe with /c");
	int error = make_command_line(&line, program);
	if (error)
		return not_started(program[0], strerror(error));
	fflush(NULL);
	SetConsoleCtrlHandler(ignore_key, TRUE);
	if (!CreateProcessW(path, line.text, NULL, NULL, TRUE, 0, NULL, NULL, &about, &process)) {
		bool is_program = GetLastError() != ERROR_BAD_EXE_FORMAT;
		error = windows_errno();
		SetConsoleCtrlHandler(ignore_key, FALSE);
		return not_started(program[0], is_program ? strerror(error) : "not a program for this machine");
	}
	CloseHandle(process.hThread);
	WaitForSingleObject(process.hProcess, INFINITE);
	GetExitCodeProcess(process.hProcess, &code);
	CloseHandle(process.hProcess);
	SetConsoleCtrlHandler(ignore_key, FALSE);
	return (int)code;
}

/* ---- what is left out ---- */

epp_status *record_set_hooks(void)
{
	return NULL;
}

/* Accepts every trigger, because record_check refuses it. */
bool record_watch_add(struct record_watch *watch, char *text)
{
	(void)text;
	watch->triggers_count = 1;
	return true;
}

void record_watch_begin(struct record_watch *watch, const char *folder, const char *output)
{
	(void)watch, (void)folder, (void)output;
}

void record_watch_finish(struct record_watch *watch)
{
	(void)watch;
}

struct record_estimate *record_estimate_create(const char *folder, uint64_t ring_bytes)
{
	(void)folder, (void)ring_bytes;
	return NULL;
}

void record_estimate_destroy(struct record_estimate *estimate)
{
	(void)estimate;
}
