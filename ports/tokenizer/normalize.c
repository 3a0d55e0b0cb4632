/* Text as the model's vocabulary has it: replaced characters, blanks, Unicode's form C. SPDX-License-Identifier: MIT */
#include "parts.h"

typedef struct writer {
  uint8_t *to;
  size_t n, room;
  int has_prefix, prefix_if_none; /* a blank goes before the text; unless the text begins with one */
  int trims, joins_blanks, owes_blanks, is_full;
} writer;

static void put_byte(writer *w, uint8_t b) {
  if (w->n < w->room)
    w->to[w->n++] = b;
  else
    w->is_full = 1;
}
/* A blank waits until it is known what follows. */
static void put_blank(writer *w) {
  if (w->n == 0 && w->trims) return;
  if (w->n == 0 && w->prefix_if_none) w->has_prefix = 0;
  w->owes_blanks = w->joins_blanks ? 1 : w->owes_blanks + 1;
}
static void put_owed_blanks(writer *w) {
  for (w->owes_blanks += w->has_prefix; w->owes_blanks > 0; --w->owes_blanks) put_byte(w, ' ');
  w->has_prefix = 0;
}
static void put_bytes(writer *w, const uint8_t *bytes, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (bytes[i] == ' ') {
      put_blank(w);
      continue;
    }
    put_owed_blanks(w);
    put_byte(w, bytes[i]);
  }
}
static void put_one(writer *w, int32_t character) {
  uint8_t bytes[4];
  put_bytes(w, bytes, put_character(bytes, character));
}

/* ----------------------------------------------------------------------------------------------------------- replacements */

/* The longest key that the text begins with, -1: none; *n_bytes that it has. */
static int32_t longest_key(const heed_tokenizer *t, text from, size_t *n_bytes) {
  tokenizer_range r = {0, (int32_t)t->keys.n};
  int32_t best = -1;
  for (size_t depth = 0; depth < from.n && r.low < r.high; ++depth) {
    r = tokenizer_narrow(&t->keys, NULL, r, depth, from.data[depth]);
    const int32_t key = tokenizer_whole_entry(&t->keys, NULL, r, depth + 1);
    if (key >= 0) best = key, *n_bytes = depth + 1;
  }
  return best;
}

/* ------------------------------------------------------------------------------------------------------------ double array */

static uint32_t unit_at(const uint8_t *b) {
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The longest key of SentencePiece's map that the text begins with; bytes that it has, 0: none. A unit of the array has 10 bits
 * of its byte and of whether a value follows, then where its children stand. Each place is compared before it is read. */
static size_t longest_in_map(const heed_tokenizer *t, text from, text *value) {
  const size_t n_units = t->map_bytes < 4 ? 0 : unit_at(t->map) / 4;
  if (n_units == 0 || n_units > (t->map_bytes - 4) / 4) return 0;
  const uint8_t *const units = t->map + 4;
  const text texts = {units + 4 * n_units, t->map_bytes - 4 - 4 * n_units};
  size_t best = 0, at = 0;
  uint32_t unit = unit_at(units);
  for (size_t i = 0; i < from.n; ++i) {
    at ^= (size_t)(unit >> 10) << ((unit & 0x200) >> 6) ^ from.data[i];
    if (at >= n_units) break;
    unit = unit_at(units + 4 * at);
    if ((unit & 0x800000ff) != from.data[i]) break;
    const size_t leaf = at ^ (size_t)(unit >> 10) << ((unit & 0x200) >> 6);
    if (!(unit & 0x100) || leaf >= n_units) continue;
    const size_t begin = unit_at(units + 4 * leaf) & 0x7fffffff;
    if (begin >= texts.n) continue;
    *value = text_from(texts, begin);
    best = i + 1;
  }
  if (best == 0) return 0;
  size_t n = 0;
  while (n < value->n && value->data[n] != 0) ++n;
  value->n = n;
  return best;
}

enum { hangul = 0xac00, lead = 0x1100, vowel = 0x1161, tail = 0x11a7, n_leads = 19, n_vowels = 21, n_tails = 28 };
static int is_hangul(int32_t c) { return c >= hangul && c < hangul + n_leads * n_vowels * n_tails; }
/* The parts of a syllable; how many. */
static int parts_of_hangul(int32_t c, int32_t parts[3]) {
  const int32_t i = c - hangul;
  parts[0] = lead + i / (n_vowels * n_tails), parts[1] = vowel + i / n_tails % n_vowels, parts[2] = tail + i % n_tails;
  return parts[2] == tail ? 2 : 3;
}

static size_t replace(const heed_tokenizer *t, text from, writer *w) {
  size_t n_bytes, n_key = 0;
  if (t->facts[fact_flags] & flag_map) {
    text value;
    n_key = longest_in_map(t, from, &value);
    if (n_key > 0) return put_bytes(w, value.data, value.n), n_key;
  }
  const int32_t c = character_at(from.data, from.n, &n_bytes);
  const int32_t action = tokenizer_class_byte(t, c) >> 4;
  const int32_t key = action == action_replace ? longest_key(t, from, &n_key) : -1;
  if (action == action_drop) return n_bytes;
  if (action == action_blank) {
    put_blank(w);
  } else if (action == action_alone) {
    put_blank(w), put_one(w, c), put_blank(w);
  } else if (action == action_hangul && is_hangul(c)) {
    int32_t parts[3];
    const int n = parts_of_hangul(c, parts);
    for (int i = 0; i < n; ++i) put_one(w, parts[i]);
  } else if (key >= 0) {
    size_t n;
    const char *const value = heed_file_text_at(&t->values, (uint32_t)key, &n);
    put_bytes(w, (const uint8_t *)value, n);
    return n_key;
  } else {
    put_bytes(w, from.data, n_bytes);
  }
  return n_bytes;
}

/* ----------------------------------------------------------------------------------------------------------------- form C */

/* Characters in memory, 4 bytes each. They become UTF-8 where they lie. */
typedef struct characters {
  uint8_t *data;
  size_t n, room;
} characters;
static int32_t get(const characters *c, size_t i) {
  int32_t one;
  memcpy(&one, c->data + 4 * i, 4);
  return one;
}
static void set(const characters *c, size_t i, int32_t one) { memcpy(c->data + 4 * i, &one, 4); }
static int append(characters *c, int32_t one) {
  if (c->n == c->room) return 0;
  set(c, c->n++, one);
  return 1;
}

/* The place in an ascending table of `width` words an entry, whose first word is at least `wanted`. */
static int32_t place_in(const int32_t *table, int32_t n, int32_t width, int32_t wanted) {
  int32_t low = 0, high = n;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (table[(size_t)width * (size_t)middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int32_t combining_class(const heed_tokenizer *t, int32_t c) {
  if (c < 0) return 0; /* a byte that is no UTF-8 */
  const int32_t n = t->facts[fact_n_marks], at = place_in(t->marks, n, 1, c << 8);
  return at < n && t->marks[at] >> 8 == c ? t->marks[at] & 255 : 0;
}

/* Two characters as one, or no_character. */
static int32_t composed(const heed_tokenizer *t, int32_t a, int32_t b) {
  if (a >= lead && a < lead + n_leads && b >= vowel && b < vowel + n_vowels)
    return hangul + ((a - lead) * n_vowels + (b - vowel)) * n_tails;
  if (is_hangul(a) && (a - hangul) % n_tails == 0 && b > tail && b < tail + n_tails) return a + (b - tail);
  const int32_t n = t->facts[fact_n_compositions];
  for (int32_t at = place_in(t->compositions, n, 3, a); at < n && t->compositions[3 * at] == a; ++at)
    if (t->compositions[3 * at + 1] == b) return t->compositions[3 * at + 2];
  return no_character;
}

static int decompose(const heed_tokenizer *t, text from, characters *to) {
  for (size_t n_bytes; from.n > 0; from = text_from(from, n_bytes)) {
    const int32_t c = character_at(from.data, from.n, &n_bytes);
    int32_t parts[3];
    if (is_hangul(c)) {
      const int n = parts_of_hangul(c, parts);
      for (int i = 0; i < n; ++i)
        if (!append(to, parts[i])) return 0;
      continue;
    }
    size_t n_key = 0, n = 0;
    const text one = {from.data, n_bytes};
    const int32_t key = c < 0x80 ? -1 : longest_key(t, one, &n_key);
    if (key < 0) { /* a byte that is no UTF-8 is kept as one below 0 */
      for (size_t i = 0; c == no_character && i < n_bytes; ++i)
        if (!append(to, -1 - from.data[i])) return 0;
      if (c != no_character && !append(to, c)) return 0;
      continue;
    }
    text value = {(const uint8_t *)heed_file_text_at(&t->values, (uint32_t)key, &n), 0};
    for (value.n = n; value.n > 0; value = text_from(value, n))
      if (!append(to, character_at(value.data, value.n, &n))) return 0;
  }
  return 1;
}

/* Marks between two starters in the order of their classes; equal ones stay as they are. Each of 255 passes moves one class, so
 * that no text takes quadratic time. `spare` has room for as many characters. */
static void order_marks(const heed_tokenizer *t, const characters *c, size_t begin, size_t end, characters *spare) {
  int is_ordered = 1;
  int32_t before = 0;
  for (size_t i = begin; i < end; ++i) {
    const int32_t now = combining_class(t, get(c, i));
    is_ordered = is_ordered && now >= before;
    before = now;
  }
  if (is_ordered) return;
  spare->n = 0;
  for (int32_t wanted = 1; wanted < 256; ++wanted)
    for (size_t i = begin; i < end; ++i)
      if (combining_class(t, get(c, i)) == wanted) append(spare, get(c, i));
  memcpy(c->data + 4 * begin, spare->data, 4 * (end - begin));
}

static void order(const heed_tokenizer *t, const characters *c, characters *spare) {
  size_t begin = 0;
  for (size_t i = 0; i <= c->n; ++i) {
    if (i < c->n && combining_class(t, get(c, i)) != 0) continue;
    if (i > begin) order_marks(t, c, begin, i, spare);
    begin = i + 1;
  }
}

static void compose(const heed_tokenizer *t, characters *c) {
  size_t n = 0, starter = SIZE_MAX;
  int32_t last_class = 0; /* of what stayed behind the starter */
  for (size_t i = 0; i < c->n; ++i) {
    const int32_t one = get(c, i), now = combining_class(t, one);
    const int is_next = starter != SIZE_MAX && n == starter + 1;
    if (starter != SIZE_MAX && (is_next || last_class < now)) {
      const int32_t both = composed(t, get(c, starter), one);
      if (both != no_character) {
        set(c, starter, both);
        continue;
      }
    }
    if (now == 0) starter = n;
    last_class = now;
    set(c, n++, one);
  }
  c->n = n;
}

/* In memory of n bytes: characters, and as many again to put them in order. */
static size_t form_c(const heed_tokenizer *t, text from, uint8_t *to, size_t n) {
  characters c = {to, 0, n / 8}, spare = {to + 4 * (n / 8), 0, n / 8};
  if (!decompose(t, from, &c)) return SIZE_MAX;
  order(t, &c, &spare);
  compose(t, &c);
  size_t n_bytes = 0;
  for (size_t i = 0; i < c.n; ++i) {
    const int32_t one = get(&c, i);
    if (one < 0)
      to[n_bytes++] = (uint8_t)(-1 - one);
    else
      n_bytes += put_character(to + n_bytes, one);
  }
  return n_bytes;
}

size_t tokenizer_normalize(const heed_tokenizer *t, text from, int blank_first, uint8_t *to, size_t n) {
  const int32_t flags = t->facts[fact_flags];
  if (flags & flag_nfc) return form_c(t, from, to, n);
  writer w = {
      to, 0, n, blank_first, (flags & flag_blank_if_none) != 0, (flags & flag_trim) != 0, (flags & flag_one_blank) != 0,
      0,  0};
  for (size_t n_bytes; from.n > 0 && !w.is_full; from = text_from(from, n_bytes)) {
    n_bytes = 1;
    if (flags & (flag_replace | flag_map))
      n_bytes = replace(t, from, &w);
    else
      put_bytes(&w, from.data, 1);
  }
  if (!w.trims && w.owes_blanks > 0) put_owed_blanks(&w);
  return w.is_full ? SIZE_MAX : w.n;
}
