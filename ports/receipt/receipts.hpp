// Receipts on a host: a text in memory while a network computes, read again, compared. Failures throw std::runtime_error with a
// sentence. SPDX-License-Identifier: MIT
#ifndef HEED_RECEIPT_RECEIPTS_HPP
#define HEED_RECEIPT_RECEIPTS_HPP

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "receipt.h"

namespace receipts {

using digest_bytes = std::array<uint8_t, HEED_RECEIPT_DIGEST_BYTES>;

// What a receipt tells of the rows.
struct detail {
  int32_t level = HEED_RECEIPT_LAYERS;  // heed_receipt_level
  bool is_exact = false;                // SHA-256 of all bits, not fingerprints
};

// What goes in, of any network.
struct network {
  std::string program;
  digest_bytes model;
  int32_t n_layers;
  bool in_integers;
};

// SHA-256 of the weights as the network reads them.
digest_bytes digest_of(const void *bytes, size_t n);
std::string hex_of(const digest_bytes &digest);

// Rows of numbers as a network has shown them, of floats or integers.
struct numbers {
  int32_t layer;
  int64_t row;
  std::vector<double> values;
};

// A receipt that grows while a network computes.
//
//   receipts::writer w({"dreams", receipts::digest_of(bytes, n), n_layers, false}, {});
//   net.see = receipts::writer::see, net.see_user = &w;
//   ...
//   const std::string text = w.finish();
class writer {
 public:
  writer(const network &net, const detail &how, bool keeps_numbers = false);
  writer(const writer &) = delete;
  writer &operator=(const writer &) = delete;
  heed_receipt *get() { return &receipt_; }
  void setting(const std::string &name, const std::string &value);
  void input(const std::string &name, const std::vector<int16_t> &numbers);
  void input(const std::string &name, const std::vector<float> &numbers);
  std::string finish();
  const std::vector<numbers> &kept() const { return kept_; }
  // What a network calls with its rows; user: the writer.
  static void see(void *user, int32_t layer, int64_t first, heed_matrix rows);
  static void see_int(void *user, int32_t layer, int64_t first, heed_int_matrix rows);
  void see_words(int32_t layer, int64_t row, const int32_t *numbers, int32_t n);

 private:
  heed_receipt receipt_;
  std::vector<heed_receipt_layer> layers_;
  std::string text_;
  bool keeps_numbers_;
  std::vector<numbers> kept_;
};

// ---------------------------------------------------------------------------------------------------------- as it is read

struct input {
  std::string name, digest;
  int64_t n;
};
struct token {
  int64_t step;
  int32_t number;
};
struct digest {
  int32_t layer;
  int64_t row;  // of a layer at the end: how many rows it has
  std::string hex;
};

struct receipt {
  std::string contract, arithmetic, program, model;
  detail how;
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<input> inputs;
  std::vector<token> tokens;
  std::vector<digest> rows, layers;

  // The value of a setting, or `otherwise`.
  std::string setting(const std::string &name, const std::string &otherwise) const;
};

// A whole receipt, unchanged since it was written. A sentence names what is wrong with another text: the line, and that it is
// cut, changed, of another version or no receipt.
receipt read(const std::string &text);

// Where two receipts of one program, model and inputs differ first. Rows are compared by step, and those of a step by layer.
struct difference {
  bool is_equal = true;
  std::string what;  // a sentence
  bool has_row = false;
  int32_t layer = 0;
  int64_t row = 0;
};
difference first_difference(const receipt &made, const receipt &again);

// The first number that differs in rows which were kept, and by how much: a sentence; empty if none does.
std::string first_number(const std::vector<numbers> &made, const std::vector<numbers> &again);

// Rows of numbers as a text, as --numbers writes it: layer, row and numbers of one on each line.
std::vector<numbers> read_numbers(const std::string &path);

// What programs take besides their own options: --receipt=FILE, --level=logits|layers|rows, --exact, --numbers=FILE.
struct order {
  std::string receipt, numbers;
  detail how;
  bool is_given() const { return !receipt.empty() || !numbers.empty(); }
  // Whether this is one of them.
  bool take(const std::string &option);
  // inputs: files and folders that were read, which no output may be.
  void write(const std::string &text, const std::vector<receipts::numbers> &rows,
             const std::vector<std::string> &inputs) const;
};
constexpr char order_help[] =
    "  --receipt=FILE       writes a receipt, which heed_replay checks on any machine; --level=logits|layers|rows says "
    "how\n"
    "                       much it tells (default: layers), --exact takes SHA-256 of all bits instead of "
    "fingerprints\n"
    "  --numbers=FILE       writes all rows of all layers as text, from which heed_replay names the number that "
    "differs\n";

// How two parties find the first row that differs, if each has a receipt of its own: one asks for the digest of the first n
// lines, the other answers, and n is halved. Messages that were sent, and the number of the line; 0: none differs.
struct dispute {
  std::vector<std::string> messages;
  size_t line = 0;
};
dispute bisect(const std::string &one, const std::string &other);

}  // namespace receipts

#endif
