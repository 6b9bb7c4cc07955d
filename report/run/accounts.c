/* SPDX-License-Identifier: MIT */
#include <report/run/accounts.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <report/run/intervals.h>
#include <runtime/base/base.h>

#define LANES 3u

/* ---- virtual time ---- */

struct maker {
  struct pto_accounts *accounts;
  struct pto_account *orchestrator, *schedulers, *resolver, *kinds[2], *link;
  uint32_t core_count;
  uint8_t *is_used; /* by core */
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

/* It does something of its own: it does not wait, and the handshake is everybody's. */
static bool is_own(uint32_t activity) {
  return activity < PTO_ACTIVITY_wait_window && activity != PTO_ACTIVITY_handshake;
}

static void add_interval(void *context, const struct pto_interval *interval) {
  struct maker *m = context;
  struct pto_account *account = account_of(m, interval->resource);
  const uint64_t time = interval->end - interval->begin;
  const bool is_transfer = interval->activity >= PTO_ACTIVITY_to_device && interval->activity <= PTO_ACTIVITY_on_device;
  account->times[interval->activity] += time;
  if (is_transfer) m->link->times[interval->activity] += time;
  if (!is_own(interval->activity)) return;
  if (interval->resource.kind == PTO_RESOURCE_CORE)
    m->is_used[interval->resource.index] = 1;
  else
    account->used = 1;
}

static void end_accounts(struct maker *m) {
  uint64_t moving = 0;
  for (uint32_t i = 0; i < m->core_count; i++) m->kinds[i % LANES != 0]->used += m->is_used[i];
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

static int account_virtual(struct maker *m, const struct pto_event_graph *graph, uint32_t cluster_count,
                           struct pto_error *error) {
  struct pto_accounts *accounts = m->accounts;
  uint32_t scheduler_count;
  bool has_resolver;
  pto_count_schedulers(graph->trace, &scheduler_count, &has_resolver);
  accounts->makespan = graph->end;
  accounts->items = calloc(scheduler_count + 5, sizeof *accounts->items);
  m->core_count = cluster_count * LANES;
  m->is_used = calloc(m->core_count + 1, sizeof *m->is_used);
  if (!accounts->items || !m->is_used) return pto_error_set(error, PTO_ENOMEM, "no memory for where the time went");
  m->orchestrator = add_account(accounts, "orchestrator", "orchestrator", 1);
  m->schedulers = &accounts->items[accounts->count];
  for (uint32_t i = 0; i < scheduler_count; i++) {
    char name[24];
    snprintf(name, sizeof name, "scheduler %u", i);
    add_account(accounts, name, "scheduler", 1);
  }
  if (has_resolver) m->resolver = add_account(accounts, "resolver", "resolver", 1);
  m->kinds[0] = add_account(accounts, "AIC", "aic", cluster_count);
  m->kinds[1] = add_account(accounts, "AIV", "aiv", cluster_count * (LANES - 1));
  m->link = add_account(accounts, "host link", "link", 1);
  const int status = pto_intervals_each(graph, m->core_count, add_interval, m, error);
  end_accounts(m);
  return status;
}

int pto_accounts_init(const struct pto_event_graph *graph, uint32_t cluster_count, struct pto_accounts *accounts,
                      struct pto_error *error) {
  struct maker maker = {.accounts = accounts};
  *accounts = (struct pto_accounts){.is_virtual = graph->trace->is_virtual};
  const int status = accounts->is_virtual ? account_virtual(&maker, graph, cluster_count, error)
                                          : pto_accounts_of_threads(graph->trace, accounts, error);
  free(maker.is_used);
  if (status) pto_accounts_fini(accounts);
  return status;
}

void pto_accounts_fini(struct pto_accounts *accounts) {
  free(accounts->items);
  memset(accounts, 0, sizeof *accounts);
}
