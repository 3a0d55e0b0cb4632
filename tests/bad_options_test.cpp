// Every option of attention, layers and sequences, wrong in every way. SPDX-License-Identifier: MIT
#include "support/option_takers.hpp"

namespace heed_test {
namespace {

using bad_options = options_test;

TEST_F(bad_options, the_good_ones_are_accepted) {
  for (const options_taker &t : takers()) {
    EXPECT_EQ(status_name(t.call(t.set->options)), "HEED_OK") << t.name;
    t.set->make_mask_boolean();
    EXPECT_EQ(status_name(t.call(t.set->options)), "HEED_OK") << t.name;
    *t.set->options = HEED_OPTIONS;
    EXPECT_EQ(status_name(t.call(t.set->options)), "HEED_OK") << t.name << ", none";
    EXPECT_EQ(status_name(t.call(nullptr)), "HEED_OK") << t.name << ", null";
  }
}

TEST_F(bad_options, each_flaw_is_refused) {
  for (const options_taker &t : takers())
    refuses_all(t, flaws_of_options(t.set->shape(), *t.set->options, true), [](option_set *) {});
}

TEST_F(bad_options, boolean_masks) {
  for (const options_taker &t : takers()) {
    *t.set->options = HEED_OPTIONS;
    t.set->options->mask = t.set->mask;
    refuses_all(t, flaws_of_options(t.set->shape(), *t.set->options, false),
                [](option_set *s) { s->make_mask_boolean(); });
  }
}

TEST_F(bad_options, options_that_are_not_aligned) {
  for (const options_taker &t : takers())
    for (const uintptr_t by : {1, 2})
      refuses(t, misaligned(t.set->options, by), HEED_MISALIGNED, HEED_ARG_OPTIONS, "by " + std::to_string(by));
}

// What does not count is not looked at.
TEST_F(bad_options, of_no_account) {
  for (const options_taker &t : takers()) {
    option_set &s = *t.set;
    const auto accepted = [&](const std::string &what) {
      EXPECT_EQ(status_name(t.call(s.options)), "HEED_OK") << t.name << ", " << what;
      s.restore();
    };
    s.ranges->left_window = s.ranges->right_window = -7;
    accepted("windows that an array replaces");
    s.sums->out.row_stride = -1;
    accepted("row stride of column sums");
    s.mask->n_keys = s.shape().n_kv - 1;
    accepted("fewer columns");
    s.mask->batch_stride = s.mask->head_stride = s.mask->query_stride = 0;
    accepted("a mask for all");
    s.sinks->logits = nullptr;
    accepted("smooth softmax");
    s.mask->n_keys = HEED_MAX_COUNT, s.mask->batch_stride = s.mask->head_stride = s.mask->query_stride = 0;
    accepted("columns beyond the keys");
    if (s.shape().batch > 1) continue;
    s.mask->batch_stride = s.scores->out.batch_stride = s.lse->out.batch_stride = s.sums->out.batch_stride = -1;
    accepted("strides between batch entries, of which there is one");
  }
}

TEST_F(bad_options, weights_asked_for_twice) {
  option_set &s = in_attention_;
  heed_attention c = attention();
  c.options = s.options;
  c.weights = heed_head_major_out(activations_, n_q, heads, n_kv);
  EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK") << "weights and biased scores";
  s.scores->stage = HEED_SCORES_WEIGHTS;
  memory_.refuses([&] { return heed_attention_run(&c); }, HEED_MISFIT, HEED_ARG_SCORES, "twice");
  c.weights.data = nullptr;
  EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK") << "weights as scores alone";
}

// An offset, like a window, may be any number.
TEST_F(bad_options, extreme_ranges_are_accepted) {
  for (const options_taker &t : takers())
    for (const int32_t offset : {INT32_MIN, INT32_MIN + 1, -1, 0, INT32_MAX - 1, INT32_MAX})
      for (const int32_t window : {-1, 0, INT32_MAX}) {
        t.set->offsets[0] = offset;
        t.set->left_windows[0] = t.set->right_windows[0] = window;
        EXPECT_EQ(status_name(t.call(t.set->options)), "HEED_OK") << t.name << " " << offset << " " << window;
        t.set->ranges->left_windows = t.set->ranges->right_windows = nullptr;
        t.set->ranges->left_window = t.set->ranges->right_window = window;
        EXPECT_EQ(status_name(t.call(t.set->options)), "HEED_OK") << t.name << " " << offset << " " << window;
        t.set->restore();
      }
}

// Layers and sequences take no partial.
TEST_F(bad_options, partial_where_none_fits) {
  HEED_ALIGNED float buffer[HEED_PARTIAL_FLOATS(1, heads, n, dim)];
  for (options_taker &t : takers()) {
    if (t.set == &in_attention_) continue;
    heed_partial partial;
    ASSERT_EQ(heed_partial_init(&partial, buffer, sizeof buffer / 4, 1, t.set->shape().n_heads, n, dim, 0), HEED_OK);
    const std::vector<float> before(buffer, buffer + sizeof buffer / 4);
    *t.set->options = HEED_OPTIONS;
    t.set->options->partial = &partial;
    refuses(t, t.set->options, HEED_MISFIT, HEED_ARG_PARTIAL, "partial");
    EXPECT_EQ(partial.n_keys, 0);
    EXPECT_EQ(std::memcmp(before.data(), buffer, sizeof buffer), 0);
  }
}

TEST_F(bad_options, sequence_arguments) {
  const heed_sequence x = {sizeof x, n, dim, n, in_};
  const heed_options *options = in_sequence_.options;
  const auto run = [&](float scale, int32_t causal, size_t bytes) {
    return heed_sequence_attention(&x, scale, causal, options, sequence_, workspace_, bytes);
  };
  for (const int32_t causal : {-1, 2, INT32_MIN, INT32_MAX})
    memory_.refuses([&] { return run(0, causal, workspace_bytes); }, HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL, "causal");
  for (const float scale : {NAN, INFINITY, -INFINITY, 2.4e38f})
    memory_.refuses([&] { return run(scale, 0, workspace_bytes); }, HEED_NOT_FINITE, HEED_ARG_SCALE, "scale");
  memory_.refuses([&] { return run(0, 0, HEED_WORKSPACE_MIN_BYTES(dim, dim) - 1); }, HEED_TOO_SMALL, HEED_ARG_WORKSPACE,
                  "workspace");
  EXPECT_EQ(sequence_->length, 0);
  EXPECT_EQ(status_name(run(0, 0, HEED_WORKSPACE_MIN_BYTES(dim, dim))), "HEED_OK");
  EXPECT_EQ(sequence_->length, n);
}

}  // namespace
}  // namespace heed_test
