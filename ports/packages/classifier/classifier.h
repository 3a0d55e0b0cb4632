/* A whole classifier in integers: a typed word, one letter of which may be wrong, is recognised. Embedding, two layers, norm and
 * head are int8 and int16; no number is a float, so every processor gives the same bits. Another model is another
 * classifier_model.h: train.py made this one. C99 and C++. SPDX-License-Identifier: MIT */
#ifndef CLASSIFIER_H
#define CLASSIFIER_H

#include "classifier_model.h"
#include "int_model.h"

/* Enough for all rows at once; HEED_INT_LAYER_MIN_BYTES is slower, with the same bits. */
HEED_MEMORY(classifier_memory, HEED_INT_LAYER_BYTES(n_rows, dim, n_heads, n_heads, dim / n_heads, hidden, 0));

/* Letters to rows of int16, in the scale that the layers take. */
static heed_status classifier_embed(const char *word, int16_t *x) {
  int8_t of_letters[n_rows][dim];
  int i = 0;
  for (int row = 0; row < n_rows; row++) {
    const int inside = row > 0 && word[i] >= 'a' && word[i] <= 'z';
    const int8_t *from = letters[inside ? word[i] - 'a' + 1 : 0];
    for (int k = 0; k < dim; k++) of_letters[row][k] = from[k];
    i += inside;
  }
  return heed_int_add(heed_int_matrix_of(of_letters[0], HEED_INT8, n_rows, dim, 0), of_embedding,
                      heed_int_matrix_of(places[0], HEED_INT8, n_rows, dim, 0), of_embedding,
                      heed_int_matrix_out_of(x, HEED_INT16, n_rows, dim, 0), HEED_NULL);
}

/* scores (n_words); the greatest tells the word. word: lower-case letters, of which 7 are read. */
static heed_status classify(int_model *model, const char *word, int8_t *scores) {
  static int16_t x[n_rows * dim];
  int16_t first[dim];
  int8_t normed[dim];
  const heed_int_norm norm = {norm_weight, norm_bias, norm_shift, norm_eps};
  heed_status status = classifier_embed(word, x);
  if (status == HEED_OK) status = int_model_run_rows(model, x, n_rows, 1, first, classifier_memory); /* row 0 alone */
  if (status == HEED_OK)
    status = heed_int_layer_norm(heed_int_matrix_of(first, HEED_INT16, 1, dim, 0), norm,
                                 heed_int_matrix_out_of(normed, HEED_INT8, 1, dim, 0), HEED_NULL);
  if (status == HEED_OK)
    status = heed_int_linear(heed_int_matrix_of(normed, HEED_INT8, 1, dim, 0),
                             heed_weights_of(head[0], HEED_NULL, HEED_INT8, HEED_OUT_IN, dim, n_words), head_bias,
                             head_multipliers, heed_int_matrix_out_of(scores, HEED_INT8, 1, n_words, 0), HEED_NULL);
  return status;
}

static const char *classifier_best(const int8_t *scores) {
  int best = 0;
  for (int i = 1; i < n_words; i++)
    if (scores[i] > scores[best]) best = i;
  return words[best];
}

/* FNV-1a of all scores: the same on every computer. */
static inline uint32_t classifier_sum(uint32_t sum, const int8_t *scores) {
  for (int i = 0; i < n_words; i++) sum = (sum ^ (uint8_t)scores[i]) * 16777619u;
  return sum;
}
enum { classifier_n_typed = 8 };
static const char *const classifier_typed[classifier_n_typed] = {"onn", "of",   "lefft", "rigth",
                                                                 "upp", "dwon", "stpo",  "gp"};
static const uint32_t classifier_known = 0xc21c1370u;

#endif
