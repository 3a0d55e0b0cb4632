// How the rows of a stream are cut into tiles, and how a worker's workspace is cut into a tile's arrays. Neither
// changes a bit of the result; both follow from the size of the workspace alone. K is a kernel known at compile time or
// a pointer to one.
#ifndef HEED_TILES_HPP
#define HEED_TILES_HPP

#include "heed/heed.h"
#include "../kernel_contract/kernel.hpp"

namespace heed {
namespace {

struct row_tiles {
  ptrdiff_t n_query_rows;  // rows of the tiles whose lanes are queries
  int32_t n_query_tiles;
  ptrdiff_t registers;  // of lanes, over those tiles
  ptrdiff_t n_rows;
  int32_t rows_per_key_tile;
  ptrdiff_t n_tiles;
};

// n in pieces of at most `most`.
inline ptrdiff_t pieces_of(ptrdiff_t n, int32_t most) { return n <= most ? n > 0 : (n + most - 1) / most; }

[[maybe_unused]] int32_t round_up_16(int32_t n) { return (n + 15) / 16 * 16; }

// Rows of a stream in tiles. With 16 lanes, 197 rows and the largest workspace, say:
//   query_rows = 48: at most 3 registers of rows in a tile; left = 197 % 16 = 5 rows, more than lanes / 4
//   so all rows have queries as lanes: 13 registers, 5 tiles of 3, 3, 3, 2, 2 registers; the last is not full
// With 98 rows: left = 2, which do better with keys as lanes: 96 rows in 2 tiles of 3 registers, then a tile of 2 rows.
// With the least workspace query_rows is below 16: all rows go to tiles with keys as lanes, as many as it has room for.
// Divisions are for what is large: those of a small call would take as long as its products.
template <class K>
HEED_INLINE row_tiles cut_rows(K k, ptrdiff_t n_rows, int32_t head_dim, int32_t v_dim, size_t workspace_bytes) {
  const size_t key_row_bytes = 4 * HEED_WORKSPACE_ROW_FLOATS(v_dim);
  row_tiles tiles;
  tiles.n_rows = n_rows;
  tiles.rows_per_key_tile = k->max_key_rows;
  if (workspace_bytes < key_row_bytes * static_cast<size_t>(k->max_key_rows)) {
    const int32_t rows = static_cast<int32_t>(workspace_bytes / key_row_bytes);
    // In fours, as register tiles take them: a fifth row costs more than it saves.
    tiles.rows_per_key_tile = rows > 4 ? rows & ~3 : rows;
  }
  tiles.n_query_rows = tiles.registers = tiles.n_query_tiles = 0;
  if (k->lanes > 0) {
    const size_t query_row_bytes = key_row_bytes + 4 * static_cast<size_t>(head_dim);
    int32_t most_rows = 48;
    while (workspace_bytes < query_row_bytes * static_cast<size_t>(most_rows)) most_rows -= 16;
    if (most_rows > 0) {
      const int bits = 2 + (k->lanes > 4) + (k->lanes > 8);  // lanes are 4, 8 or 16
      const ptrdiff_t left = n_rows & (k->lanes - 1);
      // Rows beyond the whole registers, up to so many, are better done with keys as lanes: fewer where they only fill
      // up a register of a tile, more where they would have it to themselves.
      const int32_t most_left = n_rows < k->lanes ? k->lanes / 2 : k->lanes / 4;
      tiles.n_query_rows = left <= most_left ? n_rows - left : n_rows;
      tiles.registers = (tiles.n_query_rows + k->lanes - 1) >> bits;
      tiles.n_query_tiles = static_cast<int32_t>(pieces_of(tiles.registers, most_rows >> bits));
    }
  }
  tiles.n_tiles = tiles.n_query_tiles + pieces_of(n_rows - tiles.n_query_rows, tiles.rows_per_key_tile);
  return tiles;
}

// A rule may want more of each row, behind a tile's arrays: rows are cut as if the workspace were smaller. Queries of
// query tiles have their room.
[[maybe_unused]] HEED_NOINLINE size_t bytes_to_cut(const heed_attention &call, const score_rule &rule,
                                                   int32_t max_key_rows, size_t workspace_bytes) {
  const size_t row_bytes = 4 * HEED_WORKSPACE_ROW_FLOATS(call.v_dim),
               key_row = row_bytes + rule.out_bytes + rule.q_bytes;
  const bool fits = key_row * static_cast<size_t>(max_key_rows) <= workspace_bytes;
  const size_t each = fits ? row_bytes + rule.out_bytes : key_row;
  return each > row_bytes ? workspace_bytes / each * row_bytes : workspace_bytes;
}

template <class K>
HEED_INLINE row_tiles cut_rows_of(K k, const heed_attention &call, const score_rule *rule, ptrdiff_t n_rows,
                                  size_t workspace_bytes) {
  if (rule && rule->open) workspace_bytes = bytes_to_cut(call, *rule, k->max_key_rows, workspace_bytes);
  return cut_rows(k, n_rows, call.head_dim, call.v_dim, workspace_bytes);
}

// Query tiles share the registers evenly; key tiles follow.
template <class K>
void place_tile(K k, const row_tiles &tiles, ptrdiff_t index, tile &t) {
  t.lanes_are_queries = k->lanes > 0 && index < tiles.n_query_tiles;
  ptrdiff_t end;
  if (t.lanes_are_queries) {
    const bool one = tiles.n_query_tiles == 1;
    const ptrdiff_t each = one ? tiles.registers : tiles.registers / tiles.n_query_tiles;
    const ptrdiff_t more = one ? 0 : tiles.registers % tiles.n_query_tiles;
    t.first_row = (index * each + (smaller_of(index, more))) * k->lanes;
    end = t.first_row + (each + (index < more)) * k->lanes;
    if (end > tiles.n_query_rows) end = tiles.n_query_rows;
  } else {
    t.first_row = tiles.n_query_rows + (index - tiles.n_query_tiles) * tiles.rows_per_key_tile;
    end = t.first_row + tiles.rows_per_key_tile;
    if (end > tiles.n_rows) end = tiles.n_rows;
  }
  t.n_rows = static_cast<int32_t>(end - t.first_row);
}

// HEED_WORKSPACE_ROW_FLOATS counts, for each row: 64 scores, 16 sums, 8 single numbers, the accumulator; then the
// query.
template <class K>
tile make_tile(K k, const row_tiles &tiles, ptrdiff_t index, const stream &s, void *workspace) {
  tile t;  // field by field: a call that clears it takes 30 cycles
  t.s = &s;
  t.again = false;
  place_tile(k, tiles, index, t);
  t.row_capacity = t.lanes_are_queries ? round_up_16(t.n_rows) : t.n_rows;
  t.acc_stride = round_up_16(s.v_dim);
  const ptrdiff_t rows = t.row_capacity;
  t.scores = static_cast<float *>(workspace);
  t.sums = t.scores + block_keys * rows;
  t.chunk.acc = t.sums + n_sums * rows;
  t.qt = t.chunk.acc + t.acc_stride * rows;
  float *single = t.lanes_are_queries ? t.qt + s.head_dim * rows : t.qt;
  t.chunk.m = single;
  t.chunk.l = single + rows;
  t.total.m = single + 2 * rows;
  t.total.l = single + 3 * rows;
  t.total.acc = nullptr;
  t.alpha = single + 4 * rows;
  t.shift = single + 5 * rows;
  t.first = reinterpret_cast<int32_t *>(single + 6 * rows);
  t.last = reinterpret_cast<int32_t *>(single + 7 * rows);
  return t;
}

// Behind a tile's arrays: rows of out, then of queries.
[[maybe_unused]] float *extra_rows(const tile &t) { return reinterpret_cast<float *>(t.last + t.row_capacity); }

void see_all(const tile &t) {
  for (int32_t r = 0; r < t.n_rows; r++) {
    t.first[r] = 0;
    t.last[r] = t.s->n_kv;
  }
}

[[maybe_unused]] void see_ranges(const tile &t) {
  if (t.s->first_shift == -open_shift && t.s->last_shift == open_shift) return see_all(t);
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const key_range keys = row.keys();
    t.first[r] = keys.first;
    t.last[r] = keys.last;
  }
  // A range that begins at a pinned key begins at the first.
  const int32_t pinned = pinned_of(*t.s);
  for (int32_t r = 0; r < t.n_rows && t.first[r] <= pinned; r++) t.first[r] = 0;
}

// Keys that are pinned, of the rows whose range begins after them: a range of its own, which comes first.
[[maybe_unused]] bool has_pinned(const tile &t) { return pinned_of(*t.s) > 0 && t.first[t.n_rows - 1] > 0; }
[[maybe_unused]] void see_pinned(const tile &t) {
  for (int32_t r = 0; r < t.n_rows; r++) {
    t.last[r] = t.first[r] > 0 ? pinned_of(*t.s) : 0;
    t.first[r] = 0;
  }
}

// Chunks in which a row of the tile sees a key; one even when there is none.
struct chunk_range {
  int32_t begin, n;  // the first one's first key
};
[[maybe_unused]] chunk_range chunks_of(const tile &t) {
  const int32_t begin = t.first[0] / chunk_keys * chunk_keys, n_keys = t.last[t.n_rows - 1] - begin;
  const int32_t n_chunks = n_keys <= chunk_keys ? 1 : (n_keys - 1) / chunk_keys + 1;
  return {begin, n_chunks};
}

}  // namespace
}  // namespace heed

#endif
