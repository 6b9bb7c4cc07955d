/* SPDX-License-Identifier: MIT */
/*
 * For tests: the rules of docs/virtual-time.md once more, as a plain list of messages that is searched from end to end
 * for whatever happens next.  Slow, no queues, no heap; a scheduler that goes round in a loop does so turn by turn.
 * Shares nothing with the engine but the chip, whose prices are without those of profiling, and the duration formula.
 */
#ifndef PTO_TESTS_VIRTUAL_MODEL_H
#define PTO_TESTS_VIRTUAL_MODEL_H

#include <sim/chips/timing.h>
#include <sim/virtual/jitter.h>

#define PTO_MODEL_MESSAGES 512
#define PTO_MODEL_MEMORY 1024 /* bytes of memory that there are */
#define PTO_MODEL_ORCHESTRATOR PTO_CHIP_MAX_SCHEDULERS
#define PTO_MODEL_RESOLVER (PTO_CHIP_MAX_SCHEDULERS + 1)
#define PTO_MODEL_ACTORS (PTO_CHIP_MAX_SCHEDULERS + 2)

enum pto_model_state {
  PTO_MODEL_ASKED,
  PTO_MODEL_ARRIVED,
  PTO_MODEL_STREAMS,    /* begun, and it has not got all its bytes of the global memory */
  PTO_MODEL_STREAMS_L2, /* all these, but not those of the L2 cache */
  PTO_MODEL_BEGUN,
  PTO_MODEL_VISIBLE,
  PTO_MODEL_FOUND, /* by the loop of its scheduler */
  PTO_MODEL_POLLED
};

struct pto_model_message {
  enum pto_model_state state;
  uint32_t core, group; /* 0: alone */
  uint64_t task;        /* its number; blocks of one task have the same */
  uint32_t block;
  struct pto_cost cost;
  uint64_t asked, arrival, begin, end, visible;
  uint64_t compute_end; /* of one that streams */
  uint64_t serial;      /* what follows after both */
  uint64_t l2_bytes;    /* of the cost's, those of the L2 cache */
  struct {
    uint32_t lo, bytes, stride, mode, block, blocks;
  } tensor; /* of one dimension and bytes, which it uses; with an L2 cache by use */
  unsigned __int128 l2_units;
  unsigned __int128 units; /* of 2⁻²⁰ · 10⁻⁶ bytes, which it has not got */
};

struct pto_model {
  struct pto_chip chip;
  struct pto_jitter jitter;
  struct pto_model_message messages[PTO_MODEL_MESSAGES]; /* in order of dispatch; index = ticket */
  uint32_t count;
  uint32_t open_group; /* messages of the open group do not start; 0: none */
  uint64_t clocks[PTO_MODEL_ACTORS];
  uint64_t idle_until[PTO_CHIP_MAX_SCHEDULERS]; /* turns of a loop in which nothing was done, since its clock */
  uint32_t actor;
  uint32_t begun[PTO_MODEL_MESSAGES], begun_count; /* tickets in order of begin */
  uint64_t wiring_at, wiring_ps; /* edges that the first scheduler has yet to wire; ps is 0 where there are none */
  uint64_t last_task[PTO_CHIP_MAX_SCHEDULERS]; /* whose message the scheduler sent last, */
  bool has_sent[PTO_CHIP_MAX_SCHEDULERS];      /* if any */
  uint64_t l2_used_at[PTO_MODEL_MEMORY],
      l2_uses; /* by byte: the number of the last use; 0: it is not in the L2 cache */
  bool l2_is_written[PTO_MODEL_MEMORY];
  uint64_t served_until; /* streams have got what is theirs up to then */
};

struct pto_model_next {
  enum {
    PTO_MODEL_NOTHING,
    PTO_MODEL_SERVED,
    PTO_MODEL_END,
    PTO_MODEL_BEGIN,
    PTO_MODEL_COMPLETION,
    PTO_MODEL_WIRING,
    PTO_MODEL_SENDING,
    PTO_MODEL_LOOKS
  } what;
  uint64_t time;
  uint32_t ticket, scheduler;
};

/* What recording adds to a price, where the chip records: a price of its own, not in the others here. */
static inline uint64_t pto_model_recording(const struct pto_model *model, uint64_t ps) {
  return model->chip.has_profiling ? ps : 0;
}

static inline uint32_t pto_model_owner(const struct pto_model *model, uint32_t core) {
  uint32_t owner = 0;
  if (model->chip.deals_clusters) {
    for (uint32_t cluster = core / 3; cluster > 0; cluster--)
      owner = owner + 1 < model->chip.scheduler_count ? owner + 1 : 0;
    return owner;
  }
  while ((uint64_t)(owner + 1) * model->chip.cluster_count <= (uint64_t)(core / 3) * model->chip.scheduler_count)
    owner++;
  return owner;
}

/* The table of cold cores once more. */
static inline uint64_t pto_model_cold_start(const struct pto_model *model, uint32_t core) {
  static const uint64_t sixteenths[] = {11, 0, 27, 5, 13, 40, 2, 17, 9, 38, 7, 23};
  return model->chip.cold_start_ps * sixteenths[core % 12] / 16;
}

/* Time from which the message could begin, its group aside; false where something is before it on its core. */
static inline bool pto_model_base(const struct pto_model *model, uint32_t ticket, uint64_t *base) {
  const struct pto_model_message *message = &model->messages[ticket];
  if (message->state != PTO_MODEL_ARRIVED) return false;
  *base = message->arrival;
  for (uint32_t i = 0; i < ticket; i++) {
    if (model->messages[i].core != message->core) continue;
    if (model->messages[i].state < PTO_MODEL_VISIBLE) return false;
    *base = pto_max_u64(*base, model->messages[i].visible);
  }
  return true;
}

static inline bool pto_model_begin_time(const struct pto_model *model, uint32_t ticket, uint64_t *time) {
  uint32_t group = model->messages[ticket].group;
  uint64_t base;
  if (!pto_model_base(model, ticket, time)) return false;
  if (group && group == model->open_group) return false;
  for (uint32_t i = 0; group && i < model->count; i++) {
    if (model->messages[i].group != group || model->messages[i].state >= PTO_MODEL_STREAMS) continue;
    if (!pto_model_base(model, i, &base)) return false;
    *time = pto_max_u64(*time, base);
  }
  /* Members that have begun at this instant fixed it. */
  for (uint32_t i = 0; group && i < model->count; i++) {
    if (model->messages[i].group == group && model->messages[i].state >= PTO_MODEL_STREAMS) {
      *time = model->messages[i].begin;
      return true;
    }
  }
  const bool has_waited = !group && *time > model->messages[ticket].arrival;
  *time += has_waited ? model->chip.pending_start_ps : model->chip.kernel_start_ps;
  *time += pto_model_recording(model, has_waited ? model->chip.profiling_pending_ps : model->chip.profiling_start_ps);
  return true;
}

/* Units a picosecond of each stream of that kind, as many as there are now; 0: there is none. */
static inline unsigned __int128 pto_model_share(const struct pto_model *model, enum pto_model_state kind) {
  const struct pto_chip *chip = &model->chip;
  const bool is_l2 = kind == PTO_MODEL_STREAMS_L2;
  const unsigned __int128 cap = is_l2 ? chip->l2_core_bandwidth_mbps : chip->core_bandwidth_mbps;
  const unsigned __int128 total = is_l2 ? chip->l2_chip_bandwidth_mbps : chip->chip_bandwidth_mbps;
  uint32_t count = 0;
  for (uint32_t i = 0; i < model->count; i++) count += model->messages[i].state == kind;
  if (count == 0) return 0;
  return cap << 20 < (total << 20) / count ? cap << 20 : (total << 20) / count;
}

/* Lets `time` be: each stream has got its share until then. */
static inline void pto_model_serve(struct pto_model *model, uint64_t time) {
  const unsigned __int128 shares[] = {pto_model_share(model, PTO_MODEL_STREAMS),
                                      pto_model_share(model, PTO_MODEL_STREAMS_L2)};
  for (uint32_t i = 0; i < model->count; i++) {
    struct pto_model_message *message = &model->messages[i];
    const bool is_l2 = message->state == PTO_MODEL_STREAMS_L2;
    const unsigned __int128 got = shares[is_l2] * (time - model->served_until);
    unsigned __int128 *units = is_l2 ? &message->l2_units : &message->units;
    if (message->state == PTO_MODEL_STREAMS || is_l2) *units -= got < *units ? got : *units;
  }
  model->served_until = time;
}

/* Order of things at one instant: ends of streams, ends, begins (each by core), then schedulers. */
static inline bool pto_model_is_before(const struct pto_model *model, struct pto_model_next a,
                                       struct pto_model_next b) {
  if (a.what == PTO_MODEL_NOTHING || b.what == PTO_MODEL_NOTHING)
    return b.what == PTO_MODEL_NOTHING && a.what != PTO_MODEL_NOTHING;
  if (a.time != b.time) return a.time < b.time;
  const uint64_t rank_a = pto_min_u64(a.what, PTO_MODEL_COMPLETION), rank_b = pto_min_u64(b.what, PTO_MODEL_COMPLETION);
  if (rank_a != rank_b) return rank_a < rank_b;
  if (rank_a == PTO_MODEL_COMPLETION) return a.scheduler < b.scheduler;
  return model->messages[a.ticket].core < model->messages[b.ticket].core;
}

/* Where a scheduler with a loop is now. */
static inline uint64_t pto_model_loop_at(const struct pto_model *model, uint32_t scheduler) {
  return pto_max_u64(model->clocks[scheduler], model->idle_until[scheduler]);
}

/* Whether the core has a message that was sent to it and not taken in. */
static inline bool pto_model_is_running(const struct pto_model *model, uint32_t core) {
  for (uint32_t i = 0; i < model->count; i++) {
    const enum pto_model_state state = model->messages[i].state;
    if (model->messages[i].core == core && state != PTO_MODEL_ASKED && state != PTO_MODEL_POLLED) return true;
  }
  return false;
}

/* The looks of one turn, to their end. */
static inline void pto_model_look(struct pto_model *model, uint32_t scheduler) {
  uint64_t time = pto_model_loop_at(model, scheduler) + model->chip.loop_ps;
  for (uint32_t core = 0; core < 3 * model->chip.cluster_count; core++) {
    if (pto_model_owner(model, core) != scheduler || !pto_model_is_running(model, core)) continue;
    time += model->chip.look_ps;
    for (uint32_t i = 0; i < model->count; i++) {
      struct pto_model_message *message = &model->messages[i];
      if (message->core == core && message->state == PTO_MODEL_VISIBLE && message->visible <= time)
        message->state = PTO_MODEL_FOUND;
    }
  }
  model->idle_until[scheduler] = time;
}

/* What a scheduler with a loop does next. */
static inline struct pto_model_next pto_model_loop_next(const struct pto_model *model, uint32_t scheduler) {
  const uint64_t now = pto_model_loop_at(model, scheduler);
  struct pto_model_next found = {.time = now, .scheduler = scheduler}, asked = found;
  for (uint32_t i = 0; i < model->count; i++) {
    const struct pto_model_message *message = &model->messages[i];
    if (message->state != PTO_MODEL_FOUND && message->state != PTO_MODEL_ASKED) continue;
    if (pto_model_owner(model, message->core) != scheduler) continue;
    if (message->state == PTO_MODEL_FOUND) {
      if (found.what != PTO_MODEL_NOTHING && message->core >= model->messages[found.ticket].core) continue;
      found.what = PTO_MODEL_COMPLETION;
      found.ticket = i;
    } else if (message->asked <= now) {
      if (asked.what != PTO_MODEL_NOTHING && message->asked >= model->messages[asked.ticket].asked) continue;
      asked.what = PTO_MODEL_SENDING;
      asked.ticket = i;
    }
  }
  if (found.what != PTO_MODEL_NOTHING) return found;
  if (scheduler == 0 && model->wiring_ps && model->wiring_at <= now)
    return (struct pto_model_next){.what = PTO_MODEL_WIRING, .time = now};
  if (asked.what != PTO_MODEL_NOTHING) return asked;
  found.what = PTO_MODEL_LOOKS;
  found.time += model->chip.loop_ps;
  for (uint32_t core = 0; core < 3 * model->chip.cluster_count; core++)
    if (pto_model_owner(model, core) == scheduler && pto_model_is_running(model, core))
      found.time += model->chip.look_ps;
  return found;
}

static inline struct pto_model_next pto_model_scheduler_next(const struct pto_model *model, uint32_t scheduler) {
  struct pto_model_next next = {.what = PTO_MODEL_NOTHING};
  if (model->chip.loop_ps) return pto_model_loop_next(model, scheduler);
  for (uint32_t i = 0; i < model->count; i++) {
    const struct pto_model_message *message = &model->messages[i];
    bool is_completion = message->state == PTO_MODEL_VISIBLE;
    if (pto_model_owner(model, message->core) != scheduler || (!is_completion && message->state != PTO_MODEL_ASKED))
      continue;
    uint64_t time = is_completion ? message->visible : message->asked;
    struct pto_model_next other = {is_completion ? PTO_MODEL_COMPLETION : PTO_MODEL_SENDING, time, i, scheduler};
    bool is_first = next.what == PTO_MODEL_NOTHING || other.time < next.time;
    if (!is_first && other.time == next.time) {
      if (other.what != next.what)
        is_first = is_completion;
      else if (is_completion)
        is_first = message->core < model->messages[next.ticket].core;
    }
    if (is_first) next = other;
  }
  if (scheduler == 0 && model->wiring_ps) {
    bool is_first = next.what == PTO_MODEL_NOTHING || model->wiring_at < next.time ||
                    (model->wiring_at == next.time && next.what == PTO_MODEL_SENDING);
    if (is_first) next = (struct pto_model_next){.what = PTO_MODEL_WIRING, .time = model->wiring_at};
  }
  if (next.what != PTO_MODEL_NOTHING) next.time = pto_max_u64(next.time, model->clocks[scheduler]);
  return next;
}

static inline struct pto_model_next pto_model_find_next(const struct pto_model *model) {
  struct pto_model_next next = {.what = PTO_MODEL_NOTHING};
  for (uint32_t i = 0; i < model->count; i++) {
    struct pto_model_next other = {.ticket = i};
    const enum pto_model_state state = model->messages[i].state;
    if (state == PTO_MODEL_STREAMS || state == PTO_MODEL_STREAMS_L2) {
      const unsigned __int128 share = pto_model_share(model, state);
      const unsigned __int128 left =
          state == PTO_MODEL_STREAMS ? model->messages[i].units : model->messages[i].l2_units;
      other.what = PTO_MODEL_SERVED;
      other.time = model->served_until + (uint64_t)((left + share - 1) / share);
    } else if (model->messages[i].state == PTO_MODEL_BEGUN) {
      other.what = PTO_MODEL_END;
      other.time = model->messages[i].visible;
    } else if (pto_model_begin_time(model, i, &other.time)) {
      other.what = PTO_MODEL_BEGIN;
    }
    if (pto_model_is_before(model, other, next)) next = other;
  }
  for (uint32_t s = 0; s < model->chip.scheduler_count; s++) {
    struct pto_model_next other = pto_model_scheduler_next(model, s);
    if (pto_model_is_before(model, other, next)) next = other;
  }
  return next;
}

/* The rule of jitter once more: four 16-bit numbers of the hash, one at a time. */
static inline uint64_t pto_model_jitter(const struct pto_model *model, const struct pto_model_message *message,
                                        uint64_t value) {
  uint64_t hash = pto_mix64(pto_mix64(pto_mix64(model->jitter.seed + 1) + message->task) + message->block);
  __int128 z = -131070;
  if (model->jitter.ppm == 0 || value == 0) return value;
  for (int i = 0; i < 4; i++, hash /= 65536) z += hash % 65536;
  const __int128 one = (__int128)37837 * 1000000, scaled = (value * (one + model->jitter.ppm * z) + one / 2) / one;
  return scaled ? (uint64_t)scaled : 1;
}

/* The oldest bytes leave the L2 cache until the others fit, of one use the first one; how many had been written. */
static inline uint64_t pto_model_l2_evict(struct pto_model *model) {
  uint64_t count = 0, written_back = 0;
  for (uint32_t i = 0; i < PTO_MODEL_MEMORY; i++) count += model->l2_used_at[i] != 0;
  for (; count > model->chip.l2_bytes; count--) {
    uint32_t oldest = PTO_MODEL_MEMORY;
    for (uint32_t i = 0; i < PTO_MODEL_MEMORY; i++)
      if (model->l2_used_at[i] && (oldest == PTO_MODEL_MEMORY || model->l2_used_at[i] < model->l2_used_at[oldest]))
        oldest = i;
    written_back += model->l2_is_written[oldest];
    model->l2_used_at[oldest] = 0;
  }
  return written_back;
}

/* The message, which moves bytes, begins: what of them is in the L2 cache, and what the global memory moves. */
static inline uint64_t pto_model_l2_use(struct pto_model *model, struct pto_model_message *message, uint64_t bytes) {
  const uint64_t elems = message->tensor.bytes, block = message->tensor.block, blocks = message->tensor.blocks;
  const bool reads = message->tensor.mode & PTO_INPUT, writes = message->tensor.mode & PTO_OUTPUT;
  uint64_t missed = 0, written_back = 0;
  message->l2_bytes = bytes;
  if (elems == 0) return 0;
  const uint64_t range = (elems - 1) * message->tensor.stride + 1, touched = elems < range ? elems : range;
  const uint64_t lo = message->tensor.lo + range * block / blocks;
  const uint64_t hi = message->tensor.lo + range * (block + 1) / blocks;
  if (lo == hi) return 0;
  if (hi - lo > model->chip.l2_bytes) {
    missed = (reads + writes) * (hi - lo);
  } else {
    model->l2_uses++;
    for (uint64_t i = lo; i < hi; i++) {
      missed += reads && !model->l2_used_at[i];
      model->l2_is_written[i] = writes || (model->l2_used_at[i] && model->l2_is_written[i]);
      model->l2_used_at[i] = model->l2_uses;
    }
    written_back = pto_model_l2_evict(model);
  }
  const uint64_t all = (reads + writes) * ((hi - lo) * touched / range);
  missed = missed * touched / range;
  if (all > bytes) missed = bytes * missed / all;
  if (missed > bytes) missed = bytes;
  message->l2_bytes = bytes - missed;
  return missed + written_back;
}

/* Kernel times of the script kernels, by fifties of bytes: a table of rows, and what lies between two of them. */
#define PTO_MODEL_TABLE                                                                                                \
  "kernel,core,key,count,mean_ps,p10_ps,p90_ps,active_cores,source,commit,date\n"                                      \
  "script,AIC,b1,9,200,0,0,0,hand,,2026\n"                                                                             \
  "script,AIC,b4,9,500,0,0,4,hand,,2026\n"                                                                             \
  "script,AIC,b5,9,100,0,0,6,hand,,2026\n"                                                                             \
  "script,AIV,b2,9,61,0,0,3,hand,,2026\n"                                                                              \
  "script,AIV,b5,9,92,0,0,3,hand,,2026\n"                                                                              \
  "other,AIV,b0,9,1000,0,0,3,hand,,2026\n"
struct pto_model_row {
  uint64_t ps;
  uint32_t cores;
};
static const struct pto_model_row pto_model_rows[2][6] = {{{0}, {200, 0}, {300, 0}, {400, 0}, {500, 4}, {100, 6}},
                                                          {{0}, {0}, {61, 3}, {71, 3}, {82, 3}, {92, 3}}};

static inline uint64_t pto_model_divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

static inline uint64_t pto_model_shared(uint64_t bytes, uint32_t cores, uint64_t core_mbps, uint64_t chip_mbps) {
  return pto_max_u64(pto_model_divide_up(bytes * 1000000, core_mbps),
                     pto_model_divide_up(bytes * 1000000 * cores, chip_mbps));
}

/* What a call does beside its bytes, of which `global` are of the global memory and message->l2_bytes of the L2 cache,
 * and what follows after both; a row's time that is all of it a stream makes other bytes of them. */
static inline uint64_t pto_model_work(const struct pto_model *model, struct pto_model_message *message,
                                      uint64_t compute, uint64_t *global) {
  const struct pto_chip *chip = &model->chip;
  const uint64_t bytes = message->cost.bytes_in;
  const bool is_vector = message->core % 3 != 0;
  const struct pto_model_row row =
      chip->kernel_times[0] && bytes < 300 ? pto_model_rows[is_vector][bytes / 50] : (struct pto_model_row){0};
  message->serial = 0;
  if (row.ps > 0) {
    const uint64_t shared =
        pto_model_shared(*global, row.cores, chip->core_bandwidth_mbps, chip->chip_bandwidth_mbps) +
        pto_model_shared(message->l2_bytes, row.cores, chip->l2_core_bandwidth_mbps, chip->l2_chip_bandwidth_mbps);
    if (row.cores == 0 || bytes == 0 || shared / 3 < row.ps / 4) return row.ps;
    *global = pto_model_divide_up(*global * row.ps, shared);
    message->l2_bytes = pto_model_divide_up(message->l2_bytes * row.ps, shared);
    return 0;
  }
  if (!chip->has_stages) return compute;
  message->serial = (bytes > 0 ? chip->stages.start_ps + chip->stages.trip_ps : 0) + (is_vector ? compute : 0);
  const uint64_t moves =
      pto_model_divide_up(bytes * 1000000, is_vector ? chip->stages.gm_to_ub_mbps : chip->stages.gm_to_l1_mbps);
  return is_vector ? moves : pto_max_u64(moves, compute);
}

static inline void pto_model_begin(struct pto_model *model, uint32_t ticket, uint64_t time) {
  struct pto_model_message *message = &model->messages[ticket];
  struct pto_timing timing;
  uint32_t sharers = 0;
  for (uint32_t i = 0; i < model->count; i++) {
    uint64_t other;
    bool begins_now = pto_model_begin_time(model, i, &other) && other == time;
    sharers += model->messages[i].cost.bytes_in > 0 && (model->messages[i].state == PTO_MODEL_BEGUN || begins_now);
  }
  pto_timing_init(&timing, &model->chip);
  struct pto_timing_load load = pto_timing_load(&timing, &message->cost, message->core % 3 ? PTO_AIV : PTO_AIC);
  message->begin = time;
  model->begun[model->begun_count++] = ticket;
  if (model->chip.shares_anew && load.bytes > 0) {
    const bool by_use = model->chip.has_lru_l2;
    uint64_t global_bytes = by_use ? pto_model_l2_use(model, message, load.bytes) : load.bytes - message->l2_bytes;
    load.compute_ps = pto_model_work(model, message, load.compute_ps, &global_bytes);
    global_bytes = pto_model_jitter(model, message, global_bytes);
    message->l2_bytes = pto_model_jitter(model, message, message->l2_bytes);
    message->serial = pto_model_jitter(model, message, message->serial);
    message->state = global_bytes > 0 ? PTO_MODEL_STREAMS : PTO_MODEL_STREAMS_L2;
    message->compute_end = time + pto_model_jitter(model, message, load.compute_ps);
    message->units = ((unsigned __int128)global_bytes * 1000000) << 20;
    message->l2_units = ((unsigned __int128)message->l2_bytes * 1000000) << 20;
    return;
  }
  message->state = PTO_MODEL_BEGUN;
  message->l2_bytes = 0;
  load.compute_ps = pto_model_work(model, message, load.compute_ps, &load.bytes);
  message->end = time + pto_model_jitter(model, message, pto_timing_work_ps(&timing, &load, sharers) + message->serial);
  message->visible = message->end + model->chip.kernel_end_ps;
}

/* The scheduler sends the message now, at its clock. */
static inline void pto_model_send(struct pto_model *model, uint32_t scheduler, uint32_t ticket) {
  struct pto_model_message *message = &model->messages[ticket];
  bool is_first = true;
  for (uint32_t i = 0; i < ticket; i++) is_first &= model->messages[i].core != message->core;
  const bool is_more = model->has_sent[scheduler] && model->last_task[scheduler] == message->task;
  model->clocks[scheduler] += is_more ? model->chip.dispatch_more_ps : model->chip.work_ps[PTO_WORK_DISPATCH];
  model->clocks[scheduler] += pto_model_recording(model, model->chip.profiling_dispatch_ps);
  model->has_sent[scheduler] = true;
  model->last_task[scheduler] = message->task;
  message->arrival = model->clocks[scheduler] + (is_first ? pto_model_cold_start(model, message->core) : 0);
  message->state = PTO_MODEL_ARRIVED;
}

/* The scheduler takes in a completion; who handles it is the actor from now on. */
static inline void pto_model_take_in(struct pto_model *model, const struct pto_model_next *completion) {
  uint64_t *clock = &model->clocks[completion->scheduler];
  *clock = completion->time + model->chip.work_ps[PTO_WORK_POLL];
  *clock += pto_model_recording(model, model->chip.profiling_poll_ps);
  model->messages[completion->ticket].state = PTO_MODEL_POLLED;
  model->actor = completion->scheduler;
  if (!model->chip.is_graph_prebuilt) return;
  model->actor = PTO_MODEL_RESOLVER;
  model->clocks[PTO_MODEL_RESOLVER] = pto_max_u64(model->clocks[PTO_MODEL_RESOLVER], *clock);
}

/* Up to the next completion; false where that is later than `limit`. */
static inline bool pto_model_advance(struct pto_model *model, uint64_t limit, struct pto_model_next *completion) {
  for (;;) {
    struct pto_model_next next = pto_model_find_next(model);
    if (next.what == PTO_MODEL_NOTHING || next.time > limit) return false;
    if (next.what == PTO_MODEL_COMPLETION) {
      *completion = next;
      return true;
    }
    if (next.what == PTO_MODEL_WIRING) {
      model->clocks[0] = next.time + model->wiring_ps;
      model->wiring_ps = 0;
      continue;
    }
    if (next.what == PTO_MODEL_LOOKS) {
      pto_model_look(model, next.scheduler);
      continue;
    }
    struct pto_model_message *message = &model->messages[next.ticket];
    if (next.what < PTO_MODEL_COMPLETION) pto_model_serve(model, next.time);
    if (next.what == PTO_MODEL_SERVED && message->state == PTO_MODEL_STREAMS && message->l2_bytes) {
      message->state = PTO_MODEL_STREAMS_L2;
    } else if (next.what == PTO_MODEL_SERVED) {
      message->state = PTO_MODEL_BEGUN;
      message->end = pto_max_u64(next.time, message->compute_end) + message->serial;
      message->visible = message->end + model->chip.kernel_end_ps;
    } else if (next.what == PTO_MODEL_END) {
      message->state = PTO_MODEL_VISIBLE;
    } else if (next.what == PTO_MODEL_BEGIN) {
      pto_model_begin(model, next.ticket, next.time);
    } else {
      model->clocks[next.scheduler] = next.time;
      pto_model_send(model, next.scheduler, next.ticket);
    }
  }
}

static inline uint64_t pto_model_clock(const struct pto_model *model) { return model->clocks[model->actor]; }

static inline void pto_model_dispatch(struct pto_model *model, struct pto_model_message message, uint64_t ready_at) {
  uint32_t owner = pto_model_owner(model, message.core);
  bool has_earlier = false;
  message.asked = pto_max_u64(ready_at, pto_model_clock(model));
  for (uint32_t i = 0; i < model->count; i++) {
    if (model->messages[i].core != message.core) continue;
    message.asked = pto_max_u64(message.asked, model->messages[i].asked);
    has_earlier |= model->messages[i].state == PTO_MODEL_ASKED;
  }
  message.state = PTO_MODEL_ASKED;
  model->messages[model->count++] = message;
  if (model->actor == owner && !model->chip.loop_ps && message.asked == pto_model_clock(model) && !has_earlier)
    pto_model_send(model, owner, model->count - 1);
}

#endif
