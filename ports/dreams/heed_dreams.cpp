// heed_dreams: the program of heed_compile on a PC; --help says how. SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <sstream>

#include "../arguments.hpp"
#include "../files.hpp"
#include "../import/file_bytes.hpp"
#include "../import/flat_file.hpp"
#include "dreams.h"
#include "runs.hpp"

namespace {

constexpr char help[] =
    R"(heed_dreams [OPTION...] PROMPT: a language model, compiled into this program. Prints the text as it comes, then the speed.
  --file=FILE          its weights (default: dreams.heed beside this program)
  --tokens=N           in all, with the prompt (default: as the context has room for)
  --temperature=T --top-k=K --top-p=P --seed=N   draws tokens; default: the most probable one
  --check=FOLDER       instead of PROMPT: FOLDER's expected.txt and logits.bin. Exit status 0: all tokens are equal, and logits within 2e-4
)";

constexpr double logit_limit = 2e-4;
constexpr int n_runs = 100;

dreams net;

struct arguments {
  std::string prompt, file, folder;
  bool has_prompt = false;
  receipts::text_settings how;
  receipts::order receipt;
  int32_t n_tokens = DREAMS_CONTEXT;
};

double number_of(const std::string &option, const std::string &value, double least, double most) {
  char *end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (!value.empty() && *end == '\0' && number >= least && number <= most) return number;
  throw std::runtime_error(option + " needs a number of " + std::to_string(int64_t(least)) + " to " +
                           std::to_string(int64_t(most)));
}

arguments read_arguments(int argc, char **argv) {
  arguments a;
  a.file = (std::filesystem::path(argv[0]).parent_path() / "dreams.heed").string();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals), value = equals < word.size() ? word.substr(equals + 1) : "";
    if (word.compare(0, 2, "--") != 0) {
      if (a.has_prompt) throw std::runtime_error("usage: heed_dreams [OPTION...] PROMPT: quote the prompt");
      a.prompt = word, a.has_prompt = true;
    } else if (a.receipt.take(word)) {
      continue;
    } else if (name == "--file") {
      a.file = value;
    } else if (name == "--check") {
      a.folder = value;
    } else if (name == "--tokens") {
      a.n_tokens = int32_t(number_of(name, value, 2, DREAMS_CONTEXT));
    } else if (name == "--temperature") {
      a.how.temperature = float(number_of(name, value, 0, 100));
    } else if (name == "--top-k") {
      a.how.top_k = int32_t(number_of(name, value, 0, DREAMS_TOKENS));
    } else if (name == "--top-p") {
      a.how.top_p = float(number_of(name, value, 0, 1));
    } else if (name == "--seed") {
      a.how.seed = uint64_t(number_of(name, value, 0, 1e15));
    } else {
      throw std::runtime_error(word + " is not an option; heed_dreams --help lists them");
    }
  }
  if (a.has_prompt != a.folder.empty()) throw std::runtime_error("needs a prompt, or --check=FOLDER");
  return a;
}

void require(const char *error, const std::string &what) {
  if (error != nullptr) throw std::runtime_error(what + ": " + error);
}

// ------------------------------------------------------------------------------------------------------------------ text

struct text {
  std::vector<int32_t> tokens;
  int32_t n_prompt;
  double seconds;
};

text generate(const arguments &a, const std::function<void(int32_t)> &each) {
  dreams_choice choice = {a.how.temperature, a.how.top_k, a.how.top_p, a.how.seed};
  dreams_restart(&net);
  require(dreams_prompt(&net, a.prompt.data(), a.prompt.size()), "the prompt");
  text t = {{}, net.n, 0};
  for (int32_t token = 0; net.n < a.n_tokens;) {
    const auto start = std::chrono::steady_clock::now();
    require(dreams_next(&net, &choice, &token), "the text");
    t.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (token < 0) break;
    each(token);
  }
  t.tokens.assign(net.tokens, net.tokens + net.n);
  return t;
}

void print(int32_t token) {
  char word[256];
  const size_t n = dreams_text(&net, token, word, sizeof word);
  for (size_t i = 0; i < n; ++i)  // a terminal would obey other control characters
    if ((static_cast<unsigned char>(word[i]) < ' ' && word[i] != '\n' && word[i] != '\t') || word[i] == 127)
      word[i] = ' ';
  std::fwrite(word, 1, n, stdout);
  files::finish_standard_output();
}

void tell(const arguments &a) {
  text best = generate(a, [](int32_t) {});
  std::printf("%s", a.prompt.c_str());
  generate(a, print);
  for (int run = 1; run < n_runs; ++run) best.seconds = std::min(best.seconds, generate(a, [](int32_t) {}).seconds);
  const double n_new = double(best.tokens.size()) - best.n_prompt;
  std::printf("\n\nheed %s, kernel %s: %zu bytes of memory", heed_version(), heed_isa_current(), sizeof net);
  if (n_new > 0)
    std::printf("; %.0f tokens a second (%.1f us each, best of %d runs)", n_new / best.seconds,
                1e6 * best.seconds / n_new, n_runs);
  std::printf("\n");
}

void write_receipt(const arguments &a) {
  receipts::digest_bytes model;
  std::copy(dreams_source, dreams_source + model.size(), model.begin());
  receipts::writer w({"dreams", model, DREAMS_LAYERS, false}, a.receipt.how, !a.receipt.numbers.empty());
  net.see = receipts::writer::see, net.see_user = &w;
  receipts::text_settings how = a.how;
  const text t = generate(a, [](int32_t) {});
  how.n_prompt = t.n_prompt;
  receipts::write_settings(w, how);
  for (size_t i = 0; i < t.tokens.size(); ++i) heed_receipt_token(w.get(), int64_t(i), t.tokens[i]);
  const std::string receipt = w.finish();
  a.receipt.write(receipt, w.kept(), {a.file});
}

// ----------------------------------------------------------------------------------------------------------------- check

// Texts of expected.txt: lines "prompt", "tokens" and "logits", which tells where its rows begin in logits.bin, and how many there are.
void check(const arguments &a) {
  const std::vector<uint8_t> lines = files::read(a.folder + "/expected.txt"),
                             logits = files::read(a.folder + "/logits.bin");
  std::istringstream in(std::string(lines.begin(), lines.end()));
  arguments one = a;
  std::vector<int32_t> tokens;
  size_t n_texts = 0, n_wrong = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "prompt") one.prompt = line.size() > 7 ? line.substr(7) : "";
    if (key == "tokens") {
      tokens.clear();
      for (int32_t token; words >> token;) tokens.push_back(token);
    }
    size_t offset = 0, n_rows = 0;
    if (key != "logits" || !(words >> offset >> n_rows)) continue;
    if (n_rows >= tokens.size() + 1 || offset > logits.size() ||
        n_rows > (logits.size() - offset) / (4 * DREAMS_TOKENS))
      throw std::runtime_error("\"" + one.prompt + "\": logits.bin has fewer numbers, or expected.txt fewer tokens");
    const std::vector<int32_t> found = generate(one, [](int32_t) {}).tokens;
    double error = 0;
    dreams_restart(&net);
    for (size_t t = 0; t < n_rows; ++t) {
      require(dreams_read(&net, &tokens[t], 1), "the text");
      for (size_t i = 0; i < DREAMS_TOKENS; ++i) {
        const double expected = double(heed_import::f32_at(&logits[offset + 4 * (t * DREAMS_TOKENS + i)]));
        const double here = std::fabs(double(net.logits[i]) - expected);
        if (!(here <= error)) error = here;
      }
    }
    const bool is_right = found == tokens && error <= logit_limit;
    std::printf("\"%s\": %s, greatest logit error %.1e\n", one.prompt.c_str(), is_right ? "as expected" : "WRONG",
                error);
    n_texts++, n_wrong += !is_right;
  }
  if (n_texts == 0) throw std::runtime_error(a.folder + "/expected.txt: lists no texts");
  if (n_wrong > 0)
    throw std::runtime_error(std::to_string(n_wrong) + " of " + std::to_string(n_texts) + " texts are wrong");
}

void run(const arguments &a) {
  heed_import::bytes memory;
  const heed_import::file_bytes file(a.file);
  const heed_import::span weights = heed_import::in_own_order(file.all(), memory);
  require(dreams_open(&net, weights.data, weights.size), a.file);
  if (!a.folder.empty())
    check(a);
  else if (a.receipt.is_given())
    write_receipt(a);
  else
    tell(a);
}

}  // namespace

int main(int argc, char **argv) {
  return run_program("heed_dreams", argc, argv, std::string(help) + receipts::order_help,
                     [&] { return run(read_arguments(argc, argv)), 0; });
}
