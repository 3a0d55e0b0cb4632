// See readers.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "convert.hpp"
#include "onnx_tensors.hpp"
#include "onnx_uses.hpp"
#include "readers.hpp"

namespace heed_import {
namespace {

bool ends_with(const std::string &text, const std::string &end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// "layers.0.q_proj.weight" for a node "/layers.0/q_proj/MatMul"; empty if it has no such name.
std::string name_after(const onnx_node &n) {
  const size_t slash = n.name.rfind('/');
  if (slash == std::string::npos || slash == 0) return "";
  std::string name = n.name.substr(n.name[0] == '/', slash - (n.name[0] == '/'));
  std::replace(name.begin(), name.end(), '/', '.');
  return name + (n.operation == "Add" ? ".bias" : ".weight");
}

bool is_quantized(const tensor &t) { return t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_I8; }

class onnx_reader {
 public:
  explicit onnx_reader(onnx_graphs &&all, onnx_files *files)
      : all_(std::move(all)), scopes_(all_), uses_(onnx_uses(all_)) {
    std::set<std::pair<size_t, std::string>> seen;
    for (onnx_tensor &p : all_.tensors) {
      if (!p.name.empty() && !seen.insert({p.graph, p.name}).second) refuse(p.name, "two initializers have this name");
      if (!p.name.empty()) scopes_.set(p.graph, p.name, static_cast<int>(tensors_.size()));
      dims_.push_back(p.dims);
      tensors_.push_back(tensor_of_onnx(std::move(p), files));
    }
  }

  std::vector<tensor> tensors() {
    suggest_names();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      add_parts_by_name(i);
      if (is_usable(tensors_[i])) use_as_asked(i);
    }
    forget_ends_of_names();
    qualify_names();
    std::vector<tensor> chosen;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      // What a Constant holds is mostly shapes and single numbers of the graph.
      const bool is_operand =
          all_.tensors[i].is_operand && (dims_[i].empty() || tensors_[i].left_out == "is of integers");
      if (parts_.count(i) == 0 && !is_operand) chosen.push_back(std::move(tensors_[i]));
    }
    return chosen;
  }

 private:
  const tensor *tensor_at(int i) const { return i == onnx_none ? nullptr : &tensors_[static_cast<size_t>(i)]; }

  void suggest_names() {
    for (const onnx_node &n : all_.nodes) {
      for (const std::string &input : n.inputs) {
        const int i = input.compare(0, 6, "onnx::") == 0 ? scopes_.find(n.graph, input) : onnx_none;
        if (i != onnx_none && !tensors_[static_cast<size_t>(i)].dims.empty())
          tensors_[static_cast<size_t>(i)].suggested = name_after(n);
      }
    }
  }

  // X_quantized has X_scale and X_zero_point, where no node names them.
  void add_parts_by_name(size_t i) {
    const tensor &t = tensors_[i];
    onnx_use &use = uses_[i];
    if (!is_usable(t) || !is_quantized(t) || !ends_with(t.name, "_quantized")) return;
    const std::string name = t.name.substr(0, t.name.size() - 10);
    const int scale = scopes_.find(all_.tensors[i].graph, name + "_scale"),
              zero = scopes_.find(all_.tensors[i].graph, name + "_zero_point");
    if (use.scale != onnx_none || scale == onnx_none) return;
    if (use.zero == onnx_none) use.zero = zero, use.scale_axis = onnx_none;
    if (use.scale_axis == onnx_none) use.scale_axis = use.outputs == onnx_none && t.dims.size() > 1 ? 0 : use.outputs;
    use.scale = scale;
  }

  void use_as_asked(size_t i) {
    tensor &t = tensors_[i];
    const onnx_use &use = uses_[i];
    const int last = static_cast<int>(t.dims.size()) - 1;
    const bool is_scaled = is_quantized(t) && (use.scale != onnx_none || use.zero != onnx_none);
    t.refused = use.refused;
    t.unsure = use.unsure;
    if (use.outputs == last && last > 0) t.layout = HEED_IN_OUT;
    if (use.outputs > 0 && use.outputs < last) {
      t.unsure = use.reader + " has its outputs along dimension " + std::to_string(use.outputs) +
                 " of it, neither the first nor the last";
    }
    if (is_scaled && t.refused.empty()) scale(t, use);
    if (std::count_if(t.dims.begin(), t.dims.end(), [](uint32_t dim) { return dim > 1; }) < 2)
      t.unsure.clear();  // no matrix
    if (!t.refused.empty()) t.own({});
  }

  // Gives t its scales and zero points, which then are no tensors of their own.
  void scale(tensor &t, const onnx_use &use) {
    const tensor *const scale = tensor_at(use.scale), *const zero = tensor_at(use.zero);
    if (scale != nullptr && !is_part(t, *scale, !is_quantized(*scale))) return;
    if (zero != nullptr && !is_part(t, *zero, zero->dtype == t.dtype || !is_quantized(*zero))) return;
    const size_t n_scales = scale == nullptr ? 1 : scale->count(), n_zeros = zero == nullptr ? 1 : zero->count(),
                 n = std::max(n_scales, n_zeros);
    if (n > 1 && !follow_axis(t, use, n)) return;
    if ((n_scales != 1 && n_scales != n) || (n_zeros != 1 && n_zeros != n)) {
      t.refused = "has more or fewer zero points than scales";
      return;
    }
    t.scales = scale == nullptr ? std::vector<float>{1} : floats_of(*scale);
    t.scales.resize(n, t.scales[0]);
    if (!std::all_of(t.scales.begin(), t.scales.end(), [](float s) { return std::isfinite(s); }))
      t.refused = "has a scale that is not finite";
    t.zeros.assign(n, 0);
    for (const int part : {use.scale, use.zero}) {
      if (part != onnx_none) parts_.insert(static_cast<size_t>(part));
    }
    if (zero == nullptr) return;
    if (zero->dtype == t.dtype) {
      for (size_t k = 0; k < n; ++k) {
        const uint8_t q = zero->numbers().data[n_zeros == 1 ? 0 : k];
        t.zeros[k] = t.dtype == HEED_FILE_U8 ? q : static_cast<int8_t>(q);
      }
    } else {
      t.float_zeros = floats_of(*zero);
      t.float_zeros.resize(n, t.float_zeros[0]);
      t.zeros.clear();
      t.dtype = t.dtype == HEED_FILE_U8 ? HEED_FILE_U8_PLUS : HEED_FILE_I8_PLUS;
    }
  }

  static bool is_part(tensor &t, const tensor &part, bool has_kind) {
    const bool fits = is_usable(part) && has_kind;
    if (!fits) t.refused = "has the scale or the zero point " + part.name + ", which is of another kind";
    return fits;
  }

  // The n scales lie along the dimension of the outputs.
  static bool follow_axis(tensor &t, const onnx_use &use, size_t n) {
    const int axis = use.scale_axis, last = static_cast<int>(t.dims.size()) - 1;
    if (axis < 0 || axis > last || t.dims[static_cast<size_t>(axis)] != n) {
      t.refused = "has " + std::to_string(n) + " scales, neither one nor one for each output";
    } else if (use.outputs != onnx_none && use.outputs != axis) {
      t.refused = "has its scales along dimension " + std::to_string(axis) + ", and its outputs along dimension " +
                  std::to_string(use.outputs);
    } else if (axis != 0 && axis != last) {
      t.refused = "has its scales along dimension " + std::to_string(axis) + ", neither the first nor the last";
    } else {
      t.layout = axis == 0 ? HEED_OUT_IN : HEED_IN_OUT;
    }
    return t.refused.empty();
  }

  void forget_ends_of_names() {
    std::set<std::string> names;
    for (const tensor &t : tensors_) names.insert(t.name);
    for (tensor &t : tensors_) {
      const std::string name = ends_with(t.name, "_quantized") ? t.name.substr(0, t.name.size() - 10) : t.name;
      if (is_usable(t) && name != t.name && names.count(name) == 0) t.name = name;
    }
  }

  // A name that several graphs have stands behind the path of its graph, and behind its number if two have this path.
  void qualify_names() {
    std::map<std::string, int> n_owners;
    std::set<std::string> names;
    for (const tensor &t : tensors_) ++n_owners[t.name];
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const size_t graph = all_.tensors[i].graph;
      const std::string &path = all_.graphs[graph].path;
      std::string &name = tensors_[i].name;
      if (n_owners[name] > 1 && graph != 0)
        name = path + (names.count(path + "." + name) == 0 ? "" : "." + std::to_string(graph)) + "." + name;
      names.insert(name);
    }
  }

  onnx_graphs all_;
  onnx_scopes scopes_;
  std::vector<onnx_use> uses_;
  std::vector<tensor> tensors_;
  std::vector<std::vector<uint64_t>> dims_;
  std::set<size_t> parts_;
};

}  // namespace

std::vector<tensor> read_onnx(span file) { return onnx_reader(read_onnx_graphs(file), nullptr).tensors(); }

std::vector<tensor> read_onnx_beside(span file, const std::string &path, std::vector<std::string> &others) {
  onnx_files files(path);
  std::vector<tensor> all = onnx_reader(read_onnx_graphs(file), &files).tensors();
  for (const std::string &other : files.paths()) others.push_back(other);
  return all;
}

}  // namespace heed_import
