/* SPDX-License-Identifier: MIT */
/*
 * One question: what does the virtual engine itself cost a message, from dispatch to completion, with every core kept
 * busy?
 *
 * One JSON line a chip, with and without a timeline, with and without a cost function: nanoseconds of processor time a
 * message (so that other load on the machine counts little).  Kernels are empty.  No
 * peer does this.
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <runtime/trace/trace.h>
#include <sim/chips/chip.h>
#include <sim/engine/engine.h>

#include <stdio.h>
#include <stdlib.h>

#define RUNS 7
#define MESSAGES 1000000u
#define TASKS 4096u

struct task {
  char header[sizeof(struct pto_payload)];
  struct pto_kernel_tensor tensors[3];
  union pto_scalar scalar;
};

static _Alignas(8) struct task tasks[TASKS];

static struct pto_payload *payload_of(uint32_t ticket) { return (struct pto_payload *)(void *)&tasks[ticket % TASKS]; }

static int run_nothing(const struct pto_kernel_args *args) { return 0; }
static struct pto_cost a_cost(const struct pto_kernel_args *args) {
  return (struct pto_cost){.vector_elems = 1000 + args->scalars[0].u64, .bytes_in = 4096};
}
static const struct pto_kernel_param params[] = {{.mode = PTO_INPUT}, {.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}};
static const struct pto_kernel priced = {
    .name = "priced", .cores = PTO_AIC | PTO_AIV, .run = run_nothing, .cost = a_cost};
static const struct pto_kernel unpriced = {
    .name = "unpriced", .cores = PTO_AIC | PTO_AIV, .run = run_nothing, .params = params, .param_count = 3};

static void make_tasks(const struct pto_kernel *kernel) {
  static const uint64_t shape[2] = {64, 64}, strides[2] = {64, 1};
  for (uint32_t i = 0; i < TASKS; i++) {
    struct pto_payload *payload = payload_of(i);
    *payload = (struct pto_payload){
        .task_number = i, .block_count = 1, .tensor_count = 3, .scalar_count = 1, .kernels = {kernel}};
    for (uint32_t j = 0; j < 3; j++)
      tasks[i].tensors[j] = (struct pto_kernel_tensor){.shape = shape, .strides = strides, .ndims = 2};
    tasks[i].scalar.u64 = i * 7919 % 5000; /* so that cores do not end in step */
  }
}

static void send(struct pto_port *port, uint32_t ticket, uint32_t core) {
  const struct pto_message message = {.payload = payload_of(ticket),
                                      .run = run_nothing,
                                      .ticket = ticket,
                                      .core = (uint16_t)core,
                                      .tensor_count = 3,
                                      .scalar_count = 1};
  port->ops->dispatch(port, &message, port->clock, NULL);
}

/* Each completion is answered with a message to the same core, as a runtime with enough ready tasks does. */
static double measure(struct pto_port *port) {
  uint32_t sent = 0;
  if (port->ops->begin_run(port, NULL, 0)) exit(1);
  double begin = pto_bench_cpu_ns();
  for (uint32_t slot = 0; slot < port->slots_per_core; slot++)
    for (uint32_t core = 0; core < 3 * port->cluster_count; core++) send(port, sent++, core);
  for (uint32_t polled = 0; polled < MESSAGES;) {
    struct pto_completion completion;
    if (!port->ops->poll(port, &completion, 1)) {
      port->ops->wait(port);
      continue;
    }
    polled++;
    pto_port_charge(port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
    if (sent < MESSAGES) send(port, sent++, completion.core);
  }
  double ns = (pto_bench_cpu_ns() - begin) / MESSAGES;
  port->ops->end_run(port);
  return ns;
}

static void bench(const char *chip_name, struct pto_trace *trace, const struct pto_kernel *kernel) {
  struct pto_chip chip;
  struct pto_error error;
  struct pto_port *port;
  struct pto_samples ns = {.count = 0};
  if (pto_chip_load(chip_name, &chip, &error)) exit(1);
  const struct pto_engine_config config = {.chip = &chip};
  if (pto_engine_virtual_create(&config, &port, &error)) exit(1);
  make_tasks(kernel);
  port->trace = trace;
  for (uint32_t i = 0; i < pto_bench_repeats(RUNS); i++) {
    if (trace) trace->spans[0].count = 0;
    pto_samples_add(&ns, measure(port));
  }
  struct pto_bench_line *line = pto_bench_line_begin("virtual_messages", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "chip", chip_name);
  pto_bench_line_text(line, "record", trace ? "timeline" : "nothing");
  pto_bench_line_text(line, "kernel", kernel->name);
  pto_bench_line_print(line, &ns);
  port->ops->destroy(port);
}

int main(void) {
  struct pto_trace_log spans = {.record_bytes = sizeof(struct pto_trace_span), .capacity = MESSAGES};
  struct pto_trace trace = {.record = PTO_RECORD_TIMELINE, .is_virtual = true, .spans = &spans, .span_log_count = 1};
  if (!pto_reserve_init(&spans.memory, (uint64_t)MESSAGES * sizeof(struct pto_trace_span))) return 1;
  for (uint32_t i = 0; pto_chip_name_at(i); i++) {
    bench(pto_chip_name_at(i), NULL, &priced);
    bench(pto_chip_name_at(i), &trace, &priced);
    bench(pto_chip_name_at(i), &trace, &unpriced);
  }
  pto_reserve_fini(&spans.memory);
  return 0;
}
