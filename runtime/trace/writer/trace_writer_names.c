/* The names of a trace writer: collected in a string table and written at the end. */
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "trace/writer/trace_writer_private.h"

void trace_writer_names_deinit(struct trace_writer_names *names)
{
	string_table_deinit(&names->table);
}

epp_name epp_trace_writer_name(epp_trace_writer *writer, const char *text, size_t bytes)
{
	struct trace_writer_names *names = &writer->names;

	if (!bytes)
		return EPF_NAME_NONE;
	if (bytes > EPF_NAME_BYTES_MAX) {
		char *cut = malloc(EPF_NAME_BYTES_MAX);
		if (!cut) {
			writer->no_memory = true;
			return EPF_NAME_LOST;
		}
		epp_name name = epp_trace_writer_name(writer, cut, name_cut(cut, text));
		free(cut);
		return name;
	}
	uint32_t number;
	if (names->table.count >= names->count_max || names->table.bytes_count + bytes > names->text_bytes_max) {
		number = string_table_find(&names->table, text, bytes);
		return number == STRING_TABLE_NONE ? EPF_NAME_LOST : EPF_NAME_FIRST_FREE + number;
	}
	if (!string_table_add(&names->table, text, bytes, &number)) {
		writer->no_memory = true;
		return EPF_NAME_LOST;
	}
	return EPF_NAME_FIRST_FREE + number;
}

epp_status *trace_writer_names_write(struct epp_trace_writer *writer)
{
	const struct string_table *names = &writer->names.table;
	uint8_t *payload = calloc(1, TRACE_WRITER_PAYLOAD_MAX);
	epp_status *status = payload ? NULL : epp_status_no_memory();
	size_t used = 0;

	for (uint32_t i = 0; i < names->count && !status; i++) {
		size_t bytes;
		const char *text = string_table_bytes(names, i, &bytes);
		struct epf_definition head = { .bytes = (uint32_t)bytes + 4, .type = EPF_DEFINE_NAME };
		uint32_t number = EPF_NAME_FIRST_FREE + i;
		size_t step = sizeof(head) + (((size_t)head.bytes + 7) & ~(size_t)7);
		if (used + step > TRACE_WRITER_PAYLOAD_MAX) {
			status = trace_writer_append_payload(writer, EPF_BLOCK_DEFINITIONS, payload, used, SIZE_MAX);
			memset(payload, 0, used);
			used = 0;
		}
		memcpy(payload + used, &head, sizeof(head));
		memcpy(payload + used + sizeof(head), &number, sizeof(number));
		memcpy(payload + used + sizeof(head) + sizeof(number), text, bytes);
		used += step;
	}
	if (!status && used)
		status = trace_writer_append_payload(writer, EPF_BLOCK_DEFINITIONS, payload, used, SIZE_MAX);
	free(payload);
	return status;
}
