/* SPDX-License-Identifier: MIT */
/*
 * Cases of `ptosim adopt` and what became of each: lines for people, JSON, JUnit.
 *
 * A case is a JSON object, since most come from the plugin of pytest (python/pto/adopt.py) as such.  Keys, any of them
 * may be missing: name; scene, the file; architecture, engine, mode; built, run: truth; verified: truth, or null where
 * nothing judges; reason: the sentence of what went wrong; left_out: truth; tasks, edges: of the graph, without
 * allocations; objects, compiled; substitutes:
 * sentences; seconds; findings: sentences.
 *
 * Owns the objects until fini.  The main thread.
 */
#ifndef PTO_CLI_ADOPT_CASES_H
#define PTO_CLI_ADOPT_CASES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include <runtime/base/error.h>

struct pto_adopt_cases {
  json_t *array;
};

PTO_MUST_CHECK bool pto_adopt_cases_init(struct pto_adopt_cases *cases);
void pto_adopt_cases_fini(struct pto_adopt_cases *cases);

/* "verified", "by luck", "unjudged", "wrong", "failed", "not built", "left out": a static string. */
const char *pto_adopt_case_verdict(json_t *one);
/* A line, and one for each finding and reason. */
void pto_adopt_case_print(json_t *one, FILE *to);
/* "adopt: N cases, N built, N run, N verified", and what else there were. */
void pto_adopt_cases_print_sum(const struct pto_adopt_cases *cases, FILE *to);

/* 0 where all that was not left out is verified, or judged by none, and has no finding; else 1, or 3 where one failed
 * or was not built. */
int pto_adopt_cases_exit(const struct pto_adopt_cases *cases);
/* Of the first that failed or was not built; NULL: there is none, or none is known. */
const char *pto_adopt_cases_reason(const struct pto_adopt_cases *cases);

/* PTO_OK or PTO_ESYSTEM.  `path` NULL: nothing to do. */
PTO_MUST_CHECK int pto_adopt_cases_write_json(const struct pto_adopt_cases *cases, const char *path,
                                              struct pto_error *error);
PTO_MUST_CHECK int pto_adopt_cases_write_junit(const struct pto_adopt_cases *cases, const char *suite, const char *path,
                                               struct pto_error *error);

#endif
