/* SPDX-License-Identifier: MIT */
/*
 * Which tasks of a run the user asked for: "17", "3,5-9", "down_proj" (all tasks that run that kernel),
 * "first:down_proj", and any of these parted by commas.
 *
 * Owns its copy of the text and the list of terms until fini.  Always true: a term with a name has no numbers; `is_met`
 * ⇔ some task was chosen by the term.
 *
 * One thread.
 */
#ifndef PTO_CHECK_TASK_CHOICE_H
#define PTO_CHECK_TASK_CHOICE_H

#include <pto/kernel.h>
#include <runtime/base/error.h>

struct pto_task_term {
  const char *name;     /* of a kernel; NULL: numbers */
  uint64_t first, last; /* inclusive */
  bool is_first_alone, is_met;
};

struct pto_task_choice {
  char *text; /* what the names point into */
  struct pto_task_term *terms;
  uint32_t count;
};

/* PTO_OK, PTO_EINVAL with the term that is none, PTO_ENOMEM; fini is due in any case. */
PTO_MUST_CHECK int pto_task_choice_init(struct pto_task_choice *choice, const char *text, struct pto_error *error);
void pto_task_choice_fini(struct pto_task_choice *choice);

/* Whether the task is chosen; asked once a task, in the order in which tasks come to run.  `kernels` by role, NULL
 * where there is none. */
bool pto_task_choice_takes(struct pto_task_choice *choice, uint64_t number, const struct pto_kernel *const kernels[3]);
/* The first term that took no task, or NULL. */
const struct pto_task_term *pto_task_choice_unmet(const struct pto_task_choice *choice);
/* "task 17", "a task of 5 to 9", "down_proj".  Returns `text`. */
const char *pto_task_term_format(const struct pto_task_term *term, char *text, size_t size);

#endif
