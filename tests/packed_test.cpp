// Packed weights and weights in blocks: their bytes, and products with the bits that the same numbers have unpacked.
// SPDX-License-Identifier: MIT
#include "support/kernels.hpp"
#include "support/packed.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

matrix product(const matrix &x, const heed_weights &w, const std::vector<float> &bias,
               const primitive_setting &s = {}) {
  const result_rows y(x.n_rows, w.n_out, s.padding);
  EXPECT_EQ(heed_linear(put(slot_q, x, s.padding), w, fenced_copy(slot_v, bias), y.view(), s.executor), HEED_OK);
  return y.take();
}

std::string text(const heed_weights &w, int32_t n) {
  return std::to_string(n) + " x " + std::to_string(w.n_in) + " x " + std::to_string(w.n_out) + " format " +
         std::to_string(w.dtype) + " layout " + std::to_string(w.layout);
}

// Numbers that round as they will, and those of a kind: zeros, one number, powers of two.
void vary(random_source &r, weights *w) {
  if (w->numbers.dtype != HEED_F32) return;
  const int32_t kind = r.between(0, 4);
  for (size_t at = 0; at + 4 <= w->numbers.bytes.size() && kind < 3; at += 4) {
    float x;
    std::memcpy(&x, &w->numbers.bytes[at], 4);
    if (std::isnan(x)) continue;
    x = kind == 0 ? std::copysign(0.0f, x) : kind == 1 ? std::copysign(0.5f, x) : std::ldexp(x, -20);
    std::memcpy(&w->numbers.bytes[at], &x, 4);
  }
}

// ------------------------------------------------------------------------------------------------------------- bytes

void expect_bytes(const heed_weights &w, const numeric_weights &numbers) {
  std::vector<int32_t> targets(std::begin(all_formats), std::end(all_formats));
  if (numbers.dtype == HEED_UINT8) targets.push_back(HEED_UINT8);
  for (const int32_t dtype : targets) {
    const bytes_of_weights actual = pack(w, dtype), expected = packer::pack(converted(numbers, dtype));
    ASSERT_EQ(actual.size(), HEED_WEIGHTS_PACKED_BYTES(dtype, w.n_in, w.n_out));
    EXPECT_TRUE(actual == expected) << text(w, 0) << " to " << dtype << ": byte "
                                    << std::mismatch(actual.begin(), actual.end(), expected.begin()).first -
                                           actual.begin();
  }
}

TEST(packed_bytes, from_every_format_and_layout) {
  for (int32_t seed = 0; seed < 240 && !::testing::Test::HasFailure(); ++seed) {
    random_source r(720000 + static_cast<uint64_t>(seed));
    weights w = random_weights(r, weight_formats[seed % 5], seed / 5 % 2, r.size(1, 140), r.size(1, 150),
                               r.chance(50) ? 0 : r.between(1, 9));
    vary(r, &w);
    expect_bytes(w.view(), numbers_of(w));
  }
}

TEST(packed_bytes, from_blocks) {
  for (int32_t seed = 0; seed < 60 && !::testing::Test::HasFailure(); ++seed) {
    random_source r(730000 + static_cast<uint64_t>(seed));
    const numeric_weights n = random_blocks(r, seed % 2 ? HEED_Q8_0 : HEED_Q4_0, 32 * r.between(1, 4), r.size(1, 150));
    expect_bytes(blocks_at_fence(n, n.n_blocks() + (r.chance(50) ? 0 : r.between(1, 3))), n);
  }
}

// The bits of NaN and infinity stay, where no scale must be found for them.
TEST(packed_bytes, of_special_numbers) {
  random_source r(9);
  weights w = random_weights(r, HEED_F32, HEED_OUT_IN, 5, 3, 0);
  const float special[] = {infinity, -infinity, 1e30f, -0.0f, least_subnormal};
  std::memcpy(w.numbers.bytes.data(), special, sizeof special);
  for (const int32_t dtype : {HEED_F32, HEED_F16, HEED_BF16})
    EXPECT_TRUE(pack(w.view(), dtype) == packer::pack(converted(numbers_of(w), dtype))) << dtype;
  weights halves = random_weights(r, HEED_F16, HEED_IN_OUT, 4, 4, 0);
  for (size_t i = 0; i < 16; ++i) {
    const auto bits = static_cast<uint16_t>(0x7c00 + 61 * i);
    std::memcpy(&halves.numbers.bytes[2 * i], &bits, 2);
  }
  EXPECT_TRUE(pack(halves.view(), HEED_F16) == packer::pack(numbers_of(halves)));
  numeric_weights blocks = random_blocks(r, HEED_Q4_0, 64, 5);
  blocks.scales[3] = 0x7e01, blocks.scales[4] = 0xfc00;
  EXPECT_TRUE(pack(blocks_at_fence(blocks, 2), HEED_Q4_0) == packer::pack(blocks));
}

// The error of a weight that the header states.
TEST(packed_bytes, keep_to_the_error_of_blocks) {
  for (int32_t seed = 0; seed < 50; ++seed) {
    random_source r(740000 + static_cast<uint64_t>(seed));
    weights w = random_weights(r, HEED_F32, HEED_OUT_IN, 96, 4, 0);
    const numeric_weights exact = numbers_of(w);
    for (const int32_t dtype : {HEED_Q8_0, HEED_Q4_0}) {
      const numeric_weights narrow = converted(exact, dtype);
      ASSERT_TRUE(pack(w.view(), dtype) == packer::pack(narrow));
      for (int32_t o = 0; o < 4; ++o)
        for (int32_t i = 0; i < 96; ++i) {
          const double scale = f16_number(uint16_t(narrow.scale(i, o))), x = exact.widened(i, o);
          const double most = dtype == HEED_Q8_0 ? 0.51 : x / scale > 7 ? 1.01 : 0.51;
          EXPECT_LE(std::fabs(x - double(narrow.widened(i, o))), most * std::fabs(scale)) << dtype;
        }
    }
  }
}

TEST(packed_bytes, sizes) {
  EXPECT_EQ(heed_weights_packed_bytes(HEED_F32, 1, 1), 64u + 64);
  EXPECT_EQ(heed_weights_packed_bytes(HEED_F32, 4096, 4096), 64u + 4 * 4096 * 4096);
  EXPECT_EQ(heed_weights_packed_bytes(HEED_BF16, 3, 17), 64u + 192);
  EXPECT_EQ(heed_weights_packed_bytes(HEED_INT8, 512, 1376), 64u + 516 * 1376);
  EXPECT_EQ(heed_weights_packed_bytes(HEED_UINT8, 510, 1376), 64u + 520 * 1376);
  EXPECT_EQ(heed_weights_packed_bytes(HEED_Q8_0, 172, 64), 64u + 6 * 34 * 64);
  EXPECT_EQ(heed_weights_packed_bytes(HEED_Q4_0, 33, 16), 64u + 576);
  for (const int32_t dtype : {-1, 6, 8, INT32_MAX}) EXPECT_EQ(heed_weights_packed_bytes(dtype, 8, 8), 0u);
  for (const int32_t n : {0, -1, HEED_MAX_COUNT + 1}) {
    EXPECT_EQ(heed_weights_packed_bytes(HEED_F32, n, 8), 0u);
    EXPECT_EQ(heed_weights_packed_bytes(HEED_F32, 8, n), 0u);
  }
  const size_t most = heed_weights_packed_bytes(HEED_F32, HEED_MAX_COUNT, HEED_MAX_COUNT);
  EXPECT_EQ(most, sizeof(void *) == 8 ? size_t(64 + (uint64_t{1} << 62)) : 0u);
}

// ---------------------------------------------------------------------------------------------------------- products

class packed : public kernel_test {
 protected:
  matrix random_x(random_source &r, int32_t n, int32_t n_in) { return {n, n_in, any_floats(r, size_t(n) * n_in)}; }
  std::vector<float> random_bias(random_source &r, int32_t n_out) {
    return r.chance(50) ? bell_floats(r, size_t(n_out)) : std::vector<float>();
  }
  // The same numbers packed, as they lie, and by the reference.
  void expect_same(random_source &r, int32_t n, const heed_weights &w, const primitive_setting &s = {}) {
    const matrix x = random_x(r, n, w.n_in);
    const std::vector<float> bias = random_bias(r, w.n_out);
    const bytes_of_weights bytes = pack(w, w.code && w.dtype == HEED_INT8 ? HEED_UINT8 : w.dtype);
    const matrix expected = product(x, w, bias);
    EXPECT_TRUE(same_bits(expected.values, product(x, open_at_fence(bytes), bias, s).values)) << text(w, n);
    if (w.code) {
      EXPECT_TRUE(same_bits(expected.values, product(x, w, bias, s).values)) << text(w, n) << " as it lies";
    }
    const std::string &reference = reference_of(GetParam());
    if (reference.empty()) return;
    const kernel_scope scope(reference);
    EXPECT_TRUE(same_bits(product(x, w, bias).values, expected.values)) << text(w, n) << " reference";
  }
};

TEST_P(packed, has_the_bits_of_plain_weights) {
  for (int32_t seed = 0; seed < repetitions(400) && !HasFailure(); ++seed) {
    random_source r(750000 + static_cast<uint64_t>(seed));
    const auto executor = r.chance(20) ? random_executor(r) : nullptr;
    primitive_setting s;
    s.padding = r.chance(50) ? 0 : r.between(1, 17);
    s.executor = executor ? executor->get() : nullptr;
    const int32_t n = r.chance(50) ? r.between(1, 4) : r.size(1, 50);
    const weights w = random_weights(r, weight_formats[seed % 5], seed / 5 % 2, r.size(1, 100), r.size(1, 150), 0);
    expect_same(r, n, w.view(), s);
  }
}

TEST_P(packed, has_the_bits_of_blocks) {
  for (int32_t seed = 0; seed < repetitions(200) && !HasFailure(); ++seed) {
    random_source r(760000 + static_cast<uint64_t>(seed));
    const auto executor = r.chance(20) ? random_executor(r) : nullptr;
    primitive_setting s;
    s.executor = executor ? executor->get() : nullptr;
    const int32_t n = r.chance(50) ? r.between(1, 4) : r.size(1, 50);
    const numeric_weights w = random_blocks(r, seed % 2 ? HEED_Q8_0 : HEED_Q4_0, 32 * r.between(1, 5), r.size(1, 150));
    expect_same(r, n, blocks_at_fence(w, w.n_blocks() + (r.chance(50) ? 0 : r.between(1, 3))), s);
  }
}

// A last block that is shorter: only packed weights have it. The chain of rule 24, in words of its own.
TEST_P(packed, in_blocks_of_any_length) {
  const bool has_fma = heed_isa_arithmetic(GetParam().c_str()) == HEED_ARITHMETIC_FMA;
  const auto multiply_add = [&](float a, float b, float c) {
    if (has_fma) return std::fma(a, b, c);
    const volatile float p = a * b;
    return p + c;
  };
  for (int32_t seed = 0; seed < repetitions(60) && !HasFailure(); ++seed) {
    random_source r(770000 + static_cast<uint64_t>(seed));
    const int32_t n = r.between(1, 9), dtype = seed % 2 ? HEED_Q8_0 : HEED_Q4_0;
    const weights w = random_weights(r, HEED_F32, seed / 2 % 2, r.size(1, 140), r.size(1, 100), 0);
    const numeric_weights q = converted(numbers_of(w), dtype);
    const matrix x = {n, w.n_in, bell_floats(r, size_t(n) * w.n_in)};
    const std::vector<float> bias = random_bias(r, w.n_out);
    std::vector<float> expected;
    for (int32_t t = 0; t < n; ++t)
      for (int32_t o = 0; o < w.n_out; ++o) {
        float y = bias.empty() ? 0.0f : bias[size_t(o)], sum = 0;
        for (int32_t i = 0; i < w.n_in; ++i) {
          sum = multiply_add(x.values[size_t(t) * w.n_in + i], float(int32_t(q.number(i, o))), sum);
          if (i % 32 < 31 && i < w.n_in - 1) continue;
          y = multiply_add(float(f16_number(uint16_t(q.scale(i, o)))), sum, y);
          sum = 0;
        }
        expected.push_back(y);
      }
    const bytes_of_weights bytes = pack(w.view(), dtype);
    EXPECT_TRUE(same_bits(expected, product(x, open_at_fence(bytes), bias).values)) << text(w.view(), n);
  }
}

// Against double, within the bound of the header.
TEST_P(packed, blocks_keep_to_the_error) {
  for (int32_t seed = 0; seed < repetitions(40) && !HasFailure(); ++seed) {
    random_source r(780000 + static_cast<uint64_t>(seed));
    const numeric_weights w = random_blocks(r, seed % 2 ? HEED_Q8_0 : HEED_Q4_0, 32 * r.between(1, 60), r.size(1, 20));
    const matrix x = {3, w.n_in, bell_floats(r, 3 * size_t(w.n_in))};
    const std::vector<float> bias = random_bias(r, w.n_out);
    const matrix y = product(x, blocks_at_fence(w, w.n_blocks()), bias);
    for (int32_t t = 0; t < 3; ++t)
      for (int32_t o = 0; o < w.n_out; ++o) {
        double exact = bias.empty() ? 0 : double(bias[size_t(o)]), size = std::fabs(exact), greatest = 0;
        for (int32_t i = 0; i < w.n_in; ++i) {
          const double scale = f16_number(uint16_t(w.scale(i, o)));
          const double term = double(x.values[size_t(t) * w.n_in + i]) * int32_t(w.number(i, o)) * scale;
          exact += term, size += std::fabs(term), greatest = std::fmax(greatest, std::fabs(scale));
        }
        EXPECT_LE(std::fabs(double(y.values[size_t(t) * w.n_out + o]) - exact),
                  (w.n_in / 32 + 36) * 0x1p-24 * size + w.n_in * (greatest + 1) * 0x1p-149);
      }
  }
}

TEST_P(packed, in_pieces) {
  struct {
    int32_t n, in, out, pieces;
  } const cases[] = {{10, 224, 1001, 3}, {101, 128, 200, 3}, {1, 2048, 1300, 6}};
  for (const auto &[n, in, out, pieces] : cases)
    for (const int32_t dtype : all_formats) {
      random_source r(static_cast<uint64_t>(n));
      reverse_executor executor(3);
      primitive_setting s;
      s.executor = executor.get();
      if (has_blocks(dtype)) {
        const numeric_weights w = random_blocks(r, dtype, in, out);
        expect_same(r, n, blocks_at_fence(w, w.n_blocks()), s);
      } else {
        expect_same(r, n, random_weights(r, dtype, HEED_OUT_IN, in, out, 0).view(), s);
      }
      EXPECT_EQ(executor.most_tasks(), pieces) << dtype;
    }
}

// Shapes at which ways change: one row, few, many; a panel, its parts, several; more inputs than a piece.
TEST_P(packed, in_every_way) {
  const int32_t shapes[][3] = {{1, 32, 16},  {1, 192, 64}, {1, 64, 172},  {2, 32, 130},  {3, 224, 47}, {4, 64, 50},
                               {5, 64, 64},  {6, 160, 33}, {7, 96, 19},   {24, 320, 3},  {49, 64, 61}, {1, 32, 512},
                               {1, 512, 65}, {9, 512, 40}, {40, 32, 200}, {1, 32, 1},    {2, 96, 1},   {8, 1024, 128},
                               {1, 7, 64},   {2, 1, 1},    {3, 33, 65},   {12, 1003, 17}};
  for (const auto &[n, in, out] : shapes)
    for (const int32_t dtype : all_formats) {
      random_source r(static_cast<uint64_t>(n + in + out));
      if (!has_blocks(dtype))
        expect_same(r, n, random_weights(r, dtype, n % 2, in, out, 0).view());
      else if (in % 32 == 0)
        expect_same(r, n, blocks_at_fence(random_blocks(r, dtype, in, out), in / 32));
    }
}

HEED_TEST_EVERY_KERNEL(packed);

}  // namespace
}  // namespace heed_test
