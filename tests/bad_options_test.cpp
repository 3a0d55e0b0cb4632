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
    *t.set->options = heed_options_default();
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
    *t.set->options = heed_options_default();
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
    s.mask->batch_stride = s.scores->out.batch_stride = s.weights->out.batch_stride = s.lse->out.batch_stride =
        s.sums->out.batch_stride = -1;
    accepted("strides between batch entries, of which there is one");
  }
}

// At any stage: they are two outputs.
TEST_F(bad_options, weights_go_with_scores) {
  for (const options_taker &t : takers())
    for (const int32_t stage : {HEED_SCORES_RAW, HEED_SCORES_CAPPED, HEED_SCORES_BIASED}) {
      t.set->scores->stage = stage;
      EXPECT_EQ(status_name(t.call(t.set->options)), "HEED_OK") << t.name << ", stage " << stage;
    }
}

// A position, like a window, may be any number.
TEST_F(bad_options, extreme_ranges_are_accepted) {
  for (const options_taker &t : takers())
    for (const int32_t position : {INT32_MIN, INT32_MIN + 1, -1, 0, INT32_MAX - 1, INT32_MAX})
      for (const int32_t window : {-1, 0, INT32_MAX}) {
        t.set->positions[0] = position;
        t.set->left_windows[0] = t.set->right_windows[0] = window;
        EXPECT_EQ(status_name(t.call(t.set->options)), "HEED_OK") << t.name << " " << position << " " << window;
        t.set->ranges->left_windows = t.set->ranges->right_windows = nullptr;
        t.set->ranges->left_window = t.set->ranges->right_window = window;
        EXPECT_EQ(status_name(t.call(t.set->options)), "HEED_OK") << t.name << " " << position << " " << window;
        t.set->restore();
      }
}

// Layers and sequences take no partial.
TEST_F(bad_options, partial_where_none_fits) {
  HEED_ALIGNED float numbers[HEED_PARTIAL_BYTES(1, heads, n, dim) / sizeof(float)];
  for (options_taker &t : takers()) {
    if (t.set == &in_attention_) continue;
    heed_partial partial;
    ASSERT_EQ(
        heed_partial_init(&partial, 1, t.set->shape().n_heads, n, dim, 0, heed_memory_of(numbers, sizeof numbers)),
        HEED_OK);
    const std::vector<float> before(numbers, numbers + sizeof numbers / sizeof(float));
    *t.set->options = heed_options_default();
    t.set->options->partial = &partial;
    refuses(t, t.set->options, HEED_UNSUPPORTED, HEED_ARG_PARTIAL, "partial");
    EXPECT_EQ(partial.n_keys, 0);
    EXPECT_EQ(std::memcmp(before.data(), numbers, sizeof numbers), 0);
  }
}

TEST_F(bad_options, sequence_arguments) {
  const heed_sequence x = {sizeof x, n, dim, n, in_};
  const heed_options *options = in_sequence_.options;
  const auto run = [&](float scale, int32_t causal, size_t bytes) {
    return heed_sequence_attention(&x, scale, causal, options, sequence_, heed_memory_of(workspace_, bytes));
  };
  constexpr float usual = HEED_SCALE_DEFAULT;
  for (const int32_t causal : {-1, 2, INT32_MIN, INT32_MAX})
    memory_.refuses([&] { return run(usual, causal, workspace_bytes); }, HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL, "causal");
  for (const float scale : {NAN, INFINITY, -INFINITY, 2.4e38f})
    memory_.refuses([&] { return run(scale, 0, workspace_bytes); }, HEED_NOT_FINITE, HEED_ARG_SCALE, "scale");
  for (const float scale : {0.0f, -0.0f, least_subnormal, -greatest_subnormal})
    memory_.refuses([&] { return run(scale, 0, workspace_bytes); }, HEED_OUT_OF_RANGE, HEED_ARG_SCALE, "scale");
  memory_.refuses([&] { return run(usual, 0, HEED_WORKSPACE_MIN_BYTES(dim, dim) - 1); }, HEED_TOO_SMALL,
                  HEED_ARG_WORKSPACE, "workspace");
  EXPECT_EQ(sequence_->length, 0);
  EXPECT_EQ(status_name(run(usual, 0, HEED_WORKSPACE_MIN_BYTES(dim, dim))), "HEED_OK");
  EXPECT_EQ(sequence_->length, n);
}

}  // namespace
}  // namespace heed_test
