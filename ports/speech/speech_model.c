/* See speech_model.h. SPDX-License-Identifier: MIT */
#include "speech_model.h"

#include "heed/int_products.h"

/* A search through the file, until something is wrong. */
typedef struct search {
  heed_file file;
  const char *error;
  char *name;       /* of the part */
  int32_t n_prefix; /* of which so much stays: "decoder.5." */
  int in_integers;
} search;

static const char *name_of(search *s, const char *part) {
  int32_t n = s->n_prefix;
  while (*part != 0) s->name[n++] = *part++;
  s->name[n] = 0;
  return s->name;
}

static const float *floats(search *s, const char *part, int32_t n) {
  const float *found = NULL;
  if (s->error == NULL) s->error = heed_file_floats(&s->file, name_of(s, part), n, &found);
  return found;
}

static heed_weights matrix(search *s, const char *part, int32_t n_in, int32_t n_out) {
  heed_weights w = heed_weights_of(NULL, NULL, HEED_F32, HEED_IN_OUT, n_in, n_out);
  if (s->error == NULL) s->error = heed_file_packed(&s->file, name_of(s, part), n_in, n_out, &w);
  if (s->error == NULL && s->in_integers && w.dtype == HEED_INT8 && heed_weights_in_integers(&w, w) != HEED_OK)
    s->error = "the weights have no products in integers";
  return w;
}

static heed_weights square(search *s, const char *part) { return matrix(s, part, SPEECH_DIM, SPEECH_DIM); }

static heed_file_tensor bytes_of(search *s, const char *part) {
  heed_file_tensor t = {0};
  if (s->error == NULL) s->error = heed_file_find(&s->file, name_of(s, part), &t);
  if (s->error == NULL && (t.dtype != HEED_FILE_U8 || t.n_scales != 1)) s->error = "the tensor is not of bytes";
  return t;
}

static void find_layer(search *s, speech_layer *l, int decoder) {
  const int32_t up = decoder ? 2 * SPEECH_HIDDEN : SPEECH_HIDDEN;
  l->norm_1 = floats(s, "norm_1", SPEECH_DIM);
  l->wq = square(s, "wq");
  l->wk = square(s, "wk");
  l->wv = square(s, "wv");
  l->wo = square(s, "wo");
  if (decoder) {
    l->norm_cross = floats(s, "norm_cross", SPEECH_DIM);
    l->cross_q = square(s, "cross_q");
    l->cross_k = square(s, "cross_k");
    l->cross_v = square(s, "cross_v");
    l->cross_o = square(s, "cross_o");
  }
  l->norm_2 = floats(s, "norm_2", SPEECH_DIM);
  l->w_up = matrix(s, "w_up", SPEECH_DIM, up);
  l->b_up = floats(s, "b_up", up);
  l->w_down = matrix(s, "w_down", SPEECH_HIDDEN, SPEECH_DIM);
  l->b_down = floats(s, "b_down", SPEECH_DIM);
}

static void find_layers(search *s, speech_layer *layers, int decoder) {
  static const char prefixes[2][9] = {"encoder.", "decoder."};
  for (int32_t l = 0; l < SPEECH_LAYERS; ++l) {
    s->n_prefix = 0;
    name_of(s, prefixes[decoder]);
    s->name[8] = (char)('0' + l);
    s->name[9] = '.';
    s->n_prefix = 10;
    find_layer(s, &layers[l], decoder);
  }
  s->n_prefix = 0;
}

static void find_all(search *s, speech_model *m) {
  m->frequencies = floats(s, "frequencies", SPEECH_ROTARY_DIM / 2);
  m->conv_1 = matrix(s, "conv_1", SPEECH_KERNEL_1, SPEECH_DIM);
  m->group_weight = floats(s, "group_weight", SPEECH_DIM);
  m->group_bias = floats(s, "group_bias", SPEECH_DIM);
  m->conv_2 = matrix(s, "conv_2", SPEECH_KERNEL_2 * SPEECH_DIM, SPEECH_WIDE);
  m->b_conv_2 = floats(s, "b_conv_2", SPEECH_WIDE);
  m->conv_3 = matrix(s, "conv_3", SPEECH_KERNEL_3 * SPEECH_WIDE, SPEECH_DIM);
  m->b_conv_3 = floats(s, "b_conv_3", SPEECH_DIM);
  find_layers(s, m->encoder, 0);
  m->encoder_norm = floats(s, "encoder_norm", SPEECH_DIM);
  find_layers(s, m->decoder, 1);
  m->decoder_norm = floats(s, "decoder_norm", SPEECH_DIM);
  m->embedding = matrix(s, "embedding", SPEECH_DIM, SPEECH_TOKENS);
  m->vocabulary = bytes_of(s, "vocabulary");
}

const char *speech_vocabulary_error(const uint8_t *bytes, size_t n_bytes) {
  size_t at = 0;
  for (int32_t i = 0; i < SPEECH_PIECES; ++i) {
    if (at == n_bytes) return "the vocabulary has fewer than 32000 pieces";
    const size_t length = bytes[at++];
    if (length > n_bytes - at) return "the vocabulary is truncated: it ends in the middle of a piece";
    if (i < SPEECH_SILENT_PIECES && length != 0)
      return "the vocabulary has a text for token 0, 1 or 2, which say nothing";
    at += length;
  }
  return at == n_bytes ? NULL : "the vocabulary has more than 32000 pieces";
}

const char *speech_model_read(speech_model *model, const void *bytes, size_t n_bytes) {
  search s = {{NULL, 0, 0}, NULL, model->name, 0, 0};
  heed_file_tensor mark;
  model->name[0] = 0;
  s.error = heed_file_open(&s.file, bytes, n_bytes);
  if (s.error != NULL) return s.error;
  s.in_integers = heed_file_find(&s.file, "in_integers", &mark) == NULL;
  find_all(&s, model);
  if (s.error == NULL)
    s.error = speech_vocabulary_error((const uint8_t *)model->vocabulary.data, model->vocabulary.n_bytes);
  return s.error;
}

int32_t speech_text(const speech_model *model, int32_t token, const char **text) {
  const uint8_t *at = (const uint8_t *)model->vocabulary.data;
  *text = (const char *)at;
  if (token < 0 || token >= SPEECH_PIECES) return 0;
  for (int32_t i = 0; i < token; ++i) at += 1 + *at;
  *text = (const char *)at + 1;
  return *at;
}

const char *speech_status_text(speech_status status) {
  switch (status) {
    case SPEECH_OK:
      return "no error";
    case SPEECH_NULL_POINTER:
      return "a pointer is null";
    case SPEECH_MISALIGNED:
      return "the object is not aligned to 64 bytes";
    case SPEECH_NOT_READY:
      return "the object was not opened, opening it failed, or it has heard nothing";
    case SPEECH_TOO_SHORT:
      return "the sound is shorter than 895 samples (56 ms)";
    case SPEECH_TOO_LONG:
      return "the sound is longer than SPEECH_MAX_SECONDS";
    case SPEECH_MODEL:
      return "the model's file cannot be used";
    case SPEECH_HEED_FAILED:
      return "heed refused a call";
  }
  return "unknown status";
}
