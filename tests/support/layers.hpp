// Layers with random weights. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_LAYERS_HPP
#define HEED_TESTS_SUPPORT_LAYERS_HPP

#include <vector>

#include "data.hpp"
#include "heed/heed.h"

namespace heed_test {

// A layer and the memory of its weights.
struct random_layer {
  heed_layer layer = {};
  std::vector<float> wq, wk, wv, wo, bq, bk, bv, bo;

  int32_t q_width() const { return layer.n_heads * layer.head_dim; }
  int32_t k_width() const { return layer.n_kv_heads * layer.head_dim; }
  int32_t v_width() const { return layer.n_kv_heads * layer.v_dim; }
  int32_t context_width() const { return layer.n_heads * layer.v_dim; }
  size_t activations(int32_t n) const {
    return HEED_LAYER_ACTIVATIONS(n, layer.n_heads, layer.n_kv_heads, layer.head_dim, layer.v_dim);
  }
};

inline void set_sizes(random_layer *l, int32_t model_dim, int32_t n_heads, int32_t n_kv_heads, int32_t head_dim,
                      int32_t v_dim) {
  l->layer.struct_size = sizeof(heed_layer);
  l->layer.model_dim = model_dim, l->layer.n_heads = n_heads, l->layer.n_kv_heads = n_kv_heads;
  l->layer.head_dim = head_dim, l->layer.v_dim = v_dim;
}

// out_dim 0: no output projection.
inline void fill_weights(random_source &r, int32_t out_dim, bool biases, random_layer *l) {
  const auto weights = [&](std::vector<float> *w, int32_t in, int32_t out) {
    *w = uniform_floats(r, size_t(in) * out);
    return w->data();
  };
  const auto bias = [&](std::vector<float> *b, int32_t out) -> const float * {
    if (!biases) return nullptr;
    *b = uniform_floats(r, size_t(out));
    return b->data();
  };
  l->layer.wq = weights(&l->wq, l->layer.model_dim, l->q_width());
  l->layer.wk = weights(&l->wk, l->layer.model_dim, l->k_width());
  l->layer.wv = weights(&l->wv, l->layer.model_dim, l->v_width());
  l->layer.bq = bias(&l->bq, l->q_width());
  l->layer.bk = bias(&l->bk, l->k_width());
  l->layer.bv = bias(&l->bv, l->v_width());
  l->layer.out_dim = out_dim ? out_dim : l->context_width();
  if (!out_dim) return;
  l->layer.wo = weights(&l->wo, l->context_width(), out_dim);
  l->layer.bo = bias(&l->bo, out_dim);
}

}  // namespace heed_test

#endif
