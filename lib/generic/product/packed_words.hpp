// Register tiles over packed words: int8, Q8_0 and Q4_0 become floats in registers, whose chains go on in y.
#ifndef HEED_GENERIC_PACKED_WORDS_HPP
#define HEED_GENERIC_PACKED_WORDS_HPP

#include "../../kernel/packed.hpp"
#include "../widen.hpp"
#include "tile.hpp"

namespace heed {

template <int FORMAT>
constexpr int word_inputs = FORMAT == stored_q4_0 ? 8 : 4;
template <int FORMAT>
constexpr bool has_blocks = FORMAT != stored_int8;

// Outputs of a panel from `first` on.
struct panel_columns {
  const unsigned char *data;
  ptrdiff_t width;
  int32_t first;
};
// Their words and scales from input `begin` on: of blocks the scales of the one in which that lies.
struct packed_words {
  const unsigned char *scales, *words;
  ptrdiff_t width;
};
template <int FORMAT>
HEED_INLINE packed_words words_at(const panel_columns &w, int32_t column, int32_t begin) {
  column += w.first;
  const ptrdiff_t width = w.width, scale_bytes = has_blocks<FORMAT> ? 2 : 4;
  const unsigned char *scales = w.data;
  if (has_blocks<FORMAT>) {
    scales += begin / block_inputs * width * (FORMAT == stored_q8_0 ? q8_0_bytes : q4_0_bytes);
    begin %= block_inputs;
  }
  return {scales + scale_bytes * column,
          scales + scale_bytes * width + (begin / word_inputs<FORMAT> * width + column) * 4, width};
}

// What numbers are taken from: words, and the same moved down; or, where bytes can be shuffled, the two halves of all
// bytes of Q4_0.
template <class V, int FORMAT>
HEED_INLINE void spread_word(typename V::reg word, typename V::reg (&parts)[2]) {
  if constexpr (V::shuffles_bytes && FORMAT == stored_q4_0) {
    parts[0] = V::masked(word, 0x0f0f0f0f, 0);
    parts[1] = V::masked(V::template shift_down<4>(word), 0x0f0f0f0f, 0);
  } else {
    parts[0] = word;
    parts[1] = V::template shift_down<16>(word);
  }
}
// Number J of each word, times its scale where outputs have one. Its bits become the last ones of 2^23 or, where they
// stand, of a smaller power of two, by operations of bits and one difference, all exact.
template <class V, int FORMAT, int J>
HEED_INLINE typename V::reg number_of(typename V::reg (&parts)[2], typename V::reg scale) {
  constexpr bool nibbles = FORMAT == stored_q4_0;
  constexpr int bit = V::shuffles_bytes ? 0 : J % 2 * 8 + J / 4 * 4;
  constexpr uint32_t exponent = static_cast<uint32_t>(150 - bit) << 23, mask = (nibbles ? 15u : 255u) << bit;
  constexpr float zero = static_cast<float>((8388608 >> bit) + (nibbles ? 8 : 128));
  constexpr uint32_t flip = exponent | (nibbles ? 0 : 128u << bit);
  typename V::reg number;
  if constexpr (nibbles && V::lanes == 16)
    number = V::template nibble<J % 4 * 8 + J / 4 * 4>(parts[0]);
  else if constexpr (V::shuffles_bytes)
    number = V::sub(V::template byte_flipped<J % 4>(parts[J / 4], flip), V::set(zero));
  else
    number = V::sub(V::masked(parts[J % 4 / 2], mask, flip), V::set(zero));
  if constexpr (has_blocks<FORMAT>)
    return (void)scale, number;
  else
    return V::mul(number, scale);
}

template <class V>
HEED_INLINE typename V::reg load_word(const unsigned char *p) {
  return V::load(reinterpret_cast<const float *>(p));
}

// Scales of a register of outputs.
template <class V, int FORMAT>
HEED_INLINE typename V::reg packed_scales(const unsigned char *p) {
  if constexpr (has_blocks<FORMAT>)
    return V::load(reinterpret_cast<const f16 *>(p));
  else
    return load_word<V>(p);
}

// y[r][0, VECS registers) goes on by all of depth, whole words or blocks.
template <class V, int FORMAT, int ROWS, int VECS>
static HEED_NOINLINE void add_words(const linear_block &b, const packed_words &of) {
  constexpr int inputs = word_inputs<FORMAT>, GROUP = many_registers<V> || VECS < 2 ? VECS : 2;
  constexpr bool blocks = has_blocks<FORMAT>;
  const float *x[ROWS];
  float *y[ROWS];
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    x[r] = b.x + r * b.x_stride;
    y[r] = b.y + r * b.y_stride;
  }
  const int32_t depth = b.depth;
  const ptrdiff_t step = 4 * of.width;
  const unsigned char *scales = of.scales, *p = of.words;
  typename V::reg sum[ROWS][VECS], scale[VECS];
  if (!blocks) {
    HEED_UNROLL for (int v = 0; v < VECS; v++) scale[v] = packed_scales<V, FORMAT>(scales + 4 * v * V::lanes);
  }
  for (int32_t i = 0; i < depth;) {
    start_tile<V, ROWS, VECS>(
        sum, [&](int r, int v) HEED_INLINED { return blocks ? V::set(0.0f) : V::load(y[r] + v * V::lanes); });
    const int32_t end = blocks ? i + block_inputs : depth;
    for (; i < end; i += inputs, p += step) {
      for_each_constant<VECS / GROUP>([&](auto part) HEED_INLINED {
        constexpr int first = decltype(part)::value * GROUP;
        typename V::reg parts[GROUP][2];
        HEED_UNROLL for (int v = 0; v < GROUP; v++)
            spread_word<V, FORMAT>(load_word<V>(p + 4 * (first + v) * V::lanes), parts[v]);
        for_each_constant<inputs>([&](auto j) HEED_INLINED {
          constexpr int J = decltype(j)::value;
          typename V::reg columns[GROUP];
          HEED_UNROLL for (int v = 0; v < GROUP; v++) {
            columns[v] = number_of<V, FORMAT, J>(parts[v], scale[first + v]);
            if (ROWS > 1) V::pin(columns[v]);
          }
          HEED_UNROLL for (int r = 0; r < ROWS; r++) {
            auto factor = V::factor(x[r][i + J]);
            if (GROUP > 1) V::pin(factor);
            HEED_UNROLL for (int v = 0; v < GROUP; v++) sum[r][first + v] = V::fma(factor, columns[v], sum[r][first + v]);
          }
        });
      });
    }
    if (blocks) {
      HEED_UNROLL for (int v = 0; v < VECS; v++) scale[v] = packed_scales<V, FORMAT>(scales + 2 * v * V::lanes);
      p += 2 * of.width;
      scales += of.width * (FORMAT == stored_q8_0 ? q8_0_bytes : q4_0_bytes);
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {
      HEED_UNROLL for (int v = 0; v < VECS; v++) {
        float *const to = y[r] + v * V::lanes;
        V::store(to, blocks ? V::fma(scale[v], sum[r][v], V::load(to)) : sum[r][v]);
      }
    }
  }
}

}  // namespace heed

#endif
