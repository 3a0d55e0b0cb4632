/* heed_demo [FOLDER]: what heed does, is right about and costs on this machine, in under a minute. FOLDER, or the
 * environment variable HEED_KWT1, holds the KWT-1 model and clips, HEED_DREAMS names the folder of a language model,
 * HEED_MOONSHINE that of a speech model, HEED_SENTENCE_MAP a file for the weights of the worked sentence, for heed_map.
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heed/heed.h>

#include "../terminal.h"

/* Nobody waits for what nobody can read. */
static void headline(const char *text) {
  printf("\n== %s ==\n\n", text);
  const int status = finish_output("heed_demo", 0);
  if (status != 0) exit(status);
}

enum { skipped = 77 }; /* the exit status of a program that lacks a model or clips, and says which */

/* Runs a program that lies beside this one, with one or two words. Returns 0 if it is content, or skipped. */
static int run_beside(const char *self, const char *program, const char *folder, const char *text) {
  char path[4096];
  const char *slash = strrchr(self, '/');
  const int length = slash ? (int)(slash - self) : 1;
  if (snprintf(path, sizeof path, "%.*s/%s", length, slash ? self : ".", program) >= (int)sizeof path) return 1;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl(path, path, folder, text, (char *)NULL);
    fprintf(stderr, "cannot run %s\n", path);
    _exit(127);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  return WIFEXITED(status) && WEXITSTATUS(status) == skipped ? skipped : status != 0;
}

static int is_given(const char *folder) { return folder && *folder; }

/* A folder that is given has this file: a sentence now, and not when the long parts are over. Returns 0, or 1. */
static int lacks(const char *who, const char *folder, const char *file) {
  char path[4096];
  if (!is_given(folder)) return 0;
  if (snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path && access(path, R_OK) == 0) return 0;
  fprintf(stderr, "heed_demo: %s: there is no %s in %s\n", who, file, folder);
  return 1;
}

static int part(const char *name, int failed) {
  if (failed) printf("\n%s: FAILED\n", name);
  return failed != 0;
}

int main(int argc, char **argv) {
  const char *speech = argc > 1 ? argv[1] : getenv("HEED_KWT1"), *dreams = getenv("HEED_DREAMS");
  const char *moonshine = getenv("HEED_MOONSHINE");
  int n_failed = lacks(argc > 1 ? "FOLDER" : "HEED_KWT1", speech, "non_stream.tflite") +
                 lacks("HEED_DREAMS", dreams, "model.bin") + lacks("HEED_MOONSHINE", moonshine, "clips/tale.wav");
  if (n_failed) return 1;
  printf("heed %s, kernel in use: %s\n", heed_version(), heed_isa_current());

  headline("1. A worked sentence");
  n_failed += part("worked sentence", demo_sentence(getenv("HEED_SENTENCE_MAP")));
  headline("2. Self-test: every kernel of this processor against the scalar reference");
  n_failed += part("self-test", demo_selftest());
  headline("3. Speed on this machine");
  n_failed += part("speed table", demo_speed());
  headline("4. Keyword spotting on real speech");
  if (is_given(speech))
    n_failed += part("keyword spotting", run_beside(argv[0], "heed_kwt", speech, NULL));
  else
    printf("skipped: no model folder (give it as argument or in HEED_KWT1)\n");
  headline("5. A language model for microcontrollers");
  if (is_given(dreams)) {
    char check[4096];
    if (snprintf(check, sizeof check, "--check=%s", dreams) >= (int)sizeof check) check[0] = '\0';
    n_failed += part("language model", run_beside(argv[0], "heed_dreams", "I dream of", NULL));
    n_failed += part("language model, all prompts", run_beside(argv[0], "heed_dreams", check, NULL));
  } else {
    printf("skipped: no model folder (give it in HEED_DREAMS)\n");
  }
  headline("6. Speech to text");
  if (is_given(moonshine)) {
    char check[4096];
    if (snprintf(check, sizeof check, "--check=%s", moonshine) >= (int)sizeof check) check[0] = '\0';
    n_failed += part("speech to text", run_beside(argv[0], "heed_listen", "--clips=kitchen_light,tale", check));
  } else {
    printf("skipped: no model folder (give it in HEED_MOONSHINE)\n");
  }

  if (n_failed)
    printf("\nVERDICT: FAILED, %d of the parts above\n", n_failed);
  else
    printf("\nVERDICT: all parts passed%s%s%s\n", is_given(speech) ? "" : ", keyword spotting was skipped",
           is_given(dreams) ? "" : ", the language model was skipped",
           is_given(moonshine) ? "" : ", speech to text was skipped");
  return finish_output("heed_demo", n_failed != 0);
}
