/* SPDX-License-Identifier: MIT */
/*
 * The command-line tool.  Everything is in pto_ptosim, so that tests can link the rest of cli/ beside a main of their
 * own.
 */
#include <limits.h>
#include <malloc.h>

#include <cli/main/verb.h>

/* Memory that is freed stays with the process: the first touch of a page that the system gives anew costs more than
 * most of what is done with it.  glibc gives back what is above these sizes, and takes no larger threshold. */
static void keep_freed_memory(void) {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 4 * 1024 * 1024 * (int)sizeof(long));
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

int main(int argc, char **argv) {
  keep_freed_memory();
  return pto_ptosim(argc, argv);
}
