// Products of matrices. See operators.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "operators.hpp"

namespace heed_compile {
namespace {

// to (rows, columns) += a (rows, depth) * b (depth, columns). Each row of b is read once for several rows of a.
void add_product(const double *a, const double *b, double *to, int64_t rows, int64_t depth, int64_t columns) {
  constexpr int64_t block = 8;
  for (int64_t first = 0; first < rows; first += block) {
    const int64_t last = std::min(first + block, rows);
    for (int64_t k = 0; k < depth; ++k) {
      const double *const row = b + k * columns;
      for (int64_t i = first; i < last; ++i) {
        const double factor = a[i * depth + k];
        double *const sum = to + i * columns;
        for (int64_t j = 0; j < columns; ++j) sum[j] += factor * row[j];
      }
    }
  }
}

array with_dims(const array &a, const shape &dims) {
  array made = a;  // which may have no numbers
  made.dims = dims;
  return made;
}
array with_rows(const array &a) { return with_dims(a, {1, a.dims[0]}); }
array with_columns(const array &a) { return with_dims(a, {a.dims[0], 1}); }

}  // namespace

array multiplied(const call &c, const array &left, const array &right) {
  c.expect(!left.dims.empty() && !right.dims.empty(), "multiplies single numbers");
  const bool is_row = left.dims.size() == 1, is_column = right.dims.size() == 1;
  if (is_row || is_column) {
    array made = multiplied(c, is_row ? with_rows(left) : left, is_column ? with_columns(right) : right);
    if (is_column) made.dims.pop_back();
    if (is_row) made.dims.erase(made.dims.end() - (is_column ? 1 : 2));
    return made;
  }
  const size_t rank_a = left.dims.size(), rank_b = right.dims.size();
  const int64_t rows = left.dims[rank_a - 2], depth = left.dims[rank_a - 1], columns = right.dims[rank_b - 1];
  if (right.dims[rank_b - 2] != depth)
    c.refuse("multiplies matrices that do not fit: " + text_of(left.dims) + " and " + text_of(right.dims));
  const shape batch_a(left.dims.begin(), left.dims.end() - 2), batch_b(right.dims.begin(), right.dims.end() - 2);
  const shape batch = broadcast_shape(c, batch_a, batch_b);
  shape dims = batch;
  dims.push_back(rows);
  dims.push_back(columns);
  array made = zeros_like(left, dims);
  if (c.only_shapes) return made;
  // The number of each matrix, repeated like numbers.
  const auto places = [&](const shape &own) {
    array numbers = zeros_of(element::integers, own);
    for (size_t i = 0; i < numbers.numbers.size(); ++i) numbers.numbers[i] = static_cast<double>(i);
    return broadcast_to(c, numbers, batch).numbers;
  };
  const std::vector<double> of_a = places(batch_a), of_b = places(batch_b);
  const bool is_one_matrix =
      batch_b.empty() || std::all_of(batch_b.begin(), batch_b.end(), [](int64_t n) { return n == 1; });
  if (is_one_matrix && batch_a == batch) {
    add_product(left.numbers.data(), right.numbers.data(), made.numbers.data(),
                static_cast<int64_t>(of_a.size()) * rows, depth, columns);
    return made;
  }
  for (size_t i = 0; i < of_a.size(); ++i)
    add_product(left.numbers.data() + static_cast<int64_t>(of_a[i]) * rows * depth,
                right.numbers.data() + static_cast<int64_t>(of_b[i]) * depth * columns,
                made.numbers.data() + static_cast<int64_t>(i) * rows * columns, rows, depth, columns);
  return made;
}

namespace {

array turned(const call &c, const array &a) {
  if (a.dims.size() < 2) return a;
  if (c.only_shapes) {
    array made;
    made.kind = a.kind, made.dims = a.dims;
    std::swap(made.dims[made.dims.size() - 2], made.dims[made.dims.size() - 1]);
    return made;
  }
  std::vector<size_t> order;
  for (size_t d = 0; d < a.dims.size(); ++d) order.push_back(d);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return transposed(a, order);
}

results gemm(const call &c) {
  const array a = c.integer("transA", 0) != 0 ? turned(c, c.in(0)) : c.in(0);
  const array b = c.integer("transB", 0) != 0 ? turned(c, c.in(1)) : c.in(1);
  c.expect(a.dims.size() == 2 && b.dims.size() == 2, "has inputs that are no matrices");
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 1);
  array made = multiplied(c, a, b);
  if (!c.has(2)) {
    for (double &number : made.numbers) number *= alpha;
    return one(std::move(made));
  }
  if (broadcast_shape(c, made.dims, c.in(2).dims) != made.dims) c.refuse("has a bias that does not fit its product");
  if (c.only_shapes) return one(std::move(made));
  for (double &number : made.numbers) number *= alpha;
  const array bias = broadcast_to(c, c.in(2), made.dims);
  for (size_t i = 0; i < made.numbers.size(); ++i) made.numbers[i] += beta * bias.numbers[i];
  return one(std::move(made));
}

// Moves the first batch dimension behind the others, as transBatchA and transBatchB ask.
array batch_turned(const call &c, const array &a) {
  std::vector<size_t> order;
  for (size_t d = 1; d + 1 < a.dims.size(); ++d) order.push_back(d);
  order.push_back(0);
  order.push_back(a.dims.size() - 1);
  if (!c.only_shapes) return transposed(a, order);
  array made;
  for (const size_t d : order) made.dims.push_back(a.dims[d]);
  return made;
}

results fused_matmul(const call &c) {
  array a = c.in(0), b = c.in(1);
  if (c.integer("transBatchA", 0) != 0 && a.dims.size() > 2) a = batch_turned(c, a);
  if (c.integer("transBatchB", 0) != 0 && b.dims.size() > 2) b = batch_turned(c, b);
  if (c.integer("transA", 0) != 0) a = turned(c, a);
  if (c.integer("transB", 0) != 0) b = turned(c, b);
  array made = multiplied(c, a, b);
  const double alpha = c.number("alpha", 1);
  for (double &number : made.numbers) number *= alpha;
  return one(std::move(made));
}

// A letter, or a dimension that "..." stands for.
using subscript = int;

std::vector<std::string> pieces_of(const std::string &text, char between) {
  std::vector<std::string> pieces(1);
  for (const char letter : text) {
    if (letter == between)
      pieces.emplace_back();
    else
      pieces.back() += letter;
  }
  return pieces;
}

// "..." has the subscripts 1000 - n_dots to 999, so that operands agree from the right.
std::vector<subscript> subscripts_of(const call &c, const std::string &text, size_t n_dots) {
  std::vector<subscript> all;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      for (size_t k = 0; k < n_dots; ++k) all.push_back(static_cast<int>(1000 - n_dots + k));
      i += 2;
    } else {
      c.expect(std::isalpha(static_cast<unsigned char>(text[i])) != 0, "has an equation that is not known");
      all.push_back(text[i]);
    }
  }
  return all;
}

results einsum(const call &c) {
  std::string equation;
  for (const char letter : c.text("equation", ""))
    if (letter != ' ') equation += letter;
  const size_t arrow = equation.find("->");
  const std::vector<std::string> left = pieces_of(equation.substr(0, arrow), ',');
  c.expect(left.size() == c.inputs.size(), "has more or fewer inputs than its equation");
  std::map<subscript, int64_t> sizes;
  std::map<subscript, int> uses;
  std::vector<std::vector<subscript>> operands;
  size_t most_dots = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    const shape &dims = c.in(i).dims;
    const size_t n_letters = left[i].size() - (left[i].find("...") == std::string::npos ? 0 : 3);
    c.expect(n_letters <= dims.size(), "has an input with fewer dimensions than its equation");
    const size_t n_dots = dims.size() - n_letters;
    most_dots = std::max(most_dots, left[i].find("...") == std::string::npos ? 0 : n_dots);
    operands.push_back(subscripts_of(c, left[i], n_dots));
    c.expect(operands.back().size() == dims.size(), "has an input with more dimensions than its equation");
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t &size = sizes.emplace(operands[i][d], dims[d]).first->second;
      if (size == 1) size = dims[d];
      c.expect(dims[d] == size || dims[d] == 1, "has dimensions of one letter that differ");
      ++uses[operands[i][d]];
    }
  }
  std::vector<subscript> to;
  if (arrow != std::string::npos) {
    to = subscripts_of(c, equation.substr(arrow + 2), most_dots);
  } else {
    for (const auto &[letter, size] : sizes)
      if (letter >= 256) to.push_back(letter);
    for (const auto &[letter, n] : uses)
      if (letter < 256 && n == 1) to.push_back(letter);
  }
  shape dims;
  std::vector<subscript> order;
  for (const subscript letter : to) {
    c.expect(sizes.count(letter) != 0, "has an output letter that no input has");
    c.expect(std::find(order.begin(), order.end(), letter) == order.end(), "has an output letter twice");
    order.push_back(letter);
    dims.push_back(sizes[letter]);
  }
  array made = zeros_like(c.in(0), dims);
  if (c.only_shapes) return one(std::move(made));
  for (const auto &[letter, size] : sizes)
    if (std::find(order.begin(), order.end(), letter) == order.end()) order.push_back(letter);
  // Steps of the output and of each input along each letter.
  const size_t n = order.size();
  std::vector<std::vector<int64_t>> steps(operands.size() + 1, std::vector<int64_t>(n, 0));
  for (size_t i = 0; i <= operands.size(); ++i) {
    const std::vector<subscript> &letters = i < operands.size() ? operands[i] : to;
    const shape &own = i < operands.size() ? c.in(i).dims : dims;
    const std::vector<int64_t> strides = strides_of(own);
    for (size_t d = 0; d < letters.size(); ++d)
      for (size_t k = 0; k < n; ++k)
        if (letters[d] == order[k] && own[d] != 1) steps[i][k] += strides[d];
  }
  std::vector<int64_t> at(n, 0), place(operands.size() + 1, 0);
  for (const auto &[letter, size] : sizes)
    if (size == 0) return one(std::move(made));
  for (;;) {
    double product = 1;
    for (size_t i = 0; i < operands.size(); ++i) product *= c.in(i).numbers[static_cast<size_t>(place[i])];
    made.numbers[static_cast<size_t>(place.back())] += product;
    size_t k = n;
    for (; k > 0; --k) {
      for (size_t i = 0; i < place.size(); ++i) place[i] += steps[i][k - 1];
      if (++at[k - 1] < sizes[order[k - 1]]) break;
      for (size_t i = 0; i < place.size(); ++i) place[i] -= steps[i][k - 1] * at[k - 1];
      at[k - 1] = 0;
    }
    if (k == 0) return one(std::move(made));
  }
}

}  // namespace

void add_products(operations &all) {
  all["MatMul"] = [](const call &c) { return one(multiplied(c, c.in(0), c.in(1))); };
  all["Gemm"] = gemm;
  all["Einsum"] = einsum;
  all["com.microsoft.FusedMatMul"] = fused_matmul;
  all["com.microsoft.TransposeMatMul"] = fused_matmul;
}

}  // namespace heed_compile
