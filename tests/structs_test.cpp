// The structs between caller and library: older sizes are served, and none may lie in memory that its call writes.
// SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/fence.hpp"
#include "support/kernels.hpp"
#include "support/option_set.hpp"

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
  heed_layer layer() const {
    heed_layer l = {};
    l.struct_size = sizeof l;
    l.model_dim = l.head_dim = l.v_dim = l.out_dim = dim, l.n_heads = l.n_kv_heads = 1;
    l.wq = l.wk = l.wv = l.wo = w_;
    return l;
  }
  heed_status run_layer(const heed_layer *l) {
    return heed_layer_run(l, x(), y(), activations_, 4 * n * dim, workspace_, workspace_bytes, nullptr);
  }
  std::vector<float> result() const { return {y_, y_ + n * dim}; }

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
  EXPECT_EQ(sizeof(v0_1_0::attention), offsetof(heed_attention, options));
  EXPECT_EQ(sizeof(v0_1_0::layer), offsetof(heed_layer, options));
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

// The first sizeof(Old) bytes of a struct, as a program of that release passes them, at the end of readable memory.
template <typename Old, typename New>
New *at_the_fence(const New &now, slot where) {
  unsigned char *const old = fence_of(where) - sizeof(Old);
  std::memcpy(old, &now, sizeof(Old));
  reinterpret_cast<Old *>(old)->struct_size = sizeof(Old);
  return reinterpret_cast<New *>(old);
}

// Nothing behind the struct that a caller had is read: it would be a crash.
TEST_F(structs, of_0_1_0_are_read_no_further) {
  const heed_attention call = attention();
  ASSERT_EQ(heed_attention_run(&call), HEED_OK);
  const std::vector<float> attended = result();
  std::fill(y_, y_ + n * dim, 0.0f);
  EXPECT_EQ(heed_attention_run(at_the_fence<v0_1_0::attention>(call, slot_q)), HEED_OK);
  EXPECT_EQ(result(), attended);

  const heed_layer now = layer();
  ASSERT_EQ(run_layer(&now), HEED_OK);
  const std::vector<float> projected = result();
  std::fill(y_, y_ + n * dim, 0.0f);
  EXPECT_EQ(run_layer(at_the_fence<v0_1_0::layer>(now, slot_q)), HEED_OK);
  EXPECT_EQ(result(), projected);
  EXPECT_NE(attended, projected);
}

// Each object of options alone at the end of readable memory, and the options themselves.
TEST_F(structs, of_options_are_read_no_further) {
  option_set set(&memory_, {1, 1, n, n});
  heed_options options = *set.options;
  heed_attention call = attention();
  call.options = &options;
  ASSERT_EQ(heed_attention_run(&call), HEED_OK);
  const std::vector<float> expected = result();
  const auto attend = [&](const heed_options *o, const std::string &what) {
    std::fill(y_, y_ + n * dim, 0.0f);
    call.options = o;
    EXPECT_EQ(status_name(heed_attention_run(&call)), "HEED_OK") << what;
    EXPECT_EQ(result(), expected) << what;
    options = *set.options;
  };
  const auto alone = [&](auto heed_options::*object, const std::string &what) {
    options.*object = new (fence_of(slot_q) - sizeof *(options.*object)) auto(*(options.*object));
    attend(&options, what);
  };
  alone(&heed_options::ranges, "ranges");
  alone(&heed_options::mask, "mask");
  alone(&heed_options::softcap, "softcap");
  alone(&heed_options::alibi, "alibi");
  alone(&heed_options::sinks, "sinks");
  alone(&heed_options::scores, "scores");
  alone(&heed_options::lse, "lse");
  alone(&heed_options::column_sums, "column sums");
  alone(&heed_options::top_k, "top k");
  attend(new (fence_of(slot_q) - sizeof options) heed_options(options), "options");
}

// So are the arrays that options point to.
TEST_F(structs, of_options_arrays_are_read_no_further) {
  option_set set(&memory_, {1, 1, n, n});
  heed_attention call = attention();
  call.options = set.options;
  ASSERT_EQ(heed_attention_run(&call), HEED_OK);
  const std::vector<float> expected = result();
  const auto attend = [&](const void *data, size_t bytes, const auto &move, const std::string &what) {
    void *there = std::memcpy(fence_of(slot_q) - bytes, data, bytes);
    move(there);
    std::fill(y_, y_ + n * dim, 0.0f);
    EXPECT_EQ(status_name(heed_attention_run(&call)), "HEED_OK") << what;
    EXPECT_EQ(result(), expected) << what;
    set.restore();
  };
  for (const int32_t *heed_ranges::*array :
       {&heed_ranges::left_windows, &heed_ranges::right_windows, &heed_ranges::offsets, &heed_ranges::kv_lengths})
    attend(
        set.ranges->*array, 4, [&](void *to) { set.ranges->*array = static_cast<int32_t *>(to); }, "ranges");
  attend(
      set.slopes, 4, [&](void *to) { set.alibi->slopes = static_cast<float *>(to); }, "slopes");
  attend(
      set.logits, 4, [&](void *to) { set.sinks->logits = static_cast<float *>(to); }, "logits");
  attend(
      set.mask_data, size_t{n} * n * 4, [&](void *to) { set.mask->data = to; }, "mask");
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
  const heed_layer good = layer();
  const auto run = [&](const heed_layer *l) { return run_layer(l); };
  ASSERT_EQ(run(&good), HEED_OK);
  overlaps(HEED_ARG_Y, "result", good, y_, run);
  overlaps(HEED_ARG_ACTIVATIONS, "activations", good, activations_ + 6, run);
  overlaps(HEED_ARG_WORKSPACE, "workspace", good, workspace_, run);
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
  overlaps(HEED_ARG_BUFFER, "report", report, buffer_,
           [&](R *r) { return heed_selftest_features(buffer_, HEED_SELFTEST_FEATURES_BYTES, r); });
}

// A struct at an address where its fields would be misaligned is not read.
TEST_F(structs, must_be_aligned) {
  overlaps(HEED_ARG_CALL, "call", attention(), x_, heed_attention_run, HEED_MISALIGNED, 1);
  const heed_sequence s = {sizeof s, n, dim, 0, y_};
  overlaps(HEED_ARG_SEQUENCE, "sequence", s, x_, heed_sequence_clear, HEED_MISALIGNED, 2);
}

}  // namespace
}  // namespace heed_test
