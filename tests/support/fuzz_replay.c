/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target over its corpus without libFuzzer: how `make test` replays tests/fuzz/corpus/TARGET, so that what
 * once crashed stays mended with any compiler.  One input after the other, each in memory of exactly its size.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    if (file) fclose(file);
    return 1;
  }
  long size = ftell(file);
  rewind(file);
  uint8_t *data = size > 0 ? malloc((size_t)size) : NULL;
  size_t got = data ? fread(data, 1, (size_t)size, file) : 0;
  fclose(file);
  if (size > 0 && got != (size_t)size) {
    fprintf(stderr, "%s: could not be read\n", path);
    free(data);
    return 1;
  }
  /* Said before, so that a crash is known by its input. */
  printf("%s\n", path);
  fflush(stdout);
  LLVMFuzzerTestOneInput(data, got);
  free(data);
  return 0;
}

int main(int argc, char **argv) {
  const char *name = strrchr(argv[0], '/');
  char folder[512], path[1024];
  if (argc > 1)
    snprintf(folder, sizeof folder, "%s", argv[1]);
  else
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", name ? name + 1 : argv[0]);
  LLVMFuzzerTestOneInput(NULL, 0);
  DIR *entries = opendir(folder);
  if (!entries) {
    fprintf(stderr, "%s: %s\n", folder, strerror(errno));
    return 1;
  }
  int failures = 0, count = 0;
  struct dirent *entry;
  while ((entry = readdir(entries))) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    failures += replay(path);
    count++;
  }
  closedir(entries);
  printf("%s: %d inputs\n", folder, count);
  return failures != 0;
}
