// y = bias + x w with packed int8, Q8_0 and Q4_0, and with blocks as they lie in a file, on processors without vectors.
// Some outputs at a time, for all rows: what they have in common (scales, nibbles that become bytes, numbers that become
// floats) is made once. A model's own tile takes words as they lie.
#ifndef HEED_GENERIC_ONE_LANE_PACKED_HPP
#define HEED_GENERIC_ONE_LANE_PACKED_HPP

#include "one_lane_project.hpp"
#include "../vector/product/packed_words.hpp"

namespace heed {

constexpr int32_t n_block_words = block_inputs / 4 * panel_cols;

// A block of words of `panel_cols` outputs, side by side, from words whose steps are given in bytes; outputs beyond n repeat
// the last. Of nibbles, the low halves become one word, the high ones another.
struct block_of_words {
  const unsigned char *from;
  ptrdiff_t word_step, output_step;
  int32_t n;
  bool nibbles, of_file;
};
[[maybe_unused]] static HEED_NOINLINE void spread_block(uint32_t (&to)[n_block_words], const block_of_words &w) {
  // A nibble less 8, as int8: each byte is at most 15 + 0x78, so none carries into the next.
  const auto bytes = [](uint32_t halves) { return ((halves & 0x0f0f0f0f) + 0x78787878) ^ 0x80808080; };
  const int32_t high = w.of_file ? 4 * panel_cols : panel_cols;  // from the low halves of a word to the high ones
  const int32_t step = w.of_file ? panel_cols : 2 * panel_cols;
  const ptrdiff_t word_step = w.word_step;
  for (int32_t j = 0; j < panel_cols; j++) {
    const unsigned char *p = w.from + smaller_of(j, w.n - 1) * w.output_step;
    uint32_t *next = to + j, word;
    for (int32_t k = w.nibbles ? 4 : 8; k > 0; k--, p += word_step, next += step) {
      __builtin_memcpy(&word, p, sizeof word);
      if (w.nibbles) {
        next[high] = bytes(word >> 4);
        word = bytes(word);
      }
      *next = word;
    }
  }
}

// Words of some outputs, `stride` bytes from one to the next of the same output.
struct output_words {
  const unsigned char *data;
  ptrdiff_t stride;
};

// The block of outputs [column, + panel_cols) that begins at input `begin`, and its scales.
[[maybe_unused]] static HEED_NOINLINE output_words find_block(uint32_t (&spread)[n_block_words],
                                                              float (&scales)[panel_cols], const any_words &w,
                                                              int32_t begin, int32_t column) {
  const bool nibbles = w.dtype == stored_q4_0;
  const ptrdiff_t output_step = w.of_file ? w.stride : 2;
  const ptrdiff_t block_bytes = block_bytes_of(w.dtype);
  const ptrdiff_t block_stride = w.of_file ? block_bytes : block_bytes * w.stride;
  const unsigned char *p = w.data + begin / block_inputs * block_stride + column * output_step;
  const int32_t n = w.of_file ? smaller_of(w.n_out - column, panel_cols) : panel_cols;
  for (int32_t j = 0; j < panel_cols; j++) scales[j] = half_at(p + smaller_of(j, n - 1) * output_step);
  if (w.of_file) {
    spread_block(spread, {p + 2, 4, w.stride, n, nibbles, true});
  } else {
    p += 2 * (w.stride + column);
    if (!nibbles) return {p, 4 * w.stride};
    spread_block(spread, {p, 4 * w.stride, 4, n, true, false});
  }
  return {reinterpret_cast<const unsigned char *>(spread), 4 * panel_cols};
}

// ---- a model's own tile

// y += scales * (x w) of blocks, panel_cols outputs at a time for all rows.
template <class V>
static HEED_NOINLINE void add_block_tiles(const linear_block &b, const any_words &w, int32_t first) {
  const float zeros[4] = {};
  uint32_t spread[n_block_words];
  float scales[panel_cols];
  projection_tile t;
  t.start = zeros;
  t.scales = scales;
  t.y_stride = b.y_stride * 4;
  t.way = 2;
  for (int32_t column = 0; column < b.n_cols; column += panel_cols) {
    for (int32_t begin = 0; begin < b.depth; begin += block_inputs) {
      const output_words words = find_block(spread, scales, w, begin, first + column);
      t.w = words.data;
      t.w_stride = words.stride;
      t.depth = smaller_of(b.depth - begin, block_inputs);
      for (int32_t row = 0; row < b.n_rows; row += 4) {
        t.rows = smaller_of(b.n_rows - row, 4);
        for (int32_t i = 0; i < 4; i++) {
          if (begin == 0 || b.n_rows > 4)
            t.x[i] = b.x + (row + (smaller_of(i, t.rows - 1))) * b.x_stride + begin;
          else
            t.x[i] += block_inputs;
        }
        t.y = b.y + row * b.y_stride + column;
        V::project_words(t);
      }
    }
  }
}

// ---- pieces of floats

// Numbers of `depth` inputs as floats, rows of `panel_cols`.
[[maybe_unused]] static HEED_NOINLINE void floats_of_words(float *to, const output_words &w, int32_t depth) {
  for (int32_t j = 0; j < panel_cols; j++, to++) {
    const unsigned char *p = w.data + 4 * j;
    float *next = to;
    for (int32_t i = 1; i <= depth; i++, p++, next += panel_cols) {
      *next = static_cast<float>(static_cast<int8_t>(*p));
      if ((i & 3) == 0) p += w.stride - 4;
    }
  }
}

// y += scales * (x w) of one block and panel_cols outputs of all rows.
template <class V>
static HEED_NOINLINE void add_block_panel(linear_block b, const float *panel, const float *scales) {
  for (int32_t rows; b.n_rows > 0; b.n_rows -= rows, b.x += rows * b.x_stride, b.y += rows * b.y_stride) {
    rows = tile_height(b.n_rows, V::sum_rows);
    float sums[most_product_rows * panel_cols] = {};
    product p = {{}, panel, panel_cols, 1, sums, panel_cols, b.depth, panel_cols};
    for (int32_t i = 0; i < rows; i++) p.a[i] = b.x + i * b.x_stride;
    multiply<V, values_operand>(p, rows);
    for (int32_t i = 0; i < rows; i++) {
      for (int32_t j = 0; j < panel_cols; j++) {
        float &y = b.y[i * b.y_stride + j];
        y = V::fma(scales[j], sums[i * panel_cols + j], y);
      }
    }
  }
}

template <class V>
static HEED_NOINLINE void add_block_panels(const linear_block &of, const any_words &w, int32_t first) {
  uint32_t spread[n_block_words];
  float scales[panel_cols], panel[block_inputs * panel_cols];
  linear_block b = of;
  for (int32_t column = first; column < first + of.n_cols; column += panel_cols, b.y += panel_cols) {
    b.x = of.x;
    for (int32_t begin = 0; begin < of.depth; begin += block_inputs, b.x += block_inputs) {
      b.depth = smaller_of(of.depth - begin, block_inputs);
      floats_of_words(panel, find_block(spread, scales, w, begin, column), b.depth);
      add_block_panel<V>(b, panel, scales);
    }
  }
}

// ---- both

// y += x w of blocks from output `first` on, a multiple of panel_cols of them.
template <class V>
static void add_blocks_one_lane(const linear_block &b, const any_words &w, int32_t first) {
  if constexpr (V::own_tile)
    add_block_tiles<V>(b, w, first);
  else
    add_block_panels<V>(b, w, first);
}

// y = bias + x w with packed int8.
template <class V>
static void multiply_int8_one_lane(const linear_block &b, const packed_panel &p) {
  const unsigned char *const scales = p.data, *const behind = scales + 4 * p.width;
  const stored_weights w = {behind, reinterpret_cast<const float *>(scales), p.width, stored_int8, false};
  if (p.dtype == stored_uint8) {
    stored_weights bytes = w;
    bytes.zeros = behind;
    bytes.data = behind + 4 * p.width;
    return project_bytes_one_lane<V, true>(b, bytes);
  }
  if constexpr (!V::own_tile) {
    project_panels<V, true, int8_t>(b, w);
  } else if (b.n_cols >= 4) {
    project_tiles<V, true>(b, w);
  } else {
    linear_block row = b;
    for (int32_t r = 0; r < b.n_rows; r++, row.x += b.x_stride, row.y += b.y_stride)
      project_one_row<V, 1, true, int8_t>(row, w);
  }
}

}  // namespace heed

#endif
