// Rings that have run for months. A ring numbers its keys anew before numbers end: no result changes a bit, positions go on,
// and what a ring promises of tokens that are taken back stays. SPDX-License-Identifier: MIT
#include "../lib/checks/cache_state.hpp"
#include "support/aged.hpp"
#include "support/cached_runs.hpp"
#include "support/data.hpp"
#include "support/features.hpp"

namespace heed_test {
namespace {

constexpr int32_t half = HEED_MAX_COUNT / 2;

// Two rings with the same tokens at the same positions: `old` has the numbers of a ring that never numbered its keys anew,
// `young` those of one that did.
class aged : public kernel_test {
 protected:
  struct ring {
    ring(slot where, const heed_cache_shape &s) : memory(where, s, false) {
      EXPECT_EQ(heed_cache_init(&cache, &s, memory.all()), HEED_OK);
    }
    cache_memory memory;
    heed_cache cache = {};
  };
  struct twins {
    explicit twins(const heed_cache_shape &s) : shape(s), old(slot_cache, s), young(slot_other_cache, s) {}
    // Of every sequence, once it has wrapped.
    void grow_old(random_source &r, const heed_rope *rope) {
      for (int32_t i = 0; i < shape.n_sequences; ++i) {
        while (numbers_in(old.memory.data(), behind_header, i).oldest <= (shape.pinned + 63) / 64 * 64)
          append(r, i, rope);
        const int32_t period = period_of(ring_slots_of(shape), 1024);
        if (i > 0) continue;  // one that is as it was
        more = age(old.memory.data(), behind_header, i, period, half - 1);
        key_numbers n = numbers_in(young.memory.data(), behind_header, i);
        n.taken_back += more;
        write_numbers(young.memory.data(), behind_header, i, n);
      }
    }
    void append(random_source &r, int32_t sequence, const heed_rope *rope) {
      const tokens t = random_tokens(r, shape, r.between(1, shape.spare + 1));
      EXPECT_EQ(status_name(heed_test::append(&old.cache, sequence, t, rope)), "HEED_OK");
      EXPECT_EQ(status_name(heed_test::append(&young.cache, sequence, t, rope)), "HEED_OK");
      EXPECT_EQ(heed_cache_length(&old.cache, sequence), heed_cache_length(&young.cache, sequence));
    }
    heed_cache_shape shape;
    ring old, young;
    int32_t more = 0;
  };
  static heed_cache_shape random_shape(random_source &r) {
    return cache_shape(HEED_CACHE_RING, r.size(1, 150), r.between(1, 2), 2 * r.size(1, 12), r.size(1, 24),
                       r.between(HEED_F32, HEED_INT8), r.chance(60) ? r.between(1, 80) : 0, r.size(0, 40),
                       r.between(1, 2));
  }
  static heed_rope random_rope(random_source &r) {
    heed_rope rope;
    EXPECT_EQ(heed_rope_init(&rope, r.chance(50) ? HEED_ROPE_HALVES : HEED_ROPE_INTERLEAVED), HEED_OK);
    return rope;
  }
  // What has no columns: those of the old ring are half a billion.
  static problem random_queries(random_source &r, const heed_cache_shape &s) {
    problem p = problem_over(s, cache_model(size_t(s.n_sequences), sequence_model(s)), r.between(1, 3),
                             r.between(1, s.spare + 1), 1);
    p.causal = r.chance(80);
    if (r.chance(60)) {
      p.options.ranges = true;
      p.options.left_window = r.chance(50) ? -1 : r.between(0, 100);
      p.options.right_window = r.chance(50) ? -1 : r.between(0, 3);
      p.options.pinned = r.chance(50) ? r.between(0, s.pinned) : 0;
    }
    if (r.chance(50))
      for (int32_t h = 0; h < p.n_heads; ++h)
        p.options.slopes.push_back(std::ldexp(1 + r.uniform(), r.between(-33, -1)));
    if (r.chance(30)) p.options.cap = 20;
    if (r.chance(30)) p.options.sinks = true;
    p.options.lse = r.chance(50);
    p.q = bell_floats(r, p.q_floats());
    return p;
  }
  static attention_result attend(const problem &p, const heed_cache &cache) {
    placed_call placed(p, {});
    placed.read(&cache);
    placed.call.n_kv = heed_cache_longest(&cache);
    return run(&placed, p, {});
  }
};

TEST_P(aged, numbers_change_no_bit) {
  for (int32_t i = 0; i < repetitions(60) && !HasFailure(); ++i) {
    random_source r(8800 + static_cast<uint64_t>(i));
    twins t(random_shape(r));
    const heed_rope rope = random_rope(r), *const turn = r.chance(60) ? &rope : nullptr;
    t.grow_old(r, turn);
    bool renumbered = false;
    for (int32_t n = 0; n < 400 && !renumbered && !HasFailure(); ++n) {
      if (n % 40 < 2) {
        const problem p = random_queries(r, t.shape);
        EXPECT_TRUE(same_results(attend(p, t.old.cache), attend(p, t.young.cache))) << p.text() << text_of(t.shape);
      }
      t.append(r, 0, turn);
      renumbered = heed_cache_longest(&t.old.cache) < half;
    }
    const problem p = random_queries(r, t.shape);
    EXPECT_TRUE(same_results(attend(p, t.old.cache), attend(p, t.young.cache))) << p.text() << text_of(t.shape);
    EXPECT_TRUE(renumbered);
  }
}

TEST_P(aged, layers_go_on) {
  constexpr int32_t dim = 16, heads = 2, head_dim = 8;
  for (int32_t i = 0; i < repetitions(20) && !HasFailure(); ++i) {
    random_source r(8900 + static_cast<uint64_t>(i));
    twins t(cache_shape(HEED_CACHE_RING, r.between(1, 90), heads, head_dim, head_dim, r.between(HEED_F32, HEED_INT8),
                        r.chance(50) ? r.between(1, 70) : 0, r.between(0, 9)));
    const heed_rope rope = random_rope(r);
    t.grow_old(r, &rope);
    const std::vector<float> weights = bell_floats(r, size_t(dim) * dim);
    heed_attention_layer layer = heed_attention_layer_default(dim, heads);
    layer.wq = layer.wk = layer.wv = layer.wo =
        heed_weights_of(weights.data(), nullptr, HEED_F32, HEED_IN_OUT, dim, dim);
    layer.causal = 1, layer.rope = &rope;
    std::vector<unsigned char> memory(HEED_ATTENTION_LAYER_BYTES(64, heads, heads, head_dim, head_dim) + 64);
    const heed_memory room =
        heed_memory_of(memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64), memory.size() - 64);
    int64_t position = heed_cache_length(&t.young.cache, 0);
    bool renumbered = false;
    for (int32_t n = 0; n < 600 && !renumbered && !HasFailure(); ++n) {
      const int32_t rows = r.between(1, 20);
      const std::vector<float> x = bell_floats(r, size_t(rows) * dim);
      std::vector<float> y[2] = {std::vector<float>(x.size()), std::vector<float>(x.size())};
      for (const int k : {0, 1}) {
        layer.cache = k == 0 ? &t.old.cache : &t.young.cache;
        EXPECT_EQ(status_name(heed_attention_layer_run(&layer, heed_matrix_of(x.data(), rows, dim),
                                                       heed_matrix_out_of(y[k].data(), rows, dim), room, nullptr)),
                  "HEED_OK");
        EXPECT_EQ(heed_cache_length(layer.cache, 0), position + rows);
      }
      EXPECT_TRUE(same_bits(y[0], y[1])) << text_of(t.shape);
      position += rows;
      renumbered = heed_cache_longest(&t.old.cache) < half;
    }
    EXPECT_TRUE(renumbered);
  }
}

// Columns of a mask are those before the call, so a layer that has one numbers nothing anew.
TEST(aged_layers, with_a_mask_end) {
  constexpr int32_t dim = 4;
  const heed_cache_shape s = cache_shape(HEED_CACHE_RING, 60, 1, dim, dim, HEED_F32, 0, 4);
  const cache_memory memory(slot_cache, s, false);
  heed_cache cache;
  ASSERT_EQ(heed_cache_init(&cache, &s, memory.all()), HEED_OK);
  random_source r(9050);
  for (int32_t n = 0; n < 100; ++n) ASSERT_EQ(append(&cache, 0, random_tokens(r, s, 1)), HEED_OK);
  write_numbers(memory.data(), behind_header, 0, {HEED_MAX_COUNT - 1, HEED_MAX_COUNT - 65, 0});
  const std::vector<float> weights = bell_floats(r, size_t(dim) * dim), x = bell_floats(r, 2 * dim);
  const std::vector<uint8_t> columns(64, 1);
  heed_mask mask;
  ASSERT_EQ(heed_mask_init_boolean(&mask, columns.data(), HEED_MAX_COUNT, 0, 0, 0), HEED_OK);
  heed_options options = heed_options_default();
  options.mask = &mask;
  heed_attention_layer layer = heed_attention_layer_default(dim, 1);
  layer.wq = layer.wk = layer.wv = layer.wo = heed_weights_of(weights.data(), nullptr, HEED_F32, HEED_IN_OUT, dim, dim);
  layer.causal = 1, layer.cache = &cache, layer.options = &options;
  alignas(64) static unsigned char room[HEED_ATTENTION_LAYER_BYTES(2, 1, 1, dim, dim)];
  std::vector<float> y(x.size());
  const auto run = [&] {
    return heed_attention_layer_run(&layer, heed_matrix_of(x.data(), 2, dim), heed_matrix_out_of(y.data(), 2, dim),
                                    heed_memory_of(room, sizeof room), nullptr);
  };
  EXPECT_EQ(status_name(run()), status_name(HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_POSITION)));
  layer.options = nullptr;
  EXPECT_EQ(status_name(run()), "HEED_OK");
  EXPECT_EQ(heed_cache_length(&cache, 0), HEED_MAX_COUNT + 1ll);
  EXPECT_LT(heed_cache_longest(&cache), half);
}

HEED_TEST_EVERY_KERNEL(aged);

// Over all rings that cache.h names, and larger ones: what is taken is a whole number of rings and of chunks, and leaves the
// oldest key behind the pinned ones, with a gap.
TEST(aged_numbers, are_taken_back_in_time) {
  random_source r(9000);
  for (int32_t i = 0; i < repetitions(200000); ++i) {
    const bool named = r.chance(70);
    const int32_t most_slots = named ? 1 << 24 : 1 << 29, most_pinned = named ? 1 << 27 : half,
                  aligned = r.chance(50) ? 1024 : 256, slots = (r.size(1, most_slots) + 63) / 64 * 64,
                  pinned = (r.size(0, most_pinned) + 63) / 64 * 64;
    const int32_t length = r.between(half + 1, HEED_MAX_COUNT), oldest = length - std::min(length, r.between(0, slots));
    heed::cache_state state = {length, oldest, 5};
    const heed::ring_shape ring = {slots, pinned, aligned};
    state.oldest = std::max(state.oldest, length - slots);
    heed::renumber(state, ring);
    const int32_t taken = length - state.length;
    EXPECT_EQ(state.taken_back, 5 + taken);
    EXPECT_EQ(taken % slots, 0);
    EXPECT_EQ(taken % aligned, 0);
    EXPECT_TRUE(taken == 0 || state.oldest > pinned);
    EXPECT_TRUE(!named || state.length <= half) << slots << " " << pinned;
    if (HasFailure()) return;
  }
  heed::cache_state young = {half, half - 64, 0};
  heed::renumber(young, {64, 0, 1024});
  EXPECT_EQ(young.length, half) << "not before";
}

// cache.h: what may be taken back counts from the greatest length, however often.
TEST(aged_spare, counts_from_the_greatest_length) {
  for (const int32_t spare : {0, 2, 13})
    for (const int32_t years : {0, 1}) {
      const heed_cache_shape s = cache_shape(HEED_CACHE_RING, 64 - spare, 1, 2, 2, HEED_F32, 0, spare);
      const cache_memory memory(slot_cache, s, false);
      heed_cache cache;
      ASSERT_EQ(heed_cache_init(&cache, &s, memory.all()), HEED_OK);
      random_source r(9100);
      const auto append_one = [&] { ASSERT_EQ(append(&cache, 0, random_tokens(r, s, 1)), HEED_OK); };
      for (int32_t n = 0; n < 200; ++n) append_one();
      if (years > 0) age(memory.data(), behind_header, 0, 1024, half + 1024), append_one();
      const int64_t greatest = heed_cache_length(&cache, 0);
      EXPECT_EQ(heed_cache_truncate(&cache, 0, greatest - spare - 2), HEED_STATUS(HEED_EVICTED, HEED_ARG_LENGTH));
      for (int32_t again = 0; again < 3; ++again) {
        ASSERT_EQ(heed_cache_truncate(&cache, 0, greatest - spare - 1), HEED_OK);
        EXPECT_EQ(heed_cache_truncate(&cache, 0, greatest - spare - 2), HEED_STATUS(HEED_EVICTED, HEED_ARG_LENGTH));
        if (again == 0) append_one();
      }
      for (int64_t length = heed_cache_length(&cache, 0); length < greatest; ++length) append_one();
      ASSERT_EQ(heed_cache_truncate(&cache, 0, greatest - spare - 1), HEED_OK) << "not beyond the greatest length";
      ASSERT_EQ(heed_cache_truncate(&cache, 0, 0), HEED_OK) << "all";
      EXPECT_EQ(heed_cache_length(&cache, 0), 0);
    }
}

}  // namespace
}  // namespace heed_test
