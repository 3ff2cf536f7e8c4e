/* Copies the events of hosted plugins of other frameworks from the trace to ONNX Runtime's own profile. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_PLUGIN_EVENTS_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_PLUGIN_EVENTS_H

#include "ort.h"
#include "ort_copies.h"

struct ort_plugin_events {
	const struct ort_host *host;
	epp_session *session;
	uint64_t producers;      /* as from epp_hosted_profiler_producers */
	int64_t profile_unix_ns; /* start of ONNX Runtime's profile */
	int64_t duration_ns;     /* length of the profile: events that may have started in this time are added */
	struct ort_devices *devices;
	uint64_t (*ort_id_of)(const void *user, uint64_t id); /* as in struct ort_container */
	const void *user;
};

/* Adds the events of these producers in the profile's time to ONNX Runtime's container. */
OrtStatus *ort_plugin_events_fill(const struct ort_plugin_events *plugins, OrtProfilingEventsContainer *container);

#endif
