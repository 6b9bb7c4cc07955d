/* SPDX-License-Identifier: MIT */
/*
 * Every program, in each of its cases that is not long, on both engines, under several chips, policies and numbers of
 * workers.  The digest of its outputs is that of the oracle, which executes one task at a time and shares no code with
 * the runtime, and there they verify; its tasks and edges are the same everywhere, and those that the case states.
 * Programs that provoke an error end with that error and a sentence.
 *
 * One line a failure; the last line has the count.  A test is one case in one configuration.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>
#include <sim/chip.h>

static const struct configuration {
  const char *name, *engine, *chip, *policy;
  uint32_t workers;
  bool poison;
  uint32_t rounds; /* runs of the one runtime; the last one is looked at */
} configurations[] = {
    {"threads tiny fifo", "threads", "tiny", "fifo", 2, false, 3},
    {"threads a2a3 lifo poison", "threads", "a2a3", "lifo", 3, true, 1},
    {"threads a2a3 one worker", "threads", "a2a3", "fifo", 1, false, 1},
    {"virtual tiny lifo", "virtual", "tiny", "lifo", 0, true, 2},
    {"virtual a2a3 random", "virtual", "a2a3", "random:7", 0, false, 1},
};

static uint32_t passed, failed;

static void record(bool is_good, const char *program, const char *case_name, const char *configuration,
                   const char *reason) {
  if (is_good)
    passed++;
  else
    failed++;
  if (!is_good) printf("%s %s, %s: %s\n", program, case_name ? case_name : "(defaults)", configuration, reason);
}

/* ---- the oracle ---- */

struct truth {
  bool is_known; /* and verified, where there is a golden */
  uint64_t tasks;
  char digest[32];
};

/* What BUILD/oracle says; it is a process of its own, since it brings the calls of the runtime itself. */
static struct truth ask_oracle(const char *path, const char *case_name) {
  struct truth truth = {0};
  const char *build = getenv("PTO_BUILD_DIR");
  char command[1024];
  snprintf(command, sizeof command, "%s/oracle %s%s%s --json -", build ? build : "build", path,
           case_name ? " --case " : "", case_name ? case_name : "");
  FILE *pipe = popen(command, "r");
  json_t *object = pipe ? json_loadf(pipe, 0, NULL) : NULL;
  if (pipe) pclose(pipe);
  const char *digest = json_string_value(json_object_get(object, "output_digest"));
  if (digest && !json_is_false(json_object_get(object, "verified"))) {
    truth.is_known = true;
    truth.tasks = (uint64_t)json_integer_value(json_object_get(object, "tasks"));
    snprintf(truth.digest, sizeof truth.digest, "%s", digest);
  }
  json_decref(object);
  return truth;
}

/* ---- one run ---- */

struct outcome {
  int status;
  uint64_t tasks, edges;
  char digest[32];
  char sentence[PTO_SENTENCE_SIZE]; /* of the failure, or of the first wrong element */
};

static void execute(struct pto_program_run *run, struct pto_runtime *rt, bool has_truth, uint32_t rounds,
                    struct outcome *outcome) {
  const struct pto_program *program = pto_program_run_program(run);
  struct pto_stats stats = {.size = sizeof stats};
  struct pto_comparison comparison;
  int status = pto_program_run_prepare(run);
  if (status == PTO_OK) status = pto_program_run_remember(run);
  for (uint32_t round = 0; round < rounds && status == PTO_OK; round++) {
    pto_program_run_rewind(run);
    status = pto_program_run_orchestrate(run, rt);
  }
  if (status == PTO_OK && !has_truth) status = pto_program_run_expect(run);
  pto_runtime_stats(rt, &stats);
  outcome->status = status;
  outcome->tasks = stats.tasks;
  outcome->edges = stats.edges;
  snprintf(outcome->sentence, sizeof outcome->sentence, "%s", pto_program_run_error(run)->sentence);
  if (status != PTO_OK) return;
  pto_program_run_compare(run, program->rtol, program->atol, &comparison);
  snprintf(outcome->sentence, sizeof outcome->sentence, "%s", comparison.sentence);
  snprintf(outcome->digest, sizeof outcome->digest, "%016llx", (unsigned long long)pto_program_run_digest(run));
}

/* Where there is a digest to compare with, the golden is the oracle's to check, and is not computed again. */
static struct outcome run_program(const struct pto_program *program, const char *case_name, bool has_truth,
                                  const struct configuration *c) {
  struct outcome outcome = {.status = PTO_EINVAL};
  struct pto_error error = {0};
  struct pto_program_run *run = NULL;
  struct pto_runtime *rt = NULL;
  const struct pto_program_request request = {.case_name = case_name};
  struct pto_config config = program->config ? *program->config : (struct pto_config){0};
  config.size = sizeof config;
  config.engine = c->engine;
  config.chip = c->chip;
  config.policy = c->policy;
  config.workers = c->workers;
  config.poison = c->poison;
  int status = pto_program_run_create(program, &request, &run, &error);
  if (status == PTO_OK) status = pto_runtime_create_explained(&config, &rt, error.sentence, sizeof error.sentence);
  if (status == PTO_OK)
    execute(run, rt, has_truth, c->rounds, &outcome);
  else
    snprintf(outcome.sentence, sizeof outcome.sentence, "%s", error.sentence);
  pto_runtime_destroy(rt);
  pto_program_run_destroy(run);
  return outcome;
}

/* ---- what must hold ---- */

/* NULL, or what is wrong with the outcome. */
static const char *judge(const struct pto_program *program, const struct pto_case *one, const struct truth *truth,
                         const struct outcome *outcome) {
  static char reason[PTO_SENTENCE_SIZE + 64];
  if (outcome->status != program->expected_status) {
    snprintf(reason, sizeof reason, "%s: %s", pto_status_name(outcome->status), outcome->sentence);
    return reason;
  }
  if (program->expected_status != PTO_OK) return *outcome->sentence ? NULL : "failed as expected, without a sentence";
  if (*outcome->sentence) return outcome->sentence;
  uint64_t tasks = one && one->tasks ? one->tasks : truth->tasks, edges = one ? one->edges : 0;
  if (truth->is_known && strcmp(truth->digest, outcome->digest) != 0)
    snprintf(reason, sizeof reason, "digest %s, the oracle's is %s", outcome->digest, truth->digest);
  else if (truth->is_known && (tasks != outcome->tasks || truth->tasks != tasks))
    snprintf(reason, sizeof reason, "%llu tasks, of the oracle %llu, %llu stated", (unsigned long long)outcome->tasks,
             (unsigned long long)truth->tasks, (unsigned long long)tasks);
  else if (edges && edges != outcome->edges)
    snprintf(reason, sizeof reason, "%llu edges, %llu stated", (unsigned long long)outcome->edges,
             (unsigned long long)edges);
  else
    return NULL;
  return reason;
}

static uint32_t clusters_of(const char *chip_name) {
  struct pto_chip chip;
  struct pto_error error;
  return pto_chip_load(chip_name, &chip, &error) == PTO_OK ? chip.cluster_count : 0;
}

static void check_case(const struct pto_loaded_program *loaded, const struct pto_case *one) {
  const struct pto_program *program = loaded->program;
  const char *case_name = one ? one->name : NULL;
  struct truth truth = {0};
  uint64_t edges = UINT64_MAX;
  if (program->expected_status == PTO_OK) {
    truth = ask_oracle(loaded->path, case_name);
    record(truth.is_known, loaded->name, case_name, "oracle", "it does not verify");
  }
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(configurations); i++) {
    if (clusters_of(configurations[i].chip) < program->min_clusters) continue;
    struct outcome outcome = run_program(program, case_name, truth.is_known, &configurations[i]);
    const char *reason = judge(program, one, &truth, &outcome);
    if (!reason && edges != UINT64_MAX && edges != outcome.edges) reason = "another number of edges than elsewhere";
    edges = outcome.edges;
    record(!reason, loaded->name, case_name, configurations[i].name, reason);
  }
}

static int check_program(void *context, const char *name, const char *path) {
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error;
  if (pto_program_load(path, &loaded, &error) != PTO_OK) {
    record(false, name, NULL, "loader", error.sentence);
    return 0;
  }
  /* What takes the process with it is the command line's to test. */
  bool is_fatal = strcmp(name, "errors/crash") == 0 || loaded->program->expected_status == PTO_ETIMEOUT;
  if (!is_fatal && !loaded->program->host) {
    const struct pto_case *one = loaded->program->cases;
    if (!one || !one->name) check_case(loaded, NULL);
    for (; one && one->name; one++)
      if (!one->is_long) check_case(loaded, one);
  }
  pto_program_unload(loaded);
  return 0;
}

/* ---- what only weaker rules get wrong ---- */

static void check_war_reuse(void) {
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error;
  if (pto_program_load("war_reuse", &loaded, &error) != PTO_OK) {
    record(false, "war_reuse", NULL, "loader", error.sentence);
    return;
  }
  struct pto_config config = {
      .size = sizeof config, .engine = "virtual", .chip = "tiny", .policy = "lifo", .deps = PTO_DEPS_PTO};
  struct pto_program program = *loaded->program;
  program.config = &config;
  const struct configuration weaker = {"deps pto", "virtual", "tiny", "lifo", 0, false, 1};
  for (const struct pto_case *one = program.cases; one->name; one++) {
    struct outcome outcome = run_program(&program, one->name, false, &weaker);
    record(outcome.status == PTO_OK && strstr(outcome.sentence, "output seen["), "war_reuse", one->name, weaker.name,
           "the readers are right under rules that do not order them");
  }
  pto_program_unload(loaded);
}

int main(void) {
  if (access(getenv("PTO_BUILD_DIR") ? getenv("PTO_BUILD_DIR") : "build", X_OK) != 0) return 77;
  if (!getenv("PTO_PROGRAM_PATH")) setenv("PTO_PROGRAM_PATH", "build/programs", 1);
  (void)pto_program_list(check_program, NULL);
  check_war_reuse();
  printf("%u passed, %u failed\n", passed, failed);
  return failed != 0;
}
