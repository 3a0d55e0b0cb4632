/* What tests of a program of heed_compile's know of it by macros: MODEL is its name, MODEL_HEADER its header, KIND what it does,
 * MODEL_FILE its file.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_COMPILED_H
#define HEED_TESTS_COMPILED_H

#include MODEL_HEADER
#include "ports/port.h"

#ifdef MODEL_FILE_BYTES /* it is read: WebAssembly links no files */
HEED_ALIGNED static unsigned char linked[MODEL_FILE_BYTES];
enum { linked_bytes = MODEL_FILE_BYTES };
static inline int is_read(void) { return port_read_file(MODEL_FILE, linked, linked_bytes) == linked_bytes; }
#else
HEED_FILE_LINK(linked, MODEL_FILE)
#define linked_bytes HEED_FILE_LINKED_BYTES(linked)
static inline int is_read(void) { return 1; }
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(what) JOIN(MODEL, what)
#define DECODER 1
#define ENCODER 2
#define VISION 3
#define SPEECH 4
#define GRAPH 5

#endif
