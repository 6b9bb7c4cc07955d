/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_observed.h>

#include <inttypes.h>
#include <stdlib.h>

#include <check/session/observed_arrays.h>
#include <runtime/base/base.h>
#include <runtime/control/control.h>
#include <sim/engine/observed_unit.h>
#include <world/world_state.h>

/* Of a window, as sentences call it. */
struct pto_window_name {
  struct pto_window_name *next;
  const struct pto_rank_comm *comm;
  char text[64];
};

static int end(struct pto_ranks_observed *observed, int exit_code) { return observed->ranks.exit_code = exit_code; }

/* ---- windows ---- */

static const char *name_of(struct pto_ranks_observed *observed, uint32_t rank, const struct pto_rank_comm *comm) {
  for (const struct pto_window_name *name = observed->names; name; name = name->next)
    if (name->comm == comm) return name->text;
  struct pto_window_name *name = malloc(sizeof *name);
  if (!name) return "a window";
  *name = (struct pto_window_name){.next = observed->names, .comm = comm};
  snprintf(name->text, sizeof name->text, "the window of rank %" PRIu32 " in comm %" PRIu32, rank, comm->number);
  observed->names = name;
  return name->text;
}

static bool is_in(const struct pto_reserve *memory, uint64_t addr, struct pto_observe_window *window) {
  window->lo = (uint64_t)(uintptr_t)memory->addr;
  window->hi = window->lo + memory->size_bytes;
  return addr >= window->lo && addr < window->hi;
}

static bool find_window(void *context, uint64_t addr, struct pto_observe_window *window) {
  const struct pto_rank_observed *member = context;
  const uint32_t index = member->place.index;
  const struct pto_rank *rank = pto_world_rank(member->all->ranks.world, index);
  for (size_t i = 0; i < rank->number_count; i++) {
    const struct pto_rank_comm *comm = rank->by_number[i];
    const bool is_peer = is_in(&comm->peers, addr, window);
    if (!is_peer && !is_in(&comm->window, addr, window)) continue;
    window->is_peer = is_peer;
    window->name = name_of(member->all, index, comm);
    return true;
  }
  return false;
}

/* ---- contexts, one at a time ---- */

static int observe(struct pto_rank_observed *member, struct pto_runtime *rt, struct pto_error *error) {
  struct pto_observe_options options = member->all->options;
  options.rank = &member->place;
  options.add_memory = pto_observed_add_block;
  options.context = &member->all->ranks.sessions[member->place.index];
  return pto_observation_create(rt, &options, &member->all->findings, &member->observation, error);
}

static int context_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                           struct pto_error *error) {
  struct pto_rank_observed *member = argument;
  if (member->observation || !pto_port_is_observed(pto_runtime_port(rt))) {
    member->all->contexts_left_out++;
    return PTO_OK;
  }
  const int status = observe(member, rt, error);
  if (status) return status;
  pto_observation_add_device(member->observation, memory, memory_bytes);
  member->rt = rt;
  member->all->context_count++;
  return PTO_OK;
}

static void context_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters,
                              const struct pto_trace *recording) {
  struct pto_rank_observed *member = argument;
  if (rt != member->rt) return;
  const struct pto_observe_summary its = pto_observation_summary(member->observation);
  pto_observe_summary_add(&member->all->so_far, &its);
  member->task_count += counters->tasks;
  member->most_tasks = pto_max_u64(member->most_tasks, counters->tasks);
  pto_observation_destroy(member->observation);
  member->observation = NULL;
  member->rt = NULL;
}

/* ---- open ---- */

static int watch(struct pto_ranks_observed *observed, uint32_t index) {
  struct pto_session *session = &observed->ranks.sessions[index];
  const struct pto_rank *rank = pto_world_rank(observed->ranks.world, index);
  struct pto_rank_observed *member = &observed->members[index];
  member->all = observed;
  member->place = (struct pto_observe_rank){.index = index,
                                            .group = observed->group,
                                            .stack = rank->stack.addr,
                                            .stack_bytes = rank->stack.size_bytes,
                                            .find_window = find_window,
                                            .context = member};
  if (!session->rt) {
    session->listener = (struct pto_session_listener){
        .context_created = context_created, .context_destroyed = context_destroyed, .argument = member};
    return PTO_EXIT_OK;
  }
  if (observe(member, session->rt, &observed->ranks.error)) return end(observed, PTO_EXIT_FAILED);
  pto_observed_add_arrays(session, member->observation);
  return PTO_EXIT_OK;
}

int pto_ranks_observed_open(struct pto_ranks_observed *observed, const struct pto_session_options *options,
                            uint32_t rank_count, const struct pto_observe_options *observe) {
  struct pto_session_options its;
  struct pto_config config;
  *observed = (struct pto_ranks_observed){.options = *observe};
  pto_findings_init(&observed->findings);
  if (pto_session_copy_options(&its, &config, options, &observed->ranks.error)) return end(observed, PTO_EXIT_USAGE);
  config.engine = "observed virtual";
  its.array_margin_bytes = pto_observed_margin_bytes();
  int code = pto_ranks_init_judged(&observed->ranks, &its, rank_count);
  if (code != PTO_EXIT_OK) return code;
  observed->group = pto_observe_group_create();
  if (!observed->group) {
    pto_error_set(&observed->ranks.error, PTO_ENOMEM, "no memory to observe %" PRIu32 " ranks", rank_count);
    return end(observed, PTO_EXIT_FAILED);
  }
  for (uint32_t i = 0; code == PTO_EXIT_OK && i < rank_count; i++) code = watch(observed, i);
  observed->is_open = code == PTO_EXIT_OK;
  return code;
}

/* ---- run ---- */

static uint64_t tasks_of(const struct pto_ranks_observed *observed, uint32_t rank) {
  return observed->context_count ? observed->members[rank].task_count
                                 : observed->ranks.sessions[rank].result.stats.tasks;
}

/* Once the run is known, which has told its number of tasks. */
static int check_range(struct pto_ranks_observed *observed) {
  const struct pto_observe_options *observe = &observed->options;
  uint64_t most = 0;
  for (uint32_t i = 0; i < observed->ranks.rank_count; i++)
    most = pto_max_u64(most, observed->context_count ? observed->members[i].most_tasks : tasks_of(observed, i));
  if (!observe->has_tasks || observe->last_task < most) return observed->ranks.exit_code;
  pto_error_set(&observed->ranks.error, PTO_EINVAL,
                "--observe-tasks: there is no task %" PRIu64 ": no rank has more than %" PRIu64 ", and the first is 0",
                observe->last_task, most);
  return end(observed, PTO_EXIT_USAGE);
}

int pto_ranks_observed_run(struct pto_ranks_observed *observed) {
  int code = pto_ranks_execute(&observed->ranks);
  if (code == PTO_EXIT_OK) code = check_range(observed);
  const struct pto_observe_summary summary = pto_ranks_observed_summary(observed);
  if (code != PTO_EXIT_OK || !pto_observe_summary_fails(&summary, &observed->ranks.error)) return code;
  return end(observed, PTO_EXIT_FAILED);
}

void pto_ranks_observed_close(struct pto_ranks_observed *observed) {
  for (uint32_t i = 0; i < PTO_MAX_RANKS; i++) pto_observation_destroy(observed->members[i].observation);
  pto_observe_group_destroy(observed->group);
  pto_ranks_fini(&observed->ranks);
  pto_findings_fini(&observed->findings);
  while (observed->names) {
    struct pto_window_name *name = observed->names;
    observed->names = name->next;
    free(name);
  }
  *observed = (struct pto_ranks_observed){0};
}

int pto_ranks_observed_exit(const struct pto_ranks_observed *observed) {
  const int code = observed->ranks.exit_code;
  return code != PTO_EXIT_OK || pto_findings_is_clean(&observed->findings) ? code : PTO_EXIT_FINDINGS;
}

struct pto_observe_summary pto_ranks_observed_summary(const struct pto_ranks_observed *observed) {
  struct pto_observe_summary all = observed->so_far;
  for (uint32_t i = 0; i < observed->ranks.rank_count; i++) {
    if (!observed->members[i].observation) continue;
    const struct pto_observe_summary its = pto_observation_summary(observed->members[i].observation);
    pto_observe_summary_add(&all, &its);
  }
  return all;
}

uint64_t pto_ranks_observed_tasks(const struct pto_ranks_observed *observed) {
  uint64_t tasks = 0;
  for (uint32_t i = 0; observed->is_open && i < observed->ranks.rank_count; i++) tasks += tasks_of(observed, i);
  return tasks;
}
