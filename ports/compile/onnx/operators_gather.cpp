// Operators that choose numbers by their place or by their size. See operators.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <numeric>

#include "operators.hpp"

namespace heed_compile {
namespace {

// Places in a dimension of n numbers, which may count from the end.
std::vector<int64_t> places_in(const call &c, size_t input, int64_t n) {
  std::vector<int64_t> places = c.integers_in(input);
  for (int64_t &place : places) {
    if (place < 0) place += n;
    if (place < 0 || place >= n) c.refuse("has an index that is not in its dimension of " + std::to_string(n));
  }
  return places;
}

results gather(const call &c) {
  const array &data = c.in(0), &indices = c.in(1);
  const size_t axis = c.axis(c.integer("axis", 0), data.dims.size());
  const std::vector<int64_t> places = places_in(c, 1, data.dims[axis]);
  shape dims(data.dims.begin(), data.dims.begin() + static_cast<int64_t>(axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + static_cast<int64_t>(axis) + 1, data.dims.end());
  array made = zeros_like(data, dims);
  if (c.only_shapes) return one(std::move(made));
  const lines from(data.dims, axis);
  auto to = made.numbers.begin();
  for (int64_t o = 0; o < from.outer; ++o)
    for (const int64_t place : places) to = std::copy_n(data.numbers.begin() + from.at(o, place, 0), from.stride, to);
  return one(std::move(made));
}

// For each number of the indices its place in `dims`, where the dimension `axis` is the index itself.
std::vector<int64_t> element_places(const call &c, const shape &dims, const array &indices, size_t axis) {
  c.expect(indices.dims.size() == dims.size(), "has indices with another number of dimensions");
  for (size_t d = 0; d < dims.size(); ++d)
    c.expect(d == axis || indices.dims[d] <= dims[d], "has more indices than numbers");
  std::vector<int64_t> places = places_in(c, 1, dims[axis]);
  const std::vector<int64_t> strides = strides_of(dims), steps = strides_of(indices.dims);
  for (size_t i = 0; i < places.size(); ++i) {
    int64_t place = places[i] * strides[axis], rest = static_cast<int64_t>(i);
    for (size_t d = 0; d < dims.size(); ++d) {
      if (d != axis) place += rest / steps[d] * strides[d];
      rest %= steps[d];
    }
    places[i] = place;
  }
  return places;
}

results gather_elements(const call &c) {
  const array &data = c.in(0), &indices = c.in(1);
  const size_t axis = c.axis(c.integer("axis", 0), data.dims.size());
  array made = zeros_like(data, indices.dims);
  const std::vector<int64_t> places = element_places(c, data.dims, indices, axis);
  for (size_t i = 0; i < places.size(); ++i) made.numbers[i] = data.numbers[static_cast<size_t>(places[i])];
  return one(std::move(made));
}

double reduced(const call &c, const std::string &how, double before, double update) {
  if (how == "none") return update;
  if (how == "add") return before + update;
  if (how == "mul") return before * update;
  if (how == "max") return std::max(before, update);
  if (how == "min") return std::min(before, update);
  c.refuse("has the reduction " + how + ", which is not known");
}

results scatter_elements(const call &c) {
  const array &indices = c.in(1), &updates = c.in(2);
  array made = c.in(0);
  c.expect(updates.dims == indices.dims, "has updates of another shape than its indices");
  const size_t axis = c.axis(c.integer("axis", 0), made.dims.size());
  const std::string how = c.text("reduction", "none");
  const std::vector<int64_t> places = element_places(c, made.dims, indices, axis);
  for (size_t i = 0; i < places.size(); ++i) {
    double &number = made.numbers[static_cast<size_t>(places[i])];
    number = reduced(c, how, number, updates.numbers[i]);
  }
  return one(std::move(made));
}

// Of GatherND and ScatterND: rows of indices lead to slices of `dims` behind its first `batch` dimensions.
struct slices {
  std::vector<int64_t> places;  // of their first number
  int64_t length = 1;           // of each
  shape inner;
};

slices slices_of(const call &c, const shape &dims, const array &indices, size_t batch) {
  slices s;
  c.expect(!indices.dims.empty(), "has indices without a dimension");
  const int64_t depth = indices.dims.back();
  const size_t rank = dims.size();
  c.expect(
      batch < indices.dims.size() && depth >= 0 && depth <= static_cast<int64_t>(rank) - static_cast<int64_t>(batch),
      "has indices of more dimensions than its input");
  int64_t n_batches = 1;
  for (size_t d = 0; d < batch; ++d) {
    c.expect(dims[d] == indices.dims[d], "has indices of another batch than its input");
    n_batches *= dims[d];
  }
  const std::vector<int64_t> strides = strides_of(dims), numbers = c.integers_in(1);
  for (size_t d = batch + static_cast<size_t>(depth); d < rank; ++d) s.inner.push_back(dims[d]), s.length *= dims[d];
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < indices.dims.size(); ++d) rows *= indices.dims[d];
  const int64_t rows_each = n_batches == 0 ? 0 : rows / n_batches;
  const int64_t batch_stride = batch == 0 ? 0 : strides[batch - 1];
  for (int64_t row = 0; row < rows; ++row) {
    int64_t place = row / rows_each * batch_stride;
    for (int64_t k = 0; k < depth; ++k) {
      const size_t d = batch + static_cast<size_t>(k);
      int64_t index = numbers[static_cast<size_t>(row * depth + k)];
      if (index < 0) index += dims[d];
      c.expect(index >= 0 && index < dims[d], "has an index that is not in its dimension");
      place += index * strides[d];
    }
    s.places.push_back(place);
  }
  return s;
}

results gather_nd(const call &c) {
  const array &data = c.in(0), &indices = c.in(1);
  const int64_t batch = c.integer("batch_dims", 0);
  c.expect(batch >= 0 && batch < static_cast<int64_t>(std::min(data.dims.size() + 1, indices.dims.size())),
           "has more batch_dims than dimensions");
  const slices s = slices_of(c, data.dims, indices, static_cast<size_t>(batch));
  shape dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), s.inner.begin(), s.inner.end());
  array made = zeros_like(data, dims);
  auto to = made.numbers.begin();
  for (const int64_t place : s.places) to = std::copy_n(data.numbers.begin() + place, s.length, to);
  return one(std::move(made));
}

results scatter_nd(const call &c) {
  const array &updates = c.in(2);
  array made = c.in(0);
  const slices s = slices_of(c, made.dims, c.in(1), 0);
  const std::string how = c.text("reduction", "none");
  c.expect(updates.numbers.size() == s.places.size() * static_cast<size_t>(s.length),
           "has more or fewer updates than its indices ask for");
  size_t next = 0;
  for (const int64_t place : s.places) {
    for (int64_t k = 0; k < s.length; ++k) {
      double &number = made.numbers[static_cast<size_t>(place + k)];
      number = reduced(c, how, number, updates.numbers[next++]);
    }
  }
  return one(std::move(made));
}

results one_hot(const call &c) {
  const array &indices = c.in(0), &values = c.in(2);
  const int64_t depth = c.integer_in(1);
  c.expect(values.numbers.size() == 2 && depth >= 0 && depth <= most_numbers,
           "has values that are not two, or a wrong depth");
  const size_t axis = c.axis(c.integer("axis", -1), indices.dims.size() + 1);
  shape dims = indices.dims;
  dims.insert(dims.begin() + static_cast<int64_t>(axis), depth);
  array made = zeros_like(values, dims);
  std::fill(made.numbers.begin(), made.numbers.end(), values.numbers[0]);
  const lines to(dims, axis);
  for (size_t i = 0; i < indices.numbers.size(); ++i) {
    const double given = std::trunc(indices.numbers[i]);
    const double place = given < 0 ? given + static_cast<double>(depth) : given;
    if (!(place >= 0 && place < static_cast<double>(depth))) continue;
    const int64_t o = static_cast<int64_t>(i) / to.stride, inner = static_cast<int64_t>(i) % to.stride;
    made.numbers[static_cast<size_t>(to.at(o, static_cast<int64_t>(place), inner))] = values.numbers[1];
  }
  return one(std::move(made));
}

results trilu(const call &c) {
  array made = c.in(0);
  const size_t rank = made.dims.size();
  c.expect(rank >= 2, "has an input that is no matrix");
  const int64_t k = c.has(1) && !c.in(1).numbers.empty() ? c.integer_in(1) : 0;
  const bool is_upper = c.integer("upper", 1) != 0;
  const int64_t rows = made.dims[rank - 2], columns = made.dims[rank - 1];
  const int64_t first = std::min(std::max(k, -rows - 1), columns + 1);
  for (size_t i = 0; i < made.numbers.size(); ++i) {
    const int64_t place = static_cast<int64_t>(i) % (rows * columns);
    const int64_t diagonal = place % columns - place / columns;
    const bool stays = is_upper ? diagonal >= first : diagonal <= first;
    if (!stays) made.numbers[i] = 0;
  }
  return one(std::move(made));
}

results cumulative_sum(const call &c) {
  const array &a = c.in(0);
  const size_t axis = c.axis(c.integer_in(1), a.dims.size());
  const bool exclusive = c.integer("exclusive", 0) != 0, reverse = c.integer("reverse", 0) != 0;
  array made = zeros_like(a, a.dims);
  const lines l(a.dims, axis);
  for (int64_t o = 0; o < l.outer; ++o) {
    for (int64_t inner = 0; inner < l.stride; ++inner) {
      double sum = 0;
      for (int64_t step = 0; step < l.length; ++step) {
        const size_t place = static_cast<size_t>(l.at(o, reverse ? l.length - 1 - step : step, inner));
        if (exclusive) made.numbers[place] = sum;
        sum += a.numbers[place];
        if (!exclusive) made.numbers[place] = sum;
      }
    }
  }
  return one(std::move(made));
}

results arg_most(const call &c, bool greatest) {
  const array &a = c.in(0);
  const size_t axis = c.axis(c.integer("axis", 0), a.dims.size());
  const bool takes_last = c.integer("select_last_index", 0) != 0;
  c.expect(a.dims[axis] > 0, "has no numbers to choose from");
  shape dims = a.dims;
  dims[axis] = 1;
  array made = zeros_of(element::integers, dims, type_int64);
  const lines l(a.dims, axis);
  for (int64_t o = 0; o < l.outer; ++o) {
    for (int64_t inner = 0; inner < l.stride; ++inner) {
      int64_t best = 0;
      for (int64_t k = 1; k < l.length; ++k) {
        const double here = a.numbers[size_t(l.at(o, k, inner))], there = a.numbers[size_t(l.at(o, best, inner))];
        const bool is_better = greatest ? here > there : here < there;
        if (is_better || (takes_last && here == there)) best = k;
      }
      made.numbers[static_cast<size_t>(o * l.stride + inner)] = static_cast<double>(best);
    }
  }
  if (c.integer("keepdims", 1) == 0) made.dims.erase(made.dims.begin() + static_cast<int64_t>(axis));
  return one(std::move(made));
}

results top_k(const call &c) {
  const array &a = c.in(0);
  const size_t axis = c.axis(c.integer("axis", -1), a.dims.size());
  const bool largest = c.integer("largest", 1) != 0;
  const int64_t k = c.has(1) ? c.integer_in(1) : c.integer("k", -1);
  c.expect(k >= 0 && k <= a.dims[axis], "has a k that is negative or larger than its dimension");
  shape dims = a.dims;
  dims[axis] = k;
  array values = zeros_like(a, dims), places = zeros_of(element::integers, dims, type_int64);
  const lines from(a.dims, axis), to(dims, axis);
  std::vector<int64_t> order(static_cast<size_t>(from.length));
  for (int64_t o = 0; o < from.outer; ++o) {
    for (int64_t inner = 0; inner < from.stride; ++inner) {
      std::iota(order.begin(), order.end(), 0);
      const auto number = [&](int64_t place) { return a.numbers[static_cast<size_t>(from.at(o, place, inner))]; };
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t x, int64_t y) { return largest ? number(x) > number(y) : number(x) < number(y); });
      for (int64_t i = 0; i < k; ++i) {
        const size_t place = static_cast<size_t>(to.at(o, i, inner));
        values.numbers[place] = number(order[static_cast<size_t>(i)]);
        places.numbers[place] = static_cast<double>(order[static_cast<size_t>(i)]);
      }
    }
  }
  results all;
  all.push_back(std::move(values));
  all.push_back(std::move(places));
  return all;
}

results non_zero(const call &c) {
  const array &a = c.in(0);
  const std::vector<int64_t> strides = strides_of(a.dims);
  std::vector<int64_t> found;
  for (size_t i = 0; i < a.numbers.size(); ++i)
    if (a.numbers[i] != 0) found.push_back(static_cast<int64_t>(i));
  const size_t n = found.size();
  array made = zeros_of(element::integers, {static_cast<int64_t>(a.dims.size()), static_cast<int64_t>(n)}, type_int64);
  for (size_t i = 0; i < n; ++i) {
    int64_t rest = found[i];
    for (size_t d = 0; d < a.dims.size(); ++d) {
      made.numbers[d * n + i] = static_cast<double>(rest / strides[d]);
      rest %= strides[d];
    }
  }
  return one(std::move(made));
}

results compress(const call &c) {
  const array &a = c.in(0), &condition = c.in(1);
  const bool has_axis = c.has_attribute("axis");
  const array flat = has_axis ? a : reshaped(a, {static_cast<int64_t>(a.numbers.size())});
  const size_t axis = has_axis ? c.axis(c.integer("axis", 0), a.dims.size()) : 0;
  std::vector<int64_t> chosen;
  for (size_t i = 0; i < condition.numbers.size() && static_cast<int64_t>(i) < flat.dims[axis]; ++i)
    if (condition.numbers[i] != 0) chosen.push_back(static_cast<int64_t>(i));
  shape dims = flat.dims;
  dims[axis] = static_cast<int64_t>(chosen.size());
  array made = zeros_like(a, dims);
  const lines from(flat.dims, axis);
  auto to = made.numbers.begin();
  for (int64_t o = 0; o < from.outer; ++o)
    for (const int64_t place : chosen) to = std::copy_n(flat.numbers.begin() + from.at(o, place, 0), from.stride, to);
  return one(std::move(made));
}

results reverse_sequence(const call &c) {
  const array &a = c.in(0);
  const int64_t time = c.integer("time_axis", 0), batch = c.integer("batch_axis", 1);
  c.expect(a.dims.size() >= 2 && (time == 0 || time == 1) && batch == 1 - time, "has axes that are not 0 and 1");
  const std::vector<int64_t> lengths = c.integers_in(1);
  c.expect(static_cast<int64_t>(lengths.size()) == a.dims[static_cast<size_t>(batch)],
           "has more or fewer lengths than its batch");
  array made = a;
  int64_t inner = 1;
  for (size_t d = 2; d < a.dims.size(); ++d) inner *= a.dims[d];
  const auto row = [&](int64_t t, int64_t b) { return (time == 0 ? t * a.dims[1] + b : b * a.dims[1] + t) * inner; };
  for (size_t b = 0; b < lengths.size(); ++b) {
    c.expect(lengths[b] >= 0 && lengths[b] <= a.dims[static_cast<size_t>(time)], "has a length that is too large");
    for (int64_t t = 0; t < lengths[b]; ++t)
      std::copy_n(a.numbers.begin() + row(lengths[b] - 1 - t, static_cast<int64_t>(b)), inner,
                  made.numbers.begin() + row(t, static_cast<int64_t>(b)));
  }
  return one(std::move(made));
}

}  // namespace

void add_gathers(operations &all) {
  all["Gather"] = gather;
  all["GatherElements"] = gather_elements;
  all["GatherND"] = gather_nd;
  all["Scatter"] = scatter_elements;
  all["ScatterElements"] = scatter_elements;
  all["ScatterND"] = scatter_nd;
  all["OneHot"] = one_hot;
  all["Trilu"] = trilu;
  all["CumSum"] = cumulative_sum;
  all["ArgMax"] = [](const call &c) { return arg_most(c, true); };
  all["ArgMin"] = [](const call &c) { return arg_most(c, false); };
  all["TopK"] = top_k;
  all["NonZero"] = non_zero;
  all["Compress"] = compress;
  all["ReverseSequence"] = reverse_sequence;
}

}  // namespace heed_compile
