// One row times bytes with zero points whose rows are inputs. Four registers' worth of bytes are found where they lie, by
// few operations for all. Their outputs then stand in an order of their own, in which y holds the chains between strips of
// depth. A model that orders tiles has functions for both; else bytes are found in words, register v holds outputs v,
// v + 4, v + 8 and so on.
#ifndef HEED_GENERIC_BYTE_ROW_HPP
#define HEED_GENERIC_BYTE_ROW_HPP

#include "ways.hpp"

namespace heed {

// 2^23 + byte, or 2^15 + it in registers 1 and 3.
template <class V>
HEED_INLINE void codes_of_tile(const weight_byte *p, uint32_t flip, typename V::reg (&code)[4]) {
  if constexpr (V::orders_tiles) {
    V::codes_of_tile(&p->bits, flip, code);
  } else {
    const typename V::reg word = V::load(reinterpret_cast<const float *>(p)), half = V::template shift_down<16>(word);
    code[0] = V::masked(word, 0xff, 0x4b000000 | flip), code[1] = V::masked(word, 0xff00, 0x47000000 | flip << 8);
    code[2] = V::masked(half, 0xff, 0x4b000000 | flip), code[3] = V::masked(half, 0xff00, 0x47000000 | flip << 8);
  }
}
// Floats into that order; step 0: all registers are the one at p.
template <class V>
HEED_INLINE void load_tile(const float *p, ptrdiff_t step, typename V::reg (&r)[4]) {
  if (step == 0) {
    HEED_UNROLL for (int v = 0; v < 4; v++) r[v] = V::load(p);
  } else if constexpr (V::orders_tiles) {
    V::load_tile(p, r);
  } else {
    V::transpose4(p, 4, r);
  }
}
template <class V>
HEED_INLINE void store_tile(float *p, const typename V::reg (&r)[4]) {
  if constexpr (V::orders_tiles) {
    V::store_tile(p, r);
  } else {
    float of_register[4][V::lanes];
    HEED_UNROLL for (int v = 0; v < 4; v++) V::store(of_register[v], r[v]);
    for (int i = 0; i < 4 * V::lanes; i++) p[i] = of_register[i % 4][i / 4];
  }
}

// Outputs [column, + 4 registers), inputs [begin, end). The chains begin at the start of x; what ends is put in order.
template <class V>
static HEED_NOINLINE void byte_row_tile(const linear_block &of, const weights_of<weight_byte> &weights, int32_t column,
                                        int32_t begin, int32_t end) {
  using reg = typename V::reg;
  const weights_of<weight_byte> w = weights;
  float *const y = of.y + column;
  reg sum[4], scale[4], zero[4], code[4];
  load_tile<V>(w.scales + column * w.scale_step, w.scale_step, scale);
  codes_of_tile<V>(w.zeros + column * w.zero_step, w.flip, zero);
  HEED_UNROLL for (int v = 0; v < 4; v++) sum[v] = begin ? V::load(y + v * V::lanes) : V::set(0.0f);
  if (begin == 0 && of.bias) load_tile<V>(of.bias + column, 1, sum);
  const weight_byte *p = w.data + begin * w.stride + column;
  const ptrdiff_t ahead = end < of.depth ? (end - begin) * w.stride : 0;
  for (int32_t i = begin; i < end; i++, p += w.stride) {
    if (ahead) fetch(p + ahead);
    const auto x = V::factor(of.x[i]);
    codes_of_tile<V>(p, w.flip, code);
    HEED_UNROLL for (int v = 0; v < 4; v++) sum[v] = V::fma(x, V::mul(V::sub(code[v], zero[v]), scale[v]), sum[v]);
  }
  if (end == of.depth) return store_tile<V>(y, sum);
  HEED_UNROLL for (int v = 0; v < 4; v++) V::store(y + v * V::lanes, sum[v]);
}

// At least 4 registers of outputs. The last tile overlaps outputs that are done, and computes them again; so does the
// first one, where the others then find bytes that share no cache line. Rows of which a tile takes half a line, and that
// push each other out of the first-level cache, are read in short strips.
template <class V>
static void multiply_byte_row(const linear_block &b, const weights_of<weight_byte> &w) {
  constexpr int32_t width = 4 * V::lanes;
  const int32_t strip = width < 64 && w.stride % 1024 == 0 ? 16 : 64;
  const int32_t run = b.depth * w.stride > 256 * 1024 ? strip : b.depth;
  const auto misfit = static_cast<int32_t>(reinterpret_cast<uintptr_t>(w.data) % width);
  const int32_t first = misfit && w.stride % width == 0 && b.n_cols >= 4 * width ? width - misfit : 0;
  const int32_t last = first + (b.n_cols - first) / width * width;
  if (first > 0) byte_row_tile<V>(b, w, 0, 0, b.depth);
  for (int32_t begin = 0; begin < b.depth; begin += run)
    for (int32_t column = first; column < last; column += width)
      byte_row_tile<V>(b, w, column, begin, end_of_block(begin, run, b.depth));
  if (last < b.n_cols) byte_row_tile<V>(b, w, b.n_cols - width, 0, b.depth);
}

}  // namespace heed

#endif
