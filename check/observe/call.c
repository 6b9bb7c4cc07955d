/* SPDX-License-Identifier: MIT */
#include <check/observe/state.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <runtime/base/clock.h>
#include <runtime/tensor/tensor_make.h>

/* What a repeated run may take of processor time beyond ten times the first; and what a core may take between two calls
 * of pto/core.h in the first run of a unit that waits: one that polls without letting others run goes on for ever. */
#define LIMIT_US 1000000u
#define STRETCH_LIMIT_US 10000000u
/* Calls of one form of which all is asked, whatever their scalars: the same mistake shows the same way in the others.
 */
#define FULL_CALLS 4u
/* Pages that are kept for a run which is to leave no trace. */
#define MOST_KEPT_BYTES (UINT64_C(4) << 20)

uint64_t pto_observe_now_ns(void) { return pto_clock_of_ns(CLOCK_THREAD_CPUTIME_ID); }

/* ---- what a unit declares ---- */

/* A held parameter's kernel may do either. */
static uint32_t without_hold(uint32_t mode) { return mode == PTO_HOLD ? PTO_INOUT : mode; }

uint32_t pto_observe_task_mode(const struct pto_payload *payload, uint32_t param) {
  uint32_t mode = PTO_UNUSED;
  for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++)
    if (payload->kernels[k]) mode |= payload->kernels[k]->params[param].mode;
  return without_hold(mode);
}

/* What the unit's kernels do to a parameter. */
static uint32_t unit_mode(const struct pto_observe_call *call, uint32_t param) {
  uint32_t mode = PTO_UNUSED;
  for (uint32_t k = 0; k < call->unit->count; k++)
    mode |= call->payload->kernels[call->unit->messages[k].role]->params[param].mode;
  return without_hold(mode);
}

static uint64_t mix(uint64_t key, uint64_t value) { return pto_mix64(key ^ value) + UINT64_C(0x9e3779b97f4a7c15); }

static uint64_t form_key(const struct pto_observe_call *call) {
  const struct pto_message *first = &call->unit->messages[0];
  uint64_t key = mix(call->unit->count, first->role);
  for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++) key = mix(key, (uintptr_t)call->payload->kernels[k]);
  for (uint32_t i = 0; i < first->tensor_count; i++) {
    const struct pto_kernel_tensor *t = &call->payload->tensors[i];
    key = mix(key, t->ndims | (uint64_t)t->dtype << 32);
    for (uint32_t d = 0; d < t->ndims; d++) key = mix(mix(key, t->shape[d]), t->strides[d]);
  }
  return key | 1;
}

/* The unit's form.  NULL where others fill the table: then no limit of calls applies. */
static struct pto_observe_form *find_form(struct pto_observation *o, uint64_t key) {
  struct pto_observe_form *forms = o->forms_memory.addr;
  for (uint32_t i = 0; i < 64; i++) {
    struct pto_observe_form *form = &forms[(key + i) % PTO_OBSERVE_FORMS];
    if (form->key == 0) form->key = key;
    if (form->key == key) return form;
  }
  return NULL;
}

static uint32_t scalars_key(const struct pto_observe_call *call) {
  const struct pto_message *first = &call->unit->messages[0];
  const union pto_scalar *scalars = (const void *)&call->payload->tensors[first->tensor_count];
  uint64_t key = 0;
  for (uint32_t i = 0; i < first->scalar_count; i++) key = mix(key, scalars[i].u64);
  return (uint32_t)(key >> 32);
}

bool pto_observe_is_full(const struct pto_observation *o) {
  struct pto_observe_form *form = o->call.form_entry;
  const uint32_t key = scalars_key(&o->call);
  if (!form) return true;
  bool is_new = form->scalar_count < PTO_OBSERVE_SCALARS;
  for (uint32_t i = 0; i < form->scalar_count; i++) is_new &= form->scalars[i] != key;
  if (is_new) form->scalars[form->scalar_count++] = key;
  return is_new || form->calls < FULL_CALLS;
}

bool pto_observe_is_wanted(const struct pto_observation *o) {
  const struct pto_observe_form *form = o->call.form_entry;
  const uint64_t number = o->call.payload->task_number;
  if (o->options.has_tasks && (number < o->options.first_task || number > o->options.last_task)) return false;
  return !o->options.calls_a_form || !form || form->calls < o->options.calls_a_form;
}

void pto_observe_describe(struct pto_observation *o, const struct pto_observed_unit *unit) {
  struct pto_observe_call *call = &o->call;
  const struct pto_message *first = &unit->messages[0];
  const struct pto_payload *payload = first->payload;
  const struct pto_kernel *kernel = payload->kernels[first->role];
  const uint32_t blocks = first->flags & PTO_MESSAGE_BLOCKS ? payload->block_count : 1;
  call->unit = unit;
  call->payload = payload;
  call->task = pto_observe_told_task(payload);
  call->label = pto_observe_label(first->block_index, first->role);
  call->has_others = unit->count < pto_observe_kernel_count(payload) * blocks;
  call->has_shared = call->is_unstable = false;
  call->status = 0;
  call->runs = call->param_count = call->calling_roles = 0;
  call->form_entry = find_form(o, form_key(call));
  for (uint32_t i = 0, t = 0; i < kernel->param_count && t < first->tensor_count; i++) {
    const uint32_t task_mode = pto_observe_task_mode(payload, i);
    if (task_mode == PTO_SCALAR) continue;
    struct pto_observe_param *param = &call->params[call->param_count++];
    *param = (struct pto_observe_param){.mode = unit_mode(call, i),
                                        .task_mode = task_mode,
                                        .index = i,
                                        .element_bytes = pto_dtype_size(payload->tensors[t].dtype),
                                        .is_packed = pto_dtype_bits(payload->tensors[t].dtype) == 4,
                                        .name = kernel->params[i].name};
    pto_region_from_kernel_tensor(&payload->tensors[t++], &param->region);
    if (pto_observe_memory_is_hollow(o->memory, param->region.start)) { /* nothing is there to be looked at */
      param->region = (struct pto_region){0};
      param->mode = param->task_mode = PTO_UNUSED;
    }
  }
}

static uint8_t class_of(const struct pto_observe_call *call, const struct pto_observe_param *param) {
  uint8_t byte_class = (uint8_t)(param->mode & PTO_ACCUMULATE);
  const bool is_written_by_others =
      call->has_others && (param->task_mode & PTO_OUTPUT) && param->task_mode != PTO_ACCUMULATE;
  if ((param->mode & PTO_INPUT) && is_written_by_others) byte_class |= PTO_OBSERVE_SHARED;
  return byte_class;
}
_Static_assert((int)PTO_OBSERVE_READ == (int)PTO_INPUT && (int)PTO_OBSERVE_WRITE == (int)PTO_OUTPUT &&
                   (int)(PTO_OBSERVE_READ | PTO_OBSERVE_WRITE | PTO_OBSERVE_ACCUMULATE) == (int)PTO_ACCUMULATE,
               "a mode's bits are a class's");

/* Says of [lo, hi) what the unit may do with it. */
static bool declare_bytes(struct pto_observation *o, uint64_t lo, uint64_t hi, uint8_t byte_class) {
  struct pto_observe_memory *m = o->memory;
  while (lo < hi) {
    const uint32_t slot = pto_observe_call_page(m, lo);
    if (slot == PTO_OBSERVE_NO_SLOT) return false;
    const uint64_t page = pto_observe_pages(m)[slot].addr, end = pto_min_u64(hi, page + m->page_bytes);
    uint8_t *classes = pto_observe_at(m, m->classes, slot);
    for (uint64_t at = lo - page; at < end - page; at++) classes[at] |= byte_class;
    lo = end;
  }
  return true;
}

/* Bytes to be read alone: whole pages of them need no looking at, unless a task forgot to write them. */
static bool declare_reads(struct pto_observation *o, uint64_t lo, uint64_t hi, uint8_t byte_class) {
  struct pto_observe_memory *m = o->memory;
  uint64_t plain_lo = 0, plain_hi = 0;
  bool is_ok = true;
  for (uint64_t page = lo & ~(m->page_bytes - 1); page < hi && is_ok; page += m->page_bytes) {
    const uint64_t end = page + m->page_bytes;
    if (lo <= page && end <= hi && byte_class == PTO_OBSERVE_READ &&
        pto_observe_shadow_is_written(&o->shadow, page, end) && pto_observe_call_find(m, page) == PTO_OBSERVE_NO_SLOT &&
        pto_observe_memory_has(m, page)) {
      if (plain_hi != page) {
        pto_observe_call_reads(m, plain_lo, plain_hi);
        plain_lo = page;
      }
      plain_hi = end;
    } else {
      is_ok = declare_bytes(o, pto_max_u64(lo, page), pto_min_u64(hi, end), byte_class);
    }
  }
  pto_observe_call_reads(m, plain_lo, plain_hi);
  return is_ok;
}

/* The pages of a region, neighbours together. */
static bool declare_pages(struct pto_observation *o, const struct pto_region *region) {
  struct pto_observe_memory *m = o->memory;
  struct pto_region_runs runs = pto_region_runs(region);
  struct pto_observe_range pages = {0, 0};
  for (uint64_t lo; pto_region_runs_next(&runs, &lo);) {
    const uint64_t hi = lo + region->run_bytes, page = lo & ~(m->page_bytes - 1);
    if (page > pages.hi || page < pages.lo) {
      if (!pto_observe_call_pages(m, pages.lo, pages.hi)) return false;
      pages.lo = page;
      pages.hi = page;
    }
    pages.hi = pto_max_u64(pages.hi, pto_align_up(hi, m->page_bytes));
  }
  return pto_observe_call_pages(m, pages.lo, pages.hi);
}

static bool declare_param(struct pto_observation *o, const struct pto_observe_param *param) {
  const uint8_t byte_class = class_of(&o->call, param);
  struct pto_region_runs runs = pto_region_runs(&param->region);
  bool is_ok = true;
  if ((param->mode & PTO_OUTPUT) || param->region.run_bytes < o->memory->page_bytes)
    is_ok = declare_pages(o, &param->region);
  for (uint64_t lo; is_ok && pto_region_runs_next(&runs, &lo);) {
    const uint64_t hi = lo + param->region.run_bytes;
    is_ok = param->mode & PTO_OUTPUT ? declare_bytes(o, lo, hi, byte_class) : declare_reads(o, lo, hi, byte_class);
  }
  if (byte_class & PTO_OBSERVE_SHARED) o->call.has_shared = true;
  return is_ok;
}

/* The last byte of an odd number of 4-bit elements: its upper half belongs to no element, and stays as it is. */
static bool declare_half(struct pto_observation *o, const struct pto_observe_param *param,
                         const struct pto_kernel_tensor *tensor) {
  uint64_t numel = 1;
  if (pto_dtype_bits(tensor->dtype) != 4 || !(param->mode & PTO_OUTPUT)) return true;
  for (uint32_t d = 0; d < tensor->ndims; d++) numel *= tensor->shape[d];
  return numel % 2 == 0 || declare_bytes(o, param->region.end - 1, param->region.end, PTO_OBSERVE_HALF);
}

/* Marks the bytes to be read that no task has written. */
static void mark_unwritten(struct pto_observation *o, uint32_t slot) {
  struct pto_observe_memory *m = o->memory;
  const uint64_t page = pto_observe_pages(m)[slot].addr;
  uint8_t *classes = pto_observe_at(m, m->classes, slot);
  if (pto_observe_shadow_is_written(&o->shadow, page, page + m->page_bytes)) return;
  for (uint64_t i = 0; i < m->page_bytes; i++)
    if ((classes[i] & PTO_OBSERVE_READ) && !pto_observe_shadow_is_written(&o->shadow, page + i, page + i + 1))
      classes[i] |= PTO_OBSERVE_UNWRITTEN;
}

bool pto_observe_declare(struct pto_observation *o) {
  struct pto_observe_memory *m = o->memory;
  struct pto_observe_call *call = &o->call;
  /* What is written first: its pages are looked at whole, also for those that read there. */
  for (int writes = 1; writes >= 0; writes--)
    for (uint32_t i = 0; i < call->param_count; i++) {
      const struct pto_observe_param *param = &call->params[i];
      if (!(param->mode & PTO_INOUT) || (bool)(param->mode & PTO_OUTPUT) != (bool)writes) continue;
      if (!declare_param(o, param) || !declare_half(o, param, &call->payload->tensors[i])) return false;
    }
  for (uint32_t i = 0; m->ends.count <= PTO_OBSERVE_MAX_ENDS && i < m->ends.count; i++)
    if (pto_observe_call_page(m, ((const uint64_t *)m->ends.memory.addr)[i]) == PTO_OBSERVE_NO_SLOT) return false;
  for (uint32_t slot = 0; slot < m->pages.count; slot++) mark_unwritten(o, slot);
  pto_observe_call_open(m);
  return !m->is_full;
}

void pto_observe_assume_writes(struct pto_observation *o) {
  for (uint32_t i = 0; i < o->call.param_count; i++) {
    const struct pto_observe_param *param = &o->call.params[i];
    struct pto_region_runs runs = pto_region_runs(&param->region);
    if (!(param->mode & PTO_OUTPUT)) continue;
    for (uint64_t lo; pto_region_runs_next(&runs, &lo);)
      pto_observe_shadow_write(&o->shadow, lo, lo + param->region.run_bytes);
  }
}

/* ---- runs ---- */

/* Pages are gone through in blocks of a constant size, by loops that compilers make vectors of. */
#define BLOCK 4096u

/* What bytes that must not matter are given: the upper half from here, the rest from noise, the last bit from `sel`.
 * As floats of any width these are numbers which outweigh others, or NaN; and what is read in one place and written to
 * an OUTPUT is not what happens to lie there.  Of special values noise has all, and they are as they are. */
static const struct given {
  uint8_t upper, flip; /* what makes it another value where it would be the one that is there */
} given_of[] = {[PTO_OBSERVE_NEGATIVE] = {0xf0, 8},
                [PTO_OBSERVE_POSITIVE] = {0x70, 8},
                [PTO_OBSERVE_NAN] = {0, 0},
                [PTO_OBSERVE_INFINITE] = {0, 0}};
/* NaN as a float of any width, and infinities of both signs as float32 (in OUTPUTs; elsewhere their last bits make them
 * NaN), by turns.  As a float16 or bfloat16 the latter are 0, and NaN or infinite. */
static const uint8_t special[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0x80, 0x7f, 0, 0, 0x80, 0xff};

/* `before`, or another value where `sel` is not 0; in its lower half alone where sel's upper half is 0. */
static inline uint8_t begun_with(uint8_t before, uint8_t sel, uint8_t noise, struct given given) {
  const uint8_t changes = sel | 1, value = (uint8_t)(given.upper | noise | (sel & 1));
  const uint8_t usual = (uint8_t)((before & ~changes) | (value & changes));
  const uint8_t other = before == usual ? usual ^ given.flip : usual;
  return sel ? other : before;
}

void pto_observe_make_noise(struct pto_observation *o) {
  struct pto_rng rng = {.state = 1};
  uint8_t *noise = o->noise_memory.addr;
  for (uint64_t i = 0; i < 2 * o->memory->page_bytes; i++) {
    noise[i] = (uint8_t)(pto_rng_next(&rng) & 14);
    noise[2 * o->memory->page_bytes + i] = special[i % sizeof special];
  }
}

/* Each page and pattern has another piece of it; special values lie alike in all pages, those of one pattern where the
 * other's are of the other kind. */
static const uint8_t *noise_of(const struct pto_observation *o, uint64_t page, enum pto_observe_pattern pattern) {
  const uint8_t *noise = o->noise_memory.addr;
  if (pattern == PTO_OBSERVE_NAN) return noise + 2 * o->memory->page_bytes;
  if (pattern == PTO_OBSERVE_INFINITE) return noise + 2 * o->memory->page_bytes + sizeof special / 2;
  return noise + pto_mix64(page + pattern) % o->memory->page_bytes;
}

static void set_block(uint8_t *restrict memory, const uint8_t *restrict before, const uint8_t *restrict sel,
                      const uint8_t *restrict noise, struct given given) {
  for (uint32_t i = 0; i < BLOCK; i++) memory[i] = begun_with(before[i], sel[i], noise[i], given);
}

/* Notes what was written; not 0 where something is not as the first run left it. */
static uint8_t compare_block(const uint8_t *restrict memory, const uint8_t *restrict before,
                             const uint8_t *restrict after, const uint8_t *restrict sel, uint8_t *restrict written,
                             const uint8_t *restrict noise, struct given given) {
  uint8_t any = 0;
  for (uint32_t i = 0; i < BLOCK; i++) {
    const uint8_t begun = begun_with(before[i], sel[i], noise[i], given);
    const uint8_t writes = (uint8_t)((after[i] != before[i]) | (memory[i] != begun));
    written[i] |= writes;
    any |= (uint8_t)(writes & (memory[i] != after[i]));
  }
  return any;
}

static void first_block(const uint8_t *restrict before, const uint8_t *restrict after, uint8_t *restrict written) {
  for (uint32_t i = 0; i < BLOCK; i++) written[i] = after[i] != before[i];
}

/* What a run begins with. */
static void set_page(const struct pto_observation *o, uint32_t slot, enum pto_observe_pattern pattern) {
  const struct pto_observe_memory *m = o->memory;
  const struct pto_observe_page *page = &pto_observe_pages(m)[slot];
  const uint8_t *before = pto_observe_at(m, m->before, slot), *sel = pto_observe_at(m, m->sel, slot);
  const uint8_t *classes = pto_observe_at(m, m->classes, slot);
  uint8_t *memory = (uint8_t *)(uintptr_t)page->addr;
  const uint8_t *noise = noise_of(o, page->addr, pattern);
  const struct given given = given_of[pattern];
  if (page->is_guarded)
    for (uint64_t at = 0; at < m->page_bytes; at += BLOCK)
      set_block(memory + at, before + at, sel + at, noise + at, given);
  else
    for (uint64_t i = 0; i < m->page_bytes; i++)
      if (!pto_observe_is_of_others(classes[i])) memory[i] = begun_with(before[i], sel[i], noise[i], given);
}

/* What a run has shown; true where it differs from the first. */
static bool compare_page(const struct pto_observation *o, uint32_t slot, enum pto_observe_pattern pattern) {
  const struct pto_observe_memory *m = o->memory;
  const uint8_t *before = pto_observe_at(m, m->before, slot), *sel = pto_observe_at(m, m->sel, slot);
  const uint8_t *after = pto_observe_at(m, m->after, slot), *classes = pto_observe_at(m, m->classes, slot);
  const uint8_t *memory = (const uint8_t *)(uintptr_t)pto_observe_pages(m)[slot].addr;
  const uint8_t *noise = noise_of(o, pto_observe_pages(m)[slot].addr, pattern);
  const struct given given = given_of[pattern];
  uint8_t *written = pto_observe_at(m, m->written, slot);
  uint8_t any = 0;
  if (pto_observe_pages(m)[slot].is_guarded) {
    for (uint64_t at = 0; at < m->page_bytes; at += BLOCK)
      any |= compare_block(memory + at, before + at, after + at, sel + at, written + at, noise + at, given);
    return any;
  }
  for (uint64_t i = 0; i < m->page_bytes; i++) {
    const uint8_t begun = begun_with(before[i], sel[i], noise[i], given);
    if (pto_observe_is_of_others(classes[i]) || (after[i] == before[i] && memory[i] == begun)) continue;
    written[i] = 1;
    any |= memory[i] != after[i];
  }
  return any;
}

static void note_differences(const struct pto_observation *o, uint32_t slot, enum pto_observe_pattern pattern,
                             struct pto_observe_outcome *outcome) {
  const struct pto_observe_memory *m = o->memory;
  const uint64_t page = pto_observe_pages(m)[slot].addr;
  const uint8_t *before = pto_observe_at(m, m->before, slot), *sel = pto_observe_at(m, m->sel, slot);
  const uint8_t *after = pto_observe_at(m, m->after, slot), *classes = pto_observe_at(m, m->classes, slot);
  const uint8_t *noise = noise_of(o, page, pattern);
  const struct given given = given_of[pattern];
  for (uint64_t i = 0; i < m->page_bytes; i++) {
    const uint8_t value = ((const uint8_t *)(uintptr_t)page)[i];
    const uint8_t begun = begun_with(before[i], sel[i], noise[i], given);
    if (pto_observe_is_of_others(classes[i]) || value == after[i] || (after[i] == before[i] && value == begun))
      continue;
    if (!outcome->first_difference || page + i < outcome->first_difference) outcome->first_difference = page + i;
    if (page + i > outcome->last_difference) outcome->last_difference = page + i;
  }
}

void pto_observe_set_before(struct pto_observation *o) {
  for (uint32_t slot = 0; slot < o->memory->pages.count; slot++) set_page(o, slot, PTO_OBSERVE_NEGATIVE);
}

static void run_first(void *context) {
  struct pto_observation *o = context;
  o->call.status = pto_observed_unit_run(o->port, (struct pto_observed_fill){0});
}

static void begin_stretch(void *context, const struct pto_core_event *event) {
  struct pto_observation *o = context;
  if (event->call) o->call.calling_roles |= (uint8_t)PTO_ROLE_BIT(event->message->role);
  pto_observe_memory_try_on(o->memory);
}

/* Of a unit that waits. */
static void run_first_waiting(struct pto_observation *o) {
  const struct pto_observe_schedule schedule = {.watch = {begin_stretch, o}};
  const uint64_t timeout_us = (uint64_t)o->rt->config.timeout_ms * 1000;
  const uint64_t limit_us = timeout_us ? pto_min_u64(timeout_us, STRETCH_LIMIT_US) : STRETCH_LIMIT_US;
  o->call.spinning_core = PTO_OBSERVE_NO_CORE;
  pto_observed_unit_schedule(o->port, &schedule);
  const bool is_back = pto_observe_memory_try_time(o->memory, run_first, o, limit_us);
  pto_observed_unit_schedule(o->port, NULL);
  if (is_back) return;
  o->call.spinning_core = pto_observed_unit_give_up(o->port, PTO_OBSERVE_RUNS_FOR_EVER);
  o->call.status = PTO_ETIMEOUT;
}

void pto_observe_run_first(struct pto_observation *o) {
  struct pto_observe_memory *m = o->memory;
  struct pto_observe_around around;
  pto_observe_around_begin(o, &around);
  const uint64_t begin_ns = pto_observe_now_ns();
  if (o->call.unit->waits && !o->is_refused)
    run_first_waiting(o);
  else
    run_first(o);
  o->call.first_ns = pto_observe_now_ns() - begin_ns;
  pto_observe_around_end(o, &around, &o->call.left);
  o->call.local = *pto_observed_unit_local(o->port);
  o->call.local_bytes = o->call.local_roles = 0;
  for (uint32_t i = 0; i < PTO_OBSERVED_LOCALS; i++) o->call.local_bytes += o->call.local.bytes[i];
  o->call.runs = 1;
  for (uint32_t slot = 0; slot < m->pages.count; slot++) {
    const uint8_t *before = pto_observe_at(m, m->before, slot), *classes = pto_observe_at(m, m->classes, slot);
    uint8_t *after = pto_observe_at(m, m->after, slot), *written = pto_observe_at(m, m->written, slot);
    memcpy(after, (const void *)(uintptr_t)pto_observe_pages(m)[slot].addr, m->page_bytes);
    for (uint64_t at = 0; at < m->page_bytes; at += BLOCK) first_block(before + at, after + at, written + at);
    if (!pto_observe_pages(m)[slot].is_guarded)
      for (uint64_t i = 0; i < m->page_bytes; i++) written[i] &= !(classes[i] & PTO_OBSERVE_SKIP);
  }
}

/* What each byte of local memory begins with; of the first run it is 0.  NaN comes first, since most calls have that
 * pattern alone.  A comparison passes NaN by: a maximum shows what it reads over the large value, a minimum over the
 * one far below 0. */
static const uint8_t local_value_of[] = {[PTO_OBSERVE_NEGATIVE] = 0xff,
                                         [PTO_OBSERVE_POSITIVE] = 0x71,
                                         [PTO_OBSERVE_NAN] = 0xf1,
                                         [PTO_OBSERVE_INFINITE] = 0xf1};

struct again {
  struct pto_observation *o;
  struct pto_observe_range local;
  uint8_t local_value;
  int status;
};
static void run_again(void *context) {
  struct again *again = context;
  const struct pto_observed_fill fill = {.begin = again->local.lo,
                                         .end = again->local.hi,
                                         .value = again->local_value,
                                         .roles = again->o->call.local_roles};
  again->status = pto_observed_unit_run(again->o->port, fill);
}

struct pto_observe_outcome pto_observe_run_again(struct pto_observation *o, enum pto_observe_pattern pattern,
                                                 struct pto_observe_range local) {
  struct pto_observe_memory *m = o->memory;
  struct pto_observe_outcome outcome = {0};
  struct again again = {o, local, local_value_of[pattern], 0};
  struct pto_observe_left_changed left;
  struct pto_observe_around around;
  for (uint32_t slot = 0; slot < m->pages.count; slot++) set_page(o, slot, pattern);
  pto_observe_statics_set(&o->statics);
  o->call.runs++;
  pto_observe_around_begin(o, &around);
  const bool is_back = pto_observe_memory_try(m, run_again, &again, LIMIT_US + o->call.first_ns / 100);
  pto_observe_around_end(o, &around, &left);
  if (!is_back) {
    pto_observed_unit_abandon(o->port);
    outcome.caught = m->caught;
    o->summary.is_short |= m->is_full;
    outcome.differs = true;
  }
  outcome.status = again.status;
  outcome.differs |= again.status != o->call.status;
  for (uint32_t slot = 0; slot < m->pages.count; slot++)
    if (compare_page(o, slot, pattern)) {
      outcome.differs = true;
      note_differences(o, slot, pattern, &outcome);
    }
  return outcome;
}

bool pto_observe_has_changed(const struct pto_observation *o, uint32_t slot, uint64_t at,
                             enum pto_observe_pattern pattern) {
  const struct pto_observe_memory *m = o->memory;
  const uint64_t page = pto_observe_pages(m)[slot].addr;
  const uint8_t before = pto_observe_at(m, m->before, slot)[at], sel = pto_observe_at(m, m->sel, slot)[at];
  const uint8_t begun = begun_with(before, sel, noise_of(o, page, pattern)[at], given_of[pattern]);
  return ((const uint8_t *)(uintptr_t)page)[at] != begun;
}

bool pto_observe_keep(const struct pto_observation *o, struct pto_observe_kept *kept) {
  const struct pto_observe_memory *m = o->memory;
  kept->bytes = m->pages.count * m->page_bytes;
  kept->before = kept->bytes <= MOST_KEPT_BYTES ? malloc(2 * kept->bytes + 1) : NULL;
  if (!kept->before) return false;
  kept->written = kept->before + kept->bytes;
  memcpy(kept->before, m->before, kept->bytes);
  memcpy(kept->written, m->written, kept->bytes);
  return true;
}

void pto_observe_give_back(const struct pto_observation *o, struct pto_observe_kept *kept) {
  memcpy(o->memory->before, kept->before, kept->bytes);
  memcpy(o->memory->written, kept->written, kept->bytes);
  free(kept->before);
}

void pto_observe_restore(struct pto_observation *o) {
  const struct pto_observe_memory *m = o->memory;
  pto_observe_statics_restore(&o->statics);
  for (uint32_t slot = 0; slot < m->pages.count; slot++) {
    const struct pto_observe_page *page = &pto_observe_pages(m)[slot];
    const uint8_t *after = pto_observe_at(m, m->after, slot), *classes = pto_observe_at(m, m->classes, slot);
    uint8_t *memory = (uint8_t *)(uintptr_t)page->addr;
    if (page->is_guarded)
      memcpy(memory, after, m->page_bytes);
    else
      for (uint64_t i = 0; i < m->page_bytes; i++)
        if (!pto_observe_is_of_others(classes[i])) memory[i] = after[i];
  }
}

bool pto_observe_must_not_matter(uint8_t byte_class) {
  if (pto_observe_is_of_others(byte_class)) return false;
  return !(byte_class & PTO_OBSERVE_READ) || (byte_class & PTO_OBSERVE_UNWRITTEN);
}

void pto_observe_select(struct pto_observation *o, bool (*wanted)(uint8_t byte_class)) {
  const struct pto_observe_memory *m = o->memory;
  uint8_t is_wanted[256];
  for (uint32_t i = 0; i < 256; i++) is_wanted[i] = wanted && wanted((uint8_t)i) ? pto_observe_selects((uint8_t)i) : 0;
  for (uint32_t slot = 0; slot < m->pages.count; slot++) {
    const uint8_t *classes = pto_observe_at(m, m->classes, slot);
    uint8_t *sel = pto_observe_at(m, m->sel, slot);
    for (uint64_t at = 0, count; at < m->page_bytes; at += count) { /* neighbours are mostly of one class */
      count = wanted ? pto_observe_same_bytes(classes, at, m->page_bytes) : m->page_bytes;
      memset(sel + at, wanted ? is_wanted[classes[at]] : 0, count);
    }
  }
}

void pto_observe_select_range(struct pto_observation *o, struct pto_observe_range range) {
  const struct pto_observe_memory *m = o->memory;
  while (range.lo < range.hi) {
    const uint32_t slot = pto_observe_call_find(m, range.lo);
    const uint64_t page = range.lo & ~(m->page_bytes - 1), end = pto_min_u64(range.hi, page + m->page_bytes);
    for (uint64_t i = range.lo - page; slot != PTO_OBSERVE_NO_SLOT && i < end - page; i++)
      pto_observe_at(m, m->sel, slot)[i] = pto_observe_selects(pto_observe_at(m, m->classes, slot)[i]);
    range.lo = end;
  }
}

/* ---- spans ---- */

struct page_order {
  uint64_t addr;
  uint32_t slot;
};

static int compare_pages(const void *left, const void *right) {
  const uint64_t a = ((const struct page_order *)left)->addr, b = ((const struct page_order *)right)->addr;
  return (a > b) - (a < b);
}

static struct page_order *sorted_pages(struct pto_observation *o, uint8_t **kinds_out) {
  const struct pto_observe_memory *m = o->memory;
  struct page_order *pages = (void *)((char *)o->scratch_memory.addr + m->page_bytes);
  bool is_sorted = true;
  for (uint32_t i = 0; i < m->pages.count; i++) {
    pages[i] = (struct page_order){pto_observe_pages(m)[i].addr, i};
    if (i && pages[i - 1].addr > pages[i].addr) is_sorted = false;
  }
  if (!is_sorted) qsort(pages, m->pages.count, sizeof *pages, compare_pages);
  *kinds_out = o->scratch_memory.addr;
  return pages;
}

void pto_observe_each_span(struct pto_observation *o, pto_observe_kinds_of *kinds_of,
                           void (*take)(struct pto_observation *o, const struct pto_observe_span *span, void *context),
                           void *context) {
  struct pto_observe_memory *m = o->memory;
  struct pto_observe_span span = {0, 0, 0};
  uint8_t *kinds;
  const struct page_order *pages = sorted_pages(o, &kinds);
  for (uint32_t i = 0; i < m->pages.count; i++) {
    kinds_of(o, pages[i].slot, kinds);
    for (uint64_t at = 0, count; at < m->page_bytes; at += count) {
      count = pto_observe_same_bytes(kinds, at, m->page_bytes);
      const uint64_t lo = pages[i].addr + at;
      if (span.kind == kinds[at] && span.hi == lo) {
        span.hi += count;
        continue;
      }
      if (span.kind) take(o, &span, context);
      span = (struct pto_observe_span){lo, lo + count, kinds[at]};
    }
  }
  if (span.kind) take(o, &span, context);
}
