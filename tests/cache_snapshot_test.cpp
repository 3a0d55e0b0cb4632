// Snapshots of caches: saved bytes load on either byte order and continue as the cache did; damage is refused.
// SPDX-License-Identifier: MIT
#include "support/cached_runs.hpp"
#include "support/data.hpp"
#include "support/snapshots.hpp"

namespace heed_test {
namespace {

constexpr heed_status damaged = HEED_STATUS(HEED_CORRUPT, HEED_ARG_MEMORY);
using bytes = std::vector<unsigned char>;

// One shape of each format; rings have wrapped.
class snapshots : public ::testing::TestWithParam<int32_t> {
 protected:
  void make(int32_t kind) {
    const bool ring = kind == HEED_CACHE_RING;
    shape_ = cache_shape(kind, 5, 2, 3, 2, GetParam(), ring ? 2 : 0, ring ? 3 : 0, 2);
    ASSERT_EQ(heed_cache_init(&cache_, &shape_, heed_memory_of(buffer_, sizeof buffer_)), HEED_OK);
    for (int32_t i = 0; i < (ring ? 40 : 1); ++i)
      for (const int32_t sequence : {0, 1})
        ASSERT_EQ(append(&cache_, sequence, random_tokens(r_, shape_, 3 + sequence)), HEED_OK);
  }
  bytes saved_bytes() {
    EXPECT_EQ(heed_cache_save(&cache_), HEED_OK);
    return {buffer_, buffer_ + heed_cache_bytes(&shape_)};
  }
  // In a buffer that is longer than it need be.
  heed_status open(const bytes &snapshot, const heed_cache_shape &shape) {
    std::memset(other_buffer_, 0xee, sizeof other_buffer_);
    std::copy(snapshot.begin(), snapshot.end(), other_buffer_);
    other_ = {};
    const bytes before(other_buffer_, other_buffer_ + sizeof other_buffer_);
    const heed_status status = heed_cache_load(&other_, &shape, heed_memory_of(other_buffer_, sizeof other_buffer_));
    if (status == HEED_OK) return status;
    EXPECT_EQ(std::memcmp(before.data(), other_buffer_, before.size()), 0) << "a refused snapshot was changed";
    EXPECT_EQ(other_.struct_size, 0u) << "a refused cache was made";
    return status;
  }
  std::vector<float> attend(const heed_cache *cache) {
    cache_model model(2, sequence_model(shape_));
    problem p = problem_over(shape_, model, 2, 2, heed_cache_length(cache, 1));
    random_source r(1);
    p.q = bell_floats(r, p.q_floats()), p.causal = 1;
    return run_cached(p, {}, cache, true).result.out;
  }

  random_source r_{7700};
  heed_cache_shape shape_;
  heed_cache cache_, other_;
  HEED_ALIGNED unsigned char buffer_[16384];
  HEED_ALIGNED unsigned char other_buffer_[16384];
};

TEST_P(snapshots, open_and_continue_in_either_byte_order) {
  for (const int32_t kind : {HEED_CACHE_LINEAR, HEED_CACHE_RING}) {
    make(kind);
    const bytes saved = saved_bytes();
    EXPECT_TRUE(is_saved_snapshot(saved));
    for (const bytes &snapshot : {saved, in_other_byte_order(shape_, saved)}) {
      ASSERT_EQ(status_name(open(snapshot, shape_)), "HEED_OK");
      EXPECT_EQ(bytes(other_buffer_, other_buffer_ + saved.size()), saved) << "byte for byte what was saved";
      EXPECT_EQ(other_buffer_[saved.size()], 0xee);
      EXPECT_TRUE(same_bits(attend(&cache_), attend(&other_)));
    }
    ASSERT_EQ(heed_cache_truncate(&cache_, 0, heed_cache_length(&cache_, 0) - 1), HEED_OK);
    ASSERT_EQ(heed_cache_truncate(&other_, 0, heed_cache_length(&other_, 0) - 1), HEED_OK);
    const tokens t = random_tokens(r_, shape_, 2);
    ASSERT_EQ(append(&cache_, 0, t), HEED_OK);
    ASSERT_EQ(append(&other_, 0, t), HEED_OK);
    EXPECT_TRUE(same_bits(attend(&cache_), attend(&other_))) << "after more tokens";
  }
}

TEST_P(snapshots, any_damaged_byte_is_refused) {
  for (const int32_t kind : {HEED_CACHE_LINEAR, HEED_CACHE_RING}) {
    make(kind);
    const bytes saved = saved_bytes();
    for (bytes snapshot : {saved, in_other_byte_order(shape_, saved)}) {
      for (size_t at = 0; at < snapshot.size(); at += repetitions(100) < 100 ? 7 : 1) {
        const unsigned char good = snapshot[at];
        const int wrong = r_.chance(50) ? good ^ 1 << r_.between(0, 7) : r_.chance(50) ? good ^ 0xff : good == 0;
        snapshot[at] = static_cast<unsigned char>(wrong);
        ASSERT_EQ(open(snapshot, shape_), damaged) << "byte " << at << " as " << wrong;
        snapshot[at] = good;
      }
      ASSERT_EQ(status_name(open(snapshot, shape_)), "HEED_OK");
    }
  }
}

TEST_P(snapshots, of_another_shape_are_refused) {
  make(HEED_CACHE_RING);
  const bytes saved = saved_bytes();
  for (int32_t heed_cache_shape::*field :
       {&heed_cache_shape::capacity, &heed_cache_shape::pinned, &heed_cache_shape::spare,
        &heed_cache_shape::n_sequences, &heed_cache_shape::n_kv_heads, &heed_cache_shape::head_dim,
        &heed_cache_shape::v_dim})
    for (const int32_t change : {-1, 1}) {
      heed_cache_shape other = shape_;
      other.*field += change;
      EXPECT_EQ(status_name(open(saved, other)), status_name(damaged)) << text_of(other);
    }
  for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; ++dtype) {
    heed_cache_shape other = shape_;
    other.dtype = dtype;
    EXPECT_EQ(open(saved, other), dtype == shape_.dtype ? HEED_OK : damaged) << text_of(other);
  }
  heed_cache_shape linear = shape_;
  linear.kind = HEED_CACHE_LINEAR, linear.pinned = linear.spare = 0;
  EXPECT_EQ(status_name(open(saved, linear)), status_name(damaged));
}

// A checksum is of the bytes as they are.
TEST_P(snapshots, any_change_undoes_the_save) {
  const std::function<heed_status()> changes[] = {
      [&] { return append(&cache_, 0, random_tokens(r_, shape_, 1)); },
      [&] { return heed_cache_truncate(&cache_, 1, 1); }, [&] { return heed_cache_reset(&cache_); },
      [&] { return heed_cache_init(&cache_, &shape_, heed_memory_of(buffer_, sizeof buffer_)); }};
  for (const auto &change : changes) {
    make(HEED_CACHE_LINEAR);
    EXPECT_EQ(open({buffer_, buffer_ + heed_cache_bytes(&shape_)}, shape_), damaged) << "not saved";
    saved_bytes();
    ASSERT_EQ(change(), HEED_OK);
    EXPECT_EQ(open({buffer_, buffer_ + heed_cache_bytes(&shape_)}, shape_), damaged) << "changed";
    EXPECT_EQ(open(saved_bytes(), shape_), HEED_OK) << "saved again";
  }
}

// What reads only leaves it; so does what is refused.
TEST_P(snapshots, reading_leaves_the_save) {
  make(HEED_CACHE_LINEAR);
  const bytes saved = saved_bytes();
  attend(&cache_);
  EXPECT_NE(append(&cache_, 0, random_tokens(r_, shape_, 6)), HEED_OK);
  EXPECT_NE(heed_cache_truncate(&cache_, 0, 9), HEED_OK);
  EXPECT_EQ(heed_cache_length(&cache_, 1), 4);
  EXPECT_EQ(saved_bytes(), saved);
}

// Snapshots outlive programs: these bytes may not change while the version in them does not.
TEST_P(snapshots, are_the_same_in_all_releases) {
  static const uint32_t known[2][4] = {{0x1e96abc8, 0x5ed2686b, 0x0813cbc1, 0x190af2f9},   // version 1: one sequence
                                       {0xdbf9759f, 0xc49e211e, 0xc5c14fa0, 0xc4735b66}};  // version 2: several
  for (const int32_t n_sequences : {1, 2}) {
    heed_cache_shape s = cache_shape(HEED_CACHE_RING, 60, 1, 2, 1, GetParam(), 1, 10, n_sequences);
    std::memset(buffer_, 0, sizeof buffer_);
    ASSERT_EQ(heed_cache_init(&cache_, &s, heed_memory_of(buffer_, sizeof buffer_)), HEED_OK);
    for (int32_t i = 0; i < 200; ++i) {
      const float x = static_cast<float>(i % 9) - 3.5f;
      ASSERT_EQ(append(&cache_, n_sequences - 1, {1, {x, 2 * x + 1}, {-x}}), HEED_OK);
    }
    ASSERT_EQ(heed_cache_save(&cache_), HEED_OK);
    bytes snapshot(buffer_, buffer_ + heed_cache_bytes(&s));
    const uint16_t one = 1;
    if (reinterpret_cast<const unsigned char &>(one) == 0) snapshot = in_other_byte_order(s, snapshot);
    EXPECT_EQ(crc_32(snapshot), known[n_sequences - 1][GetParam()]) << std::hex << crc_32(snapshot);
  }
}

INSTANTIATE_TEST_SUITE_P(
    dtype, snapshots, ::testing::Values(HEED_F32, HEED_F16, HEED_BF16, HEED_INT8), [](const auto &info) {
      return std::string(std::vector<const char *>{"f32", "f16", "bf16", "int8"}[size_t(info.param)]);
    });

}  // namespace
}  // namespace heed_test
