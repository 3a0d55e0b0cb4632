// What the readers of families share. families.cpp has those of texts and pictures, families_speech.cpp those of sounds.
// SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_FAMILIES_HPP
#define HEED_COMPILE_FAMILIES_HPP

#include <cmath>
#include <nlohmann/json.hpp>

#include "network.hpp"

namespace heed_compile {

using json = nlohmann::json;

inline const tensor *find(const std::vector<tensor> &all, const std::string &name) {
  for (const tensor &t : all)
    if (t.name == name) return &t;
  return nullptr;
}
inline bool has(const std::vector<tensor> &all, const std::string &name) { return find(all, name) != nullptr; }

inline int32_t count_of(const std::string &what, double value) {
  if (!(value >= 1 && value <= 1 << 24) || value != std::floor(value))
    throw refusal(what + " is not a count of 1 to 2^24");
  return static_cast<int32_t>(value);
}

// Adds the weights of a family: {} in names stands for the number of a layer.
class weight_list {
 public:
  explicit weight_list(network &net) : net_(net) {}
  // What follows is of these layers alone, whose numbers in the source begin with 0.
  void of_layers(int32_t first, int32_t n) { first_layer_ = first, n_layers_ = n; }
  // A matrix of a layer, and its bias, if the source has one.
  void matrix(const std::string &field, const std::string &source, int32_t n_in, int32_t n_out, int32_t part = 0,
              int32_t parts = 1, bool by_heads = false) {
    const std::string bias = bias_of(field);
    add({"layers.{}." + field, source + ".weight", n_in, n_out, field, false, part, parts, 0, 0, by_heads, ""});
    add({"layers.{}." + bias, source + ".bias", 0, n_out, bias, true, part, parts, 0, 0, by_heads, ""});
  }
  // Rows first to first + n_out - 1 of a matrix.
  void rows(const std::string &field, const std::string &source, int32_t n_in, int32_t first, int32_t n_out) {
    const std::string bias = bias_of(field);
    add({"layers.{}." + field, source + ".weight", n_in, n_out, field, false, 0, 1, first, n_out, false, ""});
    add({"layers.{}." + bias, source + ".bias", 0, n_out, bias, true, 0, 1, first, n_out, false, ""});
  }
  void norm(const std::string &field, const std::string &source, int32_t n) {
    add({"layers.{}." + field + "_weight", source + ".weight", 0, n, field + "_weight", false, 0, 1, 0, 0, false, ""});
    add({"layers.{}." + field + "_bias", source + ".bias", 0, n, field + "_bias", true, 0, 1, 0, 0, false, ""});
  }
  // Outside of layers.
  void one(const std::string &name, const std::string &source, int32_t n_in, int32_t n_out, bool is_optional = false,
           const std::string &beside = "") {
    add({name, source, n_in, n_out, "", is_optional, 0, 1, 0, 0, false, beside});
  }
  void norm_outside(const std::string &name, const std::string &source) {
    one(name + "_weight", source + ".weight", 0, net_.dim);
    one(name + "_bias", source + ".bias", 0, net_.dim, true);
  }

 private:
  static std::string bias_of(std::string field) {
    field.replace(field.find('w'), 1, "b");  // cross_wq: cross_bq
    return field;
  }
  void add(const weight &w) {
    net_.weights.push_back(w);
    net_.weights.back().first_layer = first_layer_, net_.weights.back().n_layers = n_layers_;
  }
  network &net_;
  int32_t first_layer_ = 0, n_layers_ = 0;
};

class config {
 public:
  explicit config(const json &j) : j_(j) {}
  double number(const char *key, double otherwise) const {
    const auto found = j_.find(key);
    return found != j_.end() && found->is_number() ? found->get<double>() : otherwise;
  }
  int32_t count(const char *key) const {
    if (number(key, -1) < 0) throw refusal("config.json has no " + std::string(key));
    return count_of(key, number(key, -1));
  }
  // The first of these names that there is: GPT-2 and DistilBERT have their own.
  int32_t count_of_any(const std::vector<const char *> &keys) const {
    for (const char *const key : keys)
      if (number(key, -1) >= 0) return count(key);
    return count(keys[0]);
  }
  std::string text(const char *key) const {
    const auto found = j_.find(key);
    return found != j_.end() && found->is_string() ? found->get<std::string>() : "";
  }
  bool flag(const char *key, bool otherwise) const {
    const auto found = j_.find(key);
    return found != j_.end() && found->is_boolean() ? found->get<bool>() : otherwise;
  }
  config inner(const char *key) const {
    static const json none = json::object();
    const auto found = j_.find(key);
    return config(found != j_.end() && found->is_object() ? *found : none);
  }
  const json &all() const { return j_; }

 private:
  const json &j_;
};

// The function of heed that config.json names.
std::string activation_named(const std::string &name);

// The name that tensors begin with, such as "model." or "bert.", or nothing.
std::string prefix_of(const std::vector<tensor> &all, const std::vector<std::string> &prefixes,
                      const std::string &name);

// Throws refusal if products of counts are too large, or counts do not fit each other.
void expect_sizes(const network &net);

// One row for each position, as floats: they are added as they lie.
void add_positions(network &net, const std::string &source);

void read_rope(const config &c, network &net);

// "whisper" and "moonshine": families_speech.cpp.
bool is_speech(const std::string &family);
network speech_of_config(const config &c, const std::vector<tensor> &all);
void read_speech_generation(const json &j, network &net);
void read_speech_preprocessor(const json &j, network &net);

}  // namespace heed_compile

#endif
