/* See receipt.h. SPDX-License-Identifier: MIT */
#include "receipt.h"

enum { RECEIPT_BLOCK = 256 }; /* numbers of a fingerprint */
#include "receipt_keys.h"

void *memcpy(void *to, const void *from, size_t n); /* there may be no string.h */

/* ----------------------------------------------------------------------------------------------------------- lines */

enum { longest_word = 31, longest_line = 160 };

typedef struct line {
  char text[longest_line];
  size_t n;
} line;

static void put_char(line *l, char c) {
  if (l->n + 2 < longest_line) l->text[l->n++] = c;
}
static void put(line *l, const char *text) {
  while (*text != 0) put_char(l, *text++);
}
static int is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}
/* A word of the caller's, so that no line can be mistaken for another. */
static void put_word(line *l, const char *word) {
  put_char(l, ' ');
  for (int i = 0; i < longest_word && word[i] != 0; ++i) put_char(l, is_plain(word[i]) ? word[i] : '_');
}
static void put_number(line *l, int64_t number) {
  char digits[20];
  int n = 0;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  put(l, number < 0 ? " -" : " ");
  do digits[n++] = (char)('0' + rest % 10), rest /= 10;
  while (rest > 0);
  while (n > 0) put_char(l, digits[--n]);
}
static void put_hex(line *l, const uint8_t *bytes, int n) {
  static const char digits[] = "0123456789abcdef";
  put_char(l, ' ');
  for (int i = 0; i < 2 * n; ++i) put_char(l, digits[bytes[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15]);
}

/* Ends a line, and gives it away. */
static void write_line(heed_receipt *r, line *l) {
  l->text[l->n++] = '\n';
  l->text[l->n] = 0;
  r->settings.hash->add(&r->text, l->text, l->n);
  r->settings.write(r->settings.user, l->text, l->n);
}
static line line_of(const char *kind) {
  line l;
  l.n = 0;
  put(&l, kind);
  return l;
}
static void write_words(heed_receipt *r, const char *kind, const char *word, const char *value) {
  line l = line_of(kind);
  put_word(&l, word);
  if (value != NULL) put_word(&l, value);
  write_line(r, &l);
}

/* --------------------------------------------------------------------------------------------------------- digests */

static void store_32(uint8_t *to, uint32_t word) {
  for (int i = 0; i < 4; ++i) to[i] = (uint8_t)(word >> 8 * i);
}

/* The sign and the payload of a NaN are not promised. */
static uint32_t word_of_float(float x) {
  const union {
    float number;
    uint32_t word;
  } pun = {x};
  return pun.word << 1 > UINT32_C(0xff000000) ? UINT32_C(0x7fc00000) : pun.word;
}

/* A row of n numbers at `data`, which have so many bits. */
typedef struct numbers {
  const void *data;
  int32_t n, bits;
} numbers;
enum { f32 = 0 };
static uint32_t word_at(const numbers *x, int32_t i) {
  if (x->bits == 8) return (uint32_t)((const int8_t *)x->data)[i];
  if (x->bits == 16) return (uint32_t)((const int16_t *)x->data)[i];
  if (x->bits == 32) return (uint32_t)((const int32_t *)x->data)[i];
  return word_of_float(((const float *)x->data)[i]);
}

static void begin_stream(const heed_receipt *r, heed_receipt_stream *to) {
  r->settings.hash->begin(&to->state);
  to->sums[0] = to->sums[1] = 0;
  to->n = 0;
}

static void add_exactly(const heed_receipt_hash *hash, heed_receipt_stream *to, const numbers *x) {
  uint8_t bytes[64];
  for (int32_t i = 0; i < x->n; i += 16) {
    const int32_t n = x->n - i < 16 ? x->n - i : 16;
    for (int32_t j = 0; j < n; ++j) store_32(bytes + 4 * j, word_at(x, i + j));
    hash->add(&to->state, bytes, (size_t)4 * (size_t)n);
  }
  to->n += (uint32_t)x->n;
}

static void add_sums(const heed_receipt_hash *hash, heed_receipt_stream *to) {
  uint8_t bytes[16];
  for (int i = 0; i < 4; ++i) store_32(bytes + 4 * i, (uint32_t)(to->sums[i / 2] >> 32 * (i % 2)));
  hash->add(&to->state, bytes, sizeof bytes);
  to->sums[0] = to->sums[1] = 0;
}

/* Adds numbers times their keys to the two sums. Each is a function by itself, so that registers hold the sums. */
#if defined __GNUC__
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE
#endif
#define ADD_EACH(name, type, word_of)                                                                 \
  static OUT_OF_LINE void name(uint64_t *sums, const type *x, const type *end, const uint32_t *key) { \
    uint64_t a = sums[0], b = sums[1];                                                                \
    for (uint32_t now = *key++; x < end; now = *key++) {                                              \
      const uint64_t word = (uint32_t)word_of(*x++);                                                  \
      a += word * now;                                                                                \
      b += word * *key;                                                                               \
    }                                                                                                 \
    sums[0] = a, sums[1] = b;                                                                         \
  }
ADD_EACH(add_int8, int8_t, )
ADD_EACH(add_int16, int16_t, )
ADD_EACH(add_int32, int32_t, )
ADD_EACH(add_float, float, word_of_float)
#undef ADD_EACH

/* n numbers from `first` on, which are number `at` and so on of a fingerprint. */
static void add_to_sums(uint64_t *sums, const numbers *x, int32_t first, int32_t n, uint32_t at) {
  const uint32_t *const key = keys + at;
  const int32_t end = first + n;
  if (x->bits == 8)
    add_int8(sums, (const int8_t *)x->data + first, (const int8_t *)x->data + end, key);
  else if (x->bits == 16)
    add_int16(sums, (const int16_t *)x->data + first, (const int16_t *)x->data + end, key);
  else if (x->bits == 32)
    add_int32(sums, (const int32_t *)x->data + first, (const int32_t *)x->data + end, key);
  else
    add_float(sums, (const float *)x->data + first, (const float *)x->data + end, key);
}

static void add_fingerprints(const heed_receipt_hash *hash, heed_receipt_stream *to, const numbers *x) {
  for (int32_t first = 0, n; first < x->n; first += n) {
    const uint32_t at = to->n % RECEIPT_BLOCK;
    const int32_t room = (int32_t)(RECEIPT_BLOCK - at);
    n = x->n - first < room ? x->n - first : room;
    add_to_sums(to->sums, x, first, n, at);
    to->n += (uint32_t)n;
    if (n == room) add_sums(hash, to);
  }
}

static void add_to_stream(const heed_receipt *r, heed_receipt_stream *to, const numbers *x) {
  if (r->settings.is_exact)
    add_exactly(r->settings.hash, to, x);
  else
    add_fingerprints(r->settings.hash, to, x);
}

void heed_receipt_digest(const heed_receipt_hash *hash, const void *bytes, size_t n,
                         uint8_t digest[HEED_RECEIPT_DIGEST_BYTES]) {
  heed_receipt_state state;
  hash->begin(&state);
  hash->add(&state, bytes, n);
  hash->end(&state, digest);
}

/* ------------------------------------------------------------------------------------------------------------ text */

static const char *fault_of(const heed_receipt *r, const heed_receipt_settings *s) {
  if (r == NULL || s == NULL) return "receipt or settings are null";
  if (s->hash == NULL || s->write == NULL || s->program == NULL || s->model == NULL)
    return "hash, write, program or model is null";
  if (s->hash->state_bytes > HEED_RECEIPT_HASH_BYTES)
    return "the state of the hash has more than HEED_RECEIPT_HASH_BYTES";
  if (s->n_layers < 0 || s->level < HEED_RECEIPT_LOGITS || s->level > HEED_RECEIPT_ROWS)
    return "n_layers or level is out of range";
  if (s->arithmetic != HEED_ARITHMETIC_INTEGERS && s->arithmetic != HEED_ARITHMETIC_FMA &&
      s->arithmetic != HEED_ARITHMETIC_NO_FMA)
    return "arithmetic is none of heed's";
  if (s->level == HEED_RECEIPT_LAYERS && s->n_layers > 0 && s->layers == NULL) return "layers is null at level layers";
  return NULL;
}

static const char *name_of(int32_t arithmetic) {
  if (arithmetic == HEED_ARITHMETIC_INTEGERS) return "integers";
  return arithmetic == HEED_ARITHMETIC_FMA ? "fma" : "no-fma";
}

const char *heed_receipt_begin(heed_receipt *r, const heed_receipt_settings *s) {
  static const char *const levels[] = {"logits", "layers", "rows"};
  const char *const fault = fault_of(r, s);
  if (fault != NULL) return fault;
  r->settings = *s;
  s->hash->begin(&r->text);
  for (int32_t i = 0; s->level == HEED_RECEIPT_LAYERS && i < s->n_layers; ++i) {
    begin_stream(r, &s->layers[i].numbers);
    s->layers[i].n_rows = 0;
  }
  line l = line_of("heed-receipt");
  put_number(&l, HEED_RECEIPT_VERSION);
  write_line(r, &l);
  uint8_t contract[4];
  const uint32_t number = heed_isa_contract(s->arithmetic);
  for (int i = 0; i < 4; ++i) contract[i] = (uint8_t)(number >> (24 - 8 * i));
  l = line_of("contract");
  put_hex(&l, contract, 4);
  write_line(r, &l);
  write_words(r, "arithmetic", name_of(s->arithmetic), NULL);
  write_words(r, "program", s->program, NULL);
  l = line_of("model");
  put_hex(&l, s->model, HEED_RECEIPT_DIGEST_BYTES);
  write_line(r, &l);
  write_words(r, "digest", s->is_exact ? "sha256" : "fingerprint", NULL);
  write_words(r, "level", levels[s->level], NULL);
  return NULL;
}

void heed_receipt_setting(heed_receipt *r, const char *name, const char *value) {
  write_words(r, "setting", name, value);
}

/* The first n_bytes of a digest, and the line that states it. */
static void write_digest(heed_receipt *r, line *l, heed_receipt_state *state, int n_bytes) {
  uint8_t digest[HEED_RECEIPT_DIGEST_BYTES];
  r->settings.hash->end(state, digest);
  put_hex(l, digest, n_bytes);
  write_line(r, l);
}
static void write_stream(heed_receipt *r, line *l, heed_receipt_stream *of, int n_bytes) {
  if (!r->settings.is_exact && of->n % RECEIPT_BLOCK != 0) add_sums(r->settings.hash, of);
  write_digest(r, l, &of->state, n_bytes);
}

void heed_receipt_input_begin(const heed_receipt *r, heed_receipt_stream *input) { begin_stream(r, input); }

void heed_receipt_input_16(const heed_receipt *r, heed_receipt_stream *input, const int16_t *data, int32_t n) {
  const numbers x = {data, n, 16};
  add_to_stream(r, input, &x);
}

void heed_receipt_input_32(const heed_receipt *r, heed_receipt_stream *input, const float *data, int32_t n) {
  const numbers x = {data, n, f32};
  add_to_stream(r, input, &x);
}

void heed_receipt_input_end(heed_receipt *r, heed_receipt_stream *input, const char *name) {
  line l = line_of("input");
  put_word(&l, name);
  put_number(&l, input->n);
  write_stream(r, &l, input, HEED_RECEIPT_DIGEST_BYTES);
}

void heed_receipt_memory(heed_receipt *r, const char *name, const void *bytes, size_t n) {
  line l = line_of("input");
  heed_receipt_state state;
  put_word(&l, name);
  put_number(&l, (int64_t)n);
  r->settings.hash->begin(&state);
  r->settings.hash->add(&state, bytes, n);
  write_digest(r, &l, &state, HEED_RECEIPT_DIGEST_BYTES);
}

void heed_receipt_token(heed_receipt *r, int64_t step, int32_t token) {
  line l = line_of("token");
  put_number(&l, step);
  put_number(&l, token);
  write_line(r, &l);
}

static void see_row(heed_receipt *r, int32_t layer, int64_t row, const numbers *x) {
  const heed_receipt_settings *const s = &r->settings;
  if (layer < s->n_layers && s->level == HEED_RECEIPT_LAYERS) {
    add_to_stream(r, &s->layers[layer].numbers, x);
    s->layers[layer].n_rows++;
  } else if (layer >= s->n_layers || s->level == HEED_RECEIPT_ROWS) {
    heed_receipt_stream all;
    line l = line_of("row");
    put_number(&l, layer);
    put_number(&l, row);
    begin_stream(r, &all);
    add_to_stream(r, &all, x);
    write_stream(r, &l, &all, HEED_RECEIPT_ROW_BYTES);
  }
}

void heed_receipt_see(void *receipt, int32_t layer, int64_t first, heed_matrix rows) {
  for (int32_t i = 0; i < rows.n_rows; ++i) {
    const numbers x = {rows.data + i * rows.row_stride, rows.dim, f32};
    see_row((heed_receipt *)receipt, layer, first + i, &x);
  }
}
void heed_receipt_see_int(void *receipt, int32_t layer, int64_t first, heed_int_matrix rows) {
  const int32_t bytes = rows.dtype == HEED_INT16 ? 2 : 1;
  for (int32_t i = 0; i < rows.n_rows; ++i) {
    const numbers x = {(const char *)rows.data + i * rows.row_stride * bytes, rows.dim, 8 * bytes};
    see_row((heed_receipt *)receipt, layer, first + i, &x);
  }
}

void heed_receipt_see_words(void *receipt, int32_t layer, int64_t row, const int32_t *words, int32_t n) {
  const numbers x = {words, n, 32};
  see_row((heed_receipt *)receipt, layer, row, &x);
}

void heed_receipt_end(heed_receipt *r) {
  const heed_receipt_settings *const s = &r->settings;
  for (int32_t i = 0; s->level == HEED_RECEIPT_LAYERS && i < s->n_layers; ++i) {
    line l = line_of("layer");
    put_number(&l, i);
    put_number(&l, s->layers[i].n_rows);
    write_stream(r, &l, &s->layers[i].numbers, HEED_RECEIPT_ROW_BYTES);
  }
  heed_receipt_state text = r->text;
  line l = line_of("end");
  write_digest(r, &l, &text, HEED_RECEIPT_DIGEST_BYTES);
}
