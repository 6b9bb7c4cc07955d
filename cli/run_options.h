/* SPDX-License-Identifier: MIT */
/*
 * The options of `ptosim run`, which every verb that judges a program takes too.
 *
 * Owns the lists inside a pto_run_options until fini; the strings are argv's.
 *
 * Always true after a successful parse: values are of their type and within their range.  Whether they make sense
 * together, or exist (programs, chips, files), is found out by those who use them.
 *
 * One thread (getopt keeps its place in globals).  To add an option of run: a line in `specs` of run_options.c.  To add
 * one of a verb's own: a list of pto_option_spec with that verb.
 */
#ifndef PTO_RUN_OPTIONS_H
#define PTO_RUN_OPTIONS_H

#include <pto/runtime.h>
#include <runtime/base/error.h>

/* A list of strings that grows. */
struct pto_string_list {
  const char **items;
  uint32_t count, capacity;
};

struct pto_run_options {
  struct pto_string_list programs;                /* what is no option */
  struct pto_string_list settings;                /* key=value */
  struct pto_string_list inputs;                  /* name=FILE.npy */
  struct pto_string_list expects;                 /* name=FILE.npy */
  struct pto_string_list outputs;                 /* name=FILE.npy */
  const char *engine, *chip, *policy, *case_name; /* NULL: not given */
  const char *trace_path, *dot_path, *deps_path, *waits_path, *json_path;
  const char *dump_tasks, *dump_path; /* of --dump; NULL: not given */
  uint32_t workers, deps;             /* 0: default */
  bool has_deps, has_rtol, has_atol, has_timeout;
  double rtol, atol;
  uint32_t rounds; /* ≥ 1 */
  uint64_t seed, window, heap_bytes;
  uint32_t timeout_ms; /* 0: never; the default of 60 s unless has_timeout */
  bool poison, stats, quiet, help;
  uint64_t array_margin_bytes;          /* no option: of verbs that watch arrays (pto_program_request) */
  bool is_mute;                         /* no option: of verbs that run a program often: what it prints goes nowhere */
  const struct pto_kernel_meter *meter; /* the same: of verbs that count by kernel */
  const char *one_run_option;           /* the first option given that is for one run; NULL: none was */
  uint64_t given;                       /* bit i: entry i of `specs` (run_options.c) was */
};

/* How one option is taken in.  `set` gets the option's argument (NULL where `argument` is) and returns PTO_OK, or
 * PTO_EINVAL with the sentence. */
struct pto_option_spec {
  const char *name; /* without dashes */
  const char
      *argument; /* "SECONDS"; NULL: takes none; "TASKS DIR": as many as words, `set` is called with each in turn */
  const char *help;
  int (*set)(void *target, const char *value, struct pto_error *error);
  bool is_for_one_run; /* makes no sense for a verb that runs many programs */
};

#define PTO_OPTION_SPECS_MAX 64

/* Reads argv[1] … into `options` (and `extra`, a list ended by a zeroed entry, may be NULL, into `extra_target`).
 * PTO_OK, or PTO_EINVAL with one sentence.  fini is due in either case. */
PTO_MUST_CHECK int pto_run_options_parse(int argc, char **argv, const struct pto_option_spec *extra, void *extra_target,
                                         struct pto_run_options *options, struct pto_error *error);
void pto_run_options_fini(struct pto_run_options *options);

/* The first of these names, ended by NULL, whose option was given; NULL: none.  A verb refuses with it what it would
 * have to ignore. */
const char *pto_run_options_given_of(const struct pto_run_options *options, const char *const *names);

/* Whether a report of the run goes to standard output ("-"): text for people would spoil it. */
bool pto_run_options_take_stdout(const struct pto_run_options *options);

/* The options, one a line, for --help; those for one run only where the verb takes them, and none of `refused` (names,
 * ended by NULL; may be NULL). */
void pto_run_options_help(const struct pto_option_spec *extra, bool is_for_one_run, const char *const *refused);

/* "4M" is 4194304; K, M and G stand for 2^10, 2^20 and 2^30.  PTO_OK, or PTO_EINVAL. */
PTO_MUST_CHECK int pto_parse_bytes(const char *text, uint64_t *bytes, struct pto_error *error);
/* A decimal number from `least` to `most`. */
PTO_MUST_CHECK int pto_parse_u64(const char *text, uint64_t least, uint64_t most, uint64_t *value,
                                 struct pto_error *error);
/* A finite number ≥ 0. */
PTO_MUST_CHECK int pto_parse_double(const char *text, double *value, struct pto_error *error);
PTO_MUST_CHECK int pto_string_list_add(struct pto_string_list *list, const char *text, struct pto_error *error);

#endif
