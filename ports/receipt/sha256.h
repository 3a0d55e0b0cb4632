/* SHA-256 (FIPS 180-4) in C99, for chips without a library or a unit that has it. No heap, no variable of its own, no C
 * library but memcpy. It is small, not fast, and its time does not depend on the bytes. SPDX-License-Identifier: MIT */
#ifndef HEED_RECEIPT_SHA256_H
#define HEED_RECEIPT_SHA256_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHA256_BYTES 32

typedef struct sha256 {
  uint32_t state[8];
  uint64_t n_bytes; /* added so far */
  uint8_t block[64];
} sha256;

void sha256_begin(sha256 *s);
void sha256_add(sha256 *s, const void *bytes, size_t n);
void sha256_end(sha256 *s, uint8_t digest[SHA256_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
