// heed_tokens: texts to tokens and back, with the tokenizer of a flat file; --help says how. SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../arguments.hpp"
#include "../import/file_bytes.hpp"
#include "../names.hpp"
#include "../output_file.hpp"
#include "text.h"
#include "tokenizer.h"

namespace {

constexpr char help[] =
    R"(heed_tokens FILE [TEXT...]: the tokens of each text, or of each line of standard input.
  FILE           what heed_import makes of tokenizer.json or GGUF
  --add          with the tokens that the model wants before and after a text
  --special      "<|im_start|>" in a text is that token
  --json         each line of standard input is a string of JSON, which may have line ends
  --decode       the other way round: numbers with commas or blanks between, and the text that they are
  --list         every token: its number, its bytes in C's letters
Exit status 0; 1: the file, a text or a number is refused; 2: the command is.
)";

struct arguments {
  std::vector<std::string> names;
  int32_t how = HEED_TOKENIZER_PLAIN;
  bool decodes = false, is_json = false, lists = false;
};

arguments read_arguments(int argc, char **argv) {
  arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--add")
      a.how |= HEED_TOKENIZER_ADD;
    else if (word == "--special")
      a.how |= HEED_TOKENIZER_SPECIAL;
    else if (word == "--decode")
      a.decodes = true;
    else if (word == "--json")
      a.is_json = true;
    else if (word == "--list")
      a.lists = true;
    else if (word.compare(0, 2, "--") == 0)
      throw std::invalid_argument(word + " is not an option; heed_tokens --help lists them");
    else
      a.names.push_back(word);
  }
  if (a.names.empty()) throw std::invalid_argument("no file is named; heed_tokens --help says how");
  const bool has_texts = a.names.size() > 1;
  if (a.lists && (has_texts || a.decodes || a.is_json)) throw std::invalid_argument("--list goes with a file alone");
  if (a.is_json && (has_texts || a.decodes))
    throw std::invalid_argument("--json is for lines of standard input that are texts");
  return a;
}

void require(const char *error, const std::string &what) {
  if (error != nullptr) throw std::runtime_error(what + ": " + error);
}

class vocabulary {
 public:
  explicit vocabulary(const std::string &path) : bytes_(bytes_of(path)) {
    heed_file file;
    require(heed_file_open(&file, bytes_.all().data, bytes_.all().size), path);
    require(heed_tokenizer_open(&tokenizer_, &file), path);
  }

  void encode(const std::string &text, int32_t how) {
    std::vector<uint64_t> workspace(heed_tokenizer_workspace_bytes(&tokenizer_, text.size()) / 8 + 1);
    std::vector<int32_t> tokens(text.size() + 16);
    int32_t n = 0;
    const auto run = [&] {
      return heed_tokenizer_encode(&tokenizer_, text.data(), text.size(), how, tokens.data(),
                                   static_cast<int32_t>(tokens.size()), &n,
                                   heed_memory_of(workspace.data(), 8 * workspace.size()));
    };
    const char *error = run();
    if (error != nullptr && static_cast<size_t>(n) > tokens.size()) {
      tokens.resize(static_cast<size_t>(n));
      error = run();
    }
    require(error, "the text");
    for (int32_t i = 0; i < n; ++i)
      std::printf("%s%d", i > 0 ? "," : "", static_cast<int>(tokens[static_cast<size_t>(i)]));
    std::printf("\n");
  }

  std::string text_of(int32_t previous, int32_t token) const {
    std::string text(heed_tokenizer_decode(&tokenizer_, previous, token, nullptr, 0), '\0');
    heed_tokenizer_decode(&tokenizer_, previous, token, text.data(), text.size());
    return text;
  }

  void decode(const std::string &numbers) const {
    int32_t previous = -1;
    std::string all;
    for (const char *at = numbers.c_str();;) {
      at += std::strspn(at, ", \t\r");
      if (*at == '\0') break;
      char *end;
      const long token = std::strtol(at, &end, 10);
      if (end == at) throw std::runtime_error("\"" + names::for_terminal(at) + "\" is no number of a token");
      if (token < 0 || token >= tokenizer_.n_tokens)
        throw std::runtime_error("token " + std::to_string(token) + " is not in the vocabulary");
      all += text_of(previous, static_cast<int32_t>(token));
      previous = static_cast<int32_t>(token), at = end;
    }
    std::fwrite(all.data(), 1, all.size(), stdout);
    std::printf("\n");
  }

  void list() const {
    for (int32_t t = 0; t < tokenizer_.n_tokens; ++t) {
      std::printf("%d ", static_cast<int>(t));
      for (const unsigned char c : text_of(t, t)) {
        if (c > ' ' && c < 0x7f && c != '\\')
          std::printf("%c", c);
        else
          std::printf("\\%03o", c);
      }
      std::printf("\n");
    }
  }

 private:
  static heed_import::file_bytes bytes_of(const std::string &path) {
    try {
      return heed_import::file_bytes(path);
    } catch (const heed_import::refusal &error) {
      throw std::runtime_error(path + ": " + error.what());
    }
  }

  heed_import::file_bytes bytes_;
  heed_tokenizer tokenizer_;
};

// A string of JSON, byte by byte.
class json_string {
 public:
  explicit json_string(const std::string &line) : line_(line) {}

  std::string text() {
    if (next() != '"') refuse();
    std::string all;
    for (char c; (c = next()) != '"';) {
      if (c == '\\')
        add_escaped(all);
      else
        all += c;
    }
    if (at_ != line_.size()) refuse();
    return all;
  }

 private:
  [[noreturn]] void refuse() const {
    throw std::runtime_error("a line is no string of JSON: " + names::for_terminal(line_));
  }
  char next() {
    if (at_ == line_.size()) refuse();
    return line_[at_++];
  }
  int32_t unit() {
    static const std::string digits = "0123456789abcdef0123456789ABCDEF";
    int32_t all = 0;
    for (int i = 0; i < 4; ++i) {
      const size_t digit = digits.find(next());
      if (digit == std::string::npos) refuse();
      all = 16 * all + static_cast<int32_t>(digit % 16);
    }
    return all;
  }
  void add_escaped(std::string &all) {
    static const std::string letters = "nrtbf\"\\/", meant = "\n\r\t\b\f\"\\/";
    const char letter = next();
    if (letter != 'u') {
      const size_t which = letters.find(letter);
      if (which == std::string::npos) refuse();
      all += meant[which];
      return;
    }
    int32_t character = unit();
    if (character >= 0xd800 && character < 0xe000) {  // one half of a character above U+FFFF
      if (character >= 0xdc00 || next() != '\\' || next() != 'u') refuse();
      const int32_t low = unit();
      if (low < 0xdc00 || low >= 0xe000) refuse();
      character = 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
    }
    uint8_t bytes[4];
    all.append(bytes, bytes + put_character(bytes, character));
  }

  const std::string &line_;
  size_t at_ = 0;
};

void run(const arguments &a) {
  vocabulary v(a.names[0]);
  if (a.lists) return v.list();
  const auto answer = [&](const std::string &text) { a.decodes ? v.decode(text) : v.encode(text, a.how); };
  for (size_t i = 1; i < a.names.size(); ++i) answer(a.names[i]);
  if (a.names.size() > 1) return;
  for (std::string line; std::getline(std::cin, line);) answer(a.is_json ? json_string(line).text() : line);
}

}  // namespace

int main(int argc, char **argv) {
  try {
    if (asks_for_help(argc, argv))
      std::fputs(help, stdout);
    else
      run(read_arguments(argc, argv));
    files::finish_standard_output();
    return 0;
  } catch (const std::invalid_argument &error) {
    std::fprintf(stderr, "heed_tokens: %s\n", error.what());
    return 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "heed_tokens: %s\n", error.what());
    return 1;
  }
}
