/* See graph_math.h: functions of numbers, and what stands between the functions of heed. SPDX-License-Identifier: MIT */
#include "graph_math.h"

#include "graph_loops.h"

#include "graph_functions.h"

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
        GRAPH_EACH_OF_TWO(((l < r) | (l != l)) ? l : r);
        break;
      }
      case HEED_GRAPH_MAX: {
        GRAPH_EACH_OF_TWO(((l > r) | (l != l)) ? l : r);
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
