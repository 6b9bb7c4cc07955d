/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_observed.h>

#include <inttypes.h>
#include <stdlib.h>

#include <check/ranks/ranks_check.h>
#include <check/session/observed_arrays.h>
#include <runtime/base/base.h>
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

/* ---- open ---- */

static int watch(struct pto_ranks_observed *observed, uint32_t index, const struct pto_observe_options *observe) {
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
  struct pto_observe_options options = *observe;
  options.rank = &member->place;
  if (pto_observed_session_open(&member->its, session, &options, &observed->findings, &observed->ranks.error))
    return end(observed, PTO_EXIT_FAILED);
  return PTO_EXIT_OK;
}

int pto_ranks_observed_open(struct pto_ranks_observed *observed, const struct pto_session_options *options,
                            uint32_t rank_count, const struct pto_observe_options *observe) {
  struct pto_session_options its;
  struct pto_config config;
  *observed = (struct pto_ranks_observed){0};
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
  for (uint32_t i = 0; code == PTO_EXIT_OK && i < rank_count; i++) code = watch(observed, i, observe);
  observed->is_open = code == PTO_EXIT_OK;
  return code;
}

/* ---- run ---- */

/* Once the run is known, which has told its number of tasks. */
static int check_range(struct pto_ranks_observed *observed) {
  const struct pto_observe_options *observe = &observed->members[0].its.options;
  uint64_t most = 0;
  for (uint32_t i = 0; i < observed->ranks.rank_count; i++)
    most = pto_max_u64(most, pto_observed_session_most_tasks(&observed->members[i].its));
  if (!observe->has_tasks || observe->last_task < most) return observed->ranks.exit_code;
  pto_error_set(&observed->ranks.error, PTO_EINVAL,
                "--observe-tasks: there is no task %" PRIu64 ": no rank has more than %" PRIu64 ", and the first is 0",
                observe->last_task, most);
  return end(observed, PTO_EXIT_USAGE);
}

/* What is told of each rank's run beside what its kernels touch. */
static void judge(struct pto_ranks_observed *observed) {
  for (uint32_t i = 0; i < observed->ranks.rank_count; i++)
    pto_session_name_nodes(&observed->ranks.sessions[i], &observed->findings);
  for (uint32_t i = 0; i < observed->ranks.rank_count; i++) {
    struct pto_findings own;
    pto_findings_init(&own);
    pto_observed_session_judge(&observed->members[i].its, &own);
    pto_ranks_add_findings(&observed->findings, i, &own, true);
    pto_findings_fini(&own);
  }
}

int pto_ranks_observed_run(struct pto_ranks_observed *observed) {
  int code = pto_ranks_execute(&observed->ranks);
  judge(observed);
  if (code == PTO_EXIT_OK) code = check_range(observed);
  const struct pto_observe_summary summary = pto_ranks_observed_summary(observed);
  if (code != PTO_EXIT_OK || !pto_observe_summary_fails(&summary, &observed->ranks.error)) return code;
  return end(observed, PTO_EXIT_FAILED);
}

void pto_ranks_observed_close(struct pto_ranks_observed *observed) {
  for (uint32_t i = 0; i < PTO_MAX_RANKS; i++) pto_observed_session_close(&observed->members[i].its);
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
  struct pto_observe_summary all = {0};
  for (uint32_t i = 0; i < observed->ranks.rank_count; i++) {
    const struct pto_observe_summary its = pto_observed_session_summary(&observed->members[i].its);
    pto_observe_summary_add(&all, &its);
  }
  return all;
}

uint64_t pto_ranks_observed_tasks(const struct pto_ranks_observed *observed) {
  uint64_t tasks = 0;
  for (uint32_t i = 0; observed->is_open && i < observed->ranks.rank_count; i++)
    tasks += pto_observed_session_tasks(&observed->members[i].its);
  return tasks;
}

void pto_ranks_observed_contexts(const struct pto_ranks_observed *observed, uint64_t *count, uint64_t *left_out) {
  *count = *left_out = 0;
  for (uint32_t i = 0; i < observed->ranks.rank_count; i++) {
    *count += observed->members[i].its.context_count;
    *left_out += observed->members[i].its.contexts_left_out;
  }
}
