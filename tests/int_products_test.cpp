// Products in integers through the public functions, against arithmetic of the test's own: all layouts, strides, zero
// points, formats, threads; rows of floats that are quantised on their way; and what is refused.
// SPDX-License-Identifier: MIT
#include "heed/int_products.h"

#include "support/kernels.hpp"
#include "support/packed.hpp"
#include "support/primitives.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

using bytes = std::vector<int8_t>;

// Weights as numbers [n_out][n_in], and as they lie.
struct int_weights {
  int32_t n_in, n_out;
  bytes numbers;
  int32_t at(int32_t i, int32_t o) const { return numbers[size_t(o) * size_t(n_in) + size_t(i)]; }
};
int_weights random_int_weights(random_source &r, int32_t n_in, int32_t n_out) {
  int_weights w = {n_in, n_out, bytes(size_t(n_in) * size_t(n_out))};
  for (int8_t &x : w.numbers) x = int8_t(r.between(-127, 127));
  return w;
}

heed_weights lay(const int_weights &w, int32_t layout, int32_t gap, bytes &to) {
  const bool out_in = layout == HEED_OUT_IN;
  const int32_t rows = out_in ? w.n_out : w.n_in, dim = out_in ? w.n_in : w.n_out;
  to.assign(size_t(rows - 1) * size_t(dim + gap) + size_t(dim), 77);
  for (int32_t i = 0; i < w.n_in; ++i)
    for (int32_t o = 0; o < w.n_out; ++o)
      to[size_t(out_in ? o : i) * size_t(dim + gap) + size_t(out_in ? i : o)] = int8_t(w.at(i, o));
  heed_weights view = heed_weights_of(fenced_copy(slot_k, to), nullptr, HEED_INT8, layout, w.n_in, w.n_out);
  view.row_stride = dim + gap;
  return view;
}
heed_weights lay_packed(const int_weights &w, bytes &to, bytes_of_weights &packed) {
  heed_weights plain = lay(w, HEED_OUT_IN, 0, to);
  const std::vector<float> scales(size_t(w.n_out), 1.0f);
  plain.scales = scales.data();
  packed = pack(plain, HEED_INT8);
  return open_at_fence(packed);
}

// The rule in words of its own: floor of acc * m / 2^(31 - e) + 1/2.
int64_t expected_number(int64_t acc, heed_multiplier by, int32_t zero_point, int32_t dtype) {
  const int shift = 31 - by.e;
  const int64_t product = acc * by.m, unit = int64_t{1} << (shift - 1);
  const int64_t halves = product >= 0 ? product / unit : -((-product + unit - 1) / unit);  // floor of twice the number
  const int64_t rounded = (halves + 1) >> 1, most = dtype == HEED_INT16 ? 32767 : 127;
  return std::min(most, std::max(-most - 1, rounded + zero_point));
}

TEST(int_project, is_its_rule) {
  for (int32_t seed = 0; seed < 400 && !testing::Test::HasFailure(); ++seed) {
    random_source r(810000 + uint64_t(seed));
    const int32_t n = r.chance(50) ? r.between(1, 4) : r.size(1, 60), n_in = r.size(1, 300), n_out = r.size(1, 200);
    const int_weights w = random_int_weights(r, n_in, n_out);
    bytes x(size_t(n) * size_t(n_in)), memory;
    for (int8_t &e : x) e = int8_t(r.between(-128, 127));
    const int32_t x_zero = r.between(-128, 127), dtype = r.chance(50) ? HEED_INT8 : HEED_INT16;
    const int32_t y_zero = dtype == HEED_INT8 ? r.between(-128, 127) : r.between(-32768, 32767);
    std::vector<int32_t> bias;
    std::vector<heed_multiplier> by;
    for (int32_t o = 0; o < n_out; ++o) {
      if (seed % 3) bias.push_back(r.between(-200000, 200000));
      const int32_t likely = dtype == HEED_INT8 ? -10 : -3;
      by.push_back({r.between(0x40000000, INT32_MAX), r.chance(5) ? r.between(-31, 0) : r.between(likely - 3, likely)});
    }
    const int32_t layout = seed % 4 < 2 ? seed % 4 : HEED_PACKED;
    bytes_of_weights packed;
    const heed_weights view =
        layout == HEED_PACKED ? lay_packed(w, memory, packed) : lay(w, layout, r.between(0, 5), memory);
    const int32_t y_stride = n_out + r.between(0, 4);
    std::vector<int16_t> y(size_t(n) * size_t(y_stride), 0x5555);
    const auto executor = r.chance(30) ? random_executor(r) : nullptr;
    heed_int_matrix_out to = heed_int_matrix_out_of(y.data(), dtype, n, n_out, y_zero);
    to.row_stride = y_stride;
    ASSERT_EQ(heed_int_linear(heed_int_matrix_of(fenced_copy(slot_q, x), HEED_INT8, n, n_in, x_zero), view,
                              fenced_copy(slot_v, bias), fenced_copy(slot_mask, by), to,
                              executor ? executor->get() : nullptr),
              HEED_OK);
    for (int32_t t = 0; t < n; ++t)
      for (int32_t o = 0; o < y_stride; ++o) {
        const size_t at = size_t(t) * size_t(y_stride) + size_t(o);
        const int64_t found = dtype == HEED_INT16 ? y[at] : reinterpret_cast<const int8_t *>(y.data())[at];
        int64_t expected = dtype == HEED_INT16 ? 0x5555 : 0x55;
        if (o < n_out) {
          int64_t acc = bias.empty() ? 0 : bias[size_t(o)];
          for (int32_t i = 0; i < n_in; ++i)
            acc += int64_t{x[size_t(t) * size_t(n_in) + size_t(i)] - x_zero} * w.at(i, o);
          expected = expected_number(acc, by[size_t(o)], y_zero, dtype);
        }
        ASSERT_EQ(found, expected) << n << " x " << n_in << " x " << n_out << ", layout " << layout << " at " << t
                                   << ", " << o;
      }
  }
}

// The greatest sums that n_in allows.
TEST(int_project, at_its_bounds) {
  constexpr int32_t n_in = HEED_INT_MAX_IN;
  const bytes x(n_in, -128);
  bytes w(n_in, -128);
  const heed_multiplier by = {0x40000000, -14};  // 2^-15
  int16_t y = 0;
  for (const int32_t sign : {1, -1}) {
    for (int8_t &e : w) e = sign > 0 ? -128 : 127;
    for (const int32_t layout : {HEED_OUT_IN, HEED_IN_OUT}) {
      const heed_weights view = heed_weights_of(w.data(), nullptr, HEED_INT8, layout, n_in, 1);
      ASSERT_EQ(heed_int_linear(heed_int_matrix_of(x.data(), HEED_INT8, 1, n_in, 127), view, nullptr, &by,
                                heed_int_matrix_out_of(&y, HEED_INT16, 1, 1, -32000), nullptr),
                HEED_OK);
      EXPECT_EQ(y, std::max<int64_t>(-32768, std::min<int64_t>(32767, -255 * 2 * w[0] - 32000)));
    }
  }
}

// ------------------------------------------------------------------------------------------------- rows of floats

matrix product(const matrix &x, const heed_weights &w, const std::vector<float> &bias,
               const primitive_setting &s = {}) {
  const result_rows y(x.n_rows, w.n_out, s.padding);
  EXPECT_EQ(heed_linear(put(slot_q, x, s.padding), w, fenced_copy(slot_v, bias), y.view(), s.executor), HEED_OK);
  return y.take();
}

heed_weights in_integers(const bytes_of_weights &packed) {
  heed_weights w = open_at_fence(packed);
  EXPECT_EQ(heed_weights_in_integers(&w, w), HEED_OK);
  return w;
}

float product_by_rule(const float *x, const numeric_weights &w, int32_t o, float bias) {
  float most = 0;
  bool finite = true;
  for (int32_t i = 0; i < w.n_in; ++i) most = std::max(most, std::fabs(x[i])), finite &= std::isfinite(x[i]);
  if (!finite) return not_a_number;
  const bool zero = most < 0x1p-100f, blocks = has_blocks(w.dtype);
  const volatile float s_x = zero ? 0 : most / 127, inverse = zero ? 0 : 127 / most;
  volatile float y = 0;
  int64_t acc = 0;
  for (int32_t i = 0; i < w.n_in; ++i) {
    const volatile float scaled = x[i] * inverse;
    acc += int64_t(std::nearbyint(scaled)) * w.integer(i, o);
    if (!blocks || (i % 32 != 31 && i != w.n_in - 1)) continue;
    const volatile float t = float(acc) * float(f16_number(uint16_t(w.scale(i, o))));
    y = y + t;
    acc = 0;
  }
  if (blocks) {
    y = y * s_x;
    return y + bias;
  }
  const float unit = s_x < 0x1p96f ? 1.0f : 0x1p-32f;  // so that no product is infinite before the last
  y = float(acc) * (s_x * unit);
  y = y * float_of(w.scale(0, o));
  y = y / unit;
  return y + bias;
}

TEST(rows_in_integers, are_their_rule_and_keep_to_the_error) {
  for (int32_t seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
    random_source r(820000 + uint64_t(seed));
    const int32_t dtype = seed % 4 == 3 ? HEED_UINT8 : HEED_INT8 + seed % 4;
    const int32_t n = r.chance(50) ? r.between(1, 4) : r.size(1, 50);
    const weights plain =
        random_weights(r, dtype == HEED_UINT8 ? dtype : HEED_F32, seed / 4 % 2, r.size(1, 300), r.size(1, 150), 0);
    const numeric_weights w = converted(numbers_of(plain), dtype);
    const bytes_of_weights packed = pack(plain.view(), dtype);
    matrix x = {n, w.n_in, bell_floats(r, size_t(n) * size_t(w.n_in))};
    if (r.chance(20)) x.values[size_t(r.between(0, n * w.n_in - 1))] = r.chance(50) ? not_a_number : INFINITY;
    if (r.chance(20))
      for (int32_t i = 0; i < w.n_in; ++i) x.values[size_t(i)] *= r.chance(50) ? 0x1p-101f : 0x1p-97f;
    if (r.chance(20))
      for (int32_t i = 0; i < w.n_in; ++i) x.values[size_t(i)] *= r.chance(50) ? 0x1p95f : 0x1p120f;
    const std::vector<float> bias = r.chance(50) ? bell_floats(r, size_t(w.n_out)) : std::vector<float>();
    const auto executor = r.chance(30) ? random_executor(r) : nullptr;
    primitive_setting s;
    s.padding = r.chance(50) ? 0 : r.between(1, 17);
    s.executor = executor ? executor->get() : nullptr;
    const matrix y = product(x, in_integers(packed), bias, s);
    for (int32_t t = 0; t < n; ++t)
      for (int32_t o = 0; o < w.n_out; ++o) {
        const float *const row = &x.values[size_t(t) * size_t(w.n_in)];
        const float found = y.values[size_t(t) * size_t(w.n_out) + size_t(o)], b = bias.empty() ? 0 : bias[size_t(o)];
        ASSERT_TRUE(same_float(product_by_rule(row, w, o, b), found))
            << n << " x " << w.n_in << " x " << w.n_out << " " << dtype << " at " << t << ", " << o;
        double exact = b, sum = 0, most = 0;
        for (int32_t i = 0; i < w.n_in; ++i) {
          const double by = double(w.integer(i, o)) *
                            double(has_blocks(dtype) ? f16_number(uint16_t(w.scale(i, o))) : float_of(w.scale(i, o)));
          exact += by * double(row[i]), sum += std::fabs(by), most = std::max(most, double(std::fabs(row[i])));
        }
        if (std::isnan(found)) continue;
        const double blocks = has_blocks(dtype) ? w.n_blocks() : 0;
        EXPECT_LE(std::fabs(double(found) - exact), most / 127 * (0.5 + 0x1p-15) * sum +
                                                        (blocks + 4) * 0x1p-24 * (std::fabs(double(b)) + most * sum) +
                                                        0x1p-100 * sum);
      }
  }
}

// Weights q * 2^k of any format, exactly. In blocks one number is the greatest that there may be, so that 2^k is the scale.
bytes_of_weights weights_of_size(random_source &r, int32_t dtype, int32_t k, int32_t n_in, int32_t n_out,
                                 std::vector<double> *exact) {
  const bool nibbles = dtype == HEED_Q4_0;
  std::vector<float> floats, scales(size_t(n_out), std::ldexp(1.0f, k));
  std::vector<uint8_t> stored, zeros(size_t(n_out), 100);
  exact->clear();
  for (int32_t i = 0; i < n_in * n_out; ++i) {
    const bool greatest = i % n_in % 32 == 0;
    const int32_t q = nibbles ? (greatest ? -8 : r.between(-7, 7)) : greatest ? 127 : r.between(-100, 127);
    exact->push_back(std::ldexp(q, k)), floats.push_back(std::ldexp(float(q), k));
    stored.push_back(uint8_t(dtype == HEED_UINT8 ? q + 100 : q));
  }
  if (has_blocks(dtype))
    return pack(heed_weights_of(floats.data(), nullptr, HEED_F32, HEED_OUT_IN, n_in, n_out), dtype);
  const heed_weights w = heed_weights_of(stored.data(), scales.data(), dtype, HEED_OUT_IN, n_in, n_out);
  return pack(dtype == HEED_UINT8 ? heed_weights_with_zero_points(w, zeros.data(), n_out) : w, dtype);
}

// So many rows and outputs that a kernel takes them in groups of outputs, and so deep ones that it does not, alone and on
// threads.
TEST(rows_in_integers, of_large_weights_have_one_result) {
  random_source r(820900);
  const struct { int32_t n, n_in, n_out; } shapes[] = {{40, 500, 2200}, {26, 4500, 130}};
  thread_executor threads(3);
  for (const auto &shape : shapes) {
    const weights plain = random_weights(r, HEED_F32, 0, shape.n_in, shape.n_out, 0);
    const matrix x = {shape.n, shape.n_in, bell_floats(r, size_t(shape.n) * size_t(shape.n_in))};
    for (const int32_t dtype : {HEED_INT8, HEED_Q4_0}) {
      const bytes_of_weights packed = pack(plain.view(), dtype);
      primitive_setting s;
      ASSERT_EQ(heed_int_isa_use("plain"), HEED_OK);
      const matrix wanted = product(x, in_integers(packed), {}, s);
      for (int32_t i = 0; i < heed_int_isa_count(); ++i)
        for (const heed_executor *executor : {static_cast<const heed_executor *>(nullptr), threads.get()}) {
          ASSERT_EQ(heed_int_isa_use(heed_int_isa_name(i)), HEED_OK);
          s.executor = executor;
          EXPECT_TRUE(same_bits(wanted.values, product(x, in_integers(packed), {}, s).values)) << heed_int_isa_name(i);
        }
    }
  }
  heed_int_isa_use(nullptr);
}

// Rows from 2^-101 to the greatest float, next to ordinary ones, times weights from the least to 2^126: no product on
// the way may be infinite or subnormal where the result is neither.
TEST(rows_in_integers, keep_to_the_error_at_extreme_magnitudes) {
  random_source r(825000);
  int32_t n_large = 0;
  for (const int32_t dtype : {HEED_INT8, HEED_UINT8, HEED_Q8_0, HEED_Q4_0})
    for (const int32_t k : {-126, -110, -60, -14, 0, 15, 60, 100, 119})
      for (const int32_t size : {-101, -99, -60, 0, 60, 95, 96, 97, 103, 110, 120, 127}) {
        if (has_blocks(dtype) && (k < -14 || k > 15)) continue;
        constexpr int32_t n = 3, n_out = 70;
        const int32_t n_in = r.between(0, 1) ? r.between(1, 70) : r.between(500, 700);
        std::vector<double> w;
        const bytes_of_weights packed = weights_of_size(r, dtype, k, n_in, n_out, &w);
        matrix x = {n, n_in, std::vector<float>(size_t(n) * size_t(n_in))};
        for (int32_t i = 0; i < n * n_in; ++i)
          x.values[size_t(i)] =
              std::ldexp(float(r.between(8192, 16383)) * (i / n_in == 2 && r.chance(50) ? -1.0f : 1.0f),
                         (i / n_in == 1 ? 0 : size) - 13);
        const matrix y = product(x, in_integers(packed), {});
        for (int32_t t = 0; t < n; ++t)
          for (int32_t o = 0; o < n_out; ++o) {
            double exact = 0, sum = 0, most = 0;
            for (int32_t i = 0; i < n_in; ++i) {
              const double xi = x.values[size_t(t * n_in + i)], wi = w[size_t(o * n_in + i)];
              exact += xi * wi, sum += std::fabs(wi), most = std::max(most, std::fabs(xi));
            }
            const double blocks = has_blocks(dtype) ? (n_in + 31) / 32 : 0,
                         least = flushes_subnormals ? 0x1p-126 : 0x1p-149;
            const double bound =
                most / 127 * (0.5 + 0x1p-15) * sum + (blocks + 4) * 0x1p-24 * most * sum + 0x1p-100 * sum + least;
            if (std::fabs(exact) + bound > 0x1.fffffep127) continue;
            n_large += std::fabs(exact) > 0x1p110;
            ASSERT_LE(std::fabs(double(y.values[size_t(t * n_out + o)]) - exact), bound)
                << "format " << dtype << ", numbers of 2^" << size << ", weights of 2^" << k << " at " << t << ", "
                << o;
          }
      }
  EXPECT_GT(n_large, 1000);
}

// On every kernel of floats, fma or not.
TEST(rows_in_integers, have_the_same_bits_in_both_arithmetics) {
  random_source r(830000);
  const weights plain = random_weights(r, HEED_F32, HEED_OUT_IN, 200, 130, 0);
  const matrix x = {9, 200, bell_floats(r, 9 * 200)};
  for (const int32_t dtype : {HEED_INT8, HEED_Q8_0, HEED_Q4_0}) {
    const bytes_of_weights packed = pack(plain.view(), dtype);
    const matrix expected = product(x, in_integers(packed), {});
    for (int32_t i = 0; i < heed_isa_count(); ++i) {
      const kernel_scope scope(heed_isa_name(i));
      EXPECT_TRUE(same_bits(expected.values, product(x, in_integers(packed), {}).values)) << heed_isa_name(i);
    }
  }
}

// --------------------------------------------------------------------------------------------------------- refused

class bad_int_products : public ::testing::Test {
 protected:
  static constexpr int32_t n = 3, n_in = 32, n_out = 4;
  struct call {
    heed_int_matrix x;
    heed_weights w;
    const int32_t *bias;
    const heed_multiplier *by;
    heed_int_matrix_out y;
    const heed_executor *executor;
  };
  call good() {
    for (int32_t o = 0; o < n_out; ++o) by_[o] = {0x40000000, -5};
    return {heed_int_matrix_of(x_, HEED_INT8, n, n_in, 3),
            heed_weights_of(w_, nullptr, HEED_INT8, HEED_OUT_IN, n_in, n_out),
            reinterpret_cast<const int32_t *>(bias_),
            by_,
            heed_int_matrix_out_of(y_, HEED_INT16, n, n_out, 5),
            nullptr};
  }
  static heed_status run(const call &c) { return heed_int_linear(c.x, c.w, c.bias, c.by, c.y, c.executor); }
  void refuses(heed_argument argument, std::vector<flaw<call>> flaws) {
    for (const flaw<call> &wrong : flaws) {
      call bad = good();
      wrong.apply(bad);
      memory_.refuses([&] { return run(bad); }, wrong.fault, argument, wrong.what);
    }
    EXPECT_EQ(status_name(run(good())), "HEED_OK");
  }
  arena memory_;
  float *unused_ = memory_.take(64);
  float *x_ = memory_.take(n * n_in), *w_ = memory_.take(n_in * n_out), *bias_ = memory_.take(n_out);
  heed_multiplier *by_ = reinterpret_cast<heed_multiplier *>(memory_.take(2 * n_out));
  float *y_ = memory_.take(3 * n_out);
  float *packed_ = memory_.take_aligned(HEED_WEIGHTS_PACKED_BYTES(HEED_F32, n_in, n_out) / 4);
  heed_weights *new_ = reinterpret_cast<heed_weights *>(memory_.take_aligned(64));
};

TEST_F(bad_int_products, tensors) {
  using C = call;
  refuses(HEED_ARG_X, {{"null", [](C &c) { c.x.data = nullptr; }, HEED_NULL_POINTER},
                       {"int16", [](C &c) { c.x.dtype = HEED_INT16; }, HEED_BAD_DTYPE},
                       {"f32", [](C &c) { c.x.dtype = HEED_F32; }, HEED_BAD_DTYPE},
                       {"zero point 128", [](C &c) { c.x.zero_point = 128; }, HEED_OUT_OF_RANGE},
                       {"zero point -129", [](C &c) { c.x.zero_point = -129; }, HEED_OUT_OF_RANGE},
                       {"no rows", [](C &c) { c.x.n_rows = 0; }, HEED_OUT_OF_RANGE},
                       {"too many inputs", [](C &c) { c.x.dim = c.w.n_in = HEED_INT_MAX_IN + 1; }, HEED_OUT_OF_RANGE},
                       {"stride -1", [](C &c) { c.x.row_stride = -1; }, HEED_BAD_STRIDE},
                       {"huge stride", [](C &c) { c.x.row_stride = huge_stride; }, HEED_OVERFLOW}});
  refuses(HEED_ARG_Y,
          {{"null", [](C &c) { c.y.data = nullptr; }, HEED_NULL_POINTER},
           {"misaligned", [](C &c) { c.y.data = misaligned(static_cast<char *>(c.y.data)); }, HEED_MISALIGNED},
           {"int8's zero point", [](C &c) { c.y.zero_point = -32769; }, HEED_OUT_OF_RANGE},
           {"f16", [](C &c) { c.y.dtype = HEED_F16; }, HEED_BAD_DTYPE},
           {"another shape", [](C &c) { c.y.dim = n_out - 1; }, HEED_SHAPE_MISMATCH},
           {"other rows", [](C &c) { c.y.n_rows = n - 1; }, HEED_SHAPE_MISMATCH},
           {"stride", [](C &c) { c.y.row_stride = n_out - 1; }, HEED_BAD_STRIDE},
           {"in x", [](C &c) { c.y.data = const_cast<void *>(c.x.data); }, HEED_OVERLAP},
           {"in w", [](C &c) { c.y.data = const_cast<void *>(c.w.data); }, HEED_OVERLAP},
           {"in bias", [](C &c) { c.y.data = const_cast<int32_t *>(c.bias); }, HEED_OVERLAP},
           {"in multipliers", [](C &c) { c.y.data = const_cast<heed_multiplier *>(c.by); }, HEED_OVERLAP}});
  refuses(HEED_ARG_BIAS,
          {{"misaligned", [](C &c) { c.bias = misaligned(c.bias); }, HEED_MISALIGNED},
           {"at the top", [](C &c) { c.bias = reinterpret_cast<int32_t *>(~uintptr_t{3}); }, HEED_OVERFLOW}});
  heed_executor none = {sizeof(heed_executor), 0, nullptr, nullptr};
  refuses(HEED_ARG_EXECUTOR, {{"none", [&](C &c) { c.executor = &none; }, HEED_NULL_POINTER}});
}

TEST_F(bad_int_products, weights_and_multipliers) {
  using C = call;
  refuses(HEED_ARG_W,
          {{"null", [](C &c) { c.w.data = nullptr; }, HEED_NULL_POINTER},
           {"f32", [](C &c) { c.w.dtype = HEED_F32; }, HEED_BAD_DTYPE},
           {"Q8_0", [](C &c) { c.w.dtype = HEED_Q8_0; }, HEED_NOT_INITIALIZED},
           {"Q4_0", [](C &c) { c.w.dtype = HEED_Q4_0; }, HEED_NOT_INITIALIZED},
           {"zero points", [](C &c) { c.w = heed_weights_with_zero_points(c.w, nullptr, n_out); }, HEED_UNSUPPORTED},
           {"zero points of uint8",
            [](C &c) {
              c.w.dtype = HEED_UINT8;
              c.w = heed_weights_with_zero_points(c.w, nullptr, n_out);
            },
            HEED_UNSUPPORTED},
           {"blocks", [](C &c) { c.w = heed_weights_of_blocks(c.w.data, HEED_Q8_0, n_in, n_out); }, HEED_BAD_DTYPE},
           {"packed", [](C &c) { c.w.layout = HEED_PACKED; }, HEED_NOT_INITIALIZED},
           {"layout 3", [](C &c) { c.w.layout = 3; }, HEED_BAD_LAYOUT},
           {"no outputs", [](C &c) { c.w.n_out = 0; }, HEED_OUT_OF_RANGE},
           {"stride -1", [](C &c) { c.w.row_stride = -1; }, HEED_BAD_STRIDE},
           {"other inputs", [](C &c) { c.w.n_in = n_in - 1; }, HEED_SHAPE_MISMATCH}});
  const auto set = [this](heed_multiplier m) { by_[n_out - 1] = m; };
  refuses(HEED_ARG_MULTIPLIERS, {{"null", [](C &c) { c.by = nullptr; }, HEED_NULL_POINTER},
                                 {"misaligned", [](C &c) { c.by = misaligned(c.by); }, HEED_MISALIGNED},
                                 {"m 0",
                                  [&](C &) {
                                    set({0, 0});
                                  },
                                  HEED_OUT_OF_RANGE},
                                 {"m small",
                                  [&](C &) {
                                    set({0x3fffffff, 0});
                                  },
                                  HEED_OUT_OF_RANGE},
                                 {"m negative",
                                  [&](C &) {
                                    set({INT32_MIN, 0});
                                  },
                                  HEED_OUT_OF_RANGE},
                                 {"e 31",
                                  [&](C &) {
                                    set({0x40000000, 31});
                                  },
                                  HEED_OUT_OF_RANGE},
                                 {"e -32",
                                  [&](C &) {
                                    set({0x40000000, -32});
                                  },
                                  HEED_OUT_OF_RANGE}});
}

TEST_F(bad_int_products, weights_in_integers) {
  const heed_weights plain = heed_weights_of(w_, nullptr, HEED_F32, HEED_OUT_IN, n_in, n_out);
  const auto opened = [&](int32_t dtype) {
    heed_weights w = {};
    const size_t size = HEED_WEIGHTS_PACKED_BYTES(dtype, n_in, n_out);
    EXPECT_EQ(heed_weights_pack(plain, dtype, heed_memory_of(packed_, size)), HEED_OK);
    EXPECT_EQ(heed_weights_open(&w, packed_, size), HEED_OK);
    return w;
  };
  const auto refuses_to = [&](heed_weights *to, const heed_weights &from, heed_fault fault, heed_argument argument,
                              const char *what) {
    memory_.refuses([&] { return heed_weights_in_integers(to, from); }, fault, argument, what);
  };
  const heed_weights good = opened(HEED_INT8);
  refuses_to(nullptr, good, HEED_NULL_POINTER, HEED_ARG_W, "null");
  refuses_to(misaligned(new_), good, HEED_MISALIGNED, HEED_ARG_W, "misaligned");
  refuses_to(reinterpret_cast<heed_weights *>(packed_ + 16), good, HEED_OVERLAP, HEED_ARG_W, "in the weights");
  refuses_to(new_, plain, HEED_NOT_INITIALIZED, HEED_ARG_PACKED, "plain");
  heed_weights unopened = good;
  unopened.code = nullptr;
  refuses_to(new_, unopened, HEED_NOT_INITIALIZED, HEED_ARG_PACKED, "not opened");
  refuses_to(new_, heed_weights_of_blocks(w_, HEED_Q8_0, n_in, n_out), HEED_NOT_INITIALIZED, HEED_ARG_PACKED, "blocks");
  for (const int32_t dtype : {HEED_F32, HEED_F16, HEED_BF16})
    refuses_to(new_, opened(dtype), HEED_BAD_DTYPE, HEED_ARG_PACKED, "not integers");
  heed_weights w = {}, many = opened(HEED_INT8);
  many.n_in = HEED_INT_MAX_IN + 1;
  refuses_to(new_, many, HEED_OUT_OF_RANGE, HEED_ARG_PACKED, "too many inputs");
  EXPECT_EQ(heed_weights_in_integers(&w, opened(HEED_Q4_0)), HEED_OK);
  const auto project = [&](const heed_weights &by, float *y) {
    return heed_linear(heed_matrix_of(x_, n, n_in), by, nullptr, heed_matrix_out_of(y, n, n_out), nullptr);
  };
  EXPECT_EQ(status_name(project(w, y_)), "HEED_OK");
  memory_.refuses([&] { return project(w, packed_ + 16); }, HEED_OVERLAP, HEED_ARG_Y, "y in the weights");
  heed_weights bad = w;
  bad.layout = HEED_OUT_IN;
  memory_.refuses([&] { return project(bad, y_); }, HEED_BAD_LAYOUT, HEED_ARG_W, "another layout");
  bad = w, bad.dtype = HEED_F32;
  memory_.refuses([&] { return project(bad, y_); }, HEED_BAD_DTYPE, HEED_ARG_W, "another format");
  bad = w, bad.data = nullptr;
  memory_.refuses([&] { return project(bad, y_); }, HEED_NULL_POINTER, HEED_ARG_W, "null");
}

}  // namespace
}  // namespace heed_test
