// SPDX-License-Identifier: MIT
//
// SimGrid (S4U): a simulator of machines that run task graphs, beside the virtual engine.  72 hosts of one core each
// stand for the cores of a2a3, a task is an execution of one simulated second, and a host does one at a time.
//
// The edges are handed over, nothing is inferred from data.  A task's execution is made when its producers are done
// and a host is idle, since SimGrid 3.32 keeps all executions that exist in one list, which it searches from end to end
// whenever one of them ends: so a graph handed over as a whole costs the more a task the more tasks it has.  With the
// option it is handed over so (add_successor) all the same, hosts being given when an execution is ready.  Of its three
// models for CPUs (cpu/optim) TI is the fastest here, and with one task a host they agree on all times.
//
// The task's own work is done when its execution completes, so a dependency that is not kept shows.
#include <bench/peers/peer.h>

#include <deque>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg = simgrid::s4u;

namespace {

const uint32_t core_count = 72;

const pto_task_graph *graph;
pto_peer_setup setup;
sg::Engine *engine; // one a process, for its life
std::vector<sg::Host *> hosts, idle;
std::vector<uint32_t> waits;   // producers of each task that are not done
std::deque<uint32_t> ready;    // tasks that only lack a host
std::deque<sg::Exec *> vetoed; // with the option: executions that only lack a host
// Whoever makes an execution keeps it until it is done: those made last, or with the option all, by task.  All take the
// same time, so what runs was made last.
std::vector<sg::ExecPtr> kept;
uint64_t kept_count;

sg::ExecPtr make(uint32_t task) {
  sg::ExecPtr exec = sg::Exec::init();
  exec->set_flops_amount(1.0);
  exec->set_data(reinterpret_cast<void *>(static_cast<uintptr_t>(task)));
  return exec;
}

void start_some() {
  while (!ready.empty() && !idle.empty()) {
    const uint32_t task = ready.front();
    ready.pop_front();
    sg::ExecPtr exec = make(task);
    exec->set_host(idle.back());
    idle.pop_back();
    exec->start();
    kept[kept_count++ % kept.size()] = exec;
  }
  while (!vetoed.empty() && !idle.empty()) {
    sg::Exec *exec = vetoed.front();
    vetoed.pop_front();
    sg::Host *host = idle.back();
    idle.pop_back();
    exec->set_host(host); // starts it
  }
}

void completed(const sg::Activity &activity) {
  const sg::Exec &exec = static_cast<const sg::Exec &>(activity);
  const uint32_t task = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(exec.get_data<void>()));
  pto_task_graph_do(graph, task);
  idle.push_back(exec.get_host());
  for (uint32_t i = graph->consumer_begins[task]; !setup.is_option && i < graph->consumer_begins[task + 1]; i++)
    if (--waits[graph->consumers[i]] == 0) ready.push_back(graph->consumers[i]);
  start_some();
}

void lacks_something(sg::Activity &activity) {
  if (!activity.dependencies_solved()) return;
  vetoed.push_back(static_cast<sg::Exec *>(&activity));
  start_some();
}

} // namespace

bool pto_peer_begin(const pto_task_graph *g, const pto_peer_setup *s) {
  static char name[] = "simgrid", quiet[] = "--log=xbt_cfg.threshold:warning", model[] = "--cfg=cpu/optim:TI";
  static char *args[] = {name, quiet, model, nullptr};
  static int count = 3;
  graph = g;
  setup = *s;
  engine = new sg::Engine(&count, args);
  sg::NetZone *zone = sg::create_empty_zone("chip");
  for (uint32_t i = 0; i < core_count; i++) {
    hosts.push_back(zone->create_host("core" + std::to_string(i), 1.0));
    hosts.back()->seal();
  }
  zone->seal();
  sg::Activity::on_completion_cb(completed);
  if (setup.is_option) sg::Activity::on_veto_cb(lacks_something);
  return true;
}

void pto_peer_prepare() {
  kept.clear();
  kept.resize(setup.is_option ? graph->task_count : 4 * core_count);
  idle = hosts;
  waits.assign(graph->producer_counts, graph->producer_counts + graph->task_count);
}

void pto_peer_run() {
  for (uint32_t task = 0; task < graph->task_count; task++) {
    if (setup.is_option)
      kept[task] = make(task);
    else if (graph->producer_counts[task] == 0)
      ready.push_back(task);
  }
  if (setup.is_option) {
    for (uint32_t task = 0; task < graph->task_count; task++)
      for (uint32_t i = graph->consumer_begins[task]; i < graph->consumer_begins[task + 1]; i++)
        kept[task]->add_successor(kept[graph->consumers[i]]);
    for (const sg::ExecPtr &exec : kept) exec->vetoable_start();
  }
  start_some();
  engine->run();
}

void pto_peer_end() { kept.clear(); }
