// What a transformer layer has besides its attention layer (bad_attention_layer_test.cpp), wrong in every way.
// SPDX-License-Identifier: MIT
#include "support/floats.hpp"
#include "support/layer_flaws.hpp"

namespace heed_test {
namespace {

class bad_transformer_layer : public layer_flaws {
 protected:
  bad_transformer_layer() : layer_flaws(true) {}
};

TEST_F(bad_transformer_layer, the_good_call_is_accepted) {
  accepts("all", [](A &) {});
  accepts("the least", [](A &a) {
    heed_transformer_layer &t = a.transformer;
    t.w_gate.data = nullptr, t.b_up = t.b_gate = t.b_down = nullptr;
    t.norm1_weight = t.norm1_bias = t.norm2_weight = t.norm2_bias = nullptr, t.eps = 0;
  });
}

// A zeroed struct was never made; any other size is of no version.
TEST_F(bad_transformer_layer, structures) {
  using T = heed_transformer_layer;
  for (const uint32_t size : {1u, uint32_t{sizeof(T)} - 1, uint32_t{sizeof(T)} + 8, UINT32_MAX})
    refuses(HEED_BAD_STRUCT_SIZE, HEED_ARG_LAYER, "size", [=](A &a) { a.transformer.struct_size = size; });
  refuses(HEED_NOT_INITIALIZED, HEED_ARG_LAYER, "zeros", [](A &a) { a.transformer = {}; });
  A a;
  make_good(&a);
  const auto run = [&](const T *t) { return heed_transformer_layer_run(t, a.x, a.y, a.memory, nullptr); };
  memory_.refuses([&] { return run(nullptr); }, HEED_NULL_POINTER, HEED_ARG_LAYER, "null");
  memory_.refuses([&] { return run(misaligned(&a.transformer)); }, HEED_MISALIGNED, HEED_ARG_LAYER, "misaligned");
  memory_.refuses([&, t = new (room_) T(a.transformer)] { return run(t); }, HEED_OVERLAP, HEED_ARG_WORKSPACE,
                  "the layer lies in it");
}

TEST_F(bad_transformer_layer, numbers_and_functions) {
  for (const int32_t wrong : {0, -1, INT32_MIN, HEED_MAX_DIM + 1, INT32_MAX})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_FFN_DIM, std::to_string(wrong), [=](A &a) { a.transformer.ffn_dim = wrong; });
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_OUT_DIM, "not model_dim", [](A &a) { ++a.attention.out_dim; });
  for (const int32_t wrong : {-1, 2, INT32_MIN})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_NORM_FIRST, std::to_string(wrong),
            [=](A &a) { a.transformer.norm_first = wrong; });
  for (const float eps : {NAN, INFINITY, -INFINITY})
    refuses(HEED_NOT_FINITE, HEED_ARG_EPS, "eps", [=](A &a) { a.transformer.eps = eps; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_EPS, "negative", [](A &a) { a.transformer.eps = -1e-30f; });
  refuses(HEED_NULL_POINTER, HEED_ARG_NORM, "null", [](A &a) { a.transformer.norm = nullptr; });
  refuses(HEED_NULL_POINTER, HEED_ARG_ACTIVATION, "null", [](A &a) { a.transformer.activation = nullptr; });
}

TEST_F(bad_transformer_layer, weights_and_biases) {
  const layer_weights all[] = {
      {"w_up", HEED_ARG_W_UP, HEED_ARG_B_UP, [](A &a) -> heed_weights & { return a.transformer.w_up; },
       [](A &a) -> const float *& { return a.transformer.b_up; }},
      {"w_gate", HEED_ARG_W_GATE, HEED_ARG_B_GATE, [](A &a) -> heed_weights & { return a.transformer.w_gate; },
       [](A &a) -> const float *& { return a.transformer.b_gate; }},
      {"w_down", HEED_ARG_W_DOWN, HEED_ARG_B_DOWN, [](A &a) -> heed_weights & { return a.transformer.w_down; },
       [](A &a) -> const float *& { return a.transformer.b_down; }}};
  for (const layer_weights &one : all) refuses_weights(one, one.w_name != HEED_ARG_W_GATE);
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_B_GATE, "without a gate", [](A &a) { a.transformer.w_gate.data = nullptr; });
}

TEST_F(bad_transformer_layer, norms) {
  using T = heed_transformer_layer;
  const struct {
    heed_argument argument;
    const float *T::*numbers;
  } all[] = {{HEED_ARG_NORM1_WEIGHT, &T::norm1_weight},
             {HEED_ARG_NORM1_BIAS, &T::norm1_bias},
             {HEED_ARG_NORM2_WEIGHT, &T::norm2_weight},
             {HEED_ARG_NORM2_BIAS, &T::norm2_bias}};
  for (const auto &one : all) {
    refuses(HEED_MISALIGNED, one.argument, "by 1", [&](A &a) { a.transformer.*one.numbers = misaligned(floats_); });
    refuses(HEED_OVERFLOW, one.argument, "at the top of memory",
            [&](A &a) { a.transformer.*one.numbers = top_of_memory() + 6; });
    refuses(HEED_OVERLAP, HEED_ARG_Y, "lies in it", [&](A &a) { a.transformer.*one.numbers = y_ + 1; });
  }
}

TEST_F(bad_transformer_layer, in_place) {
  const auto in_place = [this](int32_t n_rows, ptrdiff_t stride) {
    return [=](A &a) { a.x.n_rows = n_rows, a.y = {x_, n_rows, model_dim, stride}; };
  };
  for (const int32_t n_rows : {0, -1, INT32_MIN, beyond_count, INT32_MAX})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_X, "in place, rows " + std::to_string(n_rows), in_place(n_rows, model_dim));
  refuses(HEED_OVERLAP, HEED_ARG_Y, "in place with another stride", in_place(2, model_dim + 1));
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_X, "in place, columns", [&](A &a) {
    in_place(n, model_dim)(a);
    a.x.dim = a.y.dim = model_dim - 1;
  });
  accepts("one row in place has no stride", in_place(1, model_dim + 1));
  accepts("in place", in_place(n, model_dim));
}

}  // namespace
}  // namespace heed_test
