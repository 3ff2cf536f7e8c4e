/* epprof anonymize: writes a trace without the names of its model and its machine. */
#include "epprof/anonymize.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "cli/shared/accounts.h"

static const char
    help[] = "usage: epprof anonymize [OPTION]... --key FILE -o FILE.epp TRACE\n"
	     "\n"
	     "Writes a trace that can be given to others.  It keeps the parts of a list of harmless ones, and no others:\n"
	     "names become words that depend on the key, args are left out unless their key is on a list, and host, user,\n"
	     "paths, process numbers, boot and time of day are removed.  Times, counts and losses are kept, so summary,\n"
	     "diff and advise show the same numbers.  Traces with the same key have the same words and can be compared.\n"
	     "\n"
	     "The output is searched for the texts of the trace before it gets its name: if there is one, no file is\n"
	     "written.  Standard output lists what was kept.  The output is unpacked; 'epprof pack' makes it smaller.\n"
	     "\n"
	     "A key is a file of at least 16 bytes that nobody can guess:\n"
	     "  (umask 077; head -c 32 /dev/urandom >key)\n"
	     "Keep it, and give it to nobody: with it, guessed names can be tested.\n"
	     "\n"
	     "Options:\n"
	     "  -o, --output FILE  the output file\n"
	     "  --key FILE         the secret key\n"
	     "  --keep-ops         keep standard operator names of ONNX (Conv, MatMul) where an arg states the operator\n"
	     "  --round-shapes     round dimensions and sizes of tensors up to powers of two\n"
	     "  --force            replace FILE if it exists\n"
	     "  --help             print this text\n";

/* The largest size of a key. */
#define KEY_BYTES_MAX (1u << 20)

/* Reads the key from a file.  Ownership: the caller frees *key, which is NULL on failure. */
static epp_status *read_key(const char *path, void **key, size_t *bytes)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	epp_status *status = NULL;

	*key = NULL;
	*bytes = 0;
	if (fd < 0)
		return epp_status_errno(errno, "%s", path);
	if (fstat(fd, &st) < 0)
		status = epp_status_errno(errno, "%s", path);
	else if (!S_ISREG(st.st_mode))
		status = epp_status_create(EPP_INVALID_ARGUMENT, "%s: not a regular file", path);
	else if (!(*key = malloc(KEY_BYTES_MAX)))
		status = epp_status_no_memory();
	while (!status && *bytes < KEY_BYTES_MAX) {
		ssize_t got = read(fd, (char *)*key + *bytes, KEY_BYTES_MAX - *bytes);
		if (got < 0 && errno != EINTR)
			status = epp_status_errno(errno, "%s", path);
		if (!got)
			break;
		*bytes += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (!status && *bytes == KEY_BYTES_MAX)
		status = epp_status_create(EPP_INVALID_ARGUMENT, "%s: a key is smaller than 1 MiB", path);
	if (!status && *bytes < EPP_ANONYMIZE_KEY_BYTES_LEAST)
		status = epp_status_create(EPP_INVALID_ARGUMENT, "%s: a key has at least %u bytes, this file has %zu",
		                           path, EPP_ANONYMIZE_KEY_BYTES_LEAST, *bytes);
	if (status) {
		free(*key);
		*key = NULL;
	}
	return status;
}

static void print_receipt(void *user, const char *text)
{
	(void)user;
	cli_progress_hide();
	puts(text);
}

static void print_counts(const epp_anonymize_counts *counts)
{
	char args[CLI_COUNTED_BYTES], keys[CLI_COUNTED_BYTES], notes[CLI_COUNTED_BYTES];

	printf("kept: %s\n", cli_counted(counts->args_kept, "arg", args));
	printf("replaced: %s, %s\n", cli_counted(counts->names_replaced, "name", args),
	       cli_counted(counts->numbers_replaced, "number", keys));
	printf("left out: %s with %s, %s; host, boot, time of day\n", cli_counted(counts->args_dropped, "arg", args),
	       cli_counted(counts->keys_dropped, "key", keys), cli_counted(counts->notes_dropped, "note", notes));
}

static int explain_failure(epp_status *status)
{
	if (cli_signal)
		return cli_interrupted(status);
	return epp_status_code(status) == EPP_CORRUPT ? cli_unreadable(status) : cli_not_written(status);
}

static int anonymize(const char *input, const char *output, const epp_anonymize_options *options)
{
	epp_anonymize_counts counts = { .struct_size = sizeof counts };
	struct accounts accounts;
	char records[CLI_COUNTED_BYTES];
	epp_trace *trace;

	int code = cli_open(input, &trace);
	if (code != CLI_OK)
		return code;
	cli_catch_signals();
	epp_status *status = accounts_add_up(&accounts, trace);
	if (status) {
		code = cli_unreadable(status);
	} else if ((status = epp_trace_anonymize(trace, output, options, print_receipt, NULL, &counts)) != NULL) {
		cli_progress_end();
		code = explain_failure(status);
	} else {
		cli_progress_end();
		print_counts(&counts);
		fprintf(stderr, "epprof: wrote %s: %s\n", output, cli_counted(counts.records, "record", records));
		accounts_warn(&accounts);
		cli_warn_of_writers(output);
	}
	epp_trace_close(trace);
	return code;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "output", required_argument, NULL, 'o' }, { "key", required_argument, NULL, 'k' },
		{ "keep-ops", no_argument, NULL, 'O' },     { "round-shapes", no_argument, NULL, 'R' },
		{ "force", no_argument, NULL, '!' },        { 0 }
	};
	struct cli_options options = { &cli_anonymize, argc, argv, "o:", long_options, CLI_OK };
	epp_anonymize_options anonymize_options = { .struct_size = sizeof anonymize_options, .cancel = &cli_signal };
	const char *output = NULL, *key_path = NULL;
	void *key;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'o')
			output = optarg;
		if (option == 'k')
			key_path = optarg;
		anonymize_options.keep_ops |= option == 'O';
		anonymize_options.round_shapes |= option == 'R';
		anonymize_options.overwrite |= option == '!';
	}
	const char *input = cli_options_trace(&options);
	if (!input)
		return options.exit;
	if (!output)
		return cli_misuse(&cli_anonymize, "-o FILE.epp is missing");
	if (!key_path)
		return cli_misuse(&cli_anonymize, "--key FILE is missing");
	if (!cli_takes_trace(&cli_anonymize, output))
		return CLI_USAGE;
	if (cli_is_same_file(input, output))
		return cli_misuse(&cli_anonymize, "'%s' is the input trace", output);
	if (cli_is_same_file(key_path, output))
		return cli_misuse(&cli_anonymize, "'%s' is the key", output);
	epp_status *status = read_key(key_path, &key, &anonymize_options.key_bytes);
	if (status)
		return cli_failure(status);
	anonymize_options.key = key;
	int code = anonymize(input, output, &anonymize_options);
	explicit_bzero(key, anonymize_options.key_bytes);
	free(key);
	return code;
}

const struct cli_command cli_anonymize = {
	.name = "anonymize", .summary = "writes a trace without names, to be given to others", .help = help, .run = run
};
