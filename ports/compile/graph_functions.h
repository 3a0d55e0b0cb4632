/* Functions of a number, which graph_math.c applies to arrays: without a math library, and with the same bits on every processor.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_GRAPH_FUNCTIONS_H
#define HEED_GRAPH_FUNCTIONS_H

#include "graph_math.h"

typedef union graph_bits {
  float number;
  uint32_t word;
} graph_bits;
typedef union graph_wide_bits {
  double number;
  uint64_t word;
} graph_wide_bits;

static float graph_infinity(void) {
  const graph_bits bits = {.word = 0x7f800000u};
  return bits.number;
}
static float graph_nan(void) {
  const graph_bits bits = {.word = 0x7fc00000u};
  return bits.number;
}

/* 2^n for n from -1022 to 1023. */
static double graph_power_of_two(int32_t n) {
  const graph_wide_bits bits = {.word = (uint64_t)(n + 1023) << 52};
  return bits.number;
}

/* exp of |x| up to 700: 2^n times a series of the rest, whose magnitude is at most ln 2 / 2. */
static double graph_exp_finite(double x) {
  const double log2e = 1.4426950408889634, ln2_high = 0.693147180369123816490, ln2_low = 1.90821492927058770002e-10;
  const double magic = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer */
  const double n = (x * log2e + magic) - magic;
  const double r = (x - n * ln2_high) - n * ln2_low;
  double sum = 1.0;
  for (int32_t i = 13; i > 0; --i) sum = 1.0 + sum * r / (double)i;
  return sum * graph_power_of_two((int32_t)n);
}
static double graph_exp(double x) {
  if (x != x) return x;
  if (x > 700.0) return (double)graph_infinity();
  return x < -700.0 ? 0.0 : graph_exp_finite(x);
}

/* log of a normal positive number: m in [sqrt(1/2), sqrt(2)) by the series of the area tangent. */
static double graph_log_finite(double x) {
  const double ln2 = 0.69314718055994530942;
  graph_wide_bits bits = {.number = x};
  int32_t exponent = (int32_t)(bits.word >> 52) - 1023;
  bits.word = (bits.word & 0xfffffffffffffu) | ((uint64_t)1023 << 52);
  if (bits.number > 1.4142135623730951) {
    bits.number *= 0.5;
    ++exponent;
  }
  const double s = (bits.number - 1.0) / (bits.number + 1.0), square = s * s;
  double sum = 0.0;
  for (int32_t i = 21; i > 0; i -= 2) sum = 1.0 / (double)i + sum * square;
  return (double)exponent * ln2 + 2.0 * s * sum;
}
static double graph_log(double x) {
  if (x != x || x < 0.0) return (double)graph_nan();
  if (x == 0.0) return (double)-graph_infinity();
  return x > 1e300 ? x : graph_log_finite(x);
}

/* 2 / sqrt(pi) * exp(-x^2) * (x + 2 x^3 / 3 + 4 x^5 / 15 + ...): no term is negative. From 4 on the result rounds to 1. */
static double graph_erf(double x) {
  const double a = x < 0.0 ? -x : x;
  if (x != x) return x;
  if (a >= 4.0) return x < 0.0 ? -1.0 : 1.0;
  double term = a, sum = a;
  for (int32_t i = 3; term > 1e-12 * sum; i += 2) {
    term = term * (2.0 * a * a) / (double)i;
    sum += term;
  }
  const double y = 1.1283791670955125739 * graph_exp_finite(-a * a) * sum;
  return x < 0.0 ? -y : y;
}

/* The sine of x + quarter * pi / 2. */
static double graph_sine(double x, int32_t quarter) {
  const double magic = 6755399441055744.0;
  if (x != x || x - x != 0.0) return (double)graph_nan();
  if (x > 1073741824.0 || x < -1073741824.0) return 0.0; /* beyond what any angle of a model is; see the header */
  const double n = (x * 0.63661977236758134308 + magic) - magic;
  const double r = (x - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11;
  const int32_t turn = (int32_t)(((int64_t)n + quarter) & 3);
  const double square = r * r;
  double sum = 1.0;
  if ((turn & 1) == 0) {
    for (int32_t i = 17; i > 1; i -= 2) sum = 1.0 - sum * square / (double)(i * (i - 1));
    sum *= r;
  } else {
    for (int32_t i = 16; i > 0; i -= 2) sum = 1.0 - sum * square / (double)(i * (i - 1));
  }
  return turn >= 2 ? -sum : sum;
}

static double graph_tanh(double x) {
  if (x > 20.0) return 1.0;
  if (x < -20.0) return -1.0;
  if (x < 0.02 && x > -0.02) return x - x * x * x / 3.0 + 2.0 * x * x * x * x * x / 15.0;
  const double e = graph_exp(2.0 * x);
  return (e - 1.0) / (e + 1.0);
}

static double graph_softplus(double x) {
  const double e = graph_exp(x > 0.0 ? -x : x);
  double rest = e * (1.0 - e * (0.5 - e / 3.0)); /* of log(1 + e), where 1 + e is rounded */
  if (e > 1e-4) rest = graph_log(1.0 + e);
  return (x > 0.0 ? x : 0.0) + rest;
}

/* Correctly rounded, by integers alone: r = floor(sqrt(mantissa * 2^25)), and what is left decides. */
static float graph_sqrt(float x) {
  graph_bits bits = {.number = x};
  if (x != x || x == 0.0f || bits.word == 0x7f800000u) return x;
  if (x < 0.0f) return graph_nan();
  int32_t exponent = (int32_t)(bits.word >> 23);
  uint64_t mantissa = bits.word & 0x7fffffu;
  if (exponent == 0) {
    while (mantissa < 0x800000u) {
      mantissa <<= 1;
      --exponent;
    }
    ++exponent;
  } else {
    mantissa |= 0x800000u;
  }
  exponent -= 127;
  if (exponent & 1) {
    mantissa <<= 1;
    --exponent;
  }
  uint64_t rest = mantissa << 25, root = 0; /* the root has 25 bits: the last one rounds */
  for (uint64_t bit = (uint64_t)1 << 48; bit != 0; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  const uint32_t rounded = (uint32_t)((root + 1) >> 1);
  bits.word = (uint32_t)(exponent / 2 + 126) << 23;
  bits.word += rounded;
  return bits.number;
}

static float graph_rounded(float x, int32_t function) {
  if (!(x < 8388608.0f && x > -8388608.0f)) return x; /* an integer already, or NaN */
  const float whole = (float)(int32_t)x;
  float y = whole;
  if (function == HEED_GRAPH_FLOOR && whole > x) y = whole - 1.0f;
  if (function == HEED_GRAPH_CEIL && whole < x) y = whole + 1.0f;
  if (function == HEED_GRAPH_ROUND) {
    const float rest = x - whole;
    const int32_t is_odd = (int32_t)whole & 1;
    if (rest > 0.5f || (rest == 0.5f && is_odd)) y = whole + 1.0f;
    if (rest < -0.5f || (rest == -0.5f && is_odd)) y = whole - 1.0f;
  }
  if (y == 0.0f && (x < 0.0f || (x == 0.0f && 1.0f / x < 0.0f))) return -0.0f;
  return y;
}

static double graph_pow(double a, double b) {
  if (b == 0.0 || a == 1.0) return 1.0;
  if (a != a || b != b) return (double)graph_nan();
  if (b == 1.0) return a;
  if (b == 2.0) return a * a;
  const double infinity = (double)graph_infinity();
  if (b - b != 0.0) { /* infinite */
    const double magnitude = a < 0.0 ? -a : a;
    if (magnitude == 1.0) return 1.0;
    return (magnitude > 1.0) == (b > 0.0) ? infinity : 0.0;
  }
  const int32_t is_whole = b > 9007199254740992.0 || b < -9007199254740992.0 || (double)(int64_t)b == b;
  const int32_t is_odd = is_whole && b < 9007199254740992.0 && b > -9007199254740992.0 && ((int64_t)b & 1) != 0;
  if (a < 0.0 && !is_whole && a - a == 0.0) return (double)graph_nan();
  const double magnitude = a < 0.0 ? -a : a;
  double y;
  if (magnitude == 0.0 || magnitude - magnitude != 0.0) {
    y = (magnitude == 0.0) == (b < 0.0) ? infinity : 0.0;
  } else {
    const double exponent = graph_log(magnitude) * b;
    y = graph_exp(exponent);
  }
  return is_odd && (a < 0.0 || (a == 0.0 && 1.0 / a < 0.0)) ? -y : y;
}

static float graph_hard_swish(float x) {
  const double y = (double)x + 3.0, least = y < 0.0 ? 0.0 : y;
  return (float)((double)x * (least > 6.0 ? 6.0 : least) * (1.0 / 6.0));
}

static float graph_function_of(int32_t function, float x) {
  switch (function) {
    case HEED_GRAPH_NEGATE:
      return -x;
    case HEED_GRAPH_ABS: {
      graph_bits bits = {.number = x};
      bits.word &= 0x7fffffffu;
      return bits.number;
    }
    case HEED_GRAPH_SQRT:
      return graph_sqrt(x);
    case HEED_GRAPH_RECIPROCAL:
      return 1.0f / x;
    case HEED_GRAPH_EXP:
      return (float)graph_exp((double)x);
    case HEED_GRAPH_LOG:
      return (float)graph_log((double)x);
    case HEED_GRAPH_ERF:
      return (float)graph_erf((double)x);
    case HEED_GRAPH_SIN:
      return (float)graph_sine((double)x, 0);
    case HEED_GRAPH_COS:
      return (float)graph_sine((double)x, 1);
    case HEED_GRAPH_TANH:
      return (float)graph_tanh((double)x);
    case HEED_GRAPH_SIGMOID:
      return (float)(1.0 / (1.0 + graph_exp(-(double)x)));
    case HEED_GRAPH_FLOOR:
    case HEED_GRAPH_CEIL:
    case HEED_GRAPH_ROUND:
      return graph_rounded(x, function);
    case HEED_GRAPH_SIGN:
      if (x > 0.0f) return 1.0f;
      return x < 0.0f ? -1.0f : x;
    case HEED_GRAPH_RELU:
      return x < 0.0f ? 0.0f : x;
    case HEED_GRAPH_SOFTPLUS:
      return (float)graph_softplus((double)x);
    case HEED_GRAPH_HARD_SWISH:
      return graph_hard_swish(x);
    default:
      return x * x; /* HEED_GRAPH_SQUARE */
  }
}

#endif
