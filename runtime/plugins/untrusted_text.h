/* Copies text to which a plugin points.  The pointer is not trusted: it may be invalid, or the text may have no
 * terminating zero. */
#ifndef EPPROF_RUNTIME_PLUGINS_UNTRUSTED_TEXT_H
#define EPPROF_RUNTIME_PLUGINS_UNTRUSTED_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define UNTRUSTED_TEXT_UNREADABLE SIZE_MAX

/* Copies the text up to its end, at most room - 1 bytes (room is at least 1), and terminates the copy.  A text that
 * extends into unreadable memory is cut there.  Returns the bytes copied, or UNTRUSTED_TEXT_UNREADABLE (and an empty
 * copy) if not even the first byte can be read.
 * Thread: [any-thread]. */
size_t untrusted_text_copy(const char *text, char *copy, size_t room);

#endif
