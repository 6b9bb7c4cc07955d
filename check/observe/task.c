/* SPDX-License-Identifier: MIT */
/*
 * What all units of a task come to: outputs that none of them wrote, and bytes that two of them touch.
 */
#include <check/observe/state.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/grow.h>

/* Pairs of bytes that are told of one task; more of it would say the same. */
#define MOST_OVERLAPS 4u

/* The record of the unit's task, made where it is the first; NULL without memory. */
static struct pto_observe_task *task_of(struct pto_observation *o) {
  const struct pto_payload *payload = o->call.payload;
  for (uint32_t i = 0; i < o->task_count; i++)
    if (o->tasks[i].number == payload->task_number) return &o->tasks[i];
  struct pto_observe_task *task = pto_grow(&o->tasks, &o->task_count, &o->task_capacity, sizeof *task);
  o->summary.is_short |= !task;
  if (!task) return NULL;
  const uint32_t blocks = o->call.unit->messages[0].flags & PTO_MESSAGE_BLOCKS ? payload->block_count : 1;
  const struct pto_task_slot *slot = &o->rt->rings.slots[o->call.unit->messages[0].ticket];
  *task = (struct pto_observe_task){.number = payload->task_number,
                                    .messages_left = pto_observe_kernel_count(payload) * blocks,
                                    .has_block_order = (slot->flags & PTO_TASK_SEQUENTIAL_BLOCKS) != 0,
                                    .knows_writes = true};
  return task;
}

void pto_observe_task_add(struct pto_observation *o, uint64_t lo, uint64_t hi, bool is_read) {
  struct pto_observe_task *task = task_of(o);
  if (!task) return;
  struct pto_observe_access *access = pto_grow(&task->accesses, &task->count, &task->capacity, sizeof *access);
  if (access)
    *access = (struct pto_observe_access){lo, hi, o->call.label, is_read};
  else
    task->knows_writes = false;
  o->summary.is_short |= !access;
}

/* Whether a unit other than `label` has written one of these bytes. */
static bool has_written(const struct pto_observe_task *task, uint32_t label, struct pto_observe_range range) {
  for (uint32_t i = 0; i < task->count; i++) {
    const struct pto_observe_access *access = &task->accesses[i];
    if (task->has_block_order && pto_observe_label_block(access->label) > pto_observe_label_block(label))
      continue; /* it has not begun */
    if (!access->is_read && access->label != label && access->lo < range.hi && range.lo < access->hi) return true;
  }
  return false;
}

bool pto_observe_task_has_written(struct pto_observation *o, uint64_t lo, uint64_t hi) {
  const struct pto_observe_task *task = task_of(o);
  return task && has_written(task, o->call.label, (struct pto_observe_range){lo, hi});
}

/* ---- reads of outputs ---- */

void pto_observe_task_hold(struct pto_observation *o, const struct pto_observe_param *param, const char *array,
                           const struct pto_observe_text *text, const struct pto_observe_range *ranges,
                           uint32_t count) {
  struct pto_observe_task *task = task_of(o);
  struct pto_observe_held held = {.task = o->call.task, .param = *param, .label = o->call.label, .count = count};
  snprintf(held.array, sizeof held.array, "%s", array);
  held.ranges = malloc(count * sizeof *ranges);
  held.text = malloc(sizeof *text);
  struct pto_observe_held *kept = NULL;
  if (task && held.ranges && held.text)
    kept = pto_grow(&task->held, &task->held_count, &task->held_capacity, sizeof held);
  o->summary.is_short |= !kept;
  if (!kept) {
    free(held.ranges);
    free(held.text);
    return;
  }
  memcpy(held.ranges, ranges, count * sizeof *ranges);
  *held.text = *text;
  *kept = held;
}

/* Of a task that is over, or will never be. */
static void tell_held(struct pto_observation *o, struct pto_observe_task *task) {
  for (uint32_t i = 0; i < task->held_count; i++) {
    struct pto_observe_held *held = &task->held[i];
    struct pto_observe_text remedy = {.bytes = ""};
    bool is_own = false;
    for (uint32_t r = 0; r < held->count; r++) is_own |= !has_written(task, held->label, held->ranges[r]);
    pto_observe_say_inout(&remedy, o, &held->task, &held->param);
    if (is_own)
      pto_observe_add(o, PTO_FINDING_READ_OUTPUT, &held->param, held->array, remedy.bytes, &held->task, held->text);
    free(held->ranges);
    free(held->text);
  }
  free(task->held);
}

void pto_observe_tasks_clear(struct pto_observation *o) {
  o->call.form_entry = NULL; /* the last call's */
  for (uint32_t i = 0; i < o->task_count; i++) {
    tell_held(o, &o->tasks[i]);
    free(o->tasks[i].accesses);
  }
  for (uint32_t i = 0; i < o->left_count; i++) free(o->left[i].ranges);
  o->task_count = o->left_count = o->skipped_count = 0;
}

/* ---- what was left out ---- */

/* Once. */
static void tell_left(struct pto_observation *o, struct pto_observe_left *left) {
  const struct pto_observe_bytes all = {.ranges = left->ranges, .count = left->count};
  if (!left->is_told) pto_observe_report_left(o, left, &all);
  left->is_told = true;
}

/* Takes the ranges.  It is told when a task reads them, or when the run ends and they are still as they were. */
static void add_left(struct pto_observation *o, const struct pto_observe_param *param,
                     struct pto_observe_bytes *missing, bool is_in_place) {
  struct pto_observe_left *left = pto_grow(&o->left, &o->left_count, &o->left_capacity, sizeof *left);
  o->summary.is_short |= !left;
  if (!left) return;
  for (uint32_t i = 0; i < missing->count; i++)
    pto_observe_shadow_leave(&o->shadow, missing->ranges[i].lo, missing->ranges[i].hi);
  *left = (struct pto_observe_left){.task = o->call.task,
                                    .param = *param,
                                    .buffer_number = pto_observe_buffer_at(o, missing->ranges[0].lo),
                                    .ranges = missing->ranges,
                                    .count = missing->count,
                                    .is_in_place = is_in_place};
  memset(missing, 0, sizeof *missing);
  o->summary.outputs_left += !is_in_place;
}

void pto_observe_task_leave_in_place(struct pto_observation *o, const struct pto_observe_param *param,
                                     struct pto_observe_bytes *missing) {
  add_left(o, param, missing, true);
}

void pto_observe_task_take_in_place(struct pto_observation *o, struct pto_observe_bytes *read) {
  size_t kept = 0;
  for (size_t r = 0; r < read->count; r++) {
    struct pto_observe_left *left = pto_observe_left_find(o, read->ranges[r].lo, read->ranges[r].hi);
    if (left && left->is_in_place)
      tell_left(o, left);
    else
      read->ranges[kept++] = read->ranges[r];
  }
  read->count = kept;
}

void pto_observe_task_blame(struct pto_observation *o, const struct pto_observe_bytes *read) {
  for (uint32_t r = 0; r < read->count; r++) {
    struct pto_observe_left *left = pto_observe_left_find(o, read->ranges[r].lo, read->ranges[r].hi);
    if (left) tell_left(o, left);
  }
}

/* Adds the bytes of a range that were not written in the whole run. */
static void add_never_written(struct pto_observation *o, struct pto_observe_range range,
                              struct pto_observe_bytes *bytes) {
  if (pto_observe_shadow_is_written(&o->shadow, range.lo, range.hi)) return;
  for (uint64_t at = range.lo; at < range.hi; at++)
    if (!pto_observe_shadow_was_written(&o->shadow, at)) pto_observe_bytes_add(bytes, at, at + 1);
}

void pto_observe_tasks_finish(struct pto_observation *o) {
  for (uint32_t i = 0; i < o->left_count; i++) {
    struct pto_observe_left *left = &o->left[i];
    struct pto_observe_bytes bytes = {0};
    if (left->buffer_number || left->is_told || left->is_in_place) continue;
    for (uint32_t r = 0; r < left->count; r++) add_never_written(o, left->ranges[r], &bytes);
    if (bytes.count) pto_observe_report_left(o, left, &bytes);
    pto_observe_bytes_fini(o, &bytes);
  }
}

/* ---- what did not run ---- */

void pto_observe_task_skip(struct pto_observation *o, uint32_t slot, int64_t element) {
  const struct pto_payload *payload = o->rt->rings.slots[slot].payload;
  const struct pto_task_cold *cold = &o->rt->rings.cold[slot];
  const struct pto_kernel *kernel = payload->kernels[payload->first_role];
  for (uint32_t i = 0, t = 0; i < kernel->param_count && t < payload->tensor_count; i++) {
    const uint32_t mode = pto_observe_task_mode(payload, i);
    if (mode == PTO_SCALAR) continue;
    const struct pto_kernel_tensor *tensor = &payload->tensors[t++];
    if (!(mode & PTO_OUTPUT)) continue;
    struct pto_observe_skipped *skipped =
        pto_grow(&o->skipped, &o->skipped_count, &o->skipped_capacity, sizeof *skipped);
    o->summary.is_short |= !skipped;
    if (!skipped) return;
    *skipped = (struct pto_observe_skipped){.task = pto_observe_told_task(payload),
                                            .param = {.mode = mode, .index = i, .name = kernel->params[i].name},
                                            .predicate_addr = (uintptr_t)cold->predicate_addr,
                                            .element = element,
                                            .value = cold->predicate_value,
                                            .dtype = cold->predicate_dtype,
                                            .compare = cold->predicate_compare};
    pto_region_from_kernel_tensor(tensor, &skipped->param.region);
    skipped->buffer_number = pto_observe_buffer_at(o, skipped->param.region.start);
  }
}

/* ---- judgement ---- */

static int order_accesses(const void *left, const void *right) {
  const struct pto_observe_access *a = left, *b = right;
  if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
  if (a->label != b->label) return a->label < b->label ? -1 : 1;
  if (a->is_read != b->is_read) return a->is_read - b->is_read; /* of two that meet, writes are told first */
  return (a->hi > b->hi) - (a->hi < b->hi);
}

/* Two units that run at once: not those of blocks that run one after another. */
static bool run_at_once(const struct pto_observe_task *task, uint32_t label, uint32_t other) {
  return label != other && !(task->has_block_order && pto_observe_label_block(label) != pto_observe_label_block(other));
}

static int order_by_unit(const void *left, const void *right) {
  const struct pto_observe_access *a = left, *b = right;
  if (a->label != b->label) return a->label < b->label ? -1 : 1;
  if (a->is_read != b->is_read) return a->is_read - b->is_read;
  return (a->lo > b->lo) - (a->lo < b->lo);
}

/* Leaves each unit's reads and writes as few as can be, and all in order. */
static void join_accesses(struct pto_observe_task *task) {
  uint32_t kept = 0;
  if (task->count < 2) return;
  qsort(task->accesses, task->count, sizeof *task->accesses, order_by_unit);
  for (uint32_t i = 1; i < task->count; i++) {
    const struct pto_observe_access *access = &task->accesses[i];
    struct pto_observe_access *last = &task->accesses[kept];
    if (access->label == last->label && access->is_read == last->is_read && access->lo <= last->hi)
      last->hi = pto_max_u64(last->hi, access->hi);
    else
      task->accesses[++kept] = *access;
  }
  task->count = kept + 1;
  qsort(task->accesses, task->count, sizeof *task->accesses, order_accesses);
}

/* Two units and the first byte that both touch: what each does there is told once. */
struct overlap {
  uint32_t least, most; /* labels */
  uint64_t lo;
};

static bool is_told(const struct overlap *told, uint32_t count, struct overlap overlap) {
  for (uint32_t i = 0; i < count; i++)
    if (told[i].least == overlap.least && told[i].most == overlap.most && told[i].lo == overlap.lo) return true;
  return false;
}

/* Accesses are sorted, so those that meet one follow it. */
static void judge_units(struct pto_observation *o, const struct pto_observe_task *task) {
  struct overlap told[MOST_OVERLAPS];
  uint32_t told_count = 0;
  for (uint32_t i = 0; i < task->count && told_count < MOST_OVERLAPS; i++) {
    const struct pto_observe_access *a = &task->accesses[i];
    for (uint32_t k = i + 1; k < task->count && task->accesses[k].lo < a->hi && told_count < MOST_OVERLAPS; k++) {
      const struct pto_observe_access *b = &task->accesses[k];
      if (!run_at_once(task, a->label, b->label) || (a->is_read && b->is_read)) continue;
      const struct overlap overlap = {a->label < b->label ? a->label : b->label,
                                      a->label < b->label ? b->label : a->label, b->lo};
      if (is_told(told, told_count, overlap)) continue;
      pto_observe_report_blocks(o, a, b, b->lo, pto_min_u64(a->hi, b->hi));
      told[told_count++] = overlap;
    }
  }
}

/* Writes of two units in one store of the hardware, which then writes old bytes over the other's: the first is told. */
static void judge_distance(struct pto_observation *o, const struct pto_observe_task *task) {
  const struct pto_observe_access *last = NULL;
  for (uint32_t i = 0; i < task->count; i++) {
    const struct pto_observe_access *access = &task->accesses[i];
    if (access->is_read) continue;
    if (last && run_at_once(task, last->label, access->label) && last->hi <= access->lo &&
        (last->hi - 1) / PTO_OBSERVE_STORE_BYTES == access->lo / PTO_OBSERVE_STORE_BYTES) {
      pto_observe_report_near(o, last, access);
      return;
    }
    last = access;
  }
}

/* Leaves what the task wrote: sorted, disjoint, as few as can be. */
static void merge_writes(struct pto_observe_task *task) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < task->count; i++) {
    const struct pto_observe_access access = task->accesses[i];
    if (access.is_read) continue;
    if (kept && access.lo <= task->accesses[kept - 1].hi)
      task->accesses[kept - 1].hi = pto_max_u64(task->accesses[kept - 1].hi, access.hi);
    else
      task->accesses[kept++] = access;
  }
  task->count = kept;
}

/* What of [lo, hi) is not among merged writes. */
static void add_missing(const struct pto_observe_task *task, uint64_t lo, uint64_t hi,
                        struct pto_observe_bytes *missing) {
  uint32_t first = 0, end = task->count;
  while (first < end) { /* the first write that ends behind lo */
    const uint32_t middle = (first + end) / 2;
    if (task->accesses[middle].hi <= lo)
      first = middle + 1;
    else
      end = middle;
  }
  for (; first < task->count && task->accesses[first].lo < hi && lo < hi; first++) {
    if (task->accesses[first].lo > lo) pto_observe_bytes_add(missing, lo, task->accesses[first].lo);
    lo = task->accesses[first].hi;
  }
  if (lo < hi) pto_observe_bytes_add(missing, lo, hi);
}

/* An INPUT and an OUTPUT of one place: equal values that are written there are not seen. */
static bool is_in_place(const struct pto_observe_call *call, const struct pto_observe_param *param) {
  for (uint32_t i = 0; i < call->param_count; i++)
    if ((call->params[i].task_mode & PTO_INPUT) && pto_region_intersects(&call->params[i].region, &param->region, NULL))
      return true;
  return false;
}

static void judge_outputs(struct pto_observation *o, const struct pto_observe_task *task) {
  for (uint32_t i = 0; i < o->call.param_count; i++) {
    const struct pto_observe_param *param = &o->call.params[i];
    if (!(param->task_mode & PTO_OUTPUT)) continue;
    struct pto_observe_bytes missing = {0};
    struct pto_region_runs runs = pto_region_runs(&param->region);
    for (uint64_t lo; pto_region_runs_next(&runs, &lo);) add_missing(task, lo, lo + param->region.run_bytes, &missing);
    if (missing.count || !task->knows_writes) pto_observe_note_kept(o, param);
    if (missing.count && task->knows_writes && param->task_mode == PTO_OUTPUT && !is_in_place(&o->call, param))
      add_left(o, param, &missing, false);
    pto_observe_bytes_fini(o, &missing);
  }
}

void pto_observe_task_end_unit(struct pto_observation *o, bool knows_writes) {
  struct pto_observe_task *task = task_of(o);
  if (!task) return;
  task->knows_writes &= knows_writes;
  task->messages_left -= o->call.unit->count;
  if (task->messages_left) return;
  join_accesses(task);
  judge_units(o, task);
  judge_distance(o, task);
  tell_held(o, task);
  merge_writes(task);
  judge_outputs(o, task);
  free(task->accesses);
  *task = o->tasks[--o->task_count];
}
