/* SPDX-License-Identifier: MIT */
#include <check/explore/run.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/text.h>
#include <runtime/trace/trace_append.h>
#include <sim/threads/delays.h>

/* ---- outputs ---- */

bool pto_explore_store_outputs(struct pto_explore *explore) {
  const struct pto_array *array;
  while (pto_program_run_array(explore->run, explore->array_count)) explore->array_count++;
  explore->outputs = calloc(explore->array_count + 1, sizeof *explore->outputs);
  for (uint32_t i = 0; explore->outputs && (array = pto_program_run_array(explore->run, i)) != NULL; i++) {
    if (array->role == PTO_ARRAY_SCRATCH || !(array->role & PTO_ARRAY_OUTPUT)) continue;
    explore->outputs[i] = malloc(array->size_bytes + 1);
    if (!explore->outputs[i]) return false;
    memcpy(explore->outputs[i], array->data, array->size_bytes);
  }
  return explore->outputs != NULL;
}

/* The first byte in which two differ; they do. */
static uint64_t first_difference(const unsigned char *a, const unsigned char *b, uint64_t size_bytes) {
  uint64_t i = 0;
  while (i + 1 < size_bytes && a[i] == b[i]) i++;
  return i;
}

/* The row-major element that holds byte `byte`; of two 4-bit ones the one that differs. */
static uint64_t element_at(const struct pto_array *array, const unsigned char *now, const unsigned char *was,
                           uint64_t byte) {
  if (pto_dtype_bits(array->dtype) == 4) return 2 * byte + ((now[byte] & 15) == (was[byte] & 15));
  return byte / pto_dtype_size(array->dtype);
}

static void format_place(const struct pto_array *array, uint64_t element, char *text, size_t size) {
  uint64_t parts[PTO_MAX_DIMS];
  for (uint32_t d = array->ndims; d-- > 0; element /= array->shape[d]) parts[d] = element % array->shape[d];
  text[0] = '\0';
  pto_text_append_numbers(text, size, ",", parts, array->ndims);
}

/* printf shows the sign of a NaN, which means nothing here. */
static void say_value(const struct pto_array *array, uint64_t element, char text[32]) {
  const double value = pto_array_get(array, element);
  if (isnan(value))
    snprintf(text, 32, "nan");
  else
    snprintf(text, 32, "%.9g", value);
}

static void describe(const struct pto_array *array, void *copy, char *text, size_t size) {
  const unsigned char *now = array->data, *was = copy;
  const uint64_t byte = first_difference(now, was, array->size_bytes), element = element_at(array, now, was, byte);
  struct pto_array before = *array;
  char place[PTO_MAX_DIMS * 21], value_now[32], value_was[32], bits_now[24] = "", bits_was[24] = "";
  before.data = copy;
  format_place(array, element, place, sizeof place);
  say_value(array, element, value_now);
  say_value(&before, element, value_was);
  if (strcmp(value_now, value_was) != 0) {
    snprintf(text, size, "output %.40s[%s]: %s instead of %s", array->name, place, value_now, value_was);
    return;
  }
  const uint64_t element_bytes = pto_dtype_size(array->dtype), at = byte / element_bytes * element_bytes;
  pto_text_append_hex(bits_now, sizeof bits_now, now + at, element_bytes);
  pto_text_append_hex(bits_was, sizeof bits_was, was + at, element_bytes);
  snprintf(text, size, "output %.40s[%s]: %s with bits %s instead of %s", array->name, place, value_now, bits_now,
           bits_was);
}

/* Whether the outputs are those of the reference, to the bit; where not, writes the first that differs: "output
 * f[3,17]: 46 instead of 47", the bits too where the numbers look alike. */
static bool has_same_outputs(const struct pto_explore *explore, char *text, size_t size) {
  for (uint32_t i = 0; i < explore->array_count; i++) {
    const struct pto_array *array = pto_program_run_array(explore->run, i);
    if (!explore->outputs[i] || memcmp(array->data, explore->outputs[i], array->size_bytes) == 0) continue;
    describe(array, explore->outputs[i], text, size);
    return false;
  }
  return true;
}

/* ---- contexts of the program's own ---- */

void pto_explore_context_created(struct pto_explore *explore, struct pto_runtime *rt) {
  struct pto_explore_contexts *contexts = &explore->contexts;
  struct pto_port *port = pto_runtime_port(rt);
  if (explore->has_reference) pto_runtime_set_recording(rt, false);
  if (contexts->is_on_threads) {
    const bool is_delayed = pto_engine_delays_set(port, contexts->delay_seed);
    *(is_delayed ? &contexts->count : &contexts->left_out) += 1;
    return;
  }
  if (contexts->rt || !pto_engine_explore_set_log(port, &explore->log)) {
    contexts->left_out++;
    return;
  }
  contexts->rt = rt;
  contexts->count++;
}

void pto_explore_context_destroyed(struct pto_explore *explore, const struct pto_runtime *rt,
                                   const struct pto_trace *recording) {
  struct pto_explore_contexts *contexts = &explore->contexts;
  if (rt != contexts->rt) return;
  contexts->rt = NULL;
  if (explore->has_reference) return;
  if (contexts->count > 1) pto_trace_append_sync(&contexts->recording);
  if (!recording || (recording->record && pto_trace_append(&contexts->recording, recording, 0)))
    contexts->is_short = true;
}

/* ---- runs ---- */

int pto_explore_run_once(struct pto_explore *explore, struct pto_runtime *rt, const struct pto_explore_chooser *chooser,
                         struct pto_explore_outcome *outcome) {
  memset(outcome, 0, sizeof *outcome);
  if (chooser) pto_explore_log_begin(&explore->log, chooser);
  explore->contexts.is_on_threads = chooser == NULL;
  explore->contexts.rt = NULL;
  explore->contexts.count = explore->contexts.left_out = 0;
  pto_program_run_retry(explore->run);
  outcome->status = pto_program_run_orchestrate(explore->run, rt);
  if (explore->contexts.is_short) return PTO_ENOMEM;
  if (!explore->has_reference) return PTO_OK;
  if (pto_status_is_shortage(outcome->status)) {
    explore->shortage = *pto_program_run_error(explore->run);
    return outcome->status;
  }
  if (outcome->status == PTO_EINTERRUPTED) {
    outcome->is_different = false; /* it says nothing of the program */
  } else if (outcome->status != PTO_OK) {
    outcome->is_different = true;
    snprintf(outcome->text, sizeof outcome->text, "the run ended with %s (%.800s)", pto_status_name(outcome->status),
             pto_program_run_error(explore->run)->sentence);
  } else if (!has_same_outputs(explore, outcome->text, sizeof outcome->text)) {
    outcome->is_different = true;
    outcome->digest = pto_program_run_digest(explore->run);
  }
  return PTO_OK;
}

int pto_explore_run_named(struct pto_explore *explore, struct pto_schedule_name name,
                          struct pto_explore_outcome *outcome) {
  struct pto_strategy strategy;
  const struct pto_explore_chooser chooser = {pto_strategy_choose, &strategy};
  explore->current = name;
  pto_strategy_begin(&strategy, name, &explore->graph, explore->marks, explore->reference_steps);
  return pto_explore_run_once(explore, explore->rt, &chooser, outcome);
}

int pto_explore_run_holds(struct pto_explore *explore, const struct pto_explore_holds *holds,
                          struct pto_explore_outcome *outcome) {
  struct pto_explore_replay replay = {0};
  const struct pto_explore_chooser chooser = {pto_explore_replay_choose, &replay};
  if (!pto_explore_replay_init(&replay, holds)) return PTO_ENOMEM;
  pto_explore_replay_begin(&replay);
  const int status = pto_explore_run_once(explore, explore->rt, &chooser, outcome);
  outcome->was_forced = replay.was_forced;
  pto_explore_replay_fini(&replay);
  return status;
}
