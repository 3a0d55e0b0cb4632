// See listener.hpp. SPDX-License-Identifier: MIT
#include "listener.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "rows_digest.h"
#include "peak.h"
#include "sound_files.hpp"
#include "speech_align.h"
#include "speech_cut.h"
#include "words_map.hpp"

namespace {

constexpr char png[] = ".png";

speech_alignment alignment_of_piece;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of(int64_t n_samples) { return double(n_samples) / SPEECH_RATE; }

constexpr std::array<const char *, n_parts> names = {"convolutions", "encoder's layers", "keys and values of the sound",
                                                     "decoder's layers", "logits"};

// Of a part of the encoder, for a piece of sound; 0 where it has none. The first convolution has 127 samples in a window, the second 7 rows and
// the third 3.
double multiply_adds(size_t part, int32_t n_samples) {
  const double n1 = (n_samples - 127) / 64 + 1, n2 = (int32_t(n1) - 7) / 3 + 1, n3 = (int32_t(n2) - 3) / 2 + 1;
  const double dim = SPEECH_DIM, square = dim * dim;
  if (part == part_front) return n1 * 127 * dim + n2 * 7 * 2 * square + n3 * 3 * 2 * square;
  if (part == part_encoder)
    return SPEECH_ENCODER_LAYERS * n3 * (4 * square + 2 * dim * SPEECH_ENCODER_FFN_DIM + 2 * n3 * dim);
  return part == part_keys ? SPEECH_DECODER_LAYERS * n3 * 2 * square : 0.0;
}

// Of the weights that a token reads.
double bytes_of_token(const speech &m, size_t part) {
  const auto of = [](const heed_weights &w) { return double(heed_weights_packed_bytes(w.dtype, w.n_in, w.n_out)); };
  double bytes = part == part_logits ? of(m.classifier) : 0.0;
  for (int32_t l = SPEECH_ENCODER_LAYERS; part == part_decoder && l < SPEECH_LAYERS; ++l) {
    const heed_attention_layer &a = m.attention[l], &c = m.cross[l - SPEECH_ENCODER_LAYERS];
    for (const heed_weights *w : {&a.wq, &a.wk, &a.wv, &a.wo, &c.wq, &c.wo, &m.layers[l].w_up, &m.layers[l].w_down})
      bytes += of(*w);
  }
  return bytes;
}

// No sound has all of its samples in the range of two letters.
bool is_text(const unsigned char *bytes, size_t n) {
  return std::all_of(bytes, bytes + n, [](unsigned char c) { return (c >= ' ' && c <= '~') || (c >= 9 && c <= 13); });
}

int16_t sample_at(const unsigned char *bytes) { return static_cast<int16_t>(bytes[0] | bytes[1] << 8); }

}  // namespace

std::vector<int16_t> read_piece(const std::string &path) {
  std::vector<int16_t> samples = host_files::read_wav(path);
  if (samples.size() <= size_t(SPEECH_SAMPLES)) return samples;
  std::fprintf(stderr, "heed_listen: %s has %.2f s: only its first %d s are heard\n", path.c_str(),
               seconds_of(int64_t(samples.size())), SPEECH_SAMPLES / SPEECH_RATE);
  samples.resize(size_t(SPEECH_SAMPLES));
  return samples;
}

void require(const char *error, const std::string &what) {
  if (error != nullptr) throw std::runtime_error(what + ": " + error);
}

std::string heard_piece::text() const {
  std::string all;
  for (const std::string &text : texts) all += text;
  return all;
}

listener::listener(speech &net, const std::string &alignment, const std::vector<std::string> &inputs)
    : net_(net), alignment_(alignment) {
  net.see = lap;
  net.see_user = this;
  if (alignment.empty()) return;
  const size_t end = alignment.rfind(png);
  if (end != std::string::npos && end + std::strlen(png) == alignment.size()) {
    if (!heed_map::has_png())
      throw std::runtime_error(alignment + ": this build has no libpng (Debian: libpng-dev); a .txt needs none");
    picture_ = alignment.substr(0, end);
  } else {
    // Words are written as they are heard, since a sound may go on for ever: no temporary file, and no file that is read.
    std::error_code error;
    for (const std::string &input : inputs)
      if (std::filesystem::equivalent(alignment, input, error))
        throw std::runtime_error(alignment + ": is an input, too: name another file");
    words_.open(alignment);
    if (!words_) throw std::runtime_error(alignment + ": cannot be written");
  }
}

void listener::lap(void *self, int32_t layer, int64_t, heed_matrix rows) {
  static_cast<listener *>(self)->lap_of(layer, rows);
}

// The first layer of the encoder comes with all that is before it.
void listener::lap_of(int32_t layer, heed_matrix rows) {
  const double now = seconds_now();
  const part of = layer == 0                      ? part_front
                  : layer < SPEECH_ENCODER_LAYERS ? part_encoder
                  : layer < SPEECH_LAYERS         ? part_decoder
                                                  : part_logits;
  of_piece_[of] += now - last_;
  if (layer == SPEECH_LAYERS && takes_digests_) digest_ = rows_digest(digest_, rows.data, rows.dim);
  last_ = seconds_now();
}

heard_piece listener::hear(const int16_t *samples, int32_t n) {
  heard_piece piece;
  of_piece_.fill(0.0);
  const double start = last_ = seconds_now();
  require(speech_sound(&net_, samples, n), "the sound");
  const double encoded = seconds_now();
  of_piece_[part_keys] = encoded - last_;
  if (SPEECH_ENCODER_LAYERS > 1) {  // layers take equally long
    const double layer =
        std::min(of_piece_[part_encoder] / std::max(SPEECH_ENCODER_LAYERS - 1, 1), of_piece_[part_front]);
    of_piece_[part_front] -= layer, of_piece_[part_encoder] += layer;
  }
  digest_ = takes_digests_ ? rows_digest(ROWS_DIGEST_BEGIN, net_.x, net_.n_rows * SPEECH_DIM) : 0;
  last_ = seconds_now();
  for (int32_t token = 0;; last_ = seconds_now()) {
    require(speech_next(&net_, &token), "the text");
    if (token < 0) break;
    std::string text(size_t{256}, ' ');
    text.resize(std::min(speech_text(&net_, token, text.data(), text.size()), text.size()));
    piece.texts.push_back(text);
  }
  piece.digest = digest_;
  const double decoding = seconds_now() - encoded;
  heard_ += seconds_of(n);
  encoding_ += encoder_seconds_ = encoded - start;
  decoding_ += decoding;
  step_seconds_ = net_.n > 0 ? decoding / net_.n : 0.0;
  for (size_t p = 0; p < seconds_.size(); ++p) seconds_[p] += of_piece_[p];
  n_steps_ += size_t(net_.n);
  return piece;
}

void listener::place_words(const heard_piece &piece, const int16_t *samples, int64_t first) {
  const speech_alignment &a = alignment_of_piece;
  const std::vector<placed_word> words = words_of(a, piece.texts);
  const double begin = seconds_of(first);
  if (words_.is_open()) {
    for (const placed_word &w : words)
      words_ << begin + seconds_of_row(a.first[w.first]) << '\t' << begin + seconds_of_row(a.first[w.end]) << '\t'
             << w.text << '\n';
    words_.flush();
  } else if (!words.empty()) {
    const std::string number = n_pictures_++ == 0 ? "" : "-" + std::to_string(n_pictures_);
    heed_map::write_png(words_map(a, words, samples, begin), picture_ + number + png);
  }
}

void listener::print_piece(const heard_piece &piece, const int16_t *samples, int32_t n, int64_t first,
                           const std::string &prefix) {
  if (places_words()) place_words(piece, samples, first);
  const std::string text = piece.text();
  if (text.empty()) return;
  std::printf("%s%7.2f to %6.2f s  %s\n", prefix.c_str(), seconds_of(first), seconds_of(first + n), text.c_str());
  std::fflush(stdout);
  ++n_lines_;
}

void listener::print_silence(const std::string &prefix) const {
  if (n_lines_ == 0) std::printf("%s(no speech)\n", prefix.c_str());
}

void listener::start_cut(speech_cut &cut) {
  n_lines_ = 0;
  require(speech_align_start(&alignment_of_piece, &net_), "the alignment");
  speech_cut_start(&cut);
}

// A piece without a pause is heard whole, and the words behind the cut again with the next piece.
void listener::hear_cut(speech_cut &cut, int32_t n, const std::string &prefix) {
  if (n == 0) return;
  heard_piece piece = hear(cut.samples, cut.is_forced ? SPEECH_SAMPLES : n);
  speech_align_finish(&alignment_of_piece);
  if (cut.is_forced) {
    const auto n_tokens = size_t(std::max(speech_align_cut(&alignment_of_piece, &cut), 0));
    piece.texts.resize(std::min(piece.texts.size(), n_tokens));
    n = cut.n_done * SPEECH_FRAME;
  }
  print_piece(piece, cut.samples, n, cut.first, prefix);
}

void listener::hear_file(const std::string &path, bool cut) {
  const std::vector<int16_t> samples = host_files::read_wav(path);
  const std::string prefix = path + ": ";
  n_lines_ = 0;
  require(speech_attend(&net_, nullptr), path);
  if (!cut && samples.size() <= size_t(SPEECH_SAMPLES)) {
    if (samples.size() < SPEECH_MIN_SAMPLES) throw std::runtime_error(path + ": the sound is shorter than 895 samples");
    if (places_words()) require(speech_align_start(&alignment_of_piece, &net_), "the alignment");
    const heard_piece piece = hear(samples.data(), int32_t(samples.size()));
    if (places_words()) speech_align_finish(&alignment_of_piece);
    print_piece(piece, samples.data(), int32_t(samples.size()), 0, prefix);
    return print_silence(prefix);
  }
  const auto pieces = std::make_unique<speech_cut>();
  start_cut(*pieces);
  for (size_t at = 0; at + SPEECH_FRAME <= samples.size(); at += SPEECH_FRAME)
    hear_cut(*pieces, speech_cut_take(pieces.get(), &samples[at]), prefix);
  hear_cut(*pieces, speech_cut_finish(pieces.get()), prefix);
  print_silence(prefix);
}

void listener::repeat(const std::string &path, int32_t n) {
  const std::vector<int16_t> samples = read_piece(path);
  const int32_t n_samples = int32_t(samples.size());
  std::vector<double> encoder, step;
  std::array<double, n_parts> least = {};
  double flops = 0.0;  // of a busy machine the greatest
  for (int32_t i = 0; i < n; ++i) {
    hear(samples.data(), n_samples);
    flops = std::max(flops, heed_peak_flops(heed_isa_current()));
    const double keys = of_piece_[part_keys], steps = std::max(net_.n, 1);
    encoder.push_back(1e3 * (encoder_seconds_ - keys));
    step.push_back(1e3 * (step_seconds_ + keys / steps));
    of_piece_[part_decoder] /= steps;
    of_piece_[part_logits] /= steps;
    for (size_t p = 0; p < least.size(); ++p) least[p] = i == 0 ? of_piece_[p] : std::min(least[p], of_piece_[p]);
  }
  const double first[] = {encoder[0], step[0]};
  std::sort(encoder.begin(), encoder.end());
  std::sort(step.begin(), step.end());
  std::printf(
      "%s: encoder first %.2f, least %.2f, median %.2f ms; a token, with its share of the sound's keys and values, "
      "%.2f, %.2f, %.2f ms\n",
      path.c_str(), first[0], encoder[0], encoder[size_t(n) / 2], first[1], step[0], step[size_t(n) / 2]);
  print_arithmetic(least, n_samples, flops);
}

void listener::print_arithmetic(const std::array<double, n_parts> &least, int32_t n_samples, double flops) const {
  std::vector<float> memory(size_t{1} << 25, 1.0f);  // more than caches hold
  const size_t skip = (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64 / sizeof(float),
               end = memory.size() - 16;
  const double reading = heed_peak_read(heed_isa_current(), memory.data() + skip, end / 256 * 256 * sizeof(float));
  std::printf("this core now: %.1f GFLOP/s of multiply-adds in f32, reads %.1f GB/s from memory\n", 1e-9 * flops,
              1e-9 * reading);
  for (size_t p = 0; p < least.size(); ++p) {
    const double adds = multiply_adds(p, n_samples), bytes = bytes_of_token(net_, p);
    std::printf("  %-29s %7.2f ms", names[p], 1e3 * least[p]);
    if (adds > 0) std::printf(", %.0f M multiply-adds, %.0f %% of that", 1e-6 * adds, 200.0 * adds / least[p] / flops);
    if (bytes > 0) std::printf(" a token, %.1f MB of weights, %.1f GB/s", 1e-6 * bytes, 1e-9 * bytes / least[p]);
    std::printf("\n");
  }
}

void listener::hear_stream(std::FILE *stream) {
  const auto pieces = std::make_unique<speech_cut>();
  start_cut(*pieces);
  std::array<unsigned char, 2 * SPEECH_FRAME> bytes;
  std::array<int16_t, SPEECH_FRAME> frame;
  size_t n_bytes, total = 0;
  do {
    n_bytes = std::fread(bytes.data(), 1, bytes.size(), stream);  // waits for a whole frame
    if (total == 0 && n_bytes >= 4 && std::memcmp(bytes.data(), "RIFF", 4) == 0)
      throw std::runtime_error(
          "standard input is a WAV file, not raw samples: give the file's name, or arecord -t raw");
    if (total == 0 && n_bytes > 0 && is_text(bytes.data(), n_bytes))
      throw std::runtime_error("standard input is text, not raw samples of 16 bits, as arecord -t raw writes them");
    total += n_bytes;
    if (n_bytes < bytes.size()) break;
    for (size_t i = 0; i < frame.size(); ++i) frame[i] = sample_at(&bytes[2 * i]);
    hear_cut(*pieces, speech_cut_take(pieces.get(), frame.data()), "");
  } while (true);
  if (std::ferror(stream)) throw std::runtime_error("standard input cannot be read");
  if (total == 0) throw std::runtime_error("standard input is empty");
  hear_cut(*pieces, speech_cut_finish(pieces.get()), "");
  print_silence("");
  if (total % 2 != 0) throw std::runtime_error("standard input ends in the middle of a sample: not 16-bit PCM");
}

void listener::close() {
  if (!words_.is_open()) return;
  words_.close();
  if (words_) return;
  if (std::filesystem::is_regular_file(alignment_)) std::filesystem::remove(alignment_);
  throw std::runtime_error(alignment_ + ": cannot be written");
}

void listener::print_speed() const {
  const double all = encoding_ + decoding_;
  if (heard_ == 0.0) return;
  std::printf(
      "%.2f s of sound in %.3f s: %.4f of real time; encoder %.1f ms a second of sound, decoder %.2f ms a token\n",
      heard_, all, all / heard_, 1e3 * encoding_ / heard_, n_steps_ > 0 ? 1e3 * decoding_ / double(n_steps_) : 0.0);
  const double sum = std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
  std::printf("of the time: ");
  for (size_t p = 0; p < seconds_.size(); ++p)
    std::printf("%s%s %.1f %%", p > 0 ? ", " : "", names[p], 100.0 * seconds_[p] / sum);
  std::printf("\n");
}
