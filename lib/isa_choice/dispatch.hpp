// Which kernels this build and this processor have. Which one is in use, only a public function can ask
// (front_door.hpp).
#ifndef HEED_DISPATCH_HPP
#define HEED_DISPATCH_HPP

#include "../kernel_contract/row_steps.hpp"

namespace heed {

#ifdef HEED_SINGLE
// The kernel of a build that has one, as a type: the compiler sees through it, and calls are direct.
struct fixed_kernel {
  constexpr const kernel *operator->() const { return &kernel_fixed; }
  constexpr const kernel &operator*() const { return kernel_fixed; }
};
using kernel_handle = fixed_kernel;
constexpr fixed_kernel handle_of(const kernel *) { return {}; }
constexpr const kernel *address_of(fixed_kernel) { return nullptr; }  // its table would bring all that it names
constexpr const product_steps *products_of(fixed_kernel) { return &fixed_products; }
constexpr const project_steps *project_of(fixed_kernel) { return &fixed_project; }
constexpr const packed_steps *packed_of(fixed_kernel) { return &fixed_packed; }
constexpr const score_steps *scores_of(fixed_kernel) { return &fixed_scores; }
constexpr const row_steps *row_steps_of(fixed_kernel) { return &fixed_rows; }
inline const project_steps *project_of(const kernel *) { return &fixed_project; }
inline const product_steps *products_of(const kernel *k) {
  return k == &kernel_fixed ? &fixed_products : &scalar::products;
}
#else
using kernel_handle = const kernel *;
constexpr const kernel *handle_of(const kernel *k) { return k; }
const product_steps *products_of(const kernel *k);
const project_steps *project_of(const kernel *k);
const packed_steps *packed_of(const kernel *k);
const score_steps *scores_of(const kernel *k);
const row_steps *row_steps_of(const kernel *k);
#endif
// Through a table of functions a kernel goes as its address, from which handle_of makes it again.
constexpr const kernel *address_of(const kernel *k) { return k; }
const kernel *reference_kernel(bool has_fma);
const kernel *available_kernel(int32_t index);  // best first; null past the last
// The best kernel of that name that can run here, else one that cannot, else null. An arithmetic's name is that of all its
// kernels.
const kernel *find_kernel(const char *name);

}  // namespace heed

#endif
