// libFuzzer over the whole interface. Every call is made on one kernel and on the reference of its profile: a refused
// call must have written nothing, an accepted one gives the same bits on both. SPDX-License-Identifier: MIT
#include <cstdio>
#include <functional>
#include <string>

#include "support/fuzz_input.hpp"

namespace heed_test {
namespace {

void fail(const char *what) {
  std::fprintf(stderr, "fuzz: %s on kernel %s\n", what, heed_kernel_current());
  std::abort();
}

// Equal bytes, except that two NaN are equal. Workspaces do not belong to a result and are not in here.
bool same_results(const std::vector<uint8_t> &a, const std::vector<uint8_t> &b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i + 4 <= a.size(); i += 4) {
    float x, y;
    std::memcpy(&x, &a[i], 4);
    std::memcpy(&y, &b[i], 4);
    if (std::memcmp(&x, &y, 4) != 0 && (x == x || y == y)) return false;
  }
  return true;
}

void check(fuzz_bytes *in, fuzz_memory *memory, const std::function<heed_status()> &call) {
  if (!memory->usable()) return;
  const char *kernel = heed_kernel_name(in->byte() % heed_kernel_count());
  heed_kernel_use(kernel);
  const heed_status status = call();
  if (!heed_status_text(status)[0] || !heed_status_argument(status)[0]) fail("a status without text");
  if (status != HEED_OK && !memory->untouched()) fail("a refused call wrote");
  const std::vector<uint8_t> first = memory->take();
  heed_kernel_use(heed_kernel_profile(kernel) == HEED_PROFILE_FUSED ? "scalar" : "scalar-unfused");
  if (call() != status) fail("another status on the reference");
  if (!same_results(first, memory->take())) fail("other bits than the reference");
}

void run_forwards(void *, int32_t n_tasks, heed_task task, void *context) {
  for (int32_t i = 0; i < n_tasks; ++i) task(context, i, i % 3);
}

// null, a good one, or one with a flaw.
const heed_executor *executor_of(fuzz_bytes *in, heed_executor *memory) {
  *memory = {sizeof(heed_executor), 3, run_forwards, nullptr};
  const uint8_t b = in->byte();
  if (b == 255) memory->struct_size = uint32_t(in->word());
  if (b == 254) memory->n_workers = in->size() % 3;
  if (b == 253) memory->run = nullptr;
  return b < 128 ? nullptr : memory;
}

// A workspace between too short and ample; contents are not compared, so it does not count as written.
void *workspace_of(fuzz_bytes *in, fuzz_memory *memory, int32_t head_dim, int32_t v_dim, size_t *bytes) {
  const size_t least = heed_workspace_min_bytes(head_dim, v_dim), most = heed_workspace_bytes(head_dim, v_dim);
  *bytes = in->rarely() ? size_t(in->byte()) : least + (most - least) * in->byte() / 96;
  return memory->buffer(*bytes ? *bytes : 1, false);
}

bool too_much(double work) { return work > 3e6; }

template <typename Tensor>
Tensor tensor_of(fuzz_bytes *in, fuzz_memory *memory, int32_t batch, int32_t heads, int32_t rows, int32_t dim,
                 bool written) {
  const bool token_major = in->byte() % 2;
  const ptrdiff_t d = dim, h = heads, t = rows;
  Tensor x = {};
  x.row_stride = in->stride(token_major ? d * (h & 0xffff) : d);
  x.head_stride = in->stride(token_major ? d : d * (t & 0xffff));
  x.batch_stride = in->stride(d * (h & 0xffff) * (t & 0xffff));
  x.data = memory->tensor({batch, heads, rows}, {x.batch_stride, x.head_stride, x.row_stride}, dim, written);
  return x;
}

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
  c.causal_offset = in->byte() < 200 ? in->byte() - 100 : in->word();
  c.q = tensor_of<heed_tensor>(in, &memory, c.batch, c.n_heads, c.n_q, c.head_dim, false);
  c.k = tensor_of<heed_tensor>(in, &memory, c.batch, c.n_kv_heads, c.n_kv, c.head_dim, false);
  c.v = tensor_of<heed_tensor>(in, &memory, c.batch, c.n_kv_heads, c.n_kv, c.v_dim, false);
  c.out = tensor_of<heed_tensor_out>(in, &memory, c.batch, c.n_heads, c.n_q, c.v_dim, true);
  if (in->byte() % 2) c.weights = tensor_of<heed_tensor_out>(in, &memory, c.batch, c.n_heads, c.n_q, c.n_kv, true);
  if (in->rarely()) c.out.data = const_cast<float *>(c.q.data);  // refused unless the shapes are too
  c.workspace = workspace_of(in, &memory, c.head_dim, c.v_dim, &c.workspace_bytes);
  heed_executor executor;
  c.executor = executor_of(in, &executor);
  const heed_attention *call = in->rarely() ? nullptr : &c;
  check(in, &memory, [=] { return heed_attention_run(call); });
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
    const float scale = in->scale();
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
  heed_layer l = {};
  l.struct_size = in->rarely() ? uint32_t(in->word()) : uint32_t(sizeof l);
  l.model_dim = in->size() % 40, l.n_kv_heads = in->rarely() ? in->size() : 1 + in->byte() % 3;
  l.n_heads = in->rarely() ? in->size() : (1 + in->byte() % 3) * (l.n_kv_heads & 0xff);
  l.head_dim = in->size(), l.v_dim = in->size(), l.scale = in->scale(), l.causal = in->flag();
  const double q = double(l.n_heads) * l.head_dim, k = double(l.n_kv_heads) * l.head_dim;
  const double v = double(l.n_kv_heads) * l.v_dim, context = double(l.n_heads) * l.v_dim;
  const int32_t n = in->size();
  if (!(q > 0 && k > 0 && v > 0 && context > 0 && n > 0) || too_much(n * (q + k + v + context) * 64)) return;
  l.out_dim = in->byte() % 2 ? int32_t(context) : in->size();
  const auto weights = [&](int32_t rows, double width) {
    return memory.tensor({rows}, {ptrdiff_t(width)}, int32_t(width), false);
  };
  l.wq = weights(l.model_dim, q), l.wk = weights(l.model_dim, k), l.wv = weights(l.model_dim, v);
  if (in->byte() % 2) l.wo = weights(int32_t(context), l.out_dim);
  if (in->byte() % 2) l.bq = weights(1, q);
  if (in->byte() % 2) l.bv = weights(1, v);
  if (in->byte() % 4 == 0) l.bo = weights(1, l.out_dim);
  const heed_matrix x = memory.matrix(n, in->rarely() ? in->size() : l.model_dim);
  const heed_matrix_out y = memory.matrix_out(n, l.out_dim);
  const size_t floats = size_t(n * (q + k + v + context)) - (in->rarely() ? 1 : 0);
  float *activations = static_cast<float *>(memory.buffer(floats * 4, false));
  size_t workspace_bytes;
  void *workspace = workspace_of(in, &memory, l.head_dim, l.v_dim, &workspace_bytes);
  heed_executor executor;
  const heed_executor *e = executor_of(in, &executor);
  check(in, &memory, [&] { return heed_layer_run(&l, x, y, activations, floats, workspace, workspace_bytes, e); });
}

// A life of one sequence: rows come and go, its length never leaves its bounds.
void fuzz_sequence(fuzz_bytes *in) {
  fuzz_memory memory(in);
  const int32_t capacity = 1 + in->byte() % 20, dim = 1 + in->byte() % 20;
  std::vector<float> storage(size_t(capacity) * dim), result(size_t(capacity) * dim);
  heed_sequence s, out;
  if (heed_sequence_init(&s, storage.data(), in->rarely() ? in->size() % capacity : capacity, dim) != HEED_OK) return;
  if (heed_sequence_init(&out, result.data(), capacity, dim) != HEED_OK) fail("a good sequence is refused");
  size_t bytes;
  void *workspace = workspace_of(in, &memory, dim, dim, &bytes);
  for (int steps = in->byte() % 12; steps > 0 && memory.usable(); --steps) {
    const int32_t before = s.length;
    const heed_matrix rows = memory.matrix(in->size() % 30, in->rarely() ? in->size() : dim);
    if (!memory.usable()) return;
    const heed_status status = heed_sequence_append(&s, rows);
    if (s.length != (status == HEED_OK ? before + rows.n_rows : before) || s.length > s.capacity) fail("wrong length");
    if (heed_sequence_self_attention(&s, in->scale(), &out, workspace, bytes) == HEED_OK && out.length != s.length)
      fail("wrong length of the result");
    if (in->rarely() && (heed_sequence_clear(&s) != HEED_OK || s.length != 0)) fail("not cleared");
  }
}

}  // namespace
}  // namespace heed_test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  heed_test::fuzz_bytes in(data, size);
  const uint8_t which = in.byte();
  if (which < 110)
    heed_test::fuzz_attention(&in);
  else if (which < 190)
    heed_test::fuzz_primitives(&in, which % 3);
  else if (which < 205)
    heed_test::fuzz_dot(&in);
  else if (which < 235)
    heed_test::fuzz_layer(&in);
  else
    heed_test::fuzz_sequence(&in);
  const heed_status any = in.word();
  return heed_status_text(any)[0] && heed_status_argument(any)[0] ? 0 : (std::abort(), 0);
}
