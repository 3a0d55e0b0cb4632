// y = bias + x w with packed weights, or with blocks of scales (rules 22 and 24), in the ways of ways.hpp.
#ifndef HEED_GENERIC_PACKED_HPP
#define HEED_GENERIC_PACKED_HPP

#include "compact_packed.hpp"
#include "linear.hpp"
#include "../../no_vectors/one_lane_packed.hpp"
#include "packed_plain.hpp"
#include "packed_pieces.hpp"

namespace heed {

// Registers of outputs in a tile of the direct way.
template <class V, int ROWS>
constexpr int word_vecs = ROWS <= 2 || (many_registers<V> && ROWS <= 4) ? 4 : 2;

template <class V, int ROWS>
HEED_INLINE void add_words_of(const linear_block &b, const word_piece &w) {
  constexpr int vecs = word_vecs<V, ROWS>;
  switch (w.kind) {
    case word_kind::scaled:
      return add_words<V, word_kind::scaled, ROWS, vecs>(b, w);
    case word_kind::shifted:
      return add_words<V, word_kind::shifted, ROWS, vecs>(b, w);
    case word_kind::bytes:
      return add_words<V, word_kind::bytes, ROWS, vecs>(b, w);
    default:
      return add_words<V, word_kind::nibbles, ROWS, vecs>(b, w);
  }
}

// All columns of ROWS rows.
template <class V, int ROWS>
static HEED_NOINLINE void add_direct_rows(linear_block b, word_piece w) {
  constexpr int32_t width = word_vecs<V, ROWS> * V::lanes;
  const bool scaled = !in_blocks(w.kind);
  for (int32_t left = b.n_cols; left > 0; left -= b.n_cols, b.y += b.n_cols) {
    const int32_t beyond = left - width;  // of these no tile has less than a register
    b.n_cols = beyond <= 0 ? left : width;
    if (beyond > 0 && beyond < V::lanes) b.n_cols = width - V::lanes;
    add_words_of<V, ROWS>(b, w);
    w.words += 4 * b.n_cols;
    w.scales += (scaled ? 4 : 2) * b.n_cols;
    if (w.kind == word_kind::shifted) w.zeros += 4 * b.n_cols;
  }
}

// At least a register of columns, and whole words or blocks. Several rows take turns on what fits the first-level cache.
template <class V>
static HEED_NOINLINE void add_direct(const linear_block &of, const word_piece &words) {
  const int32_t run = of.n_rows > 1 ? 256 : of.depth;
  linear_block b = of;
  word_piece w = words;
  for (int32_t begin = 0; begin < of.depth; begin += run) {
    b.depth = smaller_of(of.depth - begin, run);
    for (int32_t row = 0, rows; row < of.n_rows; row += rows) {
      rows = rows_of_next_tile(of.n_rows - row, many_registers<V>);
      b.x = of.x + row * of.x_stride + begin;
      b.y = of.y + row * of.y_stride;
      for_each_constant<most_rows_of_tile>([&](auto before) {
        constexpr int tile_rows = decltype(before)::value + 1;
        if (rows == tile_rows) add_direct_rows<V, tile_rows>(b, w);
      });
    }
    w.words += in_blocks(w.kind) ? run / block_inputs * w.block_stride : run / 4 * w.word_stride;
    if (in_blocks(w.kind)) w.scales += run / block_inputs * w.block_stride;
  }
}

// Many rows, or inputs from `begin` on that are no whole word, by pieces of floats: int8.
template <class V>
static HEED_NOINLINE void add_widened(const linear_block &b, const word_piece &w, int32_t begin) {
  // Half a KB less than other copies where those are large: this one lies deepest on the stack.
  constexpr int32_t width = piece_width<V>, floats = V::copies_panels ? 1408 : copy_floats<V>,
                    depth = floats / width / 4 * 4;
  alignas(4 * V::lanes) float copy[depth * width];
  for (; begin < b.depth; begin += depth) {
    const int32_t end = end_of_block(begin, depth, b.depth);
    for (int32_t first = 0; first < b.n_cols; first += width) {
      const int32_t n = smaller_of(b.n_cols - first, width);
      word_piece part = w;
      part.words += 4 * first;
      const auto *const scales = reinterpret_cast<const float *>(w.scales) + first;
      if (w.kind == word_kind::shifted) {
        part.zeros += 4 * first;
        widen_words<V, word_kind::shifted>(copy, width, part, scales, n, begin, end);
      } else {
        widen_words<V, word_kind::bytes>(copy, width, part, scales, n, begin, end);
      }
      sum_whole<V>(operands_with(b, copy, width, first, begin, end), chain::keep, b.n_rows, n);
    }
  }
}

// Blocks from input `begin` on, whole ones but for the last.
template <class V>
static HEED_NOINLINE void add_blocks(linear_block b, word_piece w, int32_t begin) {
  const int32_t depth = b.depth, blocks = begin / block_inputs;
  b.x += begin;
  w.words += blocks * w.block_stride;
  w.scales += blocks * w.block_stride;
  for (; begin < depth; begin += block_inputs, b.x += block_inputs) {
    b.depth = smaller_of(depth - begin, block_inputs);
    add_widened_block<V>(b, w);
    w.words += w.block_stride;
    w.scales += w.block_stride;
  }
}

// The direct way, for whole words or blocks alone. Returns where they end.
template <class V>
static int32_t add_whole_words(linear_block b, const word_piece &w) {
  const int32_t at_once = in_blocks(w.kind) ? block_inputs : 4;
  b.depth -= b.depth % at_once;
  if constexpr (V::loads_narrow)
    if (b.depth > 0) add_direct<V>(b, w);
  return b.depth;
}

// Blocks as they lie in a file, whole registers of columns from `column` on.
template <class V>
static HEED_NOINLINE void add_file_blocks(linear_block b, const any_words &w, int32_t column) {
  const bool nibbles = w.dtype == stored_q4_0;
  constexpr int32_t most = spread_outputs<V>;
  alignas(4 * V::lanes) unsigned char words[block_inputs * most];
  alignas(4 * V::lanes) unsigned char scales[2 * most];
  const packed_way how = choose_packed_way<V>(b.n_rows, w.dtype, false);  // of a block that has become words
  // Some outputs at a time for all inputs: their rows are read on, instead of a page of memory for each block.
  const linear_block all = b;
  for (int32_t first = 0; first < all.n_cols; first += most, b.y += most) {
    b.n_cols = smaller_of(all.n_cols - first, most);
    const int32_t left = w.n_out - column - first, there = smaller_of(b.n_cols, left);
    const unsigned char *from = w.data + (column + first) * w.stride;
    b.x = all.x;
    for (int32_t begin = 0; begin < all.depth;
         begin += block_inputs, b.x += block_inputs, from += block_bytes_of(w.dtype)) {
      b.depth = smaller_of(all.depth - begin, block_inputs);
      if (nibbles)
        transpose_block<V, true>(words, scales, from, w.stride, there);
      else
        transpose_block<V, false>(words, scales, from, w.stride, there);
      const word_piece block = {words, scales, 4 * most, 0, word_kind::bytes, nibbles, nullptr};
      const int32_t done = how == packed_way::direct ? add_whole_words<V>(b, block) : 0;
      add_blocks<V>(b, block, done);
    }
  }
}

// Words of a panel from `column` on.
HEED_INLINE word_piece words_of_panel(const any_words &w, int32_t column) {
  const bool nibbles = w.dtype == stored_q4_0;
  const ptrdiff_t row = 4 * w.stride, of_block = block_bytes_of(w.dtype);
  const word_kind kind = nibbles ? word_kind::nibbles : word_kind::bytes;
  if (w.dtype == stored_int8)
    return {w.data + row + 4 * column, w.data + 4 * column, row, 0, word_kind::scaled, false, nullptr};
  if (w.dtype == stored_uint8)
    return {w.data + 2 * row + 4 * column, w.data + 4 * column, row, 0, word_kind::shifted, false,
            w.data + row + 4 * column};
  return {w.data + row / 2 + 4 * column, w.data + 2 * column, row, of_block * w.stride, kind, false, nullptr};
}

// y += x w for whole registers of columns, from `column` on, and inputs from `begin` on.
template <class V>
static HEED_NOINLINE void add_columns(packed_way how, const linear_block &b, const any_words &w, int32_t column,
                                      int32_t begin) {
  if (how == packed_way::file_blocks) return add_file_blocks<V>(b, w, column);
  const word_piece words = words_of_panel(w, column);
  if (how == packed_way::direct && begin == 0) begin = add_whole_words<V>(b, words);
  if (begin == b.depth) return;
  if (has_output_scales(w.dtype))
    add_widened<V>(b, words, begin);
  else
    add_blocks<V>(b, words, begin);
}

// Rows of y from a bias (stride 0), or +0; or from others. A loop would become loads of nothing under a mask from null, at
// which QEMU stops.
[[maybe_unused]] static HEED_NOINLINE void copy_rows(const linear_block &b, const float *from, ptrdiff_t stride) {
  const size_t bytes = static_cast<size_t>(b.n_cols) * sizeof *from;
  for (int32_t r = 0; r < b.n_rows; r++) {
    if (from)
      __builtin_memcpy(b.y + r * b.y_stride, from + r * stride, bytes);
    else
      __builtin_memset(b.y + r * b.y_stride, 0, bytes);
  }
}

// The direct way takes all columns at once. In others the last register may have outputs that y does not: then it lies on
// the stack.
template <class V>
static HEED_NOINLINE void multiply_words(packed_way how, const linear_block &b, const any_words &w) {
  constexpr int32_t most_rows = 4, lanes = V::lanes == 1 ? panel_cols : V::lanes;
  int32_t done = 0;
  const auto add = [&](const linear_block &of, int32_t column) {
    if constexpr (V::lanes == 1)
      add_blocks_one_lane<V>(of, w, column);
    else if constexpr (takes_words_apart<V>)
      compact_whole<V>(of, w, column);
    else
      add_columns<V>(how, of, w, column, done);
  };
  copy_rows(b, b.bias, 0);
  if constexpr (V::lanes > 1 && !takes_words_apart<V>)
    if (how == packed_way::direct && b.n_cols >= lanes) done = add_whole_words<V>(b, words_of_panel(w, 0));
  if (done > 0 && done == b.depth) return;
  linear_block part = b;
  part.n_cols = b.n_cols / lanes * lanes;
  const int32_t first = part.n_cols;
  if (first > 0) add(part, 0);
  if (first == b.n_cols) return;
  float sums[most_rows * lanes], start[lanes] = {};
  linear_block y = b;  // what there is of those outputs
  y.n_cols = b.n_cols - first;
  part.n_cols = lanes;
  part.y_stride = lanes;
  part.bias = start;
  for (int32_t row = 0; row < b.n_rows; row += most_rows) {
    y.n_rows = part.n_rows = smaller_of(b.n_rows - row, most_rows);
    y.y = b.y + row * b.y_stride + first;
    part.x = b.x + row * b.x_stride;
    part.y = sums;
    linear_block copy = y;
    copy.y = sums;
    copy.y_stride = lanes;
    copy_rows(copy, y.y, b.y_stride);
    __builtin_memcpy(start, sums, sizeof start);  // all rows are the same still
    add(part, first);
    copy_rows(y, sums, lanes);
  }
}

template <class V>
static void multiply_panel(const linear_block &b, const packed_panel &w) {
  if constexpr (big_endian) {
    multiply_panel_plain<V>(b, w);
  } else {
    const any_words words = {w.data, w.dtype, false, w.width, b.n_cols};
    if constexpr (V::lanes == 1)
      if (has_output_scales(w.dtype)) return multiply_int8_one_lane<V>(b, w);
    if constexpr (takes_words_apart<V>)
      if (has_output_scales(w.dtype) && b.n_cols >= V::lanes) return compact_int8<V>(b, words);
    multiply_words<V>(choose_packed_way<V>(b.n_rows, w.dtype, false), b, words);
  }
}

template <class V>
static void multiply_blocks(const linear_block &b, const stored_weights &w) {
  if constexpr (big_endian) {
    multiply_blocks_plain<V>(b, w);
  } else {
    const ptrdiff_t stride = w.stride / block_inputs * block_bytes_of(w.dtype);
    const any_words words = {static_cast<const unsigned char *>(w.data), w.dtype, true, stride, b.n_cols};
    multiply_words<V>(choose_packed_way<V>(b.n_rows, w.dtype, true), b, words);
  }
}

}  // namespace heed

#endif
