// The layer is the composition of heed_linear and heed_attention_run, to the bit, on every kernel.
// SPDX-License-Identifier: MIT
#include "support/kernels.hpp"
#include "support/layers.hpp"
#include "support/primitives.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class layer : public kernel_test {
 protected:
  struct result {
    matrix y;
    std::vector<float> activations;
  };

  static random_layer draw(random_source &r) {
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

  static result run_layer(const random_layer &l, const matrix &x, const primitive_setting &s, size_t workspace_bytes) {
    const result_rows y(x.n_rows, l.layer.out_dim, s.padding);
    const fenced_floats activations(slot_activations, l.activations(x.n_rows), unwritten_bits);
    const fenced_bytes workspace(slot_workspace, workspace_bytes);
    const heed_status status = heed_layer_run(&l.layer, put(slot_q, x, s.padding), y.view(), activations.data(),
                                              activations.count(), workspace.data(), workspace_bytes, s.executor);
    EXPECT_EQ(status, HEED_OK) << heed_status_argument(status) << ": " << heed_status_text(status);
    EXPECT_TRUE(workspace.guard_intact());
    EXPECT_TRUE(activations.guard_intact());
    return {y.take(), {activations.data(), activations.data() + activations.count()}};
  }

  // (token, head, dim) as a projection leaves it, to (head, token, dim) of a problem, and back.
  static std::vector<float> swap_axes(const std::vector<float> &x, int32_t a, int32_t b, int32_t dim) {
    std::vector<float> y;
    for (int32_t j = 0; j < b; ++j)
      for (int32_t i = 0; i < a; ++i) {
        const auto row = x.begin() + (std::ptrdiff_t{i} * b + j) * dim;
        y.insert(y.end(), row, row + dim);
      }
    return y;
  }

  static result compose(const random_layer &l, const matrix &x) {
    const matrix q = run_linear(x, {x.dim, l.q_width(), l.wq}, l.bq);
    const matrix k = run_linear(x, {x.dim, l.k_width(), l.wk}, l.bk);
    const matrix v = run_linear(x, {x.dim, l.v_width(), l.wv}, l.bv);
    problem p;
    p.n_heads = l.layer.n_heads, p.n_kv_heads = l.layer.n_kv_heads, p.n_q = p.n_kv = x.n_rows;
    p.head_dim = l.layer.head_dim, p.v_dim = l.layer.v_dim, p.scale = l.layer.scale, p.causal = l.layer.causal;
    p.q = swap_axes(q.values, x.n_rows, p.n_heads, p.head_dim);
    p.k = swap_axes(k.values, x.n_rows, p.n_kv_heads, p.head_dim);
    p.v = swap_axes(v.values, x.n_rows, p.n_kv_heads, p.v_dim);
    const matrix context = {x.n_rows, l.context_width(), swap_axes(run(p).out, p.n_heads, x.n_rows, p.v_dim)};
    result all = {context, q.values};
    for (const matrix *m : {&k, &v, &context})
      all.activations.insert(all.activations.end(), m->values.begin(), m->values.end());
    if (l.layer.wo) all.y = run_linear(context, {context.dim, l.layer.out_dim, l.wo}, l.bo);
    return all;
  }
};

TEST_P(layer, equals_its_parts) {
  for (int32_t i = 0; i < repetitions(100) && !HasFailure(); ++i) {
    random_source r(300000 + static_cast<uint64_t>(i));
    const random_layer l = draw(r);
    const int32_t n = r.size(1, 70);
    const matrix x = {n, l.layer.model_dim, bell_floats(r, size_t(n) * l.layer.model_dim)};
    const result expected = compose(l, x);
    const auto executor = r.chance(40) ? random_executor(r) : nullptr;
    primitive_setting s;
    s.padding = r.between(0, 5);
    s.executor = executor ? executor->get() : nullptr;
    const size_t least = heed_workspace_min_bytes(l.layer.head_dim, l.layer.v_dim);
    const size_t bytes = r.chance(30) ? least : heed_workspace_bytes(l.layer.head_dim, l.layer.v_dim);
    const result actual = run_layer(l, x, s, bytes);
    EXPECT_TRUE(same_bits(expected.y.values, actual.y.values)) << "y, seed " << i;
    // q, k and v are left in the activations; the context too, unless it is y itself.
    const size_t kept =
        l.layer.wo ? expected.activations.size() : expected.activations.size() - expected.y.values.size();
    EXPECT_TRUE(same_bits(part_of(expected.activations, 0, kept), part_of(actual.activations, 0, kept)))
        << "activations, seed " << i;
  }
}

// Large enough for threads: the same bits with 1 to 8 workers.
TEST_P(layer, executors) {
  random_source r(1);
  random_layer l;
  set_sizes(&l, 64, 4, 2, 33, 40);
  fill_weights(r, 70, true, &l);
  const matrix x = {150, 64, bell_floats(r, 150 * 64)};
  const size_t piece = heed_workspace_bytes(33, 40);
  const result expected = run_layer(l, x, {}, piece);
  for (int32_t n = 1; n <= 8; ++n) {
    thread_executor threads(n);
    primitive_setting s;
    s.executor = threads.get();
    const result actual = run_layer(l, x, s, piece * static_cast<size_t>(n));
    EXPECT_TRUE(same_bits(expected.y.values, actual.y.values)) << n << " threads";
    EXPECT_TRUE(n == 1 || threads.most_tasks() > 1) << "the layer is large enough to be split";
  }
}

HEED_TEST_EVERY_KERNEL(layer);

}  // namespace
}  // namespace heed_test
