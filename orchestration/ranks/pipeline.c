/* SPDX-License-Identifier: MIT */
/*
 * pipeline: layers x = gelu(x·W) in stages, a rank each; micro-batches go from stage to stage (Huang et al., "GPipe",
 * 2019).
 *
 * Of n ranks, rank r has layers · r / n up to layers · (r + 1) / n.  Two neighbours share a communicator, whose window
 * has two slots: micro-batch m goes through slot m % 2, in the m-th group of both:
 *
 *   receive   comes after all that the stage does to micro-batch m - 2; says that the slot is FREE, and waits for READY
 *   send      waits for FREE, puts what the stage came to, and says READY
 *
 * Signals count micro-batches: of the m-th they are m + 1.  A stage has two micro-batches at a time: one comes, or has
 * its products made, while the other has gelu.  While the first micro-batch is on its way to a stage, and the last one
 * is behind it, the stage waits: n - 1 turns of batches + n - 1.
 *
 * A layer's bits do not depend on the rank that it is on, so the last rank has the same for any number of ranks.  Each
 * rank's output is what its stage came to.
 */
#include <orchestration/ranks/sequential.h>
#include <orchestration/support/program.h>
#include <pto/remote.h>
#include <pto/world.h>

static const struct pto_option options[] = {{"batches", PTO_OPTION_INT, "8", "micro-batches"},
                                            {"rows", PTO_OPTION_INT, "32", "rows of a micro-batch"},
                                            {"dim", PTO_OPTION_INT, "64", "columns of a micro-batch"},
                                            {"layers", PTO_OPTION_INT, "8", "at least as many as there are ranks"},
                                            {0}};
static const struct pto_case cases[] = {
    {.name = "8x8"},
    {.name = "uneven", .settings = "batches=5 rows=7 dim=20 layers=11", .summary = "stages of unequal length"},
    {.name = "64x32", .settings = "batches=64 rows=512 dim=1024 layers=32", .is_long = true},
    {0}};

struct pipeline {
  uint64_t batches, rows, dim, layers;
};

static uint64_t first_layer_of(struct pto_program_run *run, const struct pipeline *p, uint32_t rank) {
  return p->layers * rank / pto_program_rank_count(run);
}

static int prepare(struct pto_program_run *run) {
  enum { MOST = 65536 };
  struct pipeline *p = pto_program_state(run, sizeof *p);
  if (!p) return PTO_ENOMEM;
  const int status =
      READ_WHOLE_OPTIONS(run, {"batches", 1, MOST, &p->batches}, {"rows", 1, MOST, &p->rows}, {"dim", 1, MOST, &p->dim},
                         {"layers", pto_program_rank_count(run), MOST, &p->layers});
  if (status) return status;
  const double bound = sqrt(6.0 / (double)p->dim); /* gelu halves what a product has */
  return DECLARE_ARRAYS(run, INPUT("x", PTO_FLOAT32, -1, 1, p->batches, p->rows, p->dim),
                        INPUT("w", PTO_FLOAT32, -bound, bound, p->layers, p->dim, p->dim),
                        OUTPUT("y", PTO_FLOAT32, p->batches, p->rows, p->dim));
}

/* ---- from stage to stage ---- */

enum { FREE, READY, SIGNALS }; /* of the sender, and of the receiver */
enum { SENDER, RECEIVER };     /* places in the communicator of two neighbours */
enum { SLOTS = 2 };

static int receive_run(const struct pto_kernel_args *args) {
  const uint64_t comm = args->scalars[0].u64;
  const int32_t count = (int32_t)args->scalars[1].u64;
  const int status = pto_core_notify(args, comm, SENDER, FREE, PTO_NOTIFY_SET, count);
  return status ? status : pto_core_wait_signal(args, comm, READY, PTO_IF_GE, count);
}

static int send_run(const struct pto_kernel_args *args) {
  const uint64_t comm = args->scalars[0].u64;
  const int32_t count = (int32_t)args->scalars[1].u64;
  int status = pto_core_wait_signal(args, comm, FREE, PTO_IF_GE, count);
  if (!status) status = pto_core_put(args, &args->tensors[1], &args->tensors[0]);
  return status ? status : pto_core_notify(args, comm, RECEIVER, READY, PTO_NOTIFY_SET, count);
}

/* What they do takes time, and nothing else. */
static struct pto_cost no_cost(const struct pto_kernel_args *args) { return (struct pto_cost){0}; }

static const struct pto_kernel_param receive_params[] = {MATRIX("slot", PTO_INOUT), SCALAR("comm", PTO_SCALAR_U64),
                                                         SCALAR("count", PTO_SCALAR_U64)};
static const struct pto_kernel_param send_params[] = {MATRIX("x", PTO_INPUT), MATRIX("slot", PTO_OUTPUT),
                                                      SCALAR("comm", PTO_SCALAR_U64), SCALAR("count", PTO_SCALAR_U64)};
KERNEL(receive, receive_params, .name = "receive", .cores = PTO_AIV, .flags = PTO_KERNEL_REMOTE, .run = receive_run,
       .cost = no_cost);
KERNEL(send, send_params, .name = "send", .cores = PTO_AIV, .flags = PTO_KERNEL_REMOTE, .run = send_run,
       .cost = no_cost);

/* ---- the orchestration ---- */

/* Every other micro-batch, one behind the other, so that the stage has no more of them at a time than slots. */
struct lane {
  struct pto_task last;
  uint32_t count; /* of it: none, before the first */
};

struct plan {
  const struct pipeline *p;
  uint32_t rank, rank_count;
  uint64_t first, end; /* layers */
  struct pto_tensor x, w, y;
  struct pto_comm before, behind; /* with the neighbours that there are */
  struct lane lanes[SLOTS];
};

static int join(struct pto_runtime *rt, const struct plan *plan, uint32_t sender, struct pto_comm *comm) {
  const uint64_t bytes = plan->p->rows * plan->p->dim * sizeof(float);
  return pto_comm_create(rt, (const uint32_t[]){sender, sender + 1}, 2, SLOTS * bytes, SIGNALS, comm);
}

/* Slot of a micro-batch in the receiver's window, as that is for the caller. */
static struct pto_tensor slot_of(const struct plan *plan, const struct pto_tensor *window, uint64_t batch) {
  const struct pto_tensor slot = rows_of(window, batch % SLOTS, 1);
  return pto_tensor_reshape(&slot, 2, (uint64_t[]){plan->p->rows, plan->p->dim});
}

static int submit_receive(struct pto_runtime *rt, const struct plan *plan, uint64_t batch, struct pto_tensor *slot) {
  const struct lane *lane = &plan->lanes[batch % SLOTS];
  const uint64_t shape[] = {SLOTS, plan->p->rows, plan->p->dim};
  const struct pto_tensor window = pto_comm_window(rt, plan->before, PTO_FLOAT32, 3, shape);
  const struct pto_launch launch = {
      .size = sizeof launch, .aiv0 = &receive, .after = &lane->last, .after_count = lane->count};
  *slot = slot_of(plan, &window, batch);
  return pto_submit_group(rt, plan->before, &launch,
                          PARAMS(pto_inout(slot), pto_scalar_u64(plan->before.id), pto_scalar_u64(batch + 1)), NULL);
}

static int submit_send(struct pto_runtime *rt, const struct plan *plan, uint64_t batch, const struct pto_tensor *x) {
  const uint64_t shape[] = {SLOTS, plan->p->rows, plan->p->dim};
  const struct pto_tensor window = pto_comm_peer(rt, plan->behind, RECEIVER, PTO_FLOAT32, 3, shape);
  const struct pto_tensor slot = slot_of(plan, &window, batch);
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &send};
  return pto_submit_group(
      rt, plan->behind, &launch,
      PARAMS(pto_input(x), pto_output(&slot), pto_scalar_u64(plan->behind.id), pto_scalar_u64(batch + 1)), NULL);
}

/* to = gelu(from·w), after what came before in the lane. */
static int submit_layer(struct pto_runtime *rt, struct lane *lane, const struct pto_tensor *from,
                        const struct pto_tensor *w, const struct pto_tensor *to) {
  const struct pto_tensor product = temporary_matrix(rt, PTO_FLOAT32, to->shape[0], to->shape[1]);
  const struct pto_launch up = {
      .size = sizeof up, .aic = pto_kernel_find("matmul"), .after = &lane->last, .after_count = lane->count};
  const struct pto_launch active = {.size = sizeof active, .aiv0 = pto_kernel_find("gelu")};
  lane->count = 1;
  const int status = pto_submit(rt, &up, PARAMS(pto_input(from), pto_input(w), pto_output(&product)), NULL);
  return status ? status : pto_submit(rt, &active, PARAMS(pto_input(&product), pto_output(to)), &lane->last);
}

static int submit_batch(struct pto_runtime *rt, struct plan *plan, uint64_t batch) {
  const struct pto_tensor y = part_of(&plan->y, batch);
  struct pto_tensor x = part_of(&plan->x, batch);
  int status = plan->rank ? submit_receive(rt, plan, batch, &x) : PTO_OK;
  for (uint64_t layer = plan->first; layer < plan->end && !status; layer++) {
    const struct pto_tensor w = part_of(&plan->w, layer);
    const struct pto_tensor to = layer + 1 == plan->end ? y : temporary_matrix(rt, PTO_FLOAT32, y.shape[0], y.shape[1]);
    status = submit_layer(rt, &plan->lanes[batch % SLOTS], &x, &w, &to);
    x = to;
  }
  return status || plan->rank + 1 == plan->rank_count ? status : submit_send(rt, plan, batch, &y);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pipeline *p = pto_program_state(run, sizeof *p);
  const uint32_t rank = pto_program_rank(run), rank_count = pto_program_rank_count(run);
  struct plan plan = {.p = p,
                      .rank = rank,
                      .rank_count = rank_count,
                      .first = first_layer_of(run, p, rank),
                      .end = first_layer_of(run, p, rank + 1),
                      .x = tensor_of(rt, run, "x"),
                      .w = tensor_of(rt, run, "w"),
                      .y = tensor_of(rt, run, "y")};
  int status = rank ? join(rt, &plan, rank - 1, &plan.before) : PTO_OK;
  if (!status && rank + 1 < rank_count) status = join(rt, &plan, rank, &plan.behind);
  for (uint64_t batch = 0; batch < p->batches && !status; batch++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (!status) status = submit_batch(rt, &plan, batch);
    if (!status) status = pto_scope_end(rt);
  }
  return status;
}

/* ---- golden: all micro-batches layer by layer, up to the last one of the stage ---- */

/* In double precision; NULL where there is no memory. */
static double *compute_exactly(struct pto_program_run *run, const struct pipeline *p, uint64_t layers) {
  const float *w = data_of(run, "w");
  const uint64_t rows = p->batches * p->rows;
  double *y = exact_copy(run, "x"), *row = pto_program_alloc(run, p->dim * sizeof *row);
  for (uint64_t i = 0; i < rows * layers && y && row; i++) {
    double *at = y + i % rows * p->dim;
    const float *layer = w + i / rows * p->dim * p->dim;
    memset(row, 0, p->dim * sizeof *row);
    for (uint64_t k = 0; k < p->dim; k++)
      for (uint64_t j = 0; j < p->dim; j++) row[j] += at[k] * (double)layer[k * p->dim + j];
    for (uint64_t j = 0; j < p->dim; j++) at[j] = row[j] * 0.5 * (1 + erf(row[j] / sqrt(2)));
  }
  return row ? y : NULL;
}

static int expect(struct pto_program_run *run) {
  const struct pipeline *p = pto_program_state(run, sizeof *p);
  const uint64_t layers = first_layer_of(run, p, pto_program_rank(run) + 1), rows = p->batches * p->rows;
  const struct pto_core core = make_core(run);
  const struct matrix product = make_matrix(run, rows, p->dim), y = make_matrix(run, rows, p->dim);
  struct matrix x = {pto_program_find(run, "x")->data, rows, p->dim, p->dim};
  int status = PTO_OK;
  for (uint64_t layer = 0; layer < layers && !status; layer++, x = y) {
    const struct matrix w = matrix_of(pto_program_find(run, "w"), layer);
    status = compute(&core, "matmul", MATRICES(x, w, product), NO_SCALAR);
    if (!status) status = compute(&core, "gelu", MATRICES(product, y), NO_SCALAR);
  }
  return status ? status : give_golden(run, "y", y, compute_exactly(run, p, layers));
}

PROGRAM("pipeline", "layers in stages, a rank each, and micro-batches that go from stage to stage", .ranks = 4);
