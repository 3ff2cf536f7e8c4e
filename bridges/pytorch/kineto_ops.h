/* PyTorch's operations as host events. Used only by kineto.cc. */
#ifndef EPPROF_BRIDGES_PYTORCH_KINETO_OPS_H
#define EPPROF_BRIDGES_PYTORCH_KINETO_OPS_H

#include <cstdint>

#include "epprof/session.h"

namespace kineto_ops
{

/* The key of the arg whose value is Kineto's number of an operation, by which kernels are joined to the operation. */
constexpr const char ID_KEY[] = "kineto id";

/* From attach to detach, a callback reads the names of operations.  Each Kineto session calls both once. attach must be
 * called before PyTorch adds its own callback, so that an operation's name is known when Kineto passes its number.
 * Thread: any. */
void attach();
void detach();

/* Enables recording of input shapes, if PyTorch provides them. */
void record_shapes(bool wanted);

/* Begins an operation, or an annotation (EPP_SESSION), on this thread. Cost: begin and end together take less than 150
 * ns including the callback that reads the name, without shapes (tests/interop/kineto_ops_cost.cc). */
void begin(epp_session *session, epp_category category, uint64_t kineto_id);

/* Ends the innermost operation of the session on this thread. */
void end(epp_session *session);

} // namespace kineto_ops

#endif
