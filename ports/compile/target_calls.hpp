// What calls of heed a program of floats makes for its layers, as costs. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_TARGET_CALLS_HPP
#define HEED_COMPILE_TARGET_CALLS_HPP

#include <algorithm>

#include "target_cost.hpp"

namespace heed_compile {

// The calls of a run. The network, its choices and the weights outlive it.
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
  void add(const std::string &call, const std::string &name, std::initializer_list<double> counts) {
    all_.add(call + name, counts);
  }

  // Keys and values of cross-attention, of all rows of an encoder.
  void encode(int32_t l, double rows) {
    linear("layers.{}.cross_wk", rows, l), linear("layers.{}.cross_wv", rows, l);
    append(rows);
  }

  // A layer of `rows` rows, of which the result needs n_out, behind `before` keys in a cache. crosses: keys of an encoder, or 0.
  void layer(int32_t l, double rows, double n_out, double before, double crosses = 0) {
    norm(net_.norm, net_.norm_first ? rows : n_out, net_.dim);
    attention(l, rows, n_out, before);
    plus(n_out);
    if (net_.post_norm) norm(net_.norm, n_out, net_.dim), norm(net_.norm, n_out, net_.dim);
    if (crosses > 0) cross(l, n_out, crosses);
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

  void append(double rows) { add("append ", c_.cache, {2 * rows * net_.n_kv_heads * net_.head_dim, rows, 1}); }

  void cross(int32_t l, double rows, double keys) {
    const double heads = net_.n_heads, dim = net_.head_dim, pairs = rows * heads * keys;
    norm(net_.norm, rows, net_.dim);
    linear("layers.{}.cross_wq", rows, l);
    add(rows == 1 ? "attention1 " : "attention ", c_.cache,
        {keys * net_.n_kv_heads * dim, pairs * dim, pairs, rows * heads * dim, rows * heads, 1});
    linear("layers.{}.cross_wo", rows, l);
    plus(rows);
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
    if (is_decoder) append(rows);
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

  const network &net_;
  const choices &c_;
  cost_sum all_;
  std::map<std::string, const tensor *> tensors_;
  std::map<std::string, const weight *> weights_;
};

}  // namespace heed_compile

#endif
