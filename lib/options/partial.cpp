// Partial results: attention that adds to (m, l, acc) of the caller's, their merge (rule 6) and their end (rule 7).
#include "call_rule.hpp"
#include "../isa_choice/front_door.hpp"
#include "ranges.hpp"

namespace heed {
namespace {

constexpr int32_t scratch_rows = 16;

size_t count_rows(const heed_partial &p) { return static_cast<size_t>(p.batch_size) * p.n_heads * p.n_q; }

// The row of a partial that a row of a stream is.
size_t row_in_partial(const heed_partial &p, const stream &s, const row_cursor &row) {
  return (static_cast<size_t>(s.batch_entry) * p.n_heads + s.first_head + row.head) * p.n_q + row.query;
}

// What l holds lies behind what m holds, then acc.
partial rows_of_partial(const heed_partial &p, size_t row) {
  const size_t n = count_rows(p);
  return {p.data + row, p.data + n + row, p.data + 2 * n + row * p.v_dim};
}

// The rows of out are those of acc.
void put_out(const call_rule &rule, stream &s) {
  const heed_partial &p = *rule.sum;
  s.out = rows_of_partial(p, (static_cast<size_t>(s.batch_entry) * p.n_heads + s.first_head) * p.n_q).acc;
  s.out_query_stride = p.v_dim;
  s.out_head_stride = static_cast<ptrdiff_t>(p.n_q) * p.v_dim;
}

// A tile begins with what the earlier parts left, instead of with nothing.
bool resume_partial(const tile &t) {
  const heed_partial &p = *rule_of(t).sum;
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const partial from = rows_of_partial(p, row_in_partial(p, *t.s, row));
    t.total.m[r] = *from.m;
    t.total.l[r] = *from.l;
  }
  return true;
}

// And leaves its state there instead of a result.
void suspend(const tile &t) {
  const heed_partial &p = *rule_of(t).sum;
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const partial to = rows_of_partial(p, row_in_partial(p, *t.s, row));
    *to.m = t.total.m[r] + 0.0f;  // of +0 and -0 a maximum may be either
    *to.l = t.total.l[r];
  }
}

// Floats of a partial of that shape; SIZE_MAX where they do not fit.
constexpr size_t count_floats(int32_t batch, int32_t n_heads, int32_t n_q, int32_t v_dim) {
  size_t n = static_cast<size_t>(batch);
  const bool overflow = __builtin_mul_overflow(n, static_cast<size_t>(n_heads), &n) ||
                        __builtin_mul_overflow(n, static_cast<size_t>(n_q), &n) ||
                        __builtin_mul_overflow(n, static_cast<size_t>(v_dim) + 2, &n);
  return overflow || n > PTRDIFF_MAX / sizeof(float) ? SIZE_MAX : n;
}
static_assert(4 * count_floats(1, 1, 1, 1) == HEED_PARTIAL_BYTES(1, 1, 1, 1), "one formula");
static_assert(4 * count_floats(2, 3, 5, 7) == HEED_PARTIAL_BYTES(2, 3, 5, 7), "one formula");
static_assert(4 * count_floats(1, 32, 4096, 128) == HEED_PARTIAL_BYTES(1, 32, 4096, 128), "one formula");

void check_shape(checker &check, int32_t batch, int32_t n_heads, int32_t n_q, int32_t v_dim, heed_argument all) {
  const auto argument = [=](heed_argument own) { return all == HEED_ARG_MEMORY ? own : all; };
  check.count(batch, HEED_MAX_COUNT, argument(HEED_ARG_BATCH_SIZE));
  check.count(n_heads, HEED_MAX_DIM, argument(HEED_ARG_N_HEADS));
  check.count(n_q, HEED_MAX_COUNT, argument(HEED_ARG_N_Q));
  check.count(v_dim, HEED_MAX_DIM, argument(HEED_ARG_V_DIM));
  if (check.ok()) check.require(count_floats(batch, n_heads, n_q, v_dim) != SIZE_MAX, HEED_OVERFLOW, all);
}

// A partial whose object is sound: its numbers and its memory.
void check_partial_contents(checker &check, const heed_partial &p, access how, heed_argument argument) {
  check_shape(check, p.batch_size, p.n_heads, p.n_q, p.v_dim, argument);
  check.require(p.first_key >= 0 && p.n_keys >= 0 && p.n_keys <= HEED_MAX_COUNT - p.first_key, HEED_OUT_OF_RANGE,
                argument);
  if (check.ok()) check.array(p.data, count_floats(p.batch_size, p.n_heads, p.n_q, p.v_dim), how, argument);
}

// Parts end at multiples of 1024 keys: the result adds up in chunks of as many, whichever parts they come from.
void check_partial(checker &check, const heed_attention &call, const void *object) {
  const auto &p = *static_cast<const heed_partial *>(object);
  const heed_options &o = *call.options;
  check_partial_contents(check, p, access::write, HEED_ARG_PARTIAL);
  check.require(
      p.batch_size == call.batch_size && p.n_heads == call.n_heads && p.n_q == call.n_q && p.v_dim == call.v_dim,
      HEED_SHAPE_MISMATCH, HEED_ARG_PARTIAL);
  check.require(!o.sinks, HEED_UNSUPPORTED, HEED_ARG_SINKS);  // these need all keys
  check.require(!o.weights, HEED_UNSUPPORTED, HEED_ARG_WEIGHTS);
  check.require(!o.lse, HEED_UNSUPPORTED, HEED_ARG_LSE);
  check.require(!o.column_sums, HEED_UNSUPPORTED, HEED_ARG_COLUMN_SUMS);
  check.require(!o.topk_weights, HEED_UNSUPPORTED, HEED_ARG_TOPK_WEIGHTS);
  if (!check.ok()) return;
  check.require((p.first_key + p.n_keys) % chunk_keys == 0, HEED_BAD_SPLIT, HEED_ARG_FIRST_KEY);
  check.require(call.n_kv <= HEED_MAX_COUNT - p.first_key - p.n_keys, HEED_OUT_OF_RANGE, HEED_ARG_PARTIAL);
}

// The object counts its keys at once: nothing can fail any more.
void bind_partial(call_rule &rule, const heed_attention &call, const void *) {
  heed_partial *p = call.options->partial;
  rule.sum = p;
  rule.first_key = p->first_key + p->n_keys;
  rule.range = range_of_entry;
  rule.put_out = put_out;
  rule.resume = resume_partial;
  rule.suspend = suspend;
  p->n_keys += call.n_kv;
}
constexpr heed_code partial_code = {sizeof(heed_partial), check_partial, bind_partial, &call_engine};

// Rows [first, first + n) of one head as a tile with scratch for 16 rows: what merge and finish want.
struct scratch {
  float alpha[scratch_rows], shift[scratch_rows], m[scratch_rows], l[scratch_rows];
};
tile tile_of(const stream &s, ptrdiff_t first, int32_t n, scratch &memory) {
  tile t = {};
  t.s = &s;
  t.first_row = first;
  t.n_rows = n;
  t.acc_stride = s.v_dim;
  t.alpha = memory.alpha;
  t.shift = memory.shift;
  return t;
}

HEED_NOINLINE heed_status check_merge(const heed_partial *total, const heed_partial *part) {
  checker_of<4> check;
  check.pointer(total, alignof(heed_partial), HEED_ARG_TOTAL);
  check_object(check, total, access::write, HEED_ARG_TOTAL);
  check.pointer(part, alignof(heed_partial), HEED_ARG_PARTIAL);
  check_object(check, part, access::read, HEED_ARG_PARTIAL);
  if (!check.ok()) return check.status;
  check_partial_contents(check, *total, access::write, HEED_ARG_TOTAL);
  check_partial_contents(check, *part, access::read, HEED_ARG_PARTIAL);
  if (!check.ok()) return check.status;
  check.require(part->batch_size == total->batch_size && part->n_heads == total->n_heads && part->n_q == total->n_q &&
                    part->v_dim == total->v_dim,
                HEED_SHAPE_MISMATCH, HEED_ARG_PARTIAL);
  check.require(part->n_keys <= chunk_keys, HEED_BAD_SPLIT, HEED_ARG_PARTIAL);
  check.require(part->first_key % chunk_keys == 0 && part->first_key == total->first_key + total->n_keys,
                HEED_BAD_SPLIT, HEED_ARG_FIRST_KEY);
  return check.finish();
}

HEED_NOINLINE heed_status check_finish(const heed_partial *partial, const heed_sinks *sinks, const heed_tensor_out &out,
                                       const heed_lse *lse) {
  checker_of<8> check;
  check.pointer(partial, alignof(heed_partial), HEED_ARG_PARTIAL);
  check_object(check, partial, access::read, HEED_ARG_PARTIAL);
  check_object(check, sinks, access::read, HEED_ARG_SINKS);
  check_object(check, lse, access::read, HEED_ARG_LSE);
  if (!check.ok()) return check.status;
  check_partial_contents(check, *partial, access::read, HEED_ARG_PARTIAL);
  heed_attention shape = {};
  shape.batch_size = partial->batch_size;
  shape.n_heads = partial->n_heads;
  shape.n_q = partial->n_q;
  if (check.ok())
    check.tensor(out.data, {partial->batch_size, partial->n_heads, partial->n_q},
                 {out.batch_stride, out.head_stride, out.row_stride}, partial->v_dim, access::write, HEED_ARG_OUT);
  if (check.ok() && sinks) sinks->code->check(check, shape, sinks);
  if (check.ok() && lse) lse->code->check(check, shape, lse);
  return check.finish();
}

// In frames of their own. K is a kernel known at compile time or a pointer to one.
// total becomes total and part, row by row (rule 6).
template <class K>
HEED_NOINLINE void run_merge(K k, const heed_partial &total, const heed_partial &part) {
  const size_t n = count_rows(total);
  stream s = {};
  s.group = 1;
  s.v_dim = total.v_dim;
  s.out_query_stride = total.v_dim;
  scratch memory;
  for (size_t row = 0; row < n; row += scratch_rows) {
    tile t = tile_of(s, 0, static_cast<int32_t>(smaller_of(n - row, scratch_rows)), memory);
    t.total = rows_of_partial(total, row);
    t.chunk = rows_of_partial(part, row);
    s.out = t.total.acc;
    k->merge(t, false);
  }
}

// The state becomes the result acc / l (rule 7). out may not be changed by sinks: these work on copies of m and l.
template <class K>
HEED_NOINLINE void run_finish(K k, const heed_partial &p, const heed_sinks *sinks, const heed_tensor_out &out,
                              const heed_lse *lse) {
  const heed_attention call = {};
  call_rule rule = rule_for(k, call);
  if (sinks) sinks->code->bind(rule, call, sinks);
  if (lse) lse->code->bind(rule, call, lse);
  stream s = {};
  s.group = 1;
  s.v_dim = p.v_dim;
  s.rule = &rule;
  s.out_query_stride = out.row_stride;
  scratch memory;
  size_t head = 0;
  for (s.batch_entry = 0; s.batch_entry < p.batch_size; s.batch_entry++)
    for (s.first_head = 0; s.first_head < p.n_heads; s.first_head++, head++) {
      s.out = out.data + s.batch_entry * out.batch_stride + s.first_head * out.head_stride;
      for (int32_t row = 0; row < p.n_q; row += scratch_rows) {
        const tile t = tile_of(s, row, smaller_of(p.n_q - row, scratch_rows), memory);
        const partial from = rows_of_partial(p, head * p.n_q + row), copy = {memory.m, memory.l, nullptr};
        for (int32_t r = 0; r < t.n_rows; r++) {  // what sinks change
          memory.m[r] = from.m[r];
          memory.l[r] = from.l[r];
          float *to = s.out + (row + r) * s.out_query_stride;
          for (int32_t i = 0; i < p.v_dim; i++) to[i] = from.acc[static_cast<ptrdiff_t>(r) * p.v_dim + i];
        }
        rule.finish(t, copy);
      }
    }
}

}  // namespace
}  // namespace heed

size_t heed_partial_bytes(int32_t batch, int32_t n_heads, int32_t n_q, int32_t v_dim) {
  heed::checker_of<1> check;
  heed::check_shape(check, batch, n_heads, n_q, v_dim, HEED_ARG_MEMORY);
  if (!check.ok()) return 0;
  return sizeof(float) * heed::count_floats(batch, n_heads, n_q, v_dim);
}

heed_status heed_partial_init(heed_partial *partial, int32_t batch, int32_t n_heads, int32_t n_q, int32_t v_dim,
                              int32_t first_key, heed_memory memory) {
  heed::checker_of<2> check;
  check.buffer(partial, sizeof *partial, 0, alignof(heed_partial), HEED_ARG_PARTIAL);
  heed::check_shape(check, batch, n_heads, n_q, v_dim, HEED_ARG_MEMORY);
  check.require(first_key >= 0 && first_key <= HEED_MAX_COUNT, HEED_OUT_OF_RANGE, HEED_ARG_FIRST_KEY);
  check.require(first_key % heed::chunk_keys == 0, HEED_BAD_SPLIT, HEED_ARG_FIRST_KEY);
  if (!check.ok()) return check.status;
  const size_t n = heed::count_floats(batch, n_heads, n_q, v_dim);
  check.room(memory, sizeof(float) * n, alignof(float), HEED_ARG_MEMORY);
  if (check.finish() != HEED_OK) return check.status;
  float *numbers = static_cast<float *>(memory.data);
  *partial = {sizeof *partial, &heed::partial_code, batch, n_heads, n_q, v_dim, first_key, 0, numbers};
  const size_t rows = heed::count_rows(*partial);
  for (size_t i = 0; i < n; i++) numbers[i] = i < rows ? heed::negative_infinity : 0.0f;
  return HEED_OK;
}

heed_status heed_partial_merge(heed_partial *total, const heed_partial *part) {
  const heed_status status = heed::check_merge(total, part);
  if (status != HEED_OK) return status;
  heed::run_merge(heed_front_door::kernel(), *total, *part);
  total->n_keys += part->n_keys;
  return HEED_OK;
}

heed_status heed_partial_finish(const heed_partial *partial, const heed_sinks *sinks, heed_tensor_out out,
                                const heed_lse *lse) {
  const heed_status status = heed::check_finish(partial, sinks, out, lse);
  if (status == HEED_OK) heed::run_finish(heed_front_door::kernel(), *partial, sinks, out, lse);
  return status;
}
