// Operators that make one number of many, and softmax. See operators.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "operators.hpp"

namespace heed_compile {

void softmax_rows(array &a) {
  const size_t length = static_cast<size_t>(a.dims.back());
  for (size_t first = 0; first < a.numbers.size(); first += length) {
    double *const row = a.numbers.data() + first;
    const double most = *std::max_element(row, row + length);
    double sum = 0;
    for (size_t k = 0; k < length; ++k) sum += row[k] = std::exp(row[k] - most);
    for (size_t k = 0; k < length; ++k) row[k] /= sum;
  }
}

namespace {

// A reduction of rows: what it begins with, what a number adds, and what the end makes of it.
struct reduction {
  double first;
  double (*add)(double sum, double number);
  double (*end)(double sum, double count);
};

double as_it_is(double sum, double) { return sum; }
double plus(double sum, double number) { return sum + number; }

// Moves the axes to the end: rows of what is reduced.
array rows_of(const array &a, const std::vector<bool> &is_reduced, shape &kept) {
  std::vector<size_t> order;
  for (size_t d = 0; d < a.dims.size(); ++d)
    if (!is_reduced[d]) order.push_back(d);
  int64_t rows = 1, length = 1;
  for (const size_t d : order) rows *= a.dims[d];
  for (size_t d = 0; d < a.dims.size(); ++d)
    if (is_reduced[d]) order.push_back(d), length *= a.dims[d];
  kept = a.dims;
  for (size_t d = 0; d < a.dims.size(); ++d)
    if (is_reduced[d]) kept[d] = 1;
  return reshaped(transposed(a, order), {rows, length});
}

using row_function = std::function<double(const double *row, int64_t length)>;

results reduce(const call &c, const row_function &f) {
  const array &a = c.in(0);
  const size_t rank = a.dims.size();
  const std::vector<int64_t> given = c.axes_given(1);
  if (given.empty() && c.integer("noop_with_empty_axes", 0) != 0) {
    array made = a;
    for (double &number : made.numbers) number = f(&number, 1);
    return one(std::move(made));
  }
  std::vector<bool> is_reduced(rank, given.empty());
  for (const size_t d : c.axes(given, rank)) is_reduced[d] = true;
  shape kept;
  const array rows = rows_of(a, is_reduced, kept);
  array made = zeros_like(a, kept);
  for (size_t i = 0; i < made.numbers.size(); ++i)
    made.numbers[i] = f(rows.numbers.data() + i * static_cast<size_t>(rows.dims[1]), rows.dims[1]);
  if (a.kind == element::integers)
    for (double &number : made.numbers) number = std::trunc(number);
  if (a.kind == element::booleans)  // the greatest of none is false
    for (double &number : made.numbers) number = number > 0;
  if (c.integer("keepdims", 1) == 0) {
    shape dims;
    for (size_t d = 0; d < rank; ++d)
      if (!is_reduced[d]) dims.push_back(a.dims[d]);
    made.dims = dims;
  }
  return one(std::move(made));
}

void add_reduction(operations &all, const char *name, const reduction &r) {
  all[name] = [r](const call &c) {
    return reduce(c, [r](const double *row, int64_t length) {
      double sum = r.first;
      for (int64_t k = 0; k < length; ++k) sum = r.add(sum, row[k]);
      return r.end(sum, static_cast<double>(length));
    });
  };
}

double log_of_sum_of_exp(const double *row, int64_t length) {
  if (length == 0) return -INFINITY;
  const double most = *std::max_element(row, row + length);
  if (!std::isfinite(most)) return most;
  double sum = 0;
  for (int64_t k = 0; k < length; ++k) sum += std::exp(row[k] - most);
  return most + std::log(sum);
}

// Along one axis; before version 13 over all dimensions from the axis on.
results along_axis(const call &c, void (*f)(array &rows)) {
  const array &a = c.in(0);
  const size_t rank = a.dims.size();
  const int64_t given = c.integer("axis", c.opset < 13 ? 1 : -1);
  if (rank == 0) {
    c.axis(given == 1 ? 0 : given, 1);
    array made = reshaped(a, {1});
    f(made);
    return one(reshaped(made, {}));
  }
  const int64_t n = static_cast<int64_t>(rank);
  // An axis behind the last dimension leaves one number for each row.
  const size_t axis = c.opset < 13 && given == n ? rank : c.axis(given, rank);
  if (c.only_shapes || a.numbers.empty()) return one(array(a));
  if (c.opset < 13) {
    int64_t length = 1;
    for (size_t d = axis; d < rank; ++d) length *= a.dims[d];
    array rows = reshaped(a, {static_cast<int64_t>(a.numbers.size()) / length, length});
    f(rows);
    return one(reshaped(rows, a.dims));
  }
  std::vector<size_t> order;
  for (size_t d = 0; d < rank; ++d) order.push_back(d);
  std::swap(order[axis], order[rank - 1]);
  array rows = transposed(a, order);
  f(rows);
  return one(transposed(rows, order));
}

void log_softmax_rows(array &a) {
  const int64_t length = a.dims.back();
  for (size_t first = 0; first < a.numbers.size(); first += static_cast<size_t>(length)) {
    const double sum = log_of_sum_of_exp(a.numbers.data() + first, length);
    for (int64_t k = 0; k < length; ++k) a.numbers[first + static_cast<size_t>(k)] -= sum;
  }
}

void hardmax_rows(array &a) {
  const size_t length = static_cast<size_t>(a.dims.back());
  for (size_t first = 0; first < a.numbers.size(); first += length) {
    double *const row = a.numbers.data() + first;
    const auto best = std::max_element(row, row + length) - row;
    std::fill(row, row + length, 0.0);
    row[best] = 1;
  }
}

}  // namespace

void add_reductions(operations &all) {
  add_reduction(all, "ReduceSum", {0, plus, as_it_is});
  add_reduction(all, "ReduceMean", {0, plus, [](double sum, double count) { return sum / count; }});
  add_reduction(all, "ReduceProd", {1, [](double sum, double number) { return sum * number; }, as_it_is});
  add_reduction(all, "ReduceMax",
                {-INFINITY, [](double sum, double number) { return std::max(sum, number); }, as_it_is});
  add_reduction(all, "ReduceMin",
                {INFINITY, [](double sum, double number) { return std::min(sum, number); }, as_it_is});
  add_reduction(all, "ReduceL1", {0, [](double sum, double number) { return sum + std::fabs(number); }, as_it_is});
  add_reduction(all, "ReduceSumSquare", {0, [](double sum, double number) { return sum + number * number; }, as_it_is});
  add_reduction(all, "ReduceL2",
                {0, [](double sum, double number) { return sum + number * number; },
                 [](double sum, double) { return std::sqrt(sum); }});
  add_reduction(all, "ReduceLogSum", {0, plus, [](double sum, double) { return std::log(sum); }});
  all["ReduceLogSumExp"] = [](const call &c) { return reduce(c, log_of_sum_of_exp); };
  all["Softmax"] = [](const call &c) { return along_axis(c, softmax_rows); };
  all["LogSoftmax"] = [](const call &c) { return along_axis(c, log_softmax_rows); };
  all["Hardmax"] = [](const call &c) { return along_axis(c, hardmax_rows); };
}

}  // namespace heed_compile
