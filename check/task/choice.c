/* SPDX-License-Identifier: MIT */
#include <check/task/choice.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

#define FIRST "first:"

/* A number at *at, which moves behind it. */
static bool try_number(char **at, uint64_t *number) {
  if (**at < '0' || **at > '9') return false;
  errno = 0;
  *number = strtoull(*at, at, 10);
  return errno == 0;
}

static int parse_term(char *word, struct pto_task_term *term, struct pto_error *error) {
  char *at = word;
  *term = (struct pto_task_term){.name = NULL};
  if (*word >= '0' && *word <= '9') {
    bool is_good = try_number(&at, &term->first);
    term->last = term->first;
    if (is_good && *at == '-') {
      at++;
      is_good = try_number(&at, &term->last);
    }
    if (!is_good || *at || term->last < term->first)
      return pto_error_set(error, PTO_EINVAL, "\"%s\" is neither a task's number nor a range such as 5-9", word);
    return PTO_OK;
  }
  term->is_first_alone = strncmp(word, FIRST, sizeof FIRST - 1) == 0;
  term->name = term->is_first_alone ? word + sizeof FIRST - 1 : word;
  if (!*term->name) return pto_error_set(error, PTO_EINVAL, "\"%s\" names no task and no kernel", word);
  return PTO_OK;
}

int pto_task_choice_init(struct pto_task_choice *choice, const char *text, struct pto_error *error) {
  uint32_t most = 1;
  for (const char *c = text; *c; c++) most += *c == ',';
  *choice = (struct pto_task_choice){.text = strdup(text), .terms = calloc(most, sizeof *choice->terms)};
  if (!choice->text || !choice->terms) return pto_error_set(error, PTO_ENOMEM, "no memory for a choice of tasks");
  char *rest = choice->text, *word;
  while ((word = strsep(&rest, ",")) != NULL) {
    int status = parse_term(word, &choice->terms[choice->count], error);
    if (status) return status;
    choice->count++;
  }
  return PTO_OK;
}

void pto_task_choice_fini(struct pto_task_choice *choice) {
  free(choice->text);
  free(choice->terms);
  memset(choice, 0, sizeof *choice);
}

static bool runs(const struct pto_kernel *const kernels[3], const char *name) {
  for (int role = 0; role < 3; role++)
    if (kernels[role] && strcmp(kernels[role]->name, name) == 0) return true;
  return false;
}

bool pto_task_choice_takes(struct pto_task_choice *choice, uint64_t number, const struct pto_kernel *const kernels[3]) {
  bool is_taken = false;
  for (uint32_t i = 0; i < choice->count; i++) {
    struct pto_task_term *term = &choice->terms[i];
    bool takes = term->name ? runs(kernels, term->name) && !(term->is_first_alone && term->is_met)
                            : number >= term->first && number <= term->last;
    term->is_met |= takes;
    is_taken |= takes;
  }
  return is_taken;
}

const struct pto_task_term *pto_task_choice_unmet(const struct pto_task_choice *choice) {
  for (uint32_t i = 0; i < choice->count; i++)
    if (!choice->terms[i].is_met) return &choice->terms[i];
  return NULL;
}

const char *pto_task_term_format(const struct pto_task_term *term, char *text, size_t size) {
  if (term->name)
    snprintf(text, size, "%.100s", term->name);
  else if (term->first == term->last)
    snprintf(text, size, "task %" PRIu64, term->first);
  else
    snprintf(text, size, "a task of %" PRIu64 " to %" PRIu64, term->first, term->last);
  return text;
}
