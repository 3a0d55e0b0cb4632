// Sequences: rows in memory of fixed capacity, and attention of all of them to each other.
#include "../isa_choice/front_door.hpp"
#include "../options/options.hpp"
#include "../tasks/run.hpp"

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

// Where the oldest rows may go, all rows of the storage may be written, else those behind the last one.
HEED_NOINLINE heed_status check_new_rows(const heed_sequence *s, const heed_matrix &rows, bool oldest_may_go) {
  checker_of<3> check;
  check_sequence(check, s, access::write, HEED_ARG_SEQUENCE);
  if (!check.ok()) return check.status;
  check.matrix(rows, HEED_ARG_ROWS);
  check.require(rows.dim == s->dim, HEED_SHAPE_MISMATCH, HEED_ARG_ROWS);
  check.require(oldest_may_go || rows.n_rows <= s->capacity - s->length, HEED_FULL, HEED_ARG_SEQUENCE);
  if (!check.ok()) return check.status;
  const int32_t first = oldest_may_go ? 0 : s->length;
  const int32_t n = oldest_may_go ? s->capacity : rows.n_rows;
  check.matrix(s->data + static_cast<ptrdiff_t>(first) * s->dim, n, s->dim, s->dim, access::write, HEED_ARG_ROWS);
  return check.finish();
}

// Rows become those behind the first `length` ones. They may be later rows of the sequence itself.
void put_rows(heed_sequence &s, int32_t length, const heed_matrix &rows) {
  float *to = s.data + static_cast<ptrdiff_t>(length) * s.dim;
  for (int32_t r = 0; r < rows.n_rows; r++)
    for (int32_t i = 0; i < s.dim; i++) *to++ = rows.data[r * rows.row_stride + i];
  s.length = length + rows.n_rows;
}

// Checks have frames of their own, which are gone when kernels run.
HEED_NOINLINE heed_status check_sequences(const heed_sequence *x, const heed_sequence *out) {
  checker_of<2> check;
  check_sequence(check, x, access::read, HEED_ARG_X);
  check_sequence(check, out, access::write, HEED_ARG_OUT);
  if (!check.ok()) return check.status;
  check.count(x->length, HEED_MAX_COUNT, HEED_ARG_N);
  check.require(out->dim == x->dim, HEED_SHAPE_MISMATCH, HEED_ARG_OUT);
  check.require(out->capacity >= x->length, HEED_FULL, HEED_ARG_OUT);
  return check.status;
}

// The sequences themselves may not be written, either, by what options ask for.
HEED_NOINLINE heed_status check_sequence_call(const heed_sequence *x, const heed_sequence *out,
                                              const heed_attention &call) {
  checker_of<5 + option_ranges> check;
  check.object(x, access::read, HEED_ARG_X);
  check.object(out, access::write, HEED_ARG_OUT);
  check.matrix(x->data, x->length, x->dim, x->dim, access::read, HEED_ARG_X);
  check.matrix(out->data, x->length, x->dim, x->dim, access::write, HEED_ARG_OUT);
  check.workspace(call.workspace, x->dim, x->dim);
  check.scale(call.scale);
  check.require(call.causal == 0 || call.causal == 1, HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL);
  check_objects(check, call);
  if (check.ok() && call.options) {
    check.require(!call.options->partial, HEED_UNSUPPORTED, HEED_ARG_PARTIAL);
    check.require(!call.options->typed, HEED_UNSUPPORTED, HEED_ARG_TYPED);
  }
  if (const option_engine *engine = check.ok() ? engine_of(call) : nullptr) engine->check(check, call);
  return check.finish();
}

}  // namespace
}  // namespace heed

heed_status heed_sequence_init(heed_sequence *sequence, int32_t capacity, int32_t dim, heed_memory memory) {
  heed::checker_of<2> check;
  check.buffer(sequence, sizeof *sequence, 0, alignof(heed_sequence), HEED_ARG_SEQUENCE);
  check.count(capacity, HEED_MAX_COUNT, HEED_ARG_CAPACITY);
  check.count(dim, HEED_MAX_DIM, HEED_ARG_DIM);
  check.require(static_cast<int64_t>(capacity) * dim <= PTRDIFF_MAX / 4, HEED_OVERFLOW, HEED_ARG_MEMORY);
  check.room(memory, HEED_SEQUENCE_BYTES(capacity, dim), alignof(float), HEED_ARG_MEMORY);
  if (check.finish() == HEED_OK) *sequence = {sizeof *sequence, capacity, dim, 0, static_cast<float *>(memory.data)};
  return check.status;
}

heed_status heed_sequence_append(heed_sequence *sequence, heed_matrix rows) {
  const heed_status status = heed::check_new_rows(sequence, rows, false);
  if (status == HEED_OK) heed::put_rows(*sequence, sequence->length, rows);
  return status;
}

heed_status heed_sequence_push(heed_sequence *sequence, heed_matrix rows) {
  const heed_status status = heed::check_new_rows(sequence, rows, true);
  if (status != HEED_OK) return status;
  const int32_t dropped = heed::larger_of(rows.n_rows - sequence->capacity, 0);
  rows.data += dropped * rows.row_stride;
  rows.n_rows -= dropped;
  const int32_t gone = sequence->length - (sequence->capacity - rows.n_rows);
  if (gone > 0) {
    const heed_matrix all = heed_sequence_view(sequence);
    heed::put_rows(*sequence, 0, {all.data + gone * all.row_stride, all.n_rows - gone, all.dim, all.row_stride});
  }
  heed::put_rows(*sequence, sequence->length, rows);
  return HEED_OK;
}

heed_status heed_sequence_clear(heed_sequence *sequence) {
  heed::checker_of<1> check;
  heed::check_sequence(check, sequence, heed::access::write, HEED_ARG_SEQUENCE);
  if (check.ok()) sequence->length = 0;
  return check.status;
}

heed_status heed_sequence_attention(const heed_sequence *x, float scale, int32_t causal, const heed_options *options,
                                    heed_sequence *out, heed_memory workspace) {
  heed_status status = heed::check_sequences(x, out);
  if (status != HEED_OK) return status;
  heed_attention call =
      heed_attention_of(x->data, x->data, x->data, x->length, x->length, 1, 1, x->dim, out->data, workspace);
  call.scale = scale;
  call.causal = causal;
  call.options = options;
  status = heed::check_sequence_call(x, out, call);
  if (status != HEED_OK) return status;
  heed::run_attention(heed_front_door::kernel(), call);
  out->length = x->length;
  return HEED_OK;
}
