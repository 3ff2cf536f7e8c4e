/* The imagined device of the hostile plugins of TensorFlow and PJRT, and its profile as a serialised XSpace. */
#ifndef EPPROF_TESTS_HOSTILE_HOSTILE_XSPACE_H
#define EPPROF_TESTS_HOSTILE_HOSTILE_XSPACE_H

#include <pthread.h>

#include "hostile.h"

#define EVENTS_MAX 65536
#define EVENT_BYTES 26

static struct {
	pthread_mutex_t lock; /* guards all below */
	bool is_running;
	int64_t start_ns; /* UNIX time */
	size_t events_count;
	struct {
		int64_t start_ns, duration_ns; /* the start: since that of the run */
	} events[EVENTS_MAX];
} device = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Returns false if it runs already. */
static bool device_start(void)
{
	pthread_mutex_lock(&device.lock);
	bool is_started = !device.is_running;
	if (is_started) {
		device.is_running = true;
		device.start_ns = clock_ns(CLOCK_REALTIME);
		device.events_count = 0;
	}
	pthread_mutex_unlock(&device.lock);
	return is_started;
}

/* Returns false if it does not run. */
static bool device_stop(void)
{
	pthread_mutex_lock(&device.lock);
	bool is_stopped = device.is_running;
	device.is_running = false;
	pthread_mutex_unlock(&device.lock);
	return is_stopped;
}

static void device_work(int count)
{
	for (int i = 0; i < count; i++) {
		int64_t start_ns = clock_ns(CLOCK_REALTIME), end_ns = start_ns;
		while (end_ns < start_ns + 2000)
			end_ns = clock_ns(CLOCK_REALTIME);
		bool has_room = thread_number() < THREADS_WITH_ROOM || !(has("3.threads.tf") || has("3.threads.pjrt"));
		pthread_mutex_lock(&device.lock);
		if (device.is_running && device.events_count < EVENTS_MAX && has_room) {
			device.events[device.events_count].start_ns = start_ns - device.start_ns;
			device.events[device.events_count].duration_ns = end_ns - start_ns;
			device.events_count++;
		}
		pthread_mutex_unlock(&device.lock);
	}
}

/* A varint of `width` bytes. */
static uint8_t *put_varint(uint8_t *at, uint64_t value, int width)
{
	for (int i = 0; i < width; i++, value >>= 7)
		*at++ = (uint8_t)((value & 0x7F) | (i + 1 < width ? 0x80 : 0));
	return at;
}

static uint8_t *put_bytes(uint8_t *at, const char *bytes, size_t count)
{
	memcpy(at, bytes, count);
	return at + count;
}

/* Writes the profile, if `bytes` is not NULL.  Returns its size. */
static size_t device_serialise(uint8_t *bytes)
{
	static const char plane[] = "\x08\x01\x12\x06"
				    "device",
			  names[] = "\x22\x0C\x08\x01\x12\x08\x08\x01\x12\x04"
				    "work";
	size_t line_bytes = 2 + 11 + EVENT_BYTES * device.events_count;
	size_t plane_bytes = sizeof(plane) - 1 + sizeof(names) - 1 + 1 + 5 + line_bytes;

	if (!bytes || device.events_count == 0)
		return device.events_count ? 1 + 5 + plane_bytes : 0;
	uint8_t *at = put_bytes(bytes, "\x0A", 1);
	at = put_varint(at, plane_bytes + (has("2.data.parses") && device.events_count == 5 ? 1000000 : 0), 5);
	at = put_bytes(at, plane, sizeof(plane) - 1);
	at = put_bytes(at, names, sizeof(names) - 1);
	at = put_bytes(at, "\x1A", 1);
	at = put_varint(at, line_bytes, 5);
	at = put_bytes(at, "\x08\x01\x18", 3);
	at = put_varint(at, (uint64_t)device.start_ns, 10);
	for (size_t i = 0; i < device.events_count; i++) {
		at = put_bytes(at, "\x22\x18\x08\x01\x10", 5);
		at = put_varint(at, (uint64_t)device.events[i].start_ns * 1000, 10);
		at = put_bytes(at, "\x18", 1);
		at = put_varint(at, (uint64_t)device.events[i].duration_ns * 1000, 10);
	}
	return (size_t)(at - bytes);
}

#endif
