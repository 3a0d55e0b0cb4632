/* One number for the bits of many rows of floats, the same on a board and on a PC. SPDX-License-Identifier: MIT */
#ifndef HEED_ROWS_DIGEST_H
#define HEED_ROWS_DIGEST_H

#include <stdint.h>

/* FNV-1a over the bytes of n floats; begin with ROWS_DIGEST_BEGIN. */
#define ROWS_DIGEST_BEGIN UINT64_C(14695981039346656037)
static inline uint64_t rows_digest(uint64_t digest, const float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    const union {
      float number;
      uint32_t bits;
    } pun = {x[i]};
    for (int byte = 0; byte < 4; ++byte) digest = (digest ^ (pun.bits >> 8 * byte & 255)) * UINT64_C(1099511628211);
  }
  return digest;
}

#endif
