// See onnx_shapes.hpp. SPDX-License-Identifier: MIT
#include "onnx_shapes.hpp"

#include <algorithm>
#include <set>

namespace heed_import {
namespace {

constexpr size_t most_dims = 16;  // real models have 6 at most

// 0 if it is 0, or 2^31 or more.
uint64_t product_of(onnx_dims::const_iterator begin, onnx_dims::const_iterator end) {
  uint64_t n = 1;
  for (; begin != end; ++begin) {
    if (*begin > INT32_MAX || (n *= *begin) > INT32_MAX) return 0;
  }
  return n;
}
uint64_t product_of(const onnx_dims &dims) { return product_of(dims.begin(), dims.end()); }

// The order of dimensions that Transpose asks for; empty if it is none.
std::vector<size_t> order_of(const onnx_node &n, size_t rank) {
  std::vector<size_t> order;
  const auto given = n.lists.find("perm");
  if (given == n.lists.end()) {
    for (size_t i = rank; i > 0; --i) order.push_back(i - 1);
    return order;
  }
  std::vector<bool> seen(rank);
  for (const uint64_t from : given->second) {
    if (from >= rank || seen[from]) return {};
    seen[from] = true;
    order.push_back(static_cast<size_t>(from));
  }
  return order.size() == rank ? order : std::vector<size_t>();
}

bool flatten(const onnx_node &n, const onnx_dims &from, onnx_dims &to) {
  const int64_t rank = static_cast<int64_t>(from.size()), given = n.integer("axis", 1),
                axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank) return false;
  const uint64_t rows = product_of(from.begin(), from.begin() + static_cast<ptrdiff_t>(axis));
  to = {rows, product_of(from) / rows};
  return true;
}

// Whichever dimensions of 1 it removes, or all: the others are what counts.
bool squeeze(const onnx_dims &from, onnx_dims &to) {
  std::copy_if(from.begin(), from.end(), std::back_inserter(to), [](uint64_t dim) { return dim != 1; });
  return true;
}

bool unsqueeze(const std::vector<int64_t> &axes, const onnx_dims &from, onnx_dims &to) {
  if (axes.size() > most_dims) return false;
  const int64_t rank = static_cast<int64_t>(from.size() + axes.size());
  std::set<int64_t> ones;
  for (const int64_t axis : axes) ones.insert(axis < 0 ? axis + rank : axis);
  if (ones.size() != axes.size()) return false;
  if (!ones.empty() && (*ones.begin() < 0 || *ones.rbegin() >= rank)) return false;
  auto next = from.begin();
  for (int64_t i = 0; i < rank; ++i) to.push_back(ones.count(i) != 0 ? 1 : *next++);
  return true;
}

bool reshape(const std::vector<int64_t> &shape, const onnx_dims &from, onnx_dims &to) {
  if (shape.size() > most_dims) return false;
  auto open = to.end();
  uint64_t known = 1;
  to.reserve(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool copies = shape[i] == 0 && i < from.size();
    if (!copies && shape[i] < 1 && shape[i] != -1) return false;
    to.push_back(copies ? from[i] : 1);
    if (shape[i] > 0) to.back() = static_cast<uint64_t>(shape[i]);
    if (shape[i] == -1) open = to.end() - 1;
    known = product_of(to);
    if (known == 0) return false;
  }
  if (std::count(shape.begin(), shape.end(), -1) > 1) return false;
  if (std::count(shape.begin(), shape.end(), -1) == 1) *open = product_of(from) / known;
  return product_of(to) == product_of(from);
}

bool is_aligned(const onnx_node &n) {
  for (const char *const operation : {"Identity", "Cast", "CastLike", "Dropout", "DequantizeLinear"}) {
    if (n.operation == operation) return true;
  }
  return false;
}

}  // namespace

bool onnx_keeps_numbers(const onnx_node &n, const onnx_dims &from, const std::vector<int64_t> *list, onnx_dims &to) {
  to.clear();
  if (is_aligned(n)) {
    to = from;
    return true;
  }
  if (product_of(from) == 0 || from.size() > most_dims) return false;
  if (n.operation == "Transpose") {
    const std::vector<size_t> order = order_of(n, from.size());
    for (const size_t i : order) to.push_back(from[i]);
    return order.size() == from.size();
  }
  if (n.operation == "Flatten") return flatten(n, from, to);
  if (n.operation == "Squeeze") return squeeze(from, to);
  std::vector<int64_t> axes;
  if (const auto given = n.lists.find("axes"); given != n.lists.end()) {
    axes.assign(given->second.begin(), given->second.end());
    list = &axes;
  }
  if (list == nullptr) return false;
  if (n.operation == "Unsqueeze") return unsqueeze(*list, from, to);
  return n.operation == "Reshape" && n.integer("allowzero", 0) == 0 && reshape(*list, from, to);
}

int onnx_source_axis(const onnx_node &n, const onnx_dims &from, const onnx_dims &to, int axis) {
  if (axis < 0 || static_cast<size_t>(axis) >= to.size()) return -1;
  const size_t at = static_cast<size_t>(axis);
  if (is_aligned(n)) return axis;
  if (n.operation == "Transpose") return static_cast<int>(order_of(n, from.size())[at]);
  const auto stride = [](const onnx_dims &dims, size_t k) {
    return product_of(dims.begin() + static_cast<ptrdiff_t>(k) + 1, dims.end());
  };
  for (size_t k = 0; k < from.size(); ++k) {
    if (from[k] == to[at] && stride(from, k) == stride(to, at)) return static_cast<int>(k);
  }
  return -1;
}

}  // namespace heed_import
