// Packed weights, and blocks as they lie in a file, on compact models that take apart words in registers: two rows and two
// registers of outputs at a time, for any number of rows.
#ifndef HEED_GENERIC_COMPACT_PACKED_HPP
#define HEED_GENERIC_COMPACT_PACKED_HPP

#include "compact.hpp"
#include "packed_words.hpp"

namespace heed {

// y = bias + x w, or in blocks y += scales * (x w), of ROWS rows and VECS registers of outputs, whose words are int8.
template <class V, word_kind KIND, int ROWS, int VECS>
static HEED_NOINLINE void compact_words(const linear_block &b, const word_piece &w) {
  constexpr bool BLOCKS = in_blocks(KIND);
  const float *x[ROWS];
  float *y[ROWS];
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    x[r] = b.x + r * b.x_stride;
    y[r] = b.y + r * b.y_stride;
  }
  const float *const bias = b.bias;
  const ptrdiff_t word_stride = w.word_stride, block_stride = w.block_stride;
  const unsigned char *words = w.words, *scales = w.scales;
  const ptrdiff_t zeros = w.zeros - w.scales;
  typename V::reg sum[ROWS][VECS];
  for (int32_t left = b.depth, n; left > 0; left -= n) {
    n = BLOCKS ? smaller_of(left, block_inputs) : left;
    const float *const start = BLOCKS ? nullptr : bias;
    start_tile<V, ROWS, VECS>(sum, [=](int, int v) HEED_INLINED { return load_or_zero<V>(start, v * V::lanes); });
    const unsigned char *p = words;
    const auto add = [&](int32_t inputs) HEED_INLINED {
      HEED_UNROLL for (int v = 0; v < VECS; v++) {
        const auto add_number = [&](auto j, typename V::reg number) HEED_INLINED {
          if (decltype(j)::value >= inputs) return;
          if (!BLOCKS) number = V::mul(number, load_word<V>(scales + 4 * v * V::lanes));
          HEED_UNROLL for (int r = 0; r < ROWS; r++) sum[r][v] =
              V::fma(V::factor(x[r][decltype(j)::value]), number, sum[r][v]);
        };
        if constexpr (KIND == word_kind::shifted)
          V::each_byte_less(p + 4 * v * V::lanes, scales + zeros + 4 * v * V::lanes, add_number);
        else
          V::each_byte(p + 4 * v * V::lanes, add_number);
        // One register of words after the other: all at once would take more registers than there are.
        HEED_UNROLL for (int r = 0; r < ROWS; r++) V::in_turn(sum[r][v], p);
        if (!BLOCKS) V::in_turn(sum[0][v], scales);
      }
      p += word_stride;
      HEED_UNROLL for (int r = 0; r < ROWS; r++) V::in_turn(sum[r][0], x[r] += inputs);
    };
    int32_t i = n;
    for (; i >= 4; i -= 4) add(4);
    if (i > 0) add(i);
    if (BLOCKS) {
      HEED_UNROLL for (int v = 0; v < VECS; v++) {
        const typename V::reg half = V::load(reinterpret_cast<const f16 *>(scales) + v * V::lanes);
        HEED_UNROLL for (int r = 0; r < ROWS; r++) sum[r][v] = V::fma(half, sum[r][v], V::load(y[r] + v * V::lanes));
      }
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {  // when both have been read, which may be the same
      HEED_UNROLL for (int v = 0; v < VECS; v++) V::store(y[r] + v * V::lanes, sum[r][v]);
    }
    words += block_stride;
    scales += block_stride;
  }
}

// Registers of outputs side by side: for one row, and for more.
constexpr int row_vecs = 4, rows_vecs = 2;
template <class V>
static int32_t compact_columns(const linear_block &b, int32_t left) {
  const int32_t vecs = left / V::lanes;
  if (b.n_rows == 1 && vecs >= row_vecs) return row_vecs * V::lanes;
  if (vecs >= rows_vecs) return rows_vecs * V::lanes;
  return V::lanes;
}

// So many columns of all rows. A last row of several is its own second one.
template <class V, word_kind KIND>
static HEED_NOINLINE void compact_words_of_rows(linear_block b, const word_piece &w) {
  if (b.n_cols == row_vecs * V::lanes) return compact_words<V, KIND, 1, row_vecs>(b, w);
  for (; b.n_rows > 0; b.n_rows -= 2) {
    const ptrdiff_t x_step = 2 * b.x_stride, y_step = 2 * b.y_stride;
    if (b.n_rows == 1) b.x_stride = b.y_stride = 0;
    if (b.n_cols > V::lanes)
      compact_words<V, KIND, 2, rows_vecs>(b, w);
    else
      compact_words<V, KIND, 2, 1>(b, w);
    b.x += x_step;
    b.y += y_step;
  }
}

// A block of some registers of outputs as words of int8, a row of them after the other.
template <class V>
struct block_copy {
  static constexpr int32_t outputs = row_vecs * V::lanes;
  unsigned char words[outputs * block_inputs], scales[2 * outputs];
};

// Nibbles, whose high halves lie `high` rows of words behind the low ones, from 4 rows of words.
template <class V>
static HEED_NOINLINE void spread_nibbles(block_copy<V> &copy, const unsigned char *from, ptrdiff_t stride, int32_t high,
                                         int32_t n_cols) {
  constexpr int32_t row = 4 * block_copy<V>::outputs;
  unsigned char *to = copy.words;
  for (int k = 0; k < 4; k++, from += stride, to += high == 1 ? 2 * row : row) {
    for (int32_t c = 0; c < 4 * n_cols; c += 4 * V::lanes) {
      const typename V::reg word = load_word<V>(from + c);
      V::store(reinterpret_cast<float *>(to + c), V::bytes_of_nibbles(word));
      V::store(reinterpret_cast<float *>(to + c + high * row), V::bytes_of_nibbles(V::template shift_down<4>(word)));
    }
  }
}

// Words and scales of a file's block. Outputs beyond n repeat the last.
template <class V>
static HEED_NOINLINE void gather_block(block_copy<V> &to, const unsigned char *from, ptrdiff_t stride, int32_t n,
                                       int32_t n_cols, bool nibbles) {
  for (int32_t c = 0; c < n_cols; c++) {
    const unsigned char *p = from + (smaller_of(c, n - 1)) * stride;
    __builtin_memcpy(to.scales + 2 * c, p, 2);
    unsigned char *word = to.words + 4 * c;
    for (int32_t k = nibbles ? 4 : 8; k > 0; k--, p += 4, word += 4 * block_copy<V>::outputs)
      __builtin_memcpy(word, p + 2, 4);
  }
}

// y += x w with blocks, of the columns after `column` that are done at once.
template <class V>
static HEED_NOINLINE void add_compact_blocks(linear_block b, const any_words &w, int32_t column) {
  const bool nibbles = w.dtype == stored_q4_0;
  const ptrdiff_t bytes = block_bytes_of(w.dtype), row = 4 * block_copy<V>::outputs;
  const unsigned char *from = w.data + column * (w.of_file ? w.stride : 2);
  if (!w.of_file && !nibbles)
    return compact_words_of_rows<V, word_kind::bytes>(
        b, {from + 2 * w.stride + 2 * column, from, 4 * w.stride, bytes * w.stride, word_kind::bytes, false, nullptr});
  block_copy<V> raw, copy;
  const int32_t depth = b.depth;
  for (int32_t begin = 0; begin < depth; begin += block_inputs, b.x += block_inputs) {
    b.depth = smaller_of(depth - begin, block_inputs);
    word_piece piece = {copy.words, from, row, 0, word_kind::bytes, false, nullptr};
    if (w.of_file) {
      block_copy<V> &to = nibbles ? raw : copy;
      gather_block<V>(to, from, w.stride, w.n_out - column, b.n_cols, nibbles);
      piece.scales = to.scales;
      if (nibbles) spread_nibbles<V>(copy, raw.words, row, 4, b.n_cols);
      from += bytes;
    } else {
      spread_nibbles<V>(copy, from + 2 * w.stride + 2 * column, 4 * w.stride, 1, b.n_cols);
      from += bytes * w.stride;
    }
    compact_words_of_rows<V, word_kind::bytes>(b, piece);
  }
}

// y = bias + x w with int8, or y += x w with blocks, for whole registers of outputs from `first` on.
template <class V>
static HEED_NOINLINE void compact_whole(const linear_block &of, const any_words &w, int32_t first) {
  linear_block b = of;
  const ptrdiff_t row = 4 * w.stride;
  for (int32_t done = 0; done < of.n_cols; done += b.n_cols) {
    const int32_t column = first + done;
    b.n_cols = compact_columns<V>(of, of.n_cols - done);
    b.y = of.y + done;
    if (of.bias) b.bias = of.bias + done;
    const unsigned char *const scales = w.data + 4 * column;
    if (w.dtype == stored_int8)
      compact_words_of_rows<V, word_kind::scaled>(b, {scales + row, scales, row, 0, word_kind::scaled, false, nullptr});
    else if (w.dtype == stored_uint8)
      compact_words_of_rows<V, word_kind::shifted>(
          b, {scales + 2 * row, scales, row, 0, word_kind::shifted, false, scales + row});
    else
      add_compact_blocks<V>(b, w, column);
  }
}

// int8: the last register overlaps columns that are done, and computes them again.
template <class V>
static HEED_NOINLINE void compact_int8(const linear_block &b, const any_words &w) {
  linear_block part = b;
  part.n_cols = b.n_cols / V::lanes * V::lanes;
  compact_whole<V>(part, w, 0);
  if (part.n_cols == b.n_cols) return;
  const int32_t last = b.n_cols - V::lanes;
  compact_whole<V>(from_column(b, last), w, last);
}

}  // namespace heed

#endif
