/* SPDX-License-Identifier: MIT */
/*
 * `ptosim op support`: the kernels of the list, what they take, and what is stated about their errors, as the table
 * that docs/tables/kernels.txt holds; a test compares the two.
 */
#include <cli/op/op.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <formats/json_writer.h>
#include <cli/main/verb.h>
#include <kernels/api/list.h>

/* ---- dtypes ---- */

static void append(char *text, size_t size, const char *word) {
  const size_t used = strlen(text);
  if (used < size) snprintf(text + used, size - used, "%s", word);
}

/* "floats, i8 u8", the larger sets by their names. */
static void append_dtypes(char *text, size_t size, uint32_t set) {
  static const struct {
    uint32_t set;
    const char *name;
  } named[] = {{PTO_DTYPES_ALL, "all"},
               {PTO_DTYPES_ALL & ~(PTO_DTYPE_BIT(PTO_INT4) | PTO_DTYPE_BIT(PTO_UINT4)), "all of whole bytes"},
               {PTO_DTYPES_NUMBER, "numbers"},
               {PTO_DTYPES_INTEGER, "integers"},
               {PTO_DTYPES_FLOAT, "floats"}};
  const char *separator = "";
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(named); i++) {
    if ((set & named[i].set) != named[i].set) continue;
    append(text, size, separator);
    append(text, size, named[i].name);
    set &= ~named[i].set;
    separator = " ";
  }
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    if ((set & PTO_DTYPE_BIT(dtype)) == 0) continue;
    append(text, size, separator);
    append(text, size, pto_dtype_name(dtype));
    separator = " ";
  }
}

/* One set where all tensors have it, else each parameter's. */
static void format_dtypes(const struct pto_trial *trial, char *text, size_t size) {
  bool is_one = true;
  text[0] = '\0';
  for (uint32_t i = 1; i < trial->args.tensor_count; i++)
    is_one = is_one && pto_trial_dtypes(trial->params[i]) == pto_trial_dtypes(trial->params[0]);
  for (uint32_t i = 0; i < (is_one ? 1 : trial->args.tensor_count); i++) {
    if (i > 0) append(text, size, "; ");
    if (!is_one) {
      append(text, size, trial->params[i]->name);
      append(text, size, ": ");
    }
    append_dtypes(text, size, pto_trial_dtypes(trial->params[i]));
  }
}

/* ---- parameters ---- */

static void format_rank(const struct pto_kernel_param *param, char *text, size_t size) {
  if (param->min_rank == 0 && param->max_rank == 0) return;
  char word[32];
  if (param->max_rank == 0)
    snprintf(word, sizeof word, "[%" PRIu32 "+]", param->min_rank);
  else if (param->min_rank == param->max_rank)
    snprintf(word, sizeof word, "[%" PRIu32 "]", param->min_rank);
  else
    snprintf(word, sizeof word, "[%" PRIu32 "-%" PRIu32 "]", param->min_rank, param->max_rank);
  append(text, size, word);
}

/* "in x[2+], out y, f32 value": modes, names, ranks where not any. */
static void format_params(const struct pto_kernel *kernel, char *text, size_t size) {
  static const char *const scalars[] = {"scalar", "f32", "i64", "u64"};
  text[0] = '\0';
  for (uint32_t i = 0; i < kernel->param_count; i++) {
    const struct pto_kernel_param *param = &kernel->params[i];
    const char *mode = param->mode == PTO_INPUT        ? "in "
                       : param->mode == PTO_OUTPUT     ? "out "
                       : param->mode == PTO_INOUT      ? "inout "
                       : param->mode == PTO_ACCUMULATE ? "accumulate "
                                                       : scalars[param->scalar & 3];
    if (i > 0) append(text, size, ", ");
    append(text, size, mode);
    if (param->mode == PTO_SCALAR) append(text, size, " ");
    append(text, size, param->name);
    if (param->mode != PTO_SCALAR) format_rank(param, text, size);
  }
}

/* ---- errors ---- */

static bool has_float_output(const struct pto_trial *trial) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++)
    if (pto_trial_is_written(trial->params[i]) && (pto_trial_dtypes(trial->params[i]) & PTO_DTYPES_FLOAT) != 0)
      return true;
  return false;
}

static void format_error(const struct pto_trial *trial, char *text, size_t size) {
  const struct pto_kernel_reference *reference = trial->reference;
  if (!has_float_output(trial) || (reference->ulps == 0 && reference->slack == NULL))
    snprintf(text, size, "exact");
  else
    snprintf(text, size, "%.4g%s%s", reference->ulps, reference->slack == NULL ? "" : " + ",
             reference->slack == NULL ? "" : reference->slack);
}

/* ---- the table ---- */

struct line {
  const char *cores, *bits;
  char params[512], dtypes[512], error[256];
};

static void describe(const struct pto_trial *trial, struct line *line) {
  line->cores = trial->kernel->cores == PTO_AIC ? "AIC" : trial->kernel->cores == PTO_AIV ? "AIV" : "AIC, AIV";
  line->bits = (trial->reference->flags & PTO_REFERENCE_LEVELS_DIFFER) == 0 ? "yes" : "no";
  format_params(trial->kernel, line->params, sizeof line->params);
  format_dtypes(trial, line->dtypes, sizeof line->dtypes);
  format_error(trial, line->error, sizeof line->error);
}

static void write_line(struct pto_json_writer *w, const struct pto_trial *trial, const struct line *line) {
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_string(w, "kernel", trial->kernel->name);
  pto_json_put_string(w, "cores", line->cores);
  pto_json_put_string(w, "parameters", line->params);
  pto_json_put_object(w, "dtypes");
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    pto_json_key(w, trial->params[i]->name);
    pto_json_array_begin(w);
    for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
      if ((pto_trial_dtypes(trial->params[i]) & PTO_DTYPE_BIT(dtype)) != 0) pto_json_string(w, pto_dtype_name(dtype));
    pto_json_array_end(w);
  }
  pto_json_object_end(w);
  pto_json_put_double(w, "ulps", trial->reference->ulps);
  pto_json_put_string(w, "slack", trial->reference->slack);
  pto_json_put_bool(w, "same_bits_on_all_levels", strcmp(line->bits, "yes") == 0);
  pto_json_object_end(w);
}

/* Whether the kernel takes the dtypes, shapes and scalars that were given; where not, and it is the one that was named,
 * the sentence is in `error`. */
static bool takes(const struct pto_op_options *options, uint32_t kernel, struct pto_trial *trial,
                  struct pto_error *error) {
  static struct pto_op_plan plan;
  if (options->dtypes == NULL && options->shapes == NULL && options->scalars == NULL) {
    pto_trial_init(trial, kernel);
    return true;
  }
  return pto_op_plan(options, kernel, trial, &plan, error) == PTO_OK;
}

/* Kernels of a pattern that do not take what was given are left out; PTO_EXIT_USAGE where none is left. */
static int list_kernels(const struct pto_op_options *options, struct pto_json_writer *w, bool has_text) {
  static struct pto_trial trial;
  struct line line;
  struct pto_error error;
  uint32_t count = 0;
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    if (!pto_op_names(options, k)) continue;
    if (!takes(options, k, &trial, &error)) {
      if (pto_op_is_pattern(options)) continue;
      return pto_complain(PTO_EXIT_USAGE, "op: %s", error.sentence);
    }
    if (has_text && count == 0)
      puts("| kernel | core | parameters | dtypes | error in ulp of f32 | same bits on every level |\n"
           "|---|---|---|---|---|---|");
    describe(&trial, &line);
    if (has_text)
      printf("| %s | %s | %s | %s | %s | %s |\n", trial.kernel->name, line.cores, line.params, line.dtypes, line.error,
             line.bits);
    if (w != NULL) write_line(w, &trial, &line);
    count++;
  }
  if (count > 0) return PTO_EXIT_OK;
  return pto_complain(PTO_EXIT_USAGE, "op: no kernel that \"%s\" means takes that",
                      options->name ? options->name : "all");
}

int pto_op_support(const struct pto_op_options *options) {
  struct pto_json_writer *w;
  int code = pto_op_report_open(options, &w);
  if (code != PTO_EXIT_OK) return code;
  if (w == NULL) return list_kernels(options, NULL, true);
  pto_json_put_array(w, "kernels");
  code = list_kernels(options, w, !pto_json_takes_stdout(options->json_path));
  pto_json_array_end(w);
  return pto_op_report_close(options, w, code);
}
