/* Counts the errors of profilers in the recording's ledger, in entries with the names of their providers.  After an
 * error from EndProfiling, ONNX Runtime drops all events of the profiler.  If the profiler has pushed its events to the
 * recording itself, the trace has them nevertheless. */
#include <stdio.h>
#include <string.h>

#include "epprof/epprof.h"
#include "run.h"

#define NOTE_BYTES 80

epp_status *run_failures_find_recorded(struct ort *ort, epp_session *recording)
{
	const epp_trace_track *track;
	epp_trace *recorded;

	TRY(epp_trace_open_session(recording, &recorded));
	pthread_mutex_lock(&ort->logs_lock);
	for (size_t i = 0; (track = epp_trace_track_at(recorded, i)); i++) {
		const char *label = track->kind == EPP_TRACK_DEVICE ? epp_trace_track_plugin(recorded, track) : NULL;
		for (size_t j = 0; label && j < ort->failures_count; j++)
			ort->failures[j].is_recorded |= strcmp(label, ort->failures[j].ep) == 0;
	}
	pthread_mutex_unlock(&ort->logs_lock);
	epp_trace_close(recorded);
	return NULL;
}

static epp_status *count_failure(epp_session *recording, const struct ort_failure *failure)
{
	epp_hosted_profiler *account;
	char note[NOTE_BYTES];

	TRY(epp_hosted_profiler_create(recording, &run_stand_in, failure->ep, &account));
	for (size_t i = 0; i < failure->count; i++)
		epp_hosted_profiler_count_error(account);
	if (!failure->is_recorded)
		epp_hosted_profiler_count_lost(account, EPP_LOSS_PLUGIN, failure->ends_count);
	const char *what = failure->is_recorded ? "ONNX Runtime's profile lacks its events: " : "its events are lost: ";
	snprintf(note, sizeof note, "%s%s", failure->ends_count ? what : "", failure->message);
	epp_hosted_profiler_set_note(account, note);
	epp_hosted_profiler_destroy(account);
	return NULL;
}

epp_status *run_failures_count(epp_session *recording, struct ort *ort)
{
	epp_status *status = NULL;

	pthread_mutex_lock(&ort->logs_lock);
	for (size_t i = 0; i < ort->failures_count && !status; i++)
		status = count_failure(recording, &ort->failures[i]);
	pthread_mutex_unlock(&ort->logs_lock);
	return status;
}
