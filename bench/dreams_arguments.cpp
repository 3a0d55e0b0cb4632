// See dreams_arguments.hpp. SPDX-License-Identifier: MIT
#include "dreams_arguments.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace {

// Limits are whole numbers.
std::string text_of(double limit) { return std::to_string(static_cast<long long>(limit)); }

double number_of(const std::string &option, const std::string &value, double least, double most) {
  char *end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !(number >= least && number <= most))
    throw std::runtime_error(option + " needs a number of " + text_of(least) + " to " + text_of(most));
  return number;
}

int32_t format_of(const std::string &name) {
  const char *const names[] = {"f32", "f16", "bf16", "int8"};  // as heed_dtype counts
  for (int32_t f = 0; f < 4; ++f)
    if (name == names[f]) return f;
  throw std::runtime_error("--cache needs f32, f16, bf16 or int8");
}

void take_option(const std::string &option, dreams_arguments &a) {
  const size_t equals = option.find('=');
  const std::string name = option.substr(0, equals), value = equals < option.size() ? option.substr(equals + 1) : "";
  const auto count = [&](double least) { return int32_t(number_of(name, value, least, 1e6)); };
  if (a.receipt.take(option)) return;
  if (option == "--bits")
    a.bits = true;
  else if (option == "--in-place")
    a.in_place = true;
  else if (option == "--draft")
    a.draft = true;
  else if (option == "--in-integers")
    a.in_integers = true;
  else if (name == "--weights" && !value.empty())
    a.weights = value;
  else if (name == "--map" && !value.empty())
    a.map = value;
  else if (name == "--cache")
    a.settings.cache_format = format_of(value);
  else if (name == "--window")
    a.settings.window = count(1);
  else if (name == "--pinned")
    a.settings.pinned = count(0);
  else if (name == "--tokens")
    a.n_tokens = count(2);
  else if (name == "--temperature")
    a.choice.temperature = float(number_of(name, value, 0.0, 100.0));
  else if (name == "--top-p")
    a.choice.top_p = float(number_of(name, value, 0.0, 1.0));
  else if (name == "--seed")
    a.choice.seed = uint64_t(number_of(name, value, 0.0, 1e15));
  else
    throw std::runtime_error(option + " is not an option; heed_dreams --help lists them");
}

}  // namespace

dreams_arguments read_dreams_arguments(int argc, char **argv) {
  dreams_arguments a;
  int at = 1;
  for (; at < argc && std::strncmp(argv[at], "--", 2) == 0; ++at) take_option(argv[at], a);
  if (argc - at > 2) throw std::runtime_error("usage: heed_dreams [OPTION...] [FOLDER [PROMPT]]: quote the prompt");
  const char *folder = at < argc ? argv[at] : std::getenv("HEED_DREAMS");
  if (folder != nullptr) a.folder = folder;
  a.has_prompt = argc - at == 2;
  if (a.has_prompt) a.prompt = argv[at + 1];
  if (!a.map.empty() && (!a.has_prompt || a.settings.window > 0))
    throw std::runtime_error("--map goes with a prompt and no window");
  if (a.draft && a.receipt.is_given() && (a.receipt.how.level != HEED_RECEIPT_LOGITS || !a.receipt.numbers.empty()))
    throw std::runtime_error(
        "--draft reads tokens that do not stay: its receipts have --level=logits, and no --numbers");
  if (a.receipt.is_given() && !a.has_prompt) throw std::runtime_error("--receipt and --numbers go with a prompt");
  return a;
}
