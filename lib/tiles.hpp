// How the rows of a stream are cut into tiles, and how a worker's workspace is cut into a tile's arrays. Neither
// changes a bit of the result; both follow from the size of the workspace alone.
#ifndef HEED_TILES_HPP
#define HEED_TILES_HPP

#include "heed/heed.h"
#include "kernel.hpp"

namespace heed {

struct row_tiles {
  int32_t lanes;
  ptrdiff_t n_query_rows;  // rows of the tiles whose lanes are queries
  int32_t n_query_tiles;
  ptrdiff_t registers;  // of lanes, over those tiles
  ptrdiff_t n_rows;
  int32_t rows_per_key_tile;
  ptrdiff_t n_tiles;
};

row_tiles cut_rows(const kernel &k, ptrdiff_t n_rows, int32_t head_dim, int32_t v_dim, size_t workspace_bytes);
tile make_tile(const row_tiles &tiles, ptrdiff_t index, const stream &s, void *workspace);

}  // namespace heed

#endif
