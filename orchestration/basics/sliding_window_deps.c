/* SPDX-License-Identifier: MIT */
/*
 * sliding_window_deps: each task comes after the `window` tasks before it: many edges, little work.
 *
 * An array has window + n rows; no task writes the first `window`.  Task i reads the rows i … i + window − 1 as one
 * view and writes row window + i: their sum modulo a prime, element by element.  A last task copies the last row out.
 * With window=16 these are the counts of the benchmark of this name (case C0).
 *
 * With n tasks and w = window:  tasks = n + 1,  edges = w·n − w·(w + 1) / 2 + 1  where n ≥ w.
 */
#include <orchestration/support/program.h>

enum { PRIME = 65521 };

struct sliding {
  uint64_t tasks, window, elements;
};

/* ---- kernel: out[j] = Σ rows[i][j] modulo PRIME ---- */

static int sum_rows(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *rows = &args->tensors[0], *out = &args->tensors[1];
  const int32_t *from = rows->addr;
  int32_t *to = out->addr;
  for (uint64_t j = 0; j < out->shape[1]; j++) {
    int64_t sum = 0;
    for (uint64_t i = 0; i < rows->shape[0]; i++) sum += from[i * rows->strides[0] + j * rows->strides[1]];
    to[j * out->strides[1]] = (int32_t)(sum % PRIME);
  }
  return 0;
}

static struct pto_cost sum_rows_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *rows = &args->tensors[0], *out = &args->tensors[1];
  const uint64_t elements = rows->shape[0] * rows->shape[1];
  return (struct pto_cost){.bytes_in = 4 * elements, .bytes_out = 4 * out->shape[1], .vector_elems = elements};
}

static const struct pto_kernel_param sum_rows_params[] = {TENSOR("rows", PTO_INPUT, I32, 2),
                                                          TENSOR("out", PTO_OUTPUT, I32, 2)};
KERNEL(kernel_sum_rows, sum_rows_params, .name = "sum_rows", .cores = PTO_AIV, .run = sum_rows, .cost = sum_rows_cost);

/* ---- the program ---- */

static const struct pto_option options[] = {
    {"tasks", PTO_OPTION_INT, "1000", "tasks that each come after `window` others"},
    {"window", PTO_OPTION_INT, "16", "tasks before it that a task comes after"},
    {"elements", PTO_OPTION_INT, "64", "of a row"},
    {0},
};

static const struct pto_case cases[] = {
    {"C0", "tasks=1000 window=16", "as measured on the hardware", 1001, 15865, false},
    {"chain", "tasks=50 window=1", "each after one", 51, 50, false},
    {"short", "tasks=5 window=16 elements=3", "fewer tasks than the window", 6, 11, false},
    {0},
};

static int prepare(struct pto_program_run *run) {
  struct sliding *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  const int status = READ_WHOLE_OPTIONS(run, {"tasks", 1, 1000000, &state->tasks}, {"window", 1, 4096, &state->window},
                                        {"elements", 1, 1 << 20, &state->elements});
  if (status != PTO_OK) return status;
  const uint64_t shape[] = {state->window + state->tasks, state->elements};
  struct pto_array *rows = pto_program_array(run, "rows", PTO_ARRAY_INOUT, PTO_INT32, 2, shape);
  pto_array_fill_uniform(run, rows, 0, PRIME);
  return DECLARE_ARRAYS(run, OUTPUT("last", PTO_INT32, 1, state->elements));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct sliding *state = pto_program_state(run, sizeof *state);
  const struct pto_tensor rows = tensor_of(rt, run, "rows"), last = tensor_of(rt, run, "last");
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  for (uint64_t i = 0; status == PTO_OK && i < state->tasks; i++) {
    struct pto_tensor from = rows_of(&rows, i, state->window), to = rows_of(&rows, state->window + i, 1);
    status = pto_submit_aiv(rt, &kernel_sum_rows, PARAMS(pto_input(&from), pto_output(&to)));
  }
  struct pto_tensor from = rows_of(&rows, state->window + state->tasks - 1, 1);
  if (status == PTO_OK)
    status = pto_submit_aiv(rt, pto_kernel_find("copy"), PARAMS(pto_input(&from), pto_output(&last)));
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

/* From the rows that no task writes. */
static int expect(struct pto_program_run *run) {
  const struct sliding *state = pto_program_state(run, sizeof *state);
  const uint64_t window = state->window, elements = state->elements;
  const int32_t *kept = data_of(run, "rows");
  double *rows = golden_of(run, "rows"), *last = golden_of(run, "last");
  if (rows == NULL || last == NULL) return PTO_ENOMEM;
  for (uint64_t at = 0; at < (window + state->tasks) * elements; at++) {
    if (at < window * elements) {
      rows[at] = kept[at];
      continue;
    }
    int64_t sum = 0;
    for (uint64_t i = 1; i <= window; i++) sum += (int64_t)rows[at - i * elements];
    rows[at] = (double)(sum % PRIME);
  }
  memcpy(last, rows + (window + state->tasks - 1) * elements, elements * sizeof *last);
  return PTO_OK;
}

PROGRAM("sliding_window_deps", "each task after the 16 before it: many edges, little work", .rtol = 0, .atol = 0);
