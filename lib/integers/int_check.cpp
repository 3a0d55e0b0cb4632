// What a call of attention or a product in integers must be.
#include "int_check.hpp"

#include "../checks/weights_code.hpp"
#include "../cache/int_cache.hpp"

namespace heed {
namespace {

// A multiplier is m * 2^(e - 31): of scores below 1, of values below 2^22.
void check_score(checker &check, const heed_multiplier &m, heed_argument argument) {
  check_multiplier(check, m, -31, 0, argument);
}
void check_value(checker &check, const heed_multiplier &m, heed_argument argument) {
  check_multiplier(check, m, -8, 22, argument);
}

void check_int_call_shape(checker &check, const heed_int_attention &call) {
  check.count(call.batch_size, HEED_MAX_COUNT, HEED_ARG_BATCH_SIZE);
  check.count(call.n_heads, HEED_MAX_DIM, HEED_ARG_N_HEADS);
  check.count(call.n_kv_heads, HEED_MAX_DIM, HEED_ARG_N_KV_HEADS);
  if (check.ok())
    check.require(static_cast<uint32_t>(call.n_heads) % static_cast<uint32_t>(call.n_kv_heads) == 0,
                  HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS);
  check.count(call.n_q, HEED_MAX_COUNT, HEED_ARG_N_Q);
  const int32_t most_keys = call.cache ? HEED_MAX_COUNT : HEED_INT_MAX_KEYS;
  check.count(call.n_kv, most_keys, HEED_ARG_N_KV);
  check.count(call.head_dim, HEED_INT_MAX_DIM, HEED_ARG_HEAD_DIM);
  check.count(call.v_dim, HEED_INT_MAX_DIM, HEED_ARG_V_DIM);
}

template <class T>
void check_tensor(checker &check, const heed_int_attention &call, const T &t, int32_t n_heads, int32_t n_rows,
                  int32_t dim, access how, heed_argument argument, size_t element_bytes = 1) {
  check.tensor(t.data, {call.batch_size, n_heads, n_rows}, {t.batch_stride, t.head_stride, t.row_stride}, dim, how,
               argument, element_bytes);
  const int32_t most = element_bytes == 2 ? 32767 : 127;
  check.require(t.zero_point >= -most - 1 && t.zero_point <= most, HEED_OUT_OF_RANGE, argument);
}

// What only keys need.
void check_keys(checker &check, const heed_int_attention &call) {
  check.require(call.causal == 0 || call.causal == 1, HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL);
  check.require(call.left_window >= -1, HEED_OUT_OF_RANGE, HEED_ARG_LEFT_WINDOW);
  check.require(call.right_window >= -1, HEED_OUT_OF_RANGE, HEED_ARG_RIGHT_WINDOW);
  if (call.cache) {
    check_int_cache_object(check, call.cache, access::read);
    if (check.ok()) call.cache->code->check_call(check, call);
  } else if (call.kv_lengths) {
    check.array(call.kv_lengths, static_cast<size_t>(call.batch_size), access::read, HEED_ARG_KV_LENGTHS);
    for (int32_t b = 0; check.ok() && b < call.batch_size; b++)
      check.require(call.kv_lengths[b] >= 0 && call.kv_lengths[b] <= call.n_kv, HEED_OUT_OF_RANGE, HEED_ARG_KV_LENGTHS);
  }
  check_tensor(check, call, call.q, call.n_heads, call.n_q, call.head_dim, access::read, HEED_ARG_Q);
  if (!call.cache) {
    check_tensor(check, call, call.k, call.n_kv_heads, call.n_kv, call.head_dim, access::read, HEED_ARG_K);
    check_tensor(check, call, call.v, call.n_kv_heads, call.n_kv, call.v_dim, access::read, HEED_ARG_V);
  }
  if (!call.scores) {
    check_score(check, call.score, HEED_ARG_SCORE);
  } else {
    check.tensor(call.scores, {1, call.n_heads, call.n_q}, {0, call.scores_head_stride, call.scores_row_stride}, 1,
                 access::read, HEED_ARG_SCORES, sizeof(heed_multiplier));
    for (int32_t h = 0; check.ok() && h < call.n_heads; h++)
      for (int32_t i = 0; check.ok() && i < call.n_q; i++)
        check_score(check, call.scores[h * call.scores_head_stride + i * call.scores_row_stride], HEED_ARG_SCORES);
  }
  const heed_int_mask &mask = call.mask;
  if (mask.data)
    check.tensor(mask.data, {call.batch_size, call.n_heads, call.n_q},
                 {mask.batch_stride, mask.head_stride, mask.query_stride}, call.n_kv, access::read, HEED_ARG_MASK, 1);
  if (check.ok())
    check.room(call.workspace, HEED_INT_WORKSPACE_MIN_BYTES(call.head_dim, call.v_dim), HEED_ALIGNMENT,
               HEED_ARG_WORKSPACE);
  check.executor(call.executor);
}

// What only results need.
void check_results(checker &check, const heed_int_attention &call, size_t n_rows) {
  check.require(call.out.dtype == HEED_INT8 || call.out.dtype == HEED_INT16, HEED_BAD_DTYPE, HEED_ARG_OUT);
  const size_t out_bytes = call.out.dtype == HEED_INT16 ? 2 : 1;
  check_tensor(check, call, call.out, call.n_heads, call.n_q, call.v_dim, access::write, HEED_ARG_OUT, out_bytes);
  check.require(call.v.zero_point >= -128 && call.v.zero_point <= 127, HEED_OUT_OF_RANGE, HEED_ARG_V);
  if (!call.values) {
    check_value(check, call.value, HEED_ARG_VALUE);
  } else {
    check.array(call.values, static_cast<size_t>(call.n_heads), access::read, HEED_ARG_VALUES);
    for (int32_t h = 0; check.ok() && h < call.n_heads; h++) check_value(check, call.values[h], HEED_ARG_VALUES);
  }
  if (call.sinks) check.array(call.sinks, static_cast<size_t>(call.n_heads), access::read, HEED_ARG_SINKS);
  if (call.lse) check.array(call.lse, n_rows, access::write, HEED_ARG_LSE);
}

}  // namespace

heed_status check_int_attention(const heed_int_attention *call, bool finishes) {
  checker_of<14> check;
  check.object(call, access::read, HEED_ARG_CALL);
  if (!check.ok()) return check.status;
  check_int_call_shape(check, *call);
  if (!check.ok()) return check.status;
  // (batch, n_heads, n_q): what does not fit is more than any memory
  size_t n_rows = static_cast<size_t>(call->batch_size);
  bool too_many = __builtin_mul_overflow(n_rows, static_cast<size_t>(call->n_heads), &n_rows);
  too_many |= __builtin_mul_overflow(n_rows, static_cast<size_t>(call->n_q), &n_rows);
  if (too_many) n_rows = SIZE_MAX;
  if (finishes || call->partial.data)
    check.room(call->partial, int_partial_bytes(n_rows, call->v_dim), sizeof(int64_t), HEED_ARG_PARTIAL);
  if (!finishes) check_keys(check, *call);
  if (finishes || !call->partial.data) check_results(check, *call, n_rows);
  return check.finish();
}

void check_int_weights(checker &check, const heed_weights &w, int32_t n_in, heed_argument argument) {
  if (!check.ok()) return;
  if (w.code) {
    check.require(w.layout == HEED_PACKED || (w.dtype != HEED_INT8 && w.dtype != HEED_UINT8), HEED_UNSUPPORTED,
                  argument);
    if (check.ok()) w.code->check(check, w, argument);
  } else {
    check.require(w.layout != HEED_PACKED && w.dtype != HEED_Q8_0 && w.dtype != HEED_Q4_0, HEED_NOT_INITIALIZED,
                  argument);
    check.require(w.layout == HEED_IN_OUT || w.layout == HEED_OUT_IN, HEED_BAD_LAYOUT, argument);
  }
  check.require(w.dtype == HEED_INT8, HEED_BAD_DTYPE, argument);
  if (check.ok() && !w.code) {
    check.matrix(w.data, rows_of_weights(w), dim_of_weights(w), w.row_stride, access::read, argument, 1);
  }
  check.require(w.n_in == n_in, HEED_SHAPE_MISMATCH, argument);
}

void check_multipliers(checker &check, const heed_multiplier *m, int32_t n, heed_argument argument) {
  bool possible = true;
  for (int32_t i = 0; i < n; i++) possible &= m[i].m >= 0x40000000 && m[i].e >= -31 && m[i].e <= 30;
  check.require(possible, HEED_OUT_OF_RANGE, argument);
}

}  // namespace heed
