/* libepprof_preload.so: reaches programs in C and C++ that use ONNX Runtime.
 *
 * A program gets all functions of ONNX Runtime from OrtGetApiBase.  If it links ONNX Runtime, it calls the
 * OrtGetApiBase of this library instead, because preloaded libraries are searched first.  If it opens ONNX Runtime by
 * dlopen, it calls the dlsym of this library.  Both get a copy of ONNX Runtime's tables (preload_table.c). */
#include "preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#define PRELOAD_EXPORT __attribute__((visibility("default")))

typedef const OrtApiBase *get_base_fn(void);
typedef void *dlsym_fn(void *library, const char *name);

PRELOAD_EXPORT get_base_fn OrtGetApiBase;

/* ---- dlsym ---- */

/* The oldest version of dlsym in glibc.  On other architectures dlsym is not replaced. */
#if defined(__x86_64__)
#define DLSYM_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define DLSYM_VERSION "GLIBC_2.17"
#endif

static dlsym_fn *find_dlsym(void)
{
#ifdef DLSYM_VERSION
	static dlsym_fn *found;
	dlsym_fn *real = __atomic_load_n(&found, __ATOMIC_RELAXED);

	if (!real) {
		*(void **)&real = dlvsym(RTLD_NEXT, "dlsym", DLSYM_VERSION);
		__atomic_store_n(&found, real, __ATOMIC_RELAXED);
	}
	return real;
#else
	return dlsym;
#endif
}

/* ---- programs that link ONNX Runtime ---- */

/* Returns false in a process that EPPROF_RANKS excludes, where the collector records nothing. */
static bool is_recorded(void)
{
	const char *pid = secure_getenv("EPPROF_ONLY_PID");

	return secure_getenv("EPPROF_RECORD") &&
	       (!pid || !*pid || strtoull(pid, NULL, 10) == (unsigned long long)getpid());
}

static const OrtApiBase *get_base(get_base_fn *real)
{
	const OrtApiBase *base = real();

	return base && is_recorded() ? preload_base(base) : base;
}

/* Returns the OrtGetApiBase that the caller would call without this library: that of a library after this one in the
 * search order.  If there is none, the libraries that the caller links are searched, because a library that was opened
 * with RTLD_LOCAL is not in the search order. */
static get_base_fn *find_linked(void *caller)
{
	get_base_fn *found;
	struct link_map *map;
	Dl_info about;

	*(void **)&found = find_dlsym()(RTLD_NEXT, "OrtGetApiBase");
	if (!found && dladdr1(caller, &about, (void **)&map, RTLD_DL_LINKMAP) && map->l_name[0]) {
		void *library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
		if (library) {
			*(void **)&found = find_dlsym()(library, "OrtGetApiBase");
			dlclose(library);
		}
	}
	return found;
}

const OrtApiBase *OrtGetApiBase(void)
{
	get_base_fn *real = find_linked(__builtin_return_address(0));

	return real ? get_base(real) : NULL;
}

/* ---- programs that open ONNX Runtime ---- */

#ifdef DLSYM_VERSION

static get_base_fn *opened; /* the first OrtGetApiBase for which the program has asked */

static const OrtApiBase *opened_get_base(void)
{
	return get_base(__atomic_load_n(&opened, __ATOMIC_ACQUIRE));
}

/* Returns the result of the program's dlsym for OrtGetApiBase.  The function of a second ONNX Runtime in the process is
 * returned unchanged.  This library's own function is returned only if a library after it has an OrtGetApiBase. */
static get_base_fn *replace(get_base_fn *real)
{
	get_base_fn *first = NULL;

	if (!real)
		return NULL;
	if (real == OrtGetApiBase) {
		*(void **)&first = find_dlsym()(RTLD_NEXT, "OrtGetApiBase");
		return first ? real : NULL;
	}
	bool is_first = __atomic_compare_exchange_n(&opened, &first, real, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return is_first || first == real ? opened_get_base : real;
}

static bool is_get_base(const char *name)
{
	/* Compares without strcmp, because sanitizers call dlsym before their strcmp works. */
	static const char wanted[] = "OrtGetApiBase";
	size_t i = 0;

	while (name[i] == wanted[i] && wanted[i])
		i++;
	return name[i] == wanted[i];
}

static void *find_get_base(void *library, const char *name)
{
	get_base_fn *found;

	*(void **)&found = find_dlsym()(library, name);
	found = replace(found);
	return *(void **)&found;
}

/* With RTLD_NEXT and RTLD_DEFAULT, the result of the real dlsym depends on the caller, which it finds by the return
 * address on the stack.  So the function ends with a jump to the real dlsym. */
#if __has_attribute(musttail)
#define JUMP __attribute__((musttail))
#define JUMPING
#else
#define JUMP
#define JUMPING __attribute__((optimize("O2")))
#endif

PRELOAD_EXPORT JUMPING void *dlsym(void *restrict library, const char *restrict name)
{
	dlsym_fn *next = is_get_base(name) ? find_get_base : find_dlsym();

	JUMP return next(library, name);
}

#endif
