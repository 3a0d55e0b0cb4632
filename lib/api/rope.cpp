// heed_rope_apply: pairs of elements are rotated by position * frequency (rule 21).
#include "../checks/rope_code.hpp"

#include "frequencies.hpp"
#include "../isa_choice/front_door.hpp"
#include "../tasks/tasks.hpp"
#include "../tasks/run.hpp"

namespace heed {
namespace {

// Of a frequency in radians, a scale and a factor: sine and cosine are exact to the bound of the header up to it.
constexpr float greatest_frequency = 65536.0f;

void check_frequency(checker &check, float x, heed_argument argument) {
  check.require(is_finite(x), HEED_NOT_FINITE, argument);
  check.require(x >= -greatest_frequency && x <= greatest_frequency, HEED_OUT_OF_RANGE, argument);
}

// M-RoPE: each pair names one of the axes, each token has a position on each.
void check_axes(checker &check, const heed_rope &rope, int32_t pairs, int32_t n) {
  check.require(rope.n_axes >= 0 && rope.n_axes <= HEED_ROPE_MAX_AXES, HEED_OUT_OF_RANGE, HEED_ARG_N_AXES);
  if (check.ok() && rope.n_axes > 1) {
    check.pointer(rope.axes, 1, HEED_ARG_AXES);
    check.memory(rope.axes, static_cast<size_t>(pairs), access::read, HEED_ARG_AXES);
    for (int32_t i = 0; check.ok() && i < pairs; i++)
      check.require(rope.axes[i] < rope.n_axes, HEED_OUT_OF_RANGE, HEED_ARG_AXES);
  }
  if (check.ok() && rope.positions && n > 0)
    check.array(rope.positions, static_cast<size_t>(n) * static_cast<size_t>(axes_of(rope)), access::read,
                HEED_ARG_POSITIONS);
}

void check_frequencies(checker &check, const heed_rope &rope, int32_t pairs) {
  check.floats(rope.inverse_frequencies, pairs, access::read, HEED_ARG_FREQUENCIES);
  for (int32_t i = 0; check.ok() && i < pairs; i++)
    check_frequency(check, rope.inverse_frequencies[i], HEED_ARG_FREQUENCIES);
}

void check_fields(checker &check, const heed_rope &rope, int32_t head_dim, int32_t n) {
  check.require(rope.style == HEED_ROPE_INTERLEAVED || rope.style == HEED_ROPE_HALVES, HEED_OUT_OF_RANGE,
                HEED_ARG_STYLE);
  const int32_t rotary_dim = rotary_dim_of(rope, head_dim);
  check.count(rotary_dim, HEED_MAX_DIM, HEED_ARG_ROTARY_DIM);
  check.require(rotary_dim % 2 == 0 && rotary_dim <= head_dim, HEED_SHAPE_MISMATCH, HEED_ARG_ROTARY_DIM);
  check_frequency(check, rope.scale, HEED_ARG_SCALE);
  check.require(is_finite(rope.factor), HEED_NOT_FINITE, HEED_ARG_FACTOR);
  check.require(rope.factor >= 1 / greatest_frequency && rope.factor <= greatest_frequency, HEED_OUT_OF_RANGE,
                HEED_ARG_FACTOR);
  if (!rope.inverse_frequencies) {
    check.require(is_finite(rope.base), HEED_NOT_FINITE, HEED_ARG_BASE);
    check.require(rope.base > 1.0f, HEED_OUT_OF_RANGE, HEED_ARG_BASE);
  } else if (check.ok()) {
    check_frequencies(check, rope, rotary_dim / 2);
  }
  if (check.ok()) check_axes(check, rope, rotary_dim / 2, n);
}

// What lies behind the elements that are rotated.
void copy_rest(const rope_call &c, int32_t rotary_dim) {
  const size_t bytes = static_cast<size_t>(c.head_dim - rotary_dim) * sizeof(float);
  if (bytes == 0 || c.x.data == c.y.data) return;
  for (int32_t t = 0; t < c.n; t++)
    for (int32_t h = 0; h < c.n_heads; h++)
      __builtin_memcpy(c.y.data + t * c.y.row_stride + h * c.y.head_stride + rotary_dim,
                       c.x.data + t * c.x.row_stride + h * c.x.head_stride + rotary_dim, bytes);
}

// Some pairs of each head of one token after another, each pair by the position of its own axis. An angle is position *
// frequency modulo 2^64, so a frequency that was multiplied before has the same bits at position 1.
template <class K>
HEED_NOINLINE void rotate_by_axes(K k, const rope_call &c, rope_rows &rows, const uint8_t *axes, uint64_t *angles) {
  const uint64_t *const frequencies = rows.frequencies;
  const int32_t *positions = c.positions;
  rows.frequencies = angles;
  rows.position = 1;
  rows.positions = nullptr;
  rows.n_tokens = 1;
  for (int32_t t = 0; t < c.n; t++) {
    for (int32_t i = 0; i < rows.n_pairs; i++)
      angles[i] = static_cast<uint64_t>(static_cast<int64_t>(positions[axes[i]])) * frequencies[i];
    row_steps_of(k)->rope(rows);
    positions += c.rope->n_axes;
    rows.x += rows.x_token_stride;
    rows.y += rows.y_token_stride;
  }
}

// All heads of n tokens, as many pairs at a time as have frequencies on the stack.
template <class K>
void rotate_tokens(K k, const rope_call &c) {
  const int32_t rotary_dim = rotary_dim_of(*c.rope, c.head_dim), pairs = rotary_dim / 2;
  const bool neighbours = c.rope->style == HEED_ROPE_INTERLEAVED;
  const bool by_axes = c.rope->n_axes > 1 && c.positions;
  const frequency_source source = source_of(*c.rope, rotary_dim);
  const int32_t partner = neighbours ? 1 : pairs;
  copy_rest(c, rotary_dim);
  uint64_t frequencies[most_rope_pairs];  // of half as many pairs, and their angles, if there are axes
  const int32_t at_once = by_axes ? most_rope_pairs / 2 : most_rope_pairs;
  for (int32_t first = 0; first < pairs; first += at_once) {
    const int32_t n = smaller_of(pairs - first, at_once), at = neighbours ? 2 * first : first;
    make_frequencies(source, first, n, frequencies);
    rope_rows rows = {frequencies,     n,
                      partner,         c.position,
                      c.positions,     c.x.data + at,
                      c.x.row_stride,  c.x.head_stride,
                      c.y.data + at,   c.y.row_stride,
                      c.y.head_stride, c.n,
                      c.n_heads,       c.rope->factor};
    if (by_axes)
      rotate_by_axes(k, c, rows, c.rope->axes + first, frequencies + at_once);
    else
      row_steps_of(k)->rope(rows);
  }
}

template <class K>
struct rope_job {
  K k;
  rope_call call;
  pieces parts;
};

template <class K>
void rope_task(void *context, int32_t index, int32_t) {
  const auto &job = *static_cast<const rope_job<K> *>(context);
  rope_call part = job.call;
  const int32_t begin = job.parts.begin(index);
  part.n = job.parts.size(index);
  part.x.data += begin * part.x.row_stride;
  part.y.data += begin * part.y.row_stride;
  if (part.positions)
    part.positions += static_cast<ptrdiff_t>(begin) * axes_of(*part.rope);
  else
    part.position += begin;
  rotate_tokens(job.k, part);
}

template <class K>
void run_any_rope(K k, const rope_call &c) {
  // The sine and cosine of an angle, which all heads share, take as long as so many multiply-adds.
  constexpr float work_of_angle = 200.0f, work_of_number = 10.0f;
  const float work = static_cast<float>(c.n) * static_cast<float>(c.head_dim) *
                     (0.5f * work_of_angle + work_of_number * static_cast<float>(c.n_heads));
  rope_job<K> job = {k, c, cut_work(c.n, 1, 1, work, c.executor)};
  run_tasks(c.executor, job.parts.n, rope_task<K>, &job);
}

void run_rope(const kernel *k, const rope_call &c) { run_any_rope(handle_of(k), c); }

constexpr heed_rope_code rope_code = {check_fields, run_rope};

HEED_NOINLINE heed_status check_rope(const rope_call &c) {
  checker_of<7> check;  // rope, x, y, positions, frequencies, axes, executor
  check.object(c.rope, access::read, HEED_ARG_ROPE);
  if (check.ok()) check.require(c.rope->code == &rope_code, HEED_NOT_INITIALIZED, HEED_ARG_ROPE);
  check.count(c.n, HEED_MAX_COUNT, HEED_ARG_N);
  check.count(c.n_heads, HEED_MAX_DIM, HEED_ARG_N_HEADS);
  check.count(c.head_dim, HEED_MAX_DIM, HEED_ARG_HEAD_DIM);
  if (check.ok()) check_fields(check, *c.rope, c.head_dim, 0);
  if (!check.ok()) return check.status;
  if (c.positions)
    check.array(c.positions, static_cast<size_t>(c.n) * static_cast<size_t>(axes_of(*c.rope)), access::read,
                HEED_ARG_POSITIONS);
  else
    check.require(c.position <= INT64_MAX - (c.n - 1), HEED_OUT_OF_RANGE, HEED_ARG_POSITION);
  const bool in_place = c.x.data == c.y.data && (c.n == 1 || c.x.row_stride == c.y.row_stride) &&
                        (c.n_heads == 1 || c.x.head_stride == c.y.head_stride);
  if (!in_place)
    check.tensor(c.x.data, {1, c.n_heads, c.n}, {0, c.x.head_stride, c.x.row_stride}, c.head_dim, access::read,
                 HEED_ARG_X);
  check.tensor(c.y.data, {1, c.n_heads, c.n}, {0, c.y.head_stride, c.y.row_stride}, c.head_dim, access::write,
               HEED_ARG_Y);
  check.executor(c.executor);
  return check.finish();
}

}  // namespace
}  // namespace heed

heed_status heed_rope_init(heed_rope *rope, int32_t style) {
  heed::checker_of<1> check;
  check.pointer(rope, alignof(heed_rope), HEED_ARG_ROPE);
  if (check.ok())
    *rope = {sizeof *rope, &heed::rope_code, style, 0, 10000.0f, 1.0f, nullptr, 1.0f, 0, nullptr, nullptr};
  return check.status;
}

heed_status heed_rope_apply(const heed_rope *rope, heed_tensor x, int32_t n, int32_t n_heads, int32_t head_dim,
                            int64_t position, const int32_t *positions, heed_tensor_out y,
                            const heed_executor *executor) {
  const heed::rope_call call = {rope, x, n, n_heads, head_dim, position, positions, y, executor};
  const heed_status status = heed::check_rope(call);
  if (status == HEED_OK) heed::run_any_rope(heed_front_door::kernel(executor), call);
  return status;
}
