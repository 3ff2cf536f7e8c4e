/* RunMetadata: devices, threads and nodes of a StepStats, in ns wherever they come from; damage costs what is damaged.
 * */
#include "encoding/step_stats.h"

#include "tests/encoding/protobuf_reader.h"

static void add_text(struct bytes *to, uint32_t field, const char *text)
{
	to->count = (size_t)(protobuf_bytes(to->at + to->count, field, text, strlen(text)) - to->at);
}

static void tell_device(void *user, struct protobuf_string name)
{
	(void)user;
	tell("device %.*s\n", (int)name.bytes, name.bytes ? name.text : "");
}

static void tell_thread(void *user, uint32_t thread_id, struct protobuf_string name)
{
	(void)user;
	tell("thread %u %.*s\n", thread_id, (int)name.bytes, name.text);
}

static void tell_node(void *user, const struct step_stats_node *node)
{
	(void)user;
	tell("%.*s '%.*s' %lld: op %lld to %lld of %lld, thread %u, scheduled %lld, %lld bytes\n",
	     (int)node->name.bytes, node->name.text, (int)node->label.bytes, node->label.bytes ? node->label.text : "",
	     (long long)node->start_ns, (long long)node->op_start_rel_ns, (long long)node->op_end_rel_ns,
	     (long long)node->end_rel_ns, node->thread_id, (long long)node->scheduled_ns, (long long)node->memory_bytes);
}

static const struct step_stats_reader teller = { tell_device, tell_thread, tell_node, NULL };
static struct step_stats_account account;

static epp_status *read_message(const void *bytes, size_t count)
{
	return run_metadata_read(bytes, count, &teller, &account);
}

static void sample(struct bytes *run, bool damaged)
{
	struct bytes node = { .count = 0 }, device = { .count = 0 }, thread = { .count = 0 }, memory = { .count = 0 };
	struct bytes stats = { .count = 0 };
	run->count = 0;
	/* Everything in us. */
	add_text(&node, 1, "MatMul");
	add_number(&node, 2, 1700000000000000);
	add_number(&node, 3, 1);
	add_number(&node, 4, 5);
	add_number(&node, 5, 6);
	add_number(&memory, 2, 4096);
	add(&node, 6, &memory);
	add(&node, 6, &memory);
	add_text(&node, 8, "MatMul(a, \"b\")");
	add_number(&node, 9, 1699999999999999);
	add_number(&node, 10, 3);
	add(&device, 2, &node);
	/* And in ns, which counts where both are. */
	node.count = 0;
	add_text(&node, 1, "Relu");
	add_number(&node, 2, 1);
	add_number(&node, 13, 1700000000000000001);
	add_number(&node, 16, 999);
	if (damaged)
		node.at[node.count++] = 0x78;
	add(&device, 2, &node);
	add_number(&thread, 1, 3);
	add_text(&thread, 2, "stream 3");
	add(&device, 3, &thread);
	add_text(&device, 1, "/device:XPU:0");
	add(&stats, 1, &device);
	add(run, 1, &stats);
}

#define BEFORE \
	"device /device:XPU:0\n" \
	"thread 3 stream 3\n" \
	"MatMul 'MatMul(a, \"b\")' 1700000000000000000: op 1000 to 5000 of 6000, thread 3, " \
	"scheduled 1699999999999999000, 8192 bytes\n"

START_TEST(nodes_are_handed_out_in_ns)
{
	struct bytes run;
	sample(&run, false);
	check_ok(read_of(run.at, run.count));
	ck_assert_str_eq(told, BEFORE "Relu '' 1700000000000000001: op 0 to 0 of 999, thread 0, scheduled 0, 0 bytes\n");
	ck_assert_uint_eq(account.nodes_count, 2);
	check_ok(run_metadata_read(run.at, run.count, &(struct step_stats_reader){ 0 }, &account));
	check_ok(read_of("", 0));
	ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(damage_costs_what_is_damaged)
{
	struct bytes run;
	sample(&run, true);
	check_fails(EPP_CORRUPT, read_of(run.at, run.count));
	ck_assert_str_eq(told, BEFORE);
	for (size_t cut = 1; cut < run.count; cut++)
		check_fails(EPP_CORRUPT, read_of(run.at, cut));
}
END_TEST

START_TEST(any_bytes_are_survived)
{
	struct bytes run;
	sample(&run, false);
	srand48(5);
	for (int round = 0; round < 20000; round++) {
		struct bytes changed = run;
		for (int i = 0; i < 1 + round % 4; i++)
			changed.at[(size_t)lrand48() % run.count] = (char)lrand48();
		void *copy = malloc(run.count);
		memcpy(copy, changed.at, run.count);
		epp_status_destroy(run_metadata_read(copy, run.count, &(struct step_stats_reader){ 0 }, &account));
		free(copy);
	}
	/* A time that cannot be told in ns is none. */
	struct bytes node = { .count = 0 }, device = { .count = 0 }, stats = { .count = 0 };
	add_text(&node, 1, "x");
	add_number(&node, 2, INT64_MAX);
	add(&device, 2, &node);
	add(&stats, 1, &device);
	run.count = 0;
	add(&run, 1, &stats);
	check_ok(read_of(run.at, run.count));
	ck_assert_str_eq(told, "device \nx '' 0: op 0 to 0 of 0, thread 0, scheduled 0, 0 bytes\n");
}
END_TEST

static Suite *step_stats_suite(void)
{
	Suite *suite = suite_create("step_stats");
	TCase *tests = tcase_create("step_stats");
	tcase_add_test(tests, nodes_are_handed_out_in_ns);
	tcase_add_test(tests, damage_costs_what_is_damaged);
	tcase_add_test(tests, any_bytes_are_survived);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(step_stats_suite)
