/* SPDX-License-Identifier: MIT */
/*
 * The options that verbs share: one table, with the verbs that take each.
 *
 * Owns the lists inside a pto_run_options until fini; the strings are argv's.
 *
 * Always true after a successful parse: values are of their type and within their range, and the verb takes each option
 * that was given.  Whether they make sense together, or exist (programs, chips, files), is found out by those who use
 * them.
 *
 * One thread (getopt keeps its place in globals).
 *
 * To add an option: a line in `specs` of cli/run/options.c with the verbs that take it; all others refuse it.  To add
 * one of a verb's own: a line in that verb's list of pto_option_spec.  An export (a file that a run is written to) is a
 * line in PTO_EXPORT_LIST of report/export/export.h instead.
 */
#ifndef PTO_CLI_RUN_OPTIONS_H
#define PTO_CLI_RUN_OPTIONS_H

#include <stddef.h>

#include <cli/main/verb.h>
#include <cli/run/values.h>
#include <pto/runtime.h>
#include <report/export/export.h>
#include <report/file/shard.h>
#include <runtime/base/error.h>

#define PTO_OPTION_SPECS_MAX 96
#define PTO_HARDWARE_CHIP "a2a3" /* the chip of verbs that tell of hardware, where none is named */

struct pto_run_options {
  struct pto_string_list programs;      /* what is no option; the model of --model first */
  char *set_chip;                       /* `chip` with the settings of --chip-set; NULL: there are none */
  char *model;                          /* "model:NAME" of --model; NULL: not given */
  struct pto_string_list settings;      /* key=value */
  struct pto_string_list chip_settings; /* key=value: already part of `chip` */
  struct pto_string_list inputs;        /* name=FILE.npy */
  struct pto_string_list expects;       /* name=FILE.npy */
  struct pto_string_list outputs;       /* name=FILE.npy */
  const char *engine, *chip, *policy, *placement, *case_name; /* NULL: not given */
  const char *exports[PTO_EXPORT_COUNT];                      /* paths, by enum pto_export; NULL: not given */
  const char *json_path, *sarif_path, *junit_path;
  const char *dump_tasks, *dump_path; /* of --dump; NULL: not given */
  uint32_t workers, clusters, deps;   /* 0: default */
  uint32_t ranks, world_threads;      /* 0: the program's; 1 */
  bool has_deps, has_rtol, has_atol, has_timeout;
  double rtol, atol;
  uint32_t rounds; /* ≥ 1 */
  uint64_t seed, window, heap_bytes;
  uint64_t ring_window[PTO_RINGS], ring_heap_bytes[PTO_RINGS]; /* zeros: all the same */
  uint32_t timeout_ms;                                         /* 0: never; the default of 60 s unless has_timeout */
  uint32_t jitter_ppm;                                         /* 0: none */
  bool poison, stats, no_gains, comm_stats, quiet, help, no_compute, assume_zero;
  const char *values;                   /* NULL: not given */
  bool is_mute;                         /* no option: of verbs that run a program often: what it prints goes nowhere */
  const struct pto_kernel_meter *meter; /* the same: of verbs that count by kernel */
  struct pto_share share;               /* of verbs that take --shard (cli/run/shared.h) */
  bool
      given[PTO_OPTION_SPECS_MAX]; /* entries of `specs` (cli/run/options.c), and behind these of the verb's own list */
  const char *of_merge;            /* the first option given that a shard leaves to merge; NULL: none */
  json_t *command; /* the same: the words that say what is run, without those that say how and where to */
  char *again;     /* of verbs that run a program: the command for a shell that does it again, and tells no more */
  char *subject;   /* words of a shell: which program, with the options that each verb which judges one takes */
};

/* Who takes options: the verbs, and two modes of `check` that take fewer than it does.  At most 32. */
enum pto_option_taker { PTO_TAKER_OBSERVE = PTO_VERB_COUNT, PTO_TAKER_ADVISE, PTO_TAKER_COUNT };

/* One option.  `argument` is "SECONDS", or NULL where it takes none; of several words ("TASKS DIR") `set` is called
 * with each in turn.  `set` judges the value (NULL where `argument` is), stores it and returns PTO_OK; or it returns
 * PTO_EINVAL with the sentence and has stored nothing.  In a verb's own list an entry replaces the common option of the
 * same name; without a `set` it replaces the help alone. */
struct pto_option_spec {
  const char *name, *argument, *help; /* the name without dashes */
  int (*set)(void *target, const char *value, struct pto_error *error);
  uint64_t least, most,
      number_bytes; /* of a number, which has no `set`: its range, and the field's size; most 0: none */
  size_t field;     /* offset in what is filled in: `set` gets the address of this field */
  uint32_t takers;  /* bits of enum pto_verb_id and enum pto_option_taker; of no matter in a verb's own list */
};

/* How an entry goes on behind its help, but with `set`: a field that is a const char *, a bool that becomes true, or an
 * unsigned number. */
#define PTO_OPTION_TEXT(type, name) .set = pto_option_set_text, .field = offsetof(type, name)
#define PTO_OPTION_FLAG(type, name) .set = pto_option_set_flag, .field = offsetof(type, name)
#define PTO_OPTION_NUMBER(type, name, from, to)                                                                        \
  .least = from, .most = to, .number_bytes = sizeof(((type *)NULL)->name), .field = offsetof(type, name)

int pto_option_set_text(void *target, const char *value, struct pto_error *error);
int pto_option_set_flag(void *target, const char *value, struct pto_error *error);

/* Reads argv[1] … into `options` (and `extra`, a list ended by a zeroed entry, may be NULL, into `extra_target`).
 * PTO_OK, or PTO_EINVAL with one sentence; so where an option was given that `verb` does not take, unless --help was
 * too.  fini is due in either case. */
PTO_MUST_CHECK int pto_run_options_parse(enum pto_verb_id verb, int argc, char **argv,
                                         const struct pto_option_spec *extra, void *extra_target,
                                         struct pto_run_options *options, struct pto_error *error);

/* How a verb begins. */
struct pto_verb_form {
  enum pto_verb_id verb;
  const struct pto_option_spec *own; /* ended by a zeroed entry; NULL: it has none */
  void (*help)(const struct pto_run_options *options);
  bool takes_one_program;
};
/* Reads the words as parse does.  True where the verb goes on; else help was printed, or a mistake told, and *code_out
 * is the exit status.  fini is due in either case. */
PTO_MUST_CHECK bool pto_run_options_begin(const struct pto_verb_form *form, int argc, char **argv, void *own_target,
                                          struct pto_run_options *options, int *code_out);
void pto_run_options_fini(struct pto_run_options *options);

/* The name of an option that was given and that the mode does not take; NULL: none.  The mode refuses with it what it
 * would have to ignore. */
const char *pto_run_options_refused(const struct pto_run_options *options, enum pto_option_taker mode);

/* Whether the option of this name was given, `own` being the verb's own list. */
bool pto_run_options_given(const struct pto_run_options *options, const struct pto_option_spec *own, const char *name);
/* Whether a report of the run goes to standard output ("-"): text for people would spoil it. */
bool pto_run_options_take_stdout(const struct pto_run_options *options);

/* Whether the verb takes the common option of this name. */
bool pto_run_options_has(enum pto_verb_id verb, const char *name);
/* The options of the verb, one a line, for --help. */
void pto_run_options_help(enum pto_verb_id verb, const struct pto_option_spec *extra);

#endif
