// Calls that take no executor, for switched_calls.hpp: their memory chooses another kernel, half-way through it.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_SWITCHED_ALONE_HPP
#define HEED_TESTS_SUPPORT_SWITCHED_ALONE_HPP

#include "switched_calls.hpp"

namespace heed_test {

inline void add_caches(switched_calls *all) {
  constexpr int32_t n = 2000, n_heads = 2, dim = 64;
  static const char *const turned[] = {"", ", interleaved rope", ", rope in halves"};
  for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; ++dtype)
    for (int32_t style = -1; style <= HEED_ROPE_HALVES; ++style)
      all->push_back({std::string("append to a cache of ") + format_names[dtype] + turned[style + 1], style < 0,
                      [=](const heed_executor *, written *w) {
                        heed_cache_shape shape = heed_cache_shape_default(n, n_heads, dim);
                        shape.dtype = dtype;
                        heed_cache cache;
                        w->expect_ok(heed_cache_init(&cache, &shape, w->memory(heed_cache_bytes(&shape))));
                        heed_rope rope;
                        heed_rope_init(&rope, style < 0 ? 0 : style);
                        const heed_tensor rows = heed_token_major(numbers_from(0), n, n_heads, dim);
                        w->disturb(numbers_from(n / 2 * n_heads * dim));
                        w->expect_ok(heed_cache_append(&cache, 0, rows, rows, n, style < 0 ? nullptr : &rope));
                      }});
}

// Two partials whose numbers do not depend on the kernel.
inline void add_partials(switched_calls *all) {
  constexpr int32_t heads = 8, n_q = 200, dim = 64;
  constexpr size_t n_bytes = HEED_PARTIAL_BYTES(1, heads, n_q, dim), n = n_bytes / 4, n_rows = size_t{heads} * n_q;
  const auto fill = [](heed_partial *p, size_t first, int32_t first_key, written *w) {
    w->expect_ok(heed_partial_init(p, 1, heads, n_q, dim, first_key, w->memory(n_bytes)));
    for (size_t i = 0; i < n; ++i) p->data[i] = i < n_rows ? numbers_from(first)[i] : positive_numbers()[i % 40000];
    for (size_t i = n_rows; i < 2 * n_rows; ++i) p->data[i] += 1;
    p->n_keys = 1024;
  };
  all->push_back({"merge of partials", false, [=](const heed_executor *, written *w) {
                    heed_partial total, part;
                    fill(&total, 0, 0, w), fill(&part, 5000, 1024, w);
                    w->disturb(total.data + n / 2);
                    w->expect_ok(heed_partial_merge(&total, &part));
                  }});
  all->push_back({"end of a partial", false, [=](const heed_executor *, written *w) {
                    heed_partial total;
                    fill(&total, 0, 0, w);
                    heed_sinks sinks;
                    heed_sinks_init(&sinks, numbers_from(5));
                    heed_lse lse;
                    heed_lse_init(&lse, heed_head_major_out(w->take(n_rows), n_q, heads, 1));
                    float *const out = w->take(n_rows * dim);
                    w->disturb(out + n_rows * dim / 2);
                    w->expect_ok(heed_partial_finish(&total, &sinks, heed_token_major_out(out, n_q, heads, dim), &lse));
                  }});
}

inline void add_sequences(switched_calls *all) {
  constexpr int32_t n = 200, dim = 32;
  all->push_back({"sequence", false, [=](const heed_executor *, written *w) {
                    heed_sequence x, y;
                    w->expect_ok(heed_sequence_init(&x, n, dim, w->memory(HEED_SEQUENCE_BYTES(n, dim))));
                    w->expect_ok(heed_sequence_init(&y, n, dim, w->memory(HEED_SEQUENCE_BYTES(n, dim))));
                    w->expect_ok(heed_sequence_append(&x, heed_matrix_of(numbers_from(0), n, dim)));
                    w->disturb(y.data + n * dim / 2);
                    w->expect_ok(heed_sequence_attention(&x, HEED_SCALE_DEFAULT, 0, nullptr, &y, switched_workspace()));
                  }});
  all->push_back({"self-attention", false, [=](const heed_executor *, written *w) {
                    float *const out = w->take(n * dim);
                    w->disturb(out + n * dim / 2);
                    w->expect_ok(heed_self_attention(heed_matrix_of(numbers_from(0), n, dim), HEED_SCALE_DEFAULT,
                                                     heed_matrix_out_of(out, n, dim), switched_workspace()));
                  }});
}

inline void add_formats(switched_calls *all) {
  constexpr int32_t n = 300, dim = 200;
  for (int32_t dtype = HEED_F16; dtype <= HEED_INT8; ++dtype) {
    all->push_back({std::string("to ") + format_names[dtype], true, [=](const heed_executor *, written *w) {
                      uint16_t *const y = w->take<uint16_t>(n * dim);
                      w->disturb(numbers_from(n * dim / 2));
                      w->expect_ok(heed_convert_from_f32(heed_matrix_of(numbers_from(0), n, dim),
                                                         heed_typed_matrix_out_of(y, w->take(n), dtype, n, dim)));
                    }});
    all->push_back({std::string("from ") + format_names[dtype], true, [=](const heed_executor *, written *w) {
                      float *const y = w->take(n * dim);
                      w->disturb(y + n * dim / 2);
                      w->expect_ok(heed_convert_to_f32(
                          heed_typed_matrix_of(narrow_numbers_of(dtype), positive_numbers(), dtype, n, dim),
                          heed_matrix_out_of(y, n, dim)));
                    }});
  }
  for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN})
    all->push_back({"weights to int8, layout " + std::to_string(layout), true, [=](const heed_executor *, written *w) {
                      w->disturb(numbers_from(n * dim / 2));
                      w->expect_ok(heed_weights_quantize(heed_matrix_of(numbers_from(0), n, dim), layout,
                                                         w->take<int8_t>(n * dim), w->take(n)));
                    }});
}

inline void add_choices(switched_calls *all) {
  constexpr int32_t n = 300, dim = 200;
  all->push_back({"gather_rows", true, [=](const heed_executor *, written *w) {
                    std::vector<int32_t> rows(n);
                    for (int32_t i = 0; i < n; ++i) rows[size_t(i)] = 37 * i % n;
                    float *const y = w->take(n * dim);
                    w->disturb(y + n * dim / 2);
                    w->expect_ok(heed_gather_rows(bytes_with_zero_points(HEED_OUT_IN, dim, n), rows.data(),
                                                  heed_matrix_out_of(y, n, dim)));
                  }});
  all->push_back({"argmax", true, [=](const heed_executor *, written *w) {
                    w->disturb(numbers_from(n * dim / 2));
                    w->expect_ok(heed_argmax(heed_matrix_of(numbers_from(0), n, dim), w->take<int32_t>(n)));
                  }});
  all->push_back({"largest", true, [=](const heed_executor *, written *w) {
                    w->disturb(numbers_from(n * dim / 2));
                    w->expect_ok(
                        heed_topk(heed_matrix_of(numbers_from(0), n, dim), 9, w->take<int32_t>(n * 9), w->take(n * 9)));
                  }});
  // Probabilities of an arithmetic are all but the token; the softmax of tokens is a test of its own.
  all->push_back({"sample", false, [=](const heed_executor *, written *w) {
                    constexpr int32_t n_tokens = 30000;
                    int32_t *const token = w->take<int32_t>(1);
                    const heed_memory workspace = w->memory(HEED_SAMPLE_BYTES(n_tokens));
                    w->disturb(static_cast<char *>(workspace.data) + workspace.bytes / 4);
                    w->expect_ok(
                        heed_sample(numbers_from(0), n_tokens, 0.7f, HEED_MAX_COUNT, 0.9f, 0.5f, token, workspace));
                  }});
}

inline void add_others(switched_calls *all) {
  add_sequences(all), add_formats(all), add_choices(all);
  all->push_back({"dot", false, [](const heed_executor *, written *w) {
                    w->disturb(numbers_from(50000));
                    w->expect_ok(heed_dot(numbers_from(0), numbers_from(500000), 100000, w->take(1)));
                  }});
  using test = heed_status (*)(heed_memory, heed_selftest_report *);
  const std::pair<const char *, test> tests[] = {{"self-test at start-up", heed_selftest_boot},
                                                 {"self-test of features", heed_selftest_features}};
  for (const auto &[name, f] : tests)
    all->push_back({name, true, [function = f](const heed_executor *, written *w) {
                      written buffer;
                      const heed_memory memory = buffer.memory(HEED_SELFTEST_FEATURES_BYTES);
                      heed_status *const result = w->take<heed_status>(1);
                      w->disturb(static_cast<char *>(memory.data) + HEED_SELFTEST_BOOT_BYTES / 2);
                      *result = function(memory, nullptr);
                    }});
}

}  // namespace heed_test

#endif
