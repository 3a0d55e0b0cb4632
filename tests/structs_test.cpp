// The structs between caller and library. Each is made with its size, and no other size is taken; nothing behind it is
// read; and it may not lie in memory that its call writes. (Threads have tests of their own.)
// SPDX-License-Identifier: MIT
#include "support/structs.hpp"

#include "support/executors.hpp"
#include "support/option_set.hpp"

namespace heed_test {
namespace {

HEED_SEQUENCE(static_sequence, 4, 6);

TEST_F(structs, of_calls_have_one_size) {
  takes_its_size_alone(HEED_ARG_CALL, "attention", attention(), heed_attention_run);
  const heed_cache c = cache();
  takes_its_size_alone(HEED_ARG_CALL, "attention of a cache", heed_attention_of_cache(&c, x_, n, 1, y_, workspace_),
                       heed_attention_run);
  takes_its_size_alone(HEED_ARG_LAYER, "attention layer", layer(), [&](heed_attention_layer *l) { return run(l); });
  const heed_attention_layer good = layer();
  takes_its_size_alone(HEED_ARG_LAYER, "transformer layer", transformer(&good),
                       [&](heed_transformer_layer *l) { return run(l); });
  takes_its_size_alone(HEED_ARG_ATTENTION, "attention layer of a transformer layer", good,
                       [&](heed_attention_layer *l) {
                         const heed_transformer_layer of = transformer(l);
                         return run(&of);
                       });
  takes_its_size_alone(HEED_ARG_REPORT, "report", heed_selftest_report_default(),
                       [&](heed_selftest_report *r) { return heed_selftest_boot(test_memory_, r); });
}

TEST_F(structs, of_executors_have_one_size) {
  reverse_executor executor(2);
  const heed_executor good = *executor.get();
  using E = heed_executor;
  takes_its_size_alone(HEED_ARG_EXECUTOR, "softmax", good, [&](E *e) { return heed_softmax(x(), 1, y(), e); });
  takes_its_size_alone(HEED_ARG_EXECUTOR, "attention", good, [&](E *e) {
    heed_attention call = attention();
    call.executor = e;
    return heed_attention_run(&call);
  });
  const heed_attention_layer l = layer();
  takes_its_size_alone(HEED_ARG_EXECUTOR, "layer", good, [&](E *e) { return run(&l, e); });
}

TEST_F(structs, of_sequences_have_one_size) {
  EXPECT_EQ(static_sequence.struct_size, sizeof static_sequence);
  using S = heed_sequence;
  takes_its_size_alone(HEED_ARG_SEQUENCE, "clear", sequence(y_, 0), heed_sequence_clear);
  takes_its_size_alone(HEED_ARG_SEQUENCE, "append", sequence(y_, 0),
                       [&](S *s) { return heed_sequence_append(s, x()); });
  takes_its_size_alone(HEED_ARG_SEQUENCE, "push", sequence(y_, 0), [&](S *s) { return heed_sequence_push(s, x()); });
  S words = sequence(x_, n), context = sequence(y_, 0);
  const auto of = [&](S *from, S *to) { return heed_sequence_attention(from, 1, 0, nullptr, to, workspace_); };
  takes_its_size_alone(HEED_ARG_X, "x", words, [&](S *s) { return of(s, &context); });
  takes_its_size_alone(HEED_ARG_OUT, "out", context, [&](S *s) { return of(&words, s); });
}

TEST_F(structs, of_options_have_one_size) {
  option_set set(&memory_, {1, 1, n, n});
  takes_its_size_alone(HEED_ARG_OPTIONS, "options", *set.options, [&](heed_options *o) { return attend(o); });
  takes_option(HEED_ARG_RANGES, "ranges", &heed_options::ranges, *set.ranges);
  takes_option(HEED_ARG_MASK, "mask", &heed_options::mask, *set.mask);
  takes_option(HEED_ARG_SOFTCAP, "softcap", &heed_options::softcap, *set.softcap);
  takes_option(HEED_ARG_ALIBI, "alibi", &heed_options::alibi, *set.alibi);
  takes_option(HEED_ARG_SINKS, "sinks", &heed_options::sinks, *set.sinks);
  takes_option(HEED_ARG_SCORES, "scores", &heed_options::scores, *set.scores);
  takes_option(HEED_ARG_WEIGHTS, "weights", &heed_options::weights, *set.weights);
  takes_option(HEED_ARG_LSE, "lse", &heed_options::lse, *set.lse);
  takes_option(HEED_ARG_COLUMN_SUMS, "column sums", &heed_options::column_sums, *set.sums);
  takes_option(HEED_ARG_TOPK_WEIGHTS, "top k", &heed_options::topk_weights, *set.topk_weights);
  heed_typed_tensors narrow;
  made(heed_typed_tensors_init(&narrow));
  takes_option(HEED_ARG_TYPED, "narrow tensors", &heed_options::typed, narrow);
}

TEST_F(structs, of_partials_have_one_size) {
  heed_partial partial, empty;
  made(heed_partial_init(&partial, 1, 1, n, dim, 0, take(HEED_PARTIAL_BYTES(1, 1, n, dim))));
  made(heed_partial_init(&empty, 1, 1, n, dim, 0, take(HEED_PARTIAL_BYTES(1, 1, n, dim))));
  using P = heed_partial;
  takes_its_size_alone(HEED_ARG_PARTIAL, "attention", partial, [&](P *p) {
    heed_options options = heed_options_default();
    options.partial = p;
    heed_attention call = attention();
    call.options = &options, call.out.data = nullptr;
    return heed_attention_run(&call);
  });
  takes_its_size_alone(HEED_ARG_TOTAL, "total", empty, [&](P *p) { return heed_partial_merge(p, &partial); });
  takes_its_size_alone(HEED_ARG_PARTIAL, "part", partial, [&](P *p) { return heed_partial_merge(&empty, p); });
  takes_its_size_alone(HEED_ARG_PARTIAL, "finish", partial,
                       [&](P *p) { return heed_partial_finish(p, nullptr, heed_tensor_out_of(y(), 1), nullptr); });
}

// So are the arrays that options point to.
TEST_F(structs, of_options_arrays_are_read_no_further) {
  option_set set(&memory_, {1, 1, n, n});
  made(attend(set.options));
  const std::vector<float> expected(y_, y_ + n * dim);
  const auto each = [&](const void *data, size_t bytes, const auto &move, const std::string &what) {
    void *there = std::memcpy(fence_of(slot_q) - bytes, data, bytes);
    move(there);
    std::fill(y_, y_ + n * dim, 0.0f);
    EXPECT_EQ(status_name(attend(set.options)), "HEED_OK") << what;
    EXPECT_EQ(std::vector<float>(y_, y_ + n * dim), expected) << what;
    set.restore();
  };
  using R = heed_ranges;
  for (const int32_t *R::*array : {&R::left_windows, &R::right_windows, &R::positions, &R::kv_lengths})
    each(
        set.ranges->*array, 4, [&](void *to) { set.ranges->*array = static_cast<int32_t *>(to); }, "ranges");
  each(
      set.slopes, 4, [&](void *to) { set.alibi->slopes = static_cast<float *>(to); }, "slopes");
  each(
      set.logits, 4, [&](void *to) { set.sinks->logits = static_cast<float *>(to); }, "logits");
  each(
      set.mask_data, size_t{n} * n * 4, [&](void *to) { set.mask->data = to; }, "mask");
}

TEST_F(structs, of_ropes_and_caches_have_one_size) {
  takes_its_size_alone(HEED_ARG_ROPE, "rope", rope(), [&](heed_rope *r) { return turn(r); });
  heed_cache c = cache();
  takes_its_size_alone(HEED_ARG_ROPE, "rope of a cache", rope(), [&](heed_rope *r) { return append(&c, r); });
  using C = heed_cache;
  const auto status_of = [](int64_t length) { return static_cast<heed_status>(std::min<int64_t>(length, 0)); };
  c = cache();
  takes_its_size_alone(HEED_ARG_CACHE, "attention", c, [&](C *o) { return attend(c, o); });
  takes_its_size_alone(HEED_ARG_CACHE, "append", c, [&](C *o) { return append(o); });
  takes_its_size_alone(HEED_ARG_CACHE, "truncate", c, [&](C *o) { return heed_cache_truncate(o, 0, 1); });
  takes_its_size_alone(HEED_ARG_CACHE, "length", c, [&](C *o) { return status_of(heed_cache_length(o, 0)); });
  takes_its_size_alone(HEED_ARG_CACHE, "longest", c, [&](C *o) { return status_of(heed_cache_longest(o)); });
  takes_its_size_alone(HEED_ARG_CACHE, "reset", c, heed_cache_reset);
  takes_its_size_alone(HEED_ARG_CACHE, "layer", c, [&](C *o) {
    heed_attention_layer l = layer();
    l.cache = o, l.causal = 1;
    return run(&l);
  });
  takes_its_size_alone(HEED_ARG_CACHE, "save", c, heed_cache_save);
  const heed_cache_shape shape = c.shape;
  using S = const heed_cache_shape;
  takes_its_size_alone(HEED_ARG_SHAPE, "open", shape, [&](S *s) { return heed_cache_load(&c, s, cache_memory_); });
  takes_its_size_alone(HEED_ARG_SHAPE, "init", heed_cache_shape_default(64, 1, dim),
                       [&](S *s) { return heed_cache_init(&c, s, cache_memory_); });
}

// ------------------------------------------------------------------------------------------------- written memory

TEST_F(structs, of_a_call_may_not_lie_in_what_it_writes) {
  const heed_attention good = attention();
  const size_t last = (workspace_.bytes - sizeof good) / 8 * 2;
  for (const size_t at : {size_t{0}, size_t{40}, last})
    overlaps(HEED_ARG_WORKSPACE, "call in its workspace", good, floats(workspace_) + at, heed_attention_run);
  heed_attention wide = good;
  wide.out.row_stride = n * dim;  // in the gaps between rows, too
  overlaps(HEED_ARG_OUT, "call in its result", wide, y_ + 8, heed_attention_run);
}

TEST_F(structs, of_options_may_not_lie_in_what_a_call_writes) {
  heed_typed_tensors narrow;
  made(heed_typed_tensors_init(&narrow));
  const auto with_narrow = [&](const heed_typed_tensors *t) {
    heed_options options = heed_options_default();
    options.typed = t;
    return attend(&options);
  };
  for (const auto &[argument, place] : {std::pair(HEED_ARG_OUT, y_), {HEED_ARG_WORKSPACE, floats(workspace_) + 4}}) {
    overlaps(argument, "options", heed_options_default(), place, [&](heed_options *o) { return attend(o); });
    overlaps(argument, "narrow tensors", narrow, place, with_narrow);
  }
}

TEST_F(structs, of_executors_may_not_lie_in_what_a_call_writes) {
  reverse_executor executor(2);
  const heed_executor good = *executor.get();
  using E = const heed_executor;
  const heed_matrix w = heed_matrix_of(w_, dim, dim), rows = heed_matrix_of(x_, dim - 2, dim);
  overlaps(HEED_ARG_WORKSPACE, "attention", good, floats(workspace_) + 16, [&](E *e) {
    heed_attention call = attention();
    call.executor = e;
    return heed_attention_run(&call);
  });
  overlaps(HEED_ARG_Y, "softmax", good, y_ + 2, [&](E *e) { return heed_softmax(x(), 1, y(), e); });
  overlaps(HEED_ARG_Y, "linear", good, y_ + 2,
           [&](E *e) { return heed_linear(x(), heed_weights_of_matrix(w), nullptr, y(), e); });
  overlaps(HEED_ARG_Y, "project", good, y_ + 2, [&](E *e) { return heed_linear(x(), square(), nullptr, y(), e); });
  overlaps(HEED_ARG_OUT, "weighted sum", good, y_, [&](E *e) { return heed_weighted_sum(rows, w, y(), e); });
  const heed_attention_layer l = layer();
  const heed_transformer_layer t = transformer(&l);
  overlaps(HEED_ARG_Y, "attention layer", good, y_ + 2, [&](E *e) { return run(&l, e); });
  overlaps(HEED_ARG_WORKSPACE, "transformer layer", good, floats(room_), [&](E *e) { return run(&t, e); });
  EXPECT_EQ(executor.runs(), 0);
}

TEST_F(structs, of_layers_may_not_lie_in_what_they_write) {
  const heed_attention_layer good = layer();
  const heed_transformer_layer transforming = transformer(&good);
  for (const auto &[argument, place] : {std::pair(HEED_ARG_Y, y_), {HEED_ARG_WORKSPACE, floats(room_) + 6}}) {
    overlaps(argument, "attention layer", good, place, [&](const heed_attention_layer *l) { return run(l); });
    overlaps(argument, "transformer layer", transforming, place,
             [&](const heed_transformer_layer *l) { return run(l); });
    overlaps(argument, "attention of a transformer layer", good, place, [&](const heed_attention_layer *l) {
      const heed_transformer_layer of = transformer(l);
      return run(&of);
    });
    overlaps(argument, "rope", rope(), place, [&](const heed_rope *r) {
      heed_attention_layer l = layer();
      l.rope = r;
      return run(&l);
    });
  }
}

TEST_F(structs, of_ropes_and_caches_may_not_lie_in_what_is_written) {
  overlaps(HEED_ARG_Y, "rope", rope(), y_ + 8, [&](const heed_rope *r) { return turn(r); });
  heed_cache c = cache();
  float *const kept = floats(cache_memory_) + 64;
  overlaps(HEED_ARG_CACHE, "rope in the cache", rope(), kept, [&](const heed_rope *r) { return append(&c, r); });
  overlaps(HEED_ARG_CACHE, "handle in its cache", c, kept, [&](heed_cache *o) { return append(o); });
  for (const auto &[argument, place] : {std::pair(HEED_ARG_OUT, y_), {HEED_ARG_WORKSPACE, floats(workspace_) + 4}})
    overlaps(argument, "handle", c, place, [&](const heed_cache *o) { return attend(c, o); });
  const heed_cache_shape shape = heed_cache_shape_default(64, 1, dim);
  using S = const heed_cache_shape;
  overlaps(HEED_ARG_MEMORY, "shape", shape, kept, [&](S *s) { return heed_cache_init(&c, s, cache_memory_); });
  overlaps(HEED_ARG_CACHE, "handle to be", c, kept,
           [&](heed_cache *o) { return heed_cache_init(o, &shape, cache_memory_); });
}

TEST_F(structs, of_sequences_may_not_lie_in_their_storage_or_workspace) {
  using S = heed_sequence;
  const S in_y = sequence(y_, 0);
  const heed_memory storage = heed_memory_of(y_, HEED_SEQUENCE_BYTES(n, dim));
  overlaps(HEED_ARG_SEQUENCE, "init", in_y, y_ + 4, [&](S *s) { return heed_sequence_init(s, n, dim, storage); });
  overlaps(HEED_ARG_SEQUENCE, "append", in_y, y_ + 4, [&](S *s) { return heed_sequence_append(s, x()); });
  overlaps(HEED_ARG_SEQUENCE, "push", in_y, y_ + 4, [&](S *s) { return heed_sequence_push(s, x()); });
  overlaps(HEED_ARG_SEQUENCE, "clear", in_y, y_ + 4, heed_sequence_clear);
  S words = sequence(x_, n), context = in_y;
  const auto of = [&](const S *from, S *to) { return heed_sequence_attention(from, 1, 0, nullptr, to, workspace_); };
  made(of(&words, &context));
  float *const workspace = floats(workspace_);
  overlaps(HEED_ARG_OUT, "x in the result", words, y_ + 8, [&](S *s) { return of(s, &context); });
  overlaps(HEED_ARG_WORKSPACE, "x in the workspace", words, workspace, [&](S *s) { return of(s, &context); });
  overlaps(HEED_ARG_OUT, "out in the workspace", context, workspace + 8, [&](S *s) { return of(&words, s); });
  overlaps(HEED_ARG_OUT, "out in x", context, x_ + 4, [&](S *s) { return of(&words, s); });
}

TEST_F(structs, of_reports_may_not_lie_in_the_memory_of_the_test) {
  for (const auto test : {heed_selftest, heed_selftest_boot, heed_selftest_features})
    overlaps(HEED_ARG_MEMORY, "report", heed_selftest_report_default(), floats(test_memory_) + 8,
             [&](heed_selftest_report *r) { return test(test_memory_, r); });
}

// A struct at an address where its fields would be misaligned is not read.
TEST_F(structs, must_be_aligned) {
  overlaps(HEED_ARG_CALL, "call", attention(), x_, heed_attention_run, HEED_MISALIGNED, 1);
  overlaps(HEED_ARG_SEQUENCE, "sequence", sequence(y_, 0), x_, heed_sequence_clear, HEED_MISALIGNED, 2);
  overlaps(
      HEED_ARG_LAYER, "layer", layer(), x_, [&](heed_attention_layer *l) { return run(l); }, HEED_MISALIGNED, 2);
  overlaps(
      HEED_ARG_ROPE, "rope", rope(), x_, [&](heed_rope *r) { return turn(r); }, HEED_MISALIGNED, 1);
}

}  // namespace
}  // namespace heed_test
