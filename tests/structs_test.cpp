// The structs between caller and library. Each is made with its size, and no other size is taken; nothing behind it is
// read; and it may not lie in memory that its call writes. (Threads have tests of their own.)
// SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/fence.hpp"
#include "support/kernels.hpp"
#include "support/option_set.hpp"

namespace heed_test {
namespace {

HEED_SEQUENCE(static_sequence, 4, 6);

class structs : public ::testing::Test {
 protected:
  static constexpr int32_t n = 4, dim = 6;

  // The call takes an object of the size that its maker has set, at the end of readable memory: to read on would be a
  // crash. It takes no other size.
  template <typename T, typename Call>
  void takes_its_size_alone(heed_argument argument, const std::string &what, const T &made, Call call) {
    EXPECT_EQ(made.struct_size, sizeof(T)) << what;
    T *const given = new (fence_of(slot_q) - sizeof(T)) T(made);
    EXPECT_EQ(status_name(call(given)), "HEED_OK") << what;
    const uint32_t size = sizeof(T);
    for (const uint32_t wrong : {0u, 1u, 4u, size - 4, size - 1, size + 1, size + 8, 2 * size, UINT32_MAX}) {
      *given = made;
      given->struct_size = wrong;
      memory_.refuses([&] { return call(given); }, wrong == 0 ? HEED_NOT_INITIALIZED : HEED_UNKNOWN_STRUCT, argument,
                      what + " of " + std::to_string(wrong) + " bytes");
    }
    *given = {};
    memory_.refuses([&] { return call(given); }, HEED_NOT_INITIALIZED, argument, what + " of zeros");
  }
  // An object of options, in a call of attention.
  template <typename T>
  void takes_option(heed_argument argument, const std::string &what, const T *heed_options::*member, const T &made) {
    takes_its_size_alone(argument, what, made, [&](const T *o) {
      heed_options options = heed_options_default();
      options.*member = o;
      return attend(&options);
    });
  }
  // Puts an object into memory that the call writes; the call must be refused and leave it as it was.
  template <typename T, typename Call>
  void overlaps(heed_argument argument, const std::string &what, const T &object, float *place, Call call,
                heed_fault fault = HEED_OVERLAP, uintptr_t shift = 0) {
    const T *there = new (reinterpret_cast<unsigned char *>(place) + shift) T(object);
    memory_.refuses([&] { return call(const_cast<T *>(there)); }, fault, argument, what);
  }

  static void made(heed_status status) { EXPECT_EQ(status_name(status), "HEED_OK"); }
  heed_attention attention() { return heed_attention_of(x_, x_, x_, n, n, 1, 1, dim, y_, workspace_); }
  heed_status attend(const heed_options *options) {
    heed_attention call = attention();
    call.options = options;
    return heed_attention_run(&call);
  }
  heed_weights square() const { return heed_weights_of(w_, nullptr, HEED_F32, HEED_IN_OUT, dim, dim); }
  heed_attention_layer layer() const {
    heed_attention_layer l = heed_attention_layer_default(dim, 1);
    l.wq = l.wk = l.wv = l.wo = square();
    return l;
  }
  heed_transformer_layer transformer(const heed_attention_layer *attention) const {
    heed_transformer_layer l = heed_transformer_layer_default(attention, dim, heed_layer_norm, heed_gelu);
    l.w_up = l.w_down = square();
    return l;
  }
  heed_status run(const heed_attention_layer *l, const heed_executor *executor = nullptr) {
    return heed_attention_layer_run(l, x(), y(), room_, executor);
  }
  heed_status run(const heed_transformer_layer *l, const heed_executor *executor = nullptr) {
    return heed_transformer_layer_run(l, x(), y(), room_, executor);
  }
  heed_sequence sequence(float *data, int32_t length) {
    heed_sequence s;
    made(heed_sequence_init(&s, n, dim, heed_memory_of(data, HEED_SEQUENCE_BYTES(n, dim))));
    s.length = length;
    return s;
  }
  heed_rope rope() {
    heed_rope r;
    made(heed_rope_init(&r, HEED_ROPE_HALVES));
    return r;
  }
  heed_status turn(const heed_rope *r) {
    return heed_rope_apply(r, heed_tensor_of(x(), 1), n, 1, dim, 0, nullptr, heed_tensor_out_of(y(), 1), nullptr);
  }
  // With n tokens.
  heed_cache cache() {
    heed_cache c;
    const heed_cache_shape shape = heed_cache_shape_default(64, 1, dim);
    made(heed_cache_init(&c, &shape, cache_memory_));
    made(append(&c));
    return c;
  }
  heed_status append(heed_cache *c, const heed_rope *r = nullptr) {
    return heed_cache_append(c, 0, heed_tensor_of(x(), 1), heed_tensor_of(x(), 1), n, r);
  }
  heed_status attend(const heed_cache &good, const heed_cache *c) {
    heed_attention call = heed_attention_of_cache(&good, x_, n, 1, y_, workspace_);
    call.cache = c;
    return heed_attention_run(&call);
  }

  heed_matrix x() const { return heed_matrix_of(x_, n, dim); }
  heed_matrix_out y() const { return heed_matrix_out_of(y_, n, dim); }
  heed_memory take(size_t bytes) { return heed_memory_of(memory_.take_aligned((bytes + 3) / 4), bytes); }
  static float *floats(const heed_memory &m) { return static_cast<float *>(m.data); }

  arena memory_;
  float *x_ = memory_.take_aligned(n * dim), *w_ = memory_.take_aligned(dim * dim), *y_ = memory_.take_aligned(128);
  heed_memory workspace_ = take(HEED_WORKSPACE_BYTES(dim, dim));
  heed_memory room_ = take(HEED_TRANSFORMER_LAYER_BYTES(n, dim, 1, 1, dim, dim, dim, 0));
  heed_memory cache_memory_ = take(HEED_CACHE_BYTES(64, 1, 1, dim, dim, HEED_F32));
  heed_memory test_memory_ = take(HEED_SELFTEST_BYTES);
};

// ------------------------------------------------------------------------------------------------------------- sizes

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
  takes_option(HEED_ARG_TOP_K, "top k", &heed_options::top_k, *set.top_k);
  heed_narrow_tensors narrow;
  made(heed_narrow_tensors_init(&narrow));
  takes_option(HEED_ARG_NARROW, "narrow tensors", &heed_options::narrow, narrow);
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
  takes_its_size_alone(HEED_ARG_PARTIAL, "finish", partial, [&](P *p) {
    return heed_partial_finish(p, nullptr, heed_tensor_out_of(y(), 1), nullptr);
  });
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
    each(set.ranges->*array, 4, [&](void *to) { set.ranges->*array = static_cast<int32_t *>(to); }, "ranges");
  each(set.slopes, 4, [&](void *to) { set.alibi->slopes = static_cast<float *>(to); }, "slopes");
  each(set.logits, 4, [&](void *to) { set.sinks->logits = static_cast<float *>(to); }, "logits");
  each(set.mask_data, size_t{n} * n * 4, [&](void *to) { set.mask->data = to; }, "mask");
}

TEST_F(structs, of_ropes_and_caches_have_one_size) {
  takes_its_size_alone(HEED_ARG_ROPE, "rope", rope(), [&](heed_rope *r) { return turn(r); });
  heed_cache c = cache();
  takes_its_size_alone(HEED_ARG_ROPE, "rope of a cache", rope(), [&](heed_rope *r) { return append(&c, r); });
  using C = heed_cache;
  const auto status_of = [](int32_t length) { return std::min(length, 0); };
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
  takes_its_size_alone(HEED_ARG_CACHE, "seal", c, heed_cache_seal);
  const heed_cache_shape shape = c.shape;
  using S = const heed_cache_shape;
  takes_its_size_alone(HEED_ARG_SHAPE, "open", shape, [&](S *s) { return heed_cache_open(&c, s, cache_memory_); });
  takes_its_size_alone(HEED_ARG_SHAPE, "init", heed_cache_shape_default(64, 1, dim),
                       [&](S *s) { return heed_cache_init(&c, s, cache_memory_); });
}

