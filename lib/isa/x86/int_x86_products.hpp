// The models of panel_product.hpp for x86 from AVX2 on: x86_products<I>. I is what differs:
//   reg, lanes                          a register and its words
//   six_outputs, two_outputs            outputs of a tile of three to six rows, and of two
//   many_registers                      32, not 16
//   load, store, set, add
//   bytes(p), half(p, high)             a register of words of weights; the halves of its bytes, less 8
//   part(weights, i)                    of x_bytes parts: what words i of inputs, as opened, are multiplied with
//   dot(acc, part, word of x)           for all lanes
//   zero(), load_floats, store_floats, halves(p), add_scaled(sum, acc, scale)
// and what x86_products does not define.
#ifndef HEED_INT_X86_PRODUCTS_HPP
#define HEED_INT_X86_PRODUCTS_HPP

#include <immintrin.h>

#include "../../integer_steps/panel_product.hpp"
#include "../../vector/vector.hpp"

namespace heed {
namespace {

HEED_INLINE int32_t load_word(const void *p) {
  int32_t word;
  __builtin_memcpy(&word, p, sizeof word);
  return word;
}

// A word of ones, for inputs that there are.
HEED_INLINE int32_t ones_of(int32_t n) { return n >= 4 ? 0x01010101 : (1 << 8 * n) / 255; }

// ------------------------------------------------------------------------------------------------- weights to words

// n > 0 bytes from p on, zeros behind them; there are `before` bytes in front of p.
HEED_INLINE __m128i load_bytes(const int8_t *p, int32_t n, int32_t before) {
  alignas(16) static constexpr int8_t shifts[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  if (n >= 16) return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
  if (n + before >= 16)  // what ends with them, moved down
    return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p - 16 + n)),
                            _mm_loadu_si128(reinterpret_cast<const __m128i *>(shifts + 16 - n)));
  alignas(16) int8_t bytes[16] = {};
  for (int32_t i = 0; i < n; i++) bytes[i] = p[i];
  return _mm_load_si128(reinterpret_cast<const __m128i *>(bytes));
}

HEED_INLINE __m256i load_two(const int8_t *low, const int8_t *high, int32_t n, int32_t before) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load_bytes(low, n, before)), load_bytes(high, n, before), 1);
}
HEED_INLINE void store_words(unsigned char *to, __m256i words) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), words);
}

// Rows of outputs: four words of eight outputs change places, of which one that is not there repeats the last. Rows are
// many streams, which no processor foresees: it asks for what comes next.
HEED_NOINLINE void transpose_outputs(const int_weights &w, int32_t begin, int32_t n, int32_t n_cols,
                                     unsigned char *to) {
  for (int32_t o = 0; o < n_cols; o += 8) {
    const int8_t *row[8];
    HEED_UNROLL for (int32_t k = 0; k < 8; k++) {
      row[k] = w.data + smaller_of(o + k, n_cols - 1) * w.output + begin;
      __builtin_prefetch(row[k] + 4 * transposed_row);
    }
    for (int32_t i = 0; i < n; i += 16) {
      __m256i rows[4];
      HEED_UNROLL for (int32_t k = 0; k < 4; k++) rows[k] = load_two(row[k] + i, row[k + 4] + i, n - i, begin + i);
      const __m256i a = _mm256_unpacklo_epi32(rows[0], rows[1]), b = _mm256_unpacklo_epi32(rows[2], rows[3]),
                    c = _mm256_unpackhi_epi32(rows[0], rows[1]), d = _mm256_unpackhi_epi32(rows[2], rows[3]);
      unsigned char *const at = to + i / 4 * (4 * panel_outputs) + 4 * o;
      store_words(at, _mm256_unpacklo_epi64(a, b));
      store_words(at + 4 * panel_outputs, _mm256_unpackhi_epi64(a, b));
      store_words(at + 8 * panel_outputs, _mm256_unpacklo_epi64(c, d));
      store_words(at + 12 * panel_outputs, _mm256_unpackhi_epi64(c, d));
    }
  }
}

// Rows of inputs: bytes of four rows become words of 16 outputs. Rows that come next may lie on other pages.
HEED_NOINLINE void transpose_inputs(const int_weights &w, int32_t begin, int32_t n, int32_t n_cols, unsigned char *to) {
  for (int32_t i = 0; i < n; i += 4, to += 4 * panel_outputs) {
    const int8_t *row[4];
    HEED_UNROLL for (int32_t k = 0; k < 4; k++) {
      row[k] = w.data + (begin + smaller_of(i + k, n - 1)) * w.next;
      __builtin_prefetch(row[k] + transposed_row * w.next);
    }
    const auto transpose = [&](int32_t o, __m128i a, __m128i b, __m128i c, __m128i d) HEED_INLINED {
      const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d), ab_high = _mm_unpackhi_epi8(a, b),
                    cd_high = _mm_unpackhi_epi8(c, d);
      const auto pair = [](__m128i low, __m128i high)
                            HEED_INLINED { return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1); };
      store_words(to + 4 * o, pair(_mm_unpacklo_epi16(ab, cd), _mm_unpackhi_epi16(ab, cd)));
      store_words(to + 4 * o + 32, pair(_mm_unpacklo_epi16(ab_high, cd_high), _mm_unpackhi_epi16(ab_high, cd_high)));
    };
    int32_t o = 0;
    const auto whole = [&](int k)
                           HEED_INLINED { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(row[k] + o)); };
    for (; i + 4 <= n && o + 16 <= n_cols; o += 16) transpose(o, whole(0), whole(1), whole(2), whole(3));
    const auto part = [&](int k) { return i + k < n ? load_bytes(row[k] + o, n_cols - o, o) : _mm_setzero_si128(); };
    for (; o < n_cols; o += 16) transpose(o, part(0), part(1), part(2), part(3));
  }
}

// ---------------------------------------------------------------------------------------------------- register tiles

// Four inputs of each row. With 16 registers twelve hold sums, two a part of the weights, one the numbers of a row.
template <class I, int ROWS, int VECS, class Words>
HEED_INLINE void add_step(typename I::reg (&sum)[ROWS][VECS], Words words, const unsigned char *x, ptrdiff_t x_stride) {
  if constexpr (ROWS == 1) {
    HEED_UNROLL for (int v = 0; v < VECS; v++) {
      const auto w = words(v);
      HEED_UNROLL for (int part = 0; part < I::x_bytes; part++) sum[0][v] =
          I::dot(sum[0][v], I::part(w, part), I::set(load_word(x + 4 * part)));
    }
  } else {
    HEED_UNROLL for (int part = 0; part < I::x_bytes; part++) {
      typename I::reg w[VECS];
      HEED_UNROLL for (int v = 0; v < VECS; v++) w[v] = I::part(words(v), part);
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const auto numbers = I::set(load_word(x + r * x_stride + 4 * part));
        HEED_UNROLL for (int v = 0; v < VECS; v++) sum[r][v] = I::dot(sum[r][v], w[v], numbers);
      }
      asm volatile("" : "+r"(x));  // a part after another
    }
  }
}

template <class I, int VECS>
HEED_INLINE void fetch_ahead(const unsigned char *words) {
  HEED_UNROLL for (int at = 0; at < VECS * static_cast<int>(sizeof(typename I::reg)); at += 64)
      __builtin_prefetch(words + bytes_ahead + at, 0, 3);
}

// Outputs of the registers of a tile: those that there are not are the last one again. So a tile has any number of outputs.
template <class I, int VECS>
struct tile_outputs {
  int32_t at[VECS];
  HEED_INLINE explicit tile_outputs(int32_t n) {
    HEED_UNROLL for (int v = 0; v < VECS; v++) at[v] = smaller_of(v * I::lanes, n - I::lanes);
  }
};

// acc[r][0, VECS registers) (+)= term of the row + x w
template <class I, int ROWS, int VECS>
HEED_NOINLINE void int_tile(const int_opened &x, const int_words &w, bool first, void *acc, ptrdiff_t acc_stride) {
  using reg = typename I::reg;
  const tile_outputs<I, VECS> outputs(w.width);
  reg sum[ROWS][VECS];
  auto *to = static_cast<int32_t *>(acc);
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    const reg term = I::set(x.terms[r * x.term_stride]);
    HEED_UNROLL for (int v = 0; v < VECS; v++) sum[r][v] =
        first ? term : I::add(term, I::load(to + r * acc_stride + outputs.at[v]));
  }
  const unsigned char *at = x.data, *words = w.data;
  const ptrdiff_t stride = x.stride, step = w.step;
  for (int32_t i = w.n; i > 0; i--, words += step, at += 4 * I::x_bytes) {
    fetch_ahead<I, VECS>(words);
    add_step<I, ROWS, VECS>(
        sum, [&](int v) HEED_INLINED { return I::bytes(words + 4 * outputs.at[v]); }, at, stride);
  }
  HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int v = 0; v < VECS; v++)
      I::store(to + r * acc_stride + outputs.at[v], sum[r][v]);
}

// y[r][0, VECS registers) (+)= float(term of the row + x w) * scale, block after block
template <class I, bool NIBBLES, int ROWS, int VECS>
HEED_NOINLINE void block_tile(const int_opened &x, const int_blocks &of, bool first, float *y, ptrdiff_t y_stride) {
  using reg = typename I::reg;
  const int_words w = of.words;
  const tile_outputs<I, VECS> outputs(w.width);
  decltype(I::zero()) sum[ROWS][VECS];
  HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int v = 0; v < VECS; v++) sum[r][v] =
      first ? I::zero() : I::load_floats(y + r * y_stride + outputs.at[v]);
  const unsigned char *at = x.data, *scales = of.scales, *block = w.data;
  const ptrdiff_t stride = x.stride;
  for (int32_t b = 0; b < of.n; b++, scales += of.bytes, block += of.bytes) {
    reg acc[ROWS][VECS];
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int v = 0; v < VECS; v++) acc[r][v] =
        I::set(x.terms[r * x.term_stride + b]);
    const unsigned char *words = block;
    for (int32_t i = w.n; i > 0; i--, words += w.step, at += 4 * I::x_bytes) {
      fetch_ahead<I, VECS>(words);
      if constexpr (NIBBLES) {
        add_step<I, ROWS, VECS>(
            acc, [&](int v) HEED_INLINED { return I::half(words + 4 * outputs.at[v], false); }, at, stride);
        at += 4 * I::x_bytes;
        add_step<I, ROWS, VECS>(
            acc, [&](int v) HEED_INLINED { return I::half(words + 4 * outputs.at[v], true); }, at, stride);
      } else {
        add_step<I, ROWS, VECS>(
            acc, [&](int v) HEED_INLINED { return I::bytes(words + 4 * outputs.at[v]); }, at, stride);
      }
    }
    HEED_UNROLL for (int v = 0; v < VECS; v++) {
      const auto scale = I::halves(scales + 2 * outputs.at[v]);
      HEED_UNROLL for (int r = 0; r < ROWS; r++) sum[r][v] = I::add_scaled(sum[r][v], acc[r][v], scale);
    }
  }
  HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int v = 0; v < VECS; v++)
      I::store_floats(y + r * y_stride + outputs.at[v], sum[r][v]);
}

// tile(x, row, column, rows, registers), the last two constants, for all rows and outputs. ONE, TWO, MORE: outputs of tiles
// of one row, of two, and of more.
template <int ROWS, int ONE, int TWO, int MORE>
constexpr int outputs_of_tile() {
  if (ROWS == 1) return ONE;
  return ROWS == 2 ? TWO : MORE;
}
template <class I, int ONE, int TWO, int MORE, class Tile>
HEED_INLINE void each_tile(const int_opened &x, int32_t width, Tile tile) {
  int_opened part = x;
  for (int32_t row = 0, rows; row < x.n_rows; row += rows) {
    rows = rows_of_next_tile(x.n_rows - row, I::many_registers);
    part.data = x.data + row * x.stride;
    part.terms = x.terms + row * x.term_stride;
    for_each_constant<most_rows_of_tile>([&](auto before) HEED_INLINED {
      constexpr int tile_rows = decltype(before)::value + 1, n = outputs_of_tile<tile_rows, ONE, TWO, MORE>();
      if (rows != tile_rows) return;
      for (int32_t column = 0; column < width; column += n)
        tile(part, row, column, constant<tile_rows>(), constant<n / I::lanes>());
    });
  }
}

// --------------------------------------------------------------------------------------------------------- the model

template <class I>
struct x86_products : I {
  static void add(const int_opened &x, const int_words &w, bool first, void *acc, ptrdiff_t acc_stride) {
    each_tile<I, panel_outputs, I::two_outputs, I::six_outputs>(
        x, w.width, [&](const int_opened &part, int32_t row, int32_t column, auto rows, auto vecs) HEED_INLINED {
          int_tile<I, decltype(rows)::value, decltype(vecs)::value>(
              part, {w.data + 4 * column, w.step, w.n, w.width - column}, first,
              static_cast<char *>(acc) + 4 * (row * acc_stride + column), acc_stride);
        });
  }

  static void add_blocks(const int_opened &x, const int_blocks &of, bool first, float *y, ptrdiff_t y_stride) {
    each_tile<I, (I::many_registers ? panel_outputs : 32), I::two_outputs / 2, I::six_outputs / 2>(
        x, of.words.width, [&](const int_opened &part, int32_t row, int32_t column, auto rows, auto vecs) HEED_INLINED {
          int_blocks blocks = of;
          blocks.words.data += 4 * column;
          blocks.words.width -= column;
          blocks.scales += 2 * column;
          float *const to = y + row * y_stride + column;
          if (of.nibbles)
            block_tile<I, true, decltype(rows)::value, decltype(vecs)::value>(part, blocks, first, to, y_stride);
          else
            block_tile<I, false, decltype(rows)::value, decltype(vecs)::value>(part, blocks, first, to, y_stride);
        });
  }

  static void transpose_weights(const int_weights &w, int32_t begin, int32_t n, int32_t n_cols, unsigned char *to) {
    if (w.layout == int_layout::out_in)
      transpose_outputs(w, begin, n, n_cols, to);
    else
      transpose_inputs(w, begin, n, n_cols, to);
  }

  static float magnitude(const float *x, int32_t n) {
    int32_t i = 0;
    __m256i most = _mm256_setzero_si256(), second = most;
    const __m256i size = _mm256_set1_epi32(0x7fffffff);
    for (; i + 16 <= n; i += 16) {
      most =
          _mm256_max_epi32(most, _mm256_and_si256(size, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(x + i))));
      second = _mm256_max_epi32(
          second, _mm256_and_si256(size, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(x + i + 8))));
    }
    most = _mm256_max_epi32(most, second);
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return float_of_bits(greatest_magnitude(x + i, n - i, static_cast<uint32_t>(_mm_cvtsi128_si32(four))));
  }

  // Bytes without a sign are 128 more, and so are added by one instruction.
  static int32_t sum(const int8_t *x, int32_t n) {
    const __m256i by = _mm256_set1_epi8(-128);
    __m256i four = _mm256_setzero_si256();
    for (int32_t i = 0; i < n; i += 32)
      four = _mm256_add_epi32(
          four, _mm256_sad_epu8(_mm256_xor_si256(by, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(x + i))),
                                _mm256_setzero_si256()));
    const __m128i two = _mm_add_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0x4e))) - 128 * n;
  }

  static void quantise(const float *x, int32_t n, float inverse, int8_t *to) {
    int32_t i = 0;
    const __m256 by = _mm256_set1_ps(inverse);
    const auto eight = [&](int32_t k)
                           HEED_INLINED { return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i + k), by)); };
    for (; i + 32 <= n; i += 32) {
      const __m256i a = _mm256_packs_epi32(eight(0), eight(8)), b = _mm256_packs_epi32(eight(16), eight(24));
      const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + i),
                          _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), order));
    }
    for (; i < n; i++) to[i] = static_cast<int8_t>(int_quantised(x[i], inverse));
  }
};

}  // namespace
}  // namespace heed

#endif
