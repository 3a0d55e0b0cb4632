// Sequences of embeddings: what they do, and what they refuse. SPDX-License-Identifier: MIT
#include "support/kernels.hpp"
#include "support/layers.hpp"
#include "support/refusal.hpp"
#include "support/run.hpp"

namespace heed_test {
namespace {

HEED_SEQUENCE(static_words, 5, 3);

using floats = std::vector<float>;

class sequence : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(heed_sequence_init(&s_, data_, 4, 3), HEED_OK); }

  void refuses_append(heed_matrix rows, heed_fault fault, heed_argument argument, const std::string &what) {
    const heed_sequence before = s_;
    memory_.refuses([&] { return heed_sequence_append(&s_, rows); }, fault, argument, what);
    EXPECT_EQ(std::memcmp(&before, &s_, sizeof s_), 0) << what;
  }

  arena memory_;
  float *rows_ = memory_.take(64), *data_ = memory_.take(12), *behind_ = memory_.take(64);
  float *workspace_ = memory_.take_aligned(HEED_WORKSPACE_BYTES(3, 3) / 4);
  heed_sequence s_ = {};
};

TEST_F(sequence, starts_empty) {
  EXPECT_EQ(s_.struct_size, sizeof(heed_sequence));
  EXPECT_EQ(s_.capacity, 4);
  EXPECT_EQ(s_.dim, 3);
  EXPECT_EQ(s_.length, 0);
  EXPECT_EQ(s_.data, data_);
  EXPECT_EQ(heed_sequence_view(&s_).n_rows, 0);
}

TEST_F(sequence, in_static_storage) {
  EXPECT_EQ(static_words.capacity, 5);
  EXPECT_EQ(static_words.dim, 3);
  EXPECT_EQ(static_words.length, 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(static_words.data) % 64, 0u);
  const float words[15] = {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f, .9f, .2f, .1f, .4f, .5f, .3f, .2f};
  ASSERT_EQ(heed_sequence_append(&static_words, heed_matrix_of(words, 5, 3)), HEED_OK);
  EXPECT_EQ(std::memcmp(static_words.data, words, sizeof words), 0);
  EXPECT_EQ(heed_sequence_clear(&static_words), HEED_OK);
  EXPECT_EQ(static_words.length, 0);
}

TEST_F(sequence, appends_rows_one_by_one_and_many) {
  const floats behind(behind_, behind_ + 64);
  ASSERT_EQ(heed_sequence_append(&s_, heed_matrix_of(rows_, 1, 3)), HEED_OK);
  EXPECT_EQ(s_.length, 1);
  ASSERT_EQ(heed_sequence_append(&s_, {rows_ + 3, 3, 3, 5}), HEED_OK);
  EXPECT_EQ(s_.length, 4);
  const float *const sources[] = {rows_, rows_ + 3, rows_ + 8, rows_ + 13};
  for (int row = 0; row < 4; ++row) EXPECT_EQ(std::memcmp(data_ + row * 3, sources[row], 12), 0) << row;
  EXPECT_EQ(floats(behind_, behind_ + 64), behind);
  const heed_matrix view = heed_sequence_view(&s_);
  EXPECT_EQ(view.data, data_);
  EXPECT_EQ(view.n_rows, 4);
  EXPECT_EQ(view.row_stride, 3);
  const heed_tensor tensor = heed_sequence_tensor(&s_);
  EXPECT_EQ(tensor.row_stride, 3);
}

// Full: nothing of what does not fit is taken.
TEST_F(sequence, takes_all_rows_or_none) {
  ASSERT_EQ(heed_sequence_append(&s_, heed_matrix_of(rows_, 2, 3)), HEED_OK);
  refuses_append(heed_matrix_of(rows_, 3, 3), HEED_FULL, HEED_ARG_SEQUENCE, "three into two");
  refuses_append(heed_matrix_of(rows_, HEED_MAX_COUNT, 3), HEED_FULL, HEED_ARG_SEQUENCE, "very many");
  ASSERT_EQ(heed_sequence_append(&s_, heed_matrix_of(rows_, 2, 3)), HEED_OK);
  refuses_append(heed_matrix_of(rows_, 1, 3), HEED_FULL, HEED_ARG_SEQUENCE, "one into none");
  ASSERT_EQ(heed_sequence_clear(&s_), HEED_OK);
  EXPECT_EQ(s_.length, 0);
  EXPECT_EQ(heed_sequence_append(&s_, heed_matrix_of(rows_, 4, 3)), HEED_OK);
}

TEST_F(sequence, refuses_bad_rows) {
  for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
    heed_matrix rows = heed_matrix_of(rows_, 4, 3);
    wrong.apply(rows);
    if (rows.data == top_of_memory()) rows.n_rows = 4;
    refuses_append(rows, wrong.fault, HEED_ARG_ROWS, wrong.what);
  }
  refuses_append(heed_matrix_of(rows_, 1, 2), HEED_MISFIT, HEED_ARG_ROWS, "columns");
  refuses_append(heed_matrix_of(data_ - 1, 1, 3), HEED_OVERLAP, HEED_ARG_ROWS, "rows in their own place");
  ASSERT_EQ(heed_sequence_append(&s_, heed_matrix_of(rows_, 2, 3)), HEED_OK);
  EXPECT_EQ(heed_sequence_append(&s_, heed_sequence_view(&s_)), HEED_OK) << "rows in use may be appended again";
}

TEST_F(sequence, refuses_a_damaged_sequence) {
  heed_sequence good = s_;
  ASSERT_EQ(heed_sequence_append(&good, heed_matrix_of(rows_, 2, 3)), HEED_OK);
  heed_sequence target = {sizeof(heed_sequence), 4, 3, 0, behind_};
  for (const flaw<heed_sequence> &f : sequence_flaws()) {
    heed_sequence bad = good;
    f.apply(bad);
    memory_.refuses([&] { return heed_sequence_append(&bad, heed_matrix_of(rows_, 1, 3)); }, f.fault, HEED_ARG_SEQUENCE,
                    f.what);
    const auto attend = [&](const heed_sequence *x, heed_sequence *out) {
      return heed_sequence_self_attention(x, 0, out, workspace_, HEED_WORKSPACE_BYTES(3, 3));
    };
    memory_.refuses([&] { return attend(&bad, &target); }, f.fault, HEED_ARG_X, f.what);
    bad = target;
    f.apply(bad);
    memory_.refuses([&] { return attend(&good, &bad); }, f.fault, HEED_ARG_OUT, f.what);
  }
  memory_.refuses([&] { return heed_sequence_append(nullptr, heed_matrix_of(rows_, 1, 3)); }, HEED_NULL_POINTER,
                  HEED_ARG_SEQUENCE, "null");
  memory_.refuses([] { return heed_sequence_clear(nullptr); }, HEED_NULL_POINTER, HEED_ARG_SEQUENCE, "null");
  good.struct_size = 3;
  memory_.refuses([&] { return heed_sequence_clear(&good); }, HEED_UNKNOWN_STRUCT, HEED_ARG_SEQUENCE, "size");
  EXPECT_EQ(good.length, 2);
}

// The rows in use lie below the top of memory; appending one more would wrap around.
TEST_F(sequence, refuses_storage_beyond_memory) {
  heed_sequence bad = {sizeof bad, 10, 8, 1, top_of_memory() - 8};
  const heed_sequence before = bad;
  memory_.refuses([&] { return heed_sequence_append(&bad, heed_matrix_of(rows_, 1, 8)); }, HEED_OVERFLOW,
                  HEED_ARG_SEQUENCE, "append");
  EXPECT_EQ(std::memcmp(&before, &bad, sizeof bad), 0);
}

TEST_F(sequence, refuses_bad_initialisation) {
  const auto refuses = [this](float *buffer, int32_t capacity, int32_t dim, heed_fault fault, heed_argument argument) {
    heed_sequence s;
    std::memset(&s, 0x5a, sizeof s);
    const heed_sequence before = s;
    memory_.refuses([&] { return heed_sequence_init(&s, buffer, capacity, dim); }, fault, argument, "init");
    EXPECT_EQ(std::memcmp(&before, &s, sizeof s), 0);
  };
  memory_.refuses([&] { return heed_sequence_init(nullptr, data_, 4, 3); }, HEED_NULL_POINTER, HEED_ARG_SEQUENCE, "");
  refuses(nullptr, 4, 3, HEED_NULL_POINTER, HEED_ARG_BUFFER);
  refuses(misaligned(data_), 4, 3, HEED_MISALIGNED, HEED_ARG_BUFFER);
  for (const int32_t wrong : {0, -1, INT32_MIN, beyond_count}) {
    refuses(data_, wrong, 3, HEED_OUT_OF_RANGE, HEED_ARG_CAPACITY);
    refuses(data_, 4, wrong, HEED_OUT_OF_RANGE, HEED_ARG_HEAD_DIM);
  }
  refuses(data_, 4, HEED_MAX_DIM + 1, HEED_OUT_OF_RANGE, HEED_ARG_HEAD_DIM);
  refuses(top_of_memory(), 4, 3, HEED_OVERFLOW, HEED_ARG_BUFFER);
}

class sequence_attention : public kernel_test {};

TEST_P(sequence_attention, equals_attention_of_its_rows) {
  const floats words = {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f, .9f, .2f, .1f, .4f};
  floats x_data(15), out_data(18, 7.0f);
  HEED_WORKSPACE(workspace, 3, 3);
  heed_sequence x, out;
  ASSERT_EQ(heed_sequence_init(&x, x_data.data(), 5, 3), HEED_OK);
  ASSERT_EQ(heed_sequence_init(&out, out_data.data(), 6, 3), HEED_OK);
  EXPECT_EQ(heed_sequence_self_attention(&x, 0, &out, workspace, sizeof workspace),
            HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N));
  ASSERT_EQ(heed_sequence_append(&out, heed_matrix_of(words.data(), 2, 3)), HEED_OK);  // rows to be replaced
  ASSERT_EQ(heed_sequence_append(&x, heed_matrix_of(words.data(), 4, 3)), HEED_OK);
  ASSERT_EQ(heed_sequence_self_attention(&x, 0.5f, &out, workspace, sizeof workspace), HEED_OK);
  EXPECT_EQ(out.length, 4);
  EXPECT_EQ(x.length, 4);
  problem p;
  p.n_q = p.n_kv = 4, p.head_dim = p.v_dim = 3, p.scale = 0.5f, p.q = p.k = p.v = words;
  EXPECT_TRUE(same_bits(run(p).out, part_of(out_data, 0, 12)));
  EXPECT_EQ(part_of(out_data, 12, 6), floats(6, 7.0f)) << "rows beyond the length stay as they were";

  const floats before = out_data;
  const auto refused = [&](heed_sequence to, heed_fault fault, heed_argument argument, size_t bytes) {
    const int32_t length = to.length;
    EXPECT_EQ(heed_sequence_self_attention(&x, 0, &to, workspace, bytes), HEED_STATUS(fault, argument));
    EXPECT_EQ(to.length, length);
    EXPECT_EQ(out_data, before);
  };
  heed_sequence small = out, narrow = out;
  small.capacity = small.length = 3, narrow.dim = 2;
  refused(small, HEED_FULL, HEED_ARG_OUT, sizeof workspace);
  refused(narrow, HEED_MISFIT, HEED_ARG_OUT, sizeof workspace);
  refused(x, HEED_OVERLAP, HEED_ARG_OUT, sizeof workspace);
  refused(out, HEED_TOO_SMALL, HEED_ARG_WORKSPACE, HEED_WORKSPACE_MIN_BYTES(3, 3) - 1);
  EXPECT_EQ(heed_sequence_self_attention(&x, not_a_number, &out, workspace, sizeof workspace),
            HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_SCALE));
}

TEST_P(sequence_attention, with_options_equals_attention_of_its_rows) {
  for (int32_t i = 0; i < repetitions(200) && !HasFailure(); ++i) {
    random_source r(400000 + static_cast<uint64_t>(i));
    problem p;
    p.n_q = p.n_kv = r.size(1, 90), p.head_dim = p.v_dim = r.size(1, 40);
    p.scale = r.chance(50) ? 0.0f : r.bell();
    draw_inner_features(r, &p);
    p.q = p.k = p.v = bell_floats(r, p.q_floats());
    const attention_result expected = run(p);

    const setting s;
    placed_options options(p, s);
    put_all(p, &options);
    const fenced_floats out_data(slot_out, p.out_floats(), unwritten_bits);
    const fenced_bytes workspace(slot_workspace, heed_workspace_bytes(p.head_dim, p.v_dim));
    const heed_sequence x = {sizeof x, p.n_q, p.head_dim, p.n_q, const_cast<float *>(fenced_copy(slot_q, p.q))};
    heed_sequence out = {sizeof out, p.n_q, p.head_dim, 0, out_data.data()};
    ASSERT_EQ(status_name(heed_sequence_attention(&x, p.scale, p.causal, p.options.any() ? options.get() : nullptr,
                                                  &out, workspace.data(), workspace.count())),
              "HEED_OK");
    EXPECT_EQ(out.length, p.n_q);
    attention_result actual;
    actual.out = {out_data.data(), out_data.data() + out_data.count()};
    options.collect(&actual);
    EXPECT_TRUE(same_results(expected, actual)) << "seed " << i << ": " << p.text();
  }
}

HEED_TEST_EVERY_KERNEL(sequence_attention);

}  // namespace
}  // namespace heed_test
