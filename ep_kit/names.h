/* Names of devices and streams.  The EP may set them at any time.  They are pushed when a run begins, when the kit
 * joins a recording, and when the EP sets them during a run. */
#ifndef EPPROF_EP_KIT_NAMES_H
#define EPPROF_EP_KIT_NAMES_H

#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "push.h"

static inline bool kit_name_is_of(const struct kit_name *name, bool is_stream, int32_t device, int64_t stream)
{
	return name->is_stream == is_stream && name->device == device && (!is_stream || name->stream == stream);
}

/* Returns the name of a device or stream; NULL if there is none. */
static struct kit_name *kit_name_find(struct kit *kit, bool is_stream, int32_t device, int64_t stream)
{
	struct kit_name *found = NULL, *name = atomic_load_explicit(&kit->names, memory_order_acquire);
	for (; name; name = atomic_load_explicit(&name->next, memory_order_acquire)) {
		if (kit_name_is_of(name, is_stream, device, stream))
			found = name;
	}
	return found;
}

/* Pushes one name to `recording`, or to the host if that is NULL. */
static void kit_name_push(struct kit *kit, EpprofRecording *recording, const struct kit_name *name)
{
	EpprofDevice device = KIT_ZERO;
	EpprofTrack track = KIT_ZERO;
	EpprofBatch batch = KIT_ZERO;
	device.group = name->text;
	device.device = name->device;
	track.name = name->text;
	track.stream = name->stream;
	track.device = name->device;
	if (name->is_stream) {
		batch.tracks = &track;
		batch.tracks_count = 1;
	} else {
		batch.devices = &device;
		batch.devices_count = 1;
	}
	kit_push_to(kit, recording, &batch);
}

/* Pushes all names.  The names of devices are pushed first, because a stream is shown under the name that its device
 * has when the stream's name arrives. */
static void kit_names_push(struct kit *kit, EpprofRecording *recording)
{
	struct kit_name *first = atomic_load_explicit(&kit->names, memory_order_acquire);
	for (int is_stream = 0; is_stream < 2; is_stream++) {
		for (struct kit_name *name = first; name; name = atomic_load_explicit(&name->next, memory_order_acquire)) {
			if (name->is_stream == is_stream &&
			    kit_name_find(kit, is_stream, name->device, name->stream) == name)
				kit_name_push(kit, recording, name);
		}
	}
}

/* Stores a name and returns it.  Returns NULL if nothing changed. */
static struct kit_name *kit_name_add(struct kit *kit, bool is_stream, int32_t device, int64_t stream, const char *text)
{
	const struct kit_name *known = kit_name_find(kit, is_stream, device, stream);
	if (!text || (known && strcmp(known->text, text) == 0))
		return NULL;
	size_t bytes = kit_string_bytes(text);
	bool has_room = atomic_fetch_add_explicit(&kit->names_count, 1, memory_order_relaxed) < KIT_NAMES_MAX;
	struct kit_name *name = has_room ? (struct kit_name *)malloc(sizeof(*name) + bytes + 1) : NULL;
	if (!name) {
		atomic_fetch_sub_explicit(&kit->names_count, 1, memory_order_relaxed);
		return NULL;
	}
	name->text = (char *)(name + 1);
	atomic_store_explicit(&name->next, NULL, memory_order_relaxed);
	name->is_stream = is_stream;
	name->device = device;
	name->stream = stream;
	memcpy(name->text, text, bytes);
	name->text[bytes] = '\0';
	KIT_ATOMIC(struct kit_name *) *place = &kit->names;
	struct kit_name *last = NULL;
	while (!atomic_compare_exchange_strong(place, &last, name)) {
		place = &last->next;
		last = NULL;
	}
	return name;
}

static void kit_names_free(struct kit *kit)
{
	struct kit_name *next;
	for (struct kit_name *name = atomic_load(&kit->names); name; name = next) {
		next = atomic_load(&name->next);
		free(name);
	}
}

#endif
