// The conformance vectors of ONNX's Attention operator, read from the folder that HEED_ONNX_ATTENTION names. Every case
// is run or counted as unsupported with its reason. SPDX-License-Identifier: MIT
#include "support/onnx_cases.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "support/kernels.hpp"
#include "support/run.hpp"

namespace heed_test {
namespace {

// The suite's inputs lie in [0, 1) and its outputs are rounded to f32.
constexpr double tolerance = 2e-6;

// What this release of heed cannot express; empty if it can.
std::string unsupported(const onnx_case &c) {
  if (c.inputs.at("Q").type != "f32") return "element type " + c.inputs.at("Q").type;
  if (c.attribute("softcap", 0) != 0) return "softcap";
  if (c.attribute("left_window_size", -1) >= 0 || c.attribute("right_window_size", -1) >= 0) return "window";
  if (!c.has("attn_mask")) return {};
  const onnx_tensor &mask = c.inputs.at("attn_mask");
  if (mask.type != "bool") return "mask that is added to the scores";
  const auto value = mask.values<unsigned char>();
  const int32_t n_kv = c.inputs.at("K").dims[c.inputs.at("K").dims.size() - 2] +
                       (c.has("past_key") ? c.inputs.at("past_key").dims[2] : 0);
  const bool open = std::all_of(value.begin(), value.end(), [](unsigned char b) { return b != 0; });
  return open && mask.dims.back() == n_kv ? "" : "boolean mask";
}

// (batch, rows, heads * dim) becomes (batch, heads, rows, dim); four dimensions stay.
std::vector<float> head_major(const onnx_tensor &t, int32_t n_heads) {
  if (t.dims.size() == 4) return t.floats();
  const std::vector<float> all = t.floats();
  const placement p = place(layout::token_major, 0, t.dims[0], n_heads, t.dims[1], t.dims[2] / n_heads);
  std::vector<float> to(all.size());
  each_row(p, [&](size_t at, size_t index) { std::copy_n(all.begin() + std::ptrdiff_t(at), p.dim, &to[index]); });
  return to;
}

// Keys or values: those of the past, then the new ones, for each batch entry and head.
std::vector<float> with_past(const onnx_case &c, const std::string &past, const std::vector<float> &now,
                             int32_t n_groups) {
  if (!c.has(past)) return now;
  const std::vector<float> before = c.inputs.at(past).floats();
  const size_t old_floats = before.size() / size_t(n_groups), new_floats = now.size() / size_t(n_groups);
  std::vector<float> all;
  for (size_t g = 0; g < size_t(n_groups); ++g) {
    all.insert(all.end(), before.begin() + std::ptrdiff_t(g * old_floats),
               before.begin() + std::ptrdiff_t((g + 1) * old_floats));
    all.insert(all.end(), now.begin() + std::ptrdiff_t(g * new_floats),
               now.begin() + std::ptrdiff_t((g + 1) * new_floats));
  }
  return all;
}

problem problem_of(const onnx_case &c) {
  const onnx_tensor &q = c.inputs.at("Q"), &k = c.inputs.at("K"), &v = c.inputs.at("V");
  const bool flat = q.dims.size() == 3;
  problem p;
  p.batch = q.dims[0];
  p.n_heads = flat ? int32_t(c.attribute("q_num_heads", 1)) : q.dims[1];
  p.n_kv_heads = flat ? int32_t(c.attribute("kv_num_heads", 1)) : k.dims[1];
  p.n_q = flat ? q.dims[1] : q.dims[2];
  p.head_dim = flat ? q.dims[2] / p.n_heads : q.dims[3];
  p.v_dim = flat ? v.dims[2] / p.n_kv_heads : v.dims[3];
  const int32_t n_past = c.has("past_key") ? c.inputs.at("past_key").dims[2] : 0;
  p.n_kv = n_past + (flat ? k.dims[1] : k.dims[2]);
  p.scale = float(c.attribute("scale", 0));
  p.causal = c.attribute("is_causal", 0) != 0;
  p.causal_offset = n_past;
  p.q = head_major(q, p.n_heads);
  p.k = with_past(c, "past_key", head_major(k, p.n_kv_heads), p.batch * p.n_kv_heads);
  p.v = with_past(c, "past_value", head_major(v, p.n_kv_heads), p.batch * p.n_kv_heads);
  return p;
}

// With nonpad_kv_seqlen each batch entry has its own number of keys, so it is a call of its own. What is padding
// becomes NaN: it may not reach the result. Rows are put back to the width of all keys.
attention_result run_padded(const problem &p, const std::vector<int64_t> &lengths) {
  attention_result all;
  for (int32_t b = 0; b < p.batch; ++b) {
    problem one = p;
    one.batch = 1, one.n_kv = int32_t(lengths[size_t(b)]);
    if (p.causal && p.causal_offset == 0) one.causal_offset = one.n_kv - p.n_q;
    one.q = part_of(p.q, size_t(b) * one.q_floats(), one.q_floats());
    one.k.clear(), one.v.clear();
    for (int32_t h = 0; h < p.n_kv_heads; ++h) {
      const size_t first = (size_t(b) * p.n_kv_heads + h) * p.n_kv;
      const std::vector<float> k = part_of(p.k, first * p.head_dim, size_t(one.n_kv) * p.head_dim);
      const std::vector<float> v = part_of(p.v, first * p.v_dim, size_t(one.n_kv) * p.v_dim);
      one.k.insert(one.k.end(), k.begin(), k.end());
      one.v.insert(one.v.end(), v.begin(), v.end());
    }
    const std::vector<float> out = run(one).out;
    all.out.insert(all.out.end(), out.begin(), out.end());
  }
  return all;
}

double greatest_difference(const std::vector<float> &expected, const std::vector<float> &actual) {
  if (expected.size() != actual.size() || expected.empty()) return infinity;
  double greatest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::fabs(double(expected[i]) - actual[i]);
    if (std::isnan(difference)) return infinity;
    greatest = std::max(greatest, difference);
  }
  return greatest;
}

// The scaled scores (mode 0), by heed_dot.
std::vector<float> scaled_scores(const problem &p) {
  std::vector<float> scores;
  for (int32_t b = 0; b < p.batch; ++b)
    for (int32_t h = 0; h < p.n_heads; ++h)
      for (int32_t i = 0; i < p.n_q; ++i)
        for (int32_t j = 0; j < p.n_kv; ++j) {
          float dot = not_a_number;
          EXPECT_EQ(heed_dot(p.q_row(b, h, i), p.k_row(b, h, j), p.head_dim, &dot), HEED_OK);
          scores.push_back(dot * p.scale_used());
        }
  return scores;
}

class onnx : public kernel_test {
 protected:
  static void check(const onnx_case &c) {
    const problem p = problem_of(c);
    setting s;
    s.weights = true;
    const bool padded = c.has("nonpad_kv_seqlen");
    const attention_result actual =
        padded ? run_padded(p, c.inputs.at("nonpad_kv_seqlen").values<int64_t>()) : run(p, s);
    const onnx_tensor &y = c.outputs.at("Y");
    EXPECT_LE(greatest_difference(head_major(y, p.n_heads), actual.out), tolerance) << c.name;
    const auto scores = c.outputs.find("qk_matmul_output");
    if (scores == c.outputs.end()) return;
    const bool weights = c.attribute("qk_matmul_output_mode", 0) == 3;
    const std::vector<float> found = weights ? actual.weights : scaled_scores(p);
    EXPECT_LE(greatest_difference(scores->second.floats(), found), tolerance) << c.name << " qk_matmul_output";
  }
};

TEST_P(onnx, attention) {
  const char *folder = std::getenv("HEED_ONNX_ATTENTION");
  if (!folder) GTEST_SKIP() << "HEED_ONNX_ATTENTION does not name a folder of vectors";
  const std::vector<onnx_case> cases = read_onnx_cases(folder);
  ASSERT_FALSE(cases.empty()) << folder << " holds no cases";
  std::map<std::string, std::vector<std::string>> left_out;
  size_t n_run = 0;
  for (const onnx_case &c : cases) {
    const std::string reason = unsupported(c);
    if (reason.empty()) {
      check(c);
      ++n_run;
    } else {
      left_out[reason].push_back(c.name);
    }
  }
  RecordProperty("cases_run", static_cast<int>(n_run));
  EXPECT_GT(n_run, 0u);
  if (GetParam() != heed_kernel_name(0)) return;  // the list is the same for all
  std::cout << n_run << " of " << cases.size() << " cases run\n";
  for (const auto &[reason, names] : left_out) {
    std::cout << names.size() << " unsupported: " << reason << "\n";
    for (const std::string &name : names) std::cout << "    " << name << "\n";
  }
}

HEED_TEST_EVERY_KERNEL(onnx);

}  // namespace
}  // namespace heed_test
