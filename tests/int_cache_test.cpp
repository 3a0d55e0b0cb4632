// Caches of integers: random lives, in which every call has the bits of a plain call on the tokens that were appended;
// snapshots; what floats become. SPDX-License-Identifier: MIT
#include "support/aged.hpp"
#include "support/executors.hpp"
#include "support/integers.hpp"

#include <cmath>
#include <limits>

namespace heed_test {
namespace {

// All tokens that a sequence has had, token-major.
struct history {
  std::vector<int8_t> k, v;
  int32_t oldest = 0;      // that a ring still has
  int64_t taken_back = 0;  // positions less places in these lists
};

// A cache, and what it should hold.
class int_cache_life {
 public:
  explicit int_cache_life(uint64_t seed) : random_(seed) {
    int_limits limits;
    limits.n_q = 12;
    draw(random_, p_, limits);
    shape_ = heed_int_cache_shape_default(random_.size(1, random_.chance(30) ? 900 : 90), p_.call.n_kv_heads,
                                          p_.call.head_dim);
    shape_.v_dim = p_.call.v_dim;
    shape_.n_sequences = p_.call.batch_size;
    shape_.k_zero = p_.call.k.zero_point;
    shape_.v_zero = p_.call.v.zero_point;
    if (random_.chance(60)) shape_.kind = HEED_CACHE_RING, shape_.spare = random_.between(0, 40);
    memory_ = aligned_bytes(bytes());
    EXPECT_EQ(heed_int_cache_init(&cache_, &shape_, memory_.get()), HEED_OK);
    past_.resize(size_t(shape_.n_sequences));
  }
  void live(int32_t n_steps) {
    for (int32_t i = 0; i < n_steps && !::testing::Test::HasFailure(); ++i) {
      const int32_t what = random_.between(0, 99), sequence = random_.between(0, shape_.n_sequences - 1);
      if (what < 45)
        append(sequence);
      else if (what < 55)
        take_back(sequence);
      else if (what < 60)
        move();
      else if (what < 64)
        grow_old(sequence);
      else
        attend();
    }
    EXPECT_TRUE(memory_.is_whole());
  }
  int32_t n_renumbered = 0;
  int32_t n_wrapped = 0;  // calls that saw keys on both sides of a wrap in the midst of a block

 private:
  bool ring() const { return shape_.kind == HEED_CACHE_RING; }
  int32_t slots() const { return (shape_.capacity + shape_.spare + 31) / 32 * 32; }
  int32_t length(int32_t sequence) const {
    return static_cast<int32_t>(heed_int_cache_length(&cache_, sequence) - past_[size_t(sequence)].taken_back);
  }
  size_t bytes() const {
    const size_t of_macro = ring() ? HEED_INT_RING_BYTES(shape_.capacity, shape_.spare, shape_.n_sequences,
                                                         shape_.n_kv_heads, shape_.head_dim, shape_.v_dim)
                                   : HEED_INT_CACHE_BYTES(shape_.capacity, shape_.n_sequences, shape_.n_kv_heads,
                                                          shape_.head_dim, shape_.v_dim);
    EXPECT_EQ(heed_int_cache_bytes(&shape_), of_macro);
    return of_macro;
  }

  void append(int32_t sequence) {
    const int32_t room = ring() ? shape_.capacity + shape_.spare : shape_.capacity - length(sequence);
    if (room < 1) return;
    const int32_t n = random_.size(1, room), heads = shape_.n_kv_heads;
    std::vector<int8_t> k, v;
    fill_bytes(random_, k, size_t(n * heads * shape_.head_dim));
    fill_bytes(random_, v, size_t(n * heads * shape_.v_dim));
    history &past = past_[size_t(sequence)];
    past.k.insert(past.k.end(), k.begin(), k.end());
    past.v.insert(past.v.end(), v.begin(), v.end());
    if (ring()) past.oldest = std::max(past.oldest, length(sequence) + n - slots());
    if (random_.chance(70)) {
      ASSERT_EQ(heed_int_cache_append(&cache_, sequence,
                                      heed_int_token_major(k.data(), n, heads, shape_.head_dim, shape_.k_zero),
                                      heed_int_token_major(v.data(), n, heads, shape_.v_dim, shape_.v_zero), n),
                HEED_OK);
      return;
    }
    std::vector<float> scales, floats_k, floats_v;
    for (int32_t h = 0; h < 2 * heads; ++h)
      scales.push_back(std::ldexp(1 + 0.5f * random_.uniform(), random_.between(-60, 60)));
    const float *k_scales = scales.data(), *v_scales = k_scales + heads;
    for (size_t i = 0; i < k.size(); ++i)
      floats_k.push_back(float(k[i] - shape_.k_zero) * k_scales[int32_t(i) / shape_.head_dim % heads]);
    for (size_t i = 0; i < v.size(); ++i)
      floats_v.push_back(float(v[i] - shape_.v_zero) * v_scales[int32_t(i) / shape_.v_dim % heads]);
    ASSERT_EQ(
        heed_int_cache_append_f32(&cache_, sequence, heed_token_major(floats_k.data(), n, heads, shape_.head_dim),
                                  heed_token_major(floats_v.data(), n, heads, shape_.v_dim), n, k_scales, v_scales),
        HEED_OK);
  }

  // Are keys gone that a query at that position sees? What spare promises is never gone.
  bool misses(const history &past, int32_t n, int32_t position, int32_t left_window) const {
    const int32_t own = ring() ? shape_.capacity - 1 : n + 3, left = left_window < 0 ? own : std::min(own, left_window);
    const int32_t first = std::max(0, position - left);
    const bool gone = past.oldest > first && n > first;
    return gone;
  }

  void take_back(int32_t sequence) {
    history &past = past_[size_t(sequence)];
    const int32_t now = length(sequence), n = random_.size(0, now);
    const bool lost = past.taken_back > 0 && now - n > 0 && now - n < past.oldest;
    const bool gone = misses(past, now - n, now - n, -1) || lost;
    ASSERT_EQ(heed_int_cache_truncate(&cache_, sequence, now - n > 0 ? now - n + past.taken_back : 0),
              gone ? HEED_STATUS(HEED_EVICTED, HEED_ARG_LENGTH) : HEED_OK);
    if (gone) return;
    if (now == n) past.taken_back = 0;
    past.oldest = std::min(past.oldest, now - n);
    past.k.resize(size_t((now - n) * shape_.n_kv_heads * shape_.head_dim));
    past.v.resize(size_t((now - n) * shape_.n_kv_heads * shape_.v_dim));
  }

  // Months pass, until the ring numbers its keys anew: tokens that are gone stand for the difference.
  void grow_old(int32_t sequence) {
    history &past = past_[size_t(sequence)];
    if (past.oldest == 0) return;
    const int32_t period = period_of(slots(), 256), half = HEED_MAX_COUNT / 2,
                  more = age(memory_.get().data, behind_int_header, sequence, period, half + random_.between(-5, half));
    past.taken_back += more;
    for (int32_t i = 0; heed_int_cache_longest(&cache_) > half / 2 && i < 2 * period; ++i) append(sequence);
    const int32_t now = numbers_in(memory_.get().data, behind_int_header, sequence).length, by = now - length(sequence);
    ++n_renumbered;
    EXPECT_LT(now, half / 2);
    EXPECT_EQ(by % period, 0);
    shift(by, shape_.n_kv_heads * shape_.head_dim, &past.k);
    shift(by, shape_.n_kv_heads * shape_.v_dim, &past.v);
    past.oldest += by;
    past.taken_back -= by;
  }
  static void shift(int32_t by, int32_t row, std::vector<int8_t> *all) {
    if (by > 0) all->insert(all->begin(), size_t(by) * size_t(row), 0);
    if (by < 0) all->erase(all->begin(), all->begin() + ptrdiff_t(-by) * row);
  }

  // To another memory.
  void move() {
    ASSERT_EQ(heed_int_cache_save(&cache_), HEED_OK);
    aligned_bytes other(bytes());
    std::memcpy(other.get().data, memory_.get().data, bytes());
    std::memset(memory_.get().data, 0x77, bytes());
    std::swap(memory_, other);
    cache_ = {};
    ASSERT_EQ(heed_int_cache_load(&cache_, &shape_, memory_.get()), HEED_OK);
  }

  void attend() {
    if (heed_int_cache_longest(&cache_) < 1) return;
    heed_int_attention call = p_.call;
    const heed_int_attention of_cache = heed_int_attention_of_cache(&cache_, p_.q.data(), 1, call.n_heads, nullptr, {});
    EXPECT_EQ(of_cache.batch_size, call.batch_size);
    EXPECT_EQ(of_cache.k.zero_point, call.k.zero_point);
    call.k.data = call.v.data = nullptr;
    call.kv_lengths = nullptr;
    call.cache = &cache_;
    call.n_kv = of_cache.n_kv + random_.between(0, 3);
    call.causal = random_.between(0, 3) > 0;
    call.right_window = random_.chance(50) ? -1 : 2;
    call.n_q = random_.between(1, p_.call.n_q);
    call.position = random_.between(-2, 2);
    call.left_window = random_.chance(50) ? -1 : random_.between(0, 300);
    std::vector<uint8_t> mask;
    if (random_.chance(20)) {
      mask.resize(size_t(call.batch_size) * size_t(call.n_heads * call.n_q) * size_t(call.n_kv));
      for (uint8_t &each : mask) each = random_.chance(60);
      const ptrdiff_t row = call.n_kv;
      call.mask = {mask.data(), row * call.n_q * call.n_heads, row * call.n_q, row};
    } else {
      call.mask = {nullptr, 0, 0, 0};
    }
    thread_executor threads(3);
    if (random_.chance(20)) call.executor = threads.get();
    const std::vector<unsigned char> before = p_.out;
    const bool twice = random_.chance(20);
    if (twice) {
      partial_ = aligned_bytes(p_.n_rows() * HEED_INT_PARTIAL_ROW_BYTES(call.v_dim));
      call.partial = partial_.get();
      const int32_t n_rows = call.batch_size * call.n_heads * call.n_q;
      ASSERT_EQ(heed_int_partial_clear(n_rows, call.v_dim, call.partial), HEED_OK);
    }
    bool gone = false;
    for (int32_t b = 0; b < call.batch_size; ++b)
      gone = gone || misses(past_[size_t(b)], length(b), length(b) - call.n_q + call.position, call.left_window);
    ASSERT_EQ(heed_int_attention_run(&call), gone ? HEED_STATUS(HEED_EVICTED, HEED_ARG_N_Q) : HEED_OK);
    if (gone) return;
    if (twice) {
      ASSERT_EQ(heed_int_partial_finish(&call), HEED_OK);
    }
    const std::vector<unsigned char> found = p_.out;
    const std::vector<int32_t> lse = p_.lse;
    EXPECT_TRUE(p_.workspace.is_whole());
    p_.out = before;
    call.partial = {nullptr, 0};
    call.executor = nullptr;
    for (int32_t b = 0; b < call.batch_size; ++b) attend_plainly(call, b);
    EXPECT_EQ(found, p_.out) << "length " << length(0) << ", ring " << ring() << ", capacity " << shape_.capacity;
    EXPECT_EQ(lse, p_.lse);
  }

  // The same of one sequence, from its history, into the same places.
  void attend_plainly(heed_int_attention call, int32_t b) {
    const history &past = past_[size_t(b)];
    const int32_t n = length(b);
    call.cache = nullptr;
    call.batch_size = 1;
    call.n_kv = std::max(n, 1);
    call.kv_lengths = &n;
    call.position += n - call.n_q;
    const heed_int_tensor k = heed_int_token_major(past.k.data(), n, shape_.n_kv_heads, shape_.head_dim, shape_.k_zero),
                          v = heed_int_token_major(past.v.data(), n, shape_.n_kv_heads, shape_.v_dim, shape_.v_zero);
    const int8_t nothing = 0;
    call.k = k, call.v = v;
    if (n == 0) call.k.data = call.v.data = &nothing;
    if (ring() && (call.left_window < 0 || call.left_window >= shape_.capacity)) call.left_window = shape_.capacity - 1;
    if (ring() && n > slots() && slots() % 256) n_wrapped++;
    call.q.data += b * call.q.batch_stride;
    call.out.data =
        static_cast<char *>(call.out.data) + b * call.out.batch_stride * (call.out.dtype == HEED_INT16 ? 2 : 1);
    if (call.mask.data) call.mask.data += b * call.mask.batch_stride;
    if (call.lse) call.lse += b * call.n_heads * call.n_q;
    ASSERT_EQ(heed_int_attention_run(&call), HEED_OK);
  }

  random_source random_;
  int_problem p_;
  heed_int_cache_shape shape_;
  heed_int_cache cache_;
  aligned_bytes memory_, partial_;
  std::vector<history> past_;
};

class int_cache : public int_kernel_test {};

TEST_P(int_cache, has_the_bits_of_plain_calls) {
  int32_t n_wrapped = 0, n_renumbered = 0;
  for (int32_t i = 0; i < repetitions(120) && !HasFailure(); ++i) {
    int_cache_life life(static_cast<uint64_t>(i) + 310000);
    life.live(60);
    n_wrapped += life.n_wrapped;
    n_renumbered += life.n_renumbered;
    if (HasFailure()) ADD_FAILURE() << "life " << i;
  }
  EXPECT_GT(n_wrapped, 10);
  EXPECT_GT(n_renumbered, 1);
}

// Of a ring and of a linear cache: a prompt at once, in pieces, and token by token.
TEST_P(int_cache, a_prompt_is_its_tokens_one_after_another) {
  constexpr int32_t n = 600, heads = 4, kv_heads = 2, dim = 40;
  random_source random(320000);
  std::vector<int8_t> q, k, v, one(n * heads * dim), all(n * heads * dim);
  fill_bytes(random, q, size_t(n * heads * dim));
  fill_bytes(random, k, size_t(n * kv_heads * dim));
  fill_bytes(random, v, size_t(n * kv_heads * dim));
  aligned_bytes workspace(HEED_INT_WORKSPACE_BYTES(dim, dim));
  for (const bool ring : {false, true}) {
    heed_int_cache_shape shape = heed_int_cache_shape_default(ring ? 70 : n, kv_heads, dim);
    if (ring) shape.kind = HEED_CACHE_RING, shape.spare = 50;
    heed_int_attention plain =
        heed_int_attention_of(q.data(), k.data(), v.data(), n, n, heads, kv_heads, dim, all.data(), workspace.get());
    plain.causal = 1;
    plain.left_window = ring ? 69 : -1;
    plain.score = {0x50000000, -14};
    plain.value = {0x50000000, 2};
    ASSERT_EQ(heed_int_attention_run(&plain), HEED_OK);
    for (const int32_t step : {1, 7, 51, n}) {
      if (ring && step > 51) continue;
      aligned_bytes memory(heed_int_cache_bytes(&shape));
      heed_int_cache cache;
      ASSERT_EQ(heed_int_cache_init(&cache, &shape, memory.get()), HEED_OK);
      for (int32_t t = 0; t < n; t += step) {
        const int32_t m = std::min(step, n - t);
        ASSERT_EQ(
            heed_int_cache_append(&cache, 0, heed_int_token_major(&k[size_t(t * kv_heads * dim)], m, kv_heads, dim, 0),
                                  heed_int_token_major(&v[size_t(t * kv_heads * dim)], m, kv_heads, dim, 0), m),
            HEED_OK);
        heed_int_attention call = heed_int_attention_of_cache(&cache, &q[size_t(t * heads * dim)], m, heads,
                                                              &one[size_t(t * heads * dim)], workspace.get());
        call.score = plain.score;
        call.value = plain.value;
        ASSERT_EQ(heed_int_attention_run(&call), HEED_OK);
      }
      EXPECT_EQ(one, all) << (ring ? "ring, " : "linear, ") << step << " at a time";
    }
  }
}

HEED_TEST_EVERY_INT_KERNEL(int_cache);

// The bytes that a float becomes: rows of 16, one key and one value.
TEST(int_cache_floats, are_rounded_to_even_and_held) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float k[16] = {0.5f,    1.5f, -0.5f, -1.5f, 2.5f, 126.5f, 127.5f, -127.5f,
                       -128.5f, 300,  -300,  inf,   -inf, nan,    1e38f,  -0.0f};
  const int8_t k_wanted[16] = {0, 2, 0, -2, 2, 126, 127, -128, -128, 127, -128, 127, -128, 0, 127, 0};
  const int8_t v_wanted[16] = {3, 5, 3, 1, 5, 127, 127, -125, -125, 127, -128, 127, -128, 3, 127, 3};
  heed_int_cache_shape shape = heed_int_cache_shape_default(1, 1, 16);
  shape.v_zero = 3;
  alignas(64) unsigned char memory[HEED_INT_CACHE_BYTES(1, 1, 1, 16, 16)];
  for (const float scale : {1.0f, 0x1p-126f, 0x1p+100f}) {
    float x[16];
    for (int i = 0; i < 16; ++i) x[i] = k[i] * scale;
    if (scale < 1) x[14] = 1e38f;
    heed_int_cache cache;
    ASSERT_EQ(heed_int_cache_init(&cache, &shape, heed_memory_of(memory, sizeof memory)), HEED_OK);
    ASSERT_EQ(heed_int_cache_append_f32(&cache, 0, heed_token_major(x, 1, 1, 16), heed_token_major(x, 1, 1, 16), 1,
                                        &scale, &scale),
              HEED_OK);
    EXPECT_EQ(std::memcmp(memory + sizeof memory - 32, k_wanted, 16), 0) << scale;
    EXPECT_EQ(std::memcmp(memory + sizeof memory - 16, v_wanted, 16), 0) << scale;
  }
}

// What a cache of another byte order looks like; rows are bytes.
TEST(int_cache_snapshots, open_in_either_byte_order_and_refuse_damage) {
  heed_int_cache_shape shape = heed_int_cache_shape_default(5, 2, 3);
  shape.kind = HEED_CACHE_RING;
  shape.n_sequences = 2;
  constexpr size_t n_bytes = HEED_INT_RING_BYTES(5, 0, 2, 2, 3, 3);
  alignas(64) unsigned char memory[n_bytes], other[n_bytes];
  heed_int_cache cache, opened = {};
  ASSERT_EQ(heed_int_cache_init(&cache, &shape, heed_memory_of(memory, n_bytes)), HEED_OK);
  const int8_t rows[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  for (int i = 0; i < 40; ++i)
    ASSERT_EQ(heed_int_cache_append(&cache, 1, heed_int_token_major(rows, 2, 2, 3, 0),
                                    heed_int_token_major(rows, 2, 2, 3, 0), 2),
              HEED_OK);
  const heed_status damaged = HEED_STATUS(HEED_CORRUPT, HEED_ARG_MEMORY);
  std::memcpy(other, memory, n_bytes);
  EXPECT_EQ(heed_int_cache_load(&opened, &shape, heed_memory_of(other, n_bytes)), damaged) << "not saved";
  ASSERT_EQ(heed_int_cache_save(&cache), HEED_OK);
  for (size_t i = 0; i < n_bytes; ++i) {
    std::memcpy(other, memory, n_bytes);
    other[i] ^= static_cast<unsigned char>(1u << i % 8);
    EXPECT_EQ(heed_int_cache_load(&opened, &shape, heed_memory_of(other, n_bytes)), damaged) << "byte " << i;
  }
  std::memcpy(other, memory, n_bytes);
  shape.k_zero = 1;
  EXPECT_EQ(heed_int_cache_load(&opened, &shape, heed_memory_of(other, n_bytes)), damaged) << "another shape";
  shape.k_zero = 0;
  EXPECT_EQ(opened.struct_size, 0u);
  ASSERT_EQ(heed_int_cache_load(&opened, &shape, heed_memory_of(other, n_bytes)), HEED_OK);
  EXPECT_EQ(heed_int_cache_length(&opened, 1), 80);
  EXPECT_EQ(std::memcmp(memory, other, n_bytes), 0);
  // As the other machine would have saved it: words byte-swapped, and a checksum of those bytes.
  const auto turn = [&](size_t begin, size_t end, size_t size) {
    for (size_t i = begin; i < end; i += size) std::reverse(other + i, other + i + size);
  };
  turn(0, 56, 4);
  for (size_t sequence = 64; sequence < 64 + 32; sequence += 16)
    turn(sequence, sequence + 8, 4), turn(sequence + 8, sequence + 16, 8);
  uint32_t sum = ~0u;
  for (size_t i = 0; i < n_bytes; ++i) {
    if (i >= 52 && i < 56) continue;  // the checksum's own
    sum ^= other[i];
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
  }
  sum = __builtin_bswap32(~sum);
  std::memcpy(other + 52, &sum, 4);
  ASSERT_EQ(heed_int_cache_load(&opened, &shape, heed_memory_of(other, n_bytes)), HEED_OK);
  EXPECT_EQ(std::memcmp(memory, other, n_bytes), 0);
  ASSERT_EQ(heed_int_cache_truncate(&opened, 1, 79), HEED_OK);
  EXPECT_EQ(heed_int_cache_load(&cache, &shape, heed_memory_of(other, n_bytes)), damaged) << "the checksum is wrong";
}

}  // namespace
}  // namespace heed_test
