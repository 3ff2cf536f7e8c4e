/* Runs one export: checks the options, writes the output, and prints messages about it. */
#include "conversion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accounts.h"
#include "post.h"

/* Returns true if the error is about the trace and not about the output. */
static bool is_of_trace(epp_code code)
{
	return code == EPP_CORRUPT || code == EPP_INCOMPATIBLE;
}

int conversion_explain(epp_status *status)
{
	epp_code code = epp_status_code(status);

	if (cli_signal)
		return cli_interrupted(status);
	if (is_of_trace(code))
		return cli_unreadable(status);
	return cli_not_written(status);
}

int conversion_judge(const struct conversion *conversion, const struct accounts *accounts, bool left_out)
{
	if (conversion->strict)
		return accounts_strict(accounts) == CLI_OK && !left_out ? CLI_OK : CLI_INVALID;
	accounts_warn(accounts);
	return CLI_OK;
}

void conversion_init(struct conversion *conversion, const struct cli_command *command)
{
	*conversion = (struct conversion){ .command = command,
		                           .window.struct_size = sizeof(epp_timeline_options),
		                           .options.struct_size = sizeof(epp_export_options),
		                           .to_ns = INT64_MAX };
}

bool conversion_option(struct conversion *conversion, int option)
{
	switch (option) {
	case 'o':
		conversion->output = optarg;
		break;
	case 'F':
		return cli_time(conversion->command, "--from", &conversion->from_ns);
	case 'T':
		return cli_time(conversion->command, "--to", &conversion->to_ns);
	case 'D':
		return cli_time(conversion->command, "--min-duration", &conversion->options.min_duration_ns);
	case 'N':
		conversion->options.name = optarg;
		break;
	case 'K':
		conversion->options.track = optarg;
		break;
	case 'P':
		conversion->options.process = optarg;
		break;
	case 'Q':
		conversion->window.trace_id = optarg;
		break;
	case '!':
		conversion->force = true;
		break;
	case 'S':
		conversion->strict = true;
		break;
	default:
		break;
	}
	return true;
}

int conversion_check(struct conversion *conversion)
{
	if (conversion->to_ns <= conversion->from_ns)
		return cli_misuse(conversion->command, "--to must be later than --from");
	if (!*conversion->output)
		return cli_misuse(conversion->command, "-o '': the file name is empty");
	if (cli_is_same_file(conversion->input, conversion->output))
		return cli_misuse(conversion->command, "'%s' is the input trace", conversion->output);
	if (conversion->from_ns != 0 || conversion->to_ns != INT64_MAX) {
		conversion->window.from_ns = conversion->from_ns;
		conversion->window.to_ns = conversion->to_ns;
	}
	return CLI_OK;
}

/* Exports a trace to conversion->post.  If sending a message failed, returns the error of the sending, because that of
 * the export does not contain the reason. */
static epp_status *post_export(const struct conversion *conversion, const epp_export_options *options, epp_trace *trace,
                               bool *left_out)
{
	struct post *post;
	bool is_protobuf = strcmp(conversion->format, "otlp-proto") == 0;
	epp_status *status = post_create(conversion->post, is_protobuf, conversion->post_limit_ns, &post);

	if (status)
		return status;
	status = epp_export(trace, conversion->format, options, post_write, post, cli_print_receipt, left_out);
	epp_status *reason = post_status(post);
	post_destroy(post);
	if (!reason)
		return status;
	epp_status_destroy(status);
	return reason;
}

int conversion_run(const struct conversion *conversion)
{
	epp_export_options options = conversion->options;
	const char *output = conversion->output;
	char size[CLI_NUMBER_BYTES];
	struct accounts accounts;
	bool left_out = false;
	struct stat st;
	epp_trace *trace;

	options.timeline = &conversion->window;
	options.cancel = &cli_signal;
	int code = cli_open(conversion->input, &trace);
	if (code != CLI_OK)
		return code;
	cli_catch_signals();
	if (strcmp(output, "-") == 0 && isatty(STDOUT_FILENO))
		cli_progress_end();
	epp_status *status = accounts_add_up(&accounts, trace);
	if (!status && conversion->post)
		status = post_export(conversion, &options, trace, &left_out);
	else if (!status)
		status = epp_export_file(trace, conversion->format, &options, output, conversion->force,
		                         cli_print_receipt, &left_out);
	cli_progress_end();
	if (status)
		code = conversion_explain(status);
	else if (!conversion->post && strcmp(output, "-") != 0 && stat(output, &st) == 0 && S_ISREG(st.st_mode))
		fprintf(stderr, "epprof: wrote %s: %s, %s\n", output, conversion->format,
		        cli_bytes((uint64_t)st.st_size, size));
	if (!status && !conversion->post && strcmp(output, "-") != 0)
		cli_warn_of_writers(output);
	if (code == CLI_OK)
		code = conversion_judge(conversion, &accounts, left_out);
	epp_trace_close(trace);
	return code;
}

/* Returns the input's name with `extension` in the place of ".epp".  Ownership: the caller frees it.  NULL: no
 * memory. */
static char *name_beside(const char *input, const char *extension)
{
	size_t bytes = strlen(input);
	char *name;

	if (bytes > 4 && strcmp(input + bytes - 4, ".epp") == 0)
		bytes -= 4;
	return asprintf(&name, "%.*s%s", (int)bytes, input, extension) < 0 ? NULL : name;
}

int conversion_run_beside(struct conversion *conversion, const char *extension)
{
	char *name = NULL;

	if (!conversion->output)
		conversion->output = name = name_beside(conversion->input, extension);
	if (!conversion->output)
		return cli_failure(epp_status_no_memory());
	int code = conversion_check(conversion);
	if (code == CLI_OK)
		code = conversion_run(conversion);
	free(name);
	return code;
}
