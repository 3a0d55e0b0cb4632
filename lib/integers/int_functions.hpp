// The functions of integers.h without their checks, for layers: all arguments are valid, and the caller gives the kernel.
#ifndef HEED_INT_FUNCTIONS_HPP
#define HEED_INT_FUNCTIONS_HPP

#include "../isa_choice/int_product_dispatch.hpp"
#include "heed/integers.h"

namespace heed {

using int_product_step =
    void (*)(const int_product &);  // of a kernel, alone: its table would link the product of floats

void run_int_attention(int_kernel k, const heed_int_attention &call);
void run_int_linear(int_product_step step, const heed_int_matrix &x, const heed_weights &w, const int32_t *bias,
                    const heed_multiplier *multipliers, const heed_int_matrix_out &y, const heed_executor *executor);
void run_int_add(const heed_int_matrix &a, heed_multiplier of_a, const heed_int_matrix &b, heed_multiplier of_b,
                 const heed_int_matrix_out &y, const heed_executor *executor);
void run_int_multiply(const heed_int_matrix &a, const heed_int_matrix &b, heed_multiplier factor,
                      const heed_int_matrix_out &y, const heed_executor *executor);
void run_int_rescale(const heed_int_matrix &x, heed_multiplier factor, const heed_int_matrix_out &y,
                     const heed_executor *executor);
void run_int_layer_norm(const heed_int_matrix &x, const heed_int_norm &norm, const heed_int_matrix_out &y,
                        const heed_executor *executor);
void run_int_rms_norm(const heed_int_matrix &x, const heed_int_norm &norm, const heed_int_matrix_out &y,
                      const heed_executor *executor);
void run_int_lookup(const heed_int_matrix &x, const int8_t *table, const heed_int_matrix_out &y,
                    const heed_executor *executor);
void run_int_rope(const heed_int_rope &rope, const heed_int_matrix_out &x, int32_t n_heads, int64_t first_position,
                  const heed_executor *executor);

}  // namespace heed

#endif
