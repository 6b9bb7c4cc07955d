/* SPDX-License-Identifier: MIT */
/*
 * What the engines of one thread share: their cores' local memories, the stacks of kernels that wait, and the watchdog,
 * which looks at one line.
 *
 * Owned by the engine, whose memory it is part of; made at creation.  One thread, but for the watchdog's.
 */
#ifndef PTO_SIM_ENGINE_SOLO_H
#define PTO_SIM_ENGINE_SOLO_H

#include <sim/chips/chip.h>
#include <sim/engine/engine.h>
#include <sim/host/current.h>
#include <sim/host/local_memory.h>
#include <sim/host/watchdog.h>
#include <sim/rendezvous/waiting_core.h>

#include <stdio.h>

#define PTO_SOLO_REFUSAL "no memory for the guards of its core's local memories"

struct pto_solo {
  char message[PTO_DEADLOCK_SENTENCE_BYTES]; /* where the kernel that runs now leaves its sentence, if it does not wait
                                              */
  struct pto_waiting_cores waiting;
  struct pto_local_memories local;
  struct pto_watchdog watchdog;
  struct pto_watchdog_line line;
  bool skips_pieces; /* of kernels that wait: their time is not added up */
};

/* For the cores of `chip`, whose `views` it fills.  `config` says what the
 * watchdog does; `port` is the engine's, complete.  PTO_OK, or PTO_ENOMEM or PTO_ESYSTEM with half-made parts freed. */
PTO_MUST_CHECK int pto_solo_init(struct pto_solo *solo, const struct pto_engine_config *config,
                                 const struct pto_chip *chip, struct pto_core *views,
                                 const struct pto_waiting_hooks *hooks, void *engine, const struct pto_port *port,
                                 struct pto_error *error);
/* A zeroed struct is allowed. */
void pto_solo_fini(struct pto_solo *solo);

/* Around each stretch in which a message's kernel runs: what crash reports and the watchdog are told. */
static inline void pto_solo_enter(struct pto_solo *solo, const struct pto_message *message,
                                  const struct pto_core *view) {
  if (solo->watchdog.is_running) pto_watchdog_begin(&solo->line, message);
  pto_engine_current_set(message, view);
}
static inline void pto_solo_leave(struct pto_solo *solo) {
  pto_engine_current_clear();
  if (solo->watchdog.is_running) pto_watchdog_end(&solo->line);
}

/* Around a run of a unit that an observer limits itself: the watchdog counts no time; of a run that is not the first it
 * adds up none of kernels that wait either. */
static inline void pto_solo_limited(struct pto_solo *solo, bool is_limited, bool is_again) {
  pto_watchdog_pause(&solo->watchdog, is_limited);
  solo->skips_pieces = is_again;
}

/* Before each kernel that runs with the local memories of `view`, one of those that init filled.  PTO_OK, or PTO_ENOMEM
 * with the sentence in solo->message. */
static inline int pto_solo_guard(struct pto_solo *solo, const struct pto_core *view) {
  if (PTO_LIKELY(pto_local_memories_guard(&solo->local, view))) return PTO_OK;
  snprintf(solo->message, sizeof solo->message, "%s", PTO_SOLO_REFUSAL);
  return PTO_ENOMEM;
}

/* Runs a kernel that does not wait, with the local memories of `view`, one of those that init filled.  Its status; its
 * sentence is in solo->message. */
static inline int pto_solo_run(struct pto_solo *solo, const struct pto_core *view, const struct pto_message *message,
                               const struct pto_kernel_args *args) {
  const int refused = pto_solo_guard(solo, view);
  if (PTO_UNLIKELY(refused)) return refused;
  solo->message[0] = '\0';
  pto_solo_enter(solo, message, args->core);
  pto_meter_begin(solo->waiting.meter);
  const int status = pto_message_call(message, args);
  pto_meter_end(solo->waiting.meter, message, args->core, true);
  pto_solo_leave(solo);
  return status;
}

/* What the port of an engine of one thread says of the chip, and of itself. */
static inline struct pto_port pto_solo_port(const struct pto_port_ops *ops, const struct pto_chip *chip,
                                            const char *name) {
  return (struct pto_port){.ops = ops,
                           .cluster_count = chip->cluster_count,
                           .slots_per_core = chip->slots_per_core,
                           .worker_count = 1,
                           .aiv_local_bytes = chip->ub_bytes,
                           .aic_local_bytes = chip->l1_bytes,
                           .name = name,
                           .chip_name = chip->name};
}

/* Gives a core the message of a kernel that waits, or of a kernel of the same task; nothing runs yet. */
struct pto_waiting_core *pto_solo_start(struct pto_solo *solo, const struct pto_message *message,
                                        struct pto_core *view);
/* Runs a kernel that waits, started before, until it waits again or returns; true where it has returned. */
bool pto_solo_resume(struct pto_solo *solo, struct pto_waiting_core *core);

#endif
