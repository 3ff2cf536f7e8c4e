/* Traces as one: nothing is lost or changed, equal ids never meet, accounts add up, what is damaged or cut off is taken
 * as far as it goes, what cannot be merged leaves no file.  Covers trace_merge_definitions.c and
 * the command. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "epprof/trace_writer.h"
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"
#include "tests/support/merging.h"
#include "tests/support/recording.h"

/* ---- made traces: all of them have the same ids ---- */

static void name_file(struct epp_builder *b, char file)
{
	memset(builder_header(b)->file_id, file, sizeof(builder_header(b)->file_id));
}

/* A node, a kernel that it caused on a device with clock pairs, an asynchronous request that another thread ends, an
 * arrow; all names end with the file's letter. */
static void write_everything(char file, enum epf_state state, const char *path)
{
	struct epp_builder *b = builder_create();
	char node[] = "node ?", kernel[] = "kernel ?", request[] = "request ?", key[] = "key ?";
	epp_arg arg = { .type = EPP_ARG_TEXT, .text_bytes = 1 }, number = { .type = EPP_ARG_U64 };

	node[5] = kernel[7] = request[8] = key[4] = file;
	name_file(b, file);
	for (int i = 0; i < (file - 'a') * 7; i++)
		builder_name(b, "some other name");
	arg.key = builder_name(b, key);
	arg.value.text = &file;
	number.key = builder_name(b, "bytes");
	number.value.u64 = 77;
	builder_producer(b, 0, "MyEP");
	uint32_t worker = builder_thread(b, "worker", 11), ender = builder_thread(b, "ender", 12);
	uint32_t stream = builder_track(b,
	                                &(struct epf_track){ .kind = EPF_TRACK_DEVICE,
	                                                     .clock_kind = EPF_TRACK_CLOCK_DEVICE,
	                                                     .clock = 5,
	                                                     .ticks_per_second = 1000000000,
	                                                     .stream = 1 },
	                                "stream", "device");
	epp_name node_name = builder_name(b, node), kernel_name = builder_name(b, kernel);
	uint64_t at = BUILDER_START + 1000;
	for (unsigned i = 0; i < 3000; i++, at += 1000) {
		uint64_t id = builder_event(b, worker, at, 500, EPP_NODE, node_name, &arg, 1);
		uint64_t next = builder_event(b, worker, at + 600, 100, EPP_NODE, node_name, NULL, 0);
		builder_complete(b, stream, at - BUILDER_START + 200, 100, EPP_KERNEL, kernel_name, id, &number, 1);
		builder_flow(b, worker, at + 700, id, next);
	}
	builder_device_pair(b, stream, 0, BUILDER_START, 50);
	builder_device_pair(b, stream, at - BUILDER_START, at, 50);
	uint64_t open = builder_async_begin(b, worker, at, EPP_API, builder_name(b, request));
	builder_async_end(b, ender, open, at + 2000, NULL, 0);
	uint64_t outer = builder_begin(b, worker, at + 3000, EPP_NODE, node_name);
	builder_orphan_end(b, ender, outer, at + 4000, NULL, 0);
	builder_lost(b, worker, EPP_LOSS_NO_BUFFER, (uint64_t)(file - 'a') + 1, 0);
	if (state == EPF_RECORDING)
		builder_begin(b, worker, at + 5000, EPP_NODE, builder_name(b, "open"));
	builder_write(b, state, path);
	builder_destroy(b);
}

/* ---- nothing is changed ---- */

static void check_same(const struct merged_event *was, const struct merged_event *is)
{
	const epp_event *a = &was->event, *b = &is->event;

	if (a->start_ns != b->start_ns || a->duration_ns != b->duration_ns || a->id != b->id || a->parent != b->parent ||
	    strcmp(a->name, b->name) != 0 || strcmp(was->args, is->args) != 0 || a->kind != b->kind ||
	    a->category != b->category || a->placement != b->placement || a->flags != b->flags || a->depth != b->depth ||
	    a->lane != b->lane || strcmp(a->track->name, b->track->name) != 0 || a->track->kind != b->track->kind)
		ck_abort_msg("%s at %" PRId64 " (%" PRIx64 ") became %s at %" PRId64 " (%" PRIx64 ")", a->name,
		             a->start_ns, a->id, b->name, b->start_ns, b->id);
	if (b->start_error_ns < a->start_error_ns || b->start_error_ns > a->start_error_ns + 2)
		ck_abort_msg("%s: its error was %" PRId64 " ns, and is %" PRId64, a->name, a->start_error_ns,
		             b->start_error_ns);
}

START_TEST(one_trace_stays_what_it_was)
{
	char *from = check_path("a.epp");

	write_everything('a', EPF_FINISHED, from);
	epp_trace *trace = open_valid(from), *merged = merging(check_path("m.epp"), NULL, from);
	struct merged_events was = merged_events(trace), is = merged_events(merged);
	ck_assert_uint_eq(is.count, was.count);
	for (size_t i = 0; i < was.count; i++)
		check_same(&was.list[i], &is.list[i]);
	ck_assert_str_eq(epp_trace_get_info(merged)->clock, "merged");
	ck_assert_int_eq(epp_trace_get_info(merged)->epoch_unix_ns, epp_trace_get_info(trace)->epoch_unix_ns);
	free(was.list);
	free(is.list);
	epp_trace_close(trace);
	epp_trace_close(merged);
}
END_TEST

/* Where a processor's counter went back, an event ends at its start, before and after. */
START_TEST(a_clock_that_went_back)
{
	struct epp_builder *b = builder_create();
	char *from = check_path("back.epp");

	name_file(b, 'a');
	uint32_t thread = builder_thread(b, "worker", 11);
	builder_event(b, thread, BUILDER_START + 1000, (uint64_t)-500, EPP_NODE, builder_name(b, "back"), NULL, 0);
	builder_event(b, thread, BUILDER_START + 2000, 300, EPP_NODE, builder_name(b, "after"), NULL, 0);
	builder_run_end(b, BUILDER_START + 10000);
	builder_write(b, EPF_FINISHED, from);
	builder_destroy(b);
	epp_trace *merged = merging(check_path("m.epp"), NULL, from);
	struct merged_events events = merged_events(merged);
	ck_assert_uint_eq(events.count, 2);
	for (size_t i = 0; i < 2; i++)
		ck_assert_int_eq(events.list[i].event.duration_ns, strcmp(events.list[i].event.name, "back") ? 300 : 0);
	free(events.list);
	epp_trace_close(merged);
}
END_TEST

/* ---- what belongs together ---- */

/* The last letter tells the file. */
static char file_of(const char *name)
{
	return name[strlen(name) - 1];
}

static void check_apart(epp_trace *merged, const char *files)
{
	struct merged_events events = merged_events(merged);
	size_t count[8] = { 0 }, flows = 0;

	for (size_t i = 0; i < events.count; i++) {
		const epp_event *event = &events.list[i].event;
		uint32_t source = event->track->source;
		if (source >= strlen(files))
			ck_abort_msg("source %u", source);
		if (!strcmp(event->name, "flow"))
			flows++;
		else if (strcmp(event->name, "open") != 0 && file_of(event->name) != files[source])
			ck_abort_msg("%s in source %u", event->name, source);
		if (event->parent_track && event->parent_track->source != source)
			ck_abort_msg("%s of source %u has a parent in %u", event->name, source,
			             event->parent_track->source);
		if (!strncmp(event->name, "kernel", 6)) {
			count[source]++;
			if (event->flags & (EPP_FLAG_UNCORRELATED | EPP_FLAG_OUTSIDE_PARENT) ||
			    event->start_ns - event->parent_start_ns != 200)
				ck_abort_msg("kernel at %" PRId64 ", its node at %" PRId64, event->start_ns,
				             event->parent_start_ns);
		}
		if (!strncmp(event->name, "request", 7) && event->duration_ns != 2000)
			ck_abort_msg("%s takes %" PRId64, event->name, event->duration_ns);
	}
	for (size_t i = 0; files[i]; i++)
		ck_assert_uint_eq(count[i], 3000);
	ck_assert_uint_eq(flows, 3000 * strlen(files));
	free(events.list);
}

START_TEST(equal_ids_never_meet)
{
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *c = check_path("c.epp"), *m = check_path("m.epp");

	write_everything('a', EPF_FINISHED, a);
	write_everything('b', EPF_FINISHED, b);
	write_everything('c', EPF_FINISHED, c);
	epp_trace *merged = merging(m, NULL, a, b, c);
	check_apart(merged, "abc");
	ck_assert_uint_eq(epp_trace_get_info(merged)->sources_count, 3);
	ck_assert_uint_eq(epp_trace_get_info(merged)->runs_count, 3);
	epp_trace_close(merged);
}
END_TEST

/* Columns instead of rows, before or behind. */
START_TEST(packed_traces)
{
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *packed = check_path("packed.epp"),
	     *m = check_path("m.epp");
	epp_trace *trace;

	write_everything('a', EPF_FINISHED, a);
	write_everything('b', EPF_FINISHED, b);
	check_ok(epp_trace_open(b, &trace));
	check_ok(epp_trace_pack(trace, packed, 1));
	epp_trace_close(trace);
	trace = merging(m, NULL, a, packed);
	check_apart(trace, "ab");
	check_ok(epp_trace_pack(trace, packed, 1));
	epp_trace_close(trace);
	trace = open_valid(packed);
	check_apart(trace, "ab");
	ck_assert_uint_eq(epp_trace_get_info(trace)->producers_count, 2);
	epp_trace_close(trace);
}
END_TEST

START_TEST(merged_traces_are_merged_again)
{
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *c = check_path("c.epp");
	char *ab = check_path("ab.epp"), *abc = check_path("abc.epp");

	write_everything('a', EPF_FINISHED, a);
	write_everything('b', EPF_FINISHED, b);
	write_everything('c', EPF_FINISHED, c);
	epp_trace_close(merging(ab, NULL, a, b));
	epp_trace *merged = merging(abc, NULL, ab, c);
	check_apart(merged, "abc");
	epp_trace_close(merged);
	merged = merging(abc, NULL, c, ab);
	check_apart(merged, "cab");
	epp_trace_close(merged);
	/* The same recording twice, by itself and within a merged trace. */
	check_fails(EPP_INVALID_ARGUMENT, merging_try(abc, NULL, NULL, (const char *const[]){ a, b, a }, 3));
	check_fails(EPP_INVALID_ARGUMENT, merging_try(abc, NULL, NULL, (const char *const[]){ ab, b }, 2));
}
END_TEST

/* ---- accounts ---- */

static epp_trace_ledger_entry account_of(epp_trace *trace, uint32_t source, const char *producer)
{
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };

	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		check_ok(epp_trace_ledger_at(trace, i, &account));
		if (account.source == source && !strcmp(account.producer, producer))
			return account;
	}
	ck_abort_msg("source %u has no account of %s", source, producer);
	return account;
}

START_TEST(each_process_keeps_its_accounts)
{
	char *a = check_path("a.epp"), *b = check_path("b.epp");

	write_everything('a', EPF_FINISHED, a);
	write_everything('b', EPF_FINISHED, b);
	epp_trace *merged = merging(check_path("m.epp"), NULL, a, b);
	for (uint32_t source = 0; source < 2; source++) {
		epp_trace_ledger_entry thread = account_of(merged, source, "thread worker (11)");
		ck_assert(thread.balanced);
		ck_assert_uint_eq(thread.lost[EPP_LOSS_NO_BUFFER], source + 1);
		ck_assert_uint_eq(thread.written, 3 * 3000 + 2);
		epp_trace_ledger_entry plugin = account_of(merged, source, "MyEP");
		ck_assert(plugin.balanced && plugin.is_plugin);
		ck_assert_uint_eq(plugin.emitted, 3000);
	}
	epp_trace_close(merged);
}
END_TEST

/* Thirty-two each, and losses of the session. */
START_TEST(more_profilers_than_a_recording_has)
{
	char label[16];
	const char *paths[3];

	for (int file = 0; file < 3; file++) {
		struct epp_builder *b = builder_create();
		name_file(b, (char)('a' + file));
		for (unsigned i = 0; i < EPF_PRODUCER_COUNT; i++) {
			snprintf(label, sizeof label, "ep %u", i);
			builder_producer(b, i, label)->lost[EPP_LOSS_PLUGIN] = (uint64_t)file * 100 + i;
			builder_producer(b, i, label)->emitted = (uint64_t)file * 100 + i;
			snprintf(builder_producer(b, i, label)->note, 80, "note %d", file);
			uint32_t stream = builder_track(b,
			                                &(struct epf_track){ .kind = EPF_TRACK_DEVICE,
			                                                     .clock_kind = EPF_TRACK_CLOCK_HOST,
			                                                     .producer = (int32_t)i },
			                                label, "");
			builder_complete(b, stream, BUILDER_START + 1, 1, EPP_KERNEL, builder_name(b, "k"), 0, NULL, 0);
		}
		struct epf_ledger_entry session = { .run = 1, .lost[EPP_LOSS_NO_SLOT] = (uint64_t)file + 5 };
		session.lost_idless = session.lost[EPP_LOSS_NO_SLOT];
		builder_block(b, &(struct epf_block){ .type = EPF_BLOCK_LEDGER, .payload_bytes = sizeof session },
		              &session);
		paths[file] = check_path("%d.epp", file);
		builder_write(b, EPF_FINISHED, paths[file]);
		builder_destroy(b);
	}
	epp_trace *merged = merging_ok(check_path("m.epp"), NULL, paths, 3);
	ck_assert_uint_eq(epp_trace_get_info(merged)->producers_count, 96);
	for (uint32_t file = 0; file < 3; file++) {
		epp_trace_ledger_entry account = account_of(merged, file, "ep 31");
		ck_assert_uint_eq(account.lost[EPP_LOSS_PLUGIN], file * 100 + 31);
		ck_assert_uint_eq(account.emitted, file * 100 + 32);
		ck_assert_int_eq(account.note[5], '0' + (int)file);
		ck_assert_uint_eq(account_of(merged, file, "session").lost[EPP_LOSS_NO_SLOT], file + 5);
	}
	epp_trace_close(merged);
	/* A recovered one keeps them. */
	check_ok(epp_trace_open(check_path("m.epp"), &merged));
	check_ok(epp_trace_recover(merged, check_path("r.epp"), 1));
	epp_trace_close(merged);
	merged = open_valid(check_path("r.epp"));
	ck_assert_uint_eq(account_of(merged, 2, "ep 31").lost[EPP_LOSS_PLUGIN], 231);
	ck_assert_uint_eq(account_of(merged, 1, "session").lost[EPP_LOSS_NO_SLOT], 6);
	epp_trace_close(merged);
}
END_TEST

/* ---- what a killed process left ---- */

START_TEST(open_events_end_with_the_last_sign_of_life)
{
	char *a = check_path("a.epp"), *b = check_path("b.epp");

	write_everything('a', EPF_FINISHED, a);
	write_everything('b', EPF_RECORDING, b);
	epp_trace *merged = merging(check_path("m.epp"), NULL, a, b);
	check_apart(merged, "ab");
	struct merged_events events = merged_events(merged);
	const epp_event *open = merged_find(&events, 1, "open");
	ck_assert_uint_eq(open->flags & (EPP_FLAG_UNENDED | EPP_FLAG_OPEN), EPP_FLAG_UNENDED);
	ck_assert(account_of(merged, 1, "thread worker (11)").balanced);
	free(events.list);
	epp_trace_close(merged);
}
END_TEST

/* Cut at any byte: what can be opened is merged, and what comes out is sound. */
START_TEST(cut_traces_are_taken_as_far_as_they_go)
{
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *m = check_path("m.epp");
	unsigned merged_count = 0;

	write_everything('a', EPF_FINISHED, a);
	write_everything('b', EPF_FINISHED, b);
	struct stat st;
	ck_assert_int_eq(stat(b, &st), 0);
	for (off_t bytes = st.st_size; bytes > 0; bytes -= st.st_size / 37) {
		epp_trace *trace;
		ck_assert_int_eq(truncate(b, bytes), 0);
		epp_status *status = epp_trace_open(b, &trace);
		if (status) {
			epp_status_destroy(status);
			continue;
		}
		epp_trace_close(trace);
		status = merging_try(m, NULL, NULL, (const char *const[]){ a, b }, 2);
		check_ok(status);
		check_ok(epp_trace_open(m, &trace));
		struct merged_events events = merged_events(trace);
		for (size_t i = 0; i < events.count; i++)
			ck_assert(!events.list[i].event.parent_track ||
			          events.list[i].event.parent_track->source == events.list[i].event.track->source);
		merged_count++;
		free(events.list);
		epp_trace_close(trace);
	}
	ck_assert_uint_gt(merged_count, 20);
}
END_TEST

/* ---- limits ---- */

/* Seventeen times 65,536 names are more than fit. */
START_TEST(names_have_a_limit)
{
	const epp_merge_options strict = { .struct_size = sizeof strict, .strict = 1 };
	const char *paths[17];
	char paths_room[17][512], name[32];
	epp_merge_counts counts = { .struct_size = sizeof(counts) };
	struct stat st;

	for (unsigned file = 0; file < 17; file++) {
		epp_trace_writer *writer;
		snprintf(paths_room[file], sizeof *paths_room, "%s", check_path("names-%u.epp", file));
		paths[file] = paths_room[file];
		check_ok(epp_trace_writer_create(
		    &(epp_trace_writer_options){ .struct_size = sizeof(epp_trace_writer_options), .path = paths[file] },
		    &writer));
		for (unsigned i = 0; i < 65536; i++)
			epp_trace_writer_intern_name(writer, name, (size_t)snprintf(name, sizeof name, "%u.%u", file, i));
		check_ok(epp_trace_writer_finish(writer, &(epp_trace_pair){ 1, 0, 0, BUILDER_REALTIME_NS },
		                                 &(epp_trace_pair){ 2, 0, 1, BUILDER_REALTIME_NS + 1 }));
		epp_trace_writer_destroy(writer);
	}
	char *m = check_path("m.epp");
	check_ok(merging_try(m, NULL, &counts, paths, 17));
	ck_assert_uint_eq(counts.names_lost, 65536);
	ck_assert_uint_eq(counts.sources, 17);
	ck_assert(strstr(merging_receipt, "65536 names do not fit"));
	unlink(m);
	check_fails(EPP_INCOMPATIBLE, merging_try(m, &strict, &counts, paths, 17));
	ck_assert_int_ne(stat(m, &st), 0);
}
END_TEST

START_TEST(a_full_disk_leaves_no_file)
{
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *m = check_path("full.epp");
	struct rlimit whole, small;
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	write_everything('a', EPF_FINISHED, a);
	write_everything('b', EPF_FINISHED, b);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &whole), 0);
	for (rlim_t limit = 0; limit < 90000; limit += 10007) {
		small = whole;
		small.rlim_cur = limit;
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
		epp_status *status = merging_try(m, NULL, NULL, (const char *const[]){ a, b }, 2);
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &whole), 0);
		ck_assert_int_eq(epp_status_code(status), EPP_IO);
		epp_status_destroy(status);
		ck_assert_int_ne(stat(m, &st), 0);
	}
}
END_TEST

START_TEST(mistakes_are_told)
{
	struct {
		epp_merge_options options;
		int more;
	} newer = { { .struct_size = sizeof newer }, 1 };
	const volatile int cancel = 1;
	const epp_merge_options cancelled = { .struct_size = sizeof cancelled, .cancel = &cancel };
	char *a = check_path("a.epp"), *m = check_path("m.epp");
	epp_trace *trace;
	struct stat st;

	write_everything('a', EPF_FINISHED, a);
	check_ok(epp_trace_open(a, &trace));
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_merge(NULL, 0, m, NULL, NULL, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_merge(&trace, 1, m, &newer.options, NULL, NULL, NULL));
	check_fails(EPP_EXISTS, epp_trace_merge(&trace, 1, a, NULL, NULL, NULL, NULL));
	check_fails(EPP_CANCELLED, epp_trace_merge(&trace, 1, m, &cancelled, NULL, NULL, NULL));
	ck_assert_int_ne(stat(m, &st), 0);
	epp_trace_close(trace);

	epp_session *session = recording_start(check_path("live.epp"));
	check_ok(epp_trace_open(check_path("live.epp"), &trace));
	check_fails(EPP_BUSY, epp_trace_merge(&trace, 1, m, NULL, NULL, NULL, NULL));
	epp_trace_close(trace);
	recording_end(session);
	epp_session_destroy(session);
}
END_TEST

/* ---- the command ---- */

START_TEST(the_command)
{
	char *a = check_path("a.epp"), *b = check_path("b.epp"), *m = check_path("m.epp");

	write_everything('a', EPF_FINISHED, a);
	write_everything('b', EPF_FINISHED, b);
	struct command run = command_run(NULL, "merge", "-o", m, a, b, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	ck_assert_msg(strstr(run.err, "2 processes on 1 machine") != NULL, "%s", run.err);
	command_free(&run);
	run = command_run(NULL, "merge", "-o", m, a, b, NULL);
	ck_assert_int_eq(run.code, 1);
	ck_assert(strstr(run.err, "--force"));
	command_free(&run);
	run = command_run(NULL, "merge", "--force", "-o", a, a, b, NULL);
	ck_assert_int_eq(run.code, 2);
	command_free(&run);
	run = command_run(NULL, "merge", "--force", "--strict", "--align", "barrier", "-o", m, a, b, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_msg(strstr(run.err, "all traces are of one machine: event barrier is not used for alignment") != NULL,
	              "%s", run.err);
	command_free(&run);
	run = command_run(NULL, "info", m, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_msg(strstr(run.out, "Processes") != NULL, "%s", run.out);
	ck_assert_msg(strstr(run.out, "lost  process  producer") != NULL, "%s", run.out);
	command_free(&run);
	run = command_run(NULL, "info", "--format", "json", m, NULL);
	ck_assert_msg(strstr(run.out, "\"balanced\": true, \"source\": 1}") != NULL, "%s", run.out);
	command_free(&run);
	run = command_run(NULL, "validate", m, NULL);
	ck_assert_int_eq(run.code, 0);
	command_free(&run);
}
END_TEST

static void write_on_host(char file, const char *host, uint8_t boot)
{
	static const char damaged[] = "damaged";
	struct epp_builder *b = builder_create();
	struct epf_source *source = &builder_header(b)->source;
	epp_arg arg = { .type = EPP_ARG_TEXT, .value.text = damaged, .text_bytes = strlen(damaged) };

	name_file(b, file);
	snprintf(source->hostname, sizeof source->hostname, "%s", host);
	memset(source->boot_id, boot, sizeof source->boot_id);
	arg.key = builder_name(b, "key");
	builder_event(b, builder_thread(b, "worker", 11), BUILDER_START + 10, 5, EPP_NODE, builder_name(b, "op"), &arg, 1);
	builder_write(b, EPF_FINISHED, check_path("%c.epp", file));
	builder_destroy(b);
}

/* Changes a byte of the arg, so that its block has a wrong checksum. */
static void damage(char file)
{
	size_t bytes;
	char *image = command_file(check_path("%c.epp", file), &bytes);
	char *at = memmem(image, bytes, "damaged", 7);

	ck_assert_ptr_nonnull(at);
	int fd = open(check_path("%c.epp", file), O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "D", 1, at - image), 1);
	close(fd);
	free(image);
}

static struct command merge_files(const char *output, const char *files)
{
	char paths[4][512] = { "" };

	for (size_t i = 0; files[i]; i++)
		snprintf(paths[i], sizeof paths[i], "%s", check_path("%c.epp", files[i]));
	struct command run = command_run(NULL, "merge", "--force", "-o", check_path("%s", output), paths[0], paths[1],
	                                 paths[2][0] ? paths[2] : NULL, paths[3][0] ? paths[3] : NULL, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	return run;
}

static size_t count_of(const char *text, const char *what)
{
	size_t count = 0;
	for (; (text = strstr(text, what)); text++)
		count++;
	return count;
}

/* One machine may have several hosts (containers), and a host several boots. */
START_TEST(hosts_are_counted_by_name_and_boot)
{
	static const char *const hosts[] = { "alpha", "alpha", "beta", "alpha" };
	static const uint8_t boots[] = { 1, 1, 1, 2 };

	for (int i = 0; i < 4; i++)
		write_on_host((char)('a' + i), hosts[i], boots[i]);
	struct command run = merge_files("m.epp", "ab");
	ck_assert_msg(strstr(run.err, "2 processes on 1 machine\n") != NULL, "%s", run.err);
	command_free(&run);
	run = merge_files("m.epp", "abc");
	ck_assert_msg(strstr(run.err, "3 processes on 2 machines\n") != NULL, "%s", run.err);
	command_free(&run);
	/* The hosts of a merged trace count, too. */
	run = merge_files("n.epp", "md");
	ck_assert_msg(strstr(run.err, "4 processes on 3 machines\n") != NULL, "%s", run.err);
	command_free(&run);
	/* Without a name and a boot each trace is one. */
	write_on_host('a', "", 0);
	write_on_host('b', "", 0);
	run = merge_files("m.epp", "ab");
	ck_assert_msg(strstr(run.err, "2 processes on 2 machines\n") != NULL, "%s", run.err);
	command_free(&run);
}
END_TEST

START_TEST(each_sentence_once)
{
	static const char *const hosts[] = { "alpha", "beta", "gamma", "delta" };

	for (int i = 0; i < 4; i++) {
		write_on_host((char)('a' + i), hosts[i], (uint8_t)(1 + i));
		if (i)
			damage((char)('a' + i));
	}
	struct command run = merge_files("m.epp", "abcd");
	ck_assert_uint_eq(count_of(run.err, "WARNING"), count_of(run.err, "b.epp and 2 more: WARNING"));
	ck_assert_msg(count_of(run.err, "the file is damaged") == 1, "%s", run.err);
	ck_assert_msg(count_of(run.err, "the unknown difference") == 1, "%s", run.err);
	command_free(&run);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("trace_merge");
	TCase *tc = tcase_create("trace_merge");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, one_trace_stays_what_it_was);
	tcase_add_test(tc, a_clock_that_went_back);
	tcase_add_test(tc, equal_ids_never_meet);
	tcase_add_test(tc, packed_traces);
	tcase_add_test(tc, merged_traces_are_merged_again);
	tcase_add_test(tc, each_process_keeps_its_accounts);
	tcase_add_test(tc, more_profilers_than_a_recording_has);
	tcase_add_test(tc, open_events_end_with_the_last_sign_of_life);
	tcase_add_test(tc, cut_traces_are_taken_as_far_as_they_go);
	tcase_add_test(tc, names_have_a_limit);
	tcase_add_test(tc, a_full_disk_leaves_no_file);
	tcase_add_test(tc, mistakes_are_told);
	tcase_add_test(tc, the_command);
	tcase_add_test(tc, hosts_are_counted_by_name_and_boot);
	tcase_add_test(tc, each_sentence_once);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
