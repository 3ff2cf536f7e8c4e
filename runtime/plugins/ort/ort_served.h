/* The entries of ONNX Runtime's tables that this host implements: `ort_api_<name>` and `ort_ep_api_<name>` for each
 * slot that ort_slots.def marks SERVED.  Each has exactly the type of its member in epprof/abi/ort_tables.h, which is
 * also its documentation; the compiler checks the definitions against it.
 *
 * No entry crashes if it gets NULL in the place of an object: it returns a status, NULL or 0.  The objects behind the
 * opaque types have one file each: ort_key_values.c, ort_memory_info.c, ort_devices.c, ort_logger.c; events and
 * statuses are in ort_abi/. */
#ifndef EPPROF_RUNTIME_PLUGINS_ORT_ORT_SERVED_H
#define EPPROF_RUNTIME_PLUGINS_ORT_ORT_SERVED_H

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/session.h"

#define DECLARE_SERVED(table, prefix, name) extern __typeof__(*((const table *)0)->name) prefix##name;
#define DECLARE_STUB(table, prefix, name)
#define ORT_API_SLOT(slot, name, kind, how) DECLARE_##how(OrtApi, ort_api_, name)
#define ORT_EP_API_SLOT(slot, name, kind, how) DECLARE_##how(OrtEpApi, ort_ep_api_, name)
#include "plugins/ort/ort_slots.def"
#undef DECLARE_SERVED
#undef DECLARE_STUB

/* Returns a status that names the entry and its argument that is NULL. */
OrtStatus *ort_null_argument(const char *entry, const char *argument);

/* Returns this host's only hardware: its processor, or the device that epp_plugin_offer_device set.  Ownership:
 * static. */
const OrtHardwareDevice *ort_offered_device(void);
/* Size of the longest text, such as "GPU of vendor 0x8086, id 0x1". */
#define ORT_OFFERED_BYTES 64
const char *ort_offered_text(char text[ORT_OFFERED_BYTES]);

/* Returns an empty set of key-value pairs.  Ownership: static. */
const OrtKeyValuePairs *ort_key_values_empty(void);

/* Returns a copy of the pairs, an empty set for NULL; NULL: no memory. */
OrtKeyValuePairs *ort_key_values_copy(const OrtKeyValuePairs *pairs);

/* Creates a logger that puts `plugin_name` before each message.  Returns NULL if there is no memory.  Ownership: the
 * name is copied. */
OrtLogger *ort_logger_create(const char *plugin_name);
void ort_logger_destroy(OrtLogger *logger);

#endif
