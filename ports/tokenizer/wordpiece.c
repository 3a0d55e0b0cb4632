/* WordPiece: the longest token that a word begins with, then the longest that goes on. A word that cannot be made whole is unknown.
 * SPDX-License-Identifier: MIT */
#include "parts.h"

/* The longest token that `from` begins with, or nothing; *n_bytes of the text that it has. */
static int32_t longest_token(const heed_tokenizer *t, text from, int goes_on, size_t *n_bytes) {
  tokenizer_range r = {0, t->facts[fact_n_sorted]};
  const size_t begin = goes_on ? 2 : 0; /* ## */
  int32_t best = -1;
  for (size_t depth = 0; depth < begin; ++depth) r = tokenizer_narrow(&t->tokens, t->sorted, r, depth, '#');
  for (size_t i = 0; i < from.n && r.low < r.high; ++i) {
    r = tokenizer_narrow(&t->tokens, t->sorted, r, begin + i, from.data[i]);
    const int32_t entry = tokenizer_whole_entry(&t->tokens, t->sorted, r, begin + i + 1);
    if (entry >= 0) best = t->sorted[entry], *n_bytes = i + 1;
  }
  return best;
}

static int is_too_long(const heed_tokenizer *t, text word) {
  int32_t n = 0;
  for (size_t n_bytes; word.n > 0; word = text_from(word, n_bytes)) {
    character_at(word.data, word.n, &n_bytes);
    if (++n > t->facts[fact_longest_word]) return 1;
  }
  return 0;
}

void tokenizer_wordpiece(const heed_tokenizer *t, text word, tokenizer_output *out) {
  const int64_t n_before = out->n;
  const int is_wordlike = !is_too_long(t, word);
  size_t at = 0, n_bytes = 0;
  while (is_wordlike && at < word.n) {
    const int32_t token = longest_token(t, text_from(word, at), at > 0, &n_bytes);
    if (token < 0) break;
    tokenizer_put(out, token);
    at += n_bytes;
  }
  if (at == word.n) return;
  out->n = n_before;
  tokenizer_put(out, t->facts[fact_unknown]);
}
