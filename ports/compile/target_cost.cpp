// See target_cost.hpp. tests/compile_targets.sh compares these sums with what an emulator counts. SPDX-License-Identifier: MIT
#include "target_cost.hpp"

#include <algorithm>
#include <stdexcept>

namespace heed_compile {
namespace {

enum { most_counts = 6 };

// Instructions that each count of a call takes. target_costs.inc has them from tests/device/call_costs.c.
struct call_cost {
  const char *core, *call;
  double of[most_counts];
};
const call_cost costs[] = {
#include "target_costs.inc"
};

}  // namespace

cost_sum::cost_sum(const std::string &core) {
  for (const call_cost &cost : costs)
    if (core == cost.core) costs_[cost.call] = cost.of;
}

void cost_sum::add(const std::string &call, std::initializer_list<double> counts) {
  const auto found = costs_.find(call);
  if (found == costs_.end()) throw std::logic_error("target_costs.inc has no cost of " + call);
  const double *of = found->second;
  for (const double n : counts) sum_ += n * *of++;
}

std::string format_of_cost(const tensor &t, bool in_integers) {
  static const std::map<int32_t, std::string> names = {{HEED_F32, "f32"},   {HEED_F16, "f16"},    {HEED_BF16, "bf16"},
                                                       {HEED_INT8, "int8"}, {HEED_UINT8, "int8"}, {HEED_Q8_0, "q8_0"},
                                                       {HEED_Q4_0, "int4"}};
  const bool is_narrow = t.dtype == HEED_INT8 || t.dtype == HEED_UINT8 || t.dtype == HEED_Q8_0 || t.dtype == HEED_Q4_0;
  return names.at(t.dtype) + (in_integers && is_narrow ? ".i" : "");
}

namespace {

// The calls of a run, as programs of floats make them.
class calls {
 public:
  calls(const std::string &core, const network &net, const choices &c, const std::vector<tensor> &weights)
      : net_(net), c_(c), all_(core) {
    for (const tensor &t : weights) tensors_[t.name] = &t;
    for (const weight &w : net.weights) weights_[w.name] = &w;
  }

  double sum() const { return all_.sum(); }

  // y = x times a matrix, if the program has it: the one of net_.weights with this name.
  void linear(const std::string &name, double rows, int32_t layer = -1) {
    const auto found = weights_.find(name);
    const tensor *const t = tensor_of(name, layer);
    if (found == weights_.end() || t == nullptr) return;
    const weight &w = *found->second;
    const double n_in = w.beside.empty() ? w.n_in : 2.0 * w.n_in, n_out = w.n_out;
    add(rows == 1 ? "linear1 " : "linear ", format_of_cost(*t, !c_.exact),
        {n_in * n_out, rows * n_in * n_out, rows * n_in, rows * n_out, 1});
  }

  void gather(double rows) {
    const tensor *const t = tensor_of("embedding", -1);
    if (t != nullptr) add("gather ", format_of_cost(*t, false), {rows * net_.dim, rows, 1});
  }
  void norm(const std::string &name, double rows, double dim) { add("norm ", name, {rows * dim, rows, 1}); }
  void numbers(const char *call, const std::string &name, double rows, double dim) {
    add(call, name, {rows * dim, rows, 1});
  }
  void plus(double rows) { numbers("add ", "f32", rows, net_.dim); }
  void pixels(double n) { add("picture ", "f32", {n}); }

  // A layer of `rows` rows, of which the result needs n_out, behind `before` keys in a cache.
  void layer(int32_t l, double rows, double n_out, double before) {
    norm(net_.norm, net_.norm_first ? rows : n_out, net_.dim);
    attention(l, rows, n_out, before);
    plus(n_out);
    if (net_.post_norm) norm(net_.norm, n_out, net_.dim), norm(net_.norm, n_out, net_.dim);
    norm(net_.norm, n_out, net_.dim);
    linear("layers.{}.w_up", n_out, l), linear("layers.{}.w_gate", n_out, l);
    const bool gated = net_.gate_up || tensor_of("layers.{}.w_gate", l) != nullptr;
    numbers(gated ? "gated " : "activation ", net_.activation, n_out, net_.ffn_dim);
    linear("layers.{}.w_down", n_out, l);
    plus(n_out);
  }

 private:
  const tensor *tensor_of(std::string name, int32_t layer) const {
    const size_t at = name.find("{}");
    if (at != std::string::npos) name.replace(at, 2, std::to_string(layer));
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second;
  }

  void attention(int32_t l, double rows, double n_out, double before) {
    const double heads = net_.n_heads, kv_heads = net_.n_kv_heads, dim = net_.head_dim;
    const bool is_decoder = net_.what == task::decoder;
    linear("layers.{}.wq", n_out, l), linear("layers.{}.wk", rows, l), linear("layers.{}.wv", rows, l);
    if (!net_.qk_norm.empty()) {
      const bool whole = net_.qk_norm_whole;
      norm(net_.qk_norm, whole ? n_out : n_out * heads, whole ? heads * dim : dim);
      norm(net_.qk_norm, whole ? rows : rows * kv_heads, whole ? kv_heads * dim : dim);
    }
    if (net_.rope.is_used) {
      const double rotated = net_.rope.rotary_dim > 0 ? net_.rope.rotary_dim : dim;
      for (const double n : {n_out * heads, rows * kv_heads}) add("rope ", "f32", {n * rotated, rows * rotated, 1});
    }
    if (is_decoder) add("append ", c_.cache, {2 * rows * kv_heads * dim, rows, 1});
    double pairs = 0, keys = before + rows;
    const double window = static_cast<size_t>(l) < net_.windows.size() && net_.windows[static_cast<size_t>(l)] > 0
                              ? net_.windows[static_cast<size_t>(l)]
                              : keys;
    for (double i = 0; i < n_out; ++i) pairs += heads * (is_decoder ? std::min(window, before + i + 1) : keys);
    keys = std::min(keys, window + rows - 1);
    add(n_out == 1 ? "attention1 " : "attention ", is_decoder ? c_.cache : "none",
        {keys * kv_heads * dim, pairs * dim, pairs, n_out * heads * dim, n_out * heads, 1});
    if (net_.attention_softcap > 0) add("activation ", "heed_tanh", {pairs, n_out, 1});
    linear("layers.{}.wo", n_out, l);
  }

  void add(const std::string &call, const std::string &name, std::initializer_list<double> counts) {
    all_.add(call + name, counts);
  }

  const network &net_;
  const choices &c_;
  cost_sum all_;
  std::map<std::string, const tensor *> tensors_;
  std::map<std::string, const weight *> weights_;
};

// Tokens behind `before` others pass through the layers in one piece.
void add_piece(calls &to, const network &net, bool has_positions, double rows, double before) {
  to.gather(rows);
  if (net.embedding_scale != 1) to.plus(rows);
  if (has_positions) to.plus(rows);
  for (int32_t l = 0; l < net.n_layers; ++l) to.layer(l, rows, rows, before);
}

void add_logits(calls &to, const network &net) {
  to.norm(net.norm, 1, net.dim);
  to.linear(net.is_tied ? "embedding" : "classifier", 1);
  if (net.logits_softcap > 0) to.numbers("activation ", "heed_tanh", 1, net.n_tokens);
}

void add_encoder(calls &to, const network &net, int32_t rows) {
  if (net.what == task::encoder) {
    to.gather(rows), to.plus(rows);
    if (net.has_token_types) to.plus(rows);
  } else {
    const int32_t n_patches = rows - net.n_special_rows, n_pixels = net.patch_size * net.patch_size * net.n_channels;
    for (int32_t i = 0; i < n_patches; ++i) to.linear("patches", 1);
    to.pixels(static_cast<double>(n_patches) * n_pixels);
    to.plus(rows);
  }
  if (net.has_embedding_norm) to.norm(net.norm, rows, net.dim);
  const bool is_cut = net.pool == network::pooling::first;
  for (int32_t l = 0; l < net.n_layers; ++l)
    to.layer(l, rows, is_cut && l == net.n_layers - 1 ? net.n_class_rows : rows, 0);
  const int32_t left = is_cut ? net.n_class_rows : rows;
  if (net.has_final_norm) to.norm(net.norm, left, net.dim);
  if (net.pool == network::pooling::mean) to.plus(rows);
  if (net.has_pooler) to.linear("pooler", 1), to.numbers("activation ", net.pooler_activation, 1, net.dim);
  to.linear("classes", 1);
}

}  // namespace

run_costs instructions_of(const std::string &core, const network &net, const choices &c,
                          const std::vector<tensor> &weights) {
  const int32_t context = context_of(net, c);
  calls all(core, net, c, weights);
  if (net.what != task::decoder) {
    add_encoder(all, net, context);
    const std::string text = "a text of " + std::to_string(context) + " tokens";
    return {{net.what == task::vision ? "a picture" : text, all.sum()}};
  }
  calls token = all;
  const bool has_positions = has(weights, "positions");
  const int32_t piece = std::min(c.piece, context);
  for (int32_t done = 0; done < context; done += piece)
    add_piece(all, net, has_positions, std::min(piece, context - done), done);
  add_logits(all, net);
  add_piece(token, net, has_positions, 1, context - 1), add_logits(token, net);
  return {{"a prompt of " + std::to_string(context) + " tokens", all.sum()},
          {"a token behind " + std::to_string(context - 1) + " others", token.sum()}};
}

}  // namespace heed_compile
