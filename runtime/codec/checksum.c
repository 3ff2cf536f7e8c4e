/* CRC-32C in two ways: with the crc32 instruction of SSE4.2 or ARMv8, and with tables of 8 bytes a step ("slicing by
 * 8").
 *
 * The instruction has a latency of three cycles and a throughput of one per cycle, so three lanes of LANE_BYTES are
 * processed in parallel. They are combined with a function that appends LANE_BYTES zero bytes to a checksum; it is
 * linear, so it needs one table for each byte of the checksum.
 *
 * The first call chooses between the two and stores the choice in a pointer; any number of threads may store the same
 * value at the same time. The tables are filled at load, so that no call waits for another. Both implementations give
 * the same result. The seed is a finished checksum, so that a checksum can be computed in pieces. */
#include "codec/checksum.h"

#include <stdatomic.h>
#include <string.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define POLYNOMIAL 0x82f63b78u /* with the bits in reversed order */
#define SLICES 8

static uint32_t tables[SLICES][256];

__attribute__((constructor(101))) static void tables_fill(void)
{
	for (unsigned byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][byte] = crc;
	}
	for (unsigned byte = 0; byte < 256; byte++)
		for (int slice = 1; slice < SLICES; slice++)
			tables[slice][byte] = tables[slice - 1][byte] >> 8 ^ tables[0][tables[slice - 1][byte] & 255];
}

uint32_t checksum_crc32c_portable(uint32_t seed, const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint32_t crc = ~seed;

	for (; bytes >= SLICES; bytes -= SLICES, at += SLICES) {
		uint32_t low = crc ^
		               ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
		crc = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^
		      tables[4][low >> 24] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^ tables[0][at[7]];
	}
	for (; bytes; bytes--, at++)
		crc = crc >> 8 ^ tables[0][(crc ^ *at) & 255];
	return ~crc;
}

#if defined(__x86_64__)

#define WITH_INSTRUCTION __attribute__((target("sse4.2,crc32")))

WITH_INSTRUCTION static inline uint64_t take_word(uint64_t crc, uint64_t word)
{
	return _mm_crc32_u64(crc, word);
}

WITH_INSTRUCTION static inline uint64_t take_byte(uint64_t crc, uint8_t byte)
{
	return _mm_crc32_u8((uint32_t)crc, byte);
}

static int instruction_exists(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse4.2");
}

#elif defined(__aarch64__)

#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#define WITH_INSTRUCTION

/* Takes 8 bytes. Inline assembly, because compilers differ in how a function enables this extension. */
static inline uint64_t take_word(uint64_t crc, uint64_t word)
{
	uint32_t low = (uint32_t)crc;
	__asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(low) : "r"(word));
	return low;
}

static inline uint64_t take_byte(uint64_t crc, uint8_t byte)
{
	uint32_t low = (uint32_t)crc, wide = byte;
	__asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(low) : "r"(wide));
	return low;
}

static int instruction_exists(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}

#endif

#ifdef WITH_INSTRUCTION

#define LANE_BYTES 512u

static uint32_t lane_tables[4][256];

/* Fills the tables that append LANE_BYTES zero bytes. The entries are computed for single bits, then combined by
 * exclusive or. This runs at load in every program that is linked to the library, so it must be fast. */
__attribute__((constructor(102))) static void lane_tables_fill(void)
{
	for (unsigned place = 0; place < 4; place++) {
		for (unsigned byte = 1; byte < 256; byte++) {
			unsigned others = byte & (byte - 1);
			uint32_t crc = (uint32_t)byte << 8 * place;
			for (unsigned zero = 0; zero < LANE_BYTES && !others; zero++)
				crc = crc >> 8 ^ tables[0][crc & 255];
			lane_tables[place][byte] = others ? lane_tables[place][others] ^ lane_tables[place][byte ^ others]
			                                  : crc;
		}
	}
}

static inline uint32_t shift_by_lane(uint32_t crc)
{
	return lane_tables[0][crc & 255] ^ lane_tables[1][crc >> 8 & 255] ^ lane_tables[2][crc >> 16 & 255] ^
	       lane_tables[3][crc >> 24];
}

WITH_INSTRUCTION static uint32_t crc32c_by_instruction(uint32_t seed, const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t crc = ~seed, words[3];

	for (; bytes >= 3 * LANE_BYTES; bytes -= 3 * LANE_BYTES, at += 3 * LANE_BYTES) {
		uint64_t second = 0, third = 0;
		for (size_t i = 0; i < LANE_BYTES; i += 8) {
			memcpy(&words[0], at + i, 8);
			memcpy(&words[1], at + LANE_BYTES + i, 8);
			memcpy(&words[2], at + (size_t)2 * LANE_BYTES + i, 8);
			crc = take_word(crc, words[0]);
			second = take_word(second, words[1]);
			third = take_word(third, words[2]);
		}
		crc = shift_by_lane(shift_by_lane((uint32_t)crc) ^ (uint32_t)second) ^ third;
	}
	for (; bytes >= 8; bytes -= 8, at += 8) {
		memcpy(words, at, 8);
		crc = take_word(crc, words[0]);
	}
	for (; bytes; bytes--, at++)
		crc = take_byte(crc, *at);
	return ~(uint32_t)crc;
}

typedef uint32_t checksum_fn(uint32_t seed, const void *data, size_t bytes);

static checksum_fn choose_function;
static _Atomic(checksum_fn *) chosen = choose_function;

static uint32_t choose_function(uint32_t seed, const void *data, size_t bytes)
{
	checksum_fn *function = instruction_exists() ? crc32c_by_instruction : checksum_crc32c_portable;
	atomic_store_explicit(&chosen, function, memory_order_relaxed);
	return function(seed, data, bytes);
}

uint32_t checksum_crc32c(uint32_t seed, const void *data, size_t bytes)
{
	return atomic_load_explicit(&chosen, memory_order_relaxed)(seed, data, bytes);
}

#else

uint32_t checksum_crc32c(uint32_t seed, const void *data, size_t bytes)
{
	return checksum_crc32c_portable(seed, data, bytes);
}

#endif
