/* Writes the XSpace file: a plane for the host and one for each device.  In protobuf the length of a message precedes
 * it, so the small parts of a plane are built in memory first.  The events need no copy in memory: they are already
 * encoded, their size is known, and their bytes are copied from the lines (struct xplane_line) to the file. */
#include <errno.h>
#include <stdio.h>

#include "export/args_text.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "export/xspace/xplane.h"

/* A message that is built in memory. */
struct part {
	struct sink sink;
	struct sink_memory memory;
};

static char *part_room(struct part *part, size_t bytes)
{
	return sink_reserve(&part->sink, bytes);
}

static void part_text(struct part *part, uint32_t field, const char *text, size_t bytes)
{
	/* A name can have 64 KiB, and the replacement of invalid bytes makes it longer, so one reservation may be too
	 * small. */
	char *mended = malloc(message_text_bytes(bytes));

	if (!mended) {
		sink_fail(&part->sink, ENOMEM);
		return;
	}
	sink_bytes(&part->sink, mended, (size_t)(protobuf_text(mended, field, text, bytes) - mended));
	free(mended);
}

static epp_status *part_begin(struct part *part)
{
	*part = (struct part){ 0 };
	return sink_init(&part->sink, sink_memory_write, &part->memory);
}

static void part_end(struct part *part)
{
	sink_deinit(&part->sink);
	free(part->memory.bytes);
}

/* ---- the metadata of a plane ---- */

/* Writes an entry of a metadata map: a number and its name. */
static void put_entry(struct part *plane, uint32_t field, uint32_t number, const char *name, size_t bytes)
{
	size_t value = protobuf_u64_bytes(XMETADATA_ID, number) + protobuf_text_bytes(XMETADATA_NAME, name, bytes);
	size_t entry = protobuf_u64_bytes(ENTRY_KEY, number) + protobuf_bytes_bytes(ENTRY_VALUE, value);
	char *at = part_room(plane, 64);

	at = protobuf_head(at, field, entry);
	at = protobuf_u64(at, ENTRY_KEY, number);
	at = protobuf_head(at, ENTRY_VALUE, value);
	sink_commit(&plane->sink, protobuf_u64(at, XMETADATA_ID, number));
	part_text(plane, XMETADATA_NAME, name, bytes);
}

static void put_names(const struct export_run *run, struct part *plane, const struct id_set_page *names)
{
	for (unsigned i = 0; i < ID_SET_PAGE_IDS / 64; i++) {
		for (uint64_t word = names->bits[i]; word; word &= word - 1) {
			uint32_t number = (uint32_t)names->number * ID_SET_PAGE_IDS + i * 64 +
			                  (uint32_t)__builtin_ctzll(word);
			size_t bytes;
			const char *name = epp_trace_name(run->trace, number, &bytes);
			put_entry(plane, XPLANE_EVENT_METADATA, number + 1, name, bytes);
		}
	}
}

/* Writes a stat of the plane itself, and defines its key. */
static void put_text_stat(struct part *plane, uint32_t number, const char *key, const char *text, size_t bytes)
{
	size_t stat = protobuf_u64_bytes(XSTAT_METADATA_ID, number) + protobuf_text_bytes(XSTAT_TEXT, text, bytes);

	put_entry(plane, XPLANE_STAT_METADATA, number, key, strlen(key));
	char *at = protobuf_head(part_room(plane, 64), XPLANE_STATS, stat);
	sink_commit(&plane->sink, protobuf_u64(at, XSTAT_METADATA_ID, number));
	part_text(plane, XSTAT_TEXT, text, bytes);
}

static void put_number_stat(struct part *plane, uint32_t number, const char *key, int64_t value)
{
	size_t stat = protobuf_u64_bytes(XSTAT_METADATA_ID, number) + protobuf_i64_bytes(XSTAT_I64, value);

	put_entry(plane, XPLANE_STAT_METADATA, number, key, strlen(key));
	char *at = protobuf_head(part_room(plane, 64), XPLANE_STATS, stat);
	at = protobuf_u64(at, XSTAT_METADATA_ID, number);
	sink_commit(&plane->sink, protobuf_i64(at, XSTAT_I64, value));
}

/* Writes the facts and the ledger as stats of the host's plane. */
static epp_status *put_facts(struct export_run *run, struct part *plane)
{
	const struct xplanes *xplanes = run->state;
	uint32_t number = KNOWN_OWN + xplanes->keys_count;
	struct fact facts[FACTS_MAX];
	size_t count = facts_collect(run, facts), accounts = ledger_count(run);
	struct args_text text = { 0 };
	epp_status *status = args_text_init(&text);

	for (size_t i = 0; i < count; i++) {
		if (facts[i].kind == FACT_TEXT)
			put_text_stat(plane, number++, facts[i].key, facts[i].value.text, strlen(facts[i].value.text));
		else
			put_number_stat(plane, number++, facts[i].key, facts[i].value.i64);
	}
	for (size_t i = 0; i < accounts && !status; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		char key[32];
		status = ledger_at(run, i, &account);
		if (status)
			break;
		ledger_write_account(&text.sink, &account);
		status = args_text_take(&text);
		snprintf(key, sizeof key, "ledger %zu", i + 1);
		if (!status)
			put_text_stat(plane, number++, key, text.memory.bytes, text.memory.count);
	}
	args_text_deinit(&text);
	return status;
}

/* ---- lines and planes ---- */

/* Returns true if a row belongs to the plane of a process.  All processes of the operating system share one plane. */
static bool is_in_plane(const struct xplanes *xplanes, const struct row *row, size_t process)
{
	bool host = !xplanes->rows.processes[process].group;

	return row->process == process || (host && !xplanes->rows.processes[row->process].group);
}

/* Returns the number of a row's line: the thread's id if it has one and its process is the first one, else a number
 * that no thread has. */
static uint64_t line_id(const struct xplanes *xplanes, size_t index)
{
	const struct row *row = &xplanes->rows.rows[index];

	if (row->process && !xplanes->rows.processes[row->process].group)
		return 2 * (uint64_t)ROWS_FIRST_SYNTHETIC + index;
	return row->tid;
}

static void put_line_head(const struct xplanes *xplanes, struct part *part, size_t index)
{
	const struct row *row = &xplanes->rows.rows[index];
	char lane[ROWS_LANE_BYTES], *name;
	char *at = protobuf_u64(part_room(part, 64), XLINE_ID, line_id(xplanes, index));

	rows_lane_text(row->lane, lane);
	sink_commit(&part->sink, protobuf_i64(at, XLINE_TIMESTAMP_NS, xplanes->base_unix_ns));
	if (asprintf(&name, "%s%s", row->track->name, lane) < 0) {
		sink_fail(&part->sink, ENOMEM);
		return;
	}
	part_text(part, XLINE_NAME, name, strlen(name));
	free(name);
}

/* Writes a plane.  The heads of its lines are in `heads`, one after the other: the head of line i has the bytes from
 * `starts[i]` to `starts[i + 1]`. */
static epp_status *send_plane(struct export_run *run, struct xplane_part *file, size_t process, struct part *plane,
                              struct part *heads, size_t *starts)
{
	struct xplanes *xplanes = run->state;
	uint64_t bytes = 0;

	for (size_t i = 0; i < xplanes->rows.rows_count; i++) {
		starts[i] = heads->memory.count;
		if (!is_in_plane(xplanes, &xplanes->rows.rows[i], process) || !xplane_row_bytes(&file->lines, i))
			continue;
		put_line_head(xplanes, heads, i);
		EPP_TRY(sink_flush(&heads->sink));
	}
	starts[xplanes->rows.rows_count] = heads->memory.count;
	EPP_TRY(sink_flush(&plane->sink));

	bytes = plane->memory.count;
	for (size_t i = 0; i < xplanes->rows.rows_count; i++) {
		size_t head = starts[i + 1] - starts[i];
		if (head)
			bytes += protobuf_bytes_bytes(XPLANE_LINES, head + xplane_row_bytes(&file->lines, i));
	}
	sink_commit(run->sink, protobuf_head(sink_reserve(run->sink, 32), XSPACE_PLANES, bytes));
	sink_bytes(run->sink, plane->memory.bytes, plane->memory.count);
	for (size_t i = 0; i < xplanes->rows.rows_count; i++) {
		size_t head = starts[i + 1] - starts[i];
		if (!head)
			continue;
		uint64_t line = head + xplane_row_bytes(&file->lines, i);
		sink_commit(run->sink, protobuf_head(sink_reserve(run->sink, 32), XPLANE_LINES, line));
		sink_bytes(run->sink, heads->memory.bytes + starts[i], head);
		EPP_TRY(xplane_line_send(&file->lines, i, run->sink));
	}
	return NULL;
}

#define CUSTOM "/device:CUSTOM:"
#define GPU "/device:GPU:"
#define TPU "/device:TPU:"

static bool starts_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool xplane_is_gpu(const char *name)
{
	return starts_with(name, GPU);
}

/* Compares the names of GPU planes, such as "/device:GPU:0 (name)", up to the first space. */
static bool is_same_gpu(const char *name, const char *other)
{
	size_t bytes = strcspn(name, " ");

	return strcspn(other, " ") == bytes && memcmp(name, other, bytes) == 0;
}

/* Returns true if a device keeps its name as a GPU plane.  Only the first device with a name does. */
static bool keeps_gpu_name(const struct xplanes *xplanes, size_t process)
{
	const struct rows_process *of = &xplanes->rows.processes[process];

	if (!of->group || !xplane_is_gpu(of->name))
		return false;
	for (size_t i = 0; i < process; i++) {
		const struct rows_process *other = &xplanes->rows.processes[i];
		if (other->group && is_same_gpu(other->name, of->name))
			return false;
	}
	return true;
}

static bool is_gpu_number_used(const struct xplanes *xplanes, unsigned number)
{
	for (size_t i = 0; i < xplanes->rows.processes_count; i++) {
		if (keeps_gpu_name(xplanes, i) && strtoul(xplanes->rows.processes[i].name + strlen(GPU), NULL, 10) == number)
			return true;
	}
	return false;
}

/* Returns the number of a device that is written as a GPU plane.  It is not the number of a device that keeps its
 * name. */
static unsigned gpu_number(const struct export_run *run, size_t process)
{
	const struct xplanes *xplanes = run->state;
	unsigned number = 0;

	for (size_t i = 0;; number++) {
		if (is_gpu_number_used(xplanes, number))
			continue;
		/* Skips devices that are not renamed: those that keep their name, and those that are no GPU planes. */
		while (i < process && (!xplanes->rows.processes[i].group || keeps_gpu_name(xplanes, i) ||
		                       (!run->options->gpu_planes && !xplane_is_gpu(xplanes->rows.processes[i].name))))
			i++;
		if (i++ >= process)
			return number;
	}
}

/* Makes the name of a plane: "/host:CPU", "/device:CUSTOM:Accelerator 0" or "/device:GPU:0".  A device that was
 * imported from an XSpace may have such a name already. */
static char *plane_name(const struct export_run *run, size_t process)
{
	const struct xplanes *xplanes = run->state;
	const struct rows_process *of = &xplanes->rows.processes[process];
	bool keeps = keeps_gpu_name(xplanes, process);
	char *name;

	if (!of->group)
		return strdup("/host:CPU");
	if (!keeps && (run->options->gpu_planes || xplane_is_gpu(of->name)))
		return asprintf(&name, GPU "%u", gpu_number(run, process)) < 0 ? NULL : name;
	const char *prefix = keeps || starts_with(of->name, CUSTOM) || starts_with(of->name, TPU) ? "" : CUSTOM;
	return asprintf(&name, "%s%s", prefix, of->name) < 0 ? NULL : name;
}

static epp_status *fill_plane(struct export_run *run, const struct xplane_part *file, size_t process, unsigned number,
                              struct part *plane)
{
	const struct xplanes *xplanes = run->state;
	const struct rows_process *of = &xplanes->rows.processes[process];
	const struct xplane_key *key;
	char *name = plane_name(run, process);

	if (!name)
		return epp_status_no_memory();
	/* Viewers need unique plane numbers; the number of the process is one. */
	sink_commit(&plane->sink, protobuf_u64(part_room(plane, 32), XPLANE_ID, number));
	part_text(plane, XPLANE_NAME, name, strlen(name));
	free(name);
	for (size_t i = 0; i < file->names.pages_count; i++) {
		const struct id_set_page *names = &file->names.pages[i];
		if (names->source == process || (!of->group && !xplanes->rows.processes[names->source].group))
			put_names(run, plane, names);
	}
	for (uint32_t stat = KNOWN_CORRELATION; stat < KNOWN_OWN; stat++)
		put_entry(plane, XPLANE_STAT_METADATA, stat, xplane_stat(stat), strlen(xplane_stat(stat)));
	SLIST_FOREACH(key, &xplanes->keys_list, link)
		put_entry(plane, XPLANE_STAT_METADATA, key->number, key->text, key->bytes);
	if (process < xplanes->properties_count)
		sink_bytes(&plane->sink, xplanes->properties[process].bytes, xplanes->properties[process].count);
	return of->group ? NULL : put_facts(run, plane);
}

static epp_status *write_plane(struct export_run *run, struct xplane_part *file, size_t process, unsigned number)
{
	const struct xplanes *xplanes = run->state;
	size_t *starts = calloc(xplanes->rows.rows_count + 1, sizeof *starts);
	struct part plane = { 0 }, heads = { 0 };
	epp_status *status = NULL;

	if (!starts)
		return epp_status_no_memory();
	status = part_begin(&plane);
	if (!status)
		status = part_begin(&heads);
	if (!status)
		status = fill_plane(run, file, process, number, &plane);
	if (!status)
		status = send_plane(run, file, process, &plane, &heads, starts);
	part_end(&plane);
	part_end(&heads);
	free(starts);
	return status;
}

/* Writes the losses as a warning, which viewers show. */
static epp_status *write_warning(struct export_run *run)
{
	struct ledger_total total;
	char text[96];

	EPP_TRY(ledger_add_up(run, &total));
	if (!total.lost)
		return NULL;
	snprintf(text, sizeof text, "%llu events were lost while recording", (unsigned long long)total.lost);
	char *at = sink_reserve(run->sink, sizeof text + 16);
	sink_commit(run->sink, protobuf_bytes(at, XSPACE_WARNINGS, text, strlen(text)));
	return NULL;
}

/* Returns true if this part has events of a process.  A device without events in this part keeps its number in other
 * parts. */
static bool part_has_process(const struct xplanes *xplanes, const struct xplane_part *file, size_t process)
{
	for (size_t i = 0; i < xplanes->rows.rows_count; i++) {
		if (is_in_plane(xplanes, &xplanes->rows.rows[i], process) && xplane_row_bytes(&file->lines, i))
			return true;
	}
	return false;
}

epp_status *xplane_write_document(struct export_run *run, struct xplane_part *file)
{
	const struct xplanes *xplanes = run->state;
	const char *hostname = run->info->hostname ? run->info->hostname : "";
	unsigned devices = 0;
	bool host = false;

	EPP_TRY(write_warning(run));
	for (size_t i = 0; i < xplanes->rows.processes_count; i++) {
		bool device = xplanes->rows.processes[i].group != NULL;
		unsigned number = device ? devices++ : XPLANE_HOST_PLANE;
		if (device ? part_has_process(xplanes, file, i) : !host)
			EPP_TRY(write_plane(run, file, i, number));
		host = host || !device;
	}
	char *at = sink_reserve(run->sink, message_text_bytes(strlen(hostname)));
	sink_commit(run->sink, protobuf_text(at, XSPACE_HOSTNAMES, hostname, strlen(hostname)));
	return NULL;
}
