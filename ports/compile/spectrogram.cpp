// The tables of Whisper's log-mel spectrogram (Radford et al. 2022; Slaney 1998). See network.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "../import/convert.hpp"
#include "network.hpp"

namespace heed_compile {
namespace {

// (n_out, n_in) numbers as a packed matrix of floats: the logarithm of a quiet band needs them all.
template <class F>
tensor matrix_of(const std::string &name, int32_t n_out, int32_t n_in, F number) {
  heed_import::bytes numbers;
  for (int32_t o = 0; o < n_out; ++o)
    for (int32_t i = 0; i < n_in; ++i) heed_import::put(numbers, static_cast<float>(number(o, i)));
  tensor t;
  t.name = name, t.dims = {static_cast<uint32_t>(n_out), static_cast<uint32_t>(n_in)};
  t.own(std::move(numbers));
  heed_import::wish packed;
  packed.dtype = HEED_F32, packed.packed = true;
  heed_import::convert(t, packed);
  return t;
}

}  // namespace

std::vector<double> mel_filters_of(const network &net) {
  const speech_settings &s = net.speech;
  if (!s.mel_filters.empty()) return {s.mel_filters.begin(), s.mel_filters.end()};
  // Slaney's scale is linear up to 1000 Hz, 15 mels, and then has 27 mels for each factor of 6.4. Bands are triangles of area 1.
  const auto mels_of = [](double hertz) {
    return hertz < 1000 ? hertz * 3 / 200 : 15 + std::log(hertz / 1000) * 27 / std::log(6.4);
  };
  const auto hertz_of = [](double mels) {
    return mels < 15 ? mels * 200 / 3 : 1000 * std::exp((mels - 15) * std::log(6.4) / 27);
  };
  const double last = mels_of(sample_rate / 2.0);
  const auto corner = [&](int32_t i) { return hertz_of(last * i / (s.n_mels + 1)); };
  std::vector<double> filters;
  for (int32_t band = 0; band < s.n_mels; ++band) {
    const double low = corner(band), middle = corner(band + 1), high = corner(band + 2);
    for (int32_t k = 0; k < n_frequencies; ++k) {
      const double hertz = static_cast<double>(k) * sample_rate / window_length;
      const double height = std::min((hertz - low) / (middle - low), (high - hertz) / (high - middle));
      filters.push_back(std::max(height, 0.0) * 2 / (high - low));
    }
  }
  return filters;
}

std::vector<tensor> spectrogram_tensors(const network &net) {
  // Hann's window has the same number at i and window_length - i, so it is multiplied into the tables. Cosines take the sums of such
  // samples, for i of 0 to 200, and sines the differences, for i of 1 to 199.
  const auto window = [](int32_t i) { return (1 - std::cos(2 * M_PI * i / window_length)) / 2; };
  const auto angle = [](int32_t k, int32_t i) { return 2 * M_PI * (k * i % window_length) / window_length; };
  const std::vector<double> filters = mel_filters_of(net);
  const auto band_of = [&](int32_t band, int32_t i) {
    const int32_t k = i < n_frequencies ? i : i - n_frequencies + 1;
    return filters[static_cast<size_t>(band * n_frequencies + k)];
  };
  std::vector<tensor> all;
  all.push_back(matrix_of("dft_even", n_frequencies, n_frequencies,
                          [&](int32_t k, int32_t i) { return window(i) * std::cos(angle(k, i)); }));
  all.push_back(matrix_of("dft_odd", n_frequencies - 2, n_frequencies - 2,
                          [&](int32_t k, int32_t i) { return window(i + 1) * std::sin(angle(k + 1, i + 1)); }));
  all.push_back(matrix_of("mel_filters", net.speech.n_mels, window_length, band_of));
  return all;
}

}  // namespace heed_compile
