// Steps as a program in C. See steps.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "compile_graph.hpp"
#include "run_steps.hpp"

namespace heed_compile {
namespace {

const char header_text[] = R"(/* ${title}
 * heed_compile wrote this file from a graph of ${source}. Change it as you like.
 *
 *   static ${name} model;                                       // sizeof(${name}) bytes, all of the memory there is
 *   const char *error = ${name}_open(&model, file, n_bytes);    // ${name}.heed in memory, aligned to 64; null: good
 *   if (!error) error = ${name}_run(&model, ${arguments});
?words? *
?words? * ${name}_words makes tokens of a text for it.
 *
${begin_header}
/* Numbers of the inputs and outputs, row by row. */
enum {
${counts}  ${NAME}_LAYERS = ${n_layers},
  ${NAME}_MEMORY_BYTES = ${memory_bytes} /* of values between the nodes${known_memory} */
};

/* Takes the numbers of each node as they are computed, as one row; layer ${NAME}_LAYERS: the outputs, a row each.
 * heed_receipt_see is one. */
typedef void ${name}_see(void *user, int32_t layer, int64_t first, heed_matrix rows);

/* The model at work. Fields but executor, see, see_user and fault_layer are private. */
typedef struct ${name} {
  HEED_ALIGNED unsigned char memory[${NAME}_MEMORY_BYTES];
  heed_file file;
?words?  heed_tokenizer words;
?fields?  struct {
?fields?${fields}  } weights;
?known?  int32_t fault_layer;           /* the first one that differed from the known answers, or -1: see ${name}_open */
  const heed_executor *executor; /* null, or set after ${name}_open */
  ${name}_see *see;
  void *see_user;
} ${name};

${open}

/* Computes the outputs. */
const char *${name}_run(${name} *m, ${parameters});
?words?
?words?/* The tokens of a text of n bytes, and ${filling} behind them up to `most`; *n_tokens: how many are not filling. If there are more, the
?words? * first are there, and a sentence says so. */
?words?const char *${name}_words(${name} *m, const char *text, size_t n, int32_t *tokens, int32_t most, int32_t *n_tokens);

${end_header})";

const char source_text[] = R"(/* See ${name}.h: ${title} */
#include "${name}.h"

/* SHA-256 of the model as it was published. */
const uint8_t ${name}_source[32] = {
    ${digest}};

static const char heed_refused[] = "heed refused a call: the file is of another program";

/* ---------------------------------------------------------------------------------------------------------- weights */

?matrices?${matrix}
?booleans?static const char *booleans(const ${name} *m, const char *name, size_t n, const unsigned char **numbers) {
?booleans?  const char *text = NULL;
?booleans?  size_t n_bytes = 0;
?booleans?  const char *error = heed_file_text(&m->file, name, &text, &n_bytes);
?booleans?  *numbers = (const unsigned char *)text;
?booleans?  return error || n_bytes == n ? error : heed_refused;
?booleans?}
?booleans?
static const char *open_file(${name} *m, const void *file, size_t n_bytes) {
  const char *error = heed_file_open(&m->file, file, n_bytes);
  if (!error) error = heed_file_check(&m->file);
  m->executor = NULL;
  m->see = NULL;
  m->see_user = NULL;
${find}  return error;
}

/* ------------------------------------------------------------------------------------------------------------ nodes */

/* What the caller gives. */
typedef struct places {
${places}} places;

?spots?/* Where values lie in the memory, in elements. */
?spots?enum {
?spots?${spots}};
#define FLOATS(at) ((float *)(void *)m->memory + (at))
#define INTEGERS(at) ((int32_t *)(void *)m->memory + (at))
#define BOOLEANS(at) (m->memory + (at))
#define TRY(call)                         \
  do {                                    \
    const heed_status status = (call);    \
    if (status != HEED_OK) return status; \
  } while (0)

${tables}static void show(const ${name} *m, int32_t layer, int64_t row, const float *numbers, int32_t n) {
  if (m->see) m->see(m->see_user, layer, row, heed_matrix_of(numbers, 1, n));
}

${functions}/* All nodes. */
static const char *run_nodes(${name} *m, const places *io) {
  heed_status status = HEED_OK;
${calls}  if (status == HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_ROWS)) return "an index is not one of its table's";
  if (status != HEED_OK) return heed_refused;
${show_outputs}  return NULL;
}

const char *${name}_run(${name} *m, ${parameters}) {
  const places io = {${given}};
  if (${is_null}) return "an input or an output is null";
${checks}  return run_nodes(m, &io);
}
?words?
?words?const char *${name}_words(${name} *m, const char *text, size_t n, int32_t *tokens, int32_t most, int32_t *n_tokens) {
?words?  const char *error = heed_tokenizer_encode(&m->words, text, n, HEED_TOKENIZER_ADD, tokens, most, n_tokens,
?words?                                            heed_memory_of(m->memory, sizeof m->memory));
?words?  for (int32_t i = *n_tokens; i < most; ++i) tokens[i] = ${filling};
?words?  return error;
?words?}
${known_answers}
const char *${name}_open(${name} *m, const void *file, size_t n_bytes) {
  const char *error = open_file(m, file, n_bytes);
?known?  m->fault_layer = -1;
?known?  if (!error) error = compare_known_answers(m);
  return error;
}
)";

std::string number_list(const int32_t *numbers, int32_t n) {
  std::string text = "{";
  for (int32_t i = 0; i < n; ++i) text += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
  return text + "}";
}

std::string loop_text(const heed_graph_loop &l) {
  int used = 0;  // arrays up to the last one that moves
  for (int i = 0; i < HEED_GRAPH_ARRAYS; ++i)
    for (int d = 0; d < l.n_dims; ++d)
      if (l.strides[i][d] != 0) used = i;
  std::string text = "{" + std::to_string(l.n_dims) + ", " + number_list(l.dims, l.n_dims) + ", {";
  for (int i = 0; i <= used; ++i) text += (i > 0 ? ", " : "") + number_list(l.strides[i], l.n_dims);
  return text + "}}";
}

std::string shape_words(const shape &dims) {
  std::string text = "(";
  for (size_t d = 0; d < dims.size(); ++d) text += (d > 0 ? ", " : "") + std::to_string(dims[d]);
  return text + ")";
}

std::string type_of(element kind) {
  if (kind == element::floats) return "float";
  return kind == element::integers ? "int32_t" : "unsigned char";
}

class writer {
 public:
  writer(const graph &net, const steps &p, const choices &c, const std::array<uint8_t, 32> &digest,
         const std::vector<bool> &in_integers, const graph_words &words)
      : net_(net), p_(p), c_(c), digest_(digest), words_(words) {
    has_integers_ = std::any_of(in_integers.begin(), in_integers.end(), [](bool is) { return is; });
    parameters_.reserve("m");
    parameters_.reserve("io");
    counts_.reserve("LAYERS"), counts_.reserve("MEMORY_BYTES"), counts_.reserve("H");
    for (const char *const own : {"file", "n_bytes", "status", "error", "at_first"}) parameters_.reserve(own);
  }

  program write() {
    name_all();
    const auto yes = [](bool is) { return std::string(is ? "1" : ""); };
    std::map<std::string, std::string> v = {
        {"name", c_.name},
        {"NAME", upper(c_.name)},
        {"source", net_.source},
        {"title", std::to_string(net_.nodes.size()) + " nodes, " + std::to_string(p_.list.size()) + " calls."},
        {"n_layers", std::to_string(shown_steps(p_).size())},
        {"memory_bytes", std::to_string(p_.memory_bytes)},
        {"known_memory", c_.unchecked ? "" : ", and of inputs and outputs of the known answers"},
        {"known", yes(!c_.unchecked)},
        {"by_rows", "1"},
        {"integers", ""},
        {"in_integers", yes(has_integers_)},
        {"words", yes(words_.are_there)},
        {"filling", std::to_string(words_.filling)},
        {"receipt_name", receipt_name(c_)},
        {"digest", bytes_text(digest_)}};
    v["arguments"] = arguments_, v["parameters"] = parameter_list_, v["given"] = given_, v["is_null"] = is_null_;
    v["counts"] = count_lines_, v["places"] = places_, v["fields"] = fields_, v["find"] = find_;
    if (words_.are_there) v["find"] += "  if (!error) error = heed_tokenizer_open(&m->words, &m->file);\n";
    v["matrices"] = yes(has_matrices_), v["booleans"] = yes(has_booleans_);
    v["matrix"] = has_matrices_ ? matrix_lines(v) : "";
    v["open"] = open_lines(v);
    add_header_parts(v);
    v["functions"] = functions();
    v["calls"] = calls_;
    v["spots"] = spots();
    v["tables"] = tables();
    v["checks"] = checks();
    v["show_outputs"] = show_outputs();
    v["known_answers"] = known_answers_text(v, known_run());
    return {filled(header_text, v), filled(source_text, v), program_places_};
  }

 private:
  const storage &at(int i) const { return p_.storages[static_cast<size_t>(i)]; }

  void name_all() {
    names_.resize(p_.storages.size());
    const auto take = [&](const std::vector<int> &of, const std::vector<int> &values, bool is_input) {
      for (size_t i = 0; i < of.size(); ++i) {
        const graph_value &v = net_.values[static_cast<size_t>(values[i])];
        const std::string own = parameters_.take("", v.name), count = counts_.take("", upper(own));
        names_[static_cast<size_t>(of[i])] = own;
        const std::string type = (is_input ? "const " : "") + type_of(v.kind) + " *";
        const std::string comma = arguments_.empty() ? "" : ", ";
        arguments_ += comma + own;
        parameter_list_ += comma + type + own;
        given_ += comma + own;
        is_null_ += (is_null_.empty() ? "" : " || ") + ("!" + own);
        count_lines_ += "  " + upper(c_.name) + "_" + count + " = " + std::to_string(at(of[i]).count) + ", /* " +
                        names::for_c(v.name) + " " + shape_words(v.dims) + ": " +
                        (is_input ? "an input" : "an output") + " */\n";
        places_ += "  " + type + own + ";\n";
        graph_place place = {own, type_of(v.kind), upper(c_.name) + "_" + count, is_input};
        if (is_input && v.kind == element::integers) {
          const input_range range = range_of_input(p_, static_cast<int>(i));
          place.least = range.least, place.n_values = range.count;
        }
        program_places_.push_back(place);
      }
    };
    take(p_.inputs, net_.inputs, true);
    take(p_.outputs, net_.outputs, false);
    names::identifiers fields;
    for (const file_constant &c : p_.constants) {
      if (!c.make) {
        constants_.push_back("");
        continue;
      }
      const std::string field = fields.take("", c.name), name = "\"" + names::for_c(c.name) + "\"";
      const std::string to = "&m->weights." + field + ");";
      const std::string comment = c.source == c.name ? "" : "  /* " + names::for_c(c.source) + " */";
      constants_.push_back(field);
      const std::string n = std::to_string(c.count);
      std::string call = "heed_file_floats(&m->file, " + name + ", " + n + ", " + to, type = "const float *";
      if (c.is_matrix) {
        has_matrices_ = true;
        type = "heed_weights ";
        call = "matrix(m, " + name + ", " + std::to_string(c.n_in) + ", " + std::to_string(c.n_out) + ", " + to;
      } else if (c.kind == element::integers) {
        type = "const int32_t *";
        call = "heed_file_integers(&m->file, " + name + ", " + n + ", " + to;
      } else if (c.kind == element::booleans) {
        has_booleans_ = true;
        type = "const unsigned char *";
        call = "booleans(m, " + name + ", " + n + ", " + to;
      }
      fields_ += "    " + type + field + ";\n";
      find_ += "  if (!error) error = " + call + comment + "\n";
    }
  }

  std::string pointer(const argument &a) {
    const storage &s = at(a.index);
    const std::string more = a.number != 0 ? " + " + std::to_string(a.number) : "";
    if (s.where == place::constant) return "m->weights." + constants_[static_cast<size_t>(s.index)] + more;
    if (s.where != place::memory) return "io->" + names_[static_cast<size_t>(a.index)] + more;
    std::string &name = names_[static_cast<size_t>(a.index)];
    if (name.empty()) name = spot_names_.take("at", s.name);
    const char *const of = s.kind == element::floats     ? "FLOATS("
                           : s.kind == element::integers ? "INTEGERS("
                                                         : "BOOLEANS(";
    return of + name + more + ")";
  }

  std::string text_of(const argument &a) {
    switch (a.is) {
      case argument::what::null:
        return "NULL";
      case argument::what::pointer:
        return pointer(a);
      case argument::what::weights:
        return "&m->weights." + constants_[static_cast<size_t>(a.index)];
      case argument::what::integer:
        return std::to_string(a.number);
      case argument::what::real:
        return float_text(a.real);
      case argument::what::loop:
        return "&loop_" + std::to_string(a.index);
      case argument::what::attention:
        return "&attention_" + std::to_string(a.index);
      case argument::what::products:
        return "&products_" + std::to_string(a.index);
      case argument::what::convolution:
        return "&convolution_" + std::to_string(a.index);
      case argument::what::name:
        return a.name;
      case argument::what::workspace:
        return "m->memory + " + std::to_string(p_.workspace_address);
      case argument::what::executor:
        return "m->executor";
    }
    return "";
  }

  // Steps in functions of a few dozen lines.
  std::string functions() {
    constexpr size_t most = 32;
    const std::vector<shown_step> shown = shown_steps(p_);
    std::string text;
    size_t next = 0;
    for (size_t begin = 0; begin < p_.list.size(); begin += most) {
      const std::string function = "nodes_" + std::to_string(begin / most);
      text += "static heed_status " + function + "(" + c_.name + " *m, const places *io) {\n  (void)io;\n";
      for (size_t i = begin; i < std::min(p_.list.size(), begin + most); ++i) {
        const step &s = p_.list[i];
        if (i == begin || p_.list[i - 1].node != s.node) text += "  /* " + names::for_c(s.node) + " */\n";
        std::string call = s.function + "(";
        for (size_t k = 0; k < s.arguments.size(); ++k) call += (k > 0 ? ", " : "") + text_of(s.arguments[k]);
        text += "  TRY(" + call + "));\n";
        if (next < shown.size() && shown[next].step == static_cast<int>(i)) {
          argument a;
          a.is = argument::what::pointer;
          a.index = s.shown.at;
          a.number = shown[next].offset;
          text += "  show(m, " + std::to_string(next) + ", 0, " + pointer(a) + ", " +
                  std::to_string(shown[next].count) + ");\n";
          ++next;
        }
      }
      text += "  return HEED_OK;\n}\n\n";
      calls_ += "  if (status == HEED_OK) status = " + function + "(m, io);\n";
    }
    return text;
  }

  std::string spots() {
    std::string text;
    for (size_t i = 0; i < p_.storages.size(); ++i) {
      const storage &s = p_.storages[i];
      if (s.where != place::memory || names_[i].empty()) continue;
      const int64_t unit = s.kind == element::booleans ? 1 : 4;
      text += (text.empty() ? "  " : ",\n  ") + names_[i] + " = " + std::to_string(s.address / unit);
    }
    return text.empty() ? text : text + "\n";
  }

  std::string tables() {
    std::string text;
    const auto name = [](const char *what, size_t i) {
      return "static const heed_graph_" + std::string(what) + " " + what + "_" + std::to_string(i) + " = ";
    };
    const auto is_used = [&](argument::what kind, size_t i) {
      for (const step &s : p_.list)
        for (const argument &a : s.arguments)
          if (a.is == kind && a.index == static_cast<int>(i)) return true;
      return false;
    };
    for (size_t i = 0; i < p_.loops.size(); ++i)
      if (is_used(argument::what::loop, i)) text += name("loop", i) + loop_text(p_.loops[i]) + ";\n";
    for (size_t i = 0; i < p_.attentions.size(); ++i) {
      const heed_graph_attention &a = p_.attentions[i];
      const int32_t counts[] = {a.n_batch,  a.n_heads, a.n_kv_heads, a.n_q,      a.n_kv,
                                a.head_dim, a.v_dim,   a.causal,     a.position, a.mask};
      std::string all = number_list(counts, 10);
      all.pop_back();
      all += ", " + (a.scale == HEED_SCALE_DEFAULT ? "HEED_SCALE_DEFAULT" : float_text(static_cast<double>(a.scale)));
      all += ", " + float_text(static_cast<double>(a.softcap));
      for (const int32_t *strides : {a.q, a.k, a.v, a.out, a.mask_strides}) all += ", " + number_list(strides, 3);
      text +=
          "/* batch, heads, heads of keys, queries, keys, dim, dim of values, causal, position, mask, scale, softcap, "
          "strides */\n" +
          name("attention", i) + all + "};\n";
    }
    for (size_t i = 0; i < p_.products.size(); ++i) {
      const heed_graph_products &p = p_.products[i];
      const int32_t counts[] = {p.n, p.k, p.m, p.a_stride, p.b_stride, p.layout};
      text += name("products", i) + "{" + loop_text(p.batch) + ", " + number_list(counts, 6).substr(1) + ";\n";
    }
    for (size_t i = 0; i < p_.convolutions.size(); ++i) {
      const heed_graph_convolution &c = p_.convolutions[i];
      const int32_t counts[] = {c.n_batch, c.n_out, c.n_groups, c.n_in_group, c.y_height,   c.y_width,
                                c.height,  c.width, c.stride_y, c.stride_x,   c.dilation_y, c.dilation_x};
      std::string all = number_list(counts, 12);
      all.pop_back();
      text += name("convolution", i) + all + ", " + number_list(c.x_strides, 4) + "};\n";
    }
    return text.empty() ? text : text + "\n";
  }

  std::string checks() {
    std::string text;
    for (size_t i = 0; i < p_.inputs.size(); ++i) {
      int64_t least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
      bool is_checked = false;
      for (const index_check &c : p_.checks)
        if (c.input == static_cast<int>(i) && c.is_refused)
          least = std::max(least, c.least), most = std::min(most, c.most), is_checked = true;
      if (!is_checked) continue;
      const std::string &own = names_[static_cast<size_t>(p_.inputs[i])];
      text += "  if (!heed_graph_are_within(" + own + ", " + std::to_string(at(p_.inputs[i]).count) + ", " +
              std::to_string(least) + ", " + std::to_string(most) + "))\n    return \"" + own +
              " has a number that is not from " + std::to_string(least) + " to " + std::to_string(most) + "\";\n";
    }
    return text;
  }

  std::string show_outputs() {
    std::string text;
    for (size_t i = 0; i < p_.outputs.size(); ++i) {
      const storage &s = at(p_.outputs[i]);
      if (s.kind != element::floats || s.count == 0) continue;
      text += "  show(m, " + upper(c_.name) + "_LAYERS, " + std::to_string(i) + ", io->" +
              names_[static_cast<size_t>(p_.outputs[i])] + ", " + std::to_string(s.count) + ");\n";
    }
    return text;
  }

  // Inputs that anybody can make lie in the memory, as do the outputs.
  std::string known_run() {
    if (c_.unchecked) return "";
    std::string text, given;
    const auto place_of = [&](int i) {
      const storage &s = at(i);
      const int64_t unit = s.kind == element::booleans ? 1 : 4;
      const char *const of = s.kind == element::floats     ? "FLOATS("
                             : s.kind == element::integers ? "INTEGERS("
                                                           : "BOOLEANS(";
      return of + std::to_string(s.address / unit) + ")";
    };
    for (const int i : p_.inputs) given += (given.empty() ? "" : ", ") + place_of(i);
    for (const int i : p_.outputs) given += (given.empty() ? "" : ", ") + place_of(i);
    text += "  const places io = {" + given + "};\n";
    for (size_t i = 0; i < p_.inputs.size(); ++i) {
      const storage &s = at(p_.inputs[i]);
      const input_range range = range_of_input(p_, static_cast<int>(i));
      std::string number = "(float)(mixed((uint32_t)i) >> 24) / 128.0f - 1.0f";
      if (s.kind == element::booleans) number = "mixed((uint32_t)i) & 1u";
      if (s.kind == element::integers)
        number =
            std::to_string(range.least) + " + (int32_t)(mixed((uint32_t)i) % " + std::to_string(range.count) + "u)";
      text += "  for (int32_t i = 0; i < " + std::to_string(s.count) + "; ++i) " + place_of(p_.inputs[i]) +
              "[i] = " + number + ";\n";
    }
    return text + "  error = run_nodes(m, &io);\n";
  }

  const graph &net_;
  const steps &p_;
  const choices &c_;
  const std::array<uint8_t, 32> &digest_;
  graph_words words_;
  bool has_integers_ = false, has_matrices_ = false, has_booleans_ = false;
  names::identifiers parameters_, counts_, spot_names_;
  std::vector<graph_place> program_places_;
  std::vector<std::string> names_, constants_;  // of storages; of constants
  std::string arguments_, parameter_list_, given_, is_null_, count_lines_, places_, fields_, find_, calls_;
};

}  // namespace

program write_steps(const graph &net, const steps &p, const choices &c, const std::array<uint8_t, 32> &digest,
                    const std::vector<bool> &in_integers, const graph_words &words) {
  return writer(net, p, c, digest, in_integers, words).write();
}

}  // namespace heed_compile
