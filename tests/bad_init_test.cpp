// The init functions of options.h: what they set, what they refuse, and that a refused object is as it was.
// SPDX-License-Identifier: MIT
#include "support/refusal.hpp"

namespace heed_test {
namespace {

class bad_init : public ::testing::Test {
 protected:
  // An object full of a pattern, so that whatever init leaves out is seen.
  template <typename T>
  T *object() {
    T *o = reinterpret_cast<T *>(place_);
    std::memset(static_cast<void *>(o), 0x5a, sizeof *o);
    return o;
  }
  // The object that is to be made: null, or not aligned. All else is good.
  template <typename T, typename Init>
  void refuses_object(heed_argument argument, Init init) {
    object<T>();
    memory_.refuses([&] { return init(static_cast<T *>(nullptr)); }, HEED_NULL_POINTER, argument, "object null");
    for (const uintptr_t by : {1, 2})
      memory_.refuses([&] { return init(misaligned(reinterpret_cast<T *>(place_), by)); }, HEED_MISALIGNED, argument,
                      "object misaligned");
  }
  template <typename T, typename Init>
  T accepts(const std::string &what, Init init) {
    T *o = object<T>();
    EXPECT_EQ(status_name(init(o)), "HEED_OK") << what;
    EXPECT_EQ(o->struct_size, sizeof(T));
    EXPECT_NE(o->code, nullptr);
    return *o;
  }

  arena memory_;
  float *place_ = memory_.take_aligned(64), *data_ = memory_.take(64);
  int32_t *keys_ = reinterpret_cast<int32_t *>(memory_.take(64));
};

TEST_F(bad_init, ranges) {
  const auto init = heed_ranges_init;
  refuses_object<heed_ranges>(HEED_ARG_RANGES, init);
  const heed_ranges r = accepts<heed_ranges>("ranges", init);
  EXPECT_EQ(r.left_window, -1);
  EXPECT_EQ(r.right_window, -1);
  for (const int32_t *array : {r.left_windows, r.right_windows, r.positions, r.kv_lengths}) EXPECT_EQ(array, nullptr);
}

TEST_F(bad_init, batches) {
  const auto init = [&](heed_ragged_batch *b) { return heed_ragged_batch_init(b, 3, keys_); };
  refuses_object<heed_ragged_batch>(HEED_ARG_BATCH, init);
  const heed_ragged_batch b = accepts<heed_ragged_batch>("batch", init);
  EXPECT_EQ(b.n_sequences, 3);
  EXPECT_EQ(b.lengths, keys_);
}

// Either kind of mask takes what it is given: the call looks at it.
TEST_F(bad_init, masks) {
  using M = heed_mask;
  const uint8_t *bytes = reinterpret_cast<uint8_t *>(data_);
  refuses_object<M>(HEED_ARG_MASK, [&](M *m) { return heed_mask_init_boolean(m, bytes, 5, 0, 0, 5); });
  refuses_object<M>(HEED_ARG_MASK, [&](M *m) { return heed_mask_init_additive(m, data_, 5, 0, 0, 5); });
  const M b = accepts<M>("boolean", [&](M *m) { return heed_mask_init_boolean(m, bytes + 1, 5, 30, 20, 10); });
  const M a = accepts<M>("additive", [&](M *m) { return heed_mask_init_additive(m, data_, 5, 30, 20, 10); });
  EXPECT_EQ(b.data, bytes + 1);
  EXPECT_EQ(a.data, data_);
  EXPECT_NE(a.code, b.code) << "the code is what tells the two kinds apart";
  for (const M &m : {a, b}) {
    EXPECT_EQ(m.n_keys, 5);
    EXPECT_EQ(m.batch_stride, 30);
    EXPECT_EQ(m.head_stride, 20);
    EXPECT_EQ(m.query_stride, 10);
  }
}

TEST_F(bad_init, scores) {
  using C = heed_softcap;
  using A = heed_alibi;
  using S = heed_sinks;
  refuses_object<C>(HEED_ARG_SOFTCAP, [](C *c) { return heed_softcap_init(c, 30); });
  EXPECT_EQ(accepts<C>("softcap", [](C *c) { return heed_softcap_init(c, 2.3e38f); }).cap, 2.3e38f);
  refuses_object<A>(HEED_ARG_ALIBI, [&](A *a) { return heed_alibi_init(a, data_); });
  EXPECT_EQ(accepts<A>("alibi", [&](A *a) { return heed_alibi_init(a, data_); }).slopes, data_);
  refuses_object<S>(HEED_ARG_SINKS, [&](S *s) { return heed_sinks_init(s, data_); });
  EXPECT_EQ(accepts<S>("sinks", [&](S *s) { return heed_sinks_init(s, data_); }).logits, data_);
  EXPECT_EQ(accepts<S>("smooth", [&](S *s) { return heed_sinks_init(s, nullptr); }).logits, nullptr);
}

TEST_F(bad_init, outputs) {
  using S = heed_scores;
  using W = heed_attention_weights;
  using L = heed_lse;
  using C = heed_column_sums;
  const heed_tensor_out out = {data_, 1, 2, 3};
  refuses_object<S>(HEED_ARG_SCORES, [&](S *s) { return heed_scores_init(s, HEED_SCORES_RAW, out); });
  refuses_object<W>(HEED_ARG_WEIGHTS, [&](W *w) { return heed_attention_weights_init(w, out); });
  refuses_object<L>(HEED_ARG_LSE, [&](L *l) { return heed_lse_init(l, out); });
  refuses_object<C>(HEED_ARG_COLUMN_SUMS, [&](C *c) { return heed_column_sums_init(c, out); });
  const S s = accepts<S>("scores", [&](S *o) { return heed_scores_init(o, HEED_SCORES_BIASED, out); });
  EXPECT_EQ(s.stage, HEED_SCORES_BIASED);
  const W w = accepts<W>("weights", [&](W *o) { return heed_attention_weights_init(o, out); });
  const L l = accepts<L>("lse", [&](L *o) { return heed_lse_init(o, out); });
  const C c = accepts<C>("column sums", [&](C *o) { return heed_column_sums_init(o, out); });
  for (const heed_tensor_out &t : {s.out, w.out, l.out, c.out}) EXPECT_EQ(std::memcmp(&t, &out, sizeof out), 0);
}

TEST_F(bad_init, topk_weights) {
  using K = heed_topk_weights;
  refuses_object<K>(HEED_ARG_TOPK_WEIGHTS, [&](K *t) { return heed_topk_weights_init(t, 3, data_, keys_); });
  const K t = accepts<K>("top k", [&](K *o) { return heed_topk_weights_init(o, 3, data_, keys_); });
  EXPECT_EQ(t.k, 3);
  EXPECT_EQ(t.weights, data_);
  EXPECT_EQ(t.keys, keys_);
}

// Nothing is asked for.
TEST_F(bad_init, options_start_empty) {
  const heed_options o = heed_options_default();
  EXPECT_EQ(o.struct_size, sizeof(heed_options));
  for (const void *p :
       {static_cast<const void *>(o.ranges), static_cast<const void *>(o.mask), static_cast<const void *>(o.softcap),
        static_cast<const void *>(o.alibi), static_cast<const void *>(o.sinks), static_cast<const void *>(o.scores),
        static_cast<const void *>(o.weights), static_cast<const void *>(o.lse),
        static_cast<const void *>(o.column_sums), static_cast<const void *>(o.topk_weights),
        static_cast<const void *>(o.partial), static_cast<const void *>(o.typed)})
    EXPECT_EQ(p, nullptr);
}

}  // namespace
}  // namespace heed_test
