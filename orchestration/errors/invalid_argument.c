/* SPDX-License-Identifier: MIT */
/*
 * Mistakes in the arguments of a submit.  Each is refused as PTO_EINVAL with its parameter and values, nothing changes,
 * the run goes on and a right submit follows; then the program reports the sentences of the refusals.
 */
#include <orchestration/support/program.h>

#include <stdio.h>
#include <string.h>

static int copy_run(const struct pto_kernel_args *a) {
  const int32_t *x = a->tensors[0].addr;
  int32_t *z = a->tensors[1].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) z[i] = x[i];
  return 0;
}
static const struct pto_kernel_param params[] = {TENSOR("x", PTO_INPUT, I32, 1), TENSOR("z", PTO_OUTPUT, I32, 1)};
KERNEL(copy, params, .name = "copy_i32", .cores = PTO_AIV, .run = copy_run);

/* Two good tensors, and what is needed to make bad ones. */
struct world {
  struct pto_runtime *rt;
  struct pto_tensor x, z, fresh;
};

static int submit_copy(struct world *w, const struct pto_tensor *x, const struct pto_tensor *z) {
  return pto_submit_aiv(w->rt, &copy, PARAMS(pto_input(x), pto_output(z)));
}

/* ---- the mistakes ---- */

static int count(struct world *w) {
  return pto_submit_aiv(w->rt, &copy, PARAMS(pto_input(&w->x), pto_output(&w->z), pto_scalar_i64(1)));
}
static int mode(struct world *w) { return pto_submit_aiv(w->rt, &copy, PARAMS(pto_input(&w->x), pto_inout(&w->z))); }
static int dtype(struct world *w) {
  struct pto_tensor floats = pto_tensor_reinterpret(&w->x, PTO_FLOAT32);
  return submit_copy(w, &floats, &w->z);
}
static int rank(struct world *w) {
  const uint64_t square[] = {4, 4};
  struct pto_tensor matrix = pto_tensor_reshape(&w->x, 2, square);
  return submit_copy(w, &matrix, &w->z);
}
static int core_kind(struct world *w) {
  return pto_submit_aic(w->rt, &copy, PARAMS(pto_input(&w->x), pto_output(&w->z)));
}
static int view(struct world *w) {
  struct pto_tensor outside = pto_tensor_slice(&w->x, 0, 8, 17, 1);
  return submit_copy(w, &outside, &w->z);
}
static int aliasing(struct world *w) {
  struct pto_tensor low = pto_tensor_slice(&w->z, 0, 0, 8, 1), high = pto_tensor_slice(&w->z, 0, 7, 15, 1);
  return submit_copy(w, &low, &high);
}
static int shared_bytes(struct world *w) {
  const uint64_t shape[] = {16};
  struct pto_tensor one = pto_tensor_slice(&w->z, 0, 0, 1, 1), repeated = pto_tensor_broadcast(&one, 1, shape);
  return submit_copy(w, &w->x, &repeated);
}
static int unwritten(struct world *w) { return submit_copy(w, &w->fresh, &w->z); }
static int partial_allocation(struct world *w) {
  struct pto_tensor half = pto_tensor_slice(&w->fresh, 0, 0, 8, 1);
  return submit_copy(w, &w->x, &half);
}
static int version(struct world *w) {
  struct pto_tensor later = pto_tensor_with_version(&w->x, 3);
  return submit_copy(w, &later, &w->z);
}

static const struct {
  const char *name;
  int (*submit)(struct world *w);
} mistakes[] = {{"count", count},         {"mode", mode},
                {"dtype", dtype},         {"rank", rank},
                {"core_kind", core_kind}, {"view", view},
                {"aliasing", aliasing},   {"shared_bytes", shared_bytes},
                {"unwritten", unwritten}, {"partial_allocation", partial_allocation},
                {"version", version}};
#define MISTAKES LENGTH(mistakes)

/* ---- the program ---- */

static unsigned mistake_of(struct pto_program_run *run) {
  unsigned i = 0;
  while (i < MISTAKES && strcmp(mistakes[i].name, pto_option_text(run, "mistake")) != 0) i++;
  return i;
}

static int prepare(struct pto_program_run *run) {
  if (mistake_of(run) < MISTAKES)
    return DECLARE_ARRAYS(run, INPUT("x", PTO_INT32, 0, 0, 16), OUTPUT("z", PTO_INT32, 16));
  return pto_program_fail(run, "there is no mistake \"%s\"", pto_option_text(run, "mistake"));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct world w = {.rt = rt,
                    .x = tensor_of(rt, run, "x"),
                    .z = tensor_of(rt, run, "z"),
                    .fresh = temporary_vector(rt, PTO_INT32, 16)};
  char sentence[512];
  int status = mistakes[mistake_of(run)].submit(&w);
  if (status != PTO_EINVAL) return pto_program_fail(run, "the mistake was answered with %s", pto_status_name(status));
  snprintf(sentence, sizeof sentence, "refused: %s", pto_last_error(rt));
  if (submit_copy(&w, &w.x, &w.z) != PTO_OK) return pto_program_fail(run, "the run did not go on after the refusal");
  return pto_report_error(rt, sentence);
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/invalid_argument",
    .summary = "PTO_EINVAL, reported: mistakes in the arguments of a submit",
    .options =
        (const struct pto_option[]){{"mistake", PTO_OPTION_TEXT, "aliasing", "which mistake: the name of a case"}, {0}},
    .cases = (const struct pto_case[]){{.name = "count", .settings = "mistake=count"},
                                       {.name = "mode", .settings = "mistake=mode"},
                                       {.name = "dtype", .settings = "mistake=dtype"},
                                       {.name = "rank", .settings = "mistake=rank"},
                                       {.name = "core_kind", .settings = "mistake=core_kind"},
                                       {.name = "view", .settings = "mistake=view"},
                                       {.name = "aliasing", .settings = "mistake=aliasing"},
                                       {.name = "shared_bytes", .settings = "mistake=shared_bytes"},
                                       {.name = "unwritten", .settings = "mistake=unwritten"},
                                       {.name = "partial_allocation", .settings = "mistake=partial_allocation"},
                                       {.name = "version", .settings = "mistake=version"},
                                       {0}},
    .prepare = prepare,
    .expected_status = PTO_EUSER,
    .orchestrate = orchestrate,
};
