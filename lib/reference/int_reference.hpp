// Attention in integers in plain loops: the truth, for one head of one batch entry. arithmetic.hpp numbers the rules.
#ifndef HEED_INT_REFERENCE_HPP
#define HEED_INT_REFERENCE_HPP

#include "../kernel_contract/integers.hpp"

namespace heed {

struct int_head {
  const int8_t *q, *k, *v;
  ptrdiff_t q_stride, k_stride, v_stride;
  int32_t n_kv, head_dim, v_dim;
  int32_t q_zero, k_zero, v_zero, out_zero;
};

// Row i of the queries. sees(j): does it see key j? sink: null, or one. out: v_dim numbers, not yet clamped to int8 or
// int16. dots: memory for n_kv numbers. Returns what the log-sum-exp is made of: the sum L and the octave of its unit;
// L = 0 if the row sees nothing.
struct int_row_sum {
  uint64_t l;
  int64_t octave;
};
template <class Sees>
int_row_sum int_reference_row(const int_head &h, int32_t i, const Sees &sees, multiplier score, multiplier value,
                              const int32_t *sink, int32_t least, int32_t most, int32_t *dots, int32_t *out) {
  const int8_t *q = h.q + i * h.q_stride;
  for (int32_t j = 0; j < h.n_kv; j++) {  // I1
    dots[j] = 0;
    for (int32_t d = 0; d < h.head_dim; d++) dots[j] += (q[d] - h.q_zero) * (h.k[j * h.k_stride + d] - h.k_zero);
  }
  const auto block = [&](int32_t begin, int32_t &max) {  // I2, I3: does the row see any key of it?
    bool any = false;
    for (int32_t j = begin; j < begin + int_block && j < h.n_kv; j++)
      if (sees(j)) max = !any || dots[j] > max ? dots[j] : max, any = true;
    return any;
  };
  const auto bin_of = [](int32_t r) { return (r - (r % int_bin + int_bin) % int_bin) / int_bin; };
  int32_t g = int_no_bin, max = 0;  // I7: the greatest bin of all
  if (sink) g = bin_of(octave_above(*sink).r);
  for (int32_t b = 0; b < h.n_kv; b += int_block)
    if (block(b, max) && bin_of(octave_above(scaled_score(max, score)).r) > g)
      g = bin_of(octave_above(scaled_score(max, score)).r);
  const auto total = [&](int32_t column, bool with_sink) {  // I6 to I8: of p * v, or of p where column is -1
    int64_t bins[2] = {0, 0};                               // low, top
    if (with_sink && sink && g - bin_of(octave_above(*sink).r) < 2) {
      const octave at = octave_above(*sink);
      bins[1 - (g - bin_of(at.r))] += static_cast<int64_t>(int_power(at.offset)) << (at.r - bin_of(at.r) * int_bin);
    }
    for (int32_t b = 0; b < h.n_kv; b += int_block) {
      if (!block(b, max)) continue;
      const octave at = octave_above(scaled_score(max, score));
      if (g - bin_of(at.r) > 1) continue;
      int64_t sum = 0;
      for (int32_t j = b; j < b + int_block && j < h.n_kv; j++)
        if (sees(j)) {
          const int64_t value = column < 0 ? 1 : h.v[j * h.v_stride + column];
          sum += value * int_probability(static_cast<uint32_t>(max - dots[j]), distance_of(score), at.offset);
        }
      bins[1 - (g - bin_of(at.r))] += sum * (int64_t{1} << (at.r - bin_of(at.r) * int_bin));
    }
    return bins[1] + (bins[0] >> int_bin);
  };
  const auto l = static_cast<uint64_t>(total(-1, true)), of_keys = static_cast<uint64_t>(total(-1, false));
  for (int32_t n = 0; n < h.v_dim; n++) out[n] = h.out_zero;
  if (l == 0) return {0, 0};
  const int_finish f = finish_of(l, of_keys, value, h.v_zero);
  for (int32_t n = 0; n < h.v_dim; n++)
    out[n] = int_finished(static_cast<int32_t>(total(n, false) >> f.down), f, h.out_zero, least, most);
  return {l, int64_t{g} * int_bin};
}

}  // namespace heed

#endif
