/* See tokenizer.h. SPDX-License-Identifier: MIT */
#include "parts.h"

/* ------------------------------------------------------------------------------------------------------------------ lists */

static text entry_of(const heed_file_list *list, const int32_t *order, int32_t i) {
  text entry;
  entry.data = (const uint8_t *)heed_file_text_at(list, (uint32_t)(order != NULL ? order[i] : i), &entry.n);
  return entry;
}

/* The first entry of the range whose byte `depth` is at least `byte`; an entry without it comes first. */
static int32_t first_from(const heed_file_list *list, const int32_t *order, tokenizer_range r, size_t depth, int byte) {
  while (r.low < r.high) {
    const int32_t middle = r.low + (r.high - r.low) / 2;
    const text entry = entry_of(list, order, middle);
    if (entry.n <= depth || entry.data[depth] < byte)
      r.low = middle + 1;
    else
      r.high = middle;
  }
  return r.low;
}

tokenizer_range tokenizer_narrow(const heed_file_list *list, const int32_t *order, tokenizer_range r, size_t depth,
                                 uint8_t byte) {
  tokenizer_range narrow = {first_from(list, order, r, depth, byte), r.high};
  narrow.high = first_from(list, order, narrow, depth, byte + 1);
  return narrow;
}

int32_t tokenizer_whole_entry(const heed_file_list *list, const int32_t *order, tokenizer_range r, size_t depth) {
  return r.low < r.high && entry_of(list, order, r.low).n == depth ? r.low : -1;
}

/* Negative, 0, positive: a before b, equal, after. */
static int compare(text a, text b) {
  for (size_t i = 0; i < a.n && i < b.n; ++i)
    if (a.data[i] != b.data[i]) return a.data[i] < b.data[i] ? -1 : 1;
  return a.n < b.n ? -1 : a.n > b.n;
}

/* The entry of these bytes in an ascending list of n, -1: none. */
static int32_t find_in(const heed_file_list *list, const int32_t *order, int32_t n, text bytes) {
  int32_t low = 0, high = n;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    const int c = compare(entry_of(list, order, middle), bytes);
    if (c == 0) return middle;
    if (c < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

int32_t tokenizer_find_token(const heed_tokenizer *t, text bytes) {
  const int32_t entry = find_in(&t->tokens, t->sorted, t->facts[fact_n_sorted], bytes);
  return entry >= 0 ? t->sorted[entry] : -1;
}

/* ------------------------------------------------------------------------------------------------------------------- open */

static const char damaged[] = "the tokenizer of the file is damaged";

static int all_within(const int32_t *numbers, size_t n, size_t step, int32_t least, int32_t end) {
  for (size_t i = 0; i < n; ++i)
    if (numbers[i * step] < least || numbers[i * step] >= end) return 0;
  return 1;
}

static const char *open_integers(const heed_file *file, const char *name, int32_t n, const int32_t **numbers) {
  *numbers = NULL;
  return n == 0 ? NULL : heed_file_integers(file, name, n, numbers);
}

static const char *open_facts(heed_tokenizer *t, const heed_file *file) {
  if (heed_file_integers(file, "tokenizer", n_facts, &t->facts)) return "the file has no tokenizer";
  const int32_t *const f = t->facts;
  if (f[fact_version] != 1) return "the tokenizer of the file has another version";
  const char *error = heed_file_open_list(file, "tokenizer.tokens", &t->tokens);
  if (error) return error;
  if (t->tokens.n < 1 || t->tokens.n > INT32_MAX / 2) return damaged;
  t->n_tokens = (int32_t)t->tokens.n;
  if (f[fact_model] < model_bpe || f[fact_model] > model_wordpiece || f[fact_split] < split_nowhere ||
      f[fact_split] > split_bert || f[fact_digits] < 0 || f[fact_unknown] < -1 || f[fact_unknown] >= t->n_tokens ||
      f[fact_n_sorted] < 0 || f[fact_n_added] < 0 || f[fact_n_pairs] < 0 || f[fact_n_pairs] > INT32_MAX / 3 ||
      f[fact_n_marks] < 0 || f[fact_n_compositions] < 0 || f[fact_n_compositions] > INT32_MAX / 3 ||
      f[fact_growth] < 1 || f[fact_growth] > most_growth || f[fact_n_before] < 0 || f[fact_n_before] > 4 ||
      f[fact_n_after] < 0 || f[fact_n_after] > 4)
    return damaged;
  if (f[fact_model] == model_wordpiece && f[fact_unknown] < 0) return damaged;
  if (!all_within(f + fact_before, (size_t)f[fact_n_before], 1, 0, t->n_tokens) ||
      !all_within(f + fact_after, (size_t)f[fact_n_after], 1, 0, t->n_tokens))
    return damaged;
  return NULL;
}

static const char *open_bytes(heed_tokenizer *t, const heed_file *file) {
  const char *bytes;
  size_t n;
  const char *error = heed_file_text(file, "tokenizer.kinds", &bytes, &n);
  if (error) return error;
  if (n != (size_t)t->n_tokens) return damaged;
  t->kinds = (const uint8_t *)bytes;
  error = heed_file_text(file, "tokenizer.classes", &bytes, &n);
  if (error) return error;
  t->classes = (const uint8_t *)bytes;
  if (n < (size_t)2 * class_blocks) return damaged;
  for (size_t i = 0; i < class_blocks; ++i) {
    const size_t block = (size_t)(t->classes[2 * i] | t->classes[2 * i + 1] << 8);
    if ((n - 2 * class_blocks) / class_block <= block) return damaged;
  }
  return NULL;
}

static const char *open_pairs(heed_tokenizer *t, const heed_file *file) {
  const int32_t n = t->facts[fact_n_pairs];
  t->first = t->pairs = NULL;
  if (t->facts[fact_model] != model_bpe) return n == 0 ? NULL : damaged;
  const char *error = heed_file_integers(file, "tokenizer.first", t->n_tokens + 1, &t->first);
  if (!error) error = open_integers(file, "tokenizer.pairs", 3 * n, &t->pairs);
  if (error) return error;
  if (t->first[0] != 0 || t->first[t->n_tokens] != n) return damaged;
  for (int32_t i = 0; i < t->n_tokens; ++i)
    if (t->first[i] > t->first[i + 1]) return damaged;
  return n > 0 && (!all_within(t->pairs, (size_t)n, 3, 0, t->n_tokens) ||
                   !all_within(t->pairs + 1, (size_t)n, 3, 0, INT32_MAX) ||
                   !all_within(t->pairs + 2, (size_t)n, 3, 0, t->n_tokens))
             ? damaged
             : NULL;
}

static const char *open_replacements(heed_tokenizer *t, const heed_file *file) {
  const int32_t *const f = t->facts;
  t->keys.n = t->values.n = 0;
  if (f[fact_flags] & (flag_replace | flag_nfc)) {
    const char *error = heed_file_open_list(file, "tokenizer.keys", &t->keys);
    if (!error) error = heed_file_open_list(file, "tokenizer.values", &t->values);
    if (error) return error;
    if (t->keys.n != t->values.n || t->keys.n > INT32_MAX) return damaged;
  }
  const char *map = NULL, *error = NULL;
  t->map_bytes = 0;
  if (f[fact_flags] & flag_map) error = heed_file_text(file, "tokenizer.map", &map, &t->map_bytes);
  t->map = (const uint8_t *)map;
  if (error) return error;
  error = open_integers(file, "tokenizer.marks", f[fact_n_marks], &t->marks);
  if (!error) error = open_integers(file, "tokenizer.compositions", 3 * f[fact_n_compositions], &t->compositions);
  if (error) return error;
  const int32_t n = f[fact_n_compositions];
  return n == 0 || all_within(t->compositions + 2, (size_t)n, 3, 0, 0x110000) ? NULL : damaged;
}

static const char *open_added(heed_tokenizer *t, const heed_file *file) {
  const int32_t n = t->facts[fact_n_added];
  t->added_texts.n = 0;
  const char *error = open_integers(file, "tokenizer.added", n, &t->added);
  if (!error && n > 0) error = heed_file_open_list(file, "tokenizer.added_texts", &t->added_texts);
  if (error) return error;
  return t->added_texts.n == (uint32_t)n && all_within(t->added, (size_t)n, 1, 0, t->n_tokens) ? NULL : damaged;
}

static const char *open_tables(heed_tokenizer *t, const heed_file *file) {
  const char *error = open_facts(t, file);
  const int32_t *const f = t->facts;
  if (!error) error = open_bytes(t, file);
  if (!error) error = heed_file_integers(file, "tokenizer.bytes", 512, &t->bytes);
  if (!error) error = open_integers(file, "tokenizer.sorted", f[fact_n_sorted], &t->sorted);
  if (!error) error = open_added(t, file);
  if (!error) error = open_pairs(t, file);
  if (!error) error = open_replacements(t, file);
  t->scores = NULL;
  if (!error && f[fact_model] == model_unigram)
    error = heed_file_floats(file, "tokenizer.scores", t->n_tokens, &t->scores);
  if (error) return error;
  if (!all_within(t->bytes, 512, 1, -1, t->n_tokens) ||
      !all_within(t->sorted, (size_t)f[fact_n_sorted], 1, 0, t->n_tokens))
    return damaged;
  return NULL;
}

/* Only who opens a tokenizer here links what is for unigram. */
typedef int words_of_unigram(const heed_tokenizer *t, text word, tokenizer_output *out, heed_memory memory);

const char *heed_tokenizer_open(heed_tokenizer *t, const heed_file *file) {
  t->unigram = (void (*)(void))tokenizer_unigram;
  return open_tables(t, file);
}

const char *heed_tokenizer_open_without_floats(heed_tokenizer *t, const heed_file *file) {
  t->unigram = NULL;
  const char *error = open_tables(t, file);
  if (error) return error;
  return t->facts[fact_model] == model_unigram ? "the tokenizer is of unigram, which computes with floats" : NULL;
}

/* ----------------------------------------------------------------------------------------------------------------- encode */

void tokenizer_put_unknown(const heed_tokenizer *t, text character, tokenizer_output *out) {
  static const uint8_t replacement[3] = {0xef, 0xbf, 0xbd}; /* U+FFFD */
  size_t n_bytes;
  const int is_byte = (t->facts[fact_flags] & flag_bytes) != 0;
  if (!is_byte && character_at(character.data, character.n, &n_bytes) == no_character) {
    character.data = replacement;
    character.n = sizeof replacement;
    const int32_t token = tokenizer_find_token(t, character);
    if (token >= 0) {
      out->unknown_is_last = 0;
      tokenizer_put(out, token);
      return;
    }
  }
  int has_all = 1;
  for (size_t i = 0; i < character.n; ++i) has_all = has_all && t->bytes[256 + character.data[i]] >= 0;
  if (has_all) {
    out->unknown_is_last = 0;
    for (size_t i = 0; i < character.n; ++i) tokenizer_put(out, t->bytes[256 + character.data[i]]);
    return;
  }
  const int is_one = out->unknown_is_last && (t->facts[fact_flags] & flag_one_unknown) != 0;
  if (t->facts[fact_unknown] >= 0 && !is_one) tokenizer_put(out, t->facts[fact_unknown]);
  out->unknown_is_last = 1;
}

static int encode_word(const heed_tokenizer *t, text word, tokenizer_output *out, heed_memory memory) {
  out->unknown_is_last = 0;
  switch (t->facts[fact_model]) {
    case model_bpe:
      return tokenizer_bpe(t, word, out, memory);
    case model_unigram:
      return t->unigram != NULL && ((words_of_unigram *)t->unigram)(t, word, out, memory);
    default:
      tokenizer_wordpiece(t, word, out);
      return 1;
  }
}

/* Whether the model sees other bytes than the text has. */
static int changes(const heed_tokenizer *t, text from, int blank_first) {
  const int32_t flags = t->facts[fact_flags];
  if (blank_first || (flags & (flag_trim | flag_one_blank | flag_map))) return 1;
  if (!(flags & (flag_replace | flag_nfc))) return 0;
  for (size_t n_bytes; from.n > 0; from = text_from(from, n_bytes)) {
    const int32_t c = character_at(from.data, from.n, &n_bytes);
    if (tokenizer_class_byte(t, c) >> 4 != action_keep) return 1;
  }
  return 0;
}

/* A text between tokens that were cut out. False: the workspace is too small. */
static int encode_text(const heed_tokenizer *t, text from, int is_first, tokenizer_output *out, heed_memory memory) {
  const int32_t flags = t->facts[fact_flags];
  if (from.n == 0) return 1;
  const int blank_first = (flags & flag_blank_each) || ((flags & flag_blank_first) && is_first);
  if (changes(t, from, blank_first)) {
    uint8_t *const bytes = (uint8_t *)memory.data;
    const size_t n = tokenizer_normalize(t, from, blank_first, bytes, memory.bytes);
    if (n == SIZE_MAX) return 0;
    const size_t used = (n + 7) / 8 * 8;
    if (used > memory.bytes) return 0;
    from.data = bytes;
    from.n = n;
    memory.data = bytes + used;
    memory.bytes -= used;
  }
  tokenizer_words words = {from, 0, 0};
  text word;
  while (tokenizer_next_word(t, &words, &word))
    if (!encode_word(t, word, out, memory)) return 0;
  return 1;
}

/* The longest token to cut out that the text begins with, -1: none. */
static int32_t added_token(const heed_tokenizer *t, text from, int32_t how, size_t *n_bytes) {
  tokenizer_range r = {0, (int32_t)t->added_texts.n};
  int32_t best = -1;
  for (size_t depth = 0; depth < from.n && r.low < r.high; ++depth) {
    r = tokenizer_narrow(&t->added_texts, NULL, r, depth, from.data[depth]);
    const int32_t entry = tokenizer_whole_entry(&t->added_texts, NULL, r, depth + 1);
    if (entry < 0) continue;
    const int32_t token = t->added[entry];
    if ((t->kinds[token] & kind_special) && !(how & HEED_TOKENIZER_SPECIAL)) continue;
    best = token;
    *n_bytes = depth + 1;
  }
  return best;
}

static size_t n_blanks(const heed_tokenizer *t, text from) {
  size_t at = 0, n_bytes;
  while (at < from.n && tokenizer_class_of(t, character_at(from.data + at, from.n - at, &n_bytes)) == class_blank)
    at += n_bytes;
  return at;
}

/* Where blanks begin with which the text ends. */
static size_t before_last_blanks(const heed_tokenizer *t, text from) {
  size_t at = from.n;
  while (at > 0) {
    size_t begin = at - 1, n_bytes;
    while (begin > 0 && at - begin < 4 && (from.data[begin] & 0xc0) == 0x80) --begin;
    if (tokenizer_class_of(t, character_at(from.data + begin, at - begin, &n_bytes)) != class_blank) break;
    if (n_bytes != at - begin) break;
    at = begin;
  }
  return at;
}

static int encode_all(const heed_tokenizer *t, text all, int32_t how, tokenizer_output *out, heed_memory memory) {
  int is_first = 1;
  text rest = all;
  for (size_t at = 0, n_bytes = 0; at < rest.n;) {
    const int32_t token = added_token(t, text_from(rest, at), how, &n_bytes);
    if (token < 0) {
      ++at;
      continue;
    }
    text before = {rest.data, at};
    if (t->kinds[token] & kind_takes_left) before.n = before_last_blanks(t, before);
    if (!encode_text(t, before, is_first, out, memory)) return 0;
    tokenizer_put(out, token);
    rest = text_from(rest, at + n_bytes);
    if (t->kinds[token] & kind_takes_right) rest = text_from(rest, n_blanks(t, rest));
    at = 0;
    is_first = 0;
  }
  return encode_text(t, rest, is_first, out, memory);
}

size_t heed_tokenizer_workspace_bytes(const heed_tokenizer *t, size_t n) {
  const size_t growth = (size_t)t->facts[fact_growth];
  if (n >= SIZE_MAX / 32 / growth) return SIZE_MAX;
  const size_t normal = (n + 1) * growth, all = 8 + normal + tokenizer_model_bytes(t, normal);
  const size_t of_form_c = (t->facts[fact_flags] & flag_nfc) ? bytes_of_form_c * (n + 1) : 0;
  return all > of_form_c ? all : of_form_c;
}

const char *heed_tokenizer_encode(const heed_tokenizer *t, const char *bytes, size_t n_bytes, int32_t how,
                                  int32_t *tokens, int32_t capacity, int32_t *n, heed_memory workspace) {
  if (t == NULL || n == NULL || (bytes == NULL && n_bytes > 0) || (tokens == NULL && capacity > 0))
    return "a pointer is null";
  *n = 0;
  if (capacity < 0) return "the capacity is negative";
  if (how & ~(HEED_TOKENIZER_ADD | HEED_TOKENIZER_SPECIAL)) return "how has bits that mean nothing";
  if (n_bytes > INT32_MAX / 16) return "the text is too long: it has 2^27 bytes or more";
  if (workspace.data == NULL || (uintptr_t)workspace.data % 8 != 0)
    return "the workspace is null or not aligned to 8 bytes";
  const text all = {(const uint8_t *)bytes, n_bytes};
  tokenizer_output out = {tokens, capacity, 0, 0};
  const int32_t *const f = t->facts;
  for (int32_t i = 0; (how & HEED_TOKENIZER_ADD) && i < f[fact_n_before]; ++i) tokenizer_put(&out, f[fact_before + i]);
  if (!encode_all(t, all, how, &out, workspace)) return "the workspace is too small for this text";
  for (int32_t i = 0; (how & HEED_TOKENIZER_ADD) && i < f[fact_n_after]; ++i) tokenizer_put(&out, f[fact_after + i]);
  *n = out.n < INT32_MAX ? (int32_t)out.n : INT32_MAX;
  return out.n > capacity ? "the text has more tokens than there is room for" : NULL;
}

/* ----------------------------------------------------------------------------------------------------------------- decode */

static int has_text(const heed_tokenizer *t, int32_t token) {
  return token >= 0 && token < t->n_tokens && !(t->kinds[token] & kind_special);
}

size_t heed_tokenizer_decode(const heed_tokenizer *t, int32_t previous, int32_t token, char *to, size_t capacity) {
  if (!has_text(t, token)) return 0;
  text from = entry_of(&t->tokens, NULL, token);
  const int is_first = !has_text(t, previous);
  size_t n = 0;
  if (t->facts[fact_model] == model_wordpiece) {
    if (from.n > 2 && from.data[0] == '#' && from.data[1] == '#')
      from = text_from(from, 2);
    else if (!is_first && n++ < capacity)
      to[0] = ' ';
  } else if (is_first && (t->facts[fact_flags] & flag_no_first_blank) && from.n > 0 && from.data[0] == ' ') {
    from = text_from(from, 1);
  }
  for (size_t i = 0; i < from.n; ++i, ++n)
    if (n < capacity) to[n] = (char)from.data[i];
  return n;
}

size_t heed_tokenizer_whole(const char *bytes, size_t n) {
  for (size_t back = 1; back <= 3 && back <= n; ++back) {
    const uint8_t b = (uint8_t)bytes[n - back];
    if (b < 0x80) return n;
    if (b < 0xc0) continue;
    const size_t wanted = b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
    return wanted > back ? n - back : n;
  }
  return n;
}

int32_t heed_tokenizer_find(const heed_tokenizer *t, const char *bytes, size_t n_bytes) {
  const text wanted = {(const uint8_t *)bytes, n_bytes};
  const int32_t added = find_in(&t->added_texts, NULL, (int32_t)t->added_texts.n, wanted);
  return added >= 0 ? t->added[added] : tokenizer_find_token(t, wanted);
}
