/* State and functions that the files of the Perfetto writer share: packets of one sequence, tracks and interned texts
 * (perfetto.c), args (perfetto_args.c), and device events as stages of GPUs (perfetto_stages.c). */
#ifndef EPPROF_RUNTIME_EXPORT_PERFETTO_PERFETTO_H
#define EPPROF_RUNTIME_EXPORT_PERFETTO_PERFETTO_H

#include "containers/id_set.h"
#include "export/links/flows.h"
#include "export/links/launches.h"
#include "export/message.h"
#include "export/rows.h"

/* Field numbers from perfetto/trace/trace_packet.proto and the files that it includes. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_GPU_STAGE = 53,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_GPU_INFO = 128
};
enum { DEFAULTS_CLOCK = 58 };
enum { SEQUENCE_BEGINS = 1, SEQUENCE_GOES_ON = 2 };
enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3 };
enum {
	EVENT_CATEGORY_IID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_LEGACY = 6,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_COUNTER_F64 = 44,
	EVENT_FLOW = 47,
	EVENT_GPU_CORRELATION = 3000
};
enum { CORRELATION_SUBMITTED = 1 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	LEGACY_NAME_IID = 1,
	LEGACY_PHASE = 2,
	LEGACY_ID = 6,
	LEGACY_BIND_ID = 8,
	LEGACY_BIND_ENCLOSING = 12,
	LEGACY_FLOW = 13
};
enum { FLOW_IN = 1 };
enum {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_U64 = 3,
	ANNOTATION_I64 = 4,
	ANNOTATION_F64 = 5,
	ANNOTATION_TEXT = 6,
	ANNOTATION_NAME = 10
};
enum {
	INTERNED_CATEGORY = 1,
	INTERNED_EVENT_NAME = 2,
	INTERNED_ANNOTATION_NAME = 3,
	INTERNED_GPU_CONTEXT = 23,
	INTERNED_GPU_SPECIFICATION = 24,
	INTERNED_KERNEL = 1000,
	INTERNED_KERNEL_ARG_NAME = 1001
};
enum { INTERNED_IID = 1, INTERNED_TEXT = 2 };

/* The first uuid of tracks that are neither rows nor processes, such as counters. */
#define PERFETTO_UUID_OTHERS (UINT64_C(1) << 62)
#define PERFETTO_UUID_FACTS 0x7FFFFFFFu

/* The fields that every packet has: sequence number 1, and the flag SEQ_NEEDS_INCREMENTAL_STATE. */
#define PERFETTO_COMMON "\x50\x01\x68\x02"
/* row->text is the constant part of the packet that ends a slice on the row, from the end of the time on.
 * PERFETTO_ROW_BYTES bytes of it are always copied.  PERFETTO_ROW_EVENT is the offset of the TrackEvent message in it,
 * whose first field is the type; PERFETTO_ROW_TRACK is the offset of the field with the track. */
#define PERFETTO_ROW_BYTES 16u
#define PERFETTO_ROW_EVENT 6u
#define PERFETTO_ROW_TRACK 8u
/* Offset and size, in row->text, of the annotations that all events of a device have. */
#define PERFETTO_ROW_DEVICE 24u
#define PERFETTO_ROW_DEVICE_BYTES 32u

#define PERFETTO_CACHE_COUNT 1024u

/* Number of lower bits of a time that put_time writes as four varint bytes.  Times with the same upper bits are at most
 * a quarter of a second apart. */
#define PERFETTO_LOWER_BITS 28u

struct perfetto {
	struct rows rows;
	struct id_set names; /* names that were interned already */
	struct flows user_flows;
	struct launches launches;
	bool gpu_stages;      /* the option gpu_stages of the export */
	struct id_set stages; /* stages that were interned already */
	uint32_t gpus_count;
	struct message message; /* buffer for packets that are too large for the sink's buffer */
	char *packet;           /* the current packet, after its head */
	int64_t zero_ns;        /* CLOCK_MONOTONIC at time 0 of the timeline */
	int64_t last_ns;
	struct {
		uint64_t upper; /* upper bits of the last time, above PERFETTO_LOWER_BITS; UINT64_MAX: none */
		uint64_t text;  /* the varint of a time with these upper bits and the lower bits 0 */
		uint32_t bytes;
	} time;
	struct {
		const char *text; /* address of the key's text in the trace */
		uint32_t iid;
	} keys[PERFETTO_CACHE_COUNT]; /* keys of args that were interned, by a hash of the address of their text */
	uint32_t next_key_iid;
	struct perfetto_placement {
		char text[31]; /* an encoded annotation */
		uint8_t bytes;
	} placements[EPP_PLACEMENT_COUNT + 1];   /* the last entry is for unknown placements */
	uint64_t counters[PERFETTO_CACHE_COUNT]; /* uuids of counter tracks that were described */
	uint64_t flows_without_end, flows_back_in_time, flows_off_threads, counters_without_number, counters_rounded,
	    outside_clock;
};

/* Returns the interning id (iid) of an event's name, which is derived from the name's number. */
static inline uint32_t perfetto_name_iid(const epp_event *event)
{
	return event->name_number + 1;
}

static inline uint64_t perfetto_row_uuid(const struct rows *rows, const struct row *row)
{
	return (uint64_t)(row - rows->rows) * 2 + 2;
}

/* Keys of epprof's own data.  The iid of a key is its position, from 1.  The keys of flags come after these. */
enum perfetto_key {
	PERFETTO_KEY_ID = 1,
	PERFETTO_KEY_PARENT,
	PERFETTO_KEY_PLACEMENT,
	PERFETTO_KEY_START_ERROR,
	PERFETTO_KEY_END_ERROR,
	PERFETTO_KEY_DEVICE,
	PERFETTO_KEY_STREAM,
	PERFETTO_KEY_FLAGS
};

/* Returns the id of a flow, from the source and id of the event where it begins. */
static inline uint64_t perfetto_flow(uint32_t source, uint64_t id)
{
	return id + source * UINT64_C(0x9E3779B97F4A7C15);
}

/* Converts a time to the packets' clock.  A time outside its range is counted and set to the nearer limit. */
uint64_t perfetto_time_outside(struct perfetto *perfetto, int64_t time_ns);
static inline uint64_t perfetto_time(struct perfetto *perfetto, int64_t time_ns)
{
	int64_t time;

	if (!__builtin_add_overflow(time_ns, perfetto->zero_ns, &time) && time >= 0)
		return (uint64_t)time;
	return perfetto_time_outside(perfetto, time_ns);
}

/* perfetto_packet_begin makes room for `bytes` bytes and writes the fields that all packets have; `at` is the position
 * after them.  perfetto_packet_end passes the packet to the sink. */
epp_status *perfetto_packet_begin(struct export_run *run, size_t bytes, char **at) EPP_MUST_CHECK;
void perfetto_packet_end(struct export_run *run, char *end);

/* ---- perfetto_args.c ---- */

/* Writes the keys of epprof's own data into a message interned_data, at the beginning of the trace. */
char *perfetto_put_known_keys(char *at, bool gpu_stages);
#define PERFETTO_KNOWN_KEYS_BYTES 2048u
/* Encode annotations that many events have in common: those of each placement, and those of a row's device. */
void perfetto_make_placements(struct perfetto *perfetto);
void perfetto_make_device(struct row *row);
/* Interns the keys of the event's args that are not interned yet. */
epp_status *perfetto_intern_keys(struct export_run *run, const epp_event *event) EPP_MUST_CHECK;
/* Writes epprof's own data about an event and then its args, as debug annotations. perfetto_args_bytes returns the room
 * that is needed. */
size_t perfetto_args_bytes(const epp_event *event);
char *perfetto_put_args(const struct perfetto *perfetto, char *at, const epp_event *event, const struct row *row);
/* Returns the iid of an arg's key; 0: another key of the same event has replaced it in the cache. */
uint32_t perfetto_key_iid(const struct perfetto *perfetto, const epp_trace_arg *arg);

/* ---- perfetto_stages.c ---- */

/* Interns the queue of a device's row, and the context of the device. */
epp_status *perfetto_describe_queue(struct export_run *run, const struct row *row) EPP_MUST_CHECK;
/* Writes a device event as a GpuRenderStageEvent; `id` is perfetto_flow of the event or call that launched the event,
 * or of the event itself if that is unknown. */
epp_status *perfetto_write_stage(struct export_run *run, const epp_event *event, const struct row *row, uint64_t id)
    EPP_MUST_CHECK;
/* Writes the names of the devices. */
epp_status *perfetto_write_gpus(struct export_run *run) EPP_MUST_CHECK;

#endif
