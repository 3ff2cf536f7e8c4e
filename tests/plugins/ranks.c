/* Makes the traces of a simulated job: `ranks` processes, eight a machine, each training for `steps` steps, as
 * DIRECTORY/N.epp.  Rank 137 is the slowest, rank 42 delays step 5, ranks 17 and 150 lost events.  The traces are the
 * same each time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "epprof/trace_writer.h"

#define UNIX_NS INT64_C(1700000000000000000)
#define RANKS_A_MACHINE 8u

const char *make_ranks(const char *directory, unsigned ranks, unsigned steps);

struct rank {
	epp_trace_writer *writer;
	uint32_t track;
	unsigned number;
	uint64_t random, at, id;
	epp_status *status; /* the first failure */
};

static void happen(struct rank *rank, const char *name, uint32_t category, uint64_t start, uint64_t duration, unsigned step)
{
	epp_arg arg = { .key = epp_trace_writer_intern_name(rank->writer, "step", 4), .type = EPP_ARG_I64 };

	arg.value.i64 = step;
	if (!rank->status)
		rank->status = epp_trace_writer_add_record(
		    rank->writer,
		    &(epp_trace_record){ .kind = EPP_RECORD_EVENT,
		                         .track = rank->track,
		                         .id = ++rank->id,
		                         .name = epp_trace_writer_intern_name(rank->writer, name, strlen(name)),
		                         .category = (uint8_t)category,
		                         .start_ticks = start,
		                         .duration_ticks = duration,
		                         .args = &arg,
		                         .args_count = 1 });
}

static uint64_t draw(struct rank *rank, uint64_t least, uint64_t most)
{
	rank->random = rank->random * 6364136223846793005u + 1442695040888963407u;
	return least + (rank->random >> 33) % (most - least);
}

/* Makes a step: an event around its operations. */
static void make_step(struct rank *rank, unsigned step)
{
	static const char *const ops[] = { "matmul", "softmax", "matmul", "relu", "allreduce" };
	uint64_t begin = rank->at, slow = rank->number == 137 ? 3 : 2, id = ++rank->id;

	rank->at += 1000;
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		uint64_t duration = draw(rank, 20000 * (i + 1), 30000 * (i + 1)) * slow / 2;
		if (step == 5 && rank->number == 42 && i == 2)
			duration *= 10;
		happen(rank, ops[i], EPP_NODE, rank->at, duration, step);
		rank->at += duration + draw(rank, 500, 1500);
	}
	uint64_t last = rank->id;
	rank->id = id - 1;
	happen(rank, "step", EPP_SESSION, begin, rank->at - begin, step);
	rank->id = last;
}

static epp_status *make_rank(const char *directory, unsigned number, unsigned steps)
{
	/* Each machine was booted at a different time, from which its clock counts. */
	uint64_t boot = UINT64_C(1000000000) * (100 + number / RANKS_A_MACHINE * 17), from = boot + number * 977;
	struct rank rank = { .number = number, .random = number * 7919u + 1, .at = from + 100000 };
	char path[4096], text[64];

	snprintf(path, sizeof path, "%s/%u.epp", directory, number);
	snprintf(text, sizeof text, "rank %u", number);
	epp_status *status = epp_trace_writer_create(
	    &(epp_trace_writer_options){
		.struct_size = sizeof(epp_trace_writer_options), .path = path, .label = text, .overwrite = 1 },
	    &rank.writer);
	if (status)
		return status;
	snprintf(text, sizeof text, "node%02u", number / RANKS_A_MACHINE);
	epp_trace_writer_describe_source(rank.writer, 0, 4000 + number, "train", text);
	rank.status = epp_trace_writer_add_track(
	    rank.writer,
	    &(epp_trace_track){
		.kind = EPP_TRACK_THREAD, .thread_id = 4000 + number, .device = -1, .producer = -1, .name = "main" },
	    &rank.track);
	for (unsigned step = 0; step < steps; step++)
		make_step(&rank, step);
	if (number == 17)
		epp_trace_writer_count_lost(rank.writer, rank.track, EPP_LOSS_NO_BUFFER, 11);
	if (number == 150)
		epp_trace_writer_count_lost(rank.writer, rank.track, EPP_LOSS_TOO_DEEP, 3);
	if (!rank.status)
		rank.status = epp_trace_writer_finish(
		    rank.writer, &(epp_trace_pair){ from, 50, (int64_t)from, UNIX_NS + (int64_t)(from - boot) },
		    &(epp_trace_pair){ rank.at, 50, (int64_t)rank.at, UNIX_NS + (int64_t)(rank.at - boot) });
	epp_trace_writer_destroy(rank.writer);
	return rank.status;
}

/* Makes the traces; returns NULL, or an error message. */
__attribute__((visibility("default"))) const char *make_ranks(const char *directory, unsigned ranks, unsigned steps)
{
	static char text[512];

	for (unsigned number = 0; number < ranks; number++) {
		epp_status *status = make_rank(directory, number, steps);
		if (!status)
			continue;
		snprintf(text, sizeof text, "%s", epp_status_message(status));
		epp_status_destroy(status);
		return text;
	}
	return NULL;
}
