// Every struct of the headers, made by its maker, and the calls that take it. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_STRUCTS_HPP
#define HEED_TESTS_SUPPORT_STRUCTS_HPP

#include <cstring>
#include <new>
#include <string>

#include "fence.hpp"
#include "refusal.hpp"

namespace heed_test {

class structs : public ::testing::Test {
 protected:
  static constexpr int32_t n = 4, dim = 6;

  // The call takes an object of the size that its maker has set, at the end of readable memory: to read on would be a
  // crash. It takes no other size.
  template <typename T, typename Call>
  void takes_its_size_alone(heed_argument argument, const std::string &what, const T &made, Call call) {
    EXPECT_EQ(made.struct_size, sizeof(T)) << what;
    T *const given = new (fence_of(slot_q) - sizeof(T)) T(made);
    EXPECT_EQ(status_name(call(given)), "HEED_OK") << what;
    const uint32_t size = sizeof(T);
    for (const uint32_t wrong : {0u, 1u, 4u, size - 4, size - 1, size + 1, size + 8, 2 * size, UINT32_MAX}) {
      *given = made;
      given->struct_size = wrong;
      memory_.refuses([&] { return call(given); }, wrong == 0 ? HEED_NOT_INITIALIZED : HEED_BAD_STRUCT_SIZE, argument,
                      what + " of " + std::to_string(wrong) + " bytes");
    }
    *given = {};
    memory_.refuses([&] { return call(given); }, HEED_NOT_INITIALIZED, argument, what + " of zeros");
  }
  // An object of options, in a call of attention.
  template <typename T>
  void takes_option(heed_argument argument, const std::string &what, const T *heed_options::*member, const T &made) {
    takes_its_size_alone(argument, what, made, [&](const T *o) {
      heed_options options = heed_options_default();
      options.*member = o;
      return attend(&options);
    });
  }
  // Puts an object into memory that the call writes; the call must be refused and leave it as it was.
  template <typename T, typename Call>
  void overlaps(heed_argument argument, const std::string &what, const T &object, float *place, Call call,
                heed_fault fault = HEED_OVERLAP, uintptr_t shift = 0) {
    void *there = std::memcpy(reinterpret_cast<unsigned char *>(place) + shift, &object, sizeof object);
    memory_.refuses([&] { return call(static_cast<T *>(there)); }, fault, argument, what);
  }

  static void made(heed_status status) { EXPECT_EQ(status_name(status), "HEED_OK"); }
  heed_attention attention() { return heed_attention_of(x_, x_, x_, n, n, 1, 1, dim, y_, workspace_); }
  heed_status attend(const heed_options *options) {
    heed_attention call = attention();
    call.options = options;
    return heed_attention_run(&call);
  }
  heed_weights square() const { return heed_weights_of(w_, nullptr, HEED_F32, HEED_IN_OUT, dim, dim); }
  heed_attention_layer layer() const {
    heed_attention_layer l = heed_attention_layer_default(dim, 1);
    l.wq = l.wk = l.wv = l.wo = square();
    return l;
  }
  heed_transformer_layer transformer(const heed_attention_layer *attention) const {
    heed_transformer_layer l = heed_transformer_layer_default(attention, dim, heed_layer_norm, heed_gelu);
    l.w_up = l.w_down = square();
    return l;
  }
  heed_status run(const heed_attention_layer *l, const heed_executor *executor = nullptr) {
    return heed_attention_layer_run(l, x(), y(), room_, executor);
  }
  heed_status run(const heed_transformer_layer *l, const heed_executor *executor = nullptr) {
    return heed_transformer_layer_run(l, x(), y(), room_, executor);
  }
  heed_sequence sequence(float *data, int32_t length) {
    heed_sequence s;
    made(heed_sequence_init(&s, n, dim, heed_memory_of(data, HEED_SEQUENCE_BYTES(n, dim))));
    s.length = length;
    return s;
  }
  heed_rope rope() {
    heed_rope r;
    made(heed_rope_init(&r, HEED_ROPE_HALVES));
    return r;
  }
  heed_status turn(const heed_rope *r) {
    return heed_rope_apply(r, heed_tensor_of(x(), 1), n, 1, dim, 0, nullptr, heed_tensor_out_of(y(), 1), nullptr);
  }
  // With n tokens.
  heed_cache cache() {
    heed_cache c;
    const heed_cache_shape shape = heed_cache_shape_default(64, 1, dim);
    made(heed_cache_init(&c, &shape, cache_memory_));
    made(append(&c));
    return c;
  }
  heed_status append(heed_cache *c, const heed_rope *r = nullptr) {
    return heed_cache_append(c, 0, heed_tensor_of(x(), 1), heed_tensor_of(x(), 1), n, r);
  }
  heed_status attend(const heed_cache &good, const heed_cache *c) {
    heed_attention call = heed_attention_of_cache(&good, x_, n, 1, y_, workspace_);
    call.cache = c;
    return heed_attention_run(&call);
  }

  heed_matrix x() const { return heed_matrix_of(x_, n, dim); }
  heed_matrix_out y() const { return heed_matrix_out_of(y_, n, dim); }
  heed_memory take(size_t bytes) { return heed_memory_of(memory_.take_aligned((bytes + 3) / 4), bytes); }
  static float *floats(const heed_memory &m) { return static_cast<float *>(m.data); }

  arena memory_;
  float *x_ = memory_.take_aligned(n * dim), *w_ = memory_.take_aligned(dim * dim), *y_ = memory_.take_aligned(128);
  heed_memory workspace_ = take(HEED_WORKSPACE_BYTES(dim, dim));
  heed_memory room_ = take(HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, dim, 1, 1, dim, dim, dim, 0));
  heed_memory cache_memory_ = take(HEED_CACHE_BYTES(64, 1, 1, dim, dim, HEED_F32));
  heed_memory test_memory_ = take(HEED_SELFTEST_BYTES);
};

}  // namespace heed_test

#endif
