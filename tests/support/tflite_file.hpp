// Writes small files of TensorFlow Lite, for tests of their reader: tables of FlatBuffers, whose children stand behind them.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_TFLITE_FILE_HPP
#define HEED_TESTS_TFLITE_FILE_HPP

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

struct tflite_tensor {
  std::string name;
  std::vector<int32_t> shape;
  uint8_t type = 0;  // 0: float32, 2: int32, 9: int8
  std::string data;  // of a constant
  std::vector<float> scales = {};
  std::vector<int32_t> zeros = {};
  uint32_t scaled_dimension = 0;
};

// A field of a table of options.
struct tflite_option {
  int field;
  int n_bytes;
  uint32_t value;
};

struct tflite_operation {
  int32_t code;
  std::vector<int32_t> inputs, outputs;
  std::vector<tflite_option> options;
};

template <typename T>
std::string tflite_data(const std::vector<T> &numbers) {
  std::string data(numbers.size() * sizeof(T), '\0');
  if (!numbers.empty()) std::memcpy(&data[0], numbers.data(), data.size());
  return data;
}

inline uint32_t tflite_float(float number) {
  uint32_t word;
  std::memcpy(&word, &number, 4);
  return word;
}

class tflite_file {
 public:
  tflite_file(const std::vector<tflite_tensor> &tensors, const std::vector<tflite_operation> &operations,
              const std::vector<int32_t> &inputs, const std::vector<int32_t> &outputs) {
    put(0, 4);
    out_ += "TFL3";
    // Model: version, operator_codes, subgraphs, description, buffers.
    const std::vector<size_t> model = table({{0, 4, 3}, {1, 4, 0}, {2, 4, 0}, {4, 4, 0}});
    point(0, model.back());
    const std::vector<size_t> codes = list_of_tables(model[1], operations.size());
    for (size_t i = 0; i < operations.size(); ++i) {
      const auto code = static_cast<uint32_t>(operations[i].code);
      point(codes[i], table({{0, 1, code < 127 ? code : 127}, {3, 4, code}}).back());
    }
    const std::vector<size_t> graphs = list_of_tables(model[2], 1);
    // Subgraph: tensors, inputs, outputs, operators.
    const std::vector<size_t> graph = table({{0, 4, 0}, {1, 4, 0}, {2, 4, 0}, {3, 4, 0}});
    point(graphs[0], graph.back());
    const std::vector<size_t> places = list_of_tables(graph[0], tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      // Tensor: shape, type, buffer, name.
      std::vector<tflite_option> fields = {
          {0, 4, 0}, {1, 1, tensors[i].type}, {2, 4, static_cast<uint32_t>(i)}, {3, 4, 0}};
      if (!tensors[i].scales.empty()) fields.push_back({4, 4, 0});
      const std::vector<size_t> t = table(fields);
      point(places[i], t.back());
      integers(t[0], tensors[i].shape);
      bytes(t[3], tensors[i].name);
      if (!tensors[i].scales.empty()) quantisation(t[4], tensors[i]);
    }
    integers(graph[1], inputs);
    integers(graph[2], outputs);
    const std::vector<size_t> operators = list_of_tables(graph[3], operations.size());
    for (size_t i = 0; i < operations.size(); ++i) {
      // Operator: opcode_index, inputs, outputs, and builtin_options behind their type.
      const std::vector<size_t> op = table({{0, 4, static_cast<uint32_t>(i)}, {1, 4, 0}, {2, 4, 0}, {4, 4, 0}});
      point(operators[i], op.back());
      integers(op[1], operations[i].inputs);
      integers(op[2], operations[i].outputs);
      point(op[3], table(operations[i].options).back());
    }
    const std::vector<size_t> buffers = list_of_tables(model[3], tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::vector<size_t> buffer = table({{0, 4, 0}});
      point(buffers[i], buffer.back());
      bytes(buffer[0], tensors[i].data);
    }
  }
  const std::string &text() const { return out_; }

 private:
  void put(uint32_t number, int n_bytes) {
    for (int i = 0; i < n_bytes; ++i) out_ += static_cast<char>(number >> (8 * i) & 255);
  }
  void set(size_t at, uint32_t number, int n_bytes) {
    for (int i = 0; i < n_bytes; ++i) out_[at + static_cast<size_t>(i)] = static_cast<char>(number >> (8 * i) & 255);
  }
  // The offset at a place leads to another one.
  void point(size_t from, size_t to) { set(from, static_cast<uint32_t>(to - from), 4); }

  // Returns the places of the fields, then that of the table.
  std::vector<size_t> table(const std::vector<tflite_option> &fields) {
    int n_fields = 0;
    for (const tflite_option &f : fields) n_fields = f.field + 1 > n_fields ? f.field + 1 : n_fields;
    const size_t vtable = out_.size();
    out_.append(4 + 2 * static_cast<size_t>(n_fields), '\0');
    const size_t here = out_.size();
    put(static_cast<uint32_t>(here - vtable), 4);
    std::vector<size_t> places;
    for (const tflite_option &f : fields) {
      set(vtable + 4 + 2 * static_cast<size_t>(f.field), static_cast<uint32_t>(out_.size() - here), 2);
      places.push_back(out_.size());
      put(f.value, f.n_bytes);
    }
    set(vtable, static_cast<uint32_t>(here - vtable), 2);
    set(vtable + 2, static_cast<uint32_t>(out_.size() - here), 2);
    places.push_back(here);
    return places;
  }
  std::vector<size_t> list_of_tables(size_t from, size_t n) {
    point(from, out_.size());
    put(static_cast<uint32_t>(n), 4);
    std::vector<size_t> places;
    for (size_t i = 0; i < n; ++i) {
      places.push_back(out_.size());
      put(0, 4);
    }
    return places;
  }
  void integers(size_t from, const std::vector<int32_t> &numbers) {
    point(from, out_.size());
    put(static_cast<uint32_t>(numbers.size()), 4);
    for (const int32_t number : numbers) put(static_cast<uint32_t>(number), 4);
  }
  // Scales, zero points, and the dimension along which they are.
  void quantisation(size_t from, const tflite_tensor &t) {
    const std::vector<size_t> q = table({{2, 4, 0}, {3, 4, 0}, {6, 4, t.scaled_dimension}});
    point(from, q.back());
    point(q[0], out_.size());
    put(static_cast<uint32_t>(t.scales.size()), 4);
    for (const float scale : t.scales) put(tflite_float(scale), 4);
    point(q[1], out_.size());
    put(static_cast<uint32_t>(t.zeros.size()), 4);
    for (const int32_t zero : t.zeros) put(static_cast<uint32_t>(zero), 4), put(zero < 0 ? 0xffffffffu : 0, 4);
  }
  void bytes(size_t from, const std::string &data) {
    point(from, out_.size());
    put(static_cast<uint32_t>(data.size()), 4);
    out_ += data;
  }

  std::string out_;
};

#endif
