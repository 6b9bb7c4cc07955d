/* SPDX-License-Identifier: MIT */
/*
 * The seam of a kernel's shared object: linked into each one, in C, and hidden, so that the object's own calls arrive
 * here and no other's do.
 *
 * What would stop the thread (condition variables, sleeping, yielding) lets the core wait; clocks are the engine's;
 * mutexes are one for all kernels; thread-local variables are the core's; blocks of code are counted, so that a poll
 * without a call is seen. Without a table, before the loader has written it, and where no kernel runs, each does what
 * is harmless.
 */
#include "seam_calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define VISIBLE __attribute__((visibility("default")))

VISIBLE const struct pto_compat_seam_calls *pto_compat_seam;
/* How it was compiled: the loader refuses an object of another number. */
VISIBLE const uint32_t pto_compat_seam_abi = PTO_COMPAT_SEAM_ABI;

/* ---- blocks of code ---- */

HIDDEN ptrdiff_t pto_compat_countdown;
HIDDEN void pto_compat_block(const uint64_t *frame, const uint64_t *registers);
/* The loader, once the table is written. */
VISIBLE void pto_compat_seam_begin(void);

void pto_compat_seam_begin(void) { pto_compat_countdown = pto_compat_seam->countdown; }
void pto_compat_block(const uint64_t *frame, const uint64_t *registers) {
  if (pto_compat_seam) pto_compat_seam->block(frame, registers);
}

#ifdef __x86_64__
/* Before the loader has come the distance is 0: the word at the thread pointer is libc's, so nothing is counted. */
__asm__(".text\n"
        ".p2align 4\n"
        ".type __sanitizer_cov_trace_pc, @function\n"
        ".globl __sanitizer_cov_trace_pc\n"
        ".hidden __sanitizer_cov_trace_pc\n"
        "__sanitizer_cov_trace_pc:\n"
        "  movq pto_compat_countdown(%rip), %rax\n"
        "  testq %rax, %rax\n"
        "  je 1f\n"
        "  decl %fs:(%rax)\n"
        "  js 2f\n"
        "1: ret\n"
        "2: movq %rsp, %rdi\n"
        "  pushq %rbx\n"
        "  pushq %rbp\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  movq %rsp, %rsi\n"
        "  subq $8, %rsp\n"
        "  call pto_compat_block\n"
        "  addq $56, %rsp\n"
        "  ret\n"
        ".size __sanitizer_cov_trace_pc, .-__sanitizer_cov_trace_pc\n");
#endif

/* ---- waiting ---- */

static void wait_a_while(void) {
  if (pto_compat_seam) pto_compat_seam->wait();
}

HIDDEN int sched_yield(void) {
  wait_a_while();
  return 0;
}
HIDDEN int nanosleep(const struct timespec *wanted, struct timespec *left) {
  (void)wanted;
  (void)left;
  wait_a_while();
  return 0;
}
HIDDEN int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left) {
  (void)clock;
  (void)flags;
  return nanosleep(wanted, left);
}
HIDDEN int usleep(unsigned int microseconds) {
  (void)microseconds;
  return sched_yield();
}
HIDDEN unsigned int sleep(unsigned int seconds) {
  (void)seconds;
  wait_a_while();
  return 0;
}

/* Every wake of a condition variable may come for nothing, so this is one: the caller looks again. */
HIDDEN int pthread_cond_wait(void *condition, void *mutex) {
  (void)condition;
  (void)mutex;
  if (!pto_compat_seam) return 0;
  const uint32_t held = pto_compat_seam->unlock_all();
  pto_compat_seam->wait();
  pto_compat_seam->lock_again(held);
  return 0;
}
HIDDEN int pthread_cond_timedwait(void *condition, void *mutex, const struct timespec *until) {
  (void)until;
  return pthread_cond_wait(condition, mutex);
}
HIDDEN int pthread_cond_clockwait(void *condition, void *mutex, clockid_t clock, const struct timespec *until) {
  (void)clock;
  (void)until;
  return pthread_cond_wait(condition, mutex);
}
HIDDEN int pthread_cond_broadcast(void *condition) {
  (void)condition;
  if (pto_compat_seam) pto_compat_seam->notify();
  return 0;
}
HIDDEN int pthread_cond_signal(void *condition) { return pthread_cond_broadcast(condition); }

/* The same of std::condition_variable, which libstdc++ has not in its header. */
HIDDEN void pto_compat_std_wait(void *condition,
                                void *lock) __asm__("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
HIDDEN void pto_compat_std_notify_all(void *condition) __asm__("_ZNSt18condition_variable10notify_allEv");
HIDDEN void pto_compat_std_notify_one(void *condition) __asm__("_ZNSt18condition_variable10notify_oneEv");
void pto_compat_std_wait(void *condition, void *lock) { (void)pthread_cond_wait(condition, lock); }
void pto_compat_std_notify_all(void *condition) { (void)pthread_cond_broadcast(condition); }
void pto_compat_std_notify_one(void *condition) { (void)pthread_cond_broadcast(condition); }

/* ---- clocks: the engine's, in nanoseconds ---- */

#define SECOND UINT64_C(1000000000)
HIDDEN int64_t pto_compat_steady_now(void) __asm__("_ZNSt6chrono3_V212steady_clock3nowEv");
HIDDEN int64_t pto_compat_system_now(void) __asm__("_ZNSt6chrono3_V212system_clock3nowEv");
int64_t pto_compat_steady_now(void) { return pto_compat_seam ? (int64_t)pto_compat_seam->ticks(SECOND) : 0; }
int64_t pto_compat_system_now(void) { return pto_compat_steady_now(); }
HIDDEN int clock_gettime(clockid_t clock, struct timespec *now) {
  (void)clock;
  const int64_t ns = pto_compat_steady_now();
  *now = (struct timespec){.tv_sec = (time_t)(ns / (int64_t)SECOND), .tv_nsec = (long)(ns % (int64_t)SECOND)};
  return 0;
}

/* ---- mutexes ---- */

HIDDEN int pthread_mutex_lock(void *mutex) {
  (void)mutex;
  if (pto_compat_seam) pto_compat_seam->lock();
  return 0;
}
HIDDEN int pthread_mutex_trylock(void *mutex) {
  (void)mutex;
  return !pto_compat_seam || pto_compat_seam->try_lock() ? 0 : EBUSY;
}
HIDDEN int pthread_mutex_unlock(void *mutex) {
  (void)mutex;
  if (pto_compat_seam) pto_compat_seam->unlock();
  return 0;
}

/* ---- thread-local variables ---- */

#ifdef __clang__
HIDDEN void *__emutls_get_address(void *control) { return pto_compat_seam ? pto_compat_seam->emulated(control) : NULL; }
#else
struct index {
  size_t module, offset;
};
HIDDEN void *__tls_get_addr(struct index *index) {
  return pto_compat_seam ? pto_compat_seam->block_of(index->module, index->offset) : NULL;
}
#endif
HIDDEN int __cxa_thread_atexit(void (*destroy)(void *), void *object, void *library) {
  (void)library;
  if (pto_compat_seam) pto_compat_seam->at_exit(destroy, object);
  return 0;
}

/* ---- bfloat16 ---- */

/* clang calls these, of a library that Debian 12 has not new enough.  To the nearest, ties to even. */
#ifdef __clang__
static __bf16 upper_half(uint32_t bits) {
  const uint16_t half = (uint16_t)(bits >> 16);
  __bf16 result;
  memcpy(&result, &half, sizeof result);
  return result;
}
HIDDEN __bf16 __truncsfbf2(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return upper_half(bits | 0x400000u);
  return upper_half(bits + 0x7fffu + (bits >> 16 & 1));
}
/* By way of a float that is odd where it is not exact, so that it is not rounded twice. */
HIDDEN __bf16 __truncdfbf2(double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  if ((double)narrow != value && value == value && (bits & 1) == 0)
    bits += __builtin_fabs((double)narrow) > __builtin_fabs(value) ? -1u : 1u;
  memcpy(&narrow, &bits, sizeof narrow);
  return __truncsfbf2(narrow);
}
#endif

/* ---- the rest ---- */

HIDDEN void *dlsym(void *handle, const char *name) {
  return pto_compat_seam ? pto_compat_seam->find(handle, name) : NULL;
}
/* What prelude.hpp makes get_sys_cnt of. */
HIDDEN uint64_t pto_compat_ticks(uint64_t per_second) {
  return pto_compat_seam ? pto_compat_seam->ticks(per_second) : 0;
}

HIDDEN void abort(void) {
  if (pto_compat_seam) pto_compat_seam->fail("it called abort");
  __builtin_trap();
}
HIDDEN void __assert_fail(const char *assertion, const char *file, unsigned int line, const char *function) {
  char what[256];
  (void)snprintf(what, sizeof what, "%s:%u: %s: assertion `%s' failed", file, line, function, assertion);
  if (pto_compat_seam) pto_compat_seam->fail(what);
  __builtin_trap();
}
