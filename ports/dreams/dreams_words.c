/* The tokenizer, and the choice of the next token. See dreams.h. SPDX-License-Identifier: MIT */
#include "dreams.h"

enum {
  begin_token = 1,
  first_byte_token = 3,
  entry_bytes = 8,     /* f32 score, int32 length; then the string */
  most_bytes = 1 << 24 /* of a string */
};

/* ------------------------------------------------------------------------------------------------------------ words */

typedef struct string {
  const unsigned char *data;
  int32_t n;
} string;

static uint32_t word_at(const unsigned char *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static float score_of(const dreams_words *w, int32_t token) {
  const union {
    uint32_t bits;
    float number;
  } score = {word_at(w->bytes + w->at[token])};
  return score.number;
}

static string string_of(const dreams_words *w, int32_t token) {
  const unsigned char *entry = w->bytes + w->at[token];
  const string s = {entry + entry_bytes, (int32_t)word_at(entry + 4)};
  return s;
}

/* Negative, 0, positive: a followed by b comes before c, is c, comes after c. */
static int compare(string a, string b, string c) {
  for (int32_t i = 0; i < a.n + b.n && i < c.n; ++i) {
    const int left = i < a.n ? a.data[i] : b.data[i - a.n];
    if (left != c.data[i]) return left - c.data[i];
  }
  return a.n + b.n - c.n;
}

static const string empty = {NULL, 0};

/* Strings in ascending order, equal ones by their tokens. */
static int comes_before(const dreams_words *w, int32_t a, int32_t b) {
  const int order = compare(string_of(w, a), empty, string_of(w, b));
  return order != 0 ? order < 0 : a < b;
}

/* Heap sort: the greatest of the first n moves to their end. */
static void sift(dreams_words *w, int32_t at, int32_t n) {
  uint32_t *heap = w->sorted;
  for (int32_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && comes_before(w, (int32_t)heap[child], (int32_t)heap[child + 1])) ++child;
    if (!comes_before(w, (int32_t)heap[at], (int32_t)heap[child])) return;
    const uint32_t parent = heap[at];
    heap[at] = heap[child];
    heap[child] = parent;
  }
}

static void sort(dreams_words *w) {
  for (int32_t i = 0; i < w->n_tokens; ++i) w->sorted[i] = (uint32_t)i;
  for (int32_t i = w->n_tokens / 2; i-- > 0;) sift(w, i, w->n_tokens);
  for (int32_t n = w->n_tokens; n-- > 1;) {
    const uint32_t greatest = w->sorted[0];
    w->sorted[0] = w->sorted[n];
    w->sorted[n] = greatest;
    sift(w, 0, n);
  }
}

dreams_status dreams_words_open(dreams_words *words, const void *bytes, size_t n_bytes, int32_t n_tokens,
                                heed_memory memory, int32_t *bad_token) {
  int32_t nowhere;
  if (bad_token == NULL) bad_token = &nowhere;
  *bad_token = -1;
  if (words == NULL || bytes == NULL || memory.data == NULL) return DREAMS_NULL_POINTER;
  words->bytes = NULL;
  if ((uintptr_t)memory.data % sizeof(uint32_t) != 0) return DREAMS_MISALIGNED;
  if (n_tokens < 1) return DREAMS_WRONG_COUNT;
  if (memory.bytes / DREAMS_WORDS_BYTES(1) < (size_t)n_tokens) return DREAMS_MEMORY;
  if (n_bytes < 4) return DREAMS_WORDS_SHORT;
  if (n_bytes > UINT32_MAX) return DREAMS_WORDS_SIZE;
  words->at = (uint32_t *)memory.data;
  words->sorted = words->at + n_tokens;
  words->longest = 0;
  const unsigned char *p = (const unsigned char *)bytes;
  const uint32_t stated = word_at(p), most = stated < most_bytes ? stated : most_bytes;
  size_t at = 4;
  for (int32_t t = 0; t < n_tokens; ++t) {
    *bad_token = t;
    if (n_bytes - at < entry_bytes) return DREAMS_WORDS_SHORT;
    const uint32_t score = word_at(p + at), length = word_at(p + at + 4);
    if ((score & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000)) return DREAMS_WORDS_SCORE;
    if (length < 1 || length > most) return DREAMS_WORDS_LENGTH;
    if (n_bytes - at - entry_bytes < length) return DREAMS_WORDS_SHORT;
    if ((int32_t)length > words->longest) words->longest = (int32_t)length;
    words->at[t] = (uint32_t)at;
    at += entry_bytes + length;
  }
  *bad_token = -1;
  if (at != n_bytes) return DREAMS_WORDS_SIZE;
  words->bytes = p;
  words->n_tokens = n_tokens;
  sort(words);
  return DREAMS_OK;
}

/* The token of a string in two parts, -1: there is none. */
static int32_t find(const dreams_words *w, string a, string b) {
  int32_t low = 0, high = w->n_tokens; /* the first that does not come before it */
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (compare(a, b, string_of(w, (int32_t)w->sorted[middle])) > 0)
      low = middle + 1;
    else
      high = middle;
  }
  const int32_t token = low < w->n_tokens ? (int32_t)w->sorted[low] : -1;
  return token >= 0 && compare(a, b, string_of(w, token)) == 0 ? token : -1;
}

/* Bytes of the UTF-8 character at p: what follows the first byte begins with the bits 10; never more than four. */
static int32_t character_bytes(const unsigned char *p) {
  int32_t n = 1;
  while (n < 4 && (p[n] & 0xc0) == 0x80) ++n;
  return n;
}

/* The best two neighbours become one token; 0: none can be joined. */
static int join_two(const dreams_words *w, int32_t *tokens, int32_t *n) {
  float best_score = -1e10f;
  int32_t best = -1, joined = -1;
  for (int32_t i = 0; i + 1 < *n; ++i) {
    const int32_t token = find(w, string_of(w, tokens[i]), string_of(w, tokens[i + 1]));
    if (token < 0 || !(score_of(w, token) > best_score)) continue;
    best_score = score_of(w, token);
    best = i;
    joined = token;
  }
  if (best < 0) return 0;
  tokens[best] = joined;
  for (int32_t i = best + 1; i + 1 < *n; ++i) tokens[i] = tokens[i + 1];
  --*n;
  return 1;
}

/* A token, or, where there is none, the bytes of the string. 0: no room. */
static int put(const dreams_words *w, string s, int32_t *tokens, int32_t capacity, int32_t *n) {
  const int32_t token = find(w, s, empty), count = token >= 0 ? 1 : s.n;
  if (count > capacity - *n) return 0;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t byte = first_byte_token + s.data[i];
    tokens[(*n)++] = token >= 0 ? token : byte < w->n_tokens ? byte : 0;
  }
  return 1;
}

dreams_status dreams_encode(const dreams_words *words, const char *text, int32_t *tokens, int32_t capacity,
                            int32_t *n) {
  if (words == NULL || text == NULL || tokens == NULL || n == NULL) return DREAMS_NULL_POINTER;
  if (words->bytes == NULL) return DREAMS_NOT_READY;
  if (words->n_tokens <= begin_token) return DREAMS_TOKEN;
  if (capacity < 1) return DREAMS_TEXT_TOO_LONG;
  const string blank = {(const unsigned char *)" ", 1};
  int32_t count = 1;
  tokens[0] = begin_token;
  if (*text != '\0' && !put(words, blank, tokens, capacity, &count)) return DREAMS_TEXT_TOO_LONG;
  string s;
  for (s.data = (const unsigned char *)text; *s.data != '\0'; s.data += s.n) {
    s.n = character_bytes(s.data);
    if (!put(words, s, tokens, capacity, &count)) return DREAMS_TEXT_TOO_LONG;
  }
  while (join_two(words, tokens, &count)) continue;
  *n = count;
  return DREAMS_OK;
}

static int hex_digit(int c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that a string like <0x0A> stands for, else -1. */
static int byte_of(string s) {
  if (s.n != 6 || s.data[0] != '<' || s.data[1] != '0' || s.data[2] != 'x' || s.data[5] != '>') return -1;
  const int high = hex_digit(s.data[3]), low = hex_digit(s.data[4]);
  return high >= 0 && low >= 0 ? 16 * high + low : -1;
}

int32_t dreams_decode(const dreams_words *words, int32_t previous, int32_t token, char *text, int32_t capacity) {
  if (capacity < 1) return 0;
  text[0] = '\0';
  if (words->bytes == NULL || token < 0 || token >= words->n_tokens) return 0;
  string s = string_of(words, token);
  if (previous == begin_token && s.data[0] == ' ') ++s.data, --s.n;
  const int byte = byte_of(s);
  int32_t n = byte >= 0 ? 1 : s.n;
  if (n > capacity - 1) n = capacity - 1;
  for (int32_t i = 0; i < n; ++i) text[i] = (char)(byte >= 0 ? byte : s.data[i]);
  text[n] = '\0';
  return n;
}

/* ----------------------------------------------------------------------------------------------------------- choice */

/* [0, 1), a multiple of 2^-24: xorshift64* of Vigna 2016. */
static float draw(uint64_t *seed) {
  uint64_t s = *seed != 0 ? *seed : UINT64_C(0x9e3779b97f4a7c15);
  s ^= s >> 12;
  s ^= s << 25;
  s ^= s >> 27;
  *seed = s;
  return (float)(uint32_t)((s * UINT64_C(0x2545f4914f6cdd1d)) >> 40) * 0x1p-24f;
}

int32_t dreams_choose(dreams_choice *choice, const float *logits, int32_t n, heed_memory workspace) {
  int32_t token = 0;
  if (choice->temperature > 0.0f) {
    const float top_p = choice->top_p > 0.0f && choice->top_p < 1.0f ? choice->top_p : 1.0f;
    const float random = draw(&choice->seed);
    if (heed_sample(logits, n, choice->temperature, n, top_p, random, &token, workspace) == HEED_OK) return token;
  }
  return heed_argmax(heed_matrix_of(logits, 1, n), &token) == HEED_OK && token > 0 ? token : 0;
}
