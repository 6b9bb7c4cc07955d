/* SPDX-License-Identifier: MIT */
/*
 * A runtime for tests over the serial port, with kernels made from a list of modes.
 *
 * A fixture owns its runtime and one block of host memory; `fixture_run` calls a test's body as the orchestration and fails the
 * test with the runtime's sentence where the run does not end as expected.  Kernels made here do nothing unless they
 * are given a function.
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
  struct pto_serial_port_config port;
  _Alignas(1024) uint8_t memory[FIXTURE_MEMORY_BYTES];
};

/* Zeroed fields of `config` get a window of 64, heaps of 64 KiB, fifo, exact rules and a recorded graph. */
void fixture_open(struct fixture *f);
void fixture_close(struct fixture *f);

/* Runs `body(rt, f)` and expects this status. */
void fixture_run(struct fixture *f, int (*body)(struct pto_runtime *, struct fixture *), int expected_status);
/* Fails the test where `status` is not `expected`, with the runtime's sentence. */
void fixture_expect(struct pto_runtime *rt, int status, int expected);
/* Fails the test where the last sentence does not contain `part`. */
void fixture_expect_sentence(struct pto_runtime *rt, const char *part);

/* A kernel whose tensor parameters have these modes: 'i' input, 'o' output, 'b' inout, 'a' accumulate, 's' u64 scalar, '-' unused.
 * The first caller of a text makes it; kernels live as long as the process. */
const struct pto_kernel *fixture_kernel(const char *modes);
/* The same with flags or another run function. */
struct pto_kernel fixture_kernel_with(const char *modes, uint32_t flags, int (*run)(const struct pto_kernel_args *));

/* Dense external u8 tensors over the fixture's memory. */
struct pto_tensor fixture_bytes(struct fixture *f, uint64_t offset, uint64_t count);
struct pto_tensor fixture_matrix(struct fixture *f, uint64_t rows, uint64_t columns);
struct pto_tensor fixture_box(const struct pto_tensor *t, uint64_t row, uint64_t rows, uint64_t column, uint64_t columns);
/* A managed buffer of `count` bytes as u8[count]. */
struct pto_tensor fixture_managed(struct pto_runtime *rt, uint64_t count);

/* Submits an AIV task of one kernel of these modes over the tensors, in order; PTO_OK or the refusal. */
int fixture_submit(struct pto_runtime *rt, const char *modes, const struct pto_tensor *const *tensors, struct pto_task *task_out);
#define FIXTURE_SUBMIT(rt, modes, ...) fixture_submit(rt, modes, (const struct pto_tensor *const[]){__VA_ARGS__}, NULL)

uint64_t fixture_edges(struct pto_runtime *rt);
uint64_t fixture_tasks(struct pto_runtime *rt);
/* Union of the reasons recorded for the edge from task number `producer` to `consumer`; 0: no edge. */
uint32_t fixture_reasons(struct pto_runtime *rt, uint64_t producer, uint64_t consumer);

#endif
