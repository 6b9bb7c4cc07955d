/* SPDX-License-Identifier: MIT */
#include <report/file/xml_text.h>

void pto_xml_put_text(FILE *out, const char *text) {
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '&')
      fputs("&amp;", out);
    else if (c == '<')
      fputs("&lt;", out);
    else if (c == '>')
      fputs("&gt;", out);
    else if (c == '"')
      fputs("&quot;", out);
    else if (c == '\n')
      fputs("&#10;", out);
    else
      fputc(c < 0x20 && c != '\t' ? '?' : c, out);
  }
}
