/* Worked examples, small enough to follow by hand, with known answers. SPDX-License-Identifier: MIT */
#include "demo.h"

#include <heed/heed.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

enum { n_words = 5, dim = 3 };
typedef float table[n_words][n_words];

static int n_checked, n_wrong;

/* Answers are known to some digits. */
static void check(const char *what, float actual, double known, double tolerance) {
  ++n_checked;
  const double error = actual > known ? actual - known : known - actual;
  if (error <= tolerance) return; /* NaN does not return */
  printf("  WRONG: %s is %.6f, not %.6f\n", what, (double)actual, known);
  ++n_wrong;
}

static void check_status(const char *what, heed_status status) {
  if (status == HEED_OK) return;
  printf("  WRONG: %s returned \"%s\" (%s)\n", what, heed_status_text(status), heed_status_argument(status));
  ++n_wrong;
}

/* x (n_words, dim) -> scaled similarities, attention weights, context vectors. */
static void attend(const float x[n_words][dim], float scale, table similarity, table weights,
                   float context[n_words][dim]) {
  HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(dim, dim));
  for (int i = 0; i < n_words; ++i)
    for (int j = 0; j < n_words; ++j) {
      check_status("heed_dot", heed_dot(x[i], x[j], dim, &similarity[i][j]));
      similarity[i][j] *= scale;
    }
  heed_attention_weights all_weights;
  check_status("heed_attention_weights_init",
               heed_attention_weights_init(&all_weights, heed_head_major_out(weights[0], n_words, 1, n_words)));
  heed_options options = heed_options_default();
  options.weights = &all_weights;
  heed_attention call = heed_attention_of(x[0], x[0], x[0], n_words, n_words, 1, 1, dim, context[0], workspace);
  call.scale = scale;
  call.options = &options;
  check_status("heed_attention_run", heed_attention_run(&call));
}

static void print_header(const char *const names[], int n) {
  printf("  %-8s", "");
  for (int j = 0; j < n; ++j) printf("%9s", names[j]);
  printf("\n");
}

static void print_table(const char *title, const char *const rows[], const char *const columns[], const float *x,
                        int n_columns, int heat) {
  static const char shades[] = " .:-=+*#%@";
  printf("\n  %s\n", title);
  print_header(columns, n_columns);
  for (int i = 0; i < n_words; ++i) {
    printf("  %-8s", rows[i]);
    for (int j = 0; j < n_columns; ++j) printf("%9.5f", (double)x[i * n_columns + j]);
    if (heat) {
      printf("   |");
      for (int j = 0; j < n_columns; ++j) {
        const float weight = x[i * n_columns + j];
        const int shade = weight >= 0 && weight <= 1 ? (int)(weight * 9.0f + 0.5f) : 0;
        printf("%c%c", shades[shade], shades[shade]);
      }
      printf("|");
    }
    printf("\n");
  }
}

static void print_attention(const char *const rows[], const char *similarity_title, table similarity, table weights,
                            float context[n_words][dim]) {
  static const char *const features[] = {"1", "2", "3"};
  print_table(similarity_title, rows, rows, similarity[0], n_words, 0);
  print_table("weights = softmax of each row", rows, rows, weights[0], n_words, 1);
  print_table("context vectors = weights x embeddings", rows, features, context[0], dim, 0);
}

/* The weights as a file for heed_map. */
static void print_map(FILE *file, const char *const words[], table weights) {
  fprintf(file,
          "title\tEach word attends to words like it\nnote\tembeddings of three features, no learned weights\npanel\t");
  for (int axis = 0; axis < 2; ++axis) {
    fprintf(file, "\n%s", axis == 0 ? "rows\tquery" : "columns\tkey");
    for (int j = 0; j < n_words; ++j) fprintf(file, "\t%s", words[j]);
  }
  for (int i = 0; i < n_words; ++i)
    for (int j = 0; j < n_words; ++j) fprintf(file, "%s%.7g", j == 0 ? "\nrow\t" : "\t", (double)weights[i][j]);
  fprintf(file, "\n");
}

/* A file gets a temporary name first, so that a full disk leaves what was there before; a device is written as it is. */
static void write_map(const char *path, const char *const words[], table weights) {
  char part[4096];
  struct stat found;
  const int is_device = stat(path, &found) == 0 && !S_ISREG(found.st_mode);
  const int fits = snprintf(part, sizeof part, is_device ? "%s" : "%s.part", path) < (int)sizeof part;
  signal(SIGXFSZ, SIG_IGN); /* beyond the limit of a file's size the write fails */
  FILE *file = fits ? fopen(part, "w") : NULL;
  int whole = file != NULL;
  if (file) {
    print_map(file, words, weights);
    whole = fflush(file) == 0 && !ferror(file);
    whole = fclose(file) == 0 && whole;
    if (!is_device) whole = whole && rename(part, path) == 0;
    if (!whole && !is_device) remove(part);
  }
  if (whole) return;
  printf("  %s cannot be written\n", path);
  ++n_wrong;
}

static void sentence(const char *map) {
  static const char *const words[] = {"apple", "is", "phone", "garden", "the"};
  static const float x[n_words][dim] = {{5, 2, 0}, {0, 0, 2}, {0, 5, 0}, {2, 0, 0}, {0, 0, 3}};
  static const double known[n_words] = {.99997, .00000, .00002, .00002, .00000};
  table similarity, weights;
  float context[n_words][dim];
  printf("  \"apple is phone garden the\", each word an embedding of three features; no learned weights.\n");
  attend(x, 0.57735027f, similarity, weights, context);
  print_attention(words, "similarities = x x^T / sqrt(3)", similarity, weights, context);
  if (map) write_map(map, words, weights);
  check("similarity of apple with itself", similarity[0][0], 16.743, 5e-4);
  check("similarity of apple with phone", similarity[0][2], 5.774, 5e-4);
  for (int j = 0; j < n_words; ++j) check("weight of apple's row", weights[0][j], known[j], 6e-6);
  check("apple's new first feature", context[0][0], 4.99986, 6e-6);
}

static void five_embeddings(void) {
  static const char *const rows[] = {"x1", "x2", "x3", "x4", "x5"};
  static const float x[n_words][dim] = {
      {.1f, .2f, .3f}, {.4f, .5f, .6f}, {.7f, .8f, .9f}, {.2f, .1f, .4f}, {.5f, .3f, .2f}};
  /* Weights and context were published from rounded exponentials: four digits. */
  static const double known_similarity[n_words] = {.14, .32, .50, .16, .17};
  static const double known_weight[n_words] = {.1761, .2107, .2522, .1796, .1814};
  static const double known_context[dim] = {.40505, .41471, .51435};
  table similarity, weights;
  float context[n_words][dim];
  printf("\n  Five embeddings, not scaled.\n");
  attend(x, 1.0f, similarity, weights, context);
  print_attention(rows, "similarities = x x^T", similarity, weights, context);
  for (int j = 0; j < n_words; ++j) {
    check("similarity of x1's row", similarity[0][j], known_similarity[j], 1e-5);
    check("weight of x1's row", weights[0][j], known_weight[j], 1e-4);
  }
  for (int j = 0; j < dim; ++j) check("context of x1", context[0][j], known_context[j], 1e-4);
}

static void projections(void) {
  static const float x[dim] = {.4f, .5f, .6f};
  static const float w[3][dim][dim] = {{{.3f, .6f, .9f}, {.1f, .4f, .7f}, {.2f, .5f, .8f}},
                                       {{.5f, .2f, .1f}, {.4f, .3f, .6f}, {.7f, .8f, .9f}},
                                       {{.6f, .1f, .4f}, {.3f, .5f, .2f}, {.8f, .7f, .9f}}};
  static const double known[3][dim] = {{.29, .74, 1.19}, {.82, .71, .88}, {.87, .71, .80}};
  static const char *const names[] = {"q = x wq", "k = x wk", "v = x wv"};
  static const float query[dim] = {.6f, .5f, .4f};
  static const float keys[3][dim] = {{.2f, .1f, 0}, {.6f, .5f, .4f}, {.9f, .8f, .7f}};
  static const double known_dot[3] = {.17, .77, 1.22};
  printf("\n  projections of x = [.4 .5 .6]\n");
  for (int i = 0; i < 3; ++i) {
    float y[dim], dot;
    check_status("heed_linear",
                 heed_linear(heed_matrix_of(x, 1, dim), heed_weights_of_matrix(heed_matrix_of(w[i][0], dim, dim)), NULL,
                             heed_matrix_out_of(y, 1, dim), NULL));
    check_status("heed_dot", heed_dot(query, keys[i], dim, &dot));
    printf("  %-8s%9.5f%9.5f%9.5f     [.6 .5 .4] . key %d = %.5f\n", names[i], (double)y[0], (double)y[1], (double)y[2],
           i + 1, (double)dot);
    for (int j = 0; j < dim; ++j) check(names[i], y[j], known[i][j], 1e-5);
    check("query times key", dot, known_dot[i], 1e-5);
  }
}

int demo_sentence(const char *map) {
  n_checked = n_wrong = 0;
  sentence(map);
  five_embeddings();
  projections();
  printf("\n  %d of %d known answers are met.\n", n_checked - n_wrong, n_checked);
  return n_wrong;
}
