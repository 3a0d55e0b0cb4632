// The device benchmark's lines, with a clock whose counts are known. SPDX-License-Identifier: MIT
#include "device_bench.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "heed/heed.h"

namespace {
std::string written;
}
extern "C" void port_write(const char *text) { written += text; }

namespace {

// Calls last 70, 50 and 60 ticks.
uint64_t now, n_reads;
uint64_t read_clock() {
  const uint64_t lasts[] = {70, 50, 60};
  if (n_reads % 2 == 1) now += lasts[n_reads / 2 % 3];
  ++n_reads;
  return now;
}

alignas(64) float memory[80000];

std::vector<std::string> run(size_t bytes, std::vector<const char *> shapes, int emulated = 0) {
  written.clear();
  n_reads = 0;
  now = UINT64_MAX - 60;  // wraps on the way
  shapes.push_back(nullptr);
  const heed_clock clock = {"fake", "ticks", emulated, read_clock};
  EXPECT_EQ(heed_device_bench(&clock, memory, bytes, shapes.data()), 0);
  std::vector<std::string> lines;
  std::istringstream in(written);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string digest_in(const std::string &line) {
  const size_t at = line.find("\"digest\":\"");
  return at == std::string::npos ? "" : line.substr(at + 10, 16);
}

// P6 has 16 KB of tensors, and 2 * 32 * 32 pairs of 16 floats: 65536 multiply-adds.
constexpr size_t p6_tensors = 16384, p6_least = p6_tensors + HEED_WORKSPACE_MIN_BYTES(16, 16);

TEST(device_bench, prints_the_least_count_and_its_share) {
  const std::string kernel = heed_isa_current();
  const std::string arithmetic = heed_isa_arithmetic(kernel.c_str()) == HEED_ARITHMETIC_FMA ? "fma" : "no-fma";
  const std::string digest = arithmetic == "fma" ? "e3a51ded96bc8998" : "1d2b6c3676f7c688";
  EXPECT_EQ(
      run(sizeof memory, {"P6"}),
      std::vector<std::string>{"{\"shape\":\"P6\",\"kernel\":\"" + kernel + "\",\"arithmetic\":\"" + arithmetic +
                               "\",\"clock\":\"fake\",\"unit\":\"ticks\",\"count\":50,\"per_multiply_add\":0.0008," +
                               "\"workspace_bytes\":23040,\"digest\":\"" + digest + "\",\"emulated\":false}"});
  EXPECT_NE(run(sizeof memory, {"P6"}, 1)[0].find("\"emulated\":true}"), std::string::npos);
}

TEST(device_bench, says_what_a_shape_lacks) {
  EXPECT_EQ(run(p6_least - 64, {"P6"}),
            std::vector<std::string>{"{\"shape\":\"P6\",\"skipped\":\"needs 18048 bytes, has 17984\"}"});
}

TEST(device_bench, gives_the_same_digest_in_little_memory) {
  const std::string digest = digest_in(run(sizeof memory, {"P6"})[0]);
  const std::string line = run(p6_least, {"P6"})[0];
  EXPECT_EQ(digest_in(line), digest);
  EXPECT_NE(line.find("\"workspace_bytes\":1664,"), std::string::npos);
}

TEST(device_bench, runs_every_shape_or_those_named) {
  EXPECT_EQ(run(sizeof memory, {}).size(), 10u);
  EXPECT_EQ(run(sizeof memory, {"P6", "P1"}).size(), 2u);
  EXPECT_EQ(run(sizeof memory, {"P"}).size(), 0u);
}

TEST(device_bench, gives_one_digest_per_arithmetic) {
  std::map<int32_t, std::string> digests;
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    const char *name = heed_isa_name(i);
    if (heed_isa_use(name) != HEED_OK) continue;  // a build with one fixed kernel
    const std::string digest = digest_in(run(sizeof memory, {"P1"})[0]);
    EXPECT_EQ(digest, digests.emplace(heed_isa_arithmetic(name), digest).first->second) << name;
  }
  heed_isa_use(nullptr);
  EXPECT_FALSE(digests.empty());
}

}  // namespace
