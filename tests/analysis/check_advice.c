/* Advice against planted truth: a trace with one known fault must give the finding of its rule with the planted gain,
 * the same gain in SQL, and no other finding; a trace without a fault must give none. */
#include <string.h>

#include "epprof/advice.h"
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"
#include "tests/support/sql_text.h"

#define US 1000
#define MS 1000000
#define RUNS 40
#define KERNELS 5

/* A program that runs a model, always one run ahead of its device: no kernel waits for its launch. */
struct scene {
	struct epp_builder *builder;
	uint32_t thread, stream, other;
	epp_name run, launch, gemm, copy, copy_out, prepare, node, bytes;
	uint64_t host, device; /* ticks until which they are busy */
};

/* What the planted fault changes. */
struct fault {
	int64_t gap_ns; /* the host is late by this before each 10th run, because: */
	enum { GAP_LATE, GAP_IDLE, GAP_SYNCHRONISED, GAP_ON_CPU, GAP_ALLOCATES } gap;
	int64_t copy_ns;     /* each run waits for a copy of this length, which nothing overlaps */
	uint64_t copy_bytes; /* of that copy, which a node launches; 0: it is not known */
	enum {
		COPY_EACH_RUN,
		COPY_OTHER_SIZES,
		COPY_SOME_RUNS,
		COPY_MORE_ONCE,
		COPY_OUT,
		COPY_OVERLAPPED,
		COPY_BLOCKS,    /* the call that launches it returns after its end */
		COPY_WAITED,    /* the host waits for it */
		COPY_SUBMITTED, /* the node submits it with its kernels, and prepares it */
		COPY_HIDDEN     /* it runs while the host does other work */
	} copied;
	int64_t prepare_ns;     /* the host prepares that copy for this time before it starts */
	int64_t between_ns;     /* the host does other work for this time between that copy and the first kernel */
	bool copied_twice;      /* there is another copy behind it, of another size */
	bool copied_once;       /* only the first run has that copy */
	bool synchronous;       /* the host waits for the device at the end of each run */
	int64_t fallback_ns;    /* each 10th run has a node on the processor, which takes this, between two kernels */
	int64_t overlapped_ns;  /* a copy of this length beside the kernels of each run */
	int64_t outlier_ns;     /* one kernel takes this much longer */
	int64_t warm_up_ns;     /* the first two runs take this much longer on the host */
	uint64_t half_width_ns; /* of the device's clock; 0: it is the host's */
	bool tiny;              /* a kernel is 100 of 5 us, each with 5 us behind it */
	bool serial;            /* kernels alternate between two streams, and never overlap */
	int64_t workers_ns;     /* two threads beside, of which the second takes this much longer for each event */
	int64_t period_ns;      /* runs are launched at this interval */
};

static struct scene scene_create(const struct fault *fault)
{
	struct epp_builder *builder = builder_create();
	uint32_t clock = fault->half_width_ns ? EPF_TRACK_CLOCK_DEVICE : EPF_TRACK_CLOCK_HOST;
	struct scene scene = { .builder = builder,
		               .thread = builder_thread(builder, "main", 1),
		               .stream = builder_device(builder, "stream 1", "Accelerator", 0, 1, clock),
		               .run = builder_name(builder, "model_run"),
		               .launch = builder_name(builder, "launch"),
		               .gemm = builder_name(builder, "gemm \"a\""),
		               .copy = builder_name(builder, "copy in"),
		               .copy_out = builder_name(builder, "copy out"),
		               .prepare = builder_name(builder, "prepare"),
		               .node = builder_name(builder, "node \"w\""),
		               .bytes = builder_name(builder, "bytes"),
		               .host = BUILDER_START,
		               .device = BUILDER_START };

	if (fault->copy_ns || fault->overlapped_ns || fault->serial || fault->fallback_ns)
		scene.other = builder_device(builder, "stream 2", "Accelerator", 0, 2, clock);
	return scene;
}

/* The host is late: the device has done all its work before the host begins its next. */
static void add_gap(struct scene *scene, const struct fault *fault)
{
	const epp_arg provider = { .key = builder_name(scene->builder, "provider"),
		                   .type = EPP_ARG_TEXT,
		                   .text_bytes = 20,
		                   .value.text = "CPUExecutionProvider" };
	epp_name name = scene->prepare;
	uint64_t ns = (uint64_t)fault->gap_ns;

	if (fault->gap == GAP_SYNCHRONISED) {
		builder_event(scene->builder, scene->thread, scene->device - MS, MS + 10 * US, EPP_API,
		              builder_name(scene->builder, "deviceSynchronize"), NULL, 0);
	}
	scene->host = scene->device + (fault->gap == GAP_SYNCHRONISED ? 10 * US : 0);
	if (fault->gap == GAP_ALLOCATES)
		name = builder_name(scene->builder, "deviceMalloc");
	if (fault->gap != GAP_IDLE)
		builder_event(scene->builder, scene->thread, scene->host, ns, EPP_NODE, name, &provider,
		              fault->gap == GAP_ON_CPU);
	scene->host += ns;
}

static uint64_t host_event(struct scene *scene, int64_t ns, unsigned category, epp_name name)
{
	uint64_t id = builder_event(scene->builder, scene->thread, scene->host, (uint64_t)ns, category, name, NULL, 0);

	scene->host += (uint64_t)ns;
	return id;
}

static void device_event(struct scene *scene, uint32_t stream, int64_t ns, epp_name name, uint64_t parent)
{
	if (scene->device < scene->host)
		scene->device = scene->host;
	builder_complete(scene->builder, stream, scene->device, (uint64_t)ns, EPP_KERNEL, name, parent, NULL, 0);
	scene->device += (uint64_t)ns;
}

/* A copy that a node launches.  Before it the device is idle, unless it overlaps with the last kernel. */
static void add_copy(struct scene *scene, const struct fault *fault, unsigned number)
{
	const epp_arg bytes = { .key = scene->bytes,
		                .type = EPP_ARG_U64,
		                .value.u64 = fault->copy_bytes + (fault->copied == COPY_OTHER_SIZES ? number : 0) };
	epp_name name = fault->copied == COPY_OUT ? scene->copy_out : scene->copy;
	unsigned count = fault->copied == COPY_SOME_RUNS                  ? number % 2
	                 : fault->copied == COPY_MORE_ONCE && number == 7 ? 2
	                                                                  : 1;
	uint64_t node = builder_begin(scene->builder, scene->thread, scene->host, EPP_NODE, scene->node);
	uint64_t launch = host_event(scene, 2 * US, EPP_API, scene->launch);

	builder_end(scene->builder, scene->thread, node, scene->host, NULL, 0);
	if (scene->device < scene->host)
		scene->device = scene->host;
	for (unsigned i = 0; i < count; i++) {
		uint64_t at = fault->copied == COPY_OVERLAPPED && number ? scene->device - fault->copy_ns / 2
		                                                         : scene->device;
		builder_complete(scene->builder, scene->other, at, (uint64_t)fault->copy_ns, EPP_KERNEL, name, launch,
		                 &bytes, 1);
		scene->device = at + (uint64_t)fault->copy_ns;
	}
}

#define RETURN_NS (20 * US) /* from the end of a copy to the end of the call that waits for it */

/* A copy for which the host waits, in a call or in a wait after it, or which the host prepares in a node.  Returns the
 * node. */
static uint64_t add_host_copy(struct scene *scene, const struct fault *fault, uint64_t bytes)
{
	struct epp_builder *builder = scene->builder;
	uint64_t begin = scene->host, ready = begin + (uint64_t)fault->prepare_ns;
	uint64_t start = scene->device > ready ? scene->device : ready, end = start + (uint64_t)fault->copy_ns;
	const epp_arg args[] = { { .key = EPF_NAME_SUBMIT, .type = EPP_ARG_U64, .value.u64 = begin },
		                 { .key = scene->bytes, .type = EPP_ARG_U64, .value.u64 = bytes } };
	bool is_submitted = fault->copied == COPY_SUBMITTED;
	uint64_t node = builder_begin(builder, scene->thread, begin, EPP_NODE, scene->node), launch = node;

	scene->host = end + RETURN_NS;
	if (fault->copied == COPY_BLOCKS)
		launch = builder_event(builder, scene->thread, begin, scene->host - begin, EPP_API, scene->launch, NULL, 0);
	if (fault->copied == COPY_WAITED) {
		launch = builder_event(builder, scene->thread, begin, ready - begin, EPP_API, scene->launch, NULL, 0);
		builder_event(builder, scene->thread, ready, scene->host - ready, EPP_API,
		              builder_name(builder, "eventSynchronize"), NULL, 0);
	}
	if (fault->copied == COPY_HIDDEN) {
		launch = builder_event(builder, scene->thread, begin, 2 * US, EPP_API, scene->launch, NULL, 0);
		scene->host = begin + 2 * US;
	}
	if (is_submitted)
		scene->host = ready;
	builder_end(builder, scene->thread, node, scene->host, NULL, 0);
	builder_complete(builder, scene->other, start, end - start, EPP_KERNEL, scene->copy, launch,
	                 args + !is_submitted, 1 + is_submitted);
	scene->device = end;
	return node;
}

static uint64_t add_host_copies(struct scene *scene, const struct fault *fault)
{
	uint64_t node = add_host_copy(scene, fault, fault->copy_bytes);

	if (fault->copied_twice)
		add_host_copy(scene, fault, 2 * fault->copy_bytes);
	return node;
}

static void add_kernel(struct scene *scene, const struct fault *fault, unsigned number, unsigned kernel, uint64_t launch)
{
	bool other = fault->serial && (number * KERNELS + kernel) % 2;
	int64_t ns = number == 20 && kernel == 2 ? MS + fault->outlier_ns : MS;

	if (!fault->tiny) {
		device_event(scene, other ? scene->other : scene->stream, ns, scene->gemm, launch);
		return;
	}
	for (unsigned i = 0; i < 100; i++) {
		device_event(scene, scene->stream, 5 * US, scene->gemm, launch);
		scene->device += 5 * US;
	}
}

#define COPY_NS (100 * US)
#define FRAMEWORK_NS MS
#define WAIT_NS (10 * US)

/* The host waits for the result of the kernel before, computes a node, and is busy with other things for longer. */
static void add_fallback(struct scene *scene, const struct fault *fault)
{
	const epp_arg provider = { .key = builder_name(scene->builder, "provider"),
		                   .type = EPP_ARG_TEXT,
		                   .text_bytes = 20,
		                   .value.text = "CPUExecutionProvider" };
	uint64_t waited = scene->host;

	device_event(scene, scene->other, COPY_NS, scene->copy_out, 0);
	scene->host = scene->device + WAIT_NS;
	builder_event(scene->builder, scene->thread, waited, scene->host - waited, EPP_API,
	              builder_name(scene->builder, "deviceSynchronize"), NULL, 0);
	builder_event(scene->builder, scene->thread, scene->host, (uint64_t)fault->fallback_ns, EPP_NODE,
	              scene->prepare, &provider, 1);
	scene->host += (uint64_t)fault->fallback_ns + FRAMEWORK_NS;
	device_event(scene, scene->other, COPY_NS, scene->copy, host_event(scene, 2 * US, EPP_API, scene->launch));
}

static void add_run(struct scene *scene, const struct fault *fault, unsigned number)
{
	uint64_t run = builder_begin(scene->builder, scene->thread, scene->host, EPP_SESSION, scene->run);
	uint64_t copy_at = scene->device;

	if (number < 2 && fault->warm_up_ns)
		host_event(scene, fault->warm_up_ns, EPP_NODE, scene->prepare);
	for (unsigned i = 0; i < KERNELS; i++) {
		if (i == 2 && number && number % 10 == 0 && fault->fallback_ns)
			add_fallback(scene, fault);
		bool is_copied = !i && fault->copied >= COPY_BLOCKS && !(fault->copied_once && number);
		uint64_t node = is_copied ? add_host_copies(scene, fault) : 0;
		if (!i && fault->between_ns)
			host_event(scene, fault->between_ns, EPP_NODE, scene->prepare);
		uint64_t launch = host_event(scene, 2 * US, EPP_API, scene->launch);
		if (node && fault->copied == COPY_SUBMITTED)
			launch = node;
		if (!i && fault->copy_bytes && fault->copied < COPY_BLOCKS)
			add_copy(scene, fault, number);
		else if (!i && fault->copy_ns && !fault->copy_bytes)
			device_event(scene, scene->other, fault->copy_ns, scene->copy, launch);
		if (!i && fault->overlapped_ns)
			builder_complete(scene->builder, scene->other, copy_at, (uint64_t)fault->overlapped_ns,
			                 EPP_KERNEL, scene->copy, launch, NULL, 0);
		add_kernel(scene, fault, number, i, launch);
	}
	if (fault->synchronous)
		builder_event(scene->builder, scene->thread, scene->host, scene->device + RETURN_NS - scene->host,
		              EPP_API, builder_name(scene->builder, "deviceSynchronize"), NULL, 0);
	if (fault->synchronous)
		scene->host = scene->device + RETURN_NS;
	builder_end(scene->builder, scene->thread, run, scene->host, NULL, 0);
}

/* Two threads that work at the same time. */
static void add_workers(struct scene *scene, int64_t longer_ns)
{
	uint32_t workers[] = { builder_thread(scene->builder, "worker 1", 2),
		               builder_thread(scene->builder, "worker 2", 3) };
	epp_name work = builder_name(scene->builder, "work");

	for (unsigned i = 0; i < 2 * RUNS; i++)
		builder_event(scene->builder, workers[i % 2], BUILDER_START + i / 2 * 5 * MS,
		              (uint64_t)(2 * MS + (i % 2 ? longer_ns : 0)), EPP_NODE, work, NULL, 0);
}

static void scene_play(struct scene *scene, const struct fault *fault)
{
	for (unsigned number = 0; number < RUNS; number++) {
		/* The launches of a run come while the device is busy with the run before. */
		uint64_t at = fault->period_ns ? BUILDER_START + number * (uint64_t)fault->period_ns
		                               : scene->device - KERNELS * MS;
		if (number && scene->host < at)
			scene->host = at;
		if (number && number % 10 == 0 && fault->gap_ns)
			add_gap(scene, fault);
		add_run(scene, fault, number);
	}
	if (fault->workers_ns)
		add_workers(scene, fault->workers_ns);
	if (!fault->half_width_ns)
		return;
	for (uint64_t at = BUILDER_START; at < scene->device; at += 5 * MS)
		builder_device_pair(scene->builder, scene->stream, at, at, fault->half_width_ns);
}

static epp_trace *open_fault(const struct fault *fault)
{
	struct scene scene = scene_create(fault);

	scene_play(&scene, fault);
	epp_trace *trace = builder_open(scene.builder, EPF_FINISHED);
	builder_destroy(scene.builder);
	return trace;
}

/* The gain by the rule's SQL, in its first column. */
static int64_t sql_gain(epp_trace *trace, const char *statement)
{
	epp_sql *sql;

	check_ok(epp_sql_create(trace, &sql));
	char *rows = sql_text_query(sql, statement);
	int64_t gain_ns = strtoll(rows, NULL, 10);
	free(rows);
	epp_sql_destroy(sql);
	return gain_ns;
}

static const epp_advice_finding *finding_of(const epp_advice *advice, const char *rule)
{
	for (size_t i = 0; i < epp_advice_findings_count(advice); i++)
		if (strcmp(epp_advice_finding_at(advice, i)->rule->name, rule) == 0)
			return epp_advice_finding_at(advice, i);
	ck_abort_msg("no finding '%s' of %zu", rule, epp_advice_findings_count(advice));
	return NULL;
}

static void no_finding(const struct fault *fault)
{
	epp_trace *trace = open_fault(fault);
	epp_advice *advice;

	check_ok(epp_advice_create(trace, NULL, &advice));
	const epp_advice_finding *finding = epp_advice_finding_at(advice, 0);
	ck_assert_msg(!finding, "%s: %s", finding ? finding->rule->name : "", finding ? finding->text : "");
	ck_assert_int_gt(epp_advice_total_ns(advice), 0);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
}

static const struct planted {
	const char *rule;
	struct fault fault;
	int64_t gain_ns;
	uint64_t count;
} planted[] = {
	{ "host-bound", { .gap_ns = 2 * MS }, 3 * (2 * MS + 2 * US), 3 },
	{ "sync-waits", { .gap_ns = 2 * MS, .gap = GAP_SYNCHRONISED }, 3 * (2 * MS + 12 * US), 3 },
	{ "cpu-fallback", { .gap_ns = 2 * MS, .gap = GAP_ON_CPU }, 3 * 2 * MS, 3 },
	/* Without the node there would be no copies, no wait, and none of the host's time between. */
	{ "cpu-fallback", { .fallback_ns = 400 * US }, 3 * (400 * US + 2 * COPY_NS + WAIT_NS + FRAMEWORK_NS + 2 * US), 3 },
	{ "allocation", { .gap_ns = 2 * MS, .gap = GAP_ALLOCATES }, 3 * 2 * MS, 3 },
	{ "tiny-kernels", { .tiny = true }, (RUNS * KERNELS * 100 - 1) * 5 * US, RUNS *KERNELS * 100 - 1 },
	/* Copies of all runs but one would be hidden. */
	{ "copies-alone", { .copy_ns = MS }, (RUNS - 1) * MS, RUNS },
	/* All runs but the first could do without, if the data was the same. */
	{ "repeated-copies", { .copy_ns = MS, .copy_bytes = 4096 }, (RUNS - 1) * MS, RUNS - 1 },
	/* Two of 1 ms each could have run at once. */
	{ "serialised-streams", { .serial = true }, RUNS *KERNELS / 2 * MS, RUNS *KERNELS / 2 },
	/* Each run waits longer by half a millisecond than the one before. */
	{ "queue-growth", { .period_ns = KERNELS * MS - MS / 2 }, (RUNS - 1) * MS / 2, RUNS },
	{ "imbalance", { .workers_ns = MS }, RUNS *MS / 2, 1 },
	{ "slow-outlier", { .outlier_ns = 7 * MS }, 7 * MS, 1 },
	{ "warm-up", { .warm_up_ns = 4 * MS }, 2 * 4 * MS, 2 },
};

START_TEST(a_planted_fault_is_found)
{
	const struct planted *plant = &planted[_i];
	/* Another rule that finds the same time. */
	const char *also = plant->fault.copy_bytes ? "copies-alone" : NULL;
	epp_trace *trace = open_fault(&plant->fault);
	epp_advice *advice;

	check_ok(epp_advice_create(trace, NULL, &advice));
	const epp_advice_finding *finding = finding_of(advice, plant->rule);
	ck_assert(also || finding == epp_advice_finding_at(advice, 0));
	ck_assert_int_le(llabs(finding->gain_ns - plant->gain_ns), finding->gain_error_ns);
	ck_assert_int_le(finding->gain_error_ns, plant->gain_ns / 7);
	ck_assert_uint_eq(finding->count, plant->count);
	ck_assert_uint_eq(finding->places_count, plant->count < 8 ? plant->count : 8);
	for (size_t i = 0; i < finding->places_count; i++) {
		const epp_advice_place *place = &finding->places[i];
		ck_assert_int_lt(place->start_ns, place->end_ns);
		ck_assert_int_gt(place->gain_ns, 0);
		ck_assert(place->id != 0 && place->track);
		ck_assert(!i || place[-1].gain_ns >= place->gain_ns);
	}
	int64_t queried_ns = sql_gain(trace, finding->rule->sql);
	ck_assert_msg(llabs(queried_ns - finding->gain_ns) <= finding->gain_ns / 100, "%s: %lld in SQL, not %lld",
	              plant->rule, (long long)queried_ns, (long long)finding->gain_ns);
	if (also)
		finding_of(advice, also);
	ck_assert_msg(epp_advice_findings_count(advice) == (also ? 2 : 1), "%s", epp_advice_finding_at(advice, 1)->text);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
}
END_TEST

START_TEST(clean_traces_have_no_finding)
{
	no_finding(&(struct fault){ 0 });
	no_finding(&(struct fault){ .overlapped_ns = 4 * MS });
	/* The host has nothing to do, so the device has nothing to do. */
	no_finding(&(struct fault){ .gap_ns = 2 * MS, .gap = GAP_IDLE });
	no_finding(&(struct fault){ .workers_ns = 1 });
	/* Below 1 % of the time. */
	no_finding(&(struct fault){ .gap_ns = 100 * US });
	no_finding(&(struct fault){ .outlier_ns = 1500 * US });
}
END_TEST

/* With nodes of several threads, a node on the processor may have nothing to do with a launch after it. */
START_TEST(a_node_of_many_threads_is_no_cause)
{
	epp_trace *trace = open_fault(&(struct fault){ .fallback_ns = 400 * US, .workers_ns = 1 });
	epp_advice *advice;

	check_ok(epp_advice_create(trace, NULL, &advice));
	for (size_t i = 0; i < epp_advice_findings_count(advice); i++)
		ck_assert_str_ne(epp_advice_finding_at(advice, i)->rule->name, "cpu-fallback");
	epp_advice_destroy(advice);
	epp_trace_close(trace);
}
END_TEST

/* A warm run would have taken as long as any of the others: its error is how far these are from their median. */
START_TEST(a_warm_up_is_as_uncertain_as_the_runs_vary)
{
	struct epp_builder *builder = builder_create();
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name run = builder_name(builder, "run");
	uint64_t at = BUILDER_START;
	epp_advice *advice;

	for (unsigned i = 0; i < RUNS; i++) {
		uint64_t ns = i < 2 ? 6 * MS : i % 4 == 0 ? MS + 300 * US : MS;
		builder_event(builder, thread, at, ns, EPP_SESSION, run, NULL, 0);
		at += ns;
	}
	epp_trace *trace = builder_open(builder, EPF_FINISHED);
	check_ok(epp_advice_create(trace, NULL, &advice));
	const epp_advice_finding *finding = finding_of(advice, "warm-up");
	ck_assert_uint_eq(finding->count, 2);
	ck_assert_int_le(llabs(finding->gain_ns - 2 * 5 * MS), 2 * MS / 100);
	ck_assert_int_le(llabs(finding->gain_error_ns - 2 * 300 * US), 2 * MS / 50);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
	builder_destroy(builder);
}
END_TEST

/* Copies that are not the same in each run, or cost no time, are no repeated ones. */
START_TEST(other_copies_are_not_repeated)
{
	static const struct fault faults[] = {
		{ .copy_ns = MS, .copy_bytes = 4096, .copied = COPY_OTHER_SIZES },
		{ .copy_ns = MS, .copy_bytes = 4096, .copied = COPY_SOME_RUNS },
		{ .copy_ns = MS, .copy_bytes = 4096, .copied = COPY_MORE_ONCE },
		{ .copy_ns = MS, .copy_bytes = 4096, .copied = COPY_OUT },
		{ .copy_ns = MS, .copy_bytes = 4096, .copied = COPY_OVERLAPPED },
		{ .copy_ns = MS }, /* of unknown size */
		/* It ends long before the host launches the kernel. */
		{ .copy_ns = MS, .copy_bytes = 4096, .copied = COPY_HIDDEN, .between_ns = 3 * MS, .synchronous = true },
	};
	epp_trace *trace = open_fault(&faults[_i]);
	epp_advice *advice;

	check_ok(epp_advice_create(trace, NULL, &advice));
	for (size_t i = 0; i < epp_advice_findings_count(advice); i++)
		ck_assert_str_ne(epp_advice_finding_at(advice, i)->rule->name, "repeated-copies");
	for (size_t i = 0; epp_advice_rule_at(i); i++)
		if (strcmp(epp_advice_rule_at(i)->name, "repeated-copies") == 0)
			ck_assert_int_le(sql_gain(trace, epp_advice_rule_at(i)->sql), faults[_i].between_ns / 10);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
}
END_TEST

/* What is saved in truth: the time of the same program without the copies after the first run. */
START_TEST(copies_cost_the_host_and_the_device)
{
	static const struct {
		struct fault fault;
		uint64_t count;
	} scenes[] = {
		/* The host is ahead of the device until the call, in which it waits for the kernels before. */
		{ { .copied = COPY_BLOCKS, .copy_ns = MS, .prepare_ns = 2 * MS }, RUNS - 1 },
		{ { .copied = COPY_WAITED, .copy_ns = MS, .prepare_ns = 2 * MS }, RUNS - 1 },
		/* The device is idle when the host prepares the copy. */
		{ { .copied = COPY_BLOCKS, .copy_ns = 100 * US, .prepare_ns = 2 * MS, .synchronous = true }, RUNS - 1 },
		{ { .copied = COPY_WAITED, .copy_ns = 100 * US, .prepare_ns = 2 * MS, .synchronous = true }, RUNS - 1 },
		{ { .copied = COPY_SUBMITTED, .copy_ns = 100 * US, .prepare_ns = 2 * MS, .synchronous = true }, RUNS - 1 },
		{ { .copied = COPY_BLOCKS, .copy_ns = MS, .copied_twice = true, .synchronous = true }, 2 * (RUNS - 1) },
		/* The host's work between the copy and the kernel remains. */
		{ { .copied = COPY_BLOCKS, .copy_ns = MS, .between_ns = 3 * MS, .synchronous = true }, RUNS - 1 },
		{ { .copied = COPY_WAITED, .copy_ns = MS, .between_ns = 3 * MS, .synchronous = true }, RUNS - 1 },
	};
	struct fault fault = scenes[_i].fault;
	epp_advice *advice;

	fault.copy_bytes = 4096;
	struct fault once = fault;
	once.copied_once = true;
	struct scene with = scene_create(&fault), without = scene_create(&once);
	scene_play(&with, &fault);
	scene_play(&without, &once);
	int64_t saved_ns = (int64_t)(with.device - without.device);
	ck_assert_int_gt(saved_ns, RUNS / 2 * MS);
	epp_trace *trace = builder_open(with.builder, EPF_FINISHED);
	check_ok(epp_advice_create(trace, NULL, &advice));
	const epp_advice_finding *finding = finding_of(advice, "repeated-copies");
	ck_assert_msg(llabs(finding->gain_ns - saved_ns) <= saved_ns * 15 / 100, "%lld promised, %lld saved",
	              (long long)finding->gain_ns, (long long)saved_ns);
	ck_assert_int_lt(finding->gain_error_ns, finding->gain_ns);
	ck_assert_uint_eq(finding->count, scenes[_i].count);
	int64_t queried_ns = sql_gain(trace, finding->rule->sql);
	ck_assert_msg(llabs(queried_ns - finding->gain_ns) <= finding->gain_ns / 100, "%lld in SQL, not %lld",
	              (long long)queried_ns, (long long)finding->gain_ns);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
	builder_destroy(with.builder);
	trace = builder_open(without.builder, EPF_FINISHED);
	check_ok(epp_advice_create(trace, NULL, &advice));
	for (size_t i = 0; i < epp_advice_findings_count(advice); i++)
		ck_assert_str_ne(epp_advice_finding_at(advice, i)->rule->name, "repeated-copies");
	epp_advice_destroy(advice);
	epp_trace_close(trace);
	builder_destroy(without.builder);
}
END_TEST

/* The words claim no more than the trace shows. */
START_TEST(repeated_copies_are_worded_as_seen)
{
	struct fault fault = { .copy_ns = MS, .copy_bytes = 4096 };
	epp_trace *trace = open_fault(&fault);
	epp_advice *advice;

	check_ok(epp_advice_create(trace, NULL, &advice));
	const epp_advice_finding *finding = finding_of(advice, "repeated-copies");
	ck_assert_str_eq(finding->text,
	                 "node \"w\": 1 copy to the device of equal size, 4096 bytes, under the same node in each "
	                 "of 40 runs.  Whether the data is the same is not in the trace.");
	ck_assert_uint_eq(finding->confidence, EPP_CONFIDENCE_LOW);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
}
END_TEST

START_TEST(no_gain_is_smaller_than_its_error)
{
	struct fault fault = { .gap_ns = 2 * MS, .half_width_ns = 10 * US };
	epp_trace *trace = open_fault(&fault);
	epp_advice *advice;

	check_ok(epp_advice_create(trace, NULL, &advice));
	const epp_advice_finding *finding = finding_of(advice, "host-bound");
	ck_assert_int_ge(finding->gain_error_ns, 3 * 2 * 10 * US / 2);
	ck_assert_int_le(llabs(finding->gain_ns - planted[0].gain_ns), finding->gain_error_ns);
	ck_assert_uint_eq(finding->confidence, EPP_CONFIDENCE_HIGH);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
	/* The gaps are as long as before, but the clock does not show them. */
	fault.half_width_ns = 3 * MS;
	trace = open_fault(&fault);
	check_ok(epp_advice_create(trace, NULL, &advice));
	ck_assert_uint_eq(epp_advice_findings_count(advice), 1);
	finding = finding_of(advice, "clock-quality");
	ck_assert_int_eq(finding->gain_ns, 0);
	ck_assert_uint_eq(finding->confidence, EPP_CONFIDENCE_HIGH);
	ck_assert_ptr_nonnull(strstr(finding->text, "Accelerator: the start of an event is known within +- "));
	epp_sql *sql;
	check_ok(epp_sql_create(trace, &sql));
	sql_text_expect(sql, finding->rule->sql, "0|200|Accelerator\n");
	epp_sql_destroy(sql);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
}
END_TEST

/* An empty trace, and one without devices. */
START_TEST(traces_without_devices_have_no_finding)
{
	struct epp_builder *builder = builder_create();
	epp_advice *advice;

	epp_trace *trace = builder_open(builder, EPF_FINISHED);
	check_ok(epp_advice_create(trace, NULL, &advice));
	ck_assert_uint_eq(epp_advice_findings_count(advice), 0);
	ck_assert_int_eq(epp_advice_total_ns(advice), 0);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
	builder_destroy(builder);
	builder = builder_create();
	uint32_t thread = builder_thread(builder, "main", 1);
	for (unsigned i = 0; i < 30; i++)
		builder_event(builder, thread, BUILDER_START + i * 1000, 900, EPP_NODE, builder_name(builder, "node"),
		              NULL, 0);
	trace = builder_open(builder, EPF_FINISHED);
	check_ok(epp_advice_create(trace, NULL, &advice));
	ck_assert_uint_eq(epp_advice_findings_count(advice), 0);
	ck_assert_int_eq(epp_advice_total_ns(advice), 29900);
	epp_advice_destroy(advice);
	epp_trace_close(trace);
	builder_destroy(builder);
}
END_TEST

START_TEST(options_are_the_timelines)
{
	struct fault fault = { .gap_ns = 2 * MS };
	epp_trace *trace = open_fault(&fault);
	epp_advice *advice;

	check_ok(epp_advice_create(
	    trace, &(epp_timeline_options){ .struct_size = sizeof(epp_timeline_options), .from_ns = 0, .to_ns = 60 * MS },
	    &advice));
	ck_assert_uint_eq(finding_of(advice, "host-bound")->count, 1);
	epp_advice_destroy(advice);
	check_fails(EPP_INVALID_ARGUMENT, epp_advice_create(trace, &(epp_timeline_options){ 0 }, &advice));
	ck_assert_ptr_null(advice);
	epp_trace_close(trace);
}
END_TEST

/* Each rule is complete, and each is in the table of docs/advise.md. */
START_TEST(every_rule_is_documented)
{
	const epp_advice_rule *rule;
	char heading[64];
	size_t count = 0, bytes;
	char *page = command_file(CHECK_SOURCE "/docs/advise.md", &bytes);

	for (; (rule = epp_advice_rule_at(count)); count++) {
		ck_assert(rule->title[0] && rule->remedy[0] && rule->documentation[0]);
		ck_assert_int_eq(rule->documentation[strlen(rule->documentation) - 1], '\n');
		snprintf(heading, sizeof heading, "| `%s` |", rule->name);
		ck_assert_msg(strstr(page, heading) != NULL, "docs/advise.md has no row %s", heading);
	}
	ck_assert_uint_gt(count, 0);
	ck_assert_str_eq(epp_confidence_name(EPP_CONFIDENCE_HIGH), "high");
	ck_assert_str_eq(epp_confidence_name(EPP_CONFIDENCE_COUNT), "unknown");
	free(page);
}
END_TEST

static Suite *advice_suite(void)
{
	Suite *suite = suite_create("advice");
	TCase *tests = tcase_create("advice");

	tcase_add_loop_test(tests, a_planted_fault_is_found, 0, (int)(sizeof planted / sizeof *planted));
	tcase_add_test(tests, clean_traces_have_no_finding);
	tcase_add_test(tests, a_node_of_many_threads_is_no_cause);
	tcase_add_loop_test(tests, other_copies_are_not_repeated, 0, 7);
	tcase_add_test(tests, a_warm_up_is_as_uncertain_as_the_runs_vary);
	tcase_add_loop_test(tests, copies_cost_the_host_and_the_device, 0, 8);
	tcase_add_test(tests, repeated_copies_are_worded_as_seen);
	tcase_add_test(tests, no_gain_is_smaller_than_its_error);
	tcase_add_test(tests, traces_without_devices_have_no_finding);
	tcase_add_test(tests, options_are_the_timelines);
	tcase_add_test(tests, every_rule_is_documented);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(advice_suite)
