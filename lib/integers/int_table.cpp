// The table of an activation, made in integers (rule I13): the same 256 bytes everywhere, without an FPU.
#include "../kernel_contract/int_row_rules.hpp"
#include "int_check.hpp"
#include "heed/int_rows.h"

namespace heed {
namespace {

// Numbers have 26 bits of fraction, factors and results between 0 and 1 have 30.
constexpr int32_t fraction = 26, unit_bits = 30;
constexpr int64_t one = static_cast<int64_t>(1) << fraction, unit = static_cast<int64_t>(1) << unit_bits;

constexpr int64_t of_real(double x) {
  const double half = x < 0 ? -0.5 : 0.5;
  return static_cast<int64_t>(x * static_cast<double>(unit) + half);
}
HEED_INLINE int64_t multiply_fixed(int64_t x, int64_t factor) { return shifted(x * factor, unit_bits); }

// c[0] + x (c[1] + x (...)), all with 30 bits of fraction.
template <int32_t N>
int64_t polynomial(const int64_t (&c)[N], int64_t x) {
  int64_t y = c[N - 1];
  for (int32_t i = N - 2; i >= 0; i--) y = multiply_fixed(y, x) + c[i];
  return y;
}

// exp(-x) for x >= 0, by powers of two: the fraction's by a series to the eighth power, of error 2^-30.
int64_t exp_of_minus(int64_t x) {
  constexpr int64_t log2e = of_real(1.4426950408889634);
  constexpr int64_t series[] = {of_real(1),         of_real(-1),          of_real(1.0 / 2),
                                of_real(-1.0 / 6),  of_real(1.0 / 24),    of_real(-1.0 / 120),
                                of_real(1.0 / 720), of_real(-1.0 / 5040), of_real(1.0 / 40320)};
  constexpr int64_t ln2 = of_real(0.6931471805599453);
  if (x >= 22 * one) return 0;  // below half a unit
  const int64_t octaves = multiply_fixed(x, log2e), n = octaves >> fraction;
  const int64_t rest = (octaves & (one - 1)) << (unit_bits - fraction);
  return polynomial(series, multiply_fixed(rest, ln2)) >> n;
}

int64_t magnitude_of_fixed(int64_t x) { return x < 0 ? -x : x; }

// 1 / (1 + exp(-x))
int64_t sigmoid_of_fixed(int64_t x) {
  const int64_t e = exp_of_minus(magnitude_of_fixed(x)), of_positive = (unit << unit_bits) / (unit + e);
  return x < 0 ? unit - of_positive : of_positive;
}

// The normal distribution: (1 + erf(x / sqrt 2)) / 2, by formula 7.1.26 of Abramowitz and Stegun, of error 1.5e-7.
int64_t normal_distribution(int64_t x) {
  constexpr int64_t terms[] = {0,
                               of_real(0.254829592 / 2),
                               of_real(-0.284496736 / 2),
                               of_real(1.421413741 / 2),
                               of_real(-1.453152027 / 2),
                               of_real(1.061405429 / 2)};
  constexpr int64_t root_half = of_real(0.7071067811865476), p = of_real(0.3275911);
  const int64_t z = multiply_fixed(magnitude_of_fixed(x), root_half),
                t = (unit << fraction) / (one + multiply_fixed(z, p));
  const int64_t tail = multiply_fixed(polynomial(terms, t), exp_of_minus((z * z) >> fraction));
  return x < 0 ? tail : unit - tail;
}

// v of gelu_tanh: 2 sqrt(2 / pi) (x + 0.044715 x^3). Beyond 6.5 its sigmoid is 0 or 1, as is that of 26.
int64_t inner_of_tanh(int64_t x) {
  if (x > 13 * one / 2) return 26 * one;
  if (x < -13 * one / 2) return -26 * one;
  constexpr int64_t linear = of_real(1.5957691216057308), cubic = of_real(0.07135481282632867);
  const int64_t square = (x * x) >> fraction;
  return multiply_fixed(x, linear) + multiply_fixed((square * (x >> 4)) >> (fraction - 4), cubic);
}

// The share of x that is left, for |x| < 32, of all but relu.
int64_t share_of(int32_t activation, int64_t x) {
  if (activation == HEED_INT_GELU) return normal_distribution(x);
  if (activation == HEED_INT_GELU_TANH) x = inner_of_tanh(x);
  return sigmoid_of_fixed(x);
}

// The product of two factors, rounded once.
multiplier product_of(multiplier a, multiplier b) {
  const int64_t m = shifted(static_cast<int64_t>(a.m) * b.m, 30);  // 30 to 32 bits
  const bool large = m >= static_cast<int64_t>(1) << 31;
  if (large) return {static_cast<int32_t>(m >> 1), a.e + b.e};
  return {static_cast<int32_t>(m), a.e + b.e - 1};
}

// f(x) / y_scale, of x in units of its scale: 9 bits times 31.
int64_t activated(int32_t activation, multiplier x_scale, multiplier y_units, int32_t x) {
  const int64_t product = static_cast<int64_t>(x) * x_scale.m, size = magnitude_of_fixed(product);
  const int32_t down = 31 - fraction - x_scale.e, far = down + fraction + 5;  // 2^far: 32, from where f is 0 or x
  if (activation == HEED_INT_RELU || (far < 62 && size >= static_cast<int64_t>(1) << far)) {
    if (x <= 0) return 0;
    const multiplier m = product_of(x_scale, y_units);
    if (m.e > 30) return 0x7fffffff;  // beyond any table
    return m.e < -31 ? 0 : shifted(static_cast<int64_t>(x) * m.m, 31 - m.e);
  }
  const int64_t near = down > 0 ? shifted(product, down) : product * (static_cast<int64_t>(1) << -down);
  const int64_t y = multiply_fixed(near, share_of(activation, near));
  const int32_t shift = fraction + 31 - y_units.e;
  return shift > 62 ? 0 : shifted(y * y_units.m, shift);  // 62 bits
}

heed_status check_table(int32_t activation, multiplier x_scale, int32_t x_zero_point, multiplier y_units,
                        int32_t y_zero_point, const int8_t *table) {
  checker_of<1> check;
  check.require(activation >= HEED_INT_GELU && activation <= HEED_INT_RELU, HEED_OUT_OF_RANGE, HEED_ARG_ACTIVATION);
  check_multiplier(check, x_scale, -30, 30, HEED_ARG_MULTIPLIERS);
  check_int_numbers(check, HEED_INT8, x_zero_point, true, HEED_ARG_X);
  check_multiplier(check, y_units, -30, 30, HEED_ARG_MULTIPLIERS);
  check_int_numbers(check, HEED_INT8, y_zero_point, false, HEED_ARG_Y);
  check.pointer(table, 1, HEED_ARG_Y);
  if (check.ok()) check.memory(table, 256, access::write, HEED_ARG_Y);
  return check.finish();
}

}  // namespace
}  // namespace heed

using namespace heed;

heed_status heed_int_table(int32_t activation, heed_multiplier x_scale, int32_t x_zero_point, heed_multiplier y_units,
                           int32_t y_zero_point, int8_t table[256]) {
  const multiplier x = {x_scale.m, x_scale.e}, y = {y_units.m, y_units.e};
  const heed_status status = check_table(activation, x, x_zero_point, y, y_zero_point, table);
  if (status != HEED_OK) return status;
  for (int32_t i = 0; i < 256; i++)
    table[i] =
        static_cast<int8_t>(clamp_64(y_zero_point + activated(activation, x, y, i - 128 - x_zero_point), -128, 127));
  return HEED_OK;
}
