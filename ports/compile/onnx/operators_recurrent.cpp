// Recurrent layers. See operators.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "operators.hpp"

namespace heed_compile {
namespace {

using activation = double (*)(double);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double hyperbolic(double x) { return std::tanh(x); }
double rectified(double x) { return x < 0 ? 0 : x; }

activation activation_of(const call &c, const std::string &name) {
  if (name == "Sigmoid") return sigmoid;
  if (name == "Tanh") return hyperbolic;
  if (name == "Relu") return rectified;
  c.refuse("has the activation " + name + ", which is not known in a recurrent layer");
}

// A layer in one direction: views of its weights.
struct direction {
  const double *w, *r;       // (gates * hidden, inputs) and (gates * hidden, hidden)
  std::vector<double> bias;  // 2 * gates * hidden: of w, and of r
  const double *peepholes;   // 3 * hidden, or null
  activation f, g, h;
  bool is_reversed;
};

struct sizes {
  int64_t steps, batch, inputs, hidden, gates, directions;
};

// x W^T + b of one gate, for one row.
double gate_of(const double *weights, const double *x, int64_t n, int64_t row) {
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += weights[row * n + k] * x[k];
  return sum;
}

// Sums of all gates: those of the input and those of the hidden state, apart.
void gates_of(const direction &d, const sizes &s, const double *x, const double *hidden, std::vector<double> &of_x,
              std::vector<double> &of_h) {
  const int64_t n = s.gates * s.hidden;
  for (int64_t row = 0; row < n; ++row) {
    of_x[static_cast<size_t>(row)] = gate_of(d.w, x, s.inputs, row) + d.bias[static_cast<size_t>(row)];
    of_h[static_cast<size_t>(row)] = gate_of(d.r, hidden, s.hidden, row) + d.bias[static_cast<size_t>(n + row)];
  }
}

using step = void (*)(const call &c, const direction &d, const sizes &s, const double *x, double *hidden, double *cell);

struct room {
  std::vector<double> of_x, of_h;
  explicit room(const sizes &s) : of_x(static_cast<size_t>(s.gates * s.hidden)), of_h(of_x) {}
};

// Gates i, o, f, c.
void lstm_step(const call &, const direction &d, const sizes &s, const double *x, double *hidden, double *cell) {
  room r(s);
  gates_of(d, s, x, hidden, r.of_x, r.of_h);
  for (int64_t k = 0; k < s.hidden; ++k) {
    const auto sum = [&](int64_t gate) {
      return r.of_x[static_cast<size_t>(gate * s.hidden + k)] + r.of_h[static_cast<size_t>(gate * s.hidden + k)];
    };
    const auto peep = [&](int64_t gate, double state) {
      return d.peepholes == nullptr ? 0 : d.peepholes[gate * s.hidden + k] * state;
    };
    const double in = d.f(sum(0) + peep(0, cell[k])), forget = d.f(sum(2) + peep(2, cell[k]));
    cell[k] = forget * cell[k] + in * d.g(sum(3));
    hidden[k] = d.f(sum(1) + peep(1, cell[k])) * d.h(cell[k]);
  }
}

// Gates z, r, h.
void gru_step(const call &c, const direction &d, const sizes &s, const double *x, double *hidden, double *) {
  room r(s);
  gates_of(d, s, x, hidden, r.of_x, r.of_h);
  const auto place = [&](int64_t gate, int64_t k) { return static_cast<size_t>(gate * s.hidden + k); };
  std::vector<double> reset(static_cast<size_t>(s.hidden)), held(reset), made(reset);
  for (int64_t k = 0; k < s.hidden; ++k) {
    reset[static_cast<size_t>(k)] = d.f(r.of_x[place(1, k)] + r.of_h[place(1, k)]);
    held[static_cast<size_t>(k)] = reset[static_cast<size_t>(k)] * hidden[k];
  }
  const bool is_linear_first = c.integer("linear_before_reset", 0) != 0;
  const int64_t n = s.gates * s.hidden;
  for (int64_t k = 0; k < s.hidden; ++k) {
    double of_hidden = reset[static_cast<size_t>(k)] * r.of_h[place(2, k)];
    if (!is_linear_first)
      of_hidden = gate_of(d.r, held.data(), s.hidden, 2 * s.hidden + k) + d.bias[static_cast<size_t>(n) + place(2, k)];
    const double z = d.f(r.of_x[place(0, k)] + r.of_h[place(0, k)]);
    made[static_cast<size_t>(k)] = (1 - z) * d.g(r.of_x[place(2, k)] + of_hidden) + z * hidden[k];
  }
  std::copy(made.begin(), made.end(), hidden);
}

void rnn_step(const call &, const direction &d, const sizes &s, const double *x, double *hidden, double *) {
  room r(s);
  gates_of(d, s, x, hidden, r.of_x, r.of_h);
  for (int64_t k = 0; k < s.hidden; ++k)
    hidden[k] = d.f(r.of_x[static_cast<size_t>(k)] + r.of_h[static_cast<size_t>(k)]);
}

array initial_state(const call &c, size_t input, const sizes &s) {
  const shape dims = {s.directions, s.batch, s.hidden};
  if (!c.has(input)) return zeros_of(element::floats, dims);
  c.expect(c.in(input).dims == dims, "has an initial state of another shape");
  return c.in(input);
}

results recurrent(const call &c, int64_t gates, const std::vector<std::string> &usual, step one_step, bool has_cell) {
  c.expect(c.integer("layout", 0) == 0, "has its batch first (layout=1), which is not known");
  c.expect(!c.has_attribute("clip"), "clips its gates, which is not known");
  c.expect(c.integer("input_forget", 0) == 0, "couples its gates (input_forget), which is not known");
  c.expect(!c.has(4), "has sequences of different lengths, which are not known");
  const array &x = c.in(0), &w = c.in(1), &r = c.in(2);
  c.expect(x.dims.size() == 3 && w.dims.size() == 3 && r.dims.size() == 3, "has an input or weights of a wrong shape");
  const std::string way = c.text("direction", "forward");
  const int64_t directions = way == "bidirectional" ? 2 : 1;
  c.expect(way == "forward" || way == "reverse" || directions == 2, "has a direction that is not known");
  const sizes s = {x.dims[0], x.dims[1], x.dims[2], r.dims[2], gates, directions};
  const shape of_w = {directions, gates * s.hidden, s.inputs}, of_r = {directions, gates * s.hidden, s.hidden};
  c.expect(w.dims == of_w && r.dims == of_r, "has weights that do not fit its input");
  c.expect(c.integer("hidden_size", s.hidden) == s.hidden, "has a hidden_size that is not that of its weights");
  const size_t n_bias = static_cast<size_t>(2 * gates * s.hidden);
  c.expect(!c.has(3) || c.in(3).numbers.size() == n_bias * static_cast<size_t>(directions),
           "has a bias that is not of its gates");
  const bool has_peepholes = has_cell && c.has(7);
  c.expect(!has_peepholes || static_cast<int64_t>(c.in(7).numbers.size()) == directions * 3 * s.hidden,
           "has peepholes that are not of its gates");
  std::vector<std::string> names;
  const auto given = c.node.attributes.find("activations");
  if (given != c.node.attributes.end()) names = given->second.texts;
  for (int64_t i = 0; names.empty() && i < directions; ++i)
    for (const std::string &name : usual) names.push_back(name);
  for (size_t i = names.size(); i < usual.size() * static_cast<size_t>(directions); ++i)
    names.push_back(names[i % usual.size()]);
  array state = initial_state(c, 5, s), cells = zeros_of(element::floats, state.dims);
  if (has_cell) cells = initial_state(c, 6, s);
  array rows = zeros_like(x, {s.steps, directions, s.batch, s.hidden});
  for (int64_t way_index = 0; !c.only_shapes && way_index < directions; ++way_index) {
    const size_t first = static_cast<size_t>(way_index) * usual.size(), last = first + usual.size() - 1;
    direction d;
    d.w = w.numbers.data() + way_index * gates * s.hidden * s.inputs;
    d.r = r.numbers.data() + way_index * gates * s.hidden * s.hidden;
    d.bias.assign(n_bias, 0);
    if (c.has(3))
      std::copy_n(c.in(3).numbers.begin() + way_index * static_cast<int64_t>(n_bias), n_bias, d.bias.begin());
    d.peepholes = has_peepholes ? c.in(7).numbers.data() + way_index * 3 * s.hidden : nullptr;
    d.f = activation_of(c, names[first]);
    d.g = activation_of(c, names[std::min(first + 1, last)]);
    d.h = activation_of(c, names[last]);
    d.is_reversed = way == "reverse" || way_index == 1;
    for (int64_t t = 0; t < s.steps; ++t) {
      const int64_t at = d.is_reversed ? s.steps - 1 - t : t;
      for (int64_t b = 0; b < s.batch; ++b) {
        double *const hidden = state.numbers.data() + (way_index * s.batch + b) * s.hidden;
        double *const cell = cells.numbers.data() + (way_index * s.batch + b) * s.hidden;
        one_step(c, d, s, x.numbers.data() + (at * s.batch + b) * s.inputs, hidden, cell);
        std::copy_n(hidden, s.hidden, rows.numbers.begin() + ((at * directions + way_index) * s.batch + b) * s.hidden);
      }
    }
  }
  results all = one(std::move(rows));
  all.push_back(std::move(state));
  if (has_cell) all.push_back(std::move(cells));
  return all;
}

}  // namespace

void add_recurrent(operations &all) {
  all["LSTM"] = [](const call &c) { return recurrent(c, 4, {"Sigmoid", "Tanh", "Tanh"}, lstm_step, true); };
  all["GRU"] = [](const call &c) { return recurrent(c, 3, {"Sigmoid", "Tanh"}, gru_step, false); };
  all["RNN"] = [](const call &c) { return recurrent(c, 1, {"Tanh"}, rnn_step, false); };
}

}  // namespace heed_compile
