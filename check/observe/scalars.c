/* SPDX-License-Identifier: MIT */
/*
 * Scalars that are addresses of memory which is neither of the run nor of the stack: of the heap, or a variable of the
 * program.  Such memory is not closed, so what kernels do there is not seen.
 *
 * Told where it is proved: the byte may be written, and a run with an address without access in its place ends there.
 * A number that looks like an address is no finding, nor is an address that the kernel hands on, or a table of
 * constants that none can write.
 *
 * Not of ranks: the context of a communicator, which adopted kernels get as a scalar, is such memory.
 */
#include <check/observe/state.h>

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Room without access around the address that stands in for the scalar. */
#define AROUND_BYTES (UINT64_C(1) << 20)

/* Asked of the system, which says no where a touch would end the process. */
static bool is_writable(uint64_t addr) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  void *byte = (void *)(uintptr_t)addr;
  const bool is_ok = write(ends[1], byte, 1) == 1 && read(ends[0], byte, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return is_ok;
}

/* Whether a run with this scalar, which is where nothing may be touched, ends there. */
static void ask(struct pto_observation *o, void *answer) {
  const uint64_t at = *o->call.asked_scalar;
  void *around = mmap(NULL, 2 * AROUND_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (around == MAP_FAILED) return;
  const uint64_t lo = (uintptr_t)around;
  *o->call.asked_scalar = lo + AROUND_BYTES + at % o->memory->page_bytes;
  const struct pto_observe_outcome outcome = pto_observe_run_again(o, PTO_OBSERVE_NEGATIVE, PTO_OBSERVE_NO_LOCAL);
  *(bool *)answer = outcome.caught == SIGSEGV && o->memory->caught_at - lo < 2 * AROUND_BYTES;
}

void pto_observe_judge_scalars(struct pto_observation *o) {
  if (o->rank) return;
  const struct pto_message *first = &o->call.unit->messages[0];
  const struct pto_kernel *kernel = o->call.payload->kernels[first->role];
  union pto_scalar *scalars = pto_observe_scalars(o);
  for (uint32_t i = 0; i < first->scalar_count; i++) {
    const uint32_t index = pto_observe_param_of_scalar(kernel, i);
    const uint64_t addr = scalars[i].u64;
    bool is_touched = false;
    if (addr <= UINT32_MAX || pto_observe_memory_has(o->memory, addr) || pto_observe_is_external(o, addr) ||
        pto_observe_memory_is_stack(o->memory, addr) || !is_writable(addr))
      continue;
    o->call.asked_scalar = &scalars[i].u64;
    pto_observe_select(o, NULL);
    if (pto_observe_in_child(o, ask, &is_touched, sizeof is_touched) && is_touched) pto_observe_report_heap(o, index);
  }
}
