/* Builds .epp files for tests, byte by byte according to format/format.h, without the recorder: finished, or as a
 * process left them (window, open stacks, half the regions not yet in blocks), in memory or on disk.  For the tests of
 * the reader, the timeline and the exporters; the files are valid unless a test requests damage.
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
 * Ticks are nanoseconds: the clock is "monotonic" at 1 GHz, and run 1 starts automatically at BUILDER_START.  A call
 * that cannot be done (no memory, a record larger than a region) aborts, because a test helper cannot return errors.
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

/* Sets the sizes of the window; call it before the first record.  Small values make small files; all except slot_count
 * and chunk_count are multiples of 4,096. */
void builder_geometry(struct epp_builder *builder, uint32_t slot_count, uint32_t chunk_count, uint32_t chunk_bytes,
                      uint32_t log_bytes, uint32_t segment_bytes);
/* The header that will be written (builder_image sets its checksum): a test may change source, policy and features. */
struct epf_header *builder_header(struct epp_builder *builder);
/* The live page that will be written. */
struct epf_live *builder_live(struct epp_builder *builder);
/* Adds a profiler's account; builder_device_full's definition refers to it by its index. */
struct epf_producer *builder_producer(struct epp_builder *builder, unsigned index, const char *label);

epp_name builder_name(struct epp_builder *builder, const char *text);
epp_name builder_name_bytes(struct epp_builder *builder, const char *text, size_t bytes);

/* ---- tracks ---- */

/* Adds a thread with its own slot and regions.  Returns its track, as the functions below do. */
uint32_t builder_thread(struct epp_builder *builder, const char *name, uint32_t thread_id);
/* As builder_thread, without a track definition: a thread that was killed before its definition reached the file. */
uint32_t builder_thread_undefined(struct epp_builder *builder, const char *name, uint32_t thread_id);
/* Adds a device's stream; `clock_kind` is enum epf_track_clock.  It has its own clock, with the track's number, at 1
 * GHz. */
uint32_t builder_device(struct epp_builder *builder, const char *name, const char *group, int32_t device,
                        int64_t stream, uint32_t clock_kind);
/* Adds any track; `track`, `name_bytes` and `group_bytes` of the definition are set here.  For threads use
 * builder_thread. */
uint32_t builder_track(struct epp_builder *builder, const struct epf_track *definition, const char *name,
                       const char *group);

/* ---- records; on a thread's track they take the thread's next id, which is returned ---- */

uint64_t builder_begin(struct epp_builder *builder, uint32_t thread, uint64_t ticks, unsigned category, epp_name name);
/* Ends the innermost event of that id, inner ones first, as `unended`. */
void builder_end(struct epp_builder *builder, uint32_t thread, uint64_t id, uint64_t ticks, const epp_arg *args,
                 size_t args_count);
/* Records a complete event. */
uint64_t builder_event(struct epp_builder *builder, uint32_t thread, uint64_t start_ticks, uint64_t duration_ticks,
                       unsigned category, epp_name name, const epp_arg *args, size_t args_count);
uint64_t builder_instant(struct epp_builder *builder, uint32_t thread, uint64_t ticks, unsigned category, epp_name name,
                         const epp_arg *args, size_t args_count);
uint64_t builder_counter(struct epp_builder *builder, uint32_t thread, uint64_t ticks, epp_name name, int64_t value);
/* Records a flow; it uses up an id, which no record contains. */
void builder_flow(struct epp_builder *builder, uint32_t thread, uint64_t ticks, uint64_t from_id, uint64_t to_id);
uint64_t builder_async_begin(struct epp_builder *builder, uint32_t thread, uint64_t ticks, unsigned category,
                             epp_name name);
void builder_async_end(struct epp_builder *builder, uint32_t thread, uint64_t id, uint64_t ticks, const epp_arg *args,
                       size_t args_count);
/* Records the end, on `thread`, of an event that is open on another thread; the owner's stack keeps the event unless
 * builder_forget is called. */
void builder_orphan_end(struct epp_builder *builder, uint32_t thread, uint64_t id, uint64_t ticks, const epp_arg *args,
                        size_t args_count);
/* Removes an open event from its stack without a record. */
void builder_forget(struct epp_builder *builder, uint32_t thread, uint64_t id);
/* Records an event with given times: `track` is a device's or custom track (then ids come from the builder's counter),
 * or a thread's after builder_switch.  `parent` 0: none.  The producer in the track's definition, if any, counts the
 * event as emitted. */
uint64_t builder_complete(struct epp_builder *builder, uint32_t track, uint64_t start_ticks, uint64_t duration_ticks,
                          unsigned category, epp_name name, uint64_t parent, const epp_arg *args, size_t args_count);
/* Puts later records of this thread's region on `track`; 0: on its own again. */
void builder_switch(struct epp_builder *builder, uint32_t thread, uint32_t track);
void builder_device_pair(struct epp_builder *builder, uint32_t track, uint64_t device_ticks, uint64_t host_ticks,
                         uint64_t half_width_ticks);
/* Writes any record unchanged, except that arg_slots is set from `args`. */
void builder_record(struct epp_builder *builder, uint32_t track, const struct epf_record *record, const epp_arg *args,
                    size_t args_count);

/* ---- accounts, clock, runs, regions ---- */

/* Counts losses; `idless` of them used no id, the others use one each. */
void builder_lost(struct epp_builder *builder, uint32_t thread, epp_loss reason, uint64_t count, uint64_t idless);
void builder_host_pair(struct epp_builder *builder, uint64_t ticks, uint64_t half_width_ticks, int64_t realtime_error_ns);
/* Sets by how much the monotonic clock and the wall clock differ from what their names say, from this run on. */
void builder_set_clocks(struct epp_builder *builder, int64_t monotonic_off_ns, int64_t realtime_off_ns);
/* Ends and starts runs.  builder_create starts run 1, and builder_image ends the last one if EPF_FINISHED. */
void builder_run_end(struct epp_builder *builder, uint64_t ticks);
void builder_run_start(struct epp_builder *builder, uint64_t ticks);

enum { BUILDER_TO_BLOCK = 1, BUILDER_TO_WINDOW = 2 };
/* Closes the track's region: into a block, into a chunk of the window, or both (as if the helper was killed between the
 * two).  A full region is put into a block automatically. */
void builder_flush(struct epp_builder *builder, uint32_t track, unsigned where);
/* Puts the definitions so far into a block, not into the log. */
void builder_definitions_to_block(struct epp_builder *builder);
/* Writes a block with one definition, unchanged; later blocks may repeat it. */
void builder_define(struct epp_builder *builder, uint32_t type, const void *body, size_t bytes);
/* Appends any block; magic and checksum are set here.  Returns its offset in the file. */
uint64_t builder_block(struct epp_builder *builder, const struct epf_block *block, const void *payload);

/* ---- the file ---- */

/* Makes the whole file: FINISHED (all regions in blocks, ledger written, window zero), or RECORDING (each track's last
 * region in its slot if it fits, else in a chunk; open stacks, counters, log).  May be called again.
 * Ownership: malloc, the caller's. */
uint8_t *builder_image(struct epp_builder *builder, enum epf_state state, size_t *bytes);
void builder_write(struct epp_builder *builder, enum epf_state state, const char *path);
/* Correct the checksum after a test changed the header, or the block at `offset` whose header was changed. */
void builder_seal_header(uint8_t *image);
void builder_seal_block(uint8_t *image, uint64_t offset);
/* A reader's source over `bytes` bytes at `image`, which stay the caller's. */
struct reader_source builder_source(const uint8_t *image, size_t bytes);
/* The same as a trace: epp_trace_open without a file.  Close it with epp_trace_close before the image is freed. */
epp_status *builder_open_image(const uint8_t *image, size_t bytes, epp_trace **trace) EPP_MUST_CHECK;
/* builder_image and builder_open_image; epp_trace_close frees the image.  Aborts on a status: for traces that should be
 * good. */
epp_trace *builder_open(struct epp_builder *builder, enum epf_state state);

#endif
