// A layer in fenced memory, and the same by the public functions that it is made of, one after another.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_LAYER_PARTS_HPP
#define HEED_TESTS_SUPPORT_LAYER_PARTS_HPP

#include <vector>

#include "layers.hpp"
#include "primitives.hpp"

namespace heed_test {

struct layer_result {
  floats y, kept;             // kept: q, k, v and, with wo, the context, as an attention layer leaves them
  attention_result attended;  // what the options ask for
};

// Rows that a layer with this cache takes at once.
inline int32_t rows_at_once(const heed_cache *cache, int32_t n) {
  return cache && cache->shape.kind == HEED_CACHE_RING ? std::min(n, cache->shape.spare + 1) : n;
}
inline floats rows_from(const floats &x, int32_t dim, int32_t first, int32_t n) {
  return part_of(x, size_t(first) * size_t(dim), size_t(n) * size_t(dim));
}
inline void append(floats *all, const floats &more) { all->insert(all->end(), more.begin(), more.end()); }

// ----------------------------------------------------------------------------------------------------- by its parts

inline heed_matrix view(const floats &m, int32_t n) { return heed_matrix_of(m.data(), n, int32_t(m.size()) / n); }
inline heed_matrix_out view(floats *m, int32_t n) { return heed_matrix_out_of(m->data(), n, int32_t(m->size()) / n); }
inline void expect_done(heed_status status) { EXPECT_EQ(status_name(status), "HEED_OK"); }

inline floats project(const floats &x, int32_t n, const heed_weights &w, const float *bias) {
  floats y(size_t(n) * size_t(w.n_out));
  expect_done(heed_linear(view(x, n), w, bias, view(&y, n), nullptr));
  return y;
}

// (token, head, dim) as a projection leaves it, to (head, token, dim) of a problem, and back.
inline floats swap_axes(const floats &x, int32_t a, int32_t b, int32_t dim) {
  floats y;
  for (int32_t j = 0; j < b; ++j)
    for (int32_t i = 0; i < a; ++i) {
      const auto row = x.begin() + (std::ptrdiff_t{i} * b + j) * dim;
      y.insert(y.end(), row, row + dim);
    }
  return y;
}

inline void turn(const heed_attention_layer &a, floats *x, int32_t n, int32_t n_heads, int32_t position) {
  expect_done(heed_rope_apply(a.rope, heed_token_major(x->data(), n, n_heads, a.head_dim), n, n_heads, a.head_dim,
                              position, nullptr, heed_token_major_out(x->data(), n, n_heads, a.head_dim), nullptr));
}

inline void normalise(const heed_attention_layer &a, floats *x, int32_t n, int32_t n_heads, const float *weight,
                      const float *bias) {
  const int32_t rows = a.qk_norm_whole ? n : n * n_heads;
  expect_done(a.qk_norm(view(*x, rows), weight, bias, a.qk_eps, view(x, rows), nullptr));
}

inline layer_result compose_attention(const random_layer &l, const floats &x, int32_t n, heed_cache *cache) {
  const heed_attention_layer &a = l.attention;
  floats q = project(x, n, a.wq, a.bq), k = project(x, n, a.wk, a.bk), v = project(x, n, a.wv, a.bv);
  const int32_t position = cache ? int32_t(heed_cache_length(cache, 0)) : 0;
  if (a.qk_norm) {
    normalise(a, &q, n, a.n_heads, a.q_norm_weight, a.q_norm_bias);
    normalise(a, &k, n, a.n_kv_heads, a.k_norm_weight, a.k_norm_bias);
  }
  if (a.rope) turn(a, &q, n, a.n_heads, position), turn(a, &k, n, a.n_kv_heads, position);
  problem p = attention_of(l, n, position + n);
  p.q = swap_axes(q, n, p.n_heads, p.head_dim);
  if (cache) {
    expect_done(heed_cache_append(cache, 0, heed_token_major(k.data(), n, p.n_kv_heads, p.head_dim),
                                  heed_token_major(v.data(), n, p.n_kv_heads, p.v_dim), n, nullptr));
    p.k.resize(p.k_floats()), p.v.resize(p.v_floats());
  } else {
    p.k = swap_axes(k, n, p.n_kv_heads, p.head_dim), p.v = swap_axes(v, n, p.n_kv_heads, p.v_dim);
  }
  const setting plain;
  placed_call placed(p, plain);
  if (cache) placed.read(cache);
  layer_result all;
  all.attended = run(&placed, p, plain);
  const floats context = swap_axes(all.attended.out, p.n_heads, n, p.v_dim);
  append(&all.kept, q), append(&all.kept, k), append(&all.kept, v);
  if (a.wo.data) append(&all.kept, context);
  all.y = a.wo.data ? project(context, n, a.wo, a.bo) : context;
  return all;
}

// As layers.h says.
inline layer_result compose_transformer(const random_layer &l, const floats &x, int32_t n, heed_cache *cache) {
  const heed_transformer_layer &t = l.transformer;
  const auto norm = [&](const floats &from, const float *weight, const float *bias) {
    floats to(from.size());
    expect_done(t.norm(view(from, n), weight, bias, t.eps, view(&to, n), nullptr));
    return to;
  };
  const auto add = [&](const floats &a, const floats &b) {
    floats to(a.size());
    expect_done(heed_add(view(a, n), view(b, n), view(&to, n), nullptr));
    return to;
  };
  layer_result all = compose_attention(l, t.norm_first ? norm(x, t.norm1_weight, t.norm1_bias) : x, n, cache);
  // x + what a sublayer gave, with the norms behind it
  const auto join = [&](const floats &from, floats given, const float *after_weight, const float *after_bias,
                        const float *weight, const float *bias) {
    if (t.post_norm) given = norm(given, after_weight, after_bias);
    const floats sum = add(from, given);
    return t.norm_first || t.post_norm ? sum : norm(sum, weight, bias);
  };
  const floats a = join(x, all.y, t.post_norm1_weight, t.post_norm1_bias, t.norm1_weight, t.norm1_bias);
  const floats &from = t.parallel ? x : a;
  const floats g = t.norm_first ? norm(from, t.norm2_weight, t.norm2_bias) : from;
  const bool together = t.ffn_order != HEED_FFN_SEPARATE, gated = t.w_gate.data || together;
  floats up = project(g, n, t.w_up, t.b_up), gate = t.w_gate.data ? project(g, n, t.w_gate, t.b_gate) : up;
  if (together) {
    const floats both = up;
    up.clear(), gate.clear();
    for (int32_t i = 0; i < n; ++i) {
      const floats row = rows_from(both, 2 * t.ffn_dim, i, 1);
      const bool gate_first = t.ffn_order == HEED_FFN_GATE_UP;
      append(gate_first ? &gate : &up, rows_from(row, t.ffn_dim, 0, 1));
      append(gate_first ? &up : &gate, rows_from(row, t.ffn_dim, 1, 1));
    }
  }
  floats f(up.size());
  expect_done(t.activation(view(gate, n), gated ? view(up, n) : heed_no_matrix(), view(&f, n), nullptr));
  all.y =
      join(a, project(f, n, t.w_down, t.b_down), t.post_norm2_weight, t.post_norm2_bias, t.norm2_weight, t.norm2_bias);
  all.kept.clear();
  return all;
}

// More rows than a ring takes at once are pieces of so many; `kept` and `attended` are of the last one.
inline layer_result compose(const random_layer &l, const floats &x, int32_t n, heed_cache *cache) {
  layer_result all;
  floats y;
  for (int32_t first = 0, at_once = rows_at_once(cache, n); first < n; first += at_once) {
    const int32_t rows = std::min(at_once, n - first);
    const floats piece = rows_from(x, l.attention.model_dim, first, rows);
    all = l.is_transformer ? compose_transformer(l, piece, rows, cache) : compose_attention(l, piece, rows, cache);
    append(&y, all.y);
  }
  all.y = y;
  return all;
}

// ------------------------------------------------------------------------------------------------- in fenced memory

// No field changes a bit of the result.
struct layer_setting {
  int32_t padding = 0;  // floats between rows
  bool in_place = false, least_workspace = false;
  const heed_executor *executor = nullptr;
};
inline layer_setting random_layer_setting(random_source &r, const random_layer &l, const heed_executor *executor) {
  layer_setting s;
  s.padding = r.between(0, 5), s.least_workspace = r.chance(30), s.in_place = l.is_transformer && r.chance(50);
  s.executor = executor;
  return s;
}

// Its attention over rows of several sequences, of which the cache has some already.
inline problem attention_of(const random_layer &l, const std::vector<int32_t> &lengths, const heed_cache *cache) {
  problem p = attention_of(l, 0, cache ? heed_cache_longest(cache) : 0);
  p.batch = int32_t(lengths.size());
  for (int32_t i = 0; i < p.batch; ++i) {
    const int32_t n = lengths[size_t(i)];
    p.n_q = std::max(p.n_q, n), p.n_kv = std::max(p.n_kv, n + (cache ? int32_t(heed_cache_length(cache, i)) : 0));
  }
  return p;
}

inline layer_result run_layer(const random_layer &l, const floats &x, int32_t n, const layer_setting &s,
                              heed_cache *cache, const std::vector<int32_t> &lengths = {}) {
  random_layer own = l;
  heed_attention_layer &a = own.attention;
  const problem p = lengths.empty() ? attention_of(l, n, n + (cache ? int32_t(heed_cache_length(cache, 0)) : 0))
                                    : attention_of(l, lengths, cache);
  heed_ragged_batch batch;
  if (!lengths.empty()) {
    expect_done(heed_ragged_batch_init(&batch, p.batch, lengths.data()));
    a.batch = &batch;
  }
  setting of_options;
  of_options.in = of_options.out = s.padding > 0 ? layout::token_major_padded : layout::head_major;
  of_options.padding = s.padding;
  placed_options options(p, of_options);
  put_all(p, &options);
  if (p.options.any()) a.options = options.get();
  a.cache = cache;
  const placement from = place(layout::padded, s.padding, 1, 1, n, a.model_dim),
                  to = place(layout::padded, s.padding, 1, 1, n, a.out_dim);
  const fenced_floats in(slot_q, from.extent(), unread_bits), out(slot_out, to.extent(), unwritten_bits);
  const fenced_floats &y = s.in_place ? in : out;
  scatter(from, x, in.data());
  const int32_t at_once = lengths.empty() ? rows_at_once(cache, n) : n;
  const size_t workers = s.executor ? size_t(std::min(s.executor->n_workers, 8)) : 1;
  const size_t workspace = s.least_workspace ? heed_workspace_min_bytes(a.head_dim, a.v_dim)
                                             : workers * heed_workspace_bytes(a.head_dim, a.v_dim);
  const fenced_bytes memory(slot_activations, l.bytes_besides_workspace(at_once) + workspace);
  expect_done(own.run({in.data(), n, a.model_dim, from.row_stride}, {y.data(), n, a.out_dim, to.row_stride},
                      heed_memory_of(memory.data(), memory.count()), s.executor));
  EXPECT_TRUE(in.guard_intact() && memory.guard_intact());
  layer_result all;
  all.y = gather(to, y);
  const auto *kept = reinterpret_cast<const float *>(memory.data());
  if (!l.is_transformer) all.kept.assign(kept, kept + l.kept_floats(n - (n - 1) / at_once * at_once));
  options.collect(&all.attended, lengths.empty());
  return all;
}

}  // namespace heed_test

#endif
