/* Implements keyed_word.h. */
#include "anonymize/keyed_word.h"

#include <string.h>

/* The letters of words.  Without d, e, h, i, o and y, no word and none of the prefixes in anonymize_records.c followed
 * by a word can contain "h2d", "memset", "wait", "copy", "alloc" or "sync", by which names are classified
 * (timeline/events/work_kind.c and name_words.h). */
static const char letters_of_words[] = "0123456789abcfgjklmnpqrstuvwxz";

unsigned words_letters_count = WORD_LETTERS;

void words_init(struct words *words, const void *key, size_t key_bytes)
{
	uint8_t key_hash[BLAKE2B_BYTES];
	struct blake2b hash;

	*words = (struct words){ 0 };
	blake2b_begin(&hash, NULL, 0, sizeof(key_hash));
	blake2b_add(&hash, key, key_bytes);
	blake2b_end(&hash, key_hash);
	blake2b_begin(&words->keyed, key_hash, sizeof(key_hash), BLAKE2B_BYTES);
	explicit_bzero(key_hash, sizeof(key_hash));
	explicit_bzero(&hash, sizeof(hash));
}

void words_deinit(struct words *words)
{
	explicit_bzero(&words->keyed, sizeof(words->keyed));
	string_table_deinit(&words->texts);
	string_table_deinit(&words->letters);
}

bool words_find_or_add(struct words *words, const char *text, size_t bytes, char *letters)
{
	uint32_t number = string_table_find(&words->texts, text, bytes);
	uint8_t hash[BLAKE2B_BYTES];
	size_t count;

	if (number != STRING_TABLE_NONE) {
		const char *found = string_table_bytes(&words->letters, number, &count);
		*(char *)mempcpy(letters, found, count) = 0;
		return true;
	}
	struct blake2b state = words->keyed;
	blake2b_add(&state, text, bytes);
	blake2b_end(&state, hash);
	for (size_t i = 0; i < WORD_LETTERS_MAX; i++)
		letters[i] = letters_of_words[hash[i] % (sizeof(letters_of_words) - 1)];
	for (count = words_letters_count; count < WORD_LETTERS_MAX; count += words_letters_count)
		if (string_table_find(&words->letters, letters, count) == STRING_TABLE_NONE)
			break;
	count = count < WORD_LETTERS_MAX ? count : WORD_LETTERS_MAX;
	letters[count] = 0;
	return string_table_add(&words->letters, letters, count, &number) &&
	       string_table_add(&words->texts, text, bytes, &number);
}

void words_hash_id(const struct words *words, const void *of, size_t of_bytes, uint8_t *id, size_t id_bytes)
{
	uint8_t hash[BLAKE2B_BYTES];
	struct blake2b state = words->keyed;

	blake2b_add(&state, "id", sizeof("id"));
	blake2b_add(&state, of, of_bytes);
	blake2b_end(&state, hash);
	memcpy(id, hash, id_bytes);
}
