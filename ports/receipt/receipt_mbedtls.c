/* See receipt_mbedtls.h. A receipt copies states, so that of mbedTLS lies in the caller's memory: a build whose
 * mbedtls_sha256_context points elsewhere (MBEDTLS_SHA256_ALT) must keep it whole in the struct. SPDX-License-Identifier: MIT */
#include "receipt_mbedtls.h"

#include <mbedtls/sha256.h>
#include <mbedtls/version.h>

/* The software of mbedTLS cannot fail. A unit that does leaves zeros, which no receipt has. */
#if MBEDTLS_VERSION_NUMBER < 0x03000000
#define mbedtls_sha256_starts mbedtls_sha256_starts_ret
#define mbedtls_sha256_update mbedtls_sha256_update_ret
#define mbedtls_sha256_finish mbedtls_sha256_finish_ret
#endif

typedef char the_state_fits[sizeof(mbedtls_sha256_context) <= HEED_RECEIPT_HASH_BYTES ? 1 : -1];

static void begin(void *state) {
  mbedtls_sha256_init((mbedtls_sha256_context *)state);
  mbedtls_sha256_starts((mbedtls_sha256_context *)state, 0);
}
static void add(void *state, const void *bytes, size_t n) {
  mbedtls_sha256_update((mbedtls_sha256_context *)state, (const unsigned char *)bytes, n);
}
static void end(void *state, uint8_t digest[HEED_RECEIPT_DIGEST_BYTES]) {
  if (mbedtls_sha256_finish((mbedtls_sha256_context *)state, digest) != 0)
    for (int i = 0; i < HEED_RECEIPT_DIGEST_BYTES; ++i) digest[i] = 0;
}

const heed_receipt_hash heed_receipt_mbedtls = {sizeof(mbedtls_sha256_context), begin, add, end};
