/* Declarations shared by the files of the command.
 *
 * The command only includes public headers of api/, so other programs can do the same.  A subcommand is one file with
 * one struct cli_command, and one row in main.c.  Results are written to standard output, all other messages to
 * standard error. */
#ifndef EPPROF_CLI_CLI_H
#define EPPROF_CLI_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "epprof/timeline.h"

enum cli_exit { CLI_OK = 0, CLI_FAILURE = 1, CLI_USAGE = 2, CLI_INVALID = 3, CLI_UNREADABLE = 5 };

struct cli_command {
	const char *name;
	const char *summary; /* one line in the list of commands */
	const char *help;
	void (*help_list)(void); /* prints the text between `help` and `help_rest`; both may be NULL */
	const char *help_rest;
	int (*run)(int argc, char **argv); /* runs the subcommand, whose name is argv[0]; returns an enum cli_exit */
};

extern const struct cli_command cli_info;
extern const struct cli_command cli_summary;
extern const struct cli_command cli_advise;
extern const struct cli_command cli_report;
extern const struct cli_command cli_flame;
extern const struct cli_command cli_view;
extern const struct cli_command cli_convert;
extern const struct cli_command cli_validate;
extern const struct cli_command cli_tail;
extern const struct cli_command cli_import;
extern const struct cli_command cli_recover;
extern const struct cli_command cli_merge;
extern const struct cli_command cli_amend;
extern const struct cli_command cli_diff;
extern const struct cli_command cli_pack;
extern const struct cli_command cli_anonymize;
extern const struct cli_command cli_record;
extern const struct cli_command cli_ctl;
extern const struct cli_command cli_run;
extern const struct cli_command cli_probe;
extern const struct cli_command cli_conform;
extern const struct cli_command cli_show;
extern const struct cli_command cli_sql;

/* ---- options.c: command lines ---- */

/* The options of one command line, read with getopt_long; options and arguments may come in any order. */
struct cli_options {
	const struct cli_command *command;
	int argc;
	char **argv;
	/* getopt's short options, without a leading ':'.  If this text begins with '+', options end at the first
	 * argument.  If it begins with '-', each argument is returned as an option with the value 1. */
	const char *shorts;
	const struct option *long_options; /* --help and --quiet are always accepted and need not be listed */
	int exit;                          /* exit status if cli_options_next returned CLI_STOP */
};

enum { CLI_END = -1, CLI_STOP = -2 };

/* Returns the value of the next option, whose argument is in `optarg`.  --quiet sets cli_quiet and is not returned.
 * CLI_END: there are no more options.  CLI_STOP: help was printed or an error was reported, and the subcommand must
 * return `exit`. */
int cli_options_next(struct cli_options *options);
/* Returns the only argument of a command line that has exactly one.  `what` is its name in messages.  NULL: there is
 * none, or more than one; an error was reported. */
const char *cli_options_one(struct cli_options *options, const char *what);
/* As cli_options_one, for an argument that is the path of a trace. */
const char *cli_options_trace(struct cli_options *options);
/* Returns true if a trace can be written to `output`, which must be a file with a name, not standard output.  Returns
 * false if an error was reported. */
bool cli_takes_trace(const struct cli_command *command, const char *output);

void cli_print_help(const struct cli_command *command);
/* Reports a usage error; returns CLI_USAGE.  `command` may be NULL. */
int cli_misuse(const struct cli_command *command, const char *format, ...) EPP_FORMAT(2, 3);
/* Returns the text in `candidates` (which ends with NULL) that is most similar to a misspelt word, or NULL if none is
 * similar. */
const char *cli_nearest(const char *word, const char *const *candidates);
/* Returns the index of optarg in a list that ends with NULL.  `option` is the option's name for messages, for example
 * "--format".  -1: optarg is not in the list, which was reported. */
int cli_choice(const struct cli_command *command, const char *option, const char *const *choices);
/* Parses a time ("250us", "1.5ms", "2s", "0").  Returns false if the text is no time. */
bool cli_parse_time(const char *text, int64_t *ns);
/* cli_time parses optarg as a time ("250us", "1.5ms", "2s"), cli_number as a number from `low` to `high`.  Both return
 * false if an error was reported.  `option` is the option's name for messages. */
bool cli_time(const struct cli_command *command, const char *option, int64_t *ns);
bool cli_number(const struct cli_command *command, const char *option, long long low, long long high, long long *number);
/* Parses optarg as a number of bytes: "64M", "2G", or without a unit.  Returns false if an error was reported. */
bool cli_size(const struct cli_command *command, const char *option, uint64_t *bytes);

/* Parses optarg as the value of --device, and offers this device to plugins (epp_plugin_offer_device).  Returns false
 * if an error was reported. */
bool cli_offer_device(const struct cli_command *command);

bool cli_is_same_file(const char *a, const char *b);
/* Returns the path of a library that the command line names.  "libfoo.so" becomes "./libfoo.so", because dlopen does
 * not search the working directory for a name without a '/'.  Ownership: the caller frees the path.  NULL: there was no
 * memory, which cli_exit_code reports. */
char *cli_library_path(const char *name);

/* ---- output_file.c: files that the command itself writes ---- */

struct cli_output {
	FILE *file;       /* the caller writes into it */
	const char *path; /* final name of the file */
	char *temporary;  /* name until the file is closed; NULL: `path` is a device or a pipe, written directly */
};

/* Opens a new file with mode 0600 under a temporary name.  cli_output_close renames it to `path`, which replaces an
 * existing file.  Errors: EPP_IO if `path` is a symbolic link; those of open.  After a failure there is nothing to
 * close.
 * Ownership: `path` is borrowed until the file is closed. */
epp_status *cli_output_open(struct cli_output *output, const char *path) EPP_MUST_CHECK;
/* Closes the file and renames it to its final name.  After a failure, an existing file with this name is unchanged.
 * Errors: EPP_IO, also if an earlier write to the file failed. */
epp_status *cli_output_close(struct cli_output *output) EPP_MUST_CHECK;
/* Prints a warning on standard error if other users can change this file, or replace it in its folder
 * (epp_path_check). */
void cli_warn_of_writers(const char *path);

/* ---- bridge.c: finds the bridges into frameworks ---- */

/* Sets the absolute path of a bridge (ort, tf, pjrt, kineto).  Errors: EPP_INVALID_ARGUMENT (no bridge has this name),
 * EPP_NOT_FOUND (it is not installed).  Ownership: the caller frees *path, which is NULL on failure. */
epp_status *cli_bridge_find(const char *name, char **path);
/* `epprof --bridge NAME`: prints the path. */
int cli_bridge(const char *name);

/* ---- signals.c: Ctrl-C ---- */

/* The signal that asked the command to stop; 0: there was none. */
extern volatile int cli_signal;
/* Catches SIGINT, SIGTERM and SIGHUP.  The first of them sets cli_signal; a second one ends the command. */
void cli_catch_signals(void);
/* Releases the status of a call that cli_signal has stopped, and ends the command by that signal.  Returns CLI_FAILURE
 * if the signal does not end it. */
int cli_interrupted(epp_status *status);

/* ---- progress.c: progress on a terminal ---- */

/* --quiet was given: no progress is shown. */
extern bool cli_quiet;
/* Shows on standard error how long the command has been working, beginning two seconds after this call, if standard
 * error is a terminal.  Does nothing if progress is shown already. cli_open and cli_open_all call it. */
void cli_progress_begin(void);
/* Erases the line with the progress, so that a message can be printed.  The line appears again within a second. */
void cli_progress_hide(void);
/* Ends the progress and erases it.  Called before a command prints its results. */
void cli_progress_end(void);

/* ---- output.c: printing ---- */

/* Prints "epprof: ", `text` and `after` on standard error.  `text` may have any bytes.  It is printed in the form of
 * cli_print_clean, but newlines in it are printed as newlines.  Allocates no memory. */
void cli_message(const char *text, const char *after);
/* Prints a status as "epprof: MESSAGE" and releases it.  Returns CLI_FAILURE. */
int cli_failure(epp_status *status);
/* As cli_failure, for an input that cannot be read.  Returns CLI_UNREADABLE, or CLI_FAILURE if the only reason is a
 * lack of memory. */
int cli_unreadable(epp_status *status);
/* As cli_failure, for an output that cannot be written.  If the file exists, the message also names the option that
 * replaces it. */
int cli_not_written(epp_status *status);
/* An epp_receipt_fn: prints on standard error a line about data that an output does not contain, for example "12 flows
 * left out".  `user` is NULL, or points to a bool, which is set to true. */
void cli_print_receipt(void *user, const char *text);
/* Opens a trace.  Returns CLI_OK, or another enum cli_exit after an error was reported.  If the file is JSON, the
 * message names `epprof import`. */
int cli_open(const char *path, epp_trace **trace);
/* Opens several traces.  Returns CLI_OK, or another enum cli_exit after an error was reported; no trace is open
 * then. */
int cli_open_all(char *const *paths, size_t count, epp_trace ***traces);
void cli_close_all(epp_trace **traces, size_t count);
/* Flushes standard output.  Returns false if any write to it has failed so far. */
bool cli_flush(void);
/* Called when a part of the output could not be printed because there was no memory.  cli_exit_code then reports this
 * and returns CLI_FAILURE. */
void cli_no_memory(void);
/* Flushes standard output at the end of the command, and reports errors.  Returns `code`, or CLI_FAILURE after an
 * error. */
int cli_exit_code(int code);

/* Prints a text of any bytes as a "clean text", which is safe for a terminal: a tab and a newline become a space; other
 * control characters, characters that change the direction of text, and invalid UTF-8 become U+FFFD. */
void cli_print_clean(FILE *to, const char *text, size_t bytes);
/* Returns a copy of a text in the form of cli_print_clean.  Ownership: the caller frees it.  NULL: there was no memory,
 * which cli_exit_code reports. */
char *cli_clean(const char *text, size_t bytes);
/* Returns the width of a clean text in columns of a terminal. */
int cli_columns(const char *clean);
/* Returns how many bytes of a clean text fit into `columns` columns. */
size_t cli_fitting_bytes(const char *clean, int columns);
/* Print a text as a string of JSON or CSV to standard output, with its quotes.  In JSON, the characters that
 * cli_print_clean replaces are escaped.  In CSV, these characters are replaced, and a text that a spreadsheet would
 * compute (it begins with = + - @ tab or CR) gets a "'" before it. */
void cli_json_string(const char *text, size_t bytes);
void cli_csv_string(const char *text, size_t bytes);
/* As cli_json_string, but prints to `to`. */
void cli_json_string_to(FILE *to, const char *text, size_t bytes);

#define CLI_NUMBER_BYTES 32
/* cli_duration, cli_count and cli_bytes format a number: "1.25 ms"; "1,234,567"; "12.3 MiB".  All return `text`. */
const char *cli_duration(double ns, char text[CLI_NUMBER_BYTES]);
/* As cli_duration, for columns of a table: units are padded to the same width. */
const char *cli_duration_aligned(double ns, char text[CLI_NUMBER_BYTES]);
const char *cli_count(uint64_t count, char text[CLI_NUMBER_BYTES]);
/* Writes a number and a noun: "1 event", "1,234 events".  `one` is the singular noun, at most 24 bytes long. */
#define CLI_COUNTED_BYTES (CLI_NUMBER_BYTES + 26)
const char *cli_counted(uint64_t count, const char *one, char text[CLI_COUNTED_BYTES]);
const char *cli_bytes(uint64_t bytes, char text[CLI_NUMBER_BYTES]);
/* Returns the name of a trace's state (EPP_TRACE_FINISHED, ...): "finished", "recording" or "cut off". */
const char *cli_state(uint32_t state);
/* Prints "program (pid 7) on host".  Parts that the trace does not have are left out. */
void cli_print_process(const epp_trace_info *info);
const char *cli_category(unsigned category);

/* ---- terminal.c: properties of standard output ---- */

/* Returns true if standard output is a terminal that supports bold and faint text, and NO_COLOR is not set. */
bool cli_is_styled(void);
/* Returns the width of standard output in columns: the environment variable COLUMNS, else the terminal's width.  0: the
 * width is not known, for example of a file, so lines may have any length. */
int cli_width(void);
/* Prints text on standard output in lines that fit cli_width; continuation lines are indented. A line is printed when
 * it is complete. */
void cli_print(const char *format, ...) EPP_FORMAT(1, 2);
/* As cli_print, for a text of any bytes, in the form of cli_print_clean. */
void cli_print_bytes(const char *text, size_t bytes);
/* Prints an empty line and the text, in bold on a terminal that supports it. */
void cli_print_heading(const char *text);
/* Prints an explanation of the words in a table: indented, in lines that fit the terminal and have at most
 * CLI_LEGEND_COLUMNS columns. */
#define CLI_LEGEND_COLUMNS 110
void cli_print_legend(const char *text);

/* ---- table.c: aligned columns ---- */

/* Cuts a clean text to at most `columns` columns (at least 8), and ends it with an ellipsis. */
void cli_cut(char *text, int columns);

struct cli_table;

/* Makes a table.  Titles are separated by '|'.  A column whose title begins with '<' has texts and is aligned to the
 * left; the others have numbers and are aligned to the right.  A '?' before that marks an optional column.  If the
 * terminal is too narrow, optional columns are left out one after the other, from the left.  If the table is still too
 * wide, texts are cut.  If that is not enough, other columns are left out, from the right: first those with numbers,
 * then those with texts. */
struct cli_table *cli_table_create(const char *titles);
/* As cli_table_create, but titles may have any characters, and `left` has the alignment of each column.  No column is
 * left out. */
struct cli_table *cli_table_create_columns(size_t count, const char *const *titles, const bool *left);
/* Adds a cell; cells are added row by row.  The text is copied in the form of cli_print_clean. */
void cli_table_cell(struct cli_table *table, const char *text);
/* As cli_table_cell, with a text of any bytes. */
void cli_table_text(struct cli_table *table, const char *text, size_t bytes);
void cli_table_count(struct cli_table *table, uint64_t count);
void cli_table_duration(struct cli_table *table, double ns);
/* Prints the table to standard output and frees it.  If the table is wider than cli_width, columns are left out and
 * texts are cut, as cli_table_create describes.  If no column may be left out and cutting texts is not enough, each row
 * is printed as several lines, with a title and a value each. */
void cli_table_print(struct cli_table *table);

#endif
