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

struct pto_source_lines;

/* NULL where memory is short; the other functions take that. */
struct pto_source_lines *pto_source_lines_create(void);
void pto_source_lines_destroy(struct pto_source_lines *lines);

/* Where the call stands that returns to `call`, or what pto_call_from has said of it; "" where the address lies in no
 * loaded file.  Where functions of the orchestration lie between, called or inlined, its own line comes first:
 * "moe.c:123 (moe.c:40)"; `outer` is as in struct pto_trace_task.  Returns `text`. */
const char *pto_source_lines_name(struct pto_source_lines *lines, const void *call, const void *outer, char *text,
                                  size_t size);
/* "update (moe.c:40)": the function and the line of an address, or what is known of them.  Returns `text`. */
const char *pto_source_lines_function(struct pto_source_lines *lines, const void *address, char *text, size_t size);
/* Whether two addresses lie in the same loaded file. */
bool pto_source_lines_share_file(const void *a, const void *b);

#endif
