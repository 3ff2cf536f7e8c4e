/* --device: parses the properties of the device that is offered to execution providers. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "epprof/plugin.h"

/* Parses vendor=NUMBER or id=NUMBER, for example vendor=0x8086.  Returns false if the text is neither. */
static bool take_id(char *text, epp_plugin_device *device)
{
	char *number = strchr(text, '='), *end;

	if (!number)
		return false;
	*number++ = '\0';
	bool is_vendor = strcmp(text, "vendor") == 0;
	errno = 0;
	unsigned long id = strtoul(number, &end, 0);
	if ((!is_vendor && strcmp(text, "id") != 0) || !isdigit((unsigned char)*number) || *end || errno || id > UINT32_MAX)
		return false;
	*(is_vendor ? &device->vendor_id : &device->device_id) = (uint32_t)id;
	return true;
}

bool cli_offer_device(const struct cli_command *command)
{
	static const char *const types[] = { "cpu", "gpu", "npu" };
	epp_plugin_device device = { .struct_size = sizeof device };
	char *copy = strdup(optarg), *rest = copy, *part = strsep(&rest, ":");

	while (part && device.type < 3 && strcmp(part, types[device.type]) != 0)
		device.type++;
	bool understood = part && device.type < 3;
	while (understood && (part = strsep(&rest, ":")))
		understood = take_id(part, &device);
	free(copy);
	if (!understood) {
		cli_misuse(command, "--device '%s': must be TYPE[:vendor=0x8086][:id=N] with TYPE cpu, gpu or npu", optarg);
		return false;
	}
	epp_status *status = epp_plugin_offer_device(&device);
	if (status)
		cli_failure(status);
	return !status;
}
