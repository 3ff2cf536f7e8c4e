/* Reads the plugins' events of a finished session from its trace, in the form from which Kineto's activities are
 * created. Used only by kineto.cc. */
#ifndef EPPROF_BRIDGES_PYTORCH_KINETO_EVENTS_H
#define EPPROF_BRIDGES_PYTORCH_KINETO_EVENTS_H

#include <algorithm>
#include <libkineto.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "epprof/timeline.h"
#include "kineto_ops.h"
#include "kineto_text.h"

namespace
{

using libkineto::ActivityType;

/* Returns the message of a status, which it releases; "" for success. */
std::string message_of(epp_status *status)
{
	std::unique_ptr<epp_status, decltype(&epp_status_destroy)> owned(status, epp_status_destroy);
	return status ? epp_status_message(status) : "";
}

struct Correlation {
	uint32_t number;
	uint32_t calls_count;
	uint32_t device_events_count;
};

/* An event of a plugin, in the form from which Kineto's activities are created. */
struct Event {
	std::string name;
	ActivityType type;
	int64_t start_ns; /* Unix time */
	int64_t duration_ns;
	int64_t error_ns;
	uint64_t parent;
	bool is_inferred;
	int32_t device; /* number of the device in Kineto; -1: a call on the host */
	int64_t stream;
	/* the plugin that made a call; "" for a device event, because the device's name contains the plugin */
	std::string plugin;
	uint64_t correlation;                                  /* the number that the plugin gave; 0: none */
	Correlation *joined;                                   /* NULL: the event has no correlation */
	std::vector<std::pair<std::string, std::string>> args; /* values are JSON */
};

struct Trace {
	std::vector<Event> events;
	std::unordered_map<uint64_t, uint64_t> kineto_ids; /* Kineto's id by the id of the host event */
	std::unordered_map<uint64_t, uint64_t> callers;    /* id of the causing operation by the id of a call */
	std::map<std::pair<int32_t, uint64_t>, Correlation> correlations; /* by producer and the number that it gave */
	std::map<std::pair<int64_t, int64_t>, std::string> streams;       /* names of streams, by device and stream */
	std::map<int64_t, std::string> devices;
	/* Kineto's numbers of devices, by producer and the producer's number */
	std::map<std::pair<int32_t, int32_t>, int32_t> device_numbers;
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
		/* a JSON string, because the value may be NaN or infinity */
		return quoted(std::to_string(arg.value.f64));
	}
}

void add_host_event(Trace &trace, const epp_timeline *timeline, const epp_event *event)
{
	epp_trace_arg arg;
	for (size_t cursor = 0; epp_event_args(timeline, event, &cursor, &arg);)
		if (std::string(arg.key, arg.key_bytes) == kineto_ops::ID_KEY)
			trace.kineto_ids[event->id] = arg.value.u64;
}

/* Assigns numbers to devices.  A plugin's device keeps its number unless another plugin has a device with it; then it
 * gets an unused number. */
void number_devices(Trace &trace, const epp_trace *of)
{
	std::set<int32_t> taken;
	int32_t next = 0;
	const epp_trace_track *track;
	for (size_t i = 0; (track = epp_trace_track_at(of, i)); i++)
		next = std::max(next, track->kind == EPP_TRACK_DEVICE ? track->device + 1 : 0);
	for (size_t i = 0; (track = epp_trace_track_at(of, i)); i++) {
		if (track->kind != EPP_TRACK_DEVICE || track->device < 0)
			continue;
		auto [place, is_new] = trace.device_numbers.try_emplace({ track->producer, track->device }, track->device);
		if (is_new && !taken.insert(track->device).second)
			place->second = next++;
	}
}

/* Returns true if the arg is the number by which a plugin joins a call to a device event: that of PU1, or that of an
 * XSpace. */
bool is_correlation(const std::string &key, const epp_trace_arg &arg)
{
	return (key == "correlation" && arg.type == EPP_ARG_U64) ||
	       (key == "correlation_id" && (arg.type == EPP_ARG_U64 || arg.type == EPP_ARG_I64));
}

/* Returns the device's name, with the plugin's name before it unless the device's name contains it. */
std::string device_name(const epp_trace *of, const epp_trace_track *track)
{
	const char *plugin = epp_trace_track_plugin(of, track);
	std::string name = track->group;
	if (plugin && name.find(plugin) == std::string::npos)
		name += std::string(" (") + plugin + ")";
	return printable(name.data(), name.size());
}

void add_device_event(Trace &trace, const epp_trace *of, const epp_timeline *timeline, const epp_event *event,
                      int64_t epoch_unix_ns)
{
	const epp_trace_track *track = event->track;
	bool is_call = track->kind == EPP_TRACK_CALLS;
	Event made = {};
	made.name = printable_name(event->name, event->name_bytes);
	made.device = is_call || track->device < 0 ? -1 : trace.device_numbers[{ track->producer, track->device }];
	made.stream = is_call ? track->thread_id : track->stream;
	made.type = made.device < 0 ? ActivityType::PRIVATEUSE1_RUNTIME : ActivityType::CONCURRENT_KERNEL;
	made.start_ns = epoch_unix_ns + event->start_ns;
	made.duration_ns = event->duration_ns;
	made.error_ns = event->start_error_ns;
	made.parent = event->parent;
	made.is_inferred = event->placement == EPP_PLACED_INFERRED;
	const char *plugin = epp_trace_track_plugin(of, track);
	if (made.device < 0 && plugin)
		made.plugin = plugin;
	epp_trace_arg arg;
	for (size_t cursor = 0; epp_event_args(timeline, event, &cursor, &arg);) {
		std::string key(arg.key, arg.key_bytes);
		std::string text = arg.type == EPP_ARG_TEXT ? std::string(arg.value.text, arg.text_bytes) : "";
		if (is_correlation(key, arg))
			made.correlation = arg.value.u64;
		if (key == "correlation" && arg.type == EPP_ARG_U64)
			continue;
		if (key == "kind" && text == "memcpy")
			made.type = ActivityType::GPU_MEMCPY;
		else if (key == "kind" && text == "memset")
			made.type = ActivityType::GPU_MEMSET;
		else if (key == "kind" && text == "driver")
			made.type = ActivityType::PRIVATEUSE1_DRIVER;
		else if (key != "kind" || text != "kernel")
			made.args.emplace_back(unquoted(key), json_of(arg));
	}
	if (made.correlation) {
		made.joined = &trace.correlations[{ track->producer, made.correlation }];
		if (!made.joined->number)
			made.joined->number = (uint32_t)trace.correlations.size();
		made.joined->calls_count += made.type == ActivityType::PRIVATEUSE1_RUNTIME;
		made.joined->device_events_count += made.device >= 0;
	}
	if (is_call && event->flags & EPP_FLAG_REFERENCED)
		trace.callers[event->id] = event->parent;
	if (made.device >= 0) {
		trace.devices[made.device] = device_name(of, track);
		trace.streams[{ made.device, made.stream }] = printable(track->name, strlen(track->name));
	}
	trace.events.push_back(std::move(made));
}

/* Writes the plugins' ledgers as JSON. */
void read_ledger(Trace &trace, epp_trace *of)
{
	std::string ledger;
	epp_trace_ledger_entry account = {};
	account.struct_size = sizeof(account);
	for (size_t i = 0; i < epp_trace_ledger_count(of); i++) {
		if (!message_of(epp_trace_ledger_at(of, i, &account)).empty() || !account.is_plugin)
			continue;
		ledger += ledger.empty() ? "{" : ", ";
		ledger += quoted(account.producer) + ": {\"emitted\": " + std::to_string(account.emitted) +
		          ", \"written\": " + std::to_string(account.written) +
		          ", \"lost\": " + std::to_string(account.lost_total) +
		          ", \"errors\": " + std::to_string(account.errors) + "}";
	}
	if (!ledger.empty())
		trace.ledger = ledger + "}";
}

std::string read_events(Trace &trace, epp_trace *of)
{
	epp_timeline *created;
	const epp_event *event;
	int64_t epoch_unix_ns = epp_trace_get_info(of)->epoch_unix_ns;
	number_devices(trace, of);
	std::string error = message_of(epp_timeline_create(of, nullptr, &created));
	if (!error.empty())
		return error;
	std::unique_ptr<epp_timeline, decltype(&epp_timeline_destroy)> owned(created, epp_timeline_destroy);
	const epp_timeline *timeline = created;
	while (epp_timeline_next(created, &event)) {
		if (event->kind != EPP_EVENT_SLICE)
			continue;
		if (event->track->kind == EPP_TRACK_DEVICE || event->track->kind == EPP_TRACK_CALLS)
			add_device_event(trace, of, timeline, event, epoch_unix_ns);
		else
			add_host_event(trace, timeline, event);
	}
	return message_of(epp_timeline_status(created));
}

} // namespace

#endif
