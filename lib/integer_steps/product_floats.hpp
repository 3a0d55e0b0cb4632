// Rows of floats times packed integers (rule 25) by tiles of dot products. Sums of int8 lie in y as integers until the
// last piece of inputs has been added.
#ifndef HEED_GENERIC_INT_PRODUCT_FLOATS_HPP
#define HEED_GENERIC_INT_PRODUCT_FLOATS_HPP

#include "large_rows.hpp"
#include "product.hpp"

namespace heed {

constexpr int32_t int_piece = 128;  // inputs that are quantised at a time: a multiple of 32

// Some rows and a piece of their inputs, [begin, begin + depth) of b.depth.
struct quantised_rows {
  const int8_t *numbers;  // int_piece apart
  const int_row_scale *scales;
  int32_t n_rows, begin, depth;
};

// Sums of a row, a block of inputs and n outputs, which are added to y.
struct block_sums {
  const int32_t *sums;
  const unsigned char *scales;  // in f16
  int32_t n;
  bool is_first, is_last;  // block of the row
  float row_scale;
  const float *bias;  // or null
  float *y;
};

namespace {

// What a kernel may do faster; rows are quantised one by one.
template <class M>
struct plain_floats {
  static uint32_t greatest(const float *x, int32_t n) { return greatest_magnitude(x, n); }

  // At most int_piece numbers, and their sum.
  static int32_t quantise(const float *x, int32_t n, float inverse, int8_t *to) {
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++) {
      const int32_t number = int_quantised(x[i], inverse);
      to[i] = static_cast<int8_t>(number);
      sum += number;
    }
    return sum;
  }

  // Sums of this piece and of those before it lie in y. w are weights of a panel.
  static void add(const quantised_rows &q, const int_weights &w, int32_t n_cols, float *y, ptrdiff_t y_stride) {
    each_int_tile<M>(q.numbers, int_piece, 0, q.n_rows, w, n_cols, q.depth,
                     [&](const int32_t *sums, int32_t row, int32_t rows, int32_t output, int32_t outputs) {
                       for (int32_t r = row; r < row + rows; r++)
                         for (int32_t n = output; n < output + outputs; n++) {
                           float *const at = y + r * y_stride + n;
                           const int32_t before = q.begin ? stored_integer(at) : 0;
                           store_integer(at, before + *sums++);
                         }
                     });
  }

  // y = (float(sum) * s_x) * s_w + bias of a row, from output n on
  static void scale(const linear_block &b, const packed_panel &w, const int_row_scale &of, float *y, int32_t n) {
    for (; n < b.n_cols; n++) {
      const int32_t less = w.dtype == stored_uint8 ? panel_zero(w, n) * of.sum : 0;
      const float x = static_cast<float>(stored_integer(y + n) - less) * of.scale;
      y[n] = x * panel_scale(w, n) + at_or_zero(b.bias, n);
    }
  }

  // y = y + float(sum) * scale, from output n on; after the last block y * s_x + bias.
  static void add_block(const block_sums &s, int32_t n) {
    for (; n < s.n; n++) {
      const float before = s.is_first ? 0.0f : s.y[n];
      const float sum = before + static_cast<float>(s.sums[n]) * half_at(s.scales + 2 * n);
      s.y[n] = s.is_last ? sum * s.row_scale + at_or_zero(s.bias, n) : sum;
    }
  }
};

}  // namespace

// The 32 numbers of a block and an output, from panels whose words have a half of each.
static inline void unpack_nibbles(const unsigned char *word, ptrdiff_t step, int8_t *to) {
  for (int32_t i = 0; i < block_inputs; i += 8, word += step)
    for (int32_t k = 0; k < 4; k++) {
      to[i + k] = static_cast<int8_t>((word[k] & 15) - 8);
      to[i + 4 + k] = static_cast<int8_t>((word[k] >> 4) - 8);
    }
}

// The same of OUTPUTS outputs, as words of a panel: compilers do it in registers.
template <int OUTPUTS>
static inline void unpack_panel_nibbles(const unsigned char *__restrict word, ptrdiff_t step, int8_t *__restrict to) {
  constexpr int32_t n = 4 * OUTPUTS;
  for (int32_t i = 0; i < block_inputs; i += 8, word += step, to += 2 * n)
    for (int32_t k = 0; k < n; k++) {
      to[k] = static_cast<int8_t>((word[k] & 15) - 8);
      to[n + k] = static_cast<int8_t>((word[k] >> 4) - 8);
    }
}

template <class M, class F>
static HEED_NOINLINE void add_block_panel(const linear_block &b, const packed_panel &w, const quantised_rows &q) {
  const bool nibbles = w.dtype == stored_q4_0;
  const ptrdiff_t block_bytes = block_bytes_of(w.dtype) * static_cast<ptrdiff_t>(w.width);
  for (int32_t begin = q.begin; begin < q.begin + q.depth; begin += block_inputs) {
    const unsigned char *const block = w.data + begin / block_inputs * block_bytes, *const words = block + 2 * w.width;
    const int32_t left = b.depth - begin, depth = smaller_of(left, block_inputs);
    for (int32_t first = 0, n_cols; first < b.n_cols; first += n_cols) {
      n_cols = b.n_cols - first < M::outputs ? 1 : M::outputs;
      int8_t numbers[block_inputs * M::outputs];
      int_weights lie = int_panel(words + 4 * first, w.width);
      if (nibbles && M::outputs >= 4 && n_cols > 1) {
        unpack_panel_nibbles<M::outputs>(words + 4 * first, 4 * w.width, numbers);
        lie = int_panel(numbers, M::outputs);
      } else if (nibbles) {
        for (int32_t n = 0; n < n_cols; n++)
          unpack_nibbles(words + 4 * (first + n), 4 * w.width, numbers + n * block_inputs);
        lie = int_rows_of_outputs(numbers, block_inputs);
      }
      each_int_tile<M>(q.numbers + (begin - q.begin), int_piece, 0, q.n_rows, lie, n_cols, depth,
                       [&](const int32_t *sums, int32_t row, int32_t rows, int32_t output, int32_t outputs) {
                         const int32_t o = first + output;
                         for (int32_t r = row; r < row + rows; r++, sums += outputs)
                           F::add_block({sums, block + 2 * o, outputs, begin == 0, left <= block_inputs,
                                         q.scales[r].scale, offset_or_null(b.bias, o), b.y + r * b.y_stride + o},
                                        0);
                       });
    }
  }
}

template <class F>
static HEED_NOINLINE void add_int8_panel(const linear_block &b, const packed_panel &w, const quantised_rows &q) {
  const ptrdiff_t before = 4 * words_of_scales(w.dtype) + q.begin;
  F::add(q, int_panel(w.data + before * w.width, w.width), b.n_cols, b.y, b.y_stride);
  for (int32_t r = 0; q.begin + q.depth == b.depth && r < b.n_rows; r++) {
    float *const y = b.y + r * b.y_stride;
    if (q.scales[r].is_large())
      scale_large_row(b, w, q.scales[r], y);
    else
      F::scale(b, w, q.scales[r], y, 0);
  }
}

template <class M, class F = plain_floats<M>>
static void int_project_floats(const linear_block &of, const int_panels &w, int32_t first) {
  int8_t numbers[M::rows * int_piece];
  int_row_scale scales[M::rows];
  linear_block b = of;
  for (int32_t left = of.n_rows; left > 0; left -= b.n_rows) {
    b.n_rows = smaller_of(left, M::rows);
    for (int32_t r = 0; r < b.n_rows; r++) scales[r] = int_row_scale_of(F::greatest(b.x + r * b.x_stride, b.depth));
    for (int32_t begin = 0; begin < b.depth; begin += int_piece) {
      const int32_t depth = smaller_of(b.depth - begin, int_piece);
      for (int32_t r = 0; r < b.n_rows; r++)
        scales[r].sum += F::quantise(b.x + r * b.x_stride + begin, depth, scales[r].inverse, numbers + r * int_piece);
      linear_block part = b;
      for (int32_t done = 0; done < of.n_cols; done += panel_outputs) {
        part.n_cols = smaller_of(of.n_cols - done, panel_outputs);
        part.y = b.y + done;
        part.bias = offset_or_null(b.bias, done);
        const packed_panel panel = w.from(first + done, b.depth);
        const quantised_rows q = {numbers, scales, b.n_rows, begin, depth};
        if (has_output_scales(w.dtype))
          add_int8_panel<F>(part, panel, q);
        else
          add_block_panel<M, F>(part, panel, q);
      }
    }
    b.x += b.n_rows * b.x_stride;
    b.y += b.n_rows * b.y_stride;
  }
}

}  // namespace heed

#endif
