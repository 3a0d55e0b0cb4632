/* The end of a program that prints, and how far a long one has come. C99 and C++. SPDX-License-Identifier: MIT */
#ifndef HEED_PORTS_TERMINAL_H
#define HEED_PORTS_TERMINAL_H

#include <stdio.h>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

/* The exit status of a program in C: what is given, or 1 with a sentence if standard output has not taken all that was
 * printed, as on a full disk. Programs in C++ call files::finish_standard_output. */
static inline int finish_output(const char *program, int status) {
  const int flushed = fflush(stdout) == 0;
  if (flushed && !ferror(stdout)) return status;
  fprintf(stderr, "%s: standard output cannot be written; what it holds is not all\n", program);
  return status != 0 ? status : 1;
}

/* Writes how many parts of the work are done into one line of a terminal, and nothing into a file. The line goes with the
 * last part. */
static inline void show_progress(const char *what, size_t n_done, size_t n_all) {
#ifdef _WIN32
  const int is_terminal = _isatty(2);
#else
  const int is_terminal = isatty(2);
#endif
  if (!is_terminal) return;
  if (n_done < n_all)
    fprintf(stderr, "\r%s: %lu of %lu", what, (unsigned long)n_done, (unsigned long)n_all);
  else
    fprintf(stderr, "\r\033[K");
  fflush(stderr);
}

#endif
