/* SPDX-License-Identifier: MIT */
#include <check/observe/steps.h>

#include <signal.h>
#include <stddef.h>
#include <string.h>

#ifdef __x86_64__
#include <ucontext.h>

static struct {
  struct sigaction before;
  struct pto_steps_watch watch;
  struct pto_step step;
  bool is_in_step; /* which has to be told when it is over */
  uint64_t count;
} steps;

/* ---- what an instruction does (Intel's manual, volume 2, 2.1 and 2.2) ---- */

static uint64_t value_of(const ucontext_t *stopped, uint32_t number) {
  static const int places[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return (uint64_t)stopped->uc_mcontext.gregs[places[number]];
}

/* The address that ModRM at `at` says, and the bytes behind it; 0: of a register, or of the code's own data. */
static uint64_t address_of(const ucontext_t *stopped, const uint8_t *at, uint8_t rex) {
  const uint8_t mod = *at >> 6, rm = *at & 7, sib = at[1];
  const bool has_sib = rm == 4;
  uint32_t base = rm | (rex & 1u) << 3;
  uint64_t addr = 0;
  int32_t distance = 0;
  if (mod == 3 || (mod == 0 && rm == 5)) return 0;
  at++;
  if (has_sib) {
    const uint32_t index = (sib >> 3 & 7u) | (rex & 2u) << 2;
    base = (sib & 7u) | (rex & 1u) << 3;
    if (index != 4) addr = value_of(stopped, index) << (sib >> 6);
    at++;
  }
  const bool has_base = !(has_sib && mod == 0 && (base & 7) == 5);
  if (has_base) addr += value_of(stopped, base);
  if (mod == 1)
    distance = (int8_t)*at;
  else if (mod == 2 || !has_base)
    memcpy(&distance, at, sizeof distance);
  return addr + (uint64_t)(int64_t)distance;
}

/* With the prefix LOCK, an exchange with memory, which locks by itself, or a move. */
static bool read_step(const ucontext_t *stopped, struct pto_step *step) {
  static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26};
  static const uint8_t loads[] = {0x63, 0x8a, 0x8b}, long_loads[] = {0xb6, 0xb7, 0xbe, 0xbf};
  static const uint8_t stores[] = {0x88, 0x89, 0xc6, 0xc7};
  const uint8_t *at = (const uint8_t *)(uintptr_t)stopped->uc_mcontext.gregs[REG_RIP];
  uint8_t rex = 0;
  bool is_atomic = false;
  *step = (struct pto_step){.instruction = at};
  for (; memchr(prefixes, *at, sizeof prefixes) || *at == 0xf0; at++) is_atomic |= *at == 0xf0;
  if (*at >= 0x64 && *at <= 0x67) return false; /* of a thread's own memory */
  if ((*at & 0xf0) == 0x40) rex = *at++;
  const bool is_long = *at == 0x0f;
  const uint8_t code = *(at += is_long);
  is_atomic |= !is_long && (code == 0x86 || code == 0x87);
  const bool is_load = is_long ? memchr(long_loads, code, sizeof long_loads) : memchr(loads, code, sizeof loads);
  const bool is_store = !is_long && memchr(stores, code, sizeof stores);
  if (!is_atomic && !is_load && !is_store) return false;
  step->kind = is_atomic ? PTO_STEP_ATOMIC : is_load ? PTO_STEP_LOADS : PTO_STEP_STORES;
  step->addr = address_of(stopped, at + 1, rex);
  return step->addr != 0;
}

/* ---- traps ---- */

/* The flag TF. */
static inline void set_trap(bool is_on) {
  if (is_on)
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
  else
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

static void end_step(void) {
  if (steps.is_in_step) steps.watch.leaves(steps.watch.context, &steps.step);
  steps.is_in_step = false;
}

static void on_trap(int number, siginfo_t *info, void *context) {
  ucontext_t *stopped = context;
  (void)number;
  (void)info;
  end_step();
  if (++steps.count >= PTO_STEPS_MOST)
    stopped->uc_mcontext.gregs[REG_EFL] &= ~0x100;
  else if (read_step(stopped, &steps.step))
    steps.is_in_step = steps.watch.reaches(steps.watch.context, &steps.step);
}

bool pto_steps_begin(struct pto_steps_watch watch) {
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  memset(&steps, 0, sizeof steps);
  steps.watch = watch;
  return sigaction(SIGTRAP, &action, &steps.before) == 0;
}
void pto_steps_go(void) {
  if (steps.count < PTO_STEPS_MOST) set_trap(true);
}
void pto_steps_pause(void) {
  set_trap(false);
  end_step();
}
bool pto_steps_end(void) {
  pto_steps_pause();
  (void)sigaction(SIGTRAP, &steps.before, NULL);
  return steps.count < PTO_STEPS_MOST;
}

#else

bool pto_steps_begin(struct pto_steps_watch watch) {
  (void)watch;
  return false;
}
void pto_steps_go(void) {}
void pto_steps_pause(void) {}
bool pto_steps_end(void) { return false; }

#endif
