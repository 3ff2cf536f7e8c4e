/* The helper thread: visits all clients, then sleeps until one is likely to need it. */
#include "base/helper.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/thread.h"

#define SLICE_NS 100000 /* the shortest that the kernel accepts */
#define NICE (-10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list and `running` */
static LIST_HEAD(, helper_client) clients = LIST_HEAD_INITIALIZER(clients);
static bool running;
static pthread_t thread; /* valid if `running` */
static struct helper_client *visiting;
static pthread_cond_t visited = PTHREAD_COND_INITIALIZER;

static uint32_t awake = 1;  /* 0: asleep, a wake-up needs a system call */
static uint32_t wanted;     /* set before `awake` is read, read after `awake` is cleared, so that no wake-up is lost */
static uint32_t woken_from; /* the processor plus 1; 0: unknown */
static uint64_t visits, wakes;

static void sleep_until_woken(int64_t ns)
{
	struct timespec timeout = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	__atomic_store_n(&awake, 0, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&wanted, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &awake, FUTEX_WAIT_PRIVATE, 0, ns < 0 ? NULL : &timeout, NULL, 0);
	STORE_RELEASE(&awake, 1);
}

void helper_wake(void)
{
	/* Only one of several recorders makes the system call; the others find `awake` set. */
	uint32_t asleep = 0;
	__atomic_store_n(&wanted, 1, __ATOMIC_SEQ_CST);
	if (__atomic_compare_exchange_n(&awake, &asleep, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		ADD_RELAXED(&wakes, 1);
		STORE_RELAXED(&woken_from, (uint32_t)sched_getcpu() + 1);
		syscall(SYS_futex, &awake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
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
		/* It may have been removed meanwhile (helper_remove waits), or have removed itself. */
		next = client->added ? LIST_NEXT(client, link) : LIST_FIRST(&clients);
		pthread_cond_broadcast(&visited);
	}
	pthread_mutex_unlock(&lock);
	return sleep_ns;
}

/* The argument of the kernel's sched_setattr. The kernel's header conflicts with the C library's sched_param. */
struct scheduling {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns; /* "runtime": the time slice of SCHED_OTHER threads since Linux 6.12; older ones ignore it */
	uint64_t deadline_ns, period_ns;
};
#define RESET_ON_FORK 1 /* threads created by the helper, for foreign code, have the default policy */

/* If more threads are runnable than there are processors, the window fills up while the helper waits for others' time
 * slices. The helper needs far less than its share of time, but with a short delay. It therefore requests short slices,
 * which are scheduled earlier, and a higher priority if permitted, unless the process has another nice value
 * already. */
static void be_prompt(void)
{
	struct scheduling how = { .size = 0 };
	if (syscall(SYS_sched_getattr, 0, &how, sizeof(how), 0) || how.policy != SCHED_OTHER)
		return;
	how = (struct scheduling){ .size = sizeof(how), .flags = RESET_ON_FORK, .nice = how.nice, .slice_ns = SLICE_NS };
	if (how.nice == 0) {
		how.nice = NICE;
		if (syscall(SYS_sched_setattr, 0, &how, 0) == 0)
			return;
		how.nice = 0;
	}
	syscall(SYS_sched_setattr, 0, &how, 0);
}

/* Schedulers tend to run a woken thread on the processor of the thread that woke it, on virtual machines even if
 * another processor is idle. The recorder would then wait for a whole visit. While it sleeps, the helper therefore
 * excludes the processor from which it was woken last; a migration after the wake-up would take milliseconds. */
static void sleep_on_other_cpu(int64_t ns)
{
	cpu_set_t all, others, now;
	uint32_t from = LOAD_RELAXED(&woken_from);
	bool avoids = from && from <= CPU_SETSIZE && sched_getaffinity(0, sizeof(all), &all) == 0;
	if (avoids) {
		others = all;
		CPU_CLR(from - 1, &others);
		avoids = CPU_COUNT(&others) && sched_setaffinity(0, sizeof(others), &others) == 0;
	}
	sleep_until_woken(ns);
	/* Restores the affinity, unless it was changed by other code meanwhile. */
	if (avoids && sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &others))
		sched_setaffinity(0, sizeof(all), &all);
}

static void *loop(void *unused)
{
	be_prompt();
	for (;;) {
		__atomic_store_n(&wanted, 0, __ATOMIC_SEQ_CST);
		int64_t sleep_ns = visit_all();
		ADD_RELAXED(&visits, 1);
		if (sleep_ns != 0)
			sleep_on_other_cpu(sleep_ns);
	}
	return unused;
}

void helper_apart(void *(*run)(void *argument), void *argument)
{
	pthread_t apart;
	if (thread_start(NULL, run, argument, &apart))
		run(argument);
}

epp_status *helper_add(struct helper_client *client)
{
	epp_status *status = NULL;
	pthread_mutex_lock(&lock);
	STORE_RELAXED(&woken_from, (uint32_t)sched_getcpu() + 1);
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
	/* The helper itself may be the caller, when a session frees itself. */
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
