/* SPDX-License-Identifier: MIT */
#include <report/run/accounts.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

#define LANES 3u
#define MOST_SCHEDULERS 64u

static int out_of_memory(struct pto_error *error) {
  return pto_error_set(error, PTO_ENOMEM, "no memory for where the time went");
}

/* ---- virtual time ---- */

struct maker {
  const struct pto_event_graph *graph;
  struct pto_accounts *accounts;
  struct pto_account *orchestrator, *schedulers, *resolver, *kinds[2], *link;
  uint32_t scheduler_count, core_count;
  uint64_t orchestrator_at, resolver_at, schedulers_at[MOST_SCHEDULERS], *cores_at; /* accounted for up to then */
  uint8_t *is_used;                                                                 /* by core */
};

static struct pto_account *account_of(const struct maker *m, struct pto_resource resource) {
  switch (resource.kind) {
  case PTO_RESOURCE_ORCHESTRATOR:
    return m->orchestrator;
  case PTO_RESOURCE_SCHEDULER:
    return &m->schedulers[resource.index];
  case PTO_RESOURCE_RESOLVER:
    return m->resolver;
  default:
    return m->kinds[resource.index % LANES != 0];
  }
}

static uint64_t *time_of(struct maker *m, struct pto_resource resource) {
  switch (resource.kind) {
  case PTO_RESOURCE_ORCHESTRATOR:
    return &m->orchestrator_at;
  case PTO_RESOURCE_SCHEDULER:
    return &m->schedulers_at[resource.index];
  case PTO_RESOURCE_RESOLVER:
    return &m->resolver_at;
  default:
    return &m->cores_at[resource.index];
  }
}

/* What the resource did until `end`, where that is not accounted for. */
static void take(struct maker *m, struct pto_resource resource, uint32_t activity, uint64_t end) {
  uint64_t *at = time_of(m, resource);
  if (end <= *at) return;
  account_of(m, resource)->times[activity] += end - *at;
  *at = end;
}

static uint64_t end_of(const struct maker *m, uint32_t node) {
  return node == PTO_NO_NODE ? 0 : m->graph->nodes[node].end;
}

/* What a scheduler waited for, by who let it go on. */
static uint32_t wait_of(const struct maker *m, const struct pto_event_node *node) {
  const struct pto_trace_segment *cause = node->cause == PTO_NO_NODE ? NULL : pto_event_segment(m->graph, node->cause);
  if (!cause) return PTO_ACTIVITY_other;
  return cause->resource.kind == PTO_RESOURCE_CORE           ? PTO_ACTIVITY_wait_core
         : cause->resource.kind == PTO_RESOURCE_ORCHESTRATOR ? PTO_ACTIVITY_wait_orchestrator
                                                             : PTO_ACTIVITY_wait_scheduler;
}

/* A core waits for a message until `begin`: first for the submit of its task, then for producers, then for the message,
 * or for the other cores of its group. */
static void take_idle(struct maker *m, const struct pto_event_node *node, const struct pto_trace_segment *segment,
                      uint64_t begin) {
  const struct pto_event_graph *graph = m->graph;
  const struct pto_event_task *task = segment->task < graph->trace->tasks.count ? &graph->tasks[segment->task] : NULL;
  uint32_t rest = PTO_ACTIVITY_wait_scheduler;
  if (task) {
    take(m, segment->resource, PTO_ACTIVITY_wait_orchestrator, pto_min_u64(end_of(m, task->submitted), begin));
    take(m, segment->resource, PTO_ACTIVITY_wait_dependency, pto_min_u64(task->produced_ps, begin));
  }
  if (node->cause != PTO_NO_NODE && !pto_event_segment(graph, node->cause)) {
    const uint32_t last = pto_event_graph_binding(graph, node->cause);
    const struct pto_trace_segment *of_last = last == PTO_NO_NODE ? NULL : pto_event_segment(graph, last);
    if (of_last && of_last->resource.kind == PTO_RESOURCE_CORE) rest = PTO_ACTIVITY_wait_core;
  }
  take(m, segment->resource, rest, begin);
}

static void take_node(struct maker *m, const struct pto_event_node *node, const struct pto_trace_segment *segment) {
  const bool is_stall =
      segment->resource.kind == PTO_RESOURCE_ORCHESTRATOR && segment->activity >= PTO_ACTIVITY_wait_window;
  const bool is_explained_by_duration =
      segment->activity == PTO_ACTIVITY_start || segment->activity == PTO_ACTIVITY_look;
  const uint64_t begin = is_explained_by_duration ? segment->end - node->duration : segment->begin;
  if (segment->activity == PTO_ACTIVITY_start)
    take_idle(m, node, segment, begin);
  else if (segment->resource.kind == PTO_RESOURCE_CORE)
    take(m, segment->resource, PTO_ACTIVITY_wait_core, begin);
  else if (segment->resource.kind != PTO_RESOURCE_ORCHESTRATOR)
    take(m, segment->resource, wait_of(m, node), begin);
  else if (!is_stall)
    take(m, segment->resource, PTO_ACTIVITY_other, begin);
  take(m, segment->resource, segment->activity, segment->end);
  if (segment->resource.kind == PTO_RESOURCE_CORE)
    m->is_used[segment->resource.index] = 1;
  else
    account_of(m, segment->resource)->used = 1;
  const bool is_transfer = segment->activity >= PTO_ACTIVITY_to_device && segment->activity <= PTO_ACTIVITY_on_device;
  if (is_transfer) m->link->times[segment->activity] += segment->end - segment->begin;
}

/* Calls `visit` with each resource. */
static void each_resource(struct maker *m, void (*visit)(struct maker *m, struct pto_resource, const void *context),
                          const void *context) {
  visit(m, (struct pto_resource){PTO_RESOURCE_ORCHESTRATOR, 0}, context);
  if (m->resolver) visit(m, (struct pto_resource){PTO_RESOURCE_RESOLVER, 0}, context);
  for (uint32_t i = 0; i < m->scheduler_count; i++)
    visit(m, (struct pto_resource){PTO_RESOURCE_SCHEDULER, (uint16_t)i}, context);
  for (uint32_t i = 0; i < m->core_count; i++) visit(m, (struct pto_resource){PTO_RESOURCE_CORE, (uint16_t)i}, context);
}

static void begin_run(struct maker *m, struct pto_resource resource, const void *mark) {
  const struct pto_trace_segment *segment = mark;
  take(m, resource, PTO_ACTIVITY_no_work, segment->begin);
  take(m, resource, PTO_ACTIVITY_handshake, segment->end);
}

static void end_all(struct maker *m, struct pto_resource resource, const void *unused) {
  (void)unused;
  take(m, resource, PTO_ACTIVITY_no_work, m->accounts->makespan);
}

static void take_all(struct maker *m) {
  for (size_t i = 0; i < m->graph->node_count; i++) {
    const struct pto_event_node *node = &m->graph->nodes[i];
    const struct pto_trace_segment *segment = pto_event_segment(m->graph, (uint32_t)i);
    if (!segment) continue;
    if (segment->activity == PTO_MARK_BEGIN)
      each_resource(m, begin_run, segment);
    else if (segment->activity < PTO_ACTIVITY_COUNT)
      take_node(m, node, segment);
  }
  each_resource(m, end_all, NULL);
  for (uint32_t i = 0; i < m->core_count; i++) m->kinds[i % LANES != 0]->used += m->is_used[i];
  uint64_t moving = 0;
  for (uint32_t i = PTO_ACTIVITY_to_device; i <= PTO_ACTIVITY_on_device; i++) moving += m->link->times[i];
  m->link->times[PTO_ACTIVITY_no_work] = m->accounts->makespan - moving;
  m->link->used = moving > 0;
}

static struct pto_account *add_account(struct pto_accounts *accounts, const char *name, const char *kind,
                                       uint32_t count) {
  struct pto_account *account = &accounts->items[accounts->count++];
  *account = (struct pto_account){.kind = kind, .count = count};
  snprintf(account->name, sizeof account->name, "%s", name);
  return account;
}

/* How many schedulers there are, and whether there is a resolver. */
static void count_resources(struct maker *m, bool *has_resolver) {
  const struct pto_trace_log *log = &m->graph->trace->segments;
  for (uint64_t i = 0; i < log->count; i++) {
    const struct pto_trace_segment *segment = pto_trace_log_at(log, i);
    if (segment->activity == PTO_MARK_BEGIN) m->scheduler_count = pto_max_u32(m->scheduler_count, segment->core);
    *has_resolver |= segment->resource.kind == PTO_RESOURCE_RESOLVER;
  }
  PTO_ASSERT(m->scheduler_count <= MOST_SCHEDULERS);
}

static int account_virtual(struct maker *m, uint32_t cluster_count, struct pto_error *error) {
  struct pto_accounts *accounts = m->accounts;
  bool has_resolver = false;
  count_resources(m, &has_resolver);
  accounts->makespan = m->graph->end;
  accounts->items = calloc(m->scheduler_count + 5, sizeof *accounts->items);
  m->core_count = cluster_count * LANES;
  m->cores_at = calloc(m->core_count + 1, sizeof *m->cores_at);
  m->is_used = calloc(m->core_count + 1, sizeof *m->is_used);
  if (!accounts->items || !m->cores_at || !m->is_used) return out_of_memory(error);
  m->orchestrator = add_account(accounts, "orchestrator", "orchestrator", 1);
  m->schedulers = &accounts->items[accounts->count];
  for (uint32_t i = 0; i < m->scheduler_count; i++) {
    char name[24];
    snprintf(name, sizeof name, "scheduler %u", i);
    add_account(accounts, name, "scheduler", 1);
  }
  if (has_resolver) m->resolver = add_account(accounts, "resolver", "resolver", 1);
  m->kinds[0] = add_account(accounts, "AIC", "aic", cluster_count);
  m->kinds[1] = add_account(accounts, "AIV", "aiv", cluster_count * (LANES - 1));
  m->link = add_account(accounts, "host link", "link", 1);
  take_all(m);
  return PTO_OK;
}

int pto_accounts_init(const struct pto_event_graph *graph, uint32_t cluster_count, struct pto_accounts *accounts,
                      struct pto_error *error) {
  struct maker maker = {.graph = graph, .accounts = accounts};
  *accounts = (struct pto_accounts){.is_virtual = graph->trace->is_virtual};
  const int status = accounts->is_virtual ? account_virtual(&maker, cluster_count, error)
                                          : pto_accounts_of_threads(graph->trace, accounts, error);
  free(maker.cores_at);
  free(maker.is_used);
  if (status) pto_accounts_fini(accounts);
  return status;
}

void pto_accounts_fini(struct pto_accounts *accounts) {
  free(accounts->items);
  memset(accounts, 0, sizeof *accounts);
}
