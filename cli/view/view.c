/* epprof view: shows a trace in Perfetto's viewer, or its report, and leaves no file behind.
 *
 * The trace is exported once into a temporary file without a name, which the command serves on 127.0.0.1 only.  The
 * browser opens a page of this server.  The page opens ui.perfetto.dev in a window and passes the trace to it with
 * postMessage, inside the browser, so that the trace is not sent over a network. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "epprof/export.h"
#include "serve.h"

#define PERFETTO "https://ui.perfetto.dev"

extern char **environ;

static const char help[] = "usage: epprof view [OPTION]... TRACE\n"
			   "\n"
			   "Opens a trace in a browser, in Perfetto's viewer, and serves it until Ctrl-C.  It serves on 127.0.0.1 only;\n"
			   "the URL contains a random token.  The trace is not sent to any other machine.\n"
			   "\n"
			   "Options:\n"
			   "  --report       open the trace's report instead, which needs no network\n"
			   "  --no-open      only print the URL\n"
			   "  --trace-id ID  only events of requests with this W3C trace id\n"
			   "  --help         print this text\n";

static const char page[] = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>epprof view</title>\n"
			   "<style>body{color-scheme:light dark;max-width:34em;margin:18vh auto;padding:0 2em;font:16px/1.6 system-ui,sans-serif}"
			   "button{padding:.5em 1.2em;font:inherit}</style>\n"
			   "<h1>epprof view</h1>\n<p id=\"state\">Reading the trace ...</p>\n"
			   "<p><button id=\"open\" hidden>Open in Perfetto</button></p>\n"
			   "<script>\n"
			   "const state = document.getElementById('state'), button = document.getElementById('open');\n"
			   "const viewer = '" PERFETTO "';\n"
			   "async function main() {\n"
			   "\tconst buffer = await (await fetch('trace')).arrayBuffer();\n"
			   "\tconst open = () => {\n"
			   "\t\tconst other = window.open(viewer);\n"
			   "\t\tif (!other)\n"
			   "\t\t\treturn false;\n"
			   "\t\tconst asking = setInterval(() => other.postMessage('PING', viewer), 50);\n"
			   "\t\tconst answered = (event) => {\n"
			   "\t\t\tif (event.origin !== viewer || event.data !== 'PONG' || event.source !== other)\n"
			   "\t\t\t\treturn;\n"
			   "\t\t\tclearInterval(asking);\n"
			   "\t\t\twindow.removeEventListener('message', answered); // it answers every question\n"
			   "\t\t\tother.postMessage({ perfetto: { buffer, title: 'epprof' } }, viewer);\n"
			   "\t\t\tstate.textContent = 'The trace is in the other window.';\n"
			   "\t\t};\n"
			   "\t\twindow.addEventListener('message', answered);\n"
			   "\t\tstate.textContent = 'Waiting for ' + viewer + ' ...';\n"
			   "\t\treturn true;\n"
			   "\t};\n"
			   "\tbutton.hidden = false;\n"
			   "\tbutton.onclick = open;\n"
			   "\tstate.textContent = (buffer.byteLength / 1e6).toFixed(1) + ' MB are ready.';\n"
			   "\topen();\n"
			   "}\n"
			   "main().catch((error) => { state.textContent = error.message; });\n"
			   "</script>\n</html>\n";

/* ---- the export ---- */

static size_t write_all(const void *bytes, size_t count, void *user)
{
	size_t written = 0;

	while (written < count) {
		ssize_t piece = write(*(int *)user, (const char *)bytes + written, count - written);
		if (piece < 0 && errno == EINTR)
			continue;
		if (piece <= 0)
			break;
		written += (size_t)piece;
	}
	return written;
}

/* Opens a new file without a name, which is removed from the disk when it is closed.  Returns its descriptor, or -1 and
 * sets errno. */
static int open_unnamed_file(void)
{
	const char *directory = secure_getenv("TMPDIR");
	char path[4096];

	directory = directory && directory[0] ? directory : "/tmp";
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	snprintf(path, sizeof path, "%s/epprof-view-XXXXXX", directory);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* Exports into a new file without a name and sets *fd to its descriptor.  Returns an enum cli_exit. */
static int export_trace(const char *input, const char *format, const char *trace_id, int *fd, uint64_t *bytes)
{
	const epp_timeline_options window = { .struct_size = sizeof window, .trace_id = trace_id };
	const epp_export_options options = { .struct_size = sizeof options, .timeline = &window, .cancel = &cli_signal };
	struct stat st;
	epp_trace *trace;

	int code = cli_open(input, &trace);
	if (code != CLI_OK)
		return code;
	*fd = open_unnamed_file();
	epp_status *status = *fd < 0 ? epp_status_create(EPP_IO, "a temporary file: %s", strerror(errno))
	                             : epp_export(trace, format, &options, write_all, fd, cli_print_receipt, NULL);
	epp_trace_close(trace);
	cli_progress_end();
	if (!status && fstat(*fd, &st) < 0)
		status = epp_status_create(EPP_IO, "the temporary file: %s", strerror(errno));
	if (status)
		return epp_status_code(status) == EPP_CORRUPT ? cli_unreadable(status) : cli_failure(status);
	*bytes = (uint64_t)st.st_size;
	return CLI_OK;
}

/* ---- the browser ---- */

/* Starts the browser and does not wait for its end, because the command may be the browser itself.  The browser is in
 * another process group, so that Ctrl-C does not end it. */
static void open_browser(const char *url)
{
	char name[] = "xdg-open", address[SERVER_URL_BYTES];
	char *const argv[] = { name, address, NULL };
	posix_spawnattr_t attributes;
	int error;
	pid_t pid;

	snprintf(address, sizeof address, "%s", url);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	error = posix_spawnp(&pid, name, NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	if (error)
		fprintf(stderr, "epprof: xdg-open: %s; open the address in a browser\n", strerror(error));
}

static int serve(const struct served_file *files, size_t files_count, const char *origin, bool open)
{
	struct server server;
	char url[SERVER_URL_BYTES];
	epp_status *status = server_open(&server, files, files_count, origin);

	if (status)
		return cli_failure(status);
	printf("%s\n", server_url(&server, url));
	fprintf(stderr, "epprof: serving until Ctrl-C\n");
	if (cli_flush()) {
		if (open)
			open_browser(url);
		/* SIGPIPE is ignored, because a browser may close the connection in the middle of the trace. */
		signal(SIGPIPE, SIG_IGN);
		status = server_run(&server, &cli_signal);
	}
	server_close(&server);
	return status ? cli_failure(status) : CLI_OK;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = { { "report", no_argument, NULL, 'r' },
		                                      { "no-open", no_argument, NULL, 'n' },
		                                      { "trace-id", required_argument, NULL, 'Q' },
		                                      { 0 } };
	struct cli_options options = { &cli_view, argc, argv, "", long_options, CLI_OK };
	struct served_file file = { .fd = -1 };
	const char *trace_id = NULL;
	bool report = false, open = true;
	int option;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		report = report || option == 'r';
		open = open && option != 'n';
		if (option == 'Q')
			trace_id = optarg;
	}
	const char *input = cli_options_trace(&options);
	if (!input)
		return options.exit;
	cli_catch_signals();
	int code = export_trace(input, report ? "html" : "perfetto", trace_id, &file.fd, &file.count);
	if (code == CLI_OK && report) {
		file.name = "";
		file.type = "text/html; charset=utf-8";
		code = serve(&file, 1, NULL, open);
	} else if (code == CLI_OK) {
		file.name = "trace";
		file.type = "application/octet-stream";
		const struct served_file files[] = {
			{ .name = "",
			  .type = "text/html; charset=utf-8",
			  .bytes = page,
			  .count = sizeof page - 1,
			  .policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'" },
			file,
		};
		code = serve(files, 2, PERFETTO, open);
	}
	if (file.fd >= 0)
		close(file.fd);
	return code;
}

const struct cli_command cli_view = {
	.name = "view", .summary = "opens a trace in Perfetto's viewer", .help = help, .run = run
};
