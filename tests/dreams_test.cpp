// A language model on heed: one digest for the bits of all logits, however the tokens are read. A whole prompt is one
// piece, and there is room for 8 workers.
// SPDX-License-Identifier: MIT
#include "dreams.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "dreams_digest.h"
#include "support/dreams_models.hpp"
#include "support/executors.hpp"
#include "support/floats.hpp"
#include "support/kernels.hpp"

namespace {

using namespace heed_test;

constexpr int32_t piece = 128;
dreams net;
dreams_files::room memory;
const dreams_dims small = {48, 52, 3, 6, 2, -70, 250};

dreams_settings settings_of(int32_t dtype, int32_t window = 0, int32_t pinned = 0) {
  return {dtype, window, pinned, 0, piece, 8};
}

struct reading {
  dreams_settings settings = settings_of(HEED_F32);
  const heed_ranges *ranges = nullptr;  // a window of a linear cache
  const heed_executor *executor = nullptr;
  int32_t (*piece)(random_source &) = [](random_source &) { return 1; };
};
int32_t token_by_token(random_source &) { return 1; }
int32_t in_pieces(random_source &r) { return r.between(1, 40); }
int32_t at_once(random_source &) { return piece; }

std::vector<float> logits_of(const dreams_files::aligned_model &model, const std::vector<int32_t> &tokens,
                             const reading &how) {
  EXPECT_EQ(open(net, model, how.settings, memory), DREAMS_OK) << heed_status_text(net.failure);
  net.executor = how.executor;
  heed_options options = heed_options_default();
  options.ranges = how.ranges;
  const std::vector<heed_options> of_layers(size_t(net.model.n_layers), options);
  if (how.ranges) net.options = of_layers.data();
  const size_t width = size_t(net.model.n_tokens);
  std::vector<float> logits(width * tokens.size(), std::nanf(""));
  random_source r(5);
  for (int32_t at = 0, n; at < int32_t(tokens.size()); at += n) {
    n = std::min(how.piece(r), int32_t(tokens.size()) - at);
    EXPECT_EQ(dreams_read(&net, &tokens[size_t(at)], n, &logits[width * size_t(at)], n), DREAMS_OK)
        << heed_status_argument(net.failure) << ": " << heed_status_text(net.failure);
  }
  return logits;
}

uint64_t digest_of(const dreams_files::aligned_model &model, const std::vector<int32_t> &tokens, const reading &how) {
  const std::vector<float> logits = logits_of(model, tokens, how);
  for (const float logit : logits)
    if (!std::isfinite(logit)) return ADD_FAILURE() << "a logit is " << logit, 0;
  return dreams_digest(DREAMS_DIGEST_BEGIN, logits.data(), int32_t(logits.size()));
}

std::vector<int32_t> random_tokens(int32_t n, int32_t n_tokens) {
  random_source r(2);
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < n; ++i) tokens.push_back(r.between(0, n_tokens - 1));
  return tokens;
}

dreams_files::aligned_model narrow(const dreams_files::aligned_model &model, int32_t dtype) {
  const std::vector<uint32_t> file = dreams_files::flat_file("", model.data(), model.size(), dtype);
  const uint8_t *first = reinterpret_cast<const uint8_t *>(file.data());
  return dreams_files::aligned_model(bytes(first, first + 4 * file.size()));
}

// Packed weights give the same bits, and embeddings stay.
TEST(dreams_pack, changes_no_bit) {
  const std::vector<int32_t> tokens = random_tokens(60, 70);
  const auto pack_and_read = [&](const dreams_files::aligned_model &model) {
    const reading how;
    const std::vector<float> expected = logits_of(model, tokens, how);
    EXPECT_EQ(open(net, model, {}, memory), DREAMS_OK);
    const size_t bytes = dreams_packed_bytes(&net);
    std::vector<uint8_t> room(bytes + 64);
    uint8_t *const data = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
    EXPECT_EQ(dreams_pack(&net, heed_memory_of(data, bytes - 1)), DREAMS_HEED_FAILED);
    EXPECT_EQ(net.failure, HEED_STATUS(HEED_TOO_SMALL, HEED_ARG_MEMORY));
    EXPECT_EQ(net.model.classifier.code, nullptr);
    EXPECT_EQ(dreams_pack(&net, heed_memory_of(data, bytes)), DREAMS_OK);
    EXPECT_EQ(net.layers[1].layer.w_down.layout, HEED_PACKED);
    const size_t width = size_t(net.model.n_tokens);
    std::vector<float> logits(width * tokens.size());
    EXPECT_EQ(dreams_read(&net, tokens.data(), 60, logits.data(), 60), DREAMS_OK);
    EXPECT_TRUE(same_bits(expected, logits));
    EXPECT_EQ(dreams_packed_bytes(&net), bytes);
    EXPECT_EQ(dreams_pack(&net, heed_memory_of(data, bytes)), DREAMS_HEED_FAILED) << "packed already";
  };
  const dreams_files::aligned_model model(random_dreams(small, 1));
  pack_and_read(model);
  pack_and_read(narrow(model, HEED_F32));
  pack_and_read(narrow(model, HEED_INT8));
  net.model.n_layers = 0;
  EXPECT_EQ(dreams_packed_bytes(&net), 0u);
  EXPECT_EQ(dreams_packed_bytes(nullptr), 0u);
  EXPECT_EQ(dreams_pack(&net, heed_memory_of(nullptr, 0)), DREAMS_NOT_READY);
  EXPECT_EQ(dreams_pack(nullptr, heed_memory_of(nullptr, 0)), DREAMS_NULL_POINTER);
}

// All ways to read the tokens on the kernel in use.
void expect_one_digest(const dreams_files::aligned_model &model, const std::vector<int32_t> &tokens,
                       dreams_settings settings) {
  reading how;
  how.settings = settings;
  const uint64_t expected = digest_of(model, tokens, how);
  how.piece = in_pieces;
  EXPECT_EQ(digest_of(model, tokens, how), expected) << "in pieces";
  how.piece = at_once;
  EXPECT_EQ(digest_of(model, tokens, how), expected) << "at once";
  for (int32_t n_workers = 1; n_workers <= 8; ++n_workers) {
    const thread_executor threads(n_workers);
    how.executor = threads.get();
    EXPECT_EQ(digest_of(model, tokens, how), expected) << n_workers << " threads";
  }
}

void expect_ring_equals_window(const dreams_files::aligned_model &model, const std::vector<int32_t> &tokens,
                               int32_t window, int32_t pinned) {
  heed_ranges ranges;
  ASSERT_EQ(heed_ranges_init(&ranges), HEED_OK);
  ranges.left_window = window - 1;
  ranges.pinned = pinned;
  reading linear, ring;
  linear.ranges = &ranges;
  ring.settings = settings_of(HEED_F32, window, pinned);
  const uint64_t expected = digest_of(model, tokens, linear);
  for (const auto piece : {token_by_token, in_pieces, at_once}) {
    ring.piece = piece;
    EXPECT_EQ(digest_of(model, tokens, ring), expected) << "window " << window << ", pinned " << pinned;
  }
}

class dreams_kernel : public kernel_test {};
HEED_TEST_EVERY_KERNEL(dreams_kernel);

// The numbers hold for every processor and compiler: random weights come from integers.
TEST_P(dreams_kernel, gives_one_digest) {
  const dreams_files::aligned_model model(random_dreams(small, 1));
  const std::vector<int32_t> tokens = random_tokens(100, 70);
  const bool has_fma = heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA;
  EXPECT_EQ(digest_of(model, tokens, {}), has_fma ? 0xf50f87126366b1fau : 0xa7d37c9e6ec028ecu);
  EXPECT_EQ(digest_of(narrow(model, HEED_F32), tokens, {}), has_fma ? 0xf50f87126366b1fau : 0xa7d37c9e6ec028ecu);
  EXPECT_EQ(digest_of(narrow(model, HEED_INT8), tokens, {}), has_fma ? 0x8bdf240d1485fc30u : 0xfbc06e91f0b7da53u);
}

TEST(dreams_network, reads_tokens_in_any_pieces_and_threads) {
  const dreams_files::aligned_model model(random_dreams(small, 1));
  const std::vector<int32_t> tokens = random_tokens(120, 70);
  for (const int32_t dtype : {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8}) {
    SCOPED_TRACE(dtype);
    expect_one_digest(model, tokens, settings_of(dtype));
    expect_one_digest(narrow(model, HEED_INT8), tokens, settings_of(dtype));
  }
}

TEST(dreams_network, shares_a_long_prompt_among_threads) {
  const dreams_files::aligned_model model(random_dreams({64, 2000, 2, 4, 4, 512, 256}, 1));
  const std::vector<int32_t> tokens = random_tokens(128, 512);
  reading how;
  const uint64_t expected = digest_of(model, tokens, how);
  how.piece = at_once;
  for (const int32_t n_workers : {2, 3, 8}) {
    const thread_executor threads(n_workers);
    how.executor = threads.get();
    EXPECT_EQ(digest_of(model, tokens, how), expected) << n_workers << " threads";
    EXPECT_GT(threads.runs(), 0);
  }
}

TEST(dreams_network, sees_in_a_wrapped_ring_what_a_window_shows) {
  const dreams_files::aligned_model model(random_dreams(small, 1));
  const std::vector<int32_t> tokens = random_tokens(250, 70);  // slots: 192
  expect_ring_equals_window(model, tokens, 40, 0);
  expect_ring_equals_window(model, tokens, 1, 0);
  expect_ring_equals_window(model, tokens, 30, 4);
  expect_one_digest(model, random_tokens(600, 70), settings_of(HEED_INT8, 60, 3));
}

TEST(dreams_network, begins_again_after_a_restart) {
  const dreams_files::aligned_model model(random_dreams(small, 1));
  const std::vector<int32_t> tokens = random_tokens(9, 70);
  const std::vector<float> first = logits_of(model, tokens, {});
  std::vector<float> second(first.size());
  EXPECT_EQ(dreams_position(&net), 9);
  dreams_restart(&net);
  EXPECT_EQ(dreams_position(&net), 0);
  ASSERT_EQ(dreams_read(&net, tokens.data(), 9, second.data(), 9), DREAMS_OK);
  EXPECT_EQ(first, second);
}

TEST(dreams_network, writes_the_rows_that_were_asked_for) {
  const dreams_files::aligned_model model(random_dreams(small, 1));
  const std::vector<int32_t> tokens = random_tokens(200, 70);  // two pieces
  const std::vector<float> all = logits_of(model, tokens, {});
  for (const int32_t rows : {0, 1, 71, 72, 73, 199, 200}) {
    std::vector<float> some(size_t(rows) * 70 + 1, 7.0f);
    dreams_restart(&net);
    ASSERT_EQ(dreams_read(&net, tokens.data(), 200, some.data(), rows), DREAMS_OK);
    EXPECT_EQ(some.back(), 7.0f);
    some.pop_back();
    EXPECT_EQ(some, std::vector<float>(all.end() - ptrdiff_t(some.size()), all.end())) << rows;
  }
}

// ------------------------------------------------------------------------------------------------ the trained model

struct trained {
  dreams_files::aligned_model model;
  std::vector<dreams_files::expected_text> texts;
  std::vector<float> logits;
};
trained load() {
  const std::string folder = dreams_folder();
  return {dreams_files::aligned_model(with_positions(dreams_files::read(folder + "/model.bin"), 256)),
          dreams_files::read_expected(folder + "/expected.txt"), dreams_files::read_floats(folder + "/logits.bin")};
}

TEST_P(dreams_kernel, writes_the_expected_texts) {
  HEED_NEEDS_DREAMS();
  const trained t = load();
  ASSERT_EQ(t.texts.size(), 5u);
  for (const dreams_files::expected_text &e : t.texts) {
    const std::vector<float> logits = logits_of(t.model, {e.tokens.begin(), e.tokens.end() - 1}, {});
    ASSERT_LE(e.first_logit + logits.size(), t.logits.size());
    for (size_t i = 0; i < logits.size(); ++i)
      ASSERT_NEAR(double(logits[i]), double(t.logits[e.first_logit + i]), 2e-4) << e.prompt << ", logit " << i;
    dreams_choice greedy = {};
    for (size_t row = e.prompt_tokens.size() - 1; row < e.n_rows; ++row) {
      ASSERT_EQ(dreams_choose(&greedy, &logits[row * 512], 512, heed_memory_of(nullptr, 0)), e.tokens[row + 1])
          << e.prompt << ", token " << row + 1;
    }
  }
}

// What ports/dreams/dreams_board.c must print, too.
TEST_P(dreams_kernel, gives_one_digest_of_the_trained_model) {
  HEED_NEEDS_DREAMS();
  const trained t = load();
  const std::vector<int32_t> tokens(t.texts[1].tokens.begin(), t.texts[1].tokens.end() - 1);
  const bool has_fma = heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA;
  EXPECT_EQ(digest_of(t.model, tokens, {}), has_fma ? 0x0c00fff145fd88f6u : 0x11db39165699bdc6u);
  EXPECT_EQ(digest_of(narrow(t.model, HEED_INT8), tokens, {}), has_fma ? 0xa99c163dc5ece299u : 0x334647fa802d2677u);
  reading how;
  how.settings.cache_format = HEED_INT8;
  EXPECT_EQ(digest_of(narrow(t.model, HEED_INT8), tokens, how), has_fma ? 0xd3c54050e82b7c64u : 0x6db75d05448819a0u);
}

TEST(dreams_trained, reads_tokens_in_any_pieces_and_threads) {
  HEED_NEEDS_DREAMS();
  const trained t = load();
  expect_one_digest(t.model, t.texts[1].tokens, settings_of(HEED_F32));
  std::vector<int32_t> tokens = t.texts[1].tokens;
  tokens.insert(tokens.end(), t.texts[2].tokens.begin(), t.texts[2].tokens.end());
  expect_ring_equals_window(t.model, tokens, 50, 0);
  expect_ring_equals_window(t.model, tokens, 50, 1);
}

TEST(dreams_trained, keeps_40_tokens_with_int8_weights) {
  HEED_NEEDS_DREAMS();
  const trained t = load();
  const std::vector<int32_t> tokens = {t.texts[0].tokens.begin(), t.texts[0].tokens.begin() + 40};
  const std::vector<float> logits = logits_of(narrow(t.model, HEED_INT8), tokens, {});
  dreams_choice greedy = {};
  for (size_t row = 0; row + 1 < tokens.size(); ++row) {
    EXPECT_EQ(dreams_choose(&greedy, &logits[row * 512], 512, heed_memory_of(nullptr, 0)), tokens[row + 1]) << row;
  }
}

}  // namespace
