/* Writes device events as GpuRenderStageEvents, from which trace processors make the table gpu_slice, and viewers their
 * views of GPUs.
 *
 * Each row of a device is a hardware queue, each device of a process a GPU with a context, and each name an interned
 * stage with the category of its work.  Older readers show the name of the stage as that of the event.  The names of
 * kernels are also interned as kernels.
 *
 * The host event that launched work has a field GpuCorrelation with the id of the stage event, by which viewers draw an
 * arrow.  A host event is written before the device events that it launched.  Their id must be known then, so it is
 * derived from the id of the host event or call (perfetto_flow): all device events of one launch have the same id. */
#include "export/perfetto/perfetto.h"

#include "encoding/utf8.h"
#include "timeline/events/work_kind.h"

enum {
	STAGE_ID = 1,
	STAGE_DURATION = 2,
	STAGE_CONTEXT = 5,
	STAGE_SUBMISSION = 10,
	STAGE_GPU = 11,
	STAGE_QUEUE_IID = 13,
	STAGE_IID = 14,
	STAGE_KERNEL_IID = 19,
	STAGE_LAUNCH = 21
};
enum { LAUNCH_ARG = 3 };
enum { ARG_NAME_IID = 1, ARG_NAME = 2, ARG_I64 = 3, ARG_U64 = 4, ARG_F64 = 5, ARG_TEXT = 6 };
enum { CONTEXT_PID = 2 };
enum { SPECIFICATION_DESCRIPTION = 3, SPECIFICATION_CATEGORY = 4 };
enum { CATEGORY_OTHER = 0, CATEGORY_COMPUTE = 2 };
enum { GPU_INFO_GPU = 1, GPU_NAME = 1 };

/* Room for the fields of a stage event without its args, and for an interned text without the text. */
#define STAGE_BYTES 256u

/* Queues and stages share the iids of specifications: queues have odd iids, stages even ones. */
static uint64_t queue_iid(const struct rows *rows, const struct row *row)
{
	return (uint64_t)(row - rows->rows) * 2 + 1;
}

static uint64_t stage_number(const epp_event *event, enum work work)
{
	return (uint64_t)event->name_number * WORK_COUNT + work;
}

static uint64_t stage_iid(uint64_t number)
{
	return number * 2 + 2;
}

/* Gets the pid that the threads of a track's process have in the output.  May add rows, and so move the array
 * rows.rows. */
static epp_status *host_pid(struct export_run *run, const epp_trace_track *track, uint32_t *pid)
{
	struct perfetto *perfetto = run->state;
	const epp_trace_track *other;
	struct row *row;

	*pid = track->pid;
	for (size_t i = 0; (other = epp_trace_track_at(run->trace, i)); i++) {
		if (other->source != track->source || other->kind == EPP_TRACK_DEVICE)
			continue;
		EPP_TRY(rows_find(&perfetto->rows, run->info, other, 0, &row));
		*pid = row->pid;
		break;
	}
	return NULL;
}

epp_status *perfetto_describe_queue(struct export_run *run, const struct row *row)
{
	struct perfetto *perfetto = run->state;
	uint64_t iid = queue_iid(&perfetto->rows, row);
	uint32_t process = row->process, pid, lane = row->lane;
	const epp_trace_track *track = row->track;
	char *at, *interned, *inner, *name, suffix[ROWS_LANE_BYTES];

	EPP_TRY(host_pid(run, track, &pid));
	if (!perfetto->rows.processes[process].gpu)
		perfetto->rows.processes[process].gpu = ++perfetto->gpus_count;
	EPP_TRY(perfetto_packet_begin(run, STAGE_BYTES + message_text_bytes(strlen(track->name) + ROWS_LANE_BYTES), &at));
	at = interned = protobuf_begin(at, PACKET_INTERNED_DATA);
	at = inner = protobuf_begin(at, INTERNED_GPU_CONTEXT);
	at = protobuf_u64(at, INTERNED_IID, process + UINT64_C(1));
	at = protobuf_u64(at, CONTEXT_PID, pid);
	protobuf_end(inner, at);
	at = inner = protobuf_begin(at, INTERNED_GPU_SPECIFICATION);
	at = protobuf_u64(at, INTERNED_IID, iid);
	at = name = protobuf_begin(at, INTERNED_TEXT);
	at = utf8_repair(at, track->name, strlen(track->name));
	rows_lane_text(lane, suffix);
	at = mempcpy(at, suffix, strlen(suffix));
	protobuf_end(name, at);
	protobuf_end(inner, at);
	protobuf_end(interned, at);
	perfetto_packet_end(run, at);
	return NULL;
}

/* Interns the name of an event as a stage with the category of its work, and the name of a kernel also as a kernel, at
 * its first use. */
static epp_status *intern_stage(struct export_run *run, const epp_event *event, enum work work)
{
	struct perfetto *perfetto = run->state;
	uint64_t number = stage_number(event, work);
	const char *name = event->name, *kind = work_names[work];
	size_t bytes = event->name_bytes;
	char *at, *interned, *inner;
	bool added;

	if (!id_set_add(&perfetto->stages, 0, number, &added))
		return epp_status_no_memory();
	if (!added)
		return NULL;
	EPP_TRY(perfetto_packet_begin(run, STAGE_BYTES + 2 * message_text_bytes(bytes), &at));
	at = interned = protobuf_begin(at, PACKET_INTERNED_DATA);
	at = inner = protobuf_begin(at, INTERNED_GPU_SPECIFICATION);
	at = protobuf_u64(at, INTERNED_IID, stage_iid(number));
	at = protobuf_text(at, INTERNED_TEXT, name, bytes);
	at = protobuf_bytes(at, SPECIFICATION_DESCRIPTION, kind, strlen(kind));
	at = protobuf_u64(at, SPECIFICATION_CATEGORY, work == WORK_KERNEL ? CATEGORY_COMPUTE : CATEGORY_OTHER);
	protobuf_end(inner, at);
	if (work == WORK_KERNEL) {
		at = inner = protobuf_begin(at, INTERNED_KERNEL);
		at = protobuf_u64(at, INTERNED_IID, perfetto_name_iid(event));
		at = protobuf_text(at, INTERNED_TEXT, name, bytes);
		protobuf_end(inner, at);
	}
	protobuf_end(interned, at);
	perfetto_packet_end(run, at);
	return NULL;
}

/* ---- args ---- */

static char *put_number(char *at, uint32_t key, uint32_t field, uint64_t value)
{
	char *arg = protobuf_begin(at, LAUNCH_ARG);

	at = protobuf_u64(arg, ARG_NAME_IID, key);
	at = protobuf_u64(at, field, value);
	protobuf_end(arg, at);
	return at;
}

static char *put_own_args(char *at, const epp_event *event)
{
	const char *placement = epp_placement_name(event->placement);
	char *arg;

	if (event->track->device >= 0)
		at = put_number(at, PERFETTO_KEY_DEVICE, ARG_I64, (uint64_t)event->track->device);
	at = put_number(at, PERFETTO_KEY_STREAM, ARG_I64, (uint64_t)event->track->stream);
	if (event->flags & EXPORT_FLAGS_NAMED)
		at = put_number(at, PERFETTO_KEY_ID, ARG_U64, event->id);
	if (event->parent)
		at = put_number(at, PERFETTO_KEY_PARENT, ARG_U64, event->parent);
	at = arg = protobuf_begin(at, LAUNCH_ARG);
	at = protobuf_u64(at, ARG_NAME_IID, PERFETTO_KEY_PLACEMENT);
	at = protobuf_bytes(at, ARG_TEXT, placement, strlen(placement));
	protobuf_end(arg, at);
	at = put_number(at, PERFETTO_KEY_START_ERROR, ARG_I64, (uint64_t)event->start_error_ns);
	at = put_number(at, PERFETTO_KEY_END_ERROR, ARG_I64, (uint64_t)event->end_error_ns);
	for (unsigned flags = event->flags & ~EXPORT_FLAGS_NAMED; flags; flags &= flags - 1)
		at = put_number(at, PERFETTO_KEY_FLAGS + (uint32_t)__builtin_ctz(flags), ARG_U64, 1);
	return at;
}

static char *put_arg(char *at, const struct perfetto *perfetto, const epp_trace_arg *arg)
{
	uint32_t iid = perfetto_key_iid(perfetto, arg);
	char *message = protobuf_begin(at, LAUNCH_ARG);

	if (iid)
		at = protobuf_u64(message, ARG_NAME_IID, iid);
	else
		at = protobuf_text(message, ARG_NAME, arg->key, arg->key_bytes);
	if (arg->type == EPP_ARG_TEXT)
		at = protobuf_text(at, ARG_TEXT, arg->value.text, arg->text_bytes);
	else if (arg->type == EPP_ARG_F64)
		at = protobuf_f64(at, ARG_F64, arg->value.f64);
	else if (arg->type == EPP_ARG_U64)
		at = protobuf_u64(at, ARG_U64, arg->value.u64);
	else
		at = protobuf_i64(at, ARG_I64, arg->value.i64);
	protobuf_end(message, at);
	return at;
}

epp_status *perfetto_write_stage(struct export_run *run, const epp_event *event, const struct row *row, uint64_t id)
{
	struct perfetto *perfetto = run->state;
	const epp_trace_arg *args = export_args(event);
	enum work work = work_of(NULL, event);
	uint64_t number = stage_number(event, work), submission = 0;
	char *at, *stage, *launch;

	if (!id_set_has(&perfetto->stages, 0, number))
		EPP_TRY(intern_stage(run, event, work));
	EPP_TRY(perfetto_intern_keys(run, event));
	EPP_TRY(perfetto_packet_begin(run, STAGE_BYTES + perfetto_args_bytes(event), &at));
	at = protobuf_u64(at, PACKET_TIMESTAMP, perfetto_time(perfetto, event->start_ns));
	at = stage = protobuf_begin(at, PACKET_GPU_STAGE);
	at = protobuf_u64(at, STAGE_ID, id);
	at = protobuf_u64(at, STAGE_DURATION, event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0);
	at = protobuf_u64(at, STAGE_CONTEXT, row->process + UINT64_C(1));
	/* The plugin's number of the launch, if it fits into the field. */
	if (work_correlation(NULL, event, &submission) && submission <= UINT32_MAX)
		at = protobuf_u64(at, STAGE_SUBMISSION, submission);
	at = protobuf_u64(at, STAGE_GPU, perfetto->rows.processes[row->process].gpu - 1);
	at = protobuf_u64(at, STAGE_QUEUE_IID, queue_iid(&perfetto->rows, row));
	at = protobuf_u64(at, STAGE_IID, stage_iid(number));
	if (work == WORK_KERNEL)
		at = protobuf_u64(at, STAGE_KERNEL_IID, perfetto_name_iid(event));
	at = launch = protobuf_begin(at, STAGE_LAUNCH);
	at = put_own_args(at, event);
	for (uint32_t i = 0; i < event->args_count; i++)
		at = put_arg(at, perfetto, &args[i]);
	protobuf_end(launch, at);
	protobuf_end(stage, at);
	perfetto_packet_end(run, at);
	if (perfetto->last_ns < event->start_ns)
		perfetto->last_ns = event->start_ns;
	return NULL;
}

/* The number of a device is the index of its name in this message. */
epp_status *perfetto_write_gpus(struct export_run *run)
{
	struct perfetto *perfetto = run->state;
	const struct rows *rows = &perfetto->rows;
	size_t bytes = STAGE_BYTES;
	char *at, *info, *gpu;

	if (!perfetto->gpus_count)
		return NULL;
	for (size_t i = 0; i < rows->processes_count; i++)
		bytes += 2 * message_text_bytes(strlen(rows->processes[i].name));
	EPP_TRY(perfetto_packet_begin(run, bytes, &at));
	at = info = protobuf_begin(at, PACKET_GPU_INFO);
	for (uint32_t number = 1; number <= perfetto->gpus_count; number++) {
		const struct rows_process *process = rows->processes;
		while (process->gpu != number)
			process++;
		at = gpu = protobuf_begin(at, GPU_INFO_GPU);
		at = protobuf_text(at, GPU_NAME, process->name, strlen(process->name));
		protobuf_end(gpu, at);
	}
	protobuf_end(info, at);
	perfetto_packet_end(run, at);
	return NULL;
}
