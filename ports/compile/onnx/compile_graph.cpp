// See compile_graph.hpp. SPDX-License-Identifier: MIT
#include "compile_graph.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "../../import/file_bytes.hpp"
#include "../../import/readers.hpp"
#include "../../import/vocabulary.hpp"
#include "../../output_file.hpp"
#include "../../receipt/receipts.hpp"
#include "../../terminal.h"
#include "../target.hpp"
#include "../weight_file.hpp"
#include "heed/heed.h"
#include "run_steps.hpp"
#include "target_steps.hpp"

namespace heed_compile {
namespace {

using heed_import::file_bytes;

// Each constant has a name of its own; receipts have theirs.
void name_constants(steps &p, const std::vector<tensor> &words) {
  std::set<std::string> used(golden_names.begin(), golden_names.end());
  for (const tensor &t : words) used.insert(t.name);
  used.insert("");
  for (file_constant &c : p.constants) {
    if (!c.make) continue;
    std::string name = c.name.empty() ? "constant" : c.name;
    for (int i = 2; !used.insert(name).second; ++i)
      name = (c.name.empty() ? "constant" : c.name) + "_" + std::to_string(i);
    c.name = name;
  }
}

// The vocabulary that lies beside a graph of tokens, as tables; without one, or where it is not known, no tables.
std::vector<tensor> words_beside(const std::string &path, graph_model &model) {
  std::vector<tensor> tables;
  const auto is_of_integers = [&](int v) { return model.net.values[static_cast<size_t>(v)].kind == element::integers; };
  if (std::none_of(model.net.inputs.begin(), model.net.inputs.end(), is_of_integers)) return tables;
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path(),
                 above = folder.filename() == "onnx" ? folder.parent_path() : folder;
  for (const fs::path &file : {folder / "tokenizer.json", above / "tokenizer.json", folder / "vocab.json"}) {
    if (!fs::exists(file) || !tables.empty()) continue;
    try {
      const file_bytes content(file.string());
      // Models with tokenizer.json have another vocab.json.
      if (file.filename() == "vocab.json" && !heed_import::is_list_of_pieces(content.all())) continue;
      tables = heed_import::read_model(content.all(), file.string());
      model.paths.push_back(file.string());
    } catch (const refusal &error) {
      std::fprintf(stderr, "without a tokenizer: %s\n", names::for_terminal(error.what()).c_str());
    }
  }
  return tables;
}

// A pattern that matches nothing has a fault.
void expect_matches(const std::vector<heed_import::format_rule> &formats, const steps &p) {
  for (const heed_import::format_rule &rule : formats) {
    const auto fits = [&](const file_constant &c) {
      return c.make && c.is_matrix && heed_import::matches(rule.pattern, c.name);
    };
    if (!rule.pattern.empty() && std::none_of(p.constants.begin(), p.constants.end(), fits))
      throw refusal("--format: no matrix has the name " + names::for_terminal(rule.pattern));
  }
}

// Writes the file of weights. Returns the tensors without their numbers.
std::vector<tensor> write_weights(const graph_order &order, const steps &p, const std::array<uint8_t, 32> &digest,
                                  const std::vector<tensor> &words, std::vector<bool> &in_integers,
                                  files::output_file &out) {
  std::vector<std::string> names;
  for (const file_constant &c : p.constants)
    if (c.make) names.push_back(c.name);
  for (const tensor &t : words) names.push_back(t.name);
  weight_file file(out, names, !order.how.unchecked);
  size_t n_made = 0;
  for (const file_constant &c : p.constants) {
    in_integers.push_back(false);
    if (!c.make) continue;
    const tensor t = made(c, order.how.formats);
    file.add(t);
    in_integers.back() = !order.how.exact && c.is_matrix && is_in_integers(t) && c.n_in <= HEED_INT_MAX_IN;
    show_progress("tensors", ++n_made, names.size() - words.size());
  }
  for (const tensor &t : words) file.add(t);
  return file.finish([&](heed_import::span so_far) { return known_answers(p, order.how, digest, so_far); });
}

// Bytes of the tables that the calls point to.
template <class T>
uint32_t bytes_of(const std::vector<T> &tables) {
  return static_cast<uint32_t>(tables.size() * sizeof(T));
}

target_order target_of(const graph_order &order, const steps &p, const program &text, uint64_t file_bytes) {
  target_order t;
  t.core = order.target, t.name = order.how.name, t.header = text.header, t.source = text.source;
  t.kind = program_kind::graph, t.unchecked = order.how.unchecked, t.file_bytes = file_bytes;
  t.n_steps = static_cast<uint32_t>(p.list.size());
  t.n_weights = static_cast<uint32_t>(
      std::count_if(p.constants.begin(), p.constants.end(), [](const file_constant &c) { return c.make != nullptr; }));
  t.table_bytes = bytes_of(p.loops) + bytes_of(p.attentions) + bytes_of(p.products) + bytes_of(p.convolutions);
  t.advice = "smaller flash: --format int8, q8_0 or int4";
  return t;
}

}  // namespace

tensor made(const file_constant &c, const std::vector<heed_import::format_rule> &formats) {
  tensor t = c.make();
  t.name = c.name;
  if (!c.is_matrix) return t;
  heed_import::wish w;
  w.dtype = kept_format(t);
  for (const heed_import::format_rule &rule : formats)
    if (rule.pattern.empty() || heed_import::matches(rule.pattern, c.name)) w = rule.what;
  w.packed = true;
  if (w.dtype == HEED_UINT8 && t.zeros.empty()) t.zeros.assign(t.scales.size(), 0);
  // Blocks need whole ones along the inputs.
  if ((w.dtype == HEED_Q8_0 || w.dtype == HEED_Q4_0) && c.n_in % 32 != 0) w.dtype = HEED_F16;
  heed_import::convert(t, w);
  return t;
}

std::vector<tensor> known_answers(const steps &p, const choices &c, const std::array<uint8_t, 32> &digest,
                                  heed_import::span file) {
  const std::string before = heed_isa_current();
  const std::vector<shown_step> shown = shown_steps(p);
  const auto n_layers = static_cast<int32_t>(shown.size());
  std::vector<tensor> answers;
  for (const std::string arithmetic : {"fma", "no-fma"}) {
    if (heed_isa_use(arithmetic.c_str()) != HEED_OK) continue;
    receipts::writer writer({receipt_name(c), digest, n_layers, false}, {HEED_RECEIPT_ROWS, false});
    step_runner runner(p, file, c.exact);
    for (size_t i = 0; i < p.inputs.size(); ++i) fill_input(p, static_cast<int>(i), runner.input(i));
    size_t next = 0;
    runner.run([&](int step) {
      if (next >= shown.size() || shown[next].step != step) return;
      const shown_step &s = shown[next];
      const auto *const numbers =
          static_cast<const float *>(runner.storage_at(p.list[static_cast<size_t>(step)].shown.at)) + s.offset;
      receipts::writer::see(&writer, static_cast<int32_t>(next), 0,
                            heed_matrix_of(numbers, 1, static_cast<int32_t>(s.count)));
      ++next;
    });
    for (size_t i = 0; i < p.outputs.size(); ++i) {
      const storage &s = p.storages[static_cast<size_t>(p.outputs[i])];
      if (s.kind != element::floats || s.count == 0) continue;
      receipts::writer::see(
          &writer, n_layers, static_cast<int64_t>(i),
          heed_matrix_of(static_cast<const float *>(runner.output(i)), 1, static_cast<int32_t>(s.count)));
    }
    answers.push_back(golden_tensor(arithmetic, writer.finish()));
  }
  heed_isa_use(before.c_str());
  return answers;
}

void compile_graph(const graph_order &order) {
  const std::unique_ptr<graph_model> model = read_graph(order.model, order.graph);
  if (!model->note.empty()) std::fprintf(stderr, "%s\n", names::for_terminal(model->note).c_str());
  const std::vector<tensor> words = words_beside(order.model, *model);
  const std::array<uint8_t, 32> digest = digest_of_files(model->paths);
  lower_choices how;
  how.keeps_known_answers = !order.how.unchecked;
  const graph net = prepared(*model);
  if (net.outputs.empty()) throw refusal(order.model + ": has no output with numbers");
  steps p = lowered(net, how);
  // Texts become tokens in the memory of values, which a small graph has too little of.
  constexpr int64_t least_for_words = 16384;
  if (!words.empty()) p.memory_bytes = std::max(p.memory_bytes, least_for_words);
  name_constants(p, words);
  expect_matches(order.how.formats, p);
  const std::string folder = sources_folder(order.system, order.output);
  const std::string base = folder.empty() ? order.output : folder + order.how.name;
  output_folder made_folder(folder);
  files::output_file header(base + ".h", model->paths), source(base + ".c", model->paths),
      flat(base + ".heed", model->paths);
  std::vector<bool> in_integers;
  const std::vector<tensor> weights = write_weights(order, p, digest, words, in_integers, flat);
  const program text = write_steps(net, p, order.how, digest, in_integers, {!words.empty(), model->filling});
  header.write(text.header);
  source.write(text.source);
  header.so_far(), source.so_far();  // a full disk shows here, before one of the three takes its name
  std::map<const step *, double> zeros;
  if (!order.target.empty()) {
    const file_bytes written(flat.so_far());
    heed_import::bytes memory;
    zeros = shares_of_zeros(p, heed_import::in_own_order(written.all(), memory), order.how.exact);
  }
  if (order.checks) {
    const file_bytes written(flat.so_far());
    heed_import::bytes memory;
    print_errors(model->net, p, order.how, heed_import::in_own_order(written.all(), memory), order.check_input);
  }
  const output_files around =
      write_project(order.system, order.output, order.how.name,
                    graph_project_files(order.system, order.how, "A graph of " + net.source + ".",
                                        std::filesystem::path(order.model).filename().string(), text.places),
                    model->paths, flat);
  const auto check = [&](const std::string &path) { heed_import::expect_whole(file_bytes(path).all(), weights); };
  const uintmax_t n_file_bytes = std::filesystem::file_size(flat.so_far());
  if (project_has_array(order.system))
    check(flat.so_far());
  else
    flat.finish(check);
  header.finish();
  source.finish();
  for (const auto &file : around) file->finish();
  made_folder.keep();
  const std::string written =
      folder.empty() ? order.output + ".c, " + order.output + ".h, " + order.output + ".heed" : order.output + "/";
  if (!order.target.empty()) {
    if (!words.empty()) std::fprintf(stderr, "--target does not count the code of the tokenizer\n");
    target_order t = target_of(order, p, text, n_file_bytes);
    t.instructions = instructions_of_steps(order.target, p, weights, in_integers, zeros);
    std::fputs(target_text(t).c_str(), stdout);
  }
  std::fprintf(stderr, "%s: %ju bytes of weights, %jd of memory\n", written.c_str(), n_file_bytes,
               static_cast<intmax_t>(p.memory_bytes));
}

}  // namespace heed_compile
