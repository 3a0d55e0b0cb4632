// What options.h adds to an attention problem, as plain numbers. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_EXTRAS_HPP
#define HEED_TESTS_SUPPORT_EXTRAS_HPP

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "floats.hpp"

namespace heed_test {

// Keys first .. end - 1, and the first `pinned` ones.
struct key_range {
  int32_t first, end, pinned = 0;
  bool holds(int32_t j) const { return j < end && (first <= j || j < pinned); }
};

// The number of batch entry b, or the one for all where there is no array.
inline int32_t of_batch(const std::vector<int32_t> &array, int32_t b, int32_t for_all) {
  return array.empty() ? for_all : array[size_t(b)];
}

enum class mask_kind { none, boolean, additive };

// Counts of 1 are broadcast. A boolean mask holds zeros and numbers that are not zero.
struct problem_mask {
  mask_kind kind = mask_kind::none;
  int32_t n_batch = 1, n_heads = 1, n_q = 1, n_keys = 0;
  std::vector<float> elements;  // (n_batch, n_heads, n_q, n_keys)

  size_t index(int32_t b, int32_t h, int32_t i) const {
    b = n_batch == 1 ? 0 : b, h = n_heads == 1 ? 0 : h, i = n_q == 1 ? 0 : i;
    return ((size_t(b) * n_heads + h) * n_q + i) * n_keys;
  }
  float at(int32_t b, int32_t h, int32_t i, int32_t j) const {
    if (kind == mask_kind::none) return 0;
    if (j >= n_keys) return -infinity;
    const float element = elements[index(b, h, i) + size_t(j)];
    return kind == mask_kind::additive ? element : element == 0 ? -infinity : 0;
  }
};

struct extras {
  bool ranges = false;  // there is a heed_ranges, be it all open
  int32_t left_window = -1, right_window = -1;
  std::vector<int32_t> left_windows, right_windows, offsets, kv_lengths;  // (batch) or empty
  int32_t pinned = 0;
  problem_mask mask;
  float cap = 0;              // 0: no softcap
  std::vector<float> slopes;  // (n_heads) or empty: no ALiBi
  bool symmetric = false;
  bool sinks = false;
  std::vector<float> sink_logits;  // (n_heads) or empty: smooth softmax
  // Outputs besides the result.
  int32_t scores_stage = -1;  // -1: none
  bool weights = false, lse = false, column_sums = false;
  int32_t k = 0;         // of top-k; 0: none
  bool partial = false;  // as partial results, where the setting may split the keys

  // Objects that go into heed_options.
  bool any() const {
    return ranges || mask.kind != mask_kind::none || cap != 0 || !slopes.empty() || sinks || scores_stage >= 0 ||
           weights || lse || column_sums || k > 0 || partial;
  }
  std::string text() const {
    std::ostringstream s;
    const auto list = [&s](const char *name, const auto &numbers) {
      if (!numbers.empty()) s << " " << name;
      for (const auto x : numbers) s << " " << x;
    };
    if (ranges) s << " windows " << left_window << " " << right_window;
    if (pinned > 0) s << " pinned " << pinned;
    list("left windows", left_windows), list("right windows", right_windows);
    list("offsets", offsets), list("kv lengths", kv_lengths);
    if (mask.kind != mask_kind::none)
      s << (mask.kind == mask_kind::boolean ? " boolean" : " additive") << " mask " << mask.n_batch << " x "
        << mask.n_heads << " x " << mask.n_q << " x " << mask.n_keys;
    if (cap != 0) s << " cap " << cap;
    list(symmetric ? "symmetric slopes" : "slopes", slopes);
    if (sinks) s << (sink_logits.empty() ? " smooth" : "");
    list("sinks", sink_logits);
    if (scores_stage >= 0) s << " scores at stage " << scores_stage;
    s << (weights ? " weights" : "") << (lse ? " lse" : "") << (column_sums ? " column sums" : "");
    if (k > 0) s << " top " << k;
    s << (partial ? " partial" : "");
    return s.str();
  }
};

}  // namespace heed_test

#endif
