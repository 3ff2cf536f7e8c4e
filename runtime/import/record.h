/* An event of the input as a record of the trace: made, kept for later as bytes, taken up again, written. */
#ifndef EPPROF_RUNTIME_IMPORT_RECORD_H
#define EPPROF_RUNTIME_IMPORT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/trace_writer.h"
#include "import/event.h"

/* An event's own, and what the importer adds: its category, a name that found no room, what a provider claimed. */
#define PREPARED_ARGS_MAX (EVENT_ARGS_MAX + 3 + CLAIM_COUNT)

/* The first args of a provider's event: what stands for it in ONNX Runtime's profile.  With them the ONNX Runtime format gives
 * the event back as it was, wherever the timeline places it (export/onnxruntime/ort_args.h). */
enum claim { CLAIM_START_US, CLAIM_DURATION_US, CLAIM_PROFILE_US, CLAIM_PID, CLAIM_TID, CLAIM_COUNT };

struct import;

struct prepared {
	epp_trace_record record; /* track 0: of `lane` */
	uint32_t lane;
	int64_t correlation;  /* what the event names as its cause */
	int64_t cause_thread; /* likewise, the thread that its cause was on, by the input's number */
	bool has_correlation, has_cause_thread;
	epp_name parent_name; /* likewise; 0: none */
	uint32_t args_count;  /* record.args and args_count are set when it is written */
	epp_arg args[PREPARED_ARGS_MAX];
	uint8_t *packed;
	size_t packed_room;
};

void record_deinit(struct prepared *prepared);

/* Name, category, args; texts of args stay the event's.  `keeps_category`: a category that is none of ONNX Runtime's
 * becomes an arg. */
void record_prepare(struct import *import, const struct event *event, bool keeps_category);
/* Adds an arg; beyond the limit it is left out and the record marked by the writer. */
void record_add_arg(struct prepared *prepared, epp_name key, const char *text, size_t bytes);

/* Puts a provider's claim in front of the args; CLAIM_PROFILE_US is 0 until providers.c knows it. */
void record_claim(struct import *import, const int64_t claim[CLAIM_COUNT]);

/* The prepared record as bytes, in prepared->packed. */
epp_status *record_pack(struct prepared *prepared, size_t *bytes) EPP_MUST_CHECK;
/* Back again; texts of args lie in `packed`. */
void record_unpack(struct prepared *prepared, const void *packed);
/* The same for a record whose end is prepared: its args follow. */
void record_unpack_before(struct prepared *prepared, const void *packed);

/* Writes it on its lane's track. */
epp_status *record_write(struct import *import, struct prepared *prepared) EPP_MUST_CHECK;

#endif
