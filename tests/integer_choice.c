/* How a language model without floats chooses its tokens, beside probabilities in double precision. MODEL: its name; MODEL_SOURCE: its
 * file in C; MODEL_HEADER: its header; LOGIT_M, LOGIT_E: a unit of its logits. For tests/compile_integers.sh. SPDX-License-Identifier: MIT */
#include MODEL_SOURCE

#include <math.h>
#include <stdio.h>

#include "compiled.h"

static MODEL model;
enum { n_tokens = sizeof model.logits / sizeof model.logits[0], n_draws = 30000 };

/* Probabilities of the tokens, with 0 for those that are left out. */
static void expect(OF(_choice) how, double unit, double *p) {
  double all = 0, kept = 0;
  int32_t greatest = -32768, least = -32768;
  for (int32_t i = 0; i < n_tokens; ++i)
    if (model.logits[i] > greatest) greatest = model.logits[i];
  for (int32_t l = greatest, n = 0; how.top_k > 0 && n < how.top_k && l >= -32768; --l) {
    for (int32_t i = 0; i < n_tokens; ++i) n += model.logits[i] == l;
    least = l;
  }
  for (int32_t i = 0; i < n_tokens; ++i) {
    p[i] = model.logits[i] < least ? 0 : exp((model.logits[i] - greatest) * unit * 1000 / how.temperature);
    all += p[i];
  }
  for (int32_t l = greatest; how.top_p > 0 && kept < all * how.top_p / 1000; --l) {
    for (int32_t i = 0; i < n_tokens; ++i) kept += model.logits[i] == l ? p[i] : 0;
    least = l;
  }
  for (int32_t i = 0; i < n_tokens; ++i) p[i] = model.logits[i] < least ? 0 : p[i] / (how.top_p > 0 ? kept : all);
}

/* Frequencies lie within five standard deviations of the probabilities; what is left out is never chosen. */
static int differs(OF(_choice) how, double unit) {
  static double p[n_tokens];
  static int32_t n[n_tokens];
  expect(how, unit, p);
  for (int32_t i = 0; i < n_tokens; ++i) n[i] = 0;
  for (int32_t i = 0; i < n_draws; ++i) n[choose(&model, &how)]++;
  for (int32_t i = 0; i < n_tokens; ++i) {
    if (p[i] == 0 ? n[i] == 0 : fabs(n[i] - n_draws * p[i]) <= 5 * sqrt(n_draws * p[i]) + 1) continue;
    printf("token %d: %d times, not %.1f\n", (int)i, (int)n[i], n_draws * p[i]);
    return 1;
  }
  return 0;
}

int main(void) {
  const double unit = ldexp((double)LOGIT_M, LOGIT_E - 31);
  for (double x = 0; x < 33; x += 0.00137) {
    const double exact = ldexp(exp2(-x), 31);
    if (fabs(power((uint64_t)(x * 4294967296.0)) - exact) > exact / 131072 + 1) return printf("2^-%g\n", x), 1;
  }
  /* A few tokens are probable, and two are equally so at the end of the most probable ones. */
  for (int32_t i = 0; i < n_tokens; ++i)
    model.logits[i] = (int16_t)(-(i * 37 % n_tokens) * (int32_t)(8 / unit) / n_tokens - 300);
  model.logits[7] = 30, model.logits[20] = 500, model.logits[21] = 30, model.logits[40] = (int16_t)(2 / unit);
  const OF(_choice) cases[] = {{1000, 0, 0, 1},   {800, 40, 950, 2}, {2000, 0, 0, 3}, {1000, 3, 0, 4},
                               {1500, 0, 600, 0}, {1, 0, 0, 5},      {700, 1, 0, 6},  {1000, 1 << 30, 999, 7}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i)
    if (differs(cases[i], unit)) return printf("case %u\n", i), 1;
  return choose(&model, NULL) == 40 ? 0 : 1;
}
