/* SPDX-License-Identifier: MIT */
/*
 * What a stopped run looks like outside: three views of its wait picture (runtime/control/wait_picture.h), a few lines
 * for people, the object "stopped" of --json, and the graph of --waits-dot.
 *
 * Owns nothing.  Always true: each is a function of the picture alone, and the first two neither allocate nor lock, so
 * that a crash report can use them.  How to read them: docs/stopped-runs.md; the keys: docs/cli.md.
 *
 * Any thread, while the picture holds still.
 */
#ifndef PTO_STOPPED_H
#define PTO_STOPPED_H

#include <formats/json_writer.h>
#include <runtime/base/error.h>
#include <runtime/control/wait_picture.h>

#define PTO_STOPPED_TEXT_BYTES 16384u

/* Whether the picture says more than the error's sentence: not where a kernel failed and nobody waited for it. */
bool pto_stopped_has_waits(const struct pto_wait_picture *picture);
/* Indented lines: the marked path first, then some of the others.  Cut to `size`; returns the length. */
size_t pto_stopped_format(const struct pto_wait_picture *picture, char *text, size_t size);
/* The same on standard error, where the picture has waits; without stdio and locks, so also beside a stuck thread. */
void pto_stopped_say(const struct pto_wait_picture *picture);
/* "the orchestration, in the submit of task 15 (mark)": what it was doing.  Returns `text`. */
const char *pto_stopped_doing_text(const struct pto_wait_picture *picture, char *text, size_t size);
/* "submit", "host_read", …: for files. */
const char *pto_stopped_doing_name(uint32_t kind);
/* "ring 1 (15 of 15 slots: tail 0, head 15)"; without the parentheses where not `is_long`.  Returns `text`. */
const char *pto_stopped_node_text(const struct pto_wait_picture *picture, struct pto_picture_node node, bool is_long,
                                  char *text, size_t size);
/* The whole sentence of one link, with the parentheses of its ends where wanted.  Returns `text`. */
const char *pto_stopped_link_text(const struct pto_wait_picture *picture, const struct pto_picture_link *link,
                                  bool is_from_long, bool is_to_long, char *text, size_t size);

/* The value of the key "stopped"; NULL: null. */
void pto_stopped_write_json(const struct pto_wait_picture *picture, struct pto_json_writer *writer);
/* Graphviz; `picture` NULL: an empty graph.  PTO_OK or PTO_ESYSTEM. */
PTO_MUST_CHECK int pto_stopped_write_dot(const struct pto_wait_picture *picture, const char *program, const char *path,
                                         struct pto_error *error);

#endif
