/* SPDX-License-Identifier: MIT */
/*
 * All files below a folder, kept in memory: to compare with, and to put back.
 *
 * The caller frees a tree with pto_file_tree_fini.  One thread; a folder that cannot be read or written fails the test.
 */
#ifndef PTO_FILE_TREE_H
#define PTO_FILE_TREE_H

#include <stddef.h>

struct pto_file_tree {
  struct pto_tree_file {
    char *path; /* below the folder */
    char *bytes;
    size_t size;
  } * files;
  size_t count;
};

void pto_file_tree_read(struct pto_file_tree *tree, const char *folder);
/* The folder has these files and no others afterwards. */
void pto_file_tree_restore(const struct pto_file_tree *tree, const char *folder);
/* NULL: there is none. */
const struct pto_tree_file *pto_file_tree_find(const struct pto_file_tree *tree, const char *path);
void pto_file_tree_fini(struct pto_file_tree *tree);

#endif
