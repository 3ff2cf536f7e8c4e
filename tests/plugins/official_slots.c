/* The slots of ONNX Runtime's own headers, for comparison with epprof's.  That this file compiles is a test too: after
 * the official headers epprof's header declares nothing twice, and its layout assertions hold for the official
 * structs. */
#include <onnxruntime_c_api.h>

#include "epprof/abi/ort_ep_profiler.h"

#include "official_slots.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct official_slot api_slots[] = {
#define ORT_API_SLOT(number, name, kind, how) { #name, offsetof(OrtApi, name) / sizeof(void *) },
#include "runtime/plugins/ort/ort_slots.def"
};

static const struct official_slot ep_api_slots[] = {
#define ORT_EP_API_SLOT(number, name, kind, how) { #name, offsetof(OrtEpApi, name) / sizeof(void *) },
#include "runtime/plugins/ort/ort_slots.def"
};

static const struct official_slot model_editor_slots[] = {
#define ORT_MODEL_EDITOR_API_SLOT(number, name, kind, how) \
	{ #name, offsetof(OrtModelEditorApi, name) / sizeof(void *) },
#include "runtime/plugins/ort/ort_slots.def"
};

extern const struct official_slots official_slots;

__attribute__((visibility("default"))) const struct official_slots official_slots = {
	api_slots,          COUNT(api_slots),          sizeof(OrtApi) / sizeof(void *),
	ep_api_slots,       COUNT(ep_api_slots),       sizeof(OrtEpApi) / sizeof(void *),
	model_editor_slots, COUNT(model_editor_slots), sizeof(OrtModelEditorApi) / sizeof(void *),
	ORT_API_VERSION,
};
