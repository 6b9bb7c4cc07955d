/* SPDX-License-Identifier: MIT */
/*
 * Whether files that a verb wrote in two runs are the same but for what differs from run to run: times, samples, and
 * what may not be there to be read.
 *
 * Owns nothing.  Any thread.
 */
#ifndef PTO_FILE_ALIKE_H
#define PTO_FILE_ALIKE_H

#include <stdbool.h>

#include <tests/support/file_tree.h>

/* False where one of them is NULL.  has_times: numbers, and blanks that align them, are not looked at. */
bool pto_file_is_same(const struct pto_tree_file *a, const struct pto_tree_file *b, bool has_times);

/* JSON that differs in what the program's file says, which may not be there to be read: the function and the line of a
 * place. */
bool pto_file_differs_in_places(const struct pto_tree_file *got, const struct pto_tree_file *good);

/* A report of what failed, or one that tells less, from its first byte to its last. */
bool pto_file_is_whole(const struct pto_tree_file *file);

/* Moves both to where they come apart: their ends, where they do not. */
void pto_text_come_apart(const char **a, const char **b, bool has_times);

#endif
