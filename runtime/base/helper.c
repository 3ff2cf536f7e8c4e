/* The helper thread: visits all clients, then sleeps until one is likely to need it. */
#include "base/helper.h"

#include <pthread.h>

#include "base/atomics.h"
#include "base/os/os.h"
#include "base/thread.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list of clients and `running` */
static LIST_HEAD(, helper_client) clients = LIST_HEAD_INITIALIZER(clients);
static bool running;
static pthread_t thread; /* valid if `running` is set */
static struct helper_client *visiting;
static pthread_cond_t visited = PTHREAD_COND_INITIALIZER;

static uint32_t awake = 1;  /* 0: the helper sleeps, and a wake-up needs a system call */
static uint32_t wanted;     /* a visit is requested. Set before `awake` is read, and read after `awake` is cleared, so
                               that no wake-up is lost */
static uint32_t woken_from; /* the number of the processor that woke the helper last, plus 1; 0: unknown */
static uint64_t visits, wakes;

/* Schedulers often run a woken thread on the processor of the thread that woke it, on virtual machines even if another
 * processor is idle. The recorder would then wait for a whole visit. The helper therefore excludes the processor from
 * which it was woken last. It does so while it sleeps, because a migration after the wake-up would take
 * milliseconds. */
static void sleep_until_woken(int64_t ns)
{
	uint32_t from = LOAD_RELAXED(&woken_from);
	if (from)
		os_thread_avoid_processor(from - 1);
	__atomic_store_n(&awake, 0, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&wanted, __ATOMIC_SEQ_CST))
		os_thread_park(&awake, ns);
	STORE_RELEASE(&awake, 1);
	os_thread_avoid_no_processor();
}

void helper_wake(void)
{
	/* Only one of several recorders makes the system call; the others find `awake` set. */
	uint32_t asleep = 0;
	__atomic_store_n(&wanted, 1, __ATOMIC_SEQ_CST);
	if (__atomic_compare_exchange_n(&awake, &asleep, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		ADD_RELAXED(&wakes, 1);
		STORE_RELAXED(&woken_from, os_thread_processor() + 1);
		os_thread_unpark(&awake);
	}
}

static int64_t visit_all(void)
{
	int64_t sleep_ns = -1;
	pthread_mutex_lock(&lock);
	for (struct helper_client *client = LIST_FIRST(&clients), *next; client; client = next) {
		visiting = client;
		pthread_mutex_unlock(&lock);
		int64_t ns = client->visit(client);
		if (ns >= 0 && (sleep_ns < 0 || ns < sleep_ns))
			sleep_ns = ns;
		pthread_mutex_lock(&lock);
		visiting = NULL;
		/* During the visit another thread may have removed the client (helper_remove waits until now), or the
		 * client may have removed itself. */
		next = client->added ? LIST_NEXT(client, link) : LIST_FIRST(&clients);
		pthread_cond_broadcast(&visited);
	}
	pthread_mutex_unlock(&lock);
	return sleep_ns;
}

static void *loop(void *unused)
{
	/* If there are more runnable threads than processors, the window fills up while the helper waits for other
	 * threads' time slices. The helper needs little processor time, but it must be scheduled soon. */
	os_thread_reduce_latency();
	for (;;) {
		__atomic_store_n(&wanted, 0, __ATOMIC_SEQ_CST);
		int64_t sleep_ns = visit_all();
		ADD_RELAXED(&visits, 1);
		if (sleep_ns != 0)
			sleep_until_woken(sleep_ns);
	}
	return unused;
}

void helper_run_detached(void *(*run)(void *argument), void *argument)
{
	pthread_t detached;
	if (thread_start(NULL, run, argument, &detached))
		run(argument);
}

epp_status *helper_add(struct helper_client *client)
{
	epp_status *status = NULL;
	pthread_mutex_lock(&lock);
	STORE_RELAXED(&woken_from, os_thread_processor() + 1);
	if (!running) {
		int error = thread_start("epprof", loop, NULL, &thread);
		running = !error;
		if (error)
			status = epp_status_errno(error, "starting epprof's thread");
	}
	if (!status && !client->added) {
		LIST_INSERT_HEAD(&clients, client, link);
		client->added = true;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

void helper_remove(struct helper_client *client)
{
	pthread_mutex_lock(&lock);
	if (client->added) {
		LIST_REMOVE(client, link);
		client->added = false;
	}
	/* A session that frees itself calls this function on the helper's own thread, which must not wait for
	 * itself. */
	while (visiting == client && !pthread_equal(thread, pthread_self()))
		pthread_cond_wait(&visited, &lock);
	pthread_mutex_unlock(&lock);
}

uint64_t helper_visits(void)
{
	return LOAD_RELAXED(&visits);
}

uint64_t helper_wakes(void)
{
	return LOAD_RELAXED(&wakes);
}

void helper_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&visited, NULL);
	LIST_INIT(&clients);
	running = false;
	visiting = NULL;
	awake = 1;
	wanted = 0;
}
