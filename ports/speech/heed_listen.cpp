// heed_listen: speech to text with Moonshine Tiny; --help says how. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../arguments.hpp"
#include "../import/file_bytes.hpp"
#include "../import/flat_file.hpp"
#include "listener.hpp"
#include "runs.hpp"
#include "sound_files.hpp"
#ifdef HEED_LISTEN_THREADS
#include "heed/threads.h"
#endif

namespace {

constexpr char help[] =
    R"(heed_listen [OPTION...] SOUND...: speech to text with a model of Moonshine, compiled into this program. SOUND is a WAV file, 16 kHz,
mono; - is samples of 16 bits, raw, from standard input:
  arecord -q -f S16_LE -r 16000 -t raw | heed_listen -
A file of up to 15 s is one piece. Longer ones and streams are cut at their pauses, or between words where 15 s have no
pause, and a line is printed as soon as it is complete: (no speech) where nobody speaks. At the end: the speed, and each
part's share of the time.
  --file=FILE        the model's weights (default: speech.heed beside this program)
  --check=FOLDER     instead of SOUND: FOLDER/clips. Exit status 0: all tokens are those of FOLDER/expected/expected.tsv, and numbers of the
                     encoder and logits within 2e-4 and 5e-4 of those beside it
  --clips=A,B        with --check: these alone
  --threads=N        1 to 8 (default 1)
  --cut              cuts short files, too
  --alignment=FILE   writes where each word lies in the sound: begin and end in seconds, and the word, separated by tabs;
                     FILE.png: a picture of words and time, with libpng; of further pieces FILE-2.png, FILE-3.png ...
  --repeat=N         hears the first 15 s of each sound N times, and tells the least times, of all and of each part
  --bits             first the arithmetic; a line for the first 15 s of every sound: its text, its tokens, and a digest of the bits
                     of the encoder's output and of all logits
heed_listen --receipt=FILE SOUND.wav: of one sound of up to 15 s, and of a program whose matrices have the formats that the model was published in.
)";

constexpr double encoder_limit = 2e-4, logit_limit = 5e-4;

speech net;

struct arguments {
  std::string file, folder, alignment;
  std::vector<std::string> sounds, clips;
  receipts::order receipt;
  int32_t n_threads = 1, n_repeats = 1;
  bool cut = false, bits = false;
};

std::vector<std::string> split(const std::string &list, char at) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

int32_t number_of(const std::string &option, const std::string &value, int32_t most) {
  char *end = nullptr;
  const long number = std::strtol(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || number < 1 || number > most)
    throw std::runtime_error(option + " needs a number of 1 to " + std::to_string(most) + ", not \"" + value + "\"");
  return int32_t(number);
}

std::string given(const std::string &option, const std::string &value, const std::string &what) {
  if (value.empty()) throw std::runtime_error(option + " needs " + what + ": " + option + "=...");
  return value;
}

arguments read_arguments(int argc, char **argv) {
  arguments a;
  a.file = (std::filesystem::path(argv[0]).parent_path() / "speech.heed").string();
  int at = 1;
  for (; at < argc && std::string(argv[at]).compare(0, 2, "--") == 0; ++at) {
    const std::string option = argv[at];
    const size_t equals = option.find('=');
    const std::string name = option.substr(0, equals), value = equals < option.size() ? option.substr(equals + 1) : "";
    if (a.receipt.take(option)) continue;
    if (option == "--cut")
      a.cut = true;
    else if (option == "--bits")
      a.bits = true;
    else if (name == "--file")
      a.file = given(name, value, "the name of a file");
    else if (name == "--check")
      a.folder = given(name, value, "a folder with clips");
    else if (name == "--alignment")
      a.alignment = given(name, value, "the name of a file");
    else if (name == "--clips")
      a.clips = split(given(name, value, "names of clips"), ',');
    else if (name == "--threads")
      a.n_threads = number_of(name, value, 8);
    else if (name == "--repeat")
      a.n_repeats = number_of(name, value, 1000000);
    else
      throw std::runtime_error(option + " is not an option; heed_listen --help lists them");
  }
  for (; at < argc; ++at) a.sounds.push_back(argv[at]);
  if (a.sounds.empty() == a.folder.empty())
    throw std::runtime_error("needs a sound (WAV, or - for standard input), or --check=FOLDER");
  return a;
}

// ------------------------------------------------------------------------------------------------------------- checks

struct expected_clip {
  std::string name, text;
  std::vector<int32_t> tokens;
};

std::vector<expected_clip> read_expected(const arguments &a) {
  const std::string path = a.folder + "/expected/expected.tsv";
  std::ifstream in(path);
  std::vector<expected_clip> clips;
  std::string line;
  for (std::getline(in, line); std::getline(in, line);) {
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() < 8) throw std::runtime_error(path + ": a line has fewer than 8 columns");
    expected_clip clip = {columns[0], columns.size() > 8 ? columns[8] : "", {}};
    for (const std::string &token : split(columns[7], ' ')) clip.tokens.push_back(std::atoi(token.c_str()));
    if (a.clips.empty() || std::find(a.clips.begin(), a.clips.end(), clip.name) != a.clips.end()) clips.push_back(clip);
  }
  if (clips.empty() || (!a.clips.empty() && clips.size() != a.clips.size()))
    throw std::runtime_error(path + ": does not list these clips");
  return clips;
}

// Raw numbers, little endian; none: no such file.
std::vector<float> read_floats(const std::string &path) {
  if (!std::filesystem::exists(path)) return {};
  const std::vector<uint8_t> bytes = files::read(path);
  std::vector<float> numbers(bytes.size() / 4);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint8_t *p = &bytes[4 * i];
    const uint32_t word = p[0] | uint32_t(p[1]) << 8 | uint32_t(p[2]) << 16 | uint32_t(p[3]) << 24;
    std::memcpy(&numbers[i], &word, 4);
  }
  return numbers;
}

// The greatest difference; infinite when a number is NaN.
double greatest_error(const float *x, const std::vector<float> &expected) {
  double greatest = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = std::fabs(double(x[i]) - double(expected[i]));
    greatest = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(greatest, error);
  }
  return greatest;
}

struct verdict {
  bool same_tokens, exact;  // exact: within the limits, where they are known
};

// Tokens with the end, unless the text had to end for its length.
std::vector<int32_t> tokens_with_end(int32_t end) {
  std::vector<int32_t> tokens(net.tokens, net.tokens + net.n);
  if (net.n_chosen < net.most && net.n < SPEECH_CONTEXT) tokens.push_back(end);
  return tokens;
}

verdict check(const arguments &a, listener &ear, const expected_clip &clip) {
  const std::vector<int16_t> samples = host_files::read_wav(a.folder + "/clips/" + clip.name + ".wav");
  const std::string expected = a.folder + "/expected/" + clip.name;
  const std::vector<float> rows = read_floats(expected + ".encoder.f32"),
                           logits = read_floats(expected + ".logits.f32");
  const heard_piece piece = ear.hear(samples.data(), int32_t(samples.size()));
  const verdict same = {tokens_with_end(clip.tokens.back()) == clip.tokens, true};
  std::printf("%s: %s%s\n", clip.name.c_str(), piece.text().c_str(), same.same_tokens ? "" : "  <- other tokens");
  if (rows.empty()) return same;
  if (rows.size() != size_t(net.n_rows) * SPEECH_DIM) throw std::runtime_error(expected + ".encoder.f32: other rows");
  const double encoder_error = greatest_error(net.x, rows);
  double logit_error = 0.0;
  speech_restart(&net);
  for (size_t t = 0; (t + 1) * SPEECH_TOKENS <= logits.size() && t < clip.tokens.size(); ++t) {
    require(speech_read(&net, &clip.tokens[t], 1), clip.name);
    const auto from = logits.begin() + ptrdiff_t(t * SPEECH_TOKENS);
    logit_error = std::max(logit_error, greatest_error(net.logits, {from, from + SPEECH_TOKENS}));
  }
  std::printf("  greatest error: %.1e in the encoder's output", encoder_error);
  if (!logits.empty()) std::printf(", %.1e in the logits", logit_error);
  std::printf("\n");
  return {same.same_tokens, encoder_error <= encoder_limit && logit_error <= logit_limit};
}

bool check_folder(const arguments &a, listener &ear) {
  size_t n_same = 0, n_exact = 0;
  const std::vector<expected_clip> clips = read_expected(a);
  for (const expected_clip &clip : clips) {
    const verdict v = check(a, ear, clip);
    n_same += v.same_tokens, n_exact += v.exact;
  }
  ear.print_speed();
  const bool passed = n_same == clips.size() && n_exact == clips.size();
  std::printf("%s: %zu of %zu clips have the expected tokens\n", passed ? "passed" : "FAILED", n_same, clips.size());
  if (n_exact < clips.size())
    std::printf("numbers of %zu clips differ by more than they may\n", clips.size() - n_exact);
  return passed;
}

void print_bits(listener &ear, const std::string &path) {
  const std::vector<int16_t> samples = read_piece(path);
  const heard_piece piece = ear.hear(samples.data(), int32_t(samples.size()));
  std::printf("\"%s\"", piece.text().c_str());
  for (int32_t t = 0; t < net.n; ++t) std::printf(" %d", net.tokens[t]);
  std::printf(" %016" PRIx64 "\n", piece.digest);
}

// Tokens and digests, as speech_board.c prints them.
bool print_all_bits(const arguments &a, listener &ear) {
  std::printf("%s\n", heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA ? "fma" : "no-fma");
  ear.take_digests();
  for (const std::string &path : a.sounds) print_bits(ear, path);
  return true;
}

void write_receipt(const arguments &a) {
  if (a.sounds.size() != 1 || a.sounds[0] == "-")
    throw std::runtime_error("--receipt and --numbers go with one WAV file");
  const std::vector<int16_t> samples = host_files::read_wav(a.sounds[0]);
  receipts::digest_bytes model;
  std::copy(speech_source, speech_source + model.size(), model.begin());
  receipts::writer w({"speech", model, SPEECH_LAYERS, false}, a.receipt.how, !a.receipt.numbers.empty());
  net.see = receipts::writer::see, net.see_user = &w;
  require(speech_sound(&net, samples.data(), int32_t(samples.size())), a.sounds[0]);
  int32_t token = 0;
  while (token >= 0) require(speech_next(&net, &token), a.sounds[0]);
  receipts::text_settings how;
  static const std::map<int32_t, std::string> cache_names = {
      {HEED_F32, "f32"}, {HEED_F16, "f16"}, {HEED_BF16, "bf16"}, {HEED_INT8, "int8"}};
  how.context = SPEECH_CONTEXT;
  how.cache = cache_names.at(net.caches[0].shape.dtype);
  how.exact = SPEECH_EXACT == 1;
  how.n_prompt = net.n - net.n_chosen;
  receipts::write_settings(w, how);
  w.input("samples", samples);
  for (int32_t t = 0; t < net.n; ++t) heed_receipt_token(w.get(), t, net.tokens[t]);
  const std::string text = w.finish();
  a.receipt.write(text, w.kept(), {a.file, a.sounds[0]});
}

// ----------------------------------------------------------------------------------------------------------- listening

bool listen(const arguments &a, listener &ear) {
  bool passed = true;
  for (const std::string &sound : a.sounds) {
    try {
      if (sound == "-")
        ear.hear_stream(stdin);
      else if (a.n_repeats > 1)
        ear.repeat(sound, a.n_repeats);
      else
        ear.hear_file(sound, a.cut);
    } catch (const std::exception &error) {
      std::fprintf(stderr, "heed_listen: %s\n", error.what());
      passed = false;
    }
  }
  std::printf("\n");
  ear.print_speed();
  ear.close();
  return passed;
}

#ifdef HEED_LISTEN_THREADS
heed_threads pool;
heed_executor workers;
void start_threads(int32_t n) {
  if (heed_threads_start(&pool, n) == HEED_OK && heed_threads_executor(&pool, &workers) == HEED_OK)
    net.executor = &workers;
}
void stop_threads() { heed_threads_stop(&pool); }
#else  // no POSIX threads here
void start_threads(int32_t) {}
void stop_threads() {}
#endif

std::unique_ptr<heed_import::file_bytes> read_file(const std::string &path) try {
  return std::make_unique<heed_import::file_bytes>(path);
} catch (const std::exception &error) {
  throw std::runtime_error(path + ": " + error.what());
}

int run(const arguments &a) {
  heed_import::bytes memory;
  const auto file = read_file(a.file);
  const heed_import::span weights = heed_import::in_own_order(file->all(), memory);
  require(speech_open(&net, weights.data, weights.size), a.file);
  if (a.receipt.is_given()) return write_receipt(a), 0;
  if (a.n_threads > 1) start_threads(a.n_threads);
  std::vector<std::string> inputs = a.sounds;
  inputs.push_back(a.file);
  listener ear(net, a.alignment, inputs);
  if (!a.bits)
    std::printf("Moonshine on heed %s, kernel %s: %zu bytes of weights, %zu of working memory\n", heed_version(),
                heed_isa_current(), weights.size, sizeof net);
  const bool passed = a.bits ? print_all_bits(a, ear) : a.sounds.empty() ? check_folder(a, ear) : listen(a, ear);
  if (a.n_threads > 1) stop_threads();
  return passed ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  return run_program("heed_listen", argc, argv, std::string(help) + receipts::order_help,
                     [&] { return run(read_arguments(argc, argv)); });
}
