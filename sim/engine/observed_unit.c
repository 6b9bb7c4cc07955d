/* SPDX-License-Identifier: MIT */
#include <sim/engine/observed_unit.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pto/core.h>
#include <sim/chips/timing.h>

static const struct pto_local_memory *memory_of(const struct pto_core *view, uint32_t which) {
  const struct pto_local_memory *const memories[] = {&view->local, &view->l0a, &view->l0b, &view->l0c};
  return memories[which];
}

void pto_observed_call_fill_local(const struct pto_message *message, const struct pto_core *view,
                                  const struct pto_observed_local *local, struct pto_observed_fill fill) {
  const bool is_filled = !fill.roles || (fill.roles & PTO_ROLE_BIT(message->role));
  uint64_t begin = fill.begin, end = is_filled ? fill.end : 0;
  const struct pto_local_memory *last = view->kind == PTO_AIV ? &view->local : &view->l0c;
  const size_t span = (size_t)((char *)last->addr - (char *)view->local.addr) + last->size_bytes;
  madvise(view->local.addr, span, MADV_DONTNEED); /* private memory: it reads as zero again */
  for (uint32_t i = 0; i < PTO_OBSERVED_LOCALS && end > 0; i++) {
    const struct pto_local_memory *memory = memory_of(view, i);
    const uint64_t stop = pto_min_u64(end, pto_min_u64(local->bytes[i], memory->size_bytes));
    if (begin < stop) memset((char *)memory->addr + begin, fill.value, stop - begin);
    begin -= pto_min_u64(begin, local->bytes[i]);
    end -= pto_min_u64(end, local->bytes[i]);
  }
}

#define DIRTY_STACK_BYTES 16384u
__attribute__((noinline)) void pto_observed_call_dirty_stack(uint8_t value) {
  uint8_t below[DIRTY_STACK_BYTES];
  memset(below, value, sizeof below);
  __asm__("" : : "r"(below) : "memory");
}

/* The end of the last page that is resident: pto_observed_call_fill_local leaves none. */
static uint64_t touched_bytes(const struct pto_local_memory *local) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  unsigned char is_resident[256];
  uint64_t touched = 0;
  for (uint64_t at = 0; at < local->size_bytes; at += sizeof is_resident * page) {
    const uint64_t bytes = pto_min_u64(sizeof is_resident * page, local->size_bytes - at);
    if (mincore((char *)local->addr + at, bytes, is_resident) != 0) return 0;
    for (uint64_t i = 0; i * page < bytes; i++)
      if (is_resident[i] & 1) touched = at + (i + 1) * page;
  }
  return pto_min_u64(touched, local->size_bytes);
}

/* Local memory began as zeros.  Pieces of it take up whole cache lines (kernels/api/local.h). */
static void find_over(const struct pto_message *message, const struct pto_local_memory *memory, uint64_t stated_bytes,
                      struct pto_observed_local *local) {
  const uint8_t *bytes = memory->addr;
  uint64_t begin = pto_align_up(stated_bytes, PTO_CACHE_LINE), end = touched_bytes(memory);
  if (stated_bytes == 0 || local->over.end) return;
  while (begin < end && !bytes[begin]) begin++;
  while (begin < end && !bytes[end - 1]) end--;
  if (begin >= end) return;
  local->over.begin = begin & ~UINT64_C(3);
  local->over.end = pto_align_up(end, 4);
  local->over.stated_bytes = stated_bytes;
  local->over.block_index = message->block_index;
  local->over.role = message->role;
}

void pto_observed_call_measure_local(const struct pto_message *message, struct pto_core *view,
                                     struct pto_observed_local *local) {
  struct pto_kernel_args args;
  pto_message_args(message, view, &args);
  const uint64_t stated = pto_timing_cost(message->payload->kernels[message->role], &args).local_bytes;
  for (uint32_t i = 0; i < PTO_OBSERVED_LOCALS; i++) {
    const uint64_t bytes = pto_max_u64(touched_bytes(memory_of(view, i)), i == PTO_OBSERVED_UB_OR_L1 ? stated : 0);
    local->bytes[i] = pto_max_u64(local->bytes[i], pto_align_up(bytes, sizeof(uint32_t)));
  }
  find_over(message, &view->local, stated, local);
}

struct pto_core pto_observed_call_move(const struct pto_message *message, const struct pto_core *view,
                                       uint32_t core_count, enum pto_observed_core core) {
  const struct pto_kernel *const *kernels = message->payload->kernels;
  const bool has_pair = kernels[PTO_ROLE_AIV0] && kernels[PTO_ROLE_AIV1]; /* which stand on lanes of their own */
  struct pto_core moved = *view;
  if (view->kind == PTO_AIV && !has_pair) moved.lane = 3 - view->lane;
  if (core == PTO_OBSERVED_ITS_LANE) return moved;
  moved.cluster = (view->cluster + 1) % (core_count / 3);
  moved.index = 3 * moved.cluster + moved.lane;
  return moved;
}
