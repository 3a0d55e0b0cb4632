// An encoder of texts or pictures as a program in C. See program.hpp. SPDX-License-Identifier: MIT
#include <algorithm>

#include "program.hpp"

namespace heed_compile {
namespace {

const char header_text[] = R"(/* ${title}
 * heed_compile wrote this file from ${source}. Change it as you like.
 *
 *   static ${name} model;                                       // sizeof(${name}) bytes, all of the memory there is
 *   float result[${NAME}_OUT];                                  // ${result}
 *   const char *error = ${name}_open(&model, file, n_bytes);    // ${name}.heed in memory, aligned to 64; null: good
?text??words? *   if (!error) error = ${name}_text(&model, "a sentence", 10, result);
?text??!words? *   if (!error) error = ${name}_tokens(&model, tokens, n, result);
?picture? *   if (!error) error = ${name}_picture(&model, pixels, result);
 *
${begin_header}
enum {
  ${NAME}_LAYERS = ${n_layers},
  ${NAME}_DIM = ${dim},
  ${NAME}_HEADS = ${n_heads},
  ${NAME}_HEAD_DIM = ${head_dim},
  ${NAME}_FFN_DIM = ${ffn_dim},
?text?  ${NAME}_TOKENS = ${n_tokens},
?picture?  ${NAME}_SIZE = ${image_size},      /* pixels of a side */
?picture?  ${NAME}_PATCH = ${patch_size},
?picture?  ${NAME}_CHANNELS = ${n_channels},
  ${NAME}_ROWS = ${rows},           /* ${rows_are} */
  ${NAME}_OUT = ${out}
};
#define ${NAME}_WORKSPACE_BYTES                                                                                          \
  HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(${NAME}_ROWS, ${NAME}_DIM, ${NAME}_HEADS, ${NAME}_HEADS, ${NAME}_HEAD_DIM, \
                                        ${NAME}_HEAD_DIM, ${NAME}_FFN_DIM, 0)
?labels?
?labels?extern const char *const ${name}_labels[${NAME}_OUT];

/* Takes the rows of each layer as they are computed; layer ${NAME}_LAYERS: the result. heed_receipt_see is one. */
typedef void ${name}_see(void *user, int32_t layer, int64_t first, heed_matrix rows);

/* The model at work. Fields but executor, see, see_user and fault_layer are private. */
typedef struct ${name} {
  HEED_ALIGNED unsigned char workspace[${NAME}_WORKSPACE_BYTES];
  HEED_ALIGNED float x[${NAME}_ROWS * ${NAME}_DIM];
?first_row?  float first[${first_rows} * ${NAME}_DIM]; /* rows that the result needs, as the last layer writes them */
?pooler?  float pooled[${NAME}_DIM];
?text?  int32_t tokens[${NAME}_ROWS];
?picture?  float patch[${NAME}_PATCH * ${NAME}_PATCH * ${NAME}_CHANNELS];
  heed_file file;
?words?  heed_tokenizer words;
?text?  heed_weights embedding;
?token_types?  const float *token_types;
?picture?  heed_weights patches;
?picture?  const float *class_token, *patches_bias${distillation_field};
  const float *positions;
?embedding_norm?  const float *embedding_norm_weight, *embedding_norm_bias;
?final_norm?  const float *final_norm_weight, *final_norm_bias;
?pooler?  heed_weights pooler;
?pooler?  const float *pooler_bias;
?classes?  heed_weights classes;
?classes?  const float *classes_bias;
  heed_attention_layer attention[${NAME}_LAYERS];
  heed_transformer_layer layers[${NAME}_LAYERS];
?known?  float result[${NAME}_OUT]; /* while known answers are compared: the last row, and digests */
?known?  heed_receipt_layer known[${NAME}_LAYERS];
?known?  int32_t fault_layer;                      /* the first one that differed from them, or -1: see ${name}_open */
  const heed_executor *executor; /* null, or set after ${name}_open */
  ${name}_see *see;
  void *see_user;
} ${name};

${open}
?text?
?text?/* result (${NAME}_OUT): ${result}, of n tokens, up to ${NAME}_ROWS, with those that the model wants around a text. */
?text?const char *${name}_tokens(${name} *m, const int32_t *tokens, int32_t n, float *result);
?words?
?words?/* The same of a text of n bytes. */
?words?const char *${name}_text(${name} *m, const char *text, size_t n, float *result);
?picture?
?picture?/* result (${NAME}_OUT): ${result}, of a picture (${NAME}_SIZE, ${NAME}_SIZE, ${NAME}_CHANNELS): rows of pixels with their channels side by
?picture? * side, as numbers that the model was trained with (such as (byte / 255 - mean) / deviation). */
?picture?const char *${name}_picture(${name} *m, const float *pixels, float *result);

${end_header})";

const char source_text[] = R"(${find_weights}
/* A layer. Behind each weight stands its name in ${source}. */
static const char *open_layer(${name} *m, int32_t l) {
  heed_attention_layer *const a = &m->attention[l];
  heed_transformer_layer *const t = &m->layers[l];
  const char *error;
  *a = heed_attention_layer_default(${NAME}_DIM, ${NAME}_HEADS);
  *t = heed_transformer_layer_default(a, ${NAME}_FFN_DIM, ${norm}, ${activation});
?norm_first?  t->norm_first = 1;
  t->eps = ${eps};
${weights}
?first_row?  if (l == ${NAME}_LAYERS - 1) t->out_rows = ${first_rows}; /* the result needs no other */
  return error;
}

static const char *open_file(${name} *m, const void *file, size_t n_bytes) {
  const char *error = heed_file_open(&m->file, file, n_bytes);
  if (!error) error = heed_file_check(&m->file);
  m->executor = NULL;
  m->see = NULL;
  m->see_user = NULL;
?words?  if (!error) error = heed_tokenizer_open(&m->words, &m->file);
${outside}  for (int32_t l = 0; !error && l < ${NAME}_LAYERS; ++l) error = open_layer(m, l);
  return error;
}

/* ---------------------------------------------------------------------------------------------------------- network */

static void show(const ${name} *m, int32_t layer, const float *rows, int32_t n, int32_t dim) {
  if (m->see) m->see(m->see_user, layer, 0, heed_matrix_of(rows, n, dim));
}

/* x (n, ${NAME}_DIM) through all layers, in place${one_row}. */
static heed_status run_layers(${name} *m, int32_t n) {
  heed_status status = HEED_OK;
  const heed_memory workspace = heed_memory_of(m->workspace, sizeof m->workspace);
  for (int32_t l = 0; status == HEED_OK && l < ${NAME}_LAYERS; ++l) {
?first_row?    const int32_t n_out = l == ${NAME}_LAYERS - 1 ? ${first_rows} : n;
?first_row?    const heed_matrix_out y = heed_matrix_out_of(n_out < n ? m->first : m->x, n_out, ${NAME}_DIM);
?!first_row?    const int32_t n_out = n;
?!first_row?    const heed_matrix_out y = heed_matrix_out_of(m->x, n, ${NAME}_DIM);
    status = heed_transformer_layer_run(&m->layers[l], heed_matrix_of(m->x, n, ${NAME}_DIM), y, workspace, m->executor);
?first_row?    for (int32_t i = 0; n_out < n && i < n_out * ${NAME}_DIM; ++i) m->x[i] = m->first[i];
    if (status == HEED_OK) show(m, l, m->x, n_out, ${NAME}_DIM);
  }
?final_norm?  if (status == HEED_OK)
?final_norm?    status = ${norm}(heed_matrix_of(m->x, ${pooled_rows}, ${NAME}_DIM), m->final_norm_weight, m->final_norm_bias, ${eps},
?final_norm?                     heed_matrix_out_of(m->x, ${pooled_rows}, ${NAME}_DIM), m->executor);
  return status;
}

/* The result of n rows that have passed through the layers. */
static heed_status run_head(${name} *m, int32_t n, float *result) {
  heed_status status = HEED_OK;
?!mean?  (void)n;
?mean?  status = heed_mean_rows(heed_matrix_of(m->x, n, ${NAME}_DIM), result, m->executor);
?plain_first?  for (int32_t i = 0; i < ${NAME}_DIM; ++i) result[i] = m->x[i];
?normalizes?  if (status == HEED_OK)
?normalizes?    status = heed_l2_norm(heed_matrix_of(result, 1, ${NAME}_DIM), NULL, NULL, 0.0f, heed_matrix_out_of(result, 1, ${NAME}_DIM), m->executor);
?pooler?  const heed_matrix_out to_pooled = heed_matrix_out_of(m->pooled, 1, ${NAME}_DIM);
?pooler?  status = heed_linear(heed_matrix_of(m->x, 1, ${NAME}_DIM), m->pooler, m->pooler_bias, to_pooled, m->executor);
?pooler?  if (status == HEED_OK) status = ${pooler_activation}(heed_matrix_of(m->pooled, 1, ${NAME}_DIM), heed_no_matrix(), to_pooled, m->executor);
?classes?  if (status == HEED_OK)
?classes?    status = heed_linear(heed_matrix_of(${pooled}, 1, ${class_dim}), m->classes, m->classes_bias, heed_matrix_out_of(result, 1, ${NAME}_OUT), m->executor);
  if (status == HEED_OK) show(m, ${NAME}_LAYERS, result, 1, ${NAME}_OUT);
  return status;
}
?text?
?text?const char *${name}_tokens(${name} *m, const int32_t *tokens, int32_t n, float *result) {
?text?  if (n < 1) return "there are no tokens";
?text?  if (n > ${NAME}_ROWS) return "the text is longer than the model can see: see ${NAME}_ROWS";
?text?  for (int32_t i = 0; i < n; ++i)
?text?    if (tokens[i] < 0 || tokens[i] >= ${NAME}_TOKENS) return "a token is not one of the model's";
?text?  /* The sum of embeddings: of the token, of its kind, which is 0, and of its position. */
?text?  const heed_matrix_out x = heed_matrix_out_of(m->x, n, ${NAME}_DIM);
?text?  const heed_matrix as_read = heed_matrix_of(m->x, n, ${NAME}_DIM);
?text?  heed_status status = heed_gather_rows(m->embedding, tokens, x);
?token_types?  heed_matrix kind = heed_matrix_of(m->token_types, n, ${NAME}_DIM);
?token_types?  kind.row_stride = 0;
?token_types?  if (status == HEED_OK) status = heed_add(as_read, kind, x, m->executor);
?offset?  /* Positions are counted from ${position_offset}. */
?offset?  const float *const positions = m->positions + ${position_offset} * ${NAME}_DIM;
?text??!offset?  const float *const positions = m->positions;
?text?  if (status == HEED_OK) status = heed_add(as_read, heed_matrix_of(positions, n, ${NAME}_DIM), x, m->executor);
?embedding_norm?  if (status == HEED_OK)
?embedding_norm?    status = ${norm}(as_read, m->embedding_norm_weight, m->embedding_norm_bias, ${eps}, x, m->executor);
?text?  if (status == HEED_OK) status = run_layers(m, n);
?text?  if (status == HEED_OK) status = run_head(m, n, result);
?text?  return status == HEED_OK ? NULL : heed_refused;
?text?}
?words?
?words?const char *${name}_text(${name} *m, const char *text, size_t n, float *result) {
?words?  int32_t n_tokens = 0;
?words?  const char *error = heed_tokenizer_encode(&m->words, text, n, HEED_TOKENIZER_ADD, m->tokens, ${NAME}_ROWS, &n_tokens,
?words?                                            heed_memory_of(m->workspace, sizeof m->workspace));
?words?  return error ? error : ${name}_tokens(m, m->tokens, n_tokens, result);
?words?}
?picture?
?picture?/* Number i of a picture. */
?known??picture?static uint32_t mixed(uint32_t i);
?picture?static float pixel(const float *pixels, int32_t i) {
?known??picture?  if (pixels == NULL) return (float)(mixed((uint32_t)i) >> 24) / 128.0f - 1.0f; /* of the known answers, in no memory */
?picture?  return pixels[i];
?picture?}
?picture?
?picture?static const char *run_picture(${name} *m, const float *pixels, float *result) {
?picture?  enum { side = ${NAME}_SIZE / ${NAME}_PATCH, row = ${NAME}_PATCH * ${NAME}_CHANNELS };
?picture?  heed_status status = HEED_OK;
?picture?  for (int32_t i = 0; i < ${NAME}_DIM; ++i) m->x[i] = m->class_token[i];
?distillation?  for (int32_t i = 0; i < ${NAME}_DIM; ++i) m->x[${NAME}_DIM + i] = m->distillation_token[i];
?picture?  /* A patch is a row of numbers: its pixels, line by line. */
?picture?  for (int32_t p = 0; status == HEED_OK && p < side * side; ++p) {
?picture?    const int32_t corner = (p / side * ${NAME}_PATCH * ${NAME}_SIZE + p % side * ${NAME}_PATCH) * ${NAME}_CHANNELS;
?picture?    for (int32_t i = 0; i < ${NAME}_PATCH * row; ++i)
?picture?      m->patch[i] = pixel(pixels, corner + i / row * ${NAME}_SIZE * ${NAME}_CHANNELS + i % row);
?picture?    status = heed_linear(heed_matrix_of(m->patch, 1, ${NAME}_PATCH * row), m->patches, m->patches_bias,
?picture?                         heed_matrix_out_of(m->x + (ptrdiff_t)(${n_special_rows} + p) * ${NAME}_DIM, 1, ${NAME}_DIM), m->executor);
?picture?  }
?picture?  if (status == HEED_OK)
?picture?    status = heed_add(heed_matrix_of(m->x, ${NAME}_ROWS, ${NAME}_DIM), heed_matrix_of(m->positions, ${NAME}_ROWS, ${NAME}_DIM),
?picture?                      heed_matrix_out_of(m->x, ${NAME}_ROWS, ${NAME}_DIM), m->executor);
?picture?  if (status == HEED_OK) status = run_layers(m, ${NAME}_ROWS);
?picture?  if (status == HEED_OK) status = run_head(m, ${NAME}_ROWS, result);
?picture?  return status == HEED_OK ? NULL : heed_refused;
?picture?}
?picture?
?picture?const char *${name}_picture(${name} *m, const float *pixels, float *result) {
?picture?  return pixels ? run_picture(m, pixels, result) : "there is no picture";
?picture?}
${known_answers}
const char *${name}_open(${name} *m, const void *file, size_t n_bytes) {
  const char *error = open_file(m, file, n_bytes);
?known?  m->fault_layer = -1;
?known?  if (!error) error = compare_known_answers(m);
  return error;
}
)";

const char known_text_run[] = R"(  int32_t tokens[${n_known}];
  for (int32_t i = 0; i < ${n_known}; ++i) {
    tokens[i] = (int32_t)(mixed((uint32_t)i) % ${NAME}_TOKENS);
    heed_receipt_token(&receipt, i, tokens[i]);
  }
  error = ${name}_tokens(m, tokens, ${n_known}, m->result);
)";

const char known_picture_run[] = "  error = run_picture(m, NULL, m->result);\n";

}  // namespace

program write_encoder(const network &net, const choices &c, const std::vector<tensor> &weights) {
  const auto yes = [](bool is) { return std::string(is ? "1" : ""); };
  const bool is_text = net.what == task::encoder, has_classes = net.n_classes > 0;
  const bool first_row = net.pool == network::pooling::first;
  const std::string n_first = std::to_string(net.n_class_rows);
  const int32_t rows = context_of(net, c);
  std::map<std::string, std::string> v = shared_values(net, c, weights);
  const std::map<std::string, std::string> own = {
      {"image_size", std::to_string(net.image_size)},
      {"patch_size", std::to_string(net.patch_size)},
      {"n_channels", std::to_string(net.n_channels)},
      {"rows", std::to_string(rows)},
      {"rows_are", is_text ? "tokens at most" : "the class token and the patches"},
      {"out", std::to_string(has_classes ? net.n_classes : net.dim)},
      {"result", has_classes      ? "numbers of classes, of which the greatest is most probable"
                 : net.normalizes ? "an embedding of length 1"
                                  : "an embedding"},
      {"text", yes(is_text)},
      {"picture", yes(!is_text)},
      {"words", yes(is_text && has(weights, "tokenizer"))},

      {"norm_first", yes(net.norm_first)},
      {"outside", lines_outside(net, weights)},
      {"token_types", yes(net.has_token_types)},
      {"offset", yes(net.position_offset > 0)},
      {"distillation", yes(net.n_special_rows == 2)},
      {"distillation_field", net.n_special_rows == 2 ? ", *distillation_token" : ""},
      {"n_special_rows", std::to_string(net.n_special_rows)},
      {"position_offset", std::to_string(net.position_offset)},
      {"embedding_norm", yes(net.has_embedding_norm)},
      {"final_norm", yes(net.has_final_norm)},
      {"pooler", yes(net.has_pooler)},
      {"pooler_activation", net.pooler_activation},
      {"classes", yes(has_classes)},
      {"pooled", net.has_pooler ? "m->pooled" : "m->x"},
      {"first_row", yes(first_row)},
      {"pooled_rows", first_row ? n_first : "n"},
      {"first_rows", n_first},
      {"class_dim", net.n_class_rows == 2 ? "2 * " + v["NAME"] + "_DIM" : v["NAME"] + "_DIM"},
      {"one_row", first_row ? "; of the last one only rows that the result needs are computed to the end" : ""},
      {"mean", yes(!has_classes && net.pool == network::pooling::mean)},
      {"plain_first", yes(!has_classes && first_row)},
      {"normalizes", yes(!has_classes && net.normalizes)}};
  v.insert(own.begin(), own.end());
  v["known_answers"] = known_answers_text(v, is_text ? known_text_run : known_picture_run);
  return {filled(header_text, v), filled(source_text, v)};
}

}  // namespace heed_compile
