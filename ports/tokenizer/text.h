/* Characters of UTF-8. Private. SPDX-License-Identifier: MIT */
#ifndef HEED_TOKENIZER_TEXT_H
#define HEED_TOKENIZER_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A text in pieces of memory that somebody else keeps. */
typedef struct text {
  const uint8_t *data;
  size_t n;
} text;

static inline text text_from(text t, size_t at) {
  const text rest = {t.data + at, t.n - at};
  return rest;
}

enum { no_character = -1 };

/* The character at p, of n bytes, n at least 1; *n_bytes that it has. Where the bytes are no UTF-8: no_character, and the bytes that no
 * character can begin with (Unicode 15, 3.9, the maximal subpart). */
static inline int32_t character_at(const uint8_t *p, size_t n, size_t *n_bytes) {
  const uint8_t b = p[0];
  *n_bytes = 1;
  if (b < 0x80) return b;
  if (b < 0xc2 || b > 0xf4) return no_character;
  const size_t wanted = b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
  int32_t character = b & (wanted == 2 ? 0x1f : wanted == 3 ? 0x0f : 0x07);
  uint8_t least = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80, most = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < wanted; ++i) {
    if (i >= n || p[i] < least || p[i] > most) return no_character;
    character = character << 6 | (p[i] & 0x3f);
    *n_bytes = i + 1;
    least = 0x80, most = 0xbf;
  }
  return character;
}

/* Writes up to 4 bytes. */
static inline size_t put_character(uint8_t *to, int32_t c) {
  const uint8_t last = (uint8_t)(0x80 | (c & 0x3f)), third = (uint8_t)(0x80 | (c >> 6 & 0x3f));
  if (c < 0x80) {
    to[0] = (uint8_t)c;
    return 1;
  }
  if (c < 0x800) {
    to[0] = (uint8_t)(0xc0 | c >> 6), to[1] = last;
    return 2;
  }
  if (c < 0x10000) {
    to[0] = (uint8_t)(0xe0 | c >> 12), to[1] = third, to[2] = last;
    return 3;
  }
  to[0] = (uint8_t)(0xf0 | c >> 18), to[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f)), to[2] = third, to[3] = last;
  return 4;
}

#endif
