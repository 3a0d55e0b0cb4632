// Einsum: transposes, sums and products of matrices, two operands at a time. See rewrite.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include "rewrite.hpp"

namespace heed_compile {
namespace {

// A letter; a dimension that "..." stands for is a number of 1000 or less, counted from the last one.
using letters = std::vector<int>;
constexpr int last_dots = 1000;

struct operand {
  int v;
  letters of;
};

bool has(const letters &all, int letter) { return std::find(all.begin(), all.end(), letter) != all.end(); }

letters letters_of(const rewriter &r, const std::string &text, size_t n_dots) {
  letters all;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      r.expect(text.compare(i, 3, "...") == 0, "has an equation that is not known");
      for (size_t k = n_dots; k > 0; --k) all.push_back(last_dots - static_cast<int>(k));
      i += 2;
    } else {
      all.push_back(static_cast<unsigned char>(text[i]));
    }
  }
  return all;
}

// Dimensions in the order of these letters.
operand ordered(rewriter &r, const operand &a, const letters &order) {
  std::vector<size_t> perm;
  for (const int letter : order)
    perm.push_back(static_cast<size_t>(std::find(a.of.begin(), a.of.end(), letter) - a.of.begin()));
  return {r.transposed(a.v, perm), order};
}

// Letters that nothing else needs are summed over.
operand summed(rewriter &r, const operand &a, const std::set<int> &needed) {
  std::vector<int64_t> axes;
  letters rest;
  for (size_t d = 0; d < a.of.size(); ++d)
    needed.count(a.of[d]) > 0 ? rest.push_back(a.of[d]) : axes.push_back(static_cast<int64_t>(d));
  return {r.sum_over(a.v, axes), rest};
}

// A dimension of 1 is repeated where the other operand has more.
void repeat(rewriter &r, operand &a, const operand &b) {
  shape dims = r.dims(a.v);
  const shape other = r.dims(b.v);
  for (size_t d = 0; d < dims.size(); ++d)
    for (size_t e = 0; e < other.size(); ++e)
      if (a.of[d] == b.of[e]) dims[d] = std::max(dims[d], other[e]);
  a.v = r.expanded(a.v, dims);
}

letters operator+(letters a, const letters &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

operand product(rewriter &r, operand a, operand b, const std::set<int> &needed) {
  std::set<int> of_a = needed, of_b = needed;
  of_a.insert(b.of.begin(), b.of.end());
  of_b.insert(a.of.begin(), a.of.end());
  a = summed(r, a, of_a), b = summed(r, b, of_b);
  repeat(r, a, b), repeat(r, b, a);
  letters batch, inner, rows, columns;
  for (const int letter : a.of)
    (!has(b.of, letter) ? rows : needed.count(letter) > 0 ? batch : inner).push_back(letter);
  for (const int letter : b.of)
    if (!has(a.of, letter)) columns.push_back(letter);
  if (batch.empty() && r.is_constant(a.v) && !r.is_constant(b.v)) std::swap(a, b), std::swap(rows, columns);
  a = ordered(r, a, batch + rows + inner), b = ordered(r, b, batch + inner + columns);
  const shape left = r.dims(a.v), right = r.dims(b.v);
  const size_t n_batch = batch.size(), n_inner = inner.size();
  const auto first = left.begin() + static_cast<ptrdiff_t>(n_batch);
  const shape over(left.begin(), first), of_rows(first, first + static_cast<ptrdiff_t>(rows.size())),
      of_columns(right.begin() + static_cast<ptrdiff_t>(n_batch + n_inner), right.end());
  const auto with = [&](std::initializer_list<shape> more) {
    shape all = over;
    for (const shape &one : more) all.insert(all.end(), one.begin(), one.end());
    return all;
  };
  const letters made = batch + rows + columns;
  if (inner.empty()) {
    const int x = r.reshaped(a.v, with({of_rows, shape(columns.size(), 1)})),
              y = r.reshaped(b.v, with({shape(rows.size(), 1), of_columns}));
    return {r.both("Mul", x, y), made};
  }
  const int64_t n = product_of(of_rows, 0, rows.size()), m = product_of(of_columns, 0, columns.size()),
                k = product_of(right, n_batch, n_batch + n_inner);
  const int x = r.reshaped(a.v, with({{n, k}})), y = r.reshaped(b.v, with({{k, m}}));
  return {r.reshaped(r.product(x, y), with({of_rows, of_columns})), made};
}

void einsum(rewriter &r) {
  std::string equation;
  for (const char c : r.text("equation", ""))
    if (c != ' ') equation += c;
  const size_t arrow = equation.find("->");
  std::vector<std::string> texts(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',')
      texts.emplace_back();
    else
      texts.back() += c;
  }
  r.expect(texts.size() == r.node().inputs.size(), "has more or fewer inputs than its equation");
  r.expect(texts.size() <= 2, "is known with one or two inputs alone");
  std::vector<operand> all;
  std::map<int, int> uses;
  size_t most_dots = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool has_dots = texts[i].find('.') != std::string::npos;
    const size_t n_letters = texts[i].size() - (has_dots ? 3 : 0), rank = r.dims(r.in(i)).size();
    r.expect(n_letters <= rank && (has_dots || n_letters == rank), "has inputs of other dimensions than its equation");
    if (has_dots) most_dots = std::max(most_dots, rank - n_letters);
    all.push_back({r.in(i), letters_of(r, texts[i], rank - n_letters)});
    r.expect(r.value(all[i].v).kind == element::floats, "is known for floats alone");
    for (const int letter : all[i].of) ++uses[letter];
    r.expect(std::set<int>(all[i].of.begin(), all[i].of.end()).size() == all[i].of.size(),
             "takes a diagonal: it has a letter twice in one input");
  }
  letters to;
  if (arrow != std::string::npos) {
    to = letters_of(r, equation.substr(arrow + 2), most_dots);
  } else {  // "..." and then the letters that one input has, in alphabetical order
    for (const auto &[letter, n] : uses)
      if (letter > 255) to.push_back(letter);
    for (const auto &[letter, n] : uses)
      if (letter <= 255 && n == 1) to.push_back(letter);
  }
  const std::set<int> needed(to.begin(), to.end());
  const operand whole = all.size() == 2 ? product(r, all[0], all[1], needed) : summed(r, all[0], needed);
  r.finish(ordered(r, whole, to).v);
}

}  // namespace

void add_einsum(rewritings &all) { all["Einsum"] = einsum; }

}  // namespace heed_compile
