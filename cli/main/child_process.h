/* SPDX-License-Identifier: MIT */
/*
 * A ptosim in a process of its own, so that whatever happens to it is a result and not an end.
 *
 * Owns the text of a pto_child_result until fini.  Blocks until the child is gone; a child that outlives its time is
 * killed.
 *
 * Threads: any, but a caller that has other children of its own must not reap this one.
 */
#ifndef PTO_CLI_MAIN_CHILD_PROCESS_H
#define PTO_CLI_MAIN_CHILD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <runtime/base/error.h>

/* What the child may write its JSON and a page to: the file descriptors are open in it. */
#define PTO_CHILD_JSON_PATH "/dev/fd/3"
#define PTO_CHILD_PAGE_PATH "/dev/fd/4"

struct pto_child_result {
  int exit_code;     /* -1: ended by a signal */
  int signal;        /* that ended it, or 0 */
  bool is_timed_out; /* and killed */
  char *json;        /* what it wrote to PTO_CHILD_JSON_PATH; "" for nothing */
  char *text;        /* its standard error; its standard output is dropped */
  int page_fd;       /* of what it wrote to PTO_CHILD_PAGE_PATH; −1: there is none */
};

/* Runs this executable with these words (ended by NULL; words[0] is the name) and waits for it.  PTO_OK whatever the
 * child came to, or PTO_ESYSTEM or PTO_ENOMEM where there was none. */
PTO_MUST_CHECK int pto_child_run(char *const *words, uint32_t timeout_ms, struct pto_child_result *result,
                                 struct pto_error *error);
/* As JSON, for the lines of a shard: what it wrote as the object that it is, or null.  NULL without memory. */
json_t *pto_child_result_pack(const struct pto_child_result *result);
/* The same read back; PTO_OK, PTO_EINVAL where `packed` is none, or PTO_ENOMEM, with the sentence. */
PTO_MUST_CHECK int pto_child_result_unpack(json_t *packed, struct pto_child_result *result, struct pto_error *error);
/* A zeroed struct is allowed. */
void pto_child_result_fini(struct pto_child_result *result);

#endif
