// Caches made, filled, cut and opened in every wrong way: the status names the argument, and no byte has changed.
// SPDX-License-Identifier: MIT
#include "support/cache_flaws.hpp"

namespace heed_test {
namespace {

using bad_cache = cache_test;

TEST_F(bad_cache, the_good_ones_are_accepted) {
  for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; ++dtype)
    for (const int32_t kind : {HEED_CACHE_LINEAR, HEED_CACHE_RING}) {
      make(kind, dtype);
      EXPECT_EQ(status_name(heed_cache_save(cache_)), "HEED_OK");
      EXPECT_EQ(status_name(heed_cache_load(cache_, shape_, whole_buffer())), "HEED_OK");
      EXPECT_EQ(status_name(append(2)), "HEED_OK");
      EXPECT_EQ(status_name(heed_cache_truncate(cache_, 1, 3)), "HEED_OK");
      EXPECT_EQ(heed_cache_length(cache_, 1), 3);
      EXPECT_EQ(status_name(heed_cache_reset(cache_)), "HEED_OK");
      EXPECT_EQ(heed_cache_length(cache_, 1), 0);
    }
}

TEST_F(bad_cache, bytes_are_the_constant_expression) {
  random_source r(1);
  for (int32_t i = 0; i < 2000; ++i) {
    const bool ring = r.chance(50);
    const heed_cache_shape s = cache_shape(ring ? HEED_CACHE_RING : HEED_CACHE_LINEAR, r.size(1, 9000), r.size(1, 70),
                                           r.size(1, 300), r.size(1, 300), r.between(0, 3),
                                           ring ? r.between(0, 200) : 0, ring ? r.between(0, 200) : 0, r.size(1, 40));
    const size_t bytes =
        ring ? HEED_RING_BYTES(s.capacity, s.pinned, s.spare, s.n_sequences, s.n_kv_heads, s.head_dim, s.v_dim, s.dtype)
             : HEED_CACHE_BYTES(s.capacity, s.n_sequences, s.n_kv_heads, s.head_dim, s.v_dim, s.dtype);
    EXPECT_EQ(heed_cache_bytes(&s), bytes) << text_of(s);
  }
  static unsigned char linear[HEED_CACHE_BYTES(65, 9, 1, 2, 3, HEED_F16)];
  EXPECT_EQ(sizeof linear, 128 + 192 + 9 * 128 * 5 * 2);
  static unsigned char of_ring[HEED_RING_BYTES(65, 1, 3, 2, 1, 2, 3, HEED_INT8)];
  EXPECT_EQ(sizeof of_ring, 128 + 64 + 2 * (64 + 128) * (5 + 8));
}

TEST_F(bad_cache, the_default_shape) {
  const heed_cache_shape s = heed_cache_shape_default(12, 2, 6);
  EXPECT_EQ(s.struct_size, sizeof s);
  EXPECT_EQ(text_of(s), "linear of 12 pinned 0 spare 0 sequences 1 kv heads 2 dims 6 6 f32");
  EXPECT_EQ(heed_cache_bytes(&s), HEED_CACHE_BYTES(12, 1, 2, 6, 6, HEED_F32));
  EXPECT_EQ(status_name(heed_cache_init(cache_, &s, heed_memory_of(buffer_, heed_cache_bytes(&s)))), "HEED_OK");
  EXPECT_EQ(heed_cache_longest(cache_), 0);
}

TEST_F(bad_cache, the_longest_sequence) {
  make(HEED_CACHE_RING, HEED_BF16);  // lengths 5 and 7
  EXPECT_EQ(heed_cache_longest(cache_), 7);
  ASSERT_EQ(status_name(heed_cache_append(cache_, 0, k(), v(), 4, nullptr)), "HEED_OK");
  EXPECT_EQ(heed_cache_longest(cache_), 9);
  ASSERT_EQ(status_name(heed_cache_truncate(cache_, 0, 6)), "HEED_OK");
  EXPECT_EQ(heed_cache_longest(cache_), 7);
  for (int32_t i = 0; i < 60; ++i) ASSERT_EQ(append(5), HEED_OK);
  EXPECT_EQ(heed_cache_longest(cache_), 307) << "tokens that a ring has lost count";
  ASSERT_EQ(heed_cache_reset(cache_), HEED_OK);
  EXPECT_EQ(heed_cache_longest(cache_), 0);
}

TEST_F(bad_cache, shapes) {
  for (const int32_t kind : {HEED_CACHE_LINEAR, HEED_CACHE_RING}) {
    make(kind, HEED_F16);
    const heed_cache_shape good = *shape_;
    for (const shape_flaw &f : shape_flaws(kind)) {
      f.apply(*shape_);
      EXPECT_EQ(heed_cache_bytes(shape_), 0u) << f.what;
      refuses(f.fault, f.argument, f.what,
              [&] { return heed_cache_init(cache_, shape_, heed_memory_of(buffer_, SIZE_MAX / 4)); });
      refuses(f.fault, f.argument, f.what,
              [&] { return heed_cache_load(cache_, shape_, heed_memory_of(buffer_, SIZE_MAX / 4)); });
      *shape_ = good;
    }
  }
  EXPECT_EQ(heed_cache_bytes(nullptr), 0u);
  EXPECT_EQ(heed_cache_bytes(misaligned(shape_)), 0u);
}

TEST_F(bad_cache, init_and_open) {
  make(HEED_CACHE_RING, HEED_INT8);
  ASSERT_EQ(heed_cache_save(cache_), HEED_OK);
  const size_t n = heed_cache_bytes(shape_);
  for (const auto f : {heed_cache_init, heed_cache_load}) {
    const auto wrong = [&](heed_fault fault, heed_argument argument, const char *what, heed_cache *c,
                           heed_cache_shape *s, void *b, size_t bytes) {
      refuses(fault, argument, what, [=] { return f(c, s, heed_memory_of(b, bytes)); });
    };
    wrong(HEED_NULL_POINTER, HEED_ARG_CACHE, "no cache", nullptr, shape_, buffer_, n);
    wrong(HEED_MISALIGNED, HEED_ARG_CACHE, "cache misaligned", misaligned(cache_), shape_, buffer_, n);
    wrong(HEED_NULL_POINTER, HEED_ARG_SHAPE, "no shape", cache_, nullptr, buffer_, n);
    wrong(HEED_MISALIGNED, HEED_ARG_SHAPE, "shape misaligned", cache_, misaligned(shape_, 2), buffer_, n);
    wrong(HEED_NULL_POINTER, HEED_ARG_MEMORY, "no memory", cache_, shape_, nullptr, n);
    for (const uintptr_t by : {1, 4, 32})
      wrong(HEED_MISALIGNED, HEED_ARG_MEMORY, "memory misaligned", cache_, shape_, misaligned(buffer_, by), n);
    for (const size_t bytes : {n - 1, n / 2, size_t{0}})
      wrong(HEED_TOO_SMALL, HEED_ARG_MEMORY, "too short", cache_, shape_, buffer_, bytes);
    wrong(HEED_OVERFLOW, HEED_ARG_MEMORY, "too long", cache_, shape_, buffer_, SIZE_MAX);
    const auto in_buffer = [&](size_t at) { return reinterpret_cast<heed_cache *>(buffer_ + at); };
    for (const size_t at : {size_t{0}, n - 64})
      wrong(HEED_OVERLAP, HEED_ARG_CACHE, "cache in the memory", in_buffer(at), shape_, buffer_, n);
    wrong(HEED_OVERLAP, HEED_ARG_CACHE, "shape in the cache", cache_, plant_shape(cache_), buffer_, n);
    make(HEED_CACHE_RING, HEED_INT8);
    ASSERT_EQ(heed_cache_save(cache_), HEED_OK);
  }
  const heed_cache_shape *const inside = plant_shape(buffer_ + 128);
  refuses(HEED_OVERLAP, HEED_ARG_MEMORY, "shape in the memory",
          [&] { return heed_cache_init(cache_, inside, heed_memory_of(buffer_, n)); });
}

// Every function takes a handle, and looks at what it leads to.
TEST_F(bad_cache, handles) {
  for (const int32_t kind : {HEED_CACHE_LINEAR, HEED_CACHE_RING})
    for (const handle_flaw &f : handle_flaws()) {
      make(kind, HEED_BF16);
      f.apply(cache_);
      each_taker([&](const char *name, const std::function<heed_status(heed_cache *)> &call) {
        refuses(f.fault, HEED_ARG_CACHE, f.what + ", " + name, [&] { return call(cache_); });
      });
    }
  make(HEED_CACHE_LINEAR, HEED_BF16);
  each_taker([&](const char *name, const std::function<heed_status(heed_cache *)> &call) {
    for (const uintptr_t by : {1, 2, 4})
      refuses(HEED_MISALIGNED, HEED_ARG_CACHE, std::string("misaligned, ") + name,
              [&] { return call(misaligned(cache_, by)); });
    if (std::string(name) == "attention") return;  // where null is none
    refuses(HEED_NULL_POINTER, HEED_ARG_CACHE, std::string("null, ") + name, [&] { return call(nullptr); });
  });
}

TEST_F(bad_cache, sequences_and_lengths) {
  make(HEED_CACHE_LINEAR, HEED_F32);
  for (const int32_t wrong : {-1, n_sequences, INT32_MIN, INT32_MAX}) {
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE, "append",
            [&] { return heed_cache_append(cache_, wrong, k(), v(), 1, nullptr); });
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE, "truncate", [&] { return heed_cache_truncate(cache_, wrong, 0); });
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE, "length", [&] { return heed_cache_length(cache_, wrong); });
  }
  for (const int64_t wrong :
       {int64_t{-1}, heed_cache_length(cache_, 1) + 1, int64_t{INT32_MIN}, int64_t{INT32_MAX}, INT64_MIN, INT64_MAX})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_LENGTH, "length", [&] { return heed_cache_truncate(cache_, 1, wrong); });
  make(HEED_CACHE_RING, HEED_F32);
  for (int32_t i = 0; i < 60; ++i) ASSERT_EQ(append(5), HEED_OK);
  const int64_t length = heed_cache_length(cache_, 1);
  for (const int64_t wrong : {int64_t{100}, length - 70})
    refuses(HEED_EVICTED, HEED_ARG_LENGTH, "tokens that are gone",
            [&] { return heed_cache_truncate(cache_, 1, wrong); });
  EXPECT_EQ(status_name(heed_cache_truncate(cache_, 1, length - spare)), "HEED_OK");
  EXPECT_EQ(status_name(heed_cache_truncate(cache_, 1, 0)), "HEED_OK") << "from the beginning";
}

TEST_F(bad_cache, appended_tokens) {
  make(HEED_CACHE_RING, HEED_F16);
  const auto wrong = [&](heed_fault fault, heed_argument argument, const std::string &what, int32_t n, heed_tensor of_k,
                         heed_tensor of_v) {
    refuses(fault, argument, what, [=] { return heed_cache_append(cache_, 1, of_k, of_v, n, nullptr); });
  };
  for (const int32_t n : {0, -1, INT32_MIN, HEED_MAX_COUNT + 1, INT32_MAX})
    wrong(HEED_OUT_OF_RANGE, HEED_ARG_N, "n", n, k(), v());
  for (const flaw<heed_tensor> &f : tensor_flaws<heed_tensor>()) {
    heed_tensor of_k = k(), of_v = v();
    f.apply(of_k), f.apply(of_v);
    if (of_k.batch_stride != k().batch_stride) continue;  // of no account
    wrong(f.fault, HEED_ARG_K, f.what, 3, of_k, v());
    wrong(f.fault, HEED_ARG_V, f.what, 3, k(), of_v);
  }
  heed_tensor none = {};
  wrong(HEED_NULL_POINTER, HEED_ARG_K, "no k", 3, none, v());
  wrong(HEED_NULL_POINTER, HEED_ARG_V, "no v", 3, k(), none);
  for (float *in :
       {reinterpret_cast<float *>(buffer_), reinterpret_cast<float *>(buffer_ + heed_cache_bytes(shape_)) - 1,
        reinterpret_cast<float *>(cache_)}) {
    wrong(HEED_OVERLAP, HEED_ARG_CACHE, "k in the cache", 3, {in, 0, k().head_stride, k().row_stride}, v());
    wrong(HEED_OVERLAP, HEED_ARG_CACHE, "v in the cache", 3, k(), {in, 0, v().head_stride, v().row_stride});
  }
  wrong(HEED_TOO_MANY_ROWS, HEED_ARG_N, "more than a ring holds", capacity + spare + 1, {in_, 0, 0, 0}, {in_, 0, 0, 0});
  EXPECT_EQ(status_name(heed_cache_append(cache_, 1, {in_, 0, 0, 0}, {in_, 0, 0, 0}, capacity + spare, nullptr)),
            "HEED_OK");
  state(1)[0] = HEED_MAX_COUNT - 1;
  EXPECT_EQ(status_name(append(2)), "HEED_OK") << "beyond the last number of a key";
  EXPECT_EQ(heed_cache_length(cache_, 1), HEED_MAX_COUNT + 1ll);
  EXPECT_LT(heed_cache_longest(cache_), HEED_MAX_COUNT / 2);
  make(HEED_CACHE_LINEAR, HEED_F16);
  wrong(HEED_FULL, HEED_ARG_CACHE, "no room", capacity - heed_cache_length(cache_, 1) + 1, {in_, 0, 0, 0},
        {in_, 0, 0, 0});
}

TEST_F(bad_cache, numbers_that_int8_cannot_scale) {
  for (const float special : {INFINITY, -INFINITY, NAN})
    for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; ++dtype)
      for (const bool of_k : {true, false}) {
        make(HEED_CACHE_LINEAR, dtype);
        const float good = in_[3];
        in_[3] = special;
        const heed_tensor clean = {out_, 0, 0, 0}, own = {in_, 0, 0, 0};
        const auto call = [&] {
          return heed_cache_append(cache_, 0, of_k ? own : clean, of_k ? clean : own, 1, nullptr);
        };
        if (dtype == HEED_INT8)
          refuses(HEED_NOT_FINITE, of_k ? HEED_ARG_K : HEED_ARG_V, "special", call);
        else
          EXPECT_EQ(status_name(call()), "HEED_OK");
        in_[3] = good;
      }
}

TEST_F(bad_cache, rope) {
  make(HEED_CACHE_LINEAR, HEED_INT8);
  for (const rope_flaw &f : rope_flaws(dim)) {
    ASSERT_EQ(heed_rope_init(rope_, HEED_ROPE_HALVES), HEED_OK);
    f.apply(*rope_);
    refuses(f.fault, f.argument, f.what, [&] { return heed_cache_append(cache_, 0, k(), v(), 1, rope_); });
  }
  ASSERT_EQ(heed_rope_init(rope_, HEED_ROPE_HALVES), HEED_OK);
  refuses(HEED_MISALIGNED, HEED_ARG_ROPE, "misaligned",
          [&] { return heed_cache_append(cache_, 0, k(), v(), 1, misaligned(rope_)); });
  heed_rope *inside = reinterpret_cast<heed_rope *>(buffer_ + 1024);
  *inside = *rope_;
  refuses(HEED_OVERLAP, HEED_ARG_CACHE, "rope in the buffer",
          [&] { return heed_cache_append(cache_, 0, k(), v(), 1, inside); });
  *shape_ = cache_shape(HEED_CACHE_LINEAR, 1, 1, 260, 1, HEED_F32);
  ASSERT_EQ(heed_cache_init(cache_, shape_, whole_buffer()), HEED_OK);
  for (const int32_t wrong : {0, 258, 260}) {
    rope_->rotary_dim = wrong;
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_ROTARY_DIM, "more than is turned here",
            [&] { return heed_cache_append(cache_, 0, k(), v(), 1, rope_); });
  }
  rope_->rotary_dim = 256;
  EXPECT_EQ(status_name(heed_cache_append(cache_, 0, k(), v(), 1, rope_)), "HEED_OK");
}

}  // namespace
}  // namespace heed_test
