// heed_compile: a published model as a program in C, its weights as a flat file. --help says how. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "../arguments.hpp"
#include "../import/file_bytes.hpp"
#include "../import/flat_file.hpp"
#include "../output_file.hpp"
#include "../terminal.h"
#include "check.hpp"
#include "program.hpp"
#include "published.hpp"
#include "run.hpp"

namespace {

using namespace heed_compile;
using heed_import::file_bytes;

constexpr char help[] =
    R"(heed_compile MODEL [OPTION...]: writes NAME.c, NAME.h and NAME.heed, a program in C that runs the model.
  MODEL                    a GGUF file, or a folder with config.json, *.safetensors and tokenizer.json
  -o NAME                  a path; its last part is an identifier of C (default: from MODEL)
  --format FORMAT          of all matrices: f32, f16, bf16, int8, q8_0, int4 (default: as MODEL has them; blocks of GGUF that heed does
                           not compute with become q8_0)
  --format FORMAT=PATTERN  of these matrices, by their names in the program or in MODEL; the last one that matches counts
  --exact                  rows stay floats where weights have 8 bits or fewer (default: they are quantised to int8 on their way)
  --cache FORMAT           of keys and values: f32 (default), f16, bf16, int8
  --context N              tokens that the model sees, at most as many as it was trained with (default: so many, or 2048)
  --piece N                tokens of a prompt that pass through a layer at once (default 16): speed and memory, no bit
  --unchecked              the program compares no known answers when it opens its file
  --check                  prints the greatest error of every layer against a computation in double precision
  --check-input FILE       the same with a text, or with a picture (height, width, channels) as *.npy
Exit status 0; 1: the model is refused; 2: the command is.
)";

struct wrong_command : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct arguments {
  std::string model, output, check_input;
  bool checks = false;
  choices how;
};

int32_t count_of(const std::string &option, const std::string &value, int32_t most) {
  char *end = nullptr;
  const long n = std::strtol(value.c_str(), &end, 10);
  if (value.empty() || *end != 0 || n < 1 || n > most)
    throw wrong_command(option + " is a number of 1 to " + std::to_string(most));
  return static_cast<int32_t>(n);
}

heed_import::format_rule rule_of(const std::string &word) {
  try {
    return heed_import::format_rule_of(word);
  } catch (const refusal &error) {
    throw wrong_command(error.what());
  }
}

arguments read_arguments(int argc, char **argv) {
  arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
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
    else if (word == "--piece")
      a.how.piece = count_of(word, value(), 4096);
    else if (word == "--unchecked")
      a.how.unchecked = true;
    else if (word == "--check")
      a.checks = true;
    else if (word == "--check-input")
      a.checks = true, a.check_input = value();
    else if (word[0] == '-' || !a.model.empty())
      throw wrong_command(word + ": is one argument too many, or no option; heed_compile --help lists them");
    else
      a.model = word;
  }
  if (a.model.empty()) throw wrong_command("no model is named; heed_compile --help says how");
  const std::filesystem::path model = std::filesystem::path(a.model) / "";  // without a slash at its end
  if (a.output.empty()) a.output = names::identifier(model.parent_path().stem().string());
  a.how.name = std::filesystem::path(a.output).filename().string();
  if (a.how.name.empty() || names::identifier(a.how.name) != a.how.name)
    throw wrong_command(a.output + ": its last part is no identifier of C; name another with -o");
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
tensor shell_of(const tensor &t) {
  tensor shell;
  shell.name = t.name, shell.dtype = t.dtype, shell.layout = t.layout, shell.dims = t.dims,
  shell.is_metadata = t.is_metadata;
  return shell;
}

// Writes the file of weights, one tensor in memory at a time. Returns the tensors without their numbers.
std::vector<tensor> write_weights(const arguments &a, const network &net, const std::vector<plan> &plans,
                                  const std::vector<tensor> &more, files::output_file &out) {
  std::vector<std::string> names;
  for (const plan &p : plans) names.push_back(p.name);
  for (const tensor &t : more) names.push_back(t.name);
  if (!a.how.unchecked) names.insert(names.end(), {"golden.fma", "golden.no-fma"});
  size_t n_bytes = 0;
  heed_import::flat_file_writer writer(
      [&](size_t at, const void *data, size_t n) {
        at < n_bytes ? out.rewrite(at, data, n) : out.write(data, n);
        n_bytes = std::max(n_bytes, at + n);
      },
      names);
  std::vector<tensor> shells;
  for (size_t i = 0; i < plans.size(); ++i) {
    const tensor t = made(net, plans[i], a.how.formats);
    file_bytes::forget(plans[i].source->numbers());
    writer.add(t);
    shells.push_back(shell_of(t));
    show_progress("tensors", i + 1, plans.size());
  }
  for (const tensor &t : more) {
    writer.add(t);
    shells.push_back(shell_of(t));
  }
  writer.finish();
  if (a.how.unchecked) return shells;
  const file_bytes so_far(out.so_far());
  heed_import::bytes memory;
  for (const tensor &t : known_answers(net, a.how, heed_import::in_own_order(so_far.all(), memory))) {
    writer.add(t);
    shells.push_back(shell_of(t));
  }
  writer.finish();
  return shells;
}

void run(const arguments &a) {
  dtype_of_cache(a.how);  // refuses others before anything is written
  published_model m;
  const network net = read_published(m, a.model, a.how);
  for (const tensor &t : m.tensors)
    if (t.name == "tokenizer" && !t.left_out.empty())
      std::fprintf(stderr, "without a tokenizer: %s\n", names::for_terminal(t.left_out).c_str());
  const std::vector<tensor> more = more_tensors(net, m.tensors);
  const std::vector<plan> plans = plans_of(net, m.tensors);
  expect_all_used(net, plans, m.tensors);
  expect_matches(a.how.formats, plans);
  files::output_file header(a.output + ".h", m.paths), source(a.output + ".c", m.paths),
      flat(a.output + ".heed", m.paths);
  const std::vector<tensor> weights = write_weights(a, net, plans, more, flat);
  const program p = net.what == task::decoder ? write_decoder(net, a.how, weights) : write_encoder(net, a.how, weights);
  header.write(p.header);
  source.write(p.source);
  header.so_far(), source.so_far();  // a full disk shows here, before one of the three takes its name
  if (a.checks) {
    const file_bytes written(flat.so_far());
    heed_import::bytes memory;
    print_errors(net, a.how, plans, heed_import::in_own_order(written.all(), memory), a.check_input);
  }
  flat.finish([&](const std::string &written) { heed_import::expect_whole(file_bytes(written).all(), weights); });
  header.finish();
  source.finish();
  std::fprintf(stderr, "%s.c, %s.h, %s.heed: %ju bytes of weights\n", a.output.c_str(), a.output.c_str(),
               a.output.c_str(), static_cast<uintmax_t>(std::filesystem::file_size(a.output + ".heed")));
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
      std::fputs(help, stdout);
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
