// A page of memory that chooses another kernel when it is first touched: in the middle of any call, at the same place
// every time, and without an executor. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_KERNEL_TRAP_HPP
#define HEED_TESTS_SUPPORT_KERNEL_TRAP_HPP

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "heed/heed.h"

namespace heed_test {

// Choices of a kernel while a call was under way, from anywhere.
inline std::atomic<uint64_t> &choices_in_calls() {
  static std::atomic<uint64_t> n{0};
  return n;
}
inline void choose_in_a_call(const char *kernel) {
  heed_isa_use(kernel);
  ++choices_in_calls();
}

class kernel_trap {
 public:
  // The page that holds this byte, of memory that may be read and written.
  static void set(const void *byte, const char *kernel) {
    static const bool handled = handle_faults();
    if (!handled) return;
    state &s = the();
    s.size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    s.kernel = kernel;
    s.page = reinterpret_cast<uintptr_t>(byte) / s.size * s.size;
    s.set = true;
    mprotect(reinterpret_cast<void *>(s.page.load()), s.size, PROT_NONE);
  }
  static void clear() {
    state &s = the();
    if (s.page == 0) return;
    mprotect(reinterpret_cast<void *>(s.page.load()), s.size, PROT_READ | PROT_WRITE);
    s.page = 0;
  }

 private:
  struct state {
    std::atomic<uintptr_t> page{0};  // 0: none
    uintptr_t size;
    const char *kernel;
    std::atomic<bool> set;
    struct sigaction before;
  };
  static state &the() {
    static state s;
    return s;
  }
  static bool handle_faults() {
    struct sigaction own = {};
    own.sa_sigaction = on_fault;
    own.sa_flags = SA_SIGINFO | SA_NODEFER;
    return sigaction(SIGSEGV, &own, &the().before) == 0;
  }
  // Several threads may touch the page at once. Whatever else is no business of this class comes again, to the handler
  // that was there before.
  static void on_fault(int signal, siginfo_t *info, void *) {
    state &s = the();
    const uintptr_t page = s.page, at = reinterpret_cast<uintptr_t>(info->si_addr);
    if (page == 0 || at < page || at - page >= s.size) {
      sigaction(signal, &s.before, nullptr);
      return;
    }
    mprotect(reinterpret_cast<void *>(page), s.size, PROT_READ | PROT_WRITE);
    if (s.set.exchange(false)) choose_in_a_call(s.kernel);
  }
};

}  // namespace heed_test

#endif
