// heed_replay: computes what a receipt tells once more, on any machine; --help says how. SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "../arguments.hpp"
#include "../files.hpp"
#include "receipts.hpp"
#include "runs.hpp"

namespace {

constexpr char help[] =
    R"(heed_replay MODEL RECEIPT [INPUT]: computes what the receipt tells once more, all tokens at once, and compares.
  MODEL    the model's file as the program that wrote the receipt takes it (ports/sensor: its folder), or for a text, of a sound, too, as
           heed_compile took it
  RECEIPT  the receipt that heed_kwt, heed_kwt_int, heed_sensor, heed_listen, a language model of heed_compile, a board or the page in a
           browser wrote
  INPUT    what went in, unless the receipt has it: the sound (WAV), the recording (.f32). Tokens are in the receipt
  --isa=NAME       the kernel that computes: default is the widest that has the receipt's arithmetic
  --numbers=FILE   rows of numbers that --numbers of the other program wrote: says which number differs, and by how much
heed_replay --bisect RECEIPT OTHER: the messages by which two parties who each have a receipt find the first line that differs.
Prints "equal", or the first step and layer that differ. Exit status 0: equal; 1: not; 2: a file is refused.
)";

constexpr int exit_different = 1, exit_refused = 2;

struct arguments {
  std::vector<std::string> names;
  std::string isa, numbers;
  bool bisects = false;
};

arguments read_arguments(int argc, char **argv) {
  arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (word.compare(0, 2, "--") != 0)
      a.names.push_back(word);
    else if (word == "--bisect")
      a.bisects = true;
    else if (name == "--isa" && !value.empty())
      a.isa = value;
    else if (name == "--numbers" && !value.empty())
      a.numbers = value;
    else
      throw std::runtime_error(word + " is not an option; heed_replay --help lists them");
  }
  if (a.bisects ? a.names.size() != 2 : a.names.size() < 2 || a.names.size() > 3)
    throw std::runtime_error("usage: heed_replay MODEL RECEIPT [INPUT], or heed_replay --bisect RECEIPT OTHER");
  return a;
}

std::string read_text(const std::string &path) {
  const std::vector<uint8_t> bytes = files::read(path, size_t{1} << 30);
  return std::string(bytes.begin(), bytes.end());
}

receipts::receipt read_receipt(const std::string &path) {
  try {
    return receipts::read(read_text(path));
  } catch (const std::runtime_error &error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

// ---------------------------------------------------------------------------------------------------------------- choose

// The kernel that has the receipt's arithmetic. Rules that have changed since are refused before anything is computed.
void choose_kernel(const receipts::receipt &made, const std::string &isa) {
  const bool integers = made.arithmetic == "integers";
  const std::string wanted = !isa.empty() ? isa : integers ? "" : made.arithmetic == "fma" ? "fma" : "no-fma";
  if (!wanted.empty()) {
    const heed_status status = integers ? heed_int_isa_use(wanted.c_str()) : heed_isa_use(wanted.c_str());
    if (status != HEED_OK)
      throw std::runtime_error("the kernel " + wanted + ": " + heed_status_text(status) +
                               "; the receipt was made with arithmetic " + made.arithmetic);
  }
  const int32_t arithmetic = integers ? int32_t{HEED_ARITHMETIC_INTEGERS} : heed_isa_arithmetic(heed_isa_current());
  const char *const names[] = {"no-fma", "fma"};
  if (!integers && made.arithmetic != names[arithmetic == HEED_ARITHMETIC_FMA])
    throw std::runtime_error("the kernel " + std::string(heed_isa_current()) + " computes " +
                             names[arithmetic == HEED_ARITHMETIC_FMA] + ", the receipt was made with " +
                             made.arithmetic);
  char contract[16];
  std::snprintf(contract, sizeof contract, "%08x", static_cast<unsigned>(heed_isa_contract(arithmetic)));
  if (made.contract != contract)
    throw std::runtime_error("the receipt was made under other rules of heed: contract " + made.contract +
                             ", this library has " + contract);
}

struct outcome {
  receipts::run rows;
  std::string other_choice;
};

outcome compute(const receipts::receipt &made, const arguments &a) {
  const bool keeps = !a.numbers.empty(), integers = made.arithmetic == "integers";
  const bool has_input = a.names.size() == 3;
  const std::string &model = a.names[0];
  outcome o;
  const auto input = [&]() -> const std::string & {
    if (!has_input) throw std::runtime_error("this receipt of " + made.program + " needs INPUT, what went in");
    return a.names[2];
  };
  if (made.program == "kwt" || made.program == "kwt-int") {
    o.rows = receipts::of_kwt(model, input(), integers, made.how, keeps);
  } else if (made.program == "sensor" || made.program == "sensor-int") {
    o.rows = receipts::of_sensor(model, input(), integers, made.how, keeps);
  } else {
    const receipts::text_run r = receipts::of_text(model, has_input ? a.names[2] : "", made, keeps);
    o.rows = r.rows, o.other_choice = r.other_choice;
  }
  return o;
}

int tell_number(const arguments &a, const receipts::run &rows) {
  const std::string text = receipts::first_number(receipts::read_numbers(a.numbers), rows.kept);
  std::printf("%s\n", text.empty() ? "numbers: none differs" : text.c_str());
  return text.empty() ? 0 : exit_different;
}

int replay(const arguments &a) {
  const receipts::receipt made = read_receipt(a.names[1]);
  choose_kernel(made, a.isa);
  const outcome o = compute(made, a);
  const receipts::receipt again = receipts::read(o.rows.text);
  const receipts::difference d = receipts::first_difference(made, again);
  const char *const kernel = made.arithmetic == "integers" ? heed_int_isa_current() : heed_isa_current();
  if (!d.is_equal) {
    std::printf("different: %s\n", d.what.c_str());
    if (!a.numbers.empty()) tell_number(a, o.rows);
    return exit_different;
  }
  if (!o.other_choice.empty()) {
    std::printf("different: %s\n", o.other_choice.c_str());
    return exit_different;
  }
  std::string all;
  for (const auto &[n, thing] : {std::pair(made.tokens.size(), "token"),
                                 {made.inputs.size(), "input"},
                                 {made.rows.size(), "row"},
                                 {made.layers.size(), "layer"}})
    if (n > 0) all += (all.empty() ? "" : ", ") + std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
  std::printf("equal: %s; %s, checked by %s in %.1f ms\n", all.c_str(), made.arithmetic.c_str(), kernel, o.rows.ms);
  return a.numbers.empty() ? 0 : tell_number(a, o.rows);
}

int bisect(const arguments &a) {
  const receipts::dispute d = receipts::bisect(read_text(a.names[0]), read_text(a.names[1]));
  for (const std::string &message : d.messages) std::printf("%s\n", message.c_str());
  if (d.line == 0) return std::printf("equal\n"), 0;
  std::printf("line %zu is the first that differs: %zu messages\n", d.line, d.messages.size());
  return exit_different;
}

}  // namespace

int main(int argc, char **argv) {
  try {
    if (asks_for_help(argc, argv)) {
      std::fputs(help, stdout);
      files::finish_standard_output();
      return 0;
    }
    const arguments a = read_arguments(argc, argv);
    const int status = a.bisects ? bisect(a) : replay(a);
    files::finish_standard_output();
    return status;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "heed_replay: %s\n", error.what());
    return exit_refused;
  }
}
