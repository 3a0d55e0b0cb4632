// Drafts: the tokens and logits of a text that is written token by token, with every cache, choice and length; that they are
// given up where they cost time; and what is refused. SPDX-License-Identifier: MIT
#include "dreams_draft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/dreams_models.hpp"
#include "support/floats.hpp"

namespace {

using namespace heed_test;

// A text, and the logits behind each of its tokens that was read.
struct text {
  std::vector<int32_t> tokens;
  std::map<int64_t, std::vector<float>> logits;
};

void keep(void *user, int32_t layer, int64_t first, heed_matrix rows) {
  text &t = *static_cast<text *>(user);
  if (layer < 2) return;  // a network of two layers: logits alone
  for (int32_t i = 0; i < rows.n_rows; ++i) {
    const float *const row = rows.data + i * rows.row_stride;
    EXPECT_TRUE(t.logits.emplace(first + i, std::vector<float>(row, row + rows.dim)).second)
        << "row " << first + i << " came twice";
  }
}

struct writing {
  std::vector<int32_t> prompt;
  int32_t n = 0;
  dreams_settings settings = {};
  dreams_choice choice = {};
};

dreams net;
dreams_files::room memory;

void open(const dreams_files::aligned_model &model, const writing &w, text *to) {
  ASSERT_EQ(dreams_files::open(net, model, w.settings, memory), DREAMS_OK);
  ASSERT_EQ(net.model.n_layers, 2);
  net.see = keep, net.see_user = to;
}

text token_by_token(const dreams_files::aligned_model &model, writing w) {
  text t;
  open(model, w, &t);
  t.tokens = w.prompt;
  const int32_t width = net.model.n_tokens;
  std::vector<float> logits(static_cast<size_t>(width));
  dreams_files::room sampling(HEED_SAMPLE_BYTES(width));
  int32_t n_read = 0;
  while (int32_t(t.tokens.size()) < w.n && (t.tokens.size() == w.prompt.size() || t.tokens.back() != 1)) {
    const int32_t n = int32_t(t.tokens.size()) - n_read;
    EXPECT_EQ(dreams_read(&net, &t.tokens[size_t(n_read)], n, logits.data(), 1), DREAMS_OK);
    n_read += n;
    t.tokens.push_back(dreams_choose(&w.choice, logits.data(), width, sampling.memory()));
  }
  return t;
}

text drafted(const dreams_files::aligned_model &model, writing w, dreams_draft *draft, float *logits) {
  text t;
  open(model, w, &t);
  const int32_t width = net.model.n_tokens;
  dreams_files::room sampling(HEED_SAMPLE_BYTES(width));
  t.tokens = w.prompt;
  t.tokens.resize(size_t(w.n) + 1, -7);
  int32_t n = int32_t(w.prompt.size());
  if (n > 1) {
    EXPECT_EQ(dreams_read(&net, t.tokens.data(), n - 1, nullptr, 0), DREAMS_OK);
  }
  while (n < w.n && (n == int32_t(w.prompt.size()) || t.tokens[size_t(n) - 1] != 1)) {
    const int32_t before = n;
    const dreams_status status =
        dreams_draft_next(&net, draft, &w.choice, t.tokens.data(), &n, w.n, logits, sampling.memory());
    EXPECT_EQ(status, DREAMS_OK) << dreams_status_text(status) << ' ' << heed_status_text(net.failure);
    EXPECT_GT(n, before);
    EXPECT_EQ(dreams_position(&net), n - 1);
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(t.tokens[size_t(w.n)], -7) << "behind the capacity";
  t.tokens.resize(size_t(n));
  return t;
}

const dreams_dims small = {48, 52, 2, 6, 2, -30, 250};

TEST(dreams_draft, keeps_tokens_and_logits) {
  std::vector<float> logits(size_t(1 + DREAMS_DRAFT_MOST) * 30);
  int64_t n_kept = 0, n_lost = 0;
  for (uint64_t trial = 0; trial < 60 && !HasFailure(); ++trial) {
    random_source r(51000 + trial);
    const dreams_files::aligned_model model(random_dreams(small, trial % 7));
    writing w;
    w.n = r.between(2, 250);
    w.settings.cache_format = r.between(HEED_F32, HEED_INT8);
    if (r.chance(40)) w.settings.window = r.between(8, 60), w.settings.pinned = r.chance(50) ? r.between(1, 5) : 0;
    w.settings.piece = r.between(1, 20);
    if (r.chance(40)) w.choice = {0.3f * float(r.between(1, 4)), r.chance(50) ? 0.9f : 0.0f, r.next() >> 1};
    for (int32_t i = r.between(1, w.n - 1); i > 0; --i) w.prompt.push_back(r.between(2, 5));
    dreams_draft draft = dreams_draft_default();
    draft.most = r.between(0, DREAMS_DRAFT_MOST);
    const text expected = token_by_token(model, w), found = drafted(model, w, &draft, logits.data());
    EXPECT_EQ(found.tokens, expected.tokens) << "trial " << trial;
    EXPECT_EQ(found.logits.size(), expected.logits.size()) << "trial " << trial;
    for (const auto &[step, row] : found.logits) {
      const auto there = expected.logits.find(step);
      EXPECT_TRUE(there != expected.logits.end() && same_bits(row, there->second))
          << "trial " << trial << ", step " << step;
    }
    EXPECT_LE(draft.n_kept, draft.n_drafted);
    n_kept += draft.n_kept, n_lost += draft.n_drafted - draft.n_kept;
  }
  EXPECT_GT(n_kept, 200);
  EXPECT_GT(n_lost, 200);
}

// A clock on which each call takes a tick, and one with a draft, whose second row of logits is written, `price` more.
struct costs {
  uint64_t price, now = 0;
  float *second_row;
};
uint64_t tell(void *user) {
  costs &c = *static_cast<costs *>(user);
  c.now += std::isnan(*c.second_row) ? 1 : 1 + c.price;
  *c.second_row = std::nanf("");
  return c.now;
}

TEST(dreams_draft, is_given_up_where_it_costs_time) {
  const dreams_files::aligned_model model(random_dreams(small, 3));
  writing w;
  w.n = 250, w.prompt = {2, 3, 4, 2, 3};
  const auto drafted_at = [&](uint64_t price) {
    dreams_draft draft = dreams_draft_default();
    std::vector<float> logits(size_t(1 + DREAMS_DRAFT_MOST) * 30);
    costs c = {price, 0, &logits[30]};
    *c.second_row = std::nanf("");
    draft.clock = tell, draft.clock_user = &c;
    drafted(model, w, &draft, logits.data());
    return draft.n_drafted;
  };
  const int64_t cheap = drafted_at(0), dear = drafted_at(1000);
  EXPECT_GT(cheap, 100);
  EXPECT_LT(dear, cheap / 2);
  EXPECT_GT(dear, 0) << "it is tried again now and then";
}

TEST(dreams_draft, refuses_what_is_wrong) {
  const dreams_files::aligned_model model(random_dreams(small, 3));
  writing w;
  text t;
  open(model, w, &t);
  dreams_draft draft = dreams_draft_default();
  dreams_choice choice = {};
  int32_t tokens[4] = {2, 3, 4, 5}, n = 1;
  std::vector<float> logits(8 * 30);
  const heed_memory none = heed_memory_of(nullptr, 0);
  EXPECT_EQ(dreams_draft_next(nullptr, &draft, &choice, tokens, &n, 4, logits.data(), none), DREAMS_NULL_POINTER);
  EXPECT_EQ(dreams_draft_next(&net, nullptr, &choice, tokens, &n, 4, logits.data(), none), DREAMS_NULL_POINTER);
  EXPECT_EQ(dreams_draft_next(&net, &draft, &choice, tokens, &n, 4, nullptr, none), DREAMS_NULL_POINTER);
  for (const int32_t wrong : {0, 2, 4}) {  // none; more than are read; no room
    n = wrong;
    EXPECT_EQ(dreams_draft_next(&net, &draft, &choice, tokens, &n, 4, logits.data(), none), DREAMS_WRONG_COUNT)
        << wrong;
    EXPECT_EQ(n, wrong);
  }
  n = 1, tokens[0] = 30;
  EXPECT_EQ(dreams_draft_next(&net, &draft, &choice, tokens, &n, 4, logits.data(), none), DREAMS_TOKEN);
  net.model.n_layers = 0;
  EXPECT_EQ(dreams_draft_next(&net, &draft, &choice, tokens, &n, 4, logits.data(), none), DREAMS_NOT_READY);
}

}  // namespace
