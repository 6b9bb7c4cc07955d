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
 * every down, whether that runs or not.  The tasks: moe_tasks.h; the router and tokens without ties: moe.h.
 */
#include <orchestration/models/moe_tasks.h>

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

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct moe_plan plan = {
      .moe = pto_program_state(run, sizeof(struct moe)),
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
  };
  return moe_submit_layer(rt, &plan);
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
