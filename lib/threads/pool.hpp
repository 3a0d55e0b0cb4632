// Threads that wait for work. A job is open while it has tasks that nobody has begun. Helpers enter it only while it is
// open, and its caller leaves it when it is closed and nobody is inside: so the caller waits for tasks that were begun,
// never for a helper that is late, and a late helper never sees a job that is gone.
#ifndef HEED_POOL_HPP
#define HEED_POOL_HPP

#include "heed/threads.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

namespace {

// The gate: these bits, and below them the number of helpers inside.
constexpr uint32_t open_bit = 1u << 31, waiting_bit = 1u << 30, stop_bit = 1u << 29, inside_mask = stop_bit - 1;

struct job {
  heed_task task;
  void *context;
  uint32_t n_tasks;
};

struct pool {
  job now;              // of the caller that has the pool; those inside read it
  uint32_t taken;       // 1: a caller has the pool
  uint32_t n_threads;   // with the caller's; 1 until all have been started
  uint32_t n_numbers;   // given to helpers: the last one's worker
  uint32_t n_called;    // signals on their way to helpers; under the mutex
  pid_t process;        // that started them: a fork copies this memory, but no thread
  const pool *self;     // tells the object from a copy of it
  const pool *running;  // this object from start to stop, then null
  alignas(64) uint32_t gate;
  uint32_t n_asleep;             // helpers that sleep, or are about to look at the gate for the last time, uncalled
  alignas(64) uint32_t n_begun;  // tasks, and those who found none left
  uint32_t n_by_helpers;         // of the tasks begun: the last ones
  alignas(64) pthread_mutex_t mutex;
  pthread_cond_t called;  // parked helpers: the gate is open, or all is to stop
  pthread_cond_t left;    // the caller: nobody is inside
};
static_assert(HEED_MAX_WORKERS <= inside_mask, "all may be inside");

uint32_t load_word(const uint32_t &x) { return __atomic_load_n(&x, __ATOMIC_SEQ_CST); }
uint32_t add(uint32_t &x, uint32_t n) { return __atomic_fetch_add(&x, n, __ATOMIC_SEQ_CST); }
void set_bits(uint32_t &x, uint32_t bits) { __atomic_fetch_or(&x, bits, __ATOMIC_SEQ_CST); }
void clear_bits(uint32_t &x, uint32_t bits) { __atomic_fetch_and(&x, ~bits, __ATOMIC_SEQ_CST); }

// Asked only where the threads sleep or are late: a system call takes its time. A child of fork needs no answer before,
// because in its memory a job without helpers ends like one whose helpers are all late.
bool is_here(const pool &p) { return p.process == getpid(); }

bool is_called(const pool &p) { return load_word(p.gate) & (open_bit | stop_bit); }
bool is_stopped(const pool &p) { return load_word(p.gate) & stop_bit; }
bool is_left(const pool &p) { return !(load_word(p.gate) & inside_mask); }

void pause_thread() {
#if defined(__i386__) || defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__ARM_ARCH_7A__)
  __asm__ volatile("yield");
#endif
}

int64_t nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

// Looks for about as long as it takes to sleep and to be woken, so that waiting costs twice that at most; gaps between
// calls are mostly shorter.
constexpr int64_t spin_ns = 50000;

bool spin_for_tasks(const pool &p, bool (*condition)(const pool &)) {
  const int64_t end = nanoseconds() + spin_ns;
  do
    for (int i = 0; i < 16; i++) {
      if (condition(p)) return true;
      pause_thread();
    }
  while (nanoseconds() < end);
  return false;
}

// Whoever has been woken looks for a while again, also when it came too late: the next call may be near.
void wait_for_call(pool &p) {
  if (spin_for_tasks(p, is_called)) return;
  pthread_mutex_lock(&p.mutex);
  add(p.n_asleep, 1);  // before the last look: who opens the gate after it sees this number
  if (!is_called(p)) pthread_cond_wait(&p.called, &p.mutex);
  if (p.n_called > 0)
    p.n_called--;
  else
    add(p.n_asleep, UINT32_MAX);
  pthread_mutex_unlock(&p.mutex);
}

// Each helper is called once, however long it takes to come.
void call_helpers(pool &p, uint32_t n) {
  if (load_word(p.n_asleep) == 0 || !is_here(p)) return;
  pthread_mutex_lock(&p.mutex);
  const uint32_t asleep = load_word(p.n_asleep), called = n < asleep ? n : asleep;
  for (uint32_t i = 0; i < called; i++) pthread_cond_signal(&p.called);
  p.n_called += called;
  add(p.n_asleep, 0 - called);
  pthread_mutex_unlock(&p.mutex);
}

void wait_until_left(pool &p) {
  if (spin_for_tasks(p, is_left)) return;
  if (!is_here(p)) return clear_bits(p.gate, inside_mask);  // those inside stayed with the parent
  pthread_mutex_lock(&p.mutex);
  set_bits(p.gate, waiting_bit);  // before the last look: who leaves after it sees this bit
  while (!is_left(p)) pthread_cond_wait(&p.left, &p.mutex);
  clear_bits(p.gate, waiting_bit);
  pthread_mutex_unlock(&p.mutex);
}

void leave_pool(pool &p) {
  const uint32_t gate = add(p.gate, UINT32_MAX);
  if ((gate & inside_mask) > 1 || !(gate & waiting_bit)) return;
  pthread_mutex_lock(&p.mutex);
  pthread_cond_signal(&p.left);
  pthread_mutex_unlock(&p.mutex);
}

// Counted first, so that a job that was open then is there until this helper leaves.
bool enter_pool(pool &p) {
  if (add(p.gate, 1) & open_bit) return true;
  leave_pool(p);
  return false;
}

// Take tasks until none is left, which closes the job: the caller from the first on, helpers from the last. So rows stay
// with a core from one call to the next.
void work_on_tasks(pool &p) {
  for (uint32_t i = 0; add(p.n_begun, 1) < p.now.n_tasks; i++) p.now.task(p.now.context, static_cast<int32_t>(i), 0);
  clear_bits(p.gate, open_bit);
}
void work_as_helper(pool &p, int32_t worker) {
  while (add(p.n_begun, 1) < p.now.n_tasks)
    p.now.task(p.now.context, static_cast<int32_t>(p.now.n_tasks - 1 - add(p.n_by_helpers, 1)), worker);
  clear_bits(p.gate, open_bit);
}

// A helper that wakes pushes no thread aside that computes, neither its caller nor another program. Of a busy machine it
// takes what is left; a caller that was pushed aside would wait for the whole of its own call.
void give_way() {
#ifdef SCHED_BATCH
  int policy;
  sched_param parameters;
  if (pthread_getschedparam(pthread_self(), &policy, &parameters) == 0 && policy == SCHED_OTHER)
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters);
#endif
}

void *worker_thread(void *of_pool) {
  pool &p = *static_cast<pool *>(of_pool);
  const int32_t worker = static_cast<int32_t>(add(p.n_numbers, 1)) + 1;
  give_way();
  while (!is_stopped(p)) {
    if (enter_pool(p)) {
      work_as_helper(p, worker);
      leave_pool(p);
    }
    wait_for_call(p);
  }
  return nullptr;
}

// An executor that was filled for n_workers may have the pool unless more threads than that run by now.
void run_for(uint32_t n_workers, pool &p, int32_t n_tasks, heed_task task, void *context) {
  const uint32_t n_threads = load_word(p.n_threads);
  if (n_tasks < 2 || n_threads < 2 || n_threads > n_workers ||
      __atomic_exchange_n(&p.taken, 1, __ATOMIC_SEQ_CST) != 0) {
    for (int32_t i = 0; i < n_tasks; i++) task(context, i, 0);
    return;
  }
  p.now = {task, context, static_cast<uint32_t>(n_tasks)};
  p.n_begun = p.n_by_helpers = 0;
  set_bits(p.gate, open_bit);
  call_helpers(p, p.now.n_tasks - 1);
  work_on_tasks(p);
  wait_until_left(p);
  __atomic_store_n(&p.taken, 0, __ATOMIC_SEQ_CST);
}

}  // namespace

#endif
