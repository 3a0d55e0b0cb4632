// Trials of caches. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_CACHE_TRIALS_HPP
#define HEED_TESTS_SUPPORT_CACHE_TRIALS_HPP

#include <string>
#include <vector>

#include "cache_flaws.hpp"
#include "cache_steps.hpp"

namespace heed_test {

// A life of a cache. Any step may be refused, the same on every kernel, and then has changed nothing.
class cache_life : public cache_steps {
 public:
  cache_life(random_source &r, extent e) : cache_steps(r, e) {
    memory.allow_unwritten();
    draw_steps(r, e);
    draw_call(r, e);
    most_calls_ = static_cast<int32_t>(steps_.size());
  }
  heed_status call() override {
    log_.clear();
    heed_cache cache = cache_.cache;
    for (const step &s : steps_) {
      const std::vector<float> before = memory.result();
      const heed_status status = one([&] { return take(s, &cache); });
      log_.push_back(static_cast<float>(status));
      const std::vector<float> after = memory.result();
      if (s.what == attend && status == HEED_OK) log_.insert(log_.end(), after.begin(), after.end());
      if (status < 0 && !same_bits(before, after)) ADD_FAILURE() << text() << ": a refused step wrote";
    }
    return HEED_OK;
  }
  std::vector<float> result() const override {
    std::vector<float> all = log_, last = cache_.contents(cache_.cache);
    all.insert(all.end(), last.begin(), last.end());
    return all;
  }
  std::vector<float> plain() const override {
    std::vector<float> buffer, log;
    heed_cache cache = cache_.copy(&buffer);
    for (const step &s : steps_) {
      cached_result attended;
      if (s.what == attend)
        attended = run_cached(p_, plain_setting(p_, false), &cache, false);
      else if (s.what == append_rows)
        attended.status = append_plainly(s, &cache);
      else
        attended.status = take(s, &cache);
      log.push_back(static_cast<float>(attended.status));
      if (s.what != attend || attended.status != HEED_OK) continue;
      for (const std::vector<float> &part :
           {cache_.contents(cache), attended.result.out, extra_results(attended.result)})
        log.insert(log.end(), part.begin(), part.end());
    }
    const std::vector<float> last = cache_.contents(cache);
    log.insert(log.end(), last.begin(), last.end());
    return log;
  }
  // What is seen of the cache is a plain list of tokens.
  void judge(const std::vector<float> &result, double) const override {
    const heed_cache_shape &shape = cache_.cache.shape;
    cache_model model(size_t(shape.n_sequences), sequence_model(shape));
    const heed_rope rope = rope_from(turn_);
    size_t at = 0;
    for (const step &s : steps_) {
      const auto status = static_cast<heed_status>(result[at++]);
      sequence_model *const m =
          s.sequence >= 0 && s.sequence < shape.n_sequences ? &model[size_t(s.sequence)] : nullptr;
      if (s.what == damage || (s.what == begin && status == HEED_OK)) return;
      if (s.what == grow_old) m->grow_old(status);
      if (s.what == attend && status == HEED_OK)
        for (int32_t i = 0; i < shape.n_sequences; ++i) {
          const key_numbers numbers = numbers_in(&result[at], behind_header, i);
          EXPECT_EQ(numbers.length + numbers.taken_back, model[size_t(i)].position());
          model[size_t(i)].renumber(numbers.length);
        }
      if (s.what == attend && !grows_old()) {
        const bool fits = p_.n_kv >= longest(model) && is_promised(p_, shape, model);
        EXPECT_TRUE(status == HEED_OK || !fits) << status_name(status);
      }
      if (status != HEED_OK) continue;
      if (s.what == append_rows) m->append(tokens_of(s), s.turned ? &rope : nullptr);
      if (s.what == truncate) m->truncate(s.n);
      if (s.what == reset) model.assign(model.size(), sequence_model(shape));
      if (s.what != attend) continue;
      at += cache_.contents(cache_.cache).size();
      problem tensors = as_tensors(p_, shape, model);
      const problem rows = problem_over(shape, model, p_.n_heads / p_.n_kv_heads, p_.n_q, p_.n_kv);
      tensors.k = rows.k, tensors.v = rows.v;
      const attention_result expected = heed_test::run(tensors, plain_setting(tensors, false));
      for (const std::vector<float> &part : {expected.out, extra_results(expected)}) {
        EXPECT_TRUE(same_bits(part, part_of(result, at, part.size()))) << "as tensors " << tensors.text();
        at += part.size();
      }
    }
  }
  std::vector<spoilings> flaws(random_source &) override { return {}; }

 private:
  // Mostly sensible: as if no step were refused.
  void draw_steps(random_source &r, extent e) {
    const heed_cache_shape &s = cache_.cache.shape;
    std::vector<int32_t> lengths(size_t(s.n_sequences), 0);
    if (e == extent::large) steps_ = {{append_rows, 0, n_tokens_, 0, true}, {attend, 0, 0, 0, false}};
    for (int32_t n = e == extent::large ? 0 : r.between(2, 9); n > 0; --n) {
      step now = one_step(r);
      int32_t *const at = now.sequence >= 0 && now.sequence < s.n_sequences ? &lengths[size_t(now.sequence)] : nullptr;
      const int32_t before = at ? *at : 0;
      if (now.what == append_rows) {
        const int32_t room = s.kind == HEED_CACHE_RING ? s.capacity + s.spare : s.capacity - before;
        const int32_t most = std::max(1, std::min(r.chance(90) ? room : room + 2, n_tokens_));
        now.n = r.chance(5) ? r.between(-1, 0) : r.between(1, most);
        now.first = r.between(0, n_tokens_ - std::max(now.n, 1));
        if (at && now.n > 0) *at += now.n;
      } else if (now.what == truncate) {
        now.n = r.chance(5) ? r.between(-1, before + 1) : r.between(std::max(0, before - s.spare - 1), before);
        if (at && now.n >= 0) *at = now.n;
      }
      steps_.push_back(now);
      if (r.chance(now.what == save ? 30 : 3))
        steps_.push_back({damage, 0, r.between(1, 255), r.between(0, 1 << 20), r.chance(30)});
      if (now.what == save && r.chance(90)) steps_.push_back({load, 0, 0, 0, false});
    }
    if (s.kind == HEED_CACHE_RING && e != extent::large && r.chance(20)) draw_months(r);
  }
  // A ring that is full, months, and so many tokens that it may number its keys anew.
  void draw_months(random_source &r) {
    const heed_cache_shape &s = cache_.cache.shape;
    const int32_t sequence = r.between(0, s.n_sequences - 1), most = std::min(s.capacity + s.spare, n_tokens_);
    const auto append_to = [&](int32_t n) {
      steps_.push_back({append_rows, sequence, n, r.between(0, n_tokens_ - n), r.chance(50) && s.head_dim > 1});
    };
    const int32_t tokens = int32_t(HEED_CACHE_SLOTS(s.pinned)) + ring_slots_of(s);
    if (tokens > 40 * most) return;
    for (int32_t n = 0; n <= tokens; n += most) append_to(most);
    steps_.push_back({grow_old, sequence, HEED_MAX_COUNT / 2 + r.between(0, 4000), 0, false});
    for (int32_t n = r.between(1, 3); n > 0; --n)
      append_to(r.between(1, most)), steps_.push_back({attend, 0, 0, 0, false});
  }
  heed_status take(const step &s, heed_cache *cache) const {
    const heed_cache_shape *const shape = &cache_.cache.shape;
    return cache_steps::take(s, cache, shape, heed_memory_of(cache->buffer, heed_cache_bytes(shape)));
  }
  tokens tokens_of(const step &s) const {
    const heed_cache_shape &shape = cache_.cache.shape;
    tokens t = {s.n, {}, {}};
    const auto take_rows = [&](const std::vector<float> &from, int32_t dim, std::vector<float> *to) {
      for (int32_t h = 0; h < shape.n_kv_heads; ++h)
        for (const float x : part_of(from, size_t(h * n_tokens_ + s.first) * size_t(dim), size_t(s.n) * size_t(dim)))
          to->push_back(x);
    };
    take_rows(numbers_.k, shape.head_dim, &t.k), take_rows(numbers_.v, shape.v_dim, &t.v);
    return t;
  }

  // From memory of its own: the trial's is in use.
  heed_status append_plainly(const step &s, heed_cache *cache) const {
    const heed_cache_shape &shape = cache_.cache.shape;
    step some = s;
    some.n = std::max(s.n, 1);
    const tokens t = tokens_of(some);
    const heed_rope rope = rope_from(turn_);
    return heed_cache_append(cache, s.sequence, heed_head_major(t.k.data(), t.n, shape.n_kv_heads, shape.head_dim),
                             heed_head_major(t.v.data(), t.n, shape.n_kv_heads, shape.v_dim), s.n,
                             s.turned ? &rope : nullptr);
  }

  std::vector<float> log_;  // a status of each step, and what was seen
};

// One step of a cache of two sequences, which is refused.
class cache_refusal : public cache_steps {
 public:
  cache_refusal(random_source &r, extent e) : cache_steps(r, e) {
    // Not turned: the sum of two great numbers may be infinite, which an int8 cache refuses.
    steps_ = {{append_rows, 0, n_tokens_ - 1, 0, false}, {append_rows, 1, n_tokens_ - 2, 1, false}, one_step(r)};
    draw_call(r, e);
    shape_ = memory.inputs<heed_cache_shape>(1);
    *shape_ = handle_->shape;
    room_ = heed_memory_of(handle_->buffer, heed_cache_bytes(shape_));
    for (size_t i = 0; i + 1 < steps_.size(); ++i) expect_done(take(steps_[i], handle_, shape_, room_));
    refused_ = &steps_.back();
    refused_->sequence = 1, refused_->n = 2;
    if (refused_->what == load) expect_done(heed_cache_save(handle_));
  }
  heed_status call() override { return take(*refused_, handle_, shape_, room_); }
  std::vector<float> plain() const override { return {}; }
  std::vector<spoilings> flaws(random_source &r) override {
    const heed_cache_shape &s = cache_.cache.shape;
    step *const now = refused_;
    std::vector<spoilings> all;
    if (now->what == begin || now->what == load) {
      return {wrong_workspace(&room_, heed_cache_bytes(shape_)),
              shapes(),
              {{"no handle", [=] { handle_ = nullptr; }},
               {"misaligned handle", [=] { handle_ = misaligned(handle_, 4); }},
               {"handle in its memory", [=] { handle_ = memory.plant(cache_.cache.buffer, cache_.cache); }}}};
    }
    all = {handles()};
    if (now->what == append_rows || now->what == truncate || now->what == length)
      all.push_back(wrong_values<int32_t>("sequence", &now->sequence, {-1, s.n_sequences, INT32_MIN, INT32_MAX}));
    if (now->what == truncate) all.push_back(wrong_values<int32_t>("length", &now->n, {-1, n_tokens_, INT32_MIN}));
    if (now->what == append_rows) add_append_flaws(r, &all);
    if (now->what == attend) add_call_flaws(r, &all);
    return all;
  }

 private:
  spoilings handles() {
    spoilings all = {{"no handle", [=] { handle_ = nullptr; }},
                     {"misaligned handle", [=] { handle_ = misaligned(handle_, 4); }}};
    for (const handle_flaw &f : handle_flaws())
      all.push_back({"handle: " + f.what, [=] { memory.edit([&] { f.apply(&cache_.cache); }); }});
    return all;
  }
  spoilings shapes() {
    spoilings all = {{"no shape", [=] { shape_ = nullptr; }},
                     {"misaligned shape", [=] { shape_ = misaligned(shape_, 2); }}};
    for (const shape_flaw &f : shape_flaws(cache_.cache.shape.kind))
      all.push_back({"shape: " + f.what, [=] { memory.edit([&] { f.apply(*shape_); }); }});
    return all;
  }
  float *inside(size_t bytes) const {
    return reinterpret_cast<float *>(static_cast<char *>(cache_.cache.buffer) + bytes);
  }
  void add_append_flaws(random_source &r, std::vector<spoilings> *all) {
    const heed_cache_shape &s = cache_.cache.shape;
    all->push_back(wrong_count("rows", &refused_->n, HEED_MAX_COUNT));
    all->back().push_back({"too many", [=, &s] { refused_->n = s.capacity + s.spare + 1; }});
    for (heed_tensor *t : {&k_, &v_}) {
      spoilings of_rows = without_batch(flaws_in("rows", t, tensor_flaws<heed_tensor>()));
      const size_t at = 4 * size_t(r.between(-1, static_cast<int32_t>(heed_cache_bytes(&s) / 4) - 1));
      of_rows.push_back({"rows in the cache", [=] { t->data = inside(at); }});
      of_rows.push_back({"no rows", [=] { t->data = nullptr; }});
      all->push_back(of_rows);
    }
    if (!refused_->turned) return;
    all->push_back({{"rope in the cache", [=] { rope_ = memory.plant(inside(256), *rope_); }},
                    {"misaligned rope", [=] { rope_ = misaligned(rope_, 4); }}});
    for (const spoiling &f : rope_spoilings(rope_, s.head_dim, &memory)) all->back().push_back(f);
  }
  void add_call_flaws(random_source &r, std::vector<spoilings> *all) {
    heed_attention &c = call_;
    for (int32_t *count : {&c.batch_size, &c.n_kv_heads, &c.head_dim, &c.v_dim})
      all->push_back(wrong_values<int32_t>("number of the call", count, {0, -1, INT32_MIN, *count - 1, *count + 1}));
    all->push_back(wrong_values<int32_t>("n_kv", &c.n_kv, {0, -1, 7, HEED_MAX_COUNT + 1}));
    all->push_back(wrong_workspace(&c.workspace, heed_workspace_min_bytes(c.head_dim, c.v_dim)));
    all->push_back(flaws_in("q", &c.q, tensor_flaws<heed_tensor>()));
    all->push_back(output_flaws_in("out", &c.out, c.v_dim));
    all->push_back(executor_flaws_in(&c.executor));
    all->push_back({{"keys, too", [&c] { c.k.data = c.q.data; }}, {"values, too", [&c] { c.v.data = c.q.data; }}});
    const size_t n = heed_cache_bytes(&cache_.cache.shape) / 64;
    all->push_back(
        {{"out in the cache", [=, &c, at = r.below(uint32_t(n))] { c.out.data = inside(64 * at); }},
         {"workspace in the cache", [=, &c, at = r.below(uint32_t(n))] { c.workspace.data = inside(64 * at); }}});
    for (const spoilings &s : options_.flaws(r, &c.options, static_cast<float *>(c.workspace.data))) all->push_back(s);
  }

  heed_cache *handle_ = &cache_.cache;
  heed_cache_shape *shape_;
  heed_memory room_;
  step *refused_;
};

inline std::unique_ptr<trial> make_cache_trial(random_source &r, extent e) {
  if (e == extent::regular) return std::make_unique<cache_refusal>(r, e);
  return std::make_unique<cache_life>(r, e);
}

}  // namespace heed_test

#endif
