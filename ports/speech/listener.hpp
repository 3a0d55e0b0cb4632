// What heed_listen hears: pieces of sound become text, and a clock runs beside. SPDX-License-Identifier: MIT
#ifndef HEED_LISTENER_HPP
#define HEED_LISTENER_HPP

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "speech.h"
#include "speech_cut.h"

// A piece of sound, as it was heard.
struct heard_piece {
  std::vector<std::string> texts;  // of the tokens behind the first, which has none
  uint64_t digest = 0;  // of the bits of the encoder's output, then of all logits; if the listener takes digests
  std::string text() const;
};

// Throws what a function of the program says.
void require(const char *error, const std::string &what);

// Parts of the program between which its hook tells the time.
enum part { part_front, part_encoder, part_keys, part_decoder, part_logits, n_parts };

class listener {
 public:
  // net was opened; it must outlive this. Words and their times go to the file `alignment`, unless it is "": lines, or, if
  // its name ends with .png, a picture of each piece.
  explicit listener(speech &net, const std::string &alignment = "", const std::vector<std::string> &inputs = {});
  heard_piece hear(const int16_t *samples, int32_t n);
  void take_digests() { takes_digests_ = true; }
  // A line for each piece that says something, or one that nothing does.
  void hear_file(const std::string &path, bool cut);
  // Hears the same file again and again, and prints the first, the least and the median times; then each part's least, beside
  // what one core can do at best.
  void repeat(const std::string &path, int32_t n);
  // Raw samples: 16 bits, little endian, 16 kHz, mono, until they end.
  void hear_stream(std::FILE *stream);
  // Speed, and the share of each part.
  void print_speed() const;
  // Throws if words and their times were not written.
  void close();

 private:
  static void lap(void *self, int32_t layer, int64_t first, heed_matrix rows);
  void lap_of(int32_t layer, heed_matrix rows);
  void print_arithmetic(const std::array<double, n_parts> &least, int32_t n_samples, double flops) const;
  bool places_words() const { return words_.is_open() || !picture_.empty(); }
  void place_words(const heard_piece &piece, const int16_t *samples, int64_t first);
  void print_piece(const heard_piece &piece, const int16_t *samples, int32_t n, int64_t first,
                   const std::string &prefix);
  void start_cut(speech_cut &cut);
  void hear_cut(speech_cut &cut, int32_t n, const std::string &prefix);
  void print_silence(const std::string &prefix) const;

  speech &net_;
  bool takes_digests_ = false;
  uint64_t digest_ = 0;
  std::array<double, n_parts> seconds_ = {}, of_piece_ = {};  // of all, of the last piece
  double encoder_seconds_ = 0.0, step_seconds_ = 0.0;         // of the last piece
  double last_ = 0.0, heard_ = 0.0, encoding_ = 0.0, decoding_ = 0.0;
  size_t n_steps_ = 0;
  size_t n_lines_ = 0;  // of the sound so far
  std::string alignment_;
  std::ofstream words_;
  std::string picture_;  // without .png
  int n_pictures_ = 0;
};

// What --bits, --repeat and --receipt hear of a WAV file: the longest piece with which it begins. Says so if there is more.
std::vector<int16_t> read_piece(const std::string &path);

#endif
