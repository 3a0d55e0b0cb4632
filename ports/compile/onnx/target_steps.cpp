// See target_steps.hpp. tests/device/graph_costs.c counts what the calls take. SPDX-License-Identifier: MIT
#include "target_steps.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace heed_compile {
namespace {

double elements_of(const heed_graph_loop &l) {
  double n = 1;
  for (int32_t d = 0; d < l.n_dims; ++d) n *= l.dims[d];
  return n;
}
int32_t row_of(const heed_graph_loop &l) { return l.dims[l.n_dims - 1]; }

// The cost of a function of numbers, an operation or a reduction, by the cost of one that takes as long.
std::string like(const std::string &constant) {
  static const std::map<std::string, std::string> others = {{"ABS", "NEGATE"},
                                                            {"SIGN", "NEGATE"},
                                                            {"RELU", "NEGATE"},
                                                            {"COS", "SIN"},
                                                            {"CEIL", "FLOOR"},
                                                            {"ROUND", "FLOOR"},
                                                            {"SUB", "ADD"},
                                                            {"MIN", "MAX"},
                                                            {"MEAN", "SUM"},
                                                            {"LEAST", "GREATEST"},
                                                            {"SUM_OF_MAGNITUDES", "SUM"},
                                                            {"LENGTH", "SUM_OF_SQUARES"},
                                                            {"PRODUCT", "SUM_OF_SQUARES"}};
  const std::string name = constant.substr(std::string("HEED_GRAPH_").size());
  const auto found = others.find(name);
  return found == others.end() ? name : found->second;
}

class step_costs {
 public:
  step_costs(const std::string &core, const steps &p, const std::vector<tensor> &weights,
             const std::vector<bool> &in_integers, const std::map<const step *, double> &zeros)
      : p_(p), all_(core), zeros_(zeros) {
    for (size_t i = 0; i < p.constants.size(); ++i)
      for (const tensor &t : weights)
        if (p.constants[i].is_matrix && t.name == p.constants[i].name)
          formats_[static_cast<int>(i)] = format_of_cost(t, in_integers[i]);
  }

  double sum() const { return all_.sum(); }

  void add(const step &s) {
    at_ = &s;
    calls().at(s.function)(*this);
  }

 private:
  using call = std::function<void(step_costs &)>;

  const argument &given(size_t i) const { return at_->arguments.at(i); }
  double number(size_t i) const { return static_cast<double>(given(i).number); }
  bool is_null(size_t i) const { return given(i).is == argument::what::null; }
  const std::string &name(size_t i) const { return given(i).name; }
  const heed_graph_loop &loop_at(size_t i) const { return p_.loops[static_cast<size_t>(given(i).index)]; }

  // by_blocks: elements that lie side by side go the way of blocks.
  void loop(const std::string &cost, size_t i, bool by_blocks = false) {
    const heed_graph_loop &l = loop_at(i);
    const int32_t last = l.n_dims - 1;
    const bool is_side_by_side = by_blocks && l.strides[0][last] == 1 && l.strides[1][last] == 1;
    const double all = elements_of(l), rows = all / std::max(row_of(l), 1),
                 blocks = is_side_by_side ? rows * (row_of(l) / 8 * 8) : 0;
    all_.add(cost, {blocks, all - blocks, rows, 1});
  }
  void reduce(const std::string &cost, size_t outer, size_t inner) {
    const double n = elements_of(loop_at(outer)), each = elements_of(loop_at(inner));
    all_.add(cost, {n * each, n * each / std::max(row_of(loop_at(inner)), 1), n, 1});
  }
  void gather(const std::string &cost) {
    const double lines = number(3) * number(5);
    all_.add(cost, {lines * number(6), lines, 1});
  }
  void lines(const std::string &cost) {
    const double n = number(2) * number(4);
    all_.add(cost, {n * number(3), n, 1});
  }

  void linear(double rows, int weights) {
    const file_constant &c = p_.constants[static_cast<size_t>(weights)];
    const double n_in = c.n_in, n_out = c.n_out;
    all_.add((rows == 1 ? "linear1 " : "linear ") + formats_.at(weights),
             {n_in * n_out, rows * n_in * n_out, rows * n_in, rows * n_out, 1});
  }
  void group_norm() {
    const double rows = number(2), dim = number(3), groups = number(6);
    if (groups == dim)
      columns("group_norm columns", rows, dim);
    else
      all_.add("group_norm groups", {rows * dim, rows * groups, groups, 1});
  }
  // Sums of columns, 16 of them at a time.
  void columns(const std::string &cost, double rows, double dim) {
    all_.add(cost, {rows * dim, std::ceil(dim / 16), dim, 1});
  }
  void activation() { all_.rows((is_null(3) ? "activation " : "gated ") + name(0), number(4), number(5)); }
  void multiply() {
    const heed_graph_products &p = p_.products[static_cast<size_t>(given(3).index)];
    const double times = elements_of(p.batch), n = p.n, k = p.k, m = p.m;
    all_.add((p.n == 1 ? "product1 " : "product ") + std::string(p.layout == HEED_OUT_IN ? "out_in" : "in_out"),
             {times * k * m, times * n * k * m, times * n * k, times * n * m, times});
  }
  void attend() {
    const heed_graph_attention &a = p_.attentions[static_cast<size_t>(given(5).index)];
    const double batch = a.n_batch, rows = batch * a.n_heads * a.n_q, dim = (a.head_dim + a.v_dim) / 2.0;
    double pairs = 0;
    for (int32_t i = 0; i < a.n_q; ++i)
      pairs += a.causal != 0 ? std::max(0, std::min(a.n_kv, a.position + i + 1)) : a.n_kv;
    pairs *= batch * a.n_heads;
    all_.add(a.n_q == 1 ? "attention1 none" : "attention none",
             {batch * a.n_kv * a.n_kv_heads * dim, pairs * dim, pairs, rows * dim, rows, 1});
    if (a.mask != HEED_GRAPH_NO_MASK)
      all_.add(a.mask == HEED_GRAPH_BOOLEAN_MASK ? "mask boolean" : "mask additive", {pairs, rows, 1});
    if (a.softcap > 0) all_.rows("activation heed_tanh", 1, pairs);
  }
  // Steps of a recurrent layer: products of the hidden state, and what is left.
  void recurrent(const std::string &cost, int weights, int more, double n_steps, double batch) {
    const double n = p_.constants[static_cast<size_t>(weights)].n_in;
    for (double i = 0; i < n_steps; ++i) {
      linear(batch, weights);
      if (more >= 0) linear(batch, more);
    }
    all_.add(cost, {n_steps * batch * n, n_steps * batch, 1});
  }
  void convolve() {
    const heed_graph_convolution &c = p_.convolutions[static_cast<size_t>(given(4).index)];
    const double pixels = static_cast<double>(c.n_batch) * c.y_height * c.y_width,
                 taps = static_cast<double>(c.n_in_group) * c.height * c.width;
    const bool is_by_channel = c.n_out == c.n_groups && c.n_in_group == 1 && c.x_strides[1] == 1;
    const int32_t in_blocks = is_by_channel ? c.n_out / 8 * 8 : 0, others = c.n_out - in_blocks;
    const double of_blocks = pixels * in_blocks, of_others = pixels * others, chunks = pixels * ((others + 7) / 8);
    const double zeros = zeros_.at(at_), numbers = 1 - zeros;
    if (in_blocks > 0)
      all_.add("convolve blocks", {of_blocks * taps * numbers, of_blocks * taps * zeros, of_blocks, 1});
    if (others > 0)
      all_.add("convolve others",
               {of_others * taps * numbers, of_others * taps * zeros, chunks * taps, chunks, of_others, 1});
  }

  static const std::map<std::string, call> &calls();

  const steps &p_;
  cost_sum all_;
  std::map<int, std::string> formats_;  // of matrices, by their place among the constants
  const std::map<const step *, double> &zeros_;
  const step *at_ = nullptr;
};

// Each function that a step may name, as in run_steps.cpp.
const std::map<std::string, step_costs::call> &step_costs::calls() {
  using S = step_costs &;
  const auto integers = [](size_t loop) { return [loop](S s) { s.loop("integers int32", loop); }; };
  const auto booleans = [](size_t loop) { return [loop](S s) { s.loop("integers booleans", loop); }; };
  const auto fill = [](S s) { s.all_.add("copy words", {s.number(2), 0, 1, 1}); };
  static const std::map<std::string, call> all = {
      {"heed_graph_copy", [](S s) { s.loop("copy words", 2, true); }},
      {"heed_graph_copy_bytes", [](S s) { s.loop("copy words", 2); }},
      {"heed_graph_fill", fill},
      {"heed_graph_fill_integers", fill},
      {"heed_graph_map", [](S s) { s.loop("map " + like(s.name(0)), 3, s.name(0) == "HEED_GRAPH_HARD_SWISH"); }},
      {"heed_graph_map_integers", integers(3)},
      {"heed_graph_combine", [](S s) { s.loop("combine " + like(s.name(0)), 4, s.name(0) != "HEED_GRAPH_POW"); }},
      {"heed_graph_combine_integers", integers(4)},
      {"heed_graph_combine_booleans", booleans(4)},
      {"heed_graph_compare", [](S s) { s.loop("compare f32", 4); }},
      {"heed_graph_compare_integers", booleans(4)},
      {"heed_graph_is_nan", [](S s) { s.loop("compare f32", 2); }},
      {"heed_graph_not", booleans(2)},
      {"heed_graph_choose", [](S s) { s.loop("choose words", 4); }},
      {"heed_graph_choose_bytes", [](S s) { s.loop("choose words", 4); }},
      {"heed_graph_float_to_integer", [](S s) { s.loop("integers of_floats", 2); }},
      {"heed_graph_float_to_boolean", [](S s) { s.loop("compare f32", 2); }},
      {"heed_graph_integer_to_float", [](S s) { s.loop("floats of_integers", 2); }},
      {"heed_graph_integer_to_boolean", booleans(2)},
      {"heed_graph_boolean_to_float", booleans(2)},
      {"heed_graph_boolean_to_integer", booleans(2)},
      {"heed_graph_reduce", [](S s) { s.reduce("reduce " + like(s.name(0)), 3, 4); }},
      {"heed_graph_reduce_integers", [](S s) { s.reduce("reduce int32", 3, 4); }},
      {"heed_graph_gather", [](S s) { s.gather("indices gather"); }},
      {"heed_graph_gather_each", [](S s) { s.gather("indices gather_each"); }},
      {"heed_graph_scatter", [](S s) { s.all_.rows("indices gather", s.number(4), s.number(5)); }},
      {"heed_graph_scatter_sums", [](S s) { s.all_.rows("indices scatter_sums", s.number(4), s.number(5)); }},
      {"heed_graph_argmax", [](S s) { s.lines("lines argmax"); }},
      {"heed_graph_cumulate", [](S s) { s.lines("lines cumulate"); }},
      {"heed_graph_cumulate_integers", [](S s) { s.lines("lines cumulate"); }},
      {"heed_graph_topk",
       [](S s) {
         s.all_.add("lines topk", {s.number(3) * s.number(4), s.number(3) * s.number(5), 1});
       }},
      {"heed_graph_linear", [](S s) { s.linear(s.number(2), s.given(4).index); }},
      {"heed_graph_rows_of",
       [](S s) {
         const int table = s.given(1).index;
         std::string format = s.formats_.at(table);
         if (format.size() > 2 && format.substr(format.size() - 2) == ".i") format.resize(format.size() - 2);
         s.all_.rows("gather " + format, s.number(3), s.p_.constants[static_cast<size_t>(table)].n_in);
       }},
      {"heed_graph_norm", [](S s) { s.all_.rows("norm " + s.name(0), s.number(3), s.number(4)); }},
      {"heed_graph_group_norm", [](S s) { s.group_norm(); }},
      {"heed_graph_softmax", [](S s) { s.all_.rows("rows softmax", s.number(2), s.number(3)); }},
      {"heed_graph_activation", [](S s) { s.activation(); }},
      {"heed_graph_add", [](S s) { s.all_.rows("add f32", s.number(3), s.number(4)); }},
      {"heed_graph_mean_rows", [](S s) { s.columns("rows mean", s.number(2), s.number(3)); }},
      {"heed_graph_multiply", [](S s) { s.multiply(); }},
      {"heed_graph_attend", [](S s) { s.attend(); }},
      {"heed_graph_lstm", [](S s) { s.recurrent("step lstm", s.given(5).index, -1, s.number(6), s.number(7)); }},
      {"heed_graph_gru",
       [](S s) {
         const int more = s.is_null(6) ? -1 : s.given(6).index;
         s.recurrent("step gru", s.given(4).index, more, s.number(7), s.number(8));
       }},
      {"heed_graph_convolve", [](S s) { s.convolve(); }}};
  return all;
}

}  // namespace

std::map<const step *, double> shares_of_zeros(const steps &p, heed_import::span file, bool exact) {
  std::map<const step *, double> shares;
  const auto is_convolution = [](const step &s) { return s.function == "heed_graph_convolve"; };
  if (std::none_of(p.list.begin(), p.list.end(), is_convolution)) return shares;
  step_runner runner(p, file, exact);
  for (size_t i = 0; i < p.inputs.size(); ++i) fill_input(p, static_cast<int>(i), runner.input(i));
  runner.run([&](int number) {
    const step &s = p.list[static_cast<size_t>(number)];
    if (!is_convolution(s)) return;
    const int at = s.arguments[1].index;
    const auto n = static_cast<double>(p.storages[static_cast<size_t>(at)].count);
    const auto *const x = static_cast<const float *>(runner.storage_at(at));
    shares[&s] = n > 0 ? static_cast<double>(std::count(x, x + static_cast<size_t>(n), 0.0f)) / n : 0;
  });
  return shares;
}

run_costs instructions_of_steps(const std::string &core, const steps &p, const std::vector<tensor> &weights,
                                const std::vector<bool> &in_integers, const std::map<const step *, double> &zeros) {
  step_costs all(core, p, weights, in_integers, zeros);
  for (const step &s : p.list) all.add(s);
  return {{"a run", all.sum()}};
}

}  // namespace heed_compile
