/* SPDX-License-Identifier: MIT */
#include <cli/run_options.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

#define DEFAULT_TIMEOUT_MS 60000u
#define MOST_ROUNDS 1000000u
#define FIRST_VALUE 256 /* what getopt_long answers for the first option; beyond all characters */

/* ---- values ---- */

int pto_parse_u64(const char *text, uint64_t least, uint64_t most, uint64_t *value, struct pto_error *error) {
  char *end;
  errno = 0;
  uint64_t number = strtoull(text, &end, 10);
  /* strtoull takes blanks and a minus; we do not. */
  if (text[0] < '0' || text[0] > '9' || *end || errno || number < least || number > most)
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is no number from %" PRIu64 " to %" PRIu64, text, least, most);
  *value = number;
  return PTO_OK;
}

int pto_parse_bytes(const char *text, uint64_t *bytes, struct pto_error *error) {
  char *end;
  errno = 0;
  uint64_t number = strtoull(text, &end, 10);
  uint32_t shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (text[0] < '0' || text[0] > '9' || end[shift > 0] || errno || number > UINT64_MAX >> shift)
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is no number of bytes (a suffix K, M or G is fine)", text);
  *bytes = number << shift;
  return PTO_OK;
}

int pto_parse_double(const char *text, double *value, struct pto_error *error) {
  char *end;
  double number = strtod(text, &end);
  if (end == text || *end || !isfinite(number) || number < 0)
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is no finite number of at least 0", text);
  *value = number;
  return PTO_OK;
}

int pto_string_list_add(struct pto_string_list *list, const char *text, struct pto_error *error) {
  if (list->count == list->capacity) {
    uint32_t capacity = list->capacity ? 2 * list->capacity : 8;
    const char **items = realloc(list->items, capacity * sizeof *items);
    if (!items) return pto_error_set(error, PTO_ENOMEM, "out of memory");
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = text;
  return PTO_OK;
}

static int add_pair(struct pto_string_list *list, const char *text, struct pto_error *error) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text) return pto_error_set(error, PTO_EINVAL, "\"%s\" is not of the form name=value", text);
  return pto_string_list_add(list, text, error);
}

static int parse_u32(const char *text, uint32_t least, uint32_t most, uint32_t *value, struct pto_error *error) {
  uint64_t number;
  int status = pto_parse_u64(text, least, most, &number, error);
  if (status == PTO_OK) *value = (uint32_t)number;
  return status;
}

/* ---- one function an option ---- */

#define OPTION(name) static int set_##name(void *target, const char *value, struct pto_error *error)
#define OPTIONS ((struct pto_run_options *)target)

OPTION(engine) {
  OPTIONS->engine = value;
  return PTO_OK;
}
OPTION(chip) {
  OPTIONS->chip = value;
  return PTO_OK;
}
OPTION(workers) { return parse_u32(value, 1, UINT32_MAX, &OPTIONS->workers, error); }
OPTION(deps) {
  OPTIONS->deps = strcmp(value, "pto") == 0 ? PTO_DEPS_PTO : PTO_DEPS_EXACT;
  OPTIONS->has_deps = true;
  if (strcmp(value, "pto") == 0 || strcmp(value, "exact") == 0) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is neither exact nor pto", value);
}
OPTION(policy) {
  OPTIONS->policy = value;
  return PTO_OK;
}
OPTION(case) {
  OPTIONS->case_name = value;
  return PTO_OK;
}
OPTION(set) { return add_pair(&OPTIONS->settings, value, error); }
OPTION(input) { return add_pair(&OPTIONS->inputs, value, error); }
OPTION(expect) { return add_pair(&OPTIONS->expects, value, error); }
OPTION(output) { return add_pair(&OPTIONS->outputs, value, error); }
OPTION(rtol) {
  OPTIONS->has_rtol = true;
  return pto_parse_double(value, &OPTIONS->rtol, error);
}
OPTION(atol) {
  OPTIONS->has_atol = true;
  return pto_parse_double(value, &OPTIONS->atol, error);
}
OPTION(rounds) { return parse_u32(value, 1, MOST_ROUNDS, &OPTIONS->rounds, error); }
OPTION(seed) { return pto_parse_u64(value, 0, UINT64_MAX, &OPTIONS->seed, error); }
OPTION(window) {
  int status = pto_parse_bytes(value, &OPTIONS->window, error);
  if (status == PTO_OK && !pto_is_power_of_two(OPTIONS->window))
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is no power of two", value);
  return status;
}
OPTION(heap) {
  int status = pto_parse_bytes(value, &OPTIONS->heap_bytes, error);
  if (status == PTO_OK && (OPTIONS->heap_bytes == 0 || OPTIONS->heap_bytes % 1024))
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is no positive multiple of 1024 bytes", value);
  return status;
}
OPTION(timeout) {
  double seconds = 0;
  int status = pto_parse_double(value, &seconds, error);
  if (status) return status;
  OPTIONS->has_timeout = true;
  if (seconds > 4000000) return pto_error_set(error, PTO_EINVAL, "\"%s\" seconds are more than 4000000", value);
  /* What is not never is at least a millisecond. */
  OPTIONS->timeout_ms = seconds > 0 ? (uint32_t)fmax(1, ceil(seconds * 1000)) : 0;
  return PTO_OK;
}
OPTION(poison) {
  OPTIONS->poison = true;
  return PTO_OK;
}
OPTION(trace) {
  OPTIONS->trace_path = value;
  return PTO_OK;
}
OPTION(dot) {
  OPTIONS->dot_path = value;
  return PTO_OK;
}
OPTION(deps_json) {
  OPTIONS->deps_path = value;
  return PTO_OK;
}
/* Tasks first, then the folder. */
OPTION(dump) {
  if (OPTIONS->dump_tasks && !OPTIONS->dump_path) {
    OPTIONS->dump_path = value;
    return PTO_OK;
  }
  if (OPTIONS->dump_tasks) return pto_error_set(error, PTO_EINVAL, "given twice; \"3,5-9,matmul\" are tasks of one");
  OPTIONS->dump_tasks = value;
  return PTO_OK;
}
OPTION(waits_dot) {
  OPTIONS->waits_path = value;
  return PTO_OK;
}
OPTION(stats) {
  OPTIONS->stats = true;
  return PTO_OK;
}
OPTION(json) {
  OPTIONS->json_path = value;
  return PTO_OK;
}
OPTION(quiet) {
  OPTIONS->quiet = true;
  return PTO_OK;
}
OPTION(help) {
  OPTIONS->help = true;
  return PTO_OK;
}

static const struct pto_option_spec specs[] = {
    {"engine", "ENGINE", "threads or virtual: real threads, or exact virtual time (default: run threads, suite both)",
     set_engine, false},
    {"chip", "CHIP", "tiny (default), a2a3, a5, or a chip file", set_chip, false},
    {"workers", "N", "threads that the cores live on, the control thread counted (default: the CPUs)", set_workers,
     false},
    {"deps", "RULES", "exact (default), or pto: the hazard rules of the existing runtime", set_deps, false},
    {"policy", "POLICY", "order among ready tasks: fifo (default), lifo, random:SEED", set_policy, false},
    {"case", "NAME", "a named set of the program's options", set_case, true},
    {"set", "KEY=VALUE", "an option of the program; may be repeated", set_set, true},
    {"input", "NAME=FILE.npy", "an input from a file; may be repeated", set_input, true},
    {"expect", "NAME=FILE.npy", "the golden of an output from a file; may be repeated", set_expect, true},
    {"output", "NAME=FILE.npy", "writes an output to a file; may be repeated", set_output, true},
    {"rtol", "X", "relative tolerance (default: the program's)", set_rtol, false},
    {"atol", "X", "absolute tolerance (default: the program's)", set_atol, false},
    {"rounds", "N", "runs it N times; all must give the same bytes", set_rounds, false},
    {"seed", "N", "of the inputs (default 0)", set_seed, false},
    {"window", "N", "slots of each task ring, a power of two", set_window, false},
    {"heap", "BYTES", "of each heap ring, a multiple of 1024; K, M and G are fine", set_heap, false},
    {"timeout", "SECONDS", "that a kernel may take (default: the program's, else 60; 0: for ever)", set_timeout, false},
    {"poison", NULL, "fills fresh outputs with a pattern that is NaN in floats", set_poison, false},
    {"trace", "FILE.json", "writes the timeline, for Perfetto", set_trace, true},
    {"dot", "FILE", "writes the task graph, for Graphviz", set_dot, true},
    {"deps-json", "FILE", "writes tasks, parameters and edges with their reasons", set_deps_json, true},
    {"dump", "TASKS DIR", "keeps tasks (17, 3,5-9, matmul, first:matmul) to run again alone: `ptosim task`", set_dump,
     true},
    {"waits-dot", "FILE", "writes who waited for whom where the run stopped, for Graphviz", set_waits_dot, true},
    {"stats", NULL, "says where the time went", set_stats, true},
    {"json", "FILE", "writes the result as one JSON object; - is standard output", set_json, false},
    {"quiet", NULL, "prints nothing but the program's own text and JSON", set_quiet, false},
    {"help", NULL, "this text", set_help, false},
};
_Static_assert(PTO_ARRAY_LENGTH(specs) < PTO_OPTION_SPECS_MAX, "room for options of a verb's own");
_Static_assert(PTO_ARRAY_LENGTH(specs) <= 64, "a bit each in pto_run_options.given");

/* ---- getopt ---- */

static size_t count_specs(const struct pto_option_spec *list) {
  size_t count = 0;
  while (list && list[count].name) count++;
  return count;
}

static const struct pto_option_spec *spec_at(const struct pto_option_spec *extra, size_t index) {
  return index < PTO_ARRAY_LENGTH(specs) ? &specs[index] : &extra[index - PTO_ARRAY_LENGTH(specs)];
}

/* What getopt_long did not like about `word`. */
static int explain_refusal(int answer, const char *word, const struct option *table, struct pto_error *error) {
  if (answer == ':') return pto_error_set(error, PTO_EINVAL, "%s needs a value", word);
  size_t length = strcspn(word, "=");
  for (; word[length] && length > 2 && table->name; table++)
    if (strlen(table->name) == length - 2 && strncmp(table->name, word + 2, length - 2) == 0)
      return pto_error_set(error, PTO_EINVAL, "--%s takes no value: %s", table->name, word);
  return pto_error_set(error, PTO_EINVAL, "there is no option %s, or it is short for more than one; --help lists them",
                       word);
}

/* Gives an option its values: the one that getopt found and, for an option of several, the words behind it. */
static int take_values(const struct pto_option_spec *spec, void *target, int argc, char **argv,
                       struct pto_error *error) {
  int status = spec->set(target, optarg, error);
  for (const char *word = spec->argument; word && (word = strchr(word, ' ')) != NULL && !status; word++) {
    if (optind >= argc) return pto_error_set(error, PTO_EINVAL, "takes %s", spec->argument);
    status = spec->set(target, argv[optind++], error);
  }
  return status;
}

int pto_run_options_parse(int argc, char **argv, const struct pto_option_spec *extra, void *extra_target,
                          struct pto_run_options *options, struct pto_error *error) {
  struct option table[PTO_OPTION_SPECS_MAX + 1];
  size_t count = PTO_ARRAY_LENGTH(specs) + count_specs(extra);
  PTO_ASSERT(count <= PTO_OPTION_SPECS_MAX);
  memset(table, 0, sizeof table);
  for (size_t i = 0; i < count; i++) {
    const struct pto_option_spec *spec = spec_at(extra, i);
    table[i] =
        (struct option){.name = spec->name,
                        .has_arg = spec->argument ? required_argument : no_argument,
                        /* One value each: getopt takes options of equal values for one, and abbreviates to either. */
                        .val = FIRST_VALUE + (int)i};
  }
  *options = (struct pto_run_options){.rounds = 1, .timeout_ms = DEFAULT_TIMEOUT_MS};
  optind = 0; /* glibc: start over, whatever was parsed before */
  opterr = 0;
  for (;;) {
    int answer = getopt_long(argc, argv, "-:h", table, NULL);
    if (answer == -1) break;
    int status;
    if (answer == 1)
      status = pto_string_list_add(&options->programs, optarg, error);
    else if (answer >= FIRST_VALUE) {
      size_t index = (size_t)(answer - FIRST_VALUE);
      const struct pto_option_spec *spec = spec_at(extra, index);
      struct pto_error reason;
      if (index < PTO_ARRAY_LENGTH(specs)) options->given |= UINT64_C(1) << index;
      if (spec->is_for_one_run && !options->one_run_option) options->one_run_option = spec->name;
      status = take_values(spec, index < PTO_ARRAY_LENGTH(specs) ? options : extra_target, argc, argv, &reason);
      if (status) pto_error_set(error, status, "--%s: %s", spec->name, reason.sentence);
    } else if (answer == 'h')
      status = set_help(options, NULL, error);
    else
      status = explain_refusal(answer, argv[optind - 1], table, error);
    if (status) return status;
  }
  for (; optind < argc; optind++) {
    int status = pto_string_list_add(&options->programs, argv[optind], error);
    if (status) return status;
  }
  return PTO_OK;
}

void pto_run_options_fini(struct pto_run_options *options) {
  free(options->programs.items);
  free(options->settings.items);
  free(options->inputs.items);
  free(options->expects.items);
  free(options->outputs.items);
  memset(options, 0, sizeof *options);
}

static bool is_among(const char *name, const char *const *names) {
  while (names && *names && strcmp(name, *names) != 0) names++;
  return names && *names;
}

const char *pto_run_options_given_of(const struct pto_run_options *options, const char *const *names) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(specs); i++)
    if ((options->given >> i & 1) && is_among(specs[i].name, names)) return specs[i].name;
  return NULL;
}

static bool is_stdout(const char *path) { return path && strcmp(path, "-") == 0; }

bool pto_run_options_take_stdout(const struct pto_run_options *options) {
  const char *const paths[] = {options->json_path, options->trace_path, options->dot_path, options->deps_path,
                               options->waits_path};
  bool takes = false;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(paths); i++) takes |= is_stdout(paths[i]);
  return takes;
}

void pto_run_options_help(const struct pto_option_spec *extra, bool is_for_one_run, const char *const *refused) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(specs) + count_specs(extra); i++) {
    const struct pto_option_spec *spec = spec_at(extra, i);
    char left[64];
    if ((spec->is_for_one_run && !is_for_one_run) || is_among(spec->name, refused)) continue;
    snprintf(left, sizeof left, "--%s%s%s", spec->name, spec->argument ? " " : "",
             spec->argument ? spec->argument : "");
    printf("  %-24s %s\n", left, spec->help);
  }
}
