// Layers with random weights, and what they are composed of. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_LAYERS_HPP
#define HEED_TESTS_SUPPORT_LAYERS_HPP

#include <vector>

#include "data.hpp"
#include "features.hpp"
#include "heed/heed.h"
#include "primitives.hpp"

namespace heed_test {

// A layer and the memory of its weights.
struct random_layer {
  heed_layer layer = {};
  std::vector<float> wq, wk, wv, wo, bq, bk, bv, bo;
  extras options;  // of its attention

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

struct layer_result {
  matrix y;
  std::vector<float> activations;
  attention_result attended;  // also what the options ask for
};

inline random_layer draw_layer(random_source &r) {
  random_layer l;
  const int32_t n_kv_heads = r.between(1, 3);
  const int32_t model_dim = r.size(1, 70), group = r.between(1, 3), dim = r.size(1, 34), v_dim = r.size(1, 34);
  set_sizes(&l, model_dim, n_kv_heads * group, n_kv_heads, dim, v_dim);
  if (r.chance(50)) l.layer.scale = std::fabs(r.bell()) + 0.01f;
  l.layer.causal = r.chance(50);
  const int32_t out_dim = r.chance(60) ? r.size(1, 70) : 0;
  const bool biases = r.chance(50);
  fill_weights(r, out_dim, biases, &l);
  return l;
}

// Its attention over n rows, without the numbers.
inline problem attention_of(const random_layer &l, int32_t n) {
  problem p;
  p.n_heads = l.layer.n_heads, p.n_kv_heads = l.layer.n_kv_heads, p.n_q = p.n_kv = n;
  p.head_dim = l.layer.head_dim, p.v_dim = l.layer.v_dim, p.scale = l.layer.scale, p.causal = l.layer.causal;
  p.options = l.options;
  return p;
}

// What a layer or a sequence may have: weights as scores alone, no partial results, offsets as an array alone.
inline void draw_inner_features(random_source &r, problem *p) {
  draw_features(r, p);
  p->causal_offset = 0;
  p->options.weights = p->options.partial = false;
}
inline void put_all(const problem &p, placed_options *options) {
  for (const feature &f : features())
    if (f.in(p)) (options->*f.put)();
}
inline void draw_options(random_source &r, int32_t n, random_layer *l) {
  problem p = attention_of(*l, n);
  draw_inner_features(r, &p);
  l->layer.causal = p.causal;
  l->options = p.options;
}

// (token, head, dim) as a projection leaves it, to (head, token, dim) of a problem, and back.
inline std::vector<float> swap_axes(const std::vector<float> &x, int32_t a, int32_t b, int32_t dim) {
  std::vector<float> y;
  for (int32_t j = 0; j < b; ++j)
    for (int32_t i = 0; i < a; ++i) {
      const auto row = x.begin() + (std::ptrdiff_t{i} * b + j) * dim;
      y.insert(y.end(), row, row + dim);
    }
  return y;
}

// The layer as its parts, one call after another.
inline layer_result compose(const random_layer &l, const matrix &x) {
  const matrix q = run_linear(x, {x.dim, l.q_width(), l.wq}, l.bq);
  const matrix k = run_linear(x, {x.dim, l.k_width(), l.wk}, l.bk);
  const matrix v = run_linear(x, {x.dim, l.v_width(), l.wv}, l.bv);
  problem p = attention_of(l, x.n_rows);
  p.q = swap_axes(q.values, x.n_rows, p.n_heads, p.head_dim);
  p.k = swap_axes(k.values, x.n_rows, p.n_kv_heads, p.head_dim);
  p.v = swap_axes(v.values, x.n_rows, p.n_kv_heads, p.v_dim);
  const attention_result attended = run(p);
  const matrix context = {x.n_rows, l.context_width(), swap_axes(attended.out, p.n_heads, x.n_rows, p.v_dim)};
  layer_result all = {context, q.values, attended};
  for (const matrix *m : {&k, &v, &context})
    all.activations.insert(all.activations.end(), m->values.begin(), m->values.end());
  if (l.layer.wo) all.y = run_linear(context, {context.dim, l.layer.out_dim, l.wo}, l.bo);
  return all;
}

}  // namespace heed_test

#endif
