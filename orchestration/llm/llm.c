/* SPDX-License-Identifier: MIT */
/*
 * A Llama-style language model: prompt in, text out, everything between token id and logits as tasks on the cores.
 *
 *   ptosim run llm --set model=FILE --set tokenizer=FILE --set prompt=TEXT
 *
 * The text goes to standard output as it comes.  A run has `steps` positions, the prompt's included, and ends where BOS
 * comes.  With temperature=0 the next token is found on the device, else the logits come back and one is drawn on the
 * host, with --seed.  Without a model the program makes a random one of the given sizes, and a tokenizer.
 *
 * What is verified: the logits of each step against a decoder in double precision (orchestration/llm/oracle.c), and
 * every token against what these logits choose.  A greedy run brings no logits to the host: they come from a second
 * pass over the same tokens, in a context of its own that is not counted.  Of a large model as many first steps are
 * checked as take CHECKED_PRODUCTS multiply-adds (`checked_steps` in the figures); check=false checks none.
 *
 * orchestration/llm/step.c has the tasks, orchestration/llm/kernels.c what the cores compute, orchestration/llm/pass.c
 * the device and its tensors; docs/llm.md has the numbers.
 */
#include <pto/pto.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <orchestration/llm/kernels.h>
#include <orchestration/llm/oracle.h>
#include <orchestration/llm/pass.h>
#include <orchestration/llm/random_model.h>
#include <orchestration/llm/sampler.h>

#define DEFAULT_STEPS 256
#define CHECKED_PRODUCTS UINT64_C(4000000000) /* multiply-adds in double: a few seconds */

/* What prepare leaves for host and expect. */
struct llm {
  struct pto_language_model generated; /* where there is no file */
  uint32_t vocab, bos, prompt_count;
  uint32_t *prompt; /* tokens, BOS first */
  uint64_t steps, checked_steps;
  enum llm_kv kv;
  float temperature, topp;
  uint64_t done; /* steps that the run came to */
};

static bool has_file(struct pto_program_run *run) { return pto_option_text(run, "model")[0] != '\0'; }
static struct llm *state_of(struct pto_program_run *run) { return pto_program_state(run, sizeof(struct llm)); }

/* ---- model and tokenizer ---- */

static int format_option(struct pto_program_run *run, uint32_t *format_out) {
  static const struct {
    const char *name;
    uint32_t format;
  } formats[] = {
      {"f32", PTO_WEIGHT_F32}, {"f16", PTO_WEIGHT_F16}, {"bf16", PTO_WEIGHT_BF16}, {"q8_0", PTO_WEIGHT_Q8_0}};
  const char *name = pto_option_text(run, "weights");
  for (size_t i = 0; i < LENGTH(formats); i++)
    if (strcmp(name, formats[i].name) == 0) {
      *format_out = formats[i].format;
      return PTO_OK;
    }
  return pto_program_fail(run, "weights is \"%s\", none of f32, f16, bf16, q8_0", name);
}

/* The random model of the sizes that the options say. */
static int make_model(struct pto_program_run *run, struct pto_language_model *m) {
  static const char *const names[] = {"dim", "hidden", "layers", "heads", "kv_heads", "vocab", "positions"};
  static const uint32_t most[] = {1u << 16, 1u << 16, 256, 1024, 1024, 1u << 20, 1u << 20};
  uint32_t *const sizes[] = {&m->dim,           &m->hidden_dim, &m->layer_count,    &m->head_count,
                             &m->kv_head_count, &m->vocab_size, &m->sequence_length};
  uint32_t format = PTO_WEIGHT_F32;
  for (size_t i = 0; i < LENGTH(names); i++) {
    const int64_t value = pto_option_int(run, names[i]);
    if (value < 1 || value > most[i])
      return pto_program_fail(run, "%s is %" PRId64 ", not 1 to %u", names[i], value, most[i]);
    *sizes[i] = (uint32_t)value;
  }
  const int status = format_option(run, &format);
  if (status) return status;
  if (m->dim % m->head_count || m->dim / m->head_count % 2)
    return pto_program_fail(run, "dim %u in %u heads: the width of a head has to be an even number", m->dim,
                            m->head_count);
  if (m->head_count % m->kv_head_count)
    return pto_program_fail(run, "%u heads cannot share %u key and value heads", m->head_count, m->kv_head_count);
  if (format == PTO_WEIGHT_Q8_0 && (m->dim % LLM_BLOCK || m->hidden_dim % LLM_BLOCK))
    return pto_program_fail(run, "weights=q8_0: dim %u and hidden %u have to be multiples of %d", m->dim, m->hidden_dim,
                            LLM_BLOCK);
  if (m->vocab_size < LLM_BYTE_TOKENS)
    return pto_program_fail(run, "vocab is %u, less than the %u of marks and bytes", m->vocab_size, LLM_BYTE_TOKENS);
  m->rope_base = 10000;
  m->norm_epsilon = 1e-5f;
  m->rope_style = pto_option_bool(run, "halves") ? PTO_ROPE_HALVES : PTO_ROPE_NEIGHBOURS;
  return llm_random_model(run, m, format, pto_option_bool(run, "shared"), (uint64_t)pto_option_int(run, "model_seed"));
}

/* The model, the file's or the one that prepare made; close_model gives a file's back. */
static int open_model(struct pto_program_run *run, const struct llm *l, struct pto_language_model *model) {
  char sentence[1024] = "";
  if (!has_file(run)) {
    *model = l->generated;
    return PTO_OK;
  }
  if (pto_language_model_read(model, pto_option_text(run, "model"), sentence, sizeof sentence))
    return pto_program_fail(run, "%s", sentence);
  return PTO_OK;
}
static void close_model(struct pto_program_run *run, struct pto_language_model *model) {
  if (has_file(run)) pto_language_model_fini(model);
}

/* A model file may have its tokenizer in it. */
static int open_tokenizer(struct pto_program_run *run, uint32_t vocab, struct pto_tokenizer *tokenizer) {
  const char *path = pto_option_text(run, "tokenizer");
  char sentence[1024] = "";
  if (!path[0]) path = pto_option_text(run, "model");
  const int status = path[0] ? pto_tokenizer_read(tokenizer, path, vocab, sentence, sizeof sentence)
                             : llm_random_tokenizer(vocab, tokenizer, sentence, sizeof sentence);
  return status ? pto_program_fail(run, "%s", sentence) : PTO_OK;
}

/* ---- prepare ---- */

/* Multiply-adds of a step's matrices. */
static uint64_t product_count(const struct pto_language_model *model) {
  const uint64_t dim = model->dim,
                 of_layer = 2 * dim + 2 * (uint64_t)pto_model_kv_dim(model) + 3 * (uint64_t)model->hidden_dim;
  return dim * (model->layer_count * of_layer + model->vocab_size);
}

static int read_settings(struct pto_program_run *run, struct llm *l) {
  static const char *const kvs[] = {
      [LLM_KV_INPLACE] = "inplace", [LLM_KV_PINGPONG] = "pingpong", [LLM_KV_HOST] = "host"};
  const char *kv = pto_option_text(run, "kv");
  const double temperature = pto_option_float(run, "temperature");
  uint32_t i = 0;
  while (i < LENGTH(kvs) && strcmp(kv, kvs[i]) != 0) i++;
  if (i == LENGTH(kvs)) return pto_program_fail(run, "kv is \"%s\", none of pingpong, inplace, host", kv);
  if (!(temperature >= 0) || temperature > 1e6)
    return pto_program_fail(run, "temperature is %g, not 0 or more", temperature);
  if (pto_option_int(run, "tile_rows") < 0) return pto_program_fail(run, "tile_rows is negative");
  l->kv = (enum llm_kv)i;
  l->temperature = (float)temperature;
  l->topp = (float)pto_option_float(run, "topp");
  return PTO_OK;
}

/* steps=0 asks for DEFAULT_STEPS, or as many positions as the model has. */
static int count_steps(struct pto_program_run *run, struct llm *l, const struct pto_language_model *model) {
  const int64_t steps = pto_option_int(run, "steps"), most = model->sequence_length;
  if (steps < 0) return pto_program_fail(run, "steps is %" PRId64, steps);
  if (steps > most)
    return pto_program_fail(run, "%" PRId64 " steps, but the model has %" PRId64 " positions", steps, most);
  l->steps = steps ? (uint64_t)steps : (uint64_t)(most < DEFAULT_STEPS ? most : DEFAULT_STEPS);
  if (l->prompt_count > l->steps)
    return pto_program_fail(run, "the prompt has %u tokens, with the one that begins a text, and steps is %" PRIu64,
                            l->prompt_count, l->steps);
  const uint64_t affordable = CHECKED_PRODUCTS / pto_program_rank_count(run) / (product_count(model) + 1) + 1;
  l->checked_steps = !pto_option_bool(run, "check") ? 0 : affordable < l->steps ? affordable : l->steps;
  return PTO_OK;
}

static int encode_prompt(struct pto_program_run *run, struct llm *l) {
  struct pto_tokenizer tokenizer;
  uint32_t *tokens;
  char sentence[1024] = "";
  int status = open_tokenizer(run, l->vocab, &tokenizer);
  if (status) return status;
  l->bos = tokenizer.bos_token;
  if (pto_tokenizer_encode(&tokenizer, pto_option_text(run, "prompt"), true, false, &tokens, &l->prompt_count, sentence,
                           sizeof sentence)) {
    status = pto_program_fail(run, "prompt: %s", sentence);
  } else {
    if (l->prompt_count == 0)
      status = pto_program_fail(run, "the tokenizer has no token that begins a text, and there is no prompt");
    else if ((l->prompt = pto_program_alloc(run, l->prompt_count * sizeof *tokens)) != NULL)
      memcpy(l->prompt, tokens, l->prompt_count * sizeof *tokens);
    else
      status = PTO_ENOMEM;
    free(tokens);
  }
  pto_tokenizer_fini(&tokenizer);
  return status;
}

static int prepare_with(struct pto_program_run *run, struct llm *l, const struct pto_language_model *model) {
  l->vocab = model->vocab_size;
  int status = llm_check_shares(run, model, pto_program_rank_count(run));
  if (status == PTO_OK) status = encode_prompt(run, l);
  if (status == PTO_OK) status = count_steps(run, l, model);
  if (status) return status;
  const uint64_t tokens[] = {l->steps}, logits[] = {l->checked_steps, l->vocab};
  pto_array_fill(pto_program_array(run, "tokens", PTO_ARRAY_OUTPUT, PTO_INT32, 1, tokens), -1);
  if (l->checked_steps) (void)pto_program_array(run, "logits", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 2, logits);
  return PTO_OK;
}

static int prepare(struct pto_program_run *run) {
  struct pto_language_model model;
  struct llm *l = state_of(run);
  if (!l) return PTO_ENOMEM;
  int status = read_settings(run, l);
  if (status == PTO_OK && !has_file(run)) status = make_model(run, &l->generated);
  if (status == PTO_OK) status = open_model(run, l, &model);
  if (status) return status;
  status = prepare_with(run, l, &model);
  close_model(run, &model);
  return status;
}

/* ---- host ---- */

/* What the run has chosen: token `step + 1`. */
static int32_t *tokens_of(struct pto_program_run *run) { return pto_program_find(run, "tokens")->data; }
static float *logits_of(struct pto_program_run *run, uint64_t step) {
  return (float *)pto_program_find(run, "logits")->data + step * state_of(run)->vocab;
}

/* The tokens of a run, one after the other. */
struct chooser {
  const struct llm *l;
  struct llm_random random;
  float *probabilities;
  struct llm_choice *choices;
};

static int chooser_init(struct chooser *c, struct pto_program_run *run) {
  const uint64_t seed = pto_program_seed(run);
  c->l = state_of(run);
  c->random.state = seed ? seed : 1; /* the generator cannot begin with 0 */
  c->probabilities = pto_program_alloc(run, c->l->vocab * sizeof *c->probabilities);
  c->choices = pto_program_alloc(run, c->l->vocab * sizeof *c->choices);
  return c->probabilities && c->choices ? PTO_OK : PTO_ENOMEM;
}

static bool is_in_prompt(const struct llm *l, uint64_t step) { return step + 1 < l->prompt_count; }

/* The token after `step`: the prompt's, else by the logits.  A number is drawn for those that are sampled alone. */
static uint32_t choose(struct chooser *c, uint64_t step, const float *logits) {
  const struct llm *l = c->l;
  if (is_in_prompt(l, step)) return l->prompt[step + 1];
  if (l->temperature == 0) return llm_largest(logits, l->vocab);
  memcpy(c->probabilities, logits, l->vocab * sizeof *logits);
  return llm_sample(c->probabilities, l->vocab, l->temperature, l->topp, llm_random_unit(&c->random), c->choices);
}

/* A piece may be a byte of a longer character, also 0. */
static void print_piece(struct pto_program_run *run, const struct pto_tokenizer *tokenizer, uint32_t previous,
                        uint32_t token) {
  uint32_t length;
  const char *piece = pto_tokenizer_decode(tokenizer, previous, token, &length);
  if (length == 1)
    pto_program_print(run, "%c", piece[0]);
  else
    pto_program_print(run, "%.*s", (int)length, piece);
}

/* The counted pass: chooses, tells, and keeps the tokens; logits of the steps that are checked, where it has them. */
static int generate(struct llm_pass *pass, const struct pto_tokenizer *tokenizer) {
  struct pto_program_run *run = pass->run;
  struct llm *l = state_of(run);
  struct chooser chooser;
  uint32_t token = l->prompt[0];
  int status = chooser_init(&chooser, run);
  float *logits = pass->plan.has_logits ? pto_program_alloc(run, l->vocab * sizeof *logits) : NULL;
  if (pass->plan.has_logits && !logits) return PTO_ENOMEM;
  for (uint64_t step = 0; status == PTO_OK && step < l->steps; step++) {
    int32_t next = -1;
    status = llm_pass_step(pass, token, step, pass->plan.has_next ? &next : NULL, logits);
    if (status) break;
    if (logits && step < l->checked_steps) memcpy(logits_of(run, step), logits, l->vocab * sizeof *logits);
    if (logits || is_in_prompt(l, step)) next = (int32_t)choose(&chooser, step, logits);
    tokens_of(run)[step] = next;
    l->done = step + 1;
    if ((uint32_t)next == l->bos) break;
    print_piece(run, tokenizer, token, (uint32_t)next);
    token = (uint32_t)next;
  }
  return status;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void report(struct llm_pass *pass, double seconds, const struct pto_context_counters *before) {
  struct pto_program_run *run = pass->run;
  const struct llm *l = state_of(run);
  struct pto_context_counters after = {.size = sizeof after};
  const bool is_synced = pto_context_sync(pass->context) == PTO_OK;
  pto_context_counters(pass->context, &after);
  const double virtual_seconds = (double)(after.virtual_ps - before->virtual_ps) * 1e-12, steps = (double)l->done;
  pto_program_figure(run, "random_weights", has_file(run) ? 0 : 1);
  pto_program_figure(run, "tokens", steps);
  pto_program_figure(run, "checked_steps", (double)(l->done < l->checked_steps ? l->done : l->checked_steps));
  pto_program_figure(run, "tokens_per_second", steps / seconds);
  if (virtual_seconds > 0) pto_program_figure(run, "virtual_tokens_per_second", steps / virtual_seconds);
  if (l->done) pto_program_figure(run, "tasks_per_step", (double)(after.tasks / l->done));
  pto_program_figure(run, "weight_bytes", (double)before->h2d_bytes);
  llm_pass_release(pass);
  if (is_synced && pto_context_sync(pass->context) == PTO_OK) {
    pto_context_counters(pass->context, &after);
    pto_program_figure(run, "live_bytes", (double)after.live_bytes);
  }
  pto_program_report(run, pass->context);
}

static int run_counted(struct llm_pass *pass, const struct pto_tokenizer *tokenizer) {
  struct pto_context_counters before = {.size = sizeof before};
  int status = llm_pass_init(pass);
  if (status == PTO_OK) {
    pto_context_counters(pass->context, &before);
    const double begin = seconds_now();
    status = generate(pass, tokenizer);
    report(pass, seconds_now() - begin, &before);
  }
  llm_pass_fini(pass);
  return status;
}

/* The same tokens again, with logits; the device must choose the same ones. */
static int run_checking(struct llm_pass *pass) {
  struct pto_program_run *run = pass->run;
  const struct llm *l = state_of(run);
  int status = llm_pass_init(pass);
  for (uint64_t step = 0; status == PTO_OK && step < l->done && step < l->checked_steps; step++) {
    const uint32_t token = step ? (uint32_t)tokens_of(run)[step - 1] : l->prompt[0];
    int32_t next;
    status = llm_pass_step(pass, token, step, &next, logits_of(run, step));
    if (status == PTO_OK && !is_in_prompt(l, step) && next != tokens_of(run)[step])
      status = pto_program_fail(run, "step %" PRIu64 " chose another token the second time", step);
  }
  llm_pass_fini(pass);
  return status;
}

/* The same tokens again on a chip alone, which has the shares of all ranks: the logits are the same bits. */
static int run_alone(struct llm_pass *pass) {
  struct pto_program_run *run = pass->run;
  const struct llm *l = state_of(run);
  float *logits = pto_program_alloc(run, l->vocab * sizeof *logits);
  int status = logits ? llm_pass_init(pass) : PTO_ENOMEM;
  for (uint64_t step = 0; status == PTO_OK && step < l->done && step < l->checked_steps; step++) {
    const uint32_t token = step ? (uint32_t)tokens_of(run)[step - 1] : l->prompt[0];
    const float *of_ranks = logits_of(run, step);
    uint32_t i = 0;
    status = llm_pass_step(pass, token, step, NULL, logits);
    while (i < l->vocab && memcmp(&logits[i], &of_ranks[i], sizeof *logits) == 0) i++;
    if (status == PTO_OK && i < l->vocab)
      status = pto_program_fail(run,
                                "step %" PRIu64 ": logit %u is %.9g on %u ranks, and %.9g on one chip that has "
                                "their shares",
                                step, i, (double)of_ranks[i], pto_program_rank_count(run), (double)logits[i]);
  }
  llm_pass_fini(pass);
  return status;
}

static int host(struct pto_program_run *run) {
  struct llm *l = state_of(run);
  struct pto_language_model model;
  struct pto_tokenizer tokenizer;
  int status = open_model(run, l, &model);
  if (status) return status;
  const struct llm_pass plain = {.run = run,
                                 .kv = l->kv,
                                 .positions = l->steps,
                                 .plan = {.model = &model,
                                          .has_next = l->temperature == 0,
                                          .has_logits = l->temperature != 0,
                                          .tile_rows = (uint64_t)pto_option_int(run, "tile_rows")}};
  struct llm_pass counted = plain, checking = plain, alone = plain;
  checking.plan.has_logits = alone.plan.has_logits = true;
  alone.plan.has_next = false;
  alone.is_alone = true;
  l->done = 0;
  status = open_tokenizer(run, l->vocab, &tokenizer);
  if (status == PTO_OK) {
    status = run_counted(&counted, &tokenizer);
    /* The text has no line end of its own.  mpirun gives the output of its processes a terminal, the input none. */
    if (isatty(STDOUT_FILENO) && isatty(STDIN_FILENO))
      pto_program_print(run, has_file(run) ? "\n" : "\n(by random weights: the text means nothing)\n");
    pto_tokenizer_fini(&tokenizer);
  }
  if (status == PTO_OK && l->temperature == 0 && l->checked_steps) status = run_checking(&checking);
  if (status == PTO_OK && pto_program_rank_count(run) > 1 && l->checked_steps) status = run_alone(&alone);
  close_model(run, &model);
  return status;
}

/* ---- expect ---- */

static int expect_logits(struct pto_program_run *run, const struct pto_language_model *model) {
  const struct llm *l = state_of(run);
  struct llm_oracle oracle;
  double *golden = pto_array_golden(run, pto_program_find(run, "logits"));
  if (!golden || !llm_oracle_init(&oracle, run, model, l->steps)) return PTO_ENOMEM;
  for (uint64_t step = 0; step < l->done && step < l->checked_steps; step++)
    llm_oracle_step(&oracle, step ? (uint32_t)tokens_of(run)[step - 1] : l->prompt[0], step, golden + step * l->vocab);
  return PTO_OK;
}

/* What the checked logits choose; tokens beyond them, and beyond the end, are as they are. */
static int expect_tokens(struct pto_program_run *run) {
  const struct llm *l = state_of(run);
  struct chooser chooser;
  double *golden = pto_array_golden(run, pto_program_find(run, "tokens"));
  if (!golden || chooser_init(&chooser, run)) return PTO_ENOMEM;
  for (uint64_t step = 0; step < l->steps; step++)
    golden[step] = step < l->done && step < l->checked_steps ? (int32_t)choose(&chooser, step, logits_of(run, step))
                                                             : tokens_of(run)[step];
  return PTO_OK;
}

static int expect(struct pto_program_run *run) {
  struct llm *l = state_of(run);
  struct pto_language_model model;
  if (l->checked_steps == 0) return PTO_OK;
  int status = open_model(run, l, &model);
  if (status) return status;
  status = expect_logits(run, &model);
  if (status == PTO_OK) status = expect_tokens(run);
  close_model(run, &model);
  return status;
}

static const struct pto_option options[] = {
    {"model", PTO_OPTION_TEXT, "", "file of a model; none: a random one of the sizes below"},
    {"tokenizer", PTO_OPTION_TEXT, "", "file of its tokenizer; none: the one in the model's file"},
    {"prompt", PTO_OPTION_TEXT, "", "how the text begins"},
    {"steps", PTO_OPTION_INT, "0", "positions, the prompt's included; 0: 256, or what the model has"},
    {"temperature", PTO_OPTION_FLOAT, "0", "0: always the most probable token; else they are drawn"},
    {"topp", PTO_OPTION_FLOAT, "0.9", "of the most probable tokens of this sum; not between 0 and 1: of all"},
    {"kv", PTO_OPTION_TEXT, "inplace", "where keys and values are: pingpong, inplace, host"},
    {"check", PTO_OPTION_BOOL, "true", "hold the logits against a decoder in double precision"},
    {"tile_rows", PTO_OPTION_INT, "0", "rows of a matrix that a task has; 0: as the sizes ask for"},
    {"dim", PTO_OPTION_INT, "64", "of a random model: width"},
    {"hidden", PTO_OPTION_INT, "160", "of a random model: width inside SwiGLU"},
    {"layers", PTO_OPTION_INT, "3", "of a random model"},
    {"heads", PTO_OPTION_INT, "8", "of a random model"},
    {"kv_heads", PTO_OPTION_INT, "4", "of a random model: heads of keys and values"},
    {"vocab", PTO_OPTION_INT, "512", "of a random model: tokens"},
    {"positions", PTO_OPTION_INT, "48", "of a random model: the longest text"},
    {"weights", PTO_OPTION_TEXT, "f32", "of a random model: f32, f16, bf16, q8_0"},
    {"shared", PTO_OPTION_BOOL, "false", "of a random model: the embedding is the classifier too"},
    {"halves", PTO_OPTION_BOOL, "false", "of a random model: a rotation turns halves of a head, not neighbours"},
    {"model_seed", PTO_OPTION_INT, "1", "of a random model"},
    {0}};
static const struct pto_case cases[] = {
    {.name = "inplace", .settings = "kv=inplace", .summary = "one set of caches", .tasks = 1728},
    {.name = "pingpong", .settings = "kv=pingpong", .summary = "two sets of caches", .tasks = 1872},
    {.name = "host", .settings = "kv=host", .summary = "the caches go to the host and back", .tasks = 1728},
    {.name = "sampled", .settings = "temperature=1 prompt=hello", .summary = "tokens are drawn", .tasks = 1632},
    {.name = "q8_0", .settings = "weights=q8_0 shared=true", .summary = "int8 weights", .tasks = 1632},
    {0}};

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "llm",
    .summary = "a language model: prompt in, text out; random weights without --set model=FILE",
    .rtol = 1e-4,
    .atol = 1e-4,
    .options = options,
    .cases = cases,
    .prepare = prepare,
    .host = host,
    .expect = expect};
