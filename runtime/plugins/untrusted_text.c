/* Copies text by the system, which returns an error for memory that cannot be read, instead of a signal.  Reads a page
 * at a time, because a read that extends into an unmapped page may fail as a whole.  If the system refuses the call,
 * the text is read directly. */
#include "plugins/untrusted_text.h"

#include <string.h>

#include "base/os/os.h"

#define PAGE_BYTES 4096u
#define FIRST_BYTES 256u /* most texts are shorter */

size_t untrusted_text_copy(const char *text, char *copy, size_t room)
{
	/* Computed as an integer, because arithmetic on an invalid pointer is undefined. */
	const uintptr_t address = (uintptr_t)text;
	size_t used = 0, limit = FIRST_BYTES;
	while (used < room - 1) {
		size_t bytes = PAGE_BYTES - (address + used) % PAGE_BYTES;
		if (bytes > limit)
			bytes = limit;
		if (bytes > room - 1 - used)
			bytes = room - 1 - used;
		limit = PAGE_BYTES;
		size_t done = os_memory_copy(address + used, copy + used, bytes);
		if (done == SIZE_MAX) {
			done = strnlen(text + used, bytes);
			memcpy(copy + used, text + used, done);
		}
		size_t length = strnlen(copy + used, done);
		used += length;
		if (length < bytes)
			break;
	}
	copy[used] = '\0';
	if (used == 0 && room > 1) {
		char first = '\0';
		if (os_memory_copy(address, &first, 1) == 0)
			return UNTRUSTED_TEXT_UNREADABLE;
	}
	return used;
}
