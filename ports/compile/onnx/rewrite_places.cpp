// Operators that read or write at the places of an input: GatherND, ScatterND, ScatterElements, OneHot. See rewrite.hpp. SPDX-License-Identifier: MIT
#include "rewrite.hpp"

namespace heed_compile {
namespace {

// Rows of `length` numbers behind the dimensions that indices lead to: `batch` of them count by themselves, then `depth`.
struct rows_of {
  std::vector<int64_t> sizes, strides;  // of the dimensions of an index, in rows
  int64_t n_rows = 1, length = 1, n_batches = 1, batch_stride = 1, n_indices = 1;
  size_t depth = 0;
};

rows_of rows_of_indices(const rewriter &r, const shape &dims, const shape &indices, size_t batch) {
  rows_of to;
  r.expect(!indices.empty() && indices.back() >= 1 && batch < indices.size(), "has indices without a dimension");
  to.depth = static_cast<size_t>(indices.back());
  const size_t end = batch + to.depth;
  r.expect(end <= dims.size(), "has indices of more dimensions than its input");
  to.sizes.assign(dims.begin() + static_cast<ptrdiff_t>(batch), dims.begin() + static_cast<ptrdiff_t>(end));
  to.length = product_of(dims, end, dims.size());
  to.n_batches = product_of(dims, 0, batch);
  to.batch_stride = product_of(dims, batch, end);
  to.n_rows = to.n_batches * to.batch_stride;
  to.n_indices = product_of(indices, 0, indices.size() - 1);
  for (size_t d = 0; d < to.depth; ++d) to.strides.push_back(product_of(to.sizes, d + 1, to.depth));
  r.expect(to.n_rows > 0 && to.n_indices > 0 && to.n_rows <= (int64_t{1} << 31) / (indices.back() + 2),
           "has an input without rows, or with too many");
  return to;
}

// The first row of the batch that each index is of.
std::vector<int64_t> first_rows(const rows_of &of) {
  std::vector<int64_t> all;
  const int64_t each = of.n_indices / of.n_batches;
  for (int64_t i = 0; i < of.n_indices; ++i) all.push_back(i / each * of.batch_stride);
  return all;
}

std::vector<int64_t> constant_rows(const rewriter &r, const rows_of &of, const std::vector<int64_t> &indices) {
  std::vector<int64_t> all = first_rows(of);
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t d = 0; d < of.depth; ++d) {
      int64_t index = indices.at(i * of.depth + d);
      if (index < 0) index += of.sizes[d];
      r.expect(index >= 0 && index < of.sizes[d], "has an index that is not in its dimension");
      all[i] += index * of.strides[d];
    }
  }
  return all;
}

int integers(rewriter &r, const std::vector<int64_t> &list, const shape &dims) {
  return r.constant(std::vector<double>(list.begin(), list.end()), dims, element::integers);
}

// The same for indices that are computed: one that is not in its dimension becomes a row that there is not, which the program refuses.
int computed_rows(rewriter &r, const rows_of &of, int indices) {
  const auto depth = static_cast<int64_t>(of.depth);
  indices = r.made("heed.indices", {indices}, r.dims(indices), {{"dims", rewriter::of(of.sizes)}}, element::integers);
  indices = r.reshaped(indices, {of.n_indices, depth});
  const int sizes = integers(r, of.sizes, {depth}), zero = integers(r, {0}, {1});
  const int is_negative = r.compared("Less", indices, zero), from_end = r.both("Add", indices, sizes);
  const int counted = r.chosen(is_negative, from_end, indices);
  const int is_behind = r.compared("GreaterOrEqual", counted, zero), is_before = r.compared("Less", counted, sizes);
  const int is_good = r.both("And", is_behind, is_before);
  const int places = r.both("Mul", counted, integers(r, of.strides, {depth}));
  const int row = r.sum_over(r.chosen(is_good, places, integers(r, {of.n_rows}, {1})), {1});
  return of.n_batches == 1 ? row : r.both("Add", row, integers(r, first_rows(of), {of.n_indices}));
}

void gather_nd(rewriter &r) {
  const int data = r.in(0), indices = r.in(1);
  const int64_t batch = r.integer("batch_dims", 0);
  r.expect(batch >= 0 && batch < 64 && r.value(indices).kind == element::integers, "has indices that are no integers");
  const shape dims = r.dims(data), of_indices = r.dims(indices);
  const rows_of of = rows_of_indices(r, dims, of_indices, static_cast<size_t>(batch));
  if (r.is_constant(indices)) {
    const int flat = r.reshaped(data, {of.n_rows, of.length});
    r.finish(r.reshaped(r.picked(flat, 0, constant_rows(r, of, r.places(1))), r.out_dims()));
  } else if (of.depth == 1 && batch == 0) {
    r.finish(r.gathered(data, r.reshaped(indices, shape(of_indices.begin(), of_indices.end() - 1))));
  } else {
    const int flat = r.reshaped(data, {of.n_rows, of.length});
    r.finish(r.reshaped(r.gathered(flat, computed_rows(r, of, indices)), r.out_dims()));
  }
}

// Updates of rows that are constants: rows of what stays, and of the updates behind it, are picked. Where one is written more than once the
// last update stays.
int picked_rows(rewriter &r, const rows_of &of, const std::vector<int64_t> &rows, int data, int updates) {
  std::vector<int64_t> from;
  for (int64_t i = 0; i < of.n_rows; ++i) from.push_back(i);
  for (size_t i = 0; i < rows.size(); ++i) from[static_cast<size_t>(rows[i])] = of.n_rows + static_cast<int64_t>(i);
  return r.picked(r.joined({data, updates}, 0), 0, from);
}

// rows: of all updates, or no_value, if they are `known`.
void scatter(rewriter &r, const rows_of &of, const std::vector<int64_t> &known, int rows) {
  const std::string how = r.text("reduction", "none");
  r.expect(how == "none" || how == "add", "is known with the reductions none and add alone");
  const int data = r.reshaped(r.in(0), {of.n_rows, of.length}),
            updates = r.reshaped(r.in(2), {of.n_indices, of.length});
  if (rows == no_value && how == "none")
    return r.finish(r.reshaped(picked_rows(r, of, known, data, updates), r.out_dims()));
  if (rows == no_value) rows = integers(r, known, {of.n_indices});
  const int made = r.made(how == "add" ? "heed.scatter_sums" : "heed.scatter", {data, rows, updates},
                          {of.n_rows, of.length}, {}, r.value(data).kind);
  r.finish(r.reshaped(made, r.out_dims()));
}

void scatter_nd(rewriter &r) {
  const rows_of of = rows_of_indices(r, r.dims(r.in(0)), r.dims(r.in(1)), 0);
  r.expect(product_of(r.dims(r.in(2)), 0, r.dims(r.in(2)).size()) == of.n_indices * of.length,
           "has more or fewer updates than its indices ask for");
  if (r.is_constant(r.in(1)))
    scatter(r, of, constant_rows(r, of, r.places(1)), no_value);
  else
    scatter(r, of, {}, computed_rows(r, of, r.in(1)));
}

// Each index is the place of a number along the axis; its other places are its own.
void scatter_elements(rewriter &r) {
  const shape dims = r.dims(r.in(0)), own = r.dims(r.in(1));
  const size_t axis = r.axis(r.integer("axis", 0), dims.size());
  r.expect(own.size() == dims.size() && r.dims(r.in(2)) == own, "has indices or updates of another shape");
  rows_of of;
  of.depth = 1;
  of.sizes = {dims[axis]}, of.strides = {product_of(dims, axis + 1, dims.size())};
  of.n_rows = product_of(dims, 0, dims.size()), of.n_indices = product_of(own, 0, own.size());
  r.expect(of.n_rows > 0 && of.n_indices > 0 && of.n_rows < (int64_t{1} << 29), "has no numbers, or too many");
  std::vector<int64_t> others;
  for (int64_t i = 0; i < of.n_indices; ++i) {
    int64_t place = 0, rest = i;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t step = product_of(own, d + 1, own.size()), at = rest / step;
      r.expect(d == axis || at < dims[d], "has more indices than numbers");
      if (d != axis) place += at * product_of(dims, d + 1, dims.size());
      rest %= step;
    }
    others.push_back(place);
  }
  if (!r.is_constant(r.in(1))) {
    const int rows = computed_rows(r, of, r.in(1));
    return scatter(r, of, {}, r.both("Add", rows, integers(r, others, {of.n_indices})));
  }
  std::vector<int64_t> rows = constant_rows(r, of, r.places(1));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] += others[i];
  scatter(r, of, rows, no_value);
}

void one_hot(rewriter &r) {
  int which = r.in(0);
  const int values = r.in(2);
  const shape own = r.dims(which), dims = r.out_dims();
  const size_t axis = r.axis(r.integer("axis", -1), own.size() + 1);
  r.expect(r.dims(values) == shape{2} && r.value(which).kind != element::booleans,
           "has values that are not two, or places that are booleans");
  if (r.value(which).kind == element::floats)
    which = r.made("Cast", {which}, own, {{"to", rewriter::of(int64_t{type_int32})}}, element::integers);
  shape wide = own, along(dims.size() - axis, 1);
  wide.insert(wide.begin() + static_cast<ptrdiff_t>(axis), 1);
  along[0] = dims[axis];
  r.expect(dims[axis] >= 1 && dims[axis] <= 1 << 24, "has a depth of 0, or too large a one");
  std::vector<int64_t> places, from_end;
  for (int64_t i = 0; i < dims[axis]; ++i) places.push_back(i), from_end.push_back(i - dims[axis]);
  which = r.reshaped(which, wide);
  const int is_it = r.compared("Equal", which, integers(r, places, along)),
            is_it_from_end = r.compared("Equal", which, integers(r, from_end, along));
  const int on = r.part(values, 0, 1, 1), off = r.part(values, 0, 0, 1);
  r.finish(r.chosen(r.both("Or", is_it, is_it_from_end), on, off));
}

}  // namespace

void add_places(rewritings &all) {
  all["GatherND"] = gather_nd;
  all["ScatterND"] = scatter_nd;
  all["ScatterElements"] = all["Scatter"] = scatter_elements;
  all["OneHot"] = one_hot;
}

}  // namespace heed_compile
