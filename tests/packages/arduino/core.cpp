// SPDX-License-Identifier: MIT
#include "Arduino.h"
serial Serial;
void serial::print(float x, int digits) {
  long unit = 1;
  for (int i = 0; i < digits; i++) unit *= 10;
  if (x < 0) printf("-");
  const long n = static_cast<long>((x < 0 ? -x : x) * static_cast<float>(unit) + 0.5f);
  printf("%ld.", n / unit);
  printf("%05ld", n % unit);
}
int main() {
  setup();
  loop();
  return 0;
}
