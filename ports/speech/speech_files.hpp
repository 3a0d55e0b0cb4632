// Files that the host programs around speech read and make. Every function throws std::runtime_error with the path and
// a sentence. SPDX-License-Identifier: MIT
#ifndef HEED_SPEECH_FILES_HPP
#define HEED_SPEECH_FILES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "../files.hpp"
#include "speech.h"
#include "speech_model.h"

namespace speech_files {

// How matrices are stored, and multiplied.
enum class dtype { f32, f16, int8, w8a8 };
// f32, f16, int8 or w8a8.
dtype format_of(const std::string &name);

// A flat file in memory.
using model = files::aligned_bytes;

// The flat file of speech_model.h from a folder with encoder_model.onnx, decoder_model_merged.onnx and the vocabulary:
// vocabulary.bin, or llama-tokenizer.js.
model convert(const std::string &folder, dtype f);

// What speech_weights wrote, or a folder in this format, or in f32 if that is empty; and prepared.
model load(const std::string &path, const std::string &format);

// Gives a flat file the byte order of this computer, and compares its sums.
void prepare(model &m, const std::string &path);

// The vocabulary of speech_model.h: for each of the 32000 pieces a byte of length and its bytes.
std::vector<uint8_t> read_vocabulary(const std::string &folder);

// Throws unless the status is SPEECH_OK.
void require_ok(const speech &net, speech_status status, const std::string &what);

}  // namespace speech_files

#endif
