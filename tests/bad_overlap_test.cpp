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
                                       {"weights", t.set->weights_data, 4},
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
    call.workspace = heed_memory_of(reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(p.data) / 64 * 64),
                                    heed_workspace_min_bytes(dim, v_dim));
    refuses_call(HEED_ARG_WORKSPACE, "workspace on " + p.name);
  }
  for (const output &o : s.outputs()) {
    o.move(out_);
    refuses_call(HEED_ARG_OUT, "out");
    o.move(reinterpret_cast<float *>(workspace_) + 5);
    refuses_call(HEED_ARG_WORKSPACE, "workspace");
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
  float *const workspace = reinterpret_cast<float *>(workspace_);
  // What each writes besides.
  struct written {
    const char *what;
    float *data;
    heed_argument argument;
  };
  const std::vector<written> by_layer = {{"result", out_, HEED_ARG_Y},
                                         {"activations", activations_, HEED_ARG_WORKSPACE},
                                         {"workspace", activations_ + layer_bytes / 4 - 1, HEED_ARG_WORKSPACE}};
  const std::vector<written> by_sequence = {{"result", sequence_data_, HEED_ARG_OUT},
                                            {"workspace", workspace, HEED_ARG_WORKSPACE},
                                            {"sequence", reinterpret_cast<float *>(sequence_) + 1, HEED_ARG_OUT}};
  for (const options_taker &t : takers()) {
    if (t.set == &in_attention_) continue;
    const bool is_layer = t.set == &in_layer_;
    for (const written &w : is_layer ? by_layer : by_sequence) {
      for (const output &o : t.set->outputs()) {
        o.move(w.data);
        refuses(t, t.set->options, HEED_OVERLAP, w.argument, w.what);
        t.set->restore();
      }
      // What is read, in it.
      t.set->mask->data = w.data;
      refuses(t, t.set->options, HEED_OVERLAP, w.argument, std::string("mask in the ") + w.what);
      t.set->restore();
    }
    const heed_options *inside = new (is_layer ? activations_ + 16 : workspace + 16) heed_options(*t.set->options);
    refuses(t, inside, HEED_OVERLAP, HEED_ARG_WORKSPACE, "options in its memory");
  }
}

}  // namespace
}  // namespace heed_test
