// A query row's result depends on that row and on what it sees, alone: prefill, decode, batches, heads, cut prompts.
// SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class rows : public kernel_test {
 protected:
  // The result of query i of (b, h), as in p's full result.
  static std::vector<float> row_of(const problem &p, const std::vector<float> &out, int32_t b, int32_t h, int32_t i) {
    return part_of(out, ((size_t(b) * p.n_heads + h) * p.n_q + i) * p.v_dim, size_t(p.v_dim));
  }

  // Query i of (b, h) alone, over exactly the keys it sees, without a mask.
  static problem single_query(const problem &p, int32_t b, int32_t h, int32_t i) {
    problem one;
    one.n_kv = p.n_visible(i), one.head_dim = p.head_dim, one.v_dim = p.v_dim, one.scale = p.scale, one.data = p.data;
    one.q.assign(p.q_row(b, h, i), p.q_row(b, h, i) + p.head_dim);
    one.k.assign(p.k_row(b, h, 0), p.k_row(b, h, 0) + one.k_floats());
    one.v.assign(p.v_row(b, h, 0), p.v_row(b, h, 0) + one.v_floats());
    return one;
  }

  static problem random_problem(uint64_t seed, int64_t most_work) {
    random_source r(seed);
    problem p = random_shape(r, families()[r.next() % families().size()]);
    limit_work(most_work, &p);
    fill_random(r, &p);
    return p;
  }
};

TEST_P(rows, prefill_equals_single_queries) {
  for (int32_t n = 0; n < repetitions(300) && !HasFailure(); ++n) {
    const problem p = random_problem(60000 + static_cast<uint64_t>(n), 400000);
    const std::vector<float> all = run(p).out;
    const int32_t step = p.n_q > 12 ? 7 : 1;
    for (int32_t i = n % step; i < p.n_q; i += step) {
      const int32_t b = i % p.batch, h = i % p.n_heads;
      const std::vector<float> row = row_of(p, all, b, h, i);
      const std::vector<float> alone =
          p.n_visible(i) > 0 ? run(single_query(p, b, h, i)).out : std::vector<float>(size_t(p.v_dim), 0.0f);
      EXPECT_TRUE(same_bits(alone, row)) << "query " << i << ", seed " << 60000 + n << ": " << p.text();
    }
  }
}

// A prompt in pieces of any length, each with its own offset, gives the rows of the whole.
TEST_P(rows, prompt_in_pieces) {
  for (int32_t n = 0; n < repetitions(100) && !HasFailure(); ++n) {
    random_source r(70000 + static_cast<uint64_t>(n));
    problem p = random_shape(r, families()[static_cast<size_t>(n) % 4]);
    p.batch = p.n_heads = p.n_kv_heads = 1, p.causal = 1;
    p.causal_offset = r.between(-3, p.n_kv);
    fill_random(r, &p);
    const std::vector<float> whole = run(p).out;
    for (int32_t from = 0, to = 0; from < p.n_q; from = to) {
      to = std::min(p.n_q, from + r.between(1, 20));
      problem piece = p;
      piece.n_q = to - from, piece.causal_offset = p.causal_offset + from;
      piece.q = part_of(p.q, size_t(from) * p.head_dim, piece.q_floats());
      const std::vector<float> expected = part_of(whole, size_t(from) * p.v_dim, piece.out_floats());
      EXPECT_TRUE(same_bits(expected, run(piece).out)) << "rows " << from << ".." << to << ": " << p.text();
    }
  }
}

// Batch entries and heads are independent: each equals a call of its own.
TEST_P(rows, batch_and_heads_equal_single_calls) {
  for (int32_t n = 0; n < repetitions(100) && !HasFailure(); ++n) {
    random_source r(80000 + static_cast<uint64_t>(n));
    problem p = random_shape(r, families()[static_cast<size_t>(n) % 4]);
    p.batch = 2;
    limit_work(400000, &p);
    fill_random(r, &p);
    const std::vector<float> all = run(p).out;
    for (int32_t b = 0; b < p.batch; ++b)
      for (int32_t h = 0; h < p.n_heads; ++h) {
        problem one = p;
        one.batch = one.n_heads = one.n_kv_heads = 1;
        one.q.assign(p.q_row(b, h, 0), p.q_row(b, h, 0) + one.q_floats());
        one.k.assign(p.k_row(b, h, 0), p.k_row(b, h, 0) + one.k_floats());
        one.v.assign(p.v_row(b, h, 0), p.v_row(b, h, 0) + one.v_floats());
        const size_t first = (size_t(b) * p.n_heads + h) * one.out_floats();
        EXPECT_TRUE(same_bits(part_of(all, first, one.out_floats()), run(one).out)) << p.text();
      }
  }
}

// Input strides of 0 repeat a row, a head or a batch entry.
TEST_P(rows, broadcast_equals_copies) {
  random_source r(5);
  problem p;
  p.batch = 2, p.n_heads = 4, p.n_kv_heads = 2, p.n_q = 19, p.n_kv = 35, p.head_dim = p.v_dim = 9;
  const std::vector<float> q = bell_floats(r, 19 * 9), k = bell_floats(r, 35 * 9), v = bell_floats(r, 9);
  for (int32_t copies = 0; copies < p.batch * p.n_heads; ++copies) p.q.insert(p.q.end(), q.begin(), q.end());
  for (int32_t copies = 0; copies < p.batch * p.n_kv_heads; ++copies) p.k.insert(p.k.end(), k.begin(), k.end());
  while (p.v.size() < p.v_floats()) p.v.insert(p.v.end(), v.begin(), v.end());
  const std::vector<float> expected = run(p).out;

  heed_attention call = call_of(p);
  call.q = {q.data(), 0, 0, 9};
  call.k = {k.data(), 0, 0, 9};
  call.v = {v.data(), 0, 0, 0};
  std::vector<float> out(p.out_floats());
  call.out = heed_head_major_out(out.data(), p.n_q, p.n_heads, p.v_dim);
  const fenced_bytes workspace(slot_workspace, heed_workspace_bytes(9, 9));
  call.workspace = heed_memory_of(workspace.data(), workspace.count());
  ASSERT_EQ(heed_attention_run(&call), HEED_OK);
  EXPECT_TRUE(same_bits(expected, out));
}

HEED_TEST_EVERY_KERNEL(rows);

}  // namespace
}  // namespace heed_test
