/* SPDX-License-Identifier: MIT */
/*
 * The command for a shell that does the same again, which reports and findings say: it is written down while the
 * options are read, word by word, in quotes where a shell would see more in a word.
 *
 * The text is the caller's, who frees it.  Any thread.
 */
#ifndef PTO_CLI_RUN_COMMAND_H
#define PTO_CLI_RUN_COMMAND_H

#include <stdbool.h>

/* Adds "--name value", or the value alone where `name` is NULL, or the option alone where `value` is.  *command becomes
 * NULL, and stays so, where memory runs out. */
void pto_command_add(char **command, const char *name, const char *value);
/* Whether the option only tells of a run, and so is no part of it. */
bool pto_command_only_tells(const char *name);

#endif
