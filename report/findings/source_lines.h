/* SPDX-License-Identifier: MIT */
/*
 * Source lines of return addresses: "moe.c:123" from the debug information of the loaded file that an address lies in,
 * or "moe.so+0x1a2b" where there is none, or where this was built without libdw.
 *
 * The home of libdw (elfutils).  Owns what it has read of debug information until destroy; the files must stay loaded
 * meanwhile.  One thread.
 */
#ifndef PTO_REPORT_FINDINGS_SOURCE_LINES_H
#define PTO_REPORT_FINDINGS_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pto_source_lines;

/* NULL where memory is short; the other functions take that. */
struct pto_source_lines *pto_source_lines_create(void);
void pto_source_lines_destroy(struct pto_source_lines *lines);

#define PTO_SOURCE_FILE_SIZE 120

/* `file` is a source and `line` above 0; or it is a loaded file and `line` 0, at `offset`; or nothing is known, "". */
struct pto_source_place {
  char file[PTO_SOURCE_FILE_SIZE]; /* from the folder that it was compiled in, or from the current one */
  char function[56];               /* that it stands in; "": not known */
  uint64_t line, offset;
};

/* Where a call stands: the orchestration's own line, and where functions of it lie between, called or inlined, the
 * line in the innermost of them. */
struct pto_source_call {
  struct pto_source_place own, callee;
  uint64_t dispatch; /* of a context, which it was made for, counted from 1; 0: of none, or it is not known */
};

/* Where the call stands that returns to `call`, or what pto_call_from has said of it; `outer` is as in struct
 * pto_trace_task. */
void pto_source_lines_find(struct pto_source_lines *lines, const void *call, const void *outer,
                           struct pto_source_call *found);
/* "moe.c:123", "moe.c:123 (moe.c:40)" with the callee, "moe.so+0x1a2b", ""; and " by dispatch 2".  Returns
 * `text`. */
const char *pto_source_call_name(const struct pto_source_call *found, char *text, size_t size);
/* Both in one. */
const char *pto_source_lines_name(struct pto_source_lines *lines, const void *call, const void *outer, char *text,
                                  size_t size);
/* "update (moe.c:40)": the function and the line of an address, or what is known of them.  Returns `text`. */
const char *pto_source_lines_function(struct pto_source_lines *lines, const void *address, char *text, size_t size);
/* Whether two addresses lie in the same loaded file. */
bool pto_source_lines_share_file(const void *a, const void *b);

#endif
