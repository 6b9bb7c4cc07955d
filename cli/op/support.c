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
#include <runtime/base/text.h>

/* ---- dtypes ---- */

/* "floats, i8 u8", the larger sets by their names. */
static void append_dtypes(char *text, size_t size, uint32_t set) {
  static const struct {
    uint32_t set;
    const char *name;
  } named[] = {{PTO_DTYPES_ALL, "all"},
               {PTO_DTYPES_NUMBER, "numbers"},
               {PTO_DTYPES_INTEGER, "integers"},
               {PTO_DTYPES_FLOAT, "floats"}};
  const char *separator = "";
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(named); i++) {
    if ((set & named[i].set) != named[i].set) continue;
    pto_text_append(text, size, "%s%s", separator, named[i].name);
    set &= ~named[i].set;
    separator = " ";
  }
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    if ((set & PTO_DTYPE_BIT(dtype)) == 0) continue;
    pto_text_append(text, size, "%s%s", separator, pto_dtype_name(dtype));
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
    if (!is_one) pto_text_append(text, size, "%s%s: ", i > 0 ? "; " : "", trial->params[i]->name);
    append_dtypes(text, size, pto_trial_dtypes(trial->params[i]));
  }
}

/* ---- parameters ---- */

static void append_rank(const struct pto_kernel_param *param, char *text, size_t size) {
  if (param->min_rank == 0 && param->max_rank == 0) return;
  if (param->max_rank == 0)
    pto_text_append(text, size, "[%" PRIu32 "+]", param->min_rank);
  else if (param->min_rank == param->max_rank)
    pto_text_append(text, size, "[%" PRIu32 "]", param->min_rank);
  else
    pto_text_append(text, size, "[%" PRIu32 "-%" PRIu32 "]", param->min_rank, param->max_rank);
}

/* "in x[2+], out y, f32 value": modes, names, ranks where not any. */
static void format_params(const struct pto_kernel *kernel, char *text, size_t size) {
  static const char *const scalars[] = {"scalar", "f32", "i64", "u64"};
  text[0] = '\0';
  for (uint32_t i = 0; i < kernel->param_count; i++) {
    const struct pto_kernel_param *param = &kernel->params[i];
    const char *mode = param->mode == PTO_INPUT        ? "in"
                       : param->mode == PTO_OUTPUT     ? "out"
                       : param->mode == PTO_INOUT      ? "inout"
                       : param->mode == PTO_ACCUMULATE ? "accumulate"
                                                       : scalars[param->scalar & 3];
    pto_text_append(text, size, "%s%s %s", i > 0 ? ", " : "", mode, param->name);
    if (param->mode != PTO_SCALAR) append_rank(param, text, size);
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

struct support {
  struct pto_json_writer *w;
  bool has_text, has_head;
};

static int list_kernel(void *context, struct pto_trial *trial, const struct pto_op_plan *plan) {
  struct support *support = context;
  struct line line;
  describe(trial, &line);
  if (support->has_text && !support->has_head)
    puts("| kernel | core | parameters | dtypes | error in ulp of f32 | same bits on every level |\n"
         "|---|---|---|---|---|---|");
  support->has_head = true;
  if (support->has_text)
    printf("| %s | %s | %s | %s | %s | %s |\n", trial->kernel->name, line.cores, line.params, line.dtypes, line.error,
           line.bits);
  if (support->w != NULL) write_line(support->w, trial, &line);
  return PTO_EXIT_OK;
}

int pto_op_support(const struct pto_op_options *options, struct pto_json_writer *w) {
  struct support support = {.w = w, .has_text = !pto_json_takes_stdout(options->common.json_path)};
  const bool is_planned = options->dtypes != NULL || options->shapes != NULL || options->scalars != NULL;
  if (w != NULL) pto_json_put_array(w, "kernels");
  const int code = pto_op_each_kernel(options, is_planned, list_kernel, &support);
  if (w != NULL) pto_json_array_end(w);
  return code;
}
