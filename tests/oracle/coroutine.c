/* SPDX-License-Identifier: MIT */
#include <tests/oracle/coroutine.h>

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <runtime/base/base.h>

#if defined(__has_feature)
#define COROUTINE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define COROUTINE_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || COROUTINE_HAS_FEATURE(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__) || COROUTINE_HAS_FEATURE(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#include <sanitizer/tsan_interface.h>
#endif

/* ---- what the sanitizers are told; nothing in other builds ---- */

/* Inlined, so that no call of ours begins on one stack and ends, for ThreadSanitizer, on another. */
#define TELL static inline __attribute__((always_inline)) void

/* Before a change to the stack at `bottom`; where the leaving one comes back, it keeps `*fake_stack` till then. */
TELL tell_leaving(void **fake_stack, const void *bottom, size_t size_bytes, void *fiber) {
#ifdef HAS_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(fake_stack, bottom, size_bytes);
#endif
#ifdef HAS_THREAD_SANITIZER
  __tsan_switch_to_fiber(fiber, 0);
#endif
  (void)fake_stack, (void)bottom, (void)size_bytes, (void)fiber;
}

/* After it; the stack that was left is written to the last two where they are wanted. */
TELL tell_arrived(void *fake_stack, const void **bottom, size_t *size_bytes) {
#ifdef HAS_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake_stack, bottom, size_bytes);
#endif
  (void)fake_stack, (void)bottom, (void)size_bytes;
}

static void *make_fiber(void) {
#ifdef HAS_THREAD_SANITIZER
  return __tsan_create_fiber(0);
#else
  return NULL;
#endif
}
static void *current_fiber(void) {
#ifdef HAS_THREAD_SANITIZER
  return __tsan_get_current_fiber();
#else
  return NULL;
#endif
}
static void drop_fiber(void *fiber) {
#ifdef HAS_THREAD_SANITIZER
  if (fiber) __tsan_destroy_fiber(fiber);
#endif
  (void)fiber;
}

/* ---- coroutines ---- */

/* Where every coroutine begins.  makecontext passes ints, so its address comes in halves. */
static void begin(unsigned high, unsigned low) {
  struct oracle_coroutine *c = (void *)(uintptr_t)((uint64_t)high << 32 | low);
  tell_arrived(NULL, &c->resumer_stack, &c->resumer_stack_bytes);
  c->body(c->argument);
  c->is_over = true;
  tell_leaving(NULL, c->resumer_stack, c->resumer_stack_bytes, c->resumer_fiber);
  setcontext(&c->resumer);
}

bool oracle_coroutine_init(struct oracle_coroutine *c, size_t stack_bytes, void (*body)(void *), void *argument) {
  size_t guard_bytes = (size_t)sysconf(_SC_PAGESIZE);
  *c = (struct oracle_coroutine){.body = body, .argument = argument};
  c->stack_bytes = stack_bytes;
  c->mapping_bytes = guard_bytes + stack_bytes;
  void *mapping = mmap(NULL, c->mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return false;
  c->mapping = mapping;
  if (mprotect(mapping, guard_bytes, PROT_NONE) != 0 || getcontext(&c->own) != 0) {
    oracle_coroutine_fini(c);
    return false;
  }
  c->own_fiber = make_fiber();
  c->own.uc_stack.ss_sp = c->mapping + guard_bytes;
  c->own.uc_stack.ss_size = stack_bytes;
  uint64_t address = (uintptr_t)c;
  makecontext(&c->own, (void (*)(void))(uintptr_t)begin, 2, (unsigned)(address >> 32), (unsigned)address);
  return true;
}

void oracle_coroutine_fini(struct oracle_coroutine *c) {
  drop_fiber(c->own_fiber);
  if (c->mapping) munmap(c->mapping, c->mapping_bytes);
  c->own_fiber = c->mapping = NULL;
}

void oracle_coroutine_resume(struct oracle_coroutine *c) {
  void *fake_stack = NULL;
  PTO_ASSERT(!c->is_over);
  c->resumer_fiber = current_fiber();
  tell_leaving(&fake_stack, c->own.uc_stack.ss_sp, c->stack_bytes, c->own_fiber);
  (void)swapcontext(&c->resumer, &c->own);
  tell_arrived(fake_stack, NULL, NULL);
}

void oracle_coroutine_suspend(struct oracle_coroutine *c) {
  tell_leaving(&c->own_fake_stack, c->resumer_stack, c->resumer_stack_bytes, c->resumer_fiber);
  (void)swapcontext(&c->own, &c->resumer);
  tell_arrived(c->own_fake_stack, &c->resumer_stack, &c->resumer_stack_bytes);
}
