// Status codes and their texts, versions, and the two forms of the workspace's size. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <string>

#include "heed/heed.h"
#include "support/random.hpp"

namespace heed_test {
namespace {

// Names of the header, so that an argument's text can be compared with its enumerator.
#define NAMED(name) \
  { name, #name }
struct named {
  heed_argument argument;
  const char *name;
};
const named arguments[] = {NAMED(HEED_ARG_CALL),      NAMED(HEED_ARG_Q),           NAMED(HEED_ARG_K),
                           NAMED(HEED_ARG_V),         NAMED(HEED_ARG_OUT),         NAMED(HEED_ARG_WEIGHTS),
                           NAMED(HEED_ARG_BATCH),     NAMED(HEED_ARG_N_HEADS),     NAMED(HEED_ARG_N_KV_HEADS),
                           NAMED(HEED_ARG_N_Q),       NAMED(HEED_ARG_N_KV),        NAMED(HEED_ARG_HEAD_DIM),
                           NAMED(HEED_ARG_V_DIM),     NAMED(HEED_ARG_SCALE),       NAMED(HEED_ARG_CAUSAL),
                           NAMED(HEED_ARG_WORKSPACE), NAMED(HEED_ARG_EXECUTOR),    NAMED(HEED_ARG_N_THREADS),
                           NAMED(HEED_ARG_X),         NAMED(HEED_ARG_Y),           NAMED(HEED_ARG_W),
                           NAMED(HEED_ARG_BIAS),      NAMED(HEED_ARG_A),           NAMED(HEED_ARG_B),
                           NAMED(HEED_ARG_N),         NAMED(HEED_ARG_RESULT),      NAMED(HEED_ARG_LAYER),
                           NAMED(HEED_ARG_MODEL_DIM), NAMED(HEED_ARG_OUT_DIM),     NAMED(HEED_ARG_WQ),
                           NAMED(HEED_ARG_WK),        NAMED(HEED_ARG_WV),          NAMED(HEED_ARG_WO),
                           NAMED(HEED_ARG_BQ),        NAMED(HEED_ARG_BK),          NAMED(HEED_ARG_BV),
                           NAMED(HEED_ARG_BO),        NAMED(HEED_ARG_ACTIVATIONS), NAMED(HEED_ARG_SEQUENCE),
                           NAMED(HEED_ARG_ROWS),      NAMED(HEED_ARG_CAPACITY),    NAMED(HEED_ARG_KERNEL),
                           NAMED(HEED_ARG_BUFFER),    NAMED(HEED_ARG_REPORT),      NAMED(HEED_ARG_OPTIONS),
                           NAMED(HEED_ARG_RANGES),    NAMED(HEED_ARG_MASK),        NAMED(HEED_ARG_SOFTCAP),
                           NAMED(HEED_ARG_ALIBI),     NAMED(HEED_ARG_SINKS),       NAMED(HEED_ARG_SCORES),
                           NAMED(HEED_ARG_LSE),       NAMED(HEED_ARG_COLUMN_SUMS), NAMED(HEED_ARG_TOP_K),
                           NAMED(HEED_ARG_PARTIAL),   NAMED(HEED_ARG_LEFT_WINDOW), NAMED(HEED_ARG_RIGHT_WINDOW),
                           NAMED(HEED_ARG_OFFSETS),   NAMED(HEED_ARG_KV_LENGTHS),  NAMED(HEED_ARG_TOTAL),
                           NAMED(HEED_ARG_FIRST_KEY)};
#undef NAMED

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

TEST(status, every_argument_has_its_name) {
  int32_t expected = HEED_ARG_CALL;
  for (const named &a : arguments) {
    EXPECT_EQ(int32_t{a.argument}, expected++) << "the table above is complete and in order";
    const std::string name = lower(a.name + std::strlen("HEED_ARG_"));
    for (int32_t fault = HEED_NULL_POINTER; fault <= HEED_NOT_INITIALIZED; ++fault)
      EXPECT_EQ(heed_status_argument(HEED_STATUS(fault, a.argument)), name) << fault;
  }
  EXPECT_EQ(expected, HEED_ARG_FIRST_KEY + 1);
}

TEST(status, every_fault_has_its_own_sentence) {
  std::set<std::string> texts = {heed_status_text(HEED_OK)};
  for (int32_t fault = HEED_NULL_POINTER; fault <= HEED_NOT_INITIALIZED; ++fault) {
    const std::string text = heed_status_text(HEED_STATUS(fault, HEED_ARG_K));
    EXPECT_GT(text.size(), 10u);
    EXPECT_EQ(text, heed_status_text(HEED_STATUS(fault, HEED_ARG_REPORT)));
    EXPECT_TRUE(texts.insert(text).second) << text << " is used twice";
  }
  EXPECT_STREQ(heed_status_text(HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_K)), "a required pointer is null");
}

TEST(status, numbers_survive_the_round_trip) {
  for (int32_t fault = HEED_NULL_POINTER; fault <= HEED_NOT_INITIALIZED; ++fault)
    for (int32_t argument = HEED_ARG_CALL; argument <= HEED_ARG_FIRST_KEY; ++argument) {
      const heed_status status = HEED_STATUS(fault, argument);
      EXPECT_LT(status, 0);
      EXPECT_EQ(HEED_STATUS_FAULT(status), fault);
      EXPECT_EQ(HEED_STATUS_ARGUMENT(status), argument);
    }
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
  for (int32_t argument = 0; argument < 256; ++argument)
    for (int32_t fault = 0; fault < 20; ++fault)
      ASSERT_NE(heed_status_argument(HEED_STATUS(fault, argument)), nullptr) << fault << " " << argument;
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
