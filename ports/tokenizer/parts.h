/* What the files of the tokenizer share. Private. SPDX-License-Identifier: MIT */
#ifndef HEED_TOKENIZER_PARTS_H
#define HEED_TOKENIZER_PARTS_H

#include "text.h"
#include "tokenizer.h"
#include "tokenizer_form.h"

#ifdef __cplusplus
#if __has_include(<string.h>)
#include <string.h>
#endif
extern "C" {
#else
void *memcpy(void *to, const void *from, size_t n); /* there may be no string.h */
#endif

/* tokenizer_class and tokenizer_action of a character. */
static inline int32_t tokenizer_class_byte(const heed_tokenizer *t, int32_t character) {
  if (character < 0) return class_other;
  const uint8_t *const word = t->classes + 2 * (size_t)(character >> 8);
  const size_t block = (size_t)(word[0] | word[1] << 8);
  return t->classes[2 * class_blocks + class_block * block + (size_t)(character & 0xff)];
}
static inline int32_t tokenizer_class_of(const heed_tokenizer *t, int32_t character) {
  return tokenizer_class_byte(t, character) & 15;
}

/* Tokens as they are found. Those for which there is no room are counted. */
typedef struct tokenizer_output {
  int32_t *tokens;
  int64_t capacity, n;
  int32_t unknown_is_last; /* as fact_unknown, of this word */
} tokenizer_output;
static inline void tokenizer_put(tokenizer_output *out, int32_t token) {
  if (out->n < out->capacity) out->tokens[out->n] = token;
  ++out->n;
}
/* A character, or a byte of BPE of bytes, that has no token: its bytes, if there are tokens for them, else the unknown one. */
void tokenizer_put_unknown(const heed_tokenizer *t, text character, tokenizer_output *out);

/* Entries of a list of tokens in ascending order of their bytes, or of the list of keys, that begin with the same `depth` bytes. */
typedef struct tokenizer_range {
  int32_t low, high;
} tokenizer_range;
/* order: null for the list itself. */
tokenizer_range tokenizer_narrow(const heed_file_list *list, const int32_t *order, tokenizer_range r, size_t depth,
                                 uint8_t byte);
/* The entry at the beginning of a range that has no more than `depth` bytes, -1: none. */
int32_t tokenizer_whole_entry(const heed_file_list *list, const int32_t *order, tokenizer_range r, size_t depth);
/* The token of these bytes, -1: none. */
int32_t tokenizer_find_token(const heed_tokenizer *t, text bytes);

/* Words of a text, one after another. */
typedef struct tokenizer_words {
  text rest;
  size_t until_digit; /* of split_digits: bytes before the next digit, if it is known */
  int32_t is_known;
} tokenizer_words;
/* The next word; false: none is left. */
int tokenizer_next_word(const heed_tokenizer *t, tokenizer_words *words, text *word);

/* Bytes of `to` that are written; SIZE_MAX: they do not fit into n. */
size_t tokenizer_normalize(const heed_tokenizer *t, text from, int blank_first, uint8_t *to, size_t n);

/* Tokens of one word. False: the memory is too small. */
int tokenizer_bpe(const heed_tokenizer *t, text word, tokenizer_output *out, heed_memory memory);
int tokenizer_unigram(const heed_tokenizer *t, text word, tokenizer_output *out, heed_memory memory);
void tokenizer_wordpiece(const heed_tokenizer *t, text word, tokenizer_output *out);
/* Bytes of memory for a word of n bytes. */
size_t tokenizer_model_bytes(const heed_tokenizer *t, size_t n);

#ifdef __cplusplus
}
#endif

#endif
