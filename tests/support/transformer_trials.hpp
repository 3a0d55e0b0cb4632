// Trials of layers of a transformer and of caches: large ones use executors, which may choose another kernel.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_TRANSFORMER_TRIALS_HPP
#define HEED_TESTS_SUPPORT_TRANSFORMER_TRIALS_HPP

#include <cmath>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "caches.hpp"
#include "primitive_trials.hpp"

namespace heed_test {

// A cache in a trial's memory that holds some tokens, and a copy of its buffer.
class staged_cache {
 public:
  staged_cache(random_source &r, const heed_cache_shape &shape, int32_t n_before, stage *memory)
      : bytes_(heed_cache_bytes(&shape)) {
    const placement all = {1, 1, 1, static_cast<int32_t>(bytes_ / sizeof(float)), 0, 0, 0};
    void *const buffer = memory->scratch<void>(bytes_, HEED_CACHE_ALIGNMENT, all);
    EXPECT_EQ(status_name(heed_cache_init(&cache, &shape, buffer, bytes_)), "HEED_OK");
    if (n_before > 0) {
      tokens t = {n_before, bell_floats(r, size_t(n_before) * shape.n_kv_heads * shape.head_dim),
                  bell_floats(r, size_t(n_before) * shape.n_kv_heads * shape.v_dim)};
      EXPECT_EQ(status_name(append(&cache, 0, t)), "HEED_OK");
    }
    const auto *from = static_cast<const float *>(cache.buffer);
    image_.assign(from, from + bytes_ / sizeof(float));
  }
  // The cache as it was at first, in memory of the caller's.
  heed_cache copy(std::vector<float> *to) const {
    to->resize(image_.size() + 16);
    const uintptr_t address = reinterpret_cast<uintptr_t>(to->data());
    heed_cache other = cache;
    other.buffer = reinterpret_cast<void *>((address + 63) / 64 * 64);
    std::memcpy(other.buffer, image_.data(), bytes_);
    return other;
  }
  void add_contents(const heed_cache &other, std::vector<float> *to) const {
    const auto *from = static_cast<const float *>(other.buffer);
    to->insert(to->end(), from, from + image_.size());
  }
  heed_cache cache = {};

 private:
  size_t bytes_;
  std::vector<float> image_;
};

// Rows whose causal attention is worth threads.
inline int32_t rows_worth_threads(int32_t n_heads, int32_t dims) {
  return static_cast<int32_t>(std::sqrt(2.0 * 2100000 / (double(n_heads) * dims))) + 2;
}

class block_trial : public matrix_trial {
 public:
  block_trial(random_source &r, extent e) : matrix_trial(&r, e), l_(r, r.chance(60)) {
    heed_block &b = l_.block;
    const int32_t most = e == extent::large ? rows_worth_threads(b.n_heads, b.head_dim + b.v_dim) : 12;
    n_ = e == extent::large ? most : r.between(1, most);
    if (b.causal && r.chance(60)) add_cache(r);
    if (r.chance(30)) {
      heed_softcap_init(&softcap_, 2.0f);
      options_.softcap = &softcap_;
      b.options = &options_;
    }
    x_numbers_ = {n_, b.model_dim, bell_floats(r, size_t(n_) * b.model_dim)};
    if (r.chance(30)) {
      const placement view = random_placement(r, 1, 1, n_, b.model_dim);
      y_ = output_rows(view, memory.output(view));
      scatter(view, x_numbers_.values, y_.data);
      x_ = input_rows(view, y_.data);
    } else {
      x_ = put_matrix(r, e, &x_numbers_);
      y_ = place_result(r, n_, b.model_dim);
    }
    activations_ = memory.scratch<float>(l_.n_activations(n_) * sizeof(float), sizeof(float));
    bytes_ = workspace_bytes(r, b.head_dim, b.v_dim);
    workspace_ = memory.scratch<void>(bytes_, HEED_WORKSPACE_ALIGNMENT);
  }
  std::string text() const override {
    const heed_block &b = l_.block;
    return "block of model_dim " + std::to_string(b.model_dim) + " heads " + std::to_string(b.n_heads) + "/" +
           std::to_string(b.n_kv_heads) + " head_dim " + std::to_string(b.head_dim) + " v_dim " +
           std::to_string(b.v_dim) + " hidden " + std::to_string(b.hidden_dim) + " rows " + std::to_string(n_) +
           (cache_ ? " cache " + text_of(cache_->cache.shape) : "");
  }
  heed_status call() override {
    return heed_block_run(&l_.block, x_, y_, activations_, l_.n_activations(n_), workspace_, bytes_, executor());
  }
  std::vector<float> plain() const override {
    std::vector<float> buffer, result;
    heed_cache copy = {};
    if (cache_) copy = cache_->copy(&buffer);
    const std::vector<float> y = compose(l_.block, x_numbers_.values, n_, cache_ ? &copy : nullptr, l_.block.options);
    if (cache_) cache_->add_contents(copy, &result);  // in the order of the arrays
    result.insert(result.end(), y.begin(), y.end());
    return result;
  }
  std::vector<spoilings> flaws(random_source &) override { return {}; }

 private:
  void add_cache(random_source &r) {
    heed_block &b = l_.block;
    const bool ring = r.chance(40);
    const int32_t n_before = r.between(0, 20);
    const heed_cache_shape shape =
        cache_shape(ring ? HEED_CACHE_RING : HEED_CACHE_LINEAR,
                    ring ? r.between(1, 30) : n_before + n_ + r.between(0, 9), b.n_kv_heads, b.head_dim, b.v_dim,
                    r.between(HEED_F32, HEED_INT8), ring ? r.between(0, 5) : 0, ring ? std::max(n_ - 1, n_before) : 0);
    cache_ = std::make_unique<staged_cache>(r, shape, n_before, &memory);
    b.cache = &cache_->cache;
  }

  random_block l_;
  int32_t n_;
  std::unique_ptr<staged_cache> cache_;
  heed_softcap softcap_;
  heed_options options_ = HEED_OPTIONS;
  matrix x_numbers_;
  heed_matrix x_;
  heed_matrix_out y_;
  float *activations_;
  size_t bytes_;
  void *workspace_;
};

// New tokens, with and without rope, and attention over the cache that then holds them.
class cache_trial : public trial {
 public:
  cache_trial(random_source &r, extent e) : trial(&r, e) {
    const int32_t n_kv_heads = r.between(1, 2), head_dim = 2 * r.size(1, 20), v_dim = r.size(1, 40);
    const int32_t n_heads = n_kv_heads * r.between(1, 3), before = r.between(0, 40);
    const int32_t n = e == extent::large ? rows_worth_threads(n_heads, head_dim + v_dim) : r.between(1, 12);
    const bool ring = r.chance(40);
    cache_ = std::make_unique<staged_cache>(
        r,
        cache_shape(ring ? HEED_CACHE_RING : HEED_CACHE_LINEAR, ring ? r.between(1, 60) : before + n, n_kv_heads,
                    head_dim, v_dim, r.between(HEED_F32, HEED_INT8), ring ? r.between(0, 5) : 0,
                    ring ? std::max(n - 1, before) : 0),
        before, &memory);
    const placement k = random_input_placement(r, 1, n_kv_heads, n, head_dim);
    const placement v = random_input_placement(r, 1, n_kv_heads, n, v_dim);
    std::vector<float> keys = bell_floats(r, size_t(n) * n_kv_heads * head_dim),
                       values = bell_floats(r, size_t(n) * n_kv_heads * v_dim),
                       queries = bell_floats(r, size_t(n) * n_heads * head_dim);
    k_ = input_view(k, put(k, &keys)), v_ = input_view(v, put(v, &values));
    const placement q = random_placement(r, 1, n_heads, n, head_dim);
    out_place_ = random_placement(r, 1, n_heads, n, v_dim);
    bytes_ = workspace_bytes(r, head_dim, v_dim);
    call_ = heed_attention_of(n, before + n, n_heads, n_kv_heads, head_dim, nullptr, nullptr, nullptr, nullptr, nullptr,
                              bytes_);
    call_.v_dim = v_dim, call_.causal = 1;
    call_.q = input_view(q, put(q, &queries));
    call_.out = output_view(out_place_, memory.output(out_place_));
    call_.workspace = memory.scratch<void>(bytes_, HEED_WORKSPACE_ALIGNMENT);
    call_.executor = executor();
    if (r.chance(60)) heed_rope_init(&rope_, r.between(0, 1)), with_rope_ = true;
  }
  std::string text() const override {
    return "cache " + text_of(cache_->cache.shape) + (with_rope_ ? " rope" : "") + " new tokens " +
           std::to_string(call_.n_q) + " queries of heads " + std::to_string(call_.n_heads);
  }
  heed_status call() override { return run(call_, &cache_->cache); }
  std::vector<float> plain() const override {
    std::vector<float> buffer, out(out_place_.extent()), result, memory_of_call(bytes_ / sizeof(float) + 16);
    heed_cache copy = cache_->copy(&buffer);
    heed_attention simple = call_;
    simple.executor = nullptr;
    simple.out.data = out.data();
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory_of_call.data());
    simple.workspace = reinterpret_cast<void *>((address + 63) / 64 * 64);
    simple.workspace_bytes = heed_workspace_min_bytes(call_.head_dim, call_.v_dim);
    EXPECT_EQ(status_name(run(simple, &copy)), "HEED_OK") << text();
    cache_->add_contents(copy, &result);
    const std::vector<float> rows = gather(out_place_, out.data());
    result.insert(result.end(), rows.begin(), rows.end());
    return result;
  }
  std::vector<spoilings> flaws(random_source &) override { return {}; }

 private:
  heed_status run(heed_attention call, heed_cache *cache) const {
    const heed_status status = heed_cache_append(cache, 0, call.n_q, k_, v_, with_rope_ ? &rope_ : nullptr);
    if (status != HEED_OK) return status;
    heed_options options = HEED_OPTIONS;
    options.cache = cache;
    call.options = &options;
    return heed_attention_run(&call);
  }

  std::unique_ptr<staged_cache> cache_;
  placement out_place_;
  heed_tensor k_, v_;
  heed_attention call_;
  heed_rope rope_;
  bool with_rope_ = false;
  size_t bytes_;
};

}  // namespace heed_test

#endif
