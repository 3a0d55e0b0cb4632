// heed_kwt_int: KWT-1 in integers on recorded clips; --help says how. SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "../arguments.hpp"
#include "host_files.hpp"
#include "kwt_int.h"
#include "runs.hpp"

namespace {

constexpr char help[] =
    R"(heed_kwt_int [--bits] WEIGHTS [FOLDER]: KWT-1 in integers on the recorded clips of FOLDER (default: environment variable
HEED_KWT1), which holds expected.tsv and clips/. WEIGHTS is what `heed_calibrate kwt` wrote. On every kernel of integers, all of
which must give the same logits. Exit status 0: every clip is recognised, its logits within 0.15; 77: no folder; 1: anything else.
--bits prints the label and the logits, in 2^-16, of each clip, and nothing else: what a board must print, too.

heed_kwt_int --receipt=FILE WEIGHTS CLIP.wav: of up to a second of sound.
)";

constexpr double logit_limit = 0.15;
kwt_int net;

kwt_int_result hear(const std::string &file, const std::vector<int16_t> &samples) {
  kwt_int_result heard;
  host_files::require_ok(net, kwt_int_run(&net, samples.data(), samples.size(), &heard), file);
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

int run_folder(bool bits, const std::string &weights, const std::string &folder) {
  const files::aligned_bytes model = host_files::read_model(weights);
  host_files::require_ok(net, kwt_int_init(&net, model.data(), model.size()), weights);
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
      const kwt_int_result heard = hear(clips[i].file, samples[i]);
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

int run(int argc, char **argv) {
  std::vector<std::string> names;
  receipts::order receipt;
  bool bits = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (receipt.take(word)) continue;
    if (word == "--bits")
      bits = true;
    else if (word[0] == '-')
      throw std::runtime_error(word + " is not an option; heed_kwt_int --help lists them");
    else
      names.push_back(word);
  }
  if (names.empty() || names.size() > 2) throw std::runtime_error("WEIGHTS [FOLDER] are wanted; --help tells more");
  if (receipt.is_given()) {
    if (names.size() != 2) throw std::runtime_error("--receipt and --numbers go with WEIGHTS CLIP.wav");
    const receipts::run r = receipts::of_kwt(names[0], names[1], true, receipt.how, !receipt.numbers.empty());
    receipt.write(r.text, r.kept, names);
    return 0;
  }
  const std::string folder =
      model_folder("heed_kwt_int", names.size() > 1 ? names[1] : "", "HEED_KWT1", "expected.tsv and clips/");
  return folder.empty() ? exit_no_model : run_folder(bits, names[0], folder);
}

}  // namespace

int main(int argc, char **argv) {
  return run_program("heed_kwt_int", argc, argv, std::string(help) + receipts::order_help,
                     [&] { return run(argc, argv); });
}
