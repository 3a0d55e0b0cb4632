// Which kernels this build and this processor have, and which is in use.
#ifndef HEED_DISPATCH_HPP
#define HEED_DISPATCH_HPP

#include "block_steps.hpp"
#include "score_rule.hpp"

namespace heed {

#ifdef HEED_SINGLE
// The kernel of a build that has one, as a type: the compiler sees through it, and calls are direct.
struct fixed_kernel {
  constexpr const kernel *operator->() const { return &kernel_fixed; }
  constexpr const kernel &operator*() const { return kernel_fixed; }
};
constexpr fixed_kernel current_kernel() { return {}; }
constexpr const kernel *address_of(fixed_kernel) { return nullptr; }  // its table would bring all that it names
constexpr const block_steps *block_steps_of(fixed_kernel) { return &fixed_block_steps; }
constexpr const score_steps *score_steps_of(fixed_kernel) { return &fixed_steps; }
#else
const kernel *current_kernel();
inline const block_steps *block_steps_of(const kernel *k) { return k->block; }
inline const score_steps *score_steps_of(const kernel *k) { return k->steps; }
#endif
constexpr const kernel *address_of(const kernel *k) { return k; }
const kernel *reference_kernel(bool fused);
const kernel *available_kernel(int32_t index);  // best first; null past the last

}  // namespace heed

#endif
