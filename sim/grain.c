/* SPDX-License-Identifier: MIT */
#include <sim/grain.h>

static void begin_group(struct pto_grain *grain) {
  grain->timed_sum_ns = grain->timed_count = grain->timed_most_ns = 0;
  grain->timed_least_ns = UINT32_MAX;
}

static void set_next_timed(struct pto_grain *grain) {
  const bool is_often = grain->is_trial || grain->own_count < PTO_GRAIN_FIRST;
  grain->until_timed = grain->own_count < PTO_HANDOVER_OWN ? 1 : is_often ? PTO_GRAIN_TRIAL_TIMED : PTO_GRAIN_TIMED;
}

void pto_grain_init(struct pto_grain *grain, struct pto_port *port) {
  *grain = (struct pto_grain){.port = port, .trial_wait = 1};
  pto_grain_begin_run(grain);
}

void pto_grain_begin_run(struct pto_grain *grain) {
  begin_group(grain);
  grain->was_long = false;
  set_next_timed(grain);
  if (!pto_handover_is_keeping(&grain->handover)) pto_handover_init(&grain->handover);
}

/* By the mean of a group that was not fine. */
static uint32_t limit_of(uint32_t mean_ns) {
  if (mean_ns >= PTO_GRAIN_SHORT_NS) return 0;
  const uint32_t limit = PTO_GRAIN_AWAY_NS / (mean_ns + 1);
  return limit < PTO_GRAIN_LEAST_AWAY  ? PTO_GRAIN_LEAST_AWAY
         : limit > PTO_GRAIN_MOST_AWAY ? PTO_GRAIN_MOST_AWAY
                                       : limit;
}

static void begin_trial(struct pto_grain *grain) {
  grain->port->is_fine_grained = grain->is_trial = true;
  grain->until_timed = PTO_GRAIN_TRIAL_SKIP;
}

/* A trial that fails makes the next one wait longer. */
static void end_trial(struct pto_grain *grain, bool is_fine) {
  grain->trial_wait = is_fine ? 1 : (uint32_t)pto_min_u64(2 * (uint64_t)grain->trial_wait, PTO_GRAIN_TRIAL_WAIT);
  grain->trial_groups = 0;
  grain->is_trial = false;
}

static void judge_group(struct pto_grain *grain) {
  const uint32_t mean_ns = (grain->timed_sum_ns - grain->timed_most_ns) / (PTO_GRAIN_GROUP - 1);
  const bool is_fine = grain->timed_least_ns < PTO_GRAIN_FINE_NS && mean_ns < PTO_GRAIN_COARSE_NS;
  begin_group(grain);
  grain->port->away_limit = limit_of(mean_ns);
  if (grain->port->is_fine_grained) {
    grain->port->is_fine_grained = is_fine;
    end_trial(grain, is_fine);
  } else if (mean_ns < PTO_GRAIN_COARSE_NS && ++grain->trial_groups >= grain->trial_wait) {
    begin_trial(grain);
  }
}

/* While kernels are kept because of what waiting for others took.  There are other jobs, then, and one kernel that took
 * long has met one of them: two are what kernels have become. */
static void note_kept(struct pto_grain *grain, uint64_t took_ns, uint64_t now_ns) {
  const bool is_long = took_ns >= PTO_GRAIN_LONG_NS, was_long = grain->was_long;
  grain->was_long = is_long;
  if (!(is_long && was_long) && !pto_handover_is_over(&grain->handover, now_ns)) return;
  pto_handover_release(&grain->handover);
  if (is_long) grain->port->away_limit = 0;
  grain->port->is_fine_grained = grain->was_long = false;
}

/* Two long ones in a row are enough to see that work is not fine, or a very long one; one may have met an interrupt. */
static void note_length(struct pto_grain *grain, uint64_t took_ns) {
  const bool is_long = took_ns >= PTO_GRAIN_NOT_FINE_NS, was_long = grain->was_long;
  grain->was_long = is_long;
  if (!is_long) return;
  if (!was_long && took_ns < PTO_GRAIN_LONG_NS) return;
  const bool is_too_long = took_ns >= PTO_GRAIN_SHORT_NS && grain->port->away_limit;
  if (!grain->port->is_fine_grained && !is_too_long) return;
  if (is_too_long) grain->port->away_limit = 0;
  grain->port->is_fine_grained = false;
  if (grain->is_trial) end_trial(grain, false);
  begin_group(grain); /* those before were not like that */
}

/* A kernel of the control thread's own. */
static bool note_own(struct pto_grain *grain, uint64_t took_ns, uint64_t now_ns) {
  pto_handover_note_own(&grain->handover, took_ns);
  const bool is_keeping = pto_handover_is_keeping(&grain->handover);
  if (is_keeping)
    note_kept(grain, took_ns, now_ns);
  else
    note_length(grain, took_ns);
  return is_keeping;
}

void pto_grain_note_timed(struct pto_grain *grain, uint64_t took_ns, uint64_t now_ns) {
  if (PTO_UNLIKELY(grain->judges_nothing)) {
    grain->until_timed = PTO_GRAIN_TIMED;
    return;
  }
  if (grain->own_count < PTO_GRAIN_FIRST) grain->own_count++;
  set_next_timed(grain);
  const bool is_keeping = note_own(grain, took_ns, now_ns);
  if (took_ns >= PTO_GRAIN_LONG_NS || grain->port->is_long)
    grain->port->is_long = pto_handover_own_ns(&grain->handover) >= PTO_GRAIN_LONG_NS;
  if (is_keeping || took_ns >= PTO_GRAIN_LONG_NS) return;
  grain->timed_sum_ns += (uint32_t)took_ns;
  if (took_ns < grain->timed_least_ns) grain->timed_least_ns = (uint32_t)took_ns;
  if (took_ns > grain->timed_most_ns) grain->timed_most_ns = (uint32_t)took_ns;
  if (++grain->timed_count == PTO_GRAIN_GROUP) judge_group(grain);
}

void pto_grain_note_long(struct pto_grain *grain, uint64_t took_ns, uint64_t now_ns) {
  if (!grain->judges_nothing) (void)note_own(grain, took_ns, now_ns);
}

void pto_grain_note_wait(struct pto_grain *grain, uint64_t waited_ns, uint64_t now_ns) {
  if (grain->judges_nothing || grain->port->is_fine_grained) return;
  if (pto_handover_note_wait(&grain->handover, waited_ns, now_ns)) grain->port->is_fine_grained = true;
}
