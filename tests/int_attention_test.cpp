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

// Of a study that came before this code: its rules in another language, and the digests of what they gave.
struct known {
  int32_t n, n_kv, dim, v_dim, causal;
  heed_multiplier score, value;
  int32_t format;
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
    call.out.format = a.format;
    call.out.zero_point = 1;
    call.score = a.score;
    call.value = a.value;
    call.causal = a.causal;
    call.position = a.n_kv - a.n;
    ASSERT_EQ(heed_int_attention_run(&call), HEED_OK);
    uint32_t digest = 2166136261u;
    for (size_t i = 0; i < n_out * (a.format == HEED_INT16 ? 2 : 1); ++i)
      digest = (digest ^ reinterpret_cast<const uint8_t *>(out.data())[i]) * 16777619u;
    EXPECT_EQ(digest, a.digest) << a.n << " rows, " << a.n_kv << " keys";
  }
}

HEED_TEST_EVERY_INT_KERNEL(int_attention);

}  // namespace
}  // namespace heed_test
