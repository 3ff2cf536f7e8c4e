/* Texts that stay valid until the process ends, each stored once: names and metadata of records.
 * Thread: one at a time. */
#ifndef EPPROF_CUPTI_INTERNED_TEXTS_H
#define EPPROF_CUPTI_INTERNED_TEXTS_H

/* If the texts exceed this size, further ones are not stored.  Kernels then have no name and metadata. */
#define KEPT_TEXTS_BYTES_MAX (64u << 20)

/* Returns the stored copy of `text`; NULL: there is no room or no memory. */
const char *intern_text(const char *text);

/* The same for the name of a kernel.  If libstdc++ can demangle it, the name is that in the source. */
const char *intern_kernel_name(const char *mangled);

#endif
