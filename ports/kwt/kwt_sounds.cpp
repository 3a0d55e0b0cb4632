// See kwt_sounds.hpp. SPDX-License-Identifier: MIT
#include "kwt_sounds.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>

#include "../output_file.hpp"
#include "host_files.hpp"
#include "kwt_words.h"

namespace {

// A stream of any length, cut into hops.
class listener {
 public:
  listener(kwt &net, float threshold, const std::string &prefix)
      : net_(net), words_(std::make_unique<kwt_words>()), prefix_(prefix) {
    host_files::require_ok(net, kwt_words_start(words_.get(), &net, threshold), "threshold");
  }

  void take(const int16_t *samples, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      hop_[n_++] = samples[i];
      if (n_ == hop_.size()) hear();
    }
  }

  // Silence until windows enough have seen the last sample, and there is one at all.
  void finish() {
    const size_t hops = std::max<size_t>(n_hops_ + (n_ > 0) + KWT_AGREEING, KWT_N_SAMPLES / KWT_HOP + KWT_AGREEING - 1);
    const int16_t silence = 0;
    while (n_hops_ < hops) take(&silence, 1);
  }

  int n_words() const { return n_words_; }

 private:
  void hear() {
    kwt_result heard;
    host_files::require_ok(net_, kwt_words_hear(words_.get(), hop_.data(), &heard), "samples");
    n_ = 0;
    ++n_hops_;
    if (heard.label < 0) return;
    ++n_words_;
    std::printf("%s%7.2f s  %-5s %5.1f %%\n", prefix_.c_str(), double(n_hops_ * KWT_HOP) / KWT_N_SAMPLES,
                kwt_label(heard.label), 100.0 * double(heard.confidence));
    files::finish_standard_output();
  }

  kwt &net_;
  std::unique_ptr<kwt_words> words_;
  std::string prefix_;
  std::array<int16_t, KWT_HOP> hop_;
  size_t n_ = 0, n_hops_ = 0;
  int n_words_ = 0;
};

void hear_file(kwt &net, float threshold, const std::string &path) {
  std::vector<int16_t> samples = host_files::read_wav(path);
  if (samples.size() > KWT_N_SAMPLES) {
    listener words(net, threshold, path + ": ");
    words.take(samples.data(), samples.size());
    words.finish();
    if (words.n_words() == 0) std::printf("%s: no word\n", path.c_str());
    return;
  }
  samples.resize(KWT_N_SAMPLES);
  kwt_result heard;
  host_files::require_ok(net, kwt_run_int16(&net, samples.data(), samples.size(), &heard), path);
  std::printf("%s: %s %.1f %%\n", path.c_str(), kwt_label(heard.label), 100.0 * double(heard.confidence));
}

}  // namespace

int hear_files(kwt &net, float threshold, const std::vector<std::string> &paths) {
  int n_refused = 0;
  for (const std::string &path : paths) {
    try {
      hear_file(net, threshold, path);
    } catch (const std::exception &error) {
      std::fprintf(stderr, "heed_kwt: %s\n", error.what());
      ++n_refused;
    }
  }
  return n_refused;
}

void hear_stream(kwt &net, float threshold, std::FILE *stream) {
  listener words(net, threshold, "");
  std::array<unsigned char, 2 * KWT_HOP> bytes;
  size_t n_bytes, total = 0;
  do {
    n_bytes = std::fread(bytes.data(), 1, bytes.size(), stream);  // waits for a whole hop
    if (total == 0 && n_bytes >= 4 && std::memcmp(bytes.data(), "RIFF", 4) == 0)
      throw std::runtime_error(
          "standard input is a WAV file, not raw samples: give the file's name, or arecord -t raw");
    for (size_t i = 0; i + 1 < n_bytes; i += 2) {
      const int16_t sample = static_cast<int16_t>(bytes[i] | bytes[i + 1] << 8);
      words.take(&sample, 1);
    }
    total += n_bytes;
  } while (n_bytes == bytes.size());
  if (std::ferror(stream)) throw std::runtime_error("standard input cannot be read");
  if (total == 0) throw std::runtime_error("standard input is empty");
  words.finish();
  if (total % 2 != 0) throw std::runtime_error("standard input ends in the middle of a sample: not 16-bit PCM");
}
