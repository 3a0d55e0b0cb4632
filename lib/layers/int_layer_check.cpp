// What a layer in integers must be, and how much memory it takes.
#include "int_layer.hpp"

namespace heed {

// Keys and values of n tokens, which grow with n; in a cache none.
uint64_t layer_keys_bytes(const heed_int_layer &l, int32_t n) {
  if (l.cache) return 0;
  const uint64_t rows =
      static_cast<uint64_t>(n) * static_cast<uint32_t>(l.n_kv_heads) * static_cast<uint32_t>(l.head_dim);
  return 2 * ((rows + 63) / 64 * 64);
}
size_t layer_row_bytes(const heed_int_layer &l) {
  return HEED_INT_LAYER_SIZE_OF_ROW(l.model_dim, l.n_heads, l.head_dim, l.ffn_dim, is_gated_int_layer(l));
}
size_t least_worker_bytes(const heed_int_layer &l) {
  return layer_row_bytes(l) + HEED_INT_LAYER_ROUND(HEED_INT_WORKSPACE_MIN_BYTES(l.head_dim, l.head_dim));
}

namespace {

void check_linear(checker &check, const heed_int_projection &l, int32_t n_in, int32_t n_out, heed_argument argument) {
  check.require(l.w.data != nullptr, HEED_NULL_POINTER, argument);
  check_int_weights(check, l.w, n_in, argument);
  check.require(l.w.n_out == n_out, HEED_SHAPE_MISMATCH, argument);
  if (check.ok() && l.bias) check.array(l.bias, static_cast<size_t>(n_out), access::read, argument);
  if (check.ok()) check.array(l.multipliers, static_cast<size_t>(n_out), access::read, argument);
  if (check.ok()) check_multipliers(check, l.multipliers, n_out, argument);
}

void check_layer_norm(checker &check, const heed_int_norm &norm, int32_t dim, heed_argument weight,
                      heed_argument bias) {
  if (check.ok()) check.array(norm.weight, static_cast<size_t>(dim), access::read, weight);
  if (check.ok() && norm.bias) check.array(norm.bias, static_cast<size_t>(dim), access::read, bias);
  check.require(norm.shift >= 0 && norm.shift <= 30, HEED_OUT_OF_RANGE, weight);
}

// Both terms of a sum are shifted to one scale, so their exponents must be near each other.
void check_two_multipliers(checker &check, heed_multiplier a, heed_multiplier b) {
  check_multiplier(check, a, -31, 30, HEED_ARG_MULTIPLIERS);
  check_multiplier(check, b, -31, 30, HEED_ARG_MULTIPLIERS);
  const int32_t apart = check.ok() ? a.e - b.e : 0;
  check.require(apart >= -14 && apart <= 14, HEED_OUT_OF_RANGE, HEED_ARG_MULTIPLIERS);
}

// What the sizes of memory depend on.
void check_int_layer_shape(checker &check, const heed_int_layer &l) {
  check.count(l.model_dim, HEED_INT_MAX_NORM_DIM, HEED_ARG_MODEL_DIM);
  check.count(l.ffn_dim, HEED_INT_MAX_IN, HEED_ARG_FFN_DIM);
  check.count(l.n_heads, HEED_INT_MAX_IN, HEED_ARG_N_HEADS);
  check.count(l.head_dim, HEED_INT_MAX_DIM, HEED_ARG_HEAD_DIM);
  check.require(!check.ok() || static_cast<int64_t>(l.n_heads) * l.head_dim <= HEED_INT_MAX_IN, HEED_OUT_OF_RANGE,
                HEED_ARG_N_HEADS);
  check.count(l.n_kv_heads, HEED_INT_MAX_IN, HEED_ARG_N_KV_HEADS);
  check.require(!check.ok() || l.n_heads % l.n_kv_heads == 0, HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS);
}

void check_int_layer(checker &check, const heed_int_layer &l) {
  check_int_layer_shape(check, l);
  check.require(l.norm_first == 0 || l.norm_first == 1, HEED_OUT_OF_RANGE, HEED_ARG_NORM_FIRST);
  check.require(l.causal == 0 || l.causal == 1, HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL);
  if (!check.ok()) return;
  const bool gated = is_gated_int_layer(l);
  const int32_t context = context_dim(l), keys = key_dim(l);
  check_linear(check, l.wq, l.model_dim, context, HEED_ARG_WQ);
  check_linear(check, l.wk, l.model_dim, keys, HEED_ARG_WK);
  check_linear(check, l.wv, l.model_dim, keys, HEED_ARG_WV);
  check_linear(check, l.wo, context, l.model_dim, HEED_ARG_WO);
  check_linear(check, l.w_up, l.model_dim, l.ffn_dim, HEED_ARG_W_UP);
  if (gated) check_linear(check, l.w_gate, l.model_dim, l.ffn_dim, HEED_ARG_W_GATE);
  check_linear(check, l.w_down, l.ffn_dim, l.model_dim, HEED_ARG_W_DOWN);
  check.require(l.norm != nullptr, HEED_NULL_POINTER, HEED_ARG_NORM);
  check_layer_norm(check, l.norm1, l.model_dim, HEED_ARG_NORM1_WEIGHT, HEED_ARG_NORM1_BIAS);
  check_layer_norm(check, l.norm2, l.model_dim, HEED_ARG_NORM2_WEIGHT, HEED_ARG_NORM2_BIAS);
  check.pointer(l.activation, 1, HEED_ARG_ACTIVATION);
  if (check.ok()) check.memory(l.activation, 256, access::read, HEED_ARG_ACTIVATION);
  const int32_t up_zero = gated ? l.up_zero : 0;
  const int32_t gate_zero = gated ? l.gate_zero : 0;
  const int32_t zeros[] = {l.h_zero, l.q_zero, l.k_zero, l.v_zero, l.c_zero, l.g_zero, l.u_zero, up_zero, gate_zero};
  for (const int32_t zero : zeros) check.require(zero >= -128 && zero <= 127, HEED_OUT_OF_RANGE, HEED_ARG_LAYER);
  check_multiplier(check, l.score, -31, 0, HEED_ARG_SCORE);
  check_multiplier(check, l.value, -8, 22, HEED_ARG_VALUE);
  check_two_multipliers(check, l.of_x, l.of_attention);
  check_two_multipliers(check, l.of_a, l.of_hidden);
  if (!l.norm_first) check_multiplier(check, l.to_h, -31, 30, HEED_ARG_MULTIPLIERS);
  if (!l.norm_first) check_multiplier(check, l.to_g, -31, 30, HEED_ARG_MULTIPLIERS);
  if (gated) check_multiplier(check, l.gate, -31, 30, HEED_ARG_MULTIPLIERS);
}

size_t bytes_for(const heed_int_layer *layer, int32_t n, bool least) {
  if (!layer) return 0;
  checker_of<1> check;
  check_int_layer_shape(check, *layer);
  check.count(n, HEED_INT_MAX_KEYS, HEED_ARG_N);
  if (!check.ok()) return 0;
  const heed_int_layer &l = *layer;
  const uint64_t worker =
      least ? least_worker_bytes(l)
            : HEED_INT_LAYER_SIZE_OF_WORKER(l.model_dim, l.n_heads, l.head_dim, l.ffn_dim, is_gated_int_layer(l));
  const uint64_t bytes = layer_keys_bytes(l, n) + worker;
  return size_or_zero(bytes);
}

}  // namespace

heed_status check_layer_run(const heed_int_layer *layer, const heed_int_matrix &x, const heed_int_matrix_out &y,
                            heed_memory memory, const heed_executor *executor) {
  // x, y, memory, layer, executor, a cache's 2, a rope's 2, 7 weights with bias and multipliers, 2 norms, table
  checker_of<35> check;
  check.grown_object(layer, int_layer_without_rope, access::read, HEED_ARG_LAYER);
  if (!check.ok()) return check.finish();
  check_int_layer(check, *layer);
  const bool in_place = !layer->out_rows && x.data == y.data && (x.row_stride == y.row_stride || y.n_rows == 1);
  check.require(x.dtype == HEED_INT16, HEED_BAD_DTYPE, HEED_ARG_X);
  check_int_input(check, x, HEED_ARG_X, in_place);
  check.count(x.n_rows, HEED_INT_MAX_KEYS, HEED_ARG_X);
  check.require(x.dim == layer->model_dim, HEED_SHAPE_MISMATCH, HEED_ARG_X);
  check.require(y.dtype == HEED_INT16, HEED_BAD_DTYPE, HEED_ARG_Y);
  check_int_output(check, y, HEED_ARG_Y);
  check.require(y.zero_point == 0, HEED_OUT_OF_RANGE, HEED_ARG_Y);
  const bool fits = layer->out_rows <= x.n_rows && layer->out_rows >= -x.n_rows;
  check.require(fits, HEED_SHAPE_MISMATCH, HEED_ARG_OUT_ROWS);
  check.require(fits && y.n_rows == wanted_rows(*layer, x.n_rows) && y.dim == x.dim, HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  if (check.ok() && layer->cache) {
    check_int_cache_object(check, layer->cache, access::write);
    if (check.ok()) layer->cache->code->check_tokens(check, *layer, x.n_rows);
  }
  if (check.ok() && rope_of(*layer))
    check_int_rope(check, rope_of(*layer), layer->head_dim, first_position_of(*layer), x.n_rows);
  const size_t least = check.ok() ? bytes_for(layer, x.n_rows, true) : 1;
  check.require(least != 0, HEED_OVERFLOW, HEED_ARG_WORKSPACE);
  check.room(memory, least, HEED_ALIGNMENT, HEED_ARG_WORKSPACE);
  check.executor(executor);
  return check.finish();
}

}  // namespace heed

size_t heed_int_layer_bytes(const heed_int_layer *layer, int32_t n) { return heed::bytes_for(layer, n, false); }
size_t heed_int_layer_min_bytes(const heed_int_layer *layer, int32_t n) { return heed::bytes_for(layer, n, true); }
