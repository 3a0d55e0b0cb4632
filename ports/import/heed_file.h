/* Weights as one flat file, which firmware links or maps and reads where it lies: what heed_import writes.
 * SPDX-License-Identifier: MIT
 *
 *   heed_file file;
 *   heed_weights wq;
 *   const float *norm;
 *   const char *error = heed_file_open(&file, data, n_bytes);                      // null: good
 *   if (!error) error = heed_file_weights(&file, "layers.0.wq", 288, 288, &wq);
 *   if (!error) error = heed_file_floats(&file, "layers.0.norm", 288, &norm);
 *
 * The file is little-endian. Offsets count bytes from its beginning. What they point to is aligned to 64 bytes, but for
 * names, and what lies between is 0.
 *
 *   0    header      the 8 bytes "HEEDFILE", then words of 32 bits: version (1), bytes of the file, number of tensors, bytes
 *                    of header, entries and names together (a multiple of 64), sum of entries and names, the word 0x01020304,
 *                    8 words of 0
 *   64   entries     16 words for each tensor: offset of its name (which ends with a byte of 0), format, layout, number of
 *                    dimensions, 4 dimensions (1 where there are fewer), offset and bytes of the numbers, number of scales,
 *                    offset of the scales, offset of the zero points (0: none), sum of all three, 2 words of 0
 *        names
 *        numbers     for each tensor: numbers, then scales, then zero points
 *
 * A sum is FNV-1a over words of 32 bits. The last word is filled up with bytes of 0. It tells a damaged file, not a forged
 * one. */
#ifndef HEED_FILE_H
#define HEED_FILE_H

/* heed.h of the two files beside this one has all; else the headers are those of the source or of an installed heed. */
#ifdef __has_include
#if __has_include("heed.h")
#include "heed.h"
#endif
#endif
#ifndef HEED_HEED_H
#include "heed/heed.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_FILE_VERSION 1
#define HEED_FILE_ALIGNMENT 64
#define HEED_FILE_HEADER_BYTES 64
#define HEED_FILE_ENTRY_BYTES 64
#define HEED_FILE_MAX_DIMS 4

/* Formats of a tensor: those of heed_dtype from HEED_F32 to HEED_Q4_0, and these. Number q is (q - zero) * scale in the
 * first two: zero points are bytes of the same kind. It is q * scale + zero in the others: zero points are floats, product
 * and sum are each rounded. There is one scale and one zero point, or there is one for each output. A text has bytes alone. A list of
 * texts has their number, where each ends (counted from the first text), and the texts. I32 are integers, such as kinds of tokens;
 * so are I16, which heed_file_find finds. */
typedef enum heed_file_format {
  HEED_FILE_U8 = 16,
  HEED_FILE_I8 = 17,
  HEED_FILE_U8_PLUS = 18,
  HEED_FILE_I8_PLUS = 19,
  HEED_FILE_TEXT = 20,
  HEED_FILE_LIST = 21,
  HEED_FILE_I32 = 22,
  HEED_FILE_I16 = 23
} heed_file_format;

typedef struct heed_file {
  const uint8_t *data;
  uint32_t n_bytes, n_tensors;
} heed_file;

/* One tensor. As a matrix of weights it has n_in inputs and n_out outputs: HEED_OUT_IN is (n_out, all other dimensions),
 * HEED_IN_OUT is (all other dimensions, n_out), and a vector is (n_out). */
typedef struct heed_file_tensor {
  const char *name;
  const void *data;
  const float *scales; /* (n_scales) */
  const void *zeros;   /* (n_scales), or null */
  uint32_t n_bytes, n_scales;
  int32_t dtype, layout; /* heed_dtype or heed_file_format; heed_weights_layout */
  int32_t n_dims, dims[HEED_FILE_MAX_DIMS];
  int32_t n_in, n_out;
} heed_file_tensor;

/* These functions return null, or a sentence that says what is wrong. They write nothing to the file. */

/* Checks header, entries and names, and that all they point to lies inside. The numbers are not read. data is aligned to 64
 * bytes, and stays where it is. There may be more bytes than the file has. */
const char *heed_file_open(heed_file *file, const void *data, size_t n_bytes);

/* Reads every number, and compares the sums. */
const char *heed_file_check(const heed_file *file);

/* For a processor of the other byte order, before heed_file_open: swaps the bytes of the numbers, in place. On a little-endian
 * processor, and the second time, it does nothing. */
const char *heed_file_swap(void *data, size_t n_bytes);

/* Tensor i, from 0 to n_tensors - 1. */
heed_file_tensor heed_file_tensor_at(const heed_file *file, uint32_t i);

/* The tensor of this name. */
const char *heed_file_find(const heed_file *file, const char *name, heed_file_tensor *tensor);

/* A tensor as weights of this shape, for heed_linear and for layers. heed_file_weights takes HEED_F32, HEED_F16, HEED_BF16
 * and HEED_INT8; heed_file_zero_points takes HEED_FILE_U8 and HEED_FILE_I8; heed_file_blocks takes HEED_Q8_0 and HEED_Q4_0;
 * heed_file_packed takes what heed_weights_pack has made. A program links what it calls. */
const char *heed_file_weights(const heed_file *file, const char *name, int32_t n_in, int32_t n_out, heed_weights *w);
const char *heed_file_zero_points(const heed_file *file, const char *name, int32_t n_in, int32_t n_out,
                                  heed_weights *w);
const char *heed_file_blocks(const heed_file *file, const char *name, int32_t n_in, int32_t n_out, heed_weights *w);
const char *heed_file_packed(const heed_file *file, const char *name, int32_t n_in, int32_t n_out, heed_weights *w);

/* A tensor of n floats of HEED_F32, whatever its dimensions. */
const char *heed_file_floats(const heed_file *file, const char *name, int32_t n, const float **floats);

/* A text of n bytes, such as a receipt for heed_golden_begin. No byte of 0 ends it. */
const char *heed_file_text(const heed_file *file, const char *name, const char **text, size_t *n);

/* A list of texts, such as the tokens of a vocabulary, checked once; then text i, from 0 to n - 1, of *n_bytes. */
typedef struct heed_file_list {
  const uint8_t *ends, *texts;
  uint32_t n;
} heed_file_list;
const char *heed_file_open_list(const heed_file *file, const char *name, heed_file_list *list);
const char *heed_file_text_at(const heed_file_list *list, uint32_t i, size_t *n_bytes);

/* A tensor of n integers of HEED_FILE_I32. */
const char *heed_file_integers(const heed_file *file, const char *name, int32_t n, const int32_t **integers);

/* What the source says of its model by numbers, such as "llama.block_count": the value as text, of n bytes. The text "metadata" has
 * a line "KEY VALUE" for each. Texts, lists and arrays are tensors, which have the key as their name. */
const char *heed_file_value(const heed_file *file, const char *key, const char **value, size_t *n);
const char *heed_file_whole_number(const heed_file *file, const char *key, int64_t least, int64_t most,
                                   int64_t *number);

/* Links the file at `path` into a program of GCC or clang, outside of functions. heed_file_open then takes
 *
 *   HEED_FILE_LINK(model_file, "model.heed")
 *   const char *error = heed_file_open(&file, model_file, HEED_FILE_LINKED_BYTES(model_file)); */
#define HEED_FILE_LINK(name, path)                                                                     \
  __asm__(".pushsection .rodata." #name ",\"a\"\n.balign 64\n.global " #name ", " #name "_end\n" #name \
          ":\n.incbin \"" path "\"\n" #name "_end:\n.popsection\n");                                   \
  extern const unsigned char name[], name##_end[];
#define HEED_FILE_LINKED_BYTES(name) ((size_t)(name##_end - name))

#ifdef __cplusplus
}
#endif

#endif
