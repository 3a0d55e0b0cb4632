// Every argument of heed_block_run, wrong in every way. SPDX-License-Identifier: MIT
#include "support/cache_flaws.hpp"
#include "support/executors.hpp"
#include "support/floats.hpp"

namespace heed_test {
namespace {

class bad_transformer : public ::testing::Test {
 protected:
  struct arguments {
    heed_block block;
    heed_matrix x;
    heed_matrix_out y;
    float *activations;
    size_t n_activations;
    unsigned char *workspace;
    size_t workspace_bytes;
    const heed_executor *executor;
  };
  static constexpr int32_t n = 3, model_dim = 6, heads = 4, kv_heads = 2, dim = 4, v_dim = 3, hidden = 7, capacity = 8;
  static constexpr size_t n_activations = HEED_BLOCK_ACTIVATIONS(n, model_dim, heads, kv_heads, dim, v_dim, hidden, 1);
  static constexpr size_t workspace_bytes = HEED_WORKSPACE_BYTES(dim, v_dim);
  static constexpr size_t cache_bytes =
      HEED_CACHE_BYTES(HEED_CACHE_LINEAR, capacity, 0, 0, 1, kv_heads, dim, v_dim, HEED_F32);

  void SetUp() override {
    heed_rope_init(&rope_, HEED_ROPE_HALVES);
    shape_ = HEED_CACHE_SHAPE;
    shape_.capacity = capacity, shape_.n_kv_heads = kv_heads, shape_.head_dim = dim, shape_.v_dim = v_dim;
    ASSERT_EQ(heed_cache_init(&cache_, &shape_, cache_buffer_, cache_bytes), HEED_OK);
  }
  arguments good() {
    heed_block b;
    std::memset(&b, 0, sizeof b);
    b.struct_size = sizeof b;
    b.model_dim = model_dim, b.n_heads = heads, b.n_kv_heads = kv_heads, b.head_dim = dim, b.v_dim = v_dim;
    b.hidden_dim = hidden, b.causal = 1, b.eps = 1e-5f, b.norm = heed_layer_norm, b.activation = heed_gelu;
    b.norm1_weight = b.norm1_bias = b.norm2_weight = b.norm2_bias = floats_;
    b.bq = b.bk = b.bv = b.bo = b.b_up = b.b_gate = b.b_down = floats_;
    const auto weights = [&](int32_t n_in, int32_t n_out) {
      return heed_weights_of(floats_, HEED_F32, HEED_OUT_IN, n_in, n_out, nullptr);
    };
    b.wq = weights(model_dim, heads * dim), b.wk = weights(model_dim, kv_heads * dim);
    b.wv = weights(model_dim, kv_heads * v_dim), b.wo = weights(heads * v_dim, model_dim);
    b.w_up = b.w_gate = weights(model_dim, hidden), b.w_down = weights(hidden, model_dim);
    b.rope = &rope_, b.cache = &cache_;
    return {b,
            heed_matrix_of(x_, n, model_dim),
            heed_matrix_out_of(y_, n, model_dim),
            activations_,
            n_activations,
            workspace_,
            workspace_bytes,
            nullptr};
  }
  static heed_status call(const arguments &a) {
    return heed_block_run(&a.block, a.x, a.y, a.activations, a.n_activations, a.workspace, a.workspace_bytes,
                          a.executor);
  }
  void refuses(heed_fault fault, heed_argument argument, const std::string &what,
               const std::function<void(arguments &)> &apply) {
    arguments a = good();
    apply(a);
    memory_.refuses([&] { return call(a); }, fault, argument, what);
  }

  arena memory_;
  float *floats_ = memory_.take(256), *x_ = memory_.take(n * model_dim), *y_ = memory_.take(n * model_dim);
  float *activations_ = memory_.take(n_activations);
  unsigned char *workspace_ = reinterpret_cast<unsigned char *>(memory_.take_aligned(workspace_bytes / 4));
  unsigned char *cache_buffer_ = reinterpret_cast<unsigned char *>(memory_.take_aligned(cache_bytes));
  heed_rope rope_;
  heed_cache_shape shape_;
  heed_cache cache_;
};

TEST_F(bad_transformer, the_good_call_is_accepted) {
  EXPECT_EQ(status_name(call(good())), "HEED_OK");
  arguments a = good();
  a.block.cache = nullptr, a.block.rope = nullptr, a.block.w_gate.data = nullptr, a.block.b_gate = nullptr;
  EXPECT_EQ(status_name(call(a)), "HEED_OK");
}

TEST_F(bad_transformer, numbers) {
  const struct {
    heed_argument argument;
    int32_t heed_block::*count;
  } counts[] = {{HEED_ARG_MODEL_DIM, &heed_block::model_dim}, {HEED_ARG_HIDDEN_DIM, &heed_block::hidden_dim},
                {HEED_ARG_N_HEADS, &heed_block::n_heads},     {HEED_ARG_N_KV_HEADS, &heed_block::n_kv_heads},
                {HEED_ARG_HEAD_DIM, &heed_block::head_dim},   {HEED_ARG_V_DIM, &heed_block::v_dim}};
  for (const auto &c : counts)
    for (const int32_t wrong : {0, -1, INT32_MIN, beyond_count, INT32_MAX})
      refuses(HEED_OUT_OF_RANGE, c.argument, "count " + std::to_string(wrong),
              [=](arguments &a) { a.block.*c.count = wrong; });
  for (int32_t heed_block::*widest : {&heed_block::head_dim, &heed_block::v_dim})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_N_HEADS, "all heads together",
            [=](arguments &a) { a.block.*widest = HEED_MAX_DIM / heads + 1; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL, "2", [](arguments &a) { a.block.causal = 2; });
  refuses(HEED_MISFIT, HEED_ARG_CAUSAL, "0 with a cache", [](arguments &a) { a.block.causal = 0; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_NORM_FIRST, "2", [](arguments &a) { a.block.norm_first = 2; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_EPS, "negative", [](arguments &a) { a.block.eps = -1.0f; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_NORM_FIRST, "-1", [](arguments &a) { a.block.norm_first = -1; });
  refuses(HEED_NOT_FINITE, HEED_ARG_EPS, "NaN", [](arguments &a) { a.block.eps = NAN; });
  refuses(HEED_NOT_FINITE, HEED_ARG_SCALE, "infinite", [](arguments &a) { a.block.scale = INFINITY; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_SCALE, "subnormal", [](arguments &a) { a.block.scale = least_subnormal; });
  refuses(HEED_UNKNOWN_STRUCT, HEED_ARG_BLOCK, "size", [](arguments &a) { a.block.struct_size++; });
  const arguments a = good();
  EXPECT_EQ(heed_block_run(nullptr, a.x, a.y, a.activations, a.n_activations, a.workspace, a.workspace_bytes, nullptr),
            HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_BLOCK));
}

TEST_F(bad_transformer, weights) {
  const struct {
    heed_argument weights, bias;
    heed_weights heed_block::*w;
    const float *heed_block::*b;
  } all[] = {{HEED_ARG_WQ, HEED_ARG_BQ, &heed_block::wq, &heed_block::bq},
             {HEED_ARG_WK, HEED_ARG_BK, &heed_block::wk, &heed_block::bk},
             {HEED_ARG_WV, HEED_ARG_BV, &heed_block::wv, &heed_block::bv},
             {HEED_ARG_WO, HEED_ARG_BO, &heed_block::wo, &heed_block::bo},
             {HEED_ARG_W_UP, HEED_ARG_B_UP, &heed_block::w_up, &heed_block::b_up},
             {HEED_ARG_W_GATE, HEED_ARG_B_GATE, &heed_block::w_gate, &heed_block::b_gate},
             {HEED_ARG_W_DOWN, HEED_ARG_B_DOWN, &heed_block::w_down, &heed_block::b_down}};
  for (const auto &one : all) {
    const auto w = one.w;
    const auto b = one.b;
    if (one.weights != HEED_ARG_W_GATE)
      refuses(HEED_NULL_POINTER, one.weights, "null", [=](arguments &a) { (a.block.*w).data = nullptr; });
    refuses(HEED_MISALIGNED, one.weights, "misaligned",
            [=](arguments &a) { (a.block.*w).data = reinterpret_cast<const char *>((a.block.*w).data) + 1; });
    refuses(HEED_MISFIT, one.weights, "n_in", [=](arguments &a) { (a.block.*w).n_in--; });
    refuses(HEED_MISFIT, one.weights, "n_out", [=](arguments &a) { (a.block.*w).n_out--; });
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_FORMAT, "format", [=](arguments &a) { (a.block.*w).format = 4; });
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_LAYOUT, "layout", [=](arguments &a) { (a.block.*w).layout = 2; });
    refuses(HEED_NULL_POINTER, HEED_ARG_SCALES, "int8", [=](arguments &a) { (a.block.*w).format = HEED_INT8; });
    refuses(HEED_MISALIGNED, one.bias, "misaligned", [=](arguments &a) { a.block.*b = misaligned(a.block.*b); });
  }
  refuses(HEED_MISFIT, HEED_ARG_B_GATE, "without a gate", [](arguments &a) { a.block.w_gate.data = nullptr; });
  for (const auto norm : {&heed_block::norm1_weight, &heed_block::norm2_weight})
    refuses(HEED_MISALIGNED, HEED_ARG_WEIGHT, "misaligned", [=](arguments &a) { a.block.*norm = misaligned(floats_); });
  for (const auto norm : {&heed_block::norm1_bias, &heed_block::norm2_bias})
    refuses(HEED_MISALIGNED, HEED_ARG_BIAS, "misaligned", [=](arguments &a) { a.block.*norm = misaligned(floats_); });
  refuses(HEED_NULL_POINTER, HEED_ARG_NORM, "null", [](arguments &a) { a.block.norm = nullptr; });
  refuses(HEED_NULL_POINTER, HEED_ARG_ACTIVATION, "null", [](arguments &a) { a.block.activation = nullptr; });
}

TEST_F(bad_transformer, memory) {
  refuses(HEED_NULL_POINTER, HEED_ARG_X, "null", [](arguments &a) { a.x.data = nullptr; });
  refuses(HEED_MISFIT, HEED_ARG_X, "dim", [](arguments &a) { a.x.dim--; });
  refuses(HEED_MISFIT, HEED_ARG_Y, "rows", [](arguments &a) { a.y.n_rows--; });
  refuses(HEED_BAD_STRIDE, HEED_ARG_Y, "stride", [](arguments &a) { a.y.row_stride--; });
  refuses(HEED_OVERLAP, HEED_ARG_Y, "lies in x by half", [this](arguments &a) { a.y.data = x_ + 1; });
  refuses(HEED_OVERLAP, HEED_ARG_Y, "lies in weights", [this](arguments &a) { a.y.data = floats_; });
  refuses(HEED_TOO_SMALL, HEED_ARG_ACTIVATIONS, "one less", [](arguments &a) { a.n_activations--; });
  refuses(HEED_NULL_POINTER, HEED_ARG_ACTIVATIONS, "null", [](arguments &a) { a.activations = nullptr; });
  refuses(HEED_TOO_SMALL, HEED_ARG_WORKSPACE, "empty", [](arguments &a) { a.workspace_bytes = 0; });
  refuses(HEED_MISALIGNED, HEED_ARG_WORKSPACE, "by 4", [](arguments &a) { a.workspace += 4; });
}

TEST_F(bad_transformer, a_cache) {
  cache_.shape.head_dim++;
  refuses(HEED_DAMAGED, HEED_ARG_CACHE, "another shape", [](arguments &) {});
  cache_.shape.head_dim--;
  refuses(HEED_MISFIT, HEED_ARG_CACHE, "other heads", [this](arguments &a) {
    a.block.n_kv_heads = 4, a.block.wk.n_out = a.block.n_kv_heads * dim, a.block.wv.n_out = a.block.n_kv_heads * v_dim;
    a.n_activations *= 2;
  });
  for (int32_t i = 0; i < 2; ++i) EXPECT_EQ(status_name(call(good())), "HEED_OK");
  refuses(HEED_FULL, HEED_ARG_CACHE, "no room", [](arguments &) {});
  EXPECT_EQ(heed_cache_length(&cache_, 0), 2 * n);
}

TEST_F(bad_transformer, rows_and_executors) {
  for (const flaw<heed_matrix> &f : matrix_flaws<heed_matrix>(HEED_MAX_COUNT))
    refuses(f.fault, HEED_ARG_X, f.what, [&](arguments &a) { f.apply(a.x); });
  for (const flaw<heed_matrix_out> &f : output_flaws(HEED_MAX_COUNT)) {
    heed_matrix_out y = good().y;
    f.apply(y);
    const bool other_shape = y.n_rows != n || y.dim != model_dim;
    refuses(other_shape ? HEED_MISFIT : f.fault, HEED_ARG_Y, f.what, [&](arguments &a) { a.y = y; });
  }
  for (const flaw<heed_executor> &f : executor_flaws()) {
    heed_executor bad = *reverse_executor(2).get();
    f.apply(bad);
    refuses(f.fault, HEED_ARG_EXECUTOR, f.what, [&](arguments &a) { a.executor = &bad; });
  }
}

TEST_F(bad_transformer, in_place) {
  const auto in_place = [this](int32_t n_rows, ptrdiff_t stride) {
    return [=](arguments &a) { a.x.n_rows = n_rows, a.y = {x_, n_rows, model_dim, stride}; };
  };
  for (const int32_t n_rows : {0, -1, INT32_MIN, beyond_count, INT32_MAX})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_X, "in place, rows " + std::to_string(n_rows), in_place(n_rows, model_dim));
  refuses(HEED_OVERLAP, HEED_ARG_Y, "in place with another stride", in_place(2, model_dim + 1));
  refuses(HEED_MISFIT, HEED_ARG_X, "in place, columns", [&](arguments &a) {
    in_place(n, model_dim)(a);
    a.x.dim = a.y.dim = model_dim - 1;
  });
  for (const auto &[n_rows, stride] : {std::pair(1, model_dim + 1), {n, model_dim}}) {
    arguments a = good();
    in_place(n_rows, stride)(a);
    EXPECT_EQ(status_name(call(a)), "HEED_OK") << n_rows << " rows in place";
  }
}

TEST_F(bad_transformer, ropes) {
  for (const rope_flaw &f : rope_flaws(dim)) {
    heed_rope bad = rope_;
    f.apply(bad);
    for (const bool with_cache : {false, true})
      refuses(f.fault, f.argument, f.what, [&](arguments &a) {
        a.block.rope = &bad;
        if (!with_cache) a.block.cache = nullptr;
      });
  }
}

// A cache of another shape, and rows that a ring cannot take at once.
TEST_F(bad_transformer, caches) {
  const auto other = [&](const std::function<void(heed_cache_shape &)> &change) {
    heed_cache_shape s = shape_;
    change(s);
    EXPECT_EQ(status_name(heed_cache_init(&cache_, &s, cache_buffer_, heed_cache_bytes(&s))), "HEED_OK");
  };
  for (int32_t heed_cache_shape::*field : {&heed_cache_shape::n_sequences, &heed_cache_shape::n_kv_heads,
                                           &heed_cache_shape::head_dim, &heed_cache_shape::v_dim}) {
    other([=](heed_cache_shape &s) { s.*field += 1, s.capacity = 1; });
    refuses(HEED_MISFIT, HEED_ARG_CACHE, "another shape", [](arguments &) {});
  }
  other([](heed_cache_shape &s) { s.kind = HEED_CACHE_RING, s.spare = n - 2; });
  refuses(HEED_MISFIT, HEED_ARG_CACHE, "a row more than a ring has to spare", [](arguments &) {});
  other([](heed_cache_shape &s) { s.kind = HEED_CACHE_RING, s.spare = n - 1; });
  EXPECT_EQ(status_name(call(good())), "HEED_OK");
  heed_cache broken;
  refuses(HEED_NOT_INITIALIZED, HEED_ARG_CACHE, "no code", [&](arguments &a) {
    broken = cache_, broken.code = nullptr;
    a.block.cache = &broken;
  });
}

// Options, with a cache and without; what a ring does not allow.
TEST_F(bad_transformer, options) {
  heed_options options = HEED_OPTIONS;
  const auto with_options = [&](arguments &a) { a.block.options = &options; };
  const auto without_cache = [&](arguments &a) { a.block.options = &options, a.block.cache = nullptr; };
  const auto refused = [&](heed_fault fault, heed_argument argument, const std::string &what) {
    refuses(fault, argument, what, with_options);
    refuses(fault, argument, what, without_cache);
    options = HEED_OPTIONS;
  };
  const auto accepted = [&](const std::string &what) {
    for (const auto &apply : {std::function<void(arguments &)>(with_options), {without_cache}}) {
      arguments a = good();
      apply(a);
      EXPECT_EQ(status_name(call(a)), "HEED_OK") << what;
      ASSERT_EQ(heed_cache_reset(&cache_), HEED_OK);
    }
  };
  options.struct_size++;
  refused(HEED_UNKNOWN_STRUCT, HEED_ARG_OPTIONS, "size");
  accepted("none of them");
  heed_partial partial;
  float *const data = memory_.take_aligned(HEED_PARTIAL_FLOATS(1, heads, n, v_dim));
  ASSERT_EQ(heed_partial_init(&partial, data, HEED_PARTIAL_FLOATS(1, heads, n, v_dim), 1, heads, n, v_dim, 0), HEED_OK);
  options.partial = &partial;
  refused(HEED_MISFIT, HEED_ARG_PARTIAL, "partial");
  heed_narrow_tensors narrow;
  ASSERT_EQ(heed_narrow_tensors_init(&narrow), HEED_OK);
  options.narrow = &narrow;
  refused(HEED_MISFIT, HEED_ARG_NARROW, "narrow");
  heed_cache another = cache_;
  options.cache = &another;
  refused(HEED_MISFIT, HEED_ARG_CACHE, "cache");
  heed_softcap softcap;
  ASSERT_EQ(heed_softcap_init(&softcap, -1.0f), HEED_OK);
  options.softcap = &softcap;
  refused(HEED_OUT_OF_RANGE, HEED_ARG_SOFTCAP, "softcap");
  static const int32_t offset = 0;
  heed_ranges ranges;
  ASSERT_EQ(heed_ranges_init(&ranges), HEED_OK);
  options.ranges = &ranges;
  accepted("ranges");
  shape_.kind = HEED_CACHE_RING, shape_.capacity = 4, shape_.spare = n - 1, shape_.pinned = 1;
  ASSERT_EQ(heed_cache_init(&cache_, &shape_, cache_buffer_, heed_cache_bytes(&shape_)), HEED_OK);
  ranges.pinned = 1;
  accepted("as many pinned keys as the ring has");
  ranges.pinned = 2;
  refuses(HEED_MISFIT, HEED_ARG_PINNED, "more than the ring has", with_options);
  ranges.pinned = 0, ranges.offsets = &offset;
  refuses(HEED_MISFIT, HEED_ARG_OFFSETS, "offsets with a ring", with_options);
}

}  // namespace
}  // namespace heed_test
