/* The JSON that PyTorch's Kineto writes: Chrome trace events with the words and args that tools for PyTorch look for (Holistic
 * Trace Analysis, TensorBoard's plugin).
 *
 * Sessions are user annotations, nodes operators, Api events the runtime's, device events kernels, or copies by their name as
 * Kineto names them.  A host event and the device events that it caused share a `correlation`, and an `External id` where the
 * host event is an operator; ids are counted from each source's first, because readers keep them as doubles.  A device is a
 * process and a stream a thread, by their own numbers. */
#include <stdlib.h>

#include "base/status.h"
#include "export/chrome.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "wire/json.h"

/* Ids are unix ns at first, a process's own afterwards: none lies so far before the first one that is met. */
#define IDS_BEFORE (UINT64_C(1) << 32)

struct kineto {
	struct chrome chrome; /* first: it is the state of its functions */
	uint64_t *bases;      /* of the ids of each source; 0: none was met */
	uint32_t bases_count;
	uint64_t ids_without_number;
};

#define CATEGORY(word) "\",\"cat\":\"" word "\","

static bool begins_with(const epp_event *event, const char *word)
{
	return event->name_bytes >= strlen(word) && memcmp(event->name, word, strlen(word)) == 0;
}

static const char *category_end(const epp_event *event)
{
	if (chrome_on_device(event)) {
		if (begins_with(event, "Memcpy"))
			return CATEGORY("gpu_memcpy");
		if (begins_with(event, "Memset"))
			return CATEGORY("gpu_memset");
		return event->category == EPP_SESSION ? CATEGORY("gpu_user_annotation") : CATEGORY("kernel");
	}
	if (event->category == EPP_SESSION)
		return CATEGORY("user_annotation");
	return event->category == EPP_API ? CATEGORY("privateuse1_runtime") : CATEGORY("cpu_op");
}

/* An id as a small number; 0: there is none. */
static uint64_t number_of(struct kineto *kineto, uint32_t source, uint64_t id)
{
	uint64_t *base = &kineto->bases[source < kineto->bases_count ? source : 0];
	uint64_t number;

	if (!*base)
		*base = id > IDS_BEFORE ? id - IDS_BEFORE : 1;
	if (id >= *base && !__builtin_mul_overflow(id - *base + 1, (uint64_t)kineto->bases_count, &number) &&
	    number <= JSON_EXACT_MAX - kineto->bases_count)
		return number + source;
	kineto->ids_without_number++;
	return 0;
}

#define EXTERNAL_ID "External id"
#define CORRELATION "correlation"

/* Both ends of a correlation or neither: a device event does not know what its cause is, so both have both. */
static char *put_number(char *at, uint64_t number, struct members *members)
{
	char digits[JSON_NUMBER_BYTES];
	size_t bytes = (size_t)(json_u64(digits, number) - digits);

	at = mempcpy(at, "\"" EXTERNAL_ID "\":", strlen("\"" EXTERNAL_ID "\":"));
	memcpy(at, digits, sizeof digits);
	at = mempcpy(at + bytes, ",\"" CORRELATION "\":", strlen(",\"" CORRELATION "\":"));
	memcpy(at, digits, sizeof digits);
	at[bytes] = ',';
	if (members) {
		members_note(members, EXTERNAL_ID, strlen(EXTERNAL_ID));
		members_note(members, CORRELATION, strlen(CORRELATION));
	}
	return at + bytes + 1;
}

static char *put_ids(struct chrome *chrome, char *at, const epp_event *event, struct members *members)
{
	struct kineto *kineto = (struct kineto *)chrome;
	uint64_t number = 0;

	if (chrome_on_device(event) && event->parent)
		number = number_of(kineto, event->track->source, event->parent);
	else if (!chrome_on_device(event) && event->flags & EPP_FLAG_REFERRED)
		number = number_of(kineto, event->track->source, event->id);
	return number ? put_number(at, number, members) : at;
}

static const struct chrome_dialect dialect = { category_end, put_ids, ",\"name\":\"ac2g\",\"cat\":\"ac2g\"," };

/* ---- the document ---- */

/* A device for each number, whoever has it. */
static void write_devices(struct export_run *run)
{
	const epp_trace_track *track, *other;
	bool any = false;

	for (size_t i = 0; (track = epp_trace_track_at(run->trace, i)) != NULL; i++) {
		bool first = track->kind == EPP_TRACK_DEVICE && track->device >= 0;
		for (size_t j = 0; first && j < i && (other = epp_trace_track_at(run->trace, j)) != NULL; j++)
			first = other->kind != EPP_TRACK_DEVICE || other->device != track->device;
		if (!first)
			continue;
		sink_format(run->sink, "%s\n{\"id\": %d, \"name\": ", any ? "," : "", track->device);
		sink_json_string(run->sink, track->group);
		sink_text(run->sink, "}");
		any = true;
	}
}

static epp_status *kineto_begin(struct export_run *run)
{
	struct kineto *kineto = run->state;
	const epp_export_options *options = run->options;
	char number[JSON_NUMBER_BYTES];

	chrome_start(run, &dialect);
	kineto->chrome.rows.number_devices = kineto->chrome.rows.number_streams = true;
	kineto->bases_count = run->info->sources_count ? run->info->sources_count : 1;
	kineto->bases = calloc(kineto->bases_count, sizeof *kineto->bases);
	if (!kineto->bases)
		return epp_status_create(EPP_OUT_OF_MEMORY, "out of memory");

	sink_text(run->sink, "{\n\"schemaVersion\": 1,\n\"deviceProperties\": [");
	write_devices(run);
	/* Tools look for the rank as a text, with the blank. */
	sink_format(run->sink, "],\n\"distributedInfo\": {\"backend\": \"epprof\", \"rank\": %u, \"world_size\": %u},\n",
	            options->rank, options->world_size ? options->world_size : options->rank + 1);
	*json_i64(number, run->info->epoch_unix_ns) = '\0';
	sink_format(run->sink, "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %s,\n\"traceEvents\": [\n", number);
	sink_format(run->sink,
	            "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%u,\"tid\":0,\"args\":{\"labels\":\"CPU\"}}",
	            run->info->pid);
	return NULL;
}

static epp_status *kineto_end(struct export_run *run)
{
	const struct kineto *kineto = run->state;

	chrome_write_drawn(run);
	sink_text(run->sink, "\n],\n\"traceName\": ");
	sink_json_string(run->sink, run->info->label ? run->info->label : "");
	sink_text(run->sink, ",\n\"otherData\": {");
	facts_write_json(run, run->sink);
	sink_text(run->sink, ",\"ledger\":");
	EPP_TRY(ledger_write(run, run->sink));
	sink_text(run->sink, "}\n}\n");
	chrome_write_receipts(run);
	export_receipt(run, kineto->ids_without_number, "%s correlations left out: their ids lie too far apart");
	return NULL;
}

static void kineto_deinit(struct export_run *run)
{
	free(((struct kineto *)run->state)->bases);
	chrome_deinit(run);
}

const struct export_writer export_kineto = {
	.format = { "kineto", ".pt.trace.json",
	            "the JSON of PyTorch's Kineto: for Holistic Trace Analysis and TensorBoard" },
	.state_bytes = sizeof(struct kineto),
	.begin = kineto_begin,
	.event = chrome_event,
	.end = kineto_end,
	.deinit = kineto_deinit,
};
