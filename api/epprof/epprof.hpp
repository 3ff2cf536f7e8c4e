/* epprof for C++17 and later: classes that own the objects that the C functions of epprof.h create.
 *
 *   epprof::event step(nullptr, EPP_NODE, EPPROF_NAME("step"));     ends when the scope is left, also by an exception
 *   ...
 *   step.end({ epprof::arg(EPPROF_NAME("rows"), 3) });              or here, with args
 *
 * Each function is inline and makes the C call that its comment names.  The comment of the C function has the threads,
 * errors and limits.  Thread, Units: as the C call.  Objects may be moved to another thread; one object is used by one
 * thread at a time.
 * Ownership: an object owns its session, event or status and can be moved, not copied.  A session parameter is borrowed:
 * an epprof::session, or NULL for the process's default session.  std::string_view needs no NUL at its end.
 *
 * Errors.  A function that can fail returns epprof::status or epprof::result<T>.  If EPPROF_EXCEPTIONS is defined
 * before the header is included, it returns void or T and throws epprof::error instead.  Files compiled with and
 * without EPPROF_EXCEPTIONS can be linked into one program: their types are in different inline namespaces.  Recording
 * never fails and never throws.  Without EPPROF_EXCEPTIONS the header compiles with -fno-exceptions; RTTI is not
 * needed. */
#ifndef EPPROF_EPPROF_HPP
#define EPPROF_EPPROF_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "epprof/epprof.h"

/* The number of a name.  The first execution interns the name; later executions cost a load and a branch.  `text` is a
 * string literal. */
#define EPPROF_NAME(text) \
	([]() noexcept -> epp_name { \
		static const epp_name epprof_name = epp_name_intern_bytes("" text, sizeof("" text) - 1); \
		return epprof_name; \
	}())

namespace epprof
{
#ifdef EPPROF_EXCEPTIONS
inline namespace throwing
#else
inline namespace returning
#endif
{
namespace detail
{
template <auto destroy> struct destroyer {
	template <class T> void operator()(T *object) const noexcept
	{
		destroy(object);
	}
};
} // namespace detail

/* ---- errors ---- */

/* The result of a call: success, or an error. */
class [[nodiscard]] status
{
      public:
	status() noexcept = default;
	/* Takes ownership; NULL is success. */
	explicit status(epp_status *owned) noexcept : status_(owned)
	{
	}
	bool ok() const noexcept
	{
		return !status_;
	}
	/* epp_status_code */
	epp_code code() const noexcept
	{
		return epp_status_code(status_.get());
	}
	/* epp_status_message.  Ownership: valid for the life of this object. */
	const char *message() const noexcept
	{
		return epp_status_message(status_.get());
	}
	/* Ownership: the caller owns the returned status. */
	epp_status *release() noexcept
	{
		return status_.release();
	}

      private:
	std::unique_ptr<epp_status, detail::destroyer<epp_status_destroy>> status_;
};

/* A status and a value.  If the status is an error, the value is default-constructed. */
template <class T> class [[nodiscard]] result : public status
{
      public:
	result(epp_status *owned, T value) noexcept : status(owned), value_(std::move(value))
	{
	}
	T &operator*() noexcept
	{
		return value_;
	}
	T *operator->() noexcept
	{
		return &value_;
	}

      private:
	T value_;
};

#ifdef EPPROF_EXCEPTIONS

/* The exception that is thrown by functions that can fail.  Copies share the status. */
class error : public std::exception
{
      public:
	/* Takes ownership. */
	explicit error(epp_status *owned) : status_(owned, epp_status_destroy)
	{
	}
	epp_code code() const noexcept
	{
		return epp_status_code(status_.get());
	}
	/* epp_status_message.  Ownership: valid for the life of this object. */
	const char *what() const noexcept override
	{
		return epp_status_message(status_.get());
	}

      private:
	std::shared_ptr<epp_status> status_;
};

using outcome = void;
template <class T> using outcome_of = T;

namespace detail
{
inline void check(epp_status *owned)
{
	if (owned)
		throw error(owned);
}
template <class T> T check(epp_status *owned, T value)
{
	check(owned);
	return value;
}
} // namespace detail

#else

using outcome = status;
template <class T> using outcome_of = result<T>;

namespace detail
{
inline status check(epp_status *owned) noexcept
{
	return status(owned);
}
template <class T> result<T> check(epp_status *owned, T value) noexcept
{
	return result<T>(owned, std::move(value));
}
} // namespace detail

#endif

/* ---- sessions ---- */

/* The options of a session that records into `file`, or into memory if `file` is NULL.  Ownership: the text is borrowed
 * until the session is created. */
struct session_options : epp_session_options {
	explicit session_options(const char *file = nullptr) noexcept : epp_session_options()
	{
		struct_size = sizeof(epp_session_options);
		path = file;
	}
};

/* A session.  The destructor calls epp_session_destroy.  An object without a session, such as one whose session was
 * moved to another object, converts to NULL, which means the default session. */
class session
{
      public:
	session() noexcept = default;
	/* Takes ownership of a session that epp_session_create or a similar function returned. */
	explicit session(epp_session *owned) noexcept : session_(owned)
	{
	}
	/* epp_session_create */
	static outcome_of<session> create(const epp_session_options &options)
	{
		epp_session *created = nullptr;
		epp_status *failure = epp_session_create(&options, &created);
		return detail::check(failure, session(created));
	}
	/* epp_session_share */
	static outcome_of<session> share(const epp_session_options &options)
	{
		epp_session *shared = nullptr;
		epp_status *failure = epp_session_share(&options, &shared);
		return detail::check(failure, session(shared));
	}
	/* epp_session_share_output.  The object has no session if EPPROF_OUTPUT is not set. */
	static outcome_of<session> share_output()
	{
		epp_session *shared = nullptr;
		epp_status *failure = epp_session_share_output(&shared);
		return detail::check(failure, session(shared));
	}
	/* epp_session_attach.  Ownership: on success the session owns the profiler. */
	outcome attach(OrtEpProfilerImpl *profiler, const char *label = nullptr)
	{
		return detail::check(epp_session_attach(get(), profiler, label));
	}
	/* epp_session_start */
	outcome start()
	{
		return detail::check(epp_session_start(get()));
	}
	/* epp_session_end */
	outcome end()
	{
		return detail::check(epp_session_end(get()));
	}
	/* epp_session_wait.  Units: nanoseconds. */
	outcome wait(uint64_t timeout_ns = UINT64_MAX)
	{
		return detail::check(epp_session_wait(get(), timeout_ns));
	}
	/* epp_session_lost.  Units: events. */
	uint64_t lost(epp_loss reason) const noexcept
	{
		return epp_session_lost(get(), reason);
	}
	epp_session *get() const noexcept
	{
		return session_.get();
	}
	operator epp_session *() const &noexcept
	{
		return get();
	}
	operator epp_session *() const && = delete; /* the session would be destroyed with the temporary object */
	/* Ownership: the caller owns the returned session. */
	epp_session *release() noexcept
	{
		return session_.release();
	}

      private:
	std::unique_ptr<epp_session, detail::destroyer<epp_session_destroy>> session_;
};

/* ---- names and args ---- */

/* epp_name_intern_bytes.  It looks the text up at each call; EPPROF_NAME looks it up once. */
inline epp_name intern(std::string_view text) noexcept
{
	return epp_name_intern_bytes(text.empty() ? "" : text.data(), text.size());
}

/* An arg.  bool and unsigned integers are EPP_ARG_U64, other integers EPP_ARG_I64, floating point is EPP_ARG_F64, and
 * types that convert to std::string_view are EPP_ARG_TEXT.  Ownership: the text is borrowed until the arg is
 * recorded. */
template <class T> epp_arg arg(epp_name key, const T &value) noexcept
{
	epp_arg made = {};
	made.key = key;
	if constexpr (std::is_floating_point_v<T>) {
		made.type = EPP_ARG_F64;
		made.value.f64 = static_cast<double>(value);
	} else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
		made.type = EPP_ARG_I64;
		made.value.i64 = value;
	} else if constexpr (std::is_integral_v<T>) {
		made.type = EPP_ARG_U64;
		made.value.u64 = value;
	} else {
		const std::string_view text = value;
		made.type = EPP_ARG_TEXT;
		made.value.text = text.empty() ? "" : text.data();
		made.text_bytes = text.size();
	}
	return made;
}

/* As arg above; the text of the key is looked up at each call. */
template <class T> epp_arg arg(std::string_view key, const T &value) noexcept
{
	return arg(intern(key), value);
}

/* epp_args_intern.  If the returned number is not 0, use it as EPP_ARGS_OF(number). */
inline epp_name intern_args(std::initializer_list<epp_arg> args) noexcept
{
	return epp_args_intern(args.begin(), args.size());
}

/* ---- events ---- */

/* An event that is open until the object is destroyed.  `event` and `async_event` below are its two kinds. */
template <auto begin_call, auto end_call> class scope
{
      public:
	scope() noexcept = default;
	scope(epp_session *in, epp_category category, epp_name name) noexcept
	    : session_(in), id_(begin_call(in, category, name))
	{
	}
	/* Looks the name up at each call, unless no session records. */
	scope(epp_session *in, epp_category category, std::string_view name) noexcept
	    : session_(in), id_(EPPROF_ENABLED() ? begin_call(in, category, intern(name)) : 0)
	{
	}
	scope(scope &&other) noexcept : session_(other.session_), id_(other.release())
	{
	}
	scope &operator=(scope &&other) noexcept
	{
		if (this != &other) {
			end();
			session_ = other.session_;
			id_ = other.release();
		}
		return *this;
	}
	~scope()
	{
		end();
	}
	/* Ends the event now; does nothing if the object has no open event. */
	void end(const epp_arg *args, size_t args_count) noexcept
	{
		if (const uint64_t id = release())
			end_call(session_, id, args, args_count);
	}
	void end(std::initializer_list<epp_arg> args = {}) noexcept
	{
		end(args.begin(), args.size());
	}
	/* The id, for flows and parents; 0 if the event ended or is not recorded. */
	uint64_t id() const noexcept
	{
		return id_;
	}
	/* Returns true if the event is recorded and open.  A caller can skip the preparation of args if it is not. */
	explicit operator bool() const noexcept
	{
		return id_ != 0;
	}
	/* Returns the id and leaves the event open; the caller ends it with the C function. */
	uint64_t release() noexcept
	{
		return std::exchange(id_, 0);
	}

      private:
	epp_session *session_ = nullptr;
	uint64_t id_ = 0;
};

/* epp_event_begin, epp_event_end: events of a thread, which nest. */
using event = scope<epp_event_begin, epp_event_end>;

/* epp_async_begin, epp_async_end: events that need not nest and may end on any thread. */
using async_event = scope<epp_async_begin, epp_async_end>;

/* epp_instant_record */
inline void record_instant(epp_session *session, epp_category category, epp_name name,
                           std::initializer_list<epp_arg> args = {}) noexcept
{
	epp_instant_record(session, category, name, args.begin(), args.size());
}

/* As record_instant above; looks the name up at each call, unless no session records. */
inline void record_instant(epp_session *session, epp_category category, std::string_view name,
                           std::initializer_list<epp_arg> args = {}) noexcept
{
	if (EPPROF_ENABLED())
		record_instant(session, category, intern(name), args);
}

/* epp_counter_record_f64 for floating point, epp_counter_record_i64 for integers; an integer above INT64_MAX becomes
 * negative. */
template <class T> void record_counter(epp_session *session, epp_name name, T value) noexcept
{
	static_assert(std::is_arithmetic_v<T>, "the value of a counter is a number");
	if constexpr (std::is_floating_point_v<T>)
		epp_counter_record_f64(session, name, static_cast<double>(value));
	else
		epp_counter_record_i64(session, name, static_cast<int64_t>(value));
}

/* As record_counter above; looks the name up at each call, unless no session records. */
template <class T> void record_counter(epp_session *session, std::string_view name, T value) noexcept
{
	if (EPPROF_ENABLED())
		record_counter(session, intern(name), value);
}

/* epp_flow_record; the ids are those of the two events */
inline void record_flow(epp_session *session, uint64_t from_id, uint64_t to_id) noexcept
{
	epp_flow_record(session, from_id, to_id);
}

/* ---- tracks ---- */

/* The options of a track.  The constructor calls epp_track_options_init. */
struct track_options : epp_track_options {
	track_options() noexcept : epp_track_options()
	{
		epp_track_options_init(this);
	}
};

/* epp_track_create */
inline outcome_of<epp_track> create_track(epp_session *session, const epp_track_options &options)
{
	epp_track track = 0;
	epp_status *failure = epp_track_create(session, &options, &track);
	return detail::check(failure, track);
}

/* epp_event_record.  Units: ticks of the track's clock. */
inline uint64_t record_event(epp_session *session, epp_track track, epp_category category, epp_name name,
                             uint64_t start_ticks, uint64_t end_ticks, uint64_t parent = 0,
                             std::initializer_list<epp_arg> args = {}) noexcept
{
	return epp_event_record(session, track, category, name, start_ticks, end_ticks, parent, args.begin(), args.size());
}

} // inline namespace
} // namespace epprof
#endif
