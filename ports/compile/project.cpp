// See project.hpp. SPDX-License-Identifier: MIT
#include "project.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "../import/file_bytes.hpp"

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
?speech?static int16_t samples[${NAME}_SAMPLES]; /* your sound: 16 kHz, one channel */
?speech?
?speech?/* Hears a sound, and says its text: ${n_new} tokens, or fewer if it ends. */
?writes?static const char *run(const char *text, size_t n) {
?writes?  int32_t token = 0;
?decoder?  ${name}_restart(&model);
?writes??words?  char added[64];
?decoder??words?  say(text);
?decoder??words?  const char *error = ${name}_prompt(&model, text, n);
?decoder??!words?  (void)text, (void)n; /* the file has no tokenizer: token 0 begins the text */
?decoder??!words?  const char *error = ${name}_read(&model, &token, 1);
?speech?  (void)text, (void)n;
?speech?  const char *error = ${name}_sound(&model, samples, ${NAME}_SAMPLES);
?writes?  for (int i = 0; !error && i < ${n_new}; ++i) {
?decoder?    error = ${name}_next(&model, NULL, &token);
?speech?    error = ${name}_next(&model, &token);
?writes?    if (error || token < 0) break;
?writes??words?    added[${name}_text(&model, token, added, sizeof added - 1)] = 0;
?writes??words?    say(added);
?writes??!words?    say_count(token);
?writes??!words?    say(" ");
?writes?  }
?writes?  say("\n");
?writes?  return error;
?writes?}
?graph?${arrays}
?graph?/* Numbers that look random, and are those of the known answers. */
?graph?static uint32_t mixed(uint32_t i) {
?graph?  i = (i ^ (i >> 16)) * 0x21f0aaadu;
?graph?  i = (i ^ (i >> 15)) * 0x735a2d97u;
?graph?  return i ^ (i >> 15);
?graph?}
?graph?
?graph?/* Computes the outputs, and says how the first one begins. */
?graph?static const char *run(const char *text, size_t n) {
?graph?  const char *error = ${name}_run(&model, ${arguments});
?graph?  (void)text, (void)n;
?graph?  if (error) return error;
?graph?  for (int32_t i = 0; i < ${out_count} && i < 4; ++i) {
?graph?    ${say_result}(${out}[i]);
?graph?    say(" ");
?graph?  }
?graph?  say("\n");
?graph?  return NULL;
?graph?}
?rows?static ${number} result[${NAME}_OUT];
?picture?static ${pixel} pixels[${NAME}_SIZE * ${NAME}_SIZE * ${NAME}_CHANNELS]; /* your picture: see ${name}_picture */
?picture?
?picture?/* The picture of the known answers, number i of it. */
?picture?static ${pixel} known_pixel(uint32_t i) {
?picture?  i = (i ^ (i >> 16)) * 0x21f0aaadu;
?picture?  i = (i ^ (i >> 15)) * 0x735a2d97u;
?picture??floats?  return (float)((i ^ (i >> 15)) >> 24) / 128.0f - 1.0f;
?picture??!floats?  return (int8_t)((int32_t)((i ^ (i >> 15)) >> 24) - 128);
?picture?}
?rows?
?text?/* Reads a text, and says ${says}. */
?picture?/* Looks at a picture, and says ${says}. */
?rows?static const char *run(const char *text, size_t n) {
?words??rows?  const char *error = ${name}_text(&model, text, n, result);
?text??!words?  const int32_t tokens[] = {0, 1, 0}; /* the file has no tokenizer */
?text??!words?  const char *error = ${name}_tokens(&model, tokens, 3, result);
?text??!words?  (void)text, (void)n;
?picture?  const char *error = ${name}_picture(&model, pixels, result);
?picture?  (void)text, (void)n;
?rows?  if (error) return error;
?classes?  int32_t best = 0;
?classes?  for (int32_t i = 1; i < ${NAME}_OUT; ++i)
?classes?    if (result[i] > result[best]) best = i;
?classes?  say("class ");
?classes?  say_count(best);
?labels?  say(", ");
?labels?  say(${name}_labels[best]);
?classes?  say(": ");
?classes?  ${say_result}(result[best]);
?embedding?  for (int32_t i = 0; i < ${NAME}_OUT && i < 4; ++i) {
?embedding?    ${say_result}(result[i]);
?embedding?    say(" ");
?embedding?  }
?rows?  say("\n");
?rows?  return NULL;
?rows?}

/* What the program does first. */
static const char *begin(void) {
?known?  say("${name}: opens its file and compares known answers\n");
?!known?  say("${name}: opens its file\n");
  const char *error = ${name}_open(&model, ${file_arguments});
  if (error) return error;
?known?  say("the known answers are right\n");
?picture?  for (int32_t i = 0; i < ${NAME}_SIZE * ${NAME}_SIZE * ${NAME}_CHANNELS; ++i) pixels[i] = known_pixel((uint32_t)i);
?speech?  for (int32_t i = 0; i < ${NAME}_SAMPLES; ++i) samples[i] = (int16_t)(i % 64 * 250 - 8000); /* a tone of 250 Hz */
?graph?${fills}
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

using values = std::map<std::string, std::string>;

std::string yes(bool is) { return is ? "1" : ""; }

// What all projects have.
values shared_project_values(build_system system, const choices &c) {
  const std::string file = c.name + "_file";
  const bool is_array = project_has_array(system);
  values v = {{"name", c.name},
              {"NAME", upper(c.name)},
              {"known", yes(!c.unchecked)},
              {"file_arguments", file + ", " + (is_array ? file + "_bytes" : "HEED_FILE_LINKED_BYTES(" + file + ")")},
              {"esp_idf", yes(system == build_system::esp_idf)},
              {"in_folder", system == build_system::zephyr ? "src/" : ""},
              {"first_bytes", "0"}};
  for (const char *none :
       {"decoder",   "speech", "writes", "picture", "text",      "words",      "takes_text", "classes", "labels",
        "embedding", "says",   "floats", "number",  "pixel",     "say_result", "numbers",    "counts",  "n_new",
        "first",     "graph",  "rows",   "arrays",  "arguments", "out",        "out_count",  "fills"})
    v[none] = "";
  return v;
}

values values_of(build_system system, const network &net, const choices &c, const std::vector<tensor> &weights) {
  const bool is_decoder = net.what == task::decoder, is_picture = net.what == task::vision;
  const bool is_speech = net.what == task::speech, writes = is_decoder || is_speech, floats = c.integers.empty();
  const bool has_words = !is_picture && has(weights, "tokenizer"), has_classes = net.n_classes > 0;
  const bool has_labels = has_classes && net.labels.size() == static_cast<size_t>(net.n_classes);
  const int32_t context = context_of(net, c);
  const bool takes_text = has_words && !is_speech;
  const std::string begins = context < 64 ? "Once" : "Once upon a time";
  const std::string first = is_decoder && has_words ? begins : takes_text ? "a sentence" : "";
  values v = shared_project_values(system, c);
  const values own = {
      {"source", names::for_c(net.source)},
      {"title", net.family + ", " + std::to_string(net.n_layers) + " layers of " + std::to_string(net.dim) + "."},
      {"decoder", yes(is_decoder)},
      {"speech", yes(is_speech)},
      {"writes", yes(writes)},
      {"rows", yes(!writes)},
      {"picture", yes(is_picture)},
      {"text", yes(net.what == task::encoder)},
      {"words", yes(has_words)},
      {"takes_text", yes(takes_text)},
      {"classes", yes(!writes && has_classes)},
      {"labels", yes(!writes && has_labels)},
      {"embedding", yes(!writes && !has_classes)},
      {"says", has_classes ? "which class is most probable" : "how its embedding begins"},
      {"floats", yes(floats)},
      {"number", floats        ? "float"
                 : has_classes ? "int16_t"
                               : "int8_t"},
      {"pixel", floats ? "float" : "int8_t"},
      {"say_result", floats ? "say_number" : "say_count"},
      {"numbers", yes(!writes && floats)},
      {"counts", yes(writes ? !has_words : has_classes || !floats)},
      {"n_new", std::to_string(std::max(1, std::min(40, context / 2)))},
      {"first", first},
      {"first_bytes", std::to_string(first.size())}};
  for (const auto &[key, value] : own) v[key] = value;
  return v;
}

values graph_values_of(build_system system, const choices &c, const std::string &title, const std::string &source,
                       const std::vector<graph_place> &places) {
  values v = shared_project_values(system, c);
  v["title"] = title, v["source"] = names::for_c(source), v["graph"] = "1";
  for (const graph_place &p : places) {
    const std::string array = (p.is_input ? "in_" : "out_") + p.name;
    if (array == c.name) expect_project_name("model");
    v["arguments"] += (v["arguments"].empty() ? "" : ", ") + array;
    v["arrays"] +=
        "static " + p.type + " " + array + "[" + p.count + "];" + (p.is_input ? " /* your numbers */\n" : "\n");
    if (!p.is_input && v["out"].empty()) {
      v["out"] = array, v["out_count"] = p.count;
      v["say_result"] = p.type == "float" ? "say_number" : "say_count";
      v[p.type == "float" ? "numbers" : "counts"] = "1";
    }
    if (!p.is_input) continue;
    std::string number = "mixed((uint32_t)i) & 1u";
    if (p.type == "float") number = "(float)(mixed((uint32_t)i) >> 24) / 128.0f - 1.0f";
    if (p.type == "int32_t")
      number = (p.least == 0 ? "" : std::to_string(p.least) + " + ") + "(int32_t)(mixed((uint32_t)i) % " +
               std::to_string(p.n_values) + "u)";
    v["fills"] += (v["fills"].empty() ? "" : "\n") +
                  ("  for (int32_t i = 0; i < " + p.count + "; ++i) " + array + "[i] = " + number + ";");
  }
  return v;
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
  static const std::set<std::string> taken = {"model",  "say",      "say_number", "say_count",   "run",      "result",
                                              "pixels", "begin",    "error",      "known_pixel", "complain", "line",
                                              "setup",  "loop",     "main",       "samples",     "mixed",    "Serial",
                                              "millis", "app_main", "run_program"};
  if (taken.count(name) > 0)
    throw refusal(name + ": the project has something else of this name; name the program otherwise with -o");
}

namespace {

std::vector<project_file> files_of(build_system system, const choices &c, const values &v) {
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

// NAME_file.c in pieces, in order: how it begins, words of the file from byte `at` on, how it ends.
std::string array_begin(const std::string &name) {
  return filled(
      R"(/* The weights of ${name}.c, its tokenizer and its known answers: the file ${name}.heed, in words of a little-endian processor. */
#include "${name}.h"

HEED_ALIGNED const uint32_t ${name}_file[] = {
)",
      {{"name", name}});
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

std::string array_end(const std::string &name, size_t n_bytes) {
  return "};\nconst uint32_t " + name + "_file_bytes = " + std::to_string(n_bytes) + ";\n";
}

}  // namespace

std::vector<project_file> project_files(build_system system, const network &net, const choices &c,
                                        const std::vector<tensor> &weights) {
  return files_of(system, c, values_of(system, net, c, weights));
}

std::vector<project_file> graph_project_files(build_system system, const choices &c, const std::string &title,
                                              const std::string &source, const std::vector<graph_place> &places) {
  return files_of(system, c, graph_values_of(system, c, title, source, places));
}

std::string sources_folder(build_system system, const std::string &output) {
  if (system == build_system::none) return "";
  const std::string inside = project_sources(system);
  return output + "/" + (inside.empty() ? "" : inside + "/");
}

output_files write_project(build_system system, const std::string &output, const std::string &name,
                           const std::vector<project_file> &all, const std::vector<std::string> &inputs,
                           files::output_file &flat) {
  output_files made;
  for (const project_file &file : all) {
    made.push_back(std::make_unique<files::output_file>(output + "/" + file.path, inputs));
    made.back()->write(file.text);
    made.back()->so_far();
  }
  if (!project_has_array(system)) return made;
  made.push_back(std::make_unique<files::output_file>(sources_folder(system, output) + name + "_file.c", inputs));
  files::output_file &array = *made.back();
  const heed_import::file_bytes written(flat.so_far());
  enum : size_t { piece = 1 << 20 };
  array.write(array_begin(name));
  for (size_t at = 0; at < written.all().size; at += piece) array.write(array_words(written.all(), at, piece));
  array.write(array_end(name, written.all().size));
  array.so_far();
  return made;
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
