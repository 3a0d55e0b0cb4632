// Language models of many shapes, as strangers have them, against plain loops in double precision: shared and own
// classifiers, groups of heads, long contexts, large vocabularies. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "dreams.h"
#include "support/dreams_models.hpp"

namespace {

using namespace heed_test;
using row = std::vector<double>;

// llama2.c's file, read in its order.
class plain_model {
 public:
  plain_model(const dreams_dims &d, const bytes &file) : d_(d), numbers_((file.size() - 28) / 4) {
    std::memcpy(numbers_.data(), file.data() + 28, 4 * numbers_.size());
    const size_t dim = size_t(d.dim), hidden = size_t(d.hidden), kv = dim / size_t(d.heads) * size_t(d.kv_heads);
    size_t at = 0;
    const auto take = [&](const char *name, size_t n) {
      first_[name] = at;
      at += n;
    };
    take("embeddings", dim * size_t(std::abs(d.tokens)));
    const size_t layers = size_t(d.layers);
    take("norm 1", layers * dim), take("wq", layers * dim * dim), take("wk", layers * dim * kv),
        take("wv", layers * dim * kv);
    take("wo", layers * dim * dim), take("norm 2", layers * dim), take("gate", layers * dim * hidden);
    take("down", layers * dim * hidden), take("up", layers * dim * hidden), take("last norm", dim);
    take("tables", size_t(d.positions) * dim / size_t(d.heads));
    take("classifier", d.tokens < 0 ? dim * size_t(-d.tokens) : 0);
    keys_.resize(layers), values_.resize(layers);
  }

  row logits(int32_t token) {
    const size_t dim = size_t(d_.dim), kv = dim / size_t(d_.heads) * size_t(d_.kv_heads), hidden = size_t(d_.hidden);
    const float *embedding = &numbers_[first_["embeddings"] + size_t(token) * dim];
    row x(embedding, embedding + dim);
    for (size_t l = 0; l < size_t(d_.layers); ++l) {
      const row h = norm(x, "norm 1", l);
      keys_[l].push_back(turned(times(h, "wk", l, kv)));
      values_[l].push_back(times(h, "wv", l, kv));
      add(x, times(attend(turned(times(h, "wq", l, dim)), l), "wo", l, dim));
      const row g = norm(x, "norm 2", l);
      row gate = times(g, "gate", l, hidden);
      const row up = times(g, "up", l, hidden);
      for (size_t i = 0; i < hidden; ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
      add(x, times(gate, "down", l, dim));
    }
    ++position_;
    return times(norm(x, "last norm", 0), d_.tokens < 0 ? "classifier" : "embeddings", 0, size_t(std::abs(d_.tokens)));
  }

 private:
  static void add(row &x, const row &y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  row norm(const row &x, const char *name, size_t l) {
    double squares = 0;
    for (const double v : x) squares += v * v;
    const double factor = 1 / std::sqrt(squares / double(x.size()) + 1e-5);
    row y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * factor * double(numbers_[first_[name] + l * x.size() + i]);
    return y;
  }
  // Matrices are (out, in).
  row times(const row &x, const char *name, size_t l, size_t n_out) {
    const float *w = &numbers_[first_[name] + l * n_out * x.size()];
    row y(n_out);
    for (size_t o = 0; o < n_out; ++o)
      for (size_t i = 0; i < x.size(); ++i) y[o] += x[i] * double(w[o * x.size() + i]);
    return y;
  }
  // Rotary embedding of neighbours.
  row turned(row x) const {
    const size_t head_dim = size_t(d_.dim / d_.heads);
    for (size_t i = 0; i + 1 < x.size(); i += 2) {
      const double angle = position_ * std::pow(10000.0, -double(i % head_dim) / double(head_dim));
      const double a = x[i], b = x[i + 1];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + 1] = a * std::sin(angle) + b * std::cos(angle);
    }
    return x;
  }
  row attend(const row &q, size_t l) const {
    const size_t head_dim = size_t(d_.dim / d_.heads), group = size_t(d_.heads / d_.kv_heads);
    row context(q.size());
    for (size_t h = 0; h < size_t(d_.heads); ++h) {
      const size_t from = h / group * head_dim;
      row weights;
      double sum = 0;
      for (const row &k : keys_[l]) {
        double score = 0;
        for (size_t i = 0; i < head_dim; ++i) score += q[h * head_dim + i] * k[from + i];
        weights.push_back(std::exp(score / std::sqrt(double(head_dim))));
        sum += weights.back();
      }
      for (size_t t = 0; t < weights.size(); ++t)
        for (size_t i = 0; i < head_dim; ++i) context[h * head_dim + i] += weights[t] / sum * values_[l][t][from + i];
    }
    return context;
  }

  dreams_dims d_;
  std::vector<float> numbers_;
  std::map<std::string, size_t> first_;
  std::vector<std::vector<row>> keys_, values_;
  double position_ = 0;
};

struct shape {
  const char *name;
  dreams_dims dims;  // dim, hidden, layers, heads, kv heads, tokens, positions
};
const shape shapes[] = {
    {"stories260K", {64, 172, 5, 8, 4, 512, 512}},
    {"stories15M's, two layers", {288, 768, 2, 6, 6, 2000, 256}},
    {"32000 tokens, a classifier of its own, a context of 1024", {32, 88, 1, 4, 1, -32000, 1024}},
    {"70000 tokens", {8, 16, 1, 1, 1, 70000, 16}},
    {"40 layers of 40 heads", {80, 16, 40, 40, 8, 33, 64}},
    {"heads of 128", {256, 64, 1, 2, 2, 33, 64}},
    {"the smallest", {2, 1, 1, 1, 1, 2, 8}},
};

TEST(dreams_shapes, give_the_logits_of_plain_loops) {
  dreams net;
  for (const shape &s : shapes) {
    SCOPED_TRACE(s.name);
    const bytes file = random_dreams(s.dims, 9);
    const dreams_files::aligned_model model(file);
    dreams_files::room memory;
    ASSERT_EQ(open(net, model, {}, memory), DREAMS_OK);
    EXPECT_EQ(net.model.n_positions, s.dims.positions);
    plain_model oracle(s.dims, file);
    random_source r(10);
    const int32_t n_tokens = std::abs(s.dims.tokens), n = std::min(s.dims.positions, 24);
    std::vector<int32_t> tokens;
    for (int32_t t = 0; t < n; ++t) tokens.push_back(t == 0 ? n_tokens - 1 : r.between(0, n_tokens - 1));
    std::vector<float> found(size_t(n) * size_t(n_tokens));
    ASSERT_EQ(dreams_read(&net, tokens.data(), n, found.data(), n), DREAMS_OK) << heed_status_text(net.failure);
    for (int32_t t = 0; t < n; ++t) {
      const row expected = oracle.logits(tokens[size_t(t)]);
      double greatest = 0, error = 0;
      for (size_t i = 0; i < expected.size(); ++i) {
        greatest = std::max(greatest, std::fabs(expected[i]));
        error = std::max(error, std::fabs(expected[i] - double(found[size_t(t) * expected.size() + i])));
      }
      ASSERT_LE(error, 2e-5 * std::max(1.0, greatest)) << "token " << t;
    }
  }
}

// The whole context is there: the last position is read, and not one more.
TEST(dreams_shapes, fill_their_context) {
  dreams net;
  const dreams_dims d = {64, 172, 5, 8, 4, 512, 512};
  const dreams_files::aligned_model model(random_dreams(d, 9));
  dreams_files::room memory;
  ASSERT_EQ(open(net, model, {}, memory), DREAMS_OK);
  const std::vector<int32_t> tokens(512, 7);
  std::vector<float> logits(512);
  EXPECT_EQ(dreams_read(&net, tokens.data(), 512, logits.data(), 1), DREAMS_OK);
  EXPECT_EQ(dreams_read(&net, tokens.data(), 1, logits.data(), 1), DREAMS_CONTEXT_FULL);
}

// A vocabulary of 32000 pieces, one of them of 300 bytes.
TEST(dreams_shapes, have_words_as_many_and_as_long_as_the_file_says) {
  std::vector<std::string> vocabulary = small_vocabulary();
  while (vocabulary.size() < 31999) vocabulary.push_back("word" + std::to_string(vocabulary.size()));
  vocabulary.push_back(std::string(300, 'z'));
  bytes file = tokenizer_of(vocabulary);
  dreams_words words;
  dreams_files::room memory;
  int32_t bad = 0;
  EXPECT_EQ(dreams_files::open(words, file, 32000, memory, &bad), DREAMS_WORDS_LENGTH);  // the file says 16
  EXPECT_EQ(bad, 31999);
  const int32_t longest = 300;
  std::memcpy(file.data(), &longest, 4);
  ASSERT_EQ(dreams_files::open(words, file, 32000, memory), DREAMS_OK);
  EXPECT_EQ(words.longest, 300);
  std::vector<char> text(301);
  EXPECT_EQ(dreams_decode(&words, 0, 31999, text.data(), 301), 300);
  EXPECT_EQ(text.data(), std::string(300, 'z'));
  std::vector<int32_t> tokens(100);
  int32_t n = 0;
  ASSERT_EQ(dreams_encode(&words, "there", tokens.data(), 100, &n), DREAMS_OK);
  tokens.resize(size_t(n));
  EXPECT_EQ(tokens, std::vector<int32_t>({1, 266}));
}

}  // namespace
