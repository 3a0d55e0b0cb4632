// Calls that must be refused: the exact status, and not one byte changed. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_REFUSAL_HPP
#define HEED_TESTS_SUPPORT_REFUSAL_HPP

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "heed/heed.h"

namespace heed_test {

constexpr int32_t beyond_count = HEED_MAX_COUNT + 1;
constexpr ptrdiff_t huge_stride = std::numeric_limits<ptrdiff_t>::max();

// An address so high that any tensor of more than eight floats would wrap around. Never read: the call must be refused.
inline float *top_of_memory() { return reinterpret_cast<float *>(~uintptr_t{0} - 31); }
template <typename T>
T *misaligned(T *pointer, uintptr_t by = 1) {
  return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(pointer) + by);
}

inline std::string status_name(heed_status status) {
  if (status == HEED_OK) return "HEED_OK";
  return std::string(heed_status_argument(status)) + ": " + heed_status_text(status);
}

// Memory for all arguments of a call, carved one after another without gaps, and a copy to compare with.
class arena {
 public:
  arena() : memory_(bytes), snapshot_(bytes) {
    // Ordinary numbers, so that a call that is wrongly accepted does something visible.
    float *floats = reinterpret_cast<float *>(base());
    for (size_t i = 0; i < n_floats; ++i) floats[i] = static_cast<float>(i % 13) * 0.25f - 1.5f;
  }
  float *take(size_t count) {
    float *here = reinterpret_cast<float *>(base()) + used_;
    used_ += count;
    EXPECT_LE(used_, n_floats);
    return here;
  }
  // The next piece starts at a multiple of 64 bytes.
  float *take_aligned(size_t count) {
    used_ = (used_ + 15) / 16 * 16;
    return take(count);
  }

  // Runs the call, which must be refused with this status and change nothing.
  void refuses(const std::function<heed_status()> &call, heed_fault fault, heed_argument argument,
               const std::string &what) {
    std::memcpy(snapshot_.data(), base(), n_floats * sizeof(float));
    const heed_status status = call();
    EXPECT_EQ(status, HEED_STATUS(fault, argument))
        << what << ": expected " << status_name(HEED_STATUS(fault, argument)) << ", found " << status_name(status);
    EXPECT_EQ(std::memcmp(snapshot_.data(), base(), n_floats * sizeof(float)), 0) << what << ": memory was changed";
  }

 private:
  static constexpr size_t n_floats = 81920, bytes = n_floats * sizeof(float) + 64;
  unsigned char *base() {
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (64 - address % 64) % 64;
  }
  std::vector<unsigned char> memory_, snapshot_;
  size_t used_ = 0;
};

// One thing made wrong in a value of type T.
template <typename T>
struct flaw {
  std::string what;
  std::function<void(T &)> apply;
  heed_fault fault;
};

// Everything that can be wrong with a matrix by itself, of at least 2 rows and 2 columns.
template <typename Matrix>
std::vector<flaw<Matrix>> matrix_flaws(int32_t most_columns) {
  return {{"null", [](Matrix &m) { m.data = nullptr; }, HEED_NULL_POINTER},
          {"misaligned by 1", [](Matrix &m) { m.data = misaligned(m.data); }, HEED_MISALIGNED},
          {"misaligned by 2", [](Matrix &m) { m.data = misaligned(m.data, 2); }, HEED_MISALIGNED},
          {"no rows", [](Matrix &m) { m.n_rows = 0; }, HEED_OUT_OF_RANGE},
          {"-1 rows", [](Matrix &m) { m.n_rows = -1; }, HEED_OUT_OF_RANGE},
          {"least rows", [](Matrix &m) { m.n_rows = INT32_MIN; }, HEED_OUT_OF_RANGE},
          {"too many rows", [](Matrix &m) { m.n_rows = beyond_count; }, HEED_OUT_OF_RANGE},
          {"most rows", [](Matrix &m) { m.n_rows = INT32_MAX; }, HEED_OUT_OF_RANGE},
          {"dim 0", [](Matrix &m) { m.dim = 0; }, HEED_OUT_OF_RANGE},
          {"dim -1", [](Matrix &m) { m.dim = -1; }, HEED_OUT_OF_RANGE},
          {"dim too large", [=](Matrix &m) { m.dim = most_columns + 1; }, HEED_OUT_OF_RANGE},
          {"dim INT32_MAX", [](Matrix &m) { m.dim = INT32_MAX; }, HEED_OUT_OF_RANGE},
          {"stride -1", [](Matrix &m) { m.row_stride = -1; }, HEED_BAD_STRIDE},
          {"least stride", [](Matrix &m) { m.row_stride = -huge_stride - 1; }, HEED_BAD_STRIDE},
          {"greatest stride", [](Matrix &m) { m.row_stride = huge_stride; }, HEED_OVERFLOW},
          {"stride of a quarter", [](Matrix &m) { m.row_stride = huge_stride / 4; }, HEED_OVERFLOW},
          {"at the top of memory", [](Matrix &m) { m.data = top_of_memory(); }, HEED_OVERFLOW}};
}

inline std::vector<flaw<heed_matrix_out>> output_flaws(int32_t most_columns) {
  std::vector<flaw<heed_matrix_out>> flaws = matrix_flaws<heed_matrix_out>(most_columns);
  flaws.push_back({"stride 0", [](heed_matrix_out &m) { m.row_stride = 0; }, HEED_BAD_STRIDE});
  flaws.push_back({"rows overlap", [](heed_matrix_out &m) { m.row_stride = m.dim - 1; }, HEED_BAD_STRIDE});
  return flaws;
}

// The same for a tensor of at least 2 batch entries, heads and rows.
template <typename Tensor>
std::vector<flaw<Tensor>> tensor_flaws() {
  std::vector<flaw<Tensor>> flaws = {
      {"misaligned by 1", [](Tensor &t) { t.data = misaligned(t.data); }, HEED_MISALIGNED},
      {"misaligned by 2", [](Tensor &t) { t.data = misaligned(t.data, 2); }, HEED_MISALIGNED},
      {"at the top of memory", [](Tensor &t) { t.data = top_of_memory(); }, HEED_OVERFLOW}};
  for (ptrdiff_t Tensor::*stride : {&Tensor::batch_stride, &Tensor::head_stride, &Tensor::row_stride}) {
    flaws.push_back({"stride -1", [=](Tensor &t) { t.*stride = -1; }, HEED_BAD_STRIDE});
    flaws.push_back({"least stride", [=](Tensor &t) { t.*stride = -huge_stride - 1; }, HEED_BAD_STRIDE});
    flaws.push_back({"greatest stride", [=](Tensor &t) { t.*stride = huge_stride; }, HEED_OVERFLOW});
    flaws.push_back({"stride of a quarter", [=](Tensor &t) { t.*stride = huge_stride / 4; }, HEED_OVERFLOW});
  }
  return flaws;
}

inline std::vector<flaw<heed_sequence>> sequence_flaws() {
  using S = heed_sequence;
  return {{"size 0", [](S &s) { s.struct_size = 0; }, HEED_NOT_INITIALIZED},
          {"size - 1", [](S &s) { --s.struct_size; }, HEED_BAD_STRUCT_SIZE},
          {"size + 1", [](S &s) { ++s.struct_size; }, HEED_BAD_STRUCT_SIZE},
          {"capacity 0", [](S &s) { s.capacity = 0; }, HEED_OUT_OF_RANGE},
          {"capacity -4", [](S &s) { s.capacity = -4; }, HEED_OUT_OF_RANGE},
          {"capacity INT32_MAX", [](S &s) { s.capacity = INT32_MAX; }, HEED_OUT_OF_RANGE},
          {"dim 0", [](S &s) { s.dim = 0; }, HEED_OUT_OF_RANGE},
          {"dim too large", [](S &s) { s.dim = HEED_MAX_DIM + 1; }, HEED_OUT_OF_RANGE},
          {"length -1", [](S &s) { s.length = -1; }, HEED_OUT_OF_RANGE},
          {"length beyond the capacity", [](S &s) { s.length = s.capacity + 1; }, HEED_OUT_OF_RANGE},
          {"data null", [](S &s) { s.data = nullptr; }, HEED_NULL_POINTER},
          {"data misaligned", [](S &s) { s.data = misaligned(s.data); }, HEED_MISALIGNED},
          {"data at the last float", [](S &s) { s.data = top_of_memory() + 7; }, HEED_OVERFLOW}};
}

inline std::vector<flaw<heed_executor>> executor_flaws() {
  using E = heed_executor;
  return {{"size 0", [](E &e) { e.struct_size = 0; }, HEED_NOT_INITIALIZED},
          {"size too small", [](E &e) { --e.struct_size; }, HEED_BAD_STRUCT_SIZE},
          {"size too large", [](E &e) { ++e.struct_size; }, HEED_BAD_STRUCT_SIZE},
          {"no worker", [](E &e) { e.n_workers = 0; }, HEED_OUT_OF_RANGE},
          {"-1 workers", [](E &e) { e.n_workers = -1; }, HEED_OUT_OF_RANGE},
          {"1025 workers", [](E &e) { e.n_workers = HEED_MAX_WORKERS + 1; }, HEED_OUT_OF_RANGE},
          {"no run", [](E &e) { e.run = nullptr; }, HEED_NULL_POINTER}};
}

}  // namespace heed_test

#endif
