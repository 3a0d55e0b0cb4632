// Threads that wait for work. A job is a word with the number of its tasks that nobody has begun: whoever takes one off that
// number has a task. The caller waits for tasks that helpers have begun, never for a helper that is late: a late one
// finds no task, and then reads nothing of the job.
#ifndef HEED_POOL_HPP
#define HEED_POOL_HPP

#include "heed/threads.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

namespace {

struct job {
  heed_task task;
  void *context;
  uint32_t first, n_tasks;
};

// The word `tasks`. Its upper half counts the tasks that helpers have taken. Its lower half is the number of tasks that are
// left, plus none_left: threads that come too late take one each from that, and no half overflows into the other.
constexpr uint32_t taken_by_helper = 1u << 16, left_mask = taken_by_helper - 1, none_left = 2 * HEED_MAX_WORKERS;
constexpr uint32_t most_tasks = 60000;  // of a job; more of them are several jobs
static_assert(most_tasks + none_left <= left_mask, "both numbers fit");

// The word `done`: twice the number of tasks that helpers have done since the start, and whether the caller sleeps.
constexpr uint32_t done_task = 2, waiting_bit = 1;

// Words that both caller and helpers write have a line of their own: each time, the line goes from core to core.
struct pool {
  uint32_t taken;       // 1: a caller has the pool
  uint32_t n_threads;   // with the caller's; 1 until all have been started
  uint32_t n_numbers;   // given to helpers: the last one's worker
  uint32_t n_called;    // signals on their way to helpers; under the mutex
  pid_t process;        // that started them: a fork copies this memory, but no thread
  const pool *self;     // tells the object from a copy of it
  const pool *running;  // this object from start to stop, then null
  uint32_t n_asleep;    // helpers that sleep, or are about to look for tasks for the last time, uncalled
  alignas(64) uint32_t tasks;
  uint32_t stopped;
  job now;  // read by those who have a task of it
  alignas(64) uint32_t done;
  alignas(64) pthread_mutex_t mutex;
  pthread_cond_t called;    // parked helpers: there are tasks, or all is to stop
  pthread_cond_t finished;  // the caller: helpers have done their tasks
};

uint32_t load_word(const uint32_t &x) { return __atomic_load_n(&x, __ATOMIC_SEQ_CST); }
void store_word(uint32_t &x, uint32_t value) { __atomic_store_n(&x, value, __ATOMIC_SEQ_CST); }
uint32_t add(uint32_t &x, uint32_t n) { return __atomic_fetch_add(&x, n, __ATOMIC_SEQ_CST); }

// Asked only where the threads sleep or are late: a system call takes its time. A child of fork needs no answer before,
// because in its memory a job without helpers ends like one whose helpers are all late.
bool is_here(const pool &p) { return p.process == getpid(); }

// Tasks that are left, by a value of the word `tasks`.
uint32_t left_of(uint32_t tasks) { return (tasks & left_mask) > none_left ? (tasks & left_mask) - none_left : 0; }

bool has_tasks(const pool &p) { return left_of(load_word(p.tasks)) > 0; }
bool is_stopped(const pool &p) { return load_word(p.stopped); }
bool is_called(const pool &p) { return has_tasks(p) || is_stopped(p); }

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

template <class Condition>
bool spin_until(Condition condition) {
  const int64_t end = nanoseconds() + spin_ns;
  do
    for (int i = 0; i < 16; i++) {
      if (condition()) return true;
      pause_thread();
    }
  while (nanoseconds() < end);
  return false;
}

// Whoever has been woken looks for a while again, also when it came too late: the next call may be near.
void wait_for_call(pool &p) {
  if (spin_until([&] { return is_called(p); })) return;
  pthread_mutex_lock(&p.mutex);
  add(p.n_asleep, 1);  // before the last look: who has tasks after it sees this number
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

void wait_until_done(pool &p, uint32_t done) {
  const auto is_done = [&] { return (load_word(p.done) & ~waiting_bit) == done; };
  if (is_done() || spin_until(is_done)) return;
  if (!is_here(p)) return;  // those who had them stayed with the parent
  pthread_mutex_lock(&p.mutex);
  add(p.done, waiting_bit);  // before the last look: who is done after it sees this bit
  while (!is_done()) pthread_cond_wait(&p.finished, &p.mutex);
  add(p.done, 0 - waiting_bit);
  pthread_mutex_unlock(&p.mutex);
}

void report_done(pool &p, uint32_t n_tasks) {
  if (!(add(p.done, n_tasks * done_task) & waiting_bit)) return;
  pthread_mutex_lock(&p.mutex);
  pthread_cond_signal(&p.finished);
  pthread_mutex_unlock(&p.mutex);
}

// The caller takes tasks from the first on, helpers from the last. So rows stay with a core from one call to the next. The
// first task is the caller's from the start. A thread that took the last task does not ask for another. Both functions
// return how many tasks the thread has done.
uint32_t work_as_caller(pool &p) {
  const job now = p.now;
  uint32_t n = 0, left = now.n_tasks;  // before it took one
  do {
    now.task(now.context, static_cast<int32_t>(now.first + n++), 0);
    left = left > 1 ? left_of(add(p.tasks, 0 - 1u)) : 0;
  } while (left > 0);
  return n;
}
uint32_t work_as_helper(pool &p, int32_t worker) {
  uint32_t n = 0, left;
  do {
    const uint32_t before = add(p.tasks, taken_by_helper - 1);
    left = left_of(before);
    if (left == 0) break;
    const uint32_t last = p.now.first + p.now.n_tasks - 1;
    p.now.task(p.now.context, static_cast<int32_t>(last - before / taken_by_helper), worker);
    n++;
  } while (left > 1);
  return n;
}

void run_job(pool &p, const job &now) {
  const uint32_t done = load_word(p.done);
  p.now = now;
  store_word(p.tasks, none_left + now.n_tasks - 1);
  call_helpers(p, now.n_tasks - 1);
  const uint32_t by_helpers = now.n_tasks - work_as_caller(p);
  wait_until_done(p, done + done_task * by_helpers);
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
    wait_for_call(p);
    const uint32_t n = has_tasks(p) ? work_as_helper(p, worker) : 0;
    if (n > 0) report_done(p, n);
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
  const uint32_t n = static_cast<uint32_t>(n_tasks);
  for (uint32_t first = 0, size; first < n; first += size) {
    size = n - first < most_tasks ? n - first : most_tasks;
    run_job(p, {task, context, first, size});
  }
  __atomic_store_n(&p.taken, 0, __ATOMIC_SEQ_CST);
}

}  // namespace

#endif
