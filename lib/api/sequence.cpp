#include "../boundary/front_door.hpp"
#include "../options/options.hpp"
#include "run.hpp"

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

// Attention of one head over x into out.
heed_attention call_of(const heed_sequence &x, const heed_sequence &out, void *workspace, size_t workspace_bytes) {
  return heed_attention_of(x.length, x.length, 1, 1, x.dim, x.data, x.data, x.data, out.data, workspace,
                           workspace_bytes);
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

// Besides: the sequences themselves may not be written by what options ask for.
HEED_NOINLINE heed_status check_sequence_options(const heed_sequence *x, const heed_sequence *out,
                                                 const heed_attention &call) {
  checker_of<6 + option_ranges> check;
  check.object(x, access::read, HEED_ARG_X);
  check.object(out, access::write, HEED_ARG_OUT);
  check.matrix(x->data, x->length, x->dim, x->dim, access::read, HEED_ARG_X);
  check.matrix(out->data, x->length, x->dim, x->dim, access::write, HEED_ARG_OUT);
  check.buffer(call.workspace, call.workspace_bytes, 0, HEED_WORKSPACE_ALIGNMENT, HEED_ARG_WORKSPACE);
  check.scale(call.scale);
  check.require(call.causal == 0 || call.causal == 1, HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL);
  check_objects(check, call.options);
  if (check.ok() && call.options) check.require(!call.options->partial, HEED_MISFIT, HEED_ARG_PARTIAL);
  if (check.ok() && call.options) check.require(!call.options->cache, HEED_MISFIT, HEED_ARG_CACHE);
  if (check.ok() && call.options) check.require(!call.options->narrow, HEED_MISFIT, HEED_ARG_NARROW);
  if (const option_engine *engine = check.ok() ? engine_of(call.options) : nullptr)
    engine->check(check, call, *call.options);
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

heed_status heed_sequence_attention(const heed_sequence *x, float scale, int32_t causal, const heed_options *options,
                                    heed_sequence *out, void *workspace, size_t workspace_bytes) {
  heed_status status = heed::check_sequences(x, out, workspace, workspace_bytes);
  if (status != HEED_OK) return status;
  heed_attention call = heed::call_of(*x, *out, workspace, workspace_bytes);
  call.scale = scale;
  call.causal = causal;
  call.options = options;
  status = heed::check_sequence_options(x, out, call);
  if (status != HEED_OK) return status;
  heed::run_attention(heed_front_door::kernel(), call);
  out->length = x->length;
  return HEED_OK;
}
