// The generic algorithm on plain floats, for processors without a backend of their own and as a second witness beside
// the reference: one lane, and 16 lanes as an array that the compiler vectorises for whatever it targets. Without `omp
// simd`: with it GCC 12 keeps the arrays in memory (P1 on AVX2: 457 us instead of 52). Included once by each of
// generic_fused.cpp and generic_unfused.cpp, which define HEED_FUSED.
#include "../generic/make_kernel.hpp"

namespace heed {
namespace {

HEED_INLINE float lane_fma(float a, float b, float c) {
#if HEED_FUSED
  return HEED_FMAF(a, b, c);
#else
  return a * b + c;
#endif
}
HEED_INLINE float lane_max(float a, float b) { return a > b ? a : b; }
HEED_INLINE float lane_zero_below(float y, float x, float limit) {
#if defined(__clang__) && defined(__ARM_FEATURE_MVE)
  __asm("" : "+t"(x));  // clang 19 would vectorise with a "less than" of Helium that holds for NaN
#endif
  return x < limit ? 0.0f : y;
}
HEED_INLINE float lane_power(float y, float t, float x) {
  union {
    float number;
    uint32_t bits;
  } power;
  power.number = t;
  power.bits <<= 23;
  return lane_zero_below(y * power.number, x, exp2_cutoff);
}

struct lane1 {
  using reg = float;
  static constexpr int lanes = 1;
#ifdef __SOFTFP__  // every operation is a call: tiles save nothing
  static constexpr int sum_rows = 1, sum_vecs = 1;
#else  // 16 chains, 4 + 1 operands: a unit of 32 registers
  static constexpr int sum_rows = 4, sum_vecs = 4;
#endif

  static HEED_INLINE reg load(const float *p) { return *p; }
  static HEED_INLINE void store(float *p, reg r) { *p = r; }
  static HEED_INLINE reg set(float x) { return x; }
  static HEED_INLINE reg factor(float x) { return x; }
  static HEED_INLINE reg add(reg a, reg b) { return a + b; }
  static HEED_INLINE reg sub(reg a, reg b) { return a - b; }
  static HEED_INLINE reg mul(reg a, reg b) { return a * b; }
  static HEED_INLINE reg fma(reg a, reg b, reg c) { return lane_fma(a, b, c); }
  static HEED_INLINE reg max(reg a, reg b) { return lane_max(a, b); }
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) { return lane_zero_below(y, x, limit); }
  static HEED_INLINE reg split(reg x, reg &t) {
    t = x + exp2_magic;
    return x - (t - exp2_magic);
  }
  static HEED_INLINE reg power(reg y, reg t, reg x) { return lane_power(y, t, x); }
  static HEED_INLINE void pin(reg &) {}
  static HEED_INLINE void transpose4(const float *p, ptrdiff_t, reg (&out)[4]) {
    for (int i = 0; i < 4; i++) out[i] = p[i];
  }
};

struct lanes16 {
  struct reg {
    float lane[16];
  };
  static constexpr int lanes = 16;
  static constexpr bool compact = false;
  static constexpr int score_keys = 2, score_vecs = 1, sum_rows = 2, sum_vecs = 1;

  template <class F>
  static HEED_INLINE reg each(F f) {
    reg r;
    for (int l = 0; l < lanes; l++) r.lane[l] = f(l);
    return r;
  }
  static HEED_INLINE reg load(const float *p) {
    return each([=](int l) { return p[l]; });
  }
  static HEED_INLINE void store(float *p, const reg &r) {
    for (int l = 0; l < lanes; l++) p[l] = r.lane[l];
  }
  static HEED_INLINE reg load_n(const float *p, int32_t n) { return load_each<lanes16>(p, n); }
  static HEED_INLINE void store_n(float *p, const reg &r, int32_t n) { store_each<lanes16>(p, r, n); }
  static HEED_INLINE reg set(float x) {
    return each([=](int) { return x; });
  }
  static HEED_INLINE reg factor(float x) { return set(x); }
  static HEED_INLINE reg add(const reg &a, const reg &b) {
    return each([&](int l) { return a.lane[l] + b.lane[l]; });
  }
  static HEED_INLINE reg sub(const reg &a, const reg &b) {
    return each([&](int l) { return a.lane[l] - b.lane[l]; });
  }
  static HEED_INLINE reg mul(const reg &a, const reg &b) {
    return each([&](int l) { return a.lane[l] * b.lane[l]; });
  }
  static HEED_INLINE reg fma(const reg &a, const reg &b, const reg &c) {
    return each([&](int l) { return lane_fma(a.lane[l], b.lane[l], c.lane[l]); });
  }
  static HEED_INLINE reg max(const reg &a, const reg &b) {
    return each([&](int l) { return lane_max(a.lane[l], b.lane[l]); });
  }
  static HEED_INLINE reg zero_below(const reg &y, const reg &x, float limit) {
    return each([&](int l) { return lane_zero_below(y.lane[l], x.lane[l], limit); });
  }
  static HEED_INLINE reg split(const reg &x, reg &t) {
    t = each([&](int l) { return x.lane[l] + exp2_magic; });
    return each([&](int l) { return x.lane[l] - (t.lane[l] - exp2_magic); });
  }
  static HEED_INLINE reg power(const reg &y, const reg &t, const reg &x) {
    return each([&](int l) { return lane_power(y.lane[l], t.lane[l], x.lane[l]); });
  }
  static HEED_INLINE void pin(reg &) {}
  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    for (int i = 0; i < 4; i++) out[i] = each([&](int l) { return p[l * stride + i]; });
  }
};

}  // namespace
}  // namespace heed
