/* SPDX-License-Identifier: MIT */
/*
 * Findings of accesses: the sentence of each kind, made of the words of places.c, with its remedy; and how a finding is
 * added to the list.
 */
#include <check/observe/state.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/dtype.h>
#include <runtime/port/core_port.h>

#define SAY PTO_OBSERVE_SAY

void pto_observe_say_difference(struct pto_observe_text *text, const struct pto_observation *o,
                                const struct pto_observe_outcome *outcome) {
  struct pto_observe_object object;
  if (outcome->caught) {
    SAY(text, outcome->caught == SIGVTALRM ? "it does not come back" : "it ends in a signal");
  } else if (!outcome->first_difference) {
    SAY(text, "it returns %d instead of %d", outcome->status, o->call.status);
  } else {
    pto_observe_object_at(o, outcome->first_difference, &object);
    SAY(text, "byte %" PRId64 " of %s comes out different", (int64_t)(outcome->first_difference - object.lo),
        object.name);
  }
}

/* "with other values there, byte 4 of array z comes out different"; nothing where effect is NULL. */
static void say_effect(struct pto_observe_text *text, const struct pto_observation *o,
                       const struct pto_observe_outcome *effect) {
  if (!effect) return;
  SAY(text, "with other values there, ");
  pto_observe_say_difference(text, o, effect);
}

/* ---- findings ---- */

/* Where the run records its tasks. */
static void find_place(struct pto_observation *o, uint64_t task, struct pto_source_call *found) {
  const struct pto_trace_log *tasks = &o->rt->trace.tasks;
  if (!pto_trace_has_graph(&o->rt->trace) || task >= tasks->count) return;
  if (!o->lines) o->lines = pto_source_lines_create();
  const struct pto_trace_task *record = pto_trace_log_at(tasks, task);
  pto_source_lines_find(o->lines, record->call, record->outer_call, found);
  found->dispatch = record->dispatch;
}

static void name_kernels(const struct pto_observe_told_task *task, char *text, size_t size) {
  const char *separator = "";
  for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++) {
    if (!task->kernels[k]) continue;
    pto_text_append(text, size, "%s%s", separator, task->kernels[k]->name ? task->kernels[k]->name : "?");
    separator = ", ";
  }
}

/* Of ranks, each of which may have a copy of its own, kernels of one name are one. */
static uint64_t key_of(const struct pto_observation *o, const struct pto_kernel *kernel) {
  if (!o->rank || !kernel || !kernel->name) return (uintptr_t)kernel;
  uint64_t key = 0;
  for (const char *at = kernel->name; *at; at++) key = pto_mix64(key ^ (uint64_t)*at);
  return key;
}

/* Puts the earlier access before that of the finding's own task, of the same memory. */
static void put_earlier(struct pto_observation *o, const struct pto_observe_text *text, struct pto_finding *finding) {
  finding->tasks[1] = finding->tasks[0];
  finding->params[1] = finding->params[0];
  finding->ranks[1] = finding->ranks[0];
  finding->places[1] = finding->places[0];
  memcpy(finding->kernels[1], finding->kernels[0], sizeof finding->kernels[1]);
  memcpy(finding->arrays[1], finding->arrays[0], sizeof finding->arrays[1]);
  memcpy(finding->extents[1], finding->extents[0], sizeof finding->extents[1]);
  finding->tasks[0] = text->earlier->number;
  finding->params[0] = text->earlier_param ? text->earlier_param->index : PTO_FINDING_NONE;
  finding->places[0] = (struct pto_source_call){0};
  find_place(o, text->earlier->number, &finding->places[0]);
  finding->kernels[0][0] = '\0';
  name_kernels(text->earlier, finding->kernels[0], sizeof finding->kernels[0]);
}

static struct pto_finding begin_finding(struct pto_observation *o, uint32_t kind, const struct pto_observe_param *param,
                                        const char *array, const struct pto_observe_told_task *task) {
  uint64_t group = pto_mix64(kind + 1);
  for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++) group = pto_mix64(group ^ key_of(o, task->kernels[k]));
  group = pto_mix64(group ^ (param ? param->index : PTO_MAX_PARAMS));
  struct pto_finding finding = {.kind = kind,
                                .tasks = {task->number, PTO_FINDING_NONE},
                                .params = {param ? param->index : PTO_FINDING_NONE, PTO_FINDING_NONE},
                                .group = group,
                                .has_ranks = o->rank != NULL,
                                .ranks = {pto_observe_owner(o), PTO_FINDING_NONE}};
  if (o->call.form_entry) o->call.form_entry->params[kind] = (uint16_t)(param ? param->index + 1 : 0);
  find_place(o, task->number, &finding.places[0]);
  name_kernels(task, finding.kernels[0], sizeof finding.kernels[0]);
  if (array) snprintf(finding.arrays[0], sizeof finding.arrays[0], "%s", array);
  return finding;
}

static void add_finding(const struct pto_observation *o, const struct pto_finding *finding, const char *remedy,
                        const struct pto_observe_text *text) {
  char places[512];
  pto_findings_add(o->findings, finding, remedy && remedy[0] ? remedy : NULL, "%s%s", text->bytes,
                   pto_finding_say_places(finding, places, sizeof places));
}

void pto_observe_add(struct pto_observation *o, uint32_t kind, const struct pto_observe_param *param, const char *array,
                     const char *remedy, const struct pto_observe_told_task *task,
                     const struct pto_observe_text *text) {
  struct pto_finding finding = begin_finding(o, kind, param, array, task);
  memcpy(finding.extents[0], text->extent, sizeof finding.extents[0]);
  finding.decided = text->decided;
  finding.is_of_calls_before = text->is_of_calls_before;
  if (text->earlier) put_earlier(o, text, &finding);
  add_finding(o, &finding, remedy, text);
}

static void say_integer(struct pto_observe_text *text, uint32_t dtype, int64_t value) {
  if (dtype == PTO_UINT64)
    SAY(text, "%" PRIu64, (uint64_t)value);
  else
    SAY(text, "%" PRId64, value);
}

/* "task 2 (fill), which declares to write them, was skipped: its predicate, bytes [0, 4) of buffer 2 != 0, found 0". */
static void say_skipped(struct pto_observe_text *text, const struct pto_observation *o,
                        const struct pto_observe_skipped *skipped) {
  static const char *const signs[] = {[PTO_IF_EQ] = "==", [PTO_IF_NE] = "!=", [PTO_IF_LT] = "<",
                                      [PTO_IF_LE] = "<=", [PTO_IF_GT] = ">",  [PTO_IF_GE] = ">="};
  const uint64_t addr = skipped->predicate_addr;
  char name[160];
  pto_observe_say_task(text, o, skipped->task.number);
  SAY(text, " (");
  name_kernels(&skipped->task, text->bytes, sizeof text->bytes);
  SAY(text, "), which declares to write them, was skipped: its predicate, ");
  pto_observe_say_bytes(text, o, addr, addr + pto_dtype_size(skipped->dtype), name, sizeof name);
  SAY(text, " %s ", signs[skipped->compare]);
  say_integer(text, skipped->dtype, skipped->value);
  SAY(text, ", found ");
  say_integer(text, skipped->dtype, skipped->element);
}

/* param: NULL where a predicate reads them.  What task would have to write them is in the remedy. */
static void say_unwritten(struct pto_observe_text *text, struct pto_observe_text *remedy, struct pto_observation *o,
                          struct pto_observe_range range, const struct pto_observe_param *param) {
  const struct pto_observe_left *left = pto_observe_left_find(o, range.lo, range.hi);
  const struct pto_observe_skipped *skipped = left ? NULL : pto_observe_skipped_find(o, range.lo, range.hi);
  if (left)
    SAY(text, "which task %" PRIu64 " declares to write and leaves as they were", left->task.number);
  else
    SAY(text, "which nobody has written");
  if (param) {
    SAY(text, ", through ");
    pto_observe_say_param(text, param);
  }
  if (left) {
    text->earlier = &left->task;
    text->earlier_param = &left->param;
    SAY(remedy, "let task %" PRIu64 " write all that it declares, or this one read only what is written",
        left->task.number);
  } else if (skipped) {
    text->earlier = &skipped->task;
    text->earlier_param = &skipped->param;
    SAY(text, ": ");
    say_skipped(text, o, skipped);
    SAY(remedy, "submit this task with the predicate of task %" PRIu64 ", or one before both that writes them",
        skipped->task.number);
  }
}

/* What follows the bytes, and what there is to change; where it says nothing of that, it is what the kind says. */
static void say_why(struct pto_observe_text *text, struct pto_observe_text *remedy, struct pto_observation *o,
                    uint32_t kind, const struct pto_observe_param *param, const struct pto_observe_object *object,
                    const struct pto_observe_range *ranges, uint32_t count) {
  const uint64_t lo = ranges[0].lo, hi = ranges[0].hi;
  SAY(text, ", ");
  switch (kind) {
  case PTO_FINDING_WRITE_OUTSIDE:
  case PTO_FINDING_READ_OUTSIDE:
    SAY(text, "which it does not declare");
    pto_observe_say_declaration(remedy, o, kind, param, object, ranges, count);
    if (!param || pto_observe_memory_owner(o->memory, lo, pto_observe_owner(o)) != pto_observe_owner(o)) break;
    SAY(text, ": ");
    pto_observe_say_distance(text, o, param, lo, hi);
    break;
  case PTO_FINDING_WRITE_INPUT:
  case PTO_FINDING_READ_OUTPUT:
    SAY(text, kind == PTO_FINDING_WRITE_INPUT ? "through " : "as they were before, through ");
    pto_observe_say_param(text, param);
    pto_observe_say_inout(remedy, o, &o->call.task, param);
    break;
  default:
    say_unwritten(text, remedy, o, ranges[0], param);
    break;
  }
}

/* Of a call like one before: what was found of that one holds for it. */
static void report_unsearched(struct pto_observation *o, uint32_t kind, const struct pto_observe_outcome *effect) {
  static const char *const what[PTO_FINDING_COUNT] = {[PTO_FINDING_READ_OUTSIDE] = "bytes that it does not declare",
                                                      [PTO_FINDING_READ_OUTPUT] = "what an OUTPUT held before",
                                                      [PTO_FINDING_READ_UNWRITTEN] = "bytes that nobody has written"};
  const struct pto_observe_param *param = NULL;
  struct pto_observe_text text = {.bytes = ""};
  for (uint32_t i = 0; i < o->call.param_count; i++)
    if (o->call.form_entry && o->call.params[i].index + 1 == o->call.form_entry->params[kind])
      param = &o->call.params[i];
  pto_observe_say_unit(&text, o, o->call.label);
  SAY(&text, " reads %s, as it was searched for in an earlier call; ", what[kind]);
  say_effect(&text, o, effect);
  pto_observe_add(o, kind, param, NULL, NULL, &o->call.task, &text);
}

void pto_observe_report_to(struct pto_observation *o, uint32_t kind, const struct pto_observe_bytes *bytes,
                           const struct pto_observe_outcome *effect, pto_observe_take *take) {
  if (bytes->is_unsearched) {
    report_unsearched(o, kind, effect);
    return;
  }
  for (uint32_t i = 0; i < bytes->count;) {
    const struct pto_observe_range range = bytes->ranges[i], *first = &bytes->ranges[i];
    const struct pto_observe_param *param = pto_observe_nearest(o, range.lo, range.hi);
    struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
    struct pto_observe_object object;
    pto_observe_object_at(o, range.lo, &object);
    pto_observe_say_unit(&text, o, o->call.label);
    SAY(&text, kind == PTO_FINDING_WRITE_OUTSIDE || kind == PTO_FINDING_WRITE_INPUT ? " writes " : " reads ");
    if (bytes->is_bounded) SAY(&text, "some of ");
    i = pto_observe_say_ranges(&text, o, bytes, i, &object);
    const uint32_t count = (uint32_t)(&bytes->ranges[i] - first);
    say_why(&text, &remedy, o, kind, param, &object, first, count);
    if (effect) SAY(&text, "; ");
    say_effect(&text, o, effect);
    if (take)
      take(o, param, object.name, &text, first, count);
    else
      pto_observe_add(o, kind, param, object.name, remedy.bytes, &o->call.task, &text);
  }
}

void pto_observe_report(struct pto_observation *o, uint32_t kind, const struct pto_observe_bytes *bytes,
                        const struct pto_observe_outcome *effect) {
  pto_observe_report_to(o, kind, bytes, effect, NULL);
}

void pto_observe_report_store(struct pto_observation *o, uint32_t kind, uint64_t addr) {
  const struct pto_observe_param *param = pto_observe_nearest(o, addr, addr + 1);
  const uint64_t element_bytes = param ? param->element_bytes : 1;
  const struct pto_observe_range range = {addr & ~(element_bytes - 1), pto_align_up(addr + 1, element_bytes)};
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  struct pto_observe_object object;
  pto_observe_object_at(o, range.lo, &object);
  pto_observe_say_unit(&text, o, o->call.label);
  SAY(&text, " writes ");
  pto_observe_say_bytes(&text, o, range.lo, range.hi, object.name, sizeof object.name);
  say_why(&text, &remedy, o, kind, param, &object, &range, 1);
  SAY(&text, "; it leaves there what was there, but others may read or write it meanwhile");
  pto_observe_add(o, kind, param, object.name, remedy.bytes, &o->call.task, &text);
}

void pto_observe_report_left(struct pto_observation *o, const struct pto_observe_left *left,
                             const struct pto_observe_bytes *bytes) {
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  struct pto_observe_object object;
  pto_observe_say_task(&text, o, left->task.number);
  SAY(&text, " (");
  name_kernels(&left->task, text.bytes, sizeof text.bytes);
  SAY(&text, ") does not write ");
  pto_observe_object_at(o, bytes->ranges[0].lo, &object);
  pto_observe_say_ranges(&text, o, bytes, 0, &object);
  SAY(&text, ", which ");
  pto_observe_say_param(&text, &left->param);
  SAY(&text, " declares");
  if (left->is_in_place) {
    text.is_of_calls_before = true; /* it is told once another task reads them */
    SAY(&text,
        " and another task reads: here the input lies there too, and with its input apart nothing would stand in "
        "them, though the kernel is declared PTO_KERNEL_IN_PLACE");
    pto_observe_add(o, PTO_FINDING_MODE, &left->param, object.name,
                    "let the kernel write all of its output, or take one parameter in the place of both: `.mode = "
                    "PTO_INOUT` in the kernel's list, `pto_inout` in its submits",
                    &left->task, &text);
    return;
  }
  SAY(&remedy, "pass a view of what it writes alone, or ");
  pto_observe_say_inout(&remedy, o, &left->task, &left->param);
  pto_observe_add(o, PTO_FINDING_NOT_WRITTEN, &left->param, object.name, remedy.bytes, &left->task, &text);
}

void pto_observe_report_local(struct pto_observation *o, struct pto_observe_range local,
                              const struct pto_observe_outcome *effect) {
  static const char *const names[PTO_OBSERVED_LOCALS] = {"L1", "L0A", "L0B", "L0C"};
  const bool has_role = o->call.local_roles != 0;
  uint32_t role = pto_observe_label_role(o->call.label);
  bool is_mixed = false; /* it is not known of which kind of core */
  for (uint32_t i = 0; i < o->call.unit->count && !has_role; i++)
    is_mixed |= (o->call.unit->messages[i].role == PTO_ROLE_AIC) != (role == PTO_ROLE_AIC);
  for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++)
    if (o->call.local_roles == PTO_ROLE_BIT(k)) role = k;
  const bool is_word = local.hi - local.lo <= PTO_OBSERVE_LOCAL_WORD;
  const char *separator = is_word ? "" : "some of ";
  struct pto_observe_text text = {.bytes = ""};
  pto_observe_say_unit(&text, o, pto_observe_label(pto_observe_label_block(o->call.label), role));
  SAY(&text, " reads local memory that it has not written itself: ");
  for (uint32_t i = 0; i < PTO_OBSERVED_LOCALS && local.hi > 0; i++) {
    const uint64_t bytes = o->call.local.bytes[i];
    if (local.lo < bytes) {
      SAY(&text, "%sbytes [%" PRIu64 ", %" PRIu64 ") of %s's %s", separator, local.lo, pto_min_u64(local.hi, bytes),
          has_role ? pto_role_name(role) : "the core",
          i == PTO_OBSERVED_UB_OR_L1 && is_mixed ? "UB or L1"
          : role == PTO_ROLE_AIC || is_mixed     ? names[i]
                                                 : "UB");
      separator = ", and ";
    }
    local.lo -= pto_min_u64(local.lo, bytes);
    local.hi -= pto_min_u64(local.hi, bytes);
  }
  SAY(&text, "; ");
  say_effect(&text, o, effect);
  pto_observe_add(o, PTO_FINDING_READ_UNWRITTEN, NULL, "local memory", "fill them before the first read of the call",
                  &o->call.task, &text);
}

void pto_observe_report_predicate(struct pto_observation *o, uint32_t slot, int64_t element) {
  const struct pto_observe_told_task task = pto_observe_told_task(o->rt->rings.slots[slot].payload);
  const struct pto_task_cold *cold = &o->rt->rings.cold[slot];
  const uint64_t lo = (uintptr_t)cold->predicate_addr, hi = lo + pto_dtype_size(cold->predicate_dtype);
  struct pto_observe_text text = {.bytes = "", .decided = PTO_DECIDED_THIS_ORDER}, remedy = {.bytes = ""};
  char name[160];
  if (pto_observe_shadow_is_written(&o->shadow, lo, hi)) return;
  o->call.form_entry = NULL; /* it is of no call */
  pto_observe_say_task(&text, o, task.number);
  SAY(&text, " (");
  name_kernels(&task, text.bytes, sizeof text.bytes);
  SAY(&text, "): its predicate reads ");
  pto_observe_say_bytes(&text, o, lo, hi, name, sizeof name);
  SAY(&text, ", ");
  say_unwritten(&text, &remedy, o, (struct pto_observe_range){lo, hi}, NULL);
  SAY(&text, "; it finds ");
  say_integer(&text, cold->predicate_dtype, element);
  pto_observe_add(o, PTO_FINDING_READ_UNWRITTEN, NULL, name, remedy.bytes, &task, &text);
}

void pto_observe_report_host_read(struct pto_observation *o, uint64_t lo, uint64_t hi, const void *call) {
  static const struct pto_observe_told_task none = {.number = PTO_FINDING_NONE};
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  char name[160], place[2 * PTO_SOURCE_FILE_SIZE];
  if (pto_observe_shadow_is_written(&o->shadow, lo, hi)) return;
  o->call.form_entry = NULL; /* it is of no call */
  SAY(&text, "the host");
  if (o->rank) SAY(&text, " of rank %" PRIu32, o->rank->index);
  SAY(&text, " reads ");
  pto_observe_say_bytes(&text, o, lo, hi, name, sizeof name);
  SAY(&text, ", ");
  say_unwritten(&text, &remedy, o, (struct pto_observe_range){lo, hi}, NULL);
  struct pto_finding finding = begin_finding(o, PTO_FINDING_READ_UNWRITTEN, NULL, name, &none);
  finding.group = pto_mix64(finding.group ^ (uintptr_t)call);
  if (!o->lines) o->lines = pto_source_lines_create();
  pto_source_lines_find(o->lines, call, NULL, &finding.places[0]);
  if (finding.places[0].own.file[0])
    SAY(&text, "; read at %s", pto_source_call_name(&finding.places[0], place, sizeof place));
  memcpy(finding.extents[0], text.extent, sizeof finding.extents[0]);
  finding.decided = PTO_DECIDED_THIS_ORDER;
  if (text.earlier) put_earlier(o, &text, &finding);
  /* What say_unwritten would have changed is of a task that reads: for the host it is what the kind says. */
  pto_findings_add(o->findings, &finding, NULL, "%s", text.bytes);
}

void pto_observe_report_over(struct pto_observation *o) {
  const uint32_t role = o->call.local.over.role, label = pto_observe_label(o->call.local.over.block_index, role);
  const uint64_t end = o->call.local.over.end;
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  pto_observe_say_unit(&text, o, label);
  SAY(&text,
      " writes bytes [%" PRIu64 ", %" PRIu64 ") of %s's %s, and its cost states %" PRIu64
      " of it (local_bytes): a chip with no more than that would take the task",
      o->call.local.over.begin, end, o->call.unit->count > 1 ? pto_role_name(role) : "the core",
      role == PTO_ROLE_AIC ? "L1" : "UB", o->call.local.over.stated_bytes);
  SAY(&remedy, "let its cost state `.local_bytes = %" PRIu64 "` for these shapes", end);
  pto_observe_add(o, PTO_FINDING_LOCAL, NULL, "local memory", remedy.bytes, &o->call.task, &text);
}

void pto_observe_report_promise(struct pto_observation *o, uint32_t kind, const struct pto_observe_param *param,
                                uint64_t at, const char *words, const char *remedy) {
  struct pto_observe_text text = {.bytes = ""};
  struct pto_observe_object object;
  pto_observe_object_at(o, at, &object);
  SAY(&text, "of ");
  pto_observe_say_unit(&text, o, o->call.label);
  SAY(&text, ", byte %" PRId64 " of %s", (int64_t)(at - object.lo), object.name);
  pto_observe_say_elements(&text, &object, at, at + 1);
  pto_observe_note_extent(&text, &object, at, at + 1);
  SAY(&text, ", which ");
  pto_observe_say_param(&text, param);
  SAY(&text, " has, %s", words);
  pto_observe_add(o, kind, param, object.name, remedy, &o->call.task, &text);
}

uint32_t pto_observe_param_of_scalar(const struct pto_kernel *kernel, uint32_t index) {
  for (uint32_t i = 0; i < kernel->param_count; i++)
    if (kernel->params[i].mode == PTO_SCALAR && index-- == 0) return i;
  return kernel->param_count;
}

static bool is_declared(const struct pto_observe_call *call, uint64_t addr) {
  for (uint32_t i = 0; i < call->param_count; i++)
    if (addr >= call->params[i].region.start && addr < call->params[i].region.end) return true;
  return false;
}

void pto_observe_report_addresses(struct pto_observation *o) {
  const struct pto_message *first = &o->call.unit->messages[0];
  const union pto_scalar *scalars = (const void *)&o->call.payload->tensors[first->tensor_count];
  const struct pto_kernel *kernel = o->call.payload->kernels[first->role];
  for (uint32_t i = 0; i < first->scalar_count; i++) {
    const uint64_t addr = scalars[i].u64;
    const bool is_in_arena = addr >= o->arena.lo && addr < o->arena.hi;
    const bool is_in_memory = is_in_arena || pto_observe_is_external(o, addr);
    if (is_declared(&o->call, addr) || (!is_in_memory && !pto_observe_memory_is_stack(o->memory, addr))) continue;
    struct pto_observe_text text = {.bytes = ""};
    struct pto_observe_object object;
    const struct pto_observe_param param = {.index = pto_observe_param_of_scalar(kernel, i)};
    pto_observe_say_unit(&text, o, o->call.label);
    if (!is_in_memory) {
      SAY(&text, " gets the address of a local variable of the orchestration as a scalar, param %u", param.index);
      SAY(&text, ": a device does not reach the host's stack");
      pto_observe_add(o, PTO_FINDING_ADDRESS, &param, "the stack", "pass its value, or a tensor", &o->call.task, &text);
      continue;
    }
    pto_observe_object_at(o, addr, &object);
    SAY(&text, " gets the address of byte %" PRId64 " of %s as a scalar, param %u", (int64_t)(addr - object.lo),
        object.name, param.index);
    SAY(&text, ": what it touches there it does not declare, and nothing orders it");
    struct pto_observe_text remedy = {.bytes = ""};
    SAY(&remedy,
        "pass a tensor in its place: `.mode = PTO_INPUT` in the kernel's list, `pto_input(&%s)` in its submits, or "
        "INOUT where the kernel writes it",
        object.array ? object.array->name : "t");
    if (object.has_gone)
      SAY(&remedy, "; " PTO_OBSERVE_WHILE_IT_LIVES);
    else if (!object.array)
      SAY(&remedy, "; t being that of %s", object.name);
    pto_observe_add(o, PTO_FINDING_ADDRESS, &param, object.name, remedy.bytes, &o->call.task, &text);
  }
}

void pto_observe_report_heap(struct pto_observation *o, uint32_t index) {
  const struct pto_observe_param param = {.index = index};
  struct pto_observe_text text = {.bytes = ""};
  pto_observe_say_unit(&text, o, o->call.label);
  SAY(&text,
      " gets the address of memory that is of no tensor of the run as a scalar, param %" PRIu32
      ", and touches it: no task declares it, and nothing orders who touches it",
      index);
  pto_observe_add(o, PTO_FINDING_ADDRESS, &param, "memory of the program",
                  "register it with `pto_external_tensor`, and pass that", &o->call.task, &text);
}

void pto_observe_report_unneeded(struct pto_observation *o, const struct pto_observe_use *use, const char *words,
                                 const char *remedy) {
  struct pto_observe_text text = {.bytes = ""};
  o->call.form_entry = NULL; /* it is of no call */
  SAY(&text, "kernel %s declares ", use->kernel->name ? use->kernel->name : "?");
  if (use->param == PTO_OBSERVE_FLAG)
    SAY(&text, "PTO_KERNEL_%s", use->kernel->flags & PTO_KERNEL_TURNS ? "TURNS" : "WAITS");
  else
    pto_observe_say_param(&text, &use->as);
  SAY(&text, ", and %s", words);
  if (use->asked == PTO_OBSERVE_MOST_ASKED) SAY(&text, " (its first %u were asked)", PTO_OBSERVE_MOST_ASKED);
  SAY(&text, "; the first is task %" PRIu64, use->task.number);
  pto_observe_add(o, PTO_FINDING_UNNEEDED, use->param == PTO_OBSERVE_FLAG ? NULL : &use->as, NULL, remedy, &use->task,
                  &text);
}

/* "block 3", "block 3 AIV1" where a block has several units, "core AIV1" of the same block. */
static void say_other(struct pto_observe_text *text, const struct pto_observation *o, uint32_t label, uint32_t other) {
  if (pto_observe_label_block(label) == pto_observe_label_block(other))
    SAY(text, "core %s", pto_role_name(pto_observe_label_role(other)));
  else
    SAY(text, "block %" PRIu32, pto_observe_label_block(other));
  if (pto_observe_label_block(label) != pto_observe_label_block(other) &&
      pto_observe_kernel_count(o->call.payload) > 1 && !o->call.unit->waits)
    SAY(text, " %s", pto_role_name(pto_observe_label_role(other)));
}

void pto_observe_report_near(struct pto_observation *o, const struct pto_observe_access *a,
                             const struct pto_observe_access *b) {
  struct pto_observe_text text = {.bytes = ""};
  struct pto_observe_object object;
  pto_observe_object_at(o, a->lo, &object);
  pto_observe_say_unit(&text, o, a->label);
  SAY(&text, " writes bytes [%" PRId64 ", %" PRId64 ") of %s, and its ", (int64_t)(a->lo - object.lo),
      (int64_t)(a->hi - object.lo), object.name);
  say_other(&text, o, a->label, b->label);
  SAY(&text, " from byte %" PRId64 " on: both in one unit of %u bytes, which a copy by blocks stores as a whole",
      (int64_t)(b->lo - object.lo), PTO_OBSERVE_STORE_BYTES);
  const struct pto_observe_param *param = pto_observe_nearest(o, b->lo, b->hi);
  pto_observe_note_extent(&text, &object, a->lo, b->hi);
  text.earlier = &o->call.task;
  text.earlier_param = param;
  pto_observe_add(o, PTO_FINDING_NEAR, param, object.name, NULL, &o->call.task, &text);
}

/* ---- blocks of one task ---- */

/* The kernel of a unit of the task, of one that does not wait. */
static const struct pto_kernel *kernel_of(const struct pto_observation *o, uint32_t label) {
  return o->call.payload->kernels[pto_observe_label_role(label)];
}

/* A parameter as the unit that touched it declares it. */
static struct pto_observe_param declared_by(const struct pto_observation *o, uint32_t label,
                                            const struct pto_observe_param *param) {
  struct pto_observe_param declared = *param;
  if (o->call.unit->waits) return declared;
  const struct pto_kernel_param *own = &kernel_of(o, label)->params[param->index];
  declared.mode = own->mode == PTO_HOLD ? PTO_INOUT : own->mode;
  declared.name = own->name;
  return declared;
}

/* Through which parameter a unit touched the bytes: the nearest, or another that has them and that it may so touch.
 * False: the task has none. */
static bool find_touched(const struct pto_observation *o, const struct pto_observe_access *access,
                         struct pto_observe_range bytes, struct pto_observe_param *found) {
  const struct pto_observe_param *nearest = pto_observe_nearest(o, bytes.lo, bytes.hi);
  const uint32_t needed = access->is_read ? PTO_INPUT : PTO_OUTPUT;
  if (!nearest) return false;
  *found = declared_by(o, access->label, nearest);
  for (uint32_t i = 0; i < o->call.param_count && !(found->mode & needed); i++) {
    const struct pto_observe_param other = declared_by(o, access->label, &o->call.params[i]);
    if ((other.mode & needed) && bytes.lo < other.region.end && bytes.hi > other.region.start) *found = other;
  }
  return true;
}

/* What two units of a task touch together: the one that writes, and the other. */
struct together {
  const struct pto_observe_access *units[2];
  struct pto_observe_range bytes;
  struct pto_observe_param params[2];
  bool has_params;
};

/* A line, or why there is none: blocks of one task have no order. */
static void say_blocks_remedy(struct pto_observe_text *remedy, const struct together *both) {
  const struct pto_observe_access *writer = both->units[0], *other = both->units[1];
  const char *roles[] = {pto_role_name(pto_observe_label_role(writer->label)),
                         pto_role_name(pto_observe_label_role(other->label))};
  const bool is_one_block = pto_observe_label_block(writer->label) == pto_observe_label_block(other->label);
  const uint32_t shared_mode = both->has_params ? both->params[0].mode & both->params[1].mode : 0;
  if (both->has_params && both->params[0].is_packed && both->bytes.hi - both->bytes.lo == 1)
    SAY(remedy, "begin each part at an even element, as with `part = (count + 2 * parts - 1) / (2 * parts) * 2`: two "
                "elements of 4 bits share a byte");
  else if (other->is_read && is_one_block)
    SAY(remedy,
        "declare PTO_KERNEL_WAITS for both kernels, and add `pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_%s), 0)` "
        "behind the write of %s and `pto_core_wait(args, 0)` before the read of %s",
        roles[1], roles[0], roles[1]);
  else if (other->is_read)
    SAY(remedy, "let a second task read them, with `pto_input` of these bytes: blocks of one task have no order");
  else if (shared_mode == PTO_INOUT && !is_one_block) {
    SAY(remedy, "where the kernel adds to them, ");
    pto_observe_say_mode(remedy, &both->params[0], PTO_ACCUMULATE);
    SAY(remedy, ": then blocks take turns; else let one block alone write them");
  } else
    SAY(remedy, "let one of the two alone write them: no line orders two that write the same");
}

void pto_observe_report_blocks(struct pto_observation *o, const struct pto_observe_access *a,
                               const struct pto_observe_access *b, uint64_t lo, uint64_t hi) {
  struct together both = {.units = {a->is_read ? b : a, a->is_read ? a : b}, .bytes = {lo, hi}};
  struct pto_observe_param *params = both.params;
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  struct pto_observe_object object;
  pto_observe_object_at(o, lo, &object);
  both.has_params =
      find_touched(o, both.units[0], both.bytes, &params[0]) && find_touched(o, both.units[1], both.bytes, &params[1]);
  pto_observe_say_unit(&text, o, both.units[0]->label);
  SAY(&text, " writes ");
  pto_observe_say_bytes(&text, o, lo, hi, object.name, sizeof object.name);
  pto_observe_say_elements(&text, &object, lo, hi);
  if (both.has_params) SAY(&text, ", through ");
  if (both.has_params) pto_observe_say_param(&text, &params[0]);
  SAY(&text, ", which its ");
  say_other(&text, o, both.units[0]->label, both.units[1]->label);
  const struct pto_kernel *kernels[] = {kernel_of(o, both.units[0]->label), kernel_of(o, both.units[1]->label)};
  if (kernels[0] != kernels[1]) SAY(&text, " (%s)", kernels[1]->name ? kernels[1]->name : "?");
  SAY(&text, both.units[1]->is_read ? " reads" : " writes too");
  if (both.has_params && (params[0].index != params[1].index || params[0].mode != params[1].mode)) {
    SAY(&text, ", through ");
    pto_observe_say_param(&text, &params[1]);
  }
  SAY(&text, ": nothing orders the two");
  say_blocks_remedy(&remedy, &both);
  struct pto_finding finding =
      begin_finding(o, PTO_FINDING_BLOCKS, both.has_params ? &params[0] : NULL, object.name, &o->call.task);
  finding.tasks[1] = finding.tasks[0];
  finding.places[1] = finding.places[0];
  finding.ranks[1] = finding.ranks[0];
  if (both.units[1]->is_read) finding.decided = PTO_DECIDED_SAMPLED; /* reads are found by other bytes */
  memcpy(finding.arrays[1], finding.arrays[0], sizeof finding.arrays[1]);
  if (both.has_params) finding.params[1] = params[1].index;
  for (int i = 0; i < 2; i++) {
    memcpy(finding.extents[i], text.extent, sizeof finding.extents[i]);
    snprintf(finding.kernels[i], sizeof finding.kernels[i], "%s", kernels[i]->name ? kernels[i]->name : "?");
  }
  add_finding(o, &finding, remedy.bytes, &text);
}
