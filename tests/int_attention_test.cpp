// Attention in integers: the bits of the reference on every kernel. SPDX-License-Identifier: MIT
#include "support/integers.hpp"

#include "support/executors.hpp"

namespace heed_test {
namespace {

class int_attention : public int_kernel_test {};

TEST_P(int_attention, has_the_bits_of_the_reference) {
  for (int32_t i = 0; i < repetitions(400) && !HasFailure(); ++i) {
    random_source random(static_cast<uint64_t>(i));
    int_problem p;
    draw(random, p);
    const int_result wanted = expect(p.call, p.out);
    ASSERT_EQ(heed_int_attention_run(&p.call), HEED_OK) << i;
    expect_same(p, wanted, "case " + std::to_string(i));
    EXPECT_TRUE(p.workspace.is_whole());
  }
}

// Scores so flat that a key which is hidden by a score alone would still have a weight; one key more than a block.
TEST_P(int_attention, hidden_keys_have_no_weight) {
  for (int32_t i = 0; i < 40 && !HasFailure(); ++i) {
    random_source random(static_cast<uint64_t>(i) + 7000);
    int_problem p;
    draw(random, p);
    p.call.score.e = -31;
    p.call.scores = nullptr;
    p.call.left_window = random.between(0, 9);
    if (!p.call.kv_lengths && p.call.n_kv > 257) p.call.n_kv = random.between(255, 257);
    const int_result wanted = expect(p.call, p.out);
    ASSERT_EQ(heed_int_attention_run(&p.call), HEED_OK);
    expect_same(p, wanted, "case " + std::to_string(i));
    EXPECT_TRUE(p.workspace.is_whole());
  }
}

// Any workspace, any executor, heads apart or together.
TEST_P(int_attention, is_the_same_in_any_memory_and_on_any_threads) {
  for (int32_t i = 0; i < repetitions(60) && !HasFailure(); ++i) {
    random_source random(static_cast<uint64_t>(i) + 5000);
    int_problem p;
    int_limits limits;
    if (i % 2) limits.n_q = 3, limits.n_kv = 3000;
    draw(random, p, limits);
    const std::vector<unsigned char> before = p.out;
    ASSERT_EQ(heed_int_attention_run(&p.call), HEED_OK);
    const std::vector<unsigned char> wanted = p.out;
    const std::vector<int32_t> lse = p.lse;
    const size_t least = HEED_INT_WORKSPACE_MIN_BYTES(p.call.head_dim, p.call.v_dim),
                 most = HEED_INT_WORKSPACE_BYTES(p.call.head_dim, p.call.v_dim);
    thread_executor threads(3);
    reverse_executor reverse(4);
    const heed_executor *executors[] = {nullptr, threads.get(), reverse.get()};
    for (int32_t j = 0; j < 9; ++j) {
      const size_t room = least + random.below(static_cast<uint32_t>((j % 3 + 1) * most));
      p.workspace = aligned_bytes(room);
      p.call.workspace = p.workspace.get();
      p.call.executor = executors[random.below(3)];
      std::copy(before.begin(), before.end(), p.out.begin());
      ASSERT_EQ(heed_int_attention_run(&p.call), HEED_OK);
      EXPECT_EQ(p.out, wanted) << i << ", workspace " << room;
      EXPECT_EQ(p.lse, lse) << i;
      EXPECT_TRUE(p.workspace.is_whole());
    }
  }
}

// A plain call in memory of its own.
struct plain_call {
  plain_call(int32_t n_q, int32_t n_kv, int32_t heads, int32_t dim, size_t room)
      : q(size_t(n_q * heads * dim)),
        k(size_t(n_kv) * size_t(heads * dim)),
        v(k.size()),
        out(q.size()),
        workspace(room) {
    random_source r(5500);
    for (std::vector<int8_t> *numbers : {&q, &k, &v})
      for (int8_t &x : *numbers) x = static_cast<int8_t>(r.next());
    call =
        heed_int_attention_of(q.data(), k.data(), v.data(), n_q, n_kv, heads, heads, dim, out.data(), workspace.get());
    call.score = {0x50000000, -12}, call.value = {0x50000000, 2}, call.position = n_kv - 1;
  }
  std::vector<int8_t> q, k, v, out;
  aligned_bytes workspace;
  heed_int_attention call;
};

// Few rows of many keys: threads share the keys, where there is memory for that. More rows are shared themselves.
TEST_P(int_attention, one_query_is_the_same_on_any_threads) {
  constexpr int32_t dim = 64, n_kv = 5000;
  const size_t least = HEED_INT_WORKSPACE_MIN_BYTES(dim, dim);
  thread_executor threads(3);
  for (const int32_t heads : {2, 8})
    for (const int32_t left_window : {-1, 100})
      for (const bool is_partial : {false, true}) {
        std::vector<int8_t> wanted;
        for (const size_t room : {least, least + 64, 2 * least + 128, 3 * least + 192, 4 * least + 40000})
          for (const heed_executor *executor : {static_cast<const heed_executor *>(nullptr), threads.get()}) {
            plain_call c(1, n_kv, heads, dim, room);
            c.call.left_window = left_window, c.call.executor = executor;
            std::vector<int64_t> states(size_t(heads) * HEED_INT_PARTIAL_ROW_BYTES(dim) / 8);
            if (is_partial) c.call.partial = {states.data(), states.size() * 8};
            if (is_partial) {
              ASSERT_EQ(heed_int_partial_clear(heads, dim, c.call.partial), HEED_OK);
            }
            ASSERT_EQ(heed_int_attention_run(&c.call), HEED_OK);
            if (is_partial) {
              ASSERT_EQ(heed_int_partial_finish(&c.call), HEED_OK);
            }
            if (wanted.empty()) wanted = c.out;
            EXPECT_EQ(c.out, wanted) << room << " bytes, " << heads << " heads, window " << left_window;
            EXPECT_TRUE(c.workspace.is_whole());
          }
      }
}

// Heads of two and four registers, one row and some; more memory than all rows of a call need; a call too small to share.
TEST_P(int_attention, of_wide_heads_has_the_bits_of_plain_loops) {
  thread_executor threads(2);
  for (const int32_t dim : {1, 64, 128, 160, 256})
    for (const int32_t n_q : {1, 2, 5})
      for (const int32_t n_kv : {1, 255, 300}) {
        plain_call c(n_q, n_kv, 1, dim, dim == 1 ? size_t{1} << 23 : HEED_INT_WORKSPACE_BYTES(dim, dim));
        c.call.executor = threads.get();
        ASSERT_EQ(heed_int_attention_run(&c.call), HEED_OK);
        const std::vector<int8_t> found = c.out;
        ASSERT_EQ(heed_int_isa_use("plain"), HEED_OK);
        ASSERT_EQ(heed_int_attention_run(&c.call), HEED_OK);
        ASSERT_EQ(heed_int_isa_use(GetParam().c_str()), HEED_OK);
        EXPECT_EQ(c.out, found) << dim << " numbers, " << n_q << " queries, " << n_kv << " keys";
      }
}

// Tiles of one query whose keys threads would share, if it saw any; many queries of few keys.
TEST_P(int_attention, of_no_keys_and_of_few_is_the_same_on_threads) {
  constexpr int32_t dim = 64;
  thread_executor threads(3);
  const auto compare = [&](plain_call &c) {
    ASSERT_EQ(heed_int_attention_run(&c.call), HEED_OK);
    const std::vector<int8_t> alone = c.out;
    c.call.executor = threads.get();
    ASSERT_EQ(heed_int_attention_run(&c.call), HEED_OK);
    EXPECT_EQ(c.out, alone);
    EXPECT_TRUE(c.workspace.is_whole());
  };
  const size_t least = HEED_INT_WORKSPACE_MIN_BYTES(dim, dim);
  plain_call none(1, 5000, 2, dim, 4 * least + 256);
  const int32_t no_keys = 0;
  none.call.kv_lengths = &no_keys;
  compare(none);
  EXPECT_EQ(none.out, std::vector<int8_t>(none.out.size(), static_cast<int8_t>(none.call.out.zero_point)));
  plain_call few(700, 3, 8, dim, 4 * least + 256);
  compare(few);
}

// Scores beyond what a log-sum-exp can state, on both sides.
TEST_P(int_attention, the_log_of_the_sum_is_held) {
  constexpr int32_t dim = 160;
  int8_t q[dim], k[dim], v[dim] = {}, out[dim];
  for (const int8_t sign : {int8_t{127}, int8_t{-127}}) {
    for (int32_t i = 0; i < dim; ++i) q[i] = sign, k[i] = 127;
    aligned_bytes workspace(HEED_INT_WORKSPACE_MIN_BYTES(dim, dim));
    heed_int_attention call = heed_int_attention_of(q, k, v, 1, 1, 1, 1, dim, out, workspace.get());
    int32_t lse = 0;
    call.score = {0x7fffffff, 0}, call.value = {0x50000000, 2}, call.lse = &lse;
    ASSERT_EQ(heed_int_attention_run(&call), HEED_OK);
    EXPECT_EQ(lse, sign > 0 ? INT32_MAX : INT32_MIN + 1);
  }
}

TEST_P(int_attention, a_prompt_is_its_tokens_one_after_another) {
  for (int32_t i = 0; i < repetitions(40) && !HasFailure(); ++i) {
    random_source random(static_cast<uint64_t>(i) + 9000);
    int_problem p;
    draw(random, p);
    p.call.causal = 1;
    p.call.position = p.call.n_kv > p.call.n_q ? p.call.n_kv - p.call.n_q : 0;
    ASSERT_EQ(heed_int_attention_run(&p.call), HEED_OK);
    const std::vector<unsigned char> wanted = p.out;
    std::fill(p.out.begin(), p.out.end(), static_cast<unsigned char>(0x5b));
    heed_int_attention one = p.call;
    one.n_q = 1;
    one.lse = nullptr;
    for (int32_t t = 0; t < p.call.n_q; ++t) {
      one.position = p.call.position + t;
      if (!one.kv_lengths) one.n_kv = std::min(one.position + 1, p.call.n_kv);
      one.q.data = p.call.q.data + t * p.call.q.row_stride;
      one.out.data = p.out.data() + t * p.call.out.row_stride * (p.call.out.dtype == HEED_INT16 ? 2 : 1);
      if (p.call.scores) one.scores = p.call.scores + t * p.call.scores_row_stride;
      if (p.call.mask.data) one.mask.data = p.call.mask.data + t * p.call.mask.query_stride;
      ASSERT_EQ(heed_int_attention_run(&one), HEED_OK);
    }
    EXPECT_EQ(p.out, wanted) << i;
  }
}

// Of a study that came before this code: its rules in another language, and the digests of what they gave.
struct known {
  int32_t n, n_kv, dim, v_dim, causal;
  heed_multiplier score, value;
  int32_t dtype;
  uint32_t digest;
};
constexpr known known_answers[] = {
    {5, 7, 16, 16, 0, {1759218604, -13}, {1610612736, 2}, HEED_INT8, 75254208u},
    {9, 300, 64, 64, 0, {1319413953, -11}, {2097152000, 9}, HEED_INT16, 583524057u},
    {33, 33, 64, 64, 1, {1759218604, -12}, {1610612736, 2}, HEED_INT8, 1403318382u},
    {4, 1100, 32, 48, 1, {1099511628, -10}, {2097152000, 9}, HEED_INT16, 3680276706u},
    {98, 98, 64, 64, 0, {1935140465, -12}, {1610612736, 2}, HEED_INT8, 3036085291u},
    {3, 2000, 64, 64, 0, {1099511628, -7}, {2097152000, 9}, HEED_INT16, 2979724962u},
    {2, 600, 8, 8, 0, {1125899907, -19}, {2097152000, 9}, HEED_INT16, 3163540091u},
    {3, 520, 16, 16, 0, {1374389535, -5}, {2097152000, 9}, HEED_INT16, 2941294419u},
};

TEST_P(int_attention, has_the_bits_of_the_study) {
  for (const known &a : known_answers) {
    const size_t n_q = static_cast<size_t>(a.n * a.dim), n_k = static_cast<size_t>(a.n_kv * a.dim),
                 n_v = static_cast<size_t>(a.n_kv * a.v_dim), n_out = static_cast<size_t>(a.n * a.v_dim);
    std::vector<int8_t> x(n_q + n_k + n_v);
    uint32_t state = static_cast<uint32_t>(a.n * 1000 + a.n_kv);
    for (int8_t &each : x) {
      state = state * 1664525u + 1013904223u;
      each = static_cast<int8_t>(static_cast<int32_t>(state >> 24) - 128);
    }
    std::vector<int16_t> out(n_out);
    aligned_bytes workspace(HEED_INT_WORKSPACE_BYTES(a.dim, a.v_dim));
    heed_int_attention call = heed_int_attention_of(x.data(), x.data() + n_q, x.data() + n_q + n_k, a.n, a.n_kv, 1, 1,
                                                    a.dim, reinterpret_cast<int8_t *>(out.data()), workspace.get());
    call.v_dim = a.v_dim;
    call.v.row_stride = call.out.row_stride = a.v_dim;
    call.out.dtype = a.dtype;
    call.out.zero_point = 1;
    call.score = a.score;
    call.value = a.value;
    call.causal = a.causal;
    call.position = a.n_kv - a.n;
    ASSERT_EQ(heed_int_attention_run(&call), HEED_OK);
    uint32_t digest = 2166136261u;
    for (size_t i = 0; i < n_out * (a.dtype == HEED_INT16 ? 2 : 1); ++i)
      digest = (digest ^ reinterpret_cast<const uint8_t *>(out.data())[i]) * 16777619u;
    EXPECT_EQ(digest, a.digest) << a.n << " rows, " << a.n_kv << " keys";
  }
}

HEED_TEST_EVERY_INT_KERNEL(int_attention);

}  // namespace
}  // namespace heed_test
