// narrow/<shape>/<format>/<kernel>: attention with queries, keys, values and result in one format (int8: result in
// f16), keys and values as rows. Counters as of attention/...; bytes are those that the format takes.
// SPDX-License-Identifier: MIT
#include "measure.hpp"

namespace heed_bench {
namespace {

// A head-major tensor of random numbers.
class narrow_tensor {
 public:
  narrow_tensor(int32_t dtype, int32_t n_rows, int32_t n_heads, int32_t dim)
      : numbers_(size_t(n_heads) * size_t(n_rows) * size_t(dim)), scales_(size_t(n_heads) * size_t(n_rows)) {
    const buffer wide(size_t(n_heads) * size_t(n_rows) * size_t(dim));
    heed_convert_from_f32(heed_matrix_of(wide.get(), n_heads * n_rows, dim),
                          heed_typed_matrix_out_of(numbers_.get(), scales_.get(), dtype, n_heads * n_rows, dim));
    view = heed_typed_head_major(numbers_.get(), scales_.get(), dtype, n_rows, n_heads, dim);
  }
  heed_typed_tensor view;

 private:
  buffer numbers_, scales_;
};

void narrow(benchmark::State &state, const heed_shape &s, int32_t dtype, const char *kernel) {
  const narrow_tensor q(dtype, s.n_q, s.n_heads, s.head_dim), k(dtype, s.n_kv, s.n_kv_heads, s.head_dim),
      v(dtype, s.n_kv, s.n_kv_heads, s.head_dim);
  const buffer out(heed_shape_q_floats(&s)), workspace(HEED_WORKSPACE_BYTES(s.head_dim, s.head_dim) / 4);
  heed_typed_tensors tensors;
  heed_typed_tensors_init(&tensors);
  tensors.q = q.view, tensors.k = k.view, tensors.v = v.view;
  tensors.out =
      heed_typed_head_major_out(out.get(), dtype == HEED_INT8 ? HEED_F16 : dtype, s.n_q, s.n_heads, s.head_dim);
  heed_options options = heed_options_default();
  options.typed = &tensors;
  heed_attention call = heed_shape_call(&s, nullptr, nullptr, nullptr, nullptr, workspace.memory());
  call.options = &options;
  work w;
  const double bytes = static_cast<double>(HEED_DTYPE_BYTES(dtype));
  const double of_kv = bytes * 2.0 * static_cast<double>(heed_shape_kv_floats(&s));
  w.flop = heed_shape_flop(&s);
  w.bytes = bytes * 2.0 * static_cast<double>(heed_shape_q_floats(&s)) + of_kv;
  if (heed_shape_is_decode(&s)) w.resident = static_cast<size_t>(of_kv);
  run(state, kernel, w, [&] { return heed_attention_run(&call); });
}

}  // namespace

void register_narrow() {
  static const char *const names[4] = {"f32", "f16", "bf16", "int8"};
  for (const heed_shape &s : heed_shapes)
    for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; ++dtype)
      for (int32_t i = 0; i < heed_isa_count(); ++i) {
        const char *kernel = heed_isa_name(i);
        benchmark::RegisterBenchmark((std::string("narrow/") + s.name + "/" + names[dtype] + "/" + kernel).c_str(),
                                     narrow, s, dtype, kernel);
      }
}

}  // namespace heed_bench
