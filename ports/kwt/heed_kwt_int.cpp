// heed_kwt_int [--bits] WEIGHTS [FOLDER]: KWT-1 in integers on the recorded clips of FOLDER (default: environment variable
// HEED_KWT1). WEIGHTS is what `heed_calibrate kwt` wrote. On every kernel of integers, all of which must give the same
// logits. Exit status 0: every clip is recognised, its logits within 0.15; 77: no folder; 1: anything else.
// heed_kwt_int --receipt=FILE WEIGHTS CLIP.wav: of up to a second of sound; --level, --exact and --numbers as heed_kwt --help says.
// --bits prints the label and the logits, in 2^-16, of each clip, and nothing else: what a board must print, too.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "../output_file.hpp"
#include "host_files.hpp"
#include "kwt_int.h"
#include "runs.hpp"

namespace {

constexpr double logit_limit = 0.15;
constexpr int exit_no_folder = 77;
kwt_int net;

kwt_int_result hear(const std::vector<int16_t> &samples) {
  kwt_int_result heard;
  const kwt_status status = kwt_int_run(&net, samples.data(), samples.size(), &heard);
  if (status == KWT_HEED_FAILED)
    throw std::runtime_error(std::string(heed_status_argument(net.failure)) + ": " + heed_status_text(net.failure));
  if (status != KWT_OK) throw std::runtime_error(kwt_status_text(status));
  return heard;
}

struct totals {
  size_t n_right = 0;
  double worst = 0, squares = 0, margin = 1e9;
  uint64_t digest = 14695981039346656037u;

  void add(const kwt_int_result &heard, const host_files::expected_clip &clip) {
    n_right += clip.predicted == kwt_label(heard.label);
    double second = -1e9;
    for (int32_t i = 0; i < KWT_N_LABELS; ++i) {
      const double logit = std::ldexp(double(heard.logits[i]), -KWT_INT_LOGIT_BITS);
      const double error = std::fabs(logit - clip.logits[size_t(i)]);
      worst = std::max(worst, error);
      squares += error * error;
      if (i != heard.label) second = std::max(second, logit);
      for (int shift = 0; shift < 32; shift += 8)
        digest = (digest ^ (uint32_t(heard.logits[i]) >> shift & 255)) * 1099511628211u;
    }
    margin = std::min(margin, std::ldexp(double(heard.logits[heard.label]), -KWT_INT_LOGIT_BITS) - second);
  }
};

void print_bits(const std::string &file, const kwt_int_result &heard) {
  std::printf("%s %s", file.c_str(), kwt_label(heard.label));
  for (const int32_t logit : heard.logits) std::printf(" %d", static_cast<int>(logit));
  std::printf("\n");
}

int run(bool bits, const std::string &weights, const std::string &folder) {
  const host_files::model model(weights);
  const kwt_status status = kwt_int_init(&net, model.data(), model.size());
  if (status != KWT_OK) throw std::runtime_error(weights + ": " + kwt_status_text(status));
  const std::vector<host_files::expected_clip> clips = host_files::read_expected(folder + "/expected.tsv");
  std::vector<std::vector<int16_t>> samples;
  for (const host_files::expected_clip &clip : clips)
    samples.push_back(host_files::read_wav(folder + "/clips/" + clip.file));
  bool passed = true;
  uint64_t digest = 0;
  for (int32_t k = 0; k < heed_int_isa_count(); ++k) {
    const char *kernel = heed_int_isa_name(k);
    if (heed_int_isa_use(kernel) != HEED_OK) continue;
    totals all;
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < clips.size(); ++i) {
      const kwt_int_result heard = hear(samples[i]);
      if (bits) print_bits(clips[i].file, heard);
      all.add(heard, clips[i]);
    }
    if (bits) return 0;
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    const double n = double(clips.size());
    if (digest == 0) digest = all.digest;
    passed = passed && all.n_right == clips.size() && all.worst <= logit_limit && all.digest == digest;
    std::printf(
        "%-12s %zu of %zu clips, logit error %.3f (rms %.3f), least margin %.2f, digest %016llx, %.2f ms a clip\n",
        kernel, all.n_right, clips.size(), all.worst, std::sqrt(all.squares / (n * KWT_N_LABELS)), all.margin,
        static_cast<unsigned long long>(all.digest), time.count() / n);
  }
  std::printf("%s: KWT-1 in integers, %zu bytes of weights, %zu of working memory\n", passed ? "passed" : "FAILED",
              model.size(), sizeof net);
  return passed ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  std::vector<std::string> names;
  receipts::order receipt;
  try {
    for (int i = 1; i < argc; ++i)
      if (!receipt.take(argv[i])) names.push_back(argv[i]);
    if (receipt.is_given() && names.size() == 2) {
      const receipts::run r = receipts::of_kwt(names[0], names[1], true, receipt.how, !receipt.numbers.empty());
      receipt.write(r.text, r.kept, names);
      return 0;
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "heed_kwt_int: %s\n", error.what());
    return 1;
  }
  const bool bits = !names.empty() && names[0] == "--bits";
  if (bits) names.erase(names.begin());
  const bool asks = !names.empty() && names[0].compare(0, 2, "--") == 0;
  const char *variable = std::getenv("HEED_KWT1");
  if (names.size() == 1) names.push_back(variable ? variable : "");
  if (names.size() != 2 || asks) {
    std::fprintf(stderr,
                 "usage: heed_kwt_int [--bits] WEIGHTS [FOLDER], or heed_kwt_int --receipt=FILE WEIGHTS CLIP.wav\n");
    return 2;
  }
  std::error_code ignored;
  const std::string wanted = "Give the folder with expected.tsv and clips/ as argument or in HEED_KWT1.";
  if (names[1].empty()) {
    std::fprintf(stderr, "heed_kwt_int: skipped: no folder. %s\n", wanted.c_str());
    return exit_no_folder;
  }
  try {
    if (!std::filesystem::is_directory(names[1], ignored))
      throw std::runtime_error(names[1] + " is not a folder. " + wanted);
    const int status = run(bits, names[0], names[1]);
    files::finish_standard_output();
    return status;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "heed_kwt_int: %s\n", error.what());
    return 1;
  }
}
