// heed_compile --check of a graph. See compile_graph.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "../../import/convert.hpp"
#include "../../import/file_bytes.hpp"
#include "../../import/readers.hpp"
#include "compile_graph.hpp"
#include "operators.hpp"
#include "run_steps.hpp"

namespace heed_compile {
namespace {

array array_of(const storage &s, const shape &dims, const void *numbers) {
  array a;
  a.kind = s.kind;
  a.dims = dims;
  for (int64_t i = 0; i < s.count; ++i) {
    if (s.kind == element::floats) a.numbers.push_back(static_cast<double>(static_cast<const float *>(numbers)[i]));
    if (s.kind == element::integers) a.numbers.push_back(static_cast<const int32_t *>(numbers)[i]);
    if (s.kind == element::booleans) a.numbers.push_back(static_cast<const uint8_t *>(numbers)[i]);
  }
  return a;
}

void put_numbers(const array &from, const storage &s, void *to) {
  for (size_t i = 0; i < from.numbers.size(); ++i) {
    const double number = from.numbers[i];
    if (s.kind == element::floats) static_cast<float *>(to)[i] = static_cast<float>(number);
    if (s.kind == element::integers)
      static_cast<int32_t *>(to)[i] = static_cast<int32_t>(std::min(std::max(number, -2147483648.0), 2147483647.0));
    if (s.kind == element::booleans) static_cast<uint8_t *>(to)[i] = number != 0 ? 1 : 0;
  }
}

// An array of numpy: its first line says type and shape.
array array_of_npy(heed_import::span file, const std::string &name) {
  const auto fails = [&](const char *why) -> refusal { return refusal(names::for_terminal(name) + ": " + why); };
  if (file.size < 10 || std::memcmp(file.data, "\x93NUMPY", 6) != 0) throw fails("is no array of numpy");
  const bool is_first = file.data[6] == 1;
  const size_t head = is_first ? 10 : 12;
  if (file.size < head) throw fails("is cut");
  const auto n_text = static_cast<size_t>(heed_import::number_at(file.data + 8, is_first ? 2 : 4));
  if (n_text > file.size - head) throw fails("is cut");
  const std::string text(file.data + head, file.data + head + n_text);
  const auto after = [&](const std::string &key) {
    const size_t at = text.find("'" + key + "':");
    if (at == std::string::npos) throw fails("has a header that is none of numpy's");
    return text.substr(at + key.size() + 3);
  };
  if (after("fortran_order").find("True") < 3) throw fails("lies column by column");
  const std::string type = after("descr").substr(after("descr").find('\'') + 1, 3);
  array a;
  const std::string dims = after("shape");
  for (size_t i = dims.find('('); i < dims.size() && dims[i] != ')';) {
    if (dims[i] < '0' || dims[i] > '9') {
      ++i;
      continue;
    }
    int64_t dim = 0;
    for (; i < dims.size() && dims[i] >= '0' && dims[i] <= '9' && dim < (int64_t{1} << 31); ++i)
      dim = 10 * dim + (dims[i] - '0');
    a.dims.push_back(dim);
    if (count_of(a.dims) > (int64_t{1} << 31)) throw fails("has more numbers than a program");
  }
  const int n_bytes = type[2] - '0';
  const auto count = static_cast<size_t>(count_of(a.dims));
  const size_t begin = head + n_text;
  if (n_bytes < 1 || n_bytes > 8 || (file.size - begin) / static_cast<size_t>(n_bytes) < count) throw fails("is cut");
  for (size_t i = 0; i < count; ++i) {
    const uint8_t *const at = file.data + begin + i * static_cast<size_t>(n_bytes);
    const uint64_t word = heed_import::number_at(at, n_bytes);
    double number = 0;
    if (type == "<f4") {
      number = static_cast<double>(heed_import::f32_at(at));
    } else if (type == "<f8") {
      std::memcpy(&number, &word, 8);
    } else if (type[1] == 'i') {
      const int unused = 64 - 8 * n_bytes;
      number = static_cast<double>(static_cast<int64_t>(word << unused) >> unused);
    } else if (type[1] == 'u' || type[1] == 'b') {
      number = static_cast<double>(word);
    } else {
      throw fails("has numbers of a type that is not read: f4, f8, integers and booleans are");
    }
    a.numbers.push_back(number);
  }
  return a;
}

// The arrays of an archive as numpy.savez writes it: not compressed. A single array has no name.
std::vector<std::pair<std::string, array>> arrays_of_file(const std::string &path) {
  const heed_import::file_bytes file(path);
  const heed_import::span all = file.all();
  std::vector<std::pair<std::string, array>> arrays;
  if (all.size >= 6 && std::memcmp(all.data, "\x93NUMPY", 6) == 0) {
    arrays.emplace_back("", array_of_npy(all, path));
    return arrays;
  }
  const auto fails = [&](const char *why) -> refusal { return refusal(path + ": " + why); };
  size_t end = std::string::npos;  // of the list of entries
  for (size_t back = 22; back <= all.size && back < 22 + 65536 && end == std::string::npos; ++back)
    if (std::memcmp(all.data + all.size - back, "PK\5\6", 4) == 0) end = all.size - back;
  if (end == std::string::npos) throw fails("is neither *.npy nor *.npz");
  const auto n_entries = static_cast<size_t>(heed_import::number_at(all.data + end + 10, 2));
  auto at = static_cast<size_t>(heed_import::number_at(all.data + end + 16, 4));
  for (size_t i = 0; i < n_entries; ++i) {
    if (at > all.size || all.size - at < 46 || std::memcmp(all.data + at, "PK\1\2", 4) != 0) throw fails("is damaged");
    const uint8_t *const entry = all.data + at;
    const auto number = [&](size_t offset, int n) {
      return static_cast<size_t>(heed_import::number_at(entry + offset, n));
    };
    const size_t method = number(10, 2), size = number(24, 4), n_name = number(28, 2), n_extra = number(30, 2),
                 n_comment = number(32, 2), local = number(42, 4);
    if (all.size - at - 46 < n_name) throw fails("is damaged");
    std::string name(entry + 46, entry + 46 + n_name);
    if (method != 0) throw fails("is compressed: write it with numpy.savez");
    if (local > all.size || all.size - local < 30) throw fails("is damaged");
    const size_t begin = local + 30 + static_cast<size_t>(heed_import::number_at(all.data + local + 26, 2)) +
                         static_cast<size_t>(heed_import::number_at(all.data + local + 28, 2));
    if (begin > all.size || all.size - begin < size) throw fails("is damaged");
    const std::string end_of_name = ".npy";
    if (name.size() > 4 && name.compare(name.size() - 4, 4, end_of_name) == 0) name.resize(name.size() - 4);
    arrays.emplace_back(name, array_of_npy({all.data + begin, size}, path + ": " + name));
    at += 46 + n_name + n_extra + n_comment;
  }
  return arrays;
}

// Inputs by their names; one whose name is not in the file is the array at its place.
std::vector<shared_array> inputs_of_file(const graph &net, const std::string &path) {
  const auto arrays = arrays_of_file(path);
  std::vector<shared_array> inputs;
  for (size_t i = 0; i < net.inputs.size(); ++i) {
    const graph_value &v = net.values[static_cast<size_t>(net.inputs[i])];
    const array *found = nullptr;
    for (const auto &[name, a] : arrays)
      if (name == v.name) found = &a;
    if (found == nullptr && arrays.size() >= net.inputs.size()) found = &arrays[i].second;
    if (found == nullptr) throw refusal(path + ": has no array " + names::for_terminal(v.name));
    if (count_of(found->dims) != count_of(v.dims))
      throw refusal(path + ": " + names::for_terminal(v.name) +
                    " has another number of numbers than the graph's input");
    array a = *found;
    a.kind = v.kind;
    a.dims = v.dims;
    a.type = v.type;
    inputs.push_back(std::make_shared<array>(std::move(a)));
  }
  return inputs;
}

struct seen {
  std::string node;
  view shown;
  std::vector<float> numbers;  // in the order of the value
};

// The numbers of each value that a step completes.
std::map<int, seen> seen_of(const steps &p, heed_import::span file, bool exact,
                            const std::vector<shared_array> &inputs) {
  step_runner runner(p, file, exact);
  for (size_t i = 0; i < inputs.size(); ++i)
    put_numbers(*inputs[i], p.storages[static_cast<size_t>(p.inputs[i])], runner.input(i));
  std::map<int, seen> all;
  runner.run([&](int step) {
    const auto &s = p.list[static_cast<size_t>(step)];
    if (s.value < 0) return;
    seen now = {s.node, s.shown, {}};
    const float *const numbers = runner.floats(s.shown);
    const int64_t n = count_of(s.shown.dims);
    for (int64_t i = 0; i < n; ++i) {
      int64_t rest = i, at = 0;
      for (size_t d = s.shown.dims.size(); d-- > 0;) {
        at += rest % s.shown.dims[d] * s.shown.strides[d];
        rest /= s.shown.dims[d];
      }
      now.numbers.push_back(numbers[at]);
    }
    all[s.value] = std::move(now);
  });
  return all;
}

}  // namespace

void print_errors(const graph &whole, const steps &p, const choices &c, heed_import::span file,
                  const std::string &input) {
  std::vector<shared_array> inputs;
  if (input.empty()) {
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      const storage &s = p.storages[static_cast<size_t>(p.inputs[i])];
      std::vector<float> numbers(static_cast<size_t>(s.count));
      fill_input(p, static_cast<int>(i), numbers.data());
      const graph_value &v = whole.values[static_cast<size_t>(whole.inputs[i])];
      array a = array_of(s, v.dims, numbers.data());
      a.type = v.type;
      inputs.push_back(std::make_shared<array>(std::move(a)));
    }
  } else {
    inputs = inputs_of_file(whole, input);
  }
  const std::map<int, seen> exact = seen_of(p, file, true, inputs);
  const std::map<int, seen> quantised = c.exact ? std::map<int, seen>() : seen_of(p, file, false, inputs);
  struct line {
    double exact = 0, quantised = 0, greatest = 0;
  };
  std::map<int, line> lines;
  evaluate_graph(whole, inputs, [&](int value, const array &expected) {
    const auto found = exact.find(value);
    if (found == exact.end()) return;
    line l;
    const auto difference = [&](const seen &of) {
      double worst = 0;
      for (size_t i = 0; i < expected.numbers.size() && i < of.numbers.size(); ++i) {
        const double d = std::fabs(static_cast<double>(of.numbers[i]) - expected.numbers[i]);
        const bool is_same = static_cast<double>(of.numbers[i]) == expected.numbers[i];  // infinities, too
        if (!is_same && !(d <= worst)) worst = d;                                        // a NaN stays
      }
      return worst;
    };
    l.exact = difference(found->second);
    if (!c.exact) l.quantised = difference(quantised.at(value));
    for (const double number : expected.numbers) l.greatest = std::max(l.greatest, std::fabs(number));
    lines[value] = l;
  });
  std::printf("greatest error: %16s %16s   of numbers up to   node\n", "rows in floats", c.exact ? "" : "as written");
  for (const step &s : p.list) {
    const auto l = lines.find(s.value);
    if (s.value < 0 || l == lines.end()) continue;
    std::printf("%-15s %16.3g ", "", l->second.exact);
    c.exact ? std::printf("%16s", "") : std::printf("%16.3g", l->second.quantised);
    std::printf("   %-16.4g   %s\n", l->second.greatest, names::for_terminal(s.node).c_str());
  }
}

}  // namespace heed_compile
