// Norms and activations of the caller's, in the layer of each family: as good as heed's own, and whichever call of them fails ends
// the layer with its status. Whole, some rows, in pieces, in threads. And layers whose rows threads share. SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/family_layers.hpp"

namespace heed_test {
namespace {

constexpr int32_t n_rows = 80;
constexpr heed_status own_status = HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_WEIGHT);

// What heed has in their places, and the call that fails; -1: none.
heed_norm *norm_of_layer, *norm_of_heads;
heed_activation *activation_of_layer;
int calls_left;

heed_status own_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                     const heed_executor *executor) {
  return calls_left-- == 0 ? own_status : norm_of_layer(x, weight, bias, eps, y, executor);
}
heed_status own_norm_of_heads(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                              const heed_executor *executor) {
  return calls_left-- == 0 ? own_status : norm_of_heads(x, weight, bias, eps, y, executor);
}
heed_status own_activation(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor) {
  return calls_left-- == 0 ? own_status : activation_of_layer(x, up, y, executor);
}

enum which { norms = 1, activations = 2, heads = 4 };

class failing_functions : public ::testing::Test {
 protected:
  static constexpr size_t bytes =
      HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n_rows, dim, n_heads, n_heads, head_dim, head_dim, hidden + dim, 1) +
      2 * HEED_WORKSPACE_BYTES(head_dim, head_dim);

  void replace(family_layer &l, int own) {
    norm_of_layer = l.t.norm, activation_of_layer = l.t.activation, norm_of_heads = l.a.qk_norm;
    if (own & norms) l.t.norm = own_norm;
    if (own & activations) l.t.activation = own_activation;
    if (own & heads && l.a.qk_norm) l.a.qk_norm = own_norm_of_heads;
  }
  static void restore(family_layer &l) {
    l.t.norm = norm_of_layer, l.t.activation = activation_of_layer, l.a.qk_norm = norm_of_heads;
  }
  heed_status run(family_layer &l, const floats &x, floats *y, size_t room, const heed_executor *executor) {
    const int32_t rows = l.t.out_rows ? std::abs(l.t.out_rows) : n_rows;
    y->assign(size_t(rows) * dim, 7.0f);
    return heed_transformer_layer_run(&l.t, heed_matrix_of(x.data(), n_rows, dim),
                                      heed_matrix_out_of(y->data(), rows, dim), heed_memory_of(memory, room), executor);
  }
  // Each call fails once; when none does, the bits are those of heed's own functions.
  void fail_each(family_layer &l, const floats &x, size_t room, const heed_executor *executor,
                 const std::string &what) {
    floats expected, y;
    EXPECT_EQ(run(l, x, &expected, room, executor), HEED_OK) << what;
    for (const int own : {norms | activations | heads, int{activations}, int{heads}}) {
      replace(l, own);
      heed_status status = own_status;
      for (int call = 0; call < 200 && status != HEED_OK; ++call) {
        calls_left = call;
        status = run(l, x, &y, room, executor);
        EXPECT_TRUE(status == own_status || status == HEED_OK) << what << ", call " << call;
      }
      EXPECT_EQ(status, HEED_OK) << what;
      EXPECT_TRUE(same_bits(expected, y)) << what;
      restore(l);
    }
  }
  alignas(64) unsigned char memory[bytes];
};

class layers_in_threads : public failing_functions {};

TEST_F(failing_functions, end_the_layer_with_their_status) {
  thread_executor threads(3);
  for (const family &f : all_families) {
    family_layer l;
    f.make(l);
    const floats x = bell_floats(l.r, n_rows * dim), other = bell_floats(l.r, n_other * dim);
    if (l.t.cross) {
      ASSERT_EQ(heed_attention_layer_encode(&l.c, heed_matrix_of(other.data(), n_other, dim),
                                            heed_memory_of(memory, bytes), nullptr),
                HEED_OK);
    }
    const size_t least = heed_transformer_layer_min_bytes(&l.t, n_rows), pieces = least + 24 * 1024;  // a few
    fail_each(l, x, bytes, nullptr, f.name);
    fail_each(l, x, bytes, threads.get(), std::string(f.name) + " in threads");
    fail_each(l, x, pieces, nullptr, std::string(f.name) + " in pieces");
    for (const int32_t rows : {3, -3, 40}) {
      l.t.out_rows = rows;
      fail_each(l, x, bytes, nullptr, f.name + (" rows " + std::to_string(rows)));
    }
  }
}

// Threads share the rows of a small layer, whatever its weights are.
TEST_F(layers_in_threads, have_the_bits_of_one_thread_whatever_their_weights) {
  thread_executor threads(3);
  for (const char *name : {"BERT", "Llama", "GPT-NeoX"})
    for (const int32_t format : {+HEED_F16, +HEED_INT8, +HEED_Q8_0, +HEED_Q4_0, -HEED_INT8, -HEED_Q8_0}) {
      family_layer l;
      for (const family &f : all_families)
        if (f.name == std::string(name)) f.make(l);
      std::list<std::vector<float>> packed;
      for (heed_weights *w : {&l.a.wq, &l.a.wk, &l.a.wv, &l.a.wo, &l.t.w_up, &l.t.w_gate, &l.t.w_down}) {
        if (!w->data) continue;
        const size_t size = heed_weights_packed_bytes(std::abs(format), w->n_in, w->n_out);
        packed.emplace_back(size / 4 + 32);
        auto *const at = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(packed.back().data()) + 63) / 64 * 64);
        ASSERT_EQ(heed_weights_pack(*w, std::abs(format), heed_memory_of(at, size)), HEED_OK);
        ASSERT_EQ(heed_weights_open(w, at, size), HEED_OK);
        if (format < 0) {
          ASSERT_EQ(heed_weights_in_integers(w, *w), HEED_OK);
        }
      }
      const floats x = bell_floats(l.r, n_rows * dim);
      floats alone, shared;
      EXPECT_EQ(run(l, x, &alone, bytes, nullptr), HEED_OK);
      EXPECT_EQ(run(l, x, &shared, bytes, threads.get()), HEED_OK);
      EXPECT_TRUE(same_bits(alone, shared)) << name << ", format " << format;
    }
}

// A norm of heads alone, in a layer whose other functions are a kernel's.
TEST_F(failing_functions, of_heads_end_a_layer_in_threads) {
  thread_executor threads(2);
  family_layer l;
  l.a.qk_norm = heed_rms_norm, l.draw(true);
  fail_each(l, bell_floats(l.r, n_rows * dim), bytes, threads.get(), "norms of heads");
}

// What threads do not share row by row: attention to another sequence, and weights beyond the second-level cache.
TEST_F(layers_in_threads, have_them_where_threads_share_function_by_function) {
  thread_executor threads(2);
  family_layer l;
  l.with_cross(n_heads), l.draw(&l.c, true), l.draw(true);
  const floats x = bell_floats(l.r, n_rows * dim), other = bell_floats(l.r, n_other * dim);
  ASSERT_EQ(heed_attention_layer_encode(&l.c, heed_matrix_of(other.data(), n_other, dim), heed_memory_of(memory, bytes),
                                        nullptr),
            HEED_OK);
  l.t.cross = nullptr, l.t.attention = &l.c;
  floats alone, shared;
  EXPECT_EQ(run(l, x, &alone, bytes, nullptr), HEED_OK);
  EXPECT_EQ(run(l, x, &shared, bytes, threads.get()), HEED_OK);
  EXPECT_TRUE(same_bits(alone, shared));
  l.t.attention = &l.a;
  const int32_t wide = 4000;
  l.t.ffn_dim = wide, l.t.w_up = l.weights(dim, wide), l.t.w_down = l.weights(wide, dim), l.t.b_up = nullptr;
  const size_t room = heed_transformer_layer_bytes(&l.t, n_rows);
  const fenced_bytes large(slot_activations, room);
  const auto with = [&](const heed_executor *executor) {
    floats y(x.size());
    EXPECT_EQ(heed_transformer_layer_run(&l.t, heed_matrix_of(x.data(), n_rows, dim),
                                         heed_matrix_out_of(y.data(), n_rows, dim), heed_memory_of(large.data(), room),
                                         executor),
              HEED_OK);
    return y;
  };
  EXPECT_TRUE(same_bits(with(nullptr), with(threads.get())));
}

TEST_F(failing_functions, end_the_encoding_of_another_sequence) {
  family_layer l;
  l.with_cross(n_heads), l.draw(&l.c, true), l.draw(true);
  const floats x = bell_floats(l.r, n_other * dim);
  norm_of_heads = heed_rms_norm;
  l.c.qk_norm = own_norm_of_heads;
  const auto encode = [&](int call) {
    calls_left = call;
    return heed_attention_layer_encode(&l.c, heed_matrix_of(x.data(), n_other, dim), heed_memory_of(memory, bytes),
                                       nullptr);
  };
  EXPECT_EQ(encode(0), own_status);
  EXPECT_EQ(heed_cache_length(&l.cache.cache, 0), 0);
  EXPECT_EQ(encode(-1), HEED_OK);
  floats y;
  for (int call = 0; call < 2; ++call) {
    calls_left = call;
    const heed_status status = run(l, bell_floats(l.r, n_rows * dim), &y, bytes, nullptr);
    EXPECT_EQ(status, call == 0 ? own_status : HEED_OK);
  }
}

}  // namespace
}  // namespace heed_test
