// Rotary embedding of rows of int8 by a table (rule I14).
#include "int_check.hpp"
#include "int_functions.hpp"
#include "int_share.hpp"

namespace heed {

void check_int_rope(checker &check, const heed_int_rope *rope, int32_t head_dim, int64_t first_position, int32_t n) {
  check.pointer(rope, alignof(heed_int_rope), HEED_ARG_ROPE);
  if (!check.ok()) return;
  check.memory(rope, sizeof *rope, access::read, HEED_ARG_ROPE);
  check.require(rope->style == HEED_ROPE_INTERLEAVED || rope->style == HEED_ROPE_HALVES, HEED_OUT_OF_RANGE,
                HEED_ARG_STYLE);
  check.count(rope->rotary_dim, HEED_INT_MAX_DIM, HEED_ARG_ROTARY_DIM);
  check.require(rope->rotary_dim % 2 == 0 && rope->rotary_dim <= head_dim, HEED_SHAPE_MISMATCH, HEED_ARG_ROTARY_DIM);
  check.count(rope->n_positions, HEED_MAX_COUNT, HEED_ARG_POSITIONS);
  if (check.ok())
    check.matrix(rope->table, rope->n_positions, rope->rotary_dim, rope->rotary_dim, access::read, HEED_ARG_FREQUENCIES,
                 sizeof *rope->table);
  check.require(first_position >= 0 && first_position <= static_cast<int64_t>(rope->n_positions) - n, HEED_OUT_OF_RANGE,
                HEED_ARG_POSITION);
}

namespace {

struct int_rope_job {
  const heed_int_rope *rope;
  heed_int_matrix_out x;
  int32_t n_heads, first_position;
  pieces parts;
};

HEED_INLINE int8_t rotated(int32_t x, int32_t zero_point) {
  return static_cast<int8_t>(clamp_to(zero_point + ((x + (1 << 13)) >> 14), -128, 127));
}

// One head. Numbers are less than 2^8, and those of the table at most 2^15: a sum of two products has 24 bits.
void rotate_int_head(const heed_int_rope &rope, const int16_t *cosines, int32_t zero_point, int8_t *x) {
  const int32_t pairs = rope.rotary_dim / 2;
  int32_t step = 1, partner = pairs;
  if (rope.style == HEED_ROPE_INTERLEAVED) step = 2, partner = 1;
  for (int32_t i = 0; i < pairs; i++, x += step) {
    const int32_t a = x[0] - zero_point, b = x[partner] - zero_point, c = cosines[i], s = cosines[pairs + i];
    x[0] = rotated(a * c - b * s, zero_point);
    x[partner] = rotated(a * s + b * c, zero_point);
  }
}

void int_rope_task(void *context, int32_t index, int32_t) {
  const int_rope_job &job = *static_cast<const int_rope_job *>(context);
  const int32_t end = job.parts.begin(index + 1), head_dim = job.x.dim / job.n_heads;
  for (int32_t r = job.parts.begin(index); r < end; r++) {
    const int16_t *const row = job.rope->table + static_cast<ptrdiff_t>(job.first_position + r) * job.rope->rotary_dim;
    int8_t *x = static_cast<int8_t *>(job.x.data) + r * job.x.row_stride;
    for (int32_t h = 0; h < job.n_heads; h++, x += head_dim) rotate_int_head(*job.rope, row, job.x.zero_point, x);
  }
}

HEED_NOINLINE heed_status check_int_rope_run(const heed_int_rope *rope, const heed_int_matrix_out &x, int32_t n_heads,
                                             int64_t first_position, const heed_executor *executor) {
  checker_of<4> check;  // rope, table, x, executor
  check.require(x.dtype == HEED_INT8, HEED_BAD_DTYPE, HEED_ARG_X);
  check_int_output(check, x, HEED_ARG_X);
  check.count(n_heads, HEED_MAX_COUNT, HEED_ARG_N_HEADS);
  check.require(!check.ok() || x.dim % n_heads == 0, HEED_SHAPE_MISMATCH, HEED_ARG_N_HEADS);
  if (check.ok()) check_int_rope(check, rope, x.dim / n_heads, first_position, x.n_rows);
  check.executor(executor);
  return check.finish();
}

}  // namespace
}  // namespace heed

using namespace heed;

void heed::run_int_rope(const heed_int_rope &rope, const heed_int_matrix_out &x, int32_t n_heads,
                        int64_t first_position, const heed_executor *executor) {
  int_rope_job job = {&rope, x, n_heads, static_cast<int32_t>(first_position), {}};
  if (x.n_rows == 1) job.x.row_stride = 0;
  const uint64_t numbers = static_cast<uint64_t>(x.n_rows) * static_cast<uint32_t>(x.dim);
  job.parts = share_rows(x.n_rows, 1, 1, numbers * 5, executor);
  run_tasks(executor, job.parts.n, int_rope_task, &job);
}

heed_status heed_int_rope_run(const heed_int_rope *rope, heed_int_matrix_out x, int32_t n_heads, int64_t first_position,
                              const heed_executor *executor) {
  const heed_status status = check_int_rope_run(rope, x, n_heads, first_position, executor);
  if (status == HEED_OK) run_int_rope(*rope, x, n_heads, first_position, executor);
  return status;
}
