// See flat_file.hpp. SPDX-License-Identifier: MIT
#include "flat_file.hpp"

#include <set>

namespace heed_import {
namespace {

uint32_t sum_of(uint32_t sum, const uint8_t *data, size_t n_bytes) {
  for (size_t i = 0; i < n_bytes; i += 4) {
    const int n = n_bytes - i < 4 ? static_cast<int>(n_bytes - i) : 4;  // the last word is filled up with bytes of 0
    sum = (sum ^ static_cast<uint32_t>(number_at(data + i, n))) * 16777619u;
  }
  return sum;
}
constexpr uint32_t first_sum = 2166136261u;

void set_word(bytes &file, size_t at, uint64_t word) {
  for (size_t i = 0; i < 4; ++i) file[at + i] = static_cast<uint8_t>(word >> (8 * i));
}

void check_size(size_t n_bytes) {
  if (n_bytes > UINT32_MAX - 64)
    throw refusal("the file would have more than 4 GB: take a smaller format, or fewer tensors");
}

bytes scales_of(const tensor &t) {
  bytes b;
  for (const float scale : t.scales) put(b, scale);
  return b;
}

bytes zeros_of(const tensor &t) {
  bytes b;
  for (const int32_t zero : t.zeros) b.push_back(static_cast<uint8_t>(zero));
  for (const float zero : t.float_zeros) put(b, zero);
  return b;
}

bool are_equal(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), 4 * a.size()) == 0);
}

// `bytes_of_a` are the numbers of a in the file's order.
bool are_equal(const tensor &a, const uint8_t *bytes_of_a, const tensor &b) {
  return a.name == b.name && a.dims == b.dims && a.dtype == b.dtype && a.layout == b.layout && a.zeros == b.zeros &&
         are_equal(a.scales, b.scales) && are_equal(a.float_zeros, b.float_zeros) &&
         a.numbers().size == b.numbers().size && std::memcmp(bytes_of_a, b.numbers().data, b.numbers().size) == 0;
}

// As a program opens it.
const char *opening_error(const heed_file &f, const tensor &t) {
  const char *const name = t.name.c_str();
  const int32_t n_in = static_cast<int32_t>(t.n_in()), n_out = static_cast<int32_t>(t.n_out());
  heed_weights w;
  heed_file_tensor found;
  if (t.layout == HEED_PACKED) return heed_file_packed(&f, name, n_in, n_out, &w);
  if (t.dtype == HEED_Q8_0 || t.dtype == HEED_Q4_0) return heed_file_blocks(&f, name, n_in, n_out, &w);
  const char *text;
  size_t n_bytes;
  heed_file_list list;
  const int32_t *integers;
  if (t.dtype == HEED_FILE_TEXT) return heed_file_text(&f, name, &text, &n_bytes);
  if (t.dtype == HEED_FILE_LIST) return heed_file_open_list(&f, name, &list);
  if (t.dtype == HEED_FILE_I32) return heed_file_integers(&f, name, static_cast<int32_t>(t.count()), &integers);
  if (t.dtype >= HEED_FILE_U8_PLUS) return heed_file_find(&f, name, &found);
  if (t.dtype >= HEED_FILE_U8) return heed_file_zero_points(&f, name, n_in, n_out, &w);
  return heed_file_weights(&f, name, n_in, n_out, &w);
}

}  // namespace

span in_own_order(span file, bytes &memory) {
  const uint16_t one = 1;
  uint8_t first;
  std::memcpy(&first, &one, 1);
  if (first == 1) return file;
  memory.resize(file.size + HEED_FILE_ALIGNMENT);
  uint8_t *const aligned = memory.data() + (0 - reinterpret_cast<uintptr_t>(memory.data())) % HEED_FILE_ALIGNMENT;
  std::memcpy(aligned, file.data, file.size);
  const char *const error = heed_file_swap(aligned, file.size);
  if (error != nullptr) throw refusal(error);
  return {aligned, file.size};
}

flat_file_writer::flat_file_writer(sink to, const std::vector<std::string> &names)
    : to_(std::move(to)), front_(HEED_FILE_HEADER_BYTES + HEED_FILE_ENTRY_BYTES * names.size()), names_(names) {
  std::memcpy(front_.data(), "HEEDFILE", 8);
  std::set<std::string> different;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string &name = names[i];
    if (!different.insert(name).second) refuse(name, "two tensors would have this name");
    if (name.find('\0') != std::string::npos) refuse(name, "the name holds a byte of 0");
    set_word(front_, HEED_FILE_HEADER_BYTES + HEED_FILE_ENTRY_BYTES * i, front_.size());
    front_.insert(front_.end(), name.begin(), name.end());
    front_.push_back(0);
    check_size(front_.size());
  }
  front_.resize((front_.size() + HEED_FILE_ALIGNMENT - 1) / HEED_FILE_ALIGNMENT * HEED_FILE_ALIGNMENT);
  write(front_.data(), front_.size());
}

void flat_file_writer::write(const void *data, size_t n) {
  check_size(n_bytes_ + n);
  if (n > 0) to_(n_bytes_, data, n);
  n_bytes_ += n;
}

void flat_file_writer::align() {
  static const uint8_t zeros[HEED_FILE_ALIGNMENT] = {};
  write(zeros, (0 - n_bytes_) % HEED_FILE_ALIGNMENT);
}

// Appends a part of a tensor, and adds it to the sum.
size_t flat_file_writer::append(const void *data, size_t n, uint32_t &sum) {
  const size_t at = n_bytes_;
  write(data, n);
  align();
  sum = sum_of(sum, static_cast<const uint8_t *>(data), n);
  return at;
}

void flat_file_writer::add(const tensor &t) {
  if (n_tensors_ >= names_.size() || names_[n_tensors_] != t.name)
    throw std::logic_error(t.name + ": another tensor was announced for this place");
  expect_consistent(t);
  const bool in_blocks = t.layout != HEED_PACKED && (t.dtype == HEED_Q8_0 || t.dtype == HEED_Q4_0);
  if (in_blocks && (t.layout != HEED_OUT_IN || t.n_in() % 32 != 0))
    refuse(t.name, "is in blocks, but no matrix of whole blocks");
  const bytes scales = scales_of(t), zeros = zeros_of(t);
  uint32_t sum = first_sum;
  const size_t data = append(t.numbers().data, t.numbers().size, sum);
  const size_t scales_at = scales.empty() ? 0 : append(scales.data(), scales.size(), sum);
  const size_t zeros_at = zeros.empty() ? 0 : append(zeros.data(), zeros.size(), sum);
  const auto dim = [&](size_t k) { return k < t.dims.size() ? t.dims[k] : 1; };
  const uint64_t words[] = {static_cast<uint64_t>(t.dtype),
                            static_cast<uint64_t>(t.layout),
                            t.dims.size(),
                            dim(0),
                            dim(1),
                            dim(2),
                            dim(3),
                            data,
                            t.numbers().size,
                            t.scales.size(),
                            scales_at,
                            zeros_at,
                            sum};
  size_t at = HEED_FILE_HEADER_BYTES + HEED_FILE_ENTRY_BYTES * n_tensors_;
  for (const uint64_t word : words) set_word(front_, at += 4, word);
  ++n_tensors_;
}

size_t flat_file_writer::finish() {
  const uint32_t sum = sum_of(first_sum, &front_[HEED_FILE_HEADER_BYTES], front_.size() - HEED_FILE_HEADER_BYTES);
  const uint64_t header[] = {HEED_FILE_VERSION, n_bytes_, n_tensors_, front_.size(), sum, 0x01020304};
  for (size_t i = 0; i < 6; ++i) set_word(front_, 8 + 4 * i, header[i]);
  to_(0, front_.data(), front_.size());
  return n_bytes_;
}

bytes flat_file(const std::vector<tensor> &tensors) {
  bytes file;
  std::vector<std::string> names;
  for (const tensor &t : tensors) names.push_back(t.name);
  flat_file_writer writer(
      [&file](size_t at, const void *data, size_t n) {
        if (at + n > file.size()) file.resize(at + n);
        std::memcpy(&file[at], data, n);
      },
      names);
  for (const tensor &t : tensors) writer.add(t);
  writer.finish();
  return file;
}

void expect_written(span file, const std::vector<tensor> &tensors) {
  bytes memory;
  const span own = in_own_order(file, memory);
  const std::vector<tensor> found = read_flat_file(own);
  heed_file f;
  const char *error = heed_file_open(&f, own.data, own.size);
  if (error != nullptr) throw refusal(error);
  if (found.size() != tensors.size()) throw refusal("has another number of tensors");
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!are_equal(found[i], file.data + (found[i].numbers().data - own.data), tensors[i]))
      refuse(tensors[i].name, "is not what was written");
    error = opening_error(f, tensors[i]);
    if (error != nullptr) refuse(tensors[i].name, error);
  }
}

void expect_whole(span file, const std::vector<tensor> &tensors) {
  bytes memory;
  const span own = in_own_order(file, memory);
  heed_file f;
  const char *error = heed_file_open(&f, own.data, own.size);
  if (error == nullptr) error = heed_file_check(&f);
  if (error != nullptr) throw refusal(error);
  for (const tensor &t : tensors) {
    error = opening_error(f, t);
    if (error != nullptr) refuse(t.name, error);
  }
}

std::vector<tensor> read_flat_file(span file) {
  heed_file f;
  const char *error = heed_file_open(&f, file.data, file.size);
  if (error == nullptr) error = heed_file_check(&f);
  if (error != nullptr) throw refusal(error);
  std::vector<tensor> tensors;
  for (uint32_t i = 0; i < f.n_tensors; ++i) {
    const heed_file_tensor from = heed_file_tensor_at(&f, i);
    tensor t;
    t.name = from.name;
    t.dtype = from.dtype;
    t.layout = from.layout;
    t.dims.assign(from.dims, from.dims + from.n_dims);
    t.refer({static_cast<const uint8_t *>(from.data), from.n_bytes});
    t.is_metadata = t.dtype == HEED_FILE_LIST || t.dtype == HEED_FILE_I32 || t.dtype == HEED_FILE_I16 ||
                    t.name == "metadata" || t.name.compare(0, 10, "tokenizer.") == 0;
    if (from.scales != nullptr) t.scales.assign(from.scales, from.scales + from.n_scales);
    for (uint32_t k = 0; from.zeros != nullptr && k < from.n_scales; ++k) {
      if (t.dtype >= HEED_FILE_U8_PLUS)
        t.float_zeros.push_back(static_cast<const float *>(from.zeros)[k]);
      else if (t.dtype == HEED_FILE_U8)
        t.zeros.push_back(static_cast<const uint8_t *>(from.zeros)[k]);
      else
        t.zeros.push_back(static_cast<const int8_t *>(from.zeros)[k]);
    }
    tensors.push_back(std::move(t));
  }
  return tensors;
}

}  // namespace heed_import
