// heed.hpp: options and partial results give what the C interface gives. SPDX-License-Identifier: MIT
#include <type_traits>

#include "heed/heed.hpp"
#include "support/data.hpp"
#include "support/kernels.hpp"

namespace heed_test {
namespace {

constexpr int heads = 4, kv_heads = 2, n_q = 5, n_kv = 9, dim = 6, v_dim = 3;
using options = heed::options<heads, n_q, n_kv>;

// Arrays that may be compared and filled at once.
struct results {
  float out[n_q][heads][v_dim], scores[heads][n_q][n_kv], weights[heads][n_q][n_kv], lse[heads][n_q], sums[heads][n_kv],
      top[heads][n_q][2];
  int32_t keys[heads][n_q][2];
};
template <typename T>
void fill(random_source &r, T *array) {
  float *first = reinterpret_cast<float *>(array);
  for (size_t i = 0; i < sizeof *array / sizeof(float); ++i) first[i] = r.bell();
}
template <typename T>
bool same_bytes(const T &a, const T &b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

class cpp_options : public kernel_test {
 protected:
  void SetUp() override {
    kernel_test::SetUp();
    random_source r(1);
    fill(r, &q_), fill(r, &k_), fill(r, &v_), fill(r, &additive_), fill(r, &logits_), fill(r, &slopes_);
    for (int i = 0; i < n_q * n_kv; ++i) attend_[i / n_kv][i % n_kv] = r.chance(70);
  }
  heed_attention call(float *out) {
    heed_attention c = heed_attention_of(q_[0][0], k_[0][0], v_[0][0], n_q, n_kv, heads, kv_heads, dim, out, scratch_);
    c.v_dim = v_dim;
    c.v = heed_token_major(v_[0][0], n_kv, kv_heads, v_dim);
    c.out = heed_token_major_out(out, n_q, heads, v_dim);
    return c;
  }
  // The same with the one option that `set` puts there, in C.
  template <typename Set>
  bool equals_c(const options &o, Set set) {
    float expected[n_q][heads][v_dim], found[n_q][heads][v_dim];
    heed_options c_options = heed_options_default();
    set(&c_options);
    heed_attention c = call(expected[0][0]);
    c.options = &c_options;
    EXPECT_EQ(heed_attention_run(&c), HEED_OK);
    EXPECT_EQ(heed::attention(q_, k_, v_, found, scratch_, o).code(), HEED_OK);
    return same_bytes(expected, found);
  }

  float q_[n_q][heads][dim], k_[n_kv][kv_heads][dim], v_[n_kv][kv_heads][v_dim];
  float additive_[heads][n_q][n_kv], logits_[heads], slopes_[heads];
  uint8_t attend_[n_q][n_kv];
  heed::workspace<dim, v_dim> scratch_;
};

TEST_P(cpp_options, one_at_a_time) {
  heed_mask mask;
  ASSERT_EQ(heed_mask_init_boolean(&mask, attend_[0], n_kv, 0, 0, n_kv), HEED_OK);
  EXPECT_TRUE(equals_c(options().mask(attend_), [&](heed_options *o) { o->mask = &mask; }));
  bool as_bool[n_q][n_kv];
  for (int i = 0; i < n_q * n_kv; ++i) as_bool[i / n_kv][i % n_kv] = attend_[i / n_kv][i % n_kv];
  EXPECT_TRUE(equals_c(options().mask(as_bool), [&](heed_options *o) { o->mask = &mask; }));
  ASSERT_EQ(heed_mask_init_boolean(&mask, attend_[1], n_kv, 0, 0, 0), HEED_OK);
  EXPECT_TRUE(equals_c(options().mask(attend_[1]), [&](heed_options *o) { o->mask = &mask; }));
  ASSERT_EQ(heed_mask_init_additive(&mask, additive_[0][0], n_kv, 0, n_q * n_kv, n_kv), HEED_OK);
  EXPECT_TRUE(equals_c(options().mask(additive_), [&](heed_options *o) { o->mask = &mask; }));

  heed_ranges ranges;
  ASSERT_EQ(heed_ranges_init(&ranges), HEED_OK);
  const int32_t length = 7;
  ranges.left_window = 2, ranges.right_window = 3, ranges.kv_lengths = &length;
  EXPECT_TRUE(equals_c(options().window(2, 3).keys(7), [&](heed_options *o) { o->ranges = &ranges; }));

  heed_softcap softcap;
  heed_alibi alibi;
  heed_sinks sinks;
  ASSERT_EQ(heed_softcap_init(&softcap, 0.5f), HEED_OK);
  EXPECT_TRUE(equals_c(options().softcap(0.5f), [&](heed_options *o) { o->softcap = &softcap; }));
  ASSERT_EQ(heed_alibi_init(&alibi, slopes_), HEED_OK);
  EXPECT_TRUE(equals_c(options().alibi(slopes_), [&](heed_options *o) { o->alibi = &alibi; }));
  ASSERT_EQ(heed_sinks_init(&sinks, logits_), HEED_OK);
  EXPECT_TRUE(equals_c(options().sinks(logits_), [&](heed_options *o) { o->sinks = &sinks; }));
  ASSERT_EQ(heed_sinks_init(&sinks, nullptr), HEED_OK);
  EXPECT_TRUE(equals_c(options().smooth_softmax(), [&](heed_options *o) { o->sinks = &sinks; }));
  EXPECT_FALSE(equals_c(options(), [&](heed_options *o) { o->sinks = &sinks; })) << "the comparison sees options";
}

TEST_P(cpp_options, all_at_once) {
  static results expected, found;
  std::memset(&expected, 0, sizeof expected);
  std::memset(&found, 0, sizeof found);
  heed_mask mask;
  heed_scores scores;
  heed_attention_weights weights;
  heed_lse lse;
  heed_column_sums sums;
  heed_topk_weights topk_weights;
  ASSERT_EQ(heed_mask_init_additive(&mask, additive_[0][0], n_kv, 0, n_q * n_kv, n_kv), HEED_OK);
  ASSERT_EQ(heed_scores_init(&scores, HEED_SCORES_CAPPED, heed_head_major_out(expected.scores[0][0], n_q, heads, n_kv)),
            HEED_OK);
  ASSERT_EQ(heed_attention_weights_init(&weights, heed_head_major_out(expected.weights[0][0], n_q, heads, n_kv)),
            HEED_OK);
  ASSERT_EQ(heed_lse_init(&lse, heed_head_major_out(expected.lse[0], n_q, heads, 1)), HEED_OK);
  ASSERT_EQ(heed_column_sums_init(&sums, heed_head_major_out(expected.sums[0], 1, heads, n_kv)), HEED_OK);
  ASSERT_EQ(heed_topk_weights_init(&topk_weights, 2, expected.top[0][0], expected.keys[0][0]), HEED_OK);
  heed_options c_options = heed_options_default();
  c_options.mask = &mask, c_options.scores = &scores, c_options.weights = &weights;
  c_options.lse = &lse, c_options.column_sums = &sums, c_options.topk_weights = &topk_weights;
  heed_attention c = call(expected.out[0][0]);
  c.options = &c_options, c.causal = 1, c.position = n_kv - n_q, c.scale = 0.75f;
  ASSERT_EQ(heed_attention_run(&c), HEED_OK);

  options o;
  o.mask(additive_)
      .scores(HEED_SCORES_CAPPED, found.scores)
      .weights(found.weights)
      .lse(found.lse)
      .column_sums(found.sums);
  o.topk_weights(found.top, found.keys);
  o.causal = true, o.position = n_kv - n_q, o.scale = 0.75f;
  ASSERT_EQ(heed::attention(q_, k_, v_, found.out, scratch_, o).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, found));
}

TEST_P(cpp_options, of_a_sequence) {
  static heed::sequence<6, 3> x, y;
  static heed::workspace<3> scratch;
  const float words[4][3] = {{.1f, .2f, .3f}, {.4f, .5f, .6f}, {.7f, .8f, .9f}, {.2f, .1f, .4f}};
  x.clear();
  ASSERT_TRUE(x.append(words));
  float lse[1][6] = {}, expected[12], expected_lse[4];
  heed::options<1, 6, 6> o;
  o.causal = true, o.scale = 0.5f;
  o.softcap(2).lse(lse);
  ASSERT_EQ(heed::attention(x, y, scratch, o).code(), HEED_OK);
  EXPECT_EQ(y.length(), 4);

  heed_softcap softcap;
  heed_lse c_lse;
  ASSERT_EQ(heed_softcap_init(&softcap, 2), HEED_OK);
  ASSERT_EQ(heed_lse_init(&c_lse, {expected_lse, 4, 4, 1}), HEED_OK);
  heed_options c_options = heed_options_default();
  c_options.softcap = &softcap, c_options.lse = &c_lse;
  heed_attention c = heed_attention_of(words[0], words[0], words[0], 4, 4, 1, 1, 3, expected, scratch);
  c.options = &c_options, c.causal = 1, c.scale = 0.5f;
  ASSERT_EQ(heed_attention_run(&c), HEED_OK);
  EXPECT_EQ(std::memcmp(expected, y.row(0), sizeof expected), 0);
  EXPECT_EQ(std::memcmp(expected_lse, lse, sizeof expected_lse), 0);
}

// Over a cache attention is causal unless that is switched off, elsewhere it is not unless that is switched on.
TEST_P(cpp_options, causal_over_a_cache) {
  static heed::cache<9, 1, 6> cache;
  static heed::workspace<6> scratch;
  static float q[5][2][6], kv[9][1][6], all[5][2][6], causal[5][2][6], out[5][2][6];
  random_source r(3);
  fill(r, &q), fill(r, &kv);
  ASSERT_TRUE(cache.begin());
  ASSERT_TRUE(cache.append(kv, kv));
  heed::attention_options fields;
  heed::options<2, 5, 9> all_options;
  ASSERT_EQ(heed::attention(q, kv, kv, all, scratch).code(), HEED_OK);
  ASSERT_EQ(heed::attention(q, cache, causal, scratch).code(), HEED_OK);
  EXPECT_FALSE(same_bytes(all, causal));
  ASSERT_EQ(heed::attention(q, cache, out, scratch, fields).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(causal, out));
  ASSERT_EQ(heed::attention(q, cache, out, scratch, all_options).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(causal, out));
  fields.causal = all_options.causal = false;
  ASSERT_EQ(heed::attention(q, cache, out, scratch, fields).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(all, out));
  ASSERT_EQ(heed::attention(q, cache, out, scratch, all_options).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(all, out));
  fields.causal = all_options.causal = true;
  ASSERT_EQ(heed::attention(q, cache, out, scratch, fields).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(causal, out));
  fields.position = all_options.position = 4;  // elsewhere it counts from the first key
  ASSERT_EQ(heed::attention(q, kv, kv, out, scratch, fields).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(causal, out));
  ASSERT_EQ(heed::attention(q, kv, kv, out, scratch, all_options).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(causal, out));
}

// 1100 keys at once; in two portions; as two partials that are merged.
TEST_P(cpp_options, partial_results) {
  static float q[2][2][4], k[1100][1][4], v[1100][1][3], first_k[1024][1][4], first_v[1024][1][3], rest_k[76][1][4],
      rest_v[76][1][3], expected[2][2][3], found[2][2][3], expected_lse[2][2], found_lse[2][2];
  static heed::workspace<4, 3> scratch;
  static heed::partial<2, 2, 3> total, part;
  static const float logits[2] = {0.5f, -1};
  random_source r(2);
  fill(r, &q), fill(r, &k), fill(r, &v);
  std::memcpy(first_k, k, sizeof first_k), std::memcpy(rest_k, k[1024], sizeof rest_k);
  std::memcpy(first_v, v, sizeof first_v), std::memcpy(rest_v, v[1024], sizeof rest_v);
  heed::options<2, 2, 1100> all;
  all.sinks(logits).softcap(3).lse(expected_lse);
  ASSERT_EQ(heed::attention(q, k, v, expected, scratch, all).code(), HEED_OK);

  heed::options<2, 2, 1024> of_first;
  heed::options<2, 2, 76> of_rest;
  of_first.softcap(3), of_rest.softcap(3);
  ASSERT_TRUE(total.begin());
  ASSERT_EQ(heed::attention(q, first_k, first_v, total, scratch, of_first).code(), HEED_OK);
  ASSERT_EQ(heed::attention(q, rest_k, rest_v, total, scratch, of_rest).code(), HEED_OK);
  EXPECT_EQ(total.c_partial()->n_keys, 1100);
  heed::options<2, 2, 1> end;
  end.sinks(logits).lse(found_lse);
  ASSERT_EQ(total.finish(found, end).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, found));
  EXPECT_TRUE(same_bytes(expected_lse, found_lse));

  std::memset(found, 0, sizeof found);
  ASSERT_TRUE(total.begin());
  ASSERT_TRUE(part.begin(1024));
  ASSERT_EQ(heed::attention(q, rest_k, rest_v, part, scratch, of_rest).code(), HEED_OK);
  ASSERT_EQ(heed::attention(q, first_k, first_v, total, scratch, of_first).code(), HEED_OK);
  ASSERT_EQ(total.merge(part).code(), HEED_OK);
  ASSERT_EQ(total.finish(found, end).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, found));

  // Without options.
  ASSERT_EQ(heed::attention(q, k, v, expected, scratch).code(), HEED_OK);
  ASSERT_TRUE(total.begin());
  ASSERT_EQ(heed::attention(q, first_k, first_v, total, scratch).code(), HEED_OK);
  ASSERT_EQ(heed::attention(q, rest_k, rest_v, total, scratch).code(), HEED_OK);
  ASSERT_EQ(total.finish(found).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, found));
}

// Arrays of any numbers but int8: the bits of the call on the widened ones, rounded.
TEST_P(cpp_options, narrow_arrays) {
  heed::half q[n_q][heads][dim], out[n_q][heads][v_dim], rounded[n_q][heads][v_dim];
  heed::bfloat16 v[n_kv][kv_heads][v_dim];
  const auto round = [](auto *wide, int32_t dtype, void *narrow) {
    const heed_matrix_out x = {reinterpret_cast<float *>(wide), 1, sizeof *wide / 4, sizeof *wide / 4};
    EXPECT_EQ(heed_convert_from_f32(heed_matrix_of(x.data, 1, x.dim),
                                    heed_typed_matrix_out_of(narrow, nullptr, dtype, 1, x.dim)),
              HEED_OK);
    EXPECT_EQ(heed_convert_to_f32(heed_typed_matrix_of(narrow, nullptr, dtype, 1, x.dim), x), HEED_OK);
  };
  round(&q_, HEED_F16, q), round(&v_, HEED_BF16, v);
  options o;
  o.causal = true, o.position = 3, o.scale = 0.7f;
  o.softcap(2).sinks(logits_);
  float expected[n_q][heads][v_dim], found[n_q][heads][v_dim];
  ASSERT_TRUE(heed::attention(q_, k_, v_, expected, scratch_, o));
  ASSERT_TRUE(heed::attention(q, k_, v, found, scratch_, o));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_TRUE(heed::attention(q, k_, v_, out, scratch_, o));
  round(&expected, HEED_F16, rounded);
  EXPECT_TRUE(same_bytes(rounded, out));
  EXPECT_TRUE(heed::attention(q, k_, v, found, scratch_)) << "without options";
}

HEED_TEST_EVERY_KERNEL(cpp_options);

// What is wrong with an option is the status of the call, which writes nothing.
TEST(cpp_faults, are_those_of_the_call) {
  static_assert(!std::is_copy_constructible<options>::value, "it points into itself");
  static_assert(!std::is_copy_constructible<heed::partial<1, 1, 1>>::value, "it points into itself");
  static float q[n_q][heads][dim], k[n_kv][kv_heads][dim], v[n_kv][kv_heads][v_dim], out[n_q][heads][v_dim];
  static heed::workspace<dim, v_dim> scratch;
  out[0][0][0] = 7;
  options o;
  o.softcap(not_a_number).window(2);
  const heed_status not_finite = HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_SOFTCAP);
  EXPECT_EQ(heed::attention(q, k, v, out, scratch, o).code(), not_finite);
  EXPECT_EQ(heed::attention(q, k, v, out, scratch, options().window(-2)).code(),
            HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_LEFT_WINDOW));
  heed::attention_options unscaled;
  EXPECT_EQ(unscaled.scale, HEED_SCALE_DEFAULT);
  unscaled.scale = 0;
  EXPECT_EQ(heed::attention(q, k, v, out, scratch, unscaled).code(), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_SCALE));
  options neither;
  EXPECT_EQ(neither.causal, heed::causal_default);
  neither.causal = 2;
  EXPECT_EQ(heed::attention(q, k, v, out, scratch, neither).code(), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL));
  heed::partial<heads, n_q, v_dim> p;
  EXPECT_EQ(p.finish(out).argument(), HEED_ARG_PARTIAL) << "begin() comes first";
  ASSERT_TRUE(p.begin());
  EXPECT_EQ(heed::attention(q, k, v, p, scratch, o).code(), not_finite);
  EXPECT_EQ(heed::attention(q, k, v, p, scratch, options().smooth_softmax()).code(),
            HEED_STATUS(HEED_UNSUPPORTED, HEED_ARG_SINKS));
  EXPECT_EQ(p.c_partial()->n_keys, 0);
  EXPECT_EQ(p.begin(5).code(), HEED_STATUS(HEED_BAD_SPLIT, HEED_ARG_FIRST_KEY));
  EXPECT_EQ(p.begin(-1024).code(), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_FIRST_KEY));
  EXPECT_EQ(out[0][0][0], 7);
}

}  // namespace
}  // namespace heed_test
