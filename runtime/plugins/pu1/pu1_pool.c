/* The buffers of PU1 plugins.  Free buffers are in a stack: the buffer returned last is used next, because its memory
 * has been touched already. */
#include "plugins/pu1/pu1_pool.h"

#include <pthread.h>
#include <sys/queue.h>

#include "base/os/os.h"

enum state { FREE, OUT, FULL, READ };

struct buffer {
	SLIST_ENTRY(buffer) free_link;
	STAILQ_ENTRY(buffer) full_link;
	enum state state;
	bool touched;
	unsigned owner;
	size_t valid_bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *memory; /* NULL: the pool is not mapped yet */
static struct buffer buffers[PU1_BUFFERS_COUNT];
static SLIST_HEAD(, buffer) free_buffers = SLIST_HEAD_INITIALIZER(free_buffers);
static STAILQ_HEAD(, buffer) full_buffers = STAILQ_HEAD_INITIALIZER(full_buffers);

static uint8_t *memory_of(const struct buffer *buffer)
{
	return memory + (size_t)(buffer - buffers) * PU1_BUFFER_BYTES;
}

static struct buffer *buffer_at(const uint8_t *address)
{
	uintptr_t offset = (uintptr_t)address - (uintptr_t)memory;
	if (!memory || offset % PU1_BUFFER_BYTES || offset / PU1_BUFFER_BYTES >= PU1_BUFFERS_COUNT)
		return NULL;
	return &buffers[offset / PU1_BUFFER_BYTES];
}

bool pu1_pool_setup(void)
{
	pthread_mutex_lock(&lock);
	if (!memory) {
		memory = os_memory_map(PU1_BUFFERS_COUNT * PU1_BUFFER_BYTES);
		if (memory) {
			for (size_t i = PU1_BUFFERS_COUNT; i-- > 0;)
				SLIST_INSERT_HEAD(&free_buffers, &buffers[i], free_link);
		}
	}
	bool mapped = memory != NULL;
	pthread_mutex_unlock(&lock);
	return mapped;
}

uint8_t *pu1_pool_take(unsigned owner)
{
	pthread_mutex_lock(&lock);
	struct buffer *buffer = SLIST_FIRST(&free_buffers);
	if (buffer) {
		SLIST_REMOVE_HEAD(&free_buffers, free_link);
		buffer->state = OUT;
		buffer->touched = true;
		buffer->owner = owner;
	}
	pthread_mutex_unlock(&lock);
	return buffer ? memory_of(buffer) : NULL;
}

const char *pu1_pool_return(unsigned owner, const uint8_t *address, size_t valid_bytes)
{
	const char *wrong = NULL;
	pthread_mutex_lock(&lock);
	struct buffer *buffer = buffer_at(address);
	if (!buffer) {
		wrong = "it returned a buffer that the host did not allocate";
	} else if (buffer->state != OUT || buffer->owner != owner) {
		wrong = "it returned a buffer that it did not hold";
	} else {
		if (valid_bytes > PU1_BUFFER_BYTES) {
			wrong = "it claimed more bytes than the buffer has";
			valid_bytes = PU1_BUFFER_BYTES;
		}
		buffer->valid_bytes = valid_bytes;
		buffer->state = FULL;
		STAILQ_INSERT_TAIL(&full_buffers, buffer, full_link);
	}
	pthread_mutex_unlock(&lock);
	return wrong;
}

const uint8_t *pu1_pool_next(unsigned owner, size_t *valid_bytes)
{
	struct buffer *buffer;
	pthread_mutex_lock(&lock);
	STAILQ_FOREACH(buffer, &full_buffers, full_link)
		if (buffer->owner == owner)
			break;
	if (buffer) {
		STAILQ_REMOVE(&full_buffers, buffer, buffer, full_link);
		buffer->state = READ;
		*valid_bytes = buffer->valid_bytes;
	}
	pthread_mutex_unlock(&lock);
	return buffer ? memory_of(buffer) : NULL;
}

void pu1_pool_put_back(const uint8_t *address)
{
	pthread_mutex_lock(&lock);
	struct buffer *buffer = buffer_at(address);
	if (buffer && buffer->state == READ) {
		buffer->state = FREE;
		SLIST_INSERT_HEAD(&free_buffers, buffer, free_link);
	}
	pthread_mutex_unlock(&lock);
}

unsigned pu1_pool_full_count(unsigned owner)
{
	unsigned count = 0;
	struct buffer *buffer;
	pthread_mutex_lock(&lock);
	STAILQ_FOREACH(buffer, &full_buffers, full_link)
		count += buffer->owner == owner;
	pthread_mutex_unlock(&lock);
	return count;
}

void pu1_pool_touch(void)
{
	pthread_mutex_lock(&lock);
	struct buffer *buffer = SLIST_FIRST(&free_buffers);
	bool cold = buffer && !buffer->touched;
	if (cold) {
		/* The buffer is taken off the list while it is touched, because this takes a millisecond, during which
		 * the lock must not be held. */
		SLIST_REMOVE_HEAD(&free_buffers, free_link);
		buffer->state = READ;
		buffer->touched = true;
	}
	pthread_mutex_unlock(&lock);
	if (!cold)
		return;
	volatile uint8_t *bytes = memory_of(buffer);
	for (size_t i = 0; i < PU1_BUFFER_BYTES; i += 4096)
		bytes[i] = 0;
	pu1_pool_put_back(memory_of(buffer));
}

void pu1_pool_trim(void)
{
	struct buffer *buffer;
	pthread_mutex_lock(&lock);
	SLIST_FOREACH(buffer, &free_buffers, free_link)
		if (buffer->touched && buffer != SLIST_FIRST(&free_buffers)) {
			os_memory_release(memory_of(buffer), PU1_BUFFER_BYTES);
			buffer->touched = false;
		}
	pthread_mutex_unlock(&lock);
}

void pu1_pool_fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

void pu1_pool_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

void pu1_pool_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
}
