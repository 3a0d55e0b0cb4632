// heed_compile: a published model as a program in C, its weights as a flat file. --help says how. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <set>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "../arguments.hpp"
#include "../import/file_bytes.hpp"
#include "../output_file.hpp"
#include "../terminal.h"
#include "check.hpp"
#ifdef HEED_IMPORT_ONNX
#include "onnx/compile_graph.hpp"
#endif
#include "integers.hpp"
#include "program.hpp"
#include "project.hpp"
#include "published.hpp"
#include "run.hpp"
#include "target.hpp"
#include "target_cost.hpp"
#include "weight_file.hpp"

namespace {

using namespace heed_compile;
using heed_import::file_bytes;

constexpr char help[] =
    R"(heed_compile MODEL [OPTION...]: writes NAME.c, NAME.h and NAME.heed, a program in C that runs the model.
  MODEL                    a GGUF file, a folder with config.json, *.safetensors and tokenizer.json, or a graph
                           of ONNX, TensorFlow Lite or TensorFlow.js (its model.json)
  -o NAME                  a path; its last part is an identifier of C (default: from MODEL)
  --format FORMAT          of all matrices: f32, f16, bf16, int8, q8_0, int4 (default: as MODEL has them; blocks of GGUF that heed does
                           not compute with become q8_0)
  --format FORMAT=PATTERN  of these matrices, by their names in the program or in MODEL; the last one that matches counts
  --exact                  rows stay floats where weights have 8 bits or fewer (default: they are quantised to int8 on their way)
  --cache FORMAT           of keys and values: f32 (default), f16, bf16, int8
  --context N              tokens that the model sees, at most as many as it was trained with (default: so many, or 2048; of Moonshine
                           as many as a text of --seconds has at most)
  --seconds N              of sound that a model of speech hears at most (default: 15 of Moonshine; 30 of Whisper, whose sounds all have
                           silence behind them up to so many)
  --piece N                tokens of a prompt that pass through a layer at once (default 16): speed and memory, no bit
  --shape NAME=N           of a graph: the dimension or the input NAME has N (an input: N,N,...)
  --value INPUT=X          of a graph: all numbers of this input are X, and it is no input of the program
  --draft N                NAME_next reads up to N tokens ahead where a text repeats, and keeps those that the logits choose: the same text,
                           sooner. N is less than --piece
  --unchecked              the program compares no known answers when it opens its file
  --integers ROWS.npy      an encoder or a language model without a float at run time; its ranges are those that the samples in the file take:
                           pictures (n, height, width, channels), or tokens (n, length), where -1 fills the end of a short text
  --percent P              with --integers: int8 ranges leave out the largest numbers; 50 to 100 (default: 100, the greatest magnitude)
  --check                  prints the greatest error of every layer against a computation in double precision
                           (with --integers: and the rms error, on the samples, and how many keep their class or next token)
  --check-input FILE       the same with a text, a picture (height, width, channels) as *.npy, a sound (16 kHz, one channel) as *.wav, or
                           the inputs of a graph as *.npz (one input: *.npy)
  --target CORE            prints flash, RAM, stack and instructions of the program on a core, before anyone builds it:
                           ${cores}
  --arduino                writes the folder NAME instead: a sketch with the program, its weights as an array in C
  --zephyr                 writes the folder NAME instead: an application of Zephyr with the program
  --esp-idf                writes the folder NAME instead: a project of ESP-IDF with the program
Exit status 0; 1: the model is refused; 2: the command is.
)";

struct wrong_command : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct arguments {
  std::string model, output, check_input, target;
  bool checks = false;
  build_system system = build_system::none;
  choices how;
  std::vector<std::string> shapes, values;  // of a graph
};

int32_t count_of(const std::string &option, const std::string &value, int32_t most) {
  char *end = nullptr;
  const long n = std::strtol(value.c_str(), &end, 10);
  if (value.empty() || *end != 0 || n < 1 || n > most)
    throw wrong_command(option + " is a number of 1 to " + std::to_string(most));
  return static_cast<int32_t>(n);
}

double percent_of(const std::string &option, const std::string &value) {
  char *end = nullptr;
  const double percent = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != 0 || !(percent >= 50 && percent <= 100))
    throw wrong_command(option + " is a number of 50 to 100");
  return percent;
}

heed_import::format_rule rule_of(const std::string &word) {
  try {
    return heed_import::format_rule_of(word);
  } catch (const refusal &error) {
    throw wrong_command(error.what());
  }
}

// Formats are those of floats. Rows of integers that are computed together take memory which the smallest chips have not.
void expect_options_of_integers(const std::set<std::string> &given, choices &how) {
  if (how.integers.empty()) {
    if (given.count("--percent") != 0) throw wrong_command("--percent is for --integers");
    return;
  }
  for (const std::string option : {"--format", "--exact", "--cache", "--draft", "--check-input"})
    if (given.count(option) != 0) throw wrong_command(option + " is for programs with floats, not for --integers");
  if (given.count("--piece") == 0) how.piece = 4;
}

void choose(arguments &a, build_system system) {
  if (a.system != build_system::none && a.system != system)
    throw wrong_command("--arduino, --zephyr and --esp-idf write the same folder: choose one of them");
  a.system = system;
}

arguments read_arguments(int argc, char **argv) {
  arguments a;
  std::set<std::string> given;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    given.insert(word);
    const auto value = [&] {
      if (i + 1 == argc) throw wrong_command(word + " needs a value; heed_compile --help says which");
      return std::string(argv[++i]);
    };
    if (word == "-o")
      a.output = value();
    else if (word == "--format")
      a.how.formats.push_back(rule_of(value()));
    else if (word == "--exact")
      a.how.exact = true;
    else if (word == "--cache")
      a.how.cache = value();
    else if (word == "--context")
      a.how.context = count_of(word, value(), 1 << 24);
    else if (word == "--seconds")
      a.how.seconds = count_of(word, value(), most_seconds);
    else if (word == "--piece")
      a.how.piece = count_of(word, value(), 4096);
    else if (word == "--shape")
      a.shapes.push_back(value());
    else if (word == "--value")
      a.values.push_back(value());
    else if (word == "--draft")
      a.how.draft = count_of(word, value(), 4095);
    else if (word == "--unchecked")
      a.how.unchecked = true;
    else if (word == "--integers")
      a.how.integers = value();
    else if (word == "--percent")
      a.how.percent = percent_of(word, value());
    else if (word == "--check")
      a.checks = true;
    else if (word == "--check-input")
      a.checks = true, a.check_input = value();
    else if (word == "--target")
      a.target = value();
    else if (word == "--arduino")
      choose(a, build_system::arduino);
    else if (word == "--zephyr")
      choose(a, build_system::zephyr);
    else if (word == "--esp-idf")
      choose(a, build_system::esp_idf);
    else if (word[0] == '-' || !a.model.empty())
      throw wrong_command(word + ": is one argument too many, or no option; heed_compile --help lists them");
    else
      a.model = word;
  }
  if (a.how.draft >= a.how.piece) throw wrong_command("--draft is less than --piece");
  if (given.count("--integers") != 0 && a.how.integers.empty()) throw wrong_command("--integers names no file");
  expect_options_of_integers(given, a.how);
  if (a.model.empty()) throw wrong_command("no model is named; heed_compile --help says how");
  const std::filesystem::path model = std::filesystem::path(a.model) / "";  // without a slash at its end
  if (a.output.empty()) a.output = names::identifier(model.parent_path().stem().string());
  a.how.name = std::filesystem::path(a.output).filename().string();
  if (a.how.name.empty() || names::identifier(a.how.name) != a.how.name)
    throw wrong_command(a.output + ": its last part is no identifier of C; name another with -o");
  if (a.system != build_system::none) expect_project_name(a.how.name);
  return a;
}

// A pattern that matches nothing has a fault.
void expect_matches(const std::vector<heed_import::format_rule> &formats, const std::vector<plan> &plans) {
  for (const heed_import::format_rule &rule : formats) {
    const auto fits = [&](const plan &p) {
      return p.what->n_in > 0 &&
             (heed_import::matches(rule.pattern, p.name) || heed_import::matches(rule.pattern, p.source->name));
    };
    if (!rule.pattern.empty() && std::none_of(plans.begin(), plans.end(), fits))
      throw refusal("--format: no matrix has the name " + names::for_terminal(rule.pattern));
  }
}

// The tensors without their numbers.
// Writes the file of weights. Returns the tensors without their numbers.
std::vector<tensor> write_weights(const arguments &a, const network &net, const std::vector<plan> &plans,
                                  const std::vector<tensor> &more, files::output_file &out) {
  std::vector<std::string> names;
  for (const plan &p : plans) names.push_back(p.name);
  for (const tensor &t : more) names.push_back(t.name);
  weight_file file(out, names, !a.how.unchecked);
  for (size_t i = 0; i < plans.size(); ++i) {
    const tensor t = made(net, plans[i], a.how.formats);
    file_bytes::forget(plans[i].source->numbers_in_file());
    file.add(t);
    show_progress("tensors", i + 1, plans.size());
  }
  for (const tensor &t : more) file.add(t);
  return file.finish([&](heed_import::span so_far) { return known_answers(net, a.how, so_far); });
}

bool is_graph(const arguments &a) {
  const std::string end = std::filesystem::path(a.model).extension().string();
  return end == ".onnx" || end == ".tflite" || end == ".json";
}

#ifdef HEED_IMPORT_ONNX
// "NAME=REST"; names of inputs may have a sign of equality.
std::pair<std::string, std::string> named(const char *option, const std::string &word) {
  const size_t at = word.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == word.size())
    throw wrong_command(std::string(option) + " is NAME=NUMBER, and not " + word);
  return {word.substr(0, at), word.substr(at + 1)};
}

void run_graph(const arguments &a) {
  if (a.how.context > 0 || a.how.cache != "f32") throw wrong_command("a graph has no --context and no --cache");
  if (a.how.seconds > 0 || a.how.draft > 0 || !a.how.integers.empty())
    throw wrong_command("--seconds, --draft and --integers are not for graphs");
  graph_order order;
  order.model = a.model, order.output = a.output, order.how = a.how, order.target = a.target, order.system = a.system;
  order.checks = a.checks, order.check_input = a.check_input;
  for (const std::string &word : a.shapes) {
    const auto [name, rest] = named("--shape", word);
    std::vector<int64_t> &dims = order.graph.shapes[name];
    dims.clear();
    for (size_t at = 0; at <= rest.size();) {
      const size_t end = std::min(rest.find(',', at), rest.size());
      dims.push_back(count_of("--shape", rest.substr(at, end - at), 1 << 30));
      at = end + 1;
    }
  }
  for (const std::string &word : a.values) {
    const auto [name, rest] = named("--value", word);
    char *end = nullptr;
    order.graph.values[name] = std::strtod(rest.c_str(), &end);
    if (*end != 0) throw wrong_command("--value is INPUT=NUMBER, and not " + word);
  }
  compile_graph(order);
}
#else
void run_graph(const arguments &a) {
  throw refusal(a.model +
                ": this heed_compile was built without protozero (Debian: libprotozero-dev), so it reads no graphs");
}
#endif

// The program of floats, and its file.
program write_floats(const arguments &a, const network &net, const std::vector<plan> &plans,
                     const std::vector<tensor> &more, files::output_file &flat, std::vector<tensor> &weights,
                     run_costs &instructions) {
  weights = write_weights(a, net, plans, more, flat);
  if (!a.target.empty()) instructions = instructions_of(a.target, net, a.how, weights);
  if (net.what == task::speech) return write_speech(net, a.how, weights);
  return net.what == task::decoder ? write_decoder(net, a.how, weights) : write_encoder(net, a.how, weights);
}

// Unigram computes with floats: then the program takes tokens alone.
void leave_out_unigram(std::vector<tensor> &more) {
  const auto is_of_scores = [](const tensor &t) { return t.name == "tokenizer.scores"; };
  if (std::none_of(more.begin(), more.end(), is_of_scores)) return;
  std::fprintf(stderr, "without a tokenizer: it is of unigram, which computes with floats\n");
  const auto is_of_tokenizer = [](const tensor &t) { return t.name.compare(0, 9, "tokenizer") == 0; };
  more.erase(std::remove_if(more.begin(), more.end(), is_of_tokenizer), more.end());
}

// The program without a float, and its file. All of it is in memory: a quarter of the source.
program write_without_floats(const arguments &a, const network &net, const std::vector<plan> &plans,
                             std::vector<tensor> &more, const std::vector<sample> &samples, files::output_file &flat,
                             std::vector<tensor> &weights, run_costs &instructions) {
  leave_out_unigram(more);
  const source_weights numbers = weights_of_plans(net, plans);
  const integer_model m = in_integers(net, a.how, numbers, samples);
  weights = integer_tensors(net, a.how, m);
  for (tensor &t : more) weights.push_back(std::move(t));
  tensor known = known_integers(net, a.how, m);  // heed refuses here what the program would refuse
  if (!a.how.unchecked) weights.push_back(std::move(known));
  const heed_import::bytes file = heed_import::flat_file(weights);
  flat.write(file.data(), file.size());
  if (!a.target.empty()) instructions = instructions_in_integers(a.target, net, a.how, m);
  if (a.checks) print_integer_errors(net, errors_in_integers(net, m, numbers, samples));
  return net.what == task::decoder ? write_integer_decoder(net, a.how, m, weights)
                                   : write_integers(net, a.how, m, weights);
}

program_kind kind_of(const network &net, bool has_floats) {
  const bool is_picture = net.what == task::vision;
  if (!has_floats && net.what == task::decoder) return program_kind::integer_decoder;
  if (!has_floats) return is_picture ? program_kind::integer_picture : program_kind::integer_encoder;
  if (net.what == task::speech) return net.speech.takes_samples ? program_kind::moonshine : program_kind::whisper;
  if (net.what == task::decoder) return program_kind::decoder;
  return is_picture ? program_kind::picture : program_kind::encoder;
}

target_order target_of(const arguments &a, const network &net, const program &p, const std::vector<tensor> &weights,
                       const run_costs &instructions, uint64_t file_bytes) {
  target_order t;
  const bool has_floats = a.how.integers.empty();
  t.core = a.target, t.name = a.how.name, t.header = p.header, t.file_bytes = file_bytes;
  t.kind = kind_of(net, has_floats);
  t.in_integers = has_floats && in_integers(weights, a.how), t.unchecked = a.how.unchecked;
  t.instructions = instructions;
  std::string smaller;
  if (net.what == task::decoder) smaller = has_floats ? "--context, --piece, --cache int8" : "--context";
  if (net.what == task::encoder) smaller = "--context";
  if (net.what == task::speech) smaller = "--seconds, --context, --piece, --cache int8";
  if (!has_floats) smaller += smaller.empty() ? "--piece" : ", --piece";
  if (has_floats) t.advice = "smaller flash: --format int8, q8_0 or int4";
  if (!smaller.empty()) t.advice += (t.advice.empty() ? "smaller RAM: " : "; smaller RAM: ") + smaller;
  return t;
}

void run(const arguments &a) {
  if (!a.target.empty()) expect_target(a.target);
  if (is_graph(a)) return run_graph(a);
  if (!a.shapes.empty() || !a.values.empty()) throw wrong_command("--shape and --value are for graphs alone");
  dtype_of_cache(a.how);  // refuses others before anything is written
  published_model m;
  const network net = read_published(m, a.model, a.how);
  for (const tensor &t : m.tensors)
    if (t.name == "tokenizer" && !t.left_out.empty())
      std::fprintf(stderr, "without a tokenizer: %s\n", names::for_terminal(t.left_out).c_str());
  if (a.how.draft > 0 && net.what != task::decoder) throw refusal("--draft: this model writes no text");
  if (a.how.seconds > 0 && net.what != task::speech) throw refusal("--seconds: this model hears no sound");
  std::vector<tensor> more = more_tensors(net, m.tensors);
  const std::vector<plan> plans = plans_of(net, m.tensors);
  expect_all_used(net, plans, m.tensors);
  expect_matches(a.how.formats, plans);
  const bool has_floats = a.how.integers.empty();
  std::vector<sample> samples;
  if (!has_floats) {
    expect_possible_in_integers(net, a.how);
    samples = read_samples(net, a.how, a.how.integers);
    m.paths.push_back(a.how.integers);
  }
  const std::string folder = sources_folder(a.system, a.output);
  const std::string base = folder.empty() ? a.output : folder + a.how.name;
  output_folder made(folder);
  files::output_file header(base + ".h", m.paths), source(base + ".c", m.paths), flat(base + ".heed", m.paths);
  std::vector<tensor> weights;
  run_costs instructions;
  const program p = has_floats ? write_floats(a, net, plans, more, flat, weights, instructions)
                               : write_without_floats(a, net, plans, more, samples, flat, weights, instructions);
  header.write(p.header);
  source.write(p.source);
  header.so_far(), source.so_far();  // a full disk shows here, before one of the files takes its name
  if (a.checks && has_floats) {
    const file_bytes written(flat.so_far());
    heed_import::bytes memory;
    print_errors(net, a.how, plans, heed_import::in_own_order(written.all(), memory), a.check_input);
  }
  const output_files around =
      write_project(a.system, a.output, a.how.name, project_files(a.system, net, a.how, weights), m.paths, flat);
  const auto check = [&](const std::string &path) { heed_import::expect_whole(file_bytes(path).all(), weights); };
  const uintmax_t n_bytes = std::filesystem::file_size(flat.so_far());
  if (project_has_array(a.system))
    check(flat.so_far());
  else
    flat.finish(check);
  header.finish();
  source.finish();
  for (const auto &file : around) file->finish();
  made.keep();
  const std::string written =
      folder.empty() ? a.output + ".c, " + a.output + ".h, " + a.output + ".heed" : a.output + "/";
  if (!a.target.empty()) std::fputs(target_text(target_of(a, net, p, weights, instructions, n_bytes)).c_str(), stdout);
  std::fprintf(stderr, "%s: %ju bytes of weights\n", names::for_terminal(written).c_str(), n_bytes);
}

// A sentence may have lines to copy.
void complain(const std::string &why) {
  std::fputs("heed_compile: ", stderr);
  for (size_t at = 0; at < why.size();) {
    const size_t end = std::min(why.find('\n', at), why.size());
    std::fprintf(stderr, "%s\n", names::for_terminal(why.substr(at, end - at)).c_str());
    at = end + 1;
  }
}

}  // namespace

int main(int argc, char **argv) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 20);  // what a tensor took goes back to the system at once
#endif
  try {
    if (asks_for_help(argc, argv))
      std::fputs(filled(help, {{"cores", target_names()}}).c_str(), stdout);
    else
      run(read_arguments(argc, argv));
    files::finish_standard_output();
    return 0;
  } catch (const wrong_command &error) {
    complain(error.what());
    return 2;
  } catch (const std::bad_alloc &) {
    complain("there is not enough memory");
    return 1;
  } catch (const std::exception &error) {
    complain(error.what());
    return 1;
  }
}
