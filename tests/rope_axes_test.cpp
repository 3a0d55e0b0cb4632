// Tokens with several positions (M-RoPE): the bits of the public functions, in calls, caches and layers.
// SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/executors.hpp"
#include "support/kernels.hpp"
#include "support/layer_checks.hpp"

namespace heed_test {
namespace {

constexpr int32_t n_tokens = 7, n_heads = 3, head_dim = 44, pairs = 20, width = n_heads * head_dim, n_axes = 3;

class rope_axes : public kernel_test {
 protected:
  void SetUp() override {
    kernel_test::SetUp();
    for (int32_t i = 0; i < pairs; ++i) axes_[i] = static_cast<uint8_t>(i < 15 ? i % n_axes : i / 2 % n_axes);
    for (int32_t &p : positions_) p = r_.chance(20) ? r_.between(-1000000, 1000000) : r_.between(0, 40);
  }
  heed_rope rope(int32_t style, int32_t axes = n_axes) const {
    heed_rope rope;
    EXPECT_EQ(heed_rope_init(&rope, style), HEED_OK);
    rope.rotary_dim = 2 * pairs;
    rope.base = 500, rope.factor = 1.25f;
    if (axes > 1) rope.n_axes = axes, rope.axes = axes_;
    return rope;
  }
  floats apply(const heed_rope &rope, const floats &x, int64_t position, const int32_t *positions,
               const heed_executor *executor = nullptr) const {
    const int32_t n = static_cast<int32_t>(x.size()) / width;
    floats y(x.size());
    EXPECT_EQ(heed_rope_apply(&rope, heed_token_major(x.data(), n, n_heads, head_dim), n, n_heads, head_dim, position,
                              positions, heed_token_major_out(y.data(), n, n_heads, head_dim), executor),
              HEED_OK);
    return y;
  }
  // The rotation by each axis alone gives the elements of its pairs.
  floats by_each_axis(int32_t style, const floats &x) const {
    floats y = x;
    for (int32_t axis = 0; axis < n_axes; ++axis) {
      std::vector<int32_t> one;
      for (int32_t t = 0; t < n_tokens; ++t) one.push_back(positions_[t * n_axes + axis]);
      const floats all = apply(rope(style, 1), x, 0, one.data());
      for (size_t i = 0; i < x.size(); ++i) {
        const int32_t element = static_cast<int32_t>(i) % head_dim;
        if (element >= 2 * pairs) continue;
        const int32_t pair = style == HEED_ROPE_INTERLEAVED ? element / 2 : element % pairs;
        if (axes_[pair] == axis) y[i] = all[i];
      }
    }
    return y;
  }

  random_source r_{5};
  uint8_t axes_[pairs];
  int32_t positions_[n_tokens * n_axes];
};

TEST_P(rope_axes, each_pair_has_the_bits_of_its_axis) {
  const floats x = bell_floats(r_, n_tokens * width);
  reverse_executor threads(3);
  for (const int32_t style : {HEED_ROPE_INTERLEAVED, HEED_ROPE_HALVES}) {
    const floats expected = by_each_axis(style, x);
    EXPECT_TRUE(same_bits(expected, apply(rope(style), x, 0, positions_)));
    EXPECT_TRUE(same_bits(expected, apply(rope(style), x, 0, positions_, threads.get())));
    EXPECT_FALSE(same_bits(expected, apply(rope(style, 1), x, 0, nullptr)));
    EXPECT_TRUE(same_bits(apply(rope(style, 1), x, 77, nullptr), apply(rope(style), x, 77, nullptr)))
        << "without positions all axes have the token's";
  }
}

// Axes are bytes: they may begin anywhere, and end where the result begins.
TEST_P(rope_axes, lie_anywhere) {
  const floats x = bell_floats(r_, n_tokens * width), expected = by_each_axis(HEED_ROPE_HALVES, x);
  constexpr size_t before = 2 * pairs / sizeof(float);
  for (const size_t shift : {size_t{0}, size_t{1}, size_t{pairs} - 1, size_t{pairs}}) {
    floats memory(before + x.size());
    uint8_t *const axes = reinterpret_cast<uint8_t *>(memory.data()) + shift;
    std::copy(axes_, axes_ + pairs, axes);
    heed_rope rope = this->rope(HEED_ROPE_HALVES);
    rope.axes = axes;
    float *const y = memory.data() + before;
    ASSERT_EQ(heed_rope_apply(&rope, heed_token_major(x.data(), n_tokens, n_heads, head_dim), n_tokens, n_heads,
                              head_dim, 0, positions_, heed_token_major_out(y, n_tokens, n_heads, head_dim), nullptr),
              HEED_OK)
        << shift;
    EXPECT_TRUE(same_bits(expected, {y, y + x.size()})) << shift;
  }
}

// Keys that a cache rotates by the rope's positions are those of heed_rope_apply.
TEST_P(rope_axes, appends_take_the_positions_of_the_rope) {
  for (const int32_t dtype : {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8})
    for (const int32_t own_axes : {1, n_axes}) {
      const heed_cache_shape s = cache_shape(HEED_CACHE_LINEAR, 2 * n_tokens, n_heads, head_dim, head_dim, dtype);
      owned_cache rotated(s), plain(s);
      heed_rope rope = this->rope(HEED_ROPE_HALVES, own_axes);
      const floats k = bell_floats(r_, n_tokens * width), v = bell_floats(r_, n_tokens * width);
      const floats turned = apply(rope, k, 0, positions_);
      rope.positions = positions_;
      const auto append = [&](owned_cache &cache, const floats &keys, const heed_rope *with) {
        return heed_cache_append(&cache.cache, 0, heed_token_major(keys.data(), n_tokens, n_heads, head_dim),
                                 heed_token_major(v.data(), n_tokens, n_heads, head_dim), n_tokens, with);
      };
      for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(append(rotated, k, &rope), HEED_OK);
        ASSERT_EQ(append(plain, turned, nullptr), HEED_OK);
      }
      EXPECT_TRUE(same_bits(plain.contents(), rotated.contents())) << dtype << " " << own_axes;
    }
}

// A layer of one projection for all, so that its steps can be written out.
class rope_axes_layer : public rope_axes {
 protected:
  void SetUp() override {
    rope_axes::SetUp();
    x_ = bell_floats(r_, n_tokens * width);
    for (floats *w : {&wq_, &wk_, &wv_}) {
      *w = bell_floats(r_, width * width);
      for (float &element : *w) element /= 11;
    }
    rope_ = rope(HEED_ROPE_HALVES);
    rope_.positions = positions_;
    layer_ = heed_attention_layer_default(width, n_heads);
    layer_.wq = weights(wq_), layer_.wk = weights(wk_), layer_.wv = weights(wv_);
    layer_.rope = &rope_, layer_.causal = 1;
  }
  static heed_weights weights(const floats &w) {
    return heed_weights_of(w.data(), nullptr, HEED_F32, HEED_OUT_IN, width, width);
  }
  floats project(const heed_weights &w) const {
    floats y(x_.size());
    EXPECT_EQ(heed_linear(heed_matrix_of(x_.data(), n_tokens, width), w, nullptr,
                          heed_matrix_out_of(y.data(), n_tokens, width), nullptr),
              HEED_OK);
    return y;
  }
  floats by_steps() {
    const floats q = apply(rope_, project(layer_.wq), 0, positions_),
                 k = apply(rope_, project(layer_.wk), 0, positions_);
    const floats v = project(layer_.wv);
    floats y(x_.size());
    heed_attention call = heed_attention_of(q.data(), k.data(), v.data(), n_tokens, n_tokens, n_heads, n_heads,
                                            head_dim, y.data(), memory());
    call.causal = 1;
    EXPECT_EQ(heed_attention_run(&call), HEED_OK);
    return y;
  }
  // Rows from `first` on; the rope's positions are theirs.
  heed_status run(int32_t first, int32_t n, floats *y) {
    rope_.positions = positions_ + first * n_axes;
    return heed_attention_layer_run(&layer_, heed_matrix_of(x_.data() + first * width, n, width),
                                    heed_matrix_out_of(y->data() + first * width, n, width), memory(), nullptr);
  }
  heed_memory memory() { return heed_memory_of(memory_, sizeof memory_); }

  floats x_, wq_, wk_, wv_;
  heed_rope rope_;
  heed_attention_layer layer_;
  alignas(HEED_ALIGNMENT) unsigned char memory_[HEED_TRANSFORMER_LAYER_BYTES(n_tokens, width, n_heads, n_heads, 50, 0)];
};

TEST_P(rope_axes_layer, has_the_bits_of_its_steps) {
  const floats expected = by_steps();
  floats y(x_.size());
  ASSERT_EQ(run(0, n_tokens, &y), HEED_OK);
  EXPECT_TRUE(same_bits(expected, y));
  owned_cache cache(cache_shape(HEED_CACHE_LINEAR, n_tokens, n_heads, head_dim, head_dim, HEED_F32));
  layer_.cache = &cache.cache;
  int32_t first = 0;
  for (const int32_t n : {3, 1, n_tokens - 4}) {
    ASSERT_EQ(run(first, n, &y), HEED_OK);
    first += n;
  }
  EXPECT_TRUE(same_bits(expected, y)) << "with a cache";
}

// A ring without room for all rows takes them in pieces, and a layer with little memory likewise.
TEST_P(rope_axes_layer, in_pieces) {
  floats whole(x_.size()), y(x_.size());
  heed_transformer_layer t = heed_transformer_layer_default(&layer_, 50, heed_rms_norm, heed_silu);
  const floats up = bell_floats(r_, 50 * width), down = bell_floats(r_, 50 * width);
  const floats wo = bell_floats(r_, width * width);
  layer_.wo = weights(wo);
  t.norm_first = 1;
  t.w_up = heed_weights_of(up.data(), nullptr, HEED_F32, HEED_OUT_IN, width, 50);
  t.w_down = heed_weights_of(down.data(), nullptr, HEED_F32, HEED_OUT_IN, 50, width);
  const auto run_layer = [&](floats *to, size_t bytes) {
    return heed_transformer_layer_run(&t, heed_matrix_of(x_.data(), n_tokens, width),
                                      heed_matrix_out_of(to->data(), n_tokens, width), heed_memory_of(memory_, bytes),
                                      nullptr);
  };
  ASSERT_EQ(run_layer(&whole, sizeof memory_), HEED_OK);
  ASSERT_EQ(run_layer(&y, heed_transformer_layer_min_bytes(&t, n_tokens)), HEED_OK);
  EXPECT_TRUE(same_bits(whole, y)) << "with the least memory";
  for (const int32_t out_rows : {2, -2}) {  // the first rows, or the last ones
    t.out_rows = out_rows;
    floats some(2 * width);
    ASSERT_EQ(heed_transformer_layer_run(&t, heed_matrix_of(x_.data(), n_tokens, width),
                                         heed_matrix_out_of(some.data(), 2, width), memory(), nullptr),
              HEED_OK);
    const auto first = whole.begin() + (out_rows < 0 ? (n_tokens - 2) * width : 0);
    EXPECT_TRUE(same_bits({first, first + 2 * width}, some)) << out_rows;
  }
  t.out_rows = 0;
  for (const int32_t spare : {0, 2}) {
    owned_cache ring(cache_shape(HEED_CACHE_RING, n_tokens, n_heads, head_dim, head_dim, HEED_F32, 0, spare));
    layer_.cache = &ring.cache;
    ASSERT_EQ(run_layer(&y, sizeof memory_), HEED_OK);
    EXPECT_TRUE(same_bits(whole, y)) << "a ring with " << spare << " to spare";
  }
}

TEST_P(rope_axes_layer, of_a_batch) {
  floats expected(x_.size()), y(x_.size());
  ASSERT_EQ(run(0, 3, &expected), HEED_OK);
  ASSERT_EQ(run(3, n_tokens - 3, &expected), HEED_OK);
  const int32_t lengths[] = {3, n_tokens - 3};
  heed_ragged_batch batch;
  ASSERT_EQ(heed_ragged_batch_init(&batch, 2, lengths), HEED_OK);
  layer_.batch = &batch;
  ASSERT_EQ(run(0, n_tokens, &y), HEED_OK);
  EXPECT_TRUE(same_bits(expected, y));
}

TEST_P(rope_axes_layer, refuses_bad_axes) {
  owned_cache cache(cache_shape(HEED_CACHE_LINEAR, n_tokens, n_heads, head_dim, head_dim, HEED_F32));
  floats y(x_.size(), 7);
  const auto is_refused = [&](heed_fault fault, heed_argument argument, const char *what) {
    const heed_status status = HEED_STATUS(fault, argument);
    const heed_tensor x = heed_token_major(x_.data(), n_tokens, n_heads, head_dim);
    if (argument != HEED_ARG_POSITIONS) {
      EXPECT_EQ(heed_rope_apply(&rope_, x, n_tokens, n_heads, head_dim, 0, positions_,
                                heed_token_major_out(y.data(), n_tokens, n_heads, head_dim), nullptr),
                status)
          << what;
    }
    EXPECT_EQ(heed_cache_append(&cache.cache, 0, x, x, n_tokens, &rope_), status) << what;
    EXPECT_EQ(heed_attention_layer_run(&layer_, heed_matrix_of(x_.data(), n_tokens, width),
                                       heed_matrix_out_of(y.data(), n_tokens, width), memory(), nullptr),
              status)
        << what;
    EXPECT_EQ(y, floats(x_.size(), 7)) << what;
    EXPECT_EQ(heed_cache_length(&cache.cache, 0), 0) << what;
    rope_ = rope(HEED_ROPE_HALVES);
    rope_.positions = positions_;
    for (uint8_t &axis : axes_) axis %= n_axes;
  };
  for (const int32_t n : {-1, HEED_ROPE_MAX_AXES + 1, INT32_MIN, INT32_MAX}) {
    rope_.n_axes = n;
    is_refused(HEED_OUT_OF_RANGE, HEED_ARG_N_AXES, "n_axes");
  }
  rope_.axes = nullptr;
  is_refused(HEED_NULL_POINTER, HEED_ARG_AXES, "axes");
  axes_[pairs - 1] = n_axes;
  is_refused(HEED_OUT_OF_RANGE, HEED_ARG_AXES, "an axis");
  rope_.positions = misaligned(positions_);
  is_refused(HEED_MISALIGNED, HEED_ARG_POSITIONS, "positions");
  rope_.positions = reinterpret_cast<const int32_t *>(UINTPTR_MAX - 3);
  is_refused(HEED_OVERFLOW, HEED_ARG_POSITIONS, "positions");
  rope_.positions = reinterpret_cast<const int32_t *>(y.data());
  EXPECT_EQ(heed_attention_layer_run(&layer_, heed_matrix_of(x_.data(), n_tokens, width),
                                     heed_matrix_out_of(y.data(), n_tokens, width), memory(), nullptr),
            HEED_STATUS(HEED_OVERLAP, HEED_ARG_Y));
}

HEED_TEST_EVERY_KERNEL(rope_axes);
HEED_TEST_EVERY_KERNEL(rope_axes_layer);

}  // namespace
}  // namespace heed_test
