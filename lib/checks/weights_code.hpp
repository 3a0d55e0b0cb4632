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

#endif
