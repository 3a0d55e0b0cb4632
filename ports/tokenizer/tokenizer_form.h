/* How the tables of a tokenizer lie in a flat file: for tokenizer.c, which reads them, and the importer, which writes them.
 * Private. SPDX-License-Identifier: MIT
 *
 *   tokenizer               I32    facts, see below
 *   tokenizer.tokens        list   (n_tokens): the bytes that each stands for; of WordPiece with ## before what goes on
 *   tokenizer.kinds         text   (n_tokens): tokenizer_kind
 *   tokenizer.bytes         I32    (512): the token of each single byte, then the token that stands for a byte that has none; -1: none
 *   tokenizer.sorted        I32    tokens that are looked up by their bytes, in ascending order of bytes; no two have the same
 *   tokenizer.added         I32    tokens that are cut out of a text before all else
 *   tokenizer.added_texts   list   what each of them is in a text, ascending
 *   tokenizer.first         I32    (n_tokens + 1), of BPE: the first pair of each left token
 *   tokenizer.pairs         I32    (n_pairs, 3), of BPE: right token, rank, token of both; ascending by left, then by right
 *   tokenizer.scores        f32    (n_tokens), of unigram
 *   tokenizer.classes       text   of all characters: 4352 words of 16 bits, each the block of 256 characters; then blocks of bytes:
 *                                  tokenizer_class + 16 * tokenizer_action
 *   tokenizer.keys, .values list   texts that are replaced, ascending, and what by; the longest key wins
 *   tokenizer.map           text   of SentencePiece: bytes of a double array (a word), the array, the texts to which its keys lead, each with
 *                                  a byte of 0 behind it; the longest key wins
 *   tokenizer.marks         I32    (n_marks): 256 * character + combining class, ascending, of NFC
 *   tokenizer.compositions  I32    (n_compositions, 3), of NFC: two characters and the one that they make, ascending */
#ifndef HEED_TOKENIZER_FORM_H
#define HEED_TOKENIZER_FORM_H

#include <stdint.h>

enum tokenizer_fact {
  fact_version, /* 1 */
  fact_model,   /* tokenizer_model */
  fact_flags,   /* tokenizer_flag */
  fact_split,   /* tokenizer_split */
  fact_digits,  /* most digits of a word; 0: as many as there are, behind a blank, too */
  fact_unknown, /* a token, or -1 */
  fact_n_sorted,
  fact_n_added,
  fact_n_pairs,
  fact_n_marks,
  fact_n_compositions,
  fact_growth,       /* most bytes that a byte of text becomes, up to most_growth */
  fact_longest_word, /* of WordPiece, in characters: longer ones are unknown */
  fact_lowest_score, /* the bits of the f32 */
  fact_n_before,
  fact_before, /* 4 tokens */
  fact_n_after = fact_before + 4,
  fact_after,
  n_facts = fact_after + 4
};

enum tokenizer_model { model_bpe, model_unigram, model_wordpiece };

enum tokenizer_flag {
  flag_bytes = 1,            /* BPE of bytes; else of characters */
  flag_whole_words = 2,      /* a word that is a token is not made of pairs */
  flag_one_unknown = 4,      /* unknown characters side by side are one token */
  flag_blank_first = 8,      /* a blank goes before the text */
  flag_blank_each = 16,      /* and behind each token that was cut out */
  flag_blank_if_none = 32,   /* such a blank only where there is none */
  flag_trim = 64,            /* blanks at both ends go */
  flag_one_blank = 2048,     /* of several blanks one stays */
  flag_replace = 128,        /* keys and values, and the actions of characters */
  flag_nfc = 256,            /* Unicode's normal form C */
  flag_no_first_blank = 512, /* decoding: the first token loses its blank */
  flag_map = 1024            /* the map of SentencePiece */
};

enum tokenizer_split {
  split_nowhere,
  split_blanks, /* before blanks: no token has one behind another character */
  split_gpt2,   /* regular expressions of the models of that name */
  split_digits, /* each digit alone, then as GPT-2 */
  split_llama3, /* with fact_digits also that of Qwen 2 and 3 */
  split_gpt4o,
  split_bert /* at blanks, which go, and at punctuation, which stays alone */
};

enum tokenizer_kind {
  kind_special = 1,    /* no text; found in a text only with HEED_TOKENIZER_SPECIAL */
  kind_byte = 2,       /* stands for a byte */
  kind_takes_left = 4, /* blanks before it go, when it is cut out */
  kind_takes_right = 8
};

enum tokenizer_class {
  class_other,
  class_upper,
  class_title,
  class_lower,
  class_modifier,
  class_letter, /* the last kind of letters */
  class_mark,
  class_number,
  class_blank,
  class_punctuation
};

enum tokenizer_action {
  action_keep,
  action_drop,
  action_blank,   /* becomes a blank */
  action_alone,   /* blanks before and behind it */
  action_replace, /* a key may begin here */
  action_hangul   /* a syllable becomes its parts */
};

/* A byte of text is at most 3 characters of form D for 2 bytes, each with 4 bytes, and as many to put them in order. */
enum { most_growth = 4096, bytes_of_form_c = 12 };

enum { class_blocks = 4352, class_block = 256, least_unknown = 10 };

#endif
