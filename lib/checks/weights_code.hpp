// What heed_weights carry that are not plain.
#ifndef HEED_WEIGHTS_CODE_HPP
#define HEED_WEIGHTS_CODE_HPP

#include "../kernel_contract/kernel.hpp"
#include "validate.hpp"

// Named by functions that make such weights alone: programs with plain weights do not link it.
struct heed_weights_code {
  void (*check)(heed::checker &check, const heed_weights &w, heed_argument argument);  // adds up to three ranges
  void (*run)(const heed::kernel *k, const heed_matrix &x, const heed_weights &w, const float *bias,
              const heed_matrix_out &y, const heed_executor *executor);
  int32_t dtype;  // of blocks, whose bytes do not say it
};

namespace heed {

// The rows of plain weights as they lie, and the numbers of such a row.
inline int32_t rows_of_weights(const heed_weights &w) { return w.layout == HEED_OUT_IN ? w.n_out : w.n_in; }
inline int32_t dim_of_weights(const heed_weights &w) { return w.layout == HEED_OUT_IN ? w.n_in : w.n_out; }
// The stride between them: a row alone may have any.
inline ptrdiff_t stride_of_weights(const heed_weights &w) { return rows_of_weights(w) > 1 ? w.row_stride : 0; }

}  // namespace heed

#endif
