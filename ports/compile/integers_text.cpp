// What programs in integers share, whether they are encoders or decoders. See integers.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>

#include "integers.hpp"

namespace heed_compile {
namespace {

// Finds the structs of integers in the file; and the function that a layer has as its norm, if rows have scales of channels.
const char numbers_text[] = R"(/* The integers of a tensor, which are those of a struct of n_bytes. */
static const char *numbers(const ${name} *m, const char *name, int32_t format, size_t n_bytes, const void **data) {
  heed_file_tensor t;
  const char *error = heed_file_find(&m->file, name, &t);
  if (error) return error;
  *data = t.data;
  return t.dtype == format && t.n_bytes == n_bytes ? NULL : heed_refused;
}

static const char *find_layer(${name} *m, int32_t l) {
  char name[48];
  const void *words = NULL, *bytes = NULL;
  const char *error = numbers(m, name_of(name, l, "words"), HEED_FILE_I32, sizeof(${name}_layer_words), &words);
  if (!error) error = numbers(m, name_of(name, l, "bytes"), HEED_FILE_I8, sizeof(${name}_layer_bytes), &bytes);
  m->layer_words[l] = (const ${name}_layer_words *)words;
  m->layer_bytes[l] = (const ${name}_layer_bytes *)bytes;
  return error;
}

?channels?/* The layers' norms. A row has a scale for each number, which int16 and int8 are divided by: a number that is much larger than the
?channels? * others leaves them int8's steps. Behind the weights stand the scales, 2^15 times, which the norm takes away before it starts. */
?channels?static heed_status norm_of_channels(heed_int_matrix x, heed_int_norm norm, heed_int_matrix_out y, const heed_executor *executor) {
?channels?  for (int32_t r = 0; r < x.n_rows; ++r) {
?channels?    const int16_t *const from = (const int16_t *)x.data + r * x.row_stride;
?channels?    int16_t *const to = (int16_t *)y.data + r * y.row_stride;
?channels?    for (int32_t i = 0; i < x.dim; ++i) to[i] = (int16_t)((from[i] * norm.weight[x.dim + i] + 16384) >> 15);
?channels?  }
?channels?  x.data = y.data;
?channels?  x.row_stride = y.row_stride;
?channels?  return ${norm}(x, norm, y, executor);
?channels?}
?channels?
)";

// Of open_file.
const char begin_layer_text[] =
    R"(  m->layer = heed_int_layer_default(${NAME}_DIM, ${NAME}_HEADS, ${NAME}_FFN_DIM, ${layer_norm});
  m->layer.n_kv_heads = ${NAME}_KV_HEADS;
  m->layer.head_dim = ${NAME}_HEAD_DIM;
  m->layer.norm_first = ${norm_first};
)";

const char rows_text[] =
    R"(static heed_int_matrix rows_of(const int16_t *x, int32_t n) { return heed_int_matrix_of(x, HEED_INT16, n, ${NAME}_DIM, 0); }
static heed_int_matrix_out rows_out(int16_t *x, int32_t n) { return heed_int_matrix_out_of(x, HEED_INT16, n, ${NAME}_DIM, 0); }
static heed_int_matrix row_of(const int8_t *table, int32_t row) {
  return heed_int_matrix_of(table + (ptrdiff_t)row * ${NAME}_DIM, HEED_INT8, 1, ${NAME}_DIM, 0);
}
static heed_int_norm norm_of(const int32_t *weight, const int32_t *bias, int32_t shift, uint32_t eps) {
  const heed_int_norm norm = {weight, bias, shift, eps};
  return norm;
}
static heed_int_projection linear_of(const int8_t *w, int32_t n_in, int32_t n_out, const int32_t *bias,
                                     const heed_multiplier *multipliers) {
  const heed_int_projection linear = {heed_weights_of(w, NULL, HEED_INT8, HEED_OUT_IN, n_in, n_out), bias, multipliers};
  return linear;
}
?linear?/* y = x times w, plus bias: one row. */
?linear?static heed_status project(const int8_t *x, heed_int_projection l, void *y, int32_t dtype) {
?linear?  return heed_int_linear(heed_int_matrix_of(x, HEED_INT8, 1, l.w.n_in, 0), l.w, l.bias, l.multipliers,
?linear?                         heed_int_matrix_out_of(y, dtype, 1, l.w.n_out, 0), NULL);
?linear?}

)";

const char layer_text[] = R"(static void open_layer(${name} *m, int32_t l) {
  const ${name}_layer_words *const w = m->layer_words[l];
  const ${name}_layer_bytes *const b = m->layer_bytes[l];
  heed_int_layer *const t = &m->layer;
  enum { dim = ${NAME}_DIM, q = ${NAME}_HEADS * ${NAME}_HEAD_DIM, k = ${NAME}_KV_HEADS * ${NAME}_HEAD_DIM, ffn = ${NAME}_FFN_DIM };
  t->wq = linear_of(b->wq, dim, q, w->bias_wq, w->of_wq);
  t->wk = linear_of(b->wk, dim, k, w->bias_wk, w->of_wk);
  t->wv = linear_of(b->wv, dim, k, w->bias_wv, w->of_wv);
  t->wo = linear_of(b->wo, q, dim, w->bias_wo, w->of_wo);
  t->w_up = linear_of(b->w_up, dim, ffn, w->bias_w_up, w->of_w_up);
?gate?  t->w_gate = linear_of(b->w_gate, dim, ffn, w->bias_w_gate, w->of_w_gate);
  t->w_down = linear_of(b->w_down, ffn, dim, w->bias_w_down, w->of_w_down);
  t->norm1 = norm_of(w->norm1_weight, w->norm1_bias, w->norm1_shift, w->norm1_eps);
  t->norm2 = norm_of(w->norm2_weight, w->norm2_bias, w->norm2_shift, w->norm2_eps);
  t->activation = b->activation;
  t->score = w->score;
  t->value = w->value;
?!norm_is_first?  t->to_h = w->to_h;
?!norm_is_first?  t->to_g = w->to_g;
  t->of_x = w->of_x;
  t->of_attention = w->of_attention;
  t->of_a = w->of_a;
  t->of_hidden = w->of_hidden;
?gate?  t->gate = w->gate;
}

)";

}  // namespace

std::map<std::string, std::string> integer_values(const network &net, const choices &c, const integer_model &m,
                                                  const std::vector<tensor> &weights) {
  const auto yes = [](bool is) { return std::string(is ? "1" : ""); };
  const heed_int_layer &first = m.layers.front().layer();
  const bool gated = first.w_gate.w.data != nullptr, has_channels = m.layers.front().has_channels();
  const heed_multiplier result = calibrate::multiplier(m.result_scale);
  std::map<std::string, std::string> v = shared_values(net, c, weights);
  const integer_part layer = part_of_layer(net, m, 0, v["NAME"]), outside = part_outside(net, m, v["NAME"]);
  v["norm"] = net.norm == "heed_layer_norm" ? "heed_int_layer_norm" : "heed_int_rms_norm";
  const std::map<std::string, std::string> own = {{"channels", yes(has_channels)},
                                                  {"layer_norm", has_channels ? "norm_of_channels" : v["norm"]},
                                                  {"n_kv_heads", std::to_string(net.n_kv_heads)},
                                                  {"piece", std::to_string(std::min(c.piece, m.rows))},
                                                  {"gated", gated ? "1" : "0"},
                                                  {"gate", yes(gated)},
                                                  {"norm_first", net.norm_first ? "1" : "0"},
                                                  {"norm_is_first", yes(net.norm_first)},
                                                  {"linear", yes(net.what != task::encoder || net.n_classes > 0)},
                                                  {"result_m", std::to_string(result.m)},
                                                  {"result_e", std::to_string(result.e)},
                                                  {"result_unit", decimal(m.result_scale)},
                                                  {"layer_words", layer.words.fields},
                                                  {"layer_bytes", layer.bytes.fields},
                                                  {"outside_words", outside.words.fields},
                                                  {"outside_bytes", outside.bytes.fields}};
  v.insert(own.begin(), own.end());
  v["find_numbers"] = filled(numbers_text, v);
  v["begin_layer"] = filled(begin_layer_text, v);
  v["rows_of"] = filled(rows_text, v);
  v["open_layer"] = filled(layer_text, v);
  return v;
}

std::string decimal(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

}  // namespace heed_compile
