/* Texts that stay valid until the process ends, each stored once: names and metadata of records.
 * Thread: one at a time. */
#ifndef EPPROF_CUPTI_KEPT_TEXTS_H
#define EPPROF_CUPTI_KEPT_TEXTS_H

/* Further texts are not kept: kernels are then without name and metadata. */
#define KEPT_TEXTS_BYTES_MAX (64u << 20)

/* Returns the kept copy of `text`; NULL: there is no room or no memory. */
const char *kept_text(const char *text);

/* The same for the name of a kernel: as in its source if libstdc++ can demangle it. */
const char *kept_kernel_name(const char *mangled);

#endif
