// heed_sensor: the network of ports/sensor on recordings; --help says how. SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "sensor.h"
#include "../arguments.hpp"
#include "../output_file.hpp"
#include "runs.hpp"
#include "sensor_files.hpp"

namespace {

constexpr char help[] =
    R"(heed_sensor [--integers] [--bits] [FOLDER]: the network of ports/sensor on the recordings of FOLDER (default: environment
variable HEED_EEG), which expected.tsv lists. Research weights, two classes without names. Exit status 0: each has the
class of float64, its embedding within a limit; 77: no folder; 1: anything else. --integers: the network in
integers, with scales from input.f32. --bits prints what a board must print, too, and nothing else.
heed_sensor [--integers] --receipt=FILE FOLDER RECORDING.f32: of one recording.
)";

constexpr double limit = 1e-5, integers_limit = 0.05;

// What came out, in floats and as text of its bits.
struct found {
  int32_t nearer;
  double distances[SENSOR_N_CLASSES], embedding[SENSOR_DIM];
  std::string bits;
  double ms;
};

void add_bits(std::string &text, uint32_t bits) {
  char digits[10];
  std::snprintf(digits, sizeof digits, " %08x", bits);
  text += digits;
}

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

found run_floats(const sensor_weights &weights, const std::vector<float> &recording) {
  static sensor net;
  sensor_result r;
  found f;
  sensor_files::require_ok(net, sensor_start(&net, &weights, sizeof weights));
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < recording.size(); i += SENSOR_ROW)
    sensor_files::require_ok(net, sensor_row(&net, &recording[i]));
  sensor_files::require_ok(net, sensor_finish(&net, &r));
  f.ms = ms_since(start);
  f.nearer = r.nearer;
  std::copy(r.distances, r.distances + SENSOR_N_CLASSES, f.distances);
  std::copy(r.embedding, r.embedding + SENSOR_DIM, f.embedding);
  const auto add = [&](float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    add_bits(f.bits, bits);
  };
  for (const float d : r.distances) add(d);
  for (const float e : r.embedding) add(e);
  return f;
}

found run_integers(const sensor_int_weights &weights, const std::vector<float> &recording) {
  static sensor_int net;
  sensor_int_result r;
  found f;
  const std::vector<int16_t> rows = sensor_files::to_int16(recording);
  sensor_files::require_ok(net, sensor_int_start(&net, &weights, sizeof weights));
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < rows.size(); i += SENSOR_ROW) sensor_files::require_ok(net, sensor_int_row(&net, &rows[i]));
  sensor_files::require_ok(net, sensor_int_finish(&net, &r));
  f.ms = ms_since(start);
  f.nearer = r.nearer;
  for (size_t c = 0; c < SENSOR_N_CLASSES; ++c) {
    f.distances[c] = std::ldexp(static_cast<double>(r.distances[c]), -2 * SENSOR_EMBEDDING_BITS);
    add_bits(f.bits, static_cast<uint32_t>(r.distances[c]));
  }
  for (size_t i = 0; i < SENSOR_DIM; ++i) {
    f.embedding[i] = std::ldexp(r.embedding[i], -SENSOR_EMBEDDING_BITS);
    add_bits(f.bits, static_cast<uint32_t>(int32_t{r.embedding[i]}));
  }
  return f;
}

bool run_folder(const std::string &folder, bool integers, bool bits) {
  const auto weights = sensor_files::read_weights(folder);
  std::unique_ptr<sensor_int_weights> in_integers;
  if (integers) in_integers = sensor_files::quantize(*weights, {sensor_files::read_recording(folder + "/input.f32")});
  const char *kernel = integers ? heed_int_isa_current() : heed_isa_current();
  if (bits && !integers) std::printf("%s\n", heed_isa_arithmetic(kernel) == HEED_ARITHMETIC_FMA ? "fma" : "no-fma");
  if (!bits) {
    std::printf(
        "research weights, two classes; heed %s, %s, kernel %s: %zu bytes of weights, %zu of working memory\n\n",
        heed_version(), integers ? "integers" : "floats", kernel, integers ? sizeof *in_integers : sizeof *weights,
        integers ? SENSOR_INT_RAM_BYTES : SENSOR_RAM_BYTES);
    std::printf("%-18s %5s %11s %11s %26s %8s\n", "recording", "class", "distance 0", "distance 1",
                "embedding differs at most", "ms");
  }
  bool passed = true;
  double worst = 0;
  for (const sensor_files::expected_recording &e : sensor_files::read_expected(folder + "/expected.tsv")) {
    const std::vector<float> recording = sensor_files::read_recording(folder + "/" + e.name + ".f32");
    const found f = integers ? run_integers(*in_integers, recording) : run_floats(*weights, recording);
    if (bits) {
      std::printf("%s %d%s\n", e.name.c_str(), static_cast<int>(f.nearer), f.bits.c_str());
      continue;
    }
    double difference = 0;
    for (size_t i = 0; i < SENSOR_DIM; ++i)
      difference = std::max(difference, std::fabs(f.embedding[i] - e.embedding[i]));
    worst = std::max(worst, difference);
    passed = passed && f.nearer == e.nearer;
    std::printf("%-18s %5d %11.5f %11.5f %26.1e %8.2f%s\n", e.name.c_str(), static_cast<int>(f.nearer), f.distances[0],
                f.distances[1], difference, f.ms, f.nearer == e.nearer ? "" : "  <- not the class of float64");
  }
  if (bits) return true;
  passed = passed && worst <= (integers ? integers_limit : limit);
  std::printf("\n%s: the classes of float64, embeddings within %.1e (limit %.0e)\n", passed ? "passed" : "FAILED",
              worst, integers ? integers_limit : limit);
  return passed;
}

int run(int argc, char **argv) {
  bool integers = false, bits = false;
  std::string folder, recording;
  receipts::order receipt;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (receipt.take(word)) continue;
    if (word == "--integers") {
      integers = true;
    } else if (word == "--bits") {
      bits = true;
    } else if (word[0] == '-') {
      throw std::runtime_error(word + " is not an option; heed_sensor --help lists them");
    } else if (folder.empty()) {
      folder = word;
    } else {
      recording = word;
    }
  }
  folder =
      model_folder("heed_sensor", folder, "HEED_EEG", "weights.f32, prototypes.f32, expected.tsv and the recordings");
  if (folder.empty()) return exit_no_model;
  if (receipt.is_given() == recording.empty())
    throw std::runtime_error("--receipt and --numbers go with FOLDER RECORDING.f32");
  if (receipt.is_given()) {
    const receipts::run r = receipts::of_sensor(folder, recording, integers, receipt.how, !receipt.numbers.empty());
    receipt.write(r.text, r.kept, {folder, recording});
    return 0;
  }
  return run_folder(folder, integers, bits) ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  return run_program("heed_sensor", argc, argv, std::string(help) + receipts::order_help,
                     [&] { return run(argc, argv); });
}
