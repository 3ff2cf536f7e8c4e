/* libepprof_kineto.so: makes profiler plugins of any kind available in PyTorch's profiler, in particular those of the
 * tracing proposal (PU1), which no released PyTorch loads.
 *
 *   torch.utils.rename_privateuse1_backend("name"); torch.ops.load_library("libepprof_kineto.so")
 *   KINETO_PLUGIN_PATH=./libvendor.so python ..., or EPPROF_PROFILERS;
 *   then profile(activities=[CPU, PrivateUse1]) as for any device
 *
 * It is a Kineto profiler, registered for the PrivateUse1 device. Each Kineto session has an epprof session, in memory
 * or (EPPROF_OUTPUT) in a file, to which each plugin's profiler is attached. An op of PyTorch becomes a host event with
 * Kineto's id as an arg (kineto_ops.cc). After the session, the timeline relates device events to these and gives their
 * times. Plugins of any kind are therefore supported, their clocks are related to the host's with an error bound, and
 * losses are counted.
 *
 * Kineto's ids have 32 bits, and each plugin numbers from 1, so correlations are renumbered. An arrow requires exactly
 * one call and one device event with the same correlation. Devices keep their numbers, unless another plugin has a
 * device with that number. */
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <atomic>
#include <c10/util/Logging.h>
#include <libkineto.h>
#include <output_base.h>
#include <torch/csrc/profiler/orchestration/observer.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include "bridges/shared/hosted_plugins.h"
#include "epprof/epprof.h"
#include "epprof/timeline.h"
#include "kineto_events.h"
#include "kineto_ops.h"
#include "kineto_text.h"

namespace
{

#define OUT_OF_MEMORY "out of memory: this profile may lack events of plugins"

constexpr uint64_t WAIT_NS = 20000000000u;

/* ---- plugins ---- */

struct Plugins {
	std::vector<epp_plugin *> loaded;
	std::vector<std::string> failures;

	Plugins()
	{
		hosted_plugins_load(found, this);
	}

	/* Called by C code, so it must not throw. */
	static void found(void *user, const char *path, epp_plugin *plugin, const epp_status *failure) noexcept
	{
		auto *plugins = static_cast<Plugins *>(user);
		epp_status *warning = plugin ? epp_path_check(path) : nullptr;
		try {
			if (plugin)
				plugins->loaded.push_back(plugin);
			else
				plugins->failures.push_back(epp_status_message(failure));
			if (warning)
				plugins->failures.push_back(epp_status_message(warning));
		} catch (const std::bad_alloc &) {
			fprintf(stderr, "epprof: %s: out of memory\n", path);
		}
		epp_status_destroy(warning);
	}
};

/* Loads the plugins, once per process.  Logs the reason if a plugin was not loaded, and which plugins other users can
 * change. */
const Plugins &plugins()
{
	static const Plugins *all = [] {
		auto *made = new Plugins;
		std::string message = made->loaded.empty() ? HOSTED_NOTHING : "";
		for (const std::string &failure : made->failures)
			message += (message.empty() ? "" : "; ") + failure;
		if (!message.empty())
			LOG(WARNING) << "epprof: " << message;
		return made;
	}();
	return *all;
}

/* ---- Kineto's session ---- */

/* Returns the path of a session's trace: with EPPROF_OUTPUT=run.epp, the traces are run.1.epp, run.2.epp and so on. */
std::string output_path(const std::string &number)
{
	const char *output = secure_getenv("EPPROF_OUTPUT");
	if (!output || !*output)
		return "";
	std::string path = output;
	bool has_ending = path.size() >= 4 && !path.compare(path.size() - 4, 4, ".epp");
	return path.insert(path.size() - (has_ending ? 4 : 0), "." + number);
}

epp_status *create_session(const std::string &path, bool overwrite, epp_session **session)
{
	epp_session_options options = {};
	options.struct_size = sizeof(options);
	options.label = "PyTorch";
	options.overwrite = overwrite;
	options.path = path.empty() ? nullptr : path.c_str();
	return epp_session_create(&options, session);
}

/* If the file exists, another process has written it, and it is kept.  From then on, the names of this process contain
 * its pid: run.PID.1.epp. */
epp_status *create_session(epp_session **session)
{
	static std::atomic<unsigned> count;
	static std::atomic<bool> is_taken;
	std::string number = std::to_string(++count);
	std::string path = output_path(number);
	bool has_pid = path.find("%pid%") != std::string::npos;
	epp_status *status = is_taken ? nullptr : create_session(path, has_pid, session);
	if (status && !has_pid && !access(path.c_str(), F_OK)) {
		LOG(WARNING) << "epprof: " << path << " belongs to another process, this one writes "
			     << output_path(std::to_string(getpid()) + "." + number);
		epp_status_destroy(status);
		is_taken = true;
	}
	return is_taken ? create_session(output_path("%pid%." + number), true, session) : status;
}

/* A time limit for all calls of plugins in a scope (epp_plugin_budget_begin). */
class Budget
{
      public:
	explicit Budget(uint64_t number) : number_(epp_plugin_budget_begin(number))
	{
	}
	Budget(const Budget &) = delete;
	Budget &operator=(const Budget &) = delete;
	~Budget()
	{
		epp_plugin_budget_end();
	}
	uint64_t number() const
	{
		return number_;
	}

      private:
	uint64_t number_;
};

class Session : public libkineto::IActivityProfilerSession
{
      public:
	/* `budget` is the time limit for the start of the profile; loading the plugins has used a part of it. */
	explicit Session(uint64_t budget) : budget_(budget), buffer_(std::make_unique<libkineto::CpuTraceBuffer>())
	{
		buffer_->span = libkineto::TraceSpan(0, 0, "epprof");
		buffer_->gpuOpCount = 0;
		guarded([&] { errors_ = plugins().failures; });
		guarded([&] { note(create_session(&session_)); });
		for (epp_plugin *plugin : plugins().loaded)
			guarded([&] { attach(plugin); });
		attach_ops();
	}

	~Session() override
	{
		detach_ops();
		epp_session_destroy(session_);
	}

	void start() override
	{
		guarded([&] { start_session(); });
		status_ = libkineto::TraceStatus::RECORDING;
	}

	void stop() override
	{
		status_ = libkineto::TraceStatus::PROCESSING;
		detach_ops();
		if (!session_)
			return;
		/* epp_session_end and epp_session_wait are called before the notes are added, which may fail for lack
		 * of memory. */
		epp_status *ended = epp_session_end(session_), *waited = epp_session_wait(session_, WAIT_NS);
		guarded([&] { note(ended); });
		guarded([&] { note(waited); });
		guarded([&] { read_trace(); });
	}

	std::vector<std::string> errors() override
	{
		std::vector<std::string> errors;
		guarded([&] { errors = errors_; });
		return errors;
	}

	void processTrace(libkineto::ActivityLogger &logger) override
	{
		processTrace(
		    logger, [](int32_t) { return nullptr; }, 0, 0);
	}

	void processTrace(libkineto::ActivityLogger &logger, libkineto::getLinkedActivityCallback linked, int64_t start,
	                  int64_t end) override
	{
		buffer_->span.startTime = start;
		buffer_->span.endTime = end;
		for (const auto &[device, name] : trace_.devices)
			guarded([&, device = device, &name = name] {
				logger.handleDeviceInfo({ device, device + SORT_DEVICES, name, name }, start);
			});
		for (const auto &[place, name] : trace_.streams)
			guarded([&, place = place, &name = name] {
				logger.handleResourceInfo({ place.second, place.second, place.first, name }, start);
			});
		for (const Event &event : trace_.events)
			guarded([&] { log(logger, linked, event); });
		trace_.events.clear();
	}

	std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override
	{
		return nullptr;
	}

	std::vector<libkineto::ResourceInfo> getResourceInfos() override
	{
		return {};
	}

	std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override
	{
		return std::move(buffer_);
	}

	void pushCorrelationId(uint64_t id) override
	{
		kineto_ops::begin(session_, EPP_NODE, id);
	}

	void popCorrelationId() override
	{
		kineto_ops::end(session_);
	}

	/* The id of an annotation is of the same kind as that of an operation, so an annotation is recorded as an
	 * operation is. */
	void pushUserCorrelationId(uint64_t id) override
	{
		kineto_ops::begin(session_, EPP_SESSION, id);
	}

	void popUserCorrelationId() override
	{
		kineto_ops::end(session_);
	}

	std::unordered_map<std::string, std::string> getMetadata() override
	{
		std::unordered_map<std::string, std::string> metadata;
		guarded([&] {
			if (!trace_.ledger.empty())
				metadata.emplace("epprof_ledger", trace_.ledger);
		});
		guarded([&] {
			/* PyTorch calls errors() but does not show the result, so problems are also in the metadata. */
			std::string problems;
			for (const std::string &error : errors_)
				problems += (problems.empty() ? "" : ", ") + quoted(error);
			if (is_out_of_memory_)
				problems += (problems.empty() ? "" : ", ") + quoted(OUT_OF_MEMORY);
			if (!problems.empty())
				metadata.emplace("epprof_problems", "[" + problems + "]");
		});
		return metadata;
	}

      private:
	static constexpr int64_t SORT_DEVICES = 5000000; /* after all processes, as Kineto sorts its own devices */

	/* Runs a step, and catches the exception if it runs out of memory, because PyTorch does not expect exceptions
	 * from a profiler.  The rest of the step is left out, and a note about this is added to the metadata, if there
	 * is memory for the note. */
	template <typename Step> void guarded(const Step &step) noexcept
	{
		try {
			step();
		} catch (const std::bad_alloc &) {
			if (!is_out_of_memory_)
				fputs("epprof: " OUT_OF_MEMORY "\n", stderr);
			is_out_of_memory_ = true;
		}
	}

	void attach(epp_plugin *plugin)
	{
		OrtEpProfilerImpl *profiler = nullptr;
		epp_status *status = session_ ? epp_plugin_profiler_create(plugin, &profiler) : nullptr;
		if (!status && profiler && (status = epp_session_attach(session_, profiler, epp_plugin_name(plugin))))
			epp_plugin_profiler_destroy(profiler);
		bool hangs = epp_status_code(status) == EPP_TIMEOUT;
		std::string message = note(status);
		if (hangs)
			hung_.emplace_back(epp_plugin_name(plugin), message);
	}

	void start_session()
	{
		const auto *profiler = torch::profiler::impl::ProfilerStateBase::getTLS();
		const auto global = torch::profiler::impl::ProfilerStateBase::getGlobal();
		profiler = profiler ? profiler : global.get();
		kineto_ops::record_shapes(profiler && profiler->config().report_input_shapes);
		if (session_) {
			const Budget budget(budget_);
			note(epp_session_start(session_));
			hosted_plugins_report_hung(session_);
			for (const auto &[label, message] : hung_)
				epp_session_report_hang(session_, label.c_str(), message.c_str());
		}
	}

	void read_trace()
	{
		epp_trace *opened;
		std::string error = message_of(epp_trace_open_session(session_, &opened));
		if (!error.empty()) {
			errors_.push_back(error);
			return;
		}
		std::unique_ptr<epp_trace, decltype(&epp_trace_close)> trace(opened, epp_trace_close);
		error = read_events(trace_, trace.get());
		if (!error.empty())
			errors_.push_back(error);
		read_ledger(trace_, trace.get());
	}

	/* Adds a problem, and returns its text.  If a plugin hung, this is also logged, because the trace may look complete. */
	std::string note(epp_status *status)
	{
		bool hangs = epp_status_code(status) == EPP_TIMEOUT;
		std::string message = message_of(status);
		if (hangs)
			LOG(WARNING) << "epprof: " << message;
		if (!message.empty())
			errors_.push_back(message);
		return message;
	}

	/* Returns the id of the operation that caused an event: the event's parent or, if the parent is a plugin's
	 * call, the operation that made the call. */
	uint64_t cause_of(const Event &event) const
	{
		auto caller = trace_.callers.find(event.parent);
		return caller == trace_.callers.end() ? event.parent : caller->second;
	}

	void log(libkineto::ActivityLogger &logger, const libkineto::getLinkedActivityCallback &linked, const Event &event)
	{
		buffer_->emplace_activity(buffer_->span, event.type, event.name);
		libkineto::GenericTraceActivity &activity = *buffer_->activities.back();
		bool is_call = event.device < 0;
		activity.startTime = event.start_ns;
		activity.endTime = event.start_ns + event.duration_ns;
		activity.device = is_call ? (int32_t)getpid() : event.device;
		activity.resource = event.stream;
		activity.threadId = is_call ? (int32_t)event.stream : 0;
		auto parent = trace_.kineto_ids.find(cause_of(event));
		if (parent != trace_.kineto_ids.end())
			activity.linked = linked((int32_t)parent->second);
		if (event.joined) {
			activity.id = (int32_t)event.joined->number;
			activity.addMetadata("correlation", event.joined->number);
			if (event.joined->number != event.correlation)
				activity.addMetadata("plugin correlation", event.correlation);
			/* An arrow requires one call and one device event. */
			if (event.joined->calls_count == 1 && event.joined->device_events_count == 1 &&
			    event.type != ActivityType::PRIVATEUSE1_DRIVER) {
				activity.flow.id = event.joined->number;
				activity.flow.type = libkineto::kLinkAsyncCpuGpu;
				activity.flow.start = is_call;
			}
		}
		if (!event.plugin.empty())
			activity.addMetadata("epprof.plugin", quoted(event.plugin));
		if (!is_call) {
			activity.addMetadata("device", event.device);
			activity.addMetadata("stream", event.stream);
		}
		activity.addMetadata("error (ns)", event.error_ns);
		if (event.is_inferred)
			activity.addMetadata("External id inferred", "true");
		for (const auto &[key, value] : event.args)
			activity.addMetadata(key, value);
		buffer_->gpuOpCount += !is_call;
		activity.log(logger);
	}

	void attach_ops()
	{
		kineto_ops::attach();
		has_ops_ = true;
	}

	void detach_ops()
	{
		if (has_ops_)
			kineto_ops::detach();
		has_ops_ = false;
	}

	epp_session *session_ = nullptr;
	bool has_ops_ = false, is_out_of_memory_ = false;
	uint64_t budget_;
	Trace trace_;
	std::vector<std::string> errors_;
	/* plugins that hung before they had a profiler: label and note */
	std::vector<std::pair<std::string, std::string>> hung_;
	std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

/* PyTorch creates one object in the first profile of a process, and does not handle a failure; the constructor
 * therefore allocates nothing. */
class Profiler : public libkineto::IActivityProfiler
{
      public:
	static void *operator new(size_t)
	{
		alignas(void *) static unsigned char place[sizeof(void *)];
		return place;
	}

	static void operator delete(void *)
	{
	}

	const std::string &name() const override
	{
		static const std::string name = "epprof";
		return name;
	}

	const std::set<ActivityType> &availableActivities() const override
	{
		static const std::set<ActivityType> none;
		try {
			static const std::set<ActivityType> all = { ActivityType::GPU_MEMCPY, ActivityType::GPU_MEMSET,
				                                    ActivityType::CONCURRENT_KERNEL,
				                                    ActivityType::PRIVATEUSE1_RUNTIME,
				                                    ActivityType::PRIVATEUSE1_DRIVER };
			return all;
		} catch (const std::bad_alloc &) {
			fputs("epprof: " OUT_OF_MEMORY "\n", stderr);
		}
		return none;
	}

	/* After the first session with the device, Kineto calls this for sessions without the device too.  NULL: the
	 * session is not profiled. */
	std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType> &types,
	                                                               const libkineto::Config &config) override
	{
		(void)config;
		if (!types.count(ActivityType::CONCURRENT_KERNEL))
			return nullptr;
		const Budget budget(0);
		try {
			if (!plugins().loaded.empty())
				return std::make_unique<Session>(budget.number());
		} catch (const std::bad_alloc &) {
			fputs("epprof: " OUT_OF_MEMORY "\n", stderr);
		}
		return nullptr;
	}

	std::unique_ptr<libkineto::IActivityProfilerSession> configure(int64_t ts_ms, int64_t duration_ms,
	                                                               const std::set<ActivityType> &types,
	                                                               const libkineto::Config &config) override
	{
		(void)ts_ms, (void)duration_ms;
		return configure(types, config);
	}
};

static_assert(sizeof(Profiler) == sizeof(void *), "Profiler::operator new has room for its functions alone");
REGISTER_PRIVATEUSE1_PROFILER(Profiler);

} // namespace

/* `epprof record` finds the version of torch by searching this text in the file; it does not load the library, which
 * may crash in another version of torch. */
extern "C" __attribute__((used, visibility("default")))
const char epprof_kineto_torch[] = "compiled for torch " TORCH_VERSION;
