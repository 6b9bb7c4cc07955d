// SPDX-License-Identifier: MIT
//
// oneTBB task groups with counters of our own: the edges are handed over, nothing is inferred from data.
//
// Before the clock runs each task knows how many tasks it waits for, and its consumers.  A task that is done takes one
// off each consumer's counter and starts those that come to 0; the submitter starts the tasks that wait for none, and
// then helps.  So this is the price of running a known graph, which the other peers and ours do not know.  With the
// option a task goes on with the first consumer that it makes ready in the same call, without TBB: the least that
// such code can cost.
#include <bench/peers/peer.h>

#include <atomic>
#include <memory>
#include <vector>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace {

const uint32_t none = UINT32_MAX;

const pto_task_graph *graph;
pto_peer_setup setup;
std::unique_ptr<tbb::global_control> control;
std::unique_ptr<tbb::task_arena> arena;
std::unique_ptr<std::atomic<uint32_t>[]> waits; // tasks to wait for: the one that takes it to 0 starts the task
std::vector<uint32_t> roots;

void start(tbb::task_group &group, uint32_t task);

void do_tasks(tbb::task_group &group, uint32_t task) {
  while (task != none) {
    uint32_t next = none;
    pto_task_graph_do(graph, task);
    for (uint32_t i = graph->consumer_begins[task]; i < graph->consumer_begins[task + 1]; i++) {
      const uint32_t consumer = graph->consumers[i];
      // Acquire and release: what all the producers wrote, to the consumer.
      if (waits[consumer].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      if (setup.is_option && next == none)
        next = consumer;
      else
        start(group, consumer);
    }
    task = next;
  }
}

void start(tbb::task_group &group, uint32_t task) {
  group.run([&group, task] { do_tasks(group, task); });
}

} // namespace

bool pto_peer_begin(const pto_task_graph *g, const pto_peer_setup *s) {
  graph = g;
  setup = *s;
  control.reset(new tbb::global_control(tbb::global_control::max_allowed_parallelism, setup.workers));
  arena.reset(new tbb::task_arena(static_cast<int>(setup.workers)));
  waits.reset(new std::atomic<uint32_t>[g->task_count]);
  for (uint32_t i = 0; i < g->task_count; i++)
    if (g->producer_counts[i] == 0) roots.push_back(i);
  return true;
}

void pto_peer_prepare() {
  for (uint32_t i = 0; i < graph->task_count; i++) waits[i].store(graph->producer_counts[i], std::memory_order_relaxed);
}

void pto_peer_run() {
  arena->execute([] {
    tbb::task_group group;
    for (uint32_t task : roots) start(group, task);
    group.wait();
  });
}

void pto_peer_end() {
  arena.reset();
  control.reset();
}
