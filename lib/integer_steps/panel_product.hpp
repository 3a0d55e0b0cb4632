// Products in integers on processors with vectors (rules I10 and 25). Weights are words of four inputs of 64 outputs,
// as panels have them; others are transposed into such words on the stack, piece by piece. So one register tile serves all.
//
// V is a model of:
//   x_bytes                  of an input as `open` writes it
//   takes_zero_point         open subtracts it; else sum (x - zp) w = sum x w - zp * sum w
//   open(x, n, zp, inputs, to)        n inputs for the tile; up to `inputs`, a multiple of 64, zeros
//   term(x, n)                        what the tile lacks for a row as opened: added to all its sums
//   add(x, w, first, acc, acc_stride)                   acc = x w + terms, or += unless first
//   add_blocks(x, blocks, first, y, y_stride)           y = float(x w of a block + term) * scale, or +=, for each
//   add_weights(w, n, sums)           sums[o] += weight (i, o), i < n; if it does not take the zero point
//   transpose_weights(w, begin, n, n_cols, to)     weights as words of four
//   requantise(b, row, n_rows, acc, start)              I10 of acc + start
//   scale(b, w, scales)               y = (float(acc - zero point * sum of x) * s_x) * s_w + bias, or y * s_x + bias
//   magnitude(x, n), quantise(x, n, inverse, to)
//   sum(x, n)                         of n integers, a multiple of 64
#ifndef HEED_GENERIC_INT_PANEL_PRODUCT_HPP
#define HEED_GENERIC_INT_PANEL_PRODUCT_HPP

#include "large_rows.hpp"

namespace heed {

// Words of some inputs: those of output o and inputs [4 i, 4 i + 4) at data[i * step + 4 * o].
struct int_words {
  const unsigned char *data;
  ptrdiff_t step;
  int32_t n, width;  // words one after another; outputs, a multiple of 16
};

// Blocks of 32 inputs, `bytes` bytes apart. Nibbles: a word holds eight inputs.
struct int_blocks {
  int_words words;
  const unsigned char *scales;
  ptrdiff_t bytes;
  int32_t n;
  bool nibbles;
};

// Rows as they have been opened. Terms of a row are term_stride apart.
struct int_opened {
  const unsigned char *data;
  ptrdiff_t stride;
  const int32_t *terms;
  int32_t term_stride, n_rows;
};

// Rows that are taken together. Their inputs are opened piece by piece on the stack: 384 bytes of a row, where sums are
// there, too, 256; and of inputs 48 or 32, with weights beside them, where these are transposed. With eight registers tiles
// spill, and the stack has no room for 12 rows.
#ifdef __i386__
constexpr int32_t product_rows = 6;
#else
constexpr int32_t product_rows = 12;
#endif
// Of floats the last ones are not left alone: 13 rows would take 12 and one, which reads all weights for itself.
constexpr int32_t most_float_rows = product_rows + product_rows / 2 - 1;
HEED_INLINE int32_t next_float_rows(int32_t n_rows) { return n_rows <= most_float_rows ? n_rows : product_rows; }
constexpr int32_t transposed_row = 64;  // inputs
constexpr int32_t float_room = product_rows * 384, transposed_room = 48 * panel_outputs + product_rows * transposed_row;
template <class V>
constexpr int32_t whole_inputs = 256 / V::x_bytes;
template <class V>
constexpr int32_t transposed_inputs = V::x_bytes == 1 ? 48 : 32;

// ---------------------------------------------------------------------------------------------------------------- I10

// Up to product_rows rows, and a panel of outputs. The first rows leave in `start` what biases and the zero point add to
// all rows.
template <class V>
static HEED_NOINLINE void project_rows(const int_product &b, int32_t row, int32_t n_rows, int32_t *start) {
  static_assert(transposed_inputs<V> * panel_outputs + product_rows * transposed_row * V::x_bytes <= transposed_room,
                "they fit");
  alignas(64) unsigned char room[transposed_room];
  alignas(64) int32_t acc[product_rows * panel_outputs];
  int32_t terms[product_rows];
  const bool transposed = b.w.layout != int_layout::panel, is_first = row == 0,
             zero = is_first && !V::takes_zero_point && b.x_zero_point != 0;
  const int32_t inputs = transposed ? transposed_inputs<V> : whole_inputs<V>;
  const int32_t opened = transposed ? transposed_row : inputs;
  const int32_t x_stride = opened * V::x_bytes;
  for (int32_t begin = 0, depth; begin < b.depth; begin += depth) {
    const int32_t left = b.depth - begin;
    const bool lies = V::x_bytes == 1 && !transposed && left >= 4;  // bytes are as the tile wants them
    depth = lies ? left / 4 * 4 : smaller_of(left, inputs);
    const int8_t *const from = b.x + row * b.x_stride + begin;
    for (int32_t r = 0; r < n_rows; r++) {
      unsigned char *const to = room + r * x_stride;
      if (!lies) V::open(from + r * b.x_stride, depth, b.x_zero_point, opened, to);
      terms[r] =
          lies ? V::term(reinterpret_cast<const unsigned char *>(from) + r * b.x_stride, depth) : V::term(to, depth);
    }
    int_opened x = {room, x_stride, terms, 1, n_rows};
    if (lies) x.data = reinterpret_cast<const unsigned char *>(from), x.stride = b.x_stride;
    int_words w = {reinterpret_cast<const unsigned char *>(b.w.data) + begin / 4 * b.w.step, b.w.step, (depth + 3) / 4,
                   static_cast<int32_t>(b.w.step / 4)};
    if (transposed) {
      unsigned char *const to = room + product_rows * x_stride;
      w = {to, 4 * panel_outputs, w.n, rounded_up(b.n_cols, panel_step)};
      V::transpose_weights(b.w, begin, depth, b.n_cols, to);
    }
    V::add(x, w, begin == 0, acc, panel_outputs);
    if (zero) V::add_weights(w, depth, start);
  }
  for (int32_t n = 0; is_first && n < b.n_cols; n++) {
    const uint32_t bias = b.bias ? static_cast<uint32_t>(b.bias[n]) : 0;
    start[n] = static_cast<int32_t>(bias - static_cast<uint32_t>(start[n]) * static_cast<uint32_t>(b.x_zero_point));
  }
  V::requantise(b, row, n_rows, acc, start);
}

template <class V>
static void int_project_panels(const int_product &of) {
  int_product b = of;
  for (int32_t done = 0; done < of.n_cols; done += panel_outputs) {
    b.n_cols = smaller_of(of.n_cols - done, panel_outputs);
    alignas(64) int32_t start[panel_outputs] = {};
    for (int32_t row = 0; row < b.n_rows; row += product_rows)
      project_rows<V>(b, row, smaller_of(b.n_rows - row, product_rows), start);
    b.w.data += panel_outputs * b.w.output;
    if (b.bias) b.bias += panel_outputs;
    b.multipliers += 2 * panel_outputs;
    b.y = static_cast<unsigned char *>(b.y) + (b.wide ? 2 : 1) * panel_outputs;
  }
}

// ----------------------------------------------------------------------------------------------- rows of floats (25)

// One panel of rows whose inputs [begin, begin + depth) have been opened: int8 sums lie in y as integers, sums of blocks
// as floats.
template <class V>
static HEED_NOINLINE void add_panel(const linear_block &b, const packed_panel &w, const int_opened &x, int32_t begin,
                                    int32_t depth) {
  const ptrdiff_t width = w.width;
  if (has_output_scales(w.dtype))
    return V::add(x, {w.data + (4 * words_of_scales(w.dtype) + begin) * width, 4 * width, (depth + 3) / 4, w.width},
                  begin == 0, b.y, b.y_stride);
  const bool nibbles = w.dtype == stored_q4_0;
  const ptrdiff_t block_bytes = block_bytes_of(w.dtype) * width;
  const unsigned char *const block = w.data + begin / block_inputs * block_bytes;
  const int32_t n_words = nibbles ? 4 : 8;
  const int_words words = {block + 2 * width, 4 * width, n_words, w.width};
  V::add_blocks(x, {words, block, block_bytes, (depth + block_inputs - 1) / block_inputs, nibbles}, begin == 0, b.y,
                b.y_stride);
}

// Rows become results. One that is large goes alone, and so do those beside it.
template <class V>
static HEED_INLINE void scale_rows(linear_block b, const packed_panel &w, const int_row_scale *rows) {
  bool large = false;
  for (int32_t r = 0; r < b.n_rows; r++) large |= rows[r].is_large();
  if (!large || !has_output_scales(w.dtype)) return V::scale(b, w, rows);
  for (int32_t n_rows = b.n_rows; n_rows > 0; n_rows--, rows++, b.y += b.y_stride) {
    b.n_rows = 1;
    if (rows->is_large())
      scale_large_row(b, w, *rows, b.y);
    else
      V::scale(b, w, rows);
  }
}

// Outputs of a panel that y does not have would be written: such a panel lies on the stack meanwhile, some rows of it.
constexpr int32_t spare_rows = 6;

template <class V>
static HEED_NOINLINE void add_panels(const linear_block &of, const int_panels &w, int32_t first,
                                     const int_opened &opened, const int_row_scale *scales, int32_t begin,
                                     int32_t depth) {
  alignas(64) float spare[spare_rows * panel_outputs];
  for (int32_t done = 0; done < of.n_cols; done += panel_outputs) {
    const packed_panel panel = w.from(first + done, of.depth);
    linear_block b = of;
    b.n_cols = smaller_of(of.n_cols - done, panel_outputs);
    b.bias = offset_or_null(of.bias, done);
    const bool copied = b.n_cols < panel.width;
    const size_t row_bytes = static_cast<size_t>(b.n_cols) * sizeof(float);
    for (int32_t r = 0; r < opened.n_rows; r += b.n_rows) {
      b.n_rows = copied && opened.n_rows - r > spare_rows ? spare_rows : opened.n_rows - r;
      float *const y = of.y + r * of.y_stride + done;
      b.y = copied ? spare : y;
      b.y_stride = copied ? panel_outputs : of.y_stride;
      for (int32_t i = 0; copied && begin && i < b.n_rows; i++)
        __builtin_memcpy(spare + i * panel_outputs, y + i * of.y_stride, row_bytes);
      add_panel<V>(b, panel,
                   {opened.data + r * opened.stride, opened.stride, opened.terms + r * opened.term_stride,
                    opened.term_stride, b.n_rows},
                   begin, depth);
      if (begin + depth == of.depth) scale_rows<V>(b, panel, scales + r);
      for (int32_t i = 0; copied && i < b.n_rows; i++)
        __builtin_memcpy(y + i * of.y_stride, spare + i * panel_outputs, row_bytes);
    }
  }
}

// A piece of a row as V wants it, and its terms: of blocks one for each, else one alone.
template <class V>
static HEED_NOINLINE void open_floats(const float *x, int32_t n, int_row_scale &row, int32_t dtype, unsigned char *to,
                                      int32_t *terms) {
  const float inverse = row.inverse;
  const bool blocks = !has_output_scales(dtype);
  constexpr int32_t run = 384;  // a multiple of blocks and of 64
  alignas(64) int8_t numbers[run];
  for (int32_t begin = 0, all = 0; begin < n; begin += run) {
    const int32_t there = smaller_of(n - begin, run);
    __builtin_memset(numbers, 0, sizeof numbers);
    if (inverse != 0.0f) V::quantise(x + begin, there, inverse, numbers);
    unsigned char *const at = to + begin * V::x_bytes;
    V::open(numbers, there, 0, rounded_up(there, 64), at);
    if (dtype == stored_uint8) row.sum += V::sum(numbers, rounded_up(there, 64));
    const int32_t of_term = blocks ? block_inputs : rounded_up(there, 64);
    for (int32_t i = 0; i < there; i += of_term) {
      const int32_t term = V::term(at + i * V::x_bytes, of_term);
      if (blocks)
        *terms++ = term;
      else
        *terms = all += term;
    }
  }
}

// The fewer rows, the longer the pieces, so that one row reads weights in their order.
template <class V>
static HEED_NOINLINE void project_float_columns(const linear_block &of, const int_panels &w, int32_t first) {
  alignas(64) unsigned char room[float_room];
  int32_t terms[float_room / V::x_bytes / block_inputs];
  int_row_scale scales[most_float_rows];
  linear_block b = of;
  for (int32_t left = of.n_rows; left > 0; left -= b.n_rows) {
    b.n_rows = next_float_rows(left);
    const int32_t inputs = float_room / V::x_bytes / b.n_rows / 64 * 64, row_bytes = inputs * V::x_bytes,
                  row_terms = inputs / block_inputs;
    for (int32_t r = 0; r < b.n_rows; r++)
      scales[r] = int_row_scale_of(bits_of_float(V::magnitude(b.x + r * b.x_stride, b.depth)));
    for (int32_t begin = 0; begin < b.depth; begin += inputs) {
      const int32_t depth = smaller_of(b.depth - begin, inputs);
      for (int32_t r = 0; r < b.n_rows; r++)
        open_floats<V>(b.x + r * b.x_stride + begin, depth, scales[r], w.dtype, room + r * row_bytes,
                       terms + r * row_terms);
      add_panels<V>(b, w, first, {room, row_bytes, terms, row_terms, b.n_rows}, scales, begin, depth);
    }
    b.x += b.n_rows * b.x_stride;
    b.y += b.n_rows * b.y_stride;
  }
}

// Many rows would read weights beyond the second-level cache again and again, which an Intel Sapphire Rapids and an AMD
// Zen 5 do at 10 and 25 bytes a cycle. So they take as many columns at a time as half of 1 MB holds, and each time their
// rows are quantised again.
HEED_INLINE int32_t columns_of_cache(const linear_block &b, int32_t dtype) {
  constexpr uint64_t near_bytes = 512 * 1024;
  const uint64_t output_bytes = packed_output_bytes(dtype, static_cast<uint64_t>(b.depth));
  const auto n = static_cast<int32_t>(near_bytes / output_bytes / panel_outputs) * panel_outputs;
  return b.n_rows < 2 * product_rows || n < 8 * panel_outputs || 2 * n > b.n_cols ? b.n_cols : n;
}

template <class V>
static void int_project_floats_panels(const linear_block &of, const int_panels &w, int32_t first) {
  const int32_t at_once = columns_of_cache(of, w.dtype);
  linear_block b = of;
  for (int32_t done = 0; done < of.n_cols; done += at_once) {
    b.n_cols = smaller_of(of.n_cols - done, at_once);
    project_float_columns<V>(b, w, first + done);
    b.y += at_once;
    b.bias = offset_or_null(b.bias, at_once);
  }
}

template <class V>
constexpr int_product_steps make_int_products() {
  return {int_project_panels<V>, int_project_floats_panels<V>};
}

}  // namespace heed

#endif
