// What a kernel keeps of new tokens: the numbers of heed_convert_from_f32, whose rounding formats_test.cpp checks, for every kind
// of float and for rows of every length. SPDX-License-Identifier: MIT
#include <cstring>

#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/numbers.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class append_bits : public kernel_test {
 protected:
  static bool holds(const heed_cache &cache, const void *data, size_t n_bytes) {
    const auto *const all = static_cast<const unsigned char *>(cache.buffer), *const end =
                                                                                  all + heed_cache_bytes(&cache.shape);
    const auto *const bytes = static_cast<const unsigned char *>(data);
    return std::search(all, end, bytes, bytes + n_bytes) != end;
  }
  // Tokens whose keys and values are the rows of x: their numbers, and int8's scales, lie in the cache one after
  // another.
  static void expect_kept(int32_t dtype, const std::vector<float> &x, int32_t dim) {
    const int32_t n = static_cast<int32_t>(x.size()) / dim;
    heed_cache_shape s = heed_cache_shape_default(n, 1, dim);
    s.dtype = dtype;
    std::vector<unsigned char> room(heed_cache_bytes(&s) + 64);
    unsigned char *const buffer = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64);
    heed_cache cache;
    ASSERT_EQ(heed_cache_init(&cache, &s, heed_memory_of(buffer, heed_cache_bytes(&s))), HEED_OK);
    const heed_tensor rows = heed_token_major(x.data(), n, 1, dim);
    ASSERT_EQ(heed_cache_append(&cache, 0, rows, rows, n, nullptr), HEED_OK);

    std::vector<unsigned char> narrow(size_t(n) * size_t(dim) * HEED_DTYPE_BYTES(dtype));
    std::vector<float> scales(static_cast<size_t>(n));
    const heed_typed_matrix_out y =
        heed_typed_matrix_out_of(narrow.data(), dtype == HEED_INT8 ? scales.data() : nullptr, dtype, n, dim);
    ASSERT_EQ(heed_convert_from_f32(heed_matrix_of(x.data(), n, dim), y), HEED_OK);
    EXPECT_TRUE(holds(cache, narrow.data(), narrow.size())) << "numbers, dim " << dim;
    if (dtype != HEED_INT8) return;
    EXPECT_TRUE(holds(cache, scales.data(), scales.size() * sizeof(float))) << "scales, dim " << dim;
  }
};

TEST_P(append_bits, halves_are_those_of_heed_convert_from_f32) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 65521) x.push_back(float_of(static_cast<uint32_t>(bits)));
  for (uint32_t i = 0; i < 65536; i += 5)
    for (const int32_t dtype : {HEED_F16, HEED_BF16}) {
      const auto number = [&](uint32_t bits) {
        return dtype == HEED_F16 ? f16_number(static_cast<uint16_t>(bits)) : bf16_number(static_cast<uint16_t>(bits));
      };
      const float middle = static_cast<float>((number(i) + number(i + 1)) / 2);
      for (const float near : {middle, std::nextafter(middle, infinity), std::nextafter(middle, -infinity)})
        x.push_back(near);
    }
  const int32_t dim = 251;
  x.resize(x.size() / dim * dim);
  for (const int32_t dtype : {HEED_F16, HEED_BF16}) expect_kept(dtype, x, dim);
}

TEST_P(append_bits, int8_are_those_of_heed_convert_from_f32) {
  for (const int32_t dim : {1, 3, 4, 7, 8, 15, 16, 17, 63, 64, 65, 130}) {
    random_source r(static_cast<uint64_t>(dim));
    std::vector<float> x;
    for (const int exponent : {0, -149, -140, -126, -120, -30, 30, 120})
      for (const float number : bell_floats(r, size_t(dim) * 4)) x.push_back(std::ldexp(number, exponent));
    x.insert(x.end(), static_cast<size_t>(dim), -0.0f);
    for (const float number : bell_floats(r, size_t(dim) * 4)) x.push_back(0.5f * std::round(number * 8));  // ties
    expect_kept(HEED_INT8, x, dim);
  }
}

TEST_P(append_bits, int8_refuse_what_is_not_finite) {
  heed_cache_shape s = heed_cache_shape_default(4, 1, 37);
  s.dtype = HEED_INT8;
  HEED_MEMORY(memory, HEED_CACHE_BYTES(4, 1, 1, 37, 37, HEED_INT8));
  heed_cache cache;
  ASSERT_EQ(heed_cache_init(&cache, &s, memory), HEED_OK);
  for (int32_t i = 0; i < 37; ++i)
    for (const float bad : {infinity, -infinity, not_a_number}) {
      std::vector<float> good(37, 1.0f), x = good;
      x[size_t(i)] = bad;
      const heed_tensor one = heed_token_major(good.data(), 1, 1, 37), other = heed_token_major(x.data(), 1, 1, 37);
      EXPECT_EQ(heed_cache_append(&cache, 0, other, one, 1, nullptr), HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_K)) << i;
      EXPECT_EQ(heed_cache_append(&cache, 0, one, other, 1, nullptr), HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_V)) << i;
    }
}

// A key is finite as given and infinite when turned: int8 has no scale for it. The tokens before it stay as they are.
TEST_P(append_bits, int8_refuse_a_key_that_rope_makes_infinite) {
  HEED_MEMORY(memory, HEED_CACHE_BYTES(2, 1, 1, 2, 1, HEED_INT8));
  heed_cache_shape s = heed_cache_shape_default(2, 1, 2);
  s.v_dim = 1, s.dtype = HEED_INT8;
  heed_cache cache;
  heed_rope rope;
  ASSERT_EQ(heed_cache_init(&cache, &s, memory), HEED_OK);
  ASSERT_EQ(heed_rope_init(&rope, HEED_ROPE_INTERLEAVED), HEED_OK);
  const float first[2] = {1, 1}, large[2] = {3e38f, 3e38f}, v[1] = {1};
  const auto append = [&](const float *k) {
    return heed_cache_append(&cache, 0, heed_token_major(k, 1, 1, 2), heed_token_major(v, 1, 1, 1), 1, &rope);
  };
  ASSERT_EQ(append(first), HEED_OK);
  const auto *const bytes = static_cast<const unsigned char *>(memory.data);
  const std::vector<unsigned char> before(bytes, bytes + memory.bytes);
  EXPECT_EQ(append(large), HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_K));
  EXPECT_EQ(heed_cache_length(&cache, 0), 1);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 192, bytes)) << "header or state";
}

HEED_TEST_EVERY_KERNEL(append_bits);

}  // namespace
}  // namespace heed_test
