// As much of Arduino as the example asks for. SPDX-License-Identifier: MIT
#pragma once
#include <stddef.h>
#include <stdint.h>
extern "C" void *memcpy(void *to, const void *from, size_t n);
extern "C" int printf(const char *dtype, ...);
enum { HEX = 16 };
struct serial {
  void begin(long) {}
  explicit operator bool() const { return true; }
  void print(const char *text) { printf("%s", text); }
  void print(char c) { printf("%c", c); }
  void print(float x, int digits);
  void print(long n) { printf("%ld", n); }
  void print(uint32_t n, int) { printf("%lx", (unsigned long)n); }
  int available() const { return *typed != 0; }
  int read() { return *typed++; }
  const char *typed = "more\n"; /* what somebody sends */
  void println(const char *text = "") { printf("%s\n", text); }
};
extern serial Serial;
inline unsigned long millis() { return 0; }
void setup();
void loop();
