/* Unigram: of all ways to cut a word into tokens the one whose scores have the greatest sum (Viterbi). In double precision, as in the
 * implementation that made the models. SPDX-License-Identifier: MIT */
#include "parts.h"

/* A way to each place of the word: its sum, where its last token begins, and that token, or nothing for an unknown character. */
typedef struct ways {
  double *sums;
  int32_t *from, *tokens;
} ways;

enum { no_token = -1, never = -2 };

static void offer(const ways *w, size_t from, size_t to, double score, int32_t token) {
  const double sum = w->sums[from] + score;
  if (w->from[to] != never && !(sum > w->sums[to])) return;
  w->sums[to] = sum;
  w->from[to] = (int32_t)from;
  w->tokens[to] = token;
}

static void offer_from(const heed_tokenizer *t, const ways *w, text word, size_t at, double unknown) {
  size_t n_bytes;
  character_at(word.data + at, word.n - at, &n_bytes);
  tokenizer_range r = {0, t->facts[fact_n_sorted]};
  int has_one = 0;
  for (size_t depth = 0; at + depth < word.n && r.low < r.high; ++depth) {
    r = tokenizer_narrow(&t->tokens, t->sorted, r, depth, word.data[at + depth]);
    const int32_t entry = tokenizer_whole_entry(&t->tokens, t->sorted, r, depth + 1);
    if (entry < 0) continue;
    const int32_t token = t->sorted[entry];
    offer(w, at, at + depth + 1, (double)t->scores[token], token);
    has_one = has_one || depth + 1 == n_bytes;
  }
  if (!has_one) offer(w, at, at + n_bytes, unknown, no_token);
}

int tokenizer_unigram(const heed_tokenizer *t, text word, tokenizer_output *out, heed_memory memory) {
  if (word.n > INT32_MAX / 4 || memory.bytes / tokenizer_model_bytes(t, 0) < word.n + 1) return 0;
  const union {
    int32_t word;
    float number;
  } lowest = {t->facts[fact_lowest_score]};
  const size_t n = word.n + 1;
  ways w = {(double *)memory.data, NULL, NULL};
  w.from = (int32_t *)(void *)(w.sums + n);
  w.tokens = w.from + n;
  for (size_t i = 0; i < n; ++i) w.from[i] = never;
  w.sums[0] = 0.0;
  w.from[0] = 0;
  for (size_t at = 0; at < word.n; ++at)
    if (w.from[at] != never) offer_from(t, &w, word, at, (double)lowest.number - least_unknown);
  /* backwards, to turn the links round; then forwards */
  int32_t after = no_token;
  for (int32_t at = (int32_t)word.n; at > 0;) {
    const int32_t from = w.from[at];
    w.from[at] = after;
    after = at, at = from;
  }
  for (int32_t at = 0; after != no_token; after = w.from[after]) {
    const text piece = {word.data + at, (size_t)(after - at)};
    at = after;
    if (w.tokens[after] == no_token) {
      tokenizer_put_unknown(t, piece, out);
    } else {
      out->unknown_is_last = 0;
      tokenizer_put(out, w.tokens[after]);
    }
  }
  return 1;
}
