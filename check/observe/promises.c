/* SPDX-License-Identifier: MIT */
/*
 * Promises of a kernel's declaration that a call over other bytes does not test: what ACCUMULATE says (sums.c), what
 * PTO_KERNEL_IN_PLACE says, and that results do not depend on where tensors lie, or on the time.
 *
 *   IN_PLACE    a call in place runs with the INPUT apart, over other values in the OUTPUT, one apart runs in place:
 *               another result.  What the OUTPUT then lacks is told once a task reads it, as of any OUTPUT.
 *   placement   all tensors lie elsewhere, in the same places of a cache line: another result
 *
 *   core        the call sees itself on another core: another result
 *
 * For the first two, tensors are copies in scratch memory, and the payload's addresses are changed around the run. Only
 * of calls whose other runs were like the first; the first two of calls that are alone in their unit.
 */
#include <check/observe/state.h>

#include <string.h>

/* Copies of one call, all together; larger ones are left out. */
#define MOST_MOVED_BYTES (UINT64_C(16) << 20)
/* Room between copies, and how far a copy's offset in its page is from the original's. */
#define APART_BYTES 4096u
#define SHIFT_BYTES 192u

/* Bytes that lie elsewhere for one run. */
struct moved {
  struct {
    uint64_t lo, hi;
    uint8_t *to;
  } pieces[PTO_MAX_TENSORS];
  uint32_t count;
  struct pto_reserve memory;
  void *addresses[PTO_MAX_TENSORS]; /* the payload's own */
};

/* ---- bytes of the first run ---- */

/* What it left there, of a byte of one of the call's pages. */
static uint8_t left_by_first(const struct pto_observe_memory *m, uint64_t addr) {
  const uint32_t slot = pto_observe_call_find(m, addr);
  return slot == PTO_OBSERVE_NO_SLOT ? *(const uint8_t *)(uintptr_t)addr
                                     : pto_observe_at(m, m->after, slot)[addr & (m->page_bytes - 1)];
}

bool pto_observe_is_as_first(const struct pto_observation *o, const struct pto_observe_param *param, uint64_t away,
                             uint64_t *first_difference) {
  struct pto_region_runs runs = pto_region_runs(&param->region);
  for (uint64_t lo; pto_region_runs_next(&runs, &lo);)
    for (uint64_t at = lo; at < lo + param->region.run_bytes; at++)
      if (*(const uint8_t *)(uintptr_t)(at + away) != left_by_first(o->memory, at)) {
        *first_difference = at;
        return false;
      }
  return true;
}

/* ---- elsewhere ---- */

static void join(struct moved *moved, const struct pto_region *region) {
  uint64_t lo = region->start, hi = region->end;
  for (uint32_t i = 0; i < moved->count;)
    if (moved->pieces[i].lo < hi && lo < moved->pieces[i].hi) {
      lo = pto_min_u64(lo, moved->pieces[i].lo);
      hi = pto_max_u64(hi, moved->pieces[i].hi);
      moved->pieces[i] = moved->pieces[--moved->count];
      i = 0;
    } else
      i++;
  if (lo == hi) return;
  moved->pieces[moved->count].lo = lo;
  moved->pieces[moved->count++].hi = hi;
}

/* Scratch memory for all pieces; false where it would be too much. */
static bool reserve_copies(struct moved *moved) {
  uint64_t bytes = APART_BYTES;
  for (uint32_t i = 0; i < moved->count; i++)
    bytes += pto_align_up(moved->pieces[i].hi - moved->pieces[i].lo, APART_BYTES) + 3 * APART_BYTES;
  if (bytes > MOST_MOVED_BYTES || !pto_reserve_init(&moved->memory, bytes)) return false;
  uint8_t *at = (uint8_t *)moved->memory.addr + APART_BYTES;
  for (uint32_t i = 0; i < moved->count; i++) {
    moved->pieces[i].to = at + (moved->pieces[i].lo + SHIFT_BYTES) % APART_BYTES;
    at += pto_align_up(moved->pieces[i].hi - moved->pieces[i].lo, APART_BYTES) + 3 * APART_BYTES;
  }
  return true;
}

/* How far the copy of these bytes is from them; 0: they have none. */
static uint64_t away_of(const struct moved *moved, const struct pto_region *region) {
  for (uint32_t i = 0; i < moved->count; i++)
    if (region->start >= moved->pieces[i].lo && region->end <= moved->pieces[i].hi)
      return (uintptr_t)moved->pieces[i].to - moved->pieces[i].lo;
  return 0;
}

/* The payload's tensors: no call runs now, and they are as they were after the run. */
static struct pto_kernel_tensor *tensors_of(const struct pto_observation *o) {
  return ((struct pto_payload *)(uintptr_t)o->call.payload)->tensors;
}

/* Runs with what is moved elsewhere, as those tensors see it whose bits are set; tensor `target`, if it is another one,
 * is where tensor `source` is; `other`, if there is one, begins with other values where it was. */
static struct pto_observe_outcome run_moved(struct pto_observation *o, struct moved *moved, uint32_t tensor_bits,
                                            uint32_t source, uint32_t target, const struct pto_region *other) {
  struct pto_kernel_tensor *tensors = tensors_of(o);
  pto_observe_select(o, NULL);
  pto_observe_set_before(o);
  for (uint32_t i = 0; i < moved->count; i++)
    memcpy(moved->pieces[i].to, (const void *)(uintptr_t)moved->pieces[i].lo,
           moved->pieces[i].hi - moved->pieces[i].lo);
  for (uint32_t i = 0; i < o->call.param_count; i++) {
    moved->addresses[i] = tensors[i].addr;
    if (tensors[i].addr && (tensor_bits >> i & 1))
      tensors[i].addr = (char *)tensors[i].addr + away_of(moved, &o->call.params[i].region);
  }
  if (target != source) tensors[target].addr = tensors[source].addr;
  struct pto_region_runs runs = pto_region_runs(other ? other : &(struct pto_region){0});
  for (uint64_t lo; pto_region_runs_next(&runs, &lo);)
    pto_observe_select_range(o, (struct pto_observe_range){lo, lo + other->run_bytes});
  const struct pto_observe_outcome outcome = pto_observe_run_again(o, PTO_OBSERVE_NEGATIVE, PTO_OBSERVE_NO_LOCAL);
  for (uint32_t i = 0; i < o->call.param_count; i++) tensors[i].addr = moved->addresses[i];
  return outcome;
}

/* ---- placement ---- */

static void judge_placement(struct pto_observation *o) {
  struct moved moved = {0};
  uint64_t at;
  for (uint32_t i = 0; i < o->call.param_count; i++) join(&moved, &o->call.params[i].region);
  if (moved.count && reserve_copies(&moved)) {
    const struct pto_observe_outcome outcome = run_moved(o, &moved, UINT32_MAX, 0, 0, NULL);
    for (uint32_t i = 0; i < o->call.param_count && !outcome.caught; i++) {
      const struct pto_observe_param *param = &o->call.params[i];
      if (!(param->mode & PTO_OUTPUT)) continue;
      if (pto_observe_is_as_first(o, param, away_of(&moved, &param->region), &at)) continue;
      pto_observe_report_promise(o, PTO_FINDING_PLACEMENT, param, at,
                                 "comes out different when all tensors lie elsewhere: the result depends on addresses",
                                 "compute with elements and offsets, not with `tensors[i].addr`");
      break;
    }
  }
  pto_reserve_fini(&moved.memory);
}

/* ---- in place ---- */

static bool is_same_layout(const struct pto_kernel_tensor *a, const struct pto_kernel_tensor *b) {
  return a->ndims == b->ndims && pto_dtype_bits(a->dtype) == pto_dtype_bits(b->dtype) &&
         memcmp(a->shape, b->shape, a->ndims * sizeof *a->shape) == 0 &&
         memcmp(a->strides, b->strides, a->ndims * sizeof *a->strides) == 0;
}

/* Elements that the last run has not written. */
static void find_left(struct pto_observation *o, const struct pto_observe_param *param,
                      struct pto_observe_bytes *left) {
  const uint64_t page_bytes = o->memory->page_bytes;
  struct pto_region_runs runs = pto_region_runs(&param->region);
  for (uint64_t lo; pto_region_runs_next(&runs, &lo);)
    for (uint64_t at = lo, end; at < lo + param->region.run_bytes; at = end) {
      bool is_written = false;
      end = at + param->element_bytes;
      for (uint64_t byte = at; byte < end; byte++)
        is_written |= pto_observe_has_changed(o, pto_observe_call_find(o->memory, byte), byte & (page_bytes - 1),
                                              PTO_OBSERVE_NEGATIVE);
      if (!is_written) pto_observe_bytes_add(left, at, end);
    }
}

static void judge_pair(struct pto_observation *o, uint32_t input, uint32_t output) {
  const struct pto_observe_param *in = &o->call.params[input], *out = &o->call.params[output];
  const bool is_in_place = in->region.start == out->region.start;
  struct moved moved = {0};
  uint64_t at = 0, away = 0;
  if (!is_in_place && pto_region_intersects(&in->region, &out->region, NULL)) return;
  join(&moved, &in->region);
  if (!moved.count || !reserve_copies(&moved)) return;
  if (!is_in_place) away = away_of(&moved, &in->region) + in->region.start - out->region.start;
  /* Of a call in place the input alone lies elsewhere. */
  const uint32_t tensor_bits = is_in_place ? UINT32_C(1) << input : UINT32_MAX;
  const bool writes_all = is_in_place && !o->call.has_others; /* of several units each writes a part */
  const struct pto_observe_outcome outcome =
      run_moved(o, &moved, tensor_bits, input, is_in_place ? input : output, writes_all ? &out->region : NULL);
  struct pto_observe_bytes left = {0};
  if (!outcome.caught && writes_all) find_left(o, out, &left);
  if (left.count)
    pto_observe_task_leave_in_place(o, out, &left);
  else if (!outcome.caught && !pto_observe_is_as_first(o, out, away, &at))
    pto_observe_report_promise(o, PTO_FINDING_MODE, out, at,
                               is_in_place ? "comes out different when the input lies apart, though the kernel is "
                                             "declared PTO_KERNEL_IN_PLACE"
                                           : "comes out different when the input lies there too, though the kernel is "
                                             "declared PTO_KERNEL_IN_PLACE",
                               is_in_place ? "let the kernel read its input where that lies, not through the output"
                                           : "take PTO_KERNEL_IN_PLACE out of its flags");
  pto_observe_bytes_fini(o, &left);
  pto_reserve_fini(&moved.memory);
}

static void judge_in_place(struct pto_observation *o) {
  const struct pto_kernel_tensor *tensors = o->call.payload->tensors;
  const struct pto_kernel *kernel = o->call.payload->kernels[o->call.unit->messages[0].role];
  for (uint32_t i = 0; (kernel->flags & PTO_KERNEL_IN_PLACE) && i < o->call.param_count; i++)
    for (uint32_t j = 0; j < o->call.param_count; j++)
      if (o->call.params[i].mode == PTO_INPUT && o->call.params[j].mode == PTO_OUTPUT && tensors[i].addr &&
          tensors[j].addr && is_same_layout(&tensors[i], &tensors[j])) {
        judge_pair(o, i, j);
        return;
      }
}

/* ---- another core ---- */

/* A byte that both cores write, and not the same; 0: there is none.  Bytes that only one writes are of a place that
 * each core has for itself. */
static uint64_t find_other_value(const struct pto_observation *o, const uint8_t *written_before) {
  const struct pto_observe_memory *m = o->memory;
  for (uint32_t slot = 0; slot < m->pages.count; slot++) {
    const struct pto_observe_page *page = &pto_observe_pages(m)[slot];
    const uint8_t *after = pto_observe_at(m, m->after, slot), *written = written_before + slot * m->page_bytes;
    const uint8_t *now = (const uint8_t *)(uintptr_t)page->addr, *classes = pto_observe_at(m, m->classes, slot);
    for (uint64_t i = 0; i < m->page_bytes; i++)
      if (now[i] != after[i] && written[i] && (classes[i] & PTO_OBSERVE_WRITE) &&
          pto_observe_has_changed(o, slot, i, PTO_OBSERVE_NEGATIVE))
        return page->addr + i;
  }
  return 0;
}

/* The same of a run that sees itself on this core. */
static uint64_t find_on_core(struct pto_observation *o, const uint8_t *written_before, enum pto_observed_core core) {
  pto_observed_unit_move(o->port, core);
  const struct pto_observe_outcome outcome = pto_observe_run_again(o, PTO_OBSERVE_NEGATIVE, PTO_OBSERVE_NO_LOCAL);
  pto_observed_unit_move(o->port, PTO_OBSERVED_OWN);
  return outcome.differs && !outcome.caught ? find_other_value(o, written_before) : 0;
}

static void judge_core(struct pto_observation *o) {
  struct pto_observe_kept kept;
  if (!pto_observe_keep(o, &kept)) return;
  pto_observe_select(o, pto_observe_must_not_matter); /* so that also what leaves the value that was there is seen */
  const uint64_t at = find_on_core(o, kept.written, PTO_OBSERVED_OTHER);
  const bool is_of_lane = at && find_on_core(o, kept.written, PTO_OBSERVED_ITS_LANE);
  pto_observe_give_back(o, &kept); /* what another core writes is not this one's */
  const struct pto_observe_param *param = at ? pto_observe_nearest(o, at, at + 1) : NULL;
  if (param)
    pto_observe_report_promise(o, PTO_FINDING_PLACEMENT, param, at,
                               is_of_lane ? "comes out different on another core: the result depends on the core's "
                                            "lane, and which lane runs a block is left to the scheduler"
                                          : "comes out different on another core: the result depends on the core's "
                                            "number, and which core runs a block is left to the scheduler",
                               is_of_lane ? "launch a kernel for each lane, as aiv0 and aiv1"
                                          : "take `args->core->block_index` in its place");
}

/* ---- another time ---- */

static void judge_time(struct pto_observation *o) {
  struct pto_observe_outcome outcome = {0};
  if (pto_observed_unit_later(o->port, true)) {
    pto_observe_select(o, NULL);
    outcome = pto_observe_run_again(o, PTO_OBSERVE_NEGATIVE, PTO_OBSERVE_NO_LOCAL);
  }
  (void)pto_observed_unit_later(o->port, false);
  if (outcome.differs) pto_observe_report_time(o, &outcome);
}

/* With its tensors elsewhere such a call would write elsewhere too, and that would be told as what it does. */
static bool writes_outside(const struct pto_observation *o) {
  const struct pto_observe_memory *m = o->memory;
  for (uint32_t slot = 0; slot < m->pages.count; slot++) {
    const uint8_t *written = pto_observe_at(m, m->written, slot), *classes = pto_observe_at(m, m->classes, slot);
    for (uint64_t i = 0; i < m->page_bytes; i++)
      if (written[i] && !(classes[i] & PTO_OBSERVE_WRITE)) return true;
  }
  return false;
}

void pto_observe_judge_promises(struct pto_observation *o, bool is_first_of_form) {
  if (o->call.unit->waits) judge_time(o);
  if (!is_first_of_form || (!o->call.unit->waits && o->call.unit->count != 1) || writes_outside(o)) return;
  for (uint32_t i = 0; i < o->call.param_count; i++)
    if (!(o->call.params[i].mode & PTO_INOUT)) return;
  judge_core(o);
  if (o->call.unit->waits) return;
  judge_placement(o);
  judge_in_place(o);
}
