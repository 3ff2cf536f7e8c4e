/* libepprof_tf_shim.so: TF_Status without TensorFlow, for plugins that link libtensorflow_framework.so.2 to report
 * errors.
 *
 * It has the soname of that library, so that such a plugin can be loaded.  Only processes without TensorFlow load it
 * (epp_tf_shim_load), because two implementations of TF_Status in one process could not read each other's objects. */
#include <stdlib.h>
#include <string.h>

#include "epprof/abi/tf.h"

#define SHIM_EXPORT __attribute__((visibility("default")))

struct TSL_Status {
	TF_Code code;
	char *message; /* NULL means "" */
};

SHIM_EXPORT TF_Status *TF_NewStatus(void)
{
	return calloc(1, sizeof(TF_Status));
}

SHIM_EXPORT void TF_DeleteStatus(TF_Status *status)
{
	if (status)
		free(status->message);
	free(status);
}

SHIM_EXPORT void TF_SetStatus(TF_Status *status, TF_Code code, const char *message)
{
	/* `message` may point into the status, so it is copied before the old message is freed. */
	char *kept = code != TF_OK && message ? strdup(message) : NULL;
	free(status->message);
	status->code = code;
	status->message = kept;
}

SHIM_EXPORT TF_Code TF_GetCode(const TF_Status *status)
{
	return status->code;
}

SHIM_EXPORT const char *TF_Message(const TF_Status *status)
{
	return status->message ? status->message : "";
}

SHIM_EXPORT void TF_SetPayload(TF_Status *status, const char *key, const char *value);
void TF_SetPayload(TF_Status *status, const char *key, const char *value)
{
	/* Payloads are not used here. */
	(void)status, (void)key, (void)value;
}

SHIM_EXPORT void TF_SetStatusFromIOError(TF_Status *status, int error_code, const char *context);
void TF_SetStatusFromIOError(TF_Status *status, int error_code, const char *context)
{
	(void)error_code;
	TF_SetStatus(status, TF_UNKNOWN, context);
}
