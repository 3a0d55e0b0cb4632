// ONNX's own tests of its operators (folders test_*/model.onnx with test_data_set_*/input_*.pb and output_*.pb), by heed_compile's
// reference in double precision, and by the steps of the program that heed_compile makes. The folder of the folders is an argument, or
// HEED_ONNX_NODES names it (Debian: libonnx-testdata).
//   heed_onnx_nodes FOLDER            prints how many tests of each operator pass, and why heed_compile makes no program
//   heed_onnx_nodes FOLDER TABLE      compares that with a table, a line for each operator: NAME PASSED PROGRAMS
// An operator is claimed if heed_compile knows it. A test of such an operator must pass, unless it is of types or of attributes that
// are refused by name, and so must its program, if there is one. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "file_bytes.hpp"
#include "flat_file.hpp"
#include "onnx/compile_graph.hpp"
#include "onnx/constants.hpp"
#include "onnx/operators.hpp"
#include "onnx/run_steps.hpp"
#include "onnx_graphs.hpp"

namespace {

using namespace heed_compile;
using heed_import::file_bytes;
namespace fs = std::filesystem;

struct tally {
  int passed = 0, refused = 0, failed = 0, programs = 0;
};

shared_array read_tensor(const fs::path &path) {
  const file_bytes file(path.string());
  return array_of_onnx(heed_import::read_onnx_tensor(file.all()), nullptr);
}

std::vector<shared_array> read_all(const fs::path &folder, const std::string &what) {
  std::vector<shared_array> all;
  for (int i = 0;; ++i) {
    const fs::path path = folder / (what + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return all;
    all.push_back(read_tensor(path));
  }
}

// Narrow floats round the expected numbers.
double tolerance_of(int32_t type) { return type == 10 ? 2e-3 : type == 16 ? 2e-2 : 1e-3; }

std::string difference(const array &found, const array &expected, bool is_rounded) {
  if (found.kind != expected.kind) throw refusal("its data are of another type than its graph");
  if (found.dims != expected.dims) return "another shape";
  for (size_t i = 0; i < expected.numbers.size(); ++i) {
    const double a = found.numbers[i], b = expected.numbers[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    // A number between two integers may be rounded to either, as float and double differ.
    const double slack = is_rounded                         ? 1
                         : expected.kind == element::floats ? 1e-7 + tolerance_of(expected.type) * std::fabs(b)
                                                            : 0;
    if (!(std::fabs(a - b) <= slack))
      return "number " + std::to_string(i) + " is " + std::to_string(a) + ", not " + std::to_string(b);
  }
  return "";
}

// Empty: the outputs are those expected.
std::string run(const fs::path &folder, const heed_import::onnx_graphs &all, const fs::path &data) {
  const std::vector<shared_array> inputs = read_all(data, "input"), outputs = read_all(data, "output");
  graph_choices as_constants, with_shapes;
  std::vector<std::string> names;
  for (const heed_import::onnx_port &port : all.graphs[0].inputs) names.push_back(port.name);
  for (size_t i = 0; i < inputs.size() && i < names.size(); ++i) {
    as_constants.numbers[names[i]] = inputs[i];
    with_shapes.shapes[names[i]] = inputs[i]->dims;
  }
  const std::unique_ptr<graph_model> folded = read_graph((folder / "model.onnx").string(), as_constants);
  if (folded->net.outputs.size() < outputs.size()) return "too few outputs";
  for (size_t i = 0; i < outputs.size(); ++i) {
    const graph_value &value = folded->net.values[size_t(folded->net.outputs[i])];
    if (!value.is_constant) return "is no constant";
    const std::string why = difference(*numbers_of(value), *outputs[i], false);
    if (!why.empty()) return why;
  }
  // Again with inputs that are none, where the shapes do not depend on them.
  std::unique_ptr<graph_model> model;
  try {
    model = read_graph((folder / "model.onnx").string(), with_shapes);
  } catch (const refusal &) {
    return "";
  }
  std::string why;
  std::vector<shared_array> given;
  for (const int input : model->net.inputs)
    for (size_t i = 0; i < names.size() && i < inputs.size(); ++i)
      if (names[i] == model->net.values[size_t(input)].name) given.push_back(inputs[i]);
  std::map<int, array> made;
  evaluate_graph(model->net, given, [&](int value, const array &a) {
    if (a.dims != model->net.values[size_t(value)].dims) why = "another shape without numbers";
    made[value] = a;
  });
  for (size_t i = 0; i < outputs.size() && why.empty(); ++i) {
    const graph_value &value = model->net.values[size_t(model->net.outputs[i])];
    why = difference(value.is_constant ? *numbers_of(value) : made[model->net.outputs[i]], *outputs[i], false);
  }
  return why;
}

// The steps of a program, run here: their outputs.
std::vector<array> outputs_of_steps(graph_model &model, const std::vector<shared_array> &given) {
  const graph net = prepared(model);
  steps p = lowered(net, {});
  std::vector<tensor> constants;
  for (size_t i = 0; i < p.constants.size(); ++i) {
    if (!p.constants[i].make) continue;
    p.constants[i].name = "c" + std::to_string(i);
    constants.push_back(made(p.constants[i], {}));
  }
  const heed_import::bytes flat = heed_import::flat_file(constants);
  const std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(HEED_FILE_ALIGNMENT, (flat.size() / HEED_FILE_ALIGNMENT + 1) * HEED_FILE_ALIGNMENT),
      std::free);
  std::copy(flat.begin(), flat.end(), static_cast<uint8_t *>(memory.get()));
  step_runner runner(p, {static_cast<uint8_t *>(memory.get()), flat.size()}, true);
  for (size_t i = 0; i < given.size(); ++i) {
    const element kind = p.storages[size_t(p.inputs[i])].kind;
    for (size_t k = 0; k < given[i]->numbers.size(); ++k) {
      const double number = given[i]->numbers[k];
      if (kind == element::floats) static_cast<float *>(runner.input(i))[k] = float(number);
      if (kind == element::integers) static_cast<int32_t *>(runner.input(i))[k] = int32_t(number);
      if (kind == element::booleans) static_cast<uint8_t *>(runner.input(i))[k] = number != 0;
    }
  }
  runner.run([](int) {});
  std::vector<array> all;
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    const graph_value &value = net.values[size_t(net.outputs[i])];
    array a;
    a.kind = value.kind, a.dims = value.dims;
    const void *const from = runner.output(i);
    for (int64_t k = 0; k < count_of(value.dims); ++k) {
      if (a.kind == element::floats) a.numbers.push_back(double(static_cast<const float *>(from)[k]));
      if (a.kind == element::integers) a.numbers.push_back(static_cast<const int32_t *>(from)[k]);
      if (a.kind == element::booleans) a.numbers.push_back(static_cast<const uint8_t *>(from)[k]);
    }
    all.push_back(std::move(a));
  }
  return all;
}

// A program with all inputs, or with the first one alone where the others must be constants. Empty: it gives the outputs that are
// expected, or "no program", if heed_compile makes none.
std::string run_steps(const fs::path &folder, const heed_import::onnx_graphs &all, const fs::path &data,
                      bool says_why) {
  const std::vector<shared_array> inputs = read_all(data, "input"), outputs = read_all(data, "output");
  for (const bool has_all : {true, false}) {
    graph_choices how;
    std::map<std::string, shared_array> named;
    for (size_t i = 0; i < inputs.size() && i < all.graphs[0].inputs.size(); ++i) {
      const std::string &name = all.graphs[0].inputs[i].name;
      named[name] = inputs[i];
      if (has_all || i == 0)
        how.shapes[name] = inputs[i]->dims;
      else
        how.numbers[name] = inputs[i];
    }
    try {
      const auto model = read_graph((folder / "model.onnx").string(), how);
      std::vector<shared_array> given;
      for (const int input : model->net.inputs) given.push_back(named.at(model->net.values[size_t(input)].name));
      const std::vector<array> made = outputs_of_steps(*model, given);
      for (size_t i = 0; i < outputs.size() && i < made.size(); ++i) {
        const std::string why = difference(made[i], *outputs[i], false);
        if (!why.empty()) return why;
      }
      return "";
    } catch (const refusal &error) {
      if (!has_all && says_why) std::printf("no program: %s: %s\n", folder.filename().string().c_str(), error.what());
    }
  }
  return "no program";
}

std::string operation_of(const heed_import::onnx_node &n) {
  return n.domain.empty() || n.domain == "ai.onnx" ? n.operation : n.domain + "." + n.operation;
}

}  // namespace

int main(int argc, char **argv) {
  const char *const variable = std::getenv("HEED_ONNX_NODES");
  const std::string folder = argc > 1 && *argv[1] != 0 ? argv[1] : variable != nullptr ? variable : "";
  if (folder.empty() || !fs::is_directory(folder)) {
    std::printf(
        "SKIPPED: HEED_ONNX_NODES names no folder with ONNX's tests of its operators (Debian: libonnx-testdata)\n");
    return 77;
  }
  std::vector<fs::path> folders;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  std::map<std::string, tally> operators;
  int failed = 0;
  for (const fs::path &test : folders) {
    std::string operation = "?", why;
    bool is_refused = false, is_claimed = false, has_program = false;
    try {
      const file_bytes file((test / "model.onnx").string());
      const heed_import::onnx_graphs all = heed_import::read_onnx_graphs(file.all());
      if (!all.nodes.empty()) operation = operation_of(all.nodes.back());
      is_claimed = !all.nodes.empty();
      for (const heed_import::onnx_node &n : all.nodes)
        is_claimed = is_claimed && (is_known(operation_of(n)) || n.operation == "If");
      // Functions written out as nodes are tests of all of them.
      if (test.filename().string().find("_expanded") != std::string::npos) operation = "(expanded)";
      for (int i = 0; why.empty(); ++i) {
        const fs::path data = test / ("test_data_set_" + std::to_string(i));
        if (!fs::exists(data)) break;
        why = run(test, all, data);
        if (!why.empty()) continue;
        const std::string of_program = run_steps(test, all, data, argc < 3);
        has_program = of_program.empty();
        if (!has_program && of_program != "no program") why = "its program: " + of_program;
      }
    } catch (const std::exception &error) {
      is_refused = true;
      why = error.what();
    }
    tally &t = operators[operation];
    t.programs += has_program;
    if (why.empty())
      ++t.passed;
    else if (is_refused)
      ++t.refused;
    else
      ++t.failed, ++failed;
    if (!why.empty() && (is_claimed || !is_refused))
      std::printf("%s %s: %s\n", is_refused ? "refused" : "FAILED", test.filename().string().c_str(), why.c_str());
  }
  std::ostringstream table;
  int passed = 0, refused = 0;
  for (const auto &[name, t] : operators) {
    if (t.passed > 0) table << name << ' ' << t.passed << ' ' << t.programs << '\n';
    passed += t.passed, refused += t.refused;
  }
  for (const auto &[name, t] : operators)
    if (t.passed == 0) std::printf("not claimed: %s (%d)\n", name.c_str(), t.refused);
  std::printf("%d passed, %d refused, %d failed\n", passed, refused, failed);
  if (argc < 3) {
    std::printf("%s", table.str().c_str());
    return failed != 0;
  }
  std::ifstream in(argv[2]);
  std::string lines, line;
  while (std::getline(in, line))
    if (!line.empty() && line[0] != '#') lines += line + '\n';
  if (lines != table.str()) {
    std::printf("The operators that pass are others than those in %s. They are:\n%s", argv[2], table.str().c_str());
    return 1;
  }
  return failed != 0;
}
