// See web.h. SPDX-License-Identifier: MIT
#include "web.h"

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>

#include "kwt_network.hpp"
#include "wav_refusal.hpp"

// The page throws an Error with this text, and makes a new module: what was on this one's stack and heap is lost.
extern "C" __attribute__((import_module("page"), import_name("thrown"), noreturn)) void page_thrown(const char *text);

// WebAssembly without exceptions: all that the reader throws is a std::exception.
extern "C" {
void *__cxa_allocate_exception(size_t n_bytes) noexcept { return ::operator new(n_bytes); }
void __cxa_free_exception(void *) noexcept {}
[[noreturn]] void __cxa_throw(void *thrown, void *, void *(*)(void *)) {
  page_thrown(static_cast<std::exception *>(thrown)->what());
}
}

const char *web_wav_refusal(const char *name, const wav_file *sound, const char *error) {
  static std::string text;
  text = wav::refusal(name, *sound, error);
  return text.c_str();
}

void web_read_tflite(const void *file, size_t n_bytes, void *flat) {
  const auto net = network::read_kwt(static_cast<const uint8_t *>(file), n_bytes);
  const std::vector<uint32_t> words = network::flat_file(*net, HEED_F32);
  std::memcpy(flat, words.data(), words.size() * sizeof(uint32_t));
}
