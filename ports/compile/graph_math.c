/* See graph_math.h. SPDX-License-Identifier: MIT */
#include "graph_math.h"

void *memcpy(void *to, const void *from, size_t n); /* there may be no string.h */

/* No product and sum become one fma. */
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* ------------------------------------------------------------------------------------------------- functions of a number */

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

/* ------------------------------------------------------------------------------------------------------------ loops */

/* Where the arrays of a loop are: the innermost dimension is a row. */
typedef struct graph_walk {
  int32_t at[HEED_GRAPH_DIMS];
  ptrdiff_t offsets[HEED_GRAPH_ARRAYS];
  int32_t n, s0, s1, s2, s3; /* numbers of a row, and the strides of the arrays in it */
} graph_walk;

static graph_walk graph_begin(const heed_graph_loop *l) {
  graph_walk w;
  const int32_t last = l->n_dims - 1;
  for (int32_t i = 0; i < HEED_GRAPH_DIMS; ++i) w.at[i] = 0;
  for (int32_t i = 0; i < HEED_GRAPH_ARRAYS; ++i) w.offsets[i] = 0;
  w.n = l->dims[last];
  w.s0 = l->strides[0][last], w.s1 = l->strides[1][last], w.s2 = l->strides[2][last], w.s3 = l->strides[3][last];
  return w;
}

enum { GRAPH_BLOCK = 8 };

/* Goes to the next row; 0: there is none. */
static int32_t graph_next(graph_walk *w, const heed_graph_loop *l) {
  for (int32_t d = l->n_dims - 2; d >= 0; --d) {
    for (int32_t i = 0; i < HEED_GRAPH_ARRAYS; ++i) w->offsets[i] += l->strides[i][d];
    if (++w->at[d] < l->dims[d]) return 1;
    for (int32_t i = 0; i < HEED_GRAPH_ARRAYS; ++i) w->offsets[i] -= (ptrdiff_t)l->strides[i][d] * l->dims[d];
    w->at[d] = 0;
  }
  return 0;
}

/* Runs `row` for each row of the loop; in it, y, a, b and c are the arrays, and i counts. */
#define GRAPH_ROWS(loop, ...)                                   \
  graph_walk w = graph_begin(loop);                             \
  do {                                                          \
    const int32_t n = w.n;                                      \
    const ptrdiff_t s0 = w.s0, s1 = w.s1, s2 = w.s2, s3 = w.s3; \
    (void)s0, (void)s1, (void)s2, (void)s3;                     \
    __VA_ARGS__                                                 \
  } while (graph_next(&w, loop));                               \
  return HEED_OK
#define GRAPH_EACH(expression) \
  for (int32_t i = 0; i < n; ++i) y[i * s0] = (expression)
/* The same of floats that often lie side by side, of l (and r, which may be repeated): blocks of a constant length become vectors. */
#define GRAPH_EACH_OF_ONE(expression)                                    \
  int32_t i = 0;                                                         \
  for (; s0 == 1 && s1 == 1 && i + GRAPH_BLOCK <= n; i += GRAPH_BLOCK) { \
    float block[GRAPH_BLOCK];                                            \
    for (int32_t j = 0; j < GRAPH_BLOCK; ++j) {                          \
      const float l = a[i + j];                                          \
      block[j] = (expression);                                           \
    }                                                                    \
    for (int32_t j = 0; j < GRAPH_BLOCK; ++j) y[i + j] = block[j];       \
  }                                                                      \
  for (; i < n; ++i) {                                                   \
    const float l = A;                                                   \
    y[i * s0] = (expression);                                            \
  }
#define GRAPH_EACH_OF_TWO(expression)                                                     \
  int32_t i = 0;                                                                          \
  float right[GRAPH_BLOCK];                                                               \
  for (int32_t j = 0; s2 == 0 && j < GRAPH_BLOCK; ++j) right[j] = *b;                     \
  for (; s0 == 1 && s1 == 1 && (s2 | 1) == 1 && i + GRAPH_BLOCK <= n; i += GRAPH_BLOCK) { \
    float block[GRAPH_BLOCK];                                                             \
    if (s2 == 1)                                                                          \
      for (int32_t j = 0; j < GRAPH_BLOCK; ++j) right[j] = b[i + j];                      \
    for (int32_t j = 0; j < GRAPH_BLOCK; ++j) {                                           \
      const float l = a[i + j], r = right[j];                                             \
      block[j] = (expression);                                                            \
    }                                                                                     \
    for (int32_t j = 0; j < GRAPH_BLOCK; ++j) y[i + j] = block[j];                        \
  }                                                                                       \
  for (; i < n; ++i) {                                                                    \
    const float l = A, r = B;                                                             \
    y[i * s0] = (expression);                                                             \
  }
#define GRAPH_ONE(to, from)            \
  to *const y = to_all + w.offsets[0]; \
  const from *const a = a_all + w.offsets[1]
#define GRAPH_TWO(to, from) \
  GRAPH_ONE(to, from);      \
  const from *const b = b_all + w.offsets[2]
#define A a[i * s1]
#define B b[i * s2]

heed_status heed_graph_copy(void *y_all, const void *x_all, const heed_graph_loop *loop) {
  uint32_t *const to_all = (uint32_t *)y_all;
  const uint32_t *const a_all = (const uint32_t *)x_all;
  GRAPH_ROWS(loop, {
    GRAPH_ONE(uint32_t, uint32_t);
    if (s0 == 1 && s1 == 1)
      memcpy(y, a, (size_t)n * sizeof *y);
    else
      GRAPH_EACH(A);
  });
}
heed_status heed_graph_copy_bytes(void *y_all, const void *x_all, const heed_graph_loop *loop) {
  uint8_t *const to_all = (uint8_t *)y_all;
  const uint8_t *const a_all = (const uint8_t *)x_all;
  GRAPH_ROWS(loop, {
    GRAPH_ONE(uint8_t, uint8_t);
    GRAPH_EACH(A);
  });
}
heed_status heed_graph_fill(float *y, float number, int32_t n) {
  for (int32_t i = 0; i < n; ++i) y[i] = number;
  return HEED_OK;
}
heed_status heed_graph_fill_integers(int32_t *y, int32_t number, int32_t n) {
  for (int32_t i = 0; i < n; ++i) y[i] = number;
  return HEED_OK;
}

heed_status heed_graph_map(int32_t function, float *to_all, const float *a_all, const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_ONE(float, float);
    if (function == HEED_GRAPH_HARD_SWISH) {
      GRAPH_EACH_OF_ONE(graph_hard_swish(l))
    } else {
      GRAPH_EACH(graph_function_of(function, A));
    }
  });
}
static int32_t graph_integer_of(int32_t function, int32_t x) {
  const uint32_t negative = 0u - (uint32_t)x;
  if (function == HEED_GRAPH_NEGATE) return (int32_t)negative;
  if (function == HEED_GRAPH_ABS) return x < 0 ? (int32_t)negative : x;
  if (function == HEED_GRAPH_SIGN) return (x > 0) - (x < 0);
  if (function == HEED_GRAPH_RELU) return x < 0 ? 0 : x;
  if (function == HEED_GRAPH_SQUARE) return (int32_t)((uint32_t)x * (uint32_t)x);
  return x;
}
heed_status heed_graph_map_integers(int32_t function, int32_t *to_all, const int32_t *a_all,
                                    const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_ONE(int32_t, int32_t);
    GRAPH_EACH(graph_integer_of(function, A));
  });
}

heed_status heed_graph_combine(int32_t operation, float *to_all, const float *a_all, const float *b_all,
                               const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_TWO(float, float);
    switch (operation) {
      case HEED_GRAPH_ADD: {
        GRAPH_EACH_OF_TWO(l + r);
        break;
      }
      case HEED_GRAPH_SUB: {
        GRAPH_EACH_OF_TWO(l - r);
        break;
      }
      case HEED_GRAPH_MUL: {
        GRAPH_EACH_OF_TWO(l * r);
        break;
      }
      case HEED_GRAPH_DIV: {
        GRAPH_EACH_OF_TWO(l / r);
        break;
      }
      case HEED_GRAPH_MIN: {
        GRAPH_EACH_OF_TWO((l < r) | (l != l) ? l : r);
        break;
      }
      case HEED_GRAPH_MAX: {
        GRAPH_EACH_OF_TWO((l > r) | (l != l) ? l : r);
        break;
      }
      case HEED_GRAPH_PRELU: {
        GRAPH_EACH_OF_TWO(l < 0.0f ? l * r : l);
        break;
      }
      default:
        GRAPH_EACH((float)graph_pow((double)A, (double)B));
        break;
    }
  });
}

static int32_t graph_integers_of(int32_t operation, int32_t a, int32_t b) {
  const uint32_t left = (uint32_t)a, right = (uint32_t)b;
  switch (operation) {
    case HEED_GRAPH_ADD:
      return (int32_t)(left + right);
    case HEED_GRAPH_SUB:
      return (int32_t)(left - right);
    case HEED_GRAPH_MUL:
      return (int32_t)(left * right);
    case HEED_GRAPH_DIV:
      if (b == -1) return (int32_t)(0u - left);
      return b == 0 ? 0 : a / b;
    case HEED_GRAPH_MIN:
      return a < b ? a : b;
    case HEED_GRAPH_MAX:
      return a > b ? a : b;
    case HEED_GRAPH_MOD: {
      if (b == 0 || b == -1) return 0;
      const int32_t rest = a % b;
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    default: {
      int32_t y = 1;
      for (int32_t i = 0; i < b && i < 32; ++i) y = (int32_t)((uint32_t)y * left);
      return y;
    }
  }
}
heed_status heed_graph_combine_integers(int32_t operation, int32_t *to_all, const int32_t *a_all, const int32_t *b_all,
                                        const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_TWO(int32_t, int32_t);
    GRAPH_EACH(graph_integers_of(operation, A, B));
  });
}
heed_status heed_graph_combine_booleans(int32_t operation, uint8_t *to_all, const uint8_t *a_all, const uint8_t *b_all,
                                        const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_TWO(uint8_t, uint8_t);
    switch (operation) {
      case HEED_GRAPH_AND:
        GRAPH_EACH(A != 0 && B != 0);
        break;
      case HEED_GRAPH_OR:
        GRAPH_EACH(A != 0 || B != 0);
        break;
      default:
        GRAPH_EACH((A != 0) != (B != 0));
        break;
    }
  });
}

#define GRAPH_COMPARE              \
  switch (comparison) {            \
    case HEED_GRAPH_EQUAL:         \
      GRAPH_EACH(A == B);          \
      break;                       \
    case HEED_GRAPH_LESS:          \
      GRAPH_EACH(A < B);           \
      break;                       \
    case HEED_GRAPH_LESS_OR_EQUAL: \
      GRAPH_EACH(A <= B);          \
      break;                       \
    case HEED_GRAPH_GREATER:       \
      GRAPH_EACH(A > B);           \
      break;                       \
    default:                       \
      GRAPH_EACH(A >= B);          \
      break;                       \
  }
heed_status heed_graph_compare(int32_t comparison, uint8_t *to_all, const float *a_all, const float *b_all,
                               const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_TWO(uint8_t, float);
    GRAPH_COMPARE
  });
}
heed_status heed_graph_compare_integers(int32_t comparison, uint8_t *to_all, const int32_t *a_all, const int32_t *b_all,
                                        const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_TWO(uint8_t, int32_t);
    GRAPH_COMPARE
  });
}
heed_status heed_graph_is_nan(uint8_t *to_all, const float *a_all, const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_ONE(uint8_t, float);
    GRAPH_EACH(A != A);
  });
}
heed_status heed_graph_not(uint8_t *to_all, const uint8_t *a_all, const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_ONE(uint8_t, uint8_t);
    GRAPH_EACH(A == 0);
  });
}

heed_status heed_graph_choose(void *y_all, const uint8_t *condition, const void *a_, const void *b_,
                              const heed_graph_loop *loop) {
  uint32_t *const to_all = (uint32_t *)y_all;
  const uint8_t *const a_all = condition;
  const uint32_t *const yes_all = (const uint32_t *)a_, *const no_all = (const uint32_t *)b_;
  GRAPH_ROWS(loop, {
    GRAPH_ONE(uint32_t, uint8_t);
    const uint32_t *const yes = yes_all + w.offsets[2];
    const uint32_t *const no = no_all + w.offsets[3];
    GRAPH_EACH(A ? yes[i * s2] : no[i * s3]);
  });
}
heed_status heed_graph_choose_bytes(void *y_all, const uint8_t *condition, const void *a_, const void *b_,
                                    const heed_graph_loop *loop) {
  uint8_t *const to_all = (uint8_t *)y_all;
  const uint8_t *const a_all = condition;
  const uint8_t *const yes_all = (const uint8_t *)a_, *const no_all = (const uint8_t *)b_;
  GRAPH_ROWS(loop, {
    GRAPH_ONE(uint8_t, uint8_t);
    const uint8_t *const yes = yes_all + w.offsets[2];
    const uint8_t *const no = no_all + w.offsets[3];
    GRAPH_EACH(A ? yes[i * s2] : no[i * s3]);
  });
}

static int32_t graph_whole(float x) {
  if (x >= 2147483648.0f) return 2147483647;
  if (x <= -2147483648.0f) return -2147483647 - 1;
  return x == x ? (int32_t)x : 0;
}
heed_status heed_graph_float_to_integer(int32_t *to_all, const float *a_all, const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_ONE(int32_t, float);
    GRAPH_EACH(graph_whole(A));
  });
}
heed_status heed_graph_float_to_boolean(uint8_t *to_all, const float *a_all, const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_ONE(uint8_t, float);
    GRAPH_EACH(A != 0.0f);
  });
}
heed_status heed_graph_integer_to_float(float *to_all, const int32_t *a_all, const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_ONE(float, int32_t);
    GRAPH_EACH((float)A);
  });
}
heed_status heed_graph_integer_to_boolean(uint8_t *to_all, const int32_t *a_all, const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_ONE(uint8_t, int32_t);
    GRAPH_EACH(A != 0);
  });
}
heed_status heed_graph_boolean_to_float(float *to_all, const uint8_t *a_all, const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_ONE(float, uint8_t);
    GRAPH_EACH(A != 0 ? 1.0f : 0.0f);
  });
}
heed_status heed_graph_boolean_to_integer(int32_t *to_all, const uint8_t *a_all, const heed_graph_loop *loop) {
  GRAPH_ROWS(loop, {
    GRAPH_ONE(int32_t, uint8_t);
    GRAPH_EACH(A != 0);
  });
}

/* -------------------------------------------------------------------------------------------- reductions, indices */

/* The numbers of a loop, one after another. */
static double graph_greatest(const float *x, const heed_graph_loop *loop) {
  double greatest = (double)-graph_infinity();
  graph_walk w = graph_begin(loop);
  do {
    for (int32_t i = 0; i < w.n; ++i) {
      const double number = (double)x[w.offsets[1] + (ptrdiff_t)i * w.s1];
      if (number > greatest || number != number) greatest = number;
      if (greatest != greatest) return greatest;
    }
  } while (graph_next(&w, loop));
  return greatest;
}

static double graph_reduced(int32_t reduction, const float *x, const heed_graph_loop *loop) {
  double sum = reduction == HEED_GRAPH_PRODUCT ? 1.0 : 0.0, n = 0.0, greatest = 0.0;
  if (reduction == HEED_GRAPH_GREATEST) return graph_greatest(x, loop);
  if (reduction == HEED_GRAPH_LEAST) sum = (double)graph_infinity();
  if (reduction == HEED_GRAPH_LOG_SUM_EXP) greatest = graph_greatest(x, loop);
  if (reduction == HEED_GRAPH_LOG_SUM_EXP && greatest - greatest != 0.0) return greatest;
  graph_walk w = graph_begin(loop);
  do {
    n += (double)w.n;
    for (int32_t i = 0; i < w.n; ++i) {
      const double number = (double)x[w.offsets[1] + (ptrdiff_t)i * w.s1];
      switch (reduction) {
        case HEED_GRAPH_LEAST:
          if (sum == sum && (number < sum || number != number)) sum = number;
          break;
        case HEED_GRAPH_PRODUCT:
          sum *= number;
          break;
        case HEED_GRAPH_SUM_OF_SQUARES:
        case HEED_GRAPH_LENGTH:
          sum += number * number;
          break;
        case HEED_GRAPH_SUM_OF_MAGNITUDES:
          sum += number < 0.0 ? -number : number;
          break;
        case HEED_GRAPH_LOG_SUM_EXP:
          sum += graph_exp(number - greatest);
          break;
        default:
          sum += number;
          break;
      }
    }
  } while (graph_next(&w, loop));
  if (reduction == HEED_GRAPH_MEAN) return sum / n;
  if (reduction == HEED_GRAPH_LOG_SUM_EXP) return greatest + graph_log(sum);
  return sum;
}

heed_status heed_graph_reduce(int32_t reduction, float *y, const float *x, const heed_graph_loop *outer,
                              const heed_graph_loop *inner) {
  graph_walk w = graph_begin(outer);
  do {
    for (int32_t i = 0; i < w.n; ++i) {
      const double number = graph_reduced(reduction, x + w.offsets[1] + (ptrdiff_t)i * w.s1, inner);
      float *const to = y + w.offsets[0] + (ptrdiff_t)i * w.s0;
      *to = (float)number;
      if (reduction == HEED_GRAPH_LENGTH) *to = graph_sqrt(*to);
    }
  } while (graph_next(&w, outer));
  return HEED_OK;
}

heed_status heed_graph_reduce_integers(int32_t reduction, int32_t *y, const int32_t *x, const heed_graph_loop *outer,
                                       const heed_graph_loop *inner) {
  const int32_t operation = reduction == HEED_GRAPH_GREATEST  ? HEED_GRAPH_MAX
                            : reduction == HEED_GRAPH_LEAST   ? HEED_GRAPH_MIN
                            : reduction == HEED_GRAPH_PRODUCT ? HEED_GRAPH_MUL
                                                              : HEED_GRAPH_ADD;
  graph_walk w = graph_begin(outer);
  do {
    for (int32_t i = 0; i < w.n; ++i) {
      const int32_t *const from = x + w.offsets[1] + (ptrdiff_t)i * w.s1;
      int32_t number = operation == HEED_GRAPH_ADD ? 0 : operation == HEED_GRAPH_MUL ? 1 : *from;
      graph_walk v = graph_begin(inner);
      do {
        for (int32_t k = 0; k < v.n; ++k)
          number = graph_integers_of(operation, number, from[v.offsets[1] + (ptrdiff_t)k * v.s1]);
      } while (graph_next(&v, inner));
      y[w.offsets[0] + (ptrdiff_t)i * w.s0] = number;
    }
  } while (graph_next(&w, outer));
  return HEED_OK;
}

static heed_status graph_no_index(void) { return HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_ROWS); }

heed_status heed_graph_gather(void *y_all, const void *x_all, const int32_t *indices, int32_t n_outer, int32_t n_from,
                              int32_t n_indices, int32_t n_inner) {
  uint32_t *y = (uint32_t *)y_all;
  const uint32_t *const x = (const uint32_t *)x_all;
  for (int32_t k = 0; k < n_indices; ++k)
    if (indices[k] < -n_from || indices[k] >= n_from) return graph_no_index();
  for (int32_t o = 0; o < n_outer; ++o)
    for (int32_t k = 0; k < n_indices; ++k) {
      const int32_t index = indices[k] < 0 ? indices[k] + n_from : indices[k];
      const uint32_t *const from = x + ((ptrdiff_t)o * n_from + index) * n_inner;
      for (int32_t i = 0; i < n_inner; ++i) *y++ = from[i];
    }
  return HEED_OK;
}
static int32_t graph_are_rows(const int32_t *rows, int32_t n_updates, int32_t n_rows) {
  for (int32_t k = 0; k < n_updates; ++k)
    if (rows[k] < 0 || rows[k] >= n_rows) return 0;
  return 1;
}
heed_status heed_graph_scatter(void *y_all, const void *updates, const int32_t *rows, int32_t n_rows, int32_t n_updates,
                               int32_t length) {
  uint32_t *const y = (uint32_t *)y_all;
  const uint32_t *from = (const uint32_t *)updates;
  if (!graph_are_rows(rows, n_updates, n_rows)) return graph_no_index();
  for (int32_t k = 0; k < n_updates; ++k)
    for (int32_t i = 0; i < length; ++i) y[(ptrdiff_t)rows[k] * length + i] = *from++;
  return HEED_OK;
}
heed_status heed_graph_scatter_sums(float *y, const float *updates, const int32_t *rows, int32_t n_rows,
                                    int32_t n_updates, int32_t length) {
  if (!graph_are_rows(rows, n_updates, n_rows)) return graph_no_index();
  for (int32_t k = 0; k < n_updates; ++k)
    for (int32_t i = 0; i < length; ++i) y[(ptrdiff_t)rows[k] * length + i] += *updates++;
  return HEED_OK;
}
heed_status heed_graph_gather_each(void *y_all, const void *x_all, const int32_t *indices, int32_t n_outer,
                                   int32_t n_from, int32_t n_indices, int32_t n_inner) {
  uint32_t *y = (uint32_t *)y_all;
  const uint32_t *const x = (const uint32_t *)x_all;
  for (int32_t o = 0; o < n_outer; ++o)
    for (int32_t k = 0; k < n_indices; ++k)
      for (int32_t i = 0; i < n_inner; ++i) {
        int32_t index = *indices++;
        if (index < -n_from || index >= n_from) return graph_no_index();
        if (index < 0) index += n_from;
        *y++ = x[((ptrdiff_t)o * n_from + index) * n_inner + i];
      }
  return HEED_OK;
}

heed_status heed_graph_argmax(int32_t *y, const float *x, int32_t n_outer, int32_t n, int32_t n_inner, int32_t is_least,
                              int32_t takes_last) {
  for (int32_t o = 0; o < n_outer; ++o)
    for (int32_t i = 0; i < n_inner; ++i) {
      const float *const from = x + (ptrdiff_t)o * n * n_inner + i;
      int32_t best = 0;
      for (int32_t k = 1; k < n; ++k) {
        const float now = from[(ptrdiff_t)k * n_inner], then = from[(ptrdiff_t)best * n_inner];
        const int32_t is_better = is_least ? now < then : now > then;
        if (is_better || (takes_last && now == then)) best = k;
      }
      *y++ = best;
    }
  return HEED_OK;
}

#define GRAPH_CUMULATE(type, start, sum_of)                           \
  for (int32_t o = 0; o < n_outer; ++o)                               \
    for (int32_t i = 0; i < n_inner; ++i) {                           \
      type sum = start;                                               \
      for (int32_t k = 0; k < n; ++k) {                               \
        const int32_t at = is_reverse ? n - 1 - k : k;                \
        const ptrdiff_t here = ((ptrdiff_t)o * n + at) * n_inner + i; \
        const type before = sum;                                      \
        sum = sum_of;                                                 \
        y[here] = is_exclusive ? before : sum;                        \
      }                                                               \
    }                                                                 \
  return HEED_OK
heed_status heed_graph_cumulate(float *y, const float *x, int32_t n_outer, int32_t n, int32_t n_inner,
                                int32_t is_exclusive, int32_t is_reverse) {
  GRAPH_CUMULATE(float, 0.0f, sum + x[here]);
}
heed_status heed_graph_cumulate_integers(int32_t *y, const int32_t *x, int32_t n_outer, int32_t n, int32_t n_inner,
                                         int32_t is_exclusive, int32_t is_reverse) {
  GRAPH_CUMULATE(int32_t, 0, (int32_t)((uint32_t)sum + (uint32_t)x[here]));
}

int32_t heed_graph_are_within(const int32_t *x, int32_t n, int32_t least, int32_t most) {
  for (int32_t i = 0; i < n; ++i)
    if (x[i] < least || x[i] > most) return 0;
  return 1;
}

/* ------------------------------------------------------------------------------------------ functions of heed on rows */

static heed_matrix graph_rows(const float *x, int32_t n_rows, int32_t dim, int32_t stride) {
  heed_matrix m = heed_matrix_of(x, n_rows, dim);
  m.row_stride = stride;
  return m;
}

heed_status heed_graph_linear(float *y, const float *x, int32_t n_rows, int32_t stride, const heed_weights *w,
                              const float *bias, const heed_executor *executor) {
  return heed_linear(graph_rows(x, n_rows, w->n_in, stride), *w, bias, heed_matrix_out_of(y, n_rows, w->n_out),
                     executor);
}
heed_status heed_graph_rows_of(float *y, const heed_weights *table, const int32_t *indices, int32_t n_rows) {
  return heed_gather_rows(*table, indices, heed_matrix_out_of(y, n_rows, table->n_in));
}
heed_status heed_graph_norm(heed_norm *norm, float *y, const float *x, int32_t n_rows, int32_t dim, int32_t stride,
                            const float *weight, const float *bias, float eps, const heed_executor *executor) {
  return norm(graph_rows(x, n_rows, dim, stride), weight, bias, eps, heed_matrix_out_of(y, n_rows, dim), executor);
}
heed_status heed_graph_group_norm(float *y, const float *x, int32_t n_rows, int32_t dim, const float *weight,
                                  const float *bias, int32_t n_groups, float eps, const heed_executor *executor) {
  return heed_group_norm(heed_matrix_of(x, n_rows, dim), weight, bias, n_groups, eps,
                         heed_matrix_out_of(y, n_rows, dim), executor);
}
heed_status heed_graph_softmax(float *y, const float *x, int32_t n_rows, int32_t dim, const heed_executor *executor) {
  return heed_softmax(heed_matrix_of(x, n_rows, dim), 1.0f, heed_matrix_out_of(y, n_rows, dim), executor);
}
heed_status heed_graph_activation(heed_activation *f, float *y, const float *x, const float *up, int32_t n_rows,
                                  int32_t dim, const heed_executor *executor) {
  const heed_matrix gate = up != NULL ? heed_matrix_of(up, n_rows, dim) : heed_no_matrix();
  return f(heed_matrix_of(x, n_rows, dim), gate, heed_matrix_out_of(y, n_rows, dim), executor);
}
heed_status heed_graph_add(float *y, const float *a, const float *b, int32_t n_rows, int32_t dim,
                           const heed_executor *executor) {
  return heed_add(heed_matrix_of(a, n_rows, dim), heed_matrix_of(b, n_rows, dim), heed_matrix_out_of(y, n_rows, dim),
                  executor);
}
heed_status heed_graph_mean_rows(float *y, const float *x, int32_t n_rows, int32_t dim, int32_t stride,
                                 const heed_executor *executor) {
  return heed_mean_rows(graph_rows(x, n_rows, dim, stride), y, executor);
}
heed_status heed_graph_topk(float *y, int32_t *indices, const float *x, int32_t n_rows, int32_t dim, int32_t k) {
  return heed_topk(heed_matrix_of(x, n_rows, dim), k, indices, y);
}

heed_status heed_graph_multiply(float *y, const float *a, const float *b, const heed_graph_products *p,
                                const heed_executor *executor) {
  heed_status status = HEED_OK;
  graph_walk w = graph_begin(&p->batch);
  do {
    for (int32_t i = 0; status == HEED_OK && i < w.n; ++i) {
      const ptrdiff_t y_at = w.offsets[0] + (ptrdiff_t)i * w.s0, a_at = w.offsets[1] + (ptrdiff_t)i * w.s1,
                      b_at = w.offsets[2] + (ptrdiff_t)i * w.s2;
      heed_weights weights = heed_weights_of(b + b_at, NULL, HEED_F32, p->layout, p->k, p->m);
      weights.row_stride = p->b_stride;
      status = heed_linear(graph_rows(a + a_at, p->n, p->k, p->a_stride), weights, NULL,
                           heed_matrix_out_of(y + y_at, p->n, p->m), executor);
    }
  } while (status == HEED_OK && graph_next(&w, &p->batch));
  return status;
}

static heed_tensor graph_tensor(const float *data, const int32_t strides[3]) {
  const heed_tensor t = {data, strides[0], strides[1], strides[2]};
  return t;
}

heed_status heed_graph_attend(float *out, const float *q, const float *k, const float *v, const void *mask,
                              const heed_graph_attention *a, void *workspace, const heed_executor *executor) {
  const heed_memory memory = heed_memory_of(workspace, heed_workspace_bytes(a->head_dim, a->v_dim));
  heed_attention call =
      heed_attention_of(q, k, v, a->n_q, a->n_kv, a->n_heads, a->n_kv_heads, a->head_dim, out, memory);
  heed_options options = heed_options_default();
  heed_mask of_keys;
  heed_softcap cap;
  heed_status status = HEED_OK;
  call.batch_size = a->n_batch;
  call.v_dim = a->v_dim;
  call.scale = a->scale;
  call.causal = a->causal;
  call.position = a->position;
  call.q = graph_tensor(q, a->q), call.k = graph_tensor(k, a->k), call.v = graph_tensor(v, a->v);
  call.out.batch_stride = a->out[0], call.out.head_stride = a->out[1], call.out.row_stride = a->out[2];
  call.executor = executor;
  call.options = &options;
  if (a->mask == HEED_GRAPH_BOOLEAN_MASK)
    status = heed_mask_init_boolean(&of_keys, (const uint8_t *)mask, a->n_kv, a->mask_strides[0], a->mask_strides[1],
                                    a->mask_strides[2]);
  if (a->mask == HEED_GRAPH_ADDITIVE_MASK)
    status = heed_mask_init_additive(&of_keys, (const float *)mask, a->n_kv, a->mask_strides[0], a->mask_strides[1],
                                     a->mask_strides[2]);
  if (a->mask != HEED_GRAPH_NO_MASK) options.mask = &of_keys;
  if (status == HEED_OK && a->softcap > 0.0f) {
    status = heed_softcap_init(&cap, a->softcap);
    options.softcap = &cap;
  }
  return status == HEED_OK ? heed_attention_run(&call) : status;
}

/* y (n) of one pixel: outputs whose channels of x are `from` apart from its corner. */
static void graph_convolve_outputs(float *y, const float *corner, const ptrdiff_t *from, const float *w,
                                   const float *bias, int32_t n, const heed_graph_convolution *c) {
  double sums[GRAPH_BLOCK];
  for (int32_t o = 0; o < n; ++o) sums[o] = bias != NULL ? (double)bias[o] : 0.0;
  for (int32_t k = 0; k < c->n_in_group; ++k)
    for (int32_t i = 0; i < c->height; ++i)
      for (int32_t j = 0; j < c->width; ++j, w += c->n_out) {
        const float *const x = corner + (ptrdiff_t)k * c->x_strides[1] +
                               (ptrdiff_t)i * c->dilation_y * c->x_strides[2] +
                               (ptrdiff_t)j * c->dilation_x * c->x_strides[3];
        for (int32_t o = 0; o < n; ++o) sums[o] += (double)x[from[o]] * (double)w[o];
      }
  for (int32_t o = 0; o < n; ++o) y[o] = (float)sums[o];
}

/* The same of GRAPH_BLOCK channels, each of which is a group and lies beside the one before. The sums stay in registers. */
static void graph_convolve_block(float *y, const float *corner, const float *w, const float *bias,
                                 const heed_graph_convolution *c) {
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0, s5 = 0.0, s6 = 0.0, s7 = 0.0;
  const ptrdiff_t line = (ptrdiff_t)c->dilation_y * c->x_strides[2], pixel = (ptrdiff_t)c->dilation_x * c->x_strides[3];
  if (bias != NULL) {
    s0 = (double)bias[0], s1 = (double)bias[1], s2 = (double)bias[2], s3 = (double)bias[3];
    s4 = (double)bias[4], s5 = (double)bias[5], s6 = (double)bias[6], s7 = (double)bias[7];
  }
  for (int32_t i = 0; i < c->height; ++i, corner += line) {
    const float *x = corner;
    for (int32_t j = 0; j < c->width; ++j, w += c->n_out, x += pixel) {
      s0 += (double)x[0] * (double)w[0], s1 += (double)x[1] * (double)w[1];
      s2 += (double)x[2] * (double)w[2], s3 += (double)x[3] * (double)w[3];
      s4 += (double)x[4] * (double)w[4], s5 += (double)x[5] * (double)w[5];
      s6 += (double)x[6] * (double)w[6], s7 += (double)x[7] * (double)w[7];
    }
  }
  y[0] = (float)s0, y[1] = (float)s1, y[2] = (float)s2, y[3] = (float)s3;
  y[4] = (float)s4, y[5] = (float)s5, y[6] = (float)s6, y[7] = (float)s7;
}

heed_status heed_graph_convolve(float *y, const float *x, const float *w, const float *bias,
                                const heed_graph_convolution *c) {
  const int32_t out_of_group = c->n_out / c->n_groups;
  const int32_t is_by_channel = out_of_group == 1 && c->n_in_group == 1 && c->x_strides[1] == 1;
  for (int32_t first = 0; first < c->n_out; first += GRAPH_BLOCK) {
    const int32_t n = c->n_out - first < GRAPH_BLOCK ? c->n_out - first : GRAPH_BLOCK;
    const float *const its_bias = bias != NULL ? bias + first : NULL;
    ptrdiff_t from[GRAPH_BLOCK];
    float *to = y + first;
    for (int32_t o = 0; o < n; ++o) from[o] = (ptrdiff_t)((first + o) / out_of_group) * c->n_in_group * c->x_strides[1];
    for (int32_t b = 0; b < c->n_batch; ++b)
      for (int32_t row = 0; row < c->y_height; ++row)
        for (int32_t column = 0; column < c->y_width; ++column, to += c->n_out) {
          const float *const corner = x + (ptrdiff_t)b * c->x_strides[0] +
                                      (ptrdiff_t)row * c->stride_y * c->x_strides[2] +
                                      (ptrdiff_t)column * c->stride_x * c->x_strides[3];
          if (is_by_channel && n == GRAPH_BLOCK)
            graph_convolve_block(to, corner + first, w + first, its_bias, c);
          else
            graph_convolve_outputs(to, corner, from, w + first, its_bias, n, c);
        }
  }
  return HEED_OK;
}

#undef A
#undef B
