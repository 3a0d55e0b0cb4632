#include "heed/heed.h"
#include "kernel.hpp"
#include "validate.hpp"

namespace heed {
namespace {

// A sequence as it should be: its storage lies in memory, and does not hold the sequence itself.
void check_sequence(checker &check, const heed_sequence *s, access how, heed_argument argument) {
  check.object(s, how, argument);
  if (!check.ok()) return;
  check.require(s->length >= 0 && s->length <= s->capacity, HEED_OUT_OF_RANGE, argument);
  check.count(s->dim, HEED_MAX_DIM, argument);
  checker_of<2> storage;
  storage.matrix(s->data, s->capacity, s->dim, s->dim, access::write, argument);
  storage.object(s, access::read, argument);
  if (check.ok()) check.status = storage.finish();
}

// In a frame of its own, which is gone when kernels run.
HEED_NOINLINE heed_status check_sequences(const heed_sequence *x, const heed_sequence *out, const void *workspace,
                                          size_t workspace_bytes) {
  checker_of<5> check;
  check_sequence(check, x, access::read, HEED_ARG_X);
  check_sequence(check, out, access::write, HEED_ARG_OUT);
  if (!check.ok()) return check.status;
  check.count(x->length, HEED_MAX_COUNT, HEED_ARG_N);
  check.require(out->dim == x->dim, HEED_MISFIT, HEED_ARG_OUT);
  check.require(out->capacity >= x->length, HEED_FULL, HEED_ARG_OUT);
  if (!check.ok()) return check.status;
  check.matrix(x->data, x->length, x->dim, x->dim, access::read, HEED_ARG_X);
  check.matrix(out->data, x->length, x->dim, x->dim, access::write, HEED_ARG_OUT);
  check.buffer(workspace, workspace_bytes, HEED_WORKSPACE_MIN_BYTES(x->dim, x->dim), HEED_WORKSPACE_ALIGNMENT,
               HEED_ARG_WORKSPACE);
  return check.finish();
}

}  // namespace
}  // namespace heed

heed_status heed_sequence_init(heed_sequence *sequence, float *buffer, int32_t capacity, int32_t dim) {
  heed::checker_of<2> check;
  check.buffer(sequence, sizeof *sequence, 0, alignof(heed_sequence), HEED_ARG_SEQUENCE);
  check.count(capacity, HEED_MAX_COUNT, HEED_ARG_CAPACITY);
  check.count(dim, HEED_MAX_DIM, HEED_ARG_HEAD_DIM);
  check.matrix(buffer, capacity, dim, dim, heed::access::write, HEED_ARG_BUFFER);
  if (check.finish() == HEED_OK) *sequence = {static_cast<uint32_t>(sizeof(heed_sequence)), capacity, dim, 0, buffer};
  return check.status;
}

heed_status heed_sequence_append(heed_sequence *sequence, heed_matrix rows) {
  heed::checker_of<3> check;
  heed::check_sequence(check, sequence, heed::access::write, HEED_ARG_SEQUENCE);
  if (!check.ok()) return check.status;
  check.matrix(rows.data, rows.n_rows, rows.dim, rows.row_stride, heed::access::read, HEED_ARG_ROWS);
  check.require(rows.dim == sequence->dim, HEED_MISFIT, HEED_ARG_ROWS);
  check.require(rows.n_rows <= sequence->capacity - sequence->length, HEED_FULL, HEED_ARG_SEQUENCE);
  if (!check.ok()) return check.status;
  float *end = sequence->data + static_cast<ptrdiff_t>(sequence->length) * sequence->dim;
  check.matrix(end, rows.n_rows, rows.dim, rows.dim, heed::access::write, HEED_ARG_ROWS);
  if (check.finish() != HEED_OK) return check.status;
  for (int32_t r = 0; r < rows.n_rows; r++)
    for (int32_t i = 0; i < rows.dim; i++)
      end[static_cast<ptrdiff_t>(r) * rows.dim + i] = rows.data[r * rows.row_stride + i];
  sequence->length += rows.n_rows;
  return HEED_OK;
}

heed_status heed_sequence_clear(heed_sequence *sequence) {
  heed::checker_of<1> check;
  heed::check_sequence(check, sequence, heed::access::write, HEED_ARG_SEQUENCE);
  if (check.ok()) sequence->length = 0;
  return check.status;
}

heed_status heed_sequence_self_attention(const heed_sequence *x, float scale, heed_sequence *out, void *workspace,
                                         size_t workspace_bytes) {
  heed_status status = heed::check_sequences(x, out, workspace, workspace_bytes);
  if (status != HEED_OK) return status;
  status = heed_self_attention(heed_sequence_view(x), scale, heed_matrix_out_of(out->data, x->length, x->dim),
                               workspace, workspace_bytes);
  if (status == HEED_OK) out->length = x->length;
  return status;
}
