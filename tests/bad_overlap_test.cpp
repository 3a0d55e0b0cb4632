// What a call with options writes may share memory with nothing else: neither with what the options point to, nor with
// the objects themselves, nor with another output. SPDX-License-Identifier: MIT
#include "support/option_takers.hpp"

namespace heed_test {
namespace {

class bad_overlap : public options_test {
 protected:
  using piece = option_set::piece;
  using output = option_set::output;

  // The first float, the last, and the last of the output on the first.
  template <typename Move>
  static void each_overlap(const piece &onto, size_t own_floats, Move move) {
    float *first = static_cast<float *>(onto.data);
    const auto last = static_cast<ptrdiff_t>(onto.bytes / 4) - 1;
    for (const ptrdiff_t shift : {ptrdiff_t{0}, last, 1 - static_cast<ptrdiff_t>(own_floats)}) move(first + shift);
  }
  void refuses_overlaps(const options_taker &t, const output &o, const std::vector<piece> &pieces) {
    for (const piece &p : pieces)
      each_overlap(p, o.floats, [&](float *to) {
        o.move(to);
        refuses(t, t.set->options, HEED_OVERLAP, o.argument, "on " + p.name);
        t.set->restore();
      });
  }
};

TEST_F(bad_overlap, outputs_on_what_is_read) {
  for (const options_taker &t : takers())
    for (const output &o : t.set->outputs()) {
      refuses_overlaps(t, o, t.set->pieces_read());
      refuses_overlaps(t, o, {{"q, k, v or x", in_, 16}});
    }
}

// Of two that are written the one that the header lists first is named.
TEST_F(bad_overlap, outputs_on_each_other) {
  for (const options_taker &t : takers()) {
    const std::vector<output> outputs = t.set->outputs();
    const std::vector<piece> places = {{"scores", t.set->scores_data, 4},
                                       {"lse", t.set->lse_data, 4},
                                       {"column sums", t.set->sums_data, 4},
                                       {"weights of top k", t.set->top_weights, 4},
                                       {"keys of top k", t.set->top_keys, 4}};
    for (size_t i = 0; i < outputs.size(); ++i)
      for (size_t j = i + 1; j < outputs.size(); ++j) {
        outputs[j].move(static_cast<float *>(places[i].data));
        refuses(t, t.set->options, HEED_OVERLAP, outputs[i].argument, "under another output");
        t.set->restore();
      }
  }
}

TEST_F(bad_overlap, of_attention) {
  heed_attention call = attention();
  option_set &s = in_attention_;
  const auto refuses_call = [&](heed_argument argument, const std::string &what) {
    call.options = s.options;
    memory_.refuses([&] { return heed_attention_run(&call); }, HEED_OVERLAP, argument, what);
    call = attention();
    s.restore();
  };
  for (const piece &p : s.pieces_read()) {
    each_overlap(p, size_t{batch} * heads * n_q * v_dim, [&](float *to) {
      call.out.data = to;
      refuses_call(HEED_ARG_OUT, "out on " + p.name);
    });
    each_overlap(p, size_t{batch} * heads * n_q * n_kv, [&](float *to) {
      call.weights = heed_head_major_out(to, n_q, heads, n_kv);
      refuses_call(HEED_ARG_WEIGHTS, "weights on " + p.name);
    });
    call.workspace_bytes = heed_workspace_min_bytes(dim, v_dim);
    call.workspace = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(p.data) / 64 * 64);
    refuses_call(HEED_ARG_WORKSPACE, "workspace on " + p.name);
  }
  for (const output &o : s.outputs()) {
    o.move(out_);
    refuses_call(HEED_ARG_OUT, "out");
    o.move(reinterpret_cast<float *>(workspace_) + 5);
    refuses_call(HEED_ARG_WORKSPACE, "workspace");
    call.weights = heed_head_major_out(activations_, n_q, heads, n_kv);
    o.move(activations_ + 7);
    refuses_call(HEED_ARG_WEIGHTS, "weights");
  }
}

// The call itself is read, too.
TEST_F(bad_overlap, outputs_on_the_call) {
  option_set &s = in_attention_;
  for (const output &o : s.outputs()) {
    heed_attention *call = new (memory_.take_aligned(sizeof(heed_attention) / 4)) heed_attention(attention());
    memory_.take(512);  // room for the output behind it
    call->options = s.options;
    o.move(reinterpret_cast<float *>(&call->options));
    memory_.refuses([&] { return heed_attention_run(call); }, HEED_OVERLAP, o.argument, "on the call");
    s.restore();
  }
}

TEST_F(bad_overlap, of_layers_and_sequences) {
  for (const options_taker &t : takers()) {
    if (t.set == &in_attention_) continue;
    const bool is_layer = t.set == &in_layer_;
    const heed_argument first = is_layer ? HEED_ARG_Y : HEED_ARG_OUT;
    for (const output &o : t.set->outputs()) {
      o.move(is_layer ? out_ : sequence_data_);
      refuses(t, t.set->options, HEED_OVERLAP, first, "result");
      t.set->restore();
      o.move(reinterpret_cast<float *>(workspace_));
      refuses(t, t.set->options, HEED_OVERLAP, HEED_ARG_WORKSPACE, "workspace");
      t.set->restore();
      o.move(is_layer ? activations_ : reinterpret_cast<float *>(sequence_) + 1);
      refuses(t, t.set->options, HEED_OVERLAP, is_layer ? HEED_ARG_ACTIVATIONS : HEED_ARG_OUT, "activations or out");
      t.set->restore();
    }
    // What is read, in the result.
    t.set->mask->data = is_layer ? out_ + 3 : sequence_data_ + 3;
    refuses(t, t.set->options, HEED_OVERLAP, first, "mask in the result");
    t.set->restore();
    const heed_options *in_workspace = new (workspace_ + 64) heed_options(*t.set->options);
    refuses(t, in_workspace, HEED_OVERLAP, HEED_ARG_WORKSPACE, "options in the workspace");
  }
}

}  // namespace
}  // namespace heed_test
