/* CRC-32C (Castagnoli), the checksum of pages and blocks: by the processor's instruction where there is one. */
#ifndef EPPROF_RUNTIME_CODEC_CHECKSUM_H
#define EPPROF_RUNTIME_CODEC_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `bytes` bytes behind those that `seed` is the checksum of; 0 at first.
 * Thread: [any-thread], [signal-safe]. */
uint32_t checksum_crc32c(uint32_t seed, const void *data, size_t bytes);

/* The same without the processor's instruction: what checksum_crc32c falls back to. */
uint32_t checksum_crc32c_portable(uint32_t seed, const void *data, size_t bytes);

#endif
