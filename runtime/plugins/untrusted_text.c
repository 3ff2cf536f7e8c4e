/* Copies text with process_vm_readv on this process: the kernel then returns an error for memory that cannot be read,
 * instead of a signal.  Reads a page at a time, because a read that extends into an unmapped page may fail as a whole.
 * If the kernel refuses the call, the text is read directly. */
#include "plugins/untrusted_text.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define FIRST_BYTES 256u /* most texts are shorter */

/* Returns how many bytes were copied; SIZE_MAX: the kernel does not support the call. */
static size_t kernel_copy(uintptr_t address, char *copy, size_t bytes)
{
	struct iovec to = { copy, bytes };
	struct iovec from = { (char *)address, bytes };
	ssize_t done = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	if (done >= 0)
		return (size_t)done;
	return errno == EFAULT ? 0 : SIZE_MAX;
}

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
		size_t done = kernel_copy(address + used, copy + used, bytes);
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
		char first;
		if (kernel_copy(address, &first, 1) == 0)
			return UNTRUSTED_TEXT_UNREADABLE;
	}
	return used;
}
