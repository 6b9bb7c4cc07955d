/* SPDX-License-Identifier: MIT */
/*
 * Modes and flags that a kernel declares and that none of its calls needs: an INOUT of which all calls only read, or
 * write over all, an ACCUMULATE that none adds to, PTO_KERNEL_WAITS without a call of pto/core.h.  They cost edges, or
 * cores that are kept together, and no result; so each is a note, told once for all calls when the last run is over.
 *
 *   read      other values in the parameter make a difference
 *   kept      some of it is as it was when its task is over, so it is no OUTPUT
 *   written   some byte of it has changed, over the true values or over others
 *
 * What such values do is asked in a child process, as they may be indices; there each scalar is changed too, and whole
 * numbers among the inputs.  A call is asked as long as its kernel is not known to need the mode, so most are asked
 * once.  What is not known counts as needed: calls that are left out or that fail, and units of several cores, which
 * read what others of them write.  A parameter that no call touches at all is told of ACCUMULATE alone: an INOUT may
 * stand for an order of tasks.
 *
 * Not of ranks: another one may do what this one's calls do not.
 */
#include <check/observe/state.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/dtype.h>
#include <runtime/base/grow.h>

/* Made where there is none; NULL without memory. */
static struct pto_observe_use *use_of(struct pto_observation *o, const struct pto_kernel *kernel, uint32_t param) {
  for (size_t i = 0; i < o->use_count; i++)
    if (o->uses[i].kernel == kernel && o->uses[i].param == param) return &o->uses[i];
  struct pto_observe_use *use = pto_grow(&o->uses, &o->use_count, &o->use_capacity, sizeof *use);
  o->summary.is_short |= !use;
  if (use) *use = (struct pto_observe_use){.kernel = kernel, .param = param, .task = o->call.task};
  return use;
}

static bool is_needed(const struct pto_observe_use *use) { return use->is_written && (use->is_read || use->is_kept); }

/* ---- parameters ---- */

struct answer {
  bool is_read, is_written, is_kept;
};

static bool has_written(const struct pto_observation *o, const struct pto_observe_param *param) {
  const struct pto_observe_memory *m = o->memory;
  struct pto_region_runs runs = pto_region_runs(&param->region);
  for (uint64_t lo; pto_region_runs_next(&runs, &lo);)
    for (uint64_t at = lo, end = lo + param->region.run_bytes, next; at < end; at = next) {
      const uint32_t slot = pto_observe_call_find(m, at); /* what is to be written has pages of the call */
      const uint64_t offset = at & (m->page_bytes - 1);
      next = pto_min_u64(end, at - offset + m->page_bytes);
      if (memchr(pto_observe_at(m, m->written, slot) + offset, 1, next - at)) return true;
    }
  return false;
}

static void select_param(struct pto_observation *o, const struct pto_observe_param *param) {
  struct pto_region_runs runs = pto_region_runs(&param->region);
  for (uint64_t lo; pto_region_runs_next(&runs, &lo);)
    pto_observe_select_range(o, (struct pto_observe_range){lo, lo + param->region.run_bytes});
}

/* Inputs that may be lengths or indices. */
static void select_numbers(struct pto_observation *o) {
  for (uint32_t i = 0; i < o->call.param_count; i++)
    if (o->call.params[i].mode == PTO_INPUT && !pto_dtype_is_real(o->call.payload->tensors[i].dtype))
      select_param(o, &o->call.params[i]);
}

/* Runs over other values in all of the parameter; and in inputs that are whole numbers. */
static struct pto_observe_outcome run_over(struct pto_observation *o, const struct pto_observe_param *param,
                                           bool has_numbers, enum pto_observe_pattern pattern) {
  pto_observe_select(o, NULL);
  if (has_numbers) select_numbers(o);
  select_param(o, param);
  return pto_observe_run_again(o, pattern, PTO_OBSERVE_NO_LOCAL);
}

/* Whether the last run has changed a byte that it may write. */
static bool has_changed_any(const struct pto_observation *o, enum pto_observe_pattern pattern) {
  const struct pto_observe_memory *m = o->memory;
  for (uint32_t slot = 0; slot < m->pages.count; slot++)
    for (uint64_t i = 0; i < m->page_bytes; i++)
      if ((pto_observe_at(m, m->classes, slot)[i] & PTO_OBSERVE_WRITE) && pto_observe_has_changed(o, slot, i, pattern))
        return true;
  return false;
}

/* Whether the last run has left most bytes of the parameter that the call itself has written: some come out as they
 * were by chance, where other values are copied over others. */
static bool has_left_most(const struct pto_observation *o, const struct pto_observe_kept *own,
                          enum pto_observe_pattern pattern) {
  const struct pto_observe_memory *m = o->memory;
  struct pto_region_runs runs = pto_region_runs(&o->call.asked->region);
  uint64_t written = 0, left = 0;
  for (uint64_t lo; pto_region_runs_next(&runs, &lo);)
    for (uint64_t at = lo; at < lo + o->call.asked->region.run_bytes; at++) {
      const uint32_t slot = pto_observe_call_find(m, at);
      const uint64_t i = at & (m->page_bytes - 1);
      if (!own->written[slot * m->page_bytes + i]) continue;
      written++;
      left += !pto_observe_has_changed(o, slot, i, pattern);
    }
  return 2 * left > written;
}

/* Runs with other scalars, as they are now, or other whole numbers; further runs are compared with this one.  False
 * where the call is none with these, or has nothing to do. */
static bool begin_otherwise(struct pto_observation *o, bool has_numbers, enum pto_observe_pattern pattern) {
  const struct pto_observe_memory *m = o->memory;
  pto_observe_select(o, NULL);
  if (has_numbers) select_numbers(o);
  const struct pto_observe_outcome outcome = pto_observe_run_again(o, pattern, PTO_OBSERVE_NO_LOCAL);
  o->call.status = outcome.status;
  for (uint32_t slot = 0; slot < m->pages.count; slot++)
    memcpy(pto_observe_at(m, m->after, slot), (const void *)(uintptr_t)pto_observe_pages(m)[slot].addr, m->page_bytes);
  return !outcome.caught && outcome.status == 0 && has_changed_any(o, pattern);
}

/* What a maximum reads does not show over the one, and not what a minimum reads over the other. */
static void ask_as(struct pto_observation *o, struct answer *answer, bool has_numbers,
                   const struct pto_observe_kept *own) {
  for (uint32_t pattern = 0; pattern < 2 && !answer->is_read; pattern++) {
    if (own && !begin_otherwise(o, has_numbers, pattern)) continue;
    answer->is_read = run_over(o, o->call.asked, has_numbers, pattern).differs;
    answer->is_kept |= own && has_left_most(o, own, pattern);
  }
}

/* With each scalar another one too, and other whole numbers: they may say that the call is the first of its kind, or
 * the last. */
static void ask(struct pto_observation *o, void *answer_out) {
  struct answer *answer = answer_out;
  const struct pto_message *first = &o->call.unit->messages[0];
  union pto_scalar *scalars = pto_observe_scalars(o);
  struct pto_observe_kept own;
  ask_as(o, answer, false, NULL);
  answer->is_written = has_written(o, o->call.asked);
  if (!o->call.is_full || !pto_observe_keep(o, &own)) return;
  ask_as(o, answer, true, &own);
  for (uint32_t i = 0; i < first->scalar_count; i++) {
    const union pto_scalar before = scalars[i];
    scalars[i].u64 = before.u64 == 0;
    ask_as(o, answer, false, &own);
    ask_as(o, answer, true, &own);
    scalars[i] = before;
  }
  answer->is_written |= has_written(o, o->call.asked);
}

static void note_param(struct pto_observation *o, struct pto_observe_use *use, const struct pto_observe_param *param) {
  struct answer answer = {.is_read = false};
  if (is_needed(use)) return;
  use->is_written |= has_written(o, param);
  if (is_needed(use) || use->asked == PTO_OBSERVE_MOST_ASKED) return;
  use->asked++;
  o->call.asked = param;
  const bool is_known = pto_observe_in_child(o, ask, &answer, sizeof answer);
  use->is_read |= answer.is_read || !is_known;
  use->is_kept |= answer.is_kept;
  use->is_written |= answer.is_written || !is_known;
  /* Where nothing was read this run is like the first, and shows all that is written. */
  if (is_known && !answer.is_read) (void)run_over(o, param, false, PTO_OBSERVE_NEGATIVE);
}

void pto_observe_note_uses(struct pto_observation *o, bool is_known) {
  const struct pto_observed_unit *unit = o->call.unit;
  if (o->rank) return;
  for (uint32_t k = 0; k < unit->count; k++) {
    const uint32_t role = unit->messages[k].role;
    const struct pto_kernel *kernel = o->call.payload->kernels[role];
    for (uint32_t i = 0; i < o->call.param_count; i++) {
      const struct pto_observe_param *param = &o->call.params[i];
      const uint32_t mode = kernel->params[param->index].mode;
      if ((mode != PTO_INOUT && mode != PTO_ACCUMULATE) || pto_region_is_empty(&param->region)) continue;
      struct pto_observe_use *use = use_of(o, kernel, param->index);
      if (!use) return;
      use->as = *param;
      use->as.mode = mode;
      if (is_known && unit->count == 1)
        note_param(o, use, param);
      else
        use->is_read = use->is_written = true;
    }
  }
}

void pto_observe_note_flags(struct pto_observation *o, bool is_known) {
  const struct pto_observed_unit *unit = o->call.unit;
  if (o->rank) return;
  for (uint32_t k = 0; k < unit->count; k++) {
    const uint32_t role = unit->messages[k].role;
    const struct pto_kernel *kernel = o->call.payload->kernels[role];
    if (!pto_kernel_waits(kernel)) continue;
    const bool calls = o->call.calling_roles & PTO_ROLE_BIT(role);
    struct pto_observe_use *use = use_of(o, kernel, PTO_OBSERVE_FLAG);
    if (use && (!is_known || calls || (kernel->flags & PTO_KERNEL_REMOTE))) use->is_read = use->is_written = true;
  }
}

void pto_observe_note_kept(struct pto_observation *o, const struct pto_observe_param *param) {
  for (size_t i = 0; i < o->use_count; i++)
    for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++)
      if (o->uses[i].kernel == o->call.payload->kernels[k] && o->uses[i].param == param->index)
        o->uses[i].is_kept |= o->uses[i].as.mode == PTO_INOUT && o->uses[i].asked < PTO_OBSERVE_MOST_ASKED;
}

/* ---- the end ---- */

void pto_observe_report_uses(struct pto_observation *o) {
  for (size_t i = 0; i < o->use_count; i++) {
    struct pto_observe_text remedy = {.bytes = ""};
    struct pto_observe_use *use = &o->uses[i];
    const bool is_sum = use->as.mode == PTO_ACCUMULATE;
    const char *words = NULL;
    if (is_needed(use)) continue;
    if (use->param == PTO_OBSERVE_FLAG) {
      if (o->findings->by_kind[PTO_FINDING_CORES]) continue; /* a call is missing, perhaps */
      words = "none of its calls makes one of pto/core.h";
      PTO_OBSERVE_SAY(&remedy, "take PTO_KERNEL_%s out of its flags",
                      use->kernel->flags & PTO_KERNEL_TURNS ? "TURNS" : "WAITS");
    } else if (use->is_written && !is_sum) {
      words = "each of its calls writes all of it and reads nothing of what was there";
      pto_observe_say_mode(&remedy, &use->as, PTO_OUTPUT);
    } else if (!use->is_written && (use->is_read || is_sum)) {
      words = is_sum ? "none of its calls adds to it" : "none of its calls writes it";
      if (use->is_read)
        pto_observe_say_mode(&remedy, &use->as, PTO_INPUT);
      else
        PTO_OBSERVE_SAY(&remedy, "leave param %" PRIu32 " out", use->param);
    }
    if (words) pto_observe_report_unneeded(o, use, words, remedy.bytes);
    use->is_read = use->is_written = true; /* once */
  }
}
