// A cache as a state machine: random sequences of all calls, on all kernels in turn, against a plain list of tokens.
// Attention must give the bits of a call on plain tensors. SPDX-License-Identifier: MIT
#include <memory>
#include <tuple>

#include "support/aged.hpp"
#include "support/cached_runs.hpp"
#include "support/data.hpp"
#include "support/snapshots.hpp"

namespace heed_test {
namespace {

enum class kind { linear, ring, pinned_ring };

// The life of one cache.
class machine {
 public:
  machine(kind k, int32_t dtype, uint64_t seed) : r_(seed), shape_(random_cache_shape(k, dtype)) {
    for (const std::string &name : kernels_of_build())
      if (heed_isa_arithmetic(name.c_str()) == int32_t(seed % 2) && is_usable_once(name)) kernels_.push_back(name);
    if (kernels_.empty()) kernels_.push_back(heed_isa_current());
    reset_model();
    place();
    EXPECT_EQ(status_name(heed_cache_init(&cache_, &shape_, memory_->all())), "HEED_OK");
  }
  std::string text() const { return text_of(shape_) + " on " + kernel_; }

  void step() {
    kernel_ = r_.pick(kernels_);
    heed_isa_use(kernel_.c_str());
    const int32_t what = r_.between(0, 99), sequence = r_.between(0, shape_.n_sequences - 1);
    if (what < 40)
      append_some(sequence);
    else if (what < 50)
      truncate(sequence);
    else if (what < 55)
      refuse(sequence);
    else if (what < 59)
      move();
    else if (what < 60)
      reset();
    else if (what < 64)
      grow_old(sequence);
    else
      attend();
    int32_t greatest = 0;
    for (int32_t i = 0; i < shape_.n_sequences; ++i) {
      EXPECT_EQ(heed_cache_length(&cache_, i), model_[size_t(i)].position());
      greatest = std::max(greatest, model_[size_t(i)].length());
    }
    EXPECT_EQ(heed_cache_longest(&cache_), greatest);
    EXPECT_TRUE(memory_->guard_intact()) << "memory beside the buffer was written";
  }
  int n_attended = 0, n_wrapped = 0, n_renumbered = 0;

 private:
  static bool is_usable_once(const std::string &name) {  // asking the processor takes its time
    static std::map<std::string, bool> known;
    const auto found = known.find(name);
    return found != known.end() ? found->second : (known[name] = is_usable(name));
  }
  heed_cache_shape random_cache_shape(kind k, int32_t dtype) {
    const bool ring = k != kind::linear, is_long = r_.chance(4);
    const int32_t head_dim = r_.size(1, is_long ? 4 : 18),
                  v_dim = r_.chance(40) ? head_dim : r_.size(1, is_long ? 4 : 18);
    const int32_t capacity = is_long ? r_.between(900, 1200) : ring ? r_.size(1, 150) : r_.size(1, 300);
    const int32_t pinned = k == kind::pinned_ring ? (r_.chance(70) ? r_.between(1, 8) : r_.between(1, 140)) : 0;
    return cache_shape(ring ? HEED_CACHE_RING : HEED_CACHE_LINEAR, capacity, r_.chance(60) ? 1 : r_.between(2, 3),
                       head_dim, v_dim, dtype, pinned, ring ? r_.size(0, 40) : 0, r_.chance(60) ? 1 : r_.between(2, 3));
  }
  void reset_model() { model_.assign(size_t(shape_.n_sequences), sequence_model(shape_)); }
  void place() {
    where_ = where_ == slot_cache ? slot_other_cache : slot_cache;
    memory_ = std::make_unique<cache_memory>(where_, shape_, r_.chance(50));
  }

  // Null: without.
  const heed_rope *random_rope(heed_rope *rope) {
    if (shape_.head_dim < 2 || r_.chance(60)) return nullptr;
    EXPECT_EQ(heed_rope_init(rope, r_.chance(50) ? HEED_ROPE_HALVES : HEED_ROPE_INTERLEAVED), HEED_OK);
    rope->rotary_dim = r_.chance(40) && shape_.head_dim % 2 == 0 ? 0 : 2 * r_.between(1, shape_.head_dim / 2);
    rope->base = r_.chance(50) ? 10000.0f : 500.0f;
    return rope;
  }
  void append_some(int32_t sequence) {
    sequence_model &m = model_[size_t(sequence)];
    const int32_t most = shape_.kind == HEED_CACHE_RING ? shape_.capacity + shape_.spare : shape_.capacity - m.length();
    const int32_t n = r_.chance(3) ? most + 1
                                   : std::min(std::max(most, 1),
                                              r_.chance(60) ? r_.between(1, 4) : r_.between(1, most > 300 ? 400 : 60));
    const tokens t = random_tokens(r_, shape_, n);
    heed_rope rope;
    const heed_rope *const turn = random_rope(&rope);
    const std::vector<unsigned char> before = m.has_room(n) ? std::vector<unsigned char>() : memory_->copy();
    const heed_status status = append(&cache_, sequence, t, all_layouts[r_.between(0, 4)], r_.between(1, 9), turn);
    if (m.has_room(n)) {
      EXPECT_EQ(status_name(status), "HEED_OK");
      if (status == HEED_OK) m.append(t, turn);
    } else {
      const heed_status refusal = shape_.kind == HEED_CACHE_RING ? HEED_STATUS(HEED_TOO_MANY_ROWS, HEED_ARG_N)
                                                                 : HEED_STATUS(HEED_FULL, HEED_ARG_CACHE);
      EXPECT_EQ(status_name(status), status_name(refusal));
      EXPECT_TRUE(memory_->holds(before));
    }
    n_wrapped += shape_.kind == HEED_CACHE_RING && m.length() > shape_.capacity + shape_.spare + 64;
  }
  // Some tokens back, or most of them. A ring may keep more than it promises, so that it may refuse, or not.
  void truncate(int32_t sequence) {
    sequence_model &m = model_[size_t(sequence)];
    const int32_t length =
        r_.chance(60) ? m.length() - std::min(m.length(), r_.between(0, shape_.spare + 2)) : r_.between(0, m.length());
    const bool promised =
        m.holds(shape_.kind == HEED_CACHE_RING ? int64_t{length} - shape_.capacity + 1 : 0) || length == 0;
    const std::vector<unsigned char> before = memory_->copy();
    const heed_status status = heed_cache_truncate(&cache_, sequence, m.position_of(length));
    if (status == HEED_OK) return m.truncate(length);
    EXPECT_FALSE(promised) << "cut to " << length << " of " << m.length();
    EXPECT_EQ(status_name(status), status_name(HEED_STATUS(HEED_EVICTED, HEED_ARG_LENGTH)));
    EXPECT_TRUE(memory_->holds(before));
  }
  // Months pass, until the ring numbers its keys anew.
  void grow_old(int32_t sequence) {
    sequence_model &m = model_[size_t(sequence)];
    if (!m.has_wrapped()) return;
    const int32_t period = period_of(ring_slots_of(shape_), 1024), half = HEED_MAX_COUNT / 2, before = m.length(),
                  more = age(memory_->data(), behind_header, sequence, period,
                             half + (r_.chance(50) ? r_.between(-50, period) : r_.between(0, half)));
    m.grow_old(more);
    for (int32_t n = 0; heed_cache_longest(&cache_) > half / 2 && n < 5000; ++n) append_some(sequence);
    const int32_t length = numbers_in(memory_->data(), behind_header, sequence).length, appended = m.length() - before;
    ++n_renumbered;
    EXPECT_LT(length, half / 2);
    EXPECT_EQ((before + more + appended - length) % period, 0);
    m.renumber(length);
  }
  void reset() {
    EXPECT_EQ(heed_cache_reset(&cache_), HEED_OK);
    reset_model();
  }
  void refuse(int32_t sequence) {
    const int64_t length = model_[size_t(sequence)].position();
    const int32_t wrong = r_.chance(50) ? -1 : shape_.n_sequences;
    const std::vector<unsigned char> before = memory_->copy();
    const tokens t = random_tokens(r_, shape_, 1);
    const heed_status of_sequence = HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE);
    EXPECT_EQ(append(&cache_, wrong, t), of_sequence);
    EXPECT_EQ(heed_cache_truncate(&cache_, wrong, 0), of_sequence);
    EXPECT_EQ(heed_cache_length(&cache_, wrong), of_sequence);
    for (const int64_t n : {int64_t{-1}, length + 1})
      EXPECT_EQ(heed_cache_truncate(&cache_, sequence, n), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_LENGTH));
    EXPECT_TRUE(memory_->holds(before));
  }

  // To another buffer, as a snapshot of this machine or of one of the other byte order.
  void move() {
    EXPECT_EQ(heed_cache_save(&cache_), HEED_OK);
    std::vector<unsigned char> bytes = memory_->copy();
    EXPECT_TRUE(is_saved_snapshot(bytes));
    if (r_.chance(50)) bytes = in_other_byte_order(shape_, bytes);
    std::fill_n(memory_->data(), memory_->count(), static_cast<unsigned char>(0xff));
    place();
    const size_t at = r_.next() % bytes.size();
    const auto bit = static_cast<unsigned char>(1 << r_.between(0, 7));
    bytes[at] ^= bit;
    memory_->write(bytes);
    cache_ = {};
    EXPECT_EQ(status_name(heed_cache_load(&cache_, &shape_, memory_->all())),
              status_name(HEED_STATUS(HEED_CORRUPT, HEED_ARG_MEMORY)));
    EXPECT_TRUE(memory_->holds(bytes));
    EXPECT_EQ(cache_.struct_size, 0u);
    bytes[at] ^= bit;
    memory_->write(bytes);
    EXPECT_EQ(status_name(heed_cache_load(&cache_, &shape_, memory_->all())), "HEED_OK");
    EXPECT_TRUE(is_saved_snapshot(memory_->copy())) << "as good a snapshot as before";
  }

  void attend() {
    const int32_t most = shape_.kind == HEED_CACHE_RING && r_.chance(80) ? shape_.spare + 1 : 20;
    const int32_t n_q = r_.chance(50) ? 1 : r_.between(1, std::min(most, 20)),
                  n_kv = longest(model_) + (r_.chance(70) ? 0 : r_.between(1, 9));
    problem p = problem_over(shape_, model_, r_.chance(50) ? 1 : r_.between(2, 4), n_q, n_kv);
    draw_features(r_, &p);
    if (r_.chance(50)) p.causal = 1;
    if (r_.chance(50)) p.causal_offset = 0, p.options.offsets.clear();
    const auto moderate = [](int32_t *x) { *x = std::max(-(1 << 29), std::min(1 << 29, *x)); };
    moderate(&p.causal_offset);
    for (int32_t &x : p.options.offsets) moderate(&x);
    const bool promised = is_promised(p, shape_, model_);
    if (!promised) p.options.partial = false;
    // Distances of pinned keys go on, while numbers, and those of the plain call, begin again: aged_test.cpp.
    for (const sequence_model &m : model_)
      if (m.is_renumbered() && shape_.pinned > 0) p.options.slopes.clear();
    p.q = bell_floats(r_, p.q_floats());
    const auto executor = r_.chance(10) ? random_executor(r_) : nullptr;
    const cached_result found = run_cached(p, random_setting(r_, p, executor.get()), &cache_, promised);
    if (found.status != HEED_OK) {
      const heed_argument argument = p.options.pinned > shape_.pinned ? HEED_ARG_PINNED : HEED_ARG_N_Q;
      EXPECT_FALSE(promised);
      EXPECT_TRUE(found.status == HEED_STATUS(HEED_EVICTED, HEED_ARG_N_Q) ||
                  found.status == HEED_STATUS(HEED_EVICTED, argument))
          << status_name(found.status);
      return;
    }
    ++n_attended;
    const problem plain = as_tensors(p, shape_, model_);
    const kernel_scope scope(reference_of(kernel_).empty() ? kernel_ : reference_of(kernel_));
    EXPECT_TRUE(same_results(run(plain, plain_setting(plain, false)), found.result))
        << p.text() << " as tensors " << plain.text();
  }

  random_source r_;
  const heed_cache_shape shape_;
  std::vector<std::string> kernels_;
  std::string kernel_;
  cache_model model_;
  slot where_ = slot_cache;
  std::unique_ptr<cache_memory> memory_;
  heed_cache cache_;
};

class cache_machine : public ::testing::TestWithParam<std::tuple<kind, int32_t>> {
 protected:
  void TearDown() override { heed_isa_use(nullptr); }
};

TEST_P(cache_machine, is_a_list_of_tokens) {
  const auto [k, dtype] = GetParam();
  const int32_t n_steps = repetitions(20000), a_life = 125;
  int n_attended = 0, n_wrapped = 0, n_renumbered = 0;
  for (int32_t done = 0; done < n_steps && !HasFailure(); done += a_life) {
    const uint64_t seed =
        7000000 + uint64_t(static_cast<int>(k)) * 1000000 + uint64_t(dtype) * 100000 + uint64_t(done) / a_life;
    machine m(k, dtype, seed);
    int32_t i = 0;
    for (; i < a_life && !HasFailure(); ++i) m.step();
    if (HasFailure()) ADD_FAILURE() << "seed " << seed << " step " << i << ": " << m.text();
    n_attended += m.n_attended, n_wrapped += m.n_wrapped, n_renumbered += m.n_renumbered;
  }
  RecordProperty("steps", n_steps);
  RecordProperty("attended", n_attended);
  EXPECT_GE(n_attended, n_steps / 5);
  EXPECT_TRUE(k == kind::linear || n_steps < 2000 || n_wrapped > n_steps / 50) << n_wrapped;
  EXPECT_TRUE(k == kind::linear || n_steps < 2000 || n_renumbered > n_steps / 1000) << n_renumbered;
}

std::string label(const ::testing::TestParamInfo<std::tuple<kind, int32_t>> &info) {
  static const char *const kinds[] = {"linear", "ring", "pinned_ring"}, *const formats[] = {"f32", "f16", "bf16",
                                                                                            "int8"};
  return std::string(kinds[static_cast<int>(std::get<0>(info.param))]) + "_" + formats[std::get<1>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(kind, cache_machine,
                         ::testing::Combine(::testing::Values(kind::linear, kind::ring, kind::pinned_ring),
                                            ::testing::Values(HEED_F32, HEED_F16, HEED_BF16, HEED_INT8)),
                         label);

}  // namespace
}  // namespace heed_test
