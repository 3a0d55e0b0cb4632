// What runs after the boundary has checked everything: calls with valid arguments, on a given kernel.
#ifndef HEED_RUN_HPP
#define HEED_RUN_HPP

#include "../isa_choice/dispatch.hpp"
#include "heed/heed.h"

namespace heed {

void run_attention(const kernel *k, const heed_attention &call);
void run_linear(const kernel *k, heed_matrix x, heed_matrix w, const float *bias, heed_matrix_out y,
                const heed_executor *executor);
void run_project(const kernel *k, heed_matrix x, const heed_weights &w, const float *bias, heed_matrix_out y,
                 const heed_executor *executor);
void run_add(const kernel *k, const heed_matrix &a, const heed_matrix &b, const heed_matrix_out &y,
             const heed_executor *executor);
// Of any norm.
heed_status check_norm(const heed_matrix &x, const float *weight, const float *bias, float eps,
                       const heed_matrix_out &y, const heed_executor *executor);
#ifdef HEED_SINGLE
void run_attention(fixed_kernel k, const heed_attention &call);
void run_linear(fixed_kernel k, heed_matrix x, heed_matrix w, const float *bias, heed_matrix_out y,
                const heed_executor *executor);
void run_project(fixed_kernel k, heed_matrix x, const heed_weights &w, const float *bias, heed_matrix_out y,
                 const heed_executor *executor);
void run_add(fixed_kernel k, const heed_matrix &a, const heed_matrix &b, const heed_matrix_out &y,
             const heed_executor *executor);
#endif

}  // namespace heed

#endif
