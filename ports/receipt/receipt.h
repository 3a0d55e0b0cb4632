/* A receipt of a run: what was computed, from what, and a digest of the rows of each layer, as a text that a program writes while
 * it computes. heed_replay computes the same rows on another machine, and says "equal", or where they differ first.
 * C99 and C++, in memory of the caller. SPDX-License-Identifier: MIT
 *
 *   static heed_receipt_layer layers[N_LAYERS];
 *   static heed_receipt receipt;
 *   heed_receipt_settings s = heed_receipt_settings_default("dreams", heed_isa_arithmetic(heed_isa_current()),
 *                                                          &heed_receipt_sha256, write_line, NULL);
 *   s.model = digest_of_the_file, s.layers = layers, s.n_layers = N_LAYERS, s.level = HEED_RECEIPT_LAYERS;
 *   const char *error = heed_receipt_begin(&receipt, &s);                  // null: good
 *   net.see = heed_receipt_see, net.see_user = &receipt;                   // the network shows its rows
 *   heed_receipt_token(&receipt, position, token);
 *   heed_receipt_end(&receipt);
 *
 * The text has a line for each fact, in this order:
 *
 *   heed-receipt 1                 the version of this format
 *   contract HEX32                 heed_isa_contract: the rules of lib/arithmetic.hpp
 *   arithmetic NAME                fma, no-fma or integers
 *   program NAME                   the network
 *   model HEX256                   SHA-256 of the model's file
 *   digest NAME                    fingerprint or sha256: see below
 *   level NAME                     logits, layers or rows
 *   setting NAME VALUE             what else the bits depend on
 *   input NAME COUNT HEX256        numbers that went in
 *   token STEP NUMBER              tokens, in their order
 *   row LAYER ROW HEX128           a row of logits (of the layer behind the last one) or, at level rows, of any layer
 *   layer LAYER ROWS HEX128        at the end: all rows of a layer, in their order (level layers)
 *   end HEX256                     SHA-256 of all lines before: `sed '$d' receipt | sha256sum` gives it
 *
 * Digests: sha256 is SHA-256 of the rows' numbers, little-endian, with each NaN as 7fc00000. fingerprint is SHA-256 of 16 bytes for each
 * 256 numbers, and for those that are left. The bytes are two sums, modulo 2^64, of the numbers' bits times fixed odd words of 32 bits.
 * It takes a tenth of the time. Inputs have digests of the same kind. A change of one number always changes the fingerprint; other
 * changes keep it by chance alone. Who chooses all numbers can find two rows with one fingerprint. That is of no use to a forger:
 * heed_replay computes the rows itself, from model and tokens, and compares their digests.
 * Cost, stack: README.md. Threads: calls on different receipts may run at once.
 * Source: FIPS 180-4 (SHA-256); Carter and Wegman 1979 (the sums). */
#ifndef HEED_RECEIPT_H
#define HEED_RECEIPT_H

#include "heed/heed.h"
#include "heed/int_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_RECEIPT_VERSION 1
#define HEED_RECEIPT_DIGEST_BYTES 32
#define HEED_RECEIPT_ROW_BYTES 16 /* of a digest of rows, which are its first */

/* SHA-256 as the program has it: in sha256.h, mbedTLS (receipt_mbedtls.h), or a unit of the chip. A state may be copied. */
#define HEED_RECEIPT_HASH_BYTES 128
typedef union heed_receipt_state {
  uint64_t words[HEED_RECEIPT_HASH_BYTES / 8];
} heed_receipt_state;
typedef struct heed_receipt_hash {
  size_t state_bytes; /* at most HEED_RECEIPT_HASH_BYTES */
  void (*begin)(void *state);
  void (*add)(void *state, const void *bytes, size_t n);
  void (*end)(void *state, uint8_t digest[HEED_RECEIPT_DIGEST_BYTES]);
} heed_receipt_hash;
extern const heed_receipt_hash heed_receipt_sha256; /* sha256.c */

/* What is kept of the rows: those of logits alone, the digest of each layer, too, or the digest of each row of each layer. */
typedef enum heed_receipt_level {
  HEED_RECEIPT_LOGITS = 0,
  HEED_RECEIPT_LAYERS = 1,
  HEED_RECEIPT_ROWS = 2
} heed_receipt_level;

/* The digest of numbers as they come, in any pieces. */
typedef struct heed_receipt_stream {
  heed_receipt_state state;
  uint64_t sums[2]; /* of a fingerprint that is not full */
  uint32_t n;       /* numbers so far, modulo 2^32 */
} heed_receipt_stream;

/* One layer's digest as it grows. */
typedef struct heed_receipt_layer {
  heed_receipt_stream numbers;
  uint32_t n_rows;
} heed_receipt_layer;

/* Takes a line of n characters, which ends with a line feed and a 0. */
typedef void heed_receipt_write(void *user, const char *line, size_t n);

typedef struct heed_receipt_settings {
  const heed_receipt_hash *hash;
  heed_receipt_write *write;
  void *user;                 /* for write */
  const char *program;        /* up to 31 letters, digits, - and _ */
  const uint8_t *model;       /* (HEED_RECEIPT_DIGEST_BYTES): SHA-256 of the model's file */
  heed_receipt_layer *layers; /* (n_layers) at level layers, else null */
  int32_t n_layers;           /* rows of layer n_layers are logits */
  int32_t level;              /* heed_receipt_level */
  int32_t is_exact;           /* 1: SHA-256 of all bits instead of fingerprints */
  int32_t arithmetic;         /* heed_isa_arithmetic(heed_isa_current()), or HEED_ARITHMETIC_INTEGERS */
} heed_receipt_settings;
static inline heed_receipt_settings heed_receipt_settings_default(const char *program, int32_t arithmetic,
                                                                  const heed_receipt_hash *hash,
                                                                  heed_receipt_write *write, void *user) {
  const heed_receipt_settings s = {hash, write,     user, program, HEED_NULL, HEED_NULL, 0, HEED_RECEIPT_LOGITS,
                                   0,    arithmetic};
  return s;
}

/* A receipt that is being written. Fields are private. */
typedef struct heed_receipt {
  heed_receipt_settings settings;
  heed_receipt_state text; /* of all lines so far */
} heed_receipt;

/* Writes the first lines. Returns null, or a sentence that says what is wrong; then nothing was written. */
const char *heed_receipt_begin(heed_receipt *receipt, const heed_receipt_settings *settings);

/* What the bits depend on besides model and inputs, such as the dtype of a cache. Name and value have up to 31 letters, digits,
 * '.', '-' and '_'; others are written as '_'. */
void heed_receipt_setting(heed_receipt *receipt, const char *name, const char *value);

/* Numbers that go in, whose bits are words of 16 or 32 bits, in as many pieces as they come: samples of sound, a sensor's rows.
 * end writes their line. */
void heed_receipt_input_begin(const heed_receipt *receipt, heed_receipt_stream *input);
void heed_receipt_input_16(const heed_receipt *receipt, heed_receipt_stream *input, const int16_t *numbers, int32_t n);
void heed_receipt_input_32(const heed_receipt *receipt, heed_receipt_stream *input, const float *numbers, int32_t n);
void heed_receipt_input_end(heed_receipt *receipt, heed_receipt_stream *input, const char *name);

/* Memory that the run reads, such as packed weights: an input of n bytes with their SHA-256. So bits that change no number
 * of the run are seen, too. */
void heed_receipt_memory(heed_receipt *receipt, const char *name, const void *bytes, size_t n);

void heed_receipt_token(heed_receipt *receipt, int64_t step, int32_t token);

/* The rows of a layer, from row `first` on; of layer n_layers: logits. Rows come in their order. A network calls it through its
 * hook `see`; receipt is a heed_receipt. */
void heed_receipt_see(void *receipt, int32_t layer, int64_t first, heed_matrix rows);
/* The same with rows of integers, each of which counts as a number of 32 bits; and with one row of such numbers. */
void heed_receipt_see_int(void *receipt, int32_t layer, int64_t first, heed_int_matrix rows);
void heed_receipt_see_words(void *receipt, int32_t layer, int64_t row, const int32_t *numbers, int32_t n);

/* Writes the digests of layers and the last line. */
void heed_receipt_end(heed_receipt *receipt);

/* SHA-256 of a file in memory, for settings.model. */
void heed_receipt_digest(const heed_receipt_hash *hash, const void *bytes, size_t n,
                         uint8_t digest[HEED_RECEIPT_DIGEST_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
