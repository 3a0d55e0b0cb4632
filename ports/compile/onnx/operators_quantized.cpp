// Operators of integers with scales and zero points. See operators.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "operators.hpp"
#include "windows.hpp"

namespace heed_compile {
namespace {

// The scale or the zero point of each number: one for all, one for each place of an axis, or one for each block of that axis.
std::vector<double> spread(const call &c, const array &part, const shape &dims) {
  const size_t n = static_cast<size_t>(count_of(dims));
  std::vector<double> each(n);
  if (part.numbers.size() == 1) {
    std::fill(each.begin(), each.end(), part.numbers[0]);
    return each;
  }
  c.expect(!dims.empty(), "has several scales for one number");
  // Of one dimension the axis says which; a part of one dimension may belong to any.
  const int64_t given = c.integer("axis", 1);
  const size_t axis = dims.size() == 1 ? 0 : c.axis(given, dims.size());
  const int64_t block = c.integer("block_size", 0);
  const lines to(dims, axis);
  if (block == 0 && part.dims.size() <= 1) {
    c.expect(static_cast<int64_t>(part.numbers.size()) == dims[axis], "has more or fewer scales than its axis");
    for (size_t i = 0; i < n; ++i)
      each[i] = part.numbers[i / static_cast<size_t>(to.stride) % static_cast<size_t>(to.length)];
    return each;
  }
  c.expect(block > 0 && part.dims.size() == dims.size(), "has scales of another number of dimensions");
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t wanted = d == axis ? (dims[d] + block - 1) / block : dims[d];
    c.expect(part.dims[d] == wanted, "has more or fewer scales than blocks");
  }
  const lines from(part.dims, axis);
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t k = 0; k < to.length; ++k)
      for (int64_t inner = 0; inner < to.stride; ++inner)
        each[static_cast<size_t>(to.at(o, k, inner))] = part.numbers[static_cast<size_t>(from.at(o, k / block, inner))];
  return each;
}

// The type of quantised numbers: that of the zero point, or what output_dtype says.
int32_t quantized_type(const call &c, size_t zero) {
  if (c.has(zero) && c.in(zero).type != 0) return c.in(zero).type;
  const int64_t said = c.integer("output_dtype", 0);
  return said == 0 ? int32_t{type_uint8} : static_cast<int32_t>(said);
}

double to_integer(double number, double scale, double zero, const integer_range &range) {
  const double q = rounded_to_even(number / scale) + zero;
  return std::isnan(q) ? zero : std::min(std::max(q, range.least), range.most);
}

results quantize(const call &c) {
  const array &x = c.in(0);
  const int32_t type = quantized_type(c, 2);
  c.expect(element_of(type) == element::integers, "has a zero point that is no integer");
  array made = zeros_of(element::integers, x.dims, type);
  const std::vector<double> scales = spread(c, c.in(1), x.dims);
  const std::vector<double> zeros = c.has(2) ? spread(c, c.in(2), x.dims) : std::vector<double>(scales.size(), 0);
  const integer_range range = range_of(type);
  for (size_t i = 0; i < made.numbers.size(); ++i) {
    // The quotient is that of floats: halves are halves of it.
    const float quotient = static_cast<float>(x.numbers[i]) / static_cast<float>(scales[i]);
    made.numbers[i] = to_integer(static_cast<double>(quotient), 1, zeros[i], range);
  }
  return one(std::move(made));
}

results dequantize(const call &c) {
  const array &x = c.in(0);
  array made = zeros_of(element::floats, x.dims, c.in(1).type);
  const std::vector<double> scales = spread(c, c.in(1), x.dims);
  const std::vector<double> zeros = c.has(2) ? spread(c, c.in(2), x.dims) : std::vector<double>(scales.size(), 0);
  for (size_t i = 0; i < made.numbers.size(); ++i) made.numbers[i] = (x.numbers[i] - zeros[i]) * scales[i];
  return one(std::move(made));
}

// uint8 with a range that has 0: outputs are the integers, the scale, the zero point.
results dynamic_quantize(const call &c) {
  const array &x = c.in(0);
  double least = 0, most = 0;
  for (const double number : x.numbers) least = std::min(least, number), most = std::max(most, number);
  const float scale = (static_cast<float>(most) - static_cast<float>(least)) / 255;
  const integer_range range = range_of(type_uint8);
  double zero = 0;
  if (scale != 0) zero = to_integer(static_cast<double>(-static_cast<float>(least) / scale), 1, 0, range);
  array made = zeros_of(element::integers, x.dims, type_uint8);
  for (size_t i = 0; scale != 0 && i < x.numbers.size(); ++i)
    made.numbers[i] = to_integer(static_cast<double>(static_cast<float>(x.numbers[i]) / scale), 1, zero, range);
  results all = one(std::move(made));
  all.push_back(zeros_of(element::floats, {}, type_float));
  all.push_back(zeros_of(element::integers, {}, type_uint8));
  all[1].numbers[0] = static_cast<double>(scale);
  all[2].numbers[0] = zero;
  return all;
}

// Integers without their zero point: one for all, or one for each row (of a left matrix) or column (of a right one).
array without_zero(const call &c, const array &x, const array *zero, bool by_rows) {
  array made = x;
  if (zero == nullptr || c.only_shapes) return made;
  const size_t n = zero->numbers.size();
  if (n == 1) {
    for (double &number : made.numbers) number -= zero->numbers[0];
    return made;
  }
  c.expect(x.dims.size() >= 2, "has several zero points for a vector");
  const size_t columns = static_cast<size_t>(x.dims.back()), rows = static_cast<size_t>(x.dims[x.dims.size() - 2]);
  const size_t wanted = by_rows ? rows : columns, matrices = made.numbers.size() / std::max<size_t>(rows * columns, 1);
  c.expect(n == wanted || n == wanted * matrices, "has more or fewer zero points than its matrix");
  for (size_t i = 0; i < made.numbers.size(); ++i) {
    const size_t matrix = i / (rows * columns), at = by_rows ? i / columns % rows : i % columns;
    made.numbers[i] -= zero->numbers[n == wanted ? at : matrix * wanted + at];
  }
  return made;
}

array as_int32(array &&a) {
  a.kind = element::integers;
  a.type = type_int32;
  return std::move(a);
}

results matmul_integer(const call &c) {
  const array a = without_zero(c, c.in(0), c.maybe(2), true), b = without_zero(c, c.in(1), c.maybe(3), false);
  return one(as_int32(multiplied(c, a, b)));
}

// The zero point of a kernel has one number for each output, the first dimension.
array kernel_without_zero(const call &c, const array &w, const array *zero) {
  array made = w;
  if (zero == nullptr || c.only_shapes) return made;
  const size_t n = zero->numbers.size(), n_out = w.dims.empty() ? 1 : static_cast<size_t>(w.dims[0]);
  c.expect(n == 1 || n == n_out, "has more or fewer zero points than outputs");
  for (size_t i = 0; i < made.numbers.size(); ++i)
    made.numbers[i] -= zero->numbers[n == 1 ? 0 : i / (made.numbers.size() / n_out)];
  return made;
}

results conv_integer(const call &c) {
  c.expect(!c.has(2) || c.only_shapes || c.in(2).numbers.size() == 1, "has several zero points of its input");
  const array x = without_zero(c, c.in(0), c.maybe(2), true), w = kernel_without_zero(c, c.in(1), c.maybe(3));
  return one(as_int32(convolved(c, x, w, nullptr)));
}

// Rounds a product of integers to those of the output: times `scale`, which may have one number for each output.
array requantized(const call &c, const array &sums, const array &scale_a, const array &scale_b, size_t scale,
                  size_t zero, size_t axis) {
  const int32_t type = c.in(zero).type;
  array made = zeros_of(element::integers, sums.dims, type);
  if (c.only_shapes) return made;
  c.expect(scale_a.numbers.size() == 1, "has several scales of its left operand");
  const double to = c.number_in(scale), zero_out = c.number_in(zero);
  const lines l(sums.dims, axis);
  const size_t n = scale_b.numbers.size();
  c.expect(n == 1 || static_cast<int64_t>(n) == l.length, "has more or fewer scales than outputs");
  for (size_t i = 0; i < sums.numbers.size(); ++i) {
    const size_t out = i / static_cast<size_t>(l.stride) % static_cast<size_t>(l.length);
    const double factor = scale_a.numbers[0] * scale_b.numbers[n == 1 ? 0 : out];
    made.numbers[i] = to_integer(sums.numbers[i] * factor, to, zero_out, range_of(type));
  }
  return made;
}

results qlinear_matmul(const call &c) {
  const array a = without_zero(c, c.in(0), &c.in(2), true), b = without_zero(c, c.in(3), &c.in(5), false);
  const array sums = multiplied(c, a, b);
  c.expect(!sums.dims.empty(), "multiplies two vectors");
  return one(requantized(c, sums, c.in(1), c.in(4), 6, 7, sums.dims.size() - 1));
}

results qlinear_conv(const call &c) {
  const array x = without_zero(c, c.in(0), &c.in(2), true), w = kernel_without_zero(c, c.in(3), &c.in(5));
  // A bias is in the units of the sums.
  const array sums = convolved(c, x, w, c.maybe(8));
  return one(requantized(c, sums, c.in(1), c.in(4), 6, 7, 1));
}

// Of com.microsoft: inputs are pairs of numbers, scale and zero point.
array real_numbers(const call &c, size_t first) {
  array made = c.in(first);
  made.kind = element::floats;
  made.type = type_float;
  const double scale = c.number_in(first + 1), zero = c.has(first + 2) ? c.number_in(first + 2) : 0;
  for (double &number : made.numbers) number = (number - zero) * scale;
  return made;
}

results with_scale(const call &c, const array &x, size_t scale, size_t zero) {
  const int32_t type = c.has(zero) ? c.in(zero).type : c.in(0).type;
  array made = zeros_of(element::integers, x.dims, type);
  const double to = c.number_in(scale), zero_out = c.has(zero) ? c.number_in(zero) : 0;
  if (c.only_shapes) return one(std::move(made));
  for (size_t i = 0; i < x.numbers.size(); ++i)
    made.numbers[i] = to_integer(x.numbers[i], to, zero_out, range_of(type));
  return one(std::move(made));
}

template <typename Function>
results qlinear_binary(const call &c, Function f) {
  const array a = real_numbers(c, 0), b = real_numbers(c, 3);
  const shape dims = broadcast_shape(c, a.dims, b.dims);
  array made = broadcast_to(c, a, dims);
  const array other = broadcast_to(c, b, dims);
  for (size_t i = 0; i < made.numbers.size(); ++i) made.numbers[i] = f(made.numbers[i], other.numbers[i]);
  return with_scale(c, made, 6, 7);
}

results qlinear_sigmoid(const call &c) {
  array made = real_numbers(c, 0);
  for (double &number : made.numbers) number = 1 / (1 + std::exp(-number));
  return with_scale(c, made, 3, 4);
}

results qlinear_leaky_relu(const call &c) {
  const double alpha = c.number("alpha", 0.01);
  array made = real_numbers(c, 0);
  for (double &number : made.numbers) number = number < 0 ? alpha * number : number;
  return with_scale(c, made, 3, 4);
}

// (a, b quantised, b_scale, b_zero_point, bias): a is quantised as DynamicQuantizeLinear does it.
results dynamic_quantize_matmul(const call &c) {
  const array &b = c.in(1);
  c.expect(b.dims.size() == 2, "has weights that are no matrix");
  const std::vector<const array *> first = {&c.in(0)};
  const results parts = dynamic_quantize({c.node, c.opset, first, c.only_shapes});
  array a = parts[0];
  for (double &number : a.numbers) number = (number - parts[2].numbers[0]) * parts[1].numbers[0];
  array weights = without_zero(c, b, c.maybe(3), false);
  const array &scale = c.in(2);
  const size_t n = scale.numbers.size(), columns = static_cast<size_t>(b.dims[1]);
  c.expect(n == 1 || n == columns, "has more or fewer scales than outputs");
  for (size_t i = 0; i < weights.numbers.size(); ++i) weights.numbers[i] *= scale.numbers[n == 1 ? 0 : i % columns];
  a.kind = element::floats;
  a.type = type_float;
  array made = multiplied(c, a, weights);
  if (c.has(4)) {
    const array bias = broadcast_to(c, c.in(4), made.dims);
    for (size_t i = 0; i < made.numbers.size(); ++i) made.numbers[i] += bias.numbers[i];
  }
  return one(std::move(made));
}

// (a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias).
results matmul_integer_to_float(const call &c) {
  const array a = without_zero(c, c.in(0), c.maybe(4), true), b = without_zero(c, c.in(1), c.maybe(5), false);
  array made = multiplied(c, a, b);
  made.kind = element::floats;
  made.type = type_float;
  const array &scale = c.in(3);
  const size_t n = scale.numbers.size(), columns = made.dims.empty() ? 1 : static_cast<size_t>(made.dims.back());
  c.expect(n == 1 || n == columns, "has more or fewer scales than outputs");
  const double scale_a = c.number_in(2);
  for (size_t i = 0; i < made.numbers.size(); ++i) made.numbers[i] *= scale_a * scale.numbers[n == 1 ? 0 : i % columns];
  if (c.has(6)) {
    const array bias = broadcast_to(c, c.in(6), made.dims);
    for (size_t i = 0; i < made.numbers.size(); ++i) made.numbers[i] += bias.numbers[i];
  }
  return one(std::move(made));
}

// Weights (outputs, blocks, bytes) of 2, 4 or 8 bits with a scale for each block, and zero points that are packed alike.
results matmul_nbits(const call &c) {
  const array &a = c.in(0), &b = c.in(1), &scales = c.in(2);
  const int64_t depth = c.integer("K", 0), columns = c.integer("N", 0), block = c.integer("block_size", 0);
  const int64_t bits = c.integer("bits", 4);
  c.expect(bits == 2 || bits == 4 || bits == 8, "has weights of a number of bits other than 2, 4 and 8");
  c.expect(depth > 0 && columns > 0 && block >= 16 && depth <= most_numbers && block <= most_numbers &&
               columns <= most_numbers / depth,
           "has a K, an N or a block_size that is not positive, or too large");
  c.expect(!c.has(4), "has an order of groups (g_idx), which is not known");
  const int64_t blocks = (depth + block - 1) / block, in_byte = 8 / bits, block_bytes = block / in_byte;
  const int64_t zero_bytes = (blocks + in_byte - 1) / in_byte;
  c.expect(count_of(b.dims) == columns * blocks * block_bytes, "has more or fewer weights than K and N say");
  c.expect(count_of(scales.dims) == columns * blocks, "has more or fewer scales than blocks");
  c.expect(!a.dims.empty() && a.dims.back() == depth, "has an input whose rows have not K numbers");
  shape dims = a.dims;
  dims.back() = columns;
  if (c.only_shapes) return one(zeros_like(a, dims));
  const bool has_floats = c.has(3) && c.in(3).kind == element::floats;
  c.expect(!c.has(3) ||
               static_cast<int64_t>(c.in(3).numbers.size()) == (has_floats ? columns * blocks : columns * zero_bytes),
           "has more or fewer zero points than blocks");
  const auto field = [&](const array &packed, int64_t first_byte, int64_t i) {
    const int64_t byte = static_cast<int64_t>(packed.numbers[static_cast<size_t>(first_byte + i / in_byte)]);
    return static_cast<double>(byte >> (i % in_byte * bits) & ((1 << bits) - 1));
  };
  array weights = zeros_of(element::floats, {depth, columns});
  for (int64_t out = 0; out < columns; ++out) {
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t number = k / block, place = out * blocks + number;
      double zero = static_cast<double>(1 << (bits - 1));
      if (has_floats)
        zero = c.in(3).numbers[static_cast<size_t>(place)];
      else if (c.has(3))
        zero = field(c.in(3), out * zero_bytes, number);
      const double q = field(b, place * block_bytes, k % block);
      weights.numbers[static_cast<size_t>(k * columns + out)] = (q - zero) * scales.numbers[static_cast<size_t>(place)];
    }
  }
  array made = multiplied(c, a, weights);
  if (c.has(5)) {
    const array bias = broadcast_to(c, c.in(5), made.dims);
    for (size_t i = 0; i < made.numbers.size(); ++i) made.numbers[i] += bias.numbers[i];
  }
  return one(std::move(made));
}

}  // namespace

void add_quantized(operations &all) {
  for (const std::string domain : {"", "com.microsoft."}) {
    all[domain + "QuantizeLinear"] = quantize;
    all[domain + "DequantizeLinear"] = dequantize;
  }
  all["DynamicQuantizeLinear"] = dynamic_quantize;
  all["MatMulInteger"] = matmul_integer;
  all["ConvInteger"] = conv_integer;
  all["QLinearMatMul"] = qlinear_matmul;
  all["QLinearConv"] = qlinear_conv;
  all["com.microsoft.QLinearAdd"] = [](const call &c) {
    return qlinear_binary(c, [](double a, double b) { return a + b; });
  };
  all["com.microsoft.QLinearMul"] = [](const call &c) {
    return qlinear_binary(c, [](double a, double b) { return a * b; });
  };
  all["com.microsoft.QLinearSigmoid"] = qlinear_sigmoid;
  all["com.microsoft.QLinearLeakyRelu"] = qlinear_leaky_relu;
  all["com.microsoft.DynamicQuantizeMatMul"] = dynamic_quantize_matmul;
  all["com.microsoft.MatMulIntegerToFloat"] = matmul_integer_to_float;
  all["com.microsoft.MatMulNBits"] = matmul_nbits;
}

}  // namespace heed_compile
