/* SPDX-License-Identifier: MIT */
/*
 * One question: how fast does a language model run as tasks, beside plain loops?
 *
 * One JSON line a system and model: nanoseconds a token over a whole text, the first token included, weights loaded
 * before (median and minimum of RUNS runs, the systems in turns).  `plain` is bench/support/plain_decoder on one
 * thread; `pto` is the program llm, greedy, on threads, with one worker and with two.  `times_plain` is plain's time
 * over this one's, of the minima; what else runs on the machine can only add to either.  Virtual time, of the a2a3, is
 * a line of its own, without samples: it is the same in every run.
 *
 *   260K   the sizes of stories260K: that model where PTO_LLM_DATA has it, else random weights
 *   110M   the sizes of stories110M, random weights, f32; and q8_0, beside the same loops over f32
 *
 * Random weights are a file in a temporary folder, which both read.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <bench/support/plain_decoder.h>
#include <bench/support/programs.h>
#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>

#define RUNS 7

struct sizes {
  int32_t dim, hidden, layers, heads, kv_heads, vocab, positions; /* as a checkpoint begins */
};

/* One model, and one way to run it. */
struct subject {
  const char *name, *weights, *sizes;
  uint32_t steps;
  uint32_t runs;
  double aim; /* times_plain that is wanted, with aim_workers; 0: none */
  uint32_t aim_workers;
  char model[256], tokenizer[256]; /* "": the program makes one */
};
struct measured {
  struct pto_samples ns_per_token;
  double virtual_tokens_per_second, tasks_per_step;
  uint32_t workers;
};

static const struct sizes small = {64, 172, 5, 8, 4, 512, 512};
static const struct sizes large = {768, 2048, 12, 12, 12, 32000, 1024};

static int fail(const char *what, const char *sentence) {
  fprintf(stderr, "bench_llm: %s: %s\n", what, sentence);
  return -1;
}

/* ---- files ---- */

static char folder[128];

/* Tokens that are marks: the program ends its text at some. */
#define MARKS 3

/* A checkpoint of llama2.c with numbers of the size that weights have: norms are among them, which no time depends on.
 * Embeddings are the classifier too: those of marks are so small that no mark is ever the likeliest token, so the text
 * has all its steps. */
static int write_model(const char *path, const struct sizes *s) {
  const uint64_t kv_dim = (uint64_t)(s->dim / s->heads * s->kv_heads), dim = (uint64_t)s->dim;
  const uint64_t layer = 2 * dim + 2 * dim * dim + 2 * kv_dim * dim + 3 * dim * (uint64_t)s->hidden;
  const uint64_t count =
      (uint64_t)s->vocab * dim + (uint64_t)s->layers * layer + dim + (uint64_t)(s->positions * s->dim / s->heads);
  struct pto_rng rng = {7};
  FILE *file = fopen(path, "wb");
  if (!file) return fail(path, "cannot be written");
  bool is_good = fwrite(s, sizeof *s, 1, file) == 1;
  for (uint64_t i = 0; is_good && i < count; i++) {
    const float x = (float)(pto_rng_unit(&rng) - 0.5) * (i < MARKS * dim ? 1e-4f : 0.1f);
    is_good = fwrite(&x, sizeof x, 1, file) == 1;
  }
  return fclose(file) || !is_good ? fail(path, "cannot be written") : PTO_OK;
}

/* Marks, bytes, and pieces without a meaning. */
static int write_tokenizer(const char *path, int32_t vocab) {
  FILE *file = fopen(path, "wb");
  const int32_t longest = 8;
  if (!file) return fail(path, "cannot be written");
  bool is_good = fwrite(&longest, sizeof longest, 1, file) == 1;
  for (int32_t token = 0; token < vocab && is_good; token++) {
    char piece[16];
    const float score = 0;
    const int32_t length = snprintf(piece, sizeof piece, "p%d", token);
    is_good = fwrite(&score, sizeof score, 1, file) == 1 && fwrite(&length, sizeof length, 1, file) == 1 &&
              fwrite(piece, (size_t)length, 1, file) == 1;
  }
  return fclose(file) || !is_good ? fail(path, "cannot be written") : PTO_OK;
}

static int make_files(struct subject *subject, const struct sizes *sizes) {
  snprintf(subject->model, sizeof subject->model, "%s/%s.bin", folder, subject->name);
  snprintf(subject->tokenizer, sizeof subject->tokenizer, "%s/%s.tok", folder, subject->name);
  int status = write_model(subject->model, sizes);
  return status ? status : write_tokenizer(subject->tokenizer, sizes->vocab);
}

static void remove_files(const struct subject *subject) {
  if (strncmp(subject->model, folder, strlen(folder)) != 0) return;
  unlink(subject->model);
  unlink(subject->tokenizer);
}

/* ---- measuring ---- */

static int measure_plain(const struct subject *subject, struct measured *measured) {
  struct pto_language_model model;
  struct pto_plain_decoder decoder;
  char sentence[1024];
  if (pto_language_model_read(&model, subject->model, sentence, sizeof sentence)) return fail(subject->name, sentence);
  if (!pto_plain_decoder_init(&decoder, &model)) return fail(subject->name, "no memory");
  uint32_t token = 1;
  const double begin = pto_bench_now_ns();
  for (uint32_t step = 0; step < subject->steps; step++) {
    const float *logits = pto_plain_decoder_step(&decoder, token, step);
    for (uint32_t i = token = 0; i < model.vocab_size; i++)
      if (logits[i] > logits[token]) token = i;
  }
  pto_samples_add(&measured->ns_per_token, (pto_bench_now_ns() - begin) / subject->steps);
  measured->workers = 1;
  pto_plain_decoder_fini(&decoder);
  pto_language_model_fini(&model);
  return PTO_OK;
}

static double figure_of(const struct pto_program_run *run, const char *name) {
  const struct pto_figure *figure;
  for (uint32_t i = 0; (figure = pto_program_run_figure(run, i)) != NULL; i++)
    if (strcmp(figure->name, name) == 0) return figure->value;
  return NAN;
}

static int measure_tasks(const struct pto_program *program, const struct subject *subject, const char *engine,
                         uint32_t workers, struct measured *measured) {
  char steps[32], model[300], tokenizer[300], sizes[512];
  const char *settings[16] = {"check=false", steps, model, tokenizer};
  uint32_t count = 4;
  snprintf(steps, sizeof steps, "steps=%u", subject->steps);
  snprintf(model, sizeof model, "model=%s", subject->model);
  snprintf(tokenizer, sizeof tokenizer, "tokenizer=%s", subject->tokenizer);
  snprintf(sizes, sizeof sizes, "%s", subject->sizes ? subject->sizes : "");
  for (char *word = strtok(sizes, " "); word && count < PTO_ARRAY_LENGTH(settings); word = strtok(NULL, " "))
    settings[count++] = word;
  FILE *nowhere = fopen("/dev/null", "w");
  const struct pto_config config = {.size = sizeof config, .engine = engine, .chip = "a2a3", .workers = workers};
  const struct pto_program_request request = {
      .settings = settings, .setting_count = count, .config = &config, .text = nowhere};
  struct pto_program_run *run = NULL;
  struct pto_error error = {0};
  if (!nowhere) return fail(subject->name, "no /dev/null");
  int status = pto_program_run_create(program, &request, &run, &error);
  if (status == PTO_OK) {
    status = pto_program_run_prepare(run);
    if (status == PTO_OK) status = pto_program_run_orchestrate(run, NULL);
    error = *pto_program_run_error(run);
  }
  if (status == PTO_OK) {
    (void)pto_program_run_counters(run, &measured->workers);
    measured->virtual_tokens_per_second = figure_of(run, "virtual_tokens_per_second");
    measured->tasks_per_step = figure_of(run, "tasks_per_step");
    pto_samples_add(&measured->ns_per_token, 1e9 / figure_of(run, "tokens_per_second"));
    if (figure_of(run, "tokens") < subject->steps) status = fail(subject->name, "the text ended before its last step");
  } else {
    (void)fail(subject->name, error.sentence);
  }
  pto_program_run_destroy(run);
  fclose(nowhere);
  return status;
}

/* ---- a model ---- */

static void print_line(const struct subject *subject, const char *system, const struct measured *measured,
                       const struct measured *plain) {
  const struct pto_samples_figures own = pto_samples_figures(&measured->ns_per_token),
                                   loops = pto_samples_figures(&plain->ns_per_token);
  struct pto_bench_line *line = pto_bench_line_begin("llm", system);
  pto_bench_line_text(line, "pattern", subject->name);
  pto_bench_line_text(line, "weights", measured == plain ? "f32" : subject->weights);
  pto_bench_line_count(line, "workers", measured->workers);
  pto_bench_line_count(line, "steps", subject->steps);
  pto_bench_line_real(line, "tokens_per_second", 1e9 / own.min);
  if (measured != plain) {
    pto_bench_line_real(line, "times_plain", loops.min / own.min);
    if (subject->aim > 0 && subject->aim_workers == measured->workers)
      pto_bench_line_real(line, "times_plain_aim", subject->aim);
    pto_bench_line_real(line, "tasks_per_step", measured->tasks_per_step);
  }
  pto_bench_line_print(line, &measured->ns_per_token);
}

static int bench_model(const struct pto_program *program, const struct subject *subject,
                       const struct subject *plain_subject) {
  struct measured plain = {0}, tasks[2] = {{.workers = 0}}, chip = {0};
  int status = PTO_OK;
  for (uint32_t i = 0; i < pto_bench_repeats(subject->runs) && status == PTO_OK; i++) {
    status = measure_plain(plain_subject, &plain);
    for (uint32_t w = 0; w < 2 && status == PTO_OK; w++)
      status = measure_tasks(program, subject, "threads", w + 1, &tasks[w]);
  }
  if (status == PTO_OK) status = measure_tasks(program, subject, "virtual", 1, &chip);
  if (status) return status;
  print_line(plain_subject, "plain", &plain, &plain);
  for (uint32_t w = 0; w < 2; w++) print_line(subject, PTO_BENCH_SYSTEM, &tasks[w], &plain);
  struct pto_bench_line *line = pto_bench_line_begin("llm_virtual", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "pattern", subject->name);
  pto_bench_line_text(line, "weights", subject->weights);
  pto_bench_line_text(line, "chip", "a2a3");
  pto_bench_line_count(line, "steps", subject->steps);
  pto_bench_line_real(line, "virtual_tokens_per_second", chip.virtual_tokens_per_second);
  pto_bench_line_print(line, NULL);
  return PTO_OK;
}

static int bench_small(const struct pto_program *program) {
  struct subject subject = {
      .name = "260K", .weights = "f32", .steps = pto_bench_size(200), .runs = RUNS, .aim = 0.5, .aim_workers = 1};
  const char *data = getenv("PTO_LLM_DATA");
  int status = PTO_OK;
  if (data) {
    snprintf(subject.model, sizeof subject.model, "%s/stories260K.bin", data);
    snprintf(subject.tokenizer, sizeof subject.tokenizer, "%s/tok512.bin", data);
  } else {
    status = make_files(&subject, &small);
  }
  if (status == PTO_OK) status = bench_model(program, &subject, &subject);
  remove_files(&subject);
  return status;
}

static int bench_large(const struct pto_program *program) {
  struct subject f32 = {.name = "110M",
                        .weights = "f32",
                        .steps = pto_bench_is_quick() ? 3 : 12,
                        .runs = RUNS,
                        .aim = 1.5,
                        .aim_workers = 2};
  struct subject q8 = {.name = "110M", .weights = "q8_0", .steps = f32.steps, .runs = 3};
  q8.sizes = "dim=768 hidden=2048 layers=12 heads=12 kv_heads=12 vocab=32000 positions=1024 shared=true weights=q8_0";
  int status = make_files(&f32, &large);
  if (status == PTO_OK) status = bench_model(program, &f32, &f32);
  if (status == PTO_OK && !pto_bench_is_quick()) status = bench_model(program, &q8, &f32);
  remove_files(&f32);
  return status;
}

int main(int argc, char **argv) {
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error = {0};
  const char *temporary = getenv("TMPDIR"), *only = argc > 1 ? argv[1] : "";
  snprintf(folder, sizeof folder, "%s/bench_llm_XXXXXX", temporary ? temporary : "/tmp");
  pto_bench_find_programs(argv[0]);
  if (!mkdtemp(folder)) return fail(folder, "cannot be made") != 0;
  if (pto_program_load("llm", &loaded, &error)) return fail("llm", error.sentence) != 0;
  int status = strcmp(only, "110M") ? bench_small(loaded->program) : PTO_OK;
  if (status == PTO_OK && strcmp(only, "260K") != 0) status = bench_large(loaded->program);
  pto_program_unload(loaded);
  rmdir(folder);
  return status != PTO_OK;
}
