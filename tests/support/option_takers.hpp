// Calls that take options (attention, layers, sequences), with good arguments in watched memory.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_OPTION_TAKERS_HPP
#define HEED_TESTS_SUPPORT_OPTION_TAKERS_HPP

#include "option_set.hpp"

namespace heed_test {

// A call that takes options, with good arguments in the arena.
struct options_taker {
  std::string name;
  option_set *set;
  std::function<heed_status(const heed_options *)> call;
};

class options_test : public ::testing::Test {
 protected:
  static constexpr int32_t batch = 2, heads = 4, kv_heads = 2, n_q = 5, n_kv = 7, dim = 8, v_dim = 6, n = 4;
  static constexpr size_t workspace_bytes = HEED_WORKSPACE_BYTES(dim, dim);

  heed_memory workspace() const { return heed_memory_of(workspace_, workspace_bytes); }
  heed_attention attention() {
    heed_attention c = heed_attention_of(in_, in_, in_, n_q, n_kv, heads, kv_heads, dim, out_, workspace());
    c.batch_size = batch, c.v_dim = v_dim;
    c.v = heed_token_major(in_, n_kv, kv_heads, v_dim);
    c.out = heed_token_major_out(out_, n_q, heads, v_dim);
    c.causal = 1;
    return c;
  }
  heed_status run_attention(const heed_options *options) {
    heed_attention c = attention();
    c.options = options;
    return heed_attention_run(&c);
  }
  heed_status run_layer(const heed_options *options) {
    heed_attention_layer l = heed_attention_layer_default(dim, heads);
    l.n_kv_heads = kv_heads, l.head_dim = l.v_dim = dim, l.out_dim = heads * dim;
    l.wq = heed_weights_of(in_, nullptr, HEED_F32, HEED_IN_OUT, dim, heads * dim);
    l.wk = l.wv = heed_weights_of(in_, nullptr, HEED_F32, HEED_IN_OUT, dim, kv_heads * dim);
    l.options = options;
    return heed_attention_layer_run(&l, heed_matrix_of(in_, n, dim), heed_matrix_out_of(out_, n, heads * dim),
                                    heed_memory_of(activations_, layer_bytes), nullptr);
  }
  heed_status run_sequence(const heed_options *options) {
    const heed_sequence x = {sizeof x, n, dim, n, in_};
    return heed_sequence_attention(&x, HEED_SCALE_DEFAULT, 1, options, sequence_, workspace());
  }
  std::vector<options_taker> takers() {
    return {{"attention", &in_attention_, [this](const heed_options *o) { return run_attention(o); }},
            {"layer", &in_layer_, [this](const heed_options *o) { return run_layer(o); }},
            {"sequence", &in_sequence_, [this](const heed_options *o) { return run_sequence(o); }}};
  }
  void refuses(const options_taker &t, const heed_options *options, heed_fault fault, heed_argument argument,
               const std::string &what) {
    memory_.refuses([&] { return t.call(options); }, fault, argument, t.name + ", " + what);
  }
  void refuses_all(const options_taker &t, const option_flaws &flaws,
                   const std::function<void(option_set *)> &prepare) {
    for (const option_flaw &f : flaws) {
      t.set->restore();
      prepare(t.set);
      f.apply(*t.set->options);
      refuses(t, t.set->options, f.fault, f.argument, f.what);
    }
    t.set->restore();
  }

  arena memory_;
  static constexpr size_t layer_bytes = HEED_ATTENTION_LAYER_BYTES(n, heads, kv_heads, dim, dim);
  float *in_ = memory_.take(1024), *out_ = memory_.take(1024);
  float *activations_ = memory_.take_aligned(layer_bytes / 4);  // and behind them the layer's workspace
  float *sequence_data_ = memory_.take(size_t{n} * dim);
  unsigned char *workspace_ = reinterpret_cast<unsigned char *>(memory_.take_aligned(workspace_bytes / 4));
  heed_sequence *sequence_ =
      new (memory_.take_aligned(16)) heed_sequence{sizeof(heed_sequence), n, dim, 0, sequence_data_};
  option_set in_attention_{&memory_, {batch, heads, n_q, n_kv}};
  option_set in_layer_{&memory_, {1, heads, n, n}};
  option_set in_sequence_{&memory_, {1, 1, n, n}};
};

}  // namespace heed_test

#endif
