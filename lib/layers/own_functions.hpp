// The norm and the activation that a layer names: heed's own run as steps of its kernel, without checks. Those of the caller
// are called as they are. So are all in firmware, which links the functions that its layers name, and no others.
#ifndef HEED_OWN_FUNCTIONS_HPP
#define HEED_OWN_FUNCTIONS_HPP

#include "../isa_choice/front_door.hpp"
#include "../tasks/row_tasks.hpp"
#include "heed/rows.h"

namespace heed {

// A step, and its operations for an element; no step: the function is one of the caller's.
struct own_norm {
  void (*step)(const norm_rows &rows);
  float work;
};
inline own_norm own_norm_of(const row_steps &steps, heed_norm *norm) {
  if (norm == heed_layer_norm) return {steps.layer_norm, work_of_layer_norm};
  if (norm == heed_rms_norm || norm == heed_rms_norm_plus_one || norm == heed_l2_norm)
    return {steps.rms_norm, work_of_rms_norm};
  return {nullptr, 0.0f};
}

// Which RMS norm it is, if it is one.
inline rms_kind rms_kind_of(heed_norm *norm) {
  if (norm == heed_rms_norm_plus_one) return rms_kind::plus_one;
  if (norm == heed_l2_norm) return rms_kind::l2;
  return rms_kind::plain;
}

struct own_activation {
  void (*step)(const element_rows &rows);
  float work;
};
inline own_activation own_activation_of(const row_steps &steps, heed_activation *activation) {
  if (activation == heed_gelu) return {steps.gelu, work_of_gelu};
  if (activation == heed_gelu_tanh) return {steps.gelu_tanh, work_of_gelu_tanh};
  if (activation == heed_silu) return {steps.silu, work_of_silu};
  if (activation == heed_tanh) return {steps.tanh, work_of_tanh};
  if (activation == heed_sigmoid) return {steps.sigmoid, work_of_sigmoid};
  if (activation == heed_relu) return {steps.relu, work_of_relu};
  return {nullptr, 0.0f};
}

inline heed_status run_norm(kernel_handle k, heed_norm *norm, const heed_matrix &x, const float *weight,
                            const float *bias, float eps, const heed_matrix_out &y, const heed_executor *executor) {
#ifndef HEED_SINGLE
  const own_norm own = own_norm_of(*row_steps_of(k), norm);
  if (own.step) {
    run_rows(own.step, norm_rows_of(rms_kind_of(norm), x, weight, bias, eps, y), own.work, executor);
    return HEED_OK;
  }
#endif
  const layer_executor own_executor(k, executor);
  return norm(x, weight, bias, eps, y, own_executor.get());
}

inline heed_status run_activation(kernel_handle k, heed_activation *activation, const heed_matrix &x,
                                  const heed_matrix &up, const heed_matrix_out &y, const heed_executor *executor) {
#ifndef HEED_SINGLE
  const own_activation own = own_activation_of(*row_steps_of(k), activation);
  if (own.step) {
    const ptrdiff_t up_stride = up.data ? up.row_stride : 0;
    run_rows(own.step, {x.data, x.row_stride, up.data, up_stride, y.data, y.row_stride, y.n_rows, y.dim}, own.work,
             executor);
    return HEED_OK;
  }
#endif
  const layer_executor own_executor(k, executor);
  return activation(x, up, y, own_executor.get());
}

}  // namespace heed

#endif
