/* The layouts that programs and plugins have compiled in: what an execution provider with the kit pushes into libepprof,
 * and the ABIs of ONNX Runtime, TensorFlow, PJRT and PU1, which their headers assert themselves.  `make abi` compiles
 * this for each processor, without running it.  When a struct with struct_size grows at its end, only SIZE changes. */
#ifdef OFFICIAL
/* ONNX Runtime's own headers come first, so the assertions are about these. */
#include <onnxruntime_c_api.h>
#endif

#include "epprof/abi/ort_layout.h"
#include "epprof/abi/pjrt.h"
#include "epprof/abi/pu1.h"
#include "epprof/abi/tf.h"
#include "epprof/ep_push.h"

#define AT(type, member, offset) _Static_assert(offsetof(type, member) == (offset), #type "." #member)
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)

AT(EpprofArg, key, 0);
AT(EpprofArg, text, 8);
AT(EpprofArg, number, 16);
AT(EpprofArg, type, 24);
AT(EpprofArg, text_bytes, 28);
SIZE(EpprofArg, 32);

AT(EpprofEvent, start_ticks, 0);
AT(EpprofEvent, end_ticks, 8);
AT(EpprofEvent, parent, 16);
AT(EpprofEvent, name, 24);
AT(EpprofEvent, args, 32);
AT(EpprofEvent, args_count, 40);
AT(EpprofEvent, category, 44);
AT(EpprofEvent, device, 48);
AT(EpprofEvent, clock, 52);
AT(EpprofEvent, stream, 56);
SIZE(EpprofEvent, 64);

AT(EpprofClock, id, 0);
AT(EpprofClock, kind, 4);
AT(EpprofClock, bits, 8);
AT(EpprofClock, reserved, 12);
AT(EpprofClock, ticks_per_second, 16);
SIZE(EpprofClock, 24);

AT(EpprofClockPair, device_ticks, 0);
AT(EpprofClockPair, host_ticks, 8);
AT(EpprofClockPair, half_width_ticks, 16);
AT(EpprofClockPair, clock, 24);
AT(EpprofClockPair, reserved, 28);
SIZE(EpprofClockPair, 32);

AT(EpprofTrack, name, 0);
AT(EpprofTrack, group, 8);
AT(EpprofTrack, stream, 16);
AT(EpprofTrack, device, 24);
AT(EpprofTrack, clock, 28);
SIZE(EpprofTrack, 32);

AT(EpprofWait, parent, 0);
AT(EpprofWait, start_host_ticks, 8);
AT(EpprofWait, end_host_ticks, 16);
AT(EpprofWait, thread, 24);
SIZE(EpprofWait, 32);

AT(EpprofLedger, emitted, 0);
AT(EpprofLedger, lost_no_buffer, 8);
AT(EpprofLedger, lost_refused, 16);
AT(EpprofLedger, lost_outside_run, 24);
AT(EpprofLedger, lost_other, 32);
SIZE(EpprofLedger, 40);

AT(EpprofDevice, group, 0);
AT(EpprofDevice, args, 8);
AT(EpprofDevice, args_count, 16);
AT(EpprofDevice, device, 20);
SIZE(EpprofDevice, 24);

AT(EpprofCounter, name, 0);
AT(EpprofCounter, host_ticks, 8);
AT(EpprofCounter, number, 16);
AT(EpprofCounter, type, 24);
AT(EpprofCounter, device, 28);
SIZE(EpprofCounter, 32);

AT(EpprofHostClock, origin, 0);
AT(EpprofHostClock, ticks, 8);
AT(EpprofHostClock, ticks_per_unit, 16);
SIZE(EpprofHostClock, 24);

AT(EpprofBatch, struct_size, 0);
AT(EpprofBatch, events, 8);
AT(EpprofBatch, events_count, 16);
AT(EpprofBatch, clocks, 24);
AT(EpprofBatch, clocks_count, 32);
AT(EpprofBatch, pairs, 40);
AT(EpprofBatch, pairs_count, 48);
AT(EpprofBatch, ledger, 56);
AT(EpprofBatch, tracks, 64);
AT(EpprofBatch, tracks_count, 72);
AT(EpprofBatch, waits, 80);
AT(EpprofBatch, waits_count, 88);
AT(EpprofBatch, gaps_count, 96);
AT(EpprofBatch, gaps_ns, 104);
AT(EpprofBatch, devices, 112);
AT(EpprofBatch, devices_count, 120);
AT(EpprofBatch, ids, 128);
AT(EpprofBatch, early_count, 136);
AT(EpprofBatch, late_count, 144);
AT(EpprofBatch, negative_count, 152);
AT(EpprofBatch, counters, 160);
AT(EpprofBatch, counters_count, 168);
AT(EpprofBatch, host_clock, 176);
AT(EpprofBatch, unfinished_count, 184);
SIZE(EpprofBatch, 192);

AT(EpprofCollector, struct_size, 0);
AT(EpprofCollector, Join, 8);
AT(EpprofCollector, EventId, 16);
AT(EpprofCollector, Push, 24);
AT(EpprofCollector, Leave, 32);
SIZE(EpprofCollector, 40);
