/* Byte-pair encoding of one word: of two neighbours that are a pair, those of the lowest rank become one token, the first of them
 * if there are several, until there is none. A tournament over all neighbours finds them, so the time is n log n.
 * SPDX-License-Identifier: MIT */
#include "parts.h"

enum { nothing = -1, not_a_pair = INT32_MAX };

/* Symbols of the word, linked in their order. A symbol that has become part of the one before is no more in the list. */
typedef struct symbols {
  int32_t n;
  int32_t *token, *next, *before, *rank; /* rank: of a symbol with the next one */
  int32_t *winner; /* (n): of the tournament; winner[1] has the lowest rank; leaf i stands at n + i */
} symbols;

enum { words_of_a_symbol = 5 };

size_t tokenizer_model_bytes(const heed_tokenizer *t, size_t n) {
  if (t->facts[fact_model] == model_bpe) return sizeof(int32_t) * words_of_a_symbol * n;
  return t->facts[fact_model] == model_unigram ? (sizeof(double) + 2 * sizeof(int32_t)) * (n + 1) : 0;
}

/* The pair of two tokens: (right, rank, both). */
static const int32_t *find_pair(const heed_tokenizer *t, int32_t left, int32_t right) {
  if (left < 0 || right < 0) return NULL;
  int32_t low = t->first[left], high = t->first[left + 1];
  const int32_t end = high;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (t->pairs[3 * (size_t)middle] < right)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == end) return NULL;
  const int32_t *const pair = t->pairs + 3 * (size_t)low;
  return pair[0] == right ? pair : NULL;
}

static void rank_again(const heed_tokenizer *t, const symbols *s, int32_t i) {
  const int32_t *const pair = s->next[i] != nothing ? find_pair(t, s->token[i], s->token[s->next[i]]) : NULL;
  s->rank[i] = pair != NULL ? pair[1] : not_a_pair;
}

static int32_t winner_at(const symbols *s, int32_t place) { return place >= s->n ? place - s->n : s->winner[place]; }
static void play(const symbols *s, int32_t place) {
  const int32_t a = winner_at(s, 2 * place), b = winner_at(s, 2 * place + 1);
  const int a_wins = s->rank[a] < s->rank[b] || (s->rank[a] == s->rank[b] && a < b);
  s->winner[place] = a_wins ? a : b;
}
static void play_up_from(const symbols *s, int32_t i) {
  for (int32_t place = (i + s->n) / 2; place > 0; place /= 2) play(s, place);
}

/* What begins with n bytes left in the word. Without a token it has a number below nothing, which says where that is. */
static void add_symbol(symbols *s, int32_t token, size_t n) {
  const int32_t i = s->n++;
  s->token[i] = token >= 0 ? token : nothing - (int32_t)n;
  s->before[i] = i - 1;
  s->next[i] = i + 1;
}

static void add_characters(const heed_tokenizer *t, text word, symbols *s) {
  for (size_t n_bytes; word.n > 0; word = text_from(word, n_bytes)) {
    character_at(word.data, word.n, &n_bytes);
    const text one = {word.data, n_bytes};
    const int32_t token = n_bytes == 1 ? t->bytes[word.data[0]] : tokenizer_find_token(t, one);
    add_symbol(s, token, word.n);
  }
}

static void put_symbols(const heed_tokenizer *t, text word, const symbols *s, tokenizer_output *out) {
  for (int32_t i = 0; i != nothing; i = s->next[i]) {
    if (s->token[i] >= 0) {
      out->unknown_is_last = 0;
      tokenizer_put(out, s->token[i]);
      continue;
    }
    text one = text_from(word, word.n - (size_t)(nothing - s->token[i]));
    size_t n_bytes = 1;
    if (!(t->facts[fact_flags] & flag_bytes)) character_at(one.data, one.n, &n_bytes);
    one.n = n_bytes;
    tokenizer_put_unknown(t, one, out);
  }
}

int tokenizer_bpe(const heed_tokenizer *t, text word, tokenizer_output *out, heed_memory memory) {
  if (t->facts[fact_flags] & flag_whole_words) {
    const int32_t token = tokenizer_find_token(t, word);
    if (token >= 0) return tokenizer_put(out, token), 1;
  }
  if (word.n > INT32_MAX / 4 || memory.bytes / (sizeof(int32_t) * words_of_a_symbol) < word.n) return 0;
  int32_t *const words = (int32_t *)memory.data;
  symbols s = {0, words, words + word.n, words + 2 * word.n, words + 3 * word.n, words + 4 * word.n};
  if (t->facts[fact_flags] & flag_bytes)
    for (size_t i = 0; i < word.n; ++i) add_symbol(&s, t->bytes[word.data[i]], word.n - i);
  else
    add_characters(t, word, &s);
  s.next[s.n - 1] = nothing;
  for (int32_t i = 0; i < s.n; ++i) rank_again(t, &s, i);
  for (int32_t place = s.n - 1; place > 0; --place) play(&s, place);
  while (s.n > 1) {
    const int32_t left = s.winner[1];
    if (s.rank[left] == not_a_pair) break;
    const int32_t right = s.next[left];
    s.token[left] = find_pair(t, s.token[left], s.token[right])[2];
    s.next[left] = s.next[right];
    if (s.next[left] != nothing) s.before[s.next[left]] = left;
    s.rank[right] = not_a_pair;
    rank_again(t, &s, left);
    play_up_from(&s, right);
    play_up_from(&s, left);
    if (s.before[left] == nothing) continue;
    rank_again(t, &s, s.before[left]);
    play_up_from(&s, s.before[left]);
  }
  put_symbols(t, word, &s, out);
  return 1;
}
