/* See golden.h. SPDX-License-Identifier: MIT */
#include "golden.h"

/* Bytes of the line that begins at `at`, with its line feed; 0: none is left. */
static size_t line_at(const heed_golden *g, size_t at) {
  for (size_t n = 0; at + n < g->n_bytes; ++n)
    if (g->text[at + n] == '\n') return n + 1;
  return 0;
}

static int begins_with(const char *text, size_t n, const char *word) {
  for (size_t i = 0; word[i] != 0; ++i)
    if (i >= n || text[i] != word[i]) return 0;
  return 1;
}

/* "row LAYER ..." and "layer LAYER ...". */
static int32_t layer_of(const char *line, size_t n) {
  size_t i = begins_with(line, n, "row ") ? 4 : begins_with(line, n, "layer ") ? 6 : 0;
  int32_t layer = 0;
  if (i == 0) return -1;
  for (; i < n && line[i] >= '0' && line[i] <= '9' && layer < 100000; ++i) layer = 10 * layer + (line[i] - '0');
  return layer;
}

const char *heed_golden_begin(heed_golden *g, const char *text, size_t n_bytes) {
  g->text = text;
  g->n_bytes = 0; /* until it is known to be a receipt: then no line is right */
  g->at = 0;
  g->fault = NULL;
  g->fault_bytes = 0;
  g->layer = -1;
  if (text == NULL || !begins_with(text, n_bytes, "heed-receipt ")) return "the known answers are no receipt";
  size_t last = n_bytes - 1;
  if (text[last] != '\n') return "the known answers are cut";
  while (last > 0 && text[last - 1] != '\n') --last;
  if (!begins_with(text + last, n_bytes - last, "end ")) return "the known answers are cut";
  g->n_bytes = n_bytes;
  return NULL;
}

void heed_golden_write(void *user, const char *line, size_t n) {
  heed_golden *const g = (heed_golden *)user;
  if (g->fault != NULL) return;
  const size_t expected = line_at(g, g->at);
  int is_same = expected == n && n > 0;
  for (size_t i = 0; is_same && i < n; ++i) is_same = g->text[g->at + i] == line[i];
  if (is_same) {
    g->at += n;
    return;
  }
  g->fault = g->n_bytes > 0 ? g->text + g->at : "";
  g->fault_bytes = expected;
  g->layer = layer_of(g->fault, expected);
}

const char *heed_golden_end(heed_golden *g) {
  if (g->fault != NULL && g->layer >= 0) return "a layer gave other numbers than the known answers";
  if (g->fault != NULL) return "the known answers are of another model, input, arithmetic or contract";
  if (g->n_bytes == 0) return "there are no known answers";
  if (g->at != g->n_bytes) return "the run ended before the known answers did";
  return NULL;
}
