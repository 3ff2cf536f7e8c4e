/* CRC-32C (Castagnoli), the checksum of pages and blocks; uses the processor's instruction if there is one. */
#ifndef EPPROF_RUNTIME_CODEC_CHECKSUM_H
#define EPPROF_RUNTIME_CODEC_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of earlier data, whose checksum is `seed` (0: no data), followed by these `bytes` bytes.
 * Thread: [any-thread], [signal-safe]. */
uint32_t checksum_crc32c(uint32_t seed, const void *data, size_t bytes);

/* As checksum_crc32c, without the processor's instruction: used if the processor does not have it. */
uint32_t checksum_crc32c_portable(uint32_t seed, const void *data, size_t bytes);

#endif
