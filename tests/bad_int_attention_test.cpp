// Every argument of attention in integers, wrong in every way: its status, and nothing is written.
// SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/integers.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

using C = heed_int_attention;
using wrong = std::function<void(C &)>;

class bad_int_attention : public ::testing::Test {
 protected:
  // Two batch entries, heads and rows of everything.
  bad_int_attention() {
    const auto bytes = [&](size_t n) { return reinterpret_cast<int8_t *>(memory_.take_aligned((n + 3) / 4)); };
    const size_t room = HEED_INT_WORKSPACE_MIN_BYTES(6, 5), partial_bytes = 12 * HEED_INT_PARTIAL_ROW_BYTES(5);
    good_ = heed_int_attention_of(bytes(144), bytes(168), bytes(140), 3, 7, 2, 2, 6, bytes(128), {bytes(room), room});
    good_.batch_size = 2;
    good_.v_dim = 5;
    good_.v.row_stride = good_.out.row_stride = 10;
    good_.v.head_stride = good_.out.head_stride = 5;
    good_.v.batch_stride = 70;
    good_.out.batch_stride = 30;
    good_.score = {0x50000000, -12};
    good_.value = {0x50000000, 2};
    partial_ = {bytes(partial_bytes), partial_bytes};
    other_ = {bytes(partial_bytes), partial_bytes};
    mask_ = reinterpret_cast<uint8_t *>(bytes(84));
    numbers_ = reinterpret_cast<int32_t *>(bytes(256));
    for (int32_t i = 0; i < 64; ++i) numbers_[i] = 1;
    multipliers_ = reinterpret_cast<heed_multiplier *>(bytes(68) + 4);  // they are words: 4 bytes are enough
    for (int32_t i = 0; i < 8; ++i) multipliers_[i] = {0x40000000 + i, -1};
  }
  void refuses(const std::string &what, heed_fault fault, heed_argument argument, const wrong &apply) {
    C call = good_;
    apply(call);
    memory_.refuses([&] { return heed_int_attention_run(&call); }, fault, argument, what);
  }
  void finish_refuses(const std::string &what, heed_fault fault, heed_argument argument, const wrong &apply) {
    C call = good_;
    call.partial = partial_;
    apply(call);
    memory_.refuses([&] { return heed_int_partial_finish(&call); }, fault, argument, what);
  }
  void count_flaws(int32_t C::*member, int32_t most, heed_argument argument) {
    for (int32_t n : {0, -1, INT32_MIN, most + 1, INT32_MAX})
      refuses("count " + std::to_string(n), HEED_OUT_OF_RANGE, argument, [&](C &c) { c.*member = n; });
  }
  template <class T>
  void tensor_flaws(T C::*member, heed_argument argument) {
    refuses("null", HEED_NULL_POINTER, argument, [&](C &c) { (c.*member).data = nullptr; });
    for (ptrdiff_t T::*stride : {&T::batch_stride, &T::head_stride, &T::row_stride}) {
      refuses("stride -1", HEED_BAD_STRIDE, argument, [&](C &c) { c.*member.*stride = -1; });
      refuses("greatest stride", HEED_OVERFLOW, argument, [&](C &c) { c.*member.*stride = huge_stride; });
    }
    refuses("top", HEED_OVERFLOW, argument,
            [&](C &c) { (c.*member).data = reinterpret_cast<int8_t *>(top_of_memory()); });
    for (int32_t zero : {-129, 128, INT32_MAX})
      refuses("zero point", HEED_OUT_OF_RANGE, argument, [&](C &c) { (c.*member).zero_point = zero; });
  }

  arena memory_;
  C good_;
  heed_memory partial_, other_;
  uint8_t *mask_;
  int32_t *numbers_;
  heed_multiplier *multipliers_;
};

TEST_F(bad_int_attention, the_good_call_is_good) {
  EXPECT_EQ(heed_int_attention_run(&good_), HEED_OK);
  good_.mask = {mask_, 42, 21, 7};
  good_.kv_lengths = numbers_;
  good_.sinks = numbers_;
  good_.lse = numbers_ + 32;
  good_.scores = good_.values = multipliers_;
  good_.scores_head_stride = 3;
  good_.scores_row_stride = 1;
  EXPECT_EQ(heed_int_attention_run(&good_), HEED_OK);
  good_.partial = partial_;
  EXPECT_EQ(heed_int_partial_clear(12, 5, partial_), HEED_OK);
  EXPECT_EQ(heed_int_partial_clear(12, 5, other_), HEED_OK);
  EXPECT_EQ(heed_int_partial_merge(12, 5, partial_, other_), HEED_OK);
  EXPECT_EQ(heed_int_attention_run(&good_), HEED_OK);
  EXPECT_EQ(heed_int_partial_finish(&good_), HEED_OK);
}

TEST_F(bad_int_attention, the_call_itself) {
  memory_.refuses([] { return heed_int_attention_run(nullptr); }, HEED_NULL_POINTER, HEED_ARG_CALL, "null");
  memory_.refuses([&] { return heed_int_attention_run(misaligned(&good_)); }, HEED_MISALIGNED, HEED_ARG_CALL, "by 1");
  refuses("size 0", HEED_NOT_INITIALIZED, HEED_ARG_CALL, [](C &c) { c.struct_size = 0; });
  refuses("size - 1", HEED_BAD_STRUCT_SIZE, HEED_ARG_CALL, [](C &c) { --c.struct_size; });
  refuses("size + 1", HEED_BAD_STRUCT_SIZE, HEED_ARG_CALL, [](C &c) { ++c.struct_size; });
}

TEST_F(bad_int_attention, numbers) {
  count_flaws(&C::batch_size, HEED_MAX_COUNT, HEED_ARG_BATCH_SIZE);
  count_flaws(&C::n_heads, HEED_MAX_DIM, HEED_ARG_N_HEADS);
  count_flaws(&C::n_kv_heads, HEED_MAX_DIM, HEED_ARG_N_KV_HEADS);
  count_flaws(&C::n_q, HEED_MAX_COUNT, HEED_ARG_N_Q);
  count_flaws(&C::n_kv, HEED_INT_MAX_KEYS, HEED_ARG_N_KV);
  count_flaws(&C::head_dim, HEED_INT_MAX_DIM, HEED_ARG_HEAD_DIM);
  count_flaws(&C::v_dim, HEED_INT_MAX_DIM, HEED_ARG_V_DIM);
  refuses("3 heads on 2", HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS, [](C &c) { c.n_heads = 3; });
  refuses("causal 2", HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL, [](C &c) { c.causal = 2; });
  refuses("causal -1", HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL, [](C &c) { c.causal = -1; });
  refuses("left -2", HEED_OUT_OF_RANGE, HEED_ARG_LEFT_WINDOW, [](C &c) { c.left_window = -2; });
  refuses("right -2", HEED_OUT_OF_RANGE, HEED_ARG_RIGHT_WINDOW, [](C &c) { c.right_window = -2; });
}

TEST_F(bad_int_attention, tensors) {
  tensor_flaws(&C::q, HEED_ARG_Q);
  tensor_flaws(&C::k, HEED_ARG_K);
  tensor_flaws(&C::v, HEED_ARG_V);
  tensor_flaws(&C::out, HEED_ARG_OUT);
  for (int32_t dtype : std::vector<int32_t>{HEED_F32, HEED_F16, HEED_BF16, HEED_Q8_0, HEED_Q4_0, -1, 7})
    refuses("format", HEED_BAD_DTYPE, HEED_ARG_OUT, [&](C &c) { c.out.dtype = dtype; });
  refuses("odd address", HEED_MISALIGNED, HEED_ARG_OUT, [](C &c) {
    c.out.dtype = HEED_INT16;
    c.out.data = static_cast<int8_t *>(c.out.data) + 1;
  });
  for (int32_t zero : {-32769, 32768})
    refuses("zero point of 16 bits", HEED_OUT_OF_RANGE, HEED_ARG_OUT, [&](C &c) {
      c.out.dtype = HEED_INT16;
      c.out.zero_point = zero;
    });
  refuses("rows of out overlap", HEED_BAD_STRIDE, HEED_ARG_OUT, [](C &c) { c.out.row_stride = 4; });
}

TEST_F(bad_int_attention, multipliers) {
  for (const heed_multiplier &m : std::vector<heed_multiplier>{{0, 0},
                                                               {0x3fffffff, 0},
                                                               {-1, 0},
                                                               {INT32_MIN, 0},
                                                               {0x40000000, 1},
                                                               {0x40000000, -32},
                                                               {0x40000000, INT32_MIN}}) {
    refuses("score", HEED_OUT_OF_RANGE, HEED_ARG_SCORE, [&](C &c) { c.score = m; });
    for (int32_t i = 0; i < 6; ++i) {
      multipliers_[i] = m;
      refuses("one of the scores", HEED_OUT_OF_RANGE, HEED_ARG_SCORES, [&](C &c) {
        c.scores = multipliers_;
        c.scores_head_stride = 3;
        c.scores_row_stride = 1;
      });
      multipliers_[i] = {0x40000000, 0};
    }
  }
  for (const heed_multiplier &m :
       std::vector<heed_multiplier>{{0, 0}, {0x3fffffff, 0}, {INT32_MIN, 0}, {0x40000000, 23}, {0x40000000, -9}}) {
    refuses("value", HEED_OUT_OF_RANGE, HEED_ARG_VALUE, [&](C &c) { c.value = m; });
    multipliers_[1] = m;
    refuses("one of the values", HEED_OUT_OF_RANGE, HEED_ARG_VALUES, [&](C &c) { c.values = multipliers_; });
    multipliers_[1] = {0x40000000, 0};
  }
  refuses("scores", HEED_MISALIGNED, HEED_ARG_SCORES, [&](C &c) { c.scores = misaligned(multipliers_, 2); });
  refuses("scores", HEED_BAD_STRIDE, HEED_ARG_SCORES, [&](C &c) {
    c.scores = multipliers_;
    c.scores_head_stride = -1;
  });
  refuses("values", HEED_MISALIGNED, HEED_ARG_VALUES, [&](C &c) { c.values = misaligned(multipliers_, 2); });
  // What is no positive, normal number has no multiplier.
  for (float f : {0.0f, -1.0f, 1e-40f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    EXPECT_EQ(heed_multiplier_of(f).m, 0) << f;
  for (float f : {1.0f, 0.75f, 1e-30f, 3e38f, 1.17549435e-38f}) {
    const heed_multiplier m = heed_multiplier_of(f);
    EXPECT_GE(m.m, 0x40000000);
    EXPECT_EQ(std::ldexp(static_cast<double>(m.m), m.e - 31), static_cast<double>(f));
  }
}

TEST_F(bad_int_attention, arrays) {
  refuses("mask", HEED_BAD_STRIDE, HEED_ARG_MASK, [&](C &c) { c.mask = {mask_, -1, 21, 7}; });
  refuses("mask", HEED_OVERFLOW, HEED_ARG_MASK, [&](C &c) { c.mask = {mask_, 42, huge_stride, 7}; });
  refuses("lengths", HEED_MISALIGNED, HEED_ARG_KV_LENGTHS, [&](C &c) { c.kv_lengths = misaligned(numbers_); });
  for (int32_t length : {-1, 8, INT32_MIN}) {
    numbers_[1] = length;
    refuses("length", HEED_OUT_OF_RANGE, HEED_ARG_KV_LENGTHS, [&](C &c) { c.kv_lengths = numbers_; });
  }
  refuses("sinks", HEED_MISALIGNED, HEED_ARG_SINKS, [&](C &c) { c.sinks = misaligned(numbers_); });
  refuses("lse", HEED_MISALIGNED, HEED_ARG_LSE, [&](C &c) { c.lse = misaligned(numbers_); });
  refuses("lse", HEED_OVERFLOW, HEED_ARG_LSE, [&](C &c) { c.lse = reinterpret_cast<int32_t *>(top_of_memory()); });
}

TEST_F(bad_int_attention, memory) {
  refuses("null", HEED_NULL_POINTER, HEED_ARG_WORKSPACE, [](C &c) { c.workspace.data = nullptr; });
  refuses("too small", HEED_TOO_SMALL, HEED_ARG_WORKSPACE, [](C &c) { --c.workspace.bytes; });
  refuses("misaligned", HEED_MISALIGNED, HEED_ARG_WORKSPACE,
          [](C &c) { c.workspace.data = static_cast<char *>(c.workspace.data) + 32; });
  refuses("beyond the end", HEED_OVERFLOW, HEED_ARG_WORKSPACE, [](C &c) { c.workspace.bytes = SIZE_MAX; });
  refuses("partial", HEED_MISALIGNED, HEED_ARG_PARTIAL, [&](C &c) {
    c.partial = {static_cast<char *>(partial_.data) + 4, partial_.bytes};
  });
  refuses("partial", HEED_TOO_SMALL, HEED_ARG_PARTIAL, [&](C &c) { c.partial = {partial_.data, partial_.bytes - 1}; });
  reverse_executor executor(2);
  for (const flaw<heed_executor> &each : executor_flaws()) {
    heed_executor bad = *executor.get();
    each.apply(bad);
    refuses(each.what, each.fault, HEED_ARG_EXECUTOR, [&](C &c) { c.executor = &bad; });
  }
}

TEST_F(bad_int_attention, overlap) {
  int8_t *const ends[] = {const_cast<int8_t *>(good_.q.data) + 71, const_cast<int8_t *>(good_.k.data) + 3,
                          const_cast<int8_t *>(good_.v.data) + 139};
  for (int8_t *end : ends) refuses("out on an input", HEED_OVERLAP, HEED_ARG_OUT, [&](C &c) { c.out.data = end; });
  refuses("out on the call", HEED_OVERLAP, HEED_ARG_OUT, [](C &c) { c.out.data = &c; });
  refuses("workspace on out", HEED_OVERLAP, HEED_ARG_WORKSPACE, [](C &c) { c.out.data = c.workspace.data; });
  refuses("lse on sinks", HEED_OVERLAP, HEED_ARG_LSE, [&](C &c) { c.lse = numbers_, c.sinks = numbers_ + 11; });
  refuses("out on the mask", HEED_OVERLAP, HEED_ARG_OUT, [&](C &c) {
    c.mask = {mask_, 42, 21, 7};
    c.out.data = mask_ + 83;
  });
  refuses("partial on the workspace", HEED_OVERLAP, HEED_ARG_PARTIAL, [&](C &c) {
    c.partial = {c.workspace.data, partial_.bytes};
  });
  C packed = good_;  // inputs may share memory
  packed.k = packed.q;
  packed.k.row_stride = 0;
  EXPECT_EQ(heed_int_attention_run(&packed), HEED_OK);
}

TEST_F(bad_int_attention, finish_and_merge) {
  finish_refuses("no partial", HEED_NULL_POINTER, HEED_ARG_PARTIAL, [](C &c) { c.partial = {nullptr, 0}; });
  finish_refuses("too small", HEED_TOO_SMALL, HEED_ARG_PARTIAL, [](C &c) { --c.partial.bytes; });
  finish_refuses("states beyond any memory", HEED_TOO_SMALL, HEED_ARG_PARTIAL, [](C &c) {
    c.batch_size = c.n_q = HEED_MAX_COUNT;
    c.n_heads = c.n_kv_heads = 8;
  });
  finish_refuses("out", HEED_NULL_POINTER, HEED_ARG_OUT, [](C &c) { c.out.data = nullptr; });
  finish_refuses("value", HEED_OUT_OF_RANGE, HEED_ARG_VALUE, [](C &c) { c.value.m = 0; });
  finish_refuses("v's zero point", HEED_OUT_OF_RANGE, HEED_ARG_V, [](C &c) { c.v.zero_point = 128; });
  finish_refuses("overlap", HEED_OVERLAP, HEED_ARG_PARTIAL, [](C &c) { c.out.data = c.partial.data; });
  const auto clear = [&](heed_memory m, int32_t n_rows, int32_t v_dim, heed_fault fault, heed_argument argument) {
    memory_.refuses([&] { return heed_int_partial_clear(n_rows, v_dim, m); }, fault, argument, "clear");
  };
  clear(partial_, 0, 5, HEED_OUT_OF_RANGE, HEED_ARG_ROWS);
  clear(partial_, HEED_MAX_COUNT + 1, 5, HEED_OUT_OF_RANGE, HEED_ARG_ROWS);
  clear(partial_, 12, 0, HEED_OUT_OF_RANGE, HEED_ARG_V_DIM);
  clear(partial_, 12, HEED_INT_MAX_DIM + 1, HEED_OUT_OF_RANGE, HEED_ARG_V_DIM);
  clear(partial_, 13, 5, HEED_TOO_SMALL, HEED_ARG_PARTIAL);
  clear({nullptr, partial_.bytes}, 12, 5, HEED_NULL_POINTER, HEED_ARG_PARTIAL);
  const auto merge = [&](heed_memory into, heed_memory from, heed_fault fault, heed_argument argument) {
    memory_.refuses([&] { return heed_int_partial_merge(12, 5, into, from); }, fault, argument, "merge");
  };
  merge({nullptr, 1}, other_, HEED_NULL_POINTER, HEED_ARG_TOTAL);
  merge(partial_, {nullptr, 1}, HEED_NULL_POINTER, HEED_ARG_PARTIAL);
  merge({partial_.data, partial_.bytes - 1}, other_, HEED_TOO_SMALL, HEED_ARG_TOTAL);
  merge(partial_, {other_.data, other_.bytes - 1}, HEED_TOO_SMALL, HEED_ARG_PARTIAL);
  merge({static_cast<char *>(partial_.data) + 1, partial_.bytes}, other_, HEED_MISALIGNED, HEED_ARG_TOTAL);
  merge(partial_, {static_cast<char *>(other_.data) + 4, other_.bytes}, HEED_MISALIGNED, HEED_ARG_PARTIAL);
  merge(partial_, partial_, HEED_OVERLAP, HEED_ARG_TOTAL);
}

TEST_F(bad_int_attention, kernels) {
  EXPECT_EQ(heed_int_isa_use("no such kernel"), HEED_STATUS(HEED_UNKNOWN_ISA, HEED_ARG_ISA));
  EXPECT_EQ(heed_int_isa_name(-1), nullptr);
  EXPECT_EQ(heed_int_isa_name(heed_int_isa_count()), nullptr);
  EXPECT_EQ(heed_int_isa_use(nullptr), HEED_OK);
  EXPECT_STREQ(heed_int_isa_current(), heed_int_isa_name(0));
#if defined(__unix__) && !defined(HEED_SINGLE)
  const char *const best = heed_int_isa_name(0);
  for (const char *asked : {"plain", "no such kernel", "avxvnni"}) {  // the last of which few processors have
    const heed_status there = heed_int_isa_use(asked);
    EXPECT_EQ(setenv("HEED_INT_ISA", asked, 1), 0);
    EXPECT_EQ(heed_int_isa_use(nullptr), HEED_OK);
    EXPECT_STREQ(heed_int_isa_current(), there == HEED_OK ? asked : best);
  }
  unsetenv("HEED_INT_ISA");
  EXPECT_EQ(heed_int_isa_use(nullptr), HEED_OK);
#endif
}

TEST_F(bad_int_attention, sizes) {
  for (int32_t d : {1, 16, 17, 64, 100, HEED_INT_MAX_DIM})
    for (int32_t v : {1, 31, 64, HEED_INT_MAX_DIM}) {
      EXPECT_EQ(heed_int_workspace_min_bytes(d, v), HEED_INT_WORKSPACE_MIN_BYTES(d, v));
      EXPECT_EQ(heed_int_workspace_bytes(d, v), HEED_INT_WORKSPACE_BYTES(d, v));
    }
  for (int32_t d : {0, -1, HEED_INT_MAX_DIM + 1}) {
    EXPECT_EQ(heed_int_workspace_min_bytes(d, 1), 0u);
    EXPECT_EQ(heed_int_workspace_bytes(1, d), 0u);
    EXPECT_EQ(heed_int_partial_row_bytes(d), 0u);
  }
  EXPECT_EQ(heed_int_partial_row_bytes(64), HEED_INT_PARTIAL_ROW_BYTES(64));
}

}  // namespace
}  // namespace heed_test
