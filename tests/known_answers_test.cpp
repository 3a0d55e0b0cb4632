// Small examples worked by hand, to the digits that were worked out. SPDX-License-Identifier: MIT
#include "support/kernels.hpp"
#include "support/primitives.hpp"
#include "support/run.hpp"

namespace heed_test {
namespace {

using floats = std::vector<float>;

class known_answers : public kernel_test {
 protected:
  static void expect_near(const floats &expected, const floats &actual, double tolerance) {
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], actual[i], tolerance) << "at " << i;
  }
  // Self-attention of x with weights.
  static attention_result attend(const matrix &x, float scale) {
    problem p;
    p.n_q = p.n_kv = x.n_rows, p.head_dim = p.v_dim = x.dim, p.scale = scale;
    p.q = p.k = p.v = x.values;
    setting s;
    s.weights = true;
    return run(p, s);
  }
};

// Sentence: apple is phone garden the.
TEST_P(known_answers, sentence) {
  const matrix words = {5, 3, {5, 2, 0, 0, 0, 2, 0, 5, 0, 2, 0, 0, 0, 0, 3}};
  const float root = std::sqrt(3.0f);
  EXPECT_NEAR(run_dot(words.row(0), words.row(0)) / root, 16.743, 5e-4);
  EXPECT_NEAR(run_dot(words.row(0), words.row(2)) / root, 5.774, 5e-4);
  const attention_result result = attend(words, HEED_SCALE_DEFAULT);
  expect_near({.99997f, .00000f, .00002f, .00002f, .00000f}, part_of(result.weights, 0, 5), 5.1e-6);
  EXPECT_NEAR(result.out[0], 4.99986, 5.1e-6);
}

// The sums were first worked by hand with weights of four digits, of which two are off by one in the last; the context
// made from those is exact for them. The digits of full precision follow.
const floats weights_by_hand = {.1761f, .2107f, .2522f, .1796f, .1814f};
const floats context_by_hand = {.40505f, .41471f, .51435f};
const floats weights_in_full = {.1760191f, .2107331f, .2522933f, .1795749f, .1813796f};
const floats context_in_full = {.4051053f, .4147764f, .5144154f};
const matrix embeddings = {5, 3, {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f, .9f, .2f, .1f, .4f, .5f, .3f, .2f}};

TEST_P(known_answers, five_embeddings) {
  floats similarities;
  for (int32_t j = 0; j < 5; ++j) similarities.push_back(run_dot(embeddings.row(0), embeddings.row(j)));
  expect_near({.14f, .32f, .50f, .16f, .17f}, similarities, 1e-7);
  expect_near(context_by_hand, run_weighted_sum({1, 5, weights_by_hand}, embeddings).values, 5.1e-6);
  const attention_result result = attend(embeddings, 1);
  for (const floats &weights : {run_softmax({1, 5, similarities}, 1).values, part_of(result.weights, 0, 5)}) {
    expect_near(weights_in_full, weights, 1e-7);
    expect_near(weights_by_hand, weights, 1e-4);
  }
  expect_near(context_in_full, part_of(result.out, 0, 3), 1e-7);
  expect_near(context_by_hand, part_of(result.out, 0, 3), 1e-4);
}

TEST_P(known_answers, self_attention_in_one_call) {
  HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(3, 3));
  floats out(15);
  ASSERT_EQ(heed_self_attention(heed_matrix_of(embeddings.values.data(), 5, 3), 1, heed_matrix_out_of(out.data(), 5, 3),
                                workspace),
            HEED_OK);
  expect_near(context_in_full, part_of(out, 0, 3), 1e-7);
  EXPECT_TRUE(same_bits(attend(embeddings, 1).out, out));
}

TEST_P(known_answers, projections) {
  const matrix x = {1, 3, {.4f, .5f, .6f}};
  const matrix wq = {3, 3, {.3f, .6f, .9f, .1f, .4f, .7f, .2f, .5f, .8f}};
  const matrix wk = {3, 3, {.5f, .2f, .1f, .4f, .3f, .6f, .7f, .8f, .9f}};
  const matrix wv = {3, 3, {.6f, .1f, .4f, .3f, .5f, .2f, .8f, .7f, .9f}};
  expect_near({.29f, .74f, 1.19f}, run_linear(x, wq, {}).values, 2e-7);
  expect_near({.82f, .71f, .88f}, run_linear(x, wk, {}).values, 2e-7);
  expect_near({.87f, .71f, .80f}, run_linear(x, wv, {}).values, 2e-7);
  expect_near({1.29f, 1.74f, 2.19f}, run_linear(x, wq, {1, 1, 1}).values, 3e-7);
}

TEST_P(known_answers, query_against_keys) {
  const floats query = {.6f, .5f, .4f};
  EXPECT_NEAR(run_dot(query, {.2f, .1f, .0f}), .17, 1e-7);
  EXPECT_NEAR(run_dot(query, {.6f, .5f, .4f}), .77, 1e-7);
  EXPECT_NEAR(run_dot(query, {.9f, .8f, .7f}), 1.22, 2e-7);
}

HEED_TEST_EVERY_KERNEL(known_answers);

}  // namespace
}  // namespace heed_test
