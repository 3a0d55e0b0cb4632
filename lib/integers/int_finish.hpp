// From what a row has seen to its results.
#ifndef HEED_INT_FINISH_HPP
#define HEED_INT_FINISH_HPP

#include "int_streams.hpp"
#include "int_state.hpp"

namespace heed {
namespace {

// log2(l) in 2^-11 octaves, rounded: bits of the fraction by squares.
inline int32_t int_log2(uint64_t l) {
  const int32_t n = bit_length(l) - 1;
  uint32_t m = static_cast<uint32_t>(l << (63 - n) >> 32);
  int32_t result = n;
  for (int32_t i = 0; i < int_fraction + 1; i++) {
    const uint64_t square = static_cast<uint64_t>(m) * m;
    const uint32_t bit = static_cast<uint32_t>(square >> 63);
    m = static_cast<uint32_t>(square >> (31 + bit));
    result = 2 * result + static_cast<int32_t>(bit);
  }
  return (result + 1) >> 1;
}

// l counts in units of 2^(octave - 15).
HEED_NOINLINE inline void write_int_lse(const int_stream &s, const int_row &row, uint64_t l, int32_t octave) {
  int64_t lse = INT32_MIN;
  if (l != 0) {
    lse = (static_cast<int64_t>(octave) - 15) * (1 << int_fraction) + int_log2(l) + int_lse_bias;
    if (lse <= INT32_MIN) lse = INT32_MIN + 1;
    if (lse > INT32_MAX) lse = INT32_MAX;
  }
  s.call->lse[int_index_of(s, row)] = static_cast<int32_t>(lse);
}

// Results [from, from + n) of a row from its sums, which have lost f.down bits.
template <class K>
void write_out(K k, const int_stream &s, const int_row &row, const int_finish &f, const int32_t *sums, int32_t from,
               int32_t n) {
  const heed_int_tensor_out &out = s.call->out;
  const bool wide = out.dtype == HEED_INT16;
  const ptrdiff_t at = wide ? 2 * from : from;
  k->finish(sums, n, f, out.zero_point, wide, static_cast<char *>(int_out_of(s, row)) + at);
}

// Of a row that sees no key: a finish that makes the zero point of any sums.
HEED_NOINLINE inline int_finish finish_of_row(const int_stream &s, const int_row &row, uint64_t l, uint64_t of_keys) {
  if (l == 0) return {0, 0, 0, 62, 0};
  return finish_of(l, of_keys, int_value_of(*s.call, row), s.call->v.zero_point);
}

// A row all of whose keys lie in one block, from its sums.
template <class K>
void finish_block(K k, const int_stream &s, const int_row &row, int32_t r, int32_t l, const int32_t *sums) {
  const uint64_t all = static_cast<uint64_t>(l);
  write_out(k, s, row, finish_of_row(s, row, all, all), sums, 0, s.call->v_dim);
  if (s.call->lse) write_int_lse(s, row, all, r);
}

// A row from its state and its head's sink; `room` is for n_room sums. The state stays as it is.
template <class K>
HEED_NOINLINE void finish_state(K k, const int_stream &s, const int_row &row, const int_state &state, int32_t *room,
                                int32_t n_room) {
  const heed_int_attention &call = *s.call;
  int32_t bin = state.bin();
  int64_t top = *state.top_l(), low = *state.low_l(), sink = 0, low_sink = 0;
  uint32_t lost = 0;  // bins that the sink is above all others
  if (call.sinks) {
    const octave at = octave_above(call.sinks[row.head]);
    const int32_t of_sink = int_bin_of(at.r);
    const int64_t p = static_cast<int64_t>(int_power(at.offset)) << (at.r - of_sink * int_bin);
    if (of_sink > bin) {
      lost = static_cast<uint32_t>(of_sink) - static_cast<uint32_t>(bin);
      low = lost == 1 ? top : 0;
      top = 0;
      bin = of_sink;
    }
    if (of_sink == bin) sink = p;
    if (of_sink + 1 == bin) low_sink = p;
  }
  const uint64_t of_keys = static_cast<uint64_t>(top) + static_cast<uint64_t>(low >> int_bin),
                 l = static_cast<uint64_t>(top) + static_cast<uint64_t>(sink) +
                     static_cast<uint64_t>((low + low_sink) >> int_bin);
  const int_finish f = finish_of_row(s, row, l, of_keys);
  for (int32_t i = 0; i < call.v_dim; i += n_room) {
    const int32_t n = smaller_of(call.v_dim - i, n_room);
    if (lost == 0)
      k->join_bins(state.top() + i, state.low() + i, n, f.down, room);
    else
      for (int32_t j = 0; j < n; j++)
        room[j] = lost == 1 ? static_cast<int32_t>(state.top()[i + j] >> (int_bin + f.down)) : 0;
    write_out(k, s, row, f, room, i, n);
  }
  const int32_t greatest = l == 0 ? 0 : static_cast<int32_t>(static_cast<uint32_t>(bin) * int_bin);
  if (call.lse) write_int_lse(s, row, l, greatest);
}

}  // namespace
}  // namespace heed

#endif
