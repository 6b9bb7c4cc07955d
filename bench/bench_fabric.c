/* SPDX-License-Identifier: MIT */
/*
 * One question: when do messages between chips arrive, beside SimGrid on the same links?
 *
 * One JSON line a case; `what` names it:
 *
 *   point_to_point   a message alone, by tier
 *   ring_all_reduce  2 (n - 1) steps in which each rank sends an n-th of the bytes to the next
 *   all_to_all       an n-th of the bytes from each rank to each other one, all at once
 *   random           messages of random pairs, sizes and times, several to a link at most times
 *
 * times_alone is the mean of how much longer a message takes than alone: 1 where none waits for another.
 *
 * All are schedules of messages, a step after the other: a message begins when both its ranks have done the steps
 * before.  us is when the last message arrives; off_percent the worst of all messages, of its own time, beside
 * SimGrid's S4U, and smpi_off_percent that of the last, beside SMPI, whose processes send and receive (steps have no
 * times of their own there, so not of random).  closed_form_percent is the closed form's time over ours.  The samples
 * are the nanoseconds of processor time that a message takes here.
 *
 * Chips are the shipped ones.  Without SimGrid (scripts/deps --bench) the lines lack what it says.
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <bench/support/links_peer.h>
#include <sim/fabric/fabric.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 7
#define MOST_MESSAGES 4096u
#define OFF_AIM_ALONE 1.0
#define OFF_AIM_CONTENDED 3.0

/* A case's chip: what a2a3 is by default, and what docs/fabric.md has for an A2. */
#define A3 "a2a3"
#define A2                                                                                                             \
  "a2a3,dies_per_package=1,chips_per_node=8,node_topology=mesh,node_bandwidth_mbps=56000,"                             \
  "nodes_latency_ps=1500000,nodes_bandwidth_mbps=25000"
#define RING "a2a3,dies_per_package=1,chips_per_node=8,nodes=1,node_topology=ring"
#define A5 "a5"

/* Of a message here. */
struct passage {
  double arrival_ps, began_ps, lookahead_ps;
};

static struct pto_bench_message messages[MOST_MESSAGES];
static struct passage passages[MOST_MESSAGES];
static double there_ps[MOST_MESSAGES]; /* when each arrives by S4U */
static uint32_t message_count, rank_count;
static struct pto_chip chip;
static bool is_good = true;
static bool has_peer;

/* ---- schedules ---- */

static void begin_schedule(const char *text, uint32_t ranks) {
  struct pto_error error;
  message_count = 0;
  rank_count = ranks;
  if (pto_chip_load(text, &chip, &error)) {
    fprintf(stderr, "bench_fabric: %s\n", error.sentence);
    exit(1);
  }
}

static void add(uint32_t step, uint32_t source, uint32_t target, uint64_t begin_ps, uint64_t bytes) {
  PTO_ASSERT(message_count < MOST_MESSAGES);
  messages[message_count++] = (struct pto_bench_message){
      .step = step, .source = source, .target = target, .begin_ps = begin_ps, .bytes = bytes};
}

static void ring_all_reduce(uint64_t bytes) {
  for (uint32_t step = 0; step < 2 * (rank_count - 1); step++)
    for (uint32_t rank = 0; rank < rank_count; rank++) add(step, rank, (rank + 1) % rank_count, 0, bytes / rank_count);
}

static void all_to_all(uint64_t bytes) {
  for (uint32_t source = 0; source < rank_count; source++)
    for (uint32_t target = 0; target < rank_count; target++)
      if (source != target) add(0, source, target, 0, bytes / rank_count);
}

/* Sizes of 4 kB to 16 MB, evenly by their logarithm, begun a microsecond apart in the mean. */
static void random_messages(uint32_t count) {
  struct pto_rng rng = {.state = 7};
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t source = (uint32_t)pto_rng_below(&rng, rank_count);
    const uint32_t target = (source + 1 + (uint32_t)pto_rng_below(&rng, rank_count - 1)) % rank_count;
    const uint64_t bytes = UINT64_C(4096) << pto_rng_below(&rng, 13);
    add(0, source, target, pto_rng_below(&rng, UINT64_C(1000000) * count), bytes - pto_rng_below(&rng, bytes / 2));
  }
}

/* ---- here ---- */

struct progress {
  uint32_t steps[PTO_FABRIC_MAX_RANKS];
  uint32_t waits[PTO_FABRIC_MAX_RANKS]; /* messages of the rank's step that have not arrived */
};

/* Goes on to the next step that has messages of the rank. */
static void next_step(struct progress *progress, uint32_t rank, uint32_t from) {
  uint32_t step = UINT32_MAX;
  for (uint32_t i = 0; i < message_count; i++)
    if ((messages[i].source == rank || messages[i].target == rank) && messages[i].step >= from)
      step = messages[i].step < step ? messages[i].step : step;
  progress->steps[rank] = step;
  for (uint32_t i = 0; i < message_count; i++)
    progress->waits[rank] += messages[i].step == step && (messages[i].source == rank || messages[i].target == rank);
}

/* Begins what both ends of are at its step and one is `rank`. */
static void begin_ready(struct pto_fabric *fabric, const struct progress *progress, uint32_t rank, uint64_t now) {
  for (uint32_t i = 0; i < message_count; i++) {
    const struct pto_bench_message *m = &messages[i];
    if ((m->source != rank && m->target != rank) || m->step != progress->steps[m->source] ||
        m->step != progress->steps[m->target] || passages[i].began_ps >= 0)
      continue;
    const struct pto_fabric_message message = {.id = i, .bytes = m->bytes, .source = m->source, .target = m->target};
    passages[i].began_ps = (double)pto_max_u64(now, m->begin_ps);
    passages[i].lookahead_ps = (double)pto_fabric_lookahead_ps(fabric, m->source, m->target);
    is_good &= pto_fabric_begin(fabric, pto_max_u64(now, m->begin_ps), &message) == PTO_OK;
  }
}

static void finish(struct pto_fabric *fabric, struct progress *progress, uint32_t rank, uint64_t now) {
  if (--progress->waits[rank] > 0) return;
  next_step(progress, rank, progress->steps[rank] + 1);
  begin_ready(fabric, progress, rank, now);
}

static void run_here(void) {
  struct progress progress = {0};
  struct pto_fabric *fabric;
  struct pto_fabric_arrival arrival;
  struct pto_error error;
  if (pto_fabric_create(&chip, rank_count, &fabric, &error)) {
    fprintf(stderr, "bench_fabric: %s\n", error.sentence);
    exit(1);
  }
  for (uint32_t i = 0; i < message_count; i++) passages[i].began_ps = -1;
  for (uint32_t rank = 0; rank < rank_count; rank++) next_step(&progress, rank, 0);
  for (uint32_t rank = 0; rank < rank_count; rank++) begin_ready(fabric, &progress, rank, 0);
  while (pto_fabric_advance(fabric, PTO_FABRIC_NEVER - 1, &arrival)) {
    passages[arrival.message.id].arrival_ps = (double)arrival.at;
    finish(fabric, &progress, arrival.message.source, arrival.at);
    finish(fabric, &progress, arrival.message.target, arrival.at);
  }
  pto_fabric_destroy(fabric);
}

/* ---- there ---- */

/* Fills there_ps; what SMPI says of the last message, 0 where it is not asked. */
static double run_there(bool has_smpi) {
  double smpi_ps = 0;
  is_good &= pto_links_peer_run("s4u", &chip, rank_count, messages, message_count, there_ps);
  if (has_smpi) is_good &= pto_links_peer_run("smpi", &chip, rank_count, messages, message_count, &smpi_ps);
  return smpi_ps;
}

/* ---- results ---- */

static double bytes_ps(enum pto_chip_tier tier, double bytes) {
  return bytes * 1e8 / (double)(chip.fabric.tiers[tier].bandwidth_mbps * chip.fabric.link_percent);
}

static double link_ps(enum pto_chip_tier tier, double bytes) {
  return (double)chip.fabric.tiers[tier].latency_ps + bytes_ps(tier, bytes);
}

static double alone_ps(uint32_t i) {
  const struct pto_bench_message *m = &messages[i];
  const bool is_one_node = m->source / chip.fabric.chips_per_node == m->target / chip.fabric.chips_per_node;
  const bool is_one_package = m->source / chip.fabric.dies_per_package == m->target / chip.fabric.dies_per_package;
  const enum pto_chip_tier tier = is_one_package ? PTO_CHIP_PACKAGE : is_one_node ? PTO_CHIP_NODE : PTO_CHIP_NODES;
  return passages[i].lookahead_ps + bytes_ps(tier, (double)m->bytes);
}

struct what {
  const char *name, *links;
  uint64_t bytes;
  double closed_form_ps; /* 0: it has none */
  bool is_contended;
};

static void print_case(const struct what *what, const struct pto_samples *ns, bool has_smpi) {
  double end_ps = 0, off = 0, times_alone = 0;
  const double smpi_ps = has_peer ? run_there(has_smpi) : 0;
  for (uint32_t i = 0; i < message_count; i++) {
    const struct passage *p = &passages[i];
    end_ps = fmax(end_ps, p->arrival_ps);
    /* What began with an arrival began when the peer's did, or nearly. */
    off = fmax(off, fabs(p->arrival_ps - there_ps[i]) / (p->arrival_ps - p->began_ps));
    times_alone += (p->arrival_ps - p->began_ps) / alone_ps(i) / message_count;
  }
  struct pto_bench_line *line = pto_bench_line_begin("fabric", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "what", what->name);
  pto_bench_line_text(line, "links", what->links);
  pto_bench_line_count(line, "ranks", rank_count);
  pto_bench_line_count(line, "bytes", what->bytes);
  pto_bench_line_count(line, "messages", message_count);
  pto_bench_line_real(line, "us", end_ps / 1e6);
  pto_bench_line_real(line, "times_alone", times_alone);
  if (what->closed_form_ps > 0) pto_bench_line_real(line, "closed_form_percent", 100 * what->closed_form_ps / end_ps);
  if (has_peer) {
    pto_bench_line_real(line, "off_percent", 100 * off);
    if (smpi_ps > 0) pto_bench_line_real(line, "smpi_off_percent", 100 * fabs(end_ps - smpi_ps) / smpi_ps);
    pto_bench_line_real(line, "off_aim", what->is_contended ? OFF_AIM_CONTENDED : OFF_AIM_ALONE);
  }
  pto_bench_line_print(line, ns);
}

static void measure(const struct what *what, bool has_smpi) {
  struct pto_samples ns = {.count = 0};
  for (uint32_t run = pto_bench_repeats(RUNS) + 1; run-- > 0;) {
    const double begin = pto_bench_cpu_ns();
    run_here();
    if (ns.count > 0 || run < RUNS) pto_samples_add(&ns, (pto_bench_cpu_ns() - begin) / message_count);
  }
  print_case(what, &ns, has_smpi);
}

static const uint64_t sizes[] = {4096, 65536, UINT64_C(4) << 20, UINT64_C(64) << 20, UINT64_C(256) << 20};

static void point_to_point(void) {
  static const struct {
    const char *links;
    enum pto_chip_tier tier;
    uint32_t target;
  } pairs[] = {{"a3 package", PTO_CHIP_PACKAGE, 1}, {"a3 node", PTO_CHIP_NODE, 2}, {"a3 nodes", PTO_CHIP_NODES, 16}};
  for (size_t pair = 0; pair < PTO_ARRAY_LENGTH(pairs); pair++) {
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(sizes); i++) {
      begin_schedule(A3, 32);
      add(0, 0, pairs[pair].target, 0, sizes[i]);
      const struct what what = {.name = "point_to_point",
                                .links = pairs[pair].links,
                                .bytes = sizes[i],
                                .closed_form_ps = link_ps(pairs[pair].tier, (double)sizes[i])};
      measure(&what, true);
    }
  }
}

static void collectives(void) {
  static const struct {
    const char *name, *links, *chip;
    uint32_t ranks;
    void (*make)(uint64_t bytes);
    bool is_contended;
  } cases[] = {{"ring_all_reduce", "a2 mesh", A2, 8, ring_all_reduce, false},
               {"ring_all_reduce", "a3 switch", A3, 16, ring_all_reduce, false},
               {"all_to_all", "a2 mesh", A2, 8, all_to_all, false},
               {"all_to_all", "a3 switch", A3, 16, all_to_all, true},
               {"all_to_all", "a3 two nodes", A3, 32, all_to_all, true},
               {"all_to_all", "ring", RING, 8, all_to_all, true}}; /* SMPI cannot wait for hops */
  for (size_t c = 0; c < PTO_ARRAY_LENGTH(cases); c++) {
    for (size_t i = 1; i < PTO_ARRAY_LENGTH(sizes); i++) {
      struct what what = {
          .name = cases[c].name, .links = cases[c].links, .bytes = sizes[i], .is_contended = cases[c].is_contended};
      begin_schedule(cases[c].chip, cases[c].ranks);
      cases[c].make(sizes[i]);
      /* The slowest hop of each step of a ring; one message of a mesh. */
      const double part_ps = link_ps(PTO_CHIP_NODE, (double)(sizes[i] / cases[c].ranks));
      if (!what.is_contended)
        what.closed_form_ps = cases[c].make == all_to_all ? part_ps : 2 * (cases[c].ranks - 1) * part_ps;
      measure(&what, strcmp(cases[c].links, "ring") != 0);
    }
  }
}

static void random_cases(void) {
  static const struct {
    const char *links, *chip;
    uint32_t ranks;
  } cases[] = {{"a2 mesh", A2, 8},
               {"a2 four nodes", A2, 32},
               {"a3 two nodes", A3, 32},
               {"a5 eight nodes", A5, 64},
               {"ring", RING, 8}};
  for (size_t c = 0; c < PTO_ARRAY_LENGTH(cases); c++) {
    const struct what what = {.name = "random", .links = cases[c].links, .is_contended = true};
    begin_schedule(cases[c].chip, cases[c].ranks);
    random_messages(pto_bench_size(2000));
    measure(&what, false);
  }
}

int main(void) {
  has_peer = pto_links_peer_is_there("bench_fabric");
  point_to_point();
  collectives();
  random_cases();
  return is_good ? 0 : 1;
}
