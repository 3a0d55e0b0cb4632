// Register tiles over packed words, whose numbers become floats in registers and whose chains go on in y.
#ifndef HEED_GENERIC_PACKED_WORDS_HPP
#define HEED_GENERIC_PACKED_WORDS_HPP

#include "../../kernel_contract/packed_layout.hpp"
#include "../widen.hpp"
#include "tile.hpp"

namespace heed {

// What words hold: int8 with a scale for each output, and with a zero point; bytes in blocks (Q8_0, or halves of
// Q4_0's); Q4_0.
enum class word_kind { scaled, shifted, bytes, nibbles };
constexpr bool in_blocks(word_kind kind) { return kind == word_kind::bytes || kind == word_kind::nibbles; }
template <word_kind KIND>
constexpr int word_inputs = KIND == word_kind::nibbles ? 8 : 4;

// Words of some outputs, rows of them word_stride bytes apart, of an input that begins a block and those after it.
struct word_piece {
  const unsigned char *words, *scales;
  ptrdiff_t word_stride, block_stride;  // both words and scales of the next block
  word_kind kind;
  bool unsigned_bytes;         // bytes are 8 more than the number, else int8
  const unsigned char *zeros;  // words, too: of shifted ones
};

// Weights of either kind: a panel, or blocks as they lie in a file, rows of them `stride` bytes apart.
struct any_words {
  const unsigned char *data;
  int32_t dtype;
  bool of_file;
  ptrdiff_t stride;  // of a panel: its width
  int32_t n_out;     // which columns of the last register may exceed
};

template <class V>
HEED_INLINE typename V::reg load_word(const unsigned char *p) {
  return V::load(reinterpret_cast<const float *>(p));
}

// Parts of words become floats: the last bits of 2^23 or, where they stand, of a smaller power of two, by operations of
// bits and a difference, all exact. Two bytes are there in place, the others after one shift; or a shuffle finds each.
template <class V>
struct part_numbers {
  uint32_t mask, flip;
  typename V::reg zero;
  // From bit BIT on; less 8, or int8.
  HEED_INLINE part_numbers(int bit, bool nibbles, bool less_8) {
    const uint32_t bits_of_part = nibbles ? 15u : 255u;
    const uint32_t sign = less_8 ? 0 : 128u;
    const int least = less_8 ? 8 : 128;
    mask = V::shuffles_bytes && !nibbles ? ~0u : bits_of_part << bit;
    flip = (150u - static_cast<uint32_t>(bit)) << 23 | sign << bit;
    zero = V::set(static_cast<float>((8388608 >> bit) + least));
  }
  HEED_INLINE typename V::reg of(typename V::reg word) const { return V::sub(V::masked(word, mask, flip), zero); }
};
// The zero points of a register of outputs, for a byte that is alone or the first one, and for the second one of 16 bits.
template <class V>
struct zero_points {
  typename V::reg first, second;
  HEED_INLINE typename V::reg of(bool is_second) const { return is_second ? second : first; }
  HEED_INLINE void load(const unsigned char *words) {
    first = V::masked(load_word<V>(words), 0xff, 0x4b000080);
    second = V::sub(first, V::set(0x1p23f - 0x1p15f));
  }
};

// f(0), f(STEP), ... below N: a loop where code is scarce.
template <bool UNROLLED, int N, int STEP, class F>
HEED_INLINE void repeat(F f) {
  if constexpr (UNROLLED)
    for_each_constant<N / STEP>([&](auto i) HEED_INLINED { f(decltype(i)::value * STEP); });
  else
    for (int i = 0; i < N; i += STEP) f(i);
}

// add(j, number) for number j of each of VECS words, j ascending: number(v) is that of word v, and load(p, v) the word.
template <class V, word_kind KIND, int VECS, class Load, class Add>
HEED_INLINE void each_number(const unsigned char *p, bool less_8, const zero_points<V> (&zeros)[VECS], Load load,
                             Add add) {
  using reg = typename V::reg;
  const auto number = [&](const part_numbers<V> &part, reg word, int v, bool second = false) HEED_INLINED {
    if constexpr (KIND == word_kind::shifted)
      return V::sub(V::masked(word, part.mask, part.flip), zeros[v].of(second));
    else
      return (void)zeros, (void)v, (void)second, part.of(word);
  };
  constexpr bool nibbles = KIND == word_kind::nibbles, unrolled = VECS == 1;
  if constexpr (V::shuffles_bytes) {
    for_each_constant<word_inputs<KIND> / 4>([&](auto half) HEED_INLINED {
      const part_numbers<V> part(4 * decltype(half)::value, nibbles, nibbles || less_8);
      repeat<unrolled, 4, 1>([&](int j) HEED_INLINED {
        const reg order = V::byte_order(j);
        asm volatile("" : "+r"(p));  // words are loaded again: there are no registers to keep them in
        add(j + 4 * decltype(half)::value,
            [&](int v) HEED_INLINED { return number(part, V::shuffle_bytes(load(p, v), order), v); });
      });
    });
  } else {
    reg words[VECS];
    HEED_UNROLL for (int v = 0; v < VECS; v++) words[v] = load(p, v);
    const part_numbers<V> first(0, nibbles, nibbles || less_8), second(8, nibbles, nibbles || less_8);
    repeat<unrolled, word_inputs<KIND>, 4>([&](int j) HEED_INLINED {
      if constexpr (nibbles && V::finds_nibbles) {
        for_each_constant<4>([&](auto byte) HEED_INLINED {
          constexpr int k = decltype(byte)::value;
          add(j + k, [&](int v) HEED_INLINED { return V::nibble(V::template shift_down<8 * k>(words[v])); });
        });
      } else {
        reg bytes[VECS];
        HEED_UNROLL for (int v = 0; v < VECS; v++) bytes[v] = words[v];
        repeat<unrolled, 4, 2>([&](int k) HEED_INLINED {
          add(j + k, [&](int v) HEED_INLINED { return number(first, bytes[v], v); });
          add(j + k + 1, [&](int v) HEED_INLINED {
            const reg x = number(second, bytes[v], v, true);
            bytes[v] = V::template shift_down<16>(bytes[v]);
            return x;
          });
        });
      }
      if constexpr (nibbles) {
        HEED_UNROLL for (int v = 0; v < VECS; v++) words[v] = V::template shift_down<4>(words[v]);
      }
    });
  }
}

// y[r][0, b.n_cols) goes on by all of b.depth, whole words or blocks: one to VECS registers. The last one overlaps
// others, and those that are not there repeat it.
template <class V, word_kind KIND, int ROWS, int VECS>
static HEED_NOINLINE void add_words(const linear_block &b, const word_piece &of) {
  constexpr bool blocks = in_blocks(KIND);
  const word_piece w = of;  // copies, because for the compiler a store of a register may change them
  const float *x = b.x;
  float *const y = b.y;
  const ptrdiff_t x_stride = b.x_stride, y_stride = b.y_stride;
  const unsigned char *scales = w.scales, *words = w.words;
  typename V::reg sum[ROWS][VECS], scale[VECS];
  ptrdiff_t at[VECS];
  zero_points<V> zeros[VECS] = {};
  HEED_UNROLL for (int v = 0; v < VECS; v++) {
    at[v] = smaller_of(v * V::lanes, b.n_cols - V::lanes);
    if (!blocks) scale[v] = load_word<V>(scales + 4 * at[v]);
    if (KIND == word_kind::shifted) zeros[v].load(w.zeros + 4 * at[v]);
  }
  const int32_t run = blocks ? block_inputs : b.depth;
  // Two rows may read every other line of a panel, which no processor foresees: they ask for those of the next run.
  constexpr bool fetches = !V::compact;
  ptrdiff_t ahead = bytes_ahead;
  if (ROWS > 1) ahead = blocks ? b.depth / block_inputs * w.block_stride : b.depth / 4 * w.word_stride;
  for (int32_t left = b.depth; left > 0; left -= run) {
    start_tile<V, ROWS, VECS>(sum, [=](int r, int v) HEED_INLINED {
      if (blocks) return V::set(0.0f);
      return V::load(y + r * y_stride + at[v]);
    });
    const unsigned char *p = words;
    constexpr int inputs = word_inputs<KIND>;
    for (int32_t i = 0; i < run; i += inputs, p += w.word_stride, x += inputs) {
      if (fetches) {
        HEED_UNROLL for (int l = 0; l < 4 * VECS * V::lanes; l += 64) __builtin_prefetch(p + ahead + l, 0, 3);
      }
      each_number<V, KIND, VECS>(
          p, blocks && w.unsigned_bytes, zeros,
          [&](const unsigned char *word, int v) HEED_INLINED { return load_word<V>(word + 4 * at[v]); },
          [&](int j, auto number) HEED_INLINED {
            const auto scaled_number = [&](int v) HEED_INLINED {
              if (blocks) return number(v);
              return V::mul(number(v), scale[v]);
            };
            if (ROWS == 1) {
              auto factor = V::factor(x[j]);
              V::pin(factor);
              HEED_UNROLL for (int v = 0; v < VECS; v++) sum[0][v] = V::fma(factor, scaled_number(v), sum[0][v]);
            } else {
              typename V::reg numbers[VECS];
              HEED_UNROLL for (int v = 0; v < VECS; v++) numbers[v] = scaled_number(v);
              add_step<V, ROWS, VECS>(sum, numbers, [&](int r) HEED_INLINED { return x[r * x_stride + j]; });
            }
          });
    }
    HEED_UNROLL for (int v = 0; blocks && v < VECS; v++) {
      const typename V::reg half = V::load(reinterpret_cast<const f16 *>(scales) + at[v]);
      HEED_UNROLL for (int r = 0; r < ROWS; r++) sum[r][v] = V::fma(half, sum[r][v], V::load(y + r * y_stride + at[v]));
    }
    HEED_UNROLL for (int v = 0; v < VECS; v++) {  // when all have been read
      HEED_UNROLL for (int r = 0; r < ROWS; r++) V::store(y + r * y_stride + at[v], sum[r][v]);
    }
    words += w.block_stride;
    scales += w.block_stride;
  }
}

// [begin, end) numbers of `width` outputs as floats, and those that share their last word; times a scale, if there are.
template <class V, word_kind KIND>
static HEED_NOINLINE void widen_words(float *to, ptrdiff_t to_stride, const word_piece &w, const float *scales,
                                      int32_t width, int32_t begin, int32_t end) {
  constexpr int inputs = word_inputs<KIND>;
  const unsigned char *words = w.words + begin / inputs * w.word_stride;
  for (int32_t i = begin; i < end; i += inputs, words += w.word_stride, to += inputs * to_stride) {
    for (int32_t n = 0; n < width; n += V::lanes) {
      const typename V::reg scale = scales ? V::load(scales + n) : V::set(1.0f);
      float *at = to + n;
      if (!V::compact) __builtin_prefetch(words + 4 * n + 6144, 0, 2);  // the next piece of int8
      zero_points<V> zeros[1] = {};
      if (KIND == word_kind::shifted) zeros[0].load(w.zeros + 4 * n);
      each_number<V, KIND, 1>(
          words + 4 * n, w.unsigned_bytes, zeros,
          [](const unsigned char *p, int) HEED_INLINED { return load_word<V>(p); },
          [&](int, auto number) HEED_INLINED {
            V::store(at, V::mul(number(0), scale));
            at += to_stride;
          });
    }
  }
}

}  // namespace heed

#endif
