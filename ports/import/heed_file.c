/* See heed_file.h. SPDX-License-Identifier: MIT */
#include "heed_file.h"

void *memcpy(void *to, const void *from, size_t n); /* there may be no string.h */

enum { e_name, e_format, e_layout, e_n_dims, e_dims, e_data = 8, e_n_bytes, e_n_scales, e_scales, e_zeros, e_sum };
enum { h_version = 2, h_n_bytes, h_n_tensors, h_contents, h_sum, h_order };
#define BYTE_ORDER_WORD UINT32_C(0x01020304)
#define FIRST_SUM UINT32_C(2166136261)

/* A word as the file has it, on any processor. */
static uint32_t word_at(const uint8_t *bytes, uint32_t i) {
  const uint8_t *b = bytes + (size_t)4 * i;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static const uint8_t *entry_of(const heed_file *file, uint32_t i) {
  return file->data + HEED_FILE_HEADER_BYTES + (size_t)HEED_FILE_ENTRY_BYTES * i;
}

static uint32_t add_word(uint32_t sum, uint32_t word) { return (sum ^ word) * UINT32_C(16777619); }

/* Bytes that are numbers of `size` bytes in the processor's order: equal in the file's order and after heed_file_swap. The
 * last word may reach into the padding. */
static uint32_t add_numbers(uint32_t sum, const uint8_t *data, uint32_t n_bytes, uint32_t size) {
  for (uint32_t i = 0; i < n_bytes / 4 + (n_bytes % 4 != 0); i++) {
    uint32_t word = 0;
    uint16_t half[2];
    if (size == 4) {
      memcpy(&word, data + (size_t)4 * i, 4);
    } else if (size == 2) {
      memcpy(half, data + (size_t)4 * i, 4);
      word = half[0] | (uint32_t)half[1] << 16;
    } else {
      word = word_at(data, i);
    }
    sum = add_word(sum, word);
  }
  return sum;
}

/* Bytes of a number, for the byte order: blocks and packed weights are bytes. */
static uint32_t number_size(uint32_t dtype, uint32_t layout) {
  if (layout == HEED_PACKED) return 1;
  return dtype == HEED_F32 || dtype == HEED_FILE_I32                         ? 4
         : dtype == HEED_F16 || dtype == HEED_BF16 || dtype == HEED_FILE_I16 ? 2
                                                                             : 1;
}

static int is_byte_format(uint32_t dtype) { return dtype >= HEED_FILE_U8 && dtype <= HEED_FILE_I8_PLUS; }

/* Of a zero point. */
static uint32_t zero_size(uint32_t dtype) { return dtype >= HEED_FILE_U8_PLUS ? 4 : 1; }

/* Inputs and outputs; 0 if they do not fit in 31 bits. */
static void shape_of(const uint8_t *entry, uint64_t *n_in, uint64_t *n_out) {
  const uint32_t n_dims = word_at(entry, e_n_dims);
  const uint32_t at = word_at(entry, e_layout) == HEED_IN_OUT && n_dims > 1 ? n_dims - 1 : 0;
  *n_in = 1, *n_out = word_at(entry, e_dims + at);
  for (uint32_t i = 0; i < HEED_FILE_MAX_DIMS; i++) {
    const uint32_t dim = word_at(entry, e_dims + i);
    if (i != at) *n_in *= dim;
    if (dim == 0 || dim > INT32_MAX || *n_in > INT32_MAX) *n_in = *n_out = 0;
  }
}

/* Bytes that a tensor must have; 0 if there is none of this format, layout and shape. */
static uint64_t bytes_of(uint32_t dtype, uint32_t layout, uint64_t n_in, uint64_t n_out) {
  const uint64_t n = n_in * n_out; /* below 2^62 */
  if (layout == HEED_PACKED) return heed_weights_packed_bytes((int32_t)dtype, (int32_t)n_in, (int32_t)n_out);
  if (layout != HEED_OUT_IN && layout != HEED_IN_OUT) return 0;
  if (dtype == HEED_Q8_0 || dtype == HEED_Q4_0)
    return layout == HEED_IN_OUT || n_in % 32 != 0 ? 0 : n / 32 * (dtype == HEED_Q8_0 ? 34 : 18);
  if (is_byte_format(dtype)) return n;
  if (dtype == HEED_FILE_TEXT || dtype == HEED_FILE_LIST) return layout == HEED_OUT_IN ? n : 0;
  if (dtype == HEED_FILE_I32) return layout == HEED_OUT_IN ? 4 * n : 0;
  if (dtype == HEED_FILE_I16) return layout == HEED_OUT_IN ? 2 * n : 0;
  return dtype > HEED_INT8 ? 0 : n * HEED_DTYPE_BYTES(dtype);
}

static int is_inside(uint32_t n_bytes, uint32_t contents, uint32_t offset, uint64_t n) {
  return offset % HEED_FILE_ALIGNMENT == 0 && offset >= contents && offset <= n_bytes && n <= n_bytes - offset &&
         (n + 3) / 4 * 4 <= n_bytes - offset;
}

static const char *entry_error(const heed_file *file, uint32_t contents, uint32_t i) {
  const uint8_t *e = entry_of(file, i);
  const uint32_t dtype = word_at(e, e_format), layout = word_at(e, e_layout), n_scales = word_at(e, e_n_scales);
  const uint32_t names = HEED_FILE_HEADER_BYTES + HEED_FILE_ENTRY_BYTES * file->n_tensors;
  const uint32_t name = word_at(e, e_name), zeros = word_at(e, e_zeros);
  uint64_t n_in, n_out;
  if (name < names || name >= contents) return "the file is damaged: a name lies outside";
  if (word_at(e, e_n_dims) > HEED_FILE_MAX_DIMS) return "the file is damaged: a tensor has more than 4 dimensions";
  shape_of(e, &n_in, &n_out);
  const uint64_t n_bytes = n_in == 0 ? 0 : bytes_of(dtype, layout, n_in, n_out);
  if (n_bytes == 0) return "the file is damaged: a tensor's format or shape is not possible";
  if (n_bytes != word_at(e, e_n_bytes)) return "the file is damaged: a tensor's bytes are not those of its shape";
  const int one = is_byte_format(dtype) && n_scales == 1;
  const int plain_int8 = dtype == HEED_INT8 && layout != HEED_PACKED;
  if (!one && n_scales != (plain_int8 || is_byte_format(dtype) ? n_out : 0))
    return "the file is damaged: a tensor has too many or too few scales";
  if (n_scales == 0 && word_at(e, e_scales) != 0) return "the file is damaged: a tensor has too many or too few scales";
  if ((zeros != 0) != is_byte_format(dtype)) return "the file is damaged: a tensor's zero points are not possible";
  if (!is_inside(file->n_bytes, contents, word_at(e, e_data), n_bytes) ||
      (n_scales && !is_inside(file->n_bytes, contents, word_at(e, e_scales), (uint64_t)4 * n_scales)) ||
      (zeros && !is_inside(file->n_bytes, contents, zeros, (uint64_t)zero_size(dtype) * n_scales)))
    return "the file is damaged: a tensor lies outside";
  return NULL;
}

/* All that heed_file_open checks but the byte order. */
static const char *open_file(heed_file *file, const void *data, size_t n_bytes) {
  const uint8_t *bytes = (const uint8_t *)data;
  if (!data) return "there is no file: its address is null";
  if ((uintptr_t)data % HEED_FILE_ALIGNMENT != 0) return "the file is not aligned to 64 bytes";
  if (n_bytes < 8 || word_at(bytes, 0) != UINT32_C(0x44454548) || word_at(bytes, 1) != UINT32_C(0x454c4946))
    return "this is not a file of heed_import: it does not begin with HEEDFILE";
  if (n_bytes < HEED_FILE_HEADER_BYTES) return "the file is truncated";
  if (word_at(bytes, h_version) != HEED_FILE_VERSION) return "the file has a version that this reader does not know";
  file->data = bytes;
  file->n_bytes = word_at(bytes, h_n_bytes);
  file->n_tensors = word_at(bytes, h_n_tensors);
  const uint32_t contents = word_at(bytes, h_contents);
  if (file->n_bytes > n_bytes) return "the file is truncated";
  if (contents > file->n_bytes || contents < HEED_FILE_HEADER_BYTES || contents % HEED_FILE_ALIGNMENT != 0 ||
      file->n_tensors > (contents - HEED_FILE_HEADER_BYTES) / HEED_FILE_ENTRY_BYTES)
    return "the file is damaged: its header is not possible";
  if (add_numbers(FIRST_SUM, bytes + HEED_FILE_HEADER_BYTES, contents - HEED_FILE_HEADER_BYTES, 1) !=
      word_at(bytes, h_sum))
    return "the file is damaged: the sum of its entries and names differs";
  if (file->n_tensors && bytes[contents - 1] != 0) return "the file is damaged: a name has no end";
  for (uint32_t i = 0; i < file->n_tensors; i++) {
    const char *error = entry_error(file, contents, i);
    if (error) return error;
  }
  return NULL;
}

static uint32_t order_of(const void *data) {
  uint32_t order;
  memcpy(&order, (const uint8_t *)data + 4 * h_order, 4);
  return order;
}

const char *heed_file_open(heed_file *file, const void *data, size_t n_bytes) {
  const char *error = open_file(file, data, n_bytes);
  if (error) return error;
  if (order_of(data) == UINT32_C(0x04030201)) return "the numbers have the other byte order: call heed_file_swap first";
  return order_of(data) == BYTE_ORDER_WORD ? NULL : "the file is damaged: its header is not possible";
}

/* The three parts of a tensor, and the bytes of their numbers. */
typedef struct part {
  uint32_t offset, n_bytes, size;
} part;

static void parts_of(const uint8_t *e, part parts[3]) {
  const uint32_t dtype = word_at(e, e_format), n_scales = word_at(e, e_n_scales), zero = zero_size(dtype);
  const part numbers = {word_at(e, e_data), word_at(e, e_n_bytes), number_size(dtype, word_at(e, e_layout))};
  const part scales = {word_at(e, e_scales), 4 * n_scales, 4};
  const part zeros = {word_at(e, e_zeros), word_at(e, e_zeros) ? zero * n_scales : 0, zero};
  parts[0] = numbers, parts[1] = scales, parts[2] = zeros;
}

const char *heed_file_check(const heed_file *file) {
  for (uint32_t i = 0; i < file->n_tensors; i++) {
    part parts[3];
    uint32_t sum = FIRST_SUM;
    parts_of(entry_of(file, i), parts);
    for (int k = 0; k < 3; k++) sum = add_numbers(sum, file->data + parts[k].offset, parts[k].n_bytes, parts[k].size);
    if (sum != word_at(entry_of(file, i), e_sum)) return "the file is damaged: the sum of a tensor differs";
  }
  return NULL;
}

static void swap_numbers(uint8_t *data, uint32_t n_bytes, uint32_t size) {
  for (uint32_t i = 0; size > 1 && n_bytes - i >= size; i += size) {
    for (uint32_t k = 0; k < size / 2; k++) {
      const uint8_t first = data[i + k];
      data[i + k] = data[i + size - 1 - k];
      data[i + size - 1 - k] = first;
    }
  }
}

const char *heed_file_swap(void *data, size_t n_bytes) {
  heed_file file;
  uint8_t *bytes = (uint8_t *)data;
  const char *error = open_file(&file, data, n_bytes);
  if (error || order_of(data) != UINT32_C(0x04030201)) return error;
  for (uint32_t i = 0; i < file.n_tensors; i++) {
    part parts[3];
    parts_of(entry_of(&file, i), parts);
    for (int k = 0; k < 3; k++) swap_numbers(bytes + parts[k].offset, parts[k].n_bytes, parts[k].size);
  }
  swap_numbers(bytes + 4 * h_order, 4, 4);
  return NULL;
}

heed_file_tensor heed_file_tensor_at(const heed_file *file, uint32_t i) {
  const uint8_t *e = entry_of(file, i);
  heed_file_tensor t;
  uint64_t n_in, n_out;
  shape_of(e, &n_in, &n_out);
  t.name = (const char *)file->data + word_at(e, e_name);
  t.data = file->data + word_at(e, e_data);
  t.n_scales = word_at(e, e_n_scales);
  t.scales = t.n_scales ? (const float *)(const void *)(file->data + word_at(e, e_scales)) : NULL;
  t.zeros = word_at(e, e_zeros) ? file->data + word_at(e, e_zeros) : NULL;
  t.n_bytes = word_at(e, e_n_bytes);
  t.dtype = (int32_t)word_at(e, e_format);
  t.layout = (int32_t)word_at(e, e_layout);
  t.n_dims = (int32_t)word_at(e, e_n_dims);
  for (uint32_t k = 0; k < HEED_FILE_MAX_DIMS; k++) t.dims[k] = (int32_t)word_at(e, e_dims + k);
  t.n_in = (int32_t)n_in;
  t.n_out = (int32_t)n_out;
  return t;
}

const char *heed_file_find(const heed_file *file, const char *name, heed_file_tensor *tensor) {
  for (uint32_t i = 0; i < file->n_tensors; i++) {
    const char *a = (const char *)file->data + word_at(entry_of(file, i), e_name), *b = name;
    while (*a && *a == *b) a++, b++;
    if (*a != *b) continue;
    *tensor = heed_file_tensor_at(file, i);
    return NULL;
  }
  return "the file has no tensor of this name";
}

static const char *find_matrix(const heed_file *file, const char *name, int32_t n_in, int32_t n_out,
                               heed_file_tensor *t) {
  const char *error = heed_file_find(file, name, t);
  if (error) return error;
  return t->n_in == n_in && t->n_out == n_out ? NULL : "the tensor has another shape";
}

const char *heed_file_weights(const heed_file *file, const char *name, int32_t n_in, int32_t n_out, heed_weights *w) {
  heed_file_tensor t;
  const char *error = find_matrix(file, name, n_in, n_out, &t);
  if (error) return error;
  if (t.layout == HEED_PACKED) return "the weights are packed: use heed_file_packed";
  if (t.dtype == HEED_Q8_0 || t.dtype == HEED_Q4_0) return "the weights are in blocks: use heed_file_blocks";
  if (t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_I8)
    return "the weights have zero points: use heed_file_zero_points";
  if (t.dtype > HEED_INT8) return "the weights have a format of the file alone: use heed_file_find";
  *w = heed_weights_of(t.data, t.scales, t.dtype, t.layout, n_in, n_out);
  return NULL;
}

const char *heed_file_zero_points(const heed_file *file, const char *name, int32_t n_in, int32_t n_out,
                                  heed_weights *w) {
  heed_file_tensor t;
  const char *error = find_matrix(file, name, n_in, n_out, &t);
  if (error) return error;
  if (t.dtype != HEED_FILE_U8 && t.dtype != HEED_FILE_I8) return "the weights have no zero points";
  const int32_t dtype = t.dtype == HEED_FILE_U8 ? HEED_UINT8 : HEED_INT8;
  const heed_weights plain = heed_weights_of(t.data, t.scales, dtype, t.layout, n_in, n_out);
  *w = heed_weights_with_zero_points(plain, t.zeros, (int32_t)t.n_scales);
  return NULL;
}

const char *heed_file_blocks(const heed_file *file, const char *name, int32_t n_in, int32_t n_out, heed_weights *w) {
  heed_file_tensor t;
  const char *error = find_matrix(file, name, n_in, n_out, &t);
  if (error) return error;
  if (t.layout == HEED_PACKED || (t.dtype != HEED_Q8_0 && t.dtype != HEED_Q4_0)) return "the weights are not in blocks";
  *w = heed_weights_of_blocks(t.data, t.dtype, n_in, n_out);
  return NULL;
}

const char *heed_file_packed(const heed_file *file, const char *name, int32_t n_in, int32_t n_out, heed_weights *w) {
  heed_file_tensor t;
  const char *error = find_matrix(file, name, n_in, n_out, &t);
  if (error) return error;
  if (t.layout != HEED_PACKED) return "the weights are not packed";
  if (heed_weights_open(w, t.data, t.n_bytes) != HEED_OK || w->n_in != n_in || w->n_out != n_out || w->dtype != t.dtype)
    return "the file is damaged: packed weights are not what the entry says";
  return NULL;
}

const char *heed_file_floats(const heed_file *file, const char *name, int32_t n, const float **floats) {
  heed_file_tensor t;
  const char *error = heed_file_find(file, name, &t);
  if (error) return error;
  if (t.dtype != HEED_F32 || t.layout == HEED_PACKED) return "the tensor is not of floats";
  if (t.n_bytes / 4 != (uint32_t)n) return "the tensor has another number of floats";
  *floats = (const float *)t.data;
  return NULL;
}

const char *heed_file_text(const heed_file *file, const char *name, const char **text, size_t *n) {
  heed_file_tensor t;
  const char *error = heed_file_find(file, name, &t);
  if (error) return error;
  if (t.dtype != HEED_FILE_TEXT) return "the tensor is no text";
  *text = (const char *)t.data;
  *n = t.n_bytes;
  return NULL;
}

const char *heed_file_open_list(const heed_file *file, const char *name, heed_file_list *list) {
  heed_file_tensor t;
  const char *error = heed_file_find(file, name, &t);
  if (error) return error;
  if (t.dtype != HEED_FILE_LIST) return "the tensor is no list of texts";
  const uint8_t *bytes = (const uint8_t *)t.data;
  if (t.n_bytes < 4 || word_at(bytes, 0) > (t.n_bytes - 4) / 4)
    return "the file is damaged: a list is longer than its bytes";
  list->n = word_at(bytes, 0);
  list->ends = bytes + 4;
  list->texts = list->ends + (size_t)4 * list->n;
  const uint32_t room = t.n_bytes - 4 - 4 * list->n;
  uint32_t before = 0;
  for (uint32_t i = 0; i < list->n; i++) {
    const uint32_t end = word_at(list->ends, i);
    if (end < before || end > room) return "the file is damaged: a text of a list lies outside";
    before = end;
  }
  return NULL;
}

const char *heed_file_text_at(const heed_file_list *list, uint32_t i, size_t *n_bytes) {
  const uint32_t begin = i ? word_at(list->ends, i - 1) : 0;
  *n_bytes = word_at(list->ends, i) - begin;
  return (const char *)list->texts + begin;
}

const char *heed_file_integers(const heed_file *file, const char *name, int32_t n, const int32_t **integers) {
  heed_file_tensor t;
  const char *error = heed_file_find(file, name, &t);
  if (error) return error;
  if (t.dtype != HEED_FILE_I32) return "the tensor is not of integers";
  if (t.n_bytes / 4 != (uint32_t)n) return "the tensor has another number of integers";
  *integers = (const int32_t *)t.data;
  return NULL;
}

const char *heed_file_value(const heed_file *file, const char *key, const char **value, size_t *n) {
  const char *text;
  size_t n_bytes, at = 0;
  const char *error = heed_file_text(file, "metadata", &text, &n_bytes);
  if (error) return error;
  while (at < n_bytes) {
    size_t k = 0;
    while (at + k < n_bytes && key[k] && text[at + k] == key[k]) k++;
    const int is_key = !key[k] && at + k < n_bytes && text[at + k] == ' ';
    at += k + (is_key != 0);
    const size_t begin = at;
    while (at < n_bytes && text[at] != '\n') at++;
    if (is_key) {
      *value = text + begin;
      *n = at - begin;
      return NULL;
    }
    at++;
  }
  return "the file has no value of this key";
}

const char *heed_file_whole_number(const heed_file *file, const char *key, int64_t least, int64_t most,
                                   int64_t *number) {
  const char *text;
  size_t n;
  const char *error = heed_file_value(file, key, &text, &n);
  if (error) return error;
  size_t begin = 0;
  if (n > 0 && text[0] == '-') begin = 1;
  int64_t all = 0;
  for (size_t i = begin; i < n; i++) {
    if (text[i] < '0' || text[i] > '9' || all > (INT64_MAX - 9) / 10)
      return "the value is no whole number, or too large";
    all = 10 * all + (text[i] - '0');
  }
  if (n == begin) return "the value is no whole number, or too large";
  if (begin) all = -all;
  if (all < least || all > most) return "the value is out of range";
  *number = all;
  return NULL;
}
