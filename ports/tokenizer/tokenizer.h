/* Texts to tokens and back, with the vocabulary of a model: byte-level BPE (GPT-2, Llama 3, Qwen, GPT-4o), SentencePiece BPE (Llama 2,
 * Mistral, Gemma), unigram (T5, XLM-R) and WordPiece (BERT). C99 and C++, no heap: the tables lie in the flat file (heed_file.h), where
 * heed_import puts them from tokenizer.json or GGUF. SPDX-License-Identifier: MIT
 *
 *   static heed_tokenizer words;
 *   const char *error = heed_tokenizer_open(&words, &file);                        // null: good
 *   if (!error) error = heed_tokenizer_encode(&words, text, n_bytes, HEED_TOKENIZER_ADD, tokens, capacity, &n, workspace);
 *   n_chars = heed_tokenizer_decode(&words, previous, token, out, sizeof out);
 *
 * Texts are UTF-8. A byte that is none stays as it is in BPE of bytes, and becomes U+FFFD in all other models.
 * Time: proportional to n log n for a text of n bytes, whatever is in it; the rules' loops look at no byte twice but at the
 * ends of words. Threads: a tokenizer that is open is only read.
 * Source: Sennrich, Haddow, Birch 2016 (BPE); Kudo 2018 (unigram); Wu et al. 2016 (WordPiece); Unicode Standard Annex 15. */
#ifndef HEED_TOKENIZER_H
#define HEED_TOKENIZER_H

#include "heed_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A vocabulary that is open. Fields are private, but n_tokens. */
typedef struct heed_tokenizer {
  int32_t n_tokens;
  const int32_t *facts; /* tokenizer_form.h */
  heed_file_list tokens, added_texts, keys, values;
  const uint8_t *kinds, *classes, *map;
  size_t map_bytes;
  const int32_t *bytes, *sorted, *added, *first, *pairs, *marks, *compositions;
  const float *scores;
  void (*unigram)(void); /* a function of parts.h; null: left out of the program */
} heed_tokenizer;

/* Null, or a sentence: the file has no tokenizer, or it is damaged. Every number of the tables is checked once. */
const char *heed_tokenizer_open(heed_tokenizer *tokenizer, const heed_file *file);
/* The same for a program without floats: a unigram tokenizer, which adds scores in double precision, is refused and not linked. */
const char *heed_tokenizer_open_without_floats(heed_tokenizer *tokenizer, const heed_file *file);

/* What encode takes besides the text, added up. */
enum {
  HEED_TOKENIZER_PLAIN = 0,
  HEED_TOKENIZER_ADD = 1, /* the tokens that the model wants before and after a text, such as [CLS] or <s> */
  HEED_TOKENIZER_SPECIAL =
      2 /* "<|im_start|>" in the text is that token: for texts of the program, not for those of its users */
};

/* Bytes of workspace that are enough for any text of n bytes. A text of short words needs less. */
size_t heed_tokenizer_workspace_bytes(const heed_tokenizer *tokenizer, size_t n);

/* Tokens of a text of n_bytes; *n of them. Null, or a sentence: if there are more than `capacity`, *n says how many, and
 * the first are there. If the workspace is too small, *n is 0, and tokens may have been written. workspace: aligned to 8 bytes. */
const char *heed_tokenizer_encode(const heed_tokenizer *tokenizer, const char *text, size_t n_bytes, int32_t how,
                                  int32_t *tokens, int32_t capacity, int32_t *n, heed_memory workspace);

/* What a token adds to a text: up to `capacity` bytes, without a byte of 0 behind them. Returns how many bytes it has. previous: the
 * token before, or -1. Special tokens have no text. A token may end within a character: heed_tokenizer_whole tells. */
size_t heed_tokenizer_decode(const heed_tokenizer *tokenizer, int32_t previous, int32_t token, char *text,
                             size_t capacity);

/* Of n bytes, those that end with a whole character: what can be shown before the next token comes. */
size_t heed_tokenizer_whole(const char *text, size_t n);

/* The token that is this text in the vocabulary, such as "<|im_end|>"; -1: none is. */
int32_t heed_tokenizer_find(const heed_tokenizer *tokenizer, const char *text, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
