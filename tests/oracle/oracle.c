/* SPDX-License-Identifier: MIT */
/*
 * oracle: runs programs one task at a time, in submission order.  What it prints is the truth that ptosim's runs are
 * held against.
 *
 *   oracle PROGRAM [--case C] [--set k=v]… [--seed N] [--clusters N] [--poison] [--json -]
 *   oracle PROGRAM --ranks N [the same but --json]   a line for each rank
 *   oracle all [PROGRAM]… [--seed N] [--clusters N] [--poison]
 *                            every program (or those named), its defaults and each case that is not long
 *
 * Exit: 0 ran, and verified where there is a golden; 1 ran, wrong; 2 bad arguments; 3 the run failed.  A program that
 * is there to provoke an error counts as failed as expected (exit 3, and "as expected" in the table of `all`).
 *
 * One thread; `all` runs each case in a child process, so that a crash is one line of the table.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>
#include <tests/oracle/oracle_world.h>

#define MAX_SETTINGS 64

enum { EXIT_WRONG = 1, EXIT_ARGUMENTS = 2, EXIT_FAILED = 3 };

struct arguments {
  const char *program;
  struct pto_program_request request;
  const char *settings[MAX_SETTINGS];
  bool poison, json;
  uint32_t ranks; /* 0: one chip, alone */
};

struct outcome {
  int status;
  char sentence[PTO_SENTENCE_SIZE];
  uint64_t tasks, digest;
  struct pto_comparison comparison;
};

/* ---- one run ---- */

static int judge(struct pto_program_run *run, struct pto_runtime *rt, struct outcome *outcome) {
  double rtol, atol;
  int status = pto_program_run_prepare(run);
  if (status != PTO_OK) return EXIT_ARGUMENTS;
  status = pto_program_run_orchestrate(run, rt);
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  outcome->tasks = stats.tasks;
  if (status != PTO_OK) return EXIT_FAILED;
  if (pto_program_run_expect(run) != PTO_OK) return EXIT_ARGUMENTS;
  pto_program_run_tolerance(run, &rtol, &atol);
  pto_program_run_compare(run, rtol, atol, &outcome->comparison);
  outcome->digest = pto_program_run_digest(run);
  return outcome->comparison.has_golden && !outcome->comparison.is_verified ? EXIT_WRONG : 0;
}

static int run_program(const struct pto_program *program, const struct arguments *arguments, struct outcome *outcome) {
  struct pto_error error = {0};
  struct pto_program_run *run = NULL;
  struct pto_runtime *rt = NULL;
  int code = EXIT_ARGUMENTS;
  int status = pto_program_run_create(program, &arguments->request, &run, &error);
  if (status == PTO_OK) {
    uint32_t asked = oracle_clusters;
    if (oracle_clusters < program->min_clusters) oracle_clusters = program->min_clusters;
    struct pto_config config = {.size = sizeof config, .poison = arguments->poison};
    status = pto_runtime_create_explained(&config, &rt, error.sentence, sizeof error.sentence);
    oracle_clusters = asked;
  }
  if (status == PTO_OK) {
    code = judge(run, rt, outcome);
    error = *pto_program_run_error(run);
    status = error.status;
  }
  outcome->status = status;
  snprintf(outcome->sentence, sizeof outcome->sentence, "%s",
           *error.sentence ? error.sentence : outcome->comparison.sentence);
  pto_runtime_destroy(rt);
  pto_program_run_destroy(run);
  return code;
}

static void print_json(const struct arguments *arguments, const struct outcome *outcome, int code) {
  const struct pto_comparison *comparison = &outcome->comparison;
  bool is_known = code <= EXIT_WRONG;
  char digest[17];
  snprintf(digest, sizeof digest, "%016llx", (unsigned long long)outcome->digest);
  json_t *object = json_pack(
      "{s:s, s:s?, s:I, s:I, s:o, s:o, s:o, s:s, s:o}", "program", arguments->program, "case",
      arguments->request.case_name, "seed", (json_int_t)arguments->request.seed, "tasks", (json_int_t)outcome->tasks,
      "verified", is_known && comparison->has_golden ? json_boolean(comparison->is_verified) : json_null(),
      "max_abs_error",
      is_known && comparison->has_golden && isfinite(comparison->max_abs_error) ? json_real(comparison->max_abs_error)
                                                                                : json_null(),
      "output_digest", is_known ? json_string(digest) : json_null(), "status", pto_status_name(outcome->status),
      "error", *outcome->sentence ? json_string(outcome->sentence) : json_null());
  if (object) json_dumpf(object, stdout, JSON_INDENT(2));
  putchar('\n');
  json_decref(object);
}

static void print_line(const struct arguments *arguments, const struct outcome *outcome, int code) {
  const char *case_name = arguments->request.case_name ? arguments->request.case_name : "-";
  printf("%-24s %-24s %8llu tasks  ", arguments->program, case_name, (unsigned long long)outcome->tasks);
  if (code >= EXIT_ARGUMENTS)
    printf("%s", pto_status_name(outcome->status));
  else
    printf("%016llx  %s, error %.3g", (unsigned long long)outcome->digest,
           !outcome->comparison.has_golden   ? "no golden"
           : outcome->comparison.is_verified ? "verified"
                                             : "WRONG",
           outcome->comparison.max_abs_error);
  printf("%s%s\n", *outcome->sentence ? "  " : "", outcome->sentence);
}

/* ---- several ranks ---- */

struct rank_runs {
  const struct pto_program *program;
  const struct arguments *arguments;
  uint32_t count;
  struct outcome outcomes[PTO_MAX_RANKS];
  int codes[PTO_MAX_RANKS];
};

static void run_rank(uint32_t rank, void *context) {
  struct rank_runs *runs = context;
  struct arguments arguments = *runs->arguments;
  arguments.request.rank = rank;
  arguments.request.rank_count = runs->count;
  runs->codes[rank] = run_program(runs->program, &arguments, &runs->outcomes[rank]);
}

static int run_ranks(const struct pto_program *program, const struct arguments *arguments) {
  static struct rank_runs runs;
  int code = 0;
  runs.program = program;
  runs.arguments = arguments;
  runs.count = arguments->ranks;
  if (!oracle_world_run(runs.count, run_rank, &runs)) {
    fprintf(stderr, "oracle: %s: ranks wait for each other for ever, or there is no memory\n", arguments->program);
    return EXIT_FAILED;
  }
  for (uint32_t i = 0; i < runs.count; i++) {
    print_line(arguments, &runs.outcomes[i], runs.codes[i]);
    if (runs.codes[i] > code) code = runs.codes[i];
  }
  return code;
}

/* ---- all ---- */

struct table {
  struct arguments arguments; /* what all rows share */
  uint32_t bad;
};

/* Errors of rings and of time, of which the oracle has none. */
static bool is_beyond_oracle(int status) {
  return status == PTO_ESCOPE || status == PTO_EHEAP || status == PTO_EWINDOW || status == PTO_ECAPACITY ||
         status == PTO_ETIMEOUT;
}

static void run_row(struct table *table, const struct pto_program *program, const char *name, const char *case_name) {
  struct arguments arguments = table->arguments;
  arguments.program = name;
  arguments.request.case_name = case_name;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    struct outcome outcome = {0};
    int code = run_program(program, &arguments, &outcome);
    bool is_expected = program->expected_status != PTO_OK && outcome.status == program->expected_status;
    print_line(&arguments, &outcome, code);
    fflush(stdout);
    _exit(is_expected ? 0 : program->expected_status != PTO_OK && code == 0 ? EXIT_WRONG : code);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) status = -1;
  if (WIFSIGNALED(status)) printf("%-24s %-24s signal %d\n", name, case_name ? case_name : "-", WTERMSIG(status));
  if (status != 0) table->bad++;
}

static int visit_program(void *context, const char *name, const char *path) {
  struct table *table = context;
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error = {0};
  if (pto_program_load(path, &loaded, &error) != PTO_OK) {
    printf("%-24s %s\n", name, error.sentence);
    table->bad++;
    return 0;
  }
  const struct pto_program *program = loaded->program;
  if (program->host || program->ranks || is_beyond_oracle(program->expected_status) ||
      strcmp(name, "errors/crash") == 0)
    printf("%-24s beyond the oracle\n", name);
  else {
    run_row(table, program, name, NULL);
    for (const struct pto_case *one = program->cases; one && one->name; one++)
      if (!one->is_long) run_row(table, program, name, one->name);
  }
  pto_program_unload(loaded);
  return 0;
}

static int run_all(const struct arguments *arguments, char **names, int count) {
  struct table table = {.arguments = *arguments};
  if (count == 0) (void)pto_program_list(visit_program, &table);
  for (int i = 0; i < count; i++) {
    struct pto_loaded_program *loaded = NULL;
    struct pto_error error = {0};
    if (pto_program_load(names[i], &loaded, &error) != PTO_OK) {
      printf("%-24s %s\n", names[i], error.sentence);
      table.bad++;
      continue;
    }
    (void)visit_program(&table, loaded->name, loaded->path);
    pto_program_unload(loaded);
  }
  printf("%u wrong\n", table.bad);
  return table.bad ? EXIT_WRONG : 0;
}

/* ---- arguments ---- */

static bool take_number(const char *text, uint64_t *number) {
  char *end;
  *number = strtoull(text, &end, 0);
  return end != text && *end == '\0';
}

/* Takes the option argv[0] with its value argv[1], which is NULL at the end; how many words it was, or 0. */
static int take_option(struct arguments *arguments, char **argv) {
  uint64_t number = 0;
  if (strcmp(argv[0], "--poison") == 0) return arguments->poison = true, 1;
  if (!argv[1]) return 0;
  if (strcmp(argv[0], "--case") == 0)
    arguments->request.case_name = argv[1];
  else if (strcmp(argv[0], "--json") == 0 && strcmp(argv[1], "-") == 0)
    arguments->json = true;
  else if (strcmp(argv[0], "--seed") == 0 && take_number(argv[1], &arguments->request.seed))
    return 2;
  else if (strcmp(argv[0], "--ranks") == 0 && take_number(argv[1], &number) && number > 0 && number <= PTO_MAX_RANKS)
    arguments->ranks = (uint32_t)number;
  else if (strcmp(argv[0], "--clusters") == 0 && take_number(argv[1], &number) && number > 0 && number <= 1024)
    oracle_clusters = (uint32_t)number;
  else if (strcmp(argv[0], "--set") == 0 && arguments->request.setting_count < MAX_SETTINGS)
    arguments->settings[arguments->request.setting_count++] = argv[1];
  else
    return 0;
  return 2;
}

static int run_one(struct arguments *arguments) {
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error = {0};
  struct outcome outcome = {0};
  int code = EXIT_ARGUMENTS;
  if (pto_program_load(arguments->program, &loaded, &error) != PTO_OK) {
    fprintf(stderr, "oracle: %s\n", error.sentence);
    return code;
  }
  if (loaded->program->host) {
    snprintf(outcome.sentence, sizeof outcome.sentence, "%s drives contexts of its own", arguments->program);
    outcome.status = PTO_ENOTSUP;
  } else if (arguments->ranks) {
    code = run_ranks(loaded->program, arguments);
    pto_program_unload(loaded);
    return code;
  } else
    code = run_program(loaded->program, arguments, &outcome);
  if (arguments->json)
    print_json(arguments, &outcome, code);
  else
    print_line(arguments, &outcome, code);
  pto_program_unload(loaded);
  return code;
}

int main(int argc, char **argv) {
  struct arguments arguments = {0};
  int names = 0; /* argv[1 … names] */
  for (int i = 1, words; i < argc; i += words) {
    words = 1;
    if (argv[i][0] != '-')
      argv[++names] = argv[i];
    else if ((words = take_option(&arguments, argv + i)) == 0) {
      fprintf(stderr, "oracle: %s: unknown option, or its value is wrong\n", argv[i]);
      return EXIT_ARGUMENTS;
    }
  }
  arguments.request.settings = arguments.settings;
  if (names > 0 && strcmp(argv[1], "all") == 0) return run_all(&arguments, argv + 2, names - 1);
  if (names != 1) {
    fprintf(stderr, "oracle PROGRAM [--case C] [--set k=v]... [--seed N] [--clusters N] [--poison] [--json -]\n"
                    "oracle all [PROGRAM]... [--seed N] [--clusters N] [--poison]\n");
    return EXIT_ARGUMENTS;
  }
  arguments.program = argv[1];
  return run_one(&arguments);
}
