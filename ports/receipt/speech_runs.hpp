// Runs of speech to text with a receipt, as runs.hpp has those of other networks. SPDX-License-Identifier: MIT
#ifndef HEED_RECEIPT_SPEECH_RUNS_HPP
#define HEED_RECEIPT_SPEECH_RUNS_HPP

#include "runs.hpp"

namespace receipts {

// MODEL as heed_listen takes it; `format` of a folder's matrices, and the format of the cache. Up to 15 s of sound.
run of_speech(const std::string &model, const std::string &wav, const std::string &format, const std::string &cache,
              const detail &how, bool keeps_numbers);

}  // namespace receipts

#endif
