// The self-test of what lies beyond plain attention: norms, activations, rotary embedding, narrow numbers, options,
// caches. Known answers alone, of each part: the reference would be as much code again in a firmware, and kernels that
// give right answers are equal to it. Objects lie in the buffer, and each part has a frame of its own, since the stack
// is small.
#include "../cache/cache.hpp"
#include "../isa_choice/front_door.hpp"
#include "../checks/rope_code.hpp"
#include "../tasks/run.hpp"
#include "selftest.hpp"
#include "selftest_weights.hpp"

namespace heed {
namespace {

template <class T>
T *take(arena &memory) {
  return reinterpret_cast<T *>(memory.take((sizeof(T) + sizeof(float) - 1) / sizeof(float)));
}

// ----------------------------------------------------------------------------------------------- rows of numbers

// Two registers of any kernel and a tail, more than 64 and less; the last row is zeros but for its infinity.
template <void (*row_steps::*step)(const norm_rows &rows)>
HEED_NOINLINE void run_norms(kernel_handle k, float *buffer, comparison &result) {
  constexpr int32_t dims[] = {5, 71, 128};
  for (const int32_t dim : dims) {
    arena memory = {buffer};
    float *x = memory.take(4 * dim), *y = memory.take(4 * dim), *weight = memory.take(dim), *bias = memory.take(dim);
    fill(x, 3 * dim, static_cast<uint32_t>(dim));
    fill(weight, dim, 1);
    fill(bias, dim, 2);
    for (int32_t i = 0; i < dim; i++) x[3 * dim + i] = 0.0f;
    if (dim != 71) x[3 * dim + dim / 2] = negative_infinity;
    norm_rows rows = {x, dim, weight, bias, 1e-5f, y, dim, 4, dim, dim, false};
    if (dim == 5) rows.bias = nullptr, rows.eps = 0.0f;
    (row_steps_of(k)->*step)(rows);
    result.add(y, 4 * dim);
    (row_steps_of(k)->*step)({x, dim, nullptr, bias, 1e-5f, x, dim, 3, dim, dim, false});
    result.add(x, 3 * dim);
  }
}

// Numbers of both signs to 16 and to 128, thresholds and special numbers.
HEED_NOINLINE void run_elements(void (*step)(const element_rows &rows), float *buffer, comparison &result) {
  constexpr int32_t n = 155;
  arena memory = {buffer};
  float *x = memory.take(n), *other = memory.take(n), *y = memory.take(n);
  fill(x, n, 3);
  fill(other, n, 4);
  constexpr float factors[4] = {0x1p-12f, 8.0f, 64.0f, 8.0f};
  for (int32_t i = 0; i < n; i++) x[i] *= factors[i % 4];
  const float special[] = {
      0.0f,  -0.0f, negative_infinity, -negative_infinity, float_of(nan_bits), silu_least, gelu_tanh_least, gelu_least,
      3e38f, -3e38f};
  __builtin_memcpy(x, special, sizeof special);
  __builtin_memcpy(x + n - n_telling, telling_numbers, sizeof telling_numbers);
  step({x, n, other, n, y, n, 1, n});
  result.add(y, n);
}
template <void (*row_steps::*step)(const element_rows &rows)>
HEED_NOINLINE void run_all_activations(kernel_handle k, float *buffer, comparison &result) {
  run_elements(row_steps_of(k)->*step, buffer, result);
  (row_steps_of(k)->*step)({buffer, 31, nullptr, 0, buffer, 31, 5, 31});  // in place, not gated, rows
  result.add(buffer, 155);
}
HEED_NOINLINE void run_sums(kernel_handle k, float *buffer, comparison &result) {
  run_elements(row_steps_of(k)->add, buffer, result);
}

HEED_NOINLINE void run_ropes(kernel_handle k, float *buffer, comparison &result) {
  constexpr int32_t n_heads = 2, dim = 38, n = 2;
  arena memory = {buffer};
  float *x = memory.take(n * n_heads * dim), *y = memory.take(n * n_heads * dim), *frequencies = memory.take(dim / 2);
  auto *positions = reinterpret_cast<int32_t *>(memory.take(n));
  heed_rope *rope = take<heed_rope>(memory);
  fill(x, n * n_heads * dim, 5);
  fill(frequencies, dim / 2, 6);
  positions[0] = -3;
  positions[1] = 2000000000;
  for (int32_t i = 0; i < 4; i++) {
    const heed_rope_style style = i % 2 ? HEED_ROPE_HALVES : HEED_ROPE_INTERLEAVED;
    const int32_t *const given = i % 2 ? positions : nullptr;
    heed_rope_init(rope, style);
    if (i == 1) rope->base = 512.5f;
    if (i == 2) rope->scale = 0.3f;
    if (i == 3) rope->inverse_frequencies = frequencies;
    rope->code->run(address_of(k), {rope, heed_token_major(x, n, n_heads, dim), n, n_heads, dim, 1000 * i, given,
                                    heed_token_major_out(y, n, n_heads, dim), nullptr});
    result.add(y, n * n_heads * dim);
  }
  // Sines and cosines that show the last bit of each coefficient, as telling_numbers do.
  constexpr int32_t telling_positions[] = {18685, 1146, 11537, 15631, 126};
  for (int32_t i = 0; i < dim; i++) x[i] = i % 2 == 0 ? 1.0f : 0.0f;
  heed_rope_init(rope, HEED_ROPE_INTERLEAVED);
  for (const int32_t position : telling_positions) {
    rope->code->run(address_of(k), {rope, heed_token_major(x, 1, 1, dim), 1, 1, dim, position, nullptr,
                                    heed_token_major_out(y, 1, 1, dim), nullptr});
    result.add(y, dim);
  }
}

// ----------------------------------------------------------------------------------------------- narrow numbers

HEED_NOINLINE void run_formats(kernel_handle, float *buffer, comparison &result) {
  constexpr int32_t n = 3, dim = 21;
  arena memory = {buffer};
  float *x = memory.take(n * dim), *narrow = memory.take(n * dim), *y = memory.take(n * dim), *scales = memory.take(n);
  fill(x, n * dim, 7);
  for (int32_t i = 0; i < dim; i++) x[i] *= i % 2 ? 0x1p-16f : 0x1p+16f;  // subnormal f16, and beyond their range
  for (int32_t dtype = HEED_F16; dtype <= HEED_INT8; dtype++) {
    heed_convert_from_f32(heed_matrix_of(x, n, dim), heed_typed_matrix_out_of(narrow, scales, dtype, n, dim));
    heed_convert_to_f32(heed_typed_matrix_of(narrow, scales, dtype, n, dim), heed_matrix_out_of(y, n, dim));
    result.add(y, n * dim);
    if (dtype == HEED_INT8) result.add(scales, n);
  }
}

// ---------------------------------------------------------------------------------------------------- attention

constexpr int32_t n_heads = 2, dim = 3, n_kv = 66, most_queries = 8;
constexpr size_t ample = 64 * (HEED_WORKSPACE_ROW_FLOATS(dim) + dim);  // 16 rows, whose lanes are queries
constexpr size_t scarce = HEED_WORKSPACE_MIN_BYTES(dim, dim);

struct attention_memory {
  heed_attention call;
  heed_options options;
  heed_ranges ranges;
  heed_mask mask;
  heed_softcap softcap;
  heed_alibi alibi;
  heed_sinks sinks;
  heed_scores scores;
  heed_attention_weights weights;
  heed_lse lse;
  heed_column_sums column_sums;
  heed_topk_weights topk_weights;
  heed_cache cache;
};

// Two heads of queries over one of keys, which are the values, too.
HEED_NOINLINE void begin(attention_memory &o, int32_t n_q, const float *q, const float *k, float *out, float *workspace,
                         size_t bytes) {
  o.call = heed_attention_of(q, k, k, n_q, n_kv, n_heads, 1, dim, out, heed_memory_of(workspace, bytes));
  o.options = heed_options_default();
  o.call.options = &o.options;
  o.call.causal = 1;
}

constexpr int32_t most_rows = n_heads * most_queries;
struct option_arrays {
  float *keys, *slopes, *q, *out, *lse, *sums, *top, *kept;
};

// All options at once: an additive mask and a sink for each head, or a boolean one, one sink for all, and scores and
// weights kept.
// Both masks hide key 7.
HEED_NOINLINE void set_options(attention_memory &o, const option_arrays &a, int32_t n_q, bool boolean) {
  float *const bias = a.kept + most_queries * n_kv;  // behind the scores of the few queries that keep them
  auto *const bytes = reinterpret_cast<uint8_t *>(bias);
  fill(bias, n_kv, 14);
  for (int32_t j = 7; j < n_kv; j += 13) bias[j] = negative_infinity;
  for (int32_t j = 0; boolean && j < n_kv; j++) bytes[j] = j % 13 != 7;
  if (boolean)
    heed_mask_init_boolean(&o.mask, bytes, n_kv, 0, 0, 0);
  else
    heed_mask_init_additive(&o.mask, bias, n_kv, 0, 0, 0);
  heed_ranges_init(&o.ranges);
  o.ranges.left_window = boolean ? 52 : 50;
  o.ranges.pinned = boolean ? 0 : 3;  // with pinned keys scores are kept in another way
  heed_softcap_init(&o.softcap, 0.7f);
  heed_alibi_init(&o.alibi, a.slopes);
  const float *const sinks = boolean ? nullptr : a.slopes;
  heed_sinks_init(&o.sinks, sinks);
  heed_lse_init(&o.lse, heed_head_major_out(a.lse, n_q, n_heads, 1));
  heed_column_sums_init(&o.column_sums, {a.sums, 0, n_kv, 0});
  heed_topk_weights_init(&o.topk_weights, 1, a.top, reinterpret_cast<int32_t *>(a.top + most_rows));
  o.options.ranges = &o.ranges;
  o.options.mask = &o.mask;
  o.options.softcap = &o.softcap;
  o.options.alibi = &o.alibi;
  o.options.sinks = &o.sinks;
  o.options.lse = &o.lse;
  o.options.column_sums = &o.column_sums, o.options.topk_weights = &o.topk_weights;
  if (!boolean) return;
  heed_scores_init(&o.scores, HEED_SCORES_BIASED, heed_head_major_out(a.kept, n_q, n_heads, n_kv));
  o.options.scores = &o.scores;
  heed_attention_weights_init(&o.weights, heed_head_major_out(bias + n_kv, n_q, n_heads, n_kv));
  o.options.weights = &o.weights;
}

HEED_NOINLINE void run_options(kernel_handle k, float *buffer, comparison &result) {
  arena memory = {buffer};
  float *const workspace = memory.take(ample / sizeof(float));
  auto &o = *take<attention_memory>(memory);
  const option_arrays a = {memory.take(n_kv * dim),      memory.take(n_heads),         memory.take(most_rows * dim),
                           memory.take(most_rows * dim), memory.take(most_rows),       memory.take(n_heads * n_kv),
                           memory.take(2 * most_rows),   memory.take(most_rows * n_kv)};
  fill(a.keys, n_kv * dim, 11);
  fill(a.q, most_rows * dim, 12);
  fill(a.slopes, n_heads, 13);
  a.keys[7 * dim + 1] = negative_infinity;
  for (int32_t i = 0; i < 2; i++) {
    const int32_t n_q = i == 0 ? most_queries : 3, n = n_heads * n_q;
    const auto room = i == 0 ? ample : scarce;
    begin(o, n_q, a.q, a.keys, a.out, workspace, room);
    o.call.position = n_kv - n_q - 1;
    set_options(o, a, n_q, i == 1);
    run_attention(k, o.call);
    result.add(a.out, n * dim);
    result.add(a.lse, n);
    result.add(a.sums, n_heads * n_kv);
    result.add(a.top, n);
    if (i == 1) result.add(a.kept, n * n_kv), result.add(a.kept + (most_queries + 1) * n_kv, n * n_kv);
  }
}

// A ring with pinned tokens, filled beyond its end.
HEED_NOINLINE void run_caches(kernel_handle k, float *buffer, comparison &result) {
  arena memory = {buffer};
  constexpr int32_t piece = 30;
  float *workspace = memory.take(ample / sizeof(float)), *tokens = memory.take(piece * dim);
  auto &o = *take<attention_memory>(memory);
  float *q = memory.take(most_rows * dim), *out = memory.take(most_rows * dim);
  constexpr size_t bytes = HEED_RING_BYTES(20, 3, 12, 1, 1, dim, dim, HEED_F32);
  float *slots = memory.take(bytes / sizeof(float));
  fill(q, most_rows * dim, 15);
  for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; dtype++) {
    heed_cache_shape shape = heed_cache_shape_default(20, 1, dim);
    shape.kind = HEED_CACHE_RING;
    shape.pinned = 3;
    shape.spare = 12;
    shape.dtype = dtype;
    heed_cache_init(&o.cache, &shape, heed_memory_of(slots, bytes));
    for (int32_t i = 0; i < 5; i++) {
      fill(tokens, piece * dim, static_cast<uint32_t>(i));
      const heed_tensor rows_of_piece = heed_token_major(tokens, piece, 1, dim);
      functions_of(o.cache).append(address_of(k), {&o.cache, 0, piece, rows_of_piece, rows_of_piece, false, nullptr});
      if (i % 2) continue;
      const int32_t n_q = i == 2 ? most_queries : 1;
      const auto room = i == 2 ? ample : scarce;
      begin(o, n_q, q, nullptr, out, workspace, room);
      o.call.n_kv = piece * (i + 1);
      o.call.cache = &o.cache;
      run_attention(k, o.call);
      result.add(out, n_heads * n_q * dim);
    }
  }
}

static_assert(ample + sizeof(attention_memory) +
                      4 * (n_kv * dim + n_heads * most_queries * (2 * dim + 3 + n_kv) + n_heads * (n_kv + 1) +
                           8 * 15) <=
                  HEED_SELFTEST_FEATURES_BYTES,
              "HEED_SELFTEST_FEATURES_BYTES holds every part");

constexpr struct {
  const char *name;
  void (*run)(kernel_handle k, float *buffer, comparison &result);
} features[] = {
    {"rms_norm", run_norms<&row_steps::rms_norm>},
    {"layer_norm", run_norms<&row_steps::layer_norm>},
    {"gelu", run_all_activations<&row_steps::gelu>},
    {"gelu_tanh", run_all_activations<&row_steps::gelu_tanh>},
    {"silu", run_all_activations<&row_steps::silu>},
    {"relu", run_all_activations<&row_steps::relu>},
    {"add", run_sums},
    {"rope", run_ropes},
    {"formats", run_formats},
    {"project", run_projections},
    {"packed", run_packed_weights},
    {"options", run_options},
    {"cache", run_caches},
    {"tanh", run_all_activations<&row_steps::tanh>},
    {"sigmoid", run_all_activations<&row_steps::sigmoid>},
};
static_assert(sizeof features / sizeof *features == n_features, "as the report says");
static_assert(sizeof known_of_features / sizeof *known_of_features == n_features, "one answer for each");

}  // namespace

bool test_features(kernel_handle k, float *buffer, heed_selftest_report &report) {
  comparison result(report);
  for (int32_t i = 0; i < n_features; i++) {
    features[i].run(k, buffer, result);
    if (!result.conclude_part(*k, features[i].name, i, known_of_features[i])) return false;
  }
  return true;
}

}  // namespace heed

heed_status heed_selftest_features(heed_memory memory, heed_selftest_report *report) {
  const heed_status status = heed::check_memory(memory, HEED_SELFTEST_FEATURES_BYTES, report);
  if (status != HEED_OK) return status;
  heed_selftest_report found = {};
  const bool equal = heed::test_features(heed_front_door::kernel(), static_cast<float *>(memory.data), found);
  found.n_kernels = equal;
  return heed::conclude(found, equal, heed::n_features, report);
}
