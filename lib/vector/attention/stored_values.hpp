// Values of a block as rows of floats, wherever they are stored: as they lie, or widened piece by piece on the stack,
// once for all rows of a tile; and the sum of p v over them.
#ifndef HEED_GENERIC_STORED_VALUES_HPP
#define HEED_GENERIC_STORED_VALUES_HPP

#include "../../no_vectors/one_lane.hpp"
#include "../widen.hpp"

namespace heed {

// Floats that a kernel widens at a time, on the stack.
template <class V>
constexpr int32_t panel_floats() {
  if (V::lanes == 1) return 128;
  if (V::compact) return 256;
  return sizeof(void *) < 8 ? 512 : 1024;  // 32-bit x86 spills its few registers there, too
}

// A kernel that looks ahead has no small caches.
template <class V>
HEED_INLINE bool stored_block_is_far(const tile &t, const key_block &b, int32_t element_bytes) {
  return V::lanes > 1 && !V::compact && block_is_far(t, b, element_bytes);
}

// Keys [from, to) of a block, columns [column, column + n_cols) of their values, whose sums are in acc from `acc` on:
// n_cols is a multiple of V::lanes, or v_dim and less than that.
struct value_piece {
  const float *v;  // of key `from`
  ptrdiff_t stride;
  int32_t from, to, n_cols, acc;
};

// Rows of a panel from rows of narrow numbers. With a frame of its own: inlined, clang keeps what it hoists on the
// stack of three functions (1 KB with Helium).
template <class V, class T>
static HEED_NOINLINE void widen_panel(float *panel, int32_t width, const T *from, ptrdiff_t stride, const float *scales,
                                      ptrdiff_t scale_stride, int32_t n_rows, int32_t n_cols) {
  for (int32_t i = 0; i < n_rows; i++) {
    const float scale = sizeof(T) == 1 ? scales[i * scale_stride] : 0.0f;
    widen_row<V>(panel + i * width, from + i * stride, n_cols, scale);
  }
}

// The values of a block piece by piece: keys in ascending order, and of each set of keys all columns. STORED: in a
// storage; else rows of floats. There is one piece at least, even without keys: sums begin somewhere.
template <class V, bool STORED>
class value_pieces {
 public:
  HEED_INLINE value_pieces(const tile &t, const key_block &b) : s(*t.s), b(b), slot(b.begin) {
    if (STORED) {
      slot = s.rule->stored->slot_of(b.begin);
      dtype = s.rule->stored->value_format;
    }
    at.from = b.from;
  }
  // False: there are no more.
  HEED_INLINE bool next(value_piece &p) {
    constexpr int32_t room = panel_floats<V>(), wide = room >= 1024 ? 64 : 32, rows = room / wide;
    const bool floats = !STORED || dtype == 0;
    const int32_t width = floats ? s.v_dim : wide;
    const int32_t whole = s.v_dim < V::lanes ? s.v_dim : s.v_dim / V::lanes * V::lanes;
    if (column >= s.v_dim) {
      if (at.to >= b.n) return false;
      at.from = at.to;
      column = 0;
    }
    at.to = floats || b.n - at.from < rows ? b.n : at.from + rows;
    // Where v_dim is no multiple of a register, the last part is the row's last register (rows.hpp).
    const int32_t begin = column < whole ? column : s.v_dim - V::lanes;
    at.acc = column;
    at.n_cols = column >= whole ? static_cast<int32_t>(V::lanes) : smaller_of(whole - column, width);
    column = column < whole ? column + at.n_cols : s.v_dim;
    if (floats) {
      at.v = s.v.data + (slot + at.from) * s.v.stride + begin;
      at.stride = s.v.stride;
    } else if constexpr (STORED) {
      widen(begin, wide);
      at.v = panel;
      at.stride = wide;
    }
    p = at;
    return true;
  }

 private:
  const stream &s;
  const key_block &b;
  ptrdiff_t slot;
  int32_t dtype = 0, column = 0;
  value_piece at = {};
  float panel[STORED ? panel_floats<V>() : 1];

  HEED_NOINLINE void widen(int32_t begin, int32_t width) {
    const storage &in = *s.rule->stored;
    const ptrdiff_t row = slot + at.from, scale_stride = in.value_scales.row_stride;
    const float *scales = scales_of(s, in.value_scales) + row * scale_stride;
    with_narrow_format(dtype, [&](auto number) {
      using T = decltype(number);
      widen_panel<V>(panel, width, reinterpret_cast<const T *>(s.v.data) + row * s.v.stride + begin, s.v.stride, scales,
                     scale_stride, at.to - at.from, at.n_cols);
    });
  }
};

// acc += p v of a piece for rows [row, row + n_rows), of its keys [from, to); ragged: of those that each row sees.
template <class V>
static HEED_NOINLINE void add_value_piece(const tile &t, const key_block &b, const value_piece &p, int32_t row,
                                          int32_t n_rows, int32_t from, int32_t to, bool ragged, chain start,
                                          const float *ahead = nullptr) {
  const float *v = p.v + (from - p.from) * p.stride;
  if constexpr (V::lanes == 1) {
    (void)start, (void)ahead;  // acc has alpha already
    stream here = *t.s;
    here.v = {v - (b.begin + from) * p.stride, p.stride};
    here.v_dim = p.n_cols;
    tile moved = t;
    moved.s = &here;
    moved.chunk.acc += p.acc;
    const key_block keys = {b.begin, from, to, b.first};
    product o;
    for (int32_t r = row, rows; r < row + n_rows; r += rows) {
      rows = tile_height(row + n_rows - r, V::sum_rows);
      if (ragged)
        add_tile<V>(o, moved, keys, r, rows);
      else
        add_values<V>(o, moved, keys, r, rows, from, to);
    }
  } else {
    const ptrdiff_t p_row = t.lanes_are_queries ? 1 : block_keys;
    const ptrdiff_t p_key = t.lanes_are_queries ? t.row_capacity : 1;
    const sum_operands o = {t.scores + row * p_row + from * p_key,
                            p_row,
                            p_key,
                            v,
                            p.stride,
                            t.chunk.acc + row * t.acc_stride + p.acc,
                            t.acc_stride,
                            t.alpha + row,
                            to - from,
                            ahead,
                            p.stride,
                            p.n_cols,
                            0};
    if (ragged)
      sum_ragged(o, start, n_rows, {t.first + row, t.last + row, b.begin + from}, V::sum_rows, sum_values<V>);
    else
      sum_values<V>(o, start, n_rows);
  }
}

// acc = acc * alpha + p v for ROWS rows from `row` on, which see all keys of the block, and VECS registers of columns.
// Few rows do not repay a copy of the widened values: each is widened on its way to the sums.
template <class V, class T, int ROWS, int VECS>
static HEED_NOINLINE void add_narrow_rows(const tile &t, const key_block &b, int32_t row, const T *v, const T *ahead,
                                          const float *scales, int32_t column, int32_t place) {
  const ptrdiff_t stride = t.s->v.stride, scale_stride = t.s->rule->stored->value_scales.row_stride;
  const float *weights = t.scores + row * block_keys;
  float *to = t.chunk.acc + row * t.acc_stride + place;
  typename V::reg acc[ROWS][VECS];
  start_tile<V, ROWS, VECS>(acc, [&](int r, int i) HEED_INLINED {
    return b.first ? V::set(0.0f) : V::mul(V::load(to + r * t.acc_stride + i * V::lanes), V::set(t.alpha[row + r]));
  });
  v += column;
  for (int32_t j = b.from; j < b.n; j++, v += stride) {
    if (ahead) {
      constexpr int line = 64 / sizeof(T);
      HEED_UNROLL for (int i = 0; i < VECS * V::lanes; i += line)
          __builtin_prefetch(ahead + (j - b.from) * stride + column + i, 0, 2);
    }
    typename V::reg columns[VECS];
    HEED_UNROLL for (int i = 0; i < VECS; i++) {
      columns[i] = V::load(v + i * V::lanes);
      if (sizeof(T) == 1) columns[i] = V::mul(columns[i], V::set(scales[j * scale_stride]));
    }
    add_step<V, ROWS, VECS>(acc, columns, [=](int r) HEED_INLINED { return weights[r * block_keys + j]; });
  }
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    HEED_UNROLL for (int i = 0; i < VECS; i++) V::store(to + r * t.acc_stride + i * V::lanes, acc[r][i]);
  }
}

template <class V, class T>
static void add_values_of_few_rows(const tile &t, const key_block &b) {
  const stream &s = *t.s;
  const storage &at = *s.rule->stored;
  const ptrdiff_t slot = at.slot_of(b.begin);
  const auto row_at = [&](ptrdiff_t key) { return reinterpret_cast<const T *>(s.v.data) + key * s.v.stride; };
  const T *v = row_at(slot + b.from), *ahead = nullptr;
  if (stored_block_is_far<V>(t, b, sizeof(T))) ahead = row_at(at.slot_of(b.begin + block_keys) + b.from);
  for (int32_t row = 0, rows; row < t.n_rows; row += rows) {
    rows = t.n_rows - row >= 2 ? 2 : 1;
    if (t.n_rows - row >= 4) rows = 4;
    const T *const ahead_of_tile = row == 0 ? ahead : nullptr;
    const auto add = [&](auto n_rows, auto n_vecs, int32_t column, int32_t place) {
      add_narrow_rows<V, T, decltype(n_rows)::value, decltype(n_vecs)::value>(
          t, b, row, v, ahead_of_tile, scales_of(s, at.value_scales) + slot * at.value_scales.row_stride, column,
          place);
    };
    const auto columns = [&](auto n_rows) {
      constexpr int wide = 4;
      int32_t c = 0;
      for (; c + wide * V::lanes <= s.v_dim; c += wide * V::lanes) add(n_rows, constant<wide>(), c, c);
      for (; c + V::lanes <= s.v_dim; c += V::lanes) add(n_rows, constant<1>(), c, c);
      if (c < s.v_dim) add(n_rows, constant<1>(), s.v_dim - V::lanes, c);
    };
    if (rows == 4)
      columns(constant<4>());
    else if (rows == 2)
      columns(constant<2>());
    else
      columns(constant<1>());
  }
}

// acc = acc * alpha + p v over a block.
template <class V>
static HEED_NOINLINE void add_stored(const tile &t, const key_block &b) {
  const stream &s = *t.s;
  const storage &at = *s.rule->stored;
  const bool ragged = !all_see(t, b);
  if constexpr (V::lanes > 1 && !V::compact && V::loads_narrow) {
    if (!t.lanes_are_queries && !ragged && s.v_dim >= V::lanes && at.value_format != 0)
      return with_narrow_format(at.value_format,
                                [&](auto number) { add_values_of_few_rows<V, decltype(number)>(t, b); });
  }
  const bool far = stored_block_is_far<V>(t, b, 4) && !t.lanes_are_queries && at.value_format == 0;
  const float *ahead = far ? s.v.from(at.slot_of(b.begin + block_keys) + b.from) : nullptr;
  value_pieces<V, true> pieces(t, b);
  for (value_piece p; pieces.next(p);) {
    chain start = chain_of_block(b.first);
    if (p.from > b.from) start = chain::keep;
    add_value_piece<V>(t, b, p, 0, t.n_rows, p.from, p.to, ragged, start, offset_or_null(ahead, p.acc));
  }
}

}  // namespace heed

#endif
