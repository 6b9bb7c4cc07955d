/* SPDX-License-Identifier: MIT */
/*
 * One question: how long do collectives take over the links alone, and how near is that to their closed forms?
 *
 * One JSON line a case: algorithm × ranks × bytes.  Control, launches and cores cost nothing here, so what is left is
 * latency and links: us of virtual time for one collective, closed_form_us, closed_form_percent (closed form over ours)
 * and bus_gb_s, which is bytes / time · 2 (n - 1) / n of an all-reduce, and · (n - 1) / n of the others, of the larger
 * tensor, as nccl-tests defines it (of a broadcast · 1).  peak_gb_s is what a link serves.  The samples are the
 * nanoseconds of processor time of one run of the world, all ranks.
 *
 * Closed forms: a latency α for a put and one for the signal behind it, B what a link serves, S the bytes.
 *
 *   ring                 2 (n - 1) (2 α + S / (n B))
 *   bidirectional ring   2 (n - 1) (2 α + S / (2 n B))   on a mesh; on a switch as a ring, whose links it shares
 *   one phase            2 α + S k / B                 k = 1 on a mesh, n - 1 on a switch
 *   two phases           2 (2 α + S k / (n B))
 *   reduce-scatter       2 α + S k / (n B)             as all-gather, all-to-all and MoE combine are
 *   broadcast            2 α + S k / B                 the root sends to all
 *   barrier              α                             a signal to all; it has no bytes, and no bandwidth
 *   MoE dispatch         that, and before it 2 α + M k / B for the counts, M = 16 + 4 n
 *
 * smpi_us is what SimGrid's SMPI says of the same messages on the same links, from where all its processes have begun:
 * a put is a message, and so is the signal behind it, of no bytes; a rank goes on when all of its step have arrived.
 * smpi_percent is that over ours.  Without SimGrid (scripts/deps --bench) the lines lack both.
 *
 * Of MoE: an expert a rank, and from each rank a row to each, of S / n bytes; the combine is what it takes longer than
 * the dispatch alone.
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <bench/support/links_peer.h>
#include <pto/collectives.h>
#include <runtime/base/reserve.h>
#include <sim/chips/chip.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 7
#define MOST_BYTES (UINT64_C(1) << 28)
#define INDEX_BYTES 4096u /* room for an index of each rank */
#define MOST_MESSAGES 2048u
#define MESH "a2a3,dies_per_package=1,chips_per_node=8,node_topology=mesh,node_bandwidth_mbps=56000,nodes=1"
#define SWITCH "a2a3,dies_per_package=1,chips_per_node=16,nodes=1"

enum verb {
  RING,
  BIDIRECTIONAL_RING,
  ONE_PHASE,
  TWO_PHASE,
  REDUCE_SCATTER,
  ALL_GATHER,
  ALL_TO_ALL,
  BROADCAST,
  BARRIER,
  MOE_DISPATCH,
  MOE_COMBINE,
  VERBS
};
static const char *const names[VERBS] = {"all_reduce_ring",
                                         "all_reduce_bidirectional_ring",
                                         "all_reduce_one_phase",
                                         "all_reduce_two_phase",
                                         "reduce_scatter",
                                         "all_gather",
                                         "all_to_all",
                                         "broadcast",
                                         "barrier",
                                         "moe_dispatch",
                                         "moe_combine"};

struct job {
  enum verb verb;
  uint32_t ranks;
  uint64_t bytes; /* of the larger tensor */
  bool has_collective;
  struct pto_chip chip;
  uint64_t virtual_ps;
};

/* Of tensors: addresses alone, as nothing is computed. */
static struct pto_reserve memory;

static struct pto_tensor f32(struct pto_runtime *rt, void *addr, uint64_t bytes) {
  const uint64_t elems = bytes / 4;
  return pto_external_tensor(rt, addr, PTO_FLOAT32, 1, &elems);
}

/* The dispatch, and a combine where that is the collective. */
static int submit_moe(struct pto_runtime *rt, struct pto_comm comm, const struct job *job) {
  const uint64_t n = job->ranks, row[] = {n, job->bytes / n / 4}, rows[] = {1, row[0], row[1]}, index[] = {n, 1};
  char *addr = memory.addr, *indices = addr + 3 * MOST_BYTES;
  struct pto_moe_handle handle;
  const struct pto_tensor x = pto_external_tensor(rt, addr, PTO_FLOAT32, 2, row),
                          recv_x = pto_external_tensor(rt, addr + MOST_BYTES, PTO_FLOAT32, 3, rows),
                          out = pto_external_tensor(rt, addr + 2 * MOST_BYTES, PTO_FLOAT32, 2, row),
                          topk_idx = pto_external_tensor(rt, indices, PTO_INT32, 2, index),
                          topk_weights = pto_external_tensor(rt, indices + INDEX_BYTES, PTO_FLOAT32, 2, index),
                          recv_count = pto_external_tensor(rt, indices + 2 * INDEX_BYTES, PTO_INT32, 1, rows);
  const int status = pto_submit_moe_dispatch(rt, comm, &x, &topk_idx, &recv_x, &recv_count, &handle);
  if (status || job->verb != MOE_COMBINE || !job->has_collective) return status;
  return pto_submit_moe_combine(rt, comm, &recv_x, &topk_weights, &handle, &out);
}

static int submit(struct pto_runtime *rt, struct pto_comm comm, const struct job *job) {
  const uint64_t part = job->bytes / job->ranks;
  const struct pto_tensor whole = f32(rt, memory.addr, job->bytes),
                          other = f32(rt, (char *)memory.addr + MOST_BYTES, job->bytes),
                          piece = f32(rt, (char *)memory.addr + 2 * MOST_BYTES, part);
  static const enum pto_all_reduce algorithms[] = {[RING] = PTO_ALL_REDUCE_RING,
                                                   [BIDIRECTIONAL_RING] = PTO_ALL_REDUCE_BIDIRECTIONAL_RING,
                                                   [ONE_PHASE] = PTO_ALL_REDUCE_ONE_PHASE,
                                                   [TWO_PHASE] = PTO_ALL_REDUCE_TWO_PHASE};
  switch (job->verb) {
  case REDUCE_SCATTER:
    return pto_submit_reduce_scatter(rt, comm, &whole, &piece, PTO_REDUCE_SUM);
  case ALL_GATHER:
    return pto_submit_all_gather(rt, comm, &piece, &whole);
  case ALL_TO_ALL:
    return pto_submit_all_to_all(rt, comm, &whole, &other);
  case BROADCAST:
    return pto_submit_broadcast(rt, comm, &whole, &other, 0);
  case BARRIER:
    return pto_submit_comm_barrier(rt, comm, NULL);
  case MOE_DISPATCH:
  case MOE_COMBINE:
    return submit_moe(rt, comm, job);
  default:
    return pto_submit_all_reduce(rt, comm, &whole, &other, PTO_REDUCE_SUM, algorithms[job->verb]);
  }
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  const struct job *job = context;
  struct pto_comm comm;
  int status = pto_comm_create_for_collectives(rt, NULL, 0, job->bytes, &comm);
  if (status == PTO_OK && (job->has_collective || job->verb == MOE_COMBINE)) status = submit(rt, comm, job);
  return status;
}

static int run_rank(struct pto_rank *rank, void *context) {
  struct job *job = context;
  struct pto_runtime *rt;
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .made_chip = &job->chip,
                                    .no_compute = true,
                                    .window = 64,
                                    .heap_bytes = 1 << 16,
                                    .rank = rank};
  int status = pto_runtime_create(&config, &rt);
  if (status) return status;
  status = pto_run(rt, orchestrate, job);
  if (status) pto_rank_set_error(rank, pto_last_error(rt));
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  if (stats.virtual_ps > job->virtual_ps) job->virtual_ps = stats.virtual_ps;
  pto_runtime_destroy(rt);
  return status;
}

static uint64_t run(struct job *job, bool has_collective) {
  char sentence[512] = "";
  struct pto_world *world = NULL;
  const struct pto_world_config config = {.size = sizeof config, .ranks = job->ranks, .made_chip = &job->chip};
  job->has_collective = has_collective;
  job->virtual_ps = 0;
  if (pto_world_create(&config, &world, sentence, sizeof sentence) || pto_world_run(world, run_rank, job)) {
    fprintf(stderr, "bench_collectives: %s\n", world ? pto_world_last_error(world) : sentence);
    exit(1);
  }
  pto_world_destroy(world);
  return job->virtual_ps;
}

/* Only the links take time. */
static struct pto_chip free_chip(const char *text) {
  struct pto_chip chip;
  struct pto_error error;
  if (pto_chip_load(text, &chip, &error)) {
    fprintf(stderr, "bench_collectives: %s\n", error.sentence);
    exit(1);
  }
  memset(chip.work_ps, 0, sizeof chip.work_ps);
  chip.kernel_start_ps = chip.pending_start_ps = chip.cold_start_ps = chip.handshake_ps = chip.loop_ps = chip.look_ps =
      0;
  chip.dispatch_more_ps = chip.kernel_end_ps = chip.signal_ps = 0;
  chip.has_stages = chip.shares_anew = chip.has_lru_l2 = 0;
  chip.l2_bytes = 0;
  chip.kernel_times[0] = '\0';
  chip.core_bandwidth_mbps = chip.chip_bandwidth_mbps = UINT64_C(1000000000000);
  chip.vector_elems_per_cycle = UINT64_C(1) << 40;
  return chip;
}

static double closed_form_us(const struct job *job, bool is_mesh, double alpha_us, double bytes_per_us) {
  const double n = job->ranks, s = (double)job->bytes, k = is_mesh ? 1 : n - 1;
  switch (job->verb) {
  case RING:
    return 2 * (n - 1) * (2 * alpha_us + s / (n * bytes_per_us));
  case BIDIRECTIONAL_RING: /* a ring where there are two ranks, or both ways share a link */
    return 2 * (n - 1) * (2 * alpha_us + s / (n * bytes_per_us) / (n > 2 && is_mesh ? 2 : 1));
  case ONE_PHASE:
  case BROADCAST:
    return 2 * alpha_us + s * k / bytes_per_us;
  case BARRIER:
    return alpha_us;
  case TWO_PHASE:
    return 2 * (2 * alpha_us + s * k / (n * bytes_per_us));
  case MOE_DISPATCH:
    return 4 * alpha_us + (s / n + 16 + 4 * n) * k / bytes_per_us;
  default:
    return 2 * alpha_us + s * k / (n * bytes_per_us);
  }
}

/* ---- the same by SMPI ---- */

static struct pto_bench_message messages[MOST_MESSAGES];
static uint32_t message_count;
static bool has_peer;

/* A step of puts, and one of the signals behind them: to all others, or `ahead` places on alone.  A broadcast has but
 * one source, and a barrier no puts. */
static void add_steps(const struct job *job, uint32_t step, uint32_t ahead, uint64_t bytes) {
  const uint32_t n = job->ranks;
  for (uint32_t is_signal = job->verb == BARRIER; is_signal < 2; is_signal++)
    for (uint32_t source = 0; source < (job->verb == BROADCAST ? 1 : n); source++)
      for (uint32_t hop = ahead ? ahead : 1; hop <= (ahead ? ahead : n - 1); hop++) {
        PTO_ASSERT(message_count < MOST_MESSAGES);
        messages[message_count++] = (struct pto_bench_message){.step = job->verb == BARRIER ? 0 : step + is_signal,
                                                               .source = source,
                                                               .target = (source + hop) % n,
                                                               .bytes = is_signal ? 0 : bytes};
      }
}

static void make_messages(const struct job *job) {
  const uint32_t n = job->ranks;
  const uint64_t part = job->bytes / n;
  message_count = 0;
  switch (job->verb) {
  case RING:
    for (uint32_t round = 0; round < 2 * (n - 1); round++) add_steps(job, 2 * round, 1, part);
    break;
  case BIDIRECTIONAL_RING:
    for (uint32_t round = 0; round < 2 * (n - 1); round++) {
      add_steps(job, 2 * round, 1, part / 2);
      add_steps(job, 2 * round, n - 1, part / 2);
    }
    break;
  case ONE_PHASE:
  case BROADCAST:
    add_steps(job, 0, 0, job->bytes);
    break;
  case TWO_PHASE:
    add_steps(job, 0, 0, part);
    add_steps(job, 2, 0, part);
    break;
  case MOE_DISPATCH:
    add_steps(job, 0, 0, 16 + 4 * n);
    add_steps(job, 2, 0, part);
    break;
  default:
    add_steps(job, 0, 0, part);
  }
}

static void add_smpi(struct pto_bench_line *line, const struct job *job, double us) {
  double smpi_ps = 0;
  if (!has_peer) return;
  make_messages(job);
  if (!pto_links_peer_run("smpi", &job->chip, job->ranks, messages, message_count, &smpi_ps)) exit(1);
  pto_bench_line_real(line, "smpi_us", smpi_ps * 1e-6);
  pto_bench_line_real(line, "smpi_percent", smpi_ps * 1e-4 / us);
}

/* Bytes of the busiest way over those of the larger tensor. */
static double bus_factor(const struct job *job) {
  const double n = job->ranks;
  if (job->verb == BARRIER) return 0;
  if (job->verb == BROADCAST) return 1;
  return (job->verb < REDUCE_SCATTER ? 2 : 1) * (n - 1) / n;
}

static void measure(struct job *job, const char *fabric, bool is_mesh) {
  const double bytes_per_us =
      (double)job->chip.fabric.tiers[PTO_CHIP_NODE].bandwidth_mbps * job->chip.fabric.link_percent / 100;
  const double alpha_us = (double)job->chip.fabric.tiers[PTO_CHIP_NODE].latency_ps * 1e-6;
  const double before_us = (double)run(job, false) * 1e-6;
  struct pto_samples samples = {0};
  double us = 0;
  for (uint32_t i = 0; i < pto_bench_repeats(RUNS); i++) {
    const double begin = pto_bench_cpu_ns();
    us = (double)run(job, true) * 1e-6 - before_us;
    pto_samples_add(&samples, pto_bench_cpu_ns() - begin);
  }
  const double closed = closed_form_us(job, is_mesh, alpha_us, bytes_per_us);
  struct pto_bench_line *line = pto_bench_line_begin("collectives", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "fabric", fabric);
  pto_bench_line_text(line, "algorithm", names[job->verb]);
  pto_bench_line_count(line, "ranks", job->ranks);
  pto_bench_line_count(line, "bytes", job->bytes);
  pto_bench_line_real(line, "us", us);
  pto_bench_line_real(line, "closed_form_us", closed);
  pto_bench_line_real(line, "closed_form_percent", 100 * closed / us);
  add_smpi(line, job, us);
  pto_bench_line_real(line, "bus_gb_s", (double)job->bytes / us * 1e-3 * bus_factor(job));
  pto_bench_line_real(line, "peak_gb_s", bytes_per_us * 1e-3);
  pto_bench_line_print(line, &samples);
}

int main(void) {
  static const uint64_t sizes[] = {UINT64_C(1) << 12, UINT64_C(1) << 16, UINT64_C(1) << 20, MOST_BYTES};
  static struct job job;
  has_peer = pto_links_peer_is_there("bench_collectives");
  if (!pto_reserve_init(&memory, 3 * MOST_BYTES + 3 * INDEX_BYTES)) return 1;
  for (int is_mesh = 1; is_mesh >= 0; is_mesh--) {
    job.chip = free_chip(is_mesh ? MESH : SWITCH);
    for (job.ranks = 2; job.ranks <= (is_mesh ? 8 : 16); job.ranks *= 2)
      for (uint32_t verb = 0; verb < VERBS; verb++)
        for (uint32_t i = 0; i < 4; i++) {
          job.verb = (enum verb)verb;
          job.bytes = sizes[i];
          measure(&job, is_mesh ? "mesh" : "switch", is_mesh);
        }
  }
  pto_reserve_fini(&memory);
  return 0;
}
