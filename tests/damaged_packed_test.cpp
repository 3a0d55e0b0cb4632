// Packed weights whose fields, header or numbers have changed: a status, or the bits that they had; never other numbers.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "heed/integers.h"
#include "support/data.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

constexpr int32_t n_in = 40, n_out = 72, n_rows = 3, most = 2 * n_out;  // two panels
constexpr size_t header_bytes = 64, version_at = 8, format_at = 12, sum_at = 24;
constexpr int32_t all_formats[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_Q8_0, HEED_Q4_0, HEED_UINT8};

using product = std::function<heed_status(const heed_weights &w, float *y)>;

// Rows that are as long as the weights say, where there are so many numbers: no check of shapes hides the others.
int32_t up_to(int32_t n) { return n < 1 ? 1 : n > most ? most : n; }

class damaged_packed : public ::testing::TestWithParam<int32_t> {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 13) * 0.25f - 1.5f;
    std::vector<float> numbers(n_in * n_out);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 2654435761u >> 20 & 255) / 64 - 2;
    std::vector<signed char> bytes(numbers.size());
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<signed char>(i * 37);
    const float scale = 0.03125f;
    const signed char zero = 3;
    heed_weights plain = heed_weights_of(numbers.data(), nullptr, HEED_F32, HEED_OUT_IN, n_in, n_out);
    if (GetParam() == HEED_UINT8)
      plain = heed_weights_with_zero_points(heed_weights_of(bytes.data(), &scale, HEED_INT8, HEED_OUT_IN, n_in, n_out),
                                            &zero, 1);
    bytes_ = HEED_WEIGHTS_PACKED_BYTES(GetParam(), n_in, n_out);
    ASSERT_LE(bytes_, sizeof memory_);
    ASSERT_EQ(heed_weights_pack(plain, GetParam(), heed_memory_of(memory_, bytes_)), HEED_OK);
    ASSERT_EQ(heed_weights_add_checksum(heed_memory_of(memory_, bytes_)), HEED_OK);
    ASSERT_EQ(heed_weights_open(&good_, memory_, bytes_), HEED_OK);
  }

  std::vector<product> products() const {
    std::vector<product> all = {[=](const heed_weights &w, float *y) {
                                  return heed_linear(heed_matrix_of(x_.data(), n_rows, up_to(w.n_in)), w, nullptr,
                                                     heed_matrix_out_of(y, n_rows, up_to(w.n_out)), nullptr);
                                },
                                [=](const heed_weights &w, float *y) {
                                  const int32_t rows[] = {0, up_to(w.n_out) - 1};
                                  return heed_gather_rows(w, rows, heed_matrix_out_of(y, 2, up_to(w.n_in)));
                                }};
    if (GetParam() == HEED_INT8)
      all.push_back([=](const heed_weights &w, float *y) {
        const std::vector<heed_multiplier> by(size_t{most}, heed_multiplier{1 << 30, -8});
        return heed_int_linear(heed_int_matrix_of(x_.data(), HEED_INT8, n_rows, up_to(w.n_in), 0), w, nullptr,
                               by.data(), heed_int_matrix_out_of(y, HEED_INT8, n_rows, up_to(w.n_out), 0), nullptr);
      });
    return all;
  }
  // Weights as they were opened and, where that is possible, whose products are made in integers.
  std::vector<heed_weights> views() const {
    std::vector<heed_weights> all = {good_};
    heed_weights fast;
    if (GetParam() >= HEED_INT8) {
      EXPECT_EQ(heed_weights_in_integers(&fast, good_), HEED_OK);
      all.push_back(fast);
    }
    return all;
  }

  // change(w) makes the weights or the memory wrong. The status, or the bits; HEED_OK where both are right.
  void expect(const std::function<void(heed_weights &w)> &change, heed_status wanted, const std::string &what) {
    for (const heed_weights &view : views())
      for (const product &multiply : products()) {
        std::vector<float> before(size_t{most} * n_rows, -7), after = before;
        ASSERT_EQ(multiply(view, before.data()), HEED_OK);
        heed_weights w = view;
        const std::vector<unsigned char> kept(memory_, memory_ + bytes_);
        change(w);
        const heed_status status = multiply(w, after.data());
        std::copy(kept.begin(), kept.end(), memory_);
        EXPECT_EQ(status_name(status), status_name(wanted == some_fault ? status : wanted)) << what;
        if (status == HEED_OK)
          EXPECT_EQ(std::memcmp(before.data(), after.data(), after.size() * sizeof(float)), 0)
              << what << ": other numbers";
        else
          EXPECT_EQ(after, std::vector<float>(after.size(), -7)) << what << ": refused, but y has changed";
        EXPECT_TRUE(wanted != some_fault || status != HEED_OK) << what;
      }
  }

  static constexpr heed_status some_fault = 1, damaged = HEED_STATUS(HEED_CORRUPT, HEED_ARG_W);
  alignas(64) unsigned char memory_[HEED_WEIGHTS_PACKED_BYTES(HEED_F32, n_in, n_out)] = {};
  size_t bytes_ = 0;
  heed_weights good_ = {};
  std::vector<float> x_ = std::vector<float>(size_t{most} * n_rows);
};

TEST_P(damaged_packed, fields) {
  for (int32_t dtype = -1; dtype <= 9; ++dtype)
    if (dtype != GetParam())
      expect([=](heed_weights &w) { w.dtype = dtype; }, some_fault, "format " + std::to_string(dtype));
  for (const int32_t layout : {INT32_MIN, -1, int32_t{HEED_IN_OUT}, int32_t{HEED_OUT_IN}, 3, INT32_MAX})
    expect([=](heed_weights &w) { w.layout = layout; }, some_fault, "layout " + std::to_string(layout));
  for (const int32_t n :
       {INT32_MIN, -1, 0, 1, 16, 20, 24, 32, 39, 41, 44, 64, 71, 73, 80, most, HEED_MAX_COUNT, INT32_MAX}) {
    expect([=](heed_weights &w) { w.n_in = n; }, some_fault, "n_in " + std::to_string(n));
    expect([=](heed_weights &w) { w.n_out = n; }, some_fault, "n_out " + std::to_string(n));
  }
  expect([](heed_weights &w) { std::swap(w.n_in, w.n_out); }, damaged, "n_in and n_out exchanged");
  expect([](heed_weights &w) { w.data = static_cast<const char *>(w.data) + 64; }, damaged, "data one line further");
  const float scales[] = {2};
  expect([&](heed_weights &w) { w.scales = scales, w.row_stride = -5; }, HEED_OK, "fields that have no meaning");
}

// After they were opened: what describes them is compared at each call.
TEST_P(damaged_packed, header_after_open) {
  for (size_t at = 0; at < header_bytes; ++at)
    for (int bit = 0; bit < 8; ++bit) {
      const bool describes = at < version_at || (at >= format_at && at < sum_at);
      expect([=](heed_weights &) { memory_[at] = static_cast<unsigned char>(memory_[at] ^ 1 << bit); },
             describes ? damaged : HEED_OK, "bit " + std::to_string(bit) + " of byte " + std::to_string(at));
    }
}

// Before: they are refused, or the sum tells.
TEST_P(damaged_packed, header_before_open) {
  for (size_t at = 0; at < header_bytes; ++at)
    for (int bit = 0; bit < 8; ++bit) {
      const unsigned char before = memory_[at];
      memory_[at] = static_cast<unsigned char>(before ^ 1 << bit);
      heed_weights w;
      const bool opens = heed_weights_open(&w, memory_, bytes_) == HEED_OK;
      EXPECT_FALSE(opens && heed_weights_check(w) == HEED_OK) << "bit " << bit << " of byte " << at;
      memory_[at] = before;
    }
}

TEST_P(damaged_packed, numbers) {
  for (const heed_weights &w : views()) {
    EXPECT_EQ(status_name(heed_weights_check(w)), "HEED_OK");
    for (size_t at = header_bytes; at < bytes_; ++at) {
      const unsigned char before = memory_[at];
      memory_[at] = static_cast<unsigned char>(before ^ 1 << at % 8);
      EXPECT_EQ(status_name(heed_weights_check(w)), status_name(damaged)) << "byte " << at;
      memory_[at] = before;
    }
  }
}

// They give the same bits, and are not taken for what has a checksum.
TEST_P(damaged_packed, weights_without_a_checksum) {
  const unsigned char version = GetParam() == HEED_UINT8 ? 2 : 1;
  const auto clear_checksum = [&] {
    memory_[version_at] = version;
    std::memset(memory_ + sum_at, 0, 4);
  };
  expect([&](heed_weights &) { clear_checksum(); }, HEED_OK, "no checksum");
  const std::vector<unsigned char> with_checksum(memory_, memory_ + bytes_);
  clear_checksum();
  EXPECT_EQ(status_name(heed_weights_check(good_)), status_name(HEED_STATUS(HEED_UNKNOWN_VERSION, HEED_ARG_W)));
  heed_weights w;
  EXPECT_EQ(status_name(heed_weights_open(&w, memory_, bytes_)), "HEED_OK");
  for (int i = 0; i < 2; ++i) {  // the second time nothing changes
    EXPECT_EQ(status_name(heed_weights_add_checksum(heed_memory_of(memory_, bytes_))), "HEED_OK");
    EXPECT_EQ(std::memcmp(memory_, with_checksum.data(), bytes_), 0);
  }
  memory_[version_at] = static_cast<unsigned char>(3 - version);
  EXPECT_EQ(status_name(heed_weights_open(&w, memory_, bytes_)),
            status_name(HEED_STATUS(HEED_UNKNOWN_VERSION, HEED_ARG_PACKED)));
}

TEST_P(damaged_packed, adding_a_checksum_refused) {
  const auto refused = [&](void *data, size_t bytes, heed_fault fault) {
    const std::vector<unsigned char> before(memory_, memory_ + bytes_);
    EXPECT_EQ(status_name(heed_weights_add_checksum(heed_memory_of(data, bytes))),
              status_name(HEED_STATUS(fault, HEED_ARG_MEMORY)));
    EXPECT_EQ(std::memcmp(memory_, before.data(), bytes_), 0);
  };
  refused(nullptr, bytes_, HEED_NULL_POINTER);
  refused(memory_ + 32, bytes_ - 32, HEED_MISALIGNED);
  refused(reinterpret_cast<void *>(~uintptr_t{63}), bytes_, HEED_OVERFLOW);
  for (const size_t n : {size_t{0}, size_t{63}, size_t{64}, bytes_ - 1}) refused(memory_, n, HEED_TOO_SMALL);
  for (const auto &[at, fault] : {std::pair(0, HEED_BAD_MAGIC), {8, HEED_UNKNOWN_VERSION}, {60, HEED_CORRUPT}}) {
    memory_[at] ^= 0x80;
    refused(memory_, bytes_, fault);
    memory_[at] ^= 0x80;
  }
}

INSTANTIATE_TEST_SUITE_P(dtype, damaged_packed, ::testing::ValuesIn(all_formats));

TEST(packed_sum, is_for_opened_weights_alone) {
  static const float numbers[64] = {};
  const heed_status unknown = HEED_STATUS(HEED_NOT_INITIALIZED, HEED_ARG_W);
  EXPECT_EQ(heed_weights_check(heed_weights_of(numbers, nullptr, HEED_F32, HEED_IN_OUT, 8, 8)), unknown);
  EXPECT_EQ(heed_weights_check(heed_weights_of(numbers, nullptr, HEED_F32, HEED_PACKED, 8, 8)), unknown);
  EXPECT_EQ(heed_weights_check(heed_weights_of_blocks(numbers, HEED_Q8_0, 32, 2)), unknown);
}

}  // namespace
}  // namespace heed_test
