/* libepprof_kineto.so: brings plugins of any kind into PyTorch's profiler, those of the tracing proposal (PU1) above all,
 * which no released PyTorch loads by itself.
 *
 *   torch.utils.rename_privateuse1_backend("name"); torch.ops.load_library("libepprof_kineto.so")
 *   KINETO_PLUGIN_PATH=libvendor.so python ..., or EPPROF_PROFILERS; then profile(activities=[CPU, PrivateUse1]) as for any device
 *
 * It is a profiler of Kineto's, registered as that of the PrivateUse1 device.  Each session of Kineto's is a session of
 * epprof's, in memory or (EPPROF_OUTPUT) in a file, to which each plugin's profiler is attached.  An op of PyTorch becomes
 * a host event with Kineto's id as an arg (kineto_ops.cc); when the session is over, the timeline says which events of devices
 * belong to it and when they were.  So any plugin will do, its clock is related to the host's with a bound, and what was lost is
 * counted.
 *
 * Kineto has 32 bits for ids, so correlations are numbered anew; an arrow needs one call and one event of a device with
 * the same one.
 */
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <atomic>
#include <c10/util/Logging.h>
#include <libkineto.h>
#include <output_base.h>
#include <torch/csrc/profiler/orchestration/observer.h>
#include <unistd.h>

#include "carried.h"
#include "epprof/epprof.h"
#include "epprof/timeline.h"
#include "kineto_ops.h"
#include "kineto_text.h"

namespace
{

using libkineto::ActivityType;

constexpr uint64_t WAIT_NS = 20000000000u;

/* Takes a status; "" for success. */
std::string message_of(epp_status *status)
{
	std::string message = status ? epp_status_message(status) : "";
	epp_status_release(status);
	return message;
}

/* ---- plugins ---- */

struct Plugins {
	std::vector<epp_plugin *> loaded;
	std::vector<std::string> failures;

	Plugins()
	{
		carried_load(found, this);
	}

	static void found(void *user, const char *path, epp_plugin *plugin, const epp_status *failure)
	{
		auto *plugins = static_cast<Plugins *>(user);
		(void)path;
		if (plugin)
			plugins->loaded.push_back(plugin);
		else
			plugins->failures.push_back(epp_status_message(failure));
	}
};

/* Once in the life of the process; that there are none is told then, with the reasons, since no trace will say it. */
const Plugins &plugins()
{
	static const Plugins *all = [] {
		auto *made = new Plugins;
		std::string reasons;
		for (const std::string &failure : made->failures)
			reasons += "; " + failure;
		if (made->loaded.empty())
			LOG(WARNING) << "epprof: " CARRIED_NOTHING << reasons;
		return made;
	}();
	return *all;
}

/* ---- events ---- */

/* An event of a plugin, as Kineto's activities are made of it. */
struct Event {
	std::string name;
	ActivityType type;
	int64_t start_ns; /* unix */
	int64_t duration_ns;
	int64_t error_ns;
	uint64_t parent;
	bool is_inferred;
	int32_t device; /* -1: a call on the host */
	int64_t stream;
	uint64_t correlation;                                  /* 0: none */
	std::vector<std::pair<std::string, std::string>> args; /* values are JSON */
};

struct Correlation {
	uint32_t number;
	uint32_t calls_count;
	uint32_t device_events_count;
};

struct Trace {
	std::vector<Event> events;
	std::unordered_map<uint64_t, uint64_t> kineto_ids; /* by the id of the host event */
	std::unordered_map<uint64_t, Correlation> correlations;
	std::map<std::pair<int64_t, int64_t>, std::string> streams; /* of devices */
	std::map<int64_t, std::string> devices;
	std::string ledger; /* JSON */
};

std::string json_of(const epp_trace_arg &arg)
{
	switch (arg.type) {
	case EPP_ARG_I64:
		return std::to_string(arg.value.i64);
	case EPP_ARG_U64:
		return std::to_string(arg.value.u64);
	case EPP_ARG_TEXT:
		return quoted(arg.value.text, arg.text_bytes);
	default:
		return quoted(std::to_string(arg.value.f64)); /* may be no number */
	}
}

void add_host_event(Trace &trace, const epp_timeline *timeline, const epp_event *event)
{
	epp_trace_arg arg;
	for (size_t cursor = 0; epp_event_args(timeline, event, &cursor, &arg);)
		if (std::string(arg.key, arg.key_bytes) == kineto_ops::ID_KEY)
			trace.kineto_ids[event->id] = arg.value.u64;
}

void add_device_event(Trace &trace, const epp_timeline *timeline, const epp_event *event, int64_t epoch_unix_ns)
{
	Event made = {};
	made.name = printable_name(event->name, event->name_bytes);
	made.device = event->track->device;
	made.stream = event->track->kind == EPP_TRACK_CALLS ? event->track->thread_id : event->track->stream;
	made.type = made.device < 0 ? ActivityType::PRIVATEUSE1_RUNTIME : ActivityType::CONCURRENT_KERNEL;
	made.start_ns = epoch_unix_ns + event->start_ns;
	made.duration_ns = event->duration_ns;
	made.error_ns = event->start_error_ns;
	made.parent = event->parent;
	made.is_inferred = event->placement == EPP_PLACED_INFERRED;
	epp_trace_arg arg;
	for (size_t cursor = 0; epp_event_args(timeline, event, &cursor, &arg);) {
		std::string key(arg.key, arg.key_bytes);
		std::string text = arg.type == EPP_ARG_TEXT ? std::string(arg.value.text, arg.text_bytes) : "";
		if (key == "correlation" && arg.type == EPP_ARG_U64)
			made.correlation = arg.value.u64;
		else if (key == "kind" && text == "memcpy")
			made.type = ActivityType::GPU_MEMCPY;
		else if (key == "kind" && text == "memset")
			made.type = ActivityType::GPU_MEMSET;
		else if (key == "kind" && text == "driver")
			made.type = ActivityType::PRIVATEUSE1_DRIVER;
		else
			made.args.emplace_back(unquoted(key), json_of(arg));
	}
	if (made.correlation) {
		Correlation &correlation = trace.correlations[made.correlation];
		if (!correlation.number)
			correlation.number = (uint32_t)trace.correlations.size();
		correlation.calls_count += made.type == ActivityType::PRIVATEUSE1_RUNTIME;
		correlation.device_events_count += made.device >= 0;
	}
	if (made.device >= 0) {
		trace.devices[made.device] = printable(event->track->group, strlen(event->track->group));
		trace.streams[{ made.device, made.stream }] = printable(event->track->name, strlen(event->track->name));
	}
	trace.events.push_back(std::move(made));
}

/* The accounts of the plugins. */
void read_ledger(Trace &trace, epp_trace *of)
{
	epp_trace_account account;
	for (size_t i = 0; i < epp_trace_accounts_count(of); i++) {
		if (!message_of(epp_trace_account_at(of, i, &account)).empty() || !account.is_plugin)
			continue;
		trace.ledger += trace.ledger.empty() ? "{" : ", ";
		trace.ledger += quoted(account.producer) + ": {\"emitted\": " + std::to_string(account.emitted) +
		                ", \"written\": " + std::to_string(account.written) +
		                ", \"lost\": " + std::to_string(account.lost_total) +
		                ", \"errors\": " + std::to_string(account.errors) + "}";
	}
	if (!trace.ledger.empty())
		trace.ledger += "}";
}

std::string read_events(Trace &trace, epp_trace *of)
{
	epp_timeline *timeline;
	const epp_event *event;
	int64_t epoch_unix_ns = epp_trace_get_info(of)->epoch_unix_ns;
	std::string error = message_of(epp_timeline_create(of, nullptr, &timeline));
	if (!error.empty())
		return error;
	while (epp_timeline_next(timeline, &event)) {
		if (event->kind != EPP_EVENT_SLICE)
			continue;
		if (event->track->kind == EPP_TRACK_DEVICE || event->track->kind == EPP_TRACK_CALLS)
			add_device_event(trace, timeline, event, epoch_unix_ns);
		else
			add_host_event(trace, timeline, event);
	}
	error = message_of(epp_timeline_status(timeline));
	epp_timeline_release(timeline);
	return error;
}

/* ---- Kineto's session ---- */

/* EPPROF_OUTPUT=run.epp: the session's trace is run.1.epp, then run.2.epp. */
std::string output_path(const std::string &number)
{
	const char *output = secure_getenv("EPPROF_OUTPUT");
	if (!output || !*output)
		return "";
	std::string path = output;
	bool has_ending = path.size() >= 4 && !path.compare(path.size() - 4, 4, ".epp");
	return path.insert(path.size() - (has_ending ? 4 : 0), "." + number);
}

epp_status *create_session(const std::string &path, epp_session **session)
{
	epp_session_options options = {};
	options.struct_size = sizeof(options);
	options.label = "PyTorch";
	options.overwrite = 1;
	options.path = path.empty() ? nullptr : path.c_str();
	return epp_session_create(&options, session);
}

/* Once another process has come first, this one's have its pid: run.PID.1.epp. */
epp_status *create_session(epp_session **session)
{
	static std::atomic<unsigned> count;
	static std::atomic<bool> is_taken;
	std::string number = std::to_string(++count);
	epp_status *status = is_taken ? nullptr : create_session(output_path(number), session);
	if (epp_status_code(status) == EPP_BUSY) {
		epp_status_release(status);
		is_taken = true;
	}
	return is_taken ? create_session(output_path("%pid%." + number), session) : status;
}

class Session : public libkineto::IActivityProfilerSession
{
      public:
	Session() : buffer_(std::make_unique<libkineto::CpuTraceBuffer>())
	{
		buffer_->span = libkineto::TraceSpan(0, 0, "epprof");
		buffer_->gpuOpCount = 0;
		for (const std::string &failure : plugins().failures)
			errors_.push_back(failure);
		note(create_session(&session_));
		for (epp_plugin *plugin : plugins().loaded) {
			OrtEpProfilerImpl *profiler = nullptr;
			epp_status *status = session_ ? epp_plugin_profiler_create(plugin, &profiler) : nullptr;
			if (!status && profiler &&
			    (status = epp_session_attach(session_, profiler, epp_plugin_name(plugin))))
				epp_plugin_profiler_release(profiler);
			note(status);
		}
		attach_ops();
	}

	~Session() override
	{
		detach_ops();
		epp_session_release(session_);
	}

	void start() override
	{
		const auto *profiler = torch::profiler::impl::ProfilerStateBase::getTLS();
		const auto global = torch::profiler::impl::ProfilerStateBase::getGlobal();
		profiler = profiler ? profiler : global.get();
		kineto_ops::record_shapes(profiler && profiler->config().report_input_shapes);
		if (session_)
			note(epp_session_start(session_));
		status_ = libkineto::TraceStatus::RECORDING;
	}

	void stop() override
	{
		status_ = libkineto::TraceStatus::PROCESSING;
		detach_ops();
		if (!session_)
			return;
		note(epp_session_end(session_));
		note(epp_session_wait(session_, WAIT_NS));
		epp_trace *trace;
		std::string error = message_of(epp_trace_open_session(session_, &trace));
		if (!error.empty()) {
			errors_.push_back(error);
			return;
		}
		error = read_events(trace_, trace);
		if (!error.empty())
			errors_.push_back(error);
		read_ledger(trace_, trace);
		epp_trace_close(trace);
	}

	std::vector<std::string> errors() override
	{
		return errors_;
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
			logger.handleDeviceInfo({ device, device + SORT_DEVICES, name, name }, start);
		for (const auto &[place, name] : trace_.streams)
			logger.handleResourceInfo({ place.second, place.second, place.first, name }, start);
		for (const Event &event : trace_.events)
			log(logger, linked, event);
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

	/* Annotations have ids of the same kind. */
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
		if (!trace_.ledger.empty())
			metadata["epprof_ledger"] = trace_.ledger;
		/* PyTorch asks for errors() and tells nobody. */
		std::string problems;
		for (const std::string &error : errors_)
			problems += (problems.empty() ? "" : ", ") + quoted(error);
		if (!problems.empty())
			metadata["epprof_problems"] = "[" + problems + "]";
		return metadata;
	}

      private:
	static constexpr int64_t SORT_DEVICES = 5000000; /* below all processes, as Kineto's own devices */

	/* A plugin that hangs is told in the log too, since it may come with a trace in which nothing seems to be missing. */
	void note(epp_status *status)
	{
		bool hangs = epp_status_code(status) == EPP_TIMEOUT;
		std::string message = message_of(status);
		if (hangs)
			LOG(WARNING) << "epprof: " << message;
		if (!message.empty())
			errors_.push_back(message);
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
		auto parent = trace_.kineto_ids.find(event.parent);
		if (parent != trace_.kineto_ids.end())
			activity.linked = linked((int32_t)parent->second);
		auto correlation = trace_.correlations.find(event.correlation);
		if (correlation != trace_.correlations.end()) {
			const Correlation &of = correlation->second;
			activity.id = (int32_t)of.number;
			activity.addMetadata("correlation", event.correlation);
			/* An arrow leads from one call to one event of a device. */
			if (of.calls_count == 1 && of.device_events_count == 1 &&
			    event.type != ActivityType::PRIVATEUSE1_DRIVER) {
				activity.flow.id = of.number;
				activity.flow.type = libkineto::kLinkAsyncCpuGpu;
				activity.flow.start = is_call;
			}
		}
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
	bool has_ops_ = false;
	Trace trace_;
	std::vector<std::string> errors_;
	std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class Profiler : public libkineto::IActivityProfiler
{
      public:
	const std::string &name() const override
	{
		return name_;
	}

	const std::set<ActivityType> &availableActivities() const override
	{
		return types_;
	}

	/* Once a program had a session with the device, Kineto asks for those without, too: NULL is "not this time". */
	std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType> &types,
	                                                               const libkineto::Config &config) override
	{
		(void)config;
		if (!types.count(ActivityType::CONCURRENT_KERNEL) || plugins().loaded.empty())
			return nullptr;
		return std::make_unique<Session>();
	}

	std::unique_ptr<libkineto::IActivityProfilerSession> configure(int64_t ts_ms, int64_t duration_ms,
	                                                               const std::set<ActivityType> &types,
	                                                               const libkineto::Config &config) override
	{
		(void)ts_ms, (void)duration_ms;
		return configure(types, config);
	}

      private:
	const std::string name_ = "epprof";
	const std::set<ActivityType> types_ = { ActivityType::GPU_MEMCPY, ActivityType::GPU_MEMSET,
		                                ActivityType::CONCURRENT_KERNEL, ActivityType::PRIVATEUSE1_RUNTIME,
		                                ActivityType::PRIVATEUSE1_DRIVER };
};

REGISTER_PRIVATEUSE1_PROFILER(Profiler);

} // namespace
