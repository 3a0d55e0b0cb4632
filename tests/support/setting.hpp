// How a problem is run, and what comes of it. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_SETTING_HPP
#define HEED_TESTS_SUPPORT_SETTING_HPP

#include <vector>

#include "layout.hpp"
#include "problem.hpp"

namespace heed_test {

// As partial results all over, whether handed on from call to call or, of one chunk each, merged.
enum class keys_in { one_call, calls, merged_chunks };

// No field of it may change a bit of the result.
struct setting {
  layout in = layout::head_major;
  layout out = layout::head_major;
  int32_t padding = 1;         // floats between rows where the layout has padding
  size_t workspace_bytes = 0;  // 0: the recommended size
  const heed_executor *executor = nullptr;
  bool weights = false;
  keys_in keys = keys_in::one_call;
  std::vector<int32_t> splits;  // where calls begin, besides key 0: multiples of 1024
};

// Each empty unless wanted.
struct attention_result {
  std::vector<float> out;          // (batch, n_heads, n_q, v_dim)
  std::vector<float> weights;      // (batch, n_heads, n_q, n_kv)
  std::vector<float> scores;       // (batch, n_heads, n_q, n_kv)
  std::vector<float> lse;          // (batch, n_heads, n_q)
  std::vector<float> column_sums;  // (batch, n_heads, n_kv)
  std::vector<float> top_weights;  // (batch, n_heads, n_q, k)
  std::vector<int32_t> top_keys;   // (batch, n_heads, n_q, k)
};

// Every output that both have been asked for.
inline ::testing::AssertionResult same_results(const attention_result &expected, const attention_result &actual) {
  const auto compare = [](const char *name, const std::vector<float> &a, const std::vector<float> &b) {
    if (a.empty() || b.empty()) return ::testing::AssertionSuccess();
    const ::testing::AssertionResult same = same_bits(a, b);
    return same ? same : ::testing::AssertionFailure() << name << ": " << same.message();
  };
  for (const auto &same :
       {compare("out", expected.out, actual.out), compare("weights", expected.weights, actual.weights),
        compare("scores", expected.scores, actual.scores), compare("lse", expected.lse, actual.lse),
        compare("column sums", expected.column_sums, actual.column_sums),
        compare("top-k weights", expected.top_weights, actual.top_weights)})
    if (!same) return same;
  if (expected.top_keys != actual.top_keys && !expected.top_keys.empty() && !actual.top_keys.empty())
    return ::testing::AssertionFailure() << "top-k keys differ";
  return ::testing::AssertionSuccess();
}

}  // namespace heed_test

#endif
