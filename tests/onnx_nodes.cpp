// ONNX's own tests of its operators (folders test_*/model.onnx with test_data_set_*/input_*.pb and output_*.pb), by heed_compile's
// reference in double precision. The folder of the folders is an argument, or HEED_ONNX_NODES names it (Debian: libonnx-testdata).
//   heed_onnx_nodes FOLDER            prints how many tests of each operator pass
//   heed_onnx_nodes FOLDER TABLE      compares that with a table, a line for each operator: NAME PASSED
// An operator is claimed if heed_compile knows it. A test of such an operator must pass, unless it is of types or of attributes that
// are refused by name. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "onnx/constants.hpp"
#include "file_bytes.hpp"
#include "onnx/graph.hpp"
#include "onnx_graphs.hpp"

namespace {

using namespace heed_compile;
using heed_import::file_bytes;
namespace fs = std::filesystem;

struct tally {
  int passed = 0, refused = 0, failed = 0;
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
    bool is_refused = false, is_claimed = false;
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
      }
    } catch (const std::exception &error) {
      is_refused = true;
      why = error.what();
    }
    tally &t = operators[operation];
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
    if (t.passed > 0) table << name << ' ' << t.passed << '\n';
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
