// Attention in integers: what a kernel does for it, and the rules (I1 to I9 of arithmetic.hpp) for single numbers. All
// results are exact integers, so every kernel's are the same whatever its order.
#ifndef HEED_INTEGERS_HPP
#define HEED_INTEGERS_HPP

#include "kernel.hpp"

namespace heed {

// The greatest output; the least is one more below zero.
HEED_INLINE constexpr int32_t greatest_output(bool wide) { return wide ? 32767 : 127; }

constexpr int32_t int_block = 256;    // keys that share an octave
constexpr int32_t int_fraction = 11;  // bits of an octave
constexpr int32_t int_bin = 24;       // octaves of a bin
#ifdef HEED_SINGLE
constexpr int32_t int_score_rows = 2;  // most rows whose scores exist at a time: of a kernel for firmware
#else
constexpr int32_t int_score_rows = 8;
#endif
constexpr int32_t int_no_bin = -0x40000000;
constexpr int32_t int_lse_bias = 2;  // what log-sum-exp lacks on average, in 2^-11 octaves

// x in the range of an int8 or int16. Compilers find the instruction outside of loops only.
template <class T>
HEED_INLINE int32_t saturated(int32_t x) {
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && __ARM_ARCH_ISA_THUMB == 2
  int32_t y;
  asm("ssat %0, %1, %2" : "=r"(y) : "I"(8 * sizeof(T)), "r"(x) : "cc");
  return y;
#else
  constexpr int32_t most = sizeof(T) == 1 ? 127 : 32767;
  return clamp_to(x, -most - 1, most);
#endif
}

struct multiplier {
  int32_t m, e;  // m * 2^(e - 31)
};

// I4: from a distance to the maximum of a block, in units of q . k, to octaves with 11 bits of fraction.
struct distance_rule {
  uint32_t m16, limit;
  int32_t g, h;
};
// From 16 octaves on a probability is 0: no distance beyond the limit need be told from it, and u stays below 2^16.
HEED_INLINE distance_rule distance_of(multiplier c) {
  const int32_t e = c.e + int_fraction, g = larger_of(e, 0), h = e < 0 ? -e : 0;
  uint32_t m = (static_cast<uint32_t>(c.m) + (1u << 14)) >> 15;
  if (m > 65535) m = 65535;
  const uint32_t octaves_16 = ((1u << 31) - 1) / (m << g) + 1, most = 65535u >> g;
  return {m, smaller_of(octaves_16, most), g, h};
}

// I3: the octave above a score x = max * c, and how far below it x lies, in 2^-11 octaves: 1 to 2048.
struct octave {
  int32_t r;
  uint32_t offset;
};
HEED_INLINE octave octave_above(int64_t x) {
  const int64_t r = (x >> int_fraction) + 1;
  return {static_cast<int32_t>(r), static_cast<uint32_t>(r * (1 << int_fraction) - x)};
}
HEED_INLINE int64_t scaled_score(int32_t max, multiplier c) {
  return (static_cast<int64_t>(max) * c.m) >> (31 - c.e - int_fraction);
}

// I5: 2^15 * 2^(-u / 2048), rounded, by a cubic in steps of mulr(a, b) = (a b + 2^14) >> 15, to which the next
// coefficient is added before the shift.
constexpr int32_t int_exp[] = {23157, -8029, 1405, -158};
constexpr int32_t int_exp_term(int32_t i) { return int_exp[i] * 32768 + (1 << 14); }
HEED_INLINE int32_t int_power(uint32_t u) {
  const int32_t t = static_cast<int32_t>((u << 5) & 65535) - 32768;
  const uint32_t n = u >> int_fraction;
  int32_t y = (int_exp[3] * t + int_exp_term(2)) >> 15;
  y = (y * t + int_exp_term(1)) >> 15;
  y = (y * t + int_exp_term(0)) >> 15;
  return static_cast<int32_t>((static_cast<uint32_t>(y) + ((1u << n) >> 1)) >> n);
}
// I4 and I5: the probability of a key whose score is `distance` below the block's maximum.
HEED_INLINE int32_t int_probability(uint32_t distance, const distance_rule &rule, uint32_t offset) {
  uint32_t a = distance >> rule.h;
  if (a > rule.limit) a = rule.limit;
  const uint32_t u = offset + (((a << rule.g) * rule.m16) >> 16);
  return int_power(smaller_of(u, 65535));
}

// The number of the highest bit of x > 0, counted from 1. Cores without the instruction would call a library, and clang
// knows the loop of single bits as that call.
HEED_INLINE int32_t bit_length(uint64_t x) {
#if (defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1) || (defined(__riscv) && !defined(__riscv_zbb))
  uint32_t word = static_cast<uint32_t>(x >> 32);
  int32_t n = 32;
  if (word == 0) word = static_cast<uint32_t>(x), n = 0;
  for (int32_t step = 16; step != 0; step >>= 1)
    if (word >> step != 0) word >>= step, n += step;
  return n + static_cast<int32_t>(word);
#else
  return 64 - __builtin_clzll(x);
#endif
}

// I9: what a row's sums are multiplied by. l is the sum of p, of_keys the same without a sink.
struct int_finish {
  int32_t down, up;  // bits that l and sums lose, or gain
  int32_t q, t;      // out = zero point + (sum * q + bias) >> t, t from 32 to 62
  uint64_t bias;     // half a unit, and the zero point of the values
};
HEED_INLINE int_finish finish_of(uint64_t l, uint64_t of_keys, multiplier w, int32_t value_zero_point) {
  int_finish f;
  const int32_t z = bit_length(l) - 24;
  f.down = larger_of(z, 0);
  f.up = z < 0 ? -z : 0;
  // 2^47 / ln in three digits, by divisions of 32 bits
  const uint32_t ln = static_cast<uint32_t>((l >> f.down) << f.up), high = (1u << 31) / ln;
  const uint32_t rest = ((1u << 31) - high * ln) << 8, middle = rest / ln, last = ((rest - middle * ln) << 8) / ln;
  const uint32_t r = (high << 16) + (middle << 8) + last;
  f.q = static_cast<int32_t>((static_cast<uint64_t>(r) * static_cast<uint32_t>(w.m)) >> 24);
  f.t = 54 - w.e;
  const uint64_t zero = static_cast<uint64_t>(static_cast<int64_t>(value_zero_point) * f.q);
  f.bias = (static_cast<uint64_t>(1) << (f.t - 1)) - ((of_keys >> f.down) << f.up) * zero;
  return f;
}
// sum has lost its bits, if it loses some.
HEED_INLINE int32_t int_finished(int32_t sum, const int_finish &f, int32_t zero_point, int32_t least, int32_t most) {
  const int64_t product = static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(sum) << f.up)) * f.q;
  const uint64_t y = static_cast<uint64_t>(product) + f.bias;
  return clamp_to((static_cast<int32_t>(y >> 32) >> (f.t - 32)) + zero_point, least, most);
}

// ---------------------------------------------------------------------------------------------------------- a kernel

// Keys, or values, of one block: rows as they lie, or what pack_keys or pack_values has made of them.
struct int_rows {
  const int8_t *data;
  ptrdiff_t stride;
  const void *packed;  // null: as they lie
  int32_t n, dim;      // 1 to 256 rows
#ifndef HEED_SINGLE
  const int8_t *next = nullptr;  // rows that are wanted after these, as far apart, if they are known
#endif
};

// Rows of scores are 256 words apart. Rows of probabilities are the same memory: int16, 512 numbers apart.
struct int_steps {
  const char *name;
  bool (*available)();
  int32_t rows;        // rows that scores and sums like to take at a time: at most int_score_rows
  int32_t packs_from;  // rows from which packing a block pays; it must have room
  // A query as `scores` wants it, and the sum of (q[i] - zero_point). `to` has 4 * dim bytes, dim rounded up to 16, and
  // 64 behind them; it is aligned to 64.
  int32_t (*open_query)(const int8_t *q, int32_t dim, int32_t zero_point, void *to);
  // 512 bytes for each dimension, rounded up to 16 dimensions. Rows beyond n are as the kernel likes. `scores` and `sums`
  // may then ask for the first rows alone: how rows lie must not depend on n.
  void (*pack_keys)(const int_rows &k, void *to);
  void (*pack_values)(const int_rows &v, void *to);
  // I1: s[r][j] = sum (q[r][i] - zero_point) * k[j][i], j < n. Queries are query_bytes apart. Up to `padded` (n rounded
  // up to 32) words of a row of scores may be written.
  void (*scores)(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t zero_point, const int_rows &k,
                 int32_t *s);
  int32_t (*greatest)(const int32_t *s, int32_t n);
  // I4, I5: scores of keys [0, n) become probabilities in the same memory, 0 from n to padded (a multiple of 32). Returns
  // their sum. A score of INT32_MIN becomes any number from 0 to 32767.
  int32_t (*probabilities)(int32_t *s, int32_t n, int32_t padded, const distance_rule &rule, int32_t max,
                           uint32_t offset);
  // I6: acc[r][i] = sum p[r][j] v[j][i] over j < v.n; p is 0 from there to v.n rounded up to 32. Rows of acc are acc_stride
  // apart, a multiple of 16 that is at least dim; what lies beyond dim may be written. The half of a row of p that no
  // probability can need is the step's to use.
  void (*sums)(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride);
  // I7: bin[i] += a[i] << shift, i < n, shift 0 to 23. Sums of damaged partials wrap.
  void (*add_to_bin)(int64_t *bin, const int32_t *a, int32_t n, int32_t shift);
  // I8: a[i] = (top[i] + (low[i] >> 24)) >> down, i < n.
  void (*join_bins)(const int64_t *top, const int64_t *low, int32_t n, int32_t down, int32_t *a);
  // I9: out[i] = clamp(zero_point + (((a[i] << f.up) * f.q + f.bias) >> f.t)), int8 or int16 (wide).
  void (*finish)(const int32_t *a, int32_t n, const int_finish &f, int32_t zero_point, bool wide, void *out);
  int32_t packed_bytes = 2;  // of a packed number; of 1, 1024 bytes behind the keys are the kernel's, too
};

}  // namespace heed

#endif
