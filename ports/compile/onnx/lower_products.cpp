// Linear layers, products, convolutions, pools and attention as steps. See lower.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>

#include "../../import/convert.hpp"
#include "lower.hpp"
#include "operators.hpp"

namespace heed_compile {
namespace {

// A tensor that refers to the same numbers.
tensor copy_of(const tensor &t) {
  tensor copy;
  copy.name = t.name, copy.dims = t.dims, copy.dtype = t.dtype, copy.layout = t.layout;
  copy.scales = t.scales, copy.zeros = t.zeros, copy.float_zeros = t.float_zeros;
  copy.refer(t.numbers());
  return copy;
}

tensor tensor_of(const std::vector<float> &floats, int64_t n_in, int64_t n_out, int32_t layout) {
  tensor t;
  heed_import::bytes to;
  for (const float f : floats) heed_import::put(to, f);
  const auto in = static_cast<uint32_t>(n_in), out = static_cast<uint32_t>(n_out);
  t.dims = layout == HEED_OUT_IN ? std::vector<uint32_t>{out, in} : std::vector<uint32_t>{in, out};
  t.layout = layout;
  t.own(std::move(to));
  return t;
}

std::vector<float> floats_of(const graph_value &v) {
  if (v.weight != nullptr) return heed_import::floats_of(*v.weight);
  const shared_array all = numbers_of(v);
  return {all->numbers.begin(), all->numbers.end()};
}

// A constant as a matrix whose numbers lie in this layout; weights of fewer bits stay as they are, if their scales permit it.
tensor matrix_tensor(const graph_value &v, int64_t n_in, int64_t n_out, int32_t layout) {
  if (v.weight == nullptr) return tensor_of(floats_of(v), n_in, n_out, layout);
  tensor t = copy_of(*v.weight);
  const bool is_same =
      t.layout == layout && t.dims == std::vector<uint32_t>{static_cast<uint32_t>(n_out), static_cast<uint32_t>(n_in)};
  if (heed_import::in_blocks(t.dtype) && layout == HEED_OUT_IN && is_same) return t;
  const bool is_other_layout =
      t.scales.size() > 1 && (t.layout != layout || t.scales.size() != static_cast<size_t>(n_out));
  if (is_other_layout || heed_import::in_blocks(t.dtype)) return tensor_of(floats_of(v), n_in, n_out, layout);
  t.layout = layout;
  const auto in = static_cast<uint32_t>(n_in), out = static_cast<uint32_t>(n_out);
  t.dims = layout == HEED_OUT_IN ? std::vector<uint32_t>{out, in} : std::vector<uint32_t>{in, out};
  return t;
}

}  // namespace

int lowering::new_matrix(const graph_node &n, const std::string &name, int64_t n_in, int64_t n_out,
                         std::function<tensor()> make) {
  expect(n_in >= 1 && n_out >= 1 && n_in <= HEED_MAX_COUNT && n_out <= HEED_MAX_COUNT, n,
         "has a matrix without numbers");
  file_constant c;
  c.name = c.source = name;
  c.is_matrix = true;
  c.n_in = int_of(n_in), c.n_out = int_of(n_out);
  c.count = n_in * n_out;
  c.make = std::move(make);
  p_.constants.push_back(std::move(c));
  return static_cast<int>(p_.constants.size()) - 1;
}

int lowering::matrix_of(const graph_node &n, int v, int32_t layout, int64_t n_in, int64_t n_out) {
  const auto found = matrices_.find({v, layout});
  if (found != matrices_.end()) return found->second;
  const graph_value &of = value(v);
  expect(count_of(of.dims) == n_in * n_out, n, "has a matrix of another shape");
  const int made = new_matrix(n, of.name, n_in, n_out,
                              [&of, n_in, n_out, layout] { return matrix_tensor(of, n_in, n_out, layout); });
  matrices_[{v, layout}] = made;
  return made;
}

// y = x w + bias; x (..., n_in), y (..., n_out) row by row.
view lowering::linear_of(const graph_node &n, const view &x, int w, const view *bias, const view &y) {
  const view from = rows(x, 1, true);
  if (from.dims[0] == 0) return y;
  add(n, "heed_graph_linear",
      {write(y), read(from), number(from.dims[0]), number(from.strides[0]), weights(w),
       bias != nullptr ? read(whole(*bias)) : null(), executor()});
  return y;
}

void lowering::linear(const graph_node &n) {
  const graph_value &w = value(n.inputs.at(1));
  const view x = view_of(n, 0), bias = has_input(n, 2) ? view_of(n, 2) : view();
  expect(w.dims.size() == 2 && !x.dims.empty() && x.dims.back() == w.dims[0], n, "has inputs whose shapes do not fit");
  int matrix = 0;
  if (has_input(n, 3)) {  // integers with their scales and zero points
    const auto scales = constant_numbers(n, 3), zeros = constant_numbers(n, 4);
    const graph_value *const of = &w;
    const auto make = [of, scales, zeros] {
      tensor t = matrix_tensor(*of, of->dims[0], of->dims[1], HEED_IN_OUT);
      const size_t count = std::max(scales.size(), zeros.size());
      t.scales.assign(count, static_cast<float>(scales[0]));
      t.zeros.assign(count, zeros.empty() ? 0 : static_cast<int32_t>(zeros[0]));
      for (size_t i = 0; i < scales.size(); ++i) t.scales[i] = static_cast<float>(scales[i]);
      for (size_t i = 0; i < zeros.size(); ++i) t.zeros[i] = static_cast<int32_t>(zeros[i]);
      return t;
    };
    matrix = new_matrix(n, w.name, w.dims[0], w.dims[1], make);
  } else {
    matrix = matrix_of(n, n.inputs[1], HEED_IN_OUT, w.dims[0], w.dims[1]);
  }
  linear_of(n, x, matrix, has_input(n, 2) ? &bias : nullptr, result(n));
}

void lowering::matmul(const graph_node &n) {
  view a = view_of(n, 0);
  expect(a.kind == element::floats && value(n.inputs.at(1)).kind == element::floats, n, "is known for floats alone");
  const graph_value &w = value(n.inputs[1]);
  if (w.is_constant && w.dims.size() == 2 && !a.dims.empty() && a.dims.back() == w.dims[0]) {
    const int matrix = matrix_of(n, n.inputs[1], HEED_IN_OUT, w.dims[0], w.dims[1]);
    linear_of(n, a, matrix, nullptr, result(n));
    return;
  }
  view b = view_of(n, 1);
  const view y = result(n);
  expect(!a.dims.empty() && !b.dims.empty(), n, "has a factor without dimensions");
  if (a.dims.size() == 1) a.dims.insert(a.dims.begin(), 1), a.strides.insert(a.strides.begin(), 0);
  if (b.dims.size() == 1) b.dims.push_back(1), b.strides.push_back(1);
  const int64_t n_rows = a.dims[a.dims.size() - 2], k = a.dims.back(), m = b.dims.back();
  expect(b.dims[b.dims.size() - 2] == k && k > 0, n, "has factors whose shapes do not fit");
  if (n_rows == 0 || m == 0) return;
  // Rows lie side by side in one of the two directions.
  const auto fits_rows = [](const view &v) { return v.strides.back() == 1 || v.dims.back() == 1; };
  if (!fits_rows(a) || a.strides[a.dims.size() - 2] < 0) a = whole(a);
  const bool is_turned = b.strides[b.dims.size() - 2] == 1 && b.strides.back() >= k;
  if (!is_turned && (!fits_rows(b) || b.strides[b.dims.size() - 2] < m)) b = whole(b);
  shape batch;
  const size_t n_batch = std::max(a.dims.size(), b.dims.size()) - 2;
  for (size_t d = 0; d < n_batch; ++d) {
    const auto dim_of = [&](const view &v) {
      const size_t more = n_batch + 2 - v.dims.size();
      return d < more ? int64_t{1} : v.dims[d - more];
    };
    batch.push_back(std::max(dim_of(a), dim_of(b)));
  }
  const auto over_batch = [&](view v) {
    v.dims.resize(v.dims.size() - 2);
    v.strides.resize(v.dims.size());
    return broadcast(n, v, batch);
  };
  view to = y;
  to.dims = batch;
  to.strides = whole_strides(batch);
  for (int64_t &stride : to.strides) stride *= n_rows * m;
  heed_graph_products p;
  std::memset(&p, 0, sizeof p);
  const argument over = loop(n, {to, over_batch(a), over_batch(b)});
  p.batch = p_.loops[static_cast<size_t>(over.index)];
  p.n = int_of(number(n_rows).number), p.k = int_of(number(k).number), p.m = int_of(number(m).number);
  p.a_stride = n_rows == 1 ? p.k : int_of(number(a.strides[a.dims.size() - 2]).number);
  p.layout = is_turned ? HEED_OUT_IN : HEED_IN_OUT;
  const int64_t b_stride = b.strides[is_turned ? b.dims.size() - 1 : b.dims.size() - 2];
  p.b_stride = is_turned && m == 1 ? p.k : !is_turned && k == 1 ? p.m : int_of(number(b_stride).number);
  add(n, "heed_graph_multiply",
      {write(y), read(a), read(b), table(p_.products, p, argument::what::products), executor()});
}

void lowering::gemm(const graph_node &n) {
  view a = view_of(n, 0);
  expect(a.kind == element::floats && a.dims.size() == 2, n, "is known for matrices of floats alone");
  if (integer_of(n, "transA", 0) != 0) a = turned(a, {1, 0});
  const bool is_turned = integer_of(n, "transB", 0) != 0;
  const double alpha = real_of(n, "alpha", 1), beta = real_of(n, "beta", 1);
  const graph_value &w = value(n.inputs.at(1));
  expect(w.is_constant && w.dims.size() == 2 && alpha == 1, n, "is known with constant weights and alpha = 1 alone");
  const int64_t n_in = w.dims[is_turned ? 1 : 0], n_out = w.dims[is_turned ? 0 : 1];
  expect(a.dims[1] == n_in, n, "has factors whose shapes do not fit");
  const int matrix = matrix_of(n, n.inputs[1], is_turned ? HEED_OUT_IN : HEED_IN_OUT, n_in, n_out);
  if (!has_input(n, 2)) {
    linear_of(n, a, matrix, nullptr, result(n));
    return;
  }
  const graph_value &c = value(n.inputs[2]);
  const bool is_bias =
      c.is_constant && beta == 1 && count_of(c.dims) == n_out && !c.dims.empty() && c.dims.back() == n_out;
  if (is_bias) {
    const view bias = view_of(n, 2);
    linear_of(n, a, matrix, &bias, result(n));
    return;
  }
  expect(beta == 1, n, "is known with beta = 1 alone");
  const view product = linear_of(n, a, matrix, nullptr, new_array(element::floats, {a.dims[0], n_out}, n.name));
  sum_of(n, product, view_of(n, 2), result(n));
}

// -------------------------------------------------------------------------------------------------------- convolutions

lowering::windows lowering::windows_of(const graph_node &n, const shape &x, const shape &kernel, const shape &y) const {
  windows w;
  w.kernel = kernel;
  w.stride = integers_of(n, "strides"), w.dilation = integers_of(n, "dilations");
  std::vector<int64_t> pads = integers_of(n, "pads");
  const size_t rank = kernel.size();
  if (w.stride.empty()) w.stride.assign(rank, 1);
  if (w.dilation.empty()) w.dilation.assign(rank, 1);
  const std::string automatic = text_of(n, "auto_pad", "NOTSET");
  expect(w.stride.size() == rank && w.dilation.size() == rank && x.size() == rank + 2 && y.size() == rank + 2, n,
         "has lists of another length than its dimensions");
  for (size_t d = 0; d < rank; ++d)
    expect(w.stride[d] >= 1 && w.dilation[d] >= 1 && kernel[d] >= 1, n, "has a window without numbers");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    pads.assign(2 * rank, 0);
    for (size_t d = 0; d < rank; ++d) {
      const int64_t all =
          std::max<int64_t>(0, (y[d + 2] - 1) * w.stride[d] + (kernel[d] - 1) * w.dilation[d] + 1 - x[d + 2]);
      pads[d] = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      pads[d + rank] = all - pads[d];
    }
  }
  if (pads.empty()) pads.assign(2 * rank, 0);
  expect(pads.size() == 2 * rank, n, "has another number of pads than its dimensions");
  for (size_t d = 0; d < rank; ++d) {
    w.before.push_back(pads[d]);
    // What the last window takes: more than pads says if it rounds up, less if it rounds down.
    const int64_t taken = (y[d + 2] - 1) * w.stride[d] + (kernel[d] - 1) * w.dilation[d] + 1;
    w.after.push_back(std::max<int64_t>(0, taken - pads[d] - x[d + 2]));
    expect(pads[d] >= 0 && y[d + 2] >= 1, n, "has a negative padding or no result");
  }
  return w;
}

void lowering::convolution(const graph_node &n) {
  view x = view_of(n, 0);
  const graph_value &w = value(n.inputs.at(1)), &out = value(n.outputs.at(0));
  expect(w.is_constant && w.dims.size() >= 3 && w.dims.size() == x.dims.size(), n,
         "is known with constant weights alone");
  const size_t rank = w.dims.size() - 2;
  const shape kernel(w.dims.begin() + 2, w.dims.end());
  const windows win = windows_of(n, x.dims, kernel, out.dims);
  const int64_t groups = integer_of(n, "group", 1), n_out = w.dims[0], n_group = w.dims[1];
  expect(groups >= 1 && n_out % groups == 0 && x.dims[1] == groups * n_group, n,
         "has groups that do not fit its channels");
  std::vector<int64_t> before = {0, 0}, after = {0, 0};
  before.insert(before.end(), win.before.begin(), win.before.end());
  after.insert(after.end(), win.after.begin(), win.after.end());
  x = padded(n, x, before, after, 0);
  view bias;
  if (has_input(n, 2)) bias = view_of(n, 2);
  // The result lies as (batch, places, channels).
  shape places(out.dims.begin() + 2, out.dims.end()), lying = {out.dims[0]};
  lying.insert(lying.end(), places.begin(), places.end());
  lying.push_back(n_out);
  const view y = new_array(element::floats, lying, out.name);
  std::vector<size_t> back = {0, rank + 1};
  for (size_t d = 0; d < rank; ++d) back.push_back(d + 1);
  if (groups > 1) {
    expect(rank <= 2, n, "has groups in more than two dimensions");
    heed_graph_convolution c;
    std::memset(&c, 0, sizeof c);
    const bool is_flat = rank == 1;
    const size_t last = rank - 1;
    c.n_batch = int_of(number(out.dims[0]).number), c.n_out = int_of(number(n_out).number);
    c.n_groups = int_of(groups), c.n_in_group = int_of(n_group);
    c.y_height = is_flat ? 1 : int_of(places[0]), c.y_width = int_of(places[last]);
    c.height = is_flat ? 1 : int_of(kernel[0]), c.width = int_of(kernel[last]);
    c.stride_y = is_flat ? 1 : int_of(win.stride[0]), c.stride_x = int_of(win.stride[last]);
    c.dilation_y = is_flat ? 1 : int_of(win.dilation[0]), c.dilation_x = int_of(win.dilation[last]);
    c.x_strides[0] = int_of(number(x.strides[0]).number), c.x_strides[1] = int_of(number(x.strides[1]).number);
    c.x_strides[2] = is_flat ? 0 : int_of(number(x.strides[2]).number);
    c.x_strides[3] = int_of(number(x.strides[rank + 1]).number);
    // (channels of a group, lines, pixels, out): numbers of neighbouring channels lie side by side.
    const std::vector<float> from = floats_of(w);
    std::vector<float> turned_weights(from.size());
    const int64_t n_taps = n_group * count_of(kernel);
    for (int64_t o = 0; o < n_out; ++o)
      for (int64_t t = 0; t < n_taps; ++t)
        turned_weights[static_cast<size_t>(t * n_out + o)] = from[static_cast<size_t>(o * n_taps + t)];
    shape lying_weights(w.dims.begin() + 1, w.dims.end());
    lying_weights.push_back(n_out);
    const view weight = constant_floats(turned_weights, lying_weights, w.name);
    add(n, "heed_graph_convolve",
        {write(y), read(x), read(weight), has_input(n, 2) ? read(whole(bias)) : null(),
         table(p_.convolutions, c, argument::what::convolution)});
    set(n, turned(y, back));
    return;
  }
  // Windows as rows. Where channels lie side by side, a window has them so, too: then rows of a signal overlap, and nothing is copied.
  const bool channels_last = x.strides[1] == 1 && x.dims[1] > 1;
  view rows_of = x;
  rows_of.dims = {x.dims[0]}, rows_of.strides = {x.strides[0]};
  for (size_t d = 0; d < rank; ++d) {
    rows_of.dims.push_back(places[d]);
    rows_of.strides.push_back(x.strides[d + 2] * win.stride[d]);
  }
  if (!channels_last) rows_of.dims.push_back(x.dims[1]), rows_of.strides.push_back(x.strides[1]);
  for (size_t d = 0; d < rank; ++d) {
    rows_of.dims.push_back(kernel[d]);
    rows_of.strides.push_back(x.strides[d + 2] * win.dilation[d]);
  }
  if (channels_last) rows_of.dims.push_back(x.dims[1]), rows_of.strides.push_back(x.strides[1]);
  const view as_rows = rows(rows_of, rank + 1, true);
  const int64_t taps = count_of(kernel), n_in = taps * n_group;
  const graph_value *const of = &w;
  const auto make = [of, taps, n_group, n_out, n_in, channels_last] {
    if (!channels_last || taps == 1) return matrix_tensor(*of, n_in, n_out, HEED_OUT_IN);
    const std::vector<float> from = floats_of(*of);
    std::vector<float> to;
    to.reserve(from.size());
    for (int64_t o = 0; o < n_out; ++o)
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t c = 0; c < n_group; ++c) to.push_back(from[static_cast<size_t>((o * n_group + c) * taps + t)]);
    return tensor_of(to, n_in, n_out, HEED_OUT_IN);
  };
  const int matrix = new_matrix(n, w.name, n_in, n_out, make);
  linear_of(n, as_rows, matrix, has_input(n, 2) ? &bias : nullptr, y);
  set(n, turned(y, back));
}

void lowering::pool(const graph_node &n) {
  view x = view_of(n, 0);
  const bool is_max = n.operation == "MaxPool";
  const shape kernel = integers_of(n, "kernel_shape");
  const graph_value &out = value(n.outputs.at(0));
  for (size_t i = 1; i < n.outputs.size(); ++i) expect(n.outputs[i] == no_value, n, "has indices as a result");
  const windows win = windows_of(n, x.dims, kernel, out.dims);
  const size_t rank = kernel.size();
  std::vector<int64_t> before = {0, 0}, after = {0, 0};
  before.insert(before.end(), win.before.begin(), win.before.end());
  after.insert(after.end(), win.after.begin(), win.after.end());
  const shape own = x.dims;
  x = padded(n, x, before, after, is_max ? -std::numeric_limits<double>::infinity() : 0);
  view outer = x, inner = x;
  inner.dims.clear(), inner.strides.clear();
  for (size_t d = 0; d < rank; ++d) {
    outer.dims[d + 2] = out.dims[d + 2];
    outer.strides[d + 2] = x.strides[d + 2] * win.stride[d];
    inner.dims.push_back(kernel[d]);
    inner.strides.push_back(x.strides[d + 2] * win.dilation[d]);
  }
  // Means over windows of which a part is padding: how many numbers each has.
  std::vector<float> counts;
  const bool counts_padding = integer_of(n, "count_include_pad", 0) != 0;
  bool is_even = true;
  if (!is_max) {
    const std::vector<int64_t> pads = integers_of(n, "pads");
    shape places(out.dims.begin() + 2, out.dims.end());
    for (int64_t i = 0; i < count_of(places); ++i) {
      int64_t rest = i;
      double count = 1;
      for (size_t d = rank; d-- > 0;) {
        const int64_t at = rest % places[d] * win.stride[d] - win.before[d];
        rest /= places[d];
        const int64_t behind = pads.empty() ? win.after[d] : pads[d + rank];
        const int64_t least = counts_padding ? -win.before[d] : 0, most = own[d + 2] + (counts_padding ? behind : 0);
        int64_t inside = 0;
        for (int64_t t = 0; t < kernel[d]; ++t) {
          const int64_t place = at + t * win.dilation[d];
          inside += place >= least && place < most;
        }
        count *= static_cast<double>(inside);
      }
      expect(count > 0, n, "has a window in the padding alone");
      counts.push_back(static_cast<float>(count));
      is_even = is_even && count == static_cast<double>(count_of(kernel));
    }
  }
  const char *const kind = is_max ? "HEED_GRAPH_GREATEST" : is_even ? "HEED_GRAPH_MEAN" : "HEED_GRAPH_SUM";
  const view y = is_max || is_even ? result(n) : new_array(element::floats, out.dims, out.name);
  const argument over_outer = loop(n, {y, outer}), over_inner = loop(n, {inner, inner}, true);
  add(n, "heed_graph_reduce", {named(kind), write(y), read(x), over_outer, over_inner});
  if (is_max || is_even) return;
  const view by = constant_floats(counts, shape(out.dims.begin() + 2, out.dims.end()), n.name + "_counts");
  combined(n, HEED_GRAPH_DIV, y, by, result(n));
}

// ----------------------------------------------------------------------------------------------------------- attention

view lowering::heads_of(const view &x, int64_t n_heads) const {
  view to = x;
  const int64_t dim = x.dims[2] / n_heads;
  to.dims = {x.dims[0], n_heads, x.dims[1], dim};
  to.strides = {x.strides[0], x.strides[2] * dim, x.strides[1], x.strides[2]};
  return to;
}

view lowering::attend(const graph_node &n, attention_input a) {
  const auto expect_strides = [&](view &v) {
    const bool fits =
        (v.strides[3] == 1 || v.dims[3] == 1) && v.strides[0] >= 0 && v.strides[1] >= 0 && v.strides[2] >= 0;
    if (!fits) v = whole(v);
  };
  expect_strides(a.q), expect_strides(a.k), expect_strides(a.v);
  heed_graph_attention t;
  std::memset(&t, 0, sizeof t);
  const auto set_strides = [&](int32_t to[3], const view &v) {
    for (size_t d = 0; d < 3; ++d) to[d] = v.dims[d] == 1 ? 0 : int_of(number(v.strides[d]).number);
  };
  const int64_t n_heads = a.q.dims[1], v_dim = a.v.dims[3];
  t.n_batch = int_of(number(a.q.dims[0]).number), t.n_heads = int_of(number(n_heads).number);
  t.n_kv_heads = int_of(number(a.k.dims[1]).number), t.n_q = int_of(number(a.q.dims[2]).number);
  t.n_kv = int_of(number(a.k.dims[2]).number), t.head_dim = int_of(number(a.q.dims[3]).number);
  t.v_dim = int_of(number(v_dim).number);
  const bool fits = a.k.dims[0] == a.q.dims[0] && a.v.dims[0] == a.q.dims[0] && a.v.dims[1] == a.k.dims[1] &&
                    a.v.dims[2] == a.k.dims[2] && a.k.dims[3] == a.q.dims[3] && t.n_kv_heads > 0 &&
                    t.n_heads % t.n_kv_heads == 0;
  expect(fits, n, "has queries, keys and values whose shapes do not fit");
  expect(t.head_dim <= HEED_MAX_DIM && t.v_dim <= HEED_MAX_DIM && t.n_heads <= HEED_MAX_DIM && t.n_q > 0 && t.n_kv > 0,
         n, "has heads that are too large or empty");
  t.causal = a.is_causal ? 1 : 0;
  t.position = int_of(number(a.position).number);
  t.scale = a.scale == 0 ? HEED_SCALE_DEFAULT : static_cast<float>(a.scale);
  if (t.scale == HEED_SCALE_DEFAULT || std::fabs(a.scale * std::sqrt(static_cast<double>(t.head_dim)) - 1) < 1e-6)
    t.scale = HEED_SCALE_DEFAULT;
  t.softcap = static_cast<float>(a.softcap);
  set_strides(t.q, a.q), set_strides(t.k, a.k), set_strides(t.v, a.v);
  const view y = new_array(element::floats, {a.q.dims[0], a.q.dims[2], n_heads, v_dim}, n.name);
  const view out = turned(y, {0, 2, 1, 3});
  for (size_t d = 0; d < 3; ++d) t.out[d] = int_of(number(out.strides[d]).number);
  argument mask = null();
  if (a.mask.at >= 0) {
    const shape dims = {a.q.dims[0], n_heads, a.q.dims[2], a.k.dims[2]};
    view m = broadcast(n, a.mask, dims);
    bool is_good = (m.strides[3] == 1 || m.dims[3] == 1) && m.strides[0] >= 0 && m.strides[1] >= 0 && m.strides[2] >= 0;
    if (!is_good) {  // the same number for all keys, or gaps between them: a copy without the repeats
      view one = a.mask;
      shape own = one.dims;
      if (!own.empty()) own.back() = dims[3];
      if (own.empty()) own = {dims[3]};
      m = broadcast(n, whole(broadcast(n, one, own)), dims);
    }
    t.mask = a.is_boolean ? HEED_GRAPH_BOOLEAN_MASK : HEED_GRAPH_ADDITIVE_MASK;
    for (size_t d = 0; d < 3; ++d) t.mask_strides[d] = int_of(number(m.strides[d]).number);
    mask = read(m);
  }
  const auto n_bytes = static_cast<int64_t>(heed_workspace_bytes(t.head_dim, t.v_dim));
  add(n, "heed_graph_attend",
      {write(y), read(a.q), read(a.k), read(a.v), mask, table(p_.attentions, t, argument::what::attention),
       workspace(n_bytes), executor()});
  return out;
}

void lowering::attention(const graph_node &n) {
  attention_input a;
  const auto four = [](view v) {
    v.dims.insert(v.dims.begin(), 4 - v.dims.size(), 1);
    v.strides.insert(v.strides.begin(), v.dims.size() - v.strides.size(), 0);
    return v;
  };
  a.q = four(view_of(n, 0)), a.k = four(view_of(n, 1)), a.v = four(view_of(n, 2));
  if (integer_of(n, "turned", 0) != 0) a.k = turned(a.k, {0, 1, 3, 2});
  a.scale = real_of(n, "scale", 1);
  const std::string kind = text_of(n, "mask", "");
  if (!kind.empty()) {
    const graph_value &mask = value(n.inputs.at(3));
    const int64_t n_q = a.q.dims[2], n_kv = a.k.dims[2];
    const bool is_square = mask.is_constant && count_of(mask.dims) == n_q * n_kv && mask.dims.size() >= 2 &&
                           mask.dims[mask.dims.size() - 2] == n_q;
    const auto hides = [&](double number) {
      return kind == "additive" ? number <= -1e4 : (number != 0) == (kind == "inverted");
    };
    const auto shows = [&](double number) { return kind == "additive" ? number == 0 : !hides(number); };
    bool is_empty = mask.is_constant, is_causal = is_square;
    if (mask.is_constant) {
      const shared_array all = numbers_of(mask);
      for (size_t i = 0; i < all->numbers.size(); ++i) {
        const double number = all->numbers[i];
        const auto query = static_cast<int64_t>(i) / n_kv, key = static_cast<int64_t>(i) % n_kv;
        is_empty = is_empty && shows(number);
        is_causal = is_causal && (key <= query + (n_kv - n_q) ? shows(number) : hides(number));
      }
    }
    if (is_causal && n_kv >= n_q) {
      a.is_causal = true;
      a.position = n_kv - n_q;
    } else if (!is_empty) {
      a.mask = view_of(n, 3);
      a.is_boolean = kind != "additive";
      if (kind == "inverted") {
        const view to = new_array(element::booleans, a.mask.dims, n.name + "_attend");
        add(n, "heed_graph_not", {write(to), read(a.mask), loop(n, {to, a.mask})});
        a.mask = to;
      }
    }
  }
  view out = attend(n, a);
  const size_t rank = value(n.outputs.at(0)).dims.size();
  out.dims.erase(out.dims.begin(), out.dims.begin() + static_cast<ptrdiff_t>(4 - rank));
  out.strides.erase(out.strides.begin(), out.strides.begin() + static_cast<ptrdiff_t>(4 - rank));
  set(n, out);
}

// Attention of operator set 23.
void lowering::onnx_attention(const graph_node &n) {
  attention_input a;
  view q = view_of(n, 0), k = view_of(n, 1), v = view_of(n, 2);
  expect(!has_input(n, 4) && !has_input(n, 5), n, "has a cache; export the model without it");
  for (size_t i = 1; i < n.outputs.size(); ++i)
    expect(n.outputs[i] == no_value, n, "has a cache or scores as a result");
  const bool is_flat = q.dims.size() == 3;
  if (is_flat) {
    const int64_t n_heads = integer_of(n, "q_num_heads", 0), n_kv_heads = integer_of(n, "kv_num_heads", 0);
    expect(n_heads > 0 && n_kv_heads > 0 && q.dims[2] % n_heads == 0 && k.dims.size() == 3 && v.dims.size() == 3 &&
               k.dims[2] % n_kv_heads == 0 && v.dims[2] % n_kv_heads == 0,
           n, "has heads that do not divide its rows");
    q = heads_of(q, n_heads), k = heads_of(k, n_kv_heads), v = heads_of(v, n_kv_heads);
  }
  expect(q.dims.size() == 4 && k.dims.size() == 4 && v.dims.size() == 4, n, "has inputs of another rank");
  a.q = q, a.k = k, a.v = v;
  a.scale = real_of(n, "scale", 0);
  a.softcap = real_of(n, "softcap", 0);
  a.is_causal = integer_of(n, "is_causal", 0) != 0;
  if (has_input(n, 3)) {
    a.mask = view_of(n, 3);
    expect(a.mask.kind != element::integers, n, "has a mask of integers");
    expect(!a.mask.dims.empty() && a.mask.dims.back() == k.dims[2], n, "has a mask for fewer keys than there are");
    a.is_boolean = a.mask.kind == element::booleans;
    expect(a.softcap == 0, n, "has a mask beside a softcap");
  }
  const view out = attend(n, a);
  if (!is_flat) {
    set(n, out);
    return;
  }
  set(n, flat(turned(out, {0, 2, 1, 3}), value(n.outputs.at(0)).dims));
}

// One matrix makes queries, keys and values of the input.
void lowering::microsoft_attention(const graph_node &n) {
  const view x = view_of(n, 0);
  const graph_value &w = value(n.inputs.at(1));
  const int64_t n_heads = integer_of(n, "num_heads", 0);
  expect(w.is_constant && w.dims.size() == 2 && x.dims.size() == 3 && n_heads > 0 && w.dims[1] % (3 * n_heads) == 0, n,
         "has weights that are no constant, or heads that do not divide them");
  expect(!has_input(n, 4) && !has_input(n, 6) && integers_of(n, "qkv_hidden_sizes").empty() &&
             integer_of(n, "do_rotary", 0) == 0,
         n, "has a cache, a rotation or sizes of its own");
  for (size_t i = 1; i < n.outputs.size(); ++i) expect(n.outputs[i] == no_value, n, "has a cache as a result");
  const int matrix = matrix_of(n, n.inputs[1], HEED_IN_OUT, w.dims[0], w.dims[1]);
  const view all = new_array(element::floats, {x.dims[0], x.dims[1], w.dims[1]}, n.name + "_qkv");
  view bias;
  if (has_input(n, 2)) bias = view_of(n, 2);
  linear_of(n, x, matrix, has_input(n, 2) ? &bias : nullptr, all);
  attention_input a;
  const int64_t dim = w.dims[1] / 3;
  const auto part = [&](int64_t i) {
    view v = all;
    v.dims[2] = dim;
    v.offset += i * dim;
    return heads_of(v, n_heads);
  };
  a.q = part(0), a.k = part(1), a.v = part(2);
  a.scale = real_of(n, "scale", 0);
  a.is_causal = integer_of(n, "unidirectional", 0) != 0;
  if (has_input(n, 3)) {
    const view mask = view_of(n, 3);  // (batch, keys), 0 hides
    expect(mask.kind == element::integers && mask.dims == shape({x.dims[0], x.dims[1]}), n,
           "has a mask of another form than (batch, keys)");
    view to = new_array(element::booleans, mask.dims, n.name + "_attend");
    add(n, "heed_graph_integer_to_boolean", {write(to), read(mask), loop(n, {to, mask})});
    to.dims = {x.dims[0], 1, 1, x.dims[1]};
    to.strides = {x.dims[1], 0, 0, 1};
    a.mask = to;
    a.is_boolean = true;
  }
  if (has_input(n, 5)) {
    expect(a.mask.at < 0, n, "has a mask and a bias of scores");
    a.mask = view_of(n, 5);
    a.is_boolean = false;
  }
  set(n, flat(turned(attend(n, a), {0, 2, 1, 3}), value(n.outputs.at(0)).dims));
}

void lowering::multi_head_attention(const graph_node &n) {
  attention_input a;
  const int64_t n_heads = integer_of(n, "num_heads", 0);
  expect(has_input(n, 1) && has_input(n, 2), n, "has keys and values in one input");
  expect(!has_input(n, 4) && !has_input(n, 6) && !has_input(n, 7), n, "has a mask of padding or a cache");
  for (size_t i = 1; i < n.outputs.size(); ++i) expect(n.outputs[i] == no_value, n, "has a cache as a result");
  view parts[3];
  const view bias = has_input(n, 3) ? view_of(n, 3) : view();
  int64_t at = 0;
  for (size_t i = 0; i < 3; ++i) {
    view x = view_of(n, i);
    expect(x.dims.size() == 3 && n_heads > 0 && x.dims[2] % n_heads == 0, n, "has heads that do not divide its rows");
    if (bias.at >= 0) {
      view own = whole(bias);
      own.offset += at;
      own.dims = {x.dims[2]}, own.strides = {1};
      x = sum_of(n, x, own, new_array(element::floats, x.dims, n.name));
      at += x.dims[2];
    }
    parts[i] = heads_of(x, n_heads);
  }
  a.q = parts[0], a.k = parts[1], a.v = parts[2];
  a.scale = real_of(n, "scale", 0);
  a.is_causal = integer_of(n, "unidirectional", 0) != 0;
  if (has_input(n, 5)) a.mask = view_of(n, 5);
  set(n, flat(turned(attend(n, a), {0, 2, 1, 3}), value(n.outputs.at(0)).dims));
}

}  // namespace heed_compile
