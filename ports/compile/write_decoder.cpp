// A language model as a program in C. See program.hpp. SPDX-License-Identifier: MIT
#include <algorithm>

#include "../import/convert.hpp"
#include "program.hpp"

namespace heed_compile {
namespace {

const char header_text[] = R"(/* ${title}
 * heed_compile wrote this file from ${source}. Change it as you like.
 *
 *   static ${name} model;                                        // ${NAME}: sizeof(${name}) bytes, all of the memory there is
 *   const char *error = ${name}_open(&model, file, n_bytes);     // ${name}.heed in memory, aligned to 64; null: good
 *   if (!error) error = ${name}_prompt(&model, "Once upon a time", 16);
 *   while (!error && !(error = ${name}_next(&model, NULL, &token)) && token >= 0)
 *     fwrite(text, 1, ${name}_text(&model, token, text, sizeof text), stdout);
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
  ${NAME}_PIECE = ${piece}        /* tokens of a prompt that pass through a layer at once: speed and memory, no bit */
};
?draft?/* Tokens of a draft: ${name}_next reads so many ahead where the text repeats. Tokens and logits keep their bits. */
?draft?enum { ${NAME}_DRAFT = ${draft} };
?window?/* A layer with a window keeps the newest ${NAME}_WINDOW tokens, and has no end. */
?window?enum { ${NAME}_WINDOW = ${window} };
?window?#define ${NAME}_RING_BYTES \
?window?  HEED_RING_BYTES(${NAME}_WINDOW, 0, ${NAME}_PIECE - 1, 1, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM, ${NAME}_HEAD_DIM, ${cache_dtype})
#define ${NAME}_CACHE_BYTES \
  HEED_CACHE_BYTES(${NAME}_CONTEXT, 1, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM, ${NAME}_HEAD_DIM, ${cache_dtype})
#define ${NAME}_ALL_CACHES_BYTES (${n_full} * ${NAME}_CACHE_BYTES${plus_rings})
#define ${NAME}_LAYER_BYTES                                                                                        \
  HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(${NAME}_PIECE, ${NAME}_DIM, ${NAME}_HEADS, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM, \
                                        ${NAME}_HEAD_DIM, ${NAME}_FFN_DIM${plus_dim}, ${gated})
?words?/* Tokens of a text are found in the same memory, before a layer needs it. */
#define ${NAME}_WORKSPACE_BYTES HEED_LAYER_GREATER(${NAME}_LAYER_BYTES, HEED_SAMPLE_BYTES(${NAME}_TOKENS))

/* Takes the rows of each layer as they are computed; layer ${NAME}_LAYERS: logits. heed_receipt_see is one. */
typedef void ${name}_see(void *user, int32_t layer, int64_t first, heed_matrix rows);

/* The model at work. Fields but executor, logits, see, see_user and fault_layer are private. */
typedef struct ${name} {
  HEED_ALIGNED unsigned char cache_memory[${NAME}_ALL_CACHES_BYTES];
  HEED_ALIGNED unsigned char workspace[${NAME}_WORKSPACE_BYTES];
  HEED_ALIGNED float x[${NAME}_PIECE * ${NAME}_DIM];
  float logits[${NAME}_TOKENS]; /* of the newest token */
  int32_t tokens[${NAME}_CONTEXT];
  int32_t n, previous; /* tokens of the text so far; the one before the newest */
?draft?  int32_t n_drafted, n_ahead;  /* tokens of the newest draft; those of them that were read ahead, and are not the text's yet */
?draft?  int32_t pause, next_pause;   /* tokens without a draft: still, and after the next draft that fails */
  heed_file file;
?words?  heed_tokenizer words;
  heed_weights embedding, classifier;
?positions?  const float *positions;
  const float *final_norm_weight, *final_norm_bias;
?rope?  heed_rope rope;
?local_rope?  heed_rope local_rope;
?options?  heed_options options;
?softcap?  heed_softcap softcap;
  heed_cache caches[${NAME}_LAYERS];
  heed_attention_layer attention[${NAME}_LAYERS];
  heed_transformer_layer layers[${NAME}_LAYERS];
?known?  heed_receipt_layer known[${NAME}_LAYERS]; /* digests, while known answers are compared */
?known?  int32_t fault_layer;                      /* the first one that differed from them, or -1: see ${name}_open */
  const heed_executor *executor; /* null, or set after ${name}_open */
  ${name}_see *see;
  void *see_user;
} ${name};

/* How the next token is chosen. Zeros: the most probable one. */
typedef struct ${name}_choice {
  float temperature; /* 0, or logits are divided by it */
  int32_t top_k;     /* 0, or only so many of the most probable tokens */
  float top_p;       /* 0, or only those that have this probability together */
  uint64_t seed;     /* changes with each token */
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

const char source_text[] = R"(${find_weights}
/* A layer. Behind each weight stands its name in ${source}. */
static const char *open_layer(${name} *m, int32_t l) {
  heed_attention_layer *const a = &m->attention[l];
  heed_transformer_layer *const t = &m->layers[l];
  const char *error;
  *a = heed_attention_layer_default(${NAME}_DIM, ${NAME}_HEADS);
  a->n_kv_heads = ${NAME}_KV_HEADS;
  a->head_dim = a->v_dim = ${NAME}_HEAD_DIM;
  a->causal = 1;
  a->cache = &m->caches[l];
?rope?  a->rope = ${rope_of_layer};
?scale?  a->scale = ${scale};
?options?  a->options = &m->options;
?qk_norm?  a->qk_norm = ${qk_norm};
?qk_norm?  a->qk_eps = ${eps};
?qk_norm_whole?  a->qk_norm_whole = 1;
  *t = heed_transformer_layer_default(a, ${NAME}_FFN_DIM, ${norm}, ${activation});
  t->norm_first = 1;
  t->eps = ${eps};
?post_norm?  t->post_norm = 1;
?parallel?  t->parallel = 1;
?gate_up?  t->ffn_order = HEED_FFN_GATE_UP;
${weights}
  return error;
}

static const char *open_file(${name} *m, const void *file, size_t n_bytes) {
  const char *error = heed_file_open(&m->file, file, n_bytes);
  if (!error) error = heed_file_check(&m->file);
  m->executor = NULL;
  m->see = NULL;
  m->see_user = NULL;
?words?  if (!error) error = heed_tokenizer_open(&m->words, &m->file);
  if (!error) error = matrix(m, "embedding", ${NAME}_DIM, ${NAME}_TOKENS, &m->embedding);               /* ${source_embedding} */
?tied?  m->classifier = m->embedding;
?!tied?  if (!error) error = matrix(m, "classifier", ${NAME}_DIM, ${NAME}_TOKENS, &m->classifier);           /* ${source_classifier} */
?positions?  if (!error) error = heed_file_floats(&m->file, "positions", ${n_positions} * ${NAME}_DIM, &m->positions);
  m->final_norm_bias = NULL;
  if (!error) error = heed_file_floats(&m->file, "final_norm_weight", ${NAME}_DIM, &m->final_norm_weight);
?final_norm_bias?  if (!error) error = heed_file_floats(&m->file, "final_norm_bias", ${NAME}_DIM, &m->final_norm_bias);
?rope?  if (!error && heed_rope_init(&m->rope, ${rope_style}) != HEED_OK) error = heed_refused;
?rope?  m->rope.rotary_dim = ${rotary_dim};
?rope?  m->rope.base = ${rope_base};
?rope_scale?  m->rope.scale = ${rope_scale};
?rope_factor?  m->rope.factor = ${rope_factor};
?rope_frequencies?  if (!error) error = heed_file_floats(&m->file, "rope_frequencies", ${rotary_dim} / 2, &m->rope.inverse_frequencies);
?local_rope?  if (!error && heed_rope_init(&m->local_rope, ${rope_style}) != HEED_OK) error = heed_refused;
?local_rope?  m->local_rope.base = ${local_rope_base};
?options?  m->options = heed_options_default();
?softcap?  if (!error && heed_softcap_init(&m->softcap, ${softcap}) != HEED_OK) error = heed_refused;
?softcap?  m->options.softcap = &m->softcap;
  unsigned char *memory = m->cache_memory;
  for (int32_t l = 0; !error && l < ${NAME}_LAYERS; ++l) {
    heed_cache_shape shape = heed_cache_shape_default(${NAME}_CONTEXT, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM);
    shape.dtype = ${cache_dtype};
?window?    if (${has_window}) {
?window?      shape.kind = HEED_CACHE_RING;
?window?      shape.capacity = ${NAME}_WINDOW;
?window?      shape.spare = ${NAME}_PIECE - 1;
?window?    }
    const size_t bytes = heed_cache_bytes(&shape);
    if (heed_cache_init(&m->caches[l], &shape, heed_memory_of(memory, bytes)) != HEED_OK) error = heed_refused;
    memory += bytes;
    if (!error) error = open_layer(m, l);
  }
  m->n = 0;
  m->previous = -1;
?draft?  m->n_drafted = m->n_ahead = m->pause = 0;
?draft?  m->next_pause = 1;
  return error;
}

void ${name}_restart(${name} *m) {
  for (int32_t l = 0; l < ${NAME}_LAYERS; ++l) (void)heed_cache_reset(&m->caches[l]);
  m->n = 0;
  m->previous = -1;
?draft?  m->n_drafted = m->n_ahead = m->pause = 0;
?draft?  m->next_pause = 1;
}

/* ---------------------------------------------------------------------------------------------------------- network */

static void show(const ${name} *m, int32_t layer, int64_t first, const float *rows, int32_t n, int32_t dim) {
  if (m->see) m->see(m->see_user, layer, first, heed_matrix_of(rows, n, dim));
}

/* Up to ${NAME}_PIECE tokens through all layers; x (n, ${NAME}_DIM) afterwards. */
static heed_status run_layers(${name} *m, const int32_t *tokens, int32_t n) {
  const heed_matrix_out x = heed_matrix_out_of(m->x, n, ${NAME}_DIM);
  const heed_matrix as_read = heed_matrix_of(m->x, n, ${NAME}_DIM);
  heed_status status = heed_gather_rows(m->embedding, tokens, x);
?embedding_scale?  for (int32_t i = 0; i < n * ${NAME}_DIM; ++i) m->x[i] *= ${embedding_scale};
?positions?  if (status == HEED_OK)
?positions?    status = heed_add(as_read, heed_matrix_of(m->positions + (ptrdiff_t)m->n * ${NAME}_DIM, n, ${NAME}_DIM), x, m->executor);
  for (int32_t l = 0; status == HEED_OK && l < ${NAME}_LAYERS; ++l) {
    status = heed_transformer_layer_run(&m->layers[l], as_read, x, heed_memory_of(m->workspace, sizeof m->workspace), m->executor);
    if (status == HEED_OK) show(m, l, m->n, m->x, n, ${NAME}_DIM);
  }
  return status;
}

/* logits = classifier(norm(row n - 1 of x)) */
static heed_status run_classifier(${name} *m, int32_t n) {
  float *const last = m->x + (ptrdiff_t)(n - 1) * ${NAME}_DIM;
  const heed_matrix as_read = heed_matrix_of(last, 1, ${NAME}_DIM);
  heed_status status = ${norm}(as_read, m->final_norm_weight, m->final_norm_bias, ${eps}, heed_matrix_out_of(last, 1, ${NAME}_DIM), m->executor);
  const heed_matrix_out logits = heed_matrix_out_of(m->logits, 1, ${NAME}_TOKENS);
  if (status == HEED_OK) status = heed_linear(as_read, m->classifier, NULL, logits, m->executor);
?logits_softcap?  for (int32_t i = 0; i < ${NAME}_TOKENS; ++i) m->logits[i] *= ${one_by_logits_softcap};
?logits_softcap?  if (status == HEED_OK) status = heed_tanh(heed_matrix_of(m->logits, 1, ${NAME}_TOKENS), heed_no_matrix(), logits, m->executor);
?logits_softcap?  for (int32_t i = 0; i < ${NAME}_TOKENS; ++i) m->logits[i] *= ${logits_softcap};
  return status;
}

?draft?/* Forgets the tokens that were read ahead. */
?draft?static heed_status drop_draft(${name} *m) {
?draft?  heed_status status = HEED_OK;
?draft?  for (int32_t l = 0; status == HEED_OK && m->n_ahead > 0 && l < ${NAME}_LAYERS; ++l)
?draft?    status = heed_cache_truncate(&m->caches[l], 0, m->n);
?draft?  m->n_ahead = 0;
?draft?  return status;
?draft?}
?draft?
const char *${name}_read(${name} *m, const int32_t *tokens, int32_t n) {
?draft?  if (drop_draft(m) != HEED_OK) return heed_refused;
  if (n < 1) return "there is no token to read";
  if (n > ${NAME}_CONTEXT - m->n) return "the text is longer than the context: see ${NAME}_CONTEXT";
  for (int32_t i = 0; i < n; ++i)
    if (tokens[i] < 0 || tokens[i] >= ${NAME}_TOKENS) return "a token is not one of the model's";
  for (int32_t done = 0, here; done < n; done += here) {
    here = n - done < ${NAME}_PIECE ? n - done : ${NAME}_PIECE;
    if (run_layers(m, tokens + done, here) != HEED_OK) return heed_refused;
    for (int32_t i = 0; i < here; ++i) m->tokens[m->n + i] = tokens[done + i];
    m->n += here;
    if (done + here == n && run_classifier(m, here) != HEED_OK) return heed_refused;
  }
  m->previous = m->n > 1 ? m->tokens[m->n - 2] : -1;
  show(m, ${NAME}_LAYERS, m->n - 1, m->logits, 1, ${NAME}_TOKENS);
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

/* [0, 1): xorshift64* of Vigna 2016. */
static float draw(uint64_t *seed) {
  uint64_t s = *seed != 0 ? *seed : UINT64_C(0x9e3779b97f4a7c15);
  s ^= s >> 12, s ^= s << 25, s ^= s >> 27;
  *seed = s;
  return (float)(uint32_t)((s * UINT64_C(0x2545f4914f6cdd1d)) >> 40) * (1.0f / 16777216.0f);
}

?draft?/* Puts behind token m->n what followed it and the one before when both came last: returns how many tokens. */
?draft?static int32_t find_draft(${name} *m) {
?draft?  const int32_t n = m->n;
?draft?  int32_t most = ${NAME}_CONTEXT - n - 1;
?draft?  if (most > ${NAME}_DRAFT) most = ${NAME}_DRAFT;
?draft?  if (m->see || n < 1) return 0; /* rows are shown once, and none that does not stay */
?draft?  if (m->pause > 0) {
?draft?    m->pause--;
?draft?    return 0;
?draft?  }
?draft?  for (int32_t i = n - 1; i >= 1; --i) {
?draft?    if (m->tokens[i] != m->tokens[n] || m->tokens[i - 1] != m->tokens[n - 1]) continue;
?draft?    for (int32_t k = 0; k < most; ++k) m->tokens[n + 1 + k] = m->tokens[i + 1 + k]; /* behind token n: the draft's own */
?draft?    return most;
?draft?  }
?draft?  return 0;
?draft?}
?draft?
?draft?/* Drafts pause when less than half of one stays, each time for longer. */
?draft?static void judge_draft(${name} *m) {
?draft?  if (m->n_drafted == 0) return;
?draft?  if (2 * m->n_ahead <= m->n_drafted) {
?draft?    m->next_pause = 1;
?draft?  } else {
?draft?    m->pause = m->next_pause;
?draft?    if (m->next_pause < 64) m->next_pause *= 2;
?draft?  }
?draft?}
?draft?
?draft?/* As ${name}_read for one token, which may have been read ahead. */
?draft?static const char *read_next(${name} *m, int32_t token) {
?draft?  if (m->n_ahead > 0 && m->tokens[m->n] == token) {
?draft?    m->n_ahead--;
?draft?  } else {
?draft?    judge_draft(m);
?draft?    if (drop_draft(m) != HEED_OK) return heed_refused;
?draft?    if (m->n == ${NAME}_CONTEXT) return "the text is longer than the context: see ${NAME}_CONTEXT";
?draft?    m->tokens[m->n] = token;
?draft?    m->n_drafted = m->n_ahead = find_draft(m);
?draft?    if (run_layers(m, m->tokens + m->n, 1 + m->n_drafted) != HEED_OK) return heed_refused;
?draft?  }
?draft?  m->previous = m->n > 0 ? m->tokens[m->n - 1] : -1;
?draft?  m->n++;
?draft?  if (run_classifier(m, 1 + m->n_drafted - m->n_ahead) != HEED_OK) return heed_refused;
?draft?  show(m, ${NAME}_LAYERS, m->n - 1, m->logits, 1, ${NAME}_TOKENS);
?draft?  return NULL;
?draft?}
?draft?
const char *${name}_next(${name} *m, ${name}_choice *how, int32_t *token) {
  if (m->n == 0) return "there is no text yet";
  heed_status status;
  if (how == NULL || !(how->temperature > 0.0f)) {
    status = heed_argmax(heed_matrix_of(m->logits, 1, ${NAME}_TOKENS), token);
  } else {
    status = heed_sample(m->logits, ${NAME}_TOKENS, how->temperature, how->top_k > 0 ? how->top_k : ${NAME}_TOKENS,
                         how->top_p > 0.0f ? how->top_p : 1.0f, draw(&how->seed), token,
                         heed_memory_of(m->workspace, sizeof m->workspace));
  }
  if (status != HEED_OK || *token < 0) return "the logits are no numbers";
?!draft?${ends}  return ${name}_read(m, token, 1);
?draft?${ends}  return read_next(m, *token);
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

// Whether layer l has a window, as an expression of C.
std::string window_expression(const std::vector<int32_t> &windows) {
  const size_t n = windows.size();
  for (size_t period = 1; period <= n; ++period) {
    bool is_period = true;
    for (size_t l = 0; l < n; ++l) is_period = is_period && (windows[l] > 0) == (windows[l % period] > 0);
    if (!is_period) continue;
    if (period == 1) return windows[0] > 0 ? "1" : "0";
    size_t n_with = 0, n_without = 0, last_with = 0, last_without = 0;
    for (size_t l = 0; l < period; ++l) windows[l] > 0 ? (++n_with, last_with = l) : (++n_without, last_without = l);
    const std::string place = "l % " + std::to_string(period);
    if (n_with == 1) return place + " == " + std::to_string(last_with);
    if (n_without == 1) return place + " != " + std::to_string(last_without);
  }
  std::string list;
  for (const int32_t w : windows) list += (list.empty() ? "\"" : "") + std::string(w > 0 ? "1" : "0");
  return list + "\"[l] == '1'";
}

}  // namespace

program write_decoder(const network &net, const choices &c, const std::vector<tensor> &weights) {
  const auto n_rings =
      static_cast<int32_t>(std::count_if(net.windows.begin(), net.windows.end(), [](int32_t w) { return w > 0; }));
  const int32_t window = net.windows.empty() ? 0 : *std::max_element(net.windows.begin(), net.windows.end());
  const int32_t context = context_of(net, c);
  const bool has_rings = n_rings > 0 && window < context;
  const auto yes = [](bool is) { return std::string(is ? "1" : ""); };
  const auto unless = [](double number, double usual) { return number == usual ? std::string() : float_text(number); };
  static const std::map<int32_t, std::string> dtypes = {
      {HEED_F32, "HEED_F32"}, {HEED_F16, "HEED_F16"}, {HEED_BF16, "HEED_BF16"}, {HEED_INT8, "HEED_INT8"}};
  const bool gated = net.gate_up || has(weights, "layers.0.w_gate");
  std::map<std::string, std::string> v = shared_values(net, c, weights);
  const std::map<std::string, std::string> own = {
      {"n_kv_heads", std::to_string(net.n_kv_heads)},
      {"n_positions", std::to_string(net.n_positions)},
      {"context", std::to_string(context)},
      {"piece", std::to_string(std::min(c.piece, context))},
      {"draft", c.draft > 0 ? std::to_string(c.draft) : ""},
      {"cache_dtype", dtypes.at(dtype_of_cache(c))},
      {"window", has_rings ? std::to_string(window) : ""},
      {"has_window", has_rings ? window_expression(net.windows) : ""},
      {"n_full", std::to_string(net.n_layers - (has_rings ? n_rings : 0))},
      {"gated", gated ? "1" : "0"},
      {"qk_norm", net.qk_norm},
      {"qk_norm_whole", yes(net.qk_norm_whole)},
      {"post_norm", yes(net.post_norm)},
      {"parallel", yes(net.parallel)},
      {"gate_up", yes(net.gate_up)},
      {"scale", unless(net.attention_scale, 0)},
      {"softcap", unless(net.attention_softcap, 0)},
      {"options", yes(net.attention_softcap > 0)},
      {"logits_softcap", unless(net.logits_softcap, 0)},
      {"one_by_logits_softcap", net.logits_softcap > 0 ? "(1.0f / " + float_text(net.logits_softcap) + ")" : ""},
      {"embedding_scale", unless(net.embedding_scale, 1)},
      {"positions", yes(has(weights, "positions"))},
      {"final_norm_bias", yes(has(weights, "final_norm_bias"))},
      {"tied", yes(net.is_tied)},
      {"words", yes(has(weights, "tokenizer"))},
      {"rope", yes(net.rope.is_used)},
      {"local_rope", yes(net.local_rope.is_used && n_rings > 0)},
      {"rope_style", net.rope.interleaved ? "HEED_ROPE_INTERLEAVED" : "HEED_ROPE_HALVES"},
      {"rotary_dim", std::to_string(net.rope.rotary_dim)},
      {"rope_base", float_text(net.rope.base)},
      {"rope_scale", unless(net.rope.scale, 1)},
      {"rope_factor", unless(net.rope.factor, 1)},
      {"rope_frequencies", yes(!net.rope.frequencies.empty())},
      {"local_rope_base", float_text(net.local_rope.base)},
      {"source_embedding", names::for_c(source_of(net, "embedding"))},
      {"source_classifier", names::for_c(source_of(net, "classifier"))}};
  v.insert(own.begin(), own.end());
  v["plus_rings"] = has_rings ? " + " + std::to_string(n_rings) + " * " + v["NAME"] + "_RING_BYTES" : "";
  v["plus_dim"] = net.parallel ? " + " + v["NAME"] + "_DIM" : "";
  v["rope_of_layer"] =
      v["local_rope"].empty() ? "&m->rope" : window_expression(net.windows) + " ? &m->local_rope : &m->rope";
  v["ends"] = lines_of_ends(net);
  v["known_answers"] = known_answers_text(v, known_run);
  return {filled(header_text, v), filled(source_text, v)};
}

}  // namespace heed_compile
