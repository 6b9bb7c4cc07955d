/* SPDX-License-Identifier: MIT */
/*
 * One switch in either direction.  A fiber's first resume enters a loop on its stack that runs what it was given and
 * suspends, for ever: so a fiber is never left in the middle of nothing, and tools see one stack with one history.
 */
#include <sim/host/fiber.h>

#include <string.h>

#include <runtime/base/sanitizer.h>
#include <runtime/base/valgrind_requests.h>

#if PTO_HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if PTO_HAS_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* ---- the switch: saves what the ABI preserves on the stack that is left, and that stack in *left ---- */

/* With a shadow stack (CET) a return to another stack is a fault, which libc knows how to avoid. */
#if defined(__x86_64__) && !defined(__CET__) && !defined(PTO_FIBER_UCONTEXT)

void pto_fiber_switch(void **left, void *entered);
void pto_fiber_entry(void);

__asm__(".text\n"
        ".p2align 4\n"
        ".type pto_fiber_switch, @function\n"
        ".hidden pto_fiber_switch\n"
        "pto_fiber_switch:\n"
        "  pushq %rbp\n"
        "  pushq %rbx\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  subq $8, %rsp\n"
        "  stmxcsr (%rsp)\n"
        "  fnstcw 4(%rsp)\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  ldmxcsr (%rsp)\n"
        "  fldcw 4(%rsp)\n"
        "  addq $8, %rsp\n"
        "  popq %r15\n"
        "  popq %r14\n"
        "  popq %r13\n"
        "  popq %r12\n"
        "  popq %rbx\n"
        "  popq %rbp\n"
        "  ret\n"
        ".size pto_fiber_switch, .-pto_fiber_switch\n"
        /* The first switch returns here: the fiber is in %rbx, its function in %r12.  Backtraces end here. */
        ".p2align 4\n"
        ".type pto_fiber_entry, @function\n"
        ".hidden pto_fiber_entry\n"
        "pto_fiber_entry:\n"
        "  .cfi_startproc\n"
        "  .cfi_undefined rip\n"
        "  movq %rbx, %rdi\n"
        "  call *%r12\n"
        "  ud2\n"
        "  .cfi_endproc\n"
        ".size pto_fiber_entry, .-pto_fiber_entry\n");

/* What the first switch pops, lowest address first. */
struct first_frame {
  uint32_t mxcsr;
  uint16_t x87_control, padding;
  void *r15, *r14, *r13;
  void (*r12)(struct pto_fiber *);
  struct pto_fiber *rbx;
  void *rbp;
  void (*return_address)(void);
  uint64_t top; /* the stack pointer stands here, on a multiple of 16, when the entry begins */
};
_Static_assert(sizeof(struct first_frame) == 72, "eight words that the switch pops, and one that stays");

static void prepare(struct pto_fiber *fiber, void (*loop)(struct pto_fiber *)) {
  struct first_frame *frame =
      (struct first_frame *)(void *)((char *)fiber->stack + fiber->stack_bytes - 8 - sizeof(struct first_frame));
  memset(frame, 0, sizeof *frame);
  __asm__ volatile("stmxcsr %0" : "=m"(frame->mxcsr));
  __asm__ volatile("fnstcw %0" : "=m"(frame->x87_control));
  frame->r12 = loop;
  frame->rbx = fiber;
  frame->return_address = pto_fiber_entry;
  fiber->own_sp = frame;
}

static void enter(struct pto_fiber *fiber) { pto_fiber_switch(&fiber->caller_sp, fiber->own_sp); }
static void leave(struct pto_fiber *fiber) { pto_fiber_switch(&fiber->own_sp, fiber->caller_sp); }

#else

#include <ucontext.h>

struct contexts {
  ucontext_t own, caller;
  void (*loop)(struct pto_fiber *);
  struct pto_fiber *fiber;
};

/* makecontext passes ints; a pointer goes in two halves. */
static void begin(unsigned low, unsigned high) {
  struct contexts *contexts = (struct contexts *)((uintptr_t)low | (uintptr_t)high << 16 << 16); /* NOLINT */
  contexts->loop(contexts->fiber);
}

/* The contexts lie at the low end, which the stack grows towards: they come off its size. */
static void prepare(struct pto_fiber *fiber, void (*loop)(struct pto_fiber *)) {
  struct contexts *contexts = fiber->stack;
  const size_t taken = (sizeof *contexts + 15) / 16 * 16;
  const uintptr_t address = (uintptr_t)contexts;
  memset(contexts, 0, sizeof *contexts);
  contexts->loop = loop;
  contexts->fiber = fiber;
  fiber->own_sp = contexts;
  getcontext(&contexts->own);
  contexts->own.uc_stack.ss_sp = (char *)fiber->stack + taken;
  contexts->own.uc_stack.ss_size = fiber->stack_bytes - taken;
  makecontext(&contexts->own, (void (*)(void))begin, 2, (unsigned)address, (unsigned)(address >> 16 >> 16));
}

static void enter(struct pto_fiber *fiber) {
  struct contexts *contexts = fiber->own_sp;
  swapcontext(&contexts->caller, &contexts->own);
}
static void leave(struct pto_fiber *fiber) {
  struct contexts *contexts = fiber->own_sp;
  swapcontext(&contexts->own, &contexts->caller);
}

#endif

/* ---- the switch, as the tools see it ---- */

static void announce_arrival(struct pto_fiber *fiber) {
#if PTO_HAS_ASAN
  __sanitizer_finish_switch_fiber(fiber->asan_own, &fiber->caller_stack, &fiber->caller_stack_bytes);
#else
  (void)fiber;
#endif
}

static void fiber_loop(struct pto_fiber *fiber) {
  announce_arrival(fiber);
  for (;;) {
    fiber->run(fiber->context);
    fiber->is_active = false;
    pto_fiber_suspend(fiber);
  }
}

void pto_fiber_init(struct pto_fiber *fiber, void *stack, uint64_t stack_bytes) {
  PTO_ASSERT(((uintptr_t)stack | stack_bytes) % 16 == 0);
  *fiber = (struct pto_fiber){.stack = stack, .stack_bytes = stack_bytes};
  fiber->valgrind_number = pto_valgrind_stack_register(stack, stack_bytes);
#if PTO_HAS_TSAN
  fiber->tsan_own = __tsan_create_fiber(0);
#endif
}

void pto_fiber_fini(struct pto_fiber *fiber) {
  if (!fiber->stack) return;
  PTO_ASSERT(!fiber->is_active);
  pto_valgrind_stack_deregister(fiber->valgrind_number);
#if PTO_HAS_TSAN
  __tsan_destroy_fiber(fiber->tsan_own);
#endif
  *fiber = (struct pto_fiber){0};
}

void pto_fiber_give(struct pto_fiber *fiber, void (*run)(void *context), void *context) {
  PTO_ASSERT(!fiber->is_active);
  fiber->run = run;
  fiber->context = context;
  fiber->is_active = true;
  if (!fiber->own_sp) prepare(fiber, fiber_loop); /* at its first use: until then the stack is not resident */
}

bool pto_fiber_resume(struct pto_fiber *fiber) {
  PTO_ASSERT(fiber->is_active);
#if PTO_HAS_ASAN
  __sanitizer_start_switch_fiber(&fiber->asan_caller, fiber->stack, fiber->stack_bytes);
#endif
#if PTO_HAS_TSAN
  fiber->tsan_caller = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber->tsan_own, 0);
#endif
  enter(fiber);
#if PTO_HAS_ASAN
  __sanitizer_finish_switch_fiber(fiber->asan_caller, NULL, NULL);
#endif
  return !fiber->is_active;
}

void pto_fiber_suspend(struct pto_fiber *fiber) {
#if PTO_HAS_ASAN
  __sanitizer_start_switch_fiber(&fiber->asan_own, fiber->caller_stack, fiber->caller_stack_bytes);
#endif
#if PTO_HAS_TSAN
  __tsan_switch_to_fiber(fiber->tsan_caller, 0);
#endif
  leave(fiber);
  announce_arrival(fiber);
}
