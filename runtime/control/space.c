/* SPDX-License-Identifier: MIT */
#include <runtime/control/runtime_state.h>

/* "open scope 0 (depth 0) holds 5 tasks and 2048 bytes; …" for every open scope of the ring. */
static void append_holders(struct pto_runtime *rt, uint32_t ring_index) {
  for (uint32_t depth = 0; depth <= rt->scope_depth; depth++) {
    uint64_t tasks, bytes;
    if (rt->scopes[depth].ring != ring_index) continue;
    pto_space_of_scope(rt, depth, &tasks, &bytes);
    pto_error_append(&rt->error, "; open scope %u (depth %u) holds %llu tasks and %llu bytes", rt->scopes[depth].serial,
                     depth, (unsigned long long)tasks, (unsigned long long)bytes);
  }
}

/* For the wait picture. */
static void note_space(struct pto_runtime *rt, uint32_t ring_index, bool needs_slot,
                       const struct pto_submit_work *submit) {
  rt->doing = (struct pto_doing){.kind = PTO_DOING_SUBMIT,
                                 .ring = ring_index,
                                 .needs_slot = needs_slot,
                                 .needs_heap = !needs_slot,
                                 .heap_bytes = submit->heap_bytes,
                                 .submit = submit,
                                 .task_number = rt->task_count,
                                 .awaited_slot = PTO_PICTURE_NONE};
}

void pto_space_note_table(struct pto_runtime *rt, uint32_t kind, const char *table, uint64_t capacity,
                          const struct pto_submit_work *submit) {
  /* a submit that got its slot has its number already */
  const bool has_number = submit && submit->payload;
  const uint64_t number = has_number ? submit->payload->task_number : rt->task_count;
  rt->doing = (struct pto_doing){.kind = kind,
                                 .ring = rt->scopes[rt->scope_depth].ring,
                                 .table = table,
                                 .table_capacity = capacity,
                                 .submit = submit,
                                 .task_number = number,
                                 .awaited_slot = PTO_PICTURE_NONE};
}

static int fail_window(struct pto_runtime *rt, uint32_t ring_index) {
  const struct pto_task_ring *ring = &rt->rings.rings[ring_index];
  const struct pto_scope *scope = &rt->scopes[rt->scope_depth];
  uint64_t held = ring->head - ring->tail;
  bool is_one_scope = (int64_t)(scope->begin_sequence - ring->tail) <= 0;
  uint64_t enough = UINT64_C(2) << pto_log2_floor(held + 1);
  pto_runtime_fail(
      rt, is_one_scope ? PTO_ESCOPE : PTO_EWINDOW,
      is_one_scope ? "ring %u: the scope holds %llu tasks, all that a window of %u has room for; its tasks are retired "
                     "only when it ends: end it earlier, or use a window of at least %llu"
                   : "ring %u: nested scopes hold %llu tasks, all that a window of %u has room for; one task more "
                     "needs a window of at least %llu",
      ring_index, (unsigned long long)held, ring->capacity + 1, (unsigned long long)enough);
  append_holders(rt, ring_index);
  return rt->error.status;
}

static int fail_heap(struct pto_runtime *rt, uint32_t ring_index, uint64_t piece_bytes) {
  const struct pto_heap_ring *heap = &rt->rings.rings[ring_index].heap;
  pto_runtime_fail(
      rt, PTO_EHEAP,
      "heap ring %u: %llu bytes wanted, %llu of %llu used, all held by open scopes; this task needs a heap of at "
      "least %llu bytes",
      ring_index, (unsigned long long)piece_bytes, (unsigned long long)pto_heap_ring_used(heap),
      (unsigned long long)heap->size_bytes, (unsigned long long)pto_heap_ring_enough(heap, piece_bytes));
  append_holders(rt, ring_index);
  return rt->error.status;
}

static int fail_size(struct pto_runtime *rt, uint32_t ring_index, const struct pto_submit_work *submit) {
  note_space(rt, ring_index, false, submit);
  return pto_runtime_fail(
      rt, PTO_EHEAP,
      "heap ring %u: the task's outputs take %llu bytes, the whole heap has %llu; this task needs a heap of at least "
      "%llu bytes",
      ring_index, (unsigned long long)submit->heap_bytes,
      (unsigned long long)rt->rings.rings[ring_index].heap.size_bytes, (unsigned long long)submit->heap_bytes);
}

/* Where memory of ended scopes is kept: lets go of the ring's oldest task, if that is one of those.  No more than is
 * needed, and no later one before: so what is kept is a matter of the program, not of time.  PTO_ESTALE where the
 * submit itself uses what that task allocated. */
static int release_oldest(struct pto_runtime *rt, uint32_t ring_index, const struct pto_submit_work *submit,
                          bool *has_released) {
  const struct pto_task_ring *ring = &rt->rings.rings[ring_index];
  *has_released = false;
  if (PTO_LIKELY(ring->released_end == ring->open_begin) || ring->tail != ring->released_end) return PTO_OK;
  const uint32_t slot = pto_task_slot_index(&rt->rings, ring_index, ring->released_end);
  for (uint32_t i = 0; i < submit->work_count; i++) {
    const struct pto_buffer_record *record = submit->params[i].record;
    if (record->kind == PTO_BUFFER_MANAGED && record->owner_slot == slot)
      return PTO_REFUSE(rt, PTO_ESTALE,
                        "buffer %llu is used after its scope has ended, and the room that it takes is needed for this "
                        "task",
                        (unsigned long long)record->id);
  }
  *has_released = pto_space_release(rt, ring_index);
  return PTO_OK;
}

int pto_space_reserve(struct pto_runtime *rt, const struct pto_submit_work *submit, uint32_t *slot_out,
                      char **piece_out) {
  const bool allocates = submit->allocates;
  const uint64_t piece_bytes = submit->heap_bytes;
  uint32_t ring_index = rt->scopes[rt->scope_depth].ring;
  struct pto_task_ring *ring = &rt->rings.rings[ring_index];
  struct pto_stall stall = {0};
  uint64_t heap_end = 0;
  int status = PTO_OK;
  if (PTO_UNLIKELY(piece_bytes > ring->heap.size_bytes)) return fail_size(rt, ring_index, submit);
  for (;;) {
    bool is_full = pto_task_ring_is_full(ring);
    if (!is_full && (!allocates || pto_heap_ring_alloc(&ring->heap, piece_bytes, piece_out, &heap_end))) break;
    if (pto_task_ring_retire(&rt->rings, ring_index)) continue;
    bool has_released;
    status = release_oldest(rt, ring_index, submit, &has_released);
    if (status) break;
    if (has_released) continue;
    note_space(rt, ring_index, is_full, submit);
    if (ring->tail == ring->open_begin)
      return is_full ? fail_window(rt, ring_index) : fail_heap(rt, ring_index, piece_bytes);
    pto_stall_for(rt, &stall, is_full ? PTO_STALL_window : PTO_STALL_heap);
    status = pto_progress_wait(rt);
    if (status) return status;
  }
  if (stall.reason) {
    rt->submit_waits++;
    rt->doing = pto_doing_nothing;
    pto_progress_resume(rt);
    pto_stall_end(rt, &stall);
  }
  if (PTO_UNLIKELY(status)) return status;
  *slot_out = pto_task_ring_alloc(&rt->rings, ring);
  if (allocates) {
    rt->rings.cold[*slot_out].heap_end = heap_end;
    rt->rings.cold[*slot_out].kept = PTO_NONE;
  }
  return PTO_OK;
}
