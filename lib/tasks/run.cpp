// Steps that functions of several rooms run, with valid arguments.
#include "../isa_choice/front_door.hpp"
#include "pieces.hpp"
#include "row_tasks.hpp"
#include "run.hpp"

namespace heed {
namespace {

template <class K>
struct linear_of {
  K k;
  void operator()(linear_block b, int32_t first_column) const {
    b.w += first_column;
    products_of(k)->linear(b);
  }
};

template <class K>
void run_any_linear(K k, heed_matrix x, heed_matrix w, const float *bias, heed_matrix_out y,
                    const heed_executor *executor) {
  run_product(linear_of<K>{k},
              {x.data, x.row_stride, w.data, w.row_stride, bias, y.data, y.row_stride, x.n_rows, x.dim, w.dim},
              executor);
}

template <class K>
void run_any_add(K k, const heed_matrix &a, const heed_matrix &b, const heed_matrix_out &y,
                 const heed_executor *executor) {
  run_pairs(row_steps_of(k)->add, work_of_add, a, b, y, executor);
}

}  // namespace

void run_linear(const kernel *k, heed_matrix x, heed_matrix w, const float *bias, heed_matrix_out y,
                const heed_executor *executor) {
  run_any_linear(k, x, w, bias, y, executor);
}
void run_add(const kernel *k, const heed_matrix &a, const heed_matrix &b, const heed_matrix_out &y,
             const heed_executor *executor) {
  run_any_add(handle_of(k), a, b, y, executor);
}
#ifdef HEED_SINGLE
void run_linear(fixed_kernel k, heed_matrix x, heed_matrix w, const float *bias, heed_matrix_out y,
                const heed_executor *executor) {
  run_any_linear(k, x, w, bias, y, executor);
}
void run_add(fixed_kernel k, const heed_matrix &a, const heed_matrix &b, const heed_matrix_out &y,
             const heed_executor *executor) {
  run_any_add(k, a, b, y, executor);
}
#endif

}  // namespace heed
