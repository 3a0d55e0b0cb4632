// The layer is the composition of heed_linear and heed_attention_run, to the bit, on every kernel.
// SPDX-License-Identifier: MIT
#include "support/kernels.hpp"
#include "support/layers.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class layer : public kernel_test {
 protected:
  static layer_result run_layer(const random_layer &l, const matrix &x, const primitive_setting &s,
                                size_t workspace_bytes) {
    const problem p = attention_of(l, x.n_rows);
    setting of_options;
    of_options.in = of_options.out = s.padding > 0 ? layout::token_major_padded : layout::head_major;
    of_options.padding = s.padding;
    placed_options options(p, of_options);
    put_all(p, &options);
    heed_layer with_options = l.layer;
    if (p.options.any()) with_options.options = options.get();
    const result_rows y(x.n_rows, l.layer.out_dim, s.padding);
    const fenced_floats activations(slot_activations, l.activations(x.n_rows), unwritten_bits);
    const fenced_bytes workspace(slot_workspace, workspace_bytes);
    const heed_status status = heed_layer_run(&with_options, put(slot_q, x, s.padding), y.view(), activations.data(),
                                              activations.count(), workspace.data(), workspace_bytes, s.executor);
    EXPECT_EQ(status, HEED_OK) << heed_status_argument(status) << ": " << heed_status_text(status);
    EXPECT_TRUE(workspace.guard_intact());
    EXPECT_TRUE(activations.guard_intact());
    layer_result result = {y.take(), {activations.data(), activations.data() + activations.count()}, {}};
    options.collect(&result.attended);
    return result;
  }
};

TEST_P(layer, equals_its_parts) {
  for (int32_t i = 0; i < repetitions(200) && !HasFailure(); ++i) {
    random_source r(300000 + static_cast<uint64_t>(i));
    random_layer l = draw_layer(r);
    const int32_t n = r.size(1, 70);
    if (i % 2) draw_options(r, n, &l);
    const matrix x = {n, l.layer.model_dim, bell_floats(r, size_t(n) * l.layer.model_dim)};
    const layer_result expected = compose(l, x);
    const auto executor = r.chance(40) ? random_executor(r) : nullptr;
    primitive_setting s;
    s.padding = r.between(0, 5);
    s.executor = executor ? executor->get() : nullptr;
    const size_t least = heed_workspace_min_bytes(l.layer.head_dim, l.layer.v_dim);
    const size_t bytes = r.chance(30) ? least : heed_workspace_bytes(l.layer.head_dim, l.layer.v_dim);
    const layer_result actual = run_layer(l, x, s, bytes);
    EXPECT_TRUE(same_bits(expected.y.values, actual.y.values)) << "y, seed " << i;
    EXPECT_TRUE(same_results(expected.attended, actual.attended)) << "seed " << i << l.options.text();
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
  const layer_result expected = run_layer(l, x, {}, piece);
  for (int32_t n = 1; n <= 8; ++n) {
    thread_executor threads(n);
    primitive_setting s;
    s.executor = threads.get();
    const layer_result actual = run_layer(l, x, s, piece * static_cast<size_t>(n));
    EXPECT_TRUE(same_bits(expected.y.values, actual.y.values)) << n << " threads";
    EXPECT_TRUE(n == 1 || threads.most_tasks() > 1) << "the layer is large enough to be split";
  }
}

HEED_TEST_EVERY_KERNEL(layer);

}  // namespace
}  // namespace heed_test
