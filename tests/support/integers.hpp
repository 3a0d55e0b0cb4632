// Calls of attention in integers: random ones, and what the reference in plain loops says to them.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_INTEGERS_HPP
#define HEED_TESTS_SUPPORT_INTEGERS_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "../../lib/integers/int_finish.hpp"
#include "../../lib/reference/int_reference.hpp"
#include "heed/integers.h"
#include "random.hpp"

namespace heed_test {

// All kernels of integers that can run here.
inline std::vector<std::string> int_kernels() {
  std::vector<std::string> names;
  for (int32_t i = 0; i < heed_int_isa_count(); ++i) names.push_back(heed_int_isa_name(i));
  return names;
}

class int_kernel_test : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_EQ(heed_int_isa_use(GetParam().c_str()), HEED_OK); }
  void TearDown() override { heed_int_isa_use(nullptr); }
};
inline std::string int_kernel_label(const ::testing::TestParamInfo<std::string> &info) {
  std::string label = info.param;
  std::replace(label.begin(), label.end(), '-', '_');
  return label;
}
#define HEED_TEST_EVERY_INT_KERNEL(suite) \
  INSTANTIATE_TEST_SUITE_P(kernel, suite, ::testing::ValuesIn(heed_test::int_kernels()), heed_test::int_kernel_label)

// Memory of a workspace or a partial, aligned to 64 bytes, with bytes behind it that must stay.
class aligned_bytes {
 public:
  explicit aligned_bytes(size_t n = 0) : n_(n), bytes_(n + 128, 0xa5) {}
  heed_memory get() { return {bytes_.data() + offset(), n_}; }
  heed_memory first(size_t n) { return {bytes_.data() + offset(), n}; }
  bool is_whole() {
    const unsigned char *end = bytes_.data() + offset() + n_, *last = bytes_.data() + bytes_.size();
    return std::all_of(end, last, [](unsigned char c) { return c == 0xa5; });
  }

 private:
  size_t offset() const { return (64 - reinterpret_cast<uintptr_t>(bytes_.data()) % 64) % 64; }
  size_t n_;
  std::vector<unsigned char> bytes_;
};

// A call and all its memory.
struct int_problem {
  heed_int_attention call;
  std::vector<int8_t> q, k, v;
  std::vector<uint8_t> mask;
  std::vector<int32_t> lengths, sinks, lse;
  std::vector<heed_multiplier> scores, values;
  std::vector<unsigned char> out;
  aligned_bytes workspace;

  size_t n_rows() const {
    return static_cast<size_t>(call.batch_size) * static_cast<size_t>(call.n_heads) * static_cast<size_t>(call.n_q);
  }
};

inline void fill_bytes(random_source &random, std::vector<int8_t> &x, size_t n, int32_t least = -128,
                       int32_t most = 127) {
  x.resize(n);
  for (int8_t &each : x) each = static_cast<int8_t>(random.between(least, most));
}

// A tensor of one of several layouts: token-major, head-major, with gaps; the numbers of elements that it takes.
template <class T>
size_t lay_out(random_source &random, T &t, int32_t batch, int32_t n_heads, int32_t n_rows, int32_t dim) {
  const ptrdiff_t gap = random.chance(30) ? random.between(1, 5) : 0, row = dim + gap;
  if (random.chance(50)) {
    t.row_stride = row * n_heads;
    t.head_stride = row;
  } else {
    t.row_stride = row;
    t.head_stride = row * n_rows + gap;
  }
  t.batch_stride = (row * n_rows + gap) * n_heads + gap;
  return static_cast<size_t>(t.batch_stride) * static_cast<size_t>(batch);
}

inline heed_multiplier random_multiplier(random_source &random, int32_t least_e, int32_t most_e) {
  return {static_cast<int32_t>(0x40000000u + random.below(0x40000000u)), random.between(least_e, most_e)};
}

// Sizes and everything else at random; scores spread over some octaves, so that p is of all sizes.
struct int_limits {
  int32_t n_q = 40, n_kv = 700, dim = 80;
};
inline void draw(random_source &random, int_problem &p, const int_limits &limits = {}) {
  const int32_t batch = random.between(1, 2), n_kv_heads = random.between(1, 2),
                n_heads = n_kv_heads * random.between(1, 4);
  const int32_t n_q = random.size(1, limits.n_q), n_kv = random.size(1, limits.n_kv);
  heed_int_attention &call = p.call;
  call = heed_int_attention_of(nullptr, nullptr, nullptr, n_q, n_kv, n_heads, n_kv_heads, random.size(1, limits.dim),
                               nullptr, {nullptr, 0});
  call.batch_size = batch;
  call.v_dim = random.size(1, limits.dim);
  fill_bytes(random, p.q, lay_out(random, call.q, batch, n_heads, n_q, call.head_dim));
  const int32_t flat = random.chance(20) ? 3 : 127;  // scores that lie close together
  fill_bytes(random, p.k, lay_out(random, call.k, batch, n_kv_heads, n_kv, call.head_dim), -flat - 1, flat);
  fill_bytes(random, p.v, lay_out(random, call.v, batch, n_kv_heads, n_kv, call.v_dim));
  p.out.assign(2 * lay_out(random, call.out, batch, n_heads, n_q, call.v_dim), 0x5b);
  call.out.dtype = random.chance(50) ? HEED_INT8 : HEED_INT16;
  if (random.chance(50)) {
    call.q.zero_point = random.between(-128, 127);
    call.k.zero_point = random.between(-128, 127);
    call.v.zero_point = random.between(-128, 127);
    call.out.zero_point = random.between(-128, 127);
  }
  const int32_t typical = -13 - random.between(0, 3), e = random.chance(80) ? typical : random.between(-31, 0);
  call.score = random_multiplier(random, e, e);
  call.value = random_multiplier(random, -8, random.chance(70) ? 10 : 22);
  if (call.out.dtype == HEED_INT8 && random.chance(70)) call.value.e = random.between(-1, 3);
  call.causal = random.between(0, 1);
  call.position = random.between(-3, n_kv);
  if (random.chance(20)) call.position = n_kv - n_q;
  if (random.chance(30)) call.left_window = random.between(0, random.chance(50) ? 20 : n_kv);
  if (random.chance(20)) call.right_window = random.between(0, 20);
  if (random.chance(20)) {
    for (int32_t b = 0; b < batch; ++b) p.lengths.push_back(random.between(0, n_kv));
    call.kv_lengths = p.lengths.data();
  }
  if (random.chance(25)) {
    p.mask.resize(static_cast<size_t>(batch * n_heads * n_q) * static_cast<size_t>(n_kv));
    const int32_t percent = random.pick<int32_t>({2, 50, 95});
    for (uint8_t &each : p.mask) each = static_cast<uint8_t>(random.chance(percent) ? random.between(1, 255) : 0);
    call.mask = {p.mask.data(), static_cast<ptrdiff_t>(n_heads) * n_q * n_kv, static_cast<ptrdiff_t>(n_q) * n_kv, n_kv};
    if (random.chance(50)) call.mask.head_stride = 0;
    if (random.chance(20)) call.mask.query_stride = 0;
  }
  if (random.chance(25)) {
    for (int32_t h = 0; h < n_heads; ++h) p.sinks.push_back(random.between(-60000, random.chance(50) ? 20000 : 120000));
    call.sinks = p.sinks.data();
  }
  if (random.chance(20)) {
    for (int32_t i = 0; i < n_heads * n_q; ++i) p.scores.push_back(random_multiplier(random, e, e));
    call.scores = p.scores.data();
    call.scores_head_stride = random.chance(70) ? n_q : 0;
    call.scores_row_stride = random.chance(70) ? 1 : 0;
  }
  if (random.chance(20)) {
    for (int32_t h = 0; h < n_heads; ++h) p.values.push_back(random_multiplier(random, -2, 9));
    call.values = p.values.data();
  }
  if (random.chance(30)) {
    p.lse.assign(p.n_rows(), 77);
    call.lse = p.lse.data();
  }
  const size_t least = HEED_INT_WORKSPACE_MIN_BYTES(call.head_dim, call.v_dim),
               most = HEED_INT_WORKSPACE_BYTES(call.head_dim, call.v_dim);
  const size_t bytes = random.chance(20)   ? least
                       : random.chance(50) ? most
                                           : least + random.below(static_cast<uint32_t>(most - least));
  p.workspace = aligned_bytes(bytes);
  call.workspace = p.workspace.get();
  call.q.data = p.q.data();
  call.k.data = p.k.data();
  call.v.data = p.v.data();
  call.out.data = p.out.data();
}

// What out and lse must be. Gaps of out stay as they are.
struct int_result {
  std::vector<unsigned char> out;
  std::vector<int32_t> lse;
};
inline int_result expect(const heed_int_attention &call, const std::vector<unsigned char> &out_before) {
  int_result result = {out_before, {}};
  const int32_t group = call.n_heads / call.n_kv_heads, most = call.out.dtype == HEED_INT16 ? 32767 : 127;
  std::vector<int32_t> row(static_cast<size_t>(call.v_dim)), dots(static_cast<size_t>(call.n_kv));
  for (int32_t b = 0; b < call.batch_size; ++b)
    for (int32_t h = 0; h < call.n_heads; ++h)
      for (int32_t i = 0; i < call.n_q; ++i) {
        const heed::int_head head = {call.q.data + b * call.q.batch_stride + h * call.q.head_stride,
                                     call.k.data + b * call.k.batch_stride + h / group * call.k.head_stride,
                                     call.v.data + b * call.v.batch_stride + h / group * call.v.head_stride,
                                     call.q.row_stride,
                                     call.k.row_stride,
                                     call.v.row_stride,
                                     call.kv_lengths ? call.kv_lengths[b] : call.n_kv,
                                     call.head_dim,
                                     call.v_dim,
                                     call.q.zero_point,
                                     call.k.zero_point,
                                     call.v.zero_point,
                                     call.out.zero_point};
        const auto sees = [&](int32_t j) {
          const int64_t distance = j - (static_cast<int64_t>(call.position) + i);
          if (call.causal && distance > 0) return false;
          if (!call.causal && call.right_window >= 0 && distance > call.right_window) return false;
          if (call.left_window >= 0 && -distance > call.left_window) return false;
          const heed_int_mask &m = call.mask;
          return !m.data || m.data[b * m.batch_stride + h * m.head_stride + i * m.query_stride + j] != 0;
        };
        const heed_multiplier score =
            call.scores ? call.scores[h * call.scores_head_stride + i * call.scores_row_stride] : call.score;
        const heed_multiplier value = call.values ? call.values[h] : call.value;
        const heed::int_row_sum sum =
            heed::int_reference_row(head, i, sees, {score.m, score.e}, {value.m, value.e},
                                    call.sinks ? call.sinks + h : nullptr, -most - 1, most, dots.data(), row.data());
        const ptrdiff_t at = b * call.out.batch_stride + h * call.out.head_stride + i * call.out.row_stride;
        for (int32_t n = 0; n < call.v_dim; ++n)
          if (most == 127) {
            result.out[static_cast<size_t>(at + n)] = static_cast<unsigned char>(row[static_cast<size_t>(n)]);
          } else {
            const int16_t x = static_cast<int16_t>(row[static_cast<size_t>(n)]);
            std::memcpy(&result.out[2 * static_cast<size_t>(at + n)], &x, 2);
          }
        const double lse = sum.l == 0
                               ? INT32_MIN
                               : 2048 * (std::log2(static_cast<double>(sum.l)) + static_cast<double>(sum.octave) - 15) +
                                     heed::int_lse_bias;
        result.lse.push_back(
            static_cast<int32_t>(std::min(2147483647.0, std::max(-2147483648.0, std::floor(lse + 0.5)))));
      }
  return result;
}

// The log-sum-exp's own logarithm is rounded, so it may be one off.
inline void expect_same(const int_problem &p, const int_result &wanted, const std::string &what) {
  EXPECT_EQ(p.out, wanted.out) << what;
  for (size_t i = 0; i < p.lse.size(); ++i)
    EXPECT_LE(std::abs(static_cast<int64_t>(p.lse[i]) - wanted.lse[i]), 1) << what << ", lse of row " << i;
}

}  // namespace heed_test

#endif
