// The arithmetic contract: every kernel produces the bits that these rules give. Change a number here and all change.
//
// All steps are single binary32 operations, round to nearest even. fma(a, b, c) rounds once in the FUSED profile; in
// UNFUSED (processors without the instruction, where emulating it costs 19 times) it is a product, then a sum.
//
//  1. c = scale * log2(e). Softmax works in base 2. The default scale is 1 / sqrt(head_dim), two operations.
//  2. dot_j = fma(q[i], k[j][i], dot_j), i ascending, from +0.  x_j = dot_j * c.
//  3. Keys come in blocks of 64 and chunks of 1024, aligned to the absolute key index. Only visible keys take part.
//  4. Per block: m' = max(m, x_j), where a NaN x_j is passed over; s = m', or 0 if m' is -inf; alpha = exp2(m - s);
//     p_j = exp2(x_j - s). Accumulator and sums are multiplied by alpha (from m = -inf, sums +0, acc +0), then keys are
//     added in ascending order: acc[n] = fma(p_j, v[j][n], acc[n]), sum[j mod 16] += p_j.
//  5. At the end of a chunk the 16 sums are halved by a tree (i + (i+8), then +4, +2, +1): a partial (m, l, acc).
//  6. Partials merge in ascending order: M = max(m_t, m_c), s as in 4, a = exp2(m_t - s), b = exp2(m_c - s),
//     l = fma(l_c, b, l_t * a), acc[n] = fma(acc_c[n], b, acc_t[n] * a). The first is taken as it is; a chunk of which
//     the row sees no key is not merged.
//  7. out[n] = acc[n] * r + 0, r = 1 / l, or 0 if l is 0: a zero is +0, whichever way it came about.
//  8. softmax over n numbers: x_j as in 1 and 2, m = max x_j over all, s and p_j as in 4, the 16 sums over all j, tree,
//     y_j = p_j * r. Attention's weights are this function of the x_j in the row's range; with a sink x_s, m is at
//     least x_s and l = tree + exp2(x_s - s).
//  9. exp2(x), x <= 0: t = (x + M) - M with M = 1.5 * 2^23 + 127 (an odd number: ties go to odd t), f = x - t, which is
//     exact, y = polynomial of f by fma, then y * 2^t, exact. Below -64 it is +0, so that no probability is ever
//     subnormal and units that flush subnormals agree.
// 10. linear: y[n] = fma(x[i], w[i][n], y[n]), i ascending, from bias[n] or +0. Weighted sums are the same.
// 11. dot: 64 sums, sum[i mod 64] = fma(a[i], b[i], sum), then the halving tree (32, 16, 8, 4, 2, 1).
//
// 12. Softcap: x = tanh(u) * (cap * log2(e)), u = dot * (scale / cap). With y = |u| * (-2 log2(e)), t, f and the
// polynomial
//     1 + f g of rule 9: z = (1 - 2^t) - 2^t * (g * f) = 1 - e, d = z - 2 = -(1 + e), r = a quadratic in d, then twice
//     r = fma(fma(d, r, 1), r, r); q = z * r, tanh |u| = fma(fma(d, q, z), r, q); the sign is u's.
// 13. Biases, after that: ALiBi x = fma(slope * log2(e), float(b - p) + float(j - b), x), b the first key of j's block,
// p
//     the query's position; then an additive mask x = fma(mask, log2(e), x). Scores that are kept are x * ln 2; raw
//     ones under a softcap u * cap.
// 14. Keys outside a row's range are no part of any rule. A key that a mask hides (false, or -inf) has x = -inf,
// whatever
//     its score, and is left out of acc; so a mask of zeros changes no bit, and a block that is hidden may be passed
//     over. A sink is one more partial (x_s, 1, 0), x_s = sink * log2(e), merged last: a and b as in 6, l = l * a + b,
//     acc * a.
// 15. Log-sum-exp: (m + log2(l)) * ln 2, the logarithm from sums, products and one quotient; -inf if l is 0. Column
// sums
//     and the largest weights: exp2(x_j - s) * r with m and r after sinks; sums in ascending order of queries.
//
// A query's result thus depends on its own visible keys alone. Lanes may be queries, keys or columns: the rules fix the
// order of each chain, not the axis of vectorisation, which is why equal bits cost no speed.
#ifndef HEED_ARITHMETIC_HPP
#define HEED_ARITHMETIC_HPP

#include <stddef.h>
#include <stdint.h>

// What can be seen of a compiler's mode. What cannot (clang says nothing of reassociation, nor of NaN alone) is for the
// self-tests to find.
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error \
    "heed promises the same bits everywhere: compile without -ffast-math, -funsafe-math-optimizations and their parts"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16  // 16: of _Float16 alone
#error "heed needs floats that are evaluated as floats: on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

// The instruction, whatever the flags say about errno.
#if defined(__clang__) && __has_builtin(__builtin_elementwise_fma)
#define HEED_FMAF __builtin_elementwise_fma
#else
#define HEED_FMAF __builtin_fmaf
#endif

namespace heed {

constexpr int32_t block_keys = 64;
constexpr int32_t chunk_keys = 1024;
constexpr int32_t n_sums = 16;
constexpr int32_t n_dot_sums = 64;

constexpr float log2e = 0x1.715476p+0f;
constexpr float ln2 = 0x1.62e430p-1f;
constexpr float negative_infinity = -__builtin_inff();

// 2^f on [-1/2, 1/2], minimax with the constant term 1, so that exp2(0) = 1 and an unchanged maximum changes nothing.
// Coefficients were searched for the smallest error in f32 over every float in [-64, 0]: 0.81 ulp, unfused 1.09.
constexpr float exp2_cutoff = -64.0f;
constexpr float exp2_c1 = 0x1.62e432p-1f;
constexpr float exp2_c2 = 0x1.ebfbe6p-3f;
constexpr float exp2_c3 = 0x1.c6ae5ap-5f;
constexpr float exp2_c4 = 0x1.3b275cp-7f;
constexpr float exp2_c5 = 0x1.5f7222p-10f;
constexpr float exp2_c6 = 0x1.470b62p-13f;
// Adding 1.5 * 2^23 rounds to an integer without a rounding instruction (SSE2 and soft float have none); the extra 127
// leaves the biased exponent of 2^t in the low bits of the sum.
constexpr float exp2_magic = 12582912.0f + 127.0f;

// 1 / d on [1, 2] within 1/99: 1 - d p(d) is a Chebyshev polynomial. For tanh, whose quotient is made by fma alone,
// since some vector units cannot divide.
constexpr float tanh_r0 = 210.0f / 99.0f;
constexpr float tanh_r1 = 144.0f / 99.0f;
constexpr float tanh_r2 = 32.0f / 99.0f;

constexpr float least_finite = -0x1.fffffep+127f;

// 1/sqrt(dim), the root and the quotient each correctly rounded.
float default_scale(int32_t dim);

}  // namespace heed

#endif
