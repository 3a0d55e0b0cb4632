// See graph_inputs.hpp. SPDX-License-Identifier: MIT
#include "graph_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "operators.hpp"

namespace heed_compile {

using heed_import::onnx_dim;
using heed_import::onnx_port;

namespace {

bool is_known(const onnx_dim &dim) { return dim.has_number && dim.number > 0; }

bool is_batch(const onnx_dim &dim, size_t axis) {
  std::string start = dim.name.substr(0, 5);
  std::transform(start.begin(), start.end(), start.begin(), [](unsigned char c) { return std::tolower(c); });
  return start == "batch" || (dim.name.empty() && axis == 0);
}

std::string list_of_names(const std::vector<onnx_port> &ports) {
  std::string text;
  for (const onnx_port &port : ports) {
    text += (text.empty() ? "" : ", ") + port.name;
    if (!port.has_shape) continue;
    text += " (";
    for (size_t d = 0; d < port.dims.size(); ++d) {
      const onnx_dim &dim = port.dims[d];
      const std::string unnamed = dim.name.empty() ? "?" : dim.name;
      text += (d == 0 ? "" : " x ") + (is_known(dim) ? std::to_string(dim.number) : unnamed);
    }
    text += ")";
  }
  return text;
}

// Sizes of names, which the user says, or the shape of another input does.
class name_sizes {
 public:
  name_sizes(const std::vector<onnx_port> &ports, const graph_choices &how) : ports_(ports), how_(how) {
    for (const auto &[name, dims] : how.shapes) {
      if (find_port(name) != nullptr) continue;
      if (!is_name(name))
        throw refusal("there is no input and no dimension " + name + "; the inputs are " + list_of_names(ports));
      if (dims.size() != 1) throw refusal("the dimension " + name + " needs one number");
      set(name, dims[0]);
    }
    for (const onnx_port &port : ports) {
      const auto found = how.shapes.find(port.name);
      if (found == how.shapes.end() || !port.has_shape) continue;
      for (size_t d = 0; d < port.dims.size() && d < found->second.size(); ++d)
        if (!port.dims[d].name.empty()) set(port.dims[d].name, found->second[d]);
    }
    for (const auto &[name, numbers] : how.numbers)
      if (find_port(name) == nullptr)
        throw refusal("there is no input " + name + "; the inputs are " + list_of_names(ports));
    for (const auto &[name, value] : how.values)
      if (find_port(name) == nullptr)
        throw refusal("there is no input " + name + "; the inputs are " + list_of_names(ports));
  }

  // Throws refusal, which names all options that say what the file leaves open.
  void expect_all_known() const {
    std::set<std::string> options;
    for (const onnx_port &port : ports_) {
      if (!port.is_tensor || how_.shapes.count(port.name) > 0 || how_.numbers.count(port.name) > 0) continue;
      if (!port.has_shape) options.insert("--shape " + port.name + "=N,N,...");
      for (size_t d = 0; d < port.dims.size(); ++d) {
        if (size_of(port, d) != unknown) continue;
        const std::string &name = port.dims[d].name;
        options.insert("--shape " + (name.empty() ? port.name + "=N,N,..." : name + "=N"));
      }
    }
    if (options.empty()) return;
    std::string all;
    for (const std::string &option : options) all += " " + option;
    throw refusal("leaves sizes of its inputs open, " + list_of_names(ports_) + ". Say them:" + all);
  }

  // Throws refusal, which speaks of the input.
  shape dims_of(const onnx_port &port) const {
    const auto found = how_.shapes.find(port.name);
    if (found != how_.shapes.end()) {
      if (port.has_shape && port.dims.size() != found->second.size())
        throw refusal("has " + std::to_string(port.dims.size()) + " dimensions: " + list_of_names({port}));
      for (size_t d = 0; d < found->second.size(); ++d) {
        expect_size("dimension " + std::to_string(d) + " of " + port.name, found->second[d]);
        if (port.has_shape && is_known(port.dims[d]) && port.dims[d].number != found->second[d])
          throw refusal("has " + std::to_string(port.dims[d].number) + ", not " + std::to_string(found->second[d]) +
                        ", as its dimension " + std::to_string(d));
      }
      return found->second;
    }
    shape dims;
    for (size_t d = 0; d < port.dims.size(); ++d) dims.push_back(size_of(port, d));
    return dims;
  }

 private:
  enum : int64_t { unknown = -1 };

  static void expect_size(const std::string &name, int64_t size) {
    if (size < 1 || size > INT32_MAX) throw refusal(name + " must be from 1 to 2147483647");
  }

  void set(const std::string &name, int64_t size) {
    expect_size(name, size);
    const auto found = sizes_.emplace(name, size).first;
    if (found->second != size)
      throw refusal("the dimension " + name + " has two sizes, " + std::to_string(found->second) + " and " +
                    std::to_string(size));
  }

  int64_t size_of(const onnx_port &port, size_t d) const {
    const onnx_dim &dim = port.dims[d];
    if (is_known(dim)) return dim.number;
    const auto found = sizes_.find(dim.name);
    if (!dim.name.empty() && found != sizes_.end()) return found->second;
    if (is_batch(dim, d)) return 1;
    return unknown;
  }

  const onnx_port *find_port(const std::string &name) const {
    for (const onnx_port &port : ports_)
      if (port.name == name) return &port;
    return nullptr;
  }

  bool is_name(const std::string &name) const {
    for (const onnx_port &port : ports_)
      for (const onnx_dim &dim : port.dims)
        if (dim.name == name) return true;
    return false;
  }

  const std::vector<onnx_port> &ports_;
  const graph_choices &how_;
  std::map<std::string, int64_t> sizes_;
};

}  // namespace

std::vector<graph_value> inputs_of(const std::vector<onnx_port> &ports, const graph_choices &how) {
  const name_sizes sizes(ports, how);
  sizes.expect_all_known();
  std::vector<graph_value> inputs;
  for (const onnx_port &port : ports) {
    graph_value value;
    value.name = port.name;
    if (!port.is_tensor)
      throw refusal("input " + port.name +
                    " is a sequence, a map or an optional value, which a program of heed has not");
    if (port.type == 0) throw refusal("the file does not say the type of the input " + port.name);
    value.type = port.type;
    const auto numbers = how.numbers.find(port.name);
    try {
      value.kind = element_of(port.type);
      value.dims = numbers != how.numbers.end() ? numbers->second->dims : sizes.dims_of(port);
      count_of(value.dims);
    } catch (const refusal &error) {
      throw refusal("input " + port.name + " " + error.what());
    }
    if (numbers != how.numbers.end()) {
      if (numbers->second->kind != value.kind)
        throw refusal("input " + port.name + " has another kind of numbers than the model");
      value.is_constant = true;
      value.constant = numbers->second;
    }
    const auto constant = how.values.find(port.name);
    if (constant != how.values.end()) {
      const double number = constant->second;
      const bool is_whole = number == std::floor(number) && std::fabs(number) < 9e15;
      if (value.kind != element::floats && !is_whole)
        throw refusal("input " + port.name + " has integers: give it one");
      array a = zeros_of(value.kind, value.dims, value.type);
      std::fill(a.numbers.begin(), a.numbers.end(), value.kind == element::booleans ? number != 0 : number);
      value.is_constant = true;
      value.constant = std::make_shared<const array>(std::move(a));
    }
    inputs.push_back(std::move(value));
  }
  return inputs;
}

}  // namespace heed_compile
