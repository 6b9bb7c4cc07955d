/* SPDX-License-Identifier: MIT */
#include <report/file/colour.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool shows_colours(FILE *to) {
  const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
  return !(refused && *refused) && terminal && strcmp(terminal, "dumb") != 0 && isatty(fileno(to));
}

void pto_colour_put(FILE *to, enum pto_colour colour, const char *text) {
  static const char *const codes[] = {"", "32", "33", "1;31"};
  if (colour == PTO_COLOUR_NONE || !shows_colours(to))
    fputs(text, to);
  else
    fprintf(to, "\033[%sm%s\033[0m", codes[colour], text);
}
