/* Stores names and metadata of records: each different text once, until the process ends.
 * Thread: one at a time. */
#ifndef EPPROF_CUPTI_INTERNED_TEXTS_H
#define EPPROF_CUPTI_INTERNED_TEXTS_H

/* The maximum size of all texts.  Further texts are not stored: kernels whose texts are not stored yet then have no
 * name or no metadata. */
#define KEPT_TEXTS_BYTES_MAX (64u << 20)

/* Returns the stored copy of `text`; NULL: there is no room or no memory. */
const char *intern_text(const char *text);

/* Returns the stored copy of a kernel's name, demangled if libstdc++ can do this; NULL: there is no room or no
 * memory. */
const char *intern_kernel_name(const char *mangled);

#endif
