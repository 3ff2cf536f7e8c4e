/* Joins related events.  A call and its kernels have the same correlation id; of several calls with one id the last is
 * used, as in XProf.  An event that is a producer with a context type and id has an arrow to the consumers with the
 * same type and id.  All calls are known before the first kernel, because planes of hosts are read first. */
#include "format/format.h"
#include "import/xspace/xplane_reader.h"

enum { PRODUCER = 1, CONSUMER = 2 };

static uint64_t number_of(const epp_arg *arg)
{
	return arg->type == EPP_ARG_TEXT ? 0 : arg->value.u64;
}

static epp_status *add_flow_end(struct xplane_reader *reader, enum xplane_key type_key, enum xplane_key id_key,
                                uint32_t role)
{
	const epp_trace_record *record = &reader->import->prepared.record;
	const epp_arg *type = xplane_find_arg(reader, type_key), *id = xplane_find_arg(reader, id_key);

	if (!type || !id)
		return NULL;
	uint64_t key = (number_of(id) * UINT64_C(0x9E3779B97F4A7C15)) ^ (number_of(type) * UINT64_C(0xC2B2AE3D27D4EB4F));
	/* At equal times the producer comes first, because the sorter puts the longer entry first. */
	return sorter_add(&reader->flow_ends, &(struct sorter_entry){ .key = key,
	                                                              .start = record->start_ticks,
	                                                              .end = role == PRODUCER,
	                                                              .id = record->id,
	                                                              .track = record->track,
	                                                              .name = role });
}

epp_status *xplane_links_add(struct xplane_reader *reader)
{
	const epp_trace_record *record = &reader->import->prepared.record;
	const epp_arg *correlation = xplane_find_arg(reader, XKEY_CORRELATION);

	if (correlation && number_of(correlation) && reader->plane->kind == XPLANE_HOST)
		EPP_TRY(sorter_add(&reader->causes, &(struct sorter_entry){ .key = number_of(correlation),
		                                                            .start = record->start_ticks,
		                                                            .id = record->id }));
	EPP_TRY(add_flow_end(reader, XKEY_PRODUCER_TYPE, XKEY_PRODUCER, PRODUCER));
	return add_flow_end(reader, XKEY_CONSUMER_TYPE, XKEY_CONSUMER, CONSUMER);
}

epp_status *xplane_links_find_parent(struct xplane_reader *reader)
{
	epp_trace_record *record = &reader->import->prepared.record;
	const epp_arg *correlation = xplane_find_arg(reader, XKEY_CORRELATION);
	struct sorter_entry entry = { 0 };
	uint64_t place = 0;

	if (correlation && number_of(correlation))
		EPP_TRY(sorter_find(&reader->causes, number_of(correlation), UINT64_MAX, &place));
	if (place)
		EPP_TRY(sorter_at(&reader->causes, place - 1, &entry));
	if (place && entry.key == number_of(correlation)) {
		record->parent = entry.id;
		reader->import->counts.correlated++;
	} else {
		reader->import->counts.uncorrelated++;
	}
	return NULL;
}

static epp_status *write_arrow(struct xplane_reader *reader, const struct sorter_entry *from, const struct sorter_entry *to)
{
	struct import *import = reader->import;
	const epp_trace_record record = { .kind = EPP_RECORD_FLOW,
		                          .start_ticks = from->start,
		                          .id = to->id,
		                          .parent = from->id,
		                          .track = from->track,
		                          .name = EPF_NAME_FLOW };

	import->counts.events++;
	return epp_trace_writer_record(import->writer, &record);
}

epp_status *xplane_links_write(struct xplane_reader *reader)
{
	struct sorter_entry producer = { 0 }, entry;

	EPP_TRY(sorter_seal(&reader->flow_ends));
	for (uint64_t place = 0; place < reader->flow_ends.count; place++) {
		EPP_TRY(import_check_cancel(reader->import));
		EPP_TRY(sorter_at(&reader->flow_ends, place, &entry));
		if (entry.name == PRODUCER)
			producer = entry;
		else if (producer.name && producer.key == entry.key)
			EPP_TRY(write_arrow(reader, &producer, &entry));
		else
			reader->arrows_alone++;
	}
	return NULL;
}
