// See program.hpp. SPDX-License-Identifier: MIT
#include "program.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "speech_sizes.hpp"

namespace heed_compile {

std::string float_text(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(static_cast<float>(number)));
  const std::string all = text;
  return all + (all.find_first_of(".en") == std::string::npos ? ".0f" : "f");
}

std::string filled(const std::string &text, const std::map<std::string, std::string> &values) {
  std::string all;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    end = end == std::string::npos ? text.size() : end + 1;
    std::string line = text.substr(at, end - at);
    at = end;
    bool is_there = true;
    while (!line.empty() && line[0] == '?') {
      const size_t second = line.find('?', 1);
      const bool is_not = line[1] == '!';
      const auto found = values.find(line.substr(is_not ? 2 : 1, second - (is_not ? 2 : 1)));
      if (found == values.end()) throw std::logic_error("no value for " + line);
      is_there = is_there && found->second.empty() == is_not;
      line.erase(0, second + 1);
    }
    for (size_t from = 0; is_there && (from = line.find("${", from)) != std::string::npos;) {
      const size_t to = line.find('}', from);
      const auto found = values.find(line.substr(from + 2, to - from - 2));
      if (found == values.end()) throw std::logic_error("no value for " + line);
      line.replace(from, to - from + 1, found->second);
      from += found->second.size();  // a value may have such signs of its own: labels are of strangers
    }
    if (is_there) all += line;
  }
  return all;
}

int32_t context_of(const network &net, const choices &c) {
  const int32_t most = net.n_positions - net.position_offset;
  if (net.what == task::vision) return most;
  const bool ends_early = net.what == task::speech && net.speech.takes_samples;  // a text of so many seconds
  const auto n_start = static_cast<int32_t>(net.speech.start_tokens.size());
  const int32_t usual = net.what == task::decoder ? int32_t{usual_context}
                        : ends_early              ? speech_sizes_of(net, c).seconds * tokens_a_second + n_start
                                                  : most;
  const int32_t wanted = c.context > 0 ? c.context : usual;
  return std::min(wanted, most);
}

int32_t dtype_of_cache(const choices &c) {
  if (c.cache == "f32") return HEED_F32;
  if (c.cache == "f16") return HEED_F16;
  if (c.cache == "bf16") return HEED_BF16;
  if (c.cache == "int8") return HEED_INT8;
  throw refusal("the cache's format \"" + names::for_terminal(c.cache) + "\" is not one of f32, f16, bf16, int8");
}

std::string upper(std::string text) {
  for (char &c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text;
}

bool has(const std::vector<tensor> &weights, const std::string &name) {
  return std::any_of(weights.begin(), weights.end(), [&](const tensor &t) { return t.name == name; });
}

std::string source_of(const network &net, const std::string &name) {
  for (const weight &w : net.weights)
    if (w.name == name) return w.source;
  return "";
}

namespace {

// Finds a matrix.
const char matrix_text[] =
    R"(static const char *matrix(const ${name} *m, const char *name, int32_t n_in, int32_t n_out, heed_weights *w) {
?!in_integers?  return heed_file_packed(&m->file, name, n_in, n_out, w);
?in_integers?  const char *error = heed_file_packed(&m->file, name, n_in, n_out, w);
?in_integers?  /* Rows are quantised to int8 on their way, and products are made in integers. */
?in_integers?  const int32_t is_narrow = !error && w->dtype != HEED_F32 && w->dtype != HEED_F16 && w->dtype != HEED_BF16;
?in_integers?  return is_narrow && heed_weights_in_integers(w, *w) != HEED_OK ? heed_refused : error;
}
)";

// How the source begins, with floats and in integers.
const char begin_text[] = R"(/* See ${name}.h: ${title} */
#include "${name}.h"

/* SHA-256 of the model as it was published. */
const uint8_t ${name}_source[32] = {
    ${digest}};

static const char heed_refused[] = "heed refused a call: the file is of another program";
${labels}
/* ---------------------------------------------------------------------------------------------------------- weights */

/* "layers.<layer>.<name>" in the file. */
static const char *name_of(char name[48], int32_t layer, const char *field) {
  int32_t n = 0, digits = 1;
  for (const char *p = "layers."; *p; ++p) name[n++] = *p;
  while (layer / digits >= 10) digits *= 10;
  for (; digits > 0; digits /= 10) name[n++] = (char)('0' + layer / digits % 10);
  name[n++] = '.';
  for (; *field && n < 47; ++field) name[n++] = *field;
  name[n] = 0;
  return name;
}
)";

const char weights_text[] =
    R"(${matrix}static const char *layer_matrix(const ${name} *m, int32_t l, const char *field, int32_t n_in, int32_t n_out,
                                heed_weights *w) {
  char name[48];
  return matrix(m, name_of(name, l, field), n_in, n_out, w);
}
static const char *layer_floats(const ${name} *m, int32_t l, const char *field, int32_t n, const float **floats) {
  char name[48];
  return heed_file_floats(&m->file, name_of(name, l, field), n, floats);
}
)";

// How a header begins behind its own sentences, and ends.
const char begin_header_text[] =
    R"( * Link heed_model and heed, or compile their files: ports/compile/README.md. Stack: HEED_STACK_BYTES and 1 KB. */
#ifndef ${NAME}_H
#define ${NAME}_H

#include "heed_model.h"

#ifdef __cplusplus
extern "C" {
#endif
)";
const char end_header_text[] = R"(#ifdef __cplusplus
}
#endif

#endif
)";

// Of the header.
const char open_text[] =
    R"(extern const uint8_t ${name}_source[32]; /* SHA-256 of the model as it was published: settings.model of a receipt */

/* All of these return null, or a sentence that says what is wrong. */

?!known?/* Checks the sums of the file, which stays where it is, and finds the weights. */
?known?/* Checks the sums of the file, which stays where it is, and finds the weights.
?known? * Then it computes known answers, and compares every layer with what the machine had that wrote the file. */
const char *${name}_open(${name} *m, const void *file, size_t n_bytes);)";

// ${run_known}: what is read, and how.
const char known_text[] = R"(
/* ----------------------------------------------------------------------------------------------------- known answers */

/* Numbers that look random, and are the same everywhere. */
static uint32_t mixed(uint32_t i) {
  i = (i ^ (i >> 16)) * 0x21f0aaadu;
  i = (i ^ (i >> 15)) * 0x735a2d97u;
  return i ^ (i >> 15);
}

/* Runs what heed_compile has run, and compares the digest of every layer with those in the file. */
static const char *compare_known_answers(${name} *m) {
?integers?  const int32_t arithmetic = HEED_ARITHMETIC_INTEGERS;
?!integers?  const int32_t arithmetic = heed_isa_arithmetic(heed_isa_current());
  const char *text, *error;
  size_t n_bytes;
  heed_golden golden;
  heed_receipt receipt;
  heed_receipt_settings s =
      heed_receipt_settings_default("${receipt_name}", arithmetic, &heed_receipt_sha256, heed_golden_write, &golden);
  s.model = ${name}_source;
?!by_rows?  s.layers = m->known;
  s.n_layers = ${NAME}_LAYERS;
?!by_rows?  s.level = HEED_RECEIPT_LAYERS;
?by_rows?  s.level = HEED_RECEIPT_ROWS;
?integers?  error = heed_file_text(&m->file, "golden.integers", &text, &n_bytes);
?!integers?  error = heed_file_text(&m->file, arithmetic == HEED_ARITHMETIC_FMA ? "golden.fma" : "golden.no-fma", &text, &n_bytes);
  if (!error) error = heed_golden_begin(&golden, text, n_bytes);
  if (!error) error = heed_receipt_begin(&receipt, &s);
  if (error) return error;
?integers?  m->see = heed_receipt_see_int;
?!integers?  m->see = heed_receipt_see;
  m->see_user = &receipt;
${run_known}  m->see = NULL;
  m->see_user = NULL;
  if (error) return error;
  heed_receipt_end(&receipt);
  error = heed_golden_end(&golden);
  m->fault_layer = error ? golden.layer : -1;
  return error;
}
)";

std::string lines_of_labels(const network &net, const std::string &name) {
  if (net.labels.size() != static_cast<size_t>(net.n_classes) || net.labels.empty()) return "";
  std::string lines = "\nconst char *const " + name + "_labels[] = {\n";
  for (const std::string &label : net.labels) lines += "    \"" + names::for_c(label) + "\",\n";
  return lines + "};\n";
}

std::string lines_of_weights(const network &net, const std::vector<tensor> &weights) {
  std::string lines;
  bool is_first = true;
  for (const weight &w : net.weights) {
    if (w.name.find("{}") == std::string::npos) continue;
    std::string in_first = w.name;
    in_first.replace(in_first.find("{}"), 2, "0");
    if (!has(weights, in_first)) continue;
    const bool of_attention = w.field == "wq" || w.field == "wk" || w.field == "wv" || w.field == "wo" ||
                              w.field == "bq" || w.field == "bk" || w.field == "bv" || w.field == "bo" ||
                              w.field.compare(0, 2, "q_") == 0 || w.field.compare(0, 2, "k_") == 0;
    const std::string object = of_attention ? "a->" : "t->";
    const std::string sizes =
        w.n_in > 0 ? std::to_string(w.n_in) + ", " + std::to_string(w.n_out) : std::to_string(w.n_out);
    lines += std::string("  ") + (is_first ? "" : "if (!error) ") +
             "error = " + (w.n_in > 0 ? "layer_matrix" : "layer_floats") + "(m, l, \"" + w.field + "\", " + sizes +
             ", &" + object + w.field + ");  /* " + names::for_c(w.source) + " */\n";
    is_first = false;
  }
  if (!lines.empty()) lines.pop_back();  // the text that they go into has the end of the line
  return lines;
}

}  // namespace

bool in_integers(const std::vector<tensor> &weights, const choices &c) {
  const auto is_narrow = [](const tensor &t) {
    return t.layout == HEED_PACKED &&
           (t.dtype == HEED_Q8_0 || t.dtype == HEED_Q4_0 || t.dtype == HEED_INT8 || t.dtype == HEED_UINT8);
  };
  return !c.exact && std::any_of(weights.begin(), weights.end(), is_narrow);
}

std::string bytes_text(const std::array<uint8_t, 32> &bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    char one[8];
    std::snprintf(one, sizeof one, "0x%02x", bytes[i]);
    text += (i == 0 ? "" : i % 16 == 0 ? ",\n    " : ", ") + std::string(one);
  }
  return text;
}

void add_header_parts(std::map<std::string, std::string> &values) {
  values["begin_header"] = filled(begin_header_text, values);
  values["end_header"] = end_header_text;
}

std::string matrix_lines(const std::map<std::string, std::string> &values) { return filled(matrix_text, values); }
std::string open_lines(const std::map<std::string, std::string> &values) { return filled(open_text, values); }

std::string lines_outside(const network &net, const std::vector<tensor> &weights) {
  std::string lines;
  for (const weight &w : net.weights) {
    if (w.name.find("{}") != std::string::npos) continue;
    if (!has(weights, w.name)) {
      lines += "  m->" + w.name + " = NULL;\n";
      continue;
    }
    const std::string sizes =
        w.n_in > 0 ? std::to_string(w.beside.empty() ? w.n_in : 2 * w.n_in) + ", " + std::to_string(w.n_out)
                   : std::to_string(w.n_out);
    lines += "  if (!error) error = " + std::string(w.n_in > 0 ? "matrix(m, \"" : "heed_file_floats(&m->file, \"") +
             w.name + "\", " + sizes + ", &m->" + w.name + ");  /* " + names::for_c(w.source) + " */\n";
  }
  return lines;
}

std::string lines_of_ends(const network &net) {
  std::string ends;
  for (const int32_t token : net.end_tokens)
    ends += (ends.empty() ? "" : " || ") + ("*token == " + std::to_string(token));
  return ends.empty() ? "" : "  if (" + ends + ") {\n    *token = -1;\n    return NULL;\n  }\n";
}

std::string receipt_name(const choices &c) { return c.name.substr(0, 31); }

std::map<std::string, std::string> shared_values(const network &net, const choices &c,
                                                 const std::vector<tensor> &weights) {
  const auto yes = [](bool is) { return std::string(is ? "1" : ""); };
  std::map<std::string, std::string> v = {
      {"name", c.name},
      {"NAME", upper(c.name)},
      {"source", names::for_c(net.source)},
      {"title", net.family + ", " + std::to_string(net.n_layers) + " layers of " + std::to_string(net.dim) + "."},
      {"n_layers", std::to_string(net.n_layers)},
      {"dim", std::to_string(net.dim)},
      {"n_heads", std::to_string(net.n_heads)},
      {"head_dim", std::to_string(net.head_dim)},
      {"ffn_dim", std::to_string(net.ffn_dim)},
      {"n_tokens", std::to_string(net.n_tokens)},
      {"norm", net.norm},
      {"activation", net.activation},
      {"eps", float_text(net.eps)},
      {"in_integers", yes(in_integers(weights, c))},
      {"integers", yes(!c.integers.empty())},
      {"known", yes(!c.unchecked)},
      {"n_known", std::to_string(std::min<int32_t>(n_known_tokens, context_of(net, c)))},
      {"receipt_name", receipt_name(c)},
      {"digest", bytes_text(net.digest)},
      {"weights", lines_of_weights(net, weights)}};
  v["labels"] = lines_of_labels(net, c.name);
  v["by_rows"] = "";
  v["matrix"] = matrix_lines(v);
  v["begin"] = filled(begin_text, v);
  v["find_weights"] = v["begin"] + filled(weights_text, v);
  v["open"] = open_lines(v);
  add_header_parts(v);
  return v;
}

std::string known_answers_text(const std::map<std::string, std::string> &values, const std::string &run) {
  if (values.at("known").empty()) return "";
  std::map<std::string, std::string> v = values;
  v["run_known"] = filled(run, values);
  return filled(known_text, v);
}

}  // namespace heed_compile
