/* SPDX-License-Identifier: MIT */
/*
 * Verbs that run a list of independent items, in shards: --shard I/N or what a launcher says, and `ptosim merge`
 * (report/file/shard.h).
 *
 *   pto_run_options_begin fills in options.share, and asks pto_shared_open for the exit status where it makes no
 *   sense.  The verb calls pto_shared_begin once it knows its list, walks it, and ends with pto_shared_end; where
 *   pto_share_is_part, it tells nothing.
 *
 * Always true: what a verb is told on the command line is of two kinds: what it runs, which a shard's lines keep, so
 * that merge gives the verb the same words again; and how, and where results go, which is of no matter to them.
 *
 * Owns the lines that are merged, one in a process: merge is a verb that becomes another.  The main thread.
 */
#ifndef PTO_CLI_RUN_SHARED_H
#define PTO_CLI_RUN_SHARED_H

#include <cli/run/options.h>

/* From now on, verbs take their items from these lines; borrowed. */
void pto_shared_merge(const struct pto_shard_lines *lines);

/* For the parser: a word of the command, as it may be typed again. */
void pto_shared_note(struct pto_run_options *options, const char *format, ...) PTO_PRINTF(2, 3);
/* The same of an option, unless it says how to run, or where results go. */
void pto_shared_note_option(struct pto_run_options *options, const char *name, const char *value);

/* Each returns an enum pto_exit, having said why it is not PTO_EXIT_OK. */
int pto_shared_open(struct pto_run_options *options);
int pto_shared_begin(struct pto_run_options *options, uint64_t items, uint64_t digest);
/* The exit status of a shard that came to its end is 0, whatever it found: merge says what that is worth.  `exit_code`
 * is returned of all else. */
int pto_shared_end(struct pto_run_options *options, int exit_code);

#endif
