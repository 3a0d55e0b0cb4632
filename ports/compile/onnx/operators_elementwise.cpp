// Operators that make one number of one, two or three. See operators.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "operators.hpp"

namespace heed_compile {

shape broadcast_shape(const call &c, const shape &a, const shape &b) {
  const size_t rank = std::max(a.size(), b.size());
  shape dims(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t of_a = d < rank - a.size() ? 1 : a[d - (rank - a.size())];
    const int64_t of_b = d < rank - b.size() ? 1 : b[d - (rank - b.size())];
    if (of_a != of_b && of_a != 1 && of_b != 1)
      c.refuse("has inputs whose shapes do not fit: " + text_of(a) + " and " + text_of(b));
    dims[d] = of_a == 1 ? of_b : of_a;
  }
  count_of(dims);
  return dims;
}

namespace {

// Steps of an operand along the dimensions of the result: 0 where it repeats.
std::vector<int64_t> steps_of(const shape &operand, const shape &dims) {
  const std::vector<int64_t> strides = strides_of(operand);
  const size_t before = dims.size() - operand.size();
  std::vector<int64_t> steps(dims.size(), 0);
  for (size_t d = before; d < dims.size(); ++d)
    if (operand[d - before] != 1) steps[d] = strides[d - before];
  return steps;
}

// Calls visit(place in the result, place in a, place in b) for each number of a shape.
template <typename Visit>
void for_each_pair(const shape &dims, const shape &a, const shape &b, Visit visit) {
  const int64_t n = count_of(dims);
  if (a == dims && b == dims) {
    for (int64_t i = 0; i < n; ++i) visit(i, i, i);
    return;
  }
  if (n == 0) return;
  const std::vector<int64_t> steps_a = steps_of(a, dims), steps_b = steps_of(b, dims);
  const size_t rank = dims.size();
  if (rank == 0) return visit(0, 0, 0);
  const int64_t row = dims[rank - 1], step_a = steps_a[rank - 1], step_b = steps_b[rank - 1];
  std::vector<int64_t> at(rank, 0);
  int64_t in_a = 0, in_b = 0;
  for (int64_t i = 0; i < n; i += row) {
    for (int64_t k = 0; k < row; ++k) visit(i + k, in_a + k * step_a, in_b + k * step_b);
    for (size_t d = rank - 1; d > 0; --d) {
      in_a += steps_a[d - 1], in_b += steps_b[d - 1];
      if (++at[d - 1] < dims[d - 1]) break;
      in_a -= steps_a[d - 1] * dims[d - 1], in_b -= steps_b[d - 1] * dims[d - 1];
      at[d - 1] = 0;
    }
  }
}

using unary = double (*)(double);
using binary = double (*)(double, double);

results map_one(const call &c, const std::function<double(double)> &f) {
  const array &a = c.in(0);
  array made = zeros_like(a, a.dims);
  if (c.only_shapes) return one(std::move(made));
  const size_t n = a.numbers.size();
  for (size_t i = 0; i < n; ++i) made.numbers[i] = f(a.numbers[i]);
  return one(std::move(made));
}

template <typename Function>
array map_two(const call &c, const array &a, const array &b, Function f) {
  array made = zeros_of(a.kind, broadcast_shape(c, a.dims, b.dims), a.type);
  if (c.only_shapes) return made;
  const double *const of_a = a.numbers.data(), *const of_b = b.numbers.data();
  double *const to = made.numbers.data();
  for_each_pair(made.dims, a.dims, b.dims, [&](int64_t i, int64_t k, int64_t l) { to[i] = f(of_a[k], of_b[l]); });
  return made;
}

// Integers are wrapped to their type.
template <typename Function>
results arithmetic(const call &c, Function f) {
  array made = map_two(c, c.in(0), c.in(1), f);
  if (made.kind == element::integers)
    for (double &number : made.numbers) number = wrapped(number, made.type);
  return one(std::move(made));
}

// Of any number of inputs.
template <typename Function>
results fold(const call &c, Function f) {
  array made = c.in(0);
  for (size_t i = 1; i < c.inputs.size(); ++i) made = map_two(c, made, c.in(i), f);
  return one(std::move(made));
}

template <typename Function>
results compare(const call &c, Function f) {
  array made = map_two(c, c.in(0), c.in(1), f);
  made.kind = element::booleans;
  made.type = type_bool;
  return one(std::move(made));
}

double divided(double a, double b) { return a / b; }
double divided_integers(double a, double b) { return b == 0 ? 0 : std::trunc(a / b); }

// The sign of the divisor, as Python has it.
double modulo(double a, double b) {
  if (b == 0) return 0;
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double powered(double a, double b) { return std::pow(a, b); }

results shift_bits(const call &c) {
  const bool left = c.text("direction", "LEFT") == "LEFT";
  return arithmetic(
      c, [left](double a, double b) { return left ? std::ldexp(a, int(b)) : std::floor(std::ldexp(a, -int(b))); });
}

template <typename Function>
results bitwise(const call &c, Function f) {
  return arithmetic(c, [f](double a, double b) {
    if (!(std::fabs(a) < 9e18) || !(std::fabs(b) < 9e18)) return 0.0;
    return static_cast<double>(f(static_cast<int64_t>(a), static_cast<int64_t>(b)));
  });
}

results where(const call &c) {
  const array &condition = c.in(0), &yes = c.in(1), &no = c.in(2);
  const shape dims = broadcast_shape(c, broadcast_shape(c, condition.dims, yes.dims), no.dims);
  const array chosen = broadcast_to(c, condition, dims);
  const array of_yes = broadcast_to(c, yes, dims);
  array made = broadcast_to(c, no, dims);
  made.kind = yes.kind;
  made.type = yes.type;
  for (size_t i = 0; i < made.numbers.size(); ++i)
    if (chosen.numbers[i] != 0) made.numbers[i] = of_yes.numbers[i];
  return one(std::move(made));
}

results cast_to(const call &c, int32_t type) {
  array made = c.in(0);
  const element from = made.kind;
  made.kind = element_of(type);
  made.type = type;
  if (made.kind == element::booleans)
    for (double &number : made.numbers) number = number != 0;
  if (made.kind == element::integers && from == element::floats)
    for (double &number : made.numbers) number = std::isfinite(number) ? std::trunc(number) : 0;
  if (made.kind == element::integers)
    for (double &number : made.numbers) number = wrapped(number, type);
  return one(std::move(made));
}

results cast(const call &c) {
  c.expect(c.has_attribute("to"), "has no attribute \"to\"");
  return cast_to(c, static_cast<int32_t>(c.integer("to", 0)));
}

results cast_like(const call &c) {
  const array &like = c.in(1);
  if (like.type != 0) return cast_to(c, like.type);
  if (like.kind == element::floats) return cast_to(c, type_float);
  return cast_to(c, like.kind == element::integers ? type_int64 : type_bool);
}

results clip(const call &c) {
  double least = c.number("min", -INFINITY), most = c.number("max", INFINITY);
  if (c.has(1)) least = c.number_in(1);
  if (c.has(2)) most = c.number_in(2);
  return map_one(c, [=](double x) { return std::min(std::max(x, least), most); });
}

results mean(const call &c) {
  results all = fold(c, [](double a, double b) { return a + b; });
  for (double &number : all[0].numbers) number /= static_cast<double>(c.inputs.size());
  return all;
}

// With a slope for each channel, or one.
results prelu(const call &c) {
  return one(map_two(c, c.in(0), c.in(1), [](double x, double slope) { return x < 0 ? slope * x : x; }));
}

results dropout(const call &c) {
  if (c.has(2)) c.expect(c.number_in(2) == 0, "is in training mode");
  array mask = zeros_of(element::booleans, c.in(0).dims, type_bool);
  for (double &number : mask.numbers) number = 1;
  results all = one(array(c.in(0)));
  if (c.needs_output(1)) all.push_back(std::move(mask));
  return all;
}

void add_unary(operations &all, const char *name, unary f) {
  all[name] = [f](const call &c) { return map_one(c, f); };
}
template <typename Function>
void add_with_alpha(operations &all, const char *name, double alpha, double beta, Function f) {
  all[name] = [=](const call &c) {
    const double a = c.number("alpha", alpha), b = c.number("beta", beta);
    return map_one(c, [=](double x) { return f(x, a, b); });
  };
}
results to_boolean(const call &c, bool (*f)(double)) {
  results all = map_one(c, [f](double x) { return f(x) ? 1.0 : 0.0; });
  all[0].kind = element::booleans;
  all[0].type = type_bool;
  return all;
}

void add_unaries(operations &all) {
  add_unary(all, "Abs", [](double x) { return std::fabs(x); });
  add_unary(all, "Neg", [](double x) { return -x; });
  add_unary(all, "Sign", [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; });
  add_unary(all, "Ceil", [](double x) { return std::ceil(x); });
  add_unary(all, "Floor", [](double x) { return std::floor(x); });
  add_unary(all, "Round", rounded_to_even);
  add_unary(all, "Reciprocal", [](double x) { return 1 / x; });
  add_unary(all, "Sqrt", [](double x) { return std::sqrt(x); });
  add_unary(all, "Exp", [](double x) { return std::exp(x); });
  add_unary(all, "Log", [](double x) { return std::log(x); });
  add_unary(all, "Sin", [](double x) { return std::sin(x); });
  add_unary(all, "Cos", [](double x) { return std::cos(x); });
  add_unary(all, "Tan", [](double x) { return std::tan(x); });
  add_unary(all, "Asin", [](double x) { return std::asin(x); });
  add_unary(all, "Acos", [](double x) { return std::acos(x); });
  add_unary(all, "Atan", [](double x) { return std::atan(x); });
  add_unary(all, "Sinh", [](double x) { return std::sinh(x); });
  add_unary(all, "Cosh", [](double x) { return std::cosh(x); });
  add_unary(all, "Tanh", [](double x) { return std::tanh(x); });
  add_unary(all, "Asinh", [](double x) { return std::asinh(x); });
  add_unary(all, "Acosh", [](double x) { return std::acosh(x); });
  add_unary(all, "Atanh", [](double x) { return std::atanh(x); });
  add_unary(all, "Erf", [](double x) { return std::erf(x); });
  add_unary(all, "Relu", [](double x) { return x < 0 ? 0.0 : x; });
  add_unary(all, "Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); });
  add_unary(all, "Softplus", [](double x) { return x > 30 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); });
  add_unary(all, "Softsign", [](double x) { return x / (1 + std::fabs(x)); });
  add_unary(all, "Mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
  add_unary(all, "HardSwish", [](double x) { return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0); });
  all["Identity"] = [](const call &c) { return one(array(c.in(0))); };
  all["Not"] = [](const call &c) { return to_boolean(c, [](double x) { return x == 0; }); };
  all["IsNaN"] = [](const call &c) { return to_boolean(c, [](double x) { return std::isnan(x); }); };
  all["IsInf"] = [](const call &c) {
    const bool positive = c.integer("detect_positive", 1) != 0, negative = c.integer("detect_negative", 1) != 0;
    results made = map_one(c, [=](double x) { return std::isinf(x) && (x > 0 ? positive : negative) ? 1.0 : 0.0; });
    made[0].kind = element::booleans;
    made[0].type = type_bool;
    return made;
  };
  all["BitwiseNot"] = [](const call &c) {
    const integer_range range = range_of(c.in(0).type);
    return map_one(c, [range](double x) { return range.least == 0 ? range.most - x : -x - 1; });
  };
  all["Gelu"] = [](const call &c) { return map_one(c, c.text("approximate", "none") == "tanh" ? gelu_tanh : gelu); };
}

void add_with_attributes(operations &all) {
  add_with_alpha(all, "LeakyRelu", 0.01, 0, [](double x, double a, double) { return x < 0 ? a * x : x; });
  add_with_alpha(all, "Elu", 1, 0, [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; });
  add_with_alpha(all, "Celu", 1, 0, [](double x, double a, double) { return x < 0 ? a * std::expm1(x / a) : x; });
  add_with_alpha(all, "ThresholdedRelu", 1, 0, [](double x, double a, double) { return x > a ? x : 0; });
  add_with_alpha(all, "HardSigmoid", 0.2, 0.5,
                 [](double x, double a, double b) { return std::min(std::max(a * x + b, 0.0), 1.0); });
  add_with_alpha(all, "Swish", 1, 0, [](double x, double a, double) { return x / (1 + std::exp(-a * x)); });
  all["Selu"] = [](const call &c) {
    const double alpha = c.number("alpha", 1.67326319217681884765625),
                 gamma = c.number("gamma", 1.05070102214813232421875);
    return map_one(c, [=](double x) { return gamma * (x < 0 ? alpha * std::expm1(x) : x); });
  };
  all["Shrink"] = [](const call &c) {
    const double bias = c.number("bias", 0), lambd = c.number("lambd", 0.5);
    return map_one(c, [=](double x) { return x < -lambd ? x + bias : x > lambd ? x - bias : 0.0; });
  };
  all["Clip"] = clip;
  all["Cast"] = cast;
  all["CastLike"] = cast_like;
  all["Dropout"] = dropout;
  all["PRelu"] = prelu;
}

void add_binaries(operations &all) {
  all["Add"] = [](const call &c) { return arithmetic(c, [](double a, double b) { return a + b; }); };
  all["Sub"] = [](const call &c) { return arithmetic(c, [](double a, double b) { return a - b; }); };
  all["Mul"] = [](const call &c) { return arithmetic(c, [](double a, double b) { return a * b; }); };
  all["Div"] = [](const call &c) {
    return arithmetic(c, c.in(0).kind == element::integers ? divided_integers : divided);
  };
  all["Mod"] = [](const call &c) {
    const bool is_fmod = c.integer("fmod", 0) != 0;
    return arithmetic(c, is_fmod ? static_cast<binary>([](double a, double b) { return std::fmod(a, b); }) : modulo);
  };
  all["Pow"] = [](const call &c) {
    results made = one(map_two(c, c.in(0), c.in(1), powered));
    if (made[0].kind == element::integers)
      for (double &number : made[0].numbers) number = wrapped(std::trunc(number), made[0].type);
    return made;
  };
  all["BitShift"] = shift_bits;
  all["BitwiseAnd"] = [](const call &c) { return bitwise(c, [](int64_t a, int64_t b) { return a & b; }); };
  all["BitwiseOr"] = [](const call &c) { return bitwise(c, [](int64_t a, int64_t b) { return a | b; }); };
  all["BitwiseXor"] = [](const call &c) { return bitwise(c, [](int64_t a, int64_t b) { return a ^ b; }); };
  all["Sum"] = [](const call &c) { return fold(c, [](double a, double b) { return a + b; }); };
  all["Mean"] = mean;
  const auto greater = [](double a, double b) { return std::isnan(a) || a > b ? a : b; };
  const auto less = [](double a, double b) { return std::isnan(a) || a < b ? a : b; };
  all["Max"] = [greater](const call &c) { return fold(c, greater); };
  all["Min"] = [less](const call &c) { return fold(c, less); };
  all["Equal"] = [](const call &c) { return compare(c, [](double a, double b) { return double(a == b); }); };
  all["Less"] = [](const call &c) { return compare(c, [](double a, double b) { return double(a < b); }); };
  all["LessOrEqual"] = [](const call &c) { return compare(c, [](double a, double b) { return double(a <= b); }); };
  all["Greater"] = [](const call &c) { return compare(c, [](double a, double b) { return double(a > b); }); };
  all["GreaterOrEqual"] = [](const call &c) { return compare(c, [](double a, double b) { return double(a >= b); }); };
  all["And"] = [](const call &c) { return compare(c, [](double a, double b) { return double(a != 0 && b != 0); }); };
  all["Or"] = [](const call &c) { return compare(c, [](double a, double b) { return double(a != 0 || b != 0); }); };
  all["Xor"] = [](const call &c) {
    return compare(c, [](double a, double b) { return double((a != 0) != (b != 0)); });
  };
}

}  // namespace

array broadcast_to(const call &c, const array &a, const shape &dims) {
  if (a.dims == dims) return a;
  if (broadcast_shape(c, a.dims, dims) != dims)
    c.refuse("has an input of shape " + text_of(a.dims) + ", which does not repeat to " + text_of(dims));
  array made = zeros_like(a, dims);
  for_each_pair(dims, a.dims, dims,
                [&](int64_t i, int64_t k, int64_t) { made.numbers[size_t(i)] = a.numbers[size_t(k)]; });
  return made;
}

double wrapped(double number, int32_t type) {
  if (type == 0 || type == type_int64 || type == type_uint64 || !std::isfinite(number)) return number;
  const integer_range range = range_of(type);
  const double n = range.most - range.least + 1;
  if (number >= range.least && number <= range.most) return number;
  return number - n * std::floor((number - range.least) / n);
}

double rounded_to_even(double number) { return std::nearbyint(number); }
double gelu(double x) { return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440)); }
double gelu_tanh(double x) {
  const double inner = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

void add_elementwise(operations &all) {
  add_unaries(all);
  add_with_attributes(all);
  add_binaries(all);
  all["Where"] = where;
}

}  // namespace heed_compile
