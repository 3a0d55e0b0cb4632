/* SHA-256 of mbedTLS (2.28 or 3), for receipt.h: where a firmware has that library, or a unit of the chip behind it.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_RECEIPT_MBEDTLS_H
#define HEED_RECEIPT_MBEDTLS_H

#include "receipt.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const heed_receipt_hash heed_receipt_mbedtls;

#ifdef __cplusplus
}
#endif

#endif
