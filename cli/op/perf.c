/* SPDX-License-Identifier: MIT */
/*
 * `ptosim op perf`: how fast a kernel is on this machine, what it says that it costs, and what bounds it on a chip.
 *
 * The chip's figure is that of virtual time: one block on a core that shares the memory with no other
 * (sim/chips/timing.h), from the same pto_cost that the virtual engine and the local-memory check use.
 */
#include <cli/op/op.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <formats/json_writer.h>
#include <cli/main/interrupt.h>
#include <cli/main/verb.h>
#include <kernels/levels/level.h>
#include <check/trial/trial.h>
#include <sim/chips/timing.h>

#define BATCHES 9
#define BATCH_NS 2e6

struct measured {
  struct pto_trial_time time;
  struct pto_cost cost;
  struct pto_timing_bound bound;
};

static double gigabytes(const struct measured *m, double ns) {
  return (double)(m->cost.bytes_in + m->cost.bytes_out) / ns;
}
/* GFLOP/s of a product, billions of elements a second of anything else. */
static double rate(const struct measured *m, double ns) {
  return (m->cost.multiply_adds > 0 ? 2 * (double)m->cost.multiply_adds : (double)m->cost.vector_elems) / ns;
}

static void print_measured(const struct pto_trial *trial, const struct pto_trial_case *c, const struct measured *m) {
  char dtypes[128], shapes[256];
  const double ns = m->time.median_ns;
  pto_op_format_dtypes(trial, c, dtypes, sizeof dtypes);
  pto_op_format_shapes(trial, c, shapes, sizeof shapes);
  printf("%-20s %-24s %-36s %-11s %11.0f %11.0f %8.2f %8.2f %-7s %11.1f %-7s %10" PRIu64 " %10" PRIu64 " %10" PRIu64
         " %8" PRIu64 "\n",
         trial->kernel->name, dtypes, shapes, pto_layout_name(c->layout), ns, m->time.minimum_ns, gigabytes(m, ns),
         rate(m, ns), m->cost.multiply_adds > 0 ? "GFLOP/s" : "Gelem/s", (double)m->bound.ps / 1000, m->bound.resource,
         m->cost.bytes_in + m->cost.bytes_out, m->cost.vector_elems, m->cost.multiply_adds, m->cost.local_bytes);
  fflush(stdout);
}

static void write_measured(struct pto_json_writer *w, const struct pto_trial *trial, const struct pto_trial_case *c,
                           const struct measured *m) {
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_op_put_case(w, trial, c, c->layout);
  pto_json_put_double(w, "median_ns", m->time.median_ns);
  pto_json_put_double(w, "minimum_ns", m->time.minimum_ns);
  pto_json_put_double(w, "gigabytes_per_second", gigabytes(m, m->time.median_ns));
  pto_json_put_double(w, m->cost.multiply_adds > 0 ? "gflop_per_second" : "gelem_per_second",
                      rate(m, m->time.median_ns));
  pto_json_key(w, "chip_ns");
  pto_json_decimal(w, m->bound.ps, 3);
  pto_json_put_string(w, "bound", m->bound.resource);
  pto_json_put_u64(w, "bytes_in", m->cost.bytes_in);
  pto_json_put_u64(w, "bytes_out", m->cost.bytes_out);
  pto_json_put_u64(w, "vector_elems", m->cost.vector_elems);
  pto_json_put_u64(w, "multiply_adds", m->cost.multiply_adds);
  pto_json_put_u64(w, "local_bytes", m->cost.local_bytes);
  pto_json_object_end(w);
}

static int measure(struct pto_trial *trial, const struct pto_trial_case *c, const struct pto_chip *chip,
                   struct measured *m) {
  struct pto_timing timing;
  int status = pto_trial_make(trial, c);
  if (status == PTO_OK) status = pto_trial_time(trial, BATCHES, BATCH_NS, &m->time);
  if (status != PTO_OK)
    return pto_complain(PTO_EXIT_FAILED, "op: %s: %s", trial->kernel->name,
                        status == PTO_ENOMEM ? "there is not enough memory for this shape" : trial->message);
  m->cost = pto_timing_cost(trial->kernel, &trial->args);
  pto_timing_init(&timing, chip);
  m->bound = pto_timing_bound(&timing, &m->cost, trial->core.kind);
  return PTO_EXIT_OK;
}

struct perf {
  const struct pto_op_options *options;
  struct pto_chip chip;
  struct pto_json_writer *w;
};

static int measure_kernel(void *context, struct pto_trial *trial, const struct pto_op_plan *plan) {
  const struct perf *perf = context;
  const char *asked = perf->options->layout;
  const bool is_all = asked != NULL && strcmp(asked, "all") == 0;
  const uint32_t first = asked != NULL && !is_all ? (uint32_t)pto_layout_from_name(asked) : 0;
  for (uint32_t t = 0; t < plan->tuple_count; t++)
    for (uint32_t layout = first; layout < (is_all ? PTO_LAYOUT_COUNT : first + 1) && !pto_interrupted(); layout++) {
      struct pto_trial_case c = pto_op_case(plan, trial, t, layout);
      struct measured m;
      c.is_plain = true;
      const int code = measure(trial, &c, &perf->chip, &m);
      if (code != PTO_EXIT_OK) return code;
      if (!pto_json_takes_stdout(perf->options->common.json_path)) print_measured(trial, &c, &m);
      if (perf->w != NULL) write_measured(perf->w, trial, &c, &m);
    }
  return PTO_EXIT_OK;
}

int pto_op_perf(const struct pto_op_options *options, struct pto_json_writer *w) {
  struct perf perf = {.options = options, .w = w};
  struct pto_error error;
  if (pto_chip_load(options->common.chip, &perf.chip, &error))
    return pto_complain(PTO_EXIT_USAGE, "op: %s", error.sentence);
  if (!pto_json_takes_stdout(options->common.json_path))
    printf("%s level; median and minimum of %d batches; bounds of one core of %s\n"
           "%-20s %-24s %-36s %-11s %11s %11s %8s %16s %11s %-7s %10s %10s %10s %8s\n",
           pto_level_name(pto_level_best()), BATCHES, perf.chip.name, "kernel", "dtypes", "shapes", "layout", "ns",
           "min ns", "GB/s", "rate", "chip ns", "bound", "bytes", "elements", "macs", "local");
  if (w != NULL) {
    pto_json_put_string(w, "chip", perf.chip.name);
    pto_json_put_string(w, "level", pto_level_name(pto_level_best()));
    pto_json_put_array(w, "results");
  }
  const int code = pto_op_each_kernel(options, true, measure_kernel, &perf);
  if (w != NULL) pto_json_array_end(w);
  return code;
}
