/* See speech_align.h. SPDX-License-Identifier: MIT */
#include "speech_align.h"

enum { most_text = 16 }; /* bytes of a token that are looked at: its first, and its last if it is short */

const char *speech_align_start(speech_alignment *a, speech *net) {
  a->n_tokens = 0;
  a->net = net;
  return speech_attend(net, a->attention);
}

/* Tokens behind the first, and the end, unless the text had to end for its length. */
static int32_t tokens_of(const speech *net) {
  const int32_t has_end = net->n_chosen < net->most && net->n < SPEECH_CONTEXT;
  return net->n - 1 + has_end;
}

/* What a token attends to in a row, in units of what all tokens attend to there: some rows draw every token. */
static void weigh(speech_alignment *a, int32_t n_rows) {
  for (int32_t r = 0; r < n_rows; ++r) {
    float sum = 1e-6f;
    for (int32_t t = 0; t < a->n_tokens; ++t) sum += a->attention[t * SPEECH_ROWS + r];
    for (int32_t t = 0; t < a->n_tokens; ++t) a->attention[t * SPEECH_ROWS + r] /= sum;
  }
}

/* The first row in which a token, that begins before it is spoken, has half of its greatest share. */
static int32_t spoken_at(const float *own, int32_t n) {
  float greatest = 0.0f;
  for (int32_t r = 0; r < n; ++r) greatest = own[r] > greatest ? own[r] : greatest;
  int32_t r = 0;
  while (r < n - 1 && own[r] < 0.5f * greatest) ++r;
  return r;
}

void speech_align_finish(speech_alignment *a) {
  const int32_t n_rows = a->net->n_rows;
  const int32_t n_tokens = tokens_of(a->net);
  a->n_tokens = n_tokens < n_rows ? n_tokens : n_rows;
  if (a->n_tokens <= 0) return;
  weigh(a, n_rows);
  /* score[r]: the best sum of rows 0 to r, of which r belongs to token t. */
  for (int32_t t = 0; t < a->n_tokens; ++t)
    for (int32_t r = n_rows - 1; r >= 0; --r) a->begins[t * SPEECH_ROWS + r] = 0;
  for (int32_t t = 0; t < a->n_tokens; ++t) {
    const float *own = a->attention + t * SPEECH_ROWS;
    float before = 0.0f; /* score[r - 1] of token t - 1 */
    for (int32_t r = 0; r < n_rows; ++r) {
      const float old = a->score[r];
      const int reachable = r >= t, begins = reachable && (r == t || (t > 0 && before > a->score[r - 1]));
      const float from = t == 0 ? (r > 0 ? a->score[r - 1] : 0.0f) : begins ? before : a->score[r > 0 ? r - 1 : 0];
      a->begins[t * SPEECH_ROWS + r] = (uint8_t)begins;
      a->score[r] = reachable ? from + own[r] : -1.0f;
      before = old;
    }
  }
  a->first[a->n_tokens] = n_rows;
  int32_t t = a->n_tokens - 1;
  for (int32_t r = n_rows - 1; t >= 0; --r) {
    if (t > 0 && !a->begins[t * SPEECH_ROWS + r]) continue;
    a->first[t] = t > 0 ? r : spoken_at(a->attention, a->first[1]);
    --t;
  }
}

enum {
  frames_near = 8,   /* a word begins so many frames before or after its token does, most often */
  phrase_factor = 16 /* how much louder it may be between two phrases */
};

/* What token t of the text adds to it, behind the token before; behind the last one lies the end. */
static size_t text_of(const speech_alignment *a, int32_t t, char *text) {
  const int32_t *const tokens = a->net->tokens; /* the first one begins a text, and has none */
  return t + 1 < a->net->n ? heed_tokenizer_decode(&a->net->words, tokens[t], tokens[t + 1], text, most_text) : 0;
}

static int begins_word(const speech_alignment *a, int32_t t) {
  char text[most_text];
  return text_of(a, t, text) > 0 && text[0] == ' ';
}

static int ends_phrase(const speech_alignment *a, int32_t t) {
  char text[most_text];
  const size_t n = text_of(a, t, text);
  const char last = n > 0 && n <= most_text ? text[n - 1] : ' ';
  return last == '.' || last == ',' || last == '?' || last == '!';
}

/* The frame at which a token begins. */
static int32_t begin_of(const speech_alignment *a, int32_t t) {
  return (a->first[t] * SPEECH_ROW_SAMPLES + SPEECH_ROW_CENTRE) / SPEECH_FRAME;
}

int32_t speech_align_cut(speech_alignment *a, speech_cut *cut) {
  uint64_t least = UINT64_MAX;
  speech_cut_before(cut, SPEECH_MAX_FRAMES);
  for (int32_t t = 1, n = a->n_tokens; t < n; ++t) {
    if (!begins_word(a, t)) continue;
    const uint64_t factor = ends_phrase(a, t - 1) ? phrase_factor : 1;
    const int32_t begin = begin_of(a, t), after = begin_of(a, t - 1), before = begin_of(a, t + 1);
    for (int32_t i = begin - frames_near; i <= begin + frames_near; ++i) {
      const uint64_t loudness = i > after && i < before ? speech_cut_loudness(cut, i) : UINT64_MAX;
      if (loudness == UINT64_MAX || loudness / factor >= least) continue;
      least = loudness / factor;
      a->n_tokens = t;
      speech_cut_before(cut, i);
    }
  }
  return a->n_tokens;
}
