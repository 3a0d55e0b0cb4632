// One call of every public function that computes, each large enough for its executor: what a choice of another kernel
// in mid-call may not change. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_SWITCHED_CALLS_HPP
#define HEED_TESTS_SUPPORT_SWITCHED_CALLS_HPP

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "data.hpp"
#include "heed/heed.h"
#include "kernel_trap.hpp"

namespace heed_test {

// What a call wrote, array by array.
class written {
 public:
  template <typename T = float>
  T *take(size_t n) {
    memory_.emplace_back(n * sizeof(T) + 64);
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory_.back().data());
    unsigned char *const begin = reinterpret_cast<unsigned char *>((address + 63) / 64 * 64);
    parts_.push_back({begin, n * sizeof(T)});
    return reinterpret_cast<T *>(begin);
  }
  heed_memory memory(size_t bytes) { return heed_memory_of(take<unsigned char>(bytes), bytes); }
  // Of the same the first bytes alone: the rest is workspace.
  heed_memory memory(size_t kept, size_t bytes) {
    const heed_memory all = memory(bytes);
    parts_.back().second = kept;
    return all;
  }
  // Called before a call that takes no executor: another kernel is chosen as soon as the call comes to this byte.
  void disturb(const void *byte) const {
    if (meanwhile) kernel_trap::set(byte, meanwhile);
  }
  const char *meanwhile = nullptr;  // the other kernel; null: nothing happens
  void expect_ok(heed_status status) { EXPECT_EQ(status, HEED_OK) << heed_status_argument(status); }
  std::vector<unsigned char> all() const {
    std::vector<unsigned char> bytes;
    for (const auto &[begin, n] : parts_) bytes.insert(bytes.end(), begin, begin + n);
    return bytes;
  }

 private:
  std::list<std::vector<unsigned char>> memory_;
  std::vector<std::pair<unsigned char *, size_t>> parts_;
};

// Each makes one public call that computes; what goes before it only sets up.
struct switched_call {
  std::string name;
  bool one_result;  // of both arithmetics
  std::function<void(const heed_executor *, written *)> run;
};
using switched_calls = std::vector<switched_call>;

// Ordinary numbers for all inputs, which may overlap.
constexpr size_t n_numbers = size_t{1450} * 1450 + 4096;
inline const std::vector<float> &numbers() {
  static const std::vector<float> all = [] {
    random_source r(31);
    return bell_floats(r, n_numbers);
  }();
  return all;
}
inline const float *numbers_from(size_t first) { return numbers().data() + first; }

constexpr const char *format_names[] = {"f32", "f16", "bf16", "int8"};
// The same, narrowed in rows of `dim`; scales for as many rows or outputs as wanted.
inline const void *narrow_numbers_of(int32_t dtype) {
  constexpr int32_t dim = 1450;
  static std::vector<float> bytes[4], scales(dim);
  if (dtype == HEED_F32) return numbers().data();
  if (bytes[dtype].empty()) {
    bytes[dtype].resize(size_t{dim} * dim);
    EXPECT_EQ(heed_convert_from_f32(heed_matrix_of(numbers().data(), dim, dim),
                                    heed_typed_matrix_out_of(bytes[dtype].data(), scales.data(), dtype, dim, dim)),
              HEED_OK);
  }
  return bytes[dtype].data();
}
inline const float *positive_numbers() {
  static const std::vector<float> all = [] {
    std::vector<float> x(numbers().begin(), numbers().begin() + 40000);
    for (float &f : x) f = std::fabs(f) / 100;
    return x;
  }();
  return all.data();
}

inline heed_memory switched_workspace() {
  HEED_MEMORY(memory, 4 * HEED_WORKSPACE_BYTES(64, 64));
  return memory;
}

// ------------------------------------------------------------------------------------------------------ primitives

inline void add_products(switched_calls *all) {
  all->push_back({"softmax", false, [](const heed_executor *e, written *w) {
                    w->expect_ok(heed_softmax(heed_matrix_of(numbers_from(0), 400, 400), 1.5f,
                                              heed_matrix_out_of(w->take(400 * 400), 400, 400), e));
                  }});
  all->push_back({"weighted sum", false, [](const heed_executor *e, written *w) {
                    w->expect_ok(heed_weighted_sum(heed_matrix_of(numbers_from(0), 300, 200),
                                                   heed_matrix_of(numbers_from(60000), 200, 40),
                                                   heed_matrix_out_of(w->take(300 * 40), 300, 40), e));
                  }});
  for (const int32_t n : {300, 1})
    all->push_back({"linear, rows " + std::to_string(n), false, [=](const heed_executor *e, written *w) {
                      const int32_t in = n == 1 ? 1450 : 200, out = n == 1 ? 1450 : 40;
                      w->expect_ok(heed_linear(heed_matrix_of(numbers_from(7), n, in),
                                               heed_weights_of_matrix(heed_matrix_of(numbers_from(0), in, out)),
                                               numbers_from(99), heed_matrix_out_of(w->take(size_t(n) * out), n, out),
                                               e));
                    }});
  for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN})
    for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; ++dtype)
      for (const int32_t n : {300, 5, 1}) {
        const int32_t in = n == 300 ? 200 : n == 5 ? 700 : 1450, out = n == 300 ? 40 : in;
        all->push_back({std::string("projection of ") + format_names[dtype] +
                            (layout == HEED_IN_OUT ? " in to out, rows " : " out to in, rows ") + std::to_string(n),
                        false, [=](const heed_executor *e, written *w) {
                          const heed_weights weights =
                              heed_weights_of(narrow_numbers_of(dtype), positive_numbers(), dtype, layout, in, out);
                          w->expect_ok(heed_linear(heed_matrix_of(numbers_from(7), n, in), weights, numbers_from(99),
                                                   heed_matrix_out_of(w->take(size_t(n) * out), n, out), e));
                        }});
      }
}

// Any bytes as weights with zero points.
inline heed_weights bytes_with_zero_points(int32_t layout, int32_t in, int32_t out) {
  const auto *const bytes = static_cast<const unsigned char *>(narrow_numbers_of(HEED_INT8));
  return heed_weights_with_zero_points(heed_weights_of(bytes, positive_numbers(), HEED_UINT8, layout, in, out),
                                       bytes + 7, out);
}
inline void add_products_with_zero_points(switched_calls *all) {
  for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN, HEED_PACKED})
    for (const int32_t n : {300, 1}) {
      const int32_t in = n == 1 ? 1440 : 224, out = n == 1 ? 1450 : 40;
      all->push_back({"projection with zero points, layout " + std::to_string(layout) + ", rows " + std::to_string(n),
                      false, [=](const heed_executor *e, written *w) {
                        written packed;
                        heed_weights weights = bytes_with_zero_points(layout ? HEED_OUT_IN : HEED_IN_OUT, in, out);
                        if (layout == HEED_PACKED) {
                          const heed_memory to = packed.memory(heed_weights_packed_bytes(HEED_UINT8, in, out));
                          w->expect_ok(heed_weights_pack(weights, HEED_UINT8, to));
                          w->expect_ok(heed_weights_open(&weights, to.data, to.bytes));
                        }
                        w->expect_ok(heed_linear(heed_matrix_of(numbers_from(7), n, in), weights, numbers_from(99),
                                                 heed_matrix_out_of(w->take(size_t(n) * out), n, out), e));
                      }});
    }
}

// Packed weights of every format, and blocks.
inline void add_packed_products(switched_calls *all) {
  for (int32_t dtype = HEED_F32; dtype <= HEED_Q4_0; ++dtype)
    for (const bool packed : {true, false})
      for (const int32_t n : {300, 1}) {
        if (!packed && dtype < HEED_Q8_0) continue;
        const int32_t in = n == 1 ? 1440 : 224, out = n == 1 ? 1450 : 40;
        all->push_back({(packed ? "packed projection of format " : "projection of blocks of format ") +
                            std::to_string(dtype) + ", rows " + std::to_string(n),
                        false, [=](const heed_executor *e, written *w) {
                          static std::vector<unsigned char> bytes;
                          const heed_weights plain =
                              heed_weights_of(numbers_from(0), nullptr, HEED_F32, HEED_OUT_IN, in, out);
                          const size_t needed = heed_weights_packed_bytes(dtype, in, out);
                          bytes.resize(needed + 64);
                          const uintptr_t address = (reinterpret_cast<uintptr_t>(bytes.data()) + 63) / 64 * 64;
                          void *const to = reinterpret_cast<void *>(address);
                          heed_weights weights = {};
                          w->expect_ok(heed_weights_pack(plain, dtype, heed_memory_of(to, needed)));
                          w->expect_ok(heed_weights_open(&weights, to, needed));
                          if (!packed) {  // any bytes, with scales that are numbers
                            for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i % 53);
                            weights = heed_weights_of_blocks(bytes.data(), dtype, in, out);
                          }
                          w->expect_ok(heed_linear(heed_matrix_of(numbers_from(7), n, in), weights, numbers_from(99),
                                                   heed_matrix_out_of(w->take(size_t(n) * out), n, out), e));
                        }});
      }
}

inline void add_rows(switched_calls *all) {
  constexpr int32_t n = 1100, dim = 500, n_floats = n * dim;
  const auto x = [] { return heed_matrix_of(numbers_from(0), n, dim); };
  const auto up = [] { return heed_matrix_of(numbers_from(n_floats), n, dim); };
  for (heed_norm *const norm : {heed_rms_norm, heed_layer_norm})
    all->push_back({norm == heed_rms_norm ? "rms_norm" : "layer_norm", false, [=](const heed_executor *e, written *w) {
                      w->expect_ok(norm(x(), numbers_from(3), numbers_from(999), 1e-5f,
                                        heed_matrix_out_of(w->take(n_floats), n, dim), e));
                    }});
  const std::pair<const char *, heed_activation *> activations[] = {
      {"gelu", heed_gelu}, {"gelu_tanh", heed_gelu_tanh}, {"silu", heed_silu}, {"relu", heed_relu},
      {"tanh", heed_tanh}, {"sigmoid", heed_sigmoid},     {"add", heed_add}};
  for (const auto &[name, f] : activations)
    for (const bool gated : {false, true}) {
      if (f == heed_add && !gated) continue;
      // A sum has one operation for an element: it takes more of them.
      const int32_t rows = f == heed_add || f == heed_relu ? 4 * n : n;
      const auto repeated = [=](heed_matrix m) { return heed_matrix{m.data, rows, dim, m.row_stride / 4}; };
      all->push_back({std::string(name) + (gated ? ", of two" : ""), f == heed_relu || f == heed_add,
                      [=, function = f](const heed_executor *e, written *w) {
                        w->expect_ok(function(repeated(x()), gated ? repeated(up()) : heed_no_matrix(),
                                              heed_matrix_out_of(w->take(size_t(rows) * dim), rows, dim), e));
                      }});
    }
  for (const int32_t n_groups : {1, 50})
    all->push_back({"group_norm, groups " + std::to_string(n_groups), true, [=](const heed_executor *e, written *w) {
                      w->expect_ok(heed_group_norm(x(), numbers_from(3), numbers_from(999), n_groups, 1e-5f,
                                                   heed_matrix_out_of(w->take(n_floats), n, dim), e));
                    }});
  all->push_back({"mean_rows", true,
                  [=](const heed_executor *e, written *w) { w->expect_ok(heed_mean_rows(x(), w->take(dim), e)); }});
  for (const int32_t style : {HEED_ROPE_INTERLEAVED, HEED_ROPE_HALVES})
    all->push_back({"rope, style " + std::to_string(style), false, [=](const heed_executor *e, written *w) {
                      heed_rope rope;
                      heed_rope_init(&rope, style);
                      w->expect_ok(heed_rope_apply(&rope, heed_token_major(numbers_from(0), 1100, 8, 64), 1100, 8, 64,
                                                   5, nullptr,
                                                   heed_token_major_out(w->take(1100 * 8 * 64), 1100, 8, 64), e));
                    }});
}

}  // namespace heed_test

#endif
