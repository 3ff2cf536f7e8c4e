/* epprof: the kit for execution providers (ep.h) in C++17 and later.
 *
 *   struct Profiler : epprof::ep::profiler { ... };                 with members of the EP's own
 *   Profiler *profiler;
 *   epprof::ep::options options(base, "MyEP", ticks_per_second);    the argument of CreateEpFactories
 *   options.now_ticks = my_clock;
 *   OrtStatus *status = epprof::ep::create(options, profiler);      in CreateProfiler, which returns &profiler->impl
 *   ...
 *   epprof::ep::event event("gemm", start_ticks, end_ticks);
 *   event.parent = profiler->current();                             at the launch, on the launching thread
 *   profiler->emit(event, { epprof::ep::arg("rows", 64) });         when the device reports that it is done
 *
 * Each function is inline and makes the C call that its comment names.  The comment of the C function in ep.h has the
 * threads, units and limits.
 * Thread: as the C call.  Ownership: the kit copies strings during a call.  Strings end with a NUL, as in ep.h, because
 * the interface between the kit and its hosts has no lengths.
 * Errors: an OrtStatus for ONNX Runtime.  Nothing throws, because ONNX Runtime's tables must not; the header compiles
 * with -fno-exceptions and -fno-rtti.  It needs the kit, no other part of epprof. */
#ifndef EPPROF_EP_HPP
#define EPPROF_EP_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "epprof/ep.h"

namespace epprof
{
namespace ep
{

struct options : epp_ep_options {
	options(const OrtApiBase *base, const char *name, uint64_t ticks_each_second) noexcept : epp_ep_options()
	{
		struct_size = sizeof(epp_ep_options);
		ort_api_base = base;
		ep_name = name;
		ticks_per_second = ticks_each_second;
	}
};

/* A device event.  The other members of epp_ep_event are 0 until the caller sets them.  Units: ticks of the device's
 * clock. */
struct event : epp_ep_event {
	event(const char *event_name, uint64_t start, uint64_t end) noexcept : epp_ep_event()
	{
		name = event_name;
		start_ticks = start;
		end_ticks = end;
	}
};

/* An arg.  bool and unsigned integers are EPP_EP_U64, other integers EPP_EP_I64, floating point is EPP_EP_F64;
 * std::string and `const char *` are text.  Ownership: key and text are borrowed until the event is emitted. */
template <class T> epp_ep_arg arg(const char *key, const T &value) noexcept
{
	epp_ep_arg made = {};
	made.key = key;
	if constexpr (std::is_floating_point_v<T>) {
		made.type = EPP_EP_F64;
		made.f64 = static_cast<double>(value);
	} else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
		made.type = EPP_EP_I64;
		made.i64 = value;
	} else if constexpr (std::is_integral_v<T>) {
		made.type = EPP_EP_U64;
		made.u64 = value;
	} else if constexpr (std::is_same_v<T, std::string>) {
		made.text = value.c_str();
	} else {
		made.text = value;
	}
	return made;
}

/* The base of the EP's own profiler.  create() creates it, and Release of its `impl` deletes it. */
class profiler : public epp_ep_profiler
{
      public:
	profiler() noexcept : epp_ep_profiler()
	{
	}
	profiler(const profiler &) = delete;
	profiler &operator=(const profiler &) = delete;

	/* epp_ep_current */
	uint64_t current() noexcept
	{
		return epp_ep_current(this);
	}
	/* epp_ep_emit */
	void emit(const epp_ep_event &emitted) noexcept
	{
		epp_ep_emit(this, &emitted);
	}
	/* epp_ep_emit of the event, with these args in place of event.args */
	void emit(epp_ep_event emitted, std::initializer_list<epp_ep_arg> args) noexcept
	{
		emitted.args = args.begin();
		emitted.args_count = args.size();
		epp_ep_emit(this, &emitted);
	}
	/* epp_ep_device_name_set */
	void set_device_name(int32_t device, const char *name) noexcept
	{
		epp_ep_device_name_set(this, device, name);
	}
	/* epp_ep_stream_name_set */
	void set_stream_name(int32_t device, int64_t stream, const char *name) noexcept
	{
		epp_ep_stream_name_set(this, device, stream, name);
	}
	/* epp_ep_counter_record.  The value was read at `host_ticks_of_value`; 0: now.  The type is that of `arg`. */
	template <class T>
	void record_counter(int32_t device, const char *name, T value, uint64_t host_ticks_of_value = 0) noexcept
	{
		static_assert(std::is_arithmetic_v<T>, "the value of a counter is a number");
		epp_ep_counter counter = {};
		counter.name = name;
		counter.device = device;
		if constexpr (std::is_floating_point_v<T>) {
			counter.type = EPP_EP_F64;
			counter.f64 = static_cast<double>(value);
		} else if constexpr (std::is_signed_v<T>) {
			counter.type = EPP_EP_I64;
			counter.i64 = value;
		} else {
			counter.type = EPP_EP_U64;
			counter.u64 = value;
		}
		counter.host_ticks = host_ticks_of_value;
		epp_ep_counter_record(this, &counter);
	}
	/* epp_ep_clock_pair.  Units: ticks of the device's clock and of the host's. */
	void add_clock_pair(uint64_t device_ticks, uint64_t at_host_ticks, uint64_t half_width_ticks) noexcept
	{
		epp_ep_clock_pair(this, device_ticks, at_host_ticks, half_width_ticks);
	}
	/* epp_ep_host_ticks, epp_ep_host_ticks_per_second */
	uint64_t host_ticks() noexcept
	{
		return epp_ep_host_ticks(this);
	}
	uint64_t host_ticks_per_second() noexcept
	{
		return epp_ep_host_ticks_per_second(this);
	}
	/* epp_ep_waited */
	void waited(uint64_t parent, uint64_t start_host_ticks = 0) noexcept
	{
		epp_ep_waited(this, parent, start_host_ticks);
	}
	/* epp_ep_ledger.  Units: events. */
	EpprofLedger ledger() const noexcept
	{
		EpprofLedger counts = {};
		epp_ep_ledger(this, &counts);
		return counts;
	}
};

/* A wait of the calling thread for the device.  The wait lasts from the construction of the object to its destruction,
 * which calls epp_ep_waited for the work that was launched under `parent`.  Ownership: the profiler is borrowed. */
class wait
{
      public:
	wait(profiler &of, uint64_t parent) noexcept
	    : profiler_(of), parent_(parent), start_host_ticks_(of.host_ticks())
	{
	}
	wait(const wait &) = delete;
	wait &operator=(const wait &) = delete;
	~wait()
	{
		profiler_.waited(parent_, start_host_ticks_);
	}

      private:
	profiler &profiler_;
	uint64_t parent_;
	uint64_t start_host_ticks_;
};

/* Creates a Profiler, a class derived from `profiler`, with operator new and the arguments `constructor_args`; then
 * calls epp_ep_profiler_init.  Sets options.release: Release deletes the Profiler.  Its constructor and destructor must
 * not throw.
 * Errors: those of epp_ep_profiler_init, and an OrtStatus if there is no memory; then `created` is NULL.  Ownership: on
 * success ONNX Runtime owns the Profiler, and frees it by Release of its `impl`. */
template <class Profiler, class... Args>
OrtStatus *create(epp_ep_options options, Profiler *&created, Args &&...constructor_args) noexcept
{
	static_assert(std::is_base_of_v<profiler, Profiler>, "the EP's profiler is derived from epprof::ep::profiler");
	created = new (std::nothrow) Profiler(std::forward<Args>(constructor_args)...);
	if (!created && !options.ort_api_base)
		return nullptr;
	if (!created)
		return options.ort_api_base->GetApi(1)->CreateStatus(ORT_FAIL, "out of memory");
	options.release = [](epp_ep_profiler *self, void *) { delete static_cast<Profiler *>(self); };
	OrtStatus *status = epp_ep_profiler_init(created, &options);
	if (!created->impl.Release) {
		delete created;
		created = nullptr;
	}
	return status;
}

} // namespace ep
} // namespace epprof
#endif
