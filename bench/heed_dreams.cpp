// heed_dreams: a language model of llama2.c's kind; --help says how. SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "../ports/arguments.hpp"
#include "../ports/output_file.hpp"
#include "dreams.h"
#include "dreams_arguments.hpp"
#include "dreams_digest.h"
#include "dreams_draft.h"
#include "dreams_files.hpp"
#include "dreams_map.hpp"
#include "dreams_parts.hpp"
#include "runs.hpp"

namespace {

constexpr char help[] =
    R"(heed_dreams [OPTION...] [FOLDER [PROMPT]]: a language model of llama2.c's kind. FOLDER (default: environment variable
HEED_DREAMS) holds model.bin and tokenizer.bin. With PROMPT: prints the text as it comes, then the speed and where
the time goes. Without: reads FOLDER's expected.txt and logits.bin, and checks every prompt token by token; exit
status 0: all tokens equal and logits within 2e-4 (with int8 weights: how many tokens stay the same is only told);
77: no folder; 1: anything else.
  --weights=FILE       instead of FOLDER/model.bin: what dreams_weights wrote
  --in-place           reads the weights as they lie in the file; else they are packed in memory first
  --in-integers        packs them in int8, and quantises rows on their way into products
  --cache=FORMAT       of keys and values: f32 (default), f16, bf16, int8
  --window=N           a token sees the N newest ones, and text has no end    --pinned=N  and the first N
  --tokens=N           in all, with the prompt (default: as the context has room for; with a window 1000)
  --temperature=T --top-p=P --seed=N   draws tokens; default: the most probable one
  --draft              reads what followed the newest two tokens when they came before along with the newest one, and keeps
                       what the logits choose: the same text, sooner where it repeats
  --bits               a line for every prompt: its tokens, a digest of the bits of all logits; first the
                       arithmetic. What a board must print, too.
  --map=MAP            what each token of the text attended to, in all layers and heads, for heed_map
)";

using arguments = dreams_arguments;
using dreams_files::expected_text;

constexpr double logit_limit = 2e-4;
constexpr int exit_no_folder = 77, n_runs = 100;
constexpr size_t n_first_tokens = 40;  // of the first prompt, which int8 weights ought to keep

dreams net;
dreams_words words;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// ------------------------------------------------------------------------------------------------------------- files

// They stay in memory while net and words read them, and so does the memory of these two.
struct loaded_files {
  dreams_files::aligned_model model;
  std::vector<uint8_t> tokenizer;
  dreams_files::room packed = dreams_files::room(), net = dreams_files::room(), words = dreams_files::room();
};

loaded_files load(const arguments &a) {
  const std::string model = a.weights.empty() ? a.folder + "/model.bin" : a.weights;
  return {dreams_files::aligned_model(dreams_files::read(model)), dreams_files::read(a.folder + "/tokenizer.bin")};
}

// Weights in the order in which they are read. The bits are the same.
void pack(const std::string &path, bool in_integers, dreams_files::room &packed) {
  packed = dreams_files::room(dreams_packed_bytes(&net));
  dreams_files::require_ok(
      net, in_integers ? dreams_pack_in_integers(&net, packed.memory()) : dreams_pack(&net, packed.memory()), path);
}

void open(const arguments &a, loaded_files &files) {
  const std::string model = a.weights.empty() ? a.folder + "/model.bin" : a.weights;
  dreams_files::require_ok(net, dreams_files::open(net, files.model, a.settings, files.net), model);
  if (!a.in_place || a.in_integers) pack(model, a.in_integers, files.packed);
  int32_t bad = -1;
  const dreams_status status = dreams_files::open(words, files.tokenizer, net.model.n_tokens, files.words, &bad);
  dreams_files::require_ok(net, status,
                           a.folder + "/tokenizer.bin" + (bad >= 0 ? ": token " + std::to_string(bad) : ""));
}

std::vector<int32_t> encode(const std::string &prompt) {
  std::vector<int32_t> tokens(prompt.size() + 2);
  int32_t n = 0;
  dreams_files::require_ok(net, dreams_encode(&words, prompt.c_str(), tokens.data(), int32_t(tokens.size()), &n),
                           "the prompt");
  tokens.resize(size_t(n));
  return tokens;
}

// Tokens, those of the prompt included, that the settings have room for.
int32_t room(const arguments &a) {
  const int32_t most = a.settings.window > 0 ? 1000 : net.model.n_positions;
  return a.n_tokens > 0 && (a.n_tokens < most || a.settings.window > 0) ? a.n_tokens : most;
}

// ------------------------------------------------------------------------------------------------------ text and time

void print(int32_t previous, int32_t token) {
  std::string text(size_t(words.longest) + 1, ' ');
  text.resize(size_t(dreams_decode(&words, previous, token, &text[0], int32_t(text.size()))));
  for (char &c : text)  // a terminal would obey other control characters
    if ((static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == 127) c = ' ';
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// Share of every part, each the least of some runs: the network in steps, over tokens that were generated before.
void print_shares(const std::vector<int32_t> &tokens) {
  std::vector<float> logits(size_t(net.model.n_tokens));
  dreams_parts parts(net);
  std::array<double, n_dreams_parts> least;
  least.fill(std::numeric_limits<double>::infinity());
  for (int run = 0; run < n_runs; ++run) {
    dreams_restart(&net);
    parts.restart();
    for (const int32_t token : tokens) parts.read(token, logits.data());
    for (size_t p = 0; p < n_dreams_parts; ++p) least[p] = std::min(least[p], parts.nanoseconds(dreams_part(p)));
  }
  const double whole = std::accumulate(least.begin(), least.end(), 0.0);
  std::printf("of the time (layers in steps, %.1f us a token): ", 1e-3 * whole / double(tokens.size()));
  for (size_t p = 0; p < n_dreams_parts; ++p)
    std::printf("%s%s %.0f %%", p > 0 ? ", " : "", dreams_part_names[p], 100.0 * least[p] / whole);
  std::printf("\n");
}

struct generated {
  std::vector<int32_t> tokens;
  double prompt_seconds = 0.0, seconds = 0.0;  // without printing
  dreams_draft draft = {};
};

uint64_t nanoseconds(void *) {
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

// With drafts: the same tokens.
generated generate_drafted(const std::vector<int32_t> &prompt, int32_t n_tokens, dreams_choice choice) {
  generated g;
  g.tokens = prompt;
  g.tokens.resize(size_t(std::max(n_tokens, int32_t(prompt.size()))));
  std::vector<float> logits(size_t(1 + DREAMS_DRAFT_MOST) * size_t(net.model.n_tokens));
  dreams_files::room sampling(HEED_SAMPLE_BYTES(net.model.n_tokens));
  g.draft = dreams_draft_default();
  g.draft.clock = nanoseconds;
  dreams_restart(&net);
  int32_t n = int32_t(prompt.size());
  double start = seconds_now();
  if (n > 1) dreams_files::require_ok(net, dreams_read(&net, prompt.data(), n - 1, nullptr, 0), "the prompt");
  g.prompt_seconds = seconds_now() - start;
  start = seconds_now();
  while (n < n_tokens && (n == int32_t(prompt.size()) || g.tokens[size_t(n) - 1] != 1))
    dreams_files::require_ok(
        net,
        dreams_draft_next(&net, &g.draft, &choice, g.tokens.data(), &n, n_tokens, logits.data(), sampling.memory()),
        "the text");
  g.seconds = seconds_now() - start;
  if (n > int32_t(prompt.size()) && g.tokens[size_t(n) - 1] == 1) --n;
  g.tokens.resize(size_t(n));
  return g;
}

// Stops at token 1, which begins a text. The last token is not read: there is no room for what would follow.
generated generate(const std::vector<int32_t> &prompt, int32_t n_tokens, dreams_choice choice, bool show) {
  generated g;
  g.tokens = prompt;
  std::vector<float> logits(size_t(net.model.n_tokens));
  dreams_files::room sampling(HEED_SAMPLE_BYTES(net.model.n_tokens));
  dreams_restart(&net);
  double start = seconds_now();
  dreams_files::require_ok(net, dreams_read(&net, prompt.data(), int32_t(prompt.size()), logits.data(), 1),
                           "the prompt");
  g.prompt_seconds = seconds_now() - start;
  for (size_t i = 1; show && i < prompt.size(); ++i) print(prompt[i - 1], prompt[i]);
  while (int32_t(g.tokens.size()) < n_tokens) {
    start = seconds_now();
    const int32_t token = dreams_choose(&choice, logits.data(), net.model.n_tokens, sampling.memory()),
                  previous = g.tokens.back();
    if (token == 1) break;
    g.tokens.push_back(token);
    if (int32_t(g.tokens.size()) < n_tokens)
      dreams_files::require_ok(net, dreams_read(&net, &token, 1, logits.data(), 1), "the text");
    g.seconds += seconds_now() - start;
    if (!show) continue;
    print(previous, token);
    files::finish_standard_output();
  }
  if (show) std::printf("\n");
  return g;
}

generated generate(const arguments &a, const std::vector<int32_t> &prompt) {
  return a.draft ? generate_drafted(prompt, room(a), a.choice) : generate(prompt, room(a), a.choice, false);
}

// The least of some runs.
void print_speed(const arguments &a, const std::vector<int32_t> &prompt) {
  generated best = generate(a, prompt);
  for (int run = 1; run < n_runs; ++run) {
    const generated g = generate(a, prompt);
    best.seconds = std::min(best.seconds, g.seconds);
    best.prompt_seconds = std::min(best.prompt_seconds, g.prompt_seconds);
  }
  const double n_new = double(best.tokens.size() - prompt.size());
  std::printf("%.0f tokens a second (%.1f us each, best of %d runs); prompt: %zu tokens in %.0f us\n",
              n_new / best.seconds, 1e6 * best.seconds / n_new, n_runs, prompt.size(), 1e6 * best.prompt_seconds);
  if (a.draft)
    std::printf("drafts: %" PRId64 " calls, %" PRId64 " tokens drafted, %" PRId64 " of them kept\n", best.draft.n_calls,
                best.draft.n_drafted, best.draft.n_kept);
  print_shares(best.tokens);
}

void print_heading(loaded_files &files) {
  std::printf("dreams on heed %s, kernel %s: %zu bytes of weights (%s, %s), %zu of working memory\n", heed_version(),
              heed_isa_current(), files.model.size(), net.model.classifier.dtype == HEED_INT8 ? "int8" : "f32",
              net.model.layers[0].matrices[0].layout == HEED_PACKED   ? "packed"
              : net.model.layers[0].matrices[0].layout == HEED_OUT_IN ? "rows of outputs"
                                                                      : "rows of inputs",
              sizeof net + files.net.memory().bytes);
}

// The files that are read, which no output may be.
std::vector<std::string> inputs(const arguments &a) {
  return {a.weights, a.folder + "/model.bin", a.folder + "/tokenizer.bin"};
}

bool write_map(const arguments &a, const std::vector<int32_t> &prompt) {
  const generated g = generate(prompt, std::min(room(a), most_map_tokens), a.choice, false);
  heed_map::write_map(dreams_attention(net, words, g.tokens, prompt.size()), a.map, inputs(a));
  return true;
}

// The text once more, with a receipt.
bool write_receipt(const arguments &a, const loaded_files &files, const std::vector<int32_t> &prompt) {
  receipts::writer w({"dreams", receipts::digest_of(files.model.data(), files.model.size()), net.model.n_layers, false},
                     a.receipt.how, !a.receipt.numbers.empty());
  receipts::write_settings(w, {a.settings, a.in_integers, a.choice, int32_t(prompt.size())});
  net.see = receipts::writer::see, net.see_user = &w;
  const generated g = generate(a, prompt);
  net.see = nullptr;
  for (size_t i = 0; i < g.tokens.size(); ++i) heed_receipt_token(w.get(), int64_t(i), g.tokens[i]);
  const std::string text = w.finish();
  a.receipt.write(text, w.kept(), inputs(a));
  std::printf("%zu tokens in %.2f ms\n", g.tokens.size(), 1e3 * (g.prompt_seconds + g.seconds));
  return true;
}

bool tell(const arguments &a, loaded_files &files) {
  const std::vector<int32_t> prompt = encode(a.prompt);
  if (a.settings.window == 0 && int32_t(prompt.size()) > net.model.n_positions) {
    throw std::runtime_error("the prompt has " + std::to_string(prompt.size()) + " tokens, the model's context " +
                             std::to_string(net.model.n_positions));
  }
  if (!a.map.empty()) return write_map(a, prompt);
  if (a.receipt.is_given()) return write_receipt(a, files, prompt);
  generate(prompt, room(a), a.choice, true);
  std::printf("\n");
  print_heading(files);
  if (int32_t(prompt.size()) < room(a)) print_speed(a, prompt);
  return true;
}

// ------------------------------------------------------------------------------------------------------------- checks

struct verdict {
  size_t n_equal = 0;  // tokens from the first on
  double error = 0.0;  // greatest of all logits; infinite when one is NaN
  size_t n_same = 0;   // rows whose greatest logit is that of the expected ones
};

verdict check(const expected_text &e, const std::vector<float> &expected_logits) {
  verdict v;
  const size_t width = size_t(net.model.n_tokens);
  if (e.n_rows > size_t(net.model.n_positions) || e.first_logit + e.n_rows * width > expected_logits.size())
    throw std::runtime_error("expected.txt, prompt \"" + e.prompt + "\": logits.bin has fewer numbers");
  if (encode(e.prompt) != e.prompt_tokens) return v;
  // All rows of the prompt, then one token after another, the expected ones, so that every row can be compared.
  std::vector<float> logits(e.n_rows * width);
  dreams_restart(&net);
  const size_t n_prompt = e.prompt_tokens.size();
  dreams_files::require_ok(net, dreams_read(&net, e.tokens.data(), int32_t(n_prompt), logits.data(), int32_t(n_prompt)),
                           "the prompt");
  for (size_t t = n_prompt; t < e.n_rows; ++t)
    dreams_files::require_ok(net, dreams_read(&net, &e.tokens[t], 1, &logits[t * width], 1), "the text");
  for (size_t i = 0; i < logits.size(); ++i) {
    const double error = std::fabs(double(logits[i]) - double(expected_logits[e.first_logit + i]));
    v.error = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(v.error, error);
  }
  for (size_t t = 0; t < e.n_rows; ++t) {
    const auto greatest = [&](const float *row) { return std::max_element(row, row + width) - row; };
    v.n_same += greatest(&logits[t * width]) == greatest(&expected_logits[e.first_logit + t * width]);
  }
  const generated g = generate(e.prompt_tokens, int32_t(e.tokens.size()), dreams_choice(), false);
  while (v.n_equal < g.tokens.size() && g.tokens[v.n_equal] == e.tokens[v.n_equal]) ++v.n_equal;
  return v;
}

bool check_folder(const arguments &a, loaded_files &files) {
  print_heading(files);
  const std::vector<expected_text> all = dreams_files::read_expected(a.folder + "/expected.txt");
  const std::vector<float> logits = dreams_files::read_floats(a.folder + "/logits.bin");
  const bool exact = net.model.classifier.dtype == HEED_F32 && a.settings.cache_format == HEED_F32;
  size_t n_passed = 0, n_first = 0, n_same = 0, n_rows = 0;
  double worst = 0.0;
  for (const expected_text &e : all) {
    const verdict v = check(e, logits);
    const bool passed = v.n_equal == e.tokens.size() && v.error <= logit_limit;
    std::printf("\"%s\": %zu of %zu tokens equal, greatest logit error %.1e%s\n", e.prompt.c_str(), v.n_equal,
                e.tokens.size(), v.error, passed || !exact ? "" : "  <- wrong");
    n_passed += passed;
    n_same += v.n_same, n_rows += e.n_rows;
    worst = std::max(worst, v.error);
    if (&e == &all[0]) n_first = std::min(v.n_equal, n_first_tokens);
  }
  print_speed(a, all[0].prompt_tokens);
  if (!exact) {
    std::printf("of the first prompt's first %zu tokens %zu are unchanged\n", n_first_tokens, n_first);
    std::printf("after the same tokens, %zu of %zu positions have the same most probable one\n", n_same, n_rows);
    return true;
  }
  const bool passed = n_passed == all.size();
  std::printf("%s: %zu of %zu prompts, greatest logit error %.1e (limit %.0e)\n", passed ? "passed" : "FAILED",
              n_passed, all.size(), worst, logit_limit);
  return passed;
}

// Tokens and digest of a text, as dreams_board.c computes them.
void print_bits(const arguments &a, const std::string &prompt) {
  const std::vector<int32_t> begin = encode(prompt);
  const std::vector<int32_t> tokens = generate(begin, room(a), a.choice, false).tokens;
  std::vector<float> logits(size_t(net.model.n_tokens) * tokens.size());
  dreams_restart(&net);
  const int32_t n = int32_t(tokens.size()) - 1;
  dreams_files::require_ok(net, dreams_read(&net, tokens.data(), n, logits.data(), n), "the text");
  std::printf("\"%s\"", prompt.c_str());
  for (const int32_t token : tokens) std::printf(" %d", token);
  std::printf(" %016" PRIx64 "\n", dreams_digest(DREAMS_DIGEST_BEGIN, logits.data(), n * net.model.n_tokens));
}

bool print_all_bits(const arguments &a) {
  const char *kernel = heed_isa_current();
  std::printf("%s\n", heed_isa_arithmetic(kernel) == HEED_ARITHMETIC_FMA ? "fma" : "no-fma");
  if (a.has_prompt) return print_bits(a, a.prompt), true;
  for (const expected_text &e : dreams_files::read_expected(a.folder + "/expected.txt")) print_bits(a, e.prompt);
  return true;
}

int run(const arguments &a) {
  std::error_code ignored;
  const std::string wanted =
      "Give the folder with model.bin, tokenizer.bin, expected.txt and logits.bin as argument or in HEED_DREAMS.";
  if (a.folder.empty()) {
    std::fprintf(stderr, "heed_dreams: skipped: no model folder. %s\n", wanted.c_str());
    return exit_no_folder;
  }
  if (!std::filesystem::is_directory(a.folder, ignored))
    throw std::runtime_error(a.folder + " is not a folder. " + wanted);
  loaded_files files = load(a);
  open(a, files);
  return (a.bits ? print_all_bits(a) : a.has_prompt ? tell(a, files) : check_folder(a, files)) ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  try {
    const bool helps = asks_for_help(argc, argv);
    if (helps) std::fputs((std::string(help) + receipts::order_help).c_str(), stdout);
    const int status = helps ? 0 : run(read_dreams_arguments(argc, argv));
    files::finish_standard_output();
    return status;
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "heed_dreams: there is not enough memory for this model and context; --window=N needs less\n");
    return 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "heed_dreams: %s\n", error.what());
    return 1;
  }
}
