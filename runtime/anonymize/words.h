/* Words for secret texts: the letters of a keyed hash.
 *
 * The same key gives the same letters for the same text in every trace, and nobody without the key can test whether a
 * text that he guesses belongs to a word.  Two texts of a trace never have the same letters: if ten letters are equal
 * (about once in 10^6 traces with 30,000 names), the text that comes second gets more of them. */
#ifndef EPPROF_RUNTIME_ANONYMIZE_WORDS_H
#define EPPROF_RUNTIME_ANONYMIZE_WORDS_H

#include <stdbool.h>

#include "anonymize/blake2b.h"
#include "containers/string_table.h"

#define WORD_LETTERS 10u
#define WORD_LETTERS_MAX BLAKE2B_BYTES

struct words {
	struct blake2b keyed;
	struct string_table texts;   /* that have a word */
	struct string_table letters; /* of each text, with the same number */
};

/* For tests: fewer letters make equal ones likely. */
extern unsigned words_letters_count;

/* Keys of any length are hashed to one of 64 bytes. */
void words_init(struct words *words, const void *key, size_t key_bytes);
void words_deinit(struct words *words);
/* Finds or makes the letters of a text; `letters` has room for WORD_LETTERS_MAX + 1 and is NUL-terminated.  Returns false
 * without memory. */
bool words_of(struct words *words, const char *text, size_t bytes, char *letters);
/* Fills bytes that only depend on the key and the given ones, for ids. */
void words_id(const struct words *words, const void *of, size_t of_bytes, uint8_t *id, size_t id_bytes);

#endif
