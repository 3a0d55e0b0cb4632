// Every argument of caches of integers, wrong in every way: its status, and nothing is written.
// SPDX-License-Identifier: MIT
#include "support/integers.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

// A ring of two sequences, the first of which has wrapped, the second of which is empty, in an arena with its tokens.
class bad_int_cache : public ::testing::Test {
 protected:
  bad_int_cache() {
    shape_ = heed_int_cache_shape_default(30, 2, 6);
    shape_.kind = HEED_CACHE_RING, shape_.spare = 3, shape_.v_dim = 5, shape_.n_sequences = 2, shape_.k_zero = 4;
    memory_ = {arena_.take_aligned(4096 / 4), heed_int_cache_bytes(&shape_)};
    numbers_ = arena_.take(256);
    k_ = heed_int_token_major(reinterpret_cast<int8_t *>(numbers_), 3, 2, 6, 4);
    v_ = heed_int_token_major(reinterpret_cast<int8_t *>(numbers_), 3, 2, 5, 0);
    scales_ = arena_.take(2);
    scales_[0] = scales_[1] = 0.5f;
    out_ = reinterpret_cast<int8_t *>(arena_.take(64));
    workspace_ = heed_memory_of(arena_.take_aligned(HEED_INT_WORKSPACE_MIN_BYTES(6, 5) / 4 + 1),
                                HEED_INT_WORKSPACE_MIN_BYTES(6, 5));
    EXPECT_EQ(heed_int_cache_init(&cache_, &shape_, memory_), HEED_OK);
    for (int32_t i = 0; i < 30; ++i) EXPECT_EQ(heed_int_cache_append(&cache_, 0, k_, v_, 3), HEED_OK);
    floats_k_ = heed_token_major(numbers_, 3, 2, 6), floats_v_ = heed_token_major(numbers_, 3, 2, 5);
    call_ = heed_int_attention_of_cache(&cache_, out_, 2, 2, out_ + 60, workspace_);
    call_.score = {0x50000000, -12}, call_.value = {0x50000000, 2};
  }
  void refuses(heed_fault fault, heed_argument argument, const std::string &what,
               const std::function<heed_status()> &run) {
    arena_.refuses(run, fault, argument, what);
  }
  using append_change = std::function<void(heed_int_tensor &k, heed_int_tensor &v, int32_t &sequence, int32_t &n)>;
  void append_refuses(heed_fault fault, heed_argument argument, const append_change &change) {
    heed_int_tensor k = k_, v = v_;
    int32_t sequence = 0, n = 3;
    change(k, v, sequence, n);
    refuses(fault, argument, "append", [&] { return heed_int_cache_append(&cache_, sequence, k, v, n); });
  }
  void call_refuses(heed_fault fault, heed_argument argument, const std::function<void(heed_int_attention &)> &change) {
    heed_int_attention call = call_;
    change(call);
    refuses(fault, argument, "call", [&] { return heed_int_attention_run(&call); });
  }
  void shape_refuses(heed_fault fault, heed_argument argument,
                     const std::function<void(heed_int_cache_shape &)> &change) {
    heed_int_cache_shape shape = shape_;
    change(shape);
    heed_int_cache other;
    refuses(fault, argument, "init", [&] { return heed_int_cache_init(&other, &shape, memory_); });
    refuses(fault, argument, "open", [&] { return heed_int_cache_load(&other, &shape, memory_); });
    if (argument != HEED_ARG_MEMORY) {
      EXPECT_EQ(heed_int_cache_bytes(&shape), 0u);
    }
  }
  // Of all functions that take a handle.
  void handle_refuses(heed_fault fault, const std::string &what, heed_int_cache *cache) {
    const auto is = [&](const std::function<heed_status()> &run) { refuses(fault, HEED_ARG_CACHE, what, run); };
    is([&] { return heed_int_cache_append(cache, 0, k_, v_, 3); });
    is([&] { return heed_int_cache_append_f32(cache, 0, floats_k_, floats_v_, 3, scales_, scales_); });
    is([&] { return heed_int_cache_truncate(cache, 0, 1); });
    is([&] { return heed_int_cache_reset(cache); });
    is([&] { return heed_int_cache_length(cache, 0); });
    is([&] { return heed_int_cache_longest(cache); });
    is([&] { return heed_int_cache_save(cache); });
    if (cache) call_refuses(fault, HEED_ARG_CACHE, [&](heed_int_attention &c) { c.cache = cache; });
  }

  arena arena_;
  heed_int_cache_shape shape_;
  heed_memory memory_, workspace_;
  float *numbers_, *scales_;
  int8_t *out_;
  heed_int_cache cache_;
  heed_int_tensor k_, v_;
  heed_tensor floats_k_, floats_v_;
  heed_int_attention call_;
};

TEST_F(bad_int_cache, the_good_calls_are_good) {
  EXPECT_EQ(heed_int_attention_run(&call_), HEED_OK);
  EXPECT_EQ(heed_int_cache_append_f32(&cache_, 1, floats_k_, floats_v_, 3, scales_, scales_), HEED_OK);
  EXPECT_EQ(heed_int_cache_length(&cache_, 1), 3);
  EXPECT_EQ(heed_int_cache_longest(&cache_), 90);
  EXPECT_EQ(heed_int_cache_reset(&cache_), HEED_OK);
  EXPECT_EQ(heed_int_cache_longest(&cache_), 0);
}

TEST_F(bad_int_cache, shapes) {
  using S = heed_int_cache_shape;
  shape_refuses(HEED_NOT_INITIALIZED, HEED_ARG_SHAPE, [](S &s) { s.struct_size = 0; });
  shape_refuses(HEED_BAD_STRUCT_SIZE, HEED_ARG_SHAPE, [](S &s) { s.struct_size++; });
  shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_KIND, [](S &s) { s.kind = 2; });
  shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_CAPACITY, [](S &s) { s.capacity = 0; });
  shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_CAPACITY, [](S &s) { s.capacity = HEED_INT_MAX_KEYS + 1; });
  shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_SPARE, [](S &s) { s.spare = -1; });
  shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_SPARE, [](S &s) { s.spare = HEED_INT_MAX_KEYS + 1; });
  shape_refuses(HEED_UNSUPPORTED, HEED_ARG_SPARE, [](S &s) { s.kind = HEED_CACHE_LINEAR; });
  shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_N_SEQUENCES, [](S &s) { s.n_sequences = 0; });
  shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_N_KV_HEADS, [](S &s) { s.n_kv_heads = HEED_MAX_DIM + 1; });
  shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_HEAD_DIM, [](S &s) { s.head_dim = HEED_INT_MAX_DIM + 1; });
  shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_V_DIM, [](S &s) { s.v_dim = -5; });
  for (const int32_t wrong : {128, -129}) {
    shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_SHAPE, [=](S &s) { s.k_zero = wrong; });
    shape_refuses(HEED_OUT_OF_RANGE, HEED_ARG_SHAPE, [=](S &s) { s.v_zero = wrong; });
  }
  shape_refuses(HEED_OVERFLOW, HEED_ARG_SHAPE, [](S &s) {
    s.n_sequences = HEED_MAX_COUNT, s.capacity = s.spare = HEED_INT_MAX_KEYS, s.head_dim = s.v_dim = HEED_INT_MAX_DIM;
  });
  shape_refuses(HEED_TOO_SMALL, HEED_ARG_MEMORY, [](S &s) { s.spare += 32; });
  heed_int_cache other;
  refuses(HEED_NULL_POINTER, HEED_ARG_CACHE, "null", [&] { return heed_int_cache_init(nullptr, &shape_, memory_); });
  refuses(HEED_NULL_POINTER, HEED_ARG_SHAPE, "null", [&] { return heed_int_cache_init(&other, nullptr, memory_); });
  refuses(HEED_NULL_POINTER, HEED_ARG_MEMORY, "null", [&] {
    return heed_int_cache_init(&other, &shape_, {nullptr, 4096});
  });
  refuses(HEED_MISALIGNED, HEED_ARG_MEMORY, "odd", [&] {
    return heed_int_cache_init(&other, &shape_, {misaligned(numbers_), 4096});
  });
  refuses(HEED_OVERLAP, HEED_ARG_CACHE, "in its memory",
          [&] { return heed_int_cache_init(static_cast<heed_int_cache *>(memory_.data), &shape_, memory_); });
  refuses(HEED_CORRUPT, HEED_ARG_MEMORY, "not saved", [&] { return heed_int_cache_load(&other, &shape_, memory_); });
  EXPECT_EQ(heed_int_cache_bytes(nullptr), 0u);
}

TEST_F(bad_int_cache, handles_and_memory) {
  heed_int_cache other = cache_;
  handle_refuses(HEED_NULL_POINTER, "null", nullptr);
  handle_refuses(HEED_MISALIGNED, "odd", misaligned(&cache_));
  other.struct_size = 0;
  handle_refuses(HEED_NOT_INITIALIZED, "never made", &other);
  other.struct_size = sizeof other + 8;
  handle_refuses(HEED_BAD_STRUCT_SIZE, "longer", &other);
  other = cache_, other.code = nullptr;
  handle_refuses(HEED_NOT_INITIALIZED, "no code", &other);
  other = cache_, other.buffer = nullptr;
  handle_refuses(HEED_NULL_POINTER, "no memory", &other);
  other = cache_, other.shape.capacity++;
  handle_refuses(HEED_CORRUPT, "another shape", &other);
  // The header, but for the mark of a saved cache; then lengths and oldest tokens.
  int32_t *const words = static_cast<int32_t *>(memory_.data);
  for (int32_t i = 0; i < 12; ++i) {
    words[i] ^= 1;
    handle_refuses(HEED_CORRUPT, "word " + std::to_string(i), &cache_);
    words[i] ^= 1;
  }
  const int32_t wrong[][2] = {{-1, 0}, {90, -1}, {90, 91}, {90, 0}, {90, 25}, {HEED_MAX_COUNT + 1, HEED_MAX_COUNT}};
  for (const auto &state : wrong) {
    words[16] = state[0], words[17] = state[1];
    handle_refuses(HEED_CORRUPT, "length " + std::to_string(state[0]) + " from " + std::to_string(state[1]), &cache_);
  }
  // Positions less numbers: not below 0, not more than a ring can have seen, and none where nothing is gone.
  const auto taken_back = [&](int64_t positions, int32_t length, int32_t oldest) {
    words[16] = length, words[17] = oldest;
    std::memcpy(words + 18, &positions, sizeof positions);
    handle_refuses(HEED_CORRUPT, "positions " + std::to_string(positions), &cache_);
  };
  taken_back(-1, 90, 60);
  taken_back((int64_t{1} << 61) + 1, 90, 60);
  taken_back(64, 20, 0);
}

// A ring of one token; and one that has lived for so long that its keys were numbered anew.
TEST_F(bad_int_cache, lengths_that_are_gone) {
  const auto truncated = [&](int64_t length) { return heed_int_cache_truncate(&cache_, 0, length); };
  const heed_status gone = HEED_STATUS(HEED_EVICTED, HEED_ARG_LENGTH);
  const int64_t taken_back = 640;
  std::memcpy(static_cast<int32_t *>(memory_.data) + 18, &taken_back, sizeof taken_back);
  EXPECT_EQ(truncated(taken_back + 91), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_LENGTH));
  EXPECT_EQ(truncated(1), gone);
  EXPECT_EQ(truncated(taken_back + 30), gone);
  EXPECT_EQ(truncated(taken_back + 90), HEED_OK);
  EXPECT_EQ(truncated(0), HEED_OK);
  EXPECT_EQ(heed_int_cache_length(&cache_, 0), 0);
  shape_.capacity = 1;
  ASSERT_EQ(heed_int_cache_init(&cache_, &shape_, memory_), HEED_OK);
  for (int32_t i = 0; i < 30; ++i) ASSERT_EQ(heed_int_cache_append(&cache_, 0, k_, v_, 3), HEED_OK);
  EXPECT_EQ(truncated(7), HEED_OK);
  EXPECT_EQ(heed_int_cache_length(&cache_, 0), 7);
}

TEST_F(bad_int_cache, a_linear_cache_has_no_positions_but_its_numbers) {
  shape_.kind = HEED_CACHE_LINEAR, shape_.spare = 0;
  ASSERT_EQ(heed_int_cache_init(&cache_, &shape_, memory_), HEED_OK);
  ASSERT_EQ(heed_int_cache_append(&cache_, 0, k_, v_, 3), HEED_OK);
  const int64_t one = 1;
  std::memcpy(static_cast<int32_t *>(memory_.data) + 18, &one, sizeof one);
  handle_refuses(HEED_CORRUPT, "one taken back", &cache_);
}

TEST_F(bad_int_cache, appends) {
  using T = heed_int_tensor;
  for (const int32_t bad : {-1, 2, INT32_MAX})
    append_refuses(HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE,
                   [&](T &, T &, int32_t &sequence, int32_t &) { sequence = bad; });
  for (const int32_t bad : {0, -1, HEED_MAX_COUNT + 1})
    append_refuses(HEED_OUT_OF_RANGE, HEED_ARG_N, [&](T &, T &, int32_t &, int32_t &n) { n = bad; });
  append_refuses(HEED_TOO_MANY_ROWS, HEED_ARG_N, [](T &, T &, int32_t &, int32_t &n) { n = 34; });
  append_refuses(HEED_NULL_POINTER, HEED_ARG_K, [](T &k, T &, int32_t &, int32_t &) { k.data = nullptr; });
  append_refuses(HEED_NULL_POINTER, HEED_ARG_V, [](T &, T &v, int32_t &, int32_t &) { v.data = nullptr; });
  append_refuses(HEED_BAD_STRIDE, HEED_ARG_K, [](T &k, T &, int32_t &, int32_t &) { k.head_stride = -1; });
  append_refuses(HEED_OVERFLOW, HEED_ARG_V, [](T &, T &v, int32_t &, int32_t &) { v.row_stride = huge_stride; });
  append_refuses(HEED_SHAPE_MISMATCH, HEED_ARG_K, [](T &k, T &, int32_t &, int32_t &) { k.zero_point = 3; });
  append_refuses(HEED_SHAPE_MISMATCH, HEED_ARG_V, [](T &, T &v, int32_t &, int32_t &) { v.zero_point = 4; });
  append_refuses(HEED_OVERLAP, HEED_ARG_CACHE,
                 [&](T &k, T &, int32_t &, int32_t &) { k.data = static_cast<int8_t *>(memory_.data); });
  const auto floats_refuse = [&](heed_fault fault, heed_argument argument, const float *k_scales,
                                 const float *v_scales) {
    refuses(fault, argument, "floats",
            [&] { return heed_int_cache_append_f32(&cache_, 0, floats_k_, floats_v_, 3, k_scales, v_scales); });
  };
  floats_refuse(HEED_BAD_SCALES, HEED_ARG_K, nullptr, scales_);
  floats_refuse(HEED_BAD_SCALES, HEED_ARG_V, scales_, misaligned(scales_));
  for (const float bad : {0.0f, -1.0f, 0x1p-127f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const float scales[2] = {1, bad};
    floats_refuse(HEED_OUT_OF_RANGE, HEED_ARG_K, scales, scales_);
    floats_refuse(HEED_OUT_OF_RANGE, HEED_ARG_V, scales_, scales);
  }
  floats_k_.data = misaligned(floats_k_.data);
  floats_refuse(HEED_MISALIGNED, HEED_ARG_K, scales_, scales_);
  floats_k_.data = static_cast<float *>(memory_.data);
  floats_refuse(HEED_OVERLAP, HEED_ARG_CACHE, scales_, scales_);
  // At the end of all numbers of keys, where a ring begins again, and of a linear cache.
  int32_t *const words = static_cast<int32_t *>(memory_.data);
  words[16] = HEED_MAX_COUNT - 2, words[17] = HEED_MAX_COUNT - 22;
  EXPECT_EQ(heed_int_cache_append(&cache_, 0, k_, v_, 3), HEED_OK);
  EXPECT_EQ(heed_int_cache_length(&cache_, 0), HEED_MAX_COUNT + 1ll);
  EXPECT_LT(heed_int_cache_longest(&cache_), HEED_MAX_COUNT / 2);
  shape_.kind = HEED_CACHE_LINEAR, shape_.spare = 0, shape_.capacity = 4;
  ASSERT_EQ(heed_int_cache_init(&cache_, &shape_, memory_), HEED_OK);
  ASSERT_EQ(heed_int_cache_append(&cache_, 0, k_, v_, 3), HEED_OK);
  append_refuses(HEED_FULL, HEED_ARG_CACHE, [](T &, T &, int32_t &, int32_t &) {});
}

TEST_F(bad_int_cache, lengths) {
  for (const int32_t bad : {-1, 91})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_LENGTH, "length", [&] { return heed_int_cache_truncate(&cache_, 0, bad); });
  for (const int32_t bad : {-1, 2}) {
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE, "sequence", [&] { return heed_int_cache_truncate(&cache_, bad, 0); });
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE, "sequence", [&] { return heed_int_cache_length(&cache_, bad); });
  }
  // 64 slots: the oldest token is 26, and the query at position 54 sees from 25 on.
  refuses(HEED_EVICTED, HEED_ARG_LENGTH, "gone", [&] { return heed_int_cache_truncate(&cache_, 0, 54); });
  EXPECT_EQ(heed_int_cache_truncate(&cache_, 0, 55), HEED_OK);
}

TEST_F(bad_int_cache, calls) {
  using C = heed_int_attention;
  call_refuses(HEED_CONFLICT, HEED_ARG_K, [&](C &c) { c.k.data = out_; });
  call_refuses(HEED_CONFLICT, HEED_ARG_V, [&](C &c) { c.v.data = out_; });
  const int32_t lengths[2] = {1, 1};
  call_refuses(HEED_CONFLICT, HEED_ARG_KV_LENGTHS, [&](C &c) { c.kv_lengths = lengths; });
  call_refuses(HEED_SHAPE_MISMATCH, HEED_ARG_BATCH_SIZE, [](C &c) { c.batch_size = 1; });
  call_refuses(HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS, [](C &c) { c.n_kv_heads = 1; });
  call_refuses(HEED_SHAPE_MISMATCH, HEED_ARG_HEAD_DIM, [](C &c) { c.head_dim = 5; });
  call_refuses(HEED_SHAPE_MISMATCH, HEED_ARG_V_DIM, [](C &c) { c.v_dim = 4; });
  call_refuses(HEED_SHAPE_MISMATCH, HEED_ARG_K, [](C &c) { c.k.zero_point = 0; });
  call_refuses(HEED_SHAPE_MISMATCH, HEED_ARG_V, [](C &c) { c.v.zero_point = 4; });
  call_refuses(HEED_SHAPE_MISMATCH, HEED_ARG_N_KV, [](C &c) { c.n_kv = 89; });
  call_refuses(HEED_OUT_OF_RANGE, HEED_ARG_N_KV, [](C &c) { c.n_kv = HEED_MAX_COUNT + 1; });
  call_refuses(HEED_EVICTED, HEED_ARG_N_Q, [](C &c) { c.position = -34; });
  call_refuses(HEED_OVERLAP, HEED_ARG_OUT,
               [&](C &c) { c.out.data = static_cast<unsigned char *>(memory_.data) + 128; });
  call_refuses(HEED_OVERLAP, HEED_ARG_WORKSPACE, [&](C &c) { c.workspace = {memory_.data, 4096}; });
}

}  // namespace
}  // namespace heed_test
