// See c_arrays.hpp. SPDX-License-Identifier: MIT
#include "c_arrays.hpp"

#include <cmath>
#include <cstdio>

#include "../names.hpp"

namespace heed_import {
namespace {

bool in_blocks(const tensor &t) { return t.layout != HEED_PACKED && (t.dtype == HEED_Q8_0 || t.dtype == HEED_Q4_0); }
bool with_zero_points(const tensor &t) { return t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_I8; }
bool of_the_file_alone(const tensor &t) { return t.dtype >= HEED_FILE_U8_PLUS; }
bool is_vector(const tensor &t) {
  return t.layout != HEED_PACKED && t.dtype == HEED_F32 && (t.n_in() == 1 || t.n_out() == 1);
}

std::string format_macro(const tensor &t) {
  static const char *const names[] = {"HEED_F32", "HEED_F16", "HEED_BF16", "HEED_INT8", "HEED_Q8_0", "HEED_Q4_0"};
  if (with_zero_points(t)) return t.dtype == HEED_FILE_U8 ? "HEED_UINT8" : "HEED_INT8";
  return names[t.dtype];
}

std::string shape_arguments(const tensor &t) { return std::to_string(t.n_in()) + ", " + std::to_string(t.n_out()); }

// Type and bytes of the numbers of the array.
struct element {
  const char *type;
  int n_bytes;
};
element element_of(const tensor &t) {
  if (t.layout == HEED_PACKED || in_blocks(t)) return {"unsigned char", 1};
  switch (t.dtype) {
    case HEED_F32:
      return {"float", 4};
    case HEED_FILE_I32:
      return {"int32_t", 4};
    case HEED_FILE_I16:
      return {"int16_t", 2};
    case HEED_F16:
    case HEED_BF16:
      return {"uint16_t", 2};
    case HEED_INT8:
    case HEED_FILE_I8:
    case HEED_FILE_I8_PLUS:
      return {"int8_t", 1};
    default:
      return {"uint8_t", 1};
  }
}

std::string float_text(const std::string &name, float f) {
  if (!std::isfinite(f)) refuse(name, "holds a NaN or an infinity, which an array in C cannot: write a flat file");
  char text[40];
  std::snprintf(text, sizeof text, "%.9gf", static_cast<double>(f));
  std::string number = text;
  if (number.find_first_of(".e") == std::string::npos) number.insert(number.size() - 1, ".0");
  return number;
}

std::string number_text(const tensor &t, const uint8_t *p, element e) {
  if (t.dtype == HEED_FILE_I32) return std::to_string(static_cast<int32_t>(number_at(p, 4)));
  if (t.dtype == HEED_FILE_I16) return std::to_string(static_cast<int16_t>(number_at(p, 2)));
  if (e.n_bytes == 4) return float_text(t.name, f32_at(p));
  if (e.n_bytes == 2) return std::to_string(number_at(p, 2));
  return std::to_string(e.type[0] == 'i' ? static_cast<int8_t>(*p) : *p);
}

// "NAME[N] = {...};" with lines of up to 120 characters.
template <typename Text>
void put_array(std::string &to, const std::string &declaration, size_t n, Text text_of) {
  to += "const " + declaration + "[" + std::to_string(n) + "] = {";
  size_t column = 120;
  for (size_t i = 0; i < n; ++i) {
    const std::string number = text_of(i) + ",";
    if (column + number.size() + 1 > 120) to += "\n ", column = 1;
    to += " " + number;
    column += number.size() + 1;
  }
  to += "\n};\n";
}

void put_tensor(c_files &files, const tensor &t, const std::string &name) {
  const element e = element_of(t);
  const size_t n = t.numbers().size / static_cast<size_t>(e.n_bytes);
  const bool packed = t.layout == HEED_PACKED;
  const std::string declaration = std::string(e.type) + " " + name, count = "[" + std::to_string(n) + "];\n";
  files.header += "\n/* " + names::for_c(t.name) + ": " + (packed ? "packed " : "") + format_name(t.dtype) + ", " +
                  shape_text(t) + " */\n";
  files.header += "extern const " + declaration + count;
  if (packed) files.source += "__attribute__((aligned(HEED_ALIGNMENT))) ";
  put_array(files.source, declaration, n,
            [&](size_t i) { return number_text(t, t.numbers().data + i * static_cast<size_t>(e.n_bytes), e); });
  const auto floats = [&](const char *part, const std::vector<float> &list) {
    if (list.empty()) return;
    const std::string array = "float " + name + part;
    files.header += "extern const " + array + "[" + std::to_string(list.size()) + "];\n";
    put_array(files.source, array, list.size(), [&](size_t i) { return float_text(t.name, list[i]); });
  };
  floats("_scales", t.scales);
  floats("_zero_points", t.float_zeros);
  if (!t.zeros.empty()) {
    const std::string array = declaration + "_zero_points";
    files.header += "extern const " + array + "[" + std::to_string(t.zeros.size()) + "];\n";
    put_array(files.source, array, t.zeros.size(), [&](size_t i) { return std::to_string(t.zeros[i]); });
  }
}

void put_function(std::string &to, const tensor &t, const std::string &name) {
  if (is_vector(t) || of_the_file_alone(t)) return;
  if (t.layout == HEED_PACKED) {
    to += "static inline heed_status " + name + "_open(heed_weights *w) {\n  return heed_weights_open(w, " + name +
          ", sizeof " + name + ");\n}\n";
    return;
  }
  to += "static inline heed_weights " + name + "_weights(void) {\n  return ";
  if (in_blocks(t)) {
    to += "heed_weights_of_blocks(" + name + ", " + format_macro(t) + ", " + shape_arguments(t) + ");\n}\n";
  } else {
    const std::string plain = "heed_weights_of(" + name + ", " + (t.scales.empty() ? "NULL" : name + "_scales") + ", " +
                              format_macro(t) + ", " + (t.layout == HEED_IN_OUT ? "HEED_IN_OUT" : "HEED_OUT_IN") +
                              ", " + shape_arguments(t) + ")";
    const std::string zeros = ", " + name + "_zero_points, " + std::to_string(t.scales.size());
    to += (with_zero_points(t) ? "heed_weights_with_zero_points(" + plain + zeros + ")" : plain) + ";\n}\n";
  }
}

std::string upper(std::string text) {
  for (char &c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

std::string guard_of(const std::string &name) { return upper(name) + "_H"; }

std::string begin_of_header(const std::string &name, const char *includes) {
  const std::string guard = guard_of(name);
  return "/* Made by heed_import. */\n#ifndef " + guard + "\n#define " + guard + "\n\n" + includes;
}

std::string field_type(const tensor &t) {
  if (is_vector(t)) return "const float *";
  return of_the_file_alone(t) ? "heed_file_tensor " : "heed_weights ";
}

std::string opening_call(const tensor &t) {
  if (is_vector(t)) return "heed_file_floats";
  if (of_the_file_alone(t)) return "heed_file_find";
  if (t.layout == HEED_PACKED) return "heed_file_packed";
  if (in_blocks(t)) return "heed_file_blocks";
  return with_zero_points(t) ? "heed_file_zero_points" : "heed_file_weights";
}

}  // namespace

c_files c_arrays(const std::string &name, const std::vector<tensor> &tensors) {
  names::identifiers identifiers;
  for (const std::string &other : {guard_of(name), name, name + "_open"})
    identifiers.reserve(other);  // those of open_code, too
  c_files files;
  files.header = begin_of_header(name, "#include <heed/heed.h>\n");
  files.source = "/* Made by heed_import. */\n#include \"" + name + ".h\"\n\n";
  for (const tensor &t : tensors) {
    const std::string array = identifiers.take(name, t.name, {"_scales", "_zero_points", "_weights", "_open"});
    put_tensor(files, t, array);
    put_function(files.header, t, array);
  }
  files.header += "\n#endif\n";
  return files;
}

std::string open_code(const std::string &name, const std::vector<tensor> &tensors) {
  names::identifiers identifiers;
  identifiers.reserve(guard_of(name));
  std::string fields, calls;
  for (const tensor &t : tensors) {
    const std::string field = identifiers.take("", t.name), quoted = "\"" + names::for_c(t.name) + "\"";
    fields += "  " + field_type(t) + field + "; /* " + (t.layout == HEED_PACKED ? "packed " : "") +
              format_name(t.dtype) + ", " + shape_text(t) + " */\n";
    calls += "  if (!error) error = " + opening_call(t) + "(&file, " + quoted;
    if (is_vector(t))
      calls += ", " + std::to_string(t.count());
    else if (!of_the_file_alone(t))
      calls += ", " + shape_arguments(t);
    calls += ", &m->" + field + ");\n";
  }
  return begin_of_header(name, "#include \"heed_file.h\"\n") + "\ntypedef struct " + name + " {\n" + fields + "} " +
         name +
         ";\n\n/* Null, or a sentence that says what is wrong. data is aligned to 64 bytes, and stays where it is. */\n"
         "static inline const char *" +
         name + "_open(" + name + " *m, const void *data, size_t n_bytes) {\n" +
         "  heed_file file;\n  const char *error = heed_file_open(&file, data, n_bytes);\n" + calls +
         "  return error;\n}\n\n#endif\n";
}

}  // namespace heed_import
