/* The .epp file: this header is its specification.
 *
 *   offset 0          header page: struct epf_header, 4,096 bytes, written at creation; at the end of the session
 *                     `state` is written again, and struct epf_end (codec/file_header.h) is added
 *   live_offset       live page: struct epf_live, 4,096 bytes, mapped: the current run, counts of losses;
 *                     then EPF_PRODUCER_COUNT struct epf_producer
 *   slots_offset      slot_count slots of 4,096 bytes, mapped: one thread's open stack, counters and first region
 *   log_offset        log_bytes, mapped: definitions (names, tracks, clocks) that are not in a block yet
 *   chunks_offset     chunk_count regions of chunk_bytes (64 KiB), mapped; the later ones may be a hole, which reads as
 *                     zeros, until the writer needs them; then EPF_LOG_EXTENTS further pieces of the log, log_bytes
 *                     each, likewise
 *   segments_offset   segments of segment_bytes (1 MiB), written with pwrite: blocks
 * The part between the header page and the segments is "the window". All integers are in the byte order that the header
 * names. All structs have no implicit padding (asserted below). All offsets are multiples of 4,096.
 *
 * A file is in one of two states. RECORDING: the window is valid; this includes files of killed processes. FINISHED:
 * every region is in a block, and the window must not be read: it is a hole in the file. In a small finished file the
 * segments were moved to where the slots were, so that there is no hole; segments_offset is their new position.
 *
 * A block is valid if and only if its magic is EPF_BLOCK_MAGIC, it is contained in one segment, and `checksum` is the
 * CRC-32C of its header (with checksum 0) and payload. Blocks of a segment follow each other from
 * EPF_SEGMENT_HEADER_BYTES on, each at a multiple of 8, up to the first position without a valid block: the end of the
 * segment. Writers do not append behind an invalid block, and a killed writer leaves a partial block followed by zeros.
 * If there is a valid block at the position where the length of the invalid block ends, that block was damaged, and the
 * segment continues there.
 *
 * A ring (EPF_FEATURE_RING) reuses the segment with the lowest number. Records and host pairs are in reusable segments;
 * all other blocks are in retained segments. Before a segment is reused, an EPF_BLOCK_OVERWRITTEN in another segment
 * counts its events. From then on the contents of the reused segment are void, even if the bytes are still in the file.
 * Then its number is zeroed, then its blocks are zeroed, then it gets the next number.
 *
 * The number of retained blocks grows with the number of threads. The oldest retained segment is therefore compacted
 * into the newest: blocks that are still needed are written there again (duplicates have no effect), then an
 * EPF_BLOCK_RETAINED with the summed ledger entries of all others. From then on the old segment is void, even if its
 * number is not zero yet.
 *
 * - A record exists if and only if its `tail` is not 0; the records of a region follow each other without a gap.
 * - A region of the window is valid if its sequence is not 0 and no valid block has that sequence (region blocks only).
 * - An element of slots[i].open whose `tail` is not 0 is an open event, unless an event record or an orphan end (see
 *   EPF_ORPHAN_END) has its id.
 * - All other events are either in a block or lost, and lost events are counted.
 *
 * A reader may read the file, and the process may be killed, at any instant. The writer therefore stores in this
 * order:
 *   recorder  a record: its first 24 bytes and args, then the last 8 (`tail`), release
 *             begin of an event: the first 16 bytes of its struct epf_open, then `tail`, release.  end: record, then
 *             0 to this `tail`
 *             a new block of ids: the number of ids taken so far, plus 1, to ids_settled; then id_blocks, next_id and
 *             the id_block fields; then 0 to ids_settled
 *             a region's header: open ids and fields, then `sequence_used` = sequence, release, before its first record
 *   helper    a region: block completely written, records zeroed, then sequence = the next one, release, then the free
 *             list; after a short write it writes again at the same offset
 *             a region that it drops: the new counts of losses to dropped_* of the slot and of the live page, the
 *             region's sequence to the slot's `dropped`, release; then it empties the region as above, stores the
 *             counts in their final places, and 0 in `dropped`
 *             a piece of the log: it writes the definitions in blocks, then EPF_LOG_EMPTIED to the piece's word
 *             (log_used or extents_used) */
#ifndef EPPROF_RUNTIME_FORMAT_FORMAT_H
#define EPPROF_RUNTIME_FORMAT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define EPF_MAGIC \
	"\x89" \
	"EPPROF\n"
#define EPF_VERSION 2u /* 2: records may have args without keys, see codec/codec.h */
#define EPF_VERSION_MIN 1u
#define EPF_BYTE_ORDER 0x01020304u
#define EPF_PAGE_BYTES 4096u

#define EPF_SLOT_BYTES 4096u
#define EPF_SLOT_COUNT 1024u
#define EPF_CHUNK_BYTES 65536u
#define EPF_CHUNK_COUNT 768u
#define EPF_LOG_BYTES (1u << 20)
#define EPF_LOG_EXTENTS \
	7u /* maximum number of pieces in addition to the one at log_offset; a file has as many as fit before
	      segments_offset */
#define EPF_LOG_PIECES (1 + EPF_LOG_EXTENTS)
#define EPF_SEGMENT_BYTES (1u << 20)
#define EPF_SEGMENT_HEADER_BYTES 64u
/* The offsets that this version's writer uses; a reader uses those in the header. */
#define EPF_LIVE_OFFSET EPF_PAGE_BYTES
#define EPF_PRODUCERS_OFFSET (EPF_LIVE_OFFSET + EPF_PAGE_BYTES)
#define EPF_SLOTS_OFFSET (EPF_PRODUCERS_OFFSET + EPF_PRODUCERS_BYTES)
#define EPF_LOG_OFFSET (EPF_SLOTS_OFFSET + EPF_SLOT_COUNT * EPF_SLOT_BYTES)
#define EPF_CHUNKS_OFFSET (EPF_LOG_OFFSET + EPF_LOG_BYTES)
#define EPF_EXTENTS_OFFSET (EPF_CHUNKS_OFFSET + EPF_CHUNK_COUNT * EPF_CHUNK_BYTES)
#define EPF_SEGMENTS_OFFSET (EPF_EXTENTS_OFFSET + EPF_LOG_EXTENTS * EPF_LOG_BYTES)
#define EPF_BARE_SEGMENTS_OFFSET EPF_SLOTS_OFFSET /* in a file without a window */
#define EPF_OPEN_MAX 64u
#define EPF_RECORD_BYTES 32u
#define EPF_ARG_SLOTS_MAX 255u  /* the maximum for keys and values of one record */
#define EPF_ARG_TEXT_MAX 32768u /* the maximum number of text bytes of one record */
#define EPF_NAME_BYTES_MAX 65536u
#define EPF_DEFINED_SLOTS_MAX \
	24u                /* maximum number of slots in one EPF_DEFINE_ARGS. A chunk in which every record refers to
	                      two of them still fits into a block */
#define EPF_DEFINED_MAX 2u /* the maximum number of references to EPF_DEFINE_ARGS in one record */
#define EPF_LOSS_COUNT 16u /* the indexes are values of epp_loss in epprof/session.h */
#define EPF_PRODUCER_COUNT 32u
/* False for the two reasons that do not count events: EPP_LOSS_TOO_LARGE counts records whose args were cut;
 * EPP_LOSS_RESTART_GAP counts gaps. */
#define EPF_LOSS_IS_OF_EVENTS(reason) ((reason) != EPP_LOSS_TOO_LARGE && (reason) != EPP_LOSS_RESTART_GAP)

/* ---- header page ---- */

enum epf_state { EPF_RECORDING = 1, EPF_FINISHED = 2 };
enum epf_clock {
	EPF_CLOCK_TSC = 1,
	EPF_CLOCK_MONOTONIC = 2,
	EPF_CLOCK_CNTVCT = 3,
	EPF_CLOCK_MERGED = 4 /* nanoseconds from an arbitrary origin: the common clock of several sources */
};

/* Feature bits. A reader refuses a file with an unknown bit in the low half and ignores unknown bits in the high
 * half. */
#define EPF_FEATURE_RING (1ull << 0)            /* segments are reused, the lowest number first */
#define EPF_FEATURE_PACKED (1ull << 1)          /* record blocks are columns under zstd (EPF_BLOCK_COLUMNS) */
#define EPF_FEATURE_EXTERNAL_WINDOW (1ull << 2) /* the window is in the file `window_path` */
#define EPF_FEATURE_MERGED (1ull << 3)          /* the file has several sources */
#define EPF_FEATURE_NO_SURVIVAL (1ull << 32)    /* the window was anonymous memory, so that a kill loses its contents */

/* The method by which the clock of a merged file's source was mapped to the file's clock. */
enum epf_relation {
	EPF_RELATED_SELF = 0,      /* it is the file's clock itself */
	EPF_RELATED_COUNTER = 1,   /* by the counter, which both clocks read on the same machine since the same boot */
	EPF_RELATED_MONOTONIC = 2, /* by CLOCK_MONOTONIC of the same machine since the same boot */
	EPF_RELATED_REALTIME = 3,  /* by CLOCK_REALTIME; the offset between two machines' clocks is unknown */
	EPF_RELATED_EVENTS = 4,    /* by events that occur in both sources */
	EPF_RELATED_NOT = 5        /* this source's clock has no known relation to the file's clock: its first run is
	                            * placed at the file's start */
};

/* A source of events: one process on one machine. A merged file has several; ids are unique within a source. Source 0
 * is in the header, and its clock is the file's: the host ticks of all sources are ticks of that clock. */
struct epf_source {
	uint32_t pid;
	uint32_t clock;            /* enum epf_clock */
	uint64_t ticks_per_second; /* the nominal rate; clock pairs give the exact one */
	uint8_t boot_id[16];
	char hostname[64];         /* truncated, NUL-terminated */
	char program[64];          /* truncated, NUL-terminated */
	char label[64];            /* epp_session_options.label */
	uint64_t process_start_ns; /* the UNIX time in ns at which the library was loaded */
	/* For merged files only; otherwise 0. */
	uint64_t clock_error_ns; /* a bound, in ns, of the error that all times of the source have in common; ~0:
	                            unknown */
	uint64_t origin;         /* the first half of the file id of the original trace */
	uint32_t relation;       /* enum epf_relation */
	uint32_t reserved;
};

struct epf_header {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
	uint32_t header_bytes; /* 4,096 */
	uint32_t state;        /* enum epf_state */
	uint64_t features;
	uint8_t file_id[16];
	uint64_t live_offset;
	uint64_t slots_offset;
	uint64_t log_offset;
	uint64_t chunks_offset;
	uint64_t segments_offset;
	uint32_t slot_bytes;
	uint32_t slot_count;
	uint32_t chunk_bytes;
	uint32_t chunk_count;
	uint32_t log_bytes;
	uint32_t segment_bytes;
	uint64_t created_unix_ns;
	struct epf_source source; /* source 0 */
	uint32_t policy;          /* epp_policy */
	uint32_t checksum;        /* CRC-32C of the page up to here, with state and checksum 0 */
	char window_path[1024];   /* the path of the window's file, with EPF_FEATURE_EXTERNAL_WINDOW */
};

/* ---- live page ---- */

/* A pair of the host's clocks, read together: the counter was `ticks` +- half_width_ticks. */
struct epf_host_pair {
	uint64_t ticks;
	uint64_t half_width_ticks;
	int64_t monotonic_ns;
	int64_t realtime_ns;
};

/* The ledger of one attached profiler. */
struct epf_producer {
	char label[32];
	uint64_t emitted;              /* as the plugin reports it; otherwise the number of events that it submitted */
	uint64_t lost[EPF_LOSS_COUNT]; /* losses that the plugin reports, and losses that the session counts */
	uint64_t errors;               /* error statuses that the profiler's callbacks returned */
	char note[80];                 /* the host's note for readers of the trace; NUL-terminated */
};

/* A run. A finished trace in which no run was started has one epf_run with run 0, which
 * distinguishes it from a trace that was cut. */
struct epf_run {
	uint32_t run;
	uint32_t source; /* merged files: the source of the run */
	uint64_t first_id;
	struct epf_host_pair start;
	struct epf_host_pair end;
	uint64_t faults; /* as in struct epf_live */
	/* The costs of recording; both are 0 in older files. */
	uint64_t event_cost_ps; /* the time of begin and end of an event without args, measured in that process; 0: not
	                           measured */
	uint64_t write_cpu_ns;  /* the CPU time of writing the run's events: of the helper, and of the thread that ended
	                          the run */
};
#define EPF_RUN_BYTES_MIN offsetof(struct epf_run, event_cost_ps)

#define EPF_UNWRITTEN_RUNS 8u

struct epf_live {
	uint32_t run;          /* 0: there was no run yet; incremented at each start */
	uint32_t flags;        /* EPF_LIVE_* */
	uint64_t run_first_id; /* smaller ids belong to earlier runs */
	struct epf_host_pair run_start;
	uint64_t log_used; /* the first EPF_LOG_USED bytes of the log's first piece are valid; stored last, with
	                      release */
	uint64_t reserved1;
	uint64_t lost[EPF_LOSS_COUNT]; /* losses that no slot counts, since the start of the file */
	uint64_t faults; /* page faults of the run's recording threads, from each thread's first chunk on, including
	                    those that the program's own code caused */
	uint64_t run_end_ticks;  /* the end of the current run; 0 while it records */
	uint64_t dropped_reason; /* while epf_slot.dropped of a slot is not 0, dropped_lost[i] replaces
	                            lost[dropped_reason] of producer i, so that a kill in between loses no
	                            count and counts nothing twice */
	uint64_t dropped_lost[EPF_PRODUCER_COUNT];
	uint64_t extents_used[EPF_LOG_EXTENTS]; /* for each further piece of the log, the same as log_used */
	uint64_t event_cost_ps;                 /* as in struct epf_run */
	uint64_t write_cpu_ns;
	/* Ended runs whose blocks could not be written, in any order. An element with run 0 is unused. The member `run`
	 * is stored last, with release. */
	struct epf_run unwritten[EPF_UNWRITTEN_RUNS];
	uint8_t reserved[4096 - 2 * 4 - 8 - 32 - 2 * 8 - 16 * 8 - 5 * 8 - (EPF_PRODUCER_COUNT + EPF_LOG_EXTENTS) * 8 -
	                 EPF_UNWRITTEN_RUNS * 104];
};
#define EPF_LIVE_RECORDING 1u
#define EPF_LIVE_LOG_FULL 2u /* a definition is in no block and not in the log: a kill loses its name */
/* The words of log_used and extents_used. The low half is the number of bytes that are used in the piece, the high half
 * counts how often the piece was emptied. If the high half changed while a reader read the piece, the definitions that
 * were in it are in blocks. */
#define EPF_LOG_USED(word) ((uint32_t)(word))
#define EPF_LOG_EMPTIED(word) ((((word) >> 32) + 1) << 32)

/* The producers follow the live page, at live_offset + 4,096: EPF_PRODUCER_COUNT structs. */
#define EPF_PRODUCERS_BYTES (EPF_PRODUCER_COUNT * 256u)

/* ---- records ---- */

enum epf_kind {
	EPF_EVENT = 1,       /* has start and duration */
	EPF_INSTANT = 2,     /* has a start */
	EPF_COUNTER = 3,     /* has a start; the first arg is the counter's value, with the counter's name as its key */
	EPF_COMPLETE = 4,    /* has start and duration in ticks of the current track's clock */
	EPF_FLOW = 5,        /* at its start, an arrow from the event in the arg `parent` to the event `id`; with
	                 EPF_PLACED_INFERRED it is no arrow but sets the parent of a complete event that was recorded
	                 without one */
	EPF_ASYNC_BEGIN = 6, /* has a start; the duration is 0 */
	EPF_ASYNC_END = 7,   /* start: the time of the end; id: the id of the begin */
	EPF_TRACK_SWITCH = 8, /* records after this one, up to the next switch or the region's end, are on the track
	                         `id`; if `id` is 0, on the region's own track, on which each region begins */
	EPF_ORPHAN_END = 9, /* start: the time of the end; id: the id of an event that began on another thread; name and
	                       category only if given at the end */
	EPF_CLOCK_PAIR = 10, /* start: device ticks; duration: host ticks; id: half width in host ticks; a pair of the
	                        current track's clock */
};

enum epf_flags {
	EPF_FLAG_UNENDED = 1,     /* the event was closed by an outer end, a thread's exit or the session's end; the
	                         duration reaches to that moment */
	EPF_FLAG_CUT = 2,         /* args were cut */
	EPF_FLAG_NAME_AT_END = 4, /* an orphan end that has a name */
};

/* How the time of an event on the host's clock, or its parent, was determined. In records it is 0 unless the recorder
 * determined the parent; the timeline then determines the placement. */
enum epf_placement {
	EPF_PLACED_MEASURED = 0, /* the time was read from the host's own clock */
	EPF_PLACED_FITTED = 1,
	EPF_PLACED_FORMULA = 2,  /* from a single comparison of the clocks, or by ONNX Runtime's formula */
	EPF_PLACED_INFERRED = 3, /* the parent was found by the times: it contains the event */
	EPF_PLACED_DURATION = 4, /* no common clock: placed inside its parent */
	EPF_PLACED_CLAMPED = 5,
	EPF_PLACED_AMBIGUOUS = 6, /* no parent, because several events could be the parent */
};

/* The bits of a record: 16 bits, from the low end: category 4, kind 4, placement 3, flags 5. */
#define EPF_BITS(category, kind, placement, flags) \
	((uint16_t)((unsigned)(category) | (unsigned)(kind) << 4 | (unsigned)(placement) << 8 | (unsigned)(flags) << 11))
#define EPF_BITS_CATEGORY(bits) ((unsigned)(bits)&15u)
#define EPF_BITS_KIND(bits) ((unsigned)(bits) >> 4 & 15u)
#define EPF_BITS_PLACEMENT(bits) ((unsigned)(bits) >> 8 & 7u)
#define EPF_BITS_FLAGS(bits) ((unsigned)(bits) >> 11 & 31u)

/* The last 8 bytes of a struct epf_record, and the member `tail` of a struct epf_open, as one number, in the machine's
 * byte order, which is the file's. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* With this order, extracting a name takes one shift, and adding the bits of an event takes none. */
#define EPF_TAIL(name, bits, arg_slots) ((uint64_t)(bits) | (uint64_t)(arg_slots) << 16 | (uint64_t)(name) << 32)
#define EPF_TAIL_BITS(tail) ((uint16_t)(tail))
#define EPF_TAIL_ARGS(tail) ((uint16_t)((tail) >> 16))
#define EPF_TAIL_NAME(tail) ((uint32_t)((tail) >> 32))
#else
#error "a big-endian machine needs its own EPF_TAIL"
#endif

struct epf_record {
	uint64_t start_ticks;
	uint64_t duration_ticks; /* as measured; negative (2^63 and more) if the clock of the processor at the end was
	                            behind */
	uint64_t id;
	union {
		struct {
			uint16_t bits;
			uint16_t arg_slots; /* the number of 16-byte slots that follow, including those of texts */
			uint32_t name;      /* an epp_name, see epf_tail_name */
		};
		uint64_t tail; /* the three fields in one store: EPF_TAIL; 0: there is no record */
	};
};

/* An arg: one slot. If the arg is a text, the text's bytes follow, padded to 16.
 *
 * In a region, an arg with the key EPF_NAME_ARGS stands for the args of the EPF_DEFINE_ARGS whose number is its value;
 * the encoder of a block replaces it by these args. A record has at most EPF_DEFINED_MAX such args. Further ones,
 * undefined ones and args beyond EPF_ARG_SLOTS_MAX are omitted, and the record is marked EPF_FLAG_CUT. */
struct epf_arg {
	uint32_t key;
	uint32_t type_and_bytes; /* type in the low 8 bits (epp_arg_type), text bytes in the others */
	uint64_t value;          /* the number; for a text 0 */
};

/* Reserved names; the process's table begins with them. */
enum epf_name {
	EPF_NAME_NONE = 1,
	EPF_NAME_PENDING = 2, /* the name is not known before the end of the event; in the window, 0 means the same */
	EPF_NAME_LOST = 3,
	EPF_NAME_TRACK_SWITCH = 4,
	EPF_NAME_PARENT = 5, /* the key of an arg whose value is the id of the event's parent, where the nesting on a
	                        thread does not give the parent; u64 */
	EPF_NAME_CLOCK_PAIR = 6,
	EPF_NAME_ORPHAN_END = 7,
	EPF_NAME_FLOW = 8,
	EPF_NAME_VALUE = 9,
	EPF_NAME_ARGS = 10, /* the key of an arg that refers to EPF_DEFINE_ARGS; u64 */
	/* Keys of the first args of a complete event, after the parent; the values are u64. */
	EPF_NAME_SUBMIT = 11, /* the time at which the work was submitted, in host ticks */
	EPF_NAME_QUEUE = 12,  /* the time from the entry into the device's queue to the start, in ticks of the device's
	                         clock */
	EPF_NAME_FIRST_FREE = 16,
};
/* The texts of reserved names, as an array initialiser. */
#define EPF_NAME_TEXTS \
	{ \
		[EPF_NAME_NONE] = "", [EPF_NAME_PENDING] = "(pending)", [EPF_NAME_LOST] = "(name lost)", \
		[EPF_NAME_TRACK_SWITCH] = "(track switch)", [EPF_NAME_PARENT] = "parent", [EPF_NAME_CLOCK_PAIR] = "(clock pair)", \
		[EPF_NAME_ORPHAN_END] = "(end)", [EPF_NAME_FLOW] = "flow", [EPF_NAME_VALUE] = "value", \
		[EPF_NAME_ARGS] = "(args)", [EPF_NAME_SUBMIT] = "launch_ns", [EPF_NAME_QUEUE] = "queue_ns", \
	}

/* ---- slots and regions ---- */

/* A header followed by records. A chunk is a region of 64 KiB; a slot ends with a region of EPF_SLOT_REGION_BYTES.
 * Layout: header, open ids padded to 32 bytes, records. */
struct epf_region {
	uint64_t sequence;      /* unique in the file; the helper changes it when it has emptied the region */
	uint64_t sequence_used; /* equal to `sequence` once the recorder has filled in the fields below */
	uint32_t run;
	uint32_t track; /* the recorder's own track */
	uint32_t slot;
	uint32_t open_count; /* the number of ids that were open at the region's start; they are stored as u64 after the
	                        header */
	uint64_t first_id;   /* the recorder's next id when the region began */
	uint64_t reserved[3];
};

/* An element of a thread's stack of open events; tail 0: the element is empty. If a full stack contains events that
 * ended on other threads, the elements above them are moved down one by one. The tail of the overwritten element is
 * zeroed first, and its new tail is stored last, so that an event may be on the stack twice for a short time. */
struct epf_open {
	uint64_t start_ticks;
	uint64_t id;
	union {
		struct {
			uint16_t bits;
			uint16_t reserved;
			uint32_t name;
		};
		uint64_t tail;
	};
	uint64_t reserved2;
};

enum epf_slot_state { EPF_SLOT_FREE = 0, EPF_SLOT_IN_USE = 1, EPF_SLOT_LEFT = 2 };

#define EPF_SLOT_REGION_BYTES 1792u
#define EPF_DROPPED_OPEN (1ull << 63)

struct epf_slot {
	uint32_t state; /* enum epf_slot_state */
	uint32_t run;
	uint32_t track;
	uint32_t thread_id; /* the operating system's id of the thread */
	uint32_t reserved;
	uint32_t id_blocks; /* the number of complete blocks of 65,536 ids that were used before the current one */
	uint64_t next_id;   /* epf_slot_ids_taken computes from it how many ids the thread has taken */
	uint64_t id_block_first;
	uint64_t id_block_end;
	char thread_name[16];
	uint64_t lost[EPF_LOSS_COUNT];
	uint64_t lost_idless;     /* how many of the events in `lost` took no id. It is incremented before `lost`;
	                             readers handle a kill between the two stores */
	uint64_t drain_lost_disk; /* events of the thread that the helper lost; readers add them to lost[EPP_LOSS_DISK],
	                             and drain_lost_policy to lost[EPP_LOSS_POLICY] */
	uint64_t drain_lost_policy;
	uint64_t ids_settled;  /* if not 0: the number of ids that were taken, plus 1, while a new block of ids is set
	                          up */
	uint64_t dropped_disk; /* dropped_disk and dropped_policy replace drain_lost_disk and drain_lost_policy while
	                          `dropped` is not 0 */
	uint64_t no_id;        /* always 0: it is read as the id of the element before open[0] */
	uint64_t dropped_policy;
	uint64_t dropped; /* not 0: the sequence number of a region that is being dropped; with EPF_DROPPED_OPEN the
	                     open events are dropped, too */
	struct epf_open open[EPF_OPEN_MAX];
	uint8_t region[EPF_SLOT_REGION_BYTES]; /* struct epf_region and its contents */
};

/* ---- definitions: in the log until they are in a block, and in the payload of definition blocks ---- */

enum epf_definition_type {
	EPF_DEFINE_NAME = 1,  /* u32 name, then the bytes of the text */
	EPF_DEFINE_TRACK = 2, /* struct epf_track, then name, group */
	EPF_DEFINE_ARGS = 3,  /* u32 number, from the same sequence as the numbers of names; then struct epf_arg ..., as
	                         behind a record */
};

/* `bytes` is the size of the data after this header. The data is padded to 8. */
struct epf_definition {
	uint32_t bytes;
	uint32_t type;
};

enum epf_track_kind { EPF_TRACK_THREAD = 1, EPF_TRACK_DEVICE = 2, EPF_TRACK_CUSTOM = 3 };
/* The stream number of a custom track that belongs to a device. The args of an event on this track describe the device;
 * counters on this track are the device's. */
#define EPF_STREAM_PROPERTIES INT64_MIN
enum epf_track_clock {
	EPF_TRACK_CLOCK_HOST = 0,
	EPF_TRACK_CLOCK_DEVICE = 1,
	EPF_TRACK_CLOCK_DURATION = 2,
	EPF_TRACK_CLOCK_OFFSET_US = 3 /* us since the start of run `run`, by ONNX Runtime's formula, whose error is in
	                                 [0, bracket_ticks] */
};

struct epf_track {
	uint32_t track; /* unique in a file; 0: no track */
	uint32_t kind;  /* enum epf_track_kind */
	uint32_t source;
	uint32_t clock_kind; /* enum epf_track_clock */
	uint32_t clock;      /* tracks with the same non-zero number share clock samples; 0: the host's clock */
	uint32_t clock_bits;
	uint64_t ticks_per_second;
	uint32_t thread_id; /* the thread's id, for tracks of threads */
	int32_t device;
	int64_t stream;
	int32_t producer; /* the index of the producer; -1: none */
	uint32_t run;     /* OFFSET_US: the run whose start is time 0. Other clocks: 0, or in a merged file a run of the
	                     track's source */
	uint32_t name_bytes;
	uint32_t group_bytes;
	uint64_t bracket_ticks; /* OFFSET_US: the duration of StartProfiling in host ticks, plus at most 2 us for
	                           rounding */
	int64_t offset_ns;      /* OFFSET_US: the argument of StartProfiling; other device clocks: EPF_TRACK_AMENDED if
	                           the events were added to the finished trace (epp_trace_amend), else 0 */
};
#define EPF_TRACK_AMENDED 1

/* ---- segments and blocks ---- */

#define EPF_SEGMENT_MAGIC 0x53465045u /* "EPFS" */
#define EPF_BLOCK_MAGIC 0x42465045u   /* "EPFB" */

struct epf_segment {
	uint32_t magic;
	uint32_t checksum;    /* CRC-32C of this header with checksum 0 */
	uint64_t number;      /* 1, 2, ...; 0: the segment is being reused */
	uint64_t first_ticks; /* first_ticks and last_ticks are 0 until the segment is full */
	uint64_t last_ticks;
	uint32_t flags; /* EPF_SEGMENT_RETAINED: has definitions and ledgers; a ring reuses it only when it is void */
	uint32_t reserved;
	uint64_t reserved2[3];
};
#define EPF_SEGMENT_RETAINED 1u

/* The types of blocks; 7 is not used. */
enum epf_block_type {
	EPF_BLOCK_RECORDS = 1,     /* records as rows of deltas and varints: codec/codec.h */
	EPF_BLOCK_DEFINITIONS = 2, /* struct epf_definition ...: names, tracks and args */
	EPF_BLOCK_HOST_PAIRS = 3,  /* struct epf_host_pair ... */
	EPF_BLOCK_LEDGER = 4,      /* struct epf_ledger_entry ... */
	EPF_BLOCK_PRODUCERS = 5, /* struct epf_producer ...: their state at the run's end, which replaces earlier ones.
	                            `slot` is the number of the first one: 0, except in a merged file, which may have
	                            more than EPF_PRODUCER_COUNT */
	EPF_BLOCK_RUN = 6,       /* struct epf_run */
	EPF_BLOCK_SOURCES = 8,   /* struct epf_source ...: for merged files, the sources from number 1 on */
	EPF_BLOCK_COLUMNS = 9,   /* records of one track, run and source as columns: format/format_packed.h */
	EPF_BLOCK_INDEX = 10,    /* in packed files: format/format_packed.h */
	EPF_BLOCK_OVERWRITTEN = 11, /* in rings: struct epf_overwritten of format_ring.h; the block with the largest
	                               `through` is valid */
	EPF_BLOCK_RETAINED = 12,    /* in rings: struct epf_retained of format_ring.h; the block with the largest
	                               `through` is valid */
};

struct epf_block {
	uint32_t magic;
	uint32_t checksum;
	uint32_t payload_bytes;
	uint16_t type;     /* enum epf_block_type */
	uint16_t kinds;    /* for records: the bit 1 << enum epf_kind of each kind that the block contains */
	uint64_t sequence; /* the sequence of the region; 0: the block is not from a region */
	uint32_t run;
	uint32_t source;
	uint32_t track;
	uint32_t slot;
	uint32_t record_count;
	uint32_t open_count;      /* the number of open ids at the payload's start */
	uint64_t first_ticks;     /* the smallest start of the records whose kind has host ticks; ~0: there are none */
	uint64_t last_ticks;      /* the largest end of these records; 0: there are none */
	uint64_t own_first_ticks; /* the smallest start of the records that were not open at the region's start; ~0:
	                             there are none */
	uint64_t first_id;        /* as in the region */
};

/* The ledger of one thread for one run. It is written when the thread's slot is freed, and replaces the slot's
 * counters. Entries of track 0 are a session's own losses (struct epf_live) since the start of its file, under the
 * first run of its source; if there are several of them, including the counts in a valid window, the largest count of
 * each reason is used. */
struct epf_ledger_entry {
	uint32_t track;
	uint32_t run;
	uint64_t ids_taken; /* the number of ids that the thread took for events of any kind, including instants and
	                       counters */
	uint64_t lost[EPF_LOSS_COUNT];
	uint64_t lost_idless; /* how many of the events in `lost` took no id */
};

_Static_assert(sizeof(struct epf_source) == 256, "source");
_Static_assert(sizeof(struct epf_live) == EPF_PAGE_BYTES, "live");
_Static_assert(sizeof(struct epf_producer) == 256, "producer");
_Static_assert(sizeof(struct epf_record) == EPF_RECORD_BYTES, "record");
_Static_assert(sizeof(struct epf_arg) == 16, "arg");
_Static_assert(sizeof(struct epf_region) == 64, "region");
_Static_assert(sizeof(struct epf_open) == 32, "open");
_Static_assert(sizeof(struct epf_slot) == EPF_SLOT_BYTES, "slot");
_Static_assert(offsetof(struct epf_slot, no_id) + sizeof(struct epf_open) == offsetof(struct epf_slot, open[0].id),
               "no_id");
_Static_assert(sizeof(struct epf_block) == 80, "block");
_Static_assert(sizeof(struct epf_segment) == 64, "segment");
_Static_assert(sizeof(struct epf_header) <= EPF_PAGE_BYTES, "header");

#endif
