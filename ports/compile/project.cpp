// See project.hpp. SPDX-License-Identifier: MIT
#include "project.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

namespace heed_compile {
namespace {

// How a program begins to speak. ${about} is the same in all.
const char sketch_begin[] = R"(// ${name}.ino: ${title}
// heed_compile wrote this sketch around ${name}.c from ${source}. Change it as you like.
//
// Library: heed, as heed-arduino-*.zip (Sketch > Include Library > Add .ZIP Library). The board needs sizeof(${name}) bytes of RAM,
// and a stack of HEED_STACK_BYTES and 1 KB. An ESP32 gives a sketch 8 KB of stack: put SET_LOOP_TASK_STACK_SIZE(16 * 1024); below.
#include <heed.h>

#include "${name}.h"

extern "C" const uint32_t ${name}_file[]; // ${name}.heed: see ${name}_file.c
extern "C" const uint32_t ${name}_file_bytes;

static ${name} model;

static void say(const char *text) { Serial.print(text); }
?numbers?static void say_number(float x) { Serial.print(x, 5); }
?counts?static void say_count(int32_t n) { Serial.print(static_cast<long>(n)); }
)";

const char main_begin[] = R"(/* ${title}
 * heed_compile wrote this program around ${name}.c from ${source}. Change it as you like. */
#include <stdio.h>

#include "${name}.h"

HEED_FILE_LINK(${name}_file, MODEL_FILE) /* CMakeLists.txt says where the file is */

static ${name} model;

static void say(const char *text) { printf("%s", text); }
?numbers?
?numbers?/* Many boards have a printf without floats. */
?numbers?static void say_number(float x) {
?numbers?  const long n = (long)(x * 100000.0f + (x < 0.0f ? -0.5f : 0.5f));
?numbers?  const long size = n < 0 ? -n : n;
?numbers?  printf("%s%ld.%05ld", n < 0 ? "-" : "", size / 100000, size % 100000);
?numbers?}
?counts?static void say_count(int32_t n) { printf("%ld", (long)n); }
)";

const char run_text[] = R"(
?decoder?/* Reads a text, and says what the model adds to it: ${n_new} tokens, or fewer if the text ends. */
?decoder?static const char *run(const char *text, size_t n) {
?decoder?  int32_t token = 0;
?decoder?  ${name}_restart(&model);
?decoder??words?  char added[64];
?decoder??words?  say(text);
?decoder??words?  const char *error = ${name}_prompt(&model, text, n);
?decoder??!words?  (void)text, (void)n; /* the file has no tokenizer: token 0 begins the text */
?decoder??!words?  const char *error = ${name}_read(&model, &token, 1);
?decoder?  for (int i = 0; !error && i < ${n_new}; ++i) {
?decoder?    error = ${name}_next(&model, NULL, &token);
?decoder?    if (error || token < 0) break;
?decoder??words?    added[${name}_text(&model, token, added, sizeof added - 1)] = 0;
?decoder??words?    say(added);
?decoder??!words?    say_count(token);
?decoder??!words?    say(" ");
?decoder?  }
?decoder?  say("\n");
?decoder?  return error;
?decoder?}
?!decoder?static float result[${NAME}_OUT];
?picture?static float pixels[${NAME}_SIZE * ${NAME}_SIZE * ${NAME}_CHANNELS]; /* your picture: see ${name}_picture */
?picture?
?picture?/* The picture of the known answers, number i of it. */
?picture?static float known_pixel(uint32_t i) {
?picture?  i = (i ^ (i >> 16)) * 0x21f0aaadu;
?picture?  i = (i ^ (i >> 15)) * 0x735a2d97u;
?picture?  return (float)((i ^ (i >> 15)) >> 24) / 128.0f - 1.0f;
?picture?}
?!decoder?
?text?/* Reads a text, and says ${says}. */
?picture?/* Looks at a picture, and says ${says}. */
?!decoder?static const char *run(const char *text, size_t n) {
?words??!decoder?  const char *error = ${name}_text(&model, text, n, result);
?text??!words?  const int32_t tokens[] = {0, 1, 0}; /* the file has no tokenizer */
?text??!words?  const char *error = ${name}_tokens(&model, tokens, 3, result);
?text??!words?  (void)text, (void)n;
?picture?  const char *error = ${name}_picture(&model, pixels, result);
?picture?  (void)text, (void)n;
?!decoder?  if (error) return error;
?classes?  int32_t best = 0;
?classes?  for (int32_t i = 1; i < ${NAME}_OUT; ++i)
?classes?    if (result[i] > result[best]) best = i;
?classes?  say("class ");
?classes?  say_count(best);
?labels?  say(", ");
?labels?  say(${name}_labels[best]);
?classes?  say(": ");
?classes?  say_number(result[best]);
?embedding?  for (int32_t i = 0; i < ${NAME}_OUT && i < 4; ++i) {
?embedding?    say_number(result[i]);
?embedding?    say(" ");
?embedding?  }
?!decoder?  say("\n");
?!decoder?  return NULL;
?!decoder?}

/* What the program does first. */
static const char *begin(void) {
?known?  say("${name}: opens its file and compares known answers\n");
?!known?  say("${name}: opens its file\n");
  const char *error = ${name}_open(&model, ${file_arguments});
  if (error) return error;
?known?  say("the known answers are right\n");
?picture?  for (int32_t i = 0; i < ${NAME}_SIZE * ${NAME}_SIZE * ${NAME}_CHANNELS; ++i) pixels[i] = known_pixel((uint32_t)i);
  return run("${first}", ${first_bytes});
}
)";

const char sketch_end[] = R"(
static const char *error = NULL;

static void complain() {
  if (error) Serial.println(error);
}

void setup() {
  Serial.begin(115200);
  while (!Serial && millis() < 5000) continue;
  error = begin();
  complain();
}

?takes_text?// A line that you send is the next text.
?!takes_text?// A line that you send lets it run again.
void loop() {
  static char line[128];
  static size_t n = 0;
  while (!error && Serial.available() > 0) {
    const char c = static_cast<char>(Serial.read());
    const bool ends = c == '\n';
    if (!ends && c != '\r' && n + 1 < sizeof line) line[n++] = c;
    if (!ends) continue;
    line[n] = 0;
?takes_text?    if (n > 0) error = run(line, n);
?!takes_text?    error = run(line, n);
    complain();
    error = NULL; // a text may be too long; the next one may not be
    n = 0;
  }
}
)";

const char main_end[] = R"(
static int run_program(void) {
  const char *error = begin();
  if (error) {
    say(error);
    say("\n");
  }
  return error != NULL;
}

?!esp_idf?int main(void) { return run_program(); }
?esp_idf?void app_main(void) { run_program(); }
)";

const char zephyr_cmake[] =
    R"(# west build -b BOARD . -t run -- -DEXTRA_ZEPHYR_MODULES=FOLDER, where FOLDER is heed of heed-zephyr-*.zip
cmake_minimum_required(VERSION 3.20)
find_package(Zephyr REQUIRED HINTS $ENV{ZEPHYR_BASE})
project(${name})
target_sources(app PRIVATE src/main.c src/${name}.c)
)";

const char zephyr_settings[] = R"(CONFIG_CPP=y
CONFIG_HEED=y
# HEED_STACK_BYTES, 1 KB and printf: so much on a Cortex-M, 16384 on other processors
CONFIG_MAIN_STACK_SIZE=8192
# On a processor with an FPU:
# CONFIG_FPU=y
)";

// @FOLDER is a variable of CMake, which has the same signs as those of a text here.
const char model_file_cmake[] = R"(set(model_file "@{CMAKE_CURRENT_SOURCE_DIR}/${in_folder}${name}.heed")
set_source_files_properties(${in_folder}main.c PROPERTIES COMPILE_DEFINITIONS "MODEL_FILE=\"@{model_file}\"" OBJECT_DEPENDS "@{model_file}")
)";

const char idf_cmake[] =
    R"(# Unpack heed-esp-idf-*.zip into the folder components; then idf.py set-target esp32c3 && idf.py flash monitor
cmake_minimum_required(VERSION 3.16)
include($ENV{IDF_PATH}/tools/cmake/project.cmake)
project(${name})
)";

const char idf_main_cmake[] = R"(idf_component_register(SRCS "main.c" "${name}.c" INCLUDE_DIRS ".")
)";

const char idf_component[] = R"(dependencies:
  heed:
    path: ../components/heed
)";

// The stack of app_main: 3584 bytes without this line.
const char idf_settings[] = R"(CONFIG_ESP_MAIN_TASK_STACK_SIZE=16384
)";

std::string with_dollars(std::string text) {
  std::replace(text.begin(), text.end(), '@', '$');
  return text;
}

std::map<std::string, std::string> values_of(build_system system, const network &net, const choices &c,
                                             const std::vector<tensor> &weights) {
  const auto yes = [](bool is) { return std::string(is ? "1" : ""); };
  const bool is_decoder = net.what == task::decoder, is_picture = net.what == task::vision;
  const bool has_words = !is_picture && has(weights, "tokenizer"), has_classes = net.n_classes > 0;
  const bool has_labels = has_classes && net.labels.size() == static_cast<size_t>(net.n_classes);
  const int32_t context = context_of(net, c);
  const std::string begins = context < 64 ? "Once" : "Once upon a time";
  const std::string first = is_decoder && has_words ? begins : has_words ? "a sentence" : "";
  const std::string file = c.name + "_file";
  const bool is_array = project_has_array(system);
  return {{"name", c.name},
          {"NAME", upper(c.name)},
          {"source", names::for_c(net.source)},
          {"title", net.family + ", " + std::to_string(net.n_layers) + " layers of " + std::to_string(net.dim) + "."},
          {"decoder", yes(is_decoder)},
          {"picture", yes(is_picture)},
          {"text", yes(net.what == task::encoder)},
          {"words", yes(has_words)},
          {"takes_text", yes(has_words)},
          {"classes", yes(!is_decoder && has_classes)},
          {"labels", yes(!is_decoder && has_labels)},
          {"embedding", yes(!is_decoder && !has_classes)},
          {"says", has_classes ? "which class is most probable" : "how its embedding begins"},
          {"numbers", yes(!is_decoder)},
          {"counts", yes(is_decoder ? !has_words : has_classes)},
          {"known", yes(!c.unchecked)},
          {"n_new", std::to_string(std::max(1, std::min(40, context / 2)))},
          {"first", first},
          {"first_bytes", std::to_string(first.size())},
          {"file_arguments", file + ", " + (is_array ? file + "_bytes" : "HEED_FILE_LINKED_BYTES(" + file + ")")},
          {"esp_idf", yes(system == build_system::esp_idf)},
          {"in_folder", system == build_system::zephyr ? "src/" : ""}};
}

}  // namespace

std::string project_sources(build_system system) {
  switch (system) {
    case build_system::zephyr:
      return "src";
    case build_system::esp_idf:
      return "main";
    default:
      return "";
  }
}

bool project_has_array(build_system system) { return system == build_system::arduino; }

void expect_project_name(const std::string &name) {
  static const std::set<std::string> taken = {"model",    "say",    "say_number", "say_count",  "run",
                                              "result",   "pixels", "begin",      "error",      "known_pixel",
                                              "complain", "line",   "setup",      "loop",       "main",
                                              "Serial",   "millis", "app_main",   "run_program"};
  if (taken.count(name) > 0)
    throw refusal(name + ": the project has something else of this name; name the program otherwise with -o");
}

std::vector<project_file> project_files(build_system system, const network &net, const choices &c,
                                        const std::vector<tensor> &weights) {
  const std::map<std::string, std::string> v = values_of(system, net, c, weights);
  const auto text = [&v](const char *a, const char *b = "", const char *d = "") {
    return filled(std::string(a) + b + d, v);
  };
  const std::string file_is_there = with_dollars(text(model_file_cmake));
  switch (system) {
    case build_system::arduino:
      return {{c.name + ".ino", text(sketch_begin, run_text, sketch_end)}};
    case build_system::zephyr:
      return {{"CMakeLists.txt", text(zephyr_cmake) + file_is_there},
              {"prj.conf", zephyr_settings},
              {"src/main.c", text(main_begin, run_text, main_end)}};
    case build_system::esp_idf:
      return {{"CMakeLists.txt", text(idf_cmake)},
              {"sdkconfig.defaults", idf_settings},
              {"main/CMakeLists.txt", text(idf_main_cmake) + file_is_there},
              {"main/idf_component.yml", idf_component},
              {"main/main.c", text(main_begin, run_text, main_end)}};
    default:
      return {};
  }
}

std::string array_begin(const choices &c) {
  return filled(
      R"(/* The weights of ${name}.c, its tokenizer and its known answers: the file ${name}.heed, in words of a little-endian processor. */
#include "${name}.h"

HEED_ALIGNED const uint32_t ${name}_file[] = {
)",
      {{"name", c.name}});
}

std::string array_words(heed_import::span file, size_t at, size_t n_bytes) {
  enum { words_of_line = 10 };
  std::string text;
  const size_t end = std::min(file.size, at + n_bytes);
  for (size_t n = 0; at < end; ++n) {
    uint32_t word = 0;
    for (size_t byte = 0; byte < 4 && at < end; ++byte, ++at) word |= uint32_t{file.data[at]} << (8 * byte);
    char one[16];
    std::snprintf(one, sizeof one, "0x%x,", static_cast<unsigned>(word));
    text += one;
    if (n % words_of_line == words_of_line - 1 || at >= end) text += '\n';
  }
  return text;
}

std::string array_end(const choices &c, size_t n_bytes) {
  return "};\nconst uint32_t " + c.name + "_file_bytes = " + std::to_string(n_bytes) + ";\n";
}

output_folder::output_folder(const std::string &path) {
  std::filesystem::path folder;
  for (const std::filesystem::path &part : std::filesystem::path(path)) {
    folder /= part;
    std::error_code error;
    if (folder.empty() || std::filesystem::is_directory(folder, error)) continue;
    if (!std::filesystem::create_directory(folder, error) || error) {
      remove_made();
      throw refusal(names::for_terminal(folder.string()) + ": this folder cannot be written");
    }
    made_.push_back(folder.string());
  }
}

output_folder::~output_folder() { remove_made(); }

void output_folder::remove_made() {
  std::error_code error;
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) std::filesystem::remove(*path, error);
}

}  // namespace heed_compile
