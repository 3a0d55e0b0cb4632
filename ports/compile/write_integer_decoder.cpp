// A language model in integers as a program in C. See integers.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "integers.hpp"

namespace heed_compile {
namespace {

const char header_text[] = R"(/* ${title} In integers: no number is a float.
 * heed_compile wrote this file from ${source}. Change it as you like.
 *
 *   static ${name} model;                                        // ${NAME}: sizeof(${name}) bytes, all of the memory there is
 *   const char *error = ${name}_open(&model, file, n_bytes);     // ${name}.heed in memory, aligned to 64; null: good
?words? *   if (!error) error = ${name}_prompt(&model, "Once upon a time", 16);
?!words? *   if (!error) error = ${name}_read(&model, tokens, n);
 *   while (!error && !(error = ${name}_next(&model, NULL, &token)) && token >= 0)
?words? *     fwrite(text, 1, ${name}_text(&model, token, text, sizeof text), stdout);
?!words? *     printf("%ld ", (long)token);
 *
 * An integer of the logits stands for itself times ${result_unit}. As a heed_multiplier, which is m * 2^(e - 31), that unit
 * is {${NAME}_LOGIT_M, ${NAME}_LOGIT_E}.
 *
${begin_header}
enum {
  ${NAME}_LAYERS = ${n_layers},
  ${NAME}_DIM = ${dim},
  ${NAME}_HEADS = ${n_heads},
  ${NAME}_KV_HEADS = ${n_kv_heads},
  ${NAME}_HEAD_DIM = ${head_dim},
  ${NAME}_FFN_DIM = ${ffn_dim},
  ${NAME}_TOKENS = ${n_tokens},
  ${NAME}_CONTEXT = ${context},   /* tokens that the model sees; it was trained with ${n_positions} */
  ${NAME}_PIECE = ${piece},       /* tokens of a prompt that pass through a layer at once: speed and memory, no bit */
  ${NAME}_LOGIT_M = ${result_m},
  ${NAME}_LOGIT_E = ${result_e}
};
#define ${NAME}_CACHE_BYTES \
  ((HEED_INT_CACHE_BYTES(${NAME}_CONTEXT, 1, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM, ${NAME}_HEAD_DIM) + 63) / 64 * 64)
#define ${NAME}_WORKSPACE_BYTES                                                                                     \
  (HEED_INT_LAYER_MIN_BYTES(0, ${NAME}_DIM, ${NAME}_HEADS, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM, ${NAME}_FFN_DIM, ${gated}) + \
   (${NAME}_PIECE - 1) * HEED_INT_LAYER_SIZE_OF_ROW(${NAME}_DIM, ${NAME}_HEADS, ${NAME}_HEAD_DIM, ${NAME}_FFN_DIM, ${gated}))

/* Takes the rows of each layer as they are computed; layer ${NAME}_LAYERS: logits. heed_receipt_see_int is one. */
typedef void ${name}_see(void *user, int32_t layer, int64_t first, heed_int_matrix rows);

/* What the file has of each layer, and besides. Matrices are (outputs, inputs), int8, and each output has a unit of its own. A zero
 * point is in the biases around it. Behind a name stands the one in ${source}. */
typedef struct ${name}_layer_words {
${layer_words}} ${name}_layer_words;
typedef struct ${name}_layer_bytes {
${layer_bytes}} ${name}_layer_bytes;
typedef struct ${name}_words {
${outside_words}} ${name}_words;
typedef struct ${name}_bytes {
${outside_bytes}} ${name}_bytes;

/* The model at work. Fields but logits, see, see_user and fault_layer are private. */
typedef struct ${name} {
  HEED_ALIGNED unsigned char cache_memory[${NAME}_LAYERS * ${NAME}_CACHE_BYTES];
  HEED_ALIGNED unsigned char workspace[${NAME}_WORKSPACE_BYTES]; /* words of a text become tokens here, too */
  HEED_ALIGNED int16_t x[${NAME}_PIECE * ${NAME}_DIM];
  int16_t last[${NAME}_DIM]; /* the newest row behind the last layer */
  int8_t head[${NAME}_DIM];  /* and behind the final norm */
  int16_t logits[${NAME}_TOKENS]; /* of the newest token */
  int32_t tokens[${NAME}_CONTEXT];
  int32_t n, previous; /* tokens of the text so far; the one before the newest */
  heed_file file;
?words?  heed_tokenizer words;
  heed_int_cache caches[${NAME}_LAYERS];
?rope?  heed_int_rope rope; /* cosines and sines are in the file */
  heed_int_layer layer; /* the one that runs: here and not on the stack, which is small */
  const ${name}_layer_words *layer_words[${NAME}_LAYERS];
  const ${name}_layer_bytes *layer_bytes[${NAME}_LAYERS];
  const ${name}_words *outside;
  const ${name}_bytes *tables;
?known?  heed_receipt_layer known[${NAME}_LAYERS]; /* digests, while known answers are compared */
?known?  int32_t fault_layer;                      /* the first one that differed from them, or -1: see ${name}_open */
  ${name}_see *see; /* null, or set after ${name}_open */
  void *see_user;
} ${name};

/* How the next token is chosen. Zeros: the most probable one. 800, 40, 950 are a temperature of 0.8, 40 tokens and a probability of
 * 0.95. */
typedef struct ${name}_choice {
  int32_t temperature; /* 0, or logits are divided by so many thousandths */
  int32_t top_k;       /* 0, or only so many of the most probable tokens, and those that are as probable as the last of them */
  int32_t top_p;       /* 0, or only those that have so many thousandths together */
  uint64_t seed;       /* changes with each token */
} ${name}_choice;

${open}

/* Begins a new text. */
void ${name}_restart(${name} *m);

/* Reads n tokens, 0 to ${NAME}_TOKENS - 1. logits are those of the last one. */
const char *${name}_read(${name} *m, const int32_t *tokens, int32_t n);
?words?
?words?/* Reads a text of n bytes, with the tokens that the model wants before the first one. */
?words?const char *${name}_prompt(${name} *m, const char *text, size_t n);

/* Chooses the next token from logits, and reads it. how: null for the most probable one. *token is -1 if the text ends here. */
const char *${name}_next(${name} *m, ${name}_choice *how, int32_t *token);
?words?
?words?/* What the newest token adds to the text: bytes of it, up to `capacity`. */
?words?size_t ${name}_text(const ${name} *m, int32_t token, char *text, size_t capacity);

${end_header})";

const char source_text[] = R"(${begin}
${find_numbers}static const char *open_file(${name} *m, const void *file, size_t n_bytes) {
  const void *words = NULL, *bytes = NULL;
?rope?  const void *table = NULL;
  const heed_int_cache_shape shape = heed_int_cache_shape_default(${NAME}_CONTEXT, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM);
  const char *error = heed_file_open(&m->file, file, n_bytes);
  if (!error) error = heed_file_check(&m->file);
  m->see = NULL;
  m->see_user = NULL;
  if (!error) error = numbers(m, "words", HEED_FILE_I32, sizeof(${name}_words), &words);
  if (!error) error = numbers(m, "bytes", HEED_FILE_I8, sizeof(${name}_bytes), &bytes);
?rope?  if (!error) error = numbers(m, "rope", HEED_FILE_I16, sizeof(int16_t) * ${NAME}_CONTEXT * ${rotary_dim}, &table);
  m->outside = (const ${name}_words *)words;
  m->tables = (const ${name}_bytes *)bytes;
  for (int32_t l = 0; !error && l < ${NAME}_LAYERS; ++l) {
    unsigned char *const memory = m->cache_memory + (size_t)l * ${NAME}_CACHE_BYTES;
    if (heed_int_cache_init(&m->caches[l], &shape, heed_memory_of(memory, ${NAME}_CACHE_BYTES)) != HEED_OK) error = heed_refused;
    if (!error) error = find_layer(m, l);
  }
?words?  if (!error) error = heed_tokenizer_open_without_floats(&m->words, &m->file);
${begin_layer}  m->layer.causal = 1;
?rope?  m->rope.n_positions = ${NAME}_CONTEXT;
?rope?  m->rope.rotary_dim = ${rotary_dim};
?rope?  m->rope.style = ${rope_style};
?rope?  m->rope.table = (const int16_t *)table;
?rope?  m->layer.rope = &m->rope;
  m->n = 0;
  m->previous = -1;
  return error;
}

void ${name}_restart(${name} *m) {
  for (int32_t l = 0; l < ${NAME}_LAYERS; ++l) (void)heed_int_cache_reset(&m->caches[l]);
  m->n = 0;
  m->previous = -1;
}

/* ---------------------------------------------------------------------------------------------------------- network */

${rows_of}static void show(const ${name} *m, int32_t layer, int64_t first, heed_int_matrix rows) {
  if (m->see) m->see(m->see_user, layer, first, rows);
}

${open_layer}/* The rows of n tokens, before the layers. */
static heed_status embed(${name} *m, const int32_t *tokens, int32_t n) {
  const ${name}_words *const w = m->outside;
  heed_status status = HEED_OK;
  for (int32_t i = 0; status == HEED_OK && i < n; ++i) {
    const heed_int_matrix row = row_of(m->tables->embedding, tokens[i]);
    const heed_int_matrix_out x = rows_out(m->x + (ptrdiff_t)i * ${NAME}_DIM, 1);
?positions?    status = heed_int_add(row, w->of_embedding[tokens[i]], row_of(m->tables->positions, m->n + i), w->of_positions[m->n + i], x, NULL);
?!positions?    status = heed_int_rescale(row, w->of_embedding[tokens[i]], x, NULL);
  }
  return status;
}

/* Up to ${NAME}_PIECE tokens through all layers. Of the last layer only the newest row is computed to the end, unless `see` shows them. */
static heed_status run_layers(${name} *m, const int32_t *tokens, int32_t n) {
  const heed_memory workspace = heed_memory_of(m->workspace, sizeof m->workspace);
  heed_status status = embed(m, tokens, n);
  for (int32_t l = 0; status == HEED_OK && l < ${NAME}_LAYERS; ++l) {
    const int32_t is_cut = l == ${NAME}_LAYERS - 1 && !m->see, n_out = is_cut ? 1 : n;
    int16_t *const y = is_cut ? m->last : m->x;
    open_layer(m, l);
    m->layer.cache = &m->caches[l];
    m->layer.out_rows = is_cut ? -1 : 0;
    status = heed_int_layer_run(&m->layer, rows_of(m->x, n), rows_out(y, n_out), workspace, NULL);
    if (status == HEED_OK) show(m, l, m->n, rows_of(y, n_out));
  }
  for (int32_t i = 0; m->see && i < ${NAME}_DIM; ++i) m->last[i] = m->x[(ptrdiff_t)(n - 1) * ${NAME}_DIM + i];
  return status;
}

/* logits = classifier(norm(the newest row)) */
static heed_status run_classifier(${name} *m) {
  const ${name}_words *const w = m->outside;
  const heed_int_norm final_norm = norm_of(w->final_norm_weight, w->final_norm_bias, w->final_norm_shift, w->final_norm_eps);
  const heed_int_projection classifier =
      linear_of(m->tables->${classifier}, ${NAME}_DIM, ${NAME}_TOKENS, w->bias_classifier, w->of_classifier);
  const heed_int_matrix_out head = heed_int_matrix_out_of(m->head, HEED_INT8, 1, ${NAME}_DIM, w->head_zero);
  const heed_status status = ${norm}(rows_of(m->last, 1), final_norm, head, NULL);
  return status == HEED_OK ? project(m->head, classifier, m->logits, HEED_INT16) : status;
}

const char *${name}_read(${name} *m, const int32_t *tokens, int32_t n) {
  if (n < 1) return "there is no token to read";
  if (n > ${NAME}_CONTEXT - m->n) return "the text is longer than the context: see ${NAME}_CONTEXT";
  for (int32_t i = 0; i < n; ++i)
    if (tokens[i] < 0 || tokens[i] >= ${NAME}_TOKENS) return "a token is not one of the model's";
  for (int32_t done = 0, here; done < n; done += here) {
    here = n - done < ${NAME}_PIECE ? n - done : ${NAME}_PIECE;
    if (run_layers(m, tokens + done, here) != HEED_OK) return heed_refused;
    for (int32_t i = 0; i < here; ++i) m->tokens[m->n + i] = tokens[done + i];
    m->n += here;
  }
  if (run_classifier(m) != HEED_OK) return heed_refused;
  m->previous = m->n > 1 ? m->tokens[m->n - 2] : -1;
  show(m, ${NAME}_LAYERS, m->n - 1, heed_int_matrix_of(m->logits, HEED_INT16, 1, ${NAME}_TOKENS, 0));
  return NULL;
}
${known_answers}
const char *${name}_open(${name} *m, const void *file, size_t n_bytes) {
  const char *error = open_file(m, file, n_bytes);
?known?  m->fault_layer = -1;
?known?  if (!error) error = compare_known_answers(m);
?known?  if (!error) ${name}_restart(m);
  return error;
}
?words?
?words?const char *${name}_prompt(${name} *m, const char *text, size_t n) {
?words?  int32_t n_tokens = 0;
?words?  int32_t *const tokens = m->tokens + m->n; /* read from where they will stay */
?words?  const char *error = heed_tokenizer_encode(&m->words, text, n, m->n == 0 ? HEED_TOKENIZER_ADD : HEED_TOKENIZER_PLAIN, tokens,
?words?                                            ${NAME}_CONTEXT - m->n, &n_tokens, heed_memory_of(m->workspace, sizeof m->workspace));
?words?  return error ? error : ${name}_read(m, tokens, n_tokens);
?words?}

/* ----------------------------------------------------------------------------------------------------------- choice */

/* A number of 32 bits: xorshift64* of Vigna 2016. */
static uint32_t draw(uint64_t *seed) {
  uint64_t s = *seed != 0 ? *seed : UINT64_C(0x9e3779b97f4a7c15);
  s ^= s >> 12, s ^= s << 25, s ^= s >> 27;
  *seed = s;
  return (uint32_t)((s * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}

/* 2^31 * 2^-(x / 2^32), within 2^-17 of it: the polynomial of degree 4 that meets 2^-f at the zeros of Chebyshev's of degree 5. */
static uint32_t power(uint64_t x) {
  const uint32_t f = (uint32_t)x;
  uint32_t y = 14678383u;
  if (x >> 32 > 31) return 0;
  y = 114274300u - (uint32_t)((uint64_t)y * f >> 32);
  y = 514173306u - (uint32_t)((uint64_t)y * f >> 32);
  y = 1488311253u - (uint32_t)((uint64_t)y * f >> 32);
  y = 2147479438u - (uint32_t)((uint64_t)y * f >> 32);
  return y >> (uint32_t)(x >> 32);
}

/* What the tokens have together whose logits are `least` or more: their number if step is 0, else their probabilities. That of the
 * greatest logit is 2^31, and step is what one less of a logit takes from its exponent. */
static uint64_t together(const ${name} *m, int32_t least, int32_t greatest, uint64_t step) {
  uint64_t sum = 0;
  for (int32_t i = 0; i < ${NAME}_TOKENS; ++i)
    if (m->logits[i] >= least) sum += step == 0 ? 1 : power((uint64_t)(greatest - m->logits[i]) * step);
  return sum;
}

/* The greatest logit from which on tokens have `wanted` together. */
static int32_t least_logit(const ${name} *m, int32_t greatest, uint64_t step, uint64_t wanted) {
  int32_t low = -32768, high = greatest;
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (together(m, middle, greatest, step) >= wanted)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static int32_t choose(const ${name} *m, ${name}_choice *how) {
  int32_t best = 0, least = -32768;
  for (int32_t i = 1; i < ${NAME}_TOKENS; ++i)
    if (m->logits[i] > m->logits[best]) best = i;
  if (how == NULL || how->temperature <= 0) return best;
  const int32_t greatest = m->logits[best];
  const uint64_t unit = UINT64_C(${exponent}); /* of a logit: 2^32 / log(2) times that of the header */
  const uint64_t step = unit * 1000 / (uint64_t)how->temperature + 1;
  if (how->top_k > 0) least = least_logit(m, greatest, 0, (uint64_t)(how->top_k < ${NAME}_TOKENS ? how->top_k : ${NAME}_TOKENS));
  uint64_t all = together(m, least, greatest, step);
  if (how->top_p > 0 && how->top_p < 1000) {
    const uint64_t p = (uint64_t)how->top_p;
    least = least_logit(m, greatest, step, all / 1000 * p + all % 1000 * p / 1000);
    all = together(m, least, greatest, step);
  }
  const uint64_t drawn = draw(&how->seed);
  uint64_t at = (all >> 32) * drawn + ((all & UINT32_MAX) * drawn >> 32);
  for (int32_t i = 0; i < ${NAME}_TOKENS; ++i) {
    if (m->logits[i] < least) continue;
    const uint64_t own = power((uint64_t)(greatest - m->logits[i]) * step);
    if (at < own) return i;
    at -= own;
  }
  return best;
}

const char *${name}_next(${name} *m, ${name}_choice *how, int32_t *token) {
  if (m->n == 0) return "there is no text yet";
  *token = choose(m, how);
${ends}  return ${name}_read(m, token, 1);
}
?words?
?words?size_t ${name}_text(const ${name} *m, int32_t token, char *text, size_t capacity) {
?words?  return heed_tokenizer_decode(&m->words, m->previous, token, text, capacity);
?words?}
)";

const char known_run[] = R"(  int32_t tokens[${n_known}];
  for (int32_t i = 0; i < ${n_known}; ++i) {
    tokens[i] = (int32_t)(mixed((uint32_t)i) % ${NAME}_TOKENS);
    heed_receipt_token(&receipt, i, tokens[i]);
  }
  error = ${name}_read(m, tokens, ${n_known});
)";

}  // namespace

program write_integer_decoder(const network &net, const choices &c, const integer_model &m,
                              const std::vector<tensor> &weights) {
  const auto yes = [](bool is) { return std::string(is ? "1" : ""); };
  constexpr double log2e = 1.4426950408889634;
  std::map<std::string, std::string> v = integer_values(net, c, m, weights);
  const heed_int_rope *const rope = m.layers.front().layer().rope;
  const std::map<std::string, std::string> own = {
      {"rope", yes(rope != nullptr)},
      {"rotary_dim", std::to_string(rope ? rope->rotary_dim : 0)},
      {"rope_style", net.rope.interleaved ? "HEED_ROPE_INTERLEAVED" : "HEED_ROPE_HALVES"},
      {"n_positions", std::to_string(net.n_positions)},
      {"context", std::to_string(m.rows)},
      {"words", yes(has(weights, "tokenizer"))},
      {"positions", yes(!m.positions.numbers.empty())},
      {"classifier", m.is_tied ? "embedding" : "classifier"},
      {"exponent", std::to_string(std::llround(std::min(1.0, m.result_scale * log2e) * 4294967296.0))},
      {"ends", lines_of_ends(net)}};
  v.insert(own.begin(), own.end());
  v["known_answers"] = known_answers_text(v, known_run);
  return {filled(header_text, v), filled(source_text, v)};
}

}  // namespace heed_compile
