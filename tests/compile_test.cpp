// heed_compile: what it reads of published models, what it refuses, and how far its programs are from a computation in double precision.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "in_memory.hpp"
#include "reference.hpp"
#include "run.hpp"
#include "support/import_files.hpp"
#include "support/published_models.hpp"

namespace {

using namespace heed_compile;
using heed_import::bytes;
using nlohmann::json;

std::string folder() {
  static const std::string path = [] {
    const std::string name =
        (std::filesystem::temp_directory_path() / ("heed_compile_test." + std::to_string(getpid()))).string();
    std::filesystem::create_directories(name);
    return name;
  }();
  return path;
}
struct remove_folder : testing::Environment {
  void TearDown() override { std::filesystem::remove_all(folder()); }
};
const testing::Environment *const removes = testing::AddGlobalTestEnvironment(new remove_folder);

using compiled = in_memory;

// The greatest difference of a layer from the reference, divided by the layer's greatest number: the worst of all layers.
double error_of(const compiled &c, const choices &how) {
  const auto weights = [&](const std::string &name) {
    for (const plan &p : c.plans)
      if (p.name == name) return numbers_of(c.net, p);
    return std::vector<double>();
  };
  std::vector<reference_rows> expected;
  std::vector<int32_t> tokens;
  const bool sees = c.net.what == task::vision, hears = c.net.what == task::speech;
  for (int32_t i = 0; !sees && i < 24; ++i) tokens.push_back((i * 37 + 5) % c.net.n_tokens);  // longer than the windows
  if (sees)
    expected = reference_of_picture(c.net, weights, known_picture(c.net));
  else
    expected =
        hears ? reference_of_sound(c.net, weights, known_sound(), tokens) : reference_of_tokens(c.net, weights, tokens);
  double worst = 0;
  size_t n_rows = 0;
  const see_rows see = [&](int32_t layer, int64_t first, heed_matrix rows) {
    const reference_rows &e = expected.at(static_cast<size_t>(layer));
    double greatest = 0;
    for (const double number : e.numbers) greatest = std::max(greatest, std::fabs(number));
    for (int32_t t = 0; t < rows.n_rows; ++t, ++n_rows)
      for (int32_t i = 0; i < rows.dim; ++i) {
        const double found = static_cast<double>(rows.data[t * rows.row_stride + i]);
        const double difference =
            std::fabs(found - e.numbers.at(static_cast<size_t>((first + t) * rows.dim + i))) / greatest;
        if (!(difference <= worst)) worst = difference;
      }
  };
  if (sees)
    run_picture(c.net, how, c.file, known_picture(c.net), see);
  else if (hears)
    run_sound(c.net, how, c.file, known_sound(), tokens, see);
  else
    run_tokens(c.net, how, c.file, tokens, see);
  EXPECT_GE(n_rows, static_cast<size_t>(c.net.n_layers));
  return worst;
}

TEST(heed_compile, computes_what_the_formulas_say) {
  for (const std::string &kind : published::kinds()) {
    choices how;
    how.exact = true;
    const compiled c(published::write(folder(), kind), how);
    EXPECT_LT(error_of(c, how), 2e-6) << kind;
  }
}

TEST(heed_compile, computes_it_in_narrow_formats) {
  const std::pair<const char *, double> formats[] = {
      {"f16", 3e-3}, {"bf16", 2e-2}, {"int8", 8e-2}, {"q8_0", 5e-2}, {"int4", 0.8}};
  for (const std::string kind : {"llama", "bert", "vit", "gguf-gemma2", "whisper", "moonshine"})
    for (const auto &[format, bound] : formats)
      for (const bool exact : {false, true}) {
        choices how;
        how.exact = exact;
        how.formats.push_back({heed_import::wish_of(format), ""});
        const compiled c(published::write(folder(), kind), how);
        EXPECT_LT(error_of(c, how), bound) << kind << ", " << format << (exact ? ", exact" : "");
      }
}

TEST(heed_compile, makes_one_matrix_of_another_format) {
  choices how;
  how.formats.push_back({heed_import::wish_of("f32"), ""});
  how.formats.push_back({heed_import::wish_of("int8"), "layers.1.w_down"});
  const compiled c(published::write(folder(), "llama"), how);
  for (const plan &p : c.plans) {
    if (p.what->n_in == 0) continue;
    EXPECT_EQ(made(c.net, p, how.formats).dtype, p.name == "layers.1.w_down" ? HEED_INT8 : HEED_F32) << p.name;
  }
}

// Files that say the same have the same numbers: the rotations of Gemma 3 in the form of transformers 4 and 5, and a model in shards.
TEST(heed_compile, reads_old_and_new_forms_alike) {
  const auto weights_and_settings = [](const std::string &kind) {
    const compiled c(published::write(folder(), kind));
    std::vector<float> all;
    const see_rows see = [&](int32_t, int64_t, heed_matrix rows) {
      all.insert(all.end(), rows.data, rows.data + rows.dim);
    };
    run_tokens(c.net, choices(), c.file, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, see);
    return all;
  };
  EXPECT_EQ(weights_and_settings("gemma3_text"), weights_and_settings("gemma3_text-v5"));
  EXPECT_EQ(weights_and_settings("llama"), weights_and_settings("llama-sharded"));
  EXPECT_EQ(weights_and_settings("bert"), weights_and_settings("gguf-bert"));
}

#ifdef HEED_IMPORT_ONNX
// The weights of a folder as an export to ONNX has them: matrices (in, out) under names of their own, which nodes with the names of
// their modules read.
void export_to_onnx(const std::string &folder, const std::string &path) {
  using namespace import_files;
  published_model source;
  source.add(folder + "/model.safetensors");
  bytes graph;
  for (const tensor &t : source.tensors) {
    const bool is_linear = t.dims.size() == 2 && t.name.find("embeddings") == std::string::npos;
    std::vector<uint32_t> dims = t.dims;
    std::vector<float> numbers = heed_import::floats_of(t);
    if (numbers.size() != t.count()) continue;  // integers
    std::string name = t.name, module = "/" + t.name.substr(0, t.name.rfind('.'));
    if (is_linear) {
      std::vector<float> turned;
      for (size_t i = 0; i < dims[1]; ++i)
        for (size_t o = 0; o < dims[0]; ++o) turned.push_back(numbers[o * dims[1] + i]);
      numbers = turned;
      std::swap(dims[0], dims[1]);
      name = "onnx::MatMul_" + std::to_string(graph.size());
      std::replace(module.begin(), module.end(), '.', '/');
      add(graph, protobuf::text(1, add(onnx::node("MatMul", {"x", name}, {}, {name + "_output"}),
                                       protobuf::text(3, module + "/MatMul"))));
    }
    bytes one = add(protobuf::number(2, 1), protobuf::text(8, name), protobuf::text(9, floats(numbers)));
    for (const uint32_t dim : dims) add(one, protobuf::number(1, dim));
    add(graph, protobuf::text(5, one));
  }
  const bytes file =
      add(onnx::model_of(graph), protobuf::text(8, add(protobuf::text(1, std::string()), protobuf::number(2, 17))));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), static_cast<std::streamsize>(file.size()));
}

// A folder without safetensors, as transformers.js has it.
TEST(heed_compile, reads_the_weights_of_an_export_to_onnx) {
  const std::string original = published::write(folder(), "bert"), path = folder() + "/exported";
  std::filesystem::create_directories(path + "/onnx");
  std::filesystem::copy_file(original + "/config.json", path + "/config.json");
  const compiled a(original);
  for (const std::string name : {"model.onnx", "model_fp16.onnx", "model_quantized.onnx"}) {
    export_to_onnx(original, path + "/onnx/" + name);
    const compiled b(path);
    ASSERT_EQ(a.plans.size(), b.plans.size());
    for (size_t i = 0; i < a.plans.size(); ++i)
      EXPECT_EQ(numbers_of(a.net, a.plans[i]), numbers_of(b.net, b.plans[i])) << a.plans[i].name;
    std::filesystem::remove(path + "/onnx/" + name);
  }
  published_model none;
  try {
    read_published(none, path, {});
    FAIL() << "it has no weights";
  } catch (const refusal &error) {
    EXPECT_EQ(std::string(error.what()),
              path +
                  ": has no *.safetensors, and in itself and in onnx/ none of model.onnx, model_fp16.onnx, "
                  "model_quantized.onnx, model_int8.onnx, model_uint8.onnx");
  }
}
#endif

// file_bytes::forget would clear what is not in the file.
TEST(heed_compile, numbers_of_its_own_are_not_in_the_file) {
  tensor t;
  const bytes file(8, 1);
  t.refer({file.data(), file.size()});
  EXPECT_EQ(t.numbers_in_file().size, 8u);
  t.own(file);
  EXPECT_EQ(t.numbers_in_file().size, 0u);
  t.keep(std::shared_ptr<const uint8_t>(new uint8_t[8], std::default_delete<uint8_t[]>()), 8);
  EXPECT_EQ(t.numbers_in_file().size, 0u);
  EXPECT_EQ(t.numbers().size, 8u);
}

TEST(heed_compile, knows_where_a_text_ends) {
  const compiled c(published::write(folder(), "llama"));
  EXPECT_FALSE(c.net.end_tokens.empty());
  const compiled gguf(published::write(folder(), "gguf-llama"));
  EXPECT_EQ(gguf.net.end_tokens, std::vector<int32_t>{2});
}

// ------------------------------------------------------------------------------------------------------------ bad input

// What heed_compile says of a model whose config.json has these values instead; "" if it takes it. null: the key is not there.
std::string said_of(const std::string &kind, const json &other) {
  const std::string path = published::write(folder(), kind), file = path + "/config.json";
  json config = json::parse(std::ifstream(file));
  for (const auto &[key, value] : other.items())
    if (value.is_null())
      config.erase(key);
    else
      config[key] = value;
  std::ofstream(file) << config.dump();
  try {
    compiled c(path);
    return "";
  } catch (const refusal &error) {
    return error.what();
  }
}

TEST(heed_compile, refuses_settings_that_are_not_possible) {
  const std::tuple<const char *, json, const char *> cases[] = {
      {"llama", {{"model_type", "mamba"}}, "the family \"mamba\" is not known"},
      {"llama", {{"model_type", 7}}, "the family \"\" is not known"},
      {"llama", {{"hidden_size", nullptr}}, "config.json has no hidden_size"},
      {"llama", {{"hidden_size", 0}}, "hidden_size is not a count"},
      {"llama", {{"hidden_size", -64}}, "config.json has no hidden_size"},
      {"llama", {{"hidden_size", 1e300}}, "hidden_size is not a count"},
      {"llama", {{"hidden_size", 64.5}}, "hidden_size is not a count"},
      {"llama", {{"hidden_size", "64"}}, "config.json has no hidden_size"},
      {"llama", {{"hidden_size", 128}}, "has the shape"},
      {"llama", {{"num_hidden_layers", 4}}, "there is no tensor model.layers.3."},
      {"llama", {{"num_hidden_layers", 1 << 24}}, "more than 4096 layers"},
      {"llama", {{"num_attention_heads", 3}}, "heads do not divide hidden_size"},
      {"llama", {{"num_attention_heads", 1 << 24}, {"head_dim", 1 << 24}}, "heads are too long"},
      {"llama", {{"num_key_value_heads", 3}}, "heads of keys do not divide those of queries"},
      {"llama", {{"num_key_value_heads", 1 << 20}}, "heads of keys do not divide those of queries"},
      {"llama", {{"vocab_size", 1 << 24}}, "has the shape"},
      {"llama", {{"intermediate_size", 1 << 24}}, "has the shape"},
      {"llama", {{"hidden_act", "mish"}}, "the activation \"mish\" is not known"},
      {"llama", {{"rope_theta", 0}}, "rope_theta"},
      {"llama", {{"partial_rotary_factor", 2}}, "partial_rotary_factor"},
      {"llama", {{"partial_rotary_factor", 1e300}}, "partial_rotary_factor"},
      {"llama",
       {{"rope_scaling", {{"rope_type", "dynamic"}, {"factor", 2}}}},
       "the scaling of rope \"dynamic\" is not known"},
      {"llama", {{"rope_scaling", {{"rope_type", "linear"}, {"factor", 0}}}}, "scaling of rope"},
      {"llama",
       {{"rope_scaling", {{"rope_type", "longrope"}, {"short_factor", {1, 2}}}}},
       "original_max_position_embeddings"},
      {"llama",
       {{"rope_scaling",
         {{"rope_type", "longrope"}, {"original_max_position_embeddings", 64}, {"short_factor", {1, 2}}}}},
       "another number of divisors"},
      {"llama",
       {{"tie_word_embeddings", false}, {"architectures", {"LlamaForTokenClassification"}}},
       "the head LlamaForTokenClassification is not known"},
      {"qwen3", {{"model_type", "llama"}}, "is no weight of a layer in the family llama"},
      {"llama", {{"num_hidden_layers", 2}}, "is no weight of a layer in the family llama"},
      {"mistral", {{"sliding_window", 1e30}}, "sliding_window is not a count"},
      {"gemma3_text-v5", {{"layer_types", {"full_attention"}}}, "layer_types has another number of layers"},
      {"bert", {{"type_vocab_size", 1 << 20}}, "type_vocab_size is greater"},
      {"bert",
       {{"max_position_embeddings", 1 << 24}, {"hidden_size", 1 << 23}, {"num_attention_heads", 1 << 20}},
       "table of positions is too large"},
      {"bert", {{"position_embedding_type", "relative_key"}}, "position_embedding_type \"relative_key\" is not known"},
      {"roberta", {{"pad_token_id", 1 << 20}}, "there are no positions"},
      {"gpt2", {{"scale_attn_weights", false}}, "scale_attn_weights"},
      {"vit", {{"patch_size", 5}}, "image_size is no multiple of patch_size"},
      {"vit", {{"image_size", 1 << 24}}, "8192 pixels"},
      {"vit", {{"image_size", 8192}, {"patch_size", 1}, {"hidden_size", 1 << 20}}, "too large"},
      {"vit", {{"num_channels", 1 << 20}}, "64 channels"},
      {"whisper", {{"d_model", nullptr}}, "config.json has no d_model"},
      {"whisper", {{"d_model", 49}}, "heads do not divide d_model"},
      {"whisper", {{"encoder_layers", 1 << 24}}, "more than 4096 layers"},
      {"whisper", {{"decoder_layers", 4}}, "there is no tensor model.decoder.layers.3."},
      {"whisper", {{"decoder_layers", 2}}, "is no weight of a layer in the family whisper"},
      {"whisper", {{"num_mel_bins", 1 << 20}}, "num_mel_bins is greater than 1024"},
      {"whisper", {{"max_source_positions", 49}}, "less than a second"},
      {"whisper",
       {{"max_source_positions", 1 << 24},
        {"d_model", 1 << 23},
        {"encoder_attention_heads", 1},
        {"decoder_attention_heads", 1}},
       "too large"},
      {"whisper", {{"scale_embedding", true}}, "scale_embedding: true is not known"},
      {"whisper", {{"architectures", {"WhisperForAudioClassification"}}}, "the head WhisperForAudioClassification"},
      {"whisper-english", {{"decoder_start_token_id", nullptr}}, "config.json has no decoder_start_token_id"},
      {"whisper-english", {{"decoder_start_token_id", 1 << 24}}, "a token that the vocabulary has not"},
      {"whisper-english", {{"suppress_tokens", {1, 2.5}}}, "suppress_tokens has a token"},
      {"whisper-english", {{"begin_suppress_tokens", {-2}}}, "begin_suppress_tokens has a token"},
      {"whisper-english", {{"forced_decoder_ids", {{2, 5}}}}, "forced_decoder_ids is no list of places"},
      {"whisper-english", {{"forced_decoder_ids", {5}}}, "forced_decoder_ids is no list of places"},
      {"moonshine", {{"hidden_size", 1 << 24}}, "greater than 2^20"},
      {"moonshine", {{"encoder_num_key_value_heads", 3}}, "heads of keys do not divide"},
      {"moonshine", {{"decoder_num_attention_heads", 2}}, "heads of different lengths"},
      {"moonshine", {{"partial_rotary_factor", 2}}, "partial_rotary_factor"},
  };
  for (const auto &[kind, other, text] : cases) {
    const std::string said = said_of(kind, other);
    EXPECT_NE(said.find(text), std::string::npos)
        << kind << " " << other.dump() << ": \"" << said << "\", not \"" << text << "\"";
  }
}

TEST(heed_compile, takes_settings_that_change_nothing) {
  EXPECT_EQ(said_of("llama", {{"use_cache", false}, {"a_key_of_later_years", {1, 2, 3}}}), "");
  EXPECT_EQ(said_of("gemma2", {{"final_logit_softcapping", nullptr}, {"query_pre_attn_scalar", nullptr}}), "");
}

// Labels come from a file: they are texts in C, whatever is in them.
TEST(heed_compile, keeps_the_labels_of_strangers) {
  const std::string path = published::write(folder(), "bert-classes"), file = path + "/config.json";
  json config = json::parse(std::ifstream(file));
  const std::string labels[] = {"${dim} ${nothing}", "*/ \"; int x; /* \\", "\n?known?\n#error"};
  for (int i = 0; i < 3; ++i) config["id2label"][std::to_string(i)] = labels[i];
  std::ofstream(file) << config.dump();
  const compiled c(path);
  choices how;
  how.name = "model";
  const program p = write_encoder(c.net, how, {});
  for (const std::string &label : labels)
    EXPECT_NE(p.source.find("    \"" + names::for_c(label) + "\",\n"), std::string::npos) << label;
}

// Nothing but refusals, whatever stands in config.json: every value of every key is another kind of value once.
TEST(heed_compile, survives_other_kinds_of_values) {
  const json others[] = {nullptr,
                         true,
                         -1,
                         0,
                         1,
                         4294967297,
                         1e308,
                         -0.5,
                         "",
                         "text",
                         json::array(),
                         {1, "a", nullptr},
                         json::object(),
                         {{"rope_type", "yarn"}}};
  for (const std::string kind :
       {"llama-yarn", "gemma3_text-v5", "bert-classes", "deit", "gpt_neox", "whisper-english", "moonshine"}) {
    published_model source;
    read_published(source, published::write(folder(), kind), {});
    const json config = json::parse(std::ifstream(folder() + "/" + kind + "/config.json"));
    for (const auto &[key, value] : config.items())
      for (const json &other : others) {
        json changed = config;
        changed[key] = other;
        try {
          const network net = network_of_config(changed.dump(), source.tensors, 2048);
          plans_of(net, source.tensors);
        } catch (const refusal &) {
        }
      }
  }
}

// Files beside config.json: tokens that begin a text, and the spectrogram.
TEST(heed_compile, reads_how_a_text_of_a_sound_begins) {
  const std::string path = published::write(folder(), "whisper");
  const json generation = json::parse(std::ifstream(path + "/generation_config.json"));
  const json preprocessor = json::parse(std::ifstream(path + "/preprocessor_config.json"));
  const auto written = [&](const char *name, json other, const json &changes) {
    other.update(changes);
    for (const auto &[key, value] : changes.items())
      if (value == "none") other.erase(key);
    std::ofstream(path + "/" + name) << other.dump();
    try {
      return compiled(path).net.speech.start_tokens;
    } catch (const refusal &error) {
      return std::vector<int32_t>{
          static_cast<int32_t>(std::string(error.what()).find("no matrix") != std::string::npos), -7};
    }
  };
  const char *const start = "generation_config.json", *const sound = "preprocessor_config.json";
  const int32_t first = generation["decoder_start_token_id"], end = generation["no_timestamps_token_id"],
                task = generation["forced_decoder_ids"][1][1];
  const std::vector<int32_t> whole = {first, -1, task, end}, refused = {0, -7}, no_matrix = {1, -7};
  EXPECT_EQ(written(start, generation, json::object()), whole);
  EXPECT_EQ(written(start, generation, {{"forced_decoder_ids", "none"}, {"task_to_id", {{"transcribe", task}}}}),
            whole);
  EXPECT_EQ(written(start, generation, {{"forced_decoder_ids", {{1, 5}}}}), (std::vector<int32_t>{first, 5, end}));
  EXPECT_EQ(written(start, generation, {{"lang_to_id", "none"}}), refused);
  EXPECT_EQ(written(start, generation, {{"lang_to_id", {{"<|en|>", -1}}}}), refused);
  EXPECT_EQ(written(start, generation, {{"no_timestamps_token_id", 1e9}}), refused);
  EXPECT_EQ(written(start, generation, json::object()), whole);
  EXPECT_EQ(written(sound, preprocessor, {{"hop_length", 128}}), refused);
  EXPECT_EQ(written(sound, preprocessor, {{"feature_size", 80}}), refused);
  EXPECT_EQ(written(sound, preprocessor, {{"sampling_rate", 8000}}), refused);
  EXPECT_EQ(written(sound, preprocessor, {{"mel_filters", {1, 2}}}), no_matrix);
  const std::vector<std::vector<double>> bands(20, std::vector<double>(201, 0.5));
  EXPECT_EQ(written(sound, preprocessor, {{"mel_filters", bands}}), whole);
  const compiled c(path);
  EXPECT_EQ(mel_filters_of(c.net), std::vector<double>(20 * 201, 0.5));
}

// What transformers and librosa print for Whisper's 80 bands: the first one is around the second frequency of the window.
TEST(heed_compile, has_the_bands_of_whisper) {
  network net;
  net.what = task::speech, net.speech.n_mels = 80;
  const std::vector<double> filters = mel_filters_of(net);
  ASSERT_EQ(filters.size(), size_t{80 * 201});
  const std::vector<tensor> tables = spectrogram_tensors(net);
  EXPECT_EQ((tables.at(0).numbers().size + tables.at(1).numbers().size) / 1000, size_t{332});  // the page says 333 KB
  EXPECT_NEAR(filters[1], 0.0248626, 1e-6);
  EXPECT_NEAR(filters[0], 0, 1e-12);
  for (size_t band = 0; band < 80; ++band) {
    double width =
        0;  // a triangle of area 2 / Hz has a sum near 1 / 40 Hz where the window has many frequencies of the band
    for (size_t k = 0; k < 201; ++k) width += filters[band * 201 + k] * 40;
    EXPECT_NEAR(width, 1, band < 30 ? 0.6 : 0.1) << band;
  }
}

TEST(heed_compile, names_the_file_that_is_missing_or_of_python) {
  const std::string path = published::write(folder(), "bert");
  const auto said = [&] {
    try {
      compiled c(path);
      return std::string();
    } catch (const refusal &error) {
      return std::string(error.what());
    }
  };
  std::filesystem::rename(path + "/model.safetensors", path + "/pytorch_model.bin");
  EXPECT_NE(said().find("pytorch_model.bin holds code of Python"), std::string::npos) << said();
  std::filesystem::remove(path + "/pytorch_model.bin");
  EXPECT_NE(said().find("has no *.safetensors"), std::string::npos) << said();
  std::filesystem::remove(path + "/config.json");
  EXPECT_NE(said().find("config.json: cannot be opened"), std::string::npos) << said();
  const std::string shards = published::write(folder(), "llama-sharded");
  std::ofstream(shards + "/model.safetensors.index.json") << R"({"weight_map": {"a": "../../etc/passwd"}})";
  try {
    compiled c(shards);
    ADD_FAILURE() << "it reads a file that is not beside the index";
  } catch (const refusal &error) {
    EXPECT_NE(std::string(error.what()).find("not beside it"), std::string::npos) << error.what();
  }
}

// The number of a key in the metadata of a GGUF file, which has 32 bits.
void change_number(const std::string &path, const std::string &key, uint32_t number) {
  std::ifstream in(path, std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t at = all.find(key);
  ASSERT_NE(at, std::string::npos) << key;
  for (size_t i = 0; i < 4; ++i) all[at + key.size() + 4 + i] = static_cast<char>(number >> (8 * i));
  std::ofstream(path, std::ios::binary) << all;
}

TEST(heed_compile, refuses_metadata_that_are_not_possible) {
  for (const char *const key : {"llama.block_count", "llama.embedding_length", "llama.feed_forward_length",
                                "llama.attention.head_count", "llama.attention.head_count_kv", "llama.context_length"})
    for (const uint32_t number : {0u, 7u, 1u << 24, 4294967295u}) {
      const std::string path = published::write(folder(), "gguf-llama");
      change_number(path, key, number);
      if (std::string(key) == "llama.context_length" && number != 0 && number <= 1u << 24)
        continue;  // these are possible
      EXPECT_THROW(compiled c(path), refusal) << key << " " << number;
    }
}

// A checkpoint of llama2.c: 7 counts, and the floats that they ask for.
bytes checkpoint_of(const std::vector<int32_t> &counts, size_t n_floats) {
  bytes file;
  for (const int32_t count : counts) heed_import::put(file, static_cast<uint32_t>(count), 4);
  for (size_t i = 0; i < n_floats; ++i) heed_import::put(file, static_cast<float>(i % 7) / 8 - 0.25f);
  return file;
}

TEST(heed_compile, reads_checkpoints_of_llama2_c_and_refuses_damaged_ones) {
  const std::vector<int32_t> counts = {8, 12, 2, 2, 1, 10, 16};
  const size_t layer = 8 + 8 * 8 + 4 * 8 + 4 * 8 + 8 * 8 + 8 + 3 * 8 * 12,
               n_floats = 10 * 8 + 2 * layer + 8 + 2 * 16 * 2;
  const auto said = [](const bytes &file) -> std::string {
    try {
      const std::vector<tensor> all = read_checkpoint({file.data(), file.size()}, {});
      network net = network_of_gguf(all, 16);
      for (const plan &p : plans_of(net, all)) made(net, p, {});
      return "";
    } catch (const refusal &error) {
      return error.what();
    }
  };
  EXPECT_EQ(said(checkpoint_of(counts, n_floats)), "");
  std::vector<int32_t> untied = counts;
  untied[5] = -10;
  EXPECT_EQ(said(checkpoint_of(untied, n_floats + 10 * 8)), "");
  EXPECT_NE(said(checkpoint_of(untied, n_floats)), "");
  for (const size_t n : {size_t{0}, size_t{1}, n_floats - 1})
    EXPECT_NE(said(checkpoint_of(counts, n)).find("truncated"), std::string::npos) << n;
  EXPECT_NE(said(checkpoint_of(counts, n_floats + 1)).find("longer than its counts say"), std::string::npos);
  for (size_t i = 0; i < counts.size(); ++i)
    for (const int32_t other : {0, -1, INT32_MAX, INT32_MIN, 1 << 24}) {
      std::vector<int32_t> damaged = counts;
      damaged[i] = other;
      EXPECT_NE(said(checkpoint_of(damaged, n_floats)), "") << i << " " << other;
    }
}

}  // namespace
