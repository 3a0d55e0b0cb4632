// What moves numbers: most of it is a view. See lower.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "lower.hpp"
#include "operators.hpp"

namespace heed_compile {
void lowering::same(const graph_node &n) {
  for (size_t i = 1; i < n.outputs.size(); ++i) expect(n.outputs[i] == no_value, n, "has a mask as a result");
  set(n, view_of(n, 0));
}

void lowering::reshape(const graph_node &n) { set(n, flat(view_of(n, 0), value(n.outputs.at(0)).dims)); }

void lowering::transpose(const graph_node &n) {
  const view x = view_of(n, 0);
  const std::vector<int64_t> given = integers_of(n, "perm");
  const size_t rank = x.dims.size();
  std::vector<size_t> perm;
  for (size_t d = 0; d < rank; ++d) perm.push_back(rank - 1 - d);
  if (!given.empty()) {
    expect(given.size() == rank, n, "has a perm of another length");
    for (size_t d = 0; d < rank; ++d) perm[d] = axis_of(n, given[d], rank);
  }
  std::vector<size_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < rank; ++d) expect(sorted[d] == d, n, "has a perm that is none");
  set(n, turned(x, perm));
}

void lowering::expand(const graph_node &n) { set(n, broadcast(n, view_of(n, 0), value(n.outputs.at(0)).dims)); }

void lowering::slice(const graph_node &n) {
  view x = view_of(n, 0);
  const size_t rank = x.dims.size();
  const auto numbers = [&](size_t i, const char *name) {
    std::vector<double> all = constant_numbers(n, i);
    for (const int64_t one : integers_of(n, name)) all.push_back(static_cast<double>(one));
    return all;
  };
  const std::vector<double> starts = numbers(1, "starts"), ends = numbers(2, "ends"), axes = numbers(3, "axes"),
                            steps = constant_numbers(n, 4);
  expect(starts.size() == ends.size() && (axes.empty() || axes.size() == starts.size()) &&
             (steps.empty() || steps.size() == starts.size()),
         n, "has lists of different lengths");
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t axis = axis_of(n, axes.empty() ? static_cast<int64_t>(i) : static_cast<int64_t>(axes[i]), rank);
    const double step = steps.empty() ? 1 : steps[i];
    expect(step != 0 && std::fabs(step) < 1e9, n, "has a step of 0");
    const auto dim = static_cast<double>(x.dims[axis]);
    const auto clamped = [&](double at, double least, double most) {
      if (at < 0) at += dim;
      return std::min(std::max(at, least), most);
    };
    const double from = step > 0 ? clamped(starts[i], 0, dim) : clamped(starts[i], 0, dim - 1);
    const double to = step > 0 ? clamped(ends[i], 0, dim) : clamped(ends[i], -1, dim - 1);
    const double count = std::max(0.0, std::ceil((to - from) / step));
    x.offset += static_cast<int64_t>(from) * x.strides[axis];
    x.strides[axis] *= static_cast<int64_t>(step);
    x.dims[axis] = static_cast<int64_t>(count);
  }
  expect(x.dims == value(n.outputs.at(0)).dims, n, "has a result of another shape");
  set(n, x);
}

void lowering::split(const graph_node &n) {
  view x = view_of(n, 0);
  const size_t axis = axis_of(n, integer_of(n, "axis", 0), x.dims.size());
  int64_t at = 0;
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    view part = x;
    int64_t size = 0;
    if (n.outputs[i] != no_value) {
      size = value(n.outputs[i]).dims.at(axis);
    } else {
      const std::vector<double> sizes = constant_numbers(n, 1);
      size = i < sizes.size() ? static_cast<int64_t>(sizes[i]) : x.dims[axis] / static_cast<int64_t>(n.outputs.size());
    }
    expect(size >= 0 && at + size <= x.dims[axis], n, "has parts that are more than the whole");
    part.offset += at * x.strides[axis];
    part.dims[axis] = size;
    at += size;
    if (n.outputs[i] != no_value) set(n, part, i);
  }
}

void lowering::concat(const graph_node &n) {
  const view y = result_like(n, view_of(n, 0));
  const size_t axis = axis_of(n, integer_of(n, "axis", 0), y.dims.size());
  int64_t at = 0;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const view x = view_of(n, i);
    view to = y;
    expect(x.dims.size() == y.dims.size() && x.kind == y.kind && at + x.dims[axis] <= y.dims[axis], n,
           "has inputs whose shapes do not fit");
    to.dims[axis] = x.dims[axis];
    expect(to.dims == x.dims, n, "has inputs whose shapes do not fit");
    to.offset += at * y.strides[axis];
    at += x.dims[axis];
    copy(n, to, x);
  }
}

view lowering::padded(const graph_node &n, const view &x, const std::vector<int64_t> &before,
                      const std::vector<int64_t> &after, double number_outside) {
  shape dims = x.dims;
  view inside = x;
  bool is_padded = false;
  for (size_t d = 0; d < dims.size(); ++d) {
    dims[d] += before[d] + after[d];
    expect(dims[d] >= 0, n, "cuts more than there is");
    is_padded = is_padded || before[d] != 0 || after[d] != 0;
  }
  if (!is_padded) return x;
  const view y = new_array_like(x, x.kind, dims, n.name);
  expect(x.kind != element::booleans && number_outside == number_outside, n, "takes no booleans, and no NaN");
  const bool is_float = x.kind == element::floats;
  const double most = static_cast<double>(std::numeric_limits<float>::max());
  number_outside =
      std::min(std::max(number_outside, -most), most);  // C has no constant for infinity without its library
  add(n, is_float ? "heed_graph_fill" : "heed_graph_fill_integers",
      {write(y), is_float ? real_number(number_outside) : number(static_cast<int64_t>(number_outside)),
       number(count_of(dims))});
  view to = y;
  for (size_t d = 0; d < dims.size(); ++d) {  // a negative number cuts
    const int64_t skipped = std::max<int64_t>(0, -before[d]), cut = std::max<int64_t>(0, -after[d]);
    inside.offset += skipped * inside.strides[d];
    inside.dims[d] = std::max<int64_t>(0, inside.dims[d] - skipped - cut);
    to.offset += std::max<int64_t>(0, before[d]) * to.strides[d];
  }
  to.dims = inside.dims;
  copy(n, to, inside);
  return y;
}

// x with these places of an axis.
view lowering::picked(const graph_node &n, const view &x, size_t axis, const std::vector<int64_t> &indices) {
  view to = x;
  to.dims[axis] = static_cast<int64_t>(indices.size());
  const int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  bool is_even = !indices.empty();
  for (size_t i = 1; i < indices.size(); ++i) is_even = is_even && indices[i] - indices[i - 1] == step;
  if (is_even) {
    to.offset += indices[0] * x.strides[axis];
    to.strides[axis] *= step;
    return to;
  }
  const view from = whole(x), places = constant_integers(indices, n.name + "_indices");
  const view y = new_array(x.kind, to.dims, n.name);
  expect(x.kind != element::booleans, n, "takes no booleans");
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    if (d < axis) outer *= x.dims[d];
    if (d > axis) inner *= x.dims[d];
  }
  add(n, "heed_graph_gather",
      {write(y), read(from), read(places), number(outer), number(x.dims[axis]), number(to.dims[axis]), number(inner)});
  return y;
}

void lowering::pad(const graph_node &n) {
  view x = view_of(n, 0);
  const size_t rank = x.dims.size();
  std::vector<double> pads = constant_numbers(n, 1);
  for (const int64_t one : integers_of(n, "pads")) pads.push_back(static_cast<double>(one));
  std::vector<double> axes = constant_numbers(n, 3);
  if (axes.empty())
    for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<double>(d));
  expect(pads.size() == 2 * axes.size(), n, "has pads of another number than its axes");
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axis_of(n, static_cast<int64_t>(axes[i]), rank);
    expect(std::fabs(pads[i]) < 1e9 && std::fabs(pads[i + axes.size()]) < 1e9, n, "has a huge padding");
    before[axis] = static_cast<int64_t>(pads[i]);
    after[axis] = static_cast<int64_t>(pads[i + axes.size()]);
  }
  const std::string mode = text_of(n, "mode", "constant");
  if (mode == "constant") {
    const std::vector<double> given = constant_numbers(n, 2);
    set(n, padded(n, x, before, after, given.empty() ? real_of(n, "value", 0) : given[0]));
    return;
  }
  for (size_t d = 0; d < rank; ++d) {
    if (before[d] == 0 && after[d] == 0) continue;
    std::vector<int64_t> indices;
    const int64_t dim = x.dims[d], turn = std::max<int64_t>(1, 2 * (dim - 1));
    for (int64_t i = -before[d]; i < dim + after[d]; ++i) {
      int64_t at = i;
      if (mode == "edge") {
        at = std::min(std::max<int64_t>(i, 0), dim - 1);
      } else if (mode == "reflect") {
        at = ((i % turn) + turn) % turn;
        if (at >= dim) at = turn - at;
      } else {
        expect(mode == "wrap", n, "pads in a way that is not known");
        at = ((i % dim) + dim) % dim;
      }
      indices.push_back(at);
    }
    x = picked(n, x, d, indices);
  }
  set(n, x);
}

void lowering::tile(const graph_node &n) {
  view x = view_of(n, 0);
  const std::vector<double> repeats = constant_numbers(n, 1);
  expect(repeats.size() == x.dims.size(), n, "has another number of repeats than dimensions");
  // Each dimension is (repeats, dim), with a stride of 0.
  view wide = x;
  wide.dims.clear(), wide.strides.clear();
  for (size_t d = 0; d < x.dims.size(); ++d) {
    wide.dims.push_back(static_cast<int64_t>(repeats[d]));
    wide.strides.push_back(0);
    wide.dims.push_back(x.dims[d]);
    wide.strides.push_back(x.strides[d]);
  }
  set(n, flat(wide, value(n.outputs.at(0)).dims));
}

void lowering::gather(const graph_node &n) {
  const graph_value &table = value(n.inputs.at(0)), &which = value(n.inputs.at(1));
  const size_t axis = axis_of(n, integer_of(n, "axis", 0), table.dims.size());
  expect(which.kind == element::integers, n, "has indices that are no integers");
  const int64_t n_from = table.dims[axis];
  if (which.is_constant) {
    const view x = view_of(n, 0);
    std::vector<int64_t> indices;
    for (const double number : numbers_of(which)->numbers) {
      expect(number >= -static_cast<double>(n_from) && number < static_cast<double>(n_from), n,
             "has an index that its input has not");
      indices.push_back(static_cast<int64_t>(number < 0 ? number + static_cast<double>(n_from) : number));
    }
    const view y = picked(n, x, axis, indices);
    set(n, flat(y, value(n.outputs.at(0)).dims));
    return;
  }
  const view indices = whole(view_of(n, 1));
  const storage &from = p_.storages[static_cast<size_t>(indices.at)];
  const bool is_table = table.is_constant && table.kind == element::floats && table.dims.size() == 2 && axis == 0;
  if (from.where == place::input) p_.checks.push_back({from.index, is_table ? 0 : -n_from, n_from - 1});
  const auto limited = not_negative_.find(n.inputs[1]);
  if (limited != not_negative_.end()) p_.checks.push_back({limited->second, -INT32_MAX, n_from - 1});
  if (is_table) {
    const int w = matrix_of(n, n.inputs[0], HEED_OUT_IN, table.dims[1], table.dims[0]);
    p_.constants[static_cast<size_t>(w)].is_table = true;
    const view y = result(n);
    add(n, "heed_graph_rows_of", {write(y), weights(w), read(indices), number(count_of(indices.dims))});
    return;
  }
  const view x = whole(view_of(n, 0)), y = result(n);
  expect(x.kind != element::booleans, n, "takes no booleans");
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    if (d < axis) outer *= x.dims[d];
    if (d > axis) inner *= x.dims[d];
  }
  add(n, "heed_graph_gather",
      {write(y), read(x), read(indices), number(outer), number(n_from), number(count_of(indices.dims)), number(inner)});
}

void lowering::gather_each(const graph_node &n) {
  const view x = whole(view_of(n, 0)), indices = whole(view_of(n, 1)), y = result(n);
  const size_t axis = axis_of(n, integer_of(n, "axis", 0), x.dims.size());
  expect(x.kind != element::booleans && indices.kind == element::integers, n, "has inputs of another type");
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    if (d == axis) continue;
    expect(x.dims[d] == indices.dims[d], n, "is known for indices that are as many as the numbers but for the axis");
    (d < axis ? outer : inner) *= x.dims[d];
  }
  const storage &from = p_.storages[static_cast<size_t>(indices.at)];
  if (from.where == place::input) p_.checks.push_back({from.index, -x.dims[axis], x.dims[axis] - 1});
  add(n, "heed_graph_gather_each",
      {write(y), read(x), read(indices), number(outer), number(x.dims[axis]), number(indices.dims[axis]),
       number(inner)});
}

// Rows of indices, each for a dimension of its own. What comes in as an input is refused by its name where it is in none of them.
void lowering::indices(const graph_node &n) {
  const view x = view_of(n, 0);
  const storage &from = p_.storages[static_cast<size_t>(x.at)];
  const std::vector<int64_t> sizes = integers_of(n, "dims");
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  if (from.where == place::input) {
    const bool counts_from_end = integer_of(n, "positive", 0) == 0;
    p_.checks.push_back({from.index, counts_from_end ? -*most : 0, *most - 1});
    p_.checks.push_back({from.index, counts_from_end ? -*least : 0, *least - 1, false});
  }
  set(n, x);
}

// (data, rows, updates): matrices of rows.
void lowering::scatter(const graph_node &n) {
  const view x = view_of(n, 0), rows = whole(view_of(n, 1)), updates = whole(view_of(n, 2)), y = result(n);
  const bool adds = n.operation == "heed.scatter_sums";
  expect(x.kind == updates.kind && x.kind != element::booleans && !(adds && x.kind == element::integers), n,
         "has inputs of another type");
  copy(n, y, x);
  add(n, adds ? "heed_graph_scatter_sums" : "heed_graph_scatter",
      {write(y), read(updates), read(rows), number(x.dims.at(0)), number(updates.dims.at(0)), number(x.dims.at(1))});
}

void lowering::trilu(const graph_node &n) {
  const view x = view_of(n, 0), y = result(n);
  const std::vector<double> given = constant_numbers(n, 1);
  expect(x.dims.size() >= 2, n, "has an input that is no matrix");
  const double k = given.empty() ? 0 : given[0];
  const bool is_upper = integer_of(n, "upper", 1) != 0;
  const int64_t n_rows = x.dims[x.dims.size() - 2], dim = x.dims.back();
  const shape dims = {n_rows, dim};
  const auto make = [n_rows, dim, k, is_upper] {
    heed_import::bytes keeps;
    for (int64_t i = 0; i < n_rows; ++i)
      for (int64_t j = 0; j < dim; ++j) {
        const double distance = static_cast<double>(j - i);
        keeps.push_back((is_upper ? distance >= k : distance <= k) ? 1 : 0);
      }
    tensor t;
    t.dims = {static_cast<uint32_t>(keeps.size())};
    t.dtype = HEED_FILE_TEXT;
    t.is_metadata = true;
    t.own(std::move(keeps));
    return t;
  };
  expect(x.kind != element::booleans, n, "takes no booleans");
  const view keeps = broadcast(n, constant_array(element::booleans, dims, n.name + "_keeps", make), y.dims);
  const view zero = broadcast(
      n,
      x.kind == element::floats ? constant_floats({0}, {}, n.name + "_zero") : constant_integers({0}, n.name + "_zero"),
      y.dims);
  add(n, "heed_graph_choose", {write(y), read(keeps), read(x), read(zero), loop(n, {y, keeps, x, zero})});
}

}  // namespace heed_compile
