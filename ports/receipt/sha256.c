/* See sha256.h. SPDX-License-Identifier: MIT */
#include "sha256.h"

#include "receipt.h"

void *memcpy(void *to, const void *from, size_t n); /* there may be no string.h */

/* The first 32 bits of the fractions of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turned(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

/* Round i of eight: the working words take turns in their places, so that none moves. */
#define ROUND(i)                                                                                                      \
  do {                                                                                                                \
    const uint32_t e = s[(12 - (i)) % 8], a = s[(8 - (i)) % 8], f = s[(13 - (i)) % 8], g = s[(14 - (i)) % 8];         \
    const uint32_t b = s[(9 - (i)) % 8], c = s[(10 - (i)) % 8];                                                       \
    const uint32_t first = s[(15 - (i)) % 8] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (g ^ (e & (f ^ g))) + \
                           constants[at + (i)] + w[(at + (i)) % 16];                                                  \
    s[(11 - (i)) % 8] += first;                                                                                       \
    s[(15 - (i)) % 8] = first + (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) | (c & (a | b)));           \
  } while (0)

static void add_block(uint32_t *state, const uint8_t *block) {
  uint32_t w[16], s[8];
  for (int i = 0; i < 16; ++i) {
    const uint8_t *const b = block + 4 * i;
    w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
  }
  for (int i = 0; i < 8; ++i) s[i] = state[i];
  for (int at = 0; at < 64; at += 8) {
    for (int i = at; at >= 16 && i < at + 8; ++i) {
      const uint32_t x = w[(i + 1) % 16], y = w[(i + 14) % 16];
      w[i % 16] +=
          (turned(x, 7) ^ turned(x, 18) ^ x >> 3) + w[(i + 9) % 16] + (turned(y, 17) ^ turned(y, 19) ^ y >> 10);
    }
    ROUND(0);
    ROUND(1);
    ROUND(2);
    ROUND(3);
    ROUND(4);
    ROUND(5);
    ROUND(6);
    ROUND(7);
  }
  for (int i = 0; i < 8; ++i) state[i] += s[i];
}

void sha256_begin(sha256 *s) {
  static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (int i = 0; i < 8; ++i) s->state[i] = first[i];
  s->n_bytes = 0;
}

void sha256_add(sha256 *s, const void *bytes, size_t n) {
  const uint8_t *from = (const uint8_t *)bytes;
  size_t held = (size_t)(s->n_bytes % 64);
  s->n_bytes += n;
  while (n > 0) {
    const size_t some = n < 64 - held ? n : 64 - held;
    if (some == 64) {
      add_block(s->state, from);
    } else {
      memcpy(s->block + held, from, some);
      held += some;
      if (held == 64) add_block(s->state, s->block);
    }
    held %= 64;
    from += some;
    n -= some;
  }
}

void sha256_end(sha256 *s, uint8_t digest[SHA256_BYTES]) {
  static const uint8_t end[64] = {0x80};
  const uint64_t n_bits = s->n_bytes * 8;
  const size_t held = (size_t)(s->n_bytes % 64);
  uint8_t count[8];
  sha256_add(s, end, (held < 56 ? 56 : 120) - held);
  for (int i = 0; i < 8; ++i) count[i] = (uint8_t)(n_bits >> (56 - 8 * i));
  sha256_add(s, count, sizeof count);
  for (int i = 0; i < SHA256_BYTES; ++i) digest[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

/* As a receipt takes it. */
static void begin(void *state) { sha256_begin((sha256 *)state); }
static void add(void *state, const void *bytes, size_t n) { sha256_add((sha256 *)state, bytes, n); }
static void end(void *state, uint8_t digest[SHA256_BYTES]) { sha256_end((sha256 *)state, digest); }
const heed_receipt_hash heed_receipt_sha256 = {sizeof(sha256), begin, add, end};
