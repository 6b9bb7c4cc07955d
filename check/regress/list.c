/* SPDX-License-Identifier: MIT */
#include <check/regress/list.h>

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pto/status.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>
#include <runtime/base/text.h>

#define BLANKS " \t\r\n"
/* What regress gives each run itself. */
static const char *const own_options[] = {"--json", "--quiet", "--help"};

static void case_fini(struct pto_regress_case *c) {
  free(c->text);
  free(c->expected);
  for (size_t i = 0; i < c->word_count; i++) free(c->words[i]);
}

void pto_regress_list_fini(struct pto_regress_list *list) {
  for (size_t i = 0; i < list->count; i++) case_fini(&list->cases[i]);
  free(list->cases);
  memset(list, 0, sizeof *list);
}

/* ---- one line ---- */

static bool add_word(struct pto_regress_case *c, const char *word, size_t length) {
  char *copy = strndup(word, length);
  if (copy) c->words[c->word_count++] = copy;
  return copy != NULL;
}

char *pto_regress_next_word(char **rest, size_t *length, bool *is_open) {
  char *from = *rest + strspn(*rest, BLANKS), *word = from, *to = from;
  bool is_quoted = false;
  if (*from == '\0') return NULL;
  for (; *from && (is_quoted || !strchr(BLANKS, *from)); from++) {
    if (*from == '"')
      is_quoted = !is_quoted;
    else
      *to++ = *from;
  }
  *is_open = is_quoted;
  *length = (size_t)(from - word);
  *rest = from + (*from != '\0');
  *to = '\0';
  return word;
}

/* The text of a case is its words as they stood, with one blank between them. */
static void append_text(char *text, const char *word, size_t length) {
  size_t have = strlen(text);
  if (have) text[have++] = ' ';
  memcpy(text + have, word, length);
  text[have + length] = '\0';
}

static int take_words(struct pto_regress_case *c, char *line, const char *original, const char *place,
                      struct pto_error *error) {
  char *rest = line, *word;
  size_t length;
  bool is_open = false;
  while ((word = pto_regress_next_word(&rest, &length, &is_open)) != NULL) {
    const bool is_first = c->word_count == 0;
    if (is_open) return pto_error_set(error, PTO_EINVAL, "%s: a quotation mark is not closed", place);
    if (c->word_count + 2 > PTO_REGRESS_WORDS)
      return pto_error_set(error, PTO_EINVAL, "%s: more than %u words", place, PTO_REGRESS_WORDS);
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(own_options); i++)
      if (strcmp(word, own_options[i]) == 0)
        return pto_error_set(error, PTO_EINVAL, "%s: %s is not for a case: regress reads the results itself", place,
                             word);
    if (is_first && strcmp(word, "graph") != 0 && !add_word(c, "run", 3)) return PTO_ENOMEM;
    if (!add_word(c, word, strlen(word))) return PTO_ENOMEM;
    append_text(c->text, original + (word - line), length);
  }
  return PTO_OK;
}

/* Cuts `=> STATUS`, `=> wrong` or `=> timed` off the line. */
static int take_expected(struct pto_regress_case *c, char *line, const char *place, struct pto_error *error) {
  char *arrow = strstr(line, "=>");
  if (!arrow) return PTO_OK;
  *arrow = '\0';
  char *name = arrow + 2 + strspn(arrow + 2, BLANKS);
  name[strcspn(name, BLANKS)] = '\0';
  c->is_timed = strcmp(name, PTO_REGRESS_TIMED) == 0;
  if (c->is_timed) return PTO_OK;
  if (strncmp(name, "PTO_E", 5) != 0 && strcmp(name, PTO_REGRESS_WRONG) != 0)
    return pto_error_set(error, PTO_EINVAL,
                         "%s: \"%s\" behind => is neither wrong nor timed nor a status such as PTO_EHEAP", place, name);
  c->expected = strdup(name);
  return c->expected ? PTO_OK : PTO_ENOMEM;
}

static int take_line(struct pto_regress_list *list, char *line, const char *path, uint32_t number,
                     struct pto_error *error) {
  char place[512];
  snprintf(place, sizeof place, "%s:%u", path, number);
  const char *first = line + strspn(line, BLANKS);
  if (*first == '\0' || *first == '#') return PTO_OK;
  struct pto_regress_case *c = pto_grow(&list->cases, &list->count, &list->capacity, sizeof *c);
  if (!c) return PTO_ENOMEM;
  c->line = number;
  int status = take_expected(c, line, place, error);
  if (status) return status;
  char *original = strdup(line);
  c->text = calloc(strlen(line) + 1, 1);
  status = original && c->text ? take_words(c, line, original, place, error) : PTO_ENOMEM;
  free(original);
  if (status == PTO_OK && c->word_count == 0) return pto_error_set(error, PTO_EINVAL, "%s: no program", place);
  for (size_t i = 0; status == PTO_OK && i + 1 < list->count; i++)
    if (strcmp(list->cases[i].text, c->text) == 0)
      return pto_error_set(error, PTO_EINVAL, "%s: the same case as line %u", place, list->cases[i].line);
  return status;
}

/* ---- the file ---- */

int pto_regress_list_read(const char *path, struct pto_regress_list *list, struct pto_error *error) {
  memset(list, 0, sizeof *list);
  FILE *file = pto_text_file_open(path, error);
  char *line = NULL;
  size_t size = 0;
  int status = PTO_OK;
  if (!file) return error->status;
  errno = 0;
  for (uint32_t number = 1; status == PTO_OK && getline(&line, &size, file) >= 0; number++)
    status = take_line(list, line, path, number, error);
  if (status == PTO_OK && !feof(file)) status = pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(errno));
  if (status == PTO_ENOMEM) pto_error_set(error, status, "%s: no memory for its cases", path);
  free(line);
  fclose(file);
  if (status) pto_regress_list_fini(list);
  return status;
}

int pto_regress_list_filter(struct pto_regress_list *list, const char *expression, struct pto_error *error) {
  regex_t regex;
  size_t kept = 0;
  const int answer = regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB);
  if (answer) {
    char reason[128];
    regerror(answer, &regex, reason, sizeof reason);
    return pto_error_set(error, PTO_EINVAL, "--filter \"%s\": %s", expression, reason);
  }
  for (size_t i = 0; i < list->count; i++) {
    if (regexec(&regex, list->cases[i].text, 0, NULL, 0) == 0)
      list->cases[kept++] = list->cases[i];
    else
      case_fini(&list->cases[i]);
  }
  list->count = kept;
  regfree(&regex);
  return PTO_OK;
}
