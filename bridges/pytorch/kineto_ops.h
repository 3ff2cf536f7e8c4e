/* The operations of PyTorch as host events.  Used by kineto.cc alone. */
#ifndef BRIDGES_KINETO_OPS_H
#define BRIDGES_KINETO_OPS_H

#include <cstdint>

#include "epprof/session.h"

namespace kineto_ops
{

/* The arg of each operation that has the number by which Kineto joins kernels to it. */
constexpr const char ID_KEY[] = "kineto id";

/* From attach to detach names of operations are read.  They come in pairs, one for each session of Kineto's; attach comes before
 * PyTorch adds its own callback, so that an operation's name is there when Kineto gives its number.
 * Thread: any. */
void attach();
void detach();

/* Whether shapes of inputs are recorded, where PyTorch has them. */
void record_shapes(bool wanted);

/* An operation, or an annotation (EPP_SESSION), begins on this thread.  Cost: begin and end together take less than 150 ns with the
 * callback that reads the name, shapes aside (tests/interop/kineto_ops_cost.cc). */
void begin(epp_session *session, epp_category category, uint64_t kineto_id);

/* The innermost one of the session on this thread ends. */
void end(epp_session *session);

} // namespace kineto_ops

#endif
