// Sums, products, norms and activations of rows of int8 and int16 (int_rows.h).
#include "../kernel_contract/int_row_steps.hpp"
#include "int_check.hpp"
#include "heed/int_rows.h"
#include "int_functions.hpp"
#include "int_share.hpp"

namespace heed {
namespace {

#ifdef HEED_SINGLE
constexpr const int_row_steps *int_row_kernel = &fixed_int_rows;
#else
constexpr const int_row_steps *int_row_kernel = &int_plain_rows;
#endif
constexpr int32_t buffered = 64;  // numbers of a row that are taken at a time

// Numbers [begin, begin + n) of row r, less their zero point: int16 has none, so that they are read where they lie.
const int16_t *widened_numbers(const heed_int_matrix &x, int32_t r, int32_t begin, int32_t n, int16_t *space) {
  const ptrdiff_t at = r * x.row_stride + begin;
  if (x.dtype == HEED_INT16) return static_cast<const int16_t *>(x.data) + at;
  int_row_kernel->widen(static_cast<const int8_t *>(x.data) + at, n, x.zero_point, space);
  return space;
}

void store_numbers(const heed_int_matrix_out &y, int32_t r, int32_t begin, int32_t n, const int32_t *numbers) {
  const ptrdiff_t at = (r * y.row_stride + begin) * static_cast<ptrdiff_t>(int_bytes(y.dtype));
  int_row_kernel->narrow(numbers, n, y.zero_point, y.dtype == HEED_INT16, static_cast<char *>(y.data) + at);
}

// What the upper halves of products cannot tell, as no model should need it.
HEED_INLINE int32_t limited(int64_t x) { return clamp_64(x, -(1 << 30), 1 << 30); }

// --------------------------------------------------------------------------------------------------- all functions

// What one of them does to a row.
struct row_job {
  void (*row)(const row_job &job, int32_t r);
  heed_int_matrix a, b;
  heed_int_matrix_out y;
  sum_rule sum;
  multiplier factor;
  heed_int_norm norm;
  const int8_t *table;
  pieces parts;
};

void int_rows_task(void *context, int32_t index, int32_t) {
  const row_job &job = *static_cast<const row_job *>(context);
  const int32_t end = job.parts.begin(index + 1);
  for (int32_t r = job.parts.begin(index); r < end; r++) job.row(job, r);
}

// work: operations for a number.
void run_int_rows(row_job &job, uint32_t work, const heed_executor *executor) {
  if (job.y.n_rows == 1) job.a.row_stride = job.b.row_stride = job.y.row_stride = 0;  // of a row alone it may be any
  const uint64_t numbers = static_cast<uint64_t>(job.y.n_rows) * static_cast<uint32_t>(job.y.dim);
  job.parts = share_rows(job.y.n_rows, 1, 1, numbers * work, executor);
  run_tasks(executor, job.parts.n, int_rows_task, &job);
}

row_job rows_job_of(void (*row)(const row_job &job, int32_t r), const heed_int_matrix &a,
                    const heed_int_matrix_out &y) {
  row_job job = {};
  job.row = row;
  job.a = a;
  job.y = y;
  return job;
}

void check_y(checker &check, const heed_int_matrix &x, const heed_int_matrix_out &y, const heed_executor *executor) {
  check_int_output(check, y, HEED_ARG_Y);
  check.require(y.n_rows == x.n_rows && y.dim == x.dim, HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  check.executor(executor);
}

// An input that y may be itself.
void check_x(checker &check, const heed_int_matrix &x, const heed_int_matrix_out &y, heed_argument argument) {
  const bool in_place = x.data == y.data && x.dtype == y.dtype && (x.row_stride == y.row_stride || y.n_rows == 1);
  check_int_input(check, x, argument, in_place);
}

HEED_NOINLINE heed_status check_int_rows(const heed_int_matrix &a, heed_argument a_name, const heed_int_matrix *b,
                                         multiplier first, multiplier second, const heed_int_matrix_out &y,
                                         const heed_executor *executor) {
  checker_of<4> check;
  check_x(check, a, y, a_name);
  if (b) check_x(check, *b, y, HEED_ARG_B);
  if (b) check.require(b->n_rows == a.n_rows && b->dim == a.dim, HEED_SHAPE_MISMATCH, HEED_ARG_B);
  check_multiplier(check, first, -31, 30, HEED_ARG_MULTIPLIERS);
  check_multiplier(check, second, -31, 30, HEED_ARG_MULTIPLIERS);
  const int32_t apart = check.ok() ? first.e - second.e : 0;
  check.require(apart >= -14 && apart <= 14, HEED_OUT_OF_RANGE, HEED_ARG_MULTIPLIERS);
  check_y(check, a, y, executor);
  return check.finish();
}

// ---------------------------------------------------------------------------------------------- sums and products

HEED_NOINLINE void add_any(const int16_t *a, const int16_t *b, int32_t n, const sum_rule &rule, int32_t *to) {
  for (int32_t i = 0; i < n; i++) to[i] = limited(int_sum(rule, a[i], b[i]));
}
HEED_NOINLINE void multiply_any(const int16_t *a, const int16_t *b, int32_t n, multiplier m, int32_t *to) {
  for (int32_t i = 0; i < n; i++) to[i] = limited(shifted(static_cast<int64_t>(a[i] * b[i]) * m.m, 31 - m.e));
}

// numbers(a, b, n, to) for each piece of the rows; where there is no b, it is a.
template <class F>
HEED_INLINE void each_piece(const row_job &job, int32_t r, const F &numbers) {
  int16_t a_space[buffered], b_space[buffered];
  int32_t to[buffered];
  for (int32_t i = 0; i < job.y.dim; i += buffered) {
    const int32_t n = smaller_of(job.y.dim - i, buffered);
    const int16_t *a = widened_numbers(job.a, r, i, n, a_space);
    const int16_t *const b = job.b.data ? widened_numbers(job.b, r, i, n, b_space) : a;
    numbers(a, b, n, to);
    store_numbers(job.y, r, i, n, to);
  }
}

void add_int_row(const row_job &job, int32_t r) {
  each_piece(job, r, [&](const int16_t *a, const int16_t *b, int32_t n, int32_t *to) {
    has_upper_sum(job.sum) ? int_row_kernel->add(a, b, n, job.sum, to) : add_any(a, b, n, job.sum, to);
  });
}

void multiply_int_row(const row_job &job, int32_t r) {
  each_piece(job, r, [&](const int16_t *a, const int16_t *b, int32_t n, int32_t *to) {
    has_upper_product(job.factor) ? int_row_kernel->multiply(a, b, n, job.factor, to)
                                  : multiply_any(a, b, n, job.factor, to);
  });
}

void rescale_row(const row_job &job, int32_t r) {
  each_piece(job, r, [&](const int16_t *x, const int16_t *, int32_t n, int32_t *to) {
    has_upper_scale(job.factor) ? int_row_kernel->scale(x, n, scale_rule_of(job.factor), to)
                                : add_any(x, x, n, {job.factor.m, 0, 0, 0, 31 - job.factor.e}, to);
  });
}

void lookup_row(const row_job &job, int32_t r) {
  int_row_kernel->lookup(static_cast<const int8_t *>(job.a.data) + r * job.a.row_stride, job.y.dim, job.table,
                         static_cast<int8_t *>(job.y.data) + r * job.y.row_stride);
}

// ------------------------------------------------------------------------------------------------------------ norms

HEED_NOINLINE void weigh_any(int32_t *z, int32_t n, const int32_t *weight, const int32_t *bias, int32_t shift) {
  for (int32_t i = 0; i < n; i++) {
    const int64_t b = bias ? static_cast<int64_t>(bias[i]) * (1 << norm_fraction) : 0;
    z[i] = limited(shifted(static_cast<int64_t>(z[i]) * weight[i] + b, shift));
  }
}

template <bool MEAN>
void norm_row(const row_job &job, int32_t r) {
  const int32_t dim = job.y.dim, shift = norm_fraction + job.norm.shift;
  const upper_rule upper = upper_of(shift);
  int16_t space[buffered];
  int32_t z[buffered];
  int_moments m = {};
  for (int32_t i = 0; i < dim; i += buffered) {
    const int32_t n = smaller_of(dim - i, buffered);
    int_row_kernel->moments(widened_numbers(job.a, r, i, n, space), n, m);
  }
  const int32_t sum = MEAN ? m.sum : 0;
  const uint64_t count = static_cast<uint32_t>(dim);
  uint64_t v = count * m.squares - static_cast<uint64_t>(static_cast<int64_t>(sum) * sum);
  v += (count * count * job.norm.eps) >> 16;
  if (v == 0) v = 1;  // of 0 all z are 0
  const scale_rule rule = scale_rule_of(norm_factor_of(v), dim, sum);
  for (int32_t i = 0; i < dim; i += buffered) {
    const int32_t n = smaller_of(dim - i, buffered);
    const int32_t *weight = job.norm.weight + i, *bias = offset_or_null(job.norm.bias, i);
    int_row_kernel->scale(widened_numbers(job.a, r, i, n, space), n, rule, z);
    upper.up == 0 ? int_row_kernel->weigh(z, n, weight, bias, upper) : weigh_any(z, n, weight, bias, shift);
    store_numbers(job.y, r, i, n, z);
  }
}

HEED_NOINLINE heed_status check_int_norm(const heed_int_matrix &x, const heed_int_norm &norm,
                                         const heed_int_matrix_out &y, const heed_executor *executor) {
  checker_of<5> check;
  check_x(check, x, y, HEED_ARG_X);
  check_y(check, x, y, executor);
  check.count(x.dim, HEED_INT_MAX_NORM_DIM, HEED_ARG_X);
  if (check.ok()) check.array(norm.weight, static_cast<size_t>(x.dim), access::read, HEED_ARG_WEIGHT);
  if (check.ok() && norm.bias) check.array(norm.bias, static_cast<size_t>(x.dim), access::read, HEED_ARG_BIAS);
  check.require(norm.shift >= 0 && norm.shift <= 30, HEED_OUT_OF_RANGE, HEED_ARG_WEIGHT);
  return check.finish();
}

void run_int_norm(void (*row)(const row_job &job, int32_t r), const heed_int_matrix &x, const heed_int_norm &norm,
                  const heed_int_matrix_out &y, const heed_executor *executor) {
  row_job job = rows_job_of(row, x, y);
  job.norm = norm;
  run_int_rows(job, 12, executor);
}

HEED_NOINLINE heed_status check_lookup(const heed_int_matrix &x, const int8_t *table, const heed_int_matrix_out &y,
                                       const heed_executor *executor) {
  checker_of<4> check;
  check_x(check, x, y, HEED_ARG_X);
  check.require(x.dtype == HEED_INT8, HEED_BAD_DTYPE, HEED_ARG_X);
  check.require(y.dtype == HEED_INT8, HEED_BAD_DTYPE, HEED_ARG_Y);
  check_y(check, x, y, executor);
  check.require(table != nullptr, HEED_NULL_POINTER, HEED_ARG_WEIGHT);
  if (check.ok()) check.memory(table, 256, access::read, HEED_ARG_WEIGHT);
  return check.finish();
}

}  // namespace
}  // namespace heed

using namespace heed;

void heed::run_int_add(const heed_int_matrix &a, heed_multiplier of_a, const heed_int_matrix &b, heed_multiplier of_b,
                       const heed_int_matrix_out &y, const heed_executor *executor) {
  row_job job = rows_job_of(add_int_row, a, y);
  job.b = b;
  job.sum = sum_rule_of({of_a.m, of_a.e}, {of_b.m, of_b.e});
  run_int_rows(job, 6, executor);
}

void heed::run_int_multiply(const heed_int_matrix &a, const heed_int_matrix &b, heed_multiplier factor,
                            const heed_int_matrix_out &y, const heed_executor *executor) {
  row_job job = rows_job_of(multiply_int_row, a, y);
  job.b = b;
  job.factor = {factor.m, factor.e};
  run_int_rows(job, 5, executor);
}

void heed::run_int_rescale(const heed_int_matrix &x, heed_multiplier factor, const heed_int_matrix_out &y,
                           const heed_executor *executor) {
  row_job job = rows_job_of(rescale_row, x, y);
  job.factor = {factor.m, factor.e};
  run_int_rows(job, 4, executor);
}

void heed::run_int_layer_norm(const heed_int_matrix &x, const heed_int_norm &norm, const heed_int_matrix_out &y,
                              const heed_executor *executor) {
  run_int_norm(norm_row<true>, x, norm, y, executor);
}

void heed::run_int_rms_norm(const heed_int_matrix &x, const heed_int_norm &norm, const heed_int_matrix_out &y,
                            const heed_executor *executor) {
  run_int_norm(norm_row<false>, x, norm, y, executor);
}

void heed::run_int_lookup(const heed_int_matrix &x, const int8_t *table, const heed_int_matrix_out &y,
                          const heed_executor *executor) {
  row_job job = rows_job_of(lookup_row, x, y);
  job.table = table;
  run_int_rows(job, 1, executor);
}

heed_status heed_int_add(heed_int_matrix a, heed_multiplier of_a, heed_int_matrix b, heed_multiplier of_b,
                         heed_int_matrix_out y, const heed_executor *executor) {
  const heed_status status = check_int_rows(a, HEED_ARG_A, &b, {of_a.m, of_a.e}, {of_b.m, of_b.e}, y, executor);
  if (status == HEED_OK) run_int_add(a, of_a, b, of_b, y, executor);
  return status;
}

heed_status heed_int_multiply(heed_int_matrix a, heed_int_matrix b, heed_multiplier factor, heed_int_matrix_out y,
                              const heed_executor *executor) {
  const multiplier m = {factor.m, factor.e};
  const heed_status status = check_int_rows(a, HEED_ARG_A, &b, m, m, y, executor);
  if (status == HEED_OK) run_int_multiply(a, b, factor, y, executor);
  return status;
}

heed_status heed_int_rescale(heed_int_matrix x, heed_multiplier factor, heed_int_matrix_out y,
                             const heed_executor *executor) {
  const multiplier m = {factor.m, factor.e};
  const heed_status status = check_int_rows(x, HEED_ARG_X, nullptr, m, m, y, executor);
  if (status == HEED_OK) run_int_rescale(x, factor, y, executor);
  return status;
}

heed_status heed_int_layer_norm(heed_int_matrix x, heed_int_norm norm, heed_int_matrix_out y,
                                const heed_executor *executor) {
  const heed_status status = check_int_norm(x, norm, y, executor);
  if (status == HEED_OK) run_int_layer_norm(x, norm, y, executor);
  return status;
}

heed_status heed_int_rms_norm(heed_int_matrix x, heed_int_norm norm, heed_int_matrix_out y,
                              const heed_executor *executor) {
  const heed_status status = check_int_norm(x, norm, y, executor);
  if (status == HEED_OK) run_int_rms_norm(x, norm, y, executor);
  return status;
}

heed_status heed_int_lookup(heed_int_matrix x, const int8_t table[256], heed_int_matrix_out y,
                            const heed_executor *executor) {
  const heed_status status = check_lookup(x, table, y, executor);
  if (status == HEED_OK) run_int_lookup(x, table, y, executor);
  return status;
}
