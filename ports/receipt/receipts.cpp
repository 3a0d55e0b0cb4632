// See receipts.hpp. SPDX-License-Identifier: MIT
#include "receipts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "../files.hpp"

namespace receipts {

std::string hex_of(const digest_bytes &bytes) {
  std::string hex;
  for (const uint8_t byte : bytes) {
    static const char digits[] = "0123456789abcdef";
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  return hex;
}

namespace {

std::string digest_of_text(const std::string &text) { return hex_of(digest_of(text.data(), text.size())); }

const char *const level_names[] = {"logits", "layers", "rows"};

}  // namespace

digest_bytes digest_of(const void *bytes, size_t n) {
  digest_bytes digest;
  heed_receipt_digest(&heed_receipt_sha256, bytes, n, digest.data());
  return digest;
}

// ---------------------------------------------------------------------------------------------------------------- writer

writer::writer(const network &net, const detail &how, bool keeps_numbers) : keeps_numbers_(keeps_numbers) {
  const auto append = [](void *user, const char *line, size_t n) { static_cast<std::string *>(user)->append(line, n); };
  layers_.resize(size_t(net.n_layers));
  heed_receipt_settings s = heed_receipt_settings_default(
      net.program.c_str(),
      net.in_integers ? int32_t{HEED_ARITHMETIC_INTEGERS} : heed_isa_arithmetic(heed_isa_current()),
      &heed_receipt_sha256, append, &text_);
  s.model = net.model.data();
  s.layers = layers_.data();
  s.n_layers = net.n_layers;
  s.level = how.level;
  s.is_exact = how.is_exact;
  if (const char *const fault = heed_receipt_begin(&receipt_, &s)) throw std::runtime_error(fault);
}

void writer::setting(const std::string &name, const std::string &value) {
  heed_receipt_setting(&receipt_, name.c_str(), value.c_str());
}

void writer::input(const std::string &name, const std::vector<int16_t> &numbers) {
  heed_receipt_stream in;
  heed_receipt_input_begin(&receipt_, &in);
  heed_receipt_input_16(&receipt_, &in, numbers.data(), int32_t(numbers.size()));
  heed_receipt_input_end(&receipt_, &in, name.c_str());
}
void writer::input(const std::string &name, const std::vector<float> &numbers) {
  heed_receipt_stream in;
  heed_receipt_input_begin(&receipt_, &in);
  heed_receipt_input_32(&receipt_, &in, numbers.data(), int32_t(numbers.size()));
  heed_receipt_input_end(&receipt_, &in, name.c_str());
}

std::string writer::finish() {
  heed_receipt_end(&receipt_);
  return std::move(text_);
}

void writer::see(void *user, int32_t layer, int64_t first, heed_matrix rows) {
  writer &w = *static_cast<writer *>(user);
  heed_receipt_see(&w.receipt_, layer, first, rows);
  for (int32_t i = 0; w.keeps_numbers_ && i < rows.n_rows; ++i) {
    const float *const row = rows.data + i * rows.row_stride;
    w.kept_.push_back({layer, first + i, std::vector<double>(row, row + rows.dim)});
  }
}

void writer::see_int(void *user, int32_t layer, int64_t first, heed_int_matrix rows) {
  writer &w = *static_cast<writer *>(user);
  heed_receipt_see_int(&w.receipt_, layer, first, rows);
  for (int32_t i = 0; w.keeps_numbers_ && i < rows.n_rows; ++i) {
    numbers n = {layer, first + i, {}};
    for (int32_t k = 0; k < rows.dim; ++k) {
      const ptrdiff_t at = i * rows.row_stride + k;
      n.values.push_back(rows.dtype == HEED_INT16 ? static_cast<const int16_t *>(rows.data)[at]
                                                  : static_cast<const int8_t *>(rows.data)[at]);
    }
    w.kept_.push_back(n);
  }
}

void writer::see_words(int32_t layer, int64_t row, const int32_t *words, int32_t n) {
  heed_receipt_see_words(&receipt_, layer, row, words, n);
  if (keeps_numbers_) kept_.push_back({layer, row, std::vector<double>(words, words + n)});
}

// ---------------------------------------------------------------------------------------------------------------- reader

namespace {

// The lines of a receipt, one after another; each is split into its words.
class lines {
 public:
  explicit lines(const std::string &text) : in_(text) {}
  bool next() {
    std::string line;
    if (!std::getline(in_, line)) return false;
    ++number_;
    words_.clear();
    std::istringstream rest(line);
    for (std::string word; rest >> word;) words_.push_back(word);
    return true;
  }
  [[noreturn]] void refuse(const std::string &why) const {
    throw std::runtime_error("line " + std::to_string(number_) + ": " + why);
  }
  const std::string &kind() const {
    static const std::string none;
    return words_.empty() ? none : words_[0];
  }
  // A line of this kind with so many words behind it.
  void require(const std::string &kind_, size_t n) const {
    if (kind() != kind_ || words_.size() != n + 1)
      refuse("there is no line \"" + kind_ + "\" with " + std::to_string(n) + " words");
  }
  const std::string &word(size_t i) const { return words_[i]; }
  int64_t number(size_t i, int64_t least, int64_t most) const {
    const std::string &text = words_[i];
    int64_t n = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), n);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || n < least || n > most)
      refuse("\"" + text + "\" is not a number of " + std::to_string(least) + " to " + std::to_string(most));
    return n;
  }
  const std::string &hex(size_t i, size_t n_digits) const {
    const std::string &text = words_[i];
    if (text.size() != n_digits || text.find_first_not_of("0123456789abcdef") != std::string::npos)
      refuse("\"" + text + "\" is not a digest of " + std::to_string(n_digits) + " digits");
    return text;
  }
  // One of some words; which.
  template <size_t N>
  int32_t one_of(size_t i, const char *const (&names)[N]) const {
    for (size_t k = 0; k < N; ++k)
      if (words_[i] == names[k]) return int32_t(k);
    std::string all;
    for (const char *name : names) all += std::string(all.empty() ? "" : ", ") + name;
    refuse("\"" + words_[i] + "\" is none of " + all);
  }

 private:
  std::istringstream in_;
  size_t number_ = 0;
  std::vector<std::string> words_;
};

constexpr int64_t most_rows = int64_t{1} << 40, most_bytes = int64_t{1} << 48, most_layers = 1 << 20;
constexpr size_t row_digits = 2 * HEED_RECEIPT_ROW_BYTES, digest_digits = 2 * HEED_RECEIPT_DIGEST_BYTES;

void read_heading(lines &in, receipt &r) {
  static const char *const arithmetics[] = {"fma", "no-fma", "integers"}, *const digests[] = {"fingerprint", "sha256"};
  const auto next = [&](const char *kind) {
    if (!in.next()) throw std::runtime_error("the receipt is cut: there is no line \"" + std::string(kind) + "\"");
    in.require(kind, 1);
  };
  next("contract");
  r.contract = in.hex(1, 8);
  next("arithmetic");
  r.arithmetic = arithmetics[in.one_of(1, arithmetics)];
  next("program");
  r.program = in.word(1);
  next("model");
  r.model = in.hex(1, digest_digits);
  next("digest");
  r.how.is_exact = in.one_of(1, digests) == 1;
  next("level");
  r.how.level = in.one_of(1, level_names);
}

void read_line(const lines &in, receipt &r) {
  if (in.kind() == "setting") {
    in.require("setting", 2);
    r.settings.emplace_back(in.word(1), in.word(2));
  } else if (in.kind() == "input") {
    in.require("input", 3);
    r.inputs.push_back({in.word(1), in.hex(3, digest_digits), in.number(2, 0, most_bytes)});
  } else if (in.kind() == "token") {
    in.require("token", 2);
    r.tokens.push_back({in.number(1, 0, most_rows), int32_t(in.number(2, 0, INT32_MAX))});
  } else if (in.kind() == "row") {
    in.require("row", 3);
    r.rows.push_back({int32_t(in.number(1, 0, most_layers)), in.number(2, 0, most_rows), in.hex(3, row_digits)});
  } else if (in.kind() == "layer") {
    in.require("layer", 3);
    r.layers.push_back({int32_t(in.number(1, 0, most_layers)), in.number(2, 0, UINT32_MAX), in.hex(3, row_digits)});
  } else {
    in.refuse("\"" + in.kind() + "\" is no line of a receipt");
  }
}

}  // namespace

std::string receipt::setting(const std::string &name, const std::string &otherwise) const {
  for (const auto &s : settings)
    if (s.first == name) return s.second;
  return otherwise;
}

receipt read(const std::string &text) {
  if (text.compare(0, 13, "heed-receipt ") != 0)
    throw std::runtime_error("this is no receipt: it does not begin with \"heed-receipt\"");
  lines in(text);
  in.next();
  in.require("heed-receipt", 1);
  if (in.word(1) != std::to_string(HEED_RECEIPT_VERSION))
    in.refuse("version " + in.word(1) + " of receipts; this program reads version " +
              std::to_string(HEED_RECEIPT_VERSION));
  const size_t last = text.rfind("\nend ");
  if (text.back() != '\n' || last == std::string::npos || text.find('\n', last + 1) != text.size() - 1)
    throw std::runtime_error("the receipt is cut: its last line, \"end\", is missing");
  if (text.substr(last + 5, text.size() - last - 6) != digest_of_text(text.substr(0, last + 1)))
    throw std::runtime_error(
        "the receipt was changed after it was written: its last line is not the digest of the others");
  receipt r;
  read_heading(in, r);
  while (in.next() && in.kind() != "end") read_line(in, r);
  return r;
}

// --------------------------------------------------------------------------------------------------------------- compare

namespace {

std::string place_of(int32_t layer, int64_t row, int32_t n_layers) {
  const std::string step = "step " + std::to_string(row);
  return step + (layer == n_layers ? ", the last row" : ", layer " + std::to_string(layer));
}

// Digests by step and layer.
using by_place = std::map<std::pair<int64_t, int32_t>, std::string>;
by_place sorted(const std::vector<digest> &all) {
  by_place places;
  for (const digest &d : all) places[{d.row, d.layer}] = d.hex;
  return places;
}

int32_t last_layer(const receipt &r) {
  int32_t last = 0;
  for (const digest &d : r.rows) last = std::max(last, d.layer);
  return last;
}

difference different(const std::string &what) {
  difference d;
  d.is_equal = false;
  d.what = what;
  return d;
}

// Facts of the heading, of which the first that differs is named.
std::string fact_that_differs(const receipt &made, const receipt &again) {
  const std::tuple<const char *, const std::string &, const std::string &> facts[] = {
      {"program", made.program, again.program},
      {"contract of heed", made.contract, again.contract},
      {"arithmetic", made.arithmetic, again.arithmetic},
      {"model", made.model, again.model}};
  for (const auto &[name, a, b] : facts)
    if (a != b) return "the " + std::string(name) + " is another one: " + a + " in the receipt, " + b + " here";
  return "";
}

// A setting that the program does not know, or reads as another one, could change bits.
std::string setting_that_differs(const receipt &made, const receipt &again) {
  for (const auto &[name, value] : made.settings) {
    const std::string here = again.setting(name, "");
    if (here.empty()) return "the receipt has a setting that is not known here: " + name;
    if (here != value)
      return "the setting " + name + " is another one: " + value + " in the receipt, " + here + " here";
  }
  return "";
}

std::string input_that_differs(const receipt &made, const receipt &again) {
  if (made.inputs.size() != again.inputs.size())
    return "the receipt has " + std::to_string(made.inputs.size()) + " inputs, here are " +
           std::to_string(again.inputs.size());
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    const input &a = made.inputs[i], &b = again.inputs[i];
    if (a.name != b.name || a.n != b.n || a.digest != b.digest)
      return "input " + std::to_string(i) + ", \"" + a.name + "\" of " + std::to_string(a.n) +
             " numbers, is not the one that was used";
  }
  return "";
}

}  // namespace

difference first_difference(const receipt &made, const receipt &again) {
  const std::string fact = fact_that_differs(made, again);
  if (!fact.empty()) return different(fact);
  const std::string setting = setting_that_differs(made, again);
  if (!setting.empty()) return different(setting);
  const std::string of_input = input_that_differs(made, again);
  if (!of_input.empty()) return different(of_input);
  const by_place rows = sorted(made.rows), mine = sorted(again.rows);
  if (rows.size() != made.rows.size()) return different("the receipt states a row twice");
  const int32_t n_layers = std::max(last_layer(made), last_layer(again));
  for (const auto &[place, hex] : rows) {
    const auto found = mine.find(place);
    const std::string where = place_of(place.second, place.first, n_layers);
    if (found == mine.end()) return different(where + ": the receipt has a row that is not computed here");
    if (found->second == hex) continue;
    difference d = different(where + ": other numbers");
    d.has_row = true, d.layer = place.second, d.row = place.first;
    return d;
  }
  if (rows.size() != mine.size())
    return different("the receipt has " + std::to_string(rows.size()) + " rows, here are " +
                     std::to_string(mine.size()));
  if (made.layers.size() != again.layers.size()) return different("the receipt has digests of other layers");
  for (size_t i = 0; i < made.layers.size(); ++i) {
    const digest &a = made.layers[i], &b = again.layers[i];
    if (a.layer != b.layer || a.row != b.row || a.hex != b.hex)
      return different("layer " + std::to_string(a.layer) + ": other numbers in one of its " + std::to_string(a.row) +
                       " rows");
  }
  return {};
}

std::string first_number(const std::vector<numbers> &made, const std::vector<numbers> &again) {
  std::map<std::pair<int64_t, int32_t>, const numbers *> here;
  for (const numbers &n : again) here[{n.row, n.layer}] = &n;
  std::map<std::pair<int64_t, int32_t>, const numbers *> there;
  for (const numbers &n : made) there[{n.row, n.layer}] = &n;
  for (const auto &[place, a] : there) {
    const auto found = here.find(place);
    if (found == here.end()) continue;
    const numbers &b = *found->second;
    for (size_t i = 0; i < std::min(a->values.size(), b.values.size()); ++i) {
      const bool both_nan = std::isnan(a->values[i]) && std::isnan(b.values[i]);  // whose bits are not promised
      if (both_nan || std::memcmp(&a->values[i], &b.values[i], sizeof(double)) == 0) continue;
      std::ostringstream text;
      text.precision(9);
      text << "step " << a->row << ", layer " << a->layer << ", number " << i << ": " << a->values[i] << " was made, "
           << b.values[i] << " is computed here, " << a->values[i] - b.values[i] << " apart";
      return text.str();
    }
  }
  return "";
}

// ----------------------------------------------------------------------------------------------------------------- files

namespace {

void write_numbers(files::output_file &out, const std::vector<numbers> &rows) {
  for (const numbers &row : rows) {
    std::string line = std::to_string(row.layer) + " " + std::to_string(row.row);
    for (const double x : row.values) {
      char text[32];
      std::snprintf(text, sizeof text, " %.17g", x);
      line += text;
    }
    line += "\n";
    out.write(line.data(), line.size());
  }
  out.finish();
}

}  // namespace

std::vector<numbers> read_numbers(const std::string &path) {
  const std::vector<uint8_t> bytes = files::read(path, size_t{1} << 30);
  std::istringstream in(std::string(bytes.begin(), bytes.end()));
  std::vector<numbers> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    numbers row;
    if (!(words >> row.layer >> row.row))
      throw std::runtime_error(path + ", line " + std::to_string(rows.size() + 1) +
                               ": does not begin with a layer and a row");
    for (std::string word; words >> word;) {
      char *end = nullptr;
      row.values.push_back(std::strtod(word.c_str(), &end));
      if (*end != 0)
        throw std::runtime_error(path + ", line " + std::to_string(rows.size() + 1) + ": \"" + word +
                                 "\" is no number");
    }
    rows.push_back(row);
  }
  return rows;
}

bool order::take(const std::string &option) {
  const size_t equals = option.find('=');
  const std::string name = option.substr(0, equals),
                    value = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (option == "--exact") {
    how.is_exact = true;
  } else if (name == "--receipt" && !value.empty()) {
    receipt = value;
  } else if (name == "--numbers" && !value.empty()) {
    numbers = value;
  } else if (name == "--level") {
    const auto *const found = std::find(std::begin(level_names), std::end(level_names), value);
    if (found == std::end(level_names)) throw std::runtime_error("--level needs logits, layers or rows");
    how.level = int32_t(found - std::begin(level_names));
  } else {
    return false;
  }
  return true;
}

namespace {

// The inputs, and instead of a folder all files in it.
std::vector<std::string> files_of(const std::vector<std::string> &inputs) {
  std::vector<std::string> all;
  for (const std::string &input : inputs) {
    if (!std::filesystem::is_directory(input)) {
      all.push_back(input);
      continue;
    }
    for (const auto &entry : std::filesystem::recursive_directory_iterator(input)) all.push_back(entry.path().string());
  }
  return all;
}

}  // namespace

void order::write(const std::string &text, const std::vector<receipts::numbers> &rows,
                  const std::vector<std::string> &inputs) const {
  const std::vector<std::string> read = files_of(inputs);
  if (!receipt.empty()) files::write_whole(receipt, text.data(), text.size(), read);
  if (numbers.empty()) return;
  files::output_file out(numbers, read);
  if (!receipt.empty() && std::filesystem::equivalent(receipt, numbers))
    throw std::runtime_error(numbers + ": is the receipt, too: name another file");
  write_numbers(out, rows);
}

// --------------------------------------------------------------------------------------------------------------- dispute

namespace {

// Where each line begins, and the end of the text.
std::vector<size_t> starts_of(const std::string &text) {
  std::vector<size_t> starts = {0};
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) starts.push_back(at + 1);
  return starts;
}

}  // namespace

dispute bisect(const std::string &one, const std::string &other) {
  const std::vector<size_t> mine = starts_of(one), theirs = starts_of(other);
  dispute d;
  size_t same = 0, differs = std::min(mine.size(), theirs.size()) - 1;  // lines
  const auto equal = [&](size_t n) {
    const std::string a = digest_of_text(one.substr(0, mine[n])), b = digest_of_text(other.substr(0, theirs[n]));
    d.messages.push_back("the first " + std::to_string(n) + " lines: " + a.substr(0, 16) +
                         (a == b ? " = " : " is not ") + b.substr(0, 16));
    return a == b;
  };
  if (equal(differs)) {
    d.line = mine.size() == theirs.size() ? 0 : differs + 1;
    return d;
  }
  while (differs - same > 1) {
    const size_t middle = same + (differs - same) / 2;
    (equal(middle) ? same : differs) = middle;
  }
  d.line = differs;
  return d;
}

}  // namespace receipts
