/* The args of a record of ONNX Runtime's JSON. */
#ifndef EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_ORT_ARGS_H
#define EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_ORT_ARGS_H

#include "encoding/json.h"
#include "export/json_object_keys.h"
#include "export/writer.h"

/* The leading args of an event that is also in ONNX Runtime's own profile: ort_ts_us, ort_dur_us and ort_profile_us.
 * For a host event, ONNX Runtime's collector records them (bridges/onnxruntime/ort_event_args.c), and adds
 * ort_started_us to some.  For a provider's event, the importer adds them (import/record.h), with ort_pid and
 * ort_tid. */
struct ort_own {
	uint32_t args_count; /* number of these args */
	bool has_times;
	bool has_row; /* whether pid and tid are set */
	int64_t start_us, duration_us;
	int64_t profile_us; /* start of that profile, since the epoch; 0: unknown */
	int64_t pid, tid;
};

/* State that is kept from record to record. */
struct ort_args {
	struct json_keys json_keys;
	struct json_recent correlation;
	struct {
		int64_t start_error_ns, end_error_ns;
		uint8_t placement;
		uint8_t bytes; /* 0: empty */
		char text[160];
	} place; /* of the last event */
};

struct ort_own ort_own_of(const epp_event *event);

/* Each writes the comma before the arg if it needs one. */
void ort_begin_arg(struct json_keys *json_keys, const char *key, size_t bytes);
void ort_arg_i64(struct json_keys *json_keys, const char *key, int64_t value);
void ort_arg_text(struct json_keys *json_keys, const char *key, const char *text);

/* Writes the event's args without the `own` ones, then epprof's own data (not for a provider's event that is written
 * back with its original row), and the end of the record. */
void ort_write_args(const struct export_run *run, struct ort_args *args, struct sink *sink, const epp_event *event,
                    const struct ort_own *own);

static inline bool ort_of_provider(const epp_event *event)
{
	return event->track->kind == EPP_TRACK_DEVICE || event->track->producer >= 0;
}

static inline int64_t ort_microseconds(int64_t ns)
{
	int64_t us = ns / 1000;

	return us * 1000 > ns ? us - 1 : us;
}

#endif
