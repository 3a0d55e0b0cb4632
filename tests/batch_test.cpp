// Rows of several sequences in one call of a layer: the bits of one call a sequence, on every kernel, with every option,
// cache and executor; and what is refused. SPDX-License-Identifier: MIT
#include <list>

#include "support/kernels.hpp"
#include "support/layer_checks.hpp"

namespace heed_test {
namespace {

using lengths = std::vector<int32_t>;

lengths draw_lengths(random_source &r) {
  lengths all(size_t(r.between(1, 6)));
  const int32_t most = r.chance(30) ? 1 : r.between(1, 40);
  for (int32_t &n : all) n = r.chance(20) ? 0 : r.between(1, most);
  if (*std::max_element(all.begin(), all.end()) == 0) all[0] = 1;
  return all;
}

// What sequence b, whose keys are so many, has of the options of all.
extras options_of(const extras &all, int32_t b, int32_t n, int32_t n_kv) {
  extras x = all;
  for (lengths *array : {&x.left_windows, &x.right_windows, &x.offsets, &x.kv_lengths})
    if (!array->empty()) *array = {(*array)[size_t(b)]};
  for (int32_t &length : x.kv_lengths) length = std::min(length, n_kv);
  problem_mask &m = x.mask;
  if (m.kind == mask_kind::none) return x;
  m.n_batch = 1, m.n_q = std::min(m.n_q, n), m.elements.clear();
  for (int32_t h = 0; h < m.n_heads; ++h)
    for (int32_t i = 0; i < m.n_q; ++i)
      append(&m.elements, part_of(all.mask.elements, all.mask.index(b, h, i), size_t(m.n_keys)));
  return x;
}

// Rows (head, row) of sequence b, of which the first columns are compared, and the others are `beyond`. There are n of
// n_rows; nobody has written the others.
void compare_rows(const char *what, const floats &all, const floats &one, const problem &p, int32_t b, int32_t n,
                  int32_t n_rows, int32_t columns, int32_t own, float beyond) {
  if (all.empty()) return;
  for (int32_t h = 0; h < p.n_heads; ++h)
    for (int32_t i = 0; i < n_rows; ++i) {
      const floats row = part_of(all, ((size_t(b) * p.n_heads + h) * n_rows + i) * columns, size_t(columns));
      if (i >= n) {
        for (const float left : row) EXPECT_EQ(bits_of(left), unwritten_bits) << what;
        continue;
      }
      EXPECT_TRUE(same_bits(part_of(row, 0, size_t(own)), part_of(one, (size_t(h) * n + i) * own, size_t(own))))
          << what;
      EXPECT_EQ(part_of(row, size_t(own), size_t(columns - own)), floats(size_t(columns - own), beyond)) << what;
    }
}

// The bytes of sequence b.
floats sequence_of(const owned_cache &c, int32_t b) {
  const size_t n = size_t(c.cache.shape.n_sequences), before = (128 + (16 * n + 63) / 64 * 64) / sizeof(float);
  const floats all = c.contents();
  const size_t each = (all.size() - before) / n;
  return part_of(all, before + size_t(b) * each, each);
}

struct batch_trial {
  batch_trial(bool transformer, uint64_t seed) : r(seed), layer(r, transformer, r.chance(60)), rows(draw_lengths(r)) {
    const heed_attention_layer &a = layer.attention;
    if (a.causal && r.chance(70)) {
      const int32_t longest = *std::max_element(rows.begin(), rows.end()), most_before = r.between(0, 30);
      const int32_t dtype = r.between(HEED_F32, HEED_INT8);
      cached = true;
      shape = r.chance(50)
                  ? cache_shape(HEED_CACHE_RING, r.between(1, 30), a.n_kv_heads, a.head_dim, a.v_dim, dtype,
                                r.between(0, 5), r.chance(50) ? longest : r.between(0, longest))
                  : cache_shape(HEED_CACHE_LINEAR, most_before + longest, a.n_kv_heads, a.head_dim, a.v_dim, dtype);
      for (size_t i = 0; i < rows.size(); ++i) before.push_back(r.between(0, most_before));
    }
    for (const int32_t n : rows) n_rows += n;
    x = bell_floats(r, size_t(n_rows) * size_t(a.model_dim));
  }
  // A cache of these sequences, with the tokens that they have.
  std::unique_ptr<owned_cache> make(int32_t first, int32_t n) const {
    if (!cached) return nullptr;
    heed_cache_shape s = shape;
    s.n_sequences = n;
    auto c = std::make_unique<owned_cache>(s);
    for (int32_t i = 0; i < n; ++i) {
      random_source same(uint64_t(first + i));
      for (int32_t left = before[size_t(first + i)], some; left > 0; left -= some) {
        some = std::min(left, shape.capacity + shape.spare);
        expect_done(append(&c->cache, i, random_tokens(same, shape, some)));
      }
    }
    return c;
  }
  int32_t keys_of(int32_t b) const { return rows[size_t(b)] + (cached ? before[size_t(b)] : 0); }
  void draw_options() {
    const auto cache = make(0, int32_t(rows.size()));
    problem p = attention_of(layer, rows, cache ? &cache->cache : nullptr);
    draw_inner_features(r, &p);
    extras &x = p.options;
    if (!cached) layer.attention.causal = p.causal;
    if (cached && shape.kind == HEED_CACHE_RING) {
      x.offsets.clear(), x.pinned = std::min(x.pinned, shape.pinned);
      if (p.n_q > shape.spare + 1) {
        x.mask = {}, x.kv_lengths.clear(), x.scores_stage = -1, x.k = 0;
        x.weights = x.lse = x.column_sums = false;
      }
    }
    for (size_t b = 0; b < rows.size(); ++b)
      if (rows[b] > 0) x.k = std::min(x.k, keys_of(int32_t(b)));
    layer.options = x;
  }
  void compare(const layer_setting &s) {
    const auto all_caches = make(0, int32_t(rows.size()));
    heed_cache *const cache = all_caches ? &all_caches->cache : nullptr;
    const problem p = attention_of(layer, rows, cache);
    const layer_result all = run_layer(layer, x, n_rows, s, cache, rows);
    const int32_t dim = layer.attention.model_dim, out_dim = layer.attention.out_dim;
    for (int32_t b = 0, first = 0; b < int32_t(rows.size()); first += rows[size_t(b++)]) {
      const int32_t n = rows[size_t(b)], n_kv = keys_of(b);
      ::testing::ScopedTrace trace(__FILE__, __LINE__, "sequence " + std::to_string(b));
      const auto own = make(b, 1);
      if (n > 0) {
        random_layer alone = layer;
        alone.options = options_of(layer.options, b, n, n_kv);
        const layer_result one = run_layer(alone, rows_from(x, dim, first, n), n, {}, own ? &own->cache : nullptr);
        EXPECT_TRUE(same_bits(one.y, rows_from(all.y, out_dim, first, n))) << "y";
        const attention_result &here = all.attended, &there = one.attended;
        const int32_t k = p.options.k;
        compare_rows("scores", here.scores, there.scores, p, b, n, p.n_q, p.n_kv, n_kv, -infinity);
        compare_rows("weights", here.weights, there.weights, p, b, n, p.n_q, p.n_kv, n_kv, 0);
        compare_rows("log-sum-exp", here.lse, there.lse, p, b, n, p.n_q, 1, 1, 0);
        compare_rows("column sums", here.column_sums, there.column_sums, p, b, 1, 1, p.n_kv, n_kv, 0);
        compare_rows("top-k", here.top_weights, there.top_weights, p, b, n, p.n_q, k, k, 0);
        floats keys, own_keys;
        for (const int32_t key : here.top_keys) keys.push_back(float_of(uint32_t(key)));
        for (const int32_t key : there.top_keys) own_keys.push_back(float_of(uint32_t(key)));
        compare_rows("top-k", keys, own_keys, p, b, n, p.n_q, k, k, 0);
      }
      if (!cached) continue;
      EXPECT_EQ(heed_cache_length(cache, b), n_kv);
      EXPECT_TRUE(same_bits(sequence_of(*own, 0), sequence_of(*all_caches, b))) << "the cache";
    }
  }
  std::string text() const {
    std::string s = layer.text() + (cached ? " in " + text_of(shape) : "") + " rows";
    for (const int32_t n : rows) s += " " + std::to_string(n);
    return s;
  }
  random_source r;
  random_layer layer;
  lengths rows, before;
  int32_t n_rows = 0;
  bool cached = false;
  heed_cache_shape shape;
  floats x;
};

class batches : public kernel_test {};

TEST_P(batches, each_sequence_has_the_bits_of_a_call_of_its_own) {
  for (uint64_t i = 0; i < uint64_t(repetitions(250)) && !HasFailure(); ++i) {
    batch_trial t(i % 2, 800000 + i);
    if (t.r.chance(50)) t.draw_options();
    ::testing::ScopedTrace trace(__FILE__, __LINE__, t.text() + " seed " + std::to_string(i));
    const auto executor = t.r.chance(40) ? random_executor(t.r) : nullptr;
    t.compare(random_layer_setting(t.r, t.layer, executor ? executor->get() : nullptr));
  }
}

// Large enough for threads: a prompt beside single tokens, and few long streams whose keys are shared out.
TEST_P(batches, threads_share_out_all_sequences) {
  const struct {
    lengths rows;
    int32_t n_before;
  } all[] = {{{1, 70, 1, 0, 9, 1}, 90}, {{1, 1}, 2100}};
  for (int32_t i = 0; i < 4; ++i) {
    const auto &one = all[i / 2];
    const bool sums = i % 2 == 1;  // with them a task takes all rows of a head
    random_source r(9);
    random_layer l(r, {24, 4, 1, 33, 40, 24, 0}, true);
    l.options.column_sums = sums;
    int32_t n = 0;
    for (const int32_t length : one.rows) n += length;
    const floats x = bell_floats(r, size_t(n) * 24);
    heed_cache_shape shape = cache_shape(HEED_CACHE_LINEAR, one.n_before + 70, 1, 33, 40, HEED_F32);
    shape.n_sequences = int32_t(one.rows.size());
    floats expected;
    for (int32_t workers = 1; workers <= 8; ++workers) {
      owned_cache cache(shape);
      for (int32_t i = 0; i < shape.n_sequences; ++i) {
        random_source same(uint64_t(i) + 5);
        expect_done(append(&cache.cache, i, random_tokens(same, shape, one.n_before)));
      }
      thread_executor threads(workers);
      layer_setting s;
      s.executor = threads.get();
      const floats y = run_layer(l, x, n, s, &cache.cache, one.rows).y;
      if (workers == 1) expected = y;
      EXPECT_TRUE(same_bits(expected, y)) << workers << " threads";
      EXPECT_TRUE(workers == 1 || threads.most_tasks() > 1) << "the layer is large enough to be split";
    }
  }
}

// Two sources of different lengths, in any pieces; their decoders side by side.
TEST_P(batches, cross_attention_reads_the_memory_of_each_sequence) {
  constexpr int32_t dim = 24, heads = 3, head = 8, hidden = 40, n_sources = 3, capacity = 30;
  const int32_t sources[n_sources] = {17, 5, 30}, targets[n_sources] = {4, 0, 2};
  random_source r(3);
  std::list<floats> kept;
  const auto numbers = [&](size_t n) {
    kept.push_back(bell_floats(r, n));
    for (float &x : kept.back()) x *= 0.3f;
    return kept.back().data();
  };
  const auto weights = [&](int32_t in, int32_t out) {
    return heed_weights_of(numbers(size_t(in) * size_t(out)), nullptr, HEED_F32, HEED_OUT_IN, in, out);
  };
  heed_attention_layer a = heed_attention_layer_default(dim, heads), c = a;
  for (heed_attention_layer *l : {&a, &c})
    l->wq = weights(dim, dim), l->wk = weights(dim, dim), l->wv = weights(dim, dim), l->wo = weights(dim, dim);
  heed_transformer_layer t = heed_transformer_layer_default(&a, hidden, heed_layer_norm, heed_relu);
  t.w_up = weights(dim, hidden), t.w_down = weights(hidden, dim);
  a.causal = 1, c.cross = 1, t.cross = &c;
  const floats source = bell_floats(r, 52 * dim), target = bell_floats(r, 6 * dim);
  HEED_MEMORY(memory, HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(52, dim, heads, heads, head, head, hidden, 0));
  const auto run = [&](const float *x, int32_t n, floats *y) {
    y->resize(size_t(n) * dim);
    expect_done(heed_transformer_layer_run(&t, heed_matrix_of(x, n, dim), heed_matrix_out_of(y->data(), n, dim), memory,
                                           nullptr));
  };
  floats expected, y;
  for (int32_t i = 0, from = 0, to = 0; i < n_sources; from += sources[i], to += targets[i++]) {
    owned_cache cache(cache_shape(HEED_CACHE_LINEAR, capacity, heads, head, head, HEED_F16));
    c.cache = &cache.cache;
    expect_done(
        heed_attention_layer_encode(&c, heed_matrix_of(&source[size_t(from * dim)], sources[i], dim), memory, nullptr));
    if (targets[i] > 0) run(&target[size_t(to * dim)], targets[i], &y), append(&expected, y);
  }
  heed_ragged_batch of_sources, of_targets;
  expect_done(heed_ragged_batch_init(&of_sources, n_sources, sources));
  expect_done(heed_ragged_batch_init(&of_targets, n_sources, targets));
  a.batch = &of_targets, c.batch = &of_sources;
  for (const size_t room : {size_t{2 * dim * 4}, size_t{7 * 2 * dim * 4}, memory.bytes}) {
    owned_cache cache(cache_shape(HEED_CACHE_LINEAR, capacity, heads, head, head, HEED_F16, 0, 0, n_sources));
    c.cache = &cache.cache;
    expect_done(heed_attention_layer_encode(&c, heed_matrix_of(source.data(), 52, dim),
                                            heed_memory_of(memory.data, room), nullptr));
    for (int32_t i = 0; i < n_sources; ++i) EXPECT_EQ(heed_cache_length(&cache.cache, i), sources[i]);
    run(target.data(), 6, &y);
    EXPECT_TRUE(same_bits(expected, y)) << room << " bytes";
  }
}

HEED_TEST_EVERY_KERNEL(batches);

// ------------------------------------------------------------------------------------------------------- bad arguments

TEST(bad_batches, are_refused_before_anything_is_written) {
  constexpr int32_t dim = 8;
  static float w[dim * dim];
  HEED_MEMORY(memory, HEED_ATTENTION_LAYER_BYTES(9, 2, 2, 4, 4));
  heed_attention_layer l = heed_attention_layer_default(dim, 2);
  l.wq = l.wk = l.wv = l.wo = heed_weights_of(w, nullptr, HEED_F32, HEED_OUT_IN, dim, dim);
  l.causal = 1;
  heed_cache_shape shape = cache_shape(HEED_CACHE_LINEAR, 6, 2, 4, 4, HEED_INT8, 0, 0, 3);
  owned_cache cache(shape), other([&] { return shape.n_sequences = 2, shape; }());
  int32_t rows[3] = {4, 0, 5};
  floats x(9 * dim, 1.0f), y(9 * dim, 7.0f);
  heed_ragged_batch batch;
  const auto run = [&] {
    return heed_attention_layer_run(&l, heed_matrix_of(x.data(), 9, dim), heed_matrix_out_of(y.data(), 9, dim), memory,
                                    nullptr);
  };
  const auto refused = [&](heed_fault fault, heed_argument argument, const char *what) {
    const floats before = cache.contents(), y_before = y;
    EXPECT_EQ(run(), HEED_STATUS(fault, argument)) << what;
    EXPECT_TRUE(same_bits(before, cache.contents())) << what;
    EXPECT_TRUE(same_bits(y_before, y)) << what;
  };
  EXPECT_EQ(heed_ragged_batch_init(nullptr, 3, rows), HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_BATCH));
  EXPECT_EQ(heed_ragged_batch_init(misaligned(&batch), 3, rows), HEED_STATUS(HEED_MISALIGNED, HEED_ARG_BATCH));
  const auto make = [&](int32_t n, const int32_t *lengths) {
    EXPECT_EQ(heed_ragged_batch_init(&batch, n, lengths), HEED_OK);
  };
  l.batch = &batch, l.cache = &cache.cache;
  batch = {};
  refused(HEED_NOT_INITIALIZED, HEED_ARG_BATCH, "zeros");
  make(3, rows), ++batch.struct_size;
  refused(HEED_BAD_STRUCT_SIZE, HEED_ARG_BATCH, "size");
  l.batch = misaligned(&batch);
  refused(HEED_MISALIGNED, HEED_ARG_BATCH, "misaligned");
  l.batch = &batch;
  for (const int32_t wrong : {0, -1, HEED_MAX_COUNT + 1}) {
    make(wrong, rows);
    refused(HEED_OUT_OF_RANGE, HEED_ARG_N_SEQUENCES, "none");
  }
  make(3, nullptr), refused(HEED_NULL_POINTER, HEED_ARG_LENGTHS, "null");
  make(3, misaligned(rows)), refused(HEED_MISALIGNED, HEED_ARG_LENGTHS, "misaligned");
  make(3, rows), rows[1] = -1, refused(HEED_OUT_OF_RANGE, HEED_ARG_LENGTHS, "negative");
  rows[1] = HEED_MAX_COUNT + 1, refused(HEED_OUT_OF_RANGE, HEED_ARG_LENGTHS, "too long");
  rows[1] = 1, refused(HEED_SHAPE_MISMATCH, HEED_ARG_LENGTHS, "ten rows of nine");
  rows[1] = 0, rows[0] = 3, refused(HEED_SHAPE_MISMATCH, HEED_ARG_LENGTHS, "eight rows of nine");
  rows[0] = 4, make(2, rows), refused(HEED_SHAPE_MISMATCH, HEED_ARG_LENGTHS, "a sequence less");
  make(3, rows), l.cache = &other.cache;
  refused(HEED_SHAPE_MISMATCH, HEED_ARG_N_SEQUENCES, "a cache of two");
  l.cache = &cache.cache, l.batch = nullptr;
  refused(HEED_SHAPE_MISMATCH, HEED_ARG_N_SEQUENCES, "a cache of three without a batch");
  l.batch = &batch;
  make(3, reinterpret_cast<const int32_t *>(y.data()));
  std::memcpy(y.data(), rows, sizeof rows);
  refused(HEED_OVERLAP, HEED_ARG_Y, "y lies in the lengths");
  make(3, rows), y.assign(y.size(), 7.0f);
  x[8 * dim] = not_a_number;  // the last row, of the last sequence
  EXPECT_EQ(run(), HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_K));
  EXPECT_EQ(y, floats(y.size(), 7.0f));
  for (int32_t i = 0; i < 3; ++i) EXPECT_EQ(heed_cache_length(&cache.cache, i), 0) << i;
  x[8 * dim] = 1, rows[0] = 2, rows[1] = 3, rows[2] = 4;
  EXPECT_EQ(run(), HEED_OK);
  y = floats(y.size(), 7.0f);
  refused(HEED_FULL, HEED_ARG_CACHE, "the last sequence has room for two");
  rows[0] = 4, rows[1] = 3, rows[2] = 2;
  EXPECT_EQ(run(), HEED_OK);
}

}  // namespace
}  // namespace heed_test
