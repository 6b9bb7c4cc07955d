/* SPDX-License-Identifier: MIT */
/*
 * Findings of what outlives a call: variables, memory of cores, modes; and of results that no memory explains.
 */
#include <check/observe/state.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <pto/core.h>
#include <sim/host/float_mode.h>

#define SAY PTO_OBSERVE_SAY

void pto_observe_report_state(struct pto_observation *o, const char *data, uint64_t size_bytes) {
  struct pto_observe_text text = {.bytes = "", .is_of_calls_before = o->statics.builds_once};
  char name[256];
  if (!o->lines) o->lines = pto_source_lines_create();
  pto_source_lines_function(o->lines, data, name, sizeof name);
  if (strncmp(name, "__gcov", 6) == 0) return; /* counters of coverage */
  pto_observe_say_unit(&text, o, o->call.label);
  SAY(&text, " changes %" PRIu64 " byte%s of the static variable %s: it outlives the call, and other cores share it",
      size_bytes, size_bytes == 1 ? "" : "s", name);
  pto_observe_add(o, PTO_FINDING_STATE, NULL, "static memory", NULL, &o->call.task, &text);
}

void pto_observe_report_thread(struct pto_observation *o, const struct pto_observe_outcome *effect) {
  struct pto_observe_text text = {.bytes = "", .decided = PTO_DECIDED_SAMPLED};
  pto_observe_say_unit(&text, o, o->call.label);
  SAY(&text, " depends on thread-local variables of its file, which the calls before it on the thread have left; ");
  SAY(&text, "with other values there, ");
  pto_observe_say_difference(&text, o, effect);
  o->call.is_unstable = true;
  pto_observe_add(o, PTO_FINDING_STATE, NULL, "thread-local memory", NULL, &o->call.task, &text);
}

void pto_observe_report_private(struct pto_observation *o, const struct pto_observe_own *own,
                                struct pto_observe_range bytes, const char *words,
                                const struct pto_observe_outcome *effect) {
  const uint64_t lo = pto_max_u64(bytes.lo, own->at) - own->at;
  const uint64_t hi = pto_min_u64(bytes.hi - own->at, own->now.size_bytes);
  const void *library = (const void *)(uintptr_t)pto_core_private;
  struct pto_observe_text text = {.bytes = "", .decided = PTO_DECIDED_SAMPLED, .is_of_calls_before = true};
  char line[160] = "";
  if (!o->lines) o->lines = pto_source_lines_create();
  if (!pto_source_lines_share_file(own->now.call, library))
    pto_source_lines_name(o->lines, own->now.call, NULL, line, sizeof line);
  pto_observe_say_unit(&text, o, pto_observe_label(own->block_index, own->role));
  SAY(&text,
      " depends on bytes [%" PRIu64 ", %" PRIu64 ") of the %" PRIu64 " that its core keeps (pto_core_private%s%s)", lo,
      hi, own->now.size_bytes, line[0] ? " at " : "", line);
  SAY(&text, ", which it has not written itself: %s, ", words);
  pto_observe_say_difference(&text, o, effect);
  o->call.is_unstable = true;
  pto_observe_add(o, PTO_FINDING_STATE, NULL, "memory of pto_core_private",
                  "write them before they are read, or pass them in a tensor: which core runs a task is left to the "
                  "scheduler",
                  &o->call.task, &text);
}

/* "tensors[1].shape[0]": what has this byte of what a kernel is told. */
static void name_descriptor(const struct pto_payload *payload, uint64_t byte, char *text, size_t size) {
  const struct pto_kernel_tensor *tensors = payload->tensors;
  const uint64_t tensor_bytes = payload->tensor_count * sizeof *tensors;
  const uintptr_t at = (uintptr_t)tensors + byte;
  if (byte < tensor_bytes)
    snprintf(text, size, "tensors[%" PRIu64 "]", byte / sizeof *tensors);
  else
    snprintf(text, size, "scalars[%" PRIu64 "]", (byte - tensor_bytes) / sizeof(union pto_scalar));
  for (uint32_t i = 0; i < payload->tensor_count; i++) {
    const uint64_t *const arrays[] = {tensors[i].shape, tensors[i].strides};
    for (uint32_t k = 0; k < 2; k++) {
      const uint64_t offset = at - (uintptr_t)arrays[k];
      if (offset < tensors[i].ndims * sizeof(uint64_t))
        snprintf(text, size, "tensors[%" PRIu32 "].%s[%" PRIu64 "]", i, k ? "strides" : "shape",
                 offset / sizeof(uint64_t));
    }
  }
}

void pto_observe_report_left_changed(struct pto_observation *o) {
  const struct pto_observe_left_changed *left = &o->call.left;
  struct pto_observe_text text = {.bytes = ""};
  char name[64];
  if (left->float_mode != left->usual_float_mode) {
    pto_observe_say_unit(&text, o, o->call.label);
    SAY(&text,
        " leaves the thread's floating-point mode changed (%s): it outlives the call, and other kernels compute with "
        "it",
        pto_float_mode_words(left->usual_float_mode, left->float_mode));
    pto_observe_add(o, PTO_FINDING_STATE, NULL, "the floating-point mode",
                    "put it back before the kernel returns, as with `fegetenv(&mode)` first and `fesetenv(&mode)` last",
                    &o->call.task, &text);
  }
  if (!left->has_descriptor) return;
  text = (struct pto_observe_text){.bytes = ""};
  name_descriptor(o->call.payload, left->descriptor_byte, name, sizeof name);
  pto_observe_say_unit(&text, o, o->call.label);
  SAY(&text,
      " changes `args->%s`, which the kernel may only read: it outlives the call, and other blocks and cores of the "
      "task share it",
      name);
  pto_observe_add(o, PTO_FINDING_STATE, NULL, "its descriptors", "count in a local variable of the kernel",
                  &o->call.task, &text);
}

void pto_observe_report_unstable(struct pto_observation *o, const struct pto_observe_outcome *effect) {
  struct pto_observe_text text = {.bytes = ""};
  pto_observe_say_unit(&text, o, o->call.label);
  SAY(&text, " is run twice over the same bytes, and the second time ");
  pto_observe_say_difference(&text, o, effect);
  SAY(&text,
      ": it keeps something between calls (on the heap, in a library), or reads what is no memory of the task (local "
      "variables of its own, or memory of `malloc`, that it has not set, a clock, random numbers); its other reads "
      "cannot be told");
  o->call.is_unstable = true;
  pto_observe_add(o, PTO_FINDING_UNSTABLE, NULL, NULL,
                  "set what the kernel has of its own before it reads that, and keep nothing from one run to the next: "
                  "pass what varies as a scalar, or in a tensor",
                  &o->call.task, &text);
}

void pto_observe_report_time(struct pto_observation *o, const struct pto_observe_outcome *effect) {
  struct pto_observe_text text = {.bytes = ""};
  pto_observe_say_unit(&text, o, o->call.label);
  SAY(&text, " depends on the time (pto_core_now): at another time, ");
  pto_observe_say_difference(&text, o, effect);
  o->call.is_unstable = true;
  pto_observe_add(o, PTO_FINDING_UNSTABLE, NULL, NULL, "pass what is to vary as a scalar, or in a tensor",
                  &o->call.task, &text);
}
