/* Words for secret texts: the letters of a keyed hash.
 *
 * With the same key, a text has the same letters in every trace.  Without the key, it cannot be tested whether a
 * guessed text belongs to a word.  Two texts of a trace never have the same letters.  If their first ten letters are
 * equal (about once in 10^6 traces with 30,000 names), the text that was added second gets more letters. */
#ifndef EPPROF_RUNTIME_ANONYMIZE_KEYED_WORD_H
#define EPPROF_RUNTIME_ANONYMIZE_KEYED_WORD_H

#include <stdbool.h>

#include "anonymize/blake2b.h"
#include "containers/string_table.h"

#define WORD_LETTERS 10u
#define WORD_LETTERS_MAX BLAKE2B_BYTES

struct words {
	struct blake2b keyed;
	struct string_table texts;   /* the texts that have a word */
	struct string_table letters; /* the letters of each text, under the same number */
};

/* Number of letters of a word; a word that would equal another one gets a multiple of it.  Tests set a small number, so
 * that equal words are likely. */
extern unsigned words_letters_count;

/* A key of any length.  It is hashed to 64 bytes. */
void words_init(struct words *words, const void *key, size_t key_bytes);
void words_deinit(struct words *words);
/* Finds or makes the letters of a text.  `letters` has room for WORD_LETTERS_MAX + 1 bytes and gets a NUL at the end.
 * Returns false if there is no memory. */
bool words_find_or_add(struct words *words, const char *text, size_t bytes, char *letters);
/* Fills `id` with bytes that only depend on the key and the bytes at `of`. */
void words_hash_id(const struct words *words, const void *of, size_t of_bytes, uint8_t *id, size_t id_bytes);

#endif
