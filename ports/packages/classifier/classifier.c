/* Words with a wrong letter are recognised, in integers. The answers are known, to the bit. SPDX-License-Identifier: MIT */
#include "classifier.h"
#include <stdio.h>

static int classifier(void) {
  static int_model model;
  const char *error = int_model_open(&model, layers, sizeof layers);
  if (error) {
    printf("%s\n", error);
    return 1;
  }
  uint32_t sum = 2166136261u;
  for (int i = 0; i < classifier_n_typed; i++) {
    int8_t scores[n_words];
    const heed_status status = classify(&model, classifier_typed[i], scores);
    if (status != HEED_OK) {
      printf("%s: %s\n", heed_status_argument(status), heed_status_text(status));
      return 1;
    }
    printf("%s: %s\n", classifier_typed[i], classifier_best(scores));
    sum = classifier_sum(sum, scores);
  }
  const int right = sum == classifier_known;
  printf("heed %s, bits %08lx: %s\n", heed_version(), (unsigned long)sum, right ? "right, as everywhere" : "WRONG");
  return !right;
}

#ifdef ESP_PLATFORM /* ESP-IDF begins here */
void app_main(void) { classifier(); }
#else
int main(void) { return classifier(); }
#endif
