// Every argument of rotary embedding, wrong in every way. SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

class bad_rope : public ::testing::Test {
 protected:
  struct arguments {
    heed_rope rope;
    const heed_rope *given;  // null: the one above
    heed_tensor x;
    int32_t n, n_heads, head_dim;
    int64_t position;
    const int32_t *positions;
    heed_tensor_out y;
    const heed_executor *executor;
  };
  using change = std::function<void(arguments &)>;

  arguments good() {
    const heed_tensor x = heed_token_major(x_, 2, 2, 6);
    const heed_tensor_out y = heed_token_major_out(y_, 2, 2, 6);
    arguments a = {{}, nullptr, x, 2, 2, 6, 0, nullptr, y, nullptr};
    EXPECT_EQ(heed_rope_init(&a.rope, HEED_ROPE_HALVES), HEED_OK);
    return a;
  }
  static heed_status apply(const arguments &a) {
    return heed_rope_apply(a.given ? a.given : &a.rope, a.x, a.n, a.n_heads, a.head_dim, a.position, a.positions, a.y,
                           a.executor);
  }
  void refuses(const change &spoil, heed_fault fault, heed_argument argument, const std::string &what) {
    arguments a = good();
    spoil(a);
    memory_.refuses([&] { return apply(a); }, fault, argument, what);
  }
  void accepts(const change &make, const std::string &what) {
    arguments a = good();
    make(a);
    EXPECT_EQ(status_name(apply(a)), "HEED_OK") << what;
  }

  arena memory_;
  float *unused_ = memory_.take(64);
  float *x_ = memory_.take(32), *y_ = memory_.take(32), *frequencies_ = memory_.take(4), *place_ = memory_.take(32);
  int32_t *positions_ = reinterpret_cast<int32_t *>(memory_.take(4));
};

TEST_F(bad_rope, objects) {
  using A = arguments;
  heed_rope *const in_arena = reinterpret_cast<heed_rope *>(memory_.take_aligned(16));
  memory_.refuses([] { return heed_rope_init(nullptr, 0); }, HEED_NULL_POINTER, HEED_ARG_ROPE, "init");
  memory_.refuses([=] { return heed_rope_init(misaligned(in_arena), 0); }, HEED_MISALIGNED, HEED_ARG_ROPE, "init");
  const heed_rope made = good().rope;
  EXPECT_EQ(made.struct_size, sizeof made);
  EXPECT_EQ(made.rotary_dim, 0);
  EXPECT_EQ(made.base, 10000);
  EXPECT_EQ(made.scale, 1);
  EXPECT_EQ(made.inverse_frequencies, nullptr);
  const heed_status status =
      heed_rope_apply(nullptr, good().x, 2, 2, 6, 0, nullptr, heed_token_major_out(y_, 2, 2, 6), nullptr);
  EXPECT_EQ(status, HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_ROPE));
  refuses([=](A &a) { a.given = misaligned(in_arena); }, HEED_MISALIGNED, HEED_ARG_ROPE, "misaligned");
  refuses([](A &a) { a.rope.struct_size = 0; }, HEED_NOT_INITIALIZED, HEED_ARG_ROPE, "zeros");
  refuses([](A &a) { ++a.rope.struct_size; }, HEED_BAD_STRUCT_SIZE, HEED_ARG_ROPE, "size");
  refuses([](A &a) { a.rope.code = nullptr; }, HEED_NOT_INITIALIZED, HEED_ARG_ROPE, "code");
  refuses([](A &a) { a.rope.factor = NAN; }, HEED_NOT_FINITE, HEED_ARG_FACTOR, "factor NaN");
  refuses([](A &a) { a.rope.factor = 0; }, HEED_OUT_OF_RANGE, HEED_ARG_FACTOR, "factor 0");
  refuses([](A &a) { a.rope.code = reinterpret_cast<heed_rope_code *>(&a); }, HEED_NOT_INITIALIZED, HEED_ARG_ROPE,
          "code");
  *in_arena = made;
  refuses(
      [=](A &a) {
        a.given = in_arena;
        a.y.data = reinterpret_cast<float *>(in_arena);
      },
      HEED_OVERLAP, HEED_ARG_Y, "the result lies in the object");
}

TEST_F(bad_rope, fields) {
  using A = arguments;
  for (const int32_t style : {-1, 2, INT32_MAX})
    refuses([=](A &a) { a.rope.style = style; }, HEED_OUT_OF_RANGE, HEED_ARG_STYLE, "style");
  for (const int32_t dim : {-2, INT32_MIN, HEED_MAX_DIM + 2})
    refuses([=](A &a) { a.rope.rotary_dim = dim; }, HEED_OUT_OF_RANGE, HEED_ARG_ROTARY_DIM, "rotary_dim");
  for (const int32_t dim : {1, 5, 8})
    refuses([=](A &a) { a.rope.rotary_dim = dim; }, HEED_SHAPE_MISMATCH, HEED_ARG_ROTARY_DIM, "rotary_dim");
  refuses([](A &a) { a.head_dim = 5; }, HEED_SHAPE_MISMATCH, HEED_ARG_ROTARY_DIM, "all of an odd head");
  for (const float x : {NAN, INFINITY, -INFINITY}) {
    refuses([=](A &a) { a.rope.base = x; }, HEED_NOT_FINITE, HEED_ARG_BASE, "base");
    refuses([=](A &a) { a.rope.scale = x; }, HEED_NOT_FINITE, HEED_ARG_SCALE, "scale");
  }
  for (const float x : {1.0f, 0.5f, 0.0f, -2.0f})
    refuses([=](A &a) { a.rope.base = x; }, HEED_OUT_OF_RANGE, HEED_ARG_BASE, "base");
  for (const float x : {65537.0f, -65537.0f, 1e30f})
    refuses([=](A &a) { a.rope.scale = x; }, HEED_OUT_OF_RANGE, HEED_ARG_SCALE, "scale");
  for (const int i : {0, 1, 2}) {
    const auto give = [=](float f) {
      return [=](A &a) {
        std::fill_n(frequencies_, 3, 0.5f);
        frequencies_[i] = f;
        a.rope.inverse_frequencies = frequencies_;
        a.rope.base = NAN;  // is not used
      };
    };
    refuses(give(NAN), HEED_NOT_FINITE, HEED_ARG_FREQUENCIES, "frequency");
    refuses(give(-INFINITY), HEED_NOT_FINITE, HEED_ARG_FREQUENCIES, "frequency");
    refuses(give(65537), HEED_OUT_OF_RANGE, HEED_ARG_FREQUENCIES, "frequency");
    refuses(give(-1e10f), HEED_OUT_OF_RANGE, HEED_ARG_FREQUENCIES, "frequency");
    accepts(give(-65536), "frequency");
  }
  refuses([=](A &a) { a.rope.inverse_frequencies = misaligned(frequencies_); }, HEED_MISALIGNED, HEED_ARG_FREQUENCIES,
          "");
  refuses([](A &a) { a.rope.inverse_frequencies = top_of_memory() + 6; }, HEED_OVERFLOW, HEED_ARG_FREQUENCIES, "");
  refuses([=](A &a) { a.rope.inverse_frequencies = y_ + 22; }, HEED_OVERLAP, HEED_ARG_Y, "frequencies in the result");
  accepts([](A &a) { a.rope.rotary_dim = 4; }, "partial width");
  accepts([](A &a) { a.rope.rotary_dim = 4, a.head_dim = 5; }, "an odd head, partially");
}

TEST_F(bad_rope, rows) {
  using A = arguments;
  for (const int32_t n : {0, -1, INT32_MIN}) {
    refuses([=](A &a) { a.n = n; }, HEED_OUT_OF_RANGE, HEED_ARG_N, "n");
    refuses([=](A &a) { a.n_heads = n; }, HEED_OUT_OF_RANGE, HEED_ARG_N_HEADS, "heads");
    refuses([=](A &a) { a.head_dim = n; }, HEED_OUT_OF_RANGE, HEED_ARG_HEAD_DIM, "head_dim");
  }
  refuses([](A &a) { a.n = beyond_count; }, HEED_OUT_OF_RANGE, HEED_ARG_N, "n");
  refuses([](A &a) { a.n_heads = HEED_MAX_DIM + 1; }, HEED_OUT_OF_RANGE, HEED_ARG_N_HEADS, "heads");
  refuses([](A &a) { a.head_dim = HEED_MAX_DIM + 1; }, HEED_OUT_OF_RANGE, HEED_ARG_HEAD_DIM, "head_dim");
  refuses([](A &a) { a.x.data = nullptr; }, HEED_NULL_POINTER, HEED_ARG_X, "x");
  refuses([](A &a) { a.y.data = nullptr; }, HEED_NULL_POINTER, HEED_ARG_Y, "y");
  for (const flaw<heed_tensor> &wrong : tensor_flaws<heed_tensor>()) {
    A probe = good();
    wrong.apply(probe.x);
    if (probe.x.batch_stride != good().x.batch_stride) continue;  // does not count
    refuses([&](A &a) { wrong.apply(a.x); }, wrong.fault, HEED_ARG_X, wrong.what);
  }
  for (const flaw<heed_tensor_out> &wrong : tensor_flaws<heed_tensor_out>()) {
    A probe = good();
    wrong.apply(probe.y);
    if (probe.y.batch_stride != good().y.batch_stride) continue;
    refuses([&](A &a) { wrong.apply(a.y); }, wrong.fault, HEED_ARG_Y, wrong.what);
  }
  for (const ptrdiff_t stride : {0, 5, 7}) {
    refuses([=](A &a) { a.y.head_stride = stride; }, HEED_BAD_STRIDE, HEED_ARG_Y, "heads overlap");
    refuses([=](A &a) { a.y.row_stride = stride; }, HEED_BAD_STRIDE, HEED_ARG_Y, "tokens overlap");
  }
  for (const ptrdiff_t shift : {-23, -1, 1, 23})
    refuses([=](A &a) { a.y.data = x_ + shift; }, HEED_OVERLAP, HEED_ARG_Y, "shifted");
  refuses([=](A &a) { a.y.data = x_, a.y.row_stride = 13; }, HEED_OVERLAP, HEED_ARG_Y, "in place, another stride");
  refuses([=](A &a) { a.y.data = x_, a.y.head_stride = 24; }, HEED_OVERLAP, HEED_ARG_Y,
          "in place, another head stride");
  refuses([=](A &a) { a.y.data = x_, a.y.row_stride = 6, a.y.head_stride = 12; }, HEED_OVERLAP, HEED_ARG_Y,
          "transposed");
  accepts([=](A &a) { a.y.data = x_, a.y.batch_stride = -1; }, "in place");
  accepts([](A &a) { a.x.row_stride = a.x.head_stride = 0; }, "one row, repeated");
}

TEST_F(bad_rope, positions_and_executors) {
  using A = arguments;
  refuses([](A &a) { a.position = INT64_MAX; }, HEED_OUT_OF_RANGE, HEED_ARG_POSITION, "the second token");
  accepts([](A &a) { a.position = INT64_MAX - 1; }, "the last position");
  accepts([](A &a) { a.position = INT32_MIN; }, "the first position");
  accepts([=](A &a) { a.position = INT64_MAX, a.positions = positions_; }, "positions of their own");
  refuses([=](A &a) { a.positions = misaligned(positions_); }, HEED_MISALIGNED, HEED_ARG_POSITIONS, "misaligned");
  refuses([](A &a) { a.positions = reinterpret_cast<int32_t *>(top_of_memory() + 7); }, HEED_OVERFLOW,
          HEED_ARG_POSITIONS, "at the top of memory");
  refuses([=](A &a) { a.positions = reinterpret_cast<int32_t *>(y_ + 23); }, HEED_OVERLAP, HEED_ARG_Y, "in the result");
  reverse_executor executor(2);
  for (const flaw<heed_executor> &wrong : executor_flaws()) {
    heed_executor bad = *executor.get();
    wrong.apply(bad);
    refuses([&](A &a) { a.executor = &bad; }, wrong.fault, HEED_ARG_EXECUTOR, wrong.what);
  }
  accepts([&](A &a) { a.executor = executor.get(); }, "executor");
}

}  // namespace
}  // namespace heed_test
