/* SPDX-License-Identifier: MIT */
/*
 * A runtime for tests over the serial port, with kernels made from a list of modes.
 *
 * A fixture owns its runtime and one block of host memory; `fixture_run` calls a test's body as the orchestration and
 * fails the test with the runtime's sentence where the run does not end as expected.  Kernels made here do nothing
 * unless they are given a function.
 */
#ifndef PTO_RUNTIME_FIXTURE_H
#define PTO_RUNTIME_FIXTURE_H

#include <pto/pto.h>
#include <runtime/control/control.h>
#include <tests/support/serial_port.h>

#define FIXTURE_MEMORY_BYTES 65536

struct fixture {
  struct pto_runtime *rt;
  struct pto_config config;
  bool records_nothing; /* else the graph, where config.record is 0 */
  struct pto_serial_port_config port;
  _Alignas(1024) uint8_t memory[FIXTURE_MEMORY_BYTES];
};

/* Zeroed fields of `config` get a window of 64, heaps of 64 KiB, fifo, exact rules and a recorded graph.  Without an
 * engine the runtime stands on the serial port; with one, on a chip as programs get it. */
void fixture_open(struct fixture *f);
void fixture_close(struct fixture *f);

/* Runs `body(rt, f)` and expects this status. */
void fixture_run(struct fixture *f, int (*body)(struct pto_runtime *, struct fixture *), int expected_status);
/* Fails the test where `status` is not `expected`, with the runtime's sentence. */
void fixture_expect(struct pto_runtime *rt, int status, int expected);
/* Fails the test where the last sentence does not contain `part`. */
void fixture_expect_sentence(struct pto_runtime *rt, const char *part);

/* A kernel whose tensor parameters have these modes: 'i' input, 'o' output, 'b' inout, 'a' accumulate, 's' u64 scalar,
 * '-' unused. The first caller of a text makes it; kernels live as long as the process. */
const struct pto_kernel *fixture_kernel(const char *modes);
/* The same with flags or another run function, as a copy; its parameters live as long as the process. */
struct pto_kernel fixture_kernel_with(const char *modes, uint32_t flags, int (*run)(const struct pto_kernel_args *));

/* Dense external u8 tensors over the fixture's memory. */
struct pto_tensor fixture_bytes(struct fixture *f, uint64_t offset, uint64_t count);
struct pto_tensor fixture_matrix(struct fixture *f, uint64_t rows, uint64_t columns);
struct pto_tensor fixture_box(const struct pto_tensor *t, uint64_t row, uint64_t rows, uint64_t column,
                              uint64_t columns);
/* A managed buffer of `count` bytes as u8[count]. */
struct pto_tensor fixture_managed(struct pto_runtime *rt, uint64_t count);
/* Where in its ring the memory of a buffer begins. */
uint64_t fixture_heap_offset(struct pto_runtime *rt, uint32_t ring, struct pto_buffer buffer);

/* Submits an AIV task of one kernel of these modes over the tensors, in order; PTO_OK or the refusal. */
int fixture_submit(struct pto_runtime *rt, const char *modes, const struct pto_tensor *const *tensors,
                   struct pto_task *task_out);
#define FIXTURE_SUBMIT(rt, modes, ...) fixture_submit(rt, modes, (const struct pto_tensor *const[]){__VA_ARGS__}, NULL)

/* A task said in a few words: a kernel call that leaves its label in fixture_calls.  Zeroed fields: one AIV task
 * without tensors. */
#define FIXTURE_AIC 1u
#define FIXTURE_AIV0 2u
#define FIXTURE_AIV1 4u
struct fixture_task {
  uint64_t label;
  uint32_t roles; /* FIXTURE_AIC | …; 0: FIXTURE_AIV0 */
  const char *modes;
  const struct pto_tensor *tensors[8];
  struct pto_launch launch; /* kernels are filled in */
  struct pto_task *out;
};
int fixture_try(struct pto_runtime *rt, const struct fixture_task *task);
void fixture_do(struct pto_runtime *rt, const struct fixture_task *task);
#define FIXTURE_TRY(rt, ...) fixture_try(rt, &(struct fixture_task){__VA_ARGS__})
#define FIXTURE_DO(rt, ...) fixture_do(rt, &(struct fixture_task){__VA_ARGS__})

/* Kernel calls of labelled tasks, in the order in which they ran, since the case began. */
struct fixture_call {
  uint64_t label;
  uint32_t core, block_index;
};
#define FIXTURE_MAX_CALLS 65536u
extern struct fixture_call fixture_calls[FIXTURE_MAX_CALLS];
extern uint32_t fixture_call_count;
/* Position of the first call with this label; FIXTURE_MAX_CALLS: it has not run. */
uint32_t fixture_position(uint64_t label);
/* Runs one kernel call, or takes in what has run. */
void fixture_step(struct pto_runtime *rt);
/* Runs everything that has been submitted. */
void fixture_drain(struct pto_runtime *rt);

/* All that a refused call must leave as it was. */
struct fixture_state {
  uint64_t tasks, edges, completed, heads[4], tails[4], heap_heads[4], heap_tails[4];
  uint64_t payloads, buffers, entries, chunks, ready, in_flight, depth;
  uint64_t records; /* digest of every buffer record: addresses and versions */
};
void fixture_state_take(struct pto_runtime *rt, struct fixture_state *state);
void fixture_state_expect(struct pto_runtime *rt, const struct fixture_state *before);

/* A test as an orchestration of its own runtime.  Whatever its body does, the run must end with `status`, and the
 * runtime must be whole and empty afterwards and run again.  Zeroed fields are the defaults of fixture_open. */
struct fixture_case {
  const char *name;
  int (*body)(struct pto_runtime *rt, struct fixture *f);
  int status;
  const char *sentence;             /* part of the run's error */
  void (*after)(struct fixture *f); /* looks at the run that has ended */
  uint64_t window, heap_bytes, ring_window[PTO_RINGS], ring_heap_bytes[PTO_RINGS];
  uint32_t clusters, slots_per_core;
  uint64_t seed;
  const char *policy, *engine, *chip; /* chip: with an engine */
  bool poison;
  uint64_t first_sequence, list_chunks, map_entries;
  const void *context; /* for bodies that several cases share */
};
int fixture_run_cases(const char *name, const struct fixture_case *cases, size_t count);
extern const struct fixture_case *fixture_current;

uint64_t fixture_edges(struct pto_runtime *rt);
uint64_t fixture_tasks(struct pto_runtime *rt);
/* Union of the reasons recorded for the edge from task number `producer` to `consumer`; 0: no edge. */
uint32_t fixture_reasons(struct pto_runtime *rt, uint64_t producer, uint64_t consumer);

#endif
