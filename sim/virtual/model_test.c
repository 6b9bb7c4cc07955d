/* SPDX-License-Identifier: MIT */
/*
 * The virtual engine against the model of tests/support/virtual_model.h, over random scripts that play the runtime:
 * every clock after every call, every completion, every span, and the order in which kernels ran must be the same.  And
 * what must hold of any timeline, model or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <tests/support/virtual_model.h>
#include <tests/support/virtual_script.h>

#include <runtime/base/reserve.h>
#include <runtime/trace/trace_digest.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SCRIPTS 1000
#define MAX_CORES 36

struct player {
  struct pto_rng rng;
  struct pto_model model;
  struct pto_chip chip; /* the engine's: that of the model, loaded from a file where there is profiling */
  struct pto_port *port;
  struct pto_trace trace;
  struct pto_trace_log spans;
  uint32_t held[MAX_CORES], in_flight, group_count;
  uint64_t ready_at[PTO_MODEL_MESSAGES];
  uint64_t last_clock[PTO_MODEL_ACTORS];
};

static uint32_t below(struct player *player, uint32_t bound) { return (uint32_t)pto_rng_below(&player->rng, bound); }

#define ALLOCATED UINT64_C(1000)
static uint64_t allocated_bytes(const void *context) { return ALLOCATED; }

static char table_path[] = "/tmp/pto_model_XXXXXX", chip_path[] = "/tmp/pto_chip_XXXXXX";

static int make_files(void **state) {
  const int chip_file = mkstemp(chip_path), file = mkstemp(table_path);
  const size_t size = strlen(PTO_MODEL_TABLE);
  return chip_file >= 0 && close(chip_file) == 0 && file >= 0 && write(file, PTO_MODEL_TABLE, size) == (ssize_t)size &&
                 close(file) == 0
             ? 0
             : -1;
}
static int remove_files(void **state) { return unlink(chip_path) | unlink(table_path); }

static void set_key(struct pto_chip_sheet *sheet, const char *section, const char *key, uint64_t value) {
  struct pto_chip_note note = {.section = section, .key = key};
  struct pto_error error;
  snprintf(note.value, sizeof note.value, "%llu", (unsigned long long)value);
  if (strcmp(key, "profiling") == 0) strcpy(note.value, value ? "on" : "off");
  assert_int_equal(pto_chip_sheet_set(sheet, &note, &error), PTO_OK);
}

/* Gives the model's chip prices of profiling, and the engine's what a chip file makes of them. */
static void draw_profiling(struct player *player) {
  struct pto_chip *chip = &player->model.chip, loaded;
  static struct pto_chip_sheet sheet;
  struct pto_error error;
  const bool has_pending = below(player, 2);
  chip->has_profiling = below(player, 4) > 0;
  chip->profiling_start_ps = below(player, 20);
  chip->profiling_pending_ps = has_pending ? below(player, 20) : chip->profiling_start_ps;
  chip->profiling_dispatch_ps = below(player, 12);
  chip->profiling_poll_ps = below(player, 12);
  chip->profiling_complete_ps = below(player, 60);
  assert_int_equal(pto_chip_load_sheet("tiny", &loaded, &sheet, &error), PTO_OK);
  set_key(&sheet, "chip", "profiling", chip->has_profiling);
  set_key(&sheet, "latency", "profiling_start_ps", chip->profiling_start_ps);
  if (has_pending) set_key(&sheet, "latency", "profiling_pending_ps", chip->profiling_pending_ps);
  set_key(&sheet, "control_ps", "profiling_dispatch", chip->profiling_dispatch_ps);
  set_key(&sheet, "control_ps", "profiling_poll", chip->profiling_poll_ps);
  set_key(&sheet, "control_ps", "profiling_complete", chip->profiling_complete_ps);
  set_key(&sheet, "latency", "kernel_start_ps", chip->kernel_start_ps);
  set_key(&sheet, "latency", "pending_start_ps", chip->pending_start_ps);
  set_key(&sheet, "control_ps", "dispatch", chip->work_ps[PTO_WORK_DISPATCH]);
  set_key(&sheet, "control_ps", "dispatch_more", chip->dispatch_more_ps);
  set_key(&sheet, "control_ps", "poll", chip->work_ps[PTO_WORK_POLL]);
  set_key(&sheet, "control_ps", "complete", chip->work_ps[PTO_WORK_COMPLETE]);
  FILE *file = fopen(chip_path, "w");
  assert_non_null(file);
  assert_true(pto_chip_sheet_write(&sheet, file));
  assert_int_equal(fclose(file), 0);
  assert_int_equal(pto_chip_load(chip_path, &loaded, &error), PTO_OK);
  player->chip.kernel_start_ps = loaded.kernel_start_ps;
  player->chip.pending_start_ps = loaded.pending_start_ps;
  player->chip.dispatch_more_ps = loaded.dispatch_more_ps;
  for (uint32_t kind = 0; kind < PTO_WORK_COUNT; kind++)
    if (kind == PTO_WORK_DISPATCH || kind == PTO_WORK_POLL || kind == PTO_WORK_COMPLETE)
      player->chip.work_ps[kind] = loaded.work_ps[kind];
}

static struct pto_chip random_chip(struct player *player) {
  struct pto_chip chip = pto_script_chip(1 + below(player, MAX_CORES / 3), 1);
  chip.scheduler_count = 1 + below(player, chip.cluster_count < 5 ? chip.cluster_count : 5);
  chip.slots_per_core = 1 + below(player, 4);
  chip.kernel_start_ps = below(player, 20);
  chip.kernel_end_ps = 1 + below(player, 20);
  chip.core_bandwidth_mbps = 1 + below(player, 3000000);
  chip.chip_bandwidth_mbps = 1 + below(player, 9000000);
  chip.work_ps[PTO_WORK_DISPATCH] = below(player, 12);
  chip.work_ps[PTO_WORK_POLL] = below(player, 12);
  chip.work_ps[PTO_WORK_COMPLETE] = below(player, 60);
  chip.work_ps[PTO_WORK_EDGE] = 1 + below(player, 9);
  chip.pending_start_ps = chip.kernel_start_ps;
  chip.dispatch_more_ps = chip.work_ps[PTO_WORK_DISPATCH];
  const uint32_t choice = below(player, 6); /* 0: without any optional rule; 1: with all of them */
  if (choice == 0) return chip;
  if (choice == 1 || below(player, 2)) chip.shares_anew = true;
  if (chip.shares_anew && (choice == 1 || below(player, 2))) {
    chip.l2_bytes = 1 + below(player, 2000);
    chip.has_lru_l2 = below(player, 2);
    chip.l2_core_bandwidth_mbps = 1 + below(player, 9000000);
    chip.l2_chip_bandwidth_mbps = 1 + below(player, 20000000);
  }
  if (below(player, 3) == 0) chip.is_graph_prebuilt = true; /* then the schedulers wire nothing */
  if (choice == 1 || below(player, 2)) chip.deals_clusters = true;
  if (choice == 1 || below(player, 2)) chip.schedulers_wire = true;
  if (choice == 1 || below(player, 2)) chip.pending_start_ps = below(player, 20);
  if (choice == 1 || below(player, 2)) chip.cold_start_ps = below(player, 200);
  if (choice == 1 || below(player, 2)) chip.handshake_ps = below(player, 200);
  if (choice == 1 || below(player, 2)) chip.dispatch_more_ps = below(player, 12);
  if (choice == 1 || below(player, 2)) {
    chip.has_stages = true;
    chip.stages = (struct pto_chip_stages){.start_ps = below(player, 30),
                                           .trip_ps = below(player, 20),
                                           .gm_to_l1_mbps = 1 + below(player, 4000000),
                                           .l1_to_l0a_mbps = 1,
                                           .l1_to_l0b_mbps = 1,
                                           .l0c_to_gm_mbps = 1,
                                           .gm_to_ub_mbps = 1 + below(player, 4000000),
                                           .ub_to_gm_mbps = 1,
                                           .cube_percent = 100};
  }
  if (choice == 1 || below(player, 2)) memcpy(chip.kernel_times, table_path, sizeof table_path);
  if (choice == 1 || below(player, 2)) chip.loop_ps = 1 + below(player, 60);
  if (chip.loop_ps) chip.look_ps = below(player, 20);
  return chip;
}

static void check_clock(struct player *player) {
  uint32_t actor = player->model.actor;
  assert_int_equal(player->port->clock, pto_model_clock(&player->model));
  assert_true(player->port->clock >= player->last_clock[actor]);
  player->last_clock[actor] = player->port->clock;
}

static bool pick_core(struct player *player, uint32_t *core) {
  *core = below(player, 3 * player->model.chip.cluster_count);
  return player->held[*core] < player->model.chip.slots_per_core && player->model.count < PTO_MODEL_MESSAGES;
}

static void dispatch(struct player *player, uint32_t core, uint32_t group, uint8_t flags, uint64_t ready_at) {
  uint64_t elems = below(player, 4) ? below(player, 300) : 0, bytes = below(player, 3) ? below(player, 300) : 0;
  static char memory[PTO_MODEL_MEMORY];
  static uint64_t sizes[PTO_MODEL_MESSAGES], strides[PTO_MODEL_MESSAGES];
  const uint32_t number = player->model.count, mode = PTO_INPUT + below(player, 3);
  const uint32_t place = 16 * below(player, 20), blocks = below(player, 3) ? 1 : number + 1 + below(player, 3);
  const bool is_allocated = place < 160;
  strides[number] = below(player, 4) ? 1 : below(player, 3);
  sizes[number] = below(player, 350);
  struct pto_message message = pto_script_message_of(core, elems, bytes, memory + place, &sizes[number]);
  union pto_script_task *script = &pto_script_tasks[number];
  script->with_tensor.tensor.strides = &strides[number];
  script->payload.kernels[0] = &pto_script_kernels[mode];
  script->payload.block_count = blocks;
  player->port->ops->bind_memory(player->port, memory, 160);
  uint64_t l2_bytes = 0;
  if (player->model.chip.l2_bytes && is_allocated) {
    const uint64_t within = ((mode == PTO_INOUT ? 2 : 1) * sizes[number] + blocks - 1) / blocks;
    l2_bytes = within < bytes ? within : bytes;
    if (ALLOCATED > player->model.chip.l2_bytes) l2_bytes = l2_bytes * player->model.chip.l2_bytes / ALLOCATED;
  }
  if (blocks > 1) flags |= PTO_MESSAGE_BLOCKS;
  message.flags = flags;
  message.block_index = number; /* known by this: some are of the task of the one before */
  uint64_t task = number;
  if (number > 0 && below(player, 3) == 0) task = player->model.messages[number - 1].task;
  pto_script_tasks[number].payload.task_number = task;
  player->ready_at[player->model.count] = ready_at;
  player->held[core]++;
  player->in_flight++;
  player->model.open_group = flags & PTO_MESSAGE_LAST ? 0 : group;
  pto_model_dispatch(&player->model,
                     (struct pto_model_message){.core = core,
                                                .task = task,
                                                .block = number,
                                                .l2_bytes = l2_bytes,
                                                .tensor = {.lo = place,
                                                           .bytes = (uint32_t)sizes[number],
                                                           .stride = (uint32_t)strides[number],
                                                           .mode = mode,
                                                           .block = blocks > 1 ? number : 0,
                                                           .blocks = blocks},
                                                .group = group,
                                                .cost = {.vector_elems = elems, .bytes_in = bytes}},
                     ready_at);
  player->port->ops->dispatch(player->port, &message, ready_at, NULL);
}

static uint64_t random_ready_at(struct player *player) {
  uint64_t clock = player->port->clock;
  switch (below(player, 4)) {
  case 0:
    return clock / 2;
  case 1:
    return clock + below(player, 200);
  default:
    return clock;
  }
}

static void dispatch_group(struct player *player) {
  uint32_t members[6], count = 0, core, wanted = 1 + below(player, 6);
  for (uint32_t tries = 0; tries < 20 && count < wanted; tries++) {
    bool is_new = pick_core(player, &core);
    for (uint32_t i = 0; i < count; i++) is_new = is_new && members[i] != core;
    if (is_new) members[count++] = core;
  }
  if (count == 0 || player->model.count + count > PTO_MODEL_MESSAGES) return;
  uint64_t ready_at = random_ready_at(player);
  player->group_count++;
  for (uint32_t i = 0; i < count; i++)
    dispatch(player, members[i], player->group_count, PTO_MESSAGE_TOGETHER | (i + 1 == count ? PTO_MESSAGE_LAST : 0),
             ready_at);
}

/* Later the port says that nothing is to come. */
#define NEAR_PS UINT64_C(1000000000)

/* To the last moment of which the port has said that nothing happens up to it. */
static void go_on_while_quiet(struct player *player) {
  struct pto_port *port = player->port;
  if (port->is_scheduler || port->clock >= port->quiet_until || port->quiet_until > port->clock + NEAR_PS) return;
  port->clock = port->quiet_until - 1;
  player->model.clocks[PTO_MODEL_ORCHESTRATOR] = port->clock;
}

static bool poll(struct player *player) {
  struct pto_model_next next;
  struct pto_completion completions[4];
  struct pto_model *model = &player->model;
  model->actor = PTO_MODEL_ORCHESTRATOR;
  if (!below(player, 4)) go_on_while_quiet(player);
  bool has_one = pto_model_advance(model, pto_model_clock(model), &next);
  if (player->port->clock < player->port->quiet_until) assert_false(has_one);
  assert_int_equal(player->port->ops->poll(player->port, completions, 4), has_one);
  if (has_one) {
    struct pto_model_message *message = &model->messages[next.ticket];
    pto_model_take_in(model, &next);
    assert_int_equal(completions[0].ticket, next.ticket);
    assert_int_equal(completions[0].core, message->core);
    player->held[message->core]--;
    player->in_flight--;
  }
  check_clock(player);
  return has_one;
}

static void wait(struct player *player) {
  struct pto_model_next next = {.what = PTO_MODEL_NOTHING};
  struct pto_model *model = &player->model;
  model->actor = PTO_MODEL_ORCHESTRATOR;
  assert_true(pto_model_advance(model, UINT64_MAX, &next));
  model->clocks[PTO_MODEL_ORCHESTRATOR] = pto_max_u64(pto_model_clock(model), next.time);
  player->port->ops->wait(player->port);
  check_clock(player);
}

static void charge(struct player *player, enum pto_actor actor, uint32_t count) {
  uint32_t who = actor == PTO_ACTOR_CURRENT ? player->model.actor : PTO_MODEL_ORCHESTRATOR;
  const struct pto_chip *chip = &player->model.chip;
  player->model.clocks[who] += count * chip->work_ps[PTO_WORK_COMPLETE];
  player->model.clocks[who] += count * pto_model_recording(&player->model, chip->profiling_complete_ps);
  pto_port_charge(player->port, actor, PTO_WORK_COMPLETE, count);
}

static void wire(struct player *player) {
  struct pto_model *model = &player->model;
  if (player->port->is_scheduler || !player->port->ops->wire) return;
  const uint64_t edges = 1 + below(player, 5);
  model->wiring_at = player->port->clock;
  model->wiring_ps += edges * model->chip.work_ps[PTO_WORK_EDGE];
  player->port->ops->wire(player->port, edges);
}

static void play(struct player *player) {
  uint32_t core, steps = 50 + below(player, 400), busy = below(player, 10);
  for (uint32_t step = 0; step < steps; step++) {
    uint32_t choice = below(player, 20);
    if (choice < 8) {
      if (pick_core(player, &core)) dispatch(player, core, 0, 0, random_ready_at(player));
    } else if (choice < 9) {
      dispatch_group(player);
    } else if (choice < 12) {
      charge(player, below(player, 2) ? PTO_ACTOR_CURRENT : PTO_ACTOR_ORCHESTRATOR, below(player, 1 + busy));
    } else if (choice < 13) {
      wire(player);
    } else if (choice < 17) {
      poll(player);
    } else if (choice < 19) {
      if (player->in_flight) wait(player);
    } else {
      uint64_t not_before = player->port->clock;
      player->model.actor = PTO_MODEL_ORCHESTRATOR;
      player->model.clocks[PTO_MODEL_ORCHESTRATOR] = pto_max_u64(pto_model_clock(&player->model), not_before);
      player->port->ops->resume(player->port, not_before);
    }
    check_clock(player);
  }
  while (player->in_flight) {
    if (!poll(player)) wait(player);
  }
}

static void compare_timelines(const struct player *player) {
  const struct pto_model *model = &player->model;
  uint64_t core_end[MAX_CORES] = {0}, last_begin = 0;
  assert_int_equal(player->spans.count, model->count);
  assert_int_equal(model->begun_count, model->count);
  for (uint32_t i = 0; i < model->count; i++) {
    const struct pto_trace_span *span = pto_trace_log_at(&player->spans, i);
    const struct pto_model_message *message = &model->messages[span->block_index];
    assert_int_equal(span->block_index, model->begun[i]);
    assert_int_equal(span->task, message->task);
    assert_int_equal(pto_script_log[i], message->task);
    assert_int_equal(span->begin, message->begin);
    assert_int_equal(span->end, message->end);
    assert_int_equal(span->core, message->core);
    /* Of any timeline: a core does one thing at a time, nothing starts before its cause, kernels run in order of begin.
     */
    assert_true(span->begin >= core_end[span->core] && span->begin >= player->ready_at[span->block_index]);
    assert_true(span->begin >= last_begin);
    core_end[span->core] = span->end;
    last_begin = span->begin;
  }
}

static uint64_t play_script(struct player *player, uint64_t seed) {
  struct pto_error error;
  struct pto_trace_log spans = player->spans;
  memset(player, 0, sizeof *player);
  spans.count = 0;
  player->spans = spans;
  player->rng.state = seed;
  player->chip = player->model.chip = random_chip(player);
  if (below(player, 3) == 0) draw_profiling(player);
  player->model.actor = PTO_MODEL_ORCHESTRATOR;
  for (uint32_t i = 0; i < PTO_MODEL_ACTORS; i++)
    if (i >= PTO_MODEL_ORCHESTRATOR || i < player->model.chip.scheduler_count)
      player->model.clocks[i] = player->model.chip.handshake_ps;
  player->trace = (struct pto_trace){
      .record = PTO_RECORD_TIMELINE, .is_virtual = true, .spans = &player->spans, .span_log_count = 1};
  if (below(player, 3) == 0)
    player->model.jitter = (struct pto_jitter){below(player, 1000), 1 + below(player, PTO_JITTER_MOST_PPM)};
  const struct pto_engine_config config = {
      .chip = &player->chip, .jitter_ppm = player->model.jitter.ppm, .jitter_seed = player->model.jitter.seed};
  pto_script_reset();
  assert_int_equal(pto_engine_virtual_create(&config, &player->port, &error), PTO_OK);
  player->port->trace = &player->trace;
  player->port->allocated_bytes = allocated_bytes;
  assert_int_equal(player->port->ops->begin_run(player->port, NULL, 0), PTO_OK);
  play(player);
  player->port->ops->end_run(player->port);
  uint64_t elapsed = 0;
  for (uint32_t i = 0; i < PTO_MODEL_ACTORS; i++) elapsed = pto_max_u64(elapsed, player->model.clocks[i]);
  assert_int_equal(player->port->elapsed_ps(player->port), elapsed);
  player->port->ops->destroy(player->port);
  return pto_trace_digest(&player->trace);
}

static void test_random_scripts_run_as_the_model_says(void **state) {
  static struct player player;
  const uint64_t script_count = getenv("PTO_TEST_LONG") ? 100 * SCRIPTS : SCRIPTS;
  uint64_t messages = 0;
  assert_true(pto_reserve_init(&player.spans.memory, 1 << 20));
  player.spans.record_bytes = sizeof(struct pto_trace_span);
  player.spans.capacity = (1 << 20) / sizeof(struct pto_trace_span);
  print_message("seeds 1 to %llu\n", (unsigned long long)script_count);
  for (uint64_t seed = 1; seed <= script_count; seed++) {
    uint64_t digest = play_script(&player, seed);
    compare_timelines(&player);
    messages += player.model.count;
    if (seed % 50 == 0) assert_true(play_script(&player, seed) == digest);
  }
  print_message("%llu messages\n", (unsigned long long)messages);
  assert_true(messages > 50 * script_count);
  pto_reserve_fini(&player.spans.memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_scripts_run_as_the_model_says)};
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
