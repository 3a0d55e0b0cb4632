/* What the programs for boards need of the machine under them. Each port implements it: bare/ for a processor
 * without an operating system, linux/port.c for everything with a C library. C99. SPDX-License-Identifier: MIT */
#ifndef HEED_PORTS_PORT_H
#define HEED_PORTS_PORT_H

#include <stddef.h>
#include <stdint.h>

/* Writes to the debugger, the serial line or standard output. */
void port_write(const char *text);
void port_write_int(int32_t number);
void port_write_count(uint64_t number, int32_t n_digits); /* with zeros in front, if it is shorter */
void port_write_hex(uint32_t number);                     /* eight digits */

/* Ends the program; 0 is success. Returning from main does the same. */
void port_exit(int status);

/* Copies the words behind the program's name, separated by blanks; an empty text if there are none. */
void port_arguments(char *text, size_t capacity);

/* Reads a whole file of the host. The bytes read, or -1 if there is no such file or it is larger. */
int32_t port_read_file(const char *path, void *buffer, size_t capacity);

/* Reads n bytes of a file of the host from `offset` on: 0, or -1 if there are none or fewer. */
int32_t port_read_part(const char *path, size_t offset, void *buffer, size_t n);

/* Memory that the program does not use, aligned to 64 bytes. */
void *port_free_memory(size_t *bytes);

/* Stack that was used below the caller since port_paint_stack(), which overwrites what is free. 0: not measured here.
 */
void port_paint_stack(void);
size_t port_painted_stack_used(void);

#endif
