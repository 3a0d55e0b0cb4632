// WAV files of every kind, whole and damaged: the reader that all programs, boards and the page share. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "sound_files.hpp"
#include "support/fence.hpp"
#include "support/random.hpp"
#include "wav.h"

namespace {

using namespace heed_test;

std::string number(uint64_t n, size_t n_bytes) {
  std::string bytes;
  for (size_t i = 0; i < n_bytes; ++i) bytes += char(n >> 8 * i & 255);
  return bytes;
}

std::string chunk(const std::string &tag, const std::string &data, int64_t stated = -1) {
  return tag + number(stated < 0 ? data.size() : uint64_t(stated), 4) + data + std::string(data.size() % 2, '\0');
}

std::string format(uint32_t kind, uint32_t channels, uint32_t rate, uint32_t bits) {
  const uint32_t frame = channels * bits / 8;
  return number(kind, 2) + number(channels, 2) + number(rate, 4) + number(rate * frame, 4) + number(frame, 2) +
         number(bits, 2);
}

// The form in which the kind is a GUID.
std::string extensible(uint32_t kind, uint32_t bits) {
  return format(0xfffe, 1, 16000, bits) + number(22, 2) + number(bits, 2) + number(4, 4) + number(kind, 2) +
         std::string("\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71", 14);
}

std::string wav(const std::string &chunks, const std::string &begin = "RIFF") {
  return begin + number(chunks.size() + 4, 4) + "WAVE" + chunks;
}

std::string floats(const std::vector<float> &numbers) {
  std::string bytes;
  for (const float x : numbers) {
    uint32_t word;
    std::memcpy(&word, &x, 4);
    bytes += number(word, 4);
  }
  return bytes;
}

const std::string pcm = chunk("fmt ", format(1, 1, 16000, 16)), three("\1\0\xff\xff\0\x80", 6);
std::string plain(uint32_t kind, uint32_t channels, uint32_t rate, uint32_t bits, const std::string &data) {
  return wav(chunk("fmt ", format(kind, channels, rate, bits)) + chunk("data", data));
}

// A file of the test, removed afterwards. Its name wants quotes in a shell.
class written_file {
 public:
  explicit written_file(const std::string &content)
      : path_(testing::TempDir() + "heed's " + std::to_string(getpid()) + ".wav") {
    std::ofstream(path_, std::ios::binary).write(content.data(), std::streamsize(content.size()));
  }
  ~written_file() { std::remove(path_.c_str()); }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

std::vector<int16_t> samples_of(const std::string &content) {
  return host_files::read_wav(written_file(content).path());
}

std::string refusal_of(const std::string &content) {
  const written_file file(content);
  try {
    host_files::read_wav(file.path());
  } catch (const std::runtime_error &error) {
    const std::string text = error.what();
    EXPECT_EQ(text.compare(0, file.path().size() + 2, file.path() + ": "), 0) << text;
    return text.substr(file.path().size() + 2);
  }
  return "accepted";
}

// -------------------------------------------------------------------------------------------------------------- taken

struct taken {
  const char *what;
  std::string file;
  std::vector<int16_t> samples;
};

const std::vector<int16_t> expected_three = {1, -1, -32768};

std::vector<taken> all_taken() {
  const float inside = std::nextafterf(1.0f, 0.0f), half = 0x1p-16f;
  const std::string tags = chunk("LIST", "INFOabc");
  return {
      {"short header", wav(pcm + chunk("data", three)), expected_three},
      {"tags before", wav(tags + pcm + tags + chunk("data", three)), expected_three},
      {"tags behind", wav(pcm + chunk("data", three) + tags), expected_three},
      {"odd length, no padding at the end", wav(pcm + "data" + number(5, 4) + three.substr(0, 5)), {1, -1}},
      {"format of 18 bytes", wav(chunk("fmt ", format(1, 1, 16000, 16) + number(0, 2)) + chunk("data", three)),
       expected_three},
      {"extensible", wav(chunk("fmt ", extensible(1, 16)) + chunk("data", three)), expected_three},
      {"extensible floats",
       wav(chunk("fmt ", extensible(3, 32)) + chunk("data", floats({0.5f, -1.0f}))),
       {16384, -32768}},
      {"pipe, ffmpeg", "RIFF\xff\xff\xff\xffWAVE" + pcm + tags + chunk("data", three, 0xffffffff), expected_three},
      {"pipe, sox", "RIFF\x24\xf0\xff\x7fWAVE" + pcm + chunk("data", three, 0x7ffff000), expected_three},
      {"pipe, length 0", wav(pcm + chunk("data", three, 0)), expected_three},
      {"pipe, length 0, a chunk that cannot be",
       wav(pcm + chunk("data", "abcdefgh\xff\x7f", 0)),
       {25185, 25699, 26213, 26727, 32767}},
      {"pipe, half a sample at the end", wav(pcm + chunk("data", three + "x", 0xffffffff)).substr(0, 51),
       expected_three},
      {"length 0, then more data", wav(pcm + chunk("data", "") + chunk("data", three)), expected_three},
      {"8 bits", plain(1, 1, 16000, 8, std::string("\0\x80\xff", 3)), {-32768, 0, 32512}},
      {"24 bits",
       plain(1, 1, 16000, 24, std::string("\x7f\0\0\x80\0\0\xff\xff\x7f\0\0\x80\x7f\xff\xff", 15)),
       {0, 1, 32767, -32768, -1}},
      {"32 bits",
       plain(1, 1, 16000, 32,
             number(0x7fffffff, 4) + number(0x80000000, 4) + number(0x12347fff, 4) + number(0x12348000, 4)),
       {32767, -32768, 0x1234, 0x1235}},
      {"floats",
       plain(3, 1, 16000, 32, floats({0, -0.0f, 1, inside, -1, -2, 1e30f, half, half / 2, -half, 1e-40f, 0.25f})),
       {0, 0, 32767, 32767, -32768, -32768, 32767, 1, 0, -1, 0, 8192}},
  };
}

TEST(wav, of_these_kinds_gives_its_samples) {
  for (const taken &t : all_taken()) {
    const std::string why = refusal_of(t.file);
    EXPECT_EQ(why, "accepted") << t.what;
    if (why != "accepted") continue;
    EXPECT_EQ(samples_of(t.file), t.samples) << t.what;
  }
}

// ------------------------------------------------------------------------------------------------------------ refused

TEST(wav, of_other_kinds_is_refused_with_the_command_that_converts_it) {
  std::string other_kind = extensible(1, 16), other_container = format(1, 1, 16000, 24);
  other_kind[30] = 1;
  other_container[12] = 4;
  const std::string sound(64, '\0');
  const std::vector<std::pair<std::string, std::string>> all = {
      {plain(1, 2, 44100, 16, sound),
       "has another rate, or more channels than one. It has format 1, 2 channels, 44100 Hz, 16 bits; "},
      {plain(1, 1, 44100, 16, sound), "It has format 1, 1 channel, 44100 Hz, 16 bits"},
      {plain(1, 2, 16000, 16, sound), "It has format 1, 2 channels, 16000 Hz, 16 bits"},
      {plain(1, 1, 16000, 12, sound),
       "has samples of a kind that is not read here. It has format 1, 1 channel, 16000 Hz, 12 bits"},
      {plain(1, 1, 16000, 64, sound), "It has format 1, 1 channel, 16000 Hz, 64 bits"},
      {plain(3, 1, 16000, 64, sound), "It has format 3, 1 channel, 16000 Hz, 64 bits"},
      {plain(3, 1, 16000, 16, sound), "It has format 3, 1 channel, 16000 Hz, 16 bits"},
      {plain(6, 1, 16000, 8, sound), "It has format 6, 1 channel, 16000 Hz, 8 bits"},
      {plain(0, 1, 16000, 16, sound), "has samples of a kind that is not read here"},
      {wav(chunk("fmt ", other_kind) + chunk("data", sound)), "It has format 65534, 1 channel, 16000 Hz, 16 bits"},
      {wav(chunk("fmt ", other_container) + chunk("data", sound)),
       "has samples that fill more, or fewer, bytes than their bits"},
      {wav(pcm + chunk("data", sound), "RIFX"), "is a WAV file of the other byte order (RIFX)"},
      {wav(chunk("ds64", std::string(28, '\0')) + pcm + chunk("data", sound, 0xffffffff), "RF64"),
       "is a WAV file of the kind for more than 4 GB (RF64)"},
  };
  for (const auto &file : all) {
    const std::string why = refusal_of(file.first),
                      command = "This command converts it: sox '" + testing::TempDir() + "heed'\\''s ";
    EXPECT_NE(why.find(file.second), std::string::npos) << why;
    EXPECT_NE(why.find(command), std::string::npos) << why;
    EXPECT_NE(why.find(".wav' -r 16000 -c 1 -b 16 out.wav"), std::string::npos) << why;
  }
}

TEST(wav, that_is_damaged_or_empty_is_refused) {
  const std::string good = wav(pcm + chunk("data", three));
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<std::string, std::string>> all = {
      {"", "is empty"},
      {"RIFF", "is not a WAV file"},
      {"RIFFxxxxWAVX", "is not a WAV file"},
      {"OggSxxxxWAVE", "is not a WAV file"},
      {"RIFFxxxxWAVE", "holds no samples"},
      {wav(chunk("fmt ", "ab")), "its format chunk is too short"},
      {plain(1, 0, 16000, 16, three), "its format chunk states no channel, or 0 Hz"},
      {plain(1, 1, 0, 16, three), "its format chunk states no channel, or 0 Hz"},
      {good.substr(0, good.size() - 1), "is truncated: it ends in the middle of a chunk"},
      {wav(pcm + chunk("data", three, 0x70000000)), "is truncated: it ends in the middle of a chunk"},
      {wav("LIST\xff\xff\xff\xff"), "is truncated: it ends in the middle of a chunk"},
      {wav(chunk("data", three) + pcm), "has its data before its format"},
      {wav(pcm), "holds no samples"},
      {wav(pcm + chunk("data", "")), "holds no samples"},
      {wav(pcm + chunk("data", "x")), "holds no samples"},
      {wav(pcm + chunk("data", "") + chunk("LIST", "INFOabcd")), "holds no samples"},
      {wav(pcm + chunk("data", "", 0xffffffff)), "holds no samples"},
      {plain(3, 1, 16000, 32, floats({0, nan})), "has a sample that is infinite, or not a number"},
      {plain(3, 1, 16000, 32, floats({-infinity, 0})), "has a sample that is infinite, or not a number"},
  };
  for (const auto &file : all) EXPECT_EQ(refusal_of(file.first), file.second);
  EXPECT_THROW(host_files::read_wav("/no/such/file.wav"), std::runtime_error);
  EXPECT_THROW(host_files::read_wav(testing::TempDir()), std::runtime_error);
}

// Every prefix, and bytes that lie: the last byte lies at a page without access.
TEST(wav, is_read_within_its_bytes) {
  random_source r(5);
  const auto use = [](const std::string &content) {
    const std::vector<char> bytes(content.begin(), content.end());
    wav_file w;
    if (wav_open(&w, fenced_copy(slot_q, bytes), bytes.size()) != nullptr) return;
    int32_t sum = 0;
    for (size_t i = 0; i < w.n_samples * size_t(w.channels); ++i) sum += wav_sample(&w, i);
    EXPECT_LE(std::abs(sum), 32768 * 64);
  };
  for (const taken &t : all_taken()) {
    for (size_t n = 0; n <= t.file.size(); ++n) use(t.file.substr(0, n));
    for (int i = 0; i < repetitions(2000); ++i) {
      std::string lie = t.file;
      for (int k = r.between(1, 3); k > 0; --k)
        lie[r.below(uint32_t(lie.size()))] = char(r.chance(30) ? 255 : r.next());
      use(lie);
    }
  }
}

}  // namespace
