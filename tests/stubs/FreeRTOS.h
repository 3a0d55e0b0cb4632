/* What ports/executors/freertos.c needs of FreeRTOS, from POSIX threads: to compile it and to run it on a PC. */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
typedef uintptr_t StackType_t;
typedef struct {
  void (*code)(void *);
  void *argument;
  pthread_t thread;
} StaticTask_t;
typedef sem_t StaticSemaphore_t, *SemaphoreHandle_t;
typedef StaticTask_t *TaskHandle_t;
#define portMAX_DELAY 0xffffffffu
extern pthread_mutex_t stub_critical;
#define taskENTER_CRITICAL() pthread_mutex_lock(&stub_critical)
#define taskEXIT_CRITICAL() pthread_mutex_unlock(&stub_critical)
static inline int xSemaphoreTake(SemaphoreHandle_t s, uint32_t ticks) {
  (void)ticks;
  return sem_wait(s) == 0;
}
static inline int xSemaphoreGive(SemaphoreHandle_t s) { return sem_post(s) == 0; }
static inline SemaphoreHandle_t xSemaphoreCreateCountingStatic(unsigned long most, unsigned long first,
                                                               StaticSemaphore_t *s) {
  (void)most;
  return sem_init(s, 0, (unsigned)first) == 0 ? s : NULL;
}
static void *stub_task(void *task) {
  ((StaticTask_t *)task)->code(((StaticTask_t *)task)->argument);
  return NULL;
}
static inline TaskHandle_t xTaskCreateStatic(void (*code)(void *), const char *name, uint32_t words, void *argument,
                                             unsigned long priority, StackType_t *stack, StaticTask_t *task) {
  (void)name, (void)words, (void)priority, (void)stack;
  task->code = code, task->argument = argument;
  return pthread_create(&task->thread, NULL, stub_task, task) == 0 ? task : NULL;
}
