/* The events of a trace as an Arrow C stream: fills one batch of columns after the other from a timeline.  The batches
 * themselves are in batch.c. */
#include "epprof/arrow.h"

#include <errno.h>
#include <stdlib.h>

#include "base/options.h"
#include "export/args_text.h"
#include "export/arrow/batch.h"
#include "export/event_columns.h"
#include "export/writer.h"

#define ROWS_MAX 65536u

static const struct batch_field fields[COLUMNS_COUNT] = {
	[COLUMN_KIND] = { .name = "kind", .is_text = true },
	[COLUMN_NAME] = { .name = "name", .is_text = true },
	[COLUMN_CATEGORY] = { .name = "category", .is_text = true },
	[COLUMN_START_NS] = { .name = "start_ns" },
	[COLUMN_DURATION_NS] = { .name = "duration_ns" },
	[COLUMN_SOURCE] = { .name = "source" },
	[COLUMN_PID] = { .name = "pid", .is_nullable = true },
	[COLUMN_GROUP_NAME] = { .name = "group_name", .is_text = true },
	[COLUMN_TID] = { .name = "tid", .is_nullable = true },
	[COLUMN_TRACK] = { .name = "track" },
	[COLUMN_TRACK_NAME] = { .name = "track_name", .is_text = true },
	[COLUMN_DEVICE] = { .name = "device", .is_nullable = true },
	[COLUMN_STREAM] = { .name = "stream", .is_nullable = true },
	[COLUMN_LANE] = { .name = "lane" },
	[COLUMN_DEPTH] = { .name = "depth" },
	[COLUMN_ID] = { .name = "id" },
	[COLUMN_PARENT] = { .name = "parent", .is_nullable = true },
	[COLUMN_RUN] = { .name = "run" },
	[COLUMN_PLACEMENT] = { .name = "placement", .is_text = true },
	[COLUMN_START_ERROR_NS] = { .name = "start_error_ns" },
	[COLUMN_END_ERROR_NS] = { .name = "end_error_ns" },
	[COLUMN_FLAGS] = { .name = "flags", .is_text = true },
	[COLUMN_ARGS] = { .name = "args", .is_text = true, .is_nullable = true },
};

struct arrow_stream {
	epp_trace *trace;
	bool close_trace;
	epp_timeline *timeline;
	size_t rows_max;
	struct args_text args_text;
	epp_status *error; /* error of the last call, for get_last_error */
	bool failed;       /* get_next has failed */
};

static epp_status *text_of(struct batch *batch, size_t column, const char *text)
{
	return batch_text(batch, column, text, strlen(text));
}

static void integer_if(struct batch *batch, size_t column, bool has_value, int64_t value)
{
	if (has_value)
		batch_integer(batch, column, value);
}

static epp_status *add_track(struct batch *batch, const epp_trace_track *track)
{
	batch_integer(batch, COLUMN_SOURCE, track->source);
	integer_if(batch, COLUMN_PID, track->pid != 0, track->pid);
	EPP_TRY(text_of(batch, COLUMN_GROUP_NAME, track->group));
	integer_if(batch, COLUMN_TID, export_has_thread(track), track->thread_id);
	batch_integer(batch, COLUMN_TRACK, track->track);
	EPP_TRY(text_of(batch, COLUMN_TRACK_NAME, track->name));
	integer_if(batch, COLUMN_DEVICE, track->device >= 0, track->device);
	integer_if(batch, COLUMN_STREAM, track->kind == EPP_TRACK_DEVICE, track->stream);
	return NULL;
}

static epp_status *add_args(struct arrow_stream *stream, struct batch *batch, const epp_event *event)
{
	struct json_keys *keys = &stream->args_text.json_keys;
	size_t cursor = 0;
	epp_trace_arg arg;

	keys->sink = &stream->args_text.sink;
	keys->count = 0;
	sink_text(keys->sink, "{");
	bool first = true;
	for (; epp_event_args(stream->timeline, event, &cursor, &arg); first = false) {
		sink_text(keys->sink, first ? "" : ",");
		json_keys_arg(keys, &arg);
	}
	if (event->weight > 1) {
		sink_text(keys->sink, first ? "" : ",");
		arg = export_weight(event);
		json_keys_arg(keys, &arg);
	}
	sink_text(keys->sink, "}");
	EPP_TRY(args_text_take(&stream->args_text));
	return batch_text(batch, COLUMN_ARGS, stream->args_text.memory.bytes, stream->args_text.memory.count);
}

static epp_status *add_event(struct arrow_stream *stream, struct batch *batch, const epp_event *event)
{
	char flags[EXPORT_FLAGS_BYTES];

	EPP_TRY(text_of(batch, COLUMN_KIND, export_kind(event->kind)));
	EPP_TRY(batch_text(batch, COLUMN_NAME, event->name, event->name_bytes));
	EPP_TRY(text_of(batch, COLUMN_CATEGORY, export_category(event->category)));
	batch_integer(batch, COLUMN_START_NS, event->start_ns);
	batch_integer(batch, COLUMN_DURATION_NS, event->duration_ns);
	EPP_TRY(add_track(batch, event->track));
	batch_integer(batch, COLUMN_LANE, event->lane);
	batch_integer(batch, COLUMN_DEPTH, event->depth);
	batch_integer(batch, COLUMN_ID, (int64_t)event->id);
	integer_if(batch, COLUMN_PARENT, event->parent != 0, (int64_t)event->parent);
	batch_integer(batch, COLUMN_RUN, event->run);
	EPP_TRY(text_of(batch, COLUMN_PLACEMENT, epp_placement_name(event->placement)));
	batch_integer(batch, COLUMN_START_ERROR_NS, event->start_error_ns);
	batch_integer(batch, COLUMN_END_ERROR_NS, event->end_error_ns);
	EPP_TRY(batch_text(batch, COLUMN_FLAGS, flags, (size_t)(export_put_flags(flags, event->flags) - flags)));
	if (event->args_count || event->weight > 1)
		EPP_TRY(add_args(stream, batch, event));
	batch_end_row(batch);
	return NULL;
}

static epp_status *fill(struct arrow_stream *stream, struct batch *batch)
{
	const epp_event *event;

	while (!batch_is_full(batch) && epp_timeline_next(stream->timeline, &event))
		EPP_TRY(add_event(stream, batch, event));
	return batch_is_full(batch) ? NULL : epp_timeline_status(stream->timeline);
}

/* Stores the status for get_last_error and returns the errno that corresponds to it. */
static int fail(struct arrow_stream *stream, epp_status *status)
{
	epp_status_destroy(stream->error);
	stream->error = status;
	switch (epp_status_code(status)) {
	case EPP_OK:
		return 0;
	case EPP_OUT_OF_MEMORY:
		return ENOMEM;
	case EPP_IO:
		return EIO;
	default:
		return EINVAL;
	}
}

static int get_schema(struct ArrowArrayStream *self, struct ArrowSchema *schema)
{
	return fail(self->private_data, batch_schema(fields, COLUMNS_COUNT, schema));
}

static int get_next(struct ArrowArrayStream *self, struct ArrowArray *array)
{
	struct arrow_stream *stream = self->private_data;
	struct batch batch;

	array->release = NULL;
	if (stream->failed)
		return EINVAL; /* the reason is in stream->error */
	epp_status *status = batch_init(&batch, fields, COLUMNS_COUNT, stream->rows_max);
	if (!status)
		status = fill(stream, &batch);
	if (!status && batch.rows_count)
		status = batch_export(&batch, array);
	batch_deinit(&batch);
	stream->failed = status != NULL;
	return fail(stream, status);
}

static const char *get_last_error(struct ArrowArrayStream *self)
{
	const struct arrow_stream *stream = self->private_data;

	return stream->error ? epp_status_message(stream->error) : NULL;
}

static void destroy(struct arrow_stream *stream)
{
	epp_timeline_destroy(stream->timeline);
	args_text_deinit(&stream->args_text);
	epp_status_destroy(stream->error);
	free(stream);
}

static void release(struct ArrowArrayStream *self)
{
	struct arrow_stream *stream = self->private_data;
	epp_trace *trace = stream->close_trace ? stream->trace : NULL;

	destroy(stream);
	epp_trace_close(trace);
	self->release = NULL;
}

epp_status *epp_trace_arrow_stream(epp_trace *trace, const epp_arrow_options *given, struct ArrowArrayStream *out)
{
	epp_arrow_options options = { 0 };

	memset(out, 0, sizeof *out);
	EPP_TRY(options_take(&options, sizeof options, given, "arrow options"));
	struct arrow_stream *stream = calloc(1, sizeof *stream);
	if (!stream)
		return epp_status_no_memory();
	stream->trace = trace;
	stream->close_trace = options.close_trace != 0;
	stream->rows_max = options.rows_max ? options.rows_max : ROWS_MAX;
	epp_status *status = args_text_init(&stream->args_text);
	if (!status)
		status = epp_timeline_create(trace, options.timeline, &stream->timeline);
	if (status) {
		destroy(stream);
		return status;
	}
	*out = (struct ArrowArrayStream){ .get_schema = get_schema,
		                          .get_next = get_next,
		                          .get_last_error = get_last_error,
		                          .release = release,
		                          .private_data = stream };
	return NULL;
}
