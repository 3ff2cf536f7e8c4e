/* The memory orders of the recording path.
 *
 * A slot and its regions are in the mapped window and have three readers. The first is the owning thread. The second is
 * the thread that drains the slot after the owner has left or was closed; release and acquire of the mark order their
 * accesses. The third is a reader of the file, in this process or another, at any instant, even after a kill. This
 * reader needs the order of the owner's plain stores, so every store that publishes data is a release store. A release
 * store costs nothing on x86, where it only stops the compiler from reordering, and one instruction on arm64. */
#ifndef EPPROF_RUNTIME_BASE_ATOMICS_H
#define EPPROF_RUNTIME_BASE_ATOMICS_H

#include <stdatomic.h>
#include <stdint.h>

#define LOAD_RELAXED(place) __atomic_load_n((place), __ATOMIC_RELAXED)
#define LOAD_ACQUIRE(place) __atomic_load_n((place), __ATOMIC_ACQUIRE)
/* A relaxed load that the compiler may fold into the following comparison. For an atomic load GCC uses a separate
 * instruction and register. To be used only between a signal fence and the use of the value. */
#if defined(__SANITIZE_THREAD__)
#define LOAD_AS_OPERAND(place) LOAD_RELAXED(place)
#else
#define LOAD_AS_OPERAND(place) (*(place))
#endif

#define STORE_RELAXED(place, value) __atomic_store_n((place), (value), __ATOMIC_RELAXED)
#define STORE_RELEASE(place, value) __atomic_store_n((place), (value), __ATOMIC_RELEASE)
#define ADD_RELAXED(place, value) __atomic_fetch_add((place), (value), __ATOMIC_RELAXED)

/* Adds to a counter that has one writer. The writer itself needs no atomic access, but other threads read the counter
 * at the same time. */
#define COUNT_OWNED(place, value) STORE_RELAXED((place), LOAD_RELAXED(place) + (value))

/* Prefetches a cache line for writing. Written in assembly because x86 compilers omit the write hint unless the target
 * processor is specified. Processors that do not support the instruction execute it as a no-op. */
#if defined(__x86_64__)
#define PREFETCH_TO_WRITE(place) __asm__ volatile("prefetchw %0" : : "m"(*(const char *)(place)))
#else
#define PREFETCH_TO_WRITE(place) __builtin_prefetch((place), 1)
#endif

#endif
