// Products around every border of lib/vector/product/ways.hpp, where a kernel changes its way through the weights: the bits of the
// scalar reference. The borders are in bytes of weights, which rows far apart have, too, so that few numbers cross all of them.
// SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"

namespace heed_test {
namespace {

using floats = std::vector<float>;

class linear_ways : public reference_test {
 protected:
  struct shape {
    int32_t dtype, layout, n_in, n_out;
    ptrdiff_t stride;
    int32_t shift;  // bytes from an aligned address
  };

  // Weights whose numbers are small, written where the shape has them.
  heed_weights weights_of(random_source &r, const shape &s) {
    const size_t element = HEED_DTYPE_BYTES(s.dtype);
    const int32_t n_rows = s.layout == HEED_IN_OUT ? s.n_in : s.n_out, dim = s.layout == HEED_IN_OUT ? s.n_out : s.n_in;
    const size_t bytes = element * (size_t(n_rows - 1) * size_t(s.stride) + size_t(dim)) + size_t(s.shift);
    if (bytes_.size() < bytes + 64) bytes_.resize(bytes + 64);
    auto *const data = &bytes_[(64 - reinterpret_cast<uintptr_t>(bytes_.data()) % 64) % 64 + size_t(s.shift)];
    for (int32_t i = 0; i < n_rows; ++i)
      for (int32_t j = 0; j < dim; ++j) {
        unsigned char *const to = data + element * (size_t(i) * size_t(s.stride) + size_t(j));
        const float number = r.uniform();
        const uint32_t bits = bits_of(number);
        const uint16_t half = uint16_t((bits >> 16 & 0x8000) | (bits >> 13 & 0x3bff)), brain = uint16_t(bits >> 16);
        if (s.dtype == HEED_F32) std::memcpy(to, &number, sizeof number);
        if (s.dtype == HEED_F16) std::memcpy(to, &half, sizeof half);
        if (s.dtype == HEED_BF16) std::memcpy(to, &brain, sizeof brain);
        if (element == 1) *to = static_cast<unsigned char>(r.next());
      }
    scales_ = floats(size_t(s.n_out));
    zeros_.resize(size_t(s.n_out));
    for (float &x : scales_) x = r.uniform();
    for (unsigned char &x : zeros_) x = static_cast<unsigned char>(r.next());
    heed_weights w = heed_weights_of(data, element == 1 ? scales_.data() : nullptr, s.dtype, s.layout, s.n_in, s.n_out);
    w.row_stride = s.stride;
    return s.dtype == HEED_UINT8 ? heed_weights_with_zero_points(w, zeros_.data(), s.n_out) : w;
  }

  void compare(const shape &s, const std::vector<int32_t> &rows) {
    if (reference_ == GetParam()) return;
    random_source r(4400);
    const heed_weights w = weights_of(r, s);
    const int32_t most = *std::max_element(rows.begin(), rows.end());
    const floats x = bell_floats(r, size_t(most) * size_t(s.n_in)), bias = bell_floats(r, size_t(s.n_out));
    const auto run = [&](int32_t n) {
      floats y(size_t(n) * size_t(s.n_out));
      EXPECT_EQ(heed_linear(heed_matrix_of(x.data(), n, s.n_in), w, bias.data(),
                            heed_matrix_out_of(y.data(), n, s.n_out), nullptr),
                HEED_OK);
      return y;
    };
    const kernel_scope scope(reference_);
    const floats expected = run(most);  // a row is what it is alone
    for (const int32_t n : rows) {
      const kernel_scope here(GetParam());
      EXPECT_TRUE(same_bits(floats(expected.begin(), expected.begin() + ptrdiff_t{n} * s.n_out), run(n)))
          << n << " rows of " << s.n_in << " x " << s.n_out << ", stride " << s.stride << ", dtype " << s.dtype
          << ", layout " << s.layout << ", at " << s.shift;
    }
  }

  std::vector<unsigned char> bytes_;
  floats scales_;
  std::vector<unsigned char> zeros_;
};

const std::vector<int32_t> border_rows = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 25, 31, 32, 33, 36, 37};

// Below and above each border, at strides whose rows collide in a cache, and at others.
TEST_P(linear_ways, floats_of_any_size) {
  constexpr int32_t n_in = 100;
  for (const int32_t border : {1 << 18, 1 << 20, 1 << 21, 1 << 23, 1 << 24, 1 << 25})
    for (const ptrdiff_t multiple : {1, 512, 1024})
      for (const int32_t n_out : {40, 72, 136}) {
        const ptrdiff_t below = border / 4 / n_in / multiple * multiple;
        for (const ptrdiff_t stride : {below, below + multiple})
          if (stride >= n_out) compare({HEED_F32, HEED_IN_OUT, n_in, n_out, stride, 0}, border_rows);
      }
}

// Rows that lie one behind the other: panels of packed weights, and small matrices.
TEST_P(linear_ways, contiguous_floats) {
  for (const int32_t n_out : {16, 32, 48, 64})
    for (const int32_t border : {1 << 18, 1 << 20})
      for (const int32_t n_in : {border / 4 / n_out - 1, border / 4 / n_out + 1})
        compare({HEED_F32, HEED_IN_OUT, n_in, n_out, n_out, 0}, border_rows);
}

TEST_P(linear_ways, fewer_bits) {
  for (const int32_t dtype : {HEED_F16, HEED_BF16, HEED_INT8, HEED_UINT8})
    for (const int32_t n_out : {9, 40, 72, 136})
      for (const ptrdiff_t stride : {ptrdiff_t{n_out}, ptrdiff_t{1024}, ptrdiff_t{4096}, ptrdiff_t{90000}})
        for (const int32_t shift : {0, 32}) {
          if (stride < n_out) continue;
          compare({dtype, HEED_IN_OUT, 96, n_out, stride, shift}, border_rows);
          compare({dtype, HEED_IN_OUT, 96, n_out, stride, shift}, {95, 96});
        }
  for (const int32_t dtype : {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_UINT8})
    for (const int32_t n_out : {3, 9, 40, 72}) compare({dtype, HEED_OUT_IN, 97, n_out, 100, 0}, border_rows);
}

// One row of bytes of any number of columns, from aligned and other addresses, in and beyond the caches.
TEST_P(linear_ways, one_row_of_bytes) {
  for (const int32_t n_out : {64, 100, 256, 300})
    for (const ptrdiff_t stride : {ptrdiff_t{n_out}, ptrdiff_t{320}, ptrdiff_t{1024}, ptrdiff_t{3072}})
      for (const int32_t shift : {0, 16, 32, 48}) {
        if (stride < n_out) continue;
        compare({HEED_UINT8, HEED_IN_OUT, 120, n_out, stride, shift}, {1});
        compare({HEED_UINT8, HEED_IN_OUT, 1100, n_out, stride, shift}, {1});
      }
}

// So many rows that a copied panel serves them all.
TEST_P(linear_ways, very_many_rows) {
  for (const int32_t dtype : {HEED_F32, HEED_F16, HEED_INT8}) {
    compare({dtype, HEED_IN_OUT, 9, 40, 40, 0}, {2100, 4200});
    compare({dtype, HEED_OUT_IN, 9, 40, 9, 0}, {2100});
  }
}

// Packed weights of every format, every number of rows up to 20, and few outputs.
TEST_P(linear_ways, packed) {
  if (reference_ == GetParam()) return;
  random_source r(4500);
  for (int32_t dtype = HEED_F32; dtype <= HEED_Q4_0; ++dtype)
    for (const int32_t n_out : {1, 3, 9, 15, 16, 17, 40, 64, 100})
      for (const int32_t n_in : {1, 7, 31, 64, 97}) {
        const floats numbers = bell_floats(r, size_t(n_in) * size_t(n_out)), bias = bell_floats(r, size_t(n_out));
        const floats x = bell_floats(r, 20 * size_t(n_in));
        const heed_weights plain = heed_weights_of(numbers.data(), nullptr, HEED_F32, HEED_IN_OUT, n_in, n_out);
        const size_t bytes = heed_weights_packed_bytes(dtype, n_in, n_out);
        bytes_.resize(bytes + 64);
        auto *const at = &bytes_[(64 - reinterpret_cast<uintptr_t>(bytes_.data()) % 64) % 64];
        heed_weights w;
        ASSERT_EQ(heed_weights_pack(plain, dtype, heed_memory_of(at, bytes)), HEED_OK);
        ASSERT_EQ(heed_weights_open(&w, at, bytes), HEED_OK);
        const auto run = [&](int32_t n) {
          floats y(size_t(n) * size_t(n_out));
          EXPECT_EQ(heed_linear(heed_matrix_of(x.data(), n, n_in), w, bias.data(),
                                heed_matrix_out_of(y.data(), n, n_out), nullptr),
                    HEED_OK);
          return y;
        };
        const kernel_scope scope(reference_);
        const floats expected = run(20);
        for (int32_t n = 1; n <= 20; ++n) {
          const kernel_scope here(GetParam());
          EXPECT_TRUE(same_bits(floats(expected.begin(), expected.begin() + ptrdiff_t{n} * n_out), run(n)))
              << n << " rows of " << n_in << " x " << n_out << ", dtype " << dtype;
        }
      }
}

HEED_TEST_EVERY_KERNEL(linear_ways);

}  // namespace
}  // namespace heed_test
