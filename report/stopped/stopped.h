/* SPDX-License-Identifier: MIT */
/*
 * What a stopped run looks like outside: its wait picture (runtime/deadlock/wait_picture.h) as a few lines for people
 * and as the object "stopped" of --json.  report/export draws the same picture for --waits-dot.
 *
 * Owns nothing.  Always true: each is a function of the picture alone and neither allocates nor locks, so that a crash
 * report can use it.  How to read them: docs/stopped-runs.md; the keys: docs/json.md.
 *
 * Any thread, while the picture holds still.
 */
#ifndef PTO_REPORT_STOPPED_STOPPED_H
#define PTO_REPORT_STOPPED_STOPPED_H

#include <formats/json_writer.h>
#include <runtime/base/error.h>
#include <runtime/deadlock/wait_picture.h>

#define PTO_STOPPED_TEXT_BYTES 16384u

/* Whether the picture says more than the error's sentence: not where a kernel failed and no task waited for it. */
bool pto_stopped_has_waits(const struct pto_wait_picture *picture);
/* Indented lines: the marked path first, then some of the others.  Cut to `size`; returns the length. */
size_t pto_stopped_format(const struct pto_wait_picture *picture, char *text, size_t size);
/* The same on standard error, where the picture has waits; without stdio and locks, so also while another thread is
 * stuck. */
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

#endif
