// One block of weights, for the rows that share it: spread over the stack as bytes, or widened to floats.
#ifndef HEED_GENERIC_PACKED_PIECES_HPP
#define HEED_GENERIC_PACKED_PIECES_HPP

#include "linear.hpp"
#include "packed_words.hpp"

namespace heed {

// Outputs of a block that are spread at once, and those that are widened.
template <class V>
constexpr int32_t spread_outputs = V::compact ? 16 : 64;
template <class V>
constexpr int32_t piece_width = V::compact ? 2 * V::lanes : copy_width<V>;

template <class V>
HEED_INLINE void store_word(unsigned char *to, typename V::reg word) {
  V::store(reinterpret_cast<float *>(to), word);
}
// The halves of all bytes, inputs k and k + 4 of a word, as words of their own.
template <class V>
HEED_INLINE void store_halves(unsigned char *low, unsigned char *high, typename V::reg word) {
  store_word<V>(low, V::masked(word, 0x0f0f0f0f, 0));
  store_word<V>(high, V::masked(V::template shift_down<4>(word), 0x0f0f0f0f, 0));
}

// Four words of each of a register of outputs go where the block's words lie.
template <class V, bool NIBBLES>
HEED_INLINE void store_words(unsigned char *at, typename V::reg (&words)[4]) {
  constexpr ptrdiff_t row = 4 * spread_outputs<V>;
  HEED_UNROLL for (int i = 0; i < 4; i++, at += row) {
    if (NIBBLES)
      store_halves<V>(at, at + 4 * row, words[i]);
    else
      store_word<V>(at, words[i]);
  }
}

// A block of each of a register of outputs as it lies in a file, rows `stride` bytes apart: words of bytes, and scales.
// Outputs beyond n repeat the last.
template <class V, bool NIBBLES>
HEED_INLINE void transpose_outputs_of_block(unsigned char *to, unsigned char *scales, const unsigned char *from,
                                            ptrdiff_t stride, int32_t n) {
  constexpr ptrdiff_t row = 4 * spread_outputs<V>;
  constexpr int n_words = NIBBLES ? 4 : 8;
  typename V::reg words[4];
  if constexpr (V::transposes_words) {
    if (n >= V::lanes) {
      const unsigned char *p = from;
      HEED_UNROLL for (int l = 0; l < V::lanes; l++, p += stride) {
        __builtin_memcpy(scales + 2 * l, p, 2);
        __builtin_prefetch(p + 256, 0, 3);  // blocks behind it
      }
      HEED_UNROLL for (int s = 0; s < n_words; s += 4) {
        V::transpose_words(reinterpret_cast<const char *>(from) + 2 + 4 * s, stride, words);
        store_words<V, NIBBLES>(to + s * row, words);
      }
      return;
    }
  }
  alignas(4 * V::lanes) float rows[V::lanes][8];
  for (int32_t l = 0; l < V::lanes; l++) {
    const unsigned char *p = from + (smaller_of(l, n - 1)) * stride;
    __builtin_memcpy(scales + 2 * l, p, 2);
    __builtin_memcpy(rows[l], p + 2, 4 * n_words);
    if (!V::compact) __builtin_prefetch(p + 256, 0, 3);
  }
  for (int32_t s = 0; s < n_words; s += 4) {
    V::transpose4(rows[0] + s, 8, words);
    store_words<V, NIBBLES>(to + s * row, words);
  }
}
template <class V, bool NIBBLES>
static HEED_NOINLINE void transpose_block(unsigned char *to, unsigned char *scales, const unsigned char *from,
                                          ptrdiff_t stride, int32_t n) {
  for (int32_t c = 0; c < n; c += V::lanes)
    transpose_outputs_of_block<V, NIBBLES>(to + 4 * c, scales + 2 * c, from + c * stride, stride, n - c);
}

// y += scales * (x numbers) for a block of numbers, rows piece_width apart, and two registers of outputs, or one, of up
// to ROWS rows: those beyond b.n_rows repeat the last, and so does a second register that is not there.
template <class V, int ROWS>
static HEED_NOINLINE void add_stored_block(const linear_block &b, const float *numbers, const float *scales) {
  const float *x[ROWS];
  float *y[ROWS];
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    const ptrdiff_t row = smaller_of(r, b.n_rows - 1);
    x[r] = b.x + row * b.x_stride;
    y[r] = b.y + row * b.y_stride;
  }
  typename V::reg sum[ROWS][2];
  start_tile<V, ROWS, 2>(sum, [](int, int) HEED_INLINED { return V::set(0.0f); });
  for (int32_t i = 0; i < b.depth; i++, numbers += piece_width<V>) {
    typename V::reg columns[2] = {V::load(numbers), V::load(numbers + V::lanes)};
    add_step<V, ROWS, 2>(sum, columns, [&](int r) HEED_INLINED { return x[r][i]; });
  }
  const int32_t second = b.n_cols > V::lanes ? V::lanes : 0;
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    sum[r][0] = V::fma(V::load(scales), sum[r][0], V::load(y[r]));
    sum[r][1] = V::fma(V::load(scales + V::lanes), sum[r][1], V::load(y[r] + second));
  }
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    V::store(y[r] + second, sum[r][1]);
    V::store(y[r], sum[r][0]);
  }
}

// One block, or a part, of all rows and columns.
template <class V>
static HEED_NOINLINE void add_widened_block(const linear_block &b, const word_piece &w) {
  constexpr int32_t width = piece_width<V>, rows = V::compact ? 2 : 4;
  alignas(4 * V::lanes) float numbers[block_inputs * width], scales[width];
  for (int32_t column = 0; column < b.n_cols; column += width) {
    const int32_t n = smaller_of(b.n_cols - column, width);
    word_piece at = w;
    at.words += 4 * column;
    if (w.kind == word_kind::nibbles)
      widen_words<V, word_kind::nibbles>(numbers, width, at, nullptr, n, 0, b.depth);
    else
      widen_words<V, word_kind::bytes>(numbers, width, at, nullptr, n, 0, b.depth);
    const auto *halves = reinterpret_cast<const f16 *>(w.scales) + column;
    for (int32_t c = 0; c < n; c += V::lanes) V::store(scales + c, V::load(halves + c));
    linear_block part = b;
    for (; part.n_rows > 0; part.n_rows -= rows) {
      for (int32_t c = 0; c < n; c += 2 * V::lanes) {
        part.n_cols = n - c;
        part.y = b.y + (b.n_rows - part.n_rows) * b.y_stride + column + c;
        add_stored_block<V, rows>(part, numbers + c, scales + c);
      }
      part.x += rows * b.x_stride;
    }
  }
}

}  // namespace heed

#endif
