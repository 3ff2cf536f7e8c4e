/* A library with thread-local data, whose destructor runs in the library when the thread that called it ends. */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

__attribute__((visibility("default"))) const void *GetPjrtApi(void);

static void destroy(void *value)
{
	(void)value;
	usleep(100000);
}

const void *GetPjrtApi(void)
{
	static pthread_key_t key;

	pthread_key_create(&key, destroy);
	pthread_setspecific(key, &key);
	return NULL;
}
