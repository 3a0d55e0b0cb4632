// See run_steps.hpp. SPDX-License-Identifier: MIT
#include "run_steps.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <new>
#include <utility>

#include "heed/heed.h"
#include "heed/int_products.h"

namespace heed_compile {
namespace {

void require(const char *error) {
  if (error != nullptr) throw refusal(error);
}

// What a call is given, as this machine has it.
struct given {
  const void *in = nullptr;
  void *out = nullptr;
  const heed_weights *weights = nullptr;
  const argument *as_written = nullptr;
  int64_t number = 0;
  const void *table = nullptr;
};

class given_list {
 public:
  explicit given_list(std::vector<given> all) : all_(std::move(all)) {}
  template <class T>
  const T *in(size_t i) const {
    return static_cast<const T *>(all_.at(i).in);
  }
  template <class T>
  T *out(size_t i) const {
    return static_cast<T *>(all_.at(i).out);
  }
  const float *f(size_t i) const { return in<float>(i); }
  float *yf(size_t i) const { return out<float>(i); }
  const int32_t *n(size_t i) const { return in<int32_t>(i); }
  int32_t *yn(size_t i) const { return out<int32_t>(i); }
  const uint8_t *b(size_t i) const { return in<uint8_t>(i); }
  uint8_t *yb(size_t i) const { return out<uint8_t>(i); }
  const heed_weights *w(size_t i) const { return all_.at(i).weights; }
  int32_t k(size_t i) const { return static_cast<int32_t>(all_.at(i).number); }
  float x(size_t i) const { return static_cast<float>(all_.at(i).as_written->real); }
  const std::string &name(size_t i) const { return all_.at(i).as_written->name; }
  template <class T>
  const T *table(size_t i) const {
    return static_cast<const T *>(all_.at(i).table);
  }
  const heed_graph_loop *loop(size_t i) const { return table<heed_graph_loop>(i); }
  int32_t constant(size_t i) const;

 private:
  std::vector<given> all_;
};

int32_t given_list::constant(size_t i) const {
  static const std::map<std::string, int32_t> constants = {
      {"HEED_GRAPH_NEGATE", HEED_GRAPH_NEGATE},
      {"HEED_GRAPH_ABS", HEED_GRAPH_ABS},
      {"HEED_GRAPH_SQRT", HEED_GRAPH_SQRT},
      {"HEED_GRAPH_RECIPROCAL", HEED_GRAPH_RECIPROCAL},
      {"HEED_GRAPH_EXP", HEED_GRAPH_EXP},
      {"HEED_GRAPH_LOG", HEED_GRAPH_LOG},
      {"HEED_GRAPH_ERF", HEED_GRAPH_ERF},
      {"HEED_GRAPH_SIN", HEED_GRAPH_SIN},
      {"HEED_GRAPH_COS", HEED_GRAPH_COS},
      {"HEED_GRAPH_FLOOR", HEED_GRAPH_FLOOR},
      {"HEED_GRAPH_CEIL", HEED_GRAPH_CEIL},
      {"HEED_GRAPH_ROUND", HEED_GRAPH_ROUND},
      {"HEED_GRAPH_SIGN", HEED_GRAPH_SIGN},
      {"HEED_GRAPH_RELU", HEED_GRAPH_RELU},
      {"HEED_GRAPH_SOFTPLUS", HEED_GRAPH_SOFTPLUS},
      {"HEED_GRAPH_SQUARE", HEED_GRAPH_SQUARE},
      {"HEED_GRAPH_HARD_SWISH", HEED_GRAPH_HARD_SWISH},
      {"HEED_GRAPH_ADD", HEED_GRAPH_ADD},
      {"HEED_GRAPH_SUB", HEED_GRAPH_SUB},
      {"HEED_GRAPH_MUL", HEED_GRAPH_MUL},
      {"HEED_GRAPH_DIV", HEED_GRAPH_DIV},
      {"HEED_GRAPH_MIN", HEED_GRAPH_MIN},
      {"HEED_GRAPH_MAX", HEED_GRAPH_MAX},
      {"HEED_GRAPH_POW", HEED_GRAPH_POW},
      {"HEED_GRAPH_MOD", HEED_GRAPH_MOD},
      {"HEED_GRAPH_PRELU", HEED_GRAPH_PRELU},
      {"HEED_GRAPH_AND", HEED_GRAPH_AND},
      {"HEED_GRAPH_OR", HEED_GRAPH_OR},
      {"HEED_GRAPH_XOR", HEED_GRAPH_XOR},
      {"HEED_GRAPH_EQUAL", HEED_GRAPH_EQUAL},
      {"HEED_GRAPH_LESS", HEED_GRAPH_LESS},
      {"HEED_GRAPH_LESS_OR_EQUAL", HEED_GRAPH_LESS_OR_EQUAL},
      {"HEED_GRAPH_GREATER", HEED_GRAPH_GREATER},
      {"HEED_GRAPH_GREATER_OR_EQUAL", HEED_GRAPH_GREATER_OR_EQUAL},
      {"HEED_GRAPH_SUM", HEED_GRAPH_SUM},
      {"HEED_GRAPH_MEAN", HEED_GRAPH_MEAN},
      {"HEED_GRAPH_GREATEST", HEED_GRAPH_GREATEST},
      {"HEED_GRAPH_LEAST", HEED_GRAPH_LEAST},
      {"HEED_GRAPH_PRODUCT", HEED_GRAPH_PRODUCT},
      {"HEED_GRAPH_SUM_OF_SQUARES", HEED_GRAPH_SUM_OF_SQUARES},
      {"HEED_GRAPH_LENGTH", HEED_GRAPH_LENGTH},
      {"HEED_GRAPH_SUM_OF_MAGNITUDES", HEED_GRAPH_SUM_OF_MAGNITUDES},
      {"HEED_GRAPH_LOG_SUM_EXP", HEED_GRAPH_LOG_SUM_EXP}};
  return constants.at(name(i));
}

heed_norm *norm_of(const std::string &name) {
  static const std::map<std::string, heed_norm *> norms = {{"heed_rms_norm", heed_rms_norm},
                                                           {"heed_layer_norm", heed_layer_norm}};
  return norms.at(name);
}
heed_activation *activation_of(const std::string &name) {
  static const std::map<std::string, heed_activation *> functions = {
      {"heed_gelu", heed_gelu}, {"heed_gelu_tanh", heed_gelu_tanh}, {"heed_silu", heed_silu},
      {"heed_relu", heed_relu}, {"heed_tanh", heed_tanh},           {"heed_sigmoid", heed_sigmoid}};
  return functions.at(name);
}

using function = heed_status (*)(const given_list &);

// Each function that a step may name.
const std::map<std::string, function> &functions() {
  using G = const given_list &;
  static const std::map<std::string, function> all = {
      {"heed_graph_copy", [](G a) { return heed_graph_copy(a.out<void>(0), a.in<void>(1), a.loop(2)); }},
      {"heed_graph_copy_bytes", [](G a) { return heed_graph_copy_bytes(a.out<void>(0), a.in<void>(1), a.loop(2)); }},
      {"heed_graph_fill", [](G a) { return heed_graph_fill(a.yf(0), a.x(1), a.k(2)); }},
      {"heed_graph_fill_integers", [](G a) { return heed_graph_fill_integers(a.yn(0), a.k(1), a.k(2)); }},
      {"heed_graph_map", [](G a) { return heed_graph_map(a.constant(0), a.yf(1), a.f(2), a.loop(3)); }},
      {"heed_graph_map_integers",
       [](G a) { return heed_graph_map_integers(a.constant(0), a.yn(1), a.n(2), a.loop(3)); }},
      {"heed_graph_combine", [](G a) { return heed_graph_combine(a.constant(0), a.yf(1), a.f(2), a.f(3), a.loop(4)); }},
      {"heed_graph_combine_integers",
       [](G a) { return heed_graph_combine_integers(a.constant(0), a.yn(1), a.n(2), a.n(3), a.loop(4)); }},
      {"heed_graph_combine_booleans",
       [](G a) { return heed_graph_combine_booleans(a.constant(0), a.yb(1), a.b(2), a.b(3), a.loop(4)); }},
      {"heed_graph_compare", [](G a) { return heed_graph_compare(a.constant(0), a.yb(1), a.f(2), a.f(3), a.loop(4)); }},
      {"heed_graph_compare_integers",
       [](G a) { return heed_graph_compare_integers(a.constant(0), a.yb(1), a.n(2), a.n(3), a.loop(4)); }},
      {"heed_graph_is_nan", [](G a) { return heed_graph_is_nan(a.yb(0), a.f(1), a.loop(2)); }},
      {"heed_graph_not", [](G a) { return heed_graph_not(a.yb(0), a.b(1), a.loop(2)); }},
      {"heed_graph_choose",
       [](G a) { return heed_graph_choose(a.out<void>(0), a.b(1), a.in<void>(2), a.in<void>(3), a.loop(4)); }},
      {"heed_graph_choose_bytes",
       [](G a) { return heed_graph_choose_bytes(a.out<void>(0), a.b(1), a.in<void>(2), a.in<void>(3), a.loop(4)); }},
      {"heed_graph_float_to_integer", [](G a) { return heed_graph_float_to_integer(a.yn(0), a.f(1), a.loop(2)); }},
      {"heed_graph_float_to_boolean", [](G a) { return heed_graph_float_to_boolean(a.yb(0), a.f(1), a.loop(2)); }},
      {"heed_graph_integer_to_float", [](G a) { return heed_graph_integer_to_float(a.yf(0), a.n(1), a.loop(2)); }},
      {"heed_graph_integer_to_boolean", [](G a) { return heed_graph_integer_to_boolean(a.yb(0), a.n(1), a.loop(2)); }},
      {"heed_graph_boolean_to_float", [](G a) { return heed_graph_boolean_to_float(a.yf(0), a.b(1), a.loop(2)); }},
      {"heed_graph_boolean_to_integer", [](G a) { return heed_graph_boolean_to_integer(a.yn(0), a.b(1), a.loop(2)); }},
      {"heed_graph_reduce",
       [](G a) { return heed_graph_reduce(a.constant(0), a.yf(1), a.f(2), a.loop(3), a.loop(4)); }},
      {"heed_graph_reduce_integers",
       [](G a) { return heed_graph_reduce_integers(a.constant(0), a.yn(1), a.n(2), a.loop(3), a.loop(4)); }},
      {"heed_graph_gather",
       [](G a) { return heed_graph_gather(a.out<void>(0), a.in<void>(1), a.n(2), a.k(3), a.k(4), a.k(5), a.k(6)); }},
      {"heed_graph_gather_each",
       [](G a) {
         return heed_graph_gather_each(a.out<void>(0), a.in<void>(1), a.n(2), a.k(3), a.k(4), a.k(5), a.k(6));
       }},
      {"heed_graph_scatter",
       [](G a) { return heed_graph_scatter(a.out<void>(0), a.in<void>(1), a.n(2), a.k(3), a.k(4), a.k(5)); }},
      {"heed_graph_scatter_sums",
       [](G a) { return heed_graph_scatter_sums(a.yf(0), a.f(1), a.n(2), a.k(3), a.k(4), a.k(5)); }},
      {"heed_graph_argmax",
       [](G a) { return heed_graph_argmax(a.yn(0), a.f(1), a.k(2), a.k(3), a.k(4), a.k(5), a.k(6)); }},
      {"heed_graph_cumulate",
       [](G a) { return heed_graph_cumulate(a.yf(0), a.f(1), a.k(2), a.k(3), a.k(4), a.k(5), a.k(6)); }},
      {"heed_graph_cumulate_integers",
       [](G a) { return heed_graph_cumulate_integers(a.yn(0), a.n(1), a.k(2), a.k(3), a.k(4), a.k(5), a.k(6)); }},
      {"heed_graph_linear",
       [](G a) { return heed_graph_linear(a.yf(0), a.f(1), a.k(2), a.k(3), a.w(4), a.f(5), nullptr); }},
      {"heed_graph_rows_of", [](G a) { return heed_graph_rows_of(a.yf(0), a.w(1), a.n(2), a.k(3)); }},
      {"heed_graph_norm",
       [](G a) {
         return heed_graph_norm(norm_of(a.name(0)), a.yf(1), a.f(2), a.k(3), a.k(4), a.k(5), a.f(6), a.f(7), a.x(8),
                                nullptr);
       }},
      {"heed_graph_group_norm",
       [](G a) {
         return heed_graph_group_norm(a.yf(0), a.f(1), a.k(2), a.k(3), a.f(4), a.f(5), a.k(6), a.x(7), nullptr);
       }},
      {"heed_graph_softmax", [](G a) { return heed_graph_softmax(a.yf(0), a.f(1), a.k(2), a.k(3), nullptr); }},
      {"heed_graph_activation",
       [](G a) {
         return heed_graph_activation(activation_of(a.name(0)), a.yf(1), a.f(2), a.f(3), a.k(4), a.k(5), nullptr);
       }},
      {"heed_graph_add", [](G a) { return heed_graph_add(a.yf(0), a.f(1), a.f(2), a.k(3), a.k(4), nullptr); }},
      {"heed_graph_mean_rows",
       [](G a) { return heed_graph_mean_rows(a.yf(0), a.f(1), a.k(2), a.k(3), a.k(4), nullptr); }},
      {"heed_graph_topk", [](G a) { return heed_graph_topk(a.yf(0), a.yn(1), a.f(2), a.k(3), a.k(4), a.k(5)); }},
      {"heed_graph_multiply",
       [](G a) { return heed_graph_multiply(a.yf(0), a.f(1), a.f(2), a.table<heed_graph_products>(3), nullptr); }},
      {"heed_graph_attend",
       [](G a) {
         return heed_graph_attend(a.yf(0), a.f(1), a.f(2), a.f(3), a.in<void>(4), a.table<heed_graph_attention>(5),
                                  a.out<void>(6), nullptr);
       }},
      {"heed_graph_lstm",
       [](G a) {
         return heed_graph_lstm(a.yf(0), a.yf(1), a.yf(2), a.yf(3), a.f(4), a.w(5), a.k(6), a.k(7), a.k(8), a.k(9),
                                nullptr);
       }},
      {"heed_graph_gru",
       [](G a) {
         return heed_graph_gru(a.yf(0), a.yf(1), a.yf(2), a.f(3), a.w(4), a.f(5), a.w(6), a.k(7), a.k(8), a.k(9),
                               a.k(10), nullptr);
       }},
      {"heed_graph_convolve",
       [](G a) { return heed_graph_convolve(a.yf(0), a.f(1), a.f(2), a.f(3), a.table<heed_graph_convolution>(4)); }}};
  return all;
}

size_t element_bytes(element kind) { return kind == element::booleans ? 1 : 4; }

// Bits that look random, as the program makes them.
uint32_t mixed(uint32_t i) {
  i = (i ^ (i >> 16)) * 0x21f0aaadu;
  i = (i ^ (i >> 15)) * 0x735a2d97u;
  return i ^ (i >> 15);
}

}  // namespace

bool is_in_integers(const tensor &t) {
  const bool is_narrow = t.dtype == HEED_Q8_0 || t.dtype == HEED_Q4_0 || t.dtype == HEED_INT8 || t.dtype == HEED_UINT8;
  return t.layout == HEED_PACKED && is_narrow;
}

std::vector<shown_step> shown_steps(const steps &p) {
  std::vector<shown_step> shown;
  for (size_t i = 0; i < p.list.size(); ++i) {
    const step &s = p.list[i];
    if (s.value < 0 || p.storages[static_cast<size_t>(s.shown.at)].where != place::memory) continue;
    // Dimensions in the order in which they lie: each must begin where the one inside it ends.
    std::vector<std::pair<int64_t, int64_t>> sides;
    for (size_t d = 0; d < s.shown.dims.size(); ++d)
      if (s.shown.dims[d] != 1) sides.push_back({s.shown.strides[d], s.shown.dims[d]});
    std::sort(sides.begin(), sides.end());
    int64_t n = 1;
    bool is_dense = true;
    for (const auto &[stride, dim] : sides) is_dense = is_dense && stride == n, n *= dim;
    if (is_dense && n > 0) shown.push_back({static_cast<int>(i), s.shown.offset, n});
  }
  return shown;
}

input_range range_of_input(const steps &p, int input) {
  int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  for (const index_check &c : p.checks)
    if (c.input == input) least = std::max(least, c.least), most = std::min(most, c.most);
  if (most == std::numeric_limits<int64_t>::max() || most < least) return {};
  least = std::max<int64_t>(least, 0);
  return {least, most - least + 1};
}

void fill_input(const steps &p, int input, void *to) {
  const storage &s = p.storages[static_cast<size_t>(p.inputs[static_cast<size_t>(input)])];
  const input_range range = range_of_input(p, input);
  for (int64_t i = 0; i < s.count; ++i) {
    const uint32_t number = mixed(static_cast<uint32_t>(i));
    if (s.kind == element::floats)
      static_cast<float *>(to)[i] = static_cast<float>(number >> 24) / 128.0f - 1.0f;
    else if (s.kind == element::booleans)
      static_cast<uint8_t *>(to)[i] = static_cast<uint8_t>(number & 1);
    else
      static_cast<int32_t *>(to)[i] = static_cast<int32_t>(range.least + number % static_cast<uint32_t>(range.count));
  }
}

step_runner::step_runner(const steps &p, heed_import::span file, bool exact)
    : p_(p), weights_(p.constants.size()), constants_(p.constants.size()) {
  require(heed_file_open(&file_, file.data, file.size));
  for (size_t i = 0; i < p.constants.size(); ++i) {
    const file_constant &c = p.constants[i];
    if (!c.make) continue;
    if (c.is_matrix) {
      heed_weights &w = weights_[i];
      require(heed_file_packed(&file_, c.name.c_str(), c.n_in, c.n_out, &w));
      const bool is_narrow = w.dtype != HEED_F32 && w.dtype != HEED_F16 && w.dtype != HEED_BF16;
      if (!exact && is_narrow && w.n_in <= HEED_INT_MAX_IN && heed_weights_in_integers(&w, w) != HEED_OK)
        throw refusal(c.name + ": heed refuses its products in integers");
    } else if (c.kind == element::floats) {
      const float *numbers = nullptr;
      require(heed_file_floats(&file_, c.name.c_str(), static_cast<int32_t>(c.count), &numbers));
      constants_[i] = numbers;
    } else if (c.kind == element::integers) {
      const int32_t *numbers = nullptr;
      require(heed_file_integers(&file_, c.name.c_str(), static_cast<int32_t>(c.count), &numbers));
      constants_[i] = numbers;
    } else {
      const char *bytes = nullptr;
      size_t n = 0;
      require(heed_file_text(&file_, c.name.c_str(), &bytes, &n));
      constants_[i] = bytes;
    }
  }
  for (size_t i = 0; i < p.storages.size(); ++i)
    if (p.storages[i].where == place::input || p.storages[i].where == place::output)
      if (p.storages[i].address < 0) own_[static_cast<int>(i)].resize(static_cast<size_t>(p.storages[i].count));
  memory_.reset(
      static_cast<uint8_t *>(::operator new(static_cast<size_t>(p.memory_bytes), std::align_val_t(HEED_ALIGNMENT))));
}

const void *step_runner::storage_at(int at) const {
  const storage &s = p_.storages[static_cast<size_t>(at)];
  if (s.where == place::constant) return constants_[static_cast<size_t>(s.index)];
  if (s.address >= 0) return memory_.get() + s.address;
  const auto own = own_.find(at);  // an input or an output of a program that has no known answers
  if (own == own_.end()) throw std::logic_error("a storage has no place: " + s.name);
  return own->second.data();
}
void *step_runner::storage_at(int at) { return const_cast<void *>(std::as_const(*this).storage_at(at)); }

heed_status step_runner::call(const step &s) {
  std::vector<given> all;
  for (const argument &a : s.arguments) {
    given g;
    g.as_written = &a;
    g.number = a.number;
    const auto index = static_cast<size_t>(a.index);
    switch (a.is) {
      case argument::what::pointer: {
        const storage &of = p_.storages[index];
        const size_t offset = static_cast<size_t>(a.number) * element_bytes(of.kind);
        g.in = static_cast<const uint8_t *>(std::as_const(*this).storage_at(a.index)) + offset;
        if (a.is_written) g.out = const_cast<void *>(g.in);
        break;
      }
      case argument::what::weights:
        g.weights = &weights_[index];
        break;
      case argument::what::loop:
        g.table = &p_.loops[index];
        break;
      case argument::what::attention:
        g.table = &p_.attentions[index];
        break;
      case argument::what::products:
        g.table = &p_.products[index];
        break;
      case argument::what::convolution:
        g.table = &p_.convolutions[index];
        break;
      case argument::what::workspace:
        g.out = memory_.get() + p_.workspace_address;
        break;
      default:
        break;
    }
    all.push_back(g);
  }
  return functions().at(s.function)(given_list(std::move(all)));
}

void step_runner::run(const std::function<void(int step)> &see) {
  for (size_t i = 0; i < p_.list.size(); ++i) {
    const step &s = p_.list[i];
    const heed_status status = call(s);
    if (status != HEED_OK)
      throw refusal(
          names::for_terminal("the node " + s.node + ": heed refuses " + s.function + ": " + heed_status_text(status)));
    see(static_cast<int>(i));
  }
}

}  // namespace heed_compile
