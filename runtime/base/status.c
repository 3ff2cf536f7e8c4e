/* Statuses: a code and a message in one allocation. If there is no memory, a static status is used, which
 * epp_status_destroy ignores. Creating an error therefore never fails and needs no check. */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"

struct epp_status {
	epp_code code;
	char message[];
};

static const struct {
	epp_code code;
	char message[16];
} no_memory = { EPP_OUT_OF_MEMORY, "out of memory" };

epp_status *epp_status_no_memory(void)
{
	return (epp_status *)(uintptr_t)&no_memory;
}

epp_code epp_status_code(const epp_status *status)
{
	return status ? status->code : EPP_OK;
}

const char *epp_status_message(const epp_status *status)
{
	return status ? status->message : "";
}

void epp_status_destroy(epp_status *status)
{
	if (status != epp_status_no_memory())
		free(status);
}

/* Formats the text. If `after` is not NULL, appends ": " and `after`. */
static epp_status *make(epp_code code, const char *after, const char *format, va_list arguments)
{
	va_list again;
	va_copy(again, arguments);
	int text_bytes = vsnprintf(NULL, 0, format, arguments);
	if (text_bytes < 0)
		text_bytes = 0;
	size_t after_bytes = after ? strlen(after) + 2 : 0;
	epp_status *status = malloc(sizeof(*status) + (size_t)text_bytes + after_bytes + 1);
	if (status) {
		status->code = code;
		vsnprintf(status->message, (size_t)text_bytes + 1, format, again);
		snprintf(status->message + text_bytes, after_bytes + 1, "%s%s", after ? ": " : "", after ? after : "");
	}
	va_end(again);
	return status ? status : epp_status_no_memory();
}

epp_status *epp_status_create(epp_code code, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	epp_status *status = make(code, NULL, format, arguments);
	va_end(arguments);
	return status;
}

epp_status *epp_status_prefix(epp_status *status, const char *format, ...)
{
	if (!status || status == epp_status_no_memory())
		return status;
	va_list arguments;
	va_start(arguments, format);
	epp_status *longer = make(status->code, status->message, format, arguments);
	va_end(arguments);
	epp_status_destroy(status);
	return longer;
}

epp_status *epp_status_errno(int error, const char *format, ...)
{
	char reason[128];
	const char *text = os_error_text(error, reason, sizeof(reason));
	va_list arguments;
	va_start(arguments, format);
	epp_status *status = make(error == ENOENT ? EPP_NOT_FOUND : EPP_IO, text, format, arguments);
	va_end(arguments);
	return status;
}
