/* Implements clock_world.h.  The costs of clock readings were measured on machines: some tens of ns for the host's
 * clock, about a microsecond for the register of a device behind a bus, and tens of microseconds if the thread is
 * preempted. */
#include "clock_world.h"

#include <string.h>

#define HOST_READ_NS 24u
#define DEVICE_READ_LEAST_NS 300u
#define DEVICE_READ_MORE_NS 500u /* each way */
#define INTERRUPTION_EVERY 200u
#define INTERRUPTION_NS 60000u

static struct clock_world world;
static bool world_is_ort;

struct clock_world *clock_world_get(void)
{
	return &world;
}

uint64_t clock_world_random(uint64_t limit)
{
	world.random_state ^= world.random_state << 13;
	world.random_state ^= world.random_state >> 7;
	world.random_state ^= world.random_state << 17;
	return (world.random_state >> 11) % limit;
}

void clock_world_pass(uint64_t ns)
{
	world.now_ns += ns;
}

static void pass_reading(uint64_t ns)
{
	world.now_ns += ns;
	if (clock_world_random(INTERRUPTION_EVERY) == 0)
		world.now_ns += clock_world_random(INTERRUPTION_NS);
}

uint64_t clock_world_host_ns(void)
{
	pass_reading(HOST_READ_NS / 2);
	uint64_t ns = world.now_ns;
	world.now_ns += HOST_READ_NS / 2;
	return ns;
}

uint64_t clock_world_device_ticks(void *unused)
{
	(void)unused;
	pass_reading(DEVICE_READ_LEAST_NS + clock_world_random(DEVICE_READ_MORE_NS));
	uint64_t ticks = accelerator_clock_at(&world.device, world.now_ns);
	pass_reading(DEVICE_READ_LEAST_NS + clock_world_random(DEVICE_READ_MORE_NS));
	return ticks;
}

/* ---- the kit's host ---- */

static uint64_t host_ticks(void)
{
	return clock_world_host_ns();
}

static uint64_t host_ticks_per_second(void)
{
	return 1000000000;
}

static void push(OrtEpProfilerImpl *profiler, const EpprofBatch *batch)
{
	(void)profiler;
	world.batch(world.user, batch);
}

static OrtExperimentalFnPtr find_function(const char *name)
{
	if (strcmp(name, "EpprofApi_PushEvents_SinceV1") == 0 && !world_is_ort)
		return (OrtExperimentalFnPtr)push;
	if (strcmp(name, "EpprofApi_HostTicks_SinceV1") == 0)
		return (OrtExperimentalFnPtr)host_ticks;
	if (strcmp(name, "EpprofApi_HostTicksPerSecond_SinceV1") == 0)
		return (OrtExperimentalFnPtr)host_ticks_per_second;
	return NULL;
}

/* Statuses and events are opaque to the kit: a status is represented by its message, an event by the container. */
static OrtStatus *create_status(OrtErrorCode code, const char *message)
{
	(void)code;
	return (OrtStatus *)(uintptr_t)message;
}

static void release_status(OrtStatus *status)
{
	(void)status;
}

OrtProfilingEventsContainer *clock_world_container(void)
{
	return (OrtProfilingEventsContainer *)(void *)&world;
}

static OrtStatus *create_event(OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id,
                               const char *name, int64_t timestamp_us, int64_t duration_us, const char *const *keys,
                               const char *const *values, size_t count, OrtProfilingEvent **event)
{
	(void)category, (void)process_id, (void)thread_id, (void)name, (void)keys;
	world.event(world.user, count ? values[0] : "", timestamp_us, duration_us);
	*event = (OrtProfilingEvent *)(void *)&world;
	return NULL;
}

static void release_event(OrtProfilingEvent *event)
{
	(void)event;
}

static OrtStatus *add_events(OrtProfilingEventsContainer *container, const OrtProfilingEvent *const *events, size_t count)
{
	(void)container, (void)events, (void)count;
	return NULL;
}

static const OrtEpApi *get_ep_api(void)
{
	static OrtEpApi ep_api;
	ep_api.CreateProfilingEvent = create_event;
	ep_api.ReleaseProfilingEvent = release_event;
	ep_api.ProfilingEventsContainer_AddEvents = add_events;
	return &ep_api;
}

static const OrtApi *get_api(uint32_t version)
{
	static OrtApi api;
	(void)version;
	api.CreateStatus = create_status;
	api.ReleaseStatus = release_status;
	api.GetEpApi = get_ep_api;
	api.GetExperimentalFunction = find_function;
	return &api;
}

static const char *get_version(void)
{
	return "1.29.0";
}

const OrtApiBase *clock_world_ort_api_base(void)
{
	static const OrtApiBase base = { get_api, get_version };
	return &base;
}

static uint64_t true_ns(void *unused)
{
	(void)unused;
	return world.now_ns;
}

bool clock_world_begin(const accelerator_clock_options *options, uint64_t seed, bool is_ort)
{
	accelerator_clock_options complete = *options;
	complete.base_ns = true_ns;
	if (!complete.ticks_per_second)
		complete.ticks_per_second = 1000000000;
	if (!complete.bits)
		complete.bits = 64;
	world = (struct clock_world){ .now_ns = CLOCK_WORLD_START_NS,
		                      .random_state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1 };
	world_is_ort = is_ort;
	return accelerator_clock_init(&world.device, &complete);
}
