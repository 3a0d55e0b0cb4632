// A cache under a fuzzer. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FUZZ_CACHE_HPP
#define HEED_TESTS_SUPPORT_FUZZ_CACHE_HPP

#include "fuzz_call.hpp"
#include "fuzz_options.hpp"

namespace heed_test {

// A life of one cache: drawn first, then lived on a kernel and on the reference of its profile. Any step may be
// refused, the same on both, and then has changed nothing.
class cache_life {
 public:
  explicit cache_life(fuzz_bytes *in) : in_(in), memory_(in) {
    draw_shape();
    bytes_ = heed_cache_bytes(&shape_);
    if (bytes_ > 1 << 17) return;
    n_bytes_ = in->rarely() ? in->byte() * 64 : bytes_ + in->byte() % 100;
    buffer_ = static_cast<uint8_t *>(memory_.buffer(n_bytes_ + 64, false));  // narrow NaN in it are not compared
    unused_.assign(buffer_, buffer_ + n_bytes_);
    for (int steps = 1 + in->byte() % 12; steps > 0 && memory_.usable(); --steps) draw_step();
  }
  void run() {
    if (buffer_) check(in_, &memory_, [this] { return live(); });
  }

 private:
  enum class action { append, attend, truncate, reset, length, seal, open, damage, n_actions };
  struct step {
    action what;
    int32_t sequence, n;
    heed_tensor k, v;
    const heed_rope *rope;
    heed_attention call;
    size_t at;
  };

  void draw_shape() {
    shape_ = heed_cache_shape_default(1, 1, 1);
    if (in_->rarely()) shape_.struct_size = uint32_t(in_->word());
    shape_.kind = in_->flag(), shape_.format = in_->rarely() ? in_->word() : in_->byte() % 4;
    shape_.capacity = in_->byte() < 240 ? 1 + in_->byte() % 100 : in_->size();
    if (in_->byte() % 2) shape_.spare = in_->rarely() ? in_->word() : in_->byte() % 20;
    if (in_->byte() % 2) shape_.pinned = in_->rarely() ? in_->word() : in_->byte() % 70;
    if (shape_.kind == HEED_CACHE_LINEAR && !in_->rarely()) shape_.spare = shape_.pinned = 0;
    const auto small = [this](int32_t most) { return in_->rarely() ? in_->size() : 1 + in_->byte() % most; };
    shape_.n_sequences = small(2), shape_.n_kv_heads = small(2), shape_.head_dim = small(20), shape_.v_dim = small(20);
  }
  void draw_step() {
    const uint8_t b = in_->byte();
    step s = {};
    s.what = b < 90 ? action::append : b < 180 ? action::attend : static_cast<action>(b % int(action::n_actions));
    s.sequence = in_->rarely() ? in_->size() - 3 : in_->byte() % 2;
    s.n = in_->byte() < 200 ? in_->byte() % 30 : in_->size();
    s.at = size_t(in_->byte()) << 8 | in_->byte();
    if (s.what == action::append && s.n < 2000) draw_tokens(&s);
    if (s.what == action::attend) draw_call(&s);
    if (s.what == action::append || s.what == action::attend || s.n < 2000) steps_.push_back(s);
  }
  void draw_tokens(step *s) {
    s->k = tensor_of<heed_tensor>(in_, &memory_, 1, shape_.n_kv_heads, s->n, shape_.head_dim, false);
    s->v = tensor_of<heed_tensor>(in_, &memory_, 1, shape_.n_kv_heads, s->n, shape_.v_dim, false);
    if (in_->byte() % 2 == 0) s->rope = rope_of(in_, &memory_, shape_.head_dim);
  }
  void draw_call(step *s) {
    heed_attention &c = s->call;
    c.struct_size = sizeof c;
    c.batch = in_->rarely() ? in_->size() : shape_.n_sequences;
    c.n_kv_heads = in_->rarely() ? in_->size() : shape_.n_kv_heads;
    c.n_heads = int32_t((1 + in_->byte() % 3) * int64_t{c.n_kv_heads & 0xffff});
    c.n_q = in_->byte() < 128 ? 1 : in_->size(), c.n_kv = in_->byte() < 200 ? 400 : in_->size();
    c.head_dim = shape_.head_dim, c.v_dim = in_->rarely() ? in_->size() : shape_.v_dim;
    c.scale = HEED_SCALE_DEFAULT, c.causal = in_->flag();
    c.position = in_->byte() < 200 ? 0 : in_->byte() < 200 ? in_->byte() - 100 : in_->word();
    if (too_much(double(c.batch) * c.n_heads * c.n_q * c.n_kv * (double(c.head_dim) + c.v_dim)))
      return memory_.give_up();
    c.q = tensor_of<heed_tensor>(in_, &memory_, c.batch, c.n_heads, c.n_q, c.head_dim, false);
    c.out = tensor_of<heed_tensor_out>(in_, &memory_, c.batch, c.n_heads, c.n_q, c.v_dim, true);
    if (in_->rarely()) c.out.data = reinterpret_cast<float *>(buffer_ + s->at % (bytes_ + 1) / 4 * 4);
    c.workspace = workspace_of(in_, &memory_, c.head_dim, c.v_dim);
    c.executor = executor_of(in_, &executor_);
    c.options = fuzz_options(in_, &memory_, c.batch, c.n_heads, c.n_q, c.n_kv).draw(false);
    c.cache = &cache_;
  }

  heed_status live() {
    std::vector<heed_status> statuses;
    cache_ = {};
    std::copy(unused_.begin(), unused_.end(), buffer_);
    statuses.push_back(
        attempt([this] { return heed_cache_init(&cache_, &shape_, heed_memory_of(buffer_, n_bytes_)); }));
    for (const step &s : steps_)
      if (statuses[0] == HEED_OK) statuses.push_back(attempt([&] { return take(s); }));
    if (!first_.empty() && first_ != statuses) fail("another status on the reference");
    first_ = statuses;
    return HEED_OK;
  }
  heed_status take(const step &s) {
    switch (s.what) {
      case action::append:
        return heed_cache_append(&cache_, s.sequence, s.k, s.v, s.n, s.rope);
      case action::attend:
        return heed_attention_run(&s.call);
      case action::truncate:
        return heed_cache_truncate(&cache_, s.sequence, s.n);
      case action::reset:
        return heed_cache_reset(&cache_);
      case action::length:
        return std::min({0, heed_cache_length(&cache_, s.sequence), heed_cache_longest(&cache_)});
      case action::open:
        return heed_cache_open(&cache_, &shape_, heed_memory_of(buffer_, n_bytes_));
      case action::damage:  // of anything, so that it may be accepted, too
        buffer_[s.at % bytes_] ^= static_cast<uint8_t>(s.n | 1);
        return HEED_OK;
      default:
        return heed_cache_seal(&cache_);
    }
  }
  template <typename Call>
  heed_status attempt(Call call) {
    const std::vector<uint8_t> before = memory_.contents(), cached(buffer_, buffer_ + n_bytes_);
    const heed_status status = call();
    if (!heed_status_text(status)[0] || !heed_status_argument(status)[0]) fail("a status without text");
    if (status == HEED_OK) return status;
    if (memory_.contents() != before || !std::equal(cached.begin(), cached.end(), buffer_))
      fail("a refused step wrote");
    return status;
  }

  fuzz_bytes *in_;
  fuzz_memory memory_;
  heed_cache_shape shape_;
  size_t bytes_ = 0, n_bytes_ = 0;
  uint8_t *buffer_ = nullptr;
  std::vector<uint8_t> unused_;
  std::vector<step> steps_;
  heed_executor executor_;
  heed_cache cache_ = {};
  std::vector<heed_status> first_;
};

}  // namespace heed_test

#endif
