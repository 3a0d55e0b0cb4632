// How a product reads its weights. choose_way(), choose_typed_way() and choose_packed_way() are the only places that compare
// sizes, and every threshold stands here. Each way is one loop, in the file beside it. Thresholds were measured on an AMD
// Zen 4; where another machine has a say, it is named.
#ifndef HEED_WAYS_HPP
#define HEED_WAYS_HPP

#include "../../kernel_contract/packed_layout.hpp"
#include "weights_of.hpp"

namespace heed {

// Of plain weights.
enum class way {
  narrow,         // linear.hpp, project.hpp: fewer columns than a register
  small_row,      // one_row.hpp: one row, weights in the second-level cache: all of depth in registers
  one_row,        // one_row.hpp: one row, larger weights: they are streamed in their own order
  byte_row,       // byte_row.hpp: one row, bytes with zero points
  outputs,        // outputs.hpp: few rows, rows of w are outputs: transposed in registers
  strips,         // strips.hpp: few rows: weights are streamed once for all of them
  contiguous,     // panels.hpp: rows of w lie one after another, as in a panel of packed weights
  copied_panels,  // panels.hpp: many rows of numbers that need conversion, or panels that would collide in a cache
  panels,         // panels.hpp: many rows: panels of w stay in the second-level cache
};

// Of packed weights, and of blocks of 32 inputs with a scale.
enum class packed_way {
  plain,           // packed_plain.hpp: number by number: the processor's byte order is not that of the weights
  one_lane,        // one_lane_packed.hpp: the processor has no vectors
  compact,         // compact_packed.hpp: microcontrollers with vectors: two rows at a time, for any number of rows
  file_blocks,     // packed_product.hpp: blocks as they lie in a file become words; these go one of the ways below
  direct,          // packed_words.hpp: blocks, and few rows of int8 and uint8: words become floats in registers
  widened,         // packed_product.hpp: many rows of int8 and uint8: pieces become floats on the stack
  widened_blocks,  // packed_pieces.hpp: where registers load no narrow numbers, a block at a time does
};

// Of the weights, if they were floats. Their rows lie w.stride apart: a linear_block has a stride of plain floats alone.
template <class T>
HEED_INLINE float bytes_of_floats(const linear_block &b, const weights_of<T> &w) {
  return 4.0f * static_cast<float>(b.depth) * static_cast<float>(w.stride);
}

// ---- one row

// Columns may be read one panel after another if one panel has all of them, or if weights are in the second-level cache.
template <class V, class T>
HEED_INLINE bool is_small_row(const linear_block &b, const weights_of<T> &w) {
  constexpr int64_t most_bytes = 256 * 1024;
  if (V::compact || b.n_rows != 1) return false;
  if (b.n_cols <= 8 * V::lanes) return true;
  return w.stride <= most_bytes && static_cast<int64_t>(b.depth) * w.stride * static_cast<int>(sizeof(T)) <= most_bytes;
}

// ---- few rows

// Rows of w that lie a multiple of 2 KB apart share a few sets of the first-level cache if a panel is one cache line wide:
// 57 % of the peak instead of 89.
template <class V>
HEED_INLINE bool panels_collide(const weights_of<float> &w) {
  return V::copies_panels && V::sum_vecs * V::lanes <= 16 && w.stride % 512 == 0;
}

// Strips repay for few rows of floats where w is not in the second-level cache. From memory they take half the time of
// panels; from a third-level cache panels of more than 12 rows are faster with 16 lanes (Zen 5, 16 rows of 768 x 3072: 0.7
// times). With 8 lanes strips of 17 to 32 rows take 0.6 to 0.8 times (1600 x 3136, 2048 x 2176), unless panels are copied.
// What no cache holds keeps to strips up to 24 rows (17 rows of 4096 x 4096: 0.73 times, Zen 5; 0.45, Sapphire Rapids).
template <class V>
HEED_INLINE bool repays_strips(const linear_block &b, const weights_of<float> &w) {
  constexpr int32_t rows_in_cache = V::lanes == 16 ? 12 : 16;
  const int32_t rows_from_memory = V::lanes == 8 && !panels_collide<V>(w) ? 32 : 16;
  if (b.n_rows <= 8) return bytes_of_floats(b, w) > 0x1p18f;
  if (b.n_rows <= rows_in_cache) return bytes_of_floats(b, w) > 0x1p20f;
  if (b.n_rows <= rows_from_memory) return bytes_of_floats(b, w) > 0x1p24f;
  return V::lanes == 16 && b.n_rows <= 24 && bytes_of_floats(b, w) > 0x1p25f;
}
// Strips convert numbers of fewer bits for each tile of rows. Of bytes with a scale a copy costs less from 24 rows on, or
// 36 with 32 registers. f16 and bf16 take one instruction each, and a copy only repays with 16 registers and many rows, from
// memory (Zen 4, AVX2, 128 rows: 4096 x 4100 0.78 times, 4096 x 4096 0.96, 3000 x 3000 0.99; 64 rows: 0.82, 1.0, 1.07).
template <class V, class T>
HEED_INLINE bool repays_typed_strips(const linear_block &b, const weights_of<T> &w) {
  if (sizeof(T) == 1) return b.n_rows <= (many_registers<V> ? 36 : 24);
  return many_registers<V> || b.n_rows < 96 || bytes_of_floats(b, w) <= 0x1p25f;
}

// The depth of a strip of floats: y is read and written once for each strip, so strips of many rows are deep. Two rows wait
// for w above all, and so do more from memory: w then comes faster if fewer of its rows are abreast.
template <class V, class T>
HEED_INLINE int32_t depth_of_floats(const linear_block &b, const weights_of<T> &w) {
  if (many_registers<V> && b.n_rows > 4) return 32;
  constexpr int32_t most_rows = many_registers<V> ? 4 : 5;
  const float from_memory = b.n_rows == 2 ? 0x1p18f : 0x1p23f;
  return b.n_rows <= most_rows && bytes_of_floats(b, w) > from_memory ? 8 : 16;
}
template <class V, class T>
HEED_INLINE int32_t depth_of_strips(const linear_block &b, const weights_of<T> &w) {
  constexpr bool floats = sizeof(T) == sizeof(float);
  const bool contiguous = V::lanes == 16 && w.stride <= 64;  // as many as fit
  if (contiguous && !(floats && b.n_rows == 2)) return 256;
  return floats ? depth_of_floats<V>(b, w) : 32;
}

// How often rows behind are prefetched again. A processor that is busy with memory seems to drop prefetches (Zen 4), and
// then waits: 4096 x 4096 floats take three quarters of the time if they are prefetched three times. From the last cache
// that takes up to a quarter longer. So two times are for what is beyond the second-level cache, three for what is beyond
// most caches.
template <class T>
HEED_INLINE int32_t times_again(const linear_block &b, const weights_of<T> &w) {
  if (bytes_of_floats(b, w) > 0x1p24f) return 2;
  return bytes_of_floats(b, w) > 0x1p21f && b.n_rows > 2 ? 1 : 0;
}

// Whether a strip has a tile of 5 rows. Zero points leave no registers for it where there are 16.
template <class V, class T>
constexpr bool strips_of_five = takes_five<V> && (many_registers<V> || !has_zero_point(T()));

// Registers of outputs abreast for one row where rows of w are outputs: with two, none waits for the other's chain. With 16
// lanes a step has other work enough (int8 alone would gain 7 %).
template <class V>
constexpr int outputs_vecs = V::lanes == 16 ? 1 : 2;
// Two to four rows are transposed in registers only where there are registers for them: with 16 a copy costs no more, nor
// with 32 for five rows, which would be transposed twice (1.1 to 1.6 times, Zen 5 and Sapphire Rapids).
template <class V>
HEED_INLINE bool are_few_outputs(const linear_block &b) {
  if (b.n_rows == 1 && b.n_cols >= outputs_vecs<V> * V::lanes) return true;
  return V::lanes == 16 && b.n_rows <= 4;
}

// ---- many rows

// Rows of w are contiguous up to this stride: packed weights have panels of 64 columns.
constexpr int32_t contiguous_stride = 64, contiguous_rows = 4;
// Few rows of a small panel repay that where panels of columns read it a cache line at a time, which from memory takes 2 to
// 3 times as long.
template <class V>
HEED_INLINE bool is_group_of_contiguous(const linear_block &b) {
  return V::sum_vecs * V::lanes == 16 && b.n_rows > 1 && b.n_rows <= contiguous_rows;
}

// Panels one cache line wide are copied for many rows if they collide, and if their rows come from memory, each from a page
// of its own (Zen 5, AVX2 and SSE2, 17 to 25 rows of 4096 x 4096: 0.6 times; 33 of 1600 x 3136: 0.9).
template <class V>
HEED_INLINE bool repays_copies(const linear_block &b, const weights_of<float> &w) {
  if (!V::copies_panels || V::sum_vecs * V::lanes > 16) return false;
  return bytes_of_floats(b, w) > 0x1p23f ? b.n_rows > 16 : panels_collide<V>(w) && b.n_rows >= 32;
}
constexpr int32_t least_rows_of_colliding_panels = 12;

// How many rows of w a panel has. Where they lie a multiple of 4 KB apart they share a few sets of the second-level cache,
// and so they are fewer. 512 x 768 x 3072, Sapphire Rapids: 0.7 times with 192 rows; Zen 5: 1.05 times with 192, 1.0 with 256.
template <class V>
HEED_INLINE int32_t depth_of_panels(const linear_block &b, const weights_of<float> &w) {
  const bool few_sets = w.stride % 1024 == 0 && bytes_of_floats(b, w) > 0x1p20f;
  return many_registers<V> && few_sets ? 256 : 384;
}
// Rows of y lie likewise. So many at a time that they stay there from one panel of depth to the next (packed floats,
// 512 x 768 x 3072: 0.86 times on a Sapphire Rapids).
template <class V>
HEED_INLINE int32_t rows_of_panels(const linear_block &b) {
  return V::compact || b.n_rows < 288 ? b.n_rows : 192;
}

// A copy of pieces of w for all rows to use has 6 KB (4 KB would be a sixth slower), where that much stack is at hand.
template <class V>
constexpr int32_t floats_of_copy() {
  if (V::copies_panels) return 1536;
  return V::compact ? 96 : 128;
}
template <class V>
constexpr int32_t width_of_copy() {
  if (!V::copies_panels) return V::sum_vecs * V::lanes;
  return V::lanes == 16 ? 32 : 16;
}
template <class V>
constexpr int32_t copy_floats = floats_of_copy<V>();
template <class V>
constexpr int32_t copy_width = width_of_copy<V>();

// ---- the choice

// Floats whose rows are inputs.
template <class V>
HEED_INLINE way choose_way(const linear_block &b, const weights_of<float> &w) {
  if (b.n_cols < V::lanes) return way::narrow;
  if (is_small_row<V>(b, w)) return way::small_row;

  const bool large = repays_strips<V>(b, w);
  if (!large && repays_copies<V>(b, w)) return way::copied_panels;
  if (V::compact) return way::panels;  // small code has one way

  const bool contiguous = w.stride <= contiguous_stride;
  constexpr int32_t most_strips = V::lanes == 16 ? 6 : 2;
  if (contiguous && large && b.n_rows > most_strips) return way::contiguous;
  if (contiguous && !large && is_group_of_contiguous<V>(b)) return way::contiguous;
  if (b.n_rows == 1) return way::one_row;
  if (large) return way::strips;
  // Two rows of small weights take three quarters of the time of panels, unless there are 32 registers.
  if (b.n_rows == 2 && !contiguous && !many_registers<V>) return way::strips;
  if (panels_collide<V>(w) && b.n_rows < least_rows_of_colliding_panels) return way::strips;
  return way::panels;
}

// Numbers of any dtype, at least a register of columns. Floats are those whose rows are outputs.
template <class V, class T>
HEED_INLINE way choose_typed_way(const linear_block &b, const weights_of<T> &w, bool out_in) {
  constexpr bool floats = sizeof(T) == sizeof(float), shifted = has_zero_point(T());
  const bool in_registers = V::loads_narrow && !floats;
  if (in_registers && !shifted && !out_in && is_small_row<V>(b, w)) return way::small_row;
  if (out_in && (V::loads_narrow || floats) && are_few_outputs<V>(b)) return way::outputs;
  if (out_in || !in_registers) return way::copied_panels;
  if (b.n_rows == 1 && !shifted) return way::one_row;
  if (b.n_rows == 1 && b.n_cols >= 4 * V::lanes) return way::byte_row;
  return repays_typed_strips<V>(b, w) ? way::strips : way::copied_panels;
}

// ---- packed weights

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
constexpr bool big_endian = true;
#else
constexpr bool big_endian = false;
#endif

template <class V>
constexpr bool takes_words_apart = V::compact &&V::loads_narrow;

// Rows up to which each tile unpacks for itself; more share numbers that have become floats. int8 and uint8 are multiplied
// by their scale as well, Q4_0 is shifted once more, and registers of four lanes share each number with few outputs (NEON,
// by counted instructions: int8 0.79 times with 6 rows, 1.4 with 8; Q8_0 0.80 with 8, 1.01 with 24). Zen 5, 512 x 1376: with
// AVX-512 blocks take 0.7 to 0.83 times with any number of rows, int8 1.0 with 32; with AVX2 int8 1.0 with 12.
template <class V>
HEED_INLINE int32_t most_direct_rows(int32_t dtype) {
  constexpr int32_t any = 1 << 30;
  if (V::lanes == 4) return dtype == stored_q8_0 ? 16 : 6;
  if (many_registers<V>) return has_output_scales(dtype) ? 32 : any;
  return has_output_scales(dtype) ? 12 : any;
}

// What a direct way leaves, inputs that are no whole word or block, goes the way of many rows.
template <class V>
HEED_INLINE packed_way choose_packed_way(int32_t n_rows, int32_t dtype, bool of_file) {
  if (big_endian) return packed_way::plain;
  if (V::lanes == 1) return packed_way::one_lane;
  if (takes_words_apart<V>) return packed_way::compact;
  if (of_file) return packed_way::file_blocks;
  if (V::loads_narrow && n_rows <= most_direct_rows<V>(dtype)) return packed_way::direct;
  return has_output_scales(dtype) ? packed_way::widened : packed_way::widened_blocks;
}

}  // namespace heed

#endif
