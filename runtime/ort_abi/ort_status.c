/* OrtStatus: one allocation, which is recognised by its first word.  If there is no memory, a static status is
 * returned. */
#include "ort_abi/ort_status.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A random number, so that the first word of another library's object is very unlikely to be equal. */
#define STATUS_MAGIC UINT64_C(0x7375746174735f65)

struct OrtStatus {
	uint64_t magic;
	int code;
	char message[];
};

static const struct {
	uint64_t magic;
	int code;
	char message[16];
} no_memory = { STATUS_MAGIC, ORT_FAIL, "out of memory" };

static OrtStatus *static_status(void)
{
	return (OrtStatus *)(uintptr_t)&no_memory;
}

/* Returns true for a status of this library.  Before this is known, only the first word may be read. */
static bool is_ours(const OrtStatus *status)
{
	uint64_t magic;
	memcpy(&magic, status, sizeof(magic));
	return magic == STATUS_MAGIC;
}

OrtStatus *ort_status_create(int code, const char *message)
{
	size_t bytes = message ? strlen(message) : 0;
	OrtStatus *status = malloc(sizeof(*status) + bytes + 1);
	if (!status)
		return static_status();
	status->magic = STATUS_MAGIC;
	status->code = code ? code : ORT_FAIL;
	if (bytes)
		memcpy(status->message, message, bytes);
	status->message[bytes] = 0;
	return status;
}

int ort_status_code(const OrtStatus *status)
{
	if (!status)
		return ORT_OK;
	return is_ours(status) ? status->code : ORT_FAIL;
}

const char *ort_status_message(const OrtStatus *status)
{
	if (!status)
		return "";
	return is_ours(status) ? status->message : "(a status that this host's CreateStatus did not create)";
}

void ort_status_release(OrtStatus *status)
{
	if (!status || status == static_status() || !is_ours(status))
		return;
	status->magic = 0;
	free(status);
}

OrtStatus *ort_status_take(epp_status *status)
{
	if (!status)
		return NULL;
	OrtStatus *made = ort_status_create(ORT_EP_FAIL, epp_status_message(status));
	epp_status_destroy(status);
	return made;
}
