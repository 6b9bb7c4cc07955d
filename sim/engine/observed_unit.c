/* SPDX-License-Identifier: MIT */
#include <sim/engine/observed_unit.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sim/chips/timing.h>

void pto_observed_call_fill_local(const struct pto_core *view, uint8_t fill, uint64_t begin, uint64_t end) {
  const struct pto_local_memory *last = view->kind == PTO_AIV ? &view->local : &view->l0c;
  const size_t span = (size_t)((char *)last->addr - (char *)view->local.addr) + last->size_bytes;
  madvise(view->local.addr, span, MADV_DONTNEED); /* private memory: it reads as zero again */
  end = pto_min_u64(end, view->local.size_bytes);
  if (begin < end) memset((char *)view->local.addr + begin, fill, end - begin);
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

uint64_t pto_observed_call_local_bytes(const struct pto_message *message, struct pto_core *view) {
  struct pto_kernel_args args;
  pto_message_args(message, view, &args);
  return pto_max_u64(pto_timing_cost(message->payload->kernels[message->role], &args).local_bytes,
                     touched_bytes(&view->local));
}
