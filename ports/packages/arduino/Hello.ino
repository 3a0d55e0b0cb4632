// A sentence of five words attends to itself. The answers are known, to the bit. SPDX-License-Identifier: MIT
#include <heed.h>

enum { words = 5, dim = 3 };
static const float x[words][dim] = {{5, 2, 0}, {0, 0, 2}, {0, 5, 0}, {2, 0, 0}, {0, 0, 3}};
static float y[words][dim];
HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(dim, dim));

void setup() {
  Serial.begin(115200);
  while (!Serial && millis() < 5000) continue;
  const heed_status status = heed_self_attention(heed_matrix_of(x[0], words, dim), HEED_SCALE_DEFAULT,
                                                 heed_matrix_out_of(y[0], words, dim), workspace);
  if (status != HEED_OK) {
    Serial.print(heed_status_argument(status));
    Serial.print(": ");
    Serial.println(heed_status_text(status));
    return;
  }
  uint32_t sum = 2166136261u;  // FNV-1a of all bits
  for (int i = 0; i < words; i++) {
    for (int j = 0; j < dim; j++) {
      uint32_t bits;
      memcpy(&bits, &y[i][j], sizeof bits);
      for (int k = 0; k < 32; k += 8) sum = (sum ^ (bits >> k & 255)) * 16777619u;
      Serial.print(y[i][j], 5);
      Serial.print(' ');
    }
    Serial.println();
  }
  // One number for all processors with a fused multiply-add, one for all others.
  const char *kernel = heed_isa_current();
  const bool right = sum == (heed_isa_arithmetic(kernel) == HEED_ARITHMETIC_FMA ? 0xe090dbd8 : 0x1c2353dd);
  Serial.print("heed ");
  Serial.print(heed_version());
  Serial.print(", kernel ");
  Serial.print(kernel);
  Serial.print(", bits ");
  Serial.print(sum, HEX);
  Serial.println(right ? ": right, as everywhere" : ": WRONG");
}

void loop() {}
