/* SPDX-License-Identifier: MIT */
/*
 * The list of `ptosim regress`: one case a line, as it would be typed behind `ptosim`.
 *
 *   # all programs of attention
 *   paged_attention --engine virtual --chip a2a3 --case var2
 *   graph gpt2.json --run --engine virtual
 *   errors/heap => PTO_EHEAP
 *   war_reuse --case short --deps pto --policy lifo => wrong
 *   moe => timed
 *
 * A line is a program with options of `ptosim run`, or the word graph and what `ptosim graph` takes; `=> STATUS` behind
 * it says that the run must fail with that status, `=> wrong` that its result must be wrong, `=> timed` that it is
 * right and what it takes on the clock is compared.  Words are parted by blanks; "…" keeps blanks together.  Blank
 * lines and what follows a # at the begin of a line say nothing.
 *
 * Owns its strings until fini.  A case is known by its text, with one blank between words; no two are the same.
 */
#ifndef PTO_CHECK_REGRESS_LIST_H
#define PTO_CHECK_REGRESS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <runtime/base/error.h>

#define PTO_REGRESS_WORDS 60u /* of a case, at most */
#define PTO_REGRESS_WRONG "wrong"
#define PTO_REGRESS_TIMED "timed"

struct pto_regress_case {
  char *text;     /* all of the line but `=> …`, as it may be typed in a shell behind `ptosim` and the verb */
  char *expected; /* the status that it must fail with, or PTO_REGRESS_WRONG; NULL: it must succeed */
  bool is_timed;
  char *words[PTO_REGRESS_WORDS + 1]; /* ended by NULL: the verb first */
  size_t word_count;
  uint32_t line; /* of the file, from 1 */
};

struct pto_regress_list {
  struct pto_regress_case *cases;
  size_t count, capacity;
};

/* Reads the file.  PTO_OK, or PTO_EINVAL, PTO_ESYSTEM or PTO_ENOMEM with a sentence that names file and line, and an
 * empty list. */
PTO_MUST_CHECK int pto_regress_list_read(const char *path, struct pto_regress_list *list, struct pto_error *error);
/* A zeroed list is allowed. */
void pto_regress_list_fini(struct pto_regress_list *list);

/* The next word of the line, without its quotes, in place; NULL: there is none.  `*length` is what it has in the line,
 * quotes and all; *is_open: its last quotation mark is missing. */
char *pto_regress_next_word(char **rest, size_t *length, bool *is_open);

/* Leaves those whose text matches the extended regular expression.  PTO_OK, PTO_EINVAL for an expression that is none.
 */
PTO_MUST_CHECK int pto_regress_list_filter(struct pto_regress_list *list, const char *expression,
                                           struct pto_error *error);

#endif
