// See speech_runs.hpp. SPDX-License-Identifier: MIT
#include "speech_runs.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>

#include "sound_files.hpp"
#include "speech_files.hpp"
#include "speech_receipt.h"

namespace receipts {

run of_speech(const std::string &model, const std::string &wav, const std::string &format, const std::string &cache,
              const detail &how, bool keeps_numbers) {
  if (cache != "f32" && cache != "f16") throw std::runtime_error("cache: \"" + cache + "\" is neither f32 nor f16");
  const std::vector<int16_t> samples = host_files::read_wav(wav);
  if (samples.size() > size_t(SPEECH_MAX_SAMPLES))
    throw std::runtime_error(wav + ": has more than " + std::to_string(SPEECH_MAX_SECONDS) + " s");
  const speech_files::model m = speech_files::load(model, format);
  const auto net = std::make_unique<speech>();
  speech_files::require_ok(*net, speech_open(net.get(), m.data(), m.size()), model);
  net->cache_format = cache == "f16" ? HEED_F16 : HEED_F32;
  writer w({"speech", digest_of(m.data(), m.size()), SPEECH_RECEIPT_LAYERS, false}, how, keeps_numbers);
  w.setting("format", format.empty() ? "f32" : format);
  w.setting("cache", cache);
  w.input("samples", samples);
  speech_receipt watch = {writer::see, &w, {}, 0, 0};
  net->watch = speech_receipt_see, net->context = &watch;
  const auto start = std::chrono::steady_clock::now();
  speech_files::require_ok(*net, speech_hear(net.get(), samples.data(), int32_t(samples.size())), wav);
  int32_t token = SPEECH_START;
  for (int64_t step = 0; token >= 0; ++step) {
    heed_receipt_token(w.get(), step, token);
    speech_files::require_ok(*net, speech_next(net.get(), &token), wav);
  }
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const std::string text = w.finish();
  return {text, w.kept(), ms};
}

}  // namespace receipts
