/* The batch of events that profile_delivery.c collects before it pushes them to a session, with their texts and their
 * track.  Shared by the files that implement profile_delivery.h. */
#ifndef EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_BATCH_H
#define EPPROF_RUNTIME_PLUGINS_PROFILE_PROFILE_BATCH_H

#include <stdlib.h>

#include "plugins/profile/profile_calls.h"
#include "plugins/profile/profile_delivery.h"

#define CLOCK_UNIX_NS 0
#define NO_DEVICE (-1)
#define NOTES_STREAM 0

#define BATCH_EVENTS 256u
#define BATCH_ARGS 2048u
#define EVENT_ARGS_MAX 250u
#define TEXT_BYTES 262144u
#define NAME_BYTES_MAX 4096u
#define BINARY_BYTES 48u /* size of the text that an event gets in place of a binary value */
#define PLACES_BITS 7
#define DEVICES_MAX 256

struct delivery {
	struct profile_target *to;
	const struct profile_time_range *time_range;
	epp_status *data_error; /* the first error message in the data */
	uint64_t events_count;

	/* The track of the events that are being read. */
	int32_t device;
	int64_t stream;
	uint32_t category;
	int64_t line_ns;

	/* Names of the devices so far, to give two devices with the same number different numbers. */
	char *devices[DEVICES_MAX];
	int32_t device_numbers[DEVICES_MAX];
	size_t devices_count;
	char group[256];

	struct profile_calls calls;
	bool wants_host; /* true while the planes of hosts are read; they are first, because device events refer to
                          * calls of the host */

	EpprofEvent events[BATCH_EVENTS];
	uint64_t correlations[BATCH_EVENTS]; /* correlation ids of calls; 0: none */
	uint64_t ids[BATCH_EVENTS];
	size_t batch_count;
	EpprofArg args[BATCH_ARGS];
	size_t args_count;
	char text[TEXT_BYTES];
	size_t text_bytes;
	/* Cache of copied texts, by their address in the data. */
	struct {
		const char *from;
		const char *copy;
	} places[1u << PLACES_BITS];
};

/* Creates the state for reading one profile.  NULL: no memory. */
struct delivery *delivery_create(struct profile_target *to, const struct profile_time_range *time_range);
void delivery_destroy(struct delivery *delivery);

void delivery_push(struct profile_target *to, EpprofBatch *batch);
/* Pushes the events of the batch to the session and empties the batch. */
void delivery_flush(struct delivery *delivery);

/* Copies a text and adds a NUL.  The copy lives as long as the batch. delivery_begin_event has reserved the memory. */
const char *delivery_copy(struct delivery *delivery, struct protobuf_string text);
static inline size_t delivery_room_for(struct protobuf_string text)
{
	return (text.bytes < NAME_BYTES_MAX ? text.bytes : NAME_BYTES_MAX) + 1;
}

/* Begins an event in the batch.  Returns NULL if the event's time is outside the time range of this profiler.  The
 * caller may add `text_bytes` of names and keys, and `args_count` args. */
EpprofEvent *delivery_begin_event(struct delivery *delivery, int64_t start_ns, int64_t end_ns, size_t text_bytes,
                                  size_t args_count);
void delivery_add_arg(struct delivery *delivery, EpprofEvent *event, EpprofArg arg);
void delivery_add_number(struct delivery *delivery, EpprofEvent *event, const char *key, int64_t value);
void delivery_add_text(struct delivery *delivery, EpprofEvent *event, const char *key, struct protobuf_string text);

/* Sets the device of the following events by its name.  If the name is that of a host's plane, the following events
 * have no device. */
void delivery_device(struct delivery *delivery, struct protobuf_string name);
bool delivery_is_host(struct protobuf_string name);
/* Describes a track of the current device. */
void delivery_track(struct delivery *delivery, int64_t stream, struct protobuf_string name);

#endif
