// The arithmetic contract: every kernel produces the bits that these rules give. Change a number here and all change.
//
// All steps are single binary32 operations, round to nearest even. fma(a, b, c) rounds once with fma; in
// NO_FMA (processors without the instruction, where emulating it costs 19 times) it is a product, then a sum.
//
//  1. c = scale * log2(e). Softmax works in base 2. The default scale is 1 / sqrt(head_dim), two operations.
//  2. dot_j = fma(q[i], k[j][i], dot_j), i ascending, from +0.  x_j = dot_j * c.
//  3. Keys come in blocks of 64 and chunks of 1024, aligned to the absolute key index. Only visible keys take part.
//  4. Per block: m' = max(m, x_j), where a NaN x_j is passed over; s = m', or 0 if m' is -inf; alpha = exp2(m - s);
//     p_j = exp2(x_j - s). Accumulator and sums, +0 where a chunk begins and m is -inf, are multiplied by alpha, also by
//     the alpha = 0 that follows m = -inf: NaN of an earlier block stays. Then keys are added in ascending order:
//     acc[n] = fma(p_j, v[j][n], acc[n]), sum[j mod 16] += p_j.
//  5. At the end of a chunk the 16 sums are halved by a tree (i + (i+8), then +4, +2, +1): a partial (m, l, acc).
//  6. Partials merge in ascending order: M = max(m_t, m_c), s as in 4, a = exp2(m_t - s), b = exp2(m_c - s),
//     l = fma(l_c, b, l_t * a), acc[n] = fma(acc_c[n], b, acc_t[n] * a). The first is taken as it is; a chunk of which
//     the row sees no key is not merged. Which zero m is, where x_j are zeros of both signs, no result tells: a partial
//     that a caller keeps has m + 0.
//  7. out[n] = acc[n] * r + 0, r = 1 / l, or 0 if l is 0: a zero is +0, whichever way it came about.
//  8. softmax over n numbers: x_j as in 1 and 2, m = max x_j over all, s and p_j as in 4, the 16 sums over all j, tree,
//     y_j = p_j * r. Attention's weights are this function of the x_j in the row's range; with a sink x_s, m is at least
//     x_s and l = tree + exp2(x_s - s).
//  9. exp2(x), x <= 0: t = (x + M) - M with M = 1.5 * 2^23 + 127 (an odd number: ties go to odd t), f = x - t, which is
//     exact, y = polynomial of f by fma, then y * 2^t, exact. Below -64 it is +0, so that no probability is ever
//     subnormal and units that flush subnormals agree.
// 10. linear: y[n] = fma(x[i], w[i][n], y[n]), i ascending, from bias[n] or +0. Weighted sums are the same.
// 11. dot: 64 sums, sum[i mod 64] = fma(a[i], b[i], sum), then the halving tree (32, 16, 8, 4, 2, 1).
//
// 12. Softcap: x = tanh(u) * (cap * log2(e)), u = dot * (scale / cap). With y = |u| * (-2 log2(e)), t, f and the polynomial
//     1 + f g of rule 9: z = (1 - 2^t) - 2^t * (g * f) = 1 - e, d = z - 2 = -(1 + e), r = a quadratic in d, then twice
//     r = fma(fma(d, r, 1), r, r); q = z * r, tanh |u| = fma(fma(d, q, z), r, q); the sign is u's, but u = -0 gives +0.
// 13. Biases, after that: ALiBi x = fma(slope * log2(e), d, x), d = float(b - p) + float(j - b), b the first key of j's
//     block, p the query's position; symmetric: d = 0 - d where it is positive; then an additive mask x = fma(mask, log2(e), x). Scores that are kept are x * ln 2; raw ones
//     under a softcap u * cap.
// 14. Keys outside a row's range are no part of any rule. A key that a mask hides (false, or -inf) has x = -inf, whatever
//     its score, and is left out of acc; so a mask of zeros changes no bit, and a block that is hidden may be passed over.
//     A sink is one more partial (x_s, 1, 0), x_s = sink * log2(e), merged last: a and b as in 6, l = l * a + b, acc * a.
//     Pinned keys that lie before a row's range, with a gap between, are a range of their own, whose chunks come first.
//     Where the range begins directly after them, or among them, both are one range.
// 15. Log-sum-exp: (m + log2(l)) * ln 2, the logarithm from sums, products and one quotient; -inf if l is 0. Column sums
//     and the largest weights: exp2(x_j - s) * r with m and r after sinks, +0 where x_j is -inf; sums in ascending order
//     of queries.
//
// 16. Norms: mean = sum / float(n), the 64 sums and the tree of rule 11, of x (sum + x) or of squares by fma. rms_norm:
//     r = 1 / root(mean(x^2) + eps), root and quotients correctly rounded, r = 0 if the root is 0; y = x * r. l2_norm: the sum for the mean. layer_norm:
//     p = the median of x[0], x[n / 2] (rounded down) and x[n - 1], c = mean(x - p), d = (x - p) - c, r from mean(d^2),
//     y = d * r. The mean is p + c, which one float cannot hold where it is large. Then y * weight,
//     fma(y, weight, bias) or y + bias.
// 17. exp(-x): t as in 9 from x * -log2(e), n its integer, g = fma(n, ln2_low, fma(n, ln2_high, x)), the inner one
//     exact, a polynomial of g by fma, times 2^n. Where x is split, the rest is added to g.
// 18. a / d: r by subtracting the bits of d from a constant, within 1/19; h = fma(-d, r, 1), r = fma(fma(h, h, h), r, r);
//     q = a * r, or r if a is 1; fma(fma(-d, q, a), r, q). Some vector units cannot divide, others take as long.
//     NO_FMA rounds products with r by themselves. So that none is subnormal, 1 / (1 + e) is made with d = 2^-32 * (1 + e)
//     there, and the result is multiplied by 2^-32: both are exact.
// 19. silu: x * (1 / (1 + e)), e = exp(-x), +0 for x below -87, e = +0 where 9 cuts off. gelu_tanh the same with
//     e = exp(-v), v = x * fma(gelu_cubic, x * x, gelu_linear), and +0 below -9.99.
// 20. gelu: x * phi, +0 below -12.9. z = max(-|x|, -12.9), w = exp(-z^2 / 2) * (P(z) / Q(z)), phi = w where x is
//     negative, else 1 - w. z^2 = h^2 + (z - h) * (z + h), h = z rounded to 2^-8, so that h^2 is exact; the second term
//     is the rest.
// 21. Rotary embedding: the angle of a pair is position * frequency, an integer modulo 2^64 = one turn (rope.cpp makes
//     frequencies in integers alone). From the nearest quarter on: 2^31 steps to an eighth of a turn, rounded down, as a
//     float z in [-1, 1]; sine and cosine are polynomials of z by fma, times the factor.
//     a' = fma(a, cos, b * -sin), b' = fma(b, cos, a * sin).
// 22. Storage: f16 and bf16 are widened exactly, subnormal ones too; an int8 q to the product q * scale, a weight with a
//     zero point z (int8 or uint8) to (q - z) * scale, the difference exact. What is computed is then what any rule says
//     of floats.
// 23. Narrowing rounds to nearest, ties to even, beyond the range to infinity. int8: scale = max |x| / 127, at most
//     0x1.020406p+121 so that 127 * scale is finite; q = x / scale rounded, at most 127 in magnitude, and 0 where the
//     scale is 0. A narrow out is narrowed after rule 7.
// 24. Weights in blocks of 32 inputs with a scale each (Q8_0, Q4_0): t = fma(x[i], q[i][n], t), i ascending, from +0, with
//     the integers q; after each block, the last of which may be shorter, y[n] = fma(scale, t, y[n]), from bias[n] or +0.
// 25. Rows of floats times integers (heed_weights_in_integers). Of a row: a = max |x|, s = a / 127, r = 127 / a, q = x * r
//     rounded to an integer, ties to even. If a < 2^-100, s and all q are 0. If a number is not finite, s is NaN and all q
//     are 0. Sums of q times numbers, less zero points, are exact. int8: y[n] =
//     (float(sum) * s) * scale + bias; from s = 2^96 on float(sum) * (s * 2^-32) * scale * 2^32 + bias, the same bits where
//     nothing is infinite on the way. Blocks: t = float(sum of the block) * scale, y[n] = y[n] + t, from +0, in ascending
//     order, and then y[n] * s + bias. There is no fma: all round by themselves, in both arithmetics. A bias that is null is +0.
// 26. tanh as an activation: x itself where |x| < 2^-12, else rule 12. sigmoid: 1 / (1 + exp(-x)) as in 19, +0 for x below
//     -80.
// 27. Sums over rows: 16 sums, sum[r mod 16] += x[r], r ascending, from +0, and the tree. Means over rows: that / float(n).
//     group_norm: the sum of a group's channels in a row by the 64 sums and the tree of rule 11, then the sum over rows.
//     p = the median of the group's first number, its middle one (row n / 2, channel channels / 2 of the group) and its
//     last; c = (the sum of x - p) / (float(n) * float(channels)), the same of squares of d = (x - p) - c, a product and a sum
//     each, r as in 16, y = d * r, then y * weight, + bias: there is no fma, in both arithmetics.
// 28. Sampling: p = softmax (rule 8) of x with the scale 1 / temperature. Tokens stand in their own order, or by x, the
//     greatest first, of equal ones the lowest index, where top_k or top_p leaves some out. Sums of p in that order: 64 at
//     a time from +0, each block added to those before it. total = that of all that top_k leaves; top_p leaves the first
//     ones whose sum is at least top_p * total, and total is then theirs. The token is the first whose sum, with those
//     before it, is greater than random * total; the last with p > 0 if there is none.
//
// Attention in integers (heed_int_attention) has rules of its own. All sums are exact and in any order; shifts to the
// right round down. A multiplier (m, e) stands for m * 2^(e - 31). Octaves are powers of two: softmax works in base 2.
//
// I1. dot_j = sum (q[i] - zero point) * (k[j][i] - zero point): at most 255 * 255 * 32768 in magnitude.
// I2. Keys come in blocks of 256, aligned to the absolute key index. Only visible keys take part. A block of which a row
//     sees none adds nothing to it.
// I3. max = the greatest dot_j of the block, X = (max * m) >> (20 - e), with the score's multiplier: max in 2^-11
//     octaves. r = (X >> 11) + 1 is the octave above, o = 2048 r - X, 1 to 2048, how far below it max lies.
// I4. How far below octave r key j lies, in 16 bits: u = min(o + (((min((max - dot_j) >> h, 65535 >> g) << g) * m16) >>
//     16), 65535), where m16 is m in 16 bits, rounded, at most 65535, and m16 * 2^(g - h) replaces m * 2^(e + 11), one of
//     g and h being 0.
// I5. p_j = 2^15 * 2^(-u / 2048): a cubic of the lower 11 bits, in steps of (a * b + 2^14) >> 15, shifted right, rounded,
//     by the upper 5. It has 15 bits; the greatest p of a block has at least 2^14, and from 16 octaves down it is 0.
// I6. l = sum p_j, A[n] = sum p_j * v[j][n]: less than 2^23 and 2^30.
// I7. Octaves come in bins of 24: bin b = r / 24, rounded down, s = r - 24 b. The state of a row is G, the greatest bin so
//     far, and for l and each A[n] two sums in int64: top, of A << s over all blocks with b = G, and low, with b = G - 1.
//     When G rises by one, top becomes low; when it rises by more, both are 0. Blocks of lower bins are left out: at most
//     2^-24 of a key's weight each. So a state is a function of the set of blocks that it has seen, merging is exact,
//     commutative and associative, and 2^10 blocks fit. A sink is a state with X = sink, p of u = o, and no values; it is
//     added last.
// I8. L = top + (low >> 24) of l, T[n] likewise of A[n].
// I9. z = L's bits - 24. Ln = L >> z, or L << -z, has 24 bits; An = T[n] moved alike. Q = (floor(2^47 / Ln) * m) >> 24 and
//     t = 54 - e, with the value's multiplier. out[n] = clamp(zero point + ((An * Q + 2^(t - 1) - zv * Lk * Q) >> t)), where
//     zv is v's zero point, and Lk is Ln of the keys alone, without a sink. L = 0: out[n] = zero point.
//     Log-sum-exp: 2048 * (24 G - 15 + log2(L)) + 2, log2 rounded to 2^-11; 2 is what rounding down takes.
// I10. Products (heed_int_linear): acc = bias + sum (x[i] - zero point) * w[i][n], modulo 2^32; y[n] = clamp(zero point +
//     ((acc * m + 2^(30 - e)) >> (31 - e))), with the output's multiplier, e from -31 to 30.
// I11. heed_int_add: z = a' * m_a * 2^(e_a - e) + b' * m_b * 2^(e_b - e), e the smaller of the two, a' and b' without their
//     zero points; y = clamp(zero point + ((z + 2^(30 - e)) >> (31 - e))). heed_int_multiply and heed_int_rescale likewise,
//     with z = a' * b' * m, and x' * m.
// I12. Norms: S = sum x' (layer_norm) or 0, V = n * sum x'^2 - S^2 + ((n^2 * eps) >> 16). With V * 4^a in [2^62, 2^64):
//     r = floor(2^62 / root), the root of that rounded down; z = ((n x' - S) * r + 2^(41 - a)) >> (42 - a), 0 where V is 0.
//     y = clamp(zero point + ((z * weight + bias * 2^20 + 2^(t - 1)) >> t)), t = 20 + shift.
// I13. Activation tables: integers/int_table.cpp, in numbers of 26 and 30 bits of fraction. What it computes is the rule.
// I14. Rotary embedding: a' and b' are both elements of a pair without their zero point, c and s numbers of the table;
//     a = clamp(zero point + ((a' * c - b' * s + 2^13) >> 14)), b = clamp(zero point + ((a' * s + b' * c + 2^13) >> 14)).
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
// Coefficients were searched for the smallest error in f32 over every float in [-64, 0]: 0.81 ulp, no-fma 1.09.
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
constexpr float tanh_least = 0x1p-12f;  // tanh(x) is x to a third of 2^-24 below

// exp(-g) on |g| <= 0.36, minimax within 5e-9; the first two coefficients are 1 and -1. ln 2 in two parts: products of
// the first with integers below 2^9 are exact.
constexpr float exp_c2 = 0x1.fffff6p-2f;
constexpr float exp_c3 = -0x1.55546cp-3f;
constexpr float exp_c4 = 0x1.555c82p-5f;
constexpr float exp_c5 = -0x1.125418p-7f;
constexpr float exp_c6 = 0x1.681ff6p-10f;
constexpr float ln2_high = 0x1.62e4p-1f;
constexpr float ln2_low = 0x1.7f7d1cp-20f;
// The bits of 1 / d are nearly a constant minus those of d. Of a negative d, so that -d need not be made: its sign
// goes.
constexpr uint32_t inverse_bits = 0xfef31000;

// Below these the results are tiny (silu 2^-119.0, gelu_tanh 2^-122.3, gelu 2^-121.4) and made +0, before an
// intermediate result is subnormal: from -9.996 on the first guess of 1 / d is. So units that flush subnormals agree.
// That is so in both arithmetics, since NO_FMA has the unit of rule 18: r is at least 2^-126, what it is multiplied by is
// at least 2^-24 or 0, and from r = 2^-102 down their product would be subnormal. heed_activation_sweep checks every float
// in both arithmetics, with flushing and without.
constexpr float sigmoid_unit = 0x1p-32f;
constexpr float silu_least = -87.0f;
constexpr float sigmoid_least = -80.0f;  // so that products with other numbers do not become subnormal at once
constexpr float gelu_tanh_least = -9.99f;
constexpr float gelu_least = -12.9f;
constexpr float gelu_linear = 1.5957691f;   // 2 sqrt(2 / pi)
constexpr float gelu_cubic = 0.071354814f;  // that * 0.044715
// exp(z^2 / 2) * Phi(z) = P(z) / Q(z) on [-12.9, 0], minimax within 8.5e-9 with coefficients rounded to f32. All terms
// have one sign there: nothing cancels. Q is negative, for rule 18.
constexpr float gelu_p[5] = {0.5f, -0x1.bd2ac2p-2f, 0x1.71de42p-3f, -0x1.459804p-5f, 0x1.052176p-8f};
constexpr float gelu_q[6] = {-1.0f, 0x1.aad79p+0f, -0x1.310968p+0f, 0x1.d99d04p-2f, -0x1.981a5ap-4f, 0x1.47461ap-7f};
constexpr float gelu_grid = 49152.0f;  // 1.5 * 2^15: adding it rounds to multiples of 2^-8

// sin and cos of z * pi / 4, |z| <= 1, minimax within 6e-9 and 5e-10: z (s1 + s3 z^2 + ...), 1 + c2 z^2 + ...
constexpr float sin_c1 = 0x1.921fb4p-1f;
constexpr float sin_c3 = -0x1.4abb7cp-4f;
constexpr float sin_c5 = 0x1.4650e6p-9f;
constexpr float sin_c7 = -0x1.2bbf4ap-15f;
constexpr float cos_c2 = -0x1.3bd3ccp-2f;
constexpr float cos_c4 = 0x1.03c1b6p-6f;
constexpr float cos_c6 = -0x1.55b684p-12f;
constexpr float cos_c8 = 0x1.d61e28p-19f;

constexpr float least_finite = -0x1.fffffep+127f;

// 1/sqrt(dim), the root and the quotient each correctly rounded.
float default_scale(int32_t dim);

}  // namespace heed

#endif
