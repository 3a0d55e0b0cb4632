// A cache in watched memory, and everything that can be wrong with it. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_CACHE_FLAWS_HPP
#define HEED_TESTS_SUPPORT_CACHE_FLAWS_HPP

#include <new>

#include "caches.hpp"
#include "option_set.hpp"

namespace heed_test {

struct shape_flaw {
  std::string what;
  std::function<void(heed_cache_shape &)> apply;
  heed_fault fault;
  heed_argument argument;
};
inline std::vector<shape_flaw> shape_flaws(int32_t kind) {
  using S = heed_cache_shape;
  std::vector<shape_flaw> all;
  all.push_back({"size 0", [](S &s) { s.struct_size = 0; }, HEED_NOT_INITIALIZED, HEED_ARG_SHAPE});
  for (const uint32_t wrong : {4u, uint32_t(sizeof(S)) - 1, uint32_t(sizeof(S)) + 4, UINT32_MAX})
    all.push_back({"size", [=](S &s) { s.struct_size = wrong; }, HEED_BAD_STRUCT_SIZE, HEED_ARG_SHAPE});
  const auto numbers = [&](const char *name, int32_t S::*field, heed_argument argument, std::vector<int32_t> values,
                           heed_fault fault = HEED_OUT_OF_RANGE) {
    values.insert(values.end(), {-1, INT32_MIN, INT32_MAX});
    for (const int32_t wrong : values)
      all.push_back(
          {std::string(name) + " " + std::to_string(wrong), [=](S &s) { s.*field = wrong; }, fault, argument});
  };
  numbers("kind", &S::kind, HEED_ARG_KIND, {2});
  numbers("capacity", &S::capacity, HEED_ARG_CAPACITY, {0, HEED_MAX_COUNT + 1});
  numbers("pinned", &S::pinned, HEED_ARG_PINNED, {});
  numbers("spare", &S::spare, HEED_ARG_SPARE, {});
  numbers("sequences", &S::n_sequences, HEED_ARG_N_SEQUENCES, {0, HEED_MAX_COUNT + 1});
  numbers("heads", &S::n_kv_heads, HEED_ARG_N_KV_HEADS, {0, HEED_MAX_DIM + 1});
  numbers("head_dim", &S::head_dim, HEED_ARG_HEAD_DIM, {0, HEED_MAX_DIM + 1});
  numbers("v_dim", &S::v_dim, HEED_ARG_V_DIM, {0, HEED_MAX_DIM + 1});
  numbers("format", &S::dtype, HEED_ARG_DTYPE, {4}, HEED_BAD_DTYPE);
  if (kind == HEED_CACHE_LINEAR) {
    all.push_back({"pinned in a linear one", [](S &s) { s.pinned = 1; }, HEED_UNSUPPORTED, HEED_ARG_PINNED});
    all.push_back({"spare in a linear one", [](S &s) { s.spare = 1; }, HEED_UNSUPPORTED, HEED_ARG_SPARE});
  }
  const auto huge = [](S &s) { s.capacity = s.n_sequences = HEED_MAX_COUNT, s.n_kv_heads = s.head_dim = HEED_MAX_DIM; };
  all.push_back({"beyond the address space", huge, HEED_OVERFLOW, HEED_ARG_SHAPE});
  // The bytes of all heads overflow, then those of all sequences by the header alone (2^64 - 64 without it), then half
  // the address space is too little, then a slot's number is no int32_t.
  const auto large = [&](S s) {
    s.struct_size = sizeof s;
    all.push_back({text_of(s), [=](S &to) { to = s; }, HEED_OVERFLOW, HEED_ARG_SHAPE});
  };
  const int32_t most = HEED_MAX_COUNT, wide = HEED_MAX_DIM;
  large(cache_shape(HEED_CACHE_LINEAR, most, wide, wide, wide, HEED_F32));
  large(cache_shape(HEED_CACHE_LINEAR, 194122816, 1103, 1040, 1041, HEED_INT8, 0, 0, 41241));
  large(cache_shape(HEED_CACHE_LINEAR, most, wide / 4, wide, wide, HEED_F32));
  large(cache_shape(HEED_CACHE_RING, most, 1, 1, 1, HEED_F16, most / 2, most / 2));
  return all;
}

struct handle_flaw {
  std::string what;
  std::function<void(heed_cache *)> apply;
  heed_fault fault;
};
// The second word of a sequence's state is the oldest token that is there, the last two are what was taken from numbers.
inline int32_t *state_of(const heed_cache *cache, int32_t sequence) {
  return static_cast<int32_t *>(cache->buffer) + 32 + 4 * sequence;
}
inline std::vector<handle_flaw> handle_flaws() {
  using C = heed_cache;
  std::vector<handle_flaw> all = {{"no code", [](C *c) { c->code = nullptr; }, HEED_NOT_INITIALIZED},
                                  {"size 0", [](C *c) { c->struct_size = 0; }, HEED_NOT_INITIALIZED},
                                  {"no buffer", [](C *c) { c->buffer = nullptr; }, HEED_NULL_POINTER}};
  for (const uint32_t wrong : {8u, uint32_t(sizeof(C)) - 8, uint32_t(sizeof(C)) + 8, UINT32_MAX})
    all.push_back({"size " + std::to_string(wrong), [=](C *c) { c->struct_size = wrong; }, HEED_BAD_STRUCT_SIZE});
  for (const uintptr_t by : {1, 4, 32})
    all.push_back({"buffer misaligned", [=](C *c) { c->buffer = misaligned(static_cast<char *>(c->buffer), by); },
                   HEED_MISALIGNED});
  for (int32_t heed_cache_shape::*field :
       {&heed_cache_shape::kind, &heed_cache_shape::capacity, &heed_cache_shape::pinned, &heed_cache_shape::spare,
        &heed_cache_shape::n_sequences, &heed_cache_shape::n_kv_heads, &heed_cache_shape::head_dim,
        &heed_cache_shape::v_dim, &heed_cache_shape::dtype})
    for (const int32_t change : {-1, 1})
      all.push_back({"another shape", [=](C *c) { c->shape.*field += change; }, HEED_CORRUPT});
  for (const size_t word : {0, 1, 2, 3, 6, 7, 8, 9, 10})
    all.push_back(
        {"word " + std::to_string(word), [=](C *c) { static_cast<uint32_t *>(c->buffer)[word] ^= 4; }, HEED_CORRUPT});
  for (const int32_t wrong : {-1, INT32_MIN, HEED_MAX_COUNT + 1})
    all.push_back({"length " + std::to_string(wrong), [=](C *c) { state_of(c, 1)[0] = wrong; }, HEED_CORRUPT});
  for (const int32_t wrong : {-1, INT32_MAX})
    all.push_back({"oldest " + std::to_string(wrong), [=](C *c) { state_of(c, 0)[1] = wrong; }, HEED_CORRUPT});
  for (const int64_t wrong :
       {int64_t{-1024}, int64_t{1024}, INT64_MIN, INT64_MAX})  // of a ring that is young, or linear
    all.push_back({"taken back " + std::to_string(wrong),
                   [=](C *c) { std::memcpy(state_of(c, 0) + 2, &wrong, sizeof wrong); }, HEED_CORRUPT});
  return all;
}

struct rope_flaw {
  std::string what;
  std::function<void(heed_rope &)> apply;
  heed_fault fault;
  heed_argument argument;
};
inline std::vector<rope_flaw> rope_flaws(int32_t dim) {
  using R = heed_rope;
  return {{"size", [](R &r) { ++r.struct_size; }, HEED_BAD_STRUCT_SIZE, HEED_ARG_ROPE},
          {"size 0", [](R &r) { r.struct_size = 0; }, HEED_NOT_INITIALIZED, HEED_ARG_ROPE},
          {"no code", [](R &r) { r.code = nullptr; }, HEED_NOT_INITIALIZED, HEED_ARG_ROPE},
          {"style -1", [](R &r) { r.style = -1; }, HEED_OUT_OF_RANGE, HEED_ARG_STYLE},
          {"style 2", [](R &r) { r.style = 2; }, HEED_OUT_OF_RANGE, HEED_ARG_STYLE},
          {"odd", [](R &r) { r.rotary_dim = 3; }, HEED_SHAPE_MISMATCH, HEED_ARG_ROTARY_DIM},
          {"odd, with frequencies", [](R &r) { r.rotary_dim = 3, r.inverse_frequencies = &r.base; },
           HEED_SHAPE_MISMATCH, HEED_ARG_ROTARY_DIM},
          {"negative", [](R &r) { r.rotary_dim = -2; }, HEED_OUT_OF_RANGE, HEED_ARG_ROTARY_DIM},
          {"more than the head", [=](R &r) { r.rotary_dim = dim + 2; }, HEED_SHAPE_MISMATCH, HEED_ARG_ROTARY_DIM},
          {"base 1", [](R &r) { r.base = 1; }, HEED_OUT_OF_RANGE, HEED_ARG_BASE},
          {"base NaN", [](R &r) { r.base = NAN; }, HEED_NOT_FINITE, HEED_ARG_BASE},
          {"scale infinite", [](R &r) { r.scale = INFINITY; }, HEED_NOT_FINITE, HEED_ARG_SCALE},
          {"factor NaN", [](R &r) { r.factor = NAN; }, HEED_NOT_FINITE, HEED_ARG_FACTOR},
          {"factor 0", [](R &r) { r.factor = 0; }, HEED_OUT_OF_RANGE, HEED_ARG_FACTOR},
          {"factor 2^17", [](R &r) { r.factor = 0x1p17f; }, HEED_OUT_OF_RANGE, HEED_ARG_FACTOR},
          {"frequencies misaligned", [](R &r) { r.inverse_frequencies = misaligned(&r.base); }, HEED_MISALIGNED,
           HEED_ARG_FREQUENCIES},
          {"n_axes -1", [](R &r) { r.n_axes = -1; }, HEED_OUT_OF_RANGE, HEED_ARG_N_AXES},
          {"n_axes 5", [](R &r) { r.n_axes = HEED_ROPE_MAX_AXES + 1; }, HEED_OUT_OF_RANGE, HEED_ARG_N_AXES},
          {"no axes", [](R &r) { r.n_axes = 2, r.axes = nullptr; }, HEED_NULL_POINTER, HEED_ARG_AXES}};
}

// Two sequences of a few tokens each.
class cache_test : public ::testing::Test {
 protected:
  static constexpr int32_t capacity = 12, pinned = 2, spare = 3, n_sequences = 2, kv_heads = 2, dim = 6, v_dim = 4;
  static constexpr int32_t heads = 4, n_q = 3, n_kv = 10;
  static constexpr size_t workspace_bytes = HEED_WORKSPACE_BYTES(dim, v_dim);

  void make(int32_t kind, int32_t dtype) {
    const bool ring = kind == HEED_CACHE_RING;
    *shape_ =
        cache_shape(kind, capacity, kv_heads, dim, v_dim, dtype, ring ? pinned : 0, ring ? spare : 0, n_sequences);
    ASSERT_LE(heed_cache_bytes(shape_), buffer_floats * 4);
    ASSERT_EQ(heed_cache_init(cache_, shape_, whole_buffer()), HEED_OK);
    ASSERT_EQ(heed_cache_append(cache_, 0, k(), v(), 5, nullptr), HEED_OK);
    ASSERT_EQ(append(7), HEED_OK);
  }
  heed_memory whole_buffer() const { return heed_memory_of(buffer_, heed_cache_bytes(shape_)); }
  heed_status append(int32_t n) { return heed_cache_append(cache_, 1, k(), v(), n, nullptr); }
  heed_tensor k() const { return {in_, 0, dim, 2 * dim}; }
  heed_tensor v() const { return {in_ + 3, 0, v_dim, 2 * v_dim}; }
  int32_t *state(int32_t sequence) const { return state_of(cache_, sequence); }
  heed_cache_shape *plant_shape(void *at) const { return new (at) heed_cache_shape(*shape_); }

  heed_attention call(const heed_cache *cache) {
    heed_attention c = heed_attention_of(in_, nullptr, nullptr, n_q, n_kv, heads, kv_heads, dim, out_, workspace());
    c.batch_size = n_sequences, c.v_dim = v_dim, c.causal = 1;
    c.k = c.v = {};
    c.out = heed_token_major_out(out_, n_q, heads, v_dim);
    c.cache = cache;
    c.options = &options_;
    return c;
  }
  heed_memory workspace() const { return heed_memory_of(workspace_, workspace_bytes); }
  // f(name, call(cache)) for every function that takes a handle.
  template <typename F>
  void each_taker(F f) {
    using C = heed_cache *;
    const auto attend = [this](C c) {
      const heed_attention of_cache = call(c);
      return heed_attention_run(&of_cache);
    };
    f("append", [this](C c) { return heed_cache_append(c, 0, k(), v(), 1, nullptr); });
    f("truncate", [](C c) { return heed_cache_truncate(c, 0, 1); });
    f("reset", [](C c) { return heed_cache_reset(c); });
    f("length", [](C c) { return heed_cache_length(c, 0); });
    f("longest", [](C c) { return heed_cache_longest(c); });
    f("save", [](C c) { return heed_cache_save(c); });
    f("attention", attend);
  }
  void refuses(heed_fault fault, heed_argument argument, const std::string &what,
               const std::function<heed_status()> &f) {
    memory_.refuses(f, fault, argument, what);
  }

  heed_options options_ = heed_options_default();
  arena memory_;
  static constexpr size_t buffer_floats = 24000;
  float *in_ = memory_.take_aligned(1024);
  heed_cache *cache_ = new (memory_.take_aligned(32)) heed_cache();
  heed_cache_shape *shape_ = new (memory_.take_aligned(16)) heed_cache_shape();
  heed_rope *rope_ = new (memory_.take_aligned(16)) heed_rope();
  unsigned char *buffer_ = reinterpret_cast<unsigned char *>(memory_.take_aligned(buffer_floats));
  float *out_ = memory_.take_aligned(1024);
  float *workspace_ = memory_.take_aligned(workspace_bytes / 4);
};

}  // namespace heed_test

#endif
