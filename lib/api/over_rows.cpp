// Group norm, and means over rows (rule 27): plain loops, the same on every kernel. Without fma they are sums and
// products of any instruction set, and fast: each number is read two or three times.
#include "../tasks/tasks.hpp"
#include "../checks/validate.hpp"
#include "../kernel_contract/root.hpp"
#include "../kernel_contract/row_steps.hpp"
#include "../tasks/run.hpp"

namespace heed {
namespace {

constexpr int32_t columns_at_once = 16;

// f(i) for i < n, at most 16: where all are there, the compiler knows how many.
template <class F>
HEED_INLINE void up_to_sixteen(int32_t n, F f) {
  if (n >= columns_at_once)
    for (int32_t i = 0; i < columns_at_once; i++) f(i);
  else
    for (int32_t i = 0; i < n; i++) f(i);
}

float sum_in_halves(float *sums, int32_t n) {
  for (int32_t half = n / 2; half > 0; half /= 2)
    for (int32_t i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}

// A mean is pivot + rest, which one float cannot hold.
struct mean_pair {
  float pivot, rest;
};
enum class terms { numbers, from_pivot, squares };

template <terms kind>
HEED_INLINE float term_of_sum(float x, mean_pair mean) {
  if (kind == terms::numbers) return x;
  const float d = x - mean.pivot;
  if (kind == terms::from_pivot) return d;
  const float e = d - mean.rest;
  return e * e;
}

// Of a row: 64 sums and the tree. Sums of which there is nothing are +0, and none is -0: they need not be added.
template <terms kind>
float sum_of_row(const float *x, int32_t n, mean_pair mean) {
  float sums[n_dot_sums] = {};
  for (int32_t i = 0; i < n; i += columns_at_once) {
    float *const to = sums + i % n_dot_sums;
    up_to_sixteen(n - i, [=](int32_t k) HEED_INLINED { to[k] += term_of_sum<kind>(x[i + k], mean); });
  }
  int32_t width = n_dot_sums;
  while (width / 2 >= n) width /= 2;
  return sum_in_halves(sums, width);
}

// Of n columns over all rows: out[c], c < n. In a frame of its own: 1 KB of stack, once.
template <terms kind>
HEED_NOINLINE void sums_of_columns(const float *x, ptrdiff_t stride, int32_t n_rows, int32_t n, const mean_pair *mean,
                                   float *out) {
  float sums[n_sums][columns_at_once] = {};
  for (int32_t r = 0; r < n_rows; r++, x += stride) {
    float *const to = sums[r % n_sums];
    up_to_sixteen(n, [=](int32_t c) HEED_INLINED {
      const mean_pair of_column = kind == terms::numbers ? mean_pair() : mean[c];
      to[c] += term_of_sum<kind>(x[c], of_column);
    });
  }
  for (int32_t half = n_sums / 2; half > 0; half /= 2)
    for (int32_t i = 0; i < half; i++)
      for (int32_t c = 0; c < columns_at_once; c++) sums[i][c] += sums[i + half][c];
  for (int32_t c = 0; c < n; c++) out[c] = sums[0][c];
}

// ----------------------------------------------------------------------------------------------------- group norm

// What is normalised together, or, where a group is one channel, 16 groups side by side.
struct group_rows {
  const float *x, *weight, *bias;
  float *y;
  ptrdiff_t x_stride, y_stride;
  int32_t n_rows, dim;
  pieces parts;
  float sums[n_sums];
  mean_pair mean[columns_at_once] = {};  // of each column of 16: all the same in a group
  float factor[columns_at_once];
};

template <terms kind>
void sums_task(void *context, int32_t index, int32_t) {
  group_rows &u = *static_cast<group_rows *>(context);
  const int32_t from = u.parts.begin(index), to = u.parts.begin(index + 1);
  for (int32_t first = 0; first < u.n_rows; first += n_sums)
    for (int32_t i = from; i < to && first + i < u.n_rows; i++)
      u.sums[i] += sum_of_row<kind>(u.x + (first + i) * u.x_stride, u.dim, u.mean[0]);
}

template <terms kind>
void fill_sums(group_rows &u, bool by_columns, float *sums, const heed_executor *executor) {
  if (by_columns) return sums_of_columns<kind>(u.x, u.x_stride, u.n_rows, u.dim, u.mean, sums);
  for (int32_t i = 0; i < n_sums; i++) u.sums[i] = 0.0f;
  u.parts = cut_work(n_sums, 1, 1, static_cast<float>(u.n_rows) * static_cast<float>(u.dim), executor);
  run_tasks(executor, u.parts.n, sums_task<kind>, &u);
  const float sum = sum_in_halves(u.sums, n_sums);
  for (int32_t i = 0; i < columns_at_once; i++) sums[i] = sum;
}

void scale_task(void *context, int32_t index, int32_t) {
  const group_rows &u = *static_cast<const group_rows *>(context);
  for (int32_t r = u.parts.begin(index); r < u.parts.begin(index + 1); r++)
    for (int32_t i = 0; i < u.dim; i += columns_at_once) {
      const float *const x = u.x + r * u.x_stride + i;
      float *const y = u.y + r * u.y_stride + i;
      float d[columns_at_once];  // y may be x
      const int32_t n = u.dim - i;
      up_to_sixteen(n,
                    [&](int32_t k) HEED_INLINED { d[k] = ((x[k] - u.mean[k].pivot) - u.mean[k].rest) * u.factor[k]; });
      if (u.weight) up_to_sixteen(n, [&](int32_t k) HEED_INLINED { d[k] *= u.weight[i + k]; });
      if (u.bias) up_to_sixteen(n, [&](int32_t k) HEED_INLINED { d[k] += u.bias[i + k]; });
      up_to_sixteen(n, [&](int32_t k) HEED_INLINED { y[k] = d[k]; });
    }
}

float pivot_of(const group_rows &u, int32_t first, int32_t n) {
  const float *const x = u.x + first, *const last = x + (u.n_rows - 1) * u.x_stride;
  return median_of_three(x[0], x[u.n_rows / 2 * u.x_stride + n / 2], last[n - 1]);
}

void normalise_groups(group_rows &u, bool by_columns, float eps, const heed_executor *executor) {
  const int32_t columns = by_columns ? u.dim : columns_at_once;
  const float n = static_cast<float>(u.n_rows) * (by_columns ? 1.0f : static_cast<float>(u.dim));
  const int32_t width = by_columns ? 1 : u.dim;  // of one mean
  for (int32_t i = 0; i < columns; i++) {
    const int32_t first = by_columns ? i : 0;
    u.mean[i].pivot = pivot_of(u, first, width);
  }
  fill_sums<terms::from_pivot>(u, by_columns, u.factor, executor);
  for (int32_t i = 0; i < columns; i++) u.mean[i].rest = u.factor[i] / n;
  fill_sums<terms::squares>(u, by_columns, u.factor, executor);
  for (int32_t i = 0; i < columns; i++) {
    const float root = square_root(u.factor[i] / n + eps);
    u.factor[i] = reciprocal_or_zero(root);
  }
  u.parts = cut_work(u.n_rows, 1, 1, static_cast<float>(u.n_rows) * static_cast<float>(u.dim), executor);
  run_tasks(executor, u.parts.n, scale_task, &u);
}

struct group_job {
  heed_matrix x;
  const float *weight, *bias;
  float eps;
  heed_matrix_out y;
  int32_t width;  // channels of a group, or 16 groups of one
  bool by_columns;
  pieces parts;
};

HEED_NOINLINE void run_unit(const group_job &job, int32_t index, const heed_executor *executor) {
  const int32_t first = index * job.width, left = job.x.dim - first;
  group_rows u;
  u.x = job.x.data + first, u.x_stride = job.x.row_stride;
  u.y = job.y.data + first, u.y_stride = job.y.row_stride;
  u.weight = offset_or_null(job.weight, first);
  u.bias = offset_or_null(job.bias, first);
  u.n_rows = job.x.n_rows, u.dim = smaller_of(left, job.width);
  normalise_groups(u, job.by_columns, job.eps, executor);
}

void units_task(void *context, int32_t index, int32_t) {
  const group_job &job = *static_cast<const group_job *>(context);
  for (int32_t i = job.parts.begin(index); i < job.parts.begin(index + 1); i++) run_unit(job, i, nullptr);
}

// ----------------------------------------------------------------------------------------------------- means

struct mean_job {
  heed_matrix x;
  float *y;
  pieces parts;
};

void means_task(void *context, int32_t index, int32_t) {
  const mean_job &job = *static_cast<const mean_job *>(context);
  const int32_t end = job.parts.begin(index + 1);
  for (int32_t i = job.parts.begin(index); i < end; i += columns_at_once) {
    const int32_t n = smaller_of(end - i, columns_at_once);
    sums_of_columns<terms::numbers>(job.x.data + i, job.x.row_stride, job.x.n_rows, n, nullptr, job.y + i);
    for (int32_t c = 0; c < n; c++) job.y[i + c] /= static_cast<float>(job.x.n_rows);
  }
}

HEED_NOINLINE heed_status check_means(const heed_matrix &x, const float *y, const heed_executor *executor) {
  checker_of<3> check;
  check.matrix(x, HEED_ARG_X);
  check.floats(y, x.dim, access::write, HEED_ARG_Y);
  check.executor(executor);
  return check.finish();
}

}  // namespace
}  // namespace heed

heed_status heed_group_norm(heed_matrix x, const float *weight, const float *bias, int32_t n_groups, float eps,
                            heed_matrix_out y, const heed_executor *executor) {
  const heed_status status = heed::check_norm(x, weight, bias, eps, y, executor);
  if (status != HEED_OK) return status;
  if (n_groups < 1 || n_groups > x.dim) return HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N_GROUPS);
  if (x.dim % n_groups != 0) return HEED_STATUS(HEED_SHAPE_MISMATCH, HEED_ARG_N_GROUPS);
  const bool by_columns = n_groups == x.dim;
  const int32_t width = by_columns ? heed::columns_at_once : x.dim / n_groups;
  const int32_t n_units = (x.dim + width - 1) / width;
  heed::group_job job = {x, weight, bias, eps, y, width, by_columns, {n_units, 1, 1}};
  if (n_units == 1) {
    heed::run_unit(job, 0, executor);
    return HEED_OK;
  }
  const float work = 3.0f * static_cast<float>(x.n_rows) * static_cast<float>(x.dim);
  job.parts = heed::cut_work(n_units, 1, 1, work, executor);
  heed::run_tasks(executor, job.parts.n, heed::units_task, &job);
  return HEED_OK;
}

heed_status heed_mean_rows(heed_matrix x, float *y, const heed_executor *executor) {
  const heed_status status = heed::check_means(x, y, executor);
  if (status != HEED_OK) return status;
  const float work = static_cast<float>(x.n_rows) * static_cast<float>(x.dim);
  heed::mean_job job = {x, y, heed::cut_work(x.dim, heed::columns_at_once, heed::columns_at_once, work, executor)};
  heed::run_tasks(executor, job.parts.n, heed::means_task, &job);
  return HEED_OK;
}
