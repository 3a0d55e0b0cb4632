// Operators that move numbers and leave them as they are. See operators.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "operators.hpp"

namespace heed_compile {

array transposed(const array &a, const std::vector<size_t> &order) {
  const size_t rank = a.dims.size();
  const std::vector<int64_t> strides = strides_of(a.dims);
  shape dims(rank);
  std::vector<int64_t> steps(rank), at(rank, 0);
  for (size_t d = 0; d < rank; ++d) dims[d] = a.dims[order[d]], steps[d] = strides[order[d]];
  array made = zeros_like(a, dims);
  if (rank == 0) return a;
  int64_t from = 0;
  const int64_t row = dims[rank - 1], step = steps[rank - 1];
  for (size_t i = 0; i < made.numbers.size(); i += static_cast<size_t>(row)) {
    for (int64_t k = 0; k < row; ++k) made.numbers[i + size_t(k)] = a.numbers[size_t(from + k * step)];
    for (size_t d = rank - 1; d > 0; --d) {
      from += steps[d - 1];
      if (++at[d - 1] < dims[d - 1]) break;
      from -= steps[d - 1] * dims[d - 1];
      at[d - 1] = 0;
    }
  }
  return made;
}

array reshaped(const array &a, const shape &dims) {
  if (count_of(dims) != static_cast<int64_t>(a.numbers.size()))
    throw refusal("cannot make the shape " + text_of(dims) + " of " + text_of(a.dims));
  array made = a;
  made.dims = dims;
  return made;
}

array part_of(const array &a, size_t axis, int64_t first, int64_t n) {
  shape dims = a.dims;
  dims[axis] = n;
  array made = zeros_like(a, dims);
  const lines from(a.dims, axis), to(dims, axis);
  for (int64_t o = 0; o < from.outer; ++o) {
    const auto begin = a.numbers.begin() + from.at(o, first, 0);
    std::copy(begin, begin + n * from.stride, made.numbers.begin() + to.at(o, 0, 0));
  }
  return made;
}

array joined(const std::vector<const array *> &parts, size_t axis) {
  shape dims = parts[0]->dims;
  dims[axis] = 0;
  for (const array *const part : parts) {
    shape other = part->dims;
    if (other.size() != dims.size()) throw refusal("has inputs with different numbers of dimensions");
    if (other[axis] > most_numbers - dims[axis]) throw refusal("has too many numbers");
    dims[axis] += other[axis];
    other[axis] = parts[0]->dims[axis];
    if (other != parts[0]->dims)
      throw refusal("has inputs whose shapes do not fit: " + text_of(parts[0]->dims) + " and " + text_of(part->dims));
  }
  array made = zeros_like(*parts[0], dims);
  const lines to(dims, axis);
  int64_t first = 0;
  for (const array *const part : parts) {
    const lines from(part->dims, axis);
    for (int64_t o = 0; o < from.outer; ++o) {
      const auto begin = part->numbers.begin() + from.at(o, 0, 0);
      std::copy(begin, begin + from.length * from.stride, made.numbers.begin() + to.at(o, first, 0));
    }
    first += from.length;
  }
  return made;
}

namespace {

array list_of(const std::vector<int64_t> &numbers) {
  array made = zeros_of(element::integers, {static_cast<int64_t>(numbers.size())}, type_int64);
  for (size_t i = 0; i < numbers.size(); ++i) made.numbers[i] = static_cast<double>(numbers[i]);
  return made;
}

int64_t clamped(int64_t number, int64_t least, int64_t most) { return std::min(std::max(number, least), most); }

results shape_of(const call &c) {
  const shape &dims = c.in(0).dims;
  const int64_t rank = static_cast<int64_t>(dims.size());
  const auto place = [rank](int64_t given) {
    if (given > rank) given = rank;
    if (given < -rank) given = -rank;
    return given < 0 ? given + rank : given;
  };
  const int64_t start = place(c.integer("start", 0)), end = place(c.integer("end", rank));
  std::vector<int64_t> list;
  for (int64_t d = start; d < end; ++d) list.push_back(dims[static_cast<size_t>(d)]);
  return one(list_of(list));
}

results size_of(const call &c) {
  array made = zeros_of(element::integers, {}, type_int64);
  made.numbers[0] = static_cast<double>(count_of(c.in(0).dims));
  return one(std::move(made));
}

results reshape(const call &c) {
  const array &a = c.in(0);
  std::vector<int64_t> to = c.has(1) ? c.integers_in(1) : c.list("shape");
  const bool keeps_zero = c.integer("allowzero", 0) != 0;
  int64_t known = 1, unknown = -1;
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 0 && !keeps_zero) {
      c.expect(d < a.dims.size(), "copies a dimension that its input has not");
      to[d] = a.dims[d];
    }
    if (to[d] == -1) {
      c.expect(unknown < 0, "has -1 twice in its shape");
      unknown = static_cast<int64_t>(d);
      continue;
    }
    c.expect(to[d] >= 0, "has a negative dimension in its shape");
    c.expect(to[d] == 0 || known <= most_numbers / to[d], "has too many numbers in its shape");
    known *= to[d];
  }
  const int64_t n = static_cast<int64_t>(a.numbers.size());
  if (unknown >= 0) {
    if (known == 0 || n % known != 0) c.refuse("cannot make the shape " + text_of(to) + " of " + text_of(a.dims));
    to[static_cast<size_t>(unknown)] = n / known;
  }
  return one(reshaped(a, to));
}

results flatten(const call &c) {
  const array &a = c.in(0);
  const int64_t rank = static_cast<int64_t>(a.dims.size());
  int64_t axis = c.integer("axis", 1);
  c.expect(axis >= -rank && axis <= rank, "has an axis that its input has not");
  if (axis < 0) axis += rank;
  int64_t rows = 1;
  for (int64_t d = 0; d < axis; ++d) rows *= a.dims[static_cast<size_t>(d)];
  int64_t columns = 1;
  for (int64_t d = axis; d < rank; ++d) columns *= a.dims[static_cast<size_t>(d)];
  return one(reshaped(a, {rows, columns}));
}

results squeeze(const call &c) {
  const array &a = c.in(0);
  std::vector<bool> goes(a.dims.size(), false);
  const bool has_axes = c.has(1) || c.has_attribute("axes");
  for (const size_t d : c.axes(c.axes_given(1), a.dims.size())) {
    c.expect(a.dims[d] == 1, "squeezes a dimension that is not 1");
    goes[d] = true;
  }
  shape dims;
  for (size_t d = 0; d < a.dims.size(); ++d) {
    const bool is_gone = has_axes ? goes[d] : a.dims[d] == 1;
    if (!is_gone) dims.push_back(a.dims[d]);
  }
  return one(reshaped(a, dims));
}

results unsqueeze(const call &c) {
  const array &a = c.in(0);
  const std::vector<int64_t> given = c.axes_given(1);
  c.expect(given.size() <= 64, "has more than 64 axes");
  const size_t rank = a.dims.size() + given.size();
  std::vector<bool> is_new(rank, false);
  for (const size_t d : c.axes(given, rank)) is_new[d] = true;
  shape dims;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) dims.push_back(is_new[d] ? 1 : a.dims[next++]);
  return one(reshaped(a, dims));
}

results transpose(const call &c) {
  const array &a = c.in(0);
  const size_t rank = a.dims.size();
  std::vector<size_t> order;
  if (c.has_attribute("perm")) {
    order = c.axes(c.list("perm"), rank);
  } else {
    for (size_t d = rank; d > 0; --d) order.push_back(d - 1);
  }
  c.expect(order.size() == rank, "has a perm of another number of dimensions than its input");
  return one(transposed(a, order));
}

results expand(const call &c) {
  const std::vector<int64_t> to = c.integers_in(1);
  count_of(to);
  return one(broadcast_to(c, c.in(0), broadcast_shape(c, c.in(0).dims, to)));
}

results tile(const call &c) {
  const array &a = c.in(0);
  const std::vector<int64_t> repeats = c.integers_in(1);
  c.expect(repeats.size() == a.dims.size(), "has more or fewer repeats than dimensions");
  array made = a;
  for (size_t d = 0; d < repeats.size(); ++d) {
    c.expect(repeats[d] >= 0 && repeats[d] <= most_numbers, "has a repeat that is negative or too large");
    if (repeats[d] == 1) continue;
    shape dims = made.dims;
    c.expect(dims[d] == 0 || repeats[d] <= most_numbers / dims[d], "has too many numbers");
    dims[d] *= repeats[d];
    array longer = zeros_like(a, dims);
    const lines from(made.dims, d), to(dims, d);
    const int64_t n = from.length * from.stride;
    for (int64_t o = 0; o < from.outer; ++o)
      for (int64_t r = 0; r < repeats[d]; ++r)
        std::copy_n(made.numbers.begin() + o * n, n, longer.numbers.begin() + to.at(o, r * from.length, 0));
    made = std::move(longer);
  }
  return one(std::move(made));
}

results concat(const call &c) {
  std::vector<const array *> parts;
  for (size_t i = 0; i < c.inputs.size(); ++i) parts.push_back(&c.in(i));
  c.expect(!parts.empty(), "has no inputs");
  c.expect(c.opset < 4 || c.has_attribute("axis"), "has no axis");
  return one(joined(parts, c.axis(c.integer("axis", 1), parts[0]->dims.size())));
}

results split(const call &c) {
  const array &a = c.in(0);
  const size_t axis = c.axis(c.integer("axis", 0), a.dims.size());
  const int64_t whole = a.dims[axis];
  std::vector<int64_t> lengths = c.has(1) ? c.integers_in(1) : c.list("split");
  if (lengths.empty()) {
    const int64_t n = static_cast<int64_t>(c.node.outputs.size());
    c.expect(n > 0, "has no outputs");
    c.expect(c.opset >= 18 || whole % n == 0, "cannot split its input into equal parts");
    const int64_t length = (whole + n - 1) / n;
    for (int64_t i = 0; i < n; ++i) lengths.push_back(clamped(whole - i * length, 0, length));
  }
  int64_t first = 0;
  results all;
  for (const int64_t length : lengths) {
    c.expect(length >= 0 && length <= whole - first, "splits more than its input has");
    all.push_back(part_of(a, axis, first, length));
    first += length;
  }
  c.expect(first == whole, "splits less than its input has");
  return all;
}

results slice(const call &c) {
  const bool by_inputs = c.has(1);
  const std::vector<int64_t> starts = by_inputs ? c.integers_in(1) : c.list("starts");
  const std::vector<int64_t> ends = by_inputs ? c.integers_in(2) : c.list("ends");
  std::vector<int64_t> axes = by_inputs ? (c.has(3) ? c.integers_in(3) : std::vector<int64_t>()) : c.list("axes");
  const std::vector<int64_t> steps = c.has(4) ? c.integers_in(4) : std::vector<int64_t>(starts.size(), 1);
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  c.expect(ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
           "has starts, ends, axes and steps of different numbers");
  array made = c.in(0);
  const std::vector<size_t> places = c.axes(axes, made.dims.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t d = places[i];
    const int64_t n = made.dims[d], step = steps[i];
    c.expect(step != 0, "has a step of 0");
    const auto from_end = [n](int64_t place) { return place < 0 ? place + n : place; };
    const bool forwards = step > 0;
    const int64_t first = forwards ? clamped(from_end(starts[i]), 0, n) : clamped(from_end(starts[i]), 0, n - 1);
    const int64_t last = forwards ? clamped(from_end(ends[i]), 0, n) : clamped(from_end(ends[i]), -1, n - 1);
    const int64_t span = forwards ? last - first : first - last;
    const int64_t width = step == INT64_MIN ? INT64_MAX : std::abs(step);
    const int64_t count = span > 0 && n > 0 ? (span - 1) / width + 1 : 0;
    if (count == n && step == 1) continue;
    if (step == 1) {
      made = part_of(made, d, first, count);
      continue;
    }
    shape dims = made.dims;
    dims[d] = count;
    array picked = zeros_like(made, dims);
    const lines from(made.dims, d), to(dims, d);
    for (int64_t o = 0; o < from.outer; ++o)
      for (int64_t k = 0; k < count; ++k)
        std::copy_n(made.numbers.begin() + from.at(o, first + k * step, 0), from.stride,
                    picked.numbers.begin() + to.at(o, k, 0));
    made = std::move(picked);
  }
  return one(std::move(made));
}

// The place in a dimension of n that place `at` before or behind it shows; -1: the constant.
int64_t padded_from(int64_t at, int64_t n, const std::string &mode) {
  if (at >= 0 && at < n) return at;
  if (mode == "constant" || n == 0) return -1;
  if (mode == "edge") return at < 0 ? 0 : n - 1;
  if (mode == "wrap") return ((at % n) + n) % n;
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1);
  const int64_t rest = ((at % period) + period) % period;
  return rest < n ? rest : period - rest;
}

results pad(const call &c) {
  const std::string mode = c.text("mode", "constant");
  c.expect(mode == "constant" || mode == "edge" || mode == "wrap" || mode == "reflect", "has a mode that is not known");
  array made = c.in(0);
  const size_t rank = made.dims.size();
  const std::vector<int64_t> pads = c.has(1) ? c.integers_in(1) : c.list("pads");
  const double value = c.has(2) && !c.in(2).numbers.empty() ? c.number_in(2) : c.number("value", 0);
  std::vector<size_t> axes;
  if (c.has(3)) {
    axes = c.axes(c.integers_in(3), rank);
  } else {
    for (size_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  c.expect(pads.size() == 2 * axes.size(), "has more or fewer pads than dimensions");
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t before = pads[i], behind = pads[i + axes.size()], n = made.dims[axes[i]];
    if (before == 0 && behind == 0) continue;
    c.expect(
        std::max(std::abs(std::max(before, -most_numbers)), std::abs(std::max(behind, -most_numbers))) < most_numbers,
        "has a pad that is too large");
    c.expect(before + n + behind >= 0, "takes away more than its input has");
    shape dims = made.dims;
    dims[axes[i]] = before + n + behind;
    array wider = zeros_like(made, dims);
    if (mode == "constant") std::fill(wider.numbers.begin(), wider.numbers.end(), value);
    const lines from(made.dims, axes[i]), to(dims, axes[i]);
    for (int64_t o = 0; o < to.outer; ++o) {
      for (int64_t k = 0; k < to.length; ++k) {
        const int64_t source = padded_from(k - before, n, mode);
        if (source >= 0)
          std::copy_n(made.numbers.begin() + from.at(o, source, 0), from.stride,
                      wider.numbers.begin() + to.at(o, k, 0));
      }
    }
    made = std::move(wider);
  }
  return one(std::move(made));
}

results constant_of_shape(const call &c) {
  const auto found = c.node.attributes.find("value");
  const bool has_value = found != c.node.attributes.end() && found->second.numbers != nullptr;
  array made = zeros_of(has_value ? found->second.numbers->kind : element::floats, c.integers_in(0),
                        has_value ? found->second.numbers->type : 0);
  if (!has_value) return one(std::move(made));
  c.expect(found->second.numbers->numbers.size() == 1, "has a value that is not one number");
  std::fill(made.numbers.begin(), made.numbers.end(), found->second.numbers->numbers[0]);
  return one(std::move(made));
}

results range(const call &c) {
  const double start = c.number_in(0), limit = c.number_in(1), step = c.number_in(2);
  c.expect(std::isfinite(start) && std::isfinite(limit) && std::isfinite(step) && step != 0,
           "has a step of 0 or no end");
  const double n = std::max(std::ceil((limit - start) / step), 0.0);
  c.expect(n <= static_cast<double>(most_numbers), "has too many numbers");
  array made = zeros_like(c.in(0), {static_cast<int64_t>(n)});
  for (size_t i = 0; i < made.numbers.size(); ++i) made.numbers[i] = start + static_cast<double>(i) * step;
  return one(std::move(made));
}

results eye_like(const call &c) {
  const shape dims = c.in(0).dims;
  c.expect(dims.size() == 2, "has an input that is no matrix");
  const int32_t type = static_cast<int32_t>(c.integer("dtype", c.in(0).type == 0 ? type_float : c.in(0).type));
  array made = zeros_of(element_of(type), dims, type);
  const int64_t k = c.integer("k", 0);
  for (int64_t row = 0; row < dims[0]; ++row) {
    if (k < -dims[0] || k > dims[1]) break;
    const int64_t column = row + k;
    if (column >= 0 && column < dims[1]) made.numbers[static_cast<size_t>(row * dims[1] + column)] = 1;
  }
  return one(std::move(made));
}

results space_to_depth(const call &c) {
  const array &a = c.in(0);
  const int64_t b = c.integer("blocksize", 0);
  c.expect(a.dims.size() == 4 && b > 0 && a.dims[2] % b == 0 && a.dims[3] % b == 0,
           "has a shape that blocksize does not divide");
  const array split = reshaped(a, {a.dims[0], a.dims[1], a.dims[2] / b, b, a.dims[3] / b, b});
  return one(
      reshaped(transposed(split, {0, 3, 5, 1, 2, 4}), {a.dims[0], a.dims[1] * b * b, a.dims[2] / b, a.dims[3] / b}));
}

results depth_to_space(const call &c) {
  const array &a = c.in(0);
  const int64_t b = c.integer("blocksize", 0);
  c.expect(a.dims.size() == 4 && b > 0 && b < 32768 && a.dims[1] % (b * b) == 0,
           "has channels that blocksize does not divide");
  const int64_t channels = a.dims[1] / (b * b);
  const shape to = {a.dims[0], channels, a.dims[2] * b, a.dims[3] * b};
  if (c.text("mode", "DCR") == "CRD") {
    const array split = reshaped(a, {a.dims[0], channels, b, b, a.dims[2], a.dims[3]});
    return one(reshaped(transposed(split, {0, 1, 4, 2, 5, 3}), to));
  }
  const array split = reshaped(a, {a.dims[0], b, b, channels, a.dims[2], a.dims[3]});
  return one(reshaped(transposed(split, {0, 3, 4, 1, 5, 2}), to));
}

}  // namespace

void add_shapes(operations &all) {
  all["Shape"] = shape_of;
  all["Size"] = size_of;
  all["Reshape"] = reshape;
  all["Flatten"] = flatten;
  all["Squeeze"] = squeeze;
  all["Unsqueeze"] = unsqueeze;
  all["Transpose"] = transpose;
  all["Expand"] = expand;
  all["Tile"] = tile;
  all["Concat"] = concat;
  all["Split"] = split;
  all["Slice"] = slice;
  all["Pad"] = pad;
  all["ConstantOfShape"] = constant_of_shape;
  all["Range"] = range;
  all["EyeLike"] = eye_like;
  all["SpaceToDepth"] = space_to_depth;
  all["DepthToSpace"] = depth_to_space;
}

}  // namespace heed_compile
