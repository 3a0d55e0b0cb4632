// One call, one kernel. A public function asks once which kernel is in use, after its checks, and gives that kernel to
// everything below it. Only the functions listed here can ask: anything else that asks does not compile.
#ifndef HEED_FRONT_DOOR_HPP
#define HEED_FRONT_DOOR_HPP

#include "dispatch.hpp"
#include "heed/heed.h"

// In the global namespace, where a friend is declared by its plain name.
class heed_front_door {
#define DOOR(function) friend decltype(::function) function;
  DOOR(heed_dot)
  DOOR(heed_softmax)
  DOOR(heed_weighted_sum)
  DOOR(heed_linear)
  DOOR(heed_attention_run)
  DOOR(heed_self_attention)
  DOOR(heed_sequence_attention)
  DOOR(heed_attention_layer_run)
  DOOR(heed_attention_layer_encode)
  DOOR(heed_transformer_layer_run)
  DOOR(heed_cache_append)
  DOOR(heed_partial_merge)
  DOOR(heed_partial_finish)
  DOOR(heed_rms_norm)
  DOOR(heed_rms_norm_plus_one)
  DOOR(heed_l2_norm)
  DOOR(heed_layer_norm)
  DOOR(heed_gelu)
  DOOR(heed_gelu_tanh)
  DOOR(heed_silu)
  DOOR(heed_relu)
  DOOR(heed_tanh)
  DOOR(heed_sigmoid)
  DOOR(heed_add)
  DOOR(heed_rope_apply)
  DOOR(heed_sample)
  DOOR(heed_selftest_boot)
  DOOR(heed_selftest_features)
  DOOR(heed_isa_current)
  DOOR(heed_isa_use)
#undef DOOR

  // The kernel in use; or, where a layer calls with the executor of its own (below), the layer's.
#ifdef HEED_SINGLE
  static constexpr heed::fixed_kernel kernel(const heed_executor * = nullptr) { return {}; }
#else
  static const heed::kernel *kernel(const heed_executor *executor = nullptr);
  static void use(const heed::kernel *k);  // null: the automatic choice
#endif
};

namespace heed {

// A layer calls its norm and its activation as the public functions that they are. They find the layer's kernel in the
// executor that it gives them, which otherwise does what the caller's does, or runs tasks in place where there is none.
#ifdef HEED_SINGLE
class layer_executor {
 public:
  layer_executor(fixed_kernel, const heed_executor *of_caller) : of_caller(of_caller) {}
  const heed_executor *get() const { return of_caller; }

 private:
  const heed_executor *of_caller;
};
#else
class layer_executor {
 public:
  layer_executor(const kernel *k, const heed_executor *of_caller)
      : own{sizeof own, 1, run, this}, k(k), of_caller(of_caller) {
    if (of_caller) own.n_workers = of_caller->n_workers;
  }
  layer_executor(const layer_executor &) = delete;
  layer_executor &operator=(const layer_executor &) = delete;
  const heed_executor *get() const { return &own; }
  static const kernel *kernel_in(const heed_executor *executor) {  // null in any other
    return executor && executor->run == run ? static_cast<const layer_executor *>(executor->user)->k : nullptr;
  }

 private:
  heed_executor own;
  const kernel *k;
  const heed_executor *of_caller;

  static void run(void *user, int32_t n_tasks, heed_task task, void *context);
};
#endif

}  // namespace heed

#endif
