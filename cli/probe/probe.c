/* epprof probe: reports which kinds of profiler plugin a library is, and why it cannot be used as one of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "epprof/plugin.h"
#include "probe_try.h"

static const char
    help[] = "usage: epprof probe [OPTION]... LIBRARY...\n"
	     "\n"
	     "Checks for which frameworks a library is a profiler plugin, by the symbols that it exports, and prints\n"
	     "its versions, sizes, and which entries are present and which are missing.  The library is loaded as its\n"
	     "framework would load it, and profiled only with --try.\n"
	     "\n"
	     "Kinds: ort (ONNX Runtime), tf (TensorFlow), pu1 (PyTorch), pjrt (JAX).\n"
	     "\n"
	     "The exit status is 1 if a library is not a plugin, or cannot be used as any kind.\n"
	     "\n"
	     "An execution provider of ONNX Runtime is offered this machine's processor, or the device of --device,\n"
	     "which need not exist, so that a provider that serves only its vendor's devices can be checked too.\n"
	     "\n"
	     "A library whose load or whose entry does not return is given up after EPPROF_PLUGIN_TIMEOUT_MS, 2000 if\n"
	     "it is not set.  A load is tried in another process first; without this trial (EPPROF_PLUGIN_TRIAL=0, or\n"
	     "a blank or colon in the file's name), no other library can be loaded after a load that hangs.\n"
	     "\n"
	     "Options:\n"
	     "  --device TYPE[:vendor=0x8086][:id=N]\n"
	     "                   the device that is offered: cpu, gpu or npu, with the PCI ids of its vendor and itself\n"
	     "  --format FORMAT  text or json\n"
	     "  --try            profile the library for a second, with host events but without a framework, and print\n"
	     "                   how many events came, or why none came; the exit status is 1 if none came\n"
	     "  --work SYMBOL    with --try: call int SYMBOL(int count) of the library to give its device work\n"
	     "  --help           print this text\n";

struct printer {
	bool json;
	bool tries;
	const char *work;      /* name of a function in the library that gives the device work, or NULL */
	unsigned kinds_count;  /* number of kinds printed so far for the current library */
	unsigned facts_count;  /* number of facts printed so far about the current kind */
	unsigned usable_count; /* number of kinds without a problem */
	bool load_hangs;       /* loading the current library did not return in time */
};

static void print_clean(const char *text)
{
	cli_print_clean(stdout, text, strlen(text));
}

/* ---- text ---- */

static void print_text(const epp_plugin_fact *fact)
{
	switch (fact->type) {
	case EPP_FACT_KIND:
		printf("  %s\n", fact->kind);
		return;
	case EPP_FACT_SYMBOL:
		printf("    %s %s", fact->is_present ? "exports" : "does not export", fact->name);
		break;
	case EPP_FACT_NAME:
		fputs("    calls itself ", stdout);
		print_clean(fact->text);
		break;
	case EPP_FACT_VERSION:
		printf("    %s: version ", fact->name);
		print_clean(fact->text);
		break;
	case EPP_FACT_SIZE:
		printf("    %s: %" PRIu64 " bytes", fact->name, fact->bytes);
		if (fact->bytes != fact->known_bytes)
			printf(", %" PRIu64 " in this version", fact->known_bytes);
		break;
	case EPP_FACT_ENTRY:
		printf("    %s %s%s", fact->is_present ? "has" : "lacks", fact->name,
		       fact->is_present || fact->is_required ? "" : ", which is optional");
		break;
	default:
		fputs("    cannot be used: ", stdout);
		print_clean(fact->text);
	}
	putchar('\n');
}

/* ---- JSON: an array of libraries, each with its kinds, each with its facts ---- */

static void print_member(const char *key, const char *text)
{
	printf("\"%s\": ", key);
	cli_json_string(text, strlen(text));
}

static void print_present(const char *what, const epp_plugin_fact *fact)
{
	print_member(what, fact->name);
	printf(", \"present\": %s, \"required\": %s", fact->is_present ? "true" : "false",
	       fact->is_required ? "true" : "false");
}

static void print_json(struct printer *printer, const epp_plugin_fact *fact)
{
	if (fact->type == EPP_FACT_KIND) {
		fputs(printer->kinds_count > 1 ? "\n    ]},\n    {" : "\n    {", stdout);
		print_member("kind", fact->kind);
		fputs(", \"facts\": [", stdout);
		return;
	}
	fputs(printer->facts_count > 1 ? ",\n      {" : "\n      {", stdout);
	switch (fact->type) {
	case EPP_FACT_SYMBOL:
		print_present("symbol", fact);
		break;
	case EPP_FACT_NAME:
		print_member("name", fact->text);
		break;
	case EPP_FACT_VERSION:
		print_member("version", fact->text);
		fputs(", ", stdout);
		print_member("of", fact->name);
		break;
	case EPP_FACT_SIZE:
		print_member("size_of", fact->name);
		printf(", \"bytes\": %" PRIu64 ", \"known_bytes\": %" PRIu64, fact->bytes, fact->known_bytes);
		break;
	case EPP_FACT_ENTRY:
		print_present("entry", fact);
		break;
	default:
		print_member("problem", fact->text);
	}
	putchar('}');
}

/* ---- libraries, one after another ---- */

static void print_fact(void *user, const epp_plugin_fact *fact)
{
	struct printer *printer = user;
	if (fact->type == EPP_FACT_KIND) {
		printer->kinds_count++;
		printer->facts_count = 0;
		printer->usable_count++;
	} else {
		printer->facts_count++;
	}
	if (fact->type == EPP_FACT_PROBLEM)
		printer->usable_count--;
	if (printer->json)
		print_json(printer, fact);
	else
		print_text(fact);
}

static int probe(const char *path, struct printer *printer, bool is_first)
{
	if (printer->json) {
		printf("%s\n  {", is_first ? "" : ",");
		print_member("library", path);
		fputs(", \"kinds\": [", stdout);
	} else {
		print_clean(path);
		putchar('\n');
	}
	printer->kinds_count = printer->usable_count = 0;
	cli_warn_of_writers(path);
	epp_status *trial = epp_plugin_trial_await(path);
	bool was_opened = !trial;
	epp_status_destroy(trial);
	epp_status *status = epp_plugin_probe(path, print_fact, printer);
	if (printer->json) {
		fputs(printer->kinds_count ? "\n    ]}\n  ]" : "]", stdout);
		if (status) {
			fputs(", ", stdout);
			print_member("error", epp_status_message(status));
		}
		putchar('}');
	}
	if (!status && printer->usable_count && printer->tries)
		return probe_try(path, printer->work);
	if (!status)
		return printer->usable_count ? CLI_OK : CLI_FAILURE;
	/* Facts are only printed after the library was loaded, so if there was none, loading did not return. */
	printer->load_hangs = was_opened && epp_status_code(status) == EPP_TIMEOUT && !printer->kinds_count;
	fflush(stdout);
	return cli_failure(status);
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { { "device", required_argument, NULL, 'd' },
		                                      { "format", required_argument, NULL, 'f' },
		                                      { "try", no_argument, NULL, 't' },
		                                      { "work", required_argument, NULL, 'w' },
		                                      { 0 } };
	static const char *const formats[] = { "text", "json", NULL };
	struct cli_options options = { &cli_probe, argc, argv, "f:", long_options, CLI_OK };
	struct printer printer = { 0 };
	int option, code = CLI_OK;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'd') {
			if (!cli_offer_device(&cli_probe))
				return CLI_USAGE;
			continue;
		}
		if (option == 't') {
			printer.tries = true;
			continue;
		}
		if (option == 'w') {
			printer.work = optarg;
			continue;
		}
		int choice = cli_choice(&cli_probe, "--format", formats);
		if (choice < 0)
			return CLI_USAGE;
		printer.json = choice == 1;
	}
	if (optind == argc)
		return cli_misuse(&cli_probe, "which library?");
	if (printer.tries && printer.json)
		return cli_misuse(&cli_probe, "--try prints text, not JSON");
	if (printer.work && !printer.tries)
		return cli_misuse(&cli_probe, "--work is for --try");
	/* An error is ignored.  Loading a plugin that links TensorFlow then fails, and names the missing symbols. */
	epp_status_destroy(epp_tf_shim_load(NULL));
	for (int i = optind; i < argc; i++) {
		char *path = cli_library_path(argv[i]);
		epp_plugin_trial_begin(path);
		free(path);
	}
	if (printer.json)
		putchar('[');
	for (int i = optind; i < argc && !printer.load_hangs; i++) {
		char *path = cli_library_path(argv[i]);
		int result = path ? probe(path, &printer, i == optind) : CLI_FAILURE;
		code = code ? code : result;
		free(path);
	}
	if (printer.json)
		fputs("\n]\n", stdout);
	if (printer.load_hangs) {
		/* exit would wait for ever for the dynamic linker's lock, which the thread that loads still holds. */
		cli_flush();
		_exit(code);
	}
	return code;
}

const struct cli_command cli_probe = {
	.name = "probe", .summary = "checks which kinds of profiler plugin a library is", .help = help, .run = run
};
