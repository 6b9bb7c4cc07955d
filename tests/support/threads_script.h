/* SPDX-License-Identifier: MIT */
/*
 * A scripted runtime on the port: it obeys the contract of port.h and checks the engine's half of it.
 *
 * Owns nothing; each test that includes it has its own copy.  `script_play` is for one thread of a process at a time.
 */
#ifndef PTO_TESTS_THREADS_SCRIPT_H
#define PTO_TESTS_THREADS_SCRIPT_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <sim/chips/chip.h>
#include <sim/engine/engine.h>
#include <sim/threads/engine.h>

#define PTO_SCRIPT_CORES 108u
#define PTO_SCRIPT_MESSAGES 6000u

static inline struct pto_chip script_chip(uint32_t clusters) {
  return (struct pto_chip){.name = "test",
                           .cluster_count = clusters,
                           .slots_per_core = 2,
                           .ub_bytes = 8192,
                           .l1_bytes = 16384,
                           .l0a_bytes = 1024,
                           .l0b_bytes = 2048,
                           .l0c_bytes = 4096};
}

static inline struct pto_port *script_engine(uint32_t clusters, uint32_t workers) {
  struct pto_chip chip = script_chip(clusters);
  struct pto_engine_config config = {.chip = &chip, .workers = workers};
  struct pto_port *port = NULL;
  struct pto_error error = {0};
  assert_int_equal(pto_engine_threads_create(&config, &port, &error), PTO_OK);
  return port;
}

static inline void script_begin(struct pto_port *port) {
  char sentence[128];
  assert_int_equal(port->ops->begin_run(port, sentence, sizeof sentence), PTO_OK);
}

struct script {
  uint64_t seed;
  uint32_t message_count;
  uint32_t fail_every; /* 0: no kernel fails */
  /* Filled by kernels, each core its own row; read after the completions. */
  uint32_t order[PTO_SCRIPT_CORES][PTO_SCRIPT_MESSAGES];
  uint32_t ran[PTO_SCRIPT_CORES];
  pthread_t thread[PTO_SCRIPT_CORES];
};

static inline int script_kernel(const struct pto_kernel_args *args) {
  struct script *script = args->tensors[0].addr;
  uint32_t core = args->core->index, number = args->core->block_index;
  script->order[core][script->ran[core]++] = number;
  script->thread[core] = pthread_self();
  return script->fail_every && number % script->fail_every == 0 ? -(int)(number % 100) - 1 : 0;
}

/* A payload with room for one tensor and two scalars. */
union script_body {
  struct pto_payload payload;
  uint64_t words[16];
};

static inline void script_fill(union script_body *body, void *addr, uint64_t scalar_0, uint64_t scalar_1) {
  memset(body, 0, sizeof *body);
  body->payload.block_count = 1;
  body->payload.scalar_count = 2;
  if (addr) {
    body->payload.tensor_count = 1;
    body->payload.tensors[0] = (struct pto_kernel_tensor){.addr = addr};
  }
  pto_payload_scalars(&body->payload)[0].u64 = scalar_0;
  pto_payload_scalars(&body->payload)[1].u64 = scalar_1;
}

/* Dispatches to random cores with room, now and then flushes, polls a random number, or waits; checks everything. */
static inline void script_play(struct pto_port *port, struct script *script) {
  static uint32_t expected[PTO_SCRIPT_CORES][PTO_SCRIPT_MESSAGES];
  static uint8_t seen[PTO_SCRIPT_MESSAGES];
  uint32_t core_count = 3 * port->cluster_count, held[PTO_SCRIPT_CORES] = {0}, sent_to[PTO_SCRIPT_CORES] = {0};
  uint32_t sent = 0, received = 0;
  struct pto_rng rng = {script->seed};
  union script_body body;
  struct pto_completion done[40];
  script_fill(&body, script, 0, 0);
  memset(seen, 0, sizeof seen);
  memset(script->ran, 0, sizeof script->ran);
  script_begin(port);
  while (received < script->message_count) {
    uint64_t what = pto_rng_below(&rng, 100);
    uint32_t core = (uint32_t)pto_rng_below(&rng, core_count);
    if (what < 70 && sent < script->message_count && held[core] < port->slots_per_core) {
      struct pto_message message = {.payload = &body.payload,
                                    .run = script_kernel,
                                    .ticket = sent * 7 + 3,
                                    .block_index = sent,
                                    .core = (uint16_t)core,
                                    .tensor_count = 1};
      port->ops->dispatch(port, &message, 0, NULL);
      held[core]++;
      expected[core][sent_to[core]++] = sent++;
    } else if (what < 75) {
      port->ops->flush(port);
    } else if (what < 80 && sent > received) {
      port->ops->wait(port);
    } else {
      uint32_t max = 1 + (uint32_t)pto_rng_below(&rng, PTO_ARRAY_LENGTH(done));
      uint32_t got = port->ops->poll(port, done, max);
      assert_true(got <= max);
      for (uint32_t i = 0; i < got; i++) {
        uint32_t number = (done[i].ticket - 3) / 7;
        assert_true(number < sent && !seen[number]);
        seen[number] = 1;
        held[done[i].core]--;
        int status = script->fail_every && number % script->fail_every == 0 ? -(int)(number % 100) - 1 : 0;
        assert_int_equal(done[i].status, status);
      }
      received += got;
    }
  }
  assert_int_equal(port->ops->poll(port, done, PTO_ARRAY_LENGTH(done)), 0);
  assert_true(pto_engine_threads_is_valid(port));
  port->ops->end_run(port);
  for (uint32_t c = 0; c < core_count; c++) {
    assert_int_equal(script->ran[c], sent_to[c]);
    assert_memory_equal(script->order[c], expected[c], sent_to[c] * sizeof(uint32_t));
  }
}

/* Runs one message to its completion. */
static inline struct pto_completion script_run_one(struct pto_port *port, const struct pto_message *message) {
  struct pto_completion done;
  port->ops->dispatch(port, message, 0, NULL);
  while (port->ops->poll(port, &done, 1) == 0) port->ops->wait(port);
  return done;
}

#endif
