// Trials of partial results. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PARTIAL_TRIALS_HPP
#define HEED_TESTS_SUPPORT_PARTIAL_TRIALS_HPP

#include <algorithm>
#include <string>
#include <vector>

#include "attention_trials.hpp"
#include "partial_flaws.hpp"

namespace heed_test {

// Attention in pieces: one partial handed from call to call, or one for each chunk, merged. The context may have begun
// with keys that are elsewhere. Refused calls are one of the four steps.
class partial_trial : public attention_trial {
 public:
  partial_trial(random_source &r, extent e) : attention_trial(r, e, true) {
    const problem &p = numbers_;
    problem end = shape_of(p);
    end.options = {};
    end.options.sinks = p.options.sinks, end.options.sink_logits = p.options.sink_logits,
    end.options.lse = p.options.lse;
    end_ = staged_options(end, r, &memory);
    bytes_ = HEED_PARTIAL_BYTES(p.batch, p.n_heads, p.n_q, p.v_dim);
    for (own_partial *own : {&total_, &part_}) {
      own->data = memory.state<float>(bytes_, sizeof(float));
      own->object = own->argument = memory.state<heed_partial>(sizeof(heed_partial));
    }
    merged_ = r.chance(50) && p.options.pinned <= 1024;  // else other bits, as options.h says
    for (int32_t first = 1024; first < p.n_kv; first += 1024)
      if (merged_ || r.chance(50)) ends_.push_back(first);
    ends_.push_back(p.n_kv);
    out_ = call_.out;
    call_.out = {};
    most_calls_ = static_cast<int32_t>(ends_.size()) * (merged_ ? 3 : 2) + 2;
    batch_ = p.batch, n_heads_ = p.n_heads, n_q_ = p.n_q, v_dim_ = p.v_dim;
    if (r.chance(40)) begin_later(1024 * r.between(1, 1000));
    if (e == extent::regular) prepare_refusal(r);
  }
  std::string text() const override {
    static const char *const steps[] = {
        "partial, attended: ", "partial, merged: ", "partial, finished: ", "partial, begun: ", "partial: "};
    return steps[step_] + attention_trial::text() + " from key " + std::to_string(first_key_);
  }
  heed_status call() override {
    if (step_ == attended) return attention_trial::call();
    if (step_ == merged) return heed_partial_merge(total_.argument, part_.argument);
    return step_ == finished ? finish() : step_ == begun ? init(total_, first_key_) : live();
  }
  std::vector<spoilings> flaws(random_source &r) override {
    std::vector<spoilings> all = {object_flaws("total", &total_)};
    if (step_ == attended) {
      add(options_.flaws(r, &call_.options, static_cast<float *>(call_.workspace.data)), &all);
      all.push_back(misfits());
    } else if (step_ == merged) {
      all.push_back(object_flaws("part", &part_));
      all[0].push_back({"no total", [=] { total_.argument = nullptr; }});
      all[1].push_back({"no part", [=] { part_.argument = nullptr; }});
      all.push_back({{"total is part", [=] { part_.argument = total_.argument; }}});
    } else if (step_ == begun) {
      all = {wrong_count("batch", &batch_, HEED_MAX_COUNT),
             wrong_count("n_heads", &n_heads_, HEED_MAX_DIM),
             wrong_count("n_q", &n_q_, HEED_MAX_COUNT),
             wrong_count("v_dim", &v_dim_, HEED_MAX_DIM),
             wrong_values<int32_t>("first_key", &first_key_, {-1024, INT32_MIN, 1, 1023, HEED_MAX_COUNT + 1024}),
             wrong_values<size_t>("bytes", &bytes_, {0, bytes_ - 1, SIZE_MAX}),
             wrong_values<float *>("data", &total_.data, {nullptr, misaligned(total_.data, 2)}),
             wrong_values<heed_partial *>(
                 "object", &total_.object,
                 {nullptr, misaligned(total_.object, 4), memory.plant(total_.data, heed_partial())})};
    } else {
      add(end_.object_flaws(false), &all);
      all.push_back(output_flaws_in("out", &out_, call_.v_dim));
      all.back().push_back({"no out", [=] { out_.data = nullptr; }});
      all.back().push_back({"out on the partial", [=] { out_.data = total_.data + bytes_ / sizeof(float) - 1; }});
    }
    return all;
  }

 private:
  enum { attended, merged, finished, begun, none };
  struct own_partial {
    float *data;
    heed_partial *object, *argument;
  };

  heed_status init(const own_partial &own, int32_t first_key) const {
    return heed_partial_init(own.object, batch_, n_heads_, n_q_, v_dim_, first_key, heed_memory_of(own.data, bytes_));
  }
  // A state in which each step would be accepted.
  void prepare_refusal(random_source &r) {
    step_ = r.between(attended, begun);
    EXPECT_EQ(init(total_, first_key_), HEED_OK);
    EXPECT_EQ(init(part_, first_key_ + 1024), HEED_OK);
    if (step_ == merged) total_.object->n_keys = 1024;
    if (step_ == attended) options_.get()->partial = total_.object;
  }

  // Its call then counts from key 0 of the context, the problem from its own first key.
  void begin_later(int32_t first_key) {
    const auto fits = [](int64_t x) { return x >= INT32_MIN && x <= INT32_MAX; };
    std::vector<int32_t *> all = {&call_.position};
    if (heed_options *const options = options_.get()) {
      if (options->ranges) {
        auto *const ranges = const_cast<heed_ranges *>(options->ranges);
        if (ranges->pinned > 0) all.push_back(&ranges->pinned);
        for (const int32_t *array : {ranges->positions, ranges->kv_lengths})
          for (int32_t b = 0; array && b < numbers_.batch; ++b) all.push_back(const_cast<int32_t *>(array) + b);
      }
    }
    for (const int32_t *x : all)
      if (!fits(int64_t{*x} + first_key) || *x == HEED_MAX_COUNT) return;
    for (int32_t *x : all) *x += first_key;
    first_key_ = first_key;
  }
  heed_status live() {
    heed_status status = one([this] { return init(total_, first_key_); });
    int32_t first = 0;
    for (const int32_t end : ends_) {
      if (merged_ && status == HEED_OK) status = one([&] { return init(part_, first_key_ + first); });
      if (status == HEED_OK) status = attend(first, end, merged_ ? part_.object : total_.object);
      if (merged_ && status == HEED_OK) status = one([&] { return heed_partial_merge(total_.object, part_.object); });
      first = end;
    }
    return status == HEED_OK ? finish() : status;
  }
  heed_status attend(int32_t first, int32_t end, heed_partial *to) {
    staged_options::piece piece;
    options_.make_piece(first, &piece);
    piece.options.partial = to;
    heed_attention c = call_;
    for (heed_tensor *t : {&c.k, &c.v})
      if (t->data) t->data += first * t->row_stride;
    c.n_kv = end - first;
    c.options = &piece.options;
    return one([&] { return heed_attention_run(&c); });
  }
  heed_status finish() {
    const heed_options *end = end_.get();
    return one([&] {
      return heed_partial_finish(total_.argument, end ? end->sinks : nullptr, out_, end ? end->lse : nullptr);
    });
  }

  static void add(const std::vector<spoilings> &some, std::vector<spoilings> *all) {
    all->insert(all->end(), some.begin(), some.end());
  }
  spoilings object_flaws(const std::string &name, own_partial *own) {
    spoilings all;
    std::vector<flaw<heed_partial>> flaws = partial_flaws();
    const std::vector<flaw<heed_partial>> counts = partial_count_flaws();
    flaws.insert(flaws.end(), counts.begin(), counts.end());
    for (const flaw<heed_partial> &f : flaws)
      all.push_back({name + ": " + f.what, [=] { memory.edit([&] { f.apply(*own->object); }); }});
    return all;
  }
  spoilings misfits() {
    heed_options *options = options_.get();
    spoilings all = {{"out with a partial", [=] { call_.out = out_; }}};
    for (int32_t heed_partial::*count : {&heed_partial::n_heads, &heed_partial::n_q, &heed_partial::v_dim})
      all.push_back({"another shape", [=] { memory.edit([&] { ++(total_.object->*count); }); }});
    all.push_back({"keys so far", [=] { memory.edit([&] { total_.object->n_keys = 1000; }); }});
    if (const heed_options *end = end_.get()) {
      if (end->sinks) all.push_back({"sinks", [=] { memory.edit([&] { options->sinks = end->sinks; }); }});
      if (end->lse) all.push_back({"lse", [=] { memory.edit([&] { options->lse = end->lse; }); }});
    }
    return all;
  }

  staged_options end_;
  int32_t batch_, n_heads_, n_q_, v_dim_, first_key_ = 0;
  size_t bytes_;
  own_partial total_, part_;
  bool merged_;
  std::vector<int32_t> ends_;  // where calls end
  heed_tensor_out out_;
  int step_ = none;
};

}  // namespace heed_test

#endif
