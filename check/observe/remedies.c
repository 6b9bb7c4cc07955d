/* SPDX-License-Identifier: MIT */
/* Lines of code that mend a finding: another mode, another view, another parameter. */
#include <check/observe/state.h>

#include <inttypes.h>

#define SAY PTO_OBSERVE_SAY

/* Whether the parameter may have the bytes too: they lie in its rows or beside it, in one object, and it is for that.
 */
static bool can_have(const struct pto_observe_param *param, uint32_t kind, const struct pto_observe_object *object,
                     const struct pto_observe_range *first) {
  const struct pto_region *region = &param->region;
  return param->mode & (kind == PTO_FINDING_WRITE_OUTSIDE ? PTO_OUTPUT : PTO_INPUT) && region->start >= object->lo &&
         region->end <= object->hi && first->lo <= region->end && first->hi >= region->start;
}

void pto_observe_say_declaration(struct pto_observe_text *remedy, const struct pto_observation *o, uint32_t kind,
                                 const struct pto_observe_param *param, const struct pto_observe_object *object,
                                 const struct pto_observe_range *ranges, uint32_t count) {
  const char *more = kind == PTO_FINDING_WRITE_OUTSIDE ? "INOUT" : "INPUT";
  struct pto_observe_text view = {.bytes = ""};
  if (pto_observe_memory_owner(o->memory, ranges[0].lo, pto_observe_owner(o)) != pto_observe_owner(o)) {
    SAY(remedy, "bring them over in a window of a communicator: no task declares what is of another rank");
    return;
  }
  if (object->has_gone) {
    SAY(remedy, PTO_OBSERVE_WHILE_IT_LIVES);
    return;
  }
  if (ranges[0].lo < object->lo || ranges[0].hi > object->hi) {
    SAY(remedy, "keep the kernel to the shapes and strides of its parameters: no tensor has what is beyond its array");
    return;
  }
  const bool is_wider = param && can_have(param, kind, object, &ranges[0]);
  if (!pto_observe_say_view(&view, object, ranges, count, is_wider ? &param->region : NULL)) return;
  SAY(remedy, "keep the kernel to the shapes and strides of its parameters, or ");
  if (is_wider)
    SAY(remedy, "let param %" PRIu32 " have them too, %s", param->index, view.bytes);
  else
    SAY(remedy,
        "touch them through one more, `{.name = \"part\", .mode = PTO_%s}` in the kernel's list and `pto_%s(&part)` in "
        "its submits, part being %s",
        more, kind == PTO_FINDING_WRITE_OUTSIDE ? "inout" : "input", view.bytes);
}

/* Whether no task before this one had the buffer: it gets its memory by this launch, and has no values yet. */
static bool is_new(const struct pto_observation *o, const struct pto_observe_told_task *task,
                   const struct pto_observe_param *param) {
  const struct pto_trace *trace = &o->rt->trace;
  const uint64_t buffer = pto_observe_buffer_at(o, param->region.start);
  const bool is_in_arena = param->region.start >= o->arena.lo && param->region.start < o->arena.hi;
  if (!buffer || !is_in_arena || !pto_trace_has_graph(trace) || task->number >= trace->tasks.count) return false;
  const struct pto_trace_task *record = pto_trace_log_at(&trace->tasks, task->number);
  for (uint64_t i = 0; i < record->first_param && i < trace->params.count; i++)
    if (((const struct pto_trace_param *)pto_trace_log_at(&trace->params, i))->buffer_number == buffer) return false;
  return true;
}

static const struct {
  const char *name, *constructor;
} modes[] = {[PTO_INPUT] = {"INPUT", "pto_input"},
             [PTO_OUTPUT] = {"OUTPUT", "pto_output"},
             [PTO_INOUT] = {"INOUT", "pto_inout"},
             [PTO_ACCUMULATE] = {"ACCUMULATE", "pto_accumulate"}};

void pto_observe_say_mode(struct pto_observe_text *remedy, const struct pto_observe_param *param, uint32_t mode) {
  SAY(remedy, "declare param %" PRIu32 " %s: `.mode = PTO_%s` in the kernel's list, `%s` in its submits", param->index,
      modes[mode].name, modes[mode].name, modes[mode].constructor);
}

void pto_observe_say_inout(struct pto_observe_text *remedy, const struct pto_observation *o,
                           const struct pto_observe_told_task *task, const struct pto_observe_param *param) {
  pto_observe_say_mode(remedy, param, PTO_INOUT);
  if (is_new(o, task, param))
    SAY(remedy,
        ", and `.size = sizeof(struct pto_launch), .initial = &(const struct pto_initial){.param = %" PRIu32
        "}, .initial_count = 1` in the launch: nothing has written it before",
        param->index);
}
