// The self-tests: every available kernel, or at start-up the one in use, against the scalar reference of its arithmetic,
// bit by bit, and the reference's results against known answers, all in the caller's buffer.
#include "../isa_choice/front_door.hpp"
#include "../tasks/run.hpp"
#include "selftest.hpp"

namespace heed {
namespace {

struct attention_case {
  int32_t n_heads, n_kv_heads, n_q, n_kv, head_dim, v_dim, causal, position;
  float scale;
  bool small_workspace;
  bool overlapping = false;  // v is k, rows one float apart: many keys in little memory
  bool special = false;      // NaN, infinities and negative zeros among the numbers
};

constexpr float usual = HEED_SCALE_DEFAULT;

// Tile, block and chunk boundaries; odd dimensions; grouped heads; rows that see nothing; large scores; special numbers.
constexpr attention_case attention_cases[] = {
    {1, 1, 1, 1, 1, 1, 0, 0, 1.0f, false},
    {1, 1, 5, 5, 3, 3, 0, 0, usual, true},
    {2, 2, 17, 33, 16, 16, 0, 0, usual, false},
    {1, 1, 50, 70, 33, 21, 0, 0, usual, false},
    {4, 2, 19, 67, 8, 24, 1, 48, usual, false},
    {6, 1, 9, 100, 20, 7, 1, -3, 4.0f, false},
    {8, 1, 1, 64, 64, 64, 0, 0, usual, false},
    {3, 1, 1, 200, 37, 50, 1, 180, -0.5f, true},
    {1, 1, 49, 65, 64, 64, 1, 0, usual, false},
    {1, 1, 97, 20, 5, 66, 0, 0, 300.0f, false},
    {1, 1, 19, 1100, 6, 5, 1, 1090, usual, false},
    {1, 1, 2, 2060, 3, 3, 0, 0, usual, false},
    {4, 2, 25, 70, 6, 20, 1, 48, usual, false, false, true},
};
// The same boundaries with little memory and few operations.
constexpr attention_case boot_cases[] = {
    {1, 1, 17, 66, 3, 3, 0, 0, usual, false, true}, {1, 1, 17, 66, 3, 3, 1, 49, usual, true},
    {1, 1, 5, 21, 5, 18, 0, 0, 300.0f, true},       {4, 2, 3, 19, 4, 6, 1, 14, usual, true},
    {1, 1, 1, 1030, 2, 3, 0, 0, usual, true, true}, {1, 1, 20, 21, 3, 5, 1, 2, usual, true, false, true},
};
struct vector_case {
  int32_t n_rows, depth, n_cols;  // linear's; softmax and dot take n_rows * depth numbers as rows of depth
  bool special = false;
  bool telling = false;
};
constexpr vector_case telling_case = {n_telling, 2, 1, false, true};  // a maximum of 0 and telling_numbers
constexpr vector_case vector_cases[] = {{1, 1, 1},    {3, 7, 5},   {6, 64, 64},       {13, 33, 47}, {1, 300, 100},
                                        {50, 18, 71}, {2, 280, 3}, {5, 37, 21, true}, telling_case};
constexpr vector_case boot_vector_cases[] = {{5, 7, 9}, {1, 37, 6}, {2, 70, 1}, {5, 19, 6, true}, telling_case};
constexpr int32_t n_attention = sizeof attention_cases / sizeof *attention_cases;
constexpr int32_t n_vector = sizeof vector_cases / sizeof *vector_cases;
constexpr int32_t n_boot = sizeof boot_cases / sizeof *boot_cases,
                  n_boot_vector = sizeof boot_vector_cases / sizeof *boot_vector_cases;

// The arrays of a case, and bump allocation of them inside the caller's buffer.
struct attention_sizes {
  int64_t q, k, v, out;
};
constexpr attention_sizes sizes_of(const attention_case &c) {
  const int64_t queries = static_cast<int64_t>(c.n_q) * c.n_heads, keys = static_cast<int64_t>(c.n_kv) * c.n_kv_heads;
  if (c.overlapping) return {queries * c.head_dim, keys - 1 + c.v_dim, 0, queries * c.v_dim};
  return {queries * c.head_dim, keys * c.head_dim, keys * c.v_dim, queries * c.v_dim};
}
constexpr size_t case_workspace(const attention_case &c, size_t most) {
  return c.small_workspace ? HEED_WORKSPACE_MIN_BYTES(c.head_dim, c.v_dim)
                           : smaller_of(HEED_WORKSPACE_BYTES(c.head_dim, c.v_dim), most);
}
constexpr size_t most_workspace = HEED_WORKSPACE_BYTES(64, 64);
// At start-up 16 rows of 3 floats, the fewest whose lanes are queries.
constexpr size_t boot_workspace = 64 * (HEED_WORKSPACE_ROW_FLOATS(3) + 3);
template <int N>
constexpr bool cases_fit(const attention_case (&cases)[N], size_t workspace, size_t bytes) {
  for (const attention_case &c : cases) {
    const attention_sizes n = sizes_of(c);
    const int64_t floats = n.q + n.k + n.v + 2 * n.out + 4 * 15;
    if (case_workspace(c, workspace) + static_cast<size_t>(floats) * sizeof(float) > bytes) return false;
  }
  return true;
}
static_assert(cases_fit(attention_cases, most_workspace, HEED_SELFTEST_BYTES), "HEED_SELFTEST_BYTES holds every case");
static_assert(cases_fit(boot_cases, boot_workspace, HEED_SELFTEST_BOOT_BYTES), "HEED_SELFTEST_BOOT_BYTES does, too");

// Zeros that are negative, one NaN, infinities of both signs.
void spoil_results(float *q, float *k, float *v, const attention_sizes &n) {
  q[0] = k[0] = v[0] = -0.0f;
  q[n.q - 1] = float_of(nan_bits);         // the last query's, of the last head
  k[n.k * 3 / 4] = -negative_infinity;     // scores of both infinities, seen by later queries only
  v[n.v / 2] = negative_infinity;          // one column
  v[n.v - n.v / 16] = float_of(nan_bits);  // another
}

template <class K>
bool test_attention(K k, const attention_case &c, int32_t index, float *buffer, size_t most, comparison &result) {
  const attention_sizes n = sizes_of(c);
  arena memory = {buffer};
  const size_t bytes = case_workspace(c, most);
  float *workspace = memory.take(static_cast<int64_t>(bytes / sizeof(float)));
  float *inputs = memory.take(n.q + n.k + n.v);
  float *expected = memory.take(n.out), *actual = memory.take(n.out);
  fill(inputs, n.q + n.k + n.v, static_cast<uint32_t>(index));
  if (c.special) spoil_results(inputs, inputs + n.q, inputs + n.q + n.k, n);
  heed_attention call = heed_attention_of(inputs, inputs + n.q, nullptr, c.n_q, c.n_kv, c.n_heads, c.n_kv_heads,
                                          c.head_dim, nullptr, heed_memory_of(workspace, bytes));
  call.v_dim = c.v_dim;
  call.scale = c.scale;
  call.causal = c.causal;
  call.position = c.position;
  call.v = heed_token_major(inputs + n.q + n.k, c.n_kv, c.n_kv_heads, c.v_dim);
  if (c.overlapping) {
    call.v.data = call.k.data;
    call.k.row_stride = call.v.row_stride = 1;
  }
  for (float *out = expected;; out = actual) {
    call.out = heed_token_major_out(out, c.n_q, c.n_heads, c.v_dim);
    if (out == expected) {
      run_attention(reference_kernel(k->has_fma), call);
    } else {
      run_attention(k, call);
      break;
    }
  }
  return result.equal(*k, "attention", index, expected, actual, n.out);
}

float scale_of_softmax(const vector_case &c) {
  if (c.telling) return log2e;
  return c.depth == 280 ? 1.0f : 5.0f;
}

bool test_vectors(const kernel *k, const vector_case &c, int32_t index, float *buffer, comparison &result) {
  const kernel &reference = *reference_kernel(k->has_fma);
  const int32_t n_x = c.n_rows * c.depth, n_w = c.depth * c.n_cols, n_y = c.n_rows * c.n_cols;
  arena memory = {buffer};
  float *x = memory.take(n_x), *w = memory.take(n_w), *bias = memory.take(c.n_cols);
  float *expected = memory.take(n_y + n_x), *actual = memory.take(n_y + n_x);
  fill(x, n_x, static_cast<uint32_t>(index) + 100);
  const bool halves = c.depth == 280;  // every tie of the exponential's rounding
  for (int32_t i = 0; halves && i < n_x; i++) x[i] = static_cast<float>(i % 140) * -0.5f;
  if (c.special) {
    for (int32_t i = 0; i < c.depth; i++) x[i] = negative_infinity;  // the first row
    x[c.depth] = float_of(nan_bits);
    x[2 * c.depth] = -negative_infinity;
    x[3 * c.depth] = negative_infinity;
    x[4 * c.depth] = -0.0f;
  }
  for (int32_t i = 0; c.telling && i < n_telling; i++) x[2 * i] = 0.0f, x[2 * i + 1] = telling_numbers[i];
  fill(w, n_w, static_cast<uint32_t>(index) + 200);
  fill(bias, c.n_cols, static_cast<uint32_t>(index) + 300);
  for (float *y = expected;; y = actual) {
    const kernel &use = y == expected ? reference : *k;
    const float *const given = index % 2 ? bias : nullptr;
    products_of(&use)->linear({x, c.depth, w, c.n_cols, given, y, c.n_cols, c.n_rows, c.depth, c.n_cols});
    const float scale = scale_of_softmax(c);
    use.softmax({x, c.depth, y + n_y, c.depth, c.n_rows, c.depth, scale, negative_infinity});
    if (y == actual) break;
  }
  if (!result.equal(*k, "linear", index, expected, actual, n_y)) return false;
  if (!result.equal(*k, "softmax", index, expected + n_y, actual + n_y, n_x)) return false;
  const float expected_dot = products_of(&reference)->dot(x, x, n_x), actual_dot = products_of(k)->dot(x, x, n_x);
  return result.equal(*k, "dot", index, &expected_dot, &actual_dot, 1);
}

// A build with one kernel knows its steps by name; its tables name none, so that the linker can drop them.
bool test_features_of(const kernel *k, float *buffer, heed_selftest_report &report) {
#ifdef HEED_SINGLE
  return k != &kernel_fixed || test_features(fixed_kernel(), buffer, report);
#else
  return test_features(k, buffer, report);
#endif
}

bool test_kernel(const kernel *k, float *buffer, heed_selftest_report &report) {
  comparison result(report);
  for (int32_t i = 0; i < n_attention; i++)
    if (!test_attention(k, attention_cases[i], i, buffer, most_workspace, result)) return false;
  for (int32_t i = 0; i < n_vector; i++)
    if (!test_vectors(k, vector_cases[i], i, buffer, result)) return false;
  return result.conclude(*k, known_of_attention) && test_features_of(k, buffer, report);
}

template <class K>
bool test_boot(K k, float *buffer, heed_selftest_report &report) {
  comparison result(report);
  for (int32_t i = 0; i < n_boot; i++)
    if (!test_attention(k, boot_cases[i], i, buffer, boot_workspace, result)) return false;
  for (int32_t i = 0; i < n_boot_vector; i++)
    if (!test_vectors(&*k, boot_vector_cases[i], i, buffer, result)) return false;
  return result.conclude(*k, known_at_boot);
}

}  // namespace
}  // namespace heed

heed_status heed_selftest(heed_memory memory, heed_selftest_report *report) {
  const heed_status status = heed::check_memory(memory, HEED_SELFTEST_BYTES, report);
  if (status != HEED_OK) return status;
  heed_selftest_report found = {};
  bool equal = true;
  for (int32_t i = 0; const heed::kernel *k = heed::available_kernel(i); i++)
    equal = equal && heed::test_kernel(k, static_cast<float *>(memory.data), found);
  return heed::conclude(found, equal, heed::n_attention + heed::n_vector + heed::n_features, report);
}

heed_status heed_selftest_boot(heed_memory memory, heed_selftest_report *report) {
  const heed_status status = heed::check_memory(memory, HEED_SELFTEST_BOOT_BYTES, report);
  if (status != HEED_OK) return status;
  heed_selftest_report found = {};
  const bool equal = heed::test_boot(heed_front_door::kernel(), static_cast<float *>(memory.data), found);
  return heed::conclude(found, equal, heed::n_boot + heed::n_boot_vector, report);
}
