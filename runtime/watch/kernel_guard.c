/* SPDX-License-Identifier: MIT */
#include <runtime/watch/kernel_guard.h>

#include <runtime/port/core_port.h>
#include <runtime/tensor/region_runs.h>

/* Pieces of 88 bytes: a tile of 256 rows has two margins a row, of eight granules each where AddressSanitizer keeps
 * account; what does not fit stays open. */
#define SERIAL_PIECES 16384u
/* Where kernels run side by side each call has its own list, on its stack, for fresh bytes alone. */
#define PARALLEL_PIECES 64u

static inline const struct pto_payload *payload_of(const struct pto_kernel_args *args) {
  return (const struct pto_payload *)(const void *)((const char *)args->tensors -
                                                    offsetof(struct pto_payload, tensors));
}
static inline const struct pto_kernel_guard *guard_of(const struct pto_payload *payload) {
  return (const struct pto_kernel_guard *)(uintptr_t)(payload->held_count_and_guard & ~(uint64_t)(PTO_GUARD_ALIGN - 1));
}

/* ---- the parameters as bytes ---- */

struct guarded {
  const struct pto_kernel_args *args;
  const struct pto_kernel_guard *guard;
  uint32_t modes[PTO_MAX_TENSORS]; /* what the whole task does to it */
  bool is_ours[PTO_MAX_TENSORS];   /* whether this kernel of the task touches it */
  struct pto_region regions[PTO_MAX_TENSORS];
};

static void look_at(struct guarded *g, const struct pto_kernel_args *args) {
  const struct pto_payload *payload = payload_of(args);
  const struct pto_kernel *mine = payload->kernels[args->core->role];
  uint32_t tensor = 0;
  g->args = args;
  g->guard = guard_of(payload);
  for (uint32_t i = 0; i < mine->param_count && tensor < args->tensor_count; i++) {
    uint32_t mode = PTO_UNUSED; /* the union over the task's kernels: one that leaves it out does not say what it is */
    for (uint32_t k = 0; k < PTO_ARRAY_LENGTH(payload->kernels); k++)
      if (payload->kernels[k]) mode |= payload->kernels[k]->params[i].mode;
    if (mode == PTO_SCALAR) continue;
    g->modes[tensor] = mode;
    g->is_ours[tensor] = mine->params[i].mode != PTO_UNUSED;
    pto_region_from_kernel_tensor(&args->tensors[tensor], &g->regions[tensor]);
    tensor++;
  }
}

typedef void on_run(struct guarded *g, struct pto_hidden_list *list, char *addr, uint64_t size_bytes);

/* Calls `what` for each run of contiguous bytes. */
static void each_run(struct guarded *g, struct pto_hidden_list *list, const struct pto_region *region, on_run *what) {
  struct pto_region_runs runs = pto_region_runs(region);
  for (uint64_t start; pto_region_runs_next(&runs, &start);) what(g, list, (char *)(uintptr_t)start, region->run_bytes);
}

/* ---- margins ---- */

/* Bytes from a region's first to behind its last, from dimension `d` on. */
static uint64_t span_from(const struct pto_region *region, uint32_t d) {
  uint64_t span = region->run_bytes;
  for (; d < region->ndims; d++) span += (region->extents[d] - 1) * region->strides[d];
  return span;
}

/* The first byte of the region at or behind `addr`, UINT64_MAX where there is none.  Where dimensions interleave it may
 * name one that is none: then less is hidden than could be. */
static uint64_t next_byte(const struct pto_region *region, uint64_t addr) {
  if (pto_region_is_empty(region) || addr >= region->end) return UINT64_MAX;
  if (addr <= region->start) return region->start;
  uint64_t at = region->start; /* of the sub-box that `addr` is in */
  for (uint32_t d = 0; d < region->ndims; d++) {
    uint64_t stride = region->strides[d], span = span_from(region, d + 1);
    if (span > stride) return addr;
    at += (addr - at) / stride * stride;
    if (addr - at >= span) return at + stride; /* in a gap, and the box around it goes on */
  }
  return addr;
}

/* One behind the last byte of the region in front of `addr`, 0 where there is none; the same reservation. */
static uint64_t previous_end(const struct pto_region *region, uint64_t addr) {
  if (pto_region_is_empty(region) || addr <= region->start) return 0;
  if (addr >= region->end) return region->end;
  uint64_t at = region->start;
  for (uint32_t d = 0; d < region->ndims; d++) {
    uint64_t stride = region->strides[d], span = span_from(region, d + 1);
    if (span > stride) return addr;
    at += (addr - 1 - at) / stride * stride;
    if (addr - at >= span) return at + span;
  }
  return addr;
}

/* How far memory goes that this byte is in: the arena, or the external range. */
static bool bounds_of(const struct pto_kernel_guard *guard, uint64_t addr, uint64_t *lo, uint64_t *hi) {
  if (pto_gm_arena_overlaps(guard->arena, addr, addr + 1)) {
    *lo = (uint64_t)(uintptr_t)guard->arena->memory.addr;
    *hi = *lo + guard->arena->memory.size_bytes;
    return true;
  }
  return pto_buffer_registry_find_extent(guard->buffers, addr, lo, hi);
}

static void hide_margins(struct guarded *g, struct pto_hidden_list *list, char *addr, uint64_t size_bytes) {
  uint64_t begin = (uint64_t)(uintptr_t)addr, end = begin + size_bytes, lo, hi;
  if (!bounds_of(g->guard, begin, &lo, &hi)) return;
  lo = pto_max_u64(lo, begin - pto_min_u64(begin, PTO_GUARD_MARGIN_BYTES));
  hi = pto_min_u64(hi, end + PTO_GUARD_MARGIN_BYTES);
  for (uint32_t i = 0; i < g->args->tensor_count; i++) {
    lo = pto_max_u64(lo, previous_end(&g->regions[i], begin));
    hi = pto_min_u64(hi, next_byte(&g->regions[i], end));
  }
  if (lo < begin) pto_memory_hide(list, (char *)(uintptr_t)lo, begin - lo);
  if (hi > end) pto_memory_hide(list, (char *)(uintptr_t)end, hi - end);
}

/* ---- around a kernel ---- */

static void mark_written(struct guarded *g, struct pto_hidden_list *list, char *addr, uint64_t size_bytes) {
  pto_memory_mark_written(addr, size_bytes);
}
static void hide_fresh(struct guarded *g, struct pto_hidden_list *list, char *addr, uint64_t size_bytes) {
  pto_memory_hide_fresh(list, addr, size_bytes);
}

static bool is_in_arena(const struct guarded *g, const struct pto_region *region) {
  return pto_gm_arena_overlaps(g->guard->arena, region->start, region->end);
}

static void begin_writes(struct guarded *g) {
  for (uint32_t i = 0; i < g->args->tensor_count; i++)
    if ((g->modes[i] & PTO_OUTPUT) && is_in_arena(g, &g->regions[i])) each_run(g, NULL, &g->regions[i], mark_written);
}

static void hide(struct guarded *g, struct pto_hidden_list *list) {
  for (uint32_t i = 0; i < g->args->tensor_count; i++)
    if (g->modes[i] == PTO_INPUT && g->is_ours[i]) each_run(g, list, &g->regions[i], hide_fresh);
  for (uint32_t i = 0; g->guard->is_sequential && i < g->args->tensor_count; i++)
    each_run(g, list, &g->regions[i], hide_margins);
}

/* In the place of a kernel that waits, or whose task has one that does. */
static int run_waiting(const struct pto_kernel_args *args) {
  struct guarded g;
  look_at(&g, args);
  begin_writes(&g);
  return payload_of(args)->kernels[args->core->role]->run(args);
}

static int run_between(struct guarded *g, struct pto_hidden_list *list) {
  begin_writes(g);
  hide(g, list);
  int status = payload_of(g->args)->kernels[g->args->core->role]->run(g->args);
  pto_memory_show(list);
  return status;
}

static int run_sequential(const struct pto_kernel_args *args) {
  struct guarded g;
  look_at(&g, args);
  struct pto_hidden_list list = {g.guard->pieces, 0, SERIAL_PIECES};
  return run_between(&g, &list);
}

static int run_parallel(const struct pto_kernel_args *args) {
  struct guarded g;
  struct pto_hidden_piece pieces[PARALLEL_PIECES];
  struct pto_hidden_list list = {pieces, 0, PARALLEL_PIECES};
  look_at(&g, args);
  return run_between(&g, &list);
}

/* The message with a function of the guard in the place of the kernel. */
static struct pto_message guarded_message(const struct pto_kernel_guard *guard, const struct pto_message *message) {
  struct pto_message guarded = *message;
  /* The payload is the runtime's, and no core has it yet or all that has is the same value. */
  ((struct pto_payload *)(uintptr_t)message->payload)->held_count_and_guard |= (uint64_t)(uintptr_t)guard;
  guarded.run = (message->flags & PTO_MESSAGE_WAITS) ? run_waiting
                : guard->is_sequential               ? run_sequential
                                                     : run_parallel;
  return guarded;
}

static const struct pto_kernel_guard *guard_of_port(const struct pto_port *port) {
  return (const struct pto_kernel_guard *)(const void *)port->ops;
}

static bool dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                     struct pto_completion *completion) {
  const struct pto_message guarded = guarded_message(guard_of_port(port), message);
  return guard_of_port(port)->engine_ops->dispatch(port, &guarded, ready_at, completion);
}

/* Who finds things by the port's operations finds its own again. */
static void destroy(struct pto_port *port) {
  port->ops = ((const struct pto_kernel_guard *)(const void *)port->ops)->engine_ops;
  port->ops->destroy(port);
}

struct pto_kernel_guard *pto_kernel_guard_create(struct pto_port *port, const struct pto_gm_arena *arena,
                                                 const struct pto_buffer_registry *buffers) {
  struct pto_reserve memory;
  const uint64_t own_bytes = pto_align_up(sizeof(struct pto_kernel_guard), PTO_GUARD_ALIGN);
  if (!pto_reserve_init(&memory, own_bytes + SERIAL_PIECES * sizeof(struct pto_hidden_piece))) return NULL;
  struct pto_kernel_guard *guard = memory.addr;
  *guard = (struct pto_kernel_guard){.ops = *port->ops,
                                     .engine_ops = port->ops,
                                     .arena = arena,
                                     .buffers = buffers,
                                     .is_sequential = port->is_virtual || port->worker_count == 1,
                                     .pieces = (void *)((char *)memory.addr + own_bytes),
                                     .memory = memory};
  guard->ops.dispatch = dispatch;
  guard->ops.destroy = destroy;
  port->ops = &guard->ops;
  return guard;
}

void pto_kernel_guard_destroy(struct pto_kernel_guard *guard) {
  if (!guard) return;
  struct pto_reserve memory = guard->memory;
  pto_reserve_fini(&memory);
}
