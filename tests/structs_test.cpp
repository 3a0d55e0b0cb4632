// The structs between caller and library: older sizes are served, and none may lie in memory that its call writes.
// SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/kernels.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

// As release 0.1.0 had them: a program compiled then still passes these.
namespace v0_1_0 {
struct executor {
  uint32_t struct_size;
  int32_t n_workers;
  void (*run)(void *, int32_t, heed_task, void *);
  void *user;
};
struct attention {
  uint32_t struct_size;
  int32_t batch, n_heads, n_kv_heads, n_q, n_kv, head_dim, v_dim;
  float scale;
  int32_t causal, causal_offset;
  heed_tensor q, k, v;
  heed_tensor_out out, weights;
  void *workspace;
  size_t workspace_bytes;
  const heed_executor *executor;
};
struct layer {
  uint32_t struct_size;
  int32_t model_dim, n_heads, n_kv_heads, head_dim, v_dim, out_dim;
  float scale;
  int32_t causal;
  const float *wq, *wk, *wv, *wo, *bq, *bk, *bv, *bo;
};
struct sequence {
  uint32_t struct_size;
  int32_t capacity, dim, length;
  float *data;
};
struct report {
  uint32_t struct_size;
  int32_t n_kernels, n_cases;
  uint32_t n_floats;
  const char *kernel, *function;
  int32_t case_index, float_index;
  uint32_t expected_bits, actual_bits;
};
}  // namespace v0_1_0

class structs : public ::testing::Test {
 protected:
  static constexpr int32_t n = 4, dim = 6;
  static constexpr size_t workspace_bytes = HEED_WORKSPACE_BYTES(dim, dim);

  // Puts an object into memory that the call writes; the call must be refused and leave it as it was.
  template <typename T, typename Call>
  void overlaps(heed_argument argument, const std::string &what, const T &object, float *place, Call call,
                heed_fault fault = HEED_OVERLAP, uintptr_t shift = 0) {
    const T *there = new (reinterpret_cast<unsigned char *>(place) + shift) T(object);
    memory_.refuses([&] { return call(const_cast<T *>(there)); }, fault, argument, what);
  }
  heed_attention attention() { return heed_attention_of(n, n, 1, 1, dim, x_, x_, x_, y_, workspace_, workspace_bytes); }
  heed_matrix x() const { return heed_matrix_of(x_, n, dim); }
  heed_matrix_out y() const { return heed_matrix_out_of(y_, n, dim); }

  arena memory_;
  float *x_ = memory_.take_aligned(n * dim), *w_ = memory_.take_aligned(dim * dim);
  float *y_ = memory_.take_aligned(n * n * dim), *activations_ = memory_.take_aligned(5 * n * dim);
  float *workspace_ = memory_.take_aligned(workspace_bytes / 4);
  float *buffer_ = memory_.take_aligned(HEED_SELFTEST_BYTES / 4);
};

TEST_F(structs, of_0_1_0_are_served) {
  EXPECT_EQ(sizeof(v0_1_0::executor), sizeof(heed_executor));
  EXPECT_EQ(sizeof(v0_1_0::attention), sizeof(heed_attention));
  EXPECT_EQ(sizeof(v0_1_0::layer), sizeof(heed_layer));
  EXPECT_EQ(sizeof(v0_1_0::sequence), sizeof(heed_sequence));
  EXPECT_LT(sizeof(v0_1_0::report), sizeof(heed_selftest_report));
  struct {
    v0_1_0::report report;
    unsigned char behind[64];
  } old;
  std::memset(&old, 0x5a, sizeof old);
  old.report.struct_size = sizeof old.report;
  const auto as_new = reinterpret_cast<heed_selftest_report *>(&old.report);
  for (const bool boot : {false, true}) {
    ASSERT_EQ((boot ? heed_selftest_boot : heed_selftest)(buffer_, HEED_SELFTEST_BYTES, as_new), HEED_OK);
    EXPECT_EQ(old.report.struct_size, sizeof old.report);
    EXPECT_EQ(old.report.n_kernels, boot ? 1 : heed_kernel_count());
    EXPECT_EQ(old.report.actual_bits, 0u);
    for (const unsigned char c : old.behind) ASSERT_EQ(c, 0x5a) << "written behind the caller's struct";
  }
}

TEST_F(structs, of_a_call_may_not_lie_in_what_it_writes) {
  const heed_attention good = attention();
  for (float *place : {workspace_, workspace_ + 40, workspace_ + (workspace_bytes - sizeof good) / 4})
    overlaps(HEED_ARG_WORKSPACE, "call in its workspace", good, place, heed_attention_run);
  heed_attention wide = good;
  wide.out.row_stride = n * dim;  // in the gaps between rows, too
  overlaps(HEED_ARG_OUT, "call in its result", wide, y_ + 8, heed_attention_run);
}

TEST_F(structs, of_executors_may_not_lie_in_what_a_call_writes) {
  reverse_executor executor(2);
  const heed_executor good = *executor.get();
  using E = const heed_executor;
  const heed_matrix w = heed_matrix_of(w_, dim, dim), square = heed_matrix_of(x_, dim - 2, dim);
  overlaps(HEED_ARG_WORKSPACE, "attention", good, workspace_ + 16, [&](E *e) {
    heed_attention call = attention();
    call.executor = e;
    return heed_attention_run(&call);
  });
  overlaps(HEED_ARG_Y, "softmax", good, y_ + 2, [&](E *e) { return heed_softmax(x(), 1, y(), e); });
  overlaps(HEED_ARG_Y, "linear", good, y_ + 2, [&](E *e) { return heed_linear(x(), w, nullptr, y(), e); });
  overlaps(HEED_ARG_OUT, "weighted sum", good, y_, [&](E *e) { return heed_weighted_sum(square, w, y(), e); });
  EXPECT_EQ(executor.runs(), 0);
}

TEST_F(structs, of_layers_may_not_lie_in_what_they_write) {
  const heed_layer layer = {
      sizeof(heed_layer), dim, 1, 1, dim, dim, dim, 0, 0, w_, w_, w_, w_, nullptr, nullptr, nullptr, nullptr, nullptr};
  const auto run = [&](const heed_layer *l) {
    return heed_layer_run(l, x(), y(), activations_, 4 * n * dim, workspace_, workspace_bytes, nullptr);
  };
  ASSERT_EQ(run(&layer), HEED_OK);
  overlaps(HEED_ARG_Y, "result", layer, y_, run);
  overlaps(HEED_ARG_ACTIVATIONS, "activations", layer, activations_ + 6, run);
  overlaps(HEED_ARG_WORKSPACE, "workspace", layer, workspace_, run);
}

TEST_F(structs, of_sequences_may_not_lie_in_their_storage_or_workspace) {
  const auto empty = [](float *data) { return heed_sequence{sizeof(heed_sequence), n, dim, 0, data}; };
  using S = heed_sequence;
  overlaps(HEED_ARG_SEQUENCE, "init", empty(x_), y_ + 4, [&](S *s) { return heed_sequence_init(s, y_, n, dim); });
  overlaps(HEED_ARG_SEQUENCE, "append", empty(y_), y_ + 4, [&](S *s) { return heed_sequence_append(s, x()); });
  overlaps(HEED_ARG_SEQUENCE, "clear", empty(y_), y_ + 4, heed_sequence_clear);
  heed_sequence words = empty(x_), context = empty(y_);
  words.length = n;
  const auto attend = [&](const S *from, S *to) {
    return heed_sequence_self_attention(from, 0, to, workspace_, workspace_bytes);
  };
  ASSERT_EQ(attend(&words, &context), HEED_OK);
  overlaps(HEED_ARG_OUT, "x in the result", words, y_ + 8, [&](S *s) { return attend(s, &context); });
  overlaps(HEED_ARG_WORKSPACE, "x in the workspace", words, workspace_, [&](S *s) { return attend(s, &context); });
  overlaps(HEED_ARG_OUT, "out in the workspace", context, workspace_ + 8, [&](S *s) { return attend(&words, s); });
  overlaps(HEED_ARG_OUT, "out in x", context, x_ + 4, [&](S *s) { return attend(&words, s); });
}

TEST_F(structs, of_reports_may_not_lie_in_the_buffer) {
  heed_selftest_report report = {};
  report.struct_size = sizeof report;
  using R = heed_selftest_report;
  overlaps(HEED_ARG_BUFFER, "report", report, buffer_ + 8,
           [&](R *r) { return heed_selftest(buffer_, HEED_SELFTEST_BYTES, r); });
  overlaps(HEED_ARG_BUFFER, "report", report, buffer_,
           [&](R *r) { return heed_selftest_boot(buffer_, HEED_SELFTEST_BOOT_BYTES, r); });
}

// A struct at an address where its fields would be misaligned is not read.
TEST_F(structs, must_be_aligned) {
  overlaps(HEED_ARG_CALL, "call", attention(), x_, heed_attention_run, HEED_MISALIGNED, 1);
  const heed_sequence s = {sizeof s, n, dim, 0, y_};
  overlaps(HEED_ARG_SEQUENCE, "sequence", s, x_, heed_sequence_clear, HEED_MISALIGNED, 2);
}

}  // namespace
}  // namespace heed_test
