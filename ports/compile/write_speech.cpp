// A model of speech as a program in C: sound in, text out. See program.hpp. SPDX-License-Identifier: MIT
#include <algorithm>

#include "program.hpp"
#include "speech_front.hpp"
#include "speech_sizes.hpp"

namespace heed_compile {
namespace {

const char header_text[] = R"(/* ${title}
 * heed_compile wrote this file from ${source}. Change it as you like.
 *
 *   static ${name} model;                                       // sizeof(${name}) bytes, all of the memory there is
 *   const char *error = ${name}_open(&model, file, n_bytes);    // ${name}.heed in memory, aligned to 64; null: good
 *   if (!error) error = ${name}_sound(&model, samples, n);      // 16 kHz, one channel
 *   while (!error && !(error = ${name}_next(&model, &token)) && token >= 0)
 *     fwrite(text, 1, ${name}_text(&model, token, text, sizeof text), stdout);
 *
${begin_header}
enum {
  ${NAME}_LAYERS = ${n_layers}, /* the encoder's, then the decoder's */
  ${NAME}_ENCODER_LAYERS = ${n_encoder},
  ${NAME}_DECODER_LAYERS = ${NAME}_LAYERS - ${NAME}_ENCODER_LAYERS,
  ${NAME}_DIM = ${dim},
  ${NAME}_ENCODER_HEADS = ${encoder_heads},
  ${NAME}_ENCODER_KV_HEADS = ${encoder_kv_heads},
  ${NAME}_ENCODER_HEAD_DIM = ${encoder_head_dim},
  ${NAME}_ENCODER_FFN_DIM = ${encoder_ffn_dim},
  ${NAME}_HEADS = ${n_heads},
  ${NAME}_KV_HEADS = ${n_kv_heads},
  ${NAME}_HEAD_DIM = ${head_dim},
  ${NAME}_FFN_DIM = ${ffn_dim},
  ${NAME}_TOKENS = ${n_tokens},
  ${NAME}_SAMPLES = ${n_samples}, /* of a sound at most: ${seconds} seconds */
?mel?  ${NAME}_MELS = ${n_mels},
?mel?  ${NAME}_FRAMES = ${n_frames}, /* of the spectrogram: rows of ${NAME}_MELS numbers, one for each ${step} samples */
?samples?  ${NAME}_ROWS_1 = ${rows_1}, /* after the first convolution */
  ${NAME}_ROWS = ${rows},      /* of the encoder */
  ${NAME}_CONTEXT = ${context},   /* tokens of a text at most; the model was trained with ${n_positions} */
  ${NAME}_ATTENDED = (${NAME}_CONTEXT + ${NAME}_HEADS) * ${NAME}_ROWS, /* numbers for ${name}_attend */
  ${NAME}_EXACT = ${exact},        /* 1: --exact of heed_compile, which a receipt states */
  ${NAME}_PIECE = ${piece}        /* tokens of a prompt that pass through a layer at once: speed and memory, no bit */
};
#define ${NAME}_CACHE_BYTES \
  ((HEED_CACHE_BYTES(${NAME}_CONTEXT, 1, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM, ${NAME}_HEAD_DIM, ${cache_dtype}) + 63) / 64 * 64)
#define ${NAME}_CROSS_BYTES \
  ((HEED_CACHE_BYTES(${NAME}_ROWS, 1, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM, ${NAME}_HEAD_DIM, ${cache_dtype}) + 63) / 64 * 64)
#define ${NAME}_ENCODER_BYTES                                                                                         \
  HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(${NAME}_ROWS, ${NAME}_DIM, ${NAME}_ENCODER_HEADS, ${NAME}_ENCODER_KV_HEADS,      \
                                        ${NAME}_ENCODER_HEAD_DIM, ${NAME}_ENCODER_HEAD_DIM, ${NAME}_ENCODER_FFN_DIM, 0)
?words?/* Tokens of a text are found in the same memory, before a layer needs it. */
#define ${NAME}_WORKSPACE_BYTES                                                                                    \
  HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(${NAME}_PIECE, ${NAME}_DIM, ${NAME}_HEADS, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM, \
                                        ${NAME}_HEAD_DIM, ${NAME}_FFN_DIM, ${gated})

/* Takes the rows of each layer as they are computed; layer ${NAME}_LAYERS: logits. heed_receipt_see is one. */
typedef void ${name}_see(void *user, int32_t layer, int64_t first, heed_matrix rows);

/* What is before the layers of the encoder. */
typedef struct ${name}_front {
?mel?  float rows[(${NAME}_FRAMES + 2) * ${NAME}_MELS]; /* the spectrogram, between two rows of zeros */
?mel?  float wide[(${NAME}_FRAMES + 1) * ${NAME}_DIM];  /* after the first convolution, behind a row of zeros */
?mel?  float even[${frame_piece} * ${n_even}], odd[${frame_piece} * ${n_odd}], spectrum[${frame_piece} * ${window}]; /* of ${frame_piece} rows */
?samples?  float wide[${NAME}_ROWS_1 * ${NAME}_DIM];
?samples?  float samples[${piece_samples}], hidden[${piece_2} * 2 * ${NAME}_DIM]; /* of ${row_piece} rows */
} ${name}_front;

/* Memory of one after the other. */
typedef union ${name}_phases {
  ${name}_front front;
  HEED_ALIGNED unsigned char encoder[${NAME}_ENCODER_BYTES];
  HEED_ALIGNED unsigned char crosses[${NAME}_DECODER_LAYERS * ${NAME}_CROSS_BYTES]; /* keys and values of the encoder's rows */
} ${name}_phases;

/* The model at work. Fields but executor, logits, see, see_user and fault_layer are private. */
typedef struct ${name} {
  HEED_ALIGNED unsigned char cache_memory[${NAME}_DECODER_LAYERS * ${NAME}_CACHE_BYTES];
  HEED_ALIGNED unsigned char workspace[${NAME}_WORKSPACE_BYTES];
  ${name}_phases phases;
  HEED_ALIGNED float x[${NAME}_ROWS * ${NAME}_DIM];   /* rows of the encoder */
  HEED_ALIGNED float y[${NAME}_PIECE * ${NAME}_DIM];  /* of the decoder */
  float logits[${NAME}_TOKENS]; /* of the newest token */
  int32_t tokens[${NAME}_CONTEXT];
  int32_t n_rows, n, n_chosen; /* rows of the sound, 0: none; tokens of the text so far; those of them that ${name}_next chose */
?samples?  int32_t most;                /* tokens that it chooses at most */
  heed_file file;
?words?  heed_tokenizer words;
?mel?  heed_weights dft_even, dft_odd, mel_filters;
  heed_weights ${convolutions}, embedding, classifier;
?mel?  const float *conv1_bias, *conv2_bias, *encoder_positions, *positions;
?samples?  const float *conv1_bias, *conv2_bias, *conv3_bias, *group_norm_weight, *group_norm_bias;
  const float *encoder_norm_weight, *encoder_norm_bias, *final_norm_weight, *final_norm_bias;
?rope?  heed_rope rope;
  heed_cache caches[${NAME}_DECODER_LAYERS], crosses[${NAME}_DECODER_LAYERS];
  heed_attention_layer attention[${NAME}_LAYERS], cross[${NAME}_DECODER_LAYERS];
  heed_transformer_layer layers[${NAME}_LAYERS];
?known?  heed_receipt_layer known[${NAME}_LAYERS]; /* digests, while known answers are compared */
?known?  int32_t fault_layer;                      /* the first one that differed from them, or -1: see ${name}_open */
  float *attended; /* null, or given to ${name}_attend */
  heed_attention_weights weights;
  heed_options options;
  const heed_executor *executor; /* null, or set after ${name}_open */
  ${name}_see *see;
  void *see_user;
} ${name};

${open}

/* Hears n samples, up to ${NAME}_SAMPLES of 16 kHz: the encoder, once. The text begins anew.${silence} */
const char *${name}_sound(${name} *m, const int16_t *samples, int32_t n);
?mel?
?mel?/* The same with a log-mel spectrogram of your own, as the model was trained with: n rows of ${NAME}_MELS numbers, an even number of
?mel? * them up to ${NAME}_FRAMES. */
?mel?const char *${name}_rows(${name} *m, const float *rows, int32_t n);

/* Begins a new text of the same sound. */
void ${name}_restart(${name} *m);

/* From now on, what each token attends to in the sound is written to rows, which has room for ${NAME}_ATTENDED numbers, or is null: no more.
 * Row t, which begins at rows + t * ${NAME}_ROWS, has a number for each of the n_rows of the encoder: the weights of cross-attention
 * of token t when it is read, summed over heads and layers. The token behind it is chosen then, so this is where that one is heard. What
 * lies behind the rows is memory for it. Tokens and logits keep their bits; a prompt passes token by token. */
const char *${name}_attend(${name} *m, float *rows);

/* Reads n tokens, 0 to ${NAME}_TOKENS - 1. logits are those of the last one. */
const char *${name}_read(${name} *m, const int32_t *tokens, int32_t n);
?words?
?words?/* Begins the text with tokens of your own, such as "${prompt_sample}", instead of those that the model's files name.
?words? * Texts of special tokens are these tokens. */
?words?const char *${name}_prompt(${name} *m, const char *text, size_t n);

/* Chooses the most probable token, and reads it; before the first one it reads those that begin a text. *token is -1 if the text ends
 * here. Tokens that the model's files suppress are not chosen: their logits become the least number. */
const char *${name}_next(${name} *m, int32_t *token);
?words?
?words?/* What the newest token adds to the text: bytes of it, up to `capacity`. */
?words?size_t ${name}_text(const ${name} *m, int32_t token, char *text, size_t capacity);

${end_header})";

const char open_text[] = R"(${find_weights}
/* A layer of the encoder. Behind each weight stands its name in ${source}. */
static const char *open_encoder_layer(${name} *m, int32_t l) {
  heed_attention_layer *const a = &m->attention[l];
  heed_transformer_layer *const t = &m->layers[l];
  const char *error;
  *a = heed_attention_layer_default(${NAME}_DIM, ${NAME}_ENCODER_HEADS);
  a->n_kv_heads = ${NAME}_ENCODER_KV_HEADS;
?rope?  a->rope = &m->rope;
  *t = heed_transformer_layer_default(a, ${NAME}_ENCODER_FFN_DIM, ${norm}, ${encoder_activation});
  t->norm_first = 1;
  t->eps = ${eps};
${encoder_weights}
  return error;
}

/* A layer of the decoder. */
static const char *open_decoder_layer(${name} *m, int32_t l) {
  heed_attention_layer *const a = &m->attention[l];
  heed_attention_layer *const c = &m->cross[l - ${NAME}_ENCODER_LAYERS];
  heed_transformer_layer *const t = &m->layers[l];
  const char *error;
  *a = *c = heed_attention_layer_default(${NAME}_DIM, ${NAME}_HEADS);
  a->n_kv_heads = c->n_kv_heads = ${NAME}_KV_HEADS;
  a->causal = 1;
  a->cache = &m->caches[l - ${NAME}_ENCODER_LAYERS];
?rope?  a->rope = &m->rope;
  c->cross = 1;
  c->cache = &m->crosses[l - ${NAME}_ENCODER_LAYERS];
  *t = heed_transformer_layer_default(a, ${NAME}_FFN_DIM, ${norm}, ${activation});
  t->cross = c;
  t->norm_first = 1;
  t->eps = ${eps};
?up_gate?  t->ffn_order = HEED_FFN_UP_GATE;
${decoder_weights}
  return error;
}

static const char *open_cache(heed_cache *cache, int32_t capacity, void *memory, size_t bytes) {
  heed_cache_shape shape = heed_cache_shape_default(capacity, ${NAME}_KV_HEADS, ${NAME}_HEAD_DIM);
  shape.dtype = ${cache_dtype};
  return heed_cache_init(cache, &shape, heed_memory_of(memory, bytes)) == HEED_OK ? NULL : heed_refused;
}

static const char *open_file(${name} *m, const void *file, size_t n_bytes) {
  const char *error = heed_file_open(&m->file, file, n_bytes);
  if (!error) error = heed_file_check(&m->file);
  m->executor = NULL;
  m->attended = NULL;
  m->see = NULL;
  m->see_user = NULL;
?words?  if (!error) error = heed_tokenizer_open(&m->words, &m->file);
?mel?  if (!error) error = matrix(m, "dft_even", ${n_even}, ${n_even}, &m->dft_even);  /* cosines of a window */
?mel?  if (!error) error = matrix(m, "dft_odd", ${n_odd}, ${n_odd}, &m->dft_odd);    /* sines */
?mel?  if (!error) error = matrix(m, "mel_filters", ${window}, ${NAME}_MELS, &m->mel_filters);
${outside}  m->n_rows = m->n = m->n_chosen = 0;
?tied?  m->classifier = m->embedding;
?rope?  if (!error && heed_rope_init(&m->rope, HEED_ROPE_INTERLEAVED) != HEED_OK) error = heed_refused;
?rope?  m->rope.rotary_dim = ${rotary_dim};
?rope?  m->rope.base = ${rope_base};
?rope_scale?  m->rope.scale = ${rope_scale};
?rope_factor?  m->rope.factor = ${rope_factor};
?rope_frequencies?  if (!error) error = heed_file_floats(&m->file, "rope_frequencies", ${rotary_dim} / 2, &m->rope.inverse_frequencies);
  for (int32_t l = 0; !error && l < ${NAME}_LAYERS; ++l)
    error = l < ${NAME}_ENCODER_LAYERS ? open_encoder_layer(m, l) : open_decoder_layer(m, l);
  for (int32_t l = 0; !error && l < ${NAME}_DECODER_LAYERS; ++l)
    error = open_cache(&m->caches[l], ${NAME}_CONTEXT, m->cache_memory + (ptrdiff_t)l * ${NAME}_CACHE_BYTES, ${NAME}_CACHE_BYTES);
  return error;
}

void ${name}_restart(${name} *m) {
  for (int32_t l = 0; l < ${NAME}_DECODER_LAYERS; ++l) (void)heed_cache_reset(&m->caches[l]);
  m->n = m->n_chosen = 0;
}

/* ----------------------------------------------------------------------------------------------------- before the encoder */

?known?/* Number i of the known answers' sound. */
?known?static uint32_t mixed(uint32_t i);
static float number_of(const int16_t *samples, int32_t i) {
?known?  if (samples == NULL) return (float)((int32_t)(mixed((uint32_t)i) >> 16) - 32768) * (1.0f / 32768.0f);
  return (float)samples[i] * (1.0f / 32768.0f);
}

/* y (n, dim of w) = f of rows of x that overlap, one every `stride` floats, times w: a convolution over time. */
static heed_status convolve(${name} *m, const float *x, int32_t n, int32_t stride, const heed_weights *w, const float *bias,
                            heed_activation *f, float *y) {
  const heed_matrix rows = {x, n, w->n_in, stride};
  const heed_matrix_out out = heed_matrix_out_of(y, n, w->n_out);
  const heed_status status = heed_linear(rows, *w, bias, out, m->executor);
  return status == HEED_OK ? f(heed_matrix_of(y, n, w->n_out), heed_no_matrix(), out, m->executor) : status;
}
)";

const char network_text[] = R"(
/* ---------------------------------------------------------------------------------------------------------- network */

static void show(const ${name} *m, int32_t layer, int64_t first, const float *rows, int32_t n, int32_t dim) {
  if (m->see) m->see(m->see_user, layer, first, heed_matrix_of(rows, n, dim));
}

/* Keys and values that cross-attention reads: of n rows of the encoder, for each layer of the decoder. */
static const char *open_crosses(${name} *m, int32_t n) {
  const heed_memory workspace = heed_memory_of(m->workspace, sizeof m->workspace);
  const char *error = NULL;
  for (int32_t l = 0; !error && l < ${NAME}_DECODER_LAYERS; ++l) {
    error = open_cache(&m->crosses[l], n, m->phases.crosses + (ptrdiff_t)l * ${NAME}_CROSS_BYTES, ${NAME}_CROSS_BYTES);
    if (!error && heed_attention_layer_encode(&m->cross[l], heed_matrix_of(m->x, n, ${NAME}_DIM), workspace, m->executor) != HEED_OK)
      error = heed_refused;
  }
  return error;
}

/* x (n, ${NAME}_DIM) through the encoder, in place. Then the text may begin. */
static const char *run_encoder(${name} *m, int32_t n) {
  const heed_matrix x = heed_matrix_of(m->x, n, ${NAME}_DIM);
  const heed_matrix_out out = heed_matrix_out_of(m->x, n, ${NAME}_DIM);
  heed_status status = HEED_OK;
  for (int32_t l = 0; status == HEED_OK && l < ${NAME}_ENCODER_LAYERS; ++l) {
    status = heed_transformer_layer_run(&m->layers[l], x, out, heed_memory_of(m->phases.encoder, sizeof m->phases.encoder), m->executor);
    if (status == HEED_OK) show(m, l, 0, m->x, n, ${NAME}_DIM);
  }
  if (status == HEED_OK) status = ${norm}(x, m->encoder_norm_weight, m->encoder_norm_bias, ${eps}, out, m->executor);
  const char *const error = status == HEED_OK ? open_crosses(m, n) : heed_refused;
  if (!error) m->n_rows = n;
  return error;
}

?mel?/* n samples, with silence behind them up to n_frames rows of the spectrogram. */
?mel?static const char *run_sound(${name} *m, const int16_t *samples, int32_t n, int32_t n_frames) {
?mel?  ${name}_restart(m);
?mel?  m->n_rows = 0;
?mel?  heed_status status = run_spectrogram(m, samples, n, n_frames, m->phases.front.rows + ${NAME}_MELS);
?mel?  if (status == HEED_OK) status = run_front(m, n_frames);
?mel?  return status == HEED_OK ? run_encoder(m, n_frames / 2) : heed_refused;
?mel?}
?mel?
?mel?const char *${name}_sound(${name} *m, const int16_t *samples, int32_t n) {
?mel?  if (samples == NULL || n < 1) return "there is no sound";
?mel?  if (n > ${NAME}_SAMPLES) return "the sound is longer than the model can hear: see ${NAME}_SAMPLES";
?mel?  return run_sound(m, samples, n, ${NAME}_FRAMES);
?mel?}
?mel?
?mel?const char *${name}_rows(${name} *m, const float *rows, int32_t n) {
?mel?  if (rows == NULL || n < 2 || n % 2 != 0) return "the rows of a spectrogram are an even number";
?mel?  if (n > ${NAME}_FRAMES) return "the spectrogram is longer than the model can hear: see ${NAME}_FRAMES";
?mel?  ${name}_restart(m);
?mel?  m->n_rows = 0;
?mel?  for (int32_t i = 0; i < n * ${NAME}_MELS; ++i) m->phases.front.rows[${NAME}_MELS + i] = rows[i];
?mel?  return run_front(m, n) == HEED_OK ? run_encoder(m, n / 2) : heed_refused;
?mel?}
?samples?static const char *run_sound(${name} *m, const int16_t *samples, int32_t n) {
?samples?  ${name}_restart(m);
?samples?  m->n_rows = 0;
?samples?  m->most = (int32_t)((int64_t)n * ${tokens_a_second} / ${rate}); /* nobody says more than ${tokens_a_second} a second: a text that repeats itself ends */
?samples?  return run_front(m, samples, n) == HEED_OK ? run_encoder(m, rows_of(rows_of(rows_of(n, 127, 64), 7, 3), 3, 2)) : heed_refused;
?samples?}
?samples?
?samples?const char *${name}_sound(${name} *m, const int16_t *samples, int32_t n) {
?samples?  if (samples == NULL || n < ${least_samples}) return "the sound is shorter than ${least_samples} samples";
?samples?  if (n > ${NAME}_SAMPLES) return "the sound is longer than the model can hear: see ${NAME}_SAMPLES";
?samples?  return run_sound(m, samples, n);
?samples?}

/* Up to ${NAME}_PIECE tokens through the decoder; y (n, ${NAME}_DIM) afterwards. */
static heed_status run_decoder(${name} *m, const int32_t *tokens, int32_t n) {
  const heed_matrix y = heed_matrix_of(m->y, n, ${NAME}_DIM);
  const heed_matrix_out out = heed_matrix_out_of(m->y, n, ${NAME}_DIM);
  heed_status status = heed_gather_rows(m->embedding, tokens, out);
?mel?  if (status == HEED_OK)
?mel?    status = heed_add(y, heed_matrix_of(m->positions + (ptrdiff_t)m->n * ${NAME}_DIM, n, ${NAME}_DIM), out, m->executor);
  for (int32_t l = ${NAME}_ENCODER_LAYERS; status == HEED_OK && l < ${NAME}_LAYERS; ++l) {
    status = heed_transformer_layer_run(&m->layers[l], y, out, heed_memory_of(m->workspace, sizeof m->workspace), m->executor);
    if (status != HEED_OK) break;
    if (m->attended) add_attended(m, l == ${NAME}_ENCODER_LAYERS);
    show(m, l, m->n, m->y, n, ${NAME}_DIM);
  }
  return status;
}

/* logits = classifier(norm(the last of n rows of y)) */
static heed_status run_classifier(${name} *m, int32_t n) {
  float *const last = m->y + (ptrdiff_t)(n - 1) * ${NAME}_DIM;
  const heed_matrix row = heed_matrix_of(last, 1, ${NAME}_DIM);
  heed_status status = ${norm}(row, m->final_norm_weight, m->final_norm_bias, ${eps}, heed_matrix_out_of(last, 1, ${NAME}_DIM), m->executor);
  if (status == HEED_OK) status = heed_linear(row, m->classifier, NULL, heed_matrix_out_of(m->logits, 1, ${NAME}_TOKENS), m->executor);
  return status;
}

const char *${name}_read(${name} *m, const int32_t *tokens, int32_t n) {
  if (m->n_rows == 0) return "there is no sound yet";
  if (n < 1) return "there is no token to read";
  if (n > ${NAME}_CONTEXT - m->n) return "the text is longer than the context: see ${NAME}_CONTEXT";
  for (int32_t i = 0; i < n; ++i)
    if (tokens[i] < 0 || tokens[i] >= ${NAME}_TOKENS) return "a token is not one of the model's";
  const int32_t piece = m->attended ? 1 : ${NAME}_PIECE;
  for (int32_t done = 0, here; done < n; done += here) {
    here = n - done < piece ? n - done : piece;
    if (run_decoder(m, tokens + done, here) != HEED_OK) return heed_refused;
    for (int32_t i = 0; i < here; ++i) m->tokens[m->n + i] = tokens[done + i];
    m->n += here;
    if (done + here == n && run_classifier(m, here) != HEED_OK) return heed_refused;
  }
  show(m, ${NAME}_LAYERS, m->n - 1, m->logits, 1, ${NAME}_TOKENS);
  return NULL;
}
${known_answers}
const char *${name}_open(${name} *m, const void *file, size_t n_bytes) {
  const char *error = open_file(m, file, n_bytes);
?known?  m->fault_layer = -1;
?known?  if (!error) error = compare_known_answers(m);
?known?  m->n_rows = 0;
?known?  if (!error) ${name}_restart(m);
  return error;
}
?words?
?words?const char *${name}_prompt(${name} *m, const char *text, size_t n) {
?words?  int32_t n_tokens = 0;
?words?  int32_t *const tokens = m->tokens + m->n; /* read from where they will stay */
?words?  const char *error = heed_tokenizer_encode(&m->words, text, n, HEED_TOKENIZER_SPECIAL, tokens, ${NAME}_CONTEXT - m->n, &n_tokens,
?words?                                            heed_memory_of(m->workspace, sizeof m->workspace));
?words?  return error ? error : ${name}_read(m, tokens, n_tokens);
?words?}

/* ----------------------------------------------------------------------------------------------------------- choice */

/* Tokens that begin a text.${start_comment} */
static const char *read_start(${name} *m) {
  static const int32_t start[] = {${start}};
?languages?  static const int32_t languages[] = {
?languages?      ${languages}};
  const char *error = NULL;
  for (size_t i = 0; !error && i < sizeof start / sizeof start[0]; ++i) {
    int32_t token = start[i];
?languages?    for (size_t k = 0; start[i] < 0 && k < sizeof languages / sizeof languages[0]; ++k)
?languages?      if (token < 0 || m->logits[languages[k]] > m->logits[token]) token = languages[k];
    error = ${name}_read(m, &token, 1);
  }
  return error;
}
?suppresses?
?suppresses?static void suppress(${name} *m, const int32_t *tokens, size_t n) {
?suppresses?  for (size_t i = 0; i < n; ++i) m->logits[tokens[i]] = -3.40282347e+38f;
?suppresses?}

const char *${name}_next(${name} *m, int32_t *token) {
?suppressed?  static const int32_t never[] = {
?suppressed?      ${suppressed}};
?suppressed_first?  static const int32_t not_first[] = {${suppressed_first}};
  const char *const error = m->n == 0 ? read_start(m) : NULL;
  *token = -1;
  if (error) return error;
  if (m->n == ${NAME}_CONTEXT) return NULL;
?samples?  if (m->n_chosen == m->most) return NULL;
?suppressed?  suppress(m, never, sizeof never / sizeof never[0]);
?suppressed_first?  if (m->n_chosen == 0) suppress(m, not_first, sizeof not_first / sizeof not_first[0]);
  if (heed_argmax(heed_matrix_of(m->logits, 1, ${NAME}_TOKENS), token) != HEED_OK || *token < 0) return "the logits are no numbers";
${ends}  ++m->n_chosen;
  return ${name}_read(m, token, 1);
}
?words?
?words?size_t ${name}_text(const ${name} *m, int32_t token, char *text, size_t capacity) {
?words?  return heed_tokenizer_decode(&m->words, m->n_chosen > 1 ? m->tokens[m->n - 2] : -1, token, text, capacity);
?words?}
)";

const char known_run[] = R"(  int32_t tokens[${n_known}];
  for (int32_t i = 0; i < ${n_known}; ++i) {
    tokens[i] = (int32_t)(mixed((uint32_t)i) % ${NAME}_TOKENS);
    heed_receipt_token(&receipt, i, tokens[i]);
  }
?mel?  error = run_sound(m, NULL, ${known_samples}, ${known_samples} / ${step});
?samples?  error = run_sound(m, NULL, ${known_samples});
  if (!error) error = ${name}_read(m, tokens, ${n_known});
)";

// The lines of C that find the weights of layers from `first` on.
std::string lines_of_layers(const network &net, const std::vector<tensor> &weights, int32_t first) {
  std::string lines;
  for (const weight &w : net.weights) {
    const size_t at = w.name.find("{}");
    if (at == std::string::npos || w.first_layer != first) continue;
    std::string in_first = w.name;
    if (!has(weights, in_first.replace(at, 2, std::to_string(first)))) continue;
    const bool is_cross = w.field.compare(0, 6, "cross_") == 0;
    const std::string field = is_cross ? w.field.substr(6) : w.field;
    const bool of_attention = field.size() == 2;  // wq, bq and so on
    const std::string object = is_cross ? "c->" : of_attention ? "a->" : "t->";
    const std::string sizes =
        w.n_in > 0 ? std::to_string(w.n_in) + ", " + std::to_string(w.n_out) : std::to_string(w.n_out);
    lines += std::string("  ") + (lines.empty() ? "" : "if (!error) ") +
             "error = " + (w.n_in > 0 ? "layer_matrix" : "layer_floats") + "(m, l, \"" + w.field + "\", " + sizes +
             ", &" + object + field + ");  /* " + names::for_c(w.source) + " */\n";
  }
  if (!lines.empty()) lines.pop_back();
  return lines;
}

// Tokens in lines of 20.
std::string list_of(const std::vector<int32_t> &tokens) {
  std::string list;
  for (size_t i = 0; i < tokens.size(); ++i)
    list += (i == 0 ? "" : i % 20 == 0 ? ",\n      " : ", ") + std::to_string(tokens[i]);
  return list;
}

}  // namespace

program write_speech(const network &net, const choices &c, const std::vector<tensor> &weights) {
  const speech_settings &s = net.speech;
  const speech_sizes sizes = speech_sizes_of(net, c);
  const auto yes = [](bool is) { return std::string(is ? "1" : ""); };
  const auto unless = [](double number, double usual) { return number == usual ? std::string() : float_text(number); };
  const auto text = [](int32_t n) { return std::to_string(n); };
  static const std::map<int32_t, std::string> dtypes = {
      {HEED_F32, "HEED_F32"}, {HEED_F16, "HEED_F16"}, {HEED_BF16, "HEED_BF16"}, {HEED_INT8, "HEED_INT8"}};
  const bool is_mel = !s.takes_samples;
  const bool finds_language = std::find(s.start_tokens.begin(), s.start_tokens.end(), -1) != s.start_tokens.end();
  std::map<std::string, std::string> v = shared_values(net, c, weights);
  const std::map<std::string, std::string> own = {
      {"n_encoder", text(s.n_layers)},
      {"encoder_heads", text(s.n_heads)},
      {"encoder_kv_heads", text(s.n_kv_heads)},
      {"encoder_head_dim", text(s.head_dim)},
      {"encoder_ffn_dim", text(s.ffn_dim)},
      {"encoder_activation", s.activation},
      {"n_kv_heads", text(net.n_kv_heads)},
      {"n_samples", text(sizes.n_samples)},
      {"seconds", text(sizes.seconds)},
      {"mel", yes(is_mel)},
      {"samples", yes(!is_mel)},
      {"n_mels", text(s.n_mels)},
      {"n_frames", text(sizes.n_frames)},
      {"step", text(window_step)},
      {"window", text(window_length)},
      {"n_even", text(n_frequencies)},
      {"n_odd", text(n_frequencies - 2)},
      {"frame_piece", "8"},
      {"rows_1", text(sizes.rows_1)},
      {"rows", text(sizes.rows)},
      {"row_piece", "64"},
      {"piece_samples", text(63 * 64 + 127)},
      {"piece_2", text(2 * 64 + 1)},
      {"least_samples", text(least_samples)},
      {"rate", text(sample_rate)},
      {"tokens_a_second", text(tokens_a_second)},
      {"known_samples", text(known_samples)},
      {"context", text(context_of(net, c))},
      {"n_positions", text(net.n_positions)},
      {"piece", text(std::min(c.piece, context_of(net, c)))},
      {"cache_dtype", dtypes.at(dtype_of_cache(c))},
      {"exact", c.exact ? "1" : "0"},
      {"gated", net.up_gate ? "1" : "0"},
      {"up_gate", yes(net.up_gate)},
      {"convolutions", is_mel ? "conv1, conv2" : "conv1, conv2, conv3"},
      {"words", yes(has(weights, "tokenizer"))},
      {"tied", yes(net.is_tied)},
      {"rope", yes(net.rope.is_used)},
      {"rotary_dim", text(net.rope.rotary_dim)},
      {"rope_base", float_text(net.rope.base)},
      {"rope_scale", unless(net.rope.scale, 1)},
      {"rope_factor", unless(net.rope.factor, 1)},
      {"rope_frequencies", yes(!net.rope.frequencies.empty())},
      {"silence", is_mel ? " The sound has silence behind it\n * up to " + text(sizes.seconds) + " seconds." : ""},
      {"prompt_sample", is_mel ? "<|startoftranscript|><|de|><|transcribe|><|notimestamps|>" : "<s>"},
      {"outside", lines_outside(net, weights)},
      {"encoder_weights", lines_of_layers(net, weights, 0)},
      {"decoder_weights", lines_of_layers(net, weights, s.n_layers)},
      {"start", list_of(s.start_tokens)},
      {"start_comment", finds_language ? " -1 is the most probable language." : ""},
      {"languages", finds_language ? list_of(s.languages) : ""},
      {"suppresses", yes(!s.suppressed.empty() || !s.suppressed_first.empty())},
      {"suppressed", list_of(s.suppressed)},
      {"suppressed_first", list_of(s.suppressed_first)},
      {"ends", lines_of_ends(net)}};
  for (const auto &[key, value] : own) v[key] = value;
  v["known_answers"] = known_answers_text(v, known_run);
  return {filled(header_text, v), filled(open_text, v) + filled(is_mel ? mel_text : samples_text, v) +
                                      filled(attended_text, v) + filled(network_text, v)};
}

}  // namespace heed_compile
