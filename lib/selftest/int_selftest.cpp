// The self-test of integers: attention and products of the kernel in use against plain loops, number by number; then
// their results, and the functions of rows, against known answers. All in the caller's memory, without a float.
#include "../known_answers.hpp"
#include "../integers/int_finish.hpp"
#include "../isa_choice/int_door.hpp"
#include "../isa_choice/int_product_dispatch.hpp"
#include "../reference/int_product_reference.hpp"
#include "../reference/int_reference.hpp"
#include "selftest.hpp"

namespace heed {
namespace {

// Blocks of 256 keys, tiles of two and of eight rows, odd dimensions, groups, windows.
struct int_attention_case {
  int32_t n_heads, n_kv_heads, n_q, n_kv, head_dim, v_dim, causal, position, left_window, e;
  bool rich;  // zero points, a mask, sinks, int16, a multiplier for each row
};
constexpr int_attention_case int_attention_cases[] = {
    {1, 1, 1, 1, 1, 1, 0, 0, -1, -11, false},     {2, 1, 3, 40, 16, 16, 1, 37, -1, -12, false},
    {4, 2, 2, 70, 33, 17, 1, 60, -1, -13, true},  {1, 1, 5, 257, 8, 20, 1, 252, 30, -10, false},
    {3, 1, 3, 600, 20, 33, 0, 0, -1, -12, false}, {1, 1, 2, 530, 5, 7, 1, 500, 300, -6, true},
};
constexpr int32_t n_int_attention = sizeof int_attention_cases / sizeof *int_attention_cases;

using weights_layout = ::heed::int_layout;  // attention has another
struct int_product_case {
  int32_t n_rows, depth, n_cols;
  weights_layout layout;
  bool rich;  // a zero point, biases, int16
};
// Tiles have 1 to 6 rows. These cases run all of them: 17 rows are 6, 6 and 5.
constexpr int_product_case int_product_cases[] = {
    {1, 70, 6, weights_layout::out_in, true}, {5, 37, 19, weights_layout::out_in, false},
    {3, 21, 9, weights_layout::in_out, true}, {13, 8, 33, weights_layout::in_out, false},
    {3, 19, 23, weights_layout::panel, true}, {1, 66, 16, weights_layout::panel, false},
    {17, 9, 35, weights_layout::panel, true}, {2, 40, 70, weights_layout::in_out, false},
};
constexpr int32_t n_int_product = sizeof int_product_cases / sizeof *int_product_cases;

constexpr size_t pieces_of_64(int32_t bytes) { return (static_cast<size_t>(bytes) + 63) / 64 * 64; }
constexpr bool int_cases_fit(size_t bytes) {
  for (const int_attention_case &c : int_attention_cases) {
    const int32_t n_rows = c.n_heads * c.n_q, wide = c.rich ? 2 : 1;
    const size_t inputs = pieces_of_64(n_rows * c.head_dim) + pieces_of_64(3 * c.n_kv + c.head_dim + c.v_dim) +
                          (c.rich ? pieces_of_64(c.n_kv + c.n_q) : 0) + pieces_of_64(8 * n_rows) +
                          pieces_of_64(4 * c.n_heads),
                 outputs = 2 * pieces_of_64(n_rows * c.v_dim * wide) + 2 * pieces_of_64(4 * n_rows),
                 scratch = pieces_of_64(4 * c.n_kv) + pieces_of_64(4 * c.v_dim);
    if (inputs + outputs + scratch + HEED_INT_WORKSPACE_MIN_BYTES(c.head_dim, c.v_dim) > bytes) return false;
  }
  return true;  // products and rows take less
}
static_assert(int_cases_fit(HEED_INT_SELFTEST_BYTES), "HEED_INT_SELFTEST_BYTES holds every case");

struct int_comparison {
  heed_selftest_report &report;
  const char *function;
  uint32_t digest = 2166136261u;

  // The bits of a number of so many bytes, in either byte order.
  static uint32_t number(const void *from, int32_t i, int32_t bytes) {
    if (bytes == 1) return static_cast<const uint8_t *>(from)[i];
    if (bytes == 2) return static_cast<const uint16_t *>(from)[i];
    return static_cast<const uint32_t *>(from)[i];
  }
  // Numbers of int8, int16 (bytes 1 and 2) or int32. False at the first difference.
  bool equal(int32_t index, const void *expected, const void *actual, int32_t n, int32_t bytes) {
    for (int32_t i = 0; i < n; i++) {
      const uint32_t a = number(expected, i, bytes), b = number(actual, i, bytes);
      digest = (digest ^ a) * 16777619u;  // FNV-1a, a number at a time
      if (a != b) return differs("plain loops", index, i, a, b);
    }
    report.n_floats += static_cast<uint32_t>(n);
    return true;
  }
  bool conclude(uint32_t right) { return digest == right || differs("known answers", -1, -1, right, digest); }

 private:
  bool differs(const char *from, int32_t index, int32_t number, uint32_t expected, uint32_t actual) {
    report.kernel = heed_int_isa_current();
    report.function = function;
    report.case_index = index;
    report.float_index = number;
    report.expected_bits = expected;
    report.actual_bits = actual;
    report.compared_with = from;
    return false;
  }
};

// The caller's memory, piece by piece: each aligned to 64.
struct int_room {
  unsigned char *next;
  size_t left;
  template <class T>
  T *take(int32_t n) {
    const size_t bytes = pieces_of_64(n * static_cast<int32_t>(sizeof(T)));
    T *p = reinterpret_cast<T *>(next);
    next += bytes;
    left -= bytes;
    return p;
  }
  int8_t *bytes(int32_t n, uint32_t seed) {
    int8_t *p = take<int8_t>(n);
    for (int32_t i = 0; i < n; i++) {
      seed = seed * 1664525u + 1013904223u;
      p[i] = static_cast<int8_t>(seed >> 24);
    }
    return p;
  }
};

// ------------------------------------------------------------------------------------------------------- attention

struct int_attention_results {
  void *out;
  int32_t *lse;
};

HEED_NOINLINE void attend_plainly(const heed_int_attention &call, int32_t *dots, int32_t *row,
                                  const int_attention_results &to) {
  const bool wide = call.out.dtype == HEED_INT16;
  const int32_t group = int_quotient(call.n_heads, call.n_kv_heads), most = greatest_output(wide);
  int_stream s = {};
  s.call = &call;
  for (int32_t h = 0; h < call.n_heads; h++)
    for (int32_t i = 0; i < call.n_q; i++) {
      const int_row at = {h, i, 0, 0};
      const int_head head = {call.q.data + int_place(call.q, 0, h, 0),
                             call.k.data + int_place(call.k, 0, int_quotient(h, group), 0),
                             call.v.data + int_place(call.v, 0, int_quotient(h, group), 0),
                             call.q.row_stride,
                             call.k.row_stride,
                             call.v.row_stride,
                             call.n_kv,
                             call.head_dim,
                             call.v_dim,
                             call.q.zero_point,
                             call.k.zero_point,
                             call.v.zero_point,
                             call.out.zero_point};
      const uint8_t *mask = int_mask_of(s, at);
      const auto sees = [&](int32_t j) {
        const int32_t back = call.position + i - j;
        return !(call.causal && back < 0) && !(call.left_window >= 0 && back > call.left_window) && (!mask || mask[j]);
      };
      const int_row_sum sum = int_reference_row(head, i, sees, int_score_of(call, at), int_value_of(call, at),
                                                offset_or_null(call.sinks, h), -most - 1, most, dots, row);
      const size_t index = int_index_of(s, at);
      for (int32_t n = 0; n < call.v_dim; n++)
        int_store(to.out, static_cast<ptrdiff_t>(index) * call.v_dim + n, row[n], wide);
      const int64_t octaves = (sum.octave - 15) * (1 << int_fraction);
      to.lse[index] = sum.l == 0 ? INT32_MIN : static_cast<int32_t>(octaves + int_log2(sum.l) + int_lse_bias);
    }
}

// Keys and values are the same bytes: many keys in little memory. With the least workspace, then with all memory.
HEED_NOINLINE bool test_int_attention(const int_attention_case &c, int32_t index, heed_memory memory,
                                      int_comparison &result) {
  int_room room = {static_cast<unsigned char *>(memory.data), memory.bytes};
  const int32_t n_rows = c.n_heads * c.n_q, n_out = n_rows * c.v_dim, wide = c.rich ? 2 : 1;
  const int8_t *q = room.bytes(n_rows * c.head_dim, static_cast<uint32_t>(index)),
               *k = room.bytes(3 * c.n_kv + c.head_dim + c.v_dim, static_cast<uint32_t>(index) + 50);
  int32_t *dots = room.take<int32_t>(c.n_kv), *row = room.take<int32_t>(c.v_dim), *lse = room.take<int32_t>(n_rows),
          *sinks = room.take<int32_t>(c.n_heads);
  const int_attention_results expected = {room.take<int8_t>(n_out * wide), room.take<int32_t>(n_rows)};
  int8_t *out = room.take<int8_t>(n_out * wide);
  heed_multiplier *scores = room.take<heed_multiplier>(n_rows);
  heed_int_attention call = heed_int_attention_of(q, k, k, c.n_q, c.n_kv, c.n_heads, c.n_kv_heads, c.head_dim, out,
                                                  {room.next, HEED_INT_WORKSPACE_MIN_BYTES(c.head_dim, c.v_dim)});
  call.v_dim = c.v_dim;
  call.k.row_stride = call.v.row_stride = 3;
  call.k.head_stride = call.v.head_stride = 1;
  call.out.row_stride = c.v_dim;
  call.out.head_stride = static_cast<ptrdiff_t>(c.n_q) * c.v_dim;
  call.score = {0x50000000 + index * 0x1234567, c.e};
  const int32_t value_exponent = c.rich ? 6 : 1;
  call.value = {0x60000000 - index * 0x1234567, value_exponent};
  call.causal = c.causal;
  call.position = c.position;
  call.left_window = c.left_window;
  call.lse = lse;
  if (c.rich) {
    call.q.zero_point = -7, call.k.zero_point = 100, call.v.zero_point = -128, call.out.zero_point = 5;
    call.out.dtype = HEED_INT16;
    call.mask = {reinterpret_cast<const uint8_t *>(room.next), 0, 0, 1};
    uint8_t *mask = room.take<uint8_t>(c.n_kv + c.n_q);
    for (int32_t j = 0; j < c.n_kv + c.n_q; j++) mask[j] = k[j] & 3;
    call.workspace.data = room.next;
    for (int32_t h = 0; h < c.n_heads; h++) sinks[h] = (h - 1) * 30000;
    call.sinks = sinks;
    for (int32_t i = 0; i < n_rows; i++) scores[i] = {0x40000000 + i * 0x2345678, c.e - i % 3};
    call.scores = scores;
    call.scores_head_stride = c.n_q;
    call.scores_row_stride = 1;
  }
  attend_plainly(call, dots, row, expected);
  for (int32_t i = 0; i < 2; i++) {
    heed_int_attention_run(&call);
    if (!result.equal(index, expected.out, out, n_out, wide) || !result.equal(index, expected.lse, lse, n_rows, 4))
      return false;
    call.workspace.bytes = room.left;
  }
  return true;
}

// -------------------------------------------------------------------------------------------------------- products

HEED_NOINLINE bool test_int_product(const int_product_case &c, int32_t index, heed_memory memory,
                                    int_comparison &result) {
  int_room room = {static_cast<unsigned char *>(memory.data), memory.bytes};
  const int32_t width = panel_width(c.n_cols, 0), words = (c.depth + 3) / 4;
  const int32_t n_weights = c.layout == weights_layout::panel ? words * width * 4 : c.depth * c.n_cols;
  const int8_t *x = room.bytes(c.n_rows * c.depth, static_cast<uint32_t>(index) + 100);
  int8_t *w = room.bytes(n_weights, static_cast<uint32_t>(index) + 150);
  int32_t *bias = room.take<int32_t>(c.n_cols), *multipliers = room.take<int32_t>(2 * c.n_cols);
  for (int32_t n = 0; n < c.n_cols; n++) {
    bias[n] = x[n % c.depth] * 100;
    multipliers[2 * n] = 0x40000000 + n * 0x1234567;
    multipliers[2 * n + 1] = (c.rich ? -2 : -9) - n % 3;
  }
  // The last word of a panel's column is filled up with 0.
  for (int32_t i = c.depth % 4; c.layout == weights_layout::panel && i != 0 && i < 4; i++)
    for (int32_t n = 0; n < width; n++) w[((words - 1) * width + n) * 4 + i] = 0;
  const int32_t wide = c.rich ? 2 : 1, n_y = c.n_rows * c.n_cols;
  int8_t *expected = room.take<int8_t>(n_y * wide), *actual = room.take<int8_t>(n_y * wide);
  int_weights weights = int_rows_of_inputs(w, c.n_cols);
  if (c.layout == weights_layout::panel) weights = int_panel(w, width);
  if (c.layout == weights_layout::out_in) weights = int_rows_of_outputs(w, c.depth);
  int_product b = {x,        c.depth, 3,      weights,  nullptr, multipliers, expected,
                   c.n_cols, -6,      c.rich, c.n_rows, c.depth, c.n_cols};
  if (c.rich) b.x_zero_point = -77, b.bias = bias, b.y_zero_point = 0;
  scalar::int_project(b);
  b.y = actual;
  int_products_of(int_kernel_in_use())->project(b);
  return result.equal(index, expected, actual, n_y, wide);
}

// ------------------------------------------------------------------------------------------------------------ rows

// They have no kernels: a number that differs is the compiler's.
HEED_NOINLINE bool test_int_rows(heed_memory memory, int_comparison &result) {
  constexpr int32_t n = 3, dim = 37, size = n * dim;
  int_room room = {static_cast<unsigned char *>(memory.data), memory.bytes};
  const int8_t *a = room.bytes(size, 200), *b = room.bytes(size, 201);
  int32_t *weight = room.take<int32_t>(dim);
  for (int32_t i = 0; i < dim; i++) weight[i] = a[i] * 0x12345;
  const heed_int_matrix of_a = heed_int_matrix_of(a, HEED_INT8, n, dim, -3),
                        of_b = heed_int_matrix_of(b, HEED_INT8, n, dim, 9);
  const heed_int_norm norm = {weight, weight, 18, 70000};
  int16_t *wide = room.take<int16_t>(size);
  int8_t *narrow = room.take<int8_t>(size), *table = room.take<int8_t>(256);
  const heed_int_matrix of_wide = heed_int_matrix_of(wide, HEED_INT16, n, dim, 0);
  const heed_int_matrix_out to_wide = heed_int_matrix_out_of(wide, HEED_INT16, n, dim, 0),
                            to_narrow = heed_int_matrix_out_of(narrow, HEED_INT8, n, dim, -11);
  const auto add = [&] { return result.equal(0, wide, wide, size, 2) && result.equal(0, narrow, narrow, size, 1); };
  heed_int_add(of_a, {0x51234567, 5}, of_b, {0x61234567, 7}, to_wide, nullptr);
  heed_int_rescale(of_wide, {0x71234567, -8}, to_narrow, nullptr);
  add();
  heed_int_layer_norm(of_wide, norm, to_narrow, nullptr);
  heed_int_multiply(of_a, of_b, {0x41234567, 1}, to_wide, nullptr);
  add();
  heed_int_rms_norm(of_wide, norm, to_narrow, nullptr);
  add();
  for (int32_t activation = HEED_INT_GELU; activation <= HEED_INT_RELU; activation++) {
    heed_int_table(activation, {0x51234567, -4}, 4, {0x41234567, 5}, -20, table);
    heed_int_lookup(of_a, table, to_narrow, nullptr);
    add();
    result.equal(0, table, table, 256, 1);
  }
  return result.conclude(known_int_rows);
}

// Both styles, numbers beyond the range of int8, and a part of each head that stays.
HEED_NOINLINE bool test_int_rope(heed_memory memory, int_comparison &result) {
  constexpr int32_t n = 3, n_heads = 2, head_dim = 19, rotary_dim = 16, size = n * n_heads * head_dim;
  int_room room = {static_cast<unsigned char *>(memory.data), memory.bytes};
  int16_t *const table = room.take<int16_t>(4 * rotary_dim);
  const int8_t *const numbers = room.bytes(4 * rotary_dim, 300);
  for (int32_t i = 0; i < 4 * rotary_dim; i++) table[i] = static_cast<int16_t>(numbers[i] * 0x9d);
  for (int32_t style = HEED_ROPE_INTERLEAVED; style <= HEED_ROPE_HALVES; style++) {
    int8_t *const x = room.bytes(size, 301);
    const heed_int_rope rope = {table, 4, rotary_dim, style};
    heed_int_rope_run(&rope, heed_int_matrix_out_of(x, HEED_INT8, n, n_heads * head_dim, 13), n_heads, 1, nullptr);
    result.equal(0, x, x, size, 1);
  }
  return result.conclude(known_int_rope);
}

bool test_integers(heed_memory memory, heed_selftest_report &report) {
  int_comparison attention = {report, "attention"};
  for (int32_t i = 0; i < n_int_attention; i++)
    if (!test_int_attention(int_attention_cases[i], i, memory, attention)) return false;
  if (!attention.conclude(known_int_attention)) return false;
  int_comparison products = {report, "project"};
  for (int32_t i = 0; i < n_int_product; i++)
    if (!test_int_product(int_product_cases[i], i, memory, products)) return false;
  int_comparison rows = {report, "rows"}, rope = {report, "rope"};
  return products.conclude(known_int_products) && test_int_rows(memory, rows) && test_int_rope(memory, rope);
}

}  // namespace
}  // namespace heed

heed_status heed_int_selftest(heed_memory memory, heed_selftest_report *report) {
  const heed_status status = heed::check_memory(memory, HEED_INT_SELFTEST_BYTES, report);
  if (status != HEED_OK) return status;
  heed_selftest_report found = {};
  const bool equal = heed::test_integers(memory, found);
  found.n_kernels = equal;
  return heed::conclude(found, equal, heed::n_int_attention + heed::n_int_product + 2, report);
}
