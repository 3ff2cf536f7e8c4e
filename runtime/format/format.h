/* The .epp file: this header is its specification.
 *
 *   offset 0          header page: struct epf_header, 4,096 bytes, written once at creation, `state` once more at the end;
 *                     struct epf_end (codec/file_header.h) at the end
 *   live_offset       live page: struct epf_live, 4,096 bytes, mapped: the run and what was lost;
 *                     then EPF_PRODUCER_COUNT struct epf_producer
 *   slots_offset      slot_count slots of 4,096 bytes, mapped: one thread's open stack, counters and first region
 *   log_offset        log_bytes, mapped: definitions (names, tracks, clocks) that no block holds yet
 *   chunks_offset     chunk_count regions of chunk_bytes (64 KiB), mapped; the later ones may be a hole, which reads as zeros,
 *                     until the writer needs them; behind them EPF_LOG_EXTENTS more pieces of log, log_bytes each, likewise
 *   segments_offset   segments of segment_bytes (1 MiB), written with pwrite: blocks
 * What lies between header page and segments is "the window".  All integers are in the byte order that the header names, all structs are packed
 * by their own layout (asserted below), all offsets are multiples of 4,096.
 *
 * A file is in one of two states.  RECORDING: the window counts; so does what a killed process left.  FINISHED: every
 * region became a block, the window was punched out and must not be read; of a small file the hole is gone, too, and
 * segments_offset says where the segments are now.
 *
 * A block is valid if and only if its magic is EPF_BLOCK_MAGIC, it lies wholly inside one segment, and `checksum` is the
 * CRC-32C of its header (with checksum 0) and payload.  Blocks of a segment follow each other from
 * EPF_SEGMENT_HEADER_BYTES on, each at a multiple of 8, until one that is not valid: that is the segment's end.  Nobody writes
 * on behind it, and a writer that is killed leaves the beginning of one there and zeros behind it; so a valid one where its
 * length ends it means that it was damaged, and the blocks go on there.
 *
 * A ring (EPF_FEATURE_RING) reuses the segment with the lowest number.  Records and host pairs go round; all other blocks
 * go into segments that are kept.  Before a segment is reused, an EPF_BLOCK_OVERWRITTEN in another one counts what it
 * held: from then on it is gone, whether its bytes are still there or not.  Its number is zeroed, then its blocks, then it
 * gets the next number.
 * What is kept grows with the threads that come and go.  So the oldest kept segment is emptied into the newest: what still
 * explains an event is written there again (said twice it means the same), then an EPF_BLOCK_KEPT, which holds the accounts
 * of all others together.  From then on the old one is void, whether its number is zero yet or not.
 *
 * A record is there if and only if its `tail` is not 0; the records of a region follow each other without a gap.
 * A region of the window counts if its sequence is not 0 and no valid block carries that sequence (region blocks only).
 * An open entry (slots[i].open with a tail) counts unless an event record or an orphan end carries its id.
 * Everything else is either in a block or lost, and then counted.
 *
 * How the writer keeps this true (a reader may come at any instant, and so may kill -9):
 *   recorder  a record: its first 24 bytes and args, then the last 8 (`tail`), release
 *             push: the open entry's first 16 bytes, then its last 8, release.  pop: record, then those of the entry to 0
 *             another block of ids: the count so far to ids_settled, the fields, 0 to ids_settled
 *             a region's header: open ids and fields, then `sequence_used` = sequence, release, before its first record
 *   helper    a region: block wholly written, records zeroed, then sequence + its successor, release, then the free list;
 *             after a short write it writes again at the same offset
 *             a region that it gives up: the sums with it to given_up_*, the slot's and the live page's, its sequence to
 *             given_up, release; then as above, the sums to their places, 0 to given_up
 *             a piece of the log: its definitions are in blocks before EPF_LOG_EMPTIED of its word
 */
#ifndef EPPROF_RUNTIME_FORMAT_FORMAT_H
#define EPPROF_RUNTIME_FORMAT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define EPF_MAGIC \
	"\x89" \
	"EPPROF\n"
#define EPF_VERSION 1u
#define EPF_BYTE_ORDER 0x01020304u
#define EPF_PAGE_BYTES 4096u

#define EPF_SLOT_BYTES 4096u
#define EPF_SLOT_COUNT 1024u
#define EPF_CHUNK_BYTES 65536u
#define EPF_CHUNK_COUNT 768u
#define EPF_LOG_BYTES (1u << 20)
#define EPF_LOG_EXTENTS \
	7u /* beside the piece at log_offset; a file has as many as there is room for before segments_offset */
#define EPF_LOG_PIECES (1 + EPF_LOG_EXTENTS)
#define EPF_SEGMENT_BYTES (1u << 20)
#define EPF_SEGMENT_HEADER_BYTES 64u
/* Where this version's writer puts the parts; a reader goes by the header. */
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
#define EPF_ARG_SLOTS_MAX 255u  /* keys and values of one record */
#define EPF_ARG_TEXT_MAX 32768u /* text bytes of one record */
#define EPF_NAME_BYTES_MAX 65536u
#define EPF_DEFINED_SLOTS_MAX \
	24u                /* of one EPF_DEFINE_ARGS; a chunk of records that name two fits into a block with them */
#define EPF_DEFINED_MAX 2u /* that a record may name */
#define EPF_LOSS_COUNT 16u /* indexes are epp_loss of epprof/session.h */
#define EPF_PRODUCER_COUNT 32u
/* Two reasons count no events: args that were cut, and gaps. */
#define EPF_LOSS_IS_OF_EVENTS(reason) ((reason) != EPP_LOSS_TOO_LARGE && (reason) != EPP_LOSS_RESTART_GAP)

/* ---- header page ---- */

enum epf_state { EPF_RECORDING = 1, EPF_FINISHED = 2 };
enum epf_clock {
	EPF_CLOCK_TSC = 1,
	EPF_CLOCK_MONOTONIC = 2,
	EPF_CLOCK_CNTVCT = 3,
	EPF_CLOCK_MERGED = 4 /* nanoseconds since some moment: what the clocks of several sources were translated to */
};

/* Feature bits; a reader refuses a file with an unknown bit in the low half and ignores unknown ones in the high half. */
#define EPF_FEATURE_RING (1ull << 0)             /* segments are reused, the lowest number first */
#define EPF_FEATURE_PACKED (1ull << 1)           /* records blocks are columns under zstd (EPF_BLOCK_COLUMNS) */
#define EPF_FEATURE_WINDOW_ELSEWHERE (1ull << 2) /* the window is the file `window_path` */
#define EPF_FEATURE_MERGED (1ull << 3)           /* several sources */
#define EPF_FEATURE_NO_SURVIVAL (1ull << 32)     /* the window was anonymous memory: a kill loses what it held */

/* How the clock of a merged file's source was brought onto the file's. */
enum epf_relation {
	EPF_RELATED_SELF = 0,      /* it is the file's clock */
	EPF_RELATED_COUNTER = 1,   /* the same counter of the same machine since the same boot */
	EPF_RELATED_MONOTONIC = 2, /* by CLOCK_MONOTONIC of the same boot */
	EPF_RELATED_REALTIME = 3,  /* by CLOCK_REALTIME; how far two machines' are apart is known to nobody here */
	EPF_RELATED_EVENTS = 4,    /* by events that both have */
	EPF_RELATED_NOT = 5        /* not at all: its first run begins with the file's */
};

/* One machine-and-process that events come from.  A merged file has several; ids are unique within one.  Source 0 is the
 * header's, its clock is the file's: the host ticks of all sources are ticks of that. */
struct epf_source {
	uint32_t pid;
	uint32_t clock;            /* enum epf_clock */
	uint64_t ticks_per_second; /* nominal; clock pairs tell the truth */
	uint8_t boot_id[16];
	char hostname[64];         /* cut, NUL-terminated */
	char program[64];          /* likewise */
	char label[64];            /* options.label */
	uint64_t process_start_ns; /* unix ns of the library's load */
	/* Of merged files; elsewhere 0. */
	uint64_t clock_error_ns; /* how far all times of the source may be off together; ~0: not known */
	uint64_t origin;         /* the first half of the file id of the trace that it came from */
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
	char window_path[1024];   /* EPF_FEATURE_WINDOW_ELSEWHERE */
};

/* ---- live page ---- */

/* The host's clocks read together: `ticks` +- half_width_ticks. */
struct epf_host_pair {
	uint64_t ticks;
	uint64_t half_width_ticks;
	int64_t monotonic_ns;
	int64_t realtime_ns;
};

/* One attached profiler's account. */
struct epf_producer {
	char label[32];
	uint64_t emitted; /* what the plugin says it emitted; events it handed over where it says nothing */
	uint64_t lost[EPF_LOSS_COUNT]; /* by the plugin's word and by ours */
	uint64_t errors;               /* statuses that its callbacks returned */
	char note[80];                 /* what its host wants to be known of it, in words; it ends with a zero */
};

struct epf_live {
	uint32_t run;          /* 0: none yet; counts up with each start */
	uint32_t flags;        /* EPF_LIVE_* */
	uint64_t run_first_id; /* ids below belong to earlier runs */
	struct epf_host_pair run_start;
	uint64_t log_used; /* of the log's first piece EPF_LOG_USED bytes count; stored last, release */
	uint64_t reserved1;
	uint64_t lost[EPF_LOSS_COUNT]; /* losses that belong to no slot, since the file's beginning */
	uint64_t faults; /* of the run: page faults of threads while they recorded, each thread's from its first chunk on: the
	                    program's own are among them */
	uint64_t run_end_ticks; /* of the current run; 0 while it records */
	uint64_t given_up_reason; /* while a slot's given_up is not 0, these stand for the producers' lost[given_up_reason] */
	uint64_t given_up_lost[EPF_PRODUCER_COUNT];
	uint64_t extents_used[EPF_LOG_EXTENTS]; /* of the others, likewise */
	uint8_t reserved[4096 - 2 * 4 - 8 - 32 - 2 * 8 - 16 * 8 - 3 * 8 - (EPF_PRODUCER_COUNT + EPF_LOG_EXTENTS) * 8];
};
#define EPF_LIVE_RECORDING 1u
#define EPF_LIVE_LOG_FULL 2u /* of what is in no block yet the log had no room for all: a kill loses those names */
/* The high half counts how often a piece was emptied: what was read of it while that changed is in blocks. */
#define EPF_LOG_USED(word) ((uint32_t)(word))
#define EPF_LOG_EMPTIED(word) ((((word) >> 32) + 1) << 32)

/* The producers follow the live page, at live_offset + 4,096: EPF_PRODUCER_COUNT structs. */
#define EPF_PRODUCERS_BYTES (EPF_PRODUCER_COUNT * 256u)

/* ---- records ---- */

enum epf_kind {
	EPF_EVENT = 1,    /* start, duration */
	EPF_INSTANT = 2,  /* start */
	EPF_COUNTER = 3,  /* start; its value is the first arg, key = name */
	EPF_COMPLETE = 4, /* start and duration in ticks of the current track's clock */
	EPF_FLOW = 5, /* at start, from the event in arg `parent` to the event `id`; with EPF_PLACED_INFERRED no arrow:
	                        it names the parent of a complete event that was recorded without one */
	EPF_ASYNC_BEGIN = 6, /* start; duration 0 */
	EPF_ASYNC_END = 7,   /* start = the end's time; id is the begin's */
	EPF_TRACK_SWITCH = 8, /* records after this one, up to the next switch or the region's end, are on track `id`; a region
	                        begins on its own track; `id` 0 goes back there */
	EPF_ORPHAN_END = 9, /* start = the end's time; id is that of an event begun on another thread; name and category
	                        only if given at the end */
	EPF_CLOCK_PAIR = 10, /* start = device ticks, duration = host ticks, id = half width in host ticks; of the track */
};

enum epf_flags {
	EPF_FLAG_UNENDED = 1, /* closed by an outer end, a thread's exit or the session's end: duration up to there */
	EPF_FLAG_CUT = 2,     /* args were cut */
	EPF_FLAG_NAME_AT_END = 4, /* an orphan end that gives a name */
};

/* How an event got its place on the host's clock; stored where the recorder knows, else 0 and the timeline decides. */
enum epf_placement {
	EPF_PLACED_MEASURED = 0, /* by the host's own clock */
	EPF_PLACED_FITTED = 1,
	EPF_PLACED_FORMULA = 2,  /* ONNX Runtime's offset formula with its bracket */
	EPF_PLACED_INFERRED = 3, /* parent found by containment */
	EPF_PLACED_DURATION = 4, /* no common clock: placed inside its parent */
	EPF_PLACED_CLAMPED = 5,
	EPF_PLACED_AMBIGUOUS = 6, /* no parent: several events could be it */
};

/* 16 bits: category 4, kind 4, placement 3, flags 5, from the low end. */
#define EPF_BITS(category, kind, placement, flags) \
	((uint16_t)((unsigned)(category) | (unsigned)(kind) << 4 | (unsigned)(placement) << 8 | (unsigned)(flags) << 11))
#define EPF_BITS_CATEGORY(bits) ((unsigned)(bits)&15u)
#define EPF_BITS_KIND(bits) ((unsigned)(bits) >> 4 & 15u)
#define EPF_BITS_PLACEMENT(bits) ((unsigned)(bits) >> 8 & 7u)
#define EPF_BITS_FLAGS(bits) ((unsigned)(bits) >> 11 & 31u)

/* The end of a record or an open entry as one number, in the machine's byte order (which is the file's). */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* In this order a name needs one shift, and the bits of an event none. */
#define EPF_TAIL(name, bits, arg_slots) ((uint64_t)(bits) | (uint64_t)(arg_slots) << 16 | (uint64_t)(name) << 32)
#define EPF_TAIL_BITS(tail) ((uint16_t)(tail))
#define EPF_TAIL_ARGS(tail) ((uint16_t)((tail) >> 16))
#define EPF_TAIL_NAME(tail) ((uint32_t)((tail) >> 32))
#else
#error "a big-endian machine needs its own EPF_TAIL"
#endif

struct epf_record {
	uint64_t start_ticks;
	uint64_t duration_ticks; /* as read; below 0 (2^63 and more) if the clock went back meanwhile, between two processors */
	uint64_t id;
	union {
		struct {
			uint16_t bits;
			uint16_t arg_slots; /* 16-byte slots that follow, text included */
			uint32_t name;      /* epp_name: epf_tail_name */
		};
		uint64_t tail; /* the three in one store: EPF_TAIL; 0: no record */
	};
};

/* An arg: one slot, and for text the bytes behind it, padded to 16.
 *
 * In a region, under the key EPF_NAME_ARGS, it stands for the args of the EPF_DEFINE_ARGS whose number is its value; who makes a
 * block of the region puts them in its place.  A record has EPF_DEFINED_MAX such args at most; further ones, those that nothing defines and
 * args beyond EPF_ARG_SLOTS_MAX are left out, and the record is marked EPF_FLAG_CUT. */
struct epf_arg {
	uint32_t key;
	uint32_t type_and_bytes; /* type in the low 8 bits (epp_arg_type), text bytes in the others */
	uint64_t value;          /* text: 0 */
};

/* Reserved names; the process's table begins with them. */
enum epf_name {
	EPF_NAME_NONE = 1,
	EPF_NAME_PENDING = 2, /* not known before the end; in the window 0 means it, too */
	EPF_NAME_LOST = 3,
	EPF_NAME_TRACK_SWITCH = 4,
	EPF_NAME_PARENT = 5, /* the arg key of a parent that nesting does not give; u64 */
	EPF_NAME_CLOCK_PAIR = 6,
	EPF_NAME_ORPHAN_END = 7,
	EPF_NAME_FLOW = 8,
	EPF_NAME_VALUE = 9,
	EPF_NAME_ARGS = 10, /* the arg key of args that are defined elsewhere; u64 */
	EPF_NAME_FIRST_FREE = 16,
};
/* Their texts, to initialise an array. */
#define EPF_NAME_TEXTS \
	{ \
		[EPF_NAME_NONE] = "", [EPF_NAME_PENDING] = "(pending)", [EPF_NAME_LOST] = "(name lost)", \
		[EPF_NAME_TRACK_SWITCH] = "(track switch)", [EPF_NAME_PARENT] = "parent", [EPF_NAME_CLOCK_PAIR] = "(clock pair)", \
		[EPF_NAME_ORPHAN_END] = "(end)", [EPF_NAME_FLOW] = "flow", [EPF_NAME_VALUE] = "value", [EPF_NAME_ARGS] = "(args)", \
	}

/* ---- slots and regions ---- */

/* Records with a header.  A chunk is a region of 64 KiB; a slot ends with one of EPF_SLOT_REGION_BYTES.
 * Header, open ids padded to 32 bytes, records. */
struct epf_region {
	uint64_t sequence;      /* advanced by the helper when it has emptied the region; unique in the file */
	uint64_t sequence_used; /* = sequence once the recorder has filled in the fields below */
	uint32_t run;
	uint32_t track; /* the recorder's own */
	uint32_t slot;
	uint32_t open_count; /* ids open at its beginning, as u64 behind the header */
	uint64_t first_id;   /* the recorder's next id when it began the region */
	uint64_t reserved[3];
};

/* An event that is open; without a tail it is none.  A full stack is moved together where events ended on other threads,
 * entry by entry: each loses its tail first and gets the next one's last, so that one may stand there twice for a while. */
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
#define EPF_GIVEN_UP_OPEN (1ull << 63)

struct epf_slot {
	uint32_t state; /* enum epf_slot_state */
	uint32_t run;
	uint32_t track;
	uint32_t thread_id; /* the operating system's */
	uint32_t reserved;
	uint32_t id_blocks; /* whole blocks of 65,536 ids used up before this one */
	uint64_t next_id;   /* ids taken: epf_slot_ids_taken */
	uint64_t id_block_first;
	uint64_t id_block_end;
	char thread_name[16];
	uint64_t lost[EPF_LOSS_COUNT];
	uint64_t lost_idless;     /* how many of `lost` took no id */
	uint64_t drain_lost_disk; /* the helper's part of lost[EPP_LOSS_DISK] and [EPP_LOSS_POLICY] */
	uint64_t drain_lost_policy;
	uint64_t ids_settled;   /* not 0: one more than the ids taken, while another block of ids is begun */
	uint64_t given_up_disk; /* these two stand for the helper's part while given_up is set */
	uint64_t no_id;         /* 0: the id of what lies below the lowest open event, as it were */
	uint64_t given_up_policy;
	uint64_t given_up; /* not 0: the sequence of a region whose events are lost, EPF_GIVEN_UP_OPEN: the open ones too */
	struct epf_open open[EPF_OPEN_MAX];
	uint8_t region[EPF_SLOT_REGION_BYTES]; /* struct epf_region and what follows it */
};

/* ---- log: definitions that no block holds yet, and the payload of definition blocks ---- */

enum epf_definition_type {
	EPF_DEFINE_NAME = 1,  /* u32 name, then the bytes */
	EPF_DEFINE_TRACK = 2, /* struct epf_track, then name, group */
	EPF_DEFINE_ARGS = 3,  /* u32 number, one that no name has, then struct epf_arg ... as behind a record */
};

/* `bytes` is of what follows this header, which is then padded to 8. */
struct epf_definition {
	uint32_t bytes;
	uint32_t type;
};

enum epf_track_kind { EPF_TRACK_THREAD = 1, EPF_TRACK_DEVICE = 2, EPF_TRACK_CUSTOM = 3 };
/* The stream of a custom track beside a device's streams, on which an instant's args describe the device. */
#define EPF_STREAM_PROPERTIES INT64_MIN
enum epf_track_clock {
	EPF_TRACK_CLOCK_HOST = 0,
	EPF_TRACK_CLOCK_DEVICE = 1,
	EPF_TRACK_CLOCK_DURATION = 2,
	EPF_TRACK_CLOCK_OFFSET_US = 3 /* microseconds since run_start, by ONNX Runtime's formula: `start_bracket_ticks` wide */
};

struct epf_track {
	uint32_t track; /* unique in a file; 0 is none */
	uint32_t kind;  /* enum epf_track_kind */
	uint32_t source;
	uint32_t clock_kind; /* enum epf_track_clock */
	uint32_t clock;      /* tracks with the same non-zero number share clock pairs; 0: host */
	uint32_t clock_bits;
	uint64_t ticks_per_second;
	uint32_t thread_id; /* threads */
	int32_t device;
	int64_t stream;
	int32_t producer; /* index into producers; -1: none */
	uint32_t run;     /* the run that EPF_TRACK_CLOCK_OFFSET_US counts from; else 0 */
	uint32_t name_bytes;
	uint32_t group_bytes;
	uint64_t bracket_ticks; /* OFFSET_US: how long StartProfiling took, host ticks */
	int64_t offset_ns;      /* OFFSET_US: what StartProfiling was told */
};

/* ---- segments and blocks ---- */

#define EPF_SEGMENT_MAGIC 0x53465045u /* "EPFS" */
#define EPF_BLOCK_MAGIC 0x42465045u   /* "EPFB" */

struct epf_segment {
	uint32_t magic;
	uint32_t checksum;    /* CRC-32C of this header with checksum 0 */
	uint64_t number;      /* 1, 2, ...; 0: being reused */
	uint64_t first_ticks; /* 0 and 0 until the segment is full */
	uint64_t last_ticks;
	uint32_t flags; /* EPF_SEGMENT_KEPT: definitions, ledger; never reused by a ring */
	uint32_t reserved;
	uint64_t reserved2[3];
};
#define EPF_SEGMENT_KEPT 1u

/* 7 is none. */
enum epf_block_type {
	EPF_BLOCK_RECORDS = 1,     /* row-wise delta and varint: codec/codec.h */
	EPF_BLOCK_DEFINITIONS = 2, /* struct epf_definition ... : names and tracks */
	EPF_BLOCK_HOST_PAIRS = 3,  /* struct epf_host_pair ... */
	EPF_BLOCK_LEDGER = 4,      /* struct epf_ledger_entry ... */
	EPF_BLOCK_PRODUCERS = 5, /* struct epf_producer ...: state at the run's end, supersedes earlier ones; the first one's
	                             * number is `slot`: 0 but in a merged file, which may have more than EPF_PRODUCER_COUNT */
	EPF_BLOCK_RUN = 6,       /* struct epf_run */
	EPF_BLOCK_SOURCES = 8, /* struct epf_source ...: merged files, from source 1 on */
	EPF_BLOCK_COLUMNS = 9, /* records of one track, run and source, packed: format/format_packed.h */
	EPF_BLOCK_INDEX = 10,  /* of a packed file: likewise */
	EPF_BLOCK_OVERWRITTEN = 11, /* struct epf_overwritten of format/format_ring.h: of a ring; the one with the largest `through` counts */
	EPF_BLOCK_KEPT = 12, /* struct epf_kept: of a ring; likewise */
};

struct epf_block {
	uint32_t magic;
	uint32_t checksum;
	uint32_t payload_bytes;
	uint16_t type;     /* enum epf_block_type */
	uint16_t kinds;    /* records: 1 << enum epf_kind of each kind inside */
	uint64_t sequence; /* the region's; 0: not of a region */
	uint32_t run;
	uint32_t source;
	uint32_t track;
	uint32_t slot;
	uint32_t record_count;
	uint32_t open_count;      /* ids at the payload's beginning */
	uint64_t first_ticks;     /* host clock kinds only: smallest start; ~0 if none */
	uint64_t last_ticks;      /* largest end; 0 if none */
	uint64_t own_first_ticks; /* smallest start of records that were not open at the region's beginning; ~0 if none */
	uint64_t first_id;        /* as in the region */
};

/* One thread's account for one run, written when its slot is given back: it supersedes the slot's counters.  Entries of
 * track 0 are a session's own losses (struct epf_live) since its file's beginning, under the first run of its source: of
 * several the largest counts stand, those of the window too while it counts. */
struct epf_ledger_entry {
	uint32_t track;
	uint32_t run;
	uint64_t ids_taken; /* begins and one-shot calls while recording */
	uint64_t lost[EPF_LOSS_COUNT];
	uint64_t lost_idless; /* how many of `lost` took no id */
};

/* The only one of a finished trace that nothing was ever started in has the number 0, so that it is told from one cut. */
struct epf_run {
	uint32_t run;
	uint32_t source; /* of a merged file: whose run it is */
	uint64_t first_id;
	struct epf_host_pair start;
	struct epf_host_pair end;
	uint64_t faults; /* as in the live page */
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
