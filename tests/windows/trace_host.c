/* Records a trace on one system and reads it on another: check_windows_trace compares what both print.
 *
 *   trace_host record FILE      four threads with args, nested and open events, an instant
 *   trace_host read FILE        validates it, and prints its ledger
 *   trace_host abandon FILE N   the first with N pairs of events, and the process ends without the session's end
 *   trace_host utf8 FOLDER      both, with a file in this folder whose name is not ASCII
 *   trace_host events N CODE    N events in the session of EPPROF_OUTPUT; exits with this code
 *   trace_host events N CODE FILE  the same, and waits until the file exists
 *   trace_host linger N FILE    the same events; then creates FILE.began, and waits until FILE exists
 *   trace_host arguments ...    prints its arguments */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "epprof/epprof.h"
#include "epprof/trace_reader.h"

#define THREADS 4
#define EVENTS 50000

static int events = EVENTS;
static int abandons;

static epp_session *session;
static epp_name outer, inner, key;

static int failed(epp_status *status)
{
	if (status)
		printf("failed: %s\n", epp_status_message(status));
	return status != NULL;
}

static void *work(void *unused)
{
	char text[] = "a text with \"quotes\" and \xc3\xa4";
	epp_event_begin(session, EPP_NODE, outer); /* stays open */
	for (int i = 0; i < events; i++) {
		epp_arg arg = { .key = key, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = sizeof(text) - 1 };
		uint64_t first = epp_event_begin(session, EPP_NODE, outer);
		uint64_t second = epp_event_begin(session, EPP_KERNEL, inner);
		epp_event_end(session, second, &arg, i % 16 == 0);
		epp_event_end(session, first, NULL, 0);
	}
	return unused;
}

static int record(const char *path)
{
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1, .lossless = 1 };
	pthread_t threads[THREADS];
	outer = epp_name_intern("outer");
	inner = epp_name_intern("inner \"quoted\"");
	key = epp_name_intern("key");
	if (failed(epp_session_create(&options, &session)) || failed(epp_session_start(session)))
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (abandons)
		_exit(0);
	int failure = failed(epp_session_end(session));
	epp_session_destroy(session);
	return failure;
}

static void print_finding(void *user, const epp_trace_finding *finding)
{
	(void)user;
	if (finding->severity != EPP_NOTE)
		printf("at %llu: %s\n", (unsigned long long)finding->offset, finding->text);
}

static int read_trace(const char *path)
{
	epp_trace *trace;
	uint64_t errors;
	if (failed(epp_trace_open(path, &trace)) || failed(epp_trace_validate(trace, print_finding, NULL, &errors)))
		return 1;
	uint64_t emitted = 0, written = 0, lost = 0, open = 0;
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry entry = { .struct_size = sizeof(entry) };
		if (failed(epp_trace_ledger_at(trace, i, &entry)))
			return 1;
		emitted += entry.emitted;
		written += entry.written;
		lost += entry.lost_total;
		open += entry.open;
	}
	printf("errors %llu, emitted %llu, written %llu, lost %llu, open %llu\n", (unsigned long long)errors,
	       (unsigned long long)emitted, (unsigned long long)written, (unsigned long long)lost,
	       (unsigned long long)open);
	epp_trace_close(trace);
	return errors != 0;
}

/* Records into the session that EPPROF_OUTPUT opens. */
static void record_events(long wanted)
{
	epp_name work_name = epp_name_intern("work");
	for (long i = 0; i < wanted; i++)
		epp_event_end(NULL, epp_event_begin(NULL, EPP_NODE, work_name), NULL, 0);
}

/* Here and below, a function in brackets is the C library's, because DLLs do not export epprof's. */
static void await_file(const char *path)
{
	while ((access)(path, 0) != 0)
		usleep(10000);
}

static int linger(const char *path)
{
	char began[1024];
	snprintf(began, sizeof(began), "%s.began", path);
	FILE *file = (fopen)(began, "w");
	if (!file)
		return 1;
	(fclose)(file);
	await_file(path);
	return 0;
}

int main(int count, char **arguments)
{
	if ((count == 4 || count == 5) && !strcmp(arguments[1], "events")) {
		record_events(strtol(arguments[2], NULL, 10));
		if (count == 5)
			await_file(arguments[4]);
		return (int)strtol(arguments[3], NULL, 10);
	}
	if (count == 4 && !strcmp(arguments[1], "linger")) {
		record_events(strtol(arguments[2], NULL, 10));
		return linger(arguments[3]);
	}
	if (count > 1 && !strcmp(arguments[1], "arguments")) {
		for (int i = 2; i < count; i++)
			printf("[%s]\n", arguments[i]);
		return 0;
	}
	if (count == 3 && !strcmp(arguments[1], "record"))
		return record(arguments[2]);
	if (count == 3 && !strcmp(arguments[1], "read"))
		return read_trace(arguments[2]);
	if (count == 4 && !strcmp(arguments[1], "abandon")) {
		abandons = 1;
		events = (int)strtol(arguments[3], NULL, 10);
		return record(arguments[2]);
	}
	if (count == 3 && !strcmp(arguments[1], "utf8")) {
		char path[1024];
		snprintf(path, sizeof(path), "%s/\xc3\xa4.epp", arguments[2]);
		return record(path) || read_trace(path);
	}
	fputs("usage: trace_host record|read|utf8 PATH, or abandon PATH N\n", stderr);
	return 2;
}
