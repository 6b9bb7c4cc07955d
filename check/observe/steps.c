/* SPDX-License-Identifier: MIT */
#include <check/observe/steps.h>

#include <signal.h>
#include <stddef.h>
#include <string.h>

#ifdef __x86_64__
#include <ucontext.h>

static struct {
  struct sigaction before;
  const uint8_t *bytes;
  uint32_t size_bytes;
  uint8_t last[PTO_STEPS_BYTES];
  const uint8_t *instruction; /* that the next trap is behind; NULL: it is not known */
  uint64_t count, atomic_count;
  bool is_plain;
} steps;

/* With the prefix LOCK, or an exchange with memory, which has it by itself (Intel's manual, volume 2, 2.1 and XCHG). */
static bool is_atomic(const uint8_t *at) {
  static const uint8_t others[] = {0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65};
  while (memchr(others, *at, sizeof others)) at++;
  if (*at == 0xf0) return true;
  if ((*at & 0xf0) == 0x40) at++; /* REX */
  return *at == 0x86 || *at == 0x87;
}

/* The flag TF. */
static inline void set_trap(bool is_on) {
  if (is_on)
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
  else
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

static void on_trap(int number, siginfo_t *info, void *context) {
  ucontext_t *stopped = context;
  (void)number;
  (void)info;
  if (steps.bytes && memcmp(steps.bytes, steps.last, steps.size_bytes) != 0) {
    memcpy(steps.last, steps.bytes, steps.size_bytes);
    if (steps.instruction && is_atomic(steps.instruction))
      steps.atomic_count++;
    else
      steps.is_plain = true;
  }
  steps.instruction = (const uint8_t *)(uintptr_t)stopped->uc_mcontext.gregs[REG_RIP];
  if (++steps.count >= PTO_STEPS_MOST) stopped->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

bool pto_steps_begin(void) {
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  memset(&steps, 0, sizeof steps);
  return sigaction(SIGTRAP, &action, &steps.before) == 0;
}
void pto_steps_go(const void *bytes, uint32_t size_bytes) {
  steps.bytes = bytes;
  steps.size_bytes = size_bytes;
  steps.instruction = NULL;
  memcpy(steps.last, bytes, size_bytes);
  if (steps.count < PTO_STEPS_MOST) set_trap(true);
}
void pto_steps_pause(void) {
  set_trap(false);
  steps.bytes = NULL;
}
bool pto_steps_end(void) {
  pto_steps_pause();
  (void)sigaction(SIGTRAP, &steps.before, NULL);
  return steps.atomic_count > 0 && !steps.is_plain && steps.count < PTO_STEPS_MOST;
}

#else

bool pto_steps_begin(void) { return false; }
void pto_steps_go(const void *bytes, uint32_t size_bytes) {
  (void)bytes;
  (void)size_bytes;
}
void pto_steps_pause(void) {}
bool pto_steps_end(void) { return false; }

#endif
