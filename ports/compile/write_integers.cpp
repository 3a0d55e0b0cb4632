// An encoder of texts or pictures in integers as a program in C. See integers.hpp. SPDX-License-Identifier: MIT
#include "integers.hpp"

namespace heed_compile {
namespace {

const char header_text[] = R"(/* ${title} In integers: no number is a float.
 * heed_compile wrote this file from ${source}. Change it as you like.
 *
 *   static ${name} model;                                       // sizeof(${name}) bytes, all of the memory there is
 *   ${number} result[${NAME}_OUT];                                // ${result}
 *   const char *error = ${name}_open(&model, file, n_bytes);    // ${name}.heed in memory, aligned to 64; null: good
?text??words? *   if (!error) error = ${name}_text(&model, "a sentence", 10, result);
?text??!words? *   if (!error) error = ${name}_tokens(&model, tokens, n, result);
?picture? *   if (!error) error = ${name}_picture(&model, pixels, result);
 *
 * An integer of the result stands for itself times ${result_unit}. As a heed_multiplier, which is m * 2^(e - 31), that unit
 * is {${NAME}_RESULT_M, ${NAME}_RESULT_E}. The zero point is 0.
?picture? *
?picture? * A pixel p stands for (p - ${NAME}_PIXEL_ZERO) * ${pixel_unit}, which is {${NAME}_PIXEL_M, ${NAME}_PIXEL_E}: of the numbers that the
?picture? * model was trained with.
 *
${begin_header}
enum {
  ${NAME}_LAYERS = ${n_layers},
  ${NAME}_DIM = ${dim},
  ${NAME}_HEADS = ${n_heads},
  ${NAME}_KV_HEADS = ${n_kv_heads},
  ${NAME}_HEAD_DIM = ${head_dim},
  ${NAME}_FFN_DIM = ${ffn_dim},
?text?  ${NAME}_TOKENS = ${n_tokens},
?picture?  ${NAME}_SIZE = ${image_size},      /* pixels of a side */
?picture?  ${NAME}_PATCH = ${patch_size},
?picture?  ${NAME}_CHANNELS = ${n_channels},
?picture?  ${NAME}_PATCH_NUMBERS = ${NAME}_PATCH * ${NAME}_PATCH * ${NAME}_CHANNELS,
?picture?  ${NAME}_PIXEL_ZERO = ${pixel_zero},
?picture?  ${NAME}_PIXEL_M = ${pixel_m},
?picture?  ${NAME}_PIXEL_E = ${pixel_e},
  ${NAME}_ROWS = ${rows},           /* ${rows_are} */
  ${NAME}_PIECE = ${piece},          /* rows that are computed together: more take memory and change no bit */
  ${NAME}_OUT = ${out},
  ${NAME}_RESULT_M = ${result_m},
  ${NAME}_RESULT_E = ${result_e}
};
#define ${NAME}_WORKSPACE_BYTES                                                                                     \
  (HEED_INT_LAYER_MIN_BYTES(${NAME}_ROWS, ${NAME}_DIM, ${NAME}_HEADS, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM, ${NAME}_FFN_DIM, ${gated}) + \
   (${NAME}_PIECE - 1) * HEED_INT_LAYER_SIZE_OF_ROW(${NAME}_DIM, ${NAME}_HEADS, ${NAME}_HEAD_DIM, ${NAME}_FFN_DIM, ${gated}))
?labels?
?labels?extern const char *const ${name}_labels[${NAME}_OUT];

/* Takes the rows of each layer as they are computed; layer ${NAME}_LAYERS: the result. heed_receipt_see_int is one. */
typedef void ${name}_see(void *user, int32_t layer, int64_t first, heed_int_matrix rows);

/* What the file has of each layer, and besides. Matrices are (outputs, inputs), int8, and each output has a unit of its own. A zero
 * point is in the biases around it. Behind a name stands the one in ${source}. */
typedef struct ${name}_layer_words {
${layer_words}} ${name}_layer_words;
typedef struct ${name}_layer_bytes {
${layer_bytes}} ${name}_layer_bytes;
typedef struct ${name}_words {
${outside_words}} ${name}_words;
typedef struct ${name}_bytes {
${outside_bytes}} ${name}_bytes;

/* The model at work. Fields but see, see_user and fault_layer are private. */
typedef struct ${name} {
  HEED_ALIGNED unsigned char workspace[${NAME}_WORKSPACE_BYTES];
  HEED_ALIGNED int16_t x[${NAME}_ROWS * ${NAME}_DIM];
?first_row?  int16_t first[${first_rows} * ${NAME}_DIM]; /* rows that the result needs, as the last layer writes them */
?mean?  int16_t mean[${NAME}_DIM];
?classes?  int8_t head[${first_rows} * ${NAME}_DIM];
?pooler?  int8_t pooled[${NAME}_DIM];
?text?  int32_t tokens[${NAME}_ROWS];
?picture?  int8_t patch[${NAME}_PATCH_NUMBERS];
  heed_file file;
?words?  heed_tokenizer words;
  heed_int_layer layer; /* the one that runs: here and not on the stack, which is small */
  const ${name}_layer_words *layer_words[${NAME}_LAYERS];
  const ${name}_layer_bytes *layer_bytes[${NAME}_LAYERS];
  const ${name}_words *outside;
  const ${name}_bytes *tables;
?known?  ${number} result[${NAME}_OUT]; /* while known answers are compared: the last row, and digests */
?known?  heed_receipt_layer known[${NAME}_LAYERS];
?known?  int32_t fault_layer;                      /* the first one that differed from them, or -1: see ${name}_open */
  ${name}_see *see; /* null, or set after ${name}_open */
  void *see_user;
} ${name};

${open}
?text?
?text?/* result (${NAME}_OUT): ${result}, of n tokens, up to ${NAME}_ROWS, with those that the model wants around a text. */
?text?const char *${name}_tokens(${name} *m, const int32_t *tokens, int32_t n, ${number} *result);
?words?
?words?/* The same of a text of n bytes. */
?words?const char *${name}_text(${name} *m, const char *text, size_t n, ${number} *result);
?picture?
?picture?/* result (${NAME}_OUT): ${result}, of a picture (${NAME}_SIZE, ${NAME}_SIZE, ${NAME}_CHANNELS): rows of pixels with their channels side by
?picture? * side. */
?picture?const char *${name}_picture(${name} *m, const int8_t *pixels, ${number} *result);

${end_header})";

const char source_text[] = R"(${begin}
${find_numbers}static const char *open_file(${name} *m, const void *file, size_t n_bytes) {
  const void *words = NULL, *bytes = NULL;
  const char *error = heed_file_open(&m->file, file, n_bytes);
  if (!error) error = heed_file_check(&m->file);
  m->see = NULL;
  m->see_user = NULL;
  if (!error) error = numbers(m, "words", HEED_FILE_I32, sizeof(${name}_words), &words);
  if (!error) error = numbers(m, "bytes", HEED_FILE_I8, sizeof(${name}_bytes), &bytes);
  m->outside = (const ${name}_words *)words;
  m->tables = (const ${name}_bytes *)bytes;
  for (int32_t l = 0; !error && l < ${NAME}_LAYERS; ++l) error = find_layer(m, l);
?words?  if (!error) error = heed_tokenizer_open_without_floats(&m->words, &m->file);
${begin_layer}  return error;
}

/* ---------------------------------------------------------------------------------------------------------- network */

${rows_of}static void show(const ${name} *m, int32_t layer, heed_int_matrix rows) {
  if (m->see) m->see(m->see_user, layer, 0, rows);
}

${open_layer}/* x (n, ${NAME}_DIM) through all layers, in place${one_row}. */
static heed_status run_layers(${name} *m, int32_t n) {
  heed_status status = HEED_OK;
  const heed_memory workspace = heed_memory_of(m->workspace, sizeof m->workspace);
  for (int32_t l = 0; status == HEED_OK && l < ${NAME}_LAYERS; ++l) {
?first_row?    const int32_t is_last = l == ${NAME}_LAYERS - 1, n_out = is_last ? ${first_rows} : n;
?first_row?    int16_t *const y = is_last ? m->first : m->x;
?!first_row?    const int32_t n_out = n;
?!first_row?    int16_t *const y = m->x;
    open_layer(m, l);
?first_row?    m->layer.out_rows = is_last ? ${first_rows} : 0; /* the result needs no other */
    status = heed_int_layer_run(&m->layer, rows_of(m->x, n), rows_out(y, n_out), workspace, NULL);
    if (status == HEED_OK) show(m, l, rows_of(y, n_out));
  }
  return status;
}
?mean?
?mean?/* The mean of n rows, halves away from zero, with 2^mean_shift times their resolution. */
?mean?static void make_mean(${name} *m, int32_t n) {
?mean?  for (int32_t i = 0; i < ${NAME}_DIM; ++i) {
?mean?    int64_t sum = 0;
?mean?    for (int32_t r = 0; r < n; ++r) sum += m->x[(ptrdiff_t)r * ${NAME}_DIM + i];
?mean?    sum *= (int64_t)2 << m->outside->mean_shift;
?mean?    const int64_t mean = (sum + (sum < 0 ? -n : n)) / (2 * (int64_t)n);
?mean?    m->mean[i] = (int16_t)(mean < -32767 ? -32767 : mean > 32767 ? 32767 : mean);
?mean?  }
?mean?}

/* The result of n rows that have passed through the layers. */
static heed_status run_head(${name} *m, int32_t n, ${number} *result) {
  const ${name}_words *const w = m->outside;
  heed_status status = HEED_OK;
?!mean?  (void)n;
?final_norm?  const heed_int_norm final_norm = norm_of(w->final_norm_weight, w->final_norm_bias, w->final_norm_shift, w->final_norm_eps);
?wide_norm?  status = ${norm}(rows_of(${rows_name}, ${n_rows}), final_norm, rows_out(${rows_name}, ${n_rows}), NULL);
?mean?  if (status == HEED_OK) make_mean(m, n);
?classes?  const heed_int_matrix_out head = heed_int_matrix_out_of(m->head, HEED_INT8, ${first_rows}, ${NAME}_DIM, w->head_zero);
?classes??narrow_norm?  status = ${norm}(rows_of(m->first, ${first_rows}), final_norm, head, NULL);
?classes??!narrow_norm?  if (status == HEED_OK) status = heed_int_rescale(rows_of(${pooled}, ${first_rows}), w->to_head, head, NULL);
?pooler?  if (status == HEED_OK)
?pooler?    status = project(m->head, linear_of(m->tables->pooler, ${NAME}_DIM, ${NAME}_DIM, w->bias_pooler, w->of_pooler), m->pooled, HEED_INT8);
?pooler?  if (status == HEED_OK)
?pooler?    status = heed_int_lookup(heed_int_matrix_of(m->pooled, HEED_INT8, 1, ${NAME}_DIM, 0), m->tables->pooler_activation,
?pooler?                             heed_int_matrix_out_of(m->head, HEED_INT8, 1, ${NAME}_DIM, 0), NULL);
?classes?  const heed_int_projection classes =
?classes?      linear_of(m->tables->classes, ${first_rows} * ${NAME}_DIM, ${NAME}_OUT, w->bias_classes, w->of_classes);
?classes?  if (status == HEED_OK) status = project(m->head, classes, result, HEED_INT16);
?embedding?  const heed_int_matrix_out y = heed_int_matrix_out_of(result, HEED_INT8, 1, ${NAME}_OUT, 0);
?normalizes?  /* An RMS norm whose weights are 1 / sqrt(${NAME}_DIM) makes the length 1. */
?normalizes?  const heed_int_norm length = norm_of(w->unit_length_weight, w->unit_length_bias, w->unit_length_shift, w->unit_length_eps);
?normalizes?  if (status == HEED_OK) status = heed_int_rms_norm(rows_of(${pooled}, 1), length, y, NULL);
?plain??narrow_norm?  status = ${norm}(rows_of(${pooled}, 1), final_norm, y, NULL);
?plain??!narrow_norm?  if (status == HEED_OK) status = heed_int_rescale(rows_of(${pooled}, 1), w->to_head, y, NULL);
  if (status == HEED_OK) show(m, ${NAME}_LAYERS, heed_int_matrix_of(result, ${result_dtype}, 1, ${NAME}_OUT, 0));
  return status;
}
?text?
?text?const char *${name}_tokens(${name} *m, const int32_t *tokens, int32_t n, ${number} *result) {
?text?  const ${name}_words *const w = m->outside;
?text?  heed_status status = HEED_OK;
?text?  if (n < 1) return "there are no tokens";
?text?  if (n > ${NAME}_ROWS) return "the text is longer than the model can see: see ${NAME}_ROWS";
?text?  for (int32_t i = 0; i < n; ++i)
?text?    if (tokens[i] < 0 || tokens[i] >= ${NAME}_TOKENS) return "a token is not one of the model's";
?text?  /* The sum of embeddings: of the token, and of its position, which has that of its kind in it. */
?text?  for (int32_t i = 0; status == HEED_OK && i < n; ++i)
?text?    status = heed_int_add(row_of(m->tables->embedding, tokens[i]), w->of_embedding[tokens[i]], row_of(m->tables->positions, i),
?text?                          w->of_positions[i], rows_out(m->x + (ptrdiff_t)i * ${NAME}_DIM, 1), NULL);
?embedding_norm?  if (status == HEED_OK)
?embedding_norm?    status = ${norm}(rows_of(m->x, n), norm_of(w->embedding_norm_weight, w->embedding_norm_bias, w->embedding_norm_shift, w->embedding_norm_eps),
?embedding_norm?                     rows_out(m->x, n), NULL);
?text?  if (status == HEED_OK) status = run_layers(m, n);
?text?  if (status == HEED_OK) status = run_head(m, n, result);
?text?  return status == HEED_OK ? NULL : heed_refused;
?text?}
?words?
?words?const char *${name}_text(${name} *m, const char *text, size_t n, ${number} *result) {
?words?  int32_t n_tokens = 0;
?words?  const char *error = heed_tokenizer_encode(&m->words, text, n, HEED_TOKENIZER_ADD, m->tokens, ${NAME}_ROWS, &n_tokens,
?words?                                            heed_memory_of(m->workspace, sizeof m->workspace));
?words?  return error ? error : ${name}_tokens(m, m->tokens, n_tokens, result);
?words?}
?picture?
?picture?/* Number i of a picture. */
?known??picture?static uint32_t mixed(uint32_t i);
?picture?static int8_t pixel(const int8_t *pixels, int32_t i) {
?known??picture?  if (pixels == NULL) return (int8_t)((int32_t)(mixed((uint32_t)i) >> 24) - 128); /* of the known answers, in no memory */
?picture?  return pixels[i];
?picture?}
?picture?
?picture?static const char *run_picture(${name} *m, const int8_t *pixels, ${number} *result) {
?picture?  enum { side = ${NAME}_SIZE / ${NAME}_PATCH, row = ${NAME}_PATCH * ${NAME}_CHANNELS };
?picture?  const ${name}_words *const w = m->outside;
?picture?  const heed_int_projection patches = linear_of(m->tables->patches, ${NAME}_PATCH_NUMBERS, ${NAME}_DIM, w->bias_patches, w->of_patches);
?picture?  heed_status status = HEED_OK;
?picture?  for (int32_t i = 0; i < ${n_special_rows} * ${NAME}_DIM; ++i) m->x[i] = (int16_t)w->special_rows[i];
?picture?  /* A patch is a row of numbers: its pixels, line by line. */
?picture?  for (int32_t p = 0; status == HEED_OK && p < side * side; ++p) {
?picture?    const int32_t corner = (p / side * ${NAME}_PATCH * ${NAME}_SIZE + p % side * ${NAME}_PATCH) * ${NAME}_CHANNELS;
?picture?    int16_t *const y = m->x + (ptrdiff_t)(${n_special_rows} + p) * ${NAME}_DIM;
?picture?    for (int32_t i = 0; i < ${NAME}_PATCH_NUMBERS; ++i)
?picture?      m->patch[i] = pixel(pixels, corner + i / row * ${NAME}_SIZE * ${NAME}_CHANNELS + i % row);
?picture?    status = project(m->patch, patches, y, HEED_INT16);
?picture?    if (status == HEED_OK)
?picture?      status = heed_int_add(rows_of(y, 1), heed_multiplier_one(), row_of(m->tables->positions, p), w->of_positions[p], rows_out(y, 1), NULL);
?picture?  }
?picture?  if (status == HEED_OK) status = run_layers(m, ${NAME}_ROWS);
?picture?  if (status == HEED_OK) status = run_head(m, ${NAME}_ROWS, result);
?picture?  return status == HEED_OK ? NULL : heed_refused;
?picture?}
?picture?
?picture?const char *${name}_picture(${name} *m, const int8_t *pixels, ${number} *result) {
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

program write_integers(const network &net, const choices &c, const integer_model &m,
                       const std::vector<tensor> &weights) {
  const auto yes = [](bool is) { return std::string(is ? "1" : ""); };
  const bool is_text = net.what == task::encoder, has_classes = net.n_classes > 0;
  const bool is_mean = net.pool == network::pooling::mean, is_wide = has_wide_final_norm(net);
  const std::string n_first = std::to_string(net.n_class_rows);
  const heed_multiplier pixel = calibrate::multiplier(m.pixels.scale);
  std::map<std::string, std::string> v = integer_values(net, c, m, weights);
  const std::map<std::string, std::string> own = {
      {"image_size", std::to_string(net.image_size)},
      {"patch_size", std::to_string(net.patch_size)},
      {"n_channels", std::to_string(net.n_channels)},
      {"pixel_zero", std::to_string(m.pixels.zero)},
      {"pixel_m", std::to_string(pixel.m)},
      {"pixel_e", std::to_string(pixel.e)},
      {"pixel_unit", decimal(m.pixels.scale)},
      {"rows", std::to_string(m.rows)},
      {"rows_are", is_text ? "tokens at most" : "the class token and the patches"},
      {"out", std::to_string(has_classes ? net.n_classes : net.dim)},
      {"result", has_classes      ? "numbers of classes, of which the greatest is most probable"
                 : net.normalizes ? "an embedding of length 1"
                                  : "an embedding"},
      {"number", has_classes ? "int16_t" : "int8_t"},
      {"result_dtype", has_classes ? "HEED_INT16" : "HEED_INT8"},
      {"text", yes(is_text)},
      {"picture", yes(!is_text)},
      {"words", yes(is_text && has(weights, "tokenizer"))},
      {"n_special_rows", std::to_string(net.n_special_rows)},
      {"embedding_norm", yes(net.has_embedding_norm)},
      {"final_norm", yes(net.has_final_norm)},
      {"wide_norm", yes(is_wide)},
      {"narrow_norm", yes(net.has_final_norm && !is_wide)},
      {"rows_name", is_mean ? "m->x" : "m->first"},
      {"n_rows", is_mean ? "n" : n_first},
      {"pooled", is_mean ? "m->mean" : "m->first"},
      {"pooler", yes(net.has_pooler)},
      {"classes", yes(has_classes)},
      {"embedding", yes(!has_classes)},
      {"normalizes", yes(!has_classes && net.normalizes)},
      {"plain", yes(!has_classes && !net.normalizes)},
      {"first_row", yes(!is_mean)},
      {"first_rows", n_first},
      {"one_row", is_mean ? "" : "; of the last one only rows that the result needs are computed to the end"},
      {"mean", yes(is_mean)}};
  v.insert(own.begin(), own.end());
  v["known_answers"] = known_answers_text(v, is_text ? known_text_run : known_picture_run);
  return {filled(header_text, v), filled(source_text, v)};
}

}  // namespace heed_compile
