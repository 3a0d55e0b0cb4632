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
  using function = heed_status (*)(heed_sequence *, heed_matrix);
  static constexpr function both[] = {heed_sequence_append, heed_sequence_push};

  void SetUp() override {
    ASSERT_EQ(heed_sequence_init(&s_, 4, 3, heed_memory_of(data_, HEED_SEQUENCE_BYTES(4, 3))), HEED_OK);
  }

  void refuses(function take, heed_matrix rows, heed_fault fault, heed_argument argument, const std::string &what) {
    const heed_sequence before = s_;
    memory_.refuses([&] { return take(&s_, rows); }, fault, argument, what);
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
}

// Full: nothing of what does not fit is taken.
TEST_F(sequence, takes_all_rows_or_none) {
  ASSERT_EQ(heed_sequence_append(&s_, heed_matrix_of(rows_, 2, 3)), HEED_OK);
  const function append = heed_sequence_append;
  refuses(append, heed_matrix_of(rows_, 3, 3), HEED_FULL, HEED_ARG_SEQUENCE, "three into two");
  refuses(append, heed_matrix_of(rows_, HEED_MAX_COUNT, 3), HEED_FULL, HEED_ARG_SEQUENCE, "very many");
  ASSERT_EQ(heed_sequence_append(&s_, heed_matrix_of(rows_, 2, 3)), HEED_OK);
  refuses(append, heed_matrix_of(rows_, 1, 3), HEED_FULL, HEED_ARG_SEQUENCE, "one into none");
  ASSERT_EQ(heed_sequence_clear(&s_), HEED_OK);
  EXPECT_EQ(s_.length, 0);
  EXPECT_EQ(heed_sequence_append(&s_, heed_matrix_of(rows_, 4, 3)), HEED_OK);
}

// The newest rows stay, whatever the lengths: some rows, as many as fit, more than fit, more than the capacity.
TEST_F(sequence, push_drops_the_oldest_rows) {
  const floats behind(behind_, behind_ + 64);
  random_source r(1);
  floats expected;
  for (int32_t i = 0; i < 500; ++i) {
    const int32_t n = i < 9 ? i + 1 : r.between(1, 9), stride = r.between(0, 1) ? 5 : 3 * r.between(0, 1);
    for (int32_t j = 0; j < 64; ++j) rows_[j] = r.bell();
    for (int32_t row = 0; row < n; ++row)
      expected.insert(expected.end(), rows_ + row * stride, rows_ + row * stride + 3);
    if (expected.size() > 12) expected.erase(expected.begin(), expected.end() - 12);
    ASSERT_EQ(heed_sequence_push(&s_, {rows_, n, 3, stride}), HEED_OK);
    ASSERT_EQ(s_.length * 3, static_cast<int32_t>(expected.size()));
    EXPECT_EQ(floats(data_, data_ + expected.size()), expected) << n << " rows, push " << i;
    if (i % 50 == 0) {
      ASSERT_EQ(heed_sequence_clear(&s_), HEED_OK);
      expected.clear();
    }
  }
  EXPECT_EQ(floats(behind_, behind_ + 64), behind);
}

TEST_F(sequence, refuses_bad_rows) {
  for (const function take : both) {
    for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
      heed_matrix rows = heed_matrix_of(rows_, 4, 3);
      wrong.apply(rows);
      refuses(take, rows, wrong.fault, HEED_ARG_ROWS, wrong.what);
    }
    refuses(take, heed_matrix_of(rows_, 1, 2), HEED_SHAPE_MISMATCH, HEED_ARG_ROWS, "columns");
    refuses(take, heed_matrix_of(data_ - 1, 1, 3), HEED_OVERLAP, HEED_ARG_ROWS, "rows in their own place");
  }
  ASSERT_EQ(heed_sequence_append(&s_, heed_matrix_of(rows_, 2, 3)), HEED_OK);
  EXPECT_EQ(heed_sequence_append(&s_, heed_sequence_view(&s_)), HEED_OK) << "rows in use may be appended again";
  refuses(heed_sequence_push, heed_matrix_of(data_ + 6, 1, 3), HEED_OVERLAP, HEED_ARG_ROWS, "rows that move");
}

TEST_F(sequence, refuses_a_damaged_sequence) {
  heed_sequence good = s_;
  ASSERT_EQ(heed_sequence_append(&good, heed_matrix_of(rows_, 2, 3)), HEED_OK);
  heed_sequence target = {sizeof(heed_sequence), 4, 3, 0, behind_};
  for (const flaw<heed_sequence> &f : sequence_flaws()) {
    heed_sequence bad = good;
    f.apply(bad);
    for (const function take : both)
      memory_.refuses([&] { return take(&bad, heed_matrix_of(rows_, 1, 3)); }, f.fault, HEED_ARG_SEQUENCE, f.what);
    memory_.refuses([&] { return heed_sequence_clear(&bad); }, f.fault, HEED_ARG_SEQUENCE, f.what);
    const auto attend = [&](const heed_sequence *x, heed_sequence *out) {
      return heed_sequence_attention(x, HEED_SCALE_DEFAULT, 0, nullptr, out,
                                     heed_memory_of(workspace_, HEED_WORKSPACE_BYTES(3, 3)));
    };
    memory_.refuses([&] { return attend(&bad, &target); }, f.fault, HEED_ARG_X, f.what);
    bad = target;
    f.apply(bad);
    memory_.refuses([&] { return attend(&good, &bad); }, f.fault, HEED_ARG_OUT, f.what);
  }
  for (const function take : both)
    memory_.refuses([&] { return take(nullptr, heed_matrix_of(rows_, 1, 3)); }, HEED_NULL_POINTER, HEED_ARG_SEQUENCE,
                    "null");
  memory_.refuses([] { return heed_sequence_clear(nullptr); }, HEED_NULL_POINTER, HEED_ARG_SEQUENCE, "null");
  EXPECT_EQ(good.length, 2);
}

// The rows in use lie below the top of memory; appending one more would wrap around.
TEST_F(sequence, refuses_storage_beyond_memory) {
  heed_sequence bad = {sizeof bad, 10, 8, 1, top_of_memory() - 8};
  const heed_sequence before = bad;
  for (const function take : both)
    memory_.refuses([&] { return take(&bad, heed_matrix_of(rows_, 1, 8)); }, HEED_OVERFLOW, HEED_ARG_SEQUENCE, "");
  EXPECT_EQ(std::memcmp(&before, &bad, sizeof bad), 0);
}

TEST_F(sequence, refuses_bad_initialisation) {
  heed_sequence s;
  std::memset(&s, 0x5a, sizeof s);
  const heed_sequence before = s;
  const heed_memory good = heed_memory_of(data_, HEED_SEQUENCE_BYTES(4, 3));
  const auto refuses_init = [&](heed_sequence *to, int32_t capacity, int32_t dim, heed_memory memory, heed_fault fault,
                                heed_argument argument) {
    memory_.refuses([&] { return heed_sequence_init(to, capacity, dim, memory); }, fault, argument, "init");
    EXPECT_EQ(std::memcmp(&before, &s, sizeof s), 0);
  };
  const auto refuses_memory = [&](float *data, size_t bytes, heed_fault fault) {
    refuses_init(&s, 4, 3, heed_memory_of(data, bytes), fault, HEED_ARG_MEMORY);
  };
  refuses_init(nullptr, 4, 3, good, HEED_NULL_POINTER, HEED_ARG_SEQUENCE);
  refuses_init(misaligned(&s, 2), 4, 3, good, HEED_MISALIGNED, HEED_ARG_SEQUENCE);
  for (const int32_t wrong : {0, -1, INT32_MIN, beyond_count}) {
    refuses_init(&s, wrong, 3, good, HEED_OUT_OF_RANGE, HEED_ARG_CAPACITY);
    refuses_init(&s, 4, wrong, good, HEED_OUT_OF_RANGE, HEED_ARG_DIM);
  }
  refuses_init(&s, 4, HEED_MAX_DIM + 1, good, HEED_OUT_OF_RANGE, HEED_ARG_DIM);
  refuses_memory(nullptr, 48, HEED_NULL_POINTER);
  refuses_memory(misaligned(data_), 48, HEED_MISALIGNED);
  refuses_memory(data_, 47, HEED_TOO_SMALL);
  refuses_memory(data_, 0, HEED_TOO_SMALL);
  refuses_memory(top_of_memory(), 48, HEED_OVERFLOW);
}

class sequence_attention : public kernel_test {
 protected:
  static constexpr float usual = HEED_SCALE_DEFAULT;
  const floats words_ = {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f, .9f, .2f, .1f, .4f};
  floats x_data_ = floats(15), out_data_ = floats(18, 7.0f);
  heed_sequence x_, out_;

  void SetUp() override {
    kernel_test::SetUp();
    ASSERT_EQ(heed_sequence_init(&x_, 5, 3, heed_memory_of(x_data_.data(), 60)), HEED_OK);
    ASSERT_EQ(heed_sequence_init(&out_, 6, 3, heed_memory_of(out_data_.data(), 72)), HEED_OK);
    ASSERT_EQ(heed_sequence_append(&x_, heed_matrix_of(words_.data(), 4, 3)), HEED_OK);
    ASSERT_EQ(heed_sequence_append(&out_, heed_matrix_of(words_.data(), 2, 3)), HEED_OK);  // rows to be replaced
  }
  static heed_memory workspace() {
    HEED_MEMORY(memory, HEED_WORKSPACE_BYTES(3, 3));
    return memory;
  }
};

TEST_P(sequence_attention, equals_attention_of_its_rows) {
  ASSERT_EQ(heed_sequence_attention(&x_, 0.5f, 0, nullptr, &out_, workspace()), HEED_OK);
  EXPECT_EQ(out_.length, 4);
  EXPECT_EQ(x_.length, 4);
  problem p;
  p.n_q = p.n_kv = 4, p.head_dim = p.v_dim = 3, p.scale = 0.5f, p.q = p.k = p.v = words_;
  EXPECT_TRUE(same_bits(run(p).out, part_of(out_data_, 0, 12)));
  EXPECT_EQ(part_of(out_data_, 12, 6), floats(6, 7.0f)) << "rows beyond the length stay as they were";
  ASSERT_EQ(heed_sequence_attention(&x_, usual, 1, nullptr, &out_, workspace()), HEED_OK);
  p.scale = usual, p.causal = 1;
  EXPECT_TRUE(same_bits(run(p).out, part_of(out_data_, 0, 12)));
}

TEST_P(sequence_attention, refuses_what_does_not_fit) {
  const floats before = out_data_;
  const auto refused = [&](heed_sequence to, heed_fault fault, heed_argument argument, float scale = usual,
                           int32_t causal = 0, const heed_options *options = nullptr, heed_memory room = workspace()) {
    const int32_t length = to.length;
    EXPECT_EQ(status_name(heed_sequence_attention(&x_, scale, causal, options, &to, room)),
              status_name(HEED_STATUS(fault, argument)));
    EXPECT_EQ(to.length, length);
    EXPECT_EQ(out_data_, before);
  };
  heed_sequence small = out_, narrow = out_;
  small.capacity = small.length = 3, narrow.dim = 2;
  refused(small, HEED_FULL, HEED_ARG_OUT);
  refused(narrow, HEED_SHAPE_MISMATCH, HEED_ARG_OUT);
  refused(x_, HEED_OVERLAP, HEED_ARG_OUT);
  refused(out_, HEED_NOT_FINITE, HEED_ARG_SCALE, not_a_number);
  refused(out_, HEED_OUT_OF_RANGE, HEED_ARG_SCALE, 0);
  refused(out_, HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL, usual, 2);
  const size_t least = HEED_WORKSPACE_MIN_BYTES(3, 3);
  refused(out_, HEED_TOO_SMALL, HEED_ARG_WORKSPACE, usual, 0, nullptr, heed_memory_of(workspace().data, least - 1));
  floats sums(HEED_PARTIAL_BYTES(1, 1, 4, 3) / sizeof(float));
  heed_partial partial;
  ASSERT_EQ(heed_partial_init(&partial, 1, 1, 4, 3, 0, heed_memory_of(sums.data(), 4 * sums.size())), HEED_OK);
  heed_typed_tensors tensors;
  ASSERT_EQ(heed_typed_tensors_init(&tensors), HEED_OK);
  heed_options with_partial = heed_options_default(), with_narrow = heed_options_default();
  with_partial.partial = &partial, with_narrow.typed = &tensors;
  refused(out_, HEED_UNSUPPORTED, HEED_ARG_PARTIAL, usual, 0, &with_partial);
  refused(out_, HEED_UNSUPPORTED, HEED_ARG_TYPED, usual, 0, &with_narrow);
  ASSERT_EQ(heed_sequence_clear(&x_), HEED_OK);
  refused(out_, HEED_OUT_OF_RANGE, HEED_ARG_N);
}

TEST_P(sequence_attention, with_options_equals_attention_of_its_rows) {
  for (int32_t i = 0; i < repetitions(200) && !HasFailure(); ++i) {
    random_source r(400000 + static_cast<uint64_t>(i));
    problem p;
    p.n_q = p.n_kv = r.size(1, 90), p.head_dim = p.v_dim = r.size(1, 40);
    p.scale = r.chance(50) ? HEED_SCALE_DEFAULT : r.scale();
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
                                                  &out, heed_memory_of(workspace.data(), workspace.count()))),
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
