// y = bias + x w with w in any format and layout, on processors without vectors. Floats are multiplied where they lie.
// One row widens each narrow weight as it comes; more rows share pieces of 512 bytes that are widened once. A model's own
// tile widens 8 weights at a time in registers.
#ifndef HEED_GENERIC_ONE_LANE_PROJECT_HPP
#define HEED_GENERIC_ONE_LANE_PROJECT_HPP

#include "one_lane_product.hpp"
#include "../vector/widen.hpp"

namespace heed {

template <class T>
HEED_INLINE const T *weight_at(const stored_weights &w, int32_t i, int32_t n) {
  return static_cast<const T *>(w.data) + place_of_weight(w, i, n);
}

// The weights of one output, from an input that begins a word. WORDS: packed int8, words of four inputs.
template <class T, bool WORDS>
struct weights_of_output {
  const T *p;
  ptrdiff_t step;
  float scale;
  int32_t flip, zero;  // of weight_byte
  HEED_INLINE void start(const stored_weights &w, int32_t i, int32_t n) {
    flip = flip_of(w);
    scale = 0.0f;
    zero = 0;
    if (WORDS) {
      p = static_cast<const T *>(w.data) + (i * w.stride + 4 * n);
      step = 4 * w.stride - 4;
    } else {
      p = weight_at<T>(w, i, n);
      step = w.out_in ? 1 : w.stride;
    }
    if (has_zero_point(T())) {
      scale = scale_of(w, n);
      zero = WORDS ? w.zeros[4 * n] ^ flip : zero_of(w, n);
    } else if (sizeof(T) == 1) {
      scale = w.scales[n];
    }
  }
  HEED_INLINE float number() const {
    if constexpr (has_zero_point(T()))
      return static_cast<float>((p->bits ^ flip) - zero) * scale;
    else
      return widen(*p, scale);
  }
  HEED_INLINE float next() {
    const float x = number();
    p += WORDS ? 1 : step;
    keep_pointer(p);
    if (WORDS && (reinterpret_cast<uintptr_t>(p) & 3) == 0) p += step;
    return x;
  }
};

// One row of x, COLS outputs at a time; the last ones, fewer than that, repeat the last one.
template <class V, int COLS, bool WORDS, class T>
static HEED_NOINLINE void project_one_row(const linear_block &b, const stored_weights &w) {
  for (int32_t n = 0; n < b.n_cols; n += COLS) {
    weights_of_output<T, WORDS> weights[COLS];
    float acc[COLS];
    HEED_UNROLL for (int j = 0; j < COLS; j++) {
      const int32_t column = smaller_of(n + j, b.n_cols - 1);
      weights[j].start(w, 0, column);
      acc[j] = at_or_zero(b.bias, column);
    }
    const float *x = b.x;
    for (int32_t i = b.depth; i > 0; i--, x++) {
      HEED_UNROLL for (int j = 0; j < COLS; j++) {
        const float weight = weights[j].next();
        acc[j] = V::fma(*x, weight, acc[j]);
      }
    }
    HEED_UNROLL for (int j = 0; j < COLS; j++) if (n + j < b.n_cols) b.y[n + j] = acc[j];
  }
}

constexpr int32_t panel_cols = most_product_rows, panel_rows = 128 / panel_cols;

// w[begin, end)[column, + width), rows `width` apart.
template <bool WORDS, class T>
static HEED_NOINLINE void widen_weights(float *to, const stored_weights &w, int32_t begin, int32_t end, int32_t column,
                                        int32_t width) {
  weights_of_output<T, WORDS> weights;
  for (int32_t n = column; n < column + width; n++, to++) {
    weights.start(w, begin, n);
    float *next = to;
    for (int32_t i = begin; i < end; i++, next += width) *next = weights.next();
  }
}

template <class V>
static HEED_NOINLINE void project_panel(const linear_block &b, const float *panel, int32_t begin, int32_t end,
                                        int32_t column, int32_t width) {
  float *y = b.y + column;
  for (int32_t r = 0, rows; r < b.n_rows; r += rows, y += rows * b.y_stride) {
    rows = tile_height(b.n_rows - r, V::sum_rows);
    product p = {{}, panel, width, 1, y, b.y_stride, end - begin, width};
    for (int32_t i = 0; i < rows; i++) {
      p.a[i] = b.x + (r + i) * b.x_stride + begin;
      float *const to = y + i * b.y_stride;
      for (int32_t j = 0; begin == 0 && j < width; j++) to[j] = at_or_zero(b.bias, column + j);
    }
    multiply_exactly<V, values_operand>(p, rows);
  }
}

// Where products are calls of functions, shifting a bf16 once more costs less than a copy of it.
HEED_INLINE constexpr bool repays_copy(bf16) { return most_product_rows > 1; }
template <class T>
HEED_INLINE constexpr bool repays_copy(T) {
  return true;
}

template <class V, bool WORDS, class T>
static void project_panels(const linear_block &b, const stored_weights &w) {
  if (b.n_rows == 1 || !repays_copy(T())) {
    linear_block row = b;
    for (int32_t r = 0; r < b.n_rows; r++, row.x += b.x_stride, row.y += b.y_stride)
      project_one_row<V, panel_cols, WORDS, T>(row, w);
    return;
  }
  float panel[panel_rows * panel_cols];
  for (int32_t column = 0; column < b.n_cols; column += panel_cols) {
    const int32_t width = smaller_of(b.n_cols - column, panel_cols);
    for (int32_t begin = 0; begin < b.depth; begin += panel_rows) {
      const int32_t end = end_of_block(begin, panel_rows, b.depth);
      widen_weights<WORDS, T>(panel, w, begin, end, column, width);
      project_panel<V>(b, panel, begin, end, column, width);
    }
  }
}

// ---- a model's own tile

// At least 4 outputs, 4 at a time for all rows, whose weights a cache then holds; the last ones overlap those that are done,
// and are computed again. of_columns puts the weights of outputs [column, + 4) into the tile, run does it.
template <class F, class G>
HEED_INLINE void project_fours(const linear_block &b, projection_tile &t, F of_columns, G run) {
  const float zeros[4] = {};
  t.y_stride = b.y_stride * 4;
  t.depth = b.depth;
  for (int32_t n = 0; n < b.n_cols; n += 4) {
    const int32_t column = smaller_of(n, b.n_cols - 4);
    t.start = b.bias ? b.bias + column : zeros;
    of_columns(column);
    for (int32_t row = 0; row < b.n_rows; row += 4) {
      if (n == 0 || b.n_rows > 4) {
        t.rows = smaller_of(b.n_rows - row, 4);
        for (int32_t i = 0; i < 4; i++) t.x[i] = b.x + (row + (smaller_of(i, t.rows - 1))) * b.x_stride;
      }
      t.y = b.y + row * b.y_stride + column;
      run();
    }
  }
}
// WORDS: packed int8, words of four inputs.
template <class V, bool WORDS>
static HEED_NOINLINE void project_tiles(const linear_block &b, const stored_weights &w) {
  const float zeros[4] = {};
  ptrdiff_t bytes = w.dtype == stored_int8 ? 1 : 2;
  if (WORDS || w.dtype == stored_f32) bytes = 4;
  projection_tile t;
  t.w_stride = w.stride * bytes;
  t.way = WORDS ? 0 : 2 * w.dtype + w.out_in;
  project_fours(
      b, t,
      [&](int32_t column) HEED_INLINED {
        t.scales = WORDS || bytes == 1 ? w.scales + column : zeros;
        t.w = static_cast<const char *>(w.data) + column * (w.out_in ? t.w_stride : bytes);
      },
      [&]() HEED_INLINED {
        if constexpr (WORDS)
          V::project_words(t);
        else
          V::project_tile(t);
      });
}
// Bytes with zero points; WORDS: packed ones.
template <class V, bool WORDS>
static HEED_NOINLINE void project_shifted_tiles(const linear_block &b, const stored_weights &w) {
  shifted_tile s;
  float scales[4];
  projection_tile &t = s.tile;
  t.scales = scales;
  t.w_stride = WORDS ? 4 * w.stride : w.stride;
  t.way = WORDS ? 4 : 2 * !w.is_uint8 + w.out_in;
  project_fours(
      b, t,
      [&](int32_t column) HEED_INLINED {
        for (int32_t i = 0; i < 4; i++) {
          weights_of_output<weight_byte, WORDS> of;
          of.start(w, 0, column + i);
          scales[i] = of.scale;
          s.zeros[i] = static_cast<int16_t>(of.flip - of.zero);
          if (i == 0) t.w = of.p;
        }
      },
      [&]() HEED_INLINED { V::project_bytes(s); });
}

// Fewer than 4 outputs.
[[maybe_unused]] static HEED_NOINLINE float any_weight(const stored_weights &w, int32_t i, int32_t n) {
  return with_format(w.dtype, [&](auto number) {
    const float scale = sizeof number == 1 ? w.scales[n] : 0.0f;
    return widen(*weight_at<decltype(number)>(w, i, n), scale);
  });
}
template <class V>
static HEED_NOINLINE void project_few_columns(const linear_block &b, const stored_weights &w) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    for (int32_t n = 0; n < b.n_cols; n++) {
      float sum = at_or_zero(b.bias, n);
      for (int32_t i = 0; i < b.depth; i++) sum = V::fma(b.x[r * b.x_stride + i], any_weight(w, i, n), sum);
      b.y[r * b.y_stride + n] = sum;
    }
  }
}

// ---- all formats

template <class V>
static HEED_NOINLINE void project_floats(const linear_block &b, const stored_weights &w) {
  linear_block left = b;
  for (int32_t rows; left.n_rows > 0; left.n_rows -= rows) {
    rows = tile_height(left.n_rows, V::sum_rows);
    if constexpr (V::own_tile) {
      if (b.n_cols >= 4 && (rows == 1 || b.n_cols % 4 != 0)) return project_tiles<V, false>(left, w);
    }
    product p = {{}, static_cast<const float *>(w.data), w.stride, 1, left.y, b.y_stride, b.depth, b.n_cols};
    for (int32_t i = 0; i < rows; i++, left.x += b.x_stride, left.y += b.y_stride) {
      p.a[i] = left.x;
      if (b.bias)
        __builtin_memcpy(left.y, b.bias, static_cast<size_t>(b.n_cols) * 4);
      else
        __builtin_memset(left.y, 0, static_cast<size_t>(b.n_cols) * 4);
    }
    if (w.out_in) {
      p.b_depth = 1;
      p.b_col = w.stride;
      multiply_exactly<V, keys_operand>(p, rows);
    } else {
      multiply_exactly<V, values_operand>(p, rows);
    }
  }
}

template <class V>
static void linear_one_lane(const linear_block &b) {
  project_floats<V>(b, {b.w, nullptr, b.w_stride, stored_f32, false});
}

template <class V, class T>
static void project_one_lane_format(const linear_block &b, const stored_weights &w) {
  if constexpr (!V::own_tile)
    project_panels<V, false, T>(b, w);
  else if (b.n_cols < 4)
    project_few_columns<V>(b, w);
  else
    project_tiles<V, false>(b, w);
}

// Fewer outputs than a tile's are not worth panels.
template <class V, bool WORDS>
static void project_bytes_one_lane(const linear_block &b, const stored_weights &w) {
  if constexpr (!V::own_bytes) {
    project_panels<V, WORDS, weight_byte>(b, w);
  } else if (b.n_cols >= 4) {
    project_shifted_tiles<V, WORDS>(b, w);
  } else {
    linear_block row = b;
    for (int32_t r = 0; r < b.n_rows; r++, row.x += b.x_stride, row.y += b.y_stride)
      project_one_row<V, 1, WORDS, weight_byte>(row, w);
  }
}

template <class V>
static void project_one_lane(const linear_block &b, const stored_weights &w) {
  if (w.dtype == stored_f32) return project_floats<V>(b, w);
  with_narrow_format(w.dtype, [&](auto number) { project_one_lane_format<V, decltype(number)>(b, w); });
}

}  // namespace heed

#endif
