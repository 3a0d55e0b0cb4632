/* Small examples worked by hand, as in known_answers_test.cpp: near what is known, and to the bit what the PC gives.
 * SPDX-License-Identifier: MIT */
#include "device.h"
#include "support/digest.h"

static int n_far;

static void near(const float *known, const float *actual, int n, float tolerance) {
  for (int i = 0; i < n; i++) {
    const float error = known[i] > actual[i] ? known[i] - actual[i] : actual[i] - known[i];
    if (!(error <= tolerance)) n_far++; /* NaN is far, too */
  }
  add(actual, (size_t)n);
}

static void check(heed_status status) {
  if (status != HEED_OK) n_far++, print_status("refused", 0, status);
}

/* Weights and context of the first word. */
static void attend(const float x[15], float scale, float weights[25], float context[15]) {
  heed_attention call = heed_attention_of(x, x, x, 5, 5, 1, 1, 3, context, workspace);
  call.scale = scale;
  check(heed_attention_weights_init(&o.weights, heed_head_major_out(weights, 5, 1, 5)));
  o.all = heed_options_default();
  o.all.weights = &o.weights;
  call.options = &o.all;
  check(heed_attention_run(&call));
}

static void sentence(void) { /* apple is phone garden the */
  static const float words[15] = {5, 2, 0, 0, 0, 2, 0, 5, 0, 2, 0, 0, 0, 0, 3};
  static const float known[5] = {.99997f, .00000f, .00002f, .00002f, .00000f}, known_first = 4.99986f;
  float weights[25], context[15], again[15];
  attend(words, HEED_SCALE_DEFAULT, weights, context);
  near(known, weights, 5, 5.1e-6f);
  near(&known_first, context, 1, 5.1e-6f);
  check(
      heed_self_attention(heed_matrix_of(words, 5, 3), HEED_SCALE_DEFAULT, heed_matrix_out_of(again, 5, 3), workspace));
  near(context, again, 15, 0);
}

static void five_embeddings(void) {
  static const float x[15] = {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f, .9f, .2f, .1f, .4f, .5f, .3f, .2f};
  static const float known_similarity[5] = {.14f, .32f, .50f, .16f, .17f};
  static const float known_weights[5] = {.1760191f, .2107331f, .2522933f, .1795749f, .1813796f};
  static const float known_context[3] = {.4051053f, .4147764f, .5144154f};
  float similarity[5], weights[25], context[15];
  for (int i = 0; i < 5; i++) check(heed_dot(x, x + 3 * i, 3, &similarity[i]));
  near(known_similarity, similarity, 5, 1e-7f);
  attend(x, 1, weights, context);
  near(known_weights, weights, 5, 1e-7f);
  near(known_context, context, 3, 1e-7f);
  check(heed_softmax(heed_matrix_of(similarity, 1, 5), 1, heed_matrix_out_of(weights, 1, 5), NULL));
  near(known_weights, weights, 5, 1e-7f);
  check(heed_weighted_sum(heed_matrix_of(weights, 1, 5), heed_matrix_of(x, 5, 3), heed_matrix_out_of(context, 1, 3),
                          NULL));
  near(known_context, context, 3, 1e-7f);
}

static void projections(void) {
  static const float x[3] = {.4f, .5f, .6f}, one[3] = {1, 1, 1};
  static const float w[3][9] = {{.3f, .6f, .9f, .1f, .4f, .7f, .2f, .5f, .8f},
                                {.5f, .2f, .1f, .4f, .3f, .6f, .7f, .8f, .9f},
                                {.6f, .1f, .4f, .3f, .5f, .2f, .8f, .7f, .9f}};
  static const float known[4][3] = {{.29f, .74f, 1.19f}, {.82f, .71f, .88f}, {.87f, .71f, .80f}, {1.29f, 1.74f, 2.19f}};
  float y[3];
  for (int i = 0; i < 4; i++) {
    check(heed_linear(heed_matrix_of(x, 1, 3), heed_weights_of_matrix(heed_matrix_of(w[i % 3], 3, 3)),
                      i == 3 ? one : NULL, heed_matrix_out_of(y, 1, 3), NULL));
    near(known[i], y, 3, 3e-7f);
  }
}

static void query_against_keys(void) {
  static const float query[3] = {.6f, .5f, .4f};
  static const float keys[3][3] = {{.2f, .1f, 0}, {.6f, .5f, .4f}, {.9f, .8f, .7f}}, known[3] = {.17f, .77f, 1.22f};
  for (int i = 0; i < 3; i++) {
    float dot;
    check(heed_dot(query, keys[i], 3, &dot));
    near(&known[i], &dot, 1, 2e-7f);
  }
}

int known_answers(void) {
  n_far = 0;
  digest_begin();
  sentence();
  five_embeddings();
  projections();
  query_against_keys();
  print_digest("known answers", digest);
  return n_far;
}
