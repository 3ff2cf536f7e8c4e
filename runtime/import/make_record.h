/* Converts an event of the input to a record of the trace.  A record that cannot be written yet is packed as bytes, and
 * unpacked before it is written. */
#ifndef EPPROF_RUNTIME_IMPORT_MAKE_RECORD_H
#define EPPROF_RUNTIME_IMPORT_MAKE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/trace_writer.h"
#include "import/json_event.h"

/* The event's own args, and the args that the importer adds: the category, a name that was too long, the original
 * values of a provider's event. */
#define PREPARED_ARGS_MAX (EVENT_ARGS_MAX + 3 + CLAIM_COUNT)

/* The first args of a provider's event: the values that it has in ONNX Runtime's profile.  The ONNX Runtime exporter
 * writes these values, even if the event's times on the timeline differ (export/onnxruntime/ort_json.c). */
enum claim { CLAIM_START_US, CLAIM_DURATION_US, CLAIM_PROFILE_US, CLAIM_PID, CLAIM_TID, CLAIM_COUNT };

struct import;

struct prepared {
	epp_trace_record record; /* its track is 0, because `lane` determines the track */
	uint32_t lane;
	int64_t correlation;  /* the number that the event and its cause share */
	int64_t cause_thread; /* id of the cause's thread in the input */
	bool has_correlation, has_cause_thread;
	epp_name parent_name; /* name of the cause; 0: not given */
	uint32_t args_count;  /* record.args and args_count are set by record_write */
	epp_arg args[PREPARED_ARGS_MAX];
	uint8_t *packed;
	size_t packed_room;
};

void record_deinit(struct prepared *prepared);

/* Sets name, category and args.  The texts of the args stay in the event.  `keeps_category`: a category that ONNX
 * Runtime does not have becomes an arg. */
void record_prepare(struct import *import, const struct event *event, bool keeps_category);
/* Adds an arg.  If there are too many, the arg is left out, and the writer marks the record. */
void record_add_arg(struct prepared *prepared, epp_name key, const char *text, size_t bytes);

/* Inserts the original values of a provider's event before its args. device_events.c sets CLAIM_PROFILE_US later; it is
 * 0 until then. */
void record_claim(struct import *import, const int64_t claim[CLAIM_COUNT]);

/* Packs the prepared record into prepared->packed. */
epp_status *record_pack(struct prepared *prepared, size_t *bytes) EPP_MUST_CHECK;
/* Unpacks a record; the texts of its args stay in `packed`. */
void record_unpack(struct prepared *prepared, const void *packed);
/* Unpacks the begin record of an event whose end record is already prepared.  The args of the end follow those of the
 * begin. */
void record_unpack_before(struct prepared *prepared, const void *packed);

/* Writes the record on its lane's track. */
epp_status *record_write(struct import *import, struct prepared *prepared) EPP_MUST_CHECK;

#endif
