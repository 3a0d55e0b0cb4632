// libFuzzer over the whole interface. Every call is made on one kernel and on the reference of its profile: a refused
// call must have written nothing, an accepted one gives the same bits on both. SPDX-License-Identifier: MIT
#include "support/fuzz_block.hpp"
#include "support/fuzz_cache.hpp"
#include "support/fuzz_narrow.hpp"
#include "support/fuzz_partial.hpp"

namespace heed_test {
namespace {

void fuzz_attention(fuzz_bytes *in) {
  fuzz_memory memory(in);
  heed_attention c = {};
  c.struct_size = in->rarely() ? uint32_t(in->word()) : uint32_t(sizeof c);
  c.batch = in->byte() < 200 ? 1 : in->size();
  c.n_kv_heads = in->byte() < 200 ? 1 + in->byte() % 3 : in->size();
  c.n_heads = in->rarely() ? in->size() : int32_t((1 + in->byte() % 3) * int64_t{c.n_kv_heads & 0xffff});
  c.n_q = in->size(), c.n_kv = in->size(), c.head_dim = in->size(), c.v_dim = in->size();
  if (too_much(double(c.batch) * c.n_heads * c.n_q * c.n_kv * (double(c.head_dim) + c.v_dim))) return;
  c.scale = in->scale();
  c.causal = in->flag();
  c.position = in->byte() < 200 ? in->byte() - 100 : in->word();
  c.q = tensor_of<heed_tensor>(in, &memory, c.batch, c.n_heads, c.n_q, c.head_dim, false);
  c.k = tensor_of<heed_tensor>(in, &memory, c.batch, c.n_kv_heads, c.n_kv, c.head_dim, false);
  c.v = tensor_of<heed_tensor>(in, &memory, c.batch, c.n_kv_heads, c.n_kv, c.v_dim, false);
  c.out = tensor_of<heed_tensor_out>(in, &memory, c.batch, c.n_heads, c.n_q, c.v_dim, true);
  c.workspace = workspace_of(in, &memory, c.head_dim, c.v_dim);
  heed_executor executor;
  c.executor = executor_of(in, &executor);
  c.options = fuzz_options(in, &memory, c.batch, c.n_heads, c.n_q, c.n_kv).draw(false);
  fuzz_narrow(in, &memory, &c).draw();
  if (in->rarely() && c.q.data) c.out.data = const_cast<float *>(c.q.data);  // refused: q is read
  const heed_attention *call = in->rarely() ? nullptr : &c;
  check(in, &memory, [=] {
    const heed_status status = heed_attention_run(call);
    if (status == HEED_OK) fuzz_narrow::unify(*call);
    return status;
  });
}

void fuzz_primitives(fuzz_bytes *in, int which) {
  fuzz_memory memory(in);
  const int32_t n = in->size(), depth = in->size(), columns = in->size();
  const int32_t misfit = in->rarely() ? in->size() : depth;
  if (too_much(double(n) * depth * columns)) return;
  heed_executor executor;
  const heed_executor *e = executor_of(in, &executor);
  const heed_matrix x = memory.matrix(n, depth);
  if (which == 0) {
    const heed_matrix_out y = memory.matrix_out(n, misfit);
    const float scale = in->scale(1);
    return check(in, &memory, [&] { return heed_softmax(x, scale, y, e); });
  }
  const heed_matrix w = memory.matrix(misfit, columns);
  const heed_matrix_out y = memory.matrix_out(n, columns);
  if (which == 1) return check(in, &memory, [&] { return heed_weighted_sum(x, w, y, e); });
  const float *bias = in->byte() % 2 ? nullptr : memory.tensor({1}, {0}, columns, false);
  check(in, &memory, [&] { return heed_linear(x, w, bias, y, e); });
}

void fuzz_dot(fuzz_bytes *in) {
  fuzz_memory memory(in);
  const int32_t n = in->size();
  const float *a = memory.tensor({1}, {0}, n, false), *b = memory.tensor({1}, {0}, n, false);
  float *result = memory.tensor({1}, {0}, 1, true);
  check(in, &memory, [&] { return heed_dot(a, b, n, result); });
}

void fuzz_layer(fuzz_bytes *in) {
  fuzz_memory memory(in);
  heed_attention_layer l = heed_attention_layer_default(in->size() % 40, 1);
  if (in->rarely()) l.struct_size = uint32_t(in->word());
  l.n_kv_heads = in->rarely() ? in->size() : 1 + in->byte() % 3;
  l.n_heads = in->rarely() ? in->size() : (1 + in->byte() % 3) * (l.n_kv_heads & 0xff);
  l.head_dim = in->size(), l.v_dim = in->size(), l.scale = in->scale(), l.causal = in->flag();
  const double q = double(l.n_heads) * l.head_dim, k = double(l.n_kv_heads) * l.head_dim;
  const double v = double(l.n_kv_heads) * l.v_dim, context = double(l.n_heads) * l.v_dim;
  const int32_t n = in->size();
  if (!(q > 0 && k > 0 && v > 0 && context > 0 && n > 0) || too_much(n * (q + k + v + context) * 64)) return;
  l.out_dim = in->byte() % 2 ? int32_t(context) : in->size();
  const auto weights = [&](double n_in, double n_out) {
    return weights_of(in, &memory, int32_t(n_in), int32_t(n_out));
  };
  l.wq = weights(l.model_dim, q), l.wk = weights(l.model_dim, k), l.wv = weights(l.model_dim, v);
  if (in->byte() % 2) l.wo = weights(context, l.out_dim);
  l.bq = floats_or_null(in, &memory, int32_t(q)), l.bv = floats_or_null(in, &memory, int32_t(v));
  if (in->byte() % 4 == 0) l.bo = floats_or_null(in, &memory, l.out_dim);
  if (in->byte() % 4 == 0) l.rope = rope_of(in, &memory, l.head_dim);
  const heed_matrix x = memory.matrix(n, in->rarely() ? in->size() : l.model_dim);
  const heed_matrix_out y = memory.matrix_out(n, l.out_dim);
  const size_t activations = HEED_LAYER_ROUND(4 * size_t(n * (q + k + v + context)));
  const size_t bytes = activations + workspace_bytes_of(in, l.head_dim, l.v_dim) - (in->rarely() ? activations : 0);
  const heed_memory room = heed_memory_of(memory.buffer(bytes ? bytes : 1, false), bytes);
  heed_executor executor;
  const heed_executor *e = executor_of(in, &executor);
  l.options = fuzz_options(in, &memory, 1, l.n_heads, n, n).draw(false);
  check(in, &memory, [&] { return heed_attention_layer_run(&l, x, y, room, e); });
}

// A life of one sequence: rows come and go, its length never leaves its bounds.
void fuzz_sequence(fuzz_bytes *in) {
  fuzz_memory memory(in);
  const int32_t capacity = 1 + in->byte() % 20, dim = 1 + in->byte() % 20;
  std::vector<float> storage(size_t(capacity) * dim), result(size_t(capacity) * dim);
  heed_sequence s, out;
  const size_t bytes = HEED_SEQUENCE_BYTES(capacity, dim);
  const heed_memory own = heed_memory_of(storage.data(), bytes - (in->rarely() ? 1 : 0));
  if (heed_sequence_init(&s, in->rarely() ? in->size() % capacity : capacity, dim, own) != HEED_OK) return;
  if (heed_sequence_init(&out, capacity, dim, heed_memory_of(result.data(), bytes)) != HEED_OK)
    fail("a good sequence is refused");
  const heed_memory workspace = workspace_of(in, &memory, dim, dim);
  for (int steps = in->byte() % 12; steps > 0 && memory.usable(); --steps) {
    const int32_t before = s.length;
    const heed_matrix rows = memory.matrix(in->size() % 30, in->rarely() ? in->size() : dim);
    if (!memory.usable()) return;
    const bool push = in->byte() % 2;
    const heed_status status = push ? heed_sequence_push(&s, rows) : heed_sequence_append(&s, rows);
    if (push && status == HEED_STATUS(HEED_FULL, HEED_ARG_SEQUENCE)) fail("no room although the oldest rows go");
    const int32_t after = push ? std::min(s.capacity, before + rows.n_rows) : before + rows.n_rows;
    if (s.length != (status == HEED_OK ? after : before) || s.length > s.capacity) fail("wrong length");
    fuzz_memory of_options(in);
    const heed_options *options = fuzz_options(in, &of_options, 1, 1, s.length, s.length).draw(false);
    if (!of_options.usable()) return;
    const float scale = in->scale();
    const int32_t causal = in->flag();
    out.length = 0;
    const bool done = heed_sequence_attention(&s, scale, causal, options, &out, workspace) == HEED_OK;
    if (out.length != (done ? s.length : 0)) fail("wrong length of the result");
    if (!done && !of_options.untouched()) fail("a refused call wrote");
    if (in->rarely() && (heed_sequence_clear(&s) != HEED_OK || s.length != 0)) fail("not cleared");
  }
}

}  // namespace
}  // namespace heed_test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  heed_test::fuzz_bytes in(data, size);
  const uint8_t which = in.byte();
  if (which < 50)
    heed_test::fuzz_attention(&in);
  else if (which < 80)
    heed_test::cache_life(&in).run();
  else if (which < 100)
    heed_test::partial_life(&in).run();
  else if (which < 120)
    heed_test::fuzz_primitives(&in, which % 3);
  else if (which < 128)
    heed_test::fuzz_dot(&in);
  else if (which < 145)
    heed_test::fuzz_layer(&in);
  else if (which < 160)
    heed_test::fuzz_sequence(&in);
  else if (which < 185)
    heed_test::fuzz_rows(&in);
  else if (which < 198)
    heed_test::fuzz_rope(&in);
  else if (which < 211)
    heed_test::fuzz_formats(&in);
  else if (which < 226)
    heed_test::fuzz_project(&in);
  else
    heed_test::block_life(&in).run();
  const heed_status any = in.word();
  return heed_status_text(any)[0] && heed_status_argument(any)[0] ? 0 : (std::abort(), 0);
}
