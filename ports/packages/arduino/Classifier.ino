// Words with a wrong letter are recognised, in integers. The answers are known, to the bit. SPDX-License-Identifier: MIT
#include "classifier.h"

void setup() {
  Serial.begin(115200);
  while (!Serial && millis() < 5000) continue;
  static int_model model;
  const char *error = int_model_open(&model, layers, sizeof layers);
  if (error) {
    Serial.println(error);
    return;
  }
  uint32_t sum = 2166136261u;
  for (int i = 0; i < classifier_n_typed; i++) {
    int8_t scores[n_words];
    const heed_status status = classify(&model, classifier_typed[i], scores);
    if (status != HEED_OK) {
      Serial.print(heed_status_argument(status));
      Serial.print(": ");
      Serial.println(heed_status_text(status));
      return;
    }
    Serial.print(classifier_typed[i]);
    Serial.print(": ");
    Serial.println(classifier_best(scores));
    sum = classifier_sum(sum, scores);
  }
  Serial.print("heed ");
  Serial.print(heed_version());
  Serial.print(", bits ");
  Serial.print(sum, HEX);
  Serial.println(sum == classifier_known ? ": right, as everywhere" : ": WRONG");
}

void loop() {}
