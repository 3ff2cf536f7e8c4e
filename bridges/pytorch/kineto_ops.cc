/* Records PyTorch's operations as host events. Kineto passes a profiler only the number of each operation that
 * PyTorch's profiler records, at its begin and end. The events are created at these calls, so that they are exactly
 * those of PyTorch's profile, on all of its threads. Name, sequence number, thread of the forward pass and input shapes
 * come from a RecordFunction callback of this library, which PyTorch calls on the same thread just before its
 * profiler's callback. They are stored by value until the following begin, because an operation that PyTorch's profiler
 * does not record has no begin.
 *
 * A backward operation has the sequence number of its forward operation, which is unique in the thread of the forward
 * pass; "Fwd thread id" is that thread's number, as in the row of the trace.
 *
 * Many operations have an overload that only calls another one with the same name. key_averages() counts these two as
 * one, and so does the trace: if the first operation inside another has the same name, it does not become an event.
 * Kernels of both have the outer event as their parent. That event has the inner operation's number, because
 * key_averages() takes kernels from the inner one.
 *
 * If an exception leaves an operation, the destructor of its RecordFunction ends it. Operations may be open when their
 * session ends or when another one begins. */
#include "kineto_ops.h"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

namespace
{

constexpr size_t NAMES_COUNT = 512;    /* a power of two */
constexpr size_t THREADS_COUNT = 4096; /* a power of two */
constexpr size_t TENSORS_MAX = 30;     /* limit for lists of tensors, as in PyTorch */

struct Facts {
	epp_name name; /* number of the name; 0: unknown */
	int64_t sequence;
	int32_t forward_thread; /* thread of the forward pass; 0: the operation is not part of a backward pass */
	std::string shapes;     /* "": shapes are not recorded */
};

struct Op {
	epp_session *session;
	uint64_t id; /* 0: the operation has no event */
	epp_name name;
	uint64_t kineto_id;
	Facts facts;
	size_t event;      /* index in `open` of the operation's event: its own, or that of an enclosing operation */
	bool has_children; /* an operation has begun inside this one */
};

/* Cache of interned names by address.  The names of most operations are texts at a constant address. */
struct Name {
	const char *at;
	const char *text;
	epp_name name;
};

struct Thread {
	Facts next = {};
	std::vector<Op> open;
	/* number of open operations for which `open` had no memory; they are inside those in `open` */
	size_t unrecorded = 0;
	epp_session *unrecorded_session = nullptr;
	std::array<Name, NAMES_COUNT> names = {};

	Thread();
};

std::atomic<bool> wants_shapes;

/* Maps PyTorch's number of a thread to the system's thread id; an entry contains both. */
std::array<std::atomic<uint64_t>, THREADS_COUNT> thread_ids;

Thread::Thread()
{
	uint64_t number = at::RecordFunction::currentThreadId();
	thread_ids[number % THREADS_COUNT] = number << 32 | (uint32_t)gettid();
}

Thread &this_thread()
{
	thread_local Thread thread;
	return thread;
}

/* Returns the system's id of a thread; 0: the thread has not had an operation. */
int32_t thread_id(uint64_t number)
{
	uint64_t found = number ? thread_ids[number % THREADS_COUNT].load(std::memory_order_relaxed) : 0;
	return found >> 32 == (uint32_t)number ? (int32_t)found : 0;
}

epp_name name_of(Thread &thread, const char *text)
{
	uintptr_t at = (uintptr_t)text;
	Name &name = thread.names[(at >> 4 ^ at >> 13) % NAMES_COUNT];
	if (name.at != text || strcmp(name.text, text) != 0) {
		name.name = epp_name_intern(text);
		name.text = epp_name_text(name.name);
		name.at = text;
	}
	return name.name;
}

/* ---- shapes ---- */

void add_shape(std::string &to, const at::Tensor &tensor)
{
	to += '[';
	/* Undefined, nested and symbolic tensors have no numbers as sizes; their shape is []. */
	if (tensor.defined() && !tensor.is_nested() && !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
		const char *separator = "";
		for (int64_t size : tensor.sizes()) {
			to += separator + std::to_string(size);
			separator = ", ";
		}
	}
	to += ']';
}

/* Returns the shapes of all inputs: [[2, 3], [[4], [4]], []] for a tensor, a list of tensors and a number. */
std::string shapes_of(c10::ArrayRef<const c10::IValue> inputs)
{
	std::string shapes = "[";
	for (const c10::IValue &input : inputs) {
		shapes += shapes.size() > 1 ? ", " : "";
		if (input.isTensor()) {
			add_shape(shapes, input.toTensor());
		} else if (input.isTensorList()) {
			size_t count = 0;
			shapes += '[';
			for (const at::Tensor &tensor : input.toTensorVector()) {
				if (count++ == TENSORS_MAX)
					break;
				shapes += count > 1 ? ", " : "";
				add_shape(shapes, tensor);
			}
			shapes += ']';
		} else {
			shapes += "[]";
		}
	}
	return shapes + ']';
}

/* ---- the callback ---- */

std::unique_ptr<at::ObserverContext> read_facts(const at::RecordFunction &function)
{
	Thread &thread = this_thread();
	Facts &next = thread.next;
	next.name = name_of(thread, function.name());
	next.sequence = function.seqNr();
	next.forward_thread = thread_id(function.forwardThreadId());
	next.shapes.clear();
	if (function.needsInputs() && wants_shapes.load(std::memory_order_relaxed))
		next.shapes = shapes_of(function.inputs());
	return nullptr;
}

struct {
	std::mutex lock;
	unsigned count;
	at::CallbackHandle handle;
} attached;

} // namespace

void kineto_ops::attach()
{
	std::lock_guard<std::mutex> hold(attached.lock);
	if (!attached.count++)
		attached.handle = at::addGlobalCallback(at::RecordFunctionCallback(read_facts));
}

void kineto_ops::detach()
{
	std::lock_guard<std::mutex> hold(attached.lock);
	if (!--attached.count)
		at::removeCallback(attached.handle);
}

void kineto_ops::record_shapes(bool wanted)
{
	wants_shapes = wanted;
}

/* ---- events ---- */

/* Returns true if the next operation can be added to `open`. */
static bool has_room(Thread &thread)
{
	if (thread.unrecorded)
		return false;
	if (thread.open.size() < thread.open.capacity())
		return true;
	try {
		thread.open.reserve(2 * thread.open.size() + 8);
		return true;
	} catch (const std::bad_alloc &) {
		return false;
	}
}

void kineto_ops::begin(epp_session *session, epp_category category, uint64_t kineto_id)
{
	static const epp_name unknown = epp_name_intern("op");
	Thread &thread = this_thread();
	std::vector<Op> &open = thread.open;
	while (!open.empty() && open.back().session != session)
		open.pop_back();
	if (thread.unrecorded_session != session)
		thread.unrecorded = 0; /* they were open when their session ended */
	if (!has_room(thread)) {
		thread.unrecorded++;
		thread.unrecorded_session = session;
		epp_session_count_refused(session, 1);
		return;
	}
	epp_name name = thread.next.name ? thread.next.name : unknown;
	size_t event = open.size();
	uint64_t id = 0;
	if (!open.empty() && !open.back().has_children && open.back().name == name && name != unknown) {
		event = open.back().event;
		open[event].kineto_id = kineto_id;
	} else {
		id = epp_event_begin(session, category, name);
	}
	if (!open.empty())
		open.back().has_children = true;
	open.push_back({ session, id, name, kineto_id, std::move(thread.next), event, false });
	thread.next.name = 0;
}

static void end_event(epp_session *session, const Op &op)
{
	static const epp_name id_key = epp_name_intern(kineto_ops::ID_KEY);
	static const epp_name sequence_key = epp_name_intern("Sequence number");
	static const epp_name forward_key = epp_name_intern("Fwd thread id");
	static const epp_name shapes_key = epp_name_intern("Input Dims");
	epp_arg args[4];
	size_t count = 0;
	args[count++] = { id_key, EPP_ARG_U64, { (int64_t)op.kineto_id }, 0 };
	if (op.facts.name && op.facts.sequence >= 0) {
		args[count++] = { sequence_key, EPP_ARG_I64, { op.facts.sequence }, 0 };
		if (op.facts.forward_thread)
			args[count++] = { forward_key, EPP_ARG_I64, { op.facts.forward_thread }, 0 };
	}
	if (!op.facts.shapes.empty()) {
		args[count] = { shapes_key, EPP_ARG_TEXT, { 0 }, op.facts.shapes.size() };
		args[count++].value.text = op.facts.shapes.data();
	}
	epp_event_end(session, op.id, args, count);
}

void kineto_ops::end(epp_session *session)
{
	Thread &thread = this_thread();
	std::vector<Op> &open = thread.open;
	if (thread.unrecorded && thread.unrecorded_session == session) {
		thread.unrecorded--;
		return;
	}
	if (open.empty() || open.back().session != session)
		return;
	if (open.back().id)
		end_event(session, open.back());
	open.pop_back();
}
