// heed_threads: what starts and stops a pool, and its executor. An executor carries the number of its workers, so that no
// later start can give it more.
#include "pool.hpp"

#include <signal.h>

namespace {

static_assert(sizeof(pool) <= sizeof heed_threads::state && alignof(heed_threads) >= alignof(pool), "state has room");
static_assert(sizeof(pthread_t) <= sizeof(void *) && alignof(pthread_t) <= alignof(void *), "handles have room");

pool &pool_of(heed_threads &threads) { return *reinterpret_cast<pool *>(threads.state); }
pthread_t *thread_at(heed_threads &threads, uint32_t i) { return reinterpret_cast<pthread_t *>(threads.handles + i); }

const char made = 0;  // its address tells an object that was started from any other memory
const heed_code *code_of_threads() { return reinterpret_cast<const heed_code *>(&made); }

bool is_made(const heed_threads &threads) {
  const pool &p = *reinterpret_cast<const pool *>(threads.state);
  return threads.struct_size == sizeof threads && threads.code == code_of_threads() && p.self == &p;
}

// What start and stop ask. Of memory that was written since it does not say so, unless by an address that lies there.
bool is_running(const heed_threads &threads) {
  const pool &p = *reinterpret_cast<const pool *>(threads.state);
  return is_made(threads) && p.running == &p;
}

// The number of workers, less 1, has 10 bits. Six of them are those in which pools have zeros: they lie in `user`. The
// others choose one of 16 functions. So the executor alone says how many it has, whatever becomes of the pool.
constexpr uintptr_t low_bits = alignof(heed_threads) - 1;
static_assert(HEED_MAX_WORKERS <= 16 * (low_bits + 1) && sizeof(pool) > low_bits, "each number fits");

template <uint32_t HIGH>
void run(void *user, int32_t n_tasks, heed_task task, void *context) {
  const uintptr_t low = reinterpret_cast<uintptr_t>(user) & low_bits;
  pool &p = *reinterpret_cast<pool *>(static_cast<char *>(user) - low);
  run_for(HIGH * (low_bits + 1) + static_cast<uint32_t>(low) + 1, p, n_tasks, task, context);
}

constexpr decltype(heed_executor::run) runs[] = {run<0>, run<1>, run<2>,  run<3>,  run<4>,  run<5>,  run<6>,  run<7>,
                                                 run<8>, run<9>, run<10>, run<11>, run<12>, run<13>, run<14>, run<15>};

heed_executor executor_of(pool &p) {
  const uint32_t n = is_here(p) ? p.n_threads : 1, low = (n - 1) & low_bits;
  return {static_cast<uint32_t>(sizeof(heed_executor)), static_cast<int32_t>(n), runs[(n - 1) / (low_bits + 1)],
          reinterpret_cast<char *>(&p) + low};
}

heed_status check_handle(const heed_threads *threads) {
  if (!threads) return HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_THREADS);
  if (reinterpret_cast<uintptr_t>(threads) % alignof(heed_threads) != 0)
    return HEED_STATUS(HEED_MISALIGNED, HEED_ARG_THREADS);
  return HEED_OK;
}

heed_status check_started(const heed_threads *threads) {
  const heed_status status = check_handle(threads);
  if (status != HEED_OK) return status;
  if (threads->struct_size == 0) return HEED_STATUS(HEED_NOT_INITIALIZED, HEED_ARG_THREADS);
  if (threads->struct_size != sizeof *threads) return HEED_STATUS(HEED_BAD_STRUCT_SIZE, HEED_ARG_THREADS);
  if (!is_made(*threads)) return HEED_STATUS(HEED_NOT_INITIALIZED, HEED_ARG_THREADS);
  return HEED_OK;
}

void stop_helpers(heed_threads &threads, uint32_t n_threads) {
  pool &p = pool_of(threads);
  pthread_mutex_lock(&p.mutex);
  store_word(p.stopped, 1);
  pthread_cond_broadcast(&p.called);
  pthread_mutex_unlock(&p.mutex);
  for (uint32_t i = 1; i < n_threads; i++) pthread_join(*thread_at(threads, i), nullptr);
  pthread_cond_destroy(&p.finished);
  pthread_cond_destroy(&p.called);
  pthread_mutex_destroy(&p.mutex);
}

// Signals are for the threads that the program made. Returns how many there are, with the caller's.
uint32_t start_helpers(heed_threads &threads, uint32_t n_threads) {
  pool &p = pool_of(threads);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  uint32_t n = 1;
  while (n < n_threads && pthread_create(thread_at(threads, n), nullptr, worker_thread, &p) == 0) n++;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return n;
}

void make(heed_threads &threads) {
  threads.struct_size = sizeof threads;
  threads.code = code_of_threads();
  pool &p = pool_of(threads);
  p = {};
  p.tasks = none_left;
  p.n_threads = 1;
  p.process = getpid();
  p.self = &p;
  p.running = &p;
  pthread_mutex_init(&p.mutex, nullptr);
  pthread_cond_init(&p.called, nullptr);
  pthread_cond_init(&p.finished, nullptr);
}

}  // namespace

heed_status heed_threads_start(heed_threads *threads, int32_t n_threads) {
  const heed_status status = check_handle(threads);
  if (status != HEED_OK) return status;
  if (n_threads < 1 || n_threads > HEED_MAX_WORKERS) return HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N_THREADS);
  __asm__ volatile("" : : "r"(threads) : "memory");  // the memory may never have been written: no compiler may know it
  if (is_running(*threads)) return HEED_STATUS(HEED_RUNNING, HEED_ARG_THREADS);
  make(*threads);
  const uint32_t wanted = static_cast<uint32_t>(n_threads), n = start_helpers(*threads, wanted);
  if (n == wanted) {
    __atomic_store_n(&pool_of(*threads).n_threads, n, __ATOMIC_SEQ_CST);
    return HEED_OK;
  }
  stop_helpers(*threads, n);
  pool_of(*threads).running = nullptr;
  return HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N_THREADS);
}

heed_status heed_threads_executor(heed_threads *threads, heed_executor *executor) {
  const heed_status status = check_started(threads);
  if (status != HEED_OK) return status;
  if (!executor) return HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_EXECUTOR);
  *executor = executor_of(pool_of(*threads));
  return HEED_OK;
}

// In a child of fork nobody is there to be woken or waited for, and somebody may have held the mutex: it is left alone.
heed_status heed_threads_stop(heed_threads *threads) {
  const heed_status status = check_started(threads);
  pool &p = pool_of(*threads);
  if (status != HEED_OK || !is_running(*threads)) return status;
  if (is_here(p))
    stop_helpers(*threads, p.n_threads);
  else
    store_word(p.stopped, 1);
  p.running = nullptr;
  p.n_threads = 1;
  return HEED_OK;
}
