// Receipts: SHA-256 against NIST's vectors and mbedTLS; each changed bit of a row, a token, a weight or of the text itself is found,
// and placed; two parties find their first difference by halving. SPDX-License-Identifier: MIT
#include "receipts.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "../ports/files.hpp"
#include "golden.h"
#include "in_memory.hpp"
#include "run.hpp"
#include "runs.hpp"
#include "sha256.h"
#include "support/dreams_models.hpp"
#ifdef HEED_RECEIPT_MBEDTLS
#include "receipt_mbedtls.h"
#endif

namespace {

using namespace heed_test;

// --------------------------------------------------------------------------------------------------------------- SHA-256

std::string hex(const uint8_t *bytes, size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

// In pieces of up to `piece` bytes; 0: at once.
std::string digest_of(const heed_receipt_hash &hash, const std::string &text, size_t piece = 0) {
  heed_receipt_state state;
  uint8_t digest[HEED_RECEIPT_DIGEST_BYTES];
  hash.begin(&state);
  if (piece == 0) piece = text.size() + 1;
  for (size_t at = 0; at < text.size(); at += piece)
    hash.add(&state, text.data() + at, std::min(piece, text.size() - at));
  hash.end(&state, digest);
  return hex(digest, sizeof digest);
}

// FIPS 180-4 and its examples (NIST, "SHA256" and "SHA2 additional").
TEST(receipt_sha256, has_the_digests_of_nist) {
  const std::pair<std::string, const char *> vectors[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string("\xbd"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
      {std::string(55, '\0'), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
      {std::string(56, '\0'), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
      {std::string(64, '\0'), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"},
      {std::string(1000000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};
  for (const auto &[text, digest] : vectors)
    for (const size_t piece : {0, 1, 63, 64, 65, 1000})
      EXPECT_EQ(digest_of(heed_receipt_sha256, text, piece), digest)
          << text.size() << " bytes, " << piece << " at a time";
}

TEST(receipt_sha256, is_that_of_mbedtls) {
#ifdef HEED_RECEIPT_MBEDTLS
  random_source r(77000);
  for (int32_t i = 0; i < 10000; ++i) {
    std::string text(size_t(r.between(0, 300)), ' ');
    for (char &c : text) c = char(r.next());
    ASSERT_EQ(digest_of(heed_receipt_sha256, text, size_t(r.between(0, 100))), digest_of(heed_receipt_mbedtls, text));
  }
#else
  GTEST_SKIP() << "mbedTLS is not installed (Debian: libmbedtls-dev)";
#endif
}

// -------------------------------------------------------------------------------------------------------------- a receipt

const dreams_dims small = {48, 52, 2, 6, 2, -30, 60};

// A model in a file, and a text that it has written, with its rows.
class receipt_of_a_text : public ::testing::Test {
 protected:
  receipt_of_a_text()
      : folder_((std::filesystem::temp_directory_path() / ("heed_receipt_" + std::to_string(::getpid()))).string()),
        path_(folder_ + "/model.bin") {
    std::filesystem::create_directories(folder_);
    write_model(random_dreams(small, 1));
    settings_.n_prompt = 4;
    make();
  }
  ~receipt_of_a_text() override { std::filesystem::remove_all(folder_); }
  void write_model(const bytes &file) {
    files::output_file out(path_);
    out.write(file.data(), file.size());
    out.finish();
    bytes_ = file;
  }

  // As a program of heed_compile writes it: logits from the prompt's last token on.
  void make(const receipts::detail &how = {}) {
    const heed_compile::in_memory model(path_);
    receipts::chooser choice(settings_, 30);
    tokens_ = {1, 7, 3, 9};
    std::vector<float> logits;
    const auto run = [&](const heed_compile::see_rows &see) {
      heed_compile::run_tokens(model.net, {}, model.file, tokens_, see);
    };
    while (tokens_.size() < 40) {
      run([&](int32_t layer, int64_t, heed_matrix rows) {
        const float *const last = rows.data + (rows.n_rows - 1) * rows.row_stride;
        if (layer == 2) logits.assign(last, last + rows.dim);
      });
      tokens_.push_back(choice.choose(logits.data()));
    }
    make_rows(model, how);
  }
  // Of tokens_, whoever chose them.
  void make_rows(const heed_compile::in_memory &model, const receipts::detail &how) {
    receipts::writer w({"dreams", model.net.digest, 2, false}, how, true);
    receipts::write_settings(w, settings_);
    heed_compile::run_tokens(model.net, {}, model.file, tokens_, [&](int32_t layer, int64_t first, heed_matrix rows) {
      const int64_t n_before = layer == 2 ? 3 : 0;
      receipts::writer::see(
          &w, layer, first + n_before,
          heed_matrix_of(rows.data + n_before * rows.row_stride, rows.n_rows - int32_t(n_before), rows.dim));
    });
    for (size_t i = 0; i < tokens_.size(); ++i) heed_receipt_token(w.get(), int64_t(i), tokens_[i]);
    text_ = w.finish(), rows_ = w.kept();
  }
  // The receipt of someone who has these rows and tokens.
  std::string text_of(const std::vector<receipts::numbers> &rows, const std::vector<int32_t> &tokens,
                      const receipts::detail &how) const {
    receipts::writer w({"dreams", receipts::digest_of(bytes_.data(), bytes_.size()), 2, false}, how);
    receipts::write_settings(w, settings_);
    std::vector<float> row;
    for (const receipts::numbers &n : rows) {
      row.assign(n.values.begin(), n.values.end());
      receipts::writer::see(&w, n.layer, n.row, heed_matrix_of(row.data(), 1, int32_t(row.size())));
    }
    for (size_t i = 0; i < tokens.size(); ++i) heed_receipt_token(w.get(), int64_t(i), tokens[i]);
    return w.finish();
  }
  // Lines and the last one, as a forger would end them.
  static std::string ended(const std::string &lines) {
    uint8_t digest[HEED_RECEIPT_DIGEST_BYTES];
    heed_receipt_digest(&heed_receipt_sha256, lines.data(), lines.size(), digest);
    return lines + "end " + hex(digest, sizeof digest) + "\n";
  }
  std::string lines() const { return text_.substr(0, text_.rfind("\nend ") + 1); }
  receipts::difference replayed(const std::string &text) const {
    const receipts::receipt made = receipts::read(text);
    const receipts::text_run again = receipts::of_text(path_, "", made, false);
    receipts::difference d = receipts::first_difference(made, receipts::read(again.rows.text));
    if (d.is_equal && !again.other_choice.empty()) d.is_equal = false, d.what = again.other_choice;
    return d;
  }

  std::string folder_, path_, text_;
  bytes bytes_;
  receipts::text_settings settings_;
  std::vector<receipts::numbers> rows_;
  std::vector<int32_t> tokens_;
};

void flip(double &number, int32_t bit) {
  const float x = float(number);
  uint32_t word;
  std::memcpy(&word, &x, sizeof word);
  word ^= uint32_t{1} << bit;
  float y;
  std::memcpy(&y, &word, sizeof y);
  number = double(y);
}

TEST_F(receipt_of_a_text, is_computed_once_more) {
  for (const int32_t level : {HEED_RECEIPT_LOGITS, HEED_RECEIPT_LAYERS, HEED_RECEIPT_ROWS})
    for (const bool is_exact : {false, true})
      for (const float temperature : {0.0f, 0.8f}) {
        settings_.temperature = temperature, settings_.top_p = 0.9f, settings_.seed = 42;
        make({level, is_exact});
        const receipts::difference d = replayed(text_);
        EXPECT_TRUE(d.is_equal) << d.what;
      }
}

// Rows that are right, of a token that the logits do not choose.
TEST_F(receipt_of_a_text, shows_a_token_that_was_chosen_otherwise) {
  const heed_compile::in_memory model(path_);
  const std::vector<int32_t> right = tokens_;
  for (const size_t at : {size_t{4}, size_t{20}, right.size() - 1}) {
    tokens_ = right;
    tokens_[at] = (right[at] + 1) % 30;
    make_rows(model, {});
    const std::string what = replayed(text_).what;
    EXPECT_EQ(what, "token " + std::to_string(at) + " is " + std::to_string(tokens_[at]) +
                        ", but these logits choose " + std::to_string(right[at]));
  }
}

// One bit of one number of one row: found, and placed, in all tries.
TEST_F(receipt_of_a_text, shows_each_bit_of_each_row) {
  const receipts::detail all_rows = {HEED_RECEIPT_ROWS, false}, exact = {HEED_RECEIPT_ROWS, true};
  for (const receipts::detail &how : {all_rows, exact}) {
    const receipts::receipt right = receipts::read(text_of(rows_, tokens_, how));
    random_source r(77100);
    for (int32_t i = 0; i < 5000 && !HasFailure(); ++i) {
      std::vector<receipts::numbers> rows = rows_;
      receipts::numbers &row = rows[r.next() % rows.size()];
      flip(row.values[r.next() % row.values.size()], r.between(0, 31));
      const receipts::difference d = receipts::first_difference(receipts::read(text_of(rows, tokens_, how)), right);
      ASSERT_TRUE(!d.is_equal && d.has_row);
      EXPECT_EQ(d.layer, row.layer);
      EXPECT_EQ(d.row, row.row);
      EXPECT_NE(receipts::first_number(rows, rows_), "");
    }
  }
}

// At other levels: the layer, and the row of logits.
TEST_F(receipt_of_a_text, shows_each_bit_at_each_level) {
  random_source r(77200);
  for (const int32_t level : {HEED_RECEIPT_LOGITS, HEED_RECEIPT_LAYERS}) {
    const receipts::receipt right = receipts::read(text_of(rows_, tokens_, {level, false}));
    for (int32_t i = 0; i < 1000 && !HasFailure(); ++i) {
      std::vector<receipts::numbers> rows = rows_;
      receipts::numbers &row = rows[r.next() % rows.size()];
      flip(row.values[r.next() % row.values.size()], r.between(0, 31));
      const receipts::difference d =
          receipts::first_difference(receipts::read(text_of(rows, tokens_, {level, false})), right);
      EXPECT_EQ(d.is_equal, level == HEED_RECEIPT_LOGITS && row.layer < 2);
      if (d.is_equal) continue;
      EXPECT_EQ(d.has_row, row.layer == 2) << d.what;
      if (row.layer < 2) {
        EXPECT_NE(d.what.find("layer " + std::to_string(row.layer)), std::string::npos) << d.what;
      }
    }
  }
}

TEST_F(receipt_of_a_text, shows_each_token_and_each_weight) {
  random_source r(77300);
  for (int32_t i = 0; i < 1000 && !HasFailure(); ++i) {
    std::vector<int32_t> tokens = tokens_;
    const size_t at = r.next() % tokens.size();
    tokens[at] = (tokens[at] + r.between(1, 29)) % 30;
    const receipts::difference d = replayed(text_of(rows_, tokens, {HEED_RECEIPT_ROWS, false}));
    ASSERT_FALSE(d.is_equal);
    EXPECT_EQ(d.row, int64_t(at)) << d.what;
  }
  const bytes good = bytes_;
  write_model(random_dreams({48, 52, 3, 6, 2, -40, 20}, 1));  // of another shape, too
  EXPECT_EQ(replayed(text_).what.find("the model is another one"), 0u) << replayed(text_).what;
  for (int32_t i = 0; i < 1000 && !HasFailure(); ++i) {
    bytes bad = good;
    const size_t header = 28;
    bad[header + r.next() % (bad.size() - header)] ^= uint8_t(1 << r.between(0, 7));
    write_model(bad);
    EXPECT_NE(replayed(text_).what.find("model"), std::string::npos);
  }
}

TEST_F(receipt_of_a_text, is_refused_if_its_text_is_changed) {
  random_source r(77400);
  for (int32_t i = 0; i < 10000; ++i) {
    std::string bad = text_;
    bad[r.next() % bad.size()] ^= char(1 << r.between(0, 7));
    EXPECT_THROW(receipts::read(bad), std::runtime_error) << bad;
  }
  for (size_t n = 0; n < text_.size(); n += size_t(r.between(1, 20)))
    EXPECT_THROW(receipts::read(text_.substr(0, n)), std::runtime_error) << n;
  EXPECT_THROW(receipts::read(text_ + "\n"), std::runtime_error);
  EXPECT_THROW(receipts::read(text_ + text_), std::runtime_error);
}

// A text that someone has ended with the right digest, line by line wrong.
TEST_F(receipt_of_a_text, names_the_line_that_is_wrong) {
  const auto why = [&](const std::string &from, const std::string &to) {
    std::string bad = lines();
    const size_t at = bad.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    bad.replace(at, from.size(), to);
    try {
      (void)replayed(ended(bad));
    } catch (const std::runtime_error &error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(why("heed-receipt 1", "heed-receipt 2"), "line 1: version 2 of receipts; this program reads version 1");
  EXPECT_EQ(why("arithmetic ", "arithmetic x"), "line 3: \"xfma\" is none of fma, no-fma, integers");
  EXPECT_EQ(why("level ", "row "), "line 7: there is no line \"level\" with 1 words");
  EXPECT_NE(why("token 3 ", "token -3 ").find("\"-3\" is not a number of 0 to"), std::string::npos);
  EXPECT_NE(why("row 2 ", "raw 2 ").find("\"raw\" is no line of a receipt"), std::string::npos);
  EXPECT_EQ(why("temperature 0", "temperature nan"), "setting temperature: \"nan\" is not a number of 0 to 1000000");
  EXPECT_EQ(why("top_p 0", "top_p 1.5"), "setting top_p: \"1.5\" is not a number of 0 to 1");
  EXPECT_EQ(why("cache f32", "cache f33"), "the cache's format \"f33\" is not one of f32, f16, bf16, int8");
  EXPECT_EQ(why("rows quantised", "rows float"), "setting rows: \"float\" is neither floats nor quantised");
  EXPECT_NE(why("format keep", "format f33").find("f33"), std::string::npos);
  EXPECT_EQ(why("prompt 4", "prompt 41"), "the prompt has more tokens than the receipt");
  EXPECT_EQ(why("token 5 ", "token 6 "), "token 5 is missing");
}

TEST_F(receipt_of_a_text, has_no_settings_that_the_program_does_not_know) {
  const auto what = [&](const std::string &setting) {
    std::string more = lines();
    more.insert(more.find("setting prompt"), "setting " + setting + "\n");
    return replayed(ended(more)).what;
  };
  EXPECT_EQ(what("gain 2"), "the receipt has a setting that is not known here: gain");
  EXPECT_EQ(what("seed 01"), "the setting seed is another one: 01 in the receipt, 1 here");
}

// A second line for a row could hide one that is wrong.
TEST_F(receipt_of_a_text, states_each_row_once) {
  std::string twice = lines();
  const size_t at = twice.find("row 2 "), end = twice.find('\n', at) + 1;
  std::string wrong = twice.substr(at, end - at);
  wrong[wrong.size() - 2] = wrong[wrong.size() - 2] == '0' ? '1' : '0';
  twice.insert(at, wrong);
  EXPECT_EQ(replayed(ended(twice)).what, "the receipt states a row twice");
}

// ---------------------------------------------------------------------------------------------------------- known answers

// A run on the device, whose packed weights someone may have touched. Null: as the known answers.
class golden_run : public receipt_of_a_text {
 protected:
  void run(const std::vector<int32_t> &tokens, const heed_compile::see_rows &see) const {
    heed_compile::run_tokens(model_.net, {}, model_.file, tokens, see);
  }
  const char *check(const std::string &expected, const std::vector<int32_t> &tokens) {
    const char *const refused = heed_golden_begin(&golden_, expected.data(), expected.size());
    heed_receipt_settings s = heed_receipt_settings_default("dreams", heed_isa_arithmetic(heed_isa_current()),
                                                            &heed_receipt_sha256, heed_golden_write, &golden_);
    heed_receipt_layer layers[2];
    s.model = model_.net.digest.data(), s.layers = layers, s.n_layers = 2, s.level = HEED_RECEIPT_LAYERS;
    heed_receipt r;
    EXPECT_EQ(heed_receipt_begin(&r, &s), nullptr);
    if (shows_memory_) heed_receipt_memory(&r, "weights", model_.file.data, model_.file.size);
    try {
      run(tokens, [&](int32_t layer, int64_t first, heed_matrix rows) { heed_receipt_see(&r, layer, first, rows); });
      heed_receipt_end(&r);
    } catch (const heed_compile::refusal &) {  // the file does not open
    }
    const char *const fault = heed_golden_end(&golden_);
    EXPECT_TRUE(refused == nullptr || fault != nullptr) << "closed";
    return refused != nullptr ? refused : fault;
  }
  std::string known_answers(const std::vector<int32_t> &tokens) const {
    receipts::writer w({"dreams", model_.net.digest, 2, false}, {});
    if (shows_memory_) heed_receipt_memory(w.get(), "weights", model_.file.data, model_.file.size);
    run(tokens, [&](int32_t layer, int64_t first, heed_matrix rows) { receipts::writer::see(&w, layer, first, rows); });
    return w.finish();
  }
  const heed_compile::in_memory model_{path_};
  heed_golden golden_;
  bool shows_memory_ = true;
};

TEST_F(golden_run, is_closed_unless_every_line_comes) {
  const std::vector<int32_t> tokens = {1, 5, 9, 2};
  const std::string known = known_answers(tokens);
  EXPECT_EQ(check(known, tokens), nullptr);
  EXPECT_STREQ(check(known, {1, 5, 9}), "a layer gave other numbers than the known answers");
  EXPECT_STREQ(check(known, {1, 5, 9, 3}), "a layer gave other numbers than the known answers");
  EXPECT_STREQ(check(known.substr(0, known.size() - 1), tokens), "the known answers are cut");
  EXPECT_STREQ(check(known.substr(0, known.find("layer 1")), tokens), "the known answers are cut");
  EXPECT_STREQ(check("", tokens), "the known answers are no receipt");
  std::string other = known;
  other.replace(other.find("contract ") + 9, 4, "0000");
  EXPECT_STREQ(check(other, tokens), "the known answers are of another model, input, arithmetic or contract");
  EXPECT_EQ(heed_golden_begin(&golden_, known.data(), known.size()), nullptr);
  EXPECT_STREQ(heed_golden_end(&golden_), "the run ended before the known answers did");
}

// One bit of the weights in memory: 1,000 of 1,000 are refused. The numbers of the run alone find most.
TEST_F(golden_run, finds_each_bit_of_the_memory_that_it_reads) {
  const std::vector<int32_t> tokens = {1, 5, 9, 2, 7, 7, 3};
  for (const bool shows_memory : {true, false}) {
    shows_memory_ = shows_memory;
    const std::string known = known_answers(tokens);
    random_source r(77500);
    int32_t n_found = 0;
    for (int32_t i = 0; i < 1000 && !HasFailure(); ++i) {
      const size_t at = r.next() % model_.file.size;
      auto *const bytes = const_cast<unsigned char *>(model_.file.data);
      const auto bit = static_cast<unsigned char>(1 << r.between(0, 7));
      bytes[at] ^= bit;
      const char *const fault = check(known, tokens);
      bytes[at] ^= bit;
      n_found += fault != nullptr;
    }
    if (shows_memory)
      EXPECT_EQ(n_found, 1000);
    else
      EXPECT_GT(n_found, 800);
    EXPECT_EQ(check(known, tokens), nullptr);
  }
}

// Two parties: the row where they part, in as many messages as the number of lines has bits.
TEST_F(receipt_of_a_text, parts_two_parties_by_halving) {
  const receipts::detail how = {HEED_RECEIPT_ROWS, false};
  const std::string mine = text_of(rows_, tokens_, how);
  EXPECT_EQ(receipts::bisect(mine, mine).line, 0u);
  for (size_t row = 0; row < rows_.size(); row += 7) {
    std::vector<receipts::numbers> rows = rows_;
    for (size_t later = row; later < rows.size(); ++later) flip(rows[later].values[0], 3);
    const receipts::dispute d = receipts::bisect(mine, text_of(rows, tokens_, how));
    EXPECT_EQ(d.line, 16 + row + 1);  // behind 16 lines of heading and settings
    EXPECT_LE(d.messages.size(), 10u);
  }
}

}  // namespace
