/* Collects a plugin's data in two calls: the size, then the bytes.  Each call's status is checked before the next.  The
 * memory is larger than the size given to the plugin, and zeroed, so that an overrun is detected, for example if the
 * data grew between the calls.  Pages that are not touched use no memory. */

#include "base/os/os.h"
#include "plugins/tf/tf_plugin.h"

#define SPARE_BYTES 65536
/* A protobuf message is at most 2 GiB - 1. */
#define DATA_BYTES_MAX ((size_t)INT32_MAX)

static size_t written_end(const uint8_t *bytes, size_t from, size_t until)
{
	while (until > from && !bytes[until - 1])
		until--;
	return until;
}

epp_status *tf_collect(struct tf_plugin *plugin, const char *step, tf_collect_fn *fn, struct profile_data *data)
{
	size_t asked = 0;
	*data = (struct profile_data){ 0 };
	EPP_TRY(tf_call_collect(plugin, step, fn, NULL, &asked));
	if (!asked)
		return NULL;
	if (asked > DATA_BYTES_MAX)
		return epp_status_create(EPP_PLUGIN, "%s: it reported %zu bytes, more than a protobuf message can have",
		                         step, asked);
	data->mapped_bytes = asked + SPARE_BYTES;
	data->bytes = os_memory_map(data->mapped_bytes);
	if (!data->bytes) {
		*data = (struct profile_data){ 0 };
		return epp_status_no_memory();
	}
	size_t reported = asked;
	epp_status *status = tf_call_collect(plugin, step, fn, data->bytes, &reported);
	size_t end = written_end(data->bytes, asked, data->mapped_bytes);
	data->count = reported < asked ? reported : asked;
	if (reported > asked && reported <= data->mapped_bytes && end > asked)
		/* The plugin wrote all data that it has now, and there was enough room. */
		data->count = reported;
	if (status)
		return status;
	if (reported > asked)
		return epp_status_create(EPP_PLUGIN, "%s: its data grew from %zu to %zu bytes between the two calls",
		                         step, asked, reported);
	if (end > asked)
		return epp_status_create(EPP_PLUGIN, "%s: it wrote %zu bytes past the %zu bytes that it requested",
		                         step, end - asked, asked);
	return NULL;
}

void tf_data_release(struct profile_data *data)
{
	if (data->bytes)
		os_memory_unmap(data->bytes, data->mapped_bytes);
	*data = (struct profile_data){ 0 };
}
