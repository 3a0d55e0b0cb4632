// Status codes and their texts, versions, and the two forms of the workspace's size. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heed/heed.h"
#include "support/random.hpp"

namespace heed_test {
namespace {

// The headers' numbers, which are part of the ABI: a version may add some, and change none.
struct numbered {
  int32_t number, expected;
  const char *name;
};
#define FAULT(name, number) \
  { HEED_##name, number, #name }
const numbered faults[] = {FAULT(NULL_POINTER, 1),
                           FAULT(MISALIGNED, 2),
                           FAULT(OUT_OF_RANGE, 3),
                           FAULT(NOT_FINITE, 4),
                           FAULT(BAD_STRIDE, 5),
                           FAULT(OVERFLOW, 6),
                           FAULT(TOO_SMALL, 7),
                           FAULT(OVERLAP, 8),
                           FAULT(BAD_DTYPE, 9),
                           FAULT(BAD_LAYOUT, 10),
                           FAULT(BAD_SCALES, 11),
                           FAULT(SHAPE_MISMATCH, 20),
                           FAULT(CONFLICT, 21),
                           FAULT(UNSUPPORTED, 22),
                           FAULT(NOT_CAUSAL, 23),
                           FAULT(BAD_SPLIT, 24),
                           FAULT(TOO_MANY_ROWS, 25),
                           FAULT(EVICTED, 26),
                           FAULT(FULL, 27),
                           FAULT(NOT_INITIALIZED, 40),
                           FAULT(BAD_STRUCT_SIZE, 41),
                           FAULT(CORRUPT, 42),
                           FAULT(RUNNING, 43),
                           FAULT(BAD_MAGIC, 44),
                           FAULT(UNKNOWN_VERSION, 45),
                           FAULT(UNKNOWN_ISA, 60),
                           FAULT(UNAVAILABLE_ISA, 61),
                           FAULT(MISMATCH, 62)};
#undef FAULT
#define ARG(name, number) \
  { HEED_ARG_##name, number, #name }
const numbered arguments[] = {ARG(CALL, 1),
                              ARG(Q, 2),
                              ARG(K, 3),
                              ARG(V, 4),
                              ARG(OUT, 5),
                              ARG(BATCH_SIZE, 6),
                              ARG(N_HEADS, 7),
                              ARG(N_KV_HEADS, 8),
                              ARG(N_Q, 9),
                              ARG(N_KV, 10),
                              ARG(HEAD_DIM, 11),
                              ARG(V_DIM, 12),
                              ARG(SCALE, 13),
                              ARG(CAUSAL, 14),
                              ARG(POSITION, 15),
                              ARG(WORKSPACE, 16),
                              ARG(EXECUTOR, 17),
                              ARG(MEMORY, 18),
                              ARG(ISA, 19),
                              ARG(REPORT, 20),
                              ARG(THREADS, 21),
                              ARG(N_THREADS, 22),
                              ARG(X, 40),
                              ARG(Y, 41),
                              ARG(W, 42),
                              ARG(BIAS, 43),
                              ARG(A, 44),
                              ARG(B, 45),
                              ARG(N, 46),
                              ARG(RESULT, 47),
                              ARG(ROWS, 48),
                              ARG(WEIGHT, 49),
                              ARG(EPS, 50),
                              ARG(UP, 51),
                              ARG(LAYOUT, 52),
                              ARG(PACKED, 53),
                              ARG(N_GROUPS, 54),
                              ARG(INDICES, 55),
                              ARG(TEMPERATURE, 56),
                              ARG(TOP_P, 57),
                              ARG(RANDOM, 58),
                              ARG(ROPE, 60),
                              ARG(STYLE, 61),
                              ARG(ROTARY_DIM, 62),
                              ARG(BASE, 63),
                              ARG(FREQUENCIES, 64),
                              ARG(POSITIONS, 65),
                              ARG(FACTOR, 66),
                              ARG(N_AXES, 67),
                              ARG(AXES, 68),
                              ARG(OPTIONS, 100),
                              ARG(RANGES, 101),
                              ARG(MASK, 102),
                              ARG(SOFTCAP, 103),
                              ARG(ALIBI, 104),
                              ARG(SINKS, 105),
                              ARG(SCORES, 106),
                              ARG(WEIGHTS, 107),
                              ARG(LSE, 108),
                              ARG(COLUMN_SUMS, 109),
                              ARG(TOPK_WEIGHTS, 110),
                              ARG(PARTIAL, 111),
                              ARG(TYPED, 112),
                              ARG(LEFT_WINDOW, 130),
                              ARG(RIGHT_WINDOW, 131),
                              ARG(KV_LENGTHS, 132),
                              ARG(TOTAL, 133),
                              ARG(FIRST_KEY, 134),
                              ARG(CACHE, 160),
                              ARG(SHAPE, 161),
                              ARG(KIND, 162),
                              ARG(CAPACITY, 163),
                              ARG(PINNED, 164),
                              ARG(SPARE, 165),
                              ARG(N_SEQUENCES, 166),
                              ARG(DTYPE, 167),
                              ARG(SEQUENCE, 168),
                              ARG(LENGTH, 169),
                              ARG(DIM, 170),
                              ARG(LENGTHS, 171),
                              ARG(LAYER, 200),
                              ARG(ATTENTION, 201),
                              ARG(MODEL_DIM, 202),
                              ARG(OUT_DIM, 203),
                              ARG(FFN_DIM, 204),
                              ARG(WQ, 205),
                              ARG(WK, 206),
                              ARG(WV, 207),
                              ARG(WO, 208),
                              ARG(BQ, 209),
                              ARG(BK, 210),
                              ARG(BV, 211),
                              ARG(BO, 212),
                              ARG(NORM_FIRST, 213),
                              ARG(NORM, 214),
                              ARG(NORM1_WEIGHT, 215),
                              ARG(NORM1_BIAS, 216),
                              ARG(NORM2_WEIGHT, 217),
                              ARG(NORM2_BIAS, 218),
                              ARG(ACTIVATION, 219),
                              ARG(W_UP, 220),
                              ARG(W_GATE, 221),
                              ARG(W_DOWN, 222),
                              ARG(B_UP, 223),
                              ARG(B_GATE, 224),
                              ARG(B_DOWN, 225),
                              ARG(CROSS, 226),
                              ARG(QK_EPS, 227),
                              ARG(QK_NORM_WHOLE, 228),
                              ARG(Q_NORM_WEIGHT, 229),
                              ARG(Q_NORM_BIAS, 230),
                              ARG(K_NORM_WEIGHT, 231),
                              ARG(K_NORM_BIAS, 232),
                              ARG(NORM_CROSS_WEIGHT, 233),
                              ARG(NORM_CROSS_BIAS, 234),
                              ARG(POST_NORM, 235),
                              ARG(PARALLEL, 236),
                              ARG(FFN_ORDER, 237),
                              ARG(SCORE, 240),
                              ARG(VALUE, 241),
                              ARG(VALUES, 242),
                              ARG(MULTIPLIERS, 243),
                              ARG(POST_NORM1_WEIGHT, 260),
                              ARG(POST_NORM1_BIAS, 261),
                              ARG(POST_NORM2_WEIGHT, 262),
                              ARG(POST_NORM2_BIAS, 263),
                              ARG(POST_NORM_CROSS_WEIGHT, 264),
                              ARG(POST_NORM_CROSS_BIAS, 265),
                              ARG(OUT_ROWS, 266),
                              ARG(BATCH, 280),
                              ARG(TOP_K, 59)};
#undef ARG

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

// And no number besides those of the tables has a text: the tables are complete.
TEST(status, every_argument_has_its_name) {
  const std::string none = heed_status_argument(HEED_STATUS(HEED_NULL_POINTER, 999));
  std::vector<std::string> names(1000, none);
  for (const numbered &a : arguments) {
    EXPECT_EQ(a.number, a.expected) << a.name;
    names[size_t(a.expected)] = lower(a.name);
  }
  for (const numbered &fault : faults)
    for (int32_t argument = 0; argument < 1000; ++argument)
      EXPECT_EQ(heed_status_argument(HEED_STATUS(fault.number, argument)), names[size_t(argument)]) << argument;
}

TEST(status, every_fault_has_its_own_sentence) {
  const std::string none = heed_status_text(HEED_STATUS(1999, HEED_ARG_K));
  std::set<std::string> texts = {heed_status_text(HEED_OK), none};
  EXPECT_EQ(texts.size(), 2u);
  for (const numbered &f : faults) {
    EXPECT_EQ(f.number, f.expected) << f.name;
    const std::string text = heed_status_text(HEED_STATUS(f.number, HEED_ARG_K));
    EXPECT_GT(text.size(), 10u);
    EXPECT_TRUE(texts.insert(text).second) << text << " is used twice";
    for (const numbered &a : arguments) EXPECT_EQ(text, heed_status_text(HEED_STATUS(f.number, a.number)));
  }
  size_t n_known = 0;
  for (int32_t fault = 1; fault < 2000; ++fault) n_known += heed_status_text(HEED_STATUS(fault, HEED_ARG_K)) != none;
  EXPECT_EQ(n_known, sizeof faults / sizeof *faults);
  EXPECT_STREQ(heed_status_text(HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_K)), "a required pointer is null");
}

TEST(status, numbers_survive_the_round_trip) {
  std::set<heed_status> all;
  for (const numbered &f : faults)
    for (const numbered &a : arguments) {
      const heed_status status = HEED_STATUS(f.number, a.number);
      EXPECT_EQ(status, -(1000 * f.expected + a.expected));
      EXPECT_EQ(HEED_STATUS_FAULT(status), f.expected);
      EXPECT_EQ(HEED_STATUS_ARGUMENT(status), a.expected);
      all.insert(status);
    }
  EXPECT_EQ(all.size(), sizeof faults / sizeof *faults * (sizeof arguments / sizeof *arguments)) << "none twice";
}

TEST(status, numbers_of_the_other_enums) {
  EXPECT_EQ(HEED_OK, 0);
  const int32_t formats[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8};
  for (int32_t i = 0; i < 4; ++i) EXPECT_EQ(formats[i], i);
  const int32_t stages[] = {HEED_SCORES_RAW, HEED_SCORES_CAPPED, HEED_SCORES_BIASED};
  for (int32_t i = 0; i < 3; ++i) EXPECT_EQ(stages[i], i);
  const std::pair<int32_t, int32_t> pairs[] = {{HEED_IN_OUT, HEED_OUT_IN},
                                               {HEED_CACHE_LINEAR, HEED_CACHE_RING},
                                               {HEED_ROPE_INTERLEAVED, HEED_ROPE_HALVES},
                                               {HEED_ARITHMETIC_NO_FMA, HEED_ARITHMETIC_FMA}};
  for (const auto &pair : pairs) EXPECT_EQ(pair, std::make_pair(0, 1));
}

// Any number gives a text, as a status that comes from elsewhere must not crash an error message.
TEST(status, garbage_has_a_text) {
  random_source r(1);
  for (int32_t i = 0; i < 10000; ++i) {
    const int32_t status = i < 5 ? int32_t(INT32_MIN + i) : i < 10 ? INT32_MAX - i : int32_t(r.next());
    ASSERT_NE(heed_status_text(status), nullptr) << status;
    ASSERT_NE(heed_status_argument(status), nullptr) << status;
    ASSERT_GT(std::strlen(heed_status_text(status)), 0u) << status;
    ASSERT_LT(std::strlen(heed_status_argument(status)), 100u) << status;
  }
}

TEST(version, is_the_header_s) {
  const std::string expected = std::to_string(HEED_VERSION_MAJOR) + "." + std::to_string(HEED_VERSION_MINOR) + "." +
                               std::to_string(HEED_VERSION_PATCH);
  EXPECT_EQ(heed_version(), expected);
}

// The macro is a constant expression, and the function agrees with it everywhere.
TEST(workspace, macro_and_function_agree) {
  static_assert(HEED_WORKSPACE_MIN_BYTES(64, 64) == 2432 && HEED_WORKSPACE_BYTES(64, 64) == 41472,
                "as the header says");
  static const unsigned char array[HEED_WORKSPACE_BYTES(64, 64)] = {};
  EXPECT_EQ(heed_workspace_bytes(64, 64), sizeof array);
  random_source r(1);
  for (int32_t i = 0; i < 20000; ++i) {
    const int32_t head_dim = i < 2100 ? i % 70 + 1 : r.size(1, HEED_MAX_DIM);
    const int32_t v_dim = i < 2100 ? i / 30 + 1 : r.size(1, HEED_MAX_DIM);
    ASSERT_EQ(heed_workspace_bytes(head_dim, v_dim), HEED_WORKSPACE_BYTES(head_dim, v_dim));
    ASSERT_EQ(heed_workspace_min_bytes(head_dim, v_dim), HEED_WORKSPACE_MIN_BYTES(head_dim, v_dim));
    ASSERT_LE(heed_workspace_min_bytes(head_dim, v_dim), heed_workspace_bytes(head_dim, v_dim));
  }
  EXPECT_LE(heed_workspace_min_bytes(64, 64), 4096u);
}

TEST(workspace, dimensions_out_of_range_give_zero) {
  for (const int32_t wrong : {0, -1, INT32_MIN, HEED_MAX_DIM + 1, INT32_MAX}) {
    EXPECT_EQ(heed_workspace_bytes(wrong, 64), 0u);
    EXPECT_EQ(heed_workspace_bytes(64, wrong), 0u);
    EXPECT_EQ(heed_workspace_min_bytes(wrong, 64), 0u);
    EXPECT_EQ(heed_workspace_min_bytes(64, wrong), 0u);
  }
}

}  // namespace
}  // namespace heed_test
