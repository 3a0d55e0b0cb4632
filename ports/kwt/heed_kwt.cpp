// heed_kwt: KWT-1 on recorded clips, files and a microphone; --help says how. SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../arguments.hpp"
#include "../output_file.hpp"
#include "host_files.hpp"
#include "kwt.h"
#include "kwt_map.hpp"
#include "kwt_sounds.hpp"
#include "runs.hpp"

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

namespace {

constexpr char help[] =
    R"(heed_kwt [--bits] [--weights=FILE] [FOLDER]: KWT-1 on the recorded clips of FOLDER (default: environment variable
HEED_KWT1), which holds non_stream.tflite, expected.tsv and clips/. Exit status 0: every clip that expected.tsv lists
is recognised, its logits within 1e-4 (0.1 with weights in int8); 77: no folder; 1: anything else. --bits prints the
label and the bits of confidence and logits, nothing that depends on the machine, and first the arithmetic:
what a board must print, too.

heed_kwt [--threshold=0.7] MODEL FILE.wav...: what each file says; WAV, mono, 16 kHz. Up to 1 s is padded with
zeros and has one label; in more, words are listed with the time when they had been heard. Exit status 1 if a file is
refused.

heed_kwt [--threshold=0.7] MODEL -: raw samples from standard input; words are printed as they are heard:
  arecord -f S16_LE -r 16000 -t raw | heed_kwt MODEL -

heed_kwt --map=MAP MODEL FILE.wav: what the network attends to, in the first second of one file, for heed_map.

heed_kwt --receipt=FILE MODEL FILE.wav: of up to a second of sound.

MODEL and FILE: the published .tflite, or what kwt_weights wrote, f32 or int8.
)";

constexpr double logit_limit = 1e-4, int8_logit_limit = 0.1;
constexpr int n_runs = 5;  // per clip; the median counts

struct arguments {
  bool bits = false;
  float threshold = 0.7f;
  std::string weights, map;
  receipts::order receipt;
  std::vector<std::string> names;  // FOLDER, or MODEL and sounds
};

kwt net;

struct totals {
  size_t n_matches = 0;
  double worst_error = 0.0;
  std::vector<double> times;  // ms per clip
  double ticks[KWT_N_STAGES] = {};
};

uint32_t nanoseconds(void *) {
  return static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

double sum(const double *ticks) {
  double all = 0.0;
  for (int i = 0; i < KWT_N_STAGES; ++i) all += ticks[i];
  return all;
}

// Greatest difference; infinite when a logit is NaN.
double logit_error(const kwt_result &result, const host_files::expected_clip &clip) {
  double worst = 0.0;
  for (size_t i = 0; i < KWT_N_LABELS; ++i) {
    const double error = std::fabs(static_cast<double>(result.logits[i]) - clip.logits[i]);
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, error);
  }
  return worst;
}

kwt_result listen(const std::string &path, const std::vector<int16_t> &samples) {
  kwt_result result;
  host_files::require_ok(net, kwt_run_int16(&net, samples.data(), samples.size(), &result), path);
  return result;
}

// Milliseconds of a clip's attention. Within heed_transformer_layer_run no clock looks: the same 12 calls alone, the least of a
// few.
double attention_ms() {
  static float context[KWT_N_TOKENS * KWT_DIM];
  const heed_memory workspace = heed_memory_of(net.memory + KWT_ACTIVATIONS, KWT_WORKSPACE_BYTES);
  const heed_attention call =
      heed_attention_of(net.x, net.x, net.x, KWT_N_TOKENS, KWT_N_TOKENS, 1, 1, KWT_DIM, context, workspace);
  double least = HUGE_VAL;
  for (int r = 0; r < n_runs; ++r) {
    const auto start = std::chrono::steady_clock::now();
    for (int b = 0; b < KWT_N_BLOCKS; ++b) heed_attention_run(&call);
    const auto time = std::chrono::steady_clock::now() - start;
    least = std::min(least, std::chrono::duration<double, std::milli>(time).count());
  }
  return least;
}

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

void print_bits(const std::string &folder, const host_files::expected_clip &clip) {
  const std::string path = folder + "/clips/" + clip.file;
  const kwt_result result = listen(path, host_files::read_wav(path));
  std::printf("%s %s %08x", clip.file.c_str(), kwt_label(result.label), bits_of(result.confidence));
  for (const float logit : result.logits) std::printf(" %08x", bits_of(logit));
  std::printf("\n");
}

void run_clip(const std::string &folder, const host_files::expected_clip &clip, totals &all) {
  const std::string path = folder + "/clips/" + clip.file;
  const std::vector<int16_t> samples = host_files::read_wav(path);
  if (all.times.empty()) listen(path, samples);  // the first run pays for page faults
  kwt_result result;
  double ticks[KWT_N_STAGES] = {};
  std::vector<double> times;
  for (int r = 0; r < n_runs; ++r) {
    const auto start = std::chrono::steady_clock::now();
    result = listen(path, samples);
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    for (int i = 0; i < KWT_N_STAGES; ++i) ticks[i] += static_cast<double>(net.ticks[i]);
  }
  std::nth_element(times.begin(), times.begin() + n_runs / 2, times.end());
  all.times.push_back(times[n_runs / 2]);
  for (int i = 0; i < KWT_N_STAGES; ++i) all.ticks[i] += ticks[i];
  all.worst_error = std::max(all.worst_error, logit_error(result, clip));
  const std::string label = kwt_label(result.label);
  const bool match = label == clip.spoken && label == clip.predicted;
  all.n_matches += match;
  std::printf("%-18s %-10s %-10s %9.2f %% %9.2f%s\n", clip.file.c_str(), clip.spoken.c_str(), label.c_str(),
              100.0 * static_cast<double>(result.confidence), times[n_runs / 2], match ? "" : "  <- wrong");
}

void print_shares(const totals &all) {
  const double whole = sum(all.ticks) / 100.0;
  std::vector<double> times = all.times;
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  const double clip_ms = times[times.size() / 2];
  std::printf("time per clip %.2f ms (median): encoder %.1f %%, sound %.1f %%; attention, alone, %.1f %%\n", clip_ms,
              all.ticks[KWT_STAGE_BLOCKS] / whole, all.ticks[KWT_STAGE_SOUND] / whole,
              100.0 * attention_ms() / clip_ms);
}

files::aligned_bytes load_network(const std::string &path) {
  files::aligned_bytes model = host_files::read_model(path);
  host_files::require_ok(net, kwt_init(&net, model.data(), model.size()), path);
  net.clock = nanoseconds;
  return model;
}

std::vector<host_files::expected_clip> read_clips(const std::string &folder) {
  return host_files::read_expected(folder + "/expected.tsv");
}

bool run_folder(const std::string &folder) {
  std::printf("KWT-1 on heed %s, kernel %s: %u bytes of weights, %zu of working memory\n\n", heed_version(),
              heed_isa_current(), static_cast<unsigned>(net.weights->n_bytes), KWT_RAM_BYTES);
  std::printf("%-18s %-10s %-10s %11s %9s\n", "clip", "spoken", "heard", "confidence", "ms");
  const std::vector<host_files::expected_clip> clips = read_clips(folder);
  totals all;
  for (const host_files::expected_clip &clip : clips) run_clip(folder, clip, all);
  std::printf("\n");
  print_shares(all);
  const double limit = net.weights->dtype == HEED_F32 ? logit_limit : int8_logit_limit;
  const bool passed = all.n_matches == clips.size() && all.worst_error <= limit;
  std::printf("%s: %zu of %zu clips recognised, greatest logit error %.1e (limit %.0e)\n", passed ? "passed" : "FAILED",
              all.n_matches, clips.size(), all.worst_error, limit);
  return passed;
}

bool print_folder(const std::string &folder) {
  const char *kernel = heed_isa_current();
  std::printf("%s\n", heed_isa_arithmetic(kernel) == HEED_ARITHMETIC_FMA ? "fma" : "no-fma");
  for (const host_files::expected_clip &clip : read_clips(folder)) print_bits(folder, clip);
  return true;
}

arguments read_arguments(int argc, char **argv) {
  arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (a.receipt.take(word)) continue;
    if (word == "--bits") {
      a.bits = true;
    } else if (word.compare(0, 10, "--weights=") == 0) {
      a.weights = word.substr(10);
    } else if (word.compare(0, 6, "--map=") == 0) {
      a.map = word.substr(6);
    } else if (word.compare(0, 12, "--threshold=") == 0) {
      char *end = nullptr;
      a.threshold = std::strtof(argv[i] + 12, &end);
      if (end == argv[i] + 12 || *end != '\0' || !(a.threshold >= 0.0f && a.threshold <= 1.0f))
        throw std::runtime_error("--threshold needs a number of 0 to 1");
    } else if (word.size() > 1 && word[0] == '-') {
      throw std::runtime_error(word + " is not an option; heed_kwt --help lists them");
    } else {
      a.names.push_back(word);
    }
  }
  return a;
}

int run_sounds(const arguments &a) {
  if (a.bits || !a.weights.empty()) throw std::runtime_error("--bits and --weights go with a folder");
  if (a.receipt.is_given()) {
    if (a.names.size() != 2 || a.names[1] == "-") throw std::runtime_error("--receipt and --numbers go with one file");
    const receipts::run r = receipts::of_kwt(a.names[0], a.names[1], false, a.receipt.how, !a.receipt.numbers.empty());
    a.receipt.write(r.text, r.kept, a.names);
    return 0;
  }
  const files::aligned_bytes model = load_network(a.names[0]);
  const std::vector<std::string> sounds(a.names.begin() + 1, a.names.end());
  const auto n_pipes = std::count(sounds.begin(), sounds.end(), "-");
  if (!a.map.empty()) {
    if (sounds.size() != 1 || n_pipes > 0) throw std::runtime_error("--map goes with one file");
    heed_map::write_map(kwt_attention(net, sounds[0]), a.map, a.names);
    return 0;
  }
  if (n_pipes == 0) return hear_files(net, a.threshold, sounds) == 0 ? 0 : 1;
  if (sounds.size() > 1) throw std::runtime_error("- (standard input) goes with no other sound");
#ifdef _WIN32
  _setmode(_fileno(stdin), _O_BINARY);
#endif
  hear_stream(net, a.threshold, stdin);
  return 0;
}

int run(const arguments &a) {
  std::error_code ignored;
  if (a.names.size() > 1) return run_sounds(a);
  if (a.receipt.is_given()) throw std::runtime_error("--receipt and --numbers go with a model and a file");
  if (!a.map.empty()) throw std::runtime_error("--map goes with a model and a file");
  if (!a.names.empty() && std::filesystem::is_regular_file(a.names[0], ignored))
    throw std::runtime_error(a.names[0] + " is a file: a model is followed by FILE.wav ... or -");
  const std::string folder = model_folder("heed_kwt", a.names.empty() ? "" : a.names[0], "HEED_KWT1",
                                          "non_stream.tflite, expected.tsv and clips/");
  if (folder.empty()) return exit_no_model;
  const files::aligned_bytes model = load_network(a.weights.empty() ? folder + "/non_stream.tflite" : a.weights);
  return (a.bits ? print_folder(folder) : run_folder(folder)) ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  return run_program("heed_kwt", argc, argv, std::string(help) + receipts::order_help,
                     [&] { return run(read_arguments(argc, argv)); });
}
