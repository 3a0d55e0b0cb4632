// heed_import: weights of a model as a file that heed reads. Its options are in the text below. SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <new>

#include "../arguments.hpp"
#include "../names.hpp"
#include "../output_file.hpp"
#include "c_arrays.hpp"
#include "file_bytes.hpp"
#include "flat_file.hpp"
#include "readers.hpp"
#include "select.hpp"

namespace {

using namespace heed_import;

constexpr char usage[] =
    "usage: heed_import INPUT... [-o OUTPUT] [OPTION...]\n"
    "\n"
    "Reads .npy, .safetensors, GGUF, .onnx, .tflite, tokenizer.json, vocab.json, receipts (known answers) and its own "
    "flat files, "
    "and lists "
    "their\n"
    "tensors. With -o it writes those that are chosen: a flat file, or OUTPUT.c and OUTPUT.h if OUTPUT ends in .c.\n"
    "ports/import/README.md has examples.\n"
    "\n"
    "  --format FORMAT           of all matrices: keep (as they are), f32, f16, bf16, int8, q8_0, int4 (q4_0), or one "
    "of these\n"
    "                            behind packed-, in the order in which heed reads it; packed-u8 keeps zero points.\n"
    "                            Vectors become f32\n"
    "  --format FORMAT=PATTERN   of these tensors\n"
    "  --only PATTERN            imports nothing else; --leave-out PATTERN: all but these\n"
    "  --rename FROM=TO          TO takes over what each * of FROM stands for\n"
    "  --names FILE              lines with a name, a tab and the new name\n"
    "  --node-names              calls onnx::MatMul_123 after the node that reads it, such as layers.0.q_proj.weight\n"
    "  --transpose PATTERN       (in, out) becomes (out, in), and the other way round\n"
    "  --in-out PATTERN          these matrices are (in, out), whatever the source suggests; --out-in PATTERN: (out, "
    "in)\n"
    "  --code                    prints a header in C that opens the flat file: a struct with all tensors\n"
    "\n"
    "The list shows names as a terminal can: \\033 is the byte with this octal number. An output is read again, and "
    "takes its\n"
    "name only when it is right.\n"
    "\n"
    "Patterns match names of the source. * stands for any text, ? for one character. The tool ends with 0; with 1 "
    "where a file\n"
    "is refused; with 2 where a word of the command is.\n";

struct wrong_command : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct arguments {
  std::vector<std::string> inputs, tables_of_names;
  std::string output;
  selection choice;
  bool code = false;
};

// At the last =, because names of ONNX may hold one.
rename_rule halves_of(const std::string &word, size_t at) {
  if (at == std::string::npos || at == 0 || at + 1 == word.size()) throw wrong_command(word + ": no FROM=TO");
  return {word.substr(0, at), word.substr(at + 1)};
}

format_rule rule_of(const std::string &word) {
  try {
    return format_rule_of(word);
  } catch (const refusal &error) {
    throw wrong_command(error.what());
  }
}

void add_names(const std::string &path, std::vector<rename_rule> &rules) {
  std::ifstream in(path);
  if (!in) throw refusal(path + ": cannot be opened");
  std::string line;
  while (std::getline(in, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const size_t tab = line.find('\t');
    if (line.empty()) continue;
    if (tab == std::string::npos || tab == 0 || tab + 1 == line.size()) throw refusal(path + ": no two names: " + line);
    rules.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
}

arguments read_arguments(int argc, char **argv) {
  arguments a;
  selection &s = a.choice;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word[0] != '-') {
      a.inputs.push_back(word);
      continue;
    }
    if (word == "--code" || word == "--node-names") {
      (word == "--code" ? a.code : s.node_names) = true;
      continue;
    }
    if (i + 1 == argc) throw wrong_command(word + ": is no option, or nothing follows it");
    const std::string next = argv[++i];
    if (word == "-o")
      a.output = next;
    else if (word == "--format")
      s.formats.push_back(rule_of(next));
    else if (word == "--only")
      s.only.push_back(next);
    else if (word == "--leave-out")
      s.leave_out.push_back(next);
    else if (word == "--rename")
      s.rename.push_back(halves_of(next, next.rfind('=')));
    else if (word == "--names")
      add_names(next, s.rename), a.tables_of_names.push_back(next);
    else if (word == "--transpose")
      s.transpose.push_back(next);
    else if (word == "--in-out")
      s.in_out.push_back(next);
    else if (word == "--out-in")
      s.out_in.push_back(next);
    else
      throw wrong_command(word + " is no option");
  }
  if (a.inputs.empty()) throw wrong_command("no file is named");
  return a;
}

bool is_c(const std::string &path) { return path.size() > 2 && path.compare(path.size() - 2, 2, ".c") == 0; }

std::string name_of(const std::string &path) {
  const size_t slash = path.find_last_of('/'), from = slash == std::string::npos ? 0 : slash + 1;
  return names::identifier(path.substr(from, path.find('.', from) - from));
}

void report(const std::string &path, size_t n_bytes) {
  std::fprintf(stderr, "%s: %zu bytes\n", names::for_terminal(path).c_str(), n_bytes);
}

// Each is read again before it takes its name.
void write_flat_file(const std::string &path, const std::vector<std::string> &inputs,
                     const std::vector<tensor> &tensors) {
  files::output_file out(path, inputs);
  const bytes file = flat_file(tensors);
  out.write(file.data(), file.size());
  out.finish([&](const std::string &written) {
    try {
      expect_written(file_bytes(written).all(), tensors);
    } catch (const refusal &error) {
      throw refusal(path + ": was not written as it should be: " + error.what());
    }
  });
  report(path, file.size());
}

void write_c_files(const std::string &path, const std::vector<std::string> &inputs,
                   const std::vector<tensor> &tensors) {
  const c_files text = c_arrays(name_of(path), tensors);
  const size_t slash = path.find_last_of('/');
  const std::string header = path.substr(0, slash == std::string::npos ? 0 : slash + 1) + name_of(path) + ".h";
  files::output_file to_header(header, inputs), to_source(path, inputs);
  to_header.write(text.header);
  to_source.write(text.source);
  const auto expect = [](const std::string &whole) {
    return [&](const std::string &written) {
      const file_bytes found(written);
      const span all = found.all();
      if (all.size != whole.size() || std::memcmp(all.data, whole.data(), all.size) != 0)
        throw refusal(written + ": is not what was written");
    };
  };
  to_header.finish(expect(text.header));
  to_source.finish(expect(text.source));
  report(header, text.header.size());
  report(path, text.source.size());
}

void list(const std::vector<tensor> &tensors) {
  static const char *const layouts[] = {"(in, out)", "(out, in)", "packed"};
  for (const tensor &t : tensors) {
    const bool whole = is_usable(t);
    const std::string kind = whole ? format_name(t.dtype) : "-", shape = whole ? shape_text(t) : "-";
    const char *layout = !whole || !t.unsure.empty() || t.dims.size() < 2 ? "-" : layouts[t.layout];
    const std::string why = t.refused + t.left_out + t.unsure, more = why.empty() ? "" : ": " + why;
    const std::string name = t.name + (t.suggested.empty() ? "" : " (" + t.suggested + ")");
    std::printf("%-5s %-10s %-20s %s%s\n", kind.c_str(), layout, shape.c_str(), names::for_terminal(name).c_str(),
                names::for_terminal(more).c_str());
  }
}

void run(const arguments &a) {
  std::vector<std::unique_ptr<file_bytes>> files;
  std::vector<tensor> all;
  std::vector<std::string> left_out, inputs = a.inputs;
  for (const std::string &path : a.inputs) {
    try {
      files.push_back(std::make_unique<file_bytes>(path));
      for (tensor &t : read_model(files.back()->all(), path, &inputs)) all.push_back(std::move(t));
    } catch (const refusal &error) {
      throw refusal(path + ": " + error.what());
    }
  }
  if (a.output.empty() && !a.code) {
    list(all);
    return files::finish_standard_output();
  }
  const std::vector<tensor> tensors = selected(std::move(all), a.choice, left_out);
  for (const std::string &why : left_out) std::fprintf(stderr, "left out: %s\n", names::for_terminal(why).c_str());
  inputs.insert(inputs.end(), a.tables_of_names.begin(), a.tables_of_names.end());
  if (!a.output.empty())
    is_c(a.output) ? write_c_files(a.output, inputs, tensors) : write_flat_file(a.output, inputs, tensors);
  if (a.code) std::printf("%s", open_code(name_of(a.output.empty() ? a.inputs[0] : a.output), tensors).c_str());
  files::finish_standard_output();
}

void complain(const char *why) { std::fprintf(stderr, "heed_import: %s\n", names::for_terminal(why).c_str()); }

}  // namespace

int main(int argc, char **argv) {
  try {
    if (asks_for_help(argc, argv)) {
      std::printf("%s", usage);
      files::finish_standard_output();
      return 0;
    }
    run(read_arguments(argc, argv));
    return 0;
  } catch (const wrong_command &error) {
    complain(error.what());
    std::fprintf(stderr, "\n%s", usage);
    return 2;
  } catch (const std::bad_alloc &) {
    complain("there is not enough memory");
    return 1;
  } catch (const std::exception &error) {
    complain(error.what());
    return 1;
  }
}
