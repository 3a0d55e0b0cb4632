// Operators whose numbers are integers with a scale and a zero point become operators of floats between DequantizeLinear and QuantizeLinear.
// A pair of those is only a range (see fuse.cpp); what is left of them is arithmetic on floats. See rewrite.hpp.
// SPDX-License-Identifier: MIT
#include "rewrite.hpp"

namespace heed_compile {
namespace {

// Floats of inputs first, first + 1 (the scale) and first + 2 (the zero point, or none).
int real(rewriter &r, size_t first, int64_t axis = 1) {
  std::vector<int> inputs = {r.in(first), r.in(first + 1)};
  if (r.has(first + 2)) inputs.push_back(r.in(first + 2));
  return r.made("DequantizeLinear", inputs, r.dims(inputs[0]), {{"axis", rewriter::of(axis)}});
}

// The result of the node, with the scale and the zero point of two inputs.
void finish_rounded(rewriter &r, int x, size_t scale) {
  std::vector<int> inputs = {x, r.in(scale)};
  if (r.has(scale + 1)) inputs.push_back(r.in(scale + 1));
  r.finish(r.made("QuantizeLinear", inputs, r.dims(x), {}, element::integers));
}

void qlinear_matmul(rewriter &r) {
  const int a = real(r, 0), b = real(r, 3, static_cast<int64_t>(r.dims(r.in(3)).size()) - 1);
  finish_rounded(r, r.product(a, b), 6);
}

// (x, scale, zero, w, scale, zero, scale, zero, bias): the bias is in the units of the sums.
void qlinear_conv(rewriter &r) {
  const int x = real(r, 0), w = real(r, 3, 0);
  std::vector<int> inputs = {x, w};
  if (r.has(8)) {
    const std::vector<double> scale_x = r.numbers(1), scales = r.numbers(4);
    std::vector<double> bias = r.numbers(8);
    r.expect(scale_x.size() == 1 && (scales.size() == 1 || scales.size() == bias.size()),
             "has more or fewer scales than outputs");
    for (size_t i = 0; i < bias.size(); ++i) bias[i] *= scale_x[0] * scales[scales.size() == 1 ? 0 : i];
    inputs.push_back(r.constant(bias, {static_cast<int64_t>(bias.size())}));
  }
  finish_rounded(r, r.made("Conv", inputs, r.out_dims(), r.node().attributes), 6);
}

void qlinear_binary(rewriter &r, const char *operation) {
  const int a = real(r, 0), b = real(r, 3);
  finish_rounded(r, r.both(operation, a, b), 6);
}
void qlinear_add(rewriter &r) { qlinear_binary(r, "Add"); }
void qlinear_mul(rewriter &r) { qlinear_binary(r, "Mul"); }
void qlinear_sigmoid(rewriter &r) { finish_rounded(r, r.mapped("Sigmoid", real(r, 0)), 3); }
void qlinear_leaky_relu(rewriter &r) {
  const int x = real(r, 0);
  finish_rounded(r, r.made("LeakyRelu", {x}, r.dims(x), {{"alpha", rewriter::of_real(r.real("alpha", 0.01))}}), 3);
}

// ------------------------------------------------------------------------------------------------------- what is left

int as_float(rewriter &r, int v) {
  if (r.value(v).kind == element::floats) return v;
  return r.made("Cast", {v}, r.dims(v), {{"to", rewriter::of(int64_t{type_float})}});
}
int as_integer(rewriter &r, int v) {
  return r.made("Cast", {v}, r.dims(v), {{"to", rewriter::of(int64_t{type_int32})}}, element::integers);
}
int clipped(rewriter &r, int v, double least, double most) {
  const int low = r.number(least), high = r.number(most);
  return r.made("Clip", {v, low, high}, r.dims(v));
}

// A scale or a zero point beside numbers of this shape: one, or one for each place of the axis.
int beside(rewriter &r, size_t input, const shape &dims) {
  const int part = as_float(r, r.in(input));
  const int64_t n = product_of(r.dims(part), 0, r.dims(part).size());
  if (n == 1) return r.reshaped(part, {});
  const size_t axis = dims.size() == 1 ? 0 : r.axis(r.integer("axis", 1), dims.size());
  r.expect(r.integer("block_size", 0) == 0 && r.dims(part) == shape{dims.at(axis)},
           "has scales in blocks, which are not known");
  shape along(dims.size() - axis, 1);
  along[0] = n;
  return r.reshaped(part, along);
}

void dequantize(rewriter &r) {
  const shape dims = r.dims(r.in(0));
  int x = as_float(r, r.in(0));
  if (r.has(2)) x = r.both("Sub", x, beside(r, 2, dims));
  r.finish(r.both("Mul", x, beside(r, 1, dims)));
}

void quantize(rewriter &r) {
  const shape dims = r.dims(r.in(0));
  const integer_range range = range_of(r.value(r.node().outputs.at(0)).type);
  int x = r.mapped("Round", r.both("Div", r.in(0), beside(r, 1, dims)));
  if (r.has(2)) x = r.both("Add", x, beside(r, 2, dims));
  r.finish(as_integer(r, clipped(r, x, range.least, range.most)));
}

// Integers of 8 bits, the scale, the zero point: the range of the numbers, which has 0, becomes 0 to 255.
void dynamic_quantize(rewriter &r) {
  const int x = r.in(0);
  const auto edge = [&](const char *operation, const char *with) {
    const int found = r.made(operation, {x}, {}, {{"keepdims", rewriter::of(int64_t{0})}});
    return r.both(with, found, r.number(0));
  };
  const int least = edge("ReduceMin", "Min"), most = edge("ReduceMax", "Max");
  const int scale = r.both("Div", r.both("Sub", most, least), r.number(255));
  const int below = r.mapped("Neg", least), places = r.both("Div", below, scale);
  const int zero = clipped(r, r.mapped("Round", places), 0, 255);
  const int rounded = r.mapped("Round", r.both("Div", x, scale)), moved = r.both("Add", rounded, zero);
  const int zero_point = as_integer(r, zero);
  r.finish(as_integer(r, clipped(r, moved, 0, 255)));
  r.finish(scale, 1);
  r.finish(zero_point, 2);
}

// x without its zero point; w as a constant that keeps its bytes.
int without_zero(rewriter &r) {
  const int x = as_float(r, r.in(0));
  if (!r.has(2)) return x;
  const int zero = as_float(r, r.in(2));
  r.expect(product_of(r.dims(zero), 0, r.dims(zero).size()) == 1, "has several zero points of its input");
  return r.both("Sub", x, r.reshaped(zero, {}));
}
int integer_weights(rewriter &r, int64_t axis) {
  r.expect(r.is_constant(r.in(1)) && (!r.has(3) || r.is_constant(r.in(3))), "is known with constant weights alone");
  const shape zeros = r.has(3) ? r.dims(r.in(3)) : shape();
  const int ones = r.constant(std::vector<double>(static_cast<size_t>(product_of(zeros, 0, zeros.size())), 1), zeros);
  std::vector<int> inputs = {r.in(1), ones};
  if (r.has(3)) inputs.push_back(r.in(3));
  return r.made("DequantizeLinear", inputs, r.dims(inputs[0]), {{"axis", rewriter::of(axis)}});
}
void matmul_integer(rewriter &r) {
  const int x = without_zero(r), w = integer_weights(r, static_cast<int64_t>(r.dims(r.in(1)).size()) - 1);
  r.finish(as_integer(r, r.mapped("Round", r.product(x, w))));
}
void conv_integer(rewriter &r) {
  const int x = without_zero(r), w = integer_weights(r, 0);
  r.finish(as_integer(r, r.mapped("Round", r.made("Conv", {x, w}, r.out_dims(), r.node().attributes))));
}

}  // namespace

void add_rounded(rewritings &all) {
  all["QLinearMatMul"] = qlinear_matmul, all["QLinearConv"] = qlinear_conv;
  all["com.microsoft.QLinearAdd"] = qlinear_add, all["com.microsoft.QLinearMul"] = qlinear_mul;
  all["com.microsoft.QLinearSigmoid"] = qlinear_sigmoid;
  all["com.microsoft.QLinearLeakyRelu"] = qlinear_leaky_relu;
}

void add_rounding(rewritings &all) {
  for (const std::string domain : {"", "com.microsoft."})
    all[domain + "DequantizeLinear"] = dequantize, all[domain + "QuantizeLinear"] = quantize;
  all["DynamicQuantizeLinear"] = dynamic_quantize;
  all["MatMulInteger"] = matmul_integer, all["ConvInteger"] = conv_integer;
}

}  // namespace heed_compile
