/* The epprof command: finds the subcommand and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "epprof/epprof.h"

static const struct cli_command *const commands[] = {
	&cli_info,      &cli_summary,  &cli_advise, &cli_show,   &cli_diff,    &cli_report, &cli_flame,   &cli_view,
	&cli_convert,   &cli_validate, &cli_tail,   &cli_import, &cli_recover, &cli_merge,  &cli_amend,   &cli_pack,
	&cli_anonymize, &cli_sql,      &cli_run,    &cli_record, &cli_ctl,     &cli_probe,  &cli_conform,
};
#define COMMANDS_COUNT (sizeof commands / sizeof *commands)

static int print_help(FILE *file)
{
	fputs("usage: epprof COMMAND [OPTION]... TRACE\n"
	      "\n"
	      "Reads traces (.epp files) that programs record with epprof: the events of the program and of the\n"
	      "accelerators that worked for it, on one timeline.\n"
	      "\n"
	      "Commands:\n",
	      file);
	for (size_t i = 0; i < COMMANDS_COUNT; i++)
		fprintf(file, "  %-9s  %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n"
	      "Examples:\n"
	      "  epprof summary run.epp\n"
	      "  epprof convert -o run.json run.epp    then open run.json in https://ui.perfetto.dev\n"
	      "\n"
	      "'epprof help COMMAND' describes a command; 'epprof --version' prints the version.\n"
	      "A command that takes long shows its progress on a terminal, unless it has the option --quiet.\n"
	      "'epprof --bridge NAME' prints the path of the bridge into a framework: ort (ONNX Runtime),\n"
	      "tf (TensorFlow), pjrt (JAX), kineto (PyTorch).\n"
	      "\n"
	      "Exit status: 0 success; 1 failure; 2 invalid command line; 3 the trace is invalid, or with\n"
	      "--strict events were lost; 5 the trace cannot be read.\n",
	      file);
	return CLI_OK;
}

static const struct cli_command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS_COUNT; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static int explain_unknown(const char *word)
{
	static const char *const options[] = { "--help", "--version", "--bridge", NULL };
	const char *names[COMMANDS_COUNT + 2] = { "help" };
	bool is_option = word[0] == '-';

	for (size_t i = 0; i < COMMANDS_COUNT; i++)
		names[i + 1] = commands[i]->name;
	const char *nearest = cli_nearest(word, is_option ? options : names);
	const char *what = is_option ? "option" : "command";
	if (nearest)
		return cli_misuse(NULL, "unknown %s '%s'; did you mean '%s'?", what, word, nearest);
	return cli_misuse(NULL, "unknown %s '%s'", what, word);
}

static int help(int argc, char **argv)
{
	const struct cli_command *command;

	if (argc < 2 || strcmp(argv[1], "--help") == 0)
		return print_help(stdout);
	command = find_command(argv[1]);
	if (!command)
		return strcmp(argv[1], "help") == 0 ? print_help(stdout) : explain_unknown(argv[1]);
	cli_print_help(command);
	return CLI_OK;
}

static int run(int argc, char **argv)
{
	const struct cli_command *command;

	if (argc < 2) {
		print_help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_help(stdout);
	if (strcmp(argv[1], "--version") == 0) {
		printf("epprof %s\n", epp_version());
		return CLI_OK;
	}
	if (strcmp(argv[1], "--bridge") == 0)
		return argc > 3 ? cli_misuse(NULL, "--bridge has one name") : cli_bridge(argv[2]);
	if (strncmp(argv[1], "--bridge=", 9) == 0)
		return argc > 2 ? cli_misuse(NULL, "--bridge has one name") : cli_bridge(argv[1] + 9);
	if (strcmp(argv[1], "help") == 0)
		return help(argc - 1, argv + 1);
	command = find_command(argv[1]);
	return command ? command->run(argc - 1, argv + 1) : explain_unknown(argv[1]);
}

int main(int argc, char **argv)
{
	/* If standard input, output or error is closed, a file that is opened later could get its descriptor, and
	 * output would go into the file.  So each such descriptor is opened here, in a way that writing to it fails. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
			return CLI_FAILURE;
	}
	/* Names are UTF-8, whatever the user's locale is.  Numbers have the format of the C locale. */
	errno = 0;
	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		if (errno == ENOMEM)
			return cli_failure(epp_status_no_memory());
		setlocale(LC_CTYPE, "");
	}
	return cli_exit_code(run(argc, argv));
}
