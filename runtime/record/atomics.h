/* The memory orders of recording, in one place.
 *
 * A slot and its regions lie in the mapped window and have three readers: the owning thread, whoever drains it after the
 * owner has left or was closed out (the mark's release and acquire order that), and a reader of the file, in this process
 * or another, which may look at any instant, even after a kill.  For that last reader the order of the owner's plain
 * stores is what counts; x86 keeps it and the compiler must: so what publishes is a release store, which costs nothing
 * there and one instruction on arm64. */
#ifndef EPPROF_RUNTIME_RECORD_ATOMICS_H
#define EPPROF_RUNTIME_RECORD_ATOMICS_H

#include <stdatomic.h>
#include <stdint.h>

#define LOAD_RELAXED(place) __atomic_load_n((place), __ATOMIC_RELAXED)
#define LOAD_ACQUIRE(place) __atomic_load_n((place), __ATOMIC_ACQUIRE)
/* A relaxed load of a word that may become an operand of the comparison behind it; GCC gives an atomic one an instruction and
 * a register of its own.  Only between a signal fence and a use of what was read. */
#if defined(__SANITIZE_THREAD__)
#define LOAD_AS_OPERAND(place) LOAD_RELAXED(place)
#else
#define LOAD_AS_OPERAND(place) (*(place))
#endif

#define STORE_RELAXED(place, value) __atomic_store_n((place), (value), __ATOMIC_RELAXED)
#define STORE_RELEASE(place, value) __atomic_store_n((place), (value), __ATOMIC_RELEASE)
#define ADD_RELAXED(place, value) __atomic_fetch_add((place), (value), __ATOMIC_RELAXED)

/* Counters with one writer: a plain add would do, but others read them while it goes on. */
#define COUNT_OWNED(place, value) STORE_RELAXED((place), LOAD_RELAXED(place) + (value))

/* Fetches a line to be written, for ourselves alone.  x86 compilers leave the write hint out unless told of the processor;
 * processors without the instruction take it for none. */
#if defined(__x86_64__)
#define PREFETCH_TO_WRITE(place) __asm__ volatile("prefetchw %0" : : "m"(*(const char *)(place)))
#else
#define PREFETCH_TO_WRITE(place) __builtin_prefetch((place), 1)
#endif

#endif
