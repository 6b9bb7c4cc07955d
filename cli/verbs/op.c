/* SPDX-License-Identifier: MIT */
/*
 * `ptosim op`: tries, times or lists kernels one by one.  This file has the verb and its first action, test: each
 * combination of dtypes in each layout against the double-precision reference.
 */
#include <cli/run/judgement.h>
#include <cli/op/op.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <cli/main/verb.h>
#include <formats/json_writer.h>
#include <graph/build/operation.h>
#include <kernels/levels/level.h>
#include <report/file/output_file.h>
#include <runtime/base/closest.h>

/* ---- test ---- */

/* What one combination of dtypes came to, over its layouts and outputs. */
struct row {
  struct pto_trial_error error;
  uint32_t layout, output;
  uint64_t index[PTO_MAX_DIMS]; /* of the element */
  uint64_t elems;
  int status;
  char message[256];
};

static void keep_worst(const struct pto_trial *trial, struct row *row, uint32_t output, uint32_t layout) {
  const struct pto_trial_tensor *tensor = &trial->tensors[output];
  struct pto_trial_error error;
  pto_trial_judge(trial, output, &error);
  const uint64_t wrong_count = row->error.wrong_count + error.wrong_count;
  const bool is_worse = row->elems == 0 || (row->error.wrong_count == 0 &&
                                            (error.wrong_count > 0 || pto_trial_error_is_worse(&error, &row->error)));
  if (is_worse) {
    row->error = error;
    row->layout = layout;
    row->output = output;
    for (uint32_t d = tensor->t.ndims; d-- > 0 && pto_trial_numel(tensor) > 0; error.index /= tensor->shape[d])
      row->index[d] = error.index % tensor->shape[d];
  }
  row->error.wrong_count = wrong_count;
  row->elems += pto_trial_numel(tensor);
}

/* One layout; false where there is no result to judge. */
static bool test_layout(struct pto_trial *trial, const struct pto_trial_case *c, struct row *row) {
  row->layout = row->elems == 0 ? c->layout : row->layout;
  row->status = pto_trial_make(trial, c);
  if (row->status == PTO_OK) row->status = pto_trial_expect(trial);
  if (row->status == PTO_OK) row->status = pto_trial_run(trial);
  if (row->status != PTO_OK) {
    snprintf(row->message, sizeof row->message, "%s",
             row->status == PTO_ENOMEM ? "there is not enough memory for this shape" : trial->message);
    return false;
  }
  for (uint32_t i = 0; i < trial->args.tensor_count; i++)
    if (pto_trial_is_written(trial->params[i])) keep_worst(trial, row, i, c->layout);
  const int stray = pto_trial_stray(trial);
  if (stray < 0) return true;
  row->error.wrong_count++;
  snprintf(row->message, sizeof row->message, "bytes of tensor %d that are not its to write have changed", stray);
  return false;
}

static void print_row(const struct pto_trial *trial, const struct pto_trial_case *c, const struct row *row) {
  char dtypes[128], shapes[256];
  pto_op_format_dtypes(trial, c, dtypes, sizeof dtypes);
  pto_op_format_shapes(trial, c, shapes, sizeof shapes);
  printf("%-20s %-28s %-40s ", trial->kernel->name, dtypes, shapes);
  if (row->message[0] != '\0')
    printf("FAILED: %s", row->message);
  else if (!pto_trial_is_float(c->dtypes[row->output]))
    printf(row->error.wrong_count == 0 ? "exact" : "WRONG: %" PRIu64 " elements", row->error.wrong_count);
  else
    printf("%s%.4g of %.4g ulp", row->error.wrong_count == 0 ? "" : "WRONG: ", row->error.ulps, row->error.allowed);
  if (row->error.wrong_count > 0 || (row->error.ulps > 0 && row->message[0] == '\0')) {
    printf(" at %s[", trial->params[row->output]->name);
    for (uint32_t d = 0; d < c->shapes[row->output].ndims; d++) printf("%s%" PRIu64, d == 0 ? "" : ",", row->index[d]);
    printf("], %s: %.9g for %.17g", pto_layout_name(row->layout), row->error.got, row->error.value);
  }
  putchar('\n');
  fflush(stdout);
}

static void write_row(struct pto_json_writer *w, const struct pto_trial *trial, const struct pto_trial_case *c,
                      const struct row *row) {
  const bool has_ulps = row->status == PTO_OK && pto_trial_is_float(c->dtypes[row->output]);
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_op_put_case(w, trial, c, row->layout);
  pto_json_put_string(w, "output", trial->params[row->output]->name);
  pto_json_put_u64(w, "elements", row->elems);
  pto_json_put_u64(w, "wrong", row->error.wrong_count);
  if (pto_json_try_key(w, "worst_ulps", has_ulps)) pto_json_double(w, row->error.ulps);
  if (pto_json_try_key(w, "allowed_ulps", has_ulps)) pto_json_double(w, row->error.allowed);
  pto_json_put_string(w, "error", row->message[0] == '\0' ? NULL : row->message);
  pto_json_object_end(w);
}

struct tally {
  uint32_t passed, wrong, failed;
  struct pto_coverage coverage;
};

struct test {
  const struct pto_op_options *options;
  struct pto_json_writer *w;
  struct tally tally;
};

static int test_kernel(void *context, struct pto_trial *trial, const struct pto_op_plan *plan) {
  struct test *test = context;
  const char *asked = test->options->layout;
  const bool is_one = asked != NULL && strcmp(asked, "all") != 0;
  const uint32_t first = is_one ? (uint32_t)pto_layout_from_name(asked) : 0;
  for (uint32_t t = 0; t < plan->tuple_count && !pto_interrupted(); t++) {
    struct pto_trial_case c = pto_op_case(plan, trial, t, first);
    struct row row = {0};
    bool goes_on = true;
    for (c.layout = first; goes_on && c.layout < (is_one ? first + 1 : PTO_LAYOUT_COUNT); c.layout++)
      goes_on = test_layout(trial, &c, &row);
    if (!pto_json_takes_stdout(test->options->common.json_path)) print_row(trial, &c, &row);
    if (test->w != NULL) write_row(test->w, trial, &c, &row);
    pto_coverage_add(&test->tally.coverage, PTO_COVERAGE_ELEMENTS, row.elems);
    pto_coverage_add(&test->tally.coverage, PTO_COVERAGE_DTYPES, row.status == PTO_OK);
    pto_coverage_leave_because(&test->tally.coverage, PTO_COVERAGE_DTYPES, row.status != PTO_OK, "they failed");
    ++*(row.status != PTO_OK        ? &test->tally.failed
        : row.error.wrong_count > 0 ? &test->tally.wrong
                                    : &test->tally.passed);
  }
  pto_coverage_add(&test->tally.coverage, PTO_COVERAGE_SHAPES, 1);
  pto_coverage_add(&test->tally.coverage, PTO_COVERAGE_LAYOUTS, is_one ? 1 : 0);
  return PTO_EXIT_OK;
}

/* Loops for other processors have results of their own, and so have other layouts. */
static void cover(const struct pto_op_options *options, struct pto_coverage *coverage, struct pto_json_writer *w) {
  if (!coverage->is_known) return;
  pto_coverage_leave(coverage, PTO_COVERAGE_LAYOUTS,
                     coverage->rows[PTO_COVERAGE_LAYOUTS].judged ? PTO_LAYOUT_COUNT - 1 : 0, "op --layout all");
  pto_coverage_add(coverage, PTO_COVERAGE_LEVELS, 1);
  for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++)
    pto_coverage_leave(coverage, PTO_COVERAGE_LEVELS, level != pto_level_best() && pto_level_is_supported(level),
                       "op --level LEVEL");
  pto_op_cover(options, coverage, w);
}

/* `code`: of the tries, PTO_EXIT_OK or PTO_EXIT_INTERRUPTED. */
static int judge(const struct pto_op_options *options, const struct tally *tally, int code) {
  const uint32_t count = tally->passed + tally->wrong + tally->failed;
  if (!pto_json_takes_stdout(options->common.json_path))
    printf("%" PRIu32 " right, %" PRIu32 " wrong, %" PRIu32 " failed\n", tally->passed, tally->wrong, tally->failed);
  fflush(stdout);
  if (code != PTO_EXIT_OK) return code;
  if (tally->failed > 0)
    return pto_complain(PTO_EXIT_FAILED, "op: %" PRIu32 " of %" PRIu32 " failed", tally->failed, count);
  if (tally->wrong > 0)
    return pto_complain(PTO_EXIT_FINDINGS, "op: %" PRIu32 " of %" PRIu32 " are wrong", tally->wrong, count);
  return PTO_EXIT_OK;
}

static int test(const struct pto_op_options *options, struct pto_json_writer *w) {
  struct test test = {.options = options, .w = w};
  if (w != NULL) {
    pto_json_put_u64(w, "seed", options->common.seed);
    pto_json_put_string(w, "level", pto_level_name(pto_level_best()));
    pto_json_put_array(w, "results");
  }
  int code = pto_op_each_kernel(options, true, test_kernel, &test);
  if (code == PTO_EXIT_OK || code == PTO_EXIT_INTERRUPTED) code = judge(options, &test.tally, code);
  if (w != NULL) pto_json_array_end(w);
  cover(options, &test.tally.coverage, w);
  if (w == NULL) return code;
  pto_json_put_u64(w, "right", test.tally.passed);
  pto_json_put_u64(w, "wrong", test.tally.wrong);
  pto_json_put_u64(w, "failed", test.tally.failed);
  return code;
}

/* ---- the verb ---- */

static const struct action {
  const char *name;
  int (*run)(const struct pto_op_options *options, struct pto_json_writer *w);
  bool needs_name;
} actions[] = {{"test", test, true}, {"perf", pto_op_perf, true}, {"support", pto_op_support, false}};

static void help(const struct pto_run_options *options) {
  puts("ptosim op test NAME [OPTION...]       a kernel against its double-precision reference: the worst error in ulp\n"
       "ptosim op perf NAME [OPTION...]       how fast it is here, what it costs, and what bounds it on a chip\n"
       "ptosim op support [NAME]              what there is: dtypes, modes, ranks, and the errors that are stated; "
       "with --dtype\n"
       "                                      or --shape, of the kernels that take these\n\n"
       "NAME is a kernel of `ptosim list kernels`, a pattern with * and ?, or all; or an operation of graphs "
       "of\n`ptosim list ops`, as "
       "graph:NAME where a kernel is called the same.\n");
  pto_run_options_help(PTO_VERB_op, pto_op_specs);
  puts("\nExit status 0 where all is right, 1 where a result is wrong, 2 for bad arguments or what the kernel does not "
       "take, "
       "3\nwhere a kernel failed.");
}

static int limit_level(const struct pto_op_options *options) {
  for (uint32_t level = 0; options->level != NULL && level < PTO_LEVEL_COUNT; level++) {
    if (strcmp(pto_level_name(level), options->level) != 0) continue;
    if (!pto_level_is_supported(level))
      return pto_complain(PTO_EXIT_USAGE, "op: this processor has no %s", options->level);
    pto_level_limit(level);
  }
  return PTO_EXIT_OK;
}

static bool names_any(const struct pto_op_options *options) {
  for (uint32_t k = 0; k < pto_kernel_count(); k++)
    if (pto_op_names(options, k)) return true;
  return false;
}

/* Where a kernel and an operation have one name, the operation may be what is meant. */
static int refuse_ignored(const struct pto_op_options *options, const char *ignored, bool is_operation) {
  const bool has_both = !is_operation && options->name != NULL && pto_op_find(options->name) < PTO_GRAPH_OP_COUNT;
  return pto_complain(PTO_EXIT_USAGE, "op: --%s means nothing to op %s of %s%s%s", ignored, options->action,
                      is_operation ? "an operation of graphs" : "a kernel",
                      has_both ? "; the operation of graphs is graph:" : "", has_both ? options->name : "");
}

/* Of a name that is neither a kernel's nor an operation's. */
static int refuse_name(const char *name) {
  char question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  pto_closest_begin(&closest, name);
  for (uint32_t k = 0; k < pto_kernel_count(); k++) pto_closest_consider(&closest, pto_kernel_at(k)->name);
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++) pto_closest_consider(&closest, pto_op_info(op)->name);
  return pto_complain(PTO_EXIT_USAGE,
                      "op: no kernel \"%s\", and no operation; `ptosim list kernels` and `ptosim list ops` name them%s",
                      name, pto_closest_question(&closest, question));
}

/* The action, with the object of --json around what it writes. */
static int act(const struct pto_op_options *options, const struct action *action, uint32_t operation) {
  static struct pto_json_writer writer;
  const char *path = options->common.json_path;
  struct pto_json_writer *w = path ? &writer : NULL;
  struct pto_error error;
  int fd;
  if (path) {
    fflush(stdout);
    if (pto_output_open(path, &fd, &error)) return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
    pto_json_init(w, fd);
    pto_json_object_begin(w);
    pto_json_put_format(w, "pto-op", 1);
    pto_json_put_string(w, "op", action->name);
  }
  pto_progress_line_begin("op", !isatty(STDOUT_FILENO)); /* there each row that comes says enough */
  const int code = operation < PTO_GRAPH_OP_COUNT ? pto_op_operation(options, operation, w) : action->run(options, w);
  pto_progress_line_end();
  if (!path) return code;
  pto_json_put_u64(w, "exit", (uint64_t)code);
  pto_json_object_end(w);
  fflush(stdout);
  if (pto_output_close(path, fd, pto_json_finish(w), &error))
    return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  return code;
}

static int op(struct pto_op_options *options) {
  const struct pto_string_list *words = &options->common.programs;
  if (words->count > 2) return pto_complain(PTO_EXIT_USAGE, "op: one NAME at a time, not also \"%s\"", words->items[2]);
  if (words->count == 0) return pto_complain(PTO_EXIT_USAGE, "op: which of test, perf, support?");
  options->action = words->items[0];
  options->name = words->count > 1 ? words->items[1] : NULL;
  if (!options->common.chip) options->common.chip = PTO_HARDWARE_CHIP;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(actions); i++) {
    if (strcmp(options->action, actions[i].name) != 0) continue;
    const uint32_t operation = pto_op_operation_of(options);
    const bool is_operation = operation < PTO_GRAPH_OP_COUNT;
    const char *ignored = pto_op_options_ignored(options, is_operation);
    if (ignored != NULL) return refuse_ignored(options, ignored, is_operation);
    if (options->name == NULL && actions[i].needs_name)
      return pto_complain(PTO_EXIT_USAGE, "op %s: which kernel?  `ptosim list kernels` names them", actions[i].name);
    if (!is_operation && options->name != NULL && strncmp(options->name, "graph:", 6) == 0)
      return pto_complain(PTO_EXIT_USAGE, "op: no operation is called \"%s\"; `ptosim list ops` names them",
                          options->name + 6);
    if (!is_operation && !names_any(options)) return refuse_name(options->name);
    int code = pto_complain_unwritable(options->common.json_path);
    if (code == PTO_EXIT_OK) code = limit_level(options);
    if (code != PTO_EXIT_OK) return code;
    const struct pto_judgement judgement = {.verb = "op",
                                            .program = options->name ? options->name : "all",
                                            .exit_code = act(options, &actions[i], operation)};
    return pto_write_judgement(&options->common, &judgement);
  }
  return pto_complain(PTO_EXIT_USAGE, "op: \"%s\" is none of test, perf, support", options->action);
}

int pto_cmd_op(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_op, pto_op_specs, help, false};
  struct pto_op_options options = {.action = NULL};
  int code;
  if (pto_run_options_begin(&form, argc, argv, &options, &options.common, &code)) code = op(&options);
  pto_run_options_fini(&options.common);
  return code;
}
