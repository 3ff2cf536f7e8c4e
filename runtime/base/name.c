/* The process's names. Texts are in blocks of 4,096 entries; a fixed directory has the addresses of the blocks. A hash
 * table (open addressing) maps a text to its number. A lookup of a known text takes no lock: a number is stored into
 * the table, with release, after its text is complete, and a table that was replaced by a larger one is kept for
 * threads that still read it. Begin and end of events use numbers only. Submitted events that contain texts look up
 * each text. */
#include "base/name.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/os.h"
#include "format/format.h"

#define BLOCK_NAMES 4096u
#define BLOCK_COUNT 256u /* 1 Mi names in total */
#define TABLE_FIRST 1024u

static struct name_text *blocks[BLOCK_COUNT];
static atomic_uint names_end;

#define TEXT_BYTES_MAX (256u << 20) /* of all names together */
#define SLAB_BYTES (64u << 10)
#define WAIT_NS 100000
#define WAITS_MAX 2000u

struct table {
	struct table *previous; /* the previous table, kept for threads that still read it */
	uint32_t size;          /* a power of two, at least twice the number of names */
	uint32_t names[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table *_Atomic table;
static size_t text_bytes;
static char *slab; /* the position of the next text, if the slab has room for it */
static size_t slab_left;
static LIST_HEAD(, name_listener) listeners = LIST_HEAD_INITIALIZER(listeners);

static const char *const reserved[EPF_NAME_FIRST_FREE] = EPF_NAME_TEXTS;

/* Returns whether a name can be found by its text. A reserved number has a meaning beyond its text: an arg with the key
 * EPF_NAME_PARENT is a parent. If the host interns "parent", the text must get another number. Of the reserved names
 * only "" can be found by its text. */
static bool is_found_by_text(epp_name name)
{
	return name == EPF_NAME_NONE || name >= EPF_NAME_FIRST_FREE;
}

uint64_t name_hash(const char *text, size_t bytes)
{
	uint64_t value = 0x9e3779b97f4a7c15u ^ bytes;
	for (; bytes >= 8; text += 8, bytes -= 8) {
		uint64_t word;
		memcpy(&word, text, 8);
		value = (value ^ word) * 0xff51afd7ed558ccdu;
		value ^= value >> 32;
	}
	uint64_t word = 0;
	memcpy(&word, text, bytes);
	value = (value ^ word) * 0xff51afd7ed558ccdu;
	return value ^ value >> 29;
}

static struct name_text *entry(epp_name name)
{
	return &blocks[name / BLOCK_NAMES][name % BLOCK_NAMES];
}

struct name_text name_get(epp_name name)
{
	if (name == 0 || name >= atomic_load_explicit(&names_end, memory_order_acquire))
		return (struct name_text){ "(unknown)", 9, false };
	return *entry(name);
}

const char *epp_name_text(epp_name name)
{
	struct name_text of = name_get(name);
	return of.is_args ? reserved[EPF_NAME_ARGS] : of.text;
}

epp_name name_end(void)
{
	epp_name end = atomic_load_explicit(&names_end, memory_order_acquire);
	/* 1 if no name was interned yet. */
	return end ? end : 1;
}

/* Returns the text's name, or 0. `*place` is the table entry of the name, or the free entry for a new name. If the lock
 * is not held, another thread may have stored a name in this entry since. */
static epp_name table_find(struct table *in, struct name_text sought, uint32_t **place)
{
	for (uint32_t at = (uint32_t)name_hash(sought.text, sought.bytes);; at++) {
		*place = &in->names[at & (in->size - 1)];
		epp_name name = __atomic_load_n(*place, __ATOMIC_ACQUIRE);
		if (!name)
			return 0;
		const struct name_text *known = entry(name);
		if (known->bytes == sought.bytes && known->is_args == sought.is_args &&
		    memcmp(known->text, sought.text, sought.bytes) == 0)
			return name;
	}
}

/* Stores a name in the table. The lock is held. */
static void table_put(struct table *in, epp_name name)
{
	uint32_t *place;
	if (!table_find(in, *entry(name), &place))
		__atomic_store_n(place, name, __ATOMIC_RELEASE);
}

/* Creates the first table, or replaces the table by one of twice the size. The lock is held. Old tables are not freed,
 * because threads may still read them; together they are no larger than the newest. */
static bool table_grow(void)
{
	struct table *old = table;
	uint32_t size = old ? old->size * 2 : TABLE_FIRST;
	struct table *larger = calloc(1, sizeof(*larger) + size * sizeof(larger->names[0]));
	if (!larger)
		return false;
	larger->previous = old;
	larger->size = size;
	for (epp_name name = 1; name < names_end; name++)
		if (is_found_by_text(name))
			table_put(larger, name);
	atomic_store_explicit(&table, larger, memory_order_release);
	return true;
}

/* Texts that are args are read in place as structs, which need this alignment. */
#define SLAB_ALIGNMENT 8u

/* Allocates room for a text, which is never freed. Consecutive texts are stored next to each other, because they are
 * likely to be read in the same order. With a separate allocation for each text, a bridge that compares names
 * (ort_event_record.c) would have one cache miss per text. The lock is held. */
static char *allocate_text(size_t bytes, bool is_args)
{
	size_t unaligned = is_args ? slab_left % SLAB_ALIGNMENT : 0;
	if (bytes > SLAB_BYTES / 16)
		return malloc(bytes);
	if (unaligned) {
		slab_left -= unaligned;
		slab += unaligned;
	}
	if (bytes > slab_left) {
		char *next = malloc(SLAB_BYTES);
		if (!next)
			return NULL;
		slab = next;
		slab_left = SLAB_BYTES;
	}
	slab_left -= bytes;
	slab += bytes;
	return slab - bytes;
}

/* Stores a text in the next entry, and returns its name; 0 if there are too many names, too many bytes of texts, or no
 * memory. The lock is held. */
static epp_name append(struct name_text of)
{
	epp_name name = names_end;
	if (name / BLOCK_NAMES >= BLOCK_COUNT || text_bytes + of.bytes > TEXT_BYTES_MAX)
		return 0;
	if (!blocks[name / BLOCK_NAMES])
		blocks[name / BLOCK_NAMES] = calloc(BLOCK_NAMES, sizeof(struct name_text));
	char *copy = blocks[name / BLOCK_NAMES] ? allocate_text(of.bytes + 1, of.is_args) : NULL;
	if (!copy)
		return 0;
	memcpy(copy, of.text, of.bytes);
	copy[of.bytes] = 0;
	text_bytes += of.bytes;
	*entry(name) = (struct name_text){ copy, of.bytes, of.is_args };
	atomic_store_explicit(&names_end, name + 1, memory_order_release);
	return name;
}

/* Creates the reserved names if there are none. The lock is held. */
static bool set_up(void)
{
	if (names_end)
		return true;
	if (!blocks[0])
		blocks[0] = calloc(BLOCK_NAMES, sizeof(struct name_text));
	if (!blocks[0] || !table_grow())
		return false;
	for (epp_name name = 0; name < EPF_NAME_FIRST_FREE; name++) {
		const char *text = reserved[name] ? reserved[name] : "(reserved)";
		*entry(name) = (struct name_text){ text, (uint32_t)strlen(text), false };
		if (is_found_by_text(name))
			table_put(table, name);
	}
	atomic_store_explicit(&names_end, EPF_NAME_FIRST_FREE, memory_order_release);
	return true;
}

/* Returns true if some listener has no room for a name of this size. The lock is held. */
static bool any_listener_is_full(size_t bytes)
{
	struct name_listener *listener;
	bool waits = false;
	LIST_FOREACH(listener, &listeners, link)
		waits |= listener->is_full && listener->is_full(listener, bytes);
	return waits;
}

/* Waits a short time, without the lock. */
static void wait_a_little(void)
{
	pthread_mutex_unlock(&lock);
	os_thread_pause(WAIT_NS);
	pthread_mutex_lock(&lock);
}

/* Sets `*name` to the text's name, or to 0 if it has none; `*place` is as for table_find. Returns false if out of
 * memory. The lock is held. */
static bool look_up(struct name_text text, epp_name *name, uint32_t **place)
{
	if (!set_up() || (names_end * 2 >= table->size && !table_grow()))
		return false;
	*name = table_find(table, text, place);
	return true;
}

static epp_name add(struct name_text text)
{
	epp_name name = 0;
	uint32_t *place;
	pthread_mutex_lock(&lock);
	bool ready = look_up(text, &name, &place);
	for (unsigned i = 0; i < WAITS_MAX && ready && !name && any_listener_is_full(text.bytes); i++) {
		wait_a_little();
		ready = look_up(text, &name, &place);
	}
	if (ready && !name && (name = append(text))) {
		/* Log the name before it is in the table: a thread that finds it there may use it at once, and the
		 * process may then be killed. */
		struct name_listener *listener;
		LIST_FOREACH(listener, &listeners, link)
			listener->added(listener, name, *entry(name));
		__atomic_store_n(place, name, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return name;
}

/* Returns 0 if out of memory. */
static epp_name find_or_add(struct name_text text)
{
	struct table *known = atomic_load_explicit(&table, memory_order_acquire);
	uint32_t *place;
	epp_name name = known ? table_find(known, text, &place) : 0;
	return name ? name : add(text);
}

static epp_name intern(const char *text, size_t bytes)
{
	epp_name name = find_or_add((struct name_text){ text, (uint32_t)bytes, false });
	return name ? name : EPF_NAME_LOST;
}

epp_name name_intern_args(const void *slots, size_t bytes)
{
	return find_or_add((struct name_text){ slots, (uint32_t)bytes, true });
}

epp_name epp_name_intern_bytes(const char *text, size_t bytes)
{
	if (!text)
		return EPF_NAME_NONE;
	if (bytes <= EPF_NAME_BYTES_MAX)
		return intern(text, bytes);
	char *cut = malloc(EPF_NAME_BYTES_MAX);
	if (!cut)
		return EPF_NAME_LOST;
	epp_name name = intern(cut, name_cut(cut, text));
	free(cut);
	return name;
}

epp_name epp_name_intern(const char *text)
{
	return epp_name_intern_bytes(text, text ? strlen(text) : 0);
}

void name_listener_add(struct name_listener *listener)
{
	pthread_mutex_lock(&lock);
	if (set_up())
		for (epp_name name = 1; name < names_end; name++)
			listener->added(listener, name, *entry(name));
	LIST_INSERT_HEAD(&listeners, listener, link);
	pthread_mutex_unlock(&lock);
}

void name_listener_remove(struct name_listener *listener)
{
	pthread_mutex_lock(&lock);
	LIST_REMOVE(listener, link);
	pthread_mutex_unlock(&lock);
}

void name_fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

void name_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* The listeners belong to sessions of the parent. */
void name_fork_child(void)
{
	LIST_INIT(&listeners);
	pthread_mutex_unlock(&lock);
}
