// A whole layer of integers, for the differential programs. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_INT_LAYER_TRIAL_HPP
#define HEED_TESTS_SUPPORT_INT_LAYER_TRIAL_HPP

#include <string>
#include <vector>

#include "int_layer_parts.hpp"
#include "int_row_trials.hpp"

namespace heed_test {

// A whole layer: what its functions give one after another.
class int_layer_trial : public int_matrix_trial {
 public:
  explicit int_layer_trial(random_source &r) : int_matrix_trial(r) {
    const int32_t n_kv_heads = r.between(1, 2), n_heads = n_kv_heads * r.between(1, 2), head_dim = r.size(1, 40),
                  dim = r.size(1, 100), hidden = r.size(1, 150), n = r.chance(10) ? r.between(60, 300) : r.size(1, 40);
    layer_ = heed_int_layer_default(dim, n_heads, hidden, r.chance(50) ? heed_int_layer_norm : heed_int_rms_norm);
    layer_.n_kv_heads = n_kv_heads;
    layer_.head_dim = head_dim;
    layer_.norm_first = r.between(0, 1), layer_.causal = r.between(0, 1);
    const bool gated = r.chance(40);
    layer_.wq = draw_linear(r, dim, n_heads * head_dim, -10);
    layer_.wk = draw_linear(r, dim, n_kv_heads * head_dim, -10);
    layer_.wv = draw_linear(r, dim, n_kv_heads * head_dim, -10);
    layer_.wo = draw_linear(r, n_heads * head_dim, dim, -4);
    layer_.w_up = draw_linear(r, dim, hidden, -10);
    if (gated) layer_.w_gate = draw_linear(r, dim, hidden, -10);
    layer_.w_down = draw_linear(r, hidden, dim, -4);
    layer_.norm1 = draw_norm(r, dim), layer_.norm2 = draw_norm(r, dim);
    layer_.activation = put_bytes(r, 256);
    for (int32_t *zero : {&layer_.h_zero, &layer_.q_zero, &layer_.k_zero, &layer_.v_zero, &layer_.c_zero,
                          &layer_.g_zero, &layer_.u_zero, &layer_.up_zero, &layer_.gate_zero})
      *zero = r.chance(50) ? 0 : r.between(-128, 127);
    layer_.score = random_multiplier(r, -15, -11);
    layer_.value = random_multiplier(r, -1, 1);
    layer_.to_h = layer_.to_g = random_multiplier(r, -8, -6);
    for (heed_multiplier *m : {&layer_.of_x, &layer_.of_attention, &layer_.of_a, &layer_.of_hidden, &layer_.gate})
      *m = random_multiplier(r, -2, 0);
    if (head_dim > 1 && r.chance(50)) {
      rope_ = draw_int_rope(r, n, head_dim);
      layer_.rope = &rope_;
    }
    x_ = draw_input(r, n, dim, true);
    y_ = draw_output(r, n, dim, true);
    y_.zero_point = 0;
    const size_t least = heed_int_layer_min_bytes(&layer_, n), most = heed_int_layer_bytes(&layer_, n);
    EXPECT_GT(least, 0u);
    const size_t bytes = r.chance(30) ? least : r.chance(50) ? most : least + r.below(static_cast<uint32_t>(3 * most));
    memory_ = memory.scratch(bytes);
  }
  std::string text() const override {
    return "layer in integers, " + std::to_string(x_.n_rows) + " x " + std::to_string(x_.dim) + ", heads " +
           std::to_string(layer_.n_heads) + " / " + std::to_string(layer_.n_kv_heads) + " of " +
           std::to_string(layer_.head_dim) + ", hidden " + std::to_string(layer_.ffn_dim) +
           (layer_.w_gate.w.data ? ", gated" : "") + (layer_.norm_first ? ", norms first" : "") +
           (layer_.rope ? ", rope" : "");
  }
  heed_status call() override { return heed_int_layer_run(&layer_, x_, y_, memory_, executor()); }
  std::vector<unsigned char> expected() override { return with_rows(y_, compose_int_layer(layer_, x_)); }
  spoilings flaws() override {
    spoilings all = matrix_flaws(&x_, &y_);
    const auto add = [&](spoilings more) { all.insert(all.end(), more.begin(), more.end()); };
    add(wrong_values<size_t>("bytes of memory", &memory_.bytes, {0, heed_int_layer_min_bytes(&layer_, x_.n_rows) - 1}));
    for (int32_t *n : {&layer_.model_dim, &layer_.ffn_dim, &layer_.n_heads, &layer_.n_kv_heads, &layer_.head_dim})
      add(wrong_values<int32_t>("number of the layer", n, {0, -1, *n + 1, INT32_MAX}));
    for (heed_int_projection *l : {&layer_.wq, &layer_.wk, &layer_.wv, &layer_.wo, &layer_.w_up, &layer_.w_down})
      add(wrong_values<const void *>("weights", &l->w.data, {nullptr}));
    add(wrong_values<const int8_t *>("activation", &layer_.activation, {nullptr}));
    if (layer_.rope) add(int_rope_flaws(&rope_, x_.n_rows));
    return all;
  }

 private:
  heed_int_projection draw_linear(random_source &r, int32_t n_in, int32_t n_out, int32_t e) {
    const int8_t *data = put_bytes(r, static_cast<size_t>(n_in) * static_cast<size_t>(n_out));
    std::vector<int32_t> bias;
    std::vector<heed_multiplier> multipliers;
    for (int32_t o = 0; o < n_out; ++o) {
      bias.push_back(r.between(-3000, 3000));
      multipliers.push_back(random_multiplier(r, e - 2, e));
    }
    const int32_t layout = r.chance(70) ? HEED_OUT_IN : HEED_IN_OUT;
    return {heed_weights_of(data, nullptr, HEED_INT8, layout, n_in, n_out), r.chance(70) ? put_numbers(bias) : nullptr,
            put_numbers(multipliers)};
  }
  heed_int_norm draw_norm(random_source &r, int32_t dim) {
    std::vector<int32_t> weight, bias;
    const int32_t shift = r.between(8, 16), size = (layer_.norm_first ? 60 : 4000) << shift >> 1;
    for (int32_t i = 0; i < dim; ++i) weight.push_back(r.between(-size, size)), bias.push_back(r.between(-size, size));
    return {put_numbers(weight), r.chance(70) ? put_numbers(bias) : nullptr, shift, r.next() >> r.between(0, 31)};
  }

  heed_int_layer layer_;
  heed_int_rope rope_;
  heed_int_matrix x_;
  heed_int_matrix_out y_;
  heed_memory memory_;
};

}  // namespace heed_test

#endif
