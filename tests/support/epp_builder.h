/* Builds .epp files for tests, byte by byte as format/format.h says, without the recorder: finished, or as a process left
 * them (window, open stacks, half the regions not yet blocks), in memory or on disk.  For the tests of the reader, the
 * timeline and the exporters; what it makes is valid unless a test asks for damage.
 *
 *   struct epp_builder *b = builder_create();
 *   uint32_t worker = builder_thread(b, "worker", 1234);
 *   uint32_t stream = builder_device(b, "stream 1", "Accelerator 0", 0, 1, EPF_TRACK_CLOCK_HOST);
 *   epp_name gemm = builder_name(b, "gemm");
 *   uint64_t node = builder_begin(b, worker, BUILDER_START + 100, EPP_NODE, gemm);
 *   builder_complete(b, stream, BUILDER_START + 120, 50, EPP_KERNEL, gemm, node, NULL, 0);
 *   builder_end(b, worker, node, BUILDER_START + 200, NULL, 0);
 *   builder_write(b, EPF_FINISHED, "out.epp");
 *   builder_destroy(b);
 *
 * Ticks are nanoseconds: the clock is "monotonic" at 1 GHz, and run 1 starts at BUILDER_START by itself.  Every call that
 * cannot be followed (no memory, a record larger than a region) aborts: a test helper has no callers to tell.
 */
#ifndef EPPROF_TESTS_SUPPORT_EPP_BUILDER_H
#define EPPROF_TESTS_SUPPORT_EPP_BUILDER_H

#include <stdbool.h>

#include "epprof/session.h"
#include "format/format.h"
#include "trace/reader.h"

#define BUILDER_START 1000000000000ull
/* Unix time of BUILDER_START, in ns. */
#define BUILDER_REALTIME_NS 1700000000000000000ll

struct epp_builder;

struct epp_builder *builder_create(void);
void builder_destroy(struct epp_builder *builder);

/* Before the first record.  Small ones make small files; all but slot_count and chunk_count are multiples of 4,096. */
void builder_geometry(struct epp_builder *builder, uint32_t slot_count, uint32_t chunk_count, uint32_t chunk_bytes,
                      uint32_t log_bytes, uint32_t segment_bytes);
/* The header as it will be written (its checksum is set by builder_image): source, policy, features are free to change. */
struct epf_header *builder_header(struct epp_builder *builder);
/* The live page likewise. */
struct epf_live *builder_live(struct epp_builder *builder);
/* A profiler's account; its index is what builder_device_full's definition names. */
struct epf_producer *builder_producer(struct epp_builder *builder, unsigned index, const char *label);

epp_name builder_name(struct epp_builder *builder, const char *text);
epp_name builder_name_bytes(struct epp_builder *builder, const char *text, size_t bytes);

/* ---- tracks ---- */

/* A thread with a slot and regions of its own.  Returns its track, as the others do. */
uint32_t builder_thread(struct epp_builder *builder, const char *name, uint32_t thread_id);
/* The same without a track definition: as a thread that was killed before its definition reached the file. */
uint32_t builder_thread_undefined(struct epp_builder *builder, const char *name, uint32_t thread_id);
/* A device's stream; `clock_kind` is enum epf_track_clock, its clock is of its own (its number the track's), 1 GHz. */
uint32_t builder_device(struct epp_builder *builder, const char *name, const char *group, int32_t device,
                        int64_t stream, uint32_t clock_kind);
/* Any track: `track`, `name_bytes` and `group_bytes` of the definition are filled in.  Threads are made by builder_thread. */
uint32_t builder_track(struct epp_builder *builder, const struct epf_track *definition, const char *name,
                       const char *group);

/* ---- records; on a thread's track they take the thread's next id, which is returned ---- */

uint64_t builder_begin(struct epp_builder *builder, uint32_t thread, uint64_t ticks, unsigned category, epp_name name);
/* Ends the innermost event of that id, inner ones first, as `unended`. */
void builder_end(struct epp_builder *builder, uint32_t thread, uint64_t id, uint64_t ticks, const epp_arg *args,
                 size_t args_count);
/* A whole event. */
uint64_t builder_event(struct epp_builder *builder, uint32_t thread, uint64_t start_ticks, uint64_t duration_ticks,
                       unsigned category, epp_name name, const epp_arg *args, size_t args_count);
uint64_t builder_instant(struct epp_builder *builder, uint32_t thread, uint64_t ticks, unsigned category, epp_name name,
                         const epp_arg *args, size_t args_count);
uint64_t builder_counter(struct epp_builder *builder, uint32_t thread, uint64_t ticks, epp_name name, int64_t value);
/* An arrow; it takes an id of its own, which no record carries. */
void builder_flow(struct epp_builder *builder, uint32_t thread, uint64_t ticks, uint64_t from_id, uint64_t to_id);
uint64_t builder_async_begin(struct epp_builder *builder, uint32_t thread, uint64_t ticks, unsigned category,
                             epp_name name);
void builder_async_end(struct epp_builder *builder, uint32_t thread, uint64_t id, uint64_t ticks, const epp_arg *args,
                       size_t args_count);
/* The end, on `thread`, of an event that is open on another; the owner's stack keeps it unless builder_forget. */
void builder_orphan_end(struct epp_builder *builder, uint32_t thread, uint64_t id, uint64_t ticks, const epp_arg *args,
                        size_t args_count);
/* Takes an open event off its stack without a record. */
void builder_forget(struct epp_builder *builder, uint32_t thread, uint64_t id);
/* Work timed elsewhere: `track` is a device's or custom one (then ids come from a counter of the builder's), or a thread's
 * after builder_switch.  `parent` 0: none.  The definition's producer, if any, counts it as emitted. */
uint64_t builder_complete(struct epp_builder *builder, uint32_t track, uint64_t start_ticks, uint64_t duration_ticks,
                          unsigned category, epp_name name, uint64_t parent, const epp_arg *args, size_t args_count);
/* Later records of this thread's region are on `track`; 0: its own again. */
void builder_switch(struct epp_builder *builder, uint32_t thread, uint32_t track);
void builder_device_pair(struct epp_builder *builder, uint32_t track, uint64_t device_ticks, uint64_t host_ticks,
                         uint64_t half_width_ticks);
/* Anything: the record as it is, its arg_slots filled in from `args`. */
void builder_record(struct epp_builder *builder, uint32_t track, const struct epf_record *record, const epp_arg *args,
                    size_t args_count);

/* ---- accounts, clock, runs, regions ---- */

/* `idless` of the losses took no id; the others take one each. */
void builder_lost(struct epp_builder *builder, uint32_t thread, epp_loss reason, uint64_t count, uint64_t idless);
void builder_host_pair(struct epp_builder *builder, uint64_t ticks, uint64_t half_width_ticks, int64_t realtime_error_ns);
/* Run 1 is started by builder_create and the last one is ended by builder_image if EPF_FINISHED. */
void builder_run_end(struct epp_builder *builder, uint64_t ticks);
void builder_run_start(struct epp_builder *builder, uint64_t ticks);

enum { BUILDER_TO_BLOCK = 1, BUILDER_TO_WINDOW = 2 };
/* Closes the track's region: into a block, into a chunk of the window, or both (a helper killed between the two).  A region
 * that is full goes into a block by itself. */
void builder_flush(struct epp_builder *builder, uint32_t track, unsigned where);
/* Definitions so far go into a block, not into the log. */
void builder_definitions_to_block(struct epp_builder *builder);
/* A block of one definition, as it is; later ones may say the same. */
void builder_define(struct epp_builder *builder, uint32_t type, const void *body, size_t bytes);
/* Appends any block; magic and checksum are set here.  Returns its offset in the file. */
uint64_t builder_block(struct epp_builder *builder, const struct epf_block *block, const void *payload);

/* ---- the file ---- */

/* The whole file: FINISHED (all regions blocks, ledger written, window zero), or RECORDING (each track's last region in its
 * slot if it fits, else in a chunk; open stacks, counters, log).  May be called again.  Ownership: malloc, the caller's. */
uint8_t *builder_image(struct epp_builder *builder, enum epf_state state, size_t *bytes);
void builder_write(struct epp_builder *builder, enum epf_state state, const char *path);
/* Checksums put right after a test changed the header, or the block at `offset` whose header is in place. */
void builder_seal_header(uint8_t *image);
void builder_seal_block(uint8_t *image, uint64_t offset);
/* A reader's source over `bytes` bytes at `image`, which stay the caller's. */
struct reader_source builder_source(const uint8_t *image, size_t bytes);
/* The same as a trace: epp_trace_open without a file.  Closed with epp_trace_close, before the image goes. */
epp_status *builder_open_image(const uint8_t *image, size_t bytes, epp_trace **trace) EPP_MUST_CHECK;
/* Both steps; the image is freed by epp_trace_close.  Aborts on a status: for traces that are meant to be good. */
epp_trace *builder_open(struct epp_builder *builder, enum epf_state state);

#endif
