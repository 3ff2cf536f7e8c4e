#include "cupti/interned_texts.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "containers/hash_index.h"

struct interned {
	const char *key;
	const char *text; /* the key itself, or the demangled name */
};

static struct hash_index kept_index;
static struct interned *interned;
static uint32_t kept_count, kept_room;
static size_t kept_bytes;

static char *copy(const char *text)
{
	size_t bytes = strlen(text) + 1;
	bool fits = kept_bytes < KEPT_TEXTS_BYTES_MAX && bytes <= KEPT_TEXTS_BYTES_MAX - kept_bytes;
	char *copied = fits ? malloc(bytes) : NULL;
	if (copied) {
		memcpy(copied, text, bytes);
		kept_bytes += bytes;
	}
	return copied;
}

static const struct interned *find(const char *key, uint64_t hash)
{
	uint32_t number;
	for (struct hash_probe probe = hash_index_probe(&kept_index, hash); hash_index_next(&kept_index, &probe, &number);)
		if (strcmp(interned[number].key, key) == 0)
			return &interned[number];
	return NULL;
}

/* Adds a text and takes ownership of `key` and `text`.  If there is no memory for the table's entry, the text is
 * returned, but a later search does not find it. */
static const char *add(char *key, char *text, uint64_t hash)
{
	if (!key || !text)
		return NULL;
	if (kept_count == kept_room) {
		uint32_t room = kept_room ? 2 * kept_room : 256;
		struct interned *grown = reallocarray(interned, room, sizeof(*interned));
		if (!grown)
			return text;
		interned = grown;
		kept_room = room;
	}
	if (hash_index_add(&kept_index, hash, kept_count))
		interned[kept_count++] = (struct interned){ key, text };
	return text;
}

const char *intern_text(const char *text)
{
	uint64_t hash = hash_bytes(text, strlen(text));
	const struct interned *found = find(text, hash);
	char *copied = found ? NULL : copy(text);
	return found ? found->text : add(copied, copied, hash);
}

/* ---- names of kernels ---- */

typedef char *demangle_fn(const char *mangled, char *buffer, size_t *bytes, int *status);

/* Finds the demangler of libstdc++. This library does not link libstdc++, which is in every process that uses CUDA from
 * C++, and in most others. */
static demangle_fn *demangler(void)
{
	static demangle_fn *demangle;
	static bool tried;
	if (!tried) {
		void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
		void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
		memcpy(&demangle, &symbol, sizeof(symbol));
		tried = true;
	}
	return demangle;
}

const char *intern_kernel_name(const char *mangled)
{
	uint64_t hash = hash_bytes(mangled, strlen(mangled));
	const struct interned *found = find(mangled, hash);
	if (found)
		return found->text;
	int status = 0;
	char *key = copy(mangled);
	char *demangled = key && strncmp(mangled, "_Z", 2) == 0 && demangler() ? demangler()(mangled, NULL, NULL, &status)
	                                                                       : NULL;
	if (demangled)
		kept_bytes += strlen(demangled) + 1;
	return add(key, demangled ? demangled : key, hash);
}
