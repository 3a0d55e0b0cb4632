// Numbers to fill a problem with: typical ones and everything that breaks a careless kernel.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_DATA_HPP
#define HEED_TESTS_SUPPORT_DATA_HPP

#include <cmath>
#include <vector>

#include "problem.hpp"

namespace heed_test {

inline std::vector<float> bell_floats(random_source &r, size_t n) {
  std::vector<float> x(n);
  for (float &f : x) f = r.bell();
  return x;
}
inline std::vector<float> uniform_floats(random_source &r, size_t n) {
  std::vector<float> x(n);
  for (float &f : x) f = r.uniform();
  return x;
}

// Ordinary numbers mostly, else one of the kinds that break a careless kernel.
inline std::vector<float> any_floats(random_source &r, size_t n) {
  std::vector<float> x = bell_floats(r, n);
  const int32_t kind = r.between(0, 9);
  if (kind == 0)
    for (float &f : x) f = std::ldexp(f, 60);
  if (kind == 1)
    for (float &f : x) f = r.chance(50) ? 0.0f : -0.0f;
  if (kind == 2) x[r.next() % n] = r.chance(50) ? not_a_number : -infinity;
  if (kind == 3 && !flushes_subnormals)
    for (float &f : x) f = std::ldexp(f, r.between(-148, -60));
  return x;
}

inline void fill_typical(random_source &r, problem *p) {
  p->q = bell_floats(r, p->q_floats());
  p->k = bell_floats(r, p->k_floats());
  p->v = bell_floats(r, p->v_floats());
  p->data = "typical";
}

// Logits from 1e3 to 1e30, and values of any size.
inline void fill_large(random_source &r, problem *p) {
  fill_typical(r, p);
  const int32_t q_exponent = r.between(5, 50), k_exponent = r.between(5, 50);
  for (float &f : p->q) f = std::ldexp(f, q_exponent);
  for (float &f : p->k) f = std::ldexp(f, k_exponent);
  const int32_t v_exponent = r.between(-60, 100);
  for (float &f : p->v) f = std::ldexp(f, v_exponent);
  p->data = "large";
}

// Few different numbers, zeros of both signs: equal maxima everywhere.
inline void fill_ties(random_source &r, problem *p) {
  static const std::vector<float> few = {-1.0f, -0.0f, 0.0f, 1.0f};
  fill_typical(r, p);
  for (std::vector<float> *x : {&p->q, &p->k, &p->v})
    for (float &f : *x) f = r.pick(few);
  p->data = "ties";
}

// Each key's score is larger than the one before, so every block rescales what went before.
inline void fill_growing(random_source &r, problem *p) {
  fill_typical(r, p);
  const float step = std::ldexp(1.0f, r.between(-8, 1));
  for (float &f : p->q) f = std::fabs(f) + 0.25f;
  for (size_t i = 0; i < p->k.size(); ++i) p->k[i] = step * static_cast<float>(i / size_t(p->head_dim));
  p->data = "growing";
}

// Products overflow: scores of +infinity, -infinity and NaN.
inline void fill_overflowing(random_source &r, problem *p) {
  fill_typical(r, p);
  for (float &f : p->q) f = std::ldexp(f, r.between(50, 70));
  for (float &f : p->k) f = std::ldexp(f, r.between(50, 70));
  p->data = "overflowing";
}

// A few NaN and infinities anywhere.
inline void fill_special(random_source &r, problem *p) {
  static const std::vector<float> specials = {infinity, -infinity, not_a_number};
  fill_typical(r, p);
  for (std::vector<float> *x : {&p->q, &p->k, &p->v})
    for (int32_t n = r.between(0, 2); n > 0; --n) (*x)[r.next() % x->size()] = r.pick(specials);
  p->data = "special";
}

// Subnormal and tiny numbers; only where the unit does not flush them.
inline void fill_tiny(random_source &r, problem *p) {
  fill_typical(r, p);
  for (std::vector<float> *x : {&p->q, &p->k, &p->v})
    for (float &f : *x) f = std::ldexp(f, r.between(-148, -60));
  p->data = "tiny";
}

// Whether any query of a head that reads this key/value head sees key j.
inline bool is_seen(const problem &p, int32_t b, int32_t kv_head, int32_t j) {
  const int32_t group = p.n_heads / p.n_kv_heads;
  for (int32_t h = kv_head * group; h < (kv_head + 1) * group; ++h)
    for (int32_t i = 0; i < p.n_q; ++i)
      if (p.sees(b, h, i, j)) return true;
  return false;
}

// Keys and values that no query sees become NaN and infinite.
inline void poison_unseen(random_source &r, problem *p) {
  if (!p->causal && !p->options.any()) return;
  for (int32_t b = 0; b < p->batch; ++b)
    for (int32_t h = 0; h < p->n_kv_heads; ++h)
      for (int32_t j = 0; j < p->n_kv; ++j) {
        if (is_seen(*p, b, h, j)) continue;
        const float poison = r.chance(50) ? not_a_number : r.chance(50) ? infinity : -infinity;
        const ptrdiff_t row = ptrdiff_t(b * p->n_kv_heads + h) * p->n_kv + j;
        std::fill_n(p->k.begin() + row * p->head_dim, p->head_dim, poison);
        std::fill_n(p->v.begin() + row * p->v_dim, p->v_dim, poison);
      }
}

inline void fill_random(random_source &r, problem *p) {
  const int32_t kind = r.between(0, 15);
  const bool may_be_subnormal = kind == 8 || kind == 9 || kind > 12;
  if (kind < 8 || (flushes_subnormals && may_be_subnormal)) {
    fill_typical(r, p);
  } else if (kind < 10) {
    fill_large(r, p);
  } else if (kind == 10) {
    fill_ties(r, p);
  } else if (kind == 11) {
    fill_special(r, p);
  } else if (kind == 12) {
    fill_overflowing(r, p);
  } else if (kind < 15) {
    fill_growing(r, p);
  } else {
    fill_tiny(r, p);
  }
  poison_unseen(r, p);
}

}  // namespace heed_test

#endif
