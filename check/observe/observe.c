/* SPDX-License-Identifier: MIT */
#include <check/observe/observe.h>

#include <string.h>

#include <check/observe/state.h>
#include <runtime/base/memory_checker.h>
#include <runtime/base/sanitizer.h>
#include <runtime/base/valgrind_requests.h>

/* Calls of one form whose reads are searched byte by byte. */
#define FULL_SEARCHES 2u
/* Calls of one form that are asked for what their cores keep: it grows from call to call, so that few may show it. */
#define PRIVATE_CALLS 16u

/* ---- the run ---- */

static void register_memory(struct pto_observation *o, uint64_t lo, uint64_t hi, uint64_t buffer_number) {
  struct pto_observe_window window;
  if (o->rank && o->rank->find_window(o->rank->context, lo, &window)) {
    const struct pto_observe_area area = {
        .lo = window.lo, .hi = window.hi, .name = window.name, .owner = pto_observe_owner(o), .is_window = true};
    const bool is_known = pto_observe_memory_given(o->memory, lo) || pto_observe_memory_is_hollow(o->memory, lo);
    if (!is_known && window.is_peer) (void)pto_observe_memory_add_hollow(o->memory, window.lo, window.hi);
    if (!is_known && !window.is_peer) (void)pto_observe_memory_add(o->memory, area);
    if (window.is_peer) return;
  } else if (o->options.add_memory && !pto_observe_memory_given(o->memory, lo)) {
    o->options.add_memory(o->options.context, o, lo);
  }
  pto_observe_memory_register(o->memory, (struct pto_observe_external){lo, hi, buffer_number, pto_observe_owner(o)});
}

/* No callback tells what was registered before the run began. */
static void begin_run(struct pto_observation *o) {
  const struct pto_buffer_registry *buffers = &o->rt->buffers;
  if (o->is_in_run) return;
  o->is_in_run = true;
  pto_observe_shadow_reset(&o->shadow);
  o->is_refused = !pto_observe_memory_begin(o->memory, pto_observe_owner(o), o->arena);
  o->summary.is_refused |= o->is_refused;
  if (o->is_refused) return;
  for (uint32_t i = 0; i < buffers->used; i++) {
    const struct pto_buffer_record *record = &buffers->records[i];
    if (record->id && record->kind == PTO_BUFFER_EXTERNAL && record->size_bytes)
      register_memory(o, record->addr, record->addr + record->size_bytes, record->id);
  }
}

static void end_guard(struct pto_observation *o) {
  if (o->is_in_run && !o->is_refused) pto_observe_memory_end(o->memory);
  o->is_refused = false;
}

static void on_end_run(void *context) {
  struct pto_observation *o = context;
  if (!o->is_in_run) return;
  end_guard(o);
  if (!o->rt->has_failed) pto_observe_tasks_finish(o);
  pto_observe_tasks_clear(o);
  o->is_in_run = false;
}

static void on_allocated(void *context, uint64_t buffer_number, uint64_t addr, uint64_t size_bytes) {
  struct pto_observation *o = context;
  begin_run(o);
  if (size_bytes) pto_observe_shadow_allocate(&o->shadow, buffer_number, addr, size_bytes);
}
static void on_registered(void *context, uint64_t buffer_number, uint64_t addr, uint64_t size_bytes) {
  struct pto_observation *o = context;
  if (o->is_refused) return;
  if (o->is_in_run)
    register_memory(o, addr, addr + size_bytes, buffer_number);
  else if (o->rt->is_running)
    begin_run(o); /* which finds it, as it finds those of before the run */
}
static void on_host_writes(void *context, uint64_t addr, uint64_t size_bytes) {
  struct pto_observation *o = context;
  pto_observe_shadow_write(&o->shadow, addr, addr + size_bytes);
}
static void on_host_reads(void *context, uint64_t addr, uint64_t size_bytes, const void *call) {
  struct pto_observation *o = context;
  begin_run(o);
  pto_observe_report_host_read(o, addr, addr + size_bytes, call);
}
static void on_decided(void *context, uint32_t slot, int64_t element, bool holds) {
  struct pto_observation *o = context;
  begin_run(o);
  pto_observe_report_predicate(o, slot, element);
  if (!holds) pto_observe_task_skip(o, slot, element);
}

/* ---- writes ---- */

enum write_kind { WRITE_NONE = 0, WRITE_SUM, WRITE_INPUT, WRITE_UPDATE, WRITE_OUTPUT, WRITE_OUTSIDE };

static uint8_t write_kind(uint8_t byte_class) {
  if (byte_class & PTO_OBSERVE_ACCUMULATE) return WRITE_SUM;
  if (byte_class & PTO_OBSERVE_WRITE) return byte_class & PTO_OBSERVE_READ ? WRITE_UPDATE : WRITE_OUTPUT;
  return byte_class & PTO_OBSERVE_READ ? WRITE_INPUT : WRITE_OUTSIDE;
}

static void write_kinds(const struct pto_observation *o, uint32_t slot, uint8_t *kinds) {
  const struct pto_observe_memory *m = o->memory;
  const uint8_t *written = pto_observe_at(m, m->written, slot), *classes = pto_observe_at(m, m->classes, slot);
  for (uint64_t at = 0, count; at < m->page_bytes; at += count) {
    count = pto_min_u64(pto_observe_same_bytes(classes, at, m->page_bytes),
                        pto_observe_same_bytes(written, at, m->page_bytes));
    memset(kinds + at, written[at] ? write_kind(classes[at]) : WRITE_NONE, count);
  }
}

struct writes {
  struct pto_observe_bytes through_inputs, outside;
};

static void take_write(struct pto_observation *o, const struct pto_observe_span *span, void *context) {
  struct writes *writes = context;
  uint64_t lo = span->lo, hi = span->hi;
  /* What is to be read holds the true values in every run: of an element that was written, only some bytes differ.
   * Where parameters of several sizes share bytes, another block may write the rest of the larger element. */
  if (span->kind <= WRITE_UPDATE) {
    const uint64_t element_bytes = pto_observe_element_bytes(o, lo, hi);
    lo &= ~(element_bytes - 1);
    hi = pto_align_up(hi, element_bytes);
  }
  pto_observe_shadow_write(&o->shadow, lo, hi);
  if (span->kind == WRITE_INPUT) pto_observe_bytes_add(&writes->through_inputs, lo, hi);
  if (span->kind == WRITE_OUTSIDE) pto_observe_bytes_add(&writes->outside, lo, hi);
  if (span->kind != WRITE_SUM) pto_observe_task_add(o, lo, hi, false);
}

/* Stores that left what was there, in pages of which nothing is declared to be written, and nothing seen to be. */
static void judge_stores(struct pto_observation *o) {
  const struct pto_observe_memory *m = o->memory;
  for (uint32_t slot = 0; slot < m->pages.count; slot++) {
    const struct pto_observe_page *page = &pto_observe_pages(m)[slot];
    const uint8_t *written = pto_observe_at(m, m->written, slot);
    if (!page->store || written[0] || pto_observe_same_bytes(written, 0, m->page_bytes) < m->page_bytes) continue;
    const bool is_read = pto_observe_at(m, m->classes, slot)[page->store - page->addr] & PTO_OBSERVE_READ;
    pto_observe_report_store(o, is_read ? PTO_FINDING_WRITE_INPUT : PTO_FINDING_WRITE_OUTSIDE, page->store);
  }
}

static void judge_writes(struct pto_observation *o) {
  struct writes writes = {0};
  pto_observe_each_span(o, write_kinds, take_write, &writes);
  if (writes.through_inputs.count) pto_observe_report(o, PTO_FINDING_WRITE_INPUT, &writes.through_inputs, NULL);
  if (writes.outside.count) pto_observe_report(o, PTO_FINDING_WRITE_OUTSIDE, &writes.outside, NULL);
  judge_stores(o);
  pto_observe_bytes_fini(o, &writes.through_inputs);
  pto_observe_bytes_fini(o, &writes.outside);
}

/* ---- a unit ---- */

/* Runs over other values, and what they show; true where they are all like the first.  (One that reads what it is about
 * to write may leave there what lay there in both runs, and seem not to have written it.)  What weighs nothing or is
 * asked for as such shows over special values alone. */
static bool compare(struct pto_observation *o, struct pto_observe_form *form) {
  const uint32_t patterns = o->call.is_full ? PTO_OBSERVE_NAN + 1 : 1;
  for (uint32_t pattern = 0; pattern < patterns; pattern++) {
    pto_observe_select(o, pto_observe_must_not_matter);
    if (!pto_observe_run_again(o, pattern, pto_observe_all_local(o)).differs) continue;
    pto_observe_select(o, NULL);
    const struct pto_observe_outcome same = pto_observe_run_again(o, pattern, PTO_OBSERVE_NO_LOCAL);
    if (same.differs && pto_observe_is_of_thread(o))
      pto_observe_report_thread(o, &same);
    else if (same.differs && !pto_observe_blame_private(o))
      pto_observe_report_unstable(o, &same);
    else if (!same.differs)
      pto_observe_search(o, pattern, !form || form->searches++ < FULL_SEARCHES);
    return false;
  }
  if (o->call.has_shared) pto_observe_search_shared(o);
  return true;
}

/* Static variables of the unit's kernel; before its pages are looked at, since this may change the heap. */
static void begin_statics(struct pto_observation *o) {
  const struct pto_message *first = &o->call.unit->messages[0];
  const struct pto_observe_memory *m = o->memory;
  const void *function = (const void *)(uintptr_t)o->call.payload->kernels[first->role]->run;
  pto_observe_statics_find(&o->statics, function, m->external_lists);
  while (o->statics.count && o->statics.cut_count < m->externals.count) {
    const struct pto_observe_external *external = m->externals.memory.addr;
    external += o->statics.cut_count++;
    pto_observe_statics_cut(&o->statics, external->lo, external->hi);
  }
  pto_observe_statics_begin(&o->statics);
}

/* It has more pages than there is room for: it is observed no further. */
static void give_up(struct pto_observation *o) {
  pto_observe_call_end(o->memory);
  o->summary.calls_too_large++;
  o->summary.is_short |= o->rehearsal.is_going_on; /* what it does cannot be undone */
}

/* Whether all that it wrote is known. */
static bool look_at(struct pto_observation *o, struct pto_observe_form *form) {
  const char *data;
  uint64_t size_bytes;
  const bool notes_stores = o->call.is_full;
  if (notes_stores) pto_observe_call_note_stores(o->memory, true);
  pto_observe_run_first(o);
  pto_observe_private_end_first(o);
  if (notes_stores) pto_observe_call_note_stores(o->memory, false);
  if (o->memory->is_full) {
    give_up(o);
    pto_observe_assume_writes(o);
    pto_observe_note_uses(o, false);
    pto_observe_note_flags(o, false);
    return false;
  }
  if (pto_observe_statics_end_first(&o->statics, &data, &size_bytes)) pto_observe_report_state(o, data, size_bytes);
  pto_observe_report_left_changed(o);
  if (o->call.local.over.end) pto_observe_report_over(o);
  const bool are_alike = o->call.status == 0 && compare(o, form);
  pto_observe_report_addresses(o);
  if (are_alike && o->call.is_full) pto_observe_judge_thread(o);
  if (are_alike && (o->call.is_full || form->calls < PRIVATE_CALLS)) pto_observe_judge_private(o);
  if (are_alike && o->call.is_full) pto_observe_judge_sums(o);
  if (are_alike && o->call.is_full) pto_observe_judge_promises(o, !form || form->calls == 0);
  if (are_alike && o->call.is_full) pto_observe_judge_scalars(o);
  pto_observe_note_uses(o, are_alike);
  judge_writes(o);
  if (o->call.unit->waits && o->call.status == PTO_EDEADLOCK) pto_observe_report_stuck(o);
  if (o->call.unit->waits && o->call.status == PTO_ETIMEOUT) pto_observe_report_spinning(o);
  if (o->call.unit->waits && o->call.status == 0) pto_observe_judge_cores(o, are_alike);
  pto_observe_note_flags(o, are_alike);
  pto_observe_restore(o);
  pto_observe_private_leave(o);
  if (o->rehearsal.is_going_on) pto_observe_rehearsal_note(o);
  pto_observe_call_end(o->memory);
  o->summary.calls++;
  o->summary.waiting_units += o->call.unit->waits;
  o->summary.runs += o->call.runs;
  return are_alike;
}

static void pass_by(struct pto_observation *o) {
  pto_observe_memory_open_all(o->memory);
  pto_observe_run_first(o);
  pto_observe_assume_writes(o);
  pto_observe_note_uses(o, false);
  pto_observe_note_flags(o, false);
}

static void observe(void *context, const struct pto_observed_unit *unit) {
  struct pto_observation *o = context;
  const uint64_t begin_ns = pto_observe_now_ns();
  begin_run(o);
  pto_observe_describe(o, unit);
  struct pto_observe_form *form = o->call.form_entry;
  bool is_observed = !o->is_refused && (o->rehearsal.is_going_on || pto_observe_is_wanted(o)), knows_writes = false;
  if (is_observed) {
    begin_statics(o);
    pto_observe_private_begin(o);
    pto_observe_call_begin(o->memory);
    is_observed = pto_observe_declare(o);
    if (!is_observed) give_up(o);
  } else {
    o->summary.calls_left_out++;
  }
  o->call.is_full = is_observed && pto_observe_is_full(o);
  if (is_observed)
    knows_writes = look_at(o, form);
  else
    pass_by(o);
  if (o->call.status == 0) pto_observe_task_end_unit(o, knows_writes);
  if (form) form->calls += is_observed;
  o->summary.kernel_ns += o->call.first_ns;
  o->summary.total_ns += pto_observe_now_ns() - begin_ns;
}

/* A call that waits, or talks to other ranks: it runs once, while others go on. */
static void pass(void *context, struct pto_message *message) {
  struct pto_observation *o = context;
  const struct pto_observed_unit unit = {.messages = message, .count = 1};
  const bool is_remote = (message->payload->kernels[message->role]->flags & PTO_KERNEL_REMOTE) != 0;
  begin_run(o);
  if (!is_remote && !o->is_refused && pto_observe_rehearse(o, message)) return;
  o->summary.calls_remote += is_remote;
  pto_observe_describe(o, &unit);
  pto_observe_assume_writes(o);
}

/* ---- life ---- */

bool pto_observation_is_left_to_tool(void) { return PTO_HAS_SANITIZER || pto_is_under_valgrind(); }

struct pto_observe_group *pto_observe_group_create(void) {
  /* Pages of its own, as an observation has. */
  struct pto_reserve own;
  if (!pto_reserve_init(&own, sizeof(struct pto_observe_group))) return NULL;
  struct pto_observe_group *group = own.addr;
  group->own = own;
  if (pto_observation_is_left_to_tool() || pto_observe_memory_init(&group->memory)) return group;
  pto_observe_group_destroy(group);
  return NULL;
}

void pto_observe_group_destroy(struct pto_observe_group *group) {
  if (!group) return;
  pto_observe_memory_fini(&group->memory);
  struct pto_reserve own = group->own;
  pto_reserve_fini(&own);
}

static bool reserve_all(struct pto_observation *o) {
  return pto_observe_shadow_init(&o->shadow, o->arena.lo, o->arena.hi - o->arena.lo) &&
         pto_reserve_init(&o->forms_memory, PTO_OBSERVE_FORMS * sizeof(struct pto_observe_form)) &&
         pto_reserve_init(&o->noise_memory, 4 * o->memory->page_bytes) &&
         pto_reserve_init(&o->scratch_memory,
                          o->memory->page_bytes + 2 * sizeof(uint64_t) * (uint64_t)o->memory->pages.capacity);
}

int pto_observation_create(struct pto_runtime *rt, const struct pto_observe_options *options,
                           struct pto_findings *findings, struct pto_observation **observation_out,
                           struct pto_error *error) {
  if (!pto_port_is_observed(pto_runtime_port(rt)))
    return pto_error_set(error, PTO_EINVAL, "a runtime on engine %s cannot be observed", pto_runtime_port(rt)->name);
  /* Pages of its own: a kernel that runs off an array of the heap must not write over what the handler needs. */
  struct pto_reserve own;
  if (!pto_reserve_init(&own, sizeof(struct pto_observation)))
    return pto_error_set(error, PTO_ENOMEM, "no memory for an observation");
  struct pto_observation *o = own.addr;
  o->own = own;
  o->rt = rt;
  o->port = pto_runtime_port(rt);
  o->options = *options;
  o->findings = findings;
  o->rank = options->rank;
  o->group = o->rank ? o->rank->group : pto_observe_group_create();
  o->arena.lo = (uint64_t)(uintptr_t)rt->arena.memory.addr;
  o->arena.hi = o->arena.lo + rt->arena.memory.size_bytes;
  o->summary.is_watched_by_tool = pto_observation_is_left_to_tool();
  *observation_out = o;
  if (o->group) o->group->members[pto_observe_owner(o)] = o;
  if (o->group) o->memory = &o->group->memory;
  if (o->summary.is_watched_by_tool) return PTO_OK;
  if (!o->group || !reserve_all(o)) {
    pto_observation_destroy(o);
    *observation_out = NULL;
    return pto_error_set(error, PTO_ENOMEM, "no address space to observe %llu bytes of memory",
                         (unsigned long long)rt->arena.memory.size_bytes);
  }
  pto_observe_make_noise(o);
  if (o->rank && o->rank->stack) {
    const uint64_t stack = (uint64_t)(uintptr_t)o->rank->stack;
    (void)pto_observe_memory_add_stack(o->memory, stack, stack + o->rank->stack_bytes);
  }
  o->observer = (struct pto_engine_observer){.observe = observe, .pass = pass, .end_run = on_end_run, .context = o};
  o->watch = (struct pto_memory_watch){.allocated = on_allocated,
                                       .registered = on_registered,
                                       .host_writes = on_host_writes,
                                       .host_reads = on_host_reads,
                                       .decided = on_decided,
                                       .context = o};
  pto_port_set_observer(o->port, &o->observer);
  pto_runtime_watch(rt, &o->watch);
  return PTO_OK;
}

void pto_observation_finish(struct pto_observation *o) {
  if (!o->rt->has_failed) pto_observe_report_uses(o);
}

void pto_observation_destroy(struct pto_observation *o) {
  if (!o) return;
  pto_observation_finish(o);
  if (!o->summary.is_watched_by_tool && o->memory) {
    pto_port_set_observer(o->port, NULL);
    pto_runtime_watch(o->rt, NULL);
  }
  pto_observe_tasks_clear(o);
  pto_source_lines_destroy(o->lines);
  pto_observe_cores_destroy(o->cores);
  pto_observe_rehearsal_fini(&o->rehearsal);
  free(o->tasks);
  free(o->left);
  free(o->skipped);
  free(o->uses);
  pto_observe_statics_fini(&o->statics);
  pto_observe_private_fini(&o->own_memory);
  end_guard(o);
  if (o->group) o->group->members[pto_observe_owner(o)] = NULL;
  if (!o->rank)
    pto_observe_group_destroy(o->group);
  else if (!o->summary.is_watched_by_tool)
    pto_observe_memory_forget(o->memory, pto_observe_owner(o));
  pto_observe_shadow_fini(&o->shadow);
  pto_reserve_fini(&o->forms_memory);
  pto_reserve_fini(&o->noise_memory);
  pto_reserve_fini(&o->scratch_memory);
  struct pto_reserve own = o->own;
  pto_reserve_fini(&own);
}

static void add_area(struct pto_observation *o, struct pto_observe_area area) {
  area.owner = pto_observe_owner(o);
  if (!o->summary.is_watched_by_tool) (void)pto_observe_memory_add(o->memory, area);
}

void pto_observation_add_device(struct pto_observation *o, void *addr, uint64_t size_bytes) {
  const uint64_t lo = (uint64_t)(uintptr_t)addr;
  add_area(o, (struct pto_observe_area){.lo = lo, .hi = lo + size_bytes, .name = "device memory", .is_device = true});
}

void pto_observation_add_array(struct pto_observation *o, const struct pto_array *array, uint64_t margin_bytes) {
  const uint64_t lo = (uint64_t)(uintptr_t)array->data - margin_bytes;
  const uint64_t hi = lo + pto_align_up(array->size_bytes, margin_bytes) + 2 * margin_bytes;
  add_area(o, (struct pto_observe_area){.lo = lo, .hi = hi, .name = array->name, .array = array});
}

struct pto_observe_summary pto_observation_summary(const struct pto_observation *o) {
  struct pto_observe_summary summary = o->summary;
  summary.is_short |= o->memory && o->memory->is_short;
  return summary;
}

bool pto_observe_summary_fails(const struct pto_observe_summary *summary, struct pto_error *error) {
  if (summary->is_refused)
    pto_error_set(error, PTO_ESYSTEM, "another run of this process is being observed");
  else if (summary->is_short)
    pto_error_set(error, PTO_ENOMEM, "no memory for what kernels read and write");
  return summary->is_refused || summary->is_short;
}

void pto_observe_summary_add(struct pto_observe_summary *all, const struct pto_observe_summary *summary) {
  all->tasks += summary->tasks;
  all->calls += summary->calls;
  all->calls_left_out += summary->calls_left_out;
  all->calls_too_large += summary->calls_too_large;
  all->waiting_units += summary->waiting_units;
  all->units_judged += summary->units_judged;
  all->units_polling += summary->units_polling;
  all->calls_waiting += summary->calls_waiting;
  all->calls_remote += summary->calls_remote;
  all->outputs_left += summary->outputs_left;
  all->runs += summary->runs;
  all->kernel_ns += summary->kernel_ns;
  all->total_ns += summary->total_ns;
  all->is_watched_by_tool |= summary->is_watched_by_tool;
  all->is_short |= summary->is_short;
  all->is_refused |= summary->is_refused;
}
