// What heed_kwt hears in WAV files and in a stream of samples. SPDX-License-Identifier: MIT
#ifndef HEED_KWT_SOUNDS_HPP
#define HEED_KWT_SOUNDS_HPP

#include <cstdio>
#include <string>
#include <vector>

#include "kwt.h"

// Prints what each file says: the label of up to 1 s, which is padded with zeros; of more, the words and when they had
// been heard. Returns how many files were refused; each has a line on standard error.
int hear_files(kwt &net, float threshold, const std::vector<std::string> &paths);

// Prints words as they are heard in raw samples: 16 bits, little endian, 16 kHz, mono, until they end.
void hear_stream(kwt &net, float threshold, std::FILE *stream);

#endif
