// Every argument of an attention layer, alone and in a transformer layer, wrong in every way.
// SPDX-License-Identifier: MIT
#include "support/floats.hpp"
#include "support/layer_flaws.hpp"

namespace heed_test {
namespace {

class bad_attention_layer : public layer_flaws, public ::testing::WithParamInterface<bool> {
 protected:
  bad_attention_layer() : layer_flaws(GetParam()) {}
};

void without_wo(layer_arguments &a) {
  a.attention.wo.data = a.attention.bo = nullptr;
  a.attention.out_dim = a.y.dim = a.attention.n_heads * a.attention.v_dim;
  a.y.row_stride = a.y.dim;
}

TEST_P(bad_attention_layer, the_good_call_is_accepted) {
  accepts("all", [](A &) {});
  accepts("the least", [](A &a) {
    heed_attention_layer &l = a.attention;
    l.bq = l.bk = l.bv = l.bo = nullptr, l.rope = nullptr, l.cache = nullptr;
  });
  accepts("the scale of another", [](A &a) { a.attention.scale = -3; });
  if (!is_transformer_) accepts("without wo", without_wo);
}

// A zeroed struct was never made; any other size is of no version.
TEST_P(bad_attention_layer, structures) {
  const heed_argument name = is_transformer_ ? HEED_ARG_ATTENTION : HEED_ARG_LAYER;
  for (const uint32_t size :
       {1u, uint32_t{sizeof(heed_attention_layer)} - 1, uint32_t{sizeof(heed_attention_layer)} + 8, UINT32_MAX})
    refuses(HEED_BAD_STRUCT_SIZE, name, "size", [=](A &a) { a.attention.struct_size = size; });
  refuses(HEED_NOT_INITIALIZED, name, "zeros", [](A &a) { a.attention = {}; });
  heed_rope rope = {};
  refuses(HEED_NOT_INITIALIZED, HEED_ARG_ROPE, "zeros", [&](A &a) { a.attention.rope = &rope; });
  heed_cache cache = {};
  refuses(HEED_NOT_INITIALIZED, HEED_ARG_CACHE, "zeros", [&](A &a) { a.attention.cache = &cache; });
  heed_options options = {};
  refuses(HEED_NOT_INITIALIZED, HEED_ARG_OPTIONS, "zeros", [&](A &a) { a.attention.options = &options; });
  refuses(HEED_MISALIGNED, HEED_ARG_ROPE, "misaligned", [&](A &a) { a.attention.rope = misaligned(&rope); });
  refuses(HEED_MISALIGNED, HEED_ARG_CACHE, "misaligned", [&](A &a) { a.attention.cache = misaligned(&cache); });
  refuses(HEED_MISALIGNED, HEED_ARG_OPTIONS, "misaligned", [&](A &a) { a.attention.options = misaligned(&options); });
}

// Where the layer itself may lie.
TEST_P(bad_attention_layer, places) {
  A a;
  make_good(&a);
  const auto run = [&](const heed_attention_layer *l) {
    a.transformer.attention = l;
    return is_transformer_ ? call(a) : heed_attention_layer_run(l, a.x, a.y, a.memory, nullptr);
  };
  const heed_argument name = is_transformer_ ? HEED_ARG_ATTENTION : HEED_ARG_LAYER;
  memory_.refuses([&] { return run(nullptr); }, HEED_NULL_POINTER, name, "null");
  memory_.refuses([&] { return run(misaligned(&a.attention)); }, HEED_MISALIGNED, name, "misaligned");
  memory_.refuses([&, l = new (room_) heed_attention_layer(a.attention)] { return run(l); }, HEED_OVERLAP,
                  HEED_ARG_WORKSPACE, "in the memory");
  memory_.refuses([&, l = new (of_cache_ + 64) heed_attention_layer(a.attention)] { return run(l); }, HEED_OVERLAP,
                  HEED_ARG_CACHE, "in the cache");
}

TEST_P(bad_attention_layer, numbers) {
  const struct {
    heed_argument argument;
    int32_t heed_attention_layer::*count;
  } counts[] = {
      {HEED_ARG_MODEL_DIM, &heed_attention_layer::model_dim},   {HEED_ARG_N_HEADS, &heed_attention_layer::n_heads},
      {HEED_ARG_N_KV_HEADS, &heed_attention_layer::n_kv_heads}, {HEED_ARG_HEAD_DIM, &heed_attention_layer::head_dim},
      {HEED_ARG_V_DIM, &heed_attention_layer::v_dim},           {HEED_ARG_OUT_DIM, &heed_attention_layer::out_dim}};
  for (const auto &c : counts)
    for (const int32_t wrong : {0, -1, INT32_MIN, HEED_MAX_DIM + 1, beyond_count, INT32_MAX})
      refuses(HEED_OUT_OF_RANGE, c.argument, "count " + std::to_string(wrong),
              [=](A &a) { a.attention.*c.count = wrong; });
  for (const int32_t misfit : {3, 8})
    refuses(HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS, "heads", [=](A &a) { a.attention.n_kv_heads = misfit; });
  for (int32_t heed_attention_layer::*widest : {&heed_attention_layer::head_dim, &heed_attention_layer::v_dim})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_N_HEADS, "rows of all heads",
            [=](A &a) { a.attention.*widest = HEED_MAX_DIM / heads + 1; });
  for (const int32_t causal : {-1, 2, INT32_MAX})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL, "causal", [=](A &a) { a.attention.causal = causal; });
  for (const float scale : {NAN, INFINITY, -INFINITY, 2.4e38f})
    refuses(HEED_NOT_FINITE, HEED_ARG_SCALE, "scale", [=](A &a) { a.attention.scale = scale; });
  for (const float scale : {0.0f, -0.0f, least_subnormal, greatest_subnormal})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_SCALE, "scale", [=](A &a) { a.attention.scale = scale; });
}

TEST_P(bad_attention_layer, weights_and_biases) {
  const layer_weights all[] = {{"wq", HEED_ARG_WQ, HEED_ARG_BQ, [](A &a) -> heed_weights & { return a.attention.wq; },
                                [](A &a) -> const float *& { return a.attention.bq; }},
                               {"wk", HEED_ARG_WK, HEED_ARG_BK, [](A &a) -> heed_weights & { return a.attention.wk; },
                                [](A &a) -> const float *& { return a.attention.bk; }},
                               {"wv", HEED_ARG_WV, HEED_ARG_BV, [](A &a) -> heed_weights & { return a.attention.wv; },
                                [](A &a) -> const float *& { return a.attention.bv; }},
                               {"wo", HEED_ARG_WO, HEED_ARG_BO, [](A &a) -> heed_weights & { return a.attention.wo; },
                                [](A &a) -> const float *& { return a.attention.bo; }}};
  for (const layer_weights &one : all) refuses_weights(one, one.w_name != HEED_ARG_WO || is_transformer_);
  if (is_transformer_) return;
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_OUT_DIM, "without wo, out_dim is the context's width",
          [](A &a) { a.attention.wo.data = a.attention.bo = nullptr; });
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_BO, "bo without wo", [this](A &a) { without_wo(a), a.attention.bo = floats_; });
}

TEST_P(bad_attention_layer, rows) {
  for (const flaw<heed_matrix> &f : matrix_flaws<heed_matrix>(HEED_MAX_COUNT))
    refuses(f.fault, HEED_ARG_X, f.what, [&](A &a) { f.apply(a.x); });
  for (const flaw<heed_matrix_out> &f : output_flaws(HEED_MAX_COUNT)) {
    heed_matrix_out y = heed_matrix_out_of(y_, n, out_dim_);
    f.apply(y);
    // A transformer layer looks at the shape first.
    const bool other_shape = is_transformer_ && (y.n_rows != n || y.dim != out_dim_);
    refuses(other_shape ? HEED_SHAPE_MISMATCH : f.fault, HEED_ARG_Y, f.what, [&](A &a) { a.y = y; });
  }
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_X, "columns", [](A &a) { --a.x.dim; });
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_Y, "rows", [](A &a) { --a.y.n_rows; });
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_Y, "columns", [](A &a) { --a.y.dim; });
  refuses(HEED_OVERLAP, HEED_ARG_Y, "lies in x by half", [this](A &a) { a.y.data = x_ + 1; });
  refuses(HEED_OVERLAP, HEED_ARG_Y, "in the cache", [this](A &a) { a.y.data = of_cache_; });
  refuses(HEED_OVERLAP, HEED_ARG_CACHE, "x lies in it", [this](A &a) { a.x.data = of_cache_; });
  for (const flaw<heed_executor> &f : executor_flaws()) {
    reverse_executor executor(2);
    heed_executor bad = *executor.get();
    f.apply(bad);
    refuses(f.fault, HEED_ARG_EXECUTOR, f.what, [&](A &a) { a.executor = &bad; });
  }
}

// One memory for rows and workspace.
TEST_P(bad_attention_layer, memory) {
  const size_t least = besides_workspace() + HEED_WORKSPACE_MIN_BYTES(dim, v_dim);
  const auto bytes = [](size_t all) { return [=](A &a) { a.memory.bytes = all; }; };
  const auto at = [](const void *data) { return [=](A &a) { a.memory.data = const_cast<void *>(data); }; };
  accepts("the least", bytes(least));
  for (const size_t wrong : {least - 1, besides_workspace(), size_t{64}, size_t{1}, size_t{0}})
    refuses(HEED_TOO_SMALL, HEED_ARG_WORKSPACE, std::to_string(wrong) + " bytes", bytes(wrong));
  refuses(HEED_NULL_POINTER, HEED_ARG_WORKSPACE, "null", at(nullptr));
  for (const int by : {1, 4, 32})
    refuses(HEED_MISALIGNED, HEED_ARG_WORKSPACE, "misaligned", at(reinterpret_cast<char *>(room_) + by));
  refuses(HEED_OVERFLOW, HEED_ARG_WORKSPACE, "as large as memory", bytes(SIZE_MAX));
  refuses(HEED_OVERLAP, HEED_ARG_WORKSPACE, "in the cache", at(of_cache_));
  refuses(HEED_OVERLAP, HEED_ARG_WORKSPACE, "x lies in it", [this](A &a) { a.x.data = room_ + 8; });
  refuses(HEED_OVERLAP, HEED_ARG_Y, "in the memory", [this](A &a) { a.y.data = room_ + 8; });
  refuses(HEED_OVERLAP, HEED_ARG_WORKSPACE, "rope lies in it",
          [this](A &a) { a.attention.rope = new (room_) heed_rope(rope_); });
}

// Without wo the context is the result, and the memory holds q, k and v alone.
TEST_P(bad_attention_layer, without_wo_needs_no_room_for_the_context) {
  if (is_transformer_)
    return refuses(HEED_NULL_POINTER, HEED_ARG_WO, "none",
                   [](A &a) { a.attention.wo.data = a.attention.bo = nullptr; });
  const size_t kept = size_t{n} * (heads * dim + kv_heads * (dim + v_dim)) * sizeof(float);
  const size_t least = HEED_LAYER_ROUND(kept) + HEED_WORKSPACE_MIN_BYTES(dim, v_dim);
  accepts("without the context", [=](A &a) { without_wo(a), a.memory.bytes = least; });
  refuses(HEED_TOO_SMALL, HEED_ARG_WORKSPACE, "a byte short", [=](A &a) { without_wo(a), a.memory.bytes = least - 1; });
}

TEST_P(bad_attention_layer, ropes) {
  for (const rope_flaw &f : rope_flaws(dim)) {
    heed_rope bad = rope_;
    f.apply(bad);
    for (const bool with_cache : {false, true})
      refuses(f.fault, f.argument, f.what, [&](A &a) {
        a.attention.rope = &bad;
        if (!with_cache) a.attention.cache = nullptr;
      });
  }
}

TEST_P(bad_attention_layer, caches) {
  const auto other = [&](const std::function<void(heed_cache_shape &)> &change) {
    heed_cache_shape s = shape_;
    change(s);
    make_cache(s);
  };
  const struct {
    heed_argument argument;
    int32_t heed_cache_shape::*number;
  } numbers[] = {{HEED_ARG_N_SEQUENCES, &heed_cache_shape::n_sequences},
                 {HEED_ARG_N_KV_HEADS, &heed_cache_shape::n_kv_heads},
                 {HEED_ARG_HEAD_DIM, &heed_cache_shape::head_dim},
                 {HEED_ARG_V_DIM, &heed_cache_shape::v_dim}};
  for (const auto &c : numbers) {
    other([&](heed_cache_shape &s) { ++(s.*c.number); });
    refuses(HEED_SHAPE_MISMATCH, c.argument, "of the cache", [](A &) {});
  }
  make_cache(shape_);
  refuses(HEED_NOT_CAUSAL, HEED_ARG_CAUSAL, "0 with a cache", [](A &a) { a.attention.causal = 0; });
  heed_cache broken = cache_;
  const auto with_broken = [&](A &a) { a.attention.cache = &broken; };
  broken.code = nullptr;
  refuses(HEED_NOT_INITIALIZED, HEED_ARG_CACHE, "no code", with_broken);
  broken = cache_, ++broken.shape.head_dim;
  refuses(HEED_CORRUPT, HEED_ARG_CACHE, "another shape than its memory's", with_broken);
  broken = cache_, ++broken.struct_size;
  refuses(HEED_BAD_STRUCT_SIZE, HEED_ARG_CACHE, "size", with_broken);
  for (int32_t i = 0; i < 2; ++i) {
    A a;
    make_good(&a);
    EXPECT_EQ(status_name(call(a)), "HEED_OK");
  }
  refuses(HEED_FULL, HEED_ARG_CACHE, "no room", [](A &) {});
  EXPECT_EQ(heed_cache_length(&cache_, 0), 2 * n);
}

// A ring takes any number of rows, in the memory of those that it takes at once; but not what counts by the rows of the
// call, nor positions and pinned keys of its own.
TEST_P(bad_attention_layer, rings) {
  shape_.kind = HEED_CACHE_RING, shape_.spare = n - 2, shape_.pinned = 1;
  make_cache(shape_);
  accepts("in pieces", [](A &) {});
  accepts("in pieces, the memory of one", [this](A &a) { a.memory.bytes -= besides_workspace() / n / 64 * 64; });
  heed_options options = heed_options_default();
  const auto with_options = [&](A &a) { a.attention.options = &options; };
  const auto only_at_once = [&](const std::string &what) {
    refuses(HEED_TOO_MANY_ROWS, HEED_ARG_N, what, with_options);
    accepts(what + ", at once", [&](A &a) { with_options(a), a.x.n_rows = a.y.n_rows = n - 1; });
    options = heed_options_default();
  };
  uint8_t attend[heads * n * n];
  std::memset(attend, 1, sizeof attend);
  float rows[heads * n * n];
  heed_mask mask;
  ASSERT_EQ(heed_mask_init_boolean(&mask, attend, n - 1, 0, 0, n - 1), HEED_OK);
  options.mask = &mask, only_at_once("mask");
  const heed_tensor_out out = {rows, 0, n * n, n};
  heed_scores scores;
  ASSERT_EQ(heed_scores_init(&scores, HEED_SCORES_RAW, out), HEED_OK);
  options.scores = &scores, only_at_once("scores");
  heed_attention_weights weights;
  ASSERT_EQ(heed_attention_weights_init(&weights, out), HEED_OK);
  options.weights = &weights, only_at_once("weights");
  heed_lse lse;
  ASSERT_EQ(heed_lse_init(&lse, out), HEED_OK);
  options.lse = &lse, only_at_once("lse");
  heed_column_sums sums;
  ASSERT_EQ(heed_column_sums_init(&sums, out), HEED_OK);
  options.column_sums = &sums, only_at_once("column sums");
  heed_topk_weights topk_weights;
  int32_t keys[heads * n];
  ASSERT_EQ(heed_topk_weights_init(&topk_weights, 1, rows, keys), HEED_OK);
  options.topk_weights = &topk_weights, only_at_once("top-k");
  heed_ranges ranges;
  ASSERT_EQ(heed_ranges_init(&ranges), HEED_OK);
  options.ranges = &ranges, ranges.left_window = 2, ranges.pinned = 1;
  accepts("a window and pinned keys, in pieces", with_options);
  const int32_t position = 0;
  ranges.pinned = 2;
  refuses(HEED_UNSUPPORTED, HEED_ARG_PINNED, "more than the ring has", with_options);
  ranges.pinned = 0, ranges.positions = &position;
  refuses(HEED_UNSUPPORTED, HEED_ARG_POSITIONS, "positions with a ring", with_options);
}

// With a cache and without.
TEST_P(bad_attention_layer, options) {
  heed_options options = heed_options_default();
  const auto with_options = [&](A &a) { a.attention.options = &options; };
  const auto without_cache = [&](A &a) { a.attention.options = &options, a.attention.cache = nullptr; };
  const auto refused = [&](heed_fault fault, heed_argument argument, const std::string &what) {
    refuses(fault, argument, what, with_options);
    refuses(fault, argument, what + ", without a cache", without_cache);
    options = heed_options_default();
  };
  ++options.struct_size;
  refused(HEED_BAD_STRUCT_SIZE, HEED_ARG_OPTIONS, "size");
  accepts("no option", with_options);
  heed_partial partial;
  float of_partial[HEED_PARTIAL_BYTES(1, heads, n, v_dim) / sizeof(float)];
  ASSERT_EQ(heed_partial_init(&partial, 1, heads, n, v_dim, 0, heed_memory_of(of_partial, sizeof of_partial)), HEED_OK);
  options.partial = &partial;
  refused(HEED_UNSUPPORTED, HEED_ARG_PARTIAL, "partial");
  heed_typed_tensors narrow;
  ASSERT_EQ(heed_typed_tensors_init(&narrow), HEED_OK);
  options.typed = &narrow;
  refused(HEED_UNSUPPORTED, HEED_ARG_TYPED, "narrow tensors");
  heed_softcap softcap;
  ASSERT_EQ(heed_softcap_init(&softcap, -1.0f), HEED_OK);
  options.softcap = &softcap;
  refused(HEED_OUT_OF_RANGE, HEED_ARG_SOFTCAP, "softcap");
  float weights[heads * n * n];
  heed_attention_weights of_rows;
  ASSERT_EQ(heed_attention_weights_init(&of_rows, {weights, 0, n * n, n}), HEED_OK);
  options.weights = &of_rows;
  accepts("weights", with_options);
  of_rows.out.data = room_;
  refused(HEED_OVERLAP, HEED_ARG_WORKSPACE, "weights in the memory");
}

INSTANTIATE_TEST_SUITE_P(layer, bad_attention_layer, ::testing::Bool(), [](const ::testing::TestParamInfo<bool> &info) {
  return info.param ? "of_a_transformer" : "alone";
});

}  // namespace
}  // namespace heed_test
