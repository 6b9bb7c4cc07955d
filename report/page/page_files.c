/* SPDX-License-Identifier: MIT */
/* Embedded as sim/chips/chip_files.c does it, which says why.  The build lists the files beside this object. */
#include <report/page/page_files.h>

#include <stdint.h>

#include <report/page/columns.h>

/* X(name, path).  A script's order is that in which the page runs them: page.js draws with what the others define. */
#define SCRIPT_FILES(X)                                                                                                \
  X(blocks, "report/page/blocks.js")                                                                                   \
  X(parts, "report/page/parts.js")                                                                                     \
  X(timeline, "report/page/timeline.js")                                                                               \
  X(charts, "report/page/charts.js")                                                                                   \
  X(lanes, "report/page/lanes.js")                                                                                     \
  X(roofline, "report/page/roofline.js")                                                                               \
  X(explore, "report/page/explore.js")                                                                                 \
  X(regress, "report/page/regress.js")                                                                                 \
  X(compare, "report/page/compare.js")                                                                                 \
  X(ranks, "report/page/ranks.js")                                                                                     \
  X(what_if, "report/page/what_if.js")                                                                                 \
  X(graph, "report/page/graph.js")                                                                                     \
  X(page, "report/page/page.js")
#define OWN_FILES(X) X(style, "report/page/page.css") X(body, "report/page/page.html") SCRIPT_FILES(X)
#ifdef PTO_D3
#define LIBRARY_FILES(X) X(d3, PTO_D3) X(d3_licence, PTO_D3_LICENCE)
#else
#define LIBRARY_FILES(X)
#endif

#define X(name, path)                                                                                                  \
  __asm__(".pushsection .rodata.pto_page,\"a\",%progbits\n"                                                            \
          "pto_page_" #name "_begin:\n.incbin \"" path "\"\n"                                                          \
          "pto_page_" #name "_end:\n.byte 0\n.popsection\n"                                                            \
          ".hidden pto_page_" #name "_begin\n.hidden pto_page_" #name "_end\n"                                         \
          ".global pto_page_" #name "_begin\n.global pto_page_" #name "_end\n");                                       \
  extern __attribute__((visibility("hidden"))) const char pto_page_##name##_begin[];                                   \
  extern __attribute__((visibility("hidden"))) const char pto_page_##name##_end[];
OWN_FILES(X)
LIBRARY_FILES(X)
#undef X

#define PUT(name, to)                                                                                                  \
  fwrite(pto_page_##name##_begin, 1, (size_t)((uintptr_t)pto_page_##name##_end - (uintptr_t)pto_page_##name##_begin),  \
         to)

void pto_page_put_style(FILE *to) { PUT(style, to); }
void pto_page_put_body(FILE *to) { PUT(body, to); }

#ifdef PTO_D3
bool pto_page_is_built(void) { return pto_columns_can_write(); }
void pto_page_put_scripts(FILE *to) {
  fputs("<!--\n", to);
  PUT(d3_licence, to);
  fputs("-->\n<script>", to);
  PUT(d3, to);
  fputs("</script>\n<script>\n\"use strict\";\n", to);
#define X(name, path) PUT(name, to);
  SCRIPT_FILES(X)
#undef X
  fputs("</script>\n", to);
}
#else
bool pto_page_is_built(void) { return false; }
void pto_page_put_scripts(FILE *to) { (void)to; }
#endif
