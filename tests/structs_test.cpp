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

  // An object of type T at a place inside memory that a call writes.
  template <typename T>
  static T *put(const T &object, void *place) {
    return new (place) T(object);
  }
  void overlaps(heed_argument argument, const std::string &what, const std::function<heed_status()> &call) {
    memory_.refuses(call, HEED_OVERLAP, argument, what);
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
  for (float *place : {workspace_, workspace_ + 40, workspace_ + workspace_bytes / 4 - sizeof good / 4})
    overlaps(HEED_ARG_WORKSPACE, "call in its workspace", [&] { return heed_attention_run(put(good, place)); });
  heed_attention wide = good;
  wide.out.row_stride = n * dim;  // in the gaps between rows, too
  overlaps(HEED_ARG_OUT, "call in its result", [&] { return heed_attention_run(put(wide, y_ + 8)); });
}

TEST_F(structs, of_executors_may_not_lie_in_what_a_call_writes) {
  reverse_executor executor(2);
  const auto in = [&](void *place) { return put(*executor.get(), place); };
  overlaps(HEED_ARG_WORKSPACE, "attention, workspace", [&] {
    heed_attention call = attention();
    call.executor = in(workspace_ + 16);
    return heed_attention_run(&call);
  });
  overlaps(HEED_ARG_Y, "softmax", [&] { return heed_softmax(x(), 1, y(), in(y_ + 2)); });
  const heed_matrix w = heed_matrix_of(w_, dim, dim);
  overlaps(HEED_ARG_Y, "linear", [&] { return heed_linear(x(), w, nullptr, y(), in(y_ + 2)); });
  overlaps(HEED_ARG_OUT, "weighted sum", [&] { return heed_weighted_sum(x(), w, y(), in(y_)); });
  EXPECT_EQ(executor.runs(), 0);
}

TEST_F(structs, of_layers_may_not_lie_in_what_they_write) {
  const heed_layer layer = {
      sizeof(heed_layer), dim, 1, 1, dim, dim, dim, 0, 0, w_, w_, w_, w_, nullptr, nullptr, nullptr, nullptr};
  const auto run = [&](const heed_layer *l) {
    return heed_layer_run(l, x(), y(), activations_, 4 * n * dim, workspace_, workspace_bytes, nullptr);
  };
  ASSERT_EQ(run(&layer), HEED_OK);
  overlaps(HEED_ARG_Y, "result", [&] { return run(put(layer, y_)); });
  overlaps(HEED_ARG_ACTIVATIONS, "activations", [&] { return run(put(layer, activations_ + 6)); });
  overlaps(HEED_ARG_WORKSPACE, "workspace", [&] { return run(put(layer, workspace_)); });
}

TEST_F(structs, of_sequences_may_not_lie_in_their_storage_or_workspace) {
  const auto empty = [](float *data) { return heed_sequence{sizeof(heed_sequence), n, dim, 0, data}; };
  overlaps(HEED_ARG_SEQUENCE, "init", [&] { return heed_sequence_init(put(empty(x_), y_ + 4), y_, n, dim); });
  overlaps(HEED_ARG_SEQUENCE, "append", [&] { return heed_sequence_append(put(empty(y_), y_ + 4), x()); });
  overlaps(HEED_ARG_SEQUENCE, "clear", [&] { return heed_sequence_clear(put(empty(y_), y_ + 4)); });
  heed_sequence words = empty(x_), context = empty(y_);
  words.length = n;
  const auto attend = [&](const heed_sequence *from, heed_sequence *to) {
    return heed_sequence_self_attention(from, 0, to, workspace_, workspace_bytes);
  };
  ASSERT_EQ(attend(&words, &context), HEED_OK);
  overlaps(HEED_ARG_OUT, "x in the result", [&] { return attend(put(words, y_ + 8), &context); });
  overlaps(HEED_ARG_WORKSPACE, "x in the workspace", [&] { return attend(put(words, workspace_), &context); });
  overlaps(HEED_ARG_OUT, "out in the workspace", [&] { return attend(&words, put(context, workspace_ + 8)); });
  overlaps(HEED_ARG_OUT, "out in x", [&] { return attend(&words, put(context, x_ + 4)); });
}

TEST_F(structs, of_reports_may_not_lie_in_the_buffer) {
  heed_selftest_report report = {};
  report.struct_size = sizeof report;
  overlaps(HEED_ARG_BUFFER, "report",
           [&] { return heed_selftest(buffer_, HEED_SELFTEST_BYTES, put(report, buffer_ + 8)); });
  overlaps(HEED_ARG_BUFFER, "report",
           [&] { return heed_selftest_boot(buffer_, HEED_SELFTEST_BOOT_BYTES, put(report, buffer_)); });
}

// A struct at an address where its fields would be misaligned is not read.
TEST_F(structs, must_be_aligned) {
  heed_attention call = attention();
  const auto shifted = [&](const auto &object) { return misaligned(put(object, workspace_)); };
  memory_.refuses([&] { return heed_attention_run(shifted(call)); }, HEED_MISALIGNED, HEED_ARG_CALL, "call");
  const heed_sequence s = {sizeof s, n, dim, 0, y_};
  memory_.refuses([&] { return heed_sequence_clear(shifted(s)); }, HEED_MISALIGNED, HEED_ARG_SEQUENCE, "sequence");
}

}  // namespace
}  // namespace heed_test
