// See target_cost.hpp: programs without a float. SPDX-License-Identifier: MIT
#include <algorithm>

#include "target_cost.hpp"

namespace heed_compile {
namespace {

// The calls of heed_int_layer_run and around it.
class int_calls {
 public:
  int_calls(const std::string &core, const network &net, const integer_model &m, int32_t piece)
      : net_(net), m_(m), piece_(piece > 4 ? piece / 4 * 4 : piece), all_(core) {}

  double sum() const { return all_.sum(); }

  // Products take two rows at a time, and a last one alone.
  void linear(int32_t rows, double n_in, double n_out) {
    const double product = n_in * n_out, pairs = rows / 2 * 2;
    if (pairs > 0) all_.add("linear int", {product, pairs * product, pairs * n_in, pairs * n_out, 1});
    if (rows % 2 != 0) all_.add("linear1 int", {product, product, n_in, n_out, 1});
  }
  void rows(const char *call, int32_t n, double dim) { all_.rows(std::string("int ") + call, n, dim); }
  void norm(int32_t n) { rows(net_.norm == "heed_layer_norm" ? "layer_norm" : "rms_norm", n, net_.dim); }
  void pixels(double n) { all_.add("int picture", {n}); }

  // Rows of int16 as int8, through the final norm or by their units.
  void narrow(int32_t n) {
    if (net_.has_final_norm && !has_wide_final_norm(net_))
      norm(n);
    else
      rows("scale", n, net_.dim);
  }

  // A layer of n rows, of which the result needs n_out: keys and values of all first, then all else in pieces.
  void layer(int32_t n, int32_t n_out) {
    for (int32_t done = 0; done < n; done += piece_) keys(std::min(piece_, n - done));
    for (int32_t done = 0; done < n_out; done += piece_) {
      const int32_t rows = std::min(piece_, n_out - done);
      all_else(rows, n, static_cast<double>(rows) * n);
    }
  }
  // The same of n tokens behind `before` others, whose keys are in a cache: the last n_out of them see all before themselves.
  void causal_layer(int32_t before, int32_t n, int32_t n_out) {
    keys(n);
    const double first = before + n - n_out;
    all_else(n_out, before + n, n_out * first + n_out * (n_out + 1.0) / 2);
  }

 private:
  void layer_norm(int32_t n) {
    if (m_.layers.front().has_channels()) all_.add("int channels", {static_cast<double>(n) * net_.dim});
    norm(n);
  }
  void begin_sublayer(int32_t n) {
    if (net_.norm_first)
      layer_norm(n);
    else
      rows("scale", n, net_.dim);
  }
  void end_sublayer(int32_t n) {
    rows("add", n, net_.dim);
    if (!net_.norm_first) layer_norm(n);
  }
  void keys(int32_t n) {
    begin_sublayer(n);
    for (int i = 0; i < 2; ++i) linear(n, net_.dim, net_.n_kv_heads * net_.head_dim);
    rotate(n, net_.n_kv_heads);
  }
  void rotate(int32_t n, int32_t n_heads) {
    const heed_int_rope *const rope = m_.layers.front().layer().rope;
    if (rope != nullptr) rows("rope", n * n_heads, rope->rotary_dim);
  }
  // n rows, each of which sees some of n_keys keys: n_seen of them together.
  void all_else(int32_t n, int32_t n_keys, double n_seen) {
    const double dim = net_.head_dim, heads = net_.n_heads, pairs = heads * n_seen;
    begin_sublayer(n);
    linear(n, net_.dim, heads * dim);
    rotate(n, net_.n_heads);
    all_.add("attention int", {dim * n_keys * net_.n_kv_heads, pairs * dim, pairs, heads * dim * n, heads * n, 1});
    linear(n, heads * dim, net_.dim);
    end_sublayer(n);
    begin_sublayer(n);
    linear(n, net_.dim, net_.ffn_dim);
    rows("table", n, net_.ffn_dim);
    if (m_.layers.front().layer().w_gate.w.data != nullptr)
      linear(n, net_.dim, net_.ffn_dim), rows("multiply", n, net_.ffn_dim);
    linear(n, net_.ffn_dim, net_.dim);
    end_sublayer(n);
  }

  const network &net_;
  const integer_model &m_;
  const int32_t piece_;
  cost_sum all_;
};

void add_rows_before(int_calls &to, const network &net, int32_t rows) {
  if (net.what == task::encoder) {
    for (int32_t i = 0; i < rows; ++i) to.rows("add", 1, net.dim);
    if (net.has_embedding_norm) to.norm(rows);
    return;
  }
  const int32_t n_patches = rows - net.n_special_rows, n_pixels = net.patch_size * net.patch_size * net.n_channels;
  for (int32_t i = 0; i < n_patches; ++i) to.linear(1, n_pixels, net.dim), to.rows("add", 1, net.dim);
  to.pixels(static_cast<double>(n_patches) * n_pixels);
}

void add_result(int_calls &to, const network &net, int32_t n) {
  const bool is_mean = net.pool == network::pooling::mean;
  if (has_wide_final_norm(net)) to.norm(n);
  if (is_mean) to.rows("add", n, net.dim);
  to.narrow(is_mean ? 1 : n);
  if (net.has_pooler) to.linear(1, net.dim, net.dim), to.rows("table", 1, net.dim);
  if (net.n_classes > 0) to.linear(1, (is_mean ? 1 : n) * net.dim, net.n_classes);
}

// n tokens of a language model behind `before` others, in pieces; of the last layer only the newest row is computed to the end. Then
// logits.
void add_tokens(int_calls &to, const network &net, const choices &c, int32_t before, int32_t n) {
  const bool has_positions = !net.rope.is_used;
  for (int32_t done = 0, here; done < n; done += here) {
    here = std::min(c.piece, n - done);
    for (int32_t i = 0; i < here; ++i) to.rows(has_positions ? "add" : "scale", 1, net.dim);
    for (int32_t l = 0; l < net.n_layers; ++l) to.causal_layer(before + done, here, l + 1 == net.n_layers ? 1 : here);
  }
  to.norm(1);
  to.linear(1, net.dim, net.n_tokens);
}

run_costs instructions_of_tokens(const std::string &core, const network &net, const choices &c,
                                 const integer_model &m) {
  int_calls prompt(core, net, m, c.piece), token(core, net, m, c.piece);
  add_tokens(prompt, net, c, 0, m.rows);
  add_tokens(token, net, c, m.rows - 1, 1);
  return {{"a prompt of " + std::to_string(m.rows) + " tokens", prompt.sum()},
          {"a token behind " + std::to_string(m.rows - 1) + " others", token.sum()}};
}

}  // namespace

run_costs instructions_in_integers(const std::string &core, const network &net, const choices &c,
                                   const integer_model &m) {
  if (net.what == task::decoder) return instructions_of_tokens(core, net, c, m);
  const bool is_first = net.pool == network::pooling::first;
  int_calls all(core, net, m, std::min(c.piece, m.rows));
  add_rows_before(all, net, m.rows);
  const auto n_layers = static_cast<int32_t>(m.layers.size());
  for (int32_t l = 0; l < n_layers; ++l) all.layer(m.rows, is_first && l + 1 == n_layers ? net.n_class_rows : m.rows);
  add_result(all, net, is_first ? net.n_class_rows : m.rows);
  const std::string text = "a text of " + std::to_string(m.rows) + " tokens";
  return {{net.what == task::vision ? "a picture" : text, all.sum()}};
}

}  // namespace heed_compile
