// heed_listen: speech to text with Moonshine Tiny; --help says how. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "listener.hpp"
#include "../arguments.hpp"
#include "sound_files.hpp"
#include "speech_files.hpp"
#include "speech_runs.hpp"
#ifdef HEED_LISTEN_THREADS
#include "heed/threads.h"
#endif

namespace {

constexpr char help[] =
    R"(heed_listen [OPTION...] [MODEL [SOUND...]]: speech to text with Moonshine Tiny. MODEL (default: environment variable
HEED_MOONSHINE) is a folder with encoder_model.onnx, decoder_model_merged.onnx and the vocabulary, or a file of
speech_weights. SOUND is a WAV file, 16 kHz, mono; - is samples of 16 bits, raw, from standard input:
  arecord -q -f S16_LE -r 16000 -t raw | heed_listen MODEL -
A file of up to 15 s is one piece. Longer ones and streams are cut at their pauses, or between words where 15 s have no
pause, and a line is printed as soon as it is complete: (no speech) where nobody speaks. At the end: the speed, and each
part's share of the time. Without SOUND: the clips of MODEL/expected; exit status 0: all tokens as expected (in w8a8 those of
11 clips of 12); 77: no model is named, or it has no clips; 1: anything else.
  --format=FORMAT    of matrices: f32 (default), f16, int8, w8a8 (products in integers); a file has its own
  --cache=FORMAT     of keys and values: f32 (default) or f16
  --threads=N        1 to 8 (default 1)
  --cut              cuts short files, too
  --clips=A,B        of MODEL/expected: these alone
  --alignment=FILE   writes where each word lies in the sound: begin and end in seconds, and the word, separated by tabs;
                     FILE.png: a picture of words and time, with libpng; of further pieces FILE-2.png, FILE-3.png ...
  --repeat=N         hears the first 15 s of each sound N times, and tells the least times, of all and of each part
  --bits             first the arithmetic; a line for the first 15 s of every sound: its text, its tokens, and a digest of the bits
                     of the encoder's output and of all logits
heed_listen --receipt=FILE MODEL SOUND.wav: of one sound of up to 15 s.
)";

constexpr double encoder_limit = 2e-4, logit_limit = 5e-4;

speech net;

struct arguments {
  std::string model, dtype, cache = "f32", alignment;  // format: empty if none is named
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

std::string cache_of(const std::string &value) {
  if (value != "f32" && value != "f16") throw std::runtime_error("--cache needs f32 or f16, not \"" + value + "\"");
  return value;
}

arguments read_arguments(int argc, char **argv) {
  arguments a;
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
    else if (name == "--format")
      a.dtype = given(name, value, "f32, f16, int8 or w8a8");
    else if (name == "--cache")
      a.cache = cache_of(value);
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
  const char *model = at < argc ? argv[at++] : std::getenv("HEED_MOONSHINE");
  if (model != nullptr) a.model = model;
  for (; at < argc; ++at) a.sounds.push_back(argv[at]);
  return a;
}

// ------------------------------------------------------------------------------------------------------------- checks

struct expected_clip {
  std::string name, text;
  std::vector<int32_t> tokens;
};

std::vector<expected_clip> read_expected(const arguments &a) {
  const std::string path = a.model + "/expected/expected.tsv";
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

verdict check(const arguments &a, listener &ear, const expected_clip &clip) {
  const std::vector<int16_t> samples = host_files::read_wav(a.model + "/clips/" + clip.name + ".wav");
  const std::string expected = a.model + "/expected/" + clip.name;
  const std::vector<float> rows = read_floats(expected + ".encoder.f32"),
                           logits = read_floats(expected + ".logits.f32");
  const heard_piece piece = ear.hear(samples.data(), int32_t(samples.size()));
  const verdict same = {piece.tokens == clip.tokens, true};
  std::printf("%s: %s%s\n", clip.name.c_str(), piece.text.c_str(), same.same_tokens ? "" : "  <- other tokens");
  if (rows.empty()) return same;
  if (rows.size() != size_t(net.n_rows) * SPEECH_DIM) throw std::runtime_error(expected + ".encoder.f32: other rows");
  const double encoder_error = greatest_error(net.x, rows);
  double logit_error = 0.0;
  speech_files::require_ok(net, speech_hear(&net, samples.data(), int32_t(samples.size())), clip.name);
  for (size_t at = 0; at + SPEECH_TOKENS <= logits.size(); at += SPEECH_TOKENS) {
    int32_t token = 0;
    speech_files::require_ok(net, speech_next(&net, &token), clip.name);
    logit_error = std::max(logit_error, greatest_error(net.logits, {logits.begin() + ptrdiff_t(at),
                                                                    logits.begin() + ptrdiff_t(at) + SPEECH_TOKENS}));
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
  const bool exact = a.cache == "f32" && (a.dtype.empty() || a.dtype == "f32" || a.dtype == "int8");
  const size_t needed = a.dtype == "w8a8" ? clips.size() * 11 / 12 : clips.size();
  const bool passed = n_same >= needed && (!exact || n_exact == clips.size());
  std::printf("%s: %zu of %zu clips have the expected tokens\n", passed ? "passed" : "FAILED", n_same, clips.size());
  return passed;
}

void print_bits(listener &ear, const std::string &path) {
  const std::vector<int16_t> samples = read_piece(path);
  const heard_piece piece = ear.hear(samples.data(), int32_t(samples.size()));
  std::printf("\"%s\"", piece.text.c_str());
  for (const int32_t token : piece.tokens) std::printf(" %d", token);
  std::printf(" %016" PRIx64 "\n", piece.digest);
}

// Tokens and digests, as speech_board.c prints them.
bool print_all_bits(const arguments &a, listener &ear) {
  std::printf("%s\n", heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA ? "fma" : "no-fma");
  for (const std::string &path : a.sounds) print_bits(ear, path);
  if (a.sounds.empty())
    for (const expected_clip &clip : read_expected(a)) print_bits(ear, a.model + "/clips/" + clip.name + ".wav");
  return true;
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

int run(const arguments &a) {
  const std::string wanted =
      "Give the folder with encoder_model.onnx, decoder_model_merged.onnx and the vocabulary, or a file of "
      "speech_weights, as argument or in HEED_MOONSHINE; ports/speech/README.md says where they come from.";
  if (a.model.empty()) {
    std::fprintf(stderr, "heed_listen: skipped: no model. %s\n", wanted.c_str());
    return exit_no_model;
  }
  if (!std::filesystem::exists(a.model)) throw std::runtime_error(a.model + ": does not exist. " + wanted);
#ifndef HEED_IMPORT_ONNX
  if (std::filesystem::is_directory(a.model)) {
    std::fprintf(
        stderr,
        "heed_listen: skipped: this program was built without protozero (Debian: libprotozero-dev), so it reads "
        "no ONNX. Give it a file of speech_weights.\n");
    return exit_no_model;
  }
#endif
  if (a.receipt.is_given()) {
    if (a.sounds.size() != 1 || a.sounds[0] == "-")
      throw std::runtime_error("--receipt and --numbers go with one WAV file");
    const receipts::run r =
        receipts::of_speech(a.model, a.sounds[0], a.dtype, a.cache, a.receipt.how, !a.receipt.numbers.empty());
    a.receipt.write(r.text, r.kept, {a.model, a.sounds[0]});
    return 0;
  }
  if (!a.dtype.empty() && !std::filesystem::is_directory(a.model))
    throw std::runtime_error(a.model + ": a file has a format of its own; --format is for a folder");
  const speech_files::model model = speech_files::load(a.model, a.dtype);
  speech_files::require_ok(net, speech_open(&net, model.data(), model.size()), a.model);
  if (a.cache == "f16") net.cache_format = HEED_F16;
  if (a.n_threads > 1) start_threads(a.n_threads);
  if (a.sounds.empty() && !std::filesystem::exists(a.model + "/expected/expected.tsv")) {
    std::fprintf(
        stderr,
        "heed_listen: skipped: no sound is named, and %s holds no expected/expected.tsv, which would list clips. "
        "Name WAV files (16 kHz, mono), or - for standard input.\n",
        a.model.c_str());
    return exit_no_model;
  }
  std::vector<std::string> inputs = a.sounds;
  inputs.push_back(a.model);
  listener ear(net, a.alignment, inputs);
  if (!a.bits)
    std::printf("Moonshine Tiny on heed %s, kernel %s: %zu bytes of weights, %zu of working memory\n", heed_version(),
                heed_isa_current(), model.size(), SPEECH_RAM_BYTES);
  const bool passed = a.bits ? print_all_bits(a, ear) : a.sounds.empty() ? check_folder(a, ear) : listen(a, ear);
  if (a.n_threads > 1) stop_threads();
  return passed ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  return run_program("heed_listen", argc, argv, std::string(help) + receipts::order_help,
                     [&] { return run(read_arguments(argc, argv)); });
}
