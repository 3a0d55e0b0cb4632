// heed_calibrate: from layers of floats to layers of integers; --help says how. SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "../arguments.hpp"
#include "../output_file.hpp"
#include "../terminal.h"
#include "description.hpp"
#include "host_files.hpp"
#include "kwt_int_weights.hpp"
#include "model_file.hpp"
#include "report.hpp"

namespace {

constexpr char help[] =
    R"(heed_calibrate [OPTION...] MODEL.txt OUT.bin     layers of floats, as description.hpp says, to layers of integers
heed_calibrate [OPTION...] kwt FOLDER OUT.bin    KWT-1, sound and all: FOLDER has non_stream.tflite, expected.tsv, clips/

  --percent=99.99   int8 ranges leave out the largest numbers; 50 to 100 (default: 100, the greatest magnitude)
  --headroom=1.5    int16 rows may be so many times as large as any that was recorded; 1 to 100
  --array=NAME      writes OUT.bin as a C header: const uint32_t NAME[]
  --places          reports all places of all layers

Prints what rounding costs in each layer. Scales of KWT-1 come from every fourth clip. The file is the same whatever kernel
this computer has.
)";

struct arguments {
  calibrate::choice choice;
  std::string array;
  bool every_place = false;
  std::vector<std::string> names;
};

double number_of(const std::string &word, size_t at, int low, int high) {
  char *end = nullptr;
  const double x = std::strtod(word.c_str() + at, &end);
  if (end == word.c_str() + at || *end != '\0' || !(x >= low && x <= high))
    throw std::runtime_error(word + ": " + std::to_string(low) + " to " + std::to_string(high) + " is possible");
  return x;
}

std::string array_name(const std::string &word) {
  if (!calibrate::is_c_name(word.substr(8)))
    throw std::runtime_error("--array needs a name of C: letters, digits and _, no word of C");
  return word.substr(8);
}

arguments read_arguments(int argc, char **argv) {
  arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.compare(0, 10, "--percent=") == 0)
      a.choice.percent = number_of(word, 10, 50, 100);
    else if (word.compare(0, 11, "--headroom=") == 0)
      a.choice.headroom = number_of(word, 11, 1, 100);
    else if (word.compare(0, 8, "--array=") == 0)
      a.array = array_name(word);
    else if (word == "--places")
      a.every_place = true;
    else if (word.compare(0, 2, "--") == 0)
      throw std::runtime_error(word + " is not an option; heed_calibrate --help lists them");
    else
      a.names.push_back(word);
  }
  return a;
}

// Floats differ between the two arithmetics. This one every computer has.
void use_one_arithmetic() {
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    if (heed_isa_arithmetic(heed_isa_name(i)) != HEED_ARITHMETIC_NO_FMA) continue;
    if (heed_isa_use(heed_isa_name(i)) == HEED_OK) return;
  }
}

void write(const arguments &a, const std::string &path, const std::vector<uint8_t> &file, files::output_file &out) {
  if (a.array.empty())
    out.write(file.data(), file.size());
  else
    out.write(calibrate::c_array(a.array, file));
  out.finish();
  std::printf("%s: %zu bytes\n", path.c_str(), file.size());
}

void convert_kwt(const arguments &a, const std::string &folder, const std::string &out) {
  const std::vector<uint8_t> published = files::read(folder + "/non_stream.tflite");
  const auto net = network::read_kwt(published.data(), published.size());
  std::vector<network::clip> clips;
  std::vector<calibrate::sequence> tokens;
  const auto expected = host_files::read_expected(folder + "/expected.tsv");
  std::vector<std::string> inputs = {folder + "/non_stream.tflite", folder + "/expected.tsv"};
  for (size_t i = 0; i < expected.size(); i += 4) {
    inputs.push_back(folder + "/clips/" + expected[i].file);
    clips.push_back(host_files::read_wav(folder + "/clips/" + expected[i].file));
    tokens.push_back(network::tokens_of(*net, clips.back()));
  }
  files::output_file file(out, inputs);  // refused before the work, not after it
  const network::kwt_in_integers made = network::to_integers(*net, clips, a.choice);
  calibrate::print_report(made.floats, made.integers, tokens, a.every_place);
  write(a, out, made.file, file);
}

void see(calibrate::sequence x, size_t number, std::vector<calibrate::layer> &layers) {
  try {
    for (size_t l = 0; l < layers.size(); ++l)
      x = calibrate::in_layer(l, [&] { return layers[l].see(x, int32_t(x.size()) / layers[l].model_dim()); });
  } catch (const std::invalid_argument &error) {
    throw std::runtime_error("sequence " + std::to_string(number) + ", " + error.what());
  }
}

void convert_described(const arguments &a, const std::string &path, const std::string &out) {
  const calibrate::described_model m = calibrate::read_description(path);
  files::output_file file(out, m.files);  // refused before the work, not after it
  std::vector<calibrate::layer> floats(m.layers.begin(), m.layers.end());
  for (size_t i = 0; i < m.sequences.size(); ++i) {
    show_progress("sequence", i, m.sequences.size());
    see(m.sequences[i], i, floats);
  }
  show_progress("sequence", 1, 1);
  const std::vector<calibrate::int_layer> integers = calibrate::quantize(floats, a.choice);
  calibrate::print_report(floats, integers, m.sequences, a.every_place);
  write(a, out, calibrate::model_file(integers), file);
}

int run(const arguments &a) {
  files::require_little_endian();
  use_one_arithmetic();
  if (a.names.size() == 3 && a.names[0] == "kwt")
    convert_kwt(a, a.names[1], a.names[2]);
  else if (a.names.size() == 2)
    convert_described(a, a.names[0], a.names[1]);
  else
    return std::fprintf(
               stderr,
               "usage: heed_calibrate [--percent=P] [--headroom=H] [--array=NAME] [--places] MODEL.txt OUT.bin\n"
               "       heed_calibrate [...] kwt FOLDER OUT.bin\n"),
           2;
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  return run_program("heed_calibrate", argc, argv, help, [&] { return run(read_arguments(argc, argv)); });
}
