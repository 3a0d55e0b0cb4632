// LSTM and GRU as steps: what the input gives to all gates is one linear layer, the rest a function of graph_recurrent.h for each
// direction. See lower.hpp. SPDX-License-Identifier: MIT
#include "lower.hpp"
#include "operators.hpp"

namespace heed_compile {
namespace {

std::vector<float> floats_from(const std::vector<double> &numbers, int64_t first, int64_t n) {
  const auto begin = numbers.begin() + static_cast<ptrdiff_t>(first);
  return {begin, begin + static_cast<ptrdiff_t>(n)};
}

}  // namespace

// Rows first to first + n_out of a constant whose last dimension is n_in.
int lowering::rows_as_matrix(const graph_node &n, int v, int64_t first, int64_t n_out, int64_t n_in) {
  const graph_value &of = value(v);
  if (first == 0 && count_of(of.dims) == n_out * n_in) return matrix_of(n, v, HEED_OUT_IN, n_in, n_out);
  const auto make = [&of, first, n_out, n_in] {
    tensor t;
    heed_import::bytes to;
    for (const float f : floats_from(numbers_of(of)->numbers, first * n_in, n_out * n_in)) heed_import::put(to, f);
    t.dims = {static_cast<uint32_t>(n_out), static_cast<uint32_t>(n_in)};
    t.own(std::move(to));
    return t;
  };
  return new_matrix(n, of.name, n_in, n_out, make);
}

// The state before the first step.
view lowering::first_state(const graph_node &n, size_t i, const shape &dims, const std::string &name) {
  const view to = new_array(element::floats, dims, name);
  if (has_input(n, i)) {
    const view from = view_of(n, i);
    expect(from.dims == dims, n, "has an initial state of another shape");
    copy(n, to, from);
  } else {
    add(n, "heed_graph_fill", {write(to), real_number(0), number(count_of(dims))});
  }
  return to;
}

void lowering::expect_usual_layer(const graph_node &n, const std::vector<std::string> &usual) const {
  expect(integer_of(n, "layout", 0) == 0, n, "has its batch first (layout=1)");
  expect(n.attributes.count("clip") == 0, n, "clips its gates");
  expect(integer_of(n, "input_forget", 0) == 0, n, "couples its gates (input_forget)");
  expect(!has_input(n, 4), n, "has sequences of different lengths");
  expect(!has_input(n, 7), n, "has peepholes");
  const auto given = n.attributes.find("activations");
  if (given == n.attributes.end()) return;
  const std::vector<std::string> &names = given->second.texts;
  for (size_t i = 0; i < names.size(); ++i)
    expect(names[i] == usual[i % usual.size()], n,
           "has the activation " + names[i] + " where " + usual[i % usual.size()] + " is usual");
}

void lowering::recurrent(const graph_node &n) {
  const bool is_lstm = n.operation == "LSTM";
  expect_usual_layer(
      n, is_lstm ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"} : std::vector<std::string>{"Sigmoid", "Tanh"});
  const view x = view_of(n, 0);
  const graph_value &w = value(n.inputs.at(1)), &r = value(n.inputs.at(2));
  expect(w.is_constant && r.is_constant && w.dims.size() == 3 && r.dims.size() == 3 && x.dims.size() == 3, n,
         "is known with constant weights alone");
  const int64_t n_steps = x.dims[0], n_batch = x.dims[1], n_in = x.dims[2], n_hidden = r.dims[2],
                directions = w.dims[0];
  const int64_t n_gates = is_lstm ? 4 : 3, n_out = n_gates * n_hidden;
  expect(w.dims == shape{directions, n_out, n_in} && r.dims == shape{directions, n_out, n_hidden} && n_steps > 0, n,
         "has weights that do not fit its input");
  const std::string way = text_of(n, "direction", "forward");
  const bool is_reset_first = !is_lstm && integer_of(n, "linear_before_reset", 0) == 0;
  const std::vector<double> biases = constant_numbers(n, 3);
  const int64_t n_state = n_batch * n_hidden;
  const shape states = {directions, n_batch, n_hidden};
  number(n_batch * n_out), number(directions * n_state);
  const bool makes_rows = n.outputs.at(0) != no_value;
  view y, hidden = first_state(n, 5, states, n.name + "_hidden"), cell;
  if (is_lstm) cell = first_state(n, 6, states, n.name + "_cell");
  if (makes_rows) y = result(n);
  for (int64_t d = 0; d < directions; ++d) {
    const std::string name = n.name + (d == 0 ? "" : "_reverse");
    // Biases of the input and of the hidden state; the latter stands within the reset gate, if the product comes first.
    view bias, own;
    if (!biases.empty()) {
      std::vector<float> all = floats_from(biases, d * 2 * n_out, n_out);
      const std::vector<float> more = floats_from(biases, d * 2 * n_out + n_out, n_out);
      const bool is_apart = !is_lstm && !is_reset_first;
      const size_t n_joined = static_cast<size_t>(is_apart ? 2 * n_hidden : n_out);
      std::vector<float> apart(more.size(), 0);
      for (size_t i = 0; i < more.size(); ++i) (i < n_joined ? all : apart)[i] += more[i];
      bias = constant_floats(all, {n_out}, name + "_bias");
      if (is_apart) own = constant_floats(apart, {n_out}, name + "_hidden_bias");
    }
    const view gates = new_array(element::floats, {n_steps, n_batch, n_out}, name + "_gates"),
               room = new_array(element::floats, {4, n_batch, n_hidden}, name + "_room");
    linear_of(n, x, rows_as_matrix(n, n.inputs[1], d * n_out, n_out, n_in), biases.empty() ? nullptr : &bias, gates);
    const auto part = [&](view v) {
      v.offset += d * n_state;
      return write(v);
    };
    const argument rows = makes_rows ? part(y) : null(), is_reverse = number(way == "reverse" || d == 1 ? 1 : 0);
    const int64_t n_first = is_reset_first ? 2 * n_hidden : n_out;
    const argument first = weights(rows_as_matrix(n, n.inputs[2], d * n_out, n_first, n_hidden));
    const argument steps_ = number(n_steps), batch = number(n_batch), stride = number(directions * n_state);
    if (is_lstm) {
      add(n, "heed_graph_lstm",
          {rows, part(hidden), part(cell), write(room), read(gates), first, steps_, batch, stride, is_reverse,
           executor()});
      continue;
    }
    const argument fresh =
        is_reset_first ? weights(rows_as_matrix(n, n.inputs[2], d * n_out + n_first, n_hidden, n_hidden)) : null();
    add(n, "heed_graph_gru",
        {rows, part(hidden), write(room), read(gates), first, own.at >= 0 ? read(own) : null(), fresh, steps_, batch,
         stride, is_reverse, executor()});
  }
  if (n.outputs.size() > 1 && n.outputs[1] != no_value) set(n, hidden, 1);
  if (n.outputs.size() > 2 && n.outputs[2] != no_value) set(n, cell, 2);
}

}  // namespace heed_compile
