/* SPDX-License-Identifier: MIT */
/*
 * expert_parallel_moe: a mixture-of-experts layer (orchestration/support/moe.h) whose experts are spread over ranks.
 *
 * Each rank has `tokens` tokens of its own, the router, and experts / ranks of the experts.  It routes its tokens,
 * dispatches them to the ranks of their experts, lets its experts answer what has come to them, and combines what comes
 * back.
 *
 *   each tile of tokens          logits (AIC) → probabilities (AIV) → choose (AIV)
 *   all                          fill (AIV) → moe_dispatch_meta, moe_dispatch_data (AIV)
 *   each expert, each tile       gate, up (AIC) → silu, multiply (AIV) → down (AIC)
 *   all                          moe_combine (AIV)
 *
 * An expert has room for `capacity` rows, and as many tiles as hold them; tile r runs under the predicate
 * recv_count[e] > r·tile.  Rows that it does not get are those that the fill has left, zeros.
 *
 * With n tiles of a rank's tokens, m of an expert's capacity and L experts a rank: tasks = 5 + 3·n + 5·L·m, the memory
 * of the answers counted.
 */
#include <orchestration/ranks/sequential.h>
#include <orchestration/support/moe.h>
#include <pto/collectives.h>

static const struct pto_option options[] = {
    {"tokens", PTO_OPTION_INT, "64", "tokens of each rank"},
    {"dim", PTO_OPTION_INT, "64", "elements of a token"},
    {"hidden", PTO_OPTION_INT, "128", "width of an expert"},
    {"experts", PTO_OPTION_INT, "8", "experts of all ranks, a multiple of how many those are"},
    {"k", PTO_OPTION_INT, "2", "experts that a token is sent to"},
    {"tile", PTO_OPTION_INT, "16", "tokens of a tile"},
    {"capacity", PTO_OPTION_INT, "0", "rows that an expert takes; 0: the tokens of all ranks"},
    {"favour", PTO_OPTION_INT, "-1", "an expert that every token chooses; -1: none"},
    {0},
};
static const struct pto_case cases[] = {
    {.name = "64x8x2", .tasks = 177, .edges = 533},
    {.name = "ragged", .settings = "tokens=37 dim=48 hidden=80 k=3", .summary = "a last tile of five tokens"},
    {.name = "one", .settings = "tokens=1", .summary = "one token a rank: most experts have none"},
    {.name = "same", .settings = "k=1 favour=5", .summary = "all tokens of all ranks to one expert"},
    {.name = "capacity", .settings = "tokens=32 capacity=64", .summary = "fewer rows than all tokens could be"},
    {0},
};

struct layer {
  struct moe moe; /* x: of this rank */
  uint64_t local, capacity;
};

/* ---- inputs: what a rank has, any rank can make ---- */

static struct pto_array *tokens_of(struct pto_program_run *run, const struct moe *moe, uint32_t rank, uint32_t role) {
  struct pto_array *x = pto_program_array(run, pto_program_text(run, "x%u", rank), role, PTO_FLOAT32, 2,
                                          (uint64_t[]){moe->tokens, moe->dim});
  const char *drawn = pto_program_text(run, "drawn%u", rank);
  return x && make_tokens(run, moe, x, drawn) == PTO_OK ? x : NULL;
}

/* The matrices of a rank's experts: w1, w3 [local, dim, hidden], w2 [local, hidden, dim]. */
static struct pto_array *expert_matrix(struct pto_program_run *run, const struct layer *layer, const char *name,
                                       uint32_t rank, uint32_t role) {
  const bool is_back = strcmp(name, "w2") == 0;
  const uint64_t dim = layer->moe.dim, hidden = layer->moe.hidden;
  const uint64_t shape[] = {layer->local, is_back ? hidden : dim, is_back ? dim : hidden};
  const double bound = sqrt(3 / (double)shape[1]); /* keeps the variance of a token */
  struct pto_array *matrix =
      pto_program_array(run, pto_program_text(run, "%s_%u", name, rank), role, PTO_FLOAT32, 3, shape);
  pto_array_fill_uniform(run, matrix, -bound, bound);
  return matrix;
}

static int prepare(struct pto_program_run *run) {
  struct layer *layer = pto_program_state(run, sizeof *layer);
  if (layer == NULL) return PTO_ENOMEM;
  struct moe *moe = &layer->moe;
  const uint32_t ranks = pto_program_rank_count(run), rank = pto_program_rank(run);
  int status = read_moe_options(run, moe);
  const int64_t favour = pto_option_int(run, "favour");
  if (status == PTO_OK) status = READ_WHOLE_OPTIONS(run, {"capacity", 0, INT64_C(1) << 22, &layer->capacity});
  if (status != PTO_OK) return status;
  if (favour >= (int64_t)moe->experts)
    return pto_program_fail(run, "favour %lld is no expert of %llu", (long long)favour,
                            (unsigned long long)moe->experts);
  if (moe->experts % ranks)
    return pto_program_fail(run, "experts %llu is no multiple of the %u ranks", (unsigned long long)moe->experts,
                            ranks);
  moe->dtype = PTO_FLOAT32;
  layer->local = moe->experts / ranks;
  if (layer->capacity == 0) layer->capacity = moe->tokens * ranks;
  status = DECLARE_ARRAYS(
      run, INPUT("router", PTO_FLOAT32, 0, 0, moe->dim, moe->experts),
      OUTPUT("out", PTO_FLOAT32, moe->tokens, moe->dim), OUTPUT("chosen", PTO_INT32, moe->tokens, moe->k),
      OUTPUT("weights", PTO_FLOAT32, moe->tokens, moe->k), OUTPUT("recv_count", PTO_INT32, layer->local));
  moe->router = pto_program_find(run, "router");
  if (status != PTO_OK) return status;
  fill_router(run, moe);
  if (favour >= 0) pto_array_set(moe->router, (uint64_t)favour, FAR_LOGIT);
  moe->x = tokens_of(run, moe, rank, PTO_ARRAY_INPUT);
  const bool has_matrices = expert_matrix(run, layer, "w1", rank, PTO_ARRAY_INPUT) &&
                            expert_matrix(run, layer, "w3", rank, PTO_ARRAY_INPUT) &&
                            expert_matrix(run, layer, "w2", rank, PTO_ARRAY_INPUT);
  return moe->x && has_matrices ? PTO_OK : PTO_ENOMEM;
}

/* ---- the orchestration ---- */

struct plan {
  const struct layer *layer;
  struct pto_tensor x, router, chosen, weights, w1, w3, w2, recv_x, recv_count, y, out;
  struct pto_moe_handle handle;
};

static struct pto_tensor tensor_of_rank(struct pto_runtime *rt, struct pto_program_run *run, const char *name) {
  return tensor_of(rt, run, pto_program_text(run, name, pto_program_rank(run)));
}

static int submit_routers(struct pto_runtime *rt, const struct plan *plan) {
  const struct moe *moe = &plan->layer->moe;
  int status = PTO_OK;
  for (uint64_t i = 0; status == PTO_OK && i * moe->tile < moe->tokens; i++) {
    const struct tile tile = tile_of_count(moe, moe->tokens, i);
    struct pto_tensor x = tile_of(&plan->x, tile), chosen = tile_of(&plan->chosen, tile);
    struct pto_tensor weights = tile_of(&plan->weights, tile);
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = submit_router(rt, moe, &x, &plan->router, &chosen, &weights);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

/* A task of a tile that runs where its expert has got rows of it. */
static int submit_gated(struct pto_runtime *rt, const struct plan *plan, const struct pto_predicate *predicate,
                        const char *name, const struct pto_param *params, uint32_t count) {
  const struct pto_kernel *kernel = pto_kernel_find(name);
  struct pto_launch launch = {.predicate = *predicate, .after = &plan->handle.dispatch, .after_count = 1};
  *(kernel->cores & PTO_AIC ? &launch.aic : &launch.aiv0) = kernel;
  return pto_submit(rt, &launch, params, count, NULL);
}

/* A tile of the rows that came to the e-th expert of this rank. */
static int submit_tile(struct pto_runtime *rt, const struct plan *plan, uint64_t e, struct tile tile) {
  struct pto_tensor count = rows_of(&plan->recv_count, e, 1);
  const struct pto_predicate predicate = {.tensor = &count, .compare = PTO_IF_GT, .value = (int64_t)tile.first};
  struct pto_tensor all_rows = part_of(&plan->recv_x, e), rows = tile_of(&all_rows, tile);
  struct pto_tensor all_y = part_of(&plan->y, e), y = tile_of(&all_y, tile);
  struct pto_tensor w1 = part_of(&plan->w1, e), w3 = part_of(&plan->w3, e), w2 = part_of(&plan->w2, e);
  struct pto_tensor gate = temporary_matrix(rt, PTO_FLOAT32, tile.rows, plan->layer->moe.hidden);
  struct pto_tensor up = temporary(rt, PTO_FLOAT32, 2, gate.shape), active = temporary(rt, PTO_FLOAT32, 2, gate.shape);
  struct pto_tensor gated = temporary(rt, PTO_FLOAT32, 2, gate.shape);
  int s = submit_gated(rt, plan, &predicate, "matmul", PARAMS(pto_input(&rows), pto_input(&w1), pto_output(&gate)));
  if (!s) s = submit_gated(rt, plan, &predicate, "matmul", PARAMS(pto_input(&rows), pto_input(&w3), pto_output(&up)));
  if (!s) s = submit_gated(rt, plan, &predicate, "silu", PARAMS(pto_input(&gate), pto_output(&active)));
  if (!s) s = submit_gated(rt, plan, &predicate, "mul", PARAMS(pto_input(&active), pto_input(&up), pto_output(&gated)));
  return s ? s
           : submit_gated(rt, plan, &predicate, "matmul", PARAMS(pto_input(&gated), pto_input(&w2), pto_output(&y)));
}

static int submit_experts(struct pto_runtime *rt, const struct plan *plan) {
  const struct layer *layer = plan->layer;
  int status = PTO_OK;
  for (uint64_t i = 0; i * layer->moe.tile < layer->capacity; i++)
    for (uint64_t e = 0; status == PTO_OK && e < layer->local; e++) {
      status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
      if (status == PTO_OK) status = submit_tile(rt, plan, e, tile_of_count(&layer->moe, layer->capacity, i));
      if (status == PTO_OK) status = pto_scope_end(rt);
    }
  return status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct layer *layer = pto_program_state(run, sizeof *layer);
  const struct moe *moe = &layer->moe;
  const uint64_t rows[] = {layer->local, layer->capacity, moe->dim};
  struct plan plan = {.layer = layer,
                      .x = tensor_of_rank(rt, run, "x%u"),
                      .router = tensor_of(rt, run, "router"),
                      .chosen = tensor_of(rt, run, "chosen"),
                      .weights = tensor_of(rt, run, "weights"),
                      .w1 = tensor_of_rank(rt, run, "w1_%u"),
                      .w3 = tensor_of_rank(rt, run, "w3_%u"),
                      .w2 = tensor_of_rank(rt, run, "w2_%u"),
                      .recv_count = tensor_of(rt, run, "recv_count"),
                      .out = tensor_of(rt, run, "out"),
                      .recv_x = temporary(rt, PTO_FLOAT32, 3, rows),
                      .y = temporary(rt, PTO_FLOAT32, 3, rows)};
  const uint64_t taken = layer->local * layer->capacity, sent = moe->tokens * moe->k;
  const uint64_t bytes = (taken > sent ? taken : sent) * moe->dim * sizeof(float), least = 4 * moe->experts + 16;
  struct pto_comm comm;
  int status = pto_comm_create_for_collectives(rt, NULL, 0, bytes > least ? bytes : least, &comm);
  if (status == PTO_OK)
    status = submit_kernel(rt, pto_kernel_find("fill"), PARAMS(pto_output(&plan.recv_x), pto_scalar_f32(0)));
  if (status == PTO_OK) status = submit_routers(rt, &plan);
  if (status == PTO_OK)
    status = pto_submit_moe_dispatch(rt, comm, &plan.x, &plan.chosen, &plan.recv_x, &plan.recv_count, &plan.handle);
  if (status == PTO_OK) status = pto_alloc_tensors(rt, &plan.y, 1, NULL);
  if (status == PTO_OK) status = submit_experts(rt, &plan);
  return status == PTO_OK ? pto_submit_moe_combine(rt, comm, &plan.y, &plan.weights, &plan.handle, &plan.out) : status;
}

/* ---- golden: each token by all of its experts, one after another, in double precision and as kernels round ---- */

struct choices {
  double *experts, *weights;
};

/* Of a rank's tokens; counts those for the experts of rank `own`. */
static int count_choices(struct pto_program_run *run, const struct layer *layer, const struct pto_array *x,
                         struct choices choices, double *recv_count) {
  const uint64_t first = pto_program_rank(run) * layer->local;
  const int status = expect_choices(run, &layer->moe, x, choices.experts, choices.weights);
  for (uint64_t i = 0; status == PTO_OK && i < layer->moe.tokens * layer->moe.k; i++) {
    const uint64_t e = (uint64_t)choices.experts[i] - first;
    if (e < layer->local) recv_count[e]++;
  }
  return status;
}

/* Adds to out what the experts of `owner` answer. */
static int add_answers(struct pto_program_run *run, const struct layer *layer, uint32_t owner, struct choices choices,
                       double *out) {
  const struct moe *moe = &layer->moe;
  static const char *const names[] = {"w1", "w3", "w2"};
  const double *matrices[3];
  double *gate = pto_program_alloc(run, moe->hidden * sizeof *gate);
  double *up = pto_program_alloc(run, moe->hidden * sizeof *up);
  for (uint32_t i = 0; i < 3; i++) {
    if (owner != pto_program_rank(run) && !expert_matrix(run, layer, names[i], owner, PTO_ARRAY_SCRATCH))
      return PTO_ENOMEM;
    matrices[i] = exact_copy(run, pto_program_text(run, "%s_%u", names[i], owner));
    if (!matrices[i]) return PTO_ENOMEM;
  }
  if (!gate || !up) return PTO_ENOMEM;
  for (uint64_t i = 0; i < moe->tokens * moe->k; i++) {
    const uint64_t e = (uint64_t)choices.experts[i] - owner * layer->local, first = e * moe->dim * moe->hidden;
    if (e >= layer->local) continue;
    const struct moe_expert expert = {matrices[0] + first, matrices[1] + first, matrices[2] + first, gate, up};
    add_answer(moe, &expert, i / moe->k, choices.weights[i], out + i / moe->k * moe->dim);
  }
  return PTO_OK;
}

/* What expert e answers to a row of x, as its tasks round. */
static int answer(struct pto_program_run *run, const struct layer *layer, const struct pto_core *core, uint64_t e,
                  const struct matrix *hidden, struct matrix x, struct matrix y) {
  const uint32_t owner = (uint32_t)(e / layer->local);
  struct matrix w[3];
  static const char *const names[] = {"w1_%u", "w3_%u", "w2_%u"};
  for (uint32_t i = 0; i < 3; i++)
    w[i] = matrix_of(pto_program_find(run, pto_program_text(run, names[i], owner)), e % layer->local);
  int s = compute(core, "matmul", MATRICES(x, w[0], hidden[0]), NO_SCALAR);
  if (!s) s = compute(core, "matmul", MATRICES(x, w[1], hidden[1]), NO_SCALAR);
  if (!s) s = compute(core, "silu", MATRICES(hidden[0], hidden[2]), NO_SCALAR);
  if (!s) s = compute(core, "mul", MATRICES(hidden[2], hidden[1], hidden[0]), NO_SCALAR);
  return s ? s : compute(core, "matmul", MATRICES(hidden[0], w[2], y), NO_SCALAR);
}

/* The weights of the chosen experts, and out: sums in the order of k. */
static int expect_bits(struct pto_program_run *run, const struct layer *layer, struct choices exact,
                       const double *exact_out) {
  const struct moe *moe = &layer->moe;
  const struct pto_core core = make_core(run);
  const struct matrix x = matrix_of(moe->x, 0), router = matrix_of(moe->router, 0);
  const struct matrix logits = make_matrix(run, moe->tokens, moe->experts),
                      p = make_matrix(run, moe->tokens, moe->experts);
  const struct matrix weights = make_matrix(run, moe->tokens, moe->k), out = make_matrix(run, moe->tokens, moe->dim);
  const struct matrix y = make_matrix(run, 1, moe->dim), h = make_matrix(run, 3, moe->hidden);
  int s = compute(&core, "matmul", MATRICES(x, router, logits), NO_SCALAR);
  if (!s) s = compute(&core, "softmax", MATRICES(logits, p), (union pto_scalar){.i64 = 1});
  if (!s && (!weights.at || !out.at || !y.at || !h.at)) s = PTO_ENOMEM;
  for (uint64_t i = 0; i < moe->tokens * moe->k && !s; i++) {
    const uint64_t token = i / moe->k, e = (uint64_t)exact.experts[i];
    const double *chosen = exact.experts + token * moe->k;
    const struct matrix hidden[] = {matrix_rows(h, 0, 1), matrix_rows(h, 1, 2), matrix_rows(h, 2, 3)};
    float sum = 0;
    for (uint64_t k = 0; k < moe->k; k++) sum += p.at[token * moe->experts + (uint64_t)chosen[k]];
    weights.at[i] = p.at[token * moe->experts + e] / sum;
    s = answer(run, layer, &core, e, hidden, matrix_rows(x, token, token + 1), y);
    for (uint64_t c = 0; c < moe->dim && !s; c++) {
      const float term = weights.at[i] * y.at[c];
      out.at[token * moe->dim + c] = i % moe->k ? out.at[token * moe->dim + c] + term : term;
    }
  }
  if (!s) s = give_golden(run, "weights", weights, exact.weights);
  return s ? s : give_golden(run, "out", out, exact_out);
}

static int expect(struct pto_program_run *run) {
  const struct layer *layer = pto_program_state(run, sizeof *layer);
  const struct moe *moe = &layer->moe;
  const uint64_t bytes = moe->tokens * moe->k * sizeof(double);
  const struct choices own = {golden_of(run, "chosen"), pto_program_alloc(run, bytes)};
  double *out = pto_program_alloc(run, moe->tokens * moe->dim * sizeof *out),
         *recv_count = golden_of(run, "recv_count");
  if (!own.experts || !own.weights || !out || !recv_count) return PTO_ENOMEM;
  int status = count_choices(run, layer, moe->x, own, recv_count);
  for (uint32_t r = 0; status == PTO_OK && r < pto_program_rank_count(run); r++) {
    const struct choices others = {pto_program_alloc(run, bytes), pto_program_alloc(run, bytes)};
    status = add_answers(run, layer, r, own, out);
    if (status != PTO_OK || r == pto_program_rank(run)) continue;
    const struct pto_array *x = tokens_of(run, moe, r, PTO_ARRAY_SCRATCH);
    if (!x || !others.experts || !others.weights) return PTO_ENOMEM;
    status = count_choices(run, layer, x, others, recv_count);
  }
  return status == PTO_OK ? expect_bits(run, layer, own, out) : status;
}

PROGRAM("expert_parallel_moe", "a mixture of experts that are spread over ranks: dispatch, experts, combine",
        .ranks = 4);
