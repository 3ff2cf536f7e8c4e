/* The kernel reads for us (process_vm_readv of this process): what cannot be read is an answer then, not a signal.  A page
 * at a time, since a reading that crosses into a missing page may fail as a whole.  Where the kernel refuses such calls
 * the text is read as it is. */
#include "plugins/foreign_text.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define FIRST_BYTES 256u /* most texts are shorter */

/* How many of the bytes were copied; SIZE_MAX: the kernel does not do this. */
static size_t kernel_copy(uintptr_t address, char *copy, size_t bytes)
{
	struct iovec to = { copy, bytes };
	struct iovec from = { (char *)address, bytes };
	ssize_t done = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	if (done >= 0)
		return (size_t)done;
	return errno == EFAULT ? 0 : SIZE_MAX;
}

size_t foreign_text_copy(const char *text, char *copy, size_t room)
{
	/* A number: the pointer may be none, which must not be added to. */
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
			return FOREIGN_TEXT_UNREADABLE;
	}
	return used;
}
