/* The command line of commands that rewrite a trace: see rewrite.h. */
#include "rewrite.h"

int rewrite_run(const struct cli_command *command, int argc, char **argv, rewrite_fn rewrite)
{
	static const struct option long_options[] = { { "output", required_argument, NULL, 'o' },
		                                      { "in-place", no_argument, NULL, 'i' },
		                                      { "force", no_argument, NULL, '!' },
		                                      { 0 } };
	struct cli_options options = { command, argc, argv, "o:", long_options, CLI_OK };
	const char *output = NULL;
	bool in_place = false, force = false;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'o')
			output = optarg;
		in_place |= option == 'i';
		force |= option == '!';
	}
	const char *input = cli_options_trace(&options);
	if (!input)
		return options.exit;
	if (!output == !in_place)
		return cli_misuse(command, output ? "-o and --in-place exclude each other"
		                                  : "-o FILE.epp or --in-place is missing");
	if (output && !cli_takes_trace(command, output))
		return CLI_USAGE;
	if (output && cli_is_same_file(input, output))
		return cli_misuse(command, "'%s' is the input trace; --in-place replaces it", output);
	output = in_place ? input : output;
	int code = rewrite(input, output, force || in_place);
	if (code == CLI_OK)
		cli_warn_of_writers(output);
	return code;
}
