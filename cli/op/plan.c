/* SPDX-License-Identifier: MIT */
/*
 * The options of `ptosim op`, and what calls of a kernel they ask for.
 */
#include <cli/op/op.h>

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <graph/build/operation.h>
#include <kernels/levels/level.h>
#include <runtime/base/text.h>

#define DRAWS 16
#define MOST_ELEMS (UINT64_C(1) << 40) /* of a tensor, so that no product of sizes overflows */

/* ---- options ---- */

static int set_layout(void *target, const char *value, struct pto_error *error) {
  char names[128] = "";
  *(const char **)target = value;
  if (strcmp(value, "all") == 0 || pto_layout_from_name(value) >= 0) return PTO_OK;
  for (uint32_t layout = 0; layout < PTO_LAYOUT_COUNT; layout++)
    pto_text_append(names, sizeof names, "%s, ", pto_layout_name(layout));
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is none of %sall", value, names);
}

static int set_level(void *target, const char *value, struct pto_error *error) {
  *(const char **)target = value;
  for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++)
    if (strcmp(pto_level_name(level), value) == 0) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is none of plain, avx2, avx512", value);
}

#define TEXT(name) PTO_OPTION_TEXT(struct pto_op_options, name)
#define FIELD(name) .field = offsetof(struct pto_op_options, name)
const struct pto_option_spec pto_op_specs[] = {
    {"dtype", "DTYPE[,...]", "one for all tensors that may have it, or one each (default: all that it takes)",
     TEXT(dtypes)},
    {"shape", "MxN[,...]", "sizes that the shapes follow from, as 64x32x16 for m, k and n; or a shape each",
     TEXT(shapes)},
    {"scalar", "X[,...]", "its scalars (default: drawn from the seed)", TEXT(scalars)},
    {"set", "NAME=VALUE", "an option of an operation of graphs, as strides=2,2; may be repeated", .set = NULL},
    {"layout", "LAYOUT", "of all tensors, or all (default: test all, perf contiguous)", .set = set_layout,
     FIELD(layout)},
    {"level", "LEVEL", "no instruction set above plain, avx2 or avx512", .set = set_level, FIELD(level)},
    {"seed", "N", "of the inputs (default 0)", .set = NULL},
    {"chip", "CHIP", "perf: whose bounds are shown (default " PTO_HARDWARE_CHIP ")", .set = NULL},
    {"json", "FILE", "writes the results as one JSON object; - is standard output", .set = NULL},
    {"help", NULL, "this text", .set = NULL},
    {0}};

/* Options that mean something to these actions alone, of a kernel and of an operation of graphs; NULL: to all. */
static const struct {
  const char *name, *actions, *of_graphs;
} restricted[] = {{"scalar", NULL, ""},
                  {"set", "", NULL},
                  {"layout", "test perf", ""},
                  {"level", "test perf", "test perf"},
                  {"seed", "test perf", "test perf"},
                  {"chip", "perf", "perf"},
                  {"chip-set", "perf", "perf"}};

const char *pto_op_options_ignored(const struct pto_op_options *options, bool is_operation) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(restricted); i++) {
    const char *actions = is_operation ? restricted[i].of_graphs : restricted[i].actions;
    if (actions != NULL && strstr(actions, options->action) == NULL &&
        pto_run_options_given(&options->common, pto_op_specs, restricted[i].name))
      return restricted[i].name;
  }
  return NULL;
}

/* Whether NAME means more than one kernel. */
static bool is_pattern(const struct pto_op_options *options) {
  return options->name == NULL || strcmp(options->name, "all") == 0 || strpbrk(options->name, "*?[") != NULL;
}

bool pto_op_names(const struct pto_op_options *options, uint32_t kernel) {
  if (options->name == NULL || strcmp(options->name, "all") == 0) return true;
  return fnmatch(options->name, pto_kernel_at(kernel)->name, 0) == 0;
}

/* ---- shapes ---- */

/* "64x32", "scalar"; *end is behind it. */
static int parse_shape(const char *text, const char **end, struct pto_reference_shape *shape, struct pto_error *error) {
  const char *const first = text;
  uint64_t numel = 1;
  memset(shape, 0, sizeof *shape);
  if (strncmp(text, "scalar", 6) == 0) {
    *end = text + 6;
    return PTO_OK;
  }
  for (;; text++) {
    char *behind;
    const uint64_t extent = strtoull(text, &behind, 10);
    if (text[0] < '0' || text[0] > '9' || shape->ndims == PTO_MAX_DIMS || extent > MOST_ELEMS ||
        (extent != 0 && numel > MOST_ELEMS / extent))
      return pto_error_set(error, PTO_EINVAL,
                           "--shape: \"%.*s\" is no shape such as 128x64, of at most %d extents and 2^40 elements",
                           (int)strcspn(first, ","), first, PTO_MAX_DIMS);
    shape->shape[shape->ndims++] = extent;
    numel *= extent == 0 ? 1 : extent;
    text = behind;
    if (*text != 'x') break;
  }
  *end = text;
  return PTO_OK;
}

int pto_op_parse_shapes(const char *text, struct pto_reference_shape *shapes, uint32_t *count,
                        struct pto_error *error) {
  const char *at = text;
  for (*count = 0;; at++) {
    if (*count == PTO_MAX_TENSORS) return pto_error_set(error, PTO_EINVAL, "--shape: too many shapes");
    const int status = parse_shape(at, &at, &shapes[(*count)++], error);
    if (status != PTO_OK) return status;
    if (*at != ',') break;
  }
  if (*at == '\0') return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "--shape: \"%s\" is no shape such as 128x64", text);
}

/* What else a case has (an axis, groups) follows from a draw, and not every draw goes with every size. */
static bool try_sizes(const struct pto_trial *trial, const struct pto_reference_shape *shape, uint64_t seed,
                      struct pto_trial_case *c) {
  struct pto_reference_sizes sizes = {.rank = shape->ndims};
  memcpy(sizes.extents, shape->shape, sizeof sizes.extents);
  for (uint32_t i = 0; i < DRAWS; i++) {
    sizes.draw = pto_mix64(seed + i);
    if (pto_trial_sizes(trial, &sizes, c)) return true;
  }
  return false;
}

/* Says how many sizes make shapes of this kernel, and how many shapes it takes. */
static int refuse_shapes(const struct pto_op_options *options, const struct pto_trial *trial, uint32_t count,
                         struct pto_error *error) {
  const char *name = trial->kernel->name;
  const uint32_t tensor_count = trial->args.tensor_count;
  uint32_t least = PTO_MAX_DIMS, most = 0;
  if (count > 1)
    return pto_error_set(error, PTO_EINVAL, "%s has %" PRIu32 " tensors, --shape gives %" PRIu32 " shapes", name,
                         tensor_count, count);
  for (uint32_t rank = 0; rank <= PTO_MAX_DIMS; rank++) {
    const struct pto_reference_shape small = {rank, {2, 2, 2, 2, 2, 2, 2, 2}};
    struct pto_trial_case c = {0};
    if (!try_sizes(trial, &small, options->common.seed, &c)) continue;
    least = least < rank ? least : rank;
    most = rank;
  }
  return pto_error_set(error, PTO_EINVAL,
                       "%s: no shapes follow from the sizes \"%s\"; give %" PRIu32 " to %" PRIu32
                       ", none too large, or a shape for each of its %" PRIu32 " tensors",
                       name, options->shapes, least, most, tensor_count);
}

static int plan_given_shapes(const struct pto_op_options *options, struct pto_trial *trial, struct pto_trial_case *c,
                             struct pto_error *error) {
  struct pto_reference_shape shapes[PTO_MAX_TENSORS] = {{0, {0}}};
  uint32_t count = 0;
  const int status = pto_op_parse_shapes(options->shapes, shapes, &count, error);
  if (status != PTO_OK) return status;
  if (count == 1 && try_sizes(trial, &shapes[0], options->common.seed, c)) return PTO_OK;
  if (count != trial->args.tensor_count) return refuse_shapes(options, trial, count, error);
  /* Scalars as for sizes that are one of these shapes, or for any sizes. */
  bool has_scalars = false;
  for (uint32_t i = 0; i < count && !has_scalars; i++)
    has_scalars = try_sizes(trial, &shapes[i], options->common.seed, c);
  for (uint32_t rank = 0; rank <= PTO_MAX_DIMS && !has_scalars; rank++)
    has_scalars =
        try_sizes(trial, &(struct pto_reference_shape){rank, {2, 2, 2, 2, 2, 2, 2, 2}}, options->common.seed, c);
  memcpy(c->shapes, shapes, sizeof shapes);
  return PTO_OK;
}

static int plan_scalars(const struct pto_op_options *options, const struct pto_trial *trial, struct pto_trial_case *c,
                        struct pto_error *error) {
  const char *at = options->scalars;
  uint32_t scalar = 0;
  for (uint32_t i = 0; i < trial->kernel->param_count && at != NULL; i++) {
    const struct pto_kernel_param *param = &trial->kernel->params[i];
    char *end;
    if (param->mode != PTO_SCALAR) continue;
    if (param->scalar == PTO_SCALAR_F32)
      c->scalars[scalar].f32 = strtof(at, &end);
    else
      c->scalars[scalar].u64 = *at == '-' ? (uint64_t)strtoll(at, &end, 0) : strtoull(at, &end, 0);
    if (end == at || (*end != '\0' && *end != ','))
      return pto_error_set(error, PTO_EINVAL, "%s: --scalar: \"%s\" is no number for %s", trial->kernel->name, at,
                           param->name);
    at = *end == ',' ? end + 1 : NULL;
    scalar++;
  }
  if (at != NULL && *at != '\0')
    return pto_error_set(error, PTO_EINVAL, "%s has %" PRIu32 " scalar%s, --scalar gives more", trial->kernel->name,
                         trial->args.scalar_count, trial->args.scalar_count == 1 ? "" : "s");
  return PTO_OK;
}

/* ---- dtypes ---- */

static int refuse_dtype(const char *word, struct pto_error *error) {
  char names[128] = "";
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    pto_text_append(names, sizeof names, "%s%s", dtype == 0 ? "" : ", ", pto_dtype_name(dtype));
  return pto_error_set(error, PTO_EINVAL, "--dtype: \"%s\" is no dtype; there are %s", word, names);
}

int pto_op_parse_dtypes(const char *text, uint32_t *dtypes, uint32_t *count, struct pto_error *error) {
  for (*count = 0;; text++) {
    char word[16];
    const size_t length = strcspn(text, ",");
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    const int general = pto_dtype_from_name(word), dtype = general >= 0 ? general : pto_graph_dtype_find(word);
    if (dtype < 0) return refuse_dtype(word, error);
    if (*count == PTO_MAX_TENSORS) return pto_error_set(error, PTO_EINVAL, "--dtype: too many dtypes");
    dtypes[(*count)++] = (uint32_t)dtype;
    text += length;
    if (*text == '\0') return PTO_OK;
  }
}

static int plan_given_dtypes(const struct pto_op_options *options, struct pto_trial *trial, struct pto_op_plan *plan,
                             struct pto_error *error) {
  uint32_t dtypes[PTO_MAX_TENSORS], count;
  bool is_used = false;
  const int status = pto_op_parse_dtypes(options->dtypes, dtypes, &count, error);
  if (status != PTO_OK) return status;
  if (count != 1 && count != trial->args.tensor_count)
    return pto_error_set(error, PTO_EINVAL, "%s has %" PRIu32 " tensors, --dtype gives %" PRIu32, trial->kernel->name,
                         trial->args.tensor_count, count);
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    const uint32_t set = pto_trial_dtypes(trial->params[i]), dtype = dtypes[count == 1 ? 0 : i];
    const bool is_taken = (set & PTO_DTYPE_BIT(dtype)) != 0;
    /* a result that is always of one dtype, whatever is asked for, is no answer */
    const bool is_chosen = pto_trial_is_read(trial->params[i]) || (set & (set - 1)) != 0;
    plan->base.dtypes[i] = is_taken || count > 1 ? dtype : (uint32_t)__builtin_ctz(set);
    is_used = is_used || (is_taken && is_chosen);
    plan->tuples[0].dtypes[i] = (uint8_t)plan->base.dtypes[i];
  }
  if (!is_used)
    return pto_error_set(error, PTO_EINVAL, "%s does not take %s; `ptosim op support %s` shows what it takes",
                         trial->kernel->name, options->dtypes, trial->kernel->name);
  if (pto_trial_check(trial, &plan->base) != PTO_OK) return pto_error_set(error, PTO_EINVAL, "%s", trial->message);
  plan->tuple_count = 1;
  return PTO_OK;
}

static int plan_dtypes(const struct pto_op_options *options, struct pto_trial *trial, struct pto_op_plan *plan,
                       struct pto_error *error) {
  if (options->dtypes != NULL) return plan_given_dtypes(options, trial, plan, error);
  (void)pto_trial_dtype_tuples(trial, &plan->base, plan->tuples, PTO_OP_MAX_TUPLES, &plan->tuple_count);
  if (plan->tuple_count > 0) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%s", trial->message); /* why the last combination was refused */
}

/* Initialises `trial` for the kernel too.  PTO_OK, or PTO_EINVAL with a sentence: the kernel does not take that. */
static int make_plan(const struct pto_op_options *options, uint32_t kernel, struct pto_trial *trial,
                     struct pto_op_plan *plan, struct pto_error *error) {
  static const struct pto_reference_shape usual[] = {{2, {128, 128}},   {3, {128, 128, 128}}, {1, {16384}},
                                                     {3, {4, 32, 128}}, {4, {2, 8, 32, 32}},  {5, {2, 4, 8, 16, 16}},
                                                     {0, {0}}};
  pto_trial_init(trial, kernel);
  memset(plan, 0, sizeof *plan);
  plan->base.seed = options->common.seed;
  pto_error_set(error, PTO_EINVAL, "%s: none of the usual sizes is a case of it; --shape gives others",
                trial->kernel->name);
  for (size_t i = 0; i < (options->shapes != NULL ? 1 : PTO_ARRAY_LENGTH(usual)); i++) {
    int status = PTO_OK;
    if (options->shapes != NULL)
      status = plan_given_shapes(options, trial, &plan->base, error);
    else if (!try_sizes(trial, &usual[i], options->common.seed, &plan->base))
      continue;
    if (status == PTO_OK) status = plan_scalars(options, trial, &plan->base, error);
    if (status == PTO_OK) status = plan_dtypes(options, trial, plan, error);
    if (status == PTO_OK) return PTO_OK;
  }
  return PTO_EINVAL;
}

int pto_op_each_kernel(const struct pto_op_options *options, bool is_planned,
                       int (*one)(void *context, struct pto_trial *trial, const struct pto_op_plan *plan),
                       void *context) {
  static struct pto_trial trial;
  static struct pto_op_plan plan;
  struct pto_error error;
  bool is_any_taken = false;
  int code = PTO_EXIT_OK;
  for (uint32_t k = 0; k < pto_kernel_count() && code == PTO_EXIT_OK; k++) {
    if (!pto_op_names(options, k)) continue;
    pto_progress_line_stage(pto_kernel_at(k)->name, 0, 0);
    if (!is_planned) {
      pto_trial_init(&trial, k);
    } else if (make_plan(options, k, &trial, &plan, &error) != PTO_OK) {
      if (is_pattern(options)) continue;
      return pto_complain(PTO_EXIT_USAGE, "op: %s", error.sentence);
    }
    is_any_taken = true;
    code = one(context, &trial, &plan);
    pto_trial_fini(&trial);
    if (pto_interrupted()) code = pto_complain(PTO_EXIT_INTERRUPTED, "op: interrupted in %s", pto_kernel_at(k)->name);
  }
  if (code != PTO_EXIT_OK) return code;
  return is_any_taken ? PTO_EXIT_OK
                      : pto_complain(PTO_EXIT_USAGE, "op: no kernel that \"%s\" means takes that",
                                     options->name ? options->name : "all");
}

struct pto_trial_case pto_op_case(const struct pto_op_plan *plan, const struct pto_trial *trial, uint32_t tuple,
                                  uint32_t layout) {
  struct pto_trial_case c = plan->base;
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) c.dtypes[i] = plan->tuples[tuple].dtypes[i];
  c.layout = layout;
  return c;
}

/* ---- text ---- */

/* Those that are read, an arrow, those that are written. */
static void format_each(const struct pto_trial *trial, const struct pto_trial_case *c, char *text, size_t size,
                        void (*one)(const struct pto_trial_case *, uint32_t, char *, size_t)) {
  text[0] = '\0';
  for (int is_output = 0; is_output < 2; is_output++) {
    for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
      char word[192];
      if (!(is_output ? pto_trial_is_written(trial->params[i]) : pto_trial_is_read(trial->params[i]))) continue;
      one(c, i, word, sizeof word);
      pto_text_append(text, size, "%s%s", text[0] ? " " : "", word);
    }
    if (!is_output) pto_text_append(text, size, "%s→", text[0] ? " " : "");
  }
}

static void format_dtype(const struct pto_trial_case *c, uint32_t i, char *text, size_t size) {
  snprintf(text, size, "%s", pto_dtype_name(c->dtypes[i]));
}
static void format_shape(const struct pto_trial_case *c, uint32_t i, char *text, size_t size) {
  snprintf(text, size, "%s", c->shapes[i].ndims == 0 ? "scalar" : "");
  pto_text_append_numbers(text, size, "x", c->shapes[i].shape, c->shapes[i].ndims);
}

void pto_op_format_dtypes(const struct pto_trial *trial, const struct pto_trial_case *c, char *text, size_t size) {
  format_each(trial, c, text, size, format_dtype);
}
void pto_op_format_shapes(const struct pto_trial *trial, const struct pto_trial_case *c, char *text, size_t size) {
  format_each(trial, c, text, size, format_shape);
}

void pto_op_put_case(struct pto_json_writer *w, const struct pto_trial *trial, const struct pto_trial_case *c,
                     uint32_t layout) {
  char text[256];
  pto_json_put_string(w, "kernel", trial->kernel->name);
  pto_op_format_dtypes(trial, c, text, sizeof text);
  pto_json_put_string(w, "dtypes", text);
  pto_op_format_shapes(trial, c, text, sizeof text);
  pto_json_put_string(w, "shapes", text);
  pto_json_put_string(w, "layout", pto_layout_name(layout));
}
