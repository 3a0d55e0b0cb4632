// heed_kwt [--bits] [FOLDER]: KWT-1 on the recorded clips of FOLDER (default: environment variable HEED_KWT1), which
// holds non_stream.tflite, expected.tsv and clips/. Exit status 0: every clip that expected.tsv lists is recognised,
// its logits within 1e-4; 77: no folder; 1: anything else. --bits prints the label and the bits of confidence and
// logits, nothing that depends on the machine, and first the arithmetic profile: what a board must print, too.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "host_files.hpp"
#include "kwt.h"
#include "tflite_weights.hpp"

namespace {

constexpr double logit_limit = 1e-4;
constexpr int n_runs = 5;  // per clip; the median counts
constexpr int exit_no_folder = 77;

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
  const kwt_status status = kwt_run_int16(&net, samples.data(), samples.size(), &result);
  if (status == KWT_HEED_FAILED) {
    throw std::runtime_error(path + ": heed: " + heed_status_argument(net.failure) + ": " +
                             heed_status_text(net.failure));
  }
  if (status != KWT_OK) throw std::runtime_error(path + ": " + kwt_status_text(status));
  return result;
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
  std::printf("%-18s %-10s %-10s %9.2f %% %9.2f %9.1f %%%s\n", clip.file.c_str(), clip.spoken.c_str(), label.c_str(),
              100.0 * static_cast<double>(result.confidence), times[n_runs / 2],
              100.0 * ticks[KWT_STAGE_ATTENTION] / sum(ticks), match ? "" : "  <- wrong");
}

void print_shares(const totals &all) {
  const double whole = sum(all.ticks) / 100.0;
  std::vector<double> times = all.times;
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  std::printf(
      "time per clip %.2f ms (median). heed %.1f %%: attention %.1f %%, projections and other products %.1f %%.\n",
      times[times.size() / 2], (all.ticks[KWT_STAGE_ATTENTION] + all.ticks[KWT_STAGE_LINEAR]) / whole,
      all.ticks[KWT_STAGE_ATTENTION] / whole, all.ticks[KWT_STAGE_LINEAR] / whole);
  std::printf("The example's own part %.1f %%: GELU %.1f %%, LayerNorm %.1f %%, sound %.1f %%.\n",
              (all.ticks[KWT_STAGE_GELU] + all.ticks[KWT_STAGE_NORM] + all.ticks[KWT_STAGE_AUDIO]) / whole,
              all.ticks[KWT_STAGE_GELU] / whole, all.ticks[KWT_STAGE_NORM] / whole, all.ticks[KWT_STAGE_AUDIO] / whole);
}

void load_network(const std::string &folder, kwt_weights &weights) {
  const std::string path = folder + "/non_stream.tflite";
  const std::vector<uint8_t> model = host_files::read_file(path);
  try {
    tflite::read_kwt(model.data(), model.size(), weights);
  } catch (const std::exception &error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  const kwt_status status = kwt_init(&net, &weights, sizeof weights);
  if (status != KWT_OK) throw std::runtime_error(path + ": " + kwt_status_text(status));
  net.clock = nanoseconds;
}

std::vector<host_files::expected_clip> read_clips(const std::string &folder) {
  return host_files::read_expected(folder + "/expected.tsv");
}

bool run_folder(const std::string &folder) {
  std::printf("KWT-1 on heed %s, kernel %s: %zu bytes of weights, %zu of working memory\n\n", heed_version(),
              heed_kernel_current(), sizeof(kwt_weights), KWT_RAM_BYTES);
  std::printf("%-18s %-10s %-10s %11s %9s %11s\n", "clip", "spoken", "heard", "confidence", "ms", "attention");
  const std::vector<host_files::expected_clip> clips = read_clips(folder);
  totals all;
  for (const host_files::expected_clip &clip : clips) run_clip(folder, clip, all);
  std::printf("\n");
  print_shares(all);
  const bool passed = all.n_matches == clips.size() && all.worst_error <= logit_limit;
  std::printf("%s: %zu of %zu clips recognised, greatest logit error %.1e (limit %.0e)\n", passed ? "passed" : "FAILED",
              all.n_matches, clips.size(), all.worst_error, logit_limit);
  return passed;
}

bool print_folder(const std::string &folder) {
  const char *kernel = heed_kernel_current();
  std::printf("%s\n", heed_kernel_profile(kernel) == HEED_PROFILE_FUSED ? "fused" : "unfused");
  for (const host_files::expected_clip &clip : read_clips(folder)) print_bits(folder, clip);
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  const bool bits = argc > 1 && std::strcmp(argv[1], "--bits") == 0;
  if (bits) ++argv, --argc;
  const char *folder = argc > 1 ? argv[1] : std::getenv("HEED_KWT1");
  std::error_code ignored;
  if (argc > 2) {
    std::fprintf(stderr, "usage: heed_kwt [--bits] [FOLDER]\n");
    return 1;
  }
  if (folder == nullptr || *folder == '\0' || !std::filesystem::is_directory(folder, ignored)) {
    std::fprintf(
        stderr,
        "heed_kwt: skipped: %s%s. Give the folder with non_stream.tflite, expected.tsv and clips/ as argument or in "
        "HEED_KWT1.\n",
        folder == nullptr || *folder == '\0' ? "no model folder" : folder,
        folder == nullptr || *folder == '\0' ? "" : " is not a folder");
    return exit_no_folder;
  }
  try {
    const auto weights = std::make_unique<kwt_weights>();
    load_network(folder, *weights);
    return (bits ? print_folder(folder) : run_folder(folder)) ? 0 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "heed_kwt: %s\n", error.what());
    return 1;
  }
}
