/* SPDX-License-Identifier: MIT */
#include <cli/run/options.h>

#include <pto/world.h>

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <check/session/subject.h>
#include <cli/run/command.h>
#include <cli/run/shared.h>
#include <cli/run/values.h>
#include <runtime/deps/rules.h>
#include <runtime/join/defaults.h>
#include <runtime/sched/policy.h>
#include <runtime/task/task_ring.h>
#include <sim/chips/chip.h>
#include <sim/chips/chip_files.h>
#include <sim/engine/engine.h>
#include <runtime/base/base.h>
#include <runtime/base/text.h>
#include <runtime/base/closest.h>

#define DEFAULT_TIMEOUT_MS 60000u
#define MOST_ROUNDS 1000000u
#define MOST_LONGER 4u  /* options told of those that a word is short for */
#define FIRST_VALUE 256 /* what getopt_long answers for the first option; beyond all characters */

/* ---- what options store ---- */

int pto_option_set_text(void *target, const char *value, struct pto_error *error) {
  *(const char **)target = value;
  return PTO_OK;
}
int pto_option_set_flag(void *target, const char *value, struct pto_error *error) {
  *(bool *)target = true;
  return PTO_OK;
}

static int add_pair(void *target, const char *text, struct pto_error *error) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text) return pto_error_set(error, PTO_EINVAL, "\"%s\" is not of the form name=value", text);
  return pto_string_list_add(target, text, error);
}

#define OPTION(name) static int set_##name(void *target, const char *value, struct pto_error *error)
#define OPTIONS ((struct pto_run_options *)target)

OPTION(deps) {
  const int status = pto_deps_rules_parse(value, &OPTIONS->deps, error);
  if (status == PTO_OK) OPTIONS->has_deps = true;
  return status;
}
/* The program: before other words. */
OPTION(model) {
  struct pto_string_list *programs = &OPTIONS->programs;
  if (OPTIONS->model) return pto_error_set(error, PTO_EINVAL, "given twice");
  if (asprintf(&OPTIONS->model, "model:%s", value) < 0) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  const int status = pto_string_list_add(programs, OPTIONS->model, error);
  if (status) return status;
  memmove(programs->items + 1, programs->items, (programs->count - 1) * sizeof *programs->items);
  programs->items[0] = OPTIONS->model;
  return PTO_OK;
}
OPTION(rtol) {
  const int status = pto_parse_double(value, &OPTIONS->rtol, error);
  OPTIONS->has_rtol |= status == PTO_OK;
  return status;
}
OPTION(atol) {
  const int status = pto_parse_double(value, &OPTIONS->atol, error);
  OPTIONS->has_atol |= status == PTO_OK;
  return status;
}
OPTION(shard) { return pto_shard_parse(value, &OPTIONS->share.shard, error); }
OPTION(jitter) { return pto_parse_jitter(value, &OPTIONS->jitter_ppm, error); }
/* One size for all rings, or one for each scope depth by commas: then the largest is that of all. */
static int parse_rings(const char *value, int (*check)(uint64_t size, const char *value, struct pto_error *error),
                       uint64_t *all, uint64_t *rings, struct pto_error *error) {
  uint64_t sizes[PTO_RINGS] = {0}, most = 0;
  uint32_t count = 0;
  char word[64];
  for (const char *at = value;; at++) {
    const size_t length = strcspn(at, ",");
    if (count == PTO_RINGS) return pto_error_set(error, PTO_EINVAL, "\"%s\" has more than %d sizes", value, PTO_RINGS);
    snprintf(word, sizeof word, "%.*s", (int)pto_min_u64(length, sizeof word - 1), at);
    int status = pto_parse_bytes(word, &sizes[count], error);
    if (status && strchr(value, ',')) return pto_error_set(error, status, "\"%s\" has \"%s\" for a size", value, word);
    if (!status) status = check(sizes[count], value, error);
    if (status) return status;
    most = pto_max_u64(most, sizes[count++]);
    at += length;
    if (!*at) break;
  }
  for (uint32_t i = 0; i < PTO_RINGS; i++) rings[i] = count == 1 ? 0 : sizes[pto_min_u64(i, count - 1)];
  *all = most;
  return PTO_OK;
}
static int check_window(uint64_t size, const char *value, struct pto_error *error) {
  if (pto_is_power_of_two(size) && size >= PTO_MIN_WINDOW && size <= PTO_MAX_WINDOW) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is no power of two from %" PRIu64 " to %" PRIu64, value,
                       PTO_MIN_WINDOW, PTO_MAX_WINDOW);
}
static int check_heap(uint64_t size, const char *value, struct pto_error *error) {
  if (size && size % 1024 == 0) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is no positive multiple of 1024 bytes", value);
}
OPTION(window) { return parse_rings(value, check_window, &OPTIONS->window, OPTIONS->ring_window, error); }
OPTION(heap) { return parse_rings(value, check_heap, &OPTIONS->heap_bytes, OPTIONS->ring_heap_bytes, error); }
OPTION(timeout) {
  double seconds = 0;
  int status = pto_parse_double(value, &seconds, error);
  if (status) return status;
  if (seconds > 4000000) return pto_error_set(error, PTO_EINVAL, "\"%s\" seconds are more than 4000000", value);
  OPTIONS->has_timeout = true;
  /* What is not never is at least a millisecond. */
  OPTIONS->timeout_ms = seconds > 0 ? (uint32_t)fmax(1, ceil(seconds * 1000)) : 0;
  return PTO_OK;
}
/* Tasks first, then the folder. */
OPTION(dump) {
  if (OPTIONS->dump_tasks && OPTIONS->dump_path)
    return pto_error_set(error, PTO_EINVAL, "given twice; \"3,5-9,matmul\" are tasks of one");
  *(OPTIONS->dump_tasks ? &OPTIONS->dump_path : &OPTIONS->dump_tasks) = value;
  return PTO_OK;
}

/* ---- the table ---- */

/* The column of who takes an option: verbs and modes of `check` by name, then groups of them. */
#define TAKER(name) (UINT32_C(1) << PTO_VERB_##name)
#define OBSERVE (UINT32_C(1) << PTO_TAKER_OBSERVE)
#define ADVISE (UINT32_C(1) << PTO_TAKER_ADVISE)
#define GRAPH TAKER(graph)
#define ONE_RUN (TAKER(run) | TAKER(check) | TAKER(why) | TAKER(perf))
#define PROGRAM (ONE_RUN | OBSERVE | ADVISE | TAKER(explore)) /* whatever runs one program */
#define JUDGE_PROGRAM (TAKER(check) | OBSERVE | TAKER(explore))
#define PROGRAMS (PROGRAM | TAKER(suite))
#define ADOPT TAKER(adopt) /* a manifest */
#define ALL (PROGRAMS | GRAPH | TAKER(task))
#define COMPARE TAKER(compare)
#define ANY (ALL | COMPARE | TAKER(diff) | TAKER(op) | TAKER(import))
#define NO_COMPUTE (TAKER(run) | TAKER(check) | TAKER(why) | TAKER(explore) | ADOPT)
#define FINDS (TAKER(run) | TAKER(check) | OBSERVE | TAKER(explore) | TAKER(diff) | TAKER(task) | GRAPH)
#define JUDGES (FINDS | COMPARE | TAKER(op) | TAKER(suite) | TAKER(predict) | TAKER(validate) | TAKER(regress))
#define MANY_RUNS (TAKER(explore) | TAKER(suite))
#define PREDICT (TAKER(predict) | TAKER(what_if))
#define AGAIN (TAKER(run) | TAKER(graph) | TAKER(check) | TAKER(explore)) /* whose reports say what does it again */
#define LISTS (MANY_RUNS | TAKER(regress) | TAKER(what_if)) /* whatever runs a list of independent items */

#define TEXT(name) PTO_OPTION_TEXT(struct pto_run_options, name)
#define FLAG(name) PTO_OPTION_FLAG(struct pto_run_options, name)
#define PAIR(name) .set = add_pair, .field = offsetof(struct pto_run_options, name)
#define BY(function) .set = function, .field = 0
#define NUMBER(name, least, most) PTO_OPTION_NUMBER(struct pto_run_options, name, least, most)

static const struct pto_option_spec specs[] = {
    {"engine", "ENGINE", &(PTO_ENGINE_MEANINGS)[2], TEXT(engine), ONE_RUN | MANY_RUNS | GRAPH | TAKER(task) | ADOPT},
    {"chip", "CHIP", &(PTO_CHIP_NAMES ", or a chip file")[2], TEXT(chip),
     ALL | TAKER(op) | TAKER(diff) | TAKER(calibrate) | ADOPT | PREDICT},
    {"chip-set", "KEY=VALUE", "a number of the chip (`ptosim list chips CHIP`) is another; may be repeated",
     PAIR(chip_settings), ALL | TAKER(op) | TAKER(diff) | ADOPT | PREDICT},
    {"workers", "N", "threads that kernels run on, the control thread counted (default: the CPUs; virtual: 1)",
     NUMBER(workers, 1, PTO_MAX_WORKERS), ALL | ADOPT},
    {"placement", "none|spread|CPUS", "threads: bound to no CPU (default), to one a core first, or to 0,2-3",
     TEXT(placement), ONE_RUN | OBSERVE},
    {"ranks", "N", "chips of a world that the program runs on, in virtual time (default: the program's)",
     NUMBER(ranks, 1, PTO_MAX_RANKS), TAKER(run) | TAKER(check) | TAKER(why) | OBSERVE | MANY_RUNS | PREDICT},
    {"world-threads", "N", "threads that ranks run on, side by side: same bytes, same times (default 1)",
     NUMBER(world_threads, 1, PTO_MAX_RANKS), TAKER(run)},
    {"comm-stats", NULL, "of several ranks: says what they moved, how fast, and who waited for whom", FLAG(comm_stats),
     TAKER(run)},
    {"clusters", "N", "of the chip, the first N (default: all)", NUMBER(clusters, 1, UINT32_MAX),
     PROGRAM | ADOPT | PREDICT},
    {"deps", "RULES", &(PTO_DEPS_MEANINGS "; pto,RULE… and pto,no-RULE… switch rules of pto" PTO_DEPS_NAMED_NAMES)[2],
     BY(set_deps), PROGRAMS | GRAPH | TAKER(diff) | ADOPT | PREDICT},
    {"policy", "POLICY", &(PTO_POLICY_SYNTAXES ": the order among ready tasks; default: fifo")[2], TEXT(policy),
     PROGRAMS | TAKER(task) | ADOPT | PREDICT},
    {"model", "NAME", "PROGRAM is a model of `ptosim list models`; --set has its options", BY(set_model),
     PROGRAMS | GRAPH | PREDICT},
    {"case", "NAME", "a named set of the program's options", TEXT(case_name), PROGRAM | TAKER(diff) | PREDICT},
    {"set", "KEY=VALUE", "an option of the program; may be repeated", PAIR(settings),
     PROGRAM | GRAPH | TAKER(op) | TAKER(diff) | PREDICT},
    {"input", "NAME=FILE.npy", "an input from a file; may be repeated", PAIR(inputs), PROGRAM | GRAPH | PREDICT},
    {"expect", "NAME=FILE.npy", "the golden of an output from a file; may be repeated", PAIR(expects), PROGRAM},
    {"output", "NAME=FILE.npy", "writes an output to a file; may be repeated", PAIR(outputs), ONE_RUN | ADOPT},
    {"rtol", "X", "relative tolerance (default: the program's)", BY(set_rtol), ALL | ADOPT},
    {"atol", "X", "absolute tolerance (default: the program's)", BY(set_atol), ALL | ADOPT},
    {"rounds", "N", "runs it N times; all must give the same bytes", NUMBER(rounds, 1, MOST_ROUNDS),
     ONE_RUN | OBSERVE | TAKER(suite) | ADOPT},
    {"seed", "N", "of the inputs (default 0)", NUMBER(seed, 0, UINT64_MAX),
     PROGRAMS | GRAPH | TAKER(op) | TAKER(diff) | PREDICT},
    {"window", "N[,N...]", "slots of each task ring, a power of two; or by scope depth", BY(set_window),
     PROGRAMS | GRAPH | ADOPT | PREDICT},
    {"heap", "BYTES[,...]", "of each heap ring, a multiple of 1024 (K, M, G); or by scope depth", BY(set_heap),
     PROGRAMS | GRAPH | ADOPT | PREDICT},
    {"timeout", "SECONDS", "that a kernel may take (default: the program's, else 60; 0: for ever)", BY(set_timeout),
     PROGRAMS | TAKER(task) | ADOPT | PREDICT},
    {"poison", NULL, "fills fresh outputs with a pattern that is NaN in floats", FLAG(poison),
     PROGRAMS | GRAPH | ADOPT},
    {"no-compute", NULL, "prices kernels and does not run them; memory is address space, nothing is verified",
     FLAG(no_compute), NO_COMPUTE | ADOPT},
    {"jitter", "PERCENT", "virtual: what kernels take varies so much (standard deviation, 5%), by --seed (default 0%)",
     BY(set_jitter), TAKER(run)},
    {"values", "FILE.json", "with --no-compute: elements that the orchestration or a predicate reads", TEXT(values),
     NO_COMPUTE | ADOPT | PREDICT},
    {"assume-zero", NULL, "with --no-compute: such elements are 0 where no file gives them", FLAG(assume_zero),
     NO_COMPUTE | ADOPT | PREDICT},
/* A graph tells no picture of a run that stopped; that is the one that needs no recording.  A page shows more than one
 * run, too. */
#define X(name, option, argument, help, record, write)                                                                 \
  {option, argument, help, TEXT(exports[PTO_EXPORT_##name]),                                                           \
   ONE_RUN | ((record) ? GRAPH : 0) |                                                                                  \
       (PTO_EXPORT_##name == PTO_EXPORT_page ? TAKER(explore) | TAKER(regress) | COMPARE | TAKER(what_if) : 0)},
    PTO_EXPORT_LIST(X)
#undef X
        {"dump", "TASKS DIR", "keeps tasks (17, 3,5-9, matmul, first:matmul) to run again alone: `ptosim task`",
         BY(set_dump), TAKER(run)},
    {"stats", NULL, "says where the time went", FLAG(stats), TAKER(run) | GRAPH},
    {"no-gains", NULL, "with --stats: makes no further runs of what would help", FLAG(no_gains), TAKER(run) | GRAPH},
    {"shard", "I/N", "runs the I-th of N parts, and writes JSON lines (--json) for `ptosim merge`", BY(set_shard),
     LISTS},
    {"json", "FILE", "writes the result as one JSON object; - is standard output", TEXT(json_path),
     ANY | ADOPT | PREDICT | TAKER(validate) | TAKER(regress)},
    {"sarif", "FILE", "writes the findings as SARIF 2.1.0; - is standard output", TEXT(sarif_path), FINDS},
    {"junit", "FILE", "writes the verdict as JUnit's XML; - is standard output", TEXT(junit_path), JUDGES},
    {"quiet", NULL, "prints nothing but the program's own text and JSON", FLAG(quiet),
     ALL | COMPARE | TAKER(diff) | TAKER(import) | TAKER(calibrate) | ADOPT | PREDICT | TAKER(validate)},
    {"help", NULL, "this text", FLAG(help), ANY | TAKER(calibrate) | ADOPT | PREDICT | TAKER(validate)},
};
_Static_assert(PTO_ARRAY_LENGTH(specs) < PTO_OPTION_SPECS_MAX, "room for options of a verb's own");
_Static_assert(PTO_TAKER_COUNT <= 32, "a bit each in pto_option_spec.takers");

/* The first option given that `taker` does not take; NULL: none. */
static const char *find_refused(const struct pto_run_options *options, uint32_t taker) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(specs); i++)
    if (options->given[i] && !(specs[i].takers >> taker & 1)) return specs[i].name;
  return NULL;
}

bool pto_run_options_has(enum pto_verb_id verb, const char *name) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(specs); i++)
    if (strcmp(specs[i].name, name) == 0) return specs[i].takers >> verb & 1;
  return false;
}

const char *pto_run_options_refused(const struct pto_run_options *options, enum pto_option_taker mode) {
  return find_refused(options, mode);
}

/* ---- getopt ---- */

static size_t count_specs(const struct pto_option_spec *list) {
  size_t count = 0;
  while (list && list[count].name) count++;
  return count;
}

/* The entry of this name in a verb's own list; NULL: none. */
static const struct pto_option_spec *find_extra(const struct pto_option_spec *extra, const char *name) {
  while (extra && extra->name && strcmp(extra->name, name) != 0) extra++;
  return extra && extra->name ? extra : NULL;
}

/* Not words of help alone. */
static bool is_option(const struct pto_option_spec *spec) { return spec->set || spec->most; }

static const struct pto_option_spec *spec_at(const struct pto_option_spec *extra, size_t index) {
  return index < PTO_ARRAY_LENGTH(specs) ? &specs[index] : &extra[index - PTO_ARRAY_LENGTH(specs)];
}

/* Whether getopt knows the entry: not words of help alone, and common options where the verb has none of its own form.
 */
static bool is_in_table(const struct pto_option_spec *extra, size_t index) {
  const struct pto_option_spec *spec = spec_at(extra, index);
  const struct pto_option_spec *own = index < PTO_ARRAY_LENGTH(specs) ? find_extra(extra, spec->name) : NULL;
  return is_option(spec) && !(own && is_option(own));
}

bool pto_run_options_given(const struct pto_run_options *options, const struct pto_option_spec *own, const char *name) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(specs) + count_specs(own); i++)
    if (options->given[i] && strcmp(spec_at(own, i)->name, name) == 0) return true;
  return false;
}

/* "--chip, --chip-set, …": what begins with `word`, first of all what the verb takes.  Returns how many there are. */
static uint32_t list_longer(enum pto_verb_id verb, const char *word, const struct pto_option_spec *extra, char *text,
                            size_t size) {
  uint32_t count = 0;
  text[0] = '\0';
  for (int others = 0; others <= 1; others++)
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(specs) + count_specs(extra); i++) {
      const struct pto_option_spec *spec = spec_at(extra, i);
      const bool is_taken = i >= PTO_ARRAY_LENGTH(specs) || (spec->takers >> verb & 1);
      if (is_taken == others || !is_in_table(extra, i)) continue;
      if (strncmp(spec->name, word + 2, strlen(word) - 2) != 0) continue;
      if (count < MOST_LONGER) pto_text_append(text, size, "%s--%s", count ? ", " : "", spec->name);
      if (count++ == MOST_LONGER) pto_text_append(text, size, ", …");
    }
  return count;
}

/* An option that is none, with the nearest one that the verb takes, or short for several. */
static int refuse_option(enum pto_verb_id verb, const char *word, const struct pto_option_spec *extra,
                         struct pto_error *error) {
  char given[PTO_CLOSEST_MAX + 1], name[PTO_CLOSEST_MAX + 1], question[PTO_CLOSEST_TEXT], longer[200];
  struct pto_closest closest;
  snprintf(given, sizeof given, "%.*s", (int)strcspn(word, "="), word);
  pto_closest_begin(&closest, given);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(specs) + count_specs(extra); i++) {
    const struct pto_option_spec *spec = spec_at(extra, i);
    snprintf(name, sizeof name, "--%s", spec->name);
    if (i >= PTO_ARRAY_LENGTH(specs) || (spec->takers >> verb & 1)) pto_closest_consider(&closest, name);
  }
  if (strncmp(given, "--", 2) == 0 && given[2] && list_longer(verb, given, extra, longer, sizeof longer))
    return pto_error_set(error, PTO_EINVAL, "%s is short for %s; --help lists them", word, longer);
  return pto_error_set(error, PTO_EINVAL, "there is no option %s; --help lists them%s", word,
                       pto_closest_question(&closest, question));
}

/* What getopt_long did not like about `word`: a value too few or too many.  PTO_OK: it is no option. */
static int explain_refusal(int answer, const char *word, const struct option *table, struct pto_error *error) {
  if (answer == ':') return pto_error_set(error, PTO_EINVAL, "%s needs a value", word);
  size_t length = strcspn(word, "=");
  for (; word[length] && length > 2 && table->name; table++)
    if (strlen(table->name) == length - 2 && strncmp(table->name, word + 2, length - 2) == 0)
      return pto_error_set(error, PTO_EINVAL, "--%s takes no value: %s", table->name, word);
  return PTO_OK;
}

/* A number is little-endian: its low bytes are what a field of fewer holds. */
static int take_value(const struct pto_option_spec *spec, void *field, const char *value, struct pto_error *error) {
  uint64_t number;
  if (!spec->most) return spec->set(field, value, error);
  const int status = pto_parse_u64(value, spec->least, spec->most, &number, error);
  if (status == PTO_OK) memcpy(field, &number, spec->number_bytes);
  return status;
}

/* Gives an option its values: the one that getopt found and, for an option of several, the words behind it. */
static int take_values(const struct pto_option_spec *spec, void *target, int argc, char **argv,
                       struct pto_error *error) {
  void *field = (char *)target + spec->field;
  int status = take_value(spec, field, optarg, error);
  for (const char *word = spec->argument; word && (word = strchr(word, ' ')) != NULL && !status; word++) {
    if (optind >= argc) return pto_error_set(error, PTO_EINVAL, "takes %s", spec->argument);
    status = take_value(spec, field, argv[optind++], error);
  }
  return status;
}

/* The table for getopt: common options but those that the verb has in its own form, then the verb's own. */
static void make_table(const struct pto_option_spec *extra, struct option *table) {
  const size_t count = PTO_ARRAY_LENGTH(specs) + count_specs(extra);
  PTO_ASSERT(count <= PTO_OPTION_SPECS_MAX);
  for (size_t i = 0; i < count; i++) {
    const struct pto_option_spec *spec = spec_at(extra, i);
    if (!is_in_table(extra, i)) continue;
    *table++ =
        (struct option){.name = spec->name,
                        .has_arg = spec->argument ? required_argument : no_argument,
                        /* One value each: getopt takes options of equal values for one, and abbreviates to either. */
                        .val = FIRST_VALUE + (int)i};
  }
  *table = (struct option){0};
}

/* Words behind the program's are of the verb. */
static int take_program(struct pto_run_options *options, const char *word, struct pto_error *error) {
  pto_shared_note(options, "%s", word);
  pto_command_add(&options->again, NULL, word);
  if (options->programs.count == 0) pto_command_add(&options->subject, NULL, word);
  return pto_string_list_add(&options->programs, word, error);
}

static int take_option(size_t index, int argc, char **argv, const struct pto_option_spec *extra, void *extra_target,
                       struct pto_run_options *options, struct pto_error *error) {
  const struct pto_option_spec *spec = spec_at(extra, index);
  const bool is_common = index < PTO_ARRAY_LENGTH(specs);
  struct pto_error reason;
  const char *value = spec->argument ? optarg : NULL;
  options->given[index] = true;
  pto_shared_note_option(options, spec->name, value);
  if (!pto_command_only_tells(spec->name)) pto_command_add(&options->again, spec->name, value);
  if (is_common && !pto_command_only_tells(spec->name) && (spec->takers & JUDGE_PROGRAM) == JUDGE_PROGRAM)
    pto_command_add(&options->subject, spec->name, value);
  const int status = take_values(spec, is_common ? options : extra_target, argc, argv, &reason);
  return status ? pto_error_set(error, status, "--%s: %s", spec->name, reason.sentence) : PTO_OK;
}

/* The chip of a verb where none is given; `named`: what the program's own file names, or NULL.  NULL: only the user
 * says it. */
static const char *default_chip(enum pto_verb_id verb, const char *named) {
  switch (verb) {
  case PTO_VERB_task: /* that of the run that it was kept of */
    return NULL;
  case PTO_VERB_op:
  case PTO_VERB_predict:
  case PTO_VERB_what_if:
    return PTO_HARDWARE_CHIP;
  default:
    return named ? named : pto_chip_name_at(0);
  }
}

/* A chip whose numbers are set is named with them: "a2a3,dispatch=1" (sim/chips/chip.h). */
static int set_chip(enum pto_verb_id verb, struct pto_run_options *options, struct pto_error *error) {
  if (options->chip_settings.count == 0) return PTO_OK;
  char *named = options->programs.count && !options->chip ? pto_subject_named_chip(options->programs.items[0]) : NULL;
  const char *chip = options->chip ? options->chip : default_chip(verb, named);
  if (!chip) {
    free(named);
    return pto_error_set(error, PTO_EINVAL, "--chip-set: say which chip's number with --chip, such as --chip a2a3");
  }
  size_t size = strlen(chip) + 1;
  for (size_t i = 0; i < options->chip_settings.count; i++) size += 1 + strlen(options->chip_settings.items[i]);
  options->set_chip = calloc(1, size);
  if (options->set_chip) pto_text_append(options->set_chip, size, "%s", chip);
  free(named);
  if (!options->set_chip) return pto_error_set(error, PTO_ENOMEM, "no memory for the name of a chip");
  for (size_t i = 0; i < options->chip_settings.count; i++)
    pto_text_append(options->set_chip, size, ",%s", options->chip_settings.items[i]);
  options->chip = options->set_chip;
  return PTO_OK;
}

/* Why a verb has none of the files that most have. */
static const char *why_no_file(const char *name) {
  static const char *const reasons[][2] = {{"json", "what it makes is a file"},
                                           {"junit", "it judges nothing"},
                                           {"sarif", "it finds nothing that has a place in a source file"},
                                           {"report", "a page would show no more than its text"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(reasons); i++)
    if (strcmp(reasons[i][0], name) == 0) return reasons[i][1];
  return NULL;
}

/* Why a verb is of one chip, and what to take instead; NULL: it says nothing of ranks. */
static const char *why_no_ranks(enum pto_verb_id verb) {
  switch (verb) {
  case PTO_VERB_perf:
    return "samples are laid beside the timeline of one runtime, so give it a program for one chip";
  case PTO_VERB_diff:
    return "it compares two graphs; `ptosim run PROGRAM --ranks N --deps-json g.json` writes one a rank, g.0.json and "
           "so on";
  case PTO_VERB_task:
    return "a task runs alone, and nothing would notify what it waits for";
  case PTO_VERB_graph:
    return "operations are lowered for one chip";
  case PTO_VERB_adopt:
    return "`ptosim run MANIFEST.json --ranks N` runs it on several";
  default:
    return NULL;
  }
}

int pto_run_options_parse(enum pto_verb_id verb, int argc, char **argv, const struct pto_option_spec *extra,
                          void *extra_target, struct pto_run_options *options, struct pto_error *error) {
  struct option table[PTO_OPTION_SPECS_MAX + 1];
  make_table(extra, table);
  *options = (struct pto_run_options){.rounds = 1, .timeout_ms = DEFAULT_TIMEOUT_MS};
  if (pto_run_options_has(verb, "shard")) options->command = json_array();
  pto_shared_note(options, "%s", pto_verb_at(verb)->name);
  if ((AGAIN >> verb & 1) && asprintf(&options->again, "ptosim %s", pto_verb_at(verb)->name) < 0) options->again = NULL;
  options->subject = strdup("");
  optind = 0; /* glibc: start over, whatever was parsed before */
  opterr = 0;
  for (;;) {
    int answer = getopt_long(argc, argv, "-:ho:", table, NULL);
    if (answer == -1) break;
    int status = PTO_OK;
    if (answer == 1)
      status = take_program(options, optarg, error);
    else if (answer >= FIRST_VALUE)
      status = take_option((size_t)(answer - FIRST_VALUE), argc, argv, extra, extra_target, options, error);
    else if (answer == 'h')
      options->help = true;
    else if (answer == 'o' && find_extra(extra, "to"))
      status = take_option(PTO_ARRAY_LENGTH(specs) + (size_t)(find_extra(extra, "to") - extra), argc, argv, extra,
                           extra_target, options, error);
    else {
      const char *word = answer == 'o' ? "-o" : argv[optind - 1];
      status = explain_refusal(answer, word, table, error);
      if (status == PTO_OK) status = refuse_option(verb, word, extra, error);
    }
    if (status) return status;
  }
  for (; optind < argc; optind++) {
    int status = take_program(options, argv[optind], error);
    if (status) return status;
  }
  const char *refused = options->help ? NULL : find_refused(options, verb);
  const bool names_chip = options->programs.count > 0 && pto_subject_names_chip(options->programs.items[0]);
  if (!options->chip && !names_chip) pto_command_add(&options->again, "chip", pto_chip_name_at(0));
  if ((AGAIN >> verb & 1 && !options->again) || !options->subject)
    return pto_error_set(error, PTO_ENOMEM, "no memory for the command");
  if (!refused) return set_chip(verb, options, error);
  if (why_no_file(refused))
    return pto_error_set(error, PTO_EINVAL, "does not take --%s: %s", refused, why_no_file(refused));
  if (strcmp(refused, "ranks") == 0 && why_no_ranks(verb))
    return pto_error_set(error, PTO_EINVAL, "does not take --ranks: %s", why_no_ranks(verb));
  if (strcmp(refused, "no-compute") == 0 && verb != PTO_VERB_compare)
    return pto_error_set(error, PTO_EINVAL,
                         PREDICT >> verb & 1
                             ? "it prices kernels by itself: leave --no-compute out"
                             : "--no-compute is for run, check, why, adopt and explore of several ranks");
  if (!pto_run_options_has(PTO_VERB_run, refused))
    return pto_error_set(error, PTO_EINVAL, "does not take --%s", refused);
  if (verb == PTO_VERB_compare)
    return pto_error_set(error, PTO_EINVAL, "--%s is of a side: \"PROGRAM --%s ...\"", refused, refused);
  return pto_error_set(error, PTO_EINVAL, "--%s is for %s`ptosim run`", refused,
                       MANY_RUNS >> verb & 1 ? "one run: " : "");
}

static bool is_stdout(const char *path) { return path && strcmp(path, "-") == 0; }

/* Of two files of one name the later would be all there is; devices take any number. */
static int complain_same_file(const char *verb, const struct pto_run_options *options) {
  const struct {
    const char *option, *path;
  } files[] = {{"json", options->json_path},
               {"sarif", options->sarif_path},
               {"junit", options->junit_path},
#define X(name, option, argument, help, record, write) {option, options->exports[PTO_EXPORT_##name]},
               PTO_EXPORT_LIST(X)
#undef X
  };
  struct stat about;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(files); i++)
    for (size_t k = 0; k < i; k++) {
      if (!files[i].path || !files[k].path || strcmp(files[i].path, files[k].path) != 0) continue;
      if (is_stdout(files[i].path) || (stat(files[i].path, &about) == 0 && !S_ISREG(about.st_mode))) continue;
      return pto_complain(PTO_EXIT_USAGE, "%s: --%s and --%s are both to write %s", verb, files[k].option,
                          files[i].option, files[i].path);
    }
  return PTO_EXIT_OK;
}

bool pto_run_options_begin(const struct pto_verb_form *form, int argc, char **argv, void *own_target,
                           struct pto_run_options *options, int *code_out) {
  const char *name = pto_verb_at(form->verb)->name;
  const struct pto_string_list *programs = &options->programs;
  struct pto_error error;
  *code_out = PTO_EXIT_OK;
  if (pto_run_options_parse(form->verb, argc, argv, form->own, own_target, options, &error))
    *code_out = pto_complain(pto_exit_of_setup(error.status), "%s: %s", name, error.sentence);
  else if (options->help)
    form->help(options);
  else if (complain_same_file(name, options))
    *code_out = PTO_EXIT_USAGE;
  else if (pto_complain_unwritable(options->sarif_path) || pto_complain_unwritable(options->junit_path))
    *code_out = PTO_EXIT_USAGE;
  else if (form->takes_one_program && programs->count == 0)
    *code_out = pto_complain(PTO_EXIT_USAGE, "%s: which program?  `ptosim list programs` names them", name);
  else if (form->takes_one_program && programs->count > 1)
    *code_out = pto_complain(PTO_EXIT_USAGE, "%s: one program at a time, not also \"%s\"", name, programs->items[1]);
  else
    *code_out = pto_shared_open(options);
  return *code_out == PTO_EXIT_OK && !options->help;
}

void pto_run_options_fini(struct pto_run_options *options) {
  json_decref(options->command);
  free(options->again);
  free(options->subject);
  free(options->set_chip);
  free(options->model);
  free(options->programs.items);
  free(options->settings.items);
  free(options->chip_settings.items);
  free(options->inputs.items);
  free(options->expects.items);
  free(options->outputs.items);
  memset(options, 0, sizeof *options);
}

bool pto_run_options_take_stdout(const struct pto_run_options *options) {
  bool takes = is_stdout(options->json_path) || is_stdout(options->sarif_path) || is_stdout(options->junit_path);
  for (int i = 0; i < PTO_EXPORT_COUNT; i++) takes |= is_stdout(options->exports[i]);
  return takes;
}

/* What stands for an option that is not given, where verbs differ in it; NULL: its help says it, or there is nothing.
 */
static const char *default_text(enum pto_verb_id verb, const char *name) {
  static const struct {
    const char *name, *text;
    uint32_t verbs;
  } texts[] = {
      {"engine", "virtual", TAKER(check) | TAKER(why)},
      {"engine", "one of its own", TAKER(explore)},
      {"engine", "both", TAKER(suite)},
      {"engine", "the run's", TAKER(task)},
      {"engine", "threads", UINT32_MAX},
      {"chip", "the manifest's", ADOPT},
      {"chip", "the run's", TAKER(task)},
      {"chip", PTO_HARDWARE_CHIP, TAKER(calibrate)},
      {"chip", "tiny", UINT32_MAX},
      {"deps", "pto", ADOPT},
      {"deps", "both", TAKER(why)},
      {"deps", "exact", UINT32_MAX},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(texts); i++)
    if (strcmp(texts[i].name, name) == 0 && (texts[i].verbs >> verb & 1)) return texts[i].text;
  return NULL;
}

void pto_run_options_help(enum pto_verb_id verb, const struct pto_option_spec *extra) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(specs) + count_specs(extra); i++) {
    const struct pto_option_spec *spec = spec_at(extra, i);
    char left[64];
    if (i < PTO_ARRAY_LENGTH(specs) && (!(spec->takers >> verb & 1) || find_extra(extra, spec->name))) continue;
    snprintf(left, sizeof left, "--%s%s%s", spec->name, spec->argument ? " " : "",
             spec->argument ? spec->argument : "");
    const char *otherwise = i < PTO_ARRAY_LENGTH(specs) ? default_text(verb, spec->name) : NULL;
    printf("  %-24s %s%s%s\n", left, spec->help, otherwise ? "; default: " : "", otherwise ? otherwise : "");
  }
}
