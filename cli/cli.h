/* What the files of the command share.  The command is compiled against api/ alone: it can do nothing that another program
 * could not.
 *
 * A subcommand is one file with one struct cli_command, and one row in main.c.  Results go to standard output, everything
 * else to standard error. */
#ifndef EPPROF_CLI_H
#define EPPROF_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "epprof/timeline.h"

enum cli_exit { CLI_OK = 0, CLI_FAILURE = 1, CLI_USAGE = 2, CLI_INVALID = 3, CLI_UNREADABLE = 5 };

struct cli_command {
	const char *name;
	const char *summary; /* for the list of commands */
	const char *help;
	void (*help_list)(void); /* prints what stands between `help` and `help_rest`; both may be NULL */
	const char *help_rest;
	int (*run)(int argc, char **argv); /* argv[0] is the subcommand's name; returns an enum cli_exit */
};

extern const struct cli_command cli_info;
extern const struct cli_command cli_summary;
extern const struct cli_command cli_report;
extern const struct cli_command cli_flame;
extern const struct cli_command cli_view;
extern const struct cli_command cli_convert;
extern const struct cli_command cli_validate;
extern const struct cli_command cli_tail;
extern const struct cli_command cli_import;
extern const struct cli_command cli_recover;
extern const struct cli_command cli_merge;
extern const struct cli_command cli_diff;
extern const struct cli_command cli_pack;
extern const struct cli_command cli_run;
extern const struct cli_command cli_probe;
extern const struct cli_command cli_sql;

/* ---- options.c: command lines ---- */

/* The options of one command line, read with getopt_long; options and arguments may come in any order. */
struct cli_options {
	const struct cli_command *command;
	int argc;
	char **argv;
	const char *shorts;         /* as getopt's, without a leading ':' */
	const struct option *longs; /* --help is understood everywhere and need not be there */
	int exit;                   /* after CLI_STOP */
};

enum { CLI_END = -1, CLI_STOP = -2 };

/* The next option's value; its argument is in `optarg`.  CLI_END: no more.  CLI_STOP: help was printed, or a mistake
 * explained; the subcommand returns `exit`. */
int cli_options_next(struct cli_options *options);
/* The one argument of a command line, `what` it is called; NULL: a mistake was explained. */
const char *cli_options_one(struct cli_options *options, const char *what);
/* The same, a trace. */
const char *cli_options_trace(struct cli_options *options);
/* Whether a trace can be written there at all: to a file with a name.  If not, the mistake was explained. */
bool cli_takes_trace(const struct cli_command *command, const char *output);

void cli_print_help(const struct cli_command *command);
/* Explains a mistake on the command line; returns CLI_USAGE.  `command` may be NULL. */
int cli_misuse(const struct cli_command *command, const char *format, ...) EPP_FORMAT(2, 3);
/* The candidate that a misspelt word means, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *candidates);
/* The place of optarg in a NULL-terminated list; -1: a mistake was explained.  `option` is "--format". */
int cli_choice(const struct cli_command *command, const char *option, const char *const *choices);
/* optarg as a time ("250us", "1.5ms", "2s"), or a number from `low` to `high`; false: a mistake was explained. */
bool cli_time(const struct cli_command *command, const char *option, int64_t *ns);
bool cli_number(const struct cli_command *command, const char *option, long long low, long long high, long long *number);
/* optarg as a number of bytes: "64M", "2G", or without a unit. */
bool cli_size(const struct cli_command *command, const char *option, uint64_t *bytes);

bool cli_is_same_file(const char *a, const char *b);

/* ---- bridge.c: where the bridges into frameworks are ---- */

/* Sets the absolute path of a bridge (ort, tf, pjrt, kineto).  Errors: EPP_INVALID_ARGUMENT (no bridge has this name), EPP_NOT_FOUND
 * (it is not installed).  Ownership: malloc, the caller's; NULL on failure. */
epp_status *cli_bridge_find(const char *name, char **path);
/* `epprof --bridge NAME`: prints the path. */
int cli_bridge(const char *name);

/* ---- signals.c: Ctrl-C ---- */

/* The signal that asks the command to stop; 0 as long as none does. */
extern volatile int cli_signal;
/* From here on the first SIGINT, SIGTERM or SIGHUP goes there; a second one kills. */
void cli_catch_signals(void);

/* ---- output.c: what is printed ---- */

/* Prints a status as "epprof: MESSAGE" and releases it.  Returns CLI_FAILURE. */
int cli_failure(epp_status *status);
/* The same for an input.  Returns CLI_UNREADABLE, or CLI_FAILURE if memory is all that is missing. */
int cli_unreadable(epp_status *status);
/* The same for an output: one that exists is told how to replace it. */
int cli_not_written(epp_status *status);
/* Prints what the library tells on the way.  `user` is NULL, or a bool that becomes true. */
void cli_print_receipt(void *user, const char *text);
/* Opens a trace: CLI_OK, or an enum cli_exit and why not explained. */
int cli_open(const char *path, epp_trace **trace);
/* Opens all of them; CLI_OK, or an enum cli_exit and why not explained: then none is open. */
int cli_open_all(char *const *paths, size_t count, epp_trace ***traces);
void cli_close_all(epp_trace **traces, size_t count);
/* Flushes standard output; false if anything went wrong with it so far. */
bool cli_flush(void);
/* Something that should be printed is missing for want of memory: cli_finish says so and fails. */
void cli_no_memory(void);
/* Flushes standard output at the end, and says what went wrong; returns `code`, or CLI_FAILURE. */
int cli_finish(int code);

/* Prints a text of any bytes as it may stand on a terminal: control characters and what is not UTF-8 are replaced. */
void cli_print_clean(FILE *to, const char *text, size_t bytes);
/* Such a text to keep.  Ownership: malloc, the caller's; NULL without memory, which cli_finish then says. */
char *cli_clean(const char *text, size_t bytes);
/* How many columns a clean text takes. */
int cli_columns(const char *clean);
/* Strings of JSON and CSV, to standard output, with their quotes. */
void cli_json_string(const char *text, size_t bytes);
void cli_csv_string(const char *text, size_t bytes);

#define CLI_NUMBER_BYTES 32
/* "1.25 ms"; "1,234,567"; "12.3 MiB".  Return `text`. */
const char *cli_duration(double ns, char text[CLI_NUMBER_BYTES]);
/* The same for columns: all units are as wide. */
const char *cli_duration_aligned(double ns, char text[CLI_NUMBER_BYTES]);
const char *cli_count(uint64_t count, char text[CLI_NUMBER_BYTES]);
/* "1 event", "1,234 events": `one` is at most 24 bytes long. */
#define CLI_COUNTED_BYTES (CLI_NUMBER_BYTES + 26)
const char *cli_counted(uint64_t count, const char *one, char text[CLI_COUNTED_BYTES]);
const char *cli_bytes(uint64_t bytes, char text[CLI_NUMBER_BYTES]);
/* "finished", "recording", "cut off". */
const char *cli_state(uint32_t state);
const char *cli_category(unsigned category);

/* ---- terminal.c: what standard output is ---- */

/* Whether it is a terminal that shows bold and faint letters, and NO_COLOR is not set. */
bool cli_is_styled(void);
/* Its columns; 0: it is no terminal, or does not tell. */
int cli_width(void);
/* An empty line and a line of bold letters, where there are such. */
void cli_print_heading(const char *text);

/* ---- table.c: aligned columns ---- */

/* Cuts a text that cli_clean made to at most so many columns, at least 8, with an ellipsis at its end. */
void cli_cut(char *text, int columns);

struct cli_table;

/* Titles are separated by '|'; one that begins with '<' is aligned to the left, the others to the right; one that begins with
 * '?', before that, is left out where the terminal is too narrow, the first of these first. */
struct cli_table *cli_table_create(const char *titles);
/* The same with titles of any text. */
struct cli_table *cli_table_create_columns(size_t count, const char *const *titles, const bool *left);
/* Adds a cell, row by row; the text is cleaned and copied. */
void cli_table_cell(struct cli_table *table, const char *text);
/* The same with a text of any bytes. */
void cli_table_text(struct cli_table *table, const char *text, size_t bytes);
void cli_table_count(struct cli_table *table, uint64_t count);
void cli_table_duration(struct cli_table *table, double ns);
/* Prints it to standard output and frees it.  On a terminal columns of texts are cut to what fits, if the last is one. */
void cli_table_print(struct cli_table *table);

#endif
