/* SPDX-License-Identifier: MIT */
#include <report/page/escaped_json.h>

#include <stdlib.h>

#include <pto/runtime.h>

int pto_escaped_json_write(const char *id, void (*put)(struct pto_json_writer *w, const void *context),
                           const void *context, FILE *to) {
  struct pto_json_writer *w = malloc(sizeof *w);
  FILE *file = tmpfile();
  int failed = !w || !file;
  if (!failed) {
    pto_json_init(w, fileno(file));
    pto_json_object_begin(w);
    put(w, context);
    pto_json_object_end(w);
    failed = pto_json_finish(w);
  }
  free(w);
  if (!failed) {
    rewind(file);
    fprintf(to, "<script type=\"application/json\" id=\"%s\">", id);
    for (int c; (c = getc(file)) != EOF;) {
      if (c == '<')
        fputs("\\u003c", to);
      else
        putc(c, to);
    }
    fputs("</script>\n", to);
    failed = ferror(file);
  }
  if (file) fclose(file);
  return failed ? PTO_ESYSTEM : PTO_OK;
}
