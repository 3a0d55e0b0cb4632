/* Where words of a text end: the regular expressions of models, written out. See tokenizer_form.h.
 * SPDX-License-Identifier: MIT */
#include "parts.h"

/* A character with its class. At the end of the text n_bytes is 0, and the class is none. */
enum { class_none = -1 };
typedef struct cursor {
  int32_t character, class_of;
  size_t n_bytes;
} cursor;

static cursor look(const heed_tokenizer *t, text from, size_t at) {
  cursor c = {no_character, class_none, 0};
  if (at >= from.n) return c;
  c.character = character_at(from.data + at, from.n - at, &c.n_bytes);
  c.class_of = tokenizer_class_of(t, c.character);
  return c;
}

/* Sets of classes, as bits. */
enum {
  letters = 1 << class_upper | 1 << class_title | 1 << class_lower | 1 << class_modifier | 1 << class_letter,
  in_both = 1 << class_modifier | 1 << class_letter | 1 << class_mark,
  like_upper = in_both | 1 << class_upper | 1 << class_title,
  like_lower = in_both | 1 << class_lower,
  all_numbers = 1 << class_number,
  blanks = 1 << class_blank,
  words = letters | all_numbers | blanks /* what punctuation is not */
};
static int is_in(cursor c, int set) { return c.class_of >= 0 && (set >> c.class_of & 1); }
static int is_line_end(cursor c) { return c.character == '\n' || c.character == '\r'; }

/* Where characters of the set end, from `at` on, after at most so many. */
static size_t skip(const heed_tokenizer *t, text from, size_t at, int set, int32_t most) {
  for (cursor c; most > 0 && is_in(c = look(t, from, at), set); at += c.n_bytes) --most;
  return at;
}
/* The same for all other characters. */
static size_t skip_others(const heed_tokenizer *t, text from, size_t at, int set) {
  for (cursor c; (c = look(t, from, at)).class_of != class_none && !is_in(c, set); at += c.n_bytes) continue;
  return at;
}

static uint8_t lower(uint8_t b) { return b >= 'A' && b <= 'Z' ? (uint8_t)(b + ('a' - 'A')) : b; }

/* 's, 't, 're, 've, 'm, 'll, 'd; its end, or `at`. The long s of old print (U+017F) is an s where case does not matter. */
static size_t contraction(text from, size_t at, int any_case) {
  const size_t left = from.n - at;
  const uint8_t *const p = from.data + at;
  if (left < 2 || p[0] != '\'') return at;
  const uint8_t a = any_case ? lower(p[1]) : p[1];
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
  if (left < 3) return at;
  if (any_case && p[1] == 0xc5 && p[2] == 0xbf) return at + 3;
  const uint8_t b = any_case ? lower(p[2]) : p[2];
  return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? at + 3 : at;
}

/* Blanks: up to the last line end among them if the rule has lines of their own; else all but the last one, which goes to the word
 * behind it, or all at the end of the text. */
static size_t end_of_blanks(const heed_tokenizer *t, text from, int has_lines) {
  size_t at = 0, last = 0, lines = 0;
  for (cursor c; is_in(c = look(t, from, at), blanks);) {
    last = at;
    at += c.n_bytes;
    if (is_line_end(c)) lines = at;
  }
  if (has_lines && lines > 0) return lines;
  return at < from.n && last > 0 ? last : at;
}

/* ------------------------------------------------------------------------------------------------------------------ rules */

/* '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static size_t gpt2_word(const heed_tokenizer *t, text from) {
  size_t at = contraction(from, 0, 0);
  if (at > 0) return at;
  const size_t begin = from.data[0] == ' ';
  const cursor c = look(t, from, begin);
  if (is_in(c, letters)) return skip(t, from, begin, letters, INT32_MAX);
  if (is_in(c, all_numbers)) return skip(t, from, begin, all_numbers, INT32_MAX);
  if (c.class_of != class_none && !is_in(c, blanks)) return skip_others(t, from, begin, words);
  return end_of_blanks(t, from, 0);
}

/* What comes behind the letters in the rules of Llama 3, Qwen and GPT-4o:
 * \p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+ */
static size_t other_word(const heed_tokenizer *t, text from, int takes_slashes) {
  if (is_in(look(t, from, 0), all_numbers)) return skip(t, from, 0, all_numbers, t->facts[fact_digits]);
  const size_t begin = from.data[0] == ' ';
  const cursor c = look(t, from, begin);
  if (c.class_of == class_none || is_in(c, words)) return end_of_blanks(t, from, 1);
  size_t at = skip_others(t, from, begin, words);
  while (at < from.n && (from.data[at] == '\r' || from.data[at] == '\n' || (takes_slashes && from.data[at] == '/')))
    ++at;
  return at;
}

/* Where letters can begin: at once, or behind one character that is no letter, number or line end. */
static size_t before_letters(const heed_tokenizer *t, text from) {
  const cursor c = look(t, from, 0);
  return is_in(c, letters | all_numbers) || is_line_end(c) ? 0 : c.n_bytes;
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|... */
static size_t llama3_word(const heed_tokenizer *t, text from) {
  const size_t at = contraction(from, 0, 1);
  if (at > 0) return at;
  const size_t begin = before_letters(t, from), end = skip(t, from, begin, letters, INT32_MAX);
  return end > begin ? end : other_word(t, from, 0);
}

/* [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+; its end, or `at`. The second part takes what the first can do without. */
static size_t lower_at_end(const heed_tokenizer *t, text from, size_t at) {
  size_t end = at, behind_last_of_both = at;
  for (cursor c; is_in(c = look(t, from, end), like_upper);) {
    end += c.n_bytes;
    if (is_in(c, in_both)) behind_last_of_both = end;
  }
  return is_in(look(t, from, end), like_lower) ? skip(t, from, end, like_lower, INT32_MAX) : behind_last_of_both;
}

/* The same, and what begins with + and ends with *, each with and without the character before; and contractions behind them. */
static size_t gpt4o_word(const heed_tokenizer *t, text from) {
  const size_t begin = before_letters(t, from);
  size_t end = lower_at_end(t, from, begin);
  if (end == begin) end = lower_at_end(t, from, 0);
  if (end == 0) {
    end = skip(t, from, begin, like_upper, INT32_MAX);
    if (end == begin) return other_word(t, from, 1);
  }
  return contraction(from, end, 1);
}

/* Each digit alone; what is between digits as GPT-2 splits it. */
static size_t digits_word(const heed_tokenizer *t, tokenizer_words *w) {
  const cursor c = look(t, w->rest, 0);
  if (is_in(c, all_numbers)) return c.n_bytes;
  if (!w->is_known) w->until_digit = skip_others(t, w->rest, 0, all_numbers), w->is_known = 1;
  const text part = {w->rest.data, w->until_digit};
  const size_t n = gpt2_word(t, part);
  w->until_digit -= n;
  w->is_known = w->until_digit > 0;
  return n;
}

/* Before blanks that follow something else. */
static size_t word_and_blanks_before(text from) {
  size_t at = 0;
  while (at < from.n && from.data[at] == ' ') ++at;
  while (at < from.n && from.data[at] != ' ') ++at;
  return at;
}

static int is_punctuation(cursor c) {
  const int32_t x = c.character;
  return c.class_of == class_punctuation ||
         (x > 0x20 && x < 0x7f && !(x >= '0' && x <= '9') && !(x >= 'A' && x <= 'Z') && !(x >= 'a' && x <= 'z'));
}

/* Takes blanks away before. */
static size_t bert_word(const heed_tokenizer *t, tokenizer_words *w) {
  w->rest = text_from(w->rest, skip(t, w->rest, 0, blanks, INT32_MAX));
  size_t at = 0;
  for (cursor c; (c = look(t, w->rest, at)).class_of != class_none && !is_in(c, blanks); at += c.n_bytes)
    if (is_punctuation(c)) return at > 0 ? at : c.n_bytes;
  return at;
}

int tokenizer_next_word(const heed_tokenizer *t, tokenizer_words *w, text *word) {
  size_t n = w->rest.n;
  if (n == 0) return 0;
  switch (t->facts[fact_split]) {
    case split_blanks:
      n = word_and_blanks_before(w->rest);
      break;
    case split_gpt2:
      n = gpt2_word(t, w->rest);
      break;
    case split_digits:
      n = digits_word(t, w);
      break;
    case split_llama3:
      n = llama3_word(t, w->rest);
      break;
    case split_gpt4o:
      n = gpt4o_word(t, w->rest);
      break;
    case split_bert:
      n = bert_word(t, w);
      break;
    default:
      break;
  }
  if (n == 0) return 0;
  word->data = w->rest.data;
  word->n = n;
  w->rest = text_from(w->rest, n);
  return 1;
}
