/* SPDX-License-Identifier: MIT */
/*
 * moe: a mixture-of-experts layer.  A router sends each token to k of the experts, which are feed-forward layers; the
 * layer's output is the weighted sum of what they answer.
 *
 *     p = softmax(x·R)      the k largest p choose the experts, weights wⱼ = pⱼ / Σ p
 *     out = Σⱼ wⱼ · (silu(x·W1ⱼ) ⊙ x·W3ⱼ)·W2ⱼ
 *
 * How many tokens an expert gets is not known when its tasks are submitted.  One task, `dispatch`, sorts all tokens by
 * expert: load[e] counts them, slots[e] lists them.  Each expert then has as many tiles as if it got every token, and
 * tile r runs under the predicate load[e] > r·tile: an expert without tokens costs its submits and nothing else.  Every
 * tile that runs leaves a 1 in `ran`, which the golden knows.
 *
 *   each tile of tokens          logits (AIC) → probabilities (AIV) → choose (AIV)
 *   all tokens                   dispatch (AIV)
 *   each expert, each tile       mark (AIV);  gather (AIV) → gate, up (AIC) → silu, multiply (AIV) → down (AIC)
 *   each tile of tokens          combine (AIV): reads of y the rows that its tokens were sent to
 *
 * With n tiles of tokens and E experts:  tasks = 2 + 4·n + 7·E·n,  edges = 6·n + 14·E·n + E·n²: each combine waits for
 * every down, whether that runs or not.
 */
#include <orchestration/support/moe.h>

/* ---- kernels, all on AIV ----
 *
 *   choose    p f32[rows, experts] → chosen i32[rows, k], weights f32[rows, k]
 *   dispatch  chosen i32[tokens, k] → load i32[experts], slots i32[experts, tokens], places i32[tokens, k]
 *   combine   chosen, weights, places [rows, k], y f32[experts, tokens, dim] → out f32[rows, dim]
 *
 * Their orders are fixed: equal probabilities choose the lower expert, tokens keep their order within an expert, and a
 * token's answers are added in ascending order of experts.
 */

/* dispatch: token t is the places[t, j]-th of expert e = chosen[t, j]:  slots[e, places[t, j]] = t.  What lies behind
 * the load[e] tokens of an expert is 0, a token too: a tile that is not full works on it for nothing. */
static int run_dispatch(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *chosen = &args->tensors[0], *load = &args->tensors[1], *slots = &args->tensors[2];
  const struct pto_kernel_tensor *places = &args->tensors[3];
  int32_t *count = load->addr;
  for (uint64_t e = 0; e < load->shape[0]; e++) {
    count[e * load->strides[0]] = 0;
    for (uint64_t i = 0; i < slots->shape[1]; i++) *i32_at(slots, e, i) = 0;
  }
  for (uint64_t t = 0; t < chosen->shape[0]; t++) {
    for (uint64_t j = 0; j < chosen->shape[1]; j++) {
      uint64_t e = (uint64_t)*i32_at(chosen, t, j);
      int32_t place = count[e * load->strides[0]]++;
      *i32_at(slots, e, (uint64_t)place) = (int32_t)t;
      *i32_at(places, t, j) = place;
    }
  }
  return 0;
}
static struct pto_cost dispatch_cost(const struct pto_kernel_args *args) {
  const uint64_t *chosen = args->tensors[0].shape, *slots = args->tensors[2].shape;
  uint64_t choices = chosen[0] * chosen[1], written = slots[0] * (slots[1] + 1) + choices;
  return (struct pto_cost){.bytes_in = choices * 4, .bytes_out = written * 4, .vector_elems = written + 3 * choices};
}
static const struct pto_kernel_param dispatch_params[] = {
    TENSOR("chosen", PTO_INPUT, I32, 2), TENSOR("load", PTO_OUTPUT, I32, 1), TENSOR("slots", PTO_OUTPUT, I32, 2),
    TENSOR("places", PTO_OUTPUT, I32, 2)};
KERNEL(kernel_dispatch, dispatch_params, .name = "dispatch", .cores = PTO_AIV, .run = run_dispatch,
       .cost = dispatch_cost);

/* combine: out[t] = Σⱼ weights[t, j] · y[chosen[t, j], places[t, j]], in the order of j. */
static int run_combine(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *chosen = &args->tensors[0], *weights = &args->tensors[1], *places = &args->tensors[2];
  const struct pto_kernel_tensor *y = &args->tensors[3], *out = &args->tensors[4];
  for (uint64_t t = 0; t < out->shape[0]; t++) {
    for (uint64_t i = 0; i < out->shape[1]; i++) *f32_at(out, t, i) = 0;
    for (uint64_t j = 0; j < chosen->shape[1]; j++) {
      uint64_t e = (uint64_t)*i32_at(chosen, t, j), place = (uint64_t)*i32_at(places, t, j);
      const float *answer = (const float *)y->addr + e * y->strides[0] + place * y->strides[1];
      float weight = *f32_at(weights, t, j);
      for (uint64_t i = 0; i < out->shape[1]; i++) *f32_at(out, t, i) += weight * answer[i * y->strides[2]];
    }
  }
  return 0;
}
static struct pto_cost combine_cost(const struct pto_kernel_args *args) {
  uint64_t choices = args->tensors[0].shape[0] * args->tensors[0].shape[1];
  uint64_t rows = args->tensors[4].shape[0], dim = args->tensors[4].shape[1];
  return (struct pto_cost){
      .bytes_in = choices * (3 + dim) * 4, .bytes_out = rows * dim * 4, .vector_elems = 2 * choices * dim};
}
static const struct pto_kernel_param combine_params[] = {
    TENSOR("chosen", PTO_INPUT, I32, 2), TENSOR("weights", PTO_INPUT, F32, 2), TENSOR("places", PTO_INPUT, I32, 2),
    TENSOR("y", PTO_INPUT, F32, 3), TENSOR("out", PTO_OUTPUT, F32, 2)};
KERNEL(kernel_combine, combine_params, .name = "combine", .cores = PTO_AIV, .run = run_combine, .cost = combine_cost);

/* ---- inputs ---- */

static const struct pto_option options[] = {
    {"tokens", PTO_OPTION_INT, "64", "tokens"},
    {"dim", PTO_OPTION_INT, "64", "elements of a token"},
    {"hidden", PTO_OPTION_INT, "128", "width of an expert"},
    {"experts", PTO_OPTION_INT, "8", "experts"},
    {"k", PTO_OPTION_INT, "2", "experts that a token is sent to"},
    {"tile", PTO_OPTION_INT, "16", "tokens of a tile"},
    {"dtype", PTO_OPTION_TEXT, "f32", "of tokens and matrices: f32, fp16 or bf16"},
    {"favour", PTO_OPTION_INT, "-1", "an expert that every token chooses; -1: none"},
    {"shun", PTO_OPTION_INT, "-1", "an expert that no token chooses while there are others; -1: none"},
    {"ties", PTO_OPTION_BOOL, "false", "experts 2i and 2i + 1 have equal columns in the router"},
    {0},
};

static int read_options(struct pto_program_run *run, struct moe *moe) {
  int status = read_moe_options(run, moe);
  if (status == PTO_OK) status = read_float_dtype(run, &moe->dtype);
  if (status == PTO_OK && moe->dtype != PTO_FLOAT32) pto_program_tolerance(run, 1e-2, 1e-2);
  return status;
}

static int make_router(struct pto_program_run *run, struct moe *moe) {
  int64_t favour = pto_option_int(run, "favour"), shun = pto_option_int(run, "shun");
  if (favour >= (int64_t)moe->experts || shun >= (int64_t)moe->experts)
    return pto_program_fail(run, "favour %lld or shun %lld is no expert", (long long)favour, (long long)shun);
  fill_router(run, moe);
  for (uint64_t i = 0; i < moe->dim && pto_option_bool(run, "ties"); i++) {
    for (uint64_t e = 1; e < moe->experts; e += 2)
      pto_array_set(moe->router, i * moe->experts + e, pto_array_get(moe->router, i * moe->experts + e - 1));
  }
  if (favour >= 0) pto_array_set(moe->router, (uint64_t)favour, FAR_LOGIT);
  if (shun >= 0) pto_array_set(moe->router, (uint64_t)shun, -FAR_LOGIT);
  return PTO_OK;
}

static uint64_t tile_count(const struct moe *moe) { return (moe->tokens + moe->tile - 1) / moe->tile; }

static int prepare(struct pto_program_run *run) {
  struct moe *moe = pto_program_state(run, sizeof *moe);
  if (moe == NULL) return PTO_ENOMEM;
  int status = read_options(run, moe);
  if (status != PTO_OK) return status;
  double into = sqrt(3 / (double)moe->dim), back = sqrt(3 / (double)moe->hidden); /* keep the variance of a token */
  const struct array_line arrays[] = {
      INPUT("x", moe->dtype, 0, 0, moe->tokens, moe->dim),
      INPUT("router", moe->dtype, 0, 0, moe->dim, moe->experts),
      INPUT("w1", moe->dtype, -into, into, moe->experts, moe->dim, moe->hidden),
      INPUT("w3", moe->dtype, -into, into, moe->experts, moe->dim, moe->hidden),
      INPUT("w2", moe->dtype, -back, back, moe->experts, moe->hidden, moe->dim),
      OUTPUT("out", PTO_FLOAT32, moe->tokens, moe->dim),
      OUTPUT("chosen", PTO_INT32, moe->tokens, moe->k),
      OUTPUT("weights", PTO_FLOAT32, moe->tokens, moe->k),
      OUTPUT("load", PTO_INT32, moe->experts),                 /* tokens of each */
      OUTPUT("ran", PTO_INT32, moe->experts, tile_count(moe)), /* 1: the tile did */
  };
  status = declare_arrays(run, arrays, LENGTH(arrays));
  if (status != PTO_OK) return status;
  moe->x = pto_program_find(run, "x");
  moe->router = pto_program_find(run, "router");
  status = make_router(run, moe);
  return status == PTO_OK ? make_tokens(run, moe, moe->x, "drawn") : status;
}

/* ---- the orchestration ---- */

struct plan {
  const struct moe *moe;
  struct pto_tensor x, router, w1, w3, w2, out, chosen, weights, load, ran;
  struct pto_task dispatch;        /* the writer of load: the rules pto give a predicate no order */
  struct pto_tensor slots, places; /* i32[experts, tokens], i32[tokens, k] */
  struct pto_tensor y;             /* f32[experts, tokens, dim]: y[e, i] is the answer to the i-th token of expert e */
};

static struct tile tile_at(const struct moe *moe, uint64_t index) { return tile_of_count(moe, moe->tokens, index); }

static int submit_choices(struct pto_runtime *rt, const struct plan *plan, struct tile tile) {
  struct pto_tensor x = tile_of(&plan->x, tile), chosen = tile_of(&plan->chosen, tile);
  struct pto_tensor weights = tile_of(&plan->weights, tile);
  return submit_router(rt, plan->moe, &x, &plan->router, &chosen, &weights);
}

struct gate {
  struct pto_predicate predicate;
  const struct pto_task *after;
};

/* A task of the tile that `gate` lets run. */
static int submit_gated(struct pto_runtime *rt, const struct gate *gate, const char *name,
                        const struct pto_param *params, uint32_t count) {
  const struct pto_kernel *kernel = pto_kernel_find(name);
  struct pto_launch launch = {.predicate = gate->predicate, .after = gate->after, .after_count = 1};
  *(kernel->cores & PTO_AIC ? &launch.aic : &launch.aiv0) = kernel;
  return pto_submit(rt, &launch, params, count, NULL);
}

/* Tokens number tile.first … of expert e, if it has so many. */
static int submit_expert(struct pto_runtime *rt, const struct plan *plan, uint64_t e, struct tile tile) {
  const struct moe *moe = plan->moe;
  struct pto_tensor load = rows_of(&plan->load, e, 1);
  struct gate gate = {{.tensor = &load, .compare = PTO_IF_GT, .value = (int64_t)tile.first}, &plan->dispatch};
  struct pto_tensor ran = pto_tensor_view(&plan->ran, (uint64_t[]){e, tile.first / moe->tile}, (uint64_t[]){1, 1});
  struct pto_tensor all_slots = part_of(&plan->slots, e), slots = tile_of(&all_slots, tile);
  struct pto_tensor w1 = part_of(&plan->w1, e), w3 = part_of(&plan->w3, e), w2 = part_of(&plan->w2, e);
  struct pto_tensor all_y = part_of(&plan->y, e), y = tile_of(&all_y, tile);
  struct pto_tensor tokens = temporary_matrix(rt, moe->dtype, tile.rows, moe->dim);
  struct pto_tensor gated = temporary_matrix(rt, moe->dtype, tile.rows, moe->hidden);
  struct pto_tensor gates = temporary(rt, PTO_FLOAT32, 2, gated.shape), up = temporary(rt, PTO_FLOAT32, 2, gated.shape);
  struct pto_tensor active = temporary(rt, PTO_FLOAT32, 2, gated.shape);
  int s = submit_gated(rt, &gate, "fill_int", PARAMS(pto_output(&ran), pto_scalar_i64(1)));
  if (!s)
    s = submit_gated(rt, &gate, "gather",
                     PARAMS(pto_input(&plan->x), pto_input(&slots), pto_output(&tokens), pto_scalar_u64(0)));
  if (!s) s = submit_gated(rt, &gate, "matmul", PARAMS(pto_input(&tokens), pto_input(&w1), pto_output(&gates)));
  if (!s) s = submit_gated(rt, &gate, "matmul", PARAMS(pto_input(&tokens), pto_input(&w3), pto_output(&up)));
  if (!s) s = submit_gated(rt, &gate, "silu", PARAMS(pto_input(&gates), pto_output(&active)));
  if (!s) s = submit_gated(rt, &gate, "mul", PARAMS(pto_input(&active), pto_input(&up), pto_output(&gated)));
  return s ? s : submit_gated(rt, &gate, "matmul", PARAMS(pto_input(&gated), pto_input(&w2), pto_output(&y)));
}

static int submit_combine(struct pto_runtime *rt, const struct plan *plan, struct tile tile) {
  struct pto_tensor chosen = tile_of(&plan->chosen, tile), weights = tile_of(&plan->weights, tile);
  struct pto_tensor places = tile_of(&plan->places, tile), out = tile_of(&plan->out, tile);
  return submit_kernel(
      rt, &kernel_combine,
      PARAMS(pto_input(&chosen), pto_input(&weights), pto_input(&places), pto_input(&plan->y), pto_output(&out)));
}

/* Calls `submit` for each tile of tokens, in a scope of its own: what a tile allocates comes back when it is done. */
static int each_tile(struct pto_runtime *rt, const struct plan *plan,
                     int (*submit)(struct pto_runtime *, const struct plan *, struct tile)) {
  int status = PTO_OK;
  for (uint64_t i = 0; status == PTO_OK && i < tile_count(plan->moe); i++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = submit(rt, plan, tile_at(plan->moe, i));
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

static int submit_experts(struct pto_runtime *rt, const struct plan *plan, struct tile tile) {
  int status = PTO_OK;
  for (uint64_t e = 0; status == PTO_OK && e < plan->moe->experts; e++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = submit_expert(rt, plan, e, tile);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct moe *moe = pto_program_state(run, sizeof *moe);
  struct plan plan = {
      .moe = moe,
      .x = tensor_of(rt, run, "x"),
      .router = tensor_of(rt, run, "router"),
      .w1 = tensor_of(rt, run, "w1"),
      .w3 = tensor_of(rt, run, "w3"),
      .w2 = tensor_of(rt, run, "w2"),
      .out = tensor_of(rt, run, "out"),
      .chosen = tensor_of(rt, run, "chosen"),
      .weights = tensor_of(rt, run, "weights"),
      .load = tensor_of(rt, run, "load"),
      .ran = tensor_of(rt, run, "ran"),
      .slots = temporary_matrix(rt, PTO_INT32, moe->experts, moe->tokens),
      .places = temporary_matrix(rt, PTO_INT32, moe->tokens, moe->k),
      .y = temporary(rt, PTO_FLOAT32, 3, (uint64_t[]){moe->experts, moe->tokens, moe->dim}),
  };
  int status = each_tile(rt, &plan, submit_choices);
  if (status == PTO_OK)
    status = pto_submit(
        rt, &(struct pto_launch){.aiv0 = &kernel_dispatch},
        PARAMS(pto_input(&plan.chosen), pto_output(&plan.load), pto_output(&plan.slots), pto_output(&plan.places)),
        &plan.dispatch);
  if (status == PTO_OK) status = pto_alloc_tensors(rt, &plan.y, 1, NULL);
  if (status == PTO_OK) status = each_tile(rt, &plan, submit_experts);
  return status == PTO_OK ? each_tile(rt, &plan, submit_combine) : status;
}

/* ---- golden ---- */

static int expect(struct pto_program_run *run) {
  const struct moe *moe = pto_program_state(run, sizeof *moe);
  const double *w1 = exact_copy(run, "w1"), *w3 = exact_copy(run, "w3"), *w2 = exact_copy(run, "w2");
  double *out = golden_of(run, "out"), *chosen = golden_of(run, "chosen"), *weights = golden_of(run, "weights");
  double *load = golden_of(run, "load"), *ran = golden_of(run, "ran");
  double *gate = pto_program_alloc(run, moe->hidden * sizeof(double));
  double *up = pto_program_alloc(run, moe->hidden * sizeof(double));
  if (!out || !chosen || !weights || !load || !ran || !w1 || !w3 || !w2 || !gate || !up) return PTO_ENOMEM;
  const int status = expect_choices(run, moe, moe->x, chosen, weights);
  for (uint64_t i = 0; status == PTO_OK && i < moe->tokens * moe->k; i++) {
    const uint64_t e = (uint64_t)chosen[i], first = e * moe->dim * moe->hidden, token = i / moe->k;
    const struct moe_expert expert = {w1 + first, w3 + first, w2 + first, gate, up};
    add_answer(moe, &expert, token, weights[i], out + token * moe->dim);
    load[e]++;
  }
  for (uint64_t e = 0; e < moe->experts; e++)
    for (uint64_t i = 0; i < tile_count(moe); i++) ran[e * tile_count(moe) + i] = load[e] > (double)(i * moe->tile);
  return status;
}

static const struct pto_case cases[] = {
    {"64x8x2", "tokens=64 experts=8 k=2", "four tiles of tokens, eight experts", 242, 600, false},
    {"ragged", "tokens=37 dim=48 hidden=80 experts=5 k=3", "a last tile of five tokens", 119, 273, false},
    {"idle", "tokens=64 shun=3", "an expert that no token chooses: none of its tasks runs", 242, 600, false},
    {"same", "tokens=64 k=1 favour=5", "all tokens choose one expert", 242, 600, false},
    {"ties", "tokens=64 k=3 ties=true", "equal probabilities: the lower expert is chosen", 242, 600, false},
    {"dense", "tokens=40 experts=4 k=4", "every token to every expert", 98, 222, false},
    {"one", "tokens=1", "one token: six experts of eight have none", 62, 126, false},
    {"fp16", "dtype=fp16", NULL, 242, 600, false},
    {"bf16", "dtype=bf16", NULL, 242, 600, false},
    {"1024x32x4", "tokens=1024 dim=512 hidden=512 experts=32 k=4 tile=64", "a larger layer", 3650, 15456, true},
    {0},
};

PROGRAM("moe", "a mixture of experts: router, top-k, experts behind predicates, weighted sum", .rtol = 1e-3,
        .atol = 1e-3);
