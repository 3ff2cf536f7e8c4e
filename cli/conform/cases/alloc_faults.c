/* Redirects the references of loaded libraries to the functions that allocate memory. */
#include "alloc_faults.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the functions ---- */

static uint64_t *counted; /* NULL: allocations do not fail */
static uint64_t failing_number;

static bool should_fail(void)
{
	uint64_t *count = __atomic_load_n(&counted, __ATOMIC_ACQUIRE);

	if (!count || __atomic_add_fetch(count, 1, __ATOMIC_RELAXED) != failing_number)
		return false;
	errno = ENOMEM;
	return true;
}

static void *faulty_malloc(size_t bytes)
{
	return should_fail() ? NULL : malloc(bytes);
}

static void *faulty_calloc(size_t count, size_t bytes)
{
	return should_fail() ? NULL : calloc(count, bytes);
}

static void *faulty_realloc(void *old, size_t bytes)
{
	return should_fail() ? NULL : realloc(old, bytes);
}

static void *faulty_reallocarray(void *old, size_t count, size_t bytes)
{
	return should_fail() ? NULL : reallocarray(old, count, bytes);
}

static void *faulty_aligned_alloc(size_t alignment, size_t bytes)
{
	return should_fail() ? NULL : aligned_alloc(alignment, bytes);
}

static int faulty_posix_memalign(void **result, size_t alignment, size_t bytes)
{
	return should_fail() ? ENOMEM : posix_memalign(result, alignment, bytes);
}

static char *faulty_strdup(const char *text)
{
	return should_fail() ? NULL : strdup(text);
}

static char *faulty_strndup(const char *text, size_t bytes)
{
	return should_fail() ? NULL : strndup(text, bytes);
}

static const struct {
	const char *name;
	void *function;
} redirected[] = {
	{ "malloc", (void *)faulty_malloc },
	{ "calloc", (void *)faulty_calloc },
	{ "realloc", (void *)faulty_realloc },
	{ "reallocarray", (void *)faulty_reallocarray },
	{ "aligned_alloc", (void *)faulty_aligned_alloc },
	{ "posix_memalign", (void *)faulty_posix_memalign },
	{ "strdup", (void *)faulty_strdup },
	{ "strndup", (void *)faulty_strndup },
};

void alloc_faults_begin(uint64_t *count, uint64_t failing)
{
	failing_number = failing;
	__atomic_store_n(&counted, count, __ATOMIC_RELEASE);
}

void alloc_faults_end(void)
{
	__atomic_store_n(&counted, NULL, __ATOMIC_RELEASE);
}

/* ---- relocations ---- */

#if defined(__x86_64__)
#define IS_FUNCTION_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_FUNCTION_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

#ifdef IS_FUNCTION_SLOT

static void redirect(void **slot, const char *name)
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)slot & ~(page_bytes - 1);
	size_t i = 0, count = sizeof(redirected) / sizeof(*redirected);

	while (i < count && strcmp(redirected[i].name, name) != 0)
		i++;
	/* The dynamic linker may have made the page read-only after it had resolved the references. */
	if (i < count && mprotect((void *)page, page_bytes, PROT_READ | PROT_WRITE) == 0)
		*slot = redirected[i].function;
}

/* Converts an address in the dynamic section.  glibc has already made most of these addresses absolute; one that is
 * smaller than the load address is still relative to it. */
static const void *address_of(const struct link_map *map, ElfW(Addr) address)
{
	return (const void *)(address < map->l_addr ? map->l_addr + address : address);
}

static void redirect_all(const struct link_map *map)
{
	const ElfW(Sym) *symbols = NULL;
	const ElfW(Rela) * tables[2] = { NULL };
	size_t bytes[2] = { 0 };
	const char *names = NULL;

	for (const ElfW(Dyn) *at = map->l_ld; at->d_tag != DT_NULL; at++) {
		if (at->d_tag == DT_SYMTAB)
			symbols = address_of(map, at->d_un.d_ptr);
		else if (at->d_tag == DT_STRTAB)
			names = address_of(map, at->d_un.d_ptr);
		else if (at->d_tag == DT_RELA)
			tables[0] = address_of(map, at->d_un.d_ptr);
		else if (at->d_tag == DT_RELASZ)
			bytes[0] = at->d_un.d_val;
		else if (at->d_tag == DT_JMPREL)
			tables[1] = address_of(map, at->d_un.d_ptr);
		else if (at->d_tag == DT_PLTRELSZ)
			bytes[1] = at->d_un.d_val;
	}
	for (int table = 0; table < 2 && symbols && names; table++) {
		for (size_t i = 0; tables[table] && i < bytes[table] / sizeof(ElfW(Rela)); i++) {
			const ElfW(Rela) *at = &tables[table][i];
			if (IS_FUNCTION_SLOT(ELF64_R_TYPE(at->r_info)))
				redirect((void **)(map->l_addr + at->r_offset),
				         names + symbols[ELF64_R_SYM(at->r_info)].st_name);
		}
	}
}

bool alloc_faults_install(void *library)
{
	struct link_map *map;

	if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
		return false;
	/* The list is in the order of loading, so the library's dependencies follow it, except those that were already
	 * loaded before it. */
	for (; map; map = map->l_next)
		redirect_all(map);
	return true;
}

#else

bool alloc_faults_install(void *library)
{
	(void)library;
	return false;
}

#endif
