/* SPDX-License-Identifier: MIT */
#include <cli/run/command.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <report/export/export.h>
#include <runtime/base/base.h>

/* As a shell takes it for one word: in quotes where it would see more in it.  The caller's; NULL without memory. */
static char *shell_word(const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=,:+-@%";
  if (word[0] && !word[strspn(word, plain)]) return strdup(word);
  char *text = malloc(4 * strlen(word) + 3), *to = text;
  if (!text) return NULL;
  *to++ = '\'';
  for (; *word; word++) {
    if (*word == '\'') to = stpcpy(to, "'\\'"); /* ends the quotes, and a quote; the next one begins them again */
    *to++ = *word;
  }
  strcpy(to, "'");
  return text;
}

void pto_command_add(char **command, const char *name, const char *value) {
  char *word = value ? shell_word(value) : NULL, *longer = NULL;
  if (*command && (!value || word) &&
      asprintf(&longer, "%s%s%s%s%s%s", *command, **command && name ? " " : "", name ? "--" : "", name ? name : "",
               (**command || name) && word ? " " : "", word ? word : "") < 0)
    longer = NULL;
  free(word);
  free(*command);
  *command = longer;
}

bool pto_command_only_tells(const char *name) {
  static const char *const names[] = {"stats",           "no-gains",    "json", "sarif",  "junit", "quiet", "help",
                                      "counters",        "counters-by", "dump", "output", "save",
#define X(name, option, argument, help, record, write) option,
                                      PTO_EXPORT_LIST(X)
#undef X
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(names); i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}
