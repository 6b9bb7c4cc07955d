/* SPDX-License-Identifier: MIT */
/*
 * `ptosim compare A B`: what changed between two runs, or between two baselines of regress.
 *
 * A side is a file of `ptosim run --stats --json` or `graph --run --stats --json` (several with commas: runs of the
 * same), a page of such a run, a baseline, or the words of such a run, in quotes, which is run here in a process of its
 * own: once in virtual time, --repeats times on threads, the two sides in turn.
 *
 * The page of a comparison has the timelines of both sides where both have one: a side that is a page of one chip, and
 * the first run of a program on one.
 *
 * Exit status 0 where nothing changed, 1 where something did, 2 for bad arguments or files, 3 where a run failed.
 */
#include <cli/main/verb.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check/compare/baselines.h>
#include <check/compare/comparison.h>
#include <check/regress/list.h>
#include <check/regress/one_result.h>
#include <cli/main/child_process.h>
#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <cli/run/judgement.h>
#include <cli/run/options.h>
#include <cli/run/request.h>
#include <report/file/output_file.h>
#include <report/findings/coverage.h>
#include <formats/json_read.h>
#include <formats/json_text.h>
#include <runtime/base/text.h>

#define MOST_FILE_BYTES (UINT64_C(256) << 20)
#define DEFAULT_REPEATS 9u /* tells of up to 1215 rows: 0.05 / 1215 is the chance of the two extremes of C(18, 9) */
#define MOST_WORDS 60u

struct side {
  const char *text; /* as it was given */
  char *words;      /* of a program: a copy, cut into `word` */
  char *word[MOST_WORDS + 1];
  size_t word_count;
  struct pto_baseline *baseline; /* NULL: it is none */
  json_t *results[PTO_COMPARE_MOST];
  uint32_t count;
  struct pto_run_page page; /* of the first result, where has_page */
  bool has_page;
};

struct compare {
  struct pto_run_options options;
  uint32_t repeats;
  struct side sides[2];
};

static const struct pto_option_spec own_options[] = {
    {"repeats", "N", "runs of a side on threads (default 9); in virtual time one is exact",
     PTO_OPTION_NUMBER(struct compare, repeats, 1, PTO_COMPARE_MOST)},
    {0}};

static void help(const struct pto_run_options *options) {
  puts("ptosim compare A B [OPTION...]\n\n"
       "What changed from A to B: time, the critical path, kernels, accounts of resources, and tasks, the largest "
       "change\n"
       "first.  Each is\n"
       "  FILE.json              of `ptosim run --stats --json FILE.json`; FILE1,FILE2,... are runs of the same\n"
       "  FILE.html              of `ptosim run --stats --report FILE.html`\n"
       "  FILE.baseline          of `ptosim regress`, both\n"
       "  \"PROGRAM [OPTION...]\"  a program or --model NAME with options of `ptosim run`, which runs here\n"
       "  \"graph FILE|--model NAME [OPTION...]\"  the same of `ptosim graph --run`\n"
       "Runs of graphs and of several ranks are compared as runs of one program are.\n"
       "With --report the timelines of pages and programs stand under each other.");
  pto_run_options_help(PTO_VERB_compare, own_options);
  puts("\nExit status 0 where nothing changed, 1 where something did, 2 for bad arguments or files, 3 where a run "
       "failed.");
}

/* ---- sides ---- */

static bool is_page(const char *path) { return pto_text_ends_with(path, ".html"); }

/* The result that is in a page; of the first one the page is kept. */
static json_t *read_page(struct side *side, const char *path, struct pto_json_reader *reader, struct pto_error *error) {
  struct pto_run_page page;
  size_t size;
  reader->status = pto_run_page_open(path, &page, error);
  if (reader->status) return NULL;
  const char *text = pto_run_page_result(&page, &size);
  json_t *object = pto_json_read_memory(reader, path, text, size, error);
  if (object && side->count == 0 && !page.is_of_ranks) {
    side->page = page;
    side->has_page = true;
  } else {
    pto_run_page_fini(&page);
  }
  return object;
}

static int read_one(struct side *side, const char *path, struct pto_error *error) {
  struct pto_json_reader reader;
  if (side->count == PTO_COMPARE_MOST)
    return pto_error_set(error, PTO_EINVAL, "%s: more than %u files", side->text, PTO_COMPARE_MOST);
  json_t *object =
      is_page(path) ? read_page(side, path, &reader, error) : pto_json_read_file(&reader, path, MOST_FILE_BYTES, error);
  if (!object) return reader.status;
  json_t *result = pto_one_result(object);
  if (!result) return pto_error_set(error, PTO_ENOMEM, "no memory for a result");
  side->results[side->count++] = result;
  return PTO_OK;
}

/* A file that holds a baseline, which no graph or capture is. */
static bool is_baseline(json_t *object) {
  return json_is_object(json_object_get(object, "cases")) && !json_object_get(object, "format");
}

static int read_files(struct side *side, struct pto_error *error) {
  char *text = strdup(side->text), *rest = text, *path;
  int status = text ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "no memory for the names of files");
  while (status == PTO_OK && (path = strsep(&rest, ",")) != NULL) status = read_one(side, path, error);
  free(text);
  if (status == PTO_OK && side->count == 1 && is_baseline(side->results[0]))
    return pto_baseline_open(side->text, false, &side->baseline, error->sentence, sizeof error->sentence);
  return status;
}

/* Whether the words name results: all before the first comma is a page, or a file of JSON that says so. */
static bool is_recorded(const char *text) {
  char path[4096], head[64] = "";
  snprintf(path, sizeof path, "%.*s", (int)strcspn(text, ","), text);
  if (is_page(path)) return true;
  struct pto_error unused;
  FILE *file = pto_regular_file_open(path, &unused);
  if (!file) return false;
  const size_t length = fread(head, 1, sizeof head - 1, file);
  fclose(file);
  head[length] = '\0';
  return strstr(head, "\"pto-run\"") || strstr(head, "\"pto-ranks\"") || strstr(head, "\"pto-graph\"") ||
         strstr(head, "\"cases\"");
}

static int cut_words(struct side *side, struct pto_error *error) {
  size_t length;
  bool is_open = false;
  char *rest = side->words = strdup(side->text), *word;
  if (!rest) return pto_error_set(error, PTO_ENOMEM, "no memory for words");
  while ((word = pto_regress_next_word(&rest, &length, &is_open)) != NULL) {
    if (side->word_count == MOST_WORDS)
      return pto_error_set(error, PTO_EINVAL, "%s: more than %u words", side->text, MOST_WORDS);
    side->word[side->word_count++] = word;
  }
  if (is_open || side->word_count == 0)
    return pto_error_set(error, PTO_EINVAL, "\"%s\": %s", side->text,
                         is_open ? "a quotation mark is open" : "no program");
  return PTO_OK;
}

static int open_side(struct side *side, const char *text, struct pto_error *error) {
  side->text = text;
  return is_recorded(text) ? read_files(side, error) : cut_words(side, error);
}

static void close_side(struct side *side) {
  for (uint32_t i = 0; i < side->count; i++) json_decref(side->results[i]);
  pto_baseline_close(side->baseline);
  pto_run_page_fini(&side->page);
  free(side->words);
}

/* ---- runs ---- */

static int take_result(struct side *side, const struct pto_child_result *child, struct pto_error *error) {
  json_t *result = pto_one_result(pto_json_load(child->json, strlen(child->json), 0, NULL));
  const char *error_text = json_string_value(json_object_get(result, "error"));
  const char *said = error_text ? error_text : child->text;
  const size_t length = strlen(side->text);
  const bool is_named = strncmp(said, side->text, length) == 0 && said[length] == ':';
  int status = PTO_OK;
  if (child->exit_code == PTO_EXIT_INTERRUPTED)
    status = pto_error_set(error, PTO_EINTERRUPTED, "interrupted");
  else if (child->exit_code != PTO_EXIT_OK && child->exit_code != PTO_EXIT_FINDINGS)
    status = pto_error_set(error, child->exit_code == PTO_EXIT_USAGE ? PTO_EINVAL : PTO_EKERNEL, "%s%s%.*s",
                           is_named ? "" : side->text, is_named ? "" : ": ", (int)strcspn(said, "\n"), said);
  else if (!result)
    status = pto_error_set(error, PTO_EINVAL, "%s left no result", side->text);
  else
    side->results[side->count++] = json_incref(result);
  json_decref(result);
  return status;
}

/* has_page: its timeline is to be in the page of the comparison. */
static int run_once(struct side *side, bool has_page, struct pto_error *error) {
  static char name[] = "ptosim", run[] = "run", run_graph[] = "--run", stats[] = "--stats", no_gains[] = "--no-gains",
              quiet[] = "--quiet", json[] = "--json", json_path[] = PTO_CHILD_JSON_PATH, report[] = "--report",
              page_path[] = PTO_CHILD_PAGE_PATH;
  const bool is_graph = strcmp(side->word[0], "graph") == 0, has_verb = is_graph || strcmp(side->word[0], run) == 0;
  char *words[MOST_WORDS + 11] = {name, has_verb ? side->word[0] : run}, path[32];
  size_t count = 2;
  struct pto_child_result child;
  for (size_t i = has_verb; i < side->word_count; i++) words[count++] = side->word[i];
  if (is_graph) words[count++] = run_graph;
  words[count++] = stats;
  if (!has_page) words[count++] = no_gains;
  words[count++] = quiet;
  words[count++] = json;
  words[count++] = json_path;
  if (has_page) words[count++] = report;
  if (has_page) words[count++] = page_path;
  int status = pto_child_run(words, 0, &child, error);
  if (status) return status;
  status = take_result(side, &child, error);
  snprintf(path, sizeof path, "/dev/fd/%d", child.page_fd);
  if (status == PTO_OK && has_page) status = pto_run_page_open(path, &side->page, error);
  side->has_page |= status == PTO_OK && has_page && !side->page.is_of_ranks;
  pto_child_result_fini(&child);
  return status;
}

static bool is_virtual(const struct side *side) {
  const char *engine = json_string_value(json_object_get(side->results[0], "engine"));
  return engine && strcmp(engine, "virtual") == 0;
}

/* In turn, so that what changes on the machine meanwhile is in both. */
static int run_sides(struct compare *c, struct pto_error *error) {
  int status = PTO_OK;
  for (uint32_t i = 0; i < c->repeats && status == PTO_OK; i++) {
    pto_progress_line_stage("running", i + 1, c->repeats);
    for (int k = 0; k < 2 && status == PTO_OK; k++) {
      struct side *side = &c->sides[k];
      if (!side->words || (i > 0 && is_virtual(side))) continue;
      status = pto_interrupted() ? pto_error_set(error, PTO_EINTERRUPTED, "interrupted")
                                 : run_once(side, i == 0 && c->options.exports[PTO_EXPORT_page], error);
    }
  }
  return status;
}

/* ---- the verb ---- */

struct told {
  const struct compare *compare;
  const struct pto_run_comparison *comparison; /* or */
  const struct pto_compared_baselines *baselines;
  const struct pto_error *error;
  int exit_code;
};

/* Whether outputs are right each run has told; what two runs came to is not in their results, but for a digest. */
static struct pto_coverage coverage_of(const struct told *told) {
  struct pto_coverage coverage = {0};
  const struct pto_run_comparison *c = told->comparison;
  if (told->baselines) pto_coverage_add(&coverage, PTO_COVERAGE_CASES, told->baselines->same + told->baselines->count);
  if (!c) return coverage;
  uint64_t times = 1;
  for (int table = 0; table < PTO_COMPARED_TABLES; table++) times += c->tables[table].count;
  pto_coverage_add(&coverage, PTO_COVERAGE_TIMES, c->can_tell ? times : 0);
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_TIMES, c->can_tell ? 0 : times, "the runs are too few");
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_TASKS,
                             c->tasks.is_known ? 0 : pto_max_u64(c->task_counts[0], c->task_counts[1]),
                             "a result does not tell them one by one");
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_VALUES, PTO_COVERAGE_UNCOUNTED, "results have none");
  return coverage;
}

static void put(struct pto_json_writer *w, const void *context) {
  const struct told *told = context;
  const struct pto_coverage coverage = coverage_of(told);
  pto_json_put_format(w, "pto-compare", 1);
  pto_json_put_string(w, "a", told->compare->sides[0].text);
  pto_json_put_string(w, "b", told->compare->sides[1].text);
  if (pto_json_try_key(w, "comparison", told->comparison != NULL)) {
    pto_json_object_begin(w);
    pto_run_comparison_put(told->comparison, w);
    pto_json_object_end(w);
  }
  if (pto_json_try_key(w, "baselines", told->baselines != NULL)) pto_compared_baselines_put(told->baselines, w);
  pto_coverage_put_json(&coverage, w);
  pto_put_end(w, told->error, told->exit_code);
}

static int write_page(const struct compare *c, const struct told *told, int exit_code) {
  const char *path = c->options.exports[PTO_EXPORT_page];
  const bool has_runs = told->comparison && c->sides[0].has_page && c->sides[1].has_page;
  const struct pto_report_page_document document = {"compare", put, told};
  const struct pto_report_page page = {
      .documents = &document,
      .document_count = 1,
      .runs = {has_runs ? &c->sides[0].page : NULL, has_runs ? &c->sides[1].page : NULL}};
  struct pto_error error;
  if (!path || pto_report_page_write(path, &page, &error) == PTO_OK) return exit_code;
  return pto_complain(PTO_EXIT_FAILED, "compare: %s", error.sentence);
}

/* A testcase: that nothing changed. */
static int write_junit(const struct compare *c, const struct told *told, int exit_code) {
  char name[512], text[1024];
  snprintf(name, sizeof name, "%s | %s", c->sides[0].text, c->sides[1].text);
  snprintf(text, sizeof text, "%s", told->error->sentence);
  if (told->comparison) pto_run_comparison_verdict(told->comparison, text, sizeof text);
  if (told->baselines && told->baselines->count)
    snprintf(text, sizeof text, "%zu changed, first %s: %s", told->baselines->count, told->baselines->cases[0].text,
             told->baselines->cases[0].sentence);
  const struct pto_judgement judgement = {.verb = "compare", .program = name, .error = text, .exit_code = exit_code};
  return pto_write_judgement(&c->options, &judgement);
}

static int tell(const struct compare *c, struct told *told) {
  const struct pto_coverage coverage = coverage_of(told);
  const bool has_text = !c->options.quiet && !pto_run_options_take_stdout(&c->options);
  if (has_text && told->comparison) pto_run_comparison_print(told->comparison, stdout);
  if (has_text && told->baselines) pto_compared_baselines_print(told->baselines, stdout);
  if (has_text) pto_coverage_print(&coverage, stdout);
  int code = pto_write_report(c->options.json_path, put, told, told->exit_code);
  code = write_page(c, told, code);
  return write_junit(c, told, code);
}

static int fail(const struct compare *c, const struct pto_error *error) {
  const int code = error->status == PTO_EINTERRUPTED                             ? PTO_EXIT_INTERRUPTED
                   : error->status == PTO_EKERNEL || error->status == PTO_ENOMEM ? PTO_EXIT_FAILED
                                                                                 : PTO_EXIT_USAGE;
  struct told told = {.compare = c, .error = error, .exit_code = code};
  pto_complain(code, "compare: %s", error->sentence);
  return tell(c, &told);
}

static int compare_baselines(const struct compare *c) {
  struct pto_error error = {.status = PTO_OK};
  struct pto_compared_baselines found;
  int code;
  if (pto_compared_baselines_make(c->sides[0].baseline, c->sides[1].baseline, &found, &error)) {
    code = fail(c, &error);
  } else {
    struct told told = {.compare = c, .baselines = &found, .error = &error};
    told.exit_code = found.count ? PTO_EXIT_FINDINGS : PTO_EXIT_OK;
    code = tell(c, &told);
  }
  pto_compared_baselines_fini(&found);
  return code;
}

static int compare_runs(struct compare *c) {
  struct pto_error error = {.status = PTO_OK};
  struct pto_run_comparison comparison = {0};
  pto_progress_line_begin("compare", !c->options.quiet);
  int status = run_sides(c, &error), code;
  pto_progress_line_end();
  json_t *const *const results[2] = {c->sides[0].results, c->sides[1].results};
  const uint32_t counts[2] = {c->sides[0].count, c->sides[1].count};
  if (status == PTO_OK) status = pto_run_comparison_make(results, counts, &comparison, &error);
  if (status) {
    code = fail(c, &error);
  } else {
    struct told told = {.compare = c, .comparison = &comparison, .error = &error};
    told.exit_code = pto_run_comparison_is_same(&comparison) ? PTO_EXIT_OK : PTO_EXIT_FINDINGS;
    code = tell(c, &told);
  }
  pto_run_comparison_fini(&comparison);
  return code;
}

static int compare(struct compare *c) {
  struct pto_error error = {.status = PTO_OK};
  for (int i = 0; i < 2; i++)
    if (open_side(&c->sides[i], c->options.programs.items[i], &error)) return fail(c, &error);
  if (!c->sides[0].baseline != !c->sides[1].baseline) {
    pto_error_set(&error, PTO_EINVAL, "%s is a baseline, and %s is none", c->sides[!c->sides[0].baseline].text,
                  c->sides[!c->sides[1].baseline].text);
    return fail(c, &error);
  }
  return c->sides[0].baseline ? compare_baselines(c) : compare_runs(c);
}

/* "--model NAME [OPTION...]" is a side too, and no option: with `run` before it.  The copy, or NULL. */
static char *copy_of_model(const char *word) {
  static const char begin[] = "--model ";
  char *side = NULL;
  return strncmp(word, begin, strlen(begin)) == 0 && asprintf(&side, "run %s", word) > 0 ? side : NULL;
}

int pto_cmd_compare(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_compare, own_options, help, false};
  struct compare c = {.repeats = DEFAULT_REPEATS};
  struct pto_error error;
  char *models[2] = {NULL, NULL};
  int code;
  for (int i = 1, k = 0; i < argc && k < 2; i++) {
    models[k] = copy_of_model(argv[i]);
    if (models[k]) argv[i] = models[k++];
  }
  if (pto_run_options_begin(&form, argc, argv, &c, &c.options, &code)) {
    if (c.options.programs.count != 2)
      code = pto_complain(PTO_EXIT_USAGE,
                          "compare: two runs are compared, not %zu; a program with its options stands in quotes",
                          c.options.programs.count);
    else if (pto_output_probe(c.options.json_path, &error) ||
             pto_report_page_probe(c.options.exports[PTO_EXPORT_page], &error))
      code = pto_complain(PTO_EXIT_USAGE, "compare: %s", error.sentence);
    else
      code = compare(&c);
  }
  for (int i = 0; i < 2; i++) close_side(&c.sides[i]);
  pto_run_options_fini(&c.options);
  for (int i = 0; i < 2; i++) free(models[i]);
  return code;
}
