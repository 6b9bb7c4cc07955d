/* SPDX-License-Identifier: MIT */
#include <runtime/base/call_stack.h>
#include <runtime/base/clock.h>
#include <runtime/base/sized.h>
#include <runtime/submit/record.h>
#include <runtime/submit/recorded.h>
#include <runtime/submit/template.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Tags tell handles of one runtime from those of another.  The one thing that runtimes of a process share. */
static uint16_t next_tag(void) {
  static atomic_uint last;
  /* relaxed: only distinctness matters */
  return (uint16_t)(atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) % UINT16_MAX + 1);
}

/* ---- creation ---- */

/* The arena, and the rings in it. */
static bool reserve_rings(struct pto_runtime *rt) {
  uint64_t heap_bytes = rt->config.heap_bytes;
  if (!pto_gm_arena_init(&rt->arena, heap_bytes, PTO_RING_COUNT, rt->port->looks_at_memory)) return false;
  if (!pto_task_rings_init(&rt->rings, (uint32_t)rt->config.window, rt->arena.memory.addr, heap_bytes)) return false;
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    const uint64_t window = rt->config.ring_window[i], own_bytes = rt->config.ring_heap_bytes[i];
    if (window) rt->rings.rings[i].capacity = (uint32_t)window - 1;
    pto_gm_arena_init_ring(&rt->arena, i, own_bytes ? own_bytes : heap_bytes, &rt->rings.rings[i].heap);
  }
  return true;
}

/* With a NULL base it only adds up. */
static uint64_t lay_out(struct pto_runtime *rt, char *base) {
  uint64_t used = 0;
  rt->finished = pto_carve(base, &used, rt->config.window * PTO_RING_COUNT * sizeof *rt->finished);
  rt->hazards.found = pto_carve(base, &used, pto_hazards_found_capacity(rt->config.window) * sizeof *rt->hazards.found);
  rt->templates = pto_carve(base, &used, (PTO_TEMPLATES + 1) * sizeof *rt->templates);
  rt->stopped = pto_carve(base, &used, sizeof *rt->stopped);
  return used;
}

static bool reserve_all(struct pto_runtime *rt) {
  const struct pto_config *config = &rt->config;
  uint32_t window = (uint32_t)config->window;
  uint64_t slots = (uint64_t)window * PTO_RING_COUNT;
  uint64_t accesses = pto_min_u64(slots * PTO_MAX_ACCESSES + 64, UINT32_MAX / 2);
  uint64_t entries = config->map_entries ? config->map_entries : accesses;
  /* A piece of the payload pool never changes its class: 576 units are one of every class up to the largest payload,
   * for the tasks of the three rings that come round within a run; those of the run's own scope come once.  Together
   * less than 2048 a slot of the window, and one payload that each template keeps, so only live tasks can fill it. */
  uint64_t payload_units = (slots * 2 + PTO_PAYLOAD_TEMPLATES) * PTO_PAYLOAD_MAX_UNITS;
  uint64_t chunks = config->list_chunks ? config->list_chunks : pto_min_u64(slots * 64 + 4096, UINT32_MAX / 2);
  uint32_t buckets = (uint32_t)pto_min_u64(pto_max_u64(2 * slots, 1024), UINT64_C(1) << 24);
  enum pto_policy policy;
  uint64_t seed;
  if (!pto_policy_parse(config->policy, &policy, &seed)) return false;
  return reserve_rings(rt) && pto_list_chunks_init(&rt->chunks, (uint32_t)chunks) &&
         pto_access_map_init(&rt->map, (uint32_t)entries, (uint32_t)accesses, buckets, &rt->rings, &rt->chunks) &&
         pto_payload_pool_init(&rt->payloads, payload_units) &&
         pto_buffer_registry_init(&rt->buffers, (uint32_t)accesses, rt->tag) &&
         pto_reserve_init(&rt->memory, lay_out(rt, NULL)) &&
         pto_scheduler_init(&rt->scheduler, rt->port, &rt->rings, policy, seed) &&
         pto_trace_init(&rt->trace, config->record, rt->port->worker_count) == PTO_OK &&
         (!rt->arena.is_checked || (rt->guard = pto_kernel_guard_create(rt->port, &rt->arena, &rt->buffers)) != NULL);
}

static int check_rings(const struct pto_config *config, struct pto_error *error) {
  _Static_assert(PTO_RINGS == PTO_RING_COUNT, "sizes of each");
  for (uint32_t i = 0; i < PTO_RINGS; i++) {
    const uint64_t window = config->ring_window[i], heap_bytes = config->ring_heap_bytes[i];
    if (window && (window < PTO_MIN_WINDOW || window > config->window || !pto_is_power_of_two(window)))
      return pto_error_set(error, PTO_EINVAL, "window %llu of ring %u is not a power of two from %llu to %llu",
                           (unsigned long long)window, i, (unsigned long long)PTO_MIN_WINDOW,
                           (unsigned long long)config->window);
    if (heap_bytes % PTO_OUTPUT_ALIGN || heap_bytes > config->heap_bytes)
      return pto_error_set(error, PTO_EINVAL, "heap of %llu bytes of ring %u is not a multiple of %u up to %llu",
                           (unsigned long long)heap_bytes, i, PTO_OUTPUT_ALIGN, (unsigned long long)config->heap_bytes);
  }
  return PTO_OK;
}

static int check_config(const struct pto_config *config, struct pto_error *error) {
  enum pto_policy policy;
  uint64_t seed;
  if (config->window < PTO_MIN_WINDOW || config->window > PTO_MAX_WINDOW || !pto_is_power_of_two(config->window))
    return pto_error_set(error, PTO_EINVAL, "window %llu is not a power of two from %llu to %llu",
                         (unsigned long long)config->window, (unsigned long long)PTO_MIN_WINDOW,
                         (unsigned long long)PTO_MAX_WINDOW);
  if (config->heap_bytes == 0 || config->heap_bytes % PTO_OUTPUT_ALIGN || config->heap_bytes > UINT64_C(1) << 44)
    return pto_error_set(error, PTO_EINVAL, "heap of %llu bytes is not a multiple of %u up to 16 TiB",
                         (unsigned long long)config->heap_bytes, PTO_OUTPUT_ALIGN);
  if (!config->policy || !pto_policy_parse(config->policy, &policy, &seed))
    return pto_error_set(error, PTO_EINVAL, "policy \"%s\" is none of %s", config->policy ? config->policy : "",
                         &PTO_POLICY_SYNTAXES[2]);
  if ((config->deps & PTO_DEPS_SET_MASK) >= PTO_DEPS_SET_COUNT)
    return pto_error_set(error, PTO_EINVAL, "deps %u is none of %s, counted from 0", config->deps, &PTO_DEPS_NAMES[2]);
  if (!pto_deps_is_valid(config->deps) || !pto_deps_is_valid(config->recorded_deps))
    return pto_error_set(error, PTO_EINVAL, "deps 0x%x switches a rule that there is not, or not under pto",
                         config->deps);
  if (config->map_entries > UINT32_MAX / 2 || config->list_chunks > UINT32_MAX / 2)
    return pto_error_set(error, PTO_EINVAL, "map_entries and list_chunks go up to %u", UINT32_MAX / 2);
  return check_rings(config, error);
}

/* For the engine: of all rings. */
static uint64_t allocated_bytes(const void *context) {
  const struct pto_runtime *rt = context;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) bytes += pto_heap_ring_used(&rt->rings.rings[i].heap);
  return bytes;
}

int pto_control_create(const struct pto_config *config, struct pto_port *port, void *chip, struct pto_runtime **rt_out,
                       struct pto_error *error) {
  int status = check_config(config, error);
  struct pto_runtime *rt = status ? NULL : calloc(1, sizeof *rt);
  if (!rt) {
    port->ops->destroy(port);
    free(chip);
    return status ? status : pto_error_set(error, PTO_ENOMEM, "no memory for the runtime");
  }
  rt->config = *config;
  rt->port = port;
  port->skips_kernels = config->no_compute;
  rt->chip = chip;
  rt->tag = next_tag();
  rt->outside_buffers = PTO_NONE;
  rt->since_poll = PTO_POLL_INTERVAL;
  if (!reserve_all(rt)) {
    pto_runtime_destroy(rt);
    return pto_error_set(error, PTO_ENOMEM, "no address space for a window of %llu and heaps of %llu bytes",
                         (unsigned long long)config->window, (unsigned long long)config->heap_bytes);
  }
  lay_out(rt, rt->memory.addr);
  rt->is_memory_watched = rt->arena.is_checked;
  for (int is_aic = 0; is_aic <= 1; is_aic++)
    rt->probed[is_aic] = (struct pto_core){.kind = is_aic ? PTO_AIC : PTO_AIV,
                                           .local = {NULL, is_aic ? port->aic_local_bytes : port->aiv_local_bytes},
                                           .message = rt->refusal,
                                           .message_size = sizeof rt->refusal};
  port->allocated_bytes = allocated_bytes;
  port->allocated_context = rt;
  if (port->ops->bind_memory) port->ops->bind_memory(port, rt->arena.memory.addr, rt->arena.memory.size_bytes);
  rt->config.policy = NULL; /* the caller's text was needed here alone */
  rt->hazards = (struct pto_hazards){.map = &rt->map,
                                     .rings = &rt->rings,
                                     .chunks = &rt->chunks,
                                     .slots = rt->rings.slots,
                                     .marks = rt->rings.marks,
                                     .found = rt->hazards.found,
                                     .slot_mask = rt->rings.slot_mask};
  pto_deps_table_init(&rt->hazards.table, config->deps);
  pto_deps_table_init(&rt->recorded_rules, config->recorded_deps ? config->recorded_deps : config->deps);
  rt->hazards.is_reduced = rt->hazards.table.named & PTO_DEPS_NAMED_REDUCE_IMPLIED;
  rt->buffers.by_base = rt->hazards.table.named & PTO_DEPS_NAMED_BASE_ADDRESS;
  if (config->record) rt->port->trace = &rt->trace;
  rt->port->meter = config->meter;
  rt->config.engine = rt->config.chip = NULL;
  *rt_out = rt;
  return PTO_OK;
}

void pto_runtime_destroy(struct pto_runtime *rt) {
  if (!rt) return;
  PTO_ASSERT(!rt->is_running);
  rt->port->ops->destroy(rt->port);
  free(rt->chip);
  pto_kernel_guard_destroy(rt->guard);
  pto_published_counters_destroy(rt->published);
  pto_trace_fini(&rt->trace);
  pto_scheduler_fini(&rt->scheduler);
  pto_reserve_fini(&rt->memory);
  pto_buffer_registry_fini(&rt->buffers);
  pto_payload_pool_fini(&rt->payloads);
  pto_access_map_fini(&rt->map);
  pto_list_chunks_fini(&rt->chunks);
  pto_task_rings_fini(&rt->rings);
  pto_gm_arena_fini(&rt->arena);
  free(rt);
}

/* ---- runs ---- */

static void begin_state(struct pto_runtime *rt) {
  pto_error_clear(&rt->error);
  rt->has_failed = false;
  if (rt->published) pto_published_counters_next_run(rt->published);
  rt->move_count = rt->moved_bytes = 0;
  rt->task_count = rt->completed_count = rt->submit_waits = rt->stall_count = 0;
  rt->refusals.count = 0;
  rt->failed_kernel = (struct pto_failed_kernel){0};
  rt->left_open = NULL;
  rt->finished_count = 0;
  rt->idle_poll = 0;
  rt->since_poll = PTO_POLL_INTERVAL;
  rt->doing = pto_doing_nothing;
  rt->failed_slot = PTO_PICTURE_NONE;
  if (rt->stopped->picture.status) rt->stopped->picture.status = PTO_OK; /* its page may never have been touched */
  rt->scope_depth = rt->scope_serial = 0;
  rt->virtual_ps = rt->orchestration_ps = 0;
  rt->hazards.edges = rt->hazards.live_edges = rt->hazards.next_number = rt->hazards.dropped = 0;
  rt->hazards.found_count = 0;
  rt->hazards.is_out_of_chunks = false;
  rt->part_of = 0;
  rt->map.lookups = rt->map.candidates = rt->map.budget_exhausted = 0;
  pto_task_rings_reset(&rt->rings, rt->first_sequence);
  pto_payload_pool_reset(&rt->payloads);
  pto_templates_forget(rt);
  pto_scheduler_reset(&rt->scheduler);
  pto_buffer_registry_new_epoch(&rt->buffers);
  rt->task_generation = rt->buffers.tag | 1;
  pto_trace_begin_run(&rt->trace, rt->port->is_virtual);
  PTO_ASSERT(!rt->call_list);
  pto_record_listen(rt);
  pto_runtime_count_listeners(rt);
}

/* Slots of a failed run are given up as they are, with their heap, payloads and lists. */
static void give_up_tasks(struct pto_runtime *rt) {
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) {
    struct pto_task_ring *ring = &rt->rings.rings[r];
    for (uint64_t s = ring->tail; s != ring->head; s++)
      rt->rings.slots[pto_task_slot_index(&rt->rings, r, s)].state = PTO_TASK_FREE;
    ring->high_water = pto_task_ring_high_water(ring);
    ring->tail = ring->open_begin = ring->released_end = ring->done_end = ring->head;
    pto_heap_ring_retire(&ring->heap, ring->heap.head);
  }
  pto_list_chunks_reset(&rt->chunks);
  pto_payload_pool_reset(&rt->payloads);
}

static void end_state(struct pto_runtime *rt) {
  while (rt->scope_depth) pto_scopes_pop(rt);
  pto_scopes_pop(rt);
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++)
    while (pto_space_release(rt, i)) {
    }
  pto_buffers_end_run(rt);
  if (rt->has_failed) give_up_tasks(rt);
  pto_space_retire(rt);
  PTO_ASSERT(rt->chunks.live_count == 0 && rt->payloads.live_count == 0 && rt->map.live_entries == 0);
  pto_buffer_registry_new_epoch(&rt->buffers);
  rt->is_running = false;
  rt->since_poll = PTO_POLL_INTERVAL;
}

void pto_host_drain(struct pto_runtime *rt) {
  struct pto_stall stall = {0};
  pto_stall_for(rt, &stall, PTO_STALL_drain);
  rt->doing.kind = PTO_DOING_END;
  while (!rt->has_failed && rt->completed_count < rt->task_count) pto_progress_wait(rt);
  if (rt->has_failed)
    pto_progress_quiesce(rt);
  else
    pto_progress_resume(rt);
  if (!rt->has_failed) rt->doing = pto_doing_nothing;
  pto_stall_end(rt, &stall);
}

uint64_t pto_host_elapsed_ps(const struct pto_runtime *rt) {
  return rt->port->elapsed_ps ? rt->port->elapsed_ps(rt->port) : 0;
}

int pto_host_begin_run(struct pto_runtime *rt) {
  if (rt->is_running) return PTO_REFUSE(rt, PTO_EINVAL, "a run is going on in this runtime");
  begin_state(rt);
  char sentence[PTO_SENTENCE_SIZE] = "";
  int status = rt->port->ops->begin_run(rt->port, sentence, sizeof sentence);
  if (status) return PTO_REFUSE(rt, status, "%s", sentence);
  rt->is_running = true;
  rt->place = NULL;
  rt->orchestration_begin_ps = rt->port->clock;
  pto_scopes_push(rt, 0, PTO_SCOPE_AUTO);
  rt->begin_ns = pto_clock_ns();
  return PTO_OK;
}

int pto_host_end_run(struct pto_runtime *rt, int returned) {
  if (returned && !rt->has_failed) {
    char refused[PTO_SENTENCE_SIZE];
    memcpy(refused, rt->error.sentence, sizeof refused);
    if (returned == PTO_ENOMEM) /* no mistake of its */
      pto_runtime_fail(rt, PTO_ENOMEM, "there is no memory for what the orchestration asks for%s%.900s",
                       refused[0] ? ": " : "", refused);
    else
      pto_runtime_fail(rt, PTO_EUSER, "the orchestration returned %d (%s)%s%.900s", returned, pto_status_name(returned),
                       refused[0] ? ": " : "", refused);
  }
  pto_recorded_abandon(rt);
  if (rt->scope_depth && !rt->has_failed) {
    rt->left_open = rt->scopes[rt->scope_depth].call;
    pto_runtime_fail(rt, PTO_EUSER, "the orchestration returned with %u scope%s open", rt->scope_depth,
                     rt->scope_depth == 1 ? "" : "s");
  }
  rt->orchestration_ps =
      (rt->port->is_scheduler ? rt->port->orchestrator_clock : rt->port->clock) - rt->orchestration_begin_ps;
  pto_host_drain(rt);
  rt->wall_ns = pto_clock_ns() - rt->begin_ns;
  rt->virtual_ps = pto_host_elapsed_ps(rt);
  rt->port->ops->end_run(rt->port);
  end_state(rt);
  pto_trace_end_run(&rt->trace);
  if (rt->published) pto_published_counters_update(rt->published);
  if (!rt->has_failed) pto_error_clear(&rt->error);
  return rt->has_failed ? rt->error.status : PTO_OK;
}

void pto_host_begin_orchestration(struct pto_runtime *rt, const void *frame) {
  rt->frame_before = pto_call_stack_begin(frame);
  rt->control_thread = pthread_self();
  atomic_store_explicit(&rt->port->orchestration, &rt->task_count, memory_order_release); /* the watchdog's acquire */
}

void pto_host_end_orchestration(struct pto_runtime *rt) {
  (void)pto_call_stack_begin(rt->frame_before);
  atomic_store_explicit(&rt->port->orchestration, NULL, memory_order_release);
}

int pto_run(struct pto_runtime *rt, int (*orchestration)(struct pto_runtime *, void *), void *context) {
  if (!orchestration && !rt->is_running) return PTO_REFUSE(rt, PTO_EINVAL, "no orchestration");
  int status = pto_host_begin_run(rt);
  if (status) return status;
  rt->is_in_orchestration = true;
  if (rt->published) pto_published_counters_set_control(rt->published, true);
  pto_host_begin_orchestration(rt, __builtin_frame_address(0));
  const int returned = orchestration(rt, context);
  pto_host_end_orchestration(rt);
  status = pto_host_end_run(rt, returned);
  rt->is_in_orchestration = false;
  if (rt->published) pto_published_counters_set_control(rt->published, false);
  return status;
}

int pto_runtime_publish_counters(struct pto_runtime *rt) {
  if (rt->published) return PTO_OK;
  const int status = pto_published_counters_create(rt, &rt->published);
  if (status)
    return PTO_REFUSE(rt, status, "counters cannot be published: %s",
                      status == PTO_ENOMEM ? "no memory"
                                           : "this library is built without libsde, or 8 runtimes publish theirs");
  pto_published_counters_update(rt->published);
  if (rt->is_in_orchestration) pto_published_counters_set_control(rt->published, true);
  return PTO_OK;
}

/* ---- questions ---- */

uint32_t pto_core_count(struct pto_runtime *rt, uint32_t kinds) {
  uint32_t clusters = pto_port_visible_clusters(rt->port);
  return ((kinds & PTO_AIC) ? clusters : 0) + ((kinds & PTO_AIV) ? 2 * clusters : 0) +
         ((kinds & PTO_CLUSTER) ? clusters : 0);
}

void pto_runtime_stats(const struct pto_runtime *rt, struct pto_stats *stats) {
  struct pto_stats all = {.tasks = rt->task_count,
                          .edges = rt->hazards.edges,
                          .live_edges = rt->hazards.live_edges,
                          .wall_ns = rt->wall_ns,
                          .virtual_ps = rt->virtual_ps,
                          .orchestration_ps = rt->orchestration_ps,
                          .lookups = rt->map.lookups,
                          .candidates = rt->map.candidates,
                          .overlap_budget_exhausted = rt->map.budget_exhausted,
                          .submit_waits = rt->submit_waits,
                          .refused = rt->refusals.count,
                          .workers = rt->port->worker_count,
                          .cores = pto_port_visible_clusters(rt->port) * PTO_LANES};
  if (rt->port->origin_ps) {
    all.measured_ps = rt->port->origin_ps[PTO_ORIGIN_MEASURED];
    all.interpolated_ps = rt->port->origin_ps[PTO_ORIGIN_INTERPOLATED];
    all.modelled_ps = rt->port->origin_ps[PTO_ORIGIN_MODELLED];
    all.assumed_ps = rt->port->origin_ps[PTO_ORIGIN_ASSUMED];
  }
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    all.window_high_water = pto_max_u64(all.window_high_water, pto_task_ring_high_water(&rt->rings.rings[i]));
    all.heap_high_water_bytes = pto_max_u64(all.heap_high_water_bytes, rt->rings.rings[i].heap.high_water_bytes);
    all.ring_window_high_water[i] = pto_task_ring_high_water(&rt->rings.rings[i]);
    all.ring_heap_high_water_bytes[i] = rt->rings.rings[i].heap.high_water_bytes;
  }
  pto_sized_give(stats, &all, sizeof all);
}

const struct pto_trace *pto_runtime_trace(const struct pto_runtime *rt) {
  return rt->config.record ? &rt->trace : NULL;
}
const struct pto_wait_picture *pto_runtime_wait_picture(const struct pto_runtime *rt) {
  return rt->stopped->picture.status ? &rt->stopped->picture : NULL;
}
const struct pto_wait_picture *pto_runtime_picture_now(struct pto_runtime *rt, int status) {
  if (rt->is_running && !rt->has_failed) pto_wait_picture_take(rt, status, rt->failed_slot, &rt->stopped->picture);
  return pto_runtime_wait_picture(rt);
}
void pto_runtime_watch(struct pto_runtime *rt, const struct pto_memory_watch *watch) {
  PTO_ASSERT(!rt->is_running);
  rt->watch = watch;
  rt->is_memory_watched = watch || rt->arena.is_checked;
}
void pto_runtime_set_recording(struct pto_runtime *rt, bool is_on) {
  PTO_ASSERT(!rt->is_running);
  pto_trace_set_record(&rt->trace, is_on ? rt->config.record : 0);
}
struct pto_port *pto_runtime_port(struct pto_runtime *rt) {
  return rt->port;
}
