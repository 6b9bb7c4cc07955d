/* SPDX-License-Identifier: MIT */
/*
 * `ptosim list`: programs, kernels, operations, fusions and models of graphs, chips and policies.  Each item's name is
 * the first word of its line.
 *
 * To add a list: a function and a line in `lists`.
 */
#include <cli/main/verb.h>

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/session/outside_operations.h>
#include <check/session/watched_step.h>
#include <cli/main/fault_report.h>
#include <cli/op/op.h>
#include <formats/units.h>
#include <cli/run/request.h>
#include <report/file/output_file.h>
#include <report/run/chip_keys.h>
#include <report/run/result.h>
#include <report/run/trace_view.h>
#include <graph/fuse/fusion.h>
#include <graph/models/graph_model.h>
#include <graph/build/operation.h>
#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>
#include <runtime/base/closest.h>
#include <runtime/base/text.h>
#include <runtime/sched/scheduler.h>
#include <sim/chips/chip.h>

#define NAME_COLUMN 26
#define MOST_SECONDS 4000000u

/* ---- programs ---- */

/* How many there are; their names are long lists, which print_details has. */
static void print_counts(const struct pto_program *program) {
  uint32_t cases = 0, options = 0;
  while (program->cases && program->cases[cases].name) cases++;
  while (program->options && program->options[options].name) options++;
  if (cases || options)
    printf("  [%" PRIu32 " case%s, %" PRIu32 " option%s]", cases, cases == 1 ? "" : "s", options,
           options == 1 ? "" : "s");
}

static void print_details(const struct pto_program *program) {
  char text[160];
  for (const struct pto_option *o = program->options; o && o->name; o++) {
    snprintf(text, sizeof text, "--set %s=%s", o->name, o->default_value ? o->default_value : "");
    printf("    %-34s %s (%s)\n", text, o->meaning ? o->meaning : "", pto_option_type_name(o->type));
  }
  for (const struct pto_case *c = program->cases; c && c->name; c++) {
    snprintf(text, sizeof text, "--case %s", c->name);
    printf("    %-34s %s", text, c->settings ? c->settings : "");
    if (c->tasks) printf(" → %" PRIu64 " task%s", c->tasks, pto_plural(c->tasks));
    if (c->edges) printf(", %" PRIu64 " edge%s", c->edges, pto_plural(c->edges));
    if (c->summary) printf(": %s", c->summary);
    puts(c->is_long ? " (long)" : "");
  }
  if (program->ranks) printf("    runs on %" PRIu32 " ranks; --ranks N: on so many\n", program->ranks);
  if (program->min_clusters > 1) printf("    needs a chip of %" PRIu32 " clusters\n", program->min_clusters);
}

/* As they are with the options' defaults. */
static int print_arrays(const struct pto_program *program) {
  static const char *const roles[] = {
      [PTO_ARRAY_INPUT] = "input", [PTO_ARRAY_OUTPUT] = "output", [PTO_ARRAY_INOUT] = "in and out"};
  const struct pto_program_request defaults = {0};
  struct pto_program_run *run;
  struct pto_error error;
  int status = pto_program_run_create(program, &defaults, &run, &error);
  if (status) return status;
  const struct pto_array *array;
  status = pto_program_run_prepare(run);
  if (status == PTO_OK)
    for (uint32_t i = 0; (array = pto_program_run_array(run, i)) != NULL; i++) {
      if (array->role == PTO_ARRAY_SCRATCH) continue;
      printf("    %-34s %s, %s [", array->name, roles[array->role], pto_dtype_name(array->dtype));
      for (uint32_t d = 0; d < array->ndims; d++) printf("%s%" PRIu64, d ? ", " : "", array->shape[d]);
      puts("]");
    }
  pto_program_run_destroy(run);
  return status;
}

struct program_list {
  bool with_details;
  struct pto_session_options watched; /* by --timeout */
  uint32_t count, left_out;
};

/* Within the time-out: constructors are the program's. */
static int load(struct program_list *list, const char *path, struct pto_loaded_program **loaded,
                struct pto_error *error) {
  struct pto_watched_step loading;
  list->watched.program = path;
  pto_watched_step_begin(&loading, &list->watched, "loading");
  const int status = pto_program_load(path, loaded, error);
  pto_watched_step_end(&loading);
  return status;
}

static int print_program(void *context, const char *name, const char *path) {
  struct program_list *list = context;
  struct pto_loaded_program *loaded;
  struct pto_watched_step preparing;
  struct pto_error error;
  list->count++;
  if (load(list, path, &loaded, &error)) {
    printf("%-*s cannot be loaded: %s\n", NAME_COLUMN, name, error.sentence);
    list->left_out++;
    return PTO_OK;
  }
  printf("%-*s %s", NAME_COLUMN, name, loaded->program->summary ? loaded->program->summary : "");
  if (!list->with_details) print_counts(loaded->program);
  putchar('\n');
  if (list->with_details) {
    print_details(loaded->program);
    pto_watched_step_begin(&preparing, &list->watched, "prepare");
    list->left_out += print_arrays(loaded->program) == PTO_ENOMEM;
    pto_watched_step_end(&preparing);
  }
  pto_program_unload(loaded);
  return PTO_OK;
}

/* "--timeout SECONDS" behind the names; how many names there are, or -1, having said why. */
static int take_timeout(int count, char **names, struct program_list *list, struct pto_config *config) {
  double seconds;
  struct pto_error error;
  if (count < 2 || strcmp(names[count - 2], "--timeout") != 0) return count;
  if (pto_parse_double(names[count - 1], &seconds, &error) || seconds > MOST_SECONDS) {
    pto_complain(PTO_EXIT_USAGE, "list: --timeout: \"%s\" is no number of seconds up to %u", names[count - 1],
                 MOST_SECONDS);
    return -1;
  }
  config->timeout_ms = (uint32_t)ceil(seconds * 1000);
  list->watched.has_timeout = true;
  return count - 2;
}

/* The programs named, with their options and cases, or all of them, a line each. */
static int list_programs(int words, char **names) {
  struct pto_config config = {.size = sizeof config, .on_timeout = pto_fault_report_on_timeout};
  struct program_list list = {.watched = {.size = sizeof list.watched, .config = &config}};
  const int count = take_timeout(words, names, &list, &config);
  if (count < 0) return PTO_EXIT_USAGE;
  list.with_details = count > 0;
  for (int i = 0; i < count; i++) {
    struct pto_loaded_program *loaded;
    struct pto_error error;
    if (load(&list, names[i], &loaded, &error)) return pto_complain(PTO_EXIT_USAGE, "list: %s", error.sentence);
    (void)print_program(&list, loaded->name, loaded->path);
    pto_program_unload(loaded);
  }
  const int status = count > 0 ? PTO_OK : pto_program_list(print_program, &list);
  if (status)
    return pto_complain(PTO_EXIT_FAILED, "list: %s",
                        status == PTO_ENOMEM ? "no memory for the programs' names"
                                             : "a folder of programs cannot be read");
  if (list.left_out)
    return pto_complain(PTO_EXIT_FAILED, "list: %" PRIu32 " of %" PRIu32 " programs could not be looked into",
                        list.left_out, list.count);
  if (list.count) return PTO_EXIT_OK;
  const char *path = getenv("PTO_PROGRAM_PATH");
  return pto_complain(PTO_EXIT_USAGE, "list: no programs in %s",
                      path && *path ? path : "programs/ beside ptosim; PTO_PROGRAM_PATH names other folders");
}

/* ---- kernels ---- */

static const char *param_mode(const struct pto_kernel_param *param) {
  return param->mode == PTO_UNUSED ? "unused" : pto_mode_name(param->mode);
}

static void print_kernel(const struct pto_kernel *kernel, bool is_whole) {
  static const char *const cores[] = {"-", "AIC", "AIV", "AIC or AIV"};
  char text[1024];
  snprintf(text, sizeof text, "%-*s %-10s", NAME_COLUMN, kernel->name, cores[kernel->cores & 3]);
  for (uint32_t k = 0; k < kernel->param_count; k++) {
    const struct pto_kernel_param *param = &kernel->params[k];
    pto_text_append(text, sizeof text, "%s %s%s%s", k ? "," : " ", param_mode(param), param->name ? " " : "",
                    param->name ? param->name : "");
  }
  if (is_whole)
    puts(text);
  else
    pto_op_print_line(text);
}

/* "f32 fp16, rank 2 to 4" */
static void print_param_needs(const struct pto_kernel_param *param) {
  static const char *const scalars[] = {
      "any type", [PTO_SCALAR_F32] = "f32", [PTO_SCALAR_I64] = "i64", [PTO_SCALAR_U64] = "u64"};
  if (param->mode == PTO_SCALAR) {
    puts(param->scalar < PTO_ARRAY_LENGTH(scalars) ? scalars[param->scalar] : "?");
    return;
  }
  const char *separator = "";
  if (param->dtypes == 0 || (param->dtypes & PTO_DTYPES_ALL) == PTO_DTYPES_ALL)
    fputs("any dtype", stdout);
  else
    for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
      if (!(param->dtypes & PTO_DTYPE_BIT(dtype))) continue;
      printf("%s%s", separator, pto_dtype_name(dtype));
      separator = " ";
    }
  if (param->max_rank == 0 && param->min_rank == 0)
    puts(", any rank");
  else if (param->max_rank == 0)
    printf(", rank %" PRIu32 " or more\n", param->min_rank);
  else if (param->min_rank == param->max_rank)
    printf(", rank %" PRIu32 "\n", param->max_rank);
  else
    printf(", rank %" PRIu32 " to %" PRIu32 "\n", param->min_rank, param->max_rank);
}

static void print_params(const struct pto_kernel *kernel) {
  for (uint32_t k = 0; k < kernel->param_count; k++) {
    const struct pto_kernel_param *param = &kernel->params[k];
    printf("    %-10s %-15s ", param_mode(param), param->name ? param->name : "");
    print_param_needs(param);
  }
}

/* The kernels named, by patterns too, with what each parameter must be; or all of them, a line each. */
static int list_kernels(int count, char **names) {
  for (uint32_t k = 0; count == 0 && k < pto_kernel_count(); k++) print_kernel(pto_kernel_at(k), false);
  for (int i = 0; i < count; i++) {
    bool is_known = false;
    for (uint32_t k = 0; k < pto_kernel_count(); k++) {
      const struct pto_kernel *kernel = pto_kernel_at(k);
      if (fnmatch(names[i], kernel->name, 0) != 0) continue;
      is_known = true;
      print_kernel(kernel, true);
      print_params(kernel);
    }
    if (!is_known) return pto_complain_no_kernel("list", names[i]);
  }
  return PTO_EXIT_OK;
}

/* ---- operations of graphs ---- */

static int refuse_op(const char *name) {
  struct pto_closest closest;
  char question[PTO_CLOSEST_TEXT];
  pto_closest_begin(&closest, name);
  for (uint32_t i = 0; i < pto_graph_operation_count(); i++)
    pto_closest_consider(&closest, pto_graph_operation_name(i));
  return pto_complain(PTO_EXIT_USAGE, "list: no operation is called \"%s\"; `ptosim list ops` names them%s", name,
                      pto_closest_question(&closest, question));
}

/* A line each, or those named with the dtypes and ranks of their operands. */
static int list_ops(int count, char **names) {
  struct pto_error error;
  if (pto_outside_operations_load(&error)) return pto_complain(PTO_EXIT_USAGE, "list: %s", error.sentence);
  for (uint32_t i = 0; count == 0 && i < pto_graph_operation_count(); i++)
    pto_op_print_operation(pto_op_find(pto_graph_operation_name(i)), false);
  for (int i = 0; i < count; i++) {
    const uint32_t op = pto_op_find(names[i]);
    if (op == PTO_GRAPH_OP_COUNT) return refuse_op(names[i]);
    pto_op_print_operation(op, true);
  }
  return PTO_EXIT_OK;
}

/* What several operations are lowered as together, and which they may be. */
static int list_fusions(int count, char **names) {
  for (uint32_t pattern = 0; pattern < PTO_FUSION_COUNT; pattern++)
    printf("%-*s %s\n", NAME_COLUMN, pto_fusion_name(pattern), pto_fusion_ops(pattern));
  return PTO_EXIT_OK;
}

/* ---- models ---- */

static int refuse_model(const char *name) {
  struct pto_closest closest;
  char question[PTO_CLOSEST_TEXT];
  const struct pto_graph_model_info *model;
  pto_closest_begin(&closest, name);
  for (uint32_t k = 0; (model = pto_graph_model_at(k)) != NULL; k++) pto_closest_consider(&closest, model->name);
  return pto_complain(PTO_EXIT_USAGE, "list: no model is called \"%s\"; `ptosim list models` names them%s", name,
                      pto_closest_question(&closest, question));
}

/* Those of `ptosim graph --model`, with their options where they are named. */
static int list_models(int count, char **names) {
  const struct pto_graph_model_info *model;
  for (uint32_t k = 0; count == 0 && (model = pto_graph_model_at(k)) != NULL; k++)
    printf("%-*s %s\n", NAME_COLUMN, model->name, model->summary);
  for (int i = 0; i < count; i++) {
    char text[160];
    if (!(model = pto_graph_model_find(names[i]))) return refuse_model(names[i]);
    printf("%-*s %s\n", NAME_COLUMN, model->name, model->summary);
    for (const struct pto_graph_model_option *o = model->options; o->name; o++) {
      if (o->text)
        snprintf(text, sizeof text, "--set %s=FILE", o->name);
      else
        snprintf(text, sizeof text, "--set %s=%" PRIu64, o->name, o->value);
      printf("    %-34s %s", text, o->meaning);
      if (!o->text) printf(" (%" PRIu64 " to %" PRIu64 ")", o->least, o->most);
      putchar('\n');
    }
  }
  return PTO_EXIT_OK;
}

/* ---- chips and policies ---- */

/* A line of what it is made of, by where its numbers come from. */
static void print_tags(const struct pto_chip_sheet *sheet) {
  uint32_t counts[PTO_CHIP_TAG_COUNT] = {0};
  for (uint32_t i = 0; i < sheet->count; i++) counts[sheet->notes[i].tag]++;
  for (uint32_t tag = PTO_CHIP_MEASURED; tag < PTO_CHIP_TAG_COUNT; tag++)
    printf("%s%" PRIu32 " %s", tag == PTO_CHIP_MEASURED ? "    " : ", ", counts[tag], pto_chip_tag_name(tag));
  puts("");
}

/* A chip that was named. */
struct sheet {
  struct pto_chip chip;
  struct pto_chip_sheet sheet;
};

/* Each number with its tag and its source. */
static void print_numbers(const struct sheet *one) {
  const struct pto_chip *chip = &one->chip;
  printf("%-*s %s%s\n", NAME_COLUMN, chip->name, chip->era[0] ? "era " : "", chip->era);
  print_tags(&one->sheet);
  for (uint32_t k = 0; k < one->sheet.count; k++) {
    const struct pto_chip_note *note = &one->sheet.notes[k];
    printf("    %-28s %12s %-8s %-9s%s%s\n", note->key, note->value, pto_chip_note_unit(note),
           pto_chip_tag_name(note->tag), note->source[0] ? " " : "", note->source);
  }
}

struct sheets {
  const struct sheet *items;
  int count;
};

static void put_chips(struct pto_json_writer *w, const void *context) {
  const struct sheets *sheets = context;
  const struct pto_error none = {.status = PTO_OK};
  pto_json_put_format(w, "pto-chips", 1);
  pto_json_put_array(w, "chips");
  for (int i = 0; i < sheets->count; i++) {
    const struct sheet *one = &sheets->items[i];
    pto_json_object_begin(w);
    pto_json_put_string(w, "name", one->chip.name);
    pto_json_put_string(w, "era", one->chip.era[0] ? one->chip.era : NULL);
    pto_json_key(w, "numbers");
    pto_chip_keys_put(&one->sheet, w);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_put_end(w, &none, PTO_EXIT_OK);
}

/* The chips named; as JSON with "--json FILE" behind their names. */
static int list_numbers(int count, char **names) {
  const bool has_json = count > 2 && strcmp(names[count - 2], "--json") == 0;
  const char *path = has_json ? names[count - 1] : NULL;
  const int chips = has_json ? count - 2 : count;
  struct sheet *sheets = calloc((size_t)chips, sizeof *sheets);
  struct pto_error error;
  int code = sheets ? PTO_EXIT_OK : pto_complain(PTO_EXIT_FAILED, "list: no memory for %d chips", chips);
  for (int i = 0; i < chips && code == PTO_EXIT_OK; i++)
    if (pto_chip_load_sheet(names[i], &sheets[i].chip, &sheets[i].sheet, &error))
      code = pto_complain(PTO_EXIT_USAGE, "list: %s", error.sentence);
  for (int i = 0; i < chips && code == PTO_EXIT_OK && !pto_json_takes_stdout(path); i++) print_numbers(&sheets[i]);
  const struct sheets told = {sheets, chips};
  if (code == PTO_EXIT_OK) code = pto_write_report(path, put_chips, &told, code);
  free(sheets);
  return code;
}

static int list_chips(int count, char **names) {
  const char *name;
  if (count > 0) return list_numbers(count, names);
  for (uint32_t i = 0; (name = pto_chip_name_at(i)) != NULL; i++) {
    struct pto_chip chip;
    struct pto_error error;
    if (pto_chip_load(name, &chip, &error)) return pto_complain(PTO_EXIT_FAILED, "list: %s", error.sentence);
    printf("%-*s %" PRIu32 " %s (%" PRIu32 " AIC, %" PRIu32 " AIV), %" PRIu32 " %s, %" PRIu64 " KiB of UB, %" PRIu64
           " KiB of L1\n",
           NAME_COLUMN, name, chip.cluster_count, chip.cluster_count == 1 ? "cluster" : "clusters", chip.cluster_count,
           2 * chip.cluster_count, chip.scheduler_count, chip.scheduler_count == 1 ? "scheduler" : "schedulers",
           chip.ub_bytes >> 10, chip.l1_bytes >> 10);
  }
  return PTO_EXIT_OK;
}

static int list_policies(int count, char **names) {
  const char *syntax;
  for (uint32_t i = 0; (syntax = pto_policy_syntax_at(i)) != NULL; i++) puts(syntax);
  return PTO_EXIT_OK;
}

/* ---- the verb ---- */

static const struct list {
  const char *name;
  int (*print)(int count, char **names);
  bool takes_names;
} lists[] = {{"programs", list_programs, true}, {"kernels", list_kernels, true}, {"ops", list_ops, true},
             {"fusions", list_fusions, false},  {"models", list_models, true},   {"chips", list_chips, true},
             {"policies", list_policies, false}};

int pto_cmd_list(int argc, char **argv) {
  bool is_help = false;
  for (int i = 1; i < argc; i++) is_help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
  if (is_help) {
    puts("ptosim list [programs|kernels|ops|fusions|models|chips|policies]\n"
         "                                                 what there is, a line each; without a word, programs\n"
         "ptosim list programs [PROGRAM...] [--timeout SECONDS]\n"
         "                                                 their options and cases; what a program may take to load\n"
         "ptosim list kernels KERNEL...                    what each of their parameters must be\n"
         "ptosim list ops OPERATION...                     the operands of operations of graphs, and their options\n"
         "ptosim list chips CHIP... [--json FILE]          their numbers, and where each of them comes from\n"
         "ptosim list models MODEL...                      the options of models of `ptosim graph`");
    return PTO_EXIT_OK;
  }
  if (argc == 1) return list_programs(0, NULL);
  const bool has_json = argc > 4 && strcmp(argv[1], "chips") == 0 && strcmp(argv[argc - 2], "--json") == 0;
  const bool has_timeout = argc > 3 && strcmp(argv[1], "programs") == 0 && strcmp(argv[argc - 2], "--timeout") == 0;
  for (int i = 1; i < (has_json || has_timeout ? argc - 2 : argc); i++)
    if (argv[i][0] == '-')
      return pto_complain(PTO_EXIT_USAGE, "list: there is no option %s here; --help lists what it takes", argv[i]);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(lists); i++) {
    if (strcmp(argv[1], lists[i].name) != 0) continue;
    if (argc > 2 && !lists[i].takes_names)
      return pto_complain(PTO_EXIT_USAGE, "list %s: takes nothing more, not \"%s\"", argv[1], argv[2]);
    return lists[i].print(argc - 2, argv + 2);
  }
  char question[PTO_CLOSEST_TEXT];
  return pto_complain(
      PTO_EXIT_USAGE,
      "list: \"%s\" is none of programs, kernels, ops, fusions, models, chips, policies; a program's "
      "options and cases are "
      "shown by `ptosim list programs NAME`%s",
      argv[1],
      pto_closest_among(argv[1], strlen(argv[1]), &lists[0].name, PTO_ARRAY_LENGTH(lists), sizeof lists[0], question));
}
