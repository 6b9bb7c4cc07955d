/* SPDX-License-Identifier: MIT */
#include <tests/support/file_tree.h>

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char *read_whole(const char *path, size_t size) {
  char *bytes = malloc(size + 1);
  FILE *file = fopen(path, "r");
  assert_true(bytes && file && fread(bytes, 1, size, file) == size);
  fclose(file);
  bytes[size] = '\0';
  return bytes;
}

static void keep(struct pto_file_tree *tree, const FTSENT *entry, size_t folder_length) {
  tree->files = realloc(tree->files, (tree->count + 1) * sizeof *tree->files);
  assert_non_null(tree->files);
  const size_t size = (size_t)entry->fts_statp->st_size;
  tree->files[tree->count++] =
      (struct pto_tree_file){strdup(entry->fts_path + folder_length + 1),
                             S_ISREG(entry->fts_statp->st_mode) ? read_whole(entry->fts_accpath, size) : strdup(""),
                             S_ISREG(entry->fts_statp->st_mode) ? size : 0};
}

void pto_file_tree_read(struct pto_file_tree *tree, const char *folder) {
  char *const roots[] = {(char *)(uintptr_t)folder, NULL};
  *tree = (struct pto_file_tree){0};
  FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
  assert_non_null(walk);
  for (FTSENT *entry; (entry = fts_read(walk));)
    if (entry->fts_info != FTS_D && entry->fts_info != FTS_DP) keep(tree, entry, strlen(folder));
  fts_close(walk);
}

static void write_whole(const char *path, const struct pto_tree_file *file) {
  char folder[PATH_MAX];
  for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    assert_true(mkdir(folder, 0777) == 0 || errno == EEXIST);
  }
  FILE *stream = fopen(path, "w");
  assert_true(stream && fwrite(file->bytes, 1, file->size, stream) == file->size && fclose(stream) == 0);
}

/* Files that are as they were stay. */
void pto_file_tree_restore(const struct pto_file_tree *tree, const char *folder) {
  struct pto_file_tree now;
  char path[PATH_MAX];
  pto_file_tree_read(&now, folder);
  for (size_t i = 0; i < now.count; i++) {
    const struct pto_tree_file *old = pto_file_tree_find(tree, now.files[i].path);
    if (old && old->size == now.files[i].size && memcmp(old->bytes, now.files[i].bytes, old->size) == 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, now.files[i].path);
    assert_int_equal(unlink(path), 0);
    for (char *slash; (slash = strrchr(path, '/')) > path + strlen(folder);) { /* and folders that are empty now */
      *slash = '\0';
      if (rmdir(path) != 0) break;
    }
  }
  pto_file_tree_fini(&now);
  for (size_t i = 0; i < tree->count; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, tree->files[i].path);
    if (access(path, F_OK) != 0) write_whole(path, &tree->files[i]);
  }
}

const struct pto_tree_file *pto_file_tree_find(const struct pto_file_tree *tree, const char *path) {
  for (size_t i = 0; i < tree->count; i++)
    if (strcmp(tree->files[i].path, path) == 0) return &tree->files[i];
  return NULL;
}

void pto_file_tree_fini(struct pto_file_tree *tree) {
  for (size_t i = 0; i < tree->count; i++) {
    free(tree->files[i].path);
    free(tree->files[i].bytes);
  }
  free(tree->files);
  *tree = (struct pto_file_tree){0};
}
